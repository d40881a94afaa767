"""Karpenter's predicates about pods: pending, disruptable, evictable, reschedulable; and eviction costs.

Results that all pods of a template share are cached. Rules: ``pkg/utils/pod/scheduling.go``, ``pkg/utils/pdb/pdb.go``
and ``pkg/utils/disruption/disruption.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Final

import msgspec

from karptui.karpenter.do_not_disrupt import UNPROTECTED, DoNotDisruptValue, Protection, value_of
from karptui.karpenter.labels import DISRUPTED_TAINT, DISRUPTION_COST, POD_DELETION_COST
from karptui.karpenter.pdb_limits import PdbBlock, PdbLimits
from karptui.karpenter.requirements import parse_integer
from karptui.karpenter.settings import DEFAULTS, Settings
from karptui.kube.pod import Pod, PodTemplate
from karptui.kube.quantity import parse_float
from karptui.kube.taints import untolerated
from karptui.kube.timestamps import MINUTE_NS
from karptui.kube.workload import PodDisruptionBudget

STUCK_AFTER_NS: Final = MINUTE_NS
"""Time after the deletionTimestamp (which includes the grace period) when a drain stops waiting for a pod."""
CRITICAL_CLASSES: Final = frozenset({"system-cluster-critical", "system-node-critical"})
MAX_EVICTION_COST: Final = 10.0
_PRIORITY_SCALE: Final = float(1 << 25)
_DELETION_COST_SCALE: Final = float(1 << 27)


def tolerates_disrupted(template: PodTemplate) -> bool:
    """Return whether the pods tolerate Karpenter's disrupted taint, also by a keyless ``Exists``."""
    return not untolerated((DISRUPTED_TAINT,), template.tolerations)


def is_critical(template: PodTemplate) -> bool:
    """Return whether the pods are drained last: those of the two system priority classes, by name."""
    return template.priority_class_name in CRITICAL_CLASSES


def is_stuck_terminating(pod: Pod, now_ns: int) -> bool:
    """Return whether a terminating pod is more than a minute past its deletionTimestamp."""
    return pod.is_terminating and now_ns - pod.deletion_ns > STUCK_AFTER_NS


def eviction_cost(template: PodTemplate, settings: Settings = DEFAULTS) -> float:
    """Return a pod's eviction cost, from -10 to 10; 1 for an ordinary pod (``EvictionCost``)."""
    cost = 1.0
    read = _deletion_cost if settings.rules.has_whole_costs else _number_cost
    if (deletion_cost := read(template.annotations, settings)) is not None:
        cost += deletion_cost / _DELETION_COST_SCALE
    cost += template.priority / _PRIORITY_SCALE
    # These comparisons keep NaN, as Go's do.
    if cost < -MAX_EVICTION_COST:
        return -MAX_EVICTION_COST
    return min(cost, MAX_EVICTION_COST)


def is_managing_costs(settings: Settings) -> bool:
    """Return whether Karpenter sets pod deletion costs itself, and ignores existing ones."""
    return settings.rules.manages_costs and settings.gate("PodDeletionCostManagement")


def _number_cost(annotations: Mapping[str, str], _: Settings) -> float | None:
    written = annotations.get(POD_DELETION_COST)
    return None if written is None else parse_float(written)


def _deletion_cost(annotations: Mapping[str, str], settings: Settings) -> float | None:
    written = annotations.get(DISRUPTION_COST)
    if written is None and not is_managing_costs(settings):
        written = annotations.get(POD_DELETION_COST)
    cost = parse_integer(written) if written is not None else None
    return float(cost) if cost is not None and -(1 << 31) <= cost < 1 << 31 else None


def unread_cost(template: PodTemplate, settings: Settings) -> str:
    """Return the pod deletion cost that Karpenter ignores, empty if it is read or absent.

    Only 32-bit integers are read, and nothing while Karpenter sets these costs itself (negative numbers).
    """
    written = template.annotations.get(POD_DELETION_COST, "")
    if not written or (is_managing_costs(settings) and (parse_integer(written) or 0) < 0):
        return ""
    return written if _deletion_cost({POD_DELETION_COST: written}, settings) is None else ""


def positive_cost(cost: float) -> float:
    """Return the cost if positive, else zero; NaN stays NaN."""
    return 0.0 if cost <= 0 else cost


class TemplateTraits(msgspec.Struct, frozen=True, gc=False):
    """Results of the predicates that depend only on the pod template."""

    is_daemonset_owned: bool
    is_statefulset_owned: bool
    is_node_owned: bool
    tolerates_disrupted: bool
    is_critical: bool
    do_not_disrupt: DoNotDisruptValue | None
    eviction_cost: float


def traits_of(template: PodTemplate, settings: Settings) -> TemplateTraits:
    """Return the traits of a template."""
    return TemplateTraits(
        is_daemonset_owned=template.is_daemonset_owned,
        is_statefulset_owned=template.is_statefulset_owned,
        is_node_owned=template.is_node_owned,
        tolerates_disrupted=tolerates_disrupted(template),
        is_critical=is_critical(template),
        do_not_disrupt=value_of(template.annotations),
        eviction_cost=eviction_cost(template, settings),
    )


