"""Unusual installations in which nothing is wrong."""

from __future__ import annotations

from tests.incidents.cluster import Cluster
from tests.incidents.controllers import FILLER
from tests.incidents.fleets import fleet, nominated, usual
from tests.incidents.incident import quiet
from tests.incidents.node_objects import add_group_node, add_node
from tests.incidents.objects import condition
from tests.incidents.pods import add_pdb, add_workload
from tests.incidents.pools import add_karpenter, add_nodeclass, add_pool
from tests.incidents.providers import AKS, AUTO_MODE, gcp_nodeclass, rename, to_gcp


@quiet(
    story="A small cluster runs Karpenter with one replica. It is ready and leads.",
    cause="Karpenter has one replica, and it runs.",
    thread="aws/karpenter-provider-aws#3190",
    must_not=[r"karpenter.{0,60}(down|not running|0 of|not ready)"],
    karpenter_runs=False,
)
def fine_single_karpenter(c: Cluster) -> None:
    add_karpenter(c, on=c.system[:1], replicas=1)
    add_workload(c, "monitoring/prometheus", kind="StatefulSet", on=c.system[1:], **FILLER)
    usual(c, 3)


@quiet(
    story="Both Karpenter pods have restarted once, one for want of memory six days ago. They run since.",
    cause="Karpenter runs with both replicas; its restarts are days ago.",
    thread="aws/karpenter-provider-aws#7658",
    must_not=[r"karpenter.{0,60}(OOM|crash|restart|down)"],
)
def fine_karpenter_restarted_days_ago(c: Cluster) -> None:
    usual(c)
    pods = [item for item in c.objects if item["kind"] == "Pod" and item["metadata"]["name"].startswith("karpenter-")]
    for pod, reason in zip(pods, ("OOMKilled", "Error"), strict=True):
        state = pod["status"]["containerStatuses"][0]
        state["restartCount"] = 1
        state["state"] = {"running": {"startedAt": c.at("6d")}}
        state["lastState"] = {
            "terminated": {"reason": reason, "exitCode": 137, "finishedAt": c.at("6d"), "startedAt": c.at("12d")}
        }


@quiet(
    story="Karpenter runs on Fargate, and the only disruption budget is open at night. It is day, and no node wants to be disrupted.",
    cause="the closed budget keeps no node, and Karpenter runs on Fargate.",
    thread="kubernetes-sigs/karpenter#2989",
    must_not=[
        r"budget.{0,60}(blocks|keeps|holds|closed).{0,40}\b\d+ (drifted )?nodes",
        r"karpenter.{0,40}(down|not ready|not running)",
    ],
    karpenter_runs=False,
)
def fine_fargate_and_closed_budget(c: Cluster) -> None:
    add_nodeclass(c)
    budgets = [{"nodes": "0", "schedule": "0 5 * * *", "duration": "16h"}, {"nodes": "20%"}]
    add_pool(c, "general", disruption={"budgets": budgets})
    fleet(c, "general", "orders/storefront", 4)
    taint = {"key": "eks.amazonaws.com/compute-type", "value": "fargate", "effect": "NoSchedule"}
    add_workload(c, "monitoring/prometheus", kind="StatefulSet", on=c.system, **FILLER)
    hosts = []
    daemons = ("aws-node", "kube-proxy", "ebs-csi-node", "eks-pod-identity-agent")
    for zone in c.zones[:2]:
        pair = add_group_node(c, "m6i.large", zone, age="12d1h")
        assert pair.node is not None
        meta, name = pair.node["metadata"], f"fargate-{pair.name}"
        c.find("CSINode", meta["name"])["metadata"]["name"] = name
        for key in (
            "eks.amazonaws.com/nodegroup",
            "eks.amazonaws.com/capacityType",
            "node.kubernetes.io/instance-type",
        ):
            meta["labels"].pop(key)
        meta["labels"] |= {"eks.amazonaws.com/compute-type": "fargate", "kubernetes.io/hostname": name[8:]}
        meta["name"] = name
        pair.node["spec"] |= {"taints": [taint], "providerID": f"aws:///{zone}/{meta['uid'][:8]}/fargate-{name}"}
        pair.without = daemons
        hosts.append(pair)
    for pod in add_karpenter(c, on=hosts):
        pod["spec"]["tolerations"].append(
            {"key": taint["key"], "operator": "Equal", "value": "fargate", "effect": "NoSchedule"}
        )
        pod["spec"]["schedulerName"] = "fargate-scheduler"


