"""A pause of disruption as text: commands, removals that go on, cost, and released removals."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final

from msgspec import structs

from karptui.aws.money import LEAST_CHANGE, per_hour_text, sum_text
from karptui.disruption.pauses import END_FORMS, PauseRequest, ZeroBudget, end_of
from karptui.forward.result import StepKind
from karptui.forward.run import HORIZON_NS
from karptui.kube.gitops import Revert
from karptui.kube.units import clock_text, counted, first_of, instant_text, span_text, verb
from karptui.studies.pause import EventKind, Pause, PauseEvent, PoolPause, PoolState
from karptui.studies.pause import pause as simulated_pause
from karptui.views.actions import OWNER, revert_text
from karptui.views.column import (
    INSTANT_OR_NULL,
    Column,
    Heading,
    Value,
    count_column,
    number_heading,
    one_of,
    record,
    records,
    text_column,
    texts,
)
from karptui.views.instants import dated_text, instant_column, second_value
from karptui.views.row import Cell
from karptui.views.sanitize import clean, short_name
from karptui.views.study import Study, Values, answer_lines, answered, fault_of, next_horizon, notes_of
from karptui.views.table import Sort, TableSpec
from karptui.whatif.yaml.write import write_block

_FEW: Final = 3
_NEVER_STOPPED: Final = (
    "no budget stops expiration (expireAfter), interruption, drains and commands under way, static scale-down, or "
    "deletions by hand; terminationGracePeriod still forces drains to end"
)
_KINDS: Final = {
    EventKind.DRAINING: "being drained",
    EventKind.COMMANDED: "in a command under way",
    EventKind.EXPIRES: "expiring",
    EventKind.REPAIRED: "repaired",
    EventKind.SCALE_DOWN: "scaled down (static)",
    EventKind.NOT_PAUSED: "disrupted in a NodePool or for a reason that is not paused",
}
_STATES: Final = {
    PoolState.CHANGED: "changed",
    PoolState.ALREADY: "already paused",
    PoolState.NOT_PAUSED: "not paused",
    PoolState.UNREADABLE: "closed by a budget that cannot be parsed",
    PoolState.FULL: "with too many budgets",
    PoolState.NOT_CONCERNED: "without such disruption (static)",
}
_WHY: Final = {
    EventKind.DRAINING: "draining",
    EventKind.COMMANDED: "command under way",
    EventKind.EXPIRES: "expires",
    EventKind.REPAIRED: "repaired",
    EventKind.SCALE_DOWN: "static scale-down",
    EventKind.NOT_PAUSED: "not paused",
    EventKind.RELEASED: "after release",
}


def headline(pause: Pause) -> str:
    """Return the paused reasons, NodePools and end; or the ended pauses."""
    changed = [pool for pool in pause.pools if pool.state is PoolState.CHANGED]
    named = first_of([clean(pool.name) for pool in changed], _FEW)
    if pause.is_release:
        if not changed:
            return "no active pause to end" + (f": {_states(pause)}" if len(pause.pools) == 1 else "")
        count = sum(len(pool.ended) for pool in changed)
        return f"ends {counted(count, 'pause')} in {counted(len(changed), 'NodePool')} ({named})"
    what = " and ".join(pause.reasons) or "all voluntary"
    if not changed:
        return f"nothing to pause for {what} disruption: {_states(pause)}"
    until = "without an end"
    if pause.until_ns is not None:
        until = f"until {dated_text(pause.until_ns, pause.from_ns)} ({span_text(pause.until_ns - pause.from_ns)})"
    return f"pauses {what} disruption in {counted(len(changed), 'NodePool')} ({named}) {until}"


def _states(pause: Pause) -> str:
    counts = Counter(pool.state for pool in pause.pools)
    return ", ".join(f"{counted(count, 'NodePool')} {_STATES[state]}" for state, count in counts.items())


def more_lines(pause: Pause) -> Iterator[str]:
    """Yield the cost, removals that go on, released removals, and notes on single NodePools."""
    is_any = any(pool.state is PoolState.CHANGED for pool in pause.pools)
    if is_any:
        yield _cost(pause)
    if not pause.is_release:
        yield _going_on(pause)
        yield _NEVER_STOPPED
    if is_any:
        yield _released(pause)
        yield from _window_lines(pause)
    for pool in pause.pools:
        yield from (f"{clean(pool.name)}: {text}" for text in pool_lines(pool, pause.from_ns))


def _cost(pause: Pause) -> str:
    dollars = pause.dollars_per_hour
    if dollars is None:
        return "cost: unknown, because some nodes have no known price"
    if pause.is_release:
        span = span_text(pause.changed.until_ns - pause.from_ns)
        if abs(dollars) < LEAST_CHANGE:
            return f"savings: none within {span}, by forecast"
        saves = "saves" if dollars > 0 else "costs"
        return f"{saves} {per_hour_text(abs(dollars))} after {span}, by forecast"
    until = f"until {dated_text(pause.released_ns, pause.from_ns)}, by forecast"
    total = pause.dollars or 0.0
    if abs(total) < LEAST_CHANGE:
        return f"cost: none {until}: without it Karpenter would save nothing by then"
    if total < 0:
        return f"cost: none; the nodes cost {sum_text(-total)} less {until}"
    return f"cost: {per_hour_text(dollars)} on average, {sum_text(total)} {until}"


def _going_on(pause: Pause) -> str:
    counts = Counter[EventKind]()
    for event in pause.going_on:
        counts[event.kind] += len(event.nodes)
    parts = [f"{counted(count, 'node')} {_KINDS[kind]}" for kind, count in counts.items()]
    if spot := sum(pool.spot_nodes for pool in pause.pools if pool.state is PoolState.CHANGED):
        parts.append(f"interruptions of {counted(spot, 'spot node')} at any time (not forecast)")
    return f"continues anyway: {', '.join(parts)}" if parts else "continues anyway: nothing, by forecast"


def _released(pause: Pause) -> str:
    nodes = sum(len(event.nodes) for event in pause.released)
    evictions = sum(event.evictions for event in pause.released)
    end_ns = pause.changed.until_ns
    at = "now" if pause.is_release else f"at {dated_text(pause.released_ns, pause.from_ns)}"
    if not pause.is_release and pause.until_ns != pause.released_ns:
        at += " (assumed)"
    by = dated_text(pause.as_is.until_ns, pause.from_ns)
    otherwise = f"otherwise Karpenter disrupts {counted(pause.disrupted_otherwise, 'node')} by {by}"
    if not nodes:
        quiet = "" if pause.changed.is_quiescent else f" within {span_text(end_ns - pause.released_ns)}"
        return f"released {at}: no node is disrupted{quiet}, by forecast; {otherwise}"
    commands = counted(len(pause.released), "command")
    first = clock_text(pause.released[0].at_ns)
    span = span_text(max(event.gone_ns or end_ns for event in pause.released) - pause.released_ns)
    return (
        f"released {at}: {commands} {verb(len(pause.released), 'removes', 'remove')} {counted(nodes, 'node')}"
        f" ({counted(evictions, 'eviction')}) within {span}, the first at {first}; {otherwise}"
    )


def _window_lines(pause: Pause) -> Iterator[str]:
    if pause.is_release:
        return
    if pause.until_ns is None:
        yield "it has no end: end it with karptui pause --release"
    else:
        yield ("its schedule recurs every year: remove the budget afterwards, with the second patch of each NodePool")
    if pause.names_reasons:
        yield "it lists the voluntary reasons, because a budget for all reasons would stop node repair too"


def pool_lines(pool: PoolPause, now_ns: int) -> Iterator[str]:
    """Yield notes on a NodePool: its state, other closed budgets, and its owner in Git."""
    if pool.is_deleting:
        yield "it is being deleted, and its nodes with it, regardless of budgets"
    match pool.state:
        case PoolState.UNREADABLE:
            yield "a budget cannot be parsed, so that Karpenter disrupts none of its nodes anyway; repair the budget"
        case PoolState.FULL:
            yield "it has 50 budgets, the most that its CRD allows: replace one"
        case PoolState.NOT_CONCERNED:
            yield "static, and only its drift is voluntary disruption: nothing to pause"
        case PoolState.NOT_PAUSED if not pool.kept:
            return
        case _:
            pass
    for pause in pool.ended:
        yield f"ends {_budget_text(pause, now_ns)}"
    for pause in pool.kept:
        stays = "also closed by"
        if pool.state is PoolState.ALREADY:
            stays = "already paused by"
        elif pool.ended or pool.state is PoolState.NOT_PAUSED:
            stays = "stays closed by"
        yield f"{stays} {_budget_text(pause, now_ns)}"
    if pool.is_default_written:
        yield "without another budget disruption would have no limit: the API server's default of 10% is written"
    if pool.owner is not None and pool.state is PoolState.CHANGED:
        yield revert_text(pool.owner)


def _budget_text(pause: ZeroBudget, now_ns: int) -> str:
    reasons = f" for {', '.join(map(clean, pause.budget.reasons))}" if pause.budget.reasons is not None else ""
    window = ""
    if pause.budget.schedule is not None:
        until = f", until {dated_text(pause.end_ns, now_ns)}" if pause.end_ns is not None else ""
        kind = "recurring window" if pause.is_recurring else "window"
        window = f", {kind} {clean(pause.budget.schedule)} for {clean(pause.budget.duration or '')}{until}"
    return f"budget {pause.index + 1} ({clean(pause.budget.nodes)} nodes{reasons}{window})"


def command_lines(pause: Pause, context: str = "") -> Iterator[str]:
    """Yield for each NodePool the kubectl command, or the manifest if Git owns it.

    Args:
        context: Context of the kubeconfig, if one was named.
    """
    for pool in pause.pools:
        if pool.state is not PoolState.CHANGED:
            continue
        if pool.owner is not None and pool.owner.revert is not Revert.NEVER:
            yield f"# NodePool {clean(pool.name)}: commit these budgets to Git"
            yield from manifest_lines(pool)
            continue
        yield _kubectl(pool.name, pool.patch, context)
        if pause.until_ns is not None:
            last = len(pool.budgets) - 1
            path = f"/spec/disruption/budgets/{last}"
            undo = ({"op": "test", "path": path, "value": pool.budgets[last]}, {"op": "remove", "path": path})
            yield f"# after {instant_text(pause.until_ns)}:"
            yield _kubectl(pool.name, undo, context)


def _kubectl(name: str, patch: Sequence[dict[str, Any]], context: str) -> str:
    where = f"--context {shlex.quote(context)} " if context else ""
    text = shlex.quote(json.dumps(list(patch), separators=(",", ":")))
    return f"kubectl {where}patch nodepools.karpenter.sh {shlex.quote(name)} --type=json -p {text}"


def manifest_lines(pool: PoolPause) -> list[str]:
    """Return the part of a NodePool's manifest that changes."""
    manifest = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": pool.name},
        "spec": {"disruption": {"budgets": [dict(budget) for budget in pool.budgets]}},
    }
    return write_block(manifest, indent=0)


