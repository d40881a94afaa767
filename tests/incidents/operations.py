"""Karpenter itself, its permissions and gates, other clouds, and nodes that it removes or repairs."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.disruption import CHURN
from tests.incidents.fleets import GPU_POD, GPU_TAINT, fleet, gone_claim, nominated, refused, replaced, usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n, order_of
from tests.incidents.node_objects import NOT_READY, add_group_node, add_node, both, conditions
from tests.incidents.objects import condition
from tests.incidents.pods import add_pdb, add_workload, refuse_pods, waiting
from tests.incidents.pools import add_karpenter, add_nodeclass, add_pool
from tests.incidents.providers import AKS, gcp_nodeclass, rename, to_gcp


@incident(
    story="Five replicas and minAvailable 90 %: 4.5 pods, rounded up to five. The budget never allows an eviction, which nobody sees in the manifest. The drift "
    "of all five nodes of search waits for eight days.",
    cause="The PodDisruptionBudget search/query never allows an eviction (minAvailable 90 % of 5 pods is 5), so the drift of 5 nodes waits for 8 days.",
    thread="kubernetes-sigs/karpenter#2756",
    must=["search/query|query", "PDB|PodDisruptionBudget", "never", n(5), r"\b8 ?d|19[12] ?h|eight days"],
    must_not=[r"allows? no eviction now"],
)
def percentage_that_rounds_up(c: Cluster) -> None:
    usual(c)
    add_pool(c, "search", sizes=("xlarge",))
    pairs = [add_node(c, "search", "m6i.xlarge", c.zones[number % 3], age="24d", drifted="8d") for number in range(5)]
    add_workload(c, "search/query", on=pairs, age="23d", cpu="3", memory="9Gi", pool="search")
    add_pdb(c, "search", "query", "query", healthy=5, desired=5, expected=5, minAvailable="90%")
    text = "Pdb prevents pod evictions (PodDisruptionBudget=[search/query])"
    for pair in pairs:
        for manifest in both(pair):
            c.event(manifest, "DisruptionBlocked", text, last="1m", first="58m", count=28, kind="Normal")


@incident(
    story="Eight nodes of pool index were launched together a month ago and expired together 55 minutes ago. The PodDisruptionBudget lets one shard go at a time, "
    "and a shard takes ten minutes to recover, so seven nodes still drain. It will end, in an hour.",
    cause="7 expired nodes of index drain for 55 minutes at the same time, because the PodDisruptionBudget search/shard allows one eviction at a time.",
    thread="aws/karpenter-provider-aws#1682",
    must=["shard", "PDB|PodDisruptionBudget", n(7), r"drain|expir|terminat", r"5[45] ?m"],
    must_not=["never allows", LAUNCHES],
)
def expired_together(c: Cluster) -> None:
    usual(c)
    add_pool(c, "index", sizes=("2xlarge",), labels={"team": "search"})
    old = [
        add_node(c, "index", "m6i.2xlarge", c.zones[number % 3], age="30d55m", deleting="55m") for number in range(7)
    ]
    fresh = add_node(c, "index", "m6i.2xlarge", c.zones[0], age="9m")
    spec = {"nodeSelector": {"team": "search"}}
    pods = add_workload(
        c, "search/shard", kind="StatefulSet", on=[*old, fresh], age="29d", cpu="6", memory="24Gi", spec=spec
    )
    for item in pods[7]["status"]["conditions"]:
        if item["type"] in ("Ready", "ContainersReady"):
            item |= {"status": "False", "reason": "ContainersNotReady", "lastTransitionTime": c.at("8m")}
    pods[7]["status"]["containerStatuses"][0]["ready"] = False
    add_pdb(c, "search", "shard", "shard", healthy=7, desired=7, expected=8, maxUnavailable=1)
    for pair in old:
        conditions(pair, condition("Drained", "Unknown", c.at("55m"), "Draining", "Draining"))
        text = "Failed to drain node, 1 pods are waiting to be evicted"
        c.event(both(pair)[0], "FailedDraining", text, last="1m", first="54m", count=27)


@incident(
    story="Karpenter was upgraded last week, needs more memory than its limit and is killed every few minutes: 31 restarts, the last one three minutes ago. At this "
    "moment both pods are ready, so a look at the pods shows nothing. Nine pods are pending for eleven minutes.",
    cause="Karpenter is killed for want of memory again and again (OOMKilled, 31 restarts, the last 3 minutes ago); 9 pods are pending.",
    thread="aws/karpenter-provider-aws#8841",
    must=["karpenter", r"OOM|memory", r"\b31\b|restart", n(9)],
    must_not=[r"karpenter is not running|\b0 of 2\b", ICE],
    other=[order_of("OOM|restart", "pending")],
)
def karpenter_killed_again_and_again(c: Cluster) -> None:
    usual(c, 24)
    pods = [item for item in c.objects if item["kind"] == "Pod" and item["metadata"]["name"].startswith("karpenter-")]
    for pod, (count, last) in zip(pods, ((31, "3m"), (29, "9m")), strict=True):
        ended = {"reason": "OOMKilled", "exitCode": 137, "startedAt": c.at("14m"), "finishedAt": c.at(last)}
        state = {"state": {"running": {"startedAt": c.at(last)}}, "lastState": {"terminated": ended}}
        pod["status"]["containerStatuses"][0] |= {"restartCount": count, **state}
    waiting(c, "orders/checkout", 9, "11m")


@incident(
    story="Karpenter was moved from the namespace karpenter to kube-system, and the old release was never removed. Both are running and lead, each by a lease of its "
    "own: both launch nodes for the same pods and both remove them. Seven nodes were removed within minutes of their launch in the last hour.",
    cause="Two installations of Karpenter run at the same time, in karpenter and in kube-system, and both launch and remove nodes.",
    thread="aws-samples/cdk-eks-karpenter#190",
    must=[
        r"two|both|\b2\b|second|another",
        r"kube-system",
        r"karpenter/karpenter|(namespaces?|in) karpenter|karpenter and kube-system",
        r"install|Deployments?|controllers?|run",
    ],
    must_not=[r"karpenter is not running", LAUNCHES],
)
def two_karpenters(c: Cluster) -> None:
    usual(c)
    first = len(c.objects)
    add_karpenter(c, on=[add_group_node(c, "m6i.large", zone) for zone in c.zones[:2]])
    for manifest in c.objects[first:]:
        if manifest["metadata"].get("namespace") == "kube-system":
            manifest["metadata"] |= {"namespace": "karpenter", "uid": f"{manifest['metadata']['uid'][:-2]}0f"}
            for parent in manifest["metadata"].get("ownerReferences", ()):
                parent["uid"] = f"{parent['uid'][:-2]}0f"
    pairs = [add_node(c, "general", "m6i.2xlarge", zone, age="4m") for zone in c.zones]
    add_workload(c, "orders/checkout", on=pairs, count=6, age="3m", cpu="3", memory="8Gi")
    replaced(c, "general", "Empty", 7, every=7)


@incident(
    story="Google Cloud has no n2 machines left in three zones for 22 minutes. Seven pods of a campaign are pending.",
    cause="Google Cloud refuses launches of NodePool default: ZONE_RESOURCE_POOL_EXHAUSTED for 22 minutes; 7 pods are pending.",
    thread="cloudpilot-ai/karpenter-provider-gcp#601",
    must=[ICE + r"|exhausted|enough resources", r"\bdefault\b", n(7), r"campaign"],
    must_not=[r"\bEC2\b", r"\bAWS\b", LAUNCHES],
)
def gcp_has_no_machines(c: Cluster) -> None:
    gcp_nodeclass(c)
    add_pool(c, "default", families=(), sizes=())
    fleet(c, "default", "orders/storefront", 6)
    pods = waiting(c, "shop/campaign", 7, "22m")
    error = (
        "creating instance, insufficient capacity, googleapi: Error 503: The zone 'projects/orders-prod/zones/us-east-1a' does not have enough "
        "resources available to fulfill the request, ZONE_RESOURCE_POOL_EXHAUSTED"
    )
    for number in range(10):
        claim = gone_claim(c, "default", number)
        text = f"NodeClaim {claim['metadata']['name']} event: {error}"
        c.event(claim, "InsufficientCapacityError", text, last=f"{1 + 2 * number}m")
    claim = gone_claim(c, "default", 0)["metadata"]["name"]
    for pod in pods:
        text = f"NodeClaim {claim} nominated for this pod failed to launch: {error}"
        c.event(pod, "InsufficientCapacityError", text, last="1m", count=10)
    to_gcp(c)


@incident(
    story="Google preempts five of twelve spot machines within a minute. Eleven pods are pending, two replacements are launched.",
    cause="5 of 12 spot nodes of pool spot were preempted by Google Cloud within a minute; 11 pods are pending.",
    thread="cloudpilot-ai/karpenter-provider-gcp#143",
    must=["spot", r"interrupt|preempt|taken back|reclaim", n(5), n(11)],
    must_not=[r"\bEC2\b", r"\bAWS\b"],
)
def gcp_preempts_spot(c: Cluster) -> None:
    gcp_nodeclass(c)
    add_pool(c, "spot", families=(), sizes=(), capacity=("spot",))
    fleet(c, "spot", "orders/storefront", 7, capacity="spot", age="20h")
    for number in range(5):
        age = f"{80 - 9 * number}s"
        pair = add_node(c, "spot", "m6i.xlarge", c.zones[number % 3], capacity="spot", age="20h", deleting=age)
        conditions(pair, condition("Drained", "Unknown", c.at(age), "Draining", "Draining"))
        for manifest in both(pair):
            c.event(manifest, "SpotInterrupted", "Spot interruption warning was triggered", last=age)
            text = f"Interruption triggered termination for the {manifest['kind']}"
            c.event(manifest, "TerminatingOnInterruption", text, last=age)
    fresh = [
        add_node(c, "spot", "m6i.xlarge", zone, capacity="spot", age="50s", stage="Launched") for zone in c.zones[:2]
    ]
    nominated(c, waiting(c, "orders/catalog", 11, "75s")[:6], fresh, last="45s")
    to_gcp(c)


@incident(
    story="The cloud-node-manager of an AKS cluster does not start after an upgrade. Three new nodes keep the taint that it should remove, so nothing is scheduled "
    "there for 21 minutes and seven pods are pending.",
    cause="The taint node.cloudprovider.kubernetes.io/uninitialized stays on 3 nodes for 21 minutes, so they never initialize; 7 pods are pending.",
    thread="aws/karpenter-provider-aws#8106",
    must=["uninitialized", "taint", n(3), n(7), r"2[01] ?m|not initiali|never initiali"],
    must_not=[LAUNCHES, ROOM, r"\bEC2\b", r"\bAWS\b"],
)
def cloud_taint_stays(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    fleet(c, "general", "orders/storefront", 5)
    taint = {"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"}
    why = ("KnownEphemeralTaintsExist", f'KnownEphemeralTaint "{taint["key"]}=true:NoSchedule" still exists')
    pairs = [add_node(c, "general", "m6i.xlarge", zone, age="21m", stage="Registered", uninitialized=why, taints=[taint]) for zone in c.zones]  # fmt: skip
    text = (
        "0/10 nodes are available: 3 node(s) had untolerated taint {node.cloudprovider.kubernetes.io/uninitialized: true}, 7 Insufficient cpu. preemption: "
        "0/10 nodes are available: 3 Preemption is not helpful for scheduling, 7 No preemption victims found for incoming pod."
    )
    nominated(c, waiting(c, "orders/checkout", 7, "22m", text), pairs, last="7s", count=110)
    rename(c.objects, AKS)
    for pair in c.nodes:
        pair.zone = rename(pair.zone, AKS)


@incident(
    story="A reader with few rights ran kubectl get for nodes, NodeClaims, NodePools and EC2NodeClasses: no pods, no events. The class default lost its security groups "
    "two hours ago when their tag was changed, so its pools launch nothing.",
    cause="EC2NodeClass default finds no security groups for 2 hours, so NodePools general and batch launch nothing.",
    thread="aws/karpenter-provider-aws#3007",
    must=[r"security ?groups?", r"\bgeneral\b", r"\bdefault\b", r"\b2 ?h|1[12]\d ?m"],
    must_not=[r"\d+ pods? pending", r"karpenter is not running|no leader", "only DaemonSet pods"],
    listed=("Node", "NodeClaim", "NodePool", "EC2NodeClass"),
)
def lists_without_pods(c: Cluster) -> None:
    text = "SecurityGroupSelector did not match any SecurityGroups"
    add_nodeclass(c, broken={"SecurityGroupsReady": ("SecurityGroupsNotFound", text)}, since="2h")
    broken = ("SecurityGroupsNotFound", text, "2h")
    add_pool(c, "general", not_ready=broken)
    add_pool(c, "batch", not_ready=broken, capacity=("spot",))
    fleet(c, "general", "orders/storefront", 5)
    waiting(c, "orders/checkout", 4, "100m")


@incident(
    story="Node repair replaces GPU nodes whose driver fails. The new driver fails on every new node within minutes, so repair goes in a circle: nine nodes in the last "
    "hour, and each time the inference pods are evicted.",
    cause="Node repair replaces nodes of gpu in a loop: 9 in the last hour because they were unhealthy, with 27 evictions of ml/infer.",
    thread="kubernetes-sigs/karpenter#750",
    must=["gpu", r"unhealthy|repair", CHURN, n(9) + "|" + n(27)],
    must_not=["NodeRepair is off|repair is (off|disabled)"],
    settings={"FEATURE_GATES": "NodeRepair=true"},
)
def repair_in_a_loop(c: Cluster) -> None:
    usual(c)
    add_pool(c, "gpu", families=("g5",), sizes=("2xlarge",), template={"taints": [GPU_TAINT]})
    pairs = [
        add_node(c, "gpu", "g5.2xlarge", zone, gpus=1, age=f"{4 + 5 * number}m") for number, zone in enumerate(c.zones)
    ]
    pods = add_workload(
        c, "ml/infer", on=pairs, age="3m", cpu="6", memory="20Gi", requests={"nvidia.com/gpu": "1"}, spec=GPU_POD
    )
    replaced(c, "gpu", "Unhealthy", 9, every=6, of=pods)


@incident(
    story="The namespace got the label pod-security.kubernetes.io/enforce: restricted last night. Running pods stayed; since a release an hour ago none of the five new ones can be "
    "created, because they may run as root. No pod is pending.",
    cause="None of the 5 pods of shop/mailer can be created: they violate the PodSecurity level restricted of their namespace.",
    thread="SREGym/SREGym#887",
    must=["shop/mailer", r"PodSecurity", "restricted", r"0 of 5|" + n(5) + r"|no (new )?pod"],
    must_not=[LAUNCHES, ICE],
)
def pod_security_refuses(c: Cluster) -> None:
    usual(c)
    add_workload(c, "shop/mailer", count=0, replicas=5, age="61m")
    text = (
        'Error creating: pods "mailer-7d9c5b7f4-x2k8p" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container "app" must '
        'set securityContext.allowPrivilegeEscalation=false), runAsNonRoot != true (pod or container "app" must set securityContext.runAsNonRoot=true)'
    )
    refuse_pods(c, "mailer", text, first="60m", last="3m", count=19)


@incident(
    story="The chart of the database was installed without its ServiceAccount. The StatefulSet's controller tries again and again and creates no pod for 25 minutes.",
    cause="No pod of data/mysql can be created: its ServiceAccount mysql-sa does not exist.",
    thread="apecloud/kubeblocks#4599",
    must=["data/mysql", r"service ?account", "mysql-sa", r"2[45] ?m"],
    must_not=[LAUNCHES, ICE, "create Pod mysql-0 in StatefulSet mysql failed error"],
)
def service_account_missing(c: Cluster) -> None:
    usual(c)
    add_workload(c, "data/mysql", kind="StatefulSet", count=0, replicas=3, age="25m")
    text = (
        'create Pod mysql-0 in StatefulSet mysql failed error: pods "mysql-0" is forbidden: error looking up service account data/mysql-sa: serviceaccount "mysql-sa" not '
        "found"
    )
    manifest = c.find("StatefulSet", "mysql")
    c.event(manifest, "FailedCreate", text, last="2m", first="25m", count=17, source="statefulset-controller")


@incident(
    story="A large cluster. A kernel bug hangs kubelets: 12 of the 60 nodes of batch have not been ready for 14 minutes, in all zones; their pods start elsewhere, and nothing repairs "
    "the nodes.",
    cause="12 of 60 nodes of batch have not been ready for 14 minutes.",
    thread="aws/karpenter-provider-aws#6803",
    must=[n(12), r"\bbatch\b", r"not (been )?ready|NotReady", r"1[34] ?m"],
    must_not=[r"\bzone us-east", "STUCK"],
)
def many_nodes_hang(c: Cluster) -> None:
    usual(c, 10)
    add_pool(c, "batch", labels={"team": "batch"})
    fleet(c, "batch", "etl/loader", 48, age="5d")
    for number in range(12):
        add_node(c, "batch", "m6i.xlarge", c.zones[number % 3], age="5d", ready=NOT_READY, ready_since="14m")


@incident(
    story="EC2 takes back six of ten spot nodes and has no spot capacity for their replacements: each launch of the last two minutes was refused. Nine pods are pending.",
    cause="6 of 10 spot nodes were interrupted, and EC2 has no spot capacity for replacements; 9 pods are pending.",
    thread="aws/karpenter-provider-aws#1233",
    must=[r"interrupt|taken back|reclaim", n(6), ICE, n(9)],
    must_not=[LAUNCHES],
    first=2,
)
def interrupted_and_no_replacement(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "spot", capacity=("spot",))
    fleet(c, "spot", "orders/storefront", 4, capacity="spot", age="2d")
    for number in range(6):
        age = f"{100 - 6 * number}s"
        pair = add_node(c, "spot", "m6i.xlarge", c.zones[number % 3], capacity="spot", age="2d", deleting=age)
        conditions(pair, condition("Drained", "Unknown", c.at(age), "Draining", "Draining"))
        for manifest in both(pair):
            c.event(manifest, "SpotInterrupted", "Spot interruption warning was triggered", last=age)
            text = f"Interruption triggered termination for the {manifest['kind']}"
            c.event(manifest, "TerminatingOnInterruption", text, last=age)
    pods = waiting(c, "orders/catalog", 9, "90s")
    refused(
        c,
        "spot",
        ["InsufficientInstanceCapacity: There is no Spot capacity available that matches your request."],
        pods,
        every=1,
        times=2,
    )


@incident(
    story="One replica and a PodDisruptionBudget of 50 %: half a pod, rounded up to one. Its node drifted four days ago and cannot go.",
    cause="The PodDisruptionBudget erp/ldap (minAvailable 50 % of 1 pod is 1) never allows an eviction, so the drift of 1 node waits for 4 days.",
    thread="kubernetes-sigs/karpenter#1599",
    must=["erp/ldap|ldap", "PDB|PodDisruptionBudget", "never", r"\b4 ?d|9[56] ?h", "drift"],
    must_not=[r"allows? no eviction now"],
    karpenter_version="1.14.1",
)
def half_of_one_pod(c: Cluster) -> None:
    usual(c)
    old = add_node(c, "general", "m6i.xlarge", c.zones[0], age="20d", drifted="4d")
    add_workload(c, "erp/ldap", on=[old], age="19d", cpu="3", memory="9Gi")
    add_pdb(c, "erp", "ldap", "ldap", healthy=1, desired=1, expected=1, minAvailable="50%")
