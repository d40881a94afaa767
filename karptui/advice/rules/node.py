"""Nodes that are kept, stuck or other than planned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.objects import node_refs
from karptui.advice.rule import rule
from karptui.advice.words import at_cost, listed, share, span
from karptui.disruption.codes import Code
from karptui.disruption.deletion import DrainStage
from karptui.disruption.do_not_disrupt import protects_node
from karptui.disruption.drain import LONG_NS
from karptui.disruption.no_place import reason_of
from karptui.disruption.simulation import no_place
from karptui.disruption.termination import deadline_of
from karptui.forward.durations import joined_since, observed
from karptui.karpenter.labels import DO_NOT_DISRUPT, INSTANCE_TYPE, NODEPOOL
from karptui.karpenter.nodeclaim import claim_key, initialization_obstacles
from karptui.karpenter.nodepool import NodePool
from karptui.kube.resources import CPU, MEMORY, PODS, nano
from karptui.kube.timestamps import ABSENT_NS, NS_PER_SECOND
from karptui.kube.units import amount_text, counted, verb
from karptui.provisioning.state_node import StateNode
from karptui.whatif.edits import CordonNode, ObjectRef, SetField

_SAID: Final = frozenset({"ConsolidationCandidate", "ConsolidationApproved"})
_REMAINED_LONG_NS: Final = 30 * 60 * NS_PER_SECOND


@rule(
    "node-candidate-only",
    title="a candidate is no decision",
    what="Events have called a node ConsolidationCandidate or ConsolidationApproved more than once over half an hour.",
    why="ConsolidationCandidate is published while moves are computed, also for moves that a later rule refuses; "
    "ConsolidationApproved of the Balanced policy comes before the fifteen seconds of validation, which a new pod, a "
    "nomination or a changed budget cancels.",
    source="pkg/controllers/disruption/consolidation.go, balanced.go and validation.go",
    remedy="Look at the node's gates: what changes within the validation time, most often pods that come and go.",
)
def _candidate_only(context: AdviceContext) -> Iterator[Finding]:
    first: dict[str, int] = {}
    times = 0
    for event in context.inventory.events:
        if event.reason not in _SAID or event.involved_kind != "Node":
            continue
        node = context.node_by_name.get(event.involved_name)
        is_old = 0 < event.first_ns < context.now_ns - _REMAINED_LONG_NS
        if node is None or node.is_marked_for_deletion or event.count < 2 or not is_old:
            continue
        known = context.findings.get(claim_key(node.claim.name)) if node.claim is not None else None
        if known is not None and known.drain is not None and known.drain.stage is not DrainStage.WANTED:
            continue
        first[event.involved_name] = min(first.get(event.involved_name, event.first_ns), event.first_ns)
        times += event.count
    if first:
        yield Finding(
            severity=Severity.INFO,
            objects=tuple(ObjectRef("Node", name) for name in first),
            fact=f"{counted(len(first), 'node')} ({listed(first)}) {verb(len(first), 'has', 'have')} been called a "
            f"consolidation candidate {times:,} times for up to {span(context.now_ns - min(first.values()))} and "
            f"{verb(len(first), 'is', 'are')} still here: the event is written "
            "before scoring and validation, and decides nothing.",
        )


_OFF: Final = frozenset({"false", "False", "FALSE", ""})


@rule(
    "node-dead-protection",
    title="a dead do-not-disrupt on a node",
    what="karpenter.sh/do-not-disrupt on a node has another value than true, or stands only on the NodeClaim.",
    why="On nodes the value is compared with true and nothing else: durations are understood on pods alone. "
    "Annotations of a NodeClaim are copied to its node once, when it registers; what is put there later has no effect.",
    source="pkg/controllers/state/statenode.go",
    remedy='Annotate the Node, with "true", and take it away again by yourself.',
)
def _dead_protection(context: AdviceContext) -> Iterator[Finding]:
    by_value: dict[str, list[str]] = {}
    claims: list[str] = []
    for state in context.fleet.nodes:
        on_node = state.node.annotations.get(DO_NOT_DISRUPT) if state.node is not None else None
        on_claim = state.claim.annotations.get(DO_NOT_DISRUPT) if state.claim is not None else None
        is_protected = state.node is not None and protects_node(state.node.annotations)
        if state.node is not None and state.claim is not None and not is_protected and on_node not in (None, *_OFF):
            by_value.setdefault(str(on_node), []).append(state.node.name)
        elif state.claim is not None and state.is_registered and on_node is None and on_claim not in (None, *_OFF):
            claims.append(state.claim.name)
    for value, names in sorted(by_value.items()):
        yield Finding(
            severity=Severity.WARNING,
            objects=tuple(ObjectRef("Node", name) for name in names),
            fact=f"{counted(len(names), 'node')} ({listed(names)}) {verb(len(names), 'says', 'say')} do-not-disrupt "
            f'"{value}": on a node only "true" counts, so it protects nothing.',
        )
    if claims:
        yield Finding(
            severity=Severity.WARNING,
            objects=tuple(ObjectRef("NodeClaim", name) for name in claims),
            fact=f"{counted(len(claims), 'NodeClaim')} ({listed(claims)}) {verb(len(claims), 'says', 'say')} "
            "do-not-disrupt and the node does not: once a node has registered only its own annotation counts.",
        )


@rule(
    "node-deleting-blocks-all",
    title="one pod blocks all disruption",
    what="A node is being deleted, and by simulation a pod on it that needs another place finds none.",
    why="Every simulated removal also places the pods of nodes that are on their way out. If one of them fits nowhere "
    "the simulation fails, whichever node was asked about, and that node's event names a pod that is not on it. Only "
    "empty nodes are consolidated without a simulation.",
    source="SimulateScheduling in pkg/controllers/disruption/helpers.go",
    remedy="Make room for that pod, change what it asks, or delete it.",
)
def _deleting_blocks_all(context: AdviceContext) -> Iterator[Finding]:
    leaving = context.prepared.leaving
    if not leaving:
        return
    errors = context.solution.errors
    guessed = context.prepared.guessed_pools.keys()
    stuck = [pod for pod in leaving if pod.key in errors and not errors[pod.key].hangs_on(guessed)]
    if not stuck:
        return
    nodes = list(dict.fromkeys(pod.node_name for pod in stuck))
    cause, _ = reason_of(no_place(context.solution, stuck[0]))
    yield Finding(
        severity=Severity.ERROR,
        objects=(
            *(ObjectRef("Pod", pod.name, pod.namespace) for pod in stuck),
            *(ObjectRef("Node", name) for name in nodes),
        ),
        fact=f"{cause[:1].upper()}{cause[1:]}: {listed(pod.key for pod in stuck)} of {listed(nodes)}, which "
        f"{verb(len(nodes), 'is', 'are')} being removed, {verb(len(stuck), 'fits', 'fit')} nowhere. Until then "
        "Karpenter replaces no drifted node and consolidates only empty ones.",
    )


@rule(
    "node-drain-without-end",
    title="a drain without an end",
    what="A NodeClaim has been in deletion for more than half an hour and has no deadline.",
    why="A drain waits for pods with do-not-disrupt and for PodDisruptionBudgets. terminationGracePeriod of the "
    "NodeClaim would end the wait; it is fixed when the NodeClaim is made, so adding it to the NodePool now does not "
    "help this node.",
    source="pkg/controllers/node/termination/controller.go",
    remedy="Settle what the drain waits for, or delete those pods; the node's detail lists them. For later nodes set "
    "terminationGracePeriod on the NodePool.",
)
def _drain_without_end(context: AdviceContext) -> Iterator[Finding]:
    found = [
        (context.now_ns - node.claim.deletion_ns, node)
        for node in context.fleet.nodes
        if node.node is not None
        and node.claim is not None
        and node.claim.is_deleting
        and context.now_ns - node.claim.deletion_ns >= LONG_NS
        and deadline_of(node.claim) is None
    ]
    if not found:
        return
    found.sort(key=lambda pair: (-pair[0], pair[1].name))
    nodes = [node for _, node in found]
    cost = context.cost(nodes)
    waiting = [pod.key for node in nodes for pod in node.pods if context.fleet.pods.is_waited_for(pod)]
    waits = (
        f" {verb(len(nodes), 'It waits', 'They wait')} for {listed(waiting)}."
        if waiting
        else " No pod is in the way: look for finalizers and volumes."
    )
    yield Finding(
        severity=Severity.WARNING,
        objects=node_refs(nodes),
        fact=f"{counted(len(nodes), 'node')} ({listed(node.name for node in nodes)}){at_cost(cost)} "
        f"{'has' if len(nodes) == 1 else 'have'} been on the way out for up to {span(found[0][0])}, and without "
        f"terminationGracePeriod nothing ends that.{waits}",
        per_hour=cost,
    )


@rule(
    "node-never-initialized",
    title="a node never becomes initialised",
    what="A node has registered and is not initialised a quarter of an hour after it joined, or five times as long as "
    "usual where that is longer.",
    why="A node counts as initialised once it is Ready, its startup taints are gone and it reports every resource that "
    "was asked of it. One that never gets there is not a candidate for anything, is left out of the budgets, and no "
    "timer removes it: the registration timeout is only for nodes that never joined.",
    source="pkg/controllers/nodeclaim/lifecycle/initialization.go and liveness.go",
    remedy="See which startup taint stays or which resource is missing (a device plugin, mostly); or delete the claim.",
)
def _never_initialized(context: AdviceContext) -> Iterator[Finding]:
    durations = observed(context.inventory.nodeclaims)
    found = [
        (context.now_ns - joined_since(node.claim), node)
        for node in context.fleet.nodes
        if node.claim is not None
        and node.node is not None
        and node.is_registered
        and not node.is_initialized
        and not node.is_marked_for_deletion
        and ABSENT_NS != joined_since(node.claim) < context.now_ns - durations.patience_of(node.nodepool_name)
    ]
    if not found:
        return
    found.sort(key=lambda pair: (-pair[0], pair[1].name))
    nodes = [node for _, node in found]
    cost = context.cost(nodes)
    yield Finding(
        severity=Severity.ERROR,
        objects=node_refs(nodes),
        fact=f"{counted(len(nodes), 'node')} ({listed(node.name for node in nodes)}){at_cost(cost)} registered and "
        f"{verb(len(nodes), 'is', 'are')} not initialised after up to {span(found[0][0])}{_because(nodes[0])}: drift "
        "and consolidation never take such a node.",
        per_hour=cost,
    )


def _because(node: StateNode) -> str:
    """Return what keeps a node from being initialized, in brackets."""
    if node.claim is None or node.node is None:
        return ""
    obstacles = initialization_obstacles(node.claim, node.node)
    return f" ({obstacles.text})" if obstacles.text else ""


_EDITED: Final = 20


@rule(
    "node-protected",
    title="a node that protects itself",
    what='Nodes carry karpenter.sh/do-not-disrupt "true", and not because their NodePool\'s template has it.',
    why="The annotation on a node is stronger than on its pods: terminationGracePeriod lets drift take a node with "
    "protected pods, and never one that is protected itself. It does not run out and is easily forgotten. Expiry, "
    "deletion and interruption go on.",
    source="pkg/controllers/state/statenode.go",
    remedy="kubectl annotate node NAME karpenter.sh/do-not-disrupt- once it has served; annotate pods instead where "
    "they are what should be left alone.",
)
def _protected(context: AdviceContext) -> Iterator[Finding]:
    by_template = {pool.name for pool in context.pools if DO_NOT_DISRUPT in pool.template_annotations}
    nodes = [
        node
        for node in context.fleet.nodes
        if node.claim is not None
        and node.node is not None
        and protects_node(node.annotations)
        and node.nodepool_name not in by_template
        and not node.is_marked_for_deletion
    ]
    if not nodes:
        return
    drifted = [node for node in nodes if node.claim is not None and node.claim.is_true("Drifted")]
    cost = context.cost(nodes)
    waits = (
        f"; {'it has' if len(nodes) == 1 else counted(len(drifted), 'of them has', 'of them have')} drifted and "
        f"{verb(len(drifted), 'stays', 'stay')} "
        "whatever terminationGracePeriod says"
        if drifted
        else ""
    )
    yield Finding(
        severity=Severity.WARNING if drifted else Severity.INFO,
        objects=node_refs(nodes),
        fact=f"{counted(len(nodes), 'node')} ({listed(node.name for node in nodes)}){at_cost(cost)} "
        f"{verb(len(nodes), 'says do-not-disrupt itself', 'say do-not-disrupt themselves')}: neither drift nor "
        f"consolidation takes {verb(len(nodes), 'it', 'them')}, for ever{waits}.",
        edits=tuple(
            SetField(ObjectRef("Node", node.node.name), ("metadata", "annotations", DO_NOT_DISRUPT))
            for node in nodes[:_EDITED]
            if node.node is not None
        ),
        per_hour=cost,
    )


_PROTECTED: Final = frozenset({Code.POD_DND, Code.NODE_DND})
_CORDONED: Final = 20
"""Nodes that a what-if would cordon at most."""


@rule(
    "node-receives-pods",
    title="a protected node keeps filling up",
    what="Pods, DaemonSets' left out, came within the last hour to a node that do-not-disrupt holds and that is not "
    "cordoned.",
    why="do-not-disrupt does not keep new pods away: Karpenter and kube-scheduler go on filling the node, protected "
    "pods land beside those that end, and the node is never free. terminationGracePeriod bounds the wait for drift and "
    "deletion only.",
    source="pkg/controllers/state/statenode.go and pkg/controllers/provisioning/scheduling/existingnode.go",
    remedy="A NodePool of their own for the protected pods, with a taint, frees all other nodes; cordon the nodes that "
    "should run out; give the annotation a duration instead of true.",
)
def _receives_pods(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        found = [
            (node, one.recent_pods)
            for node in context.nodes_of(pool)
            if (one := context.findings.get(claim_key(node.claim.name) if node.claim is not None else "")) is not None
            and one.recent_pods
            and any(blocker.code in _PROTECTED for blocker in one.blockers)
            and node.node is not None
            and not node.node.is_unschedulable
        ]
        if found:
            yield _finding(context, pool, found)


def _finding(context: AdviceContext, pool: NodePool, found: list[tuple[StateNode, int]]) -> Finding:
    nodes = [node for node, _ in sorted(found, key=lambda pair: (-pair[1], pair[0].name))]
    cost, pods = context.cost(nodes), sum(count for _, count in found)
    return Finding(
        severity=Severity.WARNING,
        objects=node_refs(nodes),
        fact=f"{counted(len(nodes), 'node')} of {pool.name}{at_cost(cost)} "
        f"{'is' if len(nodes) == 1 else 'are'} held by do-not-disrupt and still took {counted(pods, 'new pod')} in the "
        f"last hour ({listed(node.name for node in nodes)}): "
        f"{verb(len(nodes), 'it never runs', 'they never run')} empty.",
        edits=tuple(CordonNode(node.name) for node in nodes[:_CORDONED]),
        per_hour=cost,
    )


_SLACK: Final = 100
"""A hundredth of an amount is measurement, not a difference."""


@rule(
    "node-smaller-than-claim",
    title="a node smaller than promised",
    what="An initialised node's allocatable cpu, memory or pods is more than one percent below its NodeClaim's.",
    why="The NodeClaim carries what Karpenter planned with. A node that offers less, because of kubelet settings, the "
    "image or the memory overhead, cannot take the pods it was made for; they wait, and another node of the kind "
    "comes.",
    source="pkg/controllers/nodeclaim/consistency/nodeshape.go",
    remedy="Bring spec.kubelet of the NodeClass in line with what the image sets, or raise VM_MEMORY_OVERHEAD_PERCENT.",
)
def _smaller_than_claim(context: AdviceContext) -> Iterator[Finding]:
    by_resource: dict[str, list[tuple[int, StateNode]]] = {}
    for state in context.fleet.nodes:
        if state.node is None or state.claim is None or not state.is_initialized:
            continue
        for resource in (CPU, MEMORY, PODS):
            promised, real = nano(state.claim.allocatable, resource), nano(state.node.allocatable, resource)
            if real and promised - real > promised // _SLACK:
                by_resource.setdefault(resource, []).append((promised - real, state))
    for resource, found in by_resource.items():
        found.sort(key=lambda pair: (-pair[0], pair[1].name))
        gap, worst = found[0]
        types = dict.fromkeys(state.labels.get(INSTANCE_TYPE, "") for _, state in found)
        less = amount_text(resource, gap, is_exact=True)
        yield Finding(
            severity=Severity.WARNING,
            objects=node_refs(state for _, state in found),
            fact=f"{counted(len(found), 'node')} ({listed(types)}) {verb(len(found), 'offers', 'offer')} less "
            f"{resource} than the NodeClaim said, {worst.name} {less} less: pods that Karpenter "
            "makes such a node for may not fit.",
        )


@rule(
    "node-unmanaged",
    title="nodes Karpenter does not manage",
    what="There are nodes without a NodeClaim.",
    why="Nodes of managed node groups, of Fargate or made by hand take part as places for pods, and nothing of "
    "Karpenter's disruption applies to them. A node that lost its NodeClaim is in the same state, and keeps costing.",
    source="pkg/controllers/state/cluster.go",
    remedy="Where a node should be Karpenter's, drain and delete it, and let its pods get a new one. Nodes for "
    "Karpenter itself are best left as they are.",
)
def _unmanaged(context: AdviceContext) -> Iterator[Finding]:
    nodes = [node for node in context.fleet.nodes if node.claim is None and node.node is not None]
    orphans = [node for node in nodes if NODEPOOL in node.labels]
    others = [node for node in nodes if NODEPOOL not in node.labels]
    if orphans:
        them = verb(len(orphans), "it", "them")
        yield Finding(
            severity=Severity.WARNING,
            objects=node_refs(orphans),
            fact=f"{counted(len(orphans), 'node')} ({listed(node.name for node in orphans)}) "
            f"{verb(len(orphans), 'carries', 'carry')} the label of a NodePool and "
            f"{verb(len(orphans), 'has', 'have')} no NodeClaim: Karpenter takes {them} for somebody else's and never "
            f"removes {them}.",
        )
    if others:
        pods = sum(1 for node in others for pod in node.pods if context.fleet.pods.is_reschedulable(pod))
        them = verb(len(others), "it", "them")
        all_nodes = sum(node.node is not None for node in context.fleet.nodes)
        yield Finding(
            severity=Severity.INFO,
            objects=node_refs(others),
            fact=f"{share(len(others), all_nodes, 'node')} {verb(len(others), 'is', 'are')} not "
            f"Karpenter's ({listed(node.name for node in others)}): it may place pods there and never removes or "
            f"replaces {them}. {counted(pods, 'workload pod')} {verb(pods, 'runs', 'run')} on {them}.",
        )
