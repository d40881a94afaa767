"""The input of the verdict, taken from a view of the cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from karptui.decode.controller import namespaces_of
from karptui.decode.kinds import Kind
from karptui.disruption.budgets import REPAIR_GATE
from karptui.disruption.churn.moves import WorkloadNames
from karptui.disruption.codes import CODES, WhyCode
from karptui.disruption.owner import OriginIndex, OwnerIndex
from karptui.disruption.repair import policies_of
from karptui.disruption.termination import deadline_of
from karptui.karpenter.labels import DO_NOT_EVICT, HOSTNAME, INITIALIZED, NODEPOOL, is_disrupted
from karptui.karpenter.pdb_limits import is_always_closed
from karptui.karpenter.pod_predicates import is_stuck_terminating
from karptui.kube import resources
from karptui.kube.objects import controller_of
from karptui.kube.pod import DO_NOT_SCHEDULE, NOT_STARTED, Pod, lost_pods
from karptui.kube.quantity import NANO
from karptui.kube.selectors import LabelSelector
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import age_text, amount_text, counted
from karptui.pending.causes import Cause, storage_classes, zones_of_volumes
from karptui.pending.disagreements import DECISIVE
from karptui.provisioning.limits import as_good_as_full
from karptui.provisioning.nearest import furthest
from karptui.provisioning.pod_class import RESPECT
from karptui.provisioning.rejection import PlacementGate
from karptui.provisioning.state_node import StateNode, tracked
from karptui.provisioning.volumes import unread_of_volumes
from karptui.session.controller import controller_of_view, is_karpenter
from karptui.session.costs import held_per_hour, share_saved
from karptui.session.nodeclasses import alias_of, assumed_of, lacks_nodeclasses
from karptui.session.nodes import NodeEntry
from karptui.session.pools import limit_uses
from karptui.session.readiness import OPTIONAL, is_on_the_way, left_out, may_list_events
from karptui.session.refusals import launch_refusals_of
from karptui.session.status import plural, seen_ns
from karptui.session.types_of_pools import types_of_pool
from karptui.state.cluster import inventory_of
from karptui.verdict.controller import CRASHING
from karptui.verdict.creation import FAILED_CREATE
from karptui.verdict.finding import (
    Apart,
    ClusterFinding,
    FindingSeverity,
    LimitLine,
    OutlivedPod,
    PendingLine,
    StartingPod,
    VerdictCase,
    VerdictNode,
)
from karptui.verdict.launches import REGISTRATION_TTL_NS
from karptui.verdict.nodes import NOTICE_NS
from karptui.verdict.upcoming import is_leaving
from karptui.verdict.verdict import verdict_of

if TYPE_CHECKING:
    from karptui.karpenter.nodepool import NodePool
    from karptui.pending.groups import PendingGroup
    from karptui.provisioning.explain import PoolExplanation
    from karptui.session.cluster_view import ClusterView

OLD_NS: Final = 10 * 60 * NS_PER_SECOND
"""Data older than this does not show that the cluster is healthy."""
LATE_NS: Final = 60 * NS_PER_SECOND
"""Pods pending for less are ignored: they may be scheduled soon."""
_NEEDED: Final = (
    Kind.NODE,
    Kind.NODECLAIM,
    Kind.NODEPOOL,
    Kind.POD,
    Kind.PDB,
    Kind.DAEMONSET,
    Kind.NODECLASS,
)
"""Kinds without which the verdict is not whole."""
_LOOKED_AT: Final = (Kind.EVENT, Kind.LEASE, Kind.DEPLOYMENT, Kind.REPLICASET, Kind.STATEFULSET)
"""Kinds without which some findings are missing."""
_LIGHT: Final = 4
"""Pods request less than this part of a nearly empty node: a quarter."""
_HOUR_NS: Final = 3600 * NS_PER_SECOND
_PREEMPTED: Final = "Preempted"
"""Reason of kube-scheduler's events about pods that it preempts."""
_PROTECTING: Final = (WhyCode.DND, WhyCode.PDB)


