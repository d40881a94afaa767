"""Lanes of a node: one line per method, and values for scripts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from karptui.disruption.codes import CODES, Code
from karptui.kube.group import group_by
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import age_text, count_text, counted, duration_text
from karptui.session.nodes import NodeEntry
from karptui.views.column import Schema, plain, row_schema, struct_values
from karptui.views.instants import expiry_text
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.why.sentences import refusal_parts, verdict_text

if TYPE_CHECKING:
    from karptui.disruption.analysis import NodeFindings
    from karptui.disruption.lanes import Lane
    from karptui.disruption.repair import HealthDeletion

REPAIR: Final = "Repair"
EXPIRY: Final = "Expiry"
INTERRUPTION: Final = "Interruption"
NAME_WIDTH: Final = 13
_SHORT: Final = {"MultiNodeConsolidation": "Multi", "SingleNodeConsolidation": "Single"}
_LACKS: Final = {
    "STATIC": "static NodePool: only drift removes its nodes",
    "EMPTY": "empty: handled by Emptiness",
    "NOT_DRIFTED": "not drifted",
    "HEALTHY": "healthy",
    "CONSOLIDATION_DISABLED": "consolidateAfter is Never",
    "WHEN_EMPTY_POLICY": "consolidationPolicy WhenEmpty, and it is not empty",
    "BUFFER_PODS": "reserves capacity for a CapacityBuffer",
    "INSTANCE_TYPE_UNKNOWN": "its instance type is not in its NodePool",
    "NO_CAPACITY_TYPE_LABEL": "its capacity type label is missing",
    "NO_ZONE_LABEL": "its zone label is missing",
    "NODEPOOL_UNRESOLVED": "its NodePool is gone or not this Karpenter's",
    "NODEPOOL_NO_TYPES": "its NodePool's instance types are unknown",
    "NO_NODEPOOL_LABEL": "its NodePool label is missing",
    "": "it is being removed",
}


class _LaneRow(msgspec.Struct, frozen=True):
    """A lane as scripts read it."""

    wanted: bool
    held_by: str
    lacks: str
    message: str


_LANE: Final = struct_values(
    _LaneRow,
    {
        "wanted": "Whether the method wants the node, regardless of blockers.",
        "heldBy": "Code of the first blocker, or empty.",
        "lacks": "If it is not wanted, code of the missing condition: one that heldBy may have too, or NOT_EMPTY,"
        " EMPTY, NOT_DRIFTED, NOT_EXPIRED, NO_WARNING from the cloud, TOLERATED of an unhealthy node within its"
        " toleration.",
        "message": "The same as text.",
    },
)
LANES: Final[Schema] = {
    "type": ["object", "null"],
    "description": (
        "Lanes by method in Karpenter's order, with expiration and interruption, and Repair of an unhealthy node "
        "even if a separate controller deletes it; null if unknown or Karpenter does not manage the node."
    ),
    "additionalProperties": row_schema(_LANE),
}


def short_method(name: str) -> str:
    """Return the name of a method where room is short: ``Single`` for SingleNodeConsolidation."""
    return _SHORT.get(name, name)


def lane_message(findings: NodeFindings, lane: Lane, now_ns: int) -> str:
    """Return the blocker or missing condition of a method that wants a node, or the node's outcome."""
    blocker = findings.blockers[lane.blocker] if lane.blocker is not None else None
    if not lane.is_wanted:
        if lane.code == "NOT_EMPTY":
            return f"has {counted(findings.moving_pods, 'pod')} to move" if findings.moving_pods else "not empty"
        if lane.code == "NOT_CONSOLIDATABLE":
            until = blocker.until_ns if blocker is not None else None
            left = (until - now_ns) // NS_PER_SECOND if until is not None else 0
            return f"not consolidatable for {duration_text(left)}" if left > 0 else "not marked Consolidatable yet"
        return _LACKS.get(lane.code, lane.code)
    if lane.goes:
        if lane.method == "MultiNodeConsolidation" or findings.outlook is None:
            return f"would be {lane.outcome}d with others"
        return verdict_text(findings.outlook.now)
    if blocker is not None:
        return _held_text(findings, lane, now_ns)
    if lane.code:
        return _refused_text(findings, lane)
    if lane.method == "MultiNodeConsolidation":
        return "only as part of a multi-node move (see Next)"
    if findings.outlook is None:
        return "being simulated"
    return "another method removes it first" if findings.outlook.now.goes else "its pods fit no NodePool"


