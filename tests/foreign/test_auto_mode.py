"""A cluster of EKS Auto Mode: what AWS documents of its types answers, and the rest is said to be approximated."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from karptui.cli.main import main
from tests.foreign.asked import asked, screens_saying
from tests.foreign.clusters import AUTO_MODE, snapshot

FALSE = re.compile(r"not Ready|types? seen|not known|UNKNOWN|EC2NodeClass|t3\.(nano|micro|small)")
"""What would be false, or is known."""


def cluster(*, asks: str = "") -> dict[str, Any]:
    document = snapshot(AUTO_MODE)
    for manifest in document["objects"]:
        if manifest["metadata"]["name"] == "asks":
            manifest["spec"]["nodeSelector"] = {AUTO_MODE.unseen_key: asks or "l4"}
    return document


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps(cluster()))
    return str(file)


def test_pods_are_placed_by_the_labels_that_aws_documents(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = {row["name"]: row for row in asked(capsys, path, "pending")}
    assert {name: row["turn"] for name, row in rows.items()} == {
        "default/fits": "existing node",
        "default/large": "new node",
        "default/asks": "new node",
    }
    assert [place["pool"] for place in rows["default/asks"]["places"]] == ["gpu"]


def test_a_value_that_no_type_has_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps(cluster(asks="unheard-of")))
    rows = {row["name"]: row["turn"] for row in asked(capsys, str(file), "pending")}
    assert rows["default/asks"] == "no place"


def test_a_node_costs_what_auto_mode_charges_beside(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    (node,) = asked(capsys, path, "nodes")
    assert node["price_per_hour"] == pytest.approx(0.192 * 1.12)
    rows = {row["name"]: row for row in asked(capsys, path, "types", "--pool", "general")}
    assert rows["m6i.large"]["on_demand_price_per_hour"] == pytest.approx(0.096 * 1.12)


def test_it_is_said_what_the_types_are_taken_from(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["pending", "--snapshot", path])
    err = capsys.readouterr().err
    assert err.count("as the EKS User Guide of November 2026 lists them; approximated:") == 1


async def test_no_screen_says_what_is_false(path: str) -> None:
    assert await screens_saying(FALSE, path) == {}
