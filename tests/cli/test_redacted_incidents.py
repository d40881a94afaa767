"""A recording of an incident, redacted or not, gives the same findings, next command and counts."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from karptui.cli.main import main
from tests.incidents.all import INCIDENTS as OWN

INCIDENTS: Final = sorted((Path(__file__).resolve().parents[1] / "goldens" / "incidents").glob("*/snapshot.json.gz"))
EVERY: Final = 1 if os.environ.get("KARPTUI_ALL_GOLDENS") else 5
"""Step through the incidents: every fifth, or all if KARPTUI_ALL_GOLDENS is set."""
SAID: Final = (
    "evictions-for-memory-without-events",
    "fine-edge-nodes-have-versions-of-their-own",
    "fine-jobs-without-pods",
    "fine-models-are-loading",
    "karpenter-without-leader",
    "more-than-the-quota-of-the-queue",
    "network-agent-crashes-on-running-nodes",
    "new-image-lets-several-workloads-crash",
    "pulls-time-out-in-one-zone",
    "rebalance-recommendations-drain-nodes",
    "volume-controller-is-scaled-to-zero",
)
"""Incidents whose cause is in a message, a name or a version that a recording once left out."""
NOT_THE_SAME: Final = {
    "coredns-runs-as-a-daemonset",  # a DaemonSet of any name that contains coredns
    "fine-drain-takes-turns",  # the pseudonyms of deleted pods are unlike those of others
}
"""Incidents whose redacted recording is judged differently."""


def json_of(words: list[str], capsys: pytest.CaptureFixture[str]) -> Any:
    """Return a command's parsed JSON output."""
    capsys.readouterr()
    assert main([*words, "-o", "json"]) in (0, 1, 3)
    return json.loads(capsys.readouterr().out)


def findings(file: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the codes, costs, times and object counts of the verdict's findings."""
    kept = ("severity", "code", "pricePerHour", "isUpperBound", "since", "until", "zones")
    rows = json_of(["verdict", "--snapshot", str(file)], capsys)
    return sorted(json.dumps([*(row[name] for name in kept), len(row["objects"])]) for row in rows)


def counts(file: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Return the numbers of NodeClaims, pods, candidates and commands of Karpenter's decisions, and their savings."""
    answer = json_of(["simulate", str(file), "--disruption"], capsys)
    provisioning = answer["provisioning"]
    claims = [(len(c["instanceTypes"]), len(c["pods"]), c["cheapestPrice"]) for c in provisioning["newNodeClaims"]]
    commands = [
        (method["name"], len(method["candidates"]), command["decision"], len(command["candidates"]), command["savings"])
        for method in answer["disruption"]
        for command in method["commands"]
    ]
    pairs = sorted((key.partition("/")[0], len(lines)) for key, lines in answer["events"].items())
    placed = sorted(len(existing_node["pods"]) for existing_node in provisioning["existingNodes"])
    return sorted(claims), placed, len(provisioning["podErrors"]), sorted(commands), pairs


def next_and_pending(file: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Return the numbers in the output of `next` and `pending`."""
    answers = [json_of([command, "--snapshot", str(file)], capsys) for command in ("next", "pending")]
    return [numbers(answer) for answer in answers]


def numbers(value: Any) -> Any:
    """Return a value with empty texts and sorted lists."""
    if isinstance(value, dict):
        return sorted((numbers(part) for part in value.values()), key=json.dumps)
    if isinstance(value, list):
        return sorted((numbers(part) for part in value), key=json.dumps)
    return round(value, 6) if isinstance(value, float) else value if not isinstance(value, str) else ""


@pytest.mark.parametrize("incident", INCIDENTS[::EVERY], ids=lambda path: path.parent.name)
def test_redaction_changes_no_answer(incident: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    redacted = tmp_path / "redacted.json"
    assert main(["record", str(redacted), "--snapshot", str(incident), "--redact"]) == 0
    for answer in (findings, counts, next_and_pending):
        assert answer(redacted, capsys) == answer(incident, capsys)


@pytest.mark.parametrize("flags", [(), ("--redact",)], ids=["whole", "redacted"])
@pytest.mark.parametrize("name", sorted(OWN.keys() - NOT_THE_SAME) if EVERY == 1 else SAID)
def test_a_recording_leads_to_the_same_findings(
    name: str, flags: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster, recording = tmp_path / "cluster.json", tmp_path / "recording.json"
    cluster.write_bytes(msgspec.json.encode(OWN[name].snapshot()))
    assert main(["record", str(recording), "--snapshot", str(cluster), *flags]) == 0
    assert findings(recording, capsys) == findings(cluster, capsys)
