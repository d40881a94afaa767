from __future__ import annotations

import gzip
import importlib.util
from pathlib import Path
from typing import Any

import msgspec
import pytest

from karptui.aws.case import answer, parse_case
from karptui.aws.kubelet_rules import parse_problem, rule_breaks, unmanaged_fields
from karptui.whatif.drift.hashes import ec2_nodeclass_hash
from tests.aws.comparison import answer_differences, differences
from tests.builders import present

FOLDER = Path(__file__).resolve().parent.parent / "goldens"
GOLDENS = sorted((FOLDER / "aws").glob("*.json*"))
GOLDENS_1_15 = sorted((FOLDER / "aws-1.15.1").glob("*.json.gz"))
RERUN = sorted((FOLDER / "aws-1.15.1" / "rerun").glob("*.json.gz"))
"""Cases of 1.14.1, answered by 1.15.1."""


def load(path: Path) -> Any:
    content = path.read_bytes()
    return msgspec.json.decode(gzip.decompress(content) if path.suffix == ".gz" else content)


def test_there_are_goldens() -> None:
    assert (len(GOLDENS), len(GOLDENS_1_15), len(RERUN)) == (42, 42, 8)


@pytest.mark.parametrize(
    "path", [*GOLDENS, *GOLDENS_1_15, *RERUN], ids=lambda path: f"{path.parent.name}/{path.name.split('.json')[0]}"
)
def test_types_are_those_of_the_provider(path: Path) -> None:
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


def test_a_case_is_answered_for_the_types_that_were_recorded() -> None:
    path = Path(__file__).resolve().parents[2] / "tools" / "answer_case.py"
    spec = importlib.util.spec_from_file_location("answer_case", path)
    assert spec is not None
    tool = importlib.util.module_from_spec(spec)
    present(spec.loader).exec_module(tool)
    folder = FOLDER / "aws-1.15.1"
    assert tool.recorded_types(folder, "cel-maxpods-negative") == ["m5.large"]
    assert tool.recorded_types(folder, "dra-nvidia") == sorted(load(folder / "dra-nvidia.json.gz")["types"])
