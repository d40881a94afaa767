"""Nodes that do not join, initialize or stay ready, and clusters in which they only seem to."""

from __future__ import annotations

from typing import Any, Final

from tests.incidents.cluster import Cluster, NodePair
from tests.incidents.fleets import GPU_POD, GPU_TAINT, fleet, nominated, usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n, quiet
from tests.incidents.node_objects import CNI_NOT_READY, NOT_READY, add_group_node, add_node, both
from tests.incidents.objects import condition, later
from tests.incidents.pods import SELECTOR, add_daemonset, add_workload, no_node, waiting
from tests.incidents.pools import add_karpenter, add_nodeclass, add_pool, to_beta
from tests.incidents.providers import aks_pool, to_aks
from tests.incidents.unseen_causes import refuse
from tests.incidents.workloads import crash

PENDING: Final = r"\d+ pods? [^\n]{0,30}pending"
DOWN: Final = r"karpenter[^\n]{0,60}(down|not running|missing|no (running )?pod)"


def _image(pair: NodePair, release: str, kernel: str, image: str) -> None:
    node, claim = both(pair)
    node["status"]["nodeInfo"] |= {"osImage": f"Amazon Linux {release}", "kernelVersion": kernel}
    claim["status"]["imageID"] = image


@incident(
    story="A new AMI of Amazon Linux 2023 was published last night, and the alias al2023@latest brings it by drift. Within two hours the kubelets of nodes with this image fall silent, one after the other: three of five, in three zones. The nodes with the old image are fine; seven of these are still to be replaced.",
    cause="3 nodes of general are not ready (their kubelets are silent), all with the new image (Amazon Linux 2023.11, kernel 6.12.79); the nodes with the old image are ready. Drift goes on bringing it.",
    thread="awslabs/amazon-eks-ami#2681",
    must=[n(3), r"not (been )?ready", r"stopped posting|silent", r"6\.12\.79|2023\.11|new image|ami-0new"],
    must_not=[LAUNCHES, ICE, r"drift[^\n]{0,60}(stuck|not advance)"],
)
def kubelets_stall_on_the_new_image(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general", disruption={"budgets": [{"nodes": "1"}]})
    old = fleet(c, "general", "orders/storefront", 7, drifted="9h")
    for pair in old:
        _image(pair, "2023.10.20260403", "6.12.77-99.140.amzn2023.x86_64", "ami-0old")
    for age, since in (("5h", "25m"), ("4h", "17m"), ("3h", "9m"), ("2h", ""), ("50m", "")):
        silent: dict[str, Any] = {"ready": NOT_READY, "ready_since": since} if since else {}
        pair = add_node(c, "general", "m6i.xlarge", c.zones[len(c.nodes) % 3], age=age, **silent)
        _image(pair, "2023.11.20260509", "6.12.79-101.147.amzn2023.x86_64", "ami-0new")
        if not since:
            add_workload(c, f"shop/cart-{age}", on=[pair], count=3, age=later(age, "2m"))


@incident(
    story="Security groups for pods were prepared in the pods' annotations, but ENABLE_POD_ENI is false on aws-node. Karpenter launches nodes for the four pods, and these never get the resource vpc.amazonaws.com/pod-eni: not initialized for 18 minutes.",
    cause="2 nodes of general do not initialize for 17 minutes: vpc.amazonaws.com/pod-eni, which their pods request, is not registered on them (ENABLE_POD_ENI of aws-node is off); 4 pods of pay/gate are pending.",
    thread="aws/karpenter-provider-aws#3107",
    must=[
        n(2),
        r"vpc\.amazonaws\.com/pod-eni",
        r"initiali",
        n(4),
        r"aws-node|VPC CNI|ENABLE_POD_ENI|vpc-resource-controller|security groups for pods",
    ],
    must_not=[LAUNCHES, ICE, ROOM, r"device plugin"],
)
def pod_interfaces_are_not_enabled(c: Cluster) -> None:
    usual(c)
    why = ("ResourceNotRegistered", 'Resource "vpc.amazonaws.com/pod-eni" was requested but not registered')
    new = [
        add_node(
            c,
            "general",
            "m6i.xlarge",
            zone,
            age="18m",
            stage="Registered",
            uninitialized=why,
            requests={"cpu": "1190m", "vpc.amazonaws.com/pod-eni": "2"},
        )
        for zone in c.zones[:2]
    ]
    for pair in new:
        both(pair)[1]["status"]["capacity"] |= {"vpc.amazonaws.com/pod-eni": "18"}
        both(pair)[1]["status"]["allocatable"] |= {"vpc.amazonaws.com/pod-eni": "18"}
    text = no_node({"Insufficient cpu": 4, "Insufficient vpc.amazonaws.com/pod-eni": 4})
    pods = waiting(c, "pay/gate", 4, "19m", text, cpu="1", memory="2Gi", requests={"vpc.amazonaws.com/pod-eni": "1"})
    nominated(c, pods, new, last="30s", count=9)


@incident(
    story="Capsule's webhook is registered for nodes with failurePolicy Fail. A release broke its controller 26 minutes ago. Kubelets join, but neither they nor Karpenter may update the nodes: the new ones keep the taint karpenter.sh/unregistered. Six pods are pending for 24 minutes.",
    cause="2 new nodes of general have not registered for 22 minutes: their updates fail, because the webhook nodes.capsule.clastix.io (capsule-system/capsule-webhook-service) has no endpoint: the pods of capsule-system/capsule-controller-manager crash; 6 pods are pending.",
    thread="projectcapsule/capsule#642",
    must=[n(2), r"regist", r"capsule", r"webhook", n(6)],
    must_not=[LAUNCHES, ICE, ROOM, r"user ?data"],
)
def node_webhook_keeps_nodes_from_registering(c: Cluster) -> None:
    usual(c)
    for pod in add_workload(
        c, "capsule-system/capsule-controller-manager", on=c.system, cpu="100m", memory="128Mi", age="27m"
    ):
        crash(c, pod, code=1, restarts=9, ago="2m")
    c.add(
        "Service",
        "capsule-webhook-service",
        "capsule-system",
        age="200d",
        spec={
            "selector": {"app.kubernetes.io/name": "capsule-controller-manager"},
            "ports": [{"port": 443, "targetPort": 9443}],
        },
    )
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["UPDATE"],
        "resources": ["nodes"],
        "scope": "Cluster",
    }
    service = {"name": "capsule-webhook-service", "namespace": "capsule-system", "path": "/nodes", "port": 443}
    hook = {
        "name": "nodes.capsule.clastix.io",
        "failurePolicy": "Fail",
        "timeoutSeconds": 30,
        "rules": [rule],
        "clientConfig": {"service": service},
    }
    c.add("ValidatingWebhookConfiguration", "capsule-validating-webhook-configuration", age="200d", webhooks=[hook])
    pairs = []
    for zone in c.zones[:2]:
        pair = add_node(c, "general", "m6i.xlarge", zone, age="22m", stage="Registered")
        node, claim = both(pair)
        for key in ("karpenter.sh/registered",):
            node["metadata"]["labels"].pop(key, None)
        node["spec"]["taints"] = [{"key": "karpenter.sh/unregistered", "effect": "NoExecute"}]
        claim["status"].pop("nodeName", None)
        for state in claim["status"]["conditions"]:
            if state["type"] == "Registered":
                state |= {"status": "Unknown", "reason": "NodeNotFound", "message": "Node not registered with cluster"}
        pairs.append(pair)
    text = no_node({"Insufficient cpu": 6, "node(s) had untolerated taint {karpenter.sh/unregistered: }": 2})
    nominated(c, waiting(c, "orders/checkout", 6, "24m", text), pairs, last="40s", count=11)


