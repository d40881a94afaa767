"""The session that screens ask: rows, objects, what-ifs, forecasts and studies of one cluster."""

# ruff: noqa: PLC0415 - the first rows wait for no engine: each is imported in the thread that asks

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import cached_property
from typing import TYPE_CHECKING, Final

from karptui.serving.studies import Forecasts, Studies
from karptui.session.answers import ControllerInfo, ReplayState
from karptui.session.moments import PlayCache
from karptui.session.replays import Replayer, SharedBase
from karptui.session.row_server import List, RowServer

if TYPE_CHECKING:
    from pathlib import Path

    from karptui.kube.timestamps import PastTime
    from karptui.serving.blockers import Remedies
    from karptui.serving.objects import Objects
    from karptui.session.answers import (
        NodeReport,
        PendingPod,
        Proportion,
        RemedyList,
        RemedyTrials,
        TypeReport,
        TypeSources,
    )
    from karptui.session.churn import ChurnBook
    from karptui.session.cluster_view import ClusterView
    from karptui.session.history_report import HistoryReport
    from karptui.session.packing import Bin, Packed
    from karptui.sources.source import Source
    from karptui.whatif.edits import ObjectRef
    from karptui.whatif.run import Answer
    from karptui.whatif.scenario import Opening, Scenario
    from karptui.whatif.schema.offers import KnownValues


FOLLOW_AFTER_NS: Final = 2_000_000_000
"""Longest lag of the base behind a changing cluster."""
FOLLOW_TYPED_NS: Final = 8_000_000_000
"""The same while the user types."""


class WhatIfs:
    """Scenarios on the current cluster; while the user edits, on the prepared cluster of a moment ago."""

    def __init__(self, view: Callable[[], ClusterView], shared_base: SharedBase) -> None:
        self._view, self._shared_base = view, shared_base
        self._current: Replayer | None = None
        self._listener: Callable[[int, Answer], None] | None = None
        self._asked: ClusterView | None = None
        """The cluster of the last question."""
        self._asked_ns = 0
        self._number = 0

    @property
    def _replayer(self) -> Replayer:
        if self._current is None:
            self._current = Replayer(self._pass_on, shared_base=self._shared_base)
        return self._current

    def _pass_on(self, answer: Answer) -> None:
        if self._listener is not None:
            self._listener(self._replayer.answered, answer)

    def subscribe(self, listener: Callable[[int, Answer], None]) -> None:
        self._listener = listener

    def replay(
        self, scenario: Scenario, now_ns: int, *, is_typing: bool = False, is_first: bool = False
    ) -> ReplayState:
        if is_first:
            self._asked = None
        view = self._view_to_ask(now_ns, is_typing=is_typing)
        if view is not self._asked:
            self._asked, self._asked_ns = view, now_ns
        self._number = self._replayer.ask(view, self._asked_ns, scenario)
        return self.state(now_ns, is_typing=is_typing)

    def state(self, now_ns: int, *, is_typing: bool = False) -> ReplayState:
        if self._current is None:
            return ReplayState()
        progress, next_view = self._current.progress, self._view_to_ask(now_ns, is_typing=is_typing)
        return ReplayState(
            number=self._number,
            is_busy=self._current.is_busy,
            done=progress.done,
            total=progress.total,
            is_outdated=not self._is_asked_of(self._view()),
            moves=not self._is_asked_of(next_view),
            is_due=self._is_behind(now_ns, is_typing=is_typing),
        )

    def _view_to_ask(self, now_ns: int, *, is_typing: bool) -> ClusterView:
        view, asked = self._view(), self._asked
        if asked is None or view.evidence is not asked.evidence or self._is_behind(now_ns, is_typing=is_typing):
            return view
        is_later = view.state.generation > asked.state.generation  # else it is another cluster
        return asked if is_later else view

    def _is_behind(self, now_ns: int, *, is_typing: bool) -> bool:
        """Whether it is time for the base to follow the cluster."""
        return now_ns - self._asked_ns >= (FOLLOW_TYPED_NS if is_typing else FOLLOW_AFTER_NS)

    def _is_asked_of(self, view: ClusterView) -> bool:
        """Whether the last question was about this state of the cluster."""
        asked = self._asked
        return asked is not None and asked.state is view.state and asked.evidence is view.evidence

    def stop(self) -> None:
        """End the thread soon."""
        if self._current is not None:
            self._current.stop()

    def wait_until_at_rest(self, seconds: float) -> bool:
        """Wait until all questions are answered; return whether that happened within this many seconds."""
        return self._current is None or self._current.wait_until_at_rest(seconds)

    def compare(self, scenario: Scenario, now_ns: int) -> Answer:
        from karptui.provisioning.reporter import silent
        from karptui.whatif.run import answer

        with self._shared_base.borrowed(self._view(), now_ns) as base:
            return answer(base, scenario, silent, time.monotonic)

    def packed(self, scenario: Scenario, now_ns: int) -> Packed:
        from karptui.session.packing import packed_sides

        with self._shared_base.borrowed(self._view(), now_ns) as base:
            return packed_sides(base, scenario)

    def self_check(self, now_ns: int) -> str:
        from karptui.views.whatif.compare import self_check_text
        from karptui.whatif.self_check import self_check

        return self_check_text(self_check(self._shared_base.take(self._view(), now_ns)))


