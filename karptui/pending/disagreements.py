"""Where Karpenter, the scheduler and the engine disagree about a pending pod."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache, partial
from typing import Final

import msgspec

from karptui.aws.launch_refusals import LaunchRefusal
from karptui.decode.kinds import Kind
from karptui.karpenter.labels import KEY_ALIASES, NODEPOOL, ZONE
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodeclass import EC2_KIND
from karptui.karpenter.requirements import Requirements
from karptui.karpenter.rules import is_older
from karptui.kube.objects import Event, Node, condition_of, controller_of
from karptui.kube.pod import Pod
from karptui.kube.resources import nano
from karptui.kube.taints import HARD_EFFECTS, untolerated
from karptui.kube.timestamps import ABSENT_NS, DAY_NS, HOUR_NS, MINUTE_NS, NS_PER_SECOND
from karptui.kube.volumes import PersistentVolumeClaim
from karptui.pending.causes import (
    ENGINE,
    SILENT,
    Cause,
    Diagnosis,
    PodDestination,
    awaited_driver,
    gone_host,
    gone_node,
    is_of_another_claim,
)
from karptui.pending.crowding import crowding_of
from karptui.pending.messages import FAILED, NOMINATED, PodMessage, PodMessages
from karptui.provisioning.instance_types import alternatives_of
from karptui.provisioning.kube_scheduler import is_kube_scheduled
from karptui.provisioning.prepared import Prepared
from karptui.provisioning.rejection import RequirementsUnmet, TaintsNotTolerated
from karptui.provisioning.volumes import VolumeIndex, VolumeLookupError
from karptui.state.cluster import ClusterState

PATIENCE_NS: Final = 300 * NS_PER_SECOND
"""Maximum start time of a nominated node."""
SHORT_PATIENCE_NS: Final = 120 * NS_PER_SECOND
"""How long Karpenter and the scheduler may know of different states."""
AUTOSCALER_TAINT: Final = "ToBeDeletedByClusterAutoscaler"
"""Taint of nodes that the Cluster Autoscaler removes; its value is when it was set, in seconds since the epoch."""
_SECONDS: Final = re.compile("[0-9]{1,12}")
LEFT_NS: Final = HOUR_NS
"""The Cluster Autoscaler drains and removes a node within this time."""
COUNTS_POD_REQUESTS: Final = "1.8.0"
"""First version of Karpenter that counts a pod's ``spec.resources``."""
_NUMBERED_AS_KARPENTER: Final = frozenset({EC2_KIND, "AKSNodeClass"})
"""NodeClasses of the providers whose minor versions are those of Karpenter that they contain."""
_KNOWN_TAINTS: Final = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "karpenter.sh/")
"""Beginnings of the keys of taints that Kubernetes and Karpenter themselves set and remove."""
_STAGES: Final = (("Initialized", "Initializing"), ("Registered", "Registering"), ("Launched", "Launching"))


