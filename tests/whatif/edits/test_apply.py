from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from karptui.karpenter.labels import DO_NOT_DISRUPT, NODEPOOL
from karptui.karpenter.rules import RULES_1_14_1, RULES_1_15
from karptui.kube.pod import Pod, PodVolume
from karptui.kube.volumes import PersistentVolumeClaim
from karptui.kube.workload import Workload
from karptui.whatif.edits import (
    AnyEdit,
    DeleteObject,
    EditError,
    ObjectRef,
    PutObject,
    RemoveNode,
    ScaleWorkload,
    SetField,
    SetSetting,
    TakeOut,
)
from karptui.whatif.edits.apply import apply, without_offerings
from karptui.whatif.edits.document import as_stored
from karptui.whatif.replay import replay
from karptui.whatif.scenario import Replay
from karptui.whatif.situation import EditedCluster, TypesResult, WhatIfBase
from tests.builders import NOW_NS, a_node, a_nodeclaim, a_pdb, a_pod, a_pod_template, an_instance_type, an_owner
from tests.whatif.snapshots import base, with_objects

POOL: dict[str, Any] = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodePool",
    "metadata": {"name": "general", "uid": "u1", "annotations": {"karpenter.sh/nodepool-hash": "17"}},
    "spec": {"weight": 10, "limits": {"cpu": "100"},
             "disruption": {"consolidateAfter": "30s", "budgets": [{"nodes": "10%"}]},
             "template": {"spec": {"requirements": [],
                                   "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass",
                                                    "name": "default"}}}},
    "status": {"conditions": [{"type": "Ready", "status": "True"}], "resources": {"cpu": "4"}},
}  # fmt: skip
NODECLASS: dict[str, Any] = {
    "apiVersion": "karpenter.k8s.aws/v1",
    "kind": "EC2NodeClass",
    "metadata": {"name": "default", "uid": "u2"},
    "spec": {"amiSelectorTerms": [{"alias": "al2023@latest"}]},
    "status": {"conditions": [{"type": "Ready", "status": "True"}]},
}
GENERAL = ObjectRef("NodePool", "general")
TYPES = (an_instance_type(name="m5.large", cpu="2", memory="8Gi"),)


def edited(start: WhatIfBase, *edits: AnyEdit) -> EditedCluster:
    return apply(start, edits)


def refusal(start: WhatIfBase, *edits: AnyEdit) -> str:
    with pytest.raises(EditError) as error:
        apply(start, edits)
    return str(error.value)


def pool(side: EditedCluster) -> Any:
    return next(pool for pool in side.inventory.nodepools if pool.name == "general")


# SetField on objects that keep their manifest


def test_fields_and_items_are_removed_and_added() -> None:
    side = edited(base(POOL), SetField(GENERAL, ("spec", "disruption", "budgets"), None))
    assert [budget.nodes for budget in pool(side).budgets] == ["10%"]
    assert pool(edited(base(POOL), SetField(GENERAL, ("spec", "limits"), None))).limits is None
    assert pool(edited(base(POOL), SetField(GENERAL, ("spec", "nothing", "here"), None))).weight == 10
    path = ("spec", "disruption", "budgets")
    side = edited(
        base(POOL), SetField(GENERAL, (*path, 1), {"nodes": "1"}), SetField(GENERAL, (*path, 0, "nodes"), "5")
    )
    assert [budget.nodes for budget in pool(side).budgets] == ["5", "1"]
    side = edited(base(POOL), SetField(GENERAL, (*path, 1, "nodes"), "3"), SetField(GENERAL, (*path, 0), None))
    assert [budget.nodes for budget in pool(side).budgets] == ["3"]


@pytest.mark.parametrize(("path", "value", "result"), [
    (("spec", "weight"), "x", "spec.weight"),
    (("spec", "weight", "deep"), 1, "spec.weight is not an object, spec.weight.deep cannot be set"),
    (("spec", "weight", 0), 1, "spec.weight is not a list"),
    (("spec", "disruption", "budgets", 4), 1, "spec.disruption.budgets has 1 items, there is no [4]"),
    ((), 1, "the path of a field is empty"),
])  # fmt: skip
def test_an_invalid_value_names_object_and_field(path: tuple[str | int, ...], value: Any, result: str) -> None:
    text = refusal(base(POOL), SetField(GENERAL, path, value))
    assert text.startswith("edit 1: NodePool general: ")
    assert result in text


def test_edits_of_missing_objects_are_errors() -> None:
    assert refusal(base(), SetField(GENERAL, ("spec",), 1)) == "edit 1: there is no NodePool general"
    text = refusal(base(), DeleteObject(ObjectRef("ConfigMap", "x", "y")))
    assert text == "edit 1: ConfigMap y/x: objects of this kind are not modelled"


