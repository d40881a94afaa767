"""Where kube-scheduler puts pods: its filters, and its default scores, approximated.

Scored are NodeResourcesFit (LeastAllocated), NodeResourcesBalancedAllocation, TaintToleration, NodeAffinity and
PodTopologySpread with the constraints that a pod has by default; images and preferred pod affinity are not.
Rules: the default plugins and weights of https://kubernetes.io/docs/reference/scheduling/config/ and
``pkg/scheduler/framework/plugins`` of Kubernetes.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from karptui.karpenter.labels import HOSTNAME, ZONE
from karptui.karpenter.requirements import Requirements
from karptui.kube.objects import controller_of
from karptui.kube.pod import SCHEDULE_ANYWAY, Pod, PodTemplate, TopologySpreadConstraint
from karptui.kube.resources import CPU, MEMORY
from karptui.kube.selectors import LabelSelector
from karptui.kube.taints import PREFER_NO_SCHEDULE, untolerated
from karptui.provisioning.destination import Destination
from karptui.provisioning.order import QueuedPod
from karptui.provisioning.pod_class import PodClass, Stage
from karptui.provisioning.prepared import Prepared, Variant
from karptui.provisioning.requirement_set import RequirementSet
from karptui.provisioning.run import Run
from karptui.provisioning.stage_memory import StageMemory

_FULL: Final = 100.0
_TAINTS, _AFFINITY, _SPREAD = 3.0, 2.0, 2.0
_DEFAULT_SPREAD: Final = (
    TopologySpreadConstraint(3, HOSTNAME, SCHEDULE_ANYWAY),
    TopologySpreadConstraint(5, ZONE, SCHEDULE_ANYWAY),
)
"""``systemDefaultConstraints``: of pods without constraints that a controller owns."""
_DEFAULT_REQUESTS: Final = {CPU: 100 * 10**6, MEMORY: 200 * 2**20 * 10**9}
"""What a pod that asks for nothing counts as in scores, in nano-units."""


class Scheduler:
    """One look of kube-scheduler at a cluster: pods in turn, each seeing those before it."""

    def __init__(self, prepared: Prepared, closed: Iterable[str], rng: random.Random) -> None:
        """Look at a cluster.

        Args:
            prepared: The cluster.
            closed: Provider ids of nodes that take no pods yet, or no more.
            rng: Decides between equals, as kube-scheduler does.
        """
        self._prepared = prepared
        self._rng = rng
        self._run = Run(prepared, Variant(excluded=frozenset(closed), is_scheduler=True))
        self._stages: dict[PodClass, tuple[Stage, ...]] = {}
        self._spread: dict[PodTemplate, tuple[tuple[TopologySpreadConstraint, Counter[str]], ...]] = {}
        columns = prepared.columns.index
        self._columns = {name: columns.get(name) for name in (CPU, MEMORY)}

    def place(self, pods: Sequence[Pod]) -> dict[str, str]:
        """Return the node of each pod that finds one, by uid: by priority, then the oldest first."""
        found: dict[str, str] = {}
        for pod in sorted(pods, key=lambda one: (-one.template.priority, one.created_ns, one.key)):
            name = self._place(pod)
            if name is not None:
                found[pod.uid] = name
        return found

    def _place(self, pod: Pod) -> str | None:
        queued = self._prepared.queued(pod)
        owner = queued.owner
        if owner.attachments is None or owner.has_dra:
            return None
        stages = self._stages.get(owner)
        if stages is None:
            stages = self._stages[owner] = self._prepared.classes.required_stages(queued.first)
        check = self._run.node_check
        takers: dict[int, tuple[Destination, StageMemory, RequirementSet]] = {}
        for stage in stages:
            memory = self._run.stage_memory(stage, queued)
            for destination, labels in check.takers(queued, memory):
                takers.setdefault(destination.index, (destination, memory, labels))
        if not takers:
            return None
        best = self._best(queued, [destination for destination, _, _ in takers.values()])
        destination, memory, labels = takers[best.index]
        check.add(queued, memory, destination, labels)
        for constraint, counts in self._spread.get(pod.template, ()):
            counts[best.state.labels.get(constraint.topology_key, "")] += 1
        return destination.state.name

    def _best(self, queued: QueuedPod, nodes: list[Destination]) -> Destination:
        if len(nodes) == 1:
            return nodes[0]
        template = queued.pod.template
        scores = [self._resources(queued, one) for one in nodes]
        _add(scores, _inverted([_repelling(one, template) for one in nodes]), _TAINTS)
        _add(scores, _scaled([_attracting(one, template) for one in nodes]), _AFFINITY)
        _add(scores, _inverted(self._crowding(queued.pod, nodes)), _SPREAD)
        greatest = max(scores)
        equals = [one for one, score in zip(nodes, scores, strict=True) if score > greatest - 1e-9]
        return equals[0] if len(equals) == 1 else self._rng.choice(equals)

    def _resources(self, queued: QueuedPod, node: Destination) -> float:
        """Return the scores for room and for cpu and memory in balance, both with the pod on the node."""
        filled = self._run.node_check.filled.get(node.index)
        room = node.room if filled is None else filled.room
        shares = []
        for name, column in self._columns.items():
            whole = node.state.allocatable_nano.get(name, 0)
            if whole <= 0:
                continue
            need = _DEFAULT_REQUESTS[name]
            left = whole
            if column is not None:
                need, left = queued.owner.row[column] or need, room[column]
            shares.append(min(max((whole - left + need) / whole, 0.0), 1.0))
        if not shares:
            return 0.0
        free = sum(1 - share for share in shares) / len(shares)
        return _FULL * free + _FULL * (1 - (max(shares) - min(shares)) / 2)

    def _crowding(self, pod: Pod, nodes: Sequence[Destination]) -> list[float]:
        """Return for each node how many of the pod's like its soft constraints find in the same domains."""
        counted = self._spread.get(pod.template)
        if counted is None:
            counted = self._spread[pod.template] = self._count(pod)
        total = [0.0] * len(nodes)
        for constraint, counts in counted:
            domains = [node.state.labels.get(constraint.topology_key, "") for node in nodes]
            weight = math.log(len(set(domains)) + 2)
            for i, domain in enumerate(domains):
                total[i] += counts[domain] * weight + constraint.max_skew - 1
        return total

    def _count(self, pod: Pod) -> tuple[tuple[TopologySpreadConstraint, Counter[str]], ...]:
        template = pod.template
        constraints = tuple(one for one in template.topology_spread if one.when_unsatisfiable == SCHEDULE_ANYWAY)
        owner = controller_of(template.owners)
        if not template.topology_spread and owner is not None:
            constraints = _DEFAULT_SPREAD
        found = tuple((constraint, Counter[str]()) for constraint in constraints)
        if not found:
            return ()
        for state in self._prepared.states:
            for one in state.pods:
                if one.template.namespace != template.namespace or one.is_terminating:
                    continue
                for constraint, counts in found:
                    if _is_counted(constraint.label_selector, one, pod):
                        counts[state.labels.get(constraint.topology_key, "")] += 1
        return found


