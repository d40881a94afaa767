"""Instance types of a cluster: by EC2 facts and NodeClasses, and those of EKS Auto Mode."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from karptui.aws.auto_mode import auto_mode_types, is_launched
from karptui.aws.catalogue import instance_type_facts, price_list, region_zones, sources
from karptui.aws.cluster_types import ClusterTypes, cluster_types
from karptui.aws.evidence import offering_value
from karptui.aws.nodeclass import SubnetZone, read_auto_mode
from karptui.aws.prices import Market, OfferingKey, PriceSettings, built_in_market
from karptui.aws.region import node_zones
from karptui.karpenter.instance_type import NO_FREE_ADDRESSES, UNFULFILLABLE, InstanceType
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import ARCH, AUTO_MODE_LABELS, INSTANCE_TYPE, REGION, REGISTERED, ZONE
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodeclass import NodeClass, NodeClassRef
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.settings import Settings, parse_settings
from karptui.kube.objects import Node
from karptui.kube.quantity import of_units
from karptui.kube.recent import Recent
from karptui.kube.selectors import NodeSelectorRequirement
from tests.aws.builders import SUBNETS, some_settings

FACTS = [instance_type_facts()["m5.large"]]
AMIS = [{"id": "ami-1", "requirements": [{"key": ARCH, "operator": "In", "values": ["amd64"]}]}]
EC2_DEFAULT = NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default")
AUTO_MODE_SUBNETS: Mapping[str, Any] = {"subnets": [{"id": "subnet-1", "zone": "us-east-1a", "zoneID": "use1-az4"}]}


def a_class(name: str = "default", *, status: dict[str, Any] | None = None, **spec: Any) -> NodeClass:
    return NodeClass(name=name, group="karpenter.k8s.aws", kind="EC2NodeClass",
                     spec={"amiSelectorTerms": [{"alias": "al2023@latest"}], **spec},
                     status={"subnets": SUBNETS, "amis": AMIS} if status is None else status)  # fmt: skip


def a_node(name: str = "node", **labels: str) -> Node:
    texts = {ZONE: "us-east-1a", INSTANCE_TYPE: "m5.large", ARCH: "amd64", REGISTERED: "true"}
    result = {**texts, **{key: value for key, value in labels.items() if value}}
    return Node(name=name, labels=result, capacity={"memory": of_units(7_900_000_000)})


CLAIM = NodeClaim(name="claim", node_name="node", image_id="ami-1", node_class_ref=NodeClassRef(name="default"))


def resolve(*classes: NodeClass, nodes: tuple[Node, ...] = (), **options: Any) -> ClusterTypes:
    inventory = Inventory(nodeclasses=classes, nodes=nodes, nodeclaims=(CLAIM,))
    return cluster_types(inventory, some_settings(), facts=FACTS, **options)


def test_every_nodeclass_of_aws_is_resolved() -> None:
    kwok = NodeClass(name="kwok", group="karpenter.kwok.sh", kind="KWOKNodeClass")
    types = resolve(a_class(), a_class("gpu"), kwok)
    assert list(types.by_nodeclass) == ["default", "gpu"]
    assert [instance_type.name for instance_type in types.by_nodeclass["gpu"].types] == ["m5.large"]
    assert types.problems == {}
    assert types.notes == ("no spot prices are known: spot is simulated at the on-demand price, an upper bound",)


@pytest.mark.parametrize(("kinds", "is_told"), [(("on-demand",), False), (("on-demand", "spot"), True), ((), True)])
def test_missing_spot_prices_are_reported_if_a_nodepool_allows_spot(kinds: tuple[str, ...], is_told: bool) -> None:
    asks = (NodeSelectorRequirement("karpenter.sh/capacity-type", "In", kinds),) if kinds else ()
    pool = NodePool(name="general", node_class_ref=EC2_DEFAULT, requirements=asks)
    other = NodePool(name="other", node_class_ref=replace(EC2_DEFAULT, name="other"))
    of_auto_mode = NodePool(name="auto", node_class_ref=NodeClassRef("eks.amazonaws.com", "NodeClass", "default"))
    pools = (pool, other, of_auto_mode)
    types = cluster_types(Inventory(nodeclasses=(a_class(),), nodepools=pools), some_settings(), facts=FACTS)
    assert any("no spot prices are known" in note for note in types.notes) is is_told


def test_a_nodeclass_without_subnets_gets_the_zones_of_the_nodes() -> None:
    types = resolve(a_class(status={}), nodes=(a_node(),))
    assert types.by_nodeclass["default"].nodeclass.zones == (SubnetZone("us-east-1a", ""),)
    assert any("status.subnets is empty" in note for note in types.notes)
    assert "offerings in us-east-1a are unknown: every type of us-east-1 is assumed to be offered" in types.notes


def test_unresolved_inputs_are_reported() -> None:
    broken = a_class("broken", kubelet={"podsPerCore": "x"})
    crashing = a_class("crashing", blockDeviceMappings=[{"deviceName": "/dev/xvda"}])
    types = resolve(broken, crashing, a_class("bare", status={}))
    assert types.by_nodeclass == {}
    assert types.problems == {
        "broken": "EC2NodeClass broken: spec.kubelet.podsPerCore: must be a whole number, is text",
        "crashing": "EC2NodeClass crashing: spec.blockDeviceMappings[0] has no ebs; Karpenter crashes on it",
        "bare": "EC2NodeClass bare: status.subnets is empty: Karpenter finds no instance types",
    }


def test_regions_and_zones_of_nodes() -> None:
    odd = {"subnets": [{"zone": "zone-a", "zoneID": "use1-az4"}]}
    nodes = (a_node("a", **{REGION: "eu-west-1"}), a_node("b", **{REGION: "eu-west-1"}), a_node("c", **{REGION: "x-1"}))
    assert resolve(a_class(), nodes=nodes).by_nodeclass["default"].market.region == "us-east-1"
    assert resolve(a_class(status=odd), nodes=nodes).by_nodeclass["default"].market.region == "eu-west-1"
    nowhere = resolve(a_class(status=odd))
    assert nowhere.by_nodeclass["default"].market.region == ""
    assert "prices are the us-east-1 list price of 2026-07-06: there is no price list for this region" in nowhere.notes
    zone_id = "topology.k8s.aws/zone-id"
    zonal = [a_node("a", **{zone_id: "use1-az4"}), a_node("b"), a_node("c", **{ZONE: "us-east-1c"}), Node(name="d")]
    assert node_zones(zonal) == (SubnetZone("us-east-1a", "use1-az4"), SubnetZone("us-east-1c", ""))


def two_types(*sold_out: str) -> tuple[InstanceType, ...]:
    """Resolve m5.large and c5.large, some sold out on spot in one zone."""

    def market_of(region: str, zones: Iterable[SubnetZone]) -> Market:
        refused = {OfferingKey("spot", name, "us-east-1a"): UNFULFILLABLE for name in sold_out}
        return replace(built_in_market(region, zones), sold_out=refused)

    facts = [instance_type_facts()[name] for name in ("m5.large", "c5.large")]
    inventory = Inventory(nodeclasses=(a_class(),))
    return cluster_types(inventory, some_settings(), facts=facts, market_of=market_of).by_nodeclass["default"].types


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clear the types that other tests have resolved."""
    monkeypatch.setattr("karptui.aws.cluster_types._cache", Recent(most=16, patience=64))
    monkeypatch.setattr("karptui.aws.offerings._cache", Recent(most=16, patience=64))


