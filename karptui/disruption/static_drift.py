"""StaticDrift: drifted nodes of a NodePool with ``replicas`` are replaced one by one from its template.

Rules: ``pkg/controllers/disruption/staticdrift.go`` and ``pkg/controllers/state/statenodepool.go``. Nothing is
simulated or priced: the replacements are whatever the template launches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from karptui.disruption.candidate import Candidate
from karptui.disruption.command import Command, TerminateFirst
from karptui.disruption.drift import DRIFTED
from karptui.disruption.emptiness import FilterCode
from karptui.disruption.events import Recorder
from karptui.disruption.fleet import Fleet
from karptui.disruption.launch_price import UNREACHABLE, ReckonedPrices
from karptui.karpenter.labels import NODEPOOL, RESERVATION_ID, RESERVED, WELL_KNOWN
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.requirements import Requirements
from karptui.kube.group import group_by
from karptui.kube.resources import NODES
from karptui.provisioning.template import template_requirements

STATIC_SCALING: Final = "STATIC_SCALING"
"""The NodePool has more NodeClaims than replicas: drift waits for the scale-down."""
STATIC_NO_HEADROOM: Final = "STATIC_NO_HEADROOM"
"""``limits.nodes`` does not allow a replacement next to the drifted node."""


class StaticHeadroom(msgspec.Struct, frozen=True, gc=False):
    """How many nodes a static NodePool may add for replacements."""

    active: int
    """NodeClaims that are not being deleted."""
    deleting: int
    replicas: int
    node_limit: int | None
    """``limits.nodes``; None without one."""

    @property
    def room(self) -> int | None:
        """Nodes that may be added; None without a limit."""
        return None if self.node_limit is None else max(self.node_limit - self.active - self.deleting, 0)

    @property
    def code(self) -> str:
        """Why no node may be replaced; empty if one may."""
        if self.active > self.replicas:
            return STATIC_SCALING
        return STATIC_NO_HEADROOM if self.room == 0 else ""


def refuse(candidate: Candidate) -> str:
    """Return the reason why StaticDrift skips a node, as a code, or an empty string."""
    if not candidate.pool.is_static:
        return FilterCode.NOT_STATIC
    return "" if candidate.claim.is_true(DRIFTED) else FilterCode.NOT_DRIFTED


def headroom(fleet: Fleet, pool: NodePool) -> StaticHeadroom:
    """Return the headroom of a static NodePool."""
    going = {node.claim.name for node in fleet.nodes if node.claim is not None and node.is_marked_for_deletion}
    claims = [claim for claim in fleet.inventory.nodeclaims if claim.labels.get(NODEPOOL) == pool.name]
    deleting = sum(1 for claim in claims if claim.name in going)
    limit = (pool.limits or {}).get(NODES)
    return StaticHeadroom(len(claims) - deleting, deleting, pool.replicas or 0, None if limit is None else limit.units)


def template_types(pool: NodePool, book: ReckonedPrices) -> tuple[tuple[str, ...], float]:
    """Return the instance types that a NodePool's template may launch, cheapest first, and the lowest price.

    Karpenter does not choose the type: the provider launches any type that the template allows and that is available,
    however small. The price is in dollars per hour, 0 without an offering.
    """
    requirements = template_requirements(pool)
    offered = [
        (book.cheapest(name, requirements, available_only=True), name)
        for name, instance_type in book.types.items()
        if requirements.compatible(Requirements.from_selectors(instance_type.requirements), WELL_KNOWN)
    ]
    available = sorted((price, name) for price, name in offered if price != UNREACHABLE)
    return tuple(name for _, name in available), available[0][0] if available else 0.0


TERMINATE_FIRST_GATE: Final = "TerminateFirstDrift"
AT_LIMIT: Final = "static NodePool is at its node limit and cannot stage a replacement"
RESERVATIONS_FULL: Final = "static NodePool's capacity reservations are full and cannot stage a replacement"


def may_terminate_first(fleet: Fleet) -> bool:
    """Return whether a drifted node may be deleted before its replacement exists, if there is no room for both."""
    return fleet.settings.rules.has_terminate_first and fleet.settings.gate(TERMINATE_FIRST_GATE)


def command_for(fleet: Fleet, candidate: Candidate) -> Command | None:
    """Return StaticDrift's command for a node, ignoring budgets; None if its full reservations prevent it."""
    pool = candidate.pool
    full = full_reservations(pool, candidate.book) if may_terminate_first(fleet) else None
    if full is not None:
        if not holds_slot(candidate, full) or not is_refillable(pool):
            return None
        return Command((candidate,), terminate_first=TerminateFirst.NO_RESERVED_CAPACITY)
    if may_terminate_first(fleet) and headroom(fleet, pool).room == 0:
        return Command((candidate,), terminate_first=TerminateFirst.STATIC_AT_LIMIT)
    return Command((candidate,), from_template=1)


