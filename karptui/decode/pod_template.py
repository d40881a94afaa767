"""Converts pod specs into shared templates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from karptui.decode import pod_wire as wires
from karptui.decode.wire import WireCondition, WireOwner, label_selector, node_terms, owners, quantities
from karptui.kube import resources
from karptui.kube.objects import EMPTY_LABELS
from karptui.kube.pod import (
    LIMIT_RANGER,
    MIRROR,
    ContainerRequests,
    ContainerStatusResources,
    HostPort,
    PodAffinityTerm,
    PodTemplate,
    PodVolume,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
    effective_requests,
)
from karptui.kube.resources import ResourceList
from karptui.kube.selectors import PreferredSchedulingTerm
from karptui.kube.taints import Toleration

_DECIDING_PREFIX: Final = "karpenter.sh/"
_DECIDING: Final = frozenset(
    {
        "controller.kubernetes.io/pod-deletion-cost",
        MIRROR,
        "cluster-autoscaler.kubernetes.io/safe-to-evict",
        LIMIT_RANGER,
    }
)
_OWN_LABELS: Final = frozenset(
    {
        "statefulset.kubernetes.io/pod-name",
        "apps.kubernetes.io/pod-index",
        "batch.kubernetes.io/job-completion-index",
    }
)
"""Labels that differ between pods of a workload, so they are not part of the template."""
_DEFAULT_GRACE_SECONDS: Final = 30
_INITS: Final = "spec.initContainers"


class TemplateParts(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Input of a template."""

    namespace: str
    labels: Mapping[str, str] | None
    annotations: Mapping[str, str] | None
    owners: list[WireOwner] | None
    spec: wires.WirePodSpec
    status: wires.WirePodStatus = msgspec.field(default_factory=wires.WirePodStatus)
    """Resources reported by the kubelet, which count as requests during a resize."""
    copies_limits: bool = False
    """Whether missing requests are set to the limits, as for a DaemonSet without a live pod."""


def split_labels(labels: Mapping[str, str] | None) -> tuple[Mapping[str, str] | None, Mapping[str, str]]:
    """Return the labels that pods of a workload share, and those of the single pod."""
    if not labels or _OWN_LABELS.isdisjoint(labels):
        return labels, EMPTY_LABELS
    shared = {key: value for key, value in labels.items() if key not in _OWN_LABELS}
    return shared, {key: value for key, value in labels.items() if key in _OWN_LABELS}


def deciding_annotations(annotations: Mapping[str, str] | None) -> dict[str, str] | None:
    """Return the annotations that affect decisions, or None."""
    if not annotations:
        return None
    kept = {key: value for key, value in annotations.items() if key in _DECIDING or key.startswith(_DECIDING_PREFIX)}
    return kept or None


def build_template(parts: TemplateParts) -> PodTemplate:
    """Return the template of a pod spec."""
    spec = parts.spec
    containers = _container_requests(spec.containers, "spec.containers", copies_limits=parts.copies_limits)
    inits = _container_requests(spec.init_containers, _INITS, copies_limits=parts.copies_limits)
    overhead = quantities(spec.overhead, "spec.overhead")
    requests = effective_requests(
        containers=containers,
        init_containers=inits,
        statuses={
            **_reported(parts.status.container_statuses, "status.containerStatuses"),
            **_reported(parts.status.init_container_statuses, "status.initContainerStatuses"),
        },
        is_resize_infeasible=is_resize_infeasible(parts.status),
        pod_level=quantities(spec.resources.requests if spec.resources else None, "spec.resources.requests"),
        overhead=overhead,
    )
    affinity = spec.affinity or wires.WireAffinity()
    node_affinity = affinity.node_affinity or wires.WireNodeAffinity()
    pod_affinity = affinity.pod_affinity or wires.WirePodAffinity()
    anti_affinity = affinity.pod_anti_affinity or wires.WirePodAffinity()
    return PodTemplate(
        namespace=parts.namespace,
        labels=parts.labels or EMPTY_LABELS,
        annotations=parts.annotations or EMPTY_LABELS,
        owners=owners(parts.owners),
        requests=requests,
        init_peaks=_init_peaks(containers, inits, requests),
        overhead=overhead,
        limits=resources.add(*(container.limits for container in containers)),
        containers=(*containers, *inits),
        has_pod_level_requests=bool(spec.resources and spec.resources.requests),
        node_selector=spec.node_selector or EMPTY_LABELS,
        required_node_terms=None
        if node_affinity.required is None
        else node_terms(node_affinity.required.node_selector_terms),
        preferred_node_terms=tuple(
            PreferredSchedulingTerm(wire.weight, node_terms((wire.preference,))[0])
            for wire in node_affinity.preferred or ()
        ),
        pod_affinity=_pod_terms(pod_affinity.required),
        preferred_pod_affinity=_weighted_terms(pod_affinity.preferred),
        pod_anti_affinity=_pod_terms(anti_affinity.required),
        preferred_pod_anti_affinity=_weighted_terms(anti_affinity.preferred),
        topology_spread=tuple(
            TopologySpreadConstraint(
                max_skew=wire.max_skew,
                topology_key=wire.topology_key,
                when_unsatisfiable=wire.when_unsatisfiable,
                label_selector=label_selector(wire.label_selector),
                min_domains=wire.min_domains,
                node_affinity_policy=wire.node_affinity_policy,
                node_taints_policy=wire.node_taints_policy,
                match_label_keys=tuple(wire.match_label_keys or ()),
            )
            for wire in spec.topology_spread_constraints or ()
        ),
        tolerations=tuple(
            Toleration(
                key=wire.key or "",
                operator=wire.operator or "",
                value=wire.value or "",
                effect=wire.effect or "",
                seconds=wire.toleration_seconds,
            )
            for wire in spec.tolerations or ()
        ),
        host_ports=tuple(
            HostPort(port.host_port, port.protocol or "TCP", port.host_ip or "")
            for container in (spec.containers or ())
            for port in container.ports or ()
            if port.host_port
        ),
        has_resource_claims=_has_resource_claims(spec),
        priority=spec.priority or 0,
        priority_class_name=spec.priority_class_name or "",
        scheduler_name=spec.scheduler_name or "",
        runtime_class_name=spec.runtime_class_name or "",
        termination_grace_seconds=_DEFAULT_GRACE_SECONDS
        if spec.termination_grace_period_seconds is None
        else spec.termination_grace_period_seconds,
        is_host_network=bool(spec.host_network),
        images=tuple(container.image or "" for container in spec.containers or ()),
    )


