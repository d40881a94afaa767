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
from karptui.views.why.sentences import drain_text, pause_text, refusal_parts, verdict_text

if TYPE_CHECKING:
    from karptui.disruption.analysis import NodeDetail, NodeFindings
    from karptui.disruption.codes import Blocker
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
    findings = entry.findings
    head: Pieces = (("Why is it still here?", Tone.STRONG),)
    if findings is None:
        words = "being computed" if entry.is_managed else "Karpenter does not manage it"
        words = words if entry.node is not None else "it has no node yet: State shows the step it is waiting for"
        words = "unknown: a kind it depends on may not be listed" if entry.is_out_of_reach else words
        return head, ((f" {words}", Tone.MUTED),), ()
    lines: list[Pieces] = [head, *lane_lines(entry, now_ns)]
    node_detail = detail if detail is not None and detail.key == findings.key else None
    if findings.drain is not None and entry.is_deleting:
        lines.append(_line("…", Tone.LEAVING, "its end", drain_text(findings, now_ns, names_blockers=False)))
    is_simulated = findings.outlook is not None or (
        entry.is_managed and not (node_detail is not None and node_detail.problem)
    )
    lines += _outlook_lines(findings) if is_simulated and not entry.is_deleting else []
    if findings.lost_pods:
        lines.append(((" ! ", Tone.WARNING), (lost_text(findings.lost_pods), Tone.STRONG)))
    if findings.recent_pods:
        many = f"{count_text(findings.recent_pods)} in the last hour"
        lines.append(_line("!", Tone.WARNING, "still receives pods", many))
    if node_detail is not None and node_detail.problem:
        lines.append(_line("?", Tone.WARNING, "simulated removal", node_detail.problem))
    if node_detail is not None or findings.is_held:
        lines += [(), (("Karpenter's checks, in order", Tone.MUTED),)] if findings.lanes else []
        if node_detail is not None and node_detail.paused_by and findings.lanes and not entry.is_deleting:
            lines.append(_line("✘", Tone.WARNING, "disruption of all nodes", pause_text(node_detail.paused_by)))
        away = {"NO_NODE": AWAY} if entry.claim is not None and entry.claim.is_true(REBOOTING) else {}
        lines += _gate_lines(node_detail.gates if node_detail is not None else (), findings, {**_SHUT, **away}, now_ns)
    if node_detail is not None and entry.claim is not None and not entry.is_deleting:
        lines += _budget_lines(node_detail, findings)
        lines += _rule_lines(node_detail, findings)
    lines.append(())
    return tuple(lines)


def _line(mark: str, tone: Tone, what: str, text: str, said_tone: Tone = Tone.NORMAL) -> Pieces:
    return ((f" {mark} ", tone), (f"{what}  " if text else what, Tone.NORMAL), (clean(text), said_tone))


def _gate_lines(
    gates: tuple[GateCheck, ...], findings: NodeFindings, shut: Mapping[str, str], now_ns: int
) -> list[Pieces]:
    """Return the gates in order: consecutive open ones share a line, shut ones name their object.

    Other obstacles of a method follow.
    """
    lines: list[Pieces] = []
    run: list[str] = []
    is_first = True
    for check in gates:
        blockers = [blocker for blocker in findings.blockers if blocker.code == str(check.gate)]
        if check.is_open and not blockers:
            # Karpenter reports only the first pod that PodDisruptionBudgets protect.
            run.append(OPEN[check.gate])
            continue
        if run:
            lines.append(_met_line(run))
            run = []
        if check.is_open is None:
            continue
        kind, _, key = check.object_key.partition("/")
        text = (key if kind not in _OWN else "") or check.message
        lines += _shut_lines(shut[check.gate], blockers, findings, now_ns, text=text, is_first=is_first)
        is_first = False
    if run:
        lines.append(_met_line(run))
    covered = {str(check.gate) for check in gates} | _RULED | ({str(Code.BUDGET_ZERO)} if gates else set())
    for code in dict.fromkeys(b.code for b in findings.blockers if b.is_wanted and str(b.code) not in covered):
        blockers = [blocker for blocker in findings.blockers if blocker.code is code]
        what = shut.get(code) or CODES[code].meaning
        lines += _shut_lines(what, blockers, findings, now_ns, text=blockers[0].object_key, is_first=is_first)
        is_first = False
    return lines


