"""Clusters with two faults, one of which could hide the other."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.disruption import CHURN
from tests.incidents.fleets import GPU_POD, GPU_TAINT, fleet, gone_claim, refused, replaced, unschedulable, usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n, order_of
from tests.incidents.node_objects import add_node, both, conditions
from tests.incidents.objects import API, condition, digest
from tests.incidents.pods import (
    PROTECTED,
    add_local_volume,
    add_pdb,
    add_pod,
    add_volume,
    add_workload,
    no_node,
    refuse_pods,
    required,
    waiting,
)
from tests.incidents.pools import add_nodeclass, add_pool
from tests.incidents.removals import BUDGET


@incident(
    story="During a freeze in spring somebody set the budget of NodePool general to 0 and never took it back: six nodes have been drifted for eight days. Apart from that a "
    "search pod restarted three hours ago, and its volume is in us-east-1d, from which the subnet was removed.",
    cause="A disruption budget of 0 blocks the drift of 6 nodes of general for 8 days; search/es-1 is pending for 3 hours, because its volume is in us-east-1d, "
    "where no NodePool launches nodes.",
    thread="aws/karpenter-provider-aws#6086, aws/karpenter-provider-aws#4165",
    must=[BUDGET, n(6), "drift", "1 other node", r"es-1|search/es", "us-east-1d"],
    must_not=[ROOM, LAUNCHES],
    other=[{"command": ["next"], "must": [["disruption budgets allow none of 7 nodes"]]}],
    first=2,
)
def closed_budget_and_missing_zone(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general", disruption={"budgets": [{"nodes": "0"}]})
    fleet(c, "general", "orders/storefront", 6, drifted="8d", age="19d")
    spare = add_node(c, "general", "m6i.2xlarge", c.zones[0], age="2d")
    volumes = [
        add_volume(c, "search", f"data-es-{number}", zone) for number, zone in enumerate((c.zones[0], "us-east-1d"))
    ]
    reasons = {"node(s) didn't match PersistentVolume's node affinity": 9}
    pods = add_workload(
        c, "search/es", kind="StatefulSet", on=[spare], pending=1, pending_since="3h", message=no_node(reasons), age="2d",
        cpu="3", memory="12Gi",
    )  # fmt: skip
    for pod, volume in zip(pods, volumes, strict=True):
        pod["spec"]["volumes"] = [volume]
    text = "No allowed disruptions due to blocking budget"
    c.event(c.find("NodePool", "general"), "DisruptionBlocked", text, last="20s", first="59m", count=58, kind="Normal")


@incident(
    story="Karpenter has crashed for 40 minutes since its last upgrade, and nothing is pending yet. For six days before that, a PodDisruptionBudget blocked the drift of five "
    "nodes; when Karpenter is back, it still will.",
    cause="Karpenter is down: both its pods crash for 40 minutes; apart from that the PodDisruptionBudget payments/ledger never allows an eviction and blocks the drift of "
    "5 nodes of pay for 6 days.",
    thread="aws/karpenter-provider-aws#8428, JiRaska/open-bank-oss#809",
    must=[
        r"karpenter.{0,80}(crash|not ready|not running|0 of 2|down)",
        r"payments/ledger|ledger",
        "PDB|PodDisruptionBudget",
        n(5),
        "drift",
    ],
    must_not=[LAUNCHES, r"[1-9]\d* pods?[^\n]{0,12} pending"],
    other=[order_of(r"karpenter.{0,80}(crash|not ready|not running|0 of 2|down)", "ledger")],
)
def karpenter_down_and_a_strict_budget(c: Cluster) -> None:
    usual(c)
    add_pool(c, "pay", labels={"team": "pay"})
    pairs = [add_node(c, "pay", "m6i.xlarge", c.zones[number % 3], age="21d", drifted="6d") for number in range(5)]
    spec = {"nodeSelector": {"team": "pay"}}
    add_workload(c, "payments/ledger", on=pairs, age="20d", cpu="3", memory="9Gi", spec=spec)
    add_pdb(c, "payments", "ledger", "ledger", healthy=5, desired=5, expected=5, maxUnavailable=0)
    deployment = c.find("Deployment", "karpenter")
    deployment["status"] |= {"readyReplicas": 0, "availableReplicas": 0, "unavailableReplicas": 2}
    for pod in [
        manifest
        for manifest in c.objects
        if manifest["kind"] == "Pod" and manifest["metadata"]["name"].startswith("karpenter-")
    ]:
        ended = {"reason": "Error", "exitCode": 1, "startedAt": c.at("4m"), "finishedAt": c.at("4m")}
        pod["metadata"]["creationTimestamp"] = c.at("40m")
        pod["status"]["startTime"] = c.at("40m")
        pod["status"]["containerStatuses"][0] |= {
            "ready": False,
            "restartCount": 12,
            "state": {
                "waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container"}
            },
            "lastState": {"terminated": ended},
        }
        for item in pod["status"]["conditions"]:
            item["lastTransitionTime"] = c.at("40m")
            if item["type"] in ("Ready", "ContainersReady"):
                item |= {"status": "False", "reason": "ContainersNotReady"}
    c.find("Lease", "karpenter-leader-election")["spec"]["renewTime"] = c.at("41m")


@incident(
    story="EC2 takes back seven of fourteen spot nodes within a minute. The ten pods that were evicted cannot be created again, since Linkerd's webhook has no endpoints: so no pod is "
    "pending, Karpenter has nothing to launch for, and the cluster looks calm.",
    cause="7 of 14 spot nodes of pool spot were interrupted; 10 pods of orders/catalog cannot be created again, because the webhook linkerd-proxy-injector.linkerd.io has no endpoints.",
    thread="dynamical-org/reformatters#945, kyverno/kyverno#2869",
    must=[r"interrupt|taken back|reclaim", n(7), "linkerd", "webhook", "catalog|" + n(10)],
    must_not=[r"[1-9]\d* pods?[^\n]{0,12} pending", ICE],
)
def spot_wave_and_webhook(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "spot", capacity=("spot",))
    stay = fleet(c, "spot", "orders/storefront", 7, capacity="spot", age="3d")
    for number in range(7):
        age = f"{95 - 9 * number}s"
        going = add_node(c, "spot", "m6i.xlarge", c.zones[number % 3], capacity="spot", age="3d", deleting=age)
        conditions(going, condition("Drained", "Unknown", c.at(age), "Draining", "Draining"))
        for manifest in both(going):
            c.event(manifest, "SpotInterrupted", "Spot interruption warning was triggered", last=age)
            text = f"Interruption triggered termination for the {manifest['kind']}"
            c.event(manifest, "TerminatingOnInterruption", text, last=age)
    add_workload(c, "linkerd/linkerd-proxy-injector", on=[], count=0, replicas=1, age="60d", cpu="100m", memory="128Mi")
    add_workload(c, "orders/catalog", on=stay, count=2, replicas=12, age="3d", cpu="100m", memory="128Mi")
    text = (
        'Error creating: Internal error occurred: failed calling webhook "linkerd-proxy-injector.linkerd.io": failed to call webhook: Post '
        '"https://linkerd-proxy-injector.linkerd.svc:443/?timeout=10s": no endpoints available for service "linkerd-proxy-injector"'
    )
    refuse_pods(c, "catalog", text, first="90s", last="5s", count=24)
    webhook = {"name": "linkerd-proxy-injector.linkerd.io", "failurePolicy": "Fail", "timeoutSeconds": 10}
    c.add("MutatingWebhookConfiguration", "linkerd-proxy-injector-webhook-config", webhooks=[webhook])


@incident(
    story="The AMI of EC2NodeClass batch was deregistered three hours ago. Nothing is pending, so nobody noticed. All six nodes of NodePool batch expire in 25 minutes, and none of them "
    "can be replaced.",
    cause="EC2NodeClass batch finds no AMI for 3 hours, so NodePool batch launches nothing; its 6 nodes expire in about 25 minutes and cannot be replaced.",
    thread="kubernetes-sigs/karpenter#1611, aws/karpenter-provider-aws#7436",
    must=[r"\bAMIs?\b|\bimages?\b", r"\bbatch\b", "expir", n(6), r"2[3-5] ?m|09:5[3-5]"],
    must_not=[r"[1-9]\d* pods?[^\n]{0,12} pending"],
    karpenter_version="1.14.3",
)
def expiry_and_a_broken_class(c: Cluster) -> None:
    usual(c)
    gone = ("AMINotFound", "AMISelector did not match any AMIs")
    terms = [{"id": "ami-0aa0f2c1d7e98b350"}]
    add_nodeclass(c, "batch", broken={"AMIsReady": gone}, since="3h", spec={"amiSelectorTerms": terms, "amiFamily": "AL2023"}, status={"amis": []})  # fmt: skip
    not_ready = ("UnhealthyDependents", "AMIsReady=False", "3h")
    add_pool(c, "batch", nodeclass="batch", not_ready=not_ready, labels={"team": "etl"})
    pairs = [add_node(c, "batch", "m6i.xlarge", c.zones[number % 3], age=f"{719 * 3600 + 2100 + 20 * number}s") for number in range(6)]  # fmt: skip
    add_workload(c, "etl/loader", on=pairs, count=18, age="6d", spec={"nodeSelector": {"team": "etl"}})
    add_pdb(c, "etl", "loader", "loader", healthy=18, desired=17, expected=18, maxUnavailable=1)


@incident(
    story="A reader who may not list PodDisruptionBudgets and events sees four expired nodes of stateful that have been draining for 20 hours, with a pod of db/mongo on each. Besides, a "
    "developer forgot a bare pod with a mistyped image nine days ago, which matters to nobody.",
    cause="4 expired nodes of stateful have been draining for 20 hours with pods of db/mongo on them; PodDisruptionBudgets were not read.",
    thread="kubernetes-sigs/karpenter#2802, aws/karpenter-provider-aws#4202",
    must=[n(4), r"stateful|mongo", r"drain|terminat|delet", r"\b20 ?h|\b19h"],
    must_not=[
        r"no (PodDisruptionBudget|PDB)s? (block|guard|protect|select)|nothing (blocks|prevents|holds)",
        "do-not-disrupt",
        r"\d pods? of db/mongo (are|is) pending",
    ],
    first=2,
    listed=[text for text in API if text not in ("PodDisruptionBudget", "Event")],
)
def drain_without_budgets_read_and_a_typo(c: Cluster) -> None:
    pairs = usual(c)
    add_pool(c, "stateful", labels={"team": "data"})
    old = [
        add_node(c, "stateful", "m6i.xlarge", c.zones[number % 3], age="30d20h", deleting="20h") for number in range(4)
    ]
    for pair in old:
        conditions(pair, condition("Drained", "Unknown", c.at("20h"), "Draining", "Draining"))
    spec = {"nodeSelector": {"team": "data"}}
    add_workload(c, "db/mongo", kind="StatefulSet", on=old, age="29d", cpu="3", memory="9Gi", spec=spec)
    add_pdb(c, "db", "mongo", "mongo", healthy=4, desired=4, expected=4, maxUnavailable=0)
    image = "registry.example/dev/scrach:latest"
    add_pod(
        c, "dev", "scratch", node=pairs[0], age="9d", cpu="50m", memory="64Mi", image=image, waiting="ImagePullBackOff"
    )


@incident(
    story="The static pool sessions was scaled from six to three replicas nine hours ago. Karpenter deletes the three nodes in spite of do-not-disrupt on their pods and then waits for these "
    "pods without end. Besides, a soak test runs in a bare pod whose node expires in 16 minutes.",
    cause="do-not-disrupt on 3 pods of live/session keeps 3 nodes of the static NodePool sessions draining for 9 hours; qa/soak has no owner and is lost when its node "
    "expires in 16 minutes.",
    thread="aws/karpenter-provider-aws#9239, kubernetes-sigs/karpenter#1303",
    must=[n(3), r"live/session|sessions", "do-not-disrupt", r"\b9 ?h|8h5\d", "soak", r"1[56] ?m|09:4[56]"],
    must_not=[r"session[^\n]{0,60}(will be|is|are) (killed|lost)"],
    settings={"FEATURE_GATES": "StaticCapacity=true"},
)
def static_scale_down_and_a_bare_pod(c: Cluster) -> None:
    usual(c)
    taint = {"key": "dedicated", "value": "sessions", "effect": "NoSchedule"}
    add_pool(c, "sessions", families=("m6i",), sizes=("xlarge",), replicas=3, limits={"nodes": "8"}, template={"taints": [taint]})  # fmt: skip
    stay = [add_node(c, "sessions", "m6i.xlarge", zone, age="14d") for zone in c.zones]
    going = [add_node(c, "sessions", "m6i.xlarge", zone, age="14d", deleting="9h") for zone in c.zones]
    for pair in going:
        conditions(pair, condition("Drained", "Unknown", c.at("9h"), "Draining", "Draining"))
        text = "Failed to drain node, 1 pods are waiting to be evicted"
        c.event(both(pair)[0], "FailedDraining", text, last="1m", first="59m", count=29)
    spec = {
        "tolerations": [{"key": "dedicated", "operator": "Exists"}],
        "nodeSelector": {"karpenter.sh/nodepool": "sessions"},
    }
    add_workload(
        c, "live/session", on=[*stay, *going], age="13d", cpu="3", memory="9Gi", annotations=PROTECTED, spec=spec
    )
    old = add_node(c, "general", "m6i.xlarge", c.zones[1], age=f"{720 * 60 - 16}m")
    add_workload(c, "orders/catalog", on=[old], count=2, age="5d")
    add_pod(c, "qa", "soak", node=old, age="7h", cpu="1", memory="2Gi", labels={"run": "soak"})


@incident(
    story="A node expired six hours ago, and a PodDisruptionBudget does not let its pod go. Karpenter counts the pod as one that needs a place, launches a node for it every seven minutes and removes "
    "the node again because it stays empty: eight in the last hour.",
    cause="The PodDisruptionBudget erp/license never allows an eviction, so a node drains for 6 hours, and Karpenter launched 8 nodes in the last hour that it removed empty.",
    thread="kubernetes-sigs/karpenter#2185",
    must=[
        r"erp/license|license",
        r"PDB|PodDisruptionBudget",
        r"drain|terminat|delet|expir",
        r"\b6 ?h|5h5\d",
        n(8),
        CHURN + "|empty",
    ],
    must_not=["cluster.autoscaler|descheduler"],
)
def drain_and_nodes_for_a_pod_that_stays(c: Cluster) -> None:
    usual(c, disruption={"budgets": [{"nodes": "40%"}]})
    old = add_node(c, "general", "m6i.xlarge", c.zones[0], age="30d6h", deleting="6h")
    conditions(old, condition("Drained", "Unknown", c.at("6h"), "Draining", "Draining"))
    add_workload(c, "erp/license", on=[old], age="25d", cpu="3", memory="9Gi")
    add_pdb(c, "erp", "license", "license", healthy=1, desired=1, expected=1, minAvailable=1)
    text = "Failed to drain node, 1 pods are waiting to be evicted"
    c.event(both(old)[0], "FailedDraining", text, last="1m", first="59m", count=29)
    pod = next(item for item in c.objects if item["kind"] == "Pod" and item["metadata"]["name"].startswith("license"))
    for number in range(8):
        claim = gone_claim(c, "general", number)
        place = f"Pod should schedule on: nodeclaim/{claim['metadata']['name']}"
        c.event(pod, "Nominated", place, last=f"{9 + 7 * number}m", kind="Normal")
        c.event(claim, "DisruptionTerminating", "Disrupting NodeClaim: Empty", last=f"{3 + 7 * number}m", kind="Normal")
    add_node(c, "general", "m6i.xlarge", c.zones[0], age="4m")


@incident(
    story="Neither of the two Karpenter pods has led for 12 minutes. Eight pods are pending because of that. Five more would be pending if Karpenter worked: "
    "a Fargate profile lost its role, and a pod must not share a zone with one that runs in each zone.",
    cause="Karpenter has had no leader for 12 minutes, so 8 pods of orders/checkout are pending; 2 pods of finance/reports are pending because their Fargate profile is "
    "broken, and 3 of geo/api because of the anti-affinity of geo/lidar.",
    thread="aws/karpenter-provider-aws#6068, aws/containers-roadmap#2654",
    must=[
        r"karpenter",
        "leader|lease",
        r"8 pods pending[^\n]{0,12}orders/checkout",
        "finance/reports",
        "fargate",
        "geo/api",
        "anti-?affinity",
        n(3),
    ],
    must_not=[LAUNCHES, ROOM, r"1[0-3] pods pending"],
    other=[order_of("no leader", "fargate|geo/api")],
)
def no_leader_and_pods_it_could_not_help(c: Cluster) -> None:
    pairs = usual(c, 6)
    c.find("Lease", "karpenter-leader-election")["spec"]["renewTime"] = c.at("12m")
    waiting(c, "orders/checkout", 8, "11m")
    labels = {"app.kubernetes.io/name": "reports", "eks.amazonaws.com/fargate-profile": "finance"}
    spec = {"schedulerName": "fargate-scheduler"}
    text = "Misconfigured Fargate Profile: fargate profile finance blocked for new launches due to: Pod execution role is not found in auth config."
    for pod in waiting(c, "finance/reports", 2, "47m", labels=labels, scheduled=False, spec=spec):
        c.event(pod, "FailedScheduling", text, last="1m", first="47m", count=10, source="fargate-scheduler")
    zone = "topology.kubernetes.io/zone"
    add_workload(c, "geo/lidar", kind="StatefulSet", on=pairs[:3], age="9d", cpu="50m", memory="64Mi")
    waiting(c, "geo/api", 3, "55m", spec=required("podAntiAffinity", "lidar", zone))


@incident(
    story="The release of the inference service asks for GPUs by a ResourceClaim, which Karpenter does not support. A NodePool of another team comes first and has a taint of that team.",
    cause="4 pods of ml/inference use a ResourceClaim (Dynamic Resource Allocation), which Karpenter does not support; taints of other NodePools do not matter.",
    thread="kubernetes-sigs/karpenter#1231",
    must=[r"resource ?claim|dynamic resource|\bDRA\b", n(4), "inference", r"not (yet )?support|unsupported"],
    must_not=[LAUNCHES, ROOM, r"taint[^\n]{0,60}not tolerated"],
)
def resource_claims_and_a_tainted_pool(c: Cluster) -> None:
    usual(c, 3, template={"taints": [{"key": "team", "value": "orders", "effect": "NoSchedule"}]})
    add_pool(c, "gpu", families=("g5",), template={"taints": [GPU_TAINT]})
    spec = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}], **GPU_POD}
    del spec["nodeSelector"]
    pods = waiting(c, "ml/inference", 4, "40m", cpu="2", memory="8Gi", spec=spec)
    for pod in pods:
        pod["spec"]["containers"][0]["resources"]["claims"] = [{"name": "gpu"}]
    error = "pod has Dynamic Resource Allocation requirements that are not yet supported by Karpenter"
    unschedulable(c, pods, error, minutes=40)


@incident(
    story="The subnets of the EC2NodeClass that ordinary pods depend on lost their tags 35 minutes ago. The NodePool for GPUs has another EC2NodeClass and is ready, but its taint keeps ordinary pods off.",
    cause="EC2NodeClass default finds no subnets for 35 minutes, so NodePool general launches nothing, and 7 pods of orders/checkout are pending; NodePool gpu has nothing to do with it.",
    thread="aws/karpenter-provider-aws#4165",
    must=[r"EC2NodeClass default", "subnets?", r"\bgeneral\b", n(7), "orders/checkout", r"3[45] ?m"],
    must_not=[LAUNCHES, ROOM, ICE, r"taint[^\n]{0,60}not tolerated"],
    first=1,
)
def broken_class_next_to_a_tainted_pool(c: Cluster) -> None:
    gone = ("SubnetsNotFound", "SubnetSelector did not match any Subnets")
    add_nodeclass(c, broken={"SubnetsReady": gone}, since="35m", status={"subnets": []})
    add_nodeclass(c, "gpu")
    add_pool(c, "general", not_ready=("UnhealthyDependents", "SubnetsReady=False", "35m"))
    add_pool(c, "gpu", families=("g5",), nodeclass="gpu", template={"taints": [GPU_TAINT]})
    fleet(c, "general", "orders/storefront", 4)
    pairs = [add_node(c, "gpu", "g5.2xlarge", zone, gpus=1, age="5d") for zone in c.zones[:2]]
    add_workload(
        c, "ml/ranker", on=pairs, age="5d", cpu="6", memory="20Gi", requests={"nvidia.com/gpu": "1"}, spec=GPU_POD
    )
    waiting(c, "orders/checkout", 7, "33m")


@incident(
    story="EC2 has had no m6i capacity for half an hour, and nine workers are pending. A broker of the same NodePool is pending for 52 minutes as well, but because its local volume is on a node that was removed.",
    cause="EC2 refuses launches of NodePool general for want of capacity, so 9 pods of etl/loader are pending; queue/broker-2 is pending for 52 minutes because its local volume is on a node that is gone.",
    thread="aws/karpenter-provider-aws#4407, kubernetes-sigs/karpenter#1018",
    must=[
        ICE,
        r"9 pods pending",
        "etl/loader",
        "queue/broker-2",
        r"volume[^\n]{0,40}ip-10-24-9-77",
        r"does not exist|gone",
        r"\b5[12] ?m",
    ],
    must_not=[r"10 pods pending", r"taint[^\n]{0,60}not tolerated"],
)
def no_capacity_and_a_volume_of_a_gone_node(c: Cluster) -> None:
    usual(c, families=("m6i",))
    pods = waiting(c, "etl/loader", 9, "34m", cpu="3", memory="12Gi")
    text = "InsufficientInstanceCapacity: We currently do not have sufficient {0} capacity in zones with support for 'gp3' volumes"
    refused(c, "general", [text.format("m6i.xlarge"), text.format("m6i.2xlarge")], pods, every=2, times=15)
    hosts = [add_node(c, "general", "m6i.2xlarge", zone, age="30d") for zone in c.zones[:2]]
    reasons = {"node(s) had volume node affinity conflict": 2, "Insufficient cpu": 6}
    brokers = add_workload(
        c, "queue/broker", kind="StatefulSet", on=hosts, pending=1, pending_since="52m", message=no_node(reasons), age="30d",
        cpu="7", memory="20Gi",
    )  # fmt: skip
    for pod, host in zip(brokers, (*(pair.name for pair in hosts), "ip-10-24-9-77.ec2.internal"), strict=True):
        name = f"data-{pod['metadata']['name']}"
        pod["spec"]["volumes"] = [add_local_volume(c, "queue", name, c.zones[0], host)]


@incident(
    story="Karpenter holds its lease but reconciles no NodeClaim: three of NodePool general have no status for 16 minutes. While a NodeClaim has no provider ID, Karpenter schedules no pod at all, also those of NodePool jobs, "
    "which has no such NodeClaim.",
    cause="3 NodeClaims of general have no provider ID for 16 minutes, so Karpenter launches nothing: 6 pods of orders/checkout and 5 pods of etl/loader, which belong to NodePool jobs, are pending.",
    thread="aws/karpenter-provider-aws#7251",
    must=[
        r"launch[^\n]{0,40}paused|launches nothing",
        r"NodeClaim",
        n(3),
        "no provider ID",
        r"\b1[56] ?m",
        n(11),
        "orders/checkout",
        "etl/loader",
    ],
    must_not=[ICE, r"none was launched", r"fits a new node"],
    first=1,
)
def claims_without_a_status_stop_other_pools(c: Cluster) -> None:
    usual(c, 3)
    add_pool(
        c,
        "jobs",
        families=("m7i",),
        labels={"team": "etl"},
        template={"taints": [{"key": "team", "value": "etl", "effect": "NoSchedule"}]},
    )
    fleet(c, "jobs", "etl/merge", 2)
    for number in range(3):
        pair = add_node(c, "general", "m6i.xlarge", c.zones[number], age="16m", stage="")
        assert pair.claim is not None
        del pair.claim["status"]
    waiting(c, "orders/checkout", 6, "17m")
    tolerates = [{"key": "team", "operator": "Exists"}]
    waiting(c, "etl/loader", 5, "12m", spec={"nodeSelector": {"team": "etl"}, "tolerations": tolerates})


@incident(
    story="The disruption budget of NodePool general has forbidden drift since a freeze eleven days ago. Consolidation removes an eighth drifted node right now and is about to merge two more, but the drift of all seven still waits.",
    cause="A budget of 0 for the reason Drifted blocks the drift of 7 nodes of general for 11 days; consolidation of some does not change that.",
    thread="aws/karpenter-provider-aws#5898",
    must=[BUDGET, r"\bgeneral\b", "drift", n(7), r"11 ?d"],
    must_not=[LAUNCHES],
)
def budget_forbids_drift_while_consolidation_works(c: Cluster) -> None:
    add_nodeclass(c)
    budgets = [{"nodes": "0", "reasons": ["Drifted"]}, {"nodes": "50%"}]
    add_pool(c, "general", disruption={"budgets": budgets, "consolidateAfter": "10m"})
    fleet(c, "general", "orders/storefront", 5, drifted="11d", age="20d")
    light = [add_node(c, "general", "m6i.xlarge", c.zones[0], age="20d", drifted="11d") for _ in range(2)]
    add_workload(c, "orders/mailer", on=light, count=2, age="9d", cpu="200m", memory="300Mi")
    going = add_node(c, "general", "m6i.xlarge", c.zones[1], age="20d", drifted="11d", deleting="50s")
    conditions(
        going,
        condition("DisruptionReason", "True", c.at("55s"), "Underutilized"),
        condition("Drained", "Unknown", c.at("50s"), "Draining", "Draining"),
    )


@incident(
    story="Karpenter launches small nodes for the pool bursts and removes them within minutes as underutilized, 5 in 40 minutes, because pods of ci/lint come and go. It also consolidated two larger nodes of the pool web in the same hour, which evicted 18 pods of shop/front, each once.",
    cause="Node churn loop in bursts: 5 nodes were removed within minutes after their launch, with 15 evictions of ci/lint.",
    thread="kubernetes-sigs/karpenter#735",
    must=[r"\bbursts\b", n(5), "ci/lint", n(15), "evict"],
    must_not=[LAUNCHES, r"bursts[^\n]*shop/front"],
)
def churn_of_one_pool_and_evictions_of_another(c: Cluster) -> None:
    usual(c)
    add_pool(c, "bursts", labels={"team": "ci"}, disruption={"consolidateAfter": "30s"})
    add_pool(c, "web", labels={"team": "web"})
    small = [add_node(c, "bursts", "m6i.xlarge", c.zones[number], age=f"{3 + 7 * number}m") for number in range(3)]
    lint = add_workload(c, "ci/lint", on=small, count=9, age="4m", spec={"nodeSelector": {"team": "ci"}})
    replaced(c, "bursts", "Underutilized", 5, every=8, of=lint)
    large = [add_node(c, "web", "m6i.2xlarge", zone, age="4h") for zone in c.zones]
    front = add_workload(c, "shop/front", on=large, count=18, age="30m", cpu="1", memory="4Gi", spec={"nodeSelector": {"team": "web"}})  # fmt: skip
    for number in range(18):
        meta = front[0]["metadata"] | {"name": f"{front[0]['metadata']['name'][:-6]}-{digest('gone', number)[:5]}"}
        gone = {"apiVersion": "v1", "kind": "Pod", "metadata": meta | {"uid": digest(c.name, number)}}
        c.event(gone, "Evicted", "Evicted pod: Underutilized", last=f"{31 + number % 2}m", kind="Normal")
