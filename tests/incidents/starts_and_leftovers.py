"""Pods that start slowly, not at all or end never, and nodes that are short-lived on purpose."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import big_fleet, nominated, usual
from tests.incidents.incident import ICE, LAUNCHES, incident, n, quiet
from tests.incidents.node_lives import add_node_events
from tests.incidents.node_objects import add_node, both
from tests.incidents.objects import condition, suffix
from tests.incidents.pods import SELECTOR, add_daemonset, add_pod, add_workload, no_node, waiting
from tests.incidents.pools import add_nodeclass, add_pool
from tests.incidents.revisions import PENDING, SMALL, _revision
from tests.incidents.settings import two_budgets_for_one_pod
from tests.incidents.workloads import crash, not_ready
from tests.incidents.workloads_together import not_ready_since


@quiet(
    story="Four pods load a model of 140 GB. Their startup probe allows 40 minutes (160 failures of 15 seconds); 11 minutes have passed. Nothing is wrong.",
    cause="pods load a model, within the time of their startup probe.",
    thread="vllm-project/vllm#13219",
    must_not=[PENDING, "crash", "readiness probe"],
)
def fine_models_are_loading(c: Cluster) -> None:
    usual(c, 5)
    add_pool(c, "gpu", families=("g5",), sizes=("2xlarge",))
    hosts = [add_node(c, "gpu", "g5.2xlarge", c.zones[i % 3], gpus=1, age="14m") for i in range(4)]
    pods = add_workload(
        c, "ml/llm", on=hosts, age="11m", cpu="4", memory="20Gi", requests={"nvidia.com/gpu": "1"}, pool="gpu"
    )
    for pod in pods:
        not_ready_since(pod, c.at("11m"))
        pod["status"]["containerStatuses"][0]["started"] = False
        pod["status"]["containerStatuses"][0]["state"] = {"running": {"startedAt": c.at("10m")}}
        pod["spec"]["containers"][0]["startupProbe"] = {
            "httpGet": {"path": "/health", "port": 8000},
            "periodSeconds": 15,
            "failureThreshold": 160,
            "timeoutSeconds": 1,
            "successThreshold": 1,
        }
        c.event(
            pod,
            "Unhealthy",
            'Startup probe failed: Get "http://10.24.8.17:8000/health": dial tcp 10.24.8.17:8000: connect: connection refused',
            last="4s",
            first="10m",
            count=40,
            source="kubelet",
        )


@quiet(
    story="A rollout of a model server: three old pods serve, two new ones load their model for 18 minutes (startup probe of 40 minutes).",
    cause="new pods load a model while the old ones serve.",
    thread="vllm-project/vllm#13219",
    must_not=[PENDING, "crash"],
)
def fine_new_revision_is_loading(c: Cluster) -> None:
    hosts = usual(c, 5)
    add_workload(c, "ml/llm", on=hosts[:3], age="9d", **SMALL)
    for pod in _revision(c, "ml/llm", 2, hosts, "18m"):
        not_ready_since(pod, c.at("18m"))
        pod["status"]["containerStatuses"][0]["started"] = False


@incident(
    story="The controller of the GitHub runners was uninstalled five hours ago, its runner pods were deleted with it. Six pods keep the finalizer actions.summerwind.dev/runner-pod, which only the controller removes. Their nodes are gone.",
    cause="6 pods of ci/runner have been terminating for 5 hours on nodes that are gone: their finalizer actions.summerwind.dev/runner-pod is not removed.",
    thread="actions/actions-runner-controller#3010",
    must=["ci/runner", n(6), "finalizer|actions.summerwind.dev", r"5 ?h|4h5\d|terminating"],
    must_not=[LAUNCHES, PENDING, ICE, "kubelet (is )?silent|detach"],
)
def finalizers_of_runners_stay(c: Cluster) -> None:
    usual(c, 6)
    for i in range(6):
        pod = add_pod(
            c,
            "ci",
            f"runner-{suffix('ci', i)}",
            age="9h",
            deleting="5h",
            labels={"app": "runner"},
            node=None,
            scheduled=False,
        )
        pod["metadata"]["finalizers"] = ["actions.summerwind.dev/runner-pod"]
        pod["metadata"]["deletionGracePeriodSeconds"] = 0
        pod["spec"]["nodeName"] = f"ip-10-24-99-{20 + i}.ec2.internal"
        pod["status"] = {
            "phase": "Failed",
            "reason": "NodeLost",
            "startTime": c.at("9h"),
            "conditions": [
                condition("DisruptionTarget", "True", c.at("5h"), "DeletionByPodGC", "PodGC: node no longer exists"),
                condition("PodScheduled", "True", c.at("9h")),
                condition("Ready", "False", c.at("5h"), "PodFailed"),
            ],
        }


@incident(
    story="The image of edge/inspect is baked into the AMI and has imagePullPolicy Never. The AMI of yesterday was built without it: on the 3 nodes that drift has replaced so far the pod cannot start, on the old ones it runs.",
    cause="3 pods of edge/inspect have not started on nodes with the new image: their image is not on the node, and imagePullPolicy is Never.",
    thread="kubernetes/kubernetes#45487",
    must=["edge/inspect", n(3), r"ErrImageNeverPull|Never|not (present|on)", r"new|image"],
    must_not=[LAUNCHES, PENDING, "registry|cannot be pulled|401"],
)
def baked_image_is_missing(c: Cluster) -> None:
    old = usual(c, 8)
    fresh = [add_node(c, "general", "m6i.xlarge", zone, age="90m") for zone in c.zones]
    for pair in fresh:
        both(pair)[0]["status"]["nodeInfo"]["osImage"] = "Amazon Linux 2023.11.20261118"
    pods = add_workload(c, "edge/inspect", on=[*old[:5], *fresh], age="80m", image="edge/inspect:7", **SMALL)
    for pod in pods:
        pod["spec"]["containers"][0]["imagePullPolicy"] = "Never"
    for pod in pods[5:]:
        not_ready(pod)["state"] = {
            "waiting": {
                "reason": "ErrImageNeverPull",
                "message": 'Container image "edge/inspect:7" is not present with pull policy of Never',
            }
        }
        pod["status"]["phase"] = "Pending"
        c.event(
            pod,
            "ErrImageNeverPull",
            'Container image "edge/inspect:7" is not present with pull policy of Never',
            last="5s",
            first="79m",
            count=370,
            source="kubelet",
        )
        c.event(pod, "Failed", "Error: ErrImageNeverPull", last="5s", first="79m", count=370, source="kubelet")


@incident(
    story="Karpenter's EC2NodeClass kept its role, but it has lost AmazonEKS_CNI_Policy: aws-node crashes on the three new nodes, whose network plugin is not ready for 12 minutes.",
    cause="3 nodes of general have not initialized for 12 minutes: their network plugin is not ready, aws-node crashes on them (exit code 1).",
    thread="aws/amazon-vpc-cni-k8s#2421",
    must=["aws-node", n(3), r"12 ?m|11m", r"crash|exit code|restart|not ready"],
    must_not=[ICE],
)
def new_nodes_without_the_cni_policy(c: Cluster) -> None:
    usual(c, 5)
    text = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized"
    fresh = [
        add_node(
            c,
            "general",
            "m6i.xlarge",
            zone,
            age="12m",
            stage="Registered",
            ready=("False", "KubeletNotReady", text),
            uninitialized=("NodeNotReady", "Node status is NotReady"),
            without=["aws-node"],
        )
        for zone in c.zones
    ]
    agent = c.find("DaemonSet", "aws-node")
    template = next(t for m, t in c.daemonsets if m is agent)
    for pair in fresh:
        pod = add_pod(c, "kube-system", f"aws-node-{suffix(pair.name)}", node=pair, parent=agent, age="11m", **template)
        crash(c, pod, code=1, restarts=6, ago="90s")
    pods = waiting(c, "orders/checkout", 6, "13m")
    nominated(c, pods, fresh, last="30s", count=4)


@quiet(
    story="A CI cluster: Jobs come in bursts, each node lives for 25 minutes, works and is removed when it is empty. 9 nodes were launched and removed in the last hour.",
    cause="CI nodes come and go with their Jobs.",
    thread="kubernetes-sigs/karpenter#735",
    must_not=[PENDING, "churn|loop"],
)
def fine_ci_nodes_come_and_go(c: Cluster) -> None:
    usual(c, 3)
    add_pool(c, "ci", disruption={"consolidationPolicy": "WhenEmpty", "consolidateAfter": "2m"})
    for i in range(9):
        add_node_events(c, "ci", i, last=60 + 240 * i, lived=1500, reason="Empty/Delete")
    hosts = [add_node(c, "ci", "m6i.xlarge", zone, age="7m") for zone in c.zones]
    for i in range(3):
        add_workload(c, f"ci/build-{812 + i}", kind="Job", on=hosts, age=f"{6 - i}m", cpu="1", memory="2Gi")


@quiet(
    story="A surge this morning: Karpenter launched five nodes within a minute, and consolidated all of them within three minutes 22 minutes later. It happened once.",
    cause="five nodes of one surge were removed after it.",
    thread="kubernetes-sigs/karpenter#2705",
    must_not=[PENDING, "loop|again"],
)
def fine_one_surge_of_five_nodes(c: Cluster) -> None:
    usual(c, 7, disruption={"consolidateAfter": "2m"})
    for i in range(5):
        add_node_events(c, "general", i, last=900 + 35 * i, lived=1320, reason="Underutilized/Delete")


@quiet(
    story="The vault Deployment was scaled from two to five replicas. It selects the managed node group, whose two nodes are full; the Cluster Autoscaler has triggered a third node for two of the pods 35 seconds ago, and the newest pod is 8 seconds old.",
    cause="the Cluster Autoscaler adds a node to the full node group that pods select.",
    thread="kubernetes/autoscaler#5394",
    must_not=["stuck", "does not manage", LAUNCHES],
)
def fine_full_node_group_grows(c: Cluster) -> None:
    usual(c, 5)
    add_workload(c, "kube-system/cluster-autoscaler", on=c.system[:1], cpu="20m", memory="100Mi", age="60d", image="registry.k8s.io/autoscaling/cluster-autoscaler:v1.35.0")  # fmt: skip
    spec = {"nodeSelector": {"eks.amazonaws.com/nodegroup": "system"}}
    text = no_node({"Insufficient memory": 2, SELECTOR: 5})
    pods = add_workload(c, "ops/vault", on=c.system, pending=3, pending_since="50s", message=text, cpu="300m", memory="5Gi", spec=spec)  # fmt: skip
    pods[-1]["metadata"]["creationTimestamp"] = c.at("8s")
    for pod in pods[2:4]:
        text = "pod triggered scale-up: [{eks-system-9ac1f2 2->3 (max: 6)}]"
        c.event(pod, "TriggeredScaleUp", text, last="35s", kind="Normal", source="cluster-autoscaler")


@incident(
    story="Two charts bring a PodDisruptionBudget for the same pods of cache/redis, so two nodes that drifted three days ago stay. Right now another node is starting, so that Karpenter considers no consolidation.",
    cause="Two PodDisruptionBudgets (cache/redis, cache/redis-platform) select the same pods, so the drift of 2 nodes of general waits for 3 days.",
    thread="kubernetes/kubernetes#75957",
    must=["cache/redis", "cache/redis-platform", "drift", n(2), r"\b3 ?d|7[12] ?h"],
    must_not=[PENDING, "allows no eviction now"],
    first=1,
)
def two_budgets_while_a_node_starts(c: Cluster) -> None:
    two_budgets_for_one_pod(c)
    add_node(c, "general", "m6i.xlarge", c.zones[0], age="35s", stage="Launched")


@quiet(
    story="The drift of a large NodePool is under way since four hours; 30 of 44 nodes are left. Right now a node for other pods is starting, launched 35 seconds ago: Karpenter counts on its room, and begins no disruption against a node that is not initialized.",
    cause="drift continues as soon as the starting node is initialized.",
    thread="kubernetes-sigs/karpenter#2984",
    must_not=[PENDING, "stuck", "nowhere", "no NodePool"],
)
def fine_drift_waits_for_a_starting_node(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    add_daemonset(c, "obs", "agent", cpu="50m", memory="100Mi")
    big_fleet(c, "general", 30, age="21d", drifted="4h")
    big_fleet(c, "general", 14, age="3h20m", part="new")
    add_node(c, "general", "m6i.2xlarge", c.zones[0], age="35s", stage="Launched")
