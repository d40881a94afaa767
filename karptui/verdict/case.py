"""What the rules of the verdict read: a cluster as records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

import msgspec

from karptui.advice.report import AdviceReport
from karptui.aws.launch_refusals import LaunchRefusal
from karptui.disruption.analysis import Analysis, NodeFindings
from karptui.forward.durations import Durations, observed
from karptui.karpenter.instance_type import NodeOverlay
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodeclass import NodeClass
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.pdb_limits import is_always_closed
from karptui.karpenter.repair_policies import RepairPolicy
from karptui.kube import resources
from karptui.kube.objects import EMPTY_LABELS, Event, Node
from karptui.kube.resources import ResourceList
from karptui.kube.timestamps import HOUR_NS
from karptui.kube.workload import DaemonSet, PodDisruptionBudget
from karptui.verdict.finding import Apart, ControllerPod, FindingSeverity, MemoryLimit


class VerdictNode(msgspec.Struct, frozen=True, eq=False):
    """A node or NodeClaim."""

    name: str
    pool: str
    claim: NodeClaim | None
    has_node: bool
    findings: NodeFindings | None = None
    per_hour: float | None = None
    held: float | None = None
    """Cost of its blockers, in dollars per hour."""
    would_save: float | None = None
    """Savings once disruption resumes, in dollars per hour."""
    not_ready_ns: int | None = None
    """Since when it has not been ready; None while it is."""
    deleted_ns: int | None = None
    """Since when it or its NodeClaim is being deleted; None while neither is."""
    zone: str = ""
    capacity_type: str = ""
    instance_type: str = ""
    node: Node | None = None
    lost_pods: tuple[str, ...] = ()
    """``namespace/name`` of pods on it that nothing recreates."""
    stuck_pods: tuple[str, ...] = ()
    """``namespace/name`` of pods on it that should have ended by now."""
    protected_pods: tuple[str, ...] = ()
    """``namespace/name`` of pods on it that must not be disrupted, or that a PodDisruptionBudget blocks."""
    cut_pods: tuple[str, ...] = ()
    """``namespace/name`` of pods on it whose grace period is longer than that of its drain."""
    slow_pods: tuple[str, ...] = ()
    """``namespace/name`` of pods on it that are ending, and whose grace period is longer than EC2's notice."""
    unread_pods: tuple[str, ...] = ()
    """``namespace/name`` of pods on it whose annotation for protection Karpenter does not read."""
    unread_annotation: str = ""
    """The annotation of the first of these pods."""
    is_cordoned: bool = False
    closed_pdbs: tuple[str, ...] = ()
    """If it is cordoned or drained, the PodDisruptionBudgets that now allow no eviction of its pods."""
    is_disrupted: bool = False
    """Whether it is tainted because Karpenter is about to disrupt it."""
    pods: int = 0
    """Pods on it that no DaemonSet owns."""
    apart: tuple[str, Apart] | None = None
    """``namespace/name`` of the only workload on a nearly empty node, and its rule that keeps this node."""

    @property
    def goes(self) -> bool:
        """Whether it is deleted, or chosen by Karpenter for disruption."""
        return self.deleted_ns is not None or self.is_disrupted


