"""Everyday states of clusters in which nothing is wrong."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import fleet, nominated, usual
from tests.incidents.incident import LAUNCHES, quiet
from tests.incidents.node_objects import add_node, both, cordon
from tests.incidents.objects import condition, owner, uid
from tests.incidents.pods import add_pdb, add_pod, add_volume, add_workload, waiting
from tests.incidents.pools import add_pool

STUCK = r"stuck|never"


@quiet(
    story="Two pods of a Fargate profile were created 50 seconds ago. Fargate starts a node for each, which takes about a minute; Karpenter has nothing to do with them.",
    cause="two pods start on Fargate, which takes a minute.",
    thread="aws/containers-roadmap#2654",
    must_not=[STUCK, LAUNCHES, r"fargate-scheduler[^\n]{0,40}(not run|does not)", r"no NodePool"],
)
def fine_fargate_pods_start(c: Cluster) -> None:
    usual(c)
    labels = {"app.kubernetes.io/name": "reports", "eks.amazonaws.com/fargate-profile": "finance"}
    waiting(c, "finance/reports", 2, "50s", labels=labels, scheduled=False, spec={"schedulerName": "fargate-scheduler"})


@quiet(
    story="NodePool general has 96 of its limit of 100 cores. All pods run, and one more node of four cores may still be launched.",
    cause="a NodePool is close to its limit, and no pod is pending.",
    thread="kubernetes-sigs/karpenter#2657",
    must_not=[r"\b(is|are) at (its|their) limit|limit (is )?reached", STUCK, r"\d+ pods? pending"],
)
def fine_limit_nearly_reached(c: Cluster) -> None:
    usual(c, 24, limits={"cpu": "100"})


@quiet(
    story="kubectl get of nodes, NodeClaims, NodePools, pods and workloads by a reader who may not list EC2NodeClasses. Nothing is wrong.",
    cause="kubectl's lists show a cluster without a fault; EC2NodeClasses are not among them.",
    thread="kubernetes-sigs/karpenter#2989",
    must_not=[r"NodeClass[^\n]{0,50}(not exist|missing|not found|deleted)", r"launch(es)? nothing", STUCK, r"karpenter is not running"],
    listed=("Node", "NodeClaim", "NodePool", "Pod", "Deployment", "ReplicaSet", "DaemonSet"),
)  # fmt: skip
def fine_lists_without_a_class(c: Cluster) -> None:
    usual(c, 6)
    add_pool(c, "spot", capacity=("spot",), weight=20)
    fleet(c, "spot", "orders/thumbnails", 3, capacity="spot", age="31h")


@quiet(
    story="The gate NodeOverlay is on, and an overlay tells Karpenter that nodes have smarter-devices/fuse. Builds with that device run on two nodes, and a third node for two more builds was launched 25 seconds ago.",
    cause="a NodeOverlay adds a device that builds use, and the next node starts.",
    thread="kubernetes-sigs/karpenter#1305",
    must_not=[r"fuse", r"overlay", STUCK, LAUNCHES],
    settings={"FEATURE_GATES": "NodeOverlay=true"},
)
def fine_overlay_adds_a_device(c: Cluster) -> None:
    usual(c)
    everything = {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}
    ready = [condition(item, "True", c.at("20d")) for item in ("ValidationSucceeded", "Ready")]
    c.add(
        "NodeOverlay",
        "fuse",
        age="20d",
        spec={"requirements": [everything], "capacity": {"smarter-devices/fuse": "20"}},
        status={"conditions": ready},
    )
    wants = {"smarter-devices/fuse": "1"}
    pairs = [add_node(c, "general", "m6i.xlarge", zone, age="3h") for zone in c.zones[:2]]
    for pair in pairs:
        for manifest in both(pair):
            for key in ("capacity", "allocatable"):
                manifest["status"][key]["smarter-devices/fuse"] = "20"
    add_workload(c, "ci/kaniko", on=pairs, count=6, age="40m", requests=wants)
    fresh = add_node(c, "general", "m6i.xlarge", c.zones[2], age="25s", stage="Launched")
    pods = waiting(c, "ci/buildah", 2, "32s", requests=wants)
    nominated(c, pods, [fresh], last="20s")


@quiet(
    story="The node of Karpenter's leader was replaced by an update of the node group. The other replica took the lease 40 seconds ago, and the first one's successor runs for 30 seconds.",
    cause="Karpenter's other replica has just become the leader.",
    thread="aws/karpenter-provider-aws#6068",
    must_not=[r"no leader|not running|\b1 of 2\b", STUCK, "restart|crash"],
)
def fine_leader_has_just_changed(c: Cluster) -> None:
    usual(c, 5)
    pods = [item for item in c.objects if item["kind"] == "Pod" and item["metadata"]["name"].startswith("karpenter-")]
    c.objects.remove(pods[0])
    parent = next(
        item for item in c.objects if item["kind"] == "ReplicaSet" and item["metadata"]["name"].startswith("karpenter-")
    )
    add_pod(
        c, "kube-system", f"{parent['metadata']['name']}-n7w2k", node=c.system[0], parent=parent, age="50s", cpu="1", memory="1Gi",
        labels=pods[0]["metadata"]["labels"], container="controller",
    )  # fmt: skip
    lease = c.find("Lease", "karpenter-leader-election")
    lease["spec"] |= {
        "holderIdentity": f"{pods[1]['metadata']['name']}_{uid('second')}",
        "acquireTime": c.at("40s"),
        "renewTime": c.at("1s"),
        "leaseTransitions": 15,
    }


@quiet(
    story="The control plane was upgraded to 1.36 yesterday. The AMI is pinned, so no node is drifted: they keep the kubelet of 1.35, and the node group one of 1.34, which Kubernetes supports.",
    cause="kubelets are one or two versions older than the control plane, and no node is drifted.",
    thread="aws/karpenter-provider-aws#5594",
    must_not=["drift", "upgrade|outdated", STUCK],
)
def fine_kubelets_of_two_versions(c: Cluster) -> None:
    usual(c, 7)
    for pair in c.system:
        pair.status["nodeInfo"]["kubeletVersion"] = "v1.34.9-eks-1a2b3c4"


@quiet(
    story="An engineer drains a node by hand to look at its disk: cordoned four minutes ago, its three pods were evicted and run on a node that Karpenter launched for them. Only DaemonSet pods are left on it.",
    cause="an engineer has drained a node a few minutes ago.",
    thread="kubernetes-sigs/karpenter#2802",
    must_not=[STUCK, r"for \d+ ?(h|d)\b", r"\d+ pods? pending", "not ready"],
)
def fine_drained_by_hand(c: Cluster) -> None:
    usual(c, 5)
    going = add_node(c, "general", "m6i.xlarge", c.zones[0], age="6d")
    cordon(c, going, "4m")
    states = both(going)[1]["status"]["conditions"]
    states[:] = [state for state in states if state["type"] != "Consolidatable"]
    fresh = add_node(c, "general", "m6i.xlarge", c.zones[1], age="3m40s")
    pods = add_workload(c, "orders/catalog", on=[fresh], count=3, age="150s")
    prefix = pods[0]["metadata"]["name"][:-6]
    for number in range(3):
        meta = dict(pods[0]["metadata"], name=f"{prefix}-old{number:02}", uid=uid(c.name, "old", number))
        c.event({"apiVersion": "v1", "kind": "Pod", "metadata": meta}, "Killing", "Stopping container app", last="230s", kind="Normal", source="kubelet")  # fmt: skip


@quiet(
    story="A test environment is scaled to zero at night: Deployments and a StatefulSet have no replicas, their PodDisruptionBudgets have no pods, their volumes stay. Two NodePools have no nodes, one has two.",
    cause="a test environment is scaled to zero for the night.",
    thread="devantler-tech/platform#1880",
    must_not=["PodDisruptionBudget|PDB", STUCK, r"no replicas|\b0 of \d", "volume"],
)
def fine_scaled_to_zero_for_the_night(c: Cluster) -> None:
    usual(c, 2)
    add_pool(c, "data", families=("r6i",))
    add_pool(c, "batch", capacity=("spot",), disruption={"consolidationPolicy": "WhenEmpty"})
    for name in ("test/api", "test/web", "test/search"):
        add_workload(c, name, count=0, replicas=0)
        add_pdb(c, "test", name[5:], name[5:], healthy=0, desired=0, expected=0, minAvailable=1)
    add_workload(c, "test/pg", kind="StatefulSet", count=0, replicas=0)
    for number, zone in enumerate(c.zones):
        add_volume(c, "test", f"data-pg-{number}", zone)


@quiet(
    story="One NodePool launches amd64 and arm64, and a service with an image for both runs on both. One of its pods on arm64 restarted twice yesterday, when its database was down.",
    cause="a service runs on amd64 and arm64; a restart was yesterday.",
    thread="aws/karpenter-provider-aws#6527",
    must_not=["arm64|architecture", "crash|restart", STUCK],
)
def fine_both_architectures(c: Cluster) -> None:
    usual(c, arch=("amd64", "arm64"), families=("m6i", "m7g"))
    hosts = [add_node(c, "general", kind, c.zones[0], age="4d") for kind in ("m6i.xlarge", "m7g.xlarge")]
    pods = add_workload(c, "shop/pricing", on=hosts, count=6, age="3d")
    ended = {"reason": "Error", "exitCode": 1, "startedAt": c.at("27h"), "finishedAt": c.at("26h")}
    state = {"state": {"running": {"startedAt": c.at("26h")}}, "lastState": {"terminated": ended}, "restartCount": 2}
    pods[1]["status"]["containerStatuses"][0] |= state


@quiet(
    story="A Deployment is being rolled out with a surge of a quarter: its two new pods were scheduled to a node that joined a minute ago and pull their image for 25 seconds; the old pods run until they are ready.",
    cause="a Deployment is being rolled out on a node that has just joined.",
    thread="kubernetes-sigs/karpenter#1826",
    must_not=[STUCK, LAUNCHES, r"cannot start|(does|do|did) not start", r"\d+ of \d+ (pods|replicas)"],
)
def fine_rollout_with_a_surge(c: Cluster) -> None:
    usual(c)
    hosts = [add_node(c, "general", "m6i.xlarge", zone, age="5d") for zone in c.zones]
    add_workload(c, "shop/cart", on=hosts, count=8, age="4d")
    fresh = add_node(c, "general", "m6i.xlarge", c.zones[0], age="95s")
    deployment = c.find("Deployment", "cart")
    deployment["status"] |= {"replicas": 10, "updatedReplicas": 2, "unavailableReplicas": 2}
    labels = {"app.kubernetes.io/name": "cart", "pod-template-hash": "5c8b9d7f64"}
    parent = c.add(
        "ReplicaSet", "cart-5c8b9d7f64", "shop", age="2m", labels=labels, ownerReferences=[owner(deployment)],
        spec={**deployment["spec"], "replicas": 2, "selector": {"matchLabels": labels}}, status={"replicas": 2, "readyReplicas": 0},
    )  # fmt: skip
    for ending in ("kx7wq", "p2m8d"):
        pod = add_pod(c, "shop", f"cart-5c8b9d7f64-{ending}", node=fresh, parent=parent, age="25s", labels=labels, waiting="ContainerCreating")  # fmt: skip
        text = 'Pulling image "registry.example/orders/app:2026.11"'
        c.event(pod, "Pulling", text, last="24s", kind="Normal", source="kubelet")


@quiet(
    story="GPUs are shared by time slicing: the device plugin offers nvidia.com/gpu.shared, and four notebooks per node request it. The NodePool has no taint; notebooks select it by label, so nothing else goes there.",
    cause="GPU nodes are shared by pods that request a slice.",
    thread="kubernetes-sigs/karpenter#729",
    must_not=[r"accelerator|GPU", STUCK, r"taint"],
)
def fine_shared_gpus(c: Cluster) -> None:
    usual(c)
    add_pool(c, "gpu", families=("g5",), sizes=("2xlarge",), weight=50, labels={"gpu": "shared"})
    pairs = [add_node(c, "gpu", "g5.2xlarge", c.zones[number], age="5d", gpus=1) for number in range(2)]
    for pair in pairs:
        for key in ("capacity", "allocatable"):
            pair.status[key] |= {"nvidia.com/gpu": "0", "nvidia.com/gpu.shared": "4"}
    add_workload(c, "ml/notebook", kind="StatefulSet", on=pairs, count=8, age="4d", cpu="1500m", memory="6Gi", requests={"nvidia.com/gpu.shared": "1"}, spec={"nodeSelector": {"gpu": "shared"}})  # fmt: skip


@quiet(
    story="Karpenter was installed an hour ago, and nobody has made a NodePool yet. Everything runs on the managed node group.",
    cause="Karpenter has just been installed and has no NodePool yet.",
    thread="aws/karpenter-provider-aws#5909",
    must_not=[STUCK, r"\d+ pods? pending", r"(was|were) deleted"],
)
def fine_no_nodepool_yet(c: Cluster) -> None:
    add_workload(c, "orders/storefront", on=c.system, age="3d", cpu="200m", memory="256Mi")
