"""Who answers what screens ask beside rows, by the type of the question."""

# ruff: noqa: PLC0415 - what answers is imported when it is first asked

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from karptui.session.moments import KeptPlays
from karptui.session.questions import (
    DescriptionWanted,
    LastHourFound,
    LastHourWanted,
    LedgerWanted,
    NamesWanted,
    NodeWanted,
    OpeningWanted,
    PackingFound,
    PackingWanted,
    PodWaitWanted,
    ProportionWanted,
    Question,
    ReasonsWanted,
    RemediesWanted,
    TrialsWanted,
    TypeSourcesWanted,
)
from karptui.session.replays import SharedBase
from karptui.session.row_server import Answerer
from karptui.session.study_questions import (
    DrillsWanted,
    HeadroomsWanted,
    PlanWanted,
    PoliciesWanted,
    RehearsalsWanted,
    SolveWanted,
    StudyProgressWanted,
    UnreachedWanted,
)
from karptui.session.whatif_questions import (
    ComparedWanted,
    ControllerWanted,
    KnownValuesWanted,
    PackedWanted,
    PlayProgressWanted,
    PlaysWanted,
    PointWanted,
    SelfCheckWanted,
    SweepUnwanted,
    SweepWanted,
)

if TYPE_CHECKING:
    from karptui.serving.blockers import Remedies
    from karptui.serving.plays import Plays
    from karptui.serving.studies import Studies
    from karptui.serving.whatif import WhatIfs
    from karptui.session.cluster_view import ClusterView


def answers_of(
    shared_base: SharedBase, kept_plays: KeptPlays | None = None
) -> Mapping[type[Question[Any]], Callable[[], Answerer]]:
    """Return what answers each kind of question.

    Args:
        shared_base: The cluster made ready for what-ifs.
        kept_plays: Gets every play, so that its moments can be opened.
    """
    kept = kept_plays if kept_plays is not None else KeptPlays()

    @cache
    def whatifs() -> WhatIfs:
        from karptui.serving.whatif import WhatIfs

        return WhatIfs(shared_base)

    plays = cache(lambda: _plays(shared_base, kept))
    studies = cache(_studies)
    return {
        DescriptionWanted: _descriptions,
        NamesWanted: _names,
        PackingWanted: _packing,
        OpeningWanted: _openings,
        ProportionWanted: _proportions,
        RemediesWanted: lambda: _remedies(shared_base).offered,
        LedgerWanted: _ledgers,
        TypeSourcesWanted: _type_sources,
        TrialsWanted: lambda: _remedies(shared_base).tried,
        NodeWanted: _nodes,
        PodWaitWanted: _pod_waits,
        ReasonsWanted: _reasons,
        LastHourWanted: _last_hours,
        ControllerWanted: _controllers,
        KnownValuesWanted: _known_values,
        ComparedWanted: lambda: whatifs().compared,
        PackedWanted: lambda: whatifs().packed,
        SelfCheckWanted: lambda: whatifs().self_checked,
        SweepWanted: lambda: whatifs().sweep,
        PointWanted: lambda: whatifs().point,
        SweepUnwanted: lambda: whatifs().ended,
        PlaysWanted: lambda: plays().played,
        PlayProgressWanted: lambda: plays().progress,
        StudyProgressWanted: lambda: studies().progress,
        DrillsWanted: lambda: studies().drills,
        HeadroomsWanted: lambda: studies().headrooms,
        PoliciesWanted: lambda: studies().policies,
        PlanWanted: lambda: studies().plan,
        UnreachedWanted: lambda: studies().unreached,
        RehearsalsWanted: lambda: studies().rehearsals,
        SolveWanted: lambda: studies().solved,
    }


def _descriptions() -> Answerer:
    from karptui.serving.objects import description

    return description


def _packing() -> Answerer:
    from karptui.session.packing import bins_of

    return lambda view, _: PackingFound(bins=bins_of(view))


def _last_hours() -> Answerer:
    from karptui.disruption.churn.last_hour import alive
    from karptui.session.churn import ChurnBook

    book = ChurnBook()

    def last_hour(view: ClusterView, wanted: LastHourWanted) -> LastHourFound:
        known = book.churn(view, wanted.now_ns)
        if known is None:
            return LastHourFound()
        return LastHourFound(alive=alive(known.lives, known.window.since_ns, known.window.now_ns))

    return last_hour


def _names() -> Answerer:
    from karptui.serving.objects import names

    return names


def _openings() -> Answerer:
    from karptui.serving.objects import opening

    return opening


def _proportions() -> Answerer:
    from karptui.serving.objects import proportion

    return proportion


def _remedies(shared_base: SharedBase) -> Remedies:
    from karptui.serving.blockers import Remedies

    return Remedies(shared_base)


def _nodes() -> Answerer:
    from karptui.serving.details import Nodes

    return Nodes().node


def _pod_waits() -> Answerer:
    from karptui.serving.details import pod_wait

    return pod_wait


def _reasons() -> Answerer:
    from karptui.serving.details import PendingReasons

    return PendingReasons().reasons


def _controllers() -> Answerer:
    from karptui.serving.whatif import controller

    return controller


def _known_values() -> Answerer:
    from karptui.serving.whatif import values

    return values


def _ledgers() -> Answerer:
    from karptui.serving.types import ledger

    return ledger


def _type_sources() -> Answerer:
    from karptui.serving.types import TypeSources

    return TypeSources().sources


def _plays(shared_base: SharedBase, kept: KeptPlays) -> Plays:
    from karptui.serving.plays import Plays

    return Plays(shared_base, kept)


def _studies() -> Studies:
    from karptui.serving.studies import Studies

    return Studies()
