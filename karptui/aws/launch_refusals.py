"""Launches that failed with insufficient capacity, and the offerings that Karpenter then excludes for three minutes.

Karpenter stores these offerings in memory only. It publishes an event for the NodeClaim, with EC2's messages truncated
at 300 characters. Sources: pkg/controllers/nodeclaim/lifecycle/launch.go of Karpenter;
pkg/cache/unavailableofferings.go, pkg/errors/errors.go and pkg/providers/instance/instance.go of its AWS provider.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

import msgspec

from karptui.aws.nodeclass import Subnet, subnets_of
from karptui.aws.prices import OfferingKey
from karptui.aws.region import node_zones
from karptui.karpenter.instance_type import NO_FREE_ADDRESSES, NO_SPOT_ROLE, PLACEMENT_GROUP_FULL, RESERVATION_FULL
from karptui.karpenter.inventory import NO_HISTORY, ClusterHistory, Inventory
from karptui.karpenter.labels import CAPACITY_TYPE, INSTANCE_TYPE, NODEPOOL, ON_DEMAND, RESERVED, SPOT, ZONE
from karptui.karpenter.nodeclaim import NodeClaim, pool_in_name
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.requirements import IN, Requirements
from karptui.kube.group import group_by
from karptui.kube.objects import Event
from karptui.kube.timestamps import NS_PER_SECOND

REFUSED_NS: Final = 180 * NS_PER_SECOND
"""How long Karpenter excludes an offering after EC2 refused it."""
EVENT_REASON: Final = "InsufficientCapacityError"
_CONDITION_REASONS: Final = frozenset(
    {
        "FleetQuotaExceeded",
        NO_FREE_ADDRESSES,
        "SpotQuotaExceeded",
        "SpotSLRCreationFailed",
        "VCPULimitExceeded",
    }
)
"""Reasons of the Launched condition that mean insufficient capacity although EC2 also returned other errors."""
_IN_PLACEMENT_GROUP: Final = "limit of instances in this spread placement group"
"""In EC2's message with the code of insufficient capacity: ``IsSpreadPlacementGroupLimitError`` in pkg/errors."""
_INSUFFICIENT: Final = "insufficient capacity, "
_FLEET: Final = "with fleet error(s), "
_CUT: Final = "..."
_PREFIX: Final = re.compile(r"NodeClaim (\S+) (?:event|nominated for this pod failed to launch): ")
_ERROR: Final = re.compile(r"(?:^|; )([A-Z][A-Za-z.]+): ")
_TRACE: Final = re.compile(r" \(aws-[a-z-]+=.*$", re.DOTALL)
"""Request details that follow the error message."""
_ADVICE: Final = re.compile(r"You can currently get|Please retry|or choosing")
"""Start of the part of a message that names zones with capacity."""
_TYPE: Final = re.compile(r"(?<![\w.-])[a-z][a-z0-9-]*\.(?:[a-z]+|\d+xlarge|metal-\d+xl)(?![\w.-])")
_ZONE: Final = re.compile(r"(?<![\w-])[a-z]{2}(?:-[a-z]+)+-\d(?:-[a-z]{3}-\d)?[a-z](?![\w-])")
_SUBNET: Final = re.compile(r"subnet-[0-9a-f]+(?![\w-])")


class LaunchRefusal(msgspec.Struct, frozen=True, kw_only=True):
    """A reason why a NodeClaim was not launched."""

    nodeclaim: str
    nodepool: str = ""
    """Empty if unknown."""
    error_code: str = ""
    """EC2's error code; empty if Karpenter did not call EC2, because all allowed offerings were excluded already."""
    message: str
    """EC2's message, otherwise Karpenter's."""
    instance_types: tuple[str, ...] = ()
    """Types named in the message."""
    zones: tuple[str, ...] = ()
    """Zones named in the message, or of its subnets; empty means any zone."""
    subnets: tuple[str, ...] = ()
    """Subnet IDs named in the message."""
    capacity_types: tuple[str, ...] = ()
    """Capacity type of the launch; several if the NodeClaim allowed them and the actual one is unknown."""
    first_ns: int
    last_ns: int
    count: int = 1
    asked_types: tuple[str, ...] = ()
    """Types in the NodeClaim's requirements, if the message may not name all that EC2 refused.

    EC2 tries all of them before it fails.
    """
    asked_zones: tuple[str, ...] = ()
    """Zones in the NodeClaim's requirements, likewise; empty means any."""
    is_truncated: bool = False
    """Whether the message is truncated, so EC2 may have refused more offerings than it names."""