class DisagreementCode(StrEnum):
    """Kind of a disagreement."""

    LAUNCH_REFUSED = "launch refused"
    """A launch of the NodePool failed."""
    LAUNCHES_STOPPED = "launches stopped"
    """Karpenter schedules no pods while a NodeClaim without provider ID cannot launch."""
    VOLUME_NODE_GONE = "volume's node gone"
    """A local volume is on a node that does not exist."""
    VOLUME_IN_USE = "volume in use"
    """Another pod uses its volume, which only one pod may use."""
    VOLUME_NOT_CREATED = "volume not created"
    """The volume of its claim cannot be created, or its driver does not create it."""
    VOLUME_OF_ANOTHER = "volume of another claim"
    """Its claim names a volume that still belongs to another claim."""
    VOLUME_LABEL = "volume's label on no node"
    """Its volume requires an older label of nodes, which no node has, and which Karpenter reads as the newer one."""
    VOLUME_ZONE = "volume's zone not read"
    """A label of its volume ties it to a zone: kube-scheduler reads that, Karpenter does not."""
    NO_STORAGE_CLASS = "no StorageClass"
    """Its claim is not bound and names no StorageClass."""
    FOREIGN_TAINT = "taint of another controller"
    """Nodes that were launched meanwhile have a taint that their NodePool does not announce."""
    GATE_UNSERVED = "gate not served"
    """The controller of its scheduling gate runs no pod."""
    NOT_ADMITTED = "not admitted"
    """The quota of its queue does not admit its group: a PodGroup of Volcano, or a Workload of Kueue."""
    SCHEDULER_ABSENT = "no such scheduler"
    """Its scheduler has said nothing, and no ready pod has the scheduler's name."""
    VICTIMS_REMAIN = "nominated node in use"
    """Pods of lower priority take long to end on the node that kube-scheduler nominated."""
    CLAIM_NOT_CREATED = "ResourceClaim not created"
    """Kubernetes cannot create a ResourceClaim of it."""
    TOO_MANY_VOLUMES = "too many volumes"
    """It has more volumes of a driver than any node attaches."""
    HOST_GONE = "selected node gone"
    """It selects by hostname a node that does not exist."""
    POD_REQUESTS = "requests of the whole pod"
    """It has requests for the whole pod, which this Karpenter does not count."""
    LEFT_TAINT = "taint left by the Cluster Autoscaler"
    """The nodes that it selects have the Cluster Autoscaler's taint for long."""
    OTHERS_FULL = "nodes of others full"
    """It selects nodes that Karpenter does not manage, and kube-scheduler refuses these; no NodePool has the label."""
    OTHERS_CORDONED = "nodes of others cordoned"
    """It selects nodes that Karpenter does not manage, and these are cordoned; no NodePool has the label."""
    CROWDED = "crowded"
    """A DaemonSet that Karpenter does not expect on new nodes leaves it no room there."""
    NOMINATED = "nominated"
    """Karpenter nominated a node, and the pod is still pending."""
    UNSCHEDULABLE_NOW = "unschedulable now"
    """Karpenter nominated a node; the engine finds none."""
    FITS_NOW = "fits now"
    """Karpenter found the pod unschedulable; the engine does not."""
    NO_EVENT = "Karpenter is silent"
    """Karpenter has events about other pods, but not about this one."""
    VOLUMES_UNREAD = "volumes not read"
    """kube-scheduler refuses the pod; it fits on a node if its unread volumes are ignored."""
    REFUSED_BY_SCHEDULER = "room by Karpenter's rules"
    """kube-scheduler refuses the pod; by Karpenter's rules it fits on a node."""


_COMMON: Final = (
    "Insufficient",
    "affinity/",
    "affinity rules",
    "untolerated taint",
    "topology",
    "unschedulable",
    "ports",
)
"""In reasons of kube-scheduler's that Karpenter's rules have as well."""
NOT_LAUNCHED: Final = frozenset({DisagreementCode.LAUNCH_REFUSED, DisagreementCode.LAUNCHES_STOPPED})
"""Disagreements because of which a new node that the engine finds may not come."""
DECISIVE: Final = frozenset(
    {
        DisagreementCode.VOLUME_NODE_GONE,
        DisagreementCode.VOLUME_IN_USE,
        DisagreementCode.VOLUME_NOT_CREATED,
        DisagreementCode.VOLUME_OF_ANOTHER,
        DisagreementCode.VOLUME_LABEL,
        DisagreementCode.VOLUME_ZONE,
        DisagreementCode.NO_STORAGE_CLASS,
        DisagreementCode.FOREIGN_TAINT,
        DisagreementCode.GATE_UNSERVED,
        DisagreementCode.NOT_ADMITTED,
        DisagreementCode.SCHEDULER_ABSENT,
        DisagreementCode.VICTIMS_REMAIN,
        DisagreementCode.CLAIM_NOT_CREATED,
        DisagreementCode.TOO_MANY_VOLUMES,
        DisagreementCode.HOST_GONE,
        DisagreementCode.POD_REQUESTS,
        DisagreementCode.LEFT_TAINT,
        DisagreementCode.CROWDED,
    }
)
"""Disagreements about what keeps a pod pending whatever Karpenter launches."""
_GROUP_KINDS: Final = frozenset({"PodGroup", "Workload"})
"""Kinds by which Volcano and Kueue admit the pods of a workload together."""
_NOT_ADMITTED: Final = (
    "queue resource quota insufficient",
    "> maximum capacity (",
    " is inactive",
    "match ClusterQueue selector",
)
"""In Volcano's messages about a full queue, and in Kueue's about a request above the quota or a queue at fault."""
_ADMITTED_LATER: Final = "insufficient unused quota"
"""In Kueue's messages about quota that other Workloads use: the group is next in turn."""
PROVISIONING_FAILED: Final = "ProvisioningFailed"
"""Reason of a volume driver's events about claims whose volume it cannot create."""
_ZONES: Final = (ZONE, *(key for key, newer in KEY_ALIASES.items() if newer == ZONE))
_NO_ZONE: Final = "no available volume zone"
"""In kube-scheduler's messages about nodes outside the zone of a volume's label."""
_CLAIM_FAILED: Final = "FailedResourceClaimCreation"
"""Reason of the resource claim controller's events about pods."""
_SCHEDULERS_OUTSIDE: Final = frozenset({"fargate-scheduler", "gke.io/optimize-utilization-scheduler"})
"""Schedulers in the control planes of EKS and GKE: no pod of the cluster is theirs."""
GATED_NS: Final = DAY_NS
"""Controllers remove their scheduling gates within minutes, queues when it is the pod's turn."""
_QUEUES: Final = ("kueue.x-k8s.io/", "scheduling.volcano.sh/")
"""Domains of scheduling gates by which queues hold pods."""
_CONTROLLERS: Final = frozenset({"controller", "manager", "operator"})
"""Parts of the names of controllers."""
_RECENT_NS: Final = 20 * MINUTE_NS
"""Drivers retry within minutes: an older failure has no successor."""


