"""Decodes Karpenter's kinds, from NodePools to CapacityBuffers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from karptui.decode import wire as wires
from karptui.decode.errors import FieldError, field_error
from karptui.decode.wire import Int, Wire, object_fields, quantities, timestamp
from karptui.karpenter.instance_type import NodeOverlay
from karptui.karpenter.inventory import CapacityBuffer
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodeclass import NodeClass, NodeClassRef
from karptui.karpenter.nodepool import WHEN_EMPTY_OR_UNDERUTILIZED, DisruptionBudget, NodePool
from karptui.kube.objects import EMPTY, EMPTY_LABELS


class WireRef(Wire):
    """``nodeClassRef``."""

    group: str | None = None
    api_version: str | None = None
    """In v1beta1, instead of the group."""
    kind: str | None = None
    name: str | None = None


class WireBudget(Wire):
    """A disruption budget."""

    nodes: str | Int | None = None
    schedule: str | None = None
    duration: str | None = None
    reasons: list[str] | None = None


class WireDisruption(Wire):
    """``spec.disruption``."""

    consolidation_policy: str | None = None
    consolidate_after: str | None = None
    budgets: list[WireBudget] | None = None


class WireClaimSpec(Wire):
    """``spec`` of a NodeClaim, and of a NodePool's template."""

    requirements: list[wires.WireRequirement] | None = None
    taints: list[wires.WireTaint] | None = None
    startup_taints: list[wires.WireTaint] | None = None
    node_class_ref: WireRef | None = None
    expire_after: str | None = None
    termination_grace_period: str | None = None
    resources: WireClaimResources | None = None


class WireClaimResources(Wire):
    """``spec.resources``."""

    requests: wires.WireQuantities | None = None


class WirePoolTemplateMeta(Wire):
    """``spec.template.metadata``."""

    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class WireTemplate(Wire):
    """``spec.template``."""

    metadata: WirePoolTemplateMeta | None = None
    spec: WireClaimSpec | None = None


class WirePoolSpec(Wire):
    """``spec`` of a NodePool."""

    weight: Int | None = None
    replicas: Int | None = None
    limits: wires.WireQuantities | None = None
    template: WireTemplate | None = None
    disruption: WireDisruption | None = None


class WirePoolStatus(Wire):
    """``status`` of a NodePool."""

    resources: wires.WireQuantities | None = None
    conditions: list[wires.WireCondition] | None = None


class WireNodePool(wires.WireObject):
    """A NodePool."""

    spec: WirePoolSpec | None = None
    status: WirePoolStatus | None = None


class WireClaimStatus(Wire):
    """``status`` of a NodeClaim."""

    node_name: str | None = None
    provider_id: str | None = msgspec.field(default=None, name="providerID")
    image_id: str | None = msgspec.field(default=None, name="imageID")
    capacity: wires.WireQuantities | None = None
    allocatable: wires.WireQuantities | None = None
    conditions: list[wires.WireCondition] | None = None
    last_pod_event_time: str | None = None


class WireNodeClaim(wires.WireObject):
    """A NodeClaim."""

    spec: WireClaimSpec | None = None
    status: WireClaimStatus | None = None


class WireNodeClass(wires.WireObject):
    """A NodeClass of any provider."""

    spec: dict[str, Any] | None = None
    status: dict[str, Any] | None = None


class WireOverlaySpec(Wire):
    """``spec`` of a NodeOverlay."""

    requirements: list[wires.WireRequirement] | None = None
    price: str | None = None
    price_adjustment: str | None = None
    capacity: wires.WireQuantities | None = None
    weight: Int | None = None


class WireConditioned(Wire):
    """A ``status`` whose conditions alone are read."""

    conditions: list[wires.WireCondition] | None = None


class WireOverlay(wires.WireObject):
    """A NodeOverlay."""

    spec: WireOverlaySpec | None = None
    status: WireConditioned | None = None


class WireNamed(Wire):
    """A reference by kind and name."""

    kind: str | None = None
    name: str | None = None


class WireBufferSpec(Wire):
    """``spec`` of a CapacityBuffer."""

    pod_template_ref: WireNamed | None = None
    scalable_ref: WireNamed | None = None


class WireBufferStatus(Wire):
    """``status`` of a CapacityBuffer."""

    pod_template_ref: WireNamed | None = None
    replicas: Int | None = None
    conditions: list[wires.WireCondition] | None = None


class WireBuffer(wires.WireObject):
    """A CapacityBuffer."""

    spec: WireBufferSpec | None = None
    status: WireBufferStatus | None = None


