"""The input of the verdict, taken from a view of the cluster."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from karptui.aws.kubelet import HOST_NETWORK_PODS, eni_limited_pods
from karptui.aws.market import live_instance_types
from karptui.decode.controller import namespaces_of
from karptui.decode.kinds import Kind
from karptui.disruption.budgets import REPAIR_GATE
from karptui.disruption.codes import CODES, WhyCode
from karptui.disruption.owner import OriginIndex, OwnerIndex
from karptui.disruption.repair import policies_of
from karptui.disruption.termination import deadline_of
from karptui.karpenter.do_not_disrupt import OFF, value_of
from karptui.karpenter.labels import (
    COMPUTE_TYPE,
    DO_NOT_DISRUPT,
    DO_NOT_EVICT,
    HOSTNAME,
    INITIALIZED,
    INSTANCE_TYPE,
    SAFE_TO_EVICT,
    TERMINATION_FINALIZER,
    is_disrupted,
)
from karptui.karpenter.pdb_limits import PdbLimits
from karptui.karpenter.pod_predicates import is_stuck_terminating, tolerates_disrupted
from karptui.kube import resources
from karptui.kube.objects import Node, controller_of
from karptui.kube.pod import DO_NOT_SCHEDULE, INITIALIZING, NOT_STARTED, OOM_KILLED, RUN_FAILED, Pod, lost_pods
from karptui.kube.taints import untolerated
from karptui.kube.timestamps import MINUTE_NS, NS_PER_SECOND
from karptui.kube.units import age_text, counted
from karptui.pending.nominations import selects
from karptui.provisioning.pod_class import RESPECT
from karptui.provisioning.reporter import Pause, no_pause, with_pauses
from karptui.provisioning.volumes import unread_of_volumes
from karptui.session.controller import controller_of_view, is_karpenter
from karptui.session.costs import held_per_hour, share_saved
from karptui.session.nodeclasses import alias_of, assumed_of, lacks_nodeclasses
from karptui.session.nodes import NodeEntry
from karptui.session.readiness import OPTIONAL, is_on_the_way, left_out
from karptui.session.refusals import launch_refusals_of
from karptui.session.status import is_file, plural, seen_ns
from karptui.session.status_events import events_of_jobs, events_of_pods, events_of_workloads, unobserved
from karptui.session.verdict_pending import limit_lines, pending_lines
from karptui.session.webhooks import EVICTIONS, REGISTRATIONS, dead_webhook
from karptui.state.cluster import inventory_of
from karptui.verdict.churn import SCALED
from karptui.verdict.containers import CRASHED_NS, NAME_SERVERS, SHARED_WORDS
from karptui.verdict.controller import CRASHING, EVICTORS, MANY_RESTARTS
from karptui.verdict.creation import FAILED_CREATE
from karptui.verdict.finding import (
    PREFERENCES,
    Apart,
    ClusterFinding,
    FindingSeverity,
    MemoryLimit,
    OutlivedPod,
    StartingPod,
    Unobserved,
    VerdictCase,
    VerdictNode,
)
from karptui.verdict.launches import REGISTRATION_TTL_NS
from karptui.verdict.nodes import NOTICE_NS
from karptui.verdict.pending_pods import key_of
from karptui.verdict.upcoming import is_leaving
from karptui.verdict.verdict import verdict_of

if TYPE_CHECKING:
    from karptui.session.cluster_view import ClusterView

OLD_NS: Final = 10 * MINUTE_NS
"""A cluster with older data is not reported as healthy."""
_NEEDED: Final = (Kind.NODE, Kind.NODECLAIM, Kind.NODEPOOL, Kind.POD, Kind.PDB, Kind.DAEMONSET, Kind.NODECLASS)
"""Kinds that a complete verdict needs."""
_USED: Final = (Kind.EVENT, Kind.LEASE, Kind.DEPLOYMENT, Kind.REPLICASET, Kind.STATEFULSET)
"""Kinds that some findings need."""
_LIGHT: Final = 4
"""Pods request less than this part of a nearly empty node: a quarter."""
_REMOVED_NS: Final = 3 * MINUTE_NS
"""A node group removes instances without a word; their nodes are gone within this time."""
_DRIVER: Final = frozenset({"csi", "controller"})
"""Words in the names of Deployments that create, attach and detach the volumes of a driver."""
_COOLING_DOWN: Final = 2
"""Addresses of pods that ended in the last seconds, which are not free yet."""
_PROTECTING: Final = (WhyCode.DND, WhyCode.PDB)


def verdict_of_view(view: ClusterView, now_ns: int, pause: Pause = no_pause) -> tuple[ClusterFinding, ...]:
    """Return the findings about a cluster, worst first; the same in whatever order its objects were read."""
    metrics = view.evidence.metrics
    has_counters = metrics is not None and metrics.is_leader and metrics.started_at_ns > 0
    events = [*view.state.events.values(), *events_of_workloads(view, now_ns), *events_of_jobs(view, now_ns, pause)]
    refused = {
        f"{e.involved_kind}/{e.involved_namespace}/{e.involved_name}" for e in events if e.reason == FAILED_CREATE
    }
    created = _created(view, refused, pause)
    pods = _pods(view, pause)
    events += events_of_pods(view, pods.failed, pause)
    _add_restarted(pods, now_ns)
    for failing in (pods.starting, pods.crashing):
        failing[:] = [replace(pod, is_outdated=_is_outdated(view, pod)) for pod in failing]
    limits = PdbLimits(view.state.pdbs.values())
    entries = sorted(view.node_entries, key=attrgetter("name"))
    unread = tuple(_unread_volumes(view)) if view.state.unread else ()
    from_file = is_file(view.statuses)
    hidden = [kind for kind in _NEEDED if kind in view.hidden and not _is_assumed(view, kind)]
    if from_file and Kind.POD in view.state.unread and Kind.POD not in hidden:
        hidden.append(Kind.POD)
    return verdict_of(
        VerdictCase(
            now_ns=now_ns,
            nodes=[_node_line(view, entry, limits, now_ns) for entry in with_pauses(entries, pause, 100)],
            analysis=view.analysis,
            pending=tuple(pending_lines(view, now_ns)),
            controller=controller_of_view(view, pods.karpenter, now_ns),
            events=sorted(events, key=attrgetter("last_ns", "key")),
            nodeclasses=view.state.nodeclasses,
            daemonsets=view.state.daemonsets.values(),
            overlays=view.state.of(Kind.NODEOVERLAY).values(),
            starting=pods.starting,
            crashing=pods.crashing,
            relapsing=pods.relapsing,
            gated=pods.gated,
            unready=pods.unready,
            unended=pods.unended,
            resizing=pods.resizing,
            outlived=tuple(_outlived(view, pods.outlived)),
            idle=_idle(view, pods, pause) if Kind.POD not in hidden else (),
            pools_of=_pools_of_moved(view, pause),
            running_on=_running_on(view, pods, pause),
            replicas=dict(_replicas(view, created, refused)) if Kind.POD not in hidden else {},
            newest_pods={owner: max(created) for owner, created in created.items()},
            unobserved=unobserved(view, now_ns, pause) if from_file else Unobserved(),
            repair_policies=policies_of(tuple(view.state.nodepools.values()), view.evidence.settings),
            repairs=_repairs(view),
            refusals=launch_refusals_of(view.state),
            addresses=_used_up_addresses(view, pods.starting),
            advice=view.advice,
            unchecked=(*_unchecked(view, now_ns), *map(plural, unread)),
            pools=tuple(view.state.nodepools.values()),
            limits=tuple(limit_lines(view, pause)),
            pdbs=view.state.pdbs,
            eviction_webhook=dead_webhook(view, *EVICTIONS) or (),
            node_webhook=dead_webhook(view, *REGISTRATIONS) or (),
            hidden=tuple(_hidden_text(view, kind) for kind in hidden),
            ignored={
                plural(kind): _severity(kind, is_list=from_file and Kind.EVENT in view.hidden)
                for kind in hidden
                if kind in OPTIONAL
            },
            assumed={node_class.name: alias_of(node_class) for node_class in assumed_of(view)},
            unread=unread,
            sees_nodes=Kind.NODE not in view.hidden,
            sees_claims=Kind.NODECLAIM not in view.hidden,
            sees_pods=Kind.POD not in hidden,
            sees_pools=Kind.NODEPOOL not in view.hidden,
            is_file=from_file,
            has_prices=not view.evidence.price_settings.is_disabled,
            timeouts=metrics.consolidation_timeouts.get("single", 0) if metrics is not None and has_counters else 0,
            started_ns=metrics.started_at_ns if metrics is not None and has_counters else None,
        ),
        pause,
    )


def _repairs(view: ClusterView) -> bool | None:
    """Return whether Karpenter repairs unhealthy nodes; None if its feature gates are not known."""
    settings = view.evidence.settings
    return None if view.evidence.is_assumed("FEATURE_GATES", settings) else settings.gate(REPAIR_GATE)


def _severity(kind: Kind, *, is_list: bool) -> FindingSeverity:
    # Without DaemonSets, new nodes only seem to have a little more room. Lists of kubectl may lack PodDisruptionBudgets
    # because there are none.
    is_minor = kind is Kind.DAEMONSET or (is_list and kind is Kind.PDB)
    return FindingSeverity.INFO if is_minor else FindingSeverity.WARNING


def _unread_volumes(view: ClusterView) -> Iterator[str]:
    """Yield the unread kinds that pods' volumes need, excluding those still loading."""
    for kind in unread_of_volumes(inventory_of(view.state)):
        if not is_on_the_way(view, Kind(kind)):
            yield kind


