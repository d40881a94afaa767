"""Pods: the template that pods of a workload share, and the fields of each pod.

``decode/pod.py`` builds them from JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from karptui.kube import resources
from karptui.kube.objects import EMPTY_LABELS, OwnerReference, controller_of, is_owned_by
from karptui.kube.quantity import Quantity
from karptui.kube.resources import CPU, EMPTY, HUGEPAGES_PREFIX, MEMORY, ResourceList, add, maximum
from karptui.kube.selectors import LabelSelector, NodeSelectorTerm, PreferredSchedulingTerm
from karptui.kube.taints import Toleration
from karptui.kube.timestamps import ABSENT_NS, MINUTE_NS


class ContainerRequests(msgspec.Struct, frozen=True, gc=False):
    """Requests of a container."""

    name: str
    requests: ResourceList = EMPTY
    is_sidecar: bool = False
    """An init container with restartPolicy Always."""
    is_init: bool = False
    limits: ResourceList = EMPTY


class ContainerStatusResources(msgspec.Struct, frozen=True, gc=False):
    """Resources of a container as reported by the kubelet."""

    actuated: ResourceList = EMPTY
    """``status.containerStatuses[].resources.requests``."""
    allocated: ResourceList = EMPTY
    """``status.containerStatuses[].allocatedResources``."""


def effective_requests(
    *,
    containers: Sequence[ContainerRequests],
    init_containers: Sequence[ContainerRequests] = (),
    statuses: Mapping[str, ContainerStatusResources] | None = None,
    is_resize_infeasible: bool = False,
    pod_level: ResourceList = EMPTY,
    overhead: ResourceList = EMPTY,
) -> dict[str, Quantity]:
    """Return a pod's effective requests, excluding the pod slot.

    Args:
        init_containers: Init containers in order; sidecars keep running alongside the app containers.
        statuses: Reported resources by container name, only for containers whose status has ``resources``.
        is_resize_infeasible: Whether the kubelet rejected the resize, so the requests in the spec do not count.
        pod_level: ``spec.resources.requests``, which replaces the sum for cpu, memory and huge pages.
        overhead: Overhead of the runtime class, added last.
    """
    reported = statuses or {}

    def of(container: ContainerRequests) -> ResourceList:
        status = reported.get(container.name)
        if status is None:
            return container.requests
        desired = () if is_resize_infeasible else (container.requests,)
        return maximum((*desired, status.actuated, status.allocated))

    total: ResourceList = add(*(of(container) for container in containers))
    sidecars: ResourceList = {}
    peaks: list[ResourceList] = []
    for container in init_containers:
        if container.is_sidecar:
            sidecar = of(container)
            total = add(total, sidecar)
            sidecars = add(sidecars, sidecar)
            peaks.append(sidecars)
        else:
            peaks.append(add(container.requests, sidecars))
    result = maximum((total, *peaks)) if peaks else dict(total)
    for name, amount in pod_level.items():
        if name in (CPU, MEMORY) or name.startswith(HUGEPAGES_PREFIX):
            result[name] = amount
    return add(result, overhead) if overhead else result


DO_NOT_SCHEDULE: Final = "DoNotSchedule"
SCHEDULE_ANYWAY: Final = "ScheduleAnyway"
SCHEDULING_GATED: Final = "SchedulingGated"
"""Reason of the PodScheduled condition of a pod with scheduling gates."""
ENDED: Final = frozenset({"Succeeded", "Failed"})
"""Phases of pods that have ended and use no resources."""
LIMIT_RANGER: Final = "kubernetes.io/limit-ranger"
"""Annotation with the requests and limits that a LimitRange set."""
MIRROR: Final = "kubernetes.io/config.mirror"
"""Annotation of a static pod's mirror pod."""


class PodAffinityTerm(msgspec.Struct, frozen=True, gc=False):
    """A pod affinity or anti-affinity term."""

    topology_key: str
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    """None if absent; an empty selector matches every namespace."""
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(msgspec.Struct, frozen=True, gc=False):
    """A preferred pod affinity or anti-affinity term."""

    weight: int
    term: PodAffinityTerm


class TopologySpreadConstraint(msgspec.Struct, frozen=True, gc=False):
    """A topology spread constraint. Absent policies are None because their default depends on the reader."""

    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()


class HostPort(msgspec.Struct, frozen=True, gc=False):
    """A host port of a container."""

    port: int
    protocol: str = "TCP"
    host_ip: str = ""


class PodVolume(msgspec.Struct, frozen=True, gc=False):
    """A volume backed by a PersistentVolumeClaim. Other volumes do not affect scheduling and are not stored."""

    name: str
    claim_name: str = ""
    """Claim of a ``persistentVolumeClaim`` volume; otherwise empty."""
    is_ephemeral: bool = False
    """An ``ephemeral`` volume: its claim is called ``<pod>-<volume>``."""
    storage_class_name: str | None = None
    """Storage class in the claim template of an ephemeral volume."""

    def claim_of(self, pod_name: str) -> str:
        """Return the name of the PersistentVolumeClaim that backs this volume."""
        return f"{pod_name}-{self.name}" if self.is_ephemeral else self.claim_name


