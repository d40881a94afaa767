"""How far a pass of consolidation comes, in sentences and as rows: a node each, in the order of its turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.aws.money import per_hour_text
from karptui.kube.units import counted, duration_text, verb
from karptui.plan.unreached import MULTI_SECONDS, SINGLE_SECONDS, NodeTurn, Unreached
from karptui.views.column import Heading, count_column, number_heading, text_column
from karptui.views.prices import money_column
from karptui.views.row import Tone
from karptui.views.sanitize import short_name
from karptui.views.study import Study, answer_lines, notes_of
from karptui.views.table import Sort, TableSpec
from karptui.whatif.edits import RemoveNode
from karptui.whatif.scenario import Replay, Scenario

_ORIGINS: Final = {
    "given": "as given",
    "measured": "by Karpenter's metrics, approximated",
    "assumed": "assumed by the number of nodes: Karpenter's metrics tell of no pass; --per-simulation says another",
    "recorded": "assumed by the number of nodes: no metrics of Karpenter's are read, and recordings hold none;"
    " --per-simulation says another",
}


def headline(found: Unreached) -> str:
    """Return which nodes are never looked at, in a sentence."""
    if not found.turns:
        return "no node may be consolidated now: a pass ends at once"
    limit, nodes = duration_text(SINGLE_SECONDS), counted(len(found.turns), "node")
    missed, first = found.missed, found.acts_before
    if not missed:
        return f"a pass of single-node consolidation looks at all {nodes} in {_taken(found.seconds)} of {limit}"
    would = [one for one in missed if one.decision]
    saves = f"; {len(would):,} of them would go ({per_hour_text(found.missed_savings)})" if would else ""
    if first is not None:
        return (
            f"a pass ends with {first.decision} {first.node} before its {limit} are over; {len(missed):,} of {nodes}"
            f" stand behind that limit, and move up as those before them go{saves}"
        )
    verbs = verb(len(missed), "is", "are")
    return (
        f"{len(missed):,} of {nodes} {verbs} never looked at by single-node consolidation: its {limit} are over"
        f" after {len(found.turns) - len(missed):,}, of which none goes{saves}"
    )


def _taken(seconds: float) -> str:
    return "less than 1s" if 0 < seconds < 1 else duration_text(seconds)


def more_lines(found: Unreached) -> Iterator[str]:
    """Yield what else is said: how long a simulation lasts and who says so, multi-node consolidation, timeouts."""
    origin = "recorded" if found.origin == "assumed" and not found.has_metrics else found.origin
    yield f"a simulation lasts {found.per_simulation:g} s ({_ORIGINS[origin]})"
    if found.multi_simulations:
        took = _taken(found.multi_simulations * found.per_simulation)
        how = "ends" if found.is_multi_through else "does not end"
        left = f"; {counted(found.multi_left_out, 'node')} more never take part" if found.multi_left_out else ""
        yield (
            f"multi-node consolidation {how} within {duration_text(MULTI_SECONDS)}:"
            f" {counted(found.multi_simulations, 'simulation')} at most, {took}{left}"
        )
    for kind, times in sorted(found.timeouts.items()):
        if times:
            often = counted(times, "time")
            yield f"Karpenter says: {kind}-node consolidation ran out of its time {often} since it started"


def sentence(turn: NodeTurn) -> str:
    """Return what is known of one node, in a sentence."""
    goes = f"would go: {turn.decision}, {per_hour_text(turn.saves_per_hour)} saved" if turn.decision else "would stay"
    if turn.passed_over:
        goes = f"passed over, as {turn.passed_over}"
    when = f"after {duration_text(turn.begins_after)}" if turn.is_reached else "after the time is over"
    return f"{turn.node}: its turn comes {when}; {goes}"


def _tone(turn: NodeTurn) -> Tone:
    if turn.is_reached:
        return Tone.NORMAL
    return Tone.WARNING if turn.decision else Tone.MUTED


TABLE: Final[TableSpec[NodeTurn]] = TableSpec(
    "nodes",
    (
        count_column(number_heading("place", "TURN", "Its place in the order.", 6), lambda row: row.place, tone=_tone),
        text_column(
            Heading("node", "NODE", "The node.", 16, 52, is_name=True),
            lambda row: row.node,
            short=lambda row: short_name(row.node),
        ),
        text_column(Heading("pool", "POOL", "Its NodePool.", 6, 20, drop_order=1), lambda row: row.pool_name),
        text_column(
            Heading(
                "after", "AFTER", "When its turn comes, from the beginning of a pass.", 6, 8, is_right_aligned=True
            ),
            lambda row: duration_text(row.begins_after),
        ),
        text_column(
            Heading("reached", "LOOKED AT", "Whether the pass comes so far; - costs it no time.", 9, 10),
            lambda row: "" if row.passed_over else "yes" if row.is_reached else "never",
            tone=_tone,
        ),
        text_column(
            Heading("decision", "WOULD", "What would become of it alone, as the cluster is now.", 7, 16),
            lambda row: row.decision,
        ),
        money_column(number_heading("saves", "SAVES $/H", "What that would save."), lambda row: row.saves_per_hour),
        text_column(
            Heading("passed", "PASSED OVER", "Why it is not simulated.", 22, 50),
            lambda row: row.passed_over,
        ),
    ),
    key=lambda row: row.node,
    default_sort=Sort("place"),
    text=lambda row: f"{row.node} {row.pool_name}".lower(),
    is_notable=lambda row, _: not row.is_reached and bool(row.decision),
)


def unreached_study() -> Study[Unreached, NodeTurn]:
    """Return which nodes consolidation never looks at."""
    return Study(
        title="Never reached ─ the order of single-node consolidation and its three minutes",
        rows_title="Nodes in their order",
        table=TABLE,
        ask=lambda session, now_ns: session.studies.unreached(now_ns),
        rows=lambda found: found.turns,
        lines=lambda found: answer_lines(headline(found), more_lines(found)),
        name_of=lambda row: row.node,
        story=lambda row: answer_lines(sentence(row)),
        notes=lambda found: notes_of(found.assumed),
        scenario=lambda row: Scenario(name=f"without {row.node}", replay=Replay.REMOVE, edits=(RemoveNode(row.node),)),
        tab="blockers",
    )
