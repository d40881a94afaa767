"""Clusters that do something ordinary which looks like one of the faults in ``third_look``."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.disruption import both, conditions
from tests.incidents.fleets import CPU, MEMORY, gone_claim, no_node, nominated, usual, waiting
from tests.incidents.incident import quiet
from tests.incidents.node_objects import add_group_node, add_node
from tests.incidents.objects import condition, uid
from tests.incidents.pods import add_volume, add_workload, refuse_pods
from tests.incidents.pools import add_pool


@quiet(
    story="Consolidation moved a database pod a minute ago. Its volume is still being detached from the old node, so the attachment to the new one was "
    "refused once, 45 seconds ago.",
    cause="a volume moves from one node to another, which takes a minute.",
    thread="kubernetes-sigs/karpenter#2237",
    must_not=["stuck", r"cannot start|never"],
)
def fine_volume_moves(c: Cluster) -> None:
    usual(c)
    old = add_node(c, "general", "m6i.2xlarge", c.zones[0], age="6d", deleting="75s")
    waits = condition("VolumesDetached", "Unknown", c.at("50s"), "AwaitingVolumeDetachment", "AwaitingVolumeDetachment")
    conditions(
        old,
        condition("DisruptionReason", "True", c.at("80s"), "Underutilized"),
        condition("Drained", "True", c.at("50s")),
        waits,
    )
    new = add_node(c, "general", "m6i.xlarge", c.zones[0], age="3m")
    (pod,) = add_workload(
        c, "StatefulSet", "db", "pg", on=[new], age="48s", cpu="2", memory="6Gi", waiting="ContainerCreating"
    )
    pod["spec"]["volumes"] = [add_volume(c, "db", "data-pg-0", c.zones[0])]
    name = f"pvc-{uid('db', 'data-pg-0')}"
    c.add(
        "VolumeAttachment", f"csi-{name[4:]}", age="6d", deletionTimestamp=c.at("20s"), finalizers=["external-attacher/ebs-csi-aws-com"],
        spec={"attacher": "ebs.csi.aws.com", "nodeName": old.name, "source": {"persistentVolumeName": name}}, status={"attached": True},
    )  # fmt: skip
    text = f'Multi-Attach error for volume "{name}" Volume is already exclusively attached to one node and can\'t be attached to another'
    c.event(pod, "FailedAttachVolume", text, last="45s", source="attachdetach-controller")
    c.event(
        both(old)[0],
        "AwaitingVolumeDetachment",
        f"Awaiting deletion of bound volumeattachments (csi-{name[4:]})",
        last="10s",
        kind="Normal",
    )


@quiet(
    story="Two game servers were asked to end 40 minutes ago. They have two hours to finish their matches, and their drifted node waits for them, as "
    "intended.",
    cause="a node drains while two pods use their long termination grace period, which ends in 80 minutes.",
    thread="aws/karpenter-provider-aws#6394",
    must_not=["stuck", r"never|forever|without end", "no terminationGracePeriod"],
)
def fine_matches_are_finished(c: Cluster) -> None:
    usual(c)
    old = add_node(c, "general", "m6i.xlarge", c.zones[1], age="9d", deleting="40m", drifted="42m")
    conditions(
        old,
        condition("DisruptionReason", "True", c.at("41m"), "Drifted"),
        condition("Drained", "Unknown", c.at("40m"), "Draining", "Draining"),
    )
    spec = {"terminationGracePeriodSeconds": 7200}
    pods = add_workload(
        c,
        "StatefulSet",
        "game",
        "match",
        on=[old],
        count=2,
        age="2h",
        cpu="1",
        memory="2Gi",
        spec=spec,
        deleting="-80m",
    )
    for pod in pods:
        pod["metadata"]["deletionGracePeriodSeconds"] = 7200
    text = "Failed to drain node, 2 pods are waiting to be evicted"
    c.event(both(old)[0], "FailedDraining", text, last="20s", first="39m", count=20)


@quiet(
    story="The Cluster Autoscaler grows a tainted node group for legacy pods; Karpenter launches nodes for all others. Each keeps to its own pods.",
    cause="the Cluster Autoscaler and Karpenter work next to each other, each for its own pods.",
    thread="aws/karpenter-provider-aws#2543",
    must_not=[r"both|same pods|twice", "stuck"],
)
def fine_autoscalers_apart(c: Cluster) -> None:
    usual(c)
    image = "registry.k8s.io/autoscaling/cluster-autoscaler:v1.35.0"
    add_workload(
        c,
        "Deployment",
        "kube-system",
        "cluster-autoscaler",
        on=c.system[:1],
        cpu="100m",
        memory="300Mi",
        image=image,
        age="200d",
    )
    grown = add_group_node(c, "m6i.large", c.zones[0], age="5m")
    assert grown.node is not None
    grown.node["spec"]["taints"] = [{"key": "legacy", "value": "true", "effect": "NoSchedule"}]
    spec = {
        "tolerations": [{"key": "legacy", "operator": "Exists"}],
        "nodeSelector": {"eks.amazonaws.com/nodegroup": "system"},
    }
    legacy = add_workload(
        c, "Deployment", "legacy", "ledger", on=[grown], age="7m", cpu="500m", memory="1Gi", spec=spec
    )
    text = "pod triggered scale-up: [{eks-system-9ac1f2 2->3 (max: 10)}]"
    c.event(legacy[0], "TriggeredScaleUp", text, last="6m50s", kind="Normal", source="cluster-autoscaler")
    fresh = add_node(c, "general", "m6i.xlarge", c.zones[1], age="3m")
    pods = add_workload(c, "Deployment", "orders", "checkout", on=[fresh], count=3, age="2m", cpu=CPU, memory=MEMORY)
    nominated(c, pods, [fresh], last="3m")


@quiet(
    story="A campaign starts: the HorizontalPodAutoscaler asked for 28 more pods 22 seconds ago. Karpenter launched five nodes for them eight seconds later.",
    cause="28 pods of a surge wait for 22 seconds, and their nodes are being launched.",
    thread="kubernetes-sigs/karpenter#651",
    must_not=["stuck", r"launches nothing|cannot launch|limit", r"unschedulable"],
)
def fine_surge(c: Cluster) -> None:
    usual(c)
    fresh = [
        add_node(c, "general", "m6i.2xlarge", c.zones[number % 3], age="14s", stage="Launched") for number in range(5)
    ]
    pods = waiting(c, "shop/campaign", 28, "22s", no_node({"Insufficient cpu": 6}), cpu="1", memory="2Gi")
    nominated(c, pods, fresh, last="13s")
    c.event(c.find("Deployment", "campaign"), "ScalingReplicaSet", "Scaled up replica set campaign from 0 to 28", last="22s", kind="Normal",
            source="deployment-controller")  # fmt: skip


@quiet(
    story="An hourly report needs two spot nodes for a quarter of an hour. Those of the last two hours were removed as empty, those of this hour are five "
    "minutes old.",
    cause="an hourly job gets its nodes each hour, and they are removed when it is done.",
    thread="aws/karpenter-provider-aws#3059",
    must_not=[r"churn|short-?lived|come and go|again and again|\bloop", "stuck"],
)
def fine_hourly_job(c: Cluster) -> None:
    usual(c)
    add_pool(c, "spot", capacity=("spot",), disruption={"consolidateAfter": "5m"})
    pairs = [add_node(c, "spot", "m6i.xlarge", zone, capacity="spot", age="5m") for zone in c.zones[:2]]
    add_workload(
        c,
        "Job",
        "reports",
        "hourly-29401530",
        on=pairs,
        count=4,
        age="4m20s",
        cpu=CPU,
        memory=MEMORY,
        spec={"restartPolicy": "Never"},
    )
    c.add("CronJob", "hourly", "reports", spec={"schedule": "25 * * * *"}, status={"lastScheduleTime": c.at("5m")})
    for number in range(2):
        claim = gone_claim(c, "spot", number)
        c.event(claim, "DisruptionTerminating", "Disrupting NodeClaim: Empty", last=f"{43 + number}m", kind="Normal")


@quiet(
    story="The disk size in the EC2NodeClass was changed ten seconds ago. Karpenter checks it again, so class and pool are not ready for a few seconds.",
    cause="an EC2NodeClass was edited ten seconds ago and is being checked.",
    thread="aws/karpenter-provider-aws#8720",
    must_not=[r"launches nothing|cannot launch", "stuck"],
)
def fine_nodeclass_is_checked(c: Cluster) -> None:
    usual(c, not_ready=("NodeClassReadinessUnknown", "Node Class Readiness Unknown", "9s"))
    made = c.find("EC2NodeClass", "default")
    made["metadata"]["generation"] = 4
    for one in made["status"]["conditions"]:
        if one["type"] in ("ValidationSucceeded", "Ready"):
            one |= {
                "status": "Unknown",
                "reason": "AwaitingReconciliation",
                "message": "object is awaiting reconciliation",
            }
            one |= {"lastTransitionTime": c.at("10s"), "observedGeneration": 4}


@quiet(
    story="The registry was down for a while: four pods could not pull their image until 20 minutes ago. They have run since, the events are still there.",
    cause="the registry answers again, and all pods run.",
    thread="aws/karpenter-provider-aws#4202",
    must_not=[r"cannot (start|pull)|never start", "stuck", r"image"],
)
def fine_images_are_pulled_again(c: Cluster) -> None:
    usual(c)
    pairs = [add_node(c, "general", "m6i.xlarge", zone, age="2d") for zone in c.zones[:2]]
    pods = add_workload(c, "Deployment", "media", "encoder", on=pairs, count=4, age="41m", cpu=CPU, memory=MEMORY)
    image = "registry.example/media/encoder:4.3"
    for pod in pods:
        pod["status"]["containerStatuses"][0]["state"]["running"]["startedAt"] = c.at("19m")
        text = f'Failed to pull image "{image}": rpc error: code = Unavailable desc = dial tcp 10.24.0.9:443: connect: connection refused'
        c.event(pod, "Failed", text, last="22m", first="40m", count=9, source="kubelet")
        c.event(
            pod,
            "BackOff",
            f'Back-off pulling image "{image}"',
            last="20m",
            first="40m",
            count=80,
            kind="Normal",
            source="kubelet",
        )


@quiet(
    story="A preview environment is deleted: its namespace and three pods have been terminating for 12 seconds, and a new pod was refused for that reason.",
    cause="a namespace is being deleted, with its pods.",
    thread="kubernetes/kubernetes#19317",
    must_not=["stuck", r"cannot be created|refus"],
)
def fine_preview_is_deleted(c: Cluster) -> None:
    usual(c)
    place = add_node(c, "general", "m6i.xlarge", c.zones[0], age="7h")
    add_workload(
        c, "Deployment", "preview-417", "web", on=[place], count=3, age="6h", cpu="500m", memory="1Gi", deleting="-18s"
    )
    space = c.find("Namespace", "preview-417")
    space["metadata"] |= {"deletionTimestamp": c.at("12s")}
    space["status"] = {"phase": "Terminating"}
    text = 'Error creating: pods "web-5d8f7c9b6-k2xq8" is forbidden: unable to create new content in namespace preview-417 because it is being terminated'
    refuse_pods(c, "web", text, first="11s", last="10s", count=4)
