"""A cluster that stands still is made ready and simulated once for all apps of a process, by the engines themselves."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import pytest

from karptui.aws.evidence import decides_alike
from karptui.aws.prices import LIST_PRICES, PriceSettings
from karptui.disruption.analysis import NodeFindings
from karptui.disruption.fleet import Fleet
from karptui.disruption.joint_removal import JointRemovals
from karptui.disruption.joint_saving import JointRemoval
from karptui.disruption.outlook import RemovalSimulator
from karptui.disruption.should_disrupt import ShouldDisrupt
from karptui.forward.run import forward
from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.inventory import Inventory
from karptui.kube.recent import Recent
from karptui.provisioning.prepared import Prepared
from karptui.provisioning.reporter import Pause, no_pause
from karptui.session.cluster_view import ClusterView
from karptui.session.prepare import prepare_view, removal_forecasts
from karptui.sources.snapshot.instance_types import Catalogs
from karptui.sources.snapshot.reader import Snapshot, SnapshotReader
from karptui.studies.forecasts import RemovalForecasts
from karptui.whatif.remedies.pending.remedy import attempt
from karptui.whatif.situation import WhatIfBase

Ready = tuple[Prepared, tuple[str, ...]]


class _Sight:
    """A view at an instant; equal to another where the engines make the same of both."""

    def __init__(self, view: ClusterView, now_ns: int) -> None:
        self._now_ns, self._hidden, self._evidence = now_ns, view.hidden, view.evidence
        self.objects = {kind: [*objects.values()] for kind, objects in view.state.objects.items() if objects}

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Sight)
            and (self._now_ns, self._hidden) == (other._now_ns, other._hidden)
            and self.objects.keys() == other.objects.keys()
            and all(_are_same(objects, other.objects[kind]) for kind, objects in self.objects.items())
            and decides_alike(self._evidence, other._evidence)
            and self._evidence.version_note == other._evidence.version_note
        )

    __hash__ = None  # type: ignore[assignment]  # compared by value, and no key


def _are_same(left: list[object], right: list[object]) -> bool:
    return len(left) == len(right) and all(a is b for a, b in zip(left, right, strict=True))


_READY: Final[Recent[_Sight, Ready]] = Recent(most=4, patience=40)
_OUTLOOKS: Final[Recent[Prepared, RemovalSimulator]] = Recent(most=4, patience=40)


def _prepare_view(view: ClusterView, now_ns: int, pause: Pause = no_pause) -> Ready:
    return _READY.get(_Sight(view, now_ns), lambda: prepare_view(view, now_ns, pause))


def _outlook(prepared: Prepared, fleet: Fleet, should_disrupt: ShouldDisrupt | None = None) -> RemovalSimulator:
    """Return what remembers simulations: the same one for the same cluster."""
    return _OUTLOOKS.get(prepared, lambda: RemovalSimulator(prepared, fleet, should_disrupt))


_FORECASTS: Final[Recent[tuple[object, ...], JointRemoval]] = Recent(most=16, patience=200)


class _ForecastsOnce(RemovalForecasts):
    """Forecasts a removal once in clusters that are the same, with the same blockers."""

    def __init__(self, view: ClusterView, findings: Mapping[str, NodeFindings], now_ns: int, pause: Pause) -> None:
        self._same = _Sight(view, now_ns), view.evidence.seconds_per_removal
        self._findings = findings
        self._make = partial(removal_forecasts, view, findings, now_ns, pause)

    def of(self, keys: Collection[str], removal: JointRemoval) -> JointRemoval:
        findings = [self._findings[key] for key in keys if key in self._findings]
        blocked = [(node.key, node.price_per_hour, [*map(msgspec.structs.astuple, node.blockers)]) for node in findings]
        return _FORECASTS.get((*self._same, keys, removal, blocked), lambda: self._make().of(keys, removal))


_JOINTS: Final[Recent[tuple[object, ...], JointRemoval | None]] = Recent(most=64, patience=500)


class _JointRemovalsOnce(JointRemovals):
    """Simulates the joint removal of the same nodes of a cluster once."""

    def __init__(self, prepared: Prepared, fleet: Fleet, *, prices: PriceSettings = LIST_PRICES, **given: Any) -> None:
        super().__init__(prepared, fleet, prices=prices, **given)
        self._same = prepared, prices

    def of(self, keys: Collection[str]) -> JointRemoval | None:
        simulate = super().of
        return _JOINTS.get((*self._same, frozenset(keys)), lambda: simulate(keys))


def _forecasts(
    view: ClusterView, findings: Mapping[str, NodeFindings], now_ns: int, pause: Pause = no_pause
) -> RemovalForecasts:
    return _ForecastsOnce(view, findings, now_ns, pause)


_LISTS: Final[OrderedDict[Hashable, tuple[InstanceType, ...]]] = OrderedDict()


def _begin_with_the_lists_of_others(self: Catalogs) -> None:
    self._lists = _LISTS


class _Reading(NamedTuple):
    """A snapshot, and the time before and after it was read."""

    snapshot: Snapshot
    begun_ns: int
    ended_ns: int

    def holds(self, now_ns: int) -> bool:
        """Whether it is the same now: a snapshot without a time of its own is one of the time of reading."""
        return self.begun_ns == now_ns or not self.begun_ns <= self.snapshot.captured_at_ns <= self.ended_ns


_READINGS: Final[OrderedDict[Hashable, _Reading]] = OrderedDict()
_MOST_READINGS: Final = 4
_read: Final = SnapshotReader.read


def _read_once(self: SnapshotReader, paths: Sequence[str | Path], **given: Any) -> Snapshot:
    """Return the snapshot in a file: the same objects for the same bytes."""
    file = Path(paths[0])
    if len(paths) > 1 or file.suffix not in (".json", ".gz", ".karptui") or not file.is_file():
        return _read(self, paths, **given)
    written = (path.read_bytes() for path in (file, file.with_name(f"{file.name}-wal")) if path.exists())
    content = blake2b(b"".join(written), digest_size=16).digest()
    key = (str(file), file.absolute(), content, self._karpenter_version, *sorted(given.items()))
    reading, now_ns = _READINGS.pop(key, None), self._clock.now_ns()
    if reading is None or not reading.holds(now_ns):
        reading = _Reading(_read(self, paths, **given), now_ns, self._clock.now_ns())
    _READINGS[key] = reading
    if len(_READINGS) > _MOST_READINGS:
        _READINGS.popitem(last=False)
    return reading.snapshot


def look_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have an app go on from what another one has worked out for the very same objects, and read of the same bytes."""
    monkeypatch.setattr(SnapshotReader, "read", _read_once)
    monkeypatch.setattr(Catalogs, "__init__", _begin_with_the_lists_of_others)
    monkeypatch.setattr("karptui.session.prepare.prepare_view", _prepare_view)
    monkeypatch.setattr("karptui.session.prepare.removal_forecasts", _forecasts)
    monkeypatch.setattr("karptui.disruption.analysis_steps.RemovalSimulator", _outlook)
    monkeypatch.setattr("karptui.disruption.analysis_steps.JointRemovals", _JointRemovalsOnce)
    answer_once(monkeypatch, "karptui.studies.forecasts.forward", forward)
    answer_once(monkeypatch, "karptui.whatif.remedies.pending.search.attempt", attempt)


