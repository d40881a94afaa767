"""Instance types of NodePools in a session, and NodeClasses that were not read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from karptui.aws.cluster_types import ClusterTypes, cluster_types
from karptui.aws.evidence import Evidence, offering_value
from karptui.aws.launch_refusals import REFUSED_NS
from karptui.decode.kinds import Kind
from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import ARCH, CAPACITY_TYPE, OS, ZONE
from karptui.karpenter.metrics import ControllerMetrics, OfferingMetrics, OfferingName
from karptui.karpenter.nodeclass import NodeClass, NodeClassRef
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.settings import Settings
from karptui.kube.pod import Pod, TopologySpreadConstraint
from karptui.kube.quantity import parse_quantity
from karptui.kube.selectors import LabelSelector
from karptui.kube.taints import Taint
from karptui.pending.causes import Cause, Diagnoses
from karptui.provisioning.prepared import prepare
from karptui.provisioning.solution import solve
from karptui.serving.known_values import known_values
from karptui.session.cluster_view import ClusterView
from karptui.session.nodeclasses import Absence, alias_of, assumed_nodeclasses, assumed_of, unread_classes, unread_ec2
from karptui.session.pool_types import offered_types, offered_types_of, seen_types, shown_by, with_metrics
from karptui.session.pools import NEAR, pool_rows
from karptui.session.prepare import base_of, prepare_view
from karptui.session.refusals import with_refusals
from karptui.session.types_of_pools import pool_entries, types_of_pools
from karptui.sources.source import Phase
from karptui.views.pools.sentences import ready_lines
from karptui.whatif.edits import DeleteObject, ObjectRef, PutObject
from karptui.whatif.edits.apply import apply
from tests import story_e
from tests.builders import NOW_NS, a_condition, a_launch_failure, a_node, a_nodeclaim, a_nodepool, a_pod, a_requirement
from tests.builders.clusters import state_of
from tests.ui.fleet import status
from tests.views.pools.rows import view_of

KWOK = replace(a_nodepool(name="other"), node_class_ref=NodeClassRef("karpenter.kwok.sh", "KWOKNodeClass", "k"))
INVENTORY = Inventory(
    nodepools=(a_nodepool(name="own", is_ready=False), KWOK, replace(KWOK, name="also")), nodes=(a_node(pool="other"),)
)
POOL = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: new}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: NAME}
      requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]
"""


def names_of(types: Sequence[object]) -> list[str]:
    return sorted(str(getattr(item, "name", item)) for item in types)


@pytest.mark.parametrize(("inventory", "evidence"), [
    (INVENTORY, Evidence()),
    (INVENTORY, Evidence(instance_types=story_e.TYPES)),
    (story_e.inventory(), Evidence(instance_types=story_e.TYPES)),
])  # fmt: skip
def test_the_screen_and_the_engine_use_the_same_types(inventory: Inventory, evidence: Evidence) -> None:
    view = ClusterView(state_of(inventory), {}, evidence=evidence)
    shown = {entry.name: names_of([item.name for item in entry.types]) for entry in types_of_pools(view)}
    prepared, _ = prepare_view(view, NOW_NS)
    assert prepared.inventory.nodepools
    assert shown == {pool: names_of(types) for pool, types in prepared.types_by_pool.items()}


def test_the_types_of_a_generation_are_resolved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counting(*args: Any, **named: Any) -> ClusterTypes:
        calls.append(args)
        return real(*args, **named)

    real = cluster_types
    monkeypatch.setattr("karptui.session.pool_types.cluster_types", counting)
    view = ClusterView(state_of(INVENTORY), {})
    prepare_view(view, NOW_NS)
    pool_entries(view)
    known_values(view)
    assert offered_types_of(view) is offered_types_of(ClusterView(view.state, {}, view))
    assert len(calls) == 1


NODE = a_node(instance_type="seen", cpu="3", memory="6Gi", capacity={"cpu": "4", "memory": "8Gi", "pods": "50"})
METRICS = ControllerMetrics(
    read_at_ns=NOW_NS,
    endpoint="pod karpenter/karpenter-1",
    cpu_cores={"seen": 4, "named": 16, "not-offered": 2},
    memory_bytes={"seen": 8 << 30, "named": 64 << 30, "not-offered": 4 << 30},
    offerings={
        OfferingName("seen", "zone-a", "on-demand"): OfferingMetrics(0.2, is_available=True),
        OfferingName("seen", "zone-b", "on-demand"): OfferingMetrics(0.2, is_available=False),
        OfferingName("named", "zone-a", "spot"): OfferingMetrics(0.5, is_available=True),
    },
)


