"""Nodes that are blocked, stuck or differ from the plan."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity, rule
from karptui.advice.words import at_cost, listed, named_nodes, node_refs, share, span
from karptui.disruption.churn.moves import ADVANCED_NS, evicted_controllers
from karptui.disruption.codes import Code
from karptui.disruption.do_not_disrupt import protects_node
from karptui.disruption.drain import LONG_NS
from karptui.disruption.no_place import reason_of
from karptui.disruption.simulation import no_place
from karptui.disruption.termination import deadline_of
from karptui.forward.durations import joined_since, observed
from karptui.karpenter.do_not_disrupt import OFF
from karptui.karpenter.labels import DO_NOT_DISRUPT, INSTANCE_TYPE, NODEPOOL
from karptui.karpenter.nodeclaim import DrainStage, claim_key, deletion_stage, initialization_obstacles
from karptui.karpenter.nodepool import NodePool
from karptui.kube.quantity import NANO
from karptui.kube.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, nano
from karptui.kube.timestamps import ABSENT_NS, MINUTE_NS
from karptui.kube.units import amount_text, counted, verb
from karptui.provisioning.state_node import StateNode
from karptui.whatif.edits import CordonNode, ObjectRef, SetField

_SAID: Final = frozenset({"ConsolidationCandidate", "ConsolidationApproved"})
_REMAINED_LONG_NS: Final = 30 * MINUTE_NS


@rule(
    "node-candidate-only",
    title="a candidate is not a decision",
    what="Events have called a node ConsolidationCandidate or ConsolidationApproved more than once over half an hour.",
    why="Karpenter publishes ConsolidationCandidate while it computes commands, even for commands that a later rule "
    "rejects; ConsolidationApproved of the Balanced policy precedes the fifteen seconds of validation, which fails if "
    "a pod is added, the node is nominated or a budget changes.",
    source="pkg/controllers/disruption/consolidation.go, balanced.go and validation.go",
    remedy="See which of the node's gates changes during validation; mostly, pods are added or removed.",
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
        findings = context.findings.get(claim_key(node.claim.name)) if node.claim is not None else None
        if findings is not None and findings.drain is not None and findings.drain.stage is not DrainStage.WANTED:
            continue
        first[event.involved_name] = min(first.get(event.involved_name, event.first_ns), event.first_ns)
        times += event.count
    if first:
        yield Finding(
            severity=Severity.INFO,
            objects=tuple(ObjectRef("Node", name) for name in first),
            fact=f"{counted(len(first), 'node')} ({listed(first)}) {verb(len(first), 'has', 'have')} been called a "
            f"consolidation candidate {times:,} times for up to {span(context.now_ns - min(first.values()))} and "
            f"{verb(len(first), 'is', 'are')} still here: Karpenter publishes the event before scoring and validation.",
        )


@rule(
    "node-dead-protection",
    title="do-not-disrupt without effect on a node",
    what="karpenter.sh/do-not-disrupt on a node has a value other than true, or only the NodeClaim has it.",
    why="On nodes only the value true counts; durations work on pods only. Annotations of a NodeClaim are copied to its"
    " node once, at registration; later changes have no effect.",
    source="pkg/controllers/state/statenode.go",
    remedy='Annotate the Node, with "true", and remove the annotation when it is no longer needed.',
)
def _dead_protection(context: AdviceContext) -> Iterator[Finding]:
    by_value: dict[str, list[str]] = {}
    claims: list[str] = []
    for state in context.fleet.nodes:
        on_node = state.node.annotations.get(DO_NOT_DISRUPT) if state.node is not None else None
        on_claim = state.claim.annotations.get(DO_NOT_DISRUPT) if state.claim is not None else None
        is_protected = state.node is not None and protects_node(state.node.annotations)
        if state.node is not None and state.claim is not None and not is_protected and on_node not in (None, *OFF):
            by_value.setdefault(str(on_node), []).append(state.node.name)
        elif state.claim is not None and state.is_registered and on_node is None and on_claim not in (None, *OFF):
            claims.append(state.claim.name)
    for value, names in sorted(by_value.items()):
        yield Finding(
            severity=Severity.WARNING,
            objects=tuple(ObjectRef("Node", name) for name in names),
            fact=f"{counted(len(names), 'node')} ({listed(names)}) {verb(len(names), 'has', 'have')} do-not-disrupt "
            f'"{value}": on a node only "true" counts, so it protects nothing.',
        )
    if claims:
        yield Finding(
            severity=Severity.WARNING,
            objects=tuple(ObjectRef("NodeClaim", name) for name in claims),
            fact=f"{counted(len(claims), 'NodeClaim')} ({listed(claims)}) {verb(len(claims), 'has', 'have')} "
            "do-not-disrupt and the node does not: once a node has registered only its own annotation counts.",
        )


@rule(
    "node-deleting-blocks-all",
    title="one pod blocks all disruption",
    what="A node is being deleted, and in the simulation one of its pods is unschedulable.",
    why="Every simulated removal also schedules the pods of terminating nodes. If one of them is unschedulable, every "
    "simulation fails, and the candidate's event names a pod of another node. Only empty nodes are consolidated without"
    " a simulation.",
    source="SimulateScheduling in pkg/controllers/disruption/helpers.go",
    remedy="Make room for that pod, change its requests, or delete it.",
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
    home = context.node_by_name.get(nodes[0])
    cause, _ = reason_of(no_place(context.solution, stuck[0]), home.nodepool_name if home is not None else "")
    where = f"{counted(len(nodes), 'node')} that {verb(len(nodes), 'is', 'are')} being removed"
    fact = f"{counted(len(stuck), 'pod')} of {where} fit nowhere else ({stuck[0].key}: {cause})"
    if len(stuck) == 1:
        fact = f"{stuck[0].key} of {nodes[0]}, which is being removed, fits nowhere else: {cause}"
    yield Finding(
        severity=Severity.ERROR,
        objects=(
            *(ObjectRef("Pod", pod.name, pod.namespace) for pod in stuck),
            *(ObjectRef("Node", name) for name in nodes),
        ),
        fact=f"{fact}. Until {verb(len(stuck), 'it fits', 'they fit')}, Karpenter replaces no drifted node and "
        "consolidates only empty ones.",
    )


def _has_drain_with_end(context: AdviceContext, node: StateNode, evicted: Collection[str]) -> bool:
    """Return whether each pod that a drain waits for ends by its grace period, by its do-not-disrupt, or in turn."""
    predicates = context.fleet.pods
    waiting = [pod for pod in node.pods if predicates.is_waited_for(pod)]
    ends = {pod: pod.deletion_ns if pod.is_terminating else predicates.protection(pod).until_ns for pod in waiting}
    return bool(waiting) and all(
        end_ns > context.now_ns or pod.key.rpartition("-")[0] in evicted for pod, end_ns in ends.items()
    )


@rule(
    "node-drain-without-end",
    title="a drain that may never end",
    what="A NodeClaim has been in deletion for more than half an hour, is not drained, and has no deadline. Pods "
    "that end by their grace period, whose do-not-disrupt ends, or of which others were evicted within 10 minutes, do "
    "not count.",
    why="A drain waits for pods with do-not-disrupt and for PodDisruptionBudgets. terminationGracePeriod of the "
    "NodeClaim would end the wait; it is fixed when the NodeClaim is created, so adding it to the NodePool now does "
    "not help this node.",
    source="pkg/controllers/node/termination/controller.go",
    remedy="Remove what blocks the drain, or delete those pods; the node's detail lists them. For future nodes set "
    "terminationGracePeriod on the NodePool.",
)
def _drain_without_end(context: AdviceContext) -> Iterator[Finding]:
    recent = (event for event in context.inventory.events if event.last_ns >= context.now_ns - ADVANCED_NS)
    evicted = evicted_controllers(recent)
    draining = [
        (context.now_ns - node.claim.deletion_ns, node)
        for node in context.fleet.nodes
        if node.node is not None
        and node.claim is not None
        and node.claim.is_deleting
        and context.now_ns - node.claim.deletion_ns >= LONG_NS
        and deadline_of(node.claim) is None
        and deletion_stage(node.claim, node.node)[0] is not DrainStage.INSTANCE
        and not _has_drain_with_end(context, node, evicted)
    ]
    if not draining:
        return
    draining.sort(key=lambda pair: (-pair[0], pair[1].name))
    nodes = [node for _, node in draining]
    cost = context.cost(nodes)
    waiting = [pod.key for node in nodes for pod in node.pods if context.fleet.pods.is_waited_for(pod)]
    waits = (
        f" {verb(len(nodes), 'It waits', 'They wait')} for {listed(waiting)}."
        if waiting
        else " No pod blocks it: check finalizers and volumes."
    )
    yield Finding(
        severity=Severity.WARNING,
        objects=node_refs(nodes),
        fact=f"{named_nodes(nodes)}{at_cost(cost)} {verb(len(nodes), 'has', 'have')} been terminating for up to "
        f"{span(draining[0][0])}, and without terminationGracePeriod nothing ends the drain.{waits}",
        per_hour=cost,
    )


@rule(
    "node-never-initialized",
    title="a node never becomes initialized",
    what="A node has registered but is not initialized after 15 minutes, or after five times the usual duration if that"
    " is longer.",
    why="A node is initialized once it is Ready, its startup taints are removed and it reports every requested "
    "resource. Until then it is never a candidate and does not count for budgets. No timer removes it: the registration"
    " timeout only covers nodes that never joined.",
    source="pkg/controllers/nodeclaim/lifecycle/initialization.go and liveness.go",
    remedy="See which startup taint remains or which resource is missing (mostly a device plugin's), or delete the "
    "NodeClaim.",
)
def _never_initialized(context: AdviceContext) -> Iterator[Finding]:
    durations = observed(context.inventory.nodeclaims)
    uninitialized = [
        (context.now_ns - joined_since(node.claim), node)
        for node in context.fleet.nodes
        if node.claim is not None
        and node.node is not None
        and node.is_registered
        and not node.is_initialized
        and not node.is_marked_for_deletion
        and ABSENT_NS != joined_since(node.claim) < context.now_ns - durations.patience_of(node.nodepool_name)
    ]
    if not uninitialized:
        return
    uninitialized.sort(key=lambda pair: (-pair[0], pair[1].name))
    nodes = [node for _, node in uninitialized]
    cost = context.cost(nodes)
    yield Finding(
        severity=Severity.ERROR,
        objects=node_refs(nodes),
        fact=f"{named_nodes(nodes)}{at_cost(cost)} registered and {verb(len(nodes), 'is', 'are')} not initialized "
        f"after up to {span(uninitialized[0][0])}{_because(nodes[0])}: such a node is never disrupted for drift or "
        "consolidation.",
        per_hour=cost,
    )


def _because(node: StateNode) -> str:
    """Return the obstacles of initialization in brackets."""
    if node.claim is None or node.node is None:
        return ""
    obstacles = initialization_obstacles(node.claim, node.node)
    return f" ({obstacles.text})" if obstacles.text else ""


_EDITED: Final = 20


@rule(
    "node-protected",
    title="node with do-not-disrupt",
    what='Nodes carry karpenter.sh/do-not-disrupt "true", and not because their NodePool\'s template has it.',
    why="The annotation on a node is stronger than on its pods: with terminationGracePeriod, drift can replace a node "
    "with protected pods, but not a node with the annotation. It never expires and is easily forgotten. Expiration, "
    "deletion and interruption still apply.",
    source="pkg/controllers/state/statenode.go",
    remedy="Run kubectl annotate node NAME karpenter.sh/do-not-disrupt- when it is no longer needed. To protect certain"
    " pods, annotate the pods instead.",
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
    cost, waits = context.cost(nodes), ""
    if drifted:
        have = "it has" if len(nodes) == 1 else counted(len(drifted), "of them has", "of them have")
        waits = f"; {have} drifted and {verb(len(drifted), 'stays', 'stay')} despite terminationGracePeriod"
    yield Finding(
        severity=Severity.WARNING if drifted else Severity.INFO,
        objects=node_refs(nodes),
        fact=f"{named_nodes(nodes)}{at_cost(cost)} {verb(len(nodes), 'has', 'have')} do-not-disrupt: neither drift nor "
        f"consolidation ever removes {verb(len(nodes), 'it', 'them')}{waits}.",
        edits=tuple(
            SetField(ObjectRef("Node", node.node.name), ("metadata", "annotations", DO_NOT_DISRUPT))
            for node in nodes[:_EDITED]
            if node.node is not None
        ),
        per_hour=cost,
    )


_PROTECTED: Final = frozenset({Code.POD_DND, Code.NODE_DND})
_CORDONED: Final = 20
"""Maximum number of nodes that a what-if cordons."""


@rule(
    "node-receives-pods",
    title="a protected node keeps filling up",
    what="In the last hour, pods other than DaemonSet pods were bound to a node that do-not-disrupt blocks without end "
    "and that is not cordoned.",
    why="do-not-disrupt does not keep new pods away. Karpenter and kube-scheduler still place pods on the node, "
    "including protected ones, so it is never empty. terminationGracePeriod limits only drift and deletion.",
    source="pkg/controllers/state/statenode.go and pkg/controllers/provisioning/scheduling/existingnode.go",
    remedy="Give protected pods a separate, tainted NodePool, which frees all other nodes. Or cordon the nodes, or set "
    "a duration instead of true.",
)
def _receives_pods(context: AdviceContext) -> Iterator[Finding]:
    for pool in context.pools:
        pod_counts = [
            (node, findings.recent_pods)
            for node in context.nodes_of(pool)
            if (findings := context.findings.get(claim_key(node.claim.name) if node.claim is not None else ""))
            is not None
            and findings.recent_pods
            and any(blocker.code in _PROTECTED and blocker.until_ns is None for blocker in findings.blockers)
            and node.node is not None
            and not node.node.is_unschedulable
        ]
        if pod_counts:
            yield _finding(context, pool, pod_counts)


def _finding(context: AdviceContext, pool: NodePool, pod_counts: list[tuple[StateNode, int]]) -> Finding:
    nodes = [node for node, _ in sorted(pod_counts, key=lambda pair: (-pair[1], pair[0].name))]
    cost, pods = context.cost(nodes), sum(count for _, count in pod_counts)
    return Finding(
        severity=Severity.WARNING,
        objects=node_refs(nodes),
        fact=f"{counted(len(nodes), 'node')} of {pool.name}{at_cost(cost)} "
        f"{verb(len(nodes), 'is', 'are')} blocked by do-not-disrupt and still received "
        f"{counted(pods, 'new pod')} in the last hour ({listed(node.name for node in nodes)}): "
        f"{verb(len(nodes), 'it never runs', 'they never run')} empty.",
        edits=tuple(CordonNode(node.name) for node in nodes[:_CORDONED]),
        per_hour=cost,
    )


_SLACK: Final = 100
"""A hundredth of an amount is measurement, not a difference."""
_DISK_SLACK: Final = 10
"""File systems take some percent of a disk; Karpenter's own check allows a tenth."""


