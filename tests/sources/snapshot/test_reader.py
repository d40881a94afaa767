from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from karptui.clock import FrozenClock
from karptui.decode.kinds import Kind
from karptui.karpenter.labels import COMPUTE_TYPE
from karptui.kube.timestamps import parse_timestamp
from karptui.sources.demo.source import load
from karptui.sources.snapshot.reader import Snapshot, SnapshotReader, newest_timestamp_ns
from karptui.sources.snapshot.text import SnapshotError
from tests.builders import HOUR_NS, NOW, NOW_NS, a_manifest
from tests.builders.files import written

POD = a_manifest("Pod", "web-1", namespace="default", spec={"nodeName": "node-1"}, status={"phase": "Running"})
NODE = a_manifest("Node", "node-1")
POOL = a_manifest("NodePool", "general", api_version="karpenter.sh/v1", spec={"weight": 3})
CLASS = a_manifest("EC2NodeClass", "default", api_version="karpenter.k8s.aws/v1", spec={"role": "x"})
RECORDING = {"karptui": 1, "name": "incident", "capturedAt": NOW, "objects": [POD, NODE, POOL, CLASS]}


def read(tmp_path: Path, *values: Any, **options: Any) -> Snapshot:
    """Return the snapshot of files with these values."""
    paths = []
    for index, value in enumerate(values):
        paths.append(tmp_path / f"file{index}.json")
        paths[-1].write_text(json.dumps(value), encoding="utf-8")
    return SnapshotReader(FrozenClock(NOW_NS)).read(paths, **options)


def test_reads_a_recording(tmp_path: Path) -> None:
    settings = {"PREFERENCE_POLICY": "Ignore", "FEATURE_GATES": "SpotToSpotConsolidation=true", "ISOLATED_VPC": True}
    snapshot = read(tmp_path, {**RECORDING, "settings": settings, "disruption": True})
    assert (snapshot.name, snapshot.captured_at_ns, snapshot.with_disruption) == ("incident", NOW_NS, True)
    assert snapshot.evidence.settings.preference_policy == "Ignore"
    assert snapshot.evidence.settings.gate("SpotToSpotConsolidation")
    assert snapshot.evidence.settings.isolated_vpc
    assert [pod.key for pod in snapshot.inventory.pods] == ["default/web-1"]
    assert [node.name for node in snapshot.inventory.nodes] == ["node-1"]
    assert snapshot.inventory.nodepools[0].weight == 3
    assert snapshot.inventory.nodeclasses[0].kind == "EC2NodeClass"
    assert snapshot.evidence.instance_types is None
    assert not snapshot.problems
    assert not snapshot.notes
    assert not snapshot.manifests


def test_instance_types_come_inline_or_from_a_shared_catalog(tmp_path: Path) -> None:
    (tmp_path / "catalog.json").write_text('[{"name": "m5.large"}]')
    reader = SnapshotReader()
    result = []
    shared: dict[str, Any] = {"catalog": "catalog.json"}
    for name, more in (("a", shared), ("b", shared), ("c", {"instanceTypes": [{"name": "x"}]})):
        (tmp_path / f"{name}.json").write_text(json.dumps({**RECORDING, **more}))
        result.append(reader.read([tmp_path / f"{name}.json"]).evidence.instance_types)
    assert result[0] is result[1]
    assert [[item.name for item in types or ()] for types in result] == [["m5.large"], ["m5.large"], ["x"]]


@pytest.mark.parametrize("value", [
    {"apiVersion": "v1", "kind": "List", "items": [POD, NODE]},
    {"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "PodList", "items": [POD]}, NODE]},
    [POD, NODE],
    [[POD], {"kind": "NodeList", "apiVersion": "v1", "items": [{"metadata": {"name": "node-1"}}]}],
])  # fmt: skip
def test_lists_of_every_form_are_read(tmp_path: Path, value: Any) -> None:
    snapshot = read(tmp_path, value)
    assert [pod.key for pod in snapshot.inventory.pods] == ["default/web-1"]
    assert [node.name for node in snapshot.inventory.nodes] == ["node-1"]
    assert not snapshot.problems


def test_files_are_merged_and_the_last_version_of_an_object_counts(tmp_path: Path) -> None:
    cordoned = {**NODE, "spec": {"unschedulable": True}}
    snapshot = read(tmp_path, [NODE, a_manifest("Node", "node-2")], cordoned)
    assert [(node.name, node.is_unschedulable) for node in snapshot.inventory.nodes] == [
        ("node-1", True),
        ("node-2", False),
    ]
    assert snapshot.name == "file0 +1"
    assert snapshot.notes == ("file0 +1: 1 objects are repeated; the last version of each is used",)


def test_a_missing_namespace_is_default_except_in_lists(tmp_path: Path) -> None:
    mine = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"}}
    assert read(tmp_path, mine).inventory.daemonsets[0].namespace == "default"
    assert read(tmp_path, {"kind": "List", "items": [mine]}).inventory.daemonsets[0].namespace == ""
    with_other = {**mine, "metadata": {"name": "agent", "namespace": "logging"}}
    assert read(tmp_path, with_other).inventory.daemonsets[0].namespace == "logging"


@pytest.mark.parametrize("field", ["items", "objects"])
def test_the_error_names_the_line_of_invalid_utf8_in_a_list(tmp_path: Path, field: str) -> None:
    path = tmp_path / "list.json"
    pod = b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},\n"spec":{"nodeName":"\xff"}}'
    kind = b'"kind":"List"' if field == "items" else b'"karptui":1'
    path.write_bytes(b'{%b,\n"%b":[%b]}' % (kind, field.encode(), pod))
    with pytest.raises(SnapshotError, match="is not UTF-8: line 3 holds the byte 0xff"):
        SnapshotReader().read([path])