def test_a_missing_nodeclass_makes_its_nodepool_unready() -> None:
    path = ("spec", "template", "spec", "nodeClassRef", "name")
    side = edited(base(POOL, NODECLASS), SetField(GENERAL, path, "other"))
    assert not pool(side).is_ready
    assert side.notes == ("NodePool general is not ready, so it launches nothing: there is no EC2NodeClass other",)
    assert pool(edited(base(POOL), SetField(GENERAL, path, "other"))).is_ready


# SetField on objects without a manifest


def test_editing_a_pod_leaves_others_of_its_template_unchanged() -> None:
    template = a_pod_template(annotations={DO_NOT_DISRUPT: "true"}, owners=(an_owner(),))
    pods = tuple(a_pod(name=f"web-{i}", template=template) for i in range(3))
    path = ("metadata", "annotations", DO_NOT_DISRUPT)
    side = edited(base(pods=pods), *(SetField(ObjectRef("Pod", f"web-{i}", "default"), path) for i in range(2)))
    first, second, third = side.inventory.pods
    assert first.annotations == {}
    assert third is pods[2]
    assert first.template is second.template, "equally edited pods share a template"


def test_fields_of_a_pod() -> None:
    ref = ObjectRef("Pod", "web-1", "default")
    start = base(pods=(replace(a_pod(name="web-1"), own_labels={"apps.kubernetes.io/pod-index": "1"}),))
    side = edited(
        start,
        SetField(ref, ("spec", "containers", 0, "resources", "requests", "cpu"), "3"),
        SetField(ref, ("spec", "nodeSelector", "team"), "a"),
        SetField(ref, ("spec", "tolerations"), [{"key": "x", "operator": "Exists"}]),
        SetField(ref, ("metadata", "labels", "apps.kubernetes.io/pod-index"), "2"),
        SetField(ref, ("spec", "volumes"), [{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}]),
    )
    (pod,) = side.inventory.pods
    assert str(pod.requests["cpu"]) == "3"
    assert pod.template.node_selector == {"team": "a"}
    assert pod.template.tolerations[0].key == "x"
    assert pod.own_labels == {"apps.kubernetes.io/pod-index": "2"}
    assert pod.volumes == (PodVolume("data", "c"),)
    assert side.notes == ()


def test_edits_without_effect_are_reported() -> None:
    ref = ObjectRef("Pod", "web-1", "default")
    side = edited(
        base(pods=(a_pod(),)), SetField(ref, ("spec", "dnsPolicy"), "x"), SetField(ref, ("spec", "volumes"), [])
    )
    assert side.notes == (
        "Pod default/web-1: spec.dnsPolicy does not change anything that is modelled",
        "Pod default/web-1: spec.volumes does not change anything that is modelled",
    )
    assert "bound by the scheduler" in refusal(base(pods=(a_pod(),)), SetField(ref, ("spec", "nodeName"), "n"))
    text = refusal(base(pods=(a_pod(),)), SetField(ref, ("spec", "nodeSelector"), 7))
    assert text == "edit 1: Pod default/web-1: spec.nodeSelector: must be an object, is a number"


def test_fields_of_a_node() -> None:
    ref = ObjectRef("Node", "node-1")
    start = base(nodes=(a_node(),))
    side = edited(
        start, SetField(ref, ("spec", "unschedulable"), True), SetField(ref, ("metadata", "labels", "a"), "b")
    )
    (node,) = side.inventory.nodes
    assert node.is_unschedulable
    assert [taint.key for taint in node.taints] == ["node.kubernetes.io/unschedulable"]
    assert node.labels["a"] == "b"
    again = edited(
        start, SetField(ref, ("spec", "unschedulable"), True), SetField(ref, ("spec", "unschedulable"), False)
    )
    assert again.inventory.nodes[0].taints == ()
    taints = edited(start, SetField(ref, ("spec", "taints"), [{"key": "x", "effect": "NoSchedule"}]))
    assert str(taints.inventory.nodes[0].taints[0]) == "x:NoSchedule"
    room = edited(start, SetField(ref, ("status", "allocatable", "cpu"), "96"))
    assert str(room.inventory.nodes[0].allocatable["cpu"]) == "96"
    same = edited(start, SetField(ref, ("spec", "podCIDR"), "x"))
    assert same.notes == ("Node node-1: spec.podCIDR does not change anything that is modelled",)


def test_fields_of_a_nodeclaim() -> None:
    ref = ObjectRef("NodeClaim", "claim-1")
    claim = a_nodeclaim(name="claim-1", expire_after_ns=90_500_000_000)
    side = edited(base(nodeclaims=(claim,)), SetField(ref, ("spec", "terminationGracePeriod"), "1h"))
    assert side.inventory.nodeclaims[0].termination_grace_period_ns == 3_600_000_000_000
    assert side.inventory.nodeclaims[0].expire_after_ns == 90_500_000_000
    assert side.notes == ("NodeClaim claim-1: spec is immutable in a cluster; this shows the effect of a new object",)
    text = refusal(base(nodeclaims=(claim,)), SetField(ref, ("spec", "terminationGracePeriod"), "soon"))
    assert "NodeClaim claim-1: spec.terminationGracePeriod" in text


