"""What Karpenter would do next, and the nodes that would go, as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from karptui.session.cluster_view import ClusterView
from karptui.session.nodes import NodeEntry
from karptui.views.next.table import saved_per_hour

if TYPE_CHECKING:
    from karptui.disruption.verdict import Replacement


def report_values(view: ClusterView) -> dict[str, Any] | None:
    """Return the next command; None where it has not been asked for."""
    report = view.analysis.next if view.analysis is not None else None
    if report is None:
        return None
    has_prices = not view.evidence.price_settings.is_disabled
    return {
        "method": report.method or None,
        "reason": report.reason or None,
        "savings_per_hour": sum(one.savings_per_hour for one in report.commands) if has_prices else None,
        "commands": [
            {
                "decision": one.decision,
                "nodes": list(one.node_names),
                "savings_per_hour": one.savings_per_hour if has_prices else None,
                "replacements": [replacement_values(made) for made in one.replacements],
            }
            for one in report.commands
        ],
        "asked": [{"method": method, "candidates": count} for method, count in report.asked],
        "waits_for": list(report.paused_by),
        "error": report.error or None,
    }


def replacement_values(one: Replacement) -> dict[str, Any]:
    """Return a node that would be launched."""
    return {
        "pool": one.pool_name,
        "types": list(one.type_names),
        "price_per_hour": one.price_per_hour or None,
        "pods": one.pods,
    }


def node_values(entry: NodeEntry) -> dict[str, Any]:
    """Return a node that would go; None is what is not known."""
    found = entry.findings
    lifted = found.outlook.lifted if found is not None and found.outlook is not None else None
    return {
        "name": entry.name,
        "pool": entry.pool or None,
        "type": entry.instance_type or None,
        "price_per_hour": entry.price.per_hour if entry.price is not None else None,
        "saves_per_hour": saved_per_hour(entry),
        "held_by": [str(code) for code in found.why.codes] if found is not None and found.blockers else [],
        "would_be": str(lifted.outcome) if lifted is not None else None,
        "replaced_by": [replacement_values(one) for one in lifted.replacements] if lifted is not None else [],
        "method": (lifted.method or None) if lifted is not None else None,
    }
