"""`karptui types CASE`, and `karptui types` for a cluster."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pytest

from tests.builders.files import written
from tests.cli.conftest import Run
from tests.stories import STORIES

CASE = {
    "settings": {"VM_MEMORY_OVERHEAD_PERCENT": 0.075},
    "nodeClass": {"metadata": {"name": "default"}, "spec": {"amiSelectorTerms": [{"alias": "al2023@latest"}]},
                  "status": {"subnets": [{"zone": "us-east-1a", "zoneID": "use1-az4"}]}},
}  # fmt: skip
TYPES = ("types", "--snapshot", str(STORIES))
TRINO = (*TYPES, "--pool", "trino")
LEDGER = (*TRINO, "--ledger", "r5a.8xlarge")


@pytest.fixture
def case_file(tmp_path: Path) -> Path:
    return written(tmp_path / "case.json", CASE)


def test_json_has_integers_in_the_unit_named_by_the_key(case_file: Path, run: Run) -> None:
    document = run.json("types", str(case_file), "--types", "r5a.8xlarge, m5.large")
    assert list(document["types"]) == ["m5.large", "r5a.8xlarge"]
    assert document["types"]["r5a.8xlarge"]["allocatable"]["memoryBytes"] == 239_554 << 20


def test_a_case_is_read_from_gzip_and_standard_input(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = tmp_path / "case.json.gz"
    packed.write_bytes(gzip.compress(json.dumps(CASE).encode()))
    first = run("types", str(packed), "--types", "m5.large").out
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(packed.read_bytes())))
    assert run("types", "-", "--types", "m5.large").out == first


def test_assumptions_are_printed_on_standard_error(tmp_path: Path, run: Run) -> None:
    path = written(tmp_path / "case.json", {**CASE, "zones": [{"name": "us-east-1a"}], "nodeClass": {"spec": {}}})
    assert "status.subnets is empty" in run("types", str(path), "--types", "m5.large").err


def test_a_nodeclass_without_types_is_no_error(tmp_path: Path, run: Run) -> None:
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


def test_types_of_all_nodepools(run: Run) -> None:
    pools = {pool["name"]: pool for pool in run.json(*TYPES)}
    assert {name: pool["left"] for name, pool in pools.items()}.items() >= {("flex", 0), ("small", 12), ("trino", 3)}
    assert "* is not a wildcard" in pools["flex"]["findings"][0]


def test_types_of_one_nodepool(run: Run) -> None:
    big = next(item for item in run.json(*TRINO) if item["name"] == "r5a.8xlarge")
    assert (big["mem_allocatable_bytes"] >> 20, big["pending_pod_short_mem_bytes"] >> 20) == (239_554, 6_846)
    assert (big["fits_with_overhead_percent"], big["next_type"]) == (0.0488, "r5a.12xlarge")
    assert big["spot_price_per_hour"] is None
    assert big["on_demand_price_source"] == "built-in list, 2026-07-06"


def test_types_are_filtered_sorted_and_printed_as_csv(run: Run) -> None:
    rows = run.csv(*TRINO, "--filter", "$>2", "--sort-by", "od=dsc")
    assert [row["name"] for row in rows] == ["r5a.24xlarge", "r5a.16xlarge", "r5a.12xlarge"]


def test_the_ledger_as_json_and_csv(run: Run) -> None:
    assert run.json(*LEDGER)["daemonset_pods"] == 3
    rows = {row["step"]: row for row in run.csv(*LEDGER)}
    assert {(row["pool"], row["type"]) for row in rows.values()} == {("trino", "r5a.8xlarge")}
    memory = {step: int(row["memory_bytes"]) for step, row in rows.items()}
    assert memory["allocatable"] >> 20 == 239_554
    assert memory["short_by"] >> 20 == 6_846
    assert memory["advertised"] + memory["vm_overhead"] == memory["capacity"]
    taken = memory["kube_reserved"] + memory["eviction_threshold"]
    assert memory["capacity"] + taken == memory["allocatable"]
    assert memory["allocatable"] + memory["daemonsets"] == memory["largest_pod"]
    assert memory["pending_pod"] - memory["largest_pod"] == memory["short_by"]
    assert (rows["daemonsets"]["cpu_millis"], rows["daemonsets"]["pods"]) == ("-300", "-3")
    assert (rows["short_by"]["label"], rows["pending_pod"]["note"]) == ("short by", "trino/worker-0")
    bare = run(*LEDGER, "-o", "csv", "--no-headers").out
    assert bare == run(*LEDGER, "-o", "csv").out.partition("\n")[2]


def test_settings_and_prices_by_flag(run: Run) -> None:
    setting = ("--karpenter-setting", "VM_MEMORY_OVERHEAD_PERCENT=0.048")
    priced = run.json(*TRINO, *setting, "--price-multiplier", "0.5", "--node-surcharge", "1")
    big = next(item for item in priced if item["name"] == "r5a.8xlarge")
    assert big["is_left"]
    assert big["on_demand_price_per_hour"] == pytest.approx(1.904)
