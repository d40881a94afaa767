"""Pods that have a node and do not start there, and nodes on which pods cannot stay."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import GPU_POD, GPU_TAINT, fleet, gone_claim, usual
from tests.incidents.incident import LAUNCHES, incident, n
from tests.incidents.node_objects import add_node, both
from tests.incidents.objects import condition, uid
from tests.incidents.pods import add_pod, add_volume, add_workload, refuse_pods, waiting
from tests.incidents.pools import add_nodeclass, add_pool


@incident(
    story="The chart of the EBS driver was upgraded, and its DaemonSet tolerates no taints any more. On the two new nodes of pool gpu the driver never registers, so EC2 volumes are not "
    "attached there, and two trainers are in ContainerCreating for 18 minutes.",
    cause="2 pods of ml/trainer cannot start for 18 minutes: the driver ebs.csi.aws.com is not registered on their nodes (ebs-csi-node does not run there).",
    thread="aws/karpenter-provider-aws#2150",
    must=["ml/trainer", r"ebs\.csi\.aws\.com|ebs-csi", "driver", n(2), r"1[678] ?m"],
    must_not=[LAUNCHES, r"attached (elsewhere|to another)|another node"],
)
def driver_not_registered(c: Cluster) -> None:
    usual(c)
    add_pool(c, "gpu", families=("g5",), sizes=("2xlarge",), template={"taints": [GPU_TAINT]})
    pairs = [add_node(c, "gpu", "g5.2xlarge", zone, age="20m", gpus=1) for zone in c.zones[:2]]
    manifest, pod = next(pair for pair in c.daemonsets if pair[0]["metadata"]["name"] == "ebs-csi-node")
    for spec in (manifest["spec"]["template"]["spec"], pod["spec"]):
        spec["tolerations"] = []
    pods = add_workload(c, "ml/trainer", kind="StatefulSet", on=pairs, age="18m", cpu="4", memory="16Gi", requests={"nvidia.com/gpu": "1"}, spec=GPU_POD, waiting="ContainerCreating")  # fmt: skip
    for pair, trainer in zip(pairs, pods, strict=True):
        c.find("CSINode", pair.name)["spec"]["drivers"] = []
        name = f"data-{trainer['metadata']['name']}"
        trainer["spec"]["volumes"] = [add_volume(c, "ml", name, pair.zone)]
        text = f'AttachVolume.Attach failed for volume "pvc-{uid("ml", name)}" : CSINode {pair.name} does not contain driver ebs.csi.aws.com'
        c.event(
            trainer, "FailedAttachVolume", text, last="70s", first="18m", count=16, source="attachdetach-controller"
        )


@incident(
    story="The GPU of a node fell off the bus. The kubelet rejects each inference pod at admission, the ReplicaSet makes a new one, and kube-scheduler sends it to the same node, which still "
    "offers a GPU: 34 failed pods in 17 minutes, and none runs.",
    cause="The kubelet rejects the pods of ml/infer (UnexpectedAdmissionError, no device nvidia.com/gpu is available): 34 failed in 17 minutes, and none runs.",
    thread="kubernetes/kubernetes#130145",
    must=["ml/infer", r"UnexpectedAdmissionError|reject|admission", r"nvidia\.com/gpu|GPU|device", n(34)],
    must_not=[LAUNCHES, r"pods? pending"],
)
def kubelet_rejects_pods(c: Cluster) -> None:
    usual(c)
    add_pool(c, "gpu", families=("g5",), sizes=("2xlarge",), template={"taints": [GPU_TAINT]})
    host = add_node(c, "gpu", "g5.2xlarge", c.zones[0], age="6d", gpus=1)
    add_workload(c, "ml/infer", count=0, replicas=1, age="5d", spec=GPU_POD)
    parent = next(
        item for item in c.objects if item["kind"] == "ReplicaSet" and item["metadata"]["name"].startswith("infer-")
    )
    text = "Pod was rejected: Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. Requested: 1, Available: 0, which is unexpected"
    for number in range(34):
        pod = add_pod(
            c, "ml", f"{parent['metadata']['name']}-rej{number:02}", node=host, parent=parent, age=f"{8 + 30 * number}s", labels=parent["metadata"]["labels"],
            cpu="4", memory="16Gi", requests={"nvidia.com/gpu": "1"}, spec=GPU_POD, phase="Failed",
        )  # fmt: skip
        pod["status"] |= {"reason": "UnexpectedAdmissionError", "message": text}
        del pod["status"]["containerStatuses"]
        c.event(pod, "UnexpectedAdmissionError", text.removeprefix("Pod was rejected: "), last=f"{8 + 30 * number}s", source="kubelet")  # fmt: skip


@incident(
    story="Notebooks request 256Mi and use 5Gi. Consolidation packed them by their requests, so two nodes ran out of memory six minutes ago: the kubelet has evicted 14 of them and takes no "
    "new pods without requests.",
    cause="Two nodes of pool lab are under memory pressure, and the kubelet has evicted 14 pods of bi/pandas, which use more memory than they request.",
    thread="kubernetes-sigs/karpenter#1019",
    must=[r"memory", r"pressure|low on", n(2), "evict", r"pandas|\blab\b", n(14)],
    must_not=[LAUNCHES, "ephemeral|disk"],
)
def memory_pressure(c: Cluster) -> None:
    usual(c)
    add_pool(c, "lab", sizes=("xlarge",), labels={"team": "lab"})
    pairs = [add_node(c, "lab", "m6i.xlarge", zone, age="30h") for zone in c.zones]
    for pair in pairs[:2]:
        node = both(pair)[0]
        message = "kubelet has insufficient memory available"
        node["status"]["conditions"][0] |= {"status": "True", "reason": "KubeletHasInsufficientMemory", "lastTransitionTime": c.at("6m"), "message": message}  # fmt: skip
        node["spec"]["taints"] = [{"key": "node.kubernetes.io/memory-pressure", "effect": "NoSchedule"}]
        c.event(node, "EvictionThresholdMet", "Attempting to reclaim memory", last="30s", first="6m", count=34, source="kubelet")  # fmt: skip
    spec = {"nodeSelector": {"team": "lab"}}
    running = add_workload(c, "bi/pandas", on=pairs, count=12, age="20m", cpu="200m", memory="256Mi", spec=spec)
    parent = next(
        item for item in c.objects if item["kind"] == "ReplicaSet" and item["metadata"]["name"].startswith("pandas-")
    )
    text = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 71844Ki. Container app was using 5311020Ki, request is 256Mi, has larger consumption of memory. "
    for number in range(14):
        pod = add_pod(
            c, "bi", f"{parent['metadata']['name']}-low{number:02}", node=pairs[number % 2], parent=parent, age=f"{20 + 25 * number}s",
            labels=running[0]["metadata"]["labels"], cpu="200m", memory="256Mi", spec=spec, phase="Failed",
        )  # fmt: skip
        pod["status"] |= {"reason": "Evicted", "message": text}
        c.event(pod, "Evicted", text, last=f"{20 + 25 * number}s", source="kubelet")


@incident(
    story="A morning of consolidation launched many nodes, and each pulled its images from Docker Hub without a login. The hub's pull rate limit is reached: five CI runners on two new nodes cannot "
    "pull for twelve minutes.",
    cause="5 pods of ci/runner cannot pull their image for 12 minutes: Docker Hub's pull rate limit is reached (429 Too Many Requests).",
    thread="canonical/bundle-kubeflow#1274",
    must=["ci/runner", "image|pull", r"rate|too ?many ?requests|\b429\b", n(5), r"1[12] ?m"],
    must_not=[LAUNCHES, r"not exist|not found|no such image"],
)
def pull_rate_limit(c: Cluster) -> None:
    usual(c)
    pairs = [add_node(c, "general", "m6i.xlarge", zone, age="14m") for zone in c.zones[:2]]
    image = "docker.io/library/docker:29-dind"
    pods = add_workload(c, "ci/runner", on=pairs, count=5, age="12m", image=image, waiting="ImagePullBackOff")
    text = (
        f'Failed to pull image "{image}": failed to pull and unpack image "{image}": failed to resolve reference "{image}": unexpected status from HEAD request to '
        "https://registry-1.docker.io/v2/library/docker/manifests/29-dind: 429 Too Many Requests - Server message: toomanyrequests: You have reached your unauthenticated pull rate limit. "
        "https://www.docker.com/increase-rate-limit"
    )
    for pod in pods:
        c.event(pod, "Failed", text, last="2m", first="12m", count=7, source="kubelet")
        c.event(pod, "Failed", "Error: ImagePullBackOff", last="15s", first="12m", count=50, source="kubelet")
        c.event(pod, "BackOff", f'Back-off pulling image "{image}"', last="15s", first="12m", count=50, kind="Normal", source="kubelet")  # fmt: skip


@incident(
    story="A platform team builds its own AMI, and its bootstrap does not register nodes with the taint karpenter.sh/unregistered. The nodes of pool custom join and run pods, but Karpenter "
    "refuses to register them and ends each after 15 minutes.",
    cause="2 nodes of pool custom joined without the taint karpenter.sh/unregistered, so Karpenter never registers them and removes each after 15 minutes.",
    thread="kubernetes-sigs/karpenter#1635",
    must=[r"karpenter\.sh/unregistered|unregistered", "taint", n(2), r"\bcustom\b", "regist"],
    must_not=[LAUNCHES, r"(does|do|did|has|have) not (yet )?join(ed)?\b|never join"],
)
def nodes_without_the_unregistered_taint(c: Cluster) -> None:
    usual(c)
    add_nodeclass(c, "custom", spec={"amiFamily": "Custom", "amiSelectorTerms": [{"id": "ami-0c5f1b7e2d9a84f30"}], "userData": "#!/bin/bash\n/opt/join.sh\n"})  # fmt: skip
    failed = ("RegistrationFailed", "Failed to register node", "50m")
    add_pool(c, "custom", nodeclass="custom", sizes=("xlarge",), labels={"team": "edge"}, registration=failed)
    pairs = [add_node(c, "custom", "m6i.xlarge", zone, age="9m", stage="Registered") for zone in c.zones[:2]]
    text = "Invariant violated, karpenter.sh/unregistered taint must be present on Karpenter-managed nodes"
    for pair in pairs:
        node, claim = both(pair)
        del node["metadata"]["labels"]["karpenter.sh/registered"], node["metadata"]["ownerReferences"]
        del node["metadata"]["finalizers"], claim["status"]["nodeName"]
        states = {item["type"]: item for item in claim["status"]["conditions"]}
        states["Registered"] |= {"status": "False", "reason": "UnregisteredTaintNotFound", "message": text}
        states["Ready"] |= {"status": "False", "reason": "UnhealthyDependents", "message": "Registered=False"}
    add_workload(c, "edge/cache", on=pairs, count=4, age="7m", spec={"nodeSelector": {"team": "edge"}})


@incident(
    story="The root volume of the build nodes was cut to 20Gi to save money, but the snapshot of their AMI needs 50Gi. EC2 refuses every launch; six build pods are pending for 26 minutes.",
    cause="Launches of pool builds fail because its root volume of 20Gi is smaller than the AMI's snapshot (50GB); 6 pods are pending.",
    thread="aws/karpenter-provider-aws#3302",
    must=[r"\bbuilds\b", "snapshot", r"20 ?G|50 ?G|smaller", n(6), r"ci/build"],
    must_not=[LAUNCHES, r"insufficient ?capacity|sold out|out of capacity"],
)
def root_volume_smaller_than_its_snapshot(c: Cluster) -> None:
    usual(c)
    disk = {"deviceName": "/dev/xvda", "ebs": {"volumeSize": "20Gi", "volumeType": "gp3", "encrypted": True}}
    add_nodeclass(c, "builds", spec={"blockDeviceMappings": [disk]})
    add_pool(c, "builds", nodeclass="builds")
    error = "creating instance, with fleet error(s), InvalidBlockDeviceMapping: Volume of size 20GB is smaller than snapshot 'snap-0f59de5aef3442431', expect size>= 50GB"
    add_node(c, "builds", "m6i.xlarge", c.zones[0], age="2m40s", stage="", launch_error=("LaunchFailed", error))
    add_workload(c, "ci/build", pending=6, pending_since="26m", cpu="1", memory="2Gi", pool="builds")


@incident(
    story="A descheduler (LowNodeUtilization) evicts pods from full nodes onto emptier ones, and Karpenter consolidates the emptier ones. In the last hour the descheduler evicted 24 pods of orders/api, "
    "and Karpenter replaced six nodes of general.",
    cause="The descheduler works against Karpenter: it evicted 24 pods of orders/api in the last hour, and Karpenter replaced 6 nodes of general.",
    thread="aws/karpenter-provider-aws#2936",
    must=["descheduler", n(24), "orders/api", r"\bgeneral\b", n(6)],
    must_not=[LAUNCHES, r"do-not-disrupt"],
)
def descheduler_against_karpenter(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general", sizes=("xlarge",), disruption={"consolidateAfter": "1m"})
    fleet(c, "general", "orders/storefront", 5)
    pairs = [add_node(c, "general", "m6i.xlarge", c.zones[number % 3], age=f"{6 + 9 * number}m") for number in range(3)]
    pods = add_workload(c, "orders/api", on=pairs, count=9, age="5m")
    prefix = pods[0]["metadata"]["name"][:-6]
    for number in range(24):
        meta = dict(pods[0]["metadata"], name=f"{prefix}-gone{number:02}", uid=uid(c.name, "gone", number))
        gone = {"apiVersion": "v1", "kind": "Pod", "metadata": meta}
        age = f"{1 + 2 * number}m"
        text = f"pod eviction from {pairs[number % 3].name} node by sigs.k8s.io/descheduler"
        c.series_event(gone, "LowNodeUtilization", text, last=age, first=age, count=1, kind="Normal", controller="sigs.k8s.io/descheduler")  # fmt: skip
    for number in range(6):
        claim, age = gone_claim(c, "general", number), f"{4 + 9 * number}m"
        c.event(claim, "DisruptionTerminating", "Disrupting NodeClaim: Underutilized", last=age, kind="Normal")
        c.event(claim, "DisruptionLaunching", "Launching NodeClaim: Underutilized", last=f"{6 + 9 * number}m", kind="Normal")  # fmt: skip


@incident(
    story="AWS announced that it will stop an instance for maintenance in eleven days. Karpenter treats that as an interruption and began to drain the node 26 minutes ago. Its queue pod is protected by "
    "do-not-disrupt, so the drain waits without end; the node is on-demand.",
    cause="A node drains for 26 minutes because AWS reported its instance unhealthy (scheduled maintenance), and do-not-disrupt on mq/rabbit-1 keeps it.",
    thread="aws/karpenter-provider-aws#7017",
    must=["rabbit", r"do-not-disrupt|protect", r"2[56] ?m", r"unhealthy|maintenance|interrupt", "drain|delet|terminat"],
    must_not=[r"\bspot\b", r"\bexpired\b", r"consolidat"],
)
def maintenance_of_a_protected_node(c: Cluster) -> None:
    usual(c)
    pairs = [add_node(c, "general", "m6i.2xlarge", zone, age="28d") for zone in c.zones[:2]]
    going = add_node(c, "general", "m6i.2xlarge", c.zones[2], age="28d", deleting="26m")
    both(going)[1]["status"]["conditions"].append(condition("Drained", "Unknown", c.at("26m"), "Draining", "Draining"))
    add_workload(c, "mq/rabbit", kind="StatefulSet", on=[pairs[0], going, pairs[1]], age="27d", cpu="6", memory="24Gi", annotations={"karpenter.sh/do-not-disrupt": "true"})  # fmt: skip
    for manifest in both(going):
        c.event(manifest, "InstanceUnhealthy", "An unhealthy warning was triggered for the instance", last="26m")
        c.event(manifest, "TerminatingOnInterruption", f"Interruption triggered termination for the {manifest['kind']}", last="26m")  # fmt: skip
    text = "Failed to drain node, 1 pods are waiting to be evicted"
    c.event(both(going)[0], "FailedDraining", text, last="1m", first="25m", count=13)


@incident(
    story="Notebooks use far more memory than they request. The kubelet evicts some, the pressure ends, new ones come, and it begins again: nine evictions in 40 minutes, the last four minutes ago. At this moment no node is "
    "under pressure.",
    cause="The kubelet has evicted 9 pods of bi/pandas for want of memory in 40 minutes, the last 4 minutes ago, although no node is under pressure now.",
    thread="kubernetes-sigs/karpenter#1019",
    must=["memory", "evict", n(9), "bi/pandas"],
    must_not=[LAUNCHES, "ephemeral|disk", r"have had MemoryPressure"],
)
def evictions_come_and_go(c: Cluster) -> None:
    usual(c)
    pairs = [add_node(c, "general", "m6i.xlarge", zone, age="30h") for zone in c.zones]
    running = add_workload(c, "bi/pandas", on=pairs, count=12, age="3m", cpu="200m", memory="256Mi")
    text = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 71844Ki. Container app was using 5311020Ki, request is 256Mi, has larger consumption of memory. "
    for number in range(9):
        meta = dict(running[0]["metadata"], name=f"pandas-77c6b5d9f8-low{number:02}", uid=uid(c.name, "low", number))
        gone = {"apiVersion": "v1", "kind": "Pod", "metadata": meta}
        c.event(gone, "Evicted", text, last=f"{4 + 4 * number}m", source="kubelet")


@incident(
    story="The PriorityClass batch-high was deleted with an old chart. Pods that name it are refused; the nightly job has none of its eight pods for 35 minutes. No pod is pending.",
    cause="No pod of etl/nightly can be created: its PriorityClass batch-high does not exist.",
    thread="kubernetes/kubernetes#97131",
    must=["etl/nightly", r"PriorityClass", "batch-high", r"3[45] ?m"],
    must_not=[LAUNCHES, r"\d+ pods? pending"],
)
def priority_class_missing(c: Cluster) -> None:
    usual(c)
    add_workload(c, "etl/nightly", count=0, replicas=8, age="36m")
    text = 'Error creating: pods "nightly-6c8f7d9b5-" is forbidden: no PriorityClass with name batch-high was found'
    refuse_pods(c, "nightly", text, first="35m", last="3m", count=17)


@incident(
    story="A key was renamed in the ConfigMap of the mailer. Its four new pods have a node and an image and are in CreateContainerConfigError for 16 minutes.",
    cause="4 pods of shop/mailer cannot start for 16 minutes: the key SMTP_HOST is not in ConfigMap shop/mailer-env.",
    thread="kubernetes/kubernetes#103643",
    must=["shop/mailer", "SMTP_HOST", r"mailer-env|ConfigMap", n(4), r"1[56] ?m"],
    must_not=[LAUNCHES, r"image cannot|cannot be pulled"],
)
def config_map_key_missing(c: Cluster) -> None:
    usual(c)
    pairs = [add_node(c, "general", "m6i.xlarge", zone, age="3d") for zone in c.zones[:2]]
    pods = add_workload(c, "shop/mailer", on=pairs, count=4, age="16m", cpu="500m", memory="1Gi", waiting="CreateContainerConfigError")  # fmt: skip
    for pod in pods:
        text = "Error: couldn't find key SMTP_HOST in ConfigMap shop/mailer-env"
        c.event(pod, "Failed", text, last="9s", first="16m", count=73, source="kubelet")


@incident(
    story="A cost saver of another team stops EC2 instances without a certain tag each evening. It stopped six on-demand nodes of general within a minute; Karpenter removes them, and eleven pods are pending.",
    cause="6 of 10 nodes of general were stopped from outside within a minute; 11 pods are pending.",
    thread="aws/karpenter-provider-aws#2734",
    must=[n(6), r"interrupt|stopp|ended", r"\bgeneral\b", n(11)],
    must_not=[r"\bspot\b", r"expired"],
)
def instances_are_stopped_from_outside(c: Cluster) -> None:
    usual(c, 4)
    for number in range(6):
        age = f"{95 - 8 * number}s"
        pair = add_node(c, "general", "m6i.xlarge", c.zones[number % 3], age="9d", deleting=age)
        both(pair)[1]["status"]["conditions"].append(condition("Drained", "Unknown", c.at(age), "Draining", "Draining"))
        for manifest in both(pair):
            c.event(manifest, "InstanceStopping", "Instance is stopping", last=age)
            c.event(manifest, "TerminatingOnInterruption", f"Interruption triggered termination for the {manifest['kind']}", last=age)  # fmt: skip
    waiting(c, "orders/catalog", 11, "80s")
