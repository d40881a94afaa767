"""The API shapes of Karpenter's kinds: the fields that decide something or are shown."""

from __future__ import annotations

from typing import Any

import msgspec

from karptui.decode import wire as wires
from karptui.decode.wire import Int, Wire


class WireRef(Wire):
    """``nodeClassRef``."""

    group: str | None = None
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


class WireTemplateMeta(Wire):
    """``spec.template.metadata``."""

    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class WireTemplate(Wire):
    """``spec.template``."""

    metadata: WireTemplateMeta | None = None
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
    """A ``status`` of which only the conditions are read."""

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
