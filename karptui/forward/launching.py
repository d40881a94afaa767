"""The node that a NodeClaim becomes: the type and offering it is launched with, and its objects once it is there.

Which offering AWS takes is approximated by the cheapest of the first capacity type that has any: reserved, spot,
on-demand. Rules: ``pkg/providers/instance/instance.go`` of the AWS provider.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from karptui.karpenter.instance_type import InstanceType, Offering
from karptui.karpenter.labels import (
    CAPACITY_TYPE,
    HOSTNAME,
    INITIALIZED,
    INSTANCE_TYPE,
    NODEPOOL,
    ON_DEMAND,
    REGISTERED,
    RESERVED,
    SPOT,
    WELL_KNOWN,
)
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.requirements import Requirements
from karptui.karpenter.rules import Rules
from karptui.kube.node import Node
from karptui.kube.objects import Condition
from karptui.kube.quantity import Quantity
from karptui.kube.resources import ResourceList
from karptui.kube.selectors import NodeSelectorRequirement
from karptui.provisioning.catalogue import allocatable_nano
from karptui.provisioning.solution import NewClaim

_ORDER: Final = (RESERVED, SPOT, ON_DEMAND)


class LaunchOrder(msgspec.Struct, frozen=True, eq=False):
    """A NodeClaim that is to be made."""

    pool: NodePool
    types: Sequence[InstanceType]
    """Types it may have, the cheapest first."""
    requirements: Requirements
    requests: ResourceList
    pods: tuple[str, ...] = ()
    """``namespace/name`` of the pods it is made for."""
    annotations: Mapping[str, str] = {}


def order_of(claim: NewClaim) -> LaunchOrder:
    """Return the order for a node that provisioning wants."""
    types = claim.catalogue.types
    return LaunchOrder(
        claim.pool,
        [types[i] for i in claim.by_price()],
        claim.requirements,
        claim.requests,
        tuple(pod.key for pod in claim.pods),
    )


class Launch(msgspec.Struct, frozen=True, eq=False):
    """A NodeClaim with the instance that came of it."""

    claim: NodeClaim
    instance_type: InstanceType
    offering: Offering

    @property
    def capacity_type(self) -> str:
        """``spot``, ``on-demand`` or ``reserved``."""
        return _value(self.offering.requirements, CAPACITY_TYPE)


def choose(order: LaunchOrder, rules: Rules) -> tuple[InstanceType, Offering] | None:
    """Return the type and offering that are launched, None where nothing is on offer."""
    by_capacity: dict[str, tuple[float, int, str, InstanceType, Offering]] = {}
    for rank, one in enumerate(order.types):
        for offering in one.offerings:
            if not offering.is_launchable(rules):
                continue
            if not order.requirements.compatible(Requirements.from_selectors(offering.requirements), WELL_KNOWN):
                continue
            capacity_type = _value(offering.requirements, CAPACITY_TYPE)
            zone = str(sorted(value for key in offering.requirements for value in key.values))
            found = (offering.price_per_hour, rank, zone, one, offering)
            known = by_capacity.get(capacity_type)
            if known is None or found[:3] < known[:3]:
                by_capacity[capacity_type] = found
    names = [*(name for name in _ORDER if name in by_capacity), *sorted(set(by_capacity) - set(_ORDER))]
    return by_capacity[names[0]][3:] if names else None


def launch(order: LaunchOrder, rules: Rules, *, name: str, now_ns: int) -> Launch | None:
    """Return a NodeClaim as it is right after its launch; None where nothing that it may have is on offer.

    Args:
        order: What is asked for.
        rules: Of the version.
        name: Of the NodeClaim, and of its node.
        now_ns: The instant.
    """
    chosen = choose(order, rules)
    if chosen is None:
        return None
    instance_type, offering = chosen
    pool = order.pool
    ref = pool.node_class_ref
    labels = {
        **_single_values(order.requirements),
        **_single_selectors(instance_type.requirements),
        **_single_selectors(offering.requirements),
        **pool.template_labels,
        INSTANCE_TYPE: instance_type.name,
        NODEPOOL: pool.name,
        f"{ref.group}/{ref.kind.lower()}": ref.name,
    }
    for key in (HOSTNAME, REGISTERED, INITIALIZED):
        labels.pop(key, None)
    launched = Condition("Launched", "True", "Launched", last_transition_ns=now_ns)
    claim = NodeClaim(
        name=name,
        uid=f"forward-{name}",
        labels=labels,
        annotations={**pool.template_annotations, **order.annotations},
        created_ns=now_ns,
        requirements=tuple(_selectors(order.requirements)),
        requests=order.requests,
        taints=pool.taints,
        startup_taints=pool.startup_taints,
        node_class_ref=ref,
        expire_after_ns=pool.expire_after_ns,
        termination_grace_period_ns=pool.termination_grace_period_ns,
        provider_id=f"forward:///{name}",
        capacity=dict(instance_type.capacity),
        allocatable=_allocatable(instance_type, offering, rules),
        conditions=(launched,),
    )
    return Launch(claim, instance_type, offering)


def ready(claim: NodeClaim, node: Node | None, now_ns: int) -> tuple[NodeClaim, Node]:
    """Return a NodeClaim and its Node once the node takes pods.

    Args:
        claim: The NodeClaim.
        node: Its Node where it has joined already.
        now_ns: The instant.
    """
    conditions = (
        *(one for one in claim.conditions if one.type not in ("Registered", "Initialized", "Ready")),
        Condition("Registered", "True", "Registered", last_transition_ns=now_ns),
        Condition("Initialized", "True", "Initialized", last_transition_ns=now_ns),
        Condition("Ready", "True", "Ready", last_transition_ns=now_ns),
    )
    labels = {**claim.labels, HOSTNAME: claim.name, REGISTERED: "true", INITIALIZED: "true"}
    is_ready = (Condition("Ready", "True", "KubeletReady", last_transition_ns=now_ns),)
    provider_id = claim.provider_id or f"forward:///{claim.name}"
    if node is not None:
        labels = {**node.labels, REGISTERED: "true", INITIALIZED: "true"}
        node = msgspec.structs.replace(
            node, labels=labels, taints=claim.taints, conditions=is_ready, provider_id=provider_id
        )
        return msgspec.structs.replace(claim, conditions=conditions, node_name=node.name, provider_id=provider_id), node
    node = Node(
        name=claim.name,
        uid=f"forward-node-{claim.name}",
        labels=labels,
        annotations=claim.annotations,
        created_ns=now_ns,
        provider_id=provider_id,
        taints=claim.taints,
        capacity=claim.capacity,
        allocatable=claim.allocatable,
        conditions=is_ready,
    )
    return msgspec.structs.replace(claim, conditions=conditions, node_name=node.name, provider_id=provider_id), node


def _allocatable(instance_type: InstanceType, offering: Offering, rules: Rules) -> dict[str, Quantity]:
    amounts = allocatable_nano(instance_type, offering, rules)
    return {
        name: Quantity(nano, instance_type.capacity[name].format) if name in instance_type.capacity else Quantity(nano)
        for name, nano in amounts.items()
    }


def _selectors(requirements: Requirements) -> Iterable[NodeSelectorRequirement]:
    for one in requirements.as_selectors():
        yield NodeSelectorRequirement(
            one["key"], one["operator"], tuple(one.get("values", ())), min_values=one.get("minValues")
        )


def _single_values(requirements: Requirements) -> dict[str, str]:
    return {one.key: next(iter(one.values)) for one in requirements if one.operator == "In" and len(one.values) == 1}


def _single_selectors(selectors: Iterable[NodeSelectorRequirement]) -> dict[str, str]:
    return {one.key: one.values[0] for one in selectors if one.operator == "In" and len(one.values) == 1}


def _value(selectors: Iterable[NodeSelectorRequirement], key: str) -> str:
    return next((one.values[0] for one in selectors if one.key == key and one.values), "")
