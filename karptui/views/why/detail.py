"""Details of why a node still exists: Karpenter's checks in order, its blockers, and where its pods land."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from karptui.disruption.codes import CODES, Code, Scope
from karptui.disruption.command import Method
from karptui.disruption.lanes import lane_name
from karptui.disruption.no_place import cause_text
from karptui.karpenter.nodeclaim import REBOOTING
from karptui.kube.objects import controller_of
from karptui.kube.pod import Pod
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import age_text, count_text, counted, duration_text
from karptui.session.nodes import NodeEntry
from karptui.session.pods import PodEntry
from karptui.views.column import Column, Heading
from karptui.views.pods import lost_text
from karptui.views.row import NOT_APPLICABLE, Cell, Pieces, Tone
from karptui.views.sanitize import clean, short_name
from karptui.views.table import TableSpec
from karptui.views.why.labels import UNLIMITED_FROM
from karptui.views.why.lanes import lane_lines, short_method
from karptui.views.why.sentences import drain_text, refusal_parts, verdict_text

if TYPE_CHECKING:
    from karptui.disruption.analysis import NodeDetail, NodeFindings
    from karptui.disruption.blocker import Blocker
    from karptui.disruption.gates import GateCheck
    from karptui.disruption.lanes import Lane
    from karptui.disruption.node_verdict import Landing, Verdict


OPEN: Final[Mapping[str, str]] = {
    "IN_COMMAND": "in no command",
    "UNMANAGED": "managed",
    "NO_NODE": "has a node",
    "REBOOTING": "not rebooting",
    "DELETING": "not deleting",
    "NOT_INITIALIZED": "initialized",
    "NOMINATED": "not nominated",
    "NODE_DND": "no node annotation",
    "NO_NODEPOOL_LABEL": "pool label",
    "NODEPOOL_UNRESOLVED": "NodePool exists",
    "POD_DND": "no protected pod",
    "PDB_MULTIPLE": "no pod with two PDBs",
    "PDB_EXHAUSTED": "PDBs allow evictions",
}
"""Text of an open gate."""
_USUAL: Final = frozenset(
    text for gate, text in OPEN.items() if gate not in ("POD_DND", "PDB_MULTIPLE", "PDB_EXHAUSTED")
)
_SHUT: Final[Mapping[str, str]] = {
    "IN_COMMAND": "in a command",
    "UNMANAGED": "not managed by Karpenter",
    "NO_NODE": "no node yet",
    "REBOOTING": "rebooting",
    "DELETING": "being deleted",
    "NOT_INITIALIZED": "not initialized",
    "NOMINATED": "nominated",
    "NODE_DND": "node annotation",
    "NO_NODEPOOL_LABEL": "no pool label",
    "NODEPOOL_UNRESOLVED": "NodePool missing",
    "NODEPOOL_NO_TYPES": "NodePool without instance types",
    "POD_DND": "protected pods",
    "PDB_MULTIPLE": "two PDBs on a pod",
    "PDB_EXHAUSTED": "PDBs allow no eviction",
}
AWAY: Final = "its node is away while it reboots"
_RULES: Final = (
    ("consolidateAfter", ("CONSOLIDATE_AFTER", "NOT_CONSOLIDATABLE", "CONSOLIDATION_DISABLED"), "has passed"),
    ("policy", ("WHEN_EMPTY_POLICY",), ""),
    ("labels and type", ("INSTANCE_TYPE_UNKNOWN", "NO_CAPACITY_TYPE_LABEL", "NO_ZONE_LABEL"), "known"),
)
_RULED: Final = frozenset(code for _, codes, _ in _RULES for code in codes)
_OWN: Final = ("Node", "NodeClaim")
"""Kinds that the title already names."""
_NAMED: Final = 6
"""Maximum number of objects named per gate."""


def why_lines(entry: NodeEntry, detail: NodeDetail | None, now_ns: int) -> tuple[Pieces, ...]:
    """Return the lines of "Why is it still here?", empty until they are computed."""
    found = entry.findings
    head: Pieces = (("Why is it still here?", Tone.STRONG),)
    if found is None:
        words = "being computed" if entry.is_managed else "Karpenter does not manage it"
        words = words if entry.node is not None else "it has no node yet: State shows the step it is waiting for"
        words = "unknown: a kind it depends on may not be listed" if entry.is_out_of_reach else words
        return head, ((f" {words}", Tone.MUTED),), ()
    lines: list[Pieces] = [head, *lane_lines(entry, now_ns)]
    own = detail if detail is not None and detail.key == found.key else None
    if found.drain is not None and entry.is_deleting:
        lines.append(_line("…", Tone.LEAVING, "its end", drain_text(found, now_ns, names_blockers=False)))
    is_simulated = found.outlook is not None or (entry.is_managed and not (own is not None and own.problem))
    lines += _outlook_lines(found) if is_simulated and not entry.is_deleting else []
    if found.lost_pods:
        lines.append(((" ! ", Tone.WARNING), (lost_text(found.lost_pods), Tone.STRONG)))
    if found.recent_pods:
        many = f"{count_text(found.recent_pods)} in the last hour"
        lines.append(_line("!", Tone.WARNING, "still receives pods", many))
    if own is not None and own.problem:
        lines.append(_line("?", Tone.WARNING, "simulated removal", own.problem))
    if own is not None or found.is_held:
        lines += [(), (("Karpenter's checks, in order", Tone.MUTED),)] if found.lanes else []
        away = {"NO_NODE": AWAY} if entry.claim is not None and entry.claim.is_true(REBOOTING) else {}
        lines += _gate_lines(own.gates if own is not None else (), found, {**_SHUT, **away}, now_ns)
    if own is not None and entry.claim is not None and not entry.is_deleting:
        lines += _budget_lines(own, found)
        lines += _rule_lines(own, found)
    lines.append(())
    return tuple(lines)


def _line(mark: str, tone: Tone, what: str, said: str, said_tone: Tone = Tone.NORMAL) -> Pieces:
    return ((f" {mark} ", tone), (f"{what}  " if said else what, Tone.NORMAL), (clean(said), said_tone))


def _gate_lines(
    gates: tuple[GateCheck, ...], found: NodeFindings, shut: Mapping[str, str], now_ns: int
) -> list[Pieces]:
    """Return the gates in order: consecutive open ones share a line, shut ones name their object.

    Other obstacles of a method follow.
    """
    lines: list[Pieces] = []
    run: list[str] = []
    is_first = True
    for check in gates:
        own = [one for one in found.blockers if one.code == str(check.gate)]
        if check.is_open and not own:
            # Karpenter reports only the first pod that PodDisruptionBudgets protect.
            run.append(OPEN[check.gate])
            continue
        if run:
            lines.append(_met_line(run))
            run = []
        if check.is_open is None:
            continue
        kind, _, key = check.object_key.partition("/")
        said = (key if kind not in _OWN else "") or check.message
        lines += _shut_lines(shut[check.gate], own, found, now_ns, said=said, is_first=is_first)
        is_first = False
    if run:
        lines.append(_met_line(run))
    covered = {str(check.gate) for check in gates} | _RULED | ({str(Code.BUDGET_ZERO)} if gates else set())
    for code in dict.fromkeys(one.code for one in found.blockers if one.is_wanted and str(one.code) not in covered):
        own = [one for one in found.blockers if one.code is code]
        what = shut.get(code) or CODES[code].meaning
        lines += _shut_lines(what, own, found, now_ns, said=own[0].object_key, is_first=is_first)
        is_first = False
    return lines


def _met_line(met: Sequence[str]) -> Pieces:
    """Return open gates in a line; those that hold for every usual node as a number."""
    usual = sum(text in _USUAL for text in met)
    others = [text for text in met if text not in _USUAL]
    head = [counted(usual, "precondition") + " met"] if usual > 1 else [text for text in met if text in _USUAL]
    return ((" ✔ ", Tone.GOOD), (", ".join([*head, *others]), Tone.NORMAL))


def _shut_lines(
    what: str, own: Sequence[Blocker], found: NodeFindings, now_ns: int, *, said: str, is_first: bool
) -> list[Pieces]:
    """Return a shut gate: the methods it blocks, then each object with its times and the outcome without it."""
    if not own:
        return [_line("✘", Tone.FAULT if is_first else Tone.WARNING, what, said, Tone.STRONG)]
    what = f"{what}: {count_text(len(own))}" if len(own) > 1 else what
    kept = _kept_text(own, found)
    if not any(one.is_wanted or one.code is Code.DELETING for one in own):
        # Karpenter reports this for every node, wanted or not.
        named = f"{said}, " if len(own) == 1 and said else ""
        return [_line("–", Tone.MUTED, what, f"{named}blocks no method now{_would_keep(own, found)}", Tone.MUTED)]
    tone = Tone.FAULT if is_first else Tone.WARNING
    if len(own) == 1 and own[0].object_kind != "Pod":
        one = own[0]
        named = "" if one.object_kind in _OWN else said
        words = " · ".join(filter(None, (named, times_text(one, now_ns), kept)))
        return [_line("✘", tone, what, words, Tone.STRONG), *_quoted_lines(one, now_ns)]
    lines = [_line("✘", tone, what, kept)]
    places = {id(one): place for place, one in enumerate(found.blockers)}
    first = sorted(own, key=lambda one: not one.is_reported)
    for one in first[:_NAMED]:
        lines += _object_lines(one, places[id(one)], found, now_ns)
    if len(first) > _NAMED:
        lines.append(((f"     and {count_text(len(first) - _NAMED)} more: Blockers (6)", Tone.MUTED),))
    return lines


def _kept_text(own: Sequence[Blocker], found: NodeFindings) -> str:
    """Return the methods blocked by it that want the node, and whether it blocks a drain."""
    kept = [short_method(lane.method) for lane in found.lanes if lane.is_wanted and _blocks(own, lane)]
    drain = ["the drain"] if any(one.blocks_drain for one in own) and found.drain is not None else []
    return f"blocks {' and '.join(filter(None, (', '.join(kept), *drain)))}" if kept or drain else ""


def _would_keep(own: Sequence[Blocker], found: NodeFindings) -> str:
    """Return the methods it would block, if not all: a grace period opens gates for drift."""
    blocked = [short_method(lane.method) for lane in found.lanes if _blocks(own, lane)]
    return f", would block {', '.join(blocked)}" if 0 < len(blocked) < len(found.lanes) else ""


def _blocks(own: Sequence[Blocker], lane: Lane) -> bool:
    return any(lane_name(method) == lane.method for held in own for method in held.blocks)


def _object_lines(one: Blocker, place: int, found: NodeFindings, now_ns: int) -> list[Pieces]:
    value = f"by {' + '.join(one.value.split())}" if one.scope is Scope.PDB else f'"{one.value}"' if one.value else ""
    parts = [" ".join(filter(None, (one.object_key or one.claim_name, value))), times_text(one, now_ns)]
    reported = (" ◂ named in Karpenter's message", Tone.ACTIVE) if one.is_reported else ("", Tone.NORMAL)
    lines: list[Pieces] = [
        (
            (f"     {clean(', '.join(filter(None, parts)))}", Tone.STRONG),
            (_alone_text(place, found), Tone.MUTED),
            reported,
        )
    ]
    return [*lines, *_quoted_lines(one, now_ns)]


def _quoted_lines(one: Blocker, now_ns: int) -> list[Pieces]:
    if one.quoted_ns is None:
        return []
    said = f'Karpenter said {age_text(one.quoted_ns, now_ns)} ago: "{clean(one.message)}"'
    return [((f"       {said}", Tone.MUTED),)]


def _alone_text(place: int, found: NodeFindings) -> str:
    """Return the outcome without this blocker alone, if there are others."""
    if sum(1 for one in found.blockers if one.is_wanted) < 2 or found.outlook is None:
        return ""
    without = found.outlook.without
    outcome = str(without[place]) if place < len(without) else ""
    return f" · if only this is lifted: {outcome}" if outcome in ("delete", "replace") else ""


def _is_in_the_way(found: NodeFindings, code: str) -> bool:
    """Return whether blockers of a code stop a method that wants the node, or its drain."""
    return any(one.code == code and (one.is_wanted or one.code is Code.DELETING) for one in found.blockers)


def _budget_lines(detail: NodeDetail, found: NodeFindings) -> list[Pieces]:
    if not detail.budgets:
        return []
    own = [one for one in found.blockers if one.code is Code.BUDGET_ZERO]
    shut = _is_in_the_way(found, Code.BUDGET_ZERO)
    problem = next((state.problem for state in detail.budgets if state.problem), "")
    left = [
        f"{state.reason} {f'{state.left} of {state.allowed}' if state.allowed < UNLIMITED_FROM else 'no limit'}"
        for state in detail.budgets
    ]
    said = f"closed, a budget cannot be read: {problem}" if problem else f"left: {', '.join(left)}"
    if all(state.allowed >= UNLIMITED_FROM for state in detail.budgets):
        said = "no limit"
    if own and not shut:
        return [_line("–", Tone.MUTED, "disruption budgets", f"{said} · blocks no method now", Tone.MUTED)]
    if not shut:
        return [_line("✔", Tone.GOOD, "disruption budgets", said)]
    kept = _kept_text([one for one in own if one.is_wanted], found)
    return [_line("✘", Tone.WARNING, "disruption budgets", " · ".join(filter(None, (kept, said))))]


def _rule_lines(detail: NodeDetail, found: NodeFindings) -> list[Pieces]:
    """Return the NodePool's rules; those that are met share a line. Static NodePools have none."""
    if found.lanes and not any(lane.method == Method.SINGLE_NODE for lane in found.lanes):
        return []
    lines, met = [], []
    for what, codes, open_text in _RULES:
        held = next((one for one in found.blockers if one.code in codes), None)
        if held is None and (open_text or detail.consolidation_policy):
            met.append(f"{what} {open_text or detail.consolidation_policy}")
        elif held is not None:
            lines.append(_line("–", Tone.MUTED, what, held.message, Tone.MUTED))
    return [*lines, *([_met_line(met)] if met else [])]


