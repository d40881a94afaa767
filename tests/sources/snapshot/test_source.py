from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from karptui.decode.kinds import Kind
from karptui.karpenter.instance_type import Offering, Overhead
from karptui.kube.selectors import NodeSelectorRequirement
from karptui.sources.snapshot.instance_types import Catalogs
from karptui.sources.snapshot.reader import Snapshot, SnapshotReader
from karptui.sources.snapshot.source import SnapshotSource
from karptui.sources.snapshot.text import SnapshotError
from karptui.sources.source import Mailbox, Phase, Source, SourceError
from karptui.state.cluster import EMPTY, inventory_of
from karptui.state.reducer import reduce
from tests.builders import NOW, NOW_NS, a_manifest, amounts
from tests.builders.clusters import state_of
from tests.builders.files import written

ZONE = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]}
LARGE: dict[str, Any] = {
    "name": "m5.large",
    "requirements": [ZONE, {"key": "karpenter.sh/x", "operator": "Exists", "minValues": 2}],
    "capacity": {"cpu": "2", "memory": "8Gi", "pods": 29},
    "overhead": {"kubeReserved": {"cpu": "70m"}, "systemReserved": {"memory": "100Mi"},
                 "evictionThreshold": {"memory": "100Mi"}},
    "offerings": [{"requirements": [ZONE], "price": 0.096, "available": True},
                  {"requirements": [ZONE], "price": 0, "available": False, "reservationCapacity": 3,
                   "other": "ignored"}],
    "other": "ignored",
}  # fmt: skip


@pytest.fixture
def source(tmp_path: Path) -> SnapshotSource:
    file = tmp_path / "a.json"
    node = a_manifest("Node", "node-1", metadata={"managedFields": [{"manager": "kubelet"}]})
    pod = a_manifest("Pod", "web-1", namespace="default", spec={"nodeName": "node-1"})
    file.write_text(json.dumps({"karptui": 1, "name": "x", "capturedAt": NOW, "objects": [node, pod]}))
    return SnapshotSource(SnapshotReader().read([file], keeps_manifests=True))


def test_all_objects_are_reported_at_once_and_as_offline(source: SnapshotSource) -> None:
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


def test_single_objects_have_no_managed_fields(source: SnapshotSource) -> None:
    assert source.fetch_object("Node", "node-1")["metadata"]["name"] == "node-1"
    assert "managedFields" not in source.fetch_object("Node", "node-1")["metadata"]
    assert source.fetch_object("Pod", "default/web-1")["metadata"]["name"] == "web-1"
    with pytest.raises(SourceError, match="the snapshot has no Pod default/none"):
        source.fetch_object("Pod", "default/none")
    with pytest.raises(SourceError, match="karptui does not read objects of kind Gadget"):
        source.fetch_object("Gadget", "x")


@pytest.mark.parametrize(("count", "end"), [(0, ""), (1, "write it in quotes"), (3, "write it in quotes (and 2 more)")])
def test_unreadable_objects_are_reported(tmp_path: Path, count: int, end: str) -> None:
    broken = [a_manifest("Pod", f"web-{n}", namespace="default", spec={"nodeName": 5}) for n in range(count)]
    (tmp_path / "a.json").write_text(json.dumps({"karptui": 1, "capturedAt": NOW, "objects": broken}))
    mailbox = Mailbox()
    SnapshotSource(SnapshotReader().read([tmp_path / "a.json"])).start(mailbox)
    statuses = mailbox.drain().statuses
    assert statuses[Kind.POD].last_error.endswith(end)
    assert bool(statuses[Kind.POD].last_error) is bool(count)
    assert not statuses[Kind.NODE].last_error


def test_nodeclasses_of_two_providers_may_share_a_name(tmp_path: Path) -> None:
    classes = [
        a_manifest("EC2NodeClass", "default", api_version="karpenter.k8s.aws/v1", spec={"amiFamily": "AL2023"}),
        a_manifest("KWOKNodeClass", "default", api_version="karpenter.kwok.sh/v1alpha1", spec={}),
    ]
    (tmp_path / "a.json").write_text(json.dumps({"karptui": 1, "capturedAt": NOW, "objects": classes}))
    both = SnapshotSource(SnapshotReader().read([tmp_path / "a.json"], keeps_manifests=True))
    assert both.fetch_object("EC2NodeClass", "default")["spec"] == {"amiFamily": "AL2023"}
    assert both.fetch_object("KWOKNodeClass", "default")["spec"] == {}


