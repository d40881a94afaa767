"""The engine as the analyst lends it to a long question: it gives way between two removals, and can be broken off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from karptui.session.pace import Turns

if TYPE_CHECKING:
    from karptui.disruption.candidate import Candidate
    from karptui.disruption.removal import EngineSimulator
    from karptui.disruption.simulation import Simulation


class Superseded(Exception):  # noqa: N818 - not an error
    """There is something newer to look at."""


class PatientEngine:
    """Removes nodes one after the other."""

    def __init__(self, engine: EngineSimulator, turns: Turns, is_superseded: Callable[[], bool]) -> None:
        """Lend an engine.

        Args:
            engine: what removes nodes.
            turns: when others have theirs.
            is_superseded: whether the question should be broken off.
        """
        self._engine, self._turns, self._is_superseded = engine, turns, is_superseded

    def remove(self, candidates: Sequence[Candidate], *, is_consolidation: bool) -> Simulation:
        """Remove nodes on the engine.

        Raises:
            Superseded: when the question should be broken off.
        """
        if self._is_superseded():
            raise Superseded
        self._turns.take()
        return self._engine.remove(candidates, is_consolidation=is_consolidation)
