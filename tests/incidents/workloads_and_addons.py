"""Add-ons that run no pod or may not act, autoscalers that stand in each other's way, and operators' own budgets."""

from __future__ import annotations

from typing import Any

from tests.incidents.cluster import Cluster
from tests.incidents.fleets import usual
from tests.incidents.incident import ICE, LAUNCHES, incident, n, order_of
from tests.incidents.node_lives import add_node_events, add_scaler
from tests.incidents.node_objects import add_node, conditions
from tests.incidents.objects import condition, digest, uid
from tests.incidents.pods import (
    PROTECTED,
    SELECTOR,
    add_daemonset,
    add_pdb,
    add_pod,
    add_volume,
    add_workload,
    no_node,
    waiting,
)
from tests.incidents.pools import add_pool
from tests.incidents.workloads import crash

PENDING = r"[1-9]\d* pods?[^\n]{0,30} pending"
NO_POD = r"\b0\b|zero|no pod|not run"


@incident(
    story="CoreDNS was scaled to 0 for a test, and nobody scaled it up again. Nothing resolves names: nine pods of three workloads crash for 25 minutes.",
    cause="kube-system/coredns runs no pod, so no names are resolved; 9 pods of 3 workloads crash.",
    thread="kubernetes/kubernetes#88986",
    must=["coredns", NO_POD, n(9), "crash"],
    must_not=[LAUNCHES, PENDING, ICE],
    other=[order_of("coredns", "crash")],
)
def coredns_is_scaled_to_zero(c: Cluster) -> None:
    usual(c)
    c.objects = [item for item in c.objects if item["kind"] != "Pod" or "coredns" not in item["metadata"]["name"]]
    for item in c.objects:
        if item["kind"] in ("Deployment", "ReplicaSet") and item["metadata"]["name"].startswith("coredns"):
            item["spec"]["replicas"], item["status"] = 0, {"replicas": 0}
    hosts = [add_node(c, "general", "m6i.2xlarge", zone, age="8d") for zone in c.zones]
    for name in ("shop/web", "shop/cart", "bi/cube"):
        for pod in add_workload(c, name, on=hosts, age="3d", cpu="500m", memory="512Mi"):
            crash(c, pod, code=1, restarts=9, ago="80s")


@incident(
    story="CoreDNS runs as a DaemonSet here, and the Deployment that came with the cluster is scaled to 0. Nine pods of three workloads crash for 25 minutes, for a reason of their own.",
    cause="9 pods of 3 workloads crash; names are resolved by the DaemonSet kube-system/coredns-node.",
    thread="kubernetes/kubernetes#88986",
    must=[n(9), "crash"],
    must_not=[r"runs no pod", LAUNCHES, PENDING, ICE],
)
def coredns_runs_as_a_daemonset(c: Cluster) -> None:
    coredns_is_scaled_to_zero(c)
    add_daemonset(c, "kube-system", "coredns-node", cpu="50m", memory="64Mi")


@incident(
    story="The controller of the EBS driver was scaled to 0 by mistake. An expired node is drained and keeps its volume, so db/pg-0 has not started elsewhere for 35 minutes.",
    cause="ebs-csi-controller runs no pod, so volumes are neither detached nor attached: db/pg-0 has not started for 35 minutes, and a drained node waits for its volume.",
    thread="kubernetes-sigs/aws-ebs-csi-driver#1665",
    must=["db/pg-0", "ebs-csi-controller", NO_POD, "volume"],
    must_not=[LAUNCHES, PENDING, ICE],
    other=[order_of("ebs-csi-controller", "db/pg-0")],
)
def volume_controller_is_scaled_to_zero(c: Cluster) -> None:
    usual(c)
    add_workload(c, "kube-system/ebs-csi-controller", count=0, replicas=0, age="90d")
    old = add_node(c, "general", "m6i.xlarge", c.zones[0], age="30d40m", deleting="40m")
    waits = ("VolumesDetached", "Unknown", c.at("36m"), "AwaitingVolumeDetachment", "AwaitingVolumeDetachment")
    conditions(old, condition("Drained", "True", c.at("36m"), "Drained"), condition(*waits))
    new = add_node(c, "general", "m6i.xlarge", c.zones[0], age="39m")
    pod = add_workload(c, "db/pg", kind="StatefulSet", on=[new], age="35m", cpu="1", memory="4Gi", waiting="ContainerCreating")[0]  # fmt: skip
    pod["spec"]["volumes"] = [add_volume(c, "db", "data-pg-0", c.zones[0])]
    text = f'Multi-Attach error for volume "pvc-{uid("db", "data-pg-0")}" Volume is already exclusively attached to one node and can\'t be attached to another'
    c.event(pod, "FailedAttachVolume", text, last="34m", source="attachdetach-controller")