def is_guess(view: ClusterView) -> bool:
    """Whether answers about pods assume objects of a kind, or none, because it was not read."""
    return bool(left_out(view) or assumed_of(view) or unread_of_volumes(inventory_of(view.state)))


def _is_assumed(view: ClusterView, kind: Kind) -> bool:
    return kind is Kind.NODECLASS and not lacks_nodeclasses(view)


def _node_line(view: ClusterView, entry: NodeEntry, limits: PdbLimits, now_ns: int) -> VerdictNode:
    findings, node = entry.findings, entry.node
    would_save = None
    if findings is not None and findings.outlook is not None and findings.outlook.now.goes:
        would_save = share_saved(entry, findings.outlook.now)
    ready = node.ready if node is not None else None
    is_joined = node is not None and not entry.is_deleting and _has_joined(entry, now_ns)
    is_down = is_joined and (ready is None or ready.status != "True")
    if not entry.is_managed and (ready is None or now_ns - ready.last_transition_ns < _REMOVED_NS):
        is_down = False
    line = VerdictNode(
        name=entry.name,
        pool=entry.pool,
        claim=entry.claim,
        has_node=node is not None,
        findings=findings,
        per_hour=entry.price.per_hour if entry.price is not None else None,
        held=held_per_hour(entry) if findings is not None and findings.is_held else None,
        would_save=would_save,
        not_ready_ns=(ready.last_transition_ns if ready is not None else 0) if is_down else None,
        deleted_ns=min(
            (item.deletion_ns for item in (node, entry.claim) if item is not None and item.is_deleting), default=None
        ),
        zone=entry.zone,
        capacity_type=entry.capacity_type,
        instance_type=entry.instance_type,
        node=node,
        stuck_pods=tuple(sorted(_stuck_pods(view, entry, now_ns))) if is_down else (),
        protected_pods=tuple(_protected_pods(entry)),
        is_cordoned=node is not None and node.is_unschedulable,
        closed_pdbs=tuple(dict.fromkeys(_closed_pdbs(view, node, limits))) if node is not None else (),
        is_disrupted=node is not None and is_disrupted(node.taints),
        pods=entry.usage.workload_pods if entry.usage is not None else 0,
        apart=kept_apart(view, entry),
    )
    if node is None or not entry.is_managed or not is_leaving(line, now_ns):
        return line
    pods = sorted(view.state.pods_on(node.name).values(), key=attrgetter("key"))
    unread = {pod.key: mark for pod in pods if pod.is_active and (mark := _unread_annotation(pod))}
    return replace(
        line,
        lost_pods=lost_pods(pods),
        cut_pods=tuple(pod.key for pod in pods if _is_cut_short(line, pod)),
        slow_pods=tuple(pod.key for pod in pods if _is_slow(pod)),
        unread_pods=tuple(unread),
        unread_annotation=next(iter(unread.values()), ""),
    )