def _held_text(findings: NodeFindings, lane: Lane, now_ns: int) -> str:
    assert lane.blocker is not None
    first = findings.blockers[lane.blocker]
    alike = sum(1 for blocker in findings.blockers if blocker.code is first.code and blocker.is_wanted)
    what = CODES[first.code].meaning
    if first.code is Code.BUDGET_ZERO:
        return clean(f"{first.object_key}: {first.message}")
    more = f" and {count_text(alike - 1)} more" if alike > 1 else ""
    since = f", for {age_text(first.since_ns, now_ns)}" if first.since_ns else ""
    named = f" ({first.object_key}{more}{since})" if first.object_kind == "Pod" else since
    others = sum(1 for b in findings.blockers if b.code is not first.code and b.is_wanted and b.object_kind == "Pod")
    also = f" · {counted(others, 'pod')} blocked by another rule" if others else ""
    return clean(f"{what}{named}{also}")


def _refused_text(findings: NodeFindings, lane: Lane) -> str:
    outlook = findings.outlook
    if outlook is None:
        return lane.code
    if lane.code == outlook.now.refusal_code:
        return clean(refusal_parts(outlook.now)[0])
    return clean(next((refused.message for refused in outlook.now.refused if refused.method == lane.method), lane.code))


def lane_lines(entry: NodeEntry, now_ns: int) -> tuple[Pieces, ...]:
    """Return a line per method, expiry and interruption: wanted or not, blockers, and outcome."""
    findings = entry.findings
    if findings is None or not findings.lanes:
        return ()
    named = group_by(findings.lanes, lambda lane: _lane_pieces(entry, findings, lane, now_ns))
    lines = [_line(lanes, pieces) for pieces, lanes in named.items()]
    if findings.is_static:
        lines.insert(0, ((" Emptiness, Multi, Single –  ", Tone.MUTED), (_LACKS["STATIC"], Tone.NORMAL)))
    return (*lines, *_health_line(findings, now_ns), *_expiry_line(entry, now_ns), _interruption_line(findings, now_ns))


def _line(lanes: Sequence[Lane], pieces: Pieces) -> Pieces:
    names = ", ".join(short_method(lane.method) for lane in lanes)
    tone = Tone.MUTED
    if any(lane.is_wanted for lane in lanes):
        tone = Tone.STRONG if any(lane.is_held or lane.goes for lane in lanes) else Tone.NORMAL
    return ((f" {names:<{NAME_WIDTH}}{' ' if len(names) >= NAME_WIDTH else ''}", tone), *pieces)


def _lane_pieces(entry: NodeEntry, findings: NodeFindings, lane: Lane, now_ns: int) -> Pieces:
    message = lane_message(findings, lane, now_ns)
    if not lane.is_wanted:
        return (("–  ", Tone.MUTED), (message, Tone.MUTED))
    since = f"wanted{_since(entry, lane, now_ns)}  "
    if lane.is_held:
        return ((since, Tone.NORMAL), ("✘ ", Tone.FAULT), (message, Tone.STRONG))
    if lane.goes:
        waits = str(findings.why.code) == "WAITS"
        mark = ("… once disruption resumes (6 shows why it is blocked): ", Tone.ACTIVE) if waits else ("✔ ", Tone.GOOD)
        return ((since, Tone.NORMAL), mark, (message, Tone.STRONG))
    return ((since, Tone.NORMAL), ("? ", Tone.ACTIVE), (message, Tone.NORMAL))


def _since(entry: NodeEntry, lane: Lane, now_ns: int) -> str:
    """Return the reason that a method wants the node, and since when: drift or the Consolidatable condition."""
    if entry.claim is None:
        return ""
    condition = entry.claim.condition("Drifted" if lane.method == "Drift" else "Consolidatable")
    if condition is None or condition.status != "True" or lane.method == "Repair":
        return ""
    reason = f" {clean(condition.reason)}" if lane.method == "Drift" and condition.reason else ""
    since = f" {age_text(condition.last_transition_ns, now_ns)}" if condition.last_transition_ns else ""
    return f"{reason}{since}"


