"""A healthy cluster with Karpenter 1.15, from which each incident starts, and its snapshot."""

from __future__ import annotations

from typing import Final

from tests.incidents.cluster import Cluster
from tests.incidents.node_objects import add_group_node
from tests.incidents.objects import Object, suffix
from tests.incidents.pods import add_daemonset, add_pod, add_workload, age_after
from tests.incidents.pools import add_karpenter

DAEMONSETS: Final = (
    ("aws-node", "50m", "0"),
    ("kube-proxy", "100m", "0"),
    ("ebs-csi-node", "30m", "120Mi"),
    ("eks-pod-identity-agent", "10m", "0"),
)


def start(c: Cluster) -> None:
    """Add what every cluster has: classes, DaemonSets, a managed node group, CoreDNS and, unless told otherwise, Karpenter."""
    for name, value in (("system-cluster-critical", 2000000000), ("system-node-critical", 2000001000)):
        c.add("PriorityClass", name, age="240d", value=value, globalDefault=False)
    c.add(
        "StorageClass",
        "gp3",
        age="240d",
        annotations={"storageclass.kubernetes.io/is-default-class": "true"},
        provisioner="ebs.csi.aws.com",
        reclaimPolicy="Delete",
        volumeBindingMode="WaitForFirstConsumer",
    )
    for name, cpu, memory in DAEMONSETS:
        add_daemonset(c, "kube-system", name, cpu=cpu, memory=memory, critical=True)
    c.system = [add_group_node(c, "m6i.large", c.zones[0]), add_group_node(c, "m6i.large", c.zones[-1])]
    add_workload(
        c,
        "kube-system/coredns",
        on=c.system,
        cpu="100m",
        memory="70Mi",
        age="41d",
        spec={"priorityClassName": "system-cluster-critical", "tolerations": [{"key": "CriticalAddonsOnly"}]},
    )
    if c.karpenter_runs:
        add_karpenter(c, on=c.system)


def snapshot(c: Cluster) -> Object:
    """Return the cluster as a snapshot document."""
    for manifest, pod in c.daemonsets:
        selector = pod["spec"].get("nodeSelector", {}).items()
        chosen = [pair for pair in c.nodes if pair.node and selector <= pair.node["metadata"]["labels"].items()]
        if {"operator": "Exists"} not in pod["spec"]["tolerations"]:
            chosen = [pair for pair in chosen if pair.node and "taints" not in pair.node["spec"]]
        hosts = [pair for pair in chosen if manifest["metadata"]["name"] not in pair.without]
        for pair in hosts:
            meta = manifest["metadata"]
            ending = suffix(meta["name"], pair.name)
            age = age_after(c, pair)
            add_pod(c, meta["namespace"], f"{meta['name']}-{ending}", node=pair, parent=manifest, age=age, **pod)
        counts = ("currentNumberScheduled", "numberReady", "numberAvailable", "updatedNumberScheduled")
        manifest["status"] = {**dict.fromkeys(counts, len(hosts)), "desiredNumberScheduled": len(chosen)}
        manifest["status"] |= {"numberMisscheduled": 0, "observedGeneration": 2}
    c.daemonsets = []
    for pool in [manifest for manifest in c.objects if manifest["kind"] == "NodePool"]:
        name = pool["metadata"]["name"]
        hosts = [pair for pair in c.nodes if pair.claim and pair.claim_name.startswith(f"{name}-")]
        with_node = [pair.node for pair in hosts if pair.node]
        cpus = sum(int(manifest["status"]["capacity"]["cpu"]) for manifest in with_node)
        memory = sum(int(manifest["status"]["capacity"]["memory"][:-2]) for manifest in with_node)
        pool["status"]["resources"] = {"cpu": str(cpus), "memory": f"{memory}Ki", "nodes": str(len(with_node))}
        pool["status"]["nodes"] = len(with_node)
    if c.listed:
        items = [manifest for manifest in c.objects if manifest["kind"] in c.listed]
        return {"apiVersion": "v1", "kind": "List", "items": items}
    return {
        "karptui": 1,
        "name": c.name,
        "capturedAt": c.now,
        "karpenterVersion": c.karpenter_version,
        "settings": {"CLUSTER_NAME": "orders-prod", "VM_MEMORY_OVERHEAD_PERCENT": "0.075", **c.settings},
        "disruption": True,
        **({"instanceTypes": [*c.instance_types]} if c.instance_types else {}),
        "objects": c.objects,
    }
