"""Variants of known faults: another reason, another shape."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.controllers import DOWN, FILLER, FULL
from tests.incidents.disruption import both
from tests.incidents.fleets import CPU, MEMORY, fleet, usual
from tests.incidents.incident import LAUNCHES, incident, n
from tests.incidents.node_objects import NOT_READY, add_node
from tests.incidents.objects import condition
from tests.incidents.pods import add_daemonset, add_pdb, add_pod, add_volume, add_workload
from tests.incidents.pools import add_karpenter, add_nodeclass, add_pool


@incident(
    story="The chart was upgraded to a tag that the registry does not have. Both Karpenter pods pull in vain for 18 minutes, and "
    "eight pods wait.",
    cause="Karpenter is down: its image cannot be pulled, 0 of 2 pods are ready for 18 minutes; 8 pods are pending.",
    thread="aws/karpenter-provider-aws#8428",
    must=[
        [DOWN + r"|karpenter.{0,120}image|image.{0,120}karpenter"],
        [r"image|pull|ImagePullBackOff|ErrImagePull"],
        [r"1[78] ?m|09:12"],
    ],
    must_not=[LAUNCHES],
    first=1,
    karpenter_runs=False,
)
def karpenter_image_missing(c: Cluster) -> None:
    usual(c)
    add_workload(c, "StatefulSet", "monitoring", "prometheus", on=c.system, **{**FILLER, "cpu": "300m"})
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
        for one in pod["status"]["conditions"]:
            one["lastTransitionTime"] = c.at("18m")
            if one["type"] in ("Ready", "ContainersReady"):
                one |= {"status": "False", "reason": "ContainersNotReady"}
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
    add_workload(
        c,
        "Deployment",
        "orders",
        "checkout",
        pending=8,
        pending_since="15m",
        cpu=CPU,
        memory=MEMORY,
        message=FULL.format(6),
    )


@incident(
    story="The new NodeClass selects subnets of one VPC and a security group of another. EC2 refuses every launch of pool edge for "
    "34 minutes; Karpenter gives each NodeClaim up after five minutes, and six pods wait.",
    cause="Launches of pool edge fail because the security groups and subnets of its NodeClass are in different VPCs; 6 pods are pending.",
    thread="aws/karpenter-provider-aws#3007",
    must=[["security ?group"], ["VPC|subnet"], ["edge"], [n(6), r"\bsix\b"]],
    must_not=[LAUNCHES, "sold out|insufficient capacity"],
)
def groups_of_another_vpc(c: Cluster) -> None:
    add_nodeclass(c)
    add_nodeclass(c, "edge", spec={"securityGroupSelectorTerms": [{"tags": {"Name": "legacy-edge"}}]})
    text = "Security groups and subnets must be in the same VPC."
    add_pool(c, "general")
    add_pool(c, "edge", nodeclass="edge", registration=("SecurityGroupSubnetVPCMismatch", text, "29m"))
    fleet(c, "general", "orders", "storefront", 3)
    add_node(
        c,
        "edge",
        "m6i.xlarge",
        c.zones[0],
        age="2m10s",
        stage="",
        launch_error=("SecurityGroupSubnetVPCMismatch", text),
    )
    add_workload(
        c,
        "Deployment",
        "edge",
        "proxy",
        pending=6,
        pending_since="34m",
        cpu="500m",
        memory="1Gi",
        spec={"nodeSelector": {"karpenter.sh/nodepool": "edge"}},
        message="0/5 nodes are available: 5 node(s) didn't match Pod's node affinity/selector. preemption: 0/5 nodes are "
        "available: 5 Preemption is not helpful for scheduling.",
    )


@incident(
    story="Three of nine nodes, all those of us-east-1c, stopped answering seven minutes ago. The database replica there cannot move: "
    "its volume is in that zone. Six web pods wait too.",
    cause="All 3 nodes of us-east-1c are not ready for 7 minutes; db/pg-2 and 6 other pods are affected.",
    thread="kubernetes-sigs/karpenter#1573",
    must=[
        [r"1c\b"],
        [n(3), r"\bthree\b"],
        [r"not (been )?ready|NotReady|unreachable|down"],
        [r"\b7 ?m|[67]m\d+|09:23|\b7\b"],
    ],
)
def zone_goes_silent(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    fleet(c, "general", "orders", "storefront", 6, zones=c.zones[:2])
    silent = [
        add_node(c, "general", "m6i.2xlarge", c.zones[2], age="5d", ready=NOT_READY, ready_since="7m") for _ in range(3)
    ]
    volume = add_volume(c, "db", "data-pg-2", c.zones[2])
    add_workload(
        c,
        "StatefulSet",
        "db",
        "pg",
        on=silent[:1],
        age="5d",
        cpu="5",
        memory="20Gi",
        deleting="2m",
        spec={"volumes": [volume]},
    )
    add_workload(
        c, "Deployment", "orders", "catalog", on=silent[1:], count=6, age="5d", cpu="2", memory="6Gi", deleting="2m"
    )
    add_workload(
        c,
        "Deployment",
        "orders",
        "catalog-next",
        pending=6,
        pending_since="2m",
        cpu="2",
        memory="6Gi",
        message="0/11 nodes are available: 3 node(s) had untolerated taint {node.kubernetes.io/unreachable: }, 8 Insufficient cpu. "
        "preemption: 0/11 nodes are available: 3 Preemption is not helpful for scheduling, 8 No preemption victims found for "
        "incoming pod.",
    )


@incident(
    story="The budget of the pool forbids drift for ever (nodes 0 for the reason Drifted) and allows everything else. Seven nodes have "
    "drifted for eleven days; consolidation goes on, so nobody noticed.",
    cause="A budget of 0 for the reason Drifted, without a schedule, blocks the drift of 7 nodes of general for 11 days.",
    thread="aws/karpenter-provider-aws#5898",
    must=[["general"], ["budget"], ["drift"], [n(7), r"\bseven\b"], [r"11 ?d|26[34] ?h|never|always|\b0\b"]],
)
def budget_forbids_drift(c: Cluster) -> None:
    add_nodeclass(c)
    budgets = [{"nodes": "0", "reasons": ["Drifted"]}, {"nodes": "30%"}]
    add_pool(c, "general", disruption={"budgets": budgets})
    fleet(c, "general", "orders", "storefront", 7, drifted="11d", age="24d")
    pool = c.find("NodePool", "general")
    text = "No allowed disruptions for disruption reason Drifted due to blocking budget"
    c.event(pool, "DisruptionBlocked", text, last="20s", first="59m", count=58, kind="Normal")


@incident(
    story="One of three auth pods crashes since a bad release five days ago. The PodDisruptionBudget wants two healthy pods and has "
    "two, so it lets none go, not even the broken one: three drifted nodes wait.",
    cause="auth/auth-server has a crashing pod, so its PodDisruptionBudget allows no eviction and the drift of 3 nodes waits for 5 days.",
    thread="berops/claudie#1508",
    must=[
        ["auth"],
        ["PDB|PodDisruptionBudget|disruption budget"],
        ["drift"],
        [n(3), r"\bthree\b"],
        [r"\b5 ?d|1[12]\d ?h|five days"],
    ],
)
def budget_of_crashing_pods(c: Cluster) -> None:
    usual(c, 3)
    add_pool(c, "auth", template={"taints": [{"key": "dedicated", "value": "auth", "effect": "NoSchedule"}]})
    pairs = [add_node(c, "auth", "m6i.xlarge", zone, age="17d", drifted="5d") for zone in c.zones]
    spec = {
        "tolerations": [{"key": "dedicated", "operator": "Exists"}],
        "nodeSelector": {"karpenter.sh/nodepool": "auth"},
    }
    pods = add_workload(c, "Deployment", "auth", "auth-server", on=pairs, age="5d", cpu="3", memory="9Gi", spec=spec)
    broken = pods[0]["status"]
    broken["containerStatuses"][0] |= {
        "ready": False,
        "restartCount": 1391,
        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
    }
    for one in broken["conditions"]:
        if one["type"] in ("Ready", "ContainersReady"):
            one |= {"status": "False", "reason": "ContainersNotReady"}
    c.event(
        pods[0], "BackOff", "Back-off restarting failed container", last="1m", first="1h", count=260, source="kubelet"
    )
    add_pdb(c, "auth", "auth-server", "auth-server", healthy=2, desired=2, expected=3, minAvailable=2)
    text = "Pdb prevents pod evictions (PodDisruptionBudget=[auth/auth-server])"
    for pair in pairs:
        for one in both(pair):
            c.event(one, "DisruptionBlocked", text, last="1m", first="58m", count=28, kind="Normal")


@incident(
    story="The memory request of the security agent was tripled 40 minutes ago. Its DaemonSet runs on seven nodes of twelve; on the "
    "five full ones the new pod is Pending, and these nodes are unprotected.",
    cause="DaemonSet falcon-sensor no longer fits on 5 of the nodes: 5 of its pods are pending for 40 minutes.",
    thread="aws/karpenter-provider-aws#1769",
    must=[
        ["falcon-sensor"],
        ["DaemonSet"],
        [n(5), r"\bfive\b"],
        [r"pending|wait|unschedulable|no room|not fit|does not fit"],
    ],
    must_not=[LAUNCHES],
)
def daemonset_does_not_fit(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    full = fleet(c, "general", "orders", "storefront", 5)
    free = fleet(c, "general", "orders", "catalog", 5, each=2)
    add_workload(c, "Deployment", "orders", "indexer", on=free, cpu="700m", memory="1Gi")
    made = add_daemonset(c, "security", "falcon-sensor", cpu="100m", memory="5500Mi")
    for pair in full:
        pair.without = ("falcon-sensor",)
    for number, pair in enumerate(full):
        term = {"key": "metadata.name", "operator": "In", "values": [pair.name]}
        required = {"nodeSelectorTerms": [{"matchFields": [term]}]}
        add_pod(
            c,
            "security",
            f"falcon-sensor-new{number}",
            parent=made,
            age="40m",
            cpu="100m",
            memory="5500Mi",
            labels={"app.kubernetes.io/name": "falcon-sensor"},
            spec={
                "tolerations": [{"operator": "Exists"}],
                "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}},
            },
            message="0/12 nodes are available: 1 Insufficient memory, 11 node(s) didn't satisfy plugin(s) [NodeAffinity]. "
            "preemption: 0/12 nodes are available: 1 No preemption victims found for incoming pod, 11 Preemption is not helpful "
            "for scheduling.",
        )


@incident(
    story="The NodePool web was deleted three minutes ago, with all that it owns: its eight nodes drain at once, no budget counts, and "
    "15 of their pods wait. The other pool is dedicated to another team.",
    cause="NodePool web is being deleted, so its 8 nodes drain at the same time; 15 pods are pending.",
    thread="aws/karpenter-provider-aws#6905",
    must=[["web"], [r"delet|terminat|drain"], [n(8), r"\beight\b"], [n(15)]],
    must_not=[LAUNCHES],
)
def pool_deleted(c: Cluster) -> None:
    add_nodeclass(c)
    pool = add_pool(c, "web")
    taint = {"key": "dedicated", "value": "data", "effect": "NoSchedule"}
    add_pool(c, "data", template={"taints": [taint]})
    pairs = [add_node(c, "web", "m6i.xlarge", c.zones[number % 3], deleting="3m") for number in range(8)]
    pool["metadata"] |= {"deletionTimestamp": c.at("3m"), "finalizers": ["foregroundDeletion"]}
    for pair in pairs:
        both(pair)[1]["status"]["conditions"].append(
            condition("Drained", "Unknown", c.at("3m"), "Draining", "Draining")
        )
    add_pdb(c, "orders", "storefront", "storefront", healthy=9, desired=9, expected=24, minAvailable=9)
    pods = add_workload(
        c,
        "Deployment",
        "orders",
        "storefront",
        on=pairs,
        count=9,
        pending=15,
        pending_since="2m",
        cpu=CPU,
        memory=MEMORY,
        message="0/10 nodes are available: 2 Insufficient cpu, 8 node(s) had untolerated taint {karpenter.sh/disrupted: }. "
        "preemption: 0/10 nodes are available: 2 No preemption victims found for incoming pod, 8 Preemption is not helpful for "
        "scheduling.",
    )
    for pod in pods[9:]:
        text = "Failed to schedule pod, did not tolerate taint (taint=dedicated=data:NoSchedule)"
        c.event(pod, "FailedScheduling", text, last="1m")


@incident(
    story="EC2 takes back eight of twenty spot nodes within two minutes. Eighteen pods wait, and no replacement has joined yet.",
    cause="8 of 20 spot nodes of pool spot were interrupted within two minutes; 18 pods are pending.",
    thread="dynamical-org/reformatters#945",
    must=[["spot"], [r"interrupt|taken back|reclaim"], [n(8), r"\beight\b"], [n(18)]],
)
def spot_wave_of_eight(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "spot", capacity=("spot",))
    fleet(c, "spot", "orders", "storefront", 12, capacity="spot", age="2d")
    for number in range(8):
        age = f"{60 + 12 * number}s"
        going = add_node(c, "spot", "m6i.xlarge", c.zones[number % 3], capacity="spot", age="2d", deleting=age)
        both(going)[1]["status"]["conditions"].append(
            condition("Drained", "Unknown", c.at(age), "Draining", "Draining")
        )
        for one in both(going):
            c.event(one, "SpotInterrupted", "Spot interruption warning was triggered", last=age)
            text = f"Interruption triggered termination for the {one['kind']}"
            c.event(one, "TerminatingOnInterruption", text, last=age)
    for number in range(4):
        add_node(c, "spot", "m6i.2xlarge", c.zones[number % 3], capacity="spot", age="50s", stage="Launched")
    add_workload(
        c,
        "Deployment",
        "orders",
        "catalog",
        pending=18,
        pending_since="70s",
        cpu=CPU,
        memory=MEMORY,
        message="0/22 nodes are available: 14 Insufficient cpu, 8 node(s) had untolerated taint {karpenter.sh/disrupted: }. "
        "preemption: 0/22 nodes are available: 14 No preemption victims found for incoming pod, 8 Preemption is not helpful for "
        "scheduling.",
    )
