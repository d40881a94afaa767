"""Values a cluster and its provider know, offered while typing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownValues:
    """What can be offered besides the schema; everything is optional."""

    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Requirement and selector keys with their values: instance families and types, zones, capacity types, arch, …"""
    node_pools: tuple[str, ...] = ()
    node_classes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names by kind, e.g. ``EC2NodeClass``."""
    namespaces: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    """Names of what a ``scalableRef`` may point to."""
    priority_classes: tuple[str, ...] = ()
    taints: tuple[str, ...] = ()
    """Taint keys of the pools and nodes."""
