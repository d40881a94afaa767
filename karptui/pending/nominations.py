"""Whether the node that Karpenter nominated for a pod takes it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from karptui.aws.launch_refusals import LaunchRefusal
from karptui.karpenter.labels import NODEPOOL
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.requirements import Requirements
from karptui.kube.objects import Node, condition_of
from karptui.kube.pod import Pod
from karptui.kube.resources import nano
from karptui.kube.taints import HARD_EFFECTS, untolerated
from karptui.kube.timestamps import ABSENT_NS, HOUR_NS, NS_PER_SECOND
from karptui.pending.causes import ENGINE, SILENT, Cause, Diagnosis
from karptui.pending.disagreements import PATIENCE_NS, SHORT_PATIENCE_NS, Disagreement, DisagreementCode
from karptui.pending.messages import FAILED, NOMINATED, PodMessage, PodMessages
from karptui.provisioning.instance_types import alternatives_of
from karptui.provisioning.rejection import RequirementsUnmet, TaintsNotTolerated

AUTOSCALER_TAINT: Final = "ToBeDeletedByClusterAutoscaler"
"""Taint of nodes that the Cluster Autoscaler removes; its value is when it was set, in seconds since the epoch."""
_SECONDS: Final = re.compile("[0-9]{1,12}")
LEFT_NS: Final = HOUR_NS
"""The Cluster Autoscaler drains and removes a node within this time."""
_KNOWN_TAINTS: Final = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "karpenter.sh/")
"""Beginnings of the keys of taints that Kubernetes and Karpenter themselves set and remove."""
_STAGES: Final = (("Initialized", "Initializing"), ("Registered", "Registering"), ("Launched", "Launching"))
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
        destination = diagnosis.destination if diagnosis.cause in (Cause.CLAIM, Cause.NODE) else None
        if destination is None or self._is_ready(destination.node) or now_ns - since_ns < PATIENCE_NS:
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
