"""Nodes that should be removed and are not, or are removed with harm."""

from __future__ import annotations

from tests.incidents.cluster import Cluster, NodePair
from tests.incidents.fleets import CPU, MEMORY, fleet, usual
from tests.incidents.incident import incident, n
from tests.incidents.node_objects import add_node, cordon
from tests.incidents.objects import Object, condition
from tests.incidents.pods import add_pdb, add_volume, add_workload
from tests.incidents.pools import add_nodeclass, add_pool

FOREVER = r"never|no end|without end|no (time )?limit|forever|indefinitely|for ever|no terminationGracePeriod|without (a )?terminationGracePeriod"


def both(pair: NodePair) -> tuple[Object, Object]:
    """Return a node's Node and NodeClaim."""
    assert pair.node is not None
    assert pair.claim is not None
    return pair.node, pair.claim


def conditions(pair: NodePair, *made: Object) -> None:
    """Add conditions to a NodeClaim."""
    both(pair)[1]["status"]["conditions"] += made


@incident(
    story="A CronJob starts every ten minutes, and its pods run for up to 14 minutes with do-not-disrupt. There is always one on "
    "each of the four nodes, so their drift waits for six days, although no pod is older than 14 minutes.",
    cause="Pods of the CronJob sync-orders with do-not-disrupt follow one another, so the drift of 4 nodes has waited for 6 days.",
    thread="kubernetes-sigs/karpenter#701",
    must=[
        ["do-not-disrupt"],
        ["sync-orders"],
        ["drift|AMI|image"],
        [n(4), r"\bfour\b"],
        [r"\b6 ?d|\bsix days|14[34] ?h|5d2\d"],
    ],
)
def cron_do_not_disrupt(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "jobs")
    pairs = fleet(c, "jobs", "orders", "indexer", 4, drifted="6d", age="20d", each=2)
    cron = c.add(
        "CronJob",
        "sync-orders",
        "orders",
        age="120d",
        spec={"schedule": "*/10 * * * *", "concurrencyPolicy": "Allow", "jobTemplate": {"spec": {"parallelism": 4}}},
        status={"lastScheduleTime": c.at("3m")},
    )
    marks = {"karpenter.sh/do-not-disrupt": "true"}
    for number, age in enumerate(("13m", "3m")):
        here = pairs[:2] if number else pairs[2:]
        pods = add_workload(
            c,
            "Job",
            "orders",
            f"sync-orders-2950{number}",
            on=here,
            age=age,
            cpu="400m",
            memory="512Mi",
            annotations=marks,
            spec={"restartPolicy": "Never"},
        )
        job = c.find("Job", f"sync-orders-2950{number}")
        job["metadata"]["ownerReferences"] = [
            {
                "apiVersion": "batch/v1",
                "kind": "CronJob",
                "name": "sync-orders",
                "uid": cron["metadata"]["uid"],
                "controller": True,
            }
        ]
        for pod, pair in zip(pods, here, strict=True):
            name = f"orders/{pod['metadata']['name']}"
            text = f'Pod has "karpenter.sh/do-not-disrupt" annotation (Pod={name})'
            for one in both(pair):
                c.event(one, "DisruptionBlocked", text, last="1m", first=age, count=3, kind="Normal")


@incident(
    story="A node expired yesterday and is draining for 26 hours. The last pod is the licence server: one replica, and a "
    "PodDisruptionBudget that wants one. Nothing ends this, and the node is paid for.",
    cause="The PodDisruptionBudget erp/licensing never allows the eviction of its only pod, so a node drains for 26 hours already.",
    thread="kubernetes-sigs/karpenter#2802",
    must=[
        ["licensing"],
        ["PDB|PodDisruptionBudget|disruption budget|evict"],
        [r"26 ?h|1d ?2h|25 ?h|\b1d\b"],
        ["drain|delet|terminat|expir"],
    ],
)
def pdb_of_single_replica(c: Cluster) -> None:
    usual(c)
    old = add_node(c, "general", "m6i.xlarge", c.zones[0], age="31d2h", deleting="26h")
    conditions(old, condition("Drained", "Unknown", c.at("26h"), "Draining", "Draining"))
    add_workload(c, "Deployment", "erp", "licensing", on=[old], age="28d", cpu="500m", memory="1Gi")
    add_pdb(c, "erp", "licensing", "licensing", healthy=1, desired=1, expected=1, minAvailable=1)
    node = both(old)[0]
    c.event(
        node,
        "FailedDraining",
        "Failed to drain node, 1 pods are waiting to be evicted",
        last="1m",
        first="1h",
        count=30,
    )