def _closed_pdbs(view: ClusterView, node: Node, limits: PdbLimits) -> Iterator[str]:
    """Yield the PodDisruptionBudgets that allow no eviction of the pods of a cordoned or draining node now."""
    is_draining = node.is_deleting and TERMINATION_FINALIZER in node.finalizers
    for pod in view.state.pods_on(node.name).values() if is_draining or node.is_unschedulable else ():
        stays = pod.template.is_daemonset_owned or (is_draining and tolerates_disrupted(pod.template))
        block = limits.block(pod) if pod.is_active and not stays else None
        yield from (pdb.key for pdb in block.pdbs) if block is not None else ()


def _unread_annotation(pod: Pod) -> str:
    """Return the annotation by which a pod asks for protection, if Karpenter does not read it."""
    annotations = pod.template.annotations
    if pod.template.is_daemonset_owned:
        return ""
    value = value_of(annotations)
    if value is not None:
        return f'{DO_NOT_DISRUPT}: "{value.text}"' if value.problem and value.text not in OFF else ""
    if annotations.get(SAFE_TO_EVICT) == "false":
        return SAFE_TO_EVICT
    return DO_NOT_EVICT if DO_NOT_EVICT in annotations else ""


def _is_slow(pod: Pod) -> bool:
    """Return whether a terminating pod may take longer than EC2's interruption notice."""
    if not pod.is_terminating or pod.is_terminal or pod.template.is_daemonset_owned:
        return False
    return pod.template.termination_grace_seconds * NS_PER_SECOND > NOTICE_NS


