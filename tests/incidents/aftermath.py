"""Faults that begin when pods and nodes already exist: drains, kubelets, containers, devices and churn; and four look-alikes."""

from __future__ import annotations

from tests.incidents.cluster import Cluster, owned_by
from tests.incidents.fleets import GPU_POD, GPU_TAINT, fleet, gone_claim, replaced, usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n, quiet
from tests.incidents.node_objects import NOT_READY, add_node, both, conditions
from tests.incidents.objects import Object, condition, digest, suffix, uid
from tests.incidents.pods import PROTECTED, add_daemonset, add_pdb, add_pod, add_volume, add_workload, no_node, waiting
from tests.incidents.pools import add_nodeclass, add_pool
from tests.incidents.workloads import crash, not_ready

STUCK = r"stuck|never"
PENDING = r"[1-9]\d* pods?[^\n]{0,30} pending"


def _replica_set(c: Cluster, name: str) -> Object:
    """Return the ReplicaSet of a Deployment."""
    return next(manifest for manifest in c.objects if manifest["kind"] == "ReplicaSet" and owned_by(manifest, name))


def _gone_node(c: Cluster, number: int) -> Object:
    """Return what events need of a Node that no longer exists."""
    name = f"ip-10-24-88-{20 + number}.ec2.internal"
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": uid(c.name, name)}}


def _rebalanced(c: Cluster, node: Object, minutes: int) -> None:
    """Let the AWS Node Termination Handler drain a node after a rebalance recommendation."""
    source = "aws-node-termination-handler"
    text = f"Rebalance recommendation received. Instance will be cordoned at {c.at(f'{minutes + 2}m')} \n"
    c.event(node, "RebalanceRecommendation", text, last=f"{minutes + 2}m", kind="Normal", source=source)
    text = "Node successfully cordoned and drained"
    c.event(node, "CordonAndDrain", text, last=f"{minutes + 1}m", kind="Normal", source=source)


@incident(
    story="The AWS Node Termination Handler still runs from the time before Karpenter, with its draining on rebalance recommendations. EC2 recommends a rebalance for most new spot instances of this pool, so the handler drains them minutes after their launch; Karpenter removes each as empty and launches another.",
    cause="The AWS Node Termination Handler drained 8 spot nodes of burst in the last hour after rebalance recommendations, and Karpenter replaced them: the handler works against Karpenter.",
    thread="aws/karpenter-provider-aws#4893",
    must=[r"\bburst\b", n(8) + "|" + n(9), r"termination.?handler|\bNTH\b", "rebalance", r"drain|cordon|evict"],
    must_not=[ICE, "stuck|never", r"interrupted|taken back|reclaimed", "descheduler"],
)  # fmt: skip
def rebalance_recommendations_drain_nodes(c: Cluster) -> None:
    usual(c)
    add_daemonset(c, "kube-system", "aws-node-termination-handler", cpu="50m", memory="64Mi", critical=True)
    add_pool(c, "burst", capacity=("spot",), labels={"team": "feed"}, disruption={"consolidateAfter": "1m"})
    pairs = [add_node(c, "burst", "m6i.xlarge", c.zones[number % 3], capacity="spot", age=f"{4 + 7 * number}m") for number in range(6)]  # fmt: skip
    add_workload(c, "feed/ranker", on=pairs, count=18, age="25m", spec={"nodeSelector": {"team": "feed"}})
    for number in range(8):
        node, minutes = _gone_node(c, number), 3 + 7 * number
        _rebalanced(c, node, minutes)
        text = f"Node {node['metadata']['name']} status is now: NodeNotSchedulable"
        c.event(node, "NodeNotSchedulable", text, last=f"{minutes + 1}m", kind="Normal", source="kubelet")
        text = "Disrupting NodeClaim: Empty"
        c.event(gone_claim(c, "burst", number), "DisruptionTerminating", text, last=f"{minutes}m", kind="Normal")
        text = f"Node {node['metadata']['name']} event: Removing Node {node['metadata']['name']} from Controller"
        c.event(node, "RemovingNode", text, last=f"{minutes - 1}m", kind="Normal", source="node-controller")


@incident(
    story="Strimzi guards its brokers itself: their PodDisruptionBudget allows no eviction, the Drain Cleaner's webhook marks a pod that Karpenter wants to evict, and the cluster operator then rolls it. The operator has crashed for six hours, so a node with mq/events-kafka-1 drains for five hours.",
    cause="A node has been draining for 5 hours: mq/events-kafka-1 is marked for a restart by Strimzi (strimzi.io/manual-rolling-update), which allows no eviction, and strimzi-cluster-operator, which would restart it, crashes.",
    thread="strimzi/drain-cleaner#121",
    must=[r"events-kafka", "drain", r"\b(5|4) ?h", r"PDB|PodDisruptionBudget|evict", "strimzi-cluster-operator"],
    must_not=[LAUNCHES, PENDING, "do-not-disrupt", r"kill(ed)? (in|at)"],
)  # fmt: skip
def operator_that_should_roll_the_pod_is_down(c: Cluster) -> None:
    usual(c)
    pairs = [add_node(c, "general", "m6i.2xlarge", zone, age="21d") for zone in c.zones[:2]]
    old = add_node(c, "general", "m6i.2xlarge", c.zones[2], age="30d5h", deleting="5h")
    conditions(old, condition("Drained", "Unknown", c.at("5h"), "Draining", "Draining"))
    pods = add_workload(
        c,
        "mq/events-kafka",
        kind="StatefulSet",
        on=[pairs[0], old, pairs[1]],
        count=3,
        age="19d",
        cpu="3",
        memory="12Gi",
    )
    # Strimzi owns its pods by a resource of its own.
    kafka = {
        "apiVersion": "core.strimzi.io/v1",
        "kind": "StrimziPodSet",
        "name": "events-kafka",
        "controller": True,
        "blockOwnerDeletion": False,
        "uid": uid(c.name, "set"),
    }
    c.objects.remove(c.find("StatefulSet", "events-kafka"))
    for pod in pods:
        pod["metadata"]["ownerReferences"] = [kafka]
    pods[1]["metadata"]["annotations"] = {"strimzi.io/manual-rolling-update": "true"}
    add_pdb(c, "mq", "events-kafka", "events-kafka", healthy=3, desired=3, expected=3, maxUnavailable=0)
    for pod in add_workload(
        c, "strimzi/strimzi-cluster-operator", on=[pairs[0]], count=1, age="6h", cpu="200m", memory="384Mi"
    ):
        crash(c, pod, code=1, restarts=74, ago="2m")
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["pods/eviction"],
        "scope": "Namespaced",
    }
    c.add("ValidatingWebhookConfiguration", "strimzi-drain-cleaner", webhooks=[{"name": "strimzi-drain-cleaner.strimzi.io", "failurePolicy": "Ignore", "rules": [rule], "timeoutSeconds": 5}])  # fmt: skip
    text = "Failed to drain node, 1 pods are waiting to be evicted"
    c.event(both(old)[0], "FailedDraining", text, last="1m", first="59m", count=29)


