"""States in the middle of a change: image rollouts, upgrades, moves between NodePools, and zones that come back."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import big_fleet, fleet, nominated, unschedulable, usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n, order_of
from tests.incidents.node_objects import add_node, both, conditions
from tests.incidents.objects import condition, digest
from tests.incidents.pods import SELECTOR, add_daemonset, add_pod, add_volume, add_workload, no_node, required, waiting
from tests.incidents.pools import add_nodeclass, add_pool
from tests.incidents.workloads import crash

NONE_PENDING = r"[1-9]\d* pods?[^\n]{0,12} pending"
RESERVED = "karpenter.k8s.aws/capacity-reservation-id"


@incident(
    story="A cluster of 44 nodes moved to Karpenter 1.14 last week. NodePool web has consolidateAfter 4h. Eight of its nodes run one small pod each, which share no node, and may be consolidated; on all 36 others a pod came or went within the last four hours. Since 1.14 "
    "Karpenter moves no pods to nodes within their consolidateAfter, so the eight stay. Before the upgrade they were removed.",
    cause="8 nearly empty nodes of web stay, because the 36 others, which could take their pods, are within consolidateAfter (4h), and Karpenter 1.14 moves no pods to such nodes.",
    thread="kubernetes-sigs/karpenter#3225",
    must=[n(8), r"\bweb\b", "consolidateAfter", r"\b4h|4 hours|240 ?m"],
    must_not=[r"\bPDB\b|PodDisruptionBudget|do-not-disrupt", LAUNCHES, r"budget[^\n]{0,30}(block|forbid|allows no)"],
    other=[{"command": ["explain", "node", "ip-10-24-25-77.ec2.internal"], "must": [["Why is it still here"]]}],
    karpenter_version="1.14.0",
)
def nodes_that_rest_take_no_pods(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(
        c, "web", families=("m6i",), sizes=("xlarge",), labels={"team": "web"}, disruption={"consolidateAfter": "4h"}
    )
    busy = [add_node(c, "web", "m6i.xlarge", c.zones[number % 3]) for number in range(36)]
    add_workload(c, "shop/front", on=busy, count=72)
    for number, pair in enumerate(busy):
        status = both(pair)[1]["status"]
        status["conditions"] = [item for item in status["conditions"] if item["type"] != "Consolidatable"]
        status["lastPodEventTime"] = c.at(f"{5 + 6 * number}m")
    calm = [add_node(c, "web", "m6i.xlarge", c.zones[number % 3]) for number in range(8)]
    apart = {**required("podAntiAffinity", "admin", "kubernetes.io/hostname"), "nodeSelector": {"team": "web"}}
    add_workload(c, "shop/admin", on=calm, cpu="150m", memory="200Mi", age="7d", spec=apart)
    for pair in calm:
        both(pair)[1]["status"]["lastPodEventTime"] = c.at("7d")
        for manifest in both(pair):
            text = "Can't replace with a cheaper node"
            c.event(manifest, "Unconsolidatable", text, last="9m", first="9m", kind="Normal")


@incident(
    story="Both pods of ebs-csi-controller crash for two hours since an upgrade of the add-on. Nothing detaches or attaches volumes: three drained nodes wait for their volumes in the middle of an image rollout, and the three pods that were moved do not start.",
    cause="Both pods of kube-system/ebs-csi-controller have crashed for 2 hours, so volumes are neither detached nor attached: 3 pods of db/pg have not started, and 3 drained nodes of data wait for their volumes.",
    thread="aws/karpenter-provider-aws#9238, kubernetes-sigs/aws-ebs-csi-driver#1665",
    must=["ebs-csi-controller", r"crash|restart", "db/pg", n(3), r"attach|detach"],
    must_not=[LAUNCHES, ROOM, ICE, "do-not-disrupt"],
    first=2,
)
def volume_driver_is_down_during_a_rollout(c: Cluster) -> None:
    usual(c)
    pods = add_workload(c, "kube-system/ebs-csi-controller", on=c.system, cpu="60m", memory="240Mi", age="2h4m", container="csi-provisioner")  # fmt: skip
    for pod in pods:
        crash(c, pod, code=1, restarts=27, ago="3m")
    c.find("Deployment", "ebs-csi-controller")["status"] |= {"readyReplicas": 0, "availableReplicas": 0, "unavailableReplicas": 2}  # fmt: skip
    add_pool(c, "data", sizes=("2xlarge",), labels={"team": "data"}, disruption={"budgets": [{"nodes": "3"}]})
    old = [add_node(c, "data", "m6i.2xlarge", zone, age="20d", drifted="3h", deleting="100m") for zone in c.zones]
    fresh = [add_node(c, "data", "m6i.2xlarge", zone, age="103m") for zone in c.zones]
    spec = {"nodeSelector": {"team": "data"}}
    stuck = add_workload(c, "db/pg", kind="StatefulSet", on=fresh, age="97m", cpu="6", memory="24Gi", waiting="ContainerCreating", spec=spec)  # fmt: skip
    for number, (pair, pod) in enumerate(zip(old, stuck, strict=True)):
        pod["spec"]["volumes"] = [add_volume(c, "db", f"data-pg-{number}", pair.zone)]
        volume = c.find("PersistentVolumeClaim", f"data-pg-{number}")["spec"]["volumeName"]
        conditions(
            pair,
            condition("DisruptionReason", "True", c.at("100m"), "Drifted"),
            condition("Drained", "True", c.at("98m")),
            condition("VolumesDetached", "Unknown", c.at("98m"), "AwaitingVolumeDetachment", "AwaitingVolumeDetachment"),
        )  # fmt: skip
        c.add(
            "VolumeAttachment", f"csi-{volume[4:]}", age="20d", deletionTimestamp=c.at("98m"), finalizers=["external-attacher/ebs-csi-aws-com"],
            spec={"attacher": "ebs.csi.aws.com", "nodeName": pair.name, "source": {"persistentVolumeName": volume}}, status={"attached": True},
        )  # fmt: skip
        text = f"Awaiting deletion of bound volumeattachments (csi-{volume[4:]})"
        c.event(both(pair)[0], "AwaitingVolumeDetachment", text, last="1m", first="59m", count=30, kind="Normal")
        text = f'Multi-Attach error for volume "{volume}" Volume is already exclusively attached to one node and can\'t be attached to another'
        c.event(pod, "FailedAttachVolume", text, last="97m", source="attachdetach-controller")


@incident(
    story="A team moves from NodePool apps-v1 to apps-v2. To keep Karpenter from launching more nodes of the old pool, it set its CPU limit to 0. Six old nodes still run pods of shop/legacy, which select generation=v1, a label that apps-v2 does not have. "
    "The six drifted with a new image 30 hours ago, and Karpenter may not launch a replacement.",
    cause="The drift of 6 nodes of apps-v1 has waited for 30 hours: its CPU limit is 0, so no replacement can be launched, and the pods of shop/legacy on them select generation=v1, which only apps-v1 has.",
    thread="kubernetes-sigs/karpenter#1747, aws/karpenter-provider-aws#5373",
    must=["apps-v1", n(6), r"drift|replac", "limit", r"30 ?h|1d ?6h|29h"],
    must_not=[LAUNCHES, ICE, NONE_PENDING, r"\bPDB\b|PodDisruptionBudget"],
)
def fenced_pool_keeps_its_nodes(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "apps-v2", labels={"generation": "v2"}, weight=50)
    fleet(c, "apps-v2", "shop/front", 14)
    add_pool(c, "apps-v1", labels={"generation": "v1"}, limits={"cpu": "0"})
    old = [add_node(c, "apps-v1", "m6i.xlarge", c.zones[number % 3], age="22d", drifted="30h") for number in range(6)]
    add_workload(c, "shop/legacy", on=old, count=18, age="21d", spec={"nodeSelector": {"generation": "v1"}})


@incident(
    story="An image rollout in a cluster of 60 nodes: 14 nodes have the new AMI. The eBPF driver of the security agent does not load on its kernel: the agent's 14 pods there crash, its 46 pods on the old image run. Drift goes on and makes it worse.",
    cause="14 of 62 pods of the DaemonSet secops/falco crash (exit code 1), all on nodes with the new image (kernel 6.12); on nodes with the old image they run. The drift that brings the image goes on.",
    thread="falcosecurity/falco#2500",
    must=["secops/falco", n(14), r"crash|restart", r"kernel|image|\bAMI\b|6\.12|AL2023|Amazon Linux|new(ly)? "],
    must_not=[LAUNCHES, ICE, "OOM", r"all (of )?(its|the) pods"],
)
def agent_crashes_on_the_new_image(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    old = big_fleet(c, "general", 46, age="21d", drifted="4h")
    fresh = big_fleet(c, "general", 14, age="3h20m", part="new")
    add_daemonset(c, "secops", "falco", cpu="50m", memory="100Mi")
    manifest = c.find("DaemonSet", "falco")
    labels = {"app.kubernetes.io/name": "falco"}
    c.daemonsets = [pair for pair in c.daemonsets if pair[0] is not manifest]
    tolerations = {"tolerations": [{"operator": "Exists"}]}
    for number, pair in enumerate([*c.system, *old, *fresh]):
        new = pair in fresh
        info = both(pair)[0]["status"]["nodeInfo"] if pair.claim else pair.status["nodeInfo"]
        info["kernelVersion"] = "6.12.58-82.121.amzn2023.x86_64" if new else "6.1.158-180.294.amzn2023.x86_64"
        info["osImage"] = "Amazon Linux 2023.9.20261111" if new else "Amazon Linux 2023.8.20260818"
        pod = add_pod(c, "secops", f"falco-{digest(number)[:5]}", node=pair, parent=manifest, age="3h" if new else "9d", cpu="50m", memory="100Mi", labels=labels, spec=tolerations)  # fmt: skip
        if new:
            crash(c, pod, code=1, restarts=38, ago=f"{40 + 9 * number}s")
    counts = {"currentNumberScheduled": 62, "desiredNumberScheduled": 62, "updatedNumberScheduled": 62, "numberMisscheduled": 0, "observedGeneration": 2}  # fmt: skip
    manifest["status"] = {**counts, "numberReady": 48, "numberAvailable": 48, "numberUnavailable": 14}


@incident(
    story="A pod has been pending for nine hours: it has five volumes, and kube-scheduler finds that no node takes so many more. Karpenter counts otherwise and nominates the pod every few minutes to one of three nodes that have room. A nominated node is not disrupted, so the drift of these three waits, "
    "while that of the eleven others is done.",
    cause="The drift of 3 nodes of general has waited for 9 hours, because Karpenter nominates the pending pod qa/recorder-0 to them again and again; kube-scheduler does not place it, because the nodes take no more volumes (max volume count).",
    thread="aws/karpenter-provider-aws#7521",
    must=["qa/recorder", r"volume", r"nominat|intends|expects", r"drift|replac", n(3)],
    must_not=[LAUNCHES, ICE, r"\bPDB\b|PodDisruptionBudget|do-not-disrupt"],
    first=2,
)
def nominated_for_a_pod_that_never_comes(c: Cluster) -> None:
    usual(c, 11)
    old = [add_node(c, "general", "m6i.2xlarge", zone, age="20d", drifted="9h") for zone in c.zones]
    add_workload(c, "orders/worker", on=old, count=6, age="19d", cpu="1500m", memory="6Gi")
    text = no_node({"node(s) exceed max volume count": 3, "Insufficient cpu": 11, SELECTOR: 2})
    pods = waiting(c, "qa/recorder", 1, "9h", text, kind="StatefulSet", cpu="500m", memory="1Gi", pool="general")
    pods[0]["spec"]["volumes"] = [{"name": f"track-{number}", "persistentVolumeClaim": {"claimName": f"track-{number}"}} for number in range(5)]  # fmt: skip
    for number in range(5):
        add_volume(c, "qa", f"track-{number}", c.zones[0])
    nominated(c, pods, old[:1], last="40s", count=400)
    for pair in old:
        for manifest in both(pair):
            c.event(manifest, "DisruptionBlocked", "Node is nominated for a pending pod", last="1m", first="59m", count=30, kind="Normal")  # fmt: skip


@incident(
    story="Karpenter is upgraded from 1.14 to 1.15 by Helm. The pod of the new revision crashes at the start for 3 hours, because a feature gate it names does not exist any more; the rollout stops there. Both pods of the old revision run, and one leads.",
    cause="The upgrade of Karpenter to 1.15.0 has been stuck for 3 hours: its new pod crashes (exit code 1, 37 restarts); the two pods of 1.14.0 run on and lead.",
    thread="aws/karpenter-provider-aws#7276",
    must=[r"karpenter", r"crash|restart", r"1 of 3|1 of 2|one pod|1 pod|new (pod|revision)|1\.15|rollout|upgrade", r"lead|run|old|works?|1\.14"],
    must_not=[r"karpenter (itself )?(is|has been) (down|stopped)|0 of 2|0/2|no leader|karpenter is not running", LAUNCHES, ICE],
    karpenter_version="1.14.0",
)  # fmt: skip
def upgrade_of_karpenter_is_stuck(c: Cluster) -> None:
    usual(c, 6)
    old = next(item for item in c.objects if item["kind"] == "ReplicaSet" and item["metadata"]["name"].startswith("karpenter-"))  # fmt: skip
    deployment = c.find("Deployment", "karpenter")
    labels = {**deployment["metadata"]["labels"], "pod-template-hash": "6f5bd8c9c7"}
    marks = {"labels": labels, "ownerReferences": old["metadata"]["ownerReferences"], "annotations": {"deployment.kubernetes.io/revision": "13"}}  # fmt: skip
    spec = {**old["spec"], "replicas": 1, "selector": {"matchLabels": labels}}
    new = c.add("ReplicaSet", "karpenter-6f5bd8c9c7", "kube-system", age="3h", spec=spec, status={"replicas": 1, "readyReplicas": 0}, **marks)  # fmt: skip
    pod = add_pod(
        c, "kube-system", "karpenter-6f5bd8c9c7-x8lq8", node=c.system[0], parent=new, age="3h", cpu="200m", memory="256Mi", labels=labels,
        container="controller", image="public.ecr.aws/karpenter/controller:1.15.0",
    )  # fmt: skip
    crash(c, pod, code=1, restarts=37, ago="2m")
    deployment["status"] |= {"replicas": 3, "updatedReplicas": 1, "readyReplicas": 2, "availableReplicas": 2, "unavailableReplicas": 1}  # fmt: skip
    text = 'ReplicaSet "karpenter-6f5bd8c9c7" has timed out progressing.'
    deployment["status"]["conditions"].append(condition("Progressing", "False", c.at("2h50m"), "ProgressDeadlineExceeded", text))  # fmt: skip


@incident(
    story="us-east-1c failed last night. To let StatefulSets start elsewhere, an engineer put the taint node.kubernetes.io/out-of-service on its four nodes. The zone came back five hours ago, the nodes are ready again, and nobody removed the taint: four nodes run nothing but DaemonSets and take no pods, "
    "and two pods whose volumes are in the zone are pending, because NodePool zonal, the only one they may use, is at its limit and not consolidated.",
    cause="The taint node.kubernetes.io/out-of-service is left on 4 nodes of us-east-1c, which have been ready for 5 hours: they take no pods, so 2 pods of db/ledger are pending; NodePool zonal is at its limit of 4 nodes.",
    thread="medik8s/self-node-remediation#17, kubernetes/kubernetes#125608",
    must=["out-of-service", n(4), "db/ledger", n(2), r"limit"],
    must_not=[LAUNCHES, ROOM, ICE],
)
def out_of_service_taint_is_left(c: Cluster) -> None:
    usual(c, 6)
    add_pool(c, "zonal", families=("m6i",), sizes=("xlarge",), labels={"team": "db"}, zones=(c.zones[2],), limits={"nodes": "4"}, disruption={"consolidateAfter": "Never"})  # fmt: skip
    taints = [
        {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": effect, "timeAdded": c.at("7h")}
        for effect in ("NoSchedule", "NoExecute")
    ]
    for _ in range(4):
        add_node(c, "zonal", "m6i.xlarge", c.zones[2], age="20d", taints=taints, ready_since="5h")
    text = no_node({"node(s) had untolerated taint {node.kubernetes.io/out-of-service: nodeshutdown}": 4, SELECTOR: 8})
    spec = {"nodeSelector": {"team": "db"}}
    pods = waiting(c, "db/ledger", 2, "6h", text, kind="StatefulSet", spec=spec)
    for number, pod in enumerate(pods):
        pod["spec"]["volumes"] = [add_volume(c, "db", f"data-ledger-{number}", c.zones[2])]
    unschedulable(c, pods, 'all available instance types exceed limits for nodepool: "zonal"', minutes=55)


@incident(
    story="During an outage the team took us-east-1c out of NodePool general and left it so. Its nodes of that zone drifted (RequirementsDrifted), and Karpenter replaced nine of them in the other zones. Three stay for 26 hours: "
    "on each runs a pod whose volume is in us-east-1c, where no NodePool launches any more.",
    cause="The drift of 3 nodes of general in us-east-1c has waited for 26 hours: the pods of search/es on them have volumes in us-east-1c, where no NodePool launches any more, so they cannot be placed elsewhere.",
    thread="kubernetes-sigs/karpenter#2171, aws/karpenter-provider-aws#4561",
    must=["search/es", n(3), r"drift|replac", "us-east-1c", "volume", r"26 ?h|1d ?2h|25h"],
    must_not=[LAUNCHES, ICE, NONE_PENDING, r"\bPDB\b|PodDisruptionBudget"],
)
def zone_is_removed_and_volumes_stay(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general", zones=c.zones[:2])
    fleet(c, "general", "orders/storefront", 15, zones=c.zones[:2], age="25h")
    old = [add_node(c, "general", "m6i.xlarge", c.zones[2], age="18d", drifted="26h", drift_reason="RequirementsDrifted") for _ in range(3)]  # fmt: skip
    pods = add_workload(c, "search/es", kind="StatefulSet", on=old, age="17d", cpu="3", memory="11Gi")
    for number, pod in enumerate(pods):
        pod["spec"]["volumes"] = [add_volume(c, "search", f"data-es-{number}", c.zones[2])]


@incident(
    story="A team moves from NodePool apps-v1 to apps-v2. It deleted apps-v1 14 minutes ago, so its nine nodes drain at the same time. The new pool has a limit of 64 CPUs, which its 16 nodes use up: eleven pods that were evicted are pending, and those that follow will be too.",
    cause="NodePool apps-v2 is at its limit of 64 CPUs, so 11 pods of shop/cart are pending; NodePool apps-v1 is being deleted, and its 9 nodes drain for 14 minutes and send more pods.",
    thread="kubernetes-sigs/karpenter#2386",
    must=["apps-v2", "limit", n(11), "apps-v1", r"delet|terminat|drain", n(9)],
    must_not=[LAUNCHES, ROOM, ICE],
    other=[order_of("apps-v2.{0,60}limit|limit.{0,80}apps-v2", "apps-v1"), {"command": ["pending"], "must": [["shop/cart"], ["limit"], ["apps-v2"]]}],
)  # fmt: skip
def new_pool_is_full_while_the_old_one_goes(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "apps-v2", families=("m6i",), sizes=("xlarge",), limits={"cpu": "64"})
    fleet(c, "apps-v2", "shop/front", 16, age="3d")
    old = add_pool(c, "apps-v1")
    old["metadata"] |= {"deletionTimestamp": c.at("14m"), "finalizers": ["foregroundDeletion"]}
    going = [add_node(c, "apps-v1", "m6i.xlarge", c.zones[number % 3], age="19d", deleting="14m") for number in range(9)]  # fmt: skip
    for pair in going:
        conditions(pair, condition("Drained", "Unknown", c.at("14m"), "Draining", "Draining"))
        c.event(both(pair)[0], "FailedDraining", "Failed to drain node, 2 pods are waiting to be evicted", last="1m", first="13m", count=7)  # fmt: skip
    text = no_node({"Insufficient cpu": 18, "node(s) had untolerated taint {karpenter.sh/disrupted: }": 9})
    pods = add_workload(c, "shop/cart", on=going, count=16, pending=11, pending_since="12m", age="18d", message=text)
    unschedulable(c, pods[16:], 'all available instance types exceed limits for nodepool: "apps-v2"', minutes=11)


@incident(
    story="Terraform removed the tag of the security groups 18 minutes ago, in the middle of an image rollout: EC2NodeClass default finds none and is not ready. Nine nodes of spot still wait for their drift, four were interrupted nine minutes ago and are gone, and their twelve pods are pending. Nothing can be launched.",
    cause="EC2NodeClass default has found no security groups for 18 minutes, so NodePool spot launches nothing: 12 pods of orders/checkout are pending after 4 spot interruptions, and the drift of 9 nodes waits.",
    thread="aws/karpenter-provider-aws#4165",
    must=[r"security ?groups?", n(12), "orders/checkout", r"interrupt", n(4)],
    must_not=[LAUNCHES, ROOM, ICE, r"budget[^\n]{0,40}(block|forbid|allows? no)"],
    other=[order_of(r"security ?groups?", "drift|interrupt")],
)
def security_groups_vanish_during_a_rollout(c: Cluster) -> None:
    why = ("SecurityGroupsNotFound", "SecurityGroupSelector did not match any SecurityGroups")
    add_nodeclass(c, broken={"SecurityGroupsReady": why}, since="18m", status={"securityGroups": []})
    add_pool(c, "spot", capacity=("spot",), not_ready=("UnhealthyDependents", "SecurityGroupsReady=False", "18m"))
    fleet(c, "spot", "orders/storefront", 9, capacity="spot", age="14d", drifted="50m")
    for number in range(4):
        name = f"spot-{digest(c.name, number)[:5]}"
        claim = {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": {"name": name, "uid": digest(name)[:36]}}  # fmt: skip
        c.event(claim, "SpotInterrupted", "Spot interruption warning was triggered", last=f"{540 + 4 * number}s")
        c.event(claim, "TerminatingOnInterruption", "Interruption triggered termination", last=f"{540 + 4 * number}s")
    pods = waiting(c, "orders/checkout", 12, "8m")
    for pod in pods:
        c.event(pod, "FailedScheduling", "no nodepools found", last="30s", first="8m", count=4)


@incident(
    story="NodePool train uses a capacity reservation of four g5.2xlarge, all in use, and no other capacity type. Its nodes drifted with a new image six days ago. Karpenter launches a replacement before it removes a node, and the reservation has no spare instance: the drift makes no progress.",
    cause="The drift of 4 nodes of train has waited for 6 days: a replacement needs a free instance of its capacity reservation, all of whose instances are in use, and the NodePool allows no other capacity type.",
    thread="kubernetes-sigs/karpenter#2409",
    must=[r"\btrain\b", n(4), r"drift|replac", "reserv", r"\b6 ?d|14\d ?h|six days"],
    must_not=[LAUNCHES, NONE_PENDING, r"\bPDB\b|PodDisruptionBudget|do-not-disrupt"],
)
def drift_needs_a_spare_reservation(c: Cluster) -> None:
    usual(c)
    block = {
        "id": "cr-0a5f9c1d2e3b4a677", "instanceType": "g5.2xlarge", "availabilityZone": "us-east-1b", "instanceMatchCriteria": "targeted", "ownerID": "111122223333",
        "reservationType": "default", "interruptible": False, "state": "active",
    }  # fmt: skip
    terms = {"capacityReservationSelectorTerms": [{"id": block["id"]}]}
    add_nodeclass(c, "train", spec=terms, status={"capacityReservations": [block]})
    add_pool(c, "train", families=("g5",), sizes=("2xlarge",), capacity=("reserved",), nodeclass="train", labels={"team": "ml"}, disruption={"budgets": [{"nodes": "1"}]})  # fmt: skip
    pairs = [add_node(c, "train", "g5.2xlarge", "us-east-1b", capacity="reserved", age="16d", drifted="6d", gpus=1) for _ in range(4)]  # fmt: skip
    for pair in pairs:
        for manifest in both(pair):
            manifest["metadata"]["labels"] |= {RESERVED: block["id"], "karpenter.k8s.aws/capacity-reservation-type": "default"}  # fmt: skip
    add_workload(c, "ml/tune", on=pairs, age="15d", cpu="6", memory="24Gi", requests={"nvidia.com/gpu": "1"}, spec={"nodeSelector": {"team": "ml"}})  # fmt: skip


@incident(
    story="Three replicas of pay/gate ran on one node, because nothing spreads them, and they have no PodDisruptionBudget. Seven minutes ago Karpenter consolidated the node and evicted all three within a second. The new ones take eight minutes to start: the service is down since.",
    cause="Karpenter evicted all 3 pods of pay/gate within a second 7 minutes ago, when it consolidated the node they shared: none is ready since. They have no PodDisruptionBudget and no spread over nodes.",
    thread="kubernetes-sigs/karpenter#2689",
    must=["pay/gate", n(3), r"evict|consolidat|removed", r"PodDisruptionBudget|\bPDB\b|spread|one node|same node|at once|at the same time|together"],
    must_not=[LAUNCHES, ICE, NONE_PENDING, r"crash"],
)  # fmt: skip
def all_replicas_on_one_node(c: Cluster) -> None:
    usual(c, 9)
    host = add_node(c, "general", "m6i.xlarge", c.zones[0], age="3d")
    pods = add_workload(c, "pay/gate", on=[host], count=3, age="6m50s", cpu="400m", memory="900Mi")
    for number, pod in enumerate(pods):
        for state in pod["status"]["conditions"]:
            if state["type"] in ("Ready", "ContainersReady"):
                state |= {"status": "False", "reason": "ContainersNotReady"}
        pod["status"]["containerStatuses"][0]["ready"] = False
        c.event(pod, "Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503", last="8s", first="6m20s", count=38, source="kubelet")  # fmt: skip
        meta = dict(pod["metadata"], name=f"{pod['metadata']['name'][:-5]}old{number:02}", uid=digest(c.name, number)[:36])  # fmt: skip
        gone = {"apiVersion": "v1", "kind": "Pod", "metadata": meta}
        c.event(gone, "Evicted", "Evicted pod: Underutilized", last="7m", kind="Normal")
    for manifest in (c.find("Deployment", "gate"),):
        manifest["status"] |= {"readyReplicas": 0, "availableReplicas": 0, "unavailableReplicas": 3}
        manifest["status"]["conditions"] = [condition("Available", "False", c.at("7m"), "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")]  # fmt: skip
    name = f"general-{digest(c.name)[:5]}"
    claim = {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": {"name": name, "uid": digest(name)[:36]}}
    c.event(claim, "DisruptionTerminating", "Disrupting NodeClaim: Underutilized", last="7m", kind="Normal")
