"""The studies that there are: what each asks, and how its answer is shown: sentences above a row for each case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import msgspec

from karptui.forward.run import HORIZON_NS
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import duration_text
from karptui.plan.drill import Drill
from karptui.plan.headroom import MOST, Headroom, PoolRoom
from karptui.plan.policies import NEVER, PolicyError, PolicyOutcome, afters_of
from karptui.plan.rehearsal import Rehearsal
from karptui.plan.unreached import NodeTurn
from karptui.session.questions import Question
from karptui.session.whatif_questions import (
    DrillsFound,
    DrillsWanted,
    HeadroomsFound,
    HeadroomsWanted,
    PlanFound,
    PlanWanted,
    PlayFound,
    PoliciesFound,
    PoliciesWanted,
    RehearsalsFound,
    RehearsalsWanted,
    SolvedFound,
    SolveWanted,
    UnreachedFound,
    UnreachedWanted,
)
from karptui.solve.catalogue import GOALS
from karptui.views import drill as drill_views
from karptui.views import headroom as headroom_views
from karptui.views import policies as policy_views
from karptui.views import rehearsal as rehearsal_views
from karptui.views import solve as solve_views
from karptui.views import unreached as unreached_views
from karptui.views.column import ItemT
from karptui.views.forward import columns as forward_columns
from karptui.views.forward.sentences import step_text
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.table import TableSpec
from karptui.whatif.edits import AnyEdit, RemoveNode
from karptui.whatif.scenario import Replay, Scenario

FoundT = TypeVar("FoundT", bound=msgspec.Struct)


@dataclass(frozen=True)
class Values:
    """Values of a study that somebody may choose."""

    title: str
    value: str
    """As it is now."""
    hint: str
    fault: Callable[[str], str]
    """Tells what is wrong with a text, in a sentence; empty where nothing is."""
    study: Callable[[str], Study[Any, Any]]
    """From the text to the study with it."""


@dataclass(frozen=True)
class Study(Generic[FoundT, ItemT]):
    """What is asked, and how the answer is shown."""

    title: str
    """In the edge above the answer."""
    rows_title: str
    """What the table is called."""
    table: TableSpec[ItemT]
    wanted: Callable[[int], Question[FoundT]]
    """From the instant to the question."""
    rows: Callable[[FoundT], Sequence[ItemT]]
    lines: Callable[[FoundT], Sequence[Pieces]]
    """The answer first, then what else is said of all; why there is none."""
    name_of: Callable[[ItemT], str]
    story: Callable[[ItemT], Sequence[Pieces]]
    """What is said of the row under the cursor."""
    notes: Callable[[FoundT], Sequence[tuple[str, Sequence[str]]]]
    """Titled lists for the help: what is assumed and left out."""
    scenario: Callable[[ItemT], Scenario | None] = lambda _: None
    """What a row is as edits."""
    text: Callable[[FoundT], str] | None = None
    """The answer as a text to be taken elsewhere; None where there is none."""
    opens: Callable[[ItemT], Study[Any, Any] | None] = lambda _: None
    """What ``enter`` leads to; the what-if of the row where that is None."""
    tab: str = "nodes"
    """The tab that is lit."""
    further: Callable[[], Study[Any, Any]] | None = None
    """The same over another span; None of what is not played."""
    with_seeds: Callable[[], Study[Any, Any]] | None = None
    """The same with several seeds, or with one again."""
    values: Values | None = None
    """What can be typed; None where there is nothing."""


HORIZONS_NS: Final = tuple(hours * 3600 * NS_PER_SECOND for hours in (6, 24, 72, 1))
"""Spans that are played, one after the other."""
_SEEDS: Final = 5
_MANY: Final = 1000
"""Nodes that are never drained at a time."""
_SCALED = 10
"""Pods that a what-if adds where the next one already has no place."""


def said(answer: str, more: Iterable[str] = ()) -> tuple[Pieces, ...]:
    """Return an answer, and what else is said, as lines."""
    return (((clean(answer), Tone.STRONG),), *(((clean(line), Tone.NORMAL),) for line in more))


def said_plainly(*lines: str) -> tuple[Pieces, ...]:
    """Return sentences as lines."""
    return tuple(((clean(line), Tone.NORMAL),) for line in lines)


def notes_of(assumed: Sequence[str], not_modelled: Sequence[str] = ()) -> tuple[tuple[str, Sequence[str]], ...]:
    """Return the lists of the help."""
    return ("Assumed", assumed), ("Not modelled", not_modelled)


# Headroom


def headroom_study(kind: str = "", key: str = "") -> Study[HeadroomsFound, Headroom] | Study[HeadroomsFound, PoolRoom]:
    """Return how many more of one pod fit, of the pods of every workload, or on new nodes of a NodePool.

    Args:
        kind: As the API writes it; empty for every workload.
        key: ``namespace/name``.
    """
    if kind == "NodePool":
        return _headroom_of_pool(key)
    return _headroom_of(kind, key) if kind else _headroom_of_all()


def _headroom_of_pool(name: str) -> Study[HeadroomsFound, Headroom]:
    def lines(found: HeadroomsFound) -> Sequence[Pieces]:
        if found.problem:
            return said(found.problem)
        return said(headroom_views.pool_overview(name, found.found), headroom_views.pool_lines(name, found.found))

    return Study(
        title=f"Headroom ─ NodePool {clean(name)}, if no other launched anything",
        rows_title=f"Workloads with pods on {clean(name)}",
        table=headroom_views.POOL_TABLE,
        wanted=lambda now_ns: HeadroomsWanted(kind="NodePool", key=name, now_ns=now_ns),
        rows=lambda found: found.found,
        lines=lines,
        name_of=lambda row: row.sample.name,
        story=lambda row: said(
            f"{row.sample.name}: {headroom_views.requests_text(row)}", headroom_views.room_lines(row)
        ),
        notes=lambda found: notes_of(found.found[0].assumed) if found.found else (),
        scenario=_scaled,
        opens=lambda row: _headroom_of(*_named(row)),
        tab="pools",
    )


def _headroom_of_all() -> Study[HeadroomsFound, Headroom]:
    return Study(
        title="Headroom ─ how many more pods fit",
        rows_title="Workloads",
        table=headroom_views.TABLE,
        wanted=lambda now_ns: HeadroomsWanted(now_ns=now_ns),
        rows=lambda found: found.found,
        lines=lambda found: said(found.problem or headroom_views.overview(found.found)),
        name_of=lambda row: row.sample.name,
        story=lambda row: said(headroom_views.headline(row), headroom_views.more_lines(row)),
        notes=lambda found: notes_of(found.found[0].assumed) if found.found else (),
        scenario=_scaled,
        opens=lambda row: _headroom_of(*_named(row)),
        tab="pods",
    )


def _headroom_of(kind: str, key: str) -> Study[HeadroomsFound, PoolRoom]:
    def lines(found: HeadroomsFound) -> Sequence[Pieces]:
        if not found.found:
            return said(found.problem)
        (one,) = found.found
        asks = f"one asks for {headroom_views.requests_text(one)}"
        return said(headroom_views.headline(one), (asks, *headroom_views.more_lines(one)))

    return Study(
        title=f"Headroom ─ {clean(kind)} {clean(key)}",
        rows_title="Each NodePool, if no other launched anything",
        table=headroom_views.POOLS_TABLE,
        wanted=lambda now_ns: HeadroomsWanted(kind=kind, key=key, now_ns=now_ns),
        rows=lambda found: found.found[0].pools if found.found else (),
        lines=lines,
        name_of=lambda row: row.pool_name,
        story=lambda row: said(f"{row.pool_name}: {row.reason}") if row.reason else (),
        notes=lambda found: notes_of(found.found[0].assumed) if found.found else (),
        tab="pods",
    )


def _named(row: Headroom) -> tuple[str, str]:
    kind, _, key = row.sample.name.partition("/")
    return kind, key


def _scaled(row: Headroom) -> Scenario:
    """Return the first pod that does not fit any more as a scenario, with all before it."""
    count = row.fits + 1 if row.fits < MOST else _SCALED
    return Scenario(name=f"{count} more of {row.sample.name}", edits=row.sample.edits(count))


# Drills


def drill_study() -> Study[DrillsFound, Drill]:
    """Return what is left when any zone, capacity type or NodePool goes away."""
    return Study(
        title="Drill ─ what is left when one of them goes away at once",
        rows_title="Losses",
        table=drill_views.TABLE,
        wanted=lambda now_ns: DrillsWanted(now_ns=now_ns),
        rows=lambda found: found.found,
        lines=lambda found: said(found.problem or drill_views.overview(found.found)),
        name_of=lambda row: str(row.loss),
        story=lambda row: said(drill_views.headline(row), drill_views.story_lines(row)),
        notes=lambda found: notes_of(found.found[0].assumed, found.found[0].not_modelled) if found.found else (),
        scenario=lambda row: Scenario(name=f"without {row.loss}", edits=row.edits),
        tab="nodes",
    )


# Policies


def policies_study(
    pool: str = "", *, afters: tuple[str, ...] = (), horizon_ns: int = HORIZON_NS, seeds: int = 1
) -> Study[PoliciesFound, PolicyOutcome]:
    """Return what consolidation policies save and evict.

    Args:
        pool: The NodePool that is edited; empty for all that are not static.
        afters: What is tried of consolidateAfter; a few values and those in use where there is nothing.
        horizon_ns: How far each is played.
        seeds: How many seeds each is played with.
    """

    def lines(found: PoliciesFound) -> Sequence[Pieces]:
        if found.found is None:
            return said(found.problem)
        return said(policy_views.headline(found.found), policy_views.more_lines(found.found))

    return Study(
        title=f"Policies of consolidation ─ {clean(pool) if pool else 'all NodePools alike'}, over {_span(horizon_ns)}"
        + (f", {seeds} seeds" if seeds > 1 else ""),
        rows_title="Policies",
        table=policy_views.TABLE,
        wanted=lambda now_ns: PoliciesWanted(
            pools=(pool,) if pool else (), afters=afters, horizon_ns=horizon_ns, seeds=seeds, now_ns=now_ns
        ),
        further=lambda: policies_study(pool, afters=afters, horizon_ns=_further(horizon_ns), seeds=seeds),
        with_seeds=lambda: policies_study(pool, afters=afters, horizon_ns=horizon_ns, seeds=1 if seeds > 1 else _SEEDS),
        values=Values(
            title="Values of consolidateAfter",
            value=" ".join(afters),
            hint="such as 30s 10m 1h Never; without any 0s, 5m, 1h and those in use",
            fault=_fault_of_afters,
            study=lambda text: policies_study(
                pool, afters=tuple(text.replace(",", " ").split()), horizon_ns=horizon_ns, seeds=seeds
            ),
        ),
        rows=lambda found: found.found.outcomes if found.found is not None else (),
        lines=lines,
        name_of=policy_views.name_of,
        story=lambda row: said(policy_views.sentence(row), policy_views.story_lines(row)),
        notes=lambda found: notes_of(found.found.assumed, found.found.not_modelled) if found.found is not None else (),
        scenario=lambda row: Scenario(name=policy_views.name_of(row), edits=row.edits) if row.edits else None,
        tab="pools",
    )


def _fault_of_afters(text: str) -> str:
    try:
        afters_of(text or NEVER)
    except PolicyError as error:
        return str(error)
    return ""


def _span(horizon_ns: int) -> str:
    return duration_text(horizon_ns / NS_PER_SECOND)


def _further(horizon_ns: int) -> int:
    """Return the span that comes after one."""
    at = HORIZONS_NS.index(horizon_ns) if horizon_ns in HORIZONS_NS else -1
    return HORIZONS_NS[(at + 1) % len(HORIZONS_NS)]


# Nodes that a pass never reaches


def unreached_study() -> Study[UnreachedFound, NodeTurn]:
    """Return which nodes consolidation never looks at."""

    def lines(found: UnreachedFound) -> Sequence[Pieces]:
        if found.found is None:
            return ()
        return said(unreached_views.headline(found.found), unreached_views.more_lines(found.found))

    return Study(
        title="Never reached ─ the order of single-node consolidation and its three minutes",
        rows_title="Nodes in their order",
        table=unreached_views.TABLE,
        wanted=lambda now_ns: UnreachedWanted(now_ns=now_ns),
        rows=lambda found: found.found.turns if found.found is not None else (),
        lines=lines,
        name_of=lambda row: row.node,
        story=lambda row: said(unreached_views.sentence(row)),
        notes=lambda found: notes_of(found.found.assumed) if found.found is not None else (),
        scenario=lambda row: Scenario(name=f"without {row.node}", replay=Replay.REMOVE, edits=(RemoveNode(row.node),)),
        tab="blockers",
    )


# Node groups


def rehearsal_study(
    manifests: tuple[AnyEdit, ...] = (), *, at_once: int = 1, horizon_ns: int = HORIZON_NS
) -> Study[RehearsalsFound, Rehearsal]:
    """Return what comes of moving node groups to Karpenter.

    Args:
        manifests: What is applied before: NodePools and DaemonSets as they would be.
        at_once: How many nodes are drained at a time.
        horizon_ns: How far a drain is played that does not come to its end.
    """
    edited = " with the edits of the what-if" if manifests else ""
    span = "" if horizon_ns == HORIZON_NS else f", over {_span(horizon_ns)}"
    return Study(
        title=f"Rehearsal ─ node groups moved to Karpenter{edited}{span}",
        rows_title="Node groups",
        table=rehearsal_views.TABLE,
        wanted=lambda now_ns: RehearsalsWanted(
            manifests=manifests, at_once=at_once, horizon_ns=horizon_ns, now_ns=now_ns
        ),
        rows=lambda found: found.found,
        lines=lambda found: said(found.problem or rehearsal_views.overview(found.found)),
        name_of=rehearsal_views.name_of,
        story=lambda row: said(rehearsal_views.headline(row), rehearsal_views.story_lines(row)),
        notes=lambda found: notes_of(found.found[0].assumed, found.found[0].drain.not_modelled) if found.found else (),
        scenario=lambda row: Scenario(name=f"without {rehearsal_views.name_of(row)}", edits=row.edits),
        tab="nodes",
        further=lambda: rehearsal_study(manifests, at_once=at_once, horizon_ns=_further(horizon_ns)),
        values=Values(
            title="Nodes drained at a time",
            value=str(at_once),
            hint="1, as kubectl drain does, or more",
            fault=lambda text: "" if text.isdecimal() and 0 < int(text) < _MANY else f"a number below {_MANY}",
            study=lambda text: rehearsal_study(manifests, at_once=int(text), horizon_ns=horizon_ns),
        ),
    )


# Goals


def solve_study(
    goal: str, given: Sequence[tuple[str, str]], on_top_of: Scenario | None = None
) -> Study[SolvedFound, solve_views.SolveRow]:
    """Return the change that reaches a goal, above those that lost.

    Args:
        goal: Its name.
        given: Its parameters.
        on_top_of: Edits that are made before.
    """

    def lines(found: SolvedFound) -> Sequence[Pieces]:
        if found.found is None:
            return said(found.problem or "it was given up")
        return said(solve_views.answer_text(found.found), solve_views.more_lines(found.found))

    known = GOALS.get(goal)
    before = f" ─ on top of {clean(on_top_of.name)}" if on_top_of is not None else ""
    return Study(
        title=f"Solve ─ {known.title if known is not None else clean(goal)}{before}",
        rows_title="Changes tried",
        table=solve_views.TABLE,
        wanted=lambda now_ns: SolveWanted(goal=goal, given=tuple(given), on_top_of=on_top_of, now_ns=now_ns),
        rows=lambda found: solve_views.rows_of(found.found) if found.found is not None else (),
        lines=lines,
        name_of=lambda row: row.tried.words,
        story=lambda row: said(row.tried.words, solve_views.row_lines(row)),
        notes=lambda found: (
            (("Approximated", found.found.approximated), ("Not modelled", found.found.not_modelled))
            if found.found is not None
            else ()
        ),
        scenario=lambda row: row.scenario,
        tab="pools",
    )


# Plans


def plan_study(scenario: Scenario, *, horizon_ns: int = HORIZON_NS) -> Study[PlanFound, forward_columns.PlayedStep]:
    """Return what making a scenario so would do: risks first, then its rollout, command by command."""

    def lines(found: PlanFound) -> Sequence[Pieces]:
        sheet = found.found
        if sheet is None:
            return said(found.problem)
        risks = tuple(((f"! {clean(risk)}", Tone.WARNING),) for risk in sheet.risks)
        rest = (*(f"new blocker: {one}" for one in sheet.blockers), *sheet.rollout, sheet.costs)
        return (*said(sheet.headline), *(risks or said_plainly("no risk is found")), *said_plainly(*rest))

    def rows(found: PlanFound) -> Sequence[forward_columns.PlayedStep]:
        if found.found is None:
            return ()
        return forward_columns.played_steps((PlayFound(name=scenario.name, played=found.found.edited),))

    return Study(
        title=f"Plan ─ {clean(scenario.name)}" + ("" if horizon_ns == HORIZON_NS else f", over {_span(horizon_ns)}"),
        further=lambda: plan_study(scenario, horizon_ns=_further(horizon_ns)),
        rows_title="What Karpenter does",
        table=forward_columns.TABLE.without("scenario"),
        wanted=lambda now_ns: PlanWanted(scenario=scenario, horizon_ns=horizon_ns, now_ns=now_ns),
        rows=rows,
        lines=lines,
        name_of=lambda row: step_text(row.step),
        story=lambda row: said_plainly(step_text(row.step)),
        notes=lambda found: (
            notes_of(found.found.edited.assumptions, found.found.edited.not_modelled) if found.found else ()
        ),
        scenario=lambda _: scenario,
        text=lambda found: found.found.markdown if found.found is not None else found.problem,
        tab="pools",
    )