def _when(event: PauseEvent, now_ns: int) -> str:
    return "now" if event.kind in (EventKind.DRAINING, EventKind.COMMANDED) else dated_text(event.at_ns, now_ns)


TABLE: Final[TableSpec[PauseEvent]] = TableSpec(
    "removals",
    (
        Column(
            Heading("when", "WHEN", "When it is decided, by forecast.", 9, 21),
            lambda event, _: Cell(_when(event, event.at_ns)),
            lambda event: event.at_ns,
            values=Value("at", lambda event, _: second_value(event.at_ns), INSTANT_OR_NULL),
        ),
        text_column(
            Heading("why", "WHY", "What removes the nodes: not stopped by the pause, or released by its end.", 14, 18),
            lambda event: _WHY[event.kind],
            values=Value("kind", lambda event, _: event.kind, one_of(*EventKind)),
        ),
        text_column(
            Heading("nodes", "NODES", "The nodes.", 16, 60, is_name=True),
            lambda event: first_of(list(map(short_name, event.nodes)), _FEW),
            values=texts("nodes", lambda event: event.nodes),
        ),
        text_column(
            Heading("pool", "POOL", "Their NodePools.", 6, 24, drop_order=1),
            lambda event: ", ".join(event.pools),
            values=texts("nodePools", lambda event: event.pools),
        ),
        text_column(
            Heading("method", "METHOD", "The method of a command.", 8, 24, drop_order=3),
            lambda event: event.method,
            values=(
                Value("method", lambda event, _: event.method, str),
                Value("decision", lambda event, _: event.decision, str),
            ),
        ),
        count_column(
            number_heading("evictions", "EVICTIONS", "Evicted pods.", drop_order=2),
            lambda event: event.evictions,
            json="evictions",
        ),
        instant_column(
            Heading("gone", "GONE", "When the last node is gone, by forecast.", 9, 21, drop_order=4),
            lambda event: event.gone_ns,
            lambda event: event.at_ns,
            "goneAt",
        ),
        instant_column(
            Heading("forced", "FORCED", "When terminationGracePeriod forces the drain to end.", 9, 21, drop_order=5),
            lambda event: event.forced_ns,
            lambda event: event.at_ns,
            "forcedAt",
        ),
    ),
    csv=("at", "kind", "method", "decision", "evictions", "goneAt", "forcedAt", "nodes", "nodePools"),
    key=lambda event: f"{event.at_ns} {event.kind} {' '.join(event.nodes)}",
    default_sort=Sort("when"),
    text=lambda event: " ".join((_WHY[event.kind], *event.nodes, *event.pools)).lower(),
)
_ACTIVE: Final[tuple[Value[ZeroBudget], ...]] = (
    Value("index", lambda pause, _: pause.index, int, "In spec.disruption.budgets, from 0."),
    Value("nodes", lambda pause, _: pause.budget.nodes, str),
    Value("reasons", lambda pause, _: pause.budget.reasons, list[str] | None, "Null: all."),
    Value("schedule", lambda pause, _: pause.budget.schedule, str | None),
    Value("duration", lambda pause, _: pause.budget.duration, str | None),
    Value("endsAt", lambda pause, _: second_value(pause.end_ns), INSTANT_OR_NULL, "Null: not within a week."),
    Value("isRecurring", lambda pause, _: pause.is_recurring, bool, "Whether it opens more often than once a year."),
)
_JSON: Final = {"type": "array", "items": {"type": "object"}}
_POOL: Final[tuple[Value[PoolPause], ...]] = (
    Value("name", lambda pool, _: pool.name, str),
    Value("state", lambda pool, _: pool.state, one_of(*PoolState)),
    Value("budgets", lambda pool, _: list(pool.budgets), _JSON, "After the change, as the manifest has them."),
    Value("patch", lambda pool, _: list(pool.patch), _JSON, "JSON patch; empty without a change."),
    records("ended", lambda pool: pool.ended, _ACTIVE, "Pauses that are ended."),
    records("kept", lambda pool: pool.kept, _ACTIVE, "Other budgets that allow no node now."),
    Value("nodes", lambda pool, _: pool.nodes, int, "NodeClaims that are not being deleted."),
    Value("spotNodes", lambda pool, _: pool.spot_nodes, int),
    record("owner", lambda pool: pool.owner, OWNER, "Owner in Git; null if nothing shows one.", may_be_null=True),
)
REPORT: Final[tuple[Value[Pause], ...]] = (
    Value("isRelease", lambda pause, _: pause.is_release, bool),
    Value("reasons", lambda pause, _: list(pause.reasons), list[str], "Empty: all voluntary ones."),
    Value("until", lambda pause, _: second_value(pause.until_ns), INSTANT_OR_NULL, "Null without an end."),
    Value("releasedAt", lambda pause, _: second_value(pause.released_ns), INSTANT_OR_NULL, "In the forecast."),
    Value("dollars", lambda pause, _: pause.dollars, float | None, "Cost until then; null if unknown."),
    Value(
        "dollarsPerHour",
        lambda pause, _: pause.dollars_per_hour,
        float | None,
        "Average cost of a pause; savings at the end of the forecast of a release; null if unknown.",
    ),
    Value("disruptedOtherwise", lambda pause, _: pause.disrupted_otherwise, int, "Nodes, without the change."),
    Value("evictions", lambda pause, _: sum(e.evictions for e in pause.released), int, "After the release."),
    Value(
        "expired",
        lambda pause, _: sum(1 for step in pause.changed.steps if step.kind is StepKind.EXPIRE),
        int,
        "Expirations in the whole forecast.",
    ),
    records("nodePools", lambda pause: pause.pools, _POOL),
    texts("assumed", lambda pause: pause.assumed),
    texts("notModelled", lambda pause: pause.changed.not_modelled),
)


