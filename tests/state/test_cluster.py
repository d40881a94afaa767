from __future__ import annotations

import pytest

from karptui.decode.kinds import WORKLOAD_KINDS, Kind
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.kube.objects import Node
from karptui.kube.workload import Workload
from karptui.state.cluster import FIELDS, Links, inventory_of, link, objects_of
from tests.builders import HOUR_NS, NOW_NS, a_daemonset, a_node, a_nodeclaim, a_pdb, an_event, an_inventory
from tests.builders.clusters import state_of
from tests.state.stories import after, told


@pytest.mark.parametrize(("what", "nodes", "claims", "expected"), [
    ("the same providerID", [a_node()], [a_nodeclaim()], {"node-1": "general-abcde"}),
    ("providerID has precedence over the node name in the claim", [a_node(provider_id="aws:///a/i-1")],
     [a_nodeclaim(name="right", node="other", provider_id="aws:///a/i-1"), a_nodeclaim(name="wrong")],
     {"node-1": "right"}),
    ("a node without providerID is found by name", [a_node(provider_id="")], [a_nodeclaim()],
     {"node-1": "general-abcde"}),
    ("a claim without providerID is found by name", [a_node()], [a_nodeclaim(provider_id="")],
     {"node-1": "general-abcde"}),
    ("a node with the same name but another providerID", [a_node(provider_id="aws:///a/i-2")],
     [a_nodeclaim(provider_id="aws:///a/i-1")], {}),
    ("a claim that has launched but not registered", [], [a_nodeclaim(stage="Launched")], {}),
    ("a node that Karpenter does not manage", [a_node(pool="")], [], {}),
    ("the latest of several claims for one name, except those being deleted", [a_node(provider_id="")],
     [a_nodeclaim(name="old", created_ns=NOW_NS - 9 * HOUR_NS), a_nodeclaim(name="new", created_ns=NOW_NS - HOUR_NS),
      a_nodeclaim(name="leaving", created_ns=NOW_NS, deletion_ns=NOW_NS)],
     {"node-1": "new"}),
    ("two nodes with the same providerID",
     [a_node(), a_node(name="b", provider_id="aws:///us-east-1a/node-1")], [a_nodeclaim()],
     {"node-1": "general-abcde", "b": "general-abcde"}),
])  # fmt: skip
def test_nodes_are_linked_to_their_nodeclaims(
    what: str, nodes: list[Node], claims: list[NodeClaim], expected: dict[str, str]
) -> None:
    links = link(nodes, claims)
    assert dict(links.claim_of_node) == expected
    assert all(expected[node] == claim for claim, node in links.node_of_claim.items())


def test_links_by_provider_id_do_not_depend_on_the_order_of_objects() -> None:
    claim = a_nodeclaim(stage="Launched", provider_id="aws:///a/i-1")
    early = after(told(Kind.NODECLAIM, claim), told(Kind.NODE, a_node(provider_id="")))
    assert early.claim_of("node-1") is None
    assert [claim.name for claim in early.claims_without_node()] == ["general-abcde"]
    now = after(told(Kind.NODE, a_node(provider_id="aws:///a/i-1")), begin=early)
    assert now.claim_of("node-1") is claim
    assert now.node_of("general-abcde") is now.nodes["node-1"]
    assert list(now.claims_without_node()) == []
    nodes = [a_node(name=name, provider_id="aws:///a/i-1") for name in ("node-1", "node-2")]
    claims = [a_nodeclaim(name=name, node="node-1", provider_id="aws:///a/i-1") for name in ("claim-1", "claim-2")]
    links = [link(n, c) for n in (nodes, nodes[::-1]) for c in (claims, claims[::-1])]
    assert links == 4 * [Links({"node-1": "claim-2", "node-2": "claim-2"}, {"claim-2": "node-1"})]


def test_every_kind_has_a_field_in_the_inventory() -> None:
    assert {*FIELDS, *WORKLOAD_KINDS} == set(Kind)
    assert {*FIELDS.values(), "workloads", "unread"} == set(Inventory.__struct_fields__)


def test_an_inventory_survives_the_round_trip_through_a_state() -> None:
    workloads = (
        Workload(name="web", namespace="default", api_version="apps/v1", kind="Deployment"),
        Workload(name="web", namespace="default", api_version="apps/v1", kind="ReplicaSet"),
    )
    begin = an_inventory(daemonsets=(a_daemonset(),), pdbs=(a_pdb(),), events=(an_event(),), workloads=workloads)
    again = inventory_of(state_of(begin))
    for field in Inventory.__struct_fields__:
        assert sorted(getattr(again, field), key=id) == sorted(getattr(begin, field), key=id), field
    assert objects_of(again) == objects_of(begin)
