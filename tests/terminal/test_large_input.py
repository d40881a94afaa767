"""Commands given large input show that they work, and end at once on ctrl-c."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from karptui.clock import FrozenClock
from karptui.sources.source import Mailbox
from tests.builders import NOW_NS
from tests.still_demo import StillDemo
from tests.terminal.program import karptui

POOL = "general"


def many_nodepools(folder: Path, pool: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**pool, "metadata": {**pool["metadata"], "name": f"p{number}"}} for number in range(3_000)]


def many_values(folder: Path, pool: dict[str, Any]) -> list[dict[str, Any]]:
    changed = copy.deepcopy(pool)
    values = [f"x{number}.large" for number in range(100_000)]
    requirement = {"key": "node.kubernetes.io/instance-type", "operator": "NotIn", "values": values}
    changed["spec"]["template"]["spec"]["requirements"].append(requirement)
    return [changed]


def many_edits(folder: Path, pool: dict[str, Any]) -> list[dict[str, Any]]:
    path = "spec.template.metadata.labels.l"
    edits = [{"edit": "set", "object": f"NodePool/{POOL}", "path": f"{path}{number}"} for number in range(20_000)]
    (folder / "edits.json").write_text(json.dumps({"edits": [{**edit, "value": "x"} for edit in edits]}))
    return []


@pytest.mark.parametrize(("given", "words"), [
    (many_nodepools, ["pools"]),
    (many_values, ["policies", "--horizon", "24h"]),
    (many_edits, ["simulate", "--scenario", "edits.json"]),
])  # fmt: skip
def test_large_input_shows_progress_and_can_be_cancelled(
    given: Callable[[Path, dict[str, Any]], list[dict[str, Any]]],
    words: list[str],
    tmp_path: Path,
    environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    demo = StillDemo(FrozenClock(NOW_NS))
    demo.start(Mailbox())
    objects = {
        (item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"]): item for item in demo.manifests()
    }
    for document in given(tmp_path, objects["NodePool", None, POOL]):
        objects["NodePool", None, document["metadata"]["name"]] = document
    Path("large.json").write_text(json.dumps({"kind": "List", "items": list(objects.values())}))
    with karptui(*words, "--snapshot", "large.json", environment=environment) as program:
        program.wait("progress", lambda view: re.search(r"working for \d+ s; ctrl-c cancels|: \d+ %", view.text))
        program.press("ctrl+c")
        assert program.has_ended(seconds=10)
        assert program.report("exited") == "exited 130"
        assert "Traceback" not in program.view.text