def _is_cut_short(line: VerdictNode, pod: Pod) -> bool:
    """Return whether the node's drain ends before the pod's grace period."""
    claim = line.claim
    deadline = deadline_of(claim) if claim is not None and claim.is_deleting else None
    if claim is None or deadline is None or pod.is_terminal or pod.template.is_daemonset_owned:
        return False
    return pod.template.termination_grace_seconds * NS_PER_SECOND > deadline.at_ns - claim.deletion_ns


def kept_apart(view: ClusterView, entry: NodeEntry) -> tuple[str, Apart] | None:
    """Return the only workload on a nearly empty node, and its rule that requires separate nodes.

    A rule is no reason if other nodes have room that Karpenter does not use yet. The minValues of its NodePool keep a
    node whatever its pods are.
    """
    if entry.findings is not None and entry.findings.why.code is WhyCode.MIN_VALUES:
        return "", Apart.MIN_VALUES
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
    if rule is None or (rule in PREFERENCES and view.evidence.settings.preference_policy != RESPECT):
        return None
    rests = any(_takes_later(view, other, pods) for other in view.node_entries if other.pool == entry.pool)
    return owners.pop().partition("/")[2], Apart.RESTING if rests else rule


def _takes_later(view: ClusterView, entry: NodeEntry, pods: Sequence[Pod]) -> bool:
    """Return whether a node has room for pods, none of their controller's, and waits for consolidateAfter."""
    node, findings = entry.node, entry.findings
    if node is None or entry.usage is None or findings is None or findings.why.code is not WhyCode.AFTER:
        return False
    controllers = {controller_of(pod.owners) for pod in pods}
    needed = resources.add(entry.usage.requests, *(pod.requests for pod in pods))
    return (
        not any(controller_of(pod.owners) in controllers for pod in view.state.pods_on(node.name).values())
        and all(amount.nano <= resources.nano(node.allocatable, name) for name, amount in needed.items())
        and not any(untolerated(node.taints, pod.template.tolerations) for pod in pods)
        and all(selects(pod, node) for pod in pods)
    )


def _apart_rule(pod: Pod) -> Apart | None:
    """Return the rule that separates a pod from others of its workload; None if other rules may matter."""
    template = pod.template
    required = {term.topology_key: Apart.ANTI_AFFINITY for term in template.pod_anti_affinity}
    soft = {weighted.term.topology_key: Apart.PREFERRED for weighted in template.preferred_pod_anti_affinity}
    for constraint in template.topology_spread:
        if constraint.when_unsatisfiable == DO_NOT_SCHEDULE:
            required[constraint.topology_key] = Apart.SPREAD
        else:
            soft.setdefault(constraint.topology_key, Apart.PREFERRED_SPREAD)
    if pod.volumes or required.keys() - {HOSTNAME}:
        return None
    return required.get(HOSTNAME, soft.get(HOSTNAME))