class Disagreement(msgspec.Struct, frozen=True):
    """One disagreement."""

    code: DisagreementCode
    since_ns: int = 0
    """Time of the message or the refused launch, or when the pod was created."""
    now_ns: int = 0
    """Time of the comparison."""
    name: str = ""
    """The NodePool whose launch failed, the claim of the volume, the taint, or the nominated NodeClaim or node."""
    stage: str | None = None
    """Phase of the nominated node, empty if it is gone; None without a nominated node."""
    error_code: str = ""
    message: str = ""
    """Error message of a failed launch without a code, label that a DaemonSet selects, or label or zone of a volume."""
    user: str = ""
    """The pod that uses the volume, its driver, the controller of the gate, or another scheduler than kube-scheduler.

    Of a DaemonSet that leaves no room, the resource.
    """
    nodes: tuple[str, ...] = ()
    """Nodes on which the pods fit, the missing node of a volume, NodeClaims that cannot launch, or preempted pods."""
    volumes: tuple[int, int] = (0, 0)
    """The number of its volumes, and the most that a node attaches."""
    pods: int = 1
    """Number of pods with the same cause."""
    destination: PodDestination | None = None
    """Where the pod fits now."""
    drivers: tuple[str, ...] = ()
    """Drivers for volumes that are registered on nodes."""
    has_default: bool = True
    """Whether there may be a default StorageClass."""
    knows_volumes: bool = True


def failed_volumes(state: ClusterState, now_ns: int) -> dict[str, Event]:
    """Return the latest recent event about each claim (``namespace/name``) whose volume cannot be created.

    An event about a pod (``Pod/namespace/name``) is about its ResourceClaim.
    """
    events: dict[str, Event] = {}
    for event in state.events.values():
        of_pod = event.reason == _CLAIM_FAILED
        if not (event.reason == PROVISIONING_FAILED or of_pod) or now_ns - event.last_ns > _RECENT_NS:
            continue
        key = f"{'Pod/' if of_pod else ''}{event.involved_namespace}/{event.involved_name}"
        newest = events.get(key)
        if newest is None or newest.last_ns < event.last_ns:
            events[key] = event
    return events


def groups_not_admitted(state: ClusterState) -> dict[str, Event]:
    """Return an event about each group of pods (``namespace/name``) that the quota of its queue does not admit."""
    return {
        f"{event.involved_namespace}/{event.involved_name}": event
        for event in state.events.values()
        if event.involved_kind in _GROUP_KINDS
        if any(words in event.message for words in _NOT_ADMITTED) and _ADMITTED_LATER not in event.message
    }


def _group_event(pod: Pod, groups: Mapping[str, Event]) -> Event | None:
    """Return the event about a pod's group: a label of the pod or its controller names it."""
    owner = controller_of(pod.owners)
    named = {*pod.labels.values(), *((owner.name, f"podgroup-{owner.uid}") if owner is not None else ())}
    return next((groups[key] for name in sorted(named) if (key := f"{pod.namespace}/{name}") in groups), None)


