from __future__ import annotations

import gzip
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from karptui.karpenter.instance_type import NodeOverlay
from karptui.karpenter.inventory import CapacityBuffer, Inventory
from karptui.karpenter.labels import HOSTNAME
from karptui.karpenter.settings import Settings
from karptui.kube.objects import Condition
from karptui.kube.pod import HostPort, Pod, PodVolume
from karptui.kube.quantity import NANO
from karptui.kube.selectors import NodeSelectorTerm
from karptui.kube.volumes import (
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    TopologySelectorTerm,
    unread_text,
)
from karptui.kube.workload import PodTemplateObject, Workload
from karptui.provisioning.daemonsets import daemon_pods
from karptui.provisioning.go_sort import _Sorter, go_least, go_sort
from karptui.provisioning.not_modelled import not_modelled
from karptui.provisioning.overlays import OverlayStore, overlaid
from karptui.provisioning.ports import clash, clashes
from karptui.provisioning.prepared import Prepared, prepare
from karptui.provisioning.volumes import VolumeIndex, unread_of_volumes
from karptui.provisioning.waiting_pods import buffer_pods, requirement_problems
from tests.builders import (
    NOW_NS,
    a_daemonset,
    a_node,
    a_nodepool,
    a_pod,
    a_pod_template,
    a_requirement,
    amounts,
    an_instance_type,
)

READY = (Condition("ReadyForProvisioning", "True"),)
VECTORS = Path(__file__).resolve().parent.parent / "data" / "go-sort-vectors.txt.gz"


class TestBuffers:
    SPARE: ClassVar = {"pod_template_name": "spare", "replicas": 2, "conditions": READY, "has_spec_ref": True}
    WEB: ClassVar = {**SPARE, "pod_template_name": "", "scalable_kind": "Deployment", "scalable_name": "web"}

    @pytest.mark.parametrize(("fields", "count"), [
        (SPARE, 2),
        ({**WEB, "replicas": 1}, 1),
        ({**SPARE, "conditions": ()}, 0),
        ({**SPARE, "has_spec_ref": False}, 0),
        ({**SPARE, "pod_template_name": "gone"}, 0),
        ({**SPARE, "replicas": 0}, 0),
    ])  # fmt: skip
    def test_virtual_pods_of_a_buffer(self, fields: dict[str, Any], count: int) -> None:
        buffer = CapacityBuffer(name="b", namespace="default", **fields)
        inventory = Inventory(
            capacity_buffers=(buffer,),
            pod_templates=(PodTemplateObject(name="spare", namespace="default", template=a_pod_template()),),
            workloads=(
                Workload(
                    api_version="apps/v1", kind="Deployment", name="web", namespace="default", template=a_pod_template()
                ),
            ),
        )
        pods = buffer_pods(inventory, NOW_NS)
        assert len(pods) == count
        assert all(pod.phase == "" and pod.name.startswith("capacity-buffer-b-") for pod in pods)


class TestDaemonSets:
    def test_a_pod_in_another_namespace_is_not_the_daemons(self) -> None:
        daemonset = a_daemonset(name="agent", namespace="ops", cpu="1")
        stray = a_pod(name="agent-x", namespace="shop", node="n", daemonset="agent", cpu="3")
        [pod] = daemon_pods(Inventory(daemonsets=(daemonset,), pods=(stray,)), ignore_dra=True)
        assert pod.key == "ops/agent"
        assert str(pod.requests["cpu"]) == "1"

    @pytest.mark.parametrize(("ignored", "count"), [(True, 0), (False, 1)])
    def test_daemons_with_device_claims(self, ignored: bool, count: int) -> None:
        inventory = Inventory(daemonsets=(a_daemonset(has_resource_claims=True),))
        assert len(daemon_pods(inventory, ignore_dra=ignored)) == count


