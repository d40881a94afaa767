from __future__ import annotations

from msgspec.structs import replace

from karptui.forward.durations import INSTANT, Durations, joined_since, observed, simulation_ns
from karptui.forward.observation import NodeEquivalence
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.kube.timestamps import ABSENT_NS
from tests.builders import NOW_NS, SECOND_NS, a_condition, a_node, a_nodeclaim, a_pod, an_owner
from tests.forward.making import a_pair, a_world


def a_start(number: int, seconds: int) -> NodeClaim:
    ready = a_condition("Initialized", since_ns=NOW_NS + seconds * SECOND_NS)
    return a_nodeclaim(name=f"c{number}", created_ns=NOW_NS, conditions=(ready,))


def test_durations_are_medians_and_vary_by_seed() -> None:
    assert observed([a_start(i, taken) for i, taken in enumerate((40, 50, 300))]).start_of("general") == 50 * SECOND_NS
    few = [simulation_ns(None, seed, 60) for seed in range(6)]
    assert few == [0, 15_000_000, 30_000_000, 60_000_000, 0, 15_000_000]
    assert [simulation_ns(None, seed, 1_000) for seed in range(4)] == [0, 450_000_000, 900_000_000, 1_800_000_000]
    measured = [simulation_ns(0.3, seed, 1_000) for seed in range(5)]
    assert measured == [300_000_000, 150_000_000, 300_000_000, 600_000_000, 0]


def test_a_node_joins_again_with_its_reboot() -> None:
    joined = a_condition("Registered", since_ns=NOW_NS)
    claim = a_nodeclaim(name="c", conditions=(joined,))
    assert joined_since(claim) == NOW_NS
    for status, since_ns in (("True", ABSENT_NS), ("False", NOW_NS + 60 * SECOND_NS)):
        reboot = a_condition("Rebooting", status=status, since_ns=NOW_NS + 60 * SECOND_NS)
        assert joined_since(replace(claim, conditions=(joined, reboot))) == since_ns
    assert joined_since(a_nodeclaim(name="c", conditions=())) == ABSENT_NS


def test_when_a_refused_eviction_is_tried_again() -> None:
    tries, now_ns = [], NOW_NS
    while now_ns < NOW_NS + 45 * SECOND_NS:
        now_ns = Durations().next_eviction(NOW_NS, now_ns)
        tries.append((now_ns - NOW_NS) / SECOND_NS)
    assert tries == [0.1, 0.3, 0.7, 1.5, 3.1, 6.3, 12.7, 22.7, 32.7, 42.7, 52.7]
    assert Durations().next_eviction(NOW_NS, NOW_NS + 10 * SECOND_NS) == NOW_NS + 12_700_000_000
    assert INSTANT.next_eviction(NOW_NS, NOW_NS + 5) == NOW_NS + 5


def test_nodes_are_alike_by_nodepool_type_zone_and_owners() -> None:
    pairs = [a_pair(name, is_large=name == "large") for name in ("one", "two", "other", "empty", "large")]
    web, db = an_owner(name="web"), an_owner(name="db")
    pods = [
        a_pod(name=f"{name}-{number}", node=name, owner=owner)
        for name, owners in (("one", (web, db)), ("two", (db, web)), ("other", (web, web)))
        for number, owner in enumerate(owners)
    ]
    likeness = NodeEquivalence(a_world(*pairs, pods=pods))
    looks = {node.name: likeness.of(node.name, node.labels) for node, _ in pairs}
    assert looks["one"] == looks["two"]
    assert len({looks[name] for name in ("one", "other", "empty", "large")}) == 4
    late = a_node(name="late", instance_type="m5.large")
    assert NodeEquivalence(a_world()).of(late.name, late.labels) == "general m5.large"
