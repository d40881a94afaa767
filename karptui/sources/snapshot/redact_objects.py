"""Pseudonyms in Kubernetes objects: fields that are not in the tables below are left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from karptui.decode.kinds import Kind, kind_of
from karptui.decode.loose import mapping
from karptui.sources.snapshot.redact_values import NODE_CLASS, TEXT_FIELDS, Values, words

_NAMED: Final[Mapping[str, str]] = {
    "containers": "Container",
    "initContainers": "Container",
    "containerStatuses": "Container",
    "initContainerStatuses": "Container",
    "volumes": "Volume",
    "nodeClassRef": NODE_CLASS,
    "podTemplateRef": "PodTemplate",
    "claimRef": "PersistentVolumeClaim",
    "drivers": "Driver",
}
"""Kind of the object that ``name`` in these fields refers to, unless a ``kind`` next to it tells."""
_REFERENCES: Final = frozenset(
    {"ownerReferences", "involvedObject", "regarding", "claimRef", "nodeClassRef", "scalableRef", "podTemplateRef"}
)
_LABELS: Final = frozenset({"labels", "matchLabels", "nodeSelector", "tags"})
AMOUNTS: Final = frozenset(
    {"capacity", "allocatable", "requests", "limits", "overhead", "allocatedResources", "kubeReserved", "evictionHard"}
    | {"systemReserved", "evictionThreshold", "evictionSoft", "evictionSoftGracePeriod", "volumeAttachmentLimits"}
    | {"podFixed", "capacityOverride", "used", "hard"}
)
_PARTS: Final = words(
    # Of every object, and of pods and their templates:
    "metadata spec status ownerReferences generation deletionGracePeriodSeconds controller blockOwnerDeletion "
    "observedGeneration template jobTemplate containers initContainers volumes resources ports containerPort hostPort "
    "restartPolicyRules affinity nodeAffinity podAffinity podAntiAffinity podAffinityTerm preference weight "
    "requiredDuringSchedulingIgnoredDuringExecution preferredDuringSchedulingIgnoredDuringExecution "
    "nodeSelectorTerms matchExpressions matchFields labelSelector namespaceSelector topologySpreadConstraints maxSkew "
    "minDomains tolerations tolerationSeconds hostNetwork hostPID hostIPC overhead priority "
    "terminationGracePeriodSeconds schedulingGates resourceClaims persistentVolumeClaim ephemeral volumeClaimTemplate "
    "claims readOnly conditions containerStatuses initContainerStatuses ready started restartCount state lastState "
    "waiting running terminated exitCode activeDeadlineSeconds resize podIPs "
    # Of owners and PodDisruptionBudgets:
    "selector matchLabelExpressions replicas parallelism completions backoffLimit suspend updateStrategy rollingUpdate "
    "desiredNumberScheduled currentNumberScheduled numberReady numberAvailable updatedNumberScheduled readyReplicas "
    "availableReplicas unavailableReplicas updatedReplicas active succeeded failed terminating currentHealthy "
    "desiredHealthy disruptionsAllowed expectedPods "
    # Of nodes, NodePools, NodeClaims and NodeClasses:
    "taints startupTaints unschedulable addresses nodeInfo disruption budgets requirements minValues nodeClassRef "
    "kubelet podsPerCore imageGCHighThresholdPercent imageGCLowThresholdPercent cpuCFSQuota evictionMaxPodGracePeriod "
    "amiSelectorTerms subnetSelectorTerms securityGroupSelectorTerms capacityReservationSelectorTerms "
    "placementGroupSelector placementGroup blockDeviceMappings ebs rootVolume encrypted deleteOnTermination iops "
    "throughput networkInterfaces networkCardIndex deviceIndex connectionTracking cpuOptions coreCount threadsPerCore "
    "enclaveOptions enabled detailedMonitoring associatePublicIPAddress subnets amis deprecated securityGroups "
    "capacityReservations interruptible resourceRequests "
    # Of volumes:
    "accessModes claimRef required csi awsElasticBlockStore gcePersistentDisk azureDisk azureFile cinder local "
    "hostPath nfs portworxVolume vsphereVolume allowedTopologies allowVolumeExpansion drivers count "
    # Of events, PriorityClasses, CapacityBuffers and leases:
    "involvedObject regarding source series deprecatedSource deprecatedCount value globalDefault podTemplateRef "
    "scalableRef percentage leaseDurationSeconds"
)
"""Fields that hold other fields, numbers or booleans; a text in one of them becomes a pseudonym."""
_COMPARISONS: Final = frozenset({"Gt", "Lt", "Gte", "Lte"})


class Objects:
    """Replaces what identifies a cluster in its objects."""

    def __init__(self, values: Values) -> None:
        self.values = values

    def redacted(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Return an object with pseudonyms."""
        api_version, kind = str(document.get("apiVersion", "")), str(document.get("kind", ""))
        is_foreign = kind_of(api_version, kind) is Kind.NODECLASS and kind not in ("EC2NodeClass", "NodeClass")
        item: dict[str, Any] = {}
        for field, value in document.items():
            if field == "metadata":
                item[field] = self.redacted_value(value, field, _class_of(kind))
            elif is_foreign and field == "spec":
                item[field] = {}
            elif is_foreign and field == "status":
                item[field] = self.redacted_value({"conditions": mapping(value).get("conditions", [])}, field)
            else:
                item |= self._mapping({field: value}, "", "")
        if self.values.is_learning and kind == "Pod":
            self._learn_volumes(document)
        if self.values.is_learning:
            self.values.pseudonyms.learn_object(kind, str(mapping(document.get("metadata")).get("name", "")))
        return item

    def _learn_volumes(self, pod: Mapping[str, Any]) -> None:
        for volume in (pod.get("spec") or {}).get("volumes") or ():
            if volume.get("ephemeral") is not None:
                name = str((pod.get("metadata") or {}).get("name", ""))
                self.values.pseudonyms.learn_ephemeral(name, str(volume.get("name", "")))

    def redacted_value(self, value: Any, field: str, kind: str = "") -> Any:
        """Return a value with pseudonyms.

        Args:
            field: Name of the field, or of the list that contains the value.
            kind: Kind of the object that ``name`` refers to; empty if unknown.
        """
        if isinstance(value, Mapping):
            return self._mapping(value, field, kind)
        if isinstance(value, list | tuple):
            return [self.redacted_value(part, field, kind) for part in value]
        return self.values.text(field, value) if isinstance(value, str) else value

    def _mapping(self, value: Mapping[str, Any], field: str, kind: str) -> dict[str, Any]:
        is_plain = all(isinstance(part, str | int | float | None) for part in value.values())
        if is_plain and (field in _LABELS or (field == "selector" and "matchLabels" not in value)):
            return {self.values.key(key): self.values.label(key, part) for key, part in value.items()}
        if is_plain and (field in AMOUNTS or (field == "resources" and not ("requests" in value or "limits" in value))):
            rename = self.values.driver if field == "volumeAttachmentLimits" else self.values.key
            return {rename(key): self.values.amount(part) for key, part in value.items()}
        if field == "annotations":
            return {self.values.key(key): self.values.annotation(key, part) for key, part in value.items()}
        kind = kind or _NAMED.get(field, "")
        if field in _REFERENCES and isinstance(value.get("kind"), str):
            kind = _class_of(value["kind"])
        label = value.get("key")
        if value.get("operator") in _COMPARISONS:
            self.values.compared.add(str(label))
        document: dict[str, Any] = {}
        for name, part in value.items():
            if name == "name" and isinstance(part, str):
                document[name] = self.values.key(part) if field == "schedulingGates" else self._called(part, kind)
            elif isinstance(label, str) and name in ("key", "value", "values"):
                document[name] = self._of_label(label, name, part)
            elif name in _PARTS or name in TEXT_FIELDS or name in AMOUNTS or name in _LABELS or name == "annotations":
                document[name] = self.redacted_value(part, name)
        return document

    def _called(self, name: str, kind: str) -> str:
        if kind == "Driver":
            return self.values.driver(name)
        if kind:
            return self.values.name(kind, name)
        return (
            name if self.values.is_learning or name == "*" else self.values.named("", name) or self.values.opaque(name)
        )

    def _of_label(self, key: str, field: str, value: Any) -> Any:
        if field == "key":
            return self.values.key(key)
        if isinstance(value, list | tuple):
            return [self.values.label(key, part) for part in value]
        return self.values.label(key, value)


def _class_of(kind: str) -> str:
    """Return the kind under which names are kept: all NodeClasses are one kind, and a CSINode has its node's name."""
    return NODE_CLASS if kind.endswith(NODE_CLASS) else "Node" if kind == "CSINode" else kind