def verdict_of_view(view: ClusterView, now_ns: int) -> tuple[ClusterFinding, ...]:
    """Return the findings about a cluster, worst first."""
    metrics = view.evidence.metrics
    has_counters = metrics is not None and metrics.is_leader and metrics.started_at_ns > 0
    replicas = _refused_sets(view)
    pods = _pods(view, replicas.keys())
    is_file = {status.phase for status in view.statuses.values()} == {"offline"}
    hidden = [kind for kind in _NEEDED if kind in view.hidden and not _is_assumed(view, kind)]
    if is_file and Kind.POD in view.state.unread and Kind.POD not in hidden:
        hidden.append(Kind.POD)
    return verdict_of(
        VerdictCase(
            now_ns=now_ns,
            nodes=[_line(view, entry, now_ns) for entry in view.node_entries],
            analysis=view.analysis,
            pending=tuple(_pending(view, now_ns)),
            controller=controller_of_view(view, pods.karpenter, now_ns),
            events=view.state.events.values(),
            nodeclasses=view.state.nodeclasses,
            starting=pods.starting,
            crashing=pods.crashing,
            gated=pods.gated,
            unended=pods.unended,
            outlived=tuple(_outlived(view, pods.outlived)),
            running_on=_running_on(view, pods.crashing),
            replicas={key: (pods.of_sets[key], wanted) for key, wanted in replicas.items() if Kind.POD not in hidden},
            repair_policies=policies_of(tuple(view.state.nodepools.values()), view.evidence.settings),
            repairs=view.evidence.settings.gate(REPAIR_GATE),
            refusals=launch_refusals_of(view.state),
            advice=view.advice,
            unchecked=tuple(_unchecked(view, now_ns)),
            pools=tuple(view.state.nodepools.values()),
            limits=tuple(_limits(view)),
            closed_pdbs=frozenset(pdb.key for pdb in view.state.pdbs.values() if is_always_closed(pdb)),
            namespace_pdbs={
                pdb.key: pdb.expected_pods for pdb in view.state.pdbs.values() if pdb.selector == LabelSelector()
            },
            uncounted_pdbs={pdb.key: pdb.sync_error for pdb in view.state.pdbs.values() if pdb.sync_error},
            hidden=tuple(map(plural, hidden)),
            ignored={plural(kind): _severity(kind) for kind in hidden if kind in OPTIONAL},
            assumed={node_class.name: alias_of(node_class) for node_class in assumed_of(view)},
            unread=tuple(_unread_volumes(view)) if view.state.unread else (),
            sees_nodes=Kind.NODE not in view.hidden,
            sees_claims=Kind.NODECLAIM not in view.hidden,
            sees_pods=Kind.POD not in hidden,
            sees_pools=Kind.NODEPOOL not in view.hidden,
            is_file=is_file,
            has_prices=not view.evidence.price_settings.is_disabled,
            timeouts=metrics.consolidation_timeouts.get("single", 0) if metrics is not None and has_counters else 0,
            started_ns=metrics.started_at_ns if metrics is not None and has_counters else None,
        )
    )


def _severity(kind: Kind) -> FindingSeverity:
    """Return how much it matters that a kind counts as none: without DaemonSets new nodes have a little more room."""
    return FindingSeverity.INFO if kind is Kind.DAEMONSET else FindingSeverity.WARNING


def _unread_volumes(view: ClusterView) -> Iterator[str]:
    """Yield the kinds without which volumes of pods bind to nothing, and that are not just on their way."""
    for kind in unread_of_volumes(inventory_of(view.state)):
        if not is_on_the_way(view, Kind(kind)):
            yield kind


def is_guess(view: ClusterView) -> bool:
    """Whether answers about pods count a kind as none, or assume objects, because it was not read."""
    return bool(left_out(view) or assumed_of(view) or unread_of_volumes(inventory_of(view.state)))


def _is_assumed(view: ClusterView, kind: Kind) -> bool:
    return kind is Kind.NODECLASS and not lacks_nodeclasses(view)