class PendingLine(msgspec.Struct, frozen=True):
    """Pods that are pending for one reason."""

    name: str
    pods: tuple[str, ...]
    """``namespace/name`` of each."""
    since_ns: int
    group: str = ""
    """Key of its group in the report on pending pods; empty if they were not analysed."""
    full_pool: str = ""
    """The NodePool whose full reservations they wait for; empty if they wait for something else."""
    is_stuck: bool = True
    """Whether they are unlikely to be scheduled without a change; otherwise they only count for other causes."""
    is_held: bool = False
    """Whether a volume, or a node that is gone, keeps them pending whatever Karpenter launches."""
    cause: str = ""
    """A value of ``pending.causes.Cause``."""
    nodes: frozenset[str] = frozenset()
    """Nodes and NodeClaims that they are expected on, by the engine or by Karpenter's nomination."""
    pools: tuple[str, ...] = ()
    """NodePools that would take them, or that come closest to it."""
    limited_pool: str = ""
    """The NodePool that would launch a node for them if its limits allowed it."""
    daemonsets: tuple[str, ...] = ()
    """``namespace/name`` of DaemonSets whose requests leave no room for them on a new node."""
    owner: str = ""
    """``Kind/namespace/name`` of their workload."""
    zones: frozenset[str] = frozenset()
    """Zones that their volumes may be in; empty if none is bound to a zone."""
    storage_classes: tuple[str, ...] = ()
    """StorageClasses of their volumes that do not exist yet."""
    requests: ResourceList = resources.EMPTY
    """Requests of each pod."""
    rule: str = ""
    """Why a topology rule keeps them off nodes of the NodePool with room."""
    preempted: int = 0
    """Pods of the same workload that kube-scheduler preempted in the last hour."""
    spread_keys: tuple[str, ...] = ()
    """Labels over whose values they must be spread, except hostnames."""
    refusal: str = ""
    """Why kube-scheduler refuses pods that were not studied, or the node of a DaemonSet's pod if that has room."""
    autoscaled: tuple[str, ...] = ()
    """Scarce resources whose requests a VerticalPodAutoscaler has set."""
    defaulted: tuple[str, ...] = ()
    """Scarce resources whose requests a LimitRange has set."""
    shared_reason: tuple[str, ...] = ()
    """All that the sentence about them depends on, if pods of other workloads may wait for the same."""
    suited_pools: tuple[str, ...] = ()
    """NodePools with suitable taints and labels that are being deleted or not ready."""


class LimitLine(msgspec.Struct, frozen=True):
    """A limit of a NodePool that is used up, or nearly."""

    pool: str
    text: str
    since_ns: int = 0
    """When the node that used it up appeared; 0 if unknown."""
    resource: str = ""
    is_open: bool = False
    """Whether it leaves some room, so that it counts only for pods that need more."""
    is_zero: bool = False
    """Whether it allows no node at all."""
    user: str = ""
    """``Kind/namespace/name`` of the workload whose pods request more than half of it; empty without one."""
    user_pods: int = 0
    """Number of these pods."""
    placeholders: str = ""
    """Amount that placeholder pods request, which may be less than half."""
    spares_types: bool = False
    """Whether an allowed type needs none of the resource, so that it still launches."""


class StartingPod(msgspec.Struct, frozen=True):
    """A pod that is bound to a node and whose containers are not created."""

    key: str
    """``namespace/name``."""
    node: str
    since_ns: int
    waiting_reason: str
    """``ContainerCreating``, ``ImagePullBackOff``, …"""
    image: str = ""
    owner: str = ""
    """``Kind/namespace/name`` of its workload."""
    controller: str = ""
    """UID of its controller: pods of another ReplicaSet may be of another release."""
    message: str = ""
    """Why its container is waiting, in the kubelet's words."""
    exit_code: int = 0
    exit_reason: str = ""
    """Why its container ended last, such as ``OOMKilled``."""
    init_container: str = ""
    """The init container that waits, or that others wait for; empty if another container does."""
    finalizers: tuple[str, ...] = ()
    """Its finalizers, if it is being deleted."""
    unready_container: str = ""
    """A container of it that is not ready, if others are."""
    starting_container: str = ""
    """A container of it that runs for the first time and has not started up yet."""
    is_outdated: bool = False
    """Whether its StatefulSet no longer has its revision, but waits for it to start."""
    restarts: int = 0
    exited_ns: int = 0
    """When its container ended last; 0 if unknown."""
    unready_ns: int = 0
    """When it became unready; 0 if unknown."""
    limit: MemoryLimit | None = None
    """The memory limit of its container, if that ran out of memory."""

    def restarts_hourly(self, now_ns: int) -> bool:
        """Return whether its container restarted at least hourly since the pod started."""
        return self.restarts * HOUR_NS >= now_ns - self.since_ns