@incident(
    story="A drained node keeps a VolumeAttachment that the EBS controller never finishes. It has waited for three hours, its "
    "instance runs on, and mongo-1 cannot start elsewhere because its volume is still attached there.",
    cause="A node waits for 3 hours for the volume of data/mongo-1 to be detached, and mongo-1 cannot start elsewhere.",
    thread="kubernetes-sigs/karpenter#1700",
    must=[
        ["volume|VolumeAttachment|detach|attach"],
        [r"3h|18\d ?m|\bthree hours"],
        ["terminat|delet|drain|remov"],
        ["mongo"],
    ],
)
def volume_not_detached(c: Cluster) -> None:
    usual(c, 3)
    old = add_node(c, "general", "m6i.2xlarge", c.zones[0], age="6d", deleting="3h10m", drifted="7h")
    conditions(
        old,
        condition("DisruptionReason", "True", c.at("3h10m"), "Drifted"),
        condition("Drained", "True", c.at("3h5m")),
        condition("VolumesDetached", "Unknown", c.at("3h5m"), "AwaitingVolumeDetachment", "AwaitingVolumeDetachment"),
    )
    fresh = add_node(c, "general", "m6i.2xlarge", c.zones[0], age="3h12m")
    others = [add_node(c, "general", "m6i.2xlarge", zone) for zone in c.zones[1:]]
    volumes = [
        add_volume(c, "data", f"data-mongo-{number}", zone)
        for number, zone in enumerate((c.zones[1], c.zones[0], c.zones[2]))
    ]
    pods = add_workload(
        c, "StatefulSet", "data", "mongo", on=[others[0], fresh, others[1]], age="3h4m", cpu="6", memory="24Gi"
    )
    for pod, volume in zip(pods, volumes, strict=True):
        pod["spec"]["volumes"] = [volume]
    stuck = pods[1]
    stuck["status"] |= {"phase": "Pending"}
    stuck["status"]["containerStatuses"][0] |= {"ready": False, "state": {"waiting": {"reason": "ContainerCreating"}}}
    for one in stuck["status"]["conditions"]:
        if one["type"] in ("Ready", "ContainersReady"):
            one |= {"status": "False", "reason": "ContainersNotReady"}
    claim = c.find("PersistentVolumeClaim", "data-mongo-1")["spec"]["volumeName"]
    c.add(
        "VolumeAttachment",
        f"csi-{claim[4:]}",
        age="6d",
        deletionTimestamp=c.at("3h5m"),
        finalizers=["external-attacher/ebs-csi-aws-com"],
        spec={"attacher": "ebs.csi.aws.com", "nodeName": old.name, "source": {"persistentVolumeName": claim}},
        status={"attached": True},
    )
    text = f"Awaiting deletion of bound volumeattachments (csi-{claim[4:]})"
    c.event(both(old)[0], "AwaitingVolumeDetachment", text, last="1m", first="1h", count=30, kind="Normal")
    text = f'Multi-Attach error for volume "{claim}" Volume is already exclusively attached to one node and can\'t be attached to another'
    c.event(stuck, "FailedAttachVolume", text, last="3h4m", source="attachdetach-controller")