class _PodsByFinding(NamedTuple):
    starting: list[StartingPod]
    """Bound to a node, with containers that have not started."""
    crashing: list[StartingPod]
    """With a container that ends again and again."""
    relapsing: list[StartingPod]
    """Ready, after a container ran out of memory and restarted several times."""
    gated: list[StartingPod]
    """Running, and not ready because of a readiness gate."""
    unready: list[StartingPod]
    """Running without a waiting container, and not ready for another reason."""
    unended: list[StartingPod]
    """On a node, deleted, and past their grace period or not."""
    resizing: list[StartingPod]
    """Running, and not resized in place as their spec demands."""
    restarted: list[Pod]
    """Running or initializing, after containers ended several times."""
    karpenter: list[Pod]
    outlived: list[Pod]
    """Of Jobs; finished except for a container that keeps running."""
    failed: list[Pod]
    """Failed themselves, not only their containers."""


def _pods(view: ClusterView, pause: Pause) -> _PodsByFinding:
    """Return the pods that findings are about, in one pass over all pods."""
    pods = _PodsByFinding([], [], [], [], [], [], [], [], [], [], [])
    origins = OriginIndex(OwnerIndex(()))
    namespaces = namespaces_of(view.evidence.controller)
    for pod in with_pauses([*view.state.pods.values()], pause):
        if is_karpenter(pod, namespaces):
            pods.karpenter.append(pod)
        is_repeating = pod.waiting_reason == INITIALIZING and pod.restarts >= MANY_RESTARTS
        is_starting = pod.waiting_reason in NOT_STARTED and pod.phase == "Pending" and not is_repeating
        gate = pod.trouble.readiness_gate
        if (is_starting or pod.waiting_reason in (CRASHING, RUN_FAILED)) and pod.node_name and pod.is_active:
            (pods.starting if is_starting else pods.crashing).append(_late_pod(pod, origins))
        elif gate and pod.is_active:
            pods.gated.append(replace(_late_pod(pod, origins), since_ns=pod.unready_ns, waiting_reason=gate))
        elif (is_repeating or (pod.restarts >= MANY_RESTARTS and pod.phase == "Running")) and pod.is_active:
            pods.restarted.append(pod)
        elif pod.phase == "Running" and not pod.ready and not pod.waiting_reason and pod.is_active:
            pods.unready.append(replace(_late_pod(pod, origins), since_ns=pod.unready_ns))
        elif pod.is_terminating and pod.node_name:
            pods.unended.append(replace(_late_pod(pod, origins), since_ns=pod.deletion_ns))
        elif pod.trouble.resize_pending_ns and pod.node_name:
            pods.resizing.append(replace(_late_pod(pod, origins), since_ns=pod.trouble.resize_pending_ns))
        if pod.trouble.failure or (pod.trouble.outliving and pod.is_active and _is_of_job(pod)):
            (pods.failed if pod.trouble.failure else pods.outlived).append(pod)
    for found in pods:
        found.sort(key=attrgetter("key"))
    return pods


def _is_outdated(view: ClusterView, pod: StartingPod) -> bool:
    """Return whether a pod has a revision that its StatefulSet no longer has, and that waits for it to start."""
    kind, _, key = pod.owner.partition("/")
    workload = view.state.of(Kind.STATEFULSET).get(key) if kind == Kind.STATEFULSET else None
    revision = view.state.pods[pod.key].template.labels.get("controller-revision-hash")
    return workload is not None and bool(revision and workload.revisions) and revision not in workload.revisions


def _add_restarted(pods: _PodsByFinding, now_ns: int) -> None:
    """Add pods between two crashes to those that crash: they failed lately and hourly, or others of theirs crash."""
    origins, controllers = OriginIndex(OwnerIndex(())), {pod.controller for pod in pods.crashing if pod.controller}
    for pod in pods.restarted:
        late = _late_pod(pod, origins)
        is_long = (
            not (pod.ready or pod.trouble.outliving or pod.trouble.unready_container)
            and now_ns - pod.unready_ns >= CRASHED_NS
        )
        is_often = pod.exit_reason != "Completed" and late.restarts_hourly(now_ns)
        if now_ns - pod.exited_ns <= CRASHED_NS and ((is_long and is_often) or late.controller in controllers):
            pods.crashing.append(late)
        elif pod.waiting_reason == INITIALIZING:
            pods.starting.append(late)
        elif not pod.ready:
            pods.unready.append(replace(late, since_ns=pod.unready_ns))
        elif pod.exit_reason == OOM_KILLED:
            pods.relapsing.append(late)


