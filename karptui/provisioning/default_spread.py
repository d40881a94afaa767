"""Default topology spread: constraints of the controller's own for pods that state none, since 1.15.

It cannot be seen in the API, yet disruption respects it as it does a pod's own. Rules:
``pkg/controllers/provisioning/scheduling/defaultconstraints.go``.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from karptui.karpenter.inventory import Inventory
from karptui.kube.pod import Pod, TopologySpreadConstraint
from karptui.kube.selectors import LabelSelector, LabelSelectorRequirement
from karptui.kube.workload import Service, Workload

_JOINED = {("v1", "ReplicationController"), ("apps/v1", "ReplicaSet"), ("apps/v1", "StatefulSet")}
"""Controllers whose selector a constraint takes up."""


class DefaultSpread:
    """The default constraints of one cluster."""

    def __init__(self, constraints: tuple[TopologySpreadConstraint, ...], inventory: Inventory) -> None:
        self._constraints = constraints
        self._services: dict[str, list[Service]] = {}
        for service in inventory.services:
            if service.selector is not None:
                self._services.setdefault(service.namespace, []).append(service)
        self._owners: dict[tuple[str, str, str, str], Workload] = {
            (one.api_version, one.kind, one.namespace, one.name): one
            for one in inventory.workloads
            if (one.api_version, one.kind) in _JOINED
        }

    @property
    def topology_keys(self) -> frozenset[str]:
        """Label keys of nodes that the constraints spread over."""
        return frozenset(one.topology_key for one in self._constraints)

    def selector_keys(self) -> Iterable[str]:
        """Yield the pod labels that any constraint may select by."""
        for services in self._services.values():
            yield from (key for service in services for key, _ in service.selector or ())
        for owner in self._owners.values():
            if owner.selector is not None:
                yield from (key for key, _ in owner.selector.match_labels)
                yield from (one.key for one in owner.selector.match_expressions)

    def of(self, pod: Pod) -> tuple[TopologySpreadConstraint, ...]:
        """Return the constraints of a pod: its own, or all the default ones where something tells which pods count."""
        template = pod.template
        if template.topology_spread or not self._constraints:
            return template.topology_spread
        selector = self._selector(pod)
        if selector is None:
            return ()
        return tuple(msgspec.structs.replace(one, label_selector=selector) for one in self._constraints)

    def _selector(self, pod: Pod) -> LabelSelector | None:
        """Return what Services and the controller select the pod by, None where nothing does."""
        labels: dict[str, str] = {}
        for service in self._services.get(pod.namespace, ()):
            selector = dict(service.selector or ())
            if all(pod.labels.get(key) == value for key, value in selector.items()):
                labels |= selector
        expressions: list[LabelSelectorRequirement] = []
        for owner in self._controllers(pod):
            if owner.selector is None:
                continue
            if owner.kind == "ReplicationController":
                labels |= dict(owner.selector.match_labels)
            else:
                expressions += [
                    LabelSelectorRequirement(key, "In", (value,)) for key, value in owner.selector.match_labels
                ]
                expressions += owner.selector.match_expressions
        if not labels and not expressions:
            return None
        return LabelSelector(tuple(sorted(labels.items())), tuple(expressions))

    def _controllers(self, pod: Pod) -> Iterable[Workload]:
        for one in pod.template.owners:
            if one.controller:
                found = self._owners.get((one.api_version, one.kind, pod.namespace, one.name))
                if found is not None:
                    yield found