@incident(
    story="AKS with disks encrypted by a customer's key. The cluster's identity lost its Reader role on the disk encryption set 52 minutes ago: the AKSNodeClass is not ready, and nothing is launched. Seven pods are pending for 49 minutes.",
    cause="AKSNodeClass default has not been ready for 52 minutes: the cluster's identity has no Reader role on the disk encryption set (DiskEncryptionSetRBACMissing), so NodePool default launches nothing; 7 pods are pending.",
    thread="Azure/karpenter-provider-azure#1067",
    must=["AKSNodeClass", r"Disk Encryption Set|DiskEncryptionSet", r"Reader|RBAC|role", n(7)],
    must_not=[LAUNCHES, ROOM, ICE, r"EC2NodeClass|\bEC2\b", DOWN],
    karpenter_runs=False,
    settings={"CLUSTER_NAME": "orders-aks"},
)
def disk_encryption_set_may_not_be_read(c: Cluster) -> None:
    text = "controlling identity does not have Reader role on Disk Encryption Set '/subscriptions/0f3c/resourceGroups/rg/providers/Microsoft.Compute/diskEncryptionSets/des'"
    aks_pool(c, not_ready=("NodeClassNotReady", f"ValidationSucceeded=False: {text}", "52m"))
    status = c.find("EC2NodeClass", "default")["status"]
    status["conditions"] = [condition(kind, "True", c.at("60d")) for kind in ("ImagesReady", "KubernetesVersionReady")]
    status["conditions"].append(
        condition("ValidationSucceeded", "False", c.at("52m"), "DiskEncryptionSetRBACMissing", text)
    )
    status["conditions"].append(
        condition("Ready", "False", c.at("52m"), "UnhealthyDependents", "ValidationSucceeded=False")
    )
    fleet(c, "default", "orders/storefront", 4)
    add_workload(c, "kube-system/konnectivity", on=c.system, cpu="1", memory="1Gi", age="40d")
    waiting(c, "orders/checkout", 7, "49m")
    to_aks(c)