def _line(view: ClusterView, entry: NodeEntry, now_ns: int) -> VerdictNode:
    findings, node = entry.findings, entry.node
    would_save = None
    if findings is not None and findings.outlook is not None and findings.outlook.now.goes:
        would_save = share_saved(entry, findings.outlook.now)
    ready = node.ready if node is not None else None
    is_sick = node is not None and entry.is_managed and not entry.is_deleting and _has_joined(entry, now_ns)
    is_down = ready is None or ready.status != "True"
    line = VerdictNode(
        name=entry.name,
        pool=entry.pool,
        claim=entry.claim,
        has_node=node is not None,
        findings=findings,
        per_hour=entry.price.per_hour if entry.price is not None else None,
        held=held_per_hour(entry) if findings is not None and findings.is_held else None,
        would_save=would_save,
        not_ready_ns=(ready.last_transition_ns if ready is not None else 0) if is_sick and is_down else None,
        deleted_ns=min(
            (item.deletion_ns for item in (node, entry.claim) if item is not None and item.is_deleting), default=None
        ),
        zone=entry.zone,
        capacity_type=entry.capacity_type,
        instance_type=entry.instance_type,
        node=node,
        stuck_pods=tuple(_stuck_pods(view, entry, now_ns)) if is_sick and is_down else (),
        protected_pods=tuple(_protected_pods(entry)),
        is_cordoned=node is not None and node.is_unschedulable,
        is_disrupted=node is not None and is_disrupted(node.taints),
        pods=entry.usage.workload_pods if entry.usage is not None else 0,
        apart=kept_apart(view, entry),
    )
    if node is None or not entry.is_managed or not is_leaving(line, now_ns):
        return line
    pods = view.state.pods_on(node.name).values()
    return replace(
        line,
        lost_pods=lost_pods(pods),
        cut_pods=tuple(pod.key for pod in pods if _is_cut_short(line, pod)),
        slow_pods=tuple(pod.key for pod in pods if _is_slow(pod)),
        unread_pods=tuple(pod.key for pod in pods if pod.is_active and DO_NOT_EVICT in pod.template.annotations),
    )


def _is_slow(pod: Pod) -> bool:
    """Return whether a pod is ending, and may take longer than EC2's notice of an interruption."""
    if not pod.is_terminating or pod.is_terminal or pod.template.is_daemonset_owned:
        return False
    return pod.template.termination_grace_seconds * NS_PER_SECOND > NOTICE_NS


def _is_cut_short(line: VerdictNode, pod: Pod) -> bool:
    """Return whether the drain of a pod's node ends before the pod's own grace period could."""
    claim = line.claim
    deadline = deadline_of(claim) if claim is not None and claim.is_deleting else None
    if claim is None or deadline is None or pod.is_terminal or pod.template.is_daemonset_owned:
        return False
    return pod.template.termination_grace_seconds * NS_PER_SECOND > deadline.at_ns - claim.deletion_ns


def kept_apart(view: ClusterView, entry: NodeEntry) -> tuple[str, Apart] | None:
    """Return the only workload on a nearly empty node, and its rule about separate nodes that keeps that node."""
    is_kept = entry.findings is not None and entry.findings.why.code is WhyCode.PRICE
    if entry.node is None or entry.usage is None or not is_kept:
        return None
    workload, room = entry.usage.workload, entry.node.allocatable
    for name in (resources.CPU, resources.MEMORY):
        if _LIGHT * resources.nano(workload, name) >= resources.nano(room, name):
            return None
    pods = [pod for pod in view.state.pods_on(entry.name).values() if not pod.template.is_daemonset_owned]
    origins = OriginIndex(OwnerIndex(()))
    owners = {origins.of(pod) for pod in pods}
    rules = {_apart_rule(pod) for pod in pods if pod.is_active}
    rule = rules.pop() if len(rules) == len(owners) == 1 else None
    if rule is None or (rule is Apart.PREFERRED and view.evidence.settings.preference_policy != RESPECT):
        return None
    return owners.pop().partition("/")[2], rule


