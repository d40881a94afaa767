"""`karptui types` over a cluster."""

from __future__ import annotations

import csv
import io
import json

import pytest

from karptui.cli.main import main
from tests.stories import STORIES


def run(*arguments: str) -> int:
    return main(["types", "--snapshot", str(STORIES), *arguments])


def test_all_pools(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-o", "json") == 0
    pools = {pool["name"]: pool for pool in json.loads(capsys.readouterr().out)}
    assert {name: pool["left"] for name, pool in pools.items()}.items() >= {("flex", 0), ("small", 12), ("trino", 3)}
    assert "* is not a wildcard" in pools["flex"]["findings"][0]


def test_the_types_of_a_pool(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--pool", "trino", "-o", "json") == 0
    types = {item["name"]: item for item in json.loads(capsys.readouterr().out)}
    big = types["r5a.8xlarge"]
    assert (big["mem_allocatable_bytes"] >> 20, big["pending_pod_short_mem_bytes"] >> 20) == (239_554, 6_846)
    assert (big["fits_with_overhead_percent"], big["next_type"]) == (0.0488, "r5a.12xlarge")
    assert big["spot_price_per_hour"] is None
    assert big["on_demand_price_source"] == "built-in list, 2026-07-06"


def test_filter_order_and_form(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--pool", "trino", "-o", "csv", "--filter", "$>2", "--sort-by", "od=dsc") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["name"] for row in rows] == ["r5a.24xlarge", "r5a.16xlarge", "r5a.12xlarge"]


def test_the_ledger_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--pool", "trino", "--ledger", "r5a.8xlarge", "-o", "json") == 0
    assert json.loads(capsys.readouterr().out)["daemonset_pods"] == 3


def test_the_ledger_as_csv(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--pool", "trino", "--ledger", "r5a.8xlarge", "-o", "csv") == 0
    text = capsys.readouterr().out
    rows = {row["step"]: row for row in csv.DictReader(io.StringIO(text))}
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
    assert run("--pool", "trino", "--ledger", "r5a.8xlarge", "-o", "csv", "--no-headers") == 0
    assert capsys.readouterr().out == text.partition("\n")[2]


def test_settings_and_prices_by_flag(capsys: pytest.CaptureFixture[str]) -> None:
    flags = (
        "--karpenter-setting",
        "VM_MEMORY_OVERHEAD_PERCENT=0.048",
        "--price-multiplier",
        "0.5",
        "--node-surcharge",
        "1",
    )
    assert run("--pool", "trino", "-o", "json", *flags) == 0
    big = next(item for item in json.loads(capsys.readouterr().out) if item["name"] == "r5a.8xlarge")
    assert big["is_left"]
    assert big["on_demand_price_per_hour"] == pytest.approx(1.904)
