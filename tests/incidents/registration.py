"""Nodes that come up and cannot be used."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import CPU, MEMORY, fleet, gone_claim, nominated, usual
from tests.incidents.incident import LAUNCHES, ROOM, incident, n
from tests.incidents.node_objects import CNI_NOT_READY, add_node
from tests.incidents.pods import add_pod, add_workload
from tests.incidents.pools import add_nodeclass, add_pool

TAINT = {"key": "ebs.csi.aws.com/agent-not-ready", "effect": "NoExecute"}


@incident(
    story="The image of aws-node cannot be pulled any more. The three nodes that came up 13 minutes ago have no network and "
    "stay NotReady; nine pods were promised to them.",
    cause="Three new nodes of general stay NotReady because their CNI plugin (aws-node) does not start; 9 pods are pending.",
    thread="aws/karpenter-provider-aws#1391",
    must=[
        [r"\bCNI\b|network|aws-node"],
        [n(3), r"\bthree\b"],
        [r"not (been )?ready|NotReady|not initiali|never initiali"],
        [n(9), r"\bnine\b"],
    ],
    must_not=[LAUNCHES, ROOM],
)
def cni_not_ready(c: Cluster) -> None:
    usual(c)
    made = [
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
    for number, pair in enumerate(made):
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
    pods = add_workload(
        c,
        "Deployment",
        "orders",
        "checkout",
        pending=9,
        pending_since="14m",
        cpu=CPU,
        memory=MEMORY,
        message="0/9 nodes are available: 3 node(s) had untolerated taint {node.kubernetes.io/not-ready: }, 6 Insufficient cpu. "
        "preemption: 0/9 nodes are available: 3 Preemption is not helpful for scheduling, 6 No preemption victims found for "
        "incoming pod.",
    )
    nominated(c, pods, made, last="8s", count=60)


@incident(
    story="The EBS driver reports ready on two new nodes of pool stateful, but its startup taint was never removed. For 47 "
    "minutes nothing is scheduled there, five pods wait, and Karpenter can neither use nor remove the nodes.",
    cause="The startup taint ebs.csi.aws.com/agent-not-ready stays on 2 nodes of stateful, so they never initialise and 5 pods "
    "are pending.",
    thread="chanzuckerberg/cztack#893",
    must=[
        [r"ebs\.csi\.aws\.com/agent-not-ready|startup ?taint"],
        ["taint"],
        [n(2), r"\btwo\b|stateful-"],
        [n(5), r"\bfive\b"],
    ],
    must_not=[LAUNCHES, ROOM],
)
def ebs_startup_taint(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    add_pool(c, "stateful", sizes=("2xlarge",), template={"startupTaints": [TAINT]})
    fleet(c, "general", "orders", "storefront", 3)
    why = ("StartupTaintsExist", 'StartupTaint "ebs.csi.aws.com/agent-not-ready:NoExecute" still exists')
    made = [
        add_node(c, "stateful", "m6i.2xlarge", zone, age="47m", stage="Registered", uninitialized=why, taints=[TAINT])
        for zone in c.zones[:2]
    ]
    for pair in made:
        for one in (pair.node, pair.claim):
            assert one is not None
            c.event(
                one, "DisruptionBlocked", "Node isn't initialized", last="40s", first="44m", count=22, kind="Normal"
            )
    pods = add_workload(
        c,
        "StatefulSet",
        "streaming",
        "broker",
        pending=5,
        pending_since="48m",
        cpu="2500m",
        memory="8Gi",
        spec={"nodeSelector": {"karpenter.sh/nodepool": "stateful"}},
        message="0/7 nodes are available: 2 node(s) had untolerated taint {ebs.csi.aws.com/agent-not-ready: }, 5 node(s) didn't "
        "match Pod's node affinity/selector. preemption: 0/7 nodes are available: 7 Preemption is not helpful for scheduling.",
    )
    nominated(c, pods, made, last="6s", count=230)


@incident(
    story="New user data broke the bootstrap three hours ago. All nine nodes of pool web drifted; Karpenter launches one "
    "replacement after the other, none joins, and each is given up after 15 minutes.",
    cause="Replacements for the 9 drifted nodes of web never register, so the drift makes no progress.",
    thread="aws/karpenter-provider-aws#2423",
    must=[[r"regist|join"], ["web"], [r"drift|replace"], [n(9), r"\bnine\b|\b8\b|15 ?m|2 ?h|gives? up|given up"]],
)
def replacement_never_registers(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "web", registration=("RegistrationFailed", "Failed to register node", "2h10m"))
    pairs = fleet(c, "web", "orders", "storefront", 9, drifted="3h", drift_reason="NodeClassDrift")
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
        [r"IP address|sandbox|\bCNI\b|addresses"],
        [n(10), r"\bten\b"],
        [r"ContainerCreating|not start|cannot start|never start|can't start|fail\w* to start|not running|sandbox"],
        [r"ip-10-24-17-116|\b1 node\b|one node"],
    ],
)
def sandbox_without_address(c: Cluster) -> None:
    add_nodeclass(c, spec={"kubelet": {"maxPods": 110}})
    add_pool(c, "general")
    fleet(c, "general", "orders", "storefront", 3)
    big = add_node(c, "general", "m6i.2xlarge", c.zones[1], age="5h")
    for one in (big.node, big.claim):
        assert one is not None
        for key in ("capacity", "allocatable"):
            one["status"][key]["pods"] = "110"
    add_workload(c, "Deployment", "orders", "webhooks", on=[big], count=55, age="4h", cpu="100m", memory="200Mi")
    for pod in add_workload(
        c,
        "Deployment",
        "orders",
        "mailer",
        on=[big],
        count=10,
        age="25m",
        cpu="100m",
        memory="200Mi",
        waiting="ContainerCreating",
    ):
        digest = pod["metadata"]["uid"].replace("-", "")
        text = (
            f'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "{digest}": '
            'plugin type="aws-cni" name="aws-cni" failed (add): add cmd: failed to assign an IP address to container'
        )
        c.event(pod, "FailedCreatePodSandBox", text, last="15s", first="25m", count=112, source="kubelet")
