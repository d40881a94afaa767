"""Computes an analysis in small steps: gates and blockers of all nodes, then simulated removals node by node.

Every step is short, so that the caller can stop between any two.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property
from types import MappingProxyType
from typing import Final

import msgspec

from karptui.aws.prices import LIST_PRICES, PriceSettings
from karptui.disruption.analysis import (
    Analysis,
    NextCommand,
    NextReport,
    NodeDetail,
    NodeFindings,
    NodeOutlook,
    billed_command,
    billed_verdict,
    carried_over,
    confirmed,
    is_due,
    provisional,
    simulated,
)
from karptui.disruption.blockers import BlockerSurvey, methods_for, price_of
from karptui.disruption.budget_calendar import PoolBudgets, pool_budgets
from karptui.disruption.budgets import budget_state, reasons_of
from karptui.disruption.candidate import Candidate
from karptui.disruption.codes import Blocker, Code, WhyCode
from karptui.disruption.command import Command, Method
from karptui.disruption.drain import DrainState, drain_state
from karptui.disruption.fleet import arrivals
from karptui.disruption.gates import all_gates
from karptui.disruption.joint_removal import JointRemovals
from karptui.disruption.joint_saving import MOST_FORECAST_NODES, Forecast, JointFigures, JointRemoval
from karptui.disruption.lanes import Lane, NodeCase, Why, lanes_of, why_of
from karptui.disruption.methods import NextPass, next_pass, observed_fleet
from karptui.disruption.node_verdict import landings_of, replacements_of, verdict_of
from karptui.disruption.outlook import Outcome, RemovalSimulator
from karptui.disruption.removal import EngineSimulator
from karptui.disruption.repair import health_deletions
from karptui.disruption.should_disrupt import WantedBy
from karptui.disruption.simulation import SimulationError, Simulator
from karptui.disruption.survey_memory import SurveyMemory
from karptui.disruption.termination import expiring_nodes
from karptui.karpenter.nodeclaim import DrainStage, node_key
from karptui.kube.pod import lost_pods
from karptui.provisioning.overlap import Overlap, overlap_steps
from karptui.provisioning.prepared import Prepared
from karptui.provisioning.state_node import StateNode

NOTHING_KNOWN: Final = Analysis()
_UNKNOWN_WHY: Final = Why(code=WhyCode.PENDING)


def key_of(node: StateNode) -> str:
    """Return the key of a node's findings."""
    return node_key(node.claim, node.name)


