"""Every step of plays, asked of Karpenter's own code too: opt in with KARPTUI_ORACLE=/path/to/the/oracle.

KARPTUI_ORACLE_FLEETS says how many (200), KARPTUI_ORACLE_SEED where they begin, KARPTUI_ORACLE_VERSION which version
the oracle is (1.14.1). Karpenter breaks ties by chance, so it is asked again where it differs.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from karptui.disruption.command import Method
from karptui.disruption.json_form import method_json
from karptui.disruption.methods import NextPass
from karptui.forward.durations import INSTANT
from karptui.forward.play import Play
from tests.disruption.fleet_generator import FleetGenerator
from tests.disruption.parity import decisions
from tests.forward.manifests import Writer
from tests.goldens_loading import load

ORACLE = os.environ.get("KARPTUI_ORACLE", "")
VERSION = os.environ.get("KARPTUI_ORACLE_VERSION", "")
RUNS = 60
HORIZON_NS = 6 * 3600 * 10**9
MOST_LOOKS = 40
COSTS = "deletionCosts"

pytestmark = [pytest.mark.oracle, pytest.mark.skipif(not ORACLE, reason="KARPTUI_ORACLE is not set")]


def watched(play: Play, name: str, writer: Writer, folder: Path) -> dict[str, dict[str, Any]]:
    """Play, write down every moment at which disruption looks, and return what it finds."""
    looks: dict[str, dict[str, Any]] = {}
    find = play.disruption.find

    def noted(after: Method | None = None) -> NextPass:
        next_pass = find(after)
        if len(looks) < MOST_LOOKS:
            look = f"{name}-{len(looks)}"
            (folder / f"{look}.json").write_text(json.dumps(writer.write(look, play.world, play.now_ns)))
            looks[look] = {"disruption": [method_json(result) for result in next_pass.results]}
        return next_pass

    with patch.object(play.disruption, "find", noted):
        play.run()
    return looks


def test_every_step_of_a_play_is_what_karpenter_decides_on_the_same_state(tmp_path: Path) -> None:
    seed = os.environ.get("KARPTUI_ORACLE_SEED", "1")
    ours: dict[str, dict[str, Any]] = {}
    for number in range(int(os.environ.get("KARPTUI_ORACLE_FLEETS", "200"))):
        name = f"play-{seed}-{number}"
        snapshot = FleetGenerator(name, VERSION).snapshot(name)
        prepared = load(snapshot)
        play = Play(prepared.inventory, prepared.given_types, prepared.settings, prepared.now_ns,
                    until_ns=prepared.now_ns + HORIZON_NS, durations=INSTANT, most_commands=MOST_LOOKS)  # fmt: skip
        ours |= watched(play, name, Writer(snapshot, prepared.inventory), tmp_path)
    assert ours
    seen: dict[str, list[dict[str, str]]] = {name: [] for name in ours}
    differing = list(ours)
    for _ in range(RUNS):
        for name, theirs in asked([tmp_path / f"{name}.json" for name in differing]):
            seen[name].append(theirs)
        differing = [name for name in differing if not is_right(ours[name], seen[name])]
        if not differing:
            break
    acting = sum(1 for our in ours.values() if our["disruption"] and our["disruption"][-1]["commands"])
    assert differing == [], f"of {len(ours)} looks, {acting} of them with a command"


def asked(paths: list[Path]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield Karpenter's answers to snapshots; those that it refuses are left out."""
    for start in range(0, len(paths), 50):
        batch = [str(path) for path in paths[start : start + 50]]
        lines = subprocess.run([ORACLE, *batch], check=True, capture_output=True, text=True).stdout.splitlines()
        for line in lines:
            document = json.loads(line)
            if not document.get("error"):
                yield document["name"], decisions(document)


def is_right(ours: Mapping[str, Any], seen: list[dict[str, str]]) -> bool:
    """Whether each method that both ask answers as Karpenter did at least once; a refusal asks nothing."""
    texts = decisions(ours)
    return not seen or all(
        any(texts[name] == item[name] for item in seen) for name in texts.keys() & seen[0].keys() - {COSTS}
    )