def build_nodepool(wire: WireNodePool, raw: Mapping[str, Any]) -> NodePool:
    """Return a NodePool."""
    spec = wire.spec or WirePoolSpec()
    template = spec.template or WireTemplate()
    claim = template.spec or WireClaimSpec()
    meta = template.metadata or WirePoolTemplateMeta()
    disruption = spec.disruption or WireDisruption()
    status = wire.status or WirePoolStatus()
    where = "spec.template.spec"
    return NodePool(
        **object_fields(wire.metadata),
        weight=spec.weight or 0,
        replicas=spec.replicas,
        limits=None if spec.limits is None else quantities(spec.limits, "spec.limits"),
        node_class_ref=_ref(claim.node_class_ref),
        template_labels=meta.labels or EMPTY_LABELS,
        template_annotations=meta.annotations or EMPTY_LABELS,
        requirements=wires.requirements(claim.requirements),
        taints=wires.taints(claim.taints),
        startup_taints=wires.taints(claim.startup_taints),
        expire_after_ns=wires.duration(claim.expire_after, f"{where}.expireAfter"),
        termination_grace_period_ns=wires.duration(claim.termination_grace_period, f"{where}.terminationGracePeriod"),
        consolidation_policy=disruption.consolidation_policy or WHEN_EMPTY_OR_UNDERUTILIZED,
        consolidate_after_ns=wires.duration(disruption.consolidate_after, "spec.disruption.consolidateAfter"),
        budgets=None if disruption.budgets is None else tuple(_budget(budget) for budget in disruption.budgets),
        conditions=wires.conditions(status.conditions),
        status_resources=quantities(status.resources, "status.resources"),
        raw=raw,
    )


def build_nodeclaim(wire: WireNodeClaim) -> NodeClaim:
    """Return a NodeClaim."""
    spec, status = wire.spec or WireClaimSpec(), wire.status or WireClaimStatus()
    return NodeClaim(
        **object_fields(wire.metadata),
        requirements=wires.requirements(spec.requirements),
        requests=quantities(spec.resources.requests if spec.resources else None, "spec.resources.requests"),
        taints=wires.taints(spec.taints),
        startup_taints=wires.taints(spec.startup_taints),
        node_class_ref=_ref(spec.node_class_ref),
        expire_after_ns=wires.duration(spec.expire_after, "spec.expireAfter"),
        termination_grace_period_ns=wires.duration(spec.termination_grace_period, "spec.terminationGracePeriod"),
        node_name=status.node_name or "",
        provider_id=status.provider_id or "",
        image_id=status.image_id or "",
        capacity=quantities(status.capacity, "status.capacity"),
        allocatable=quantities(status.allocatable, "status.allocatable"),
        conditions=wires.conditions(status.conditions),
        last_pod_event_ns=timestamp(status.last_pod_event_time, "status.lastPodEventTime"),
    )


def build_nodeclass(wire: WireNodeClass, group: str, version: str, kind: str, raw: Mapping[str, Any]) -> NodeClass:
    """Return a NodeClass of any provider."""
    status = wire.status or EMPTY
    try:
        reported = msgspec.convert(status, WireConditioned)
    except msgspec.ValidationError as error:
        problem = field_error(error, status)
        raise FieldError(f"status.{problem.path}", problem.problem) from None
    return NodeClass(
        **object_fields(wire.metadata),
        group=group,
        version=version,
        kind=kind,
        spec=wire.spec or EMPTY,
        status=status,
        conditions=wires.conditions(reported.conditions),
        raw=raw,
    )


def build_overlay(wire: WireOverlay) -> NodeOverlay:
    """Return a NodeOverlay."""
    spec = wire.spec or WireOverlaySpec()
    return NodeOverlay(
        **object_fields(wire.metadata),
        requirements=wires.requirements(spec.requirements),
        price=spec.price,
        price_adjustment=spec.price_adjustment,
        capacity=quantities(spec.capacity, "spec.capacity"),
        weight=spec.weight or 0,
        conditions=wires.conditions(wire.status.conditions if wire.status else None),
    )


def build_capacity_buffer(wire: WireBuffer) -> CapacityBuffer:
    """Return a CapacityBuffer."""
    spec, status = wire.spec or WireBufferSpec(), wire.status or WireBufferStatus()
    scalable = spec.scalable_ref or WireNamed()
    return CapacityBuffer(
        **object_fields(wire.metadata),
        pod_template_name=(status.pod_template_ref.name if status.pod_template_ref else None) or "",
        scalable_kind=scalable.kind or "",
        scalable_name=scalable.name or "",
        replicas=status.replicas or 0,
        conditions=wires.conditions(status.conditions),
        has_spec_ref=spec.pod_template_ref is not None or spec.scalable_ref is not None,
    )


def _ref(wire: WireRef | None) -> NodeClassRef:
    if wire is None:
        return NodeClassRef()
    group = wire.group or (wire.api_version or "").rpartition("/")[0]
    return NodeClassRef(group, wire.kind or "", wire.name or "")


def _budget(wire: WireBudget) -> DisruptionBudget:
    return DisruptionBudget(
        nodes="" if wire.nodes is None else str(wire.nodes),
        schedule=wire.schedule,
        duration=wire.duration,
        # An empty list means no reason, an absent one means all reasons.
        reasons=None if wire.reasons is None else tuple(wire.reasons),
    )
