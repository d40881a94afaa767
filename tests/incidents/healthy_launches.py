"""Nodes that start, are refused or replaced, and nothing is wrong."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import fleet, gone_claim, nominated, refused, usual
from tests.incidents.incident import QUIET, incident, quiet
from tests.incidents.node_objects import CNI_NOT_READY, add_group_node, add_node, both, conditions, cordon
from tests.incidents.objects import condition
from tests.incidents.pods import add_workload, waiting
from tests.incidents.pools import add_nodeclass, add_pool
from tests.incidents.registration import TAINT


@quiet(
    story="Karpenter answered a scale-up 20 seconds ago: its NodeClaim is launched and has not registered yet, three pods are "
    "nominated.",
    cause="a node is starting for 20 seconds.",
    thread="aws/karpenter-provider-aws#4341",
    must_not=[r"does not register|not joined|never regist|fail\w* to (regist|join)"],
)
def fine_node_starting(c: Cluster) -> None:
    usual(c)
    fresh = add_node(c, "general", "m6i.xlarge", c.zones[0], age="20s", stage="Launched")
    pods = waiting(c, "orders/checkout", 3, "25s")
    nominated(c, pods, [fresh], last="18s")


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
    fleet(c, "general", "orders/storefront", 4)
    why = ("NodeNotReady", "Node status is NotReady")
    first = add_node(
        c, "general", "m6i.xlarge", c.zones[0], age="75s", stage="Registered", uninitialized=why, ready=CNI_NOT_READY
    )
    why = ("StartupTaintsExist", 'StartupTaint "ebs.csi.aws.com/agent-not-ready:NoExecute" still exists')
    second = add_node(
        c, "general", "m6i.xlarge", c.zones[1], age="76s", stage="Registered", uninitialized=why, taints=[TAINT]
    )
    pods = waiting(
        c,
        "orders/checkout",
        5,
        "80s",
        "0/8 nodes are available: 1 node(s) had untolerated taint {ebs.csi.aws.com/agent-not-ready: }, 1 node(s) had "
        "untolerated taint {node.kubernetes.io/not-ready: }, 6 Insufficient cpu. preemption: 0/8 nodes are available: 2 "
        "Preemption is not helpful for scheduling, 6 No preemption victims found for incoming pod.",
    )
    nominated(c, pods, [first, second], last="5s", count=4)


@quiet(
    story="EC2 refused one type 90 seconds ago. Karpenter made a NodeClaim of another type at once, which is launched and about to "
    "join; three pods wait for it.",
    cause="a refused launch was repeated with another type within seconds.",
    thread="aws/karpenter-provider-aws#5789",
    must_not=["stuck", r"launches nothing"],
)
def fine_refused_once_and_repeated(c: Cluster) -> None:
    usual(c)
    fresh = add_node(c, "general", "m7i.xlarge", c.zones[1], age="35s", stage="Launched")
    pods = waiting(c, "orders/checkout", 3, "100s")
    error = (
        "InsufficientInstanceCapacity: We currently do not have sufficient m6i.xlarge capacity in the Availability Zone you "
        "requested (us-east-1a). Our system will be working on provisioning additional capacity."
    )
    refused(c, "general", [error], [], every=1, times=1)
    nominated(c, pods, [fresh], last="32s")


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
    fleet(c, "general", "orders/storefront", 3)
    pairs = [add_node(c, "batch", "m6i.xlarge", zone, capacity="spot", age="20m") for zone in c.zones]
    selector = {"nodeSelector": {"karpenter.sh/nodepool": "batch"}}
    add_workload(c, "orders/thumbnails", on=pairs, count=9, age="19m", spec=selector)
    error = (
        "InsufficientInstanceCapacity: We currently do not have sufficient c7i.2xlarge capacity in the Availability Zone you "
        "requested (us-east-1b). Our system will be working on provisioning additional capacity."
    )
    refused(c, "batch", [error], [], every=2, times=6, last=21)


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
    fleet(c, "spot", "orders/storefront", 5, capacity="spot", age="2d")
    fleet(c, "fallback", "orders/catalog", 2, age="4m")
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
    fleet(c, "cheap", "orders/storefront", 4)
    fleet(c, "general", "orders/catalog", 2)
    fresh = add_node(c, "general", "m6i.xlarge", c.zones[1], age="30s", stage="Launched")
    pods = waiting(c, "orders/checkout", 3, "40s")  # fmt: skip
    nominated(c, pods, [fresh], last="28s")


@quiet(
    story="The pool for load tests is switched off by a limit of 0 cores until the next test. It has no nodes, and no pod wants one.",
    cause="a NodePool is switched off by its limit, and no pod needs it.",
    thread="aws/karpenter-provider-aws#5909",
    must_not=[r"loadtest.{0,40}(stuck|blocked)"],
)
def fine_pool_switched_off(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    add_pool(c, "loadtest", limits={"cpu": "0"})
    fleet(c, "general", "orders/storefront", 4)


@quiet(
    story="The pool payments has the highest weight and is on-demand, as intended: it is dedicated by a taint, and only the payment "
    "pods tolerate it. Its three nodes of the last hour are on-demand, those of spot are spot.",
    cause="the heaviest pool is on-demand on purpose and takes only its own pods.",
    thread="aws/karpenter-provider-aws#5789",
    must_not=[r"weight"],
)
def fine_heavy_dedicated_pool(c: Cluster) -> None:
    add_nodeclass(c)
    taint = {"key": "dedicated", "value": "payments", "effect": "NoSchedule"}
    add_pool(c, "payments", weight=90, template={"taints": [taint]})
    add_pool(c, "spot", capacity=("spot",), weight=50)
    add_pool(c, "on-demand", weight=10)
    tolerations = [{"key": "dedicated", "operator": "Equal", "value": "payments", "effect": "NoSchedule"}]
    spec = {"tolerations": tolerations, "nodeSelector": {"karpenter.sh/nodepool": "payments"}}
    pairs = [
        add_node(c, "payments", "m6i.xlarge", zone, age=f"{20 + 10 * number}m") for number, zone in enumerate(c.zones)
    ]
    add_workload(c, "payments/ledger", on=pairs, count=9, age="18m", spec=spec)
    fleet(c, "spot", "orders/storefront", 4, capacity="spot", age="40m")


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
    fleet(c, "general", "orders/storefront", 4)
    for zone in c.zones:
        add_node(c, "warm", "m6i.2xlarge", zone, age="6d")


@quiet(
    story="The disk size in the EC2NodeClass was changed ten seconds ago. Karpenter checks it again, so class and pool are not ready for a few seconds.",
    cause="an EC2NodeClass was edited ten seconds ago and is being checked.",
    thread="aws/karpenter-provider-aws#8720",
    must_not=[r"launches nothing|cannot launch", "stuck"],
)
def fine_nodeclass_is_checked(c: Cluster) -> None:
    usual(c, not_ready=("NodeClassReadinessUnknown", "Node Class Readiness Unknown", "9s"))
    manifest = c.find("EC2NodeClass", "default")
    manifest["metadata"]["generation"] = 4
    for item in manifest["status"]["conditions"]:
        if item["type"] in ("ValidationSucceeded", "Ready"):
            item |= {
                "status": "Unknown",
                "reason": "AwaitingReconciliation",
                "message": "object is awaiting reconciliation",
            }
            item |= {"lastTransitionTime": c.at("10s"), "observedGeneration": 4}


@quiet(
    story="EC2 recommends to rebalance five of ten spot nodes. Karpenter takes note and does nothing, as it always does.",
    cause="rebalance recommendations are no interruptions.",
    thread="aws/karpenter-provider-aws#5199",
    must_not=[r"interrupt|taken back|reclaim"],
)
def fine_rebalance_recommendations(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "spot", capacity=("spot",))
    pairs = fleet(c, "spot", "orders/storefront", 10, capacity="spot", age="2d")
    for pair in pairs[:5]:
        for manifest in both(pair):
            text = "Spot rebalance recommendation was triggered"
            c.event(manifest, "SpotRebalanceRecommendation", text, last="6m", kind="Normal")


@quiet(
    story="EC2 takes back one of ten spot nodes. Karpenter drains it for 50 seconds, its replacement is launched, and three pods wait "
    "for 20 seconds: the ordinary course of spot.",
    cause="one of ten spot nodes is being replaced after an interruption.",
    thread="dynamical-org/reformatters#945",
    must_not=[r"(?<!of )\b10 (spot )?nodes .{0,30}(interrupt|taken back)", "stuck"],
)
def fine_one_spot_node_interrupted(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "spot", capacity=("spot",))
    fleet(c, "spot", "orders/storefront", 9, capacity="spot", age="2d")
    going = add_node(c, "spot", "m6i.xlarge", c.zones[0], capacity="spot", age="2d", deleting="50s")
    conditions(going, condition("Drained", "Unknown", c.at("50s"), "Draining", "Draining"))
    for manifest in both(going):
        c.event(manifest, "SpotInterrupted", "Spot interruption warning was triggered", last="52s")
        kind = manifest["kind"]
        c.event(manifest, "TerminatingOnInterruption", f"Interruption triggered termination for the {kind}", last="51s")
    fresh = add_node(c, "spot", "m6i.xlarge", c.zones[1], capacity="spot", age="30s", stage="Launched")
    pods = waiting(c, "orders/catalog", 3, "20s")
    nominated(c, pods, [fresh], last="15s")


@incident(
    story="EC2 took back eight spot nodes of two pools three minutes ago. They are gone; six of the eight replacements are ready with "
    "their pods, the last two are launched, and three pods are promised to them. The wave is over.",
    cause="Nothing is wrong any more: 8 interrupted spot nodes of two pools are replaced, the last two start.",
    thread="dynamical-org/reformatters#945",
    must=[QUIET],
    must_not=["stuck", r"launches nothing", r"no replacement"],
    first=1,
    healthy=True,
)
def fine_wave_is_over(c: Cluster) -> None:
    add_nodeclass(c)
    fresh = []
    for pool, app in (("spot-web", "storefront"), ("spot-jobs", "indexer")):
        add_pool(c, pool, capacity=("spot",))
        fleet(c, pool, f"orders/{app}", 8, capacity="spot", age="2d")
        fleet(c, pool, f"orders/{app}-extra", 3, capacity="spot", age="2m20s")
        fresh.append(add_node(c, pool, "m7i.xlarge", c.zones[0], capacity="spot", age="35s", stage="Launched"))
        for number in range(4):
            claim, age = gone_claim(c, pool, number), f"{170 + 5 * number}s"
            c.event(claim, "SpotInterrupted", "Spot interruption warning was triggered", last=age)
            text = "Interruption triggered termination for the NodeClaim"
            c.event(claim, "TerminatingOnInterruption", text, last=age)
    pods = waiting(c, "orders/catalog", 3, "45s")  # fmt: skip
    nominated(c, pods, fresh, last="30s")


@incident(
    story="Node repair is on. One of ten nodes lost its network 32 minutes ago; a minute ago Karpenter began to replace it: the replacement is "
    "ready, and the old node drains with a bound of ten minutes.",
    cause="Nothing is wrong any more: Karpenter repairs one of ten nodes, and its replacement is ready.",
    thread="kubernetes-sigs/karpenter#750",
    must=[QUIET],
    must_not=["stuck", r"nothing repairs|not repaired|repair is (off|disabled|blocked)"],
    first=1,
    healthy=True,
    settings={"FEATURE_GATES": "NodeRepair=true"},
)
def fine_node_repair(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "edge")
    fleet(c, "edge", "edge/proxy", 9)
    deadline = {"karpenter.sh/nodeclaim-termination-timestamp": c.at("-9m20s")}
    going = add_node(c, "edge", "m6i.xlarge", c.zones[0], deleting="40s", claim_annotations=deadline)
    state = condition("NetworkingReady", "False", c.at("32m"), "IPAMDNotRunning", "ipamd does not answer")
    both(going)[0]["status"]["conditions"].append({**state, "lastHeartbeatTime": c.at("30s")})
    conditions(
        going,
        condition("DisruptionReason", "True", c.at("100s"), "Unhealthy", "Unhealthy"),
        condition("Drained", "Unknown", c.at("40s"), "Draining", "Draining"),
    )
    for item in both(going):
        c.event(item, "DisruptionTerminating", f"Disrupting {item['kind']}: Unhealthy", last="40s", kind="Normal")
    fresh = add_node(c, "edge", "m6i.xlarge", c.zones[1], age="100s")
    add_workload(c, "edge/proxy-next", on=[fresh], count=3, age="30s")


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
