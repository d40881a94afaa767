"""Works out an analysis piece by piece: gates and blockers of all nodes first, then removals one node at a time.

Every step is short, so that whoever runs it may stop between two of them.
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
    counted,
    early,
    is_due,
    simulated,
    taken_over,
)
from karptui.disruption.blocker import Blocker
from karptui.disruption.blockers import BlockerSurvey, methods_for, price_of
from karptui.disruption.budget_calendar import PoolBudgets, pool_budgets
from karptui.disruption.budgets import budget_state, reasons_of
from karptui.disruption.candidate import Candidate
from karptui.disruption.codes import Code, WhyCode
from karptui.disruption.command import Command, Method
from karptui.disruption.deletion import DrainStage
from karptui.disruption.drain import DrainState, drain_state
from karptui.disruption.fleet import arrivals
from karptui.disruption.gates import all_gates
from karptui.disruption.joint_removal import JointRemovals
from karptui.disruption.joint_saving import JointFigures
from karptui.disruption.lanes import Lane, NodeCase, Why, lanes_of, why_of
from karptui.disruption.methods import NextPass, next_pass, observed_fleet
from karptui.disruption.node_verdict import landings_of, replacements_of, verdict_of
from karptui.disruption.outlook import Outcome, Outlook
from karptui.disruption.removal import EngineSimulator, LiftingSimulator
from karptui.disruption.repair import health_deletions
from karptui.disruption.should_disrupt import WantedBy
from karptui.disruption.simulation import SimulationError, Simulator
from karptui.disruption.survey_memory import SurveyMemory
from karptui.karpenter.nodeclaim import node_key
from karptui.kube.pod import lost_pods
from karptui.provisioning.overlap import Overlap, overlap_steps
from karptui.provisioning.prepared import Prepared
from karptui.provisioning.state_node import StateNode

NOTHING_KNOWN: Final = Analysis()
_UNKNOWN_WHY: Final = Why(code=WhyCode.PENDING)


def key_of(node: StateNode) -> str:
    """Return the key of a node's findings."""
    return node_key(node.claim, node.name)