class Holds:
    """Finds the causes that keep pods pending whatever Karpenter launches."""

    def __init__(self, state: ClusterState, prepared: Prepared, version: str = "") -> None:
        """Store the inputs.

        Args:
            version: Karpenter's version.
        """
        self._state, self._volumes, self._version = state, prepared.volumes, version
        self._now_ns = prepared.now_ns
        self._failed, self._groups = failed_volumes(state, prepared.now_ns), groups_not_admitted(state)
        self._runs = cache(partial(scheduler_runs, state=state))

    def of(self, pod: Pod, messages: PodMessages) -> Disagreement | None:
        """Return the cause for a pod; None without one."""
        state, volumes, now_ns, version = self._state, self._volumes, self._now_ns, self._version
        refused = _group_event(pod, self._groups)
        # Volcano repeats its event each second, Kueue only if its queue changes: its gate shows that it still holds.
        if refused is not None and (pod.trouble.gates or now_ns - refused.last_ns <= SHORT_PATIENCE_NS):
            name, message = f"{refused.involved_kind} {refused.involved_name}", refused.message
            return Disagreement(DisagreementCode.NOT_ADMITTED, name=name, user=refused.source, message=message)
        if pod.trouble.gates and (unserved := _unserved_gate(pod, state, now_ns)) is not None:
            gate, controller = unserved
            return Disagreement(DisagreementCode.GATE_UNSERVED, name=gate, user=controller)
        scheduler = pod.template.scheduler_name
        if messages.scheduler is None and not is_kube_scheduled(pod) and not self._runs(scheduler):
            return Disagreement(DisagreementCode.SCHEDULER_ABSENT, name=scheduler)
        if pod.nominated_node_name and (victims := _slow_victims(pod, state, now_ns)):
            ends_ns, names = max(victim.deletion_ns for victim in victims), tuple(sorted(each.key for each in victims))
            code, node = DisagreementCode.VICTIMS_REMAIN, pod.nominated_node_name
            return Disagreement(code, ends_ns, now_ns, name=node, nodes=names)
        unmet = _claim_not_created(pod, self._failed) or _too_many_volumes(pod, state, volumes)
        unmet = unmet or _old_labels(pod, messages, state)
        unmet = unmet or _uncounted_requests(pod, messages, state, version) or _crowded(pod, messages, state, now_ns)
        if unmet is not None:
            return unmet
        if host := gone_host(pod, state):
            return Disagreement(DisagreementCode.HOST_GONE, nodes=(host,))
        if (gone := gone_node(pod, state)) is not None:
            claim, node = gone
            return Disagreement(DisagreementCode.VOLUME_NODE_GONE, name=claim, nodes=(node,))
        if (used := volumes.exclusive_user(pod)) is not None:
            claim, user = used
            return Disagreement(DisagreementCode.VOLUME_IN_USE, name=claim, user=user.key)
        for volume in pod.volumes:
            claim = volume.claim_of(pod.name)
            event = self._failed.get(f"{pod.namespace}/{claim}")
            bound = state.of(Kind.PVC).get(f"{pod.namespace}/{claim}")
            if event is not None and (bound is None or not bound.volume_name):
                code = DisagreementCode.VOLUME_NOT_CREATED
                return Disagreement(code, event.first_ns, name=claim, message=event.message)
            if bound is not None and (unbound := _unbound(bound, state, now_ns)) is not None:
                return unbound
        return None


def _old_labels(pod: Pod, messages: PodMessages, state: ClusterState) -> Disagreement | None:
    """Return a volume label that kube-scheduler and Karpenter read differently; None without one.

    Rules: ``VolumeZone`` and ``TranslateInTreePVToCSI`` of Kubernetes: in-tree volumes get the label of their driver.
    """
    for name in (volume.claim_of(pod.name) for volume in pod.volumes):
        claim = state.of(Kind.PVC).get(f"{pod.namespace}/{name}")
        volume = state.of(Kind.PV).get(claim.volume_name) if claim is not None else None
        if volume is None:
            continue
        terms = [{e.key for e in term.match_expressions} & KEY_ALIASES.keys() for term in volume.required_node_terms]
        if terms and not (volume.is_aws_ebs or volume.in_tree_plugin):
            labels = {key for node in state.nodes.values() if NODEPOOL in node.labels for key in node.labels}
            lacking = [sorted(term - labels) for term in terms]
            if labels and all(lacking):
                return Disagreement(DisagreementCode.VOLUME_LABEL, name=name, message=lacking[0][0])
        zone = next((volume.labels[key] for key in _ZONES if key in volume.labels), "")
        if zone and not terms and messages.scheduler is not None and _NO_ZONE in messages.scheduler.message:
            return Disagreement(DisagreementCode.VOLUME_ZONE, name=name, message=zone)
    return None


