"""Pods that stay pending whatever Karpenter launches: gates, StorageClasses, drivers and foreign taints."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from karptui.karpenter.inventory import Inventory
from karptui.karpenter.settings import Settings
from karptui.kube.pod import SCHEDULING_GATED, PodTrouble, PodVolume
from karptui.kube.taints import Taint, Toleration
from karptui.kube.volumes import CSINode, PersistentVolumeClaim, StorageClass
from karptui.kube.workload import Workload
from karptui.pending.study import study_pending
from karptui.provisioning import prepare
from karptui.views.pending.sentences import disagreement_text
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
)
from tests.builders.clusters import state_of

TYPES = (an_instance_type(name="m5.large", cpu="2", memory="8Gi"),)
SCAN = Taint("scan.example/pending", "NoSchedule")


def held(**objects: Any) -> list[str]:
    inventory = Inventory(nodepools=(a_nodepool(),), **objects)
    report = study_pending(prepare(inventory, TYPES, Settings(), NOW_NS), state_of(inventory))
    return [disagreement_text(reason) for group in report.groups for reason in group.disagreements]


def gated(*, ready: bool, controller: str = "kueue-controller-manager") -> list[str]:
    pod = a_pod(name="tune", scheduled_reason=SCHEDULING_GATED)
    pod = replace(pod, trouble=PodTrouble(gates=("kueue.x-k8s.io/admission",)))
    manager = a_pod(name=f"{controller}-7d9-x", namespace="kueue", node="n1", is_ready=ready)
    workload = Workload(name=controller, namespace="kueue", api_version="apps/v1", kind="Deployment", replicas=1)
    return held(pods=(pod, manager), nodes=(a_node(name="n1"),), workloads=(workload,))


def test_a_gate_whose_controller_has_no_ready_pod_is_not_removed() -> None:
    [said] = gated(ready=False)
    why = "Deployment kueue/kueue-controller-manager has no ready pod"
    assert said == f"scheduling gate kueue.x-k8s.io/admission is not removed: {why}"
    assert gated(ready=True) == []
    assert gated(ready=False, controller="volcano-controller-manager") == []


@pytest.mark.parametrize(("is_default", "end"), [(False, ", and no StorageClass is the default"), (True, "")])
def test_a_claim_without_a_storage_class_is_named(*, is_default: bool, end: str) -> None:
    pod = a_pod(name="vm-0", volumes=(PodVolume("data", "data-vm-0"),))
    said = held(
        pods=(pod,),
        claims=(PersistentVolumeClaim(name="data-vm-0", namespace="default"),),
        storage_classes=(StorageClass(name="gp3", is_default=is_default),),
    )
    assert said == [f"its PersistentVolumeClaim data-vm-0 is not bound and names no StorageClass{end}"]


@pytest.mark.parametrize(
    ("driver", "registered", "end"),
    [
        ("ebs.csi.aws.com", "ebs.csi.eks.amazonaws.com", ", and no node has it registered (they have ebs.csi.eks"),
        ("ebs.csi.aws.com", "ebs.csi.aws.com", "does not answer"),
        ("cluster.local/nfs", "ebs.csi.aws.com", "does not answer"),
    ],
)
def test_a_driver_that_no_node_has_is_told_from_one_that_is_silent(driver: str, registered: str, end: str) -> None:
    message = f"Waiting for a volume to be created either by the external provisioner '{driver}' or manually"
    event = an_event(about="PersistentVolumeClaim/default/data", reason="ExternalProvisioning", message=message)
    [said] = held(
        pods=(a_pod(name="vm-0", volumes=(PodVolume("data", "data"),)),),
        claims=(PersistentVolumeClaim(name="data", namespace="default", storage_class_name="gp3"),),
        storage_classes=(StorageClass(name="gp3", provisioner=driver, volume_binding_mode="WaitForFirstConsumer"),),
        csi_nodes=(CSINode(name="n1", driver_limits=((registered, 25),)),),
        events=(replace(event, first_ns=NOW_NS - HOUR_NS),),
    )
    assert end in said
    assert said.endswith("does not answer") is (end == "does not answer")


@pytest.mark.parametrize(
    ("claim", "pod", "is_told"),
    [
        ({}, {}, True),
        ({"startup_taints": (SCAN,)}, {}, False),
        ({"created_ns": NOW_NS - HOUR_NS}, {}, False),
        ({"stage": "Registered"}, {}, False),
        ({}, {"tolerations": (Toleration("scan.example/pending", "Exists"),)}, False),
    ],
)
def test_a_taint_that_keeps_pods_off_nodes_launched_meanwhile_is_named(
    claim: dict[str, Any], pod: dict[str, Any], *, is_told: bool
) -> None:
    said = held(
        pods=(a_pod(name="promo", created_ns=NOW_NS - 20 * MINUTE_NS, requests={"cpu": "1"}, **pod),),
        nodes=(a_node(name="n1", taints=(SCAN,)),),
        nodeclaims=(a_nodeclaim(node="n1", **{"created_ns": NOW_NS - 10 * MINUTE_NS, **claim}),),
    )
    assert any("has the taint scan.example/pending:NoSchedule" in text for text in said) is is_told
