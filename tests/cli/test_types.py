"""`karptui types CASE`."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pytest

from tests.builders.files import written
from tests.cli.conftest import Run

CASE = {
    "settings": {"VM_MEMORY_OVERHEAD_PERCENT": 0.075},
    "nodeClass": {"metadata": {"name": "default"}, "spec": {"amiSelectorTerms": [{"alias": "al2023@latest"}]},
                  "status": {"subnets": [{"zone": "us-east-1a", "zoneID": "use1-az4"}]}},
}  # fmt: skip


@pytest.fixture
def case_file(tmp_path: Path) -> Path:
    return written(tmp_path / "case.json", CASE)


def test_json_has_integers_in_named_units(case_file: Path, run: Run) -> None:
    document = run.json("types", str(case_file), "--types", "r5a.8xlarge, m5.large")
    assert list(document["types"]) == ["m5.large", "r5a.8xlarge"]
    assert document["types"]["r5a.8xlarge"]["allocatable"]["memoryBytes"] == 239_554 << 20


def test_gzip_and_standard_input(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = tmp_path / "case.json.gz"
    packed.write_bytes(gzip.compress(json.dumps(CASE).encode()))
    first = run("types", str(packed), "--types", "m5.large").out
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(packed.read_bytes())))
    assert run("types", "-", "--types", "m5.large").out == first


def test_assumptions_are_said_on_standard_error(tmp_path: Path, run: Run) -> None:
    path = written(tmp_path / "case.json", {**CASE, "zones": [{"name": "us-east-1a"}], "nodeClass": {"spec": {}}})
    assert "status.subnets is empty" in run("types", str(path), "--types", "m5.large").err


def test_a_nodeclass_without_types_is_an_answer_too(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "case.json"
    kubelet = {"podsPerCore": "4"}
    path.write_text(json.dumps({"region": "us-east-1", "nodeClass": {"spec": {"kubelet": kubelet}}}))
    output = run("types", str(path), status=1)
    document = json.loads(output.out)
    assert document["types"] == {}
    assert document["answers"]["error"].endswith("is text: write it without quotes: Karpenter finds no instance types")
    assert document["answers"]["kubelet"]["parseError"].startswith("json: cannot unmarshal string into Go struct field")
    assert document["answers"]["hash"]["version"] == "v6"
    assert "finds no instance types" in output.err