@incident(
    story="A clean-up of IAM policies took ec2:AttachVolume from the role of the EBS driver. Consolidation moved db/pg-1, and its volume cannot be attached. Karpenter's own permissions are fine.",
    cause="db/pg-1 has not started for 25 minutes: the EBS driver is not authorized to attach its volume (ec2:AttachVolume).",
    thread="kubernetes-sigs/aws-ebs-csi-driver#1302",
    must=["db/pg-1", "attach", r"not authori[sz]ed", r"2[45] ?m"],
    must_not=[LAUNCHES, PENDING, ICE, r"Karpenter('s role)? (is not authori|may not)"],
)
def volume_driver_may_not_attach(c: Cluster) -> None:
    usual(c)
    hosts = [add_node(c, "general", "m6i.xlarge", zone, age="8d") for zone in c.zones[:2]]
    add_workload(c, "db/pg", kind="StatefulSet", on=hosts[:1], age="7d", cpu="1", memory="4Gi", replicas=2)
    pod = add_pod(c, "db", "pg-1", node=hosts[1], parent=c.find("StatefulSet", "pg"), age="25m", labels={"app.kubernetes.io/name": "pg"}, waiting="ContainerCreating")  # fmt: skip
    pod["spec"]["volumes"] = [add_volume(c, "db", "data-pg-1", c.zones[1])]
    text = (
        f'AttachVolume.Attach failed for volume "pvc-{uid("db", "data-pg-1")}" : rpc error: code = Internal desc = Could not attach volume "vol-0123" to node "i-0abc": operation error EC2: AttachVolume, '
        "https response error StatusCode: 403, api error UnauthorizedOperation: You are not authorized to perform this operation. User: arn:aws:sts::111122223333:assumed-role/ebs-csi "
        "is not authorized to perform: ec2:AttachVolume"
    )
    c.event(pod, "FailedAttachVolume", text, last="40s", first="25m", count=18, source="attachdetach-controller")


@incident(
    story="The chart of shop/cart brings its own HorizontalPodAutoscaler, and KEDA has made another for the same Deployment. Kubernetes follows neither (AmbiguousSelector).",
    cause="The HorizontalPodAutoscalers shop/cart and shop/keda-hpa-cart both scale the Deployment cart, so neither does (AmbiguousSelector).",
    thread="kedacore/keda#5825",
    must=["shop/cart", "keda-hpa-cart", "HorizontalPodAutoscaler", "ambiguous|both|same|multiple"],
    must_not=[LAUNCHES, PENDING, ICE, "metrics"],
)
def two_autoscalers_of_one_deployment(c: Cluster) -> None:
    usual(c)
    add_workload(c, "shop/cart", on=c.system, age="4d", cpu="50m", memory="64Mi")
    text = (
        "pods by selector app.kubernetes.io/name=cart are controlled by multiple HPAs: [shop/cart shop/keda-hpa-cart]"
    )
    for name in ("cart", "keda-hpa-cart"):
        add_scaler(c, f"shop/{name}", low=2, high=20, now=2)
        scaler = c.find("HorizontalPodAutoscaler", name)
        scaler["spec"]["scaleTargetRef"]["name"] = "cart"
        scaler["status"]["conditions"] = [condition("ScalingActive", "False", c.at("3h"), "AmbiguousSelector", text)]
        c.event(scaler, "AmbiguousSelector", text, last="12s", first="59m", count=240, source="horizontal-pod-autoscaler")  # fmt: skip


