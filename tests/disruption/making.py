"""Clusters for tests of disruption: nodes of one NodePool, with smaller and larger types available."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from karptui.disruption.blockers import BlockerSurvey
from karptui.disruption.codes import Blocker
from karptui.disruption.fleet import Fleet
from karptui.disruption.methods import observed_fleet
from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.inventory import CapacityBuffer, Inventory
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.settings import Settings, parse_settings
from karptui.kube.objects import Condition
from karptui.kube.workload import PodTemplateObject
from karptui.provisioning.prepared import Prepared, prepare
from karptui.provisioning.state_node import StateNode
from tests.builders import (
    DAY_NS,
    HOUR_NS,
    NOW_NS,
    a_condition,
    a_nodeclaim,
    a_nodepool,
    a_pod_template,
    an_instance_type,
)

SMALL = an_instance_type(name="m5.large", cpu="2", memory="8Gi", prices={"on-demand": 0.1})
LARGE = an_instance_type(name="m5.2xlarge", cpu="8", memory="32Gi", prices={"on-demand": 0.4})
TYPES = (SMALL, LARGE)


def a_claim(name: str = "node-1", *, conditions: Sequence[Condition] = (), **fields: Any) -> NodeClaim:
    """Return the NodeClaim of a node, initialized an hour ago, with further ``conditions``."""
    staged = a_nodeclaim(name=f"claim-{name}", node=name, **fields)
    return a_nodeclaim(name=f"claim-{name}", node=name, **{**fields, "conditions": (*staged.conditions, *conditions)})


def consolidatable(since_ns: int = NOW_NS - HOUR_NS) -> Condition:
    return a_condition("Consolidatable", since_ns=since_ns)


def drifted(reason: str = "AMIDrift", since_ns: int = NOW_NS - HOUR_NS) -> Condition:
    return a_condition("Drifted", reason=reason, since_ns=since_ns)


def prepared(
    *, types: Sequence[InstanceType] = TYPES, settings: Settings | None = None, now_ns: int = NOW_NS, **objects: Any
) -> Prepared:
    """Return a prepared cluster; its NodePool is ``general`` by default."""
    pools = objects.pop("nodepools", (a_nodepool(budgets=()),))
    fields: dict[str, Any] = {name: tuple(values) for name, values in objects.items()}
    inventory = Inventory(nodepools=tuple(pools), **fields)
    return prepare(inventory, types, settings or Settings(), now_ns)


def a_buffer() -> dict[str, Any]:
    """Return a CapacityBuffer of one pod, its template, and the settings that enable it."""
    ready = (a_condition("ReadyForProvisioning"),)
    return {
        "settings": parse_settings({"FEATURE_GATES": "CapacityBuffer=true"}),
        "pod_templates": [PodTemplateObject(name="spare", namespace="default", template=a_pod_template())],
        "capacity_buffers": [CapacityBuffer(name="spare", namespace="default", uid="uid-spare",
                                            pod_template_name="spare", replicas=1, conditions=ready,
                                            has_spec_ref=True)],
    }  # fmt: skip


def a_fleet(**objects: Any) -> Fleet:
    return observed_fleet(prepared(**objects))


def node_of(fleet: Fleet, name: str = "node-1") -> StateNode:
    return next(node for node in fleet.nodes if node.name == name)


def blockers_of(fleet: Fleet, name: str = "node-1") -> dict[str, Blocker]:
    """Return the blockers of a node by code, only the last of each code."""
    return {str(blocker.code): blocker for blocker in BlockerSurvey(fleet).of(node_of(fleet, name))}


__all__ = ["DAY_NS", "HOUR_NS", "NOW_NS"]