def test_a_sold_out_offering_changes_only_its_type(forgetful: None) -> None:
    (m5, c5), (m5_refused, c5_then) = two_types(), two_types("m5.large")
    assert c5_then.offerings is c5.offerings
    assert m5_refused.offerings != m5.offerings
    assert [m5_refused.requirements is m5.requirements, c5_then.requirements is c5.requirements] == [True, True]


def test_a_zone_is_closed_if_all_its_subnets_are_full() -> None:
    more = [*SUBNETS, {"id": "subnet-2", "zone": "us-east-1a", "zoneID": "use1-az4"}]
    status = {"subnets": more, "amis": AMIS}
    for full, closed in (({"subnet-us-east-1a"}, set()), ({"subnet-us-east-1a", "subnet-2"}, {"us-east-1a"})):
        types = resolve(a_class(status=status), full_subnets=frozenset(full)).by_nodeclass["default"]
        refused = [offering for offering in types.types[0].offerings if offering.error_code == NO_FREE_ADDRESSES]
        assert {offering_value(offering, ZONE) for offering in refused} == closed
        assert not any(offering.is_available for offering in refused)


def test_kubelet_expressions_without_the_library_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karptui.aws.cluster_types.why_no_cel", lambda: "no library")
    given = a_class(kubelet={"maxPods": "vcpus * 20"})
    inventory = Inventory(nodeclasses=(given,), nodes=(), nodeclaims=())
    notes = {v: cluster_types(inventory, parse_settings({}, v), facts=FACTS).notes for v in ("v1.14.1", "v1.15.1")}
    told = "EC2NodeClass default: expressions in spec.kubelet are ignored: no library"
    assert {version: told in sentences for version, sentences in notes.items()} == {"v1.14.1": False, "v1.15.1": True}


