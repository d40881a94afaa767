"""The verdict of a cluster in sentences: one truth for the Nodes screen and for `karptui verdict`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from karptui.aws.money import per_hour_text, saved_text
from karptui.kube.timestamps import format_timestamp
from karptui.kube.units import age_text, count_text, counted, first_of, span_text
from karptui.kube.volumes import unread_text
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean, short_name
from karptui.views.wrapping import cells, wrapped_from

if TYPE_CHECKING:
    from karptui.pending.groups import PendingGroup, PendingReport
    from karptui.verdict.finding import ClusterFinding

MARKS: Final[Mapping[str, tuple[str, Tone]]] = {
    "error": ("✘", Tone.FAULT),
    "warning": ("!", Tone.WARNING),
    "info": ("·", Tone.MUTED),
}
NAMED: Final = 2
QUOTED: Final = 90
_REFUSALS: Final[Mapping[str, str]] = {
    "InsufficientInstanceCapacity": "EC2 is out of capacity for it",
    "InsufficientFreeAddressesInSubnet": "its subnets have no free addresses",
    "MaxSpotInstanceCountExceeded": "the account's quota of spot instances is used up",
    "VcpuLimitExceeded": "the account's quota of vCPUs is used up",
    "UnauthorizedOperation": "Karpenter's role may not launch instances",
}
"""By EC2's word for it, why an instance is not launched."""
_DRIFT_HELD: Final[Mapping[str, str]] = {
    "SIM_UNSCHEDULABLE": "their pods have no other place",
    "POD_DND": "pods on them say do-not-disrupt, and no terminationGracePeriod ends that",
    "PDB_EXHAUSTED": "PodDisruptionBudgets allow no eviction, and no terminationGracePeriod ends that",
    "PDB_MULTIPLE": "pods of two PodDisruptionBudgets can never be evicted",
    "NODE_DND": "the nodes say do-not-disrupt",
    "NOMINATED": "pending pods are expected there",
    "NOT_INITIALIZED": "the nodes are not initialised",
    "NODEPOOL_UNRESOLVED": "the NodePool is not there",
    "NODEPOOL_NO_TYPES": "no instance types are known for the NodePool",
    "STATIC_NO_HEADROOM": "limits.nodes leaves no room for a replacement",
    "STATIC_SCALING": "the NodePool has more nodes than replicas",
    "": "nothing of their own holds them",
}
_METHODS: Final[Mapping[str, str]] = {
    "Repair": "unhealthy",
    "Emptiness": "empty",
    "Drift": "drifted",
    "StaticDrift": "drifted",
    "MultiNodeConsolidation": "consolidation",
    "SingleNodeConsolidation": "consolidation",
}
Reasons = Mapping[str, str]
"""By key of a group of pending pods, why it has no place."""


def pending_reasons(report: PendingReport | None) -> Reasons:
    """Return why pods wait, by the key of their group."""
    if report is None:
        return {}
    from karptui.pending.causes import FAULTY, Cause  # noqa: PLC0415 - with the engines, once they have answered
    from karptui.views.pending.sentences import now_words  # noqa: PLC0415 - as above

    def reason(group: PendingGroup) -> str:
        reasons = group.disagreements
        if group.cause in FAULTY or not reasons:
            return now_words(group)
        said, place = (reasons[-1] if group.cause is Cause.NODE else reasons[0]).text, group.diagnosis.destination
        return said.replace(place.node, short_name(place.node)) if place is not None and place.node else said

    return {group.key: reason(group) for group in report.groups}


def sentence(finding: ClusterFinding, now_ns: int, reasons: Reasons) -> str:
    """Return a finding in one sentence."""
    text = _SENTENCES[str(finding.code)](finding, now_ns, reasons)
    return clean(text)


def _since(finding: ClusterFinding, now_ns: int) -> str:
    return f" for {age_text(finding.since_ns, now_ns)}" if finding.since_ns else ""


def _stopped(one: ClusterFinding, now_ns: int, _: Reasons) -> str:
    verb, whose = ("has", "NodeClaim") if len(one.names) == 1 else ("have", "NodeClaims")
    waits = f", {counted(one.nodes, 'node')} would go{', each by itself' * (one.nodes > 1)}" if one.nodes else ""
    if one.detail:
        why = f"cannot launch: {_refusal(one.detail)}"
        return f"Karpenter disrupts nothing{_since(one, now_ns)}{waits}: {whose} {first_of(one.names, NAMED)} {why}"
    names = first_of(one.names, NAMED)
    return f"Karpenter disrupts nothing{_since(one, now_ns)}{waits}: {whose} {names} {verb} no provider ID"


