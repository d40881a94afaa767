"""PodDisruptionBudgets that block the eviction of a pod.

Rules: ``pkg/utils/pdb/pdb.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from enum import StrEnum

import msgspec

from karptui.kube.group import group_by
from karptui.kube.pod import Pod, PodTemplate
from karptui.kube.timestamps import HOUR_NS
from karptui.kube.workload import PodDisruptionBudget


def is_always_blocking(budget: PodDisruptionBudget) -> bool:
    """Return whether a budget can never allow an eviction: ``maxUnavailable`` 0 or 0%, or ``minAvailable`` 100%."""
    blocked = budget.max_unavailable in (0, "0%") and budget.max_unavailable is not False
    return blocked or budget.min_available == "100%"


def is_always_closed(budget: PodDisruptionBudget) -> bool:
    """Return whether a budget allows no eviction while its pods are healthy: also ``minAvailable`` of all pods.

    The disruption controller rounds a percentage of the pods up. A budget that has allowed evictions since it was
    created may do so again, for example if an autoscaler adds pods.
    """
    least, pods = budget.min_available, budget.expected_pods
    if isinstance(least, str) and least.removesuffix("%").isdecimal():
        least = -(-pods * int(least.removesuffix("%")) // 100)
    was_open = budget.allowed_since_ns > budget.created_ns + HOUR_NS
    return is_always_blocking(budget) or (isinstance(least, int) and 0 < pods <= least and not was_open)


class PdbBlockKind(StrEnum):
    """Why a pod may not be evicted."""

    MULTIPLE = "PDB_MULTIPLE"
    """Two or more budgets select it: the eviction API always rejects such pods."""
    EXHAUSTED = "PDB_EXHAUSTED"
    """Its only budget allows no disruption now."""


class PdbBlock(msgspec.Struct, frozen=True, gc=False):
    """The PodDisruptionBudgets that block a pod's eviction."""

    kind: PdbBlockKind
    pdbs: tuple[PodDisruptionBudget, ...]


def _by_namespace(pdbs: Iterable[PodDisruptionBudget]) -> dict[str, list[PodDisruptionBudget]]:
    return group_by(sorted(pdbs, key=lambda pdb: (pdb.namespace, pdb.name)), lambda pdb: pdb.namespace)


class PdbLimits:
    """The PodDisruptionBudgets of a cluster; matches are cached per pod template."""

    def __init__(self, pdbs: Iterable[PodDisruptionBudget]) -> None:
        self._by_namespace = _by_namespace(pdbs)
        self._by_template: dict[PodTemplate, tuple[PodDisruptionBudget, ...]] = {}
        self._places: dict[PodTemplate, tuple[int, ...]] = {}
        """Indexes, in the namespace's list, of the budgets that select the pods of a template."""

    def later(self, pdbs: Iterable[PodDisruptionBudget]) -> PdbLimits:
        """Return limits for a later time; only the budgets' status may differ."""
        limits = copy(self)
        limits.renew(pdbs)
        return limits

    def renew(self, pdbs: Iterable[PodDisruptionBudget]) -> None:
        """Replace the budgets; only their status may differ."""
        self._by_namespace = _by_namespace(pdbs)
        self._by_template = {}

    def matching(self, pod: Pod) -> tuple[PodDisruptionBudget, ...]:
        """Return the PodDisruptionBudgets that select a pod, sorted by name."""
        present = self._by_namespace.get(pod.template.namespace)
        if present is None:
            return ()
        if pod.own_labels:
            return self._selecting(present, pod)
        matching = self._by_template.get(pod.template)
        if matching is None:
            places = self._places.get(pod.template)
            if places is None:
                selecting = self._selecting(present, pod)
                places = tuple(place for place, pdb in enumerate(present) if pdb in selecting)
                self._places[pod.template] = places
            matching = self._by_template[pod.template] = tuple(present[place] for place in places)
        return matching

    @staticmethod
    def _selecting(present: list[PodDisruptionBudget], pod: Pod) -> tuple[PodDisruptionBudget, ...]:
        labels = pod.labels
        return tuple(pdb for pdb in present if pdb.selector is not None and pdb.selector.matches(labels))

    def block(self, pod: Pod) -> PdbBlock | None:
        """Return the budgets that block an evictable pod now, or None."""
        matching = self.matching(pod)
        if not matching:
            return None
        if len(matching) > 1:
            return PdbBlock(PdbBlockKind.MULTIPLE, matching)
        if matching[0].disruptions_allowed == 0 and not _is_exempt(pod, matching[0]):
            return PdbBlock(PdbBlockKind.EXHAUSTED, matching)
        return None

    def is_fully_blocked(self, pod: Pod) -> bool:
        """Return whether an evictable pod can never be evicted because of its budgets' spec, regardless of status."""
        matching = self.matching(pod)
        if len(matching) != 1:
            return len(matching) > 1
        return is_always_blocking(matching[0]) and not _is_exempt(pod, matching[0])


