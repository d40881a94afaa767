"""The order of candidates, and alternatives because Karpenter orders equal ones randomly."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

import pytest
from msgspec.structs import replace

from karptui.disruption.candidate import LIKELIEST, Candidate, Chance
from karptui.disruption.command import Command
from karptui.disruption.consolidation import interleaved
from karptui.disruption.drift import in_order
from karptui.disruption.emptiness import by_savings
from karptui.disruption.events import Recorder
from karptui.disruption.methods import MethodRun, next_pass, observed_fleet
from karptui.disruption.removal import EngineSimulator
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import NODEPOOL
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodepool import DisruptionBudget
from karptui.karpenter.settings import Settings
from karptui.kube.objects import Node
from karptui.provisioning.prepared import prepare
from tests.builders import NOW_NS, SECOND_NS, a_node, a_nodepool, a_pod, present
from tests.disruption.making import LARGE, a_claim, a_fleet, drifted, prepared
from tests.forward.making import TYPES, a_pair, a_world

ONE = (a_nodepool(budgets=(DisruptionBudget(nodes="1"),)),)
POOLS = (a_nodepool(budgets=()), a_nodepool(name="other", budgets=()))


class _Place(random.Random):
    """A random generator that always returns one position."""

    def __init__(self, place: int) -> None:
        super().__init__(0)
        self._place = place

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        assert (start, stop, step) == (8, None, 1)
        return self._place


def candidates(*names: str, pool: str = "general", kind: str = "m5.large", since_ns: int = NOW_NS) -> list[Candidate]:
    """Return nodes of a NodePool that drifted at the same instant."""
    nodes = [a_node(name=name, pool=pool, instance_type=kind) for name in names]
    claims = [a_claim(name, pool=pool, instance_type=kind, conditions=(drifted(since_ns=since_ns),)) for name in names]
    cluster = prepared(nodes=nodes, nodeclaims=claims, nodepools=(a_nodepool(name=pool, budgets=()),))
    fleet = a_fleet(nodes=nodes, nodeclaims=claims, nodepools=(a_nodepool(name=pool, budgets=()),))
    return list(MethodRun(fleet, EngineSimulator(cluster, fleet), Recorder()).candidates.eventual)


def names(candidates: list[Candidate]) -> str:
    return "".join(candidate.name for candidate in candidates)


def test_only_equal_nodes_change_their_order() -> None:
    result = candidates("b", "c", "a")
    assert names(by_savings(result)) == names(in_order(result)) == "abc"
    for order in (by_savings, in_order):
        drawn = Counter(names(order(result, Chance(random.Random(seed)))) for seed in range(60))
        assert len(drawn) == 6
    large, small = candidates("b", kind=LARGE.name), candidates("a")
    late, early = candidates("c", since_ns=NOW_NS), candidates("d", since_ns=NOW_NS - SECOND_NS)
    for seed in range(20):
        chance = Chance(random.Random(seed))
        assert names(by_savings([*small, *large], chance)) == "ba"
        assert names(in_order([*late, *early], chance)) == "dc"


def test_iterations_over_maps_start_at_a_random_position() -> None:
    walks = Counter("".join(Chance(_Place(place)).pools("abc")) for place in range(8))
    assert walks == {"abc": 6, "bca": 1, "cab": 1}
    assert LIKELIEST.pools("cab") == ["c", "a", "b"]
    pools = [f"pool-{number}" for number in range(9)]
    drawn = {tuple(Chance(random.Random(seed)).pools(pools)) for seed in range(5)}
    assert len(drawn) == 5
    assert all(sorted(texts) == pools for texts in drawn)
    result = [*candidates("a", "c", pool="x", kind=LARGE.name), *candidates("b", pool="y")]
    assert names(interleaved(result)) == "abc"
    assert names(interleaved(result, Chance(_Place(1)))) in ("bac", "bca")


def of_pool(pair: tuple[Node, NodeClaim], pool: str) -> tuple[Node, NodeClaim]:
    node, claim = pair
    label = {NODEPOOL: pool}
    return replace(node, labels={**node.labels, **label}), replace(claim, labels={**claim.labels, **label})


def likely_names(commands: Iterable[Command]) -> list[str]:
    return [candidate.name for command in commands for candidate in command.candidates]


def asked(inventory: Inventory) -> tuple[str, list[str], list[str]]:
    """Return the acting method, its nodes, and equally likely ones."""
    prepared = prepare(inventory, TYPES, Settings(), NOW_NS)
    coming = next_pass(prepared, observed_fleet(prepared), finds_as_likely=True)
    return str(present(coming.acting).method), likely_names(coming.commands), likely_names(coming.as_likely)


def test_equal_nodes_are_equally_likely() -> None:
    pairs = [a_pair("a"), a_pair("b"), a_pair("large", is_large=True)]
    assert asked(a_world(*pairs)) == ("Emptiness", ["large", "a", "b"], [])
    assert asked(a_world(*pairs[:2], nodepools=ONE)) == ("Emptiness", ["a"], ["b"])
    assert asked(a_world(*pairs, nodepools=ONE)) == ("Emptiness", ["large"], [])
    pairs = [a_pair(name, conditions=("Drifted",)) for name in ("a", "b", "empty")]
    pods = [a_pod(name=f"on-{name}", node=name, cpu="1") for name in ("a", "b")]
    assert asked(a_world(*pairs[:2], pods=pods)) == ("Drift", ["a"], ["b"])
    assert asked(a_world(*pairs, pods=pods)) == ("Drift", ["empty"], [])


@pytest.mark.parametrize("pool", ["general", "other"])
def test_equal_single_nodes_are_equally_likely_across_nodepools(pool: str) -> None:
    room = a_node(name="room", cpu="2", memory="8Gi")
    pairs = [a_pair("a"), of_pool(a_pair("b"), pool)]
    pods = [a_pod(name=f"on-{name}", node=name, cpu="1200m") for name in ("a", "b")]
    world = a_world(*pairs, pods=[*pods, a_pod(name="stays", node="room", cpu="500m")], nodepools=POOLS)
    assert asked(replace(world, nodes=(*world.nodes, room))) == ("SingleNodeConsolidation", ["a"], ["b"])