def _all_leaving(one: ClusterFinding, now_ns: int, _: Reasons) -> str:
    is_one = one.nodes == 1
    who = "the only node is" if is_one else f"all {count_text(one.nodes)} nodes are"
    if one.manner == "all-cordoned":
        return f"{who} cordoned: {'it takes' if is_one else 'they take'} no new pods, and no other starts"
    said = f"{who} on {'its' if is_one else 'their'} way out{_since(one, now_ns)}, and no other starts"
    where, left = "there", "no pod but DaemonSets' is left"
    if one.manner == "some-cordoned":
        said = f"{who} cordoned or on their way out, and no other starts"
        where, left = "on those that go", "none takes new pods"
    if not one.pods:
        return said if one.detail else f"{said}; {left}"
    pods = f"the {counted(one.pods, 'pod')} {where}" if one.pods > 1 else f"the pod {where}"
    need = "need" if one.pods > 1 else "needs"
    if one.names:
        return f"{said}: {pods} {need} nodes that Karpenter has yet to launch"
    if one.detail:
        return f"{said}: {pods} {need} nodes"
    return f"{said}: no NodePool launches any for {pods}"


def _no_nodepools(one: ClusterFinding, _: int, __: Reasons) -> str:
    who = f"NodePool {one.names[0]} is" if len(one.names) == 1 else f"all {len(one.names)} NodePools are"
    if "," in one.detail:
        who = f"of {len(one.names)} NodePools"
    if one.manner == "static":
        return f"Karpenter launches nothing for pods, and replaces static nodes only: {who} {one.detail}"
    return f"Karpenter launches nothing, and replaces nothing: {who} {one.detail}"


def _pool_gone(one: ClusterFinding, _: int, __: Reasons) -> str:
    what, verb, whose = ("NodePool", "is", "it") if len(one.names) == 1 else ("NodePools", "are", "them")
    stays = "is neither consolidated nor replaced" if one.nodes == 1 else "are neither consolidated nor replaced"
    return f"{what} {first_of(one.names, NAMED)} {verb} not there: {_on(one)} of {whose} {stays}"


def _pending(one: ClusterFinding, now_ns: int, reasons: Reasons) -> str:
    pods = counted(one.pods, "pod")
    waits = "waits" if one.pods == 1 else "wait"
    since = age_text(one.since_ns, now_ns) if one.since_ns else "a while"
    if not one.detail:
        return f"{pods} {waits} for a node, the oldest for {since}"
    name = one.names[0].removesuffix(f" ({one.pods})")
    who = f"{pods} of {name}" if one.pods > 1 else name
    reason = reasons.get(one.detail, "")
    return f"{who} {waits} {since}{': ' + reason if reason else ''}"


def _reservations_full(one: ClusterFinding, now_ns: int, _: Reasons) -> str:
    waits = "waits" if one.pods == 1 else "wait"
    pods = counted(one.pods, "pod")
    return f"{pods} {waits} silently{_since(one, now_ns)}: the reservations of NodePool {one.names[0]} are full"


def _stuck(one: ClusterFinding, now_ns: int, _: Reasons) -> str:
    what = f"NodeClaim {one.names[0]}" if len(one.names) == 1 else f"NodeClaims {first_of(one.names, NAMED)}"
    if one.detail:
        return f"{what} cannot launch{_since(one, now_ns)}: {_refusal(one.detail)}"
    verb = "has" if len(one.names) == 1 else "have"
    if one.manner == "node-gone":
        return f"{what} {verb} an instance, and no node any more"
    return f"{what} {verb} an instance and no node{_since(one, now_ns)}: it does not join the cluster"


def _refusal(said: str) -> str:
    """Return a refusal in plain words where EC2's word for it is known, else as it was said, as far as it is short."""
    known = next((words for word, words in _REFUSALS.items() if word in said), "")
    if known or len(said) <= QUOTED:
        return known or said
    return f"{said[:QUOTED].rpartition(' ')[0] or said[:QUOTED]} (more on its own screen)"


