"""NodeClasses and NodePools that are not ready, not valid, missing or being deleted."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import GPU_POD, GPU_TAINT, fleet, unschedulable, usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n
from tests.incidents.node_objects import add_node, both
from tests.incidents.objects import Object, condition
from tests.incidents.pods import PROTECTED, add_pdb, add_workload, waiting
from tests.incidents.pools import add_nodeclass, add_pool

AWAITING = "Awaiting AMI, Instance Profile, Security Group, and Subnet resolution"


SCP = "User is not authorized to perform this operation due to a service control policy"


@incident(
    story="The NodeClass of pool batch names an instance profile that was deleted with the old Terraform stack. The pool has "
    "not been ready for 78 minutes; six pods wait for it.",
    cause='EC2NodeClass batch names the instance profile "KarpenterNode-batch-v2", which does not exist, so pool batch '
    "launches nothing and 6 pods are pending.",
    thread="aws/karpenter-provider-aws#9390",
    must=[r"instance ?profile|KarpenterNode-batch-v2", "batch", n(6), r"launch|not (been )?ready|NotReady"],
    must_not=[LAUNCHES],
)
def instance_profile(c: Cluster) -> None:
    add_nodeclass(c)
    manifest = add_nodeclass(
        c,
        "batch",
        broken={
            "ValidationSucceeded": ("InstanceProfileNotFound", 'Instance profile "KarpenterNode-batch-v2" not found')
        },
        since="78m",
        spec={"instanceProfile": "KarpenterNode-batch-v2"},
        status={"instanceProfile": "KarpenterNode-batch-v2"},
    )
    del manifest["spec"]["role"]
    add_pool(c, "general")
    add_pool(c, "batch", nodeclass="batch", not_ready=("UnhealthyDependents", "ValidationSucceeded=False", "78m"))
    fleet(c, "general", "orders/storefront", 3)
    waiting(c, "billing/invoices", 6, "55m", kind="Job", age="55m", cpu="2", memory="6Gi", pool="batch")


@incident(
    story="A cleanup removed the discovery tag from the subnets. The only NodeClass finds none, both pools have not been ready "
    "for 33 minutes, and eleven pods wait.",
    cause="EC2NodeClass default finds no subnets, so neither pool launches anything; 11 pods are pending.",
    thread="kubernetes-sigs/karpenter#2992",
    must=["subnet", "default", n(11), r"launch|not (been )?ready|NotReady"],
    must_not=[LAUNCHES],
)
def no_subnets(c: Cluster) -> None:
    add_nodeclass(
        c,
        broken={
            "SubnetsReady": ("SubnetsNotFound", "SubnetSelector did not match any Subnets"),
            "ValidationSucceeded": ("DependenciesNotReady", AWAITING),
        },
        since="33m",
        status={"subnets": []},
    )
    reason = ("UnhealthyDependents", "SubnetsReady=False, ValidationSucceeded=False", "33m")
    add_pool(c, "general", not_ready=reason)
    add_pool(c, "spot", capacity=("spot",), weight=20, not_ready=reason)
    fleet(c, "general", "orders/storefront", 4)
    fleet(c, "spot", "orders/imports", 2, capacity="spot")
    waiting(c, "orders/checkout", 11, "31m")


@incident(
    story="The NodeClass was renamed from arm to graviton, and pool arm-batch still names the old one. Its four pods wait for "
    "two hours.",
    cause="NodePool arm-batch names the EC2NodeClass arm, which does not exist, so it launches nothing and 4 pods are pending.",
    thread="kubernetes-sigs/karpenter#1546",
    must=[
        "arm-batch",
        "NodeClass",
        r"not ?found|missing|does not exist|no such|absent|was deleted|unknown|not exist|no EC2NodeClass|there is no",
        n(4),
    ],
    must_not=[LAUNCHES],
)
def nodeclass_missing(c: Cluster) -> None:
    add_nodeclass(c)
    add_nodeclass(c, "graviton")
    add_pool(c, "general")
    add_pool(c, "arm-batch", nodeclass="arm", not_ready=("NodeClassNotFound", "NodeClass not found on cluster", "2h5m"))
    fleet(c, "general", "orders/storefront", 3)
    waiting(c, "media/transcode", 4, "2h", cpu="2", memory="4Gi", pool="arm-batch")


@incident(
    story="Someone deleted the NodeClass legacy five hours ago. It waits for its three nodes, which nothing removes, and its "
    "pool launches nothing for the two pods that need it.",
    cause="EC2NodeClass legacy is being deleted for 5 hours, so pool legacy is not ready and 2 pods are pending.",
    thread="aws/karpenter-provider-aws#6462",
    must=["legacy", "NodeClass", r"terminat|delet", n(2)],
    must_not=[LAUNCHES],
)
def nodeclass_terminating(c: Cluster) -> None:
    add_nodeclass(c)
    manifest = add_nodeclass(c, "legacy", finalizers=["karpenter.k8s.aws/termination"], deletionTimestamp=c.at("5h"))
    add_pool(c, "general")
    add_pool(c, "legacy", nodeclass="legacy", not_ready=("NodeClassTerminating", "NodeClass is Terminating", "5h"))
    fleet(c, "general", "orders/storefront", 3)
    pairs = fleet(c, "legacy", "erp/worker", 3)
    names = ", ".join(sorted(pair.claim_name for pair in pairs))
    text = f"Waiting on NodeClaim termination for {names}"
    c.event(manifest, "WaitingOnNodeClaimTermination", text, last="1m", first="5h", count=140, kind="Normal")
    waiting(c, "erp/reports", 2, "4h40m", pool="legacy")


@incident(
    story="The image of pool gpu was deregistered five days ago. Its two nodes run on and no pod is pending, but the pool cannot launch a "
    "node any more. The three other pools have their own classes and are fine.",
    cause="EC2NodeClass gpu matches no AMI, so NodePool gpu has not been ready for 5 days and can launch nothing; no pod is pending yet.",
    thread="aws/karpenter-provider-aws#7436",
    must=[
        r"\bAMIs?\b|\bimages?\b",
        r"\bgpu\b",
        r"not (been )?ready|NotReady|(cannot|can't|can not|could not) launch|launch\w* (nothing|no )|no (new )?nodes?",
        r"\b5 ?d|120 ?h|119 ?h|4d2\d",
    ],
    must_not=[
        r"\b(general|web|batch)\b[^\n]{0,40}(not ready|cannot launch|launches nothing)",
        r"[1-9]\d* pods?[^\n]{0,12} pending",
    ],
)
def one_class_of_four_without_image(c: Cluster) -> None:
    add_nodeclass(c)
    gone = ("AMINotFound", "AMISelector did not match any AMIs")
    terms = [{"name": "gpu-eks-1.35-2026.03.*"}]
    add_nodeclass(
        c, "gpu", broken={"AMIsReady": gone}, since="5d", spec={"amiSelectorTerms": terms, "amiFamily": "AL2023"},
        status={"amis": []},
    )  # fmt: skip
    for name in ("general", "web", "batch"):
        add_pool(c, name)
    add_pool(
        c, "gpu", families=("g5",), nodeclass="gpu", not_ready=("UnhealthyDependents", "AMIsReady=False", "5d"),
        template={"taints": [GPU_TAINT]}, disruption={"consolidationPolicy": "WhenEmpty"},
    )  # fmt: skip
    fleet(c, "general", "orders/storefront", 3)
    fleet(c, "web", "orders/catalog", 3)
    pairs = [add_node(c, "gpu", "g5.2xlarge", zone, gpus=1, age="12d") for zone in c.zones[:2]]
    add_workload(c, "ml/ranker", on=pairs, age="11d", cpu="6", memory="20Gi", requests={"nvidia.com/gpu": "1"}, spec={"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]})  # fmt: skip


@incident(
    story="The security team added a service control policy 40 minutes ago. Karpenter's check of ec2:RunInstances fails since, so both pools are "
    "not ready. Running nodes stay; seven pods wait.",
    cause="EC2NodeClass default is not ready: a service control policy forbids Karpenter ec2:RunInstances, so no pool launches; 7 pods are pending.",
    thread="aws/karpenter-provider-aws#7953",
    must=["RunInstances", r"not authori[sz]ed|isn't authori[sz]ed|service control policy|permission", n(7)],
    must_not=[LAUNCHES, ROOM, ICE],
)
def launches_not_authorised(c: Cluster) -> None:
    text = f"Controller isn't authorized to call ec2:RunInstances: {SCP}"
    why = ("UnhealthyDependents", "ValidationSucceeded=False", "40m")
    add_nodeclass(c, broken={"ValidationSucceeded": ("RunInstancesAuthCheckFailed", text)}, since="40m")
    add_pool(c, "general", not_ready=why)
    add_pool(c, "spot", capacity=("spot",), not_ready=why)
    fleet(c, "general", "orders/storefront", 3)
    fleet(c, "spot", "orders/thumbnails", 2, capacity="spot", age="2d")
    waiting(c, "orders/checkout", 7, "36m")


@incident(
    story="A requirement of the NodePool tenant-b has a typing error (instance-familly), which Karpenter rejects. The pool has not been ready for "
    "35 minutes, and four pods of the tenant wait.",
    cause="NodePool tenant-b is not valid (it requires karpenter.k8s.aws/instance-familly), so it launches nothing; 4 pods are pending.",
    thread="aws/karpenter-provider-aws#7535",
    must=["tenant-b", "instance-familly", r"valid|not allowed|restricted|reject|unknown", n(4)],
    must_not=[LAUNCHES, ICE],
)
def pool_not_valid(c: Cluster) -> None:
    usual(c)
    key = "karpenter.k8s.aws/instance-familly"
    typo: Object = {"key": key, "operator": "In", "values": ["m6i", "m7i"]}
    pool = add_pool(c, "tenant-b", families=(), requirements=[typo], labels={"tenant": "b"})
    text = (
        f"invalid value: using label {key} is not allowed as it might interfere with the internal provisioning logic; specify a well known "
        "label: [eks.amazonaws.com/capacityType karpenter.k8s.aws/instance-category karpenter.k8s.aws/instance-cpu "
        "karpenter.k8s.aws/instance-family], or a custom label that does not use a restricted domain: [karpenter.k8s.aws "
        "karpenter.sh kubernetes.io] in requirements, restricted"
    )
    states = pool["status"]["conditions"]
    states[0] = condition("ValidationSucceeded", "False", c.at("35m"), "NodePoolValidationFailed", text)
    states[3] = condition("Ready", "False", c.at("35m"), "UnhealthyDependents", "ValidationSucceeded=False")
    pods = waiting(c, "tenant-b/api", 4, "34m", spec={"nodeSelector": {"tenant": "b"}})
    unschedulable(c, pods, 'incompatible requirements, label "tenant" does not have known values', minutes=34)


@incident(
    story="The NodePool web was deleted three minutes ago, with all that it owns: its eight nodes drain at once, no budget counts, and "
    "15 of their pods wait. The other pool is dedicated to another team.",
    cause="NodePool web is being deleted, so its 8 nodes drain at the same time; 15 pods are pending.",
    thread="aws/karpenter-provider-aws#6905",
    must=["web", r"delet|terminat|drain", n(8), n(15)],
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
        "orders/storefront",
        message="0/10 nodes are available: 2 Insufficient cpu, 8 node(s) had untolerated taint {karpenter.sh/disrupted: }. "
        "preemption: 0/10 nodes are available: 2 No preemption victims found for incoming pod, 8 Preemption is not helpful for "
        "scheduling.",
        on=pairs,
        count=9,
        pending=15,
        pending_since="2m",
    )
    for pod in pods[9:]:
        text = "Failed to schedule pod, did not tolerate taint (taint=dedicated=data:NoSchedule)"
        c.event(pod, "FailedScheduling", text, last="1m")


@incident(
    story="Two unrelated faults: the tag of the security groups was renamed, so the NodeClass gpu finds none and three pods wait for 44 minutes; and a node "
    "expires in a quarter of an hour and takes a protected training run with it half an hour later.",
    cause="EC2NodeClass gpu finds no security groups, so 3 pods are pending; ml/train-resnet is killed after its node expires in 15 minutes.",
    thread="aws/karpenter-provider-aws#3007",
    must=[r"security ?group", r"\bgpu\b", n(3), "train-resnet", r"expir"],
    must_not=[LAUNCHES, ROOM, ICE],
    karpenter_version="1.13.0",
)
def no_security_groups_and_a_node_expires(c: Cluster) -> None:
    usual(c)
    why = ("UnhealthyDependents", "SecurityGroupsReady=False, ValidationSucceeded=False", "46m")
    broken = {
        "SecurityGroupsReady": ("SecurityGroupsNotFound", "SecurityGroupSelector did not match any SecurityGroups"),
        "ValidationSucceeded": ("DependenciesNotReady", "Awaiting AMI, Instance Profile, Security Group, and Subnet resolution"),
    }  # fmt: skip
    add_nodeclass(c, "gpu", broken=broken, since="46m", status={"securityGroups": []})
    add_pool(c, "gpu", families=("g5",), nodeclass="gpu", template={"taints": [GPU_TAINT]}, not_ready=why)
    waiting(c, "ml/inference", 3, "44m", requests={"nvidia.com/gpu": "1"}, spec=GPU_POD)
    add_pool(c, "train", template={"terminationGracePeriod": "30m"})
    old = add_node(c, "train", "m6i.2xlarge", c.zones[1], age="29d23h45m")
    add_workload(c, "ml/train-resnet", kind="Job", on=[old], age="20h", cpu="6", memory="20Gi", annotations=PROTECTED, pool="train")  # fmt: skip
