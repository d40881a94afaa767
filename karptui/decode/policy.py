"""PodDisruptionBudgets, namespaces and priority classes."""

from __future__ import annotations

from karptui.decode.wire import (
    Int,
    Wire,
    WireCondition,
    WireObject,
    WireSelector,
    as_arguments,
    conditions,
    label_selector,
    object_fields,
)
from karptui.kube.namespace import Namespace, PriorityClass
from karptui.kube.pdb import PodDisruptionBudget


class WireBudgetSpec(Wire):
    """``spec`` of a PodDisruptionBudget."""

    selector: WireSelector | None = None
    min_available: Int | str | None = None
    max_unavailable: Int | str | None = None
    unhealthy_pod_eviction_policy: str | None = None


class WireBudgetStatus(Wire):
    """``status`` of a PodDisruptionBudget."""

    disruptions_allowed: Int | None = None
    current_healthy: Int | None = None
    desired_healthy: Int | None = None
    expected_pods: Int | None = None
    observed_generation: Int | None = None
    conditions: list[WireCondition] | None = None


class WirePodDisruptionBudget(WireObject):
    """A PodDisruptionBudget."""

    spec: WireBudgetSpec | None = None
    status: WireBudgetStatus | None = None


class WirePriorityClass(WireObject):
    """A PriorityClass."""

    value: Int | None = None


def build_pdb(wire: WirePodDisruptionBudget) -> PodDisruptionBudget:
    """Return a PodDisruptionBudget."""
    spec, status = wire.spec or WireBudgetSpec(), wire.status or WireBudgetStatus()
    return PodDisruptionBudget(
        **as_arguments(object_fields(wire.metadata)),
        selector=label_selector(spec.selector),
        min_available=spec.min_available,
        max_unavailable=spec.max_unavailable,
        unhealthy_pod_eviction_policy=spec.unhealthy_pod_eviction_policy or "",
        disruptions_allowed=status.disruptions_allowed or 0,
        current_healthy=status.current_healthy or 0,
        desired_healthy=status.desired_healthy or 0,
        expected_pods=status.expected_pods or 0,
        observed_generation=status.observed_generation,
        conditions=conditions(status.conditions),
    )


def build_namespace(wire: WireObject) -> Namespace:
    """Return a Namespace."""
    return Namespace(**as_arguments(object_fields(wire.metadata)))


def build_priority_class(wire: WirePriorityClass) -> PriorityClass:
    """Return a PriorityClass."""
    return PriorityClass(**as_arguments(object_fields(wire.metadata)), value=wire.value or 0)
