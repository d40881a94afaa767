"""Reservations, prices, launch settings and lifetimes of nodes that do not do what was meant."""

from __future__ import annotations

from tests.incidents.cluster import Cluster, NodePair
from tests.incidents.fleets import big_fleet, fleet, gone_claim, refused, usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n, order_of, quiet
from tests.incidents.node_objects import add_node, both
from tests.incidents.objects import Object, condition, digest
from tests.incidents.pods import PROTECTED, SELECTOR, add_pod, add_volume, add_workload, no_node, waiting
from tests.incidents.pools import add_nodeclass, add_pool

STUCK = "stuck|never (register|initialize)|does not advance|no progress"


def _reservation(c: Cluster, instance_type: str, zone: str, **more: str) -> Object:
    return {
        "id": f"cr-0{digest(c.name, instance_type)[:16]}", "instanceType": instance_type, "availabilityZone": zone, "instanceMatchCriteria": "targeted",
        "ownerID": "111122223333", "reservationType": "default", "interruptible": False, "state": "active", **more,
    }  # fmt: skip


def _lose_node(c: Cluster, pair: NodePair) -> None:
    """Remove a Node, as someone does who also removes its finalizer; its NodeClaim and its instance stay."""
    gone = pair.name
    c.objects[:] = [
        item for item in c.objects if item["kind"] not in ("Node", "CSINode") or item["metadata"]["name"] != gone
    ]
    pair.node = None


@incident(
    story="NodePool stable requires two zones with minValues 2, for resilience. The volume of db/pg-1 is in us-east-1b, so every NodeClaim for it may only be in one zone, and Karpenter cannot create it: the NodeClaim would have fewer zones than minValues asks for.",
    cause="db/pg-1 is pending for 48 minutes: its volume is in us-east-1b, and NodePool stable demands minValues 2 on the zone, which one zone cannot satisfy.",
    thread="kubernetes-sigs/karpenter#2999",
    must=["db/pg-1", r"\bstable\b", "minValues", r"zone|us-east-1b", r"4[78] ?m"],
    must_not=[LAUNCHES, ROOM, ICE],
    other=[{"command": ["explain", "pod", "db/pg-1"], "must": [["minValues"], ["stable"]]}],
)  # fmt: skip
def min_values_on_the_zone(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "stable")
    pairs = fleet(c, "stable", "orders/storefront", 4, zones=("us-east-1a", "us-east-1b"))
    zones = {
        "key": "topology.kubernetes.io/zone",
        "operator": "In",
        "values": ["us-east-1a", "us-east-1b"],
        "minValues": 2,
    }
    c.find("NodePool", "stable")["spec"]["template"]["spec"]["requirements"].append(zones)
    assert len(pairs) == 4
    message = no_node({"Insufficient cpu": 3, "node(s) had volume node affinity conflict": 3})
    volume = add_volume(c, "db", "data-pg-1", "us-east-1b")
    waiting(c, "db/pg", 2, "48m", message, kind="StatefulSet", cpu="2", memory="6Gi", spec={"volumes": [volume]})
    c.objects[:] = [manifest for manifest in c.objects if manifest["metadata"]["name"].split(".")[0] != "pg-0"]
    other = add_volume(c, "db", "data-pg-0", "us-east-1a")
    host = add_node(c, "stable", "m6i.xlarge", "us-east-1a", age="20d")
    owner = c.find("StatefulSet", "pg")
    add_pod(c, "db", "pg-0", node=host, parent=owner, age="19d", cpu="2", memory="6Gi", labels=owner["metadata"]["labels"], spec={"volumes": [other]})  # fmt: skip


