"""JSON of blockers and method results for ``karptui blockers -o json`` and ``karptui simulate -o json``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from karptui.disruption.budgets import Reason
from karptui.disruption.codes import Blocker
from karptui.disruption.command import Command, Decision, Method, MethodResult, RepairCase
from karptui.disruption.outlook import Outcome
from karptui.disruption.repair import LEGACY_REPAIR
from karptui.disruption.simulation import NewNode
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.repair_policies import Ailment
from karptui.kube.durations import format_duration
from karptui.kube.timestamps import format_second
from karptui.provisioning.template import template_requirements


def method_json(result: MethodResult) -> dict[str, Any]:
    """Return a method's result."""
    document: dict[str, Any] = {
        "name": str(result.method),
        "reason": str(result.method.reason),
        "candidates": sorted(candidate.name for candidate in result.candidates),
        "budgets": dict(result.budgets),
        "commands": [command_json(command) for command in result.commands],
    }
    if result.method is Method.REPAIR:
        document["nodes"] = {name: ailment_json(ailment) for name, ailment in result.ailments.items()}
    return {**document, "error": result.error} if result.error else document


def ailment_json(ailment: Ailment) -> dict[str, Any]:
    """Return a node's health problem."""
    document: dict[str, Any] = {
        "action": str(ailment.action),
        "condition": ailment.condition.type,
        "status": ailment.condition.status,
        "reason": ailment.condition.reason,
    }
    if ailment.reason_regex:
        document["reasonRegex"] = ailment.reason_regex
    else:
        document["fallback"] = True
    document |= {"eligibleAt": _instant(ailment.eligible_ns), "score": ailment.score}
    return document if ailment.bound_ns is None else {**document, "policyBound": format_duration(ailment.bound_ns)}


def _repair_json(case: RepairCase) -> dict[str, Any]:
    document = ailment_json(case.ailment)
    if case.bound_ns is not None:
        document["drainBound"] = format_duration(case.bound_ns)
    return {**document, "escalated": True} if case.is_escalated else document


def legacy_repair_json(names: Iterable[str]) -> dict[str, Any]:
    """Return the deletions by the repair controller of Karpenter before 1.15, in the form of a method."""
    deleted = list(names)
    return {
        "name": LEGACY_REPAIR,
        "reason": str(Reason.UNHEALTHY),
        "candidates": deleted,
        "budgets": {},
        "commands": [
            {"decision": str(Decision.DELETE), "candidates": [name], "replacements": [], "savings": 0.0}
            for name in deleted
        ],
    }


def command_json(command: Command) -> dict[str, Any]:
    """Return a command."""
    templates = [command.candidates[0].pool] * command.from_template
    document: dict[str, Any] = {
        "decision": str(command.decision),
        "candidates": sorted(candidate.name for candidate in command.candidates),
        "replacements": [
            *(new_node_json(node) for node in command.replacements),
            *(template_json(pool) for pool in templates),
        ],
        # Karpenter has no price for a template, so it counts the node's whole price as saved.
        "savings": command.source_price if templates else command.savings,
    }
    if command.terminate_first is not None:
        document["terminateFirstReason"] = str(command.terminate_first)
    if command.repairs:
        document["repair"] = {name: _repair_json(case) for name, case in command.repairs.items()}
    return document


def template_json(pool: NodePool) -> dict[str, Any]:
    """Return a NodeClaim from a NodePool's template."""
    return {
        "nodePool": pool.name,
        "instanceTypes": [],
        "requirements": template_requirements(pool).as_selectors(),
        "requests": {},
        "pods": [],
        "cheapestPrice": -1,
    }


def new_node_json(node: NewNode) -> dict[str, Any]:
    """Return a replacement; its price is -1 without an offering."""
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


_METHODS: Final = tuple(method for method in Method if method is not Method.REPAIR)


def blocker_json(blocker: Blocker, without: Outcome, recent_pods: int) -> dict[str, Any]:
    """Return a blocker.

    Args:
        without: The node's outcome without it.
        recent_pods: Pods, except DaemonSet pods, bound to the node in the last hour.
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
    return None if instant_ns is None else format_second(instant_ns)