def _met_line(met: Sequence[str]) -> Pieces:
    """Return open gates in a line; those that hold for every usual node as a number."""
    usual = sum(text in _USUAL for text in met)
    others = [text for text in met if text not in _USUAL]
    head = [counted(usual, "precondition") + " met"] if usual > 1 else [text for text in met if text in _USUAL]
    return ((" ✔ ", Tone.GOOD), (", ".join([*head, *others]), Tone.NORMAL))


def _shut_lines(
    what: str, blockers: Sequence[Blocker], findings: NodeFindings, now_ns: int, *, text: str, is_first: bool
) -> list[Pieces]:
    """Return a shut gate: the methods it blocks, then each object with its times and the outcome without it."""
    if not blockers:
        return [_line("✘", Tone.FAULT if is_first else Tone.WARNING, what, text, Tone.STRONG)]
    what = f"{what}: {count_text(len(blockers))}" if len(blockers) > 1 else what
    blocks = _kept_text(blockers, findings)
    if not any(blocker.is_wanted or blocker.code is Code.DELETING for blocker in blockers):
        # Karpenter reports this for every node, wanted or not.
        named = f"{text}, " if len(blockers) == 1 and text else ""
        return [
            _line("–", Tone.MUTED, what, f"{named}blocks no method now{_would_keep(blockers, findings)}", Tone.MUTED)
        ]
    tone = Tone.FAULT if is_first else Tone.WARNING
    if len(blockers) == 1 and blockers[0].object_kind != "Pod":
        blocker = blockers[0]
        named = "" if blocker.object_kind in _OWN else text
        words = " · ".join(filter(None, (named, times_text(blocker, now_ns), blocks)))
        return [_line("✘", tone, what, words, Tone.STRONG), *_quoted_lines(blocker, now_ns)]
    lines = [_line("✘", tone, what, blocks)]
    places = {id(blocker): place for place, blocker in enumerate(findings.blockers)}
    first = sorted(blockers, key=lambda blocker: not blocker.is_reported)
    for blocker in first[:_NAMED]:
        lines += _object_lines(blocker, places[id(blocker)], findings, now_ns)
    if len(first) > _NAMED:
        lines.append(((f"     and {count_text(len(first) - _NAMED)} more: Blockers (6)", Tone.MUTED),))
    return lines


def _kept_text(blockers: Sequence[Blocker], findings: NodeFindings) -> str:
    """Return the methods blocked by it that want the node, and whether it blocks a drain."""
    methods = [short_method(lane.method) for lane in findings.lanes if lane.is_wanted and _blocks(blockers, lane)]
    drain = ["the drain"] if any(blocker.blocks_drain for blocker in blockers) and findings.drain is not None else []
    return f"blocks {' and '.join(filter(None, (', '.join(methods), *drain)))}" if methods or drain else ""


def _would_keep(blockers: Sequence[Blocker], findings: NodeFindings) -> str:
    """Return the methods it would block, if not all: a grace period opens gates for drift."""
    blocked = [short_method(lane.method) for lane in findings.lanes if _blocks(blockers, lane)]
    return f", would block {', '.join(blocked)}" if 0 < len(blocked) < len(findings.lanes) else ""


def _blocks(blockers: Sequence[Blocker], lane: Lane) -> bool:
    return any(lane_name(method) == lane.method for held in blockers for method in held.blocks)


def _object_lines(blocker: Blocker, place: int, findings: NodeFindings, now_ns: int) -> list[Pieces]:
    value = (
        f"by {' + '.join(blocker.value.split())}"
        if blocker.scope is Scope.PDB
        else f'"{blocker.value}"'
        if blocker.value
        else ""
    )
    parts = [" ".join(filter(None, (blocker.object_key or blocker.claim_name, value))), times_text(blocker, now_ns)]
    reported = (" ◂ named in Karpenter's message", Tone.ACTIVE) if blocker.is_reported else ("", Tone.NORMAL)
    lines: list[Pieces] = [
        (
            (f"     {clean(', '.join(filter(None, parts)))}", Tone.STRONG),
            (_alone_text(place, findings), Tone.MUTED),
            reported,
        )
    ]
    return [*lines, *_quoted_lines(blocker, now_ns)]


def _quoted_lines(blocker: Blocker, now_ns: int) -> list[Pieces]:
    if blocker.quoted_ns is None:
        return []
    text = f'Karpenter said {age_text(blocker.quoted_ns, now_ns)} ago: "{clean(blocker.message)}"'
    return [((f"       {text}", Tone.MUTED),)]