def pause_study(request: PauseRequest, horizon_ns: int = HORIZON_NS) -> Study[Pause, PauseEvent]:
    """Return the study of a pause of disruption, or of its end."""

    def until(text: str) -> Study[Any, Any]:
        return pause_study(structs.replace(request, until=text), horizon_ns)

    end = f"{END_FORMS}; empty for none"
    return Study(
        title=f"{'Release of a pause' if request.is_release else 'Pause'} ─ {clean(', '.join(request.pools)) or 'all'}",
        rows_title="Removals",
        table=TABLE,
        ask=answered(partial(simulated_pause, request=request, horizon_ns=horizon_ns)),
        rows=lambda pause: pause.events,
        lines=lambda pause: answer_lines(headline(pause), more_lines(pause)),
        name_of=lambda event: first_of(list(event.nodes), 1),
        story=lambda event: answer_lines(_event_text(event)),
        notes=lambda pause: notes_of(pause.assumed, pause.changed.not_modelled),
        text=lambda pause: "\n".join((headline(pause), *more_lines(pause), "", *command_lines(pause))),
        further=lambda: pause_study(request, next_horizon(horizon_ns)),
        values=None
        if request.is_release
        else Values("End of the pause", request.until, end, fault_of(lambda text: end_of(text or "1h", 0)), until),
    )


def _event_text(event: PauseEvent) -> str:
    gone = f", gone {dated_text(event.gone_ns, event.at_ns)}" if event.gone_ns is not None else ""
    forced = f", by force from {dated_text(event.forced_ns, event.at_ns)}" if event.forced_ns is not None else ""
    by = " ".join(filter(None, (event.method, event.decision)))
    return (
        f"{first_of(list(map(clean, event.nodes)), _FEW)}: {_WHY[event.kind]}{f' ({by})' if by else ''}{gone}{forced}"
    )
