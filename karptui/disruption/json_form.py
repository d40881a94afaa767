"""Blockers and answers of the methods, as ``karptui blockers -o json`` and ``karptui simulate -o json`` write them."""

from __future__ import annotations

from typing import Any, Final

from karptui.disruption.blocker import Blocker
from karptui.disruption.command import Command, Method, MethodResult
from karptui.disruption.outlook import Outcome
from karptui.disruption.simulation import NewNode
from karptui.kube.timestamps import NS_PER_SECOND, format_timestamp


def method_json(result: MethodResult) -> dict[str, Any]:
    """Return what one method would do."""
    document: dict[str, Any] = {
        "name": str(result.method),
        "reason": str(result.method.reason),
        "candidates": sorted(candidate.name for candidate in result.candidates),
        "budgets": dict(result.budgets),
        "commands": [command_json(command) for command in result.commands],
    }
    return {**document, "error": result.error} if result.error else document


def command_json(command: Command) -> dict[str, Any]:
    """Return one command."""
    return {
        "decision": str(command.decision),
        "candidates": sorted(candidate.name for candidate in command.candidates),
        "replacements": [new_node_json(node) for node in command.replacements],
        "savings": command.savings,
    }


def new_node_json(node: NewNode) -> dict[str, Any]:
    """Return a replacement; a price of -1 where nothing is on offer."""
    price = node.cheapest_price()
    document: dict[str, Any] = {
        "nodePool": node.pool_name,
        "instanceTypes": sorted(node.type_names),
        "requirements": node.requirements.as_selectors(),
        "requests": {name: str(amount) for name, amount in sorted(node.requests.items())},
        "pods": list(node.pods),
        "cheapestPrice": -1 if price is None else price,
    }
    return {**document, "annotations": dict(node.annotations)} if node.annotations else document


_METHODS: Final = tuple(Method)


def blocker_json(blocker: Blocker, without: Outcome, recent_pods: int) -> dict[str, Any]:
    """Return one blocker.

    Args:
        blocker: The blocker.
        without: What would become of the node without it.
        recent_pods: Pods that came to the node in the last hour, those of DaemonSets left out.
    """
    return {
        "node": blocker.node_name,
        "nodeClaim": blocker.claim_name,
        "nodePool": blocker.pool_name,
        "pricePerHour": blocker.price_per_hour,
        "methods": {
            **{str(method): method in blocker.blocks for method in _METHODS},
            "Drain": blocker.blocks_drain,
        },
        "code": str(blocker.code),
        "scope": str(blocker.scope),
        "object": blocker.object_ref,
        "owner": blocker.owner,
        "origin": blocker.origin,
        "value": blocker.value,
        "since": _instant(blocker.since_ns),
        "until": _instant(blocker.until_ns),
        "message": blocker.message,
        "wanted": blocker.is_wanted,
        "reportedByKarpenter": blocker.is_reported,
        "quotedAt": _instant(blocker.quoted_ns),
        "wouldGoWithout": str(without),
        "podsInLastHour": recent_pods,
    }


def _instant(instant_ns: int | None) -> str | None:
    return None if instant_ns is None else format_timestamp(instant_ns // NS_PER_SECOND * NS_PER_SECOND)