class UnavailableOfferings(msgspec.Struct, frozen=True):
    """Offerings that Karpenter excludes at a given time, as far as events name them."""

    offerings: Mapping[OfferingKey, str] = MappingProxyType({})
    """EC2's error code by offering."""
    subnets: frozenset[str] = frozenset()
    """Full subnets; a zone is excluded if all subnets of a NodeClass in it are full."""
    capacity_types: frozenset[str] = frozenset()
    until_ns: int = 0
    """When the last exclusion ends, in nanoseconds since the epoch; 0 without any."""


ALL_AVAILABLE: Final = UnavailableOfferings()


def recent_launch_refusals(
    inventory: Inventory, history: ClusterHistory = NO_HISTORY, *, since_ns: int = 0
) -> tuple[LaunchRefusal, ...]:
    """Return the launches that failed with insufficient capacity, oldest first; one entry per NodeClaim and error.

    Args:
        inventory: Events and NodeClaims show refusals; NodePools and NodeClasses add details.
        since_ns: Omit refusals last seen before this time, in nanoseconds since the epoch.
    """
    reports = list(_by_event((*history.events, *inventory.events)))
    reports += _by_condition(inventory.nodeclaims, {report.nodeclaim for report in reports})
    reports = [report for report in reports if report.last_ns >= since_ns]
    if not reports:
        return ()
    claims = {deleted.claim.name: deleted.claim for deleted in history.claims}
    claims |= {claim.name: claim for claim in inventory.nodeclaims}
    pools = {pool.name: pool for pool in inventory.nodepools}
    subnets = {subnet.id: subnet for nodeclass in inventory.nodeclasses for subnet in subnets_of(nodeclass)}
    merged: dict[tuple[str, str, str], LaunchRefusal] = {}
    for report in reports:
        for refusal in _refusals(report, claims.get(report.nodeclaim), pools, subnets):
            key = refusal.nodeclaim, refusal.error_code, refusal.message
            merged[key] = _merged(merged[key], refusal) if key in merged else refusal
    return tuple(
        sorted(
            merged.values(),
            key=lambda refusal: (refusal.last_ns, refusal.nodeclaim, refusal.error_code, refusal.message),
        )
    )


def last_refusals(
    inventory: Inventory, history: ClusterHistory = NO_HISTORY, *, since_ns: int
) -> dict[str, LaunchRefusal]:
    """Return each NodePool's last refusal since a time, unless EC2 has launched what it refused since."""
    launched = [claim for claim in inventory.nodeclaims if claim.provider_id and claim.created_ns > since_ns]
    return {
        refusal.nodepool: refusal
        for refusal in recent_launch_refusals(inventory, history, since_ns=since_ns)
        if refusal.nodepool and not any(_has_refused(claim, refusal) for claim in launched)
    }


def _has_refused(claim: NodeClaim, refusal: LaunchRefusal) -> bool:
    """Return whether a NodeClaim is newer than a refusal and of the same NodePool, type, zone and capacity type."""
    labels, named = claim.labels, ((INSTANCE_TYPE, refusal.instance_types), (ZONE, refusal.zones))
    is_same = labels.get(NODEPOOL) == refusal.nodepool and labels.get(CAPACITY_TYPE) in refusal.capacity_types
    is_same = is_same and all(not values or labels.get(key) in values for key, values in named)
    return is_same and claim.created_ns > refusal.last_ns


