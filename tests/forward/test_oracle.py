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

import pytest

from karptui.disruption.command import Method
from karptui.disruption.json_form import method_json
from karptui.disruption.methods import NextPass
from karptui.forward.durations import INSTANT
from karptui.forward.play import Play
from tests.disruption.fleet_generator import FleetGenerator
from tests.disruption.parity import decisions
from tests.forward.manifests import Writer
from tests.provisioning.loading import load

ORACLE = os.environ.get("KARPTUI_ORACLE", "")
VERSION = os.environ.get("KARPTUI_ORACLE_VERSION", "")
RUNS = 60
HORIZON_NS = 6 * 3600 * 10**9
MOST_LOOKS = 40
COSTS = "deletionCosts"

pytestmark = [pytest.mark.oracle, pytest.mark.skipif(not ORACLE, reason="KARPTUI_ORACLE is not set")]


class Watched(Play):
    """A play that writes down every moment at which disruption looks, with what it finds."""

    def watch(self, name: str, writer: Writer, folder: Path) -> dict[str, dict[str, Any]]:
        self._name, self._writer, self._folder = name, writer, folder
        self._looks: dict[str, dict[str, Any]] = {}
        self.run()
        return self._looks

    def _pass(self, after: Method | None = None) -> NextPass:
        found = super()._pass(after)
        if len(self._looks) < MOST_LOOKS:
            name = f"{self._name}-{len(self._looks)}"
            document = self._writer.write(name, self.world, self.now_ns)
            (self._folder / f"{name}.json").write_text(json.dumps(document))
            self._looks[name] = {"disruption": [method_json(result) for result in found.results]}
        return found


def test_every_step_of_a_play_is_what_karpenter_decides_on_the_same_state(tmp_path: Path) -> None:
    seed = os.environ.get("KARPTUI_ORACLE_SEED", "1")
    ours: dict[str, dict[str, Any]] = {}
    for number in range(int(os.environ.get("KARPTUI_ORACLE_FLEETS", "200"))):
        name = f"play-{seed}-{number}"
        snapshot = FleetGenerator(name, VERSION).snapshot(name)
        prepared = load(snapshot)
        play = Watched(
            prepared.inventory,
            prepared.given_types,
            prepared.settings,
            prepared.now_ns,
            until_ns=prepared.now_ns + HORIZON_NS,
            durations=INSTANT,
            most_commands=MOST_LOOKS,
        )
        ours |= play.watch(name, Writer(snapshot, prepared.inventory), tmp_path)
    assert ours
    seen: dict[str, list[dict[str, str]]] = {name: [] for name in ours}
    differing = list(ours)
    for _ in range(RUNS):
        for name, theirs in asked([tmp_path / f"{name}.json" for name in differing]):
            seen[name].append(theirs)
        differing = [name for name in differing if not is_right(ours[name], seen[name])]
        if not differing:
            break
    acting = sum(1 for one in ours.values() if one["disruption"] and one["disruption"][-1]["commands"])
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
    own = decisions(ours)
    return not seen or all(
        any(own[name] == one[name] for one in seen) for name in own.keys() & seen[0].keys() - {COSTS}
    )