def _alone_text(place: int, findings: NodeFindings) -> str:
    """Return the outcome without this blocker alone, if there are others."""
    if sum(1 for blocker in findings.blockers if blocker.is_wanted) < 2 or findings.outlook is None:
        return ""
    without = findings.outlook.without
    outcome = str(without[place]) if place < len(without) else ""
    return f" · if only this is lifted: {outcome}" if outcome in ("delete", "replace") else ""


def _budget_lines(detail: NodeDetail, findings: NodeFindings) -> list[Pieces]:
    if not detail.budgets:
        return []
    blockers = [blocker for blocker in findings.blockers if blocker.code is Code.BUDGET_ZERO]
    shut = any(b.code == Code.BUDGET_ZERO and b.is_wanted for b in findings.blockers)
    problem = next((state.problem for state in detail.budgets if state.problem), "")
    left = [
        f"{state.reason} {f'{state.left} of {state.allowed}' if state.allowed < UNLIMITED_FROM else 'no limit'}"
        for state in detail.budgets
    ]
    text = f"closed, a budget cannot be read: {problem}" if problem else f"left: {', '.join(left)}"
    if all(state.allowed >= UNLIMITED_FROM for state in detail.budgets):
        text = "no limit"
    if blockers and not shut:
        return [_line("–", Tone.MUTED, "disruption budgets", f"{text} · blocks no method now", Tone.MUTED)]
    if not shut:
        return [_line("✔", Tone.GOOD, "disruption budgets", text)]
    blocks = _kept_text([blocker for blocker in blockers if blocker.is_wanted], findings)
    return [_line("✘", Tone.WARNING, "disruption budgets", " · ".join(filter(None, (blocks, text))))]


def _rule_lines(detail: NodeDetail, findings: NodeFindings) -> list[Pieces]:
    """Return the NodePool's rules; those that are met share a line. Static NodePools have none."""
    if findings.lanes and not any(lane.method == Method.SINGLE_NODE for lane in findings.lanes):
        return []
    lines, met = [], []
    for what, codes, open_text in _RULES:
        held = next((blocker for blocker in findings.blockers if blocker.code in codes), None)
        if held is None and (open_text or detail.consolidation_policy):
            met.append(f"{what} {open_text or detail.consolidation_policy}")
        elif held is not None:
            lines.append(_line("–", Tone.MUTED, what, held.message, Tone.MUTED))
    return [*lines, *([_met_line(met)] if met else [])]


def _outlook_lines(findings: NodeFindings) -> list[Pieces]:
    outlook = findings.outlook
    if outlook is None:
        return [_line("?", Tone.ACTIVE, "simulated removal", "being computed")]
    if not findings.is_held or outlook.now.goes:
        return _simulated_lines("simulated now", outlook.now)
    if any(blocker.code is Code.IN_COMMAND and blocker.is_wanted for blocker in findings.blockers):
        return [_line("…", Tone.LEAVING, "its command is under way", "it is removed when that completes")]
    is_single = sum(1 for blocker in findings.blockers if blocker.is_wanted) == 1
    return _simulated_lines(
        f"simulated without the {'blocker' if is_single else 'blockers'}", findings.freed or outlook.freed
    )


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
    text = f"{', '.join(verdict.cheaper_types)} · Types (8) shows why the others are excluded"
    return [_line("·", Tone.MUTED, "cheaper types", text)]


def times_text(blocker: Blocker, now_ns: int) -> str:
    """Return since when and until when a blocker holds, as far as that is known."""
    parts = []
    if blocker.since_ns:
        parts.append(f"for {age_text(blocker.since_ns, now_ns)}")
    if blocker.until_ns is not None:
        left = (blocker.until_ns - now_ns) // NS_PER_SECOND
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
    text = clean(landing.error)
    return text if landing.no_place is None else f"{clean(cause_text(landing.no_place))} · Karpenter: {text}"


def with_landings(spec: TableSpec[PodEntry], landing: Callable[[PodEntry], Cell]) -> TableSpec[PodEntry]:
    """Return a table of pods with a column of landing places."""
    heading = Heading(
        "lands_on",
        "WOULD LAND ON",
        "Where the pod would land if the node were removed now, ignoring its blockers (simulated).",
        14,
        40,
    )
    column: Column[PodEntry] = Column(heading, lambda entry, _: landing(entry), lambda entry: landing(entry).text)
    return msgspec.structs.replace(spec, columns=(*spec.columns, column))