@incident(
    story="The controllers of a team need the instance metadata service to learn their region. EC2NodeClass default leaves httpPutResponseHopLimit at 1, so pods on Karpenter's nodes cannot reach it and crash; the same workload's pods on the node group (hop limit 2) run. Four of six pods crash for 38 minutes.",
    cause="4 of 6 pods of team/sync crash (exit code 1), all on nodes of NodePool general; its pods on the node group run (pods on Karpenter's nodes cannot reach the instance metadata: httpPutResponseHopLimit is 1).",
    thread="kubernetes-sigs/karpenter#1769, aws/karpenter-provider-aws#7200",
    must=["team/sync", n(4), r"crash|exit code", r"\bgeneral\b|Karpenter's nodes|node group"],
    must_not=[LAUNCHES, PENDING, "OOM"],
)
def metadata_is_one_hop_too_far(c: Cluster) -> None:
    hosts = usual(c)
    c.find("EC2NodeClass", "default")["spec"]["metadataOptions"] = {
        "httpEndpoint": "enabled",
        "httpTokens": "required",
        "httpPutResponseHopLimit": 1,
    }
    pods = add_workload(c, "team/sync", on=[*hosts[:4], *c.system], count=6, age="40m", cpu="50m", memory="64Mi")
    for pod in pods[:4]:
        crash(c, pod, code=1, restarts=12, ago="2m")


@incident(
    story="The engineer has lists of nodes, NodeClaims, NodePools, EC2NodeClasses and pods, without events. EC2 has no capacity for NodePool spot; Karpenter deletes each NodeClaim whose launch fails, so there is none at this moment. Nine pods are pending for 20 minutes. The lists do not show why; nothing there is wrong.",
    cause="9 pods of orders/checkout are pending for 20 minutes, and no NodeClaim exists for them although NodePool spot fits; the lists do not say why, events or Karpenter's log would.",
    thread="aws/karpenter-provider-aws#6879",
    must=["orders/checkout", n(9), r"events?|log\b", r"(19|20) ?m"],
    must_not=[LAUNCHES, DOWN, ROOM, "has no capacity"],
    listed=("Node", "NodeClaim", "NodePool", "EC2NodeClass", "Pod"),
)
def no_nodeclaims_and_no_events(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "spot", capacity=("spot",))
    fleet(c, "spot", "orders/storefront", 5, capacity="spot")
    waiting(c, "orders/checkout", 9, "20m")


@incident(
    story="NodePool spark has a taint with the effect NoExecute since today. The DaemonSet calico-node, which brings the network, tolerates NoSchedule only, so it runs on none of the two new nodes: they are not ready for 16 minutes. Six pods are pending.",
    cause="2 nodes of spark do not initialize for 15 minutes: they have no network (cni plugin not initialized), because the DaemonSet kube-system/calico-node does not tolerate their taint dedicated=spark:NoExecute; 6 pods are pending.",
    thread="projectcalico/calico#2713, aws/karpenter-provider-aws#1391",
    must=[n(2), r"initiali|not (been )?ready", r"calico-node", r"dedicated=spark|tolerat", n(6)],
    must_not=[LAUNCHES, ICE, ROOM],
)
def network_agent_does_not_tolerate_the_pool(c: Cluster) -> None:
    usual(c)
    c.daemonsets = [pair for pair in c.daemonsets if pair[0]["metadata"]["name"] != "aws-node"]
    c.objects = [item for item in c.objects if item["metadata"]["name"] != "aws-node"]
    taint = {"key": "dedicated", "value": "spark", "effect": "NoExecute"}
    add_pool(c, "spark", template={"taints": [taint]})
    agent = add_daemonset(
        c,
        "kube-system",
        "calico-node",
        cpu="50m",
        memory="64Mi",
        critical=True,
        spec={"tolerations": [{"operator": "Exists", "effect": "NoSchedule"}]},
    )
    assert agent
    pairs = [
        add_node(
            c,
            "spark",
            "m6i.xlarge",
            zone,
            age="16m",
            stage="Registered",
            uninitialized=("NodeNotReady", "Node status is NotReady"),
            ready=CNI_NOT_READY,
            without=("aws-node",),
        )
        for zone in c.zones[:2]
    ]
    text = no_node({"Insufficient cpu": 6, "node(s) had untolerated taint {node.kubernetes.io/not-ready: }": 2})
    pods = waiting(
        c,
        "spark/exec",
        6,
        "17m",
        text,
        spec={
            "tolerations": [{"key": "dedicated", "operator": "Exists"}],
            "nodeSelector": {"karpenter.sh/nodepool": "spark"},
        },
    )
    nominated(c, pods, pairs, last="20s", count=8)


