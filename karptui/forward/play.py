"""Karpenter and kube-scheduler over simulated time: the same decisions, each on the state that the last one left."""

from __future__ import annotations

import random
from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial
from typing import Final

import msgspec

from karptui.aws.prices import LIST_PRICES, PriceSettings
from karptui.disruption.candidate import LIKELIEST, Chance
from karptui.disruption.drain import DrainState
from karptui.disruption.launch_price import ReckonedPrices, pool_costs, unpriced_claims
from karptui.disruption.repair import tolerated_until
from karptui.forward.calendar import Agenda, Calendar, Turn
from karptui.forward.command_queue import CommandQueue
from karptui.forward.draining import Drains, KubectlDrain
from karptui.forward.durations import Durations, job_times
from karptui.forward.journal import Journal
from karptui.forward.launching import Launches
from karptui.forward.loops import DisruptionLoop, ProvisioningLoop
from karptui.forward.observation import Observation
from karptui.forward.result import Moment, Played, StepKind
from karptui.forward.static_pools import StaticPools
from karptui.forward.world import World
from karptui.karpenter.do_not_disrupt import protection_of
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.pod_predicates import UNSCHEDULABLE
from karptui.karpenter.settings import Settings
from karptui.kube.pod import Pod
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.provisioning.instance_types import InstanceTypes
from karptui.provisioning.kube_scheduler import Scheduler, is_kube_scheduled
from karptui.provisioning.pool_order import served_pools
from karptui.provisioning.reporter import Pause, Reporter, no_pause, silent


class PodRuns:
    """From the search for a node to the end of a pod."""

    def __init__(
        self,
        world: World,
        agenda: Agenda,
        calendar: Calendar,
        observation: Observation,
        *,
        durations: Durations,
        seed: int,
    ) -> None:
        """Begin with the pods of a cluster.

        Args:
            seed: Decides between nodes that are equal to kube-scheduler.
        """
        self._world = world
        self._agenda = agenda
        self._calendar = calendar
        self._observation = observation
        self._durations = durations
        self._rng = random.Random(seed)  # noqa: S311 - a choice among equals, not a secret
        self._first_node = 0
        """Where kube-scheduler begins its next search."""
        self._seen = -1
        """Version of the cluster's room that was last searched for nodes; none at the beginning."""
        self._left_alone = {pod.uid for pod in world.unbound() if not is_kube_scheduled(pod)}
        """Pods without a node that belong to other schedulers, which are not modelled."""
        self._job_times = job_times(world.inventory.pods)

    def begin(self, pod_gone: Callable[[str], None]) -> None:
        """Enter how the pods go on that are there when the play begins."""
        for pod in list(self._world.pods.values()):
            self._expect_unprotected(pod)
            if pod.is_terminating:
                self._agenda.at(pod.deletion_ns, partial(pod_gone, pod.uid))
            elif pod.fails_to_start(self._agenda.now_ns):
                continue
            elif pod.node_name and pod.phase == "Pending":
                self._agenda.at(self._agenda.now_ns + self._durations.pod_start_ns, partial(self._started, pod.uid))
            elif pod.node_name and pod.is_active:
                self._expect_end(pod)

    def advance(self) -> None:
        """Look for nodes for pods at the beginning, and whenever one may fit that did not before."""
        if self._seen == self._world.room_version:
            return
        is_first = self._seen < 0
        self._schedule()
        self._seen = self._world.room_version
        if is_first:
            # Another scheduler tries again only pods that it has refused before; it may not run at all.
            pods = map(self._world.pods.get, self._left_alone)
            self._left_alone = {pod.uid for pod in pods if pod is not None and pod.scheduled_reason != UNSCHEDULABLE}

    def _schedule(self) -> None:
        pods = [pod for pod in self._world.unbound() if pod.uid not in self._left_alone]
        if not pods:
            return
        scheduler = Scheduler(self._observation.prepared(), self._world.bound, rng=self._rng, first=self._first_node)
        placements = scheduler.place(pods)
        self._first_node = scheduler.first
        by_uid = {pod.uid: pod for pod in pods}
        placed: dict[str, list[str]] = {}
        for uid, name in placements.items():
            self._world.bind(by_uid[uid], name, self._agenda.now_ns)
            placed.setdefault(name, []).append(by_uid[uid].key)
            self._agenda.at(self._agenda.now_ns + self._durations.pod_start_ns, partial(self._started, uid))
            self._calendar.expect_quiet(name)
        for pod in pods:
            if pod.uid not in placements:
                self._world.mark_unschedulable(pod)
        if placements:
            keys = tuple(sorted(key for keys in placed.values() for key in keys))
            self._agenda.note(StepKind.BIND, nodes=tuple(sorted(placed)), pods=keys)

    def _started(self, uid: str) -> None:
        self._world.start(uid, self._agenda.now_ns)
        pod = self._world.pods.get(uid)
        if pod is not None and pod.is_active:
            self._expect_unprotected(pod)
            self._expect_end(pod)

    def _expect_unprotected(self, pod: Pod) -> None:
        """Have disruption look again when the duration of a pod's do-not-disrupt ends."""
        until_ns = protection_of(pod, self._agenda.now_ns).until_ns
        if until_ns > self._agenda.now_ns:
            self._agenda.at(until_ns, self._agenda.wake, Turn.CALENDAR)

    def _expect_end(self, pod: Pod) -> None:
        if (ends_ns := self._job_times.end_of(pod, pod.start_ns, self._agenda.now_ns)) is not None:
            self._agenda.at(ends_ns, partial(self._end, pod.uid), Turn.CALENDAR)

    def _end(self, uid: str) -> None:
        pod = self._world.pods.get(uid)
        node_name = self._world.end(uid, self._agenda.now_ns)
        if node_name and pod is not None:
            self._agenda.note(StepKind.JOB_ENDS, nodes=(node_name,), pods=(pod.key,))
            self._calendar.expect_quiet(node_name)