def test_unknown_kinds_are_skipped_and_counted(tmp_path: Path) -> None:
    objects = [
        a_manifest("Secret", "a"),
        a_manifest("Secret", "b"),
        a_manifest("Role", "c", api_version="rbac.authorization.k8s.io/v1"),
        a_manifest("Node", "d", api_version="metrics.k8s.io/v1beta1"),
    ]
    snapshot = read(tmp_path, {**RECORDING, "objects": objects})
    assert snapshot.unknown_kinds == {"Secret": 2, "Role.rbac.authorization.k8s.io": 1, "Node.metrics.k8s.io": 1}
    assert not snapshot.problems


BROKEN = [
    ({**POD, "spec": {"nodeName": 5}}, "Pod default/web-1: spec.nodeName: must be text, is a number"),
    ({**POD, "metadata": "x"}, "Pod (without a name): metadata: must be an object, is text"),
    (7, "objects[1] is a number, not a Kubernetes object"),
    (None, "objects[1] is null, not a Kubernetes object"),
    ("x", "objects[1] is text, not a Kubernetes object: x"),
    ({"a": 1}, "objects[1] has no kind"),
    ({"kind": "Pod"}, "objects[1] has no apiVersion"),
    ({"name": "x", "edits": []}, "objects[1] is a scenario of edits, not an object: --scenario FILE of karptui"),
    ({"nodeClass": {}}, "objects[1] is a case of an EC2NodeClass and settings, not an object: karptui types FILE"),
    ({**POD, "metadata": {"name": "x", "creationTimestamp": "yesterday"}}, "Pod x: metadata.creationTimestamp: "),
]


@pytest.mark.parametrize(("broken", "problem"), BROKEN)
def test_a_bad_object_is_a_problem_and_the_rest_is_read(tmp_path: Path, broken: Any, problem: str) -> None:
    snapshot = read(tmp_path, {**RECORDING, "objects": [NODE, broken, POOL]})
    (text,) = snapshot.problems
    assert text.startswith(f"{tmp_path / 'file0.json'}: {problem}")
    assert len(snapshot.inventory.nodes) == len(snapshot.inventory.nodepools) == 1


STRANGERS = [
    ("hello there", "is text, not a Kubernetes object: hello there"),
    ("x" * 200, f"is text, not a Kubernetes object: {'x' * 120}…"),
    (5, "is a number, not a Kubernetes object"),
    (True, "is true or false, not a Kubernetes object"),
    ({"apiVersion": "v1", "kind": "PodList", "items": {}}, "PodList: items: must be a list, is an object"),
    ([5], "[0] is a number, not a Kubernetes object"),
    ({"Error from server (Forbidden)": "pods is forbidden"}, "has no kind: it is not a Kubernetes object"),
]


@pytest.mark.parametrize(("stranger", "problem"), STRANGERS)
def test_a_file_without_any_object_is_refused_even_among_others(tmp_path: Path, stranger: Any, problem: str) -> None:
    with pytest.raises(SnapshotError) as caught:
        read(tmp_path, stranger)
    assert str(caught.value) == f"{tmp_path / 'file0.json'}: {problem}"
    for others in ([NODE, stranger], [RECORDING, stranger]):
        with pytest.raises(SnapshotError) as caught:
            read(tmp_path, *others)
        assert str(caught.value) == f"{tmp_path / 'file1.json'}: {problem}"


def test_a_file_of_a_directory_that_is_no_snapshot_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "cluster.json").write_text(json.dumps(NODE))
    (tmp_path / "package.json").write_text('{"name": "x"}')
    snapshot = SnapshotReader().read([tmp_path], now_ns=1)
    assert snapshot.problems == (f"{tmp_path / 'package.json'}: has no kind: it is not a Kubernetes object",)
    assert len(snapshot.inventory.nodes) == 1