@incident(
    story="A drifted node is draining for 51 minutes with a grace period of one hour. The simulation on it has run for 14 hours "
    "with do-not-disrupt, which will not save it: it is killed in nine minutes.",
    cause="ml/simulate-7 is killed in 9 minutes although it is protected: its node drains since 51 minutes with 1 hour of grace.",
    thread="kubernetes-sigs/karpenter#1961",
    must=[
        ["simulate"],
        [r"\b[89] ?m|09:3[89]"],
        ["kill|forc|lost|dies|delete|ends"],
        ["drain|terminationGracePeriod|grace|drift|terminat|node"],
    ],
    must_not=[FOREVER],
)
def grace_kills_job(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "ml", families=("m7i",), sizes=("4xlarge",), template={"terminationGracePeriod": "1h"})
    pairs = [add_node(c, "ml", "m7i.4xlarge", zone, age="2d") for zone in c.zones[1:]]
    ends = c.at("-9m")
    mark = {"karpenter.sh/nodeclaim-termination-timestamp": ends}
    going = add_node(c, "ml", "m7i.4xlarge", c.zones[0], age="3d", drifted="2h", deleting="51m", claim_annotations=mark)
    conditions(
        going,
        condition("DisruptionReason", "True", c.at("52m"), "Drifted"),
        condition("Drained", "Unknown", c.at("51m"), "Draining", "Draining"),
    )
    for number, pair in enumerate([*pairs, going]):
        add_workload(
            c,
            "Job",
            "ml",
            f"simulate-{5 + number}",
            on=[pair],
            age="14h",
            cpu="14",
            memory="50Gi",
            annotations={"karpenter.sh/do-not-disrupt": "true"},
            spec={"restartPolicy": "Never"},
        )
    node, claim = both(going)
    for one in (node, claim):
        c.event(
            one,
            "TerminationGracePeriodExpiring",
            f"All pods will be deleted by {ends}",
            last="1m",
            first="50m",
            count=25,
        )
    c.event(
        node,
        "FailedDraining",
        "Failed to drain node, 1 pods are waiting to be evicted",
        last="1m",
        first="50m",
        count=25,
    )


@incident(
    story="All fourteen nodes of web were created within three minutes, 30 days ago less 48 minutes. They expire together, and "
    "neither the budget of 10 % nor anything else spreads that.",
    cause="All 14 nodes of web expire within three minutes, in about 45 minutes; disruption budgets do not apply to expiry.",
    thread="aws/karpenter-provider-aws#6980",
    must=[["web"], ["expir"], [n(14), r"\bfourteen\b"], [r"4[5-9] ?m|10:1[5-9]|<? ?1 ?h|within (an|the next) hour"]],
)
def expiry_of_all(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "web")
    pairs = [
        add_node(c, "web", "m6i.xlarge", c.zones[number % 3], age=f"{719 * 3600 + 12 * 60 + 13 * number}s")
        for number in range(14)
    ]
    add_workload(c, "Deployment", "orders", "storefront", on=pairs, count=42, cpu=CPU, memory=MEMORY)
    add_pdb(c, "orders", "storefront", "storefront", healthy=42, desired=38, expected=42, minAvailable="90%")


@incident(
    story="Two nodes were drained and their instances told to terminate eight days ago. EC2 never ended them (termination "
    "protection), the finalizer stays, and both are paid for.",
    cause="Two nodes of general have been terminating for 8 days: they are drained, and their instances do not go away.",
    thread="kubernetes-sigs/karpenter#2169",
    must=[
        [n(2), r"\btwo\b"],
        [r"\b8 ?d|19[12] ?h|eight days"],
        ["terminat|delet|finalizer|drain|remov"],
        ["general|ip-10-24"],
    ],
)
def instances_never_end(c: Cluster) -> None:
    usual(c)
    for zone in c.zones[:2]:
        old = add_node(c, "general", "m6i.2xlarge", zone, age="15d", deleting="8d")
        conditions(
            old,
            condition("DisruptionReason", "True", c.at("8d"), "Underutilized"),
            condition("Drained", "True", c.at("8d")),
            condition("VolumesDetached", "True", c.at("8d")),
            condition("InstanceTerminating", "True", c.at("8d")),
        )


