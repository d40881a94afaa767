"""Pods that are pending and nodes that do not join: causes outside of what most look at, and four clusters without a fault."""

from __future__ import annotations

import copy

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import GPU_POD, GPU_TAINT, NO_TYPE, fleet, nominated, unschedulable, usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n, quiet
from tests.incidents.node_objects import add_node, both
from tests.incidents.objects import Object, condition, uid
from tests.incidents.pods import SELECTOR, add_claim, add_daemonset, add_queued, add_workload, no_node, waiting
from tests.incidents.pools import add_nodeclass, add_pool

AWAITING = ("AwaitingReconciliation", "object is awaiting reconciliation")


def by_scheduler(c: Cluster, pods: list[Object], name: str = "volcano") -> None:
    """Let another scheduler than kube-scheduler report that pods are unschedulable."""
    uids = {pod["metadata"]["uid"] for pod in pods}
    for item in c.objects:
        if item["kind"] == "Event" and item["involvedObject"]["uid"] in uids and item["reason"] == "FailedScheduling":
            item |= {"source": {"component": name}, "reportingComponent": name}


@incident(
    story="An outage of EC2's API made Karpenter create launch templates again and again, until the account's 10,000 were used up. Since then it cannot create one: every NodeClaim fails before EC2 is asked for an instance. "
    "Karpenter 1.15 hides the error code in the NodeClaim's status; its log has it. Nine pods are pending for 33 minutes.",
    cause="Every launch of NodePool general fails for 33 minutes because Karpenter cannot get a launch template (its log has the error); 9 pods are pending.",
    thread="aws/karpenter-provider-aws#8686",
    must=[r"launch ?template", r"\bgeneral\b", n(9), r"\blogs?\b", r"3[123] ?m"],
    must_not=[r"\b(would|will) (be )?launch", ROOM, ICE, r"not found|does not exist"],
)  # fmt: skip
def launch_templates_used_up(c: Cluster) -> None:
    usual(c, 5)
    error = ("LaunchFailed", "Error getting launch template configs: Instance launch failed")
    c.find("NodePool", "general")["status"]["conditions"][2] = condition("NodeRegistrationHealthy", "False", c.at("28m"), *error)  # fmt: skip
    for age in ("4m10s", "3m50s", "3m20s"):
        add_node(c, "general", "m6i.xlarge", c.zones[0], age=age, stage="", launch_error=error)
    waiting(c, "orders/checkout", 9, "33m")


@incident(
    story="The NVIDIA device plugin was configured with time slicing and renameByDefault. The two new GPU nodes offer nvidia.com/gpu.shared instead of nvidia.com/gpu; their NodeClaims wait for nvidia.com/gpu and never "
    "initialize. The plugin runs. Three pods are pending for 26 minutes.",
    cause="2 nodes of gpu never initialize: their pods request nvidia.com/gpu, and the device plugin there offers nvidia.com/gpu.shared (time slicing with renaming); 3 pods of ml/infer are pending.",
    thread="bottlerocket-os/bottlerocket#4250",
    must=[r"nvidia\.com/gpu\.shared", r"initiali", n(2) + r"|gpu-", n(3), r"2[456] ?m"],
    must_not=[LAUNCHES, ROOM, ICE, r"plugin[^\n]{0,40}(does not run|is not running|missing|not installed)|no device plugin"],
)  # fmt: skip
def shared_gpus_are_renamed(c: Cluster) -> None:
    usual(c)
    add_pool(c, "gpu", families=("g5",), sizes=("xlarge", "2xlarge"), template={"taints": [GPU_TAINT]})
    add_daemonset(c, "kube-system", "nvidia-device-plugin", cpu="10m", memory="64Mi", spec={"nodeSelector": {"karpenter.sh/nodepool": "gpu"}})  # fmt: skip
    why = ("ResourceNotRegistered", 'Resource "nvidia.com/gpu" was requested but not registered')
    wants = {"cpu": "3290m", "memory": "12Gi", "nvidia.com/gpu": "1", "pods": "6"}
    pairs = [add_node(c, "gpu", "g5.2xlarge", zone, age="25m", stage="Registered", uninitialized=why, requests=wants) for zone in c.zones[:2]]  # fmt: skip
    for pair in pairs:
        for place in ("capacity", "allocatable"):
            pair.status[place] |= {"nvidia.com/gpu.shared": "4"}
            both(pair)[1]["status"][place] |= {"nvidia.com/gpu": "1"}
    text = no_node({SELECTOR: 6, "Insufficient nvidia.com/gpu": 2})
    pods = waiting(c, "ml/infer", 3, "26m", text, cpu="3", memory="12Gi", requests={"nvidia.com/gpu": "1"}, spec=GPU_POD)  # fmt: skip
    nominated(c, pods, pairs, last="20s", count=120)


