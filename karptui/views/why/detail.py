"""Why one node is still here, at length: Karpenter's gates in order, every blocker, and the places of its pods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from karptui.disruption.codes import Code
from karptui.disruption.no_place import cause_text
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import age_text, count_text, duration_text
from karptui.session.nodes import NodeEntry
from karptui.session.pods import PodEntry
from karptui.views.column import Column, Heading
from karptui.views.row import NOT_APPLICABLE, Cell, Pieces, Tone
from karptui.views.sanitize import clean, short_name
from karptui.views.table import TableSpec
from karptui.views.why.lanes import lane_lines
from karptui.views.why.sentences import drain_text, refusal_parts, verdict_text

if TYPE_CHECKING:
    from karptui.disruption.analysis import NodeDetail, NodeFindings
    from karptui.disruption.blocker import Blocker
    from karptui.disruption.gates import GateCheck
    from karptui.disruption.node_verdict import Landing, Verdict


UNLIMITED_FROM: Final = 1_000_000
OPEN: Final[Mapping[str, str]] = {
    "IN_COMMAND": "in no command",
    "UNMANAGED": "managed",
    "NO_NODE": "has a node",
    "REBOOTING": "not rebooting",
    "DELETING": "not deleting",
    "NOT_INITIALIZED": "initialised",
    "NOMINATED": "not nominated",
    "NODE_DND": "no node annotation",
    "NO_NODEPOOL_LABEL": "pool label",
    "NODEPOOL_UNRESOLVED": "NodePool known",
    "POD_DND": "no protected pod",
    "PDB_MULTIPLE": "no pod with two PDBs",
    "PDB_EXHAUSTED": "PDBs allow evictions",
}
"""What an open gate says."""
_SHUT: Final[Mapping[str, str]] = {
    "IN_COMMAND": "held by a command",
    "UNMANAGED": "not managed by Karpenter",
    "NO_NODE": "no node yet",
    "REBOOTING": "rebooting",
    "DELETING": "being deleted",
    "NOT_INITIALIZED": "not initialised",
    "NOMINATED": "nominated",
    "NODE_DND": "node annotation",
    "NO_NODEPOOL_LABEL": "no pool label",
    "NODEPOOL_UNRESOLVED": "NodePool unresolved",
    "POD_DND": "protected pods",
    "PDB_MULTIPLE": "two PDBs on a pod",
    "PDB_EXHAUSTED": "PDBs",
}
_RULES: Final = (
    ("consolidateAfter", ("CONSOLIDATE_AFTER", "NOT_CONSOLIDATABLE", "CONSOLIDATION_DISABLED"), "has passed"),
    ("policy", ("WHEN_EMPTY_POLICY",), ""),
    ("labels and type", ("INSTANCE_TYPE_UNKNOWN", "NO_CAPACITY_TYPE_LABEL", "NO_ZONE_LABEL"), "known"),
)


def why_lines(entry: NodeEntry, detail: NodeDetail | None, now_ns: int) -> tuple[Pieces, ...]:
    """Return the lines of "Why is it still here?", nothing before they are worked out."""
    found = entry.findings
    head: Pieces = (("Why is it still here?", Tone.STRONG),)
    if found is None:
        words = "being worked out" if entry.is_managed else "Karpenter does not manage it"
        words = "not known: something that it follows from may not be listed" if entry.is_out_of_reach else words
        return head, ((f" {words}", Tone.MUTED),), ()
    lines: list[Pieces] = [head, *lane_lines(entry, now_ns)]
    own = detail if detail is not None and detail.key == found.key else None
    if own is not None:
        lines += [(), (("What each gate says, in Karpenter's order", Tone.MUTED),)] if found.lanes else []
        lines += _gate_lines(own.gates, found)
        if entry.claim is not None and not entry.is_deleting:
            lines += _budget_lines(own, found)
            lines += _rule_lines(own, found)
    if found.drain is not None and entry.is_deleting:
        lines.append(_line("…", Tone.LEAVING, "its end", drain_text(found, now_ns)))
    lines += _outlook_lines(found)
    if found.recent_pods:
        many = f"{count_text(found.recent_pods)} in the last hour"
        lines.append(_line("!", Tone.WARNING, "still receives pods", many))
    if own is not None and own.problem:
        lines.append(_line("?", Tone.WARNING, "simulated removal", own.problem))
    lines += _blocker_lines(found, now_ns)
    lines.append(())
    return tuple(lines)


def _line(mark: str, tone: Tone, what: str, said: str, said_tone: Tone = Tone.NORMAL) -> Pieces:
    return ((f" {mark} ", tone), (f"{what}  ", Tone.NORMAL), (clean(said), said_tone))


def _gate_lines(gates: tuple[GateCheck, ...], found: NodeFindings) -> list[Pieces]:
    """Return the gates in order; those open one after the other share a line."""
    lines: list[Pieces] = []
    run: list[str] = []
    is_first = True
    for check in gates:
        if check.is_open:
            run.append(OPEN[check.gate])
            continue
        if run:
            lines.append(((" ✔ ", Tone.GOOD), (", ".join(run), Tone.NORMAL)))
            run = []
        if check.is_open is None:
            continue
        count = sum(1 for one in found.blockers if one.code == str(check.gate))
        what = f"{_SHUT[check.gate]}: {count}" if count > 1 else _SHUT[check.gate]
        key = check.object_key.partition("/")[2]
        said = f"{key}{' is the one that Karpenter names' if is_first and count > 1 else ''}" if key else check.message
        is_idle = any(one.code == str(check.gate) for one in found.blockers) and not _is_in_the_way(found, check.gate)
        if is_idle:
            # Karpenter says so of every node, whether a method wants it or not.
            lines.append(_line("–", Tone.MUTED, what, f"{said}, in no method's way now", Tone.MUTED))
        else:
            lines.append(_line("✘", Tone.FAULT if is_first else Tone.WARNING, what, said, Tone.STRONG))
        is_first = False
    if run:
        lines.append(((" ✔ ", Tone.GOOD), (", ".join(run), Tone.NORMAL)))
    return lines


def _is_in_the_way(found: NodeFindings, code: str) -> bool:
    """Whether a method that wants the node is kept from it by something of a code, or a drain is held up by it."""
    return any(one.code == code and (one.is_wanted or one.code is Code.DELETING) for one in found.blockers)


def _budget_lines(detail: NodeDetail, found: NodeFindings) -> list[Pieces]:
    if not detail.budgets:
        return []
    shut = _is_in_the_way(found, Code.BUDGET_ZERO)
    problem = next((state.problem for state in detail.budgets if state.problem), "")
    left = [
        f"{state.reason} {f'{state.left} of {state.allowed}' if state.allowed < UNLIMITED_FROM else 'no limit'}"
        for state in detail.budgets
    ]
    said = f"closed, a budget cannot be read: {problem}" if problem else f"left: {', '.join(left)}"
    if all(state.allowed >= UNLIMITED_FROM for state in detail.budgets):
        said = "no limit"
    if any(one.code is Code.BUDGET_ZERO for one in found.blockers) and not shut:
        return [_line("–", Tone.MUTED, "disruption budgets", said, Tone.MUTED)]
    return [_line("✘" if shut else "✔", Tone.WARNING if shut else Tone.GOOD, "disruption budgets", said)]


def _rule_lines(detail: NodeDetail, found: NodeFindings) -> list[Pieces]:
    """Return the rules of the NodePool; those that are met share a line."""
    lines, met = [], []
    for what, codes, open_text in _RULES:
        held = next((one for one in found.blockers if one.code in codes), None)
        if held is None and (open_text or detail.consolidation_policy):
            met.append(f"{what} {open_text or detail.consolidation_policy}")
        elif held is not None:
            lines.append(_line("–", Tone.MUTED, what, held.message, Tone.MUTED))
    return [*lines, *([((" ✔ ", Tone.GOOD), (", ".join(met), Tone.NORMAL))] if met else [])]


def _outlook_lines(found: NodeFindings) -> list[Pieces]:
    outlook = found.outlook
    if outlook is None:
        return [_line("?", Tone.ACTIVE, "simulated removal", "being worked out")]
    if not found.is_held or outlook.now.goes:
        return _simulated_lines("simulated as it is", outlook.now)
    return _simulated_lines("simulated without them", outlook.freed)


def _simulated_lines(what: str, verdict: Verdict) -> list[Pieces]:
    plain, quoted = refusal_parts(verdict)
    lines = [_line("?", Tone.ACTIVE, what, plain if quoted else verdict_text(verdict), Tone.STRONG)]
    if quoted:
        lines.append(((f"   {clean(quoted)}", Tone.MUTED),))
    return [*lines, *_cheaper_lines(verdict)]


def _cheaper_lines(verdict: Verdict) -> list[Pieces]:
    """Return the cheaper types that spot-to-spot consolidation finds too few, and what rules out the others."""
    if not verdict.cheaper_types:
        return []
    said = f"{', '.join(verdict.cheaper_types)} · Types (8) says what rules out the others"
    return [_line("·", Tone.MUTED, "cheaper types", said)]


def _blocker_lines(found: NodeFindings, now_ns: int) -> list[Pieces]:
    if not found.blockers:
        return []
    without = found.outlook.without if found.outlook is not None else ()
    holding = [index for index, one in enumerate(found.blockers) if one.is_wanted]
    if not holding:
        return []
    lines: list[Pieces] = [(), ((f"Blockers ({count_text(len(holding))})", Tone.STRONG),)]
    for index in holding:
        one = found.blockers[index]
        outcome = str(without[index]) if index < len(without) else "…"
        if outcome == "no" and found.outlook is not None and found.outlook.freed.goes:
            outcome = "not alone"
        lines.append(_blocker_line(one, outcome, now_ns))
        if one.quoted_ns is not None:
            said = f'Karpenter said {age_text(one.quoted_ns, now_ns)} ago: "{clean(one.message)}"'
            lines.append(((f"     {said}", Tone.MUTED),))
    return lines


def _blocker_line(one: Blocker, outcome: str, now_ns: int) -> Pieces:
    parts = [one.object_key or one.claim_name, one.value, times_text(one, now_ns)]
    reported = (" ◂ reported", Tone.ACTIVE) if one.is_reported else ("", Tone.NORMAL)
    return (
        (f" {one.word:<9} ", Tone.WARNING),
        (clean("  ".join(part for part in parts if part)), Tone.NORMAL),
        (f"  without it: {outcome}", Tone.MUTED),
        reported,
    )


def times_text(one: Blocker, now_ns: int) -> str:
    """Return since when and until when a blocker holds, as far as that is known."""
    parts = []
    if one.since_ns:
        parts.append(f"since {age_text(one.since_ns, now_ns)}")
    if one.until_ns is not None:
        left = (one.until_ns - now_ns) // NS_PER_SECOND
        parts.append(f"{duration_text(left)} left" if left > 0 else "time is up")
    return ", ".join(parts)


def landing_cell(landing: Landing | None, *, is_daemon: bool) -> Cell:
    """Return where a pod would land."""
    if landing is None:
        return Cell("leaves with the node", Tone.MUTED) if is_daemon else NOT_APPLICABLE
    if not landing.is_known:
        return Cell("? not known: only types that nodes show are", Tone.WARNING)
    if landing.error:
        return Cell(f"✘ {no_landing_text(landing)}", Tone.FAULT)
    if landing.node_name:
        return Cell(f"→ {clean(short_name(landing.node_name))}", Tone.GOOD)
    return Cell(f"→ new {clean(landing.type_name)} in {clean(landing.pool_name)}", Tone.ACTIVE)


def no_landing_text(landing: Landing) -> str:
    """Return why a pod would land nowhere: in plain words, then in Karpenter's."""
    said = clean(landing.error)
    return said if landing.no_place is None else f"{clean(cause_text(landing.no_place))} · Karpenter: {said}"


def with_landings(spec: TableSpec[PodEntry], landing: Callable[[PodEntry], Cell]) -> TableSpec[PodEntry]:
    """Return a table of pods with a column of landing places.

    Args:
        spec: The table.
        landing: Returns the cell of a pod.
    """
    heading = Heading(
        "lands_on",
        "WOULD LAND ON",
        "Where the pod would go if the node were removed now, whatever protects it: simulated on the engine.",
        min_width=14,
        max_width=40,
    )
    column: Column[PodEntry] = Column(heading, lambda entry, _: landing(entry), lambda entry: landing(entry).text)
    return msgspec.structs.replace(spec, columns=(*spec.columns, column))
