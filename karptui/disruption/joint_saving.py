"""Savings of removing several nodes together, by set of nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, TypeAlias

import msgspec

_MOST_WANTED: Final = 64
"""Sets that wait for a simulation: the oldest are dropped, and asked for again if a screen still shows them."""


class JointRemoval(msgspec.Struct, frozen=True, gc=False):
    """Nodes that can be removed together, and their new nodes."""

    keys: frozenset[str] = frozenset()
    """Keys of the nodes that are removed: those whose joint removal saves most."""
    new_nodes: int = 0
    """Nodes launched for their pods."""
    price_per_hour: float = 0.0
    """Dollars that the removed nodes cost, by the prices of their NodePools."""
    saves_per_hour: float = 0.0
    """Dollars of that which are no longer paid."""

    @property
    def share(self) -> float:
        """Part of the removed nodes' price that is saved."""
        return max(0.0, min(self.saves_per_hour / self.price_per_hour, 1.0)) if self.price_per_hour else 0.0


class NodeSaving(NamedTuple):
    """A node that would be removed alone."""

    key: str
    """Of its findings."""
    saves_per_hour: float | None
    """Dollars saved if it alone is removed; None if that is not known."""
    price_per_hour: float | None
    """Dollars it costs."""


class JointSaving(msgspec.Struct, frozen=True, gc=False):
    """Savings of removing some nodes together."""

    per_hour: float | None = None
    """Dollars; None if no price is known."""
    nodes: int = 0
    """Nodes that are removed."""
    is_joint: bool = True
    """Whether the joint removal is simulated; else it adds up removals of single nodes, whose pods compete for room."""
    is_upper_bound: bool = False
    """Whether it is of several nodes: budgets, and the time that their removal takes, are not simulated."""


Simulate: TypeAlias = Callable[[frozenset[str]], JointRemoval | None]
"""Simulates the joint removal of nodes, by the keys of their findings."""


class JointFigures:
    """Joint removals by set of nodes: screens ask for sets, the analysis simulates them one at a time."""

    def __init__(self, before: JointFigures | None = None) -> None:
        """Begin without any.

        Args:
            before: Figures of the cluster of a moment ago: they count until a set is simulated again.
        """
        self._before = before.latest if before is not None else {}
        self._simulated: dict[frozenset[str], JointRemoval | None] = {}
        self._wanted: dict[frozenset[str], None] = {}
        self._at_once: Simulate | None = None

    @property
    def latest(self) -> dict[frozenset[str], JointRemoval | None]:
        """The newest figure of each set that was asked for on this cluster."""
        asked = {keys: self._before[keys] for keys in tuple(self._wanted) if keys in self._before}
        return {**asked, **self._simulated}

    def of(self, keys: frozenset[str]) -> JointRemoval | None:
        """Return the joint removal of some nodes; None while it is not simulated, and if it cannot be."""
        if keys not in self._simulated:
            if self._at_once is None:
                self._wanted[keys] = None
                if len(self._wanted) > _MOST_WANTED:
                    self._wanted.pop(next(iter(self._wanted)), None)
                return self._before.get(keys)
            self._simulated[keys] = self._at_once(keys)
        return self._simulated[keys]

    def simulate_at_once(self, simulate: Simulate) -> None:
        """Answer every question from now on with a simulation, for callers that can wait."""
        self._at_once = simulate

    @property
    def is_asked(self) -> bool:
        """Whether a set waits for its simulation."""
        return bool(self._wanted)

    def simulate(self, simulate: Simulate) -> None:
        """Simulate the set that was asked for last."""
        keys = next(reversed(self._wanted))
        self._simulated[keys] = simulate(keys)
        self._wanted.pop(keys, None)


def joint_saving(alone: Iterable[NodeSaving], joint: JointFigures | None) -> JointSaving:
    """Return what is saved if nodes are removed together: never more than the removals of single nodes add up to.

    Args:
        alone: The nodes, each with what it saves alone.
        joint: Joint removals; None if none is simulated.
    """
    known = [one for one in alone if one.saves_per_hour is not None]
    saving = [one for one in known if (one.saves_per_hour or 0.0) > 0]
    at_most = sum(one.saves_per_hour or 0.0 for one in saving)
    if len(saving) <= 1:
        return JointSaving(at_most if known else None, len(saving))
    removal = joint.of(frozenset(one.key for one in saving)) if joint is not None else None
    if removal is None:
        return JointSaving(at_most, len(saving), is_joint=False, is_upper_bound=True)
    price = sum(one.price_per_hour or 0.0 for one in saving if one.key in removal.keys)
    return JointSaving(min(price * removal.share, at_most), len(removal.keys), is_upper_bound=True)
