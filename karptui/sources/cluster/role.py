"""The ClusterRole that lets karptui see everything it can show, made from the list of what it reads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from karptui.decode.kinds import OTHER_PROVIDERS
from karptui.karpenter.labels import AWS_GROUP
from karptui.sources.cluster.provider_groups import PROVIDER_GROUPS
from karptui.sources.cluster.resources import AUTO_MODE_EVENTS, KARPENTER_KINDS, LATER, NODES, Resource

FOLLOWED: Final = (NODES, *KARPENTER_KINDS, *LATER, AUTO_MODE_EVENTS)
"""What is listed and watched, NodeClasses apart, which are found by asking the server."""
NODECLASS_GROUPS: Final = (AWS_GROUP, *OTHER_PROVIDERS)
"""Whatever their NodeClasses are called; those of other providers are named in ``provider_groups``."""
PROXIES: Final = ("pods/proxy", "services/proxy")
"""Karpenter's metrics are read through the API server; one of the two is enough."""
USAGE_GROUP: Final = "metrics.k8s.io"
"""Answered by metrics-server."""


def cluster_role_lines(resources: Iterable[Resource] = FOLLOWED) -> list[str]:
    """Return the ClusterRole as YAML, line by line.

    Args:
        resources: what is listed and watched.
    """
    by_group: dict[str, list[str]] = {}
    for resource in resources:
        plurals = by_group.setdefault(resource.group, [])
        if resource.plural not in plurals:
            plurals.append(resource.plural)
    for group in NODECLASS_GROUPS:
        by_group[group] = ["*"]
    return [
        "apiVersion: rbac.authorization.k8s.io/v1",
        "kind: ClusterRole",
        "metadata: {name: karptui}",
        "rules:",
        *(_rule(group, plurals, "get, list, watch") for group, plurals in by_group.items()),
        "# NodeClasses of other providers; those that are not yours may be left out",
        *(f"{_rule(one.group, one.plurals, 'get, list, watch')}  # {one.provider}" for one in PROVIDER_GROUPS),
        "# the schemas and rules that the what-if holds documents against",
        _rule("apiextensions.k8s.io", ("customresourcedefinitions",), "get"),
        "# prices and availability as Karpenter itself sees them, from its metrics",
        _rule("", ("services",), "get, list"),
        _rule("", PROXIES, "get"),
        "# optional: live usage beside requests, where metrics-server is installed",
        _rule(USAGE_GROUP, ("nodes", "pods"), "get, list"),
    ]


def _rule(group: str, plurals: Iterable[str], verbs: str) -> str:
    names = ", ".join(f'"{plural}"' if plural == "*" else plural for plural in plurals)
    return f'- {{apiGroups: ["{group}"], resources: [{names}], verbs: [{verbs}]}}'