class TestNotModelled:
    def test_unmodelled_features_are_reported(self) -> None:
        inventory = Inventory(
            pods=(a_pod(has_resource_claims=True),),
            nodepools=(a_nodepool(name="fixed", replicas=3),),
            capacity_buffers=(CapacityBuffer(name="b"),),
        )
        settings = Settings(ignore_dra_requests=False, gates={"StaticCapacity": True, "CapacityBuffer": True})
        texts = not_modelled(inventory, settings)
        assert [sentence.split()[0] for sentence in texts] == ["IGNORE_DRA_REQUESTS", "static", "CapacityBuffers"]
        assert "fixed" in texts[1]


class TestOverlays:
    def test_an_overlay_that_sets_nothing_changes_nothing(self) -> None:
        types = (an_instance_type(),)
        inventory = Inventory(nodepools=(a_nodepool(),), overlays=(NodeOverlay(name="o"),))
        assert overlaid(inventory, {"general": types}) == {"general": types}
        store = OverlayStore()
        store.apply(NodeOverlay(name="o"), ("general", "m5.large"), [])
        assert store.overlaid(a_nodepool(), types[0]) is types[0]

    @pytest.mark.parametrize("overlay", [
        NodeOverlay(name="o", price="1", requirements=(a_requirement("kubernetes.io/hostname", "In", "x"),)),
        NodeOverlay(name="o", price="1", requirements=(a_requirement("example.com/a", "NotIn"),)),
        NodeOverlay(name="o", capacity=amounts({"cpu": "1"})),
    ])  # fmt: skip
    def test_invalid_overlays_are_skipped(self, overlay: NodeOverlay) -> None:
        types = [an_instance_type()]
        assert overlaid(Inventory(nodepools=(a_nodepool(),), overlays=(overlay,)), {"general": types}) == {
            "general": types
        }


class TestPorts:
    @pytest.mark.parametrize(("port", "other", "clash_expected"), [
        (HostPort(80), HostPort(80), True),
        (HostPort(80), HostPort(81), False),
        (HostPort(80, "TCP"), HostPort(80, "UDP"), False),
        (HostPort(80, host_ip="10.0.0.1"), HostPort(80, host_ip="10.0.0.2"), False),
        (HostPort(80, host_ip="10.0.0.1"), HostPort(80, host_ip="0.0.0.0"), True),
        (HostPort(80, host_ip="::1"), HostPort(80, host_ip="::"), True),
        (HostPort(80, host_ip="::ffff:10.0.0.1"), HostPort(80, host_ip="10.0.0.1"), True),
        (HostPort(80, host_ip="nonsense"), HostPort(80, host_ip="rubbish"), True),
        (HostPort(80, host_ip="nonsense"), HostPort(80, host_ip="10.0.0.1"), False),
    ])  # fmt: skip
    def test_which_ports_clash(self, port: HostPort, other: HostPort, clash_expected: bool) -> None:
        assert clashes(port, other) is clash_expected
        assert clashes(other, port) is clash_expected

    def test_a_pod_does_not_clash_with_itself(self) -> None:
        taken = [("a/b", (HostPort(80),))]
        assert clash("a/b", [HostPort(80)], taken) is None
        assert clash("a/c", [HostPort(81), HostPort(80)], taken) == ("a/b", HostPort(80))


class TestValidation:
    @pytest.mark.parametrize(("requirement", "words"), [
        (a_requirement("a", "Like", "x"), "has an unsupported operator Like"),
        (a_requirement("a/b/c", "Exists"), "a qualified name must consist"),
        (a_requirement("/b", "Exists"), "prefix part must be non-empty"),
        (a_requirement("-x/b", "Exists"), "a lowercase RFC 1123 subdomain"),
        (a_requirement("x." * 130 + "x/b", "Exists"), "no more than 253 bytes"),
        (a_requirement("x/", "Exists"), "name part must be non-empty"),
        (a_requirement("n" * 64, "Exists"), "no more than 63 bytes"),
        (a_requirement("a", "In", "v" * 64), "must be no more than 63 bytes"),
        (a_requirement("a", "In", "x", min_values=2), "at least minimum number of values"),
        (a_requirement("karpenter.sh/capacity-type", "In", "spot", "odd", min_values=2), "not enough valid values"),
        (a_requirement("a", "Gt", "1", "2"), "single positive integer"),
    ])  # fmt: skip
    def test_invalid_requirements(self, requirement: Any, words: str) -> None:
        assert words in "; ".join(requirement_problems(requirement))


