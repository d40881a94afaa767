from __future__ import annotations

import gzip
import stat
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from karptui.aws.evidence import Evidence
from karptui.karpenter.settings import parse_settings
from karptui.sources.snapshot.reader import SnapshotReader
from karptui.sources.snapshot.recording import build_recording, write_recording
from karptui.sources.snapshot.text import SnapshotError
from tests.builders import NOW, NOW_NS, a_manifest, an_instance_type

POD = a_manifest("Pod", "web-1", namespace="default", spec={"nodeName": "node-1"})
SETTINGS = {"PREFERENCE_POLICY": "Ignore", "CLUSTER_NAME": "acme", "AWS_SECRET_ACCESS_KEY": "hunter2"}
EVIDENCE = Evidence(settings=parse_settings(SETTINGS))


def test_what_is_written_can_be_read(tmp_path: Path) -> None:
    types = (an_instance_type(), msgspec.structs.replace(an_instance_type(name="x"), offerings=()))
    document = build_recording(
        [POD, a_manifest("Secret", "x")],
        name="a",
        captured_at_ns=NOW_NS,
        evidence=replace(EVIDENCE, instance_types=types),
    )
    assert document["capturedAt"] == NOW
    assert document["settings"] == {"PREFERENCE_POLICY": "Ignore", "CLUSTER_NAME": "acme"}
    for name in ("a.json", "a.json.gz"):
        size = write_recording(document, tmp_path / name)
        assert (tmp_path / name).stat().st_size == size
        snapshot = SnapshotReader().read([tmp_path / name])
        assert [pod.key for pod in snapshot.inventory.pods] == ["default/web-1"]
        assert (snapshot.name, snapshot.captured_at_ns) == ("a", NOW_NS)
        assert snapshot.evidence.settings.preference_policy == "Ignore"
        result = snapshot.evidence.instance_types or ()
        assert [msgspec.structs.astuple(item) for item in result] == [msgspec.structs.astuple(item) for item in types]
        assert not snapshot.unknown_kinds
    assert gzip.decompress((tmp_path / "a.json.gz").read_bytes()) == (tmp_path / "a.json").read_bytes()


def test_only_the_owner_may_read_it_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    write_recording({"karptui": 1}, tmp_path / "a.json")
    assert stat.S_IMODE((tmp_path / "a.json").stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]


def test_refuses_to_replace_a_file_unasked_or_to_create_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("mine")
    with pytest.raises(SnapshotError, match="exists already; --force replaces it"):
        write_recording({}, tmp_path / "a.json")
    with pytest.raises(SnapshotError, match="cannot be written: No such file or directory"):
        write_recording({}, tmp_path / "none" / "a.json")
    write_recording({}, tmp_path / "a.json", may_replace=True)
    assert (tmp_path / "a.json").read_text() == "{}"


def test_kinds_that_could_not_be_listed_stay_unread_in_a_recording(tmp_path: Path) -> None:
    document = build_recording(
        [POD], name="a", captured_at_ns=NOW_NS, unread={"StorageClass", "PersistentVolume", "Pod"}
    )
    assert document["unread"] == ["PersistentVolume", "Pod", "StorageClass"]
    write_recording(document, tmp_path / "a.json")
    assert SnapshotReader().read([tmp_path / "a.json"]).inventory.unread == {"PersistentVolume", "StorageClass"}
