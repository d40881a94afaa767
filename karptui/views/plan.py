"""Plans as text for a terminal and as markdown for a pull request: the answer and the risks first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from karptui.advice.finding import Finding, Severity
from karptui.aws.money import per_hour_change_text, per_hour_text, sum_text
from karptui.disruption.codes import CODES, Code
from karptui.forward.result import StepKind
from karptui.kube.group import group_by
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import clock_text, counted, first_of, span_text
from karptui.session.answers import PlanText
from karptui.studies.plan import Plan, objects_of
from karptui.views.column import Value, lifted, one_of, plain, record, records, texts
from karptui.views.forward.columns import PLAYED
from karptui.views.forward.sentences import dollars_text, step_text
from karptui.views.forward.sentences import headline as forward_headline
from karptui.views.prices import known_change_text, known_sum_text, known_text, without_text
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean, markdown_text
from karptui.views.study import answer_lines, cut, plain_lines, section_lines
from karptui.views.whatif.document import BLOCKER, DIFFERENCE
from karptui.views.whatif.sentences import headline_text, placements_text
from karptui.whatif.difference import BlockerLine
from karptui.whatif.difference_lines import DriftLine, PoolChange
from karptui.whatif.edits import AnyEdit

_FEW = 3
_COMMANDS = frozenset({StepKind.DISRUPT, StepKind.PROVISION, StepKind.EXPIRE})


def headline(plan: Plan) -> str:
    """Return the immediate changes, and the cost at the end if it differs."""
    at_once = headline_text(plan.answer, is_at_once=plan.placed_again is not None)
    if plan.placed_again is not None and (placed := placements_text(plan.placed_again)):
        at_once += f" If every pod were placed again: {placed[:1].lower()}{placed[1:]}"
    end, edited = plan.now.end.price_per_hour, plan.edited.end.price_per_hour
    is_unpriced = plan.now.end.unpriced or plan.edited.end.unpriced
    if is_unpriced or per_hour_text(end) == per_hour_text(edited):
        return at_once
    change = per_hour_change_text(edited - end)
    return f"{at_once} At the end: {per_hour_text(edited)} instead of {per_hour_text(end)} ({change})."


def parts_of(plan: Plan) -> Iterator[tuple[str, list[str]]]:
    """Yield the sections of a plan: a heading and its lines, which may be empty."""
    difference = plan.difference
    yield "Risks, worst first", plan.risks() or ["none found"]
    yield "New blockers", list(blocker_lines(plan))
    yield "Costs", [price_text(plan)] if plan.answer.has_prices else []
    pools = [
        f"{pool.name}: {_change(pool.nodes_before, pool.nodes_after)} nodes{_pool_dollars(plan, pool)}"
        for pool in difference.pools
        if (pool.nodes_before, pool.price_before) != (pool.nodes_after, pool.price_after) or pool.is_new
    ]
    without = without_text(difference.not_counted)
    yield "NodePools", [*pools, without] if pools and without else pools
    reasons = Counter((line.pool_name, line.reason, line.because) for line in difference.drift_gained)
    yield (
        "Drift",
        [f"{pool}: {counted(count, 'node')}, {why or reason}" for (pool, reason, why), count in reasons.most_common()],
    )
    yield "Rollout", list(_rollout(plan))
    yield "New advice", [_finding(finding) for finding in plan.gained]
    yield "Resolved advice", [_finding(finding) for finding in plan.lost]
    yield "Assumed", list(plan.edited.assumptions)
    yield "Not modelled", list(plan.edited.not_modelled)


def blocker_lines(plan: Plan) -> Iterator[str]:
    """Yield the new blockers by kind, with their nodes and objects."""

    def kind(blocker: BlockerLine) -> tuple[str, str, str]:
        return blocker.code, blocker.pool_name, blocker.owner or blocker.object or blocker.message

    for (code, pool, behind), lines in group_by(plan.new_blockers, kind).items():
        nodes = sorted({line.node_name for line in lines if line.node_name})
        first = first_of(nodes, _FEW)
        where = f" on {counted(len(nodes), 'node')}" if nodes else ""
        of = f" of {pool}" if pool else ""
        yield f"{CODES[Code(code)].word}{where}{of}{f': {behind}' if behind else ''}{f' ({first})' if first else ''}"


def _rollout(plan: Plan) -> Iterator[str]:
    yield f"without the edits: {forward_headline(plan.now)}"
    yield f"with the edits: {forward_headline(plan.edited)}"
    yield from rollout_lines(plan)
    for step in plan.edited.steps:
        if step.kind in _COMMANDS:
            yield f"{clock_text(step.at_ns)} {step_text(step)}"


def rollout_lines(plan: Plan) -> Iterator[str]:
    """Yield the duration of the rollout or its blockers, and its extra cost; nothing if no node drifts."""
    count = len(plan.drifted)
    if not count:
        return
    if plan.rollout_ns is not None:
        yield f"all drifted nodes are replaced after {span_text(plan.rollout_ns)}"
    by: dict[str, list[str]] = {}
    for node, words in plan.stalled_by:
        by.setdefault(words, []).append(node)
    for words, nodes in sorted(by.items(), key=lambda item: -len(item[1])):
        first = first_of(nodes, _FEW)
        why = f"blocked by {words}" if words else "without a blocker on the node"
        yield f"{len(nodes)} of {counted(count, 'drifted node')} left, {why}: {first}"
    yield f"meanwhile up to {counted(plan.extra_nodes, 'extra node')}{_extra_dollars(plan)}"


def _extra_dollars(plan: Plan) -> str:
    """Return the total extra cost of a rollout as a final clause; empty if unknown."""
    extra = plan.extra_dollars
    if extra is None:
        return ""
    if not round(extra, 2):
        return ", at the same total cost"
    return f", {sum_text(abs(extra))} {'less' if extra < 0 else 'more'} in total"


def price_text(plan: Plan) -> str:
    """Return the cost now, and at the end without and with the edits."""
    now, end, edited = plan.now.series[0], plan.now.end, plan.edited.end
    change = known_change_text(end, edited)
    about = dollars_text(plan.now)
    now_text = f"{known_text(now)} now{f' ({about})' if about else ''}"
    text = f"{now_text}; at the end {known_text(end)} without the edits, {known_text(edited)} with them"
    return f"{text} ({change})" if change else text


def text_lines(name: str, plan: Plan) -> Iterator[str]:
    """Yield the lines for a terminal."""
    yield f"{name}: {headline(plan)}"
    for heading, lines in parts_of(plan):
        yield from section_lines(heading, lines)


def markdown_lines(name: str, objects: Sequence[str], plan: Plan) -> Iterator[str]:
    """Yield the lines of a pull request comment; text from the cluster is escaped."""
    yield f"## Karpenter on {markdown_text(name)}"
    yield ""
    yield f"**{markdown_text(headline(plan))}**"
    yield ""
    yield f"Applies {markdown_text(', '.join(objects))}."
    for heading, lines in parts_of(plan):
        if not lines:
            continue
        is_long = heading in ("Rollout", "Assumed", "Not modelled")
        yield ""
        yield f"<details><summary>{heading}</summary>" if is_long else f"### {heading}"
        yield ""
        yield from (f"- {markdown_text(line)}" for line in cut(lines))
        if is_long:
            yield ""
            yield "</details>"


def _finding(finding: Finding) -> str:
    return f"{finding.severity}: {finding.fact} {finding.remedy}".strip()


def _change(before: int, after: int) -> str:
    return str(after) if before == after else f"{before} → {after}"


def _pool_dollars(plan: Plan, pool: PoolChange) -> str:
    if not plan.answer.has_prices:
        return ""
    before = known_sum_text(pool.price_before, pool.unpriced_before)
    return f", {before} → {known_sum_text(pool.price_after, pool.unpriced_after)}"


_DRIFTED: Final[tuple[Value[DriftLine], ...]] = (
    Value("nodeClaim", lambda line, _: line.claim_name, str),
    Value("node", lambda line, _: line.node_name, str),
    Value("reason", lambda line, _: line.reason, str),
    Value("because", lambda line, _: line.because, str),
)
_FINDING: Final[tuple[Value[Finding], ...]] = (
    Value("rule", lambda finding, _: finding.rule, str),
    Value("severity", lambda finding, _: finding.severity, one_of(*Severity)),
    texts("objects", lambda finding: [f"{ref.kind}/{ref.key}" for ref in finding.objects]),
    Value("fact", lambda finding, _: finding.fact, str),
    Value("remedy", lambda finding, _: finding.remedy, str),
)
_SUMMARY: Final[tuple[Value[Plan], ...]] = (
    Value("drifted", lambda plan, _: len(plan.drifted), int, "NodeClaims that the rollout replaces."),
    Value(
        "seconds",
        lambda plan, _: None if plan.rollout_ns is None else plan.rollout_ns // NS_PER_SECOND,
        int | None,
        "Until no drifted node is left; null if some are, or none drifts.",
    ),
    records(
        "left",
        lambda plan: plan.stalled_by,
        (
            Value("node", lambda pair, _: pair[0], str),
            Value("keptBy", lambda pair, _: pair[1], str, "The node's blocker, or empty."),
        ),
        "Drifted nodes left at the end.",
    ),
    Value("mostExtraNodes", lambda plan, _: plan.extra_nodes, int, "Most extra nodes at once during the rollout."),
    Value("extraDollars", lambda plan, _: plan.extra_dollars, float | None, "Extra cost in all; null if unknown."),
    Value("evictions", lambda plan, _: plan.edited.evictions, int),
)
_SOLUTION: Final = {"$ref": "#/$defs/provisioning"}
_PLAN: Final[tuple[Value[Plan], ...]] = (
    record(
        "decisions",
        lambda plan: plan,
        (
            Value("now", lambda plan, _: plan.decisions_now, _SOLUTION),
            Value("edited", lambda plan, _: plan.decisions_edited, _SOLUTION),
            record("difference", lambda plan: plan.difference, DIFFERENCE),
        ),
        "As in simulate.",
    ),
    record(
        "pricePerHour",
        lambda plan: plan,
        (
            Value("now", lambda plan, _: plan.difference.before.price_per_hour, float),
            Value("edited", lambda plan, _: plan.difference.after.price_per_hour, float),
            Value("endNow", lambda plan, _: plan.now.end.known_price_per_hour, float | None, "Null if unknown."),
            Value("endEdited", lambda plan, _: plan.edited.end.known_price_per_hour, float | None),
        ),
    ),
    record(
        "unpriced",
        lambda plan: plan,
        (
            Value("now", lambda plan, _: plan.difference.before.unpriced, int),
            Value("edited", lambda plan, _: plan.difference.after.unpriced, int),
            Value("endNow", lambda plan, _: plan.now.end.unpriced, int),
            Value("endEdited", lambda plan, _: plan.edited.end.unpriced, int),
        ),
        "Nodes without a known price, left out of prices.",
    ),
    records("drift", lambda plan: plan.difference.drift_gained, _DRIFTED),
    record("rolloutSummary", lambda plan: plan, _SUMMARY),
    record(
        "advice",
        lambda plan: plan,
        (records("new", lambda plan: plan.gained, _FINDING), records("gone", lambda plan: plan.lost, _FINDING)),
    ),
    texts("risks", lambda plan: plan.risks(), "Worst first."),
    texts(
        "refused",
        lambda plan: plan.refused,
        "Edits that the API server would reject; the rest leaves manifests that it rejects out.",
    ),
    records("newBlockers", lambda plan: plan.new_blockers, BLOCKER, "New blockers of disruption."),
)


_NAME: Final = Value[tuple[str, Plan]]("name", lambda pair, _: pair[0], str, "Name of the cluster or snapshot.")
REPORT: Final[tuple[Value[tuple[str, Plan]], ...]] = (
    _NAME,
    *lifted(_PLAN, lambda pair: pair[1]),
    record("rollout", lambda pair: pair, (_NAME, *lifted(PLAYED, lambda pair: pair[1].edited)), "As in forward."),
)
"""Values of the pair of a cluster's name and its plan."""


def document(name: str, plan: Plan) -> dict[str, Any]:
    """Return a plan as JSON holds it."""
    return plain(REPORT, (name, plan))


def plan_text(name: str, edits: Sequence[AnyEdit], plan: Plan) -> PlanText:
    """Return the plan of a scenario as text."""
    return PlanText(
        headline=headline(plan),
        risks=tuple(plan.risks()),
        blockers=tuple(blocker_lines(plan)),
        rollout=tuple(rollout_lines(plan)),
        markdown="\n".join(markdown_lines(name, objects_of(edits), plan)),
    )


def plan_lines(text: PlanText) -> tuple[Pieces, ...]:
    """Return the lines above the forecasts: risks, the immediate effect, new blockers and the rollout."""
    risks = tuple(((f"! {clean(risk)}", Tone.WARNING),) for risk in text.risks)
    rest = (*(f"new blocker: {blocker}" for blocker in text.blockers), *text.rollout)
    return (*(risks or plain_lines("no risks found")), *answer_lines(text.headline), *plain_lines(*rest))