def unavailable_offerings(refusals: Iterable[LaunchRefusal], zones: Iterable[str], now_ns: int) -> UnavailableOfferings:
    """Return the offerings that Karpenter excludes because of launches in the last three minutes.

    If a NodeClaim allowed spot and on-demand, Karpenter requested spot, unless spot was excluded already.

    Args:
        zones: All zones: without a zone in the message, EC2 refused a type in all of them.
    """
    until: dict[OfferingKey, int] = {}
    codes: dict[OfferingKey, str] = {}
    subnets: dict[str, int] = {}
    capacity_types: dict[str, int] = {}
    everywhere = tuple(zones)
    for launch in _by_launch(refusals):
        if launch[0].last_ns > now_ns:
            continue
        end_ns = launch[0].last_ns + REFUSED_NS
        named = {
            (type_, zone): refusal.error_code
            for refusal in launch
            for type_ in refusal.instance_types
            for zone in refusal.zones or everywhere
            if refusal.capacity_types != (RESERVED,)
        }
        for refusal in launch:
            named_zones = () if refusal.is_truncated else refusal.zones
            for zone in named_zones or refusal.asked_zones or everywhere:
                for type_ in refusal.asked_types:
                    named.setdefault((type_, zone), refusal.error_code)
        capacity_type = _requested_capacity_type(launch[0], named, until)
        for (type_, zone), code in named.items():
            key = OfferingKey(capacity_type, type_, zone)
            until[key], codes[key] = end_ns, code
        subnets |= {
            id_: end_ns for refusal in launch if refusal.error_code == NO_FREE_ADDRESSES for id_ in refusal.subnets
        }
        if any(refusal.error_code == NO_SPOT_ROLE for refusal in launch):
            capacity_types[SPOT] = end_ns
    ends = [end_ns for end_ns in (*until.values(), *subnets.values(), *capacity_types.values()) if end_ns > now_ns]
    return UnavailableOfferings(
        {key: codes[key] for key, end_ns in until.items() if end_ns > now_ns},
        frozenset(id_ for id_, end_ns in subnets.items() if end_ns > now_ns),
        frozenset(kind for kind, end_ns in capacity_types.items() if end_ns > now_ns),
        max(ends, default=0),
    )


def unavailable_now(inventory: Inventory, now_ns: int, history: ClusterHistory = NO_HISTORY) -> UnavailableOfferings:
    """Return the offerings that Karpenter excludes now, as far as events name them."""
    refusals = recent_launch_refusals(inventory, history, since_ns=now_ns - 2 * REFUSED_NS)
    if not refusals:
        return ALL_AVAILABLE
    named = {subnet.zone for nodeclass in inventory.nodeclasses for subnet in subnets_of(nodeclass)}
    named |= {zone.name for zone in node_zones(inventory.nodes)}
    return unavailable_offerings(refusals, sorted(named), now_ns)


def _requested_capacity_type(
    refusal: LaunchRefusal, named: Iterable[tuple[str, str]], until: Mapping[OfferingKey, int]
) -> str:
    if SPOT not in refusal.capacity_types:
        return ON_DEMAND
    if ON_DEMAND not in refusal.capacity_types:
        return SPOT
    is_spot_out = all(until.get(OfferingKey(SPOT, *pair), 0) > refusal.last_ns for pair in named)
    return ON_DEMAND if is_spot_out else SPOT


def _by_launch(refusals: Iterable[LaunchRefusal]) -> Iterator[Sequence[LaunchRefusal]]:
    """Yield the refusals of each NodeClaim, which Karpenter launches only once."""
    launches = group_by(refusals, lambda refusal: refusal.nodeclaim)
    yield from sorted(launches.values(), key=lambda launch: launch[0].last_ns)


class _Report(NamedTuple):
    """An event or a condition about a NodeClaim."""

    nodeclaim: str
    reason: str
    """Reason of the condition; empty for an event."""
    text: str
    first_ns: int
    last_ns: int
    times: int


def _by_event(events: Iterable[Event]) -> Iterator[_Report]:
    """Yield reports from events; events about pods only for NodeClaims without their own events."""
    about_claims: dict[str, _Report] = {}
    about_others: dict[tuple[str, str], _Report] = {}
    for event in events:
        if event.reason != EVENT_REASON:
            continue
        prefix = _PREFIX.match(event.message)
        text = event.message[prefix.end() :] if prefix is not None else event.message
        is_claim = event.involved_kind == "NodeClaim"
        name = event.involved_name if is_claim else prefix[1] if prefix is not None else ""
        if not name:
            continue
        first_ns, last_ns = event.first_ns or event.last_ns, event.last_ns or event.first_ns
        report = _Report(name, "", text, first_ns, last_ns, event.count)
        if is_claim:
            about_claims[event.key] = report
        else:
            about_others[name, text] = report
    named = {report.nodeclaim for report in about_claims.values()}
    yield from about_claims.values()
    yield from (report for report in about_others.values() if report.nodeclaim not in named)


