"""What happens next by the clock: expiries, deadlines, the end of protections and quiet times, changes of budgets."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

import msgspec

from karptui.disruption.budget_calendar import WEEK_NS, allowance
from karptui.disruption.budgets import Reason
from karptui.disruption.consolidate_after import quiet_period
from karptui.disruption.deadline import STUCK_ALLOWANCE_NS, deadline_of
from karptui.disruption.drain import waiting_pods
from karptui.disruption.expiry import expiry_of
from karptui.disruption.fleet import Fleet
from karptui.disruption.protection import ProtectionKind
from karptui.provisioning.state_node import StateNode


class Happening(StrEnum):
    """What happens."""

    EXPIRY = "expires"
    EXPIRY_FORCED = "drain after expiry ends by force"
    DEADLINE = "drain ends by force"
    FORCED_DELETE = "pod is deleted by force"
    PROTECTION_ENDS = "do-not-disrupt ends"
    CONSOLIDATABLE = "becomes consolidatable"
    BUDGET_CHANGES = "budget changes"


class Upcoming(msgspec.Struct, frozen=True, gc=False):
    """One thing that the clock brings."""

    at_ns: int
    happening: Happening
    object_kind: str
    object_key: str
    node_name: str = ""
    """The node it is about, empty where it is about a NodePool."""
    value: str = ""
    """The annotation's value, or what the budget allows from then on."""


def upcoming(fleet: Fleet) -> tuple[Upcoming, ...]:
    """Return what the clock brings, the next first; what is past is left out."""
    found = [entry for node in fleet.nodes for entry in of_node(fleet, node)]
    found.extend(_of_budgets(fleet))
    later = (entry for entry in found if entry.at_ns > fleet.now_ns)
    return tuple(sorted(later, key=lambda entry: (entry.at_ns, entry.node_name, entry.happening, entry.object_key)))


def of_node(fleet: Fleet, node: StateNode) -> Iterator[Upcoming]:
    """Yield what the clock brings to one node, past things included, in no order."""
    claim = node.claim
    if claim is None:
        return
    name = node.name
    expiry = expiry_of(node)
    if expiry is not None:
        yield Upcoming(expiry.at_ns, Happening.EXPIRY, "NodeClaim", claim.name, name)
        if expiry.forced_end_ns is not None:
            yield Upcoming(expiry.forced_end_ns, Happening.EXPIRY_FORCED, "NodeClaim", claim.name, name)
    if claim.is_deleting:
        yield from _of_drain(fleet, node)
        return
    pool = fleet.pools.get(node.nodepool_name)
    period = quiet_period(claim, pool) if pool is not None and not pool.is_static else None
    if period is not None and not claim.is_true("Consolidatable"):
        yield Upcoming(period.until_ns, Happening.CONSOLIDATABLE, "NodeClaim", claim.name, name)
    for pod in fleet.pods_of(node):
        protection = fleet.pods.protection(pod)
        if protection.kind is ProtectionKind.TIMED and pod.is_active:
            at_ns, value = protection.until_ns, protection.value
            yield Upcoming(at_ns, Happening.PROTECTION_ENDS, "Pod", pod.key, name, value)


def _of_drain(fleet: Fleet, node: StateNode) -> Iterator[Upcoming]:
    assert node.claim is not None
    deadline = deadline_of(node.claim)
    if deadline is not None:
        at_ns = deadline.at_ns + STUCK_ALLOWANCE_NS
        yield Upcoming(at_ns, Happening.DEADLINE, "NodeClaim", node.claim.name, node.name)
    for waiting in waiting_pods(fleet, node, deadline):
        if waiting.forced_ns is not None:
            yield Upcoming(waiting.forced_ns, Happening.FORCED_DELETE, "Pod", waiting.pod.key, node.name)


def _of_budgets(fleet: Fleet) -> Iterator[Upcoming]:
    """Yield the next change of each NodePool's allowance for each reason, within a week."""
    for name, pool in sorted(fleet.pools.items()):
        for reason in Reason:
            spans = allowance(pool, reason, fleet.use.get(name), fleet.now_ns, fleet.now_ns + WEEK_NS)
            if len(spans) > 1:
                value = f"{reason}: {spans[0].allowed} to {spans[1].allowed}"
                yield Upcoming(spans[1].start_ns, Happening.BUDGET_CHANGES, "NodePool", name, value=value)
