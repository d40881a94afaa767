"""Nodes to which kube-scheduler binds pods: its filters, and its default scores approximately.

Scores include NodeResourcesFit (LeastAllocated), NodeResourcesBalancedAllocation, TaintToleration, NodeAffinity and
PodTopologySpread with the default constraints, but not images and preferred pod affinity. Scores are integers, as in
kube-scheduler. Rules: the default plugins and weights of
https://kubernetes.io/docs/reference/scheduling/config/ and ``pkg/scheduler/framework/plugins`` of Kubernetes 1.36.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from karptui.karpenter.labels import HOSTNAME, ZONE
from karptui.karpenter.requirements import Requirements
from karptui.kube.objects import controller_of
from karptui.kube.pod import SCHEDULE_ANYWAY, SCHEDULING_GATED, Pod, PodTemplate, TopologySpreadConstraint
from karptui.kube.resources import CPU, MEMORY
from karptui.kube.taints import PREFER_NO_SCHEDULE, Taint, forbidding, untolerated
from karptui.provisioning.destination import Destination, DestinationKind
from karptui.provisioning.pod_class import PodClass, Stage
from karptui.provisioning.prepared import Prepared, Variant
from karptui.provisioning.requirement_set import RequirementSet
from karptui.provisioning.run import Run
from karptui.provisioning.stage_memory import StageMemory
from karptui.provisioning.state_node import StateNode
from karptui.provisioning.waiting_pods import QueuedPod

KUBE_SCHEDULER_NAMES: Final = frozenset({"", "default-scheduler"})
"""Values of ``schedulerName`` that mean kube-scheduler."""
FARGATE_SCHEDULER: Final = "fargate-scheduler"
"""Scheduler in the control plane of EKS, which starts each pod on a Fargate node of its own."""
_FULL: Final = 100
_FEW: Final = 100
_MOST_SCORES: Final = 64
"""Maximum number of cached scores per node."""
_TAINTS, _AFFINITY, _SPREAD = 3, 2, 2
_DEFAULT_SPREAD: Final = (
    TopologySpreadConstraint(3, HOSTNAME, SCHEDULE_ANYWAY),
    TopologySpreadConstraint(5, ZONE, SCHEDULE_ANYWAY),
)
"""``systemDefaultConstraints``, for pods of a controller without constraints."""
_DEFAULT_REQUESTS: Final = {CPU: 100 * 10**6, MEMORY: 200 * 2**20 * 10**9}
"""Default requests in scores for pods without requests, in nano-units."""


BoundPods = Callable[[str], Iterable[tuple[PodTemplate, Iterable[Pod]]]]


Taker = tuple[Destination, StageMemory, RequirementSet]
"""A node that passes the filters for a pod, cached results, and the node's requirements including the pod."""