class DisruptionStudy:
    """One pass over one generation of a cluster.

    Args:
        prepared: The cluster, made ready for runs of the engine.
        generation: Its number.
        before: The analysis before this one: what did not change is taken over as the same objects.
        notes: What was assumed about instance types.
        prices: What is made of Karpenter's prices where dollars are shown; they decide nothing.
        is_repriced: Whether the analysis before is of other prices, offerings or settings.
        unchanged_since: First generation with the same objects: its simulations still hold. This one when None.
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
        self._outlook = Outlook(prepared, self.fleet, self._survey.should_disrupt)
        self._unhealthy = health_deletions(self.fleet.inventory, self.fleet.settings)
        self._stopped = _stopped(self._survey.cluster)
        self._is_as_stopped_before = self._stopped == _stopped(before.cluster)
        self._nodes: dict[str, StateNode] = {}
        self._findings: dict[str, NodeFindings] = {}
        self._budgets: dict[str, PoolBudgets] = {}
        self._simulated_in: dict[str, int] = {}
        self._managed = sum(1 for node in self.fleet.nodes if node.claim is not None)
        self._is_surveyed = False
        self._is_counted = before.is_counted and not is_repriced
        self._counted_from = generation if is_repriced else before.counted_from
        self._early: set[str] = set()
        """Held nodes that are to be simulated before any of them is counted."""
        self._detail: NodeDetail | None = None
        self._next: NextReport | None = before.next
        self._overlap: Overlap | None = before.overlap
        self._joint = JointFigures(None if is_repriced else before.joint)

    @property
    def analysis(self) -> Analysis:
        """What is known so far."""
        return Analysis(
            generation=self._generation,
            now_ns=self.fleet.now_ns,
            findings=MappingProxyType(dict(self._findings)),
            memory=self._memory if self._is_surveyed else self._before.memory,
            cluster=self._survey.cluster,
            budgets=MappingProxyType(self._budgets),
            simulated_in=MappingProxyType(dict(self._simulated_in)),
            simulated=sum(1 for made in self._simulated_in.values() if made >= self._unchanged_since),
            managed=self._managed,
            is_counted=self._is_counted,
            counted_from=self._counted_from,
            detail=self._detail,
            next=self._next,
            overlap=self._overlap,
            joint=self._joint,
            notes=self._notes,
        )

    # All nodes

    def survey(self, first: Iterable[str] = ()) -> Iterator[str]:
        """Find gates and blockers node by node, then what budgets come to; yields the key of each.

        Nodes of which nothing changed since the analysis before keep their findings unseen.

        Args:
            first: Keys of the nodes to begin with.
        """
        self._nodes, now_ns = {key_of(node): node for node in self.fleet.nodes}, self.fleet.now_ns
        for key in dict.fromkeys((*first, *self._nodes)):
            if key not in self._nodes:
                continue
            found = self._findings[key] = self._found(key, self._nodes[key])
            if found.outlook is not None:
                self._simulated_in[key] = -1 if is_due(found, now_ns) else self._before.simulated_in.get(key, 0)
            yield key
        for name, pool in self.fleet.pools.items():
            self._budgets[name] = pool_budgets(self.fleet, pool, self._before.budgets.get(name))
            yield f"pool/{name}"
        self._is_surveyed = True
        self._memory.forget_before()
        if not self._is_counted:
            self._early = {
                key
                for key, found in self._findings.items()
                if found.is_held
                and self._nodes[key].claim is not None
                and self._simulated_in.get(key, -1) < self._counted_from
            }
            for key in self._early:
                self._findings[key] = early(self._findings[key])
            self._count_once_known()

    def _found(self, key: str, node: StateNode) -> NodeFindings:
        known = self._before.findings.get(key)
        unhealthy = self._unhealthy.get(node.node_name)
        if known is not None and self._memory.is_unchanged(key, node) and known.unhealthy == unhealthy:
            return known if self._is_as_stopped_before else self._as_stopped(node, known)
        wanted = self._survey.should_disrupt.of(node)
        blockers = self._survey.of(node, wanted)
        self._memory.note(key, node, blockers)
        outlook = None
        if known is not None:
            if _are_same(known.blockers, blockers):
                blockers, outlook = known.blockers, known.outlook
            elif [(one.code, one.is_wanted) for one in known.blockers] == [
                (one.code, one.is_wanted) for one in blockers
            ]:
                outlook = known.outlook
        drain = drain_state(self.fleet, node)
        found = NodeFindings(
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
        found = self._judged(node, taken_over(found, known), drain, wanted)
        return known if known is not None and _is_same(known, found) else found

    def _judged(self, node: StateNode, found: NodeFindings, drain: DrainState, wanted: WantedBy | None) -> NodeFindings:
        """Return findings with lanes and WHY.

        Args:
            node: The node.
            found: What is known of it.
            drain: How far its end has come.
            wanted: Which methods want it; worked out where None.
        """
        now = found.outlook.now if found.outlook is not None else None
        lanes: tuple[Lane, ...] = ()
        if node.claim is not None:
            wanted = self._survey.should_disrupt.of(node) if wanted is None else wanted
            own = methods_for(self.fleet, node)
            has_repair = self._survey.should_disrupt.repair is not None
            methods = [one for one in Method if one in own or (has_repair and one is Method.REPAIR)]
            lanes = lanes_of(methods, wanted, found.blockers, now, self._with_others.get(found.node_name))
        why = why_of(self.fleet, NodeCase(node, found.blockers, lanes, drain, now), self._stopped)
        return msgspec.structs.replace(found, lanes=lanes, why=why)

    def _as_stopped(self, node: StateNode, known: NodeFindings) -> NodeFindings:
        """Return findings of a node of which nothing changed but what stops the whole cluster."""
        found = self._judged(node, known, drain_state(self.fleet, node), None)
        return known if known.why == found.why else found

    @cached_property
    def _with_others(self) -> dict[str, Outcome]:
        """What MultiNodeConsolidation would do next, by node."""
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
        """Whether a node is there and its removal has not been simulated on this generation."""
        node = self._nodes.get(key)
        return node is not None and node.claim is not None and self._simulated_in.get(key, -1) < self._unchanged_since

    def is_outdated(self, key: str) -> bool:
        """Whether a node has no answer yet, or only one of other prices or one that is about to count."""
        return self._simulated_in.get(key, -1) < max(self._counted_from, 0)

    def unsimulated(self) -> tuple[str, ...]:
        """Return the keys that are left: nodes of which nothing is known, then the oldest answers; held ones first.

        Of those the dear ones come first.
        """

        def rank(key: str) -> tuple[int, bool, float]:
            found = self._findings[key]
            return self._simulated_in.get(key, -1), not found.is_held, -(found.price_per_hour or 0.0)

        return tuple(sorted((key for key in self._findings if self.is_open(key)), key=rank))

    def simulate(self, key: str) -> None:
        """Work out what becomes of a node, now and without what keeps it."""
        node, known = self._nodes[key], self._findings[key]
        outlook = self._look(node, known.blockers)
        self._simulated_in[key] = self._generation
        found = simulated(known, outlook, self.fleet.now_ns)
        if not _is_same(known, found):  # else the row stays the same object, so that nobody draws it again
            self._findings[key] = self._judged(node, found, drain_state(self.fleet, node), None)
        if key in self._early:
            self._early.discard(key)
            self._count_once_known()

    def count_alone(self, key: str) -> None:
        """Have a node count by its own simulation, for who looks at no other."""
        self._early.discard(key)
        self._findings[key] = counted(self._findings[key])

    def _count_once_known(self) -> None:
        """Count all held nodes at once, when none is left that has not been simulated."""
        if not self._early:
            self._is_counted = True
            for key, found in self._findings.items():
                if found.is_early:
                    self._findings[key] = counted(found)

    def _look(self, node: StateNode, blockers: tuple[Blocker, ...]) -> NodeOutlook:
        now = billed_verdict(verdict_of(self._outlook.now(node, blockers)), self._prices)
        if not blockers:
            return NodeOutlook(now=now, lifted=now, freed=now)
        others = (*self._survey.cluster, *blockers)
        without = tuple(self._outlook.without(node, one, others).outcome for one in blockers)
        by_code: dict[Code, Outcome] = {}
        for code in dict.fromkeys(one.code for one in blockers):
            lifted = [one for one in blockers if one.code is code]
            left = [one for one in others if one.code is not code]
            by_code[code] = self._outlook.without_all(node, lifted, left).outcome
        holding = [one for one in blockers if one.is_wanted]
        freed = self._outlook.without_all(node, holding, [one for one in blockers if not one.is_wanted])
        free = now if now.goes else billed_verdict(verdict_of(self._outlook.lifted(node, blockers)), self._prices)
        return NodeOutlook(
            now=now,
            lifted=free,
            freed=billed_verdict(verdict_of(freed), self._prices) if holding else now,
            without=without,
            without_code=by_code,
        )

    def look_closely(self, key: str) -> None:
        """Work out the gates of a node, and where each of its pods would land."""
        node = self._nodes.get(key)
        if node is None:
            return
        gates = all_gates(self.fleet, node)
        resolved = self.fleet.resolved(node.nodepool_name)
        if node.claim is None or resolved is None:
            is_there = node.nodepool_name in self.fleet.pools
            why = "no instance types are known for its NodePool" if is_there else "its NodePool is not known"
            why = why if node.claim is not None else "Karpenter does not manage it"
            self._detail = NodeDetail(key, gates, problem=f"no removal can be simulated: {why}")
            return
        pool, book = resolved
        use = self.fleet.use.get(pool.name)
        budgets = tuple(
            budget_state(pool, reason, use, self.fleet.now_ns) for reason in reasons_of(self.fleet.settings)
        )
        detail = NodeDetail(key, gates, budgets=budgets, consolidation_policy=pool.consolidation_policy)
        if node.node is None:
            self._detail = msgspec.structs.replace(detail, problem="no removal can be simulated: there is no node")
            return
        candidate = Candidate(self.fleet, node, pool, book)
        pinned = frozenset(pod.uid for pod in node.pods)
        simulator = LiftingSimulator(EngineSimulator(self._prepared, self.fleet), pinned)
        try:
            landings = landings_of(simulator.remove((candidate,), is_consolidation=True))
        except SimulationError as error:
            # Of a static NodePool's node Karpenter simulates no removal: it is replaced as it is.
            self._detail = detail if pool.is_static else msgspec.structs.replace(detail, problem=str(error))
            return
        own = {pod.key: landings[pod.key] for pod in candidate.reschedulable_pods if pod.key in landings}
        self._detail = msgspec.structs.replace(detail, landings=MappingProxyType(own))

    # The whole cluster

    def ask_next(self, simulator: Simulator | None = None) -> None:
        """Work out what Karpenter would do next; the longest step of all.

        Args:
            simulator: Removes nodes; it may raise an exception of its own to break off.
        """
        found = next_pass(self._prepared, self.fleet, simulator)
        self._next = self._report(found)
        if found.paused_by:
            then = next_pass(self._prepared, self.fleet, simulator, ignores_pause=True)
            self._next = msgspec.structs.replace(self._next, then=self._report(then))
        before = self._with_others
        del self.__dict__["_with_others"]
        for key, node in self._nodes.items():
            name = node.node_name
            if before.get(name) != self._with_others.get(name):
                known = self._findings[key]
                self._findings[key] = self._judged(node, known, drain_state(self.fleet, node), None)

    def _report(self, found: NextPass) -> NextReport:
        acting = found.acting
        return NextReport(
            method="" if acting is None else str(acting.method),
            reason="" if acting is None else str(acting.method.reason),
            commands=tuple(billed_command(_command(one), self._prices) for one in found.commands),
            asked=tuple((str(result.method), len(result.candidates)) for result in found.results),
            paused_by=found.paused_by,
            unhealthy=tuple(name for name, one in self._unhealthy.items() if one.deletes(self.fleet.now_ns)),
            error=found.error,
            unknown=len({one.name for result in found.results for one in result.candidates if one.is_type_guessed}),
            generation=self._generation,
        )

    def compare_pools(self) -> Iterator[None]:
        """Work out which NodePools could take which pods; yields between two steps."""
        for found in overlap_steps(self._prepared, self._generation):
            if found is not None:
                self._overlap = found
            yield

    def simulate_joint(self, before: Callable[[], None] | None = None) -> bool:
        """Simulate one joint removal that a screen asked for; return whether there was one.

        Args:
            before: Called before each simulation; what it raises ends the work.
        """
        if not self._joint.is_asked:
            return False
        self._joint.simulate(self._joint_removals(before).of)
        return True

    def simulate_joint_at_once(self) -> None:
        """Simulate joint removals as soon as they are asked for, for callers that can wait."""
        self._joint.simulate_at_once(self._joint_removals().of)

    def _joint_removals(self, before: Callable[[], None] | None = None) -> JointRemovals:
        return JointRemovals(self._prepared, self.fleet, prices=self._prices, before=before)

    def engine(self, before: Callable[[], None]) -> EngineSimulator:
        """Return what removes nodes in simulations of this generation.

        Args:
            before: Called before each removal; what it raises ends the search.
        """
        return EngineSimulator(self._prepared, self.fleet, before=before)


def study_all(study: DisruptionStudy, keys: Iterable[str] | None = None) -> Analysis:
    """Return the whole analysis at once, for those who can wait.

    Args:
        study: A study that has not begun.
        keys: Nodes whose removal is simulated; all where None.
    """
    for _ in study.survey():
        pass
    study.simulate_joint_at_once()
    for key in study.unsimulated() if keys is None else keys:
        if study.is_open(key):
            study.simulate(key)
    return study.analysis


def with_others(report: NextReport | None) -> dict[str, Outcome]:
    """Return what MultiNodeConsolidation would do next, by node; nothing where another method acts."""
    if report is None or report.method != Method.MULTI_NODE:
        return {}
    return {name: Outcome(one.decision) for one in report.commands for name in one.node_names}


def _stopped(cluster: Iterable[Blocker]) -> frozenset[Method]:
    """Return the methods that something stops for every node."""
    return frozenset(method for one in cluster for method in one.blocks)


def _command(command: Command) -> NextCommand:
    return NextCommand(
        decision=str(command.decision),
        node_names=tuple(candidate.node.node_name for candidate in command.candidates),
        replacements=replacements_of(command),
        savings_per_hour=command.known_savings,
        lost_pods=lost_pods(pod for one in command.candidates for pod in one.reschedulable_pods),
    )


def _are_same(left: tuple[Blocker, ...], right: tuple[Blocker, ...]) -> bool:
    if len(left) != len(right):
        return False
    return all(msgspec.structs.astuple(a) == msgspec.structs.astuple(b) for a, b in zip(left, right, strict=True))


def _is_same(left: NodeFindings, right: NodeFindings) -> bool:
    return msgspec.structs.astuple(left) == msgspec.structs.astuple(right)