def types_by_name(asked: frozenset[str] = frozenset()) -> dict[str, InstanceType]:
    return {with_metric.name: with_metric for with_metric in with_metrics(seen_types((NODE,), asked), METRICS, asked)}


def test_a_type_without_nodes_gets_the_overhead_of_the_others() -> None:
    instance_type = types_by_name()["named"]
    assert [str(instance_type.capacity[name]) for name in ("cpu", "memory", "pods")] == ["16", "64Gi", "110"]
    assert (instance_type.overhead.kube_reserved["cpu"].nano, instance_type.overhead.kube_reserved["memory"].units) == (
        4 * 10**9,
        16 << 30,
    )
    assert instance_type.is_guessed


def test_the_type_of_a_nodeclaim_is_known_before_its_node_exists() -> None:
    amounts = {"cpu": parse_quantity("2"), "memory": parse_quantity("4Gi")}
    coming = a_nodeclaim(name="coming", node="", instance_type="coming", capacity=amounts, allocatable=amounts)
    registered = a_nodeclaim(name="there", node="node-1", instance_type="other", capacity=amounts, allocatable=amounts)
    shown = shown_by(Inventory(nodes=(NODE,), nodeclaims=(coming, registered)))
    assert {seen_type.name: seen_type.seen_on for seen_type in seen_types(shown)} == {"seen": 1, "coming": 1}


@pytest.mark.parametrize(("requirement", "cpu", "cause", "sentence"), [
    (CAPACITY_TYPE, "10", Cause.CLAIM, "cpu and memory of 1 type beside the 1 type seen on 1 node"),
    (CAPACITY_TYPE, "15", Cause.UNKNOWN, "tell prices"),
    (ARCH, "10", Cause.UNKNOWN, "1 type seen on 1 node; labels of its other types are not known"),
])  # fmt: skip
def test_amounts_and_labels_missing_in_metrics_are_unknown(
    requirement: str, cpu: str, cause: Cause, sentence: str
) -> None:
    pool = a_nodepool(
        node_class_ref=NodeClassRef("karpenter.kwok.sh", "KWOKNodeClass", "default"),
        requirements=(a_requirement(requirement, "Exists"),),
    )
    pod = a_pod(cpu=cpu)
    inventory = Inventory(pods=(pod,), nodepools=(pool,), nodes=(NODE,))
    offered = offered_types(inventory, Settings(), Evidence(metrics=METRICS))
    assert any(sentence in note for note in offered.notes)
    prepared = prepare(inventory, offered.types, Settings(), NOW_NS)
    diagnosis = Diagnoses(prepared, solve(prepared)).of(pod)
    assert diagnosis.cause is cause
    if diagnosis.destination is not None:
        assert diagnosis.destination.price_per_hour == 0.5


def test_offerings_of_failed_launches_are_unavailable_and_noted() -> None:
    subnets = [{"id": f"subnet-{zone}", "zone": f"us-east-1{zone}", "zoneID": f"use1-az{zone}"} for zone in "ab"]
    amis = [{"id": "ami-1", "requirements": [{"key": ARCH, "operator": "In", "values": ["amd64"]}]}]
    nodeclass = NodeClass(
        name="default",
        group="karpenter.k8s.aws",
        kind="EC2NodeClass",
        spec={"amiSelectorTerms": [{"alias": "al2023@latest"}]},
        status={"subnets": subnets, "amis": amis},
    )
    event = a_launch_failure("m5.large", "us-east-1a")
    inventory = Inventory(nodeclasses=(nodeclass,), nodepools=(a_nodepool(),), events=(event,))
    evidence = with_refusals(Evidence(), state_of(inventory), NOW_NS)
    offered = offered_types(inventory, Settings(), evidence)
    [m5_large] = [item for item in offered.nodeclasses.by_nodeclass["default"].types if item.name == "m5.large"]
    codes = {
        (offering_value(offering, CAPACITY_TYPE), offering_value(offering, ZONE)): offering.error_code
        for offering in m5_large.offerings
    }
    assert {key: code for key, code in codes.items() if code} == {
        ("on-demand", "us-east-1a"): "InsufficientInstanceCapacity"
    }
    assert offered.notes[-1].startswith("by events, EC2 refused 1 offering: excluded until 12:03:00Z")
    later = with_refusals(evidence, state_of(inventory), NOW_NS + REFUSED_NS)
    assert not any("refused" in note for note in offered_types(inventory, Settings(), later).notes)


OF_ZONE_A = (a_requirement(ZONE, "In", "us-east-1a"),)
SPREAD = TopologySpreadConstraint(1, ZONE, "DoNotSchedule", LabelSelector(match_labels=(("app", "web"),)))


