"""Clusters in which somebody or something works, and nothing is wrong: reboots, upgrades, vertical scaling, placeholders."""

from __future__ import annotations

import json

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import big_fleet, fleet, gone_claim, nominated, usual
from tests.incidents.incident import ICE, incident, quiet
from tests.incidents.node_objects import NOT_READY, add_group_node, add_node, both, conditions, cordon
from tests.incidents.objects import condition, uid
from tests.incidents.pods import add_daemonset, add_pdb, add_pod, add_volume, add_workload, waiting
from tests.incidents.pools import add_nodeclass, add_pool
from tests.incidents.providers import aks_pool, to_aks


@quiet(
    story="Kured reboots the nodes one after the other for a kernel update. Three are done; the fourth was cordoned three minutes ago, drained, and its kubelet has been silent for 50 seconds, because the machine reboots.",
    cause="kured reboots the nodes one at a time, and the fourth is rebooting.",
    thread="kubereboot/kured#63",
    must_not=["forgotten", "stuck|never"],
)
def fine_nodes_reboot_one_by_one(c: Cluster) -> None:
    usual(c, 6)
    add_daemonset(c, "kube-system", "kured", cpu="10m", memory="50Mi")
    pair = add_node(c, "general", "m6i.xlarge", c.zones[1], age="9d", ready=NOT_READY, ready_since="50s", annotations={"weave.works/kured-reboot-in-progress": c.at("3m")})  # fmt: skip
    cordon(c, pair, "3m")
    lock = json.dumps({"nodeID": pair.name, "metadata": {"unschedulable": False}, "created": c.at("3m"), "TTL": 0})
    c.find("DaemonSet", "kured")["metadata"]["annotations"] = {"weave.works/kured-node-lock": lock}
    for number, done in enumerate([other for other in c.nodes if other.claim][:3]):
        age = f"{9 + 7 * number}m"
        text = f"Node {done.name} has been rebooted, boot id: {uid(c.name, number)}"
        c.event(both(done)[0], "Rebooted", text, last=age, source="kubelet")
        for reason in ("NodeNotReady", "NodeReady"):
            text = f"Node {done.name} status is now: {reason}"
            c.event(both(done)[0], reason, text, last=age, kind="Normal", source="kubelet")