class PodTemplate(msgspec.Struct, frozen=True, kw_only=True, eq=False, weakref=True):
    """Everything that pods of one workload share. Equal templates are the same object, so compare by identity."""

    namespace: str = ""
    labels: Mapping[str, str] = EMPTY_LABELS
    """Without labels that differ between its pods (``Pod.own_labels``)."""
    annotations: Mapping[str, str] = EMPTY_LABELS
    """Only annotations that affect decisions: Karpenter's, the pod deletion cost, mirror pods', safe-to-evict."""
    owners: tuple[OwnerReference, ...] = ()
    requests: ResourceList = resources.EMPTY
    """Effective requests (``kube.effective_requests``), excluding the pod slot."""
    init_peaks: Mapping[str, str] = EMPTY_LABELS
    """By resource, the init container that requests more than the app containers. Shown only."""
    overhead: ResourceList = resources.EMPTY
    """Part of the requests that its runtime class adds. Shown only."""
    limits: ResourceList = resources.EMPTY
    """Sum of the containers' limits. Shown only."""
    containers: tuple[ContainerRequests, ...] = ()
    """App containers, then init containers in order, for right-sizing."""
    has_pod_level_requests: bool = False
    """Whether ``spec.resources.requests`` replaces the containers' sum."""
    node_selector: Mapping[str, str] = EMPTY_LABELS
    required_node_terms: tuple[NodeSelectorTerm, ...] | None = None
    """Alternatives of the required node affinity: None if absent, ``()`` if present without terms."""
    preferred_node_terms: tuple[PreferredSchedulingTerm, ...] = ()
    pod_affinity: tuple[PodAffinityTerm, ...] = ()
    preferred_pod_affinity: tuple[WeightedPodAffinityTerm, ...] = ()
    pod_anti_affinity: tuple[PodAffinityTerm, ...] = ()
    preferred_pod_anti_affinity: tuple[WeightedPodAffinityTerm, ...] = ()
    topology_spread: tuple[TopologySpreadConstraint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    has_resource_claims: bool = False
    """Whether the pod or a container uses Dynamic Resource Allocation."""
    priority: int = 0
    priority_class_name: str = ""
    scheduler_name: str = ""
    runtime_class_name: str = ""
    termination_grace_seconds: int = 30
    is_host_network: bool = False
    images: tuple[str, ...] = ()

    @property
    def is_daemonset_owned(self) -> bool:
        """Whether an ``apps/v1 DaemonSet`` owns it."""
        return is_owned_by(self.owners, "apps/v1", "DaemonSet")

    @property
    def is_statefulset_owned(self) -> bool:
        """Whether an ``apps/v1 StatefulSet`` owns it."""
        return is_owned_by(self.owners, "apps/v1", "StatefulSet")

    @property
    def is_node_owned(self) -> bool:
        """Whether a Node owns it: a static (mirror) pod."""
        return is_owned_by(self.owners, "v1", "Node")

    @property
    def is_lost_if_evicted(self) -> bool:
        """Whether nothing recreates its pods: no controller, and not a static, mirror or DaemonSet pod."""
        is_of_node = self.is_node_owned or self.is_daemonset_owned or MIRROR in self.annotations
        return not is_of_node and controller_of(self.owners) is None


INITIALIZING: Final = "PodInitializing"
"""Waiting reason of containers before whose start an init container must end."""
CONTAINER_CREATING: Final = "ContainerCreating"
CREATING_PATIENCE_NS: Final = 15 * MINUTE_NS
"""Images and volumes take minutes; containers that are not created by then need attention."""
CREATING: Final = frozenset({CONTAINER_CREATING, INITIALIZING})
"""Waiting reasons of every container that starts."""
NOT_STARTED: Final = CREATING | {
    "CreateContainerConfigError",
    "CreateContainerError",
    "ErrImageNeverPull",
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
}
"""Waiting reasons of containers that have not started."""
RUN_FAILED: Final = "RunContainerError"
"""Waiting reason of a container that its runtime could not start, until the kubelet waits longer to try again."""


class PodTrouble(msgspec.Struct, frozen=True, gc=False):
    """Details of gates, and of containers that wait or outlive others. Shown only; most pods have none."""

    message: str = ""
    """Why a container is waiting, in the kubelet's words."""
    exit_code: int = 0
    """Of a container that waits to be started again; 0 if unknown."""
    outliving: tuple[str, ...] = ()
    """Containers that run on although the others have finished without an error."""
    finished_ns: int = ABSENT_NS
    """When the last of the others finished."""
    gates: tuple[str, ...] = ()
    """Scheduling gates that are left."""
    init_container: str = ""
    """The init container that waits, or that others wait for; empty if another container does."""
    oom_container: str = ""
    """The container that terminated before because it ran out of memory."""
    unready_container: str = ""
    """A container that is not ready, if others are, or if another has restarted and no such container has."""
    starting_container: str = ""
    """A container that runs for the first time and whose startup probe or postStart hook has not succeeded yet."""
    readiness_gate: str = ""
    """The readiness gate that alone keeps a running pod from being ready."""
    finalizers: tuple[str, ...] = ()
    """Finalizers of a pod that is being deleted: it is there until their controllers remove them."""
    resize_pending_ns: int = ABSENT_NS
    """Since when the kubelet has not resized it in place; ``message`` says why."""
    failure: str = ""
    """Why the pod itself failed, such as ``OutOfcpu`` or ``Evicted``; ``message`` has the details."""


NO_TROUBLE: Final = PodTrouble()
OOM_KILLED: Final = "OOMKilled"
"""Reason of a container that ended because its cgroup or its node ran out of memory."""
PAUSE_IMAGE: Final = re.compile(r"(?:^|/)pause(?:[:@]|$)")
"""Images of containers that only keep a place."""
UNSTARTABLE: Final = frozenset({"StartError", "ContainerCannotRun"})
"""Reasons of a container that ended because its runtime could not start it; the message is the runtime's."""
VOLUME_FAILURES: Final = ("FailedAttachVolume", "FailedMount")
"""Reasons of events about pods whose volumes are not attached or mounted."""


class Pod(msgspec.Struct, frozen=True, gc=False, eq=False):
    """A pod: its own fields and the template it shares."""

    name: str
    template: PodTemplate
    uid: str = ""
    """``metadata.uid``; for a manifest without one, the pod's key."""
    node_name: str = ""
    """Empty until the pod is bound."""
    nominated_node_name: str = ""
    phase: str = ""
    created_ns: int = ABSENT_NS
    deletion_ns: int = ABSENT_NS
    start_ns: int = ABSENT_NS
    """``status.startTime``: when the kubelet accepted the pod."""
    ready: bool | None = None
    """Status of the Ready condition; None if not reported."""
    ended_ns: int = ABSENT_NS
    """When a terminated pod ended: the last transition of its Ready condition."""
    scheduled_reason: str = ""
    """Reason of the PodScheduled condition: ``Unschedulable``, ``SchedulingGated``, ``""``."""
    scheduled_message: str = ""
    """kube-scheduler's message, stored until the pod is bound."""
    scheduled_ns: int = ABSENT_NS
    """Last transition of the PodScheduled condition."""
    own_labels: Mapping[str, str] = EMPTY_LABELS
    """Labels that differ between pods of a template, such as the StatefulSet pod name or index."""
    volumes: tuple[PodVolume, ...] = ()
    waiting_reason: str = ""
    """Why a container is waiting or terminated, such as ``CrashLoopBackOff``. Shown only."""
    exit_reason: str = ""
    """Why the same container, the init container it waits for, or one that runs again terminated before. Shown only."""
    restarts: int = 0
    exited_ns: int = ABSENT_NS
    """When that container terminated before."""
    unready_ns: int = ABSENT_NS
    """When a pod that runs, or that has a waiting container, became unready."""
    trouble: PodTrouble = NO_TROUBLE

    @property
    def namespace(self) -> str:
        """The pod's namespace."""
        return self.template.namespace

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.template.namespace}/{self.name}"

    @property
    def labels(self) -> Mapping[str, str]:
        """Every label."""
        return {**self.template.labels, **self.own_labels} if self.own_labels else self.template.labels

    @property
    def annotations(self) -> Mapping[str, str]:
        """Annotations that affect decisions."""
        return self.template.annotations

    @property
    def requests(self) -> ResourceList:
        """Effective requests, excluding the pod slot."""
        return self.template.requests

    @property
    def owners(self) -> tuple[OwnerReference, ...]:
        """Owner references."""
        return self.template.owners

    @property
    def is_terminal(self) -> bool:
        """Whether the phase is Succeeded or Failed."""
        return self.phase in ENDED

    @property
    def is_terminating(self) -> bool:
        """Whether it has a deletionTimestamp."""
        return self.deletion_ns != ABSENT_NS

    def fails_to_start(self, now_ns: int) -> bool:
        """Return whether a container of a pod on a node cannot start: a fault is reported, or creating it takes long.

        Init containers may take hours.
        """
        if not self.node_name or self.phase != "Pending":
            return False
        if self.waiting_reason == CONTAINER_CREATING:
            since_ns = max(self.created_ns, self.scheduled_ns)
            return since_ns != ABSENT_NS and now_ns - since_ns >= CREATING_PATIENCE_NS
        return self.waiting_reason in NOT_STARTED - CREATING

    @property
    def is_active(self) -> bool:
        """Whether the pod is neither terminal nor terminating."""
        return self.deletion_ns == ABSENT_NS and self.phase not in ENDED


def lost_pods(pods: Iterable[Pod]) -> tuple[str, ...]:
    """Return the sorted ``namespace/name`` keys of active pods that nothing recreates after an eviction."""
    return tuple(sorted(pod.key for pod in pods if pod.is_active and pod.template.is_lost_if_evicted))
