"""Karpenter's disruption methods, each run on the same unchanged state as if it were its turn.

In a cluster, the first method that acts ends the pass, and Emptiness and consolidation validate after 15 seconds
(``validation.py``). Rules: ``controller.go`` in ``pkg/controllers/disruption``.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Final

import msgspec

from karptui.disruption import consolidation, drift, emptiness, repair, static_drift
from karptui.disruption.balanced import BalancedPolicy, pool_totals
from karptui.disruption.budgets import BudgetState, Reason, budget_state, is_repairing
from karptui.disruption.candidate import LIKELIEST, Candidate, Candidates, Chance, find_candidates
from karptui.disruption.command import Command, Method, MethodResult
from karptui.disruption.consolidation import SPOT_TO_SPOT_GATE, Consolidator
from karptui.disruption.do_not_disrupt import record_departing
from karptui.disruption.events import FOR_EVER_NS, Recorder, nominations
from karptui.disruption.fleet import Fleet
from karptui.disruption.removal import EngineSimulator
from karptui.disruption.simulation import SimulationError, Simulator
from karptui.disruption.termination import commanded_names
from karptui.karpenter.nodepool import BALANCED
from karptui.karpenter.settings import Settings
from karptui.provisioning.pool_order import served_pools
from karptui.provisioning.prepared import Prepared
from karptui.provisioning.run import UNCONCERNED
from karptui.provisioning.solution import solve

MOST_AS_LIKELY: Final = 8
"""Maximum number of removals that are simulated to find what Karpenter may do instead of its next command."""


class MethodRun:
    """Runs methods on a fleet; their events go to one recorder."""

    def __init__(
        self,
        fleet: Fleet,
        simulator: Simulator,
        recorder: Recorder,
        chance: Chance = LIKELIEST,
        only: Container[str] | None = None,
    ) -> None:
        self.fleet = fleet
        self._chance = chance
        self._only = only
        self.recorder = recorder
        self._simulator = simulator
        self._budget_states: dict[Reason, dict[str, BudgetState]] = {}

    @cached_property
    def candidates(self) -> Candidates:
        """Nodes that passed the gates."""
        return find_candidates(self.fleet, self.recorder)

    @cached_property
    def policy(self) -> BalancedPolicy:
        """The Balanced policy for this pass."""
        has_balanced = any(pool.consolidation_policy == BALANCED for pool in self.fleet.pools.values())
        totals = pool_totals(self.fleet, self.candidates.graceful) if has_balanced else {}
        return BalancedPolicy(totals, self.recorder)

    @cached_property
    def consolidator(self) -> Consolidator:
        """Computes consolidations."""
        is_on = self.fleet.settings.gate(SPOT_TO_SPOT_GATE)
        return Consolidator(self._simulator, self.recorder, is_spot_to_spot_on=is_on)

    def ask(self, method: Method) -> MethodResult:
        """Return a method's result."""
        if method is Method.REPAIR:
            return self._ask_repair()
        candidates = tuple(
            candidate for candidate in self.qualifying(method) if self._only is None or candidate.name in self._only
        )
        budgets = self.budgets(method.reason)
        try:
            commands, error = self._commands(method, candidates, budgets), ""
        except SimulationError as failure:
            commands, error = (), str(failure)
        return MethodResult(method, candidates, budgets, commands, error=error)

    def _ask_repair(self) -> MethodResult:
        method = repair.Repair(self.fleet, self.recorder)
        cases = method.cases()
        budgets = self.budgets(Reason.UNHEALTHY)
        commands: tuple[Command, ...] = ()
        error = ""
        try:
            commands = method.compute(cases, budgets, self._simulator)
        except SimulationError as failure:
            error = str(failure)
        candidates = tuple(case.candidate for case in cases)
        return MethodResult(Method.REPAIR, candidates, budgets, commands, method.ailments(), error)

    def qualifying(self, method: Method) -> Iterable[Candidate]:
        """Yield the candidates that pass a method's own filter."""
        match method:
            case Method.EMPTINESS:
                return (
                    candidate
                    for candidate in self.candidates.graceful
                    if self._passes(candidate, emptiness.refuse(candidate))
                )
            case Method.STATIC_DRIFT:
                return (candidate for candidate in self.candidates.eventual if not static_drift.refuse(candidate))
            case Method.DRIFT:
                return (candidate for candidate in self.candidates.eventual if not drift.refuse(candidate))
            case _:
                return (
                    candidate
                    for candidate in self.candidates.graceful
                    if self._passes(candidate, consolidation.refuse(candidate))
                )

    def _passes(self, candidate: Candidate, refusal: tuple[str, str] | None) -> bool:
        if refusal is not None and refusal[1]:
            self.recorder.unconsolidatable(candidate.node, refusal[1])
        return refusal is None

    def _commands(
        self, method: Method, candidates: tuple[Candidate, ...], budgets: Mapping[str, int]
    ) -> tuple[Command, ...]:
        match method:
            case Method.EMPTINESS:
                return emptiness.compute(candidates, budgets, self._chance)
            case Method.STATIC_DRIFT:
                return static_drift.compute(self.fleet, candidates, budgets, self.recorder)
            case Method.DRIFT:
                is_on = static_drift.may_terminate_first(self.fleet)
                return drift.compute(
                    candidates,
                    budgets,
                    self._simulator,
                    self.fleet.pods,
                    self.recorder,
                    may_terminate_first=is_on,
                    chance=self._chance,
                )
            case Method.MULTI_NODE:
                return consolidation.multi_node_command(
                    candidates, budgets, self.consolidator, self.policy, self._chance
                )
            case _:
                return consolidation.single_node_command(
                    candidates, budgets, self.consolidator, self.policy, self._chance
                )

    def as_likely(self, acting: MethodResult) -> tuple[Command, ...]:
        """Return commands that are as likely as the acting method's first one, because the order is random."""
        first = acting.commands[0].candidates[0]
        match acting.method:
            case Method.EMPTINESS:
                others = emptiness.as_likely(acting.commands[0].candidates, acting.candidates)
                return tuple(Command((candidate,)) for candidate in others)
            case Method.DRIFT:
                others = drift.as_likely(first, acting.candidates)
            case Method.SINGLE_NODE:
                others = consolidation.as_likely(first, acting.candidates)
            case _:
                return ()
        commands: list[Command] = []
        for candidate in others[:MOST_AS_LIKELY]:
            with suppress(SimulationError):
                commands += self._commands(acting.method, (candidate,), acting.budgets)
        return tuple(commands)

    def budgets(self, reason: Reason) -> dict[str, int]:
        """Return each NodePool's remaining allowance for a reason, and publish which allow none."""
        left: dict[str, int] = {}
        states = self._budget_states.get(reason)
        if states is None:
            fleet = self.fleet
            states = self._budget_states[reason] = {
                name: budget_state(fleet.pools[name], reason, fleet.use.get(name), fleet.now_ns)
                for name in sorted(fleet.pools)
            }
        for name, state in states.items():
            left[name] = state.left
            if state.is_announced:
                self.recorder.budget_blocked(name, reason)
        return left