def _late_pod(pod: Pod, origins: OriginIndex) -> StartingPod:
    owner = controller_of(pod.owners)
    limits = {container.name: container.limits for container in pod.template.containers}
    limit = resources.memory_bytes(limits.get(pod.trouble.oom_container, resources.EMPTY))
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
        finalizers=pod.trouble.finalizers,
        unready_container=pod.trouble.unready_container,
        starting_container=pod.trouble.starting_container,
        restarts=pod.restarts,
        exited_ns=pod.exited_ns,
        unready_ns=pod.unready_ns,
        limit=MemoryLimit(pod.trouble.oom_container, limit) if limit else None,
    )


def _is_of_job(pod: Pod) -> bool:
    owner = controller_of(pod.owners)
    return owner is not None and owner.kind == Kind.JOB


def _outlived(view: ClusterView, pods: Sequence[Pod]) -> Iterator[OutlivedPod]:
    """Yield pods that have finished except for a container, with their workloads."""
    origins = OriginIndex(view.owners)
    for pod in pods:
        yield OutlivedPod(
            pod.key, pod.node_name, origins.of(pod), pod.trouble.finished_ns, tuple(sorted(pod.trouble.outliving))
        )


def _hidden_text(view: ClusterView, kind: Kind) -> str:
    """Return the plural of a kind that was not read; of a list of one namespace's pods, with that namespace."""
    is_list = kind is Kind.POD and view.statuses[kind].is_left_out
    first = next(iter(view.state.pods.values()), None) if is_list else None
    return f"{plural(kind)} outside namespace {first.namespace}" if first is not None else plural(kind)


def _idle(view: ClusterView, pods: _PodsByFinding, pause: Pause) -> tuple[str, ...]:
    """Return Deployments of name servers and of the controllers of volume drivers without a pod, if pods fail."""
    if not (pods.crashing or pods.unready or pods.starting):
        return ()
    drivers = (volume.csi_driver.split(".") for volume in view.state.of(Kind.PV).values())
    # EKS Auto Mode attaches volumes and resolves names outside of the cluster.
    of_drivers = {part for parts in drivers if "eks" not in parts for part in parts} - SHARED_WORDS
    is_auto = any(node.labels.get(COMPUTE_TYPE) == "auto" for node in view.state.nodes.values())
    needed = set[str]()
    for workload in view.state.of(Kind.DEPLOYMENT).values():
        words = {*workload.name.split("-")}
        is_driver = words >= _DRIVER and not of_drivers.isdisjoint(words - _DRIVER)
        if is_driver or (workload.name in NAME_SERVERS and not is_auto):
            needed.add(workload.key)
    running, listed = set[str](), set[str]()
    for pod in with_pauses([*view.state.pods.values()] if needed else (), pause):
        if pod.is_active:
            listed.add(pod.namespace)
            if (owner := controller_of(pod.owners)) is not None:
                running.add(owner.name.rpartition("-")[0])
    if any(server in name for name in running for server in NAME_SERVERS if not name.endswith("-autoscaler")):
        running |= NAME_SERVERS
    # A list may lack the pods of a namespace; an add-on may have moved to another one.
    idle = (key.partition("/") for key in needed)
    return tuple(sorted(f"{space}/{name}" for space, _, name in idle if space in listed and name not in running))


def _pools_of_moved(view: ClusterView, pause: Pause) -> dict[str, set[str]]:
    """Return the NodePools in which pods of moved or scaled workloads run, if NodePools are in a loop.

    Pods that other controllers evict have the key ``namespace/name`` of their set.
    """
    report = view.advice
    if report is None or not report.loops:
        return {}
    evictions = [event for event in view.state.events.values() if any(name in event.source for name in EVICTORS)]
    evicted = [key_of(event).rpartition("-")[0] for event in evictions]
    scaled = [f"{e.involved_kind}/{key_of(e)}" for e in view.state.events.values() if e.reason == SCALED]
    pools = {name: set[str]() for name in (*evicted, *scaled, *(item.workload for item in report.moved))}
    pool_of, origins = {entry.name: entry.pool for entry in view.node_entries}, OriginIndex(view.owners)
    for pod in with_pauses([*view.state.pods.values()] if pools else (), pause):
        if pod.node_name in pool_of and pod.is_active:
            for name in pools.keys() & {origins.of(pod), pod.key.rpartition("-")[0]}:
                pools[name].add(pool_of[pod.node_name])
    return pools


