from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import HOSTNAME, ZONE
from karptui.karpenter.settings import Settings
from karptui.kube.pod import DO_NOT_SCHEDULE, PodAffinityTerm, PodVolume, TopologySpreadConstraint
from karptui.kube.selectors import LabelSelector, NodeSelectorTerm, PreferredSchedulingTerm
from karptui.kube.taints import NO_SCHEDULE, PREFER_NO_SCHEDULE, Taint, Toleration
from karptui.kube.volumes import PersistentVolume, PersistentVolumeClaim, StorageClass
from karptui.provisioning.kube_scheduler import Scheduler, bound_pods, enough
from karptui.provisioning.prepared import prepare
from tests.builders import NOW_NS, a_node, a_nodeclaim, a_nodepool, a_pod, a_requirement, amounts, an_owner
from tests.forward.making import TYPES

WEB = LabelSelector((("app", "web"),))


def places(nodes: list[Any], pods: list[Any], running: tuple[Any, ...] = (), **others: Any) -> list[str]:
    inventory = Inventory(nodes=tuple(nodes), pods=(*running, *pods), nodepools=(a_nodepool(),), **others)
    prepared = prepare(inventory, TYPES, Settings(), NOW_NS)
    place = Scheduler(prepared, bound_pods(inventory.pods)).place(pods)
    return [place.get(pod.uid, "") for pod in pods]


def unmanaged(name: str, **fields: Any) -> Any:
    return a_node(name=name, pool="", **fields)


ONE, TWO = unmanaged("node-1"), unmanaged("node-2")
REPELLING = unmanaged("node-1", taints=[Taint("old", PREFER_NO_SCHEDULE)])
APART: dict[str, Any] = {"pod_anti_affinity": (PodAffinityTerm(topology_key=HOSTNAME, label_selector=WEB),)}
APART_BY_ZONE: dict[str, Any] = {
    "labels": {"app": "web"},
    "pod_anti_affinity": (PodAffinityTerm(topology_key=ZONE, label_selector=WEB),),
}
ZONES_A_B = tuple(NodeSelectorTerm((a_requirement(ZONE, "In", f"us-east-1{letter}"),)) for letter in "ab")


SPREAD = TopologySpreadConstraint(1, ZONE, DO_NOT_SCHEDULE, WEB)
PREFERRED = PreferredSchedulingTerm(10, NodeSelectorTerm((a_requirement(ZONE, "In", "us-east-1b"),)))
BALANCED = [unmanaged(name, cpu="2", memory="8000Mi") for name in ("node-1", "node-2")]
ZONES = {**dict.fromkeys("abdefg", "us-east-1a"), **dict.fromkeys("ch", "us-east-1b")}


@pytest.mark.parametrize(
    ("nodes", "running", "pods", "placed"),
    [
        ([ONE, TWO], [], [a_pod(name=f"p{i}", cpu="1500m") for i in range(3)], ["", "node-1", "node-2"]),
        ([unmanaged("node-1", deletion_ns=NOW_NS)], [], [a_pod()], [""]),
        ([REPELLING], [], [a_pod()], ["node-1"]),
        ([REPELLING, TWO], [], [a_pod()], ["node-2"]),
        ([ONE, TWO], [], [a_pod(name=f"p{i}", **APART) for i in range(3)], ["", "node-1", "node-2"]),
        ([unmanaged("node-1", zone="us-east-1a")], [], [a_pod(required_node_terms=ZONES_A_B)], ["node-1"]),
        ([unmanaged("node-1", zone="us-east-1b")], [], [a_pod(required_node_terms=ZONES_A_B)], ["node-1"]),
        ([unmanaged("node-1", zone="us-east-1c")], [], [a_pod(required_node_terms=ZONES_A_B)], [""]),
        ([ONE], [], [a_pod(preferred_node_terms=(PREFERRED,))], ["node-1"]),
        ([ONE, unmanaged("node-2", zone="us-east-1b")], [], [a_pod(preferred_node_terms=(PREFERRED,))], ["node-2"]),
        ([ONE, TWO], [a_pod(name="old", node="node-1", cpu="1")], [a_pod(owner=an_owner(name="x"))], ["node-2"]),
        (
            BALANCED,
            [
                a_pod(name="even", node="node-1", cpu="600m", memory="2400Mi"),
                a_pod(name="lopsided", node="node-2", cpu="0", memory="4800Mi"),
            ],
            [a_pod(name="new", cpu="500m", memory="500Mi")],
            ["node-2"],
        ),
        # Anti-affinity excludes only the zones that have a matching pod.
        (
            [ONE, unmanaged("node-2", zone="us-east-1b")],
            [a_pod(name="old", node="node-1", cpu="100m", **APART_BY_ZONE)],
            [a_pod(name=f"p{i}", cpu="100m", **APART_BY_ZONE) for i in range(2)],
            ["", "node-2"],
        ),
        # Unlike Karpenter, kube-scheduler does not count zones that only NodePools could add.
        (
            [unmanaged("node-1", zone="us-east-1a")],
            [],
            [a_pod(name=f"p{i}", topology_spread=(SPREAD,)) for i in range(2)],
            ["node-1", "node-1"],
        ),
        (
            [unmanaged("node-1", cpu="64"), unmanaged("node-2", cpu="64", zone="us-east-1b")],
            [a_pod(name=f"r{i}", node="node-1", cpu="10m") for i in range(5)],
            [a_pod(name="new", cpu="10m")],
            ["node-2"],
        ),
        (
            [unmanaged(f"node-{name}", zone=zone) for name, zone in ZONES.items()],
            [a_pod(name=f"old-{name}", node=f"node-{name}", cpu="100m") for name in "abc"],
            [a_pod(name="new", cpu="100m")],
            ["node-h"],
        ),
    ],
    ids=[
        *("each sees those before", "deleted", "repels", "avoided", "apart", "zone a", "zone b", "no zone"),
        *(
            "another is preferred",
            "preferred",
            "the emptier",
            "change of balance",
            "apart by zone",
            "zones that have nodes",
        ),
        *("spread by default", "spread by default over zones as well as hosts"),
    ],
)
def test_nodes_that_pods_are_scheduled_to(
    nodes: list[Any], running: list[Any], pods: list[Any], placed: list[str]
) -> None:
    assert sorted(places(nodes, pods, tuple(running))) == placed


