"""Faults that the other modules lack: of the account, of pods that are bound, of two controllers."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.disruption import both, conditions
from tests.incidents.fleets import (
    CPU,
    MEMORY,
    fleet,
    gone_claim,
    no_node,
    nominated,
    refused,
    unschedulable,
    usual,
    waiting,
)
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n
from tests.incidents.node_objects import NOT_READY, add_group_node, add_node
from tests.incidents.objects import Object, condition, digest, uid
from tests.incidents.pods import add_daemonset, add_volume, add_workload, refuse_pods
from tests.incidents.pools import add_nodeclass, add_pool

SELECTOR = "node(s) didn't match Pod's node affinity/selector"
SCP = "User is not authorized to perform this operation due to a service control policy"
CHURN = (
    r"churn|loop|again and again|short-?lived|come and go|came and went|within \d+ ?m|soon after|replaced over|turnover"
)


def of_pool(name: str) -> Object:
    """Return the spec of a pod that selects a NodePool."""
    return {"nodeSelector": {"karpenter.sh/nodepool": name}}


@incident(
    story="A new AWS account has never run spot. The pool batch is spot only, EC2 refuses each launch because the service-linked role for spot "
    "is missing and Karpenter may not create it. Nine pods wait for 38 minutes.",
    cause="Spot launches of pool batch fail because the account lacks the service-linked role for EC2 Spot; 9 pods are pending.",
    thread="aws/karpenter-provider-aws#3413",
    must=[["spot"], [r"service-? ?linked|ServiceLinkedRole"], ["batch"], [n(9), r"\bnine\b"]],
    must_not=[LAUNCHES, r"(EC2|AWS) has no|sold out|out of capacity"],
)
def spot_role_missing(c: Cluster) -> None:
    usual(c)
    add_pool(c, "batch", capacity=("spot",))
    pods = waiting(c, "etl/loader", 9, "38m", no_node({SELECTOR: 6}), spec=of_pool("batch"))
    error = (
        "AuthFailure.ServiceLinkedRoleCreationNotPermitted: The provided credentials do not have permission to create the "
        "service-linked role for EC2 Spot Instances."
    )
    refused(c, "batch", [error], pods, every=3, times=12)


@incident(
    story="Disks of the pool secure are encrypted with a KMS key whose policy does not admit Karpenter's role. EC2 accepts each launch and "
    "ends the instance half a minute later; six NodeClaims came and went in 27 minutes, none became a node.",
    cause="Instances of pool secure end within a minute of their launch, before they become nodes; 5 pods are pending for 27 minutes.",
    thread="aws/karpenter-provider-aws#1407",
    must=[
        ["secure"],
        [r"instances?.{0,60}(terminat|end|stop|die|gone|vanish)|terminat\w+.{0,60}instance"],
        [r"never|before|not (register|join|become)|without|soon|within"],
        [n(5), r"\bfive\b"],
    ],
    must_not=[r"spot (interrupt|node)", ICE],
)
def instances_end_at_once(c: Cluster) -> None:
    usual(c)
    key = "arn:aws:kms:us-east-1:111122223333:key/0d2f3c41-5a7b-4c1e-9a51-6f0e8d7c2b19"
    disk = {"volumeSize": "100Gi", "volumeType": "gp3", "encrypted": True, "kmsKeyID": key}
    add_nodeclass(c, "secure", spec={"blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": disk}]})
    add_pool(c, "secure", nodeclass="secure")
    fresh = add_node(c, "secure", "m6i.xlarge", c.zones[0], age="25s", stage="Launched")
    pods = waiting(c, "vault/signer", 5, "27m", no_node({SELECTOR: 6}), spec=of_pool("secure"))
    nominated(c, pods, [fresh], last="20s", count=7)
    for number in range(6):
        claim, age = gone_claim(c, "secure", number), f"{1 + 4 * number}m"
        c.event(claim, "InstanceTerminating", "Instance is terminating", last=age)
        c.event(claim, "TerminatingOnInterruption", "Interruption triggered termination for the NodeClaim", last=age)


@incident(
    story="The security team added a service control policy 40 minutes ago. Karpenter's check of ec2:RunInstances fails since, so both pools are "
    "not ready. Running nodes stay; seven pods wait.",
    cause="EC2NodeClass default is not ready: a service control policy forbids Karpenter ec2:RunInstances, so no pool launches; 7 pods are pending.",
    thread="aws/karpenter-provider-aws#7953",
    must=[
        ["RunInstances"],
        [r"not authori[sz]ed|isn't authori[sz]ed|service control policy|permission"],
        [n(7), r"\bseven\b"],
    ],
    must_not=[LAUNCHES, ROOM, ICE],
)
def launches_not_authorised(c: Cluster) -> None:
    text = f"Controller isn't authorized to call ec2:RunInstances: {SCP}"
    why = ("UnhealthyDependents", "ValidationSucceeded=False", "40m")
    add_nodeclass(c, broken={"ValidationSucceeded": ("RunInstancesAuthCheckFailed", text)}, since="40m")
    add_pool(c, "general", not_ready=why)
    add_pool(c, "spot", capacity=("spot",), not_ready=why)
    fleet(c, "general", "orders", "storefront", 3)
    fleet(c, "spot", "orders", "thumbnails", 2, capacity="spot", age="2d")
    waiting(c, "orders/checkout", 7, "36m", no_node({"Insufficient cpu": 7}))


@incident(
    story="A requirement of the NodePool tenant-b has a typing error (instance-familly), which Karpenter rejects. The pool has not been ready for "
    "35 minutes, and four pods of the tenant wait.",
    cause="NodePool tenant-b is not valid (it requires karpenter.k8s.aws/instance-familly), so it launches nothing; 4 pods are pending.",
    thread="aws/karpenter-provider-aws#7535",
    must=[["tenant-b"], ["instance-familly"], [r"valid|not allowed|restricted|reject|unknown"], [n(4), r"\bfour\b"]],
    must_not=[LAUNCHES, ICE],
)
def pool_not_valid(c: Cluster) -> None:
    usual(c)
    key = "karpenter.k8s.aws/instance-familly"
    typo: Object = {"key": key, "operator": "In", "values": ["m6i", "m7i"]}
    pool = add_pool(c, "tenant-b", families=(), requirements=[typo], labels={"tenant": "b"})
    text = (
        f"invalid value: using label {key} is not allowed as it might interfere with the internal provisioning logic; specify a well known "
        "label: [eks.amazonaws.com/capacityType karpenter.k8s.aws/instance-category karpenter.k8s.aws/instance-cpu "
        "karpenter.k8s.aws/instance-family], or a custom label that does not use a restricted domain: [karpenter.k8s.aws "
        "karpenter.sh kubernetes.io] in requirements, restricted"
    )
    states = pool["status"]["conditions"]
    states[0] = condition("ValidationSucceeded", "False", c.at("35m"), "NodePoolValidationFailed", text)
    states[3] = condition("Ready", "False", c.at("35m"), "UnhealthyDependents", "ValidationSucceeded=False")
    pods = waiting(c, "tenant-b/api", 4, "34m", no_node({SELECTOR: 6}), spec={"nodeSelector": {"tenant": "b"}})
    unschedulable(c, pods, 'incompatible requirements, label "tenant" does not have known values', minutes=34)


@incident(
    story="The EC2NodeClass edge allows five pods per node, as many as there are DaemonSets since node-exporter was added. No node of the pool edge "
    "would have room for one more pod, so three pods wait for 41 minutes.",
    cause="EC2NodeClass edge sets maxPods 5 and 5 DaemonSets use them all, so no instance type of pool edge takes the 3 pending pods.",
    thread="aws/karpenter-provider-aws#7938",
    must=[
        ["edge"],
        [r"max-?pods|pod slots?|pods per node|number of pods|\bpods\b[^\n]{0,60}\b5\b|\b5\b[^\n]{0,12}pods"],
        [n(3), r"\bthree\b"],
        ["DaemonSet"],
    ],
    must_not=[LAUNCHES, ROOM, ICE],
)
def daemonsets_use_all_pods(c: Cluster) -> None:
    usual(c)
    add_nodeclass(c, "edge", spec={"kubelet": {"maxPods": 5}})
    add_pool(c, "edge", nodeclass="edge")
    add_daemonset(c, "monitoring", "node-exporter", cpu="50m", memory="64Mi")
    pods = waiting(c, "edge/proxy", 3, "41m", no_node({SELECTOR: 6}), cpu="500m", memory="512Mi", spec=of_pool("edge"))
    error = (
        "no instance type has enough resources, requirements=karpenter.sh/nodepool In [edge], kubernetes.io/arch In [amd64], resources="
        '{"cpu":"740m","memory":"696Mi","pods":"6"}'
    )
    unschedulable(c, pods, error, minutes=40)


@incident(
    story="The StatefulSet store/etcd was scaled from three to four two hours ago. Its anti-affinity allows one pod per zone, and the cluster has "
    "three zones, all taken.",
    cause="store/etcd-3 is pending for 2 hours: its anti-affinity allows one pod per zone, and the other three pods are in all three zones.",
    thread="kubernetes-sigs/karpenter#2809",
    must=[["etcd"], [r"anti-? ?affinity"], ["zone"], [r"\b2 ?h|1[12]\d ?m|1h5\dm"]],
    must_not=[LAUNCHES, ROOM],
)
def more_replicas_than_zones(c: Cluster) -> None:
    usual(c)
    match = {
        "labelSelector": {"matchLabels": {"app.kubernetes.io/name": "etcd"}},
        "topologyKey": "topology.kubernetes.io/zone",
    }
    spec = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [match]}}}
    pairs = [add_node(c, "general", "m6i.xlarge", zone, age="20d") for zone in c.zones]
    text = no_node({"node(s) didn't match pod anti-affinity rules": 3, "Insufficient cpu": 6})
    pods = add_workload(
        c, "StatefulSet", "store", "etcd", on=pairs, pending=1, pending_since="2h", age="20d", cpu="1500m", memory="4Gi", spec=spec, message=text,
    )  # fmt: skip
    error = (
        "unsatisfiable topology constraint for pod anti-affinity, key=topology.kubernetes.io/zone (counts = us-east-1a: 1, us-east-1b: 1, "
        "us-east-1c: 1, podDomains = topology.kubernetes.io/zone Exists, nodeDomains = topology.kubernetes.io/zone In [us-east-1a "
        "us-east-1b us-east-1c]"
    )
    unschedulable(c, pods[3:], error, minutes=120)


@incident(
    story="One node has as many volumes and network interfaces as its instance type allows, but its CSINode promises more. Two pods were bound to it "
    "16 minutes ago, and EC2 refuses to attach their volumes.",
    cause="2 pods of logs/store cannot start for 16 minutes: EC2 refuses to attach their volumes, because their node has as many as it may.",
    thread="kubernetes-sigs/karpenter#2287",
    must=[["logs/store"], [r"attach"], ["AttachmentLimitExceeded|limit|may attach"], [n(2), r"\btwo\b"], [r"1[56] ?m"]],
    must_not=["image", LAUNCHES],
)
def attachments_used_up(c: Cluster) -> None:
    usual(c)
    place = add_node(c, "general", "m6i.2xlarge", c.zones[1], age="8d")
    add_workload(c, "StatefulSet", "data", "shards", on=[place], count=4, age="7d", cpu="250m", memory="1Gi")
    pods = add_workload(
        c,
        "StatefulSet",
        "logs",
        "store",
        on=[place],
        count=2,
        age="16m",
        cpu="500m",
        memory="2Gi",
        waiting="ContainerCreating",
    )
    for number, pod in enumerate(pods):
        pod["spec"]["volumes"] = [add_volume(c, "logs", f"data-store-{number}", c.zones[1])]
        volume = f"pvc-{uid('logs', f'data-store-{number}')}"
        text = (
            f'AttachVolume.Attach failed for volume "{volume}" : rpc error: code = ResourceExhausted desc = Attachment limit exceeded for volume '
            f'"vol-0{digest("logs", number)[:16]}" on node "i-0{digest(place.name)[:16]}": api error AttachmentLimitExceeded: You may attach up '
            "to 27 devices for this instance type."
        )
        c.event(pod, "FailedAttachVolume", text, last="40s", first="16m", count=15, source="attachdetach-controller")


@incident(
    story="Graviton was added to the pool general 20 minutes ago. The encoder's image exists for amd64 only; its six new pods landed on two m7g nodes "
    "and cannot pull it for 14 minutes.",
    cause="6 pods of media/encoder cannot pull their image for 14 minutes: it has no build for arm64, and their nodes are arm64.",
    thread="codefactoryhu/manifest#11",
    must=[["encoder"], ["image"], [r"arm64|platform|architecture"], [n(6), r"\bsix\b"], [r"1[34] ?m"]],
    must_not=[LAUNCHES, "no address|cannot assign"],
)
def image_without_arm64(c: Cluster) -> None:
    usual(c, arch=("amd64", "arm64"), families=("m6i", "m7g"))
    pairs = [add_node(c, "general", "m7g.xlarge", zone, age="16m") for zone in c.zones[:2]]
    image = "registry.example/media/encoder:4.2"
    pods = add_workload(
        c,
        "Deployment",
        "media",
        "encoder",
        on=pairs,
        count=6,
        age="14m",
        cpu=CPU,
        memory=MEMORY,
        image=image,
        waiting="ImagePullBackOff",
    )
    text = (
        f'Failed to pull image "{image}": rpc error: code = NotFound desc = failed to pull and unpack image "{image}": no match for '
        "platform in manifest: not found"
    )
    for pod in pods:
        c.event(pod, "Failed", text, last="2m", first="14m", count=7, source="kubelet")
        c.event(pod, "Failed", "Error: ImagePullBackOff", last="20s", first="14m", count=58, source="kubelet")
        c.event(
            pod,
            "BackOff",
            f'Back-off pulling image "{image}"',
            last="20s",
            first="14m",
            count=58,
            kind="Normal",
            source="kubelet",
        )


@incident(
    story="The certificate for the invoice service was never issued, so the Secret that its pods mount does not exist. Five pods are in "
    "ContainerCreating for 22 minutes, on three healthy nodes.",
    cause="5 pods of billing/invoice cannot start for 22 minutes: they mount the Secret invoice-tls, which does not exist.",
    thread="actions/actions-runner-controller#1673",
    must=[["invoice"], ["invoice-tls"], ["secret"], [n(5), r"\bfive\b"], [r"2[12] ?m"]],
    must_not=["image cannot|pull", "address", LAUNCHES],
)
def secret_missing(c: Cluster) -> None:
    usual(c)
    pairs = [add_node(c, "general", "m6i.xlarge", zone, age="3d") for zone in c.zones]
    volume = {"name": "tls", "secret": {"secretName": "invoice-tls"}}
    pods = add_workload(
        c, "Deployment", "billing", "invoice", on=pairs, count=5, age="22m", cpu="500m", memory="1Gi", waiting="ContainerCreating",
        spec={"volumes": [volume]},
    )  # fmt: skip
    text = 'MountVolume.SetUp failed for volume "tls" : secret "invoice-tls" not found'
    for pod in pods:
        c.event(pod, "FailedMount", text, last="50s", first="22m", count=18, source="kubelet")


@incident(
    story="Two things at once: the container runtime of one node hangs for nine minutes, so three database pods are going away; and a LimitRange "
    "refuses six of ten pods of a new release for 18 minutes.",
    cause="A node is not ready for 9 minutes (its container runtime hangs); 6 of 10 pods of media/render cannot be created, as a LimitRange allows 4 cores.",
    thread="kubernetes/kubernetes#72533",
    must=[
        [r"not (been )?ready|NotReady"],
        [r"\b[89] ?m|09:21"],
        ["render"],
        [r"LimitRange|limit ?range|maximum cpu"],
        [n(6), r"\bsix\b", "4 of 10"],
    ],
    must_not=[LAUNCHES],
)
def runtime_hangs_and_limit_range(c: Cluster) -> None:
    usual(c)
    message = (
        "[container runtime is down, PLEG is not healthy: pleg was last seen active 12m3.204s ago; threshold is 3m0s]"
    )
    ill = add_node(
        c, "general", "m6i.2xlarge", c.zones[0], age="6d", ready=("False", "KubeletNotReady", message), ready_since="9m"
    )
    add_workload(
        c, "StatefulSet", "db", "replica", on=[ill], count=3, age="6d", cpu="2", memory="8Gi", deleting="3m30s"
    )
    room = [add_node(c, "general", "m6i.2xlarge", zone, age="6d") for zone in c.zones[1:]]
    add_workload(c, "Deployment", "media", "render", on=room, count=4, replicas=10, age="18m", cpu="2", memory="4Gi")
    c.add("LimitRange", "per-container", "media", spec={"limits": [{"type": "Container", "max": {"cpu": "4"}}]})
    text = 'Error creating: pods "render-7c9d5b7f4-x2k8p" is forbidden: maximum cpu usage per Container is 4, but limit is 8'
    refuse_pods(c, "render", text, first="18m", last="40s", count=22)


@incident(
    story="A taint for Karpenter's own use was put on the managed node group, and CoreDNS was restarted. The other pool is reserved for a team, so both "
    "CoreDNS pods are pending for 12 minutes and no name resolves.",
    cause="Both CoreDNS pods are pending for 12 minutes: they tolerate neither the taint dedicated=karpenter of the node group nor team=orders of the pool.",
    thread="awslabs/amazon-eks-ami#681",
    must=[["coredns"], ["taint|tolerat"], [n(2), r"\btwo\b|\bboth\b"], [r"1[12] ?m"]],
    must_not=[LAUNCHES, ROOM],
    first=2,
)
def coredns_is_down(c: Cluster) -> None:
    c.objects[:] = [one for one in c.objects if not one["metadata"]["name"].startswith("coredns")]
    for pair in c.system:
        assert pair.node is not None
        pair.node["spec"]["taints"] = [{"key": "dedicated", "value": "karpenter", "effect": "NoSchedule"}]
    for one in c.objects:
        if one["metadata"]["name"].startswith("karpenter-") and one["kind"] == "Pod":
            one["spec"]["tolerations"].append({"key": "dedicated", "operator": "Exists"})
    add_nodeclass(c)
    add_pool(c, "orders", template={"taints": [{"key": "team", "value": "orders", "effect": "NoSchedule"}]})
    pairs = [add_node(c, "orders", "m6i.xlarge", zone) for zone in c.zones]
    own = {"tolerations": [{"key": "team", "operator": "Exists"}]}
    add_workload(c, "Deployment", "orders", "storefront", on=pairs, count=9, cpu=CPU, memory=MEMORY, spec=own)
    text = no_node(
        {"node(s) had untolerated taint {dedicated: karpenter}": 2, "node(s) had untolerated taint {team: orders}": 3}
    )
    spec = {
        "priorityClassName": "system-cluster-critical",
        "tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists"}],
    }
    pods = waiting(c, "kube-system/coredns", 2, "12m", text, cpu="100m", memory="70Mi", spec=spec)
    unschedulable(c, pods, "did not tolerate taint (taint=team=orders:NoSchedule)", minutes=12)


@incident(
    story="The Cluster Autoscaler was never switched off after the move to Karpenter. For every pending pod it grows the node group while Karpenter "
    "launches a node, and one of them is removed again as empty: eight nodes in the last hour.",
    cause="cluster-autoscaler and Karpenter both add nodes for the same pending pods, so 8 nodes were launched and removed empty in the last hour.",
    thread="aws/karpenter-provider-aws#2543",
    must=[[r"cluster.?autoscaler"], [r"karpenter"], [r"both|same pods?|also|as well|twice|doubl|next to"]],
    must_not=[r"karpenter (itself )?(is|has been) (down|stopped)"],
)
def two_autoscalers(c: Cluster) -> None:
    usual(c)
    image = "registry.k8s.io/autoscaling/cluster-autoscaler:v1.35.0"
    add_workload(
        c,
        "Deployment",
        "kube-system",
        "cluster-autoscaler",
        on=c.system[:1],
        cpu="100m",
        memory="300Mi",
        image=image,
        age="200d",
    )
    grown = [add_group_node(c, "m6i.large", zone, age="9m") for zone in c.zones[:2]]
    fresh = add_node(c, "general", "m6i.xlarge", c.zones[2], age="40s", stage="Launched")
    pods = waiting(c, "orders/checkout", 3, "70s", no_node({"Insufficient cpu": 8}))
    nominated(c, pods, [fresh], last="45s")
    for pod in pods:
        text = "pod triggered scale-up: [{eks-system-9ac1f2 4->5 (max: 10)}]"
        c.event(pod, "TriggeredScaleUp", text, last="50s", kind="Normal", source="cluster-autoscaler")
    for number in range(8):
        for one in (gone_claim(c, "general", number),):
            c.event(
                one, "DisruptionTerminating", "Disrupting NodeClaim: Empty", last=f"{4 + 7 * number}m", kind="Normal"
            )
    for pair in grown[:1]:
        assert pair.node is not None
        text = "marked the node as toBeDeleted/unschedulable"
        c.event(pair.node, "ScaleDown", text, last="11m", kind="Normal", source="cluster-autoscaler")


@incident(
    story="Another controller puts a finalizer on every Node. It was uninstalled, so two nodes whose instances ended six hours ago stay as Terminating "
    "and NotReady, and their NodeClaims with them.",
    cause="2 nodes of general have been terminating for 6 hours: their instances are gone, but the finalizer wrangler.cattle.io/node stays on the Nodes.",
    thread="aws/karpenter-provider-aws#9011",
    must=[[n(2), r"\btwo\b"], ["finalizer"], [r"wrangler\.cattle\.io"], [r"\b6 ?h|5h5\dm|3[56]\d ?m"]],
    must_not=[r"still paid|instances? (do|does) not (go|end)|instances? (is|are) still running"],
)
def finalizer_of_another_controller(c: Cluster) -> None:
    usual(c)
    for zone in c.zones[:2]:
        pair = add_node(c, "general", "m6i.xlarge", zone, age="12d", deleting="6h5m", ready=NOT_READY, ready_since="6h")
        done = ("Drained", "6h4m"), ("VolumesDetached", "6h4m"), ("InstanceTerminating", "6h3m")
        conditions(pair, *(condition(kind, "True", c.at(age)) for kind, age in done))
        node = both(pair)[0]
        node["metadata"]["finalizers"] = ["wrangler.cattle.io/node"]
        text = f"Deleting node {pair.name} because it does not exist in the cloud provider"
        c.event(
            node,
            "DeletingNode",
            text,
            last="20s",
            first="59m",
            count=690,
            kind="Normal",
            source="cloud-node-lifecycle-controller",
        )


@incident(
    story="The static pool gateway should have five nodes and has three: EC2 has had no m7i.2xlarge in us-east-1b for 40 minutes. No pod is pending, so "
    "nobody notices that the spare capacity is missing.",
    cause="Static NodePool gateway has 3 of its 5 replicas: EC2 has no capacity of m7i.2xlarge in us-east-1b for 40 minutes.",
    thread="kaito-project/kaito#2295",
    must=[
        ["gateway"],
        [r"3 of (its )?5|3/5|[^\n]*\b3\b[^\n]*\b5\b|2 (nodes|replicas)[^\n]*(missing|short|lack)"],
        [ICE],
    ],
    must_not=[r"[1-9]\d* pods? (is|are) pending"],
    settings={"FEATURE_GATES": "StaticCapacity=true"},
)
def static_pool_is_short(c: Cluster) -> None:
    usual(c)
    add_pool(
        c, "gateway", families=("m7i",), sizes=("2xlarge",), zones=("us-east-1b",), replicas=5, limits={"nodes": "6"}
    )
    pairs = [add_node(c, "gateway", "m7i.2xlarge", "us-east-1b", age="5d") for _ in range(3)]
    add_workload(c, "Deployment", "edge", "gateway", on=pairs, cpu="4", memory="12Gi", spec=of_pool("gateway"))
    error = (
        "InsufficientInstanceCapacity: We currently do not have sufficient m7i.2xlarge capacity in the Availability Zone you requested "
        "(us-east-1b). Our system will be working on provisioning additional capacity."
    )
    refused(c, "gateway", [error], [], every=2, times=20)


@incident(
    story="A node with local disks was removed 50 minutes ago. The database shard on it has a local PersistentVolume that names that node, so it fits "
    "nowhere. Karpenter ignores the node of local volumes and expects the pod on a node with room; kube-scheduler refuses.",
    cause="cache/scylla-2 is pending for 50 minutes: its local volume is on the node ip-10-24-9-77, which no longer exists.",
    thread="kubernetes-sigs/karpenter#1018",
    must=[
        ["scylla-2"],
        [r"volume"],
        [r"ip-10-24-9-77|node[^\n]{0,40}(gone|no longer|does not exist|missing)"],
        [r"\b(4[89]|50) ?m"],
    ],
    must_not=[LAUNCHES, ICE],
)
def local_volume_of_a_gone_node(c: Cluster) -> None:
    usual(c)
    pairs = [add_node(c, "general", "m6i.2xlarge", zone, age="30d") for zone in c.zones]
    gone = "ip-10-24-9-77.ec2.internal"
    pods = add_workload(
        c, "StatefulSet", "cache", "scylla", on=pairs[:2], pending=1, pending_since="50m", age="30d", cpu="4", memory="12Gi",
        message=no_node({"node(s) had volume node affinity conflict": 3, "Insufficient cpu": 6}),
    )  # fmt: skip
    for pod, host in zip(pods, (pairs[0].name, pairs[1].name, gone), strict=True):
        name = f"data-{pod['metadata']['name']}"
        pod["spec"]["volumes"] = [add_volume(c, "cache", name, c.zones[0])]
        spec = c.find("PersistentVolume", f"pvc-{uid('cache', name)}")["spec"]
        del spec["csi"]
        spec |= {"local": {"path": "/mnt/disks/nvme1"}, "storageClassName": "local-nvme"}
        terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [host]}]}]
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
        c.find("PersistentVolumeClaim", name)["spec"]["storageClassName"] = "local-nvme"
    c.add(
        "StorageClass",
        "local-nvme",
        provisioner="kubernetes.io/no-provisioner",
        volumeBindingMode="WaitForFirstConsumer",
    )
    nominated(c, pods[2:], pairs[2:], last="15s", count=25)


@incident(
    story="A controller writes another value into the NodePool ingest every few minutes, so each new node has drifted when it is ready. Karpenter replaced "
    "ten of its nodes in the last hour, and its reader pods were evicted 30 times.",
    cause="Nodes of ingest drift minutes after their launch and are replaced in a loop: 10 in the last hour, with 30 evictions of ingest/reader.",
    thread="oracle/karpenter-provider-oci#10",
    must=[["ingest"], ["drift"], [CHURN], [n(10), n(30)]],
    must_not=[r"drift[^\n]{0,40}(does not advance|stuck|blocked)"],
)
def drift_in_a_loop(c: Cluster) -> None:
    usual(c)
    add_pool(c, "ingest", disruption={"budgets": [{"nodes": "100%"}]})
    pairs = [add_node(c, "ingest", "m6i.xlarge", zone, age=f"{3 + 2 * number}m") for number, zone in enumerate(c.zones)]
    last = add_node(c, "ingest", "m6i.xlarge", c.zones[0], age="8m", drifted="40s", drift_reason="NodePoolDrifted")
    pods = add_workload(
        c, "Deployment", "ingest", "reader", on=[*pairs, last], count=9, age="2m", cpu=CPU, memory=MEMORY
    )
    prefix = pods[0]["metadata"]["name"][:-6]
    for number in range(10):
        age = f"{2 + 5 * number}m"
        c.event(
            gone_claim(c, "ingest", number),
            "DisruptionTerminating",
            "Disrupting NodeClaim: Drifted",
            last=age,
            kind="Normal",
        )
        c.event(
            gone_claim(c, "ingest", number),
            "DisruptionLaunching",
            "Launching NodeClaim: Drifted",
            last=f"{7 + 5 * number}m",
            kind="Normal",
        )
        for place in range(3):
            name = f"{prefix}-{digest(number, place)[:5]}"
            meta = {"name": name, "namespace": "ingest", "uid": uid(c.name, number, place)}
            c.event(
                {"apiVersion": "v1", "kind": "Pod", "metadata": meta},
                "Evicted",
                "Evicted pod: Drifted",
                last=age,
                kind="Normal",
            )
