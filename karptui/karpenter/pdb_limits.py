"""Which PodDisruptionBudgets keep a pod from being evicted.

Rules: ``pkg/utils/pdb/pdb.go``.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from enum import StrEnum

import msgspec

from karptui.kube.pdb import PodDisruptionBudget
from karptui.kube.pod import Pod, PodTemplate


def is_always_blocking(budget: PodDisruptionBudget) -> bool:
    """Return whether a budget can never allow an eviction: ``maxUnavailable`` 0 or 0%, or ``minAvailable`` 100%."""
    blocked = budget.max_unavailable in (0, "0%") and budget.max_unavailable is not False
    return blocked or budget.min_available == "100%"


def is_always_closed(budget: PodDisruptionBudget) -> bool:
    """Return whether a budget allows no eviction while all its pods are there: also ``minAvailable`` of all of them."""
    least = budget.min_available
    return is_always_blocking(budget) or (isinstance(least, int) and 0 < budget.expected_pods <= least)


class PdbBlockKind(StrEnum):
    """How PodDisruptionBudgets block a pod."""

    MULTIPLE = "PDB_MULTIPLE"
    """Two or more select it: the eviction API refuses such pods, whatever the budgets say."""
    EXHAUSTED = "PDB_EXHAUSTED"
    """The one that selects it allows no disruption now."""


class PdbBlock(msgspec.Struct, frozen=True, gc=False):
    """A pod that may not be evicted, and the PodDisruptionBudgets behind it."""

    kind: PdbBlockKind
    pdbs: tuple[PodDisruptionBudget, ...]


def _by_namespace(pdbs: Iterable[PodDisruptionBudget]) -> dict[str, list[PodDisruptionBudget]]:
    found: dict[str, list[PodDisruptionBudget]] = {}
    for pdb in sorted(pdbs, key=lambda one: (one.namespace, one.name)):
        found.setdefault(pdb.namespace, []).append(pdb)
    return found


class PdbLimits:
    """The PodDisruptionBudgets of a cluster; what selects the pods of one template is worked out once."""

    def __init__(self, pdbs: Iterable[PodDisruptionBudget]) -> None:
        self._by_namespace = _by_namespace(pdbs)
        self._by_template: dict[PodTemplate, tuple[PodDisruptionBudget, ...]] = {}
        self._places: dict[PodTemplate, tuple[int, ...]] = {}
        """Where in its namespace stands what selects the pods of a template."""

    def later(self, pdbs: Iterable[PodDisruptionBudget]) -> PdbLimits:
        """Return the same at a later moment, at which nothing but what the budgets report is other than now."""
        found = copy(self)
        found.renew(pdbs)
        return found

    def renew(self, pdbs: Iterable[PodDisruptionBudget]) -> None:
        """Go on to a later moment in place."""
        self._by_namespace = _by_namespace(pdbs)
        self._by_template = {}

    def matching(self, pod: Pod) -> tuple[PodDisruptionBudget, ...]:
        """Return the PodDisruptionBudgets that select a pod, by name."""
        present = self._by_namespace.get(pod.template.namespace)
        if present is None:
            return ()
        if pod.own_labels:
            return self._selecting(present, pod)
        found = self._by_template.get(pod.template)
        if found is None:
            places = self._places.get(pod.template)
            if places is None:
                selecting = self._selecting(present, pod)
                places = tuple(place for place, pdb in enumerate(present) if pdb in selecting)
                self._places[pod.template] = places
            found = self._by_template[pod.template] = tuple(present[place] for place in places)
        return found

    @staticmethod
    def _selecting(present: list[PodDisruptionBudget], pod: Pod) -> tuple[PodDisruptionBudget, ...]:
        labels = pod.labels
        return tuple(pdb for pdb in present if pdb.selector is not None and pdb.selector.matches(labels))

    def block(self, pod: Pod) -> PdbBlock | None:
        """Return what keeps an evictable pod from being evicted now, None where nothing does."""
        matching = self.matching(pod)
        if not matching:
            return None
        if len(matching) > 1:
            return PdbBlock(PdbBlockKind.MULTIPLE, matching)
        if matching[0].disruptions_allowed == 0 and not _is_exempt(pod, matching[0]):
            return PdbBlock(PdbBlockKind.EXHAUSTED, matching)
        return None

    def is_fully_blocked(self, pod: Pod) -> bool:
        """Return whether an evictable pod can never be evicted by its budgets' own terms, whatever their status."""
        matching = self.matching(pod)
        if len(matching) != 1:
            return len(matching) > 1
        return is_always_blocking(matching[0]) and not _is_exempt(pod, matching[0])


def _is_exempt(pod: Pod, pdb: PodDisruptionBudget) -> bool:
    return pdb.unhealthy_pod_eviction_policy == "AlwaysAllow" and pod.ready is False


def refused_selectors(pdbs: Iterable[PodDisruptionBudget]) -> tuple[str, ...]:
    """Return what is to be said of selectors that an API server refuses, which only files can hold, in sentences.

    Karpenter fails every pass of disruption on one (``NewLimits``); here it selects nothing, so that the rest is shown.
    """
    return tuple(
        f"PodDisruptionBudget {pdb.key}: the API refuses its selector; here it selects no pods, Karpenter would disrupt"
        " nothing at all"
        for pdb in pdbs
        if pdb.selector is not None and not pdb.selector.is_valid
    )