@incident(
    story="A controller restarts shop/api at each change of a ConfigMap, which an operator writes every two minutes: 24 rollouts in the last hour. Karpenter launches a node for each surge and removes it.",
    cause="The Deployment shop/api was rolled out 24 times in the last hour; Karpenter launched and removed 9 nodes meanwhile.",
    thread="stakater/Reloader#341",
    must=["shop/api", r"roll(ed )?out", n(24), n(9)],
    must_not=[ICE, "HorizontalPodAutoscaler", "scaled up and down"],
)
def rollouts_without_end(c: Cluster) -> None:
    pairs = usual(c, 6, disruption={"consolidateAfter": "30s"})
    add_workload(c, "shop/api", on=pairs, age="90s", cpu="50m", memory="64Mi")
    deployment = c.find("Deployment", "api")
    for number in range(24):
        new, old = (f"api-{digest('api', number + step)[:9]}" for step in (0, 1))
        up, down = f"Scaled up replica set {new} from 0 to 6", f"Scaled down replica set {old} from 6 to 0"
        for text, after in ((up, 60), (down, 20)):
            c.event(deployment, "ScalingReplicaSet", text, last=f"{150 * number + 60 + after}s", kind="Normal", source="deployment-controller")  # fmt: skip
    for number in range(9):
        add_node_events(c, "general", number, last=100 + 380 * number, lived=170, reason="Empty")


@incident(
    story="An OSD of Rook crashes in us-east-1a, so Rook blocks drains in the other zones by PodDisruptionBudgets of its own. An expired node in us-east-1b has been draining for five hours, which uses up the disruption budget of its NodePool.",
    cause="A node has been draining for 5 hours: the PodDisruptionBudget rook-ceph-osd-us-east-1b allows no eviction, while rook-ceph/rook-ceph-osd-0 crashes; so the disruption budget is used up, and 5 other nodes wait.",
    thread="rook/rook#11040",
    must=["rook-ceph-osd-us-east-1b", "drain", r"5 ?h|4h5", r"disruption budget of general"],
    must_not=[LAUNCHES, PENDING, ICE],
    other=[order_of("rook-ceph-osd-us-east-1b", "disruption budget of general", "rook-ceph-osd-0")],
)
def operator_blocks_the_drains_of_other_zones(c: Cluster) -> None:
    usual(c)
    for number, zone in enumerate(c.zones):
        state: dict[str, Any] = {"deleting": "5h", "age": "30d5h"} if number == 1 else {"age": "8d"}
        host = add_node(c, "general", "m6i.2xlarge", zone, **state)
        app = f"rook-ceph-osd-{number}"
        pod = add_workload(c, f"rook-ceph/{app}", on=[host], age="7d", cpu="1", memory="4Gi")[0]
        if number:
            add_pdb(c, "rook-ceph", f"rook-ceph-osd-{zone}", app, healthy=1, desired=1, expected=1, maxUnavailable=0)
        else:
            crash(c, pod, code=1, restarts=70, ago="3m")
        if number == 1:
            conditions(host, condition("Drained", "Unknown", c.at("5h"), "Draining", "Draining"))


@incident(
    story="A new image drifts the nodes of NodePool ml, whose terminationGracePeriod is 72h. Karpenter launched four replacements and drains the old nodes, on which do-not-disrupt protects trainers for 52 hours more. All are paid for meanwhile: the replacements are empty and stay, as the draining nodes use up the disruption budget.",
    cause="do-not-disrupt on 4 pods of ml/train blocks the drain of 4 nodes for 20 hours, until it is forced in 52 hours; 4 empty nodes stay, because these use up the disruption budget.",
    thread="kubernetes-sigs/karpenter#1928",
    must=["ml/train", n(4), "do-not-disrupt", "drain", r"52 ?h|51 ?h|2d[34]h", r"used up"],
    must_not=[LAUNCHES, PENDING, ICE, r"is 0 for Empty", r"on nodes that expire within a day"],
)  # fmt: skip
def replacements_stay_empty_for_days(c: Cluster) -> None:
    usual(c)
    add_pool(c, "ml", sizes=("2xlarge",), labels={"team": "ml"}, template={"terminationGracePeriod": "72h"})
    ends = {"karpenter.sh/nodeclaim-termination-timestamp": c.at("-52h")}
    old = [add_node(c, "ml", "m6i.2xlarge", c.zones[i % 3], age="9d", drifted="21h", deleting="20h", claim_annotations=ends) for i in range(4)]  # fmt: skip
    for pair in old:
        conditions(pair, condition("Drained", "Unknown", c.at("20h"), "Draining", "Draining"))
        add_node(c, "ml", "m6i.2xlarge", pair.zone, age="20h")
    spec = {"nodeSelector": {"team": "ml"}}
    add_workload(c, "ml/train", kind="Job", on=old, age="2d", cpu="5", memory="20Gi", annotations=PROTECTED, spec=spec)


