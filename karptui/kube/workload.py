"""Workloads that own pods, Services and PodDisruptionBudgets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from karptui.kube.objects import Condition, KubeObject, condition_of
from karptui.kube.pod import PodTemplate, PodVolume
from karptui.kube.selectors import LabelSelector
from karptui.kube.timestamps import ABSENT_NS


class DaemonSet(KubeObject, frozen=True, kw_only=True, gc=False):
    """A DaemonSet with its pod template."""

    observed_generation: int | None = None
    """The generation that its controller has acted on, 0 before it has at all; None if that was not read."""

    template: PodTemplate
    """Missing requests are set to the limits, as Karpenter does for a DaemonSet without a live pod."""
    volumes: tuple[PodVolume, ...] = ()
    selector: LabelSelector | None = None


class JobPods(msgspec.Struct, frozen=True, gc=False):
    """Pods of a Job, as its controller counts them."""

    wanted: int
    """Pods that should run at the same time; 0 if it has ended, is suspended, or waits for pods to end."""
    active: int = 0
    ended: int = 0
    """Pods that succeeded or failed."""
    start_ns: int = ABSENT_NS


class Workload(KubeObject, frozen=True, kw_only=True, gc=False):
    """Any other workload: ReplicaSet, Deployment, StatefulSet, Job, CronJob, ReplicationController."""

    api_version: str
    kind: str
    replicas: int | None = None
    selector: LabelSelector | None = None
    template: PodTemplate | None = None
    """None if only the metadata was read."""
    volumes: tuple[PodVolume, ...] = ()
    failure: Condition | None = None
    """Its condition ReplicaFailure: its controller cannot create or delete pods."""
    observed_generation: int | None = None
    """The generation that its controller has acted on, 0 before it has at all; None if that was not read."""
    counted: int = 0
    """``status.replicas``: the pods that its controller counts."""
    revisions: tuple[str, ...] = ()
    """Of a StatefulSet, the revisions that its pods have or shall get."""
    job: JobPods | None = None
    """None unless it is a Job that its controller has started."""


class PodTemplateObject(KubeObject, frozen=True, kw_only=True, gc=False):
    """A ``v1 PodTemplate``, which a CapacityBuffer may reference."""

    template: PodTemplate
    volumes: tuple[PodVolume, ...] = ()


class Service(KubeObject, frozen=True, kw_only=True, gc=False):
    """A Service; default topology spread constraints use its selector."""

    selector: tuple[tuple[str, str], ...] | None = None
    ports: frozenset[int] = frozenset()
    """Empty if they were not read."""


_OF_ONE_POD: Final = (
    "job-name",
    "controller-uid",
    "batch.kubernetes.io/",
    "statefulset.kubernetes.io/",
    "pod-template",
    "controller-revision-hash",
)
"""Prefixes of labels that differ between pods or revisions of a workload."""


def workload_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """Return a pod's labels without those that its controller sets per pod or per revision.

    Names from the Kubernetes document "Well-Known Labels, Annotations and Taints".
    """
    return {key: value for key, value in labels.items() if not key.startswith(_OF_ONE_POD)}


class PodDisruptionBudget(KubeObject, frozen=True, kw_only=True, gc=False):
    """A PodDisruptionBudget with its status."""

    selector: LabelSelector | None = None
    """None (a null selector) matches no pod; an empty selector matches every pod of the namespace."""
    min_available: int | str | None = None
    """An integer, or text such as ``50%``. Karpenter treats the integer 50 and the text ``50`` differently."""
    max_unavailable: int | str | None = None
    unhealthy_pod_eviction_policy: str = ""
    """``IfHealthyBudget`` (also when empty) or ``AlwaysAllow``."""
    disruptions_allowed: int = 0
    """0 also if there is no status."""
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    observed_generation: int | None = None
    """None until the disruption controller has set a status."""
    conditions: tuple[Condition, ...] = ()

    @property
    def allowed_since_ns(self) -> int:
        """Last transition of the DisruptionAllowed condition; ``ABSENT_NS`` if not reported."""
        condition = condition_of(self.conditions, "DisruptionAllowed")
        return ABSENT_NS if condition is None else condition.last_transition_ns

    @property
    def sync_error(self) -> str:
        """Why the disruption controller cannot count its pods, and so allows no eviction; empty if it can."""
        condition = condition_of(self.conditions, "DisruptionAllowed")
        return condition.message if condition is not None and condition.reason == "SyncFailed" else ""
