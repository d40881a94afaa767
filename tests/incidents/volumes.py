"""Pods that wait for a volume."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import NO_TYPE, fleet, nominated, unschedulable, usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n
from tests.incidents.node_objects import add_node, both, conditions
from tests.incidents.objects import condition, digest, uid
from tests.incidents.pods import add_claim, add_local_volume, add_volume, add_workload, no_node, waiting
from tests.incidents.pools import add_pool


@incident(
    story="The data volume of analytics/warehouse-0 was restored from a snapshot into us-east-1a, but its log volume is in "
    "us-east-1b. No node can attach both.",
    cause="The two volumes of analytics/warehouse-0 are in different zones (us-east-1a and us-east-1b), so it fits no node.",
    thread="aws/karpenter-provider-aws#4192",
    must=[
        "warehouse-0",
        "volume|PVC|PersistentVolume|disk",
        r"1a\b|different zones|two zones|no zone|each other",
        "zone",
    ],
    must_not=[LAUNCHES, ROOM],
    other=[{"command": ["pending"], "must": [["warehouse"], ["volume|PVC|disk"]]}],
)
def volumes_in_two_zones(c: Cluster) -> None:
    usual(c, 3)
    volumes = [
        add_volume(c, "analytics", f"{kind}-warehouse-0", zone)
        for kind, zone in zip(("data", "wal"), c.zones, strict=False)
    ]
    pods = waiting(
        c,
        "analytics/warehouse",
        1,
        "2h20m",
        "0/5 nodes are available: 5 node(s) had volume node affinity conflict. preemption: 0/5 nodes are available: "
        "5 Preemption is not helpful for scheduling.",
        kind="StatefulSet",
        cpu="2",
        memory="8Gi",
        spec={"volumes": volumes},
    )
    unschedulable(c, pods, NO_TYPE, minutes=60)


@incident(
    story="The chart of the message queue asks for the StorageClass gp3-encrypted, which this cluster does not have. Its volume "
    "is never made, and the pod waits for an hour.",
    cause="messaging/rabbit-0 waits for a volume of the StorageClass gp3-encrypted, which does not exist.",
    thread="kubernetes-sigs/karpenter#376",
    must=[
        r"storage ?class|gp3-encrypted",
        "gp3-encrypted",
        "rabbit-0",
        r"not found|missing|not exist|no such|absent|unknown|there is no|without",
    ],
    must_not=[LAUNCHES, ROOM],
)
def storage_class_missing(c: Cluster) -> None:
    usual(c, 3)
    result = add_claim(c, "messaging", "data-rabbit-0", "gp3-encrypted", age="64m")
    text = 'storageclass.storage.k8s.io "gp3-encrypted" not found'
    c.event(result, "ProvisioningFailed", text, last="5s", first="63m", count=253, source="persistentvolume-controller")
    waiting(
        c,
        "messaging/rabbit",
        1,
        "64m",
        "0/5 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: 0/5 nodes are "
        "available: 5 Preemption is not helpful for scheduling.",
        kind="StatefulSet",
        replicas=3,
        cpu="1",
        memory="2Gi",
        spec={"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data-rabbit-0"}}]},
    )


@incident(
    story="A node with local disks was removed 50 minutes ago. The database shard on it has a local PersistentVolume that names that node, so it fits "
    "nowhere. Karpenter ignores the node of local volumes and expects the pod on a node with room; kube-scheduler refuses.",
    cause="cache/scylla-2 is pending for 50 minutes: its local volume is on the node ip-10-24-9-77, which no longer exists.",
    thread="kubernetes-sigs/karpenter#1018",
    must=[
        "scylla-2",
        r"volume",
        r"ip-10-24-9-77|node[^\n]{0,40}(gone|no longer|does not exist|missing)",
        r"\b(4[89]|50) ?m",
    ],
    must_not=[LAUNCHES, ICE],
)
def local_volume_of_a_gone_node(c: Cluster) -> None:
    usual(c)
    pairs = [add_node(c, "general", "m6i.2xlarge", zone, age="30d") for zone in c.zones]
    gone = "ip-10-24-9-77.ec2.internal"
    pods = add_workload(c, "cache/scylla", kind="StatefulSet", message=no_node({"node(s) had volume node affinity conflict": 3, "Insufficient cpu": 6}), on=pairs[:2], pending=1, pending_since="50m", age="30d", cpu="4", memory="12Gi")  # fmt: skip
    for pod, host in zip(pods, (pairs[0].name, pairs[1].name, gone), strict=True):
        name = f"data-{pod['metadata']['name']}"
        pod["spec"]["volumes"] = [add_local_volume(c, "cache", name, c.zones[0], host)]
    nominated(c, pods[2:], pairs[2:], last="15s", count=25)


@incident(
    story="The volume claim of a broken replica was deleted and its pod right after. A finalizer of the backup operator, which is not installed any more, "
    "keeps the claim, so the new pod is pending for 36 minutes.",
    cause="data/postgres-1 is pending for 36 minutes: its PersistentVolumeClaim data-postgres-1 is being deleted.",
    thread="kubernetes/kubernetes#89910",
    must=["postgres-1", r"PersistentVolumeClaim|PVC|volume", r"being deleted|terminating|deletion", r"3[56] ?m"],
    must_not=[LAUNCHES, ROOM, ICE],
)
def volume_claim_is_being_deleted(c: Cluster) -> None:
    usual(c)
    pairs = [add_node(c, "general", "m6i.2xlarge", zone, age="20d") for zone in c.zones[:2]]
    volumes = [add_volume(c, "data", f"data-postgres-{number}", zone) for number, zone in enumerate(c.zones[:2])]
    meta = c.find("PersistentVolumeClaim", "data-postgres-1")["metadata"]
    meta |= {"deletionTimestamp": c.at("37m"), "finalizers": ["backup.example.com/retain"]}
    pods = add_workload(c, "data/postgres", kind="StatefulSet", message='0/8 nodes are available: persistentvolumeclaim "data-postgres-1" is being deleted. preemption: 0/8 nodes are available: '
        "8 Preemption is not helpful for scheduling.", on=pairs[:1], pending=1, pending_since="36m", age="19d", cpu="2", memory="8Gi")  # fmt: skip
    for pod, volume in zip(pods, volumes, strict=True):
        pod["spec"]["volumes"] = [volume]


@incident(
    story="Two faults: a Deployment with a ReadWriteOncePod volume was updated with a rolling update, so its new pod waits for the old one and the old "
    "one for the new. And a budget of 0 has blocked the drift of the pool web since Thursday.",
    cause="wiki/outline is pending for 27 minutes: another pod uses its ReadWriteOncePod volume; a budget of 0 nodes blocks the drift of 4 nodes of web.",
    thread="kubernetes/kubernetes#103305",
    must=["outline", r"ReadWriteOncePod|(another|other|old|running) pod[^\n]{0,60}(volume|claim)|(volume|claim)[^\n]{0,80}(another|other|old|running) pod", "drift", "budget", n(4)],
    must_not=[LAUNCHES, ROOM, ICE],
)  # fmt: skip
def exclusive_volume_and_budget_of_zero(c: Cluster) -> None:
    usual(c)
    add_pool(c, "web", disruption={"budgets": [{"nodes": "0"}]})
    fleet(c, "web", "shop/frontend", 4, drifted="5d", age="19d")
    room = add_node(c, "general", "m6i.2xlarge", c.zones[0], age="20d")
    volume = add_volume(c, "wiki", "outline-data", c.zones[0])
    c.find("PersistentVolumeClaim", "outline-data")["spec"]["accessModes"] = ["ReadWriteOncePod"]
    text = no_node(
        {"node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode": 1, "Insufficient cpu": 10}
    )  # fmt: skip
    pods = add_workload(c, "wiki/outline", message=text, on=[room], pending=1, pending_since="27m", age="12d", replicas=1, cpu="1", memory="2Gi", spec={"volumes": [volume]})  # fmt: skip
    nominated(c, pods[1:], [room], last="20s", count=12)


@incident(
    story="A drained node keeps a VolumeAttachment that the EBS controller never finishes. It has waited for three hours, its "
    "instance runs on, and mongo-1 cannot start elsewhere because its volume is still attached there.",
    cause="A node waits for 3 hours for the volume of data/mongo-1 to be detached, and mongo-1 cannot start elsewhere.",
    thread="kubernetes-sigs/karpenter#1700",
    must=["volume|VolumeAttachment|detach|attach", r"3h|18\d ?m|\bthree hours", "terminat|delet|drain|remov", "mongo"],
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
        c, "data/mongo", kind="StatefulSet", on=[others[0], fresh, others[1]], age="3h4m", cpu="6", memory="24Gi"
    )
    for pod, volume in zip(pods, volumes, strict=True):
        pod["spec"]["volumes"] = [volume]
    stuck = pods[1]
    stuck["status"] |= {"phase": "Pending"}
    stuck["status"]["containerStatuses"][0] |= {"ready": False, "state": {"waiting": {"reason": "ContainerCreating"}}}
    for item in stuck["status"]["conditions"]:
        if item["type"] in ("Ready", "ContainersReady"):
            item |= {"status": "False", "reason": "ContainersNotReady"}
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
    story="One node has as many volumes and network interfaces as its instance type allows, but its CSINode promises more. Two pods were bound to it "
    "16 minutes ago, and EC2 refuses to attach their volumes.",
    cause="2 pods of logs/store cannot start for 16 minutes: EC2 refuses to attach their volumes, because their node has as many as it may.",
    thread="kubernetes-sigs/karpenter#2287",
    must=["logs/store", r"attach", "AttachmentLimitExceeded|limit|may attach", n(2), r"1[56] ?m"],
    must_not=["image", LAUNCHES],
)
def attachments_used_up(c: Cluster) -> None:
    usual(c)
    place = add_node(c, "general", "m6i.2xlarge", c.zones[1], age="8d")
    add_workload(c, "data/shards", kind="StatefulSet", on=[place], count=4, age="7d", cpu="250m", memory="1Gi")
    pods = add_workload(
        c,
        "logs/store",
        kind="StatefulSet",
        on=[place],
        count=2,
        age="16m",
        cpu="500m",
        memory="2Gi",
        waiting="ContainerCreating",
    )
    for number, pod in enumerate(pods):
        pod["spec"]["volumes"] = [add_volume(c, "logs", f"data-store-{number}", c.zones[1])]
        volume = f"pvc-{uid('logs', f'data-store-{number}')}"
        text = (
            f'AttachVolume.Attach failed for volume "{volume}" : rpc error: code = ResourceExhausted desc = Attachment limit exceeded for volume '
            f'"vol-0{digest("logs", number)[:16]}" on node "i-0{digest(place.name)[:16]}": api error AttachmentLimitExceeded: You may attach up '
            "to 27 devices for this instance type."
        )
        c.event(pod, "FailedAttachVolume", text, last="40s", first="16m", count=15, source="attachdetach-controller")
