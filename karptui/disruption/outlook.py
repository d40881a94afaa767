"""Whether Karpenter would remove a node now or without some of its blockers, simulated one node at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import Final

import msgspec

from karptui.disruption import consolidation, emptiness, static_drift
from karptui.disruption.balanced import THRESHOLD, BalancedPolicy, pool_totals
from karptui.disruption.blockers import methods_for
from karptui.disruption.candidate import Candidate, find_candidates
from karptui.disruption.codes import Blocker, Code
from karptui.disruption.command import Command, Decision, Method, TerminateFirst
from karptui.disruption.consolidation import SPOT_TO_SPOT_GATE, Consolidator, Refusal, RefusalCode
from karptui.disruption.drift import DRIFTED
from karptui.disruption.emptiness import FilterCode
from karptui.disruption.events import Recorder
from karptui.disruption.fleet import Fleet
from karptui.disruption.launch_price import ReckonedPrices
from karptui.disruption.removal import EngineSimulator
from karptui.disruption.should_disrupt import ShouldDisrupt
from karptui.disruption.simulation import (
    Simulation,
    SimulationError,
    need_of_others,
    no_place,
    remove_or_terminate_first,
)
from karptui.karpenter.nodepool import NodePool
from karptui.kube.pod import lost_pods
from karptui.provisioning.prepared import Prepared
from karptui.provisioning.state_node import StateNode


class Outcome(StrEnum):
    """What happens to a node."""

    DELETE = "delete"
    REPLACE = "replace"
    REBOOT = "reboot"
    """It is rebooted in place."""
    NO = "no"
    """It stays: another blocker remains, nothing wants it, or its pods have no cheaper place."""
    UNKNOWN = "unknown"
    """Unknown: the cluster's objects do not suffice."""


class RemovalResult(msgspec.Struct, frozen=True, eq=False):
    """What happens to a node, and why."""

    outcome: Outcome
    method: Method | None = None
    command: Command | None = None
    refusals: Mapping[Method, Refusal] = MappingProxyType({})
    """Why earlier methods do not disrupt it, or all of them if none does."""
    moved: int = 0
    """Its pods that fit elsewhere; none if it is deleted before its replacement exists."""
    lost: int = 0
    """Its evicted pods that nothing recreates, although Karpenter reschedules them."""
    kept: int = 0
    """Its pods that may not be evicted now: Karpenter does not reschedule them."""

    @property
    def refusal(self) -> Refusal | None:
        """The first refusal, if no method disrupts the node."""
        return None if self.method is not None else next(iter(self.refusals.values()), None)

    @property
    def savings_per_hour(self) -> float:
        """Dollars saved per hour; 0 if it stays or the savings are unknown: `Command.known_savings`."""
        return 0.0 if self.command is None else self.command.known_savings or 0.0

    @property
    def is_saving_known(self) -> bool:
        """Whether the savings are known, if it is removed."""
        return self.command is None or self.command.known_savings is not None


_STAYS: Final = RemovalResult(Outcome.NO)
_UNKNOWN: Final = RemovalResult(Outcome.UNKNOWN)
_NOT_LIFTED: Final = frozenset(
    {
        Code.NO_NODE,
        Code.NOT_INITIALIZED,
        Code.NODEPOOL_UNRESOLVED,
        Code.NODEPOOL_NO_TYPES,
        Code.NO_NODEPOOL_LABEL,
        Code.INSTANCE_TYPE_UNKNOWN,
    }
)
"""Blockers without which the node would be a different one: the result is unknown."""
_RIPENING: Final = frozenset({FilterCode.NOT_CONSOLIDATABLE, FilterCode.NEVER})
_OUTCOMES: Final = {
    Decision.DELETE: Outcome.DELETE,
    Decision.REPLACE: Outcome.REPLACE,
    Decision.TERMINATE_FIRST: Outcome.REPLACE,
    Decision.REBOOT: Outcome.REBOOT,
}
_WAITS: Final = frozenset({Code.CONSOLIDATE_AFTER, Code.NOT_CONSOLIDATABLE, Code.CONSOLIDATION_DISABLED})