def _unbound(claim: PersistentVolumeClaim, state: ClusterState, now_ns: int) -> Disagreement | None:
    """Return the cause that keeps a claim unbound; None if unknown."""
    if not (claim.volume_name or claim.storage_class_name):
        classes = state.of(Kind.STORAGE_CLASS).values()
        has_default = Kind.STORAGE_CLASS in state.unread or any(each.is_default for each in classes)
        return Disagreement(DisagreementCode.NO_STORAGE_CLASS, name=claim.name, has_default=has_default)
    if is_of_another_claim(claim, state):
        return Disagreement(DisagreementCode.VOLUME_OF_ANOTHER, name=claim.name, user=claim.volume_name)
    driver, code = awaited_driver(claim, state, now_ns), DisagreementCode.VOLUME_NOT_CREATED
    if not driver:
        return None
    return Disagreement(code, claim.created_ns, name=claim.name, user=driver, drivers=_drivers(state))


def scheduler_runs(scheduler: str, state: ClusterState) -> bool:
    """Return whether a scheduler runs: outside the cluster, in a ready pod of its name, or a pod of it has a node."""
    pods = state.pods.values()
    return scheduler in _SCHEDULERS_OUTSIDE or any(
        (pod.ready and scheduler in pod.name) or (pod.node_name and pod.template.scheduler_name == scheduler)
        for pod in pods
    )


def _slow_victims(pod: Pod, state: ClusterState, now_ns: int) -> list[Pod]:
    """Return pods of lower priority that terminate on a pod's nominated node if that takes long, else none."""
    others = state.pods_on(pod.nominated_node_name).values()
    victims = [o for o in others if o.is_terminating and not o.is_terminal]
    victims = [victim for victim in victims if victim.template.priority < pod.template.priority]
    left_ns = max((victim.deletion_ns for victim in victims), default=now_ns) - now_ns
    return victims if left_ns > PATIENCE_NS or left_ns < -SHORT_PATIENCE_NS else []


def _claim_not_created(pod: Pod, failed: Mapping[str, Event]) -> Disagreement | None:
    event = failed.get(f"Pod/{pod.key}") if pod.template.has_resource_claims else None
    code = DisagreementCode.CLAIM_NOT_CREATED
    return None if event is None else Disagreement(code, event.first_ns, message=event.message)


def _too_many_volumes(pod: Pod, state: ClusterState, volumes: VolumeIndex) -> Disagreement | None:
    """Return that a pod has more volumes of a driver than any node attaches: no node that is launched takes more."""
    if not pod.volumes:
        return None
    try:
        attachments = volumes.attachments(pod)
    except VolumeLookupError:
        return None
    for driver, count in Counter(driver for driver, _ in attachments).items() if len(attachments) > 1 else ():
        nodes = state.of(Kind.CSI_NODE).values()
        limits = [limit for node in nodes for name, limit in node.driver_limits if name == driver]
        known_limits = [limit for limit in limits if limit is not None]
        if known_limits and len(known_limits) == len(limits) and count > max(known_limits):
            return Disagreement(DisagreementCode.TOO_MANY_VOLUMES, name=driver, volumes=(count, max(known_limits)))
    return None


def _uncounted_requests(pod: Pod, messages: PodMessages, state: ClusterState, version: str) -> Disagreement | None:
    """Return that Karpenter nominates a pod to nodes without room because it does not count ``spec.resources``."""
    nominated, refused = messages.karpenter, messages.scheduler
    if not pod.template.has_pod_level_requests or not is_older(version, COUNTS_POD_REQUESTS):
        return None
    kinds = {nodeclass.kind for nodeclass in state.of(Kind.NODECLASS).values()}
    if nominated is None or nominated.reason != NOMINATED or not kinds or not kinds <= _NUMBERED_AS_KARPENTER:
        return None
    is_full = refused is not None and "Insufficient" in refused.message
    return Disagreement(DisagreementCode.POD_REQUESTS, name=version) if is_full else None