@incident(
    story="The AWS Load Balancer Controller crashes for 52 minutes. Pods of shop/web have a readiness gate that only it sets: three that were moved 48 minutes ago run, but never become ready. So the PodDisruptionBudget of shop/web allows no further eviction, and the drift of four nodes has stopped.",
    cause="3 of 9 pods of shop/web have not been ready for 48 minutes: the readiness gate target-health.elbv2.k8s.aws is not set, because aws-load-balancer-controller crashes; so its PodDisruptionBudget allows no eviction, and the drift of 4 nodes waits.",
    thread="kubernetes-sigs/aws-load-balancer-controller#1205",
    must=["shop/web", n(3), r"readiness gate|target-health", r"load-balancer-controller", r"PDB|PodDisruptionBudget|evict", "drift", n(4)],
    must_not=[LAUNCHES, PENDING, r"shop/web[^\n]{0,40}crash", r"never allows?", "do-not-disrupt"],
)  # fmt: skip
def readiness_gate_that_nothing_sets(c: Cluster) -> None:
    usual(c)
    add_pool(c, "web", labels={"team": "web"})
    old = [add_node(c, "web", "m6i.xlarge", c.zones[number % 3], age="12d", drifted="2h") for number in range(4)]
    fresh = [add_node(c, "web", "m6i.xlarge", c.zones[number % 3], age="50m") for number in range(2)]
    spec = {
        "nodeSelector": {"team": "web"},
        "readinessGates": [{"conditionType": "target-health.elbv2.k8s.aws/k8s-shop-web-4c1d0a2b7e"}],
    }
    pods = add_workload(c, "shop/web", on=old, count=6, replicas=9, age="5d", cpu="700m", memory="1500Mi", spec=spec)
    parent = _replica_set(c, "web")
    gate = spec["readinessGates"][0]["conditionType"]  # type: ignore[index]
    for pod in pods:
        pod["status"]["conditions"].append(condition(gate, "True", c.at("5d")))
    for number in range(3):
        name = f"{parent['metadata']['name']}-{suffix('web', 'late', number)}"
        pod = add_pod(c, "shop", name, node=fresh[number % 2], parent=parent, age="48m", cpu="700m", memory="1500Mi", labels=pods[0]["metadata"]["labels"], spec=spec)  # fmt: skip
        for state in pod["status"]["conditions"]:
            if state["type"] == "Ready":
                state |= {"status": "False", "reason": "ReadinessGatesNotReady", "message": f'corresponding condition of pod readiness gate "{gate}" does not exist.'}  # fmt: skip
    for manifest in (parent, c.find("Deployment", "web")):
        manifest["status"] |= {"replicas": 9, "readyReplicas": 6, "availableReplicas": 6}
    add_pdb(c, "shop", "web", "web", healthy=6, desired=8, expected=9, maxUnavailable=1)
    for pod in add_workload(
        c, "kube-system/aws-load-balancer-controller", on=c.system, count=2, age="52m", cpu="100m", memory="128Mi"
    ):
        crash(c, pod, code=1, restarts=15, ago="90s")
    for pair in old:
        for manifest in both(pair):
            text = 'Pdb "shop/web" prevents pod evictions'
            c.event(manifest, "DisruptionBlocked", text, last="1m", first="46m", count=23, kind="Normal")


@incident(
    story="Consolidation moved logs/kafka-1 from a node with Amazon Linux 2023 to one of pool legacy, which still has Amazon Linux 2 with kernel 5.4. The volume has an xfs file system of a newer mkfs, which that kernel cannot mount: the pod does not start for 31 minutes.",
    cause="logs/kafka-1 cannot start for 31 minutes: the xfs file system on its volume cannot be mounted on its node of legacy (Amazon Linux 2, kernel 5.4), though nodes with Amazon Linux 2023 mount it.",
    thread="kubernetes-sigs/aws-ebs-csi-driver#1972",
    must=["logs/kafka-1", "mount", r"xfs|file ?system|superblock|fs type", r"3[01] ?m", r"\blegacy\b|ip-10-24-\d+-\d+|kernel|Amazon Linux 2\b"],
    must_not=[LAUNCHES, PENDING, r"attach(ed)? (to|elsewhere)|Multi-Attach", r"not registered|not installed", r"time[sd]? out", "too small"],
)  # fmt: skip
def file_system_of_a_newer_kernel(c: Cluster) -> None:
    usual(c)
    add_nodeclass(c, "legacy", spec={"amiFamily": "AL2", "amiSelectorTerms": [{"id": "ami-0a1b2c3d4e5f60718"}]})
    add_pool(c, "legacy", nodeclass="legacy", sizes=("2xlarge",))
    for pair in [pair for pair in c.nodes if pair.node]:
        pair.status["nodeInfo"]["kernelVersion"] = "6.1.158-180.294.amzn2023.x86_64"
    good = [add_node(c, "general", "m6i.2xlarge", zone, age="12d") for zone in c.zones[::2]]
    old = add_node(c, "legacy", "m6i.2xlarge", c.zones[1], age="6d")
    old.status["nodeInfo"] |= {"kernelVersion": "5.4.296-211.434.amzn2.x86_64", "osImage": "Amazon Linux 2"}
    pods = add_workload(
        c, "logs/kafka", kind="StatefulSet", on=[good[0], old, good[1]], count=3, age="11d", cpu="4", memory="16Gi"
    )
    for number, pod in enumerate(pods):
        pod["spec"]["volumes"] = [
            add_volume(c, "logs", f"data-kafka-{number}", (good[0].zone, old.zone, good[1].zone)[number])
        ]
    late, volume = pods[1], f"pvc-{uid('logs', 'data-kafka-1')}"
    late["metadata"]["creationTimestamp"] = late["status"]["startTime"] = c.at("31m")
    late["status"]["phase"] = "Pending"
    not_ready(late)["state"] = {"waiting": {"reason": "ContainerCreating"}}
    for state in late["status"]["conditions"]:
        state["lastTransitionTime"] = c.at("31m")
    c.find("StatefulSet", "kafka")["status"] |= {"readyReplicas": 2, "availableReplicas": 2}
    path = "/var/lib/kubelet/plugins/kubernetes.io/csi/ebs.csi.aws.com/5d2f8c/globalmount"
    text = (
        f'MountVolume.MountDevice failed for volume "{volume}" : rpc error: code = Internal desc = could not format "/dev/nvme1n1" and mount it at "{path}": '
        f"mount failed: exit status 32 Mounting command: mount Mounting arguments: -t xfs -o nouuid,defaults /dev/nvme1n1 {path} "
        f"Output: mount: {path}: wrong fs type, bad option, bad superblock on /dev/nvme1n1, missing codepage or helper program, or other error."
    )
    c.event(late, "FailedMount", text, last="40s", first="30m", count=23, source="kubelet")


