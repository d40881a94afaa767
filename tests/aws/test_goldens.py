from __future__ import annotations

import gzip
import importlib.util
from pathlib import Path
from typing import Any

import msgspec
import pytest

from karptui.aws.case import CaseError, answer, parse_case
from karptui.aws.kubelet_rules import parse_problem, rule_breaks, unmanaged_fields
from karptui.aws.offerings import PlacementGroup
from karptui.whatif.drift.hashes import ec2_nodeclass_hash
from tests.aws.builders import SUBNETS
from tests.aws.comparison import answer_differences, differences
from tests.builders import present

FOLDER = Path(__file__).resolve().parent.parent / "goldens"
GOLDENS = sorted((FOLDER / "aws").glob("*.json*"))
GOLDENS_1_15 = sorted((FOLDER / "aws-1.15.1").glob("*.json.gz"))
RERUN = sorted((FOLDER / "aws-1.15.1" / "rerun").glob("*.json.gz"))
"""Cases of 1.14.1, answered by 1.15.1."""
ZONES = [{"name": "us-east-1a", "id": "use1-az4"}, {"name": "us-east-1b", "id": "use1-az6"}]

REFUSED = {"capacityType": "spot", "type": "m5.large", "zone": "us-east-1a"}


def load(path: Path) -> Any:
    content = path.read_bytes()
    return msgspec.json.decode(gzip.decompress(content) if path.suffix == ".gz" else content)


def test_there_are_goldens() -> None:
    assert (len(GOLDENS), len(GOLDENS_1_15), len(RERUN)) == (42, 42, 8)


@pytest.mark.parametrize(
    "path", [*GOLDENS, *GOLDENS_1_15, *RERUN], ids=lambda path: f"{path.parent.name}/{path.name.split('.json')[0]}"
)
def test_types_match_the_provider(path: Path) -> None:
    golden = load(path)
    case = {key: value for key, value in golden.items() if key not in ("types", "incompatible", "note", "answers")}
    parsed = parse_case(case)
    recorded = golden.get("answers", {})
    failing = recorded.get("kubelet", {}).get("evaluationErrors", ())
    document = answer(parsed, golden["types"] or failing or ["m5.large"])
    texts = differences(golden, document)
    if path not in GOLDENS:
        texts += answer_differences(golden, document)
    if "hash" in recorded:
        version = parsed.settings.rules.nodeclass_hash
        assert {"value": ec2_nodeclass_hash(parsed.given, version=version), "version": version} == recorded["hash"]
    assert not texts, "\n".join(text[:500] for text in texts[:5])


@pytest.mark.parametrize(
    "case", load(FOLDER / "aws-1.15.1" / "kubelet" / "cases.json.gz"), ids=lambda case: str(case["name"])
)
def test_kubelet_settings_match_the_providers_messages(case: Any) -> None:
    kubelet, expected = case["kubelet"], case["answer"]
    assert list(rule_breaks(kubelet)) == expected["errors"]
    assert list(unmanaged_fields(kubelet)) == expected["unmanagedFields"]
    assert parse_problem(kubelet) == expected.get("parseError", "")


def test_the_comparison_notices_every_part() -> None:
    golden = load(next(path for path in GOLDENS if path.name.startswith("capacity-reservations")))
    document = answer(parse_case(golden), golden["types"])
    result = document["types"]["m5.large"]
    result["capacity"]["pods"] += 1
    result["overhead"]["kubeReserved"]["cpuMilli"] += 1
    result["requirements"][0]["values"] = ["other"]
    result["offerings"][0]["price"] += 0.1
    document["types"].pop("r5a.8xlarge")
    document["incompatible"].append("m5.large")
    assert len(differences(golden, document)) == 6


def test_a_case_is_answered_for_its_recorded_types() -> None:
    path = Path(__file__).resolve().parents[2] / "tools" / "answer_case.py"
    spec = importlib.util.spec_from_file_location("answer_case", path)
    assert spec is not None
    tool = importlib.util.module_from_spec(spec)
    present(spec.loader).exec_module(tool)
    folder = FOLDER / "aws-1.15.1"
    assert tool.recorded_types(folder, "cel-maxpods-negative") == ["m5.large"]
    assert tool.recorded_types(folder, "dra-nvidia") == sorted(load(folder / "dra-nvidia.json.gz")["types"])


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
    """Follows ``Fits`` of pkg/utils/resources/resources.go, which the launch filter applies to the allocatable."""
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
