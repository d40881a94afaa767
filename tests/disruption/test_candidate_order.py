from __future__ import annotations

import random
from collections import Counter

from karptui.disruption.candidate import LIKELIEST, Candidate, Chance
from karptui.disruption.consolidation import interleaved
from karptui.disruption.drift import in_order
from karptui.disruption.emptiness import by_savings
from karptui.disruption.events import Recorder
from karptui.disruption.methods import MethodRun
from karptui.disruption.removal import EngineSimulator
from tests.builders import NOW_NS, SECOND_NS, a_node, a_nodepool
from tests.disruption.making import LARGE, a_claim, a_fleet, drifted, prepared


class _Place(random.Random):
    """A generator that draws one place."""

    def __init__(self, place: int) -> None:
        super().__init__(0)
        self._place = place

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        assert (start, stop, step) == (8, None, 1)
        return self._place


def candidates(*names: str, pool: str = "general", kind: str = "m5.large", since_ns: int = NOW_NS) -> list[Candidate]:
    """Return nodes of a NodePool that all drifted at one instant."""
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


def test_walks_over_maps_begin_anywhere() -> None:
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
