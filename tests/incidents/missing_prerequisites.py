"""Pods that are pending because something that they or Karpenter rely on is missing, refused or set to another value."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import NO_TYPE, big_fleet, fleet, gone_claim, nominated, refused, unschedulable, usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n
from tests.incidents.node_objects import CNI_NOT_READY, add_node, both
from tests.incidents.objects import condition
from tests.incidents.other_clouds import only_on
from tests.incidents.pods import (  # fmt: skip
    SELECTOR,
    add_claim,
    add_namespace,
    add_workload,
    matching,
    no_node,
    refuse_pods,
    required,
    waiting,
)
from tests.incidents.pools import add_karpenter, add_nodeclass, add_pool
from tests.incidents.providers import AUTO_MODE, aks_pool, gcp_nodeclass, rename, to_aks, to_gcp
from tests.incidents.workloads import not_ready

NOT_AWS = r"EC2NodeClass|\bEC2\b|\bAWS\b"
ZONE = "topology.kubernetes.io/zone"


@incident(
    story="A cluster on Google Cloud whose range for pods has room for nine nodes. Three new nodes get no part of it (CIDRNotAvailable), so their network plugin does not start and they stay NotReady for 17 minutes; nine pods are pending.",
    cause="The cluster's pod address range is used up (CIDRNotAvailable): 3 new nodes of general get no pod CIDR and stay NotReady for 17 minutes; 9 pods of orders/checkout are pending.",
    thread="kubernetes/kubernetes#85866, aws/eks-anywhere#6184",
    must=[r"CIDR|(pod|address) range", r"\bgeneral\b|ip-10-24", n(3), n(9), r"1[678] ?m"],
    must_not=[LAUNCHES, ROOM, ICE, NOT_AWS, r"(agent|daemonset|netd)[^\n]{0,40}(crash|not run|missing)"],
)  # fmt: skip
def pod_range_of_the_cluster_is_used_up(c: Cluster) -> None:
    gcp_nodeclass(c)
    add_pool(c, "general", families=(), sizes=())
    fleet(c, "general", "orders/storefront", 7)
    for number, pair in enumerate(c.nodes):
        assert pair.node is not None
        pair.node["spec"]["podCIDR"] = f"10.8.{number}.0/24"
    why = ("NodeNotReady", "Node status is NotReady")
    fresh = [add_node(c, "general", "m6i.xlarge", zone, age="17m", stage="Registered", uninitialized=why, ready=CNI_NOT_READY) for zone in c.zones]  # fmt: skip
    for pair in fresh:
        text = f"Node {pair.name} status is now: CIDRNotAvailable"
        c.event(both(pair)[0], "CIDRNotAvailable", text, last="8s", first="16m", count=88, kind="Normal", source="cidrAllocator")  # fmt: skip
    text = no_node({"node(s) had untolerated taint {node.kubernetes.io/not-ready: }": 3, "Insufficient cpu": 9})
    nominated(c, waiting(c, "orders/checkout", 9, "18m", text), fresh, last="20s", count=90)
    to_gcp(c)


@incident(
    story="A new Kyverno policy admits images of the company's registry only. Karpenter's nodes were patched last night, and since then its ReplicaSet cannot create its two pods, which come from public.ecr.aws. Eight pods are pending.",
    cause="Karpenter is down for 26 minutes: none of its 2 pods can be created, because Kyverno's policy restrict-registries denies them; 8 pods are pending.",
    thread="kyverno/kyverno#9587",
    must=["karpenter", r"down|not running|no (running )?pods?\b|0 of 2|none of", r"kyverno|restrict-registries|webhook", r"den(y|ie)|refus|reject|block", n(8)],
    must_not=[LAUNCHES, ROOM, ICE, r"scaled to (0|zero)|0 replicas"],
    karpenter_runs=False,
)  # fmt: skip
def karpenter_is_denied_by_a_policy(c: Cluster) -> None:
    add_karpenter(c, pending_since="26m")
    usual(c)
    text = "Error creating: admission webhook \"validate.kyverno.svc-fail\" denied the request: \n\nresource Pod/kube-system/karpenter-6f8d7c9b54-kx2vw was blocked due to the following policies \n\nrestrict-registries:\n  autogen-registries: 'validation error: images must come from registry.example. rule autogen-registries failed at path /spec/containers/0/image/'\n"
    refuse_pods(c, "karpenter", text, first="26m", last="70s", count=18)
    waiting(c, "orders/checkout", 8, "22m")


@incident(
    story="Somebody deleted the namespace karpenter instead of its release in a test namespace. Karpenter's Deployment, pods and lease are gone; the namespace stays Terminating because of an ExternalSecret's finalizer. Six pods are pending for 38 minutes.",
    cause="Karpenter is gone: its namespace karpenter is being deleted for 42 minutes, so nothing launches for 6 pending pods.",
    thread="aws/karpenter-provider-aws#4105",
    must=["karpenter", r"namespace", r"delet|terminat", n(6), r"3[78] ?m|4[012] ?m"],
    must_not=[LAUNCHES, ROOM, ICE, r"nothing (is )?wrong with karpenter"],
    karpenter_runs=False,
)  # fmt: skip
def namespace_of_karpenter_is_deleted(c: Cluster) -> None:
    usual(c, 6)
    since = c.at("42m")
    left = "Some content in the namespace has finalizers remaining: externalsecrets.external-secrets.io/externalsecret-cleanup in 1 resource instances"
    c.add("Namespace", "karpenter", age="300d", deletionTimestamp=since, labels={"kubernetes.io/metadata.name": "karpenter"}, spec={"finalizers": ["kubernetes"]}, status={"phase": "Terminating", "conditions": [condition("NamespaceFinalizersRemaining", "True", since, "SomeFinalizersRemain", left)]})  # fmt: skip
    add_workload(c, "kube-system/konnectivity", on=c.system, cpu="1", memory="1Gi", age="40d")
    waiting(c, "orders/checkout", 6, "38m")


@incident(
    story="After a Helm upgrade both pods of Karpenter run and never become ready: a network policy keeps the kubelet's probes and the API server away. No pod has taken the lease; seven pods are pending.",
    cause="Karpenter is down: both its pods run but are not ready for 24 minutes (their readiness probe times out), and none has taken the lease; 7 pods are pending.",
    thread="aws/karpenter-provider-aws#8580",
    must=["karpenter", r"0 of 2|not ready|none[^\n]{0,20}ready|no pod[^\n]{0,30}ready", n(7), r"2[2345] ?m"],
    must_not=[LAUNCHES, ROOM, ICE, r"crash"],
    karpenter_version="1.13.1",
)  # fmt: skip
def karpenter_runs_and_is_never_ready(c: Cluster) -> None:
    usual(c)
    for manifest in c.objects:
        if not manifest["metadata"]["name"].startswith("karpenter"):
            continue
        if manifest["kind"] == "Pod":
            manifest["metadata"]["creationTimestamp"] = manifest["status"]["startTime"] = c.at("24m")
            not_ready(manifest)["state"] = {"running": {"startedAt": c.at("24m")}}
            for item in manifest["status"]["conditions"]:
                item["lastTransitionTime"] = c.at("24m")
            text = 'Readiness probe failed: Get "http://10.24.16.77:8081/readyz": context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
            c.event(manifest, "Unhealthy", text, last="6s", first="23m", count=142, source="kubelet")
        elif manifest["kind"] in ("Deployment", "ReplicaSet"):
            manifest["status"] |= {"readyReplicas": 0, "availableReplicas": 0, "unavailableReplicas": 2}
    c.find("Lease", "karpenter-leader-election")["spec"]["renewTime"] = c.at("24m")
    waiting(c, "orders/checkout", 7, "21m")


@incident(
    story="The team moved its encoder from self-managed Karpenter to a cluster with EKS Auto Mode and kept the selector karpenter.k8s.aws/instance-category. Auto Mode's labels begin with eks.amazonaws.com. Five pods are pending for 31 minutes.",
    cause="5 pods of media/encode select karpenter.k8s.aws/instance-category, a label that EKS Auto Mode does not have (it has eks.amazonaws.com/instance-category).",
    thread="awslabs/ai-on-eks#112",
    must=["media/encode", n(5), r"karpenter\.k8s\.aws/instance-category", r"eks\.amazonaws\.com/instance-category"],
    must_not=[LAUNCHES, ROOM, ICE, r"karpenter (is )?(down|not running)"],
    karpenter_runs=False,
)  # fmt: skip
def labels_of_another_karpenter(c: Cluster) -> None:
    only_on(c, {"eks.amazonaws.com/nodegroup": "system"})
    add_nodeclass(c)["spec"] = {"role": "AmazonEKSAutoNodeRole", "ephemeralStorage": {"size": "80Gi"}}
    add_pool(c, "general-purpose", families=("m6i", "c6i"), sizes=(), labels={"eks.amazonaws.com/compute-type": "auto"})
    fleet(c, "general-purpose", "orders/storefront", 4)
    rename(c.objects, AUTO_MODE)
    waiting(c, "media/encode", 5, "31m", spec={"nodeSelector": {"karpenter.k8s.aws/instance-category": "c"}})


@incident(
    story="EKS Auto Mode with its two built-in NodePools, general-purpose and system, which allow the categories c, m and r. Two pods of a model server request a GPU; no pool has one. They are pending for 3 hours.",
    cause="2 pods of ml/whisper request nvidia.com/gpu, and neither NodePool (general-purpose, system) has instance types with GPUs.",
    thread="aws/containers-roadmap#2532",
    must=["ml/whisper", n(2), r"nvidia\.com/gpu|\bGPUs?\b", r"no (allowed |compatible )?(instance )?types?|no NodePool|neither"],
    must_not=[LAUNCHES, ROOM, ICE, r"device plugin"],
    karpenter_runs=False,
)  # fmt: skip
def auto_mode_without_gpus(c: Cluster) -> None:
    only_on(c, {"eks.amazonaws.com/nodegroup": "system"})
    add_nodeclass(c)["spec"] = {"role": "AmazonEKSAutoNodeRole", "ephemeralStorage": {"size": "80Gi"}}
    wants = [
        {"key": "karpenter.k8s.aws/instance-category", "operator": "In", "values": ["c", "m", "r"]},
        {"key": "karpenter.k8s.aws/instance-generation", "operator": "Gt", "values": ["4"]},
    ]
    auto = {"eks.amazonaws.com/compute-type": "auto"}
    only = {"taints": [{"key": "CriticalAddonsOnly", "effect": "NoSchedule"}]}
    add_pool(c, "general-purpose", families=(), sizes=(), requirements=wants, labels=auto)
    add_pool(c, "system", families=(), sizes=(), requirements=wants, template=only, labels=auto)
    fleet(c, "general-purpose", "orders/storefront", 3)
    spec = {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]}
    text = no_node({"Insufficient nvidia.com/gpu": 5})
    waiting(c, "ml/whisper", 2, "3h", text, cpu="2", memory="8Gi", requests={"nvidia.com/gpu": "1"}, spec=spec)
    rename(c.objects, AUTO_MODE)


@incident(
    story="A restore drill: the claim of mysql-restore-0 takes its data from the VolumeSnapshot nightly-20261120, which the retention job deleted two days ago. The driver cannot create the volume for 44 minutes.",
    cause="db/mysql-restore-0 is pending for 44 minutes: its volume cannot be created, because the VolumeSnapshot nightly-20261120 does not exist.",
    thread="digitalocean/csi-digitalocean#137",
    must=["mysql-restore", r"snapshot", "nightly-20261120", r"4[345] ?m"],
    must_not=[LAUNCHES, ROOM, ICE, r"driver[^\n]{0,40}(not (run|install)|crash)"],
)  # fmt: skip
def snapshot_of_the_volume_is_gone(c: Cluster) -> None:
    usual(c)
    room = add_node(c, "general", "m6i.2xlarge", c.zones[1], age="43m")
    claim = add_claim(c, "db", "data-mysql-restore-0", "gp3", age="44m")
    claim["spec"]["dataSource"] = claim["spec"]["dataSourceRef"] = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "nightly-20261120"}  # fmt: skip
    claim["metadata"]["annotations"] = {"volume.kubernetes.io/selected-node": room.name, "volume.kubernetes.io/storage-provisioner": "ebs.csi.aws.com"}  # fmt: skip
    text = 'failed to provision volume with StorageClass "gp3": error getting handle for DataSource Type VolumeSnapshot by Name nightly-20261120: error getting snapshot nightly-20261120 from api server: volumesnapshots.snapshot.storage.k8s.io "nightly-20261120" not found'
    c.event(claim, "ProvisioningFailed", text, last="2m", first="43m", count=16, source="ebs.csi.aws.com_ebs-csi-controller-7c9f_1b2c")  # fmt: skip
    spec = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data-mysql-restore-0"}}]}
    text = 'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded'
    pods = waiting(c, "db/mysql-restore", 1, "44m", text, kind="StatefulSet", cpu="2", memory="8Gi", spec=spec)
    nominated(c, pods, [room], last="43m")


@incident(
    story="A cluster of 240 nodes. The data team got a ResourceQuota with limits.cpu and limits.memory today; the pods of its rollout state none, so four cannot be created. And five pods of another team select team=ml-infra, while the pool has ml_infra.",
    cause="None of the 4 new pods of data/etl can be created for 33 minutes: the quota of the namespace demands limits.cpu and limits.memory; 5 pods of ml/serve select team ml-infra, which no NodePool has.",
    thread="kubernetes/kubernetes#80217",
    must=["data/etl", r"quota", r"limits\.cpu|limits\.memory|(state|specify|have|set)[^\n]{0,20} limits?", "ml/serve", n(5), r"ml-infra"],
    must_not=[LAUNCHES, ROOM, ICE, r"quota[^\n]{0,40}(exhausted|used up|exceeded)"],
    first=4,
)  # fmt: skip
def quota_demands_limits_and_a_misspelt_team(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    add_pool(c, "ml", labels={"team": "ml_infra"})
    big_fleet(c, "general", 238)
    fleet(c, "ml", "ml/notebook", 2)
    add_workload(c, "data/etl", on=c.nodes[2:10], count=8, pending=0, replicas=12, cpu="20m", memory="32Mi")
    text = 'Error creating: pods "etl-5d9f8b7c66-" is forbidden: failed quota: compute: must specify limits.cpu for: app; limits.memory for: app'
    refuse_pods(c, "etl", text, first="33m", last="2m", count=19)
    waiting(c, "ml/serve", 5, "50m", spec={"nodeSelector": {"team": "ml-infra"}})


@incident(
    story="After out-of-memory kills somebody raised VM_MEMORY_OVERHEAD_PERCENT to 0.3. Karpenter now expects 22Gi of an r6i.xlarge with 32Gi, and the two pods of 24Gi of a new search fit on no type of the new NodePool vectors.",
    cause="2 pods of search/vector request 24Gi of memory, more than Karpenter expects of an r6i.xlarge, because VM_MEMORY_OVERHEAD_PERCENT is 0.3.",
    thread="aws/karpenter-provider-aws#5161",
    must=["search/vector", n(2), r"24 ?Gi|memory", r"VM_MEMORY_OVERHEAD_PERCENT|overhead"],
    must_not=[LAUNCHES, ROOM, ICE],
    settings={"VM_MEMORY_OVERHEAD_PERCENT": "0.3"},
)  # fmt: skip
def memory_overhead_is_set_too_high(c: Cluster) -> None:
    usual(c, 3)
    add_pool(c, "vectors", families=("r6i",), sizes=("xlarge",))
    pods = waiting(c, "search/vector", 2, "55m", cpu="3", memory="24Gi", pool="vectors")
    unschedulable(c, pods, NO_TYPE, minutes=54)


@incident(
    story="To get larger nodes somebody set BATCH_IDLE_DURATION to 5m and BATCH_MAX_DURATION to 20m. A CronJob adds a pod each minute, so a batch only ends after 20 minutes. Nine pods are pending, the oldest for 13 minutes, and no NodeClaim was made.",
    cause="9 pods are pending for up to 13 minutes because Karpenter still collects pods: BATCH_IDLE_DURATION is 5m and BATCH_MAX_DURATION 20m.",
    thread="aws/karpenter-provider-aws#5455",
    must=["etl/tick", n(9), r"batch"],
    must_not=[ICE, r"karpenter (is )?(down|not running)|denie|refus"],
    settings={"BATCH_IDLE_DURATION": "5m", "BATCH_MAX_DURATION": "20m"},
)  # fmt: skip
def batches_take_twenty_minutes(c: Cluster) -> None:
    usual(c)
    for number in range(9):
        waiting(c, f"etl/tick-{29400 + number}", 1, f"{13 - number}m", kind="Job", age=f"{13 - number}m")


@incident(
    story="The vault must run on the managed node group, which has two nodes and is at its largest size. Two more replicas and an injector are pending for an hour; Karpenter never launches nodes of that group.",
    cause="3 pods of ops/vault select the managed node group system, whose 2 nodes are full; no NodePool can launch nodes for them.",
    thread="aws/karpenter-provider-aws#3798",
    must=["ops/vault", n(3), r"node ?group", r"\bsystem\b|nodegroup", r"full|no room|insufficient|do(es)? not fit|no NodePool|not Karpenter|does not manage"],
    must_not=[LAUNCHES, ROOM, ICE],
)  # fmt: skip
def node_group_is_full(c: Cluster) -> None:
    usual(c, 5)
    spec = {"nodeSelector": {"eks.amazonaws.com/nodegroup": "system"}}
    text = no_node({"Insufficient memory": 2, SELECTOR: 5})
    pods = add_workload(c, "ops/vault", kind="StatefulSet", on=c.system, pending=3, pending_since="61m", message=text, cpu="300m", memory="4Gi", age="30d", spec=spec)  # fmt: skip
    unschedulable(c, pods[2:], 'incompatible requirements, label "eks.amazonaws.com/nodegroup" does not have known values', minutes=60)  # fmt: skip


@incident(
    story="AKS with node auto provisioning and a NodePool for spot. The subscription has reached its regional quota of spot cores, so Azure refuses each machine for 27 minutes. Eight pods are pending.",
    cause="Azure refuses spot machines for NodePool default because the subscription's regional quota of spot cores (low priority) is reached; 8 pods are pending for 27 minutes.",
    thread="Azure/karpenter-provider-azure#437",
    must=[r"quota", r"spot|low.?priority", r"\bdefault\b", n(8), r"2[2-7] ?m"],
    must_not=[LAUNCHES, ROOM, NOT_AWS, "sold out"],
    karpenter_runs=False,
    karpenter_version="1.7.3",
    settings={"CLUSTER_NAME": "orders-aks"},
)  # fmt: skip
def spot_cores_of_the_subscription(c: Cluster) -> None:
    aks_pool(c, capacity=("spot",))
    pairs = [add_node(c, "default", "m6i.xlarge", zone, capacity="spot", age="5h") for zone in c.zones]
    add_workload(c, "orders/storefront", on=pairs, count=9, age="4h")
    add_workload(c, "kube-system/konnectivity", on=c.system, cpu="1", memory="1Gi", age="40d")
    pods = waiting(c, "etl/loader", 8, "27m")
    for number in range(8):
        claim = gone_claim(c, "default", number)
        text = "creating instance failed: this subscription has reached the regional vCPU quota for spot (LowPriorityQuota) in this region. To scale beyond this limit, please review the quota increase process here: https://learn.microsoft.com/en-us/azure/quotas/spot-quota"
        c.event(claim, "InsufficientCapacityError", f"NodeClaim {claim['metadata']['name']} event: {text}", last=f"{1 + 3 * number}m")  # fmt: skip
    unschedulable(c, pods, NO_TYPE, minutes=25)
    to_aks(c)


@incident(
    story="The CMS of the marketing team wants its uploads on all three replicas and asks for a ReadWriteMany volume of the class gp3. EBS has no such volumes: the driver refuses for 52 minutes, the node launched for the pods is empty.",
    cause="3 pods of cms/uploads are pending for 52 minutes: their volume cannot be created, because its access mode ReadWriteMany is not supported by the class gp3 (EBS).",
    thread="kubernetes-sigs/aws-ebs-csi-driver#2237",
    must=["cms/uploads", n(3), r"ReadWriteMany|MULTI_NODE|access ?mode", r"5[123] ?m"],
    must_not=[LAUNCHES, ROOM, ICE],
)  # fmt: skip
def shared_volume_of_a_block_device(c: Cluster) -> None:
    usual(c)
    claim = add_claim(c, "cms", "uploads", "gp3", age="52m")
    claim["spec"]["accessModes"] = ["ReadWriteMany"]
    room = add_node(c, "general", "m6i.xlarge", c.zones[0], age="51m")
    claim["metadata"]["annotations"] = {"volume.kubernetes.io/selected-node": room.name}
    text = 'failed to provision volume with StorageClass "gp3": rpc error: code = InvalidArgument desc = Volume capabilities MULTI_NODE_MULTI_WRITER not supported. Only AccessModes[ReadWriteOnce] supported.'
    c.event(claim, "ProvisioningFailed", text, last="40s", first="51m", count=24, source="ebs.csi.aws.com_ebs-csi-controller-7c9f_1b2c")  # fmt: skip
    spec = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "uploads"}}]}
    text = 'running PreBind plugin "VolumeBinding": binding volumes: provisioning failed for PVC "uploads"'
    pods = waiting(c, "cms/uploads", 3, "52m", text, spec=spec)
    nominated(c, pods, [room], last="51m")


@incident(
    story="shop/web must be spread over the three zones (DoNotSchedule). The subnet of us-east-1c has no free addresses, so EC2 refuses instances there for 29 minutes, and the spread allows no further pod in the other zones. Three pods are pending.",
    cause="3 pods of shop/web are pending for 29 minutes: their zone spread needs us-east-1c next, where the subnet has no free addresses.",
    thread="aws/karpenter-provider-aws#5234",
    must=["shop/web", n(3), r"address|subnet", r"1c\b", r"2[5-9] ?m|30 ?m"],
    must_not=[LAUNCHES, ROOM, r"sold out|EC2 has no"],
)  # fmt: skip
def spread_needs_the_full_subnet(c: Cluster) -> None:
    usual(c, 3)
    c.find("EC2NodeClass", "default")["status"]["subnets"][2]["id"] = "subnet-0c51d9a7e2f84b603"
    pairs = [add_node(c, "general", "m6i.xlarge", zone) for zone in (c.zones[0], c.zones[0], c.zones[1], c.zones[1], c.zones[2])]  # fmt: skip
    spread = [matching("web", maxSkew=1, topologyKey=ZONE, whenUnsatisfiable="DoNotSchedule")]
    text = no_node({"Insufficient cpu": 4, "node(s) didn't match pod topology spread constraints": 6})
    pods = add_workload(c, "shop/web", on=pairs, pending=3, pending_since="29m", message=text, cpu="3", memory="10Gi", spec={"topologySpreadConstraints": spread})  # fmt: skip
    error = "InsufficientFreeAddressesInSubnet: There are not enough free addresses in subnet 'subnet-0c51d9a7e2f84b603' to satisfy the requested number of instances."
    refused(c, "general", [error], pods[5:], every=3, times=9)


@incident(
    story="NATS has one pod per zone (required anti-affinity on the zone) in a Deployment with maxSurge 1 and maxUnavailable 0. Its rollout made a fourth pod, which finds an old pod in each zone, and deletes no old one before the new is ready: stuck for 2 hours.",
    cause="A new pod of mq/nats is pending for 2 hours: its anti-affinity allows one pod per zone, and the 3 old pods are in all three zones, which its rolling update does not delete first.",
    thread="kubernetes/kubernetes#88308",
    must=["mq/nats", r"anti-affinity", r"zones?", r"\b(three|3|all|each|every)\b|1a, us-east-1b, us-east-1c", r"\b2 ?h|1[12]\d ?m"],
    must_not=[LAUNCHES, ROOM, ICE],
)  # fmt: skip
def rollout_with_one_pod_per_zone(c: Cluster) -> None:
    usual(c)
    pairs = [add_node(c, "general", "m6i.xlarge", zone) for zone in c.zones]
    text = no_node({"node(s) didn't match pod anti-affinity rules": 3, "Insufficient cpu": 6})
    add_workload(c, "mq/nats", on=pairs, pending=1, pending_since="2h", replicas=3, message=text, cpu="1", memory="2Gi", spec=required("podAntiAffinity", "nats", ZONE))  # fmt: skip
    c.find("Deployment", "nats")["spec"]["strategy"] = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}, "type": "RollingUpdate"}  # fmt: skip


@incident(
    story="Somebody sent kubectl's lists of a few kinds, without events. The limit of NodePool general is reached and four pods are pending for it; and the claim of influx-0 names the class fast-ssd, which does not exist.",
    cause="NodePool general is at its limit of 16 cores, so 4 pods of orders/checkout are pending; tsdb/influx-0 waits for a volume of the StorageClass fast-ssd, which does not exist.",
    thread="kubernetes-sigs/karpenter#1747",
    must=[r"\bgeneral\b", r"limit", "orders/checkout", n(4), "influx-0", "fast-ssd"],
    must_not=[LAUNCHES, ROOM, ICE, r"karpenter (is )?(down|not running)"],
    listed=("Node", "NodePool", "NodeClaim", "EC2NodeClass", "Pod", "PersistentVolumeClaim", "PersistentVolume", "StorageClass"),
    first=4,
)  # fmt: skip
def limit_and_a_missing_class_in_lists(c: Cluster) -> None:
    usual(c, 4, limits={"cpu": "16"})
    waiting(c, "orders/checkout", 4, "47m")
    add_claim(c, "tsdb", "data-influx-0", "fast-ssd", age="3h")
    spec = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data-influx-0"}}]}
    text = "0/6 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: 0/6 nodes are available: 6 Preemption is not helpful for scheduling."
    waiting(c, "tsdb/influx", 1, "3h", text, kind="StatefulSet", cpu="500m", memory="1Gi", spec=spec)


@incident(
    story="Local disks are given out by TopoLVM. Its driver reports 20Gi of free storage on each node, and the new shard wants 200Gi. Karpenter knows nothing of a node's storage capacity and expects the pod on a node with free CPU, kube-scheduler refuses for 36 minutes.",
    cause="tsdb/victoria-2 is pending for 36 minutes: no node has the 200Gi of free storage that its volume of the class topolvm wants; Karpenter, which does not know the storage capacity of nodes, launches none.",
    thread="kubernetes-sigs/karpenter#2109",
    must=["victoria-2", r"storage", r"free|capacity|enough|200Gi", r"3[567] ?m"],
    must_not=[LAUNCHES, ICE],
)  # fmt: skip
def local_storage_is_used_up(c: Cluster) -> None:
    usual(c)
    pairs = [add_node(c, "general", "m6i.2xlarge", zone, age="30d") for zone in c.zones]
    c.add("StorageClass", "topolvm", age="200d", provisioner="topolvm.io", reclaimPolicy="Delete", volumeBindingMode="WaitForFirstConsumer")  # fmt: skip
    add_claim(c, "tsdb", "data-victoria-2", "topolvm", age="36m")
    text = no_node({"node(s) did not have enough free storage": 3, "Insufficient cpu": 6})
    pods = add_workload(c, "tsdb/victoria", kind="StatefulSet", on=pairs[:2], pending=1, pending_since="36m", message=text, age="30d", cpu="4", memory="12Gi")  # fmt: skip
    pods[2]["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "data-victoria-2"}}]
    nominated(c, pods[2:], pairs[2:], last="15s", count=25)


@incident(
    story="A Kyverno policy about nodes also matches Pod/binding. kube-scheduler finds a node for each pod of pay/risk, and the webhook denies the binding (SchedulerError). Five pods are pending for 19 minutes, although the nodes have room.",
    cause="5 pods of pay/risk are pending for 19 minutes: the webhook validate.kyverno.svc-fail denies their binding to nodes.",
    thread="kyverno/kyverno#3784",
    must=["pay/risk", n(5), r"bind", r"kyverno|webhook", r"den(y|ie)|refus|reject", r"1[89] ?m"],
    must_not=[LAUNCHES, ICE, r"unschedulable"],
)  # fmt: skip
def binding_is_denied(c: Cluster) -> None:
    usual(c)
    add_node(c, "general", "m6i.2xlarge", c.zones[0], age="2d")
    add_workload(c, "pay/ledger", on=c.nodes[-1:], count=2)
    add_namespace(c, "pay")
    text = 'running Bind plugin "DefaultBinder": admission webhook "validate.kyverno.svc-fail" denied the request: policy Pod/pay/risk for resource violation: require-node-label: validation error: node has no cost center'
    for pod in waiting(c, "pay/risk", 5, "19m", text, cpu="500m", memory="1Gi"):
        pod["status"]["conditions"][0]["reason"] = "SchedulerError"
