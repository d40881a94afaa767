"""The answers of the methods in the form of ``karptui simulate -o json``."""

from __future__ import annotations

from typing import Any

from karptui.disruption.command import Command, MethodResult
from karptui.disruption.simulation import NewNode


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