class OutlivedPod(msgspec.Struct, frozen=True):
    """A Job's pod that does not end, because a sidecar runs on after the main containers have finished."""

    key: str
    """``namespace/name``."""
    node: str
    owner: str
    """``Kind/namespace/name`` of its workload."""
    finished_ns: int
    running: tuple[str, ...]
    """Containers that still run."""


class Controller(msgspec.Struct, frozen=True, kw_only=True):
    """State of Karpenter's own pods, lease and permissions."""

    pods: tuple[ControllerPod, ...] = ()
    replicas: int | None = None
    """Desired replicas of its Deployment; None if the Deployment was not read."""
    deployment: str = ""
    """``namespace/name``."""
    lease_holder: str | None = None
    """Pod that holds the leader lease, empty if none does; None if the lease was not read."""
    led_namespaces: tuple[str, ...] = ()
    """Namespaces with a leader lease that is renewed: each belongs to an installation of Karpenter."""
    lease_renewed_ns: int = 0
    lease_seen_ns: int = 0
    """When the lease was last read: now, unless the cluster is no longer followed."""
    lease_seconds: int = 0
    """Duration of the lease after a renewal, in seconds."""
    others_renewed_ns: int = 0
    """When any other lease of the cluster was last renewed; 0 if none was read."""
    denials: tuple[Event, ...] = ()
    """Its events about denied permissions."""
    old_api: str = ""
    """The version of its API that the cluster serves, if Karpenter reads a newer one."""
    namespace_deleted_ns: int = 0
    """When its namespace was deleted, if nothing else of it is left; else 0."""


class Unobserved(msgspec.Struct, frozen=True):
    """Objects that Kubernetes' own controllers do not act on."""

    changed: tuple[str, ...] = ()
    """``Kind/namespace/name`` of workloads and PodDisruptionBudgets whose newest generation is not observed."""
    short: tuple[str, ...] = ()
    """Workloads with missing pods whose status still reports all replicas."""
    since_ns: int = 0
    """When the oldest object that was never observed was created; 0 without one."""
    renewed_ns: int = 0
    """When kube-controller-manager last renewed its lease; 0 if recent or unknown."""


