"""The order of NodePools, and fallbacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity, rule
from karptui.advice.words import at_cost, listed, owner_refs, pool_ref
from karptui.aws.launch import ACCELERATORS
from karptui.karpenter.labels import AWS_GROUP, CAPACITY_TYPE, INSTANCE_TYPE
from karptui.karpenter.nodepool import NodePool
from karptui.kube.group import group_by
from karptui.kube.resources import nano
from karptui.kube.taints import Taint
from karptui.kube.units import counted
from karptui.provisioning.state_node import StateNode
from karptui.whatif.edits import SetField

_FEWEST_IDLE: Final = 2
_CHOICE_OF_TYPE: Final = f"{AWS_GROUP}/instance-"


@rule(
    "pool-fallback-unequal",
    title="the fallback takes other pods",
    what="Two weighted NodePools share a NodeClass and a taint or label and differ only in the types that they allow, "
    "yet their taints or label keys are not the same, and pods of the preferred one cannot go to the other.",
    why="Karpenter checks taints and labels of each NodePool independently. A fallback accepts only pods that tolerate "
    "all of its taints and whose selectors match its labels; a taint on only one of the pools divides the pods.",
    source="pkg/controllers/provisioning/scheduling/nodeclaim.go",
    remedy="Give both pools the same taints and labels, and the pods tolerations for them; only weight and instance "
    "requirements should differ.",
)
def _fallback_unequal(context: AdviceContext) -> Iterator[Finding]:
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
        # A pool that has other pods and shares no taint may be intended for just these.
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
        (requirement.key, requirement.operator, requirement.values)
        for requirement in pool.requirements
        if not requirement.key.startswith(_CHOICE_OF_TYPE) and requirement.key not in (CAPACITY_TYPE, INSTANCE_TYPE)
    )


def _difference(first: NodePool, second: NodePool) -> str:
    taints: set[Taint] = set(first.taints) ^ set(second.taints)
    keys = set(first.template_labels) ^ set(second.template_labels)
    parts = [f"taint {taint}" for taint in sorted(map(str, taints))] + [f"label {key}" for key in sorted(keys)]
    return listed(parts)


_CLOSE: Final = 10
_WHOLE: Final = 100
_LARGEST_RATIO: Final = 4


@rule(
    "pool-weight-order",
    title="weight is an order, not a share",
    what="Two NodePools that can take the same pods have weights that add up to 100, differ by less than 10, or are "
    "within a factor of four.",
    why="Weight is strict priority: for every pod the NodePools are tried from the heaviest down, and the first that "
    "can launch a node takes it. A weight of 51 against 49 sends everything to the first. Weight matters for new nodes "
    "only: existing nodes and claims in flight are tried before any NodePool.",
    source="pkg/controllers/provisioning/provisioner.go and pkg/controllers/provisioning/scheduling/scheduler.go; "
    "OrderByWeight in pkg/utils/nodepool/nodepool.go",
    remedy="For a preferred pool and a fallback choose weights far apart (100 and 1), so that they do not look like "
    "shares. For a ratio, spread the pods: topologySpreadConstraints over karpenter.sh/capacity-type or over a label "
    "that each pool sets.",
)
def _weight_order(context: AdviceContext) -> Iterator[Finding]:
    for first, second in combinations(context.tried_pools, 2):
        looks = _looks_like(first, second)
        shared = context.pods_for_all((first, second)) if looks else 0
        if not shared:
            continue
        ours, theirs = len(context.nodes_of(first)), len(context.nodes_of(second))
        yield Finding(
            severity=Severity.INFO,
            objects=(pool_ref(first), pool_ref(second)),
            fact=f"{first.name} has weight {first.weight} and {second.name} {second.weight}, which {looks}: "
            f"{counted(shared, 'pod')} may go to either, and for each of them every new node comes from {first.name} "
            f"until it can launch none. Now they have {ours:,} and {counted(theirs, 'node')}.",
        )


def _looks_like(first: NodePool, second: NodePool) -> str:
    """Return why two weights, the larger first, may be misread as shares; empty if they are not."""
    high, low = first.weight, second.weight
    if low in (high, 0):
        return ""
    if high + low == _WHOLE:
        return "add up to 100 like shares"
    if high - low < _CLOSE:
        return f"differ by only {high - low}"
    return "look like a ratio" if high <= _LARGEST_RATIO * low else ""


_HEAVIEST: Final = 100


@rule(
    "pool-weight-tie",
    title="equal weights: the name decides",
    what="Two or more NodePools of the same weight, or without one, can take the same pods.",
    why="Among equal weights the NodePool whose name sorts last is tried first, every time: twin pools do not share "
    "the load, one of them gets all of it, and a new pool can take over by its name alone.",
    source="OrderByWeight in pkg/utils/nodepool/nodepool.go",
    remedy="Give each pool a different weight, in the intended order.",
)
def _weight_tie(context: AdviceContext) -> Iterator[Finding]:
    by_weight = group_by(context.tried_pools, lambda pool: pool.weight)
    for weight, pools in by_weight.items():
        rivals = [(pool, shared) for pool in pools[1:] if (shared := context.pods_for_all((pools[0], pool)))]
        if not rivals:
            continue
        first, others = pools[0], [pool for pool, _ in rivals]
        nodes = ", ".join(f"{pool.name} {len(context.nodes_of(pool)):,}" for pool in (first, *others[:2]))
        text = f"weight {weight}" if weight else "no weight"
        yield Finding(
            severity=Severity.INFO,
            objects=tuple(map(pool_ref, (first, *others))),
            fact=f"{listed(pool.name for pool in (first, *others))} all have {text}, and up to "
            f"{counted(max(count for _, count in rivals), 'pod')} may go to either: {first.name} is always tried "
            f"first, because its name sorts last. Nodes now: {nodes}.",
            edits=(SetField(pool_ref(first), ("spec", "weight"), weight + 1),) if weight < _HEAVIEST else (),
        )


@rule(
    "pool-accelerator-untainted",
    title="pods that need no GPU get GPU nodes",
    what="At least two nodes of a NodePool without taints, and half of its nodes, have GPUs or other accelerators and "
    "run pods of which none requests one. A NodePool that is tried later takes these pods too.",
    why="Karpenter takes the first NodePool, by weight, in which a pod fits. Nothing but a taint keeps pods without a "
    "GPU request out of a NodePool of GPU types.",
    source="pkg/controllers/provisioning/scheduling/scheduler.go",
    remedy="Taint the NodePool, and let the pods that need a GPU tolerate the taint.",
)
def _accelerator_untainted(context: AdviceContext) -> Iterator[Finding]:
    for index, pool in enumerate(context.tried_pools):
        nodes, later = () if pool.taints else context.nodes_of(pool), context.tried_pools[index + 1 :]
        idle = [(node, taker) for node in nodes if (taker := _taker(node, later, context)) is not None]
        if len(idle) < _FEWEST_IDLE or 2 * len(idle) < len(nodes):
            continue
        cost, after = context.cost([node for node, _ in idle]), idle[0][1]
        weight = f"weight {pool.weight}" if pool.weight else "no weight"
        yield Finding(
            severity=Severity.WARNING,
            objects=(pool_ref(pool),),
            fact=f"{counted(len(idle), 'node')} of {pool.name}{at_cost(cost)} have accelerators and run only pods that "
            f"request none: {pool.name} ({weight}) has no taint and is tried before {after.name}, which takes them.",
            per_hour=cost,
        )


def _taker(node: StateNode, later: Sequence[NodePool], context: AdviceContext) -> NodePool | None:
    """Return the first of the NodePools that takes all pods of a node; None if one requests the node's accelerator."""
    there = [name for name in ACCELERATORS if node.node is not None and nano(node.node.allocatable, name)]
    pods = [pod for pod in node.pods if not (pod.template.is_daemonset_owned or pod.template.is_node_owned)]
    if not there or not pods or any(nano(pod.requests, name) for pod in pods for name in there):
        return None
    taking = [context.pools_for(pod.template) for pod in pods]
    return next((pool for pool in later if all(pool in pools for pools in taking)), None)
