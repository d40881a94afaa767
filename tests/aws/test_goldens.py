"""Every recorded answer of Karpenter's own AWS provider."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import msgspec
import pytest

from karptui.aws.case import answer, parse_case
from karptui.aws.nodeclass import NodeClassError
from tests.aws.comparison import differences

FOLDER = Path(__file__).resolve().parent.parent / "goldens"
GOLDENS = sorted((FOLDER / "aws").glob("*.json*"))
GOLDENS_1_15 = sorted((FOLDER / "aws-1.15.1").glob("*.json.gz"))
"""Of 1.15.1: those whose types do not have devices."""


def load(path: Path) -> Any:
    content = path.read_bytes()
    return msgspec.json.decode(gzip.decompress(content) if path.suffix == ".gz" else content)


def test_there_are_goldens() -> None:
    assert (len(GOLDENS), len(GOLDENS_1_15)) == (42, 38)


@pytest.mark.parametrize("path", [*GOLDENS, *GOLDENS_1_15], ids=lambda path: path.name.split(".json")[0])
def test_types_are_those_of_the_provider(path: Path) -> None:
    golden = load(path)
    case = {key: value for key, value in golden.items() if key not in ("types", "incompatible", "note", "answers")}
    if golden.get("answers", {}).get("error"):
        with pytest.raises(NodeClassError):
            answer(parse_case(case))
        return
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
