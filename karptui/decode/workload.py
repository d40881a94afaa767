"""Decodes DaemonSets, other workloads, pod templates, Services and PodDisruptionBudgets."""

from __future__ import annotations

import msgspec

from karptui.decode.pod_template import TemplateParts, build_template, deciding_annotations, volumes_of
from karptui.decode.pod_wire import WirePodTemplate
from karptui.decode.wire import (
    Int,
    Wire,
    WireCondition,
    WireObject,
    WireSelector,
    conditions,
    label_selector,
    object_fields,
)
from karptui.kube.objects import condition_of
from karptui.kube.pod import PodTemplate
from karptui.kube.workload import DaemonSet, PodDisruptionBudget, PodTemplateObject, Service, Workload


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


def build_pdb(wire: WirePodDisruptionBudget) -> PodDisruptionBudget:
    """Return a PodDisruptionBudget."""
    spec, status = wire.spec or WireBudgetSpec(), wire.status or WireBudgetStatus()
    return PodDisruptionBudget(
        **object_fields(wire.metadata),
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


class WireWorkloadSpec(Wire):
    """``spec`` of a workload."""

    replicas: Int | None = None
    selector: WireSelector | None = None
    template: WirePodTemplate | None = None


class WireWorkloadStatus(Wire):
    """``status`` of a workload."""

    conditions: list[WireCondition] | None = None


class WireWorkload(WireObject):
    """A DaemonSet, ReplicaSet, Deployment, StatefulSet or Job; possibly metadata only."""

    spec: WireWorkloadSpec | None = None
    status: WireWorkloadStatus | None = None


class WireControllerSpec(Wire):
    """``spec`` of a ReplicationController, whose selector is a plain map."""

    replicas: Int | None = None
    selector: dict[str, str] | None = None
    template: WirePodTemplate | None = None


class WireReplicationController(WireObject):
    """A ReplicationController."""

    spec: WireControllerSpec | None = None
    status: WireWorkloadStatus | None = None


AnyWireWorkload = WireWorkload | WireReplicationController


class WireServiceSpec(Wire):
    """``spec`` of a Service."""

    selector: dict[str, str] | None = None


class WireService(WireObject):
    """A Service."""

    spec: WireServiceSpec | None = None


class WirePodTemplateObject(WireObject):
    """A ``v1 PodTemplate``."""

    template: WirePodTemplate = msgspec.field(default_factory=WirePodTemplate)


def build_daemonset(wire: WireWorkload) -> DaemonSet:
    """Return a DaemonSet."""
    fields = object_fields(wire.metadata)
    spec = wire.spec or WireWorkloadSpec()
    template = spec.template or WirePodTemplate()
    return DaemonSet(
        **fields,
        template=_template(template, fields["namespace"], copies_limits=True),
        volumes=volumes_of(template.spec.volumes),
        selector=label_selector(spec.selector),
    )


def build_workload(wire: AnyWireWorkload, api_version: str, kind: str) -> Workload:
    """Return any other workload."""
    fields = object_fields(wire.metadata)
    spec = wire.spec or WireWorkloadSpec()
    selector = spec.selector
    if isinstance(selector, dict):
        selector = WireSelector(match_labels=selector)
    return Workload(
        **fields,
        api_version=api_version,
        kind=kind,
        replicas=spec.replicas,
        selector=label_selector(selector),
        template=None if spec.template is None else _template(spec.template, fields["namespace"]),
        volumes=() if spec.template is None else volumes_of(spec.template.spec.volumes),
        failure=condition_of(conditions(wire.status.conditions), "ReplicaFailure") if wire.status else None,
    )


def build_pod_template(wire: WirePodTemplateObject) -> PodTemplateObject:
    """Return a ``v1 PodTemplate``."""
    fields = object_fields(wire.metadata)
    return PodTemplateObject(
        **fields,
        template=_template(wire.template, fields["namespace"]),
        volumes=volumes_of(wire.template.spec.volumes),
    )


def build_service(wire: WireService) -> Service:
    """Return a Service."""
    selector = wire.spec.selector if wire.spec else None
    return Service(
        **object_fields(wire.metadata),
        selector=None if selector is None else tuple(sorted(selector.items())),
    )


def _template(wire: WirePodTemplate, namespace: str, *, copies_limits: bool = False) -> PodTemplate:
    meta = wire.metadata
    return build_template(
        TemplateParts(
            namespace=namespace,
            labels=meta.labels if meta else None,
            annotations=deciding_annotations(meta.annotations if meta else None),
            owners=None,
            spec=wire.spec,
            copies_limits=copies_limits,
        )
    )
