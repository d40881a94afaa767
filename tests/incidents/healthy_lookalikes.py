"""Clusters that look like an incident and are none."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.controllers import FILLER, FULL
from tests.incidents.disruption import both
from tests.incidents.fleets import CPU, MEMORY, fleet, gone_claim, nominated, refused, usual
from tests.incidents.incident import quiet
from tests.incidents.node_objects import add_node
from tests.incidents.objects import digest, uid
from tests.incidents.pods import add_pdb, add_pod, add_workload
from tests.incidents.pools import add_karpenter, add_nodeclass, add_pool


@quiet(
    story="The office closes: over the last hour consolidation has removed nine nodes that had run all day, one after the other, and "
    "moved each of the 18 desk pods once. No node was launched meanwhile.",
    cause="the cluster shrinks in the evening, and no node comes and goes.",
    thread="aws/karpenter-provider-aws#3920",
    must_not=[r"churn|short-?lived|come and go|again and again|\bloop"],
)
def fine_evening_scale_down(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    pairs = fleet(c, "general", "orders", "storefront", 4, each=2)
    desk = add_workload(c, "Deployment", "office", "desk", on=pairs, count=18, age="50m", cpu="250m", memory="512Mi")
    prefix = desk[0]["metadata"]["name"][:-6]
    for number in range(9):
        claim = gone_claim(c, "general", number)
        name = f"ip-10-24-40-{11 + number}.ec2.internal"
        meta = {"name": name, "uid": uid(c.name, name)}
        for one in (claim, {"apiVersion": "v1", "kind": "Node", "metadata": meta}):
            text = f"Disrupting {one['kind']}: Underutilized"
            c.event(one, "DisruptionTerminating", text, last=f"{3 + 6 * number}m", kind="Normal")
        for place in range(2):
            pod = {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": f"{prefix}-{digest(number, place)[:5]}",
                    "namespace": "office",
                    "uid": uid(c.name, number, place),
                },
            }
            c.event(pod, "Evicted", "Evicted pod: Underutilized", last=f"{3 + 6 * number}m", kind="Normal")


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
    add_workload(c, "Deployment", "payments", "ledger", on=pairs, count=9, age="18m", cpu=CPU, memory=MEMORY, spec=spec)
    fleet(c, "spot", "orders", "storefront", 4, capacity="spot", age="40m")


@quiet(
    story="Pods of an Argo workflow and of a Spark application have no ReplicaSet, but a controller of their own; a bare pod is "
    "finished. Nothing is lost when their nodes go.",
    cause="every running pod has a controller, if an unusual one.",
    thread="kubernetes-sigs/karpenter#701",
    must_not=[r"\blost\b|no (owner|controller)|ownerless|without (an? )?(owner|controller)"],
)
def fine_unusual_controllers(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    pairs = fleet(c, "general", "orders", "storefront", 4, each=2)
    owners = [
        ("argoproj.io/v1alpha1", "Workflow", "nightly-etl"),
        ("sparkoperator.k8s.io/v1beta2", "SparkApplication", "scoring"),
    ]
    for number in range(4):
        version, kind, name = owners[number % 2]
        parent = {"apiVersion": version, "kind": kind, "metadata": {"name": name, "uid": uid(c.name, name)}}
        add_pod(c, "data", f"{name}-{number}", node=pairs[number], parent=parent, age="22m", cpu=CPU, memory=MEMORY)
    add_pod(c, "data", "one-off-migration", node=pairs[0], age="5h", phase="Succeeded", spec={"restartPolicy": "Never"})


@quiet(
    story="EC2 recommends to rebalance five of ten spot nodes. Karpenter takes note and does nothing, as it always does.",
    cause="rebalance recommendations are no interruptions.",
    thread="aws/karpenter-provider-aws#5199",
    must_not=[r"interrupt|taken back|reclaim"],
)
def fine_rebalance_recommendations(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "spot", capacity=("spot",))
    pairs = fleet(c, "spot", "orders", "storefront", 10, capacity="spot", age="2d")
    for pair in pairs[:5]:
        for one in both(pair):
            text = "Spot rebalance recommendation was triggered"
            c.event(one, "SpotRebalanceRecommendation", text, last="6m", kind="Normal")


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
    fleet(c, "general", "orders", "storefront", 4)


@quiet(
    story="An export protects itself with do-not-disrupt for 45 minutes and has run for 20. Its node drifted ten minutes ago and waits "
    "25 minutes more, as agreed; its neighbours are being replaced.",
    cause="do-not-disrupt with a duration holds a drifted node for 25 minutes more.",
    thread="kubernetes-sigs/karpenter#701",
    must_not=[r"no (time )?limit|forever|never"],
)
def fine_protected_for_a_while(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    pairs = fleet(c, "general", "orders", "storefront", 4, drifted="10m", each=2, age="9d")
    pods = add_workload(
        c,
        "Job",
        "orders",
        "export",
        on=pairs[:1],
        age="20m",
        cpu="900m",
        memory="2Gi",
        annotations={"karpenter.sh/do-not-disrupt": "45m"},
        spec={"restartPolicy": "Never"},
    )
    text = f"The karpenter.sh/do-not-disrupt grace period will elapse at {c.at('-25m')}"
    c.event(pods[0], "DoNotDisruptUntil", text, last="1m", first="19m", count=9, kind="Normal")
    fresh = add_node(c, "general", "m6i.xlarge", c.zones[0], age="4m")
    add_workload(c, "Deployment", "orders", "catalog", on=[fresh], count=3, age="3m", cpu=CPU, memory=MEMORY)


@quiet(
    story="A PodDisruptionBudget of an application that is scaled to zero allows no disruption: it has no pods. Two budgets of the "
    "same name and selector guard pods of two namespaces, one each.",
    cause="one PodDisruptionBudget has no pods, and the others do not meet.",
    thread="devantler-tech/platform#1880",
    must_not=[r"(two|several|more than one) (PDBs|PodDisruptionBudgets)", r"never allows"],
)
def fine_budgets_that_hold_nothing(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    fleet(c, "general", "orders", "storefront", 4, drifted="3m", age="9d")
    add_pdb(c, "orders", "storefront", "storefront", healthy=12, desired=10, expected=12, maxUnavailable=2)
    add_pdb(c, "staging", "storefront", "storefront", healthy=2, desired=1, expected=2, maxUnavailable=1)
    more = add_node(c, "general", "m6i.xlarge", c.zones[0], age="9d")
    add_workload(c, "Deployment", "staging", "storefront", on=[more], count=2, cpu=CPU, memory=MEMORY)
    add_workload(c, "Deployment", "erp", "issuer", replicas=0)
    add_pdb(c, "erp", "issuer", "issuer", healthy=0, desired=1, expected=0, minAvailable=1)


@quiet(
    story="A small cluster runs Karpenter with one replica. It is ready and leads.",
    cause="Karpenter has one replica, and it runs.",
    thread="aws/karpenter-provider-aws#3190",
    must_not=[r"karpenter.{0,60}(down|not running|0 of|not ready)"],
    karpenter_runs=False,
)
def fine_single_karpenter(c: Cluster) -> None:
    add_karpenter(c, on=c.system[:1], replicas=1)
    add_workload(c, "StatefulSet", "monitoring", "prometheus", on=c.system[1:], **FILLER)
    usual(c, 3)


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
    pods = add_workload(
        c,
        "Deployment",
        "orders",
        "checkout",
        pending=3,
        pending_since="100s",
        cpu=CPU,
        memory=MEMORY,
        message=FULL.format(6),
    )
    error = (
        "InsufficientInstanceCapacity: We currently do not have sufficient m6i.xlarge capacity in the Availability Zone you "
        "requested (us-east-1a). Our system will be working on provisioning additional capacity."
    )
    refused(c, "general", [error], [], every=1, times=1)
    nominated(c, pods, [fresh], last="32s")


@quiet(
    story="Karpenter drains two nodes for consolidation since 40 seconds and has put its taint on them. They are about to go.",
    cause="Karpenter removes two nodes it does not need.",
    thread="aws/karpenter-provider-aws#2466",
    must_not=["cordoned", "forgotten", "stuck"],
)
def fine_two_nodes_drain(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general", disruption={"budgets": [{"nodes": "50%"}]})
    fleet(c, "general", "orders", "storefront", 4)
    for zone in c.zones[:2]:
        going = add_node(c, "general", "m6i.xlarge", zone, age="2d", deleting="40s")
        for one in both(going):
            text = f"Disrupting {one['kind']}: Empty"
            c.event(one, "DisruptionTerminating", text, last="40s", kind="Normal")
