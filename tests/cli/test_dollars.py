"""`karptui capacity --by namespace|owner|label=KEY`, and the configured price multiplier and node surcharge."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from karptui.cli.main import main
from karptui.paths import history_file
from tests.builders.files import written
from tests.cli.conftest import Run
from tests.cli.files import kubeconfig
from tests.histories import BEGIN_NS, demo_history, record_demo
from tests.whatif.snapshots import FOLDER, documents

MINUTE_NS = 60_000_000_000
MONEY = ("price", "cost", "saves_per_hour", "savings", "held_per_hour", "most_per_hour", "mostperhour")
COUNTS = ("unpriced", "nodes_without_price")
WAITING = str(Path(__file__).resolve().parent.parent / "data" / "stories-c-d.json")
"""A snapshot with pods for which Karpenter launches nodes."""
MULTIPLIER, SURCHARGE = 0.5, 0.125


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record four minutes of the demo, and two more after a pause of six."""
    path = demo_history(tmp_path_factory, 240)
    record_demo(path, 120, begin_ns=BEGIN_NS + 10 * MINUTE_NS)
    return path


@pytest.mark.parametrize("by", ["namespace", "owner", "label=app"])
def test_the_rows_sum_to_the_cost_of_the_capacity(by: str, history: Path, run: Run) -> None:
    args = ("capacity", "--snapshot", str(history), "--at", "14:03")
    whole = sum(row["price_per_hour"] or 0.0 for row in run.json(*args))
    rows = run.json(*args, "--by", by)
    assert sum(row["price_per_hour"] for row in rows) == pytest.approx(whole)
    assert [row["part"] for row in rows[-2:]] == ["daemonsets", "idle"]
    assert sum(row["percent"] for row in rows) == pytest.approx(100)


def test_a_recorded_period_is_averaged_and_its_gaps_are_reported(history: Path, run: Run) -> None:
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


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a recording with priced instance types and nodes that Karpenter would replace."""
    document = next(documents("consolidation"))
    folder = tmp_path_factory.mktemp("recording")
    types = folder / f"{document['catalog']}.gz"
    types.parent.mkdir(parents=True, exist_ok=True)
    types.write_bytes((FOLDER / types.relative_to(folder)).read_bytes())
    return str(written(folder / "recording.json", document))


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    return str(written(tmp_path / "scenario.yaml", "name: nothing\nreplay: scratch\n"))


def dollars(value: object, path: str = "") -> Iterator[tuple[str, float]]:
    """Yield each amount of a JSON document with its path."""
    if isinstance(value, dict):
        for key, result in value.items():
            yield from dollars(result, f"{path}.{key}")
    elif isinstance(value, list):
        for index, result in enumerate(value):
            yield from dollars(result, f"{path}[{index}]")
    elif isinstance(value, float | int) and value and not isinstance(value, bool):
        name = path.rpartition(".")[2].lower()
        if any(word in name for word in MONEY) and name not in COUNTS:
            yield path, float(value)


def configured(text: str) -> None:
    path = Path(os.environ["KARPTUI_CONFIG"])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    main([*words, "-o", "json"])
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("words", [
    "nodes --demo --simulate", "pools --demo", "types --demo --pool general", "advice --demo",
    "sweep --demo --set VM_MEMORY_OVERHEAD_PERCENT=0.07 --jobs 1", "next --snapshot SNAPSHOT",
    "blockers SNAPSHOT --no-simulation", "pending --snapshot WAITING", "explain pod trino/worker-0 --snapshot STORY",
    "explain node node-000 --snapshot SNAPSHOT", "simulate SNAPSHOT --scenario SCENARIO --replay next",
])  # fmt: skip
def test_a_multiplier_below_one_lowers_every_price(
    words: str, snapshot: str, story: str, scenario: str, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"SNAPSHOT": snapshot, "STORY": story, "WAITING": WAITING, "SCENARIO": scenario}
    asked = [files.get(word, word) for word in words.split()]
    listed = dict(dollars(answer(capsys, *asked)))
    configured(f"price_multiplier = {MULTIPLIER}")
    paid = dict(dollars(answer(capsys, *asked)))
    assert listed
    assert paid == pytest.approx({path: amount * MULTIPLIER for path, amount in listed.items()}, abs=1e-5)


def test_a_surcharge_is_added_for_every_node(snapshot: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("next", "--snapshot", snapshot)
    listed = answer(capsys, *asked)
    configured(f"node_surcharge_per_hour = {SURCHARGE}")
    paid = answer(capsys, *asked)
    assert listed["next"]["commands"]
    for old, new in zip(listed["next"]["commands"], paid["next"]["commands"], strict=True):
        fewer = len(old["nodes"]) - len(old["replacements"])
        assert new["savings_per_hour"] == pytest.approx(old["savings_per_hour"] + fewer * SURCHARGE)
        for before, after in zip(old["replacements"], new["replacements"], strict=True):
            assert after["price_per_hour"] == pytest.approx(before["price_per_hour"] + SURCHARGE)


@pytest.mark.parametrize("words", ["blockers --demo --no-simulation", "next --demo", "pending --demo", "advice --demo"])
def test_without_pricing_nothing_has_a_price(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert list(dollars(answer(capsys, *words.split(), "--disable-pricing"))) == []


def test_multiplier_and_surcharge_do_not_change_decisions(snapshot: str, capsys: pytest.CaptureFixture[str]) -> None:
    listed = answer(capsys, "simulate", snapshot, "--disruption")
    configured(f"price_multiplier = {MULTIPLIER}\nnode_surcharge_per_hour = {SURCHARGE}")
    assert answer(capsys, "simulate", snapshot, "--disruption") == listed


def test_flags_override_the_configuration(snapshot: str, scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("simulate", snapshot, "--scenario", scenario)
    listed = answer(capsys, *asked)["before"]["pricePerHour"]
    configured("price_multiplier = 3")
    assert answer(capsys, *asked, "--price-multiplier", "2")["before"]["pricePerHour"] == pytest.approx(2 * listed)
