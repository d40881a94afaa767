"""Decodes DaemonSets, other workloads, pod templates, Services and PodDisruptionBudgets."""

from __future__ import annotations

from typing import Final

import msgspec

from karptui.decode.kinds import Kind
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
    timestamp,
)
from karptui.kube.objects import condition_of
from karptui.kube.pod import PodTemplate
from karptui.kube.workload import DaemonSet, JobPods, PodDisruptionBudget, PodTemplateObject, Service, Workload

JOB_CONTROLLER: Final = "kubernetes.io/job-controller"


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
    parallelism: Int | None = None
    completions: Int | None = None
    suspend: bool | None = None
    managed_by: str | None = None
    backoff_limit_per_index: Int | None = None


class WireWorkloadStatus(Wire):
    """``status`` of a workload."""

    conditions: list[WireCondition] | None = None
    observed_generation: Int | None = None
    replicas: Int | None = None
    active: Int | None = None
    succeeded: Int | None = None
    failed: Int | None = None
    terminating: Int | None = None
    start_time: str | None = None
    current_revision: str | None = None
    update_revision: str | None = None


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


class WireServicePort(Wire):
    """An item of ``spec.ports``."""

    port: Int | None = None


class WireServiceSpec(Wire):
    """``spec`` of a Service."""

    selector: dict[str, str] | None = None
    ports: list[WireServicePort] | None = None


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
        observed_generation=wire.status.observed_generation if wire.status else None,
        volumes=volumes_of(template.spec.volumes),
        selector=label_selector(spec.selector),
    )


def build_workload(wire: AnyWireWorkload, api_version: str, kind: str) -> Workload:
    """Return any other workload."""
    fields = object_fields(wire.metadata)
    spec, status = wire.spec or WireWorkloadSpec(), wire.status or WireWorkloadStatus()
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
        failure=condition_of(conditions(status.conditions), "ReplicaFailure"),
        observed_generation=_observed_generation(wire, kind),
        counted=status.replicas or 0,
        revisions=tuple(filter(None, (status.current_revision, status.update_revision))),
        job=_job_pods(spec, status) if isinstance(spec, WireWorkloadSpec) and status.start_time else None,
    )


def _observed_generation(wire: AnyWireWorkload, kind: str) -> int | None:
    """Return the observed generation; 0 for a new Deployment or Job that no controller has written a status of."""
    if kind in (Kind.DEPLOYMENT, Kind.JOB) and wire.status == WireWorkloadStatus():
        return None if isinstance(wire.spec, WireWorkloadSpec) and _is_of_others(wire.spec) else 0
    return wire.status.observed_generation if wire.status is not None else None


def _is_of_others(spec: WireWorkloadSpec) -> bool:
    """Return whether another controller than Kubernetes' own runs a Job."""
    return spec.managed_by not in (None, "", JOB_CONTROLLER)


def _job_pods(spec: WireWorkloadSpec, status: WireWorkloadStatus) -> JobPods:
    """Return the pods of a Job that has started; none are wanted if indexes may fail for good one by one.

    Rule: ``manageJob`` in Kubernetes' pkg/controller/job/job_controller.go.
    """
    succeeded, parallelism = status.succeeded or 0, 1 if spec.parallelism is None else spec.parallelism
    if spec.completions is None:
        pods = 0 if succeeded else parallelism
    else:
        pods = min(parallelism, spec.completions - succeeded)
    ends = any(c.type != "Suspended" and c.status == "True" for c in conditions(status.conditions))
    is_held = spec.suspend or status.terminating or _is_of_others(spec)
    if ends or is_held or spec.backoff_limit_per_index is not None:
        pods = 0
    return JobPods(
        max(pods, 0),
        active=status.active or 0,
        ended=succeeded + (status.failed or 0),
        start_ns=timestamp(status.start_time, "status.startTime"),
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
        ports=frozenset(port.port for port in (wire.spec.ports if wire.spec else None) or () if port.port is not None),
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
