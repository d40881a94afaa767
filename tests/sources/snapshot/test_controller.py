from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from karptui.sources.snapshot.reader import Snapshot, SnapshotReader
from tests.builders import a_manifest


def a_deployment(namespace: str = "kube-system", **changes: Any) -> dict[str, Any]:
    env = [{"name": "FEATURE_GATES", "value": changes.get("gates", "SpotToSpotConsolidation=true")}]
    image = f"public.ecr.aws/karpenter/controller:{changes.get('version', '1.14.1')}"
    containers = [{"name": "controller", "image": image, "env": env}]
    spec = {"replicas": 1, "template": {"spec": {"containers": containers}}}
    manifest = a_manifest("Deployment", "karpenter", api_version="apps/v1", namespace=namespace, spec=spec)
    manifest["metadata"]["labels"] = {"app.kubernetes.io/name": changes.get("label", "karpenter")}
    return manifest


def read(tmp_path: Path, *objects: dict[str, Any], version: str = "") -> Snapshot:
    (tmp_path / "a.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": [*objects]}))
    return SnapshotReader(karpenter_version=version).read([tmp_path / "a.json"], now_ns=1)


@pytest.mark.parametrize(("stated", "version"), [("", "1.14.1"), ("1.15.0", "1.15.0")], ids=["not stated", "stated"])
def test_settings_and_version_are_those_of_the_deployment(tmp_path: Path, stated: str, version: str) -> None:
    snapshot = read(tmp_path, a_deployment(), version=stated)
    assert (snapshot.evidence.karpenter_version, snapshot.evidence.settings.rules.version) == (version, version)
    assert snapshot.evidence.settings.gate("SpotToSpotConsolidation")
    assert snapshot.notes == ()


def test_the_usual_namespace_is_read_with_a_doubt_and_never_before_kube_system(tmp_path: Path) -> None:
    usual = a_deployment("karpenter", version="1.13.0")
    snapshot = read(tmp_path, usual)
    assert (snapshot.evidence.karpenter_version, snapshot.evidence.settings.gate("SpotToSpotConsolidation")) == (
        "1.13.0",
        True,
    )
    (note,) = snapshot.notes
    assert note == (
        "a: Deployment karpenter/karpenter counts as Karpenter's only by its namespace:"
        " --karpenter-version and --karpenter-setting override it"
    )
    both = read(tmp_path, usual, a_deployment())
    assert (both.evidence.karpenter_version, both.notes) == ("1.14.1", ())


@pytest.mark.parametrize(
    ("deployment", "note"),
    [
        (
            a_deployment("shop"),
            (
                "Deployment shop/karpenter is not in kube-system or karpenter, so it does not count as Karpenter's:"
                " set Karpenter's version and settings with --karpenter-version and --karpenter-setting"
            ),
        ),
        (a_deployment(label="web"), ""),
    ],
)
def test_others_are_not_believed(deployment: dict[str, Any], note: str, tmp_path: Path) -> None:
    snapshot = read(tmp_path, deployment)
    assert snapshot.evidence.karpenter_version == ""
    assert not snapshot.evidence.settings.gate("SpotToSpotConsolidation")
    assert "".join(snapshot.notes).endswith(note)
    assert len(snapshot.notes) == bool(note)


def test_settings_that_cannot_be_read_are_at_their_defaults(tmp_path: Path) -> None:
    snapshot = read(tmp_path, a_deployment(gates="SpotToSpotConsolidation"))
    assert not snapshot.evidence.settings.gate("SpotToSpotConsolidation")
    assert snapshot.evidence.karpenter_version == "1.14.1"
    (note,) = snapshot.notes
    assert note.startswith("a: Deployment kube-system/karpenter: ")