@incident(
    story="One NodeOverlay adds smarter-devices/fuse and smarter-devices/kvm to m6i. Forty minutes ago another team made a second one of the same weight, with another number of smarter-devices/fuse: of two that conflict Karpenter drops the earlier in the alphabet, with all it sets. No instance type has smarter-devices/kvm any more, and six pods are pending for 37 minutes.",
    cause="NodeOverlay fuse is not applied, because it conflicts with fuse-builds of the same weight (10), so no instance type has smarter-devices/kvm; 6 pods of ci/android are pending.",
    thread="kubernetes-sigs/karpenter#2306",
    must=["NodeOverlay", "fuse-builds", "conflict", r"smarter-devices/kvm", n(6), "weight"],
    must_not=[LAUNCHES, ROOM, ICE, r"gate[^.]{0,40}off"],
    other=[{"command": ["pending"], "must": [["smarter-devices/kvm"]]}],
    settings={"FEATURE_GATES": "NodeOverlay=true"},
)
def overlays_that_conflict(c: Cluster) -> None:
    usual(c, families=("m6i",))
    family = {"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": ["m6i"]}
    devices = {"smarter-devices/fuse": "20", "smarter-devices/kvm": "4"}
    for name, capacity, age in (("fuse", devices, "30d"), ("fuse-builds", {"smarter-devices/fuse": "5"}, "41m")):
        states = [condition(kind, "True", c.at(age)) for kind in ("ValidationSucceeded", "Ready")]
        if name == "fuse":
            states[0] = condition(
                "ValidationSucceeded", "False", c.at("41m"), "Conflict", "conflict with another overlay"
            )
            states[1] = condition("Ready", "False", c.at("41m"), "UnhealthyDependents", "ValidationSucceeded=False")
        spec = {"requirements": [family], "capacity": capacity, "weight": 10}
        c.add("NodeOverlay", name, age=age, spec=spec, status={"conditions": states})
    waiting(c, "ci/android", 6, "37m", requests={"smarter-devices/kvm": "1"})


@incident(
    story="To keep NodePool web for one team, its taint dedicated=web was added six hours ago. Its five nodes drift since then. They have no such taint, and the pods of shop/front on them do not tolerate it: on new nodes of web they would have no place, so drift replaces none.",
    cause="The drift of 5 nodes of web does not advance for 6 hours: the pods of shop/front on them do not tolerate the taint dedicated=web, which NodePool web now has.",
    thread="aws/karpenter-provider-aws#6256",
    must=[r"\bweb\b", n(5), "drift", "shop/front", r"taint|tolera", r"dedicated", r"\b[56] ?h"],
    must_not=[LAUNCHES, r"[1-9]\d* pods?[^\n]{0,12} pending", "do-not-disrupt", r"\bPDB\b|PodDisruptionBudget"],
)  # fmt: skip
def taint_added_to_a_pool_in_use(c: Cluster) -> None:
    usual(c)
    pool = add_pool(c, "web", labels={"team": "web"})
    pairs = [
        add_node(c, "web", "m6i.xlarge", c.zones[number % 3], age="20d", drifted="6h", drift_reason="NodePoolDrifted") for number in range(5)
    ]  # fmt: skip
    pods = add_workload(c, "shop/front", on=pairs, count=15, age="19d", spec={"nodeSelector": {"team": "web"}})
    pool["spec"]["template"]["spec"]["taints"] = [{"key": "dedicated", "value": "web", "effect": "NoSchedule"}]
    pool["metadata"]["annotations"]["karpenter.sh/nodepool-hash"] = "10774320058172263114"
    why = 'incompatible with nodepool "web", daemonset overhead={"cpu":"190m","memory":"120Mi","pods":"4"}, did not tolerate taint(s) (taint(s)=[dedicated=web:NoSchedule])'
    for number, pair in enumerate(pairs):
        names = [pod["metadata"]["name"] for pod in pods[number::5]]
        text = "Not all pods would schedule, " + " ".join(f"shop/{name} => {why}" for name in names) + " "
        for manifest in both(pair):
            c.event(manifest, "DisruptionBlocked", text, last="2m", first="58m", count=9, kind="Normal")


@incident(
    story="The EC2 Capacity Block of the training team ends in 65 minutes. EC2 ends its instances half an hour before that, and Karpenter begins to drain them ten minutes earlier still: in 25 minutes. Four pods of a training job run there, protected by do-not-disrupt, and there is no other capacity for them.",
    cause="The capacity block of NodePool training ends in 65 minutes; EC2 ends its 4 instances 30 minutes before, and Karpenter drains them in 25 minutes: the 4 pods of ml/pretrain are stopped although do-not-disrupt protects them.",
    thread="aws/karpenter-provider-aws#8362",
    must=[r"\btraining\b|\bcr-0", r"capacity block|reservation", n(4), "ml/pretrain", r"\b(2[45]|3[45]|6[45]) ?m|1h ?0?[45]|10:35|10:05|09:55"],
    must_not=[LAUNCHES, r"[1-9]\d* pods?[^\n]{0,12} pending", "drift"],
)  # fmt: skip
def capacity_block_ends(c: Cluster) -> None:
    usual(c)
    block = _reservation(c, "g5.2xlarge", "us-east-1b", reservationType="capacity-block", endTime=c.at("-65m"))
    terms = {"capacityReservationSelectorTerms": [{"id": block["id"]}]}
    add_nodeclass(c, "training", spec=terms, status={"capacityReservations": [block]})
    add_pool(c, "training", families=("g5",), sizes=("2xlarge",), capacity=("reserved",), nodeclass="training")
    pairs = [add_node(c, "training", "g5.2xlarge", "us-east-1b", capacity="reserved", age="6d", gpus=1) for _ in range(4)]  # fmt: skip
    for pair in pairs:
        for manifest in both(pair):
            manifest["metadata"]["labels"]["karpenter.k8s.aws/capacity-reservation-id"] = block["id"]
            manifest["metadata"]["labels"]["karpenter.k8s.aws/capacity-reservation-type"] = "capacity-block"
    add_workload(c, "ml/pretrain", kind="Job", on=pairs, age="5d", cpu="7", memory="24Gi", requests={"nvidia.com/gpu": "1"}, annotations=PROTECTED, pool="training")  # fmt: skip


