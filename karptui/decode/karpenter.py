"""Karpenter's kinds: NodePools, NodeClaims, NodeClasses, NodeOverlays, CapacityBuffers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from karptui.decode import karpenter_wire as shapes
from karptui.decode import wire as wires
from karptui.decode.errors import FieldError, field_error
from karptui.decode.wire import as_arguments, object_fields, quantities, timestamp
from karptui.karpenter.instance_type import NodeOverlay
from karptui.karpenter.inventory import CapacityBuffer
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodeclass import NodeClass, NodeClassRef
from karptui.karpenter.nodepool import WHEN_EMPTY_OR_UNDERUTILIZED, DisruptionBudget, NodePool
from karptui.kube.objects import EMPTY, EMPTY_LABELS


def build_nodepool(wire: shapes.WireNodePool, raw: Mapping[str, Any]) -> NodePool:
    """Return a NodePool.

    Raises:
        FieldError: when a field cannot be read.
    """
    spec = wire.spec or shapes.WirePoolSpec()
    template = spec.template or shapes.WireTemplate()
    claim = template.spec or shapes.WireClaimSpec()
    meta = template.metadata or shapes.WireTemplateMeta()
    disruption = spec.disruption or shapes.WireDisruption()
    status = wire.status or shapes.WirePoolStatus()
    where = "spec.template.spec"
    return NodePool(
        **as_arguments(object_fields(wire.metadata)),
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


def build_nodeclaim(wire: shapes.WireNodeClaim) -> NodeClaim:
    """Return a NodeClaim.

    Raises:
        FieldError: when a field cannot be read.
    """
    spec, status = wire.spec or shapes.WireClaimSpec(), wire.status or shapes.WireClaimStatus()
    return NodeClaim(
        **as_arguments(object_fields(wire.metadata)),
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


def build_nodeclass(
    wire: shapes.WireNodeClass, group: str, version: str, kind: str, raw: Mapping[str, Any]
) -> NodeClass:
    """Return a NodeClass of any provider.

    Raises:
        FieldError: when a field cannot be read.
    """
    status = wire.status or EMPTY
    try:
        reported = msgspec.convert(status, shapes.WireConditioned)
    except msgspec.ValidationError as error:
        found = field_error(error, status)
        raise FieldError(f"status.{found.path}", found.problem) from None
    return NodeClass(
        **as_arguments(object_fields(wire.metadata)),
        group=group,
        version=version,
        kind=kind,
        spec=wire.spec or EMPTY,
        status=status,
        conditions=wires.conditions(reported.conditions),
        raw=raw,
    )


def build_overlay(wire: shapes.WireOverlay) -> NodeOverlay:
    """Return a NodeOverlay.

    Raises:
        FieldError: when a field cannot be read.
    """
    spec = wire.spec or shapes.WireOverlaySpec()
    return NodeOverlay(
        **as_arguments(object_fields(wire.metadata)),
        requirements=wires.requirements(spec.requirements),
        price=spec.price,
        price_adjustment=spec.price_adjustment,
        capacity=quantities(spec.capacity, "spec.capacity"),
        weight=spec.weight or 0,
        conditions=wires.conditions(wire.status.conditions if wire.status else None),
    )


def build_capacity_buffer(wire: shapes.WireBuffer) -> CapacityBuffer:
    """Return a CapacityBuffer.

    Raises:
        FieldError: when a field cannot be read.
    """
    spec, status = wire.spec or shapes.WireBufferSpec(), wire.status or shapes.WireBufferStatus()
    scalable = spec.scalable_ref or shapes.WireNamed()
    return CapacityBuffer(
        **as_arguments(object_fields(wire.metadata)),
        pod_template_name=(status.pod_template_ref.name if status.pod_template_ref else None) or "",
        scalable_kind=scalable.kind or "",
        scalable_name=scalable.name or "",
        replicas=status.replicas or 0,
        conditions=wires.conditions(status.conditions),
        has_spec_ref=spec.pod_template_ref is not None or spec.scalable_ref is not None,
    )


def _ref(wire: shapes.WireRef | None) -> NodeClassRef:
    if wire is None:
        return NodeClassRef()
    return NodeClassRef(wire.group or "", wire.kind or "", wire.name or "")


def _budget(wire: shapes.WireBudget) -> DisruptionBudget:
    return DisruptionBudget(
        nodes="" if wire.nodes is None else str(wire.nodes),
        schedule=wire.schedule,
        duration=wire.duration,
        # An empty list applies to no reason; only an absent one applies to all of them.
        reasons=None if wire.reasons is None else tuple(wire.reasons),
    )