@pytest.mark.parametrize(
    ("field", "value", "allowed"),
    [("maxUnavailable", 1, 1), ("maxUnavailable", "50%", 1), ("minAvailable", 1, 1), ("minAvailable", "100%", 0)],
)
def test_an_edited_pdb_gets_a_recomputed_status(field: str, value: Any, allowed: int) -> None:
    pods = tuple(a_pod(name=f"web-{i}", node="node-1") for i in range(2))
    ref = ObjectRef("PodDisruptionBudget", "web", "default")
    start = base(pods=pods, pdbs=(a_pdb(),))
    side = edited(start, SetField(ref, ("spec", "minAvailable")), SetField(ref, ("spec", field), value))
    (pdb,) = side.inventory.pdbs
    assert (pdb.disruptions_allowed, pdb.expected_pods, pdb.current_healthy) == (allowed, 2, 2)


def test_fields_that_cannot_be_set() -> None:
    ref = ObjectRef("PodDisruptionBudget", "web", "default")
    text = refusal(base(pdbs=(a_pdb(),)), SetField(ref, ("spec", "maxUnavailable"), "some"))
    assert text.endswith("spec.maxUnavailable: 'some' is neither a number nor a percentage")
    claim = PersistentVolumeClaim(name="data", namespace="default")
    ref = ObjectRef("PersistentVolumeClaim", "data", "default")
    assert "give the whole object" in refusal(base(claims=(claim,)), SetField(ref, ("spec", "storageClassName"), "x"))


# Workloads


def deployment(replicas: int = 2) -> tuple[Workload, Workload]:
    uid = "uid-deploy"
    owner = an_owner(kind="Deployment", name="web", uid=uid)
    return (
        Workload(name="web", namespace="default", uid=uid, api_version="apps/v1", kind="Deployment", replicas=replicas),
        Workload(
            name="web", namespace="default", uid="uid-rs", api_version="apps/v1", kind="ReplicaSet", owners=(owner,)
        ),
    )


WEB = ObjectRef("Deployment", "web", "default")


def web_pods(count: int, **fields: Any) -> tuple[Pod, ...]:
    return tuple(a_pod(name=f"web-{i}", **fields) for i in range(count))


def names(side: EditedCluster) -> list[str]:
    return [pod.name for pod in side.inventory.pods]


def test_scaling_up_copies_the_newest_pod() -> None:
    pods = (a_pod(name="old", node="node-1", cpu="1", created_ns=1), a_pod(name="new", node="node-1", cpu="2"))
    side = edited(base(pods=pods, workloads=deployment()), ScaleWorkload(WEB, 4))
    added = side.inventory.pods[2:]
    assert names(side) == ["old", "new", "new-whatif-0", "new-whatif-1"]
    assert {pod.template for pod in added} == {pods[1].template}
    assert {(pod.node_name, pod.scheduled_reason, pod.created_ns) for pod in added} == {("", "Unschedulable", NOW_NS)}
    assert side.inventory.workloads[0].replicas == 4
    again = apply(base(pods=side.inventory.pods, workloads=deployment()), (ScaleWorkload(WEB, 5),))
    assert names(again)[-1] == "new-whatif-2"


def test_scaling_down_removes_pods_in_the_order_of_kubernetes() -> None:
    pods = (
        a_pod(name="ready", node="a", created_ns=1),
        a_pod(name="younger", node="a", created_ns=5),
        a_pod(name="cheap", node="b", annotations={"controller.kubernetes.io/pod-deletion-cost": "-5"}),
        a_pod(name="unready", node="c", is_ready=False),
        a_pod(name="waiting"),
    )
    start = base(pods=pods, workloads=deployment())
    gone = [
        sorted(set(names(edited(start))) - set(names(edited(start, ScaleWorkload(WEB, left))))) for left in (4, 3, 2, 1)
    ]
    assert gone[0] == ["waiting"]
    assert gone[1] == ["unready", "waiting"]
    assert gone[2] == ["cheap", "unready", "waiting"]
    assert "younger" in gone[3]
    assert names(edited(start, ScaleWorkload(WEB, 0))) == []
    assert names(edited(start, SetField(WEB, ("spec", "replicas"), 4))) == ["ready", "younger", "cheap", "unready"]


def a_numbered_pod(index: str, number: int, **fields: Any) -> Pod:
    return replace(a_pod(name=f"db-{number}", **fields), own_labels={index: str(number)})