@incident(
    story="An engineer tainted the four nodes of NodePool web with maintenance=true:NoExecute instead of those of another pool. The taint evicted their pods, and the NodePool is at its limit: 12 pods are pending, and the nodes are empty.",
    cause="The taint maintenance on the 4 nodes of web keeps their pods away, and NodePool web is at its limit, so 12 pods of shop/front are pending for 22 minutes.",
    thread="kubernetes/kubernetes#120282",
    must=["shop/front", "taint", "maintenance", n(12), n(4)],
    must_not=[LAUNCHES, ICE],
)
def taint_on_the_wrong_nodes(c: Cluster) -> None:
    usual(c)
    add_pool(c, "web", sizes=("xlarge",), labels={"team": "web"}, limits={"cpu": "16"})
    taint = {"key": "maintenance", "value": "true", "effect": "NoExecute", "timeAdded": c.at("22m")}
    for number in range(4):
        add_node(c, "web", "m6i.xlarge", c.zones[number % 3], age="8d", taints=[taint])
    text = no_node({"node(s) had untolerated taint {maintenance: true}": 4, SELECTOR: 6})
    waiting(c, "shop/front", 12, "22m", text, spec={"nodeSelector": {"team": "web"}})


@incident(
    story="db/pg-0 has no disk space left and crashes. Its claim was enlarged an hour ago for the second time today, and EBS allows the next change of a volume only six hours after the last.",
    cause="db/pg-0 crashes, and its PersistentVolumeClaim data-pg-0 cannot be enlarged yet (VolumeModificationRateExceeded).",
    thread="kubernetes-sigs/aws-ebs-csi-driver#1447",
    must=["db/pg-0", "crash", "data-pg-0", r"resize|expan|modif|enlarg"],
    must_not=[LAUNCHES, PENDING, ICE],
)
def volume_cannot_be_enlarged_again(c: Cluster) -> None:
    usual(c)
    host = add_node(c, "general", "m6i.xlarge", c.zones[0], age="8d")
    pod = add_workload(c, "db/pg", kind="StatefulSet", on=[host], age="7d", cpu="1", memory="4Gi")[0]
    pod["spec"]["volumes"] = [add_volume(c, "db", "data-pg-0", c.zones[0])]
    crash(c, pod, code=1, restarts=23, ago="3m")
    claim = c.find("PersistentVolumeClaim", "data-pg-0")
    claim["spec"]["resources"]["requests"]["storage"] = "400Gi"
    claim["status"] |= {"capacity": {"storage": "200Gi"}, "conditions": [condition("Resizing", "True", c.at("59m"))]}
    text = (
        'resize volume "pvc-1" by resizer "ebs.csi.aws.com" failed: rpc error: code = Internal desc = Could not resize volume "vol-0aa": operation error EC2: ModifyVolume, https response error '
        "StatusCode: 400, api error VolumeModificationRateExceeded: You've reached the maximum modification rate per volume limit. Wait at least 6 hours between modifications per EBS volume."
    )
    c.event(claim, "VolumeResizeFailed", text, last="3m", first="59m", count=22, source="external-resizer ebs.csi.aws.com")  # fmt: skip


