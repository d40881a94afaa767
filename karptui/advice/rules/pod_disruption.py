"""Pods that hold their nodes, or let them go too easily."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from karptui.advice.churn import loop_fact
from karptui.advice.context import AdviceContext, PodGroup
from karptui.advice.finding import Finding, Severity, rule
from karptui.advice.words import at_cost, joined, listed, owner_refs, ref_text
from karptui.disruption.churn.loops import LoopKind
from karptui.karpenter.do_not_disrupt import OFF
from karptui.karpenter.labels import DO_NOT_DISRUPT, DO_NOT_EVICT, SAFE_TO_EVICT
from karptui.karpenter.pod_predicates import is_managing_costs, unread_cost
from karptui.karpenter.rules import NEWEST
from karptui.kube.group import group_by
from karptui.kube.pod import Pod
from karptui.kube.units import counted, verb
from karptui.whatif.edits import ObjectRef

DEAD: Final = {
    DO_NOT_EVICT: "karpenter.sh/do-not-disrupt on the pod",
    "karpenter.sh/do-not-consolidate": "karpenter.sh/do-not-disrupt on the node",
    "karpenter.sh/provisioner-name": "karpenter.sh/nodepool",
    "karpenter.sh/voluntary-disruption": "conditions of the NodeClaim",
}


@rule(
    "pod-dead-annotation",
    title="an annotation no longer read",
    what="Pods or nodes carry do-not-evict, do-not-consolidate, or other names of the v1alpha5 and v1beta1 APIs.",
    why="Karpenter ignores annotation names of older APIs without a warning: the pods are disrupted like any others.",
    source="pkg/apis/v1/labels.go",
    remedy="Use the current name, on the object that it belongs to.",
)
def _dead_annotation(context: AdviceContext) -> Iterator[Finding]:
    for key, instead in DEAD.items():
        groups = [group for group in context.groups if key in group.template.annotations]
        selecting = [group for group in context.groups if key in group.template.node_selector]
        if pods := sum(len(group.pods) for group in (*groups, *selecting)):
            owners = owner_refs((*groups, *selecting))
            how = (
                verb(pods, "selects nodes by", "select nodes by")
                if selecting and not groups
                else verb(pods, "carries", "carry")
            )
            yield Finding(
                severity=Severity.WARNING,
                objects=owners,
                fact=f"{counted(pods, 'pod')} ({listed(map(ref_text, owners))}) {how} {key}, which Karpenter no "
                f"longer reads; since v1beta1 it is {instead}.",
            )
        if nodes := [node.name for node in context.inventory.nodes if key in node.annotations]:
            yield Finding(
                severity=Severity.WARNING,
                objects=tuple(ObjectRef("Node", name) for name in nodes),
                fact=f"{counted(len(nodes), 'node')} ({listed(nodes)}) {verb(len(nodes), 'carries', 'carry')} {key}, "
                f"which Karpenter no longer reads; since v1beta1 it is {instead}.",
            )


@rule(
    "pod-dead-protection",
    title="do-not-disrupt without effect on pods",
    what="The value of karpenter.sh/do-not-disrupt on a pod is neither true nor a positive duration.",
    why="Only the exact value true and Go durations (90m, 4h, 1h30m) protect a pod. A trailing space, True, 1d or 90 "
    "are ignored. A warning event on the pod reports it, but only if nothing else blocks its node.",
    source="IsDoNotDisruptActive in pkg/utils/pod/scheduling.go",
    remedy='Write "true", or a duration in h, m and s: 24h instead of 1d.',
)
def _dead_protection(context: AdviceContext) -> Iterator[Finding]:
    by_value: dict[tuple[str, str], list[PodGroup]] = {}
    for group in context.groups:
        value = context.fleet.pods.traits(group.template).do_not_disrupt
        if value is not None and value.problem and value.text not in OFF:
            by_value.setdefault((value.text, value.problem), []).append(group)
    for (text, problem), groups in sorted(by_value.items()):
        owners, pods = owner_refs(groups), sum(len(group.pods) for group in groups)
        yield Finding(
            severity=Severity.WARNING,
            objects=owners,
            fact=f"{counted(pods, 'pod')} ({listed(map(ref_text, owners))}) {verb(pods, 'has', 'have')} "
            "do-not-disrupt "
            f'"{text}", which protects nothing: {problem}.',
        )


@rule(
    "pod-moved-often",
    title="a workload is moved again and again",
    what="In the observed period, pods of a workload were moved off nodes being removed at least three times, over 5 "
    "minutes or more, and at least twice per existing pod.",
    why="Each move ends a pod and starts another. Karpenter compares prices and ignores earlier moves: a pod on the "
    "next node to be consolidated is moved again.",
    source="pkg/controllers/node/termination/terminator/eviction.go",
    remedy="See which NodePool's nodes are removed, and why (Churn); slow consolidation down with consolidateAfter, "
    "or protect the pods with a PodDisruptionBudget or karpenter.sh/do-not-disrupt with a duration.",
)
def _moved_often(context: AdviceContext) -> Iterator[Finding]:
    for loop in context.loops:
        kind, _, rest = loop.workload.partition("/")
        namespace, _, name = rest.partition("/")
        # Of pods whose controller is not known there is no object to name.
        if loop.kind is LoopKind.MOVED and kind != "Pod":
            yield Finding(severity=Severity.WARNING, objects=(ObjectRef(kind, name, namespace),), fact=loop_fact(loop))


@rule(
    "pod-no-cost",
    title="pods that cost nothing to evict",
    what="Workload pods on Karpenter's nodes have an eviction cost of zero or less: a strongly negative "
    "pod-deletion-cost or priority.",
    why="A node is empty if the eviction costs of its pods sum to zero or less. Emptiness deletes such a node without "
    "simulating where its pods fit; they are evicted and become pending.",
    source="pkg/utils/disruption/disruption.go and pkg/controllers/disruption/emptiness.go",
    remedy="Raise controller.kubernetes.io/pod-deletion-cost or the priority of pods that matter.",
)
def _no_cost(context: AdviceContext) -> Iterator[Finding]:
    groups = [
        group
        for group in context.workload_groups
        if context.fleet.pods.traits(group.template).eviction_cost <= 0 and context.nodes_with(group.pods)
    ]
    if not groups:
        return
    owners, pods = owner_refs(groups), sum(len(group.pods) for group in groups)
    nodes = context.nodes_with(pod for group in groups for pod in group.pods)
    empty = sum(1 for node in nodes if node.is_initialized and context.fleet.is_empty(node))
    yield Finding(
        severity=Severity.WARNING if empty else Severity.INFO,
        objects=owners,
        fact=f"{counted(pods, 'pod')} ({listed(map(ref_text, owners))}) {verb(pods, 'costs', 'cost')} nothing to "
        f"evict, by deletion cost or priority: {counted(empty, 'node')} with nothing else on "
        f"{verb(empty, 'it counts', 'them count')} as empty and may be deleted even if "
        f"{verb(pods, 'it fits', 'they fit')} nowhere else.",
    )


@rule(
    "pod-cost-unread",
    title="a deletion cost that is ignored",
    what="Workload pods on Karpenter's nodes have a pod-deletion-cost that Karpenter 1.15 ignores: it is not a 32-bit "
    "whole number, or Karpenter writes these costs itself (gate PodDeletionCostManagement).",
    why="Until 1.14 any number was valid, such as -1.4e8; since 1.15 only whole numbers are. With the gate on, "
    "Karpenter removes the annotation from pods whose node it does not rank, even if a user set it.",
    source="pkg/utils/disruption/disruption.go and pkg/controllers/pod/deletioncost",
    remedy="Write a whole number, before an upgrade to 1.15 if you run 1.14; with the gate on, use "
    "karpenter.sh/disruption-cost instead.",
)
def _cost_unread(context: AdviceContext) -> Iterator[Finding]:
    runs = context.settings.rules.has_whole_costs
    settings = context.settings if runs else msgspec.structs.replace(context.settings, rules=NEWEST)
    running = (group for group in context.workload_groups if context.nodes_with(group.pods))
    by_value = group_by(running, lambda group: unread_cost(group.template, settings))
    managed = is_managing_costs(settings)
    for value, groups in sorted((value, groups) for value, groups in by_value.items() if value):
        owners, pods = owner_refs(groups), sum(len(group.pods) for group in groups)
        because = "Karpenter writes these costs itself" if managed else "it is not a 32-bit whole number"
        when = "Karpenter ignores it" if runs else "after an upgrade to 1.15 Karpenter would ignore it"
        yield Finding(
            severity=Severity.WARNING,
            objects=owners,
            fact=f"{counted(pods, 'pod')} ({listed(map(ref_text, owners))}) {verb(pods, 'has', 'have')} "
            f'pod-deletion-cost "{value}": {when}, {because}.',
        )


@rule(
    "pod-safe-to-evict",
    title="safe-to-evict does nothing here",
    what="Pods with cluster-autoscaler.kubernetes.io/safe-to-evict false and no do-not-disrupt run on Karpenter's "
    "nodes.",
    why="The annotation belongs to Cluster Autoscaler. Karpenter's counterpart is karpenter.sh/do-not-disrupt; "
    "without it such a pod is evicted whenever its node drifts or is consolidated.",
    source="pkg/utils/pod/scheduling.go",
    remedy="Add karpenter.sh/do-not-disrupt, with a duration if possible.",
)
def _safe_to_evict(context: AdviceContext) -> Iterator[Finding]:
    groups = [
        group
        for group in context.workload_groups
        if group.template.annotations.get(SAFE_TO_EVICT) == "false"
        and DO_NOT_DISRUPT not in group.template.annotations
        and context.nodes_with(group.pods)
    ]
    if groups:
        owners, pods = owner_refs(groups), sum(len(group.pods) for group in groups)
        yield Finding(
            severity=Severity.WARNING,
            objects=owners,
            fact=f"{counted(pods, 'pod')} ({listed(map(ref_text, owners))}) {verb(pods, 'has', 'have')} safe-to-evict "
            f'"false" and {verb(pods, "runs", "run")} on nodes of Karpenter, which reads only '
            f"karpenter.sh/do-not-disrupt: nothing protects {verb(pods, 'it', 'them')}.",
        )


_SHOWN: Final = 3


@rule(
    "pod-several-pdbs",
    title="two PDBs select a pod",
    what="Two or more PodDisruptionBudgets select the same pod.",
    why="The eviction API refuses a pod that several budgets select, whatever they allow. Karpenter treats its node "
    "as blocked, and a drain that has begun waits for the pod until terminationGracePeriod ends it, if ever.",
    source="pkg/utils/pdb/pdb.go; the eviction subresource of the Kubernetes API",
    remedy="Delete one of them, or narrow its selector.",
)
def _several_pdbs(context: AdviceContext) -> Iterator[Finding]:
    predicates = context.fleet.pods
    by_budgets: dict[tuple[str, ...], list[tuple[ObjectRef, Pod]]] = {}
    for matching, group in context.budgeted:
        pods = [(group.owner, pod) for pod in group.pods if predicates.is_evictable(pod)] if len(matching) > 1 else []
        if pods:
            by_budgets.setdefault(tuple(budget.key for budget in matching), []).extend(pods)
    for budgets, pairs in sorted(by_budgets.items()):
        owners = tuple(dict.fromkeys(owner for owner, _ in pairs))
        nodes = context.nodes_with(pod for _, pod in pairs)
        cost = context.cost(nodes)
        refs = tuple(ObjectRef("PodDisruptionBudget", *reversed(key.split("/", 1))) for key in budgets)
        yield Finding(
            severity=Severity.ERROR,
            objects=(*refs, *owners),
            fact=f"{counted(len(pairs), 'pod')} ({listed(map(ref_text, owners))}) {verb(len(pairs), 'is', 'are')} "
            f"selected by {counted(len(budgets), 'PodDisruptionBudget')} ({joined(list(budgets[:_SHOWN]))}): no "
            f"eviction is ever allowed; {verb(len(pairs), 'it runs', 'they run')} on "
            f"{counted(len(nodes), 'node')} of Karpenter{at_cost(cost)}.",
            per_hour=cost,
        )


@rule(
    "pod-tolerates-disrupted",
    title="pods that no drain waits for",
    what="Workload pods on Karpenter's nodes tolerate karpenter.sh/disrupted, mostly by a toleration without a key.",
    why="Karpenter assumes that a pod that tolerates the disrupted taint is meant to run until the instance ends. It "
    "does not evict the pod or check PodDisruptionBudgets, and terminates the instance once all other pods are gone. "
    "do-not-disrupt prevents voluntary disruption, but not this.",
    source="IsDrainable and ToleratesDisruptedNoScheduleTaint in pkg/utils/pod/scheduling.go",
    remedy="List the tolerated taints instead of operator Exists without a key.",
)
def _tolerates_disrupted(context: AdviceContext) -> Iterator[Finding]:
    predicates = context.fleet.pods
    groups = [
        group
        for group in context.workload_groups
        if predicates.traits(group.template).tolerates_disrupted and context.nodes_with(group.pods)
    ]
    if not groups:
        return
    protected = [group for group in groups if any(not predicates.is_disruptable(pod) for pod in group.pods)]
    owners, pods = owner_refs((*protected, *groups)), sum(len(group.pods) for group in groups)
    held = sum(len(group.pods) for group in protected)
    them = verb(pods, "it", "them")
    of_these = "" if pods == 1 else f"{held:,} of them "
    also = f", {of_these}in spite of do-not-disrupt" if held else ""
    yield Finding(
        severity=Severity.WARNING if held else Severity.INFO,
        objects=owners,
        fact=f"{counted(pods, 'pod')} ({listed(map(ref_text, owners))}) {verb(pods, 'tolerates', 'tolerate')} the "
        f"taint of nodes being disrupted: a drain neither evicts nor waits for {them}, new ones may still land there, "
        f"and {verb(pods, 'it ends', 'they end')} with the instance{also}.",
    )
