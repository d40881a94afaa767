"""Volumes: claims, volumes, storage classes and attach limits."""

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
"""The ``volumeBindingMode`` by which a claim is bound before its pod has a node."""


class PersistentVolumeClaim(KubeObject, frozen=True, kw_only=True, gc=False):
    """A claim for storage."""

    storage_class_name: str | None = None
    """None is absent (no default is applied here), ``""`` asks for no class."""
    volume_name: str = ""
    """The volume it is bound to, empty while unbound."""
    phase: str = ""


class PersistentVolume(KubeObject, frozen=True, kw_only=True, gc=False):
    """A volume and where it can be reached."""

    required_node_terms: tuple[NodeSelectorTerm, ...] = ()
    """``spec.nodeAffinity.required``: alternatives; none means everywhere."""
    csi_driver: str = ""
    is_aws_ebs: bool = False
    """An in-tree ``awsElasticBlockStore`` volume, served by ``ebs.csi.aws.com``."""
    in_tree_plugin: str = ""
    """Field name of another in-tree source, for the translation to its CSI driver; empty for CSI volumes."""
    is_local: bool = False
    """A ``local`` or ``hostPath`` volume, whose hostname expressions Karpenter drops."""
    storage_class_name: str = ""


class TopologySelectorTerm(msgspec.Struct, frozen=True, gc=False):
    """One alternative of ``allowedTopologies``: each key with its values."""

    match_label_expressions: tuple[tuple[str, tuple[str, ...]], ...] = ()


class StorageClass(KubeObject, frozen=True, kw_only=True, gc=False):
    """How claims of this class are provisioned."""

    provisioner: str = ""
    volume_binding_mode: str | None = None
    """``Immediate``, ``WaitForFirstConsumer``, or None where absent."""
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()


class CSINode(KubeObject, frozen=True, kw_only=True, gc=False):
    """How many volumes each driver may attach to a node of this name."""

    driver_limits: tuple[tuple[str, int | None], ...] = ()
    """Driver and its limit, None where it reports none."""
    uncounted: frozenset[str] = frozenset()
    """Drivers whose ``allocatable`` is there, but names no count."""


def unread_text(kinds: Sequence[str]) -> str:
    """Return that kinds of volumes were not read, and what that comes to; empty without any."""
    named = " and ".join(", ".join(f"{kind}{'es' if kind.endswith('s') else 's'}" for kind in kinds).rsplit(", ", 1))
    missing = "count against no node's limit" if tuple(kinds) == (CSI_NODE,) else "are taken as binding pods to nothing"
    return f"{named} were not read: volumes {missing}" if kinds else ""