def test_cordoned_and_not_ready_nodes_take_only_pods_that_tolerate_it() -> None:
    """The taint may be missing, because Kubernetes adds it a moment after the field or condition."""
    pods = [a_pod(name="a"), a_pod(name="b", tolerations=(Toleration(operator="Exists"),))]
    assert places([replace(unmanaged("node-1"), is_unschedulable=True)], pods) == ["", "node-1"]
    assert places([unmanaged("node-1", is_ready=False)], pods) == ["", "node-1"]


def test_a_ready_node_takes_pods_before_karpenter_marks_it_as_initialized() -> None:
    startup = Taint("example.com/agent", NO_SCHEDULE)
    node = a_node(is_initialized=False, allocatable={"nvidia.com/gpu": "0"})
    claim = a_nodeclaim(stage="Registered", startup_taints=(startup,), allocatable=amounts({"nvidia.com/gpu": "1"}))
    pods = [a_pod(name="gpu", requests={"nvidia.com/gpu": "1"}), a_pod(name="web", cpu="100m")]
    assert places([node], pods, nodeclaims=(claim,)) == ["", "node-1"]
    assert places([replace(node, taints=(startup,))], pods, nodeclaims=(claim,)) == ["", ""]
    repelling = Taint("example.com/agent", PREFER_NO_SCHEDULE)
    claim = replace(claim, startup_taints=(repelling,))
    assert places([replace(node, taints=(repelling,))], pods, nodeclaims=(claim,)) == ["", "node-1"]


def test_a_pod_with_missing_volumes_is_unschedulable() -> None:
    names = ("missing", "of-no-class", "unbound", "early", "late", "going")
    pods = [a_pod(name=name, volumes=(PodVolume("data", name),)) for name in names]
    bound = {"pv.kubernetes.io/bind-completed": "yes"}
    claims = (
        PersistentVolumeClaim(name="of-no-class", namespace="default", storage_class_name="nosuch"),
        PersistentVolumeClaim(name="unbound", namespace="default"),
        PersistentVolumeClaim(name="early", namespace="default", storage_class_name="early"),
        PersistentVolumeClaim(name="late", namespace="default", storage_class_name="late"),
        PersistentVolumeClaim(name="going", namespace="default", volume_name="pv-going", annotations=bound),
    )
    classes = (
        StorageClass(name="early", volume_binding_mode="Immediate"),
        StorageClass(name="late", volume_binding_mode="WaitForFirstConsumer"),
    )
    volumes = (PersistentVolume(name="pv-going", deletion_ns=NOW_NS),)
    texts = places([unmanaged("node-1")], pods, claims=claims, storage_classes=classes, volumes=volumes)
    assert texts == ["", "", "", "", "node-1", "node-1"]


def test_a_read_write_once_pod_claim_admits_one_pod() -> None:
    claims = (a_claim("one", is_exclusive=True), a_claim("many"))
    running = tuple(
        a_pod(name=f"r-{claim.name}", node="node-1", volumes=(PodVolume("data", claim.name),)) for claim in claims
    )
    pods = [a_pod(name=claim.name, volumes=(PodVolume("data", claim.name),)) for claim in claims]
    volumes = tuple(PersistentVolume(name=claim.volume_name) for claim in claims)
    assert places([unmanaged("node-1")], pods, running, claims=claims, volumes=volumes) == ["", "node-1"]
    assert places([unmanaged("node-1")], pods, claims=claims, volumes=volumes) == ["node-1", "node-1"]


def test_a_pod_with_a_local_volume_is_scheduled_only_to_the_node_of_the_volume() -> None:
    """Karpenter ignores the hostname of local volumes."""
    pod = a_pod(name="db-0", volumes=(PodVolume("data", "local"),))
    for host, placed in (("node-2", "node-2"), ("gone", "")):
        terms = (NodeSelectorTerm((a_requirement(HOSTNAME, "In", host),)),)
        volumes = (PersistentVolume(name="pv-local", is_local=True, required_node_terms=terms),)
        assert places([ONE, TWO], [pod], claims=(a_claim("local"),), volumes=volumes) == [placed]


def a_claim(name: str, **fields: Any) -> PersistentVolumeClaim:
    bound = {"pv.kubernetes.io/bind-completed": "yes"}
    return PersistentVolumeClaim(name=name, namespace="default", volume_name=f"pv-{name}", annotations=bound, **fields)


def test_each_search_checks_some_nodes_and_the_next_continues_there() -> None:
    assert [enough(nodes) for nodes in (60, 100, 150, 500, 5000, 10000)] == [60, 100, 100, 230, 500, 500]
    nodes = [unmanaged(f"node-{number:03}", cpu="1") for number in range(300)]
    texts = places(nodes, [a_pod(name=f"p{number}", cpu="900m") for number in range(2)])
    first, second = sorted(int(name.removeprefix("node-")) for name in texts)
    assert first < enough(300) <= second
