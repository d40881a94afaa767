"""The pod predicates at one instant, with what all pods of a template share worked out once.

Rules: ``pkg/utils/pod/scheduling.go`` and ``IsCurrentlyReschedulable`` in ``pkg/utils/pdb/pdb.go``.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from karptui.disruption.do_not_disrupt import UNPROTECTED, DoNotDisruptValue, Protection, value_of
from karptui.disruption.pdb_limits import PdbBlock, PdbLimits
from karptui.disruption.pods import eviction_cost, is_critical, is_stuck_terminating, positive_cost, tolerates_disrupted
from karptui.kube.pdb import PodDisruptionBudget
from karptui.kube.pod import Pod, PodTemplate


class TemplateTraits(msgspec.Struct, frozen=True, gc=False):
    """What disruption asks of a pod that its template already answers."""

    is_daemonset_owned: bool
    is_statefulset_owned: bool
    is_node_owned: bool
    tolerates_disrupted: bool
    is_critical: bool
    do_not_disrupt: DoNotDisruptValue | None
    eviction_cost: float


def traits_of(template: PodTemplate) -> TemplateTraits:
    """Return the traits of a template."""
    return TemplateTraits(
        is_daemonset_owned=template.is_daemonset_owned,
        is_statefulset_owned=template.is_statefulset_owned,
        is_node_owned=template.is_node_owned,
        tolerates_disrupted=tolerates_disrupted(template),
        is_critical=is_critical(template),
        do_not_disrupt=value_of(template.annotations),
        eviction_cost=eviction_cost(template),
    )


class PodPredicates:
    """Answers about pods at one instant."""

    def __init__(self, pdbs: Iterable[PodDisruptionBudget], now_ns: int) -> None:
        self.now_ns = now_ns
        self.limits = PdbLimits(pdbs)
        self._traits: dict[PodTemplate, TemplateTraits] = {}
        self._may_hold: dict[PodTemplate, bool] = {}

    def traits(self, template: PodTemplate) -> TemplateTraits:
        """Return the traits of a template."""
        found = self._traits.get(template)
        if found is None:
            found = self._traits[template] = traits_of(template)
        return found

    def may_hold(self, pod: Pod) -> bool:
        """Return whether annotation or PodDisruptionBudgets may have the pod keep its node; most pods may not."""
        found = None if pod.own_labels else self._may_hold.get(pod.template)
        if found is None:
            found = self.traits(pod.template).do_not_disrupt is not None or bool(self.limits.matching(pod))
            if not pod.own_labels:
                self._may_hold[pod.template] = found
        return found

    def protection(self, pod: Pod) -> Protection:
        """Return what do-not-disrupt does for a pod now, whether or not the pod is active."""
        value = self.traits(pod.template).do_not_disrupt
        return UNPROTECTED if value is None else value.at(pod.start_ns, self.now_ns)

    def is_disruptable(self, pod: Pod) -> bool:
        """Return whether do-not-disrupt leaves the pod's node free; DaemonSet and static pods are no exception."""
        value = self.traits(pod.template).do_not_disrupt
        return value is None or not pod.is_active or not value.at(pod.start_ns, self.now_ns).is_active

    def is_evictable(self, pod: Pod) -> bool:
        """Return whether Karpenter would ask for the pod's eviction: only then do PodDisruptionBudgets matter."""
        traits = self.traits(pod.template)
        if traits.tolerates_disrupted or traits.is_node_owned or not pod.is_active:
            return False
        value = traits.do_not_disrupt
        return value is None or not value.at(pod.start_ns, self.now_ns).is_active

    def is_reschedulable(self, pod: Pod) -> bool:
        """Return whether the pod comes back elsewhere when its node goes."""
        traits = self.traits(pod.template)
        if traits.is_daemonset_owned or traits.is_node_owned:
            return False
        return pod.is_active or (traits.is_statefulset_owned and pod.is_terminating)

    def is_currently_reschedulable(self, pod: Pod) -> bool:
        """Return whether a place is sought for the pod now: neither do-not-disrupt nor its budgets pin it."""
        return (
            self.is_reschedulable(pod)
            and self.is_disruptable(pod)
            and not (self.is_evictable(pod) and self.limits.is_fully_blocked(pod))
        )

    def is_waited_for(self, pod: Pod) -> bool:
        """Return whether a drain of the pod's node waits for it."""
        traits = self.traits(pod.template)
        if pod.is_terminal or traits.tolerates_disrupted or traits.is_node_owned:
            return False
        return not is_stuck_terminating(pod, self.now_ns)

    def pdb_block(self, pod: Pod) -> PdbBlock | None:
        """Return what PodDisruptionBudgets do against the pod's eviction now, None where nothing."""
        block = self.limits.block(pod)
        return block if block is not None and self.is_evictable(pod) else None

    def disruption_cost(self, pods: Iterable[Pod]) -> float:
        """Return 1 plus the positive eviction costs of the pods, which should be the reschedulable ones."""
        cost = 1.0
        for pod in pods:
            cost += positive_cost(self.traits(pod.template).eviction_cost)
        return cost
