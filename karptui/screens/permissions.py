"""The ClusterRole that lets karptui see everything it can show, made from the list of what it reads."""

from __future__ import annotations

from collections.abc import Iterable

from karptui.sources.cluster.resources import KARPENTER_KINDS, LATER, NODES, Resource

_NODE_CLASS_GROUPS = ("karpenter.k8s.aws", "eks.amazonaws.com")
"""Groups of NodeClasses on AWS; other providers' stand in the same place."""


def cluster_role_lines(resources: Iterable[Resource] = (NODES, *KARPENTER_KINDS, *LATER)) -> list[str]:
    """Return the ClusterRole as YAML, line by line.

    Args:
        resources: what is read.
    """
    by_group: dict[str, list[str]] = {}
    for resource in resources:
        plurals = by_group.setdefault(resource.group, [])
        if resource.plural not in plurals:
            plurals.append(resource.plural)
    for group in _NODE_CLASS_GROUPS:
        by_group[group] = ["*"]
    lines = [
        "apiVersion: rbac.authorization.k8s.io/v1",
        "kind: ClusterRole",
        "metadata: {name: karptui}",
        "rules:",
    ]
    for group, plurals in by_group.items():
        names = ", ".join(f'"{plural}"' if plural == "*" else plural for plural in plurals)
        lines.append(f'- {{apiGroups: ["{group}"], resources: [{names}], verbs: [get, list, watch]}}')
    return lines
