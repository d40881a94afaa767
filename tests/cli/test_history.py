"""`karptui history` over a recorded demo: samples, counts, gaps and refused launches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from karptui.kube.timestamps import NS_PER_SECOND
from karptui.sources.history.store import Mark, Sample
from karptui.sources.history.writer import HistoryWriter
from tests.cli.conftest import Run
from tests.histories import BEGIN_NS, demo_history, record_demo

MINUTE_NS = 60 * NS_PER_SECOND
AGAIN_NS = BEGIN_NS + 20 * MINUTE_NS
"""Start of the second recording, ten minutes after the end of the first."""
OFFERING = "g5.2xlarge/us-east-1a/on-demand"


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record ten minutes of the demo, pause for ten minutes, and record three more."""
    path = demo_history(tmp_path_factory, 600)
    record_demo(path, 180, begin_ns=AGAIN_NS)
    minutes = [*range(1, 11), 21, 22, 23]
    writer = HistoryWriter(path, "demo")
    writer.write_samples(sample for minute in minutes for sample in samples(minute))
    writer.write_marks(
        Mark(at_ns=BEGIN_NS + 90 * NS_PER_SECOND, cause="launch-refused", name=OFFERING, pool="gpu") for _ in range(2)
    )
    writer.close()
    return path


def samples(minute: int) -> tuple[Sample, ...]:
    at_ns = BEGIN_NS + minute * MINUTE_NS
    general = Sample(
        at_ns=at_ns,
        pool="general",
        nodes=10 + minute,
        pods=50,
        price_per_hour=1.5,
        held_per_hour=0.5,
        cpu_requested_millis=600,
        cpu_allocatable_millis=1000,
    )
    return Sample(at_ns=at_ns, nodes=2, price_per_hour=0.5, held_per_hour=0.0, pending_pods=minute), general


def rows(run: Run, history: Path, *words: str) -> list[dict[str, Any]]:
    document: list[dict[str, Any]] = run.json("history", "--snapshot", str(history), *words)
    return document


def test_samples_of_a_step_are_averaged_over_all_nodepools(run: Run, history: Path) -> None:
    first, second, *_ = rows(run, history, "--from", "14:00", "--to", "14:10", "--step", "5m")
    assert (first["from"][:16], first["to"][:16]) == ("2026-11-28T14:00", "2026-11-28T14:05")
    assert second["nodes"] - first["nodes"] == 5
    assert (first["pricePerHour"], first["heldPerHour"], first["pool"]) == (2.0, 0.5, None)
    assert first["cpuRequestedPercent"] == 60.0
    assert first["memoryUsedPercent"] is None
    assert first["pendingPods"] < second["pendingPods"]
    assert (first["refusedLaunches"], first["refused"]) == (2, [{"name": OFFERING, "count": 2}])
    assert (second["refusedLaunches"], second["refused"]) == (0, [])


def test_launches_and_removals_of_the_demo_are_counted_by_reason(run: Run, history: Path) -> None:
    (whole,) = rows(run, history, "--from", "14:00", "--to", "14:10", "--step", "10m")
    assert whole["launches"] > 0
    assert {"name": "Underutilized", "count": whole["removedNodes"]} in whole["removals"]
    assert whole["evictions"] > 0
    by_minute = rows(run, history, "--from", "14:00", "--to", "14:10", "--step", "1m")
    for name in ("launches", "removedNodes", "evictions", "refusedLaunches"):
        assert sum(row[name] for row in by_minute) == whole[name], name


def test_a_pause_is_a_gap_instead_of_zeros(run: Run, history: Path) -> None:
    result = rows(run, history, "--from", "14:00", "--step", "5m")
    pause = next(row for row in result if row["from"].startswith("2026-11-28T14:15"))
    assert (pause["isRecorded"], pause["nodes"], pause["pricePerHour"]) == (False, None, None)
    assert (pause["launches"], pause["removedNodes"], pause["evictions"], pause["savedPerHour"]) == (None,) * 4
    assert [row["isRecorded"] for row in result].count(True) >= 3
    out = run("history", "--snapshot", str(history), "--from", "14:00", "--step", "5m").out
    line = next(line for line in out.splitlines() if "14:15" in line)
    assert set(line.split()[2:]) == {"n/a"}


def test_pools_adds_a_row_for_each_nodepool(run: Run, history: Path) -> None:
    result = rows(run, history, "--from", "14:00", "--to", "14:10", "--step", "10m", "--pools")
    assert result[0]["pool"] is None
    general = next(row for row in result if row["pool"] == "general")
    assert general["pendingPods"] is None
    assert general["nodes"] < result[0]["nodes"]
    assert sum(row["launches"] for row in result[1:]) == result[0]["launches"]
    (alone,) = rows(run, history, "--from", "14:00", "--to", "14:10", "--step", "10m", "--pool", "general")
    assert alone == general


def test_charts_and_sums_are_above_a_table_of_at_most_24_rows(run: Run, history: Path) -> None:
    out = run("history", "--snapshot", str(history)).out
    above, _, table = out.partition("\n\n")
    assert above.splitlines()[0].startswith("nodes  ")
    assert "13 to 35, last 35" in above
    assert f"2 refused launches: {OFFERING} (2)" in above
    assert "consolidation saved $" in above
    assert len(table.splitlines()) - 1 <= 24


def test_csv_has_reasons_as_text(run: Run, history: Path) -> None:
    (row,) = run.csv("history", "--snapshot", str(history), "--to", "14:10", "--step", "10m")
    assert row["removals"] == f"Underutilized={row['removedNodes']}"
    assert row["refused"] == f"{OFFERING}=2"
