"""Clusters where nothing is wrong: a false alarm counts as much as a miss."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.controllers import FILLER, FULL
from tests.incidents.disruption import both, conditions
from tests.incidents.fleets import CPU, MEMORY, fleet, nominated, usual
from tests.incidents.incident import quiet
from tests.incidents.node_objects import add_group_node, add_node
from tests.incidents.objects import condition
from tests.incidents.pods import add_pdb, add_pod, add_workload
from tests.incidents.pools import add_karpenter, add_nodeclass, add_pool


@quiet(
    story="A Deployment was scaled up five seconds ago. Its four pods are Pending, as they must be for a minute.",
    cause="four pods have been pending for five seconds.",
    thread="kubernetes-sigs/karpenter#651",
    must_not=[r"\b(stuck|unschedulable|fits? (on )?no)\b"],
)
def fine_pods_just_created(c: Cluster) -> None:
    usual(c)
    add_workload(
        c,
        "Deployment",
        "orders",
        "checkout",
        pending=4,
        pending_since="5s",
        cpu=CPU,
        memory=MEMORY,
        message=FULL.format(6),
    )


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
    pods = add_workload(
        c,
        "Deployment",
        "orders",
        "checkout",
        pending=3,
        pending_since="25s",
        cpu=CPU,
        memory=MEMORY,
        message=FULL.format(6),
    )
    nominated(c, pods, [fresh], last="18s")


@quiet(
    story="A training job runs with do-not-disrupt on a node that it fills, and a PodDisruptionBudget allows no eviction of the "
    "shop. Nothing is drifted, nothing could be consolidated, and no node expires soon: nobody is kept waiting.",
    cause="do-not-disrupt and a strict budget protect pods on nodes that nothing wants to remove.",
    thread="kubernetes-sigs/karpenter#1168",
    must_not=[
        r"(blocks?|holds?|keeps?|stops?|prevents?) (the )?(drift|removal|consolidation|disruption) of \d",
        "killed|is lost",
    ],
)
def fine_protected_pods(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    add_pool(c, "ml", families=("m7i",), sizes=("4xlarge",))
    fleet(c, "general", "orders", "storefront", 4)
    add_pdb(c, "orders", "storefront", "storefront", healthy=12, desired=12, expected=12, minAvailable=12)
    pair = add_node(c, "ml", "m7i.4xlarge", c.zones[1], age="3d")
    pods = add_workload(
        c,
        "Job",
        "ml",
        "train-prices",
        on=[pair],
        age="2d20h",
        cpu="15",
        memory="52Gi",
        annotations={"karpenter.sh/do-not-disrupt": "true"},
        spec={"restartPolicy": "Never"},
    )
    text = f'Pod has "karpenter.sh/do-not-disrupt" annotation (Pod=ml/{pods[0]["metadata"]["name"]})'
    for one in both(pair):
        c.event(one, "DisruptionBlocked", text, last="1m", first="58m", count=28, kind="Normal")


@quiet(
    story="Nightly jobs have completed, one failed three days ago, and a pod that was Pending for a moment 50 minutes ago runs "
    "since.",
    cause="finished pods and an old event are left over.",
    thread="kubernetes-sigs/karpenter#1921",
    must_not=[r"nightly-\w+ .{0,40}(pending|waits|lost)", r"\b(18|19) pods"],
)
def fine_finished_jobs(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    pairs = fleet(c, "general", "orders", "storefront", 4)
    for number in range(6):
        job = c.add(
            "Job", f"nightly-{number}", "orders", age=f"{number + 1}h", spec={"completions": 3}, status={"succeeded": 3}
        )
        for place in range(3):
            add_pod(
                c,
                "orders",
                f"nightly-{number}-{'abc'[place]}wk2p",
                node=pairs[place],
                parent=job,
                age=f"{number + 1}h",
                cpu="2",
                memory="4Gi",
                phase="Succeeded",
                annotations={"karpenter.sh/do-not-disrupt": "true"},
            )
    job = c.add("Job", "nightly-old", "orders", age="3d", spec={"completions": 1}, status={"failed": 1})
    add_pod(c, "orders", "nightly-old-xx41b", node=pairs[3], parent=job, age="3d", phase="Failed")
    pod = next(one for one in c.objects if one["kind"] == "Pod" and one["metadata"]["name"].startswith("storefront"))
    c.event(pod, "FailedScheduling", FULL.format(5), last="50m", source="default-scheduler")


@quiet(
    story="Karpenter runs on Fargate, and the only disruption budget is open at night. It is day, and no node wants to be disrupted.",
    cause="the closed budget keeps no node, and Karpenter runs on Fargate.",
    thread="kubernetes-sigs/karpenter#2989",
    must_not=[
        r"budget.{0,60}(blocks|keeps|holds|closed).{0,40}\b\d+ (drifted )?nodes",
        r"karpenter.{0,40}(down|not ready|not running)",
    ],
    karpenter_runs=False,
)
def fine_fargate_and_closed_budget(c: Cluster) -> None:
    add_nodeclass(c)
    budgets = [{"nodes": "0", "schedule": "0 5 * * *", "duration": "16h"}, {"nodes": "20%"}]
    add_pool(c, "general", disruption={"budgets": budgets})
    fleet(c, "general", "orders", "storefront", 4)
    taint = {"key": "eks.amazonaws.com/compute-type", "value": "fargate", "effect": "NoSchedule"}
    add_workload(c, "StatefulSet", "monitoring", "prometheus", on=c.system, **FILLER)
    hosts = []
    daemons = ("aws-node", "kube-proxy", "ebs-csi-node", "eks-pod-identity-agent")
    for zone in c.zones[:2]:
        pair = add_group_node(c, "m6i.large", zone, age="12d1h")
        assert pair.node is not None
        meta, name = pair.node["metadata"], f"fargate-{pair.name}"
        c.find("CSINode", meta["name"])["metadata"]["name"] = name
        for key in (
            "eks.amazonaws.com/nodegroup",
            "eks.amazonaws.com/capacityType",
            "node.kubernetes.io/instance-type",
        ):
            meta["labels"].pop(key)
        meta["labels"] |= {"eks.amazonaws.com/compute-type": "fargate", "kubernetes.io/hostname": name[8:]}
        meta["name"] = name
        pair.node["spec"] |= {"taints": [taint], "providerID": f"aws:///{zone}/{meta['uid'][:8]}/fargate-{name}"}
        pair.without = daemons
        hosts.append(pair)
    for pod in add_karpenter(c, on=hosts):
        pod["spec"]["tolerations"].append(
            {"key": taint["key"], "operator": "Equal", "value": "fargate", "effect": "NoSchedule"}
        )
        pod["spec"]["schedulerName"] = "fargate-scheduler"


@quiet(
    story="A new image rolls through pool web: eight of twelve nodes are replaced, two at a time at most, the last three minutes "
    "ago. One node is draining for a minute and its replacement is ready.",
    cause="the drift of web advances, 8 of 12 nodes are done.",
    thread="kubernetes-sigs/karpenter#2705",
    must_not=[r"drift.{0,60}(stuck|blocked|does not advance|no progress|never)"],
)
def fine_drift_advances(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "web")
    fleet(c, "web", "orders", "storefront", 3, drifted="41m", age="16d")
    fresh = [add_node(c, "web", "m6i.xlarge", c.zones[number % 3], age=f"{4 + 4 * number}m") for number in range(9)]
    add_workload(c, "Deployment", "orders", "catalog", on=fresh, count=27, age="40m", cpu=CPU, memory=MEMORY)
    add_pdb(c, "orders", "catalog", "catalog", healthy=27, desired=21, expected=27, maxUnavailable=6)
    going = add_node(c, "web", "m6i.xlarge", c.zones[0], age="16d", drifted="41m", deleting="1m")
    conditions(
        going,
        condition("DisruptionReason", "True", c.at("4m10s"), "Drifted"),
        condition("Drained", "Unknown", c.at("1m"), "Draining", "Draining"),
    )
    for one in both(going):
        kind = "Node" if one["kind"] == "Node" else "NodeClaim"
        c.event(one, "DisruptionTerminating", f"Disrupting {kind}: Drifted", last="1m", kind="Normal")
