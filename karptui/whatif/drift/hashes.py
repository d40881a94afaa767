"""The hashes by which Karpenter detects drift, and their fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from karptui.aws.nodeclass import ALIASES
from karptui.karpenter.nodeclass import NodeClass
from karptui.karpenter.nodepool import NodePool
from karptui.whatif.drift.go_hash import (
    GoField,
    GoStruct,
    HashError,
    ListOf,
    Scalar,
    TextMap,
    is_zero,
    text_hash,
    value_hash,
)

NODEPOOL_HASH_VERSION: Final = "v3"
EC2_NODECLASS_HASH_VERSION: Final = "v5"
"""Of 1.14; 1.15 writes ``v6``."""
KUBELET_AS_TEXT: Final = "v6"
"""First version that hashes ``spec.kubelet`` as JSON text, and enclaveOptions."""
_TEXTS: Final = TextMap(Scalar.TEXT)
_TAINTS: Final = ListOf(
    GoStruct(
        "Taint",
        (
            GoField("Key", "key", Scalar.TEXT),
            GoField("Value", "value", Scalar.TEXT),
            GoField("Effect", "effect", Scalar.TEXT),
            GoField("TimeAdded", "timeAdded", Scalar.TIME, is_pointer=True),
        ),
    )
)
NODEPOOL_TEMPLATE: Final = GoStruct(
    "NodeClaimTemplate",
    (
        GoField(
            "ObjectMeta",
            "metadata",
            GoStruct(
                "ObjectMeta", (GoField("Labels", "labels", _TEXTS), GoField("Annotations", "annotations", _TEXTS))
            ),
        ),
        GoField(
            "Spec",
            "spec",
            GoStruct(
                "NodeClaimTemplateSpec",
                (
                    GoField("Taints", "taints", _TAINTS),
                    GoField("StartupTaints", "startupTaints", _TAINTS),
                    GoField(
                        "NodeClassRef",
                        "nodeClassRef",
                        GoStruct(
                            "NodeClassReference",
                            (
                                GoField("Kind", "kind", Scalar.TEXT),
                                GoField("Name", "name", Scalar.TEXT),
                                GoField("Group", "group", Scalar.TEXT),
                            ),
                        ),
                        is_pointer=True,
                    ),
                    GoField("TerminationGracePeriod", "terminationGracePeriod", Scalar.DURATION, is_pointer=True),
                    GoField("ExpireAfter", "expireAfter", Scalar.NILLABLE_DURATION),
                ),
            ),
        ),
    ),
)
"""``spec.template`` of a NodePool; ``requirements`` are compared by their meaning instead."""


def _text(go_name: str, json_name: str) -> GoField:
    return GoField(go_name, json_name, Scalar.TEXT, is_pointer=True)


def _int32(go_name: str, json_name: str) -> GoField:
    return GoField(go_name, json_name, Scalar.INT32, is_pointer=True)


def _nested(go_name: str, json_name: str, *fields: GoField) -> GoField:
    """Return a pointer to a struct that has the name of its field."""
    return GoField(go_name, json_name, GoStruct(go_name, fields), is_pointer=True)


_KUBELET: Final = GoStruct(
    "KubeletConfiguration",
    (
        GoField("ClusterDNS", "clusterDNS", ListOf(Scalar.TEXT)),
        _int32("MaxPods", "maxPods"),
        _int32("PodsPerCore", "podsPerCore"),
        GoField("SystemReserved", "systemReserved", _TEXTS),
        GoField("KubeReserved", "kubeReserved", _TEXTS),
        GoField("EvictionHard", "evictionHard", _TEXTS),
        GoField("EvictionSoft", "evictionSoft", _TEXTS),
        GoField("EvictionSoftGracePeriod", "evictionSoftGracePeriod", TextMap(Scalar.DURATION)),
        _int32("EvictionMaxPodGracePeriod", "evictionMaxPodGracePeriod"),
        _int32("ImageGCHighThresholdPercent", "imageGCHighThresholdPercent"),
        _int32("ImageGCLowThresholdPercent", "imageGCLowThresholdPercent"),
        GoField("CPUCFSQuota", "cpuCFSQuota", Scalar.BOOL, is_pointer=True),
    ),
)
_BLOCK_DEVICE: Final = GoStruct(
    "BlockDevice",
    (
        GoField("DeleteOnTermination", "deleteOnTermination", Scalar.BOOL, is_pointer=True),
        GoField("Encrypted", "encrypted", Scalar.BOOL, is_pointer=True),
        GoField("IOPS", "iops", Scalar.INT64, is_pointer=True),
        _text("KMSKeyID", "kmsKeyID"),
        _text("SnapshotID", "snapshotID"),
        GoField("Throughput", "throughput", Scalar.INT64, is_pointer=True),
        _int32("VolumeInitializationRate", "volumeInitializationRate"),
        GoField("VolumeSize", "volumeSize", Scalar.QUANTITY, is_pointer=True),
        _text("VolumeType", "volumeType"),
    ),
)
_BLOCK_DEVICES: Final = ListOf(
    GoStruct(
        "BlockDeviceMapping",
        (
            _text("DeviceName", "deviceName"),
            GoField("EBS", "ebs", _BLOCK_DEVICE, is_pointer=True),
            GoField("RootVolume", "rootVolume", Scalar.BOOL),
        ),
    )
)
_INTERFACES: Final = ListOf(
    GoStruct(
        "NetworkInterface",
        (
            GoField("NetworkCardIndex", "networkCardIndex", Scalar.INT32),
            GoField("DeviceIndex", "deviceIndex", Scalar.INT32),
            GoField("InterfaceType", "interfaceType", Scalar.TEXT),
        ),
    )
)
EC2_NODECLASS_SPEC: Final = GoStruct(
    "EC2NodeClassSpec",
    (
        _nested("PlacementGroupSelector", "placementGroupSelector", _text("Name", "name"), _text("ID", "id")),
        GoField("AssociatePublicIPAddress", "associatePublicIPAddress", Scalar.BOOL, is_pointer=True),
        _text("UserData", "userData"),
        GoField("Role", "role", Scalar.TEXT),
        _text("InstanceProfile", "instanceProfile"),
        GoField("Tags", "tags", _TEXTS),
        GoField("Kubelet", "kubelet", _KUBELET, is_pointer=True),
        GoField("BlockDeviceMappings", "blockDeviceMappings", _BLOCK_DEVICES),
        _text("InstanceStorePolicy", "instanceStorePolicy"),
        GoField("NetworkInterfaces", "networkInterfaces", _INTERFACES),
        GoField("DetailedMonitoring", "detailedMonitoring", Scalar.BOOL, is_pointer=True),
        _nested(
            "MetadataOptions",
            "metadataOptions",
            _text("HTTPEndpoint", "httpEndpoint"),
            _text("HTTPProtocolIPv6", "httpProtocolIPv6"),
            GoField("HTTPPutResponseHopLimit", "httpPutResponseHopLimit", Scalar.INT64, is_pointer=True),
            _text("HTTPTokens", "httpTokens"),
        ),
        _nested(
            "ConnectionTracking",
            "connectionTracking",
            _int32("TCPEstablishedTimeout", "tcpEstablishedTimeout"),
            _int32("UDPStreamTimeout", "udpStreamTimeout"),
            _int32("UDPTimeout", "udpTimeout"),
        ),
        _text("Context", "context"),
        _nested("CPUOptions", "cpuOptions", _text("NestedVirtualization", "nestedVirtualization")),
    ),
)
"""``spec`` of an EC2NodeClass; the resolved AMI family is hashed as well."""
_BEHIND_ENCLAVES: Final = ("connectionTracking", "context", "cpuOptions")
"""Fields after ``enclaveOptions`` in the type of 1.15: fields are hashed in order."""
EC2_NODECLASS_SPEC_V6: Final = GoStruct(
    "EC2NodeClassSpec",
    (
        *(field for field in EC2_NODECLASS_SPEC.fields if field.json_name not in ("kubelet", *_BEHIND_ENCLAVES)),
        _nested("EnclaveOptions", "enclaveOptions", GoField("Enabled", "enabled", Scalar.BOOL)),
        *(field for field in EC2_NODECLASS_SPEC.fields if field.json_name in _BEHIND_ENCLAVES),
    ),
)
"""The same in 1.15, where ``spec.kubelet`` is hashed separately."""
EC2_NODECLASS_SPECS: Final[Mapping[str, GoStruct]] = {
    EC2_NODECLASS_HASH_VERSION: EC2_NODECLASS_SPEC,
    KUBELET_AS_TEXT: EC2_NODECLASS_SPEC_V6,
}
"""Hashed fields by version of the hash."""
_CUSTOM: Final = "Custom"
_ESCAPED_BY_GO: Final = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})
"""Characters that ``json.Marshal`` writes as their numbers: a comparison in a kubelet expression has them."""


def nodepool_hash(pool: NodePool) -> str | None:
    """Return ``karpenter.sh/nodepool-hash`` of a NodePool; None if it cannot be computed."""
    try:
        return str(value_hash(_template(pool), NODEPOOL_TEMPLATE))
    except HashError:
        return None


def ec2_nodeclass_hash(
    nodeclass: NodeClass, *, ca_bundle: str = "", version: str = EC2_NODECLASS_HASH_VERSION
) -> str | None:
    """Return ``karpenter.k8s.aws/ec2nodeclass-hash``; None if it cannot be computed.

    Args:
        ca_bundle: The cluster's CA bundle, which only the controller knows.
    """
    part = _nodeclass_part(nodeclass, version)
    return None if part is None else str(part ^ text_hash(ca_bundle))


def shifted_nodeclass_hash(annotation: str, before: NodeClass, after: NodeClass, version: str) -> str | None:
    """Return an EC2NodeClass's hash after a change; the part that only the controller knows is kept."""
    old, new = _nodeclass_part(before, version), _nodeclass_part(after, version)
    if old is None or new is None or not annotation.isdecimal():
        return None
    return str(int(annotation) ^ old ^ new)


