"""Whether a node would go if a blocker were lifted: simulated on the engine, one node at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import Final

import msgspec

from karptui.disruption import consolidation, emptiness, static_drift
from karptui.disruption.balanced import THRESHOLD, BalancedPolicy, pool_totals
from karptui.disruption.blocker import Blocker
from karptui.disruption.blockers import methods_for
from karptui.disruption.candidate import Candidate, find_candidates
from karptui.disruption.codes import Code
from karptui.disruption.command import Command, Decision, Method, TerminateFirst
from karptui.disruption.consolidation import SPOT_TO_SPOT_GATE, Consolidator, Refusal, RefusalCode
from karptui.disruption.drift import DRIFTED
from karptui.disruption.emptiness import FilterCode
from karptui.disruption.events import Recorder
from karptui.disruption.fleet import Fleet
from karptui.disruption.price import ReckonedPrices
from karptui.disruption.removal import EngineSimulator, LiftingSimulator
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
    """What becomes of a node."""

    DELETE = "delete"
    REPLACE = "replace"
    REBOOT = "reboot"
    """It is started anew in place."""
    NO = "no"
    """It stays: something else holds it, nothing wants it, or its pods have no cheaper place."""
    UNKNOWN = "unknown"
    """Not known: what is missing is not in the cluster's objects."""


class Prospect(msgspec.Struct, frozen=True, eq=False):
    """What becomes of a node, and why."""

    outcome: Outcome
    method: Method | None = None
    """The method that takes it."""
    command: Command | None = None
    refusals: Mapping[Method, Refusal] = MappingProxyType({})
    """Why methods that were tried before it come to nothing, or all of them where none takes the node."""
    moved: int = 0
    """Pods on it for which another place was found: none where the node has to go before its replacement comes."""
    lost: int = 0
    """Pods on it that are evicted and that nothing recreates; Karpenter finds a place for them all the same."""
    kept: int = 0
    """Pods on it that may not be evicted now: Karpenter seeks no place for them."""

    @property
    def refusal(self) -> Refusal | None:
        """The first refusal, where none takes the node."""
        return None if self.method is not None else next(iter(self.refusals.values()), None)

    @property
    def savings_per_hour(self) -> float:
        """Dollars per hour that are saved; 0 where it stays, and where nobody can say: `Command.known_savings`."""
        return 0.0 if self.command is None else self.command.known_savings or 0.0

    @property
    def is_saving_known(self) -> bool:
        """Whether somebody can say, where it goes."""
        return self.command is None or self.command.known_savings is not None


_STAYS: Final = Prospect(Outcome.NO)
_UNKNOWN: Final = Prospect(Outcome.UNKNOWN)
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
"""Without these the node would not be the node that is seen: what would follow is not known."""
_RIPENING: Final = frozenset({FilterCode.NOT_CONSOLIDATABLE, FilterCode.NEVER})
_OUTCOMES: Final = {
    Decision.DELETE: Outcome.DELETE,
    Decision.REPLACE: Outcome.REPLACE,
    Decision.TERMINATE_FIRST: Outcome.REPLACE,
    Decision.REBOOT: Outcome.REBOOT,
}
_WAITS: Final = frozenset({Code.CONSOLIDATE_AFTER, Code.NOT_CONSOLIDATABLE, Code.CONSOLIDATION_DISABLED})