@quiet(
    story="The Cluster Autoscaler grows a tainted node group for legacy pods; Karpenter launches nodes for all others. Each keeps to its own pods.",
    cause="the Cluster Autoscaler and Karpenter work next to each other, each for its own pods.",
    thread="aws/karpenter-provider-aws#2543",
    must_not=[r"both|same pods|twice", "stuck"],
)
def fine_autoscalers_apart(c: Cluster) -> None:
    usual(c)
    image = "registry.k8s.io/autoscaling/cluster-autoscaler:v1.35.0"
    add_workload(
        c, "kube-system/cluster-autoscaler", on=c.system[:1], cpu="100m", memory="300Mi", image=image, age="200d"
    )
    grown = add_group_node(c, "m6i.large", c.zones[0], age="5m")
    assert grown.node is not None
    grown.node["spec"]["taints"] = [{"key": "legacy", "value": "true", "effect": "NoSchedule"}]
    spec = {
        "tolerations": [{"key": "legacy", "operator": "Exists"}],
        "nodeSelector": {"eks.amazonaws.com/nodegroup": "system"},
    }
    legacy = add_workload(c, "legacy/ledger", on=[grown], age="7m", cpu="500m", memory="1Gi", spec=spec)
    text = "pod triggered scale-up: [{eks-system-9ac1f2 2->3 (max: 10)}]"
    c.event(legacy[0], "TriggeredScaleUp", text, last="6m50s", kind="Normal", source="cluster-autoscaler")
    fresh = add_node(c, "general", "m6i.xlarge", c.zones[1], age="3m")
    pods = add_workload(c, "orders/checkout", on=[fresh], count=3, age="2m")
    nominated(c, pods, [fresh], last="3m")


@quiet(
    story="Karpenter was installed an hour ago. The NodePool is ready and has no node yet, because all pods run on the managed node group.",
    cause="Karpenter has launched no node yet, and no pod needs one.",
    thread="aws/karpenter-provider-aws#5909",
    must_not=[r"karpenter[^\n]{0,60}(down|not running|not ready|launches nothing)", "cannot launch"],
)
def fine_no_karpenter_nodes(c: Cluster) -> None:
    add_nodeclass(c)
    add_pool(c, "general")
    add_workload(c, "orders/storefront", on=c.system, count=2, cpu="100m", memory="256Mi")


@quiet(
    story="Three EKS Hybrid Nodes in the company's own data centre belong to the cluster beside Karpenter's nodes. Their pods have do-not-disrupt and a "
    "PodDisruptionBudget that allows no eviction; no method of Karpenter wants those nodes.",
    cause="protected pods run on three hybrid nodes, which Karpenter does not manage.",
    thread="pulumi/pulumi-eks#1512",
    must_not=["do-not-disrupt", r"PDB|PodDisruptionBudget|eviction", r"unknown instance type", r"plc-gateway"],
)
def fine_hybrid_nodes(c: Cluster) -> None:
    usual(c, 5)
    pairs = [add_group_node(c, "m6i.large", zone, age="120d") for zone in c.zones]
    for number, pair in enumerate(pairs):
        assert pair.node is not None
        labels = pair.node["metadata"]["labels"]
        for key in (
            "node.kubernetes.io/instance-type",
            "eks.amazonaws.com/nodegroup",
            "eks.amazonaws.com/capacityType",
        ):
            del labels[key]
        labels["eks.amazonaws.com/compute-type"] = "hybrid"
        pair.node["spec"]["providerID"] = f"eks-hybrid:///us-east-1/orders-prod/mi-0c41f9a7e2b8d35{number}"
    marks = {"karpenter.sh/do-not-disrupt": "true"}
    add_workload(
        c, "plant/plc-gateway", kind="StatefulSet", on=pairs, age="90d", cpu="500m", memory="1Gi", annotations=marks
    )
    add_pdb(c, "plant", "plc-gateway", "plc-gateway", healthy=3, desired=3, expected=3, maxUnavailable=0)


