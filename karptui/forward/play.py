"""Karpenter and kube-scheduler under a clock: the same decisions, one after the other, each on what the last left.

Rules: ``pkg/controllers/disruption/controller.go`` and ``queue.go``, ``controller.go`` and ``batcher.go`` of
``pkg/controllers/provisioning``,
``pkg/controllers/nodeclaim/disruption/consolidation.go``, ``pkg/controllers/nodeclaim/expiration/controller.go``.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Final

import msgspec

from karptui.disruption.candidate import Candidate
from karptui.disruption.chance import LIKELIEST, Chance
from karptui.disruption.command import Command, Decision, Method, MethodResult
from karptui.disruption.events import Recorder
from karptui.disruption.fleet import Fleet
from karptui.disruption.json_form import command_json, template_json
from karptui.disruption.methods import MethodRun, NextPass, next_pass
from karptui.disruption.price import ReckonedPrices, pool_costs
from karptui.disruption.removal import EngineSimulator
from karptui.disruption.simulation import Simulation, Simulator
from karptui.disruption.validation import VALIDATED, validated
from karptui.forward.agenda import Agenda, Turn
from karptui.forward.calendar import Calendar
from karptui.forward.draining import Drains
from karptui.forward.durations import Durations
from karptui.forward.jobs import job_times
from karptui.forward.journal import Journal
from karptui.forward.kubectl_drain import KubectlDrain
from karptui.forward.launching import Launch, LaunchOrder, launch, order_of, ready
from karptui.forward.likeness import Likeness
from karptui.forward.result import Failure, Moment, Played, StepKind
from karptui.forward.scheduling import Scheduler
from karptui.forward.sight import Sight
from karptui.forward.static_pools import DEPROVISIONING, StaticPools
from karptui.forward.waiting import Running, ends_ns, given_up_ns, waiting
from karptui.forward.world import World, pending_count
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import NODEPOOL
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.settings import Settings
from karptui.kube.pod import Pod
from karptui.kube.timestamps import ABSENT_NS, NS_PER_SECOND
from karptui.provisioning.instance_types import InstanceTypes
from karptui.provisioning.pool_order import served_pools
from karptui.provisioning.reporter import Pause, Reporter, no_pause, silent
from karptui.provisioning.run import UNCONCERNED
from karptui.provisioning.solution import NewClaim, solve
from karptui.provisioning.template import template_requirements

MAX_STEPS: Final = 20_000
"""Steps after which a play ends whatever it is doing: a cluster that replaces the same nodes for ever."""
_RENEWED_NS: Final = 10 * NS_PER_SECOND
"""How often provisioning looks again for pods without a place: ``RequeueAfter`` of its triggers."""
_TO_EVICTION_NS: Final = NS_PER_SECOND // 2
"""From a command to its first eviction: controllers delete NodeClaim and Node, and taint it, one after the other."""


class _Counting:
    """Simulates removals, and counts them: each takes Karpenter its time."""

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator
        self.count = 0

    def remove(
        self,
        candidates: Sequence[Candidate],
        *,
        is_consolidation: bool,
        with_blocked: bool = False,
        credited: str = "",
    ) -> Simulation:
        """Return where pods would land without the candidates."""
        self.count += 1
        return self._simulator.remove(
            candidates, is_consolidation=is_consolidation, with_blocked=with_blocked, credited=credited
        )


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
        journal: Journal | None = None,
        reporter: Reporter = silent,
        pause: Pause = no_pause,
    ) -> None:
        """Set the scene.

        Args:
            inventory: The cluster.
            types: One list of instance types for all NodePools, or a list by NodePool name.
            settings: Karpenter's own.
            now_ns: When the play begins.
            until_ns: The horizon.
            durations: How long things take.
            seed: Decides what kube-scheduler and Karpenter leave to chance; with 0 Karpenter does the likeliest.
            most_commands: Commands of disruption after which it ends; None for no bound.
            journal: Gets every change, to tell later how the cluster was at an instant.
            reporter: Told of the time that has passed and the whole, in seconds; may raise ``Cancelled``.
            pause: Called now and then while something is worked out.
        """
        self.world = World(inventory, journal)
        self._journal = journal
        self._agenda = Agenda(now_ns)
        self._pools = {pool.name: pool for pool in served_pools(inventory.nodepools)}
        """By name; NodePools stay as they are."""
        self._settings = settings
        self._from_ns = now_ns
        self._until_ns = until_ns
        self._durations = durations
        self._rng = random.Random(seed)  # noqa: S311 - a choice among equals, not a secret
        self._chance = Chance(random.Random(seed)) if seed else LIKELIEST  # noqa: S311 - the same
        self._reporter = reporter
        self._most_commands = most_commands
        self._commands = 0
        self._calendar = Calendar(self.world, self._agenda, self._pools)
        self.sight = Sight(self.world, self._agenda, self._pools, types, settings, pause=pause)
        self._drains = Drains(self.world, self._agenda, self._calendar, durations, self.sight.fleet)
        self._series: list[Moment] = []
        self._first_node = 0
        """Where kube-scheduler begins its next search."""
        self._price = (-1, 0.0)
        """What the cluster costs, with the version of its NodeClaims."""
        is_heeded = settings.gate("StaticCapacity")
        static = tuple(pool for pool in self._pools.values() if pool.is_static) if is_heeded else ()
        self._static = StaticPools(self.world, static, self.fleet)
        self._job_times = job_times(inventory.pods)
        self._books: Mapping[str, ReckonedPrices] = {}
        self._running: list[Running] = []
        self._take_up()
        self._is_provisioning_due = self._is_disruption_due = False
        self._is_busy = False
        self._is_following = False
        """Whether the look that follows a command at once is yet to come."""
        self._evicting_ns = now_ns
        """When the pods of the nodes of a command begin to be evicted, however long the looks that follow take."""
        self._seen_by_scheduler = 0
        self._seen_by_disruption = -1
        self._seen_by_provisioning = -1
        self._looked_ns = now_ns - durations.poll_ns
        """When disruption last found nothing to do."""
        self._expected: frozenset[str] = frozenset()
        """Nodes on which provisioning expects pods, since when it last looked anew."""
        self._expected_ns = now_ns
        self._made = 0
        self._by_hand: KubectlDrain | None = None
        self._simulated = 0
        """Removals that the last pass has simulated."""
        self._likeness = Likeness(inventory)

    def run(self) -> Played:
        """Play until nothing more is to happen, or until the horizon.

        Raises:
            Cancelled: when the reporter does.
        """
        self._books = self.sight.fleet().books
        self._begin()
        self._react()
        problem = ""
        agenda = self._agenda
        while agenda.next_ns is not None and agenda.next_ns <= self._until_ns:
            if len(agenda.steps) >= MAX_STEPS:
                problem = f"it was broken off after {MAX_STEPS} steps"
                break
            if self._has_ended:
                problem = f"it ends after {self._commands} commands, as asked"
                break
            passed_ns = agenda.next_ns - self._from_ns
            self._reporter(passed_ns // NS_PER_SECOND, (self._until_ns - self._from_ns) // NS_PER_SECOND)
            agenda.advance()
            self._react()
            if self._by_hand is not None and self._by_hand.is_over and not self._is_starting():
                self._until_ns = self.now_ns
        is_quiescent = not problem and agenda.has_only_dates
        if not problem:
            agenda.now_ns = self._until_ns
        self._note_moment()
        return Played(
            from_ns=self._from_ns,
            until_ns=(agenda.steps[-1].at_ns if agenda.steps else self._from_ns) if is_quiescent else self.now_ns,
            is_quiescent=is_quiescent,
            steps=tuple(agenda.steps),
            series=tuple(self._series),
            kept=(),
            waits=self.world.waits(),
            assumptions=(),
            not_modelled=(),
            problem=problem,
        )

    @property
    def now_ns(self) -> int:
        """The instant that is played."""
        return self._agenda.now_ns

    @property
    def _has_ended(self) -> bool:
        """Whether there have been as many commands as are asked for."""
        return self._most_commands is not None and self._commands >= self._most_commands

    def delete_node(self, name: str) -> None:
        """Delete a node that Karpenter made, as somebody does by hand; others are left alone."""
        node = self.world.nodes.get(name)
        claim = self.world.claim_of(node) if node is not None else self.world.claims.get(name)
        if claim is not None and not claim.is_deleting:
            self.world.delete_claim(claim, self.now_ns)

    def drain_by_hand(self, names: Sequence[str], at_once: int) -> KubectlDrain:
        """Drain nodes that Karpenter did not make, so many at a time; the play ends when the last new node is ready."""
        self._by_hand = KubectlDrain(
            self.world, self._agenda, self._durations, self._drains.pod_gone, names=names, at_once=at_once
        )
        return self._by_hand

    def _is_starting(self) -> bool:
        """Return whether a node is on its way."""
        return any(not one.is_deleting and not one.is_true("Initialized") for one in self.world.claims.values())

    def _begin(self) -> None:
        self._seen_by_scheduler = self.world.room_version
        for claim in list(self.world.claims.values()):
            self._calendar.expect_expiry(claim)
            self._calendar.expect_consolidatable(claim)
            if not claim.is_true("Initialized") and not claim.is_deleting:
                start_ns = max(claim.created_ns, 0) + self._durations.start_of(claim.labels.get(NODEPOOL, ""))
                lost_ns = given_up_ns(claim)
                if lost_ns is not None and lost_ns <= max(start_ns, self.now_ns):
                    self._agenda.at(lost_ns, partial(self._delete, (claim.name,)))
                else:
                    self._agenda.at(max(start_ns, self.now_ns), partial(self._become_ready, claim.name))
        for pod in list(self.world.pods.values()):
            if pod.is_terminating:
                self._agenda.at(pod.deletion_ns, partial(self._drains.pod_gone, pod.uid))
            elif pod.node_name and pod.phase == "Pending":
                self._agenda.at(self.now_ns + self._durations.pod_start_ns, partial(self._pod_started, pod.uid))
            elif pod.node_name and pod.is_active:
                self._expect_end(pod)
        predicates = self.sight.fleet().pods
        for pod in self.world.pods.values():
            until_ns = predicates.protection(pod).until_ns
            if until_ns != ABSENT_NS and until_ns > self.now_ns:
                self._agenda.at(until_ns, self._agenda.wake, Turn.CALENDAR)
        self._calendar.expect_budgets(self._until_ns)
        self._note_moment()
        for running in list(self._running):
            self._conclude(running)

    def _take_up(self) -> None:
        """Let commands that have begun go on; those whose replacements are gone leave their nodes as they were."""
        for one in waiting(self.world.nodes.values(), self.world.claims.values()):
            if one.replacements:
                self.world.hold(one.claim_name)
                self._await(Running([one.claim_name], one.awaited, one.began_ns))
            else:
                self.world.release(one.node_name)

    def _await(self, running: Running) -> None:
        """Wait for the replacements of a command, as long as Karpenter does."""
        self._running.append(running)
        if running.awaited and self._durations.poll_ns:
            self._agenda.at(ends_ns(running, self._running) + 1, partial(self._time_out, running), Turn.CALENDAR)

    def _time_out(self, running: Running) -> None:
        """Give a command up whose time is over."""
        if running not in self._running:
            return
        end_ns = ends_ns(running, self._running)
        if self.now_ns > end_ns:
            self._fail(running, Failure.TIMEOUT)
        else:
            self._agenda.at(end_ns + 1, partial(self._time_out, running), Turn.CALENDAR)

    def _fail(self, running: Running, why: Failure) -> None:
        """Leave the nodes of a command as they were; replacements that come nevertheless stay until they are empty."""
        self._running.remove(running)
        nodes = []
        for name in running.claims:
            claim = self.world.claims.get(name)
            node = self.world.node_of(claim) if claim is not None else None
            if node is not None:
                nodes.append(node.name)
                self.world.release(node.name)
        self._agenda.note(StepKind.REJECT, method=running.method, nodes=tuple(sorted(nodes)), because=why)

    def _conclude(self, running: Running) -> None:
        """Delete the nodes of a command that waits for nothing any more."""
        if not running.awaited:
            self._running.remove(running)
            self._delete(running.claims)
        elif not running.awaited <= self.world.claims.keys():
            self._fail(running, Failure.REPLACEMENT_GONE)

    # What is worked out of the world as it is

    def fleet(self) -> Fleet:
        """Return the cluster as it is now, as disruption sees it."""
        return self.sight.fleet()

    def _note_moment(self) -> None:
        if self._journal is not None:
            self._journal.close(self.now_ns)
        if self._price[0] != self.world.claims_version:
            costs = pool_costs(self.world.claims.values(), self._books)
            self._price = (self.world.claims_version, round(sum(costs.values()), 6))
        moment = Moment(
            self.now_ns,
            len(self.world.nodes),
            self._price[1],
            pending_count(self.world.without_node),
        )
        if len(self._series) > 1 and self._series[-1].at_ns == self.now_ns:
            self._series[-1] = moment
        elif not self._series or msgspec.structs.replace(self._series[-1], at_ns=self.now_ns) != moment:
            self._series.append(moment)

    # Reactions to what has changed

    def _react(self) -> None:
        """Let everybody who watches the cluster see what has changed, until nobody does anything at this instant."""
        world = self.world
        self._keep_replicas()
        for running in tuple(self._running):
            self._conclude(running)
        if self._by_hand is not None:
            self._by_hand.advance()
        if not self._is_following:
            self._drains.advance()
        if self._seen_by_scheduler != world.room_version:
            self._schedule()
        self._seen_by_scheduler = world.room_version
        if not self._is_provisioning_due and self._seen_by_provisioning != world.version and self._has_homeless():
            self._is_provisioning_due = True
            self._agenda.at(self.now_ns + self._durations.batch_ns, self._provision, Turn.PROVISIONING)
        if self._expected and not self._has_homeless():
            self._expect(frozenset())
        if not self._is_disruption_due and not self._is_busy and self._is_news():
            self._look_at(self._next_look_ns())
        self._note_moment()

    def _follow(self) -> None:
        """Look again at once after a command, before the first pod of its nodes is evicted."""
        if not self._is_following:
            self._evicting_ns = self.now_ns + _TO_EVICTION_NS
        self._is_following = self._durations.poll_ns > 0
        self._look_at(self.now_ns)

    def _look_at(self, at_ns: int) -> None:
        self._is_disruption_due = True
        self._agenda.at(at_ns, self._disrupt, Turn.DISRUPTION)

    def _next_look_ns(self) -> int:
        """Return when disruption looks next: so often since it last found nothing."""
        poll_ns = self._durations.poll_ns
        if not poll_ns:
            return self.now_ns
        return self._looked_ns + max(1, -((self._looked_ns - self.now_ns) // poll_ns)) * poll_ns

    def _is_news(self) -> bool:
        return self._seen_by_disruption != self.world.news or self._agenda.is_woken

    def _has_homeless(self) -> bool:
        """Return whether a pod waits for a node, or stands on one that goes or is to go."""
        if self.world.leaving or self.world.commanded:
            return True
        return any(pod.scheduled_reason == "Unschedulable" for pod in self.world.unbound())

    def _schedule(self) -> None:
        pods = self.world.unbound()
        if not pods:
            return
        prepared = self.sight.prepared()
        closed = [
            state.provider_id
            for state in prepared.states
            if state.node is None or not state.is_initialized or state.is_marked_for_deletion
        ]
        scheduler = Scheduler(prepared, closed, self._rng, self.world.bound, self._first_node)
        found = scheduler.place(pods)
        self._first_node = scheduler.first
        by_uid = {pod.uid: pod for pod in pods}
        placed: dict[str, list[str]] = {}
        for uid, name in found.items():
            self.world.bind(by_uid[uid], name, self.now_ns)
            placed.setdefault(name, []).append(by_uid[uid].key)
            self._agenda.at(self.now_ns + self._durations.pod_start_ns, partial(self._pod_started, uid))
            self._calendar.expect_quiet(name)
        for pod in pods:
            if pod.uid not in found:
                self.world.mark_unschedulable(pod)
        if found:
            keys = tuple(sorted(key for keys in placed.values() for key in keys))
            self._agenda.note(StepKind.BIND, nodes=tuple(sorted(placed)), pods=keys)

    # Provisioning

    def _provision(self) -> None:
        self._is_provisioning_due = False
        if not self._has_homeless():
            return
        prepared = self.sight.prepared()
        solution = solve(prepared, watch=UNCONCERNED)
        self._seen_by_provisioning = self.world.version
        self._expect(frozenset(filled.state.name for filled in solution.nodes if filled.pods))
        made = [claim for claim in solution.claims if self._launch_new(claim)]
        if made:
            self._agenda.note(
                StepKind.PROVISION,
                claims=tuple(one.as_json() for one in made),
                pods=tuple(sorted(pod.key for one in made for pod in one.pods)),
            )

    def _expect(self, names: frozenset[str]) -> None:
        """Leave nodes alone for as long as provisioning finds, again and again, that pods go there."""
        window_ns, now_ns = self._durations.nomination_ns, self.now_ns
        for name in sorted(self._expected - names):
            self._nominate(name, window_ns - (now_ns - self._expected_ns) % _RENEWED_NS)
        self._expected_ns = now_ns
        if window_ns:
            self._expected = names
            self.sight.expect(names)

    def _nominate(self, name: str, for_ns: int) -> None:
        """Leave a node alone for a while, as pods are expected on it."""
        if for_ns:
            self.sight.nominate(name, self.now_ns + for_ns)
            self._agenda.at(self.now_ns + for_ns, self._agenda.wake)

    def _launch_new(self, claim: NewClaim) -> bool:
        prepared = self._prepare_launch(order_of(claim))
        if prepared is not None:
            self._launch(prepared)
        return prepared is not None

    def _prepare_launch(self, order: LaunchOrder) -> Launch | None:
        """Return the NodeClaim that an order comes to; None where nothing is on offer."""
        self._made += 1
        name = f"{order.pool.name}-f{self._made:04d}"
        return launch(order, self._settings.rules, name=name, now_ns=self.now_ns)

    def _launch(self, one: Launch) -> str:
        """Add a NodeClaim to the cluster, and return its name."""
        claim = one.claim
        self.world.add_claim(claim)
        ready_ns = self.now_ns + self._durations.start_of(claim.labels[NODEPOOL])
        self._agenda.at(ready_ns, partial(self._become_ready, claim.name))
        return claim.name

    def _become_ready(self, name: str) -> None:
        claim = self.world.claims.get(name)
        if claim is None or claim.is_deleting or claim.is_true("Initialized"):
            return
        claim, node = ready(claim, self.world.node_of(claim), self.now_ns)
        self.world.add_claim(claim)
        self._nominate(node.name, self._durations.nomination_ns)
        self.world.add_node(node)
        self._agenda.note(StepKind.READY, nodes=(node.name,))
        self._calendar.expect_expiry(claim)
        self._calendar.expect_consolidatable(claim)
        for running in self._running:
            running.awaited.discard(name)

    # Disruption

    def _disrupt(self, after: Method | None = None) -> None:
        """Ask the methods in turn, or those after one whose second look came to nothing."""
        if self._has_ended:
            return
        is_following = self._is_following
        self._is_disruption_due = self._agenda.is_woken = self._is_following = False
        self._seen_by_disruption = self.world.news
        acting = self._pass(after).acting
        taken_ns = self._simulated * self._durations.simulation_ns
        if acting is None:
            self._looked_ns = self.now_ns + taken_ns
            if after is not None:
                self._seen_by_disruption = -1
            return
        if acting.method in VALIDATED and self._durations.is_validating:
            self._is_busy = True
            (command,) = acting.commands
            look = partial(self._validate, acting.method, command)
            self._agenda.at(self.now_ns + taken_ns + self._durations.validation_ns, look)
        elif taken_ns:
            self._is_busy = True
            self._is_following = is_following and self.now_ns + taken_ns < self._evicting_ns
            self._agenda.at(self.now_ns + taken_ns, partial(self._carry_out, acting), Turn.DISRUPTION)
        else:
            self._carry_out(acting)

    def _carry_out(self, acting: MethodResult) -> None:
        """Carry out what a method has found."""
        self._is_busy = False
        executed = [self._execute(acting.method, command) for command in acting.commands]
        if any(executed):
            self._follow()
        else:
            self._looked_ns = self.now_ns

    def _pass(self, after: Method | None = None) -> NextPass:
        """Return what a pass comes to, and count what it simulates."""
        prepared, fleet = self.sight.prepared(), self.sight.fleet()
        simulator = _Counting(EngineSimulator(prepared, fleet, is_brief=True))
        found = next_pass(prepared, fleet, simulator, after=after, chance=self._chance)
        self._simulated = simulator.count
        return found

    def _validate(self, method: Method, command: Command) -> None:
        """Look again: what was found is carried out if it still holds."""
        self._is_busy = False
        prepared, fleet = self.sight.prepared(), self.sight.fleet()
        simulator = EngineSimulator(prepared, fleet)
        found = validated(MethodRun(fleet, simulator, Recorder()), simulator, method, command)
        if found is None:
            names = tuple(sorted(one.name for one in command.candidates))
            self._agenda.note(StepKind.REJECT, method=str(method), nodes=names, because=Failure.NO_LONGER_VALID)
            self._disrupt(method)
        elif self._execute(method, found):
            self._follow()

    def _execute(self, method: Method, command: Command) -> bool:
        """Carry out a command; one of whose replacements nothing is on offer fails, and its nodes stay."""
        if self._has_ended:
            return False
        candidates = command.candidates
        nodes = tuple(sorted(one.name for one in candidates))
        launches = [self._prepare_launch(order) for order in self._orders(command)]
        if None in launches:
            decision = str(command.decision)
            why = Failure.NOTHING_ON_OFFER
            self._agenda.note(StepKind.REJECT, method=str(method), decision=decision, nodes=nodes, because=why)
            return False
        self._commands += 1
        moved = [pod for one in candidates for pod in one.reschedulable_pods]
        told = command_json(command)
        self._agenda.note(
            StepKind.DISRUPT,
            method=str(method),
            decision=str(command.decision),
            nodes=nodes,
            looks=tuple(sorted(self._likeness.of(one.name, one.node.labels) for one in candidates)),
            claims=tuple(told["replacements"]),
            savings_per_hour=told["savings"],
            evictions=len(moved),
            pods=tuple(sorted(pod.key for pod in moved)),
        )
        if command.decision is Decision.REBOOT:
            self._reboot(command)
            return True
        for one in candidates:
            self.world.taint(one.name, str(method.reason), self.now_ns)
        awaited = {self._launch(one) for one in launches if one is not None}
        for name, pods in command.simulation.placements.items() if command.simulation is not None else ():
            if pods:
                self._nominate(name, self._durations.nomination_ns)
        claims = [one.claim.name for one in candidates]
        if awaited:
            self._await(Running(claims, awaited, self.now_ns, str(method)))
        else:
            self._delete(claims)
        return True

    def _orders(self, command: Command) -> Iterable[LaunchOrder]:
        if command.decision is Decision.TERMINATE_FIRST:
            return
        for node in command.replacements:
            yield LaunchOrder(
                self._pools[node.pool_name],
                [node.book.types[name] for name in node.type_names],
                node.requirements,
                node.requests,
                node.pods,
                node.annotations,
            )
        for one in command.candidates[: command.from_template]:
            yield template_order(one.pool, one.book)

    def _reboot(self, command: Command) -> None:
        """Take a node that was started anew as healthy: its conditions go."""
        for one in command.candidates:
            node = self.world.nodes.get(one.name)
            if node is not None:
                kept = tuple(found for found in node.conditions if found.type == "Ready")
                healthy = tuple(msgspec.structs.replace(found, status="True") for found in kept)
                self.world.add_node(msgspec.structs.replace(node, conditions=healthy))

    def _delete(self, names: Iterable[str]) -> None:
        for name in names:
            claim = self.world.claims.get(name)
            if claim is not None and not claim.is_deleting:
                self.world.delete_claim(claim, self.now_ns)

    def _pod_started(self, uid: str) -> None:
        self.world.start(uid, self.now_ns)
        pod = self.world.pods.get(uid)
        if pod is not None and pod.is_active:
            self._expect_end(pod)

    def _expect_end(self, pod: Pod) -> None:
        """Enter when a pod of a Job ends, where its kind tells."""
        ends_ns = self._job_times.end_of(pod, pod.start_ns, self.now_ns)
        if ends_ns is not None:
            self._agenda.at(ends_ns, partial(self._pod_ends, pod.uid), Turn.CALENDAR)

    def _pod_ends(self, uid: str) -> None:
        pod = self.world.pods.get(uid)
        node_name = self.world.end(uid, self.now_ns)
        if node_name and pod is not None:
            self._agenda.note(StepKind.JOB_ENDS, nodes=(node_name,), pods=(pod.key,))
            self._calendar.expect_quiet(node_name)

    # Static NodePools

    def _keep_replicas(self) -> None:
        """Bring static NodePools to their replicas."""
        for claim in self._static.surplus():
            self.world.delete_claim(claim, self.now_ns)
            node = self.world.node_of(claim)
            moved = tuple(sorted(pod.key for pod in self.world.pods_on(node.name))) if node is not None else ()
            self._agenda.note(
                StepKind.DISRUPT,
                method=DEPROVISIONING,
                decision=str(Decision.DELETE),
                nodes=(node.name if node is not None else claim.name,),
                evictions=len(moved),
                pods=moved,
            )
        made: list[NodePool] = []
        for pool, count in self._static.missing():
            book = self._books.get(pool.name)
            for _ in range(count if book is not None else 0):
                one = self._prepare_launch(template_order(pool, book)) if book is not None else None
                if one is not None:
                    self._launch(one)
                    made.append(pool)
        if made:
            self._agenda.note(StepKind.PROVISION, claims=tuple(template_json(pool) for pool in made))


def template_order(pool: NodePool, book: ReckonedPrices) -> LaunchOrder:
    """Return the order of a node of a static NodePool: its template as it stands."""
    return LaunchOrder(pool, tuple(book.types.values()), template_requirements(pool), {})
