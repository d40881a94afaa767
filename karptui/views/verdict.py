"""The verdict of a cluster in sentences: one truth for the Nodes screen and for `karptui verdict`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from karptui.aws.money import per_hour_text
from karptui.kube.timestamps import NS_PER_SECOND, format_timestamp
from karptui.kube.units import age_text, count_text, counted, duration_text
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean, short_name

if TYPE_CHECKING:
    from karptui.disruption.verdict import Finding
    from karptui.pending.report import PendingReport

MARKS: Final[Mapping[str, tuple[str, Tone]]] = {
    "error": ("✘", Tone.FAULT),
    "warning": ("!", Tone.WARNING),
    "info": ("·", Tone.MUTED),
}
NAMED: Final = 2
QUOTED: Final = 120
_DRIFT_HELD: Final[Mapping[str, str]] = {
    "BUDGET_ZERO": "its disruption budget leaves nothing for drift",
    "SIM_UNSCHEDULABLE": "their pods have no other place",
    "POD_DND": "pods on them say do-not-disrupt, and no terminationGracePeriod bounds the wait",
    "PDB_EXHAUSTED": "PodDisruptionBudgets allow no eviction, and no terminationGracePeriod bounds the wait",
    "PDB_MULTIPLE": "pods of two PodDisruptionBudgets can never be evicted",
    "NODE_DND": "the nodes say do-not-disrupt",
    "NODEPOOL_UNRESOLVED": "the NodePool has no instance types",
    "STATIC_NO_HEADROOM": "limits.nodes leaves no room for a replacement",
    "STATIC_SCALING": "the NodePool has more nodes than replicas",
    "": "nothing of their own holds them",
}
Reasons = Mapping[str, str]
"""By key of a group of pending pods, why it has no place."""


def pending_reasons(report: PendingReport | None) -> Reasons:
    """Return why pods wait, by the key of their group."""
    if report is None:
        return {}
    from karptui.views.pending.sentences import now_text  # noqa: PLC0415 - with the engines, once they have answered

    return {group.key: now_text(group).removeprefix("✘ ") for group in report.groups}


def sentence(finding: Finding, now_ns: int, reasons: Reasons) -> str:
    """Return a finding in one sentence."""
    text = _SENTENCES[str(finding.code)](finding, now_ns, reasons)
    return clean(text)


def _since(finding: Finding, now_ns: int) -> str:
    return f" for {age_text(finding.since_ns, now_ns)}" if finding.since_ns else ""


def _named(names: Sequence[str], most: int = NAMED) -> str:
    more = f" and {count_text(len(names) - most)} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _stopped(one: Finding, now_ns: int, _: Reasons) -> str:
    verb, whose = ("has", "NodeClaim") if len(one.names) == 1 else ("have", "NodeClaims")
    waits = f"; {counted(one.nodes, 'node')} would go" if one.nodes else ""
    return (
        f"Karpenter disrupts nothing{_since(one, now_ns)}: {whose} {_named(one.names)} {verb} no provider ID yet{waits}"
    )


def _no_nodepools(_: Finding, __: int, ___: Reasons) -> str:
    return "no NodePool can take pods: none is ready, dynamic and not being deleted"


def _pending(one: Finding, now_ns: int, reasons: Reasons) -> str:
    pods = counted(one.pods, "pod")
    waits = "waits" if one.pods == 1 else "wait"
    since = age_text(one.since_ns, now_ns) if one.since_ns else "a while"
    if not one.detail:
        return f"{pods} {waits} for a node, the oldest for {since}"
    name = one.names[0].removesuffix(f" ({one.pods})")
    who = f"{pods} of {name}" if one.pods > 1 else name
    reason = reasons.get(one.detail, "")
    return f"{who} {waits} {since}{': ' + reason if reason else ''}"


def _stuck(one: Finding, now_ns: int, _: Reasons) -> str:
    what = f"NodeClaim {one.names[0]}" if len(one.names) == 1 else f"NodeClaims {_named(one.names)}"
    if one.detail:
        said = one.detail if len(one.detail) <= QUOTED else one.detail[: QUOTED - 1] + "…"
        return f"{what} cannot launch{_since(one, now_ns)}: {said}"
    verb = "has" if len(one.names) == 1 else "have"
    return f"{what} {verb} an instance but no node{_since(one, now_ns)}: it does not join the cluster"


def _pool_not_ready(one: Finding, _: int, __: Reasons) -> str:
    what = "NodePool" if len(one.names) == 1 else "NodePools"
    return f"{what} {_named(one.names)} {'is' if len(one.names) == 1 else 'are'} not ready: no new nodes from there"


def _pool_at_limit(one: Finding, _: int, __: Reasons) -> str:
    return f"NodePool {one.names[0]} is at its limit: {one.detail}"


def _unhealthy(one: Finding, now_ns: int, _: Reasons) -> str:
    verb = "is" if one.nodes == 1 else "are"
    oldest = "" if one.nodes == 1 else ", the oldest"
    names = _named([short_name(name) for name in one.names])
    return f"{names} {verb} not ready{oldest}{_since(one, now_ns)}"


def _repair_held(one: Finding, now_ns: int, _: Reasons) -> str:
    return f"{counted(one.nodes, 'unhealthy node')} may not be repaired{_since(one, now_ns)}: {_named(one.names)}"


def _on(one: Finding) -> str:
    return "1 node" if one.nodes == 1 else f"{count_text(one.nodes)} nodes"


def _pod_dnd(one: Finding, now_ns: int, _: Reasons) -> str:
    say = "says" if one.pods == 1 else "say"
    ends = "no time limit"
    if one.until_ns is not None:
        left = max(one.until_ns - now_ns, 0) // NS_PER_SECOND
        ends = f"over in {duration_text(left)}"
    lands = f", and {count_text(one.recent_pods)} an hour keep landing there" if one.recent_pods else ""
    of = f" of {_named(one.names)}" if one.names else ""
    return f"{counted(one.pods, 'pod')}{of} {say} do-not-disrupt on {_on(one)}, {ends}{lands}"


def _node_dnd(one: Finding, now_ns: int, _: Reasons) -> str:
    names = _named([short_name(name) for name in one.names])
    says = "says" if one.nodes == 1 else "say"
    return f"{_on(one)} {says} do-not-disrupt of their own{_since(one, now_ns)}: {names}"


def _pdb(one: Finding, now_ns: int, _: Reasons) -> str:
    whose = "its budget allows" if len(one.names) == 1 else "their budgets allow"
    return f"{_named(one.names)}: {whose} no eviction{_since(one, now_ns)}; holds {_on(one)}"


def _budget(one: Finding, now_ns: int, _: Reasons) -> str:
    ends = ", and it never opens by itself"
    if one.until_ns is not None:
        ends = f", more in {duration_text(max(one.until_ns - now_ns, 0) // NS_PER_SECOND)}"
    whose = "budget leaves" if len(one.names) == 1 else "budgets leave"
    return f"disruption {whose} nothing for {_on(one)} of {_named(one.names)}{ends}"


def _drift(one: Finding, now_ns: int, _: Reasons) -> str:
    reason = _DRIFT_HELD.get(one.detail, one.detail)
    since = age_text(one.since_ns, now_ns) if one.since_ns else ""
    return f"drift of {one.names[0]} does not advance: {_on(one)}, the oldest for {since}; {reason}"


def _no_permission(one: Finding, _: int, __: Reasons) -> str:
    return f"{_named(one.names, 4)} may not be listed: what follows from them is missing here"


def _no_prices(one: Finding, _: int, __: Reasons) -> str:
    verb = "has" if one.nodes == 1 else "have"
    return f"{_on(one)} {verb} no known price: sums are without {'it' if one.nodes == 1 else 'them'}"


def _next(one: Finding, _: int, __: Reasons) -> str:
    decision, method = one.detail.split(" ", 1)
    names = _named([short_name(name) for name in one.names])
    return f"next: {decision} {names} ({method})"


def _fine(_: Finding, __: int, ___: Reasons) -> str:
    return "nothing holds or endangers this cluster"


_SENTENCES: Final = {
    "STOPPED": _stopped,
    "NO_NODEPOOLS": _no_nodepools,
    "PENDING": _pending,
    "CLAIM_STUCK": _stuck,
    "POOL_NOT_READY": _pool_not_ready,
    "POOL_AT_LIMIT": _pool_at_limit,
    "UNHEALTHY": _unhealthy,
    "REPAIR_HELD": _repair_held,
    "POD_DND": _pod_dnd,
    "NODE_DND": _node_dnd,
    "PDB": _pdb,
    "BUDGET": _budget,
    "DRIFT": _drift,
    "NO_PERMISSION": _no_permission,
    "NO_PRICES": _no_prices,
    "NEXT": _next,
    "FINE": _fine,
}


def money_text(finding: Finding) -> str:
    """Return ``$2.03/h``; of what comes next what it saves, nothing where no money is in it."""
    if not finding.price_per_hour:
        return ""
    text = per_hour_text(finding.price_per_hour, "USD")
    return f"−{text}" if str(finding.code) == "NEXT" else text


def verdict_lines(
    findings: Iterable[Finding], now_ns: int, reasons: Reasons, width: int, most: int
) -> tuple[Pieces, ...]:
    """Return the lines above the table: what there is room for, one finding a line, with its money and its key.

    Args:
        findings: Worst first.
        now_ns: The present instant: nanoseconds since the epoch.
        reasons: Why pods wait.
        width: Cells of a line.
        most: Lines there is room for.
    """
    known = list(findings)
    shown = known if len(known) <= most else known[:most]
    lines: list[Pieces] = []
    keys = max((len(one.key) for one in shown), default=0)
    for place, one in enumerate(shown):
        mark, tone = MARKS[str(one.severity)]
        left = len(known) - len(shown)
        more = f"  v +{left}" if left and place == len(shown) - 1 else ""
        money = money_text(one)
        tail = f"{f'  {money}' if money else ''}  {one.key:<{keys}}{more}"
        room = width - len(tail) - 3
        text = sentence(one, now_ns, reasons)
        text = text if len(text) <= room else text[: max(room - 1, 1)].rstrip() + "…"
        is_quiet = str(one.severity) == "info"
        lines.append(
            (
                (f" {mark} ", tone),
                (f"{text:<{max(room, 1)}}", Tone.MUTED if is_quiet else Tone.NORMAL),
                (tail, Tone.MUTED if is_quiet else tone),
            )
        )
    return tuple(lines)


def verdict_values(findings: Iterable[Finding], now_ns: int, reasons: Reasons) -> list[dict[str, Any]]:
    """Return findings as `karptui verdict -o json` writes them."""
    return [
        {
            "severity": str(one.severity),
            "code": str(one.code),
            "text": sentence(one, now_ns, reasons),
            "pricePerHour": one.price_per_hour,
            "since": format_timestamp(one.since_ns) if one.since_ns else None,
            "until": format_timestamp(one.until_ns) if one.until_ns else None,
            "objects": list(one.objects),
            "nodes": one.nodes,
            "pods": one.pods,
            "proof": {"screen": one.screen, "key": one.key},
        }
        for one in findings
    ]
