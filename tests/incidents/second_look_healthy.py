"""Clusters that are well, have just recovered, or do something normal that looks odd."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tests.incidents.cluster import Cluster
from tests.incidents.controllers import FULL
from tests.incidents.disruption import both, conditions
from tests.incidents.fleets import CPU, MEMORY, fleet, gone_claim, nominated, usual
from tests.incidents.incident import LAUNCHES, QUIET, ROOM, incident, quiet
from tests.incidents.node_objects import add_node
from tests.incidents.objects import condition
from tests.incidents.pods import add_claim, add_namespace, add_pdb, add_pod, add_workload
from tests.incidents.pools import add_nodeclass, add_pool

AKS: Final = {
    "karpenter.k8s.aws/ec2nodeclass": "karpenter.azure.com/aksnodeclass",
    "karpenter.k8s.aws/instance-family": "karpenter.azure.com/sku-family",
    "karpenter.k8s.aws/instance-cpu": "karpenter.azure.com/sku-cpu",
    "karpenter.k8s.aws/instance-memory": "karpenter.azure.com/sku-memory",
    "karpenter.k8s.aws": "karpenter.azure.com",
    "EC2NodeClass": "AKSNodeClass",
    "eks.amazonaws.com/nodegroup": "kubernetes.azure.com/agentpool",
    "m6i.xlarge": "Standard_D4s_v5",
    "m6i.large": "Standard_D2s_v5",
    "us-east-1a": "eastus-1",
    "us-east-1b": "eastus-2",
    "us-east-1c": "eastus-3",
    "us-east-1": "eastus",
    "ebs.csi.aws.com": "disk.csi.azure.com",
    "ebs-csi-node": "csi-azuredisk-node",
    "eks-pod-identity-agent": "azure-ip-masq-agent",
    "aws-node": "azure-cns",
    "gp3": "managed-csi",
    "eks.amazonaws.com/capacityType": "kubernetes.azure.com/mode",
    "topology.k8s.aws/zone-id": "topology.disk.csi.azure.com/zone",
    ".ec2.internal": "-vmss",
    "aws:///": "azure:///subscriptions/0f3c/resourceGroups/mc_orders/providers/Microsoft.Compute/virtualMachines/",
}
AUTO_MODE: Final = {
    "karpenter.k8s.aws/ec2nodeclass": "eks.amazonaws.com/nodeclass",
    "karpenter.k8s.aws": "eks.amazonaws.com",
    "EC2NodeClass": "NodeClass",
}


def rename(value: Any, names: Mapping[str, str]) -> Any:
    """Replace names in all strings of an object, keys included, in place; return a string's replacement."""
    if isinstance(value, str):
        for old, new in names.items():
            value = value.replace(old, new)
    elif isinstance(value, list):
        value[:] = [rename(one, names) for one in value]
    elif isinstance(value, dict):
        renamed = {rename(key, names): rename(one, names) for key, one in value.items()}
        value.clear()
        value.update(renamed)
    return value


@incident(
    story="EC2 took back eight spot nodes of two pools three minutes ago. They are gone; six of the eight replacements are ready with "
    "their pods, the last two are launched, and three pods are promised to them. The wave is over.",
    cause="Nothing is wrong any more: 8 interrupted spot nodes of two pools are replaced, the last two start.",
    thread="dynamical-org/reformatters#945",
    must=[[QUIET]],
    must_not=["stuck", r"launches nothing", r"no replacement"],
    first=1,
    healthy=True,
)
def fine_wave_is_over(c: Cluster) -> None:
    add_nodeclass(c)
    fresh = []
    for pool, app in (("spot-web", "storefront"), ("spot-jobs", "indexer")):
        add_pool(c, pool, capacity=("spot",))
        fleet(c, pool, "orders", app, 8, capacity="spot", age="2d")
        fleet(c, pool, "orders", f"{app}-extra", 3, capacity="spot", age="2m20s")
        fresh.append(add_node(c, pool, "m7i.xlarge", c.zones[0], capacity="spot", age="35s", stage="Launched"))
        for number in range(4):
            claim, age = gone_claim(c, pool, number), f"{170 + 5 * number}s"
            c.event(claim, "SpotInterrupted", "Spot interruption warning was triggered", last=age)
            text = "Interruption triggered termination for the NodeClaim"
            c.event(claim, "TerminatingOnInterruption", text, last=age)
    pods = add_workload(
        c, "Deployment", "orders", "catalog", pending=3, pending_since="45s", cpu=CPU, memory=MEMORY,
        message=FULL.format(24),
    )  # fmt: skip
    nominated(c, pods, fresh, last="30s")


