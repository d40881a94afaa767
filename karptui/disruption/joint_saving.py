"""Savings of removing several nodes together, by set of nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, TypeAlias

import msgspec

_MOST_WANTED: Final = 64
"""Sets that wait for a simulation: the oldest are dropped; a screen that still shows one requests it again."""


class JointRemoval(msgspec.Struct, frozen=True, gc=False):
    """Nodes that can be removed together, and their new nodes."""

    keys: frozenset[str] = frozenset()
    """Keys of the removed nodes: the subset whose joint removal saves most."""
    new_nodes: int = 0
    """Nodes launched for their pods."""
    price_per_hour: float = 0.0
    """Dollars that the removed nodes cost by their NodePools' prices."""
    saves_per_hour: float = 0.0
    """Dollars saved."""

    @property
    def share(self) -> float:
        """Fraction of the removed nodes' price that is saved."""
        return max(0.0, min(self.saves_per_hour / self.price_per_hour, 1.0)) if self.price_per_hour else 0.0


class NodeSaving(NamedTuple):
    """A node that would be removed alone."""

    key: str
    """Key of its findings."""
    saves_per_hour: float | None
    """Dollars saved if only it is removed; None if unknown."""
    price_per_hour: float | None
    """Its price in dollars; None if unknown."""


class JointSaving(msgspec.Struct, frozen=True, gc=False):
    """Savings of removing some nodes together."""

    per_hour: float | None = None
    """Dollars; None if no price is known."""
    nodes: int = 0
    """Number of removed nodes."""
    is_joint: bool = True
    """Whether the joint removal is simulated; else the sum of single removals, whose pods compete for capacity."""
    is_upper_bound: bool = False
    """Whether several nodes are removed: budgets and the time of their removal are not simulated."""


Simulate: TypeAlias = Callable[[frozenset[str]], JointRemoval | None]
"""Simulates the joint removal of nodes, by the keys of their findings."""


class JointFigures:
    """Joint removals by set of nodes: screens request sets, the analysis simulates them one at a time."""

    def __init__(self, before: JointFigures | None = None) -> None:
        """Begin without any.

        Args:
            before: Earlier results, valid until a set is simulated again.
        """
        self._before = before.latest if before is not None else {}
        self._simulated: dict[frozenset[str], JointRemoval | None] = {}
        self._wanted: dict[frozenset[str], None] = {}
        self._at_once: Simulate | None = None

    @property
    def latest(self) -> dict[frozenset[str], JointRemoval | None]:
        """The latest result of each requested set."""
        requested = {keys: self._before[keys] for keys in tuple(self._wanted) if keys in self._before}
        return {**requested, **self._simulated}

    def of(self, keys: frozenset[str]) -> JointRemoval | None:
        """Return the joint removal of some nodes; None until it is simulated, and if it cannot be."""
        if keys not in self._simulated:
            if self._at_once is None:
                self._wanted[keys] = None
                if len(self._wanted) > _MOST_WANTED:
                    self._wanted.pop(next(iter(self._wanted)), None)
                return self._before.get(keys)
            self._simulated[keys] = self._at_once(keys)
        return self._simulated[keys]

    def simulate_at_once(self, simulate: Simulate) -> None:
        """Simulate every set immediately when requested, for callers that can wait."""
        self._at_once = simulate

    @property
    def is_asked(self) -> bool:
        """Whether a set waits for its simulation."""
        return bool(self._wanted)

    def simulate(self, simulate: Simulate) -> None:
        """Simulate the most recently requested set."""
        keys = next(reversed(self._wanted))
        self._simulated[keys] = simulate(keys)
        self._wanted.pop(keys, None)


def joint_saving(alone: Iterable[NodeSaving], joint: JointFigures | None) -> JointSaving:
    """Return the savings of removing nodes together: at most the sum of single removals.

    Args:
        alone: The nodes, each with its savings alone.
        joint: Joint removals; None if none are simulated.
    """
    priced = [node for node in alone if node.saves_per_hour is not None]
    saving = [node for node in priced if (node.saves_per_hour or 0.0) > 0]
    at_most = sum(node.saves_per_hour or 0.0 for node in saving)
    if len(saving) <= 1:
        return JointSaving(at_most if priced else None, len(saving))
    removal = joint.of(frozenset(node.key for node in saving)) if joint is not None else None
    if removal is None:
        return JointSaving(at_most, len(saving), is_joint=False, is_upper_bound=True)
    price = sum(node.price_per_hour or 0.0 for node in saving if node.key in removal.keys)
    return JointSaving(min(price * removal.share, at_most), len(removal.keys), is_upper_bound=True)