def test_missing_volumes_are_unread_in_a_kubectl_file_and_absent_in_a_recording(
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
def test_settings_and_version_come_from_the_deployment(tmp_path: Path, stated: str, version: str) -> None:
    snapshot = read(tmp_path, a_deployment(), version=stated)
    assert (snapshot.evidence.karpenter_version, snapshot.evidence.settings.rules.version) == (version, version)
    assert snapshot.evidence.settings.gate("SpotToSpotConsolidation")
    assert snapshot.notes == ()


def test_a_deployment_in_namespace_karpenter_counts_with_a_note_unless_one_is_in_kube_system(tmp_path: Path) -> None:
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
def test_deployments_elsewhere_or_without_the_label_are_ignored(
    deployment: dict[str, Any], note: str, tmp_path: Path
) -> None:
    snapshot = read(tmp_path, deployment)
    assert snapshot.evidence.karpenter_version == ""
    assert not snapshot.evidence.settings.gate("SpotToSpotConsolidation")
    assert "".join(snapshot.notes).endswith(note)
    assert len(snapshot.notes) == bool(note)


def test_unreadable_settings_keep_their_defaults(tmp_path: Path) -> None:
    snapshot = read(tmp_path, a_deployment(gates="SpotToSpotConsolidation"))
    assert not snapshot.evidence.settings.gate("SpotToSpotConsolidation")
    assert snapshot.evidence.karpenter_version == "1.14.1"
    (note,) = snapshot.notes
    assert note.startswith("a: Deployment kube-system/karpenter: ")


def test_reads_an_instance_type() -> None:
    (large,) = Catalogs().of_value([LARGE], "a.json")
    zone = NodeSelectorRequirement("topology.kubernetes.io/zone", "In", ("a",))
    assert large.name == "m5.large"
    assert large.requirements == (zone, NodeSelectorRequirement("karpenter.sh/x", "Exists", (), 2))
    assert large.capacity == amounts({"cpu": "2", "memory": "8Gi", "pods": "29"})
    assert large.overhead == Overhead(
        amounts({"cpu": "70m"}), amounts({"memory": "100Mi"}), amounts({"memory": "100Mi"})
    )
    assert large.offerings == (
        Offering(requirements=(zone,), price_per_hour=0.096),
        Offering(requirements=(zone,), price_per_hour=0.0, is_available=False, reservation_capacity=3),
    )
    assert large.offerings[0].requirements[0] is large.requirements[0]


def test_a_catalog_is_read_again_only_if_it_changed(tmp_path: Path) -> None:
    file = written(tmp_path / "x.json", [LARGE])
    catalogs = Catalogs()
    first = catalogs.of_file("x.json", tmp_path)
    assert catalogs.of_file("x.json", tmp_path) is first
    file.write_text(json.dumps([LARGE, LARGE]))
    assert len(catalogs.of_file("x.json", tmp_path)) == 2


def test_the_least_recently_used_lists_are_dropped() -> None:
    catalogs = Catalogs()
    first = catalogs.of_value([LARGE], "a")
    kept = catalogs.of_value([{"name": "kept"}], "a")
    for number in range(31):
        catalogs.of_value([{"name": f"type-{number}"}], "a")
        assert catalogs.of_value([{"name": "kept"}], "a") is kept
    assert catalogs.of_value([LARGE], "a") is not first


@pytest.mark.parametrize(("value", "problem"), [
    ([{"offerings": []}], "[0].name: is missing"),
    ([{"name": "x", "offerings": [{}]}], "[0].offerings[0].price: is missing"),
    ([{"name": "x", "capacity": {"cpu": "lots"}}], "x: capacity.cpu: 'lots' is not a quantity"),
    (["x"], "[0]: must be an object, is text"),
    ({"types": []}, "instanceTypes: is missing"),
])  # fmt: skip
def test_errors_name_the_type_and_the_field(value: Any, problem: str) -> None:
    with pytest.raises(SnapshotError) as caught:
        Catalogs().of_value(value, "a.json")
    assert str(caught.value) == f"a.json: instanceTypes: {problem}"


@pytest.mark.parametrize(("data", "problem"), [(b"[", "is not JSON"), (None, "cannot be read: No such file")])
def test_errors_name_the_file(tmp_path: Path, data: bytes | None, problem: str) -> None:
    if data is not None:
        (tmp_path / "x.json").write_bytes(data)
    with pytest.raises(SnapshotError, match=problem) as caught:
        Catalogs().of_file("x.json", tmp_path)
    assert str(caught.value).startswith(f"catalog {tmp_path / 'x.json'}: ")