def _pool_not_ready(one: ClusterFinding, now_ns: int, _: Reasons) -> str:
    what, verb = ("NodePool", "is") if len(one.names) == 1 else ("NodePools", "are")
    said = f" ({_refusal(one.detail)})" if one.detail else ""
    return f"{what} {first_of(one.names, NAMED)} {verb} not ready{_since(one, now_ns)}{said}: no new nodes from there"


def _pool_at_limit(one: ClusterFinding, now_ns: int, _: Reasons) -> str:
    if one.manner == "fewer-than-replicas":
        return f"static NodePool {one.names[0]} wants {one.detail}"
    others = "; types that need none still come" if one.manner == "spares-types" else ""
    return f"NodePool {one.names[0]} is at its limit{_since(one, now_ns)}: {one.detail}{others}"


def _unhealthy(one: ClusterFinding, now_ns: int, _: Reasons) -> str:
    verb = "has" if one.nodes == 1 else "have"
    names = first_of([short_name(name) for name in one.names], NAMED)
    return f"{names} {verb} not been ready{_since(one, now_ns)}"


def _repair_held(one: ClusterFinding, now_ns: int, _: Reasons) -> str:
    said = f": {one.detail}" if one.detail else ""
    return f"{counted(one.nodes, 'unhealthy node')} may not be repaired{_since(one, now_ns)}{said}"


def _on(one: ClusterFinding) -> str:
    return counted(one.nodes, "node")


def _left(one: ClusterFinding, now_ns: int) -> str:
    return span_text(max((one.until_ns or 0) - now_ns, 0))


def _lands(one: ClusterFinding) -> str:
    """Return that nodes that something holds still receive pods: such a node does not drain."""
    return f", and {count_text(one.recent_pods)} an hour keep landing there" if one.recent_pods else ""


def _pod_dnd(one: ClusterFinding, now_ns: int, _: Reasons) -> str:
    verb = "keeps" if one.pods == 1 else "keep"
    ends = "no time limit" if one.until_ns is None else f"over in {_left(one, now_ns)}"
    of = f" of {first_of(one.names, NAMED)}" if one.names else ""
    since = _since(one, now_ns)
    return f"{counted(one.pods, 'pod')}{of} {verb} {_on(one)} by do-not-disrupt{since}: {ends}{_lands(one)}"


def _node_dnd(one: ClusterFinding, now_ns: int, _: Reasons) -> str:
    names = first_of([short_name(name) for name in one.names], NAMED)
    says = "says" if one.nodes == 1 else "say"
    return f"{_on(one)} {says} do-not-disrupt{_since(one, now_ns)}, which has no time limit: {names}{_lands(one)}"


def _pdb(one: ClusterFinding, now_ns: int, _: Reasons) -> str:
    verb = "allows" if len(one.names) == 1 else "allow"
    how = f"never {verb} an eviction" if one.manner == "never" else f"{verb} no eviction now"
    return f"{first_of(one.names, NAMED)} {how}: {_on(one)} kept{_since(one, now_ns)}{_lands(one)}"


def _budget(one: ClusterFinding, now_ns: int, _: Reasons) -> str:
    whose = "disruption budget" if len(one.names) == 1 else "disruption budgets"
    return f"the {whose} of {first_of(one.names, NAMED)} {_shut(one, now_ns)}: {_on(one)} kept{_since(one, now_ns)}"


def _shut(one: ClusterFinding, now_ns: int) -> str:
    """Return how a disruption budget is shut: for ever, for some time, or by nodes that use it up."""
    if one.until_ns is not None:
        return f"leaves nothing for {_left(one, now_ns)}"
    return "is used up by nodes that go or are not ready" if one.manner == "used-up" else "never opens"


_LEAVING: Final[Mapping[str, str]] = {
    "waits": "{its} drain has not begun",
    "ending": "{pods} there {take} long to end",
    "evicted": "{pods} there {are} still being evicted",
    "undrained": "no pod is in the way, and Karpenter does not call {it} drained",
    "draining": "{its} drain is not over",
    "volumes": "drained, and volumes are still attached",
    "instance": "drained, and the instance is still there",
    "no-node": "no Node is left, and a finalizer keeps {its} NodeClaim",
    "node-alone": "only the Node is deleted, and a finalizer keeps it",
    "unknown": "how far {they} come is not known",
}


