"""The multiplier and the surcharge of the configuration: every command that tells dollars follows them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from karptui.cli.main import main
from tests.builders.files import written
from tests.whatif.snapshots import FOLDER, documents

MONEY = ("price", "cost", "saves_per_hour", "savings", "held_per_hour", "most_per_hour", "mostperhour")
COUNTS = ("unpriced", "nodes_without_price")
WAITING = str(Path(__file__).resolve().parent.parent / "data" / "stories-c-d.json")
"""A snapshot with pods that get nodes."""
MULTIPLIER, SURCHARGE = 0.5, 0.125


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a recording whose instance types have prices, and of which Karpenter would replace nodes."""
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
    """Yield the amounts of an answer by where they stand."""
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
def test_a_discount_is_taken_off_every_price(
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


def test_what_karpenter_decides_by_stays_as_it_is(snapshot: str, capsys: pytest.CaptureFixture[str]) -> None:
    listed = answer(capsys, "simulate", snapshot, "--disruption")
    configured(f"price_multiplier = {MULTIPLIER}\nnode_surcharge_per_hour = {SURCHARGE}")
    assert answer(capsys, "simulate", snapshot, "--disruption") == listed


def test_flags_count_before_the_configuration(snapshot: str, scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("simulate", snapshot, "--scenario", scenario)
    listed = answer(capsys, *asked)["before"]["pricePerHour"]
    configured("price_multiplier = 3")
    assert answer(capsys, *asked, "--price-multiplier", "2")["before"]["pricePerHour"] == pytest.approx(2 * listed)
