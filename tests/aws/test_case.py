from __future__ import annotations

from typing import Any

import pytest

from karptui.aws.case import CaseError, answer, parse_case
from karptui.aws.offerings import PlacementGroup
from tests.aws.builders import SUBNETS

ZONES = [{"name": "us-east-1a", "id": "use1-az4"}, {"name": "us-east-1b", "id": "use1-az6"}]

REFUSED = {"capacityType": "spot", "type": "m5.large", "zone": "us-east-1a"}


def a_case(
    *, spec: dict[str, Any] | None = None, status: dict[str, Any] | None = None, **changes: Any
) -> dict[str, Any]:
    nodeclass = {"metadata": {"name": "default"}, "spec": spec or {"amiSelectorTerms": [{"alias": "al2023@latest"}]}}
    return {"nodeClass": {**nodeclass, "status": {"subnets": SUBNETS} if status is None else status}, **changes}


def test_assumptions_are_noted() -> None:
    case = parse_case(a_case(zones=ZONES, status={}))
    assert case.notes == ("EC2NodeClass default: status.subnets is empty: a subnet in each of the zones is assumed",)
    assert parse_case({"nodeClass": {"spec": {}, "status": {"subnets": SUBNETS}}}).notes == ()
    (unread,) = parse_case(a_case(settings={"RESERVED_ENIS": "many"})).notes
    assert unread == "settings: RESERVED_ENIS cannot be read: Karpenter's default applies"
    (note,) = parse_case(a_case(status={"subnets": [{"zone": "us-gov-west-1a", "zoneID": "usgw1-az1"}]})).notes
    assert note == "offerings in us-gov-west-1a are unknown: every type of us-gov-west-1 is assumed to be offered"


def test_a_placement_group_counts_if_the_nodeclass_selects_one() -> None:
    group = {"id": "pg-1", "strategy": "partition", "partitions": 2}
    assert parse_case(a_case(placementGroup=group)).placement_group is None
    selecting = a_case(placementGroup=group, spec={"amiFamily": "AL2", "placementGroupSelector": {"name": "group"}})
    assert parse_case(selecting).placement_group == PlacementGroup("pg-1", "partition", 2)
    offering = answer(parse_case(selecting), ["m5.large"])["types"]["m5.large"]["offerings"][0]
    assert offering["partition"] == "1"


@pytest.mark.parametrize(
    ("eviction", "left"), [({"nodefs.available": "50%"}, ["m5.large"]), ({"nodefs.available": "99.99%"}, [])]
)
def test_nothing_is_launched_if_reservations_exceed_capacity(eviction: dict[str, str], left: list[str]) -> None:
    """Hold ``Fits`` of pkg/utils/resources/resources.go, which the launch filter asks of the types' allocatable."""
    launch = {"requirements": [], "requests": {"cpu": "1"}}
    spec = {"kubelet": {"evictionHard": eviction}}
    document = answer(parse_case(a_case(karpenter={"provider": "v1.15.1"}, launch=launch, spec=spec)), ["m5.large"])
    assert document["answers"]["filters"][0]["left"] == left


@pytest.mark.parametrize(("changes", "says"), [
    ({"karpenter": {"provider": "v1.15.1"}}, False),
    ({"karpenter": {"provider": "v1.15.1"}, "unavailable": [REFUSED]}, True),
    ({"karpenter": {"provider": "v1.15.1"}, "launch": {}}, True),
    ({"karpenter": {"provider": "v1.15.1"}, "settings": {"AWS_FEATURE_GATES": ""}}, True),
    ({"karpenter": {"provider": "v1.14.1"}, "unavailable": [REFUSED]}, False),
])  # fmt: skip
def test_documents_with_1_15_fields_get_launchable_types(changes: dict[str, Any], says: bool) -> None:
    document = answer(parse_case(a_case(**changes)), ["m5.large"])
    assert all(("launchable" in offering) is says for offering in document["types"]["m5.large"]["offerings"])


@pytest.mark.parametrize(("document", "sentence"), [
    ([], "document: must be an object, is a list"),
    ({}, "nodeClass: is missing"),
    (a_case(zones=[{"id": "x"}]), "zones[0].name: is missing"),
    (a_case(settings={"PREFERENCE_POLICY": "x"}), "settings: PREFERENCE_POLICY is 'x', must be Respect or Ignore"),
    ({"nodeClass": {}}, "nodeClass.spec: is missing"),
    ({"nodeClass": {"spec": []}}, "nodeClass.spec: must be an object"),
    ({"nodeClass": {"spec": {}, "metadata": "x"}}, "nodeClass.metadata: must be an object"),
    ({"nodeClass": {"spec": {}}}, "region: is missing, and cannot be derived from a zone"),
])  # fmt: skip
def test_errors_name_the_field(document: Any, sentence: str) -> None:
    with pytest.raises(CaseError) as caught:
        parse_case(document)
    assert str(caught.value) == sentence


def test_integers_are_rounded_upwards_below_zero_too() -> None:
    spec: dict[str, Any] = {"amiFamily": "AL2", "kubelet": {"systemReserved": {"memory": "100Gi", "cpu": "10000.5m"}}}
    spec["kubelet"]["evictionHard"] = {"memory.available": "0.5"}
    left = answer(parse_case(a_case(spec=spec)), ["m5.large"])["types"]["m5.large"]["allocatable"]
    assert left["cpuMilli"] == 2_000 - 70 - 10_000
    assert left["memoryBytes"] == (7_577 - 574 - 102_400) << 20