def _crowded(pod: Pod, messages: PodMessages, state: ClusterState, now_ns: int) -> Disagreement | None:
    """Return that a DaemonSet leaves a pod no room on the nodes that Karpenter launches for it."""
    crowding = crowding_of(pod, messages, state)
    if crowding is None:
        return None
    daemonset, label, resource, nodes = crowding
    code = DisagreementCode.CROWDED
    return Disagreement(code, pod.created_ns, now_ns, name=daemonset, nodes=nodes, user=resource, message=label)


def _unserved_gate(pod: Pod, state: ClusterState, now_ns: int) -> tuple[str, str] | None:
    """Return a scheduling gate and the controller that removes it if that runs no pod; None if it may run.

    A gate that has been there for a day without a known controller counts too, except gates of queues. The domain of a
    gate names its project: ``kueue.x-k8s.io/admission`` is removed by ``kueue-controller-manager``.
    """
    for gate in pod.trouble.gates:
        project = gate.partition("/")[0].partition(".")[0]
        controllers = [
            workload
            for kind in (Kind.DEPLOYMENT, Kind.STATEFULSET)
            for workload in state.of(kind).values()
            if "/" in gate and project in (words := workload.name.split("-")) and _CONTROLLERS.intersection(words)
        ]
        names = tuple((workload.namespace, f"{workload.name}-") for workload in controllers)
        runs = names and any(
            other.ready and other.namespace == namespace and other.name.startswith(name)
            for other in state.pods.values()
            for namespace, name in names
        )
        if controllers and not runs:
            return gate, f"{controllers[0].kind} {controllers[0].key}"
        is_old = now_ns - pod.created_ns >= GATED_NS and not gate.startswith(_QUEUES)
        if is_old and not controllers and not {Kind.DEPLOYMENT, Kind.STATEFULSET} & set(state.unread):
            return gate, ""
    return None


def _drivers(state: ClusterState) -> tuple[str, ...]:
    """Return the drivers that are registered on nodes."""
    nodes = state.of(Kind.CSI_NODE).values()
    return tuple(sorted({driver for node in nodes for driver, _ in node.driver_limits}))


