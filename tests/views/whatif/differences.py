"""Builders of what-if differences with defaults."""

from __future__ import annotations

from typing import Any

from karptui.whatif.difference import Difference
from karptui.whatif.difference_lines import (
    NOWHERE,
    BudgetChange,
    ClaimLine,
    CommandLine,
    DriftLine,
    MoveLine,
    NextLines,
    NodeLine,
    PlaceKind,
    PodPlace,
    PoolChange,
    Totals,
    TypeOption,
    Unplaced,
)
from karptui.whatif.scenario import Replay

GENERAL = PodPlace(PlaceKind.CLAIM, "general")
OLD_NODE = PodPlace(PlaceKind.NODE, "general", "ip-10-0-8-41.ec2.internal")


def totals(**given: Any) -> Totals:
    return Totals(
        **({"nodes": 62, "launched": 0, "price_per_hour": 25.0, "unpriced": 0, "pending": 3, "drifted": 0} | given)
    )


def a_pool(name: str = "general", **given: Any) -> PoolChange:
    defaults = {"nodes_before": 48, "nodes_after": 48, "launched_before": 0, "launched_after": 0}
    return PoolChange(name, **({**defaults, "price_before": 17.4, "price_after": 17.4} | given))


def a_type(name: str = "c7i.4xlarge", price: float | None = 0.311, **given: Any) -> TypeOption:
    return TypeOption(name, price, **({"zone": "us-east-1a", "capacity_type": "spot"} | given))


def a_claim(*pods: str, **given: Any) -> ClaimLine:
    defaults: dict[str, Any] = {
        "pool_name": "general",
        "types": (a_type(),),
        "pods": pods or ("web/front-1",),
        "requests": (("cpu", "2"), ("memory", "4Gi")),
        "price_per_hour": 0.311,
        "is_changed": True,
    }
    return ClaimLine(**(defaults | given))


def unplaced(key: str = "trino/worker-0", **given: Any) -> Unplaced:
    defaults: dict[str, Any] = {
        "owner": "StatefulSet/trino/worker",
        "reason": "short by memory 6,846Mi",
        "remark": "no instance type has enough resources",
    }
    return Unplaced(key, **(defaults | given))


def a_difference(**given: Any) -> Difference:
    defaults: dict[str, Any] = {
        "mode": Replay.PENDING,
        "before": totals(),
        "after": totals(),
        "pools": (),
        "claims": (),
        "claims_before": (),
        "nodes": (),
        "moves": (),
        "no_longer_fit": (),
        "still_pending": (),
        "now_fit": (),
    }
    return Difference(**(defaults | given))


__all__ = [
    "GENERAL", "NOWHERE", "OLD_NODE", "BudgetChange", "CommandLine", "DriftLine", "MoveLine", "NextLines", "NodeLine",
    "a_claim", "a_difference", "a_pool", "a_type", "totals", "unplaced",
]  # fmt: skip
