"""Pods and Karpenter that depend on something else: other nodes, other pods, other clouds, controllers and plugins."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import NO_TYPE, big_fleet, fleet, gone_claim, unschedulable, usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n, quiet
from tests.incidents.node_objects import add_group_node, add_node
from tests.incidents.objects import condition
from tests.incidents.pods import SELECTOR, add_claim, add_workload, no_node, refuse_pods, required, waiting
from tests.incidents.pools import add_nodeclass, add_pool, to_beta
from tests.incidents.providers import aks_pool, gcp_nodeclass, rename, to_aks, to_gcp
from tests.incidents.workloads import crash, not_ready

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
NOT_AWS = r"EC2NodeClass|\bEC2\b|\bAWS\b"
ALIBABA = {
    "karpenter.k8s.aws/ec2nodeclass": "karpenter.k8s.alibabacloud/ecsnodeclass",
    "karpenter.k8s.aws": "karpenter.k8s.alibabacloud",
    "EC2NodeClass": "ECSNodeClass",
    "m6i.xlarge": "ecs.g7.xlarge",
    "m6i.large": "ecs.g7.large",
    "us-east-1a": "cn-hangzhou-h",
    "us-east-1b": "cn-hangzhou-i",
    "us-east-1c": "cn-hangzhou-j",
    "us-east-1": "cn-hangzhou",
    "ebs.csi.aws.com": "diskplugin.csi.alibabacloud.com",
    "ebs-csi-node": "csi-plugin",
    "aws-node": "terway-eniip",
    "eks-pod-identity-agent": "ack-node-agent",
    "eks.amazonaws.com/nodegroup": "node.alibabacloud.com/nodepool-id",
    "eks.amazonaws.com/capacityType": "node.alibabacloud.com/instance-charge-type",
    "topology.k8s.aws/zone-id": "topology.diskplugin.csi.alibabacloud.com/zone",
    ".ec2.internal": "",
    "aws:///": "cn-hangzhou.",
}


@incident(
    story="Half of a move: the old workloads select pool=legacy, a label of four nodes of an Auto Scaling group; Karpenter's NodePool apps has pool=apps. Five new replicas of the ledger find the old nodes full (too many pods) for 50 minutes.",
    cause="5 pods of erp/ledger are pending for 50 minutes: they select pool=legacy, which only 4 nodes outside of Karpenter have, and these are full (too many pods).",
    thread="aws/karpenter-provider-aws#3101",
    must=["erp/ledger", n(5), r"\blegacy\b", n(4), r"too many pods|full|no room", r"\b(49|50) ?m"],
    must_not=[LAUNCHES, ROOM, ICE],
)  # fmt: skip
def legacy_nodes_are_full(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "apps", labels={"pool": "apps"})
    fleet(c, "apps", "shop/web", 12)
    old = [add_group_node(c, "m6i.xlarge", c.zones[number % 3], age="310d") for number in range(4)]
    for pair in old:
        assert pair.node is not None
        labels = pair.node["metadata"]["labels"]
        del labels["eks.amazonaws.com/nodegroup"], labels["eks.amazonaws.com/capacityType"]
        labels["pool"] = "legacy"
        pair.status["allocatable"]["pods"] = "9"
    spec = {"nodeSelector": {"pool": "legacy"}}
    add_workload(c, "erp/books", on=old, count=20, cpu="100m", memory="128Mi", age="90d", spec=spec)
    text = no_node({"Too many pods": 4, SELECTOR: 14})
    waiting(c, "erp/ledger", 5, "50m", text, cpu="100m", memory="128Mi", spec=spec)


@incident(
    story="Karpenter trusts the company's proxy by a CA in the ConfigMap corp-ca, which a clean-up deleted. The next restart of its pods, 31 minutes ago, cannot mount it. Four pods are pending.",
    cause="Karpenter is down for 31 minutes: both its pods wait for the ConfigMap corp-ca, which does not exist; 4 pods are pending.",
    thread="aws/karpenter-provider-aws#2349",
    must=["karpenter", r"0 of 2|not running|down|none", r"corp-ca", n(4), r"3[012] ?m"],
    must_not=[LAUNCHES, ROOM, ICE],
    karpenter_version="1.14.0",
)  # fmt: skip
def karpenter_lacks_its_configmap(c: Cluster) -> None:
    usual(c)
    for manifest in c.objects:
        if manifest["metadata"]["name"].startswith("karpenter-") and manifest["kind"] == "Pod":
            manifest["metadata"]["creationTimestamp"] = manifest["status"]["startTime"] = c.at("31m")
            manifest["status"]["phase"] = "Pending"
            not_ready(manifest)["state"] = {"waiting": {"reason": "ContainerCreating"}}
            for item in manifest["status"]["conditions"]:
                item["lastTransitionTime"] = c.at("31m")
            text = 'MountVolume.SetUp failed for volume "ca" : configmap "corp-ca" not found'
            c.event(manifest, "FailedMount", text, last="50s", first="31m", count=23, source="kubelet")
        elif manifest["metadata"]["name"].startswith("karpenter") and manifest["kind"] in ("Deployment", "ReplicaSet"):
            manifest["status"] |= {"readyReplicas": 0, "availableReplicas": 0}
    c.find("Lease", "karpenter-leader-election")["spec"]["renewTime"] = c.at("31m")
    waiting(c, "orders/checkout", 4, "26m")


@incident(
    story="A project on Google Cloud has 72 CPUs of quota in the region, all of them in use. Each launch of NodePool default fails for 41 minutes; twelve pods are pending.",
    cause="Google Cloud refuses launches of NodePool default because the quota of 72 CPUs in the region is used up (QUOTA_EXCEEDED); 12 pods are pending for 41 minutes.",
    thread="cloudpilot-ai/karpenter-provider-gcp#88",
    must=[r"quota", r"\b72\b|CPUS", r"\bdefault\b", n(12), "etl/loader"],
    must_not=[LAUNCHES, ROOM, NOT_AWS],
)  # fmt: skip
def gcp_has_no_quota_of_cpus(c: Cluster) -> None:
    gcp_nodeclass(c)
    add_pool(c, "default", families=(), sizes=())
    fleet(c, "default", "orders/storefront", 17)
    pods = waiting(c, "etl/loader", 12, "41m")
    error = "creating instance, insufficient capacity, googleapi: Error 403: QUOTA_EXCEEDED - Instance 'karpenter-default-x7k2m' creation failed: Quota 'CPUS' exceeded. Limit: 72.0 in region us-east1."
    for number in range(12):
        claim = gone_claim(c, "default", number)
        c.event(claim, "InsufficientCapacityError", f"NodeClaim {claim['metadata']['name']} event: {error}", last=f"{1 + 3 * number}m")  # fmt: skip
    unschedulable(c, pods, NO_TYPE, minutes=40)
    to_gcp(c)


@incident(
    story="A cluster on Alibaba Cloud. The zone of NodePool rendering is sold out of its type for 26 minutes; the pool allows no other. Six pods are pending.",
    cause="Alibaba Cloud has no stock of ecs.g7.xlarge in cn-hangzhou-h for NodePool render (OperationDenied.NoStock); 6 pods are pending for 26 minutes.",
    thread="cloudpilot-ai/karpenter-provider-alibabacloud#131",
    must=[r"NoStock|sold out|no stock|capacity", r"\brender\b", n(6), "video/render", r"2[4-6] ?m"],
    must_not=[LAUNCHES, ROOM, NOT_AWS],
    settings={"CLUSTER_NAME": "orders-ack"},
)  # fmt: skip
def alibaba_has_no_stock(c: Cluster) -> None:
    manifest = add_nodeclass(c)
    manifest["spec"], manifest["status"] = {"imageSelectorTerms": [{"alias": "AlibabaCloudLinux3"}]}, {"conditions": manifest["status"]["conditions"][-1:]}  # fmt: skip
    add_pool(c, "general", families=(), sizes=())
    add_pool(c, "render", families=(), sizes=(), zones=c.zones[:1])
    fleet(c, "general", "orders/storefront", 4)
    pairs = [add_node(c, "render", "m6i.xlarge", c.zones[0], age="8h") for _ in range(2)]
    pods = add_workload(c, "video/render", on=pairs, count=6, pending=6, pending_since="26m", age="7h", pool="render")
    error = "creating instance, insufficient capacity, ErrorCode: OperationDenied.NoStock, Message: The requested resource is sold out in the specified zone; try other types of resources or other regions and zones."
    for number in range(9):
        claim = gone_claim(c, "render", number)
        c.event(claim, "InsufficientCapacityError", f"NodeClaim {claim['metadata']['name']} event: {error}", last=f"{1 + 3 * number}m")  # fmt: skip
    unschedulable(c, pods[6:], NO_TYPE, minutes=25)
    rename(c.objects, ALIBABA)
    for pair in c.nodes:
        pair.zone = rename(pair.zone, ALIBABA)


@incident(
    story="A typo in the Corefile: since a restart 22 minutes ago both CoreDNS pods crash. Nothing resolves, so nine pods of two services crash as well, on several nodes.",
    cause="Both pods of kube-system/coredns crash for 22 minutes (exit code 1), so names do not resolve; 9 pods of shop/web and shop/cart crash too.",
    thread="coredns/coredns#4175",
    must=["coredns", r"crash|restart", "shop/web", "shop/cart"],
    must_not=[LAUNCHES, ROOM, ICE, r"image[^\n]{0,30}(pull|build)"],
    other=[{"command": ["verdict"], "must": [["coredns.*shop/(web|cart)"]]}],
)  # fmt: skip
def dns_crashes_and_others_follow(c: Cluster) -> None:
    usual(c, 2)
    pairs = [add_node(c, "general", "m6i.xlarge", zone) for zone in c.zones]
    for manifest in c.objects:
        if manifest["kind"] == "Pod" and manifest["metadata"]["name"].startswith("coredns-"):
            crash(c, manifest, code=1, restarts=9, ago="70s")
        elif manifest["metadata"]["name"].startswith("coredns") and manifest["kind"] in ("Deployment", "ReplicaSet"):
            manifest["status"] |= {"readyReplicas": 0, "availableReplicas": 0}
    pods = [*add_workload(c, "shop/web", on=pairs, count=6, cpu="500m", memory="1Gi"), *add_workload(c, "shop/cart", on=pairs, count=3, cpu="500m", memory="1Gi")]  # fmt: skip
    for pod in pods:
        crash(c, pod, code=1, restarts=8, ago="100s")


@incident(
    story="Two pods of an old licence server name their node in spec.nodeName. The node was replaced 25 minutes ago; the pods were created anew by their StatefulSet and stay Pending, without an event.",
    cause="2 pods of erp/license name the node ip-10-24-99-8.ec2.internal in spec.nodeName, which does not exist; they are pending for 25 minutes.",
    thread="kubernetes/kubernetes#72129",
    must=["erp/license", n(2), r"nodeName", r"ip-10-24-99-8", r"not exist|gone|no longer|missing", r"2[45] ?m"],
    must_not=[LAUNCHES, ROOM, ICE],
)  # fmt: skip
def bound_to_a_node_that_is_gone(c: Cluster) -> None:
    usual(c)
    waiting(c, "erp/license", 2, "25m", kind="StatefulSet", scheduled=False, spec={"nodeName": "ip-10-24-99-8.ec2.internal"})  # fmt: skip


@incident(
    story="A mutating webhook of a network team adds the scheduling gate net.corp.example/attach to pods of data/broker. Its controller was never installed in this cluster: four pods are gated for two days, and nothing says so.",
    cause="4 pods of data/broker have been gated for 2 days by the scheduling gate net.corp.example/attach, which nothing removes.",
    thread="kubernetes/enhancements#3521",
    must=["data/broker", n(4), r"\bgate", r"net\.corp\.example/attach", r"\b2 ?d|\b4[78] ?h"],
    must_not=[LAUNCHES, ROOM, ICE, r"unschedulable"],
)  # fmt: skip
def gate_of_a_controller_that_is_not_there(c: Cluster) -> None:
    usual(c)
    gates = {"schedulingGates": [{"name": "net.corp.example/attach"}]}
    for pod in waiting(c, "data/broker", 4, "48h", kind="StatefulSet", age="48h", scheduled=False, spec=gates):
        text = "Scheduling is blocked due to non-empty scheduling gates"
        pod["status"]["conditions"] = [condition("PodScheduled", "False", c.at("48h"), "SchedulingGated", text)]


@incident(
    story="The exporters of a cache must share the node of the cache (podAffinity). The cache itself is pending because its claim names the class gp3-fast, which does not exist, so its three exporters are pending too, for 70 minutes.",
    cause="cache/main-0 is pending for 70 minutes: its claim names the StorageClass gp3-fast, which does not exist; 3 pods of cache/exporter, which must share its node, wait for it.",
    thread="kubernetes-sigs/karpenter#984",
    must=["cache/main-0|main-0", r"gp3-fast", "cache/exporter", n(3), r"affinity|share|same node"],
    must_not=[LAUNCHES, ROOM, ICE],
)  # fmt: skip
def exporters_follow_a_pending_pod(c: Cluster) -> None:
    usual(c)
    add_claim(c, "cache", "data-main-0", "gp3-fast", age="70m")
    text = "0/6 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: 0/6 nodes are available: 6 Preemption is not helpful for scheduling."
    spec = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data-main-0"}}]}
    waiting(c, "cache/main", 1, "70m", text, kind="StatefulSet", cpu="1", memory="2Gi", spec=spec)
    text = no_node({"node(s) didn't match pod affinity rules": 6})
    waiting(c, "cache/exporter", 3, "70m", text, cpu="50m", memory="64Mi", spec=required("podAffinity", "main", HOST))


@incident(
    story="A RuntimeClass names the handler kata-qemu. The new pool sandbox boots the standard AL2023 image, whose containerd does not have it: three pods are bound and never start for 24 minutes.",
    cause="3 pods of ci/sandbox cannot start for 24 minutes: containerd on the nodes of sandbox has no runtime kata-qemu.",
    thread="kata-containers/kata-containers#8407",
    must=["ci/sandbox", n(3), r"kata-qemu", r"2[34] ?m"],
    must_not=[LAUNCHES, ROOM, ICE, r"network|CNI|image"],
)  # fmt: skip
def runtime_of_the_class_is_not_installed(c: Cluster) -> None:
    usual(c)
    add_pool(c, "sandbox", labels={"runtime": "kata"})
    pairs = [add_node(c, "sandbox", "m6i.xlarge", zone, age="26m") for zone in c.zones]
    pods = add_workload(c, "ci/sandbox", on=pairs, age="24m", waiting="ContainerCreating", spec={"runtimeClassName": "kata", "nodeSelector": {"runtime": "kata"}})  # fmt: skip
    for pod in pods:
        text = 'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to get sandbox runtime: no runtime for "kata-qemu" is configured'
        c.event(pod, "FailedCreatePodSandBox", text, last="9s", first="24m", count=110, source="kubelet")


@incident(
    story="The pods of the payment service mount secrets with the Secrets Store CSI driver. Its DaemonSet for AWS does not tolerate the taint of the new pool pci, so there is no provider on its two nodes; four pods do not start for 17 minutes.",
    cause="4 pods of pay/api cannot start for 17 minutes: the Secrets Store CSI driver finds no provider aws on their nodes.",
    thread="aws/secrets-store-csi-driver-provider-aws#58",
    must=["pay/api", n(4), r"provider", r"\baws\b", r"1[67] ?m"],
    must_not=[LAUNCHES, ROOM, ICE],
)  # fmt: skip
def secrets_provider_is_missing(c: Cluster) -> None:
    usual(c)
    taint = {"key": "pci", "value": "true", "effect": "NoSchedule"}
    add_pool(c, "pci", template={"taints": [taint]})
    pairs = [add_node(c, "pci", "m6i.xlarge", zone, age="19m") for zone in c.zones[:2]]
    spec = {"tolerations": [{"key": "pci", "operator": "Exists"}], "nodeSelector": {"karpenter.sh/nodepool": "pci"}}
    pods = add_workload(c, "pay/api", on=pairs, count=4, age="17m", waiting="ContainerCreating", cpu="500m", memory="1Gi", spec=spec)  # fmt: skip
    for pod in pods:
        text = f'MountVolume.SetUp failed for volume "secrets-store" : rpc error: code = Unknown desc = failed to mount secrets store objects for pod pay/{pod["metadata"]["name"]}, err: error connecting to provider "aws": provider not found: provider "aws"'
        c.event(pod, "FailedMount", text, last="40s", first="17m", count=16, source="kubelet")


@incident(
    story="AKS, 120 nodes. The quota of the namespace batch is used up by Jobs that finished long ago but keep their pods; a new Job cannot create any of its six pods for 48 minutes. And a third replica of graph/neo4j may share no zone with the other two, while its pool allows two zones.",
    cause="None of the 6 pods of Job batch/settle can be created for 48 minutes: the ResourceQuota jobs is used up (count/pods); graph/neo4j-2 is pending for 5 hours: its anti-affinity allows one pod per zone, and its pool has two zones.",
    thread="kubernetes/kubernetes#53339",
    must=["batch/settle", r"\bjobs\b", r"quota", "neo4j-2", r"anti-affinity", r"zones?"],
    must_not=[LAUNCHES, ROOM, NOT_AWS],
    karpenter_runs=False,
    karpenter_version="1.12.1",
    settings={"CLUSTER_NAME": "orders-aks"},
    first=4,
)  # fmt: skip
def quota_of_finished_jobs_and_two_zones(c: Cluster) -> None:
    aks_pool(c, zones=c.zones[:2])
    big_fleet(c, "default", 118)
    add_workload(c, "kube-system/konnectivity", on=c.system, cpu="1", memory="1Gi", age="40d")
    pairs = [add_node(c, "default", "m6i.xlarge", zone, age="30d") for zone in c.zones[:2]]
    text = no_node({"node(s) didn't match pod anti-affinity rules": 2, "Insufficient cpu": 120})
    pods = add_workload(c, "graph/neo4j", kind="StatefulSet", on=pairs, pending=1, pending_since="5h", message=text, age="30d", cpu="2", memory="8Gi", spec=required("podAntiAffinity", "neo4j", ZONE))  # fmt: skip
    unschedulable(c, pods[2:], NO_TYPE, minutes=60)
    add_workload(c, "batch/settle", kind="Job", count=0, replicas=6, age="48m")
    text = 'Error creating: pods "settle-" is forbidden: exceeded quota: jobs, requested: count/pods=1, used: count/pods=200, limited: count/pods=200'
    refuse_pods(c, "settle", text, first="48m", last="6m", count=9)
    to_aks(c)


@quiet(
    story="A webhook denied pods of a StatefulSet for six minutes because of a missing label; the label was added, and all three pods have been running for five minutes. The events of then are still there.",
    cause="a webhook denied pods until their template was mended, and all pods exist.",
    thread="kyverno/kyverno#9587",
    must_not=[r"No new pods|den(y|ie)", r"\bpending\b"],
)
def fine_webhook_denied_pods_before(c: Cluster) -> None:
    usual(c, 6)
    pods = add_workload(c, "mq/nats", on=c.nodes[2:5], age="5m", cpu="100m", memory="128Mi")
    text = f"Error creating: admission webhook \"validate.kyverno.svc-fail\" denied the request: \n\nresource Pod/mq/{pods[0]['metadata']['name']} was blocked due to the following policies \n\nrequire-team:\n  check-team: 'validation error: label team is required. rule check-team failed at path /metadata/labels/team/'\n"
    refuse_pods(c, "nats", text, first="11m", last="6m", count=13)


@quiet(
    story="A cluster that is still on Karpenter 0.37, with the v1beta1 API. kubectl's lists: five nodes, one pool, all pods run.",
    cause="an older Karpenter serves its older API, and all is fine.",
    thread="aws/karpenter-provider-aws#7276",
    must_not=[r"CustomResourceDefinition|CRDs?\b", r"not ready|NotReady", r"\bpending\b"],
    karpenter_version="0.37.5",
    listed=("Node", "NodePool", "NodeClaim", "EC2NodeClass", "Pod", "Event", "Deployment", "ReplicaSet", "DaemonSet"),
)
def fine_beta_api(c: Cluster) -> None:
    usual(c, 5)
    to_beta(c)


@quiet(
    story="BATCH_IDLE_DURATION is 20s and BATCH_MAX_DURATION 60s, to get larger nodes. Seven pods of a rollout have been pending for 45 seconds, and Karpenter still collects.",
    cause="Karpenter collects pods for up to a minute, as it was told to.",
    thread="aws/karpenter-provider-aws#5455",
    must_not=["stuck", r"none was launched", r"no event"],
    settings={"BATCH_IDLE_DURATION": "20s", "BATCH_MAX_DURATION": "60s"},
)
def fine_batch_of_a_minute(c: Cluster) -> None:
    usual(c, 7)
    waiting(c, "orders/checkout", 7, "45s")


@quiet(
    story="A Deployment with one pod per zone (required anti-affinity) and maxUnavailable 1 is being rolled out: an old pod terminates for 8 seconds, and its successor is pending until it is gone.",
    cause="a rollout waits some seconds for an old pod to end.",
    thread="kubernetes/kubernetes#88308",
    must_not=["stuck", r"anti-affinity[^\n]{0,40}(never|pending)", LAUNCHES],
)
def fine_rollout_waits_for_an_old_pod(c: Cluster) -> None:
    usual(c)
    pairs = [add_node(c, "general", "m6i.xlarge", zone) for zone in c.zones]
    text = no_node({"node(s) didn't match pod anti-affinity rules": 3, "Insufficient cpu": 6})
    pods = add_workload(c, "mq/nats", on=pairs, pending=1, pending_since="8s", replicas=3, message=text, cpu="1", memory="2Gi", spec=required("podAntiAffinity", "nats", ZONE))  # fmt: skip
    pods[0]["metadata"] |= {"deletionTimestamp": c.at("-22s"), "deletionGracePeriodSeconds": 30}


@quiet(
    story="Pods of the managed node group need a third node. The Cluster Autoscaler, which serves that group only, has triggered it 35 seconds ago; Karpenter has nothing to do with them.",
    cause="the Cluster Autoscaler adds a node to the group that pods select.",
    thread="kubernetes/autoscaler#5394",
    must_not=["stuck", r"does not manage[^\n]{0,80}refuse", LAUNCHES],
)
def fine_node_group_scales_up(c: Cluster) -> None:
    usual(c, 5)
    add_workload(c, "kube-system/cluster-autoscaler", on=c.system[:1], cpu="20m", memory="100Mi", age="60d", image="registry.k8s.io/autoscaling/cluster-autoscaler:v1.35.0")  # fmt: skip
    spec = {"nodeSelector": {"eks.amazonaws.com/nodegroup": "system"}}
    text = no_node({"Insufficient memory": 2, SELECTOR: 5})
    for pod in waiting(c, "ops/vault", 2, "50s", text, cpu="300m", memory="4Gi", spec=spec):
        text = "pod triggered scale-up: [{eks-system-9ac1f2 2->3 (max: 6)}]"
        c.event(pod, "TriggeredScaleUp", text, last="35s", kind="Normal", source="cluster-autoscaler")
