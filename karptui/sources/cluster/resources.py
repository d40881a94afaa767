"""Which collections of the API are followed, and how."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

import msgspec

from karptui.decode.kinds import CLUSTER_SCOPED, Kind
from karptui.karpenter.controller import LEADER_LEASE as LEASE_NAME

KARPENTER: Final = "karpenter.sh"
UNFINISHED_PODS: Final = "status.phase!=Succeeded,status.phase!=Failed"


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """One collection of the API."""

    kind: Kind
    group: str
    """Empty for the core group."""
    version: str
    plural: str
    api_kind: str
    """The kind as the API writes it, such as ``EC2NodeClass``."""
    is_namespaced: bool
    metadata_only: bool = False
    """Only owner references and labels are needed."""
    field_selector: str = ""
    is_large: bool = False
    """May have many thousands of objects."""

    @property
    def api_version(self) -> str:
        """``group/version``, or the version alone in the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def path(self) -> str:
        """Path of the collection across all namespaces."""
        return self.path_in("")

    @property
    def title(self) -> str:
        """The resource as RBAC and kubectl name it: ``pods``, ``nodepools.karpenter.sh``."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def identity(self) -> str:
        """The same for every version of a resource, and different for every selection from it."""
        return f"{self.title}?{self.field_selector}"

    def object_path(self, namespace: str, name: str) -> str:
        """Return the path of one object."""
        return f"{self.path_in(namespace)}/{quote(name, safe='')}"

    def path_in(self, namespace: str) -> str:
        """Return the path of the collection in one namespace, or across all."""
        within = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
        return f"{self._root}{within}/{self.plural}"

    @property
    def _root(self) -> str:
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"


def _resource(kind: Kind, group: str, version: str, plural: str, **more: Any) -> Resource:
    return Resource(
        kind=kind,
        group=group,
        version=version,
        plural=plural,
        api_kind=kind.value,
        is_namespaced=kind not in CLUSTER_SCOPED,
        **more,
    )


def _events(field_selector: str) -> Resource:
    return _resource(Kind.EVENT, "", "v1", "events", field_selector=field_selector)


NODES: Final = _resource(Kind.NODE, "", "v1", "nodes")
NODEPOOLS: Final = _resource(Kind.NODEPOOL, KARPENTER, "v1", "nodepools")
NODECLAIMS: Final = _resource(Kind.NODECLAIM, KARPENTER, "v1", "nodeclaims")
NODEOVERLAYS: Final = _resource(Kind.NODEOVERLAY, KARPENTER, "v1alpha1", "nodeoverlays")
PODS: Final = _resource(Kind.POD, "", "v1", "pods", field_selector=UNFINISHED_PODS, is_large=True)
# A source is source.component, or reportingComponent if that is empty.
EVENTS: Final = _events("source=karpenter")
AUTO_MODE_EVENTS: Final = _events("source=eks-auto-mode/compute")
"""EKS Auto Mode runs Karpenter under another name."""
FAILED_CREATIONS: Final = _events("reason=FailedCreate")
"""Events of controllers whose pods an admission webhook, a quota or a policy refuses."""
FAILED_JOBS: Final = _events("involvedObject.kind=Job,type=Warning,reason!=FailedCreate")
RESCALES: Final = _events("involvedObject.kind=HorizontalPodAutoscaler,reason!=FailedComputeMetricsReplicas")
"""Events of HorizontalPodAutoscalers that change the number of replicas, or cannot read a metric."""
GROUPS: Final = _events("involvedObject.kind=PodGroup")
WORKLOADS: Final = _events("involvedObject.kind=Workload")
"""Events of Volcano and of Kueue about pods that they admit together."""
VOLUME_FAILURES: Final = _events(
    "involvedObject.kind=PersistentVolumeClaim,reason!=WaitForFirstConsumer,reason!=Provisioning"
    ",reason!=ProvisioningSucceeded"
)
"""Events about PersistentVolumeClaims whose volume cannot be created, or is not created yet."""
POD_WARNINGS: Final = _events(
    "involvedObject.kind=Pod,type=Warning,source!=karpenter,source!=eks-auto-mode/compute"
    ",reason!=FailedScheduling,reason!=Unhealthy,reason!=BackOff"
)
"""Events that explain why pods do not start, without more frequent events on other subjects."""
POD_NOTES: Final = _events(
    "involvedObject.kind=Pod,type=Normal,source!=karpenter,source!=eks-auto-mode/compute"
    ",reason!=Scheduled,reason!=Pulling,reason!=Pulled,reason!=Created,reason!=Started,reason!=Killing"
    ",reason!=SuccessfulAttachVolume,reason!=NotTriggerScaleUp"
)
"""Events about pods that are preempted, evicted by the descheduler, or get a node of the Cluster Autoscaler."""
OTHER_SCHEDULERS: Final = _events(
    "reason=FailedScheduling,source!=default-scheduler,source!=karpenter,source!=eks-auto-mode/compute"
)
NODE_EVENTS: Final = _events(
    "involvedObject.kind=Node,source!=karpenter,source!=eks-auto-mode/compute"
    ",reason!=Starting,reason!=NodeReady,reason!=NodeAllocatableEnforced,reason!=InvalidDiskCapacity"
    ",reason!=NodeHasSufficientMemory,reason!=NodeHasNoDiskPressure,reason!=NodeHasSufficientPID"
    ",reason!=Synced"
)
"""Events of kubelets and other controllers about nodes, without those of every start."""
LEADER_LEASE: Final = _resource(
    Kind.LEASE, "coordination.k8s.io", "v1", "leases", field_selector=f"metadata.name={LEASE_NAME}"
)

KARPENTER_KINDS: Final = (NODEPOOLS, NODECLAIMS, NODEOVERLAYS)
"""In the versions assumed until discovery says otherwise."""

LATER: Final = (
    _resource(Kind.DAEMONSET, "apps", "v1", "daemonsets"),
    _resource(Kind.PDB, "policy", "v1", "poddisruptionbudgets"),
    PODS,
    _resource(Kind.NAMESPACE, "", "v1", "namespaces"),
    _resource(Kind.PRIORITY_CLASS, "scheduling.k8s.io", "v1", "priorityclasses"),
    _resource(Kind.STORAGE_CLASS, "storage.k8s.io", "v1", "storageclasses"),
    _resource(Kind.CSI_NODE, "storage.k8s.io", "v1", "csinodes"),
    _resource(Kind.PVC, "", "v1", "persistentvolumeclaims"),
    _resource(Kind.PV, "", "v1", "persistentvolumes"),
    _resource(Kind.REPLICASET, "apps", "v1", "replicasets", metadata_only=True),
    _resource(Kind.DEPLOYMENT, "apps", "v1", "deployments", metadata_only=True),
    _resource(Kind.STATEFULSET, "apps", "v1", "statefulsets"),
    _resource(Kind.JOB, "batch", "v1", "jobs", metadata_only=True),
    _resource(Kind.WEBHOOK, "admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations"),
    EVENTS,
    FAILED_CREATIONS,
    POD_WARNINGS,
    NODE_EVENTS,
    POD_NOTES,
    OTHER_SCHEDULERS,
    FAILED_JOBS,
    RESCALES,
    GROUPS,
    WORKLOADS,
    VOLUME_FAILURES,
    LEADER_LEASE,
)
"""What may wait until the nodes are there, in the order of asking."""
