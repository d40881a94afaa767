"""What Karpenter may do instead of its next command, as it orders NodePools and equal nodes randomly."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from msgspec.structs import replace

from karptui.disruption.command import Command
from karptui.disruption.methods import next_pass, observed_fleet
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import NODEPOOL
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodepool import DisruptionBudget
from karptui.karpenter.settings import Settings
from karptui.kube.node import Node
from karptui.provisioning import prepare
from tests.builders import NOW_NS, a_node, a_nodepool, a_pod, present
from tests.forward.making import TYPES, a_pair, a_world

ONE = (a_nodepool(budgets=(DisruptionBudget(nodes="1"),)),)
POOLS = (a_nodepool(budgets=()), a_nodepool(name="other", budgets=()))


def of_pool(pair: tuple[Node, NodeClaim], pool: str) -> tuple[Node, NodeClaim]:
    node, claim = pair
    label = {NODEPOOL: pool}
    return replace(node, labels={**node.labels, **label}), replace(claim, labels={**claim.labels, **label})


def names(commands: Iterable[Command]) -> list[str]:
    return [candidate.name for command in commands for candidate in command.candidates]


def asked(inventory: Inventory) -> tuple[str, list[str], list[str]]:
    """Return the method that acts, the nodes that it takes, and those that it may take instead."""
    prepared = prepare(inventory, TYPES, Settings(), NOW_NS)
    coming = next_pass(prepared, observed_fleet(prepared), finds_as_likely=True)
    return str(present(coming.acting).method), names(coming.commands), names(coming.as_likely)


def test_of_equal_nodes_any_is_as_likely() -> None:
    pairs = [a_pair("a"), a_pair("b"), a_pair("large", is_large=True)]
    assert asked(a_world(*pairs)) == ("Emptiness", ["large", "a", "b"], [])
    assert asked(a_world(*pairs[:2], nodepools=ONE)) == ("Emptiness", ["a"], ["b"])
    assert asked(a_world(*pairs, nodepools=ONE)) == ("Emptiness", ["large"], [])
    pairs = [a_pair(name, conditions=("Drifted",)) for name in ("a", "b", "empty")]
    pods = [a_pod(name=f"on-{name}", node=name, cpu="1") for name in ("a", "b")]
    assert asked(a_world(*pairs[:2], pods=pods)) == ("Drift", ["a"], ["b"])
    assert asked(a_world(*pairs, pods=pods)) == ("Drift", ["empty"], [])


@pytest.mark.parametrize("pool", ["general", "other"])
def test_single_nodes_of_any_node_pool_and_equal_ones_come_first(pool: str) -> None:
    room = a_node(name="room", cpu="2", memory="8Gi")
    pairs = [a_pair("a"), of_pool(a_pair("b"), pool)]
    pods = [a_pod(name=f"on-{name}", node=name, cpu="1200m") for name in ("a", "b")]
    world = a_world(*pairs, pods=[*pods, a_pod(name="stays", node="room", cpu="500m")], nodepools=POOLS)
    assert asked(replace(world, nodes=(*world.nodes, room))) == ("SingleNodeConsolidation", ["a"], ["b"])