def _is_exempt(pod: Pod, pdb: PodDisruptionBudget) -> bool:
    return pdb.unhealthy_pod_eviction_policy == "AlwaysAllow" and pod.ready is False


def refused_selectors(pdbs: Iterable[PodDisruptionBudget]) -> tuple[str, ...]:
    """Return warnings about invalid selectors, which can only occur in files.

    With one, Karpenter fails every disruption pass (``NewLimits``); here it selects no pods.
    """
    return tuple(
        f"PodDisruptionBudget {pdb.key}: the API refuses its selector; here it selects no pods, Karpenter would disrupt"
        " nothing at all"
        for pdb in pdbs
        if pdb.selector is not None and not pdb.selector.is_valid
    )


class PdbCredits:
    """PodDisruptionBudgets with the number of disruptions that they allow now."""

    def __init__(self, pdbs: Sequence[PodDisruptionBudget]) -> None:
        self.version = 0
        """Counts changes."""
        self._pdbs = {pdb.key: pdb for pdb in pdbs}
        self._credits = {pdb.key: pdb.disruptions_allowed for pdb in pdbs}
        """Allowed disruptions of each, negative if more pods are gone."""
        self._limits = PdbLimits(pdbs)

    @property
    def pdbs(self) -> tuple[PodDisruptionBudget, ...]:
        """The objects with current numbers."""
        return tuple(self._pdbs.values())

    def allow(self, pod: Pod) -> bool:
        """Return whether the PodDisruptionBudgets allow the eviction of a pod now."""
        if pod.ready is False:
            return True  # the caller has applied the policy for unhealthy pods
        return not any(self._pdbs[pdb.key].disruptions_allowed <= 0 for pdb in self._limits.matching(pod))

    def refusing(self, pod: Pod) -> tuple[str, ...]:
        """Return the PodDisruptionBudgets that refuse a pod's eviction now: ``namespace/name``."""
        budgets = [self._pdbs[pdb.key] for pdb in self._limits.matching(pod)]
        if not budgets or pod.phase == "Pending":
            return ()
        budget = budgets[0]
        is_allowed = budget.disruptions_allowed > 0 or (
            pod.ready is False
            and (
                budget.unhealthy_pod_eviction_policy == "AlwaysAllow"
                or budget.current_healthy >= budget.desired_healthy > 0
            )
        )
        return () if len(budgets) == 1 and is_allowed else tuple(pdb.key for pdb in budgets)

    def change(self, pod: Pod, count: int) -> Iterator[PodDisruptionBudget]:
        """Count a pod that became healthy (1) or ends (-1); yield each changed PodDisruptionBudget."""
        for budget in self._limits.matching(pod):
            self.version += 1
            credit = self._credits[budget.key] = self._credits[budget.key] + count
            pdb = self._pdbs[budget.key]
            healthy = max(pdb.current_healthy + count, 0)
            pdb = msgspec.structs.replace(pdb, disruptions_allowed=max(credit, 0), current_healthy=healthy)
            self._pdbs[budget.key] = pdb
            yield pdb