def _apart_rule(pod: Pod) -> Apart | None:
    """Return the only rule by which a pod keeps away from nodes with others of its kind; None if others may matter."""
    template = pod.template
    required = {term.topology_key: Apart.ANTI_AFFINITY for term in template.pod_anti_affinity}
    soft = {weighted.term.topology_key for weighted in template.preferred_pod_anti_affinity}
    for constraint in template.topology_spread:
        if constraint.when_unsatisfiable == DO_NOT_SCHEDULE:
            required[constraint.topology_key] = Apart.SPREAD
        else:
            soft.add(constraint.topology_key)
    if pod.volumes or required.keys() - {HOSTNAME}:
        return None
    return required.get(HOSTNAME, Apart.PREFERRED if HOSTNAME in soft else None)


class _Pods(NamedTuple):
    starting: list[StartingPod]
    """Bound to a node, with containers that have not started."""
    crashing: list[StartingPod]
    """With a container that ends again and again."""
    gated: list[StartingPod]
    """Running, and not ready because of a readiness gate."""
    unended: list[StartingPod]
    """On a node, deleted, and past their grace period or not."""
    karpenter: list[Pod]
    outlived: list[Pod]
    """Of Jobs, and finished but for a container that runs on."""
    of_sets: Counter[str]
    """Active pods by ReplicaSet or StatefulSet (``Kind/namespace/name``), of the given ones."""


def _pods(view: ClusterView, sets: AbstractSet[str]) -> _Pods:
    """Return the pods that findings are about, in one pass over all pods."""
    pods, origins = _Pods([], [], [], [], [], [], Counter()), OriginIndex(OwnerIndex(()))
    namespaces = namespaces_of(view.evidence.controller)
    for pod in view.state.pods.values():
        if is_karpenter(pod, namespaces):
            pods.karpenter.append(pod)
        is_starting = pod.waiting_reason in NOT_STARTED and pod.phase == "Pending"
        gate = pod.trouble.readiness_gate
        if (is_starting or pod.waiting_reason == CRASHING) and pod.node_name and pod.is_active:
            (pods.starting if is_starting else pods.crashing).append(_late_pod(pod, origins))
        elif gate and pod.is_active:
            pods.gated.append(replace(_late_pod(pod, origins), since_ns=pod.unready_ns, waiting_reason=gate))
        elif pod.is_terminating and pod.node_name:
            pods.unended.append(replace(_late_pod(pod, origins), since_ns=pod.deletion_ns))
        if pod.trouble.outliving and pod.is_active and _is_of_job(pod):
            pods.outlived.append(pod)
        if sets and pod.is_active and (owner := controller_of(pod.owners)) is not None:
            pods.of_sets.update({f"{owner.kind}/{pod.namespace}/{owner.name}"} & sets)
    return pods


def _late_pod(pod: Pod, origins: OriginIndex) -> StartingPod:
    owner = controller_of(pod.owners)
    return StartingPod(
        pod.key,
        pod.node_name,
        pod.start_ns or pod.scheduled_ns or pod.created_ns,
        pod.waiting_reason,
        next(iter(pod.template.images), ""),
        origins.of(pod),
        controller=owner.uid if owner is not None else "",
        message=pod.trouble.message,
        exit_code=pod.trouble.exit_code,
        exit_reason=pod.exit_reason,
        init_container=pod.trouble.init_container,
    )


def _is_of_job(pod: Pod) -> bool:
    owner = controller_of(pod.owners)
    return owner is not None and owner.kind == Kind.JOB


def _outlived(view: ClusterView, pods: Sequence[Pod]) -> Iterator[OutlivedPod]:
    """Yield pods that have finished but for a container, with their workloads."""
    origins = OriginIndex(view.owners)
    for pod in pods:
        yield OutlivedPod(
            pod.key, pod.node_name, origins.of(pod), pod.trouble.finished_ns, tuple(sorted(pod.trouble.outliving))
        )


def _running_on(view: ClusterView, crashing: Sequence[StartingPod]) -> dict[str, set[str]]:
    """Return the nodes on which other pods of the same controllers as crashing ones run, by the controller's UID."""
    nodes = {pod.controller: set[str]() for pod in crashing if pod.controller}
    for pod in view.state.pods.values() if nodes else ():
        if pod.phase == "Running" and not pod.waiting_reason and (owner := controller_of(pod.owners)) is not None:
            nodes.get(owner.uid, set[str]()).add(pod.node_name)
    return nodes


