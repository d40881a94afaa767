"""The hashes by which Karpenter detects drift, and their fields."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

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
    Shape,
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


class _Pointer(NamedTuple):
    """A pointer in Go: zero differs from absent."""

    shape: Shape


_ABBREVIATION_OR_LETTER: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z]|$)|[A-Z]")


def _struct(go_name: str, /, **fields: Shape | _Pointer | GoField) -> GoStruct:
    """Return a struct by the Go names of its fields; their JSON names begin in lower case unless given."""

    def field(name: str, shape: Shape | _Pointer | GoField) -> GoField:
        if isinstance(shape, GoField):
            return shape
        json_name = _ABBREVIATION_OR_LETTER.sub(lambda match: match[0].lower(), name, count=1)
        is_pointer = isinstance(shape, _Pointer)
        return GoField(name, json_name, shape.shape if isinstance(shape, _Pointer) else shape, is_pointer)

    return GoStruct(go_name, tuple(field(name, shape) for name, shape in fields.items()))


_TEXTS: Final = TextMap(Scalar.TEXT)
_TEXT: Final = _Pointer(Scalar.TEXT)
_BOOL: Final = _Pointer(Scalar.BOOL)
_INT32: Final = _Pointer(Scalar.INT32)
_INT64: Final = _Pointer(Scalar.INT64)
_TAINTS: Final = ListOf(
    _struct("Taint", Key=Scalar.TEXT, Value=Scalar.TEXT, Effect=Scalar.TEXT, TimeAdded=_Pointer(Scalar.TIME))
)
_NODECLASS_REF: Final = _struct("NodeClassReference", Kind=Scalar.TEXT, Name=Scalar.TEXT, Group=Scalar.TEXT)
NODEPOOL_TEMPLATE: Final = _struct(
    "NodeClaimTemplate",
    ObjectMeta=GoField("ObjectMeta", "metadata", _struct("ObjectMeta", Labels=_TEXTS, Annotations=_TEXTS)),
    Spec=_struct(
        "NodeClaimTemplateSpec",
        Taints=_TAINTS,
        StartupTaints=_TAINTS,
        NodeClassRef=_Pointer(_NODECLASS_REF),
        TerminationGracePeriod=_Pointer(Scalar.DURATION),
        ExpireAfter=Scalar.NILLABLE_DURATION,
    ),
)
"""``spec.template`` of a NodePool; ``requirements`` are compared by their meaning instead."""
_KUBELET: Final = _struct(
    "KubeletConfiguration",
    ClusterDNS=ListOf(Scalar.TEXT),
    MaxPods=_INT32,
    PodsPerCore=_INT32,
    SystemReserved=_TEXTS,
    KubeReserved=_TEXTS,
    EvictionHard=_TEXTS,
    EvictionSoft=_TEXTS,
    EvictionSoftGracePeriod=TextMap(Scalar.DURATION),
    EvictionMaxPodGracePeriod=_INT32,
    ImageGCHighThresholdPercent=_INT32,
    ImageGCLowThresholdPercent=_INT32,
    CPUCFSQuota=GoField("CPUCFSQuota", "cpuCFSQuota", Scalar.BOOL, is_pointer=True),
)
_BLOCK_DEVICE: Final = _struct(
    "BlockDevice",
    DeleteOnTermination=_BOOL,
    Encrypted=_BOOL,
    IOPS=_INT64,
    KMSKeyID=_TEXT,
    SnapshotID=_TEXT,
    Throughput=_INT64,
    VolumeInitializationRate=_INT32,
    VolumeSize=_Pointer(Scalar.QUANTITY),
    VolumeType=_TEXT,
)
_BLOCK_DEVICES: Final = ListOf(
    _struct("BlockDeviceMapping", DeviceName=_TEXT, EBS=_Pointer(_BLOCK_DEVICE), RootVolume=Scalar.BOOL)
)
_INTERFACES: Final = ListOf(
    _struct("NetworkInterface", NetworkCardIndex=Scalar.INT32, DeviceIndex=Scalar.INT32, InterfaceType=Scalar.TEXT)
)
_METADATA_OPTIONS: Final = _struct(
    "MetadataOptions", HTTPEndpoint=_TEXT, HTTPProtocolIPv6=_TEXT, HTTPPutResponseHopLimit=_INT64, HTTPTokens=_TEXT
)
_CONNECTION_TRACKING: Final = _struct(
    "ConnectionTracking", TCPEstablishedTimeout=_INT32, UDPStreamTimeout=_INT32, UDPTimeout=_INT32
)
EC2_NODECLASS_SPEC: Final = _struct(
    "EC2NodeClassSpec",
    PlacementGroupSelector=_Pointer(_struct("PlacementGroupSelector", Name=_TEXT, ID=_TEXT)),
    AssociatePublicIPAddress=_BOOL,
    UserData=_TEXT,
    Role=Scalar.TEXT,
    InstanceProfile=_TEXT,
    Tags=_TEXTS,
    Kubelet=_Pointer(_KUBELET),
    BlockDeviceMappings=_BLOCK_DEVICES,
    InstanceStorePolicy=_TEXT,
    NetworkInterfaces=_INTERFACES,
    DetailedMonitoring=_BOOL,
    MetadataOptions=_Pointer(_METADATA_OPTIONS),
    ConnectionTracking=_Pointer(_CONNECTION_TRACKING),
    Context=_TEXT,
    CPUOptions=_Pointer(_struct("CPUOptions", NestedVirtualization=_TEXT)),
)
"""``spec`` of an EC2NodeClass; the resolved AMI family is hashed as well."""
_BEHIND_ENCLAVES: Final = ("connectionTracking", "context", "cpuOptions")
"""Fields after ``enclaveOptions`` in the type of 1.15: fields are hashed in order."""
EC2_NODECLASS_SPEC_V6: Final = GoStruct(
    "EC2NodeClassSpec",
    (
        *(field for field in EC2_NODECLASS_SPEC.fields if field.json_name not in ("kubelet", *_BEHIND_ENCLAVES)),
        GoField("EnclaveOptions", "enclaveOptions", _struct("EnclaveOptions", Enabled=Scalar.BOOL), is_pointer=True),
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
