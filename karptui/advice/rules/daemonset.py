"""DaemonSets that hold nodes, wait, or land elsewhere than planned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext, PodGroup
from karptui.advice.finding import Finding, Severity, rule
from karptui.advice.words import at_cost, listed, share, span
from karptui.kube.objects import controller_of
from karptui.kube.timestamps import MINUTE_NS
from karptui.kube.units import counted, verb
from karptui.whatif.edits import ObjectRef


@rule(
    "daemonset-do-not-disrupt",
    title="a DaemonSet blocks every node",
    what="Pods of a DaemonSet, or static pods, on Karpenter's nodes have an effective do-not-disrupt annotation.",
    why="Nodes without other pods count as empty whatever DaemonSets run there, but a pod with do-not-disrupt blocks "
    "its node whoever owns it: DaemonSets' and static pods are no exception. One annotation in a DaemonSet's template "
    "stops all consolidation and drift.",
    source="ValidatePodsDisruptable in pkg/controllers/state/statenode.go",
    remedy="Remove the annotation from the DaemonSet's template.",
)
def _do_not_disrupt(context: AdviceContext) -> Iterator[Finding]:
    predicates = context.fleet.pods
    total = sum(1 for node in context.fleet.nodes if node.claim is not None)
    for group in context.groups:
        if not group.is_daemon or predicates.traits(group.template).do_not_disrupt is None:
            continue
        pods = [pod for pod in group.pods if not predicates.is_disruptable(pod)]
        if nodes := context.nodes_with(pods):
            cost = context.cost(nodes)
            yield Finding(
                severity=Severity.WARNING,
                objects=(group.owner,),
                fact=f"{counted(len(pods), 'pod')} of the {group.owner.kind} {group.owner.key} "
                f"{verb(len(pods), 'has', 'have')} do-not-disrupt, which blocks {share(len(nodes), total, 'node')} of "
                f"Karpenter{at_cost(cost)}, even empty ones.",
                per_hour=cost,
            )


_POOLS: Final = 2


@rule(
    "daemonset-or-terms",
    title="a DaemonSet with OR-terms",
    what="A DaemonSet has two or more required node affinity terms, and there are several NodePools.",
    why="If a type does not match the first term, Karpenter permanently drops that term from its copy of the DaemonSet."
    " Types and NodePools checked later are judged by the remaining terms, so the DaemonSet is counted on nodes that "
    "never run it, and missing on others.",
    source="isDaemonPodCompatible in pkg/controllers/provisioning/scheduling/scheduler.go",
    remedy="Use one term (operator In with several values), or split the DaemonSet.",
)
def _or_terms(context: AdviceContext) -> Iterator[Finding]:
    daemonsets = sorted(
        (daemonset.key, daemonset.name, daemonset.namespace, len(daemonset.template.required_node_terms or ()))
        for daemonset in context.inventory.daemonsets
        if len(daemonset.template.required_node_terms or ()) > 1
    )
    if daemonsets and len(context.tried_pools) >= _POOLS:
        names = (f"{key} ({terms} terms)" for key, _, _, terms in daemonsets)
        yield Finding(
            severity=Severity.INFO,
            objects=tuple(ObjectRef("DaemonSet", name, namespace) for _, name, namespace, _ in daemonsets),
            fact=f"{counted(len(daemonsets), 'DaemonSet')} ({listed(names)}) {verb(len(daemonsets), 'has', 'have')} "
            "several required node affinity terms: the types that Karpenter counts them on depend on which of "
            f"{counted(len(context.tried_pools), 'NodePool')} is checked first.",
        )


@rule(
    "daemonset-other-group",
    title="a DaemonSet that is not apps/v1",
    what="Pods are owned by a kind DaemonSet of another API group, such as OpenKruise's.",
    why="Karpenter ignores only pods of apps/v1 DaemonSets when it checks whether a node is empty, and plans only "
    "these on new nodes. Pods of other kinds must fit elsewhere before their node can be removed.",
    source="pkg/utils/pod/scheduling.go",
    remedy="Use an apps/v1 DaemonSet, or give these pods a pod-deletion-cost so low that their nodes count as empty.",
)
def _other_group(context: AdviceContext) -> Iterator[Finding]:
    by_owner: dict[tuple[str, str, str], list[PodGroup]] = {}
    for group in context.workload_groups:
        owner = controller_of(group.template.owners)
        if owner is not None and owner.kind == "DaemonSet" and owner.api_version != "apps/v1":
            by_owner.setdefault((owner.api_version, group.template.namespace, owner.name), []).append(group)
    if not by_owner:
        return
    pods = [pod for groups in by_owner.values() for group in groups for pod in group.pods]
    nodes = context.nodes_with(pods)
    keys = {pod.key for pod in pods}
    alone = [
        node
        for node in nodes
        if not any(context.fleet.pods.is_reschedulable(pod) and pod.key not in keys for pod in node.pods)
    ]
    cost = context.cost(alone)
    these = verb(len(nodes), "it", f"{len(alone):,} of them")
    versions = sorted({version for version, _, _ in by_owner})
    yield Finding(
        severity=Severity.WARNING if alone else Severity.INFO,
        objects=tuple(ObjectRef("DaemonSet", name, namespace) for _, namespace, name in by_owner),
        fact=f"{counted(len(pods), 'pod')} of {counted(len(by_owner), 'DaemonSet')} of {listed(versions)} on "
        f"{counted(len(nodes), 'node')} {verb(len(pods), 'counts as an ordinary pod', 'count as ordinary pods')}: "
        f"{verb(len(nodes), 'its node is', 'their nodes are')} never empty"
        f"{f', and there is nothing else on {these}{at_cost(cost)}' if alone else ''}.",
        per_hour=cost,
    )


_LONG_NS: Final = 5 * MINUTE_NS


@rule(
    "daemonset-pending",
    title="DaemonSet pods without room",
    what="Pods of DaemonSets have been without a node for more than five minutes.",
    why="Karpenter includes DaemonSets when it sizes a node, but does not keep their share free afterwards: if other "
    "pods are bound first, or a DaemonSet is added or enlarged later, too little is left. Karpenter does not "
    "provision for DaemonSet pods.",
    source="pkg/controllers/provisioning/provisioner.go and pkg/utils/pod/scheduling.go",
    remedy="Give the DaemonSet a priority class such as system-node-critical, so that its pods preempt others.",
)
def _pending(context: AdviceContext) -> Iterator[Finding]:
    waiting = [
        (group.owner, pod)
        for group in context.groups
        if group.template.is_daemonset_owned
        for pod in group.pods
        if not pod.node_name and 0 < pod.created_ns < context.now_ns - _LONG_NS
    ]
    if not waiting:
        return
    owners = tuple(dict.fromkeys(owner for owner, _ in waiting))
    oldest = min(pod.created_ns for _, pod in waiting)
    text = next((pod.scheduled_message for _, pod in waiting if pod.scheduled_message), "")
    quoted = f' kube-scheduler: "{text}"' if text else ""
    yield Finding(
        severity=Severity.WARNING,
        objects=owners,
        fact=f"{counted(len(waiting), 'DaemonSet pod')} of {listed(ref.key for ref in owners)} "
        f"{verb(len(waiting), 'has', 'have')} had no room on the node for up to {span(context.now_ns - oldest)}; "
        f"Karpenter launches no nodes for them.{quoted}",
    )