@quiet(
    story="An EKS Auto Mode cluster: AWS runs Karpenter, so there is no Deployment and no lease of it. Five nodes run, and one pool has none.",
    cause="EKS Auto Mode runs Karpenter outside the cluster.",
    thread="kubernetes-sigs/karpenter#2989",
    must_not=[
        r"karpenter[^\n]{0,60}(down|not running|not ready|not found|missing|no (running )?pod)",
        r"no EC2NodeClass",
    ],
    karpenter_runs=False,
)
def fine_auto_mode(c: Cluster) -> None:
    chosen = {"eks.amazonaws.com/nodegroup": "system"}
    for manifest, pod in c.daemonsets:
        pod["spec"]["nodeSelector"] = chosen
        manifest["spec"]["template"]["spec"]["nodeSelector"] = chosen
    nodeclass = add_nodeclass(c)
    nodeclass["spec"] = {"role": "AmazonEKSAutoNodeRole", "ephemeralStorage": {"size": "80Gi"}}
    auto = {"eks.amazonaws.com/compute-type": "auto"}
    add_pool(c, "general-purpose", families=("m6i",), sizes=(), labels=auto)
    add_pool(c, "system", families=("m6i",), sizes=(), labels=auto, template={"taints": [{"key": "CriticalAddonsOnly", "effect": "NoSchedule"}]})  # fmt: skip
    fleet(c, "general-purpose", "orders/storefront", 5)
    rename(c.objects, AUTO_MODE)


@quiet(
    story="An AKS cluster with node autoprovisioning: the NodePool refers to an AKSNodeClass, and Azure runs Karpenter. Four nodes run.",
    cause="AKS runs Karpenter outside the cluster, and its nodes are fine.",
    thread="kubernetes-sigs/karpenter#2989",
    must_not=[
        r"karpenter[^\n]{0,60}(down|not running|not ready|not found|missing|no (running )?pod)",
        r"EC2NodeClass|\bEC2\b",
        r"(no|unknown) instance type",
    ],
    karpenter_runs=False,
    settings={"CLUSTER_NAME": "orders-aks"},
)
def fine_aks(c: Cluster) -> None:
    nodeclass = add_nodeclass(c)
    nodeclass["spec"] = {"imageFamily": "Ubuntu2204", "osDiskSizeGB": 128}
    nodeclass["status"] = {
        "kubernetesVersion": "1.35.2",
        "conditions": [
            condition(item, "True", c.at("60d")) for item in ("ImagesReady", "KubernetesVersionReady", "Ready")
        ],
    }
    family = {"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": ["D"]}
    add_pool(c, "default", families=(), sizes=(), requirements=[family])
    fleet(c, "default", "orders/storefront", 4)
    keep = ("instance-family", "instance-cpu", "instance-memory")
    for pair in c.nodes:
        for manifest in (pair.node, pair.claim):
            if manifest is None:
                continue
            labels = manifest["metadata"]["labels"]
            for key in [*labels]:
                if key.startswith("karpenter.k8s.aws/instance") and not key.endswith(keep):
                    del labels[key]
            if pair.claim is not None:
                labels["karpenter.k8s.aws/instance-family"] = "D"
    rename(c.objects, AKS)
    for result, _ in c.daemonsets:
        assert "aws" not in result["metadata"]["name"]
    for pair in c.nodes:
        pair.zone = rename(pair.zone, AKS)


@quiet(
    story="A GKE cluster with the Karpenter provider for Google Cloud: the NodePool refers to a GCENodeClass, types and zones have Google's names. Nine nodes run.",
    cause="Karpenter manages nodes on Google Cloud, and all are fine.",
    thread="cloudpilot-ai/karpenter-provider-gcp#117",
    must_not=[r"EC2|\bAWS\b", r"(no|unknown) instance type", r"NodeClass[^\n]{0,60}(missing|not exist|not found)"],
    settings={"CLUSTER_NAME": "orders-gke"},
    karpenter_version="1.13.0",
)
def fine_gcp(c: Cluster) -> None:
    gcp_nodeclass(c)
    add_pool(c, "default", families=(), sizes=())
    fleet(c, "default", "orders/storefront", 9)
    to_gcp(c)
