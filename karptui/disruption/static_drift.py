"""StaticDrift: drifted nodes of a NodePool with ``replicas`` are replaced one for one from its template.

Rules: ``pkg/controllers/disruption/staticdrift.go`` and ``pkg/controllers/state/statenodepool.go``. No place is sought
for pods and nothing is priced: the replacements are whatever the template launches.
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
from karptui.disruption.price import UNREACHABLE, ReckonedPrices
from karptui.karpenter.labels import NODEPOOL, RESERVATION_ID, RESERVED, WELL_KNOWN
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.requirements import Requirements
from karptui.kube.resources import NODES
from karptui.provisioning.template import template_requirements

STATIC_SCALING: Final = "STATIC_SCALING"
"""The NodePool has more NodeClaims than replicas: nothing drifts until it has come down."""
STATIC_NO_HEADROOM: Final = "STATIC_NO_HEADROOM"
"""``limits.nodes`` leaves no room for a replacement beside the node that goes."""


class StaticHeadroom(msgspec.Struct, frozen=True, gc=False):
    """How far a static NodePool may grow for replacements."""

    active: int
    """NodeClaims that are not being deleted."""
    deleting: int
    replicas: int
    node_limit: int | None
    """``limits.nodes``; None without one."""

    @property
    def room(self) -> int | None:
        """Nodes that may be added, None without a limit."""
        return None if self.node_limit is None else max(self.node_limit - self.active - self.deleting, 0)

    @property
    def code(self) -> str:
        """Why nothing drifts, empty where something may."""
        if self.active > self.replicas:
            return STATIC_SCALING
        return STATIC_NO_HEADROOM if self.room == 0 else ""


def refuse(candidate: Candidate) -> str:
    """Return why StaticDrift leaves a node alone, as a code, else nothing."""
    if not candidate.pool.is_static:
        return FilterCode.NOT_STATIC
    return "" if candidate.claim.is_true(DRIFTED) else FilterCode.NOT_DRIFTED


def headroom(fleet: Fleet, pool: NodePool) -> StaticHeadroom:
    """Return how far a static NodePool may grow."""
    going = {node.claim.name for node in fleet.nodes if node.claim is not None and node.is_marked_for_deletion}
    own = [claim for claim in fleet.inventory.nodeclaims if claim.labels.get(NODEPOOL) == pool.name]
    deleting = sum(1 for claim in own if claim.name in going)
    limit = (pool.limits or {}).get(NODES)
    return StaticHeadroom(len(own) - deleting, deleting, pool.replicas or 0, None if limit is None else limit.units)


def template_types(pool: NodePool, book: ReckonedPrices) -> tuple[tuple[str, ...], float]:
    """Return the instance types that a NodePool's template may be launched with, the cheapest first, and its price.

    Karpenter names none: the provider takes whatever the template allows and sells now, however small it is. The price
    is the least dollars per hour, 0 where nothing is on offer.
    """
    wanted = template_requirements(pool)
    offered = [
        (book.cheapest(name, wanted, available_only=True), name)
        for name, one in book.types.items()
        if wanted.compatible(Requirements.from_selectors(one.requirements), WELL_KNOWN)
    ]
    found = sorted((price, name) for price, name in offered if price != UNREACHABLE)
    return tuple(name for _, name in found), found[0][0] if found else 0.0


TERMINATE_FIRST_GATE: Final = "TerminateFirstDrift"
AT_LIMIT: Final = "static NodePool is at its node limit and cannot stage a replacement"
RESERVATIONS_FULL: Final = "static NodePool's capacity reservations are full and cannot stage a replacement"


def may_terminate_first(fleet: Fleet) -> bool:
    """Return whether a drifted node may go before its replacement is there, where there is no room for both."""
    return fleet.settings.rules.has_terminate_first and fleet.settings.gate(TERMINATE_FIRST_GATE)


def command_for(fleet: Fleet, candidate: Candidate) -> Command | None:
    """Return what StaticDrift makes of one node with budget left; None where its full reservations hold it."""
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
    """Return the reservations that are still offered where a replacement could only go into full ones, else None.

    Any other offering that the template allows, even one that is sold out, is worth waiting for.
    """
    wanted = template_requirements(pool)
    offered: set[str] = set()
    for one in book.types.values():
        if not wanted.compatible(Requirements.from_selectors(one.requirements), WELL_KNOWN):
            continue
        for offering in one.offerings:
            if not wanted.compatible(Requirements.from_selectors(offering.requirements), WELL_KNOWN):
                continue
            if not offering.is_reserved or offering.is_launchable(book.rules):
                return None
            if offering.is_available:
                offered |= {
                    value for asked in offering.requirements if asked.key == RESERVATION_ID for value in asked.values
                }
    return frozenset(offered)


def holds_slot(candidate: Candidate, offered: frozenset[str]) -> bool:
    """Return whether a node's end frees a slot that its successor can have."""
    return candidate.capacity_type == RESERVED and candidate.node.labels.get(RESERVATION_ID) in offered


def is_refillable(pool: NodePool) -> bool:
    """Return whether Karpenter brings a static NodePool back to its replicas: not while it is deleted or not ready."""
    return pool.is_ready and not pool.is_deleting


def compute(
    fleet: Fleet, candidates: Iterable[Candidate], budgets: Mapping[str, int], recorder: Recorder
) -> tuple[Command, ...]:
    """Return a command per drifted node, as many as budget and headroom allow; Karpenter takes any, here by name.

    Each stands for one new node from the NodePool's template; see `template_types`.
    """
    rules, may_go_first = fleet.settings.rules, may_terminate_first(fleet)
    by_pool: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        by_pool.setdefault(candidate.pool.name, []).append(candidate)
    commands: list[Command] = []
    for name, own in sorted(by_pool.items()):
        pool = own[0].pool
        room = headroom(fleet, pool)
        allowed = min(budgets.get(name, 0), len(own))
        if room.code == STATIC_SCALING or not allowed:
            continue
        full = full_reservations(pool, own[0].book) if may_go_first else None
        if full is not None:
            # Those that hold a slot go first: only they can make room.
            turns = sorted(own, key=lambda one: not holds_slot(one, full))
            holders = [one for one in turns[:allowed] if holds_slot(one, full) and is_refillable(pool)]
            reason, message, stuck = TerminateFirst.NO_RESERVED_CAPACITY, RESERVATIONS_FULL, turns[:allowed]
        elif room.room == 0:
            holders = own[:allowed] if may_go_first and is_refillable(pool) else []
            reason, message, stuck = TerminateFirst.STATIC_AT_LIMIT, AT_LIMIT, own[:allowed]
        else:
            staged = allowed if room.room is None else min(allowed, room.room)
            commands.extend(Command((candidate,), from_template=1) for candidate in own[:staged])
            continue
        commands.extend(Command((candidate,), terminate_first=reason) for candidate in holders)
        if rules.says_static_limit:
            for candidate in stuck:
                if candidate not in holders:
                    recorder.blocked(candidate.node, message)
    return tuple(commands)