class PodPredicates:
    """Predicates about pods at a given time."""

    def __init__(self, pdbs: Iterable[PodDisruptionBudget], now_ns: int, settings: Settings = DEFAULTS) -> None:
        self._settings = settings
        self.now_ns = now_ns
        self.limits = PdbLimits(pdbs)
        self._traits: dict[PodTemplate, TemplateTraits] = {}
        self._may_hold: dict[PodTemplate, bool] = {}

    def later(self, pdbs: Sequence[PodDisruptionBudget], now_ns: int) -> PodPredicates:
        """Return predicates for a later time; only the status of PodDisruptionBudgets may differ."""
        predicates = copy(self)
        predicates.now_ns = now_ns
        predicates.limits = self.limits.later(pdbs)
        return predicates

    def traits(self, template: PodTemplate) -> TemplateTraits:
        """Return the cached traits of a template."""
        traits = self._traits.get(template)
        if traits is None:
            traits = self._traits[template] = traits_of(template, self._settings)
        return traits

    def may_hold(self, pod: Pod) -> bool:
        """Return whether do-not-disrupt or PodDisruptionBudgets may make the pod block its node; rarely True."""
        may_hold = None if pod.own_labels else self._may_hold.get(pod.template)
        if may_hold is None:
            may_hold = self.traits(pod.template).do_not_disrupt is not None or bool(self.limits.matching(pod))
            if not pod.own_labels:
                self._may_hold[pod.template] = may_hold
        return may_hold

    def protection(self, pod: Pod) -> Protection:
        """Return the do-not-disrupt protection now, regardless of the pod's phase."""
        value = self.traits(pod.template).do_not_disrupt
        return UNPROTECTED if value is None else value.at(pod.start_ns, self.now_ns)

    def is_disruptable(self, pod: Pod) -> bool:
        """Return whether do-not-disrupt does not protect the pod; DaemonSet and static pods count as well."""
        value = self.traits(pod.template).do_not_disrupt
        return value is None or not pod.is_active or not value.at(pod.start_ns, self.now_ns).is_active

    def is_evictable(self, pod: Pod) -> bool:
        """Return whether Karpenter would evict the pod; PodDisruptionBudgets matter only then."""
        return self._is_evicted(pod) and self.is_disruptable(pod)

    def _is_evicted(self, pod: Pod) -> bool:
        traits = self.traits(pod.template)
        return not traits.tolerates_disrupted and not traits.is_node_owned and pod.is_active

    def is_reschedulable(self, pod: Pod) -> bool:
        """Return whether the pod must be rescheduled when its node is removed."""
        return _comes_back(pod, self.traits(pod.template))

    def is_currently_reschedulable(self, pod: Pod) -> bool:
        """Return whether a simulated removal must place the pod: neither do-not-disrupt nor its budgets block it."""
        return (
            self.is_reschedulable(pod)
            and self.is_disruptable(pod)
            and not (self.is_evictable(pod) and self.limits.is_fully_blocked(pod))
        )

    def is_waited_for(self, pod: Pod) -> bool:
        """Return whether draining the pod's node waits for the pod."""
        traits = self.traits(pod.template)
        if pod.is_terminal or traits.tolerates_disrupted or traits.is_node_owned:
            return False
        return not is_stuck_terminating(pod, self.now_ns)

    def pdb_block(self, pod: Pod) -> PdbBlock | None:
        """Return the PodDisruptionBudgets that block the pod's eviction now, or None."""
        block = self.limits.block(pod)
        return block if block is not None and self.is_evictable(pod) else None

    def later_pdb_block(self, pod: Pod) -> PdbBlock | None:
        """Return the PodDisruptionBudgets that block the pod's eviction, ignoring do-not-disrupt, or None."""
        block = self.limits.block(pod)
        return block if block is not None and self._is_evicted(pod) else None

    def disruption_cost(self, pods: Iterable[Pod]) -> float:
        """Return 1 plus the positive eviction costs of reschedulable pods."""
        cost = 1.0
        for pod in pods:
            cost += positive_cost(self.traits(pod.template).eviction_cost)
        return cost


UNSCHEDULABLE: Final = "Unschedulable"


def is_provisionable(pod: Pod) -> bool:
    """Return whether Karpenter launches nodes for a pod: unschedulable, not bound, not nominated, no DaemonSet pod."""
    template = pod.template
    return (
        pod.scheduled_reason == UNSCHEDULABLE
        and not pod.node_name
        and not pod.nominated_node_name
        and not template.is_daemonset_owned
        and not template.is_node_owned
    )


def is_reschedulable(pod: Pod) -> bool:
    """Return whether a pod is rescheduled after eviction: active, or a StatefulSet's; no DaemonSet or mirror pod."""
    return _comes_back(pod, pod.template)


def _comes_back(pod: Pod, of: PodTemplate | TemplateTraits) -> bool:
    return (
        (pod.is_active or (of.is_statefulset_owned and pod.is_terminating))
        and not of.is_daemonset_owned
        and not of.is_node_owned
    )
