"""The recorded parts of an object: everything that affects a decision or is shown, and nothing that may be a secret.

Never recorded: Secrets, ConfigMaps and every kind that is not read; environment variables, commands, arguments and
probes of containers; volumes other than claims; parameters of volumes and storage classes; managedFields; annotations
that no rule reads, including those of templates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from karptui.decode.kinds import WORKLOAD_KINDS, Kind, kind_of
from karptui.decode.loose import mapping
from karptui.karpenter.labels import AWS_GROUP, GROUP, POD_DELETION_COST, SAFE_TO_EVICT
from karptui.kube.gitops import READ_ANNOTATIONS
from karptui.kube.pod import LIMIT_RANGER, UNSTARTABLE
from karptui.kube.volumes import SELECTED_NODE
from karptui.sources.snapshot.public import LEASES

_METADATA: Final = (
    "name",
    "generateName",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
)
_ANNOTATION_DOMAINS: Final = (GROUP, AWS_GROUP)
"""Domains of the annotations that Karpenter reads itself."""
_ANNOTATIONS: Final = READ_ANNOTATIONS | frozenset(
    {
        POD_DELETION_COST,
        SAFE_TO_EVICT,
        LIMIT_RANGER,
        "kubernetes.io/config.mirror",
        "pv.kubernetes.io/bind-completed",
        SELECTED_NODE,
        "storageclass.kubernetes.io/is-default-class",
    }
)
"""Others that a rule reads."""
_CONTAINER: Final = ("name", "image", "resources", "ports", "restartPolicy", "resizePolicy")
_CONTAINERS: Final = ("containers", "initContainers")
_VOLUME_SOURCES: Final = ("persistentVolumeClaim", "ephemeral")
_NOT_OF_A_POD: Final = ("imagePullSecrets", "ephemeralContainers", "hostAliases", "dnsConfig", "securityContext")
_POD_STATUS: Final = (
    "phase",
    "reason",
    "conditions",
    "startTime",
    "nominatedNodeName",
    "qosClass",
    "resize",
    "resources",
    "allocatedResources",
)
_CONTAINER_STATUSES: Final = ("containerStatuses", "initContainerStatuses")
_CONTAINER_STATUS: Final = ("name", "ready", "started", "restartCount", "resources", "allocatedResources")
_STATE: Final = ("reason", "startedAt", "finishedAt", "exitCode")
_WORKLOAD_SPEC: Final = (
    *("replicas", "selector", "schedule", "updateStrategy"),
    *("parallelism", "completions", "suspend", "managedBy"),
)
_LEASE: Final = ("holderIdentity", "renewTime", "leaseDurationSeconds")
_NODE_SPEC: Final = ("providerID", "taints", "unschedulable")
_NODE_STATUS: Final = ("capacity", "allocatable", "conditions", "addresses")
_NODE_INFO: Final = ("kubeletVersion", "osImage", "architecture")
_PV_PLAIN: Final = ("capacity", "accessModes", "claimRef", "nodeAffinity", "storageClassName", "volumeMode")
_PV_KEPT: Final = ("driver", "volumeID", "pdName")
_FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ITEMS: Final = msgspec.json.Decoder(list[msgspec.Raw])
_PLAIN: Final = msgspec.json.Decoder()
_CLASS: Final = ("provisioner", "volumeBindingMode", "allowedTopologies", "reclaimPolicy", "allowVolumeExpansion")


def scrub(manifest: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the recorded part of an object; None if nothing is recorded.

    Parts may be left as text (``msgspec.Raw``), which is decoded only as far as it is filtered.
    """
    api_version, api_kind = manifest.get("apiVersion"), manifest.get("kind")
    if not isinstance(api_version, str) or not isinstance(api_kind, str):
        return None
    kind = kind_of(api_version, api_kind)
    if kind is None:
        return None
    rest = {name: value for name, value in manifest.items() if name not in ("metadata", "managedFields")}
    scrubbed = {**rest, "metadata": scrub_metadata(_mapping(manifest.get("metadata")))}
    if kind is Kind.LEASE and _value(scrubbed["metadata"].get("name")) not in LEASES:
        return None
    by_kind = _BY_KIND.get(kind)
    return by_kind(scrubbed) if by_kind is not None else scrubbed


def scrub_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata without managedFields and without annotations that no rule reads."""
    scrubbed = _only(metadata, _METADATA)
    annotations = _mapping(metadata.get("annotations"))
    scrubbed.pop("annotations", None)
    document = {key: value for key, value in annotations.items() if _decides(key)}
    return {**scrubbed, "annotations": document} if document else scrubbed


def _decides(key: str) -> bool:
    domain = key.partition("/")[0] if "/" in key else ""
    return key in _ANNOTATIONS or any(
        domain == allowed or domain.endswith(f".{allowed}") for allowed in _ANNOTATION_DOMAINS
    )


def _pod(pod: dict[str, Any]) -> dict[str, Any]:
    status = _mapping(pod.get("status"))
    # With a reason, the message is the kubelet's: why it evicted or rejected the pod.
    pod_status = _only(status, (*_POD_STATUS, "message") if _value(status.get("reason")) else _POD_STATUS)
    for field in _CONTAINER_STATUSES:
        if items := _list(status.get(field)):
            pod_status[field] = [_container_status(_mapping(item)) for item in items]
    return {**pod, "spec": _pod_spec(_mapping(pod.get("spec"))), "status": pod_status}


def _container_status(status: Mapping[str, Any]) -> dict[str, Any]:
    scrubbed = _only(status, _CONTAINER_STATUS)
    for field in ("state", "lastState"):
        state = {name: _state(name, _mapping(part)) for name, part in _mapping(status.get(field)).items()}
        if state:
            scrubbed[field] = state
    return scrubbed


def _state(name: str, state: Mapping[str, Any]) -> dict[str, Any]:
    """Return a container's state; messages are kept if the kubelet or the runtime wrote them, not the container."""
    is_theirs = name == "waiting" or _value(state.get("reason")) in UNSTARTABLE
    return _only(state, (*_STATE, "message") if is_theirs else _STATE)