def _running_on(view: ClusterView, pods: _PodsByFinding, pause: Pause) -> dict[str, dict[str, int]]:
    """Return nodes with running pods of the failing ones' controllers, and ready pods of their Deployments.

    Pods of a controller count only if they are ready or the failing ones are not merely unready.
    """
    failing, unready = [*pods.crashing, *pods.unready], {pod.controller for pod in pods.unready}
    nodes = {name: dict[str, int]() for pod in failing if pod.controller for name in (pod.controller, pod.owner)}
    keys, origins = {pod.key for pod in failing}, OriginIndex(OwnerIndex(()))
    for pod in with_pauses([*view.state.pods.values()] if nodes else (), pause):
        if (
            pod.phase == "Running"
            and pod.is_active
            and not pod.waiting_reason
            and pod.key not in keys
            and (owner := controller_of(pod.owners)) is not None
            and (pod.ready or owner.uid not in unready)
        ):
            origin = origins.of(pod) if pod.ready and owner.kind == Kind.REPLICASET else ""
            for name, place in ((owner.uid, pod.node_name), (origin, pod.key)):
                if name in nodes:
                    nodes[name][place] = max(nodes[name].get(place, 0), pod.start_ns)
    return nodes


def _used_up_addresses(view: ClusterView, starting: Sequence[StartingPod]) -> dict[str, int]:
    """Return the addresses for pods of EC2 nodes that accept more pods and have used them all, by node.

    With prefix delegation nodes have more addresses: then more pods run there.
    """
    full = dict[str, int]()
    for name in sorted({pod.node for pod in starting}):
        node = view.state.nodes.get(name)
        facts = live_instance_types(view.evidence.facts).get(node.labels.get(INSTANCE_TYPE, "")) if node else None
        if node is None or facts is None or not node.provider_id.startswith("aws"):
            continue
        most = eni_limited_pods(facts, view.evidence.settings.reserved_enis, 0) - HOST_NETWORK_PODS
        pods = [pod for pod in view.state.pods_on(name).values() if pod.is_active and not pod.template.is_host_network]
        running = sum(pod.phase == "Running" for pod in pods)
        if most - _COOLING_DOWN <= running <= most < len(pods):
            full[name] = most
    return full


def _created(view: ClusterView, owners: AbstractSet[str], pause: Pause) -> dict[str, list[int]]:
    """Return when the active pods of the given owners (``Kind/namespace/name``) were created."""
    created = defaultdict[str, list[int]](list)
    for pod in with_pauses([*view.state.pods.values()] if owners else [], pause):
        owner = controller_of(pod.owners)
        key = f"{owner.kind}/{pod.namespace}/{owner.name}" if owner is not None else ""
        if key in owners and pod.is_active:
            created[key].append(pod.created_ns)
    return created


def _replicas(
    view: ClusterView, created: Mapping[str, Sequence[int]], owners: Iterable[str]
) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the running and wanted pods of the given ReplicaSets, StatefulSets and Jobs, if they are known."""
    for owner in owners:
        kind, _, key = owner.partition("/")
        sets = view.state.of(Kind(kind)) if kind in (Kind.REPLICASET, Kind.STATEFULSET, Kind.JOB) else {}
        workload = sets.get(key)
        if workload is not None and (workload.replicas or workload.job):
            wanted = workload.job.wanted if workload.job else workload.replicas or 0
            yield owner, (len(created.get(owner, ())), wanted)


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
    """Return whether a node was initialized: by its NodeClaim, else by its label or age."""
    if entry.claim is not None:
        return entry.claim.is_true("Initialized")
    node = entry.node
    return node is not None and (
        node.labels.get(INITIALIZED) == "true" or now_ns - node.created_ns > REGISTRATION_TTL_NS
    )


def _unchecked(view: ClusterView, now_ns: int) -> Iterator[str]:
    """Yield the analyses that are not complete, and the kinds that are missing."""
    if view.pending is None and view.state.pending_pods:
        yield "pending pods"
    if view.advice is None:
        yield "the rules of Advice"
    elif view.advice.failures:
        yield counted(len(view.advice.failures), "rule of Advice", "rules of Advice")
    if view.analysis is None:
        yield "blockers"
    yield from (plural(kind) for kind in _USED if kind in view.hidden)
    if assumed_of(view):
        yield plural(Kind.NODECLASS)
    read_ns = min(seen_ns(view.statuses.get(kind), now_ns) for kind in _NEEDED)
    if now_ns - read_ns > OLD_NS:
        yield f"changes of the last {age_text(read_ns, now_ns)}"