class TestVolumes:
    def test_unread_objects_have_no_effect(self) -> None:
        claims = (
            PersistentVolumeClaim(name="bound", namespace="default", volume_name="gone",
                                  annotations={"pv.kubernetes.io/bind-completed": ""}),
            PersistentVolumeClaim(name="classy", namespace="default", storage_class_name="gone"),
        )  # fmt: skip
        kinds = frozenset({"PersistentVolumeClaim", "PersistentVolume", "StorageClass"})
        index = VolumeIndex(Inventory(claims=claims, unread=kinds))
        for name in ("nowhere", "bound", "classy"):
            pod = a_pod(volumes=[PodVolume(name="v", claim_name=name)])
            assert index.problem(pod) == ""
            assert (index.alternatives(pod), index.attachments(pod), index.reach(pod)) == ((), (), ())
            assert not index.is_missing(pod)

    def test_unread_kinds_are_reported_if_volumes_depend_on_them(self) -> None:
        pods = (a_pod(volumes=[PodVolume(name="v", claim_name="bound")]),)
        bound = PersistentVolumeClaim(name="bound", namespace="default", volume_name="one")
        classy = PersistentVolumeClaim(name="classy", namespace="default", storage_class_name="gp3")
        every = frozenset({"PersistentVolumeClaim", "PersistentVolume", "StorageClass", "CSINode"})
        told = [
            unread_text(unread_of_volumes(inventory))
            for inventory in (
                Inventory(pods=pods),
                Inventory(pods=(a_pod(),), unread=every),
                Inventory(pods=pods, unread=every),
                Inventory(pods=pods, claims=(bound,), unread=every),
                Inventory(pods=pods, claims=(bound, classy), unread=every),
                Inventory(pods=pods, claims=(bound,), nodes=(a_node(),), unread=frozenset({"CSINode"})),
            )
        ]
        assert told == [
            "",
            "",
            "PersistentVolumeClaims were not read: volumes do not restrict where pods run",
            "PersistentVolumes were not read: volumes do not restrict where pods run",
            "PersistentVolumes and StorageClasses were not read: volumes do not restrict where pods run",
            "CSINodes were not read: volumes count against no node's limit",
        ]

    def test_empty_terms_restrict_nothing(self) -> None:
        empty = (TopologySelectorTerm(()),)
        index = VolumeIndex(
            Inventory(
                claims=(
                    PersistentVolumeClaim(name="late", namespace="default", storage_class_name="late"),
                    PersistentVolumeClaim(name="bound", namespace="default", volume_name="pv"),
                    PersistentVolumeClaim(name="local", namespace="default", volume_name="disk"),
                ),
                storage_classes=(
                    StorageClass(name="late", provisioner="kubernetes.io/aws-ebs", allowed_topologies=empty),
                ),
                volumes=(
                    PersistentVolume(name="pv", required_node_terms=(NodeSelectorTerm(),), is_aws_ebs=True),
                    PersistentVolume(
                        name="disk",
                        required_node_terms=(NodeSelectorTerm((a_requirement(HOSTNAME, "In", "n"),)),),
                        is_local=True,
                    ),
                ),
            )
        )
        pods = {name: a_pod(volumes=[PodVolume(name="v", claim_name=name)]) for name in ("late", "bound", "local")}
        assert index.alternatives(pods["late"]) == index.alternatives(pods["bound"]) == ()
        assert [len(requirements) for requirements in index.alternatives(pods["local"])] == [0]
        assert index.attachments(pods["late"]) == (("ebs.csi.aws.com", "default/late"),)
        assert index.attachments(pods["bound"]) == (("ebs.csi.aws.com", "default/bound"),)
        assert index.attachments(pods["local"]) == ()