@incident(
    story="CloudNativePG guards the primary of db/orders by a PodDisruptionBudget of its own, and switches over when its node drains. Its operator is scaled to 0 after a failed upgrade, so a node has been draining for four hours.",
    cause="A node has been draining for 4 hours: the PodDisruptionBudget db/orders-primary never allows the eviction of db/orders-1, and cnpg-controller-manager, which would switch over, is scaled to 0.",
    thread="cloudnative-pg/cloudnative-pg#2570",
    must=["orders-primary", "drain", r"4 ?h|3h5", "cnpg-controller-manager"],
    must_not=[LAUNCHES, PENDING, ICE],
)
def operator_that_should_switch_over_is_scaled_to_zero(c: Cluster) -> None:
    usual(c)
    pairs = [add_node(c, "general", "m6i.2xlarge", zone, age="21d") for zone in c.zones[:2]]
    old = add_node(c, "general", "m6i.2xlarge", c.zones[2], age="30d4h", deleting="4h")
    conditions(old, condition("Drained", "Unknown", c.at("4h"), "Draining", "Draining"))
    pods = add_workload(c, "db/orders", kind="StatefulSet", on=[pairs[0], old, pairs[1]], age="19d", cpu="3", memory="12Gi")  # fmt: skip
    c.objects.remove(c.find("StatefulSet", "orders"))
    cluster = {"apiVersion": "postgresql.cnpg.io/v1", "kind": "Cluster", "name": "orders", "controller": True, "blockOwnerDeletion": True, "uid": uid(c.name, "orders")}  # fmt: skip
    for number, pod in enumerate(pods):
        pod["metadata"]["ownerReferences"] = [cluster]
        pod["metadata"]["labels"] = {"app.kubernetes.io/name": "primary" if number == 1 else "replica"}
    add_pdb(c, "db", "orders-primary", "primary", healthy=1, desired=1, expected=1, minAvailable=1)
    add_workload(c, "cnpg-system/cnpg-controller-manager", count=0, replicas=0, age="90d")


@incident(
    story="A HorizontalPodAutoscaler runs shop/web with 20 pods by day and 6 by night; the PodDisruptionBudget demands 6 healthy pods. A drift of five nodes is four days old, and last night's quiet hours, when the rest of the cluster was replaced, brought it no further.",
    cause="The PodDisruptionBudget shop/web allows no eviction now, as all of its 6 pods must be healthy, so the drift of 5 nodes waits; by day, with more pods, it allows some.",
    thread="kedacore/keda#5583",
    must=["shop/web", r"all of its 6 pods|demands 6", n(5), r"\b4 ?d", r"\b9 ?h"],
    must_not=[LAUNCHES, PENDING, ICE, "never allows"],
)
def absolute_minimum_at_night(c: Cluster) -> None:
    usual(c)
    hosts = [add_node(c, "general", "m6i.xlarge", c.zones[i % 3], age="9d", drifted="4d") for i in range(5)]
    add_workload(c, "shop/web", on=hosts, count=6, age="7d", cpu="500m", memory="1Gi")
    add_scaler(c, "shop/web", low=6, high=20, now=6)
    budget = add_pdb(c, "shop", "web", "web", healthy=6, desired=6, expected=6, minAvailable=6)
    budget["status"]["conditions"] = [condition("DisruptionAllowed", "False", c.at("9h"), "InsufficientPods")]


@incident(
    story="The adapter of the custom metrics API is down. Three HorizontalPodAutoscalers that scale by requests per second read nothing for 40 minutes; the error names the metric of each.",
    cause="The HorizontalPodAutoscalers shop/web, shop/cart and shop/mail cannot read metrics for 40 minutes: the custom metrics API does not answer.",
    thread="kubernetes-sigs/prometheus-adapter#398",
    must=["HorizontalPodAutoscalers shop/", "and 1 more|shop/mail", "metrics", r"unable to handle", r"40 ?m|39 ?m"],
    must_not=[LAUNCHES, PENDING, ICE],
    first=1,
)
def custom_metrics_are_down(c: Cluster) -> None:
    usual(c)
    for name in ("web", "cart", "mail"):
        add_workload(c, f"shop/{name}", on=c.system, age="4d", cpu="50m", memory="64Mi")
        add_scaler(c, f"shop/{name}", low=2, high=20, now=2)
        text = f"unable to get metric requests-per-second: Ingress on shop {name}/unable to fetch metrics from custom metrics API: the server is currently unable to handle the request (get ingresses.custom.metrics.k8s.io {name})"
        scaler = c.find("HorizontalPodAutoscaler", name)
        c.event(scaler, "FailedGetObjectMetric", text, last="15s", first="40m", count=160, source="horizontal-pod-autoscaler")  # fmt: skip
