"""VerticalPodAutoscalers, and recommended requests of any source.

Source: vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1/types.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from karptui.kube.objects import Condition, KubeObject
from karptui.kube.resources import CPU, MEMORY, ResourceList

SIZED: Final = (CPU, MEMORY)
"""Resources that are right-sized."""
DEFAULT_MODE: Final = "Recreate"
PROMETHEUS: Final = "Prometheus"
"""Source of recommendations that are measured usage."""
HISTORY: Final = "karptui's history"
"""The same, as karptui has recorded it."""


class VerticalPodAutoscaler(KubeObject, frozen=True, kw_only=True, gc=False):
    """A VerticalPodAutoscaler."""

    target_kind: str = ""
    target_name: str = ""
    update_mode: str = DEFAULT_MODE
    """Off, Initial, Recreate, InPlaceOrRecreate or Auto."""
    targets: tuple[tuple[str, ResourceList], ...] = ()
    """Containers with their recommended requests; empty until there are any."""
    conditions: tuple[Condition, ...] = ()


class Recommendation(msgspec.Struct, frozen=True, kw_only=True):
    """Recommended requests of one container of a workload."""

    workload: str
    """``Kind/namespace/name``."""
    container: str
    requests: ResourceList
    update_mode: str = ""
    """Of the VPA; empty without one."""
    is_unsure: bool = False
    """Whether there is too little history."""
    has_hpa: bool = False


class Recommendations(msgspec.Struct, frozen=True, kw_only=True):
    """All recommendations of a source, and the usage data that they rest on; None is unknown."""

    source: str
    """``VPA``, ``KRR`` with its strategy, ``Prometheus``, or `HISTORY`."""
    items: tuple[Recommendation, ...]
    cpu_percentile: float | None = None
    memory_buffer_percent: float | None = None
    """Added to the highest memory usage."""
    history_hours: float | None = None
    known_hours: tuple[float, float] | None = None
    """Shortest and longest history of a container; None if unknown."""
    without: int = 0
    """Containers, or VPAs, without a recommendation."""


def of_vpas(vpas: Iterable[VerticalPodAutoscaler]) -> Recommendations:
    """Return the targets of VerticalPodAutoscalers."""
    items = [
        Recommendation(
            workload=f"{vpa.target_kind}/{vpa.namespace}/{vpa.target_name}",
            container=name,
            requests={resource: target[resource] for resource in SIZED if resource in target},
            update_mode=vpa.update_mode,
            is_unsure=any(
                condition.type == "LowConfidence" and condition.status == "True" for condition in vpa.conditions
            ),
        )
        for vpa in vpas
        for name, target in vpa.targets
    ]
    return Recommendations(source="VPA", items=tuple(items), without=sum(not vpa.targets for vpa in vpas))
