"""Capacity reservations: paid for and unused, and reserved nodes that consolidation removes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity, rule
from karptui.advice.words import at_cost, listed, node_refs, pool_ref
from karptui.aws.launch import CAPACITY_BLOCK
from karptui.karpenter.labels import CAPACITY_TYPE, INSTANCE_TYPE, ON_DEMAND, RESERVED, SPOT, ZONE
from karptui.karpenter.nodeclaim import claim_key
from karptui.karpenter.nodeclass import EC2_KIND
from karptui.karpenter.nodepool import NodePool
from karptui.kube.units import counted, verb
from karptui.whatif.edits import ObjectRef

_CONSOLIDATION: Final = ("Emptiness", "MultiNodeConsolidation", "SingleNodeConsolidation")


@rule(
    "reservation-unused",
    title="reserved capacity is paid for and unused",
    what="EC2 reports free instances of a capacity reservation that an EC2NodeClass selects, or, if EC2 was not asked, "
    "none of the EC2NodeClass's NodePools may use the reservation.",
    why="A reservation is billed at the on-demand price whether its instances run or not. Karpenter launches into it "
    "only if the ReservedCapacity gate is on, and the NodePool's requirements allow the capacity type reserved, the "
    "zone and the type.",
    source="pkg/providers/capacityreservation of the AWS provider",
    remedy="Allow reserved in a NodePool with the reservation's type and zone, or give the reservation back.",
)
def _unused(context: AdviceContext) -> Iterator[Finding]:
    described = context.evidence.facts.reservations
    if described is None:
        yield from _out_of_reach(context)
    unused_by_id = (
        {reservation.id: reservation for reservation in described.value if reservation.instances_left > 0}
        if described is not None
        else {}
    )
    selecting = {
        (
            reservation.id,
            reservation.instance_type,
            reservation.availability_zone,
            reservation.reservation_type,
        ): [
            other.name
            for other in context.ec2_nodeclasses
            if reservation.id in {held.id for held in other.status.capacity_reservations or ()}
        ]
        for nodeclass in context.ec2_nodeclasses
        for reservation in nodeclass.status.capacity_reservations or ()
        if reservation.id in unused_by_id
    }
    is_on = context.settings.gate("ReservedCapacity")
    for (id_, kind, zone, reservation_type), names in selecting.items():
        left, pools = unused_by_id[id_].instances_left, [pool for name in names for pool in context.pools_with(name)]
        using = [pool for pool in pools if _may_use(context, pool, kind, zone)]
        prices = [context.fleet.resolved(pool.name) for pool in pools]
        price = next(
            (at for resolved in prices if resolved and (at := resolved[1].known_price(kind, zone, ON_DEMAND))), None
        )
        # A capacity block is paid for in advance, at a price of its own.
        is_hourly = price is not None and reservation_type != CAPACITY_BLOCK
        per_hour = context.evidence.price_settings.paid(price * left) if price is not None and is_hourly else None
        if not is_on:
            use = "The feature gate ReservedCapacity is off, so Karpenter never launches into it."
        elif using:
            use = f"{listed(pool.name for pool in using)} may launch into it once pods need a node."
        else:
            use = f"None of its NodePools ({listed(pool.name for pool in pools) or 'there are none'}) may use it."
        yield Finding(
            severity=Severity.INFO if using and is_on else Severity.WARNING,
            objects=(*(ObjectRef(EC2_KIND, name) for name in names), *map(pool_ref, using or pools)),
            fact=f"{left} of {counted(unused_by_id[id_].total_instances, 'instance')} of {id_} ({kind} in {zone}) "
            f"{verb(left, 'is', 'are')} free and paid for{at_cost(per_hour)}. {use}",
            per_hour=per_hour,
        )


def _out_of_reach(context: AdviceContext) -> Iterator[Finding]:
    """Yield reservations that no NodePool of their EC2NodeClass may use, however many of their instances are free.

    ``pool-no-types`` reports NodePools of reserved capacity alone that may use none at all.
    """
    for nodeclass in context.ec2_nodeclasses:
        pools = context.pools_with(nodeclass.name)
        reservations = nodeclass.status.capacity_reservations or () if pools else ()
        unreached = [
            held
            for held in reservations
            if not any(_may_use(context, pool, held.instance_type, held.availability_zone) for pool in pools)
        ]
        if len(unreached) == len(reservations) and any(_needs_reserved(context, pool) for pool in pools):
            continue
        for held in unreached:
            yield Finding(
                severity=Severity.WARNING,
                objects=(ObjectRef(EC2_KIND, nodeclass.name), *map(pool_ref, pools)),
                fact=f"Karpenter never launches into capacity reservation {held.id} ({held.instance_type} in "
                f"{held.availability_zone}), which EC2NodeClass {nodeclass.name} selects: none of its NodePools "
                f"({listed(pool.name for pool in pools)}) allows the capacity type reserved with this type and zone.",
            )


def _needs_reserved(context: AdviceContext, pool: NodePool) -> bool:
    capacity_type = context.requirements_of(pool).get(CAPACITY_TYPE)
    return capacity_type.allows(RESERVED) and not any(map(capacity_type.allows, (ON_DEMAND, SPOT)))


def _may_use(context: AdviceContext, pool: NodePool, kind: str, zone: str) -> bool:
    needs = context.requirements_of(pool)
    labels = ((CAPACITY_TYPE, RESERVED), (INSTANCE_TYPE, kind), (ZONE, zone))
    return all(needs.get(key).allows(value) for key, value in labels)


@rule(
    "reservation-node-removed",
    title="consolidation removes reserved nodes",
    what="Consolidation would disrupt a node of capacity type reserved, and nothing blocks it.",
    why="Karpenter counts reserved nodes as almost free, and still deletes those that are empty or whose pods fit "
    "elsewhere. The reservation stays billed: nothing is saved until another node uses it.",
    source="pkg/controllers/disruption/consolidation.go; pkg/providers/instancetype/offering of the AWS provider",
    remedy="Let other pods use the reservation: a NodePool with a higher weight that requires reserved.",
)
def _removed(context: AdviceContext) -> Iterator[Finding]:
    going = [
        node
        for pool in context.pools
        for node in context.nodes_of(pool)
        if node.claim is not None
        and node.labels.get(CAPACITY_TYPE) == RESERVED
        and (findings := context.findings.get(claim_key(node.claim.name))) is not None
        and findings.why.outcome is not None
        and findings.why.method in _CONSOLIDATION
    ]
    if going:
        names = listed(node.node_name for node in going)
        yield Finding(
            severity=Severity.INFO,
            objects=node_refs(going),
            fact=f"Consolidation would remove {counted(len(going), 'reserved node')} ({names}), and nothing blocks it: "
            "the reservation stays billed, so this saves nothing.",
        )
