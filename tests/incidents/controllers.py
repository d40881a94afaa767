"""Karpenter itself, and the admission of pods."""

from __future__ import annotations

from typing import Any, Final

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import CPU, MEMORY, fleet, usual
from tests.incidents.incident import LAUNCHES, incident, n
from tests.incidents.node_objects import add_node
from tests.incidents.pods import add_workload, refuse_pods
from tests.incidents.pools import add_karpenter, add_nodeclass, add_pool

FILLER: Final[dict[str, Any]] = {"cpu": "1300m", "memory": "2Gi", "age": "40d"}
"""Requests of Prometheus pods that leave no room on the managed node group where Karpenter does not run."""
FULL = "0/{0} nodes are available: {0} Insufficient cpu. preemption: 0/{0} nodes are available: {0} No preemption victims found for incoming pod."
DOWN = (
    r"karpenter.{0,80}(0 of [02]|0/[02]|none of|\b0 (replicas|pods)|no (running |ready )?(pod|replica|controller)|scaled|down|stopped"
    r"|unavailable|not (been )?(ready|running|working)|does not (run|work)|pending|unschedulable)"
    r"|(0 of 2|0/2|\b0 replicas|down|not ready|not running|no running|no ready|scaled|pending).{0,80}karpenter"
)


@incident(
    story="Karpenter was scaled to zero three hours ago for a migration and never scaled up again. Ten pods wait.",
    cause="Karpenter does not run: its Deployment is scaled to 0 replicas, so nothing launches for 10 pending pods.",
    thread="aws/karpenter-provider-aws#8428",
    must=[
        [DOWN],
        [
            r"\b0 replicas|replicas.{0,12}\b0\b|scaled (down )?to (0|zero)|no replicas|zero replicas|0 of 0|wants no|replicas: 0"
        ],
    ],
    must_not=[LAUNCHES],
    first=1,
    other=[{"command": ["verdict"], "must": [[n(10)]]}],
    karpenter_runs=False,
)
def karpenter_scaled_to_zero(c: Cluster) -> None:
    usual(c)
    add_workload(
        c,
        "Deployment",
        "kube-system",
        "karpenter",
        replicas=0,
        labels={"app.kubernetes.io/name": "karpenter", "app.kubernetes.io/instance": "karpenter"},
        image="public.ecr.aws/karpenter/controller:1.15.0",
        container="controller",
    )
    add_workload(c, "StatefulSet", "monitoring", "prometheus", on=c.system, **FILLER)
    c.add(
        "Lease",
        "karpenter-leader-election",
        "kube-system",
        age="200d",
        spec={"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": c.at("3h"), "leaseTransitions": 15},
    )
    add_workload(
        c,
        "Deployment",
        "orders",
        "checkout",
        pending=10,
        pending_since="2h10m",
        cpu=CPU,
        memory=MEMORY,
        message=FULL.format(6),
    )


@incident(
    story="Karpenter was told to run on its own pool infra. The only node of that pool expired last night, both pods are Pending "
    "for 32 minutes, and there is nobody to launch a node for them, nor for seven other pods.",
    cause="Karpenter is down: both its pods are Pending because they may only run on NodePool infra, whose nodes only Karpenter "
    "could launch.",
    thread="METR/hawk#25",
    must=[
        [DOWN],
        [r"pending|unschedulable|no node|fits? (on )?no|cannot be scheduled|not scheduled"],
        [r"32 ?m|08:58"],
    ],
    must_not=[LAUNCHES],
    first=1,
    karpenter_runs=False,
)
def karpenter_on_its_own_pool(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    add_pool(c, "infra", sizes=("xlarge",))
    fleet(c, "general", "orders", "storefront", 4)
    add_workload(c, "StatefulSet", "monitoring", "prometheus", on=c.system, **FILLER)
    add_karpenter(
        c,
        pending=2,
        pending_since="32m",
        affinity=False,
        node_labels={"karpenter.sh/nodepool": "infra"},
        message="0/6 nodes are available: 6 node(s) didn't match Pod's node affinity/selector. preemption: 0/6 nodes are "
        "available: 6 Preemption is not helpful for scheduling.",
    )
    add_workload(
        c,
        "Deployment",
        "orders",
        "checkout",
        pending=7,
        pending_since="20m",
        cpu=CPU,
        memory=MEMORY,
        message=FULL.format(6),
    )


@incident(
    story="Kyverno's pods are overloaded and its webhook times out. For 21 minutes no pod can be created in any namespace: a "
    "rollout, a DaemonSet and a Job stand still, and nothing is Pending.",
    cause="Pods cannot be created for 21 minutes because calls of the webhook mutate.kyverno.svc-fail time out.",
    thread="kyverno/kyverno#2869",
    must=[["kyverno"], ["webhook"], [r"creat|FailedCreate|refuse|reject"]],
)
def kyverno_times_out(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    pairs = fleet(c, "general", "orders", "storefront", 4)
    add_workload(
        c, "Deployment", "kyverno", "kyverno-admission-controller", on=pairs[:1], age="25m", cpu="100m", memory="128Mi"
    )
    kyverno = c.find("Deployment", "kyverno-admission-controller")
    kyverno["spec"]["replicas"] = 3
    kyverno["status"] |= {"unavailableReplicas": 2}
    text = (
        'Error creating: Internal error occurred: failed calling webhook "mutate.kyverno.svc-fail": failed to call webhook: Post '
        '"https://kyverno-svc.kyverno.svc:443/mutate/fail?timeout=10s": context deadline exceeded'
    )
    wanted = [
        ("Deployment", "orders", "checkout", 6),
        ("Job", "orders", "reconcile", 1),
        ("Deployment", "payments", "ledger", 4),
    ]
    for kind, namespace, name, count in wanted:
        add_workload(c, kind, namespace, name, replicas=count, age="21m")
        refuse_pods(c, name, text, first="21m", last="12s", count=38)
    refuse_pods(c, "ebs-csi-node", text, first="20m", last="25s", count=19)
    c.add(
        "MutatingWebhookConfiguration",
        "kyverno-resource-mutating-webhook-cfg",
        webhooks=[{"name": "mutate.kyverno.svc-fail", "failurePolicy": "Fail", "timeoutSeconds": 10}],
    )


@incident(
    story="The namespace's quota is used up: the Deployment api wants 24 pods and has 15. Nothing is Pending, so it looks as if "
    "Karpenter had nothing to do.",
    cause="9 of 24 pods of payments/api cannot be created because the ResourceQuota payments-quota is exhausted.",
    thread="kubernetes/kubernetes#25146",
    must=[["quota"], ["api"], [r"creat|FailedCreate|forbid|\b9\b|refuse|reject"]],
)
def resource_quota(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    pairs = [add_node(c, "general", "m6i.xlarge", c.zones[number % 3]) for number in range(5)]
    pods = add_workload(c, "Deployment", "payments", "api", on=pairs, count=15, replicas=24, cpu=CPU, memory=MEMORY)
    text = (
        f'Error creating: pods "{pods[0]["metadata"]["name"][:-1]}z" is forbidden: exceeded quota: payments-quota, requested: '
        "requests.cpu=1150m, used: requests.cpu=17250m, limited: requests.cpu=18"
    )
    refuse_pods(c, "api", text, first="44m", last="2m", count=21)
