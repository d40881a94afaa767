"""Clusters with two or three faults that have nothing to do with each other."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.disruption import CHURN
from tests.incidents.fleets import fleet, gone_claim, usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n, order_of
from tests.incidents.node_objects import NOT_READY, add_node, both, conditions
from tests.incidents.objects import condition, digest
from tests.incidents.pods import add_pdb, add_workload, no_node, waiting
from tests.incidents.pools import add_nodeclass, add_pool
from tests.incidents.providers import aks_pool, to_aks
from tests.incidents.workloads import crash, not_ready

DOWN = r"karpenter.{0,80}(crash|not ready|not running|0 of 2|down)"
NONE_PENDING = r"[1-9]\d* pods?[^\n]{0,12} pending"


@incident(
    story="Both nodes of the managed node group are reserved for Karpenter by a taint. The NodePool was emptied over the weekend, CoreDNS lost its nodes with it, and Karpenter cannot resolve the address of the STS endpoint: it crashes at each start. "
    "CoreDNS needs a node that only Karpenter can launch. Seven pods of the application are pending as well.",
    cause="Karpenter is down: both its pods crash for 35 minutes; both CoreDNS pods are pending and need a node that only Karpenter launches, so nothing resolves names; 7 more pods are pending.",
    thread="aws/karpenter-provider-aws#2186",
    must=[DOWN, "coredns", "pending", n(7) + "|" + n(9), r"3[45] ?m"],
    must_not=[LAUNCHES, ROOM, ICE],
    other=[order_of(DOWN, "coredns")],
    karpenter_runs=True,
)  # fmt: skip
def dns_and_karpenter_wait_for_each_other(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    taint = {"key": "dedicated", "value": "karpenter", "effect": "NoSchedule"}
    for pair in c.system:
        both_taints = pair.node
        assert both_taints is not None
        both_taints["spec"]["taints"] = [taint]
    tolerated = {"key": "dedicated", "operator": "Exists"}
    for pod in [item for item in c.objects if item["kind"] == "Pod"]:
        name = pod["metadata"]["name"]
        if name.startswith("coredns-"):
            c.objects.remove(pod)
        elif name.startswith("karpenter-"):
            pod["spec"]["tolerations"].append(tolerated)
            crash(c, pod, code=1, restarts=11, ago="3m")
            for manifest in (pod["metadata"], pod["status"]):
                key = "creationTimestamp" if "creationTimestamp" in manifest else "startTime"
                manifest[key] = c.at("35m")
            for state in pod["status"]["conditions"]:
                state["lastTransitionTime"] = c.at("35m")
    c.find("Deployment", "karpenter")["status"] |= {"readyReplicas": 0, "availableReplicas": 0, "unavailableReplicas": 2}  # fmt: skip
    c.find("Lease", "karpenter-leader-election")["spec"]["renewTime"] = c.at("35m")
    for manifest in [item for item in c.objects if "coredns" in item["metadata"]["name"]]:
        c.objects.remove(manifest)
    message = no_node({"node(s) had untolerated taint {dedicated: karpenter}": 2})
    critical = {"priorityClassName": "system-cluster-critical", "tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists"}]}  # fmt: skip
    waiting(c, "kube-system/coredns", 2, "38m", message, cpu="100m", memory="70Mi", spec=critical)
    waiting(c, "orders/storefront", 7, "33m", message)


@incident(
    story="Since a tag policy of the organization is enforced, EC2 refuses every launch of NodePool batch for 28 minutes: eight pods are pending. Apart from that four scanner pods cannot start on the new Bottlerocket nodes, which have no copy of their "
    "seccomp profile.",
    cause="EC2 refuses the launches of NodePool batch for 28 minutes (TagPolicyViolation: the value of the tag CostCenter is not allowed), so 8 pods are pending; 4 pods of sec/scanner cannot start because their nodes have no seccomp profile profiles/scanner.json.",
    thread="aws/karpenter-provider-aws#5185, kubernetes/kubernetes#88755",
    must=[r"TagPolicy|tag polic", r"\bbatch\b", n(8), "seccomp", "sec/scanner", n(4)],
    must_not=[LAUNCHES, ROOM, ICE, "quota"],
    other=[order_of("TagPolicy|tag polic", "seccomp")],
    first=2,
)
def tag_policy_and_seccomp(c: Cluster) -> None:
    pairs = usual(c, 5)
    add_nodeclass(c, "batch", spec={"tags": {"CostCenter": "tbd"}})
    text = "creating instance, with fleet error(s), TagPolicyViolation: The tag policy does not allow the specified value for the following tag key: 'CostCenter'."
    add_pool(c, "batch", nodeclass="batch", labels={"team": "batch"}, registration=("LaunchFailed", text, "24m"))
    for age in ("2m40s", "2m20s"):
        pair = add_node(c, "batch", "m6i.xlarge", c.zones[1], age=age, stage="", launch_error=("LaunchFailed", text))
        assert pair.claim is not None
        c.event(pair.claim, "LaunchFailed", text, last="20s", first="2m15s", count=5)
    waiting(c, "etl/nightly", 8, "28m", spec={"nodeSelector": {"team": "batch"}})
    pods = add_workload(c, "sec/scanner", on=pairs[:4], age="40m", cpu="50m", memory="64Mi", waiting="CreateContainerError")  # fmt: skip
    path = "/var/lib/kubelet/seccomp/profiles/scanner.json"
    error = f'failed to create containerd container: cannot load seccomp profile "{path}": open {path}: no such file or directory'
    for pod in pods:
        pod["status"]["containerStatuses"][0]["state"]["waiting"]["message"] = error
        c.event(pod, "Failed", f"Error: {error}", last="15s", first="39m", count=180, source="kubelet")


@incident(
    story="The PodDisruptionBudget payments/all has an empty selector and minAvailable 100%, so it guards all nine pods of the namespace and never allows an eviction: the drift of four nodes waits for five days. Apart from that a process leak has used up the process "
    "IDs of another node for 26 minutes. The engineer has no events.",
    cause="The PodDisruptionBudget payments/all selects every pod of its namespace (9) and never allows an eviction, which blocks the drift of 4 nodes of pay for 5 days; ip-10-24-16-82 has had PID pressure for 26 minutes.",
    thread="kubernetes/kubernetes#95083, kubernetes/kubernetes#54313",
    must=["payments/all", r"PDB|PodDisruptionBudget", n(4), "drift", "PID", "ip-10-24-16-82", r"all (the )?(\d+ |nine )?pods|every pod|selects (all|every)|empty selector|all \d+ of its"],
    must_not=["do-not-disrupt", NONE_PENDING],
    listed=("Node", "NodeClaim", "NodePool", "EC2NodeClass", "Pod", "PodDisruptionBudget"),
    first=2,
)  # fmt: skip
def budget_over_a_namespace_and_pid_pressure(c: Cluster) -> None:
    pairs = usual(c)
    assert pairs[1].name.startswith("ip-10-24-16-82")
    pressure = next(state for state in pairs[1].status["conditions"] if state["type"] == "PIDPressure")
    pressure |= {"status": "True", "reason": "KubeletHasInsufficientPID", "lastTransitionTime": c.at("26m")}
    pressure["message"] = "kubelet has insufficient PID available"
    both(pairs[1])[0]["spec"]["taints"] = [{"key": "node.kubernetes.io/pid-pressure", "effect": "NoSchedule"}]
    add_pool(c, "pay", labels={"team": "pay"})
    hosts = [add_node(c, "pay", "m6i.xlarge", c.zones[number % 3], age="20d", drifted="5d") for number in range(4)]
    for name, count in (("api", 4), ("ledger", 3), ("fraud", 2)):
        spec = {"nodeSelector": {"team": "pay"}}
        add_workload(c, f"payments/{name}", on=hosts[:count], age="19d", cpu="1100m", memory="3Gi", spec=spec)
    budget = add_pdb(c, "payments", "all", "", healthy=9, desired=9, expected=9, minAvailable="100%")
    budget["spec"]["selector"] = {}


@incident(
    story="The HorizontalPodAutoscaler of shop/web has no stabilization window and swings between 6 and 24 replicas every six minutes. Karpenter follows: ten nodes were launched and removed in the last hour. Apart from that the file system of a node is "
    "read-only for 50 minutes, which the node problem detector reports and nobody repairs.",
    cause="shop/web is scaled between 6 and 24 replicas again and again, so Karpenter launched and removed 10 nodes in the last hour; the file system of ip-10-24-16-65 is read-only for 50 minutes (ReadonlyFilesystem).",
    thread="uberswe/createmod.com#1097, kubernetes-sigs/karpenter#738",
    must=["shop/web", r"HorizontalPodAutoscaler|\bHPA\b|scaled|scales|scaling", n(10), CHURN + r"|last hour|an hour|/h", r"ReadonlyFilesystem|read-?only", "ip-10-24-16-65"],
    must_not=[LAUNCHES, ICE, "interrupt", "drift"],
)  # fmt: skip
def autoscaler_swings_and_read_only_disk(c: Cluster) -> None:
    pairs = usual(c, 5, disruption={"consolidateAfter": "30s"})
    assert pairs[0].name.startswith("ip-10-24-16-65")
    broken = condition("ReadonlyFilesystem", "True", c.at("50m"), "FilesystemIsReadOnly", "Filesystem is read-only")
    pairs[0].status["conditions"] += [condition("KernelDeadlock", "False", c.at("9d"), "KernelHasNoDeadlock"), broken]
    fresh = [add_node(c, "general", "m6i.xlarge", zone, age="4m") for zone in c.zones[:2]]
    add_workload(c, "shop/web", on=fresh, count=6, age="3m")
    deployment = c.find("Deployment", "web")
    replicas = next(manifest["metadata"]["name"] for manifest in c.objects if manifest["kind"] == "ReplicaSet" and manifest["metadata"]["name"].startswith("web-"))  # fmt: skip
    scaler = c.add(
        "HorizontalPodAutoscaler", "web", "shop", age="30d",
        spec={"minReplicas": 6, "maxReplicas": 24, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
        status={"currentReplicas": 6, "desiredReplicas": 6},
    )  # fmt: skip
    above, below = "cpu resource utilization (percentage of request) above target", "All metrics below target"
    for old, new, last, why in ((6, 24, "5m", above), (24, 6, "2m", below)):
        word = "up" if new > old else "down"
        text = f"Scaled {word} replica set {replicas} from {old} to {new}"
        c.event(deployment, "ScalingReplicaSet", text, last=last, first="58m", count=10, kind="Normal", source="deployment-controller")  # fmt: skip
        text = f"New size: {new}; reason: {why}"
        c.event(scaler, "SuccessfulRescale", text, last=last, first="58m", count=10, kind="Normal", source="horizontal-pod-autoscaler")  # fmt: skip
    for number in range(10):
        name = f"ip-10-24-90-{20 + number}.ec2.internal"
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": digest(c.name, name)[:36]}}
        joined = f"Node {name} event: Registered Node {name} in Controller"
        c.event(node, "RegisteredNode", joined, last=f"{5 + 5 * number}m", kind="Normal", source="node-controller")
        claim = gone_claim(c, "general", number)
        c.event(claim, "DisruptionTerminating", "Disrupting NodeClaim: Empty", last=f"{1 + 5 * number}m", kind="Normal")


@incident(
    story="The CronJob ops/crawl starts a Job every five minutes and allows them to run at the same time. Since the site it reads hangs, none ends: 72 Jobs run, and they use the whole limit of NodePool jobs. Four pods of etl/load, which need the same pool, are pending for 50 "
    "minutes. Apart from that three pods of payments/api cannot start, because their image runs as root and runAsNonRoot is set.",
    cause="NodePool jobs is at its limit of 96 cores, used up by 72 Jobs of the CronJob ops/crawl that run at the same time; 4 pods of etl/load are pending for 50 minutes. 3 pods of payments/api cannot start: runAsNonRoot is set, and their image runs as root.",
    thread="digitalocean/clusterlint#95, kubernetes/kubernetes#88755",
    must=["ops/crawl", r"\bjobs\b", "limit", n(96), "etl/load", n(4), "payments/api", r"runAsNonRoot|\broot\b", n(72)],
    must_not=[LAUNCHES, ROOM, ICE],
    other=[{"command": ["pending"], "must": [["etl/load"], ["limit"]]}],
)  # fmt: skip
def cron_pile_up_and_an_image_that_runs_as_root(c: Cluster) -> None:
    pairs = usual(c)
    add_pool(c, "jobs", labels={"team": "jobs"}, limits={"cpu": "96"}, families=("m6i",), sizes=("xlarge",))
    hosts = [add_node(c, "jobs", "m6i.xlarge", c.zones[number % 3], age=f"{20 + 15 * number}m") for number in range(24)]
    crawl = {"schedule": "*/5 * * * *", "concurrencyPolicy": "Allow", "jobTemplate": {"spec": {}}}
    cron = c.add("CronJob", "crawl", "ops", age="90d", spec=crawl)
    chosen = {"nodeSelector": {"team": "jobs"}}
    for number in range(72):
        name, age = f"crawl-2941{number:04}", f"{3 + 5 * number}m"
        add_workload(c, f"ops/{name}", kind="Job", on=[hosts[number // 3]], age=age, spec=chosen)
        job = c.find("Job", name)
        job["metadata"]["ownerReferences"] = [{"apiVersion": "batch/v1", "kind": "CronJob", "name": "crawl", "uid": cron["metadata"]["uid"], "controller": True}]  # fmt: skip
    waiting(c, "etl/load", 4, "50m", spec=chosen)
    pods = add_workload(c, "payments/api", on=pairs[:3], age="22m", cpu="50m", memory="64Mi", waiting="CreateContainerConfigError")  # fmt: skip
    for pod in pods:
        error = "container has runAsNonRoot and image will run as root (pod: api, container: app)"
        not_ready(pod)["state"]["waiting"]["message"] = error
        c.event(pod, "Failed", f"Error: {error}", last="10s", first="21m", count=100, source="kubelet")


@incident(
    story="An AKS cluster on a bad day. The subnet has no free addresses, so Azure refuses every machine for 33 minutes and six pods are pending. The PodDisruptionBudget erp/ledger (maxUnavailable 0) blocks the drain of a node for 7 hours. And the kubelet of a third node is silent for 12 minutes.",
    cause="Azure refuses machines for NodePool default: the subnet has no free addresses (SubnetIsFull), 6 pods are pending for 33 minutes; the PodDisruptionBudget erp/ledger blocks the drain of a node for 7 hours; a node is not ready for 12 minutes.",
    thread="Azure/karpenter-provider-azure#734, kubernetes-sigs/karpenter#2802",
    must=[r"SubnetIsFull|subnet", n(6), "erp/ledger", r"\b7 ?h|\b6h", r"not (been )?ready|NotReady", r"1[12] ?m"],
    must_not=[LAUNCHES, ROOM, r"EC2NodeClass|\bEC2\b|\bAWS\b", "quota"],
    karpenter_runs=False,
    karpenter_version="1.13.0",
    settings={"CLUSTER_NAME": "orders-aks"},
)
def subnet_full_drain_blocked_and_a_silent_kubelet(c: Cluster) -> None:
    error = (
        'creating instance failed: networkInterface.BeginCreateOrUpdate for NIC "aks-default-4kq7w" failed: RESPONSE 400: 400 Bad Request ERROR CODE: SubnetIsFull: Subnet nodes with address prefix '
        "10.24.16.0/22 does not have enough capacity for 1 IP addresses."
    )
    aks_pool(c, registration=("LaunchFailed", error, "29m"))
    fleet(c, "default", "orders/storefront", 4)
    going = add_node(c, "default", "m6i.xlarge", c.zones[1], age="19d", deleting="7h")
    add_workload(c, "erp/ledger", on=[going], age="18d", cpu="1", memory="4Gi")
    add_pdb(c, "erp", "ledger", "ledger", healthy=1, desired=1, expected=1, maxUnavailable=0)
    conditions(going, condition("Drained", "Unknown", c.at("7h"), "Draining", "Draining"))
    silent = add_node(c, "default", "m6i.xlarge", c.zones[2], age="6d", ready=NOT_READY, ready_since="12m")
    add_workload(c, "orders/returns", on=[silent], count=2, age="5d", deleting="7m")
    pair = add_node(c, "default", "m6i.xlarge", c.zones[0], age="2m20s", stage="", launch_error=("LaunchFailed", error))
    assert pair.claim is not None
    waiting(c, "orders/checkout", 6, "33m")
    add_workload(c, "kube-system/konnectivity", on=c.system, cpu="1", memory="1Gi", age="40d")
    to_aks(c)