def test_a_statefulset_is_scaled_at_its_highest_ordinals_with_own_volumes() -> None:
    ref = ObjectRef("StatefulSet", "db", "default")
    owner = an_owner(kind="StatefulSet", name="db")
    index = "apps.kubernetes.io/pod-index"
    pods = tuple(
        a_numbered_pod(
            index,
            i,
            owner=owner,
            node="node-1",
            volumes=(
                PodVolume("data", f"data-db-{i}"),
                PodVolume("scratch", is_ephemeral=True),
                PodVolume("all", "all"),
            ),
        )
        for i in range(2)
    )
    claims = (
        PersistentVolumeClaim(name="data-db-1", namespace="default", volume_name="pv-1", storage_class_name="gp3"),
        PersistentVolumeClaim(name="data-db-0", namespace="default", volume_name="pv-0", storage_class_name="gp3"),
    )
    workload = Workload(name="db", namespace="default", api_version="apps/v1", kind="StatefulSet", replicas=2)
    start = base(pods=pods, workloads=(workload,), claims=claims)
    side = edited(start, ScaleWorkload(ref, 3))
    added = side.inventory.pods[-1]
    assert (added.name, added.own_labels) == ("db-2", {index: "2"})
    assert [volume.claim_of("db-2") for volume in added.volumes] == ["data-db-2", "db-2-scratch", "all"]
    claim = next(claim for claim in side.inventory.claims if claim.name == "data-db-2")
    assert (claim.volume_name, claim.storage_class_name) == ("", "gp3")
    assert names(edited(start, ScaleWorkload(ref, 1))) == ["db-0"]


def test_workloads_without_pods_cannot_be_scaled() -> None:
    assert "its template is unknown" in refusal(base(workloads=deployment()), ScaleWorkload(WEB, 1))
    assert names(edited(base(workloads=deployment()), ScaleWorkload(WEB, 0))) == []
    workload = Workload(
        name="web", namespace="default", api_version="apps/v1", kind="Deployment", template=a_pod_template(cpu="3")
    )
    side = edited(base(workloads=(workload,)), ScaleWorkload(WEB, 2))
    assert names(side) == ["web-whatif-0", "web-whatif-1"]
    assert side.inventory.pods[0].owners[0].kind == "Deployment"
    assert "has no replicas" in refusal(base(nodes=(a_node(),)), ScaleWorkload(ObjectRef("Node", "node-1"), 1))
    assert "replicas is -1" in refusal(base(workloads=deployment()), ScaleWorkload(WEB, -1))
    text = refusal(base(workloads=deployment()), SetField(WEB, ("spec", "replicas"), "x"))
    assert text == "edit 1: Deployment default/web: spec.replicas must be a number of pods, is 'x'"


def test_the_template_of_a_workload_changes_its_pods() -> None:
    start = base(
        pods=(*web_pods(2, node="node-1"), a_pod(name="other", owner=an_owner(name="api"))), workloads=deployment()
    )
    path = ("spec", "template", "metadata", "annotations", DO_NOT_DISRUPT)
    side = edited(start, SetField(WEB, path, "true"))
    assert [pod.annotations.get(DO_NOT_DISRUPT) for pod in side.inventory.pods] == ["true", "true", None]
    assert side.notes == ("Deployment default/web: its pods (2) change in place, without a rollout",)
    idle = edited(
        start, SetField(WEB, ("spec", "template", "spec", "dnsPolicy"), "x"), SetField(WEB, ("spec", "paused"), True)
    )
    assert len(idle.notes) == 2
    labelled = edited(start, SetField(WEB, ("metadata", "labels", "a"), "b"))
    assert labelled.inventory.workloads[0].labels == {"a": "b"}


# Complete objects


def put(text: str) -> PutObject:
    return PutObject(text)


def test_a_nodepool_keeps_its_status_and_hash() -> None:
    text = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  weight: 3
  disruption: {consolidateAfter: 1m}
  template:
    spec:
      requirements: [{key: kubernetes.io/arch, operator: In, values: [arm64]}]
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
"""
    result = pool(edited(base(POOL), put(text)))
    assert (result.weight, result.is_ready, result.uid) == (3, True, "u1")
    assert result.annotations == {"karpenter.sh/nodepool-hash": "17"}
    assert str(result.status_resources["cpu"]) == "4"
    assert [budget.nodes for budget in result.budgets] == ["10%"]
    new = edited(base(POOL, NODECLASS), put(text.replace("general", "fresh")))
    fresh = next(pool for pool in new.inventory.nodepools if pool.name == "fresh")
    assert fresh.is_ready
    assert fresh.expire_after_ns == 720 * 3600 * 10**9
    other = text.replace("name: default", "name: none")
    assert not pool(edited(base(POOL, NODECLASS), put(other))).is_ready


def test_a_new_nodeclass_makes_its_pools_ready() -> None:
    waiting = {**POOL, "status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    text = "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: default}\nspec: {role: x}\n"
    side = edited(base(waiting), put(text))
    assert pool(side).is_ready
    (nodeclass,) = side.inventory.nodeclasses
    assert nodeclass.spec["metadataOptions"]["httpTokens"] == "required"
    assert "counts as ready" in side.notes[0]
    gone = edited(
        base(POOL, NODECLASS), DeleteObject(ObjectRef("EC2NodeClass", "default")), put(text.replace("default", "b"))
    )
    assert not pool(gone).is_ready
    kept = edited(base(POOL, NODECLASS), put(text))
    assert kept.inventory.nodeclasses[0].is_ready
    unready = {**NODECLASS, "status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    assert "is not ready" in edited(base(POOL, unready), put(text)).notes[0]


def test_a_new_pod_is_unschedulable_unless_it_is_gated_or_bound() -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: one}\nspec: {containers: [{resources: {limits: {cpu: 2}}}]}\n"
    side = edited(base(), put(text))
    (pod,) = side.inventory.pods
    assert (pod.key, pod.scheduled_reason, str(pod.requests["cpu"])) == ("default/one", "Unschedulable", "2")
    gated = edited(base(), put(text.replace("spec: {", "spec: {schedulingGates: [{name: x}], ")))
    assert gated.inventory.pods[0].scheduled_reason == "SchedulingGated"
    bound = edited(base(pods=(a_pod(name="one", uid="u"),)), put(text.replace("spec: {", "spec: {nodeName: node-1, ")))
    assert (bound.inventory.pods[0].node_name, bound.inventory.pods[0].uid) == ("node-1", "u")


def test_priority_comes_from_its_class() -> None:
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: one}\n"
        "spec: {priorityClassName: high, containers: [{resources: {requests: {cpu: 2}}}]}\n"
    )
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 7}
    assert edited(base(high), put(text)).inventory.pods[0].template.priority == 7
    assert edited(base(), put(text)).inventory.pods[0].template.priority == 0


DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, resources: {requests: {cpu: 7}}}]
"""


