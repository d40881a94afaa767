"""Reads API objects of each kind from JSON text or plain mappings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from karptui.decode import karpenter, objects, storage, vpa, workload
from karptui.decode.errors import DecodeError, FieldError, field_error
from karptui.decode.kinds import WORKLOAD_API_VERSIONS, WORKLOAD_KINDS, Kind
from karptui.decode.pod import TEMPLATES, build_pod
from karptui.decode.pod_wire import WirePod
from karptui.decode.wire import WireObject
from karptui.karpenter.nodeclass import NodeClass
from karptui.kube.workload import Workload

UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Exceptions raised while decoding invalid text."""
METADATA_ONLY: Final = "PartialObjectMetadata"
_Raw = TypeVar("_Raw")


class KindReader:
    """Reads objects of a kind; ``api_version`` and ``kind`` are defaults for list items without them."""

    def __init__(self, kind: Kind, *, api_version: str = "", api_kind: str = "") -> None:
        self.kind = kind
        self.api_version = api_version or WORKLOAD_API_VERSIONS.get(kind, "v1")
        self.api_kind = api_kind or kind.value
        self.wire_type, self._build_plain = _WIRES_AND_BUILDERS[kind]
        self.needs_raw = kind in (Kind.NODEPOOL, Kind.NODECLASS)
        """Whether the domain object includes the original object."""
        self._builder = self._choose_builder()

    def build(self, wire: WireObject, raw: Mapping[str, Any] | None = None) -> Any:
        """Return the domain object of a decoded API object.

        Raises:
            DecodeError: If a field is invalid; names kind, object and field.
        """
        try:
            return self._builder(wire, raw or {})
        except FieldError as error:
            raise DecodeError(self.api_kind, wire.metadata.key, error) from None

    def _choose_builder(self) -> Callable[[Any, Mapping[str, Any]], Any]:
        if self.kind in WORKLOAD_KINDS:
            return self._build_workload
        if self.kind is Kind.NODECLASS:
            return self._build_nodeclass
        if self.kind is Kind.NODEPOOL:
            return karpenter.build_nodepool
        build = self._build_plain
        assert build is not None
        return lambda wire, _: build(wire)

    def _build_workload(self, wire: workload.AnyWireWorkload, _: Mapping[str, Any]) -> Workload:
        # Metadata-only objects have PartialObjectMetadata as their kind.
        if not wire.kind or wire.kind == METADATA_ONLY:
            return workload.build_workload(wire, self.api_version, self.api_kind)
        return workload.build_workload(wire, wire.api_version or self.api_version, wire.kind)

    def _build_nodeclass(self, wire: karpenter.WireNodeClass, raw: Mapping[str, Any]) -> NodeClass:
        group, _, version = (wire.api_version or self.api_version).rpartition("/")
        return karpenter.build_nodeclass(wire, group, version, wire.kind or self.api_kind, raw)

    def convert(self, raw: Mapping[str, Any]) -> Any:
        """Return the domain object of a plain mapping."""
        try:
            wire = msgspec.convert(raw, self.wire_type)
        except msgspec.ValidationError as error:
            raise DecodeError(self.api_kind, key_of(raw), field_error(error, raw)) from None
        return self.build(wire, raw)

    def decode(self, text: bytes | msgspec.Raw) -> Any:
        """Return the domain object of JSON text.

        Raises:
            DecodeError: If the text is invalid; names kind, object and field if known.
        """
        try:
            if self.needs_raw:
                return self.convert(without_managed_fields(msgspec.json.decode(text)))
            return self.build(msgspec.json.decode(text, type=self.wire_type))
        except msgspec.ValidationError as error:
            raw = loose(text)
            raise DecodeError(self.api_kind, key_of(raw), field_error(error, raw)) from None
        except UNREADABLE as error:
            raise DecodeError(self.api_kind, "", FieldError("", f"cannot be read: {error}")) from None


def without_managed_fields(raw: _Raw) -> _Raw:
    """Remove ``managedFields``, which is large and unused, from an object in place, and return the object."""
    metadata = raw.get("metadata") if isinstance(raw, dict) else None
    if isinstance(metadata, dict):
        metadata.pop("managedFields", None)
    return raw


def key_of(raw: Any) -> str:
    """Return ``namespace/name`` of a possibly malformed object, as far as present."""
    metadata = raw.get("metadata") if isinstance(raw, Mapping) else None
    if not isinstance(metadata, Mapping):
        return ""
    name, namespace = (value if isinstance(value, str) else "" for value in map(metadata.get, ("name", "namespace")))
    return f"{namespace}/{name}" if namespace and name else name


def loose(text: bytes | msgspec.Raw) -> Any:
    """Return decoded JSON, or None if it is invalid."""
    try:
        return msgspec.json.decode(text)
    except UNREADABLE:
        return None


_WIRES_AND_BUILDERS: Final[Mapping[Kind, tuple[type[WireObject], Callable[[Any], Any] | None]]] = {
    Kind.NODE: (objects.WireNode, objects.build_node),
    Kind.POD: (WirePod, lambda wire: build_pod(wire, TEMPLATES)),
    Kind.NODEPOOL: (karpenter.WireNodePool, None),
    Kind.NODECLAIM: (karpenter.WireNodeClaim, karpenter.build_nodeclaim),
    Kind.NODECLASS: (karpenter.WireNodeClass, None),
    Kind.NODEOVERLAY: (karpenter.WireOverlay, karpenter.build_overlay),
    Kind.DAEMONSET: (workload.WireWorkload, workload.build_daemonset),
    Kind.PDB: (workload.WirePodDisruptionBudget, workload.build_pdb),
    Kind.REPLICATION_CONTROLLER: (workload.WireReplicationController, None),
    Kind.PVC: (storage.WireClaim, storage.build_claim),
    Kind.PV: (storage.WireVolumeObject, storage.build_volume),
    Kind.STORAGE_CLASS: (storage.WireStorageClass, storage.build_storage_class),
    Kind.CSI_NODE: (storage.WireCSINode, storage.build_csi_node),
    Kind.NAMESPACE: (WireObject, objects.build_namespace),
    Kind.PRIORITY_CLASS: (objects.WirePriorityClass, objects.build_priority_class),
    Kind.SERVICE: (workload.WireService, workload.build_service),
    Kind.EVENT: (objects.WireEvent, objects.build_event),
    Kind.CAPACITY_BUFFER: (karpenter.WireBuffer, karpenter.build_capacity_buffer),
    Kind.POD_TEMPLATE: (workload.WirePodTemplateObject, workload.build_pod_template),
    Kind.LEASE: (objects.WireLease, objects.build_lease),
    Kind.VPA: (vpa.WireVpa, vpa.build_vpa),
    Kind.WEBHOOK: (objects.WireWebhooks, objects.build_webhooks),
    **dict.fromkeys(WORKLOAD_API_VERSIONS, (workload.WireWorkload, None)),
}
"""Wire type of each kind, and its builder; None if that needs more than the wire."""