NODE_CONFIG = """apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  kubelet:
    flags:
      - --node-labels=node-role.kubernetes.io/batch=true
"""


@incident(
    story="A team wants kubectl to show the role batch and gives the kubelet --node-labels=node-role.kubernetes.io/batch=true in the user data. The kubelet refuses labels of kubernetes.io that are not its own and exits. "
    "The instances run, none joins, and Karpenter gives each up after 15 minutes. Seven pods are pending for 38 minutes.",
    cause="Nodes of batch never register for 38 minutes: the user data of EC2NodeClass batch gives the kubelet the label node-role.kubernetes.io/batch, which it refuses, so it does not start; 7 pods are pending.",
    thread="aws/karpenter-provider-aws#728",
    must=[r"regist|join", r"\bbatch\b", n(7), r"node-role\.kubernetes\.io|node-labels", r"user ?data"],
    must_not=[LAUNCHES, ROOM, ICE],
)
def kubelet_refuses_a_label(c: Cluster) -> None:
    usual(c)
    add_nodeclass(c, "batch", spec={"userData": NODE_CONFIG})
    failed = ("RegistrationFailed", "Failed to register node", "23m")
    add_pool(c, "batch", nodeclass="batch", registration=failed)
    pairs = [add_node(c, "batch", "m6i.xlarge", zone, age="7m", stage="Launched") for zone in c.zones]
    pods = waiting(c, "etl/loader", 7, "38m", pool="batch")
    nominated(c, pods, pairs, last="30s", count=30)


@incident(
    story="To pin a version of Bottlerocket, an EC2NodeClass was set to amiFamily Custom with the ID of the image. For this family Karpenter makes no user data, and the class has none: the instances do not know which "
    "cluster to join. Four pods are pending for 47 minutes.",
    cause="Nodes of pinned never register for 47 minutes: EC2NodeClass pinned has amiFamily Custom and no userData, so nothing tells the instances which cluster to join; 4 pods are pending.",
    thread="aws/karpenter-provider-aws#4708",
    must=[r"regist|join", r"\bpinned\b", n(4), r"\bCustom\b", r"user ?data"],
    must_not=[LAUNCHES, ROOM, ICE],
)
def custom_family_without_user_data(c: Cluster) -> None:
    usual(c)
    add_nodeclass(c, "pinned", spec={"amiFamily": "Custom", "amiSelectorTerms": [{"id": "ami-0b1e7f3d9c2a5e846"}]})
    add_pool(c, "pinned", nodeclass="pinned", registration=("RegistrationFailed", "Failed to register node", "32m"))
    pairs = [add_node(c, "pinned", "m6i.xlarge", zone, age="12m", stage="Launched") for zone in c.zones[:2]]
    pods = waiting(c, "shop/search", 4, "47m", pool="pinned")
    nominated(c, pods, pairs, last="30s", count=30)


