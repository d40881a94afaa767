"""Nodes that stay or go against the operator's wish, and Karpenter that comes and goes; and faults that come together."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import fleet, refused, unschedulable, usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n, order_of
from tests.incidents.node_objects import NOT_READY, add_node, both, conditions
from tests.incidents.objects import condition
from tests.incidents.pods import (
    PROTECTED,
    SELECTOR,
    add_daemonset,
    add_pdb,
    add_pod,
    add_workload,
    matching,
    no_node,
    waiting,
)
from tests.incidents.pools import add_nodeclass, add_pool
from tests.incidents.workloads import crash

PENDING = r"[1-9]\d* pods?[^\n]{0,30} pending"
SAVING = r"consolidat|nearly empty|almost empty|under-?us|under-?util|one small pod|mostly (empty|idle)|cheaper|removable|would go|saving"


@incident(
    story="The pods of shop/relay prefer to be spread over nodes (a topology spread with ScheduleAnyway). Karpenter honours the preference in its simulations, so seven nodes run one tiny pod each and stay for days.",
    cause="7 nodes of general run one small pod of shop/relay each and stay, because Karpenter honours the pods' preferred spread over nodes (ScheduleAnyway, PREFERENCE_POLICY Respect).",
    thread="kubernetes-sigs/karpenter#667",
    must=["shop/relay", r"spread", r"prefer|ScheduleAnyway", n(7), r"\bgeneral\b"],
    must_not=[r"do-not-disrupt", "PodDisruptionBudget", "anti-?affinity"],
)  # fmt: skip
def preferred_spread_keeps_nodes(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general", families=("m6i",), sizes=("xlarge",))
    pairs = [add_node(c, "general", "m6i.xlarge", c.zones[number % 3], age="6d") for number in range(7)]
    spread = matching("relay", maxSkew=1, topologyKey="kubernetes.io/hostname", whenUnsatisfiable="ScheduleAnyway")
    spec = {"topologySpreadConstraints": [spread]}
    add_workload(c, "shop/relay", on=pairs, age="5d", cpu="300m", memory="256Mi", pool="general", spec=spec)
    for pair in pairs:
        for manifest in both(pair):
            c.event(manifest, "Unconsolidatable", "Can't replace with a cheaper node", last="3m", first="55m", count=4, kind="Normal")  # fmt: skip


@incident(
    story="ml/train moved from the Cluster Autoscaler to Karpenter with its annotation safe-to-evict: false, which Karpenter does not read. The node of the job, 17 hours in, expires in 15 minutes.",
    cause="ml/train is evicted in 15 minutes, when its node expires: its annotation cluster-autoscaler.kubernetes.io/safe-to-evict false means nothing to Karpenter.",
    thread="aws/karpenter-provider-aws#3775",
    must=["ml/train", "expir", r"\b1[45] ?m|09:4[45]", r"safe-to-evict"],
    must_not=[r"without end|no terminationGracePeriod", r"do-not-disrupt (on|protects|blocks)", PENDING],
)  # fmt: skip
def safe_to_evict_protects_nothing(c: Cluster) -> None:
    usual(c)
    add_pool(c, "ml", families=("m7i",), sizes=("4xlarge",), disruption={"consolidationPolicy": "WhenEmpty"})
    old = add_node(c, "ml", "m7i.4xlarge", c.zones[2], age=f"{720 * 60 - 15}m")
    marks = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
    add_workload(c, "ml/train", kind="Job", on=[old], age="17h", cpu="14", memory="50Gi", annotations=marks, pool="ml")


@incident(
    story="An expired node has been draining for 3 hours, because do-not-disrupt protects ci/runner on it and there is no terminationGracePeriod. Two hours ago the DaemonSet obs/agent was rolled out; its new pod does not tolerate the taint karpenter.sh/disrupted, so the node has no agent and the rollout cannot end.",
    cause="A node has been draining for 3 hours because do-not-disrupt protects ci/runner on it; meanwhile the pod of the DaemonSet obs/agent cannot get back onto it (taint karpenter.sh/disrupted).",
    thread="kubernetes-sigs/karpenter#2704",
    must=["ci/runner", "do-not-disrupt", "drain", r"\b3 ?h|2h5\d", r"obs/agent"],
    must_not=[LAUNCHES, ROOM, ICE, "PodDisruptionBudget", r"does not fit|no room|Insufficient"],
    other=[order_of("drain", "obs/agent")],
)  # fmt: skip
def agent_is_kept_out_of_a_draining_node(c: Cluster) -> None:
    usual(c)
    old = add_node(c, "general", "m6i.2xlarge", c.zones[0], age="30d3h", deleting="3h")
    conditions(old, condition("Drained", "Unknown", c.at("3h"), "Draining", "Draining"))
    add_workload(c, "ci/runner", kind="Job", on=[old], count=1, age="31h", cpu="4", memory="8Gi", annotations=PROTECTED)
    agent = add_daemonset(c, "obs", "agent", cpu="100m", memory="128Mi", spec={"tolerations": []})
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [old.name]}]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    text = no_node({"node(s) had untolerated taint {karpenter.sh/disrupted: }": 1, SELECTOR: 6})
    add_pod(c, "obs", "agent-new01", parent=agent, age="2h", cpu="100m", memory="128Mi", labels={"app.kubernetes.io/name": "agent"}, spec={"affinity": affinity}, message=text)  # fmt: skip
    text = "Failed to drain node, 1 pods are waiting to be evicted"
    c.event(both(old)[0], "FailedDraining", text, last="1m", first="59m", count=29)


@incident(
    story="All three pods of auth/api crash since a bad release 50 minutes ago. Their PodDisruptionBudget has unhealthyPodEvictionPolicy AlwaysAllow, so it does not hold them, and the drift of their nodes, which began 8 minutes ago, goes on.",
    cause="All 3 pods of auth/api crash for 50 minutes (exit code 1); their PodDisruptionBudget does not block the drift of their nodes, as it always allows the eviction of unhealthy pods.",
    thread="kubernetes/kubernetes#72320",
    must=["auth/api", n(3) + "|all", r"crash|exit code 1|restart"],
    must_not=[LAUNCHES, PENDING, r"(PDB|PodDisruptionBudget)[^\n]{0,60}(block|allows no|never|hold|prevent)", r"drift[^\n]{0,40}(waits|blocked|does not)"],
)  # fmt: skip
def crashing_pods_may_be_evicted(c: Cluster) -> None:
    usual(c, 3)
    add_pool(c, "auth", sizes=("xlarge",), labels={"team": "auth"})
    pairs = [add_node(c, "auth", "m6i.xlarge", zone, age="17d", drifted="8m") for zone in c.zones]
    pods = add_workload(c, "auth/api", on=pairs, age="50m", cpu="2", memory="6Gi", spec={"nodeSelector": {"team": "auth"}})  # fmt: skip
    for pod in pods:
        crash(c, pod, code=1, restarts=15, ago="80s")
    add_pdb(c, "auth", "api", "api", healthy=0, desired=2, expected=3, minAvailable=2, unhealthyPodEvictionPolicy="AlwaysAllow")  # fmt: skip


@incident(
    story="Six nodes of general run one small pod of cache/edge each, and Karpenter wants to consolidate them for days. The PodDisruptionBudget cache/edge has maxUnavailable 0, so it may remove none. Nothing is drifted.",
    cause="The PodDisruptionBudget cache/edge (maxUnavailable 0) never allows an eviction, so 6 nearly empty nodes of general cannot be consolidated.",
    thread="aws/karpenter-provider-aws#3927",
    must=["cache/edge", "PDB|PodDisruptionBudget", n(6), SAVING],
    must_not=["drift", "do-not-disrupt", LAUNCHES, PENDING],
)  # fmt: skip
def budget_keeps_nearly_empty_nodes(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general", families=("m6i",), sizes=("xlarge",))
    pairs = [add_node(c, "general", "m6i.xlarge", c.zones[number % 3], age="6d") for number in range(6)]
    add_workload(c, "cache/edge", on=pairs, age="5d", cpu="200m", memory="512Mi", pool="general")
    add_pdb(c, "cache", "edge", "edge", healthy=6, desired=6, expected=6, maxUnavailable=0)
    text = "Pdb prevents pod evictions (PodDisruptionBudget=[cache/edge])"
    for pair in pairs:
        for manifest in both(pair):
            c.event(manifest, "DisruptionBlocked", text, last="2m", first="58m", count=12, kind="Normal")


@incident(
    story="Each of five 2xlarge nodes of ci was launched for a wave of builds yesterday. One small runner with do-not-disrupt and without an end is left on each, 18 hours old, so none can be consolidated, and they cost about $1.92 an hour together.",
    cause="do-not-disrupt on 5 pods of ci/runner keeps 5 nearly empty nodes of ci, which consolidation would remove.",
    thread="aws/karpenter-provider-aws#4758",
    must=["ci/runner", "do-not-disrupt", n(5), r"\bci\b", SAVING],
    must_not=["drift", "PodDisruptionBudget", LAUNCHES, PENDING],
)  # fmt: skip
def runners_keep_large_nodes(c: Cluster) -> None:
    usual(c)
    add_pool(c, "ci", families=("m6i",), sizes=("xlarge", "2xlarge"), labels={"team": "ci"})
    pairs = [add_node(c, "ci", "m6i.2xlarge", c.zones[number % 3], age="20h") for number in range(5)]
    add_workload(c, "ci/runner", on=pairs, age="18h", cpu="250m", memory="512Mi", annotations=PROTECTED, spec={"nodeSelector": {"team": "ci"}})  # fmt: skip
    for pair in pairs:
        for manifest in both(pair):
            c.event(manifest, "DisruptionBlocked", 'Pod has "karpenter.sh/do-not-disrupt" annotation', last="2m", first="58m", count=12, kind="Normal")  # fmt: skip


@incident(
    story="The API server answers slowly, Karpenter's leader cannot renew its lease in time, exits, and the other pod takes over, again and again: 9 changes of the leader in 55 minutes. Both pods are ready at this moment. Seven pods are pending for 13 minutes.",
    cause="Karpenter loses its leader lease again and again and restarts (23 and 21 restarts, the last 4 minutes ago; 9 leaders in 55 minutes), so 7 pods are pending for 13 minutes.",
    thread="kubernetes-sigs/karpenter#719",
    must=["karpenter", r"restart|leader", r"\b(23|21|44)\b|" + n(9), n(7)],
    must_not=[r"karpenter is not running|\b0 of 2\b", "OOM|memory", ICE],
    other=[order_of("restart|leader", "pending")],
)  # fmt: skip
def leader_changes_again_and_again(c: Cluster) -> None:
    usual(c, 8)
    pods = [item for item in c.objects if item["kind"] == "Pod" and item["metadata"]["name"].startswith("karpenter-")]
    for pod, (count, last) in zip(pods, ((23, "4m"), (21, "10m")), strict=True):
        ended = {"reason": "Error", "exitCode": 1, "startedAt": c.at("16m"), "finishedAt": c.at(last)}
        state = {"state": {"running": {"startedAt": c.at(last)}}, "lastState": {"terminated": ended}}
        pod["status"]["containerStatuses"][0] |= {"restartCount": count, **state}
    lease = c.find("Lease", "karpenter-leader-election")
    lease["spec"] |= {"leaseTransitions": 71, "acquireTime": c.at("4m")}
    for number in range(9):
        name = pods[number % 2]["metadata"]["name"]
        c.event(lease, "LeaderElection", f"{name}_{number}f3c became leader", last=f"{4 + 6 * number}m", kind="Normal", source=f"{name}_{number}f3c")  # fmt: skip
    waiting(c, "orders/checkout", 7, "13m")


@incident(
    story="Karpenter was uninstalled with Helm 26 hours ago, then the NodePool was deleted. Nothing removes the finalizer: five NodeClaims and Nodes are Terminating for 26 hours and still run pods. Six new pods are pending for 40 minutes, and nothing will launch for them.",
    cause="Karpenter is not running (it was uninstalled; its lease was last renewed 26 hours ago): 5 nodes have been terminating for 26 hours, because nothing removes their finalizer karpenter.sh/termination, and 6 pods are pending.",
    thread="aws/karpenter-provider-aws#6870",
    must=[r"karpenter (is|does|has)? ?not|no (pod of )?karpenter|karpenter[^\n]{0,40}(gone|uninstalled|absent|missing|down)", n(5), r"26 ?h|1d ?2h|25h5\d|\b1 ?d", r"terminat|delet|finalizer|drain", n(6)],
    must_not=[LAUNCHES, ROOM, ICE, r"drain[^\n]{0,60}(PodDisruptionBudget|do-not-disrupt)"],
    karpenter_runs=False,
)  # fmt: skip
def karpenter_was_uninstalled(c: Cluster) -> None:
    add_nodeclass(c)
    pool = add_pool(c, "general")
    pairs = fleet(c, "general", "orders/storefront", 5, deleting="26h")
    for pair in pairs:
        taints = both(pair)[0]["spec"]["taints"]
        taints[:] = [taint for taint in taints if taint["key"] != "karpenter.sh/disrupted"]
    pool["metadata"] |= {"deletionTimestamp": c.at("26h"), "finalizers": ["foregroundDeletion"]}
    lease = {"holderIdentity": "karpenter-5c6d_x", "leaseDurationSeconds": 15, "renewTime": c.at("26h10m"), "acquireTime": c.at("90d")}  # fmt: skip
    c.add("Lease", "karpenter-leader-election", "kube-system", age="200d", spec=lease)
    waiting(c, "orders/checkout", 6, "40m")


@incident(
    story="Three faults at once. EC2 has had no spot capacity for NodePool spot for 22 minutes, so nine pods of orders/checkout are pending. Four pods of shop/mail cannot pull their image for 16 minutes, because the tag does not exist. And a node has been draining for 6 hours behind the PodDisruptionBudget erp/ledger.",
    cause="EC2 has no spot capacity for NodePool spot: 9 pods of orders/checkout are pending for 22 minutes. 4 pods of shop/mail cannot pull their image (the tag does not exist) for 16 minutes. The PodDisruptionBudget erp/ledger blocks the drain of a node for 6 hours.",
    thread="aws/karpenter-provider-aws#3042, kubernetes-sigs/karpenter#2802",
    must=[ICE, n(9), "shop/mail", r"image|pull", r"erp/ledger", r"\b6 ?h|5h5\d"],
    must_not=[LAUNCHES, ROOM, "do-not-disrupt"],
    other=[order_of(ICE, "erp/ledger"), order_of("shop/mail", "erp/ledger")],
)  # fmt: skip
def no_spot_a_missing_tag_and_a_blocked_drain(c: Cluster) -> None:
    usual(c)
    add_pool(c, "spot", capacity=("spot",), labels={"team": "orders"})
    pods = waiting(c, "orders/checkout", 9, "22m", spec={"nodeSelector": {"team": "orders"}})
    error = "InsufficientInstanceCapacity: We currently do not have sufficient m6i.xlarge capacity in the Availability Zone you requested (us-east-1a). Our system will be working on provisioning additional capacity."
    refused(c, "spot", [error, error.replace("us-east-1a", "us-east-1b")], pods, every=3, times=7)
    host = add_node(c, "general", "m6i.2xlarge", c.zones[0], age="9d")
    image = "registry.example/shop/mail:2026.11.24"
    for pod in add_workload(c, "shop/mail", on=[host], count=4, age="16m", cpu="500m", memory="1Gi", waiting="ImagePullBackOff", image=image):  # fmt: skip
        text = f'Failed to pull image "{image}": rpc error: code = NotFound desc = failed to pull and unpack image "{image}": failed to resolve reference "{image}": {image}: not found'
        c.event(pod, "Failed", text, last="1m", first="16m", count=7, source="kubelet")
        c.event(
            pod, "BackOff", f'Back-off pulling image "{image}"', last="15s", first="16m", count=60, source="kubelet"
        )
    old = add_node(c, "general", "m6i.2xlarge", c.zones[1], age="30d6h", deleting="6h")
    conditions(old, condition("Drained", "Unknown", c.at("6h"), "Draining", "Draining"))
    add_workload(c, "erp/ledger", kind="StatefulSet", on=[old], count=1, age="20d", cpu="3", memory="12Gi")
    add_pdb(c, "erp", "ledger", "ledger", healthy=1, desired=1, expected=1, minAvailable=1)
    c.event(both(old)[0], "FailedDraining", "Failed to drain node, 1 pods are waiting to be evicted", last="1m", first="59m", count=29)  # fmt: skip


@incident(
    story="Three faults at once. Both pods of Karpenter crash for 34 minutes. EC2NodeClass gpu matches no AMI for 5 hours. A node has been silent for 12 minutes, with db/pg-0 on it. Eight pods are pending for 30 minutes. Until Karpenter runs, nothing else can be mended by it.",
    cause="Karpenter is down: both its pods crash for 34 minutes; 8 pods are pending. Apart from that, EC2NodeClass gpu matches no AMI for 5 hours, and ip-10-24-17-116 has not been ready for 12 minutes.",
    thread="aws/karpenter-provider-aws#8428, aws/karpenter-provider-aws#7436",
    must=[r"karpenter (is )?(down|not running)|0 of 2|both", r"\bgpu\b", "AMI", r"ip-10-24-17-116", r"not (been )?ready|silent|unreachable"],
    must_not=[LAUNCHES, ROOM],
    first=4,
    other=[order_of("karpenter", r"\bAMI"), order_of("karpenter", "ip-10-24-17-116")],
)  # fmt: skip
def karpenter_down_a_broken_class_and_a_silent_node(c: Cluster) -> None:
    usual(c, 3)
    host = add_node(c, "general", "m6i.2xlarge", c.zones[0], age="9d", ready=NOT_READY, ready_since="12m")
    assert host.name.startswith("ip-10-24-17-116"), host.name
    add_workload(c, "db/pg", kind="StatefulSet", on=[host], count=1, age="8d", cpu="3", memory="12Gi")
    broken = {"AMIsReady": ("AMINotFound", "AMISelector did not match any AMIs")}
    add_nodeclass(c, "gpu", broken=broken, since="5h", status={"amis": []})
    add_pool(c, "gpu", nodeclass="gpu", families=("g5",), sizes=("2xlarge",), not_ready=("NodeClassNotReady", "NodeClass is not ready", "5h"))  # fmt: skip
    for item in [item for item in c.objects if item["kind"] == "Pod" and item["metadata"]["name"].startswith("karpenter-")]:  # fmt: skip
        crash(c, item, code=1, restarts=12, ago="90s")
    c.find("Lease", "karpenter-leader-election")["spec"]["renewTime"] = c.at("34m")
    c.find("Deployment", "karpenter")["status"] |= {"readyReplicas": 0, "availableReplicas": 0, "unavailableReplicas": 2}  # fmt: skip
    waiting(c, "orders/checkout", 8, "30m")


@incident(
    story="Two groups of pods are pending for two causes that have nothing to do with each other: five pods of bi/cube select the label tier gold, which is spelled teir on the NodePool, and seven pods of shop/cart wait because NodePool web is at its limit of 16 cores. Besides, a budget of 0 for Drifted holds the drift of 4 nodes of general for 6 days.",
    cause="5 pods of bi/cube select tier gold, a label that no NodePool has. NodePool web is at its limit of 16 cores, so 7 pods of shop/cart are pending. A budget of 0 blocks the drift of 4 nodes of general for 6 days.",
    thread="aws/karpenter-provider-aws#5645, aws/karpenter-provider-aws#6086",
    must=["bi/cube", r"\btier\b", n(5), "shop/cart", r"limit", n(7), r"drift", r"budget"],
    must_not=[LAUNCHES, ROOM, ICE, r"\b12 pods[^\n]{0,20} pending"],
    other=[order_of("bi/cube", "drift"), order_of("shop/cart|limit", "drift")],
)  # fmt: skip
def misspelt_label_a_limit_and_a_budget(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general", labels={"teir": "gold"}, disruption={"budgets": [{"nodes": "0", "reasons": ["Drifted"]}, {"nodes": "10%"}]})  # fmt: skip
    fleet(c, "general", "orders/storefront", 4, drifted="6d", age="20d")
    add_pool(c, "web", sizes=("xlarge",), labels={"team": "web"}, limits={"cpu": "16"})
    pairs = [add_node(c, "web", "m6i.xlarge", c.zones[number % 3], age="9d") for number in range(4)]
    pods = add_workload(c, "shop/cart", on=pairs, count=12, pending=7, pending_since="24m", age="4d", spec={"nodeSelector": {"team": "web"}})  # fmt: skip
    unschedulable(c, pods[12:], 'all available instance types exceed limits for nodepool: "web"', minutes=24)
    pods = waiting(c, "bi/cube", 5, "51m", spec={"nodeSelector": {"tier": "gold"}})
    unschedulable(c, pods, 'incompatible requirements, label "tier" does not have known values', minutes=51)
