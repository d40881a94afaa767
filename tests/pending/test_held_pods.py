"""Pods that stay pending whatever Karpenter launches: gates, StorageClasses, drivers and foreign taints."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import NODEPOOL, ZONE
from karptui.karpenter.nodeclass import NodeClass
from karptui.karpenter.settings import Settings
from karptui.kube.pod import SCHEDULING_GATED, PodTrouble, PodVolume
from karptui.kube.selectors import NodeSelectorRequirement, NodeSelectorTerm
from karptui.kube.taints import Taint, Toleration
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.volumes import SELECTED_NODE, CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass
from karptui.kube.workload import Workload
from karptui.pending.report_steps import report_of_pending
from karptui.provisioning.prepared import prepare
from karptui.views.pending.disagreements import disagreement_text
from tests.builders import (
    HOUR_NS,
    MINUTE_NS,
    NOW_NS,
    a_node,
    a_nodeclaim,
    a_nodepool,
    a_pod,
    an_event,
    an_instance_type,
    an_owner,
)
from tests.builders.clusters import state_of

TYPES = (an_instance_type(name="m5.large", cpu="2", memory="8Gi"),)
SCAN = Taint("scan.example/pending", "NoSchedule")


def held(**objects: Any) -> list[str]:
    inventory = Inventory(nodepools=(a_nodepool(),), **objects)
    report = report_of_pending(prepare(inventory, TYPES, Settings(), NOW_NS), state_of(inventory))
    return [disagreement_text(reason) for group in report.groups for reason in group.disagreements]


def gated(*, ready: bool, controller: str = "kueue-controller-manager") -> list[str]:
    pod = a_pod(name="tune", scheduled_reason=SCHEDULING_GATED)
    pod = replace(pod, trouble=PodTrouble(gates=("kueue.x-k8s.io/admission",)))
    owner = an_owner(name=f"{controller}-7d9")
    manager = a_pod(name="any", namespace="kueue", node="n1", is_ready=ready, owner=owner)
    workload = Workload(name=controller, namespace="kueue", api_version="apps/v1", kind="Deployment", replicas=1)
    return held(pods=(pod, manager), nodes=(a_node(name="n1"),), workloads=(workload,))


def test_a_gate_whose_controller_has_no_ready_pod_is_not_removed() -> None:
    [result] = gated(ready=False)
    why = "Deployment kueue/kueue-controller-manager has no ready pod"
    assert result == f"scheduling gate kueue.x-k8s.io/admission is not removed: {why}"
    assert gated(ready=True) == []
    assert gated(ready=False, controller="volcano-controller-manager") == []


@pytest.mark.parametrize(("is_default", "end"), [(False, ", and no StorageClass is the default"), (True, "")])
def test_a_claim_without_a_storage_class_is_named(*, is_default: bool, end: str) -> None:
    pod = a_pod(name="vm-0", volumes=(PodVolume("data", "data-vm-0"),))
    result = held(
        pods=(pod,),
        claims=(PersistentVolumeClaim(name="data-vm-0", namespace="default"),),
        storage_classes=(StorageClass(name="gp3", is_default=is_default),),
    )
    assert result == [f"its PersistentVolumeClaim data-vm-0 is not bound and names no StorageClass{end}"]


@pytest.mark.parametrize(("driver", "registered", "end"), [
    ("ebs.csi.aws.com", "ebs.csi.eks.amazonaws.com", ", and no node has it registered (they have ebs.csi.eks"),
    ("ebs.csi.aws.com", "ebs.csi.aws.com", "has not created its volume"),
    ("cluster.local/nfs", "ebs.csi.aws.com", "has not created its volume"),
])  # fmt: skip
def test_a_driver_that_no_node_has_is_told_from_one_that_is_silent(driver: str, registered: str, end: str) -> None:
    [result] = unmade(driver=driver, registered=registered)
    assert end in result
    assert result.endswith("has not created its volume") is (end == "has not created its volume")


def unmade(
    *,
    driver: str = "ebs.csi.aws.com",
    registered: str = "ebs.csi.aws.com",
    selected: str = "n1",
    minutes: int = 60,
    node_minutes: int = 60,
    mode: str = "WaitForFirstConsumer",
) -> list[str]:
    claim = PersistentVolumeClaim(
        name="data",
        namespace="default",
        storage_class_name="gp3",
        phase="Pending",
        created_ns=NOW_NS - minutes * MINUTE_NS,
        annotations={SELECTED_NODE: selected} if selected else {},
    )
    return held(
        pods=(a_pod(name="vm-0", volumes=(PodVolume("data", "data"),)),),
        claims=(claim,),
        nodes=(a_node(name="n1", created_ns=NOW_NS - node_minutes * MINUTE_NS),),
        storage_classes=(StorageClass(name="gp3", provisioner=driver, volume_binding_mode=mode),),
        csi_nodes=(CSINode(name="n1", driver_limits=((registered, 25),)),),
    )


@pytest.mark.parametrize(("change", "is_told"), [
    ({}, True),
    ({"minutes": 1}, False),
    ({"node_minutes": 1}, False),
    ({"selected": ""}, False),
    ({"selected": "gone"}, False),
    ({"driver": "kubernetes.io/no-provisioner"}, False),
    ({"selected": "", "mode": "Immediate"}, True),
    ({"selected": "", "mode": "Immediate", "minutes": 1}, False),
])  # fmt: skip
def test_a_driver_is_awaited_once_it_should_create_the_volume(change: dict[str, Any], *, is_told: bool) -> None:
    assert any("has not created its volume" in text for text in unmade(**change)) is is_told


@pytest.mark.parametrize(("owner", "is_told"), [("old", True), ("new", False), ("", False)])
def test_a_volume_that_belongs_to_a_claim_of_before_is_named(owner: str, *, is_told: bool) -> None:
    result = held(
        pods=(a_pod(name="vm-0", volumes=(PodVolume("data", "data"),)),),
        claims=(PersistentVolumeClaim(name="data", namespace="default", uid="new", volume_name="pv", phase="Pending"),),
        volumes=(PersistentVolume(name="pv", claim_uid=owner),),
    )
    text = "PersistentVolumeClaim data is Pending: the volume pv that it names still belongs to another claim"
    assert (text in result) is is_told


@pytest.mark.parametrize(("claim", "pod", "is_told"), [
    ({}, {}, True),
    ({"startup_taints": (SCAN,)}, {}, False),
    ({"created_ns": NOW_NS - HOUR_NS}, {}, False),
    ({"stage": "Registered"}, {}, False),
    ({}, {"tolerations": (Toleration("scan.example/pending", "Exists"),)}, False),
])  # fmt: skip
def test_taints_of_nodes_launched_meanwhile(claim: dict[str, Any], pod: dict[str, Any], *, is_told: bool) -> None:
    result = held(
        pods=(a_pod(name="promo", created_ns=NOW_NS - 20 * MINUTE_NS, requests={"cpu": "1"}, **pod),),
        nodes=(a_node(name="n1", taints=(SCAN,)),),
        nodeclaims=(a_nodeclaim(node="n1", **{"created_ns": NOW_NS - 10 * MINUTE_NS, **claim}),),
    )
    assert any("has the taint scan.example/pending:NoSchedule" in text for text in result) is is_told


@pytest.mark.parametrize(("late", "cpu", "labels", "is_told"), [
    ("nfd.example/gpu", "1200m", {}, True),
    ("nfd.example/gpu", "100m", {}, False),
    ("nfd.example/gpu", "1200m", {"nfd.example/gpu": "true"}, False),
    ("", "1200m", {}, False),
])  # fmt: skip
def test_daemonsets_unexpected_on_new_nodes(late: str, cpu: str, labels: dict[str, str], *, is_told: bool) -> None:
    selector = {late: "true"} if late else {}
    waiting = a_pod(name="rank", created_ns=NOW_NS - 20 * MINUTE_NS, requests={"cpu": "1"})
    agent = a_pod(name="agent-x", node="n1", daemonset="agent", node_selector=selector, requests={"cpu": cpu})
    result = held(
        pods=(waiting, agent),
        nodes=(a_node(name="n1", labels={"nfd.example/gpu": "true"}, cpu="2"),),
        nodeclaims=(a_nodeclaim(name="c1", node="n1", labels=labels, created_ns=NOW_NS - 10 * MINUTE_NS),),
        events=(
            an_event(
                about="Pod/default/rank",
                reason="Nominated",
                message="Pod should schedule on: nodeclaim/c1, node/n1",
                type_="Normal",
            ),
        ),
    )
    why = "Karpenter does not expect DaemonSet default/agent there, which selects nfd.example/gpu"
    expected = f"1 node launched in 20m has too little cpu left: {why}, a label that nodes get after they join"
    assert (expected in result) is is_told


FULL = "queue resource quota insufficient: insufficient cpu"
ABOVE = "couldn't assign flavors to pod set main: insufficient quota for cpu in a, request > maximum capacity (9 > 8)"
IN_USE = "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor a, 4 more needed"


@pytest.mark.parametrize(("about", "message", "seconds", "gates", "text"), [
    ("PodGroup/default/web", FULL, 5, (), f"volcano does not admit PodGroup web: {FULL}"),
    ("PodGroup/default/web", FULL, 600, (), ""),
    ("PodGroup/other/web", FULL, 5, (), ""),
    ("PodGroup/default/db", FULL, 5, (), ""),
    ("PodGroup/default/web", "1/1 tasks in gang unschedulable: pod group is not ready", 5, (), ""),
    ("Workload/default/llm-5c", ABOVE, 3000, ("kueue.x-k8s.io/admission",),
     f"volcano does not admit Workload llm-5c: {ABOVE.rpartition('main: ')[2]}"),
    ("Workload/default/llm-5c", IN_USE, 60, ("kueue.x-k8s.io/admission",), ""),
])  # fmt: skip
def test_groups_over_their_quota(about: str, message: str, seconds: int, gates: tuple[str, ...], text: str) -> None:
    pod = a_pod(labels={"kueue.x-k8s.io/pod-group-name": "llm-5c"}, scheduler_name="volcano")
    pod = replace(pod, trouble=PodTrouble(gates=gates), scheduled_reason=SCHEDULING_GATED if gates else "Unschedulable")
    event = an_event(about=about, message=message, source="volcano", last_ns=NOW_NS - seconds * NS_PER_SECOND)
    result = held(pods=(pod,), events=(event,))
    assert [line for line in result if "admit" in line] == ([text] if text else [])


@pytest.mark.parametrize(
    ("scheduler", "ready", "is_told"),
    [("bins", False, True), ("bins", True, False), ("", False, False), ("fargate-scheduler", False, False)],
)
def test_a_scheduler_that_has_said_nothing_and_runs_no_pod(scheduler: str, *, ready: bool, is_told: bool) -> None:
    pod = a_pod(scheduler_name=scheduler, scheduled_reason="")
    other = a_pod(name="bins-7d9", node="n1", is_ready=ready)
    result = held(pods=(pod, other), nodes=(a_node(name="n1"),))
    text = "scheduler bins has written no condition or event, and no ready pod has its name"
    assert result == ([text] if is_told else [])
    assert held(pods=(pod, a_pod(name="b", node="n1", scheduler_name=scheduler)), nodes=(a_node(name="n1"),)) == []


@pytest.mark.parametrize(
    ("minutes", "priority", "end"),
    [(87, 0, "may take 87m more to end"), (-10, 0, "should have ended 10m ago"), (1, 0, ""), (87, 200, "")],
)
def test_pods_that_take_long_to_end_on_the_nominated_node_are_named(minutes: int, priority: int, end: str) -> None:
    victim = a_pod(name="build", node="n1", deletion_ns=NOW_NS + minutes * MINUTE_NS, priority=priority)
    result = held(pods=(a_pod(nominated_node="n1", priority=100), victim), nodes=(a_node(name="n1"),))
    where = "kube-scheduler nominated n1, where pods of lower priority (default/build)"
    assert result == ([f"{where} {end}; Karpenter launches nothing for nominated pods"] if end else [])


@pytest.mark.parametrize(
    ("limits", "team", "is_told"),
    [((3, 3), "db", True), ((3, 4), "db", False), ((3, None), "db", False), ((3, 4), "web", True)],
)
def test_a_pod_with_more_volumes_than_any_suitable_node_attaches(
    limits: tuple[int | None, ...], team: str, *, is_told: bool
) -> None:
    """The pod selects nodes of team db: a node of another team may attach more."""
    names = ("a", "b", "c", "d")
    claims = (PersistentVolumeClaim(name=name, namespace="default", storage_class_name="gp3") for name in names)
    result = held(
        pods=(a_pod(volumes=tuple(PodVolume(name, name) for name in names), node_selector={"team": "db"}),),
        nodes=(a_node(name="n0", labels={"team": "db"}), a_node(name="n1", labels={"team": team})),
        claims=tuple(claims),
        storage_classes=(StorageClass(name="gp3", provisioner="ebs", volume_binding_mode="WaitForFirstConsumer"),),
        csi_nodes=tuple(CSINode(name=f"n{i}", driver_limits=(("ebs", limit),)) for i, limit in enumerate(limits)),
    )
    text = "it has 4 volumes of ebs, but no suitable node attaches more than 3 (CSINode)"
    assert (text in result) is is_told


def test_a_refusal_of_another_scheduler_is_not_called_kube_schedulers() -> None:
    pod = a_pod(scheduler_name="volcano", scheduled_message="pod group is not ready")
    result = held(pods=(pod,), nodes=(a_node(name="n1"),))
    assert result[-1].startswith(
        "scheduler volcano refuses it (pod group is not ready), but by Karpenter's rules it fits on n1"
    )


@pytest.mark.parametrize(("minutes", "has_claims", "is_told"), [(4, True, True), (4, False, False), (40, True, False)])
def test_a_pod_whose_resource_claim_cannot_be_created(minutes: int, *, has_claims: bool, is_told: bool) -> None:
    event = an_event(
        about="Pod/default/ocr",
        reason="FailedResourceClaimCreation",
        message='PodResourceClaim device: resourceclaimtemplate "mig" not found',
        last_ns=NOW_NS - minutes * MINUTE_NS,
    )
    pod = a_pod(name="ocr")
    pod = replace(pod, template=replace(pod.template, has_resource_claims=has_claims))
    result = held(pods=(pod,), events=(event,))
    why = 'the ResourceClaim cannot be created: PodResourceClaim device: resourceclaimtemplate "mig" not found'
    assert result == ([why] if is_told else [])


@pytest.mark.parametrize(("value", "selected", "tolerates", "more", "is_told"), [
    (3 * HOUR_NS, "db", False, (), True),
    (10 * MINUTE_NS, "db", False, (), False),
    (3 * HOUR_NS, "web", False, (), False),
    (3 * HOUR_NS, "db", True, (), False),
    (3 * HOUR_NS, "db", False, (SCAN,), False),
    (None, "db", False, (), False),
], ids=["left", "drains", "another-group", "tolerated", "another-taint", "without-time"])  # fmt: skip
def test_a_taint_that_the_cluster_autoscaler_left_on_selected_nodes_is_named(
    value: int | None, selected: str, more: tuple[Taint, ...], *, tolerates: bool, is_told: bool
) -> None:
    key, since = "ToBeDeletedByClusterAutoscaler", "" if value is None else str((NOW_NS - value) // NS_PER_SECOND)
    tolerations = (Toleration(key, "Exists"),) if tolerates else ()
    result = held(
        pods=(a_pod(name="pg", node_selector={"group": selected}, tolerations=tolerations),),
        nodes=(a_node(name="n1", labels={"group": "db"}, taints=(Taint(key, "NoSchedule", since), *more)),),
    )
    assert any(f"have had the taint {key} for 3h" in text.replace("has had", "have had") for text in result) is is_told


@pytest.mark.parametrize("value", ["²", "9" * 5000, "soon"])
def test_a_value_of_that_taint_which_is_no_time_is_left_alone(value: str) -> None:
    taint = Taint("ToBeDeletedByClusterAutoscaler", "NoSchedule", value)
    node = a_node(name="n1", labels={"group": "db"}, taints=(taint,))
    assert held(pods=(a_pod(name="pg", node_selector={"group": "db"}),), nodes=(node,)) == []


@pytest.mark.parametrize(("version", "kind", "is_whole", "reason", "is_told"), [
    ("1.6.4", "AKSNodeClass", True, "Nominated", True),
    ("1.6.4", "GCENodeClass", True, "Nominated", False),
    ("1.8.0", "AKSNodeClass", True, "Nominated", False),
    ("", "AKSNodeClass", True, "Nominated", False),
    ("1.6.4", "AKSNodeClass", False, "Nominated", False),
    ("1.6.4", "AKSNodeClass", True, "FailedScheduling", False),
])  # fmt: skip
def test_requests_of_the_whole_pod(version: str, kind: str, reason: str, *, is_whole: bool, is_told: bool) -> None:
    pod = a_pod(name="web", requests={"cpu": "1"}, scheduled_message="0/1 nodes are available: 1 Insufficient cpu.")
    pod = replace(pod, template=replace(pod.template, has_pod_level_requests=is_whole))
    event = an_event(about="Pod/default/web", reason=reason, message="Pod should schedule on: node/n1")
    nodeclass = NodeClass(name="default", kind=kind, group="karpenter.example")
    inventory = Inventory(nodepools=(a_nodepool(),), nodeclasses=(nodeclass,), pods=(pod,), events=(event,))
    prepared = prepare(inventory, TYPES, Settings(), NOW_NS)
    report = report_of_pending(prepared, state_of(inventory), version=version)
    texts = [disagreement_text(reason) for group in report.groups for reason in group.disagreements]
    assert any("Karpenter 1.6.4 does not count requests of the whole pod" in text for text in texts) is is_told


@pytest.mark.parametrize("taints", [(), (Taint("gpu", "NoSchedule"),)])
def test_cordoned_nodes_of_others_that_alone_have_the_labels_are_named(taints: tuple[Taint, ...]) -> None:
    cordon = Taint("node.kubernetes.io/unschedulable", "NoSchedule")
    node = a_node(name="n1", pool="", labels={"group": "mesh"}, is_unschedulable=True, taints=(cordon,))
    pod = a_pod(name="istiod", node_selector={"group": "mesh"})
    inventory = Inventory(nodepools=(a_nodepool(), a_nodepool(name="gpu", taints=taints)), nodes=(node,), pods=(pod,))
    [group] = report_of_pending(prepare(inventory, TYPES, Settings(), NOW_NS), state_of(inventory)).groups
    assert [disagreement_text(reason) for reason in group.disagreements] == [
        "only 1 node that Karpenter does not manage (n1) has all the required labels, and it is cordoned"
    ]


OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"


def terms(*keys: str) -> tuple[NodeSelectorTerm, ...]:
    return tuple(NodeSelectorTerm((NodeSelectorRequirement(key, "In", ("zone-a",)),)) for key in keys)


LABELLED = {"labels": {OLD_ZONE: "zone-a"}}
OUTSIDE = "0/1 nodes are available: 1 node(s) had no available volume zone."


@pytest.mark.parametrize(("volume", "labels", "message", "text"), [
    ({"required_node_terms": terms(OLD_ZONE)}, {}, "", f"requires the label {OLD_ZONE}, which no node of"),
    ({"required_node_terms": terms(OLD_ZONE)}, {OLD_ZONE: "zone-b"}, "", ""),
    ({"required_node_terms": terms(OLD_ZONE, ZONE)}, {}, "", ""),
    ({"required_node_terms": terms(OLD_ZONE), "is_aws_ebs": True}, {}, "", ""),
    ({"required_node_terms": terms(ZONE)}, {}, "", ""),
    (LABELLED, {}, OUTSIDE, "a label of its volume data ties it to zone-a"),
    (LABELLED, {}, "0/1 nodes are available: 1 Insufficient cpu.", ""),
    (LABELLED | {"required_node_terms": terms(ZONE)}, {}, OUTSIDE, ""),
])  # fmt: skip
def test_labels_of_volumes_that_karpenter_reads_otherwise(
    volume: dict[str, Any], labels: dict[str, str], message: str, text: str
) -> None:
    claim = PersistentVolumeClaim(name="data", namespace="default", volume_name="pv", phase="Bound")
    pod = a_pod(name="pg", volumes=(PodVolume("data", "data"),), scheduled_message=message)
    result = held(
        pods=(pod,),
        claims=(claim,),
        volumes=(PersistentVolume(name="pv", **volume),),
        nodes=(a_node(name="n1", labels={NODEPOOL: "default", **labels}),),
    )
    assert any("its volume" in each for each in result) is bool(text)
    assert text in "\n".join(result)