def test_pods_of_deployments_jobs_and_cronjobs() -> None:
    pods = web_pods(2, node="node-1", labels={"app": "web", "pod-template-hash": "abc"})
    side = edited(base(pods=pods, workloads=deployment()), put(DEPLOYMENT))
    assert len(side.inventory.pods) == 3
    first = side.inventory.pods[0]
    assert (first.node_name, str(first.requests["cpu"])) == ("node-1", "7")
    assert first.labels["pod-template-hash"] == "abc"
    assert first.owners == pods[0].owners
    assert side.notes == ("Deployment default/web: its pods (2) change in place, without a rollout",)
    job = DEPLOYMENT.replace("apps/v1", "batch/v1").replace("Deployment", "Job").replace("replicas", "parallelism")
    assert len(edited(base(), put(job)).inventory.pods) == 3
    cron = job.replace("kind: Job", "kind: CronJob")
    side = edited(base(), put(cron))
    assert side.inventory.pods == ()
    assert "no pods until its schedule" in side.notes[0]


def test_an_edited_daemonset_changes_its_pods_and_a_new_one_the_new_nodes() -> None:
    text = DEPLOYMENT.replace("Deployment", "DaemonSet")
    start = base(POOL, types=TYPES, pods=(a_pod(name="big", cpu="1500m"),))
    assert replay(edited(start), Replay.PENDING).claims
    assert not replay(edited(start, put(text)), Replay.PENDING).claims
    owner = an_owner(kind="DaemonSet", name="web", uid="ds")
    old = {**_daemonset(), "metadata": {"name": "web", "namespace": "default", "uid": "ds"}}
    side = edited(base(old, pods=(a_pod(name="agent", node="n", owner=owner),)), put(text))
    assert str(side.inventory.pods[0].requests["cpu"]) == "7"


def _daemonset() -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {"spec": {"containers": []}}},
    }


def test_other_objects() -> None:
    pdb = (
        "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\n"
        "spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}\n"
    )
    side = edited(base(pods=web_pods(2, node="n"), pdbs=(a_pdb(),)), put(pdb))
    assert (side.inventory.pdbs[0].disruptions_allowed, side.inventory.pdbs[0].uid) == (1, "uid-pdb-web")
    assert edited(base(), put(pdb)).inventory.pdbs[0].disruptions_allowed == 0
    node = "apiVersion: v1\nkind: Node\nmetadata: {name: node-1}\nspec: {unschedulable: true}\n"
    assert edited(base(), put(node)).inventory.nodes[0].taints
    overlay = "apiVersion: karpenter.sh/v1alpha1\nkind: NodeOverlay\nmetadata: {name: o}\nspec: {price: '1'}\n"
    assert edited(base(), put(overlay)).inventory.overlays[0].conditions[0].status == "True"
    conditioned = overlay + "status: {conditions: [{type: Ready, status: 'False'}]}\n"
    assert edited(base(), put(conditioned)).inventory.overlays[0].conditions[0].status == "False"
    namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n"
    assert edited(base(), put(namespace)).inventory.namespaces[0].name == "team"
    unknown = edited(base(), put("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"))
    assert unknown.notes == ("ConfigMap x: objects of this kind are not modelled, so it has no effect",)


