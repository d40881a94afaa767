"""Workloads that own pods, and Services."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from karptui.kube.objects import KubeObject
from karptui.kube.pod import PodTemplate, PodVolume
from karptui.kube.selectors import LabelSelector


class DaemonSet(KubeObject, frozen=True, kw_only=True, gc=False):
    """A DaemonSet with its pod template."""

    template: PodTemplate
    """Missing requests are set to the limits, as Karpenter does for a DaemonSet without a live pod."""
    volumes: tuple[PodVolume, ...] = ()
    selector: LabelSelector | None = None


class Workload(KubeObject, frozen=True, kw_only=True, gc=False):
    """Any other workload: ReplicaSet, Deployment, StatefulSet, Job, CronJob, ReplicationController."""

    api_version: str
    kind: str
    replicas: int | None = None
    selector: LabelSelector | None = None
    template: PodTemplate | None = None
    """None if only the metadata was read."""
    volumes: tuple[PodVolume, ...] = ()


class PodTemplateObject(KubeObject, frozen=True, kw_only=True, gc=False):
    """A ``v1 PodTemplate``, which a CapacityBuffer may reference."""

    template: PodTemplate
    volumes: tuple[PodVolume, ...] = ()


class Service(KubeObject, frozen=True, kw_only=True, gc=False):
    """A Service; default topology spread constraints use its selector."""

    selector: tuple[tuple[str, str], ...] | None = None


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