def _expiry_text(entry: NodeEntry, now_ns: int) -> tuple[bool, str]:
    """Return whether a node has expired, and when it does."""
    if entry.claim is not None and entry.claim.is_deleting:
        return False, "it is being deleted already"
    text = expiry_text(entry.expires_ns, now_ns)
    return (True, "due: nothing blocks expiry, but the drain may take time") if text == "due" else (False, text)


def _expiry_line(entry: NodeEntry, now_ns: int) -> tuple[Pieces, ...]:
    if entry.claim is None:
        return ()
    is_due, text = _expiry_text(entry, now_ns)
    return (((f" {EXPIRY:<{NAME_WIDTH}}", Tone.MUTED), (text, Tone.WARNING if is_due else Tone.MUTED)),)


def _health_text(unhealthy: HealthDeletion, now_ns: int) -> str:
    """Return when node repair deletes a node, or why it does not."""
    if unhealthy.is_tripped:
        what = "its drain is not forced to end" if unhealthy.is_going else "node repair deletes none"
        return f"unhealthy, as are more than 20% of the nodes: {what}"
    left_ns = unhealthy.at_ns - now_ns
    when = f"in {duration_text(max(left_ns // NS_PER_SECOND, 1))}" if left_ns > 0 else "now"
    if unhealthy.is_going:
        return f"unhealthy: its drain is forced to end {when}"
    return f"unhealthy: deleted {when} with its pods, regardless of blockers"


def _health_line(findings: NodeFindings, now_ns: int) -> tuple[Pieces, ...]:
    if findings.unhealthy is None:
        return ()
    return (((f" {REPAIR:<{NAME_WIDTH}}", Tone.MUTED), (_health_text(findings.unhealthy, now_ns), Tone.WARNING)),)


def _health_row(unhealthy: HealthDeletion, now_ns: int) -> _LaneRow:
    is_due = unhealthy.at_ns <= now_ns
    blocker = str(Code.REPAIR_TRIPPED) if is_due and unhealthy.is_tripped else ""
    return _LaneRow(is_due, blocker, "" if is_due else "TOLERATED", _health_text(unhealthy, now_ns))


def _interruption_text(findings: NodeFindings, now_ns: int) -> tuple[bool, str]:
    warning = findings.warning
    if warning is None:
        return False, "no warning from the cloud"
    ago = f" {age_text(warning.at_ns, now_ns)} ago" if warning.at_ns else ""
    return True, f"{clean(warning.reason)}{ago}: nothing in the cluster blocks it"


def _interruption_line(findings: NodeFindings, now_ns: int) -> Pieces:
    is_warned, text = _interruption_text(findings, now_ns)
    return ((f" {INTERRUPTION:<{NAME_WIDTH}}", Tone.MUTED), (text, Tone.WARNING if is_warned else Tone.MUTED))


def lanes_values(entry: NodeEntry, now_ns: int) -> dict[str, Any] | None:
    """Return the lanes by method."""
    findings = entry.findings
    if findings is None or entry.claim is None:
        return None
    rows = {} if findings.unhealthy is None else {REPAIR: _health_row(findings.unhealthy, now_ns)}
    for lane in findings.lanes:
        blocker, lacks = lane.code if lane.is_held else "", "" if lane.is_wanted else lane.code
        message = lane_message(findings, lane, now_ns)
        rows[lane.method] = _LaneRow(lane.is_wanted, blocker, lacks, message)
    is_due, text = _expiry_text(entry, now_ns)
    is_warned, warning = _interruption_text(findings, now_ns)
    rows[EXPIRY] = _LaneRow(is_due, "", "" if is_due else "NOT_EXPIRED", text)
    rows[INTERRUPTION] = _LaneRow(is_warned, "", "" if is_warned else "NO_WARNING", warning)
    return {name: plain(_LANE, row) for name, row in rows.items()}


def lanes_text(lanes: dict[str, Any] | None) -> list[str]:
    """Return the same for CSV: ``Drift=BUDGET_ZERO`` for methods that want the node."""
    return [f"{name}={lane['heldBy']}" for name, lane in (lanes or {}).items() if lane["wanted"]]