@incident(
    story="The last container of db/pg-0 hangs in a system call on a broken NFS mount. The pod was deleted three hours ago for a rolling update, and the kubelet cannot kill it. Its node is ready and everything else there works. A StatefulSet starts no second pod of the name, so the database has been short of a replica since.",
    cause="db/pg-0 has been terminating for 3 hours on ip-10-24-17-116: the kubelet cannot kill its container (DeadlineExceeded), so its StatefulSet cannot start it again.",
    thread="kubernetes/kubernetes#51835",
    must=["db/pg-0", r"terminat|delet", r"\b3 ?h|2h5\d|17\d ?m|18\d ?m", r"ip-10-24-17-116", r"kill|stop"],
    must_not=[LAUNCHES, r"not ready for|NotReady|silent|unreachable", "PodDisruptionBudget|PDB", "do-not-disrupt"],
)  # fmt: skip
def container_that_cannot_be_killed(c: Cluster) -> None:
    pairs = usual(c, 3)
    host = add_node(c, "general", "m6i.2xlarge", c.zones[0], age="9d")
    extra = [add_node(c, "general", "m6i.2xlarge", zone, age="9d") for zone in c.zones[1:]]
    assert len(pairs) == 3
    pods = add_workload(c, "db/pg", kind="StatefulSet", on=[host, *extra], count=3, age="8d", cpu="3", memory="12Gi")
    late = pods[0]
    late["metadata"] |= {"deletionTimestamp": c.at("2h59m30s"), "deletionGracePeriodSeconds": 30}
    not_ready(late)
    c.find("StatefulSet", "pg")["status"] |= {"readyReplicas": 2, "availableReplicas": 2}
    assert host.name.startswith("ip-10-24-17-116"), host.name
    text = 'error killing pod: [failed to "KillContainer" for "app" with KillContainerError: "rpc error: code = DeadlineExceeded desc = an error occurs during waiting for container to be killed: wait container: context deadline exceeded", failed to "KillPodSandbox" with KillPodSandboxError: "rpc error: code = DeadlineExceeded desc = context deadline exceeded"]'
    c.event(late, "FailedKillPod", text, last="1m", first="59m", count=28, source="kubelet")
    text = "Stopping container app"
    c.event(late, "Killing", text, last="1m", first="59m", count=28, kind="Normal", source="kubelet")


@incident(
    story="The pods of etl/merge write to an emptyDir volume with a limit of 5Gi. Since this morning's input is larger, each grows past the limit after a few minutes, and the kubelet evicts it: 14 times in 55 minutes. The nodes' disks are half empty.",
    cause="The kubelet has evicted 14 pods of etl/merge in 55 minutes because their emptyDir volume scratch exceeds its limit of 5Gi; the nodes have no disk pressure.",
    thread="kubernetes/kubernetes#116986",
    must=["etl/merge", n(14), "evict", r"emptyDir|scratch", r"5 ?Gi"],
    must_not=[LAUNCHES, r"(under|have|has|had) (disk|memory) pressure", r"want of|low on|node[^\n]{0,20}full|larger (root )?volume", PENDING],
)  # fmt: skip
def scratch_volume_exceeds_its_limit(c: Cluster) -> None:
    usual(c)
    pairs = [add_node(c, "general", "m6i.2xlarge", zone, age="3d") for zone in c.zones]
    spec = {"volumes": [{"name": "scratch", "emptyDir": {"sizeLimit": "5Gi"}}]}
    running = add_workload(c, "etl/merge", on=pairs, count=3, age="4m", cpu="5", memory="20Gi", spec=spec)
    parent, text = _replica_set(c, "merge"), 'Usage of EmptyDir volume "scratch" exceeds the limit "5Gi". '
    for number in range(14):
        name, age = f"{parent['metadata']['name']}-{suffix('merge', number)}", f"{4 + 3 * number + number // 2}m"
        pod = add_pod(c, "etl", name, node=pairs[number % 3], parent=parent, age=age, labels=running[0]["metadata"]["labels"], cpu="5", memory="20Gi", spec=spec, phase="Failed")  # fmt: skip
        pod["status"] |= {"reason": "Evicted", "message": text}
        c.event(pod, "Evicted", text, last=age, source="kubelet")


@incident(
    story="The pods of pay/api use a security group of their own. The VPC resource controller creates a branch interface for each and writes it into an annotation. A Kyverno policy that was tightened half an hour ago denies this change, so four new pods have no address and stay in ContainerCreating for 26 minutes. The subnets have plenty of addresses.",
    cause="4 pods of pay/api have not started for 26 minutes: the webhook validate.kyverno.svc-fail denies the annotation with their branch interface (BranchENIAnnotationFailed), so they get no address.",
    thread="aws/amazon-vpc-cni-k8s#2814",
    must=["pay/api", n(4), r"branch", r"kyverno|webhook|denie", r"2[56] ?m"],
    must_not=[LAUNCHES, r"(subnets?|nodes?)[^\n.]{0,40}(full|no (more |free )?(IP )?address|exhaust|run out)", r"maxPods", PENDING],
)  # fmt: skip
def branch_interface_is_denied(c: Cluster) -> None:
    usual(c)
    host = add_node(c, "general", "m6i.2xlarge", c.zones[1], age="2d")
    for manifest in both(host):
        for key in ("capacity", "allocatable"):
            manifest["status"][key]["vpc.amazonaws.com/pod-eni"] = "38"
    request = {"vpc.amazonaws.com/pod-eni": "1"}
    add_workload(c, "pay/gateway", on=[host], count=2, age="30h", cpu="500m", memory="1Gi", requests=request)
    for pod in add_workload(c, "pay/api", on=[host], count=4, age="26m", cpu="500m", memory="1Gi", requests=request, waiting="ContainerCreating"):  # fmt: skip
        source = "vpc-resource-controller"
        text = "Pod will get the following Security Groups [sg-0c7a1e5f2b9d84630]"
        c.event(pod, "SecurityGroupRequested", text, last="30s", first="26m", count=14, kind="Normal", source=source)
        text = 'failed to annotate pod with branch ENI details: admission webhook "validate.kyverno.svc-fail" denied the request: resource Pod/pay/api was blocked due to the following policies: restrict-annotations: unknown annotation vpc.amazonaws.com/pod-eni'
        c.event(pod, "BranchENIAnnotationFailed", text, last="30s", first="26m", count=14, source=source)
        sandbox = pod["metadata"]["uid"].replace("-", "")
        text = f'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "{sandbox}": plugin type="aws-cni" name="aws-cni" failed (add): add cmd: failed to assign an IP address to container'
        c.event(pod, "FailedCreatePodSandBox", text, last="12s", first="26m", count=110, source="kubelet")
    c.add("ValidatingWebhookConfiguration", "kyverno-resource-validating-webhook-cfg", webhooks=[{"name": "validate.kyverno.svc-fail", "failurePolicy": "Fail", "timeoutSeconds": 10}])  # fmt: skip