NODES = 6
MOMENTS = 30


def cluster(pods: Sequence[Pod], nodes: int = NODES) -> Prepared:
    inventory = Inventory(
        nodes=tuple(a_node(name=f"node-{i}", pool="", cpu="4") for i in range(nodes)),
        pods=tuple(pods),
        nodepools=(a_nodepool(),),
    )
    return prepare(inventory, (), Settings(), NOW_NS)


def test_updated_room_equals_a_new_index() -> None:
    rng = random.Random(7)
    index = cluster([a_pod(name="first", node="node-0", cpu="1")]).destination_index
    for moment in range(MOMENTS):
        pods = [
            a_pod(name=f"pod-{moment}-{i}", node=f"node-{rng.randrange(NODES)}", cpu=f"{rng.randrange(1, 3)}")
            for i in range(rng.randrange(1, 8))
        ]
        anew = cluster(pods)
        later = index.later(anew.destinations)
        assert later is not None
        index = later
        assert index.kinds == anew.destination_index.kinds
        for cpu in range(6):
            need = tuple(cpu * NANO if name == "cpu" else 0 for name in anew.columns.names)
            assert index.roomy(need) == anew.destination_index.roomy(need)


def test_added_or_reordered_nodes_need_a_new_index() -> None:
    few, many = cluster([a_pod(name="a")]), cluster([a_pod(name="a")], NODES + 1)
    assert few.destination_index.later(many.destinations) is None
    assert few.destination_index.later(many.destinations[1:]) is None


def test_equal_keys_are_ordered_as_in_go() -> None:
    """Each line has keys and their order after Go's ``sort.Slice``."""
    with gzip.open(VECTORS, "rt") as lines:
        for line in lines:
            _, keys, order = line.split(":")
            assert go_sort([int(key) for key in keys.split()]) == [int(index) for index in order.split()], line


@pytest.mark.parametrize(("keys", "order"), [
    ([], []),
    ([7], [0]),
    ([1, 0, *range(2, 60)], [1, 0, *range(2, 60)]),
    ([*range(1, 60), 0], [59, *range(59)]),
    ([2] + [1] * 13, [6, 12, 2, 3, 4, 5, 8, 13, 1, 9, 10, 11, 7, 0]),
    ([1] * 20, list(range(20))),
    ([3, 1, 2] * 5, [10, 1, 4, 13, 7, 2, 14, 5, 8, 11, 6, 9, 12, 0, 3]),
])  # fmt: skip
def test_small_examples(keys: list[int], order: list[int]) -> None:
    assert go_sort(keys) == order


def test_reversed_keys_are_sorted() -> None:
    assert go_sort(range(100, 0, -1)) == list(range(99, -1, -1))


@pytest.mark.parametrize("keys", [[3, 1, 2] * 9, list(range(40)), [5] * 30])
def test_heap_sort_is_used_if_quicksort_is_too_deep(keys: list[int]) -> None:
    sorter = _Sorter(keys)
    sorter.sort(0, len(keys), 0)
    assert sorter.keys == sorted(keys)
    assert [keys[index] for index in sorter.order] == sorter.keys


def test_the_least_elements_match_go() -> None:
    with gzip.open(VECTORS, "rt") as lines:
        for line in lines:
            _, keys, order = line.split(":")
            whole = [int(index) for index in order.split()]
            for count in (0, len(whole) // 3, len(whole)):
                assert set(go_least([int(key) for key in keys.split()], count)) == set(whole[:count]), line