class ClusterSession(RowServer):
    """Implements `karptui.session.protocol.Session` on the newest generation; may be called from any thread."""

    def __init__(
        self,
        view: Callable[[], ClusterView],
        lists: Mapping[str, Callable[[], List]],
        *,
        shared_base: SharedBase | None = None,
        kept_plays: PlayCache | None = None,
        source: Callable[[], Source | None] = lambda: None,
    ) -> None:
        super().__init__(view, lists)
        shared_base = shared_base or SharedBase()
        self._shared_base = shared_base
        self.whatif = WhatIfs(view, shared_base)
        self.forecasts = Forecasts(view, shared_base, kept_plays or PlayCache())
        self.studies = Studies(view, source)

    @cached_property
    def _objects(self) -> Objects:
        from karptui.serving.objects import Objects

        return Objects()

    @cached_property
    def _blockers(self) -> Remedies:
        from karptui.serving.blockers import Remedies

        return Remedies(self._shared_base)

    @cached_property
    def _churn(self) -> ChurnBook:
        from karptui.session.churn import ChurnBook

        return ChurnBook()

    def describe(self, kind: str, key: str, now_ns: int) -> str:
        from karptui.views.describe import describe

        return describe(self._view(), kind, key, now_ns)

    def explain_removed(self, history: Path, name: str, now_ns: int) -> str:
        from karptui.session.removed_node import removed_node
        from karptui.sources.history.store import History
        from karptui.views.removed_node import removed_lines

        with closing(History(history)) as opened:
            removed = removed_node(opened, name, now_ns, self._view().prices)
        lines = removed_lines(removed, now_ns) if removed is not None else ()
        return "\n".join("".join(text for text, _ in line) for line in lines)

    def history_report(self, history: Path, since: PastTime, until_ns: int | None) -> HistoryReport:
        from karptui.session.history_report import read_report

        view = self._view()
        return read_report(history, since, until_ns, view.state.nodepools, view.prices)

    def names(self, *kinds: str) -> tuple[ObjectRef, ...]:
        from karptui.serving.objects import names

        return names(self._view().state, kinds)

    def node(self, key: str, name: str = "") -> NodeReport:
        return self._objects.node(self._view(), key, name)

    def pending_pod(self, key: str) -> PendingPod:
        from karptui.serving.objects import pending_pod

        return pending_pod(self._view(), key)

    def pending_reasons(self) -> Mapping[str, str]:
        return self._objects.pending_reasons(self._view())

    def last_hour(self, now_ns: int) -> tuple[int | None, ...]:
        from karptui.disruption.churn.life import alive

        churn = self._churn.churn(self._view(), now_ns)
        return alive(churn.lives, churn.window.since_ns, churn.window.now_ns) if churn is not None else ()

    def packing(self) -> tuple[Bin, ...]:
        from karptui.session.packing import bins_of

        return bins_of(self._view())

    def remedies(self, members: Sequence[str], now_ns: int, *, makes_edits: bool = True) -> RemedyList:
        return self._blockers.offered(self._view(), members, now_ns, makes_edits=makes_edits)

    def try_remedies(self, members: Sequence[str], now_ns: int) -> RemedyTrials:
        return self._blockers.tried(self._view(), members, now_ns)

    def forecast_remedies(self, members: Sequence[str], tried: RemedyTrials, now_ns: int) -> RemedyTrials | None:
        return self._blockers.forecast(self._view(), members, tried, now_ns)

    def instance_type(self, pool: str, name: str, pods: frozenset[str] = frozenset()) -> TypeReport:
        from karptui.serving.objects import instance_type

        return instance_type(self._view(), pool, name, pods)

    def type_sources(self, pool: str = "") -> TypeSources:
        return self._objects.type_sources(self._view(), pool)

    def opening(self, objects: Sequence[tuple[str, str]]) -> Opening:
        from karptui.whatif.scenario import opening_for_all

        return opening_for_all(self._view().state, tuple(objects))

    def proportion(self, pools: Sequence[str], shares: str | None = None) -> Proportion:
        from karptui.serving.objects import proportion

        return proportion(self._view(), pools, shares)

    def controller(self) -> ControllerInfo:
        evidence = self._view().evidence
        title = evidence.controller.title if evidence.controller is not None else ""
        return ControllerInfo(settings=evidence.settings, version=evidence.karpenter_version, title=title)

    def known_values(self) -> KnownValues:
        from karptui.serving.known_values import known_values

        return known_values(self._view())