class DisruptionReport(msgspec.Struct, frozen=True, eq=False):
    """The results of the methods, each on the same unchanged state, and their events."""

    methods: tuple[MethodResult, ...]
    recorder: Recorder
    fleet: Fleet
    legacy_repairs: tuple[str, ...] | None = None
    """Nodes that the repair controller of Karpenter before 1.15 deletes; None if it is not in use."""

    @property
    def events(self) -> dict[str, list[str]]:
        """``{"Kind/name": ["Reason: message"]}``."""
        return self.recorder.by_object()


def fleet_of(prepared: Prepared) -> Fleet:
    """Return the fleet as Karpenter sees it after a start: no nominations, no running commands."""
    return Fleet(
        prepared.inventory,
        nodes=prepared.states,
        pools={pool.name: pool for pool in served_pools(prepared.inventory.nodepools)},
        types=prepared.types_by_pool,
        settings=prepared.settings,
        now_ns=prepared.now_ns,
        buffered=buffered_names(prepared),
    )


def buffered_names(prepared: Prepared) -> frozenset[str]:
    """Return the names of the nodes on which provisioning, run now, places virtual pods of CapacityBuffers."""
    return placed_names(prepared)[1] if prepared.buffer_pods else frozenset()


def placed_names(prepared: Prepared) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of the nodes on which provisioning, run now, places pods, and virtual pods of CapacityBuffers.

    The first are nominated for as long as the pods wait or their nodes drain: Karpenter provisions again every ten
    seconds, and publishes an event every other minute at most. Rules: ``pkg/controllers/provisioning/controller.go``,
    and ``Results.Record`` in ``scheduling/scheduler.go``.
    """
    if not (prepared.pending or prepared.leaving):
        return frozenset(), frozenset()
    virtual = {pod.uid for pod in prepared.buffer_pods}
    filled = solve(prepared, watch=UNCONCERNED).nodes
    expecting = {node.state.name for node in filled if any(pod.uid not in virtual for pod in node.pods)}
    buffered = {node.state.name for node in filled if any(pod.uid in virtual for pod in node.pods)}
    return frozenset(expecting), frozenset(buffered)


def observed_fleet(prepared: Prepared) -> Fleet:
    """Return the fleet with the known parts of Karpenter's memory: nominations, running commands, buffers."""
    inventory, settings, now_ns = prepared.inventory, prepared.settings, prepared.now_ns
    expecting, buffered = placed_names(prepared)
    nominated = nominations(inventory.events, prepared.states, settings.batch_max_seconds, now_ns)
    return Fleet(
        inventory,
        nodes=prepared.states,
        pools={pool.name: pool for pool in served_pools(inventory.nodepools)},
        types=prepared.types_by_pool,
        settings=settings,
        now_ns=now_ns,
        nominated=nominated | dict.fromkeys(expecting, FOR_EVER_NS),
        commanded=commanded_names(prepared.states),
        buffered=buffered,
    )