@incident(
    story="The pool batch gives its nodes 30 minutes to drain (terminationGracePeriod). Two of them drain for 75 minutes: Karpenter may evict pods, but its ClusterRole was written by hand and lacks the right to delete them, so at the end of the grace nothing happens to the pods that do-not-disrupt protects. Karpenter's log says so; no object does.",
    cause="2 nodes of batch are still draining 45 minutes after their terminationGracePeriod ended: Karpenter has not deleted the 4 pods of etl/load, as it should have; its log says why (it may lack the right to delete pods).",
    thread="paperclipinc/karpenter-provider-hetzner#87",
    must=[n(2), r"\bbatch\b|ip-10-24-", "etl/load", r"terminationGracePeriod|grace|deadline", r"4[45] ?m|75 ?m|1h ?1[45] ?m", r"(has|have) not (been )?(deleted|ended|stopped)|still (run|drain|there)|should have|overdue|passed|ended|over\b", r"log|right|permission|RBAC|may not|forbidden"],
    must_not=[LAUNCHES, PENDING, r"(will be|is|are) killed|(killed|deleted) in \d"],
)  # fmt: skip
def pods_outlive_the_grace(c: Cluster) -> None:
    usual(c)
    add_pool(c, "batch", sizes=("2xlarge",), labels={"team": "etl"}, template={"terminationGracePeriod": "30m"})
    ended = c.at("45m")
    mark = {"karpenter.sh/nodeclaim-termination-timestamp": ended}
    keep = add_node(c, "batch", "m6i.2xlarge", c.zones[2], age="2d")
    going = [add_node(c, "batch", "m6i.2xlarge", zone, age="9d", drifted="2h", deleting="75m", claim_annotations=mark) for zone in c.zones[:2]]  # fmt: skip
    spec = {"nodeSelector": {"team": "etl"}}
    pods = add_workload(c, "etl/load", on=[*going, *going, keep], count=5, age="6h", cpu="2", memory="6Gi", annotations=PROTECTED, spec=spec)  # fmt: skip
    for pair in going:
        conditions(pair, condition("DisruptionReason", "True", c.at("76m"), "Drifted"))
        conditions(pair, condition("Drained", "Unknown", c.at("75m"), "Draining", "Draining"))
        for manifest in both(pair):
            c.event(manifest, "TerminationGracePeriodExpiring", f"All pods will be deleted by {ended}", last="46m", first="75m", count=15)  # fmt: skip
    for pod in pods[:4]:
        text = f"Deleting the pod to accommodate the terminationTime {ended} of the node. The pod was granted 1 seconds of grace-period of its 30 terminationGracePeriodSeconds. This bypasses the PDB of the pod and the do-not-disrupt annotation."
        c.event(pod, "Disrupted", text, last="20s", first="45m", count=22, kind="Normal")


@incident(
    story="On two of the four GPU nodes the device plugin found no healthy GPU after a driver fault 50 minutes ago: they report none allocatable, and their pods failed. Three pods are pending for 25 minutes. Karpenter launches no further node, because the pool's limit of 4 GPUs counts all four machines.",
    cause="2 of the 4 nodes of gpu report no allocatable nvidia.com/gpu of the 1 that each has, and the pool is at its limit of 4 nvidia.com/gpu, so 3 pods of ml/infer are pending for 25 minutes.",
    thread="NVIDIA/k8s-device-plugin#58",
    must=["ml/infer", n(3), r"2[45] ?m", r"nvidia\.com/gpu|GPU", r"limit", n(2), r"allocatable|report|unhealthy|no healthy|offer 0|0 of"],
    must_not=[LAUNCHES, ROOM, ICE, "drift"],
)  # fmt: skip
def gpus_vanish_from_nodes(c: Cluster) -> None:
    usual(c)
    add_pool(
        c, "gpu", families=("g5",), sizes=("2xlarge",), template={"taints": [GPU_TAINT]}, limits={"nvidia.com/gpu": "4"}
    )
    add_daemonset(c, "gpu-operator", "nvidia-device-plugin", cpu="50m", memory="64Mi", spec={"nodeSelector": {"karpenter.sh/nodepool": "gpu"}})  # fmt: skip
    pairs = [add_node(c, "gpu", "g5.2xlarge", c.zones[number % 3], age="5d", gpus=1) for number in range(4)]
    for pair in pairs[2:]:
        pair.status["allocatable"]["nvidia.com/gpu"] = "0"
    gpu = {"nvidia.com/gpu": "1"}
    pool = c.find("NodePool", "gpu")
    message = "0/10 nodes are available: 4 Insufficient nvidia.com/gpu, 6 node(s) didn't match Pod's node affinity/selector. preemption: 0/10 nodes are available: 4 No preemption victims found for incoming pod, 6 Preemption is not helpful for scheduling."
    pods = add_workload(c, "ml/infer", on=pairs[:2], pending=3, pending_since="25m", age="4d", cpu="4", memory="16Gi", requests=gpu, spec=GPU_POD, message=message)  # fmt: skip
    pool["status"]["resources"] = gpu
    add_workload(c, "ml/cache", kind="StatefulSet", on=pairs[2:], age="3d", cpu="2", memory="8Gi", spec=GPU_POD)
    for pod in pods[2:]:
        text = 'Failed to schedule pod, all available instance types exceed limits for nodepool: "gpu"'
        c.event(pod, "FailedScheduling", text, last="1m", first="24m", count=5)