def _outlook_lines(found: NodeFindings) -> list[Pieces]:
    outlook = found.outlook
    if outlook is None:
        return [_line("?", Tone.ACTIVE, "simulated removal", "being computed")]
    if not found.is_held or outlook.now.goes:
        return _simulated_lines("simulated now", outlook.now)
    if any(one.code is Code.IN_COMMAND and one.is_wanted for one in found.blockers):
        return [_line("…", Tone.LEAVING, "its command is under way", "it is removed when that completes")]
    one = sum(1 for one in found.blockers if one.is_wanted) == 1
    return _simulated_lines(f"simulated without the {'blocker' if one else 'blockers'}", found.freed or outlook.freed)


def _simulated_lines(what: str, verdict: Verdict) -> list[Pieces]:
    plain, quoted = refusal_parts(verdict)
    lines = [_line("?", Tone.ACTIVE, what, plain if quoted else verdict_text(verdict), Tone.STRONG)]
    if quoted:
        lines.append(((f"   {clean(quoted)}", Tone.MUTED),))
    return [*lines, *_cheaper_lines(verdict)]


def _cheaper_lines(verdict: Verdict) -> list[Pieces]:
    """Return the cheaper types that spot-to-spot consolidation requires more of, and where to see the others."""
    if not verdict.cheaper_types:
        return []
    said = f"{', '.join(verdict.cheaper_types)} · Types (8) shows why the others are excluded"
    return [_line("·", Tone.MUTED, "cheaper types", said)]


