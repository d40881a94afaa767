from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from karptui.cli.main import main
from karptui.provisioning.solution import solve
from tests.goldens_loading import GOLDENS, load, scenarios
from tests.provisioning.differential import decision, words

FAMILIES = sorted(path.name.removesuffix(".jsonl.gz") for path in (GOLDENS / "karpenter-1.14.1").glob("*.jsonl.gz"))
ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "model-provisioning.md"
CASES = re.findall(r"```console\n\$ karptui ([^\n]+)\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)


def differs(scenario: dict[str, Any], folder: Path) -> str:
    """Return how our answer differs from all of Karpenter's, or an empty string."""
    ours = solve(load(scenario["snapshot"], folder)).as_json()
    theirs = [item["provisioning"] for item in (scenario["expected"], *scenario.get("alternatives", ()))]
    same = [their for their in theirs if decision(their) == decision(ours)]
    if not same:
        return "decision"
    return "" if any(words(item) == words(ours) for item in same) else "words"


def rules() -> Iterator[Any]:
    """Yield each scenario as undecoded JSON, which takes a tenth of the memory."""
    for path in (
        GOLDENS / "rules" / "rules-provisioning.jsonl.gz",
        GOLDENS / "rules" / "rules-provisioning-pv.jsonl.gz",
        *sorted((GOLDENS / "k115").glob("*.jsonl.gz")),
    ):
        for line in gzip.decompress(path.read_bytes()).splitlines():
            scenario = json.loads(line)
            yield pytest.param(line, id=f"{scenario['snapshot']['name']}: {scenario['rule'][:80]}")


@pytest.mark.parametrize("line", rules())
def test_scenario_of_a_rule_matches_karpenter(line: bytes) -> None:
    scenario = json.loads(line)
    assert differs(scenario, GOLDENS / "rules") == "", scenario["rule"]


def differing(path: Path) -> dict[str, str]:
    return {
        scenario["snapshot"]["name"]: difference
        for scenario in scenarios(path)
        if (difference := differs(scenario, path.parent))
    }


@pytest.mark.parametrize("family", FAMILIES)
def test_scenarios_of_a_family_match_karpenter(family: str) -> None:
    assert differing(GOLDENS / "karpenter-1.14.1" / f"{family}.jsonl.gz") == {}


@pytest.mark.parametrize("name", [
    pytest.param("k115-by-1.14.1", id="1.14 has no limits of volumes by type, reboots or default spread"),
    pytest.param("found-1.15.0/volumes-and-costs", id="static, unready and deleted NodePools give no volume limits"),
    pytest.param("kinds", id="seeded scenarios of every kind"),
])  # fmt: skip
def test_further_scenarios_match_karpenter(name: str) -> None:
    assert differing(GOLDENS / f"{name}.jsonl.gz") == {}


def test_every_case_of_the_docs_is_shown() -> None:
    assert len(CASES) == 6
    used = {Path(words.split()[-1]).name for words, _ in CASES}
    assert used == {path.name for path in (ROOT / "docs" / "cases").iterdir()}


@pytest.mark.parametrize(("words", "output"), CASES, ids=lambda text: text.split("\n")[0][:40])
def test_the_page_shows_what_the_command_prints(
    words: str, output: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(words.split()) == 0
    assert capsys.readouterr().out == output
