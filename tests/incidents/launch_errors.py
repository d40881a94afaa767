"""Launches that the cloud refuses or throttles, and pools that may launch no more."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import (  # fmt: skip
    CPU,
    GPU_POD,
    GPU_TAINT,
    MEMORY,
    fleet,
    gone_claim,
    no_node,
    refused,
    unschedulable,
    usual,
    waiting,
)
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n
from tests.incidents.node_objects import add_node
from tests.incidents.objects import condition, digest, uid
from tests.incidents.pods import add_workload
from tests.incidents.pools import add_nodeclass, add_pool
from tests.incidents.second_look_healthy import AKS, rename
from tests.incidents.third_look import SELECTOR, of_pool


@incident(
    story="A load test elsewhere in the account uses up the request rate of EC2. Each call of Karpenter to CreateFleet is refused for nine minutes; three "
    "NodeClaims have no instance, and fourteen pods are pending.",
    cause="EC2 throttles Karpenter's launches (RequestLimitExceeded) for 9 minutes; 14 pods are pending.",
    thread="aws/karpenter-provider-aws#9175",
    must=[[r"RequestLimitExceeded|throttl|request (rate )?limit"], [r"launch"], [n(14), r"\bfourteen\b"]],
    must_not=[r"\b(would|will) (be )?launch", ICE, r"NodePool[^\n]{0,40}\blimit\b"],
)
def launches_are_throttled(c: Cluster) -> None:
    usual(c, 9)
    text = (
        "creating instance, creating fleet request, operation error EC2: CreateFleet, exceeded maximum number of attempts, 3, https response error "
        "StatusCode: 503, api error RequestLimitExceeded: Request limit exceeded."
    )
    for number in range(3):
        pair = add_node(
            c, "general", "m6i.2xlarge", c.zones[number], age="4m30s", stage="", launch_error=("LaunchFailed", text)
        )
        assert pair.claim is not None
        c.event(pair.claim, "LaunchFailed", text, last="20s", first="4m20s", count=9)
    waiting(c, "orders/checkout", 14, "9m", no_node({"Insufficient cpu": 11}))


@incident(
    story="An AKS cluster with node autoprovisioning. The subscription's quota of cores in the region is used up, Azure refuses each new machine for 33 "
    "minutes, and six pods are pending.",
    cause="Azure refuses machines for NodePool default: the subscription's core quota in the region is reached; 6 pods are pending.",
    thread="Azure/karpenter-provider-azure#192",
    must=[[r"quota|capacity limit for your subscription|regional (capacity )?limit"], ["default"], [n(6), r"\bsix\b"]],
    must_not=[r"EC2NodeClass|\bEC2\b|\bAWS\b", r"\b(would|will) (be )?launch", ROOM],
    other=[{"command": ["forward", "--horizon", "1h"], "must": [["launch"]], "mustNot": [r"\$0\.00"]}],
    karpenter_runs=False,
    settings={"CLUSTER_NAME": "orders-aks"},
    karpenter_version="1.13.0",
)
def azure_core_quota(c: Cluster) -> None:
    nodeclass = add_nodeclass(c)
    nodeclass["spec"] = {"imageFamily": "Ubuntu2204", "osDiskSizeGB": 128}
    ready = [condition(one, "True", c.at("60d")) for one in ("ImagesReady", "KubernetesVersionReady", "Ready")]
    nodeclass["status"] = {"kubernetesVersion": "1.35.2", "conditions": ready}
    family = {"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": ["D"]}
    add_pool(c, "default", families=(), sizes=(), requirements=[family])
    fleet(c, "default", "orders", "storefront", 5)
    add_workload(c, "Deployment", "kube-system", "konnectivity", on=c.system, cpu="1", memory="1Gi", age="40d")
    pods = waiting(c, "orders/checkout", 6, "33m", no_node({"Insufficient cpu": 7}))
    text = (
        "creating instance, insufficient capacity, The regional capacity limit for your subscription has been reached. To scale beyond this limit, "
        "please review the quota increase process here: https://learn.microsoft.com/en-us/azure/quotas/regional-quota-requests"
    )
    for number in range(10):
        claim = gone_claim(c, "default", number)
        name = claim["metadata"]["name"]
        c.event(claim, "InsufficientCapacityError", f"NodeClaim {name} event: {text}", last=f"{1 + 3 * number}m")
        if not number:
            for pod in pods:
                message = f"NodeClaim {name} nominated for this pod failed to launch: {text}"
                c.event(pod, "InsufficientCapacityError", message, last="1m", count=10)
    keep = ("instance-family", "instance-cpu", "instance-memory")
    for pair in c.nodes:
        for one in filter(None, (pair.node, pair.claim)):
            labels = one["metadata"]["labels"]
            for key in [*labels]:
                if key.startswith("karpenter.k8s.aws/instance") and not key.endswith(keep):
                    del labels[key]
            if pair.claim is not None:
                labels["karpenter.k8s.aws/instance-family"] = "D"
    rename(c.objects, AKS)
    for pair in c.nodes:
        pair.zone = rename(pair.zone, AKS)


@incident(
    story="Two things together: EC2 has had no spot capacity for the pool spot for 26 minutes, and the pool on-demand, meant as its fallback, is at its "
    "limit of 16 cores. Ten pods are pending.",
    cause="EC2 has no spot capacity for NodePool spot, and its fallback on-demand is at its limit of 16 cores; 10 pods are pending.",
    thread="aws/karpenter-provider-aws#5789",
    must=[[ICE], ["spot"], ["limit"], [r"on-demand\b"], [n(10), r"\bten\b"]],
    must_not=[LAUNCHES, ROOM],
    karpenter_version="1.14.1",
)
def no_spot_and_fallback_at_its_limit(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "spot", capacity=("spot",), families=("m6i",), sizes=("xlarge",), weight=50)
    add_pool(c, "on-demand", families=("m6i",), sizes=("xlarge",), weight=10, limits={"cpu": "16"})
    fleet(c, "on-demand", "orders", "storefront", 4)
    fleet(c, "spot", "orders", "thumbnails", 5, capacity="spot", age="4d")
    pods = waiting(c, "orders/checkout", 10, "26m", no_node({"Insufficient cpu": 11}))
    errors = [
        f"UnfulfillableCapacity: Unable to fulfill capacity due to your request configuration (m6i.xlarge, spot, {zone})" for zone in c.zones
    ]  # fmt: skip
    refused(c, "spot", errors, pods, every=2, times=12)
    error = (
        "no instance type met the scheduling requirements or had a required offering; all available instance types exceed limits for nodepool "
        "(NodePool=on-demand)"
    )
    unschedulable(c, pods, error, minutes=26)


@incident(
    story="Two unrelated faults: the tag of the security groups was renamed, so the NodeClass gpu finds none and three pods wait for 44 minutes; and a node "
    "expires in a quarter of an hour and takes a protected training run with it half an hour later.",
    cause="EC2NodeClass gpu finds no security groups, so 3 pods are pending; ml/train-resnet is killed after its node expires in 15 minutes.",
    thread="aws/karpenter-provider-aws#3007",
    must=[[r"security ?group"], [r"\bgpu\b"], [n(3), r"\bthree\b"], ["train-resnet"], [r"expir"]],
    must_not=[LAUNCHES, ROOM, ICE],
    karpenter_version="1.13.0",
)
def no_security_groups_and_a_node_expires(c: Cluster) -> None:
    usual(c)
    why = ("UnhealthyDependents", "SecurityGroupsReady=False, ValidationSucceeded=False", "46m")
    broken = {
        "SecurityGroupsReady": ("SecurityGroupsNotFound", "SecurityGroupSelector did not match any SecurityGroups"),
        "ValidationSucceeded": ("DependenciesNotReady", "Awaiting AMI, Instance Profile, Security Group, and Subnet resolution"),
    }  # fmt: skip
    add_nodeclass(c, "gpu", broken=broken, since="46m", status={"securityGroups": []})
    add_pool(c, "gpu", families=("g5",), nodeclass="gpu", template={"taints": [GPU_TAINT]}, not_ready=why)
    waiting(c, "ml/inference", 3, "44m", no_node({SELECTOR: 7}), requests={"nvidia.com/gpu": "1"}, spec=GPU_POD)
    add_pool(c, "train", template={"terminationGracePeriod": "30m"})
    old = add_node(c, "train", "m6i.2xlarge", c.zones[1], age="29d23h45m")
    add_workload(
        c, "Job", "ml", "train-resnet", on=[old], age="20h", cpu="6", memory="20Gi", annotations={"karpenter.sh/do-not-disrupt": "true"},
        spec={**of_pool("train"), "restartPolicy": "Never"},
    )  # fmt: skip


@incident(
    story="The only pool is at its limit of 32 cores. Pods of the shop have a higher priority than those of the reports, so kube-scheduler preempts reports "
    "again and again: 18 in the last hour, and seven of them are pending.",
    cause="NodePool general is at its limit of 32 cores, so shop pods preempt reports/render pods (18 in an hour); 7 of these are pending.",
    thread="kubernetes-sigs/karpenter#1396",
    must=[["limit"], [r"\bgeneral\b"], [r"reports/render"], [n(7), r"\bseven\b"], [r"preempt"]],
    must_not=[LAUNCHES, ROOM, ICE],
)
def preemption_at_the_limit(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general", limits={"cpu": "32"}, sizes=("xlarge",))
    c.add("PriorityClass", "shop", age="90d", value=100000, globalDefault=False)
    pairs = fleet(c, "general", "orders", "storefront", 8, each=2)
    add_workload(
        c, "Deployment", "shop", "cart", on=pairs, age="4m", cpu=CPU, memory=MEMORY, spec={"priorityClassName": "shop", "priority": 100000}
    )  # fmt: skip
    pods = waiting(c, "reports/render", 7, "52m", no_node({"Insufficient cpu": 10}))
    for number in range(18):
        meta = {
            "name": f"{pods[0]['metadata']['name'][:-6]}-{digest(number)[:5]}",
            "namespace": "reports",
            "uid": uid(c.name, number),
        }
        text = f"Preempted by pod {uid(c.name, 'cart', number)} on node {pairs[number % 8].name}"
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta}
        c.event(pod, "Preempted", text, last=f"{4 + 3 * number}m", kind="Normal", source="default-scheduler")
    unschedulable(c, pods, "all available instance types exceed limits for nodepool (NodePool=general)", minutes=50)


@incident(
    story="consolidateAfter of the pool tools is an hour, and a CronJob puts a small pod on each of its five nodes every ten minutes. Each start and end of a "
    "pod restarts the hour, so the nodes are never consolidated although they are nearly empty.",
    cause="5 nearly empty nodes of tools are never consolidated: pods of the CronJob ops/heartbeat restart consolidateAfter (1h) every 10 minutes.",
    thread="kubernetes-sigs/karpenter#1921",
    must=[[r"consolidateAfter"], [r"\btools\b"], [n(5), r"\bfive\b"], [r"heartbeat"]],
    must_not=[r"do-not-disrupt", r"\bis (down|not running)", LAUNCHES],
)
def jobs_restart_consolidate_after(c: Cluster) -> None:
    usual(c)
    add_pool(c, "tools", disruption={"consolidateAfter": "1h", "budgets": [{"nodes": "100%"}]})
    pairs = [add_node(c, "tools", "m6i.2xlarge", c.zones[number % 3], age="6d") for number in range(5)]
    add_workload(
        c, "Deployment", "tools", "dashboard", on=pairs, age="5d", cpu="200m", memory="256Mi", spec=of_pool("tools")
    )
    for pair in pairs:
        assert pair.claim is not None
        status = pair.claim["status"]
        status["conditions"] = [one for one in status["conditions"] if one["type"] != "Consolidatable"]
        status["lastPodEventTime"] = c.at("2m")
    cron = c.add(
        "CronJob",
        "heartbeat",
        "ops",
        age="90d",
        spec={"schedule": "*/10 * * * *"},
        status={"lastScheduleTime": c.at("3m")},
    )
    parent = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "name": "heartbeat",
        "uid": cron["metadata"]["uid"],
        "controller": True,
    }
    for number, age in enumerate(("3m", "13m", "23m")):
        phase = "Succeeded" if number else ""
        add_workload(
            c, "Job", "ops", f"heartbeat-2951{number}", on=pairs, age=age, cpu="50m", memory="64Mi", phase=phase,
            spec={**of_pool("tools"), "restartPolicy": "Never"},
        )  # fmt: skip
        c.find("Job", f"heartbeat-2951{number}")["metadata"]["ownerReferences"] = [parent]
