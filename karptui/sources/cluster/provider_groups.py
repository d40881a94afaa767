"""Where other providers of Karpenter keep their NodeClasses, as their CustomResourceDefinitions name them."""

from __future__ import annotations

from typing import Final, NamedTuple


class ProviderGroup(NamedTuple):
    """The NodeClasses of a provider."""

    provider: str
    group: str
    plurals: tuple[str, ...]


PROVIDER_GROUPS: Final = (
    ProviderGroup("Azure", "karpenter.azure.com", ("aksnodeclasses", "azurenodeclasses")),
    ProviderGroup("Google Cloud", "karpenter.k8s.gcp", ("gcenodeclasses",)),
    ProviderGroup("Alibaba Cloud", "karpenter.alibabacloud.com", ("ecsnodeclasses",)),
    ProviderGroup("Alibaba Cloud, by CloudPilot", "karpenter.k8s.alicloud", ("ecsnodeclasses",)),
    ProviderGroup("IBM Cloud", "karpenter-ibm.sh", ("ibmnodeclasses",)),
    ProviderGroup("IBM Cloud, older", "karpenter.ibm.sh", ("ibmnodeclasses",)),
    ProviderGroup("Oracle, by Zoom", "karpenter.k8s.oracle", ("ocinodeclasses",)),
    ProviderGroup("Tencent TKE", "karpenter.k8s.tke", ("tkemachinenodeclasses",)),
    ProviderGroup("Huawei Cloud", "karpenter.k8s.huawei", ("ccenodeclasses", "ecsnodeclasses")),
    ProviderGroup("Cluster API", "karpenter.cluster.x-k8s.io", ("clusterapinodeclasses",)),
    ProviderGroup("Proxmox", "karpenter.proxmox.sinextra.dev", ("proxmoxnodeclasses",)),
    ProviderGroup("vSphere", "karpenter.vsphere.com", ("vspherenodeclasses",)),
    ProviderGroup("Akamai (Linode)", "karpenter.k8s.linode", ("linodenodeclasses",)),
    ProviderGroup("Exoscale", "karpenter.exoscale.com", ("exoscalenodeclasses",)),
    ProviderGroup("Clever Cloud", "karpenter.clever-cloud.com", ("clevernodeclasses",)),
    ProviderGroup("Bizfly Cloud", "karpenter.bizflycloud.com", ("bizflycloudnodeclasses",)),
    ProviderGroup("Hetzner, by itsh", "karpenter.itsh.dev", ("hcloudnodeclasses",)),
    ProviderGroup("UpCloud", "karpenter.upcloud.com", ("upcloudnodeclasses",)),
    ProviderGroup("KWOK, for trials", "karpenter.kwok.sh", ("kwoknodeclasses",)),
)
"""Only the ClusterRole needs the names: kinds of NodeClasses are found by asking the server."""
