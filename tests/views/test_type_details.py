"""Rare lines of the Types screen and the ledger: arm64, reservations, overlays, no fitting type."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from karptui.aws.evidence import Evidence
from karptui.aws.region import FactKind, FactPhase, FactStatus
from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.nodeclass import NodeClass
from karptui.karpenter.settings import parse_settings
from karptui.session.cluster_view import ClusterView
from karptui.session.types import Availability
from karptui.session.types_of_pools import TypesOfPool
from karptui.views.types.columns import why_text
from karptui.views.types.ledger import account_lines, fit_lines, observed_lines, offering_grid, title_pieces
from karptui.views.types.pools import note_of, reason_lines, source_lines
from tests import builders
from tests.builders import present, text_of
from tests.builders.clusters import state_of
from tests.stories import plain_text, pool_of, stories_view, type_of
from tests.views.test_types import a_type, offering

SUBNETS = [{"id": "s-1", "zone": "us-east-1a", "zoneID": "use1-az4"}]
AMIS = [{"id": "ami-1", "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}]}]
UNPRICED = InstanceType(
    name="x1.large",
    requirements=(builders.a_requirement("node.kubernetes.io/instance-type", "In", "x1.large"),),
    capacity=builders.amounts({"cpu": "2", "memory": "8Gi", "pods": "10"}),
    offerings=tuple(
        msgspec.structs.replace(offering, is_available=False)
        for offering in builders.an_instance_type(prices={"on-demand": 0.0}).offerings
    ),
)


def a_nodeclass(**spec: Any) -> NodeClass:
    return NodeClass(name="default", group="karpenter.k8s.aws", kind="EC2NodeClass",
                     spec={"amiSelectorTerms": [{"alias": "al2023@latest"}], **spec},
                     status={"subnets": SUBNETS, "amis": AMIS})  # fmt: skip


def a_pool(*families: str, **fields: Any) -> Any:
    family = builders.a_requirement("karpenter.k8s.aws/instance-family", "In", *families)
    return builders.a_nodepool(requirements=(family,), **fields)


def view_of(nodeclass: NodeClass, *, evidence: Evidence | None = None, **inventory: Any) -> ClusterView:
    state = state_of(Inventory(nodeclasses=(nodeclass,), **inventory))
    return ClusterView(state, {}, evidence=evidence or Evidence())


def general(view: ClusterView) -> TypesOfPool:
    return pool_of(view, "general")


def test_memory_reported_by_a_node_overrides_the_overhead_setting() -> None:
    node = builders.a_node(
        instance_type="r5a.8xlarge", capacity={"cpu": "32", "memory": "250000Mi", "pods": "234"}, memory="246000Mi"
    )
    claim = builders.a_nodeclaim(instance_type="r5a.8xlarge", image_id="ami-1")
    view = view_of(a_nodeclass(), nodepools=(a_pool("r5a"),), nodes=(node,), nodeclaims=(claim,),
                   pods=(builders.a_pod(memory="248000Mi"),))  # fmt: skip
    pool = general(view)
    entry = type_of(pool, "r5a.8xlarge")
    account = plain_text(account_lines(entry, pool.fit(entry), view.evidence.overhead_origin))
    assert "VM overhead          −12,144" in account
    assert "reported, so 0.075 is not used" in account
    assert "as a node reported it" in account
    fit = plain_text(fit_lines(entry, pool.fit(entry)))
    assert "VM_MEMORY_OVERHEAD_PERCENT changes nothing" in fit
    assert "allocatable 246,000Mi: −" in plain_text(observed_lines(pool.entry, entry))


def test_types_that_would_help() -> None:
    view = view_of(a_nodeclass(), nodepools=(a_pool("r5a"),), pods=(builders.a_pod(memory="9999Gi"),))
    pool = general(view)
    text = plain_text(fit_lines(type_of(pool, "r5a.large"), pool.fit(type_of(pool, "r5a.large"))))
    assert "no VM_MEMORY_OVERHEAD_PERCENT makes it fit" in text
    assert "no other type of the pool fits it" in text
    assert note_of(pool.entry)[0] == "none left: pod"
    view = view_of(a_nodeclass(), nodepools=(a_pool("c5", "x2idn"),), pods=(builders.a_pod(cpu="80", memory="900Gi"),))
    pool = general(view)
    text = plain_text(fit_lines(type_of(pool, "c5.large"), pool.fit(type_of(pool, "c5.large"))))
    assert "cpu short by" in text
    assert "or on the next type that fits: x2idn." in text


def test_types_excluded_by_a_nodeclass_and_its_zones() -> None:
    view = view_of(a_nodeclass(), nodepools=(a_pool("a1", "m5"),))
    pool = general(view)
    entry = type_of(pool, "a1.large")
    assert entry.ruled_out == "a1 types cannot boot AL2023"
    assert {offer.availability for offer in entry.offers} == {Availability.RULED_OUT}
    assert "a1 types cannot boot AL2023" in plain_text(fit_lines(entry, None))
    assert "not available: sold out, or excluded by the NodeClass −" in plain_text(reason_lines(pool.entry))
    node = builders.a_node(zone="us-east-1e", labels={"topology.k8s.aws/zone-id": "use1-az3"})
    pool = general(view_of(a_nodeclass(), nodepools=(a_pool("m5", "m7i"),), nodes=(node,)))
    elsewhere = {entry.name: {o.zone: o.availability for o in entry.offers} for entry in pool.wanted}
    assert elsewhere["m5.large"]["us-east-1a"] is Availability.OFFERED
    assert {elsewhere[name]["us-east-1e"] for name in elsewhere} <= {Availability.NO_SUBNET, Availability.NOT_SOLD}


def test_reservations_show_the_remaining_capacity() -> None:
    reserved = offering("z-1", "reserved", 0.0000001)
    named = msgspec.structs.replace(
        reserved,
        requirements=(
            *reserved.requirements,
            builders.a_requirement("karpenter.k8s.aws/capacity-reservation-id", "In", "cr-1"),
        ),
        reservation_capacity=3,
    )
    types = (a_type("a", named, offering("z-2", "spot", 0.2)),)
    pool = builders.a_nodepool(requirements=())
    entry = general(
        ClusterView(state_of(Inventory(nodepools=(pool,))), {}, evidence=Evidence(instance_types=types))
    ).types[0]
    grid = offering_grid(entry)
    assert grid.capacity_types == ("spot", "reserved")
    assert dict(grid.rows)["z-1"][1].text == "n/a 3 left"
    assert dict(grid.rows)["z-1"][0].text == "-"
    pool_entry = general(
        ClusterView(state_of(Inventory(nodepools=(pool,))), {}, evidence=Evidence(instance_types=types))
    )
    assert "spot from $0.2000/h" in plain_text([title_pieces(pool_entry.entry, pool_entry.types[0])])


def test_a_price_from_a_nodeoverlay_is_marked() -> None:
    overlaid = msgspec.structs.replace(offering("z-1", "on-demand", 0.4), is_price_overlaid=True)
    view = ClusterView(
        state_of(Inventory(nodepools=(builders.a_nodepool(),))),
        {},
        evidence=Evidence(instance_types=(a_type("a", overlaid),)),
    )
    pool = general(view)
    price = present(pool.types[0].on_demand)
    assert (price.per_hour, price.origin.label) == (0.4, "NodeOverlay")
    assert "prices by a NodeOverlay, not those that AWS bills" in plain_text([title_pieces(pool.entry, pool.types[0])])


def test_types_of_a_snapshot_have_a_ledger_if_it_adds_up() -> None:
    result = stories_view()
    types = tuple(
        verdict.instance_type
        for verdict in pool_of(result, "trino").pool_types.verdicts
        if verdict.instance_type.name.startswith("r5a.")
    )
    view = ClusterView(result.state, {}, evidence=Evidence(settings=result.evidence.settings, instance_types=types))
    entry = type_of(pool_of(view, "trino"), "r5a.8xlarge")
    assert entry.ledger is not None
    assert "recorded with the snapshot" in pool_of(view, "trino").entry.origin
    other = Evidence(settings=parse_settings({"VM_MEMORY_OVERHEAD_PERCENT": "0.2"}), instance_types=types)
    assert type_of(pool_of(ClusterView(result.state, {}, evidence=other), "trino"), "r5a.8xlarge").ledger is None


@pytest.mark.parametrize("spec", [{"kubelet": "many"}, {}])
def test_a_snapshots_types_without_a_nodeclass(spec: dict[str, Any]) -> None:
    types: tuple[InstanceType, ...] = (a_type("m5.large", offering("z-1", "on-demand")),)
    evidence = Evidence(instance_types=types)
    if spec:
        view = view_of(a_nodeclass(**spec), nodepools=(builders.a_nodepool(),), evidence=evidence)
    else:
        view = ClusterView(state_of(Inventory(nodepools=(builders.a_nodepool(),))), {}, evidence=evidence)
    assert general(view).types[0].ledger is None


def a_view(*types: InstanceType, **inventory: Any) -> ClusterView:
    """Return a cluster whose instance types came with a snapshot."""
    held = {"nodepools": (builders.a_nodepool(requirements=()),), **inventory}
    return ClusterView(state_of(Inventory(**held)), {}, evidence=Evidence(instance_types=types))


def test_the_reason_that_excludes_a_type() -> None:
    pool = pool_of(a_view(UNPRICED), "general")
    entry = type_of(pool, "x1.large")
    assert why_text(entry) == "not available: unavailable"
    assert {offer.availability for offer in entry.offers} == {Availability.UNAVAILABLE}
    assert text_of(title_pieces(pool.entry, entry)) == " x1.large ─ pool general "
    bare = msgspec.structs.replace(UNPRICED, offerings=())
    assert why_text(type_of(pool_of(a_view(bare), "general"), "x1.large")) == "not available: no zone"
    limited = builders.a_nodepool(requirements=(), limits=builders.amounts({"cpu": "1"}))
    pool = pool_of(a_view(builders.an_instance_type(name="m5.large"), nodepools=(limited,)), "general")
    assert "✘ ruled out: limits: cpu short by" in plain_text(fit_lines(type_of(pool, "m5.large"), None))
    heavy = builders.a_daemonset(memory="100Gi")
    pool = pool_of(a_view(builders.an_instance_type(), daemonsets=(heavy,)), "general")
    assert "DaemonSets do not fit: memory −1" in plain_text(reason_lines(pool.entry))


def test_without_a_ledger_no_overhead_percent_is_suggested() -> None:
    offered = builders.an_instance_type(name="made.up")
    view = a_view(offered, pods=(builders.a_pod(memory="100Gi"),))
    pool = pool_of(view, "general")
    told = plain_text(fit_lines(type_of(pool, "made.up"), pool.fit(type_of(pool, "made.up"))))
    assert "memory short by" in told
    assert "VM_MEMORY_OVERHEAD_PERCENT" not in told


def test_nodes_that_report_no_allocatable_memory() -> None:
    node = msgspec.structs.replace(
        builders.a_node(instance_type="m5.large"), allocatable=builders.amounts({"cpu": "1"})
    )
    pool: TypesOfPool = pool_of(a_view(builders.an_instance_type(), nodes=(node,)), "general")
    told = plain_text(observed_lines(pool.entry, type_of(pool, "m5.large")))
    assert "1 node reports" in told
    assert "compared with the plan" not in told


def test_errors_of_sources_are_next_to_them() -> None:
    gone = FactStatus(phase=FactPhase.UNAVAILABLE, sentence="no AWS credentials were found")
    evidence = Evidence(fact_statuses=dict.fromkeys(FactKind, gone))
    assert plain_text(source_lines(None, evidence, a_view(UNPRICED).prices)).endswith(
        " · no AWS credentials were found"
    )