@pytest.mark.parametrize(("text", "result"), [
    ("a: [", "the document is not YAML"),
    ("", "the document has 0 objects, must have one"),
    ("a: 1\n---\nb: 2\n", "the document has 2 objects, must have one"),
    ("- 1", "the document is not an object"),
    ("kind: Pod", "the document has no apiVersion"),
    ("apiVersion: v1", "the document has no kind"),
    ("apiVersion: v1\nkind: Pod", "Pod (without a name): metadata.name: is missing"),
    ("apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: 3", "Pod default/x: spec: must be an object"),
    (DEPLOYMENT.replace("replicas: 3", "replicas: x"), "Deployment default/web: spec.replicas: "),
    (DEPLOYMENT.replace("replicas: 3", "replicas: -3"), "spec.replicas: must be a number of pods, is -3"),
    (DEPLOYMENT.replace("{cpu: 7}", "{cpu: 7x}"), "Deployment default/web: spec.containers[0].resources.requests.cpu"),
])  # fmt: skip
def test_documents_that_cannot_be_read(text: str, result: str) -> None:
    assert result in refusal(base(), put(text))


# Deletion


def test_deleting_objects() -> None:
    start = base(POOL, NODECLASS, pods=web_pods(2), workloads=deployment(), pdbs=(a_pdb(),))
    assert edited(start, DeleteObject(ObjectRef("PodDisruptionBudget", "web", "default"))).inventory.pdbs == ()
    side = edited(start, DeleteObject(WEB))
    assert (side.inventory.pods, side.inventory.workloads) == ((), ())
    cluster = edited(start, DeleteObject(ObjectRef("Pod", "web-0", "default")))
    assert names(cluster) == ["web-1"]
    assert "its owner would recreate" in cluster.notes[0]
    assert not pool(edited(start, DeleteObject(ObjectRef("EC2NodeClass", "default")))).is_ready
    alone = base(pods=(a_pod(name="alone", template=a_pod_template()),))
    assert edited(alone, DeleteObject(ObjectRef("Pod", "alone", "default"))).notes == ()
    orphan = base(workloads=(Workload(name="web", namespace="default", api_version="apps/v1", kind="Deployment"),))
    assert edited(orphan, DeleteObject(WEB)).inventory.workloads == ()


def test_deleting_a_nodepool_deletes_its_nodeclaims() -> None:
    claims = (
        a_nodeclaim(name="a", labels={NODEPOOL: "general"}),
        a_nodeclaim(name="b", labels={NODEPOOL: "general"}, deletion_ns=5),
    )
    side = edited(base(POOL, nodeclaims=claims), DeleteObject(GENERAL))
    assert [claim.deletion_ns for claim in side.inventory.nodeclaims] == [NOW_NS, 5]
    assert side.notes == ("NodePool general: its 2 NodeClaims are deleted with it, and their nodes drain",)
    assert edited(base(POOL), DeleteObject(GENERAL)).notes == ()


def test_nodes_are_removed_by_the_replay() -> None:
    start = base(nodes=(a_node(),), nodeclaims=(a_nodeclaim(name="claim-1"),))
    side = edited(start, RemoveNode("node-1"), DeleteObject(ObjectRef("Node", "node-1")), RemoveNode("claim-1"))
    assert side.removed == ("node-1", "claim-1")
    assert side.inventory is start.inventory
    assert refusal(start, RemoveNode("x")) == "edit 1: there is no Node x"


# Settings, outages and types


def test_settings_and_gates() -> None:
    side = edited(
        base(), SetSetting("FEATURE_GATES.SpotToSpotConsolidation", "true"), SetSetting("PREFERENCE_POLICY", "Ignore")
    )
    assert side.settings.gate("SpotToSpotConsolidation")
    assert side.settings.gate("ReservedCapacity")
    assert side.settings.preference_policy == "Ignore"
    whole = edited(base(), SetSetting("FEATURE_GATES", "NodeOverlay=true"))
    assert whole.settings.gate("NodeOverlay")
    assert edited(base(), SetSetting("LOG_LEVEL", "debug")).notes == (
        "LOG_LEVEL does not change anything that is modelled",
    )


def on_1_14(*documents: Any) -> WhatIfBase:
    start = base(*documents)
    start.settings = replace(start.settings, rules=RULES_1_14_1)
    return start


def test_another_karpenter_version_uses_its_own_rules() -> None:
    side = edited(on_1_14(POOL, NODECLASS), SetSetting("KARPENTER_VERSION", "1.15.0"))
    assert side.settings.rules is RULES_1_15
    assert pool(side).is_ready
    assert refusal(base(), SetSetting("KARPENTER_VERSION", "2.0.0")).startswith(
        "edit 1: Karpenter 2.0.0 is not modelled: 1.14.1, 1.14.3, 1.15.0 are"
    )