def full_reservations(pool: NodePool, book: ReckonedPrices) -> frozenset[str] | None:
    """Return the offered reservations if a replacement could only be launched into full ones, else None.

    Any other offering that the template allows, even a sold-out one, is worth waiting for.
    """
    requirements = template_requirements(pool)
    offered: set[str] = set()
    for instance_type in book.types.values():
        if not requirements.compatible(Requirements.from_selectors(instance_type.requirements), WELL_KNOWN):
            continue
        for offering in instance_type.offerings:
            if not requirements.compatible(Requirements.from_selectors(offering.requirements), WELL_KNOWN):
                continue
            if not offering.is_reserved or offering.is_launchable(book.rules):
                return None
            if offering.is_available:
                offered |= {
                    value
                    for requirement in offering.requirements
                    if requirement.key == RESERVATION_ID
                    for value in requirement.values
                }
    return frozenset(offered)


def holds_slot(candidate: Candidate, offered: frozenset[str]) -> bool:
    """Return whether deleting a node frees a slot that its replacement can use."""
    return candidate.capacity_type == RESERVED and candidate.node.labels.get(RESERVATION_ID) in offered


def is_refillable(pool: NodePool) -> bool:
    """Return whether Karpenter restores a static NodePool's replicas: not if it is being deleted or not ready."""
    return pool.is_ready and not pool.is_deleting


def compute(
    fleet: Fleet, candidates: Iterable[Candidate], budgets: Mapping[str, int], recorder: Recorder
) -> tuple[Command, ...]:
    """Return a command per drifted node, as budget and headroom allow, by name; Karpenter's order is random.

    Each launches a node from the NodePool's template; see `template_types`.
    """
    rules, may_go_first = fleet.settings.rules, may_terminate_first(fleet)
    by_pool = group_by(candidates, lambda candidate: candidate.pool.name)
    commands: list[Command] = []
    for name, drifted in sorted(by_pool.items()):
        pool = drifted[0].pool
        room = headroom(fleet, pool)
        allowed = min(budgets.get(name, 0), len(drifted))
        if room.code == STATIC_SCALING or not allowed:
            continue
        full = full_reservations(pool, drifted[0].book) if may_go_first else None
        if full is not None:
            # Nodes that hold a slot go first: only they can free one.
            turns = sorted(drifted, key=lambda candidate: not holds_slot(candidate, full))
            holders = [
                candidate for candidate in turns[:allowed] if holds_slot(candidate, full) and is_refillable(pool)
            ]
            reason, message, stuck = TerminateFirst.NO_RESERVED_CAPACITY, RESERVATIONS_FULL, turns[:allowed]
        elif room.room == 0:
            holders = drifted[:allowed] if may_go_first and is_refillable(pool) else []
            reason, message, stuck = TerminateFirst.STATIC_AT_LIMIT, AT_LIMIT, drifted[:allowed]
        else:
            staged = allowed if room.room is None else min(allowed, room.room)
            commands.extend(Command((candidate,), from_template=1) for candidate in drifted[:staged])
            continue
        commands.extend(Command((candidate,), terminate_first=reason) for candidate in holders)
        if rules.says_static_limit:
            for candidate in stuck:
                if candidate not in holders:
                    recorder.blocked(candidate.node, message)
    return tuple(commands)