def _is_counted(selector: LabelSelector | None, one: Pod, pod: Pod) -> bool:
    if selector is not None:
        return selector.matches(one.labels)
    mine, its = controller_of(pod.template.owners), controller_of(one.template.owners)
    return mine is not None and its is not None and (mine.kind, mine.name) == (its.kind, its.name)


def _repelling(node: Destination, template: PodTemplate) -> float:
    soft = tuple(taint for taint in node.state.taints if taint.effect == PREFER_NO_SCHEDULE)
    return float(sum(1 for taint in soft if untolerated((taint,), template.tolerations)))


def _attracting(node: Destination, template: PodTemplate) -> float:
    if not template.preferred_node_terms:
        return 0.0
    labels = Requirements.from_labels(node.state.labels)
    return float(
        sum(
            term.weight
            for term in template.preferred_node_terms
            if labels.compatible(Requirements.from_selectors(term.preference.match_expressions))
        )
    )


def _scaled(values: Sequence[float]) -> list[float]:
    greatest = max(values)
    return [_FULL * value / greatest for value in values] if greatest > 0 else [0.0] * len(values)


def _inverted(values: Sequence[float]) -> list[float]:
    """Return scores of which the least value has the greatest."""
    least, greatest = min(values), max(values)
    return (
        [_FULL * (greatest + least - value) / greatest for value in values] if greatest > 0 else [_FULL] * len(values)
    )


def _add(scores: list[float], more: Sequence[float], weight: float) -> None:
    for i, score in enumerate(more):
        scores[i] += weight * score