@quiet(
    story="EC2 had no spot capacity for the preferred pool between nine and five minutes ago. The on-demand pool of less weight took over: two "
    "nodes joined three minutes ago and all pods run. The last refusal is five minutes old.",
    cause="spot was refused, and the fallback pool launched two on-demand nodes for all pods.",
    thread="aws/karpenter-provider-aws#5789",
    must_not=["stuck", r"launches nothing|cannot launch", r"[1-9]\d* pods? (is|are) pending"],
)
def fine_fallback_works(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "spot", capacity=("spot",), weight=50)
    add_pool(c, "fallback", weight=10)
    fleet(c, "spot", "orders", "storefront", 5, capacity="spot", age="2d")
    fleet(c, "fallback", "orders", "catalog", 2, age="4m")
    error = (
        "creating instance, insufficient capacity, with fleet error(s), UnfulfillableCapacity: Unable to fulfill capacity due to "
        "your request configuration. Please adjust your request and try again."
    )
    for number in range(3):
        claim = gone_claim(c, "spot", number)
        age, note = f"{5 + 2 * number}m", f"NodeClaim {claim['metadata']['name']} event: {error}"
        c.series_event(
            claim, "InsufficientCapacityError", note, last=age, first=age, count=1, kind="Warning",
            controller="karpenter",
        )  # fmt: skip


@quiet(
    story="The cheap pool is at its memory limit, as planned. Three new pods go to the general pool: its node was launched 30 seconds ago, and "
    "the pods are promised to it.",
    cause="a pool is at its limit, and the next pool launches for the pods.",
    thread="kubernetes-sigs/karpenter#2657",
    must_not=["stuck", r"no (NodePool|pool|node)[^\n]{0,20} launch|cannot launch any|nothing is launched"],
)
def fine_next_pool_takes_over(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "cheap", weight=50, limits={"memory": "64Gi"})
    add_pool(c, "general")
    fleet(c, "cheap", "orders", "storefront", 4)
    fleet(c, "general", "orders", "catalog", 2)
    fresh = add_node(c, "general", "m6i.xlarge", c.zones[1], age="30s", stage="Launched")
    pods = add_workload(
        c, "Deployment", "orders", "checkout", pending=3, pending_since="40s", cpu=CPU, memory=MEMORY,
        message=FULL.format(8),
    )  # fmt: skip
    nominated(c, pods, [fresh], last="28s")


