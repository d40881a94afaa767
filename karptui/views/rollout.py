"""Rollouts of NodePools and NodeClasses as text, and a row per node that is not current."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Final

from karptui.disruption.codes import CODES
from karptui.forward.run import HORIZON_NS
from karptui.kube.units import counted, first_of, instant_text, span_text, verb
from karptui.studies.rollout import (
    Hold,
    NodeState,
    RolloutGroup,
    RolloutNode,
    RolloutReport,
    RolloutState,
    rollout_report,
)
from karptui.views.column import INSTANT_OR_NULL, Heading, Value, one_of, records, text_column, texts
from karptui.views.instants import dated_text, instant_column, second_value
from karptui.views.row import Tone
from karptui.views.sanitize import clean, short_name
from karptui.views.study import Study, answer_lines, answered, next_horizon, notes_of
from karptui.views.table import Sort, TableSpec

_FEW: Final = 3


def headline(report: RolloutReport) -> str:
    """Return whether everything is rolled out, else the progress, the time left or the obstacle."""
    nodes = {node.name: node for group in report.groups for node in group.nodes}
    current = sum(1 for node in nodes.values() if node.state is NodeState.CURRENT)
    left = [node for node in nodes.values() if node.state in (NodeState.OLD, NodeState.LEAVING)]
    of = f"{current:,} of {counted(len(nodes), 'node')} current"
    match report.state:
        case RolloutState.DONE:
            return f"rolled out: {of}" if nodes else "rolled out: there is no node"
        case RolloutState.UNKNOWN:
            return f"not known: {of}; {'; '.join(_unknown(report))}"
        case RolloutState.WAITING:
            date = min(group.date_ns for group in report.groups if group.date_ns is not None)
            return f"not rolled out: {of}; no old node is replaced before {dated_text(date, report.from_ns)}"
        case RolloutState.STALLED:
            return f"stalled: {of}; no old node is replaced within {span_text(report.horizon_ns)}, by forecast"
        case RolloutState.PROGRESSING:
            return f"not rolled out: {of}; {_time_left(report, left)}"


def _unknown(report: RolloutReport) -> Iterator[str]:
    for group in report.groups:
        if not group.is_seen:
            yield f"Karpenter has not processed the newest change of {_name(group)}"
    if bare := [_name(group) for group in report.groups if not group.is_hashed]:
        has, it = verb(len(bare), "has", "have"), verb(len(bare), "it", "them")
        yield f"{first_of(bare, _FEW)} {has} no Karpenter hash, so a change of {it} may be missed"
    if count := sum(1 for node in report.nodes if node.state is NodeState.UNCOMPARED):
        yield f"Karpenter does not compare {counted(count, 'node')}"


def _time_left(report: RolloutReport, left: list[RolloutNode]) -> str:
    going = [node.gone_ns for node in left if node.gone_ns is not None]
    draining = sum(1 for node in left if node.gone_ns is None and (node.begins_ns or node.state is NodeState.LEAVING))
    took = span_text(max(going, default=report.from_ns) - report.from_ns)
    if len(going) == len(left):
        return f"{counted(len(left), 'old node')} left for about {took}, by forecast"
    parts = [f"{len(going)} gone after about {took}"] if going else []
    parts += [f"{draining} still draining after {span_text(report.horizon_ns)}"] if draining else []
    staying = len(left) - len(going) - draining
    parts += [f"{staying} {verb(staying, 'stays', 'stay')}"] if staying else []
    return f"{counted(len(left), 'old node')} left: by forecast {', '.join(parts)}"


def _name(group: RolloutGroup) -> str:
    return f"{clean(group.kind)} {clean(group.name)}"


def more_lines(report: RolloutReport) -> Iterator[str]:
    """Yield a line per NodePool and NodeClass, and what blocks the old nodes."""
    for group in report.groups:
        if group.state is not RolloutState.DONE:
            yield f"{_name(group)}: {group_text(group)}"
    done = [f"{_name(group)} ({len(group.nodes)})" for group in report.groups if group.state is RolloutState.DONE]
    if done:
        yield f"rolled out: {', '.join(done)}"
    holds = Counter(code for node in report.nodes for code in dict.fromkeys(hold.code for hold in node.holds))
    if holds:
        text = ", ".join(f"{count} by {CODES[code].word}" for code, count in holds.most_common())
        yield f"blocked now: {text}"
    if report.cluster_holds:
        by = [
            f"{CODES[cluster_hold.code].word}{f' ({clean(cluster_hold.object)})' if cluster_hold.object else ''}"
            for cluster_hold in report.cluster_holds
        ]
        yield f"blocked now in the whole cluster: {first_of(by, _FEW)}"
    if uncompared := [node for node in report.nodes if node.state is NodeState.UNCOMPARED]:
        yield (
            f"not compared: the hash of {first_of([clean(node.name) for node in uncompared], _FEW)} is missing or has"
            " another version than that of the NodePool or NodeClass, so Karpenter does not compare them"
        )


def group_text(group: RolloutGroup) -> str:
    """Return the progress of a NodePool or NodeClass: ``5 of 8 nodes current, 3 old (NodePoolDrifted)``."""
    current, total = group.count(NodeState.CURRENT), len(group.nodes)
    parts = [f"{current} of {counted(total, 'node')} current" if total else "no nodes"]
    old, leaving = group.count(NodeState.OLD), group.count(NodeState.LEAVING)
    if old:
        reasons = Counter(clean(node.reason) for node in group.nodes if node.state is NodeState.OLD)
        unmarked = sum(1 for node in group.left if not node.is_marked)
        marks = f"; {unmarked} not marked by Karpenter yet" if unmarked else ""
        parts.append(f"{old} old ({', '.join(reason for reason, _ in reasons.most_common())}{marks})")
    if leaving:
        parts.append(f"{leaving} old {verb(leaving, 'node', 'nodes')} being removed")
    if not group.is_seen:
        parts.append("its newest change is not processed by Karpenter yet")
    return ", ".join(parts)


def _tone(node: RolloutNode) -> Tone:
    return Tone.WARNING if node.state is NodeState.OLD and node.gone_ns is None else Tone.NORMAL


_HOLD: Final[tuple[Value[Hold], ...]] = (
    Value("code", lambda hold, _: hold.code, str),
    Value("object", lambda hold, _: hold.object, str),
    Value("until", lambda hold, _: second_value(hold.until_ns), INSTANT_OR_NULL),
)
TABLE: Final[TableSpec[RolloutNode]] = TableSpec(
    "nodes",
    (
        text_column(
            Heading("node", "NODE", "The node, or its NodeClaim.", 16, 52, is_name=True),
            lambda node: node.name,
            short=lambda node: short_name(node.name),
            json="node",
        ),
        text_column(
            Heading("pool", "POOL", "Its NodePool.", 6, 20, drop_order=1), lambda node: node.pool, json="nodePool"
        ),
        text_column(
            Heading("class", "NODECLASS", "Its NodeClass.", 9, 28, drop_order=6),
            lambda node: node.nodeclass,
            json="nodeClass",
        ),
        text_column(
            Heading("state", "STATE", "old; leaving: old and being removed; uncompared by Karpenter.", 7, 10),
            lambda node: node.state,
            tone=_tone,
            values=(
                Value("state", lambda node, _: node.state, one_of(*NodeState)),
                Value("revision", lambda node, _: node.revision, str, "Hashes of NodePool and NodeClass; - if none."),
            ),
        ),
        text_column(
            Heading("reason", "REASON", "Why it is old, in Karpenter's words.", 8, 24, drop_order=2),
            lambda node: node.reason,
            values=(
                Value("reason", lambda node, _: node.reason, str),
                Value("isMarked", lambda node, _: node.is_marked, bool, "Whether Karpenter has set Drifted."),
            ),
        ),
        text_column(
            Heading("blocked", "BLOCKED BY", "The blockers of its replacement.", 10, 40),
            lambda node: ", ".join(dict.fromkeys(CODES[hold.code].word for hold in node.holds)),
            tone=_tone,
            values=records("blockers", lambda node: node.holds, _HOLD),
        ),
        instant_column(
            Heading("begins", "REPLACED", "When its removal begins, by forecast; - if it stays.", 9, 21, drop_order=4),
            lambda node: node.begins_ns,
            lambda node: node.seen_ns,
            "removalBeginsAt",
        ),
        instant_column(
            Heading("gone", "GONE", "When it is gone, by forecast; - if it is not.", 9, 21),
            lambda node: node.gone_ns,
            lambda node: node.seen_ns,
            "goneAt",
        ),
        instant_column(
            Heading("until", "NOT BEFORE", "When a blocker ends at the earliest.", 10, 21, drop_order=3),
            lambda node: node.date_ns,
            lambda node: node.seen_ns,
            "notBefore",
        ),
        instant_column(
            Heading("expires", "EXPIRES", "When it expires.", 9, 21, drop_order=5),
            lambda node: node.expires_ns,
            lambda node: node.seen_ns,
            "expiresAt",
        ),
    ),
    more_values=(
        Value("since", lambda node, _: second_value(node.since_ns), INSTANT_OR_NULL, "Marked, or being deleted."),
    ),
    csv=(
        *("node", "nodePool", "nodeClass", "state", "revision", "reason", "isMarked"),
        *("removalBeginsAt", "goneAt", "notBefore", "expiresAt"),
    ),
    key=lambda node: node.name,
    default_sort=Sort("gone"),
    text=lambda node: f"{node.name} {node.pool} {node.reason}".lower(),
    is_notable=lambda node, _: node.state is NodeState.OLD and node.gone_ns is None,
)
_REVISION: Final[tuple[Value[tuple[str, int, bool]], ...]] = (
    Value("revision", lambda entry, _: entry[0], str),
    Value("nodes", lambda entry, _: entry[1], int),
    Value("isCurrent", lambda entry, _: entry[2], bool),
)
_GROUP: Final[tuple[Value[RolloutGroup], ...]] = (
    Value("kind", lambda group, _: group.kind, str),
    Value("name", lambda group, _: group.name, str),
    Value("state", lambda group, _: group.state, one_of(*RolloutState)),
    Value("nodes", lambda group, _: len(group.nodes), int, "Without current nodes that are being deleted."),
    Value("current", lambda group, _: group.count(NodeState.CURRENT), int),
    Value("old", lambda group, _: group.count(NodeState.OLD), int),
    Value("leaving", lambda group, _: group.count(NodeState.LEAVING), int, "Old nodes that are being deleted."),
    Value("uncompared", lambda group, _: group.count(NodeState.UNCOMPARED), int),
    Value("isHashed", lambda group, _: group.is_hashed, bool, "Whether it has Karpenter's hash."),
    Value("isSeen", lambda group, _: group.is_seen, bool, "Whether Karpenter has processed its newest change."),
    Value(
        "doneAt", lambda group, _: second_value(group.gone_ns), INSTANT_OR_NULL, "By forecast; null if a node stays."
    ),
    records("revisions", lambda group: group.revisions, _REVISION, "Most nodes first."),
)
REPORT: Final[tuple[Value[RolloutReport], ...]] = (
    Value("state", lambda report, _: report.state, one_of(*RolloutState)),
    Value("isRolledOut", lambda report, _: report.state is RolloutState.DONE, bool),
    records("groups", lambda report: report.groups, _GROUP),
    records("clusterBlockers", lambda report: report.cluster_holds, _HOLD, "Of the whole cluster."),
    texts("assumed", lambda report: report.assumed),
    texts("notModelled", lambda report: report.played.not_modelled if report.played is not None else ()),
)


def sentence(node: RolloutNode) -> str:
    """Return the state of one node."""
    reason = f" ({clean(node.reason)})" if node.reason else ""
    since = f" since {instant_text(node.since_ns)}" if node.since_ns and node.state is not NodeState.UNCOMPARED else ""
    by = [f"{CODES[hold.code].word}{f' {clean(hold.object)}' if hold.object else ''}" for hold in node.holds]
    held = f"; blocked by {first_of(by, _FEW)}" if by else ""
    return f"{clean(node.name)}: {node.state}{reason}{since}{held}"


def rollout_study(
    pools: tuple[str, ...] = (), nodeclasses: tuple[str, ...] = (), horizon_ns: int = HORIZON_NS
) -> Study[RolloutReport, RolloutNode]:
    """Return the study of the rollout of NodePools and NodeClasses; all of both if none is named."""
    whose = clean(", ".join((*pools, *nodeclasses)))
    return Study(
        title=f"Rollout ─ {whose or 'NodePools and NodeClasses'}",
        rows_title="Nodes that are not current",
        table=TABLE,
        ask=answered(partial(rollout_report, pools=pools, nodeclasses=nodeclasses, horizon_ns=horizon_ns)),
        rows=lambda report: report.nodes,
        lines=lambda report: answer_lines(headline(report), more_lines(report)),
        name_of=lambda node: node.name,
        story=lambda node: answer_lines(sentence(node)),
        notes=lambda report: notes_of(report.assumed, report.played.not_modelled if report.played is not None else ()),
        text=lambda report: "\n".join((headline(report), *more_lines(report), *map(sentence, report.nodes))),
        further=lambda: rollout_study(pools, nodeclasses, next_horizon(horizon_ns)),
    )