def _leaving(one: ClusterFinding, now_ns: int, _: Reasons) -> str:
    is_one, is_one_pod = one.nodes == 1, one.pods == 1
    what = _LEAVING[one.detail].format(
        its="its" if is_one else "their",
        it="it" if is_one else "them",
        they="it has" if is_one else "they have",
        pods=counted(one.pods, "pod"),
        take="takes" if is_one_pod else "take",
        are="is" if is_one_pod else "are",
    )
    ends = ""
    if one.manner == "never":
        ends = "; no terminationGracePeriod ends that"
    elif one.manner == "overdue":
        ends = "; terminationGracePeriod is over"
    elif one.until_ns is not None:
        when = "all by force within" if one.manner == "several-ends" else "by force in"
        ends = f"; {when} {_left(one, now_ns)}"
    names = first_of([short_name(name) for name in one.names], NAMED)
    been = "has been on its way out" if is_one else "have been on their way out"
    return f"{names} {been}{_since(one, now_ns)}: {what}{ends}"


def _drift(one: ClusterFinding, now_ns: int, _: Reasons) -> str:
    is_budget = one.detail == "BUDGET_ZERO"
    reason = f"the disruption budget {_shut(one, now_ns)}" if is_budget else _DRIFT_HELD.get(one.detail, one.detail)
    return f"drift of {_on(one)} of {one.names[0]} does not advance{_since(one, now_ns)}: {reason}"


def _no_permission(one: ClusterFinding, _: int, __: Reasons) -> str:
    return f"{first_of(one.names, 4)} may not be listed: what follows from them is missing here"


def _assumed_class(one: ClusterFinding, _: int, __: Reasons) -> str:
    is_one = len(one.names) == 1
    what = f"EC2NodeClass{'' if is_one else 'es'} {first_of(one.names, 3)} {'was' if is_one else 'were'} not read"
    return f"{what}: {one.detail} in the zones of the nodes {'are' if ', ' in one.detail else 'is'} assumed"


def _assumed_volumes(one: ClusterFinding, _: int, __: Reasons) -> str:
    return unread_text(one.names)


def _no_prices(one: ClusterFinding, _: int, __: Reasons) -> str:
    verb = "has" if one.nodes == 1 else "have"
    return f"{_on(one)} {verb} no known price: sums are without {'it' if one.nodes == 1 else 'them'}"


def _next(one: ClusterFinding, _: int, __: Reasons) -> str:
    decision, method = one.detail.split(" ", 1)
    names = first_of([short_name(name) for name in one.names], NAMED)
    after = "next, once that is over" if one.manner == "after-others" else "next"
    saves = f", {saved_text(one.price_per_hour, digits=2)}" if one.price_per_hour else ""
    return f"{after}: {decision} {names} ({_METHODS.get(method, method)}{saves})"


def _fine(one: ClusterFinding, _: int, __: Reasons) -> str:
    is_empty = one.manner == "no-nodes"
    if not is_empty and one.manner != "not-karpenters":
        return "nothing holds or endangers this cluster"
    if is_empty and not one.names:
        return "there is no node, no NodeClaim and no NodePool"
    foreign = "the only node is not Karpenter's" if one.nodes == 1 else f"none of {_on(one)} is Karpenter's"
    what = "no node and no NodeClaim" if is_empty else foreign
    pools = counted(len(one.names), "NodePool")
    return f"{what}: {pools}, and no pod that waits for long" if one.names else f"{what}, and there is no NodePool"


def _timed_out(one: ClusterFinding, now_ns: int, _: Reasons) -> str:
    times, since = counted(int(one.detail), "time"), age_text(one.since_ns or now_ns, now_ns)
    return (
        f"consolidation ran out of its 3 minutes {times} in the {since} since Karpenter started:"
        " nodes late in its order are not looked at"
    )


_SENTENCES: Final = {
    "STOPPED": _stopped,
    "ALL_LEAVING": _all_leaving,
    "NO_NODEPOOLS": _no_nodepools,
    "POOL_GONE": _pool_gone,
    "PENDING": _pending,
    "RESERVATIONS_FULL": _reservations_full,
    "CLAIM_STUCK": _stuck,
    "POOL_NOT_READY": _pool_not_ready,
    "POOL_AT_LIMIT": _pool_at_limit,
    "UNHEALTHY": _unhealthy,
    "REPAIR_HELD": _repair_held,
    "POD_DND": _pod_dnd,
    "NODE_DND": _node_dnd,
    "PDB": _pdb,
    "BUDGET": _budget,
    "LEAVING": _leaving,
    "DRIFT": _drift,
    "TIMED_OUT": _timed_out,
    "NO_PERMISSION": _no_permission,
    "NO_PRICES": _no_prices,
    "ASSUMED_CLASS": _assumed_class,
    "ASSUMED_VOLUMES": _assumed_volumes,
    "NEXT": _next,
    "FINE": _fine,
}