@incident(
    story="Two urgent pods of the payments team preempted two builds. The builds have two hours of termination grace and use them: they end at the latest in 87 minutes. Until then kube-scheduler keeps the node nominated "
    "for the urgent pods, and Karpenter launches nothing for pods with a nominated node.",
    cause="2 pods of pay/settle are pending for 33 minutes: kube-scheduler preempted 2 pods of ci/build for them, which terminate for up to 87 minutes more (2 hours of grace); Karpenter launches nothing for pods with a nominated node.",
    thread="kubernetes/kubernetes#97546",
    must=["pay/settle", n(2), r"preempt|nominat", "ci/build", r"3[23] ?m", r"terminat|grace|end"],
    must_not=[LAUNCHES, ROOM, ICE],
)
def preemptor_waits_for_its_victims(c: Cluster) -> None:
    usual(c)
    c.add("PriorityClass", "urgent", age="90d", value=100000, globalDefault=False)
    host = add_node(c, "general", "m6i.xlarge", c.zones[0], age="6d")
    grace = {"terminationGracePeriodSeconds": 7200}
    victims = add_workload(c, "ci/build", kind="Job", on=[host], count=2, age="3h", cpu="1700m", memory="5Gi", spec=grace, deleting="-87m")  # fmt: skip
    for pod in victims:
        pod["metadata"]["deletionGracePeriodSeconds"] = 7200
    text = "0/7 nodes are available: 7 Insufficient cpu. preemption: not eligible due to a terminating pod on the nominated node."
    high = {"priorityClassName": "urgent", "priority": 100000}
    pods = waiting(c, "pay/settle", 2, "33m", text, cpu="1500m", memory="4Gi", spec=high)
    for pod in pods:
        pod["status"]["nominatedNodeName"] = host.name
    for pod in victims:
        text = f"Preempted by pod {pods[0]['metadata']['uid']} on node {host.name}"
        c.event(pod, "Preempted", text, last="33m", kind="Normal", source="default-scheduler")


@incident(
    story="A chart was copied from another cluster, which has a second scheduler. Its pods name the scheduler bin-packing-scheduler, and nothing of that name runs here. Four pods have no condition and no event for 52 minutes.",
    cause="4 pods of ads/ranker are pending for 52 minutes: they name the scheduler bin-packing-scheduler, and the cluster has none of that name.",
    thread="kubernetes/kubernetes#116982",
    must=["ads/ranker", "bin-packing-scheduler", n(4), r"5[12] ?m", r"no (ready )?(pod|workload|scheduler|controller)|none|not (exist|found|run|installed)|unknown|missing"],
    must_not=[LAUNCHES, ROOM, ICE, r"0 replicas|scaled to"],
)  # fmt: skip
def scheduler_of_another_cluster(c: Cluster) -> None:
    usual(c)
    waiting(c, "ads/ranker", 4, "52m", spec={"schedulerName": "bin-packing-scheduler"}, scheduled=False)


@incident(
    story="The EBS driver was limited to three volumes a node (--volume-attach-limit=3). A pod of the database has four. kube-scheduler refuses every node, and Karpenter, which knows no such limit of a new node, launches one node "
    "after the other: three in 21 minutes, all empty.",
    cause="db/scylla-0 is pending for 22 minutes: it has 4 volumes, and the EBS driver attaches at most 3 to a node (CSINode); Karpenter launched 3 nodes for it in vain.",
    thread="aws/karpenter-provider-aws#3647",
    must=["scylla", r"volumes?", r"\b4\b|four", r"\b3\b|three", r"limit|at most|max|attach|exceed", r"2[012] ?m"],
    must_not=[ROOM, ICE, r"\bzone[^\n]{0,40}(excludes|no node)"],
)
def more_volumes_than_a_node_takes(c: Cluster) -> None:
    usual(c)
    add_pool(
        c, "db", families=("m6i",), sizes=("xlarge",), labels={"team": "db"}, disruption={"consolidateAfter": "1h"}
    )
    claims = [f"{disk}-scylla-0" for disk in ("data-a", "data-b", "commitlog", "backup")]
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
    for name in claims:
        add_claim(c, "db", name, "gp3", age="22m")
    text = no_node({SELECTOR: 6, "node(s) exceed max volume count": 3})
    spec = {"nodeSelector": {"team": "db"}, "volumes": volumes}
    pods = waiting(c, "db/scylla", 1, "22m", text, kind="StatefulSet", cpu="2", memory="8Gi", spec=spec)
    for age in ("21m", "14m", "6m"):
        pair = add_node(
            c, "db", "m6i.xlarge", c.zones[0], age=age, requests={"cpu": "2190m", "memory": "8312Mi", "pods": "5"}
        )
        nominated(c, pods, [pair], last=age, count=3)
    for manifest in c.objects:
        if manifest["kind"] == "CSINode":
            manifest["spec"]["drivers"][0]["allocatable"]["count"] = 3


