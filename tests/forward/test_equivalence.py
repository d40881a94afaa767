"""Which nodes are alike to Karpenter."""

from __future__ import annotations

from karptui.forward.observation import NodeEquivalence
from tests.builders import a_node, a_pod, an_owner
from tests.forward.making import a_pair, a_world


def test_nodes_are_alike_by_nodepool_type_zone_and_what_owns_their_pods() -> None:
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


def test_a_node_that_came_later_goes_by_nodepool_and_type() -> None:
    late = a_node(name="late", instance_type="m5.large")
    assert NodeEquivalence(a_world()).of(late.name, late.labels) == "general m5.large"