@incident(
    story="A change of the nodes' security group cut their way to the control plane: all nine nodes of Karpenter, in three zones, stopped posting their status 7 minutes ago. The node group has another security group and is fine, and so is Karpenter. Its new nodes do not join either.",
    cause="All 9 nodes of Karpenter (NodePool general, three zones) have not been ready for 7 minutes since the same moment, while the node group's nodes are ready; 2 new instances have not joined.",
    thread="aws/karpenter-provider-aws#3508",
    must=[
        n(9),
        r"not (been )?ready|silent|stopped posting",
        r"[67] ?m",
        r"\bgeneral\b|Karpenter's nodes|Karpenter nodes",
    ],
    must_not=[LAUNCHES, ICE, r"All 11 nodes|every node of the cluster"],
    first=1,
)
def nodes_lost_their_way_to_the_control_plane(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    fleet(c, "general", "orders/storefront", 9, ready=NOT_READY, ready_since="7m")


@incident(
    story="Only NodeClaims and NodePools were listed. Three NodeClaims of NodePool batch were launched 24 minutes ago and have not registered; the five others are fine.",
    cause="3 NodeClaims of batch have not registered for 24 minutes.",
    thread="aws/karpenter-provider-aws#2423",
    must=[n(3) + r"|batch-\w{5}", r"regist", r"\bbatch\b", r"2[34] ?m"],
    must_not=[LAUNCHES, ICE, DOWN, PENDING, r"no nodes\b", r"Node is gone"],
    listed=("NodeClaim", "NodePool"),
    first=2,
)
def unregistered_in_lists_of_claims(c: Cluster) -> None:
    usual(c, 5)
    add_pool(c, "batch")
    for zone in c.zones:
        add_node(c, "batch", "m6i.xlarge", zone, age="24m", stage="Launched")
    add_node(c, "general", "m6i.xlarge", c.zones[0], age="40s")


@incident(
    story="Karpenter runs on Fargate. Its new pods are pending for 28 minutes after an upgrade with Helm, because the subnets of the Fargate profile have no free addresses; the old ones were deleted (strategy Recreate). Nine pods are pending.",
    cause="Karpenter is down for 28 minutes: its 2 pods are pending, because Fargate has no free address in the profile's subnets; 9 pods are pending.",
    thread="aws/containers-roadmap#2654, aws/karpenter-provider-aws#4099",
    must=[r"karpenter[^\n]{0,40}(not running|down|pending)", r"fargate|address|subnet", n(9) + "|11 pods", r"2[78] ?m"],
    must_not=[LAUNCHES, ICE],
    karpenter_runs=False,
)
def fargate_has_no_address_for_karpenter(c: Cluster) -> None:
    usual(c)
    text = "Pod provisioning timed out (will retry) for pod: kube-system/karpenter. Subnets of fargate profile karpenter have no free IP addresses"
    pods = add_karpenter(c, pending=2, pending_since="28m", message=text)
    for pod in pods:
        pod["spec"] |= {"schedulerName": "fargate-scheduler"}
        pod["metadata"]["labels"]["eks.amazonaws.com/fargate-profile"] = "karpenter"
    for item in c.objects:
        if item["kind"] == "Event" and item["involvedObject"]["name"].startswith("karpenter-"):
            item["source"] = {"component": "fargate-scheduler"}
            item["reportingComponent"] = "fargate-scheduler"
    waiting(c, "orders/checkout", 9, "26m")


@incident(
    story="A clean-up job of the account ends instances that lack the tag owner: eight on-demand nodes of NodePool general disappeared within the last hour, each a few minutes after its launch, without a drain. Karpenter launches new ones each time.",
    cause="8 nodes of general disappeared within the last hour without a drain: something outside ends their instances.",
    thread="aws/karpenter-provider-aws#4560",
    must=[n(8), r"disappear|vanish|no longer exist|gone", r"drain|instances?"],
    must_not=[LAUNCHES, ICE, r"interruption queue", r"spot"],
)
def instances_without_a_tag_are_ended(c: Cluster) -> None:
    usual(c, 5)
    for number in range(8):
        name = f"ip-10-24-{60 + number}-{11 + number}.ec2.internal"
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": f"gone-{number}"}}
        c.event(
            node,
            "RegisteredNode",
            f"Node {name} event: Registered Node {name} in Controller",
            last=f"{9 + 7 * number}m",
            kind="Normal",
            source="node-controller",
        )
        c.event(
            node,
            "DeletingNode",
            f"Deleting node {name} because it does not exist in the cloud provider",
            last=f"{2 + 7 * number}m",
            kind="Normal",
            source="cloud-node-lifecycle-controller",
        )
        c.event(
            node, "DisruptionBlocked", "Node is nominated for a pending pod", last=f"{8 + 7 * number}m", kind="Normal"
        )
    add_node(c, "general", "m6i.xlarge", c.zones[0], age="90s")


@incident(
    story="Four nodes of the newest instance family fall silent within two hours (a firmware fault), in three zones; nodes of the other families of the same NodePool are fine. Everything has the same image.",
    cause="4 nodes of general have not been ready for up to 50 minutes, all of the family m7i; nodes of other families are ready.",
    thread="awslabs/amazon-eks-ami#1145",
    must=[n(4), r"not (been )?ready", r"m7i"],
    must_not=[LAUNCHES, ICE, PENDING],
    first=1,
)
def nodes_of_one_family_fall_silent(c: Cluster) -> None:
    usual(c, 9)
    for number, since in enumerate(("50m", "31m", "22m", "12m")):
        add_node(c, "general", "m7i.xlarge", c.zones[number % 3], age="2d", ready=NOT_READY, ready_since=since)


@incident(
    story="NodePool arm was created with the startup taint ebs.csi.aws.com/agent-not-ready. The DaemonSet ebs-csi-node of this cluster selects kubernetes.io/arch amd64, so it runs on none of the two arm64 nodes, and nothing removes the taint. Five pods are pending for 18 minutes.",
    cause="2 nodes of arm do not initialize for 16 minutes: the startup taint ebs.csi.aws.com/agent-not-ready stays, because DaemonSet kube-system/ebs-csi-node does not select them (kubernetes.io/arch amd64); 5 pods are pending.",
    thread="kubernetes-sigs/aws-ebs-csi-driver#1231",
    must=[
        n(2),
        r"initiali",
        r"ebs\.csi\.aws\.com/agent-not-ready|startup ?taint",
        r"ebs-csi-node",
        r"select|kubernetes\.io/arch",
        n(5),
    ],
    must_not=[LAUNCHES, ICE, ROOM],
)
def agent_does_not_select_the_pool(c: Cluster) -> None:
    taint = {"key": "ebs.csi.aws.com/agent-not-ready", "effect": "NoExecute"}
    usual(c)
    add_pool(c, "arm", families=("m7g",), arch=("arm64",), template={"startupTaints": [taint]})
    for manifest, pod in c.daemonsets:
        if manifest["metadata"]["name"] == "ebs-csi-node":
            manifest["spec"]["template"]["spec"]["nodeSelector"] = {"kubernetes.io/arch": "amd64"}
            pod["spec"]["nodeSelector"] = {"kubernetes.io/arch": "amd64"}
            manifest["spec"]["template"]["spec"]["tolerations"] = [{"operator": "Exists"}]
    why = ("StartupTaintsExist", 'StartupTaint "ebs.csi.aws.com/agent-not-ready:NoExecute" still exists')
    pairs = [
        add_node(c, "arm", "m7g.xlarge", zone, age="17m", stage="Registered", uninitialized=why, taints=[taint])
        for zone in c.zones[:2]
    ]
    text = no_node({SELECTOR: 6, "node(s) had untolerated taint {ebs.csi.aws.com/agent-not-ready: }": 2})
    pods = waiting(
        c,
        "data/ingest",
        5,
        "18m",
        text,
        cpu="500m",
        memory="1Gi",
        spec={"nodeSelector": {"kubernetes.io/arch": "arm64"}},
    )
    nominated(c, pods, pairs, last="20s", count=8)


@incident(
    story="A security baseline switched the instance metadata service off in EC2NodeClass secure (httpEndpoint: disabled). The bootstrap of Amazon Linux 2023 reads its configuration there: no new instance joins for 13 minutes. Four pods are pending.",
    cause="2 instances of secure have not joined for 13 minutes: EC2NodeClass secure disables the instance metadata service (httpEndpoint), which nodes need to join; 4 pods are pending.",
    thread="awslabs/amazon-eks-ami#2632, kubernetes/kops#12066",
    must=[r"regist|join", r"EC2NodeClass secure", r"metadata|httpEndpoint|IMDS", n(4), r"1[23] ?m"],
    must_not=[LAUNCHES, ICE, ROOM],
)
def metadata_service_is_disabled(c: Cluster) -> None:
    usual(c)
    add_nodeclass(c, "secure", spec={"metadataOptions": {"httpEndpoint": "disabled", "httpTokens": "required"}})
    add_pool(c, "secure", nodeclass="secure")
    pairs = [add_node(c, "secure", "m6i.xlarge", zone, age="13m", stage="Launched") for zone in c.zones[:2]]
    nominated(c, waiting(c, "pci/vault", 4, "14m", pool="secure"), pairs, last="20s", count=9)


@incident(
    story="Karpenter 1.4 with the feature gate ReservedCapacity off. NodePool reserved allows capacity type reserved only; its EC2NodeClass selects a reservation with four free instances, which this Karpenter does not look at. Three pods are pending for an hour.",
    cause="3 pods of ml/fit are pending for an hour: NodePool reserved allows reserved capacity only, and Karpenter's feature gate ReservedCapacity is off.",
    thread="aws/karpenter-provider-aws#8012",
    must=["ml/fit", n(3), r"reserved", r"ReservedCapacity|feature gate"],
    must_not=[LAUNCHES, ROOM, r"sold out"],
    settings={"FEATURE_GATES": "ReservedCapacity=false"},
    karpenter_version="1.4.0",
)
def reserved_capacity_without_the_gate(c: Cluster) -> None:
    usual(c)
    reservation = {
        "id": "cr-0f1e2d3c4b5a69788",
        "availabilityZone": c.zones[0],
        "instanceType": "m7i.2xlarge",
        "instanceMatchCriteria": "targeted",
        "ownerID": "111122223333",
        "reservationType": "default",
        "state": "active",
    }
    add_nodeclass(
        c,
        "reserved",
        spec={"capacityReservationSelectorTerms": [{"id": reservation["id"]}]},
        status={"capacityReservations": [reservation]},
    )
    add_pool(c, "reserved", capacity=("reserved",), families=("m7i",), nodeclass="reserved")
    waiting(c, "ml/fit", 3, "1h", pool="reserved")


@incident(
    story="A network switch of us-east-1c drops packets: each of the five nodes there was NotReady four to six times in the last hour, for a minute each. Nodes of other zones were never. At the moment all are ready.",
    cause="5 nodes, all in us-east-1c, were not ready again and again in the last hour (25 times); at the moment they are ready.",
    thread="kubernetes/kubernetes#45126",
    must=[n(5), r"not ready", r"us-east-1c", r"ready now|at the moment|currently"],
    must_not=[LAUNCHES, ICE, PENDING],
    first=1,
)
def nodes_of_one_zone_flap(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    for pair in fleet(c, "general", "orders/storefront", 15):
        if pair.zone == c.zones[2]:
            assert pair.node is not None
            c.event(
                pair.node,
                "NodeNotReady",
                f"Node {pair.name} status is now: NodeNotReady",
                last="4m",
                first="55m",
                count=5,
                kind="Normal",
                source="node-controller",
            )


@incident(
    story="The security group of EC2NodeClass pci was changed: all five nodes of NodePool pci, in three zones, fell silent 12 minutes ago. The eight nodes of NodePool general, with another EC2NodeClass, are ready.",
    cause="All 5 nodes of NodePool pci have not been ready for 12 minutes (their kubelets are silent), and the nodes of other NodePools are ready.",
    thread="aws/karpenter-provider-aws#3508",
    must=[n(5), r"not (been )?ready|silent", r"\bpci\b", r"all (5|of)|others? (nodes )?(are|is) ready|every node"],
    must_not=[LAUNCHES, ICE, PENDING],
    first=1,
)
def nodes_of_one_pool_fall_silent(c: Cluster) -> None:
    usual(c, 8)
    add_nodeclass(c, "pci")
    add_pool(c, "pci", nodeclass="pci")
    for number in range(5):
        add_node(c, "pci", "m6i.xlarge", c.zones[number % 3], age="6d", ready=NOT_READY, ready_since="12m")


@incident(
    story="NodePool general launches amd64 and arm64. Since last night the arm64 image of the company's AMI is broken: three m7g instances have not joined for 11 minutes, while an m6i that was launched later joined. Six pods are pending.",
    cause="3 instances of general have not joined for 11 minutes, all of the family m7g (arm64), while instances of other families joined; 6 pods are pending.",
    thread="aws/karpenter-provider-aws#2423",
    must=[n(3) + r"|1 more", r"regist|join", r"m7g|arm64", n(6), r"1[01] ?m"],
    must_not=[LAUNCHES, ICE, ROOM],
)
def instances_of_one_family_do_not_join(c: Cluster) -> None:
    usual(c, arch=("amd64", "arm64"), families=("m6i", "m7g"))
    good = add_node(c, "general", "m6i.xlarge", c.zones[1], age="8m")
    add_workload(c, "shop/new", on=[good], count=3, age="7m")
    pairs = [add_node(c, "general", "m7g.xlarge", zone, age="11m", stage="Launched") for zone in c.zones]
    nominated(c, waiting(c, "orders/checkout", 6, "12m"), pairs, last="20s", count=9)


@incident(
    story="Both pods of CoreDNS crash for 26 minutes (a bad Corefile). Karpenter runs, and cannot resolve EC2's name any more: each launch fails. Five pods are pending for 20 minutes.",
    cause="Both pods of kube-system/coredns crash, so Karpenter cannot resolve ec2.us-east-1.amazonaws.com, and every launch fails; 5 pods are pending for 20 minutes.",
    thread="aws/karpenter-provider-aws#2186",
    must=[r"coredns", r"crash|exit code", r"lookup|resolv|ec2\.us-east-1", n(5)],
    must_not=[LAUNCHES, ICE, ROOM, DOWN],
    first=2,
)
def names_of_ec2_do_not_resolve(c: Cluster) -> None:
    refuse(
        c,
        'creating fleet request, operation error EC2: CreateFleet, exceeded maximum number of attempts, 3, https response error StatusCode: 0, RequestID: , request send failed, Post "https://ec2.us-east-1.amazonaws.com/": dial tcp: lookup ec2.us-east-1.amazonaws.com on 10.100.0.10:53: read udp 10.24.16.31:41214->10.100.0.10:53: i/o timeout',
    )
    for pod in [
        item for item in c.objects if item["kind"] == "Pod" and item["metadata"]["name"].startswith("coredns-")
    ]:
        crash(c, pod, code=1, restarts=9, ago="2m")
        for state in pod["status"]["conditions"]:
            if state["type"] in ("Ready", "ContainersReady"):
                state["lastTransitionTime"] = c.at("26m")


def _virtual_node(c: Cluster, name: str, kubelet: str, labels: dict[str, str]) -> NodePair:
    pair = add_group_node(c, "m6i.xlarge", c.zones[0], age="277d")
    assert pair.node is not None
    pair.node["metadata"]["name"] = name
    pair.node["metadata"]["labels"] = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        **labels,
    }
    pair.node["spec"] = {"taints": [{"key": "virtual-kubelet.io/provider", "value": "azure", "effect": "NoSchedule"}]}
    pair.status["nodeInfo"] |= {"kubeletVersion": kubelet, "osImage": "", "containerRuntimeVersion": ""}
    return pair


@quiet(
    story="AKS with the virtual node add-on: the node virtual-node-aci-linux is no machine, and its version v1.25.0-vk-azure-aci-1.6.2 is that of the add-on, years behind the kubelets. Four pods run on it.",
    cause="the version of a virtual node is its add-on's, not a kubelet's.",
    thread="virtual-kubelet/azure-aci#564, Azure/AKS#2622",
    must_not=[r"kubelet", r"EC2NodeClass|\bEC2\b", DOWN],
    karpenter_runs=False,
    settings={"CLUSTER_NAME": "orders-aks"},
)
def fine_virtual_node_has_a_version_of_its_own(c: Cluster) -> None:
    aks_pool(c)
    fleet(c, "default", "orders/storefront", 5)
    virtual = _virtual_node(
        c,
        "virtual-node-aci-linux",
        "v1.25.0-vk-azure-aci-1.6.2",
        {"type": "virtual-kubelet", "kubernetes.azure.com/role": "agent"},
    )
    for manifest, pod in c.daemonsets:
        pod["spec"]["tolerations"] = manifest["spec"]["template"]["spec"]["tolerations"] = [
            {"operator": "Exists", "effect": "NoExecute"}
        ]
    add_workload(
        c,
        "shop/burst",
        on=[virtual],
        count=4,
        age="40m",
        spec={"tolerations": [{"key": "virtual-kubelet.io/provider", "operator": "Exists"}]},
    )
    add_workload(c, "kube-system/konnectivity", on=c.system, cpu="1", memory="1Gi", age="40d")
    to_aks(c)


@quiet(
    story="KubeEdge connects gateways in shops; their edgecore reports v1.28.11-kubeedge-v1.19.0, seven minor versions behind the cluster's nodes, as KubeEdge supports it.",
    cause="edge nodes report KubeEdge's version.",
    thread="kubeedge/kubeedge#5103",
    must_not=["kubelet"],
)
def fine_edge_nodes_have_versions_of_their_own(c: Cluster) -> None:
    usual(c, 5)
    for number in range(2):
        pair = _virtual_node(c, f"shop-{number}", "v1.28.11-kubeedge-v1.19.0", {"node-role.kubernetes.io/edge": ""})
        assert pair.node is not None
        pair.node["spec"]["taints"] = [{"key": "node-role.kubernetes.io/edge", "effect": "NoSchedule"}]
    for manifest, pod in c.daemonsets:
        pod["spec"]["tolerations"] = manifest["spec"]["template"]["spec"]["tolerations"] = [
            {"operator": "Exists", "effect": "NoExecute"}
        ]


@quiet(
    story="A new EC2NodeClass was created 90 seconds ago. Its instance profile is not yet usable everywhere: the first launch was refused 25 seconds ago, and Karpenter tries it again. Two pods are pending for 55 seconds.",
    cause="the first launch of a new NodeClass is repeated until its instance profile is usable.",
    thread="aws/karpenter-provider-aws#5414",
)
def fine_instance_profile_is_a_minute_old(c: Cluster) -> None:
    usual(c)
    manifest = add_nodeclass(c, "fresh")
    manifest["metadata"]["creationTimestamp"] = c.at("90s")
    for state in manifest["status"]["conditions"]:
        state["lastTransitionTime"] = c.at("70s")
    add_pool(c, "fresh", nodeclass="fresh")["metadata"]["creationTimestamp"] = c.at("85s")
    error = "creating instance, with fleet error(s), InvalidParameterValue: Value (orders-prod_4067990795380418201) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name"
    claim = add_node(c, "fresh", "m6i.xlarge", c.zones[0], age="45s", stage="", launch_error=("LaunchFailed", error))
    pods = waiting(c, "new/api", 2, "55s", pool="fresh")
    nominated(c, pods, [claim], last="40s")


@quiet(
    story="The GPU operator builds the driver on each new GPU node, which takes eight minutes in this cluster, as on its four other GPU nodes. The node that joined seven minutes ago is almost done. One pod waits for it.",
    cause="a GPU node initializes in its usual time.",
    thread="kubernetes-sigs/karpenter#357",
)
def fine_gpu_nodes_take_eight_minutes(c: Cluster) -> None:
    usual(c)
    add_pool(c, "gpu", families=("g5",), template={"taints": [GPU_TAINT]})
    old = [add_node(c, "gpu", "g5.xlarge", c.zones[number % 3], age=f"{3 + number}d", gpus=1) for number in range(4)]
    for number, pair in enumerate(old):
        claim = both(pair)[1]
        for state in claim["status"]["conditions"]:
            if state["type"] in ("Initialized", "Ready"):
                state["lastTransitionTime"] = c.at(later(f"{3 + number}d", "8m40s"))
    add_workload(c, "ml/infer", on=old, age="2d", cpu="2", memory="8Gi", requests={"nvidia.com/gpu": "1"}, spec=GPU_POD)
    why = ("ResourceNotRegistered", 'Resource "nvidia.com/gpu" was requested but not registered')
    new = add_node(
        c,
        "gpu",
        "g5.xlarge",
        c.zones[1],
        age="7m40s",
        stage="Registered",
        uninitialized=why,
        requests={"cpu": "2190m", "nvidia.com/gpu": "1"},
    )
    both(new)[1]["status"]["capacity"] |= {"nvidia.com/gpu": "1"}
    both(new)[1]["status"]["allocatable"] |= {"nvidia.com/gpu": "1"}
    text = no_node({SELECTOR: 6, "Insufficient nvidia.com/gpu": 5})
    pods = waiting(
        c, "ml/train", 1, "8m10s", text, cpu="2", memory="8Gi", requests={"nvidia.com/gpu": "1"}, spec=GPU_POD
    )
    nominated(c, pods, [new], last="30s", count=4)


@quiet(
    story="A hardened image of the company takes seven minutes from launch to registration, on all five nodes of NodePool vault. The sixth was launched six minutes ago for one pod.",
    cause="nodes of a hardened image join in their usual time.",
    thread="kubernetes-sigs/karpenter#357, aws/karpenter-provider-aws#7212",
)
def fine_hardened_image_boots_slowly(c: Cluster) -> None:
    usual(c)
    add_pool(c, "vault")
    old = [add_node(c, "vault", "m6i.xlarge", c.zones[number % 3], age=f"{3 + number}d") for number in range(5)]
    for number, pair in enumerate(old):
        node, claim = both(pair)
        node["metadata"]["creationTimestamp"] = c.at(later(f"{3 + number}d", "6m55s"))
        for state in claim["status"]["conditions"]:
            if state["type"] in ("Registered", "Initialized", "Ready"):
                state["lastTransitionTime"] = c.at(later(f"{3 + number}d", "7m10s"))
    add_workload(c, "pay/vault", on=old, count=15, age="2d")
    new = add_node(c, "vault", "m6i.xlarge", c.zones[2], age="6m10s", stage="Launched")
    pods = waiting(c, "pay/hsm", 1, "6m20s", pool="vault")
    nominated(c, pods, [new], last="20s", count=4)


@quiet(
    story="Karpenter 0.34 with v1beta1: neither NodePools nor EC2NodeClasses have conditions in this version. Everything runs.",
    cause="an older Karpenter writes no conditions.",
    thread="aws/karpenter-provider-aws#5461",
    must_not=["reconciled", "not (been )?ready", DOWN],
    karpenter_version="0.34.0",
)
def fine_beta_without_conditions(c: Cluster) -> None:
    usual(c, 6)
    to_beta(c)
    for item in c.objects:
        if item["kind"] in ("NodePool", "EC2NodeClass"):
            item["status"].pop("conditions", None)


@quiet(
    story="Four CI nodes expired after an hour, idle, and Karpenter removed them; the cloud controller reports the Nodes. The pool launches new ones with the next jobs.",
    cause="idle nodes expired and were removed.",
    thread="kubernetes-sigs/karpenter#1018",
    must_not=["disappear"],
)
def fine_idle_nodes_expired(c: Cluster) -> None:
    usual(c, 5)
    add_pool(c, "ci", template={"expireAfter": "1h"}, disruption={"consolidateAfter": "2h"})
    for number in range(4):
        name = f"ip-10-24-{60 + number}-{11 + number}.ec2.internal"
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": f"gone-{number}"}}
        c.event(
            node, "DisruptionBlocked", "Node is nominated for a pending pod", last=f"{50 - 5 * number}m", kind="Normal"
        )
        c.event(
            node,
            "DeletingNode",
            f"Deleting node {name} because it does not exist in the cloud provider",
            last=f"{6 + 4 * number}m",
            kind="Normal",
            source="cloud-node-lifecycle-controller",
        )
