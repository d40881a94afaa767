"""Reserved capacity that pods wait for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding, Severity
from karptui.advice.refs import pool_ref
from karptui.advice.rule import Rule
from karptui.advice.words import counted
from karptui.karpenter.labels import RESERVED


def _find(context: AdviceContext) -> Iterator[Finding]:
    if not context.settings.gate("ReservedCapacity"):
        return
    for pool in context.tried_pools:
        kinds = context.capacity_types_of(pool)
        if RESERVED not in kinds:
            continue
        reservations = {
            identity: left
            for kind in context.catalogue_of(pool).reserved_kinds
            for one in kind.requirements
            if one.key.endswith("capacity-reservation-id")
            for identity in one.values
            if (left := context.prepared.reservation_capacity.get(identity)) is not None
        }
        left = sum(reservations.values())
        yield Finding(
            severity=Severity.INFO,
            objects=(pool_ref(pool),),
            fact=f"{pool.name} may use {counted(len(reservations), 'capacity reservation')} with "
            f"{counted(left, 'instance')} left: while a claim is planned it holds every reservation that it could "
            "use, and pods that would need one wait for the next run rather than fall back at once.",
        )


RULE: Final = Rule(
    id="pool-reserved-waits",
    title="pods wait for reservations",
    what="A NodePool has available offerings of reserved capacity.",
    why="In provisioning a claim that could be reserved takes a slot of every reservation it is compatible with. A "
    "later pod that would have to go without is not given spot or on-demand in the same run, and no event says so; "
    "the next run, ten seconds later at most, places it.",
    source="pkg/controllers/provisioning/scheduling/reservationmanager.go and nodeclaim.go",
    remedy="Nothing to mend where a short wait does no harm; narrow which pods may use a reservation by its own pool.",
    find=_find,
)