class AnalysisSteps:
    """Computes the analysis of a generation.

    Args:
        before: The previous analysis: unchanged results are reused as the same objects.
        notes: Assumptions about instance types.
        prices: Conversion of list prices for display; decisions do not depend on it.
        is_repriced: Whether prices, offerings or settings differ from the previous analysis.
        unchanged_since: First generation with the same objects, whose simulations still hold; None for this one.
    """

    def __init__(
        self,
        prepared: Prepared,
        generation: int,
        before: Analysis = NOTHING_KNOWN,
        notes: tuple[str, ...] = (),
        *,
        prices: PriceSettings = LIST_PRICES,
        is_repriced: bool = False,
        unchanged_since: int | None = None,
    ) -> None:
        self.fleet = observed_fleet(prepared)
        self._prepared = prepared
        self._generation = generation
        self._unchanged_since = generation if unchanged_since is None else unchanged_since
        self._before = before
        self._notes = notes
        self._prices = prices
        self._survey = BlockerSurvey(self.fleet)
        self._memory = SurveyMemory(self.fleet, self._survey, before.memory)
        self._outlook = RemovalSimulator(prepared, self.fleet, self._survey.should_disrupt)
        self._unhealthy = health_deletions(self.fleet.inventory, self.fleet.settings)
        self._stopped = _stopped(self._survey.cluster)
        self._is_as_stopped_before = self._stopped == _stopped(before.cluster)
        self._nodes: dict[str, StateNode] = {}
        self._findings: dict[str, NodeFindings] = {}
        self._budgets: dict[str, PoolBudgets] = {}
        self._simulated_in: dict[str, int] = {}
        self._managed = sum(1 for node in self.fleet.nodes if node.claim is not None)
        self._is_surveyed = False
        self._is_confirmed = before.is_confirmed and not is_repriced
        self._confirmed_from = generation if is_repriced else before.confirmed_from
        self._provisional: set[str] = set()
        """Blocked nodes that must be simulated before any of them counts."""
        self._detail: NodeDetail | None = None
        self._next: NextReport | None = before.next
        self._overlap: Overlap | None = before.overlap
        self._joint = JointFigures(None if is_repriced else before.joint)

    @property
    def analysis(self) -> Analysis:
        """The current results."""
        return Analysis(
            generation=self._generation,
            now_ns=self.fleet.now_ns,
            findings=MappingProxyType(dict(self._findings)),
            memory=self._memory if self._is_surveyed else self._before.memory,
            cluster=self._survey.cluster,
            budgets=MappingProxyType(self._budgets),
            simulated_in=MappingProxyType(dict(self._simulated_in)),
            simulated=sum(1 for generation in self._simulated_in.values() if generation >= self._unchanged_since),
            managed=self._managed,
            is_confirmed=self._is_confirmed,
            confirmed_from=self._confirmed_from,
            detail=self._detail,
            next=self._next,
            overlap=self._overlap,
            joint=self._joint,
            notes=self._notes,
        )

    # All nodes

    def survey(self, first: Iterable[str] = ()) -> Iterator[str]:
        """Find each node's gates and blockers, then the budgets' states; yields the key of each.

        Nodes that have not changed since the previous analysis keep their findings.

        Args:
            first: Keys of the nodes to start with.
        """
        self._nodes, now_ns = {key_of(node): node for node in self.fleet.nodes}, self.fleet.now_ns
        for key in dict.fromkeys((*first, *self._nodes)):
            if key not in self._nodes:
                continue
            findings = self._findings[key] = self._findings_of(key, self._nodes[key])
            if findings.outlook is not None:
                self._simulated_in[key] = -1 if is_due(findings, now_ns) else self._before.simulated_in.get(key, 0)
            yield key
        for name, pool in self.fleet.pools.items():
            self._budgets[name] = pool_budgets(self.fleet, pool, self._before.budgets.get(name))
            yield f"pool/{name}"
        self._is_surveyed = True
        self._memory.forget_before()
        if not self._is_confirmed:
            self._provisional = {
                key
                for key, findings in self._findings.items()
                if findings.is_held
                and self._nodes[key].claim is not None
                and self._simulated_in.get(key, -1) < self._confirmed_from
            }
            for key in self._provisional:
                self._findings[key] = provisional(self._findings[key])
            self._confirm_once_simulated()

    def _findings_of(self, key: str, node: StateNode) -> NodeFindings:
        previous = self._before.findings.get(key)
        unhealthy = self._unhealthy.get(node.node_name)
        if previous is not None and self._memory.is_unchanged(key, node) and previous.unhealthy == unhealthy:
            return previous if self._is_as_stopped_before else self._as_stopped(node, previous)
        wanted_by = self._survey.should_disrupt.of(node)
        blockers = self._survey.of(node, wanted_by)
        self._memory.note(key, node, blockers)
        outlook = None
        if previous is not None:
            if _are_same(previous.blockers, blockers):
                blockers, outlook = previous.blockers, previous.outlook
            elif _codes(previous.blockers) == _codes(blockers):
                outlook = previous.outlook
        drain = drain_state(self.fleet, node)
        findings = NodeFindings(
            key=key,
            node_name=node.node_name,
            pool_name=node.nodepool_name,
            is_static=self.fleet.is_static(node),
            why=_UNKNOWN_WHY,
            blockers=blockers,
            drain=None if drain.stage is DrainStage.IDLE else drain,
            recent_pods=len(arrivals(self.fleet, node)),
            moving_pods=self.fleet.count_moving(node),
            lost_pods=lost_pods(node.pods) if node.claim is not None else (),
            grace_ns=node.claim.termination_grace_period_ns if node.claim is not None else None,
            price_per_hour=self._price(node),
            outlook=outlook,
            warning=self.fleet.warning(node),
            unhealthy=unhealthy,
        )
        findings = self._judged(node, carried_over(findings, previous), drain, wanted_by)
        return previous if previous is not None and _is_same(previous, findings) else findings

    def _judged(
        self, node: StateNode, findings: NodeFindings, drain: DrainState, wanted_by: WantedBy | None
    ) -> NodeFindings:
        """Return findings with lanes and WHY."""
        now = findings.outlook.now if findings.outlook is not None else None
        lanes: tuple[Lane, ...] = ()
        if node.claim is not None:
            wanted_by = self._survey.should_disrupt.of(node) if wanted_by is None else wanted_by
            possible = methods_for(self.fleet, node)
            has_repair = self._survey.should_disrupt.repair is not None
            methods = [method for method in Method if method in possible or (has_repair and method is Method.REPAIR)]
            lanes = lanes_of(methods, wanted_by, findings.blockers, now, self._with_others.get(findings.node_name))
        why = why_of(self.fleet, NodeCase(node, findings.blockers, lanes, drain, now), self._stopped)
        return msgspec.structs.replace(findings, lanes=lanes, why=why)

    def _as_stopped(self, node: StateNode, previous: NodeFindings) -> NodeFindings:
        """Return an unchanged node's findings after the blockers of the whole cluster changed."""
        findings = self._judged(node, previous, drain_state(self.fleet, node), None)
        return previous if previous.why == findings.why else findings

    @cached_property
    def _with_others(self) -> dict[str, Outcome]:
        """MultiNodeConsolidation's next outcomes, by node."""
        return with_others(self._next)

    def _price(self, node: StateNode) -> float | None:
        if node.claim is None or node.node is None or self.fleet.resolved(node.nodepool_name) is None:
            return None
        return self._prices.paid(price_of(self.fleet, node))

    # One node

    @property
    def keys(self) -> Collection[str]:
        """The keys of all nodes."""
        return self._nodes.keys()

    def is_open(self, key: str) -> bool:
        """Whether a node exists and its removal has not been simulated on these objects."""
        node = self._nodes.get(key)
        return node is not None and node.claim is not None and self._simulated_in.get(key, -1) < self._unchanged_since

    def is_outdated(self, key: str) -> bool:
        """Whether a node's result is missing, is from before a price change, or must be confirmed now."""
        return self._simulated_in.get(key, -1) < max(self._confirmed_from, 0)

    def unsimulated(self) -> tuple[str, ...]:
        """Return the keys still to simulate: nodes without results, then the oldest results; blocked nodes first.

        Of these, the most expensive come first.
        """

        def rank(key: str) -> tuple[int, bool, float]:
            findings = self._findings[key]
            return self._simulated_in.get(key, -1), not findings.is_held, -(findings.price_per_hour or 0.0)

        return tuple(sorted((key for key in self._findings if self.is_open(key)), key=rank))

    def simulate(self, key: str) -> None:
        """Simulate a node's removal, now and without its blockers."""
        node, previous = self._nodes[key], self._findings[key]
        outlook = self._simulate_removals(node, previous.blockers)
        self._simulated_in[key] = self._generation
        findings = simulated(previous, outlook, self.fleet.now_ns)
        if not _is_same(previous, findings):  # an unchanged row stays the same object, so that it is not redrawn
            self._findings[key] = self._judged(node, findings, drain_state(self.fleet, node), None)
        if key in self._provisional:
            self._provisional.discard(key)
            self._confirm_once_simulated()

    def confirm_alone(self, key: str) -> None:
        """Let a node count by its own simulation, for callers that use no other node."""
        self._provisional.discard(key)
        self._findings[key] = confirmed(self._findings[key])

    def _confirm_once_simulated(self) -> None:
        """Let all blocked nodes count once every one of them has been simulated."""
        if not self._provisional:
            self._is_confirmed = True
            for key, findings in self._findings.items():
                if findings.is_provisional:
                    self._findings[key] = confirmed(findings)

    def _simulate_removals(self, node: StateNode, blockers: tuple[Blocker, ...]) -> NodeOutlook:
        now = billed_verdict(verdict_of(self._outlook.now(node, blockers)), self._prices)
        if not blockers:
            return NodeOutlook(now=now, lifted=now, freed=now)
        others = (*self._survey.cluster, *blockers)
        without = tuple(self._outlook.without(node, blocker, others).outcome for blocker in blockers)
        by_code: dict[Code, Outcome] = {}
        for code in dict.fromkeys(blocker.code for blocker in blockers):
            lifted = [blocker for blocker in blockers if blocker.code is code]
            left = [other for other in others if other.code is not code]
            by_code[code] = self._outlook.without_all(node, lifted, left).outcome
        holding = [blocker for blocker in blockers if blocker.is_wanted]
        freed = self._outlook.without_all(node, holding, [blocker for blocker in blockers if not blocker.is_wanted])
        lifted_verdict = now
        if not now.goes:
            lifted_verdict = billed_verdict(verdict_of(self._outlook.lifted(node, blockers)), self._prices)
        return NodeOutlook(
            now=now,
            lifted=lifted_verdict,
            freed=billed_verdict(verdict_of(freed), self._prices) if holding else now,
            without=without,
            without_code=by_code,
        )

    def compute_detail(self, key: str) -> None:
        """Compute a node's gates, and where each of its pods would be scheduled."""
        node = self._nodes.get(key)
        if node is None:
            return
        gates = all_gates(self.fleet, node)
        resolved = self.fleet.resolved(node.nodepool_name)
        if node.claim is None or resolved is None:
            is_there = node.nodepool_name in self.fleet.pools
            why = "no instance types are known for its NodePool" if is_there else "its NodePool is unknown"
            why = why if node.claim is not None else "Karpenter does not manage it"
            self._detail = NodeDetail(key, gates, problem=f"no removal can be simulated: {why}")
            return
        pool, book = resolved
        use = self.fleet.use.get(pool.name)
        budgets = tuple(
            budget_state(pool, reason, use, self.fleet.now_ns) for reason in reasons_of(self.fleet.settings)
        )
        policy, unsynced = pool.consolidation_policy, (b for b in self._survey.cluster if b.code is Code.UNSYNCED)
        paused_by = tuple(blocker.object_key for blocker in unsynced)
        detail = NodeDetail(key, gates, budgets=budgets, consolidation_policy=policy, paused_by=paused_by)
        if node.node is None:
            self._detail = msgspec.structs.replace(detail, problem="no removal can be simulated: there is no node")
            return
        candidate = Candidate(self.fleet, node, pool, book)
        simulator = EngineSimulator(self._prepared, self.fleet)
        try:
            landings = landings_of(simulator.remove((candidate,), is_consolidation=True, with_blocked=True))
        except SimulationError as error:
            # Karpenter simulates no removal for a static NodePool's node: the template replaces it.
            self._detail = detail if pool.is_static else msgspec.structs.replace(detail, problem=str(error))
            return
        placed = {pod.key: landings[pod.key] for pod in candidate.reschedulable_pods if pod.key in landings}
        self._detail = msgspec.structs.replace(detail, landings=MappingProxyType(placed))

    # The whole cluster

    def simulate_next_pass(self, simulator: Simulator | None = None) -> None:
        """Compute Karpenter's next commands, the longest step of all.

        Args:
            simulator: Removes nodes; an exception from it ends the step.
        """
        coming = next_pass(self._prepared, self.fleet, simulator, finds_as_likely=True)
        self._next = self._report(coming)
        if coming.paused_by:
            then = next_pass(self._prepared, self.fleet, simulator, ignores_pause=True, finds_as_likely=True)
            self._next = msgspec.structs.replace(self._next, then=self._report(then))
        before = self._with_others
        del self.__dict__["_with_others"]
        for key, node in self._nodes.items():
            name = node.node_name
            if before.get(name) != self._with_others.get(name):
                findings = self._findings[key]
                self._findings[key] = self._judged(node, findings, drain_state(self.fleet, node), None)

    def _report(self, coming: NextPass) -> NextReport:
        acting, cluster = coming.acting, self._survey.cluster
        stopped = _stopped(blocker for blocker in cluster if blocker.code is Code.NO_NODEPOOLS)
        return NextReport(
            method="" if acting is None else str(acting.method),
            reason="" if acting is None else str(acting.method.reason),
            commands=tuple(billed_command(_command(command), self._prices) for command in coming.commands),
            as_likely=tuple(billed_command(_command(command), self._prices) for command in coming.as_likely),
            asked=tuple((str(result.method), len(result.candidates)) for result in coming.results),
            paused_by=coming.paused_by,
            unhealthy=tuple(name for name, deletion in self._unhealthy.items() if deletion.deletes(self.fleet.now_ns)),
            expiring=expiring_nodes(self.fleet.nodes, self.fleet.now_ns),
            error=coming.error,
            lacks_pools=any(result.method in stopped for result in coming.results if result.candidates),
            closed=len(coming.considered[1]),
            unknown=len(
                {
                    candidate.name
                    for result in coming.results
                    for candidate in result.candidates
                    if candidate.is_type_guessed
                }
            ),
            generation=self._generation,
        )

    def compare_pools(self) -> Iterator[None]:
        """Compute which NodePools can take which pods; yields between steps."""
        for overlap in overlap_steps(self._prepared):
            if overlap is not None:
                self._overlap = overlap
            yield

    def simulate_joint(self, before: Callable[[], None] | None = None) -> bool:
        """Simulate a joint removal that a screen requested; return whether there was one.

        Args:
            before: Called before each of its simulations; after an exception from it, the removal is still requested.
        """
        if not self._joint.is_asked:
            return False
        self._joint.simulate(self._joint_removals(before).of)
        return True

    @property
    def is_forecast_due(self) -> bool:
        """Whether a joint removal is to be forecast."""
        return len(self.fleet.nodes) <= MOST_FORECAST_NODES and self._joint.is_forecast_due(self.fleet.now_ns)

    def forecast_joint(self, forecast: Forecast) -> None:
        """Forecast a joint removal that is due."""
        self._joint.forecast(forecast, self.fleet.now_ns)

    def simulate_joint_at_once(self, forecast: Forecast | None = None) -> None:
        """Simulate joint removals immediately when requested, for callers that can wait.

        Args:
            forecast: Forecasts each of them; None for no forecasts.
        """
        removals = self._joint_removals()

        def simulate(keys: frozenset[str]) -> JointRemoval | None:
            removal = removals.of(keys)
            return removal if removal is None or forecast is None else forecast(keys, removal)

        self._joint.simulate_at_once(simulate)

    def _joint_removals(self, before: Callable[[], None] | None = None) -> JointRemovals:
        return JointRemovals(self._prepared, self.fleet, prices=self._prices, before=before)

    def engine(self, before: Callable[[], None]) -> EngineSimulator:
        """Return a simulator of removals for this generation.

        Args:
            before: Called before each removal; an exception from it ends the search.
        """
        return EngineSimulator(self._prepared, self.fleet, before=before)


