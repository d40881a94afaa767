"""NodeClasses that are not ready, missing or being deleted, and reservations that are full."""

from __future__ import annotations

from typing import Any

from tests.incidents.cluster import ZONE_IDS, Cluster
from tests.incidents.fleets import CPU, MEMORY, fleet
from tests.incidents.incident import LAUNCHES, ROOM, incident, n
from tests.incidents.node_objects import add_node
from tests.incidents.objects import Object, node_resources
from tests.incidents.pods import add_workload
from tests.incidents.pools import add_nodeclass, add_pool

AWAITING = "Awaiting AMI, Instance Profile, Security Group, and Subnet resolution"
NO_MATCH = "didn't match Pod's node affinity/selector"


def waits(count: int, here: int) -> str:
    """Return kube-scheduler's message if some nodes are full and the others not selected."""
    text = f"0/{count} nodes are available: {here} Insufficient cpu" if here else f"0/{count} nodes are available: "
    if count > here:
        text += (", " if here else "") + f"{count - here} node(s) {NO_MATCH}"
    return f"{text}. preemption: 0/{count} nodes are available: {count} Preemption is not helpful for scheduling."


@incident(
    story="The NodeClass of pool batch names an instance profile that was deleted with the old Terraform stack. The pool has "
    "not been ready for 78 minutes; six pods wait for it.",
    cause='EC2NodeClass batch names the instance profile "KarpenterNode-batch-v2", which does not exist, so pool batch '
    "launches nothing and 6 pods are pending.",
    thread="aws/karpenter-provider-aws#9390",
    must=[
        [r"instance ?profile|KarpenterNode-batch-v2"],
        ["batch"],
        [n(6), r"\bsix\b"],
        [r"launch|not (been )?ready|NotReady"],
    ],
    must_not=[LAUNCHES],
)
def instance_profile(c: Cluster) -> None:
    add_nodeclass(c)
    made = add_nodeclass(
        c,
        "batch",
        broken={
            "ValidationSucceeded": ("InstanceProfileNotFound", 'Instance profile "KarpenterNode-batch-v2" not found')
        },
        since="78m",
        spec={"instanceProfile": "KarpenterNode-batch-v2"},
        status={"instanceProfile": "KarpenterNode-batch-v2"},
    )
    del made["spec"]["role"]
    add_pool(c, "general")
    add_pool(c, "batch", nodeclass="batch", not_ready=("UnhealthyDependents", "ValidationSucceeded=False", "78m"))
    fleet(c, "general", "orders", "storefront", 3)
    add_workload(
        c,
        "Job",
        "billing",
        "invoices",
        pending=6,
        pending_since="55m",
        age="55m",
        cpu="2",
        memory="6Gi",
        spec={"nodeSelector": {"karpenter.sh/nodepool": "batch"}, "restartPolicy": "Never"},
        message=waits(5, 0),
    )