class Outlook:
    """Answers for one prepared cluster; simulations are remembered, so asking again costs nothing.

    Args:
        prepared: The cluster, made ready for runs of the engine.
        fleet: The same as disruption sees it.
        should_disrupt: Which methods want its nodes; made anew where None.
    """

    def __init__(self, prepared: Prepared, fleet: Fleet, should_disrupt: ShouldDisrupt | None = None) -> None:
        self._fleet = fleet
        self._engine = EngineSimulator(prepared, fleet)
        self._should_disrupt = should_disrupt if should_disrupt is not None else ShouldDisrupt(fleet)
        self._candidates: dict[str, Candidate] = {}
        self._tried: dict[tuple[str, Method, frozenset[str]], Command | Refusal | None] = {}

    def without(self, node: StateNode, blocker: Blocker, others: Iterable[Blocker]) -> Prospect:
        """Return what becomes of a node without one blocker, all else as it is.

        Args:
            node: The node.
            blocker: What is taken away.
            others: Every blocker of the node and of the whole cluster; ``blocker`` itself does not matter in it.
        """
        return self.without_all(node, [blocker], [one for one in others if one is not blocker])

    def without_all(self, node: StateNode, lifted: Sequence[Blocker], left: Sequence[Blocker]) -> Prospect:
        """Return what becomes of a node without some blockers while others stay.

        Only methods that are freed by it count: what takes the node in spite of the blockers is no consequence of it.
        """
        if any(blocker.code in _NOT_LIFTED for blocker in lifted):
            return _UNKNOWN
        if node.is_marked_for_deletion:
            holds = any(blocker.blocks_drain for blocker in left)
            return _STAYS if holds else Prospect(Outcome.DELETE)
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
        return self._prospect(candidate, freed, frozenset(blocker.code for blocker in lifted), _uids(lifted))

    def now(self, node: StateNode, blockers: Iterable[Blocker]) -> Prospect:
        """Return what becomes of a node as things are, by the methods that none of its blockers keeps from it."""
        resolved = self._fleet.resolved(node.nodepool_name)
        if resolved is None or node.claim is None or node.node is None:
            return _UNKNOWN
        if node.is_marked_for_deletion:
            return Prospect(Outcome.DELETE)
        own = methods_for(self._fleet, node)
        if self._should_disrupt.repair is not None and self._should_disrupt.repair.ailment_of(node) is not None:
            own |= {Method.REPAIR}
        free = own - frozenset(method for blocker in blockers for method in blocker.blocks)
        return self._prospect(self._candidate(node, *resolved), free, frozenset(), frozenset())

    def _candidate(self, node: StateNode, pool: NodePool, book: ReckonedPrices) -> Candidate:
        """Return a node as a candidate; of the last node only, as what is asked comes node by node."""
        found = self._candidates.get(node.name)
        if found is None:
            self._candidates.clear()
            found = self._candidates[node.name] = Candidate(self._fleet, node, pool, book)
        return found

    def _prospect(
        self, candidate: Candidate, freed: frozenset[Method], lifted: frozenset[Code], pods: frozenset[str]
    ) -> Prospect:
        """Return what the first of the freed methods, in Karpenter's order, that takes a node makes of it."""
        claim = candidate.claim
        refusals: dict[Method, Refusal] = {}
        if Method.REPAIR in freed and self._should_disrupt.repair is not None:
            answer = self._try(candidate, Method.REPAIR, pods)
            if isinstance(answer, Command):
                return _gone(Method.REPAIR, answer)
            if answer is not None:
                refusals[Method.REPAIR] = answer
        if candidate.pool.is_static:
            if not claim.is_true(DRIFTED) or Method.STATIC_DRIFT not in freed:
                return Prospect(Outcome.NO)
            made = static_drift.command_for(self._fleet, candidate)
            if made is not None:
                return _gone(Method.STATIC_DRIFT, made)
            stuck = Refusal(RefusalCode.UNSCHEDULABLE, static_drift.RESERVATIONS_FULL)
            return Prospect(Outcome.NO, refusals={Method.STATIC_DRIFT: stuck})
        if Method.EMPTINESS in freed and not _misses(emptiness.lacking(candidate), lifted):
            return Prospect(Outcome.DELETE, Method.EMPTINESS, Command((candidate,)), refusals)
        methods = [Method.DRIFT] if Method.DRIFT in freed and claim.is_true(DRIFTED) else []
        if Method.SINGLE_NODE in freed and not _misses(consolidation.lacking(candidate), lifted):
            methods.append(Method.SINGLE_NODE)
        for method in methods:
            answer = self._try(candidate, method, pods)
            if isinstance(answer, Command):
                return self._gone_with_pods(candidate, _gone(method, answer, refusals), pods)
            if answer is not None:
                refusals[method] = answer
        return Prospect(Outcome.NO, refusals=refusals)

    def _gone_with_pods(self, candidate: Candidate, prospect: Prospect, lifted: frozenset[str]) -> Prospect:
        """Return a prospect with how many of the node's pods have been given a place, and how many were left out."""
        pods = candidate.reschedulable_pods
        may_go = self._fleet.pods.is_currently_reschedulable
        going = [pod for pod in pods if pod.uid in lifted or may_go(pod)]
        is_first = prospect.command is not None and prospect.command.terminate_first is not None
        return msgspec.structs.replace(
            prospect,
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
        simulator = LiftingSimulator(self._engine, pods)
        if method is Method.REPAIR:
            assert self._should_disrupt.repair is not None
            answer = self._should_disrupt.repair.command_for(candidate.node, simulator)
            if isinstance(answer, Simulation):
                return _no_place(answer)
            return None if answer is None else msgspec.structs.replace(answer, simulation=None)
        if method is Method.DRIFT:
            may_go_first = static_drift.may_terminate_first(self._fleet)
            simulation, is_first = remove_or_terminate_first(simulator, candidate, may_terminate_first=may_go_first)
            if is_first:
                return Command((candidate,), terminate_first=TerminateFirst.NO_RESERVED_CAPACITY)
            if simulation.blocking_errors:
                return _no_place(simulation)
            return Command((candidate,), simulation.new_nodes)
        is_on = self._fleet.settings.gate(SPOT_TO_SPOT_GATE)
        found = Consolidator(simulator, Recorder(), is_spot_to_spot_on=is_on).compute((candidate,))
        if isinstance(found, Refusal):
            return _without_run(found, {pod.key for pod in candidate.reschedulable_pods})
        score = next((one for one in self._policy.scores(found).values() if not one.is_approved), None)
        if score is not None:
            message = f"score {score.value:.2f} is below the threshold of {THRESHOLD:.2f}"
            return Refusal(RefusalCode.SCORE, message, score=score.value)
        return msgspec.structs.replace(found, simulation=None)

    @cached_property
    def _policy(self) -> BalancedPolicy:
        candidates = find_candidates(self._fleet, Recorder()).graceful
        return BalancedPolicy(pool_totals(self._fleet, candidates, of_every_pool=True), Recorder())

    def lifted(self, node: StateNode, blockers: Sequence[Blocker]) -> Prospect:
        """Return what becomes of a node once everything in its way is lifted."""
        return self.without_all(node, blockers, ())


def _without_run(refusal: Refusal, own: Collection[str] | None = None) -> Refusal:
    """Return a refusal with the reason of its first pod, and without the run, which would be kept for every node.

    Args:
        refusal: With its simulation.
        own: Keys of the pods of the node, of consolidation: it weighs what others need against what the node costs.
    """
    simulation = refusal.simulation
    assert simulation is not None
    reason = None
    if refusal.code == RefusalCode.UNSCHEDULABLE and simulation.solution is not None:
        errors = simulation.blocking_errors
        reason = no_place(simulation.solution, errors[0][0], others=len(errors) - 1)
    needed = need_of_others(simulation, own) if reason is None and own is not None else None
    return msgspec.structs.replace(refusal, simulation=None, no_place=reason, others_need=needed)


def _no_place(simulation: Simulation) -> Refusal:
    message = simulation.explanation()
    return _without_run(Refusal(RefusalCode.UNSCHEDULABLE, message, simulation=simulation))


def _misses(lacking: Iterator[tuple[str, str]], lifted: frozenset[Code]) -> bool:
    """Return whether a filter misses anything but what is lifted: what is lifted ends every wait."""
    return any(code not in lifted and not (code in _RIPENING and lifted & _WAITS) for code, _ in lacking)


def _gone(method: Method, command: Command, refusals: Mapping[Method, Refusal] = MappingProxyType({})) -> Prospect:
    return Prospect(_OUTCOMES[command.decision], method, command, refusals)


def _uids(blockers: Iterable[Blocker]) -> frozenset[str]:
    return frozenset(blocker.pod_uid for blocker in blockers if blocker.pod_uid)
