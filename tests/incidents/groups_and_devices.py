"""Gangs, devices and limits of devices: pods that are pending for them, and clusters in which they only look wrong."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import GPU_POD, GPU_TAINT, nominated, unschedulable, usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n, quiet
from tests.incidents.node_objects import add_node, both
from tests.incidents.objects import condition
from tests.incidents.pods import SELECTOR, add_workload, no_node, refuse_pods, waiting
from tests.incidents.pools import add_pool
from tests.incidents.unlaunched import by_scheduler

GANG = "scheduler-plugins-scheduler"


@incident(
    story="NodePool gpu has a limit of two nvidia.com/gpu, set for a trial. Both are used, and three more pods are pending for 48 minutes; nobody thinks of a limit that counts GPUs.",
    cause="NodePool gpu is at its limit of 2 nvidia.com/gpu, so 3 pods of ml/infer are pending for 48 minutes.",
    thread="aws/karpenter-provider-aws#8068",
    must=["limit", r"\bgpu\b", r"nvidia\.com/gpu", n(3), "ml/infer"],
    must_not=[LAUNCHES, ROOM, ICE, r"device plugin"],
)
def limit_of_gpus(c: Cluster) -> None:
    usual(c)
    add_pool(c, "gpu", families=("g5",), sizes=("xlarge",), template={"taints": [GPU_TAINT]}, limits={"nvidia.com/gpu": "2"})  # fmt: skip
    pairs = [add_node(c, "gpu", "g5.xlarge", zone, age="2d", gpus=1) for zone in c.zones[:2]]
    wants = {"nvidia.com/gpu": "1"}
    text = no_node({SELECTOR: 6, "Insufficient nvidia.com/gpu": 2})
    pods = add_workload(c, "ml/infer", on=pairs, pending=3, pending_since="48m", age="47h", cpu="3", memory="10Gi", requests=wants, spec=GPU_POD, message=text)[2:]  # fmt: skip
    unschedulable(c, pods, "all available instance types exceed limits for nodepool (NodePool=gpu)", minutes=45)


@incident(
    story="A NodeOverlay tells Karpenter that nodes of general have four smarter-devices/fuse, and the device plugin that would offer them was never installed. Two nodes were launched for builds 18 minutes ago and wait for the device; "
    "four pods are pending.",
    cause="2 nodes never initialize because they lack smarter-devices/fuse, which NodeOverlay fuse promises and no device plugin offers; 4 pods of ci/image are pending.",
    thread="kubernetes-sigs/karpenter#2533",
    must=[r"smarter-devices/fuse", n(2), n(4), r"initiali", r"1[678] ?m", r"NodeOverlay"],
    must_not=[LAUNCHES, ROOM, ICE],
    settings={"FEATURE_GATES": "NodeOverlay=true"},
)
def overlay_promises_a_device(c: Cluster) -> None:
    usual(c)
    ready = [condition("Ready", "True", c.at("20d")), condition("ValidationSucceeded", "True", c.at("20d"))]
    c.add("NodeOverlay", "fuse", age="20d", generation=1, spec={"weight": 10, "capacity": {"smarter-devices/fuse": "4"}, "requirements": [{"key": "karpenter.sh/nodepool", "operator": "In", "values": ["general"]}]}, status={"conditions": ready})  # fmt: skip
    why = ("ResourceNotRegistered", 'Resource "smarter-devices/fuse" was requested but not registered')
    wants = {"cpu": "2490m", "memory": "6344Mi", "pods": "6", "smarter-devices/fuse": "2"}
    pairs = [add_node(c, "general", "m6i.xlarge", zone, age="18m", stage="Registered", uninitialized=why, requests=wants) for zone in c.zones[:2]]  # fmt: skip
    for pair in pairs:
        for place in ("capacity", "allocatable"):
            both(pair)[1]["status"][place] |= {"smarter-devices/fuse": "4"}
    text = no_node({"Insufficient smarter-devices/fuse": 8})
    pods = waiting(c, "ci/image", 4, "19m", text, cpu="1150m", memory="2600Mi", requests={"smarter-devices/fuse": "1"})
    nominated(c, pods, pairs, last="20s", count=80)


@incident(
    story="A training Job runs with the coscheduling plugin and needs four pods at once (minMember 4), but a typo gave it a parallelism of three. Its scheduler refuses the three for 31 minutes, whatever room there is. Karpenter launched a node "
    "for them, which stays empty.",
    cause="3 pods of ml/trainer are pending for 31 minutes: their scheduler scheduler-plugins-scheduler refuses them, because their group has 3 of the 4 pods that it needs (minMember).",
    thread="kubernetes-sigs/scheduler-plugins#358",
    must=["ml/trainer", GANG, n(3), r"3[01] ?m", r"sibling|minMember|group"],
    must_not=[LAUNCHES, r"kube-scheduler refuses", ICE],
)
def group_lacks_a_member(c: Cluster) -> None:
    usual(c)
    add_workload(c, f"scheduler-plugins/{GANG}", on=c.system[:1], age="30d", cpu="200m", memory="256Mi")
    fresh = add_node(c, "general", "m7i.4xlarge", c.zones[0], age="29m")
    text = "0/7 nodes are available: pre-filter pod trainer cannot find enough sibling pods, current pods number: 3, minMember of group: 4. preemption: 0/7 nodes are available: 7 Preemption is not helpful for scheduling."
    labels = {"app.kubernetes.io/name": "trainer", "scheduling.x-k8s.io/pod-group": "trainer"}
    pods = waiting(c, "ml/trainer", 3, "31m", text, kind="Job", age="31m", cpu="3", memory="12Gi", labels=labels, spec={"schedulerName": GANG})  # fmt: skip
    by_scheduler(c, pods, GANG)
    nominated(c, pods, [fresh], last="15s", count=170)


@incident(
    story="The ResourceClaimTemplate single-gpu was deleted in a cleanup. The Deployment's new pods reference it; Kubernetes creates no ResourceClaim for them, so no scheduler looks for a node. Two are pending for 27 minutes.",
    cause="2 pods of ml/vision are pending for 27 minutes: their ResourceClaimTemplate single-gpu does not exist.",
    thread="kubernetes/kubernetes#129362",
    must=[
        "ml/vision",
        n(2),
        r"single-gpu|ResourceClaimTemplate|resource ?claim ?template",
        r"2[67] ?m",
        r"not found|not exist|missing|no ",
    ],
    must_not=[LAUNCHES, ROOM, ICE],
)
def resource_claim_template_deleted(c: Cluster) -> None:
    usual(c)
    spec = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "single-gpu"}]}
    text = "waiting for resource claim controller to create the resourceclaim for pod gpu"
    pods = waiting(c, "ml/vision", 2, "27m", f"0/6 nodes are available: {text}.", cpu="1", memory="4Gi", spec=spec)
    for pod in pods:
        pod["spec"]["containers"][0]["resources"]["claims"] = [{"name": "gpu"}]
        text = 'PodResourceClaim gpu: resource claim template "single-gpu": resourceclaimtemplate.resource.k8s.io "single-gpu" not found'
        c.event(pod, "FailedResourceClaimCreation", text, last="2m", first="27m", count=17, source="resource_claim")


@incident(
    story="The agents' pods ask for the RuntimeClass gvisor, which was not part of the new cluster. The API server rejects every pod for 16 minutes; none of five exists, so nothing is pending.",
    cause="None of the 5 pods of agents/sandbox can be created for 16 minutes: the RuntimeClass gvisor does not exist.",
    thread="mhrabovcin/troubleshoot-live#13",
    must=["agents/sandbox", r"RuntimeClass", "gvisor", r"1[56] ?m", r"not found|not exist|missing"],
    must_not=[LAUNCHES, ICE, "quota", r"pods? pending"],
)
def runtime_class_missing(c: Cluster) -> None:
    usual(c)
    add_workload(c, "agents/sandbox", count=0, replicas=5, age="20m")
    text = 'Error creating: pods "sandbox-5c7d9-" is forbidden: pod rejected: RuntimeClass "gvisor" not found'
    refuse_pods(c, "sandbox", text, first="16m", last="40s", count=17)


@quiet(
    story="A gang of four forms: three of its pods were created 50 seconds ago, and the fourth follows. The scheduler refuses them until all are there.",
    cause="a group of pods waits for its last member.",
    thread="kubernetes-sigs/scheduler-plugins#450",
    must_not=["stuck", r"refus", LAUNCHES, ROOM],
)
def fine_group_is_forming(c: Cluster) -> None:
    usual(c)
    add_workload(c, f"scheduler-plugins/{GANG}", on=c.system[:1], age="30d", cpu="200m", memory="256Mi")
    fresh = add_node(c, "general", "m7i.4xlarge", c.zones[0], age="40s", stage="Launched")
    text = "0/6 nodes are available: pre-filter pod trainer cannot find enough sibling pods, current pods number: 3, minMember of group: 4."
    pods = waiting(c, "ml/trainer", 3, "50s", text, kind="Job", age="50s", cpu="3", memory="12Gi", spec={"schedulerName": GANG})  # fmt: skip
    by_scheduler(c, pods, GANG)
    nominated(c, pods, [fresh], last="38s")


@quiet(
    story="NodePool gpu has a limit of two nvidia.com/gpu, and both are in use, as planned. No pod is pending.",
    cause="a limit of GPUs is reached, and no pod needs more.",
    thread="aws/karpenter-provider-aws#8068",
    must_not=["stuck", r"cannot launch|launches nothing", r"\bpending\b"],
)
def fine_limit_of_gpus_is_reached(c: Cluster) -> None:
    usual(c)
    add_pool(c, "gpu", families=("g5",), sizes=("xlarge",), template={"taints": [GPU_TAINT]}, limits={"nvidia.com/gpu": "2"})  # fmt: skip
    pairs = [add_node(c, "gpu", "g5.xlarge", zone, age="2d", gpus=1) for zone in c.zones[:2]]
    add_workload(c, "ml/infer", on=pairs, age="47h", cpu="3", memory="10Gi", requests={"nvidia.com/gpu": "1"}, spec=GPU_POD)  # fmt: skip


@quiet(
    story="A company's scheduler is called packer in the pods and runs as a Deployment with another name. It has placed eight pods; two new ones wait for its next pass for three minutes, without a condition.",
    cause="a scheduler with long passes has not looked at two pods yet.",
    thread="kubernetes-sigs/karpenter#2030",
    must_not=["stuck", r"no ready pod", LAUNCHES, ROOM],
)
def fine_scheduler_with_another_name(c: Cluster) -> None:
    usual(c, 2)
    roomy = [add_node(c, "general", "m6i.xlarge", zone, age="3d") for zone in c.zones]
    add_workload(c, "platform/binpack-svc", on=c.system[:1], age="30d", cpu="200m", memory="256Mi")
    spec = {"schedulerName": "packer"}
    add_workload(c, "etl/rollup", on=roomy, count=6, age="2d", cpu="1150m", memory="3200Mi", spec=spec)
    waiting(c, "etl/extract", 2, "3m", cpu="500m", memory="1Gi", spec=spec, scheduled=False)
