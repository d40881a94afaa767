"""The labels that all pods of a workload share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

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