class VerdictCase(msgspec.Struct, frozen=True, eq=False, kw_only=True, dict=True):
    """The facts about a cluster that its verdict needs."""

    now_ns: int
    nodes: Sequence[VerdictNode] = ()
    analysis: Analysis | None = None
    pending: Sequence[PendingLine] = ()
    controller: Controller = Controller()
    events: Collection[Event] = ()
    nodeclasses: Mapping[str, NodeClass] = MappingProxyType({})
    """By ``kind/name``."""
    daemonsets: Collection[DaemonSet] = ()
    overlays: Collection[NodeOverlay] = ()
    starting: Sequence[StartingPod] = ()
    """Bound pods whose containers are not created."""
    crashing: Sequence[StartingPod] = ()
    """Pods with a container that crashes again and again."""
    relapsing: Sequence[StartingPod] = ()
    """Ready pods with a container that has run out of memory and restarted several times."""
    gated: Sequence[StartingPod] = ()
    """Running pods that are not ready because of a readiness gate (``waiting_reason``)."""
    unready: Sequence[StartingPod] = ()
    """Running pods that are not ready for another reason."""
    unended: Sequence[StartingPod] = ()
    """Deleted pods on nodes that should have ended (``since_ns``)."""
    resizing: Sequence[StartingPod] = ()
    """Running pods that are not resized in place as their spec requires."""
    outlived: Sequence[OutlivedPod] = ()
    """Pods of finished Jobs with a container that still runs."""
    idle: tuple[str, ...] = ()
    """``namespace/name`` of name servers' and volume drivers' Deployments that have no pod."""
    pools_of: Mapping[str, Collection[str]] = MappingProxyType({})
    """NodePools of moved workloads' pods, by ``Kind/namespace/name``; an empty name is nodes without a NodePool.

    Those of pods that other controllers evict are by ``namespace/name`` of their set.
    """
    running_on: Mapping[str, Mapping[str, int]] = MappingProxyType({})
    """Nodes with other running pods of controllers (UIDs), ready pods of Deployments, and when the newest started."""
    replicas: Mapping[str, tuple[int, int]] = MappingProxyType({})
    """Running and desired pods of sets and Jobs (``Kind/namespace/name``) whose pods are refused."""
    newest_pods: Mapping[str, int] = MappingProxyType({})
    """When the newest active pod of the owners of refused pods was created."""
    unobserved: Unobserved = Unobserved()
    repair_policies: Sequence[RepairPolicy] = ()
    """Node conditions that the provider counts as unhealthy."""
    repairs: bool | None = False
    """Whether Karpenter repairs unhealthy nodes; None if unknown."""
    refusals: Sequence[LaunchRefusal] = ()
    """Refused launches, as far back as events are kept."""
    addresses: Mapping[str, int] = MappingProxyType({})
    """Addresses for pods, without prefix delegation, of nodes that have used them all and accept more pods."""
    advice: AdviceReport | None = None
    """None until the rules have run."""
    unchecked: Sequence[str] = ()
    """Checks without a result yet, in the plural: without them nothing is called healthy."""
    pools: Sequence[NodePool] = ()
    limits: Sequence[LimitLine] = ()
    pdbs: Mapping[str, PodDisruptionBudget] = MappingProxyType({})
    """By ``namespace/name``."""
    eviction_webhook: tuple[str, ...] = ()
    """A failing webhook that evictions depend on, its Service and the missing port; empty without one.

    The port is empty if the Service has no ready pod.
    """
    node_webhook: tuple[str, ...] = ()
    """The same for a webhook that node registration depends on."""
    hidden: Sequence[str] = ()
    """Kinds that may not be listed, in the plural."""
    ignored: Mapping[str, FindingSeverity] = MappingProxyType({})
    """Hidden kinds that karptui takes as empty, each with the severity of that assumption."""
    assumed: Mapping[str, str] = EMPTY_LABELS
    """NodeClasses that exist and were not read, and the image that is assumed of each."""
    unread: tuple[str, ...] = ()
    """Kinds about volumes that were not read."""
    sees_nodes: bool = True
    """Whether nodes may be listed: else a NodeClaim without a node is no evidence."""
    sees_claims: bool = True
    """Whether NodeClaims may be listed: else a node without a NodeClaim is no evidence."""
    sees_pods: bool = True
    """Whether pods may be listed: else a node without any may have some."""
    sees_pools: bool = True
    """Whether NodePools may be listed: else there may be some that take pods."""
    is_file: bool = False
    """Whether it was read from a file: kinds that are missing there are not forbidden."""
    has_prices: bool = True
    timeouts: int = 0
    """Passes of single-node consolidation that timed out since Karpenter started."""
    started_ns: int | None = None
    """When Karpenter started."""

    @cached_property
    def durations(self) -> Durations:
        """Usual start-up durations of its nodes."""
        return observed(line.claim for line in self.nodes if line.claim is not None)

    def never_allows(self, pdb: str) -> bool:
        """Return whether a PodDisruptionBudget (``namespace/name``) can never allow an eviction."""
        return pdb in self.pdbs and is_always_closed(self.pdbs[pdb])

    @cached_property
    def events_by_reason(self) -> Mapping[str, Sequence[Event]]:
        """Its events by their reason: made once, for all rules."""
        events = defaultdict[str, list[Event]](list)
        for event in self.events:
            events[event.reason].append(event)
        return events

    def recent(self, *reasons: str, kind: str = "", within_ns: int = HOUR_NS) -> list[Event]:
        """Return the events with one of the reasons that were last seen within a time.

        Args:
            reasons: Reasons of events.
            kind: The kind of object that they are about; any if it is empty.
            within_ns: That time.
        """
        events = (event for reason in sorted(reasons) for event in self.events_by_reason.get(reason, ()))
        oldest_ns = self.now_ns - within_ns
        return [event for event in events if event.last_ns >= oldest_ns and (not kind or event.involved_kind == kind)]
