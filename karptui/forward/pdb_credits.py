"""How many evictions the PodDisruptionBudgets of a play still allow, pod by pod that goes or becomes ready."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from karptui.karpenter.pdb_limits import PdbLimits
from karptui.kube.pod import Pod
from karptui.kube.workload import PodDisruptionBudget


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