@incident(
    story="A large cluster of spot nodes. Karpenter was installed without an interruption queue, so it learns nothing of spot interruptions: in the last hour seven instances were taken back, and their pods were cut off without a drain. Each time the cloud controller found the instance gone and deleted the Node.",
    cause="7 spot nodes of NodePool burst disappeared within the last hour without a drain: EC2 took their instances back, and Karpenter has no interruption queue (INTERRUPTION_QUEUE is empty).",
    thread="aws/karpenter-provider-aws#3005",
    must=[r"\bspot\b", n(7), r"interruption.?queue", r"without (a )?(drain|warning|notice)|not drained|disappear|taken back|vanish|no longer exist|gone"],
    must_not=[LAUNCHES, ICE, "drift", "consolidat[^.]{0,30}remov"],
    settings={"INTERRUPTION_QUEUE": ""},
)  # fmt: skip
def spot_without_a_queue(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "burst", capacity=("spot",), families=("m6i", "m7i", "c6i"))
    big_fleet(c, "burst", 66, capacity="spot", age="3d")
    fresh = [add_node(c, "burst", "m6i.xlarge", c.zones[number % 3], capacity="spot", age=f"{5 + 8 * number}m") for number in range(7)]  # fmt: skip
    add_workload(c, "feed/ranker", on=fresh, count=21, age="50m")
    for number in range(7):
        name = f"ip-10-24-77-{31 + number}.ec2.internal"
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": digest(c.name, name)[:36]}}
        age = 6 + 8 * number
        text = f"Node {name} status is now: NodeNotReady"
        c.event(node, "NodeNotReady", text, last=f"{age + 1}m", kind="Normal", source="node-controller")
        text = f"Deleting node {name} because it does not exist in the cloud provider"
        c.event(node, "DeletingNode", text, last=f"{age}m", kind="Normal", source="cloud-node-lifecycle-controller")


@incident(
    story="During an upgrade someone removed three Nodes with their finalizers while Karpenter was scaled to zero. Their instances run on, without a Node: Karpenter keeps the NodeClaims and never disrupts them. Nobody gets anything from the instances, and all are paid for.",
    cause="3 NodeClaims of general have no Node for 5 hours: their Nodes are gone, their instances run on and are paid for, and Karpenter does not remove them.",
    thread="kubernetes-sigs/karpenter#2072",
    must=[r"\bgeneral\b", n(3), r"NodeClaim", r"no (Node\b|associated node)|without (a )?Node\b|Nodes? (is|are|were) (gone|deleted)|Node[^.]{0,30}(not|no longer) exist", r"instance|paid|cost|\$"],
    must_not=[LAUNCHES, r"has not registered|have not registered|never register", ICE, r"pods? pending"],
)  # fmt: skip
def nodes_gone_and_nodeclaims_left(c: Cluster) -> None:
    usual(c, 6)
    for number in range(3):
        pair = add_node(c, "general", "m6i.2xlarge", c.zones[number], age="11d")
        _lose_node(c, pair)
        assert pair.claim is not None
        text = "Nodeclaim does not have an associated node"
        c.event(pair.claim, "DisruptionBlocked", text, last="1m", first="5h", count=150, kind="Normal")