@quiet(
    story="The updater of the VerticalPodAutoscaler brings the pods of data/stream to their new size: it has evicted 14 of 20 in 40 minutes, one at a time, and each was scheduled again at once. One is pending for four seconds.",
    cause="the VerticalPodAutoscaler recreates pods one at a time, and each finds its place.",
    thread="aws/karpenter-provider-aws#3594",
    must_not=["descheduler", "karpenter[^\n]{0,40}evict", "against Karpenter"],
)
def fine_pods_are_resized_one_by_one(c: Cluster) -> None:
    pairs = usual(c, 5)
    pods = add_workload(c, "data/stream", on=pairs, count=19, pending=1, pending_since="4s", cpu="60m", memory="300Mi", age="20m")  # fmt: skip
    prefix = pods[0]["metadata"]["name"][:-6]
    target = {"containerName": "app", "target": {"cpu": "60m", "memory": "300Mi"}}
    c.add(
        "VerticalPodAutoscaler", "stream", "data", age="40d",
        spec={"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "stream"}, "updatePolicy": {"updateMode": "Recreate"}},
        status={"recommendation": {"containerRecommendations": [target]}},
    )  # fmt: skip
    for number in range(14):
        meta = dict(pods[0]["metadata"], name=f"{prefix}-vpa{number:02}", uid=uid(c.name, "gone", number))
        gone = {"apiVersion": "v1", "kind": "Pod", "metadata": meta}
        text = "Pod was evicted by VPA Updater to apply resource recommendation."
        c.event(gone, "EvictedByVPA", text, last=f"{20 + 180 * number}s", kind="Normal", source="vpa-updater")


@quiet(
    story="AKS takes a new node image for the system pool: it added a surge node six minutes ago, has reimaged one node, and drains the next for two minutes. Karpenter's own nodes are not touched.",
    cause="AKS upgrades the image of its system pool, one node at a time.",
    thread="Azure/AKS#3927",
    must_not=[r"EC2NodeClass|\bEC2\b|\bAWS\b", "forgotten", r"karpenter[^\n]{0,60}(down|not running|missing|no (running )?pod)"],
    karpenter_runs=False,
    settings={"CLUSTER_NAME": "orders-aks"},
)  # fmt: skip
def fine_system_pool_is_reimaged(c: Cluster) -> None:
    aks_pool(c)
    fleet(c, "default", "orders/storefront", 4)
    surge = add_group_node(c, "m6i.large", c.zones[1], age="6m")
    text = f"Created a surge node {surge.name} for agentpool system"
    assert surge.node is not None
    c.event(surge.node, "Surge", text, last="6m", kind="Normal", source="upgrader")
    old = add_group_node(c, "m6i.large", c.zones[2], age="61d")
    cordon(c, old, "2m")
    assert old.node is not None
    c.event(old.node, "Drain", f"Draining node: {old.name}", last="2m", kind="Normal", source="upgrader")
    to_aks(c)


@quiet(
    story="Placeholder pods of low priority keep room free. A burst of six pods preempted four of them 35 seconds ago, as they are meant to be, and runs. The placeholders are pending, and a node for them is being launched.",
    cause="placeholder pods were preempted as intended, and a node for them is being launched.",
    thread="aws/karpenter-provider-aws#4452",
    must_not=[r"limit", "stuck|never", r"cannot|refuse"],
)
def fine_placeholders_are_preempted(c: Cluster) -> None:
    c.add("PriorityClass", "placeholder", age="200d", value=-10, globalDefault=False)
    usual(c)
    spare = [add_node(c, "general", "m6i.xlarge", c.zones[number % 3], age="3d") for number in range(2)]
    add_workload(c, "shop/flash", on=spare, count=6, age="34s")
    spec = {"priorityClassName": "placeholder", "priority": -10, "terminationGracePeriodSeconds": 0}
    pods = waiting(c, "kube-system/placeholder", 4, "35s", spec=spec, image="registry.k8s.io/pause:3.10")
    fresh = add_node(c, "general", "m6i.2xlarge", c.zones[2], age="27s", stage="Launched")
    nominated(c, pods, [fresh], last="26s")
    prefix = pods[0]["metadata"]["name"][:-6]
    for number in range(4):
        meta = dict(pods[0]["metadata"], name=f"{prefix}-gone{number}", uid=uid(c.name, "gone", number))
        gone = {"apiVersion": "v1", "kind": "Pod", "metadata": meta}
        text = f"Preempted by pod {uid(c.name, 'flash', number)} on node {spare[number % 2].name}"
        c.event(gone, "Preempted", text, last="36s", kind="Normal", source="default-scheduler")


@quiet(
    story="A large and untidy cluster on an ordinary day: 70 nodes and 1,100 pods; 40 volumes that were released and kept; finished and failed pods of workflows; a budget that allows no eviction and blocks nothing; restarts of yesterday; "
    "Karpenter's usual events that nodes cannot be consolidated; a node that is starting and one that is being removed.",
    cause="a large cluster is untidy, but everything runs.",
    thread="kubernetes-sigs/karpenter#2802",
    must_not=["stuck|never", ICE, "released"],
)
def fine_large_and_untidy(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "web")
    add_pool(c, "data", families=("r6i",), disruption={"consolidationPolicy": "WhenEmpty"})
    pairs = big_fleet(c, "web", 62, age="11d")
    stores = [add_node(c, "data", "r6i.xlarge", c.zones[number % 3], age="21d") for number in range(6)]
    pods = add_workload(c, "data/scylla", kind="StatefulSet", on=stores, age="20d", cpu="3", memory="26Gi")
    for number, pod in enumerate(pods):
        pod["spec"]["volumes"] = [add_volume(c, "data", f"data-scylla-{number}", c.zones[number % 3])]
    add_pdb(c, "data", "scylla", "scylla", healthy=6, desired=6, expected=6, maxUnavailable=0)
    for number in range(40):
        c.add(
            "PersistentVolume", f"pvc-{uid(c.name, 'released', number)}", age=f"{30 + number}d",
            spec={"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "50Gi"}, "persistentVolumeReclaimPolicy": "Retain", "storageClassName": "gp3",
                  "claimRef": {"kind": "PersistentVolumeClaim", "namespace": "old", "name": f"data-{number}"}},
            status={"phase": "Released"},
        )  # fmt: skip
    for number in range(30):
        owner = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "name": f"nightly-{number // 6}", "uid": uid(c.name, "wf", number // 6), "controller": True}  # fmt: skip
        pod = add_pod(c, "argo", f"nightly-{number // 6}-step-{number}", node=pairs[number], age=f"{8 + number}h", phase="Failed" if number == 11 else "Succeeded", cpu="200m", memory="256Mi")  # fmt: skip
        pod["metadata"]["ownerReferences"] = [owner]
    for pod in [item for item in c.objects if item["kind"] == "Pod" and item["metadata"]["name"].startswith("main-")][:25]:  # fmt: skip
        ended = {"reason": "Error", "exitCode": 1, "startedAt": c.at("2d"), "finishedAt": c.at("26h")}
        pod["status"]["containerStatuses"][0] |= {"restartCount": 3, "lastState": {"terminated": ended}}
    for pair in pairs[:40]:
        for manifest in both(pair):
            text = "Can't replace with a cheaper node"
            c.event(manifest, "Unconsolidatable", text, last="6m", first="58m", count=4, kind="Normal")
    for number in range(3):
        claim = gone_claim(c, "web", number)
        c.event(claim, "DisruptionTerminating", "Disrupting NodeClaim: Empty", last=f"{14 + 15 * number}m", kind="Normal")  # fmt: skip
    going = add_node(c, "web", "m6i.xlarge", c.zones[0], age="7d", deleting="25s")
    conditions(going, condition("Drained", "Unknown", c.at("25s"), "Draining", "Draining"))
    for manifest in both(going):
        c.event(manifest, "DisruptionTerminating", f"Disrupting {manifest['kind']}: Empty", last="26s", kind="Normal")
    fresh = add_node(c, "web", "m6i.xlarge", c.zones[1], age="31s", stage="Launched")
    nominated(c, waiting(c, "feed/burst", 3, "33s"), [fresh], last="30s")


@incident(
    story="A developer may list nodes and pods only. One node was cordoned and is being removed by Karpenter for 40 seconds, and one pod has been pending for six seconds. NodePools, NodeClaims, events and Karpenter's own objects were not read.",
    cause="Nothing is wrong: the lists of nodes and pods show a cluster without a fault; nothing else was read.",
    thread="kubernetes-sigs/karpenter#2989",
    must=["NodePools", "were not read"],
    must_not=["no NodePool|NodePools? (does not|do not|is missing)", r"karpenter[^\n]{0,60}(down|not running|not found|missing|does not run|not installed)", r"without (their |a )?NodeClaim", "stuck|never"],
    listed=("Node", "Pod"),
    first=1,
    healthy=True,
)  # fmt: skip
def fine_nodes_and_pods_only(c: Cluster) -> None:
    usual(c, 5)
    going = add_node(c, "general", "m6i.xlarge", c.zones[1], age="3d", deleting="40s")
    add_workload(c, "orders/returns", on=[going], age="2d", deleting="38s", cpu="200m", memory="300Mi")
    waiting(c, "orders/returns-api", 1, "6s", scheduled=True, cpu="200m", memory="300Mi")
