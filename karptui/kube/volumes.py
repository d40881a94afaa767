"""PersistentVolumeClaims, PersistentVolumes, StorageClasses and the attach limits of CSINodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from karptui.kube.objects import KubeObject
from karptui.kube.selectors import NodeSelectorTerm

CLAIM: Final = "PersistentVolumeClaim"
VOLUME: Final = "PersistentVolume"
STORAGE_CLASS: Final = "StorageClass"
CSI_NODE: Final = "CSINode"
IMMEDIATE: Final = "Immediate"
"""``volumeBindingMode`` that binds a claim before its pod is scheduled."""

ONE_POD: Final = "ReadWriteOncePod"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
"""Annotation of a claim: the node that kube-scheduler has selected, near which its driver creates the volume."""
STATIC: Final = "kubernetes.io/no-provisioner"
"""Provisioner of StorageClasses whose volumes nothing creates on demand."""


class PersistentVolumeClaim(KubeObject, frozen=True, kw_only=True, gc=False):
    """A PersistentVolumeClaim."""

    storage_class_name: str | None = None
    """None if absent (no default is applied here), ``""`` for no class."""
    volume_name: str = ""
    """Bound volume, empty while unbound."""
    is_exclusive: bool = False
    """Whether its access mode lets one pod use it at a time."""
    phase: str = ""


class PersistentVolume(KubeObject, frozen=True, kw_only=True, gc=False):
    """A PersistentVolume and the nodes that can reach it."""

    required_node_terms: tuple[NodeSelectorTerm, ...] = ()
    """Alternatives of ``spec.nodeAffinity.required``; empty means any node."""
    csi_driver: str = ""
    is_aws_ebs: bool = False
    """Whether it is an in-tree ``awsElasticBlockStore`` volume, served by ``ebs.csi.aws.com``."""
    in_tree_plugin: str = ""
    """Field name of any other in-tree source, to be translated to its CSI driver; empty for CSI volumes."""
    is_local: bool = False
    """Whether it is a ``local`` or ``hostPath`` volume, whose hostname requirements Karpenter drops."""
    storage_class_name: str = ""
    claim_uid: str = ""
    """UID of the claim that it belongs to, or belonged to; empty if it is free."""


class TopologySelectorTerm(msgspec.Struct, frozen=True, gc=False):
    """An alternative of ``allowedTopologies``: keys with their values."""

    match_label_expressions: tuple[tuple[str, tuple[str, ...]], ...] = ()


class StorageClass(KubeObject, frozen=True, kw_only=True, gc=False):
    """A StorageClass."""

    provisioner: str = ""
    volume_binding_mode: str | None = None
    """``Immediate``, ``WaitForFirstConsumer``, or None if absent."""
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()
    is_default: bool = False
    """Whether claims that name no class get it."""


class CSINode(KubeObject, frozen=True, kw_only=True, gc=False):
    """Attach limits of the CSI drivers on the node of the same name."""

    driver_limits: tuple[tuple[str, int | None], ...] = ()
    """Driver and its limit; the limit is None if not reported."""
    uncounted: frozenset[str] = frozenset()
    """Drivers whose ``allocatable`` exists without a count."""


def unread_text(kinds: Sequence[str]) -> str:
    """Return a note that some kinds of volume objects were not read, and its effect; empty without kinds."""
    named = " and ".join(", ".join(f"{kind}{'es' if kind.endswith('s') else 's'}" for kind in kinds).rsplit(", ", 1))
    missing = "count against no node's limit" if tuple(kinds) == (CSI_NODE,) else "do not restrict where pods run"
    return f"{named} were not read: volumes {missing}" if kinds else ""
