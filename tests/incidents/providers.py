"""Names of clouds other than EC2."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from tests.incidents.cluster import Cluster
from tests.incidents.objects import condition
from tests.incidents.pools import add_nodeclass, add_pool

GCP = {
    "karpenter.k8s.aws/ec2nodeclass": "karpenter.k8s.gcp/gcenodeclass",
    "karpenter.k8s.aws": "karpenter.k8s.gcp",
    "EC2NodeClass": "GCENodeClass",
    "m6i.xlarge": "n2-standard-4",
    "m6i.large": "n2-standard-2",
    "us-east-1a": "us-east1-b",
    "us-east-1b": "us-east1-c",
    "us-east-1c": "us-east1-d",
    "us-east-1": "us-east1",
    "ebs.csi.aws.com": "pd.csi.storage.gke.io",
    "ebs-csi-node": "pdcsi-node",
    "eks-pod-identity-agent": "gke-metadata-server",
    "aws-node": "netd",
    "eks.amazonaws.com/nodegroup": "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/capacityType": "cloud.google.com/gke-provisioning",
    "topology.k8s.aws/zone-id": "topology.gke.io/zone",
    ".ec2.internal": ".c.orders-prod.internal",
    "aws:///": "gce://orders-prod/",
}


AKS: Final = {
    "karpenter.k8s.aws/ec2nodeclass": "karpenter.azure.com/aksnodeclass",
    "karpenter.k8s.aws/instance-family": "karpenter.azure.com/sku-family",
    "karpenter.k8s.aws/instance-cpu": "karpenter.azure.com/sku-cpu",
    "karpenter.k8s.aws/instance-memory": "karpenter.azure.com/sku-memory",
    "karpenter.k8s.aws": "karpenter.azure.com",
    "EC2NodeClass": "AKSNodeClass",
    "eks.amazonaws.com/nodegroup": "kubernetes.azure.com/agentpool",
    "m6i.xlarge": "Standard_D4s_v5",
    "m6i.large": "Standard_D2s_v5",
    "us-east-1a": "eastus-1",
    "us-east-1b": "eastus-2",
    "us-east-1c": "eastus-3",
    "us-east-1": "eastus",
    "ebs.csi.aws.com": "disk.csi.azure.com",
    "ebs-csi-node": "csi-azuredisk-node",
    "eks-pod-identity-agent": "azure-ip-masq-agent",
    "aws-node": "azure-cns",
    "gp3": "managed-csi",
    "eks.amazonaws.com/capacityType": "kubernetes.azure.com/mode",
    "topology.k8s.aws/zone-id": "topology.disk.csi.azure.com/zone",
    ".ec2.internal": "-vmss",
    "aws:///": "azure:///subscriptions/0f3c/resourceGroups/mc_orders/providers/Microsoft.Compute/virtualMachines/",
}


CLUSTER_API: Final = {
    "karpenter.k8s.aws/ec2nodeclass": "karpenter.cluster.x-k8s.io/clusterapinodeclass",
    "karpenter.k8s.aws": "karpenter.cluster.x-k8s.io",
    "EC2NodeClass": "ClusterAPINodeClass",
    "m6i.xlarge": "md-workers-large",
    "m6i.large": "md-system",
    "us-east-1a": "rack-a",
    "us-east-1b": "rack-b",
    "us-east-1c": "rack-c",
    "us-east-1": "hall-1",
    "ebs.csi.aws.com": "rbd.csi.ceph.com",
    "ebs-csi-node": "csi-rbdplugin",
    "eks-pod-identity-agent": "metal3-agent",
    "aws-node": "cilium",
    "eks.amazonaws.com/nodegroup": "cluster.x-k8s.io/deployment-name",
    "eks.amazonaws.com/capacityType": "cluster.x-k8s.io/role",
    "topology.k8s.aws/zone-id": "topology.rbd.csi.ceph.com/zone",
    ".ec2.internal": ".hall.example",
    "aws:///": "metal3://orders/",
}


AUTO_MODE: Final = {
    "karpenter.k8s.aws/ec2nodeclass": "eks.amazonaws.com/nodeclass",
    "karpenter.k8s.aws": "eks.amazonaws.com",
    "EC2NodeClass": "NodeClass",
}


def rename(value: Any, names: Mapping[str, str]) -> Any:
    """Replace names in all strings of an object, keys included, in place; return a string's replacement."""

    @cache
    def new_name(text: str) -> str:
        for old, new in names.items():
            text = text.replace(old, new)
        return text

    def renamed(value: Any) -> Any:
        if isinstance(value, str):
            return new_name(value)
        if isinstance(value, list):
            value[:] = map(renamed, value)
        elif isinstance(value, dict):
            items = [(new_name(key), renamed(item)) for key, item in value.items()]
            value.clear()
            value.update(items)
        return value

    return renamed(value)


def aks_pool(c: Cluster, **pool: Any) -> None:
    """Add an AKSNodeClass and the NodePool default, under the names of EC2 until `to_aks`."""
    manifest = add_nodeclass(c)
    manifest["spec"] = {"imageFamily": "AzureLinux", "osDiskSizeGB": 128}
    ready = [condition(kind, "True", c.at("60d")) for kind in ("ImagesReady", "KubernetesVersionReady", "Ready")]
    manifest["status"] = {"kubernetesVersion": "1.35.2", "conditions": ready}
    family = {"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": ["D"]}
    add_pool(c, "default", families=(), sizes=(), requirements=[family], **pool)


def gcp_nodeclass(c: Cluster) -> None:
    """Add a GCENodeClass, under the names of an EC2NodeClass until `to_gcp`."""
    manifest = add_nodeclass(c)
    manifest["spec"] = {"imageSelectorTerms": [{"alias": "ContainerOptimizedOS@latest"}]}
    manifest["status"] = {"conditions": [condition(item, "True", c.at("60d")) for item in ("ImagesReady", "Ready")]}


def cluster_api_nodeclass(c: Cluster) -> None:
    """Add a ClusterAPINodeClass, under the names of an EC2NodeClass until `to_cluster_api`."""
    manifest = add_nodeclass(c)
    manifest["spec"] = {"scalableResourceSelector": {"matchLabels": {"pool": "workers"}}}
    manifest["status"] = {"conditions": [condition("Ready", "True", c.at("60d"))]}


def to_aks(c: Cluster) -> None:
    """Rename everything to what Azure calls it; Karpenter's nodes are of the family D."""
    _to_other(c, AKS)
    for pair in c.nodes:
        if pair.claim is not None:
            for manifest in filter(None, (pair.node, pair.claim)):
                manifest["metadata"]["labels"]["karpenter.azure.com/sku-family"] = "D"


def to_gcp(c: Cluster) -> None:
    """Rename everything to what Google Cloud calls it."""
    _to_other(c, GCP)


def to_cluster_api(c: Cluster) -> None:
    """Rename everything to what the provider for Cluster API calls it."""
    _to_other(c, CLUSTER_API)


def _to_other(c: Cluster, names: Mapping[str, str]) -> None:
    """Rename everything, and remove the labels about instance types, which only the AWS provider has."""
    for pair in c.nodes:
        for manifest in filter(None, (pair.node, pair.claim)):
            labels = manifest["metadata"]["labels"]
            for key in [*labels]:
                if key.startswith("karpenter.k8s.aws/instance"):
                    del labels[key]
    rename(c.objects, names)
    for pair in c.nodes:
        pair.zone = rename(pair.zone, names)