def times_text(one: Blocker, now_ns: int) -> str:
    """Return since when and until when a blocker holds, as far as that is known."""
    parts = []
    if one.since_ns:
        parts.append(f"for {age_text(one.since_ns, now_ns)}")
    if one.until_ns is not None:
        left = (one.until_ns - now_ns) // NS_PER_SECOND
        parts.append(f"{duration_text(left)} left" if left > 0 else "time is up")
    return ", ".join(parts)


def landing_cell(landing: Landing | None, pod: Pod) -> Cell:
    """Return the destination of a pod; a Job restarts there, and a pod without an owner is lost."""
    if landing is None:
        is_of_node = pod.template.is_daemonset_owned or pod.template.is_node_owned
        return Cell("ends with the node", Tone.MUTED) if is_of_node else NOT_APPLICABLE
    if not landing.error and pod.template.is_lost_if_evicted:
        return Cell("✘ lost: no owner recreates it", Tone.FAULT, "✘ lost (no owner)")
    if not landing.is_known:
        return Cell("? unknown: only the nodes' types are known", Tone.WARNING)
    if landing.error:
        return Cell(f"✘ {no_landing_text(landing)}", Tone.FAULT)
    owner = controller_of(pod.owners)
    restarts = ", restarts" if owner is not None and owner.kind == "Job" else ""
    if landing.node_name:
        return Cell(f"→ {clean(short_name(landing.node_name))}{restarts}", Tone.GOOD)
    return Cell(f"→ new {clean(landing.type_name)} in {clean(landing.pool_name)}{restarts}", Tone.ACTIVE)


def no_landing_text(landing: Landing) -> str:
    """Return the reason why a pod would be unschedulable, first plainly, then in Karpenter's words."""
    said = clean(landing.error)
    return said if landing.no_place is None else f"{clean(cause_text(landing.no_place))} · Karpenter: {said}"


def with_landings(spec: TableSpec[PodEntry], landing: Callable[[PodEntry], Cell]) -> TableSpec[PodEntry]:
    """Return a table of pods with a column of landing places."""
    heading = Heading(
        "lands_on",
        "WOULD LAND ON",
        "Where the pod would land if the node were removed now, ignoring its blockers (simulated).",
        min_width=14,
        max_width=40,
    )
    column: Column[PodEntry] = Column(heading, lambda entry, _: landing(entry), lambda entry: landing(entry).text)
    return msgspec.structs.replace(spec, columns=(*spec.columns, column))
