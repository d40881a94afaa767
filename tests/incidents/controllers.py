"""Karpenter does not act, or pods cannot be created."""

from __future__ import annotations

from typing import Any, Final

from tests.incidents.cluster import Cluster, owned_by
from tests.incidents.fleets import fleet, usual
from tests.incidents.incident import LAUNCHES, incident, n
from tests.incidents.node_objects import add_node
from tests.incidents.objects import condition
from tests.incidents.pods import add_namespace, add_workload, refuse_pods, waiting
from tests.incidents.pools import add_karpenter, add_nodeclass, add_pool

FILLER: Final[dict[str, Any]] = {"cpu": "1300m", "memory": "2Gi", "age": "40d"}
"""Requests of Prometheus pods that leave no room on the managed node group where Karpenter does not run."""


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
        DOWN,
        r"\b0 replicas|replicas.{0,12}\b0\b|scaled (down )?to (0|zero)|no replicas|zero replicas|0 of 0|wants no|replicas: 0",
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
        "kube-system/karpenter",
        cpu="250m",
        memory="256Mi",
        replicas=0,
        labels={"app.kubernetes.io/name": "karpenter", "app.kubernetes.io/instance": "karpenter"},
        image="public.ecr.aws/karpenter/controller:1.15.0",
        container="controller",
    )
    add_workload(c, "monitoring/prometheus", kind="StatefulSet", on=c.system, **FILLER)
    c.add(
        "Lease",
        "karpenter-leader-election",
        "kube-system",
        age="200d",
        spec={"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": c.at("3h"), "leaseTransitions": 15},
    )
    waiting(c, "orders/checkout", 10, "2h10m")


