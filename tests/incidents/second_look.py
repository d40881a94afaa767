"""Known kinds of faults in other shapes and other words than those of the first incidents."""

from __future__ import annotations

from tests.incidents.cluster import Cluster, owned_by
from tests.incidents.controllers import FULL
from tests.incidents.disruption import both, conditions
from tests.incidents.fleets import CPU, GPU_TAINT, MEMORY, fleet, gone_claim, unschedulable, usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n
from tests.incidents.node_objects import NOT_READY, add_node
from tests.incidents.nodeclasses import waits
from tests.incidents.objects import condition
from tests.incidents.pods import add_namespace, add_pdb, add_volume, add_workload
from tests.incidents.pools import add_nodeclass, add_pool


@incident(
    story="Two of four zones fail at the same time. Six nodes of two pools, four in us-east-1b and two in us-east-1c, have not been ready "
    "for six minutes; the nodes in the other zones run. Nine pods are pending, and one cannot move: its volume is in us-east-1c.",
    cause="All 6 nodes of us-east-1b and us-east-1c have not been ready for 6 minutes; 9 pods are pending.",
    thread="kubernetes-sigs/karpenter#1573",
    must=[
        [r"1b\b"],
        [r"1c\b"],
        [n(6), r"\bsix\b", rf"1b\b.{{0,30}}{n(4)}"],
        [n(6), r"\bsix\b", rf"1c\b.{{0,30}}{n(2)}"],
        [r"not (been )?ready|NotReady|unreachable|down|stopped"],
        [r"\b6 ?m|5m\d+|09:24"],
    ],
    zones=("us-east-1a", "us-east-1b", "us-east-1c", "us-east-1d"),
)
def two_zones_go_silent(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    add_pool(c, "data", sizes=("2xlarge",), labels={"team": "data"})
    fleet(c, "general", "orders", "storefront", 6, zones=(c.zones[0], c.zones[3]))
    silent = [
        add_node(c, "general", "m6i.xlarge", c.zones[1], age="5d", ready=NOT_READY, ready_since="6m") for _ in range(4)
    ]
    add_workload(
        c, "Deployment", "orders", "catalog", on=silent, count=8, age="5d", cpu=CPU, memory=MEMORY, deleting="30s"
    )
    stores = [
        add_node(c, "data", "m6i.2xlarge", c.zones[2], age="5d", ready=NOT_READY, ready_since="6m") for _ in range(2)
    ]
    volumes = [add_volume(c, "db", f"data-pg-{number}", c.zones[2]) for number in range(2)]
    pods = add_workload(
        c, "StatefulSet", "db", "pg", on=stores[:1], pending=1, pending_since="50s", age="5d", cpu="5", memory="20Gi",
        spec={"nodeSelector": {"team": "data"}}, message=FULL.format(14),
    )  # fmt: skip
    for pod, volume in zip(pods, volumes, strict=True):
        pod["spec"]["volumes"] = [volume]
    pods[0]["metadata"]["deletionTimestamp"] = c.at("30s")
    add_workload(
        c, "Deployment", "orders", "catalog-next", pending=8, pending_since="55s", cpu=CPU, memory=MEMORY,
        message="0/14 nodes are available: 6 node(s) had untolerated taint {node.kubernetes.io/unreachable: }, 8 Insufficient cpu. "
        "preemption: 0/14 nodes are available: 6 Preemption is not helpful for scheduling, 8 No preemption victims found for "
        "incoming pod.",
    )  # fmt: skip


@incident(
    story="The platform team's admission policy demands a label cost-center in the namespace ads since this morning. The ReplicaSet of ads/bidder "
    "cannot create any of its six pods for 41 minutes; every other namespace works, and nothing is Pending. The controller writes "
    "one event of events.k8s.io/v1 with a series.",
    cause="None of the 6 pods of ads/bidder can be created: the admission webhook policies.platform.example denies pods without the "
    "label cost-center.",
    thread="kyverno/kyverno#2869",
    must=[["bidder"], [r"admission|webhook|denie|polic"], ["cost-center"], [n(6), r"\bsix\b", r"creat"]],
    must_not=[
        "quota",
        r"webhook[^\n]{0,60}(times? out|timed out|unreachable|not answer|unavailable|cannot be (called|reached)|is down)",
        r"(no|any) (new )?pods? can(not)? be created (in|for) (the (whole )?cluster|any namespace)",
    ],
)
def webhook_denies_one_team(c: Cluster) -> None:
    usual(c)
    add_workload(c, "Deployment", "ads", "bidder", replicas=6)
    text = (
        'admission webhook "policies.platform.example" denied the request: [pod-must-have-cost-center] '
        "every pod in this namespace needs the label cost-center"
    )
    made = next(one for one in c.objects if one["kind"] == "ReplicaSet" and owned_by(one, "bidder"))
    made["status"]["conditions"] = [condition("ReplicaFailure", "True", c.at("41m"), "FailedCreate", text)]
    c.series_event(
        made, "FailedCreate", f"Error creating: {text}", last="3m", first="41m", count=17, kind="Warning",
        controller="replicaset-controller",
    )  # fmt: skip
    c.add(
        "ValidatingWebhookConfiguration",
        "platform-policies",
        webhooks=[{"name": "policies.platform.example", "failurePolicy": "Ignore", "timeoutSeconds": 5}],
    )


@incident(
    story="Both Karpenter pods are ready, but neither has led for ten minutes: the lease was last renewed at 09:20, because calls to "
    "the API server hang. Eight pods are pending, and Karpenter has not written one event about them.",
    cause="Karpenter acts on nothing: its leader lease was last renewed 10 minutes ago although 2 of 2 pods are ready; 8 pods are pending.",
    thread="aws/karpenter-provider-aws#6068",
    must=[["karpenter"], [r"leader|lease|leads"], [r"\b10 ?m|09:20"]],
    must_not=[LAUNCHES, r"karpenter[^\n]{0,40}(0 of 2|not ready|0/2)"],
    first=1,
    other=[{"command": ["verdict"], "must": [[n(8)]]}],
)
def karpenter_without_leader(c: Cluster) -> None:
    usual(c)
    c.find("Lease", "karpenter-leader-election")["spec"]["renewTime"] = c.at("10m")
    add_workload(
        c, "Deployment", "orders", "checkout", pending=8, pending_since="9m", cpu=CPU, memory=MEMORY,
        message=FULL.format(6),
    )  # fmt: skip


@incident(
    story="Karpenter runs in the namespace karpenter. One of its two pods has crashed 41 times since yesterday; the other leads, and "
    "nothing is pending. If the node of the leader goes, no pod can take over.",
    cause="1 of 2 Karpenter pods is in CrashLoopBackOff (41 restarts), so Karpenter has no standby; the other pod leads.",
    thread="kubernetes-sigs/karpenter#719",
    must=[
        ["karpenter"],
        [r"1 of 2|1/2|one of (the |its )?(two|2)|replica|standby"],
        [r"crash|CrashLoopBackOff|restart"],
    ],
    must_not=[r"karpenter (itself )?(is|has been) (down|stopped)|0 of 2|0/2|no leader"],
)
def karpenter_crashes_in_its_own_namespace(c: Cluster) -> None:
    add_namespace(c, "karpenter")
    for one in c.objects:
        if one["metadata"]["name"].startswith("karpenter") and one["kind"] != "Namespace":
            one["metadata"]["namespace"] = "karpenter"
    usual(c)
    deployment = c.find("Deployment", "karpenter")
    for one in c.objects:
        if one is deployment or (one["kind"] == "ReplicaSet" and owned_by(one, "karpenter")):
            one["status"] |= {"readyReplicas": 1, "availableReplicas": 1}
    deployment["status"]["unavailableReplicas"] = 1
    pod = [one for one in c.objects if one["kind"] == "Pod" and one["metadata"]["namespace"] == "karpenter"][1]
    pod["status"]["containerStatuses"][0] |= {
        "ready": False,
        "restartCount": 41,
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container"}},
        "lastState": {
            "terminated": {"exitCode": 1, "reason": "Error", "finishedAt": c.at("2m"), "startedAt": c.at("3m")}
        },
    }
    for one in pod["status"]["conditions"]:
        if one["type"] in ("Ready", "ContainersReady"):
            one |= {"status": "False", "reason": "ContainersNotReady", "lastTransitionTime": c.at("2m")}
    c.series_event(
        pod, "BackOff", "Back-off restarting failed container controller", last="20s", first="59m", count=240,
        kind="Warning", controller="kubelet",
    )  # fmt: skip


@incident(
    story="A new image came out three days ago. The five nodes of pool search are drifted. The PodDisruptionBudget search/index has maxUnavailable 0, and "
    "the disruption budget of the pool is closed on working days from 08:00 to 20:00. At night only the PodDisruptionBudget blocks, so opening the "
    "budget would not help.",
    cause="The PodDisruptionBudget search/index (maxUnavailable 0) blocks the drift of 5 nodes of search for 3 days; the disruption "
    "budget of the pool is closed as well, until 20:00 UTC.",
    thread="kubernetes-sigs/karpenter#2802",
    must=[
        [r"search/index|index"],
        [r"\bPDBs?\b|PodDisruptionBudget"],
        [r"(?<!pod )(disruption )?\bbudgets?\b|window|20:00|closed"],
        ["drift"],
        [n(5), r"\bfive\b"],
    ],
    must_not=[r"budget[^\n]{0,40}(never opens|always 0|is always)"],
)
def pdb_and_closed_budget(c: Cluster) -> None:
    usual(c, 3)
    budgets = [{"nodes": "0", "schedule": "0 8 * * mon-fri", "duration": "12h"}, {"nodes": "10%"}]
    add_pool(c, "search", disruption={"budgets": budgets}, labels={"team": "search"})
    pairs = [add_node(c, "search", "m6i.xlarge", c.zones[number % 3], age="18d", drifted="3d") for number in range(5)]
    add_workload(
        c, "StatefulSet", "search", "index", on=pairs, age="17d", cpu="3", memory="10Gi",
        spec={"nodeSelector": {"team": "search"}},
    )  # fmt: skip
    add_pdb(c, "search", "index", "index", healthy=5, desired=5, expected=5, maxUnavailable=0)
    text = "Pdb prevents pod evictions (PodDisruptionBudget=[search/index])"
    for pair in pairs:
        for one in both(pair):
            c.event(one, "DisruptionBlocked", text, last="1m", first="58m", count=28, kind="Normal")
    text = "No allowed disruptions for disruption reason Drifted due to blocking budget"
    c.event(c.find("NodePool", "search"), "DisruptionBlocked", text, last="20s", first="59m", count=58, kind="Normal")


@incident(
    story="Three nodes of pool research reached expireAfter (30 days) nine days ago and have been draining ever since. On each a notebook "
    "with do-not-disrupt is still running, and without terminationGracePeriod Karpenter waits for it without end. They take no new pods and "
    "cost money.",
    cause="3 expired nodes of research have been draining for 9 days because do-not-disrupt protects the pods ml/notebook, and there is no "
    "terminationGracePeriod.",
    thread="kubernetes-sigs/karpenter#1789",
    must=[
        [n(3), r"\bthree\b"],
        [r"\b9 ?d|21[5-7] ?h|8d2\d"],
        [r"drain|delet|terminat|expir"],
        ["do-not-disrupt"],
        ["notebook"],
    ],
    must_not=[r"notebook[^\n]{0,60}(will be|is|are) (killed|lost|deleted) (in|at)"],
)
def expired_and_never_drained(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    add_pool(c, "research", sizes=("2xlarge",), labels={"team": "research"})
    fleet(c, "general", "orders", "storefront", 4)
    pairs = [add_node(c, "research", "m6i.2xlarge", zone, age="39d", deleting="9d") for zone in c.zones]
    for pair in pairs:
        conditions(pair, condition("Drained", "Unknown", c.at("9d"), "Draining", "Draining"))
    add_workload(
        c, "StatefulSet", "ml", "notebook", on=pairs, age="36d", cpu="2", memory="8Gi",
        annotations={"karpenter.sh/do-not-disrupt": "true"}, spec={"nodeSelector": {"team": "research"}},
    )  # fmt: skip
    for pair in pairs:
        text = "Failed to drain node, 1 pods are waiting to be evicted"
        c.event(both(pair)[0], "FailedDraining", text, last="1m", first="59m", count=29)


@incident(
    story="Somebody deleted the Node objects and their finalizers by hand. Three NodeClaims of pool burst have been deleting for 30 hours: "
    "Karpenter may no longer call ec2:TerminateInstances, so the finalizer stays and the instances cost money. No pod is affected.",
    cause="3 NodeClaims of burst without a node have been deleting for 30 hours: the finalizer karpenter.sh/termination stays, and their "
    "instances are still paid for.",
    thread="kubernetes-sigs/karpenter#1578",
    must=[
        [n(3), r"\bthree\b"],
        [r"NodeClaim|instance|burst-"],
        [r"delet|terminat|finalizer|remov"],
        [r"30 ?h|1d ?[56]h|29h|\b1 ?d"],
    ],
    must_not=[
        r"(waiting|still) to register|has not registered|never register",
        r"pods? (is|are) (being )?(evicted|drained)",
    ],
)
def nodeclaims_never_end(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    add_pool(c, "burst")
    fleet(c, "general", "orders", "storefront", 4)
    gone = [add_node(c, "burst", "m6i.xlarge", zone, age="8d", deleting="30h") for zone in c.zones]
    for pair in gone:
        node, claim = both(pair)
        c.objects.remove(node)
        c.objects.remove(c.find("CSINode", node["metadata"]["name"]))
        c.nodes.remove(pair)
        claim["status"]["conditions"] += [condition("Drained", "True", c.at("30h"))]


@incident(
    story="The inference pods ask for their GPU by a ResourceClaim since the last release. Karpenter does not support that and launches "
    "nothing for them; four pods are pending for 40 minutes.",
    cause="4 pods of ml/inference use a ResourceClaim (Dynamic Resource Allocation), which Karpenter does not support, so it launches nothing.",
    thread="kubernetes-sigs/karpenter#1231",
    must=[
        [r"resource ?claim|dynamic resource|\bDRA\b"],
        [n(4), r"\bfour\b"],
        ["inference"],
        [r"not (yet )?support|unsupported|does not|cannot|ignore|unable|no node"],
    ],
    must_not=[LAUNCHES, ROOM],
)
def resource_claims(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    add_pool(c, "gpu", families=("g5",), sizes=("xlarge", "2xlarge"), template={"taints": [GPU_TAINT]})
    fleet(c, "general", "orders", "storefront", 3)
    pods = add_workload(
        c, "Deployment", "ml", "inference", pending=4, pending_since="40m", cpu="2", memory="8Gi",
        spec={
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}],
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        },
        message="0/5 nodes are available: 5 cannot allocate all claims. still not schedulable, preemption: 0/5 nodes are available: "
        "5 Preemption is not helpful for scheduling.",
    )  # fmt: skip
    for pod in pods:
        pod["spec"]["containers"][0]["resources"]["claims"] = [{"name": "gpu"}]
    error = "pod has Dynamic Resource Allocation requirements that are not yet supported by Karpenter"
    unschedulable(c, pods, error, minutes=40)


@incident(
    story="A node selector names the capacity type ondemand, without the hyphen. No NodePool has that value; six pods are pending for "
    "two hours.",
    cause='6 pods of payments/refund select karpenter.sh/capacity-type "ondemand", which no NodePool offers (on-demand and spot do exist).',
    thread="aws/karpenter-provider-aws#7535",
    must=[["ondemand"], [r"capacity[- ]type"], [n(6), r"\bsix\b"], ["refund"]],
    must_not=[LAUNCHES, ROOM, r"sold out|insufficient capacity|no capacity"],
)
def capacity_type_typo(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    add_pool(c, "spot", capacity=("spot",))
    fleet(c, "general", "orders", "storefront", 4)
    fleet(c, "spot", "orders", "thumbnails", 2, capacity="spot")
    pods = add_workload(
        c, "Deployment", "payments", "refund", pending=6, pending_since="2h", cpu="500m", memory="1Gi",
        spec={"nodeSelector": {"karpenter.sh/capacity-type": "ondemand"}}, message=waits(8, 0),
    )  # fmt: skip
    error = "; ".join(
        "incompatible requirements, key karpenter.sh/capacity-type, karpenter.sh/capacity-type In [ondemand] not in "
        f"karpenter.sh/capacity-type In [{one}]"
        for one in ("on-demand", "spot")
    )
    unschedulable(c, pods, error, minutes=60)


@incident(
    story="The image of pool gpu was deregistered five days ago. Its two nodes run on and no pod is pending, but the pool cannot launch a "
    "node any more. The three other pools have their own classes and are fine.",
    cause="EC2NodeClass gpu matches no AMI, so NodePool gpu has not been ready for 5 days and can launch nothing; no pod is pending yet.",
    thread="aws/karpenter-provider-aws#7436",
    must=[
        [r"\bAMIs?\b|\bimages?\b"],
        [r"\bgpu\b"],
        [
            r"not (been )?ready|NotReady|(cannot|can't|can not|could not) launch|launch\w* (nothing|no )|no (new )?nodes?"
        ],
        [r"\b5 ?d|120 ?h|119 ?h|4d2\d"],
    ],
    must_not=[
        r"\b(general|web|batch)\b[^\n]{0,40}(not ready|cannot launch|launches nothing)",
        r"[1-9]\d* pods?[^\n]{0,12} pending",
    ],
)
def one_class_of_four_without_image(c: Cluster) -> None:
    add_nodeclass(c)
    gone = ("AMINotFound", "AMISelector did not match any AMIs")
    terms = [{"name": "gpu-eks-1.35-2026.03.*"}]
    add_nodeclass(
        c, "gpu", broken={"AMIsReady": gone}, since="5d", spec={"amiSelectorTerms": terms, "amiFamily": "AL2023"},
        status={"amis": []},
    )  # fmt: skip
    for name in ("general", "web", "batch"):
        add_pool(c, name)
    add_pool(
        c, "gpu", families=("g5",), nodeclass="gpu", not_ready=("UnhealthyDependents", "AMIsReady=False", "5d"),
        template={"taints": [GPU_TAINT]}, disruption={"consolidationPolicy": "WhenEmpty"},
    )  # fmt: skip
    fleet(c, "general", "orders", "storefront", 3)
    fleet(c, "web", "orders", "catalog", 3)
    pairs = [add_node(c, "gpu", "g5.2xlarge", zone, gpus=1, age="12d") for zone in c.zones[:2]]
    add_workload(
        c, "Deployment", "ml", "ranker", on=pairs, age="11d", cpu="6", memory="20Gi", requests={"nvidia.com/gpu": "1"},
        spec={"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]},
    )  # fmt: skip


@incident(
    story="Karpenter 1.14. EC2 has had no spot g5 in any zone for half an hour, with the wording of a fleet that found no offer at all. Five "
    "pods are pending and may use spot GPUs only. Events are of events.k8s.io/v1: one for each NodeClaim, a series for the pods.",
    cause="EC2 has no spot capacity for pool gpu-spot (UnfulfillableCapacity for 31 minutes); 5 pods are pending.",
    thread="aws/karpenter-provider-aws#1233",
    must=[[ICE, r"unfulfill|fulfil\w* capacity"], ["gpu-spot"], [n(5), r"\bfive\b"], [r"embed"]],
    must_not=[LAUNCHES, r"quota|vCPU limit"],
    karpenter_version="1.14.1",
)
def unfulfillable_spot(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    taints = {"taints": [GPU_TAINT]}
    add_pool(c, "gpu-spot", families=("g5",), capacity=("spot",), template=taints, labels={"tier": "gpu-spot"})
    fleet(c, "general", "orders", "storefront", 4)
    pods = add_workload(
        c, "Deployment", "ml", "embed", pending=5, pending_since="31m", cpu="3", memory="12Gi",
        spec={
            "nodeSelector": {"karpenter.sh/nodepool": "gpu-spot"},
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        },
        message=waits(6, 0),
    )  # fmt: skip
    error = (
        "creating instance, insufficient capacity, with fleet error(s), UnfulfillableCapacity: Unable to fulfill capacity due to "
        "your request configuration. Please adjust your request and try again."
    )
    for number in range(6):
        claim = gone_claim(c, "gpu-spot", number)
        age, note = f"{2 + 5 * number}m", f"NodeClaim {claim['metadata']['name']} event: {error}"
        c.series_event(
            claim, "InsufficientCapacityError", note, last=age, first=age, count=1, kind="Warning",
            controller="karpenter",
        )  # fmt: skip
    note = (
        "Failed to schedule pod, no instance type met the scheduling requirements or had a required offering; did not tolerate "
        "taint"
    )
    for pod in pods:
        c.series_event(
            pod, "FailedScheduling", note, last="1m", first="30m", count=7, kind="Warning", controller="karpenter"
        )


@incident(
    story="Karpenter 1.14 with node repair. A bad CNI release broke the network of three of the eight nodes of pool edge 50 minutes ago. More "
    "than 20 % are unhealthy, so Karpenter repairs none of them; their pods run without network.",
    cause="3 of the 8 nodes of edge are unhealthy (NetworkingReady is False) for 50 minutes, and Karpenter repairs none because more than "
    "20 % are unhealthy.",
    thread="kubernetes-sigs/karpenter#2134",
    must=[
        [r"\bedge\b"],
        [n(3), r"\bthree\b"],
        [r"repair"],
        [r"20 ?%|more than|too many|3 of 8"],
        [r"network|unhealthy"],
    ],
    must_not=[r"(NodeRepair|node repair|repair) (gate )?is (off|disabled)"],
    karpenter_version="1.14.1",
    settings={"FEATURE_GATES": "NodeRepair=true"},
)
def repair_blocked(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    add_pool(c, "edge")
    fleet(c, "general", "orders", "storefront", 3)
    pairs = fleet(c, "edge", "edge", "proxy", 8)
    for pair in pairs:
        assert pair.node is not None
        ill = pair in pairs[:3]
        text = "Failed to get the pod network: ipamd does not answer" if ill else ""
        state = ("False", c.at("50m"), "IPAMDNotRunning", text) if ill else ("True", pair.created, "NetworkingIsReady")
        pair.node["status"]["conditions"].append(
            {**condition("NetworkingReady", *state), "lastHeartbeatTime": c.at("30s")}
        )
        if ill:
            text = "more than 20% nodes are unhealthy in the nodepool"
            c.event(pair.node, "NodeRepairBlocked", text, last="1m", first="20m", count=10)
