from __future__ import annotations

import json
from pathlib import Path

import pytest

from karptui.decode.kinds import Kind
from karptui.sources.snapshot.reader import SnapshotReader
from karptui.sources.snapshot.source import SnapshotSource
from karptui.sources.source import Mailbox, Phase, Source, SourceError
from karptui.state.cluster import EMPTY, inventory_of
from karptui.state.reducer import reduce
from tests.builders import NOW, NOW_NS, a_manifest
from tests.builders.clusters import state_of


@pytest.fixture
def source(tmp_path: Path) -> SnapshotSource:
    file = tmp_path / "a.json"
    node = a_manifest("Node", "node-1", metadata={"managedFields": [{"manager": "kubelet"}]})
    pod = a_manifest("Pod", "web-1", namespace="default", spec={"nodeName": "node-1"})
    file.write_text(json.dumps({"karptui": 1, "name": "x", "capturedAt": NOW, "objects": [node, pod]}))
    return SnapshotSource(SnapshotReader().read([file], keeps_manifests=True))


def test_tells_everything_at_once_and_that_it_is_offline(source: SnapshotSource) -> None:
    as_source: Source = source
    mailbox = Mailbox()
    as_source.start(mailbox)
    mail = mailbox.drain()
    state = reduce(EMPTY, mail.batch)
    assert list(state.nodes) == ["node-1"]
    assert list(state.pods_on("node-1")) == ["default/web-1"]
    assert set(mail.statuses) == set(Kind)
    assert {status.phase for status in mail.statuses.values()} == {Phase.OFFLINE}
    assert {status.since_ns for status in mail.statuses.values()} == {NOW_NS}
    assert mail.statuses[Kind.NODE].count == 1
    assert mail.statuses[Kind.EVENT].count == 0
    assert as_source.title == "x"
    as_source.stop()
    assert mailbox.drain().is_empty


def test_gives_single_objects_without_managed_fields(source: SnapshotSource) -> None:
    assert source.fetch_object("Node", "node-1")["metadata"]["name"] == "node-1"
    assert "managedFields" not in source.fetch_object("Node", "node-1")["metadata"]
    assert source.fetch_object("Pod", "default/web-1")["metadata"]["name"] == "web-1"
    with pytest.raises(SourceError, match="the snapshot has no Pod default/none"):
        source.fetch_object("Pod", "default/none")
    with pytest.raises(SourceError, match="karptui does not read objects of kind Gadget"):
        source.fetch_object("Gadget", "x")


@pytest.mark.parametrize(("count", "end"), [(0, ""), (1, "write it in quotes"), (3, "write it in quotes (and 2 more)")])
def test_tells_what_could_not_be_read(tmp_path: Path, count: int, end: str) -> None:
    broken = [a_manifest("Pod", f"web-{n}", namespace="default", spec={"nodeName": 5}) for n in range(count)]
    (tmp_path / "a.json").write_text(json.dumps({"karptui": 1, "capturedAt": NOW, "objects": broken}))
    mailbox = Mailbox()
    SnapshotSource(SnapshotReader().read([tmp_path / "a.json"])).start(mailbox)
    statuses = mailbox.drain().statuses
    assert statuses[Kind.POD].last_error.endswith(end)
    assert bool(statuses[Kind.POD].last_error) is bool(count)
    assert not statuses[Kind.NODE].last_error


def test_nodeclasses_of_two_providers_with_one_name(tmp_path: Path) -> None:
    classes = [
        a_manifest("EC2NodeClass", "default", api_version="karpenter.k8s.aws/v1", spec={"amiFamily": "AL2023"}),
        a_manifest("KWOKNodeClass", "default", api_version="karpenter.kwok.sh/v1alpha1", spec={}),
    ]
    (tmp_path / "a.json").write_text(json.dumps({"karptui": 1, "capturedAt": NOW, "objects": classes}))
    both = SnapshotSource(SnapshotReader().read([tmp_path / "a.json"], keeps_manifests=True))
    assert both.fetch_object("EC2NodeClass", "default")["spec"] == {"amiFamily": "AL2023"}
    assert both.fetch_object("KWOKNodeClass", "default")["spec"] == {}


def test_volumes_missing_in_a_file_of_kubectl_were_not_read_and_in_a_recording_are_none(
    tmp_path: Path,
) -> None:
    claim = a_manifest("PersistentVolumeClaim", "data", namespace="default", spec={})
    for value, unread in (
        ({"apiVersion": "v1", "kind": "List", "items": [claim]}, {"PersistentVolume", "StorageClass", "CSINode"}),
        ({"karptui": 1, "capturedAt": NOW, "objects": [claim]}, set()),
    ):
        (tmp_path / "a.json").write_text(json.dumps(value))
        mailbox = Mailbox()
        SnapshotSource(SnapshotReader().read([tmp_path / "a.json"])).start(mailbox)
        state = reduce(EMPTY, mailbox.drain().batch)
        assert inventory_of(state).unread == state_of(inventory_of(state)).unread == unread