@incident(
    story="One node panics and reboots again and again since a job with many short processes started there: six times in 52 minutes. At the moment it is ready, and its pods have just started again.",
    cause="ip-10-24-17-116 has rebooted 6 times in the last 52 minutes (its kernel may panic); its pods restart each time. At the moment it is ready.",
    thread="bottlerocket-os/bottlerocket#4851",
    must=[r"ip-10-24-17-116", r"reboot", n(6), r"hour|5[0-9] ?m"],
    must_not=[LAUNCHES, PENDING, r"(is|been) not ready for|silent|kured", ICE],
)  # fmt: skip
def node_reboots_again_and_again(c: Cluster) -> None:
    usual(c, 3)
    pair = add_node(c, "general", "m6i.2xlarge", c.zones[0], age="9d", ready_since="2m")
    assert pair.name.startswith("ip-10-24-17-116"), pair.name
    node = both(pair)[0]
    for pod in add_workload(c, "ci/runner", on=[pair], count=4, age="3h", cpu="1", memory="3Gi"):
        ended = {"reason": "Unknown", "exitCode": 255, "startedAt": c.at("11m"), "finishedAt": c.at("2m")}
        started = {
            "state": {"running": {"startedAt": c.at("110s")}},
            "restartCount": 6,
            "lastState": {"terminated": ended},
        }
        pod["status"]["containerStatuses"][0] |= started
    for number in range(6):
        minutes = 2 + 10 * number
        text = f"Node {pair.name} has been rebooted, boot id: {uid(c.name, number)}"
        c.event(node, "Rebooted", text, last=f"{minutes}m", source="kubelet")
        c.event(
            node, "InvalidDiskCapacity", "invalid capacity 0 on image filesystem", last=f"{minutes}m", source="kubelet"
        )
    for reason in ("Starting", "NodeReady"):
        text = "Starting kubelet." if reason == "Starting" else f"Node {pair.name} status is now: NodeReady"
        c.event(node, reason, text, last="2m", first="52m", count=6, kind="Normal", source="kubelet")


