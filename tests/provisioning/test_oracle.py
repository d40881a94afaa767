"""Seeded comparison with Karpenter's own code.

Opt in with KARPTUI_ORACLE=/path/to/the/oracle; KARPTUI_ORACLE_SEED and KARPTUI_ORACLE_COUNT choose other scenarios
and more of them. Karpenter breaks ties at random and reports any one of several failing rules, so it is asked again
before an answer counts as wrong; where ours says that chance had a part, an answer that Karpenter has not given in all
that time is not counted.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.provisioning.differential import ask, difference
from tests.provisioning.loading import load
from tests.provisioning.scenarios import scenario

ORACLE = os.environ.get("KARPTUI_ORACLE", "")
SEED, COUNT = int(os.environ.get("KARPTUI_ORACLE_SEED", "0")), int(os.environ.get("KARPTUI_ORACLE_COUNT", "200"))
BATCH = 50

pytestmark = [pytest.mark.oracle, pytest.mark.skipif(not ORACLE, reason="KARPTUI_ORACLE is not set")]


def test_decides_as_karpenter_does(tmp_path: Path) -> None:
    found = {}
    for begin in range(SEED, SEED + COUNT, BATCH):
        files = {}
        for seed in range(begin, min(begin + BATCH, SEED + COUNT)):
            snapshot = scenario(seed)
            files[snapshot["name"]] = tmp_path / f"{seed}.json"
            files[snapshot["name"]].write_text(json.dumps(snapshot))
        for name, theirs in ask(ORACLE, list(files.values())).items():
            solution = load(json.loads(files[name].read_text())).solve()
            differs = difference(ORACLE, files[name], solution.as_json(), theirs)
            if differs and not solution.met_tie:
                found[name] = differs
    assert found == {}
