from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from karptui.cli.main import main
from karptui.whatif.self_check import Reproduction, self_check
from tests.whatif.karpenter_made import snapshots
from tests.whatif.snapshots import FOLDER, base_of

FAMILIES = (
    "aws", "bigmem", "daemons", "existing", "flex", "hostports", "minvalues", "mixed", "overlays", "preferences",
    "reserved", "storyA", "storyB", "storyC", "storyD", "topology", "volumes", "weights", "zonal",
)  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_every_nodeclaim_that_karpenter_made_is_made_again(family: str) -> None:
    claims = [
        claim
        for document in snapshots(family)
        for claim in self_check(base_of(document)).claims
        if claim.claim_name.startswith("made-")
    ]
    assert claims
    assert [claim for claim in claims if claim.finding is not Reproduction.REPRODUCED or not claim.has_same_types] == []


@pytest.fixture
def recorded(tmp_path: Path) -> tuple[dict[str, Any], Path]:
    """Return a snapshot of two NodePools with four NodeClaims that Karpenter has just made, and where to put it."""
    document = next(snapshot for snapshot in snapshots("weights") if len(_launched(snapshot)) == 4)
    packed = tmp_path / f"{document['catalog']}.gz"
    packed.parent.mkdir(parents=True, exist_ok=True)
    packed.write_bytes((FOLDER / f"{document['catalog']}.gz").read_bytes())
    return document, tmp_path / "recorded.json"


def _launched(document: dict[str, Any]) -> list[dict[str, Any]]:
    claims = [manifest for manifest in document["objects"] if manifest["kind"] == "NodeClaim"]
    return [claim for claim in claims if claim["metadata"]["name"].startswith("made-")]


def answer(document: dict[str, Any], path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any], str]:
    """Return exit status, answer and table of ``karptui simulate --self-check``."""
    path.write_text(json.dumps(document))
    assert main(["simulate", str(path), "--self-check", "-o", "json"]) in (0, 1)
    result = json.loads(capsys.readouterr().out)
    return main(["simulate", str(path), "--self-check"]), result, capsys.readouterr().out


def test_headless_all_are_reproduced(recorded: Any, capsys: pytest.CaptureFixture[str]) -> None:
    document, path = recorded
    status, result, table = answer(document, path, capsys)
    assert status == 0
    assert (result["reproduced"], result["comparable"]) == (4, 4)
    assert "of the last 4 NodeClaims 4 can be compared; the model reproduces 4" in table
    assert table.count("with the same list of types") == 4


def test_headless_those_that_differ_are_named_with_the_reason(
    recorded: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    document, path = recorded
    claim = _launched(document)[2]
    right = claim["metadata"]["labels"]["karpenter.sh/nodepool"]
    wrong = next(
        manifest["metadata"]["name"]
        for manifest in document["objects"]
        if manifest["kind"] == "NodePool" and manifest["metadata"]["name"] != right
    )
    claim["metadata"]["labels"]["karpenter.sh/nodepool"] = wrong
    status, result, table = answer(document, path, capsys)
    assert status == 1
    assert (result["reproduced"], result["comparable"]) == (3, 4)
    (other,) = [node_claim for node_claim in result["nodeClaims"] if node_claim["finding"] != "reproduced"]
    assert other["name"] == "made-2"
    assert other["because"] == f"the model uses NodePool {right}"
    assert f"the model uses NodePool {right}" in table


def test_headless_what_was_edited_since_is_not_counted(recorded: Any, capsys: pytest.CaptureFixture[str]) -> None:
    document, path = recorded
    claim = _launched(document)[1]
    document["objects"] = [
        manifest
        for manifest in document["objects"]
        if manifest["kind"] != "Pod" or manifest["spec"].get("nodeName") != claim["status"]["nodeName"]
    ]
    status, result, table = answer(document, path, capsys)
    gone = {item["name"]: item["because"] for item in result["nodeClaims"] if item["finding"] == "not comparable"}
    assert gone["made-1"] == "the pods that it was created for are gone"
    assert status == 0
    assert "cannot be compared" in table
