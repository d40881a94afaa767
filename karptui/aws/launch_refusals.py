"""Launches that failed for lack of capacity, and the offerings that Karpenter then leaves out for three minutes.

Karpenter keeps these offerings in memory. It publishes one event for the NodeClaim, with EC2's messages cut after 300
characters. Sources: pkg/controllers/nodeclaim/lifecycle/launch.go of Karpenter;
pkg/cache/unavailableofferings.go, pkg/errors/errors.go and pkg/providers/instance/instance.go of its AWS provider.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

import msgspec

from karptui.aws.market import OfferingKey
from karptui.aws.nodeclass import Subnet, subnets_of
from karptui.aws.region import node_zones
from karptui.karpenter.inventory import NO_HISTORY, ClusterHistory, Inventory
from karptui.karpenter.labels import CAPACITY_TYPE, INSTANCE_TYPE, NODEPOOL, ON_DEMAND, RESERVED, SPOT, ZONE
from karptui.karpenter.launch_errors import NO_FREE_ADDRESSES, NO_SPOT_ROLE, RESERVATION_FULL
from karptui.karpenter.nodeclaim import NodeClaim, pool_in_name
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.requirements import IN, Requirements
from karptui.kube.objects import Event
from karptui.kube.timestamps import NS_PER_SECOND

REFUSED_NS: Final = 180 * NS_PER_SECOND
"""How long Karpenter leaves out an offering after EC2 refused it."""
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
"""Reasons of the condition Launched that concern capacity, where EC2 also gave errors of another kind."""
_INSUFFICIENT: Final = "insufficient capacity, "
_FLEET: Final = "with fleet error(s), "
_CUT: Final = "..."
_PREFIX: Final = re.compile(r"NodeClaim (\S+) (?:event|nominated for this pod failed to launch): ")
_ERROR: Final = re.compile(r"(?:^|; )([A-Z][A-Za-z.]+): ")
_TRACE: Final = re.compile(r" \(aws-[a-z-]+=.*$", re.DOTALL)
"""The request that the error came from."""
_ADVICE: Final = re.compile(r"You can currently get|Please retry|or choosing")
"""Begins the part of a message that names zones with capacity."""
_TYPE: Final = re.compile(r"(?<![\w.-])[a-z][a-z0-9-]*\.(?:[a-z]+|\d+xlarge|metal-\d+xl)(?![\w.-])")
_ZONE: Final = re.compile(r"(?<![\w-])[a-z]{2}(?:-[a-z]+)+-\d(?:-[a-z]{3}-\d)?[a-z](?![\w-])")
_SUBNET: Final = re.compile(r"subnet-[0-9a-f]+(?![\w-])")


class LaunchRefusal(msgspec.Struct, frozen=True, kw_only=True):
    """One reason why one NodeClaim was not launched."""

    nodeclaim: str
    nodepool: str = ""
    """Empty if neither the NodeClaim nor its name tells."""
    error_code: str = ""
    """EC2's; empty if Karpenter did not ask EC2, because everything that the NodeClaim allows was left out already."""
    message: str
    """EC2's, else Karpenter's."""
    instance_types: tuple[str, ...] = ()
    """Named in the message."""
    zones: tuple[str, ...] = ()
    """Named in the message, or the zones of its subnets; empty if it names none: EC2 refused in any zone."""
    subnets: tuple[str, ...] = ()
    """IDs named in the message."""
    capacity_types: tuple[str, ...] = ()
    """The capacity type of the launch; several if the NodeClaim allowed them and nothing tells which."""
    first_ns: int
    last_ns: int
    count: int = 1
    asked_types: tuple[str, ...] = ()
    """Instance types that the NodeClaim asked for, if it is known and the message may not name all that EC2 refused.

    EC2 tries all of them before it gives up.
    """
    asked_zones: tuple[str, ...] = ()
    """Likewise; empty for any."""
    is_truncated: bool = False
    """Whether Karpenter cut the message: EC2 may have refused more offerings than it names."""


