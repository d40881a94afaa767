"""The pods that the rules of the verdict read."""

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
from karptui.disruption.owner import OriginIndex, OwnerIndex
from karptui.karpenter.labels import COMPUTE_TYPE, INSTANCE_TYPE
from karptui.kube import resources
from karptui.kube.objects import controller_of
from karptui.kube.pod import INITIALIZING, NOT_STARTED, OOM_KILLED, RUN_FAILED, Pod
from karptui.provisioning.reporter import Pause, with_pauses
from karptui.session.controller import is_karpenter
from karptui.verdict.agents import SHARED_WORDS
from karptui.verdict.case import OutlivedPod, StartingPod
from karptui.verdict.controller import CRASHING, MANY_RESTARTS
from karptui.verdict.crashing import NAME_SERVERS
from karptui.verdict.finding import MemoryLimit
from karptui.verdict.late_pods import CRASHED_NS

if TYPE_CHECKING:
    from karptui.session.cluster_view import ClusterView

_DRIVER: Final = frozenset({"csi", "controller"})
"""Words in the names of Deployments that create, attach and detach the volumes of a driver."""
_COOLING_DOWN: Final = 2
"""Addresses of pods that ended in the last seconds, which are not free yet."""


class PodsByFinding(NamedTuple):
    """Pods that findings are about, by what they are."""

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


def pods_by_finding(view: ClusterView, pause: Pause) -> PodsByFinding:
    """Return the pods that findings are about, in one pass over all pods."""
    pods = PodsByFinding([], [], [], [], [], [], [], [], [], [], [])
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


def is_outdated(view: ClusterView, pod: StartingPod) -> bool:
    """Return whether a pod has a revision that its StatefulSet no longer has, and that waits for it to start."""
    kind, _, key = pod.owner.partition("/")
    workload = view.state.of(Kind.STATEFULSET).get(key) if kind == Kind.STATEFULSET else None
    revision = view.state.pods[pod.key].template.labels.get("controller-revision-hash")
    return workload is not None and bool(revision and workload.revisions) and revision not in workload.revisions


def add_restarted(pods: PodsByFinding, now_ns: int) -> None:
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


def outlived_pods(view: ClusterView, pods: Sequence[Pod]) -> Iterator[OutlivedPod]:
    """Yield pods that have finished except for a container, with their workloads."""
    origins = OriginIndex(view.owners)
    for pod in pods:
        yield OutlivedPod(
            pod.key, pod.node_name, origins.of(pod), pod.trouble.finished_ns, tuple(sorted(pod.trouble.outliving))
        )


def idle_workloads(view: ClusterView, pods: PodsByFinding, pause: Pause) -> tuple[str, ...]:
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


def running_on(view: ClusterView, pods: PodsByFinding, pause: Pause) -> dict[str, dict[str, int]]:
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


def used_up_addresses(view: ClusterView, starting: Sequence[StartingPod]) -> dict[str, int]:
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


def creation_times(view: ClusterView, owners: AbstractSet[str], pause: Pause) -> dict[str, list[int]]:
    """Return when the active pods of the given owners (``Kind/namespace/name``) were created."""
    created = defaultdict[str, list[int]](list)
    for pod in with_pauses([*view.state.pods.values()] if owners else [], pause):
        owner = controller_of(pod.owners)
        key = f"{owner.kind}/{pod.namespace}/{owner.name}" if owner is not None else ""
        if key in owners and pod.is_active:
            created[key].append(pod.created_ns)
    return created


def replicas_of(
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
