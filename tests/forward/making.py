"""Clusters for forecasts: one NodePool and two sizes of nodes, all an hour old."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from karptui.forward.result import Moment, Played, Step, StepKind
from karptui.forward.run import forward
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.settings import Settings
from karptui.kube.objects import Node
from tests.builders import HOUR_NS, NOW_NS, a_condition, a_node, a_nodeclaim, a_nodepool, an_instance_type

SMALL = an_instance_type(name="m5.large", cpu="2", memory="8Gi", prices={"on-demand": 0.1})
LARGE = an_instance_type(name="m5.2xlarge", cpu="8", memory="32Gi", prices={"on-demand": 0.4})
TYPES = (SMALL, LARGE)


def a_pair(
    name: str, *, is_large: bool = False, conditions: Sequence[str] = ("Consolidatable",), **of_claim: Any
) -> tuple[Node, NodeClaim]:
    kind = "m5.2xlarge" if is_large else "m5.large"
    cpu, memory = ("8", "32Gi") if is_large else ("2", "8Gi")
    node = a_node(name=name, instance_type=kind, cpu=cpu, memory=memory)
    staged = a_nodeclaim(name=f"claim-{name}", node=name, instance_type=kind)
    further = tuple(a_condition(condition, since_ns=NOW_NS - HOUR_NS) for condition in conditions)
    claim = a_nodeclaim(
        name=f"claim-{name}", node=name, instance_type=kind, conditions=(*staged.conditions, *further), **of_claim
    )
    return node, claim


def a_world(*pairs: tuple[Node, NodeClaim], **objects: Any) -> Inventory:
    """Return a cluster; by default its only NodePool is ``general``, without budgets."""
    objects.setdefault("nodepools", (a_nodepool(budgets=()),))
    fields: dict[str, Any] = {name: tuple(values) for name, values in objects.items()}
    return Inventory(nodes=tuple(node for node, _ in pairs), nodeclaims=tuple(claim for _, claim in pairs), **fields)


def played(inventory: Inventory, *, settings: Settings | None = None, **options: Any) -> Played:
    """Forecast a cluster with the two instance types."""
    return forward(inventory, TYPES, settings or Settings(), NOW_NS, **options)


def steps(forecast: Played, kind: StepKind) -> list[Step]:
    return [step for step in forecast.steps if step.kind is kind]


def seconds(step: Step | Moment) -> float:
    return (step.at_ns - NOW_NS) / 1e9
