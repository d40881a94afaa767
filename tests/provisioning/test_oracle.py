"""Comparison with Karpenter's own code, on seeded snapshots and on the user's.

Opt in with KARPTUI_ORACLE, the path of the program that runs Karpenter's code. Further settings:

    KARPTUI_ORACLE_SCENARIOS   number of scenarios (200)
    KARPTUI_ORACLE_CROSSES     number of crosses of scenarios (200)
    KARPTUI_ORACLE_ODDITIES    number of scenarios with oddities (200)
    KARPTUI_ORACLE_SEED        first seed (0)
    KARPTUI_ORACLE_VERSION     version of Karpenter that the program runs (1.14.1)
    KARPTUI_ORACLE_SNAPSHOTS   folders with further snapshots to compare

Counts are printed. Karpenter breaks ties at random and reports any one of several failing rules, so it runs again
before an answer counts as wrong. If our answer reports ties, they are also broken at random many times. If still no
answer matches, the snapshot is counted separately, and only the shape must match one of Karpenter's: the number of
pods by node and by NodePool's claims.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import pytest

from karptui.provisioning.solution import solve
from tests.builders.files import written
from tests.goldens_loading import load
from tests.provisioning.crossing import Stock, cross, stock
from tests.provisioning.differential import Karpenter, ask, thrown
from tests.provisioning.oddities import STEPS, odd
from tests.provisioning.scenarios import scenario

ORACLE = os.environ.get("KARPTUI_ORACLE", "")
VERSION = {"karpenterVersion": asked_version} if (asked_version := os.environ.get("KARPTUI_ORACLE_VERSION", "")) else {}
SEED = int(os.environ.get("KARPTUI_ORACLE_SEED", "0"))
FOLDERS = [Path(name) for name in os.environ.get("KARPTUI_ORACLE_SNAPSHOTS", "").split(os.pathsep) if name]
SEEDED = {
    kind: int(os.environ.get(f"KARPTUI_ORACLE_{kind.upper()}", "200")) for kind in ("scenarios", "crosses", "oddities")
}
BATCH = 50
CROSSED_SCENARIOS = 200
THROWS = 200
"""Maximum number of random tie-breaks to find an answer of Karpenter's."""

needs_oracle = pytest.mark.skipif(not ORACLE, reason="KARPTUI_ORACLE is not set")


class Tally:
    """Numbers of compared, refused and differing snapshots."""

    def __init__(self) -> None:
        self.total = self.refused = self.by_chance = 0
        self.differing: dict[str, str] = {}

    def compare(self, files: Iterable[Path]) -> None:
        batch = list(files)
        for file, theirs in zip(batch, ask(ORACLE, batch), strict=True):
            snapshot = json.loads(file.read_text())
            karpenter = Karpenter(ORACLE, file, theirs)
            self.total += 1
            self.refused += karpenter.refuses
            solution = solve(load(snapshot, file.parent))
            difference = karpenter.difference(solution.as_json())
            if not difference:
                continue
            if not solution.met_tie:
                self.differing[snapshot["name"]] = difference
            elif all(map(karpenter.difference, thrown(partial(solve, load(snapshot, file.parent)), THROWS))):
                self.by_chance += 1
                if not any(map(karpenter.has_shape, thrown(partial(solve, load(snapshot, file.parent)), THROWS))):
                    self.differing[snapshot["name"]] = "shape"

    def __str__(self) -> str:
        counts = f"{self.total:,} snapshots, {len(self.differing)} differ, {self.by_chance} left to chance"
        return f"\n{counts}, {self.refused} refused by Karpenter"


def assert_agree(files: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    tally = Tally()
    for begin in range(0, len(files), BATCH):
        tally.compare(files[begin : begin + BATCH])
    with capsys.disabled():
        print(tally)  # noqa: T201 - the run is for these counts
    assert tally.differing == {}


@pytest.mark.oracle
@needs_oracle
@pytest.mark.parametrize("kind", SEEDED)
def test_seeded_scenarios_match_karpenter(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    version = VERSION.get("karpenterVersion", "")
    source = crossed_stock(newer=version.startswith("1.15")) if kind == "crosses" else None
    files = []
    for seed in range(SEED, SEED + SEEDED[kind]):
        document = cross(str(seed), source, version=version) if source else scenario(seed) | VERSION
        if kind == "oddities":
            document = odd(str(seed), document, version=version)
        files.append(written(tmp_path / f"{seed}.json", document))
    assert_agree(files, capsys)


def crossed_stock(*, newer: bool) -> Stock:
    """Return scenarios of single rules, and seeded ones."""
    return Stock([*stock(newer=newer).scenarios, *map(scenario, range(CROSSED_SCENARIOS))])


@pytest.mark.oracle
@needs_oracle
@pytest.mark.parametrize("folder", FOLDERS, ids=str)
def test_snapshots_of_the_user_match_karpenter(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert_agree(sorted(folder.glob("*.json")), capsys)


def test_crosses_are_the_same_for_the_same_seed() -> None:
    source = Stock([scenario(seed) for seed in range(30)])
    crosses, again = ([cross(str(seed), source, version="1.15.0") for seed in range(3)] for _ in range(2))
    assert crosses == again


def test_every_oddity_changes_some_scenario_and_depends_only_on_the_seed() -> None:
    bases = [json.loads(json.dumps(scenario(seed))) for seed in range(12)]
    idle = [step.__name__ for step in STEPS if all(_is_untouched(base, odd("1", base, steps=[step])) for base in bases)]
    assert idle == []
    assert odd("1", bases[0], version="1.15.0") == odd("1", bases[0], version="1.15.0")


def _is_untouched(base: dict[str, object], document: dict[str, object]) -> bool:
    return document == {**base, "name": document["name"]}
