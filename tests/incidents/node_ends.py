"""Nodes that are lost, blocked or replaced in ways that resemble others: node groups, workflows, finalizers, reservations."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import big_fleet, fleet, gone_claim, usual
from tests.incidents.incident import ICE, LAUNCHES, incident, n, quiet
from tests.incidents.node_lives import NONE_PENDING, PDB, add_node_events, add_scaler
from tests.incidents.node_objects import NOT_READY, add_group_node, add_node, both, conditions, cordon
from tests.incidents.objects import condition, digest, uid
from tests.incidents.pods import PROTECTED, SELECTOR, add_daemonset, add_pdb, add_pod, add_workload, no_node, waiting
from tests.incidents.pools import add_nodeclass, add_pool
from tests.incidents.providers import aks_pool, to_aks
from tests.incidents.workloads import crash


@incident(
    story="Two of three nodes of the node group platform have been NotReady for 20 minutes: a sysctl change broke their network. ingress-nginx runs there. Karpenter's nodes and Karpenter itself are fine.",
    cause="2 nodes of a node group (not Karpenter's) have not been ready for 20 minutes.",
    thread="awslabs/amazon-eks-ami#1145",
    must=[n(2), r"not (been )?ready|NotReady|silent", r"\b20 ?m|19m"],
    must_not=[LAUNCHES, ICE, NONE_PENDING, r"[1-9] nodes? of general"],
)
def platform_nodes_are_not_ready(c: Cluster) -> None:
    usual(c, 9)
    lost = [add_group_node(c, "m6i.xlarge", zone, ready=NOT_READY, ready_since="20m") for zone in c.zones[:2]]
    fine = add_group_node(c, "m6i.xlarge", c.zones[2])
    add_workload(c, "ingress-nginx/controller", on=[fine, *lost], age="40d", cpu="1", memory="2Gi")
    for pair in lost:
        assert pair.node is not None
        pair.node["spec"]["taints"] = [{"key": "node.kubernetes.io/unreachable", "effect": effect} for effect in ("NoSchedule", "NoExecute")]  # fmt: skip


@incident(
    story="Spot pool mix on Karpenter 1.12: consolidation replaces each node about eight minutes after its launch with a slightly cheaper type, which is replaced in turn. Seven nodes in the last hour; no pod is pending, and the bill grows.",
    cause="Consolidation replaced 7 nodes of mix in the last hour, each about 8 minutes after its launch (Underutilized).",
    thread="kubernetes-sigs/karpenter#1014",
    must=[r"\bmix\b", n(7), r"Underutilized|consolidat", r"again|loop|shortly|after launch|churn"],
    must_not=[LAUNCHES, NONE_PENDING, ICE, PDB],
    karpenter_version="1.12.0",
    settings={"FEATURE_GATES": "SpotToSpotConsolidation=true"},
)
def spot_nodes_are_replaced_without_end(c: Cluster) -> None:
    usual(c, 3)
    add_pool(c, "mix", capacity=("spot",), labels={"team": "mix"}, disruption={"consolidateAfter": "30s"})
    fresh = [add_node(c, "mix", "m6i.xlarge", zone, capacity="spot", age="4m") for zone in c.zones]
    add_workload(c, "feed/rank", on=fresh, count=9, age="3m", spec={"nodeSelector": {"team": "mix"}})
    for number in range(7):
        add_node_events(c, "mix", number, last=240 + 460 * number, lived=450, reason="Underutilized")


@incident(
    story="A build leaks processes. On one node of ci fork fails; EKS's node monitoring agent reports KernelReady False (ForkFailedOutOfPIDs) for 50 minutes. Node repair is off, so the node stays, and its kubelet still says Ready.",
    cause="ip-10-24-17-150 has been out of process IDs for 50 minutes (KernelReady False, ForkFailedOutOfPIDs), and node repair is off.",
    thread="aws/karpenter-provider-aws#7866",
    must=[r"KernelReady|PIDs|fork", r"\b1 node|ip-10-24|one node", r"\b50 ?m|49m", r"repair"],
    must_not=[LAUNCHES, NONE_PENDING, r"not ready for"],
    karpenter_version="1.14.1",
)
def kernel_of_a_node_cannot_fork(c: Cluster) -> None:
    usual(c, 5)
    add_pool(c, "ci", labels={"team": "ci"})
    hosts = [add_node(c, "ci", "m6i.2xlarge", zone, age="2d") for zone in c.zones]
    add_workload(c, "ci/agent", on=hosts, count=6, age="40h", cpu="3", memory="10Gi", spec={"nodeSelector": {"team": "ci"}})  # fmt: skip
    for number, pair in enumerate(hosts):
        state = ("False", c.at("50m"), "ForkFailedOutOfPIDs", "failed to fork: resource temporarily unavailable") if not number else ("True", c.at("2d"), "KernelIsReady", "Monitoring for the Kernel system is active")  # fmt: skip
        pair.status["conditions"].append(condition("KernelReady", *state))


@incident(
    story="Pods of an Argo Workflow carry do-not-disrupt and run for days. They sit on four nodes that drifted three days ago. Their owner is a Workflow, a kind that nobody listed.",
    cause="do-not-disrupt on 4 pods of the Workflow data/retrain blocks the drift of 4 nodes for 3 days.",
    thread="argoproj/argo-workflows#9283",
    must=[n(4), "do-not-disrupt", "data/retrain|retrain", r"drift", r"\b3 ?d|7[12] ?h|2d2\dh"],
    must_not=[LAUNCHES, NONE_PENDING, PDB, r"no (owner|controller)"],
    karpenter_version="1.14.0",
)
def workflow_keeps_drifted_nodes(c: Cluster) -> None:
    usual(c, 4)
    add_pool(c, "data", sizes=("2xlarge",), labels={"team": "data"})
    hosts = [add_node(c, "data", "m6i.2xlarge", c.zones[i % 3], age="9d", drifted="3d") for i in range(4)]
    workflow = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": {"name": "retrain-8f2kd", "uid": uid("wf")}}  # fmt: skip
    for number, pair in enumerate(hosts):
        add_pod(c, "data", f"retrain-8f2kd-fit-{digest(number)[:9]}", node=pair, parent=workflow, age="3d4h", cpu="6", memory="24Gi", labels={"workflows.argoproj.io/workflow": "retrain-8f2kd"}, annotations=PROTECTED, spec={"restartPolicy": "Never", "nodeSelector": {"team": "data"}})  # fmt: skip
        for manifest in both(pair):
            text = f'Pod has "karpenter.sh/do-not-disrupt" annotation (Pod=data/retrain-8f2kd-fit-{digest(number)[:9]})'
            c.event(manifest, "DisruptionBlocked", text, last="1m", first="59m", count=29, kind="Normal")


@incident(
    story="search/es has three replicas and a PodDisruptionBudget that allows one to be absent. Since this morning es-2 has crashed (exit code 78), so the budget is used up: the node of es-0 has been draining for six hours.",
    cause="search/es-2 crashes, so the PodDisruptionBudget search/es allows no eviction, and a node has been draining for 6 hours.",
    thread="kubernetes/kubernetes#72320",
    must=["search/es", PDB, r"drain|terminat", r"\b6 ?h|5h5\d", r"crash|es-2|not ready|unhealthy"],
    must_not=[LAUNCHES, NONE_PENDING, "do-not-disrupt", r"never allows"],
)
def crashing_replica_uses_up_the_budget(c: Cluster) -> None:
    usual(c)
    add_pool(c, "search", families=("r6i",), labels={"team": "es"})
    spec = {"nodeSelector": {"team": "es"}}
    old = add_node(c, "search", "r6i.xlarge", c.zones[0], age="30d6h", deleting="6h2m")
    rest = [add_node(c, "search", "r6i.xlarge", zone, age="12d") for zone in c.zones[1:]]
    pods = add_workload(c, "search/es", kind="StatefulSet", on=[old, *rest], age="11d", cpu="3", memory="24Gi", spec=spec)  # fmt: skip
    crash(c, pods[2], code=78, restarts=81, ago="2m")
    c.find("StatefulSet", "es")["status"] |= {"readyReplicas": 2, "availableReplicas": 2}
    add_pdb(c, "search", "es", "es", healthy=2, desired=2, expected=3, maxUnavailable=1)
    conditions(old, condition("Drained", "Unknown", c.at("6h"), "Draining", "Draining"))
    text = "Failed to drain node, evicting pod violates a PDB"
    c.event(both(old)[0], "FailedDraining", text, last="1m", first="59m", count=29)


@incident(
    story="A rename left the HorizontalPodAutoscaler shop/web without its Deployment: it has been unable to scale anything for an hour, and the four pods of the new Deployment shop/web-v2 are throttled.",
    cause="The HorizontalPodAutoscaler shop/web cannot scale: its Deployment web does not exist.",
    thread="kubernetes/kubernetes#82046",
    must=["shop/web", r"HorizontalPodAutoscaler|\bHPA\b|scal", r"not found|does not exist|missing"],
    must_not=[LAUNCHES, NONE_PENDING, ICE, r"metrics"],
)
def autoscaler_has_lost_its_deployment(c: Cluster) -> None:
    pairs = usual(c, 5)
    add_workload(c, "shop/web-v2", on=pairs[:4], age="70m", cpu="100m", memory="200Mi")
    add_scaler(c, "shop/web", low=4, high=40, now=4)
    scaler = c.find("HorizontalPodAutoscaler", "web")
    text = 'the HPA controller was unable to get the target\'s current scale: deployments.apps "web" not found'
    scaler["status"] = {"currentReplicas": 4, "desiredReplicas": 0, "conditions": [condition("AbleToScale", "False", c.at("68m"), "FailedGetScale", text)]}  # fmt: skip
    c.event(scaler, "FailedGetScale", 'deployments.apps "web" not found', last="20s", first="59m", count=236, source="horizontal-pod-autoscaler")  # fmt: skip


@incident(
    story="A cluster of 60 nodes. On all 20 nodes of us-east-1c the pods of kube-system/node-local-dns crash (exit code 1): the resolver of that zone was renumbered. Pods there resolve no names. In the other zones all is well.",
    cause="20 of 62 pods of the DaemonSet kube-system/node-local-dns crash (exit code 1), all in us-east-1c.",
    thread="kubernetes/dns#394",
    must=["node-local-dns", n(20), r"us-east-1c", r"crash|restart"],
    must_not=[LAUNCHES, NONE_PENDING, ICE],
    karpenter_version="1.13.0",
)
def local_dns_crashes_in_one_zone(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    pairs = big_fleet(c, "general", 60)
    add_daemonset(c, "kube-system", "node-local-dns", cpu="25m", memory="70Mi")
    manifest, labels = c.find("DaemonSet", "node-local-dns"), {"app.kubernetes.io/name": "node-local-dns"}
    c.daemonsets = [pair for pair in c.daemonsets if pair[0] is not manifest]
    c.system[1].zone = c.zones[1]
    c.system[1].node["metadata"]["labels"]["topology.kubernetes.io/zone"] = c.zones[1]  # type: ignore[index]
    for number, pair in enumerate([*c.system, *pairs]):
        pod = add_pod(c, "kube-system", f"node-local-dns-{digest(number)[:5]}", node=pair, parent=manifest, age="5d", cpu="25m", memory="70Mi", labels=labels, spec={"tolerations": [{"operator": "Exists"}]})  # fmt: skip
        if pair.zone == c.zones[2]:
            crash(c, pod, code=1, restarts=19, ago=f"{30 + 5 * number}s")
    counts = {"currentNumberScheduled": 62, "desiredNumberScheduled": 62, "updatedNumberScheduled": 62, "numberMisscheduled": 0, "observedGeneration": 2}  # fmt: skip
    manifest["status"] = {**counts, "numberReady": 42, "numberAvailable": 42, "numberUnavailable": 20}


@incident(
    story="The owner of an interruptible capacity reservation reclaims it. Three reserved nodes of pool borrowed were interrupted a minute ago and drain; eleven pods need new nodes, which nobody has launched yet.",
    cause="3 of 3 reserved nodes of borrowed were interrupted a minute ago: their capacity reservation is reclaimed.",
    thread="aws/karpenter-provider-aws#8562",
    must=[n(3), "interrupt", r"\bborrowed\b"],
    must_not=[ICE, r"\bspot\b", "do-not-disrupt", PDB],
)
def borrowed_reservation_is_reclaimed(c: Cluster) -> None:
    usual(c, 6)
    add_pool(c, "borrowed", capacity=("reserved", "on-demand"), sizes=("2xlarge",), labels={"team": "bi"})
    for number, zone in enumerate(c.zones):
        pair = add_node(c, "borrowed", "m6i.2xlarge", zone, capacity="reserved", age="6d", deleting=f"{70 - number}s")
        conditions(pair, condition("Drained", "Unknown", c.at("65s"), "Draining", "Draining"))
        add_workload(c, f"bi/cube-{number}", on=[pair], count=3, age="5d", cpu="2", memory="8Gi", spec={"nodeSelector": {"team": "bi"}})  # fmt: skip
        for manifest in both(pair):
            c.event(manifest, "CapacityReservationInstanceInterrupted", "Capacity Reservation Instance interruption warning was triggered", last=f"{72 - number}s")  # fmt: skip
            c.event(manifest, "TerminatingOnInterruption", f"Interruption triggered termination for the {manifest['kind']}", last=f"{71 - number}s")  # fmt: skip
    waiting(c, "bi/cube-new", 2, "50s", no_node({SELECTOR: 8, "node(s) had untolerated taint {karpenter.sh/disrupted: }": 3}), spec={"nodeSelector": {"team": "bi"}})  # fmt: skip


@incident(
    story="A colleague sends the lists of nodes, NodeClaims and pods, nothing else. Three NodeClaims have been deleting for five hours; their nodes are drained, and Karpenter waits for volumes to be detached.",
    cause="3 nodes of daten have been terminating for 5 hours: they are drained, and their volumes are not detached.",
    thread="kubernetes-sigs/karpenter#1700",
    must=[n(3), r"volume", r"\b5 ?h|4h5\d", r"drain|terminat|delet"],
    must_not=[LAUNCHES, ICE, PDB + r"[^\n]*(block|allow)", "do-not-disrupt", NONE_PENDING],
    listed=("Node", "NodeClaim", "Pod"),
)
def drained_nodes_wait_for_volumes_in_lists(c: Cluster) -> None:
    usual(c, 6)
    add_pool(c, "daten")
    for zone in c.zones:
        pair = add_node(c, "daten", "r6i.xlarge", zone, age="18d", deleting="5h")
        conditions(pair, condition("DisruptionReason", "True", c.at("5h"), "Drifted"), condition("Drained", "True", c.at("4h57m")), condition("VolumesDetached", "Unknown", c.at("4h57m"), "AwaitingVolumeDetachment", "AwaitingVolumeDetachment"))  # fmt: skip


@incident(
    story="Two faults. On a node of lab the kernel kills processes every few minutes (SystemOOM). Besides, a budget of 0 nodes without a schedule stops the drift of six nodes of web for two days.",
    cause="A node of lab runs out of memory again and again (SystemOOM, 9 times). A disruption budget of 0 blocks the drift of 6 nodes of web for 2 days.",
    thread="awslabs/amazon-eks-ami#1145, aws/karpenter-provider-aws#5898",
    must=[r"memory|OOM", n(9), r"\bweb\b", n(6), "budget", r"\b2 ?d|4[78] ?h"],
    must_not=[LAUNCHES, NONE_PENDING, "do-not-disrupt", PDB],
)
def memory_runs_out_and_a_budget_is_closed(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "web", disruption={"budgets": [{"nodes": "0"}]})
    add_pool(c, "lab")
    fleet(c, "web", "shop/front", 6, age="14d", drifted="2d")
    host = add_node(c, "lab", "m6i.xlarge", c.zones[0], age="30h")
    add_workload(c, "lab/notebook", on=[host], count=3, age="29h", memory="1Gi")
    for number in range(9):
        c.event(both(host)[0], "SystemOOM", f"System OOM encountered, victim process: python3, pid: {9100 + number}", last=f"{2 + 6 * number}m", source="kubelet")  # fmt: skip


@quiet(
    story="Azure freezes a machine for some seconds during maintenance of its host: VMEventScheduled is True with a freeze. Nothing restarts.",
    cause="Azure freezes a machine for some seconds.",
    thread="Azure/AKS#3719",
    must_not=[r"VMEvent|freeze|repair"],
    karpenter_runs=False,
    karpenter_version="1.13.0",
)
def fine_azure_freezes_a_machine(c: Cluster) -> None:
    aks_pool(c)
    pairs = fleet(c, "default", "orders/storefront", 5)
    text = "Freeze Scheduled: Tue, 24 Nov 2026 09:31:00 GMT"
    pairs[2].status["conditions"].append(condition("VMEventScheduled", "True", c.at("2m"), "VMEventScheduled", text))
    c.event(both(pairs[2])[0], "VMEventScheduled", text, last="2m", source="custom-vm-event-monitor")
    to_aks(c)


@quiet(
    story="The node group ran two nodes too many, and its autoscaling group ends one: cordoned eight minutes ago, NotReady for 100 seconds, and soon gone. Its pods run elsewhere.",
    cause="a node group shrinks by one node.",
    thread="kubernetes/autoscaler#4456",
    must_not=["not ready", "unhealthy", r"stays|forgotten"],
)
def fine_node_group_shrinks(c: Cluster) -> None:
    usual(c, 6)
    old = add_group_node(c, "m6i.large", c.zones[1], age="30d", ready=NOT_READY, ready_since="100s")
    cordon(c, old, "8m")


@quiet(
    story="A short surge this morning: Karpenter launched two nodes, which were empty again after ten minutes and were removed. It is the usual work.",
    cause="two nodes of a short surge were removed after it.",
    thread="kubernetes-sigs/karpenter#2705",
    must_not=["churn|again and again|loop", "consolidateAfter"],
)
def fine_two_nodes_for_a_surge(c: Cluster) -> None:
    usual(c, 7, disruption={"consolidateAfter": "2m"})
    for number in range(2):
        add_node_events(c, "general", number, last=1500 + 20 * number, lived=600, reason="Empty")


@quiet(
    story="Nodes of the nightly batch stay for the next night on purpose: consolidateAfter is 24h, and they have been empty for two hours.",
    cause="nodes of a daily batch rest until the next run.",
    thread="kubernetes-sigs/karpenter#1877",
    must_not=["stuck|never", r"for at least"],
)
def fine_batch_nodes_rest_for_a_day(c: Cluster) -> None:
    usual(c, 5)
    add_pool(c, "nightly", families=("m6i",), disruption={"consolidateAfter": "24h"})
    for number in range(4):
        status = both(add_node(c, "nightly", "m6i.2xlarge", c.zones[number % 3], age="9h"))[1]["status"]
        status["conditions"] = [item for item in status["conditions"] if item["type"] != "Consolidatable"]
        status["lastPodEventTime"] = c.at("2h")


@quiet(
    story="A large cluster. The VPA updater applied new recommendations to a dozen workloads, one pod each, over the last hour, and Karpenter removed a node that became empty.",
    cause="the VPA updater resizes a dozen workloads, one pod at a time.",
    thread="kubernetes/autoscaler#6247",
    must_not=["VerticalPodAutoscaler|VPA", "again and again"],
)
def fine_recommendations_are_applied(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    big_fleet(c, "general", 70)
    for number in range(12):
        meta = {"name": f"svc-{number}-6d4f7c9b8-{digest(number)[:5]}", "namespace": "shop", "uid": uid(c.name, number)}
        text = "Pod was evicted by VPA Updater to apply resource recommendation."
        c.event({"apiVersion": "v1", "kind": "Pod", "metadata": meta}, "EvictedByVPA", text, last=f"{100 + 280 * number}s", kind="Normal", source="vpa-updater")  # fmt: skip
    c.event(gone_claim(c, "general", 1), "DisruptionTerminating", "Disrupting NodeClaim: Empty", last="20m", kind="Normal")  # fmt: skip