@incident(
    story="Karpenter was told to run on its own pool infra. The only node of that pool expired last night, both pods are Pending "
    "for 32 minutes, and there is nobody to launch a node for them, nor for seven other pods.",
    cause="Karpenter is down: both its pods are Pending because they may only run on NodePool infra, whose nodes only Karpenter "
    "could launch.",
    thread="METR/hawk#25",
    must=[DOWN, r"pending|unschedulable|no node|fits? (on )?no|cannot be scheduled|not scheduled", r"32 ?m|08:58"],
    must_not=[LAUNCHES],
    first=1,
    karpenter_runs=False,
)
def karpenter_on_its_own_pool(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    add_pool(c, "infra", sizes=("xlarge",))
    fleet(c, "general", "orders/storefront", 4)
    add_workload(c, "monitoring/prometheus", kind="StatefulSet", on=c.system, **FILLER)
    add_karpenter(
        c,
        pending=2,
        pending_since="32m",
        affinity=False,
        node_labels={"karpenter.sh/nodepool": "infra"},
        message="0/6 nodes are available: 6 node(s) didn't match Pod's node affinity/selector. preemption: 0/6 nodes are "
        "available: 6 Preemption is not helpful for scheduling.",
    )
    waiting(c, "orders/checkout", 7, "20m")


@incident(
    story="The chart was upgraded to a tag that the registry does not have. Both Karpenter pods pull in vain for 18 minutes, and "
    "eight pods wait.",
    cause="Karpenter is down: its image cannot be pulled, 0 of 2 pods are ready for 18 minutes; 8 pods are pending.",
    thread="aws/karpenter-provider-aws#8428",
    must=[
        DOWN + r"|karpenter.{0,120}image|image.{0,120}karpenter",
        r"image|pull|ImagePullBackOff|ErrImagePull",
        r"1[78] ?m|09:12",
    ],
    must_not=[LAUNCHES],
    first=1,
    karpenter_runs=False,
)
def karpenter_image_missing(c: Cluster) -> None:
    usual(c)
    add_workload(c, "monitoring/prometheus", kind="StatefulSet", on=c.system, **{**FILLER, "cpu": "300m"})
    pods = add_karpenter(c, on=c.system)
    deployment = c.find("Deployment", "karpenter")
    deployment["status"] |= {"readyReplicas": 0, "availableReplicas": 0, "unavailableReplicas": 2}
    text = "Deployment does not have minimum availability."
    deployment["status"]["conditions"] = [
        condition("Available", "False", c.at("18m"), "MinimumReplicasUnavailable", text)
    ]
    for pod in pods:
        pod["metadata"]["creationTimestamp"] = c.at("18m")
        pod["status"] |= {"phase": "Pending", "startTime": c.at("18m")}
        pod["status"]["containerStatuses"][0] |= {"ready": False, "state": {"waiting": {"reason": "ImagePullBackOff"}}}
        for item in pod["status"]["conditions"]:
            item["lastTransitionTime"] = c.at("18m")
            if item["type"] in ("Ready", "ContainersReady"):
                item |= {"status": "False", "reason": "ContainersNotReady"}
        image = "public.ecr.aws/karpenter/controller:1.15.9"
        pod["spec"]["containers"][0]["image"] = image
        c.event(
            pod,
            "Failed",
            f'Failed to pull image "{image}": not found',
            last="1m",
            first="18m",
            count=8,
            source="kubelet",
        )
        c.event(
            pod, "BackOff", f'Back-off pulling image "{image}"', last="10s", first="17m", count=70, source="kubelet"
        )
    c.find("Lease", "karpenter-leader-election")["spec"]["renewTime"] = c.at("18m")
    waiting(c, "orders/checkout", 8, "15m")


@incident(
    story="Both Karpenter pods are ready, but neither has led for ten minutes: the lease was last renewed at 09:20, because calls to "
    "the API server hang. Eight pods are pending, and Karpenter has not written one event about them.",
    cause="Karpenter acts on nothing: its leader lease was last renewed 10 minutes ago although 2 of 2 pods are ready; 8 pods are pending.",
    thread="aws/karpenter-provider-aws#6068",
    must=["karpenter", r"leader|lease|leads", r"\b10 ?m|09:20"],
    must_not=[LAUNCHES, r"karpenter[^\n]{0,40}(0 of 2|not ready|0/2)"],
    first=1,
    other=[{"command": ["verdict"], "must": [[n(8)]]}],
)
def karpenter_without_leader(c: Cluster) -> None:
    usual(c)
    c.find("Lease", "karpenter-leader-election")["spec"]["renewTime"] = c.at("10m")
    waiting(c, "orders/checkout", 8, "9m")  # fmt: skip


@incident(
    story="etcd's storage quota is exceeded: for 12 minutes the API server has refused all writes (etcdserver: mvcc: database space "
    "exceeded). No lease was renewed since, neither Karpenter's nor those of Kubernetes' own controllers. Five pods are pending.",
    cause="No controller has renewed its lease for 12 minutes, Karpenter included: the API server accepts no writes. 5 pods are pending.",
    thread="etcd-io/etcd#9771",
    # Of a live cluster, only Karpenter's lease is read.
    must=[r"lease", r"API server|etcd|no leader", r"\b1[12] ?m|09:1[78]"],
    must_not=[LAUNCHES, r"karpenter (is|has been) (down|not running)"],
    first=1,
    other=[{"command": ["verdict"], "must": [[n(5)]]}],
)
def api_server_accepts_no_writes(c: Cluster) -> None:
    usual(c)
    c.find("Lease", "karpenter-leader-election")["spec"]["renewTime"] = c.at("12m")
    for name in ("kube-controller-manager", "kube-scheduler"):
        spec = {"holderIdentity": f"{name}-1", "leaseDurationSeconds": 15, "renewTime": c.at("12m2s")}
        c.add("Lease", name, "kube-system", age="200d", spec=spec)
    waiting(c, "orders/checkout", 5, "12m10s")


@incident(
    story="Karpenter runs in the namespace karpenter. One of its two pods has crashed 41 times since yesterday; the other leads, and "
    "nothing is pending. If the node of the leader goes, no pod can take over.",
    cause="1 of 2 Karpenter pods is in CrashLoopBackOff (41 restarts), so Karpenter has no standby; the other pod leads.",
    thread="kubernetes-sigs/karpenter#719",
    must=["karpenter", r"1 of 2|1/2|one of (the |its )?(two|2)|replica|standby", r"crash|CrashLoopBackOff|restart"],
    must_not=[r"karpenter (itself )?(is|has been) (down|stopped)|0 of 2|0/2|no leader"],
)
def karpenter_crashes_in_its_own_namespace(c: Cluster) -> None:
    add_namespace(c, "karpenter")
    for manifest in c.objects:
        if manifest["metadata"]["name"].startswith("karpenter") and manifest["kind"] != "Namespace":
            manifest["metadata"]["namespace"] = "karpenter"
    usual(c)
    deployment = c.find("Deployment", "karpenter")
    for manifest in c.objects:
        if manifest is deployment or (manifest["kind"] == "ReplicaSet" and owned_by(manifest, "karpenter")):
            manifest["status"] |= {"readyReplicas": 1, "availableReplicas": 1}
    deployment["status"]["unavailableReplicas"] = 1
    pod = [item for item in c.objects if item["kind"] == "Pod" and item["metadata"]["namespace"] == "karpenter"][1]
    pod["status"]["containerStatuses"][0] |= {
        "ready": False,
        "restartCount": 41,
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container"}},
        "lastState": {
            "terminated": {"exitCode": 1, "reason": "Error", "finishedAt": c.at("2m"), "startedAt": c.at("3m")}
        },
    }
    for manifest in pod["status"]["conditions"]:
        if manifest["type"] in ("Ready", "ContainersReady"):
            manifest |= {"status": "False", "reason": "ContainersNotReady", "lastTransitionTime": c.at("2m")}
    c.series_event(
        pod, "BackOff", "Back-off restarting failed container controller", last="20s", first="59m", count=240,
        kind="Warning", controller="kubelet",
    )  # fmt: skip


@incident(
    story="Kyverno's pods are overloaded and its webhook times out. For 21 minutes no pod can be created in any namespace: a "
    "rollout, a DaemonSet and a Job stand still, and nothing is Pending.",
    cause="Pods cannot be created for 21 minutes because calls of the webhook mutate.kyverno.svc-fail time out.",
    thread="kyverno/kyverno#2869",
    must=["kyverno", "webhook", r"creat|FailedCreate|refuse|reject"],
)
def kyverno_times_out(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    pairs = fleet(c, "general", "orders/storefront", 4)
    add_workload(c, "kyverno/kyverno-admission-controller", on=pairs[:1], age="25m", cpu="100m", memory="128Mi")
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
        add_workload(c, f"{namespace}/{name}", kind=kind, cpu="250m", memory="256Mi", replicas=count, age="21m")
        refuse_pods(c, name, text, first="21m", last="12s", count=38)
    refuse_pods(c, "ebs-csi-node", text, first="20m", last="25s", count=19)
    c.add(
        "MutatingWebhookConfiguration",
        "kyverno-resource-mutating-webhook-cfg",
        webhooks=[{"name": "mutate.kyverno.svc-fail", "failurePolicy": "Fail", "timeoutSeconds": 10}],
    )


@incident(
    story="The platform team's admission policy demands a label cost-center in the namespace ads since this morning. The ReplicaSet of ads/bidder "
    "cannot create any of its six pods for 41 minutes; every other namespace works, and nothing is Pending. The controller writes "
    "one event of events.k8s.io/v1 with a series.",
    cause="None of the 6 pods of ads/bidder can be created: the admission webhook policies.platform.example denies pods without the "
    "label cost-center.",
    thread="kyverno/kyverno#2869",
    must=["bidder", r"admission|webhook|denie|polic", "cost-center", n(6) + r"|creat"],
    must_not=[
        "quota",
        r"webhook[^\n]{0,60}(times? out|timed out|unreachable|not answer|unavailable|cannot be (called|reached)|is down)",
        r"(no|any) (new )?pods? can(not)? be created (in|for) (the (whole )?cluster|any namespace)",
    ],
)
def webhook_denies_one_team(c: Cluster) -> None:
    usual(c)
    add_workload(c, "ads/bidder", cpu="250m", memory="256Mi", replicas=6)
    text = (
        'admission webhook "policies.platform.example" denied the request: [pod-must-have-cost-center] '
        "every pod in this namespace needs the label cost-center"
    )
    manifest = next(item for item in c.objects if item["kind"] == "ReplicaSet" and owned_by(item, "bidder"))
    manifest["status"]["conditions"] = [condition("ReplicaFailure", "True", c.at("41m"), "FailedCreate", text)]
    c.series_event(
        manifest, "FailedCreate", f"Error creating: {text}", last="3m", first="41m", count=17, kind="Warning",
        controller="replicaset-controller",
    )  # fmt: skip
    c.add(
        "ValidatingWebhookConfiguration",
        "platform-policies",
        webhooks=[{"name": "policies.platform.example", "failurePolicy": "Ignore", "timeoutSeconds": 5}],
    )


@incident(
    story="The namespace's quota is used up: the Deployment api wants 24 pods and has 15. Nothing is Pending, so it looks as if "
    "Karpenter had nothing to do.",
    cause="9 of 24 pods of payments/api cannot be created because the ResourceQuota payments-quota is exhausted.",
    thread="kubernetes/kubernetes#25146",
    must=["quota", "api", r"creat|FailedCreate|forbid|\b9\b|refuse|reject"],
)
def resource_quota(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    pairs = [add_node(c, "general", "m6i.xlarge", c.zones[number % 3]) for number in range(5)]
    pods = add_workload(c, "payments/api", on=pairs, count=15, replicas=24)
    text = (
        f'Error creating: pods "{pods[0]["metadata"]["name"][:-1]}z" is forbidden: exceeded quota: payments-quota, requested: '
        "requests.cpu=1150m, used: requests.cpu=17250m, limited: requests.cpu=18"
    )
    refuse_pods(c, "api", text, first="44m", last="2m", count=21)
