"""Nodes that do not become ready, and bound pods that do not start."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import fleet, gone_claim, nominated, usual
from tests.incidents.incident import LAUNCHES, ROOM, incident, n
from tests.incidents.node_objects import CNI_NOT_READY, add_group_node, add_node
from tests.incidents.pods import add_pod, add_workload, waiting
from tests.incidents.pools import add_nodeclass, add_pool

TAINT = {"key": "ebs.csi.aws.com/agent-not-ready", "effect": "NoExecute"}


@incident(
    story="The image of aws-node cannot be pulled any more. The three nodes that came up 13 minutes ago have no network and "
    "stay NotReady; nine pods were promised to them.",
    cause="Three new nodes of general stay NotReady because their CNI plugin (aws-node) does not start; 9 pods are pending.",
    thread="aws/karpenter-provider-aws#1391",
    must=[r"\bCNI\b|network|aws-node", n(3), r"not (been )?ready|NotReady|not initiali|never initiali", n(9)],
    must_not=[LAUNCHES, ROOM],
)
def cni_not_ready(c: Cluster) -> None:
    usual(c)
    pairs = [
        add_node(
            c,
            "general",
            "m6i.xlarge",
            zone,
            age="13m",
            stage="Registered",
            uninitialized=("NodeNotReady", "Node status is NotReady"),
            ready=CNI_NOT_READY,
            without=("aws-node",),
        )
        for zone in c.zones
    ]
    agent = c.find("DaemonSet", "aws-node")
    for number, pair in enumerate(pairs):
        pod = add_pod(
            c,
            "kube-system",
            f"aws-node-xx{number}",
            node=pair,
            parent=agent,
            age="12m",
            cpu="50m",
            memory="0",
            labels={"app.kubernetes.io/name": "aws-node"},
            spec={
                "priorityClassName": "system-node-critical",
                "tolerations": [{"operator": "Exists"}],
                "hostNetwork": True,
            },
            waiting="ImagePullBackOff",
        )
        text = 'Back-off pulling image "602401143452.dkr.ecr.us-east-1.amazonaws.com/amazon-k8s-cni:v1.21.9"'
        c.event(pod, "BackOff", text, last="30s", first="11m", count=44, source="kubelet")
    pods = waiting(
        c,
        "orders/checkout",
        9,
        "14m",
        "0/9 nodes are available: 3 node(s) had untolerated taint {node.kubernetes.io/not-ready: }, 6 Insufficient cpu. "
        "preemption: 0/9 nodes are available: 3 Preemption is not helpful for scheduling, 6 No preemption victims found for "
        "incoming pod.",
    )
    nominated(c, pods, pairs, last="8s", count=60)


@incident(
    story="The EBS driver reports ready on two new nodes of pool stateful, but its startup taint was never removed. For 47 "
    "minutes nothing is scheduled there, five pods wait, and Karpenter can neither use nor remove the nodes.",
    cause="The startup taint ebs.csi.aws.com/agent-not-ready stays on 2 nodes of stateful, so they never initialize and 5 pods "
    "are pending.",
    thread="chanzuckerberg/cztack#893",
    must=[r"ebs\.csi\.aws\.com/agent-not-ready|startup ?taint", "taint", n(2) + r"|stateful-", n(5)],
    must_not=[LAUNCHES, ROOM],
)
def ebs_startup_taint(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    add_pool(c, "stateful", sizes=("2xlarge",), template={"startupTaints": [TAINT]})
    fleet(c, "general", "orders/storefront", 3)
    why = ("StartupTaintsExist", 'StartupTaint "ebs.csi.aws.com/agent-not-ready:NoExecute" still exists')
    pairs = [
        add_node(c, "stateful", "m6i.2xlarge", zone, age="47m", stage="Registered", uninitialized=why, taints=[TAINT])
        for zone in c.zones[:2]
    ]
    for pair in pairs:
        for item in (pair.node, pair.claim):
            assert item is not None
            c.event(
                item, "DisruptionBlocked", "Node isn't initialized", last="40s", first="44m", count=22, kind="Normal"
            )
    pods = waiting(
        c,
        "streaming/broker",
        5,
        "48m",
        "0/7 nodes are available: 2 node(s) had untolerated taint {ebs.csi.aws.com/agent-not-ready: }, 5 node(s) didn't "
        "match Pod's node affinity/selector. preemption: 0/7 nodes are available: 7 Preemption is not helpful for scheduling.",
        kind="StatefulSet",
        cpu="2500m",
        memory="8Gi",
        pool="stateful",
    )
    nominated(c, pods, pairs, last="6s", count=230)


@incident(
    story="New user data broke the bootstrap three hours ago. All nine nodes of pool web drifted; Karpenter launches one "
    "replacement after the other, none joins, and each is given up after 15 minutes.",
    cause="Replacements for the 9 drifted nodes of web never register, so the drift makes no progress.",
    thread="aws/karpenter-provider-aws#2423",
    must=[r"regist|join", "web", r"drift|replace", n(9) + r"|\b8\b|15 ?m|2 ?h|gives? up|given up"],
)
def replacement_never_registers(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "web", registration=("RegistrationFailed", "Failed to register node", "2h10m"))
    pairs = fleet(c, "web", "orders/storefront", 9, drifted="3h", drift_reason="NodeClassDrift")
    going = pairs[0]
    assert going.node is not None
    assert going.claim is not None
    going.node["spec"].setdefault("taints", []).append({"key": "karpenter.sh/disrupted", "effect": "NoSchedule"})
    going.claim["status"]["conditions"].append(
        {
            "type": "DisruptionReason",
            "status": "True",
            "reason": "Drifted",
            "message": "Drifted",
            "lastTransitionTime": c.at("9m"),
        }
    )
    fresh = add_node(c, "web", "m6i.xlarge", c.zones[0], age="9m", stage="Launched")
    assert fresh.claim is not None
    c.event(fresh.claim, "DisruptionLaunching", "Launching NodeClaim: Drifted", last="9m", kind="Normal")
    text = "Waiting on readiness to continue disruption"
    c.event(fresh.claim, "DisruptionWaitingReadiness", text, last="20s", first="9m", count=5, kind="Normal")
    for number in range(3):
        claim, last = gone_claim(c, "web", number), f"{10 + 16 * number}m"
        c.event(
            claim, "DisruptionLaunching", "Launching NodeClaim: Drifted", last=f"{25 + 16 * number}m", kind="Normal"
        )
        c.event(claim, "DisruptionWaitingReadiness", text, last=last, count=8, kind="Normal")


@incident(
    story="A big node has handed out all its pod addresses, but its kubelet was told to take more pods. Ten pods were scheduled "
    "there 25 minutes ago and cannot start.",
    cause="Ten pods on one node have been in ContainerCreating for 25 minutes because the CNI cannot assign IP addresses there.",
    thread="aws/karpenter-provider-aws#7318",
    must=[
        r"IP address|sandbox|\bCNI\b|addresses",
        n(10),
        r"ContainerCreating|not start|cannot start|never start|can't start|fail\w* to start|not running|sandbox",
        r"ip-10-24-17-116|\b1 node\b|one node",
    ],
)
def sandbox_without_address(c: Cluster) -> None:
    add_nodeclass(c, spec={"kubelet": {"maxPods": 110}})
    add_pool(c, "general")
    fleet(c, "general", "orders/storefront", 3)
    big = add_node(c, "general", "m6i.2xlarge", c.zones[1], age="5h")
    for manifest in (big.node, big.claim):
        assert manifest is not None
        for key in ("capacity", "allocatable"):
            manifest["status"][key]["pods"] = "110"
    add_workload(c, "orders/webhooks", on=[big], count=55, age="4h", cpu="100m", memory="200Mi")
    for pod in add_workload(
        c, "orders/mailer", on=[big], count=10, age="25m", cpu="100m", memory="200Mi", waiting="ContainerCreating"
    ):
        digest = pod["metadata"]["uid"].replace("-", "")
        text = (
            f'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "{digest}": '
            'plugin type="aws-cni" name="aws-cni" failed (add): add cmd: failed to assign an IP address to container'
        )
        c.event(pod, "FailedCreatePodSandBox", text, last="15s", first="25m", count=112, source="kubelet")


@incident(
    story="Graviton was added to the pool general 20 minutes ago. The encoder's image exists for amd64 only; its six new pods landed on two m7g nodes "
    "and cannot pull it for 14 minutes.",
    cause="6 pods of media/encoder cannot pull their image for 14 minutes: it has no build for arm64, and their nodes are arm64.",
    thread="codefactoryhu/manifest#11",
    must=["encoder", "image", r"arm64|platform|architecture", n(6), r"1[34] ?m"],
    must_not=[LAUNCHES, "no address|cannot assign"],
)
def image_without_arm64(c: Cluster) -> None:
    usual(c, arch=("amd64", "arm64"), families=("m6i", "m7g"))
    pairs = [add_node(c, "general", "m7g.xlarge", zone, age="16m") for zone in c.zones[:2]]
    image = "registry.example/media/encoder:4.2"
    pods = add_workload(c, "media/encoder", on=pairs, count=6, age="14m", image=image, waiting="ImagePullBackOff")
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
    must=["invoice", "invoice-tls", "secret", n(5), r"2[12] ?m"],
    must_not=["image cannot|pull", "address", LAUNCHES],
)
def secret_missing(c: Cluster) -> None:
    usual(c)
    pairs = [add_node(c, "general", "m6i.xlarge", zone, age="3d") for zone in c.zones]
    volume = {"name": "tls", "secret": {"secretName": "invoice-tls"}}
    pods = add_workload(c, "billing/invoice", on=pairs, count=5, age="22m", cpu="500m", memory="1Gi", waiting="ContainerCreating", spec={"volumes": [volume]})  # fmt: skip
    text = 'MountVolume.SetUp failed for volume "tls" : secret "invoice-tls" not found'
    for pod in pods:
        c.event(pod, "FailedMount", text, last="50s", first="22m", count=18, source="kubelet")


@incident(
    story="The kubelets of a new image run with an external cloud provider that is not installed. Two nodes are Ready and have no spec.providerID, so Karpenter does not know that they are the instances of its NodeClaims; five pods are pending for 14 minutes.",
    cause="2 NodeClaims of general have not registered for 13 minutes, because their nodes have no spec.providerID; 5 pods are pending.",
    thread="siderolabs/talos#14342, kubernetes/kubernetes#123024",
    must=["providerID", r"ip-10-24-18-167", "regist", n(5), r"1[34] ?m"],
    must_not=[LAUNCHES],
)
def nodes_without_a_provider_id(c: Cluster) -> None:
    usual(c)
    pairs = [add_node(c, "general", "m6i.xlarge", zone, age="13m", stage="Launched") for zone in c.zones[:2]]
    for pair in pairs:
        node = add_group_node(c, "m6i.xlarge", pair.zone, age="12m").node
        assert node is not None
        del node["spec"]["providerID"]
        node["metadata"]["labels"] = {key: text for key, text in node["metadata"]["labels"].items() if "eks" not in key}
        effects = {"karpenter.sh/unregistered": "NoExecute", "node.cloudprovider.kubernetes.io/uninitialized": "NoSchedule"}  # fmt: skip
        node["spec"]["taints"] = [{"key": key, "effect": effect} for key, effect in effects.items()]
    nominated(c, waiting(c, "orders/checkout", 5, "14m"), pairs, last="40s", count=6)
