"""Decodes PersistentVolumeClaims, PersistentVolumes, StorageClasses and CSINodes."""

from __future__ import annotations

from typing import Final

from karptui.decode import wire as wires
from karptui.decode.pod_wire import WireNodeSelector
from karptui.decode.wire import Int, Wire, object_fields
from karptui.kube.volumes import (
    ONE_POD,
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    TopologySelectorTerm,
)

_IN_TREE: Final = {
    "gce_persistent_disk": "gcePersistentDisk",
    "azure_disk": "azureDisk",
    "azure_file": "azureFile",
    "cinder": "cinder",
    "vsphere_volume": "vsphereVolume",
    "portworx_volume": "portworxVolume",
}


class WireVolumeClaimSpec(Wire):
    """``spec`` of a PersistentVolumeClaim."""

    storage_class_name: str | None = None
    volume_name: str | None = None
    access_modes: list[str] | None = None


class WirePhase(Wire):
    """A ``status`` whose phase alone is read."""

    phase: str | None = None


class WireClaim(wires.WireObject):
    """A PersistentVolumeClaim."""

    spec: WireVolumeClaimSpec | None = None
    status: WirePhase | None = None


class WireVolumeAffinity(Wire):
    """``spec.nodeAffinity``."""

    required: WireNodeSelector | None = None


class WireCSISource(Wire):
    """``spec.csi``."""

    driver: str | None = None


class WireVolumeSpec(Wire):
    """``spec`` of a PersistentVolume; in-tree sources are only checked for presence."""

    node_affinity: WireVolumeAffinity | None = None
    csi: WireCSISource | None = None
    aws_elastic_block_store: object | None = None
    gce_persistent_disk: object | None = None
    azure_disk: object | None = None
    azure_file: object | None = None
    cinder: object | None = None
    vsphere_volume: object | None = None
    portworx_volume: object | None = None
    local: object | None = None
    host_path: object | None = None
    storage_class_name: str | None = None
    claim_ref: dict[str, str] | None = None

    @property
    def in_tree_plugin(self) -> str:
        """Field name of an in-tree source other than EBS, or an empty string."""
        return next((name for field, name in _IN_TREE.items() if getattr(self, field) is not None), "")


class WireVolumeObject(wires.WireObject):
    """A PersistentVolume."""

    spec: WireVolumeSpec | None = None


class WireTopologyExpression(Wire):
    """A key of an allowed topology with its values."""

    key: str
    values: list[str] | None = None


class WireTopologyTerm(Wire):
    """An allowed topology."""

    match_label_expressions: list[WireTopologyExpression] | None = None


_DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"


class WireStorageClass(wires.WireObject):
    """A StorageClass."""

    provisioner: str | None = None
    volume_binding_mode: str | None = None
    allowed_topologies: list[WireTopologyTerm] | None = None


class WireCount(Wire):
    """``allocatable`` of a CSI driver."""

    count: Int | None = None


class WireDriver(Wire):
    """A CSI driver on a node."""

    name: str | None = None
    allocatable: WireCount | None = None


class WireCSINodeSpec(Wire):
    """``spec`` of a CSINode."""

    drivers: list[WireDriver] | None = None


class WireCSINode(wires.WireObject):
    """A CSINode."""

    spec: WireCSINodeSpec | None = None


def build_claim(wire: WireClaim) -> PersistentVolumeClaim:
    """Return a PersistentVolumeClaim."""
    spec = wire.spec or WireVolumeClaimSpec()
    return PersistentVolumeClaim(
        **object_fields(wire.metadata),
        storage_class_name=spec.storage_class_name,
        volume_name=spec.volume_name or "",
        is_exclusive=ONE_POD in (spec.access_modes or ()),
        phase=(wire.status.phase if wire.status else None) or "",
    )


def build_volume(wire: WireVolumeObject) -> PersistentVolume:
    """Return a PersistentVolume."""
    spec = wire.spec or WireVolumeSpec()
    required = spec.node_affinity.required if spec.node_affinity else None
    return PersistentVolume(
        **object_fields(wire.metadata),
        required_node_terms=wires.node_terms(required.node_selector_terms if required else None),
        csi_driver=(spec.csi.driver if spec.csi else None) or "",
        is_aws_ebs=spec.aws_elastic_block_store is not None,
        in_tree_plugin=spec.in_tree_plugin,
        is_local=spec.local is not None or spec.host_path is not None,
        storage_class_name=spec.storage_class_name or "",
        claim_uid=(spec.claim_ref or {}).get("uid", ""),
    )


def build_storage_class(wire: WireStorageClass) -> StorageClass:
    """Return a StorageClass."""
    return StorageClass(
        **object_fields(wire.metadata),
        provisioner=wire.provisioner or "",
        volume_binding_mode=wire.volume_binding_mode,
        is_default=(wire.metadata.annotations or {}).get(_DEFAULT_CLASS) == "true",
        allowed_topologies=tuple(
            TopologySelectorTerm(
                tuple(
                    (expression.key, tuple(expression.values or ()))
                    for expression in term.match_label_expressions or ()
                )
            )
            for term in wire.allowed_topologies or ()
        ),
    )


def build_csi_node(wire: WireCSINode) -> CSINode:
    """Return a CSINode."""
    drivers = (wire.spec.drivers if wire.spec else None) or ()
    return CSINode(
        **object_fields(wire.metadata),
        driver_limits=tuple(
            (driver.name or "", driver.allocatable.count if driver.allocatable else None) for driver in drivers
        ),
        uncounted=frozenset(
            driver.name or "" for driver in drivers if driver.allocatable and driver.allocatable.count is None
        ),
    )
