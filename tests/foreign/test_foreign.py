"""Clusters of other providers and of EKS Auto Mode: what is not known is said to be, everywhere."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from karptui.cli.main import main
from tests.builders.files import written
from tests.foreign.asked import asked, screens_saying
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
"""What nobody can know without the provider's list of types and prices."""
FALSE_OF_AUTO_MODE = re.compile(r"not Ready|types? seen|not known|UNKNOWN|EC2NodeClass|t3\.(nano|micro|small)")
"""What would be false, or is known."""


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
    """Return the same without the pod that fits on the node: Karpenter leaves a node alone where a pod is expected."""
    cluster = snapshot(provider)
    cluster["objects"] = [manifest for manifest in cluster["objects"] if manifest["metadata"]["name"] != "fits"]
    file = written(tmp_path / "unused.json", cluster)
    return str(file)


def test_no_command_says_what_cannot_be_known(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    for command in COMMANDS:
        assert main([*command, "--snapshot", path]) in (0, 3), command
        assert not FALSE.search(capsys.readouterr().out), command


def test_a_pod_is_placed_where_that_is_known_alone(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert {row["name"]: row["turn"] for row in asked(capsys, path, "pending")} == {
        "default/fits": "existing node",
        "default/large": "not known",
        "default/asks": "not known",
    }


def test_a_node_that_hangs_on_prices_is_not_refused(path: str, unused: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert [node["why"] for node in asked(capsys, path, "nodes")] == ["NOMINATED"]
    (node,) = asked(capsys, unused, "nodes")
    assert node["why"] == "UNKNOWN"
    assert node["price_per_hour"] is None
    assert main(["next", "--snapshot", unused]) in (0, 3)
    assert not FALSE.search(capsys.readouterr().out)


def test_types_are_those_that_were_seen(provider: Provider, path: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows: list[Mapping[str, Any]] = asked(capsys, path, "types")
    assert {row["note"] for row in rows} == {"only types that nodes show: 1 type seen"}
    assert {row["cheapest"] for row in rows} == {None}
    main(["pending", "--snapshot", path])
    err = capsys.readouterr().err
    assert (
        f"the instance types and prices of {provider.kind} are not known: 1 type seen on 1 node is used instead" in err
    )


def test_nothing_is_repaired_by_the_policies_of_another_provider(
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
async def test_no_screen_says_what_cannot_be_known(path: str) -> None:
    assert await screens_saying(FALSE, path) == {}


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


def test_pods_are_placed_by_the_labels_that_aws_documents(
    auto_mode_path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = {row["name"]: row for row in asked(capsys, auto_mode_path, "pending")}
    assert {name: row["turn"] for name, row in rows.items()} == {
        "default/fits": "existing node",
        "default/large": "new node",
        "default/asks": "new node",
    }
    assert [place["pool"] for place in rows["default/asks"]["places"]] == ["gpu"]


def test_a_value_that_no_type_has_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path / "cluster.json", cluster(asks="unheard-of"))
    rows = {row["name"]: row["turn"] for row in asked(capsys, str(file), "pending")}
    assert rows["default/asks"] == "no place"


def test_a_node_costs_what_auto_mode_charges_beside(auto_mode_path: str, capsys: pytest.CaptureFixture[str]) -> None:
    (node,) = asked(capsys, auto_mode_path, "nodes")
    assert node["price_per_hour"] == pytest.approx(0.192 * 1.12)
    rows = {row["name"]: row for row in asked(capsys, auto_mode_path, "types", "--pool", "general")}
    assert rows["m6i.large"]["on_demand_price_per_hour"] == pytest.approx(0.096 * 1.12)


def test_it_is_said_what_the_types_are_taken_from(auto_mode_path: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["pending", "--snapshot", auto_mode_path])
    err = capsys.readouterr().err
    assert err.count("as the EKS User Guide of November 2026 lists them; approximated:") == 1


async def test_no_screen_says_what_is_false(auto_mode_path: str) -> None:
    assert await screens_saying(FALSE_OF_AUTO_MODE, auto_mode_path) == {}