def test_an_upgrade_names_nodeclasses_that_become_unready() -> None:
    spec = {"amiSelectorTerms": [{"alias": "bottlerocket@latest"}], "kubelet": {"podsPerCore": 4}}
    start = on_1_14(POOL, {**NODECLASS, "spec": spec})
    side = edited(start, SetSetting("KARPENTER_VERSION", "1.15.0"))
    assert pool(edited(start)).is_ready
    assert not pool(side).is_ready
    assert side.notes == (
        ("EC2NodeClass default is not ready: UnsupportedKubeletConfiguration: spec.kubelet has fields not applied by "
         "the Bottlerocket AMI family that would be silently dropped: podsPerCore"),
        "NodePool general is not ready, so it launches nothing: EC2NodeClass default is not ready",
    )  # fmt: skip
    mended = SetField(ObjectRef("EC2NodeClass", "default"), ("spec", "kubelet"), None)
    assert pool(edited(start, mended, SetSetting("KARPENTER_VERSION", "1.15.0"))).is_ready


def test_defaults_are_those_of_the_karpenter_version() -> None:
    spec = {"disruption": {"budgets": []}, "template": POOL["spec"]["template"]}
    put = PutObject(yaml.safe_dump({**POOL, "metadata": {"name": "new"}, "spec": spec}))

    def consolidate_after(side: EditedCluster) -> object:
        pool = next(pool for pool in side.inventory.nodepools if pool.name == "new")
        return pool.raw["spec"]["disruption"].get("consolidateAfter")

    assert consolidate_after(edited(base(POOL), put)) == "0s"
    assert consolidate_after(edited(on_1_14(POOL), put)) is None
    assert consolidate_after(edited(on_1_14(POOL), put, SetSetting("KARPENTER_VERSION", "1.15.0"))) == "0s"


@pytest.mark.parametrize(("name", "value", "text"), [
    ("PREFERENCE_POLICY", "x", "must be Respect or Ignore"),
    ("VM_MEMORY_OVERHEAD_PERCENT", "-1", "must not be negative"),
    ("VM_MEMORY_OVERHEAD_PERCENT", "a lot", "which Karpenter cannot parse"),
    ("FEATURE_GATES.Nonsense", "true", "there is no feature gate Nonsense"),
    ("FEATURE_GATES.NodeOverlay", "maybe", "must be true or false"),
])  # fmt: skip
def test_settings_that_karpenter_rejects_are_refused(name: str, value: str, text: str) -> None:
    assert text in refusal(base(), SetSetting(name, value))


def test_offerings_can_be_taken_out() -> None:
    types = (an_instance_type(name="m5.large"), an_instance_type(name="c5.large"))
    start = base(POOL, types=types)
    side = edited(start, TakeOut(instance_type="m5.*", zone="us-east-1a"), TakeOut(zone="mars"))
    assert isinstance(side.types.types, tuple)
    m5, c5 = side.types.types
    assert c5 is types[1]
    out = {offering.is_available for offering in m5.offerings if "us-east-1a" in str(offering.requirements)}
    assert out == {False}
    assert side.notes == ("there is no such offering: every type in mars",)
    everything = edited(start, TakeOut(capacity_type="on-demand"), TakeOut()).types.types
    assert isinstance(everything, tuple)
    assert not any(offering.is_available for kind in everything for offering in kind.offerings)


class CountingTypes:
    """Computes types, and counts the calls."""

    def __init__(self, *, is_fixed: bool = False) -> None:
        self.calls = 0
        self.is_fixed = is_fixed

    def __call__(self, inventory: Any, settings: Any) -> TypesResult:
        self.calls += 1
        result = (an_instance_type(name=f"m{self.calls}.large"),)
        return TypesResult({pool.name: result for pool in inventory.nodepools}, is_fixed=self.is_fixed)


def typed(*manifests: dict[str, Any], **fields: Any) -> tuple[WhatIfBase, CountingTypes]:
    start, types_for = base(*manifests), CountingTypes(**fields)
    return WhatIfBase(start.inventory, types_for, start.settings, NOW_NS), types_for


def test_types_are_recomputed_only_if_an_edit_changes_them() -> None:
    start, types_for = typed(POOL, NODECLASS)
    for edit in (SetField(GENERAL, ("spec", "weight"), 1), SetSetting("PREFERENCE_POLICY", "Ignore")):
        assert apply(start, (edit,)).types.types == start.types.types
    assert types_for.calls == 1
    overhead = SetSetting("VM_MEMORY_OVERHEAD_PERCENT", "0.05")
    first = apply(start, (overhead,)).types
    assert types_for.calls == 2
    assert apply(start, (overhead, SetField(GENERAL, ("spec", "weight"), 1))).types is first
    apply(start, (SetField(ObjectRef("EC2NodeClass", "default"), ("spec", "kubelet"), {"maxPods": 9}),))
    assert types_for.calls == 3
    for percent in range(10):
        apply(start, (SetSetting("VM_MEMORY_OVERHEAD_PERCENT", f"0.1{percent}"),))
    apply(start, (overhead,))
    assert types_for.calls == 14, "old results are dropped from the cache"


