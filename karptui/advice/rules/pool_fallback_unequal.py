"""A preferred pool and its fallback that do not take the same pods."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import owner_refs, pool_ref
from karptui.advice.rule import Rule
from karptui.advice.words import counted, listed
from karptui.karpenter.labels import AWS_GROUP, CAPACITY_TYPE, INSTANCE_TYPE
from karptui.karpenter.nodepool import NodePool
from karptui.kube.taints import Taint

_CHOICE_OF_TYPE: Final = f"{AWS_GROUP}/instance-"


def _find(context: AdviceContext) -> Iterator[Finding]:
    places = {pool.name: index for index, pool in enumerate(context.tried_pools)}
    for first, second in combinations(context.tried_pools, 2):
        if not _are_twins(first, second):
            continue
        bit, other = 1 << places[first.name], 1 << places[second.name]
        lost = [
            group
            for group in context.workload_groups
            if (mask := context.accepting(group.template)) & bit and not mask & other
        ]
        count = sum(len(group.pods) for group in lost)
        # A pool that takes pods of its own and shares no taint may well be meant for just these.
        is_alone = any(mask & other for mask in context.pods_by_pools) and not set(first.taints) & set(second.taints)
        if count and not is_alone:
            yield Finding(
                severity=Severity.WARNING,
                objects=(pool_ref(second), pool_ref(first), *owner_refs(lost)),
                fact=f"{second.name} (weight {second.weight}) differs from {first.name} (weight {first.weight}) only "
                f"in the types it allows and in {_difference(first, second)}: {counted(count, 'pod')} that may go to "
                f"{first.name} cannot fall back to it, of {listed(ref.key for ref in owner_refs(lost))}.",
            )


def _are_twins(first: NodePool, second: NodePool) -> bool:
    """Return whether the second looks meant as the fallback of the first, but takes other pods."""
    if not first.weight > second.weight > 0 or first.node_class_ref != second.node_class_ref:
        return False
    if _fixed(first) != _fixed(second):
        return False
    taints = set(first.taints) ^ set(second.taints)
    keys = set(first.template_labels) ^ set(second.template_labels)
    # Pools that share nothing but their NodeClass are pools for different workloads, not a pair.
    are_related = bool(set(first.taints) & set(second.taints)) or bool(
        set(first.template_labels.items()) & set(second.template_labels.items())
    )
    return are_related and bool(taints or keys)


def _fixed(pool: NodePool) -> frozenset[tuple[str, str, tuple[str, ...]]]:
    """Return the requirements that do not choose among types or capacity types."""
    return frozenset(
        (one.key, one.operator, one.values)
        for one in pool.requirements
        if not one.key.startswith(_CHOICE_OF_TYPE) and one.key not in (CAPACITY_TYPE, INSTANCE_TYPE)
    )


def _difference(first: NodePool, second: NodePool) -> str:
    taints: set[Taint] = set(first.taints) ^ set(second.taints)
    keys = set(first.template_labels) ^ set(second.template_labels)
    parts = [f"taint {taint}" for taint in sorted(map(str, taints))] + [f"label {key}" for key in sorted(keys)]
    return listed(parts)


RULE: Final = Rule(
    id="pool-fallback-unequal",
    title="the fallback takes other pods",
    what="Two weighted NodePools share a NodeClass and a taint or label and differ only in the types that they allow, "
    "yet their taints or label keys are not the same, and pods of the preferred one cannot go to the other.",
    why="Karpenter checks taints and labels of each NodePool by itself. A fallback catches only pods that tolerate all "
    "of its taints and whose selectors its labels meet; a taint that only one of the two has splits the pods in two.",
    source="pkg/controllers/provisioning/scheduling/nodeclaim.go",
    remedy="Give both pools the same taints and labels, and the pods tolerations for them; only weight and instance "
    "requirements should differ.",
    find=_find,
)
