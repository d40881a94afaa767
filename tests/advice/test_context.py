"""The context shared by all rules."""

from __future__ import annotations

from msgspec.structs import replace

from karptui.advice.words import at_cost, joined, listed, share, span
from karptui.aws.money import per_hour_text
from karptui.karpenter.inventory import Inventory
from karptui.kube.units import counted, verb
from tests.advice.asking import context_of
from tests.advice.nodeclass_cases import ec2
from tests.builders import (
    HOUR_NS,
    MINUTE_NS,
    SECOND_NS,
    a_node,
    a_nodeclaim,
    a_nodepool,
    a_pdb,
    a_pod,
    a_pod_template,
    an_inventory,
    an_owner,
)


def test_numbers_and_names_as_text() -> None:
    assert [counted(1, "pod"), counted(2_000, "pod"), counted(2, "is", "are")] == ["1 pod", "2,000 pods", "2 are"]
    assert [verb(1, "has", "have"), verb(0, "has", "have")] == ["has", "have"]
    assert [listed(["a", "a", "b"]), listed("abcde"), listed([])] == ["a, b", "a, b, c and 2 more", ""]
    assert [joined(["a"]), joined(["a", "b", "c"])] == ["a", "a, b and c"]
    assert [per_hour_text(1.5), at_cost(1.5), at_cost(None), at_cost(0.0)] == ["$1.50/h", " ($1.50/h)", "", ""]
    assert per_hour_text(-1.5) == "-$1.50/h"
    assert [share(1, 2_000, "pod"), share(0, 1, "pod")] == ["1 of 2,000 pods", "0 of 1 pod"]
    spans = (HOUR_NS, 90 * MINUTE_NS, 45 * SECOND_NS, 24 * HOUR_NS, HOUR_NS + SECOND_NS, 5 * MINUTE_NS, SECOND_NS // 2)
    assert [span(number) for number in spans] == ["1h", "1h30m", "45s", "24h", "1h0m1s", "5m", "0s"]


def test_pods_are_grouped_by_template() -> None:
    shared = a_pod_template(owners=(an_owner(),))
    pods = (
        a_pod(name="a", template=shared, node="node-1"),
        a_pod(name="b", template=shared, node="node-1"),
        a_pod(name="ended", template=shared, node="node-1", phase="Succeeded"),
        a_pod(name="alone", owner=an_owner(kind="Node", name="node-1", api_version="v1"), node="node-1"),
    )
    context = context_of(
        Inventory(nodes=(a_node(),), nodeclaims=(a_nodeclaim(),), nodepools=(a_nodepool(),), pods=pods)
    )
    assert [(len(group.pods), group.is_daemon) for group in context.groups] == [(2, False), (1, True)]
    assert len(context.workload_groups) == 1
    assert [node.name for node in context.nodes_with(pods)] == ["node-1"]
    assert context.owner_of(replace(pods[0], template=a_pod_template())).kind == "Pod"


def test_pdbs_select_pods_by_the_labels_of_each_pod() -> None:
    shared = a_pod_template(owners=(an_owner(kind="StatefulSet", name="db"),), labels={"app": "db"})
    pods = (
        a_pod(name="db-0", template=shared),
        *(replace(a_pod(name=f"db-{i}", template=shared), own_labels={"index": str(i)}) for i in (1, 2)),
    )
    pdbs = (a_pdb(name="all", labels={"app": "db"}), a_pdb(name="one", labels={"index": "1"}))
    context = context_of(Inventory(pods=pods, pdbs=pdbs))
    texts = {
        tuple(pdb.name for pdb in matching): [pod.name for pod in group.pods] for matching, group in context.budgeted
    }
    assert texts == {("all",): ["db-0", "db-2"], ("all", "one"): ["db-1"]}
    assert context_of(Inventory(pods=pods)).budgeted == ()
    assert context_of(Inventory(pods=pods, pdbs=(a_pdb(labels={"x": "y"}),))).budgeted == ()


def test_costs_are_unknown_without_prices() -> None:
    context = context_of(an_inventory(nodes=2))
    nodes = context.nodes_of(context.pools[0])
    assert context.cost(nodes) == 0.192
    assert context.cost(()) is None
    assert context_of(an_inventory(nodes=1), types=()).cost(nodes[:1]) is None


def test_unreadable_nodeclasses_are_left_out() -> None:
    classes = (ec2(name="good"), ec2({"userData": 5}, name="bad"))
    context = context_of(replace(an_inventory(), nodeclasses=classes))
    assert [node_class.name for node_class in context.ec2_nodeclasses] == ["good"]
    assert context.ec2_nodeclass_of(context.pools[0]) is None