@incident(
    story="A cleanup removed the discovery tag from the subnets. The only NodeClass finds none, both pools have not been ready "
    "for 33 minutes, and eleven pods wait.",
    cause="EC2NodeClass default finds no subnets, so neither pool launches anything; 11 pods are pending.",
    thread="kubernetes-sigs/karpenter#2992",
    must=[["subnet"], ["default"], [n(11), r"\beleven\b"], [r"launch|not (been )?ready|NotReady"]],
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
    fleet(c, "general", "orders", "storefront", 4)
    fleet(c, "spot", "orders", "imports", 2, capacity="spot")
    add_workload(
        c,
        "Deployment",
        "orders",
        "checkout",
        pending=11,
        pending_since="31m",
        cpu=CPU,
        memory=MEMORY,
        message=waits(8, 8),
    )


@incident(
    story="The NodeClass was renamed from arm to graviton, and pool arm-batch still names the old one. Its four pods wait for "
    "two hours.",
    cause="NodePool arm-batch names the EC2NodeClass arm, which does not exist, so it launches nothing and 4 pods are pending.",
    thread="kubernetes-sigs/karpenter#1546",
    must=[
        ["arm-batch"],
        ["NodeClass"],
        [r"not ?found|missing|does not exist|no such|absent|was deleted|unknown|not exist|no EC2NodeClass|there is no"],
        [n(4), r"\bfour\b"],
    ],
    must_not=[LAUNCHES],
)
def nodeclass_missing(c: Cluster) -> None:
    add_nodeclass(c)
    add_nodeclass(c, "graviton")
    add_pool(c, "general")
    add_pool(c, "arm-batch", nodeclass="arm", not_ready=("NodeClassNotFound", "NodeClass not found on cluster", "2h5m"))
    fleet(c, "general", "orders", "storefront", 3)
    add_workload(
        c,
        "Deployment",
        "media",
        "transcode",
        pending=4,
        pending_since="2h",
        cpu="2",
        memory="4Gi",
        spec={"nodeSelector": {"karpenter.sh/nodepool": "arm-batch"}},
        message=waits(5, 0),
    )


@incident(
    story="Someone deleted the NodeClass legacy five hours ago. It waits for its three nodes, which nothing removes, and its "
    "pool launches nothing for the two pods that need it.",
    cause="EC2NodeClass legacy is being deleted for 5 hours, so pool legacy is not ready and 2 pods are pending.",
    thread="aws/karpenter-provider-aws#6462",
    must=[["legacy"], ["NodeClass"], [r"terminat|delet"], [n(2), r"\btwo\b"]],
    must_not=[LAUNCHES],
)
def nodeclass_terminating(c: Cluster) -> None:
    add_nodeclass(c)
    made = add_nodeclass(c, "legacy", finalizers=["karpenter.k8s.aws/termination"], deletionTimestamp=c.at("5h"))
    add_pool(c, "general")
    add_pool(c, "legacy", nodeclass="legacy", not_ready=("NodeClassTerminating", "NodeClass is Terminating", "5h"))
    fleet(c, "general", "orders", "storefront", 3)
    pairs = fleet(c, "legacy", "erp", "worker", 3)
    names = ", ".join(sorted(pair.claim_name for pair in pairs))
    text = f"Waiting on NodeClaim termination for {names}"
    c.event(made, "WaitingOnNodeClaimTermination", text, last="1m", first="5h", count=140, kind="Normal")
    add_workload(
        c,
        "Deployment",
        "erp",
        "reports",
        pending=2,
        pending_since="4h40m",
        cpu=CPU,
        memory=MEMORY,
        spec={"nodeSelector": {"karpenter.sh/nodepool": "legacy"}},
        message=waits(8, 3),
    )


def m7i(reserved: int | None) -> list[Object]:
    """Return m7i.2xlarge as an instance type, with a capacity reservation in us-east-1b if its free slots are given."""
    capacity, allocatable = node_resources("m7i.2xlarge")
    zones = {"us-east-1a": 0.4032, "us-east-1b": 0.4032, "us-east-1c": 0.4032}

    def wants(**values: str) -> list[Object]:
        names = {"zone": "topology.kubernetes.io/zone", "kind": "karpenter.sh/capacity-type"}
        names |= {"zone_id": "topology.k8s.aws/zone-id", "reservation": "karpenter.k8s.aws/capacity-reservation-id"}
        return [{"key": names[key], "operator": "In", "values": [value]} for key, value in values.items()]

    offerings: list[dict[str, Any]] = [
        {"requirements": wants(kind="on-demand", zone=zone, zone_id=ZONE_IDS[zone]), "price": price, "available": True}
        for zone, price in zones.items()
    ]
    kinds = ["on-demand"]
    if reserved is not None:
        kinds.append("reserved")
        place = wants(kind="reserved", zone="us-east-1b", zone_id="use1-az6", reservation="cr-0b51f7d2c94e8a360")
        offerings.append({"requirements": place, "price": 0.0, "available": True, "reservationCapacity": reserved})
    labels = {
        "node.kubernetes.io/instance-type": ["m7i.2xlarge"],
        "kubernetes.io/arch": ["amd64"],
        "kubernetes.io/os": ["linux"],
        "karpenter.k8s.aws/instance-category": ["m"],
        "karpenter.k8s.aws/instance-family": ["m7i"],
        "karpenter.k8s.aws/instance-size": ["2xlarge"],
        "topology.kubernetes.io/zone": [*zones],
        "karpenter.sh/capacity-type": kinds,
    }
    memory = int(capacity["memory"][:-2]) - int(allocatable["memory"][:-2])
    return [
        {
            "name": "m7i.2xlarge",
            "requirements": [{"key": key, "operator": "In", "values": values} for key, values in labels.items()],
            "capacity": capacity,
            "overhead": {"kubeReserved": {"cpu": "90m", "memory": f"{memory}Ki"}},
            "offerings": offerings,
        }
    ]


@incident(
    story="Pool reserved may use a capacity reservation only, and ranks before the on-demand pool. The reservation is full, so "
    "six pods wait for 72 minutes; Karpenter 1.15 neither tries the other pool nor writes an event.",
    cause="The capacity reservation of pool reserved is full, and Karpenter waits for it instead of using pool general: "
    "6 pods are pending.",
    thread="zalando-incubator/kubernetes-on-aws#11623",
    must=[
        ["reserv"],
        [
            r"\bfull\b|no (free )?(room|slot|capacity)|exhausted|used up|\b0 (free|left|slots)|none (is )?(left|free)|\btaken\b"
        ],
        [n(6), r"\bsix\b"],
        ["quotes|orders/"],
    ],
    must_not=[LAUNCHES, ROOM],
    instance_types=m7i(0),
)
def reservation_full(c: Cluster) -> None:
    reservation = {
        "id": "cr-0b51f7d2c94e8a360",
        "instanceType": "m7i.2xlarge",
        "availabilityZone": "us-east-1b",
        "instanceMatchCriteria": "targeted",
        "ownerID": "111122223333",
        "reservationType": "default",
        "interruptible": False,
        "state": "active",
    }
    add_nodeclass(c)
    add_nodeclass(
        c,
        "reserved",
        spec={"capacityReservationSelectorTerms": [{"id": reservation["id"]}]},
        status={"capacityReservations": [reservation]},
    )
    add_pool(
        c, "reserved", families=("m7i",), sizes=("2xlarge",), capacity=("reserved",), weight=50, nodeclass="reserved"
    )
    add_pool(c, "general", families=("m7i",), sizes=("2xlarge",), weight=10)
    pairs = [add_node(c, "reserved", "m7i.2xlarge", "us-east-1b", capacity="reserved", age="20d") for _ in range(4)]
    for pair in pairs:
        for one in (pair.node, pair.claim):
            assert one is not None
            one["metadata"]["labels"]["karpenter.k8s.aws/capacity-reservation-id"] = reservation["id"]
            one["metadata"]["labels"]["karpenter.k8s.aws/capacity-reservation-type"] = "default"
    add_workload(
        c,
        "Deployment",
        "orders",
        "quotes",
        on=pairs,
        count=8,
        pending=6,
        pending_since="72m",
        cpu="3500m",
        memory="12Gi",
        message="0/6 nodes are available: 6 Insufficient cpu. preemption: 0/6 nodes are available: "
        "6 No preemption victims found for incoming pod.",
    )
