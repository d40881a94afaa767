"""Clusters in which something looks wrong and nothing is."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.disruption import both, conditions
from tests.incidents.fleets import CPU, MEMORY, fleet, usual, waiting
from tests.incidents.incident import LAUNCHES, ROOM, quiet
from tests.incidents.node_objects import add_group_node, add_node
from tests.incidents.objects import condition
from tests.incidents.pods import add_pdb, add_workload
from tests.incidents.pools import add_nodeclass, add_pool
from tests.incidents.second_look_healthy import rename
from tests.incidents.third_look import of_pool

GCP = {
    "karpenter.k8s.aws/ec2nodeclass": "karpenter.k8s.gcp/gcenodeclass",
    "karpenter.k8s.aws": "karpenter.k8s.gcp",
    "EC2NodeClass": "GCENodeClass",
    "m6i.xlarge": "n2-standard-4",
    "m6i.large": "n2-standard-2",
    "us-east-1a": "us-east1-b",
    "us-east-1b": "us-east1-c",
    "us-east-1c": "us-east1-d",
    "us-east-1": "us-east1",
    "ebs.csi.aws.com": "pd.csi.storage.gke.io",
    "ebs-csi-node": "pdcsi-node",
    "eks-pod-identity-agent": "gke-metadata-server",
    "aws-node": "netd",
    "eks.amazonaws.com/nodegroup": "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/capacityType": "cloud.google.com/gke-provisioning",
    "topology.k8s.aws/zone-id": "topology.gke.io/zone",
    ".ec2.internal": ".c.orders-prod.internal",
    "aws:///": "gce://orders-prod/",
}


@quiet(
    story="An export protected itself with do-not-disrupt for 30 minutes, 50 minutes ago: the protection has ended. Its three nodes drifted six minutes ago, and "
    "one is being replaced right now.",
    cause="the protection by do-not-disrupt has ended, and the drift advances.",
    thread="kubernetes-sigs/karpenter#701",
    must_not=["do-not-disrupt", "stuck|does not advance|no progress"],
)
def fine_protection_has_ended(c: Cluster) -> None:
    usual(c)
    add_pool(c, "exports", disruption={"budgets": [{"nodes": "1"}]})
    pairs = [add_node(c, "exports", "m6i.xlarge", zone, age="12d", drifted="6m") for zone in c.zones[:2]]
    going = add_node(c, "exports", "m6i.xlarge", c.zones[2], age="12d", drifted="6m", deleting="40s")
    conditions(going, condition("Drained", "Unknown", c.at("40s"), "Draining", "Draining"))
    pods = add_workload(
        c, "Job", "exports", "nightly", on=[*pairs, going], age="50m", cpu="3", memory="10Gi", annotations={"karpenter.sh/do-not-disrupt": "30m"},
        spec={**of_pool("exports"), "restartPolicy": "Never"},
    )  # fmt: skip
    for pod in pods:
        text = "The karpenter.sh/do-not-disrupt grace period has elapsed, pod is now disruptable"
        c.event(pod, "DoNotDisruptGracePeriodElapsed", text, last="19m", kind="Normal")
    fresh = add_node(c, "exports", "m6i.xlarge", c.zones[2], age="2m")
    for one in both(going):
        c.event(one, "DisruptionTerminating", f"Disrupting {one['kind']}: Drifted", last="41s", kind="Normal")
    assert fresh.claim is not None
    c.event(fresh.claim, "DisruptionLaunching", "Launching NodeClaim: Drifted", last="2m", kind="Normal")


@quiet(
    story="Spark pods name YuniKorn as their scheduler. It runs, and six executors have waited four minutes in its queue for the quota of their team, as they "
    "do each morning. Karpenter ignores them: they have no condition.",
    cause="six pods wait in the queue of their own scheduler, YuniKorn.",
    thread="kubernetes-sigs/karpenter#742",
    must_not=[LAUNCHES, ROOM, "stuck", r"yunikorn[^\n]{0,60}(down|not run|missing|not found)"],
)
def fine_queue_of_yunikorn(c: Cluster) -> None:
    usual(c, 7)
    add_workload(
        c, "Deployment", "yunikorn", "yunikorn-scheduler", on=c.system[:1], age="30d", cpu="200m", memory="512Mi",
        image="registry.example/apache/yunikorn:scheduler-1.7.0",
    )  # fmt: skip
    labels = {"applicationId": "spark-7f3a", "queue": "root.analytics"}
    pods = waiting(c, "spark/executor", 6, "4m", "", spec={"schedulerName": "yunikorn"}, scheduled=False, labels=labels)
    for pod in pods:
        text = f"spark/{pod['metadata']['name']} is queued and waiting for allocation"
        c.event(pod, "Scheduling", text, last="4m", kind="Normal", source="yunikorn")


@quiet(
    story="Three EKS Hybrid Nodes in the company's own data centre belong to the cluster beside Karpenter's nodes. Their pods have do-not-disrupt and a "
    "PodDisruptionBudget that allows no eviction; no method of Karpenter wants those nodes.",
    cause="protected pods run on three hybrid nodes, which Karpenter does not manage.",
    thread="pulumi/pulumi-eks#1512",
    must_not=["do-not-disrupt", r"PDB|PodDisruptionBudget|eviction", r"unknown instance type", r"plc-gateway"],
)
def fine_hybrid_nodes(c: Cluster) -> None:
    usual(c, 5)
    pairs = [add_group_node(c, "m6i.large", zone, age="120d") for zone in c.zones]
    for number, pair in enumerate(pairs):
        assert pair.node is not None
        labels = pair.node["metadata"]["labels"]
        for key in (
            "node.kubernetes.io/instance-type",
            "eks.amazonaws.com/nodegroup",
            "eks.amazonaws.com/capacityType",
        ):
            del labels[key]
        labels["eks.amazonaws.com/compute-type"] = "hybrid"
        pair.node["spec"]["providerID"] = f"eks-hybrid:///us-east-1/orders-prod/mi-0c41f9a7e2b8d35{number}"
    marks = {"karpenter.sh/do-not-disrupt": "true"}
    add_workload(
        c, "StatefulSet", "plant", "plc-gateway", on=pairs, age="90d", cpu="500m", memory="1Gi", annotations=marks
    )
    add_pdb(c, "plant", "plc-gateway", "plc-gateway", healthy=3, desired=3, expected=3, maxUnavailable=0)


@quiet(
    story="The nodes of the database pool never expire (expireAfter Never) and are 210 days old; their pods have do-not-disrupt. The pool is only consolidated "
    "when empty, and nothing has drifted.",
    cause="the nodes of a pool with expireAfter Never are old on purpose.",
    thread="aws/karpenter-provider-aws#6980",
    must_not=["do-not-disrupt", r"\bexpire[ds]?\b(?!After)", "stuck", r"210 ?d"],
    karpenter_version="1.14.1",
)
def fine_nodes_never_expire(c: Cluster) -> None:
    usual(c)
    add_pool(c, "databases", template={"expireAfter": "Never"}, disruption={"consolidationPolicy": "WhenEmpty"})
    pairs = [add_node(c, "databases", "m6i.2xlarge", zone, age="210d") for zone in c.zones]
    add_workload(
        c, "StatefulSet", "db", "oracle", on=pairs, age="209d", cpu="4", memory="20Gi", annotations={"karpenter.sh/do-not-disrupt": "true"}
    )  # fmt: skip


@quiet(
    story="Twelve spot nodes run one pod each that fills more than half of it. Cheaper spot types exist, but spot-to-spot consolidation is off by default, so "
    "the nodes stay: nothing is wrong with that.",
    cause="spot nodes stay as they are, because spot-to-spot consolidation is off by default.",
    thread="kubernetes-sigs/karpenter#2989",
    must_not=["do-not-disrupt", r"interrupt", "stuck|endanger"],
    karpenter_version="1.13.0",
)
def fine_spot_nodes_stay(c: Cluster) -> None:
    usual(c, 3)
    add_pool(c, "spot", capacity=("spot",), families=("m6i", "m6a", "c6i", "r6i"))
    pairs = [
        add_node(c, "spot", "m6i.xlarge", c.zones[number % 3], capacity="spot", age=f"{2 + number}h")
        for number in range(12)
    ]
    add_workload(
        c, "Deployment", "media", "transcode", on=pairs, age="90m", cpu="2200m", memory="5Gi", spec=of_pool("spot")
    )


@quiet(
    story="A cluster of 60 nodes gets a new AMI. Forty nodes of the pool web drifted 35 minutes ago; the budget of 10% lets Karpenter replace them a few at a "
    "time. Five replacements are ready, and two nodes are draining for 50 seconds.",
    cause="a large rollout advances at the rate its budget allows.",
    thread="kubernetes-sigs/karpenter#2705",
    must_not=["stuck|does not advance|no progress", "never", "do-not-disrupt"],
)
def fine_large_rollout(c: Cluster) -> None:
    add_nodeclass(c)
    for name in ("web", "data"):
        add_pool(c, name)
    fleet(c, "data", "orders", "ledger", 13, age="30h")
    fleet(c, "web", "orders", "storefront", 38, drifted="35m", age="9d")
    for number in range(2):
        going = add_node(c, "web", "m6i.xlarge", c.zones[number], drifted="35m", age="9d", deleting="50s")
        conditions(going, condition("Drained", "Unknown", c.at("50s"), "Draining", "Draining"))
        for one in both(going):
            c.event(one, "DisruptionTerminating", f"Disrupting {one['kind']}: Drifted", last="51s", kind="Normal")
    fresh = [add_node(c, "web", "m6i.xlarge", c.zones[number % 3], age=f"{31 - 7 * number}m") for number in range(5)]
    add_workload(c, "Deployment", "orders", "basket", on=fresh, count=15, age="2m", cpu=CPU, memory=MEMORY)
    for pair in fresh:
        assert pair.claim is not None
        age = pair.claim["metadata"]["creationTimestamp"]
        minutes = 31 - 7 * fresh.index(pair)
        assert age == c.at(f"{minutes}m")
        c.event(pair.claim, "DisruptionLaunching", "Launching NodeClaim: Drifted", last=f"{minutes}m", kind="Normal")


@quiet(
    story="A GKE cluster with the Karpenter provider for Google Cloud: the NodePool refers to a GCENodeClass, types and zones have Google's names. Nine nodes run.",
    cause="Karpenter manages nodes on Google Cloud, and all are fine.",
    thread="cloudpilot-ai/karpenter-provider-gcp#117",
    must_not=[r"EC2|\bAWS\b", r"(no|unknown) instance type", r"NodeClass[^\n]{0,60}(missing|not exist|not found)"],
    settings={"CLUSTER_NAME": "orders-gke"},
    karpenter_version="1.13.0",
)
def fine_gcp(c: Cluster) -> None:
    nodeclass = add_nodeclass(c)
    nodeclass["spec"] = {"imageSelectorTerms": [{"alias": "ContainerOptimizedOS@latest"}]}
    nodeclass["status"] = {"conditions": [condition(one, "True", c.at("60d")) for one in ("ImagesReady", "Ready")]}
    add_pool(c, "default", families=(), sizes=())
    fleet(c, "default", "orders", "storefront", 9)
    for pair in c.nodes:
        for one in filter(None, (pair.node, pair.claim)):
            labels = one["metadata"]["labels"]
            for key in [*labels]:
                if key.startswith("karpenter.k8s.aws/instance"):
                    del labels[key]
    rename(c.objects, GCP)
    for pair in c.nodes:
        pair.zone = rename(pair.zone, GCP)
