"""PodDisruptionBudgets that never allow anything, or say nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity, rule
from karptui.advice.words import at_cost, span
from karptui.karpenter.pdb_limits import is_always_blocking, is_always_closed
from karptui.kube.pod import Pod
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import counted, verb
from karptui.kube.workload import PodDisruptionBudget
from karptui.whatif.edits import ObjectRef, SetField


@rule(
    "pdb-contradicts-status",
    title="a blocking PDB that reports room",
    what="A PodDisruptionBudget blocks fully by its spec while its status says that disruptions are allowed.",
    why="Karpenter reads from the status whether a node may be removed, and from the spec whether its pods are "
    "rescheduled. It assumes that pods of a fully blocking budget stay, so if it removes the node anyway, it makes no "
    "room for them.",
    source="pkg/utils/pdb/pdb.go and IsCurrentlyReschedulable in the same package",
    remedy="Find out why the disruption controller does not update the status; it should take seconds.",
)
def _contradicts_status(context: AdviceContext) -> Iterator[Finding]:
    for pdb in sorted(context.inventory.pdbs, key=lambda budget: budget.key):
        if not is_always_blocking(pdb) or pdb.disruptions_allowed <= 0:
            continue
        yield Finding(
            severity=Severity.WARNING,
            objects=(ObjectRef("PodDisruptionBudget", pdb.name, pdb.namespace),),
            fact=f"PodDisruptionBudget {pdb.key} allows nothing by its spec and reports "
            f"{counted(pdb.disruptions_allowed, 'disruption')} allowed: Karpenter may delete a node of its pods "
            "without making room for them elsewhere.",
        )


@rule(
    "pdb-never-allows",
    title="PDB never allows an eviction",
    what="A PodDisruptionBudget with pods has maxUnavailable 0 or 0%, minAvailable 100%, or a minAvailable equal to "
    "its expected pods. The severity is info if none of the pods runs on a node of Karpenter.",
    why="Karpenter does not disrupt a node while one of its pods cannot be evicted, and reports it on the node. A drain"
    " that has begun waits. The usual case is a single replica with minAvailable 1.",
    source="pkg/utils/pdb/pdb.go",
    remedy="Use maxUnavailable 1, or run more replicas; unhealthyPodEvictionPolicy AlwaysAllow lets unhealthy pods be "
    "evicted.",
)
def _never_allows(context: AdviceContext) -> Iterator[Finding]:
    pods_of = _pods_by_pdb(context)
    for pdb in sorted(context.inventory.pdbs, key=lambda budget: budget.key):
        pods = pods_of.get(pdb.key, [])
        because = _because(pdb)
        if not because or not pods:
            continue
        nodes = context.nodes_with(pods)
        cost = context.cost(nodes)
        stay = f"{verb(len(pods), 'it blocks', 'they block')} {counted(len(nodes), 'node')} of Karpenter{at_cost(cost)}"
        stay = stay if nodes else "no node of Karpenter runs any"
        ref = ObjectRef("PodDisruptionBudget", pdb.name, pdb.namespace)
        edits = (SetField(ref, ("spec", "minAvailable")), SetField(ref, ("spec", "maxUnavailable"), 1))
        yield Finding(
            severity=Severity.WARNING if nodes else Severity.INFO,
            objects=(ref, *dict.fromkeys(map(context.owner_of, pods))),
            fact=f"PodDisruptionBudget {pdb.key} has {because}: its {counted(len(pods), 'pod')} cannot be evicted "
            f"while {verb(len(pods), 'it is', 'all are')} healthy, and {stay}.",
            edits=edits,
            per_hour=cost,
        )


def _pods_by_pdb(context: AdviceContext) -> dict[str, list[Pod]]:
    pods: dict[str, list[Pod]] = {}
    for matching, group in context.budgeted:
        for pdb in matching:
            pods.setdefault(pdb.key, []).extend(group.pods)
    return pods


def _because(pdb: PodDisruptionBudget) -> str:
    """Return the reason why a budget never allows a disruption, or an empty string."""
    if is_always_blocking(pdb):
        return _spec(pdb)
    if is_always_closed(pdb):
        return f"{_spec(pdb)} of {counted(pdb.expected_pods, 'pod')} expected"
    return ""


def _spec(pdb: PodDisruptionBudget) -> str:
    if pdb.max_unavailable is not None:
        return f"maxUnavailable {pdb.max_unavailable}"
    return f"minAvailable {pdb.min_available}"


_PATIENCE_NS: Final = 300 * NS_PER_SECOND


@rule(
    "pdb-without-status",
    title="a budget without status blocks",
    what="A PodDisruptionBudget with pods is older than five minutes and its status was never written.",
    why="Without a status, disruptionsAllowed counts as 0, and no pod of the budget can be evicted.",
    source="pkg/utils/pdb/pdb.go",
    remedy="Check the disruption controller of kube-controller-manager; the budget's events show its error.",
)
def _without_status(context: AdviceContext) -> Iterator[Finding]:
    for pdb in sorted(context.inventory.pdbs, key=lambda budget: budget.key):
        age_ns = context.now_ns - pdb.created_ns
        if pdb.observed_generation is not None or not pdb.created_ns or age_ns < _PATIENCE_NS:
            continue
        selector = pdb.selector
        pods = sum(
            len(group.pods)
            for group in context.groups
            if group.template.namespace == pdb.namespace
            and selector is not None
            and selector.matches(group.pods[0].labels)
        )
        if pods:
            yield Finding(
                severity=Severity.WARNING,
                objects=(ObjectRef("PodDisruptionBudget", pdb.name, pdb.namespace),),
                fact=f"PodDisruptionBudget {pdb.key} is {span(age_ns)} old and has no status, which counts as none "
                f"allowed: {counted(pods, 'pod')} cannot be evicted.",
            )
