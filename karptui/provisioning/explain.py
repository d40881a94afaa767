"""Explains where a pod is scheduled or why it is not: the first gate that it failed, per NodePool.

Results are data; Karpenter's messages come from the `Rejection`. They describe the state at the end of the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from itertools import combinations
from typing import Final

import msgspec

from karptui.karpenter.labels import HOSTNAME
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.requirements import IN, KeyConflict, Requirement, Requirements
from karptui.kube import resources
from karptui.kube.objects import condition_of
from karptui.kube.pod import Pod
from karptui.kube.resources import ResourceList, Shortage
from karptui.kube.selectors import NodeSelectorTerm
from karptui.kube.taints import forbidding, untolerated
from karptui.kube.units import counted
from karptui.provisioning.catalogue import bits
from karptui.provisioning.claim_check import Fit
from karptui.provisioning.instance_types import may_go_to, refused_text
from karptui.provisioning.limits import LimitState
from karptui.provisioning.node_refusal import NodeRefusal, refusal_of, shortages_of
from karptui.provisioning.pod_class import Preferences, Stage
from karptui.provisioning.pool_order import SkipReason, served_pools, skip_reason
from karptui.provisioning.rejection import (
    LimitReached,
    PlacementGate,
    PodError,
    Rejection,
    RequirementsUnmet,
    TaintsNotTolerated,
    TopologyUnmet,
    TypesExhausted,
    VolumeUnreachable,
    holds_for_all_types,
)
from karptui.provisioning.run import Run
from karptui.provisioning.solution import Solution
from karptui.provisioning.stage_memory import StageMemory
from karptui.provisioning.template import Template, template_requirements
from karptui.provisioning.topology_counts import pool_domains
from karptui.provisioning.topology_spec import TopologyKind
from karptui.provisioning.waiting_pods import QueuedPod

_LARGEST: Final = 1 << 1000
"""The largest amount that is compared: quantities go up to 1e999, and numbers with a fraction do not."""


def skip_text(pool: NodePool, *, is_served: bool, left_out: Mapping[str, bool]) -> str:
    """Return the reason why provisioning skips a NodePool.

    Args:
        is_served: Whether this Karpenter manages it.
        left_out: NodePools without a usable instance type; True if because of ``minValues``.
    """
    if pool.name in left_out:
        no_values = "no set of instance types offers enough values for its minValues"
        return no_values if left_out[pool.name] else "no compatible instance type is available"
    match skip_reason(pool, is_served=is_served):
        case SkipReason.FOREIGN:
            return f"its NodeClass kind {pool.node_class_ref.kind} belongs to another provider"
        case SkipReason.STATIC:
            limit = pool.limit_below_replicas
            limited = f", limited to {counted(limit, 'node')}" if limit is not None else ""
            return f"it is static ({counted(pool.replicas or 0, 'replica')}{limited}) and launches no nodes for pods"
        case SkipReason.DELETING:
            return "it is being deleted"
        case _:
            ready = condition_of(pool.conditions, "Ready")
            return f"it is not ready: {ready.message or ready.reason}" if ready is not None else "it is not ready"


GATES = (
    PlacementGate.LIMITS,
    PlacementGate.TAINTS,
    PlacementGate.REQUIREMENTS,
    PlacementGate.VOLUMES,
    PlacementGate.TOPOLOGY,
    PlacementGate.INSTANCE_TYPES,
    PlacementGate.RESERVATIONS,
)
"""The gates of a NodePool, in order."""


class TypesLeft(msgspec.Struct, frozen=True):
    """Number of instance types left after a filter."""

    after: str
    """``all``, ``on offer``, ``limits``, ``labels``, ``offering``, ``room``."""
    count: int


class LabelCost(msgspec.Struct, frozen=True):
    """A requirement that excludes types, and the number of types that meet it."""

    requirement: str
    meeting: int


class NearestMiss(msgspec.Struct, frozen=True):
    """The compatible and available type with the smallest relative shortage."""

    instance_type: str
    shortages: tuple[Shortage, ...]
    capacity: ResourceList = resources.EMPTY
    unoffered: frozenset[str] = frozenset()
    """Resources that no compatible and available type has."""


class PoolExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a pod for a NodePool."""

    nodepool: str
    weight: int
    position: int
    """Position in the order Karpenter tries NodePools, from 0; -1 if it is skipped."""
    failed: PlacementGate | None = None
    """None if a new claim would fit the pod, or if the NodePool is skipped."""
    rejection: Rejection | None = None
    """Its ``str`` is Karpenter's message."""
    takes_no_part: str = ""
    """Why the NodePool is skipped."""
    is_meant: bool = False
    """Whether a NodePool that is skipped, or whose taints reject the pod, has the labels that it selects.

    Also one that would take the pod if it were ready, or if it had no taints and the pod requests devices.
    """
    has_devices: bool = False
    """Whether the pod requests devices, and a type of the NodePool has all of them."""
    types_left: tuple[TypesLeft, ...] = ()
    label_costs: tuple[LabelCost, ...] = ()
    """Requirements that exclude types, the strictest first."""
    nearest: NearestMiss | None = None
    types_seen: int | None = None
    """Number of types inferred from nodes, if the provider's catalogue is unknown."""
    unseen_labels: tuple[str, ...] = ()
    """Labels required by the NodePool or the pod that no node of the inferred types has."""
    refused: str = ""
    """EC2's reasons for refusing the types that would fit the pod; empty without refusals."""
    default_spread_key: str = ""
    """Topology key of the controller's default spread, if that is what rejects the pod."""
    keeping_away: tuple[str, ...] = ()
    """``namespace/name`` of pods whose anti-affinity rejects the pod, if it has no such rule itself."""
    tainted_pool: tuple[str, str] | None = None
    """A NodePool and its taint, if the pod tolerates no NodePool of the domains that its spread demands next."""
    contradiction: tuple[Requirement, Requirement] | None = None
    """Two requirements of the pod, or of it and its volume, that no node meets together, if they reject it."""
    clash: tuple[str, str] | None = None
    """Two requirements that some types meet each, and none meets together."""

    @property
    def besides_limits(self) -> Rejection | None:
        """The rejection without limits, if the limits reject the pod and there is one."""
        return self.rejection.besides if isinstance(self.rejection, LimitReached) else None

    @property
    def is_certain(self) -> bool:
        """Whether the result does not depend on unknown instance types."""
        if self.types_seen is None or holds_for_all_types(self.rejection):
            return True
        return self.rejection is None and not self.unseen_labels and not self.takes_no_part


class PodExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """Where a pod is scheduled, and why not elsewhere."""

    pod: Pod
    place: str = ""
    """Node, or NodePool of the new claim; empty if unschedulable."""
    is_new_claim: bool = False
    given_up: tuple[str, ...] = ()
    """Preferences that were dropped, in order."""
    pools: tuple[PoolExplanation, ...] = ()
    nodes: tuple[NodeRefusal, ...] = ()
    """Why existing nodes reject it, in the order Karpenter tries them."""


def explain(solution: Solution, pod: Pod, *, asks_nodes: bool = True) -> PodExplanation:
    """Explain a pod of a run.

    Args:
        asks_nodes: Whether to include existing nodes.

    Raises:
        LookupError: The pod is not part of the run.
    """
    run = solution.run
    assert isinstance(run, Run)
    queued = next((queued for queued in run.pods if queued.pod.uid == pod.uid), None)
    if queued is None:
        raise LookupError(f"pod {pod.key} is not part of this run")
    error = solution.errors.get(pod.key)
    placed = run.placed.get(pod.uid)
    stage, host = placed if placed is not None else (_last_stage(run, queued, error), "")
    stage_memory = run.stage_memory(stage, queued)
    claim = next((claim for claim in run.claims if claim.hostname == host), None)
    limits = {limit.template.name: limit for limit in run.limits}
    taken = claim.template.name if claim is not None else ""
    served = {pool.name for pool in served_pools(run.prepared.inventory.nodepools)}
    pools = [
        _explain_pool(run, queued, stage_memory, limits[pool.name], takes_it=pool.name == taken)
        if pool.name in limits
        else _explain_skipped(run, queued.pod, pool, is_served=pool.name in served)
        for pool in run.prepared.inventory.nodepools
    ]
    pools.sort(key=lambda pool: (pool.position < 0, pool.position, pool.nodepool))
    return PodExplanation(
        pod=pod,
        place=taken or host,
        is_new_claim=claim is not None,
        given_up=tuple(_dropped_preferences(run, queued.first, stage)),
        pools=tuple(pools),
        nodes=tuple(
            refusal
            for destination in (run.prepared.destinations if asks_nodes else ())
            if (refusal := refusal_of(run, queued, stage_memory, destination)) is not None
        ),
    )