def test_sources_price_lists_and_zones_of_the_catalogue() -> None:
    assert {source.what.split(" ")[0] for source in sources()} == {
        "instance", "GPUs", "EFA", "branch", "network", "zones", "on-demand",
    }  # fmt: skip
    assert all(source.name and source.version and source.date for source in sources())
    assert price_list("eu-west-1").region == "us-east-1"
    zones = region_zones("us-east-1")
    assert zones is not None
    assert len(zones.zone_ids) == 6
    assert zones.by_type["a1.medium"] == {"use1-az2", "use1-az4", "use1-az6"}
    assert zones.by_type["g4ad.xlarge"]  # from the older list; missing in the newer one


def a_nodeclass(*, spec: Mapping[str, Any] | None = None, status: Mapping[str, Any] = AUTO_MODE_SUBNETS) -> NodeClass:
    return NodeClass(name="default", kind="NodeClass", group="eks.amazonaws.com", spec=spec or {}, status=status)


def types_of(
    nodeclass: NodeClass, *, share: float = 0.12, asked: frozenset[str] = frozenset()
) -> dict[str, InstanceType]:
    zones = read_auto_mode(nodeclass).zones
    instance_types = auto_mode_types(nodeclass, Settings(), built_in_market("us-east-1", zones),
                                     facts=instance_type_facts().values(), prices=PriceSettings(auto_mode_share=share),
                                     requested_labels=asked)  # fmt: skip
    return {instance_type.name: instance_type for instance_type in instance_types}


@pytest.mark.parametrize(
    ("name", "launches"),
    [("m5.large", True), ("t3.small", False), ("t3.medium", True), ("m7g.medium", False), ("m3.large", False)],
)
def test_families_and_sizes_match_the_documentation(name: str, launches: bool) -> None:
    assert is_launched(instance_type_facts()[name]) is launches
    assert (name in types_of(a_nodeclass())) is launches


def test_pods_and_labels_are_those_of_auto_mode() -> None:
    instance_types = types_of(a_nodeclass())
    assert {str(instance_types[name].capacity["pods"]) for name in ("m5.4xlarge", "m5.24xlarge")} == {"110"}
    assert str(instance_types["m5.large"].capacity["pods"]) == "29"
    instance_type = types_of(a_nodeclass())["g6.xlarge"]
    labels = {requirement.key: requirement.values for requirement in instance_type.requirements}
    assert labels["eks.amazonaws.com/instance-gpu-name"] == ("l4",)
    assert labels["eks.amazonaws.com/compute-type"] == ("auto",)
    assert labels.keys() >= AUTO_MODE_LABELS
    keys = {*labels, *(term.key for offering in instance_type.offerings for term in offering.requirements)}
    assert not any(key.startswith("karpenter.k8s.aws/") for key in keys)
    instance_type = types_of(a_nodeclass(), asked=frozenset({"eks.amazonaws.com/rack", "example.com/team"}))["m5.large"]
    assert instance_type.unknown_keys == {"eks.amazonaws.com/rack"}


@pytest.mark.parametrize(("size", "name", "expected"), [
    (None, "m5.large", 80 << 30),
    ("160Gi", "m5.large", 160 << 30),
    (None, "i4i.large", 468 * 10**9),
    ("1Ti", "i4i.large", 1 << 40),
])  # fmt: skip
def test_storage_is_the_larger_of_volume_and_local_disks(size: str | None, name: str, expected: int) -> None:
    spec = {} if size is None else {"ephemeralStorage": {"size": size}}
    assert types_of(a_nodeclass(spec=spec))[name].capacity["ephemeral-storage"].units == expected


def test_every_price_includes_the_auto_mode_charge() -> None:
    free, charged = (types_of(a_nodeclass(), share=share)["m5.large"] for share in (0.0, 0.25))
    for before, after in zip(free.offerings, charged.offerings, strict=True):
        assert after.price_per_hour == pytest.approx(before.price_per_hour * 1.25)
