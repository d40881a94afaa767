"""A cluster that stands still is made ready and simulated once for all apps of a process, by the engines themselves."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Final

import msgspec
import pytest

from karptui.aws.evidence import decides_alike
from karptui.aws.prices import NodePrices
from karptui.disruption.fleet import Fleet
from karptui.disruption.outlook import RemovalSimulator
from karptui.disruption.should_disrupt import ShouldDisrupt
from karptui.karpenter.instance_type import InstanceType
from karptui.kube.recent import Recent
from karptui.provisioning.prepared import Prepared
from karptui.provisioning.reporter import Pause, no_pause
from karptui.session.cluster_view import ClusterView
from karptui.session.prepare import prepare_view
from karptui.sources.snapshot.instance_types import Catalogs
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


_LISTS: Final[OrderedDict[Hashable, tuple[InstanceType, ...]]] = OrderedDict()


def _begin_with_the_lists_of_others(self: Catalogs) -> None:
    self._lists = _LISTS


def look_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have an app go on from what another one has worked out for the very same objects, and read of the same bytes."""
    monkeypatch.setattr(Catalogs, "__init__", _begin_with_the_lists_of_others)
    monkeypatch.setattr("karptui.session.prepare.prepare_view", _prepare_view)
    monkeypatch.setattr("karptui.disruption.study.RemovalSimulator", _outlook)


_ANSWERS: Final[Recent[tuple[object, ...], Any]] = Recent(most=16, patience=64)


def _contents(prices: NodePrices | None) -> tuple[object, ...]:
    """Return what node prices consist of, which are made anew by each command."""
    tables = prices.tables if prices is not None else ()
    return (*map(msgspec.structs.astuple, tables), prices and (prices.settings, prices.is_auto_mode))


def answer_once(monkeypatch: pytest.MonkeyPatch, place: str, function: Callable[..., Any]) -> None:
    """Have the engines answer a question of the same cluster once, whatever form a command prints it in.

    Args:
        monkeypatch: Of the test.
        place: Where the function is looked up.
        function: Takes the cluster first; what else it is given decides, but for functions.
    """

    def once(base: WhatIfBase, *asked: object, **options: object) -> Any:
        cluster = (
            *(getattr(base.inventory, field) for field in base.inventory.__struct_fields__),
            msgspec.structs.astuple(base.types),
            _contents(base.prices),
            base.settings,
            base.now_ns,
        )
        decisive = [one for one in asked if not callable(one)], {k: v for k, v in options.items() if not callable(v)}
        key = (place, cluster, decisive)
        return _ANSWERS.get(key, lambda: function(base, *asked, **options))

    monkeypatch.setattr(place, once)