class RemovalSimulator:
    """Simulates removals on one cluster; results are cached.

    Args:
        should_disrupt: Which methods want its nodes; computed if None.
    """

    def __init__(self, prepared: Prepared, fleet: Fleet, should_disrupt: ShouldDisrupt | None = None) -> None:
        self._fleet = fleet
        self._engine = EngineSimulator(prepared, fleet)
        self._should_disrupt = should_disrupt if should_disrupt is not None else ShouldDisrupt(fleet)
        self._candidates: dict[str, Candidate] = {}
        self._tried: dict[tuple[str, Method, frozenset[str]], Command | Refusal | None] = {}

    def without(self, node: StateNode, blocker: Blocker, others: Iterable[Blocker]) -> RemovalResult:
        """Return the outcome for a node without one of its blockers, or the PodDisruptionBudgets that block its pods.

        Args:
            others: All blockers of the node and of the whole cluster; may include ``blocker``.
        """
        kept = [other for other in others if not blocker.is_one_with(other)]
        lifted = [other for other in others if other is not blocker and blocker.is_one_with(other)]
        return self.without_all(node, [blocker, *lifted], kept)

    def without_all(self, node: StateNode, lifted: Sequence[Blocker], left: Sequence[Blocker]) -> RemovalResult:
        """Return the outcome for a node without some blockers while others remain.

        Only methods that this unblocks count: other removals are not a consequence of it.
        """
        if any(blocker.code in _NOT_LIFTED for blocker in lifted):
            return _UNKNOWN
        if node.is_marked_for_deletion:
            holds = any(blocker.blocks_drain for blocker in left)
            return _STAYS if holds else RemovalResult(Outcome.DELETE)
        resolved = self._fleet.resolved(node.nodepool_name)
        if (
            resolved is None
            or node.claim is None
            or any(blocker.code is Code.IN_COMMAND for blocker in (*lifted, *left))
        ):
            return _UNKNOWN
        freed = frozenset(method for blocker in lifted for method in blocker.blocks)
        freed -= frozenset(method for blocker in left for method in blocker.blocks)
        candidate = self._candidate(node, *resolved)
        return self._removal(candidate, freed, frozenset(blocker.code for blocker in lifted), _uids(lifted))

    def now(self, node: StateNode, blockers: Iterable[Blocker]) -> RemovalResult:
        """Return the outcome for a node in the current state, by the methods that no blocker prevents."""
        resolved = self._fleet.resolved(node.nodepool_name)
        if resolved is None or node.claim is None or node.node is None:
            return _UNKNOWN
        if node.is_marked_for_deletion:
            return RemovalResult(Outcome.DELETE)
        methods = methods_for(self._fleet, node)
        if self._should_disrupt.repair is not None and self._should_disrupt.repair.ailment_of(node) is not None:
            methods |= {Method.REPAIR}
        unblocked = methods - frozenset(method for blocker in blockers for method in blocker.blocks)
        return self._removal(self._candidate(node, *resolved), unblocked, frozenset(), frozenset())

    def _candidate(self, node: StateNode, pool: NodePool, book: ReckonedPrices) -> Candidate:
        """Return a node as a candidate, caching only the last node: simulations come node by node."""
        candidate = self._candidates.get(node.name)
        if candidate is None:
            self._candidates.clear()
            candidate = self._candidates[node.name] = Candidate(self._fleet, node, pool, book)
        return candidate

    def _removal(
        self, candidate: Candidate, freed: frozenset[Method], lifted: frozenset[Code], pods: frozenset[str]
    ) -> RemovalResult:
        """Return the result of the first unblocked method, in Karpenter's order, that disrupts a node."""
        claim = candidate.claim
        refusals: dict[Method, Refusal] = {}
        if Method.REPAIR in freed and self._should_disrupt.repair is not None:
            result = self._try(candidate, Method.REPAIR, pods)
            if isinstance(result, Command):
                return _removed(Method.REPAIR, result)
            if result is not None:
                refusals[Method.REPAIR] = result
        if candidate.pool.is_static:
            if not claim.is_true(DRIFTED) or Method.STATIC_DRIFT not in freed:
                return RemovalResult(Outcome.NO)
            command = static_drift.command_for(self._fleet, candidate)
            if command is not None:
                return _removed(Method.STATIC_DRIFT, command)
            stuck = Refusal(RefusalCode.UNSCHEDULABLE, static_drift.RESERVATIONS_FULL)
            return RemovalResult(Outcome.NO, refusals={Method.STATIC_DRIFT: stuck})
        if Method.EMPTINESS in freed and not _misses(emptiness.missing_conditions(candidate), lifted):
            return RemovalResult(Outcome.DELETE, Method.EMPTINESS, Command((candidate,)), refusals)
        methods = [Method.DRIFT] if Method.DRIFT in freed and claim.is_true(DRIFTED) else []
        if Method.SINGLE_NODE in freed and not _misses(consolidation.missing_conditions(candidate), lifted):
            methods.append(Method.SINGLE_NODE)
        for method in methods:
            result = self._try(candidate, method, pods)
            if isinstance(result, Command):
                return self._with_pod_counts(candidate, _removed(method, result, refusals), pods)
            if result is not None:
                refusals[method] = result
        return RemovalResult(Outcome.NO, refusals=refusals)

    def _with_pod_counts(self, candidate: Candidate, removal: RemovalResult, lifted: frozenset[str]) -> RemovalResult:
        """Return a result with the number of the node's pods that have a new place, are lost, or are kept."""
        pods = candidate.reschedulable_pods
        may_go = self._fleet.pods.is_currently_reschedulable
        going = [pod for pod in pods if pod.uid in lifted or may_go(pod)]
        is_first = removal.command is not None and removal.command.terminate_first is not None
        return msgspec.structs.replace(
            removal,
            moved=0 if is_first else len(going),
            lost=len(lost_pods(going)),
            kept=len(pods) - len(going),
        )

    def _try(self, candidate: Candidate, method: Method, pods: frozenset[str]) -> Command | Refusal | None:
        key = (candidate.name, method, pods)
        if key not in self._tried:
            try:
                self._tried[key] = self._simulated(candidate, method, pods)
            except SimulationError:
                self._tried[key] = None
        return self._tried[key]

    def _simulated(self, candidate: Candidate, method: Method, pods: frozenset[str]) -> Command | Refusal | None:
        simulator = self._engine.lifting(pods)
        if method is Method.REPAIR:
            assert self._should_disrupt.repair is not None
            result = self._should_disrupt.repair.command_for(candidate.node, simulator)
            if isinstance(result, Simulation):
                return _no_place(result)
            return None if result is None else msgspec.structs.replace(result, simulation=None)
        if method is Method.DRIFT:
            may_go_first = static_drift.may_terminate_first(self._fleet)
            simulation, is_first = remove_or_terminate_first(simulator, candidate, may_terminate_first=may_go_first)
            if is_first:
                return Command((candidate,), terminate_first=TerminateFirst.NO_RESERVED_CAPACITY)
            if simulation.blocking_errors:
                return _no_place(simulation)
            return Command((candidate,), simulation.new_nodes)
        is_on = self._fleet.settings.gate(SPOT_TO_SPOT_GATE)
        consolidated = Consolidator(simulator, Recorder(), is_spot_to_spot_on=is_on).compute((candidate,))
        if isinstance(consolidated, Refusal):
            refusal = _without_run(consolidated, {pod.key for pod in candidate.reschedulable_pods})
            is_assumed = refusal.code == RefusalCode.SPOT_OFF and self._fleet.settings.are_gates_assumed
            return msgspec.structs.replace(refusal, is_assumed=is_assumed)
        score = next((score for score in self._policy.scores(consolidated).values() if not score.is_approved), None)
        if score is not None:
            message = f"score {score.value:.2f} is below the threshold of {THRESHOLD:.2f}"
            return Refusal(RefusalCode.SCORE, message, score=score.value)
        return msgspec.structs.replace(consolidated, simulation=None)

    @cached_property
    def _policy(self) -> BalancedPolicy:
        candidates = find_candidates(self._fleet, Recorder()).graceful
        return BalancedPolicy(pool_totals(self._fleet, candidates, of_every_pool=True), Recorder())

    def lifted(self, node: StateNode, blockers: Sequence[Blocker]) -> RemovalResult:
        """Return the outcome for a node once all its blockers are removed."""
        return self.without_all(node, blockers, ())