_ANSWERS: Final[dict[str, Recent[tuple[object, ...], Any]]] = {}


def _contents(value: Any) -> object:
    """Return what decides of a cluster, whose records are made anew by each command; anything else as it is."""
    if isinstance(value, Inventory):
        return tuple(getattr(value, field) for field in value.__struct_fields__)
    if isinstance(value, WhatIfBase):
        prices = value.prices
        tables = prices.tables if prices is not None else ()
        paid = (*map(msgspec.structs.astuple, tables), prices and (prices.settings, prices.is_auto_mode))
        types = msgspec.structs.astuple(value.types)
        return _contents(value.inventory), types, paid, value.settings, value.now_ns
    return value


def answer_once(monkeypatch: pytest.MonkeyPatch, place: str, function: Callable[..., Any]) -> None:
    """Have the engines answer a question of the same cluster once, whatever form a command prints it in.

    Args:
        monkeypatch: Of the test.
        place: Where the function is looked up.
        function: All that it is given decides, but for functions.
    """
    answers = _ANSWERS.setdefault(place, Recent(most=64, patience=500))

    def once(*asked: object, **options: object) -> Any:
        decisive = [_contents(value) for value in reversed(asked) if not callable(value)]
        key = (*((name, value) for name, value in options.items() if not callable(value)), *decisive)
        return answers.get(key, lambda: function(*asked, **options))

    monkeypatch.setattr(place, once)
