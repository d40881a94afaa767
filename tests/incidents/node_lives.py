"""Nodes that stay, drain, expire or churn for reasons beyond Karpenter: webhooks, autoscalers, queues, jobs and clouds."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import big_fleet, fleet, gone_claim, usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n
from tests.incidents.node_objects import NOT_READY, add_group_node, add_node, both, conditions, cordon
from tests.incidents.objects import condition, digest, uid
from tests.incidents.pods import add_pdb, add_queued, add_workload, no_node, waiting
from tests.incidents.pools import add_nodeclass, add_pool
from tests.incidents.providers import aks_pool, to_aks
from tests.incidents.workloads import crash

NONE_PENDING = r"[1-9]\d* pods?[^\n]{0,12} pending"
PDB = r"\bPDBs?\b|PodDisruptionBudget"


def add_scaler(c: Cluster, workload: str, *, low: int, high: int, now: int) -> None:
    """Add a HorizontalPodAutoscaler of a Deployment, which is at its minimum."""
    namespace, name = workload.split("/")
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    limited = condition("ScalingLimited", "True", c.at("40m"), "TooFewReplicas", "the desired replica count is less than the minimum replica count")  # fmt: skip
    active = condition("ScalingActive", "True", c.at("30d"), "ValidMetricFound", "the HPA was able to successfully calculate a replica count from cpu resource utilization (percentage of request)")  # fmt: skip
    spec = {"minReplicas": low, "maxReplicas": high, "scaleTargetRef": target}
    status = {"currentReplicas": now, "desiredReplicas": now, "conditions": [active, limited]}
    c.add("HorizontalPodAutoscaler", name, namespace, age="90d", spec=spec, status=status)


def add_node_events(c: Cluster, pool: str, number: int, *, last: int, lived: int, reason: str) -> None:
    """Add the events of a node that joined, and was removed ``lived`` seconds later and ``last`` seconds ago."""
    name = f"ip-10-24-92-{20 + number}.ec2.internal"
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": uid(c.name, name)}}
    joined = f"Node {name} event: Registered Node {name} in Controller"
    if last + lived < 3600:
        c.event(node, "RegisteredNode", joined, last=f"{last + lived}s", kind="Normal", source="node-controller")
    for manifest in (gone_claim(c, pool, number), node):
        text = f"Disrupting {manifest['kind']}: {reason}"
        c.event(manifest, "DisruptionTerminating", text, last=f"{last}s", kind="Normal")


@incident(
    story="Strimzi's Drain Cleaner answers evictions in namespace kafka by a webhook with failurePolicy Fail. Its only pod has crashed since an upgrade this morning, so the API server refuses each eviction of any pod: four expired nodes have been draining for three hours. No PodDisruptionBudget is involved.",
    cause="4 nodes of general have been draining for 3 hours: evictions fail, because the webhook strimzi-drain-cleaner on pods/eviction has no endpoint (its pod crashes).",
    thread="strimzi/drain-cleaner#76, Azure/AKS#4720",
    must=[n(4), r"drain|terminat|delet", r"\b3 ?h|2h5\d", r"drain-cleaner"],
    must_not=[ICE, r"do-not-disrupt (on|of|protects)", r"never allows? an eviction"],
    karpenter_version="1.14.2",
)
def evictions_meet_a_dead_webhook(c: Cluster) -> None:
    usual(c)
    cleaner = add_workload(c, "strimzi-drain-cleaner/strimzi-drain-cleaner", on=c.system[:1], age="3h20m", cpu="100m", memory="128Mi", container="strimzi-drain-cleaner")  # fmt: skip
    crash(c, cleaner[0], code=1, restarts=41, ago="2m")
    service = {"name": "strimzi-drain-cleaner", "namespace": "strimzi-drain-cleaner", "path": "/drainer", "port": 443}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods/eviction"], "scope": "Namespaced"}  # fmt: skip
    hook = {"name": "strimzi-drain-cleaner.strimzi.io", "failurePolicy": "Fail", "timeoutSeconds": 5, "rules": [rule], "clientConfig": {"service": service}}  # fmt: skip
    c.add("ValidatingWebhookConfiguration", "strimzi-drain-cleaner", age="200d", webhooks=[hook])
    old = [add_node(c, "general", "m6i.2xlarge", c.zones[i % 3], age="30d3h", deleting="3h2m") for i in range(4)]
    add_workload(c, "kafka/events", kind="StatefulSet", on=old, age="29d", cpu="3", memory="12Gi")
    add_workload(c, "shop/mail", on=old, count=8, age="20d", cpu="500m", memory="1Gi")
    for pair in old:
        conditions(pair, condition("Drained", "Unknown", c.at("3h1m"), "Draining", "Draining"))
        text = "Failed to drain node, 3 pods are waiting to be evicted"
        c.event(both(pair)[0], "FailedDraining", text, last="1m", first="59m", count=29)


@incident(
    story="A training run ended two days ago. On each of the four GPU nodes one pod of obs/log-router, a Deployment that tolerates everything, still runs. The pool removes only empty nodes (WhenEmpty), so four g5.2xlarge with idle GPUs stay.",
    cause="4 nodes of gpu with idle GPUs stay, because each runs a small pod of obs/log-router and the NodePool removes only empty nodes (WhenEmpty).",
    thread="kubernetes-sigs/karpenter#735",
    must=[n(4), r"\bgpu\b", r"WhenEmpty|only (removes |consolidates )?empty", r"stay|kept|not (removed|consolidated)|nearly empty|idle|never"],
    must_not=[LAUNCHES, NONE_PENDING, PDB, "do-not-disrupt"],
)  # fmt: skip
def idle_gpu_nodes_with_an_ordinary_pod(c: Cluster) -> None:
    usual(c, 6)
    taint = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
    add_pool(c, "gpu", families=("g5",), sizes=("2xlarge",), disruption={"consolidationPolicy": "WhenEmpty", "consolidateAfter": "5m"}, template={"taints": [taint]})  # fmt: skip
    hosts = [add_node(c, "gpu", "g5.2xlarge", c.zones[i % 3], gpus=1, age="6d") for i in range(4)]
    add_workload(c, "obs/log-router", on=hosts, age="6d", cpu="100m", memory="200Mi", spec={"tolerations": [{"operator": "Exists"}]})  # fmt: skip
    for pair in hosts:
        for manifest in both(pair):
            text = 'NodePool "gpu" has consolidation policy WhenEmpty, but node is not empty'
            c.event(manifest, "Unconsolidatable", text, last="7m", first="52m", count=4, kind="Normal")


@incident(
    story="The PodDisruptionBudget shop/front demands 6 available pods. Someone lowered minReplicas of the HorizontalPodAutoscaler to 5; at night five pods run, so no eviction is ever allowed, and the rollout of a new image has waited for nine hours on five nodes.",
    cause="PodDisruptionBudget shop/front wants 6 available pods and the HorizontalPodAutoscaler keeps 5, so no eviction is allowed and the drift of 5 nodes has waited for 9 hours.",
    thread="kubernetes/kubernetes#72320",
    must=["shop/front", PDB, n(5), r"drift", r"\b9 ?h|8h5\d|54\d ?m"],
    must_not=[LAUNCHES, NONE_PENDING, "do-not-disrupt"],
)
def autoscaler_goes_below_the_budget(c: Cluster) -> None:
    usual(c)
    add_pool(c, "web", labels={"team": "web"}, families=("m6i",))
    hosts = [add_node(c, "web", "m6i.xlarge", c.zones[i % 3], age="17d", drifted="9h") for i in range(5)]
    add_workload(c, "shop/front", on=hosts, age="10h", cpu="2", memory="6Gi", spec={"nodeSelector": {"team": "web"}})
    add_scaler(c, "shop/front", low=5, high=40, now=5)
    add_pdb(c, "shop", "front", "front", healthy=5, desired=6, expected=5, minAvailable=6)
    for pair in hosts:
        for manifest in both(pair):
            text = "Pdb prevents pod evictions (PodDisruptionBudget=[shop/front])"
            c.event(manifest, "DisruptionBlocked", text, last="90s", first="58m", count=28, kind="Normal")


@incident(
    story="A cluster of 90 nodes. A service began to look up thousands of names per second, and both CoreDNS pods exceed their memory limit of 70Mi: they are killed every few minutes (OOMKilled). Lookups fail everywhere; nothing else shows it.",
    cause="Both CoreDNS pods are killed again and again because they exceed their memory limit (OOMKilled, 23 restarts each), so names are resolved only at times.",
    thread="coredns/coredns#3388",
    must=["coredns", r"OOM|memory", r"2 of 2|both|all|" + n(2), r"restart|kill|crash"],
    must_not=[LAUNCHES, NONE_PENDING, ICE],
    karpenter_version="1.13.1",
)
def coredns_is_killed_for_memory(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    big_fleet(c, "general", 88)
    pods = [item for item in c.objects if item["kind"] == "Pod" and item["metadata"]["name"].startswith("coredns")]
    for pod in pods:
        crash(c, pod, code=137, restarts=23, ago="70s", reason="OOMKilled")
    c.find("Deployment", "coredns")["status"] |= {"readyReplicas": 0, "availableReplicas": 0, "unavailableReplicas": 2}


@incident(
    story="EKS updates the managed node group system to a new AMI. It cordoned the old node five hours ago and cannot evict auth/vault: its PodDisruptionBudget wants the one pod. EKS will give up with PodEvictionFailure. Karpenter's own nodes are fine.",
    cause="A node of the node group system has been cordoned for 5 hours: PodDisruptionBudget auth/vault never allows the eviction of its one pod, so the node group's update is stuck.",
    thread="aws/containers-roadmap#1652",
    must=[r"cordon", r"\b5 ?h|4h5\d|30\d ?m", r"vault|node group|system|ip-10-24"],
    must_not=[LAUNCHES, NONE_PENDING, r"[1-9] nodes? of general"],
)
def node_group_update_is_stuck(c: Cluster) -> None:
    usual(c, 7)
    old = add_group_node(c, "m6i.xlarge", c.zones[1], age="140d")
    add_group_node(c, "m6i.xlarge", c.zones[1], age="5h6m")
    cordon(c, old, "5h")
    add_workload(c, "auth/vault", kind="StatefulSet", on=[old], age="139d", cpu="1", memory="4Gi")
    add_pdb(c, "auth", "vault", "vault", healthy=1, desired=1, expected=1, minAvailable=1)


@incident(
    story="KEDA starts a Job for each message of a queue (ScaledJob). Each Job runs for two minutes, and the pool removes empty nodes at once (consolidateAfter 0s): for each batch Karpenter launches a node and deletes it three minutes later, 16 in the last hour. Each costs a minute of boot time and the images again.",
    cause="NodePool jobs launched and removed 16 nodes in the last hour: its consolidateAfter is 0s, so Karpenter removes each node as soon as its Jobs end, and the next Jobs need a new one.",
    thread="kubernetes-sigs/karpenter#1014, kedacore/keda#5763",
    must=[r"\bjobs\b", n(16), r"consolidateAfter", r"launch|remov|replac|empty"],
    must_not=[LAUNCHES, NONE_PENDING, ICE, PDB],
    first=2,
)
def scaled_jobs_need_new_nodes_each_time(c: Cluster) -> None:
    usual(c)
    add_pool(c, "jobs", labels={"team": "jobs"}, families=("m6i",), disruption={"consolidationPolicy": "WhenEmpty", "consolidateAfter": "0s"})  # fmt: skip
    fresh = add_node(c, "jobs", "m6i.xlarge", c.zones[0], age="2m10s")
    add_workload(c, "media/resize-tz5wd", kind="Job", on=[fresh] * 3, age="70s", spec={"nodeSelector": {"team": "jobs"}})  # fmt: skip
    for number in range(16):
        add_node_events(c, "jobs", number, last=45 + 215 * number, lived=190, reason="Empty")


@incident(
    story="Kueue's ClusterQueue ml uses an AdmissionCheck for ProvisioningRequests, and that check was deleted with the Cluster Autoscaler. The queue is inactive since then: four pods of ml/llm have been gated for two hours. Karpenter never sees gated pods.",
    cause="4 pods of ml/llm have been gated for 2 hours: Kueue does not admit them, because ClusterQueue ml is inactive.",
    thread="kubernetes-sigs/kueue#1855",
    must=["ml/llm", r"\bgate|Kueue|admi", n(4), r"inactive", r"\b2 ?h|1h5\d|12\d ?m"],
    must_not=[LAUNCHES, ROOM, ICE, "quota"],
)
def cluster_queue_is_inactive(c: Cluster) -> None:
    usual(c)
    add_queued(c, 4, "2h1m", "1", "ClusterQueue ml is inactive")


@incident(
    story="A streaming service has terminationGracePeriodSeconds 86400, so that viewers can finish. Karpenter drained one node seven hours ago for drift; its pod is terminating and may take 17 hours more. The budget allows one node at a time, so the eight other drifted nodes wait.",
    cause="A node of live has been draining for 7 hours: live/stream is terminating with a grace period of 24 hours. It uses up the disruption budget (1 node), so the drift of 8 other nodes waits.",
    thread="kubernetes-sigs/karpenter#1928",
    must=[n(8), r"drift", r"\b7 ?h|6h5\d", r"live/stream|grace", r"budget|1 (node )?at a time|waits? for|behind"],
    must_not=[LAUNCHES, NONE_PENDING, "do-not-disrupt", PDB],
)
def long_grace_uses_up_the_budget(c: Cluster) -> None:
    usual(c)
    add_pool(c, "live", labels={"team": "live"}, disruption={"budgets": [{"nodes": "1"}]})
    spec = {"terminationGracePeriodSeconds": 86400, "nodeSelector": {"team": "live"}}
    rest = [add_node(c, "live", "m6i.2xlarge", c.zones[i % 3], age="12d", drifted="8h") for i in range(8)]
    going = add_node(c, "live", "m6i.2xlarge", c.zones[0], age="12d", drifted="8h", deleting="7h")
    fresh = add_node(c, "live", "m6i.2xlarge", c.zones[0], age="7h3m")
    conditions(going, condition("DisruptionReason", "True", c.at("7h3m"), "Drifted"), condition("Drained", "Unknown", c.at("7h"), "Draining", "Draining"))  # fmt: skip
    pods = add_workload(c, "live/stream", on=[*rest, fresh, going], age="11d", cpu="5", memory="20Gi", spec=spec)
    pods[-1]["metadata"] |= {"deletionTimestamp": c.at("-17h"), "deletionGracePeriodSeconds": 86400}
    text = "Failed to drain node, 1 pods are waiting to be evicted"
    c.event(both(going)[0], "FailedDraining", text, last="1m", first="59m", count=30)


@incident(
    story="The nodes of NodePool train expire after one hour, against leaks. A training Job takes about two hours and starts again from the beginning each time its node expires: five of its pods were evicted in the last five hours, and it never ends.",
    cause="Job ml/fit never ends: the nodes of train expire after 1 hour, and its pod was evicted with each of them (5 failed pods).",
    thread="kubernetes-sigs/karpenter#1977",
    must=["ml/fit", r"expir", r"\btrain\b|\b1h\b|1 hour|60 ?m"],
    must_not=[LAUNCHES, NONE_PENDING, ICE, PDB],
)
def jobs_outlive_their_nodes(c: Cluster) -> None:
    usual(c)
    add_pool(c, "train", labels={"team": "ml"}, families=("m7i",), sizes=("4xlarge",), template={"expireAfter": "1h"})
    host = add_node(c, "train", "m7i.4xlarge", c.zones[0], age="38m")
    spec = {"nodeSelector": {"team": "ml"}, "restartPolicy": "Never"}
    pods = add_workload(c, "ml/fit", kind="Job", on=[host], age="36m", cpu="14", memory="48Gi", spec=spec)
    job = c.find("Job", "fit")
    job["metadata"]["creationTimestamp"] = c.at("5h42m")
    job["spec"] |= {"backoffLimit": 20, "parallelism": 1, "completions": 1}
    job["status"] |= {"failed": 5, "startTime": c.at("5h42m")}
    gone = {"apiVersion": "v1", "kind": "Pod", "metadata": dict(pods[0]["metadata"], name="fit-x7k2d", uid=uid("fit"))}
    c.event(gone, "Evicted", "Evicted pod: Forceful Termination", last="38m", kind="Normal")
    c.event(job, "SuccessfulCreate", f"Created pod: {pods[0]['metadata']['name']}", last="37m", kind="Normal", source="job-controller")  # fmt: skip


@incident(
    story="Somebody took consolidateAfter for the life of a node and set it to 720h. Nine empty nodes of NodePool batch remain from a load test four days ago and will stay for 26 days more.",
    cause="9 empty nodes of batch stay, because its consolidateAfter is 720h (30 days).",
    thread="kubernetes-sigs/karpenter#1877",
    must=[n(9), r"\bbatch\b", "consolidateAfter", r"720 ?h|30 ?d|26 ?d"],
    must_not=[LAUNCHES, NONE_PENDING, PDB, "do-not-disrupt"],
)
def consolidate_after_of_a_month(c: Cluster) -> None:
    usual(c, 5)
    add_pool(c, "batch", families=("m6i",), disruption={"consolidateAfter": "720h"}, template={"expireAfter": "Never"})
    for number in range(9):
        pair = add_node(c, "batch", "m6i.2xlarge", c.zones[number % 3], age="4d6h")
        status = both(pair)[1]["status"]
        status["conditions"] = [item for item in status["conditions"] if item["type"] != "Consolidatable"]
        status["lastPodEventTime"] = c.at("4d2h")


@incident(
    story="Azure announces that it moves two machines to other hosts in a quarter of an hour; AKS's node problem detector reports VMEventScheduled on both nodes. A redeployed machine loses its temporary disk and restarts. Nothing drains the nodes: node auto provisioning ignores the condition.",
    cause="Azure will redeploy the machines of 2 nodes at 09:45 UTC (VMEventScheduled), and nothing drains them.",
    thread="Azure/AKS#3719",
    must=[n(2) + "|ip-10|vmss", r"VMEventScheduled|scheduled|redeploy", r"redeploy"],
    must_not=[r"\bEC2\b|\bAWS\b", LAUNCHES, NONE_PENDING, PDB, "kubelet is silent"],
    karpenter_runs=False,
    karpenter_version="1.13.0",
    settings={"CLUSTER_NAME": "orders-aks"},
)
def azure_redeploys_two_machines(c: Cluster) -> None:
    aks_pool(c)
    pairs = fleet(c, "default", "orders/storefront", 8)
    for number, pair in enumerate(pairs):
        text = "Redeploy Scheduled: Tue, 24 Nov 2026 09:45:00 GMT" if number < 2 else "VM has no scheduled event"
        state = ("True", c.at("3m"), "VMEventScheduled") if number < 2 else ("False", c.at("9d"), "NoVMEventScheduled")
        pair.status["conditions"].append(condition("VMEventScheduled", *state, text))
        if number < 2:
            c.event(both(pair)[0], "VMEventScheduled", text, last="3m", source="custom-vm-event-monitor")
    to_aks(c)


@incident(
    story="The parsers of batch/parse have no memory limit. On two nodes the kernel kills processes for want of memory every few minutes (SystemOOM, 14 and 11 times in the last hour, the last a minute ago). The kubelets are well and the nodes Ready, and MemoryPressure never lasts long enough to show.",
    cause="2 nodes run out of memory again and again (SystemOOM 25 times in the last hour, the last a minute ago): the kernel kills processes, java among them.",
    thread="awslabs/amazon-eks-ami#1145",
    must=[n(2), r"memory|OOM", r"kill|SystemOOM", r"java|batch/parse|2[0-9] times|" + n(25) + "|" + n(14)],
    must_not=[LAUNCHES, NONE_PENDING, r"not ready", r"disk"],
)
def system_oom_on_nodes_that_are_ready(c: Cluster) -> None:
    usual(c, 5)
    hosts = [add_node(c, "general", "m6i.xlarge", zone, age="3d") for zone in c.zones[:2]]
    add_workload(c, "batch/parse", on=hosts, count=4, age="2d", cpu="1500m", memory="1Gi")
    for times, pair in zip((14, 11), hosts, strict=True):
        for number in range(times):
            text = f"System OOM encountered, victim process: java, pid: {41007 + 613 * number}"
            c.event(both(pair)[0], "SystemOOM", text, last=f"{1 + 4 * number}m", source="kubelet")


@incident(
    story="A VerticalPodAutoscaler and a HorizontalPodAutoscaler both follow the CPU of shop/rank. The two swing against each other: the VPA updater evicted 36 pods in the last hour to change their requests, and Karpenter replaced seven nodes after it.",
    cause="The VerticalPodAutoscaler evicts pods of shop/rank again and again, 36 in the last hour, and Karpenter replaced 7 nodes of general for it.",
    thread="kubernetes/autoscaler#6247",
    must=["shop/rank", r"VPA|VerticalPodAutoscaler|vertical", n(36), r"evict"],
    must_not=[LAUNCHES, NONE_PENDING, ICE, PDB],
)
def vertical_autoscaler_evicts_without_end(c: Cluster) -> None:
    pairs = usual(c, 6, disruption={"consolidateAfter": "1m"})
    pods = add_workload(c, "shop/rank", on=pairs[:4], age="4m", cpu="300m", memory="500Mi")
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "rank"}
    c.add("VerticalPodAutoscaler", "rank", "shop", age="20d", spec={"targetRef": target, "updatePolicy": {"updateMode": "Recreate"}})  # fmt: skip
    add_scaler(c, "shop/rank", low=4, high=12, now=4)
    for number in range(36):
        meta = dict(pods[0]["metadata"], name=f"{pods[0]['metadata']['name'][:-6]}-{digest(number)[:5]}", uid=uid(c.name, number))  # fmt: skip
        text = "Pod was evicted by VPA Updater to apply resource recommendation."
        c.event({"apiVersion": "v1", "kind": "Pod", "metadata": meta}, "EvictedByVPA", text, last=f"{40 + 97 * number}s", kind="Normal", source="vpa-updater")  # fmt: skip
    for number in range(7):
        claim = gone_claim(c, "general", number)
        c.event(claim, "DisruptionTerminating", "Disrupting NodeClaim: Underutilized", last=f"{3 + 8 * number}m", kind="Normal")  # fmt: skip
        c.event(claim, "DisruptionLaunching", "Launching NodeClaim: Underutilized", last=f"{5 + 8 * number}m", kind="Normal")  # fmt: skip


@incident(
    story="After a change of its ClusterRole Karpenter may no longer create evictions; only its log shows that. Three nodes have been draining for four hours, with ten pods that nothing protects: no PodDisruptionBudget, no annotation, no long grace. Karpenter runs and holds its lease.",
    cause="3 nodes of general have been draining for 4 hours although nothing in the cluster protects their pods; Karpenter's evictions fail, which its log explains.",
    thread="aws/karpenter-provider-aws#6512",
    must=[n(3), r"drain|terminat|delet", r"\b4 ?h|3h5\d", r"\blogs?\b|nothing (blocks|protects|holds|keeps)|no (blocker|visible|known)|not (known|visible)|unknown|evict"],
    must_not=[LAUNCHES, ICE, r"do-not-disrupt", r"PodDisruptionBudget \w", r"instances? (do|does) not"],
    karpenter_version="1.15.1",
)  # fmt: skip
def evictions_fail_for_no_visible_reason(c: Cluster) -> None:
    usual(c)
    old = [add_node(c, "general", "m6i.xlarge", zone, age="30d4h", deleting="4h1m") for zone in c.zones]
    add_workload(c, "orders/worker", on=old, count=10, age="19d", cpu="250m", memory="512Mi")
    for pair, left in zip(old, (4, 3, 3), strict=True):
        conditions(pair, condition("Drained", "Unknown", c.at("4h"), "Draining", "Draining"))
        text = f"Failed to drain node, {left} pods are waiting to be evicted"
        c.event(both(pair)[0], "FailedDraining", text, last="1m", first="59m", count=29)


@incident(
    story="A policy engine's webhook intercepts everything, leases included, with failurePolicy Fail; its pods were on two nodes that were drained together. Within a minute the heartbeats of all kubelets failed: all 26 nodes are NotReady for four minutes, though the machines are well. The engineer lists nodes, pods and webhooks.",
    cause="All 26 nodes stopped posting their status 4 minutes ago, at the same moment.",
    thread="kyverno/kyverno#2869, kubernetes/kubernetes#92557",
    must=[n(26) + r"|\ball\b", r"not ready|silent|NotReady|stopped", r"\b[34] ?m|same"],
    must_not=[LAUNCHES, ICE, ROOM, "do-not-disrupt"],
    listed=("Node", "Pod", "ValidatingWebhookConfiguration"),
)
def heartbeats_of_all_nodes_fail_at_once(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    for pair in c.system:
        for item in pair.status["conditions"]:
            item |= {"status": "Unknown", "reason": NOT_READY[1], "message": NOT_READY[2], "lastTransitionTime": c.at("4m")}  # fmt: skip
        assert pair.node is not None
        pair.node["spec"]["taints"] = [{"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}]
    fleet(c, "general", "orders/storefront", 24, ready=NOT_READY, ready_since="4m")
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"], "scope": "*"}
    hook = {"name": "validate.guard.example", "failurePolicy": "Fail", "timeoutSeconds": 10, "rules": [rule], "clientConfig": {"service": {"name": "guard", "namespace": "guard", "port": 443}}}  # fmt: skip
    c.add("ValidatingWebhookConfiguration", "guard", age="200d", webhooks=[hook])
    waiting(c, "guard/guard", 2, "4m30s", no_node({"node(s) had untolerated taint(s)": 26}))


@incident(
    story="Two faults. The first replica of the ordered StatefulSet db/etcd has crashed for two hours, so the controller does not start the other two. Besides, one NodeClaim of general has been terminating for two days: drained, its instance never ends.",
    cause="db/etcd-0 crashes for 2 hours (exit code 2), so 1 of 3 replicas exist and none is ready. A node of general has been terminating for 2 days: it is drained, and its instance does not end.",
    thread="kubernetes/kubernetes#67250, kubernetes-sigs/karpenter#2169",
    must=["db/etcd", r"crash|restart", r"terminat|delet|remov|drain|instance", r"\b2 ?d|4[78] ?h|1d2\dh"],
    must_not=[LAUNCHES, NONE_PENDING, ICE, PDB, "do-not-disrupt"],
)
def ordered_set_crashes_and_a_node_never_ends(c: Cluster) -> None:
    usual(c, 3)
    host = add_node(c, "general", "m6i.xlarge", c.zones[0], age="9d")
    pods = add_workload(c, "db/etcd", kind="StatefulSet", on=[host], count=1, replicas=3, age="2h3m", cpu="2", memory="6Gi")  # fmt: skip
    crash(c, pods[0], code=2, restarts=28, ago="3m")
    c.find("StatefulSet", "etcd")["status"] |= {"readyReplicas": 0, "availableReplicas": 0}
    old = add_node(c, "general", "m6i.xlarge", c.zones[1], age="21d", deleting="2d", ready=NOT_READY, ready_since="47h")
    done = [condition(kind, "True", c.at("47h59m")) for kind in ("Drained", "VolumesDetached", "InstanceTerminating")]
    conditions(old, condition("DisruptionReason", "True", c.at("2d"), "Underutilized"), *done)
