"""Default topology spread constraints of the controller for pods without any, since 1.15.

They are not visible in the API, yet disruption honours them like a pod's own constraints. Rules:
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
"""Controllers whose selector is used for the constraints."""


class DefaultSpread:
    """The default constraints of a cluster."""

    def __init__(self, constraints: tuple[TopologySpreadConstraint, ...], inventory: Inventory) -> None:
        self._constraints = constraints
        self._services: dict[str, list[Service]] = {}
        for service in inventory.services:
            if service.selector is not None:
                self._services.setdefault(service.namespace, []).append(service)
        self._owners: dict[tuple[str, str, str, str], Workload] = {
            (workload.api_version, workload.kind, workload.namespace, workload.name): workload
            for workload in inventory.workloads
            if (workload.api_version, workload.kind) in _JOINED
        }

    @property
    def topology_keys(self) -> frozenset[str]:
        """Node label keys that the constraints spread over."""
        return frozenset(constraint.topology_key for constraint in self._constraints)

    def selector_keys(self) -> Iterable[str]:
        """Yield the pod label keys that the constraints may select by."""
        for services in self._services.values():
            yield from (key for service in services for key, _ in service.selector or ())
        for owner in self._owners.values():
            if owner.selector is not None:
                yield from (key for key, _ in owner.selector.match_labels)
                yield from (expression.key for expression in owner.selector.match_expressions)

    def of(self, pod: Pod) -> tuple[TopologySpreadConstraint, ...]:
        """Return a pod's constraints: its own, or the default ones if a Service or controller selects it."""
        template = pod.template
        if template.topology_spread or not self._constraints:
            return template.topology_spread
        selector = self._selector(pod)
        if selector is None:
            return ()
        return tuple(msgspec.structs.replace(constraint, label_selector=selector) for constraint in self._constraints)

    def _selector(self, pod: Pod) -> LabelSelector | None:
        """Return the combined selector of the pod's Services and controller, or None."""
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
        for reference in pod.template.owners:
            if reference.controller:
                workload = self._owners.get((reference.api_version, reference.kind, pod.namespace, reference.name))
                if workload is not None:
                    yield workload