def test_an_empty_list_is_an_empty_cluster_with_a_note(tmp_path: Path) -> None:
    nothing: tuple[Any, ...] = ([], {"kind": "List", "apiVersion": "v1", "items": []})
    for empty in nothing:
        snapshot = read(tmp_path, empty, now_ns=1)
        assert snapshot.notes == ("file0: it holds no objects",)
        assert not snapshot.problems
    assert read(tmp_path, {**RECORDING, "objects": []}, now_ns=1).notes == ()


def test_a_catalog_must_be_a_regular_file_in_the_recordings_folder(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "zero.json").symlink_to("/dev/zero")
    (tmp_path / "packed.json.gz").symlink_to(Path(__file__))
    link = "is a link to a file outside the snapshot's folder: such links are not followed"
    for name, problem in (("pipe.json", "it is no regular file"), ("zero.json", link), ("packed.json", link)):
        with pytest.raises(SnapshotError, match=problem):
            read(tmp_path, {**RECORDING, "catalog": name})


@pytest.mark.parametrize(("change", "problem"), [
    ({"catalog": "/"}, "catalog: '/' names no file"),
    ({"catalog": "a\0b"}, "catalog: 'a\\x00b' names no file"),
    ({"catalog": "/dev/zero"}, "catalog: '/dev/zero' is not in the snapshot's folder"),
    ({"catalog": "../../../etc/passwd"}, "catalog: '../../../etc/passwd' is not in the snapshot's folder"),
    ({"karptui": 2}, "karptui: the recording has format 2, this karptui reads up to 1: install a newer one"),
    ({"karptui": "1"}, "karptui: must be 1"),
    ({"karptui": True}, "karptui: must be 1"),
    ({"name": 5}, "name: must be text, is a number"),
    ({"capturedAt": "yesterday"}, "capturedAt: 'yesterday' is not an RFC 3339 timestamp"),
    ({"capturedAt": 5}, "capturedAt: must be text, is a number"),
    ({"objects": {}}, "objects: must be a list, is an object"),
    ({"disruption": "yes"}, "disruption: must be true or false, is text"),
    ({"settings": []}, "settings: must be an object, is a list"),
    ({"settings": {"X": {}}}, "settings.X: must be text"),
    ({"settings": {"PREFERENCE_POLICY": "x"}}, "settings: PREFERENCE_POLICY is 'x', must be Respect or Ignore"),
    ({"instanceTypes": {}}, "instanceTypes: must be a list, is an object"),
    ({"instanceTypes": [{}]}, "instanceTypes: [0].name: is missing"),
    ({"catalog": "none.json"}, "catalog"),
])  # fmt: skip
def test_errors_name_the_field_of_a_recording(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    with pytest.raises(SnapshotError) as caught:
        read(tmp_path, {**RECORDING, **change})
    assert str(caught.value).startswith(f"{tmp_path / 'file0.json'}: {problem}")


def test_two_recordings_cannot_be_one_snapshot(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match="is a second recording, after"):
        read(tmp_path, RECORDING, RECORDING)


class TestNow:
    def test_a_chosen_time_does_not_change_when_the_objects_were_read(self, tmp_path: Path) -> None:
        created = "2026-11-20T11:00:05Z"
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "creationTimestamp": created}}
        for document, read_ns in ((RECORDING, NOW_NS), (node, parse_timestamp(created))):
            snapshot = read(tmp_path, document, now_ns=NOW_NS + HOUR_NS)
            assert (snapshot.captured_at_ns, snapshot.read_at_ns) == (NOW_NS + HOUR_NS, read_ns)

    def test_the_current_time_is_assumed_and_noted_without_timestamps(self, tmp_path: Path) -> None:
        snapshot = read(tmp_path, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}})
        assert snapshot.captured_at_ns == NOW_NS
        assert "the current time is assumed" in snapshot.notes[0]


