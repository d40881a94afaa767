"""What karpenter.sh/do-not-disrupt protects: nodes by their own annotation or by those of their pods.

``karpenter/do_not_disrupt.py``, shared with provisioning, evaluates a pod's annotation at a point in time.
Rules: ``ValidateNodeDisruptable`` and ``ValidatePodsDisruptable`` in ``pkg/controllers/state/statenode.go``; messages:
``pkg/utils/pod/events.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from karptui.disruption.events import Recorder
from karptui.disruption.fleet import Fleet
from karptui.karpenter.do_not_disrupt import Protection, ProtectionKind
from karptui.karpenter.labels import DO_NOT_DISRUPT
from karptui.karpenter.pod_predicates import PodPredicates
from karptui.kube.pod import Pod
from karptui.kube.timestamps import format_second
from karptui.provisioning.state_node import StateNode

NODE_MESSAGE: Final = f'Disruption is blocked through the "{DO_NOT_DISRUPT}" annotation'
"""Karpenter's message about a node with the annotation."""
INVALID: Final = "InvalidDoNotDisruptAnnotation"
UNTIL: Final = "DoNotDisruptUntil"
ELAPSED: Final = "DoNotDisruptGracePeriodElapsed"


def protects_node(annotations: Mapping[str, str]) -> bool:
    """Return whether a node's annotations protect it; durations work on pods only."""
    return annotations.get(DO_NOT_DISRUPT) == "true"


def pod_message(pod: Pod) -> str:
    """Return Karpenter's message about a node that a pod protects."""
    return f'Pod has "{DO_NOT_DISRUPT}" annotation (Pod={pod.key})'


def first_protected(fleet: Fleet, node: StateNode, recorder: Recorder | None) -> Pod | None:
    """Return the first pod that protects its node now; Karpenter's events about pods up to it are recorded."""
    predicates = fleet.pods
    for pod in fleet.guarded_pods(node):
        if predicates.traits(pod.template).do_not_disrupt is None or not pod.is_active:
            continue
        protection = predicates.protection(pod)
        if recorder is not None:
            record(recorder, pod, protection)
        if protection.is_active:
            return pod
    return None


def record(recorder: Recorder, pod: Pod, protection: Protection) -> None:
    """Record Karpenter's event about a pod's annotation; ``"true"`` has none."""
    match protection.kind:
        case ProtectionKind.INVALID:
            message = f"Invalid karpenter.sh/do-not-disrupt annotation: {protection.problem}, ignoring annotation"
            recorder.publish("Pod", pod.key, INVALID, message)
        case ProtectionKind.TIMED:
            until = format_second(protection.until_ns)
            message = f"The karpenter.sh/do-not-disrupt grace period will elapse at {until}"
            recorder.publish("Pod", pod.key, UNTIL, message)
        case ProtectionKind.ELAPSED:
            message = "The karpenter.sh/do-not-disrupt grace period has elapsed, pod is now disruptable"
            recorder.publish("Pod", pod.key, ELAPSED, message)


def record_departing(fleet: Fleet, recorder: Recorder) -> None:
    """Record Karpenter's events about the annotations of pods on nodes being deleted.

    Every provisioning pass and every simulation evaluates them.
    """
    for node in fleet.nodes:
        if not node.is_marked_for_deletion or node.node is None:
            continue
        record_active((pod for pod in fleet.pods_of(node) if _is_evaluated(fleet, pod)), fleet.pods, recorder)


def record_active(pods: Iterable[Pod], predicates: PodPredicates, recorder: Recorder) -> None:
    """Record Karpenter's events about the annotations of active pods."""
    for pod in pods:
        if pod.is_active:
            record(recorder, pod, predicates.protection(pod))


def _is_evaluated(fleet: Fleet, pod: Pod) -> bool:
    traits = fleet.pods.traits(pod.template)
    return (not traits.tolerates_disrupted and not traits.is_node_owned) or fleet.pods.is_reschedulable(pod)