class UnavailableOfferings(msgspec.Struct, frozen=True):
    """The offerings that Karpenter leaves out at an instant, as far as events name them."""

    offerings: Mapping[OfferingKey, str] = MappingProxyType({})
    """With EC2's error code."""
    subnets: frozenset[str] = frozenset()
    """A zone is left out if all subnets that a NodeClass has in it are here."""
    capacity_types: frozenset[str] = frozenset()
    until_ns: int = 0
    """When the last of them comes back: nanoseconds since the epoch; 0 if none is left out."""


ALL_AVAILABLE: Final = UnavailableOfferings()


def recent_launch_refusals(
    inventory: Inventory, history: ClusterHistory = NO_HISTORY, *, since_ns: int = 0
) -> tuple[LaunchRefusal, ...]:
    """Return the launches that failed for lack of capacity, the oldest first; one per NodeClaim and error.

    Args:
        inventory: Its events and NodeClaims tell of refusals; its NodePools and NodeClasses add details.
        history: Events and NodeClaims that are gone.
        since_ns: Omit refusals that were last seen before this: nanoseconds since the epoch.
    """
    reports = list(_by_event((*history.events, *inventory.events)))
    reports += _by_condition(inventory.nodeclaims, {report.nodeclaim for report in reports})
    reports = [report for report in reports if report.last_ns >= since_ns]
    if not reports:
        return ()
    claims = {one.claim.name: one.claim for one in history.claims}
    claims |= {claim.name: claim for claim in inventory.nodeclaims}
    pools = {pool.name: pool for pool in inventory.nodepools}
    subnets = {one.id: one for nodeclass in inventory.nodeclasses for one in subnets_of(nodeclass)}
    merged: dict[tuple[str, str, str], LaunchRefusal] = {}
    for report in reports:
        for refusal in _refusals(report, claims.get(report.nodeclaim), pools, subnets):
            key = refusal.nodeclaim, refusal.error_code, refusal.message
            merged[key] = _merged(merged[key], refusal) if key in merged else refusal
    return tuple(sorted(merged.values(), key=lambda one: (one.last_ns, one.nodeclaim, one.error_code, one.message)))


def unavailable_offerings(refusals: Iterable[LaunchRefusal], zones: Iterable[str], now_ns: int) -> UnavailableOfferings:
    """Return the offerings that Karpenter leaves out at an instant because of launches of the last three minutes.

    If a NodeClaim allowed spot and on-demand, Karpenter asked EC2 for spot, unless spot was left out already.

    Args:
        refusals: The oldest first.
        zones: All zones: EC2 refuses a type in all of them if it names none.
        now_ns: Nanoseconds since the epoch.
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
            (type_, zone): one.error_code
            for one in launch
            for type_ in one.instance_types
            for zone in one.zones or everywhere
            if one.capacity_types != (RESERVED,)
        }
        for one in launch:
            asked_zones = () if one.is_truncated else one.zones
            for zone in asked_zones or one.asked_zones or everywhere:
                for type_ in one.asked_types:
                    named.setdefault((type_, zone), one.error_code)
        asked = _asked(launch[0], named, until)
        for (type_, zone), code in named.items():
            key = OfferingKey(asked, type_, zone)
            until[key], codes[key] = end_ns, code
        subnets |= {id_: end_ns for one in launch if one.error_code == NO_FREE_ADDRESSES for id_ in one.subnets}
        if any(one.error_code == NO_SPOT_ROLE for one in launch):
            capacity_types[SPOT] = end_ns
    ends = [one for one in (*until.values(), *subnets.values(), *capacity_types.values()) if one > now_ns]
    return UnavailableOfferings(
        {key: codes[key] for key, end_ns in until.items() if end_ns > now_ns},
        frozenset(id_ for id_, end_ns in subnets.items() if end_ns > now_ns),
        frozenset(kind for kind, end_ns in capacity_types.items() if end_ns > now_ns),
        max(ends, default=0),
    )


def unavailable_now(inventory: Inventory, now_ns: int, history: ClusterHistory = NO_HISTORY) -> UnavailableOfferings:
    """Return the offerings that Karpenter leaves out of a cluster at an instant, as far as events name them."""
    refusals = recent_launch_refusals(inventory, history, since_ns=now_ns - 2 * REFUSED_NS)
    if not refusals:
        return ALL_AVAILABLE
    named = {one.zone for nodeclass in inventory.nodeclasses for one in subnets_of(nodeclass)}
    named |= {zone.name for zone in node_zones(inventory.nodes)}
    return unavailable_offerings(refusals, sorted(named), now_ns)


def _asked(one: LaunchRefusal, named: Iterable[tuple[str, str]], until: Mapping[OfferingKey, int]) -> str:
    """Return the capacity type that Karpenter asked EC2 for."""
    if SPOT not in one.capacity_types:
        return ON_DEMAND
    if ON_DEMAND not in one.capacity_types:
        return SPOT
    is_spot_out = all(until.get(OfferingKey(SPOT, *pair), 0) > one.last_ns for pair in named)
    return ON_DEMAND if is_spot_out else SPOT


def _by_launch(refusals: Iterable[LaunchRefusal]) -> Iterator[Sequence[LaunchRefusal]]:
    """Yield the refusals of each NodeClaim: Karpenter launches it once."""
    launches: dict[str, list[LaunchRefusal]] = {}
    for one in refusals:
        launches.setdefault(one.nodeclaim, []).append(one)
    yield from sorted(launches.values(), key=lambda launch: launch[0].last_ns)


class _Report(NamedTuple):
    """An event or a condition about a NodeClaim."""

    nodeclaim: str
    reason: str
    """The condition's; empty for an event."""
    text: str
    first_ns: int
    last_ns: int
    times: int


