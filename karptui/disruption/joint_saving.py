"""Savings of removing several nodes together, by set of nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple, TypeAlias

import msgspec

from karptui.kube.timestamps import MINUTE_NS

MOST_FORECAST_NODES: Final = 1_000
"""Nodes of the largest cluster whose removals and remedies are forecast: each takes about five seconds there."""
FORECAST_STANDS_NS: Final = 5 * MINUTE_NS
"""A forecast is repeated after this time even if its joint removal is the same."""
_MOST_WANTED: Final = 64
"""Sets that wait for a simulation: the oldest are dropped; a screen that still shows one requests it again."""


class JointRemoval(msgspec.Struct, frozen=True, gc=False):
    """Nodes that can be removed together, and their new nodes."""

    keys: frozenset[str] = frozenset()
    """Keys of the removed nodes: the subset whose joint removal saves most."""
    price_per_hour: float = 0.0
    """Dollars that the removed nodes cost by their NodePools' prices."""
    saves_per_hour: float = 0.0
    """Dollars saved."""
    seconds: int | None = None
    """Time until the last node is gone, by forecast; None if budgets and the time are not simulated."""

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
    nodes: int = 0
    is_joint: bool = True
    """Whether the joint removal is simulated; else the sum of single removals, whose pods compete for capacity."""
    is_upper_bound: bool = False
    """Whether several nodes are removed, and budgets and the time of their removal are not simulated."""
    seconds: int | None = None
    """Time until the last node is gone, by forecast; None without one."""


class _Forecast(NamedTuple):
    of: JointRemoval
    removal: JointRemoval
    at_ns: int


Simulate: TypeAlias = Callable[[frozenset[str]], JointRemoval | None]
"""Simulates the joint removal of nodes, by the keys of their findings."""
Forecast: TypeAlias = Callable[[frozenset[str], JointRemoval], JointRemoval]
"""Adds a forecast to the joint removal of nodes; returns it unchanged if the forecast is uncertain."""


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
        self._forecasts = dict(before.forecasts) if before is not None else {}
        self._at_once: Simulate | None = None

    @property
    def latest(self) -> dict[frozenset[str], JointRemoval | None]:
        """The latest result of each requested set."""
        requested = {keys: self._before[keys] for keys in tuple(self._wanted) if keys in self._before}
        return {**requested, **self._simulated}

    @property
    def forecasts(self) -> dict[frozenset[str], _Forecast]:
        """The forecasts of these sets."""
        return {keys: self._forecasts[keys] for keys in self.latest if keys in self._forecasts}

    def of(self, keys: frozenset[str]) -> JointRemoval | None:
        """Return the joint removal of some nodes, with its forecast if there is one.

        None until it is simulated, and if it cannot be.
        """
        removal = self._removal(keys)
        forecast = self._forecasts.get(keys)
        return forecast.removal if forecast is not None and forecast.of == removal else removal

    def _removal(self, keys: frozenset[str]) -> JointRemoval | None:
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

    @property
    def lacks_figures(self) -> bool:
        """Whether a set waits for its first simulation."""
        return any(keys not in self._before for keys in tuple(self._wanted))

    def simulate(self, simulate: Simulate) -> None:
        """Simulate the most recently requested set."""
        keys = next(reversed(self._wanted))
        self._simulated[keys] = simulate(keys)
        self._wanted.pop(keys, None)

    def is_forecast_due(self, now_ns: int) -> bool:
        """Whether a simulated removal has no forecast, or an old one."""
        return self._at_once is None and next(self._without_forecast(now_ns), None) is not None

    def _without_forecast(self, now_ns: int) -> Iterator[tuple[frozenset[str], JointRemoval]]:
        for keys, removal in tuple(self._simulated.items()):
            last = self._forecasts.get(keys)
            is_due = last is None or last.of != removal or now_ns - last.at_ns >= FORECAST_STANDS_NS
            if removal is not None and is_due:
                yield keys, removal

    def forecast(self, forecast: Forecast, now_ns: int) -> None:
        """Forecast the first removal that is due."""
        for keys, removal in self._without_forecast(now_ns):
            self._forecasts[keys] = _Forecast(removal, forecast(keys, removal), now_ns)
            return


def joint_saving(alone: Iterable[NodeSaving], joint: JointFigures | None) -> JointSaving:
    """Return the savings of removing nodes together: at most the sum of single removals.

    Args:
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
    is_forecast = removal.seconds is not None
    # The joint removal is of the best subset that was tried: another one may also contain the other nodes.
    others = [] if is_forecast else [node for node in saving if node.key not in removal.keys]
    return JointSaving(
        min(price * removal.share + sum(node.saves_per_hour or 0.0 for node in others), at_most),
        len(removal.keys) + len(others),
        is_upper_bound=not is_forecast,
        seconds=removal.seconds,
    )
