"""Rollouts that stop, pods between two crashes, and pods that wait for something that other objects name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.incidents.cluster import Cluster, NodePair
from tests.incidents.fleets import fleet, gone_claim, usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n, order_of
from tests.incidents.node_objects import NOT_READY, add_node, both
from tests.incidents.objects import Object, digest, owner
from tests.incidents.pods import PROTECTED, add_pdb, add_pod, add_volume, add_workload, no_node, waiting
from tests.incidents.pools import add_nodeclass, add_pool
from tests.incidents.workloads import cannot_pull, crash, not_ready
from tests.incidents.workloads_together import not_ready_since

PENDING = r"[1-9]\d* pods?[^\n]{0,30} pending"
SMALL: dict[str, Any] = {"cpu": "40m", "memory": "64Mi"}
NEW_IMAGE = {"osImage": "Amazon Linux 2023.11.20261118"}


def _revision(c: Cluster, name: str, count: int, nodes: Sequence[NodePair], age: str) -> list[Object]:
    """Add pods of a newer revision to a Deployment."""
    space, short = name.split("/")
    labels = {"app.kubernetes.io/name": short, "pod-template-hash": "5f6b7c8d9"}
    parent = c.add(
        "ReplicaSet",
        f"{short}-5f6b7c8d9",
        space,
        age=age,
        labels=labels,
        ownerReferences=[owner(c.find("Deployment", short))],
        spec={"replicas": count, "selector": {"matchLabels": labels}, "template": {}},
        status={"replicas": count},
    )
    more: dict[str, Any] = {"age": age, "labels": labels, "parent": parent, **SMALL}
    return [add_pod(c, space, f"{short}-5f6b7c8d9-{digest(i)[:5]}", node=nodes[i], **more) for i in range(count)]


@incident(
    story="A release of shop/api is stuck for 35 minutes: its three new pods exit with 1, and the ten old ones run on. At the same time drift replaces nodes, two at a time, as it should.",
    cause="3 pods of shop/api crash (exit code 1), all of the new revision; the 10 pods of the old one run.",
    thread="argoproj/argo-rollouts#2345",
    must=["shop/api", n(3), "crash|exit code 1"],
    must_not=[LAUNCHES, PENDING, ICE, r"Amazon Linux", r"no other"],
)
def new_revision_crashes_during_drift(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general", disruption={"budgets": [{"nodes": "2"}]})
    old = fleet(c, "general", "orders/storefront", 8, drifted="3h", age="20d")
    new = [add_node(c, "general", "m6i.xlarge", c.zones[i % 3], age=f"{50 + 20 * i}m") for i in range(4)]
    for pair in new:
        pair.status["nodeInfo"] |= NEW_IMAGE
    add_workload(c, "orders/mail", on=new, count=8, age="45m")
    add_workload(c, "shop/api", on=old, count=10, age="5d", **SMALL)
    for pod in _revision(c, "shop/api", 3, new, "35m"):
        crash(c, pod, code=1, restarts=11, ago="60s")


@incident(
    story="A canary of the Argo Rollout shop/api has crashed for 40 minutes: its two pods exit with 1. The eight stable pods run.",
    cause="2 canary pods of shop/api crash (exit code 1); its 8 stable pods run.",
    thread="argoproj/argo-rollouts#2345",
    must=["shop/api", n(2), "crash", "revision"],
    must_not=[LAUNCHES, PENDING, ICE, "no other"],
)
def canary_of_a_rollout_crashes(c: Cluster) -> None:
    pairs = usual(c)
    add_workload(c, "shop/api", on=pairs, count=8, age="5d", **SMALL)
    for pod in _revision(c, "shop/api", 2, pairs, "40m"):
        crash(c, pod, code=1, restarts=12, ago="70s")
    c.find("Deployment", "api").update(apiVersion="argoproj.io/v1alpha1", kind="Rollout")
    for manifest in c.objects:
        labels = manifest["metadata"].get("labels", {})
        if manifest["metadata"].get("namespace") == "shop" and "pod-template-hash" in labels:
            labels["rollouts-pod-template-hash"] = labels.pop("pod-template-hash")
        for parent in manifest["metadata"].get("ownerReferences", ()):
            if parent["kind"] == "Deployment" and parent["name"] == "api":
                parent.update(apiVersion="argoproj.io/v1alpha1", kind="Rollout")


@incident(
    story="The readiness probe of a release of shop/api asks a path that no longer exists: its three new pods are never ready, and the rollout stops there for 35 minutes. The ten old pods serve.",
    cause="3 new pods of shop/api have not been ready for 34 minutes (HTTP 404 of their readiness probe); the pods of the old revision serve.",
    thread="kubernetes/kubernetes#93476",
    must=["shop/api", n(3), r"not been ready", r"3[45] ?m", "revision"],
    must_not=[LAUNCHES, PENDING, ICE, r"none of the|no other"],
)
def new_revision_is_never_ready(c: Cluster) -> None:
    pairs = usual(c)
    add_workload(c, "shop/api", on=pairs, count=10, age="5d", **SMALL)
    for pod in _revision(c, "shop/api", 3, pairs, "35m"):
        not_ready_since(pod, c.at("34m"))
        text = "Readiness probe failed: HTTP probe failed with statuscode: 404"
        c.event(pod, "Unhealthy", text, last="8s", first="34m", count=200, source="kubelet")


@incident(
    story="A Secret was rotated 50 minutes ago. Pods of bi/load that started later crash, older ones run. The newest pods are on the newest nodes, which have a new image since yesterday's drift: the image is innocent.",
    cause="5 pods of bi/load crash (exit code 2), all started in the last 50 minutes; older ones run. Their nodes' image may be innocent.",
    thread="external-secrets/external-secrets#1003",
    must=["bi/load", n(5), "crash|exit code 2", r"newer|started later|change since"],
    must_not=[LAUNCHES, PENDING, ICE],
)
def secret_rotated_during_drift(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    old = fleet(c, "general", "orders/storefront", 6, drifted="26h", age="20d")
    new = [add_node(c, "general", "m6i.xlarge", c.zones[i], age="20h") for i in range(3)]
    for pair in new:
        pair.status["nodeInfo"] |= NEW_IMAGE
    add_workload(c, "shop/web", on=new, count=6, age="19h", cpu="400m", memory="256Mi")
    pods = add_workload(c, "bi/load", on=[*old, *new, *new[:2]], age="6d", cpu="100m", memory="128Mi")
    for pod in pods[6:]:
        pod["metadata"]["creationTimestamp"] = pod["status"]["startTime"] = c.at("47m")
        crash(c, pod, code=2, restarts=13, ago="80s")


@incident(
    story="kubectl's lists only, no events: the drift of six nodes of web has waited for 4 days behind PodDisruptionBudget shop/front (maxUnavailable 0). Three pods of bi/cube restart again and again, and happen to run at the moment.",
    cause="PodDisruptionBudget shop/front never allows an eviction: the drift of 6 nodes waits for 4 days; 3 pods of bi/cube restart again and again.",
    thread="kubernetes/kubernetes#57291",
    must=["shop/front", n(6), r"\b4 ?d|3d2", "bi/cube", "crash|restart"],
    must_not=[LAUNCHES, PENDING, ICE],
    listed=("Node", "Pod", "NodeClaim", "NodePool", "EC2NodeClass", "DaemonSet", "PodDisruptionBudget"),
)
def budget_and_restarts_in_lists(c: Cluster) -> None:
    usual(c)
    add_pool(c, "web", labels={"tier": "web"})
    pairs = [add_node(c, "web", "m6i.xlarge", c.zones[i % 3], age="20d", drifted="4d") for i in range(6)]
    add_workload(c, "shop/front", on=pairs, count=18, age="19d", spec={"nodeSelector": {"tier": "web"}})
    add_pdb(c, "shop", "front", "front", healthy=18, desired=18, expected=18, maxUnavailable=0)
    for pod in add_workload(c, "bi/cube", on=c.system, count=3, age="5h", cpu="20m", memory="64Mi"):
        ended = {"reason": "Error", "exitCode": 3, "startedAt": c.at("5m"), "finishedAt": c.at("2m")}
        not_ready(pod).update(restartCount=50, lastState={"terminated": ended})


@incident(
    story="Namespace mobile was created again without the registry's credentials: the Secret regcred, which its pods name, does not exist there, and the registry answers 401.",
    cause="5 pods of mobile/gateway cannot pull their image for 25 minutes: their imagePullSecret regcred cannot be read, and the registry answers 401 Unauthorized.",
    thread="kubernetes/kubernetes#45487",
    must=["mobile/gateway", n(5), r"\bpull", "regcred"],
    must_not=[LAUNCHES, PENDING, ICE],
)
def pull_secret_missing(c: Cluster) -> None:
    usual(c)
    hosts = [add_node(c, "general", "m6i.xlarge", zone, age="8d") for zone in c.zones]
    pods = add_workload(c, "mobile/gateway", on=hosts, count=5, age="26m", waiting="ImagePullBackOff", **SMALL)
    error = "failed to authorize: failed to fetch anonymous token: unexpected status: 401 Unauthorized"
    cannot_pull(c, pods, "harbor.corp.example/mobile/gateway:3.1", error)
    text = "Unable to retrieve some image pull secrets (regcred); attempting to pull the image may not succeed."
    for pod in pods:
        c.event(pod, "FailedToRetrieveImagePullSecret", text, last="30s", first="26m", count=110, source="kubelet")


@incident(
    story="db/pg-0 is pending: its volume is in us-east-1d, where no subnet is any more. Six pods of shop/api wait for the database in their init container.",
    cause="db/pg-0 is pending for 44 minutes, as its volume is in us-east-1d, where no NodePool launches; 6 pods of shop/api wait in their init container wait-for-db.",
    thread="aws/karpenter-provider-aws#4420",
    must=["db/pg-0", "us-east-1d", "shop/api", "init container wait-for-db"],
    must_not=[LAUNCHES, ROOM, ICE],
    other=[order_of("db/pg-0", "shop/api")],
)
def init_containers_wait_for_a_database(c: Cluster) -> None:
    usual(c)
    hosts = [add_node(c, "general", "m6i.xlarge", zone, age="8d") for zone in c.zones]
    text = no_node({"node(s) had volume node affinity conflict": 9})
    pods = waiting(c, "db/pg", 1, "44m", text, kind="StatefulSet", cpu="1", memory="2Gi")
    pods[0]["spec"]["volumes"] = [add_volume(c, "db", "data-pg-0", "us-east-1d")]
    for pod in add_workload(c, "shop/api", on=hosts, count=6, age="41m", waiting="PodInitializing", **SMALL):
        running = {"running": {"startedAt": c.at("41m")}}
        pod["status"]["initContainerStatuses"] = [{"name": "wait-for-db", "ready": False, "state": running}]


@incident(
    story="EKS Auto Mode: someone deleted the NodePool general-purpose. Only system is left, whose taint CriticalAddonsOnly ordinary pods do not tolerate. The reader has a few lists, and no node shows an instance type of system.",
    cause="8 pods of shop/web do not tolerate the taint CriticalAddonsOnly of NodePool system, the only NodePool.",
    thread="aws/containers-roadmap#2491",
    must=["shop/web", n(8), "CriticalAddonsOnly", "system"],
    must_not=[LAUNCHES, ROOM, ICE],
    karpenter_runs=False,
    listed=("Node", "NodeClaim", "NodePool", "Pod", "Deployment", "ReplicaSet"),
)
def only_the_system_pool_is_left(c: Cluster) -> None:
    reference = {"group": "eks.amazonaws.com", "kind": "NodeClass", "name": "default"}
    taints = [{"key": "CriticalAddonsOnly", "effect": "NoSchedule"}]
    add_pool(c, "system", families=(), sizes=(), template={"taints": taints, "nodeClassRef": reference})
    add_workload(c, "ops/metrics", on=c.system, count=2, cpu="1500m", memory="2Gi")
    waiting(c, "shop/web", 8, "28m")


@incident(
    story="Someone ended three on-demand instances in the EC2 console. Karpenter learnt it from its queue; seven pods are pending, and a replacement is being launched.",
    cause="3 on-demand nodes of general were terminated from outside, not by Karpenter, 3 minutes ago; 7 pods are pending.",
    thread="aws/karpenter-provider-aws#4560",
    must=[n(3), "terminated", r"outside|not by Karpenter", n(7)],
    must_not=[ICE],
)
def instances_ended_in_the_console(c: Cluster) -> None:
    usual(c)
    for zone in c.zones:
        pair = add_node(c, "general", "m6i.xlarge", zone, age="9d", deleting="170s", ready=NOT_READY, ready_since="100s")  # fmt: skip
        for manifest in both(pair):
            c.event(manifest, "InstanceTerminating", "Instance is terminating", last="175s")
            c.event(manifest, "TerminatingOnInterruption", f"Interruption triggered termination for the {manifest['kind']}", last="175s")  # fmt: skip
    waiting(c, "erp/core", 7, "165s")
    add_node(c, "general", "m6i.2xlarge", c.zones[0], age="45s", stage="Launched")


@incident(
    story="A NodeClaim does not register, nor did the two before it. The pod ml/fit-0 with do-not-disrupt keeps a drifted node for 6 days; Karpenter's simulation would move it to that NodeClaim.",
    cause="A NodeClaim of general has not registered for 13 minutes, 4 pods are pending; do-not-disrupt on ml/fit-0 keeps the drift of a node for 6 days.",
    thread="aws/karpenter-provider-aws#7469",
    must=["regist", n(4), "ml/fit-0", "do-not-disrupt"],
    must_not=[ICE],
    karpenter_version="1.3.3",
)
def unregistered_and_protected(c: Cluster) -> None:
    usual(c)
    add_pool(c, "train")
    pair = add_node(c, "train", "m6i.2xlarge", c.zones[0], age="29d", drifted="6d")
    add_workload(c, "ml/fit", kind="StatefulSet", on=[pair], age="28d", cpu="6", memory="20Gi", annotations=PROTECTED)
    waiting(c, "orders/checkout", 4, "41m")
    add_node(c, "general", "m6i.2xlarge", c.zones[1], age="13m", stage="Launched")
    for i in range(2):
        text = "Node failed to register within 15m"
        c.event(gone_claim(c, "general", i), "FailedRegistration", text, last=f"{13 + 15 * i}m")


@incident(
    story="Three pods of ml/train request a GPU and lack the toleration of NodePool gpu's taint; NodePool general has no GPUs. Two pods of bi/etl select arm64, which no NodePool has.",
    cause="3 pods of ml/train do not tolerate the taint nvidia.com/gpu of NodePool gpu; 2 pods of bi/etl select arm64, which no NodePool has.",
    thread="kubernetes-sigs/karpenter#2441",
    must=["ml/train", "nvidia.com/gpu", "taint|tolerat", "bi/etl", "arm64"],
    must_not=[LAUNCHES, ICE],
)
def gpu_without_toleration_and_an_architecture(c: Cluster) -> None:
    usual(c)
    taints = [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]
    add_pool(c, "gpu", families=("g5",), template={"taints": taints})
    waiting(c, "ml/train", 3, "22m", cpu="2", memory="8Gi", requests={"nvidia.com/gpu": "1"})
    waiting(c, "bi/etl", 2, "31m", spec={"nodeSelector": {"kubernetes.io/arch": "arm64"}})
