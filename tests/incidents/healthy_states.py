"""States that last for minutes and look like faults, in clusters in which nothing is wrong."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import GPU_POD, GPU_TAINT, fleet, nominated, usual
from tests.incidents.incident import LAUNCHES, quiet
from tests.incidents.node_objects import NOT_READY, add_group_node, add_node, both, conditions
from tests.incidents.objects import condition, uid
from tests.incidents.pods import add_claim, add_daemonset, add_pdb, add_pod, add_workload, matching, waiting
from tests.incidents.pools import add_nodeclass, add_pool
from tests.incidents.providers import cluster_api_nodeclass, to_cluster_api

STUCK = r"stuck|never"


@quiet(
    story="Two inference pods load their model of 140 GB in an init container, which takes ten minutes; seven have passed. The init container runs, and nothing has failed.",
    cause="two pods load a large model in their init container.",
    thread="kserve/kserve#2727",
    must_not=[STUCK, r"cannot start|(does|do|did) not start", LAUNCHES],
)
def fine_model_is_loaded(c: Cluster) -> None:
    usual(c)
    add_pool(c, "gpu", families=("g5",), sizes=("2xlarge",), template={"taints": [GPU_TAINT]})
    pairs = [add_node(c, "gpu", "g5.2xlarge", zone, age="11m", gpus=1) for zone in c.zones[:2]]
    loader = {"name": "load", "image": "registry.example/ml/load:3", "resources": {}}
    pods = add_workload(c, "ml/llm", on=pairs, age="8m", cpu="4", memory="16Gi", requests={"nvidia.com/gpu": "1"}, spec={**GPU_POD, "initContainers": [loader]}, waiting="PodInitializing")  # fmt: skip
    for pod in pods:
        running = {"state": {"running": {"startedAt": c.at("7m")}}, "ready": False, "restartCount": 0}
        pod["status"]["initContainerStatuses"] = [{"name": "load", "image": loader["image"], **running}]
        for item in pod["status"]["conditions"]:
            if item["type"] == "Initialized":
                item |= {"status": "False", "reason": "ContainersNotInitialized", "message": "containers with incomplete status: [load]"}  # fmt: skip
        for reason, text in (("Pulled", "Successfully pulled image"), ("Started", "Container started")):
            c.event(pod, reason, text, last="7m", kind="Normal", source="kubelet")


@quiet(
    story="A GPU node registered two minutes ago. The GPU operator installs the driver first, so nvidia.com/gpu appears a few minutes after the node is ready, as each time. One pod waits for it.",
    cause="a GPU node waits two minutes for its device plugin.",
    thread="aws/karpenter-provider-aws#1914",
    must_not=[STUCK, r"no device plugin", LAUNCHES],
)
def fine_gpu_node_initializes(c: Cluster) -> None:
    usual(c)
    add_pool(c, "gpu", families=("g5",), sizes=("2xlarge",), template={"taints": [GPU_TAINT]})
    why = ("ResourceNotRegistered", 'Resource "nvidia.com/gpu" was requested but not registered')
    fresh = add_node(c, "gpu", "g5.2xlarge", c.zones[0], age="2m40s", stage="Registered", uninitialized=why, requests={"cpu": "4190m", "memory": "17Gi", "nvidia.com/gpu": "1", "pods": "6"})  # fmt: skip
    assert fresh.claim is not None
    for key in ("capacity", "allocatable"):
        fresh.claim["status"][key]["nvidia.com/gpu"] = "1"
    add_daemonset(c, "gpu-operator", "nvidia-device-plugin", cpu="50m", memory="64Mi", spec={"nodeSelector": {"karpenter.sh/nodepool": "gpu"}})  # fmt: skip
    pods = waiting(c, "ml/infer", 1, "2m55s", cpu="4", memory="16Gi", requests={"nvidia.com/gpu": "1"}, spec=GPU_POD)
    nominated(c, pods, [fresh], last="30s", count=8)


@quiet(
    story="Vault runs on nodes of a managed node group and has a PodDisruptionBudget that allows no eviction, by intention: its owners drain by hand. Karpenter manages none of these nodes.",
    cause="a PodDisruptionBudget of zero protects pods on nodes that Karpenter does not manage.",
    thread="kubernetes/kubernetes#129625",
    must_not=["PodDisruptionBudget|PDB", "vault", STUCK],
)
def fine_budget_of_zero_on_a_node_group(c: Cluster) -> None:
    usual(c)
    hosts = [add_group_node(c, "m6i.xlarge", zone) for zone in c.zones]
    add_workload(c, "vault/vault", kind="StatefulSet", on=hosts, age="40d", cpu="2", memory="8Gi")
    add_pdb(c, "vault", "vault", "vault", healthy=3, desired=3, expected=3, maxUnavailable=0)


@quiet(
    story="An EC2NodeClass for the next generation of GPU nodes was prepared three days ago. Its AMI is not built yet, so it is not ready. No NodePool refers to it.",
    cause="an EC2NodeClass that no NodePool uses is not ready yet.",
    thread="aws/karpenter-provider-aws#7436",
    must_not=[r"launch(es)? nothing|cannot launch|pending", STUCK],
)
def fine_class_without_a_pool(c: Cluster) -> None:
    usual(c)
    missing = ("AMINotFound", "AMISelector did not match any AMIs")
    add_nodeclass(c, "gpu-next", broken={"AMIsReady": missing}, since="3d", status={"amis": []})


@quiet(
    story="Nine build pods were evicted six days ago, when a disk was full. Their objects are still there, because nobody deletes failed pods. The nodes have been fine since.",
    cause="evicted pods of last week are left over.",
    thread="aws/karpenter-provider-aws#4149",
    must_not=["evict", "disk|ephemeral", STUCK],
)
def fine_evicted_pods_of_last_week(c: Cluster) -> None:
    usual(c)
    pairs = [add_node(c, "general", "m6i.xlarge", zone, age="8d") for zone in c.zones]
    running = add_workload(c, "ci/builder", on=pairs, count=9, age="5d")
    parent = next(
        item for item in c.objects if item["kind"] == "ReplicaSet" and item["metadata"]["name"].startswith("builder-")
    )
    for number in range(9):
        pod = add_pod(
            c, "ci", f"{parent['metadata']['name']}-old{number:02}", node=pairs[number % 3], parent=parent, age=f"6d{number}h",
            labels=running[0]["metadata"]["labels"], phase="Failed",
        )  # fmt: skip
        pod["status"] |= {"reason": "Evicted", "message": "The node was low on resource: ephemeral-storage. "}


@quiet(
    story="Karpenter with the provider for Cluster API: instance types are MachineDeployments, without prices and without labels about instances. Everything runs.",
    cause="Karpenter manages machines of Cluster API, and all are fine.",
    thread="kubernetes-sigs/karpenter-provider-cluster-api#28",
    must_not=[r"\bEC2\b", r"\bAWS\b", STUCK],
)
def fine_cluster_api(c: Cluster) -> None:
    cluster_api_nodeclass(c)
    add_pool(c, "default", families=(), sizes=(), capacity=("on-demand",))
    fleet(c, "default", "orders/storefront", 7)
    to_cluster_api(c)


@quiet(
    story="A database of five replicas starts one replica after the other (OrderedReady). Two are ready, the third started 50 seconds ago, and the other two are not created yet, as they must not be.",
    cause="a StatefulSet starts its replicas one after the other.",
    thread="kubernetes/kubernetes#67250",
    must_not=[r"cannot be created|not created|[0-4] of 5|missing", STUCK],
)
def fine_stateful_set_starts_in_order(c: Cluster) -> None:
    usual(c)
    pairs = [add_node(c, "general", "m6i.xlarge", zone, age=f"{6 - 2 * number}m") for number, zone in enumerate(c.zones)]  # fmt: skip
    pods = add_workload(c, "db/cassandra", kind="StatefulSet", on=pairs, replicas=5, age="50s", cpu="3", memory="9Gi")
    c.find("StatefulSet", "cassandra")["metadata"]["creationTimestamp"] = c.at("7m")
    for item in pods[2]["status"]["conditions"]:
        if item["type"] in ("Ready", "ContainersReady"):
            item |= {"status": "False", "reason": "ContainersNotReady"}
    pods[2]["status"]["containerStatuses"][0]["ready"] = False


@quiet(
    story="Two nodes were drained four minutes ago and their instances are shutting down, which takes EC2 up to ten minutes. Their kubelets do not answer any more, as expected.",
    cause="two drained instances are shutting down.",
    thread="kubernetes-sigs/karpenter#2169",
    must_not=[STUCK, r"not ready|NotReady|unreachable", r"finalizer"],
)
def fine_instances_shut_down(c: Cluster) -> None:
    usual(c, 6)
    for zone in c.zones[:2]:
        pair = add_node(c, "general", "m6i.xlarge", zone, age="5d", deleting="4m", ready=NOT_READY, ready_since="90s")
        done = ("Drained", "3m40s"), ("VolumesDetached", "3m35s"), ("InstanceTerminating", "3m30s")
        conditions(pair, condition("DisruptionReason", "True", c.at("4m"), "Empty"), *(condition(kind, "True", c.at(age)) for kind, age in done))  # fmt: skip
        for manifest in both(pair):
            text = f"Disrupting {manifest['kind']}: Empty"
            c.event(manifest, "DisruptionTerminating", text, last="4m", kind="Normal")


@quiet(
    story="On a new node the kubelet could not mount a token and a ConfigMap at the first try, because its caches were still empty. Three pods run since; one more is starting for 15 seconds.",
    cause="volumes were mounted at the second try.",
    thread="kubernetes/kubernetes#105204",
    must_not=[r"cannot start|(does|do|did) not start|cannot mount", STUCK],
)
def fine_mount_at_the_second_try(c: Cluster) -> None:
    usual(c)
    fresh = add_node(c, "general", "m6i.2xlarge", c.zones[0], age="2m")
    pods = add_workload(c, "orders/catalog", on=[fresh], count=3, age="75s")
    pods += add_workload(c, "orders/mailer", on=[fresh], count=1, age="15s", waiting="ContainerCreating")
    for pod in pods:
        text = 'MountVolume.SetUp failed for volume "kube-api-access-7xk2p" : failed to sync configmap cache: timed out waiting for the condition'
        last = "12s" if pod is pods[-1] else "70s"
        c.event(pod, "FailedMount", text, last=last, source="kubelet")


@quiet(
    story="A NodePool was created two minutes ago. It has launched nothing yet, so Karpenter knows nothing about its registrations (NodeRegistrationHealthy is Unknown).",
    cause="a new NodePool has launched nothing yet.",
    thread="kubernetes-sigs/karpenter#1969",
    must_not=[r"not ready|NotReady|unhealthy", r"regist", STUCK],
)
def fine_new_pool(c: Cluster) -> None:
    usual(c)
    manifest = add_pool(c, "next", labels={"team": "next"})
    manifest["metadata"]["creationTimestamp"] = c.at("2m")
    manifest["metadata"]["generation"] = 1
    for item in manifest["status"]["conditions"]:
        item["lastTransitionTime"] = c.at("110s")
        if item["type"] == "NodeRegistrationHealthy":
            item |= {"status": "Unknown", "reason": "AwaitingReconciliation", "message": "object is awaiting reconciliation"}  # fmt: skip


@quiet(
    story="SpotToSpotConsolidation is on, but the pool allows only eight types, and Karpenter wants fifteen cheaper ones before it replaces a spot node alone. The nodes are half empty and stay, by that rule.",
    cause="spot nodes stay, because fewer than 15 cheaper types are allowed.",
    thread="kubernetes-sigs/karpenter#2989",
    must_not=[STUCK, r"\bremovable\b", LAUNCHES],
    settings={"FEATURE_GATES": "SpotToSpotConsolidation=true"},
)
def fine_few_types_for_spot_to_spot(c: Cluster) -> None:
    usual(c, 3)
    add_pool(c, "spot", capacity=("spot",), families=("m6i", "m6a", "c6i", "r6i"))
    pairs = [add_node(c, "spot", "m6i.xlarge", c.zones[number % 3], capacity="spot", age=f"{2 + number}h") for number in range(5)]  # fmt: skip
    add_workload(c, "media/transcode", on=pairs, age="90m", cpu="2200m", memory="5Gi", pool="spot")


@quiet(
    story="A new image was rolled out 25 minutes ago, and all eight nodes drifted. The budget of the pool is 0 until 20:00 UTC each day, by intention; the rollout will go on tonight.",
    cause="drift waits for tonight's maintenance window.",
    thread="aws/karpenter-provider-aws#5898",
    must_not=[STUCK],
)
def fine_drift_waits_for_tonight(c: Cluster) -> None:
    add_nodeclass(c)
    budgets = [{"nodes": "0", "schedule": "0 4 * * *", "duration": "16h"}, {"nodes": "20%"}]
    add_pool(c, "general", disruption={"budgets": budgets})
    fleet(c, "general", "orders/storefront", 8, age="11d", drifted="25m")
    text = "No allowed disruptions for disruption reason Drifted due to blocking budget"
    c.event(c.find("NodePool", "general"), "DisruptionBlocked", text, last="20s", first="24m", count=24, kind="Normal")


@quiet(
    story="Each service prefers separate nodes for its replicas (preferred anti-affinity), as its chart has it. Five nodes hold five services, and all are well used.",
    cause="five services prefer separate nodes for their replicas, and the nodes are well used.",
    thread="aws/karpenter-provider-aws#3406",
    must_not=[STUCK, r"nearly empty", r"prefer"],
)
def fine_preferred_anti_affinity(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general", families=("m6i",), sizes=("xlarge",))
    pairs = [add_node(c, "general", "m6i.xlarge", c.zones[number % 3], age="6d") for number in range(5)]
    for name in ("cart", "search", "price", "mail", "user"):
        term = {"weight": 100, "podAffinityTerm": matching(name, topologyKey="kubernetes.io/hostname")}
        spec = {"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}}
        add_workload(c, f"shop/{name}", on=pairs, age="5d", cpu="600m", memory="2Gi", spec=spec)


@quiet(
    story="The descheduler runs once an hour and moved twelve pods to fresh nodes after an upgrade. Karpenter has removed nothing.",
    cause="the descheduler moves pods, and Karpenter removes nothing.",
    thread="aws/karpenter-provider-aws#2936",
    must_not=[STUCK, "descheduler", r"churn|loop"],
)
def fine_descheduler_at_work(c: Cluster) -> None:
    pairs = usual(c, 6)
    pods = add_workload(c, "orders/api", count=0, replicas=0, age="9d")
    assert not pods
    for number in range(12):
        name = f"api-7c9d8b6f54-gone{number:02}"
        meta = {"name": name, "namespace": "orders", "uid": uid(c.name, name)}
        text = f"pod eviction from {pairs[number % 6].name} node by sigs.k8s.io/descheduler"
        gone = {"apiVersion": "v1", "kind": "Pod", "metadata": meta}
        c.series_event(gone, "RemoveDuplicates", text, last="20m", first="20m", count=1, kind="Normal", controller="sigs.k8s.io/descheduler")  # fmt: skip


@quiet(
    story="Twelve minutes ago a kubelet restarted and rejected four pods within twenty seconds (OutOfcpu). Their successors run since.",
    cause="a kubelet rejected pods for a moment, and their successors run.",
    thread="kubernetes/kubernetes#130145",
    must_not=[STUCK, r"reject", r"OutOf"],
)
def fine_pods_rejected_once(c: Cluster) -> None:
    usual(c)
    host = add_node(c, "general", "m6i.2xlarge", c.zones[0], age="4d")
    running = add_workload(c, "orders/catalog", on=[host], count=5, age="11m")
    parent = next(
        item for item in c.objects if item["kind"] == "ReplicaSet" and item["metadata"]["name"].startswith("catalog-")
    )
    text = "Node didn't have enough resource: cpu, requested: 1150, used: 7400, capacity: 7910"
    for number in range(4):
        age = f"{720 + 5 * number}s"
        pod = add_pod(
            c, "orders", f"{parent['metadata']['name']}-out{number:02}", node=host, parent=parent, age=age,
            labels=running[0]["metadata"]["labels"], phase="Failed",
        )  # fmt: skip
        pod["status"] |= {"reason": "OutOfcpu", "message": f"Pod was rejected: {text}"}
        c.event(pod, "OutOfcpu", text, last=age, source="kubelet")


@quiet(
    story="A new replica of a database waits for its volume for 50 seconds: EBS makes it, as it does each time.",
    cause="a volume is being created.",
    thread="kubernetes-sigs/aws-ebs-csi-driver#1609",
    must_not=[STUCK, r"cannot be created|not answer"],
)
def fine_volume_is_being_created(c: Cluster) -> None:
    usual(c)
    host = add_node(c, "general", "m6i.2xlarge", c.zones[0], age="20m")
    add_workload(c, "orders/catalog", on=[host], age="18m", cpu="1", memory="2Gi")
    pods = add_workload(c, "db/pg", kind="StatefulSet", pending=1, pending_since="55s", cpu="4", memory="12Gi")
    manifest = add_claim(c, "db", "data-pg-0", "gp3", age="55s")
    manifest["metadata"]["annotations"] = {"volume.kubernetes.io/selected-node": host.name}
    pods[0]["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "data-pg-0"}}]
    pods[0]["status"]["conditions"] = []
    c.objects = [
        manifest
        for manifest in c.objects
        if not (manifest["kind"] == "Event" and manifest["involvedObject"]["name"] == "pg-0")
    ]
    text = "Waiting for a volume to be created either by the external provisioner 'ebs.csi.aws.com' or manually by the system administrator."
    c.event(manifest, "ExternalProvisioning", text, last="5s", first="50s", count=4, kind="Normal", source="persistentvolume-controller")  # fmt: skip


@quiet(
    story="Forty minutes ago a node ran short of memory for a minute, and its kubelet evicted five report pods. Their request was raised since, and all run.",
    cause="a shortage of memory is over.",
    thread="kubernetes-sigs/karpenter#1019",
    must_not=[STUCK, r"evict", r"pressure"],
)
def fine_shortage_is_over(c: Cluster) -> None:
    usual(c)
    host = add_node(c, "general", "m6i.2xlarge", c.zones[0], age="4d")
    running = add_workload(c, "bi/report", on=[host], count=5, age="38m", cpu="1", memory="5Gi")
    for number in range(5):
        meta = dict(running[0]["metadata"], name=f"report-6b7d9c8f5-low{number:02}", uid=uid(c.name, "low", number))
        text = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 60120Ki. "
        c.event({"apiVersion": "v1", "kind": "Pod", "metadata": meta}, "Evicted", text, last="40m", source="kubelet")