def methods_of(settings: Settings) -> tuple[Method, ...]:
    """Return the methods of a controller, in Karpenter's order."""
    return tuple(method for method in Method if method is not Method.REPAIR or is_repairing(settings))


def simulate(prepared: Prepared, methods: Iterable[Method] | None = None) -> DisruptionReport:
    """Run each method as if it were its turn, assuming that validation succeeds.

    Args:
        methods: The methods to run; None for all enabled by the settings.
    """
    fleet = fleet_of(prepared)
    recorder = Recorder()
    record_departing(fleet, recorder)
    run = MethodRun(fleet, EngineSimulator(prepared, fleet), recorder)
    chosen = methods_of(prepared.settings) if methods is None else methods
    results = tuple(run.ask(method) for method in chosen)
    deleted = repair.legacy_deletions(fleet, recorder) if repair.is_legacy(prepared.settings) else None
    return DisruptionReport(results, recorder, fleet, deleted)


class NextPass(msgspec.Struct, frozen=True, eq=False):
    """A pass over the methods."""

    results: tuple[MethodResult, ...]
    """Results in order, up to the method that acts or fails."""
    paused_by: tuple[str, ...]
    """NodeClaims without provider ID: Karpenter waits for them before a pass."""
    as_likely: tuple[Command, ...] = ()
    """Commands that are as likely, if requested."""

    @property
    def considered(self) -> tuple[frozenset[str], frozenset[str]]:
        """The names of all candidates, and of those that disruption budgets close for every method that ran."""
        left = [
            (candidate.name, run.budgets.get(candidate.pool.name, 0))
            for run in self.results
            for candidate in run.candidates
        ]
        names = frozenset(name for name, _ in left)
        return names, names - {name for name, allowed in left if allowed}

    @property
    def acting(self) -> MethodResult | None:
        """The result of the method that acts; None if none does."""
        last = self.results[-1] if self.results else None
        return last if last is not None and last.commands else None

    @property
    def commands(self) -> tuple[Command, ...]:
        """The commands of the acting method: one, or one per node for StaticDrift."""
        acting = self.acting
        return () if acting is None else acting.commands

    @property
    def error(self) -> str:
        """Karpenter's error that ended the pass early."""
        return self.results[-1].error if self.results else ""


def next_pass(
    prepared: Prepared,
    fleet: Fleet,
    simulator: Simulator | None = None,
    *,
    after: Method | None = None,
    chance: Chance = LIKELIEST,
    ignores_pause: bool = False,
    only: Container[str] | None = None,
    finds_as_likely: bool = False,
) -> NextPass:
    """Return Karpenter's next pass, without its validation after 15 seconds.

    Args:
        fleet: Its disruption state, with known nominations and running commands.
        after: A method whose validation failed: the pass continues with the methods after it.
        ignores_pause: Whether to proceed as if every NodeClaim had a provider ID.
        only: Names of the nodes that Emptiness, drift and consolidation may take; None for all.
        finds_as_likely: Whether to find what Karpenter may do instead.
    """
    recorder = Recorder()
    paused = tuple(sorted(claim.name for claim in fleet.inventory.nodeclaims if not claim.provider_id))
    results: list[MethodResult] = []
    as_likely: tuple[Command, ...] = ()
    if ignores_pause or not paused:
        record_departing(fleet, recorder)
        run = MethodRun(fleet, simulator or EngineSimulator(prepared, fleet), recorder, chance, only)
        methods = methods_of(fleet.settings)
        for method in methods[methods.index(after) + 1 :] if after is not None else methods:
            result = run.ask(method)
            results.append(result)
            if result.commands or result.error:
                as_likely = run.as_likely(result) if finds_as_likely and result.commands else ()
                break
    return NextPass(tuple(results), paused, as_likely)