def _explain_skipped(run: Run, pod: Pod, pool: NodePool, *, is_served: bool) -> PoolExplanation:
    prepared, requirements = run.prepared, template_requirements(pool)
    refused = ""
    if pool.name in prepared.left_out and may_go_to(pod, pool, requirements):
        combined = requirements.merge(Requirements.from_labels(pod.template.node_selector))
        refused = refused_text(prepared.types_by_pool.get(pool.name, ()), combined, pod.requests)
    types_seen = prepared.guessed_pools.get(pool.name)
    is_unseen = types_seen == 0 and pool.name in prepared.left_out
    # Taints reject the pod whatever types there are.
    taints = forbidding(pool.taints, pod.template.tolerations) if is_unseen else []
    return PoolExplanation(
        nodepool=pool.name,
        weight=pool.weight,
        position=-1,
        failed=PlacementGate.TAINTS if taints else None,
        rejection=TaintsNotTolerated(tuple(taints)) if taints else None,
        takes_no_part="" if taints else refused or skip_text(pool, is_served=is_served, left_out=prepared.left_out),
        is_meant=_is_meant(pool, pod, requirements),
        refused=refused,
        types_seen=types_seen,
    )


def _is_meant(pool: NodePool, pod: Pod, requirements: Requirements) -> bool:
    """Return whether a pod is for a skipped NodePool: selects its labels, or fits one that is not ready."""
    if skip_reason(pool) is SkipReason.NOT_READY:
        return may_go_to(pod, pool, requirements)
    return not untolerated(pool.taints, pod.template.tolerations) and _has_selected(pool, pod)


def _has_selected(pool: NodePool, pod: Pod) -> bool:
    """Return whether a pod selects labels, and a NodePool has all of them."""
    selected, labels = pod.template.node_selector, pool.template_labels
    listed = {requirement.key: requirement.values for requirement in pool.requirements if requirement.operator == IN}
    has = (labels.get(key) == value or value in listed.get(key, ()) for key, value in selected.items())
    return bool(selected) and all(has)


def _has_devices(template: Template, pod: Pod) -> bool:
    devices = {name for name in pod.requests if "/" in name}
    amounts = (template.catalogue.allocatable_of(i) for i in bits(template.types if devices else 0))
    return any(all(amount.get(name) for name in devices) for amount in amounts)


def _fits_untainted(run: Run, queued: QueuedPod, stage_memory: StageMemory, limit: LimitState) -> bool:
    """Return whether a NodePool would take a pod if it had no taints."""
    untainted = copy(limit.template)
    untainted.taints = ()
    return isinstance(run.claim_check.judge_new(queued, stage_memory, untainted, limit.types), Fit)


def _last_stage(run: Run, queued: QueuedPod, error: PodError | None) -> Stage:
    """Return the stage whose failure is reported: the most relaxed one, unless the pod is not relaxed."""
    stage = queued.first
    if queued.owner.has_dra or (error is not None and error.is_reserved):
        return stage
    while (relaxed := run.prepared.classes.relaxed(stage)) is not None:
        stage = relaxed
    return stage


def _dropped_preferences(run: Run, stage: Stage, last: Stage) -> list[str]:
    """Return a line for each preference dropped between two stages of a pod."""
    lines = []
    while stage is not last:
        relaxed = run.prepared.classes.relaxed(stage)
        assert relaxed is not None
        lines.append(_dropped(stage.preferences, relaxed.preferences))
        stage = relaxed
    return lines


def _dropped(before: Preferences, after: Preferences) -> str:
    if before.required != after.required:
        left = len(after.required or ())
        return f"first alternative of the required node affinity, {left} left"
    for name, old, new in (
        ("pod affinity", before.preferred_affinity, after.preferred_affinity),
        ("pod anti-affinity", before.preferred_anti_affinity, after.preferred_anti_affinity),
        ("node affinity", before.preferred, after.preferred),
    ):
        if old != new:
            return f"preferred {name} of weight {max(term.weight for term in old)}"
    if before.spread != after.spread:
        gone = next(constraint for constraint in before.spread if constraint.when_unsatisfiable == "ScheduleAnyway")
        return f"topology spread over {gone.topology_key} (ScheduleAnyway)"
    return "avoidance of PreferNoSchedule taints"


