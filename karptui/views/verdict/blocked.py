"""Sentences about removals, repair and drift that something blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import age_text, clock_text, count_text, counted, first_of, span_text, verb
from karptui.views.verdict.parts import (
    NAMED,
    Reasons,
    Say,
    age_in_brackets,
    dead_webhook_text,
    draining_text,
    lasting,
    names_text,
    nodes_text,
    of_kind,
    of_pools,
    quoted,
    time_left,
    uncounted,
)

if TYPE_CHECKING:
    from karptui.verdict.finding import ClusterFinding

_CONSOLIDATES: Final = frozenset({"MultiNodeConsolidation", "SingleNodeConsolidation"})
_UNFORCED: Final = ", and no terminationGracePeriod forces it"
_DRIFT_HELD: Final[Mapping[str, str]] = {
    "SIM_UNSCHEDULABLE": "the pods fit nowhere else",
    "PDB_EXHAUSTED": f"PodDisruptionBudgets allow no eviction{_UNFORCED}",
    "PDB_MULTIPLE": f"two PodDisruptionBudgets match the same pods{_UNFORCED}",
    "NODE_DND": "the nodes have do-not-disrupt",
    "NOT_INITIALIZED": "the nodes are not initialized",
    "NODEPOOL_UNRESOLVED": "the NodePool does not exist",
    "NODEPOOL_NO_TYPES": "the NodePool has no known instance types",
    "STATIC_NO_HEADROOM": "limits.nodes leaves no room for a replacement",
    "STATIC_SCALING": "the NodePool has more nodes than replicas",
    "": "no blocker is known",
}


def _repair_held(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    why = f": {finding.detail}" if finding.detail else ""
    return f"repair of {counted(finding.nodes, 'unhealthy node')} is blocked{lasting(finding, now_ns)}{why}"


def _new_pods(finding: ClusterFinding) -> str:
    """Return that pods are still scheduled to blocked nodes, which therefore never drain."""
    if not finding.recent_pods:
        return ""
    pods = counted(finding.recent_pods, "new pod/h", "new pods/h")
    return f", {pods} {verb(finding.recent_pods, 'lands', 'land')} on {verb(finding.nodes, 'it', 'them')}"


def _pace(finding: ClusterFinding) -> str:
    """Return the number of nodes that disruption budgets allow at a time, if not all."""
    if finding.at_once:
        return f"; disruption budget: {count_text(finding.at_once)} at a time"
    if finding.closed_until_ns is not None:
        return f"; disruption budget also 0 until {clock_text(finding.closed_until_ns)[:5]} UTC"
    return "; disruption budget also 0 now" if finding.at_once == 0 else ""


def _drifted(finding: ClusterFinding, now_ns: int) -> str:
    """Return that nodes are drifted, and since when; nothing if none is."""
    if not finding.drifted:
        return ""
    some = f"{count_text(finding.drifted)} of them " if finding.drifted < finding.nodes else ""
    age = f" for {age_text(finding.drifted_ns, now_ns)}" if finding.drifted_ns else ""
    return f", {some}drifted{age}"


def _consolidation_of(finding: ClusterFinding, nodes: str, article: str = "") -> str:
    """Return nodes, or their consolidation if nothing else is blocked."""
    return f"{article}consolidation of {nodes}" if finding.words in _CONSOLIDATES else nodes


def _blocks(finding: ClusterFinding, now_ns: int) -> str:
    so_far = f"{age_text(finding.since_ns, now_ns)} so far, " if finding.since_ns else ""
    if finding.until_ns is None:
        return f"({so_far}no time limit)"
    return f"({so_far}ends in {time_left(finding, now_ns)})"


def _pod_dnd(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    pods = counted(finding.pods, "pod")
    if len(finding.names) == 1:
        pods = f"{count_text(finding.pods)} {finding.names[0]} {verb(finding.pods, 'pod', 'pods')}"
    elif finding.names:
        pods = f"{pods} ({first_of(finding.names, NAMED)})"
    drains = finding.draining == finding.nodes
    drain = f"the drain of {draining_text(finding, now_ns)}"
    blocks = f"blocks {drain if drains else _consolidation_of(finding, nodes_text(finding), 'the ')}"
    drifted = "" if drains else _drifted(finding, now_ns)
    blocks = f"{blocks}{drifted} {_blocks(finding, now_ns)}"
    return f"do-not-disrupt on {pods} {blocks}{_new_pods(finding)}{_pace(finding)}"


def _node_dnd(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    nodes, them = f"{nodes_text(finding)} ({names_text(finding.names)})", verb(finding.nodes, "it", "them")
    if finding.manner == "by-template":
        templates = verb(len(finding.pools), "template", "templates")
        nodes += f", set by the {templates} of {of_kind('NodePool', finding.pools)},"
    blocks = f"blocks {them}{_drifted(finding, now_ns)} {_blocks(finding, now_ns)}"
    return f"do-not-disrupt on {nodes} {blocks}{_new_pods(finding)}{_pace(finding)}"


def _pdb(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    state = "unable to drain" if finding.draining == finding.nodes else "blocked"
    state = "draining in turn" if finding.manner == "advancing" and state == "unable to drain" else state
    drifted = _drifted(finding, now_ns) if finding.draining < finding.nodes else ""
    drains = finding.draining == finding.nodes
    nodes = draining_text(finding, now_ns) if drains else _consolidation_of(finding, nodes_text(finding))
    some = f" ({count_text(finding.draining)} of them draining)" if 0 < finding.draining < finding.nodes else ""
    blocked = f"{nodes} {state}{some}{lasting(finding, now_ns)}{drifted}{_new_pods(finding)}{_pace(finding)}"
    pairs = [name for name in finding.names if " + " in name]
    single = [name for name in finding.names if " + " not in name]
    if pairs and not single:
        two = f"Two PodDisruptionBudgets match the same pods ({first_of(pairs, NAMED)}), so these are never evicted"
        return f"{two}: {blocked}"
    both = f"; {first_of(pairs, 1)} match the same pods, which are never evicted" if pairs else ""
    if len(single) > 1:
        how = f"{len(single)} PodDisruptionBudgets ({first_of(single, NAMED)}) allow no eviction"
        how += "" if finding.manner == "never" else " now"
    else:
        how = f"PodDisruptionBudget {single[0]} "
        if finding.of_namespace:
            how += f"selects all {counted(finding.of_namespace, 'pod')} of its namespace and "
        healthy, demanded, pods = finding.pdb_counts
        never = "never allows an eviction" if finding.manner == "never" else "allows no eviction now"
        too_many = f"demands {counted(demanded, 'healthy pod')} and has {count_text(pods)}, so it allows no eviction"
        some = ""
        if finding.manner != "never" and healthy < pods:
            must = ", and all must be" if demanded == pods else ""
            some = f" ({count_text(healthy)} of its {counted(pods, 'pod')} {verb(healthy, 'is', 'are')} healthy{must})"
        elif finding.manner != "never" and demanded == pods > 0:
            some = f" (all of its {counted(pods, 'pod')} must be healthy)"
        how += too_many if demanded > pods else never + some
    if finding.detail:
        how += f" ({verb(len(single), 'its', 'the')} pods cannot be counted: {quoted(finding.detail)})"
    return f"{how}{both}: {blocked}"


def _budget(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    budgets = verb(len(finding.names), "the disruption budget", "the disruption budgets")
    shut = f"{budgets} of {first_of(finding.names, NAMED)} {_shut(finding, now_ns)}"
    nodes = nodes_text(finding, "empty " if finding.detail == "Emptiness" else "")
    return f"{shut}: {nodes} blocked{lasting(finding, now_ns)}"


def _shut(finding: ClusterFinding, now_ns: int) -> str:
    """Return the reason why a disruption budget allows nothing: by its window, by nodes that use it up, or always."""
    are = verb(len(finding.names), "is", "are")
    of = f" for {' and '.join(finding.reasons)}" if finding.reasons else ""
    if finding.manner == "used-up":
        which = f" ({names_text(finding.used_by)})" if finding.used_by else ""
        left = f" for up to {time_left(finding, now_ns)}" if finding.until_ns is not None else ""
        return f"{are} used up{left} by terminating or not-ready nodes{which}"
    if finding.until_ns is not None:
        return f"{are} 0{of} for {time_left(finding, now_ns)} (until {clock_text(finding.until_ns)[:5]} UTC)"
    return f"{are} always 0{of}"


_LOG: Final = "Karpenter's log may say why"
_LEAVING: Final[Mapping[str, str]] = {
    "waits": "{its} drain has not begun",
    "ending": "{pods} {take} long to terminate",
    "evicted": "{pods} {are} still being evicted",
    "unevicted": f"{{pods}} {{are}} not evicted, although nothing known protects {{them}}: {_LOG}",
    "webhook": "{pods} {are} not evicted: evictions fail without {webhook}",
    "undrained": "no pod blocks the drain, but Karpenter has not marked {it} drained",
    "draining": "{its} drain is not finished",
    "volumes": "drained, but volumes are still attached",
    "instance": "drained, but {its} {instance} still exist{s}",
    "finalizer": "{its} {instance} {are_gone}, but the finalizer {finalizer} keeps {its} Node{s_many}",
    "no-node": "{its} Node{s_many} {are_gone}, but a finalizer keeps {its} NodeClaim{s_many}",
    "unmanaged": "{its} Node{s_many} {are_gone}, and Karpenter ignores the NodeClaim{s_many}: nodeClassRef has no "
    "group or kind, as v1beta1 allowed",
    "node-alone": "only the Node is being deleted, but a finalizer remains",
    "pdb": "{pdbs} no eviction of {its} pods",
    "unknown": "{its} progress is not known",
}


def _pods_of_drain(finding: ClusterFinding) -> str:
    names = uncounted(finding.names[finding.nodes :], finding.pods)
    return f"{counted(finding.pods, 'pod')} ({first_of(names, NAMED)})" if names else counted(finding.pods, "pod")


def _leaving(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    is_one, is_one_pod = finding.nodes == 1, finding.pods == 1
    what = _LEAVING[finding.detail].format(
        its="its" if is_one else "their",
        it="it" if is_one else "them",
        pods=_pods_of_drain(finding),
        instance="instance" if is_one else "instances",
        s="s" if is_one else "",
        take="takes" if is_one_pod else "take",
        are="is" if is_one_pod else "are",
        them="it" if is_one_pod else "them",
        are_gone="is gone" if is_one else "are gone",
        s_many="" if is_one else "s",
        finalizer=first_of(finding.reasons, NAMED),
        pdbs=f"{of_kind('PodDisruptionBudget', finding.reasons)} {verb(len(finding.reasons), 'allows', 'allow')}",
        webhook=dead_webhook_text(*finding.reasons) if finding.detail == "webhook" else "",
    )
    ends = ""
    if finding.manner == "never":
        ends = f"; no terminationGracePeriod ends {'its' if is_one else 'their'} drain"
    elif finding.manner == "overdue":
        ago = f"ended {age_text(finding.until_ns, now_ns)} ago" if finding.until_ns else "is over"
        ends = f"; terminationGracePeriod {ago}" + (f", {_LOG}" if _LOG not in what else "")
    elif finding.manner == "own-grace":
        ends = f"; the termination grace period ends in {time_left(finding, now_ns)}"
    elif finding.until_ns is not None:
        when = "all forced within" if finding.manner == "several-ends" else "forced in"
        ends = f"; {when} {time_left(finding, now_ns)}"
    names, kind = finding.names[: finding.nodes], "NodeClaim" if finding.detail in ("no-node", "unmanaged") else "node"
    these = names_text(names) if is_one else f"{counted(finding.nodes, kind)}{of_pools(finding)} ({names_text(names)})"
    nodes = f"{these} {'has' if is_one else 'have'} been terminating"
    return f"{nodes}{lasting(finding, now_ns)}: {what}{ends}"


def _drift(finding: ClusterFinding, now_ns: int, _: Reasons) -> str:
    if finding.manner == "at-once":
        nodes = f"{count_text(finding.nodes)} of {counted(finding.of_nodes, 'node')} of {finding.names[0]}"
        return f"Drift drains {nodes} at once{age_in_brackets(finding, now_ns)}: its disruption budgets allow it"
    if finding.manner == "closed" and finding.until_ns is not None:
        opens = f"when its disruption budget opens ({clock_text(finding.until_ns)[:5]} UTC)"
        left = time_left(finding, now_ns)
        return f"{finding.names[0]}: drift of {nodes_text(finding)} can continue in {left}, {opens}"
    if finding.manner == "nominated":
        pods = f" ({first_of(finding.names[1:], NAMED)})" if finding.names[1:] else ""
        them = verb(finding.nodes, "it", "them")
        why = f"Karpenter nominates {them} again and again for pending pods{pods}"
        return f"{finding.names[0]}: drift of {nodes_text(finding)} stuck{lasting(finding, now_ns)}, {why}"
    why = _DRIFT_HELD.get(finding.detail, finding.detail)
    if finding.detail == "BUDGET_ZERO":
        why = f"its disruption budget {_shut(finding, now_ns)}"
        why += f"; {counted(finding.others, 'other node')} blocked" if finding.others else ""
    if finding.detail == "PDB_EXHAUSTED" and finding.reasons:
        allow = verb(len(finding.reasons), "allows no eviction", "allow no eviction")
        why = f"{of_kind('PodDisruptionBudget', finding.reasons)} {allow}{_UNFORCED}"
    if finding.detail == "PDB_MULTIPLE" and finding.reasons:
        why = f"two PodDisruptionBudgets match the same pods ({first_of(finding.reasons, NAMED)}){_UNFORCED}"
    if finding.detail == "POD_DND":
        why = f"do-not-disrupt on {first_of(finding.reasons, NAMED)} blocks it{_UNFORCED}"
    if len(finding.names) > 1:
        pool, pod, cause = finding.names
        return (
            f"{pool}: drift of {nodes_text(finding)} stuck{lasting(finding, now_ns)}, {pod} fits nowhere else: {cause}"
        )
    pool = f"static NodePool {finding.names[0]}" if finding.manner == "static" else finding.names[0]
    if finding.of_nodes and finding.detail == "STATIC_NO_HEADROOM":
        why = f"its limit of {counted(finding.of_nodes, 'node')} leaves no room for a replacement"
    return f"{pool}: drift of {nodes_text(finding)} stuck{lasting(finding, now_ns)}, {why}{_pace(finding)}"


_AS_REQUIRED: Final = ", and Karpenter treats that as required (PREFERENCE_POLICY Respect)"
APART: Final[Mapping[str, str]] = {
    "preferred": f"prefer separate nodes{_AS_REQUIRED}",
    "preferred-spread": f"prefer to be spread over nodes (topologySpreadConstraints, ScheduleAnyway){_AS_REQUIRED}",
    "spread": "must spread over nodes (topologySpreadConstraints, DoNotSchedule)",
    "anti-affinity": "must not share a node (required podAntiAffinity)",
}


def _preferred(finding: ClusterFinding, _: int, __: Reasons) -> str:
    pool, workload = finding.names
    if finding.manner == "missing":
        nodes, their = nodes_text(finding), verb(finding.nodes, "its", "their")
        return f"Karpenter does not consolidate {nodes} of {pool}: it does not know {their} instance type {workload}"
    if finding.detail == "minvalues":
        return f"{nodes_text(finding)} of {pool} stay: cheaper types exist, but fewer than its minValues demand"
    text = f"{nodes_text(finding)} of {pool} stay nearly empty: "
    if finding.detail == "resting":
        pause = span_text(int(finding.words) * NS_PER_SECOND)
        return f"{text}Karpenter moves no pods to its other nodes until their consolidateAfter ({pause}) has passed"
    return f"{text}pods of {workload} {APART[finding.detail]}"


SENTENCES: Final[Mapping[str, Say]] = {
    "REPAIR_HELD": _repair_held,
    "POD_DND": _pod_dnd,
    "NODE_DND": _node_dnd,
    "PDB": _pdb,
    "BUDGET": _budget,
    "LEAVING": _leaving,
    "DRIFT": _drift,
    "PREFERRED": _preferred,
}
