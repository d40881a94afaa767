"""Launches that fail now, although answers count on new nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.aws.launch_refusals import REFUSED_NS, last_refusals
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.nodeclaim import overdue_launches
from karptui.kube.objects import condition_of
from karptui.kube.timestamps import MINUTE_NS, NS_PER_SECOND
from karptui.kube.units import duration_text, first_of, verb

_RECENT_NS: Final = 10 * MINUTE_NS


def launch_premises(inventory: Inventory, now_ns: int) -> Iterator[str]:
    """Yield the assumption that nodes are launched, for each reason why Karpenter may launch none now."""
    if overdue := overdue_launches(inventory.nodeclaims, now_ns):
        launched = overdue[0].refused_launch
        why = f": {launched.message or launched.reason}" if launched is not None else ""
        names = f"{first_of([claim.name for claim in overdue], 2)} {verb(len(overdue), 'has', 'have')}"
        yield f"new nodes are launched, although Karpenter launches none until {names} a provider ID{why}"
    yield from refusal_premises(inventory, now_ns)


def refusal_premises(inventory: Inventory, now_ns: int) -> Iterator[str]:
    """Yield the assumption that launches succeed, for each NodePool with a refused launch or unregistered nodes.

    Offerings that Karpenter still excludes are no part of the instance types.
    """
    for pool, refusal in sorted(last_refusals(inventory, since_ns=now_ns - _RECENT_NS).items()):
        if now_ns - refusal.last_ns < REFUSED_NS:
            continue
        age = duration_text((now_ns - refusal.last_ns) // NS_PER_SECOND)
        why = refusal.error_code or refusal.message
        yield f"new nodes of {pool} are launched, although a launch failed {age} ago: {why}"
    for nodepool in inventory.nodepools:
        health = condition_of(nodepool.conditions, "NodeRegistrationHealthy")
        if health is not None and health.status == "False":
            yield f"new nodes of {nodepool.name} register, although its last ones did not"
