"""Blockers as rows, and their remedies."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Final

from karptui.disruption.joint_saving import JointFigures
from karptui.kube.recent import LastAnswer
from karptui.provisioning.reporter import Pause, Reporter
from karptui.serving.studies import OneAtATime
from karptui.session.answers import RemedyList, RemedyTrials, RowQuery
from karptui.session.blockers import (
    BlockerEntry,
    BlockerGroup,
    BlockerGrouping,
    BlockerLine,
    blocker_entries,
    grouped,
    nodes_of,
    only_blockers,
)
from karptui.session.cluster_view import ClusterView
from karptui.session.grouping import Folding
from karptui.session.nodes import NodeEntry
from karptui.session.prepare import base_of
from karptui.session.replays import SharedBase
from karptui.session.row_server import Arranged, List
from karptui.studies.forecasts import RemedyForecasts
from karptui.views.blockers.columns import TABLE
from karptui.views.blockers.remedies import objects_of, remedies
from karptui.views.served import served
from karptui.whatif.remedies.blockers.trial import Trial, ranked, try_remedies

FOLDED_FROM: Final = 60
"""Fewest blockers with which groups start folded."""
PACED_FROM: Final = 3_000
"""Fewest blockers with which rows follow the analysis at intervals only."""
PACE: Final = 10
"""Rest this multiple of the time that building the rows took."""


def blockers(clock: Callable[[], float] = time.monotonic) -> List:
    """Return the list of everything that keeps nodes."""
    last: LastAnswer[Sequence[BlockerLine]] = LastAnswer()
    lines: Sequence[BlockerLine] = ()
    joint: JointFigures | None = None
    rests_until = 0.0

    def items(view: ClusterView, _: RowQuery) -> Sequence[BlockerLine]:
        nonlocal lines, joint
        joint = view.analysis.joint if view.analysis is not None else None
        if len(lines) < PACED_FROM or clock() >= rests_until:
            lines = last.get((view.analysis, view.node_entries), lambda: blocker_entries(view))
        return lines

    def in_groups(lines: Sequence[BlockerLine], query: RowQuery, total: int) -> Sequence[BlockerLine]:
        folding = Folding(query.is_folded, query.other_way, query.opens_all)
        grouping = BlockerGrouping(query.group_by or BlockerGrouping.NOTHING)
        return grouped(only_blockers(lines), grouping, folding.with_default(is_folded=total >= FOLDED_FROM), joint)

    table_rows = served(TABLE, items, grouped=in_groups, nodes=_held_nodes)

    def arrange(source: Sequence[BlockerLine], query: RowQuery) -> Arranged:
        nonlocal rests_until
        began = clock()
        arranged = table_rows.arrange(source, query)
        rests_until = clock() + PACE * (clock() - began)
        return arranged

    return table_rows._replace(arrange=arrange)


def _held_nodes(lines: Sequence[BlockerLine]) -> Sequence[NodeEntry]:
    """Return the nodes that something holds which a method wants, each once, be their group open or not."""
    entries: Iterable[BlockerEntry] = chain.from_iterable(
        line.members if isinstance(line, BlockerGroup) else (line,) for line in lines
    )
    return nodes_of(entry for entry in entries if not entry.is_idle)


class Remedies(OneAtATime):
    """Remedies for blockers, and the outcome of each remedy."""

    def __init__(self, shared_base: SharedBase) -> None:
        super().__init__()
        self._shared_base = shared_base
        self._by_key: LastAnswer[Mapping[str, BlockerEntry]] = LastAnswer()

    def _members(self, view: ClusterView, keys: Iterable[str]) -> tuple[BlockerEntry, ...]:
        """Return blockers of the newest analysis; deleted ones are left out."""
        by_key = self._by_key.get(
            (view.analysis, view.node_entries), lambda: {entry.key: entry for entry in blocker_entries(view)}
        )
        return tuple(by_key[key] for key in keys if key in by_key)

    def offered(self, view: ClusterView, keys: Sequence[str], now_ns: int, *, makes_edits: bool = True) -> RemedyList:
        """Return the remedies for some blockers."""
        members = self._members(view, keys)
        offered = remedies(members, objects_of(view.state), now_ns, makes_edits=makes_edits)
        return RemedyList(members, tuple(offered))

    def tried(self, view: ClusterView, keys: Sequence[str], now_ns: int) -> RemedyTrials:
        """Try every remedy separately, on the current cluster."""
        remedy_list = self.offered(view, keys, now_ns)
        with self._shared_base.borrowed(view, now_ns) as base:
            return _ranked(
                remedy_list, try_remedies(base, remedy_list.remedies, [m.blocker for m in remedy_list.members])
            )

    def forecast(self, view: ClusterView, keys: Sequence[str], tried: RemedyTrials, now_ns: int) -> RemedyTrials | None:
        """Return trials with forecasts; None if they are of other remedies, or a newer call cancelled this one."""
        remedy_list = self.offered(view, keys, now_ns)
        if tried.kinds != tuple(remedy.kind for remedy in remedy_list.remedies):
            return None

        def work(pause: Pause, _: Reporter) -> tuple[Trial, ...]:
            # A separate base: what-ifs share theirs, and would wait.
            forecasts = RemedyForecasts(base_of(view, now_ns, pause), view.evidence.seconds_per_removal)
            return forecasts.of(remedy_list.remedies, tried.trials)

        trials = self._run(work)
        return _ranked(remedy_list, trials) if trials is not None else None


def _ranked(remedy_list: RemedyList, trials: tuple[Trial, ...]) -> RemedyTrials:
    best = ranked(remedy_list.remedies, trials) if trials else ()
    return RemedyTrials(
        kinds=tuple(remedy.kind for remedy in remedy_list.remedies),
        trials=trials,
        best=remedy_list.remedies[best[0]].kind if best else None,
    )
