"""Quiet clusters that resemble incidents: objects and events of passing states, and unusual installations."""

from __future__ import annotations

from typing import Any

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import NO_TYPE, big_fleet, fleet, nominated, refused, unschedulable, usual
from tests.incidents.incident import LAUNCHES, quiet
from tests.incidents.node_objects import add_node
from tests.incidents.pods import add_daemonset, add_pdb, add_pod, add_workload, refuse_pods, waiting
from tests.incidents.pools import add_nodeclass, add_pool
from tests.incidents.providers import rename

KWOK = {
    "karpenter.k8s.aws/ec2nodeclass": "karpenter.kwok.sh/kwoknodeclass",
    "karpenter.k8s.aws/instance-": "karpenter.kwok.sh/instance-",
    "karpenter.k8s.aws": "karpenter.kwok.sh",
    "EC2NodeClass": "KWOKNodeClass",
    "m6i.xlarge": "m-4x-amd64-linux",
    "us-east-1": "test-zone-",
    "aws:///": "kwok://",
    ".ec2.internal": "",
}


@quiet(
    story="A Job of forty pods started an hour ago in a namespace with a ResourceQuota. As always, some of its pods were refused for a second because the quota was being updated; all were created at the next try.",
    cause="creations of pods conflicted for a second with an update of the quota.",
    thread="kubernetes/kubernetes#67761",
    must_not=[r"cannot be created|none of|refus", r"\bpending\b"],
)
def fine_quota_was_being_updated(c: Cluster) -> None:
    usual(c, 8)
    add_workload(c, "batch/score", kind="Job", on=c.nodes[2:10], count=40, age="58m", cpu="20m", memory="50Mi")
    text = 'Error creating: Operation cannot be fulfilled on resourcequotas "compute": the object has been modified; please apply your changes to the latest version and try again'
    refuse_pods(c, "score", text, first="58m", last="3m", count=9)


@quiet(
    story="A preview environment was scaled down while its pods were still pending: six pods without a node have been marked for deletion ten seconds ago.",
    cause="pods that never got a node are being deleted.",
    thread="kubernetes-sigs/karpenter#1135",
    must_not=[r"stuck|never", r"6 pods?[^\n]{0,40}pending", LAUNCHES],
)
def fine_pending_pods_are_deleted(c: Cluster) -> None:
    usual(c)
    waiting(c, "preview/web", 6, "4m", replicas=0, deleting="10s")


@quiet(
    story="A lab with Karpenter's kwok provider: 60 nodes that exist as objects only, with fake instance types. Everything is as it should be.",
    cause="Karpenter manages fake nodes of kwok, and all are fine.",
    thread="kubernetes-sigs/karpenter#1024",
    must_not=[r"EC2|AWS", r"unknown|not known|does not know", r"\bNotReady\b|not ready"],
    settings={"CLUSTER_NAME": "kwok-lab"},
)
def fine_kwok_lab(c: Cluster) -> None:
    manifest = add_nodeclass(c)
    manifest["spec"], manifest["status"] = {}, {"conditions": manifest["status"]["conditions"][-1:]}
    add_pool(c, "default", families=(), sizes=(), capacity=("on-demand", "spot"))
    fleet(c, "default", "load/pause", 60, age="5h")
    rename(c.objects, KWOK)


@quiet(
    story="A node registered eight seconds ago and still has the taint of the cloud provider, which the cloud controller removes within half a minute; three pods are nominated to it.",
    cause="a new node has the usual taints for half a minute.",
    thread="aws/karpenter-provider-aws#1109",
    must_not=[r"stays|never|stuck", LAUNCHES, r"untolerated|does not tolerate"],
)
def fine_cloud_taint_for_seconds(c: Cluster) -> None:
    usual(c, 9)
    taint = {"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"}
    why = (
        "KnownEphemeralTaintsExist",
        'KnownEphemeralTaint "node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule" still exists',
    )
    fresh = add_node(
        c, "general", "m6i.xlarge", c.zones[2], age="48s", stage="Registered", uninitialized=why, taints=[taint]
    )
    nominated(c, waiting(c, "orders/checkout", 3, "55s"), [fresh], last="45s")


@quiet(
    story="A static NodePool for load tests is scaled to 0 replicas until next week. It is ready and has no nodes.",
    cause="a static NodePool has no replicas on purpose.",
    thread="kubernetes-sigs/karpenter#749",
    must_not=[r"loadtest[^\n]{0,60}(launches none|launches nothing|short|of its)", "gate"],
    settings={"FEATURE_GATES": "StaticCapacity=true"},
)
def fine_static_pool_at_zero(c: Cluster) -> None:
    usual(c, 5)
    add_pool(c, "loadtest", replicas=0, limits={"nodes": "20"})


