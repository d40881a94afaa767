"""`karptui capacity --by namespace|owner|label=KEY`: sums, history, and what does not go together."""

from __future__ import annotations

from pathlib import Path

import pytest

from karptui.paths import history_file
from tests.cli.conftest import Run
from tests.cli.files import kubeconfig
from tests.histories import BEGIN_NS, record_demo

MINUTE_NS = 60_000_000_000


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return four minutes of the demo, and two more after a pause of six."""
    path = tmp_path_factory.mktemp("history") / "demo.karptui"
    record_demo(path, 240)
    record_demo(path, 120, begin_ns=BEGIN_NS + 10 * MINUTE_NS)
    return path


@pytest.mark.parametrize("by", ["namespace", "owner", "label=app"])
def test_the_rows_add_up_to_the_capacity(by: str, history: Path, run: Run) -> None:
    args = ("capacity", "--snapshot", str(history), "--at", "14:03")
    whole = sum(row["price_per_hour"] or 0.0 for row in run.json(*args))
    rows = run.json(*args, "--by", by)
    assert sum(row["price_per_hour"] for row in rows) == pytest.approx(whole)
    assert [row["part"] for row in rows[-2:]] == ["daemonsets", "idle"]
    assert sum(row["percent"] for row in rows) == pytest.approx(100)


def test_a_recorded_time_is_averaged_and_its_pause_counted(history: Path, run: Run) -> None:
    args = ["capacity", "--snapshot", str(history), "--by", "namespace", "--from", "14:00", "--to", "14:12"]
    rows = run.json(*args, "--step", "2m")
    assert {len(row["moments"]) for row in rows} == {3}
    assert all(
        row["price_per_hour"] == pytest.approx(sum(moment["price_per_hour"] for moment in row["moments"]) / 3)
        for row in rows
    )
    assert "3 of 6 moments recorded" in run(*args, "--step", "2m").out
    moment = run.json("capacity", "--snapshot", str(history), "--by", "namespace", "--at", "14:02")
    at = {row["name"]: row["moments"][1]["price_per_hour"] for row in rows if row["part"] == "pods"}
    assert {row["name"]: row["price_per_hour"] for row in moment if row["part"] == "pods"} == pytest.approx(at)


def test_the_history_of_a_context_is_read_without_a_connection(tmp_path: Path, run: Run) -> None:
    server = "http://127.0.0.1:9"
    flags = ["--kubeconfig", kubeconfig(tmp_path, server), "--context", "test", "--from", "-2m", "--step", "1m"]
    command = ("capacity", "--by", "namespace")
    assert "this machine has no history of it" in run(*command, *flags, status=2).err
    record_demo(history_file("test", server), 120, cluster="test")
    output, error = run(*command, *flags)
    assert output
    assert "refuses connections" not in error