def _refused_sets(view: ClusterView) -> dict[str, int]:
    """Return the ReplicaSets and StatefulSets (``Kind/namespace/name``) whose pods are refused, with their replicas."""
    events = [event for event in view.state.events.values() if event.reason == FAILED_CREATE]
    wanted: dict[str, int] = {}
    for kind in (Kind.REPLICASET, Kind.STATEFULSET):
        sets = view.state.of(kind) if events else {}
        for event in events:
            workload = sets.get(f"{event.involved_namespace}/{event.involved_name}")
            if event.involved_kind == kind and workload is not None and workload.replicas:
                wanted[f"{kind}/{workload.key}"] = workload.replicas
    return wanted


def _stuck_pods(view: ClusterView, entry: NodeEntry, now_ns: int) -> Iterator[str]:
    """Yield the pods of a node that should have ended by now."""
    for key, pod in view.state.pods_on(entry.name).items():
        if is_stuck_terminating(pod, now_ns):
            yield key


def _protected_pods(entry: NodeEntry) -> Iterator[str]:
    """Yield the pods of a node that do-not-disrupt or a PodDisruptionBudget protects."""
    blockers = entry.findings.blockers if entry.findings is not None else ()
    protected = (b.object_key for b in blockers if b.object_kind == "Pod" and CODES[b.code].why in _PROTECTING)
    yield from dict.fromkeys(protected)


def _has_joined(entry: NodeEntry, now_ns: int) -> bool:
    """Return whether a node was initialized; without its NodeClaim its label says so, or its age."""
    if entry.claim is not None:
        return entry.claim.is_true("Initialized")
    node = entry.node
    return node is not None and (
        node.labels.get(INITIALIZED) == "true" or now_ns - node.created_ns > REGISTRATION_TTL_NS
    )


def _unchecked(view: ClusterView, now_ns: int) -> Iterator[str]:
    """Yield the parts of the program that have not answered yet, and the kinds that some findings need and lack."""
    if view.pending is None and view.state.pending_pods:
        yield "pending pods"
    if view.advice is None:
        yield "the rules of Advice"
    elif view.advice.failures:
        yield counted(len(view.advice.failures), "rule of Advice", "rules of Advice")
    if view.analysis is None:
        yield "what blocks removals"
    yield from (plural(kind) for kind in _LOOKED_AT if kind in view.hidden)
    if assumed_of(view):
        yield plural(Kind.NODECLASS)
    read_ns = min(seen_ns(view.statuses.get(kind), now_ns) for kind in _NEEDED)
    if now_ns - read_ns > OLD_NS:
        yield f"changes of the last {age_text(read_ns, now_ns)}"


def _pending(view: ClusterView, now_ns: int) -> Iterator[PendingLine]:
    """Yield pending pods in groups; before the engine has looked at them, those that have been pending for a while."""
    if view.pending is not None:
        preempted = _preempted(view, now_ns)
        for group in view.pending.groups:
            yield replace(_group_line(view, group, now_ns), preempted=preempted[group.origin])
        return
    late = [
        pod
        for key in view.state.pending_pods
        if (pod := view.state.pods.get(key)) is not None and now_ns - pod.created_ns >= LATE_NS
    ]
    if late:
        yield PendingLine("", tuple(pod.key for pod in late), min(pod.created_ns for pod in late))


def _preempted(view: ClusterView, now_ns: int) -> Counter[str]:
    """Return how many pods kube-scheduler preempted in the last hour, by workload."""
    events = [
        event
        for event in view.state.events.values()
        if event.reason == _PREEMPTED and event.involved_kind == "Pod" and now_ns - event.last_ns <= _HOUR_NS
    ]
    if not events:
        return Counter()
    namespaces = frozenset(event.involved_namespace for event in events)
    names = WorkloadNames(namespaces, view.state.pods.values(), inventory_of(view.state).workloads)
    pods = {event.involved_uid or event.key: f"{event.involved_namespace}/{event.involved_name}" for event in events}
    return Counter(names.of_pod(key) for key in pods.values())