def _explain_pool(
    run: Run, queued: QueuedPod, stage_memory: StageMemory, limit: LimitState, *, takes_it: bool
) -> PoolExplanation:
    """Explain a NodePool at the end of a run; the one that got the pod counts as passed."""
    template = limit.template
    outcome: Fit | Rejection | None
    if limit.is_out_of_nodes or not limit.types:
        outcome = run.limit_reached(queued, stage_memory, limit, is_complete=True)
    else:
        outcome = run.claim_check.judge_new(queued, stage_memory, template, limit.types)
    if takes_it and isinstance(outcome, Rejection):
        outcome = None  # its limits or reservations are used up by the pod's own claim
    failed = outcome.gate if isinstance(outcome, Rejection) else None
    has_devices = _has_devices(template, queued.pod)
    nearest = None
    costs: tuple[LabelCost, ...] = ()
    clash: tuple[str, str] | None = None
    besides = outcome.besides if isinstance(outcome, LimitReached) else None
    judged, types = (outcome, limit.types) if besides is None else (besides, template.types)
    if isinstance(judged, TypesExhausted):
        nearest = _nearest(run, queued, template, types, judged)
        costs = _label_costs(template, types, judged)
        clash = None if judged.with_labels else _clash(template, types, judged, queued.pod)
    return PoolExplanation(
        nodepool=template.name,
        weight=template.pool.weight,
        position=template.index,
        failed=failed,
        rejection=outcome if isinstance(outcome, Rejection) else None,
        is_meant=isinstance(outcome, TaintsNotTolerated)
        and (
            _has_selected(template.pool, queued.pod)
            or (has_devices and _fits_untainted(run, queued, stage_memory, limit))
        ),
        has_devices=has_devices,
        types_left=_types_left(template, limit, outcome),
        label_costs=costs,
        clash=clash,
        nearest=nearest,
        types_seen=run.prepared.guessed_pools.get(template.name),
        unseen_labels=_unseen_labels(template, queued.pod),
        refused=_refused(run, template, judged),
        default_spread_key=_default_spread_key(run, queued.pod, outcome),
        keeping_away=_keeping_away(run, queued, outcome),
        tainted_pool=_tainted_pool(run, queued.pod, outcome),
        contradiction=_contradiction(queued.pod, outcome) if isinstance(outcome, RequirementsUnmet) else None,
    )


def _refused(run: Run, template: Template, outcome: Fit | Rejection | None) -> str:
    if not isinstance(outcome, TypesExhausted) or outcome.unmet_min_values:
        return ""
    types = run.prepared.types_by_pool.get(template.name, ())
    return refused_text(types, outcome.requirements, outcome.pod_requests)


def _default_spread_key(run: Run, pod: Pod, outcome: Fit | Rejection | None) -> str:
    """Return the topology key of the default spread constraint that rejects the pod, if one does."""
    if run.prepared.default_spread is None or pod.template.topology_spread or not isinstance(outcome, TopologyUnmet):
        return ""
    return outcome.key if outcome.kind == TopologyKind.SPREAD else ""


def _keeping_away(run: Run, queued: QueuedPod, outcome: Fit | Rejection | None) -> tuple[str, ...]:
    if not isinstance(outcome, TopologyUnmet) or outcome.kind != TopologyKind.ANTI_AFFINITY:
        return ()
    return tuple(sorted(pod.key for pod in run.prepared.keeping_away(queued.owner, outcome.key)))


def _tainted_pool(run: Run, pod: Pod, outcome: Fit | Rejection | None) -> tuple[str, str] | None:
    """Return a NodePool and its taint if a pod tolerates no NodePool of the domains that its spread demands next."""
    if not isinstance(outcome, TopologyUnmet) or outcome.kind != TopologyKind.SPREAD or outcome.key == HOSTNAME:
        return None
    reaching = [
        (template.name, untolerated(template.taints, pod.template.tolerations))
        for template in run.templates
        if {*outcome.next_domains} & {*pool_domains(outcome.key, template.requirements.value, template.catalogue)}
    ]
    if not reaching or not all(taints for _, taints in reaching):
        return None
    name, taints = reaching[0]
    return name, str(taints[0])


