"""Writes an object of the API server as a document that people can edit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from karptui.whatif.documents.write import write_field

_SERVERS_OWN: Final = frozenset(
    {
        "managedFields",
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "generation",
        "selfLink",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    }
)
_NOISE: Final = frozenset({"kubectl.kubernetes.io/last-applied-configuration"})
_ORDER: Final = tuple(
    name
    for line in (
        "apiVersion group kind metadata name generateName namespace labels annotations",
        "key operator values value minValues effect replicas weight limits selector",
        "template spec nodeClassRef requirements taints startupTaints expireAfter terminationGracePeriod",
        "disruption consolidationPolicy consolidateAfter nodes reasons schedule duration budgets",
        "serviceName serviceAccountName priorityClassName nodeSelector affinity tolerations topologySpreadConstraints",
        "initContainers containers volumes image command args env ports resources requests",
        "amiFamily amiSelectorTerms role instanceProfile subnetSelectorTerms securityGroupSelectorTerms kubelet",
    )
    for name in line.split()
)
_RANKS: Final = {name: rank for rank, name in enumerate(_ORDER)}
_BY_NAME: Final = frozenset({"labels", "annotations", "matchLabels", "nodeSelector", "requests", "limits", "capacity"})


def as_document(raw: Mapping[str, Any]) -> str:
    """Writes an object as YAML without what only the API server writes: status, managed fields, versions.

    Fields come in the order people write them, the rest by name, so that the same object gives the same text.
    """
    cleaned = clean_object(raw)
    lines = [line for name, value in ordered(cleaned).items() for line in write_field(name, value, indent=0)]
    return "\n".join(lines) + "\n"


def clean_object(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Copies an object without what only the API server writes."""
    cleaned = {name: value for name, value in raw.items() if name != "status"}
    metadata = cleaned.get("metadata")
    if isinstance(metadata, Mapping):
        kept = {name: value for name, value in metadata.items() if name not in _SERVERS_OWN}
        annotations = kept.get("annotations")
        if isinstance(annotations, Mapping):
            kept["annotations"] = {name: value for name, value in annotations.items() if name not in _NOISE}
            if not kept["annotations"]:
                del kept["annotations"]
        cleaned["metadata"] = kept
    return cleaned


def ordered(value: Any, around: str = "") -> Any:
    """Copies a value with its fields in the order of ``as_document``."""
    if isinstance(value, Mapping):
        names = sorted(value, key=lambda name: (0 if around in _BY_NAME else _RANKS.get(name, len(_ORDER)), name))
        return {name: ordered(value[name], name) for name in names}
    if isinstance(value, list | tuple):
        return [ordered(item) for item in value]
    return value