def cause_of(pod: Pod, *pods: Pod, **of_pool: Any) -> Cause:
    """Return the cause of a pending pod if the only NodePool's types are unknown; ``pods`` run in two zones."""
    pool = a_nodepool(node_class_ref=KWOK.node_class_ref, **of_pool)
    nodes = (a_node(name="node-a", cpu="1"), a_node(name="node-b", zone="us-east-1b", cpu="1"))
    inventory = Inventory(pods=(*pods, pod), nodepools=(pool,), nodes=nodes)
    prepared = prepare(inventory, offered_types(inventory, Settings(), Evidence()).types, Settings(), NOW_NS)
    return Diagnoses(prepared, solve(prepared)).of(pod).cause


def test_a_taint_rejects_a_pod_of_any_type_even_if_the_pool_is_at_its_limit() -> None:
    limit = {"cpu": parse_quantity("1")}
    taints = (Taint("team", "NoSchedule", "ml"),)
    assert cause_of(a_pod(cpu="2"), limits=limit, taints=taints) is Cause.UNPLACED
    assert cause_of(a_pod(cpu="2"), limits=limit) is Cause.UNKNOWN


def test_a_spread_over_zones_rejects_a_pod_of_any_type_if_the_pool_has_one_zone() -> None:
    running = a_pod(name="web-2", node="node-a", labels={"app": "web"}, cpu="1")
    pending = a_pod(labels={"app": "web"}, cpu="2", topology_spread=(SPREAD,))
    assert cause_of(pending, running, requirements=OF_ZONE_A) is Cause.UNPLACED
    assert cause_of(pending, running, requirements=()) is Cause.UNKNOWN
    more = replace(SPREAD, min_domains=3)
    few = a_pod(labels={"app": "web"}, cpu="2", topology_spread=(more,))
    assert cause_of(few, running, requirements=OF_ZONE_A) is Cause.UNKNOWN


@given(st.lists(st.sampled_from((1, 2, 10, 11, 20, 21)), max_size=7))
def test_neighbours_of_a_nodepool_have_equal_or_near_weights(weights: list[int]) -> None:
    rows = pool_rows(view_of(*(a_nodepool(name=f"p{at}", weight=weight) for at, weight in enumerate(weights))))
    for at, row in enumerate(rows):
        others = {item.name: abs(item.pool.weight - row.pool.weight) for item in rows if item is not row}
        assert [neighbour.name for neighbour in row.ties] == [name for name, distance in others.items() if not distance]
        assert [item.name for item in row.near] == [name for name, distance in others.items() if 0 < distance < NEAR]
        assert row.before == (rows[at - 1].name if at else "")
        assert row.after == (rows[at + 1].name if at + 1 < len(rows) else "")


def test_unread_nodeclasses_are_determined_once_for_all_nodepools(monkeypatch: pytest.MonkeyPatch) -> None:
    live = view_of(*(a_nodepool(name=f"p{at}") for at in range(50)))
    view = ClusterView(live.state, {}, live, evidence=live.evidence)
    asked: Counter[str] = Counter()

    def exists(pool: NodePool) -> bool:
        asked[pool.name] += 1
        return True

    monkeypatch.setattr(NodePool, "nodeclass_exists", property(exists))
    assert len(pool_rows(view)) == 50
    assert unread_classes(view).refs
    assert max(asked.values()) <= 3


def a_pool_that_says(status: str, reason: str) -> NodePool:
    condition = a_condition("NodeClassReady", status=status, reason=reason)
    return a_nodepool(conditions=(condition, a_condition("Ready", status="False")))


@pytest.mark.parametrize(("pool", "unread", "told"), [
    (a_nodepool(), 1, ""),
    (a_pool_that_says("True", "NodeClassReady"), 1, ""),
    (a_pool_that_says("False", "SubnetsReady"), 1, ""),
    (a_pool_that_says("False", "NodeClassNotFound"), 0, "EC2NodeClass default does not exist"),
    (a_pool_that_says("Unknown", "AwaitingReconciliation"), 0,
     "EC2NodeClass default is not among those that were read"),
    (a_nodepool(is_ready=False), 0, "EC2NodeClass default is not among those that were read"),
])  # fmt: skip
def test_a_nodeclass_is_missing_if_the_nodepools_condition_says_so(pool: NodePool, unread: int, told: str) -> None:
    assert len(unread_ec2((pool,), ())) == unread
    view = ClusterView(state_of(Inventory(nodepools=(pool,), nodes=(a_node(),))), {}, evidence=Evidence())
    (entry,) = pool_entries(view)
    assert (entry.problem, entry.is_unknown) == (told, told.endswith("were read"))
    assert ("with default settings" in entry.origin) == bool(unread) == bool(assumed_of(view))