def test_a_new_pool_of_a_known_nodeclass_shares_its_types() -> None:
    start, types_for = typed(POOL, NODECLASS)
    text = (
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: flex}\nspec: {template: {spec: {"
        "requirements: [], nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}}}\n"
    )
    side = apply(start, (PutObject(text),))
    assert side.types.of_pool("flex") is side.types.of_pool("general")
    assert types_for.calls == 1
    other = apply(start, (PutObject(text.replace("name: default", "name: other")),))
    assert types_for.calls == 2
    assert other.types.of_pool("flex")


def test_types_of_a_snapshot_do_not_change() -> None:
    start, types_for = typed(POOL, NODECLASS, is_fixed=True)
    side = apply(start, (SetSetting("RESERVED_ENIS", "1"),))
    assert side.notes == ("instance types came with the snapshot: edits of settings do not change them",)
    side = apply(start, (SetField(ObjectRef("EC2NodeClass", "default"), ("spec", "role"), "x"),))
    assert side.notes == (
        "instance types came with the snapshot: edits of EC2NodeClasses and settings do not change them",
    )
    assert types_for.calls == 1


def test_a_daemonset_can_be_deleted_and_its_template_set() -> None:
    owner = an_owner(kind="DaemonSet", name="web", uid="ds")
    start = base(_daemonset(), pods=(a_pod(name="agent", node="n", owner=owner),))
    ref = ObjectRef("DaemonSet", "web", "default")
    gone = edited(start, DeleteObject(ref))
    assert (gone.inventory.daemonsets, gone.inventory.pods) == ((), ())
    side = edited(start, SetField(ref, ("spec", "template", "spec", "nodeSelector", "a"), "b"))
    assert side.inventory.daemonsets[0].template.node_selector == {"a": "b"}
    assert side.inventory.pods[0].template.node_selector == {"a": "b"}
    assert edited(start, SetField(ref, ("metadata", "labels", "a"), "b")).inventory.daemonsets[0].labels == {"a": "b"}


def test_lists_and_volumes_are_created() -> None:
    ref = ObjectRef("Pod", "web-1", "default")
    volume = PodVolume("scratch", is_ephemeral=True, storage_class_name="gp3")
    start = base(pods=(a_pod(volumes=(volume, PodVolume("any", is_ephemeral=True))),))
    side = edited(start, SetField(ref, ("spec", "tolerations", 0, "key"), "x"), SetField(ref, ("spec", "volumes", 1)))
    (pod,) = side.inventory.pods
    assert pod.template.tolerations[0].key == "x"
    assert pod.volumes == (volume,)
    text = refusal(start, SetField(ref, ("spec", "containers", 0, "resources", "requests", "cpu"), "much"))
    assert "Pod default/web-1: spec.containers[0].resources.requests.cpu: 'much' is not a quantity" in text


def test_an_object_without_api_version_and_kind_can_be_edited() -> None:
    start = base(POOL, NODECLASS)
    (nodeclass,) = start.inventory.nodeclasses
    raw = {key: value for key, value in NODECLASS.items() if key not in ("apiVersion", "kind")}
    live = with_objects(start, nodeclasses=(replace(nodeclass, raw=raw),))
    side = edited(live, SetField(ObjectRef("EC2NodeClass", "default"), ("spec", "role"), "x"))
    (node_class,) = side.inventory.nodeclasses
    assert (node_class.group, node_class.version, node_class.kind, node_class.spec["role"]) == (
        "karpenter.k8s.aws", "v1", "EC2NodeClass", "x",
    )  # fmt: skip


def test_defaults_come_from_the_shipped_schema_or_the_existing_object() -> None:
    pool = as_stored({"kind": "NodePool", "spec": {"template": {"spec": {}}}}, None, "1.15.1")
    assert pool["spec"]["disruption"] == {
        "consolidateAfter": "0s",
        "consolidationPolicy": "WhenEmptyOrUnderutilized",
        "budgets": [{"nodes": "10%"}],
    }
    assert pool["spec"]["template"]["spec"]["expireAfter"] == "720h"
    assert "status" not in pool
    metadata = as_stored({"kind": "EC2NodeClass", "spec": {}}, None, "1.15.1")["spec"]["metadataOptions"]
    assert (metadata["httpTokens"], metadata["httpPutResponseHopLimit"]) == ("required", 1)
    document = as_stored(
        {"kind": "EC2NodeClass", "spec": {}}, {"spec": {"metadataOptions": {"httpTokens": "optional"}}}, "1.15.1"
    )
    assert document["spec"] == {"metadataOptions": {"httpTokens": "required"}}
    assert as_stored({"kind": "EC2NodeClass", "spec": {}}, {"spec": {}}, "1.15.1")["spec"] == {}


M5, C5 = an_instance_type(name="m5.large"), an_instance_type(name="c5.large")


def test_pools_that_share_types_still_share_them_and_count_once() -> None:
    shared, result = (M5,), (C5,)
    instance_types, counts = without_offerings({"a": shared, "b": shared, "c": result}, (TakeOut(zone="us-east-1a"),))
    assert isinstance(instance_types, Mapping)
    assert instance_types["a"] is instance_types["b"]
    assert [offering.is_available for offering in instance_types["a"][0].offerings] == [False, True]
    assert counts == [2]