def enough(nodes: int) -> int:
    """Return the number of feasible nodes that kube-scheduler seeks before scoring: ``percentageOfNodesToScore``."""
    return nodes if nodes <= _FEW else max(_FEW, nodes * max(50 - nodes // 125, 5) // 100)


def awaits_node(pod: Pod) -> bool:
    """Return whether a scheduler may bind a pod; DaemonSet pods are left out, as their room is reserved."""
    return (
        not pod.node_name
        and pod.is_active
        and pod.scheduled_reason != SCHEDULING_GATED
        and not pod.template.is_daemonset_owned
        and not pod.template.is_node_owned
    )


def is_kube_scheduled(pod: Pod) -> bool:
    """Return whether kube-scheduler, not another scheduler, binds a pod."""
    return pod.template.scheduler_name in KUBE_SCHEDULER_NAMES


def bound_pods(pods: Iterable[Pod]) -> BoundPods:
    """Return a lookup of the bound pods of a namespace, by template."""
    by_namespace: dict[str, dict[PodTemplate, list[Pod]]] = {}
    for pod in pods:
        if pod.node_name:
            by_namespace.setdefault(pod.namespace, {}).setdefault(pod.template, []).append(pod)
    return lambda namespace: by_namespace.get(namespace, {}).items()


class Scheduler:
    """A simulation of kube-scheduler: schedules pods one after the other."""

    def __init__(
        self,
        prepared: Prepared,
        bound: BoundPods,
        *,
        rng: random.Random | None = None,
        first: int = 0,
        excluded: Iterable[str] = (),
        moving: Iterable[Pod] = (),
    ) -> None:
        """Create a scheduler for a cluster.

        Args:
            bound: Returns the bound pods of a namespace, by template.
            rng: Chooses between equal nodes, as kube-scheduler does randomly; None for a fixed choice.
            first: Index of the node at which the search starts.
            moving: Bound pods to be rescheduled, whose current nodes do not count.
        """
        self._bound = bound
        self._prepared = prepared
        self._rng = rng or random.Random(0)  # noqa: S311 - a choice among equals, not a secret
        closed = (state.provider_id for state in prepared.states if state.node is None or state.is_marked_for_deletion)
        variant = Variant(
            excluded=frozenset((*closed, *excluded)), moving={pod.uid: pod for pod in moving}, is_scheduler=True
        )
        self._run = Run(prepared, variant)
        self._stages: dict[PodClass, tuple[Stage, ...]] = {}
        self._spread: dict[PodTemplate, tuple[tuple[TopologySpreadConstraint, Counter[str]], ...]] = {}
        columns = prepared.columns.index
        self._columns = [(name, columns.get(name), need) for name, need in _DEFAULT_REQUESTS.items()]
        self._domains_by_key: dict[str, list[str]] = {}
        self._filled_scores: dict[int, tuple[list[int], dict[tuple[int, ...], int]]] = {}
        """Room and scores of nodes that got pods, by index."""
        self._enough = enough(len(prepared.destinations))
        self.first = first % max(len(prepared.destinations), 1)
        """Index of the node at which the next search starts."""

    @cached_property
    def _labels(self) -> dict[str, Mapping[str, str]]:
        return {state.node.name: state.labels for state in self._prepared.states if state.node is not None}

    @cached_property
    def _unusual(self) -> frozenset[int]:
        """Indexes of the nodes that kube-scheduler may refuse although Karpenter accepts them: see `_is_open`."""
        return frozenset(
            destination.index
            for destination in self._prepared.destinations
            if destination.state.scheduler_taints is not destination.state.taints
            or not destination.state.is_initialized
        )

    @cached_property
    def _soft_taints(self) -> dict[DestinationKind, tuple[Taint, ...]]:
        by_kind = {
            kind: tuple(taint for taint in kind.taints if taint.effect == PREFER_NO_SCHEDULE)
            for kind in self._prepared.destination_index.kinds
        }
        return {kind: taints for kind, taints in by_kind.items() if taints}

    def place(self, pods: Sequence[Pod]) -> dict[str, str]:
        """Return the node of each scheduled pod, by uid, in order of priority, then age, then by chance."""
        nodes_by_uid: dict[str, str] = {}
        drawn = {pod.uid: self._rng.random() for pod in sorted(pods, key=lambda pod: pod.key)}
        for pod in sorted(pods, key=lambda pod: (-pod.template.priority, pod.created_ns, drawn[pod.uid])):
            name = self._place(pod)
            if name is not None:
                nodes_by_uid[pod.uid] = name
        return nodes_by_uid

    def takers(self, pod: Pod) -> Iterator[Taker]:
        """Yield the nodes that pass kube-scheduler's filters for a pod, possibly more than once."""
        queued = self._prepared.queued(pod)
        if not self._prepared.is_bindable(queued):
            return
        owner = queued.owner
        stages = self._stages.get(owner)
        if stages is None:
            stages = self._stages[owner] = self._prepared.classes.required_stages(queued.first)
        check, first = self._run.node_check, self.first
        hosts = self._prepared.volumes.local_hosts(pod) if pod.volumes else None
        for stage in stages:
            memory = self._run.stage_memory(stage, queued)
            for destination, labels in check.takers(queued, memory, first):
                is_open = destination.index not in self._unusual or _is_open(destination.state, pod.template)
                if is_open and (hosts is None or destination.hostname in hosts):
                    yield destination, memory, labels

    def add(self, pod: Pod, taker: Taker) -> None:
        """Schedule a pod to a node that passed the filters."""
        destination, memory, labels = taker
        self._run.node_check.add(self._prepared.queued(pod), memory, destination, labels)
        for constraint, counts in self._spread.get(pod.template, ()):
            counts[destination.state.labels.get(constraint.topology_key, "")] += 1

    def place_on(self, pod: Pod, node_name: str) -> None:
        """Schedule a pod to a node if the node passes the filters."""
        taker = next((taker for taker in self.takers(pod) if taker[0].state.name == node_name), None)
        if taker is not None:
            self.add(pod, taker)

    def room(self, destination: Destination) -> Sequence[int]:
        """Return a node's remaining amounts, by column."""
        filled = self._run.node_check.filled.get(destination.index)
        return destination.room if filled is None else filled.room

    def _place(self, pod: Pod) -> str | None:
        takers: dict[int, Taker] = {}
        for taker in self.takers(pod):
            index = taker[0].index
            takers.setdefault(index, taker)
            if len(takers) == self._enough:
                self.first = (index + 1) % len(self._prepared.destinations)
                break
        if not takers:
            return None
        best = self._best(self._prepared.queued(pod), [destination for destination, _, _ in takers.values()])
        self.add(pod, takers[best.index])
        return best.state.name

    def _best(self, queued: QueuedPod, nodes: list[Destination]) -> Destination:
        if len(nodes) == 1:
            return nodes[0]
        template = queued.pod.template
        scores = self._room_scores(queued.owner.row, nodes)
        repelling = [self._repelling(node.kind, template) for node in nodes] if self._soft_taints else ()
        if any(repelling):
            _add(scores, [_FULL - score for score in _scaled(repelling)], _TAINTS)
        if template.preferred_node_terms:
            _add(scores, _scaled([_attracting(node, template) for node in nodes]), _AFFINITY)
        _add(scores, _inverted(self._crowding(queued.pod, nodes)), _SPREAD)
        greatest = max(scores)
        equals = [node for node, score in zip(nodes, scores, strict=True) if score == greatest]
        return equals[0] if len(equals) == 1 else self._rng.choice(equals)

    def _room_scores(self, row: tuple[int, ...], nodes: Iterable[Destination]) -> list[int]:
        """Return the resource scores of nodes for a pod, cached until the node changes."""
        filled = self._run.node_check.filled
        filled_scores = self._filled_scores
        scores = []
        for node in nodes:
            index = node.index
            if index in filled:
                room = filled[index].room
                cached = filled_scores.get(index)
                if cached is None or cached[0] is not room:
                    cached = filled_scores[index] = (room, {})
                score_by_row = cached[1]
            else:
                room, score_by_row = node.room, node.scores
            score = score_by_row.get(row)
            if score is None:
                if len(score_by_row) >= _MOST_SCORES:
                    score_by_row.clear()
                score = score_by_row[row] = self._resources(row, node, room)
            scores.append(score)
        return scores

    def _resources(self, row: tuple[int, ...], node: Destination, room: Sequence[int]) -> int:
        """Return the scores for remaining room, and for the change in balance of cpu and memory."""
        whole_of = node.state.allocatable_nano
        free, before, after = [], [], []
        for name, column, default in self._columns:
            whole = whole_of.get(name, 0)
            if whole <= 0:
                continue
            need, left = (row[column], room[column]) if column is not None else (0, whole)
            free.append(max(left - (need or default), 0) * _FULL // whole)
            before.append(min((whole - left) / whole, 1.0))
            after.append(min((whole - left + need) / whole, 1.0))
        if not free:
            return 0
        # A pod without requests does not change the balance.
        is_weighed = any(row[column] for _, column, _ in self._columns if column is not None)
        change = _balance(after) - _balance(before)
        return sum(free) // len(free) + (_FULL // 2 + (_FULL // 2 + change) // 2 if is_weighed else 0)

    def _repelling(self, kind: DestinationKind, template: PodTemplate) -> int:
        return sum(1 for taint in self._soft_taints.get(kind, ()) if untolerated((taint,), template.tolerations))

    def _crowding(self, pod: Pod, nodes: Sequence[Destination]) -> list[int]:
        """Return for each node the number of similar pods in its domains, by soft constraints."""
        counted = self._spread.get(pod.template)
        if counted is None:
            counted = self._spread[pod.template] = self._count(pod)
        total = [0.0] * len(nodes)
        for constraint, counts in counted:
            all_domains = self._domains(constraint.topology_key)
            domains = [all_domains[node.index] for node in nodes]
            weight = math.log(len(set(domains)) + 2)
            count_of = counts.get  # counts[domain] is slow for domains without such pods, which are most
            for i, domain in enumerate(domains):
                total[i] += count_of(domain, 0) * weight + constraint.max_skew - 1
        return [math.floor(score + 0.5) for score in total]

    def _domains(self, key: str) -> list[str]:
        domains = self._domains_by_key.get(key)
        if domains is None:
            domains = [node.state.labels.get(key, "") for node in self._prepared.destinations]
            self._domains_by_key[key] = domains
        return domains

    def _count(self, pod: Pod) -> tuple[tuple[TopologySpreadConstraint, Counter[str]], ...]:
        template = pod.template
        constraints = tuple(
            constraint for constraint in template.topology_spread if constraint.when_unsatisfiable == SCHEDULE_ANYWAY
        )
        owner = controller_of(template.owners)
        if not template.topology_spread and owner is not None:
            constraints = _DEFAULT_SPREAD
        counted_by_constraint = tuple((constraint, Counter[str]()) for constraint in constraints)
        if not counted_by_constraint:
            return ()
        for other, bound in self._bound(template.namespace):
            is_sibling = _has_same_owner(other, template)
            relevant = [pair for pair in counted_by_constraint if is_sibling or pair[0].label_selector is not None]
            active = [pod for pod in bound if pod.is_active] if relevant else []
            for constraint, counts in relevant:
                selector = constraint.label_selector
                selected = active if selector is None else [pod for pod in active if selector.matches(pod.labels)]
                for name, number in Counter([pod.node_name for pod in selected]).items():
                    if name in self._labels:
                        counts[self._labels[name].get(constraint.topology_key, "")] += number
        return counted_by_constraint


def _is_open(state: StateNode, template: PodTemplate) -> bool:
    """Return whether kube-scheduler may use a node that Karpenter accepts.

    Karpenter looks ahead: it ignores startup taints, and counts resources that the NodeClaim promises before the
    kubelet reports them.
    """
    taints = state.scheduler_taints
    if taints is not state.taints and forbidding(taints, template.tolerations):
        return False
    if state.is_initialized or state.node is None:
        return True
    reported = state.node.allocatable
    return all(name in reported and reported[name].nano for name, amount in template.requests.items() if amount.nano)


def _has_same_owner(left: PodTemplate, right: PodTemplate) -> bool:
    mine, theirs = controller_of(left.owners), controller_of(right.owners)
    return mine is not None and theirs is not None and (mine.kind, mine.name) == (theirs.kind, theirs.name)


def _balance(shares: Sequence[float]) -> int:
    return int((1 - (max(shares) - min(shares)) / 2) * _FULL)


def _attracting(node: Destination, template: PodTemplate) -> int:
    labels = Requirements.from_labels(node.state.labels)
    return sum(
        term.weight
        for term in template.preferred_node_terms
        if labels.compatible(Requirements.from_selectors(term.preference.match_expressions))
    )


def _scaled(values: Sequence[int]) -> list[int]:
    greatest = max(values)
    return [_FULL * value // greatest for value in values] if greatest > 0 else [0] * len(values)


def _inverted(values: Sequence[int]) -> list[int]:
    """Return inverted scores: the lowest value scores highest."""
    least, greatest = min(values), max(values)
    return (
        [_FULL * (greatest + least - value) // greatest for value in values] if greatest > 0 else [_FULL] * len(values)
    )


def _add(scores: list[int], more: Sequence[int], weight: int) -> None:
    for i, score in enumerate(more):
        scores[i] += weight * score