def volumes_of(wire_volumes: Sequence[wires.WireVolume] | None) -> tuple[PodVolume, ...]:
    """Return the volumes backed by PersistentVolumeClaims."""
    volumes: list[PodVolume] = []
    for wire in wire_volumes or ():
        if wire.persistent_volume_claim is not None or wire.ephemeral is not None:
            volumes.append(_volume(wire))  # noqa: PERF401  a comprehension is slower for the usual pod without any
    return tuple(volumes)


def _volume(wire: wires.WireVolume) -> PodVolume:
    if wire.persistent_volume_claim is not None:
        return PodVolume(name=wire.name or "", claim_name=wire.persistent_volume_claim.claim_name or "")
    template = wire.ephemeral.volume_claim_template if wire.ephemeral else None
    claim = template.spec if template else None
    return PodVolume(
        name=wire.name or "", is_ephemeral=True, storage_class_name=claim.storage_class_name if claim else None
    )


def _init_peaks(
    containers: Sequence[ContainerRequests], inits: Sequence[ContainerRequests], requests: ResourceList
) -> Mapping[str, str]:
    """Return the init containers that alone request as much as the pod does in effect, by resource."""
    if not inits:
        return EMPTY_LABELS
    apps = resources.add(*(container.requests for container in containers))
    peaks = {
        name: container.name
        for container in inits
        for name, amount in container.requests.items()
        if not container.is_sidecar and amount.nano == resources.nano(requests, name) > resources.nano(apps, name)
    }
    return peaks or EMPTY_LABELS


def resize_pending(status: wires.AnyPodStatus) -> WireCondition | None:
    """Return the condition that the kubelet does not resize the pod in place, or None."""
    for condition in status.conditions or ():
        if condition.type == "PodResizePending":
            return condition
    return None


def is_resize_infeasible(status: wires.AnyPodStatus) -> bool:
    """Return whether the kubelet rejected the pod's resize.

    Rule: ``IsPodResizeInfeasible`` of k8s.io/component-helpers/resource.
    """
    condition = resize_pending(status)
    return condition is not None and condition.reason == "Infeasible"


def _reported(statuses: Sequence[wires.WireContainerStatus] | None, path: str) -> dict[str, ContainerStatusResources]:
    return {
        wire.name or "": ContainerStatusResources(
            quantities(wire.resources.requests, f"{path}[{index}].resources.requests"),
            quantities(wire.allocated_resources, f"{path}[{index}].allocatedResources"),
        )
        for index, wire in enumerate(statuses or ())
        if wire.resources is not None
    }


def _container_requests(
    containers: Sequence[wires.WireContainer] | None, path: str, *, copies_limits: bool
) -> list[ContainerRequests]:
    result = []
    for index, container in enumerate(containers or ()):
        wire = _resources(container)
        requests = quantities(wire.requests, f"{path}[{index}].resources.requests")
        limits = quantities(wire.limits, f"{path}[{index}].resources.limits")
        if copies_limits and limits:
            requests = {**limits, **requests}
        is_init = path == _INITS
        is_sidecar = container.restart_policy == "Always"
        result.append(ContainerRequests(container.name or "", requests, is_sidecar, is_init, limits))
    return result


def _resources(wire: wires.WireContainer) -> wires.WireResources:
    return wire.resources or wires.WireResources()


def _has_resource_claims(spec: wires.WirePodSpec) -> bool:
    containers = (*(spec.containers or ()), *(spec.init_containers or ()))
    return bool(spec.resource_claims) or any(_resources(container).claims for container in containers)


def _pod_terms(terms: Sequence[wires.WirePodAffinityTerm] | None) -> tuple[PodAffinityTerm, ...]:
    return tuple(
        PodAffinityTerm(
            topology_key=wire.topology_key,
            label_selector=label_selector(wire.label_selector),
            namespaces=tuple(wire.namespaces or ()),
            namespace_selector=label_selector(wire.namespace_selector),
            match_label_keys=tuple(wire.match_label_keys or ()),
            mismatch_label_keys=tuple(wire.mismatch_label_keys or ()),
        )
        for wire in terms or ()
    )


def _weighted_terms(terms: Sequence[wires.WireWeightedTerm] | None) -> tuple[WeightedPodAffinityTerm, ...]:
    return tuple(WeightedPodAffinityTerm(wire.weight, _pod_terms((wire.pod_affinity_term,))[0]) for wire in terms or ())