@pytest.mark.parametrize(("phase", "absence", "problem", "is_assumed"), [
    (Phase.SYNCING, Absence.ON_THE_WAY, "EC2NodeClass default is loading", False),
    (Phase.LIVE, Absence.GONE, "EC2NodeClass default does not exist", False),
    (Phase.STALE, Absence.GONE, "EC2NodeClass default does not exist", False),
    (Phase.FORBIDDEN, Absence.UNREAD, "", True),
    (Phase.OFFLINE, Absence.UNREAD, "", True),
])  # fmt: skip
def test_a_nodeclass_absent_from_a_complete_list_does_not_exist(
    phase: Phase, absence: Absence, problem: str, *, is_assumed: bool
) -> None:
    state = state_of(Inventory(nodepools=(a_nodepool(),), nodes=(a_node(),)))
    view = ClusterView(state, {str(Kind.NODECLASS): status(Kind.NODECLASS, phase)}, evidence=Evidence())
    (entry,) = pool_entries(view)
    assert (entry.problem, bool(assumed_of(view))) == (problem, is_assumed)
    assert ("was not read" in " ".join(offered_types_of(view).notes)) == is_assumed
    (row,) = pool_rows(view)
    assert row.class_absence is absence
    texts = [f"EC2NodeClass default {absence}"] * (absence is not Absence.ON_THE_WAY)
    assert [text.partition(" ")[2] for ((text, _),) in ready_lines(row)] == texts


def test_a_nodeclass_may_exist_if_the_list_never_completed() -> None:
    inventory = Inventory(nodepools=(a_nodepool(),), nodes=(a_node(),), unread=frozenset({Kind.NODECLASS}))
    statuses = {str(Kind.NODECLASS): status(Kind.NODECLASS, Phase.DISCONNECTED)}
    assert assumed_of(ClusterView(state_of(inventory), statuses, evidence=Evidence()))


@pytest.mark.parametrize(("images", "system", "alias"), [
    (("general:Windows Server 2019 Datacenter", "x:Bottlerocket OS 1.49"), "linux", "windows2019"),
    (("general:Ubuntu 24.04 LTS", "x:Bottlerocket OS 1.49"), "linux", "al2023"),
    (("x:Windows Server 2019 Datacenter", "x:Amazon Linux 2"), "linux", "al2"),
    (("x:Windows Server 2019 Datacenter",), "linux", "al2023"),
    (("x:Amazon Linux 2", "x:Windows Server 2019 Datacenter"), "windows", "windows2019"),
    (("x:Amazon Linux 2",), "windows", "windows2022"),
])  # fmt: skip
def test_the_assumed_image_is_that_of_the_nodepools_nodes_or_of_the_os(
    images: tuple[str, ...], system: str, alias: str
) -> None:
    pool = a_nodepool(requirements=(a_requirement(OS, "In", system),))
    result = [image.partition(":") for image in images]
    nodes = tuple(replace(a_node(name=f"{n}", pool=text), os_image=image) for n, (text, _, image) in enumerate(result))
    (assumed,) = assumed_nodeclasses(unread_ec2((pool,), ()), (pool,), nodes)
    assert alias_of(assumed) == f"{alias}@latest"


@pytest.mark.parametrize(("name", "has_types"), [("default", True), ("typo", False)])
def test_a_new_nodepool_may_use_the_assumed_nodeclass_but_no_unknown_one(name: str, has_types: bool) -> None:
    view = ClusterView(state_of(Inventory(nodepools=(a_nodepool(),), nodes=(a_node(),))), {}, evidence=Evidence())
    edited = apply(base_of(view, NOW_NS), (PutObject(POOL.replace("NAME", name)),))
    assert bool(edited.types.of_pool("new")) == has_types
    told = "NodePool new: no instance types are known for EC2NodeClass typo, which is not among those that were read"
    assert (told in edited.types.notes) != has_types


def test_a_new_nodepool_on_an_assumed_nodeclass_is_ready() -> None:
    other = replace(assumed_nodeclasses(unread_ec2((a_nodepool(),), ()), (a_nodepool(),), (a_node(),))[0], name="other")
    inventory = Inventory(nodepools=(a_nodepool(),), nodes=(a_node(),), nodeclasses=(other,))
    base = base_of(ClusterView(state_of(inventory), {}, evidence=Evidence()), NOW_NS)
    for name, notes in (("default", 0), ("typo", 1)):
        edited = apply(base, (PutObject(POOL.replace("NAME", name)),))
        assert [note for note in edited.notes if "launches nothing" in note] == [
            "NodePool new is not ready, so it launches nothing: there is no EC2NodeClass typo"
        ] * notes
    gone = apply(base, (DeleteObject(ObjectRef("EC2NodeClass", "other")),))
    assert gone.types.of_pool("general")