@rule(
    "node-smaller-than-claim",
    title="node smaller than its NodeClaim",
    what="An initialized node's allocatable cpu, memory or pods is more than one percent below its NodeClaim's, or its "
    "ephemeral storage more than ten. It is an error if a pending pod would fit by the NodeClaim.",
    why="The NodeClaim holds the resources that Karpenter planned with. A node with less, because of kubelet "
    "settings, the image or the memory overhead, cannot run the pods it was launched for; they stay pending, and "
    "Karpenter launches another such node.",
    source="pkg/controllers/nodeclaim/consistency/nodeshape.go",
    remedy="Set spec.kubelet of the NodeClass to the image's settings, or raise VM_MEMORY_OVERHEAD_PERCENT.",
)
def _smaller_than_claim(context: AdviceContext) -> Iterator[Finding]:
    by_resource: dict[str, list[tuple[int, StateNode]]] = {}
    waiting: set[str] = set()
    for state in context.fleet.nodes:
        if state.node is None or state.claim is None or not state.is_initialized:
            continue
        for resource in (CPU, MEMORY, PODS, EPHEMERAL_STORAGE):
            promised, real = nano(state.claim.allocatable, resource), nano(state.node.allocatable, resource)
            if real and promised - real > promised // (_DISK_SLACK if resource == EPHEMERAL_STORAGE else _SLACK):
                by_resource.setdefault(resource, []).append((promised - real, state))
                is_full = resource == PODS and len(state.pods) * NANO >= real
                if any(
                    real < nano(pod.requests, resource) <= promised
                    or (is_full and pod.template.node_selector.items() <= state.labels.items())
                    for pod in context.prepared.pending
                ):
                    waiting.add(resource)
    for resource, gaps in by_resource.items():
        gaps.sort(key=lambda pair: (-pair[0], pair[1].name))
        planned, offered = (
            amount_text(resource, nano(source.allocatable, resource), is_exact=True)
            for source in (gaps[0][1].claim, gaps[0][1].node)
            if source is not None
        )
        types = dict.fromkeys(state.labels.get(INSTANCE_TYPE, "") for _, state in gaps)
        pools = dict.fromkeys(state.nodepool_name for _, state in gaps)
        yield Finding(
            severity=Severity.ERROR if resource in waiting else Severity.WARNING,
            objects=node_refs(state for _, state in gaps),
            fact=f"{counted(len(gaps), 'node')} of {listed(pools)} ({listed(types)}) "
            f"{verb(len(gaps), 'offers', 'offer')} {'fewer' if resource == PODS else 'less'} {resource} than "
            f"{verb(len(gaps), 'its NodeClaim', 'their NodeClaims')}, "
            f"{gaps[0][1].name} {offered} instead of {planned}: "
            "pods that Karpenter launches such a node for may not fit.",
        )


@rule(
    "node-unmanaged",
    title="nodes Karpenter does not manage",
    what="There are nodes without a NodeClaim.",
    why="Karpenter schedules pods on nodes of managed node groups, Fargate or manual origin, but never disrupts these "
    "nodes. A node that lost its NodeClaim is in the same state, and keeps costing money.",
    source="pkg/controllers/state/cluster.go",
    remedy="To replace such a node with a Karpenter node, drain and delete it. Keep the nodes that run Karpenter "
    "itself.",
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
            fact=f"{named_nodes(orphans)} {verb(len(orphans), 'carries', 'carry')} the label of a NodePool and "
            f"{verb(len(orphans), 'has', 'have')} no NodeClaim: Karpenter ignores {them} and never removes {them}.",
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
