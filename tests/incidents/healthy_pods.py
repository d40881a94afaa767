"""Pods that wait or come and go, and nothing is wrong."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import fleet, gone_claim, nominated, usual
from tests.incidents.incident import LAUNCHES, ROOM, quiet
from tests.incidents.node_objects import add_node, both, conditions
from tests.incidents.objects import condition, uid
from tests.incidents.pods import (
    CPU,
    MEMORY,
    add_claim,
    add_namespace,
    add_pod,
    add_volume,
    add_workload,
    refuse_pods,
    waiting,
)
from tests.incidents.pools import add_nodeclass, add_pool

FULL = "0/{0} nodes are available: {0} Insufficient cpu. preemption: 0/{0} nodes are available: {0} No preemption victims found for incoming pod."


@quiet(
    story="A Deployment was scaled up five seconds ago. Its four pods are Pending, as they must be for a minute.",
    cause="four pods have been pending for five seconds.",
    thread="kubernetes-sigs/karpenter#651",
    must_not=[r"\b(stuck|unschedulable|fits? (on )?no)\b"],
)
def fine_pods_just_created(c: Cluster) -> None:
    usual(c)
    waiting(c, "orders/checkout", 4, "5s")


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
    pods = waiting(c, "shop/campaign", 28, "22s", cpu="1", memory="2Gi")
    nominated(c, pods, fresh, last="13s")
    c.event(c.find("Deployment", "campaign"), "ScalingReplicaSet", "Scaled up replica set campaign from 0 to 28", last="22s", kind="Normal",
            source="deployment-controller")  # fmt: skip


@quiet(
    story="Four pods of a rollout were scheduled 35 seconds ago and pull their image.",
    cause="four pods pull their image for half a minute.",
    thread="aws/karpenter-provider-aws#4202",
    must_not=["stuck|cannot start|never start|sandbox"],
)
def fine_pods_pull_images(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    pairs = fleet(c, "general", "orders/storefront", 4, each=2)
    pods = add_workload(c, "orders/catalog", on=pairs, age="35s", waiting="ContainerCreating")
    for pod in pods:
        c.event(
            pod,
            "Pulling",
            'Pulling image "registry.example/orders/app:2026.11"',
            last="33s",
            kind="Normal",
            source="kubelet",
        )
    text = (
        'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "9f31c7": '
        'plugin type="aws-cni" name="aws-cni" failed (add): add cmd: failed to assign an IP address to container'
    )
    c.event(pods[0], "FailedCreatePodSandBox", text, last="34s", source="kubelet")


@quiet(
    story="The registry was down for a while: four pods could not pull their image until 20 minutes ago. They have run since, the events are still there.",
    cause="the registry answers again, and all pods run.",
    thread="aws/karpenter-provider-aws#4202",
    must_not=[r"cannot (start|pull)|never start", "stuck", r"image"],
)
def fine_images_are_pulled_again(c: Cluster) -> None:
    usual(c)
    pairs = [add_node(c, "general", "m6i.xlarge", zone, age="2d") for zone in c.zones[:2]]
    pods = add_workload(c, "media/encoder", on=pairs, count=4, age="41m")
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
    story="Five pods of a training Job are held by the scheduling gate of Kueue for three hours, because the team's quota is in use. "
    "Neither kube-scheduler nor Karpenter looks at them until the gate is removed.",
    cause="the pods of a Job are gated by Kueue and wait for their turn.",
    thread="kubernetes-sigs/karpenter#742",
    must_not=["stuck", LAUNCHES, ROOM, "unschedulable"],
)
def fine_gated_jobs(c: Cluster) -> None:
    usual(c)
    pods = waiting(c, "ml/finetune", 5, "3h", kind="Job", age="3h", cpu="6", memory="24Gi", scheduled=False, spec={"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]})  # fmt: skip
    for pod in pods:
        text = "Scheduling is blocked due to non-empty scheduling gates"
        pod["status"]["conditions"] = [condition("PodScheduled", "False", c.at("3h"), "SchedulingGated", text)]


@quiet(
    story="Spark pods name YuniKorn as their scheduler. It runs, and six executors have waited four minutes in its queue for the quota of their team, as they "
    "do each morning. Karpenter ignores them: they have no condition.",
    cause="six pods wait in the queue of their own scheduler, YuniKorn.",
    thread="kubernetes-sigs/karpenter#742",
    must_not=[LAUNCHES, ROOM, "stuck", r"yunikorn[^\n]{0,60}(down|not run|missing|not found)"],
)
def fine_queue_of_yunikorn(c: Cluster) -> None:
    usual(c, 7)
    add_workload(c, "yunikorn/yunikorn-scheduler", on=c.system[:1], age="30d", cpu="200m", memory="512Mi", image="registry.example/apache/yunikorn:scheduler-1.7.0")  # fmt: skip
    labels = {"applicationId": "spark-7f3a", "queue": "root.analytics"}
    pods = waiting(c, "spark/executor", 6, "4m", spec={"schedulerName": "yunikorn"}, scheduled=False, labels=labels)
    for pod in pods:
        text = f"spark/{pod['metadata']['name']} is queued and waiting for allocation"
        c.event(pod, "Scheduling", text, last="4m", kind="Normal", source="yunikorn")


@quiet(
    story="Two urgent pods preempted two pods of low priority eight seconds ago. kube-scheduler has nominated a node for them, the "
    "victims are terminating, and Karpenter ignores pods with a nominated node.",
    cause="kube-scheduler preempts two pods of low priority for two urgent ones.",
    thread="aws/karpenter-provider-aws#1050",
    must_not=["stuck", LAUNCHES, "unschedulable"],
)
def fine_preemption(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    c.add("PriorityClass", "urgent", age="90d", value=100000, globalDefault=False)
    pairs = fleet(c, "general", "orders/storefront", 4)
    room = add_node(c, "general", "m6i.xlarge", c.zones[0])
    low = add_workload(
        c, "batch/resize", on=[room], count=2, pending=0, age="2h", cpu="1700m", memory="5Gi", deleting="-22s"
    )
    pods = waiting(c, "orders/checkout", 2, "9s", FULL.format(2 + len(pairs) + 1), cpu="1500m", spec={"priorityClassName": "urgent", "priority": 100000})  # fmt: skip
    for pod in pods:
        pod["status"]["nominatedNodeName"] = room.name
    for pod in low:
        text = f"Preempted by pod {pods[0]['metadata']['uid']} on node {room.name}"
        c.event(pod, "Preempted", text, last="8s", kind="Normal", source="default-scheduler")


@quiet(
    story="A webhook was down for five minutes; the last pod it refused was 31 minutes ago. All ReplicaSets are complete again.",
    cause="the webhook answers again and all pods were created.",
    thread="kyverno/kyverno#2869",
    must_not=[r"(cannot|can not|can't) be created", r"no new pods?"],
)
def fine_webhook_is_back(c: Cluster) -> None:
    usual(c)
    text = (
        'Error creating: Internal error occurred: failed calling webhook "mutate.kyverno.svc-fail": failed to call webhook: Post '
        '"https://kyverno-svc.kyverno.svc:443/mutate/fail?timeout=10s": context deadline exceeded'
    )
    refuse_pods(c, "storefront", text, first="36m", last="31m", count=14)
    manifest = next(
        item for item in c.objects if item["kind"] == "ReplicaSet" and item["metadata"]["name"].startswith("storefront")
    )
    del manifest["status"]["conditions"]


@quiet(
    story="A PersistentVolumeClaim has been Pending for 20 hours: its StorageClass waits for the first consumer, and the report that uses it runs "
    "on Sundays only. No pod is pending.",
    cause="a PersistentVolumeClaim waits for its first consumer, as WaitForFirstConsumer means.",
    thread="kubernetes-sigs/karpenter#376",
    must_not=["stuck", r"(volume|claim|PVC)[^\n]{0,60}(missing|cannot|never|fail)"],
)
def fine_volume_waits_for_its_pod(c: Cluster) -> None:
    usual(c)
    manifest = add_claim(c, "reports", "data-weekly", "gp3", age="20h")
    c.event(
        manifest, "WaitForFirstConsumer", "waiting for first consumer to be created before binding", last="9s", first="20h",
        count=4812, kind="Normal", source="persistentvolume-controller",
    )  # fmt: skip
    add_namespace(c, "reports")
    c.add("CronJob", "weekly", "reports", age="20h", spec={"schedule": "0 6 * * 0"}, status={})


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
        c, "db/pg", kind="StatefulSet", on=[new], age="48s", cpu="2", memory="6Gi", waiting="ContainerCreating"
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
    story="Nightly jobs have completed, one failed three days ago, and a pod that was Pending for a moment 50 minutes ago runs "
    "since.",
    cause="finished pods and an old event are left over.",
    thread="kubernetes-sigs/karpenter#1921",
    must_not=[r"nightly-\w+ .{0,40}(pending|waits|lost)", r"\b(18|19) pods"],
)
def fine_finished_jobs(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    pairs = fleet(c, "general", "orders/storefront", 4)
    for number in range(6):
        job = c.add(
            "Job", f"nightly-{number}", "orders", age=f"{number + 1}h", spec={"completions": 3}, status={"succeeded": 3}
        )
        for place in range(3):
            add_pod(
                c,
                "orders",
                f"nightly-{number}-{'abc'[place]}wk2p",
                node=pairs[place],
                parent=job,
                age=f"{number + 1}h",
                cpu="2",
                memory="4Gi",
                phase="Succeeded",
                annotations={"karpenter.sh/do-not-disrupt": "true"},
            )
    job = c.add("Job", "nightly-old", "orders", age="3d", spec={"completions": 1}, status={"failed": 1})
    add_pod(c, "orders", "nightly-old-xx41b", node=pairs[3], parent=job, age="3d", phase="Failed")
    pod = next(
        manifest
        for manifest in c.objects
        if manifest["kind"] == "Pod" and manifest["metadata"]["name"].startswith("storefront")
    )
    c.event(pod, "FailedScheduling", FULL.format(5), last="50m", source="default-scheduler")


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
    add_workload(c, "reports/hourly-29401530", kind="Job", on=pairs, count=4, age="4m20s")
    c.add("CronJob", "hourly", "reports", spec={"schedule": "25 * * * *"}, status={"lastScheduleTime": c.at("5m")})
    for number in range(2):
        claim = gone_claim(c, "spot", number)
        c.event(claim, "DisruptionTerminating", "Disrupting NodeClaim: Empty", last=f"{43 + number}m", kind="Normal")


@quiet(
    story="Pods of an Argo workflow and of a Spark application have no ReplicaSet, but a controller of their own; a bare pod is "
    "finished. Nothing is lost when their nodes go.",
    cause="every running pod has a controller, if an unusual one.",
    thread="kubernetes-sigs/karpenter#701",
    must_not=[r"\blost\b|no (owner|controller)|ownerless|without (an? )?(owner|controller)"],
)
def fine_unusual_controllers(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    pairs = fleet(c, "general", "orders/storefront", 4, each=2)
    owners = [
        ("argoproj.io/v1alpha1", "Workflow", "nightly-etl"),
        ("sparkoperator.k8s.io/v1beta2", "SparkApplication", "scoring"),
    ]
    for number in range(4):
        version, kind, name = owners[number % 2]
        parent = {"apiVersion": version, "kind": kind, "metadata": {"name": name, "uid": uid(c.name, name)}}
        add_pod(c, "data", f"{name}-{number}", node=pairs[number], parent=parent, age="22m", cpu=CPU, memory=MEMORY)
    add_pod(c, "data", "one-off-migration", node=pairs[0], age="5h", phase="Succeeded", spec={"restartPolicy": "Never"})


@quiet(
    story="A preview environment is deleted: its namespace and three pods have been terminating for 12 seconds, and a new pod was refused for that reason.",
    cause="a namespace is being deleted, with its pods.",
    thread="kubernetes/kubernetes#19317",
    must_not=["stuck", r"cannot be created|refus"],
)
def fine_preview_is_deleted(c: Cluster) -> None:
    usual(c)
    place = add_node(c, "general", "m6i.xlarge", c.zones[0], age="7h")
    add_workload(c, "preview-417/web", on=[place], count=3, age="6h", cpu="500m", memory="1Gi", deleting="-18s")
    space = c.find("Namespace", "preview-417")
    space["metadata"] |= {"deletionTimestamp": c.at("12s")}
    space["status"] = {"phase": "Terminating"}
    text = 'Error creating: pods "web-5d8f7c9b6-k2xq8" is forbidden: unable to create new content in namespace preview-417 because it is being terminated'
    refuse_pods(c, "web", text, first="11s", last="10s", count=4)