@incident(
    story="The account has its 1,000 instance profiles, many of them left over. Karpenter cannot create the one of the new EC2NodeClass sandbox; the error is only in its log, and the condition InstanceProfileReady stays "
    "Unknown for 41 minutes. Five pods are pending.",
    cause="EC2NodeClass sandbox is not ready for 41 minutes because its instance profile is not created (InstanceProfileReady is Unknown; Karpenter's log has the error), so NodePool sandbox launches nothing and 5 pods are pending.",
    thread="aws/karpenter-provider-aws#8838",
    must=[r"\bsandbox\b", r"instance ?profile", n(5), r"3[89] ?m|4[01] ?m", r"\blogs?\b|IAM"],
    must_not=[LAUNCHES, ROOM, ICE, r"does not exist|not found", r"\bAMIs?\b|[Ss]ubnet|[Ss]ecurity ?[Gg]roup"],
)
def instance_profiles_used_up(c: Cluster) -> None:
    usual(c)
    since = c.at("41m")
    result = add_nodeclass(c, "sandbox")
    del result["status"]["instanceProfile"]
    dependent = ("DependenciesNotReady", "Awaiting AMI, Instance Profile, Security Group, and Subnet resolution")
    unknown = {"InstanceProfileReady": AWAITING, "ValidationSucceeded": dependent}
    depends = ", ".join(f"{kind}=Unknown" for kind in unknown)
    unknown["Ready"] = ("ReconcilingDependents", depends)
    result["status"]["conditions"] = [
        condition(kind, "Unknown", since, *unknown[kind]) if kind in unknown else condition(kind, "True", since)
        for kind in (item["type"] for item in result["status"]["conditions"])
    ]
    result["metadata"] |= {"creationTimestamp": since, "generation": 1}
    pool = add_pool(c, "sandbox", nodeclass="sandbox")
    pool["metadata"] |= {"creationTimestamp": since, "generation": 1}
    pool["status"]["conditions"] = [
        condition("ValidationSucceeded", "True", since),
        condition("NodeClassReady", "Unknown", since, "NodeClassReadinessUnknown", "Node Class Readiness Unknown"),
        condition("NodeRegistrationHealthy", "Unknown", since, *AWAITING),
        condition("Ready", "Unknown", since, "ReconcilingDependents", "NodeClassReady=Unknown"),
    ]
    waiting(c, "qa/fuzzer", 5, "39m", pool="sandbox")


@incident(
    story="A StatefulSet of eight model servers with two GPUs each was put into a Kueue queue whose quota is eight GPUs. Kueue never admits a workload that is larger than the queue's quota: its eight pods have been gated for five hours. "
    "Kueue runs and says so in an event of the Workload.",
    cause="8 pods of ml/llm have been gated for 5 hours: Kueue cannot admit them, because they request 16 nvidia.com/gpu, and the quota of their queue is 8.",
    thread="kubernetes-sigs/kueue#189",
    must=["ml/llm", r"\bgate|kueue", n(8), "quota", r"nvidia\.com/gpu", r"\b5 ?h|(29\d|300) ?m"],
    must_not=[LAUNCHES, ROOM, ICE, r"kueue[^\n]{0,60}(does not run|not running|is down|scaled)", "unschedulable"],
)
def more_than_the_quota_of_the_queue(c: Cluster) -> None:
    usual(c)
    add_queued(
        c,
        8,
        "5h",
        "2",
        "couldn't assign flavors to pod set main: insufficient quota for nvidia.com/gpu in flavor a10g, request > maximum capacity (16 > 8)",
    )


