"""Clusters of other providers and of EKS Auto Mode: everything that karptui cannot know is shown as unknown."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from karptui.cli.main import main
from tests.builders.files import written
from tests.foreign.asked import asked, matches_on_screens
from tests.foreign.clusters import AUTO_MODE, PROVIDERS, Provider, snapshot

COMMANDS = (
    *(["nodes"], ["pods"], ["claims"], ["pools"], ["types"], ["budgets"], ["pending"], ["blockers"], ["advice"]),
    *(["events"], ["churn"]),
    *(["explain", "pod", f"default/{name}"] for name in ("fits", "large", "asks")),
    *(["explain", "pool", "gpu"], ["explain", "node", "node-1"]),
)
FALSE = re.compile(
    r"no NodePool or existing node fits|would do nothing|✘ gpu: cpu|→ new |no cheaper|no spot is offered|PRICE"
)
"""Statements that need the provider's list of instance types and prices, which karptui does not have."""
FALSE_OF_AUTO_MODE = re.compile(r"not Ready|types? seen|not known|UNKNOWN|EC2NodeClass|t3\.(nano|micro|small)")
"""Statements that are false for EKS Auto Mode, or claim that something known is unknown."""


@pytest.fixture(params=PROVIDERS, ids=lambda provider: provider.name)
def provider(request: pytest.FixtureRequest) -> Provider:
    param: Provider = request.param
    return param


@pytest.fixture
def path(provider: Provider, tmp_path: Path) -> str:
    file = written(tmp_path / "cluster.json", snapshot(provider))
    return str(file)


@pytest.fixture
def unused(provider: Provider, tmp_path: Path) -> str:
    """Return the cluster without the pod that fits: Karpenter does not disrupt a node that a pod is nominated for."""
    cluster = snapshot(provider)
    cluster["objects"] = [manifest for manifest in cluster["objects"] if manifest["metadata"]["name"] != "fits"]
    file = written(tmp_path / "unused.json", cluster)
    return str(file)


def test_no_command_states_what_karptui_cannot_know(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    for command in COMMANDS:
        assert main([*command, "--snapshot", path]) in (0, 3), command
        assert not FALSE.search(capsys.readouterr().out), command


def test_a_pod_is_only_placed_on_an_existing_node(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert {row["name"]: row["turn"] for row in asked(capsys, path, "pending")} == {
        "default/fits": "existing node",
        "default/large": "not known",
        "default/asks": "not known",
    }


def test_a_node_whose_removal_depends_on_prices_is_unknown(
    path: str, unused: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [node["why"] for node in asked(capsys, path, "nodes")] == ["NOMINATED"]
    (node,) = asked(capsys, unused, "nodes")
    assert node["why"] == "UNKNOWN"
    assert node["price_per_hour"] is None
    assert main(["next", "--snapshot", unused]) in (0, 3)
    assert not FALSE.search(capsys.readouterr().out)


def test_the_types_are_those_of_existing_nodes(
    provider: Provider, path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rows: list[Mapping[str, Any]] = asked(capsys, path, "types")
    assert {row["note"] for row in rows} == {"only types that nodes show: 1 type seen"}
    assert {row["cheapest"] for row in rows} == {None}
    main(["pending", "--snapshot", path])
    err = capsys.readouterr().err
    assert (
        f"the instance types and prices of {provider.kind} are not known: 1 type seen on 1 node is used instead" in err
    )


def test_node_repair_does_not_use_the_policies_of_the_aws_provider(
    provider: Provider, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = snapshot(provider)
    cluster |= {"karpenterVersion": "1.15.0", "settings": {"FEATURE_GATES": "NodeRepair=true"}}
    node = next(manifest for manifest in cluster["objects"] if manifest["kind"] == "Node")
    sick = {"type": "Ready", "status": "False", "reason": "x", "lastTransitionTime": "2026-11-20T08:00:00Z"}
    node["status"]["conditions"] = [sick]
    path = written(tmp_path / "cluster.json", cluster)
    assert main(["simulate", "-o", "json", str(path)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [item["commands"] for item in document["disruption"] if item["name"] == "Repair"] == [[]]
    text = f"the repair policies of {provider.group} are unknown, so no node counts as unhealthy"
    assert text in document["notModelled"]


@pytest.mark.parametrize("provider", PROVIDERS[:1], indirect=True, ids=lambda provider: provider.name)
async def test_no_screen_states_what_karptui_cannot_know(path: str) -> None:
    assert await matches_on_screens(FALSE, path) == {}


def cluster(*, asks: str = "") -> dict[str, Any]:
    document = snapshot(AUTO_MODE)
    for manifest in document["objects"]:
        if manifest["metadata"]["name"] == "asks":
            manifest["spec"]["nodeSelector"] = {AUTO_MODE.unseen_key: asks or "l4"}
    return document


@pytest.fixture
def auto_mode_path(tmp_path: Path) -> str:
    file = written(tmp_path / "cluster.json", cluster())
    return str(file)


def test_auto_mode_pods_are_placed_by_the_documented_labels(
    auto_mode_path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = {row["name"]: row for row in asked(capsys, auto_mode_path, "pending")}
    assert {name: row["turn"] for name, row in rows.items()} == {
        "default/fits": "existing node",
        "default/large": "new node",
        "default/asks": "new node",
    }
    assert [place["pool"] for place in rows["default/asks"]["places"]] == ["gpu"]


def test_an_auto_mode_pod_with_an_unknown_label_value_is_unschedulable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path / "cluster.json", cluster(asks="unheard-of"))
    rows = {row["name"]: row["turn"] for row in asked(capsys, str(file), "pending")}
    assert rows["default/asks"] == "no place"


def test_prices_include_the_auto_mode_surcharge(auto_mode_path: str, capsys: pytest.CaptureFixture[str]) -> None:
    (node,) = asked(capsys, auto_mode_path, "nodes")
    assert node["price_per_hour"] == pytest.approx(0.192 * 1.12)
    rows = {row["name"]: row for row in asked(capsys, auto_mode_path, "types", "--pool", "general")}
    assert rows["m6i.large"]["on_demand_price_per_hour"] == pytest.approx(0.096 * 1.12)


def test_the_source_of_the_auto_mode_types_is_named(auto_mode_path: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["pending", "--snapshot", auto_mode_path])
    err = capsys.readouterr().err
    assert err.count("as the EKS User Guide of November 2026 lists them; approximated:") == 1


async def test_no_screen_states_something_false_about_auto_mode(auto_mode_path: str) -> None:
    assert await matches_on_screens(FALSE_OF_AUTO_MODE, auto_mode_path) == {}
