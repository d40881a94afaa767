"""Workloads: the owners of pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from karptui.kube.objects import KubeObject
from karptui.kube.pod import PodTemplate, PodVolume
from karptui.kube.selectors import LabelSelector


class DaemonSet(KubeObject, frozen=True, kw_only=True, gc=False):
    """A DaemonSet with the pods it makes."""

    template: PodTemplate
    """Limits are copied into missing requests, as Karpenter does for a DaemonSet without a live pod."""
    volumes: tuple[PodVolume, ...] = ()
    selector: LabelSelector | None = None
    desired_count: int = 0
    """``status.desiredNumberScheduled``."""


class Workload(KubeObject, frozen=True, kw_only=True, gc=False):
    """Any other owner of pods: ReplicaSet, Deployment, StatefulSet, Job, CronJob, ReplicationController."""

    api_version: str
    kind: str
    replicas: int | None = None
    selector: LabelSelector | None = None
    template: PodTemplate | None = None
    """None where only the metadata was fetched."""
    volumes: tuple[PodVolume, ...] = ()


class PodTemplateObject(KubeObject, frozen=True, kw_only=True, gc=False):
    """A ``v1 PodTemplate``, which a CapacityBuffer may name."""

    template: PodTemplate
    volumes: tuple[PodVolume, ...] = ()


class Service(KubeObject, frozen=True, kw_only=True, gc=False):
    """A Service, which lends its selector to default topology spread constraints."""

    selector: tuple[tuple[str, str], ...] | None = None


_OF_ONE_POD: Final = (
    "job-name",
    "controller-uid",
    "batch.kubernetes.io/",
    "statefulset.kubernetes.io/",
    "pod-template",
    "controller-revision-hash",
)
"""How labels begin that the pods of a workload do not share, or not for long."""


def workload_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """Return a pod's labels without those that its controller writes for it alone, or for one revision.

    Source of the names: the Kubernetes document "Well-Known Labels, Annotations and Taints".
    """
    return {key: value for key, value in labels.items() if not key.startswith(_OF_ONE_POD)}
