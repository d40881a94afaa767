"""Every recorded answer of Karpenter's own AWS provider."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import msgspec
import pytest

from karptui.aws.case import answer, parse_case
from tests.aws.comparison import differences

GOLDENS = sorted((Path(__file__).resolve().parent.parent / "goldens" / "aws").glob("*.json*"))


def load(path: Path) -> Any:
    content = path.read_bytes()
    return msgspec.json.decode(gzip.decompress(content) if path.suffix == ".gz" else content)


def test_there_are_goldens() -> None:
    assert len(GOLDENS) == 42


@pytest.mark.parametrize("path", GOLDENS, ids=lambda path: path.name.split(".json")[0])
def test_types_are_those_of_the_provider(path: Path) -> None:
    golden = load(path)
    case = {key: value for key, value in golden.items() if key not in ("types", "incompatible", "note")}
    found = differences(golden, answer(parse_case(case), golden["types"]))
    assert not found, "\n".join(one[:500] for one in found[:5])


def test_the_comparison_notices_every_part() -> None:
    golden = load(next(path for path in GOLDENS if path.name.startswith("capacity-reservations")))
    made = answer(parse_case(golden), golden["types"])
    one = made["types"]["m5.large"]
    one["capacity"]["pods"] += 1
    one["overhead"]["kubeReserved"]["cpuMilli"] += 1
    one["requirements"][0]["values"] = ["other"]
    one["offerings"][0]["price"] += 0.1
    made["types"].pop("r5a.8xlarge")
    made["incompatible"].append("m5.large")
    assert len(differences(golden, made)) == 6