def money_text(finding: ClusterFinding) -> str:
    """Return ``$2.03/h``, with a plus where more may come to it; nothing where there is none, or it is said already."""
    if not finding.price_per_hour or str(finding.code) == "NEXT":
        return ""
    bound = "up to " if finding.is_upper_bound else ""
    return f"{bound}{per_hour_text(finding.price_per_hour, 'USD')}{'+' if finding.is_partial else ''}"


class Room(NamedTuple):
    """How much room there is for findings at once."""

    findings: int
    lines: int


class VerdictPage(NamedTuple):
    """Findings that are shown at once."""

    lines: tuple[Pieces, ...]
    more: int
    """Findings that are not among them."""


def verdict_pages(
    findings: Sequence[tuple[ClusterFinding, str]], width: int, few: Room, many: Room
) -> tuple[VerdictPage, ...]:
    """Return the worst findings, then all of them page by page; one page where the worst are all there are.

    None is cut: what does not fit one line goes on in the next.

    Args:
        findings: Findings with their sentences, worst first.
        width: Cells of a line.
        few: Room there is for the worst.
        many: Room there is for a page.
    """
    keys = max((len(one.key) for one, _ in findings), default=0)
    money = max((len(money_text(one)) for one, _ in findings), default=0)
    drawn = [_lines(one, text, width, money, keys) for one, text in findings]
    worst = _page(drawn, few)
    if len(worst) == len(drawn):
        return (_as_page(worst, 0),)
    pages, left = [_as_page(worst, len(drawn) - len(worst))], drawn
    while left:
        page = _page(left, many)
        pages.append(_as_page(page, len(drawn) - len(page)))
        left = left[len(page) :]
    return tuple(pages)


def _page(drawn: Sequence[tuple[Pieces, ...]], room: Room) -> Sequence[tuple[Pieces, ...]]:
    """Return as many findings as there is room for, but always the first."""
    used = list(accumulate(len(lines) for lines in drawn[: room.findings]))
    return drawn[: max(sum(1 for lines in used if lines <= room.lines), 1)]


def _as_page(drawn: Sequence[tuple[Pieces, ...]], more: int) -> VerdictPage:
    return VerdictPage(tuple(line for lines in drawn for line in lines), more)


def _lines(one: ClusterFinding, text: str, width: int, money: int, keys: int) -> tuple[Pieces, ...]:
    """Return the lines of one finding: its money and its key stand at the end of the first."""
    mark, tone = MARKS[str(one.severity)]
    is_quiet = str(one.severity) == "info"
    tail = f"  {money_text(one):>{money}}" if money else ""
    tail += f"  {one.key:<{keys}}"
    own = Tone.MUTED if is_quiet else Tone.NORMAL
    ((first, _),), *others = wrapped_from(((f"   {text}", own),), width, 3, cells(tail))
    blanks = " " * (width - cells(first) - cells(tail))
    head = ((f" {mark} ", tone), (f"{first[3:]}{blanks}", own), (tail, Tone.MUTED if is_quiet else tone))
    return (head, *others)


def verdict_values(findings: Iterable[ClusterFinding], now_ns: int, reasons: Reasons) -> list[dict[str, Any]]:
    """Return findings as `karptui verdict -o json` writes them."""
    return [
        {
            "severity": str(one.severity),
            "code": str(one.code),
            "text": sentence(one, now_ns, reasons),
            "pricePerHour": one.price_per_hour,
            "isUpperBound": one.is_upper_bound,
            "since": format_timestamp(one.since_ns) if one.since_ns else None,
            "until": format_timestamp(one.until_ns) if one.until_ns else None,
            "objects": list(one.objects),
            "nodes": one.nodes,
            "pods": one.pods,
            "proof": {"screen": one.screen, "key": one.key},
        }
        for one in findings
    ]