@incident(
    story="The image sets its hostname late: each instance first joins as localhost-N and then again under its right name, so two Nodes have the same provider ID. Karpenter registers neither (MultipleNodesFound). Two instances "
    "run for 11 minutes, five pods are pending for 28 minutes.",
    cause="2 NodeClaims of edge do not register because two Nodes have the provider ID of each (MultipleNodesFound); 5 pods are pending for 28 minutes.",
    thread="openshift/installer#1874",
    must=[r"MultipleNodesFound|multiple nodes|(two|2|several) nodes[^\n]{0,60}(provider|instance|same)|same (provider|instance)", r"\bedge\b", n(5), n(2), r"regist"],
    must_not=[LAUNCHES, ROOM, ICE, r"never joined|not joined|did not join|do(es)? not join"],
)  # fmt: skip
def two_nodes_for_one_instance(c: Cluster) -> None:
    usual(c)
    add_pool(c, "edge", registration=("RegistrationFailed", "Failed to register node", "13m"))
    pairs = [add_node(c, "edge", "m6i.xlarge", zone, age="11m", stage="Launched") for zone in c.zones[:2]]
    likeness = copy.deepcopy(c.find("Node", c.nodes[2].name))
    for number, pair in enumerate(pairs):
        assert pair.claim is not None
        status = pair.claim["status"]
        for place, item in enumerate(status["conditions"]):
            if item["type"] == "Registered":
                text = "Invariant violated, matched multiple nodes"
                status["conditions"][place] = condition("Registered", "False", c.at("9m"), "MultipleNodesFound", text)
            if item["type"] == "Ready":
                status["conditions"][place] = condition(
                    "Ready", "False", c.at("9m"), "UnhealthyDependents", "Registered=False"
                )
        for name, age, ready in (
            (f"localhost-{number}", "10m", "Unknown"),
            (f"edge-{number}.ec2.internal", "9m", "True"),
        ):
            node = copy.deepcopy(likeness)
            node["metadata"] |= {"name": name, "uid": uid(c.name, "Node", name), "creationTimestamp": c.at(age)}
            labels = node["metadata"]["labels"]
            for key in ("karpenter.sh/registered", "karpenter.sh/initialized"):
                labels.pop(key, None)
            labels |= {
                "kubernetes.io/hostname": name,
                "karpenter.sh/nodepool": "edge",
                "topology.kubernetes.io/zone": pair.zone,
            }
            node["metadata"].pop("ownerReferences", None)
            taints = [{"key": "karpenter.sh/unregistered", "effect": "NoExecute"}]
            if ready == "Unknown":
                taints.append({"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"})
            node["spec"] = {"providerID": status["providerID"], "taints": taints}
            for item in node["status"]["conditions"]:
                if item["type"] == "Ready":
                    item |= {"status": ready, "lastTransitionTime": c.at("8m")}
            c.objects.append(node)
    text = no_node({"node(s) had untolerated taint {karpenter.sh/unregistered: }": 4, "Insufficient cpu": 6})
    nominated(c, waiting(c, "edge/envoy", 5, "28m", text, pool="edge"), pairs, last="20s", count=20)