def _by_event(events: Iterable[Event]) -> Iterator[_Report]:
    """Yield reports from events; an event about a pod only if none is about the NodeClaim that it names."""
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
    named = {one.nodeclaim for one in about_claims.values()}
    yield from about_claims.values()
    yield from (one for one in about_others.values() if one.nodeclaim not in named)


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
    """Yield a refusal for each error of EC2's, or one without a code."""
    pool = claim.labels.get(NODEPOOL, "") if claim is not None else pool_in_name(report.nodeclaim, pools)
    allowed = _allowed(claim, pools.get(pool))
    asked = Requirements.from_selectors(claim.requirements) if claim is not None and not report.reason else None
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
            capacity_types=_meant(error, allowed),
            first_ns=report.first_ns,
            last_ns=report.last_ns,
            count=report.times,
            asked_types=() if names_all else _listed(asked, INSTANCE_TYPE),
            asked_zones=() if names_all else _listed(asked, ZONE),
            is_truncated=is_truncated,
        )


class _Error(NamedTuple):
    """One error in a report."""

    code: str
    message: str
    named: str
    """The part of the message that names refused offerings."""


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
            # The last word may be half a name.
            named = named.rpartition(" ")[0]
        yield _Error(code, message, named)


def _listed(asked: Requirements | None, key: str) -> tuple[str, ...]:
    """Return the values that a NodeClaim lists for a label."""
    requirement = asked.find(key) if asked is not None else None
    return tuple(sorted(requirement.values)) if requirement is not None and requirement.operator == IN else ()


def _allowed(claim: NodeClaim | None, pool: NodePool | None) -> tuple[str, ...]:
    """Return the capacity types that a NodeClaim allows, as far as it or its NodePool tells."""
    asked = Requirements.from_selectors(claim.requirements) if claim is not None else None
    if (asked is None or CAPACITY_TYPE not in asked) and pool is not None:
        asked = Requirements.from_labels(pool.template_labels).merge(Requirements.from_selectors(pool.requirements))
    every = (ON_DEMAND, SPOT)
    return every if asked is None else tuple(one for one in every if asked.get(CAPACITY_TYPE).allows(one))


def _meant(error: _Error, allowed: tuple[str, ...]) -> tuple[str, ...]:
    """Return the capacity types that an error can be about."""
    if error.code == RESERVATION_FULL:
        return (RESERVED,)
    if error.code == NO_SPOT_ROLE or "spot" in f"{error.code} {error.message}".lower():
        return (SPOT,)
    return allowed


def _merged(one: LaunchRefusal, other: LaunchRefusal) -> LaunchRefusal:
    return msgspec.structs.replace(
        one,
        first_ns=min(one.first_ns, other.first_ns),
        last_ns=max(one.last_ns, other.last_ns),
        count=one.count + other.count,
    )