def changed_nodepool_fields(before: NodePool, after: NodePool) -> tuple[str, ...]:
    """Return the paths of the hashed fields that differ between two NodePools."""
    return tuple(f"spec.template.{path}" for path in _changed(_template(before), _template(after), NODEPOOL_TEMPLATE))


def changed_nodeclass_fields(
    before: NodeClass, after: NodeClass, version: str = EC2_NODECLASS_HASH_VERSION
) -> tuple[str, ...]:
    """Return the paths of the fields, hashed in a version, that differ between two EC2NodeClasses."""
    shape = EC2_NODECLASS_SPECS.get(version, EC2_NODECLASS_SPEC_V6)
    paths = [f"spec.{path}" for path in _changed(before.spec, after.spec, shape)]
    if shape is EC2_NODECLASS_SPEC_V6 and _kubelet_text(before.spec) != _kubelet_text(after.spec):
        paths.append("spec.kubelet")
    if ami_family(before.spec) != ami_family(after.spec):
        paths.append("the AMI family")
    return tuple(paths)


def ami_family(spec: Mapping[str, Any]) -> str:
    """Return the AMI family of a spec, as Karpenter hashes it."""
    family = spec.get("amiFamily")
    if isinstance(family, str):
        return family
    terms = spec.get("amiSelectorTerms")
    for term in terms if isinstance(terms, list) else ():
        alias = term.get("alias") if isinstance(term, Mapping) else None
        if isinstance(alias, str) and alias:
            name = alias.partition("@")[0]
            return ALIASES[name].name if name in ALIASES else name
    return _CUSTOM


