"""Details that look like faults, in clusters in which nothing is wrong."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.disruption import CHURN
from tests.incidents.fleets import fleet, gone_claim, nominated, usual
from tests.incidents.incident import LAUNCHES, quiet
from tests.incidents.node_objects import add_node, both, conditions
from tests.incidents.objects import condition
from tests.incidents.pods import add_pdb, add_pod, add_volume, add_workload, waiting
from tests.incidents.pools import add_nodeclass, add_pool


@quiet(
    story="The clock of the reader is 90 seconds behind that of the API server: two nodes, their pods and some events are from the future.",
    cause="the clock of the reader is 90 seconds slow.",
    thread="kubernetes/kubernetes#6159",
    must_not=[r"-\d+ ?[smhd]\b", r"stuck|never", r"does not (register|initiali)"],
)
def fine_clock_is_slow(c: Cluster) -> None:
    usual(c)
    ready = [add_node(c, "general", "m6i.xlarge", zone, age="2m") for zone in c.zones[:2]]
    for pair in ready:
        for manifest in both(pair):
            manifest["metadata"]["creationTimestamp"] = c.at("-20s")
            for state in manifest["status"]["conditions"]:
                state["lastTransitionTime"] = c.at("-60s")
    add_workload(c, "orders/catalog", on=ready, count=4, age="5s")
    fresh = add_node(c, "general", "m6i.xlarge", c.zones[2], age="10s", stage="Launched")
    both_times = {"creationTimestamp": c.at("-80s")}
    assert fresh.claim is not None
    fresh.claim["metadata"] |= both_times
    pods = waiting(c, "orders/checkout", 2, "5s")
    for pod in pods:
        pod["metadata"] |= both_times
    nominated(c, pods, [fresh], last="-85s")


@quiet(
    story="The output of kubectl get for nodes, NodeClaims, NodePools, EC2NodeClasses and pods, without events, Deployments and leases. Nothing is wrong.",
    cause="kubectl's lists show a cluster without a fault.",
    thread="kubernetes-sigs/karpenter#2989",
    must_not=[r"karpenter is not running|no leader", "stuck|never"],
    listed=("Node", "NodeClaim", "NodePool", "EC2NodeClass", "Pod"),
)
def fine_kubectl_lists(c: Cluster) -> None:
    usual(c, 7)
    add_pool(c, "spot", capacity=("spot",))
    fleet(c, "spot", "orders/thumbnails", 5, capacity="spot", age="30h")


@quiet(
    story="Two replicas with maxUnavailable 25 %: half a pod, rounded up to one, so evictions are allowed. One node drifted four minutes ago and is about to go.",
    cause="a PodDisruptionBudget of 25 % of two pods allows one eviction.",
    thread="kubernetes-sigs/karpenter#2600",
    must_not=["PodDisruptionBudget|PDB", "stuck|never"],
)
def fine_quarter_of_two_pods(c: Cluster) -> None:
    usual(c)
    pairs = [add_node(c, "general", "m6i.xlarge", zone, age="9d", drifted="4m") for zone in c.zones[:2]]
    add_workload(c, "search/query", on=pairs, age="8d", cpu="3", memory="9Gi")
    add_pdb(c, "search", "query", "query", healthy=2, desired=1, expected=2, maxUnavailable="25%")


@quiet(
    story="Build nodes live for one hour by intention (expireAfter 1h, terminationGracePeriod 30m), so that each is clean. Twelve expired within the last hour, and their "
    "successors took over; nothing is evicted that minds.",
    cause="build nodes expire after an hour on purpose.",
    thread="aws/karpenter-provider-aws#7122",
    must_not=[CHURN, r"will be killed", "stuck|never"],
)
def fine_nodes_live_an_hour(c: Cluster) -> None:
    usual(c)
    grace = {"expireAfter": "1h", "terminationGracePeriod": "30m"}
    add_pool(c, "builds", template=grace, disruption={"consolidationPolicy": "WhenEmpty"})
    pairs = [add_node(c, "builds", "m6i.xlarge", c.zones[number % 3], age=f"{8 + 4 * number}m") for number in range(12)]
    pods = add_workload(c, "ci/runner", on=pairs, count=24, age="6m")
    for number in range(12):
        claim = gone_claim(c, "builds", number)
        c.event(
            claim,
            "Unconsolidatable",
            "Can't remove without creating 1 candidates",
            last=f"{6 + 4 * number}m",
            kind="Normal",
        )
        pod = {
            **pods[0],
            "metadata": {**pods[0]["metadata"], "name": f"runner-5d8f-{number:02}xk", "uid": f"gone-{number}"},
        }
        c.event(pod, "Evicted", "Evicted pod", last=f"{5 + 4 * number}m", kind="Normal")


@quiet(
    story="Karpenter is upgraded by Helm: one new pod is ready for 25 seconds, the other one starts for ten, and the old leader is terminating.",
    cause="Karpenter's Deployment is being rolled out.",
    thread="aws/karpenter-provider-aws#8841",
    must_not=[r"karpenter is not running|\b0 of \d|no leader", "crash|OOM"],
)
def fine_karpenter_is_upgraded(c: Cluster) -> None:
    usual(c, 5)
    pods = [each for each in c.objects if each["kind"] == "Pod" and each["metadata"]["name"].startswith("karpenter-")]
    pods[0]["metadata"]["deletionTimestamp"] = c.at("-20s")
    c.objects.remove(pods[1])
    parent = next(
        each for each in c.objects if each["kind"] == "ReplicaSet" and each["metadata"]["name"].startswith("karpenter-")
    )
    for number, (age, state) in enumerate((("50s", ""), ("10s", "ContainerCreating"))):
        manifest = add_pod(
            c, "kube-system", f"karpenter-6f5bd8c9c7-x{number}lq8", node=c.system[number], parent=parent, age=age, cpu="1", memory="1Gi",
            labels=pods[0]["metadata"]["labels"], container="controller", waiting=state,
        )  # fmt: skip
        for item in manifest["status"]["conditions"]:
            if item["type"] == "Ready" and not state:
                item["lastTransitionTime"] = c.at("25s")


@quiet(
    story="A Windows node was launched six and a half minutes ago. Windows takes seven to nine minutes to boot and join; two pods wait for it, as they do each morning.",
    cause="a Windows node boots, which takes longer than Linux.",
    thread="aws/karpenter-provider-aws#1774",
    must_not=[r"stuck|never", r"(does|do|did|has|have) not (yet )?(register|join)", LAUNCHES],
)
def fine_windows_boots(c: Cluster) -> None:
    usual(c)
    manifest = add_nodeclass(c, "windows", spec={"amiSelectorTerms": [{"alias": "windows2022@latest"}]})
    for ami in manifest["status"]["amis"]:
        ami["requirements"] = [
            {"key": "kubernetes.io/os", "operator": "In", "values": ["windows"]},
            {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
        ]
    system = {"key": "kubernetes.io/os", "operator": "In", "values": ["windows"]}
    add_pool(c, "windows", nodeclass="windows", requirements=[system])
    fresh = add_node(c, "windows", "m6i.2xlarge", c.zones[0], age="6m30s", stage="Launched")
    assert fresh.claim is not None
    fresh.claim["metadata"]["labels"] |= {
        "kubernetes.io/os": "windows",
        "node.kubernetes.io/windows-build": "10.0.20348",
    }
    pods = waiting(c, "legacy/invoice-iis", 2, "7m", spec={"nodeSelector": {"kubernetes.io/os": "windows"}})
    nominated(c, pods, [fresh], last="20s", count=38)


@quiet(
    story="Four slots of a capacity reservation, four reserved nodes, all pods running. That the reservation is full is what it was bought for.",
    cause="a capacity reservation is used in full, and no pod waits for it.",
    thread="zalando-incubator/kubernetes-on-aws#11623",
    must_not=[r"reservation", "sold out|insufficient"],
)
def fine_reservation_is_used(c: Cluster) -> None:
    reservation = {
        "id": "cr-0b51f7d2c94e8a360", "instanceType": "m7i.2xlarge", "availabilityZone": "us-east-1b", "instanceMatchCriteria": "targeted",
        "ownerID": "111122223333", "reservationType": "default", "interruptible": False, "state": "active",
    }  # fmt: skip
    usual(c)
    terms = {"capacityReservationSelectorTerms": [{"id": reservation["id"]}]}
    add_nodeclass(c, "reserved", spec=terms, status={"capacityReservations": [reservation]})
    add_pool(
        c,
        "reserved",
        families=("m7i",),
        sizes=("2xlarge",),
        capacity=("reserved", "on-demand"),
        weight=50,
        nodeclass="reserved",
    )
    pairs = [add_node(c, "reserved", "m7i.2xlarge", "us-east-1b", capacity="reserved", age="20d") for _ in range(4)]
    for pair in pairs:
        for manifest in both(pair):
            labels = {"capacity-reservation-id": reservation["id"], "capacity-reservation-type": "default"}
            manifest["metadata"]["labels"] |= {f"karpenter.k8s.aws/{key}": value for key, value in labels.items()}
    add_workload(c, "orders/quotes", on=pairs, count=8, age="19d", cpu="3500m", memory="12Gi", pool="reserved")


@quiet(
    story="A large cluster with NodeOverlays: one makes m6i cheaper, as the company's savings plan does. 84 nodes of four pools, a StatefulSet with volumes in each zone, "
    "and a drain that began half a minute ago.",
    cause="NodeOverlays change prices in a large cluster.",
    thread="aws/karpenter-provider-aws#8321",
    must_not=["overlay", "stuck|never", r"\bpending\b"],
    settings={"FEATURE_GATES": "NodeOverlay=true"},
)
def fine_overlays_in_a_large_cluster(c: Cluster) -> None:
    add_nodeclass(c)
    family = {"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": ["m6i"]}
    ready = [condition(item, "True", c.at("40d")) for item in ("ValidationSucceeded", "Ready")]
    c.add(
        "NodeOverlay",
        "savings-plan",
        spec={"requirements": [family], "priceAdjustment": "-28%", "weight": 10},
        status={"conditions": ready},
    )
    for number, name in enumerate(("web", "api", "batch", "data")):
        add_pool(c, name, families=("m6i",), capacity=("on-demand",) if number else ("spot",))
        fleet(c, name, f"{name}/main", 20, age=f"{5 + number}d", capacity="on-demand" if number else "spot")
    stores = [add_node(c, "data", "m6i.2xlarge", c.zones[number % 3], age="19d") for number in range(3)]
    pods = add_workload(c, "data/pg", kind="StatefulSet", on=stores, age="18d", cpu="7", memory="25Gi")
    for number, pod in enumerate(pods):
        pod["spec"]["volumes"] = [add_volume(c, "data", f"data-pg-{number}", c.zones[number])]
    add_pdb(c, "data", "pg", "pg", healthy=3, desired=2, expected=3, maxUnavailable="34%")
    going = add_node(c, "web", "m6i.xlarge", c.zones[0], age="5d", deleting="30s", capacity="spot")
    conditions(going, condition("Drained", "Unknown", c.at("30s"), "Draining", "Draining"))
    for manifest in both(going):
        c.event(manifest, "DisruptionTerminating", f"Disrupting {manifest['kind']}: Empty", last="31s", kind="Normal")


@quiet(
    story="A bare-metal node was launched nine minutes ago; such machines take ten minutes to boot. Two pods wait for it.",
    cause="a bare-metal node boots, which takes ten minutes.",
    thread="kubernetes-sigs/karpenter#357",
    must_not=[r"stuck|never", r"(does|do|did|has|have) not (yet )?(register|join)", LAUNCHES],
)
def fine_metal_boots(c: Cluster) -> None:
    usual(c)
    add_pool(c, "metal", families=("m7i",), sizes=("metal-24xl",))
    fresh = add_node(c, "metal", "m7i.4xlarge", c.zones[0], age="9m", stage="Launched")
    assert fresh.claim is not None
    sizes = {"node.kubernetes.io/instance-type": "m7i.metal-24xl", "karpenter.k8s.aws/instance-size": "metal-24xl"}
    fresh.claim["metadata"]["labels"] |= sizes
    nominated(c, waiting(c, "vm/kubevirt", 2, "10m", cpu="30", pool="metal"), [fresh], last="20s", count=50)


@quiet(
    story="Karpenter moved from the namespace karpenter to kube-system 40 days ago and was removed there. Its old lease is left over.",
    cause="a lease of a removed installation of Karpenter is left over.",
    thread="aws-samples/cdk-eks-karpenter#190",
    must_not=["installations", "no leader|not running"],
)
def fine_lease_is_left_over(c: Cluster) -> None:
    usual(c)
    spec = {
        "holderIdentity": "karpenter-5c6d_x",
        "leaseDurationSeconds": 15,
        "renewTime": c.at("40d"),
        "acquireTime": c.at("90d"),
    }
    c.add("Lease", "karpenter-leader-election", "karpenter", age="200d", spec=spec)


@quiet(
    story="Karpenter restarted six times during an outage of the API server three hours ago, and has run since.",
    cause="Karpenter's restarts are hours ago.",
    thread="aws/karpenter-provider-aws#3165",
    must_not=["restart", "OOM|crash"],
)
def fine_restarts_are_hours_ago(c: Cluster) -> None:
    usual(c)
    for pod in [
        manifest
        for manifest in c.objects
        if manifest["kind"] == "Pod" and manifest["metadata"]["name"].startswith("karpenter-")
    ]:
        ended = {"reason": "Error", "exitCode": 1, "startedAt": c.at("190m"), "finishedAt": c.at("3h")}
        state = {"state": {"running": {"startedAt": c.at("3h")}}, "lastState": {"terminated": ended}}
        pod["status"]["containerStatuses"][0] |= {"restartCount": 6, **state}


@quiet(
    story="The first try to create a volume failed twelve minutes ago (throttling), the second one succeeded. The pod runs; another pod of the set is five seconds old.",
    cause="a volume was created at the second try.",
    thread="kubernetes-sigs/aws-ebs-csi-driver#1609",
    must_not=["cannot be created", "volume", "stuck|never"],
)
def fine_volume_at_the_second_try(c: Cluster) -> None:
    usual(c)
    host = add_node(c, "general", "m6i.2xlarge", c.zones[0], age="12m")
    volume = add_volume(c, "data", "data-mongo-0", c.zones[0], age="13m")
    pods = add_workload(
        c, "data/mongo", kind="StatefulSet", on=[host], pending=1, pending_since="5s", age="11m", cpu="5", memory="20Gi"
    )
    pods[0]["spec"]["volumes"] = [volume]
    text = 'failed to provision volume with StorageClass "gp3": rpc error: code = Internal desc = RequestLimitExceeded: Request limit exceeded.'
    c.event(
        c.find("PersistentVolumeClaim", "data-mongo-0"),
        "ProvisioningFailed",
        text,
        last="12m",
        source="ebs.csi.aws.com",
    )