@incident(
    story="A node was deleted by hand five hours ago. The two report pods on it need an r6i, which no pool may launch any more, "
    "and their budget lets none go. Karpenter tries to place them in every simulation, so the drift of the other eight nodes "
    "stands still, with a message about pods that are not even there.",
    cause="Pods erp/report on a node that drains for 5 hours fit nowhere, and that blocks the drift of all 8 other nodes.",
    thread="kubernetes-sigs/karpenter#678",
    must=[["report"], ["drift|disrupt"], [n(8), r"\beight\b"], [r"5 ?h|\bfive hours|4h5\d|30\d ?m"]],
)
def one_pod_stops_all(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general", disruption={"budgets": [{"nodes": "50%"}]})
    pairs = fleet(c, "general", "orders", "storefront", 8, drifted="5h", age="12d")
    add_pool(c, "general-old", families=("r6i",), sizes=("xlarge",))
    old = add_node(c, "general-old", "r6i.xlarge", c.zones[1], age="12d", deleting="5h")
    pool = c.find("NodePool", "general-old")
    c.objects.remove(pool)
    labels = both(old)
    for one in labels:
        one["metadata"]["labels"]["karpenter.sh/nodepool"] = "general"
    labels[1]["metadata"]["ownerReferences"][0] |= {
        "name": "general",
        "uid": c.find("NodePool", "general")["metadata"]["uid"],
    }
    conditions(old, condition("Drained", "Unknown", c.at("5h"), "Draining", "Draining"))
    pods = add_workload(
        c,
        "Deployment",
        "erp",
        "report",
        on=[old],
        count=2,
        age="11d",
        cpu="1500m",
        memory="12Gi",
        spec={"nodeSelector": {"karpenter.k8s.aws/instance-family": "r6i"}},
    )
    add_pdb(c, "erp", "report", "report", healthy=2, desired=2, expected=2, minAvailable=2)
    c.event(
        labels[0],
        "FailedDraining",
        "Failed to drain node, 2 pods are waiting to be evicted",
        last="1m",
        first="1h",
        count=30,
    )
    why = (
        "incompatible requirements, key karpenter.k8s.aws/instance-family, karpenter.k8s.aws/instance-family In [r6i] not in "
        "karpenter.k8s.aws/instance-family In [c6i m6i m7i]"
    )
    text = "Not all pods would schedule, " + " ".join(f"erp/{pod['metadata']['name']} => {why}" for pod in pods) + " "
    for pair in pairs:
        for one in both(pair):
            c.event(one, "DisruptionBlocked", text, last="1m", first="55m", count=25, kind="Normal")


@incident(
    story="The static pool keeps four nodes and its limit is four nodes. A new image came out two days ago, and no replacement "
    "may be launched before a node goes.",
    cause="Static NodePool ingest has 4 replicas and a limit of 4 nodes, so none of its 4 drifted nodes can be replaced.",
    thread="aws/karpenter-provider-aws#8873",
    must=[["ingest"], ["limit"], [n(4), r"\bfour\b"], ["drift"], [r"static|replicas|replacement"]],
    settings={"FEATURE_GATES": "StaticCapacity=true"},
)
def static_pool_at_limit(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    add_pool(c, "ingest", families=("m6i",), sizes=("xlarge",), replicas=4, limits={"nodes": "4"})
    fleet(c, "general", "orders", "storefront", 3)
    pairs = fleet(c, "ingest", "events", "collector", 4, drifted="2d", age="11d")
    text = "Static NodePool is at its node limit and cannot stage a replacement"
    for pair in pairs:
        for one in both(pair):
            c.event(one, "DisruptionBlocked", text, last="1m", first="55m", count=25, kind="Normal")


@incident(
    story="An engineer cordoned three nodes four days ago to look into a kernel problem, and forgot them. They are two thirds "
    "empty, take no new pods, and the pool removes empty nodes only.",
    cause="Three nodes have been cordoned for 4 days: they take no pods and stay, because pool general only removes empty nodes.",
    thread="kubernetes-sigs/karpenter#2802",
    must=[[r"cordon|unschedulable|SchedulingDisabled"], [n(3), r"\bthree\b"], [r"\b4 ?d|9[56] ?h|four days"]],
)
def cordoned_and_forgotten(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general", disruption={"consolidationPolicy": "WhenEmpty"})
    fleet(c, "general", "orders", "storefront", 3)
    pairs = fleet(c, "general", "orders", "catalog", 3, each=1, age="19d")
    for pair in pairs:
        cordon(c, pair, "4d")