@incident(
    story="NodePool router launches m6i.xlarge only. Two new DaemonSets of the security team request 1.9 cores of each of its nodes, and a router pod needs two cores: nothing is left for it. Four pods are pending for 44 minutes; "
    "alone they would fit.",
    cause="4 pods of edge/router (2 cores) do not fit on the nodes of NodePool router (m6i.xlarge), because DaemonSets use 2.1 of its 3.9 cores, 1.9 of them secops/falco and secops/scanner.",
    thread="aws/karpenter-provider-aws#6015",
    must=["edge/router", "DaemonSet", n(4), r"\bcpu\b|cores?", r"\brouter\b", r"falco|scanner|2\.1|2090m"],
    must_not=[LAUNCHES, ROOM, ICE],
)
def daemonsets_leave_no_room(c: Cluster) -> None:
    usual(c)
    add_pool(c, "router", families=("m6i",), sizes=("xlarge",), labels={"tier": "router"})
    for name, cpu in (("falco", "900m"), ("scanner", "1")):
        add_daemonset(c, "secops", name, cpu=cpu, memory="512Mi", spec={"nodeSelector": {"tier": "router"}})
    spec = {"nodeSelector": {"tier": "router"}}
    pods = waiting(c, "edge/router", 4, "44m", cpu="2", memory="2Gi", spec=spec)
    unschedulable(c, pods, NO_TYPE, minutes=44)


@incident(
    story="The queue of the research team in Volcano is at its capability, so Volcano refuses a gang of four pods for 40 minutes. It marks them Unschedulable, so Karpenter launched two nodes for them 38 minutes ago, which stay empty: "
    "the nodes are there, and the queue is the reason.",
    cause="4 pods of ml/bert are pending for 40 minutes: their scheduler volcano refuses them because the quota of their queue is used up; 2 empty nodes that Karpenter launched for them do not help.",
    thread="kubernetes-sigs/karpenter#742",
    must=["ml/bert", "volcano", r"queue", n(4), r"39 ?m|40 ?m"],
    must_not=[LAUNCHES, ROOM, ICE, "kube-scheduler", r"volcano[^\n]{0,60}(does not run|not running|is down)"],
)
def queue_of_volcano_is_full(c: Cluster) -> None:
    usual(c)
    add_workload(c, "volcano-system/volcano-scheduler", on=c.system[:1], age="30d", cpu="250m", memory="256Mi")
    fresh = [add_node(c, "general", "m6i.2xlarge", zone, age="38m") for zone in c.zones[:2]]
    text = "pod group is not ready, 4 Pending, 4 minAvailable; Pending: 4 Unschedulable"
    marks = {"scheduling.k8s.io/group-name": "bert"}
    pods = waiting(c, "ml/bert", 4, "40m", text, kind="Job", age="40m", cpu="3", memory="10Gi", annotations=marks, spec={"schedulerName": "volcano"})  # fmt: skip
    by_scheduler(c, pods)
    group = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": "bert", "namespace": "ml", "uid": uid("ml", "bert", "group")}}  # fmt: skip
    text = "queue resource quota insufficient: insufficient cpu"
    c.event(group, "Unschedulable", text, last="5s", first="40m", count=2300, kind="Normal", source="volcano")
    nominated(c, pods, fresh, last="15s", count=200)