MAX_STEPS: Final = 20_000
"""Limit of steps, for clusters that replace the same nodes for ever."""


class Play:
    """One cluster, played once."""

    def __init__(
        self,
        inventory: Inventory,
        types: InstanceTypes,
        settings: Settings,
        now_ns: int,
        *,
        until_ns: int,
        durations: Durations,
        seed: int = 0,
        most_commands: int | None = None,
        refused_until_ns: int = 0,
        journal: Journal | None = None,
        reporter: Reporter = silent,
        pause: Pause = no_pause,
        prices: PriceSettings = LIST_PRICES,
        only: Container[str] | None = None,
    ) -> None:
        """Take the inputs.

        Args:
            now_ns: Start of the forecast.
            seed: Seed of what kube-scheduler and Karpenter leave to chance; with 0 Karpenter does the likeliest.
            most_commands: Limit of disruption commands; None for no limit.
            refused_until_ns: When the offerings that EC2 refused are available again; 0 for never.
            reporter: Called with the passed and the total seconds; may raise ``Cancelled``.
            prices: Prices with discounts or surcharges; Karpenter decides by list prices.
            only: Names of the nodes that Karpenter may disrupt voluntarily; None for all.
        """
        self._prices = prices
        self.world = world = World(inventory, journal, settings.rules)
        self._journal = journal
        self._agenda = agenda = Agenda(now_ns)
        pools = {pool.name: pool for pool in served_pools(inventory.nodepools)}  # a forecast does not change NodePools
        self._from_ns = now_ns
        self._until_ns = until_ns
        self._durations = durations
        self._reporter = reporter
        self._settings = settings
        self._calendar = Calendar(world, agenda, pools)
        self.observation = observation = Observation(world, agenda, pools, types, settings, pause=pause)
        self._drains = Drains(world, agenda, self._calendar, durations, observation.fleet)
        self._series: list[Moment] = []
        self._price = (-1, 0.0, 0)
        """Price of the cluster and its unpriced nodes, with the version of NodeClaims it was computed from."""
        self._books: Mapping[str, ReckonedPrices] = {}
        self._launches = launches = Launches(
            world, agenda, self._calendar, observation, durations=durations, rules=settings.rules
        )
        is_enabled = settings.gate("StaticCapacity")
        static = tuple(pool for pool in pools.values() if pool.is_static) if is_enabled else ()
        self._static = StaticPools(world, agenda, self._calendar, launches, pools=static, fleet=observation.fleet)
        self._pods = PodRuns(world, agenda, self._calendar, observation, durations=durations, seed=seed)
        self._queue = queue = CommandQueue(
            world, agenda, launches, durations=durations, observation=observation, pools=pools, most=most_commands
        )
        self._provisioning = ProvisioningLoop(world, agenda, observation, launches, durations)
        chance = Chance(random.Random(seed)) if seed else LIKELIEST  # noqa: S311 - a choice among equals, not a secret
        self.disruption = DisruptionLoop(
            world, agenda, observation, queue, durations=durations, chance=chance, only=only
        )
        self._by_hand: KubectlDrain | None = None
        if refused_until_ns:
            agenda.at(refused_until_ns, self._offer_again, Turn.CALENDAR)

    def run(self) -> Played:
        """Play until nothing more is to happen, or until the horizon."""
        self._books = self.observation.fleet().books
        self._begin()
        self._react()
        problem = ""
        agenda = self._agenda
        while agenda.next_ns is not None and agenda.next_ns <= self._until_ns:
            if len(agenda.steps) >= MAX_STEPS:
                problem = f"it stopped after {MAX_STEPS} steps"
                break
            if self._queue.has_ended:
                problem = f"it ends after {self._queue.count} commands, as asked"
                break
            passed_ns = agenda.next_ns - self._from_ns
            self._reporter(passed_ns // NS_PER_SECOND, (self._until_ns - self._from_ns) // NS_PER_SECOND)
            agenda.advance()
            self._react()
            if self._by_hand is not None and self._by_hand.is_over and not self._launches.is_any_starting:
                self._until_ns = self.now_ns
        is_quiescent = not problem and agenda.has_only_dates
        if not problem:
            agenda.now_ns = self._until_ns
        self._note_moment()
        return Played(
            from_ns=self._from_ns,
            until_ns=(agenda.steps[-1].at_ns if agenda.steps else self._from_ns) if is_quiescent else self.now_ns,
            is_quiescent=is_quiescent,
            next_date_ns=self._next_date_ns if is_quiescent else None,
            steps=tuple(agenda.steps),
            series=tuple(self._series),
            kept=(),
            waits=self.world.waits(),
            lost=tuple(sorted(self.world.lost)),
            assumptions=(),
            not_modelled=(),
            problem=problem,
        )

    @property
    def _next_date_ns(self) -> int | None:
        """The first date after the horizon that the calendar knows."""
        dates = (self._agenda.next_ns, self._calendar.next_edge_ns(self._until_ns))
        return min((date for date in dates if date is not None), default=None)

    @property
    def now_ns(self) -> int:
        """The instant that is played."""
        return self._agenda.now_ns

    @property
    def stalled(self) -> Mapping[str, DrainState]:
        """Drains that make no progress at the start, by node."""
        return self._drains.stalled

    def delete_node(self, name: str) -> None:
        """Delete a node of Karpenter as a user does; ignore other nodes."""
        node = self.world.nodes.get(name)
        claim = self.world.claim_of(node) if node is not None else self.world.claims.get(name)
        if claim is not None and not claim.is_deleting:
            self.world.delete_claim(claim, self.now_ns)

    def drain_by_hand(self, names: Sequence[str], at_once: int) -> KubectlDrain:
        """Drain nodes that Karpenter does not manage; the forecast ends when the last new node is ready."""
        self._by_hand = KubectlDrain(
            self.world, self._agenda, self._durations, self._drains.pod_gone, names=names, at_once=at_once
        )
        return self._by_hand

    def _begin(self) -> None:
        for claim in list(self.world.claims.values()):
            self._calendar.expect_expiry(claim)
            self._calendar.expect_consolidatable(claim)
            self._launches.expect_ready(claim)
        self._drains.expect_stalled()
        self._pods.begin(self._drains.pod_gone)
        self._calendar.expect_budgets(self._until_ns)
        self._expect_repairs()
        self._note_moment()
        self._queue.advance()

    def _offer_again(self) -> None:
        self.observation.offer_again()
        self._books = self.observation.fleet().books
        self._static.look_again()
        self._provisioning.look_again()
        self._agenda.wake()

    def _expect_repairs(self) -> None:
        """Enter when nodes that are unhealthy have been so for too long; none falls ill or recovers in a play."""
        self._calendar.expect_repairs(self._settings)
        for at_ns in tolerated_until(self.observation.fleet()):
            self._agenda.at(at_ns, self._agenda.wake, Turn.CALENDAR)

    def _react(self) -> None:
        """Run all controllers until none of them acts at this instant."""
        self._static.keep_replicas(self._books)
        self._queue.advance()
        if self._by_hand is not None:
            self._by_hand.advance()
        if not self.disruption.is_following:
            self._drains.advance()
        self._pods.advance()
        self._provisioning.advance()
        self.disruption.advance()
        self._note_moment()

    def _note_moment(self) -> None:
        if self._journal is not None:
            self._journal.close(self.now_ns)
        if self._price[0] != self.world.claims_version:
            claims, nodes = self.world.claims.values(), self.world.nodes
            listed = sum(pool_costs(claims, self._books).values())
            left_out = unpriced_claims(claims, self._books)
            paid = listed * self._prices.multiplier
            paid += self._prices.surcharge_per_node_hour * (len(claims) - len(left_out))
            unpriced = sum(1 for claim in left_out if claim.node_name in nodes)
            self._price = (self.world.claims_version, round(paid, 6), unpriced)
        moment = Moment(
            self.now_ns,
            len(self.world.nodes),
            self._price[1],
            sum(pod.is_active for pod in self.world.without_node),
            self._price[2],
        )
        last = self._series[-1] if self._series else None
        if last is not None and len(self._series) > 1 and last.at_ns == self.now_ns:
            self._series[-1] = moment
        elif last is None or msgspec.structs.replace(last, at_ns=self.now_ns, unpriced=moment.unpriced) != moment:
            self._series.append(moment)
        elif last.unpriced < moment.unpriced:
            # Nothing that is listed has changed.
            self._series[-1] = msgspec.structs.replace(last, unpriced=moment.unpriced)