class Nominations:
    """Finds the node of a nomination.

    Args:
        nodes: By name.
        claims: By name.
        refusals: By NodePool: its last refused launch, if Karpenter still remembers it.
        overdue: NodeClaims that should have an instance and have none, the oldest first.
        has_karpenter_events: Whether Karpenter's events are visible at all.
    """

    def __init__(
        self,
        nodes: Mapping[str, Node],
        claims: Mapping[str, NodeClaim],
        refusals: Mapping[str, LaunchRefusal],
        overdue: Sequence[NodeClaim],
        *,
        has_karpenter_events: bool,
    ) -> None:
        self._nodes = nodes
        self._claims = claims
        self._refusal_by_pool = refusals
        self._overdue = overdue
        self._has_karpenter_events = has_karpenter_events

    def foreign_taint(self, pod: Pod, diagnosis: Diagnosis, since_ns: int, now_ns: int) -> Disagreement | None:
        """Return the taint that keeps a pod off nodes that were launched in its NodePool meanwhile; None without one.

        Karpenter expects the NodePool's taints only, so it launches another node, which gets the same taint.
        """
        if diagnosis.cause is Cause.UNPLACED:
            return self._old_autoscaler_taint(pod, now_ns)
        destination = diagnosis.destination if diagnosis.cause is Cause.CLAIM else None
        if destination is None or now_ns - since_ns < PATIENCE_NS:
            return None
        tainted: dict[str, list[str]] = {}
        for claim in self._claims.values():
            node = self._nodes.get(claim.node_name)
            is_of_pool = claim.labels.get(NODEPOOL) == destination.nodepool and claim.is_true("Initialized")
            if node is None or not is_of_pool or claim.is_deleting or claim.created_ns < since_ns:
                continue
            for taint in untolerated(node.taints, pod.template.tolerations):
                is_announced = any(map(taint.matches, (*claim.taints, *claim.startup_taints)))
                if not is_announced and taint.effect in HARD_EFFECTS and not taint.key.startswith(_KNOWN_TAINTS):
                    tainted.setdefault(str(taint), []).append(node.name)
        if not tainted:
            return None
        name = max(tainted, key=lambda taint: len(tainted[taint]))
        code, nodes = DisagreementCode.FOREIGN_TAINT, tuple(sorted(tainted[name]))
        return Disagreement(code, since_ns, now_ns, name=name, nodes=nodes, destination=destination)

    def _old_autoscaler_taint(self, pod: Pod, now_ns: int) -> Disagreement | None:
        """Return the Cluster Autoscaler's taint on nodes that a pod selects if it is old; None without one."""
        left: dict[str, int] = {}
        for node in self._nodes.values():
            taints = untolerated(node.taints, pod.template.tolerations)
            taints = [each for each in taints if each.effect in HARD_EFFECTS]
            if [each.key for each in taints] == [AUTOSCALER_TAINT] and _SECONDS.fullmatch(taints[0].value):
                since_ns = int(taints[0].value) * NS_PER_SECOND
                if now_ns - since_ns >= LEFT_NS and selects(pod, node):
                    left[node.name] = since_ns
        code, nodes = DisagreementCode.LEFT_TAINT, tuple(sorted(left))
        return Disagreement(code, min(left.values()), now_ns, name=AUTOSCALER_TAINT, nodes=nodes) if left else None

    def others_full(self, pod: Pod, diagnosis: Diagnosis, messages: PodMessages) -> Disagreement | None:
        """Return the nodes outside of Karpenter that alone have the labels a pod selects; None if there are none."""
        rejections = diagnosis.error.rejections if diagnosis.error is not None else ()
        unmet = [rejection for _, rejection in rejections if not isinstance(rejection, TaintsNotTolerated)]
        if not unmet or not all(isinstance(rejection, RequirementsUnmet) for rejection in unmet):
            return None
        nodes = [node for node in self._nodes.values() if selects(pod, node)]
        if not nodes or any(NODEPOOL in node.labels for node in nodes):
            return None
        names, message = tuple(sorted(node.name for node in nodes)), messages.scheduler
        if all(node.is_unschedulable for node in nodes):
            return Disagreement(DisagreementCode.OTHERS_CORDONED, nodes=names)
        refusals = _refusals(message.message) if message is not None else ""
        return Disagreement(DisagreementCode.OTHERS_FULL, message=refusals, nodes=names)

    def disagreements(
        self,
        diagnosis: Diagnosis,
        messages: PodMessages,
        since_ns: int,
        now_ns: int,
        nodes: Sequence[str] = (),
        *,
        scheduler: str = "",
        held: Disagreement | None = None,
        knows_volumes: bool = True,
    ) -> tuple[Disagreement, ...]:
        """Return the disagreements between the engine, Karpenter and the scheduler.

        Args:
            since_ns: Start of the pod's wait: nanoseconds since the epoch.
            nodes: A node name for each pod of the same cause that fits on a node.
            scheduler: The pod's scheduler if it is not kube-scheduler.
            held: What keeps it pending whatever Karpenter launches.
        """
        if held is not None:
            return (held,)
        disagreements = self._disagreements(diagnosis, messages, since_ns, now_ns, nodes, knows_volumes=knows_volumes)
        message = messages.scheduler.message if messages.scheduler is not None else ""
        message = message if scheduler else _refusals(message, _COMMON)
        return tuple(
            msgspec.structs.replace(each, user=scheduler, message=message)
            if each.code is DisagreementCode.REFUSED_BY_SCHEDULER
            else each
            for each in disagreements
        )

    def _disagreements(
        self,
        diagnosis: Diagnosis,
        messages: PodMessages,
        since_ns: int,
        now_ns: int,
        nodes: Sequence[str],
        *,
        knows_volumes: bool,
    ) -> Iterator[Disagreement]:
        pod_message, destination = messages.karpenter, diagnosis.destination
        waited_ns = now_ns - since_ns
        pool = destination.nodepool if diagnosis.cause is Cause.CLAIM and destination else ""
        refusal = self._refusal_by_pool.get(pool) if pool else None
        if refusal is not None:
            yield Disagreement(
                DisagreementCode.LAUNCH_REFUSED,
                refusal.last_ns,
                now_ns,
                name=pool,
                error_code=refusal.error_code,
                message=refusal.message,
            )
        is_stopped = bool(self._overdue) and diagnosis.cause is Cause.CLAIM
        if is_stopped and refusal is None:
            failed, names = self._overdue[0].refused_launch, tuple(claim.name for claim in self._overdue)
            message = failed.message or failed.reason if failed is not None else ""
            code = DisagreementCode.LAUNCHES_STOPPED
            yield Disagreement(code, self._overdue[0].created_ns, now_ns, nodes=names, message=message)
        if pod_message is not None and pod_message.reason == NOMINATED:
            yield from self._nominated(pod_message, now_ns)
            if diagnosis.cause is Cause.UNPLACED:
                yield Disagreement(DisagreementCode.UNSCHEDULABLE_NOW, pod_message.at_ns, now_ns)
        elif pod_message is not None and pod_message.reason == FAILED and destination is not None and refusal is None:
            code = DisagreementCode.FITS_NOW
            yield Disagreement(code, pod_message.at_ns, now_ns, destination=destination, knows_volumes=knows_volumes)
        elif pod_message is None and not is_stopped and self._lacks_event(diagnosis, waited_ns):
            yield Disagreement(DisagreementCode.NO_EVENT, since_ns, now_ns)
        is_there = diagnosis.cause is Cause.NODE and destination is not None and self._is_ready(destination.node)
        if destination is not None and is_there and waited_ns > SHORT_PATIENCE_NS:
            code = DisagreementCode.REFUSED_BY_SCHEDULER if knows_volumes else DisagreementCode.VOLUMES_UNREAD
            places = tuple(dict.fromkeys((destination.node, *nodes)))
            yield Disagreement(code, since_ns, now_ns, nodes=places, pods=max(len(nodes), 1))

    def _is_ready(self, name: str) -> bool:
        """Return whether a destination is a ready node: kube-scheduler refuses nodes that are still joining."""
        node = self._nodes.get(name)
        return node is not None and node.is_ready

    def _lacks_event(self, diagnosis: Diagnosis, waited_ns: int) -> bool:
        is_announced = diagnosis.cause in ENGINE and diagnosis.cause not in SILENT
        return self._has_karpenter_events and is_announced and waited_ns > SHORT_PATIENCE_NS

    def _nominated(self, message: PodMessage, now_ns: int) -> Iterator[Disagreement]:
        name, stage, patience_ns = "", None, PATIENCE_NS
        if message.at_ns != ABSENT_NS and message.targets:
            name, stage = message.targets[0][1], self.stage(message)
            patience_ns = SHORT_PATIENCE_NS // 2 if stage in ("", "Ready") else PATIENCE_NS
        if now_ns - message.at_ns > patience_ns:
            yield Disagreement(DisagreementCode.NOMINATED, message.at_ns, now_ns, name=name, stage=stage)

    def stage(self, message: PodMessage) -> str:
        """Return the phase of the nominated node: ``Launching``, ..., ``Ready``; empty if it is gone."""
        for kind, name in message.targets:
            claim = self._claims.get(name) if kind == "nodeclaim" else None
            if claim is not None:
                return next(
                    (
                        word
                        for type_, word in reversed(_STAGES)
                        if (condition := condition_of(claim.conditions, type_)) is None or condition.status != "True"
                    ),
                    "Ready",
                )
            if kind == "node" and name in self._nodes:
                return "Ready"
        return ""


def selects(pod: Pod, node: Node) -> bool:
    """Return whether a node has the labels that a pod requires, and is large enough for it."""
    if any(nano(node.allocatable, name) < amount.nano for name, amount in pod.requests.items()):
        return False
    labels = Requirements.from_labels(node.labels)
    return any(labels.compatible(option) for option in alternatives_of(pod.template))


def _refusals(message: str, left_out: Sequence[str] = ("affinity/selector",)) -> str:
    """Return the reasons of kube-scheduler's message about nodes, except some."""
    reasons = message.partition(" are available: ")[2].partition(" preemption: ")[0].rstrip(".")
    return ", ".join(reason for reason in reasons.split(", ") if not any(words in reason for words in left_out))