def _template(pool: NodePool) -> Mapping[str, Any]:
    spec = pool.raw.get("spec")
    template = spec.get("template") if isinstance(spec, Mapping) else None
    return template if isinstance(template, Mapping) else {}


def _nodeclass_part(nodeclass: NodeClass, version: str) -> int | None:
    shape = EC2_NODECLASS_SPECS.get(version)
    if shape is None:
        return None
    try:
        spec_hash = value_hash(nodeclass.spec, shape) ^ text_hash(ami_family(nodeclass.spec))
    except HashError:
        return None
    return spec_hash ^ text_hash(_kubelet_text(nodeclass.spec)) if version == KUBELET_AS_TEXT else spec_hash


def _kubelet_text(spec: Mapping[str, Any]) -> str:
    """Return ``spec.kubelet`` as Go writes it: sorted fields with their original values."""
    kubelet = spec.get("kubelet")
    ordered = {name: kubelet[name] for name in sorted(kubelet)} if isinstance(kubelet, Mapping) and kubelet else None
    return msgspec.json.encode(ordered).decode().translate(_ESCAPED_BY_GO)


def _changed(before: Any, after: Any, shape: GoStruct) -> Iterator[str]:
    for field in shape.fields:
        old, new = (side.get(field.json_name) if isinstance(side, Mapping) else None for side in (before, after))
        if old == new:
            continue
        if isinstance(field.shape, GoStruct) and isinstance(old or {}, Mapping) and isinstance(new or {}, Mapping):
            yield from (f"{field.json_name}.{path}" for path in _changed(old or {}, new or {}, field.shape))
        elif _field_hash(old, field) != _field_hash(new, field):
            yield field.json_name


def _field_hash(value: Any, field: GoField) -> object:
    try:
        return None if is_zero(value, field, "") else value_hash(value, field.shape)
    except HashError:
        return repr(value)
