"""Pods: what pods of one template share, and what each has of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from karptui.kube import resources
from karptui.kube.objects import EMPTY_LABELS, OwnerReference, controller_of, is_owned_by
from karptui.kube.resources import ResourceList
from karptui.kube.selectors import LabelSelector, NodeSelectorTerm, PreferredSchedulingTerm
from karptui.kube.taints import Toleration
from karptui.kube.timestamps import ABSENT_NS

DO_NOT_SCHEDULE: Final = "DoNotSchedule"
SCHEDULE_ANYWAY: Final = "ScheduleAnyway"
SCHEDULING_GATED: Final = "SchedulingGated"
"""Reason of the PodScheduled condition while scheduling gates hold a pod."""
ENDED: Final = frozenset({"Succeeded", "Failed"})
"""Phases of a pod that takes nothing any more."""
MIRROR: Final = "kubernetes.io/config.mirror"
"""Annotation of a static pod's mirror."""


class PodAffinityTerm(msgspec.Struct, frozen=True, gc=False):
    """A pod affinity or anti-affinity term."""

    topology_key: str
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    """None is absent; the empty selector names every namespace."""
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(msgspec.Struct, frozen=True, gc=False):
    """A preferred pod affinity or anti-affinity term."""

    weight: int
    term: PodAffinityTerm


class TopologySpreadConstraint(msgspec.Struct, frozen=True, gc=False):
    """A topology spread constraint; absent policies stay None, as their default depends on the reader."""

    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()


class HostPort(msgspec.Struct, frozen=True, gc=False):
    """A port that a container takes on its node."""

    port: int
    protocol: str = "TCP"
    host_ip: str = ""


class PodVolume(msgspec.Struct, frozen=True, gc=False):
    """A volume backed by a claim; other volumes do not bear on scheduling and are not kept."""

    name: str
    claim_name: str = ""
    """Of a ``persistentVolumeClaim`` volume, else empty."""
    is_ephemeral: bool = False
    """An ``ephemeral`` volume: its claim is called ``<pod>-<volume>``."""
    storage_class_name: str | None = None
    """Of an ephemeral volume's template."""

    def claim_of(self, pod_name: str) -> str:
        """Return the name of the claim behind this volume for a pod."""
        return f"{pod_name}-{self.name}" if self.is_ephemeral else self.claim_name


class PodTemplate(msgspec.Struct, frozen=True, kw_only=True, eq=False, weakref=True):
    """Everything that pods of one workload have in common; shared between them, so identity stands for equality."""

    namespace: str = ""
    labels: Mapping[str, str] = EMPTY_LABELS
    """Without the labels that differ from pod to pod (``Pod.own_labels``)."""
    annotations: Mapping[str, str] = EMPTY_LABELS
    """Only those that decide something: Karpenter's, the pod deletion cost, the mirror pod's, safe-to-evict."""
    owners: tuple[OwnerReference, ...] = ()
    requests: ResourceList = resources.EMPTY
    """Effective requests (see ``kube.requests``), without the slot the pod takes itself."""
    limits: ResourceList = resources.EMPTY
    """Sum of the containers' limits; shown, never decides."""
    node_selector: Mapping[str, str] = EMPTY_LABELS
    required_node_terms: tuple[NodeSelectorTerm, ...] | None = None
    """Alternatives of the required node affinity; None where there is none, and ``()`` where it is empty."""
    preferred_node_terms: tuple[PreferredSchedulingTerm, ...] = ()
    pod_affinity: tuple[PodAffinityTerm, ...] = ()
    preferred_pod_affinity: tuple[WeightedPodAffinityTerm, ...] = ()
    pod_anti_affinity: tuple[PodAffinityTerm, ...] = ()
    preferred_pod_anti_affinity: tuple[WeightedPodAffinityTerm, ...] = ()
    topology_spread: tuple[TopologySpreadConstraint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    has_resource_claims: bool = False
    """Whether the pod or a container asks for Dynamic Resource Allocation."""
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
        """Whether nothing recreates its pods: they have no controller, and no node or DaemonSet runs them."""
        is_of_node = self.is_node_owned or self.is_daemonset_owned or MIRROR in self.annotations
        return not is_of_node and controller_of(self.owners) is None


class Pod(msgspec.Struct, frozen=True, kw_only=True, gc=False, eq=False):
    """A pod: its own facts, and the template it shares."""

    name: str
    template: PodTemplate
    uid: str = ""
    """Of a manifest that has none, its key: pods are told apart by it."""
    node_name: str = ""
    """Empty while it is not bound."""
    nominated_node_name: str = ""
    phase: str = ""
    created_ns: int = ABSENT_NS
    deletion_ns: int = ABSENT_NS
    start_ns: int = ABSENT_NS
    """``status.startTime``: when the kubelet took it."""
    ready: bool | None = None
    """The Ready condition: None where it is not reported."""
    ended_ns: int = ABSENT_NS
    """When a pod that has ended did: the last transition of its Ready condition."""
    scheduled_reason: str = ""
    """Reason of the PodScheduled condition: ``Unschedulable``, ``SchedulingGated``, ``""``."""
    scheduled_message: str = ""
    """kube-scheduler's words, kept while the pod is not bound."""
    scheduled_ns: int = ABSENT_NS
    """Last transition of the PodScheduled condition."""
    own_labels: Mapping[str, str] = EMPTY_LABELS
    """Labels that differ from pod to pod of one template (StatefulSet pod name, indexes)."""
    volumes: tuple[PodVolume, ...] = ()
    waiting_reason: str = ""
    """Why a container waits or has ended (``CrashLoopBackOff``…); shown, never decides."""
    exit_reason: str = ""
    """Why that container ended before (``OOMKilled``…); shown, never decides."""
    restarts: int = 0
    """How often that container was restarted."""
    unready_ns: int = ABSENT_NS
    """When a pod with a waiting container stopped being ready."""

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
        """The annotations that decide something."""
        return self.template.annotations

    @property
    def requests(self) -> ResourceList:
        """Effective requests, without the pod slot."""
        return self.template.requests

    @property
    def owners(self) -> tuple[OwnerReference, ...]:
        """Owner references."""
        return self.template.owners

    @property
    def is_terminal(self) -> bool:
        """Whether it has ended: Succeeded or Failed."""
        return self.phase in ENDED

    @property
    def is_terminating(self) -> bool:
        """Whether it has a deletionTimestamp."""
        return self.deletion_ns != ABSENT_NS

    @property
    def is_active(self) -> bool:
        """Neither ended nor being deleted."""
        return not self.is_terminal and not self.is_terminating


def lost_pods(pods: Iterable[Pod]) -> tuple[str, ...]:
    """Return the ``namespace/name`` of the active pods that nothing recreates if they are evicted, sorted."""
    return tuple(sorted(pod.key for pod in pods if pod.is_active and pod.template.is_lost_if_evicted))
