"""Pods in groups of one template: their owners, and the PodDisruptionBudgets that select them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import Final

import msgspec

from karptui.advice.facts.cluster import ClusterFacts
from karptui.disruption.owner import OwnerIndex
from karptui.kube.pdb import PodDisruptionBudget
from karptui.kube.pod import Pod, PodTemplate
from karptui.kube.timestamps import ABSENT_NS
from karptui.whatif.edits import ObjectRef

ENDED: Final = frozenset({"Succeeded", "Failed"})


class PodGroup(msgspec.Struct, frozen=True, eq=False):
    """Pods of one template that have not ended and are not being deleted."""

    template: PodTemplate
    pods: tuple[Pod, ...]
    owner: ObjectRef
    """The workload behind them; the pod itself where nobody would make it again."""

    @property
    def is_daemon(self) -> bool:
        """Whether they run on nodes because the nodes are there: DaemonSets' and static pods."""
        return self.template.is_daemonset_owned or self.template.is_node_owned


class PodFacts(ClusterFacts):
    """What is known of pods."""

    @cached_property
    def groups(self) -> tuple[PodGroup, ...]:
        """Active pods by template."""
        by_template: defaultdict[PodTemplate, list[Pod]] = defaultdict(list)
        for pod in self.inventory.pods:
            # Written out, as there may be a hundred thousand of them.
            if pod.deletion_ns == ABSENT_NS and pod.phase not in ENDED:
                by_template[pod.template].append(pod)
        return tuple(PodGroup(template, tuple(pods), self._owner_of(pods[0])) for template, pods in by_template.items())

    @cached_property
    def workload_groups(self) -> tuple[PodGroup, ...]:
        """The same without DaemonSets' and static pods."""
        return tuple(group for group in self.groups if not group.is_daemon)

    @cached_property
    def _owners(self) -> OwnerIndex:
        return OwnerIndex(self.inventory.workloads)

    def _owner_of(self, pod: Pod) -> ObjectRef:
        owner = self._owners.of(pod)
        if owner is None:
            return ObjectRef("Pod", pod.name, pod.namespace)
        return ObjectRef(owner.kind, owner.name, owner.namespace)

    def owner_of(self, pod: Pod) -> ObjectRef:
        """Return the workload behind a pod, the pod itself where nobody would make it again."""
        return self._owner_of(pod)

    @cached_property
    def budgeted(self) -> tuple[tuple[tuple[PodDisruptionBudget, ...], PodGroup], ...]:
        """Pods that PodDisruptionBudgets select, in groups that the same ones select."""
        if not self.inventory.pdbs:
            return ()
        found: list[tuple[tuple[PodDisruptionBudget, ...], PodGroup]] = []
        for group in self.groups:
            for budgets, pods in self._by_budgets(group.pods):
                found.append((budgets, msgspec.structs.replace(group, pods=pods)))
        return tuple(found)

    def _by_budgets(self, pods: tuple[Pod, ...]) -> Iterator[tuple[tuple[PodDisruptionBudget, ...], tuple[Pod, ...]]]:
        limits = self.fleet.pods.limits
        by_budgets: dict[tuple[str, ...], tuple[tuple[PodDisruptionBudget, ...], list[Pod]]] = {}
        shared = [pod for pod in pods if not pod.own_labels]
        for pod in (*shared[:1], *(pod for pod in pods if pod.own_labels)):
            matching = limits.matching(pod)
            if matching:
                own = by_budgets.setdefault(tuple(one.key for one in matching), (matching, []))[1]
                own.extend((pod,) if pod.own_labels else shared)
        for matching, own in by_budgets.values():
            yield matching, tuple(own)