def _contradiction(pod: Pod, outcome: RequirementsUnmet) -> tuple[Requirement, Requirement] | None:
    """Return two requirements of a pod, or of it and its volumes, on one label that no node meets together."""
    selected = [Requirement.of(key, IN, (value,)) for key, value in pod.template.node_selector.items()]
    conflicts = [reason for reason in outcome.reasons if isinstance(reason, KeyConflict)]
    of_volumes = [conflict.incoming for conflict in conflicts if isinstance(outcome, VolumeUnreachable)]
    clash: tuple[Requirement, Requirement] | None = None
    for term in pod.template.required_node_terms or (NodeSelectorTerm(),):
        all_requirements = [*selected, *Requirements.from_selectors(term.match_expressions), *of_volumes]
        pairs = ((a, b) for a, b in combinations(all_requirements, 2) if a.key == b.key and not a.has_intersection(b))
        clash = next(pairs, None)
        if clash is None:
            return None
    return clash


def _unseen_labels(template: Template, pod: Pod) -> tuple[str, ...]:
    keys = {term.key for term in template.pool.requirements} | pod.template.node_selector.keys()
    return tuple(sorted(keys & frozenset().union(*(type_.unknown_keys for type_ in template.catalogue.types))))


def _types_left(template: Template, limit: LimitState, outcome: Fit | Rejection | None) -> tuple[TypesLeft, ...]:
    types = [TypesLeft("all", len(template.catalogue)), TypesLeft("on offer", template.types.bit_count())]
    if outcome is None:
        return tuple(types)
    types.append(TypesLeft("limits", limit.types.bit_count()))
    if isinstance(outcome, Fit):
        types.append(TypesLeft("room", outcome.types.bit_count()))
    elif isinstance(outcome, TypesExhausted):
        types.append(TypesLeft("labels", outcome.with_labels))
        types.append(TypesLeft("offering", outcome.with_labels_and_offering))
        types.append(TypesLeft("room", 0 if not outcome.unmet_min_values else outcome.with_room))
    return tuple(types)


def _label_costs(template: Template, types: int, outcome: TypesExhausted) -> tuple[LabelCost, ...]:
    catalogue = template.catalogue
    costs = []
    for requirement in outcome.requirements:
        meeting = (catalogue.meeting(requirement) & types).bit_count()
        if meeting < types.bit_count():
            costs.append(LabelCost(str(requirement), meeting))
    return tuple(sorted(costs, key=lambda cost: (cost.meeting, cost.requirement)))


def _clash(template: Template, types: int, outcome: TypesExhausted, pod: Pod) -> tuple[str, str] | None:
    """Return two requirements that no type meets together, if types meet each; the pod's own first."""
    meeting = {requirement: template.catalogue.meeting(requirement) & types for requirement in outcome.requirements}
    ordered = sorted(
        meeting, key=lambda requirement: (requirement.key not in pod.template.node_selector, requirement.key)
    )
    pairs = ((a, b) for a, b in combinations(ordered, 2) if meeting[a] and meeting[b] and not meeting[a] & meeting[b])
    clash = next(pairs, None)
    return (str(clash[0]), str(clash[1])) if clash is not None else None


def _nearest(
    run: Run, queued: QueuedPod, template: Template, types: int, outcome: TypesExhausted
) -> NearestMiss | None:
    """Return the type that has labels and an offering and lacks the least, measured by its scarcest resource."""
    labels = run.prepared.interner.of(outcome.requirements)
    left = labels.filter_of(template.catalogue)
    types &= left.types & template.catalogue.types_of_rows(left.offering_rows)
    best: tuple[float, int, list[int], list[int]] | None = None
    names = run.prepared.columns.names
    for group in template.groups:
        need = [a + b for a, b in zip(queued.owner.row, group.row, strict=True)]
        for i in bits(group.types & types):
            allocatable = template.catalogue.allocatable_of(i)
            room = [allocatable.get(name, 0) for name in names]
            worst = max((min(a, _LARGEST) / max(b, 1) for a, b in zip(need, room, strict=True) if a > b), default=None)
            if worst is not None and (best is None or worst < best[0]):
                best = worst, i, need, room
    if best is None:
        return None
    instance_type, short = template.catalogue.types[best[1]], shortages_of(names, best[2], best[3])
    offered = {name for i in bits(types) for name, amount in template.catalogue.allocatable_of(i).items() if amount}
    unoffered = frozenset(shortage.resource for shortage in short) - offered
    return NearestMiss(instance_type.name, short, instance_type.capacity, unoffered)