@incident(
    story="Istio's CNI plugin does not start on the two nodes that joined half an hour ago. Pods there are started without the redirection of their traffic, which their init container istio-validation notices: it exits with 126 and is started again and again. On older nodes the same pods run.",
    cause="6 pods of shop/cart have not started for 28 minutes: their init container istio-validation crashes (exit code 126) on the two new nodes, where istio-cni-node does not run.",
    thread="aws/karpenter-provider-aws#1684",
    must=["shop/cart", n(6), r"istio-validation", r"init container|init:", r"126|crash", r"2[78] ?m", r"istio-cni-node|2 nodes|two nodes|new nodes"],
    must_not=[LAUNCHES, PENDING, r"permission denied|not executable", ICE],
)  # fmt: skip
def istio_validation_fails_on_new_nodes(c: Cluster) -> None:
    old = usual(c)
    add_daemonset(c, "istio-system", "istio-cni-node", cpu="100m", memory="100Mi")
    manifest, template = c.daemonsets[-1]
    fresh = [add_node(c, "general", "m6i.xlarge", zone, age="30m", without=["istio-cni-node"]) for zone in c.zones[:2]]
    for pair in fresh:
        pod = add_pod(
            c, "istio-system", f"istio-cni-node-{suffix(pair.name)}", node=pair, parent=manifest, age="29m", **template
        )
        crash(c, pod, code=1, restarts=9, ago="2m")
    init = {
        "name": "istio-validation",
        "image": "docker.io/istio/proxyv2:1.29.1",
        "resources": {"requests": {"cpu": "10m"}},
    }
    spec = {"initContainers": [init]}
    pods = add_workload(c, "shop/cart", on=old, count=4, replicas=10, age="3d", cpu="100m", memory="128Mi", spec=spec)
    parent = _replica_set(c, "cart")
    ended = {"reason": "Error", "exitCode": 126, "startedAt": c.at("3m"), "finishedAt": c.at("2m50s")}
    back_off = {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container=istio-validation"}
    for number in range(6):
        name = f"{parent['metadata']['name']}-{suffix('cart', 'new', number)}"
        pod = add_pod(c, "shop", name, node=fresh[number % 2], parent=parent, age="28m", cpu="100m", memory="128Mi", labels=pods[0]["metadata"]["labels"], spec=spec, waiting="PodInitializing")  # fmt: skip
        pod["status"]["initContainerStatuses"] = [
            {"name": "istio-validation", "image": init["image"], "ready": False, "restartCount": 9, "state": {"waiting": back_off}, "lastState": {"terminated": ended}}
        ]  # fmt: skip
        for state in pod["status"]["conditions"]:
            if state["type"] == "Initialized":
                state |= {"status": "False", "reason": "ContainersNotInitialized", "message": "containers with incomplete status: [istio-validation]"}  # fmt: skip
        text = "Back-off restarting failed container istio-validation in pod"
        c.event(pod, "BackOff", text, last="15s", first="27m", count=110, source="kubelet")
    for manifest in (parent, c.find("Deployment", "cart")):
        manifest["status"] |= {"replicas": 10, "readyReplicas": 4, "availableReplicas": 4}


@incident(
    story="The pool apps was created without consolidateAfter, which means 0s. Each time a few pods come or go, Karpenter finds a cheaper set of nodes: it replaced eleven nodes in the last hour, and each time the pods of shop/api had to move. No other controller is involved.",
    cause="Consolidation replaced 11 nodes of apps in the last hour, with 33 evictions of shop/api: its consolidateAfter is 0s, so Karpenter consolidates at once after each change of pods.",
    thread="aws/karpenter-provider-aws#7146",
    must=[r"\bapps\b", n(11), r"consolidat|Underutilized", "evict", n(33), "shop/api", r"consolidateAfter|\b0s\b"],
    must_not=[LAUNCHES, PENDING, "drift", "descheduler|autoscaler", "unhealthy"],
)  # fmt: skip
def consolidation_without_a_pause(c: Cluster) -> None:
    usual(c)
    add_pool(c, "apps", labels={"team": "apps"}, disruption={"consolidateAfter": "0s", "budgets": [{"nodes": "20%"}]})
    pairs = [add_node(c, "apps", "m6i.xlarge", c.zones[number % 3], age=f"{3 + 9 * number}m") for number in range(6)]
    pods = add_workload(c, "shop/api", on=pairs, count=18, age="22m", spec={"nodeSelector": {"team": "apps"}})
    replaced(c, "apps", "Underutilized", 11, of=pods)


@quiet(
    story="Kured rebooted three nodes for a kernel update last night. The kubelets shut down gracefully and marked their pods as Failed (reason Terminated). Nothing deletes such pods; their successors have run for nine hours.",
    cause="pods that were ended by reboots of last night are left over.",
    thread="kubernetes/kubernetes#113278",
    must_not=[STUCK, r"shutdown|reboot", r"orders/catalog[^\n]{0,40}(fail|end)"],
)
def fine_pods_of_graceful_shutdowns(c: Cluster) -> None:
    usual(c)
    pairs = [add_node(c, "general", "m6i.2xlarge", zone, age="6d") for zone in c.zones]
    running = add_workload(c, "orders/catalog", on=pairs, count=9, age="9h", cpu="1", memory="2Gi")
    parent = _replica_set(c, "catalog")
    for number in range(9):
        name, age = f"{parent['metadata']['name']}-{suffix('catalog', 'ended', number)}", f"9h{5 + 8 * (number // 3)}m"
        pod = add_pod(c, "orders", name, node=pairs[number // 3], parent=parent, age="4d", labels=running[0]["metadata"]["labels"], cpu="1", memory="2Gi", phase="Failed")  # fmt: skip
        pod["status"] |= {
            "reason": "Terminated",
            "message": "Pod was terminated in response to imminent node shutdown.",
        }
        for state in pod["status"]["containerStatuses"]:
            state["state"]["terminated"] |= {"finishedAt": c.at(age), "exitCode": 143}
        ended = condition("DisruptionTarget", "True", c.at(age), "TerminationByKubelet", "Pod was terminated in response to imminent node shutdown.")  # fmt: skip
        pod["status"]["conditions"].append(ended)


@quiet(
    story="Two nodes joined four minutes ago. As on every start, their kubelets warned of an invalid capacity of the image file system and Karpenter's events say that they cannot be disrupted yet. One Bottlerocket node rebooted once into an update, half an hour ago.",
    cause="kubelets write warnings while they start, and one node rebooted into an update.",
    thread="aws/karpenter-provider-aws#6256",
    must_not=[STUCK, r"disk|capacity 0|reboot"],
)
def fine_warnings_of_starting_kubelets(c: Cluster) -> None:
    pairs = usual(c)
    fresh = [add_node(c, "general", "m6i.xlarge", zone, age="4m") for zone in c.zones[:2]]
    add_workload(c, "orders/search", on=fresh, count=6, age="3m")
    for pair in (*fresh, pairs[0]):
        age = "30m" if pair is pairs[0] else "3m20s"
        node = both(pair)[0]
        text = "invalid capacity 0 on image filesystem"
        c.event(node, "InvalidDiskCapacity", text, last=age, source="kubelet")
        c.event(node, "Starting", "Starting kubelet.", last=age, kind="Normal", source="kubelet")
        for kind in ("NodeHasSufficientMemory", "NodeHasNoDiskPressure", "NodeHasSufficientPID"):
            c.event(node, kind, f"Node {pair.name} status is now: {kind}", last=age, count=3, kind="Normal", source="kubelet")  # fmt: skip
    text = f"Node {pairs[0].name} has been rebooted, boot id: {uid(c.name, 'boot')}"
    c.event(both(pairs[0])[0], "Rebooted", text, last="30m", source="kubelet")
    for pair in fresh:
        text = "Node isn't initialized"
        for manifest in both(pair):
            c.event(manifest, "DisruptionBlocked", text, last="3m", kind="Normal")


@quiet(
    story="A node expired 34 minutes ago. Five of its pods belong to search/index, whose PodDisruptionBudget allows one to be down, and each takes six minutes until it is ready elsewhere. Four have moved, the last four minutes ago and still loading; the fifth is next. The drain goes on as it should.",
    cause="a node drains one pod after the other, as the PodDisruptionBudget wants it.",
    thread="kubernetes-sigs/karpenter#1176",
    must_not=[STUCK, r"never allow", r"blocks? (the )?(drain|eviction|removal)"],
)
def fine_drain_takes_turns(c: Cluster) -> None:
    usual(c)
    old = add_node(c, "general", "m6i.2xlarge", c.zones[1], age="30d34m", deleting="34m")
    conditions(old, condition("Drained", "Unknown", c.at("34m"), "Draining", "Draining"))
    roomy = [add_node(c, "general", "m6i.2xlarge", zone, age="33m") for zone in c.zones[:2]]
    pods = add_workload(c, "search/index", on=[old], count=1, replicas=9, age="12d", cpu="1200m", memory="5Gi")
    parent = _replica_set(c, "index")
    labels = pods[0]["metadata"]["labels"]
    older = add_node(c, "general", "m6i.2xlarge", c.zones[2], age="20d")
    for number, age in enumerate(("9d", "9d", "9d", "9d", "29m", "22m", "14m", "4m")):
        host = roomy[number % 2] if number > 3 else older
        name = f"{parent['metadata']['name']}-{suffix('index', number)}"
        pod = add_pod(c, "search", name, node=host, parent=parent, age=age, cpu="1200m", memory="5Gi", labels=labels)  # fmt: skip
        if age == "4m":
            not_ready(pod)["started"] = False
            c.event(pod, "Unhealthy", "Startup probe failed: HTTP probe failed with statuscode: 503", last="5s", first="3m50s", count=23, source="kubelet")  # fmt: skip
        if number > 3:
            gone = {"apiVersion": "v1", "kind": "Pod", "metadata": dict(pod["metadata"], name=f"{parent['metadata']['name']}-{suffix('index', 'gone', number)}", uid=uid(c.name, number))}  # fmt: skip
            c.event(gone, "Evicted", "Evicted pod: Expired", last=age, kind="Normal")
    for manifest in (parent, c.find("Deployment", "index")):
        manifest["status"] |= {"replicas": 9, "readyReplicas": 8, "availableReplicas": 8}
    add_pdb(c, "search", "index", "index", healthy=8, desired=8, expected=9, maxUnavailable=1)
    text = "Failed to drain node, 1 pods are waiting to be evicted"
    c.event(both(old)[0], "FailedDraining", text, last="20s", first="14m", count=7)


@quiet(
    story="The DaemonSet cilium is being updated, one node after the other. On the node whose agent restarts at the moment, the operator has set the taint node.cilium.io/agent-not-ready for 20 seconds, as it does on every node in turn. A pod that was created in these seconds is pending for 12 seconds.",
    cause="the network agent restarts on one node after the other.",
    thread="cilium/cilium#17103",
    must_not=[STUCK, r"does not (start|run)|not tolerate", "taint"],
)
def fine_agents_restart_in_turn(c: Cluster) -> None:
    taint = {"key": "node.cilium.io/agent-not-ready", "value": "true", "effect": "NoSchedule"}
    pairs = usual(c, 5, template={"startupTaints": [taint]})
    add_daemonset(c, "kube-system", "cilium", cpu="100m", memory="128Mi", critical=True)
    manifest, template = c.daemonsets[-1]
    now = add_node(c, "general", "m6i.xlarge", c.zones[2], age="8d", taints=[taint], without=["cilium"])
    pod = add_pod(c, "kube-system", f"cilium-{suffix(now.name)}", node=now, parent=manifest, age="22s", **template)
    not_ready(pod)
    c.event(pod, "Started", "Started container app", last="15s", kind="Normal", source="kubelet")
    for number, pair in enumerate(pairs[:4]):
        gone = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"cilium-{digest(pair.name)[:5]}", "namespace": "kube-system", "uid": uid(c.name, number)}}  # fmt: skip
        c.event(gone, "Killing", "Stopping container app", last=f"{60 + 45 * number}s", kind="Normal", source="kubelet")
    waiting(c, "orders/mailer", 1, "12s", no_node({"Insufficient cpu": 7, "node(s) had untolerated taint(s)": 1}), cpu="500m", memory="512Mi")  # fmt: skip


@incident(
    story="The notebooks of pool lab have no memory limit. On one node they used up the memory until the kernel killed processes at random (SystemOOM), the kubelet's helpers among them. The kubelet has been silent for 14 minutes.",
    cause="ip-10-24-17-116 has not been ready for 14 minutes (its kubelet is silent): its memory was used up, the kernel killed processes (SystemOOM, 5 times, the last 15 minutes ago).",
    thread="awslabs/amazon-eks-ami#1145",
    must=[r"ip-10-24-17-116", r"not (been )?ready|NotReady|silent|stopped posting", r"1[34] ?m", r"memory|OOM"],
    must_not=[LAUNCHES, PENDING, "MemoryPressure|memory pressure", "network plugin", "drift"],
)  # fmt: skip
def memory_ran_out_before_the_silence(c: Cluster) -> None:
    usual(c, 3)
    add_pool(c, "lab", sizes=("2xlarge",), labels={"team": "lab"})
    pairs = [add_node(c, "lab", "m6i.2xlarge", c.zones[0], age="4d", ready=NOT_READY, ready_since="14m")]
    pairs += [add_node(c, "lab", "m6i.2xlarge", zone, age="4d") for zone in c.zones[1:]]
    assert pairs[0].name.startswith("ip-10-24-17-116"), pairs[0].name
    add_workload(c, "lab/notebook", kind="StatefulSet", on=pairs, count=6, age="3d", cpu="1", memory="2Gi", spec={"nodeSelector": {"team": "lab"}})  # fmt: skip
    node = both(pairs[0])[0]
    for number in range(5):
        text = f"System OOM encountered, victim process: python, pid: {18200 + 37 * number}"
        c.event(node, "SystemOOM", text, last=f"{15 + 2 * number}m", source="kubelet")
    text = f"Node {pairs[0].name} status is now: NodeNotReady"
    c.event(node, "NodeNotReady", text, last="14m", kind="Normal", source="node-controller")


@incident(
    story="The spot instance of db/pg-1 ended without a drain. Its Node is gone, but the VolumeAttachment to it is not: the attach-detach controller detaches only after it has heard of the unmounting, or six minutes, and the driver's controller does not answer. The pod waits on another node for 11 minutes.",
    cause="db/pg-1 has not started for 11 minutes: its volume is still attached to ip-10-24-77-31, a node that no longer exists (Multi-Attach error).",
    thread="aws/aws-node-termination-handler#1124",
    must=["db/pg-1", r"volume", r"attach", r"1[01] ?m", r"ip-10-24-77-31|no longer exist|gone|another node|other node"],
    must_not=[LAUNCHES, PENDING, "used as many|attachments? (is|are) used", "file ?system|superblock", "does not exist: data"],
)  # fmt: skip
def volume_attached_to_a_gone_node(c: Cluster) -> None:
    usual(c)
    hosts = [add_node(c, "general", "m6i.2xlarge", zone, age="5d") for zone in c.zones]
    pods = add_workload(c, "db/pg", kind="StatefulSet", on=hosts, count=3, age="5d", cpu="3", memory="12Gi")
    for number, pod in enumerate(pods):
        pod["spec"]["volumes"] = [add_volume(c, "db", f"data-pg-{number}", hosts[number].zone)]
    late, volume = pods[1], f"pvc-{uid('db', 'data-pg-1')}"
    late["metadata"]["creationTimestamp"] = late["status"]["startTime"] = c.at("11m")
    late["status"]["phase"] = "Pending"
    not_ready(late)["state"] = {"waiting": {"reason": "ContainerCreating"}}
    for state in late["status"]["conditions"]:
        state["lastTransitionTime"] = c.at("11m")
    c.find("StatefulSet", "pg")["status"] |= {"readyReplicas": 2, "availableReplicas": 2}
    spec = {
        "attacher": "ebs.csi.aws.com",
        "nodeName": "ip-10-24-77-31.ec2.internal",
        "source": {"persistentVolumeName": volume},
    }
    c.add("VolumeAttachment", f"csi-{digest(volume)[:32]}", age="2d", spec=spec, status={"attached": True})
    text = f'Multi-Attach error for volume "{volume}" Volume is already exclusively attached to one node and can\'t be attached to another'
    c.event(late, "FailedAttachVolume", text, last="11m", source="attachdetach-controller")


@incident(
    story="The IAM policy of the VPC CNI was removed by mistake 40 minutes ago. aws-node crashes on six running nodes; the nodes stay ready, since their configuration of the CNI is there. Pods that run are fine; four new ones cannot start, because nothing answers the CNI plugin.",
    cause="aws-node crashes on 6 nodes (exit code 1), so 4 pods of orders/promo have not started for 18 minutes: the CNI plugin cannot reach it (connection refused on 127.0.0.1:50051).",
    thread="aws/amazon-vpc-cni-k8s#1425",
    must=["aws-node", n(6), "crash", "orders/promo", n(4), r"1[78] ?m"],
    must_not=[LAUNCHES, PENDING, r"(subnets?|nodes?)[^\n.]{0,40}(full|no (more |free )?(IP )?address|exhaust|run out)", r"not (been )?ready for"],
)  # fmt: skip
def network_agent_crashes_on_running_nodes(c: Cluster) -> None:
    pairs = usual(c, 4)
    pairs += [add_node(c, "general", "m6i.2xlarge", zone, age="6d") for zone in c.zones[:2]]
    made, template = next((made, pod) for made, pod in c.daemonsets if made["metadata"]["name"] == "aws-node")
    for number, pair in enumerate(pairs):
        pair.without = ("aws-node",)
        pod = add_pod(
            c, "kube-system", f"aws-node-{suffix('aws-node', number)}", node=pair, parent=made, age="6d", **template
        )
        crash(c, pod, code=1, restarts=12, ago=f"{30 + 20 * number}s")
    for pod in add_workload(c, "orders/promo", on=pairs[4:], count=4, age="18m", cpu="1", memory="2Gi", waiting="ContainerCreating"):  # fmt: skip
        sandbox = pod["metadata"]["uid"].replace("-", "")
        text = f'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "{sandbox}": plugin type="aws-cni" name="aws-cni" failed (add): add cmd: Error received from AddNetwork gRPC call: rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:50051: connect: connection refused"'
        c.event(pod, "FailedCreatePodSandBox", text, last="14s", first="18m", count=80, source="kubelet")


@incident(
    story="To pause disruption at weekends, someone wrote the schedule `0 0 * * sat-sun`. Cron counts Sunday as 0, so the range runs backwards and cannot be parsed. Karpenter then allows no disruption of the pool at all: the drift of six nodes has waited for nine days.",
    cause="The drift of 6 nodes of web has waited for 9 days: a disruption budget of web cannot be parsed (schedule 0 0 * * sat-sun), so Karpenter allows no disruption of its nodes.",
    thread="kubernetes-sigs/karpenter#1866",
    must=[r"\bweb\b", n(6), "drift", "budget", r"\b9 ?d|\b8d2\d", r"sat-sun|pars|invalid|schedule"],
    must_not=[LAUNCHES, PENDING, r"until \d\d:\d\d", "PodDisruptionBudget|PDB"],
)  # fmt: skip
def weekend_that_runs_backwards(c: Cluster) -> None:
    usual(c)
    budgets = [{"nodes": "20%"}, {"nodes": "0", "schedule": "0 0 * * sat-sun", "duration": "24h"}]
    add_pool(c, "web", disruption={"budgets": budgets}, labels={"team": "web"})
    pairs = [add_node(c, "web", "m6i.xlarge", c.zones[number % 3], age="16d", drifted="9d") for number in range(6)]
    add_workload(c, "shop/front", on=pairs, count=18, age="12d", spec={"nodeSelector": {"team": "web"}})
    text = "No allowed disruptions for disruption reason Drifted due to blocking budget"
    c.event(c.find("NodePool", "web"), "DisruptionBlocked", text, last="20s", first="59m", count=60, kind="Normal")


@incident(
    story="The team of db put karpenter.sh/do-not-disrupt on its three nodes for a migration tonight. It stops consolidation and drift, but not expiry: the nodes were launched together and expire in 42 minutes, and Karpenter evicts their pods then.",
    cause="3 nodes of db expire in 42 minutes although do-not-disrupt is on them: expiry ignores it, and the pods of db/mysql are evicted.",
    thread="aws/karpenter-provider-aws#6977",
    must=[r"\bdb\b", n(3), "expir", r"4[12] ?m", r"do-not-disrupt|protect"],
    must_not=[LAUNCHES, PENDING, r"drift", r"blocks? (them|3 nodes)[^\n]{0,30}no time limit"],
)  # fmt: skip
def protected_nodes_expire(c: Cluster) -> None:
    usual(c)
    add_pool(c, "db", sizes=("2xlarge",), labels={"team": "db"})
    protect = {"karpenter.sh/do-not-disrupt": "true"}
    pairs = [add_node(c, "db", "m6i.2xlarge", zone, age="29d23h18m", annotations=protect) for zone in c.zones]
    add_workload(c, "db/mysql", kind="StatefulSet", on=pairs, age="29d", cpu="5", memory="20Gi", spec={"nodeSelector": {"team": "db"}})  # fmt: skip


@incident(
    story="To have at most one node replaced a day, the budget of general is 0 nodes for 1439 minutes from midnight on: it opens for a single minute, at 23:59 UTC. A replacement needs longer to start than that, so since five days only one of ten drifted nodes was replaced.",
    cause="The disruption budget of general is 0 until 23:59 UTC and opens for one minute a day, so the drift of 9 nodes has not advanced for 5 days.",
    thread="kubernetes-sigs/karpenter#1089",
    must=[r"\bgeneral\b", n(9), "drift", "budget", r"23:59", r"\b5 ?d|\b4d2\d"],
    must_not=[LAUNCHES, PENDING, "never opens|always 0", "PodDisruptionBudget|PDB"],
)  # fmt: skip
def budget_that_opens_for_a_minute(c: Cluster) -> None:
    add_nodeclass(c)
    budgets = [{"nodes": "1"}, {"nodes": "0", "schedule": "@daily", "duration": "1439m"}]
    add_pool(c, "general", disruption={"budgets": budgets})
    fleet(c, "general", "orders/storefront", 9, age="14d", drifted="5d")
    add_workload(
        c, "orders/catalog", on=[add_node(c, "general", "m6i.xlarge", c.zones[0], age="9h30m")], count=3, age="9h"
    )
    text = "No allowed disruptions for disruption reason Drifted due to blocking budget"
    c.event(c.find("NodePool", "general"), "DisruptionBlocked", text, last="20s", first="59m", count=60, kind="Normal")


@quiet(
    story="A gateway is being rolled out. Its old pods finish their connections and may take an hour for that; they have been terminating for 25 minutes on nodes that are ready and stay.",
    cause="pods finish their connections within their long grace period.",
    thread="kubernetes/kubernetes#51835",
    must_not=[STUCK, r"terminat|should have ended|kill"],
)
def fine_gateways_finish_their_connections(c: Cluster) -> None:
    usual(c)
    pairs = [add_node(c, "general", "m6i.2xlarge", zone, age="6d") for zone in c.zones]
    spec = {"terminationGracePeriodSeconds": 3600}
    for pod in add_workload(c, "edge/gateway-old", on=pairs, count=3, age="2d", cpu="1", memory="2Gi", spec=spec):
        pod["metadata"] |= {"deletionTimestamp": c.at("-35m"), "deletionGracePeriodSeconds": 3600}
        not_ready(pod)
        c.event(pod, "Killing", "Stopping container app", last="25m", kind="Normal", source="kubelet")
        text = "Readiness probe failed: HTTP probe failed with statuscode: 503"
        c.event(pod, "Unhealthy", text, last="5s", first="25m", count=150, source="kubelet")
    add_workload(c, "edge/gateway", on=pairs, count=3, age="25m", cpu="1", memory="2Gi", spec=spec)


@quiet(
    story="A report used more memory than its own limit half an hour ago, and the kernel killed it. The node problem detector writes this about the node (OOMKilling), which has plenty of memory. The container was started again and runs.",
    cause="a container exceeded its own memory limit once, and runs again.",
    thread="awslabs/amazon-eks-ami#1145",
    must_not=[STUCK, r"OOM|memory (pressure|was)|out of memory", "crash"],
)
def fine_one_container_exceeded_its_limit(c: Cluster) -> None:
    usual(c)
    host = add_node(c, "general", "m6i.2xlarge", c.zones[1], age="8d")
    pods = add_workload(c, "bi/report", on=[host], count=3, age="5d", cpu="1", memory="4Gi")
    ended = {"reason": "OOMKilled", "exitCode": 137, "startedAt": c.at("2d"), "finishedAt": c.at("31m")}
    again = {"restartCount": 1, "lastState": {"terminated": ended}, "state": {"running": {"startedAt": c.at("30m")}}}
    pods[0]["status"]["containerStatuses"][0] |= again
    text = "Memory cgroup out of memory: Killed process 41234 (python) total-vm:9123456kB, anon-rss:4194304kB, file-rss:0kB"
    c.event(both(host)[0], "OOMKilling", text, last="31m", source="kernel-monitor")
