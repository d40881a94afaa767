"""Clusters that have just been through something, or are in the middle of something ordinary: no alarm."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.controllers import FULL
from tests.incidents.disruption import both, conditions
from tests.incidents.fleets import CPU, MEMORY, fleet, nominated, refused, usual
from tests.incidents.incident import quiet
from tests.incidents.node_objects import CNI_NOT_READY, add_group_node, add_node, cordon
from tests.incidents.objects import condition
from tests.incidents.pods import add_pdb, add_workload, refuse_pods
from tests.incidents.pools import add_nodeclass, add_pool
from tests.incidents.registration import TAINT


@quiet(
    story="EC2 had no c7i spot for a while; the last refusal is 21 minutes old. Karpenter took other types, and every pod runs.",
    cause="refusals of the past were made good by other instance types.",
    thread="aws/karpenter-provider-aws#5789",
    must_not=[r"\bpending\b|\bwaits?\b"],
)
def fine_refusals_are_over(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "batch", families=("c7i", "m6i"), capacity=("spot",))
    add_pool(c, "general")
    fleet(c, "general", "orders", "storefront", 3)
    pairs = [add_node(c, "batch", "m6i.xlarge", zone, capacity="spot", age="20m") for zone in c.zones]
    selector = {"nodeSelector": {"karpenter.sh/nodepool": "batch"}}
    add_workload(
        c, "Deployment", "orders", "thumbnails", on=pairs, count=9, age="19m", cpu=CPU, memory=MEMORY, spec=selector
    )
    error = (
        "InsufficientInstanceCapacity: We currently do not have sufficient c7i.2xlarge capacity in the Availability Zone you "
        "requested (us-east-1b). Our system will be working on provisioning additional capacity."
    )
    refused(c, "batch", [error], [], every=2, times=6, last=21)


@quiet(
    story="A webhook was down for five minutes; the last pod it refused was 31 minutes ago. All ReplicaSets are complete again.",
    cause="the webhook answers again and all pods were created.",
    thread="kyverno/kyverno#2869",
    must_not=[r"(cannot|can not|can't) be created", r"no new pods?"],
)
def fine_webhook_is_back(c: Cluster) -> None:
    usual(c)
    text = (
        'Error creating: Internal error occurred: failed calling webhook "mutate.kyverno.svc-fail": failed to call webhook: Post '
        '"https://kyverno-svc.kyverno.svc:443/mutate/fail?timeout=10s": context deadline exceeded'
    )
    refuse_pods(c, "storefront", text, first="36m", last="31m", count=14)
    made = next(
        one for one in c.objects if one["kind"] == "ReplicaSet" and one["metadata"]["name"].startswith("storefront")
    )
    del made["status"]["conditions"]


@quiet(
    story="EC2 takes back one of ten spot nodes. Karpenter drains it for 50 seconds, its replacement is launched, and three pods wait "
    "for 20 seconds: the ordinary course of spot.",
    cause="one of ten spot nodes is being replaced after an interruption.",
    thread="dynamical-org/reformatters#945",
    must_not=[r"\b10 (spot )?nodes .{0,30}(interrupt|taken back)", "stuck"],
)
def fine_one_spot_node_interrupted(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "spot", capacity=("spot",))
    fleet(c, "spot", "orders", "storefront", 9, capacity="spot", age="2d")
    going = add_node(c, "spot", "m6i.xlarge", c.zones[0], capacity="spot", age="2d", deleting="50s")
    conditions(going, condition("Drained", "Unknown", c.at("50s"), "Draining", "Draining"))
    for one in both(going):
        c.event(one, "SpotInterrupted", "Spot interruption warning was triggered", last="52s")
        kind = one["kind"]
        c.event(one, "TerminatingOnInterruption", f"Interruption triggered termination for the {kind}", last="51s")
    fresh = add_node(c, "spot", "m6i.xlarge", c.zones[1], capacity="spot", age="30s", stage="Launched")
    pods = add_workload(
        c,
        "Deployment",
        "orders",
        "catalog",
        pending=3,
        pending_since="20s",
        cpu=CPU,
        memory=MEMORY,
        message=FULL.format(12),
    )
    nominated(c, pods, [fresh], last="15s")


@quiet(
    story="Both Karpenter pods have restarted once, one for want of memory six days ago. They run since.",
    cause="Karpenter runs with both replicas; its restarts are days ago.",
    thread="aws/karpenter-provider-aws#7658",
    must_not=[r"karpenter.{0,60}(OOM|crash|restart|down)"],
)
def fine_karpenter_restarted_days_ago(c: Cluster) -> None:
    usual(c)
    pods = [one for one in c.objects if one["kind"] == "Pod" and one["metadata"]["name"].startswith("karpenter-")]
    for pod, reason in zip(pods, ("OOMKilled", "Error"), strict=True):
        state = pod["status"]["containerStatuses"][0]
        state["restartCount"] = 1
        state["state"] = {"running": {"startedAt": c.at("6d")}}
        state["lastState"] = {
            "terminated": {"reason": reason, "exitCode": 137, "finishedAt": c.at("6d"), "startedAt": c.at("12d")}
        }


@quiet(
    story="The ten nodes of web were created on different days and expire one after the other, the next in five hours. Their pods "
    "move without harm.",
    cause="nodes expire one by one, days apart.",
    thread="aws/karpenter-provider-aws#7122",
    must_not=[r"\b(10|ten) nodes.{0,40}expir", "killed"],
)
def fine_nodes_expire_one_by_one(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "web")
    pairs = [
        add_node(c, "web", "m6i.xlarge", c.zones[number % 3], age=f"{29 - 3 * number}d19h") for number in range(10)
    ]
    add_workload(c, "Deployment", "orders", "storefront", on=pairs, count=30, age="20h", cpu=CPU, memory=MEMORY)
    add_pdb(c, "orders", "storefront", "storefront", healthy=30, desired=27, expected=30, maxUnavailable="10%")


@quiet(
    story="The managed node group takes a new release: one of its nodes was cordoned three minutes ago and is drained, the new one is "
    "ready.",
    cause="EKS updates a managed node group, one node at a time.",
    thread="kubernetes-sigs/karpenter#2802",
    must_not=["forgotten"],
)
def fine_node_group_update(c: Cluster) -> None:
    usual(c)
    old = add_group_node(c, "m6i.large", c.zones[1], age="47d")
    cordon(c, old, "3m")


@quiet(
    story="Two nodes joined 40 seconds ago: they are not ready yet, and one still has its startup taint. Five pods are promised to "
    "them.",
    cause="two nodes start up for less than a minute.",
    thread="kubernetes-sigs/aws-ebs-csi-driver#1232",
    must_not=[r"never|stuck|does not (join|initiali)|has not been ready", r"\b(have|has) room on\b"],
)
def fine_nodes_come_up(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general", template={"startupTaints": [TAINT]})
    fleet(c, "general", "orders", "storefront", 4)
    why = ("NodeNotReady", "Node status is NotReady")
    first = add_node(
        c, "general", "m6i.xlarge", c.zones[0], age="75s", stage="Registered", uninitialized=why, ready=CNI_NOT_READY
    )
    why = ("StartupTaintsExist", 'StartupTaint "ebs.csi.aws.com/agent-not-ready:NoExecute" still exists')
    second = add_node(
        c, "general", "m6i.xlarge", c.zones[1], age="76s", stage="Registered", uninitialized=why, taints=[TAINT]
    )
    pods = add_workload(
        c,
        "Deployment",
        "orders",
        "checkout",
        pending=5,
        pending_since="80s",
        cpu=CPU,
        memory=MEMORY,
        message="0/8 nodes are available: 1 node(s) had untolerated taint {ebs.csi.aws.com/agent-not-ready: }, 1 node(s) had "
        "untolerated taint {node.kubernetes.io/not-ready: }, 6 Insufficient cpu. preemption: 0/8 nodes are available: 2 "
        "Preemption is not helpful for scheduling, 6 No preemption victims found for incoming pod.",
    )
    nominated(c, pods, [first, second], last="5s", count=4)


@quiet(
    story="A rollout of the shop runs for two minutes: one pod is still starting, so the PodDisruptionBudget allows no eviction at "
    "this moment. One drifted node waits for that, and will go in a minute.",
    cause="a PodDisruptionBudget is used up for a moment by a rollout.",
    thread="kubernetes-sigs/karpenter#1176",
    must_not=[r"never allow", "forever|no terminationGracePeriod"],
)
def fine_budget_used_up_by_rollout(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "web")
    pairs = fleet(c, "web", "orders", "catalog", 3, age="9d")
    last = add_node(c, "web", "m6i.xlarge", c.zones[0], age="9d", drifted="2m")
    add_workload(c, "Deployment", "orders", "storefront", on=[last], count=2, age="2m", cpu=CPU, memory=MEMORY)
    pods = [one for one in c.objects if one["kind"] == "Pod" and one["metadata"]["name"].startswith("storefront")]
    for one in pods[1]["status"]["conditions"]:
        if one["type"] in ("Ready", "ContainersReady"):
            one |= {"status": "False", "reason": "ContainersNotReady", "lastTransitionTime": c.at("25s")}
    pods[1]["status"]["containerStatuses"][0]["ready"] = False
    pods[1]["metadata"]["creationTimestamp"] = c.at("25s")
    budget = add_pdb(c, "orders", "storefront", "storefront", healthy=1, desired=1, expected=2, maxUnavailable=1)
    budget["status"]["conditions"] = [condition("DisruptionAllowed", "False", c.at("25s"), "InsufficientPods")]
    text = "Pdb prevents pod evictions (PodDisruptionBudget=[orders/storefront])"
    for one in both(last):
        c.event(one, "DisruptionBlocked", text, last="5s", kind="Normal")
    assert len(pairs) == 3


@quiet(
    story="A static pool keeps three nodes warm for the launch tonight. They are empty, as intended.",
    cause="a static NodePool holds its nodes whether they are used or not.",
    thread="kubernetes-sigs/karpenter#2309",
    must_not=[r"cannot be removed|stuck"],
    settings={"FEATURE_GATES": "StaticCapacity=true"},
)
def fine_static_pool_is_empty(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    taint = {"key": "dedicated", "value": "warm", "effect": "NoSchedule"}
    add_pool(
        c,
        "warm",
        families=("m6i",),
        sizes=("2xlarge",),
        replicas=3,
        limits={"nodes": "4"},
        template={"taints": [taint]},
    )
    fleet(c, "general", "orders", "storefront", 4)
    for zone in c.zones:
        add_node(c, "warm", "m6i.2xlarge", zone, age="6d")


@quiet(
    story="Four pods of a rollout were scheduled 35 seconds ago and pull their image.",
    cause="four pods pull their image for half a minute.",
    thread="aws/karpenter-provider-aws#4202",
    must_not=["stuck|cannot start|never start|sandbox"],
)
def fine_pods_pull_images(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    pairs = fleet(c, "general", "orders", "storefront", 4, each=2)
    pods = add_workload(
        c, "Deployment", "orders", "catalog", on=pairs, age="35s", cpu=CPU, memory=MEMORY, waiting="ContainerCreating"
    )
    for pod in pods:
        c.event(
            pod,
            "Pulling",
            'Pulling image "registry.example/orders/app:2026.11"',
            last="33s",
            kind="Normal",
            source="kubelet",
        )
    text = (
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "9f31c7": '
        'plugin type="aws-cni" name="aws-cni" failed (add): add cmd: failed to assign an IP address to container'
    )
    c.event(pods[0], "FailedCreatePodSandBox", text, last="34s", source="kubelet")
