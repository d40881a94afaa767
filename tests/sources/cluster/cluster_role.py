"""The expected ClusterRole, with the NodeClass resources of every Karpenter provider."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from karptui.decode.controller import OWN_NAMESPACE
from karptui.karpenter import controller
from karptui.karpenter.labels import AWS_GROUP
from karptui.sources.cluster.resources import AUTO_MODE_EVENTS, KARPENTER_KINDS, LATER, LEADER_LEASE, NODES, Resource
from karptui.sources.karpenter_identity import RBAC_GROUP


class ProviderGroup(NamedTuple):
    """The NodeClasses of a provider."""

    provider: str
    group: str
    plurals: tuple[str, ...]


PROVIDER_GROUPS: Final = (
    ProviderGroup("AWS", AWS_GROUP, ("ec2nodeclasses",)),
    ProviderGroup("EKS Auto Mode", "eks.amazonaws.com", ("nodeclasses",)),
    ProviderGroup("Oracle", "oci.oraclecloud.com", ("ocinodeclasses",)),
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


FOLLOWED: Final = (NODES, *KARPENTER_KINDS, *LATER, AUTO_MODE_EVENTS)
"""The listed and watched resources, except NodeClasses, which discovery finds."""
PROXIES: Final = ("pods/proxy", "services/proxy")
"""Karpenter's metrics are read through the API server; one of the two is enough, and only where Karpenter runs."""
USAGE_GROUP: Final = "metrics.k8s.io"
"""Answered by metrics-server."""


_LEASE_RULE: Final = (
    f'- {{apiGroups: ["coordination.k8s.io"], resources: [leases], resourceNames: [{controller.LEADER_LEASE}], '
    "verbs: [get, list, watch]}"
)


def role_lines(resources: Iterable[Resource] = FOLLOWED) -> list[str]:
    """Return the ClusterRole, and the Role for Karpenter's namespace, as lines of YAML.

    Args:
        resources: The listed and watched resources.
    """
    by_group: dict[str, list[str]] = {}
    for resource in resources:
        if resource is LEADER_LEASE:
            continue  # named below: other leases are not needed
        plurals = by_group.setdefault(resource.group, [])
        if resource.plural not in plurals:
            plurals.append(resource.plural)
    return [
        "apiVersion: rbac.authorization.k8s.io/v1",
        "kind: ClusterRole",
        "metadata: {name: karptui}",
        "rules:",
        "# list and watch follow the cluster; get shows one object in full (y)",
        *(_rule(group, plurals, "get, list, watch") for group, plurals in by_group.items()),
        "# NodeClasses: as above; remove the providers that you do not use",
        *(f"{_rule(group.group, group.plurals, 'get, list, watch')}  # {group.provider}" for group in PROVIDER_GROUPS),
        "# get: the schemas and rules of Karpenter's kinds, to validate documents in the what-if",
        _rule("apiextensions.k8s.io", ("customresourcedefinitions",), "get"),
        "# who Karpenter is: its Service (list), and the lease that its replicas hold, which is followed",
        _rule("", ("services",), "list"),
        _LEASE_RULE,
        "# optional: which service account may write NodeClaims, for a Karpenter that is not in kube-system",
        _rule(RBAC_GROUP, ("clusterrolebindings",), "list"),
        _rule(RBAC_GROUP, ("clusterroles",), "get"),
        "# optional: live usage next to requests, if metrics-server is installed",
        _rule(USAGE_GROUP, ("nodes", "pods"), "list"),
        "# optional: recommendations for karptui rightsize",
        _rule("autoscaling.k8s.io", ("verticalpodautoscalers",), "list"),
        "---",
        "# get: prices and availability as Karpenter itself sees them, from its metrics; bind it where Karpenter runs",
        "apiVersion: rbac.authorization.k8s.io/v1",
        "kind: Role",
        f"metadata: {{name: karptui, namespace: {OWN_NAMESPACE}}}",
        "rules:",
        _rule("", PROXIES, "get"),
    ]


def _rule(group: str, plurals: Iterable[str], verbs: str) -> str:
    names = ", ".join(f'"{plural}"' if plural == "*" else plural for plural in plurals)
    return f'- {{apiGroups: ["{group}"], resources: [{names}], verbs: [{verbs}]}}'
