"""Nodes that consolidation does not evaluate before its timeout: sentences, and a row per node in its order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.aws.money import per_hour_text
from karptui.kube.units import counted, duration_text
from karptui.studies.timeouts import MULTI_SECONDS, SINGLE_SECONDS, ConsolidationPass, NodeTurn
from karptui.views.column import Heading, Value, count_column, number_heading, one_of, record, text_column, texts
from karptui.views.prices import money_column
from karptui.views.row import Tone
from karptui.views.sanitize import short_name
from karptui.views.table import Sort, TableSpec

_ORIGINS: Final = {
    "given": "as given",
    "measured": "by Karpenter's metrics, approximated",
    "assumed": "assumed from the number of nodes: Karpenter's metrics have no pass; set another with --per-simulation",
    "recorded": "assumed from the number of nodes, without Karpenter's metrics (recordings have none);"
    " set another with --per-simulation",
}


def headline(full_pass: ConsolidationPass) -> str:
    """Return the nodes that are never evaluated."""
    if not full_pass.turns:
        return "no node can be consolidated now: a pass ends at once"
    limit, nodes = duration_text(SINGLE_SECONDS), counted(len(full_pass.turns), "node")
    missed, first = full_pass.missed, full_pass.acts_before
    if not missed:
        return f"single-node consolidation evaluates all {nodes} in {_time(full_pass.seconds)}; its timeout is {limit}"
    would = [turn for turn in missed if turn.decision]
    saves = (
        f"; {len(would):,} of them could be removed (saves {per_hour_text(full_pass.missed_savings)})" if would else ""
    )
    if first is not None:
        return (
            f"a pass ends with {first.decision} {first.node} before its timeout of {limit}; {len(missed):,} of "
            f"{nodes} are after the timeout, but move up as nodes before them are removed{saves}"
        )
    return (
        f"single-node consolidation never evaluates {len(missed):,} of {nodes}: it times out after {limit}, and none of"
        f" the {len(full_pass.turns) - len(missed):,} nodes before them is removable{saves}"
    )


def _time(seconds: float) -> str:
    return "less than 1s" if 0 < seconds < 1 else duration_text(seconds)


def more_lines(turn: ConsolidationPass) -> Iterator[str]:
    """Yield the duration of a simulation with its source, the progress of multi-node consolidation, and timeouts."""
    origin = "recorded" if turn.origin == "assumed" and not turn.has_metrics else turn.origin
    yield f"a simulation takes {turn.per_simulation:g} s ({_ORIGINS[origin]})"
    if turn.multi_simulations:
        took = _time(turn.multi_simulations * turn.per_simulation)
        how = "ends" if turn.is_multi_through else "does not end"
        left = f"; {counted(turn.multi_left_out, 'more node')} never included" if turn.multi_left_out else ""
        yield (
            f"multi-node consolidation {how} within {duration_text(MULTI_SECONDS)}:"
            f" up to {counted(turn.multi_simulations, 'simulation')}, {took}{left}"
        )
    for kind, times in sorted(turn.timeouts.items()):
        if times:
            often = counted(times, "time")
            yield f"Karpenter's metrics: {kind}-node consolidation timed out {often} since its start"


def _tone(turn: NodeTurn) -> Tone:
    if turn.is_evaluated:
        return Tone.NORMAL
    return Tone.WARNING if turn.decision else Tone.MUTED


TABLE: Final[TableSpec[NodeTurn]] = TableSpec(
    "nodes",
    (
        count_column(
            number_heading("place", "TURN", "Its position in the order, from 1.", 6),
            lambda row: row.place,
            tone=_tone,
            json="place",
        ),
        text_column(
            Heading("node", "NODE", "The node.", 16, 52, is_name=True),
            lambda row: row.node,
            short=lambda row: short_name(row.node),
            json="node",
        ),
        text_column(
            Heading("pool", "POOL", "Its NodePool.", 6, 20, drop_order=1), lambda row: row.pool_name, json="nodePool"
        ),
        text_column(
            Heading("after", "AFTER", "When its turn comes, from the start of a pass.", 6, 8, is_right_aligned=True),
            lambda row: duration_text(row.begins_after),
            values=Value("beginsAfterSeconds", lambda row, _: row.begins_after, float),
        ),
        text_column(
            Heading("evaluated", "EVALUATED", "Whether the pass evaluates it; - if it takes no time.", 9, 10),
            lambda row: "" if row.passed_over else "yes" if row.is_evaluated else "never",
            tone=_tone,
            values=Value("isReached", lambda row, _: row.is_evaluated, bool),
        ),
        text_column(
            Heading("decision", "RESULT", "Result if it is evaluated now: delete, replace or nothing.", 7, 16),
            lambda row: row.decision,
            json="decision",
        ),
        money_column(
            number_heading("saves", "SAVES $/H", "Its savings."), lambda row: row.saves_per_hour, json="savings"
        ),
        text_column(
            Heading("passed", "SKIPPED", "Why it is not simulated; empty if it is.", 22, 50),
            lambda row: row.passed_over,
            json="passedOver",
        ),
    ),
    csv=("node", "nodePool", "place", "beginsAfterSeconds", "isReached", "passedOver", "decision", "savings"),
    key=lambda row: row.node,
    default_sort=Sort("place"),
    text=lambda row: f"{row.node} {row.pool_name}".lower(),
    is_notable=lambda row, _: not row.is_evaluated and bool(row.decision),
)
REPORT: Final[tuple[Value[ConsolidationPass], ...]] = (
    Value("secondsPerSimulation", lambda consolidation_pass, _: consolidation_pass.per_simulation, float),
    Value(
        "origin",
        lambda consolidation_pass, _: consolidation_pass.origin,
        one_of("given", "measured", "assumed"),
        "Source of that duration: a flag, Karpenter's metrics (approximated), or an assumption.",
    ),
    Value("limitSeconds", lambda *_: SINGLE_SECONDS, float, "Karpenter's timeout of a pass."),
    Value("passSeconds", lambda turn, _: turn.seconds, float, "Duration of a complete pass."),
    Value("candidates", lambda turn, _: len(turn.turns), int, "Nodes in the order of single-node consolidation."),
    Value("unreached", lambda turn, _: len(turn.missed), int, "Those not evaluated before the timeout."),
    Value("unreachedSavings", lambda turn, _: turn.missed_savings, float, "Savings per hour of removing those."),
    Value(
        "isStarved",
        lambda consolidation_pass, _: consolidation_pass.is_starved,
        bool,
        "Whether removable nodes are never evaluated, because no node before them is removed.",
    ),
    Value(
        "actsBefore",
        lambda turn, _: turn.acts_before.node if turn.acts_before is not None else None,
        str | None,
        "The first node that is removed before the timeout: it ends the pass.",
    ),
    record(
        "multiNode",
        lambda consolidation_pass: consolidation_pass,
        (
            Value("limitSeconds", lambda *_: MULTI_SECONDS, float),
            Value("simulations", lambda consolidation_pass, _: consolidation_pass.multi_simulations, int, "At most."),
            Value("isThrough", lambda consolidation_pass, _: consolidation_pass.is_multi_through, bool),
            Value("leftOut", lambda turn, _: turn.multi_left_out, int, "Candidates after the first 101."),
        ),
    ),
    Value(
        "timeouts",
        lambda consolidation_pass, _: dict(consolidation_pass.timeouts),
        dict[str, int],
        "Passes that timed out by Karpenter's metrics, by single and multi; empty without metrics.",
    ),
    texts("assumed", lambda consolidation_pass: consolidation_pass.assumed),
)
