"""What keeps a pod pending whatever Karpenter launches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache, partial
from typing import Final

from karptui.decode.kinds import Kind
from karptui.karpenter.labels import KEY_ALIASES, NODEPOOL, ZONE
from karptui.karpenter.nodeclass import EC2_KIND
from karptui.karpenter.rules import is_older
from karptui.kube.objects import Event, controller_of
from karptui.kube.pod import Pod
from karptui.kube.timestamps import DAY_NS, MINUTE_NS
from karptui.kube.volumes import PersistentVolumeClaim
from karptui.pending.causes import (
    awaited_driver,
    gone_host,
    gone_node,
    is_of_another_claim,
)
from karptui.pending.crowding import crowding_of
from karptui.pending.disagreements import PATIENCE_NS, SHORT_PATIENCE_NS, Disagreement, DisagreementCode
from karptui.pending.messages import NOMINATED, PodMessages
from karptui.pending.nominations import selects
from karptui.provisioning.kube_scheduler import FARGATE_SCHEDULER, is_kube_scheduled
from karptui.provisioning.prepared import Prepared
from karptui.provisioning.volumes import VolumeIndex, VolumeLookupError
from karptui.state.cluster import ClusterState

COUNTS_POD_REQUESTS: Final = "1.8.0"
"""First version of Karpenter that counts a pod's ``spec.resources``."""
_NUMBERED_AS_KARPENTER: Final = frozenset({EC2_KIND, "AKSNodeClass"})
"""NodeClasses of the providers whose minor versions are those of Karpenter that they contain."""
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
_SCHEDULERS_OUTSIDE: Final = frozenset({FARGATE_SCHEDULER, "gke.io/optimize-utilization-scheduler"})
"""Schedulers in the control planes of EKS and GKE: no pod of the cluster is theirs."""
GATED_NS: Final = DAY_NS
"""Controllers remove their scheduling gates within minutes, queues when it is the pod's turn."""
_QUEUES: Final = ("kueue.x-k8s.io/", "scheduling.volcano.sh/")
"""Domains of scheduling gates by which queues hold pods."""
_CONTROLLERS: Final = frozenset({"controller", "manager", "operator"})
"""Parts of the names of controllers."""
_RECENT_NS: Final = 20 * MINUTE_NS
"""Drivers retry within minutes: an older failure has no successor."""


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
    """Return that a pod has more volumes of a driver than any node with its labels attaches."""
    if not pod.volumes:
        return None
    try:
        attachments = volumes.attachments(pod)
    except VolumeLookupError:
        return None
    for driver, count in Counter(driver for driver, _ in attachments).items() if len(attachments) > 1 else ():
        csi_nodes = state.of(Kind.CSI_NODE).values()
        limits = {node.name: limit for node in csi_nodes for name, limit in node.driver_limits if name == driver}
        if all(limit is None or limit >= count for limit in limits.values()):
            continue
        suited = [
            limit for name, limit in limits.items() if (node := state.nodes.get(name)) is None or selects(pod, node)
        ]
        known_limits = [limit for limit in suited if limit is not None]
        if known_limits and len(known_limits) == len(suited) and count > max(known_limits):
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
            other.ready and other.namespace == namespace and f"{owner.name}-".startswith(name)
            for other in state.pods.values()
            if (owner := controller_of(other.owners)) is not None
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