def analyse_all(steps: AnalysisSteps, keys: Iterable[str] | None = None) -> Analysis:
    """Return the complete analysis, for callers that can wait.

    Args:
        keys: Nodes whose removal is simulated; all if None.
    """
    for _ in steps.survey():
        pass
    steps.simulate_joint_at_once()
    for key in steps.unsimulated() if keys is None else keys:
        if steps.is_open(key):
            steps.simulate(key)
    return steps.analysis


def with_others(report: NextReport | None) -> dict[str, Outcome]:
    """Return MultiNodeConsolidation's next outcomes by node; empty if another method acts."""
    if report is None or report.method != Method.MULTI_NODE:
        return {}
    return {name: Outcome(command.decision) for command in report.commands for name in command.node_names}


def _stopped(cluster: Iterable[Blocker]) -> frozenset[Method]:
    """Return the methods that are blocked for the whole cluster."""
    return frozenset(method for blocker in cluster for method in blocker.blocks)


def _command(command: Command) -> NextCommand:
    return NextCommand(
        decision=str(command.decision),
        node_names=tuple(candidate.node.node_name for candidate in command.candidates),
        replacements=replacements_of(command),
        savings_per_hour=command.known_savings,
        lost_pods=lost_pods(pod for candidate in command.candidates for pod in candidate.reschedulable_pods),
    )


def _codes(blockers: Iterable[Blocker]) -> list[tuple[Code, bool]]:
    return [(blocker.code, blocker.is_wanted) for blocker in blockers]


def _are_same(left: tuple[Blocker, ...], right: tuple[Blocker, ...]) -> bool:
    if len(left) != len(right):
        return False
    return all(msgspec.structs.astuple(a) == msgspec.structs.astuple(b) for a, b in zip(left, right, strict=True))


def _is_same(left: NodeFindings, right: NodeFindings) -> bool:
    return msgspec.structs.astuple(left) == msgspec.structs.astuple(right)