def _may_be_nominated(view: ClusterView, group: PendingGroup, now_ns: int) -> bool:
    """Return whether a NodeClaim that starts may be for pods, and the events that would say so were not read."""
    if group.cause is not Cause.CLAIM or may_list_events(view):
        return False
    pools = {place.nodepool for place in group.destinations}
    return any(
        claim.labels.get(NODEPOOL) in pools
        and not (claim.is_deleting or claim.is_true("Initialized"))
        and now_ns - claim.created_ns < REGISTRATION_TTL_NS
        for claim in view.state.nodeclaims.values()
    )


def _group_line(view: ClusterView, group: PendingGroup, now_ns: int) -> PendingLine:
    error, first = group.diagnosis.error, group.first
    nodes = {place.node for _, diagnosis, _ in group.members if (place := diagnosis.destination) is not None}
    nominated = {
        name
        for _, _, messages in group.members
        if messages.karpenter is not None
        for _, name in messages.karpenter.targets
    }
    closest = furthest(group.explanation) if group.explanation is not None else None
    pools = {place.nodepool for place in group.destinations if not place.node and place.nodepool}
    if closest is not None:
        pools.add(closest.nodepool)
    is_limited = closest is not None and closest.failed is PlacementGate.LIMITS and closest.besides_limits is None
    volumes = zones_of_volumes(first, view.state) if first.volumes else ()
    is_stuck = group.is_stuck(now_ns) and not _may_be_nominated(view, group, now_ns)
    return PendingLine(
        name=group.name,
        pods=tuple(pod.key for pod in group.pods),
        since_ns=min(pod.created_ns for pod in group.pods),
        group=group.key,
        full_pool=error.full_pool if error is not None and group.cause is Cause.FULL else "",
        is_stuck=is_stuck,
        is_held=is_stuck and bool(group.disagreements) and group.disagreements[0].code in DECISIVE,
        cause=group.cause,
        nodes=frozenset(filter(None, nodes | nominated)),
        pools=tuple(sorted(pools)),
        limited_pool=closest.nodepool if closest is not None and is_limited else "",
        daemonsets=tuple(_daemonsets_in_the_way(view, closest)) if closest is not None else (),
        owner=group.origin,
        zones=frozenset().union(*(zones for _, zones in volumes)),
        storage_classes=storage_classes(first, view.state) if volumes else (),
        requests=first.requests,
        rule=_rule_off_nodes(view, group, closest.nodepool) if closest is not None and is_limited else "",
        spread_keys=tuple(_spread_keys(first)),
        autoscaled=tuple(_autoscaled(view, group, closest)) if closest is not None else (),
    )


def _spread_keys(pod: Pod) -> Iterator[str]:
    for constraint in pod.template.topology_spread:
        if constraint.when_unsatisfiable == DO_NOT_SCHEDULE and constraint.topology_key != HOSTNAME:
            yield constraint.topology_key


def _autoscaled(view: ClusterView, group: PendingGroup, pool: PoolExplanation) -> Iterator[str]:
    """Yield the resources of which pods lack some, and that they request because of a VerticalPodAutoscaler."""
    for vpa in view.state.of(Kind.VPA).values() if pool.nearest is not None else ():
        if group.origin == f"{vpa.target_kind}/{vpa.namespace}/{vpa.target_name}":
            targets = resources.add(*(target for _, target in vpa.targets))
            for shortage in pool.nearest.shortages if pool.nearest is not None else ():
                asked = resources.nano(group.first.requests, shortage.resource)
                if asked == resources.nano(targets, shortage.resource):
                    yield shortage.resource


def _rule_off_nodes(view: ClusterView, group: PendingGroup, pool: str) -> str:
    """Return why nodes of a NodePool with room do not take pods, if a topology rule keeps them off; else nothing."""
    names = {entry.name for entry in view.node_entries if entry.pool == pool}
    refusals = group.explanation.nodes if group.explanation is not None else ()
    return next((r.reason for r in refusals if r.gate is PlacementGate.TOPOLOGY and r.node in names), "")