@quiet(
    story="MIN_VALUES_POLICY is BestEffort. NodePool spot asks for 20 instance types and allows six, so Karpenter relaxes minValues and notes it on its NodeClaims. Everything runs, and a node for three new pods has been starting "
    "for 30 seconds.",
    cause="Karpenter relaxes minValues, as it was told to.",
    thread="kubernetes-sigs/karpenter#2299",
    must_not=[r"minValues|MinValues", r"launches nothing|cannot launch", "stuck"],
    settings={"MIN_VALUES_POLICY": "BestEffort"},
)
def fine_min_values_are_relaxed(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    wanted = {"key": "node.kubernetes.io/instance-type", "operator": "Exists", "minValues": 20}
    add_pool(c, "spot", capacity=("spot",), requirements=[wanted], labels={"tier": "spot"})
    fleet(c, "general", "orders/storefront", 3)
    relaxed = {"karpenter.sh/nodeclaim-min-values-relaxed": "true"}
    pairs = [add_node(c, "spot", "m6i.xlarge", zone, capacity="spot", age="2d", claim_annotations=relaxed) for zone in c.zones]  # fmt: skip
    spec = {"nodeSelector": {"tier": "spot"}}
    add_workload(c, "orders/thumbnails", on=pairs, count=9, age="47h", spec=spec)
    fresh = add_node(c, "spot", "m7i.xlarge", c.zones[1], capacity="spot", age="30s", stage="Launched", claim_annotations=relaxed)  # fmt: skip
    nominated(c, waiting(c, "orders/resize", 3, "40s", spec=spec), [fresh], last="28s")


@quiet(
    story="Volcano schedules a gang of six pods only as a whole. Karpenter launched two nodes for it 55 seconds ago; until both are ready, Volcano marks the pods Unschedulable.",
    cause="a gang waits for the nodes that are being launched for it.",
    thread="volcano-sh/volcano#4030",
    must_not=["stuck", r"refus", ROOM, r"volcano[^\n]{0,60}(down|not run|missing|not found)"],
)
def fine_gang_waits_for_its_nodes(c: Cluster) -> None:
    usual(c)
    add_workload(c, "volcano-system/volcano-scheduler", on=c.system[:1], age="30d", cpu="250m", memory="256Mi")
    pairs = [add_node(c, "general", "m6i.xlarge", zone, age="55s", stage="Launched") for zone in c.zones[:2]]
    text = "pod group is not ready, 6 Pending, 6 minAvailable; Pending: 6 Unschedulable"
    pods = waiting(c, "ml/bert", 6, "70s", text, kind="Job", age="70s", annotations={"scheduling.k8s.io/group-name": "bert"}, spec={"schedulerName": "volcano"})  # fmt: skip
    by_scheduler(c, pods)
    nominated(c, pods, pairs, last="50s")


@quiet(
    story="Pods with ResourceClaims run on the nodes of the managed node group, whose driver allocated their devices. Three hours ago they waited a minute for it. Karpenter has nothing to do with them.",
    cause="pods with ResourceClaims run on nodes that Karpenter does not manage.",
    thread="kubernetes-sigs/karpenter#1231",
    must_not=[r"ResourceClaim|Dynamic Resource", r"\bpending\b", LAUNCHES],
)
def fine_devices_are_allocated(c: Cluster) -> None:
    usual(c)
    claims = {"resourceClaims": [{"name": "nic", "resourceClaimTemplateName": "nic"}], "nodeSelector": {"eks.amazonaws.com/nodegroup": "system"}}  # fmt: skip
    pods = add_workload(c, "net/gateway", on=c.system, age="3h", cpu="200m", memory="256Mi", spec=claims)
    for pod in pods:
        pod["spec"]["containers"][0]["resources"]["claims"] = [{"name": "nic"}]
        text = "0/6 nodes are available: 2 cannot allocate all claims, 4 node(s) didn't match Pod's node affinity/selector."
        c.event(pod, "FailedScheduling", text, last="179m", first="3h", count=2, source="default-scheduler")


@quiet(
    story="The nodes of the only NodePool have a taint with the effect PreferNoSchedule, which no pod tolerates. kube-scheduler takes it for a preference, and Karpenter relaxes it: everything runs, and a node for three new pods has "
    "been starting for 25 seconds.",
    cause="a taint with the effect PreferNoSchedule keeps no pod away.",
    thread="aws/karpenter-provider-aws#1433",
    must_not=[r"tolerat", r"untolerated", r"launches nothing|cannot launch", "stuck"],
)
def fine_taint_is_a_preference(c: Cluster) -> None:
    taint = {"key": "team", "value": "batch", "effect": "PreferNoSchedule"}
    add_nodeclass(c)
    add_pool(c, "batch", template={"taints": [taint]})
    fleet(c, "batch", "orders/storefront", 4)
    fresh = add_node(c, "batch", "m6i.xlarge", c.zones[0], age="25s", stage="Launched")
    nominated(c, waiting(c, "orders/checkout", 3, "35s"), [fresh], last="20s")