def _pod_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    scrubbed = {name: value for name, value in spec.items() if name not in (*_NOT_OF_A_POD, *_CONTAINERS, "volumes")}
    for field in _CONTAINERS:
        if containers := _list(spec.get(field)):
            scrubbed[field] = [_only(_mapping(container), _CONTAINER) for container in containers]
    volumes = [_only(_mapping(volume), ("name", *_VOLUME_SOURCES)) for volume in _list(spec.get("volumes"))]
    volumes = [volume for volume in volumes if len(volume) > 1]
    return {**scrubbed, "volumes": volumes} if volumes else scrubbed


def _template(template: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "metadata": scrub_metadata(_mapping(template.get("metadata"))),
        "spec": _pod_spec(_mapping(template.get("spec"))),
    }


def _workload(workload: dict[str, Any]) -> dict[str, Any]:
    spec = _mapping(workload.get("spec"))
    scrubbed = _only(spec, _WORKLOAD_SPEC)
    if "template" in spec:
        scrubbed["template"] = _template(_mapping(spec["template"]))
    if "jobTemplate" in spec:
        inner = _mapping(_mapping(_mapping(spec["jobTemplate"]).get("spec")).get("template"))
        scrubbed["jobTemplate"] = {"spec": {"template": _template(inner)}}
    return {**workload, "spec": scrubbed} if spec else workload


def _node(node: dict[str, Any]) -> dict[str, Any]:
    spec, status = _mapping(node.get("spec")), _mapping(node.get("status"))
    node_status = _only(status, _NODE_STATUS)
    if info := _only(_mapping(status.get("nodeInfo")), _NODE_INFO):
        node_status["nodeInfo"] = info
    if conditions := _list(node_status.get("conditions")):
        # A kubelet reports them every few minutes, and nothing reads when.
        node_status["conditions"] = [
            {key: part for key, part in _mapping(condition).items() if key != "lastHeartbeatTime"}
            for condition in conditions
        ]
    return {**node, "spec": _only(spec, _NODE_SPEC), "status": node_status}


def _nodepool(pool: dict[str, Any]) -> dict[str, Any]:
    spec = _mapping(pool.get("spec"))
    template = _mapping(spec.get("template"))
    if "metadata" not in template:
        return pool
    return {
        **pool,
        "spec": {**spec, "template": {**template, "metadata": scrub_metadata(_mapping(template["metadata"]))}},
    }


def _volume(volume: dict[str, Any]) -> dict[str, Any]:
    spec = _mapping(volume.get("spec"))
    scrubbed = _only(spec, _PV_PLAIN)
    for name, value in spec.items():
        if name not in scrubbed and isinstance(value := _value(value), Mapping):
            scrubbed[name] = _only(value, _PV_KEPT)
    return {**volume, "spec": scrubbed}


def _service(service: dict[str, Any]) -> dict[str, Any]:
    spec = _only(_mapping(service.get("spec")), ("selector",))
    return {**_only(service, ("apiVersion", "kind", "metadata")), "spec": spec}


def _only(value: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: value[name] for name in names if name in value}


def _value(value: Any) -> Any:
    """Return a value that may be left as text, with its parts left as text."""
    if not isinstance(value, msgspec.Raw):
        return value
    begin = bytes(memoryview(value)[:1])
    return _FIELDS.decode(value) if begin == b"{" else _ITEMS.decode(value) if begin == b"[" else _PLAIN.decode(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    return mapping(_value(value))


def _list(value: Any) -> list[Any]:
    value = _value(value)
    return value if isinstance(value, list) else []


_BY_KIND: Final[Mapping[Kind, Callable[[dict[str, Any]], dict[str, Any] | None]]] = {
    Kind.POD: _pod,
    Kind.NODE: _node,
    Kind.NODEPOOL: _nodepool,
    Kind.PV: _volume,
    Kind.STORAGE_CLASS: lambda storage_class: _only(storage_class, ("apiVersion", "kind", "metadata", *_CLASS)),
    Kind.SERVICE: _service,
    Kind.WEBHOOK: lambda _: None,
    Kind.POD_TEMPLATE: lambda manifest: {**manifest, "template": _template(_mapping(manifest.get("template")))},
    Kind.LEASE: lambda lease: {**lease, "spec": _only(_mapping(lease.get("spec")), _LEASE)},
    **dict.fromkeys((Kind.DAEMONSET, *WORKLOAD_KINDS), _workload),
}