@quiet(
    story="An update of the DaemonSet node-exporter advances node by node. On one of 22 nodes the new pod waits four seconds for the port of the old one, which is terminating.",
    cause="a DaemonSet is being updated, a node at a time.",
    thread="prometheus-community/helm-charts#467",
    must_not=[r"stuck|never", r"does not fit|do not fit", r"host port[^\n]{0,60}every node"],
)
def fine_daemonset_is_updated(c: Cluster) -> None:
    usual(c, 20)
    parent = add_daemonset(
        c,
        "monitoring",
        "node-exporter",
        cpu="20m",
        memory="30Mi",
        spec={"ports": [{"containerPort": 9100, "hostPort": 9100}]},
    )
    host = c.nodes[7]
    host.without = ("node-exporter",)
    place = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [host.name]}]}
                ]
            }
        }
    }
    pod: dict[str, Any] = {
        "parent": parent,
        "cpu": "20m",
        "memory": "30Mi",
        "labels": {"app.kubernetes.io/name": "node-exporter"},
    }
    ports = [{"containerPort": 9100, "hostPort": 9100}]
    add_pod(
        c,
        "monitoring",
        "node-exporter-7x2kq",
        node=host,
        age="20d",
        deleting="5s",
        spec={"tolerations": [{"operator": "Exists"}], "ports": ports},
        **pod,
    )
    text = "0/22 nodes are available: 1 node(s) didn't have free ports for the requested pod ports, 21 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    add_pod(
        c,
        "monitoring",
        "node-exporter-k8v5d",
        age="4s",
        message=text,
        spec={"tolerations": [{"operator": "Exists"}], "affinity": place, "ports": ports},
        **pod,
    )


@quiet(
    story="300 nodes in three pools. One is at 97 % of its limit, EC2 had no c7i for a quarter of an hour this morning, and pods of nightly jobs that ended are left over. Everything runs.",
    cause="a large cluster is busy, and every pod runs.",
    thread="aws/karpenter-provider-aws#6459",
    must_not=[r"[1-9]\d* pods?[^\n]{0,30} pending", r"at its limit|limit (is )?reached", "stuck"],
    karpenter_version="1.14.1",
)
def fine_three_hundred_nodes(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general", limits={"cpu": "824"})
    add_pool(c, "spot", capacity=("spot",), weight=20)
    add_pool(c, "stable", template={"expireAfter": "Never"})
    big_fleet(c, "general", 200)
    big_fleet(c, "spot", 80, part="spot", capacity="spot", age="7h")
    big_fleet(c, "stable", 18, part="core", age="71d")
    error = "InsufficientInstanceCapacity: We currently do not have sufficient c7i.2xlarge capacity in the Availability Zone you requested (us-east-1b)."
    refused(c, "spot", [error], [], every=3, times=5, last=44)
    for number in range(30):
        add_pod(c, "batch", f"nightly-29412{number:03}-xk2vw", node=c.nodes[9 + number], age="8h", phase="Succeeded")


@quiet(
    story="kubectl's lists with events, Karpenter 1.9. Five pods were unschedulable for a minute; their node joined three minutes ago and they run. The warnings of then are still there.",
    cause="warnings about pods that have got their node since are left over.",
    thread="aws/karpenter-provider-aws#4341",
    must_not=[r"\bpending\b", "unschedulable", LAUNCHES],
    karpenter_version="1.9.0",
    listed=(
        *("Node", "NodePool", "NodeClaim", "EC2NodeClass", "Pod", "Event", "Deployment", "ReplicaSet", "DaemonSet"),
        "PodDisruptionBudget",
    ),
)
def fine_warnings_of_the_scheduler_are_over(c: Cluster) -> None:
    usual(c, 6)
    add_pdb(c, "kube-system", "karpenter", "karpenter", healthy=2, desired=1, expected=2)
    fresh = add_node(c, "general", "m6i.2xlarge", c.zones[1], age="4m")
    pods = add_workload(c, "orders/checkout", on=[fresh], count=5, age="3m")
    for pod in pods:
        pod["metadata"]["creationTimestamp"] = c.at("5m")
        text = "0/8 nodes are available: 8 Insufficient cpu. preemption: 0/8 nodes are available: 8 No preemption victims found for incoming pod."
        c.event(pod, "FailedScheduling", text, last="4m30s", first="5m", count=2, source="default-scheduler")
    unschedulable(c, pods, NO_TYPE, minutes=5)
    nominated(c, pods, [fresh], last="4m")
