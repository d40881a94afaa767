"""Pods that no node takes because of a rule of the pods or of a NodePool."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import GPU_TAINT, NO_TYPE, fleet, unschedulable, usual
from tests.incidents.incident import ICE, LAUNCHES, ROOM, incident, n, order_of
from tests.incidents.node_objects import add_node
from tests.incidents.pods import (
    add_daemonset,
    add_namespace,
    add_pod,
    add_workload,
    matching,
    no_node,
    required,
    waiting,
)
from tests.incidents.pools import add_karpenter, add_nodeclass, add_pool

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


@incident(
    story="The new forecast pods ask for 96 GiB of memory, and the pools allow nodes of up to 64 GiB. Two pods wait for an hour.",
    cause="bi/forecast asks for 96Gi of memory, more than any instance type of the NodePools has.",
    thread="aws/karpenter-provider-aws#7578",
    must=[
        "forecast",
        r"96 ?Gi|memory|too (big|large)|enough|resources|bigger|larger",
        n(2),
        r"general|types?|big|large",
    ],
    must_not=[LAUNCHES, ROOM],
)
def pod_too_big(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general", families=("m6i", "m7i", "r6i"))
    fleet(c, "general", "orders/storefront", 3)
    pods = waiting(
        c,
        "bi/forecast",
        2,
        "60m",
        "0/5 nodes are available: 5 Insufficient cpu, 5 Insufficient memory. preemption: 0/5 nodes are available: 5 No "
        "preemption victims found for incoming pod.",
        cpu="4",
        memory="96Gi",
    )
    unschedulable(c, pods, "no instance type has enough resources", minutes=60)


@incident(
    story="Build pods now request 60Gi of ephemeral storage for their caches. The EC2NodeClass of the pool builds gives each node a root volume of "
    "20Gi, so five pods are pending for 48 minutes.",
    cause="5 pods of ci/build request 60Gi of ephemeral storage, and nodes of builds have a root volume of 20Gi.",
    thread="aws/karpenter-provider-aws#2797",
    must=[r"ephemeral|disk|root volume", r"60 ?Gi|20 ?Gi|root volume|blockDevice", r"\bbuilds\b", n(5)],
    must_not=[LAUNCHES, ROOM, ICE],
)
def root_volume_too_small(c: Cluster) -> None:
    usual(c, 3)
    disk = {"volumeSize": "20Gi", "volumeType": "gp3", "encrypted": True}
    add_nodeclass(c, "builds", spec={"blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": disk}]})
    add_pool(c, "builds", nodeclass="builds")
    pods = waiting(c, "ci/build", 5, "48m", cpu="2", memory="4Gi", pool="builds", requests={"ephemeral-storage": "60Gi"})  # fmt: skip
    error = (
        "no instance type has enough resources, requirements=karpenter.sh/nodepool In [builds], kubernetes.io/arch In [amd64], resources="
        '{"cpu":"2190m","ephemeral-storage":"60Gi","memory":"4216Mi","pods":"5"}'
    )
    unschedulable(c, pods, error, minutes=48)


@incident(
    story="Someone reserved 12Gi for the system in the EC2NodeClass dense, meant for larger nodes. Its pool launches nodes with 16Gi, of which less than "
    "3Gi are left; five pods that request 6Gi each are pending for an hour.",
    cause="EC2NodeClass dense reserves 12Gi of memory for the system, so no instance type of NodePool dense has the 6Gi that each of 5 pods requests.",
    thread="kubernetes-sigs/karpenter#1536",
    must=[r"\bdense\b", "memory", r"reserv|kubelet", n(5)],
    must_not=[LAUNCHES, ROOM, ICE],
)
def kubelet_reserves_too_much(c: Cluster) -> None:
    usual(c)
    add_nodeclass(c, "dense", spec={"kubelet": {"systemReserved": {"cpu": "200m", "memory": "12Gi"}}})
    add_pool(c, "dense", nodeclass="dense", families=("m6i", "m7i"), sizes=("xlarge",))
    pods = waiting(c, "bi/olap", 5, "61m", cpu="1", memory="6Gi", pool="dense")
    error = (
        "no instance type has enough resources, requirements=karpenter.sh/nodepool In [dense], kubernetes.io/arch In [amd64], resources="
        '{"cpu":"1190m","memory":"6264Mi","pods":"5"}'
    )
    unschedulable(c, pods, error, minutes=60)


@incident(
    story="The EC2NodeClass edge allows five pods per node, as many as there are DaemonSets since node-exporter was added. No node of the pool edge "
    "would have room for one more pod, so three pods wait for 41 minutes.",
    cause="EC2NodeClass edge sets maxPods 5 and 5 DaemonSets use them all, so no instance type of pool edge takes the 3 pending pods.",
    thread="aws/karpenter-provider-aws#7938",
    must=[
        "edge",
        r"max-?pods|pod slots?|pods per node|number of pods|\bpods\b[^\n]{0,60}\b5\b|\b5\b[^\n]{0,12}pods",
        n(3),
        "DaemonSet",
    ],
    must_not=[LAUNCHES, ROOM, ICE],
)
def daemonsets_use_all_pods(c: Cluster) -> None:
    usual(c)
    add_nodeclass(c, "edge", spec={"kubelet": {"maxPods": 5}})
    add_pool(c, "edge", nodeclass="edge")
    add_daemonset(c, "monitoring", "node-exporter", cpu="50m", memory="64Mi")
    pods = waiting(c, "edge/proxy", 3, "41m", cpu="500m", memory="512Mi", pool="edge")
    error = (
        "no instance type has enough resources, requirements=karpenter.sh/nodepool In [edge], kubernetes.io/arch In [amd64], resources="
        '{"cpu":"740m","memory":"696Mi","pods":"6"}'
    )
    unschedulable(c, pods, error, minutes=40)


@incident(
    story="The memory request of the security agent was tripled 40 minutes ago. Its DaemonSet runs on seven nodes of twelve; on the "
    "five full ones the new pod is Pending, and these nodes are unprotected.",
    cause="DaemonSet falcon-sensor no longer fits on 5 of the nodes: 5 of its pods are pending for 40 minutes.",
    thread="aws/karpenter-provider-aws#1769",
    must=["falcon-sensor", "DaemonSet", n(5), r"pending|wait|unschedulable|no room|not fit|does not fit"],
    must_not=[LAUNCHES],
)
def daemonset_does_not_fit(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    full = fleet(c, "general", "orders/storefront", 5)
    free = fleet(c, "general", "orders/catalog", 5, each=2)
    add_workload(c, "orders/indexer", on=free, cpu="700m", memory="1Gi")
    manifest = add_daemonset(c, "security", "falcon-sensor", cpu="100m", memory="5500Mi")
    for pair in full:
        pair.without = ("falcon-sensor",)
    for number, pair in enumerate(full):
        term = {"key": "metadata.name", "operator": "In", "values": [pair.name]}
        required = {"nodeSelectorTerms": [{"matchFields": [term]}]}
        add_pod(
            c,
            "security",
            f"falcon-sensor-new{number}",
            parent=manifest,
            age="40m",
            cpu="100m",
            memory="5500Mi",
            labels={"app.kubernetes.io/name": "falcon-sensor"},
            spec={
                "tolerations": [{"operator": "Exists"}],
                "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}},
            },
            message="0/12 nodes are available: 1 Insufficient memory, 11 node(s) didn't satisfy plugin(s) [NodeAffinity]. "
            "preemption: 0/12 nodes are available: 1 No preemption victims found for incoming pod, 11 Preemption is not helpful "
            "for scheduling.",
        )


@incident(
    story="A new Deployment selects nodes by the label workload-tier=analytics, which no NodePool gives its nodes. Eight pods "
    "wait for 95 minutes.",
    cause="8 pods of bi/cube select the label workload-tier, which no NodePool or node has.",
    thread="aws/karpenter-provider-aws#7535",
    must=["workload-tier", n(8), r"label|select|NodePool|pool", "cube"],
    must_not=[LAUNCHES, ROOM],
)
def unknown_label(c: Cluster) -> None:
    usual(c)
    pods = waiting(c, "bi/cube", 8, "95m", cpu="1", memory="4Gi", spec={"nodeSelector": {"workload-tier": "analytics"}})
    unschedulable(c, pods, 'incompatible requirements, label "workload-tier" does not have known values', minutes=95)


@incident(
    story="Twelve pods select a node label that no pool has, for an hour. One of Karpenter's two replicas is Pending as well, "
    "because its node group has one node less; the other leads, and all goes on.",
    cause="12 pods of bi/etl select the label disk-tier, which no NodePool has; less urgent, 1 of 2 Karpenter replicas is pending.",
    thread="aws/karpenter-provider-aws#7535",
    must=[
        "disk-tier",
        n(12),
        r"karpenter.{0,60}(1 of 2|1/2|one of|replica|standby)|(1 of 2|1/2|one of|replica|standby).{0,60}karpenter",
    ],
    must_not=[r"karpenter (itself )?(is|has been) (down|stopped)", LAUNCHES],
    other=[order_of("disk-tier", r"1 of 2|1/2|one of|replica|standby")],
    karpenter_runs=False,
)
def label_and_one_replica(c: Cluster) -> None:
    usual(c)
    full = c.system[1]
    add_workload(c, "kube-system/metrics-server", on=[full], cpu="1200m", memory="1Gi", age="40d")
    add_karpenter(
        c,
        on=c.system[:1],
        pending=1,
        pending_since="6h",
        message="0/6 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match pod anti-affinity rules, 4 node(s) didn't "
        "match Pod's node affinity/selector. preemption: 0/6 nodes are available: 2 No preemption victims found for incoming "
        "pod, 4 Preemption is not helpful for scheduling.",
    )
    pods = waiting(c, "bi/etl", 12, "61m", cpu="1", memory="2Gi", spec={"nodeSelector": {"disk-tier": "nvme"}})
    unschedulable(c, pods, 'incompatible requirements, label "disk-tier" does not have known values', minutes=60)


@incident(
    story="A node selector names the capacity type ondemand, without the hyphen. No NodePool has that value; six pods are pending for "
    "two hours.",
    cause='6 pods of payments/refund select karpenter.sh/capacity-type "ondemand", which no NodePool offers (on-demand and spot do exist).',
    thread="aws/karpenter-provider-aws#7535",
    must=["ondemand", r"capacity[- ]type", n(6), "refund"],
    must_not=[LAUNCHES, ROOM, r"sold out|insufficient capacity|no capacity"],
)
def capacity_type_typo(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    add_pool(c, "spot", capacity=("spot",))
    fleet(c, "general", "orders/storefront", 4)
    fleet(c, "spot", "orders/thumbnails", 2, capacity="spot")
    pods = waiting(c, "payments/refund", 6, "2h", cpu="500m", memory="1Gi", spec={"nodeSelector": {"karpenter.sh/capacity-type": "ondemand"}})  # fmt: skip
    error = "; ".join(
        "incompatible requirements, key karpenter.sh/capacity-type, karpenter.sh/capacity-type In [ondemand] not in "
        f"karpenter.sh/capacity-type In [{item}]"
        for item in ("on-demand", "spot")
    )
    unschedulable(c, pods, error, minutes=60)


@incident(
    story="Every NodePool is dedicated to a team by a taint, and the new export pods tolerate none. Five pods wait for 3 hours.",
    cause="reports/export tolerates neither dedicated=payments nor dedicated=platform, and every NodePool has one of these taints.",
    thread="kubernetes-sigs/karpenter#2441",
    must=[r"taint|tolerat", "dedicated", n(5), "export"],
    must_not=[LAUNCHES, ROOM],
)
def no_toleration(c: Cluster) -> None:
    add_nodeclass(c)
    taints = {}
    for team, app in (("payments", "ledger"), ("platform", "gateway")):
        taints[team] = {"key": "dedicated", "value": team, "effect": "NoSchedule"}
        add_pool(c, team, template={"taints": [taints[team]]})
        pairs = [add_node(c, team, "m6i.xlarge", zone) for zone in c.zones]
        tolerations = [{"key": "dedicated", "operator": "Equal", "value": team, "effect": "NoSchedule"}]
        add_workload(c, f"{team}/{app}", on=pairs, count=9, spec={"tolerations": tolerations})
    pods = waiting(
        c,
        "reports/export",
        5,
        "3h",
        "0/8 nodes are available: 2 Insufficient cpu, 3 node(s) had untolerated taint {dedicated: payments}, "
        "3 node(s) had untolerated taint {dedicated: platform}. preemption: 0/8 nodes are available: 2 No preemption victims "
        "found for incoming pod, 6 Preemption is not helpful for scheduling.",
        cpu="800m",
        memory="1Gi",
    )
    errors = [f"did not tolerate taint (taint=dedicated={team}:NoSchedule)" for team in taints]
    unschedulable(c, pods, "; ".join(errors), minutes=180)


@incident(
    story="A team built its image for Graviton and selects arm64. The pool arm would take the pods but has the taint arch=arm64, which they do not "
    "tolerate; the pool x86 launches amd64 only. Seven pods wait for 52 minutes.",
    cause="7 pods of media/thumbs select arm64 and do not tolerate the taint arch=arm64 of NodePool arm, the only one with arm64.",
    thread="aws/karpenter-provider-aws#5169",
    must=["thumbs", r"taint|tolerat", "arch=arm64|arm64", n(7)],
    must_not=[LAUNCHES, ROOM, ICE],
)
def taint_of_the_arm_pool(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "x86")
    add_pool(
        c, "arm", families=("m7g",), arch=("arm64",), template={"taints": [{"key": "arch", "value": "arm64", "effect": "NoSchedule"}]}
    )  # fmt: skip
    fleet(c, "x86", "orders/storefront", 6)
    spec = {"nodeSelector": {"kubernetes.io/arch": "arm64"}}
    pods = waiting(c, "media/thumbs", 7, "52m", spec=spec)
    error = (
        "did not tolerate taint (taint=arch=arm64:NoSchedule); incompatible requirements, key kubernetes.io/arch, kubernetes.io/arch In "
        "[arm64] not in kubernetes.io/arch In [amd64]"
    )
    unschedulable(c, pods, error, minutes=52)


@incident(
    story="The taint that Cilium removes from a ready node was written under taints of the new pool web instead of startupTaints. No pod tolerates it, "
    "so Karpenter launches nothing for the nine pods of the pool.",
    cause="9 pods of shop/web do not tolerate the taint node.cilium.io/agent-not-ready of NodePool web, which belongs under startupTaints.",
    thread="aws/karpenter-provider-aws#5293",
    must=["agent-not-ready", r"taint|tolerat", r"\bweb\b", n(9)],
    must_not=[LAUNCHES, ROOM, ICE, r"Cilium (is|does) not"],
)
def startup_taint_among_the_taints(c: Cluster) -> None:
    usual(c)
    taint = {"key": "node.cilium.io/agent-not-ready", "value": "true", "effect": "NoExecute"}
    add_pool(c, "web", template={"taints": [taint]}, weight=10)
    pods = waiting(c, "shop/web", 9, "17m", pool="web")
    unschedulable(c, pods, "did not tolerate taint (taint=node.cilium.io/agent-not-ready=true:NoExecute)", minutes=17)


@incident(
    story="A taint for Karpenter's own use was put on the managed node group, and CoreDNS was restarted. The other pool is reserved for a team, so both "
    "CoreDNS pods are pending for 12 minutes and no name resolves.",
    cause="Both CoreDNS pods are pending for 12 minutes: they tolerate neither the taint dedicated=karpenter of the node group nor team=orders of the pool.",
    thread="awslabs/amazon-eks-ami#681",
    must=["coredns", "taint|tolerat", n(2) + r"|\bboth\b", r"1[12] ?m"],
    must_not=[LAUNCHES, ROOM],
    first=2,
)
def coredns_is_down(c: Cluster) -> None:
    c.objects[:] = [item for item in c.objects if not item["metadata"]["name"].startswith("coredns")]
    for pair in c.system:
        assert pair.node is not None
        pair.node["spec"]["taints"] = [{"key": "dedicated", "value": "karpenter", "effect": "NoSchedule"}]
    for manifest in c.objects:
        if manifest["metadata"]["name"].startswith("karpenter-") and manifest["kind"] == "Pod":
            manifest["spec"]["tolerations"].append({"key": "dedicated", "operator": "Exists"})
    add_nodeclass(c)
    add_pool(c, "orders", template={"taints": [{"key": "team", "value": "orders", "effect": "NoSchedule"}]})
    pairs = [add_node(c, "orders", "m6i.xlarge", zone) for zone in c.zones]
    tolerant = {"tolerations": [{"key": "team", "operator": "Exists"}]}
    add_workload(c, "orders/storefront", on=pairs, count=9, spec=tolerant)
    text = no_node(
        {"node(s) had untolerated taint {dedicated: karpenter}": 2, "node(s) had untolerated taint {team: orders}": 3}
    )
    spec = {
        "priorityClassName": "system-cluster-critical",
        "tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists"}],
    }
    pods = waiting(c, "kube-system/coredns", 2, "12m", text, cpu="100m", memory="70Mi", spec=spec)
    unschedulable(c, pods, "did not tolerate taint (taint=team=orders:NoSchedule)", minutes=12)


@incident(
    story="The new push proxy wants host port 9100, which node-exporter already holds on every node, new ones included. "
    "Three pods wait for 50 minutes.",
    cause="telemetry/pushproxy wants host port 9100, which the DaemonSet node-exporter uses on every node.",
    thread="kubernetes-sigs/karpenter#2083",
    must=[r"host ?port|\bport\b", r"\b9100\b", n(3), "node-exporter|DaemonSet"],
    must_not=[LAUNCHES, ROOM],
)
def host_port(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    port = [{"containerPort": 9100, "hostPort": 9100, "protocol": "TCP", "name": "metrics"}]
    add_daemonset(c, "monitoring", "node-exporter", cpu="20m", memory="40Mi", spec={"ports": port, "hostNetwork": True})
    fleet(c, "general", "orders/storefront", 3)
    half = add_node(c, "general", "m6i.xlarge", c.zones[0])
    add_workload(c, "orders/catalog", on=[half], count=2)
    pods = waiting(
        c,
        "telemetry/pushproxy",
        3,
        "50m",
        "0/6 nodes are available: 6 node(s) didn't have free ports for the requested pod ports. preemption: 0/6 nodes "
        "are available: 6 No preemption victims found for incoming pod.",
        cpu="200m",
        memory="256Mi",
        spec={"ports": port},
    )
    unschedulable(c, pods, NO_TYPE, minutes=50)


@incident(
    story="The gateway must be spread evenly over all zones, and its pool launches in us-east-1a and us-east-1b only. "
    "us-east-1c counts with zero pods, so four of six pods wait for 3 hours.",
    cause="The zone spread of edge/gateway (maxSkew 1) counts us-east-1c, where its NodePool launches nothing; 4 pods are pending.",
    thread="aws/karpenter-provider-aws#2845",
    must=["spread|skew|topology", "zone", n(4), "gateway"],
    must_not=[LAUNCHES, ROOM],
)
def spread_over_zones(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "edge", zones=c.zones[:2])
    add_pool(c, "gpu", families=("g5",), template={"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]})
    pairs = fleet(c, "edge", "orders/storefront", 2, each=2, zones=c.zones[:2])
    spread = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app.kubernetes.io/name": "gateway"}},
    }
    pods = add_workload(
        c,
        "edge/gateway",
        message="0/4 nodes are available: 1 Insufficient cpu, 3 node(s) didn't match pod topology spread constraints. "
        "preemption: 0/4 nodes are available: 1 No preemption victims found for incoming pod, 3 Preemption is not helpful for "
        "scheduling.",
        on=pairs,
        pending=4,
        pending_since="3h",
        age="2d",
        spec={"topologySpreadConstraints": [spread]},
    )
    counts = ", ".join(f"{zone}: {count}" for zone, count in zip(c.zones, (1, 1, 0), strict=True))
    error = (
        f"unsatisfiable topology constraint for topology spread, key=topology.kubernetes.io/zone (counts = {counts}, podDomains "
        "= topology.kubernetes.io/zone Exists, nodeDomains = topology.kubernetes.io/zone In [us-east-1a us-east-1b]; did not "
        "tolerate taint (taint=nvidia.com/gpu:NoSchedule)"
    )
    unschedulable(c, pods[2:], error, minutes=180)


@incident(
    story="The cluster was moved to a region in which only two zones are used. The spread of search/elastic still demands three domains, so the third "
    "of its pods is pending for two hours: with fewer domains than minDomains each zone takes one pod.",
    cause="search/elastic-2 is pending for 2 hours: its zone spread demands minDomains 3, and the NodePools have 2 zones.",
    thread="kubernetes-sigs/karpenter#2257",
    must=["elastic", r"minDomains|(3|three) (zones|domains)", "zone", r"\b2 zones|two zones|1a[^\n]*1b|only 2|has 2"],
    must_not=[LAUNCHES, ROOM, ICE],
    zones=("us-east-1a", "us-east-1b"),
    karpenter_version="1.14.1",
)
def fewer_zones_than_min_domains(c: Cluster) -> None:
    usual(c, 4)
    pairs = [add_node(c, "general", "m6i.2xlarge", zone, age="20d") for zone in c.zones]
    spread = matching("elastic", maxSkew=1, minDomains=3, topologyKey=ZONE, whenUnsatisfiable="DoNotSchedule")
    pods = add_workload(c, "search/elastic", kind="StatefulSet", message=no_node({"Insufficient cpu": 6, "node(s) didn't match pod topology spread constraints": 2}), on=pairs, pending=1, pending_since="2h", age="19d", cpu="2", memory="8Gi", spec={"topologySpreadConstraints": [spread]})  # fmt: skip
    error = (
        f"unsatisfiable topology constraint for topology spread, key={ZONE} (counts = us-east-1a: 1, us-east-1b: 1, podDomains = {ZONE} "
        f"Exists, nodeDomains = {ZONE} In [us-east-1a us-east-1b], minDomains = 3)"
    )
    unschedulable(c, pods[2:], error, minutes=120)


@incident(
    story="The StatefulSet store/etcd was scaled from three to four two hours ago. Its anti-affinity allows one pod per zone, and the cluster has "
    "three zones, all taken.",
    cause="store/etcd-3 is pending for 2 hours: its anti-affinity allows one pod per zone, and the other three pods are in all three zones.",
    thread="kubernetes-sigs/karpenter#2809",
    must=["etcd", r"anti-? ?affinity", "zone", r"\b2 ?h|1[12]\d ?m|1h5\dm"],
    must_not=[LAUNCHES, ROOM],
)
def more_replicas_than_zones(c: Cluster) -> None:
    usual(c)
    match = {
        "labelSelector": {"matchLabels": {"app.kubernetes.io/name": "etcd"}},
        "topologyKey": "topology.kubernetes.io/zone",
    }
    spec = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [match]}}}
    pairs = [add_node(c, "general", "m6i.xlarge", zone, age="20d") for zone in c.zones]
    text = no_node({"node(s) didn't match pod anti-affinity rules": 3, "Insufficient cpu": 6})
    pods = add_workload(c, "store/etcd", kind="StatefulSet", message=text, on=pairs, pending=1, pending_since="2h", age="20d", cpu="1500m", memory="4Gi", spec=spec)  # fmt: skip
    error = (
        "unsatisfiable topology constraint for pod anti-affinity, key=topology.kubernetes.io/zone (counts = us-east-1a: 1, us-east-1b: 1, "
        "us-east-1c: 1, podDomains = topology.kubernetes.io/zone Exists, nodeDomains = topology.kubernetes.io/zone In [us-east-1a "
        "us-east-1b us-east-1c]"
    )
    unschedulable(c, pods[3:], error, minutes=120)


@incident(
    story="Render workers must share a node with the licence proxy, which was moved to another namespace on Friday. No pod of their own namespace has "
    "the label any more, so three workers are pending for 38 minutes.",
    cause="3 pods of render/worker require a node with a pod license-proxy (podAffinity), and namespace render has no such pod.",
    thread="aws/karpenter-provider-aws#7999",
    must=[
        "render/worker",
        r"(?<!anti-)(?<!anti)\baffinity|podAffinity",
        "license-proxy",
        n(3),
        r"\bno (such |matching |running )?pod|none|does not exist|not exist|nothing",
    ],
    must_not=[LAUNCHES, ROOM, ICE, r"anti-? ?affinity"],
)
def affinity_to_a_pod_that_moved(c: Cluster) -> None:
    usual(c, 5)
    host = add_node(c, "general", "m6i.2xlarge", c.zones[0], age="3d")
    add_workload(c, "licensing/license-proxy", on=[host], age="3d", cpu="200m", memory="256Mi")
    spec = required("podAffinity", "license-proxy", HOST)
    pods = waiting(c, "render/worker", 3, "38m", no_node({"node(s) didn't match pod affinity rules": 8}), cpu="1", memory="2Gi", spec=spec)  # fmt: skip
    error = f"unsatisfiable topology constraint for pod affinity, key={HOST} (counts = , podDomains = {HOST} Exists, nodeDomains = {HOST} Exists)"
    unschedulable(c, pods, error, minutes=38)


@incident(
    story="The inference pods ask for their GPU by a ResourceClaim since the last release. Karpenter does not support that and launches "
    "nothing for them; four pods are pending for 40 minutes.",
    cause="4 pods of ml/inference use a ResourceClaim (Dynamic Resource Allocation), which Karpenter does not support, so it launches nothing.",
    thread="kubernetes-sigs/karpenter#1231",
    must=[
        r"resource ?claim|dynamic resource|\bDRA\b",
        n(4),
        "inference",
        r"not (yet )?support|unsupported|does not|cannot|ignore|unable|no node",
    ],
    must_not=[LAUNCHES, ROOM],
)
def resource_claims(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    add_pool(c, "gpu", families=("g5",), sizes=("xlarge", "2xlarge"), template={"taints": [GPU_TAINT]})
    fleet(c, "general", "orders/storefront", 3)
    pods = waiting(c, "ml/inference", 4, "40m", "0/5 nodes are available: 5 cannot allocate all claims. still not schedulable, preemption: 0/5 nodes are available: "
        "5 Preemption is not helpful for scheduling.", cpu="2", memory="8Gi", spec={
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}],
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        })  # fmt: skip
    for pod in pods:
        pod["spec"]["containers"][0]["resources"]["claims"] = [{"name": "gpu"}]
    error = "pod has Dynamic Resource Allocation requirements that are not yet supported by Karpenter"
    unschedulable(c, pods, error, minutes=40)


@incident(
    story="Volcano was scaled to zero for an upgrade last night and forgotten. Six training pods name it as their scheduler; no scheduler looks at them, "
    "so they have no condition and no event, and Karpenter ignores them.",
    cause="6 pods of ml/train are pending for 34 minutes: their scheduler, volcano, does not run (0 replicas).",
    thread="volcano-sh/volcano#2986",
    must=[r"ml/train", "volcano", "scheduler", n(6), r"3[34] ?m"],
    must_not=[LAUNCHES, ROOM, ICE],
)
def scheduler_scaled_to_zero(c: Cluster) -> None:
    usual(c)
    add_namespace(c, "volcano-system")
    add_workload(c, "volcano-system/volcano-scheduler", cpu="250m", memory="256Mi", count=0, replicas=0, age="90d")
    waiting(c, "ml/train", 6, "34m", spec={"schedulerName": "volcano"}, scheduled=False)