@quiet(
    story="A cluster of 80 nodes just after a rollout of its largest application: four nodes joined three minutes ago, five pods pull their "
    "image for twelve seconds, four old pods are terminating, and the PodDisruptionBudgets still allow evictions.",
    cause="a large cluster finishes a rollout.",
    thread="kubernetes-sigs/karpenter#651",
    must_not=["stuck", "cannot start|never start"],
)
def fine_after_a_rollout(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    add_pool(c, "spot", capacity=("spot",))
    for number in range(6):
        fleet(c, "general", "shop", f"service-{number}", 10, age=f"{4 + number}d")
        add_pdb(
            c, "shop", f"service-{number}", f"service-{number}", healthy=30, desired=27, expected=30, maxUnavailable=3
        )
    fleet(c, "spot", "shop", "thumbnails", 14, capacity="spot", age="30h")
    fresh = [add_node(c, "general", "m6i.xlarge", c.zones[number % 3], age="3m") for number in range(4)]
    add_workload(c, "Deployment", "shop", "checkout", on=fresh, count=7, age="100s", cpu=CPU, memory=MEMORY)
    name = "checkout-next"
    add_workload(
        c, "Deployment", "shop", name, on=fresh, count=5, age="12s", cpu=CPU, memory=MEMORY, waiting="ContainerCreating"
    )
    parent = next(
        one for one in c.objects if one["kind"] == "ReplicaSet" and one["metadata"]["name"].startswith("checkout-")
    )
    for number in range(4):
        add_pod(
            c, "shop", f"{parent['metadata']['name']}-old{number}", node=c.nodes[2 + number], parent=parent, age="5d",
            labels=parent["metadata"]["labels"], cpu="100m", memory="128Mi", deleting="-22s",
        )  # fmt: skip


@quiet(
    story="It is 02:30 at night. The disruption budget is 0 from 20:00 to 06:00 on purpose; no node is drifted, and one node is half empty "
    "and may be consolidated in the morning.",
    cause="the budget is closed at night, and no node is drifted.",
    thread="kubernetes-sigs/karpenter#2989",
    must_not=["stuck", r"never opens", r"[1-9]\d* (nodes? )?(is |are )?drifted"],
    now="2026-11-24T02:30:00Z",
)
def fine_closed_at_night(c: Cluster) -> None:
    add_nodeclass(c)
    budgets = [{"nodes": "0", "schedule": "0 20 * * *", "duration": "10h"}, {"nodes": "20%"}]
    add_pool(c, "general", disruption={"budgets": budgets})
    pairs = fleet(c, "general", "orders", "storefront", 6, age="11d")
    half = add_node(c, "general", "m6i.xlarge", c.zones[2], age="9h")
    add_workload(c, "Deployment", "orders", "catalog", on=[half], count=1, age="8h", cpu=CPU, memory=MEMORY)
    add_pdb(c, "orders", "storefront", "storefront", healthy=3 * len(pairs), desired=16, expected=18, minAvailable=16)
    text = "No allowed disruptions for disruption reason Underutilized due to blocking budget"
    c.event(c.find("NodePool", "general"), "DisruptionBlocked", text, last="20s", first="59m", count=58, kind="Normal")


@quiet(
    story="Karpenter was installed an hour ago. The NodePool is ready and has no node yet, because all pods run on the managed node group.",
    cause="Karpenter has launched no node yet, and no pod needs one.",
    thread="aws/karpenter-provider-aws#5909",
    must_not=[r"karpenter[^\n]{0,60}(down|not running|not ready|launches nothing)", "cannot launch"],
)
def fine_no_karpenter_nodes(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    add_workload(c, "Deployment", "orders", "storefront", on=c.system, count=2, cpu="100m", memory="256Mi")


@quiet(
    story="An EKS Auto Mode cluster: AWS runs Karpenter, so there is no Deployment and no lease of it. Five nodes run, and one pool has none.",
    cause="EKS Auto Mode runs Karpenter outside the cluster.",
    thread="kubernetes-sigs/karpenter#2989",
    must_not=[
        r"karpenter[^\n]{0,60}(down|not running|not ready|not found|missing|no (running )?pod)",
        r"no EC2NodeClass",
    ],
    karpenter_runs=False,
)
def fine_auto_mode(c: Cluster) -> None:
    chosen = {"eks.amazonaws.com/nodegroup": "system"}
    for made, pod in c.daemonsets:
        pod["spec"]["nodeSelector"] = chosen
        made["spec"]["template"]["spec"]["nodeSelector"] = chosen
    nodeclass = add_nodeclass(c)
    nodeclass["spec"] = {"role": "AmazonEKSAutoNodeRole", "ephemeralStorage": {"size": "80Gi"}}
    auto = {"eks.amazonaws.com/compute-type": "auto"}
    add_pool(c, "general-purpose", families=("m6i",), sizes=(), labels=auto)
    add_pool(c, "system", families=("m6i",), sizes=(), labels=auto, template={"taints": [{"key": "CriticalAddonsOnly", "effect": "NoSchedule"}]})  # fmt: skip
    fleet(c, "general-purpose", "orders", "storefront", 5)
    rename(c.objects, AUTO_MODE)


@quiet(
    story="An AKS cluster with node autoprovisioning: the NodePool refers to an AKSNodeClass, and Azure runs Karpenter. Four nodes run.",
    cause="AKS runs Karpenter outside the cluster, and its nodes are fine.",
    thread="kubernetes-sigs/karpenter#2989",
    must_not=[
        r"karpenter[^\n]{0,60}(down|not running|not ready|not found|missing|no (running )?pod)",
        r"EC2NodeClass|\bEC2\b",
        r"(no|unknown) instance type",
    ],
    karpenter_runs=False,
    settings={"CLUSTER_NAME": "orders-aks"},
)
def fine_aks(c: Cluster) -> None:
    nodeclass = add_nodeclass(c)
    nodeclass["spec"] = {"imageFamily": "Ubuntu2204", "osDiskSizeGB": 128}
    nodeclass["status"] = {
        "kubernetesVersion": "1.35.2",
        "conditions": [
            condition(one, "True", c.at("60d")) for one in ("ImagesReady", "KubernetesVersionReady", "Ready")
        ],
    }
    family = {"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": ["D"]}
    add_pool(c, "default", families=(), sizes=(), requirements=[family])
    fleet(c, "default", "orders", "storefront", 4)
    keep = ("instance-family", "instance-cpu", "instance-memory")
    for pair in c.nodes:
        for one in (pair.node, pair.claim):
            if one is None:
                continue
            labels = one["metadata"]["labels"]
            for key in [*labels]:
                if key.startswith("karpenter.k8s.aws/instance") and not key.endswith(keep):
                    del labels[key]
            if pair.claim is not None:
                labels["karpenter.k8s.aws/instance-family"] = "D"
    rename(c.objects, AKS)
    for made, _ in c.daemonsets:
        assert "aws" not in made["metadata"]["name"]
    for pair in c.nodes:
        pair.zone = rename(pair.zone, AKS)


@quiet(
    story="A PersistentVolumeClaim has been Pending for 20 hours: its StorageClass waits for the first consumer, and the report that uses it runs "
    "on Sundays only. No pod is pending.",
    cause="a PersistentVolumeClaim waits for its first consumer, as WaitForFirstConsumer means.",
    thread="kubernetes-sigs/karpenter#376",
    must_not=["stuck", r"(volume|claim|PVC)[^\n]{0,60}(missing|cannot|never|fail)"],
)
def fine_volume_waits_for_its_pod(c: Cluster) -> None:
    usual(c)
    made = add_claim(c, "reports", "data-weekly", "gp3", age="20h")
    c.event(
        made, "WaitForFirstConsumer", "waiting for first consumer to be created before binding", last="9s", first="20h",
        count=4812, kind="Normal", source="persistentvolume-controller",
    )  # fmt: skip
    add_namespace(c, "reports")
    c.add("CronJob", "weekly", "reports", age="20h", spec={"schedule": "0 6 * * 0"}, status={})


@quiet(
    story="Two urgent pods preempted two pods of low priority eight seconds ago. kube-scheduler has nominated a node for them, the "
    "victims are terminating, and Karpenter ignores pods with a nominated node.",
    cause="kube-scheduler preempts two pods of low priority for two urgent ones.",
    thread="aws/karpenter-provider-aws#1050",
    must_not=["stuck", LAUNCHES, "unschedulable"],
)
def fine_preemption(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    c.add("PriorityClass", "urgent", age="90d", value=100000, globalDefault=False)
    pairs = fleet(c, "general", "orders", "storefront", 4)
    room = add_node(c, "general", "m6i.xlarge", c.zones[0])
    low = add_workload(
        c,
        "Deployment",
        "batch",
        "resize",
        on=[room],
        count=2,
        pending=0,
        age="2h",
        cpu="1700m",
        memory="5Gi",
        deleting="-22s",
    )
    pods = add_workload(
        c, "Deployment", "orders", "checkout", pending=2, pending_since="9s", cpu="1500m", memory=MEMORY,
        spec={"priorityClassName": "urgent", "priority": 100000}, message=FULL.format(2 + len(pairs) + 1),
    )  # fmt: skip
    for pod in pods:
        pod["status"]["nominatedNodeName"] = room.name
    for pod in low:
        text = f"Preempted by pod {pods[0]['metadata']['uid']} on node {room.name}"
        c.event(pod, "Preempted", text, last="8s", kind="Normal", source="default-scheduler")


@quiet(
    story="Five pods of a training Job are held by the scheduling gate of Kueue for three hours, because the team's quota is in use. "
    "Neither kube-scheduler nor Karpenter looks at them until the gate is removed.",
    cause="the pods of a Job are gated by Kueue and wait for their turn.",
    thread="kubernetes-sigs/karpenter#742",
    must_not=["stuck", LAUNCHES, ROOM, "unschedulable"],
)
def fine_gated_jobs(c: Cluster) -> None:
    usual(c)
    pods = add_workload(
        c, "Job", "ml", "finetune", pending=5, pending_since="3h", age="3h", cpu="6", memory="24Gi", scheduled=False,
        spec={"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}], "restartPolicy": "Never"},
    )  # fmt: skip
    for pod in pods:
        text = "Scheduling is blocked due to non-empty scheduling gates"
        pod["status"]["conditions"] = [condition("PodScheduled", "False", c.at("3h"), "SchedulingGated", text)]


@incident(
    story="Node repair is on. One of ten nodes lost its network 32 minutes ago; a minute ago Karpenter began to replace it: the replacement is "
    "ready, and the old node drains with a bound of ten minutes.",
    cause="Nothing is wrong any more: Karpenter repairs one of ten nodes, and its replacement is ready.",
    thread="kubernetes-sigs/karpenter#750",
    must=[[QUIET]],
    must_not=["stuck", r"nothing repairs|not repaired|repair is (off|disabled|blocked)"],
    first=1,
    healthy=True,
    settings={"FEATURE_GATES": "NodeRepair=true"},
)
def fine_node_repair(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "edge")
    fleet(c, "edge", "edge", "proxy", 9)
    deadline = {"karpenter.sh/nodeclaim-termination-timestamp": c.at("-9m20s")}
    going = add_node(c, "edge", "m6i.xlarge", c.zones[0], deleting="40s", claim_annotations=deadline)
    state = condition("NetworkingReady", "False", c.at("32m"), "IPAMDNotRunning", "ipamd does not answer")
    both(going)[0]["status"]["conditions"].append({**state, "lastHeartbeatTime": c.at("30s")})
    conditions(
        going,
        condition("DisruptionReason", "True", c.at("100s"), "Unhealthy", "Unhealthy"),
        condition("Drained", "Unknown", c.at("40s"), "Draining", "Draining"),
    )
    for one in both(going):
        c.event(one, "DisruptionTerminating", f"Disrupting {one['kind']}: Unhealthy", last="40s", kind="Normal")
    fresh = add_node(c, "edge", "m6i.xlarge", c.zones[1], age="100s")
    add_workload(c, "Deployment", "edge", "proxy-next", on=[fresh], count=3, age="30s", cpu=CPU, memory=MEMORY)
