"""Two faults at once: the worse must come first."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.disruption import both
from tests.incidents.fleets import CPU, MEMORY, fleet, unschedulable, usual
from tests.incidents.incident import LAUNCHES, ROOM, incident, n, order_of
from tests.incidents.node_objects import add_node
from tests.incidents.nodeclasses import waits
from tests.incidents.pods import add_pdb, add_workload
from tests.incidents.pools import add_karpenter, add_nodeclass, add_pool


@incident(
    story="The pool general has reached its memory limit, and five pods wait for 44 minutes. Beside that, the budget of the Vault "
    "pods has blocked the drift of three nodes since yesterday: nobody suffers from it yet.",
    cause="NodePool general is at its limit of 64Gi memory and 5 pods are pending; less urgent, the PodDisruptionBudget "
    "payments/vault blocks the drift of 3 nodes.",
    thread="JiRaska/open-bank-oss#3570",
    must=[["limit"], ["general"], [n(5), r"\bfive\b"], ["vault"], ["drift"]],
    must_not=[LAUNCHES, ROOM],
    other=[order_of("limit", "vault")],
)
def limit_and_budget(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general", limits={"memory": "64Gi"})
    taint = {"key": "dedicated", "value": "vault", "effect": "NoSchedule"}
    add_pool(c, "vault", template={"taints": [taint]})
    fleet(c, "general", "orders", "storefront", 4)
    pairs = [add_node(c, "vault", "m6i.xlarge", zone, drifted="26h", age="17d") for zone in c.zones]
    tolerations = [{"key": "dedicated", "operator": "Equal", "value": "vault", "effect": "NoSchedule"}]
    add_workload(
        c,
        "StatefulSet",
        "payments",
        "vault",
        on=pairs,
        age="16d",
        cpu="3",
        memory="10Gi",
        spec={"tolerations": tolerations},
    )
    add_pdb(c, "payments", "vault", "vault", healthy=3, desired=3, expected=3, maxUnavailable=0)
    text = "Pdb prevents pod evictions (PodDisruptionBudget=[payments/vault])"
    for pair in pairs:
        for one in both(pair):
            c.event(one, "DisruptionBlocked", text, last="1m", first="58m", count=28, kind="Normal")
    pods = add_workload(
        c,
        "Deployment",
        "orders",
        "checkout",
        pending=5,
        pending_since="44m",
        cpu=CPU,
        memory=MEMORY,
        message="0/9 nodes are available: 3 node(s) had untolerated taint {dedicated: vault}, 6 Insufficient cpu. preemption: 0/9 "
        "nodes are available: 3 Preemption is not helpful for scheduling, 6 No preemption victims found for incoming pod.",
    )
    error = (
        "all available instance types exceed limits for nodepool (NodePool=general); did not tolerate taint "
        "(taint=dedicated=vault:NoSchedule)"
    )
    unschedulable(c, pods, error, minutes=44)


@incident(
    story="Twelve pods select a node label that no pool has, for an hour. One of Karpenter's two replicas is Pending as well, "
    "because its node group has one node less; the other leads, and all goes on.",
    cause="12 pods of bi/etl select the label disk-tier, which no NodePool has; less urgent, 1 of 2 Karpenter replicas is pending.",
    thread="aws/karpenter-provider-aws#7535",
    must=[
        ["disk-tier"],
        [n(12), r"\btwelve\b"],
        [r"karpenter.{0,60}(1 of 2|1/2|one of|replica|standby)|(1 of 2|1/2|one of|replica|standby).{0,60}karpenter"],
    ],
    must_not=[r"karpenter (itself )?(is|has been) (down|stopped)", LAUNCHES],
    other=[order_of("disk-tier", r"1 of 2|1/2|one of|replica|standby")],
    karpenter_runs=False,
)
def label_and_one_replica(c: Cluster) -> None:
    usual(c)
    full = c.system[1]
    add_workload(c, "Deployment", "kube-system", "metrics-server", on=[full], cpu="1200m", memory="1Gi", age="40d")
    add_karpenter(
        c,
        on=c.system[:1],
        pending=1,
        pending_since="6h",
        message="0/6 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match pod anti-affinity rules, 4 node(s) didn't "
        "match Pod's node affinity/selector. preemption: 0/6 nodes are available: 2 No preemption victims found for incoming "
        "pod, 4 Preemption is not helpful for scheduling.",
    )
    pods = add_workload(
        c,
        "Deployment",
        "bi",
        "etl",
        pending=12,
        pending_since="61m",
        cpu="1",
        memory="2Gi",
        spec={"nodeSelector": {"disk-tier": "nvme"}},
        message=waits(6, 0),
    )
    unschedulable(c, pods, 'incompatible requirements, label "disk-tier" does not have known values', minutes=60)