def _by_condition(claims: Iterable[NodeClaim], reported: set[str]) -> Iterator[_Report]:
    for claim in claims:
        launched = claim.refused_launch
        if launched is None or claim.name in reported:
            continue
        if launched.reason in _CONDITION_REASONS or _INSUFFICIENT in launched.message:
            at_ns = launched.last_transition_ns or claim.created_ns
            yield _Report(claim.name, launched.reason, launched.message, at_ns, at_ns, 1)


def _refusals(
    report: _Report, claim: NodeClaim | None, pools: Mapping[str, NodePool], subnets: Mapping[str, Subnet]
) -> Iterator[LaunchRefusal]:
    """Yield a refusal for each EC2 error, or a single one without a code."""
    pool = claim.labels.get(NODEPOOL, "") if claim is not None else pool_in_name(report.nodeclaim, pools)
    allowed = _allowed(claim, pools.get(pool))
    requirements = Requirements.from_selectors(claim.requirements) if claim is not None and not report.reason else None
    is_truncated = report.text.endswith(_CUT)
    for error in _errors(report):
        subnet_ids = tuple(dict.fromkeys(_SUBNET.findall(error.named)))
        zones = (*_ZONE.findall(error.named), *(subnets[id_].zone for id_ in subnet_ids if id_ in subnets))
        types = tuple(dict.fromkeys(_TYPE.findall(error.named)))
        names_all = not error.code or error.code == RESERVATION_FULL or (types and not is_truncated)
        yield LaunchRefusal(
            nodeclaim=report.nodeclaim,
            nodepool=pool,
            error_code=error.code,
            message=error.message,
            instance_types=types,
            zones=tuple(dict.fromkeys(zones)),
            subnets=subnet_ids,
            capacity_types=_capacity_types_of(error, allowed),
            first_ns=report.first_ns,
            last_ns=report.last_ns,
            count=report.times,
            asked_types=() if names_all else _listed(requirements, INSTANCE_TYPE),
            asked_zones=() if names_all else _listed(requirements, ZONE),
            is_truncated=is_truncated,
        )


class _Error(NamedTuple):
    code: str
    message: str
    named: str
    """Part of the message that names refused offerings."""


def _errors(report: _Report) -> Iterator[_Error]:
    _, is_fleet, text = report.text.partition(_FLEET)
    if not is_fleet:
        yield _Error(report.reason, report.text.rpartition(_INSUFFICIENT)[2], "")
        return
    unnamed, *parts = _ERROR.split(_TRACE.sub("", text))
    if not parts:
        yield _Error("", unnamed, "")
    for code, message in zip(parts[::2], parts[1::2], strict=True):
        named = _ADVICE.split(message, maxsplit=1)[0]
        if named.endswith(_CUT):
            # The last word may be truncated.
            named = named.rpartition(" ")[0]
        yield _Error(PLACEMENT_GROUP_FULL if _IN_PLACEMENT_GROUP in message else code, message, named)


def _listed(requirements: Requirements | None, key: str) -> tuple[str, ...]:
    requirement = requirements.find(key) if requirements is not None else None
    return tuple(sorted(requirement.values)) if requirement is not None and requirement.operator == IN else ()


def _allowed(claim: NodeClaim | None, pool: NodePool | None) -> tuple[str, ...]:
    """Return the capacity types that a NodeClaim allows, according to itself or its NodePool."""
    required = Requirements.from_selectors(claim.requirements) if claim is not None else None
    if (required is None or CAPACITY_TYPE not in required) and pool is not None:
        required = Requirements.from_labels(pool.template_labels).merge(Requirements.from_selectors(pool.requirements))
    every = (ON_DEMAND, SPOT)
    return every if required is None else tuple(kind for kind in every if required.get(CAPACITY_TYPE).allows(kind))


def _capacity_types_of(error: _Error, allowed: tuple[str, ...]) -> tuple[str, ...]:
    if error.code == RESERVATION_FULL:
        return (RESERVED,)
    if error.code == NO_SPOT_ROLE or "spot" in f"{error.code} {error.message}".lower():
        return (SPOT,)
    return allowed


def _merged(left: LaunchRefusal, right: LaunchRefusal) -> LaunchRefusal:
    return msgspec.structs.replace(
        left,
        first_ns=min(left.first_ns, right.first_ns),
        last_ns=max(left.last_ns, right.last_ns),
        count=left.count + right.count,
    )