def _without_run(refusal: Refusal, node_pods: Collection[str] | None = None) -> Refusal:
    """Return a refusal with its first pod's reason, and without the simulation, which is too large to keep.

    Args:
        node_pods: Keys of the node's pods, for consolidation, which counts other pods' needs against the node.
    """
    simulation = refusal.simulation
    assert simulation is not None
    reason = None
    if refusal.code == RefusalCode.UNSCHEDULABLE:
        errors = simulation.blocking_errors
        reason = no_place(simulation.solution, errors[0][0], others=len(errors) - 1)
    needed = need_of_others(simulation, node_pods) if reason is None and node_pods is not None else None
    return msgspec.structs.replace(refusal, simulation=None, no_place=reason, others_need=needed)


def _no_place(simulation: Simulation) -> Refusal:
    message = simulation.explanation()
    return _without_run(Refusal(RefusalCode.UNSCHEDULABLE, message, simulation=simulation))


def _misses(conditions: Iterator[tuple[str, str]], lifted: frozenset[Code]) -> bool:
    """Return whether conditions other than those of removed blockers are unmet; removing a blocker ends all waits."""
    return any(code not in lifted and not (code in _RIPENING and lifted & _WAITS) for code, _ in conditions)


def _removed(
    method: Method, command: Command, refusals: Mapping[Method, Refusal] = MappingProxyType({})
) -> RemovalResult:
    return RemovalResult(_OUTCOMES[command.decision], method, command, refusals)


def _uids(blockers: Iterable[Blocker]) -> frozenset[str]:
    return frozenset(blocker.pod_uid for blocker in blockers if blocker.pod_uid)