def _daemonsets_in_the_way(view: ClusterView, pool: PoolExplanation) -> Iterator[str]:
    """Yield DaemonSets that ask for at least as much as a pod lacks on the instance type that comes closest."""
    if pool.nearest is None or not pool.nearest.shortages:
        return
    for key, daemonset in view.state.daemonsets.items():
        requests = daemonset.template.requests
        if all(resources.nano(requests, s.resource) >= s.lacking_nano for s in pool.nearest.shortages):
            yield f"DaemonSet/{key}"


def _limits(view: ClusterView) -> Iterator[LimitLine]:
    """Yield the NodePools of which a limit is as good as used up by the nodes that Karpenter counts."""
    limited = {pool.name: pool for pool in view.state.nodepools.values() if pool.limits}
    if not limited:
        return
    nodes: dict[str, list[StateNode]] = {}
    for track in tracked(view.state.nodes.values(), view.state.nodeclaims.values()):
        state = StateNode(*track)
        if state.nodepool_name in limited and not state.is_marked_for_deletion:
            nodes.setdefault(state.nodepool_name, []).append(state)
    for name, pool in limited.items():
        line = _full(pool, sorted(nodes.get(name, ()), key=_came_ns))
        if line is not None:
            yield line if line.is_open else _by_types(view, _with_user(view, line, nodes[name]))


def _with_user(view: ClusterView, line: LimitLine, nodes: Sequence[StateNode]) -> LimitLine:
    """Return a limit that is used up, with the workload whose pods request more than half of the nodes' capacity."""
    origins, asked, pods = OriginIndex(view.owners), Counter[str](), Counter[str]()
    for state in nodes:
        for pod in view.state.pods_on(state.name).values():
            amount = resources.nano(pod.requests, line.resource)
            if pod.is_active and amount and not pod.template.is_daemonset_owned:
                origin = origins.of(pod)
                asked[origin] += amount
                pods[origin] += 1
    user, most = next(iter(asked.most_common(1)), ("", 0))
    used = sum(state.capacity_nano.get(line.resource, 0) for state in nodes)
    return replace(line, user=user, user_pods=pods[user]) if 2 * most > used else line


def _by_types(view: ClusterView, line: LimitLine) -> LimitLine:
    """Return a limit that is as good as used up, with whether the types that a NodePool allows leave room under it."""
    types = types_of_pool(view, line.pool)
    uses = limit_uses(types) if types is not None else ()
    use = next((use for use in uses if use.resource == line.resource and use.smallest is not None), None)
    if use is None or use.is_closed:
        return line
    return replace(line, spares_types=True) if use.smallest == 0 else replace(line, since_ns=0, is_open=True)


def _came_ns(state: StateNode) -> int:
    item = state.node or state.claim
    return item.created_ns if item is not None else 0


def _limit_text(resource: str, nano: int) -> str:
    """Return an amount; cpu in cores, as limits are written."""
    if resource != resources.CPU:
        return amount_text(resource, nano)
    return f"{nano / NANO:,.2f}".rstrip("0").removesuffix(".")


def _full(pool: NodePool, nodes: Sequence[StateNode]) -> LimitLine | None:
    """Return the first limit that is as good as used up, with when that happened, else the one closest to it."""
    limits = pool.limits or {}
    fullest: tuple[float, LimitLine] | None = None
    for name in pool.limited:
        limit = limits[name]
        if not limit.nano or (name == resources.NODES and pool.is_static):
            continue
        enough = as_good_as_full(name, limit.nano)
        used, since_ns = 0, 0
        for state in nodes:
            used += state.capacity_nano.get(name, 0)
            since_ns = since_ns or (_came_ns(state) if used >= enough else 0)
        text = f"{name} {_limit_text(name, used)} of {_limit_text(name, limit.nano)}"
        line = LimitLine(pool.name, text, since_ns, name, is_open=not since_ns)
        if since_ns:
            return line
        if fullest is None or used / limit.nano > fullest[0]:
            fullest = used / limit.nano, line
    return fullest[1] if fullest is not None else None