@incident(
    story="NodePool web was given expireAfter 30m, where 720h was meant: its nodes expire one after the other, half an hour after their launch, and each time their pods are evicted. Apart from that the user data of EC2NodeClass secure grew beyond 16 KiB yesterday: EC2 refuses its launch template, and four pods are pending for 26 minutes.",
    cause="NodePool web has expireAfter 30m, so its nodes are replaced again and again: 9 in the last hour, with 27 evictions of shop/front. EC2 refuses launches of NodePool secure because the user data of EC2NodeClass secure is larger than 16384 bytes; 4 pods of pci/vault are pending for 26 minutes.",
    thread="aws/karpenter-provider-aws#8058, github-aws-runners/terraform-aws-github-runner#3700",
    must=[r"\bweb\b", r"expire", n(9), r"\b30 ?m", r"\bsecure\b", r"user ?data", n(4), "pci/vault"],
    must_not=[LAUNCHES, ROOM, ICE, "quota", "drift"],
    other=[order_of("user ?data", "expire")],
)  # fmt: skip
def expiry_of_minutes_and_large_user_data(c: Cluster) -> None:
    usual(c)
    add_nodeclass(c, "secure", spec={"userData": "#!/bin/bash\n" + "# agent configuration\n" * 900})
    text = "creating instance, creating launch template, InvalidUserData.Malformed: User data is limited to 16384 bytes"
    add_pool(c, "secure", nodeclass="secure", labels={"team": "pci"}, registration=("LaunchFailed", text, "22m"))
    for age in ("2m40s", "2m20s"):
        pair = add_node(c, "secure", "m6i.xlarge", c.zones[1], age=age, stage="", launch_error=("LaunchFailed", text))
        assert pair.claim is not None
        c.event(pair.claim, "LaunchFailed", text, last="20s", first="2m15s", count=5)
    waiting(c, "pci/vault", 4, "26m", no_node({SELECTOR: 9}), spec={"nodeSelector": {"team": "pci"}})
    add_pool(c, "web", labels={"team": "web"}, template={"expireAfter": "30m"})
    pairs = [add_node(c, "web", "m6i.xlarge", c.zones[number % 3], age=f"{3 + 6 * number}m") for number in range(5)]
    pods = add_workload(c, "shop/front", on=pairs, count=15, age="25m", spec={"nodeSelector": {"team": "web"}})
    for number in range(9):
        claim, age = gone_claim(c, "web", number), f"{2 + 6 * number}m"
        c.event(
            claim, "Unconsolidatable", "Can't replace with a cheaper node", last=f"{8 + 6 * number}m", kind="Normal"
        )
        name = f"ip-10-24-91-{20 + number}.ec2.internal"
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": digest(c.name, name)[:36]}}
        removed = f"Node {name} event: Removing Node {name} from Controller"
        c.event(node, "RemovingNode", removed, last=f"{1 + 6 * number}m", kind="Normal", source="node-controller")
        for place in range(3):
            meta = dict(pods[0]["metadata"], name=f"{pods[0]['metadata']['name'][:-6]}-{digest(number, place)[:5]}")
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta | {"uid": digest(c.name, number, place)[:36]}}
            c.event(pod, "Evicted", "Evicted pod: Forceful Termination", last=age, kind="Normal")


