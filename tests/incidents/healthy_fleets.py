"""Healthy clusters of several kinds of nodes: Fargate, node groups, zonal volumes, and an upgrade half done."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import big_fleet, fleet, usual
from tests.incidents.incident import LAUNCHES, quiet
from tests.incidents.node_objects import add_node, both, conditions
from tests.incidents.objects import condition
from tests.incidents.platforms import add_karpenter_on_fargate
from tests.incidents.pods import PROTECTED, add_pdb, add_pod, add_volume, add_workload
from tests.incidents.pools import add_nodeclass, add_pool

PDB = r"\bPDB\b|PodDisruptionBudget"


@quiet(
    story="A StatefulSet has a replica and its volume in each of three zones. Each zone therefore has one half-empty m6i.xlarge of NodePool stateful, the only type that it allows. Nothing can be merged, and nothing cheaper exists.",
    cause="each zone needs a node for its volumes.",
    thread="kubernetes-sigs/karpenter#1177",
    must_not=["nearly empty", "stuck|never", PDB, r"can save"],
)
def fine_each_zone_has_a_node_for_its_volumes(c: Cluster) -> None:
    usual(c, 7)
    add_pool(c, "stateful", families=("m6i",), sizes=("xlarge",), labels={"team": "db"})
    hosts = [add_node(c, "stateful", "m6i.xlarge", zone, age="17d") for zone in c.zones]
    pods = add_workload(c, "db/etcd", kind="StatefulSet", on=hosts, age="16d", cpu="700m", memory="2Gi", spec={"nodeSelector": {"team": "db"}})  # fmt: skip
    for number, pod in enumerate(pods):
        pod["spec"]["volumes"] = [add_volume(c, "db", f"data-etcd-{number}", c.zones[number])]


@quiet(
    story="Vault and the metrics server run on the managed node group. Their PodDisruptionBudgets allow no eviction, as they have one replica each; Karpenter never removes nodes of that group. Its own nodes are well used.",
    cause="PodDisruptionBudgets without room guard pods on nodes that Karpenter does not manage.",
    thread="kubernetes-sigs/karpenter#2802",
    must_not=["vault", PDB, "blocks? [1-9]"],
)
def fine_budgets_guard_the_node_group(c: Cluster) -> None:
    usual(c, 12)
    for name in ("ops/vault", "kube-system/metrics-server"):
        namespace, app = name.split("/")
        add_workload(c, name, on=c.system[:1], age="40d", cpu="100m", memory="200Mi")
        add_pdb(c, namespace, app, app, healthy=1, desired=1, expected=1, minAvailable=1)


@quiet(
    story="Karpenter runs on Fargate, so that it does not depend on nodes of its own. The kubelets there are two minor versions older than the other nodes', which Kubernetes supports; DaemonSets do not run there.",
    cause="Karpenter runs on Fargate, with kubelets of a supported older version.",
    thread="aws/containers-roadmap#2243",
    must_not=["fargate", "older|behind", r"karpenter (is )?(down|not running)", r"DaemonSet"],
    karpenter_runs=False,
)
def fine_karpenter_runs_on_fargate(c: Cluster) -> None:
    usual(c, 14)
    add_karpenter_on_fargate(c, "v1.33.5-eks-113cf36")


@quiet(
    story="The upgrade from 1.34 to 1.35 began 50 minutes ago. Of 32 nodes 13 run 1.35; two old ones are about to be replaced, and their replacements were launched less than a minute ago. Budgets and PodDisruptionBudgets let it go on.",
    cause="an upgrade is half done and goes on.",
    thread="aws/karpenter-provider-aws#6256",
    must_not=["stuck|does not advance|blocked", "behind|older", LAUNCHES],
)
def fine_upgrade_is_half_done(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    old = big_fleet(c, "general", 19, age="21d", drifted="50m")
    new = [add_node(c, "general", "m6i.xlarge", c.zones[i % 3], age=f"{46 - 3 * i}m") for i in range(13)]
    add_workload(c, "orders/storefront", on=new, count=39, age="2m")
    for pair in old:
        pair.status["nodeInfo"] |= {"kubeletVersion": "v1.34.4-eks-ecaa3a6", "osImage": "Amazon Linux 2023.8.20260818"}
    for pair in old[:2]:
        both(pair)[0]["spec"]["taints"] = [{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]
        conditions(pair, condition("DisruptionReason", "True", c.at("52s"), "Drifted"))
        c.event(both(pair)[1], "DisruptionLaunching", "Launching NodeClaim: Drifted", last="52s", kind="Normal")
    for zone in c.zones[:2]:
        add_node(c, "general", "m6i.xlarge", zone, age="48s", stage="Launched")
    add_pdb(c, "orders", "storefront", "storefront", healthy=39, desired=35, expected=39, maxUnavailable="10%")


@quiet(
    story="Three nodes ran a protected Job each, which ended four minutes ago. do-not-disrupt on pods that have ended protects nothing: the nodes are removed when consolidateAfter is over.",
    cause="protected pods have ended, and their nodes are removed soon.",
    thread="kubernetes-sigs/karpenter#1961",
    must_not=["do-not-disrupt", "stuck|never"],
)
def fine_protected_jobs_are_done(c: Cluster) -> None:
    usual(c, 8)
    add_pool(c, "jobs", labels={"team": "jobs"}, disruption={"consolidationPolicy": "WhenEmpty", "consolidateAfter": "15m"})  # fmt: skip
    hosts = [add_node(c, "jobs", "m6i.xlarge", zone, age="3h") for zone in c.zones]
    for number, pair in enumerate(hosts):
        _, claim = both(pair)
        claim["status"]["conditions"] = [item for item in claim["status"]["conditions"] if item["type"] != "Consolidatable"]  # fmt: skip
        claim["status"]["lastPodEventTime"] = c.at("4m")
        spec = {"nodeSelector": {"team": "jobs"}, "restartPolicy": "Never"}
        pod = add_pod(c, "batch", f"settle-{number}-x7k2m", node=pair, age="2h50m", cpu="3", memory="9Gi", annotations=PROTECTED, spec=spec, phase="Succeeded")  # fmt: skip
        pod["status"]["containerStatuses"][0]["state"]["terminated"]["finishedAt"] = c.at("4m")
    fleet(c, "general", "orders/cart", 3)