@pytest.mark.parametrize(("value", "newest"), [
    ({"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}}, "2026-01-01T00:00:00Z"),
    ({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, ""),
    ({"metadata": {"annotations": {"time": "2026-01-01T00:00:00Z"}}}, ""),
    ({"spec": {"startTime": "2026-01-01T00:00:00Z"}}, ""),
    ({"lastTimestamp": "2026-01-01T00:00:00Z", "firstTimestamp": "2026-01-02T00:00:00Z"}, "2026-01-02T00:00:00Z"),
    ({"eventTime": "2026-01-01T00:00:00.000001Z"}, "2026-01-01T00:00:00.000001Z"),
    ({"startTime": "yesterday", "status": {"startTime": None}}, ""),
    ([{"metadata": {"managedFields": [{"time": "2026-01-01T00:00:00Z"}]}}], "2026-01-01T00:00:00Z"),
])  # fmt: skip
def test_newest_timestamp(value: Any, newest: str) -> None:
    assert newest_timestamp_ns(value) == (parse_timestamp(newest) if newest else 0)


def test_a_snapshot_from_standard_input_is_named_after_it() -> None:
    snapshot = SnapshotReader().read(["-"], stdin=io.BytesIO(json.dumps(POD).encode()))
    assert snapshot.name == "standard input"


@pytest.mark.parametrize(("document", "is_unread"), [
    ({"karptui": 1, "objects": [], "unread": ["Pod"]}, True),
    ({"karptui": 1, "objects": [a_manifest("Node", "a")]}, False),
    ([a_manifest("Node", "a")], True),
    ([a_manifest("Namespace", "a")], False),
])  # fmt: skip
def test_pods_are_unread_if_a_recording_lists_them_as_unread_or_has_none(
    tmp_path: Path, document: Any, *, is_unread: bool
) -> None:
    path = written(tmp_path / "cluster.json", document)
    assert (Kind.POD in SnapshotReader().read([path]).inventory.unread) is is_unread


READY = {"conditions": [{"type": "Ready", "status": "True"}]}
ORDINARY = a_manifest("Node", "node-1", status=READY)


@pytest.mark.parametrize(("objects", "is_unread"), [
    ([ORDINARY, POD], True),
    ([ORDINARY, POD, a_manifest("Pod", "web-2", namespace="shop")], False),
    ([ORDINARY, a_manifest("Pod", "coredns", namespace="kube-system")], False),
    ([ORDINARY, a_manifest("Pod", "by-hand", namespace="default", metadata={"creationTimestamp": None})], False),
    ([NODE, POD], False),
    ([a_manifest("Node", "node-1", status=READY, spec={"providerID": "kwok://node-1"}), POD], False),
    ([a_manifest("Node", "node-1", status=READY, metadata={"labels": {COMPUTE_TYPE: "auto"}}), POD], False),
])  # fmt: skip
def test_pods_are_unread_if_a_kubectl_file_has_only_those_of_one_namespace(
    tmp_path: Path, objects: list[dict[str, Any]], *, is_unread: bool
) -> None:
    assert (Kind.POD in read(tmp_path, objects).inventory.unread) is is_unread
    assert Kind.POD not in read(tmp_path, {"karptui": 1, "objects": objects}).inventory.unread


@pytest.mark.parametrize(("kinds", "unread"), [
    (("Pod",), {Kind.NODE, Kind.NODEPOOL, Kind.NODECLAIM}),
    (("Node",), {Kind.NODEPOOL, Kind.NODECLAIM, Kind.POD}),
    (("Node", "NodeClaim"), {Kind.NODEPOOL, Kind.POD}),
    (("Node", "NodeClaim", "NodePool"), {Kind.POD}),
    (("NodeClaim", "NodePool"), {Kind.NODE, Kind.POD}),
    (("Event",), {Kind.NODE, Kind.NODEPOOL, Kind.NODECLAIM, Kind.POD}),
    (("NodePool", "EC2NodeClass"), {Kind.NODE, Kind.NODECLAIM, Kind.POD}),
    (("EC2NodeClass",), set()),
])  # fmt: skip
def test_kinds_that_must_exist_are_unread_if_a_file_lacks_them(
    tmp_path: Path, kinds: tuple[str, ...], unread: set[Kind]
) -> None:
    items = [item for item in load(NOW_NS) if item["kind"] in kinds]
    path = written(tmp_path / "x.json", {"apiVersion": "v1", "kind": "List", "items": items})
    shown = {Kind.NODE, Kind.NODEPOOL, Kind.NODECLAIM, Kind.POD}
    assert SnapshotReader().read([path]).inventory.unread & shown == unread


@pytest.mark.parametrize(("has_karpenter", "listed", "lacking"), [
    (True, "Event", {"PodDisruptionBudget"}),
    (True, "PodDisruptionBudget", {"Event"}),
    (False, "Event", set()),
    (False, "", {"Event", "PodDisruptionBudget"}),
])  # fmt: skip
def test_a_file_of_karpenters_nodes_without_events_or_the_disruption_budget_of_its_chart_lacks_them(
    tmp_path: Path, has_karpenter: bool, listed: str, lacking: set[str]
) -> None:
    objects = [a_manifest("Node", "node-1", metadata={"labels": {"karpenter.sh/nodepool": "general"}})]
    if has_karpenter:
        labels = {"app.kubernetes.io/name": "karpenter"}
        objects.append(a_manifest("Pod", "karpenter-1", namespace="kube-system", metadata={"labels": labels}))
    if listed:
        version = "v1" if listed == "Event" else "policy/v1"
        objects.append(a_manifest(listed, "a", namespace="default", api_version=version))
    unread = SnapshotReader().read([written(tmp_path / "x.json", objects)]).inventory.unread
    assert {"Event", "PodDisruptionBudget"} & unread == lacking