@incident(
    story="A large cluster. The AMI of NodePool ml changed two days ago, and its eight nodes drifted; EC2 has no g5.2xlarge for the replacements, so drift replaces none. Apart from that the company pays for a reservation of m7i.2xlarge that EC2NodeClass quotes selects, and NodePool quotes allows on-demand only: its six nodes never use it.",
    cause="The drift of 8 nodes of ml has not advanced for 2 days because EC2 has no capacity of g5.2xlarge for replacements. NodePool quotes does not allow capacity type reserved, so the capacity reservation that its EC2NodeClass quotes selects is never used.",
    thread="aws/karpenter-provider-aws#3042, zalando-incubator/kubernetes-on-aws#11623",
    must=[r"\bml\b", "drift", n(8), ICE, r"\b2 ?d|48 ?h|47 ?h", r"\bquotes\b", "reserv", r"on-demand|does not allow|not allowed|never used|unused|not used"],
    must_not=[LAUNCHES, r"[1-9]\d* pods?[^\n]{0,12} pending", "do-not-disrupt"],
)  # fmt: skip
def no_capacity_for_drift_and_an_unused_reservation(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    big_fleet(c, "general", 66)
    add_pool(
        c, "ml", families=("g5",), sizes=("2xlarge",), labels={"team": "ml"}, disruption={"budgets": [{"nodes": "2"}]}
    )
    pairs = [
        add_node(c, "ml", "g5.2xlarge", c.zones[number % 3], age="16d", drifted="2d", gpus=1) for number in range(8)
    ]
    add_workload(c, "ml/serve", on=pairs, age="15d", cpu="6", memory="24Gi", requests={"nvidia.com/gpu": "1"}, spec={"nodeSelector": {"team": "ml"}})  # fmt: skip
    error = "InsufficientInstanceCapacity: We currently do not have sufficient g5.2xlarge capacity in the Availability Zone you requested ({})."
    refused(c, "ml", [error.format(zone) for zone in c.zones], (), every=5, times=11, last=2)
    for number in range(11):
        claim = gone_claim(c, "ml", number)
        c.event(claim, "DisruptionLaunching", "Launching NodeClaim: Drifted", last=f"{2 + 5 * number}m", kind="Normal")
    reservation = _reservation(c, "m7i.2xlarge", "us-east-1b")
    terms = {"capacityReservationSelectorTerms": [{"id": reservation["id"]}]}
    add_nodeclass(c, "quotes", spec=terms, status={"capacityReservations": [reservation]})
    add_pool(c, "quotes", families=("m7i",), sizes=("2xlarge",), nodeclass="quotes", labels={"team": "quotes"})
    hosts = [add_node(c, "quotes", "m7i.2xlarge", "us-east-1b", age="12d") for _ in range(6)]
    add_workload(c, "orders/quotes", on=hosts, count=12, age="11d", cpu="3500m", memory="12Gi", spec={"nodeSelector": {"team": "quotes"}})  # fmt: skip


@quiet(
    story="A NodeClaim was created by hand, without a NodePool, as Karpenter's documentation allows. Its node runs a license server, and Karpenter neither drifts nor consolidates it.",
    cause="a NodeClaim was created by hand for a license server.",
    thread="kubernetes-sigs/karpenter#2811",
    must_not=[r"NodePool[^.]{0,50}(not exist|deleted|gone)", STUCK],
)
def fine_nodeclaim_by_hand(c: Cluster) -> None:
    usual(c)
    pair = add_node(c, "general", "m6i.xlarge", c.zones[1], age="50d")
    node, claim = both(pair)
    for manifest in (node, claim):
        del manifest["metadata"]["labels"]["karpenter.sh/nodepool"]
    del claim["metadata"]["ownerReferences"]
    claim["metadata"]["annotations"] = {
        key: text for key, text in claim["metadata"]["annotations"].items() if "nodepool" not in key
    }
    claim["metadata"]["name"] = node["metadata"]["ownerReferences"][0]["name"] = "license-server"
    claim["spec"].pop("expireAfter")
    claim["status"]["conditions"] = [item for item in claim["status"]["conditions"] if item["type"] != "Consolidatable"]
    node["metadata"]["labels"]["app"] = claim["metadata"]["labels"]["app"] = "license"
    add_workload(
        c, "erp/license", on=[pair], age="49d", cpu="1", memory="4Gi", spec={"nodeSelector": {"app": "license"}}
    )


@quiet(
    story="The static NodePool gateway was scaled from 4 to 7 replicas a minute ago. Three NodeClaims are launched, and their instances boot.",
    cause="a static NodePool is being scaled up.",
    thread="kubernetes-sigs/karpenter#2734",
    must_not=[r"short|missing|4 of (its )?7", STUCK, "limit"],
    settings={"FEATURE_GATES": "StaticCapacity=true"},
)
def fine_static_pool_is_scaled_up(c: Cluster) -> None:
    usual(c)
    add_pool(c, "gateway", families=("m6i",), sizes=("xlarge",), replicas=7, limits={"nodes": "9"})
    pairs = [add_node(c, "gateway", "m6i.xlarge", c.zones[number % 3], age="18d") for number in range(4)]
    add_workload(c, "edge/gateway", on=pairs, count=8, age="17d", pool="gateway")
    for number in range(3):
        add_node(c, "gateway", "m6i.xlarge", c.zones[number], age="42s", stage="Launched")


@incident(
    story="Three spot nodes have been drifted for nine hours. EC2 refuses each replacement, and no pod is pending. Karpenter deletes refused NodeClaims before it reports that they were for drift.",
    cause="3 drifted nodes of thumbs have not been replaced for 9 hours: EC2 has no spot capacity for the replacements.",
    thread="aws/karpenter-provider-aws#8873",
    must=[r"\bthumbs\b", "drift", n(3), "9 ?h", ICE],
    must_not=[LAUNCHES, STUCK + "|always 0"],
)
def refused_replacements_without_a_reason(c: Cluster) -> None:
    usual(c)
    add_pool(c, "thumbs", families=("c6i",), sizes=("2xlarge",), capacity=("spot",))
    pairs = [add_node(c, "thumbs", "c6i.2xlarge", zone, capacity="spot", age="12d", drifted="9h") for zone in c.zones]
    add_workload(c, "media/thumbs", on=pairs, count=6, age="9d", cpu="3", memory="4Gi")
    text = "InsufficientInstanceCapacity: We currently do not have sufficient c6i.2xlarge capacity in zones with support for 'gp3' volumes."
    refused(c, "thumbs", [text], [], every=7, times=8)
