"""Execution of disruption commands, which wait for their replacements.

Karpenter keeps waiting commands in memory; at the start of a forecast they are derived from objects. A node is
tainted and its NodeClaim marked, then the replacements are created, and once all are initialized the NodeClaim is
deleted. If a replacement is gone, or a restarted Karpenter has forgotten the command, both marks are removed within
seconds. A command times out after ten minutes, later with thousands of nodes.
Rules: ``queue.go`` and ``controller.go`` of ``pkg/controllers/disruption``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

import msgspec

from karptui.disruption.budgets import Reason
from karptui.disruption.command import Command, Decision, Method
from karptui.disruption.events import Recorder
from karptui.disruption.json_form import command_json
from karptui.disruption.repair import Repair
from karptui.disruption.termination import command_condition
from karptui.forward.calendar import Agenda, Turn
from karptui.forward.durations import Durations
from karptui.forward.launching import Launches, LaunchOrder, template_order
from karptui.forward.observation import NodeEquivalence, Observation
from karptui.forward.result import Failure, StepKind
from karptui.forward.world import World
from karptui.karpenter.nodeclaim import DISRUPTION_REASON, NodeClaim
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.repair_policies import Ailment
from karptui.kube.objects import Node
from karptui.kube.timestamps import HOUR_NS, NS_PER_SECOND
from karptui.provisioning.state_node import StateNode, tracked

_LEAST_NS: Final = 600 * NS_PER_SECOND
_MOST_NS: Final = HOUR_NS
_BY_CANDIDATE_NS: Final = NS_PER_SECOND * 80 // 1000
"""Timeout of a command, and its increase per node of all commands: ``GetMaxRetryDuration``."""
_MADE_WITHIN_NS: Final = 10 * NS_PER_SECOND
"""Time after the mark within which a new NodeClaim counts as a replacement."""
_SKEW_NS: Final = NS_PER_SECOND
"""Highest difference between the clocks of Karpenter and the API server."""


class Running:
    """A command that waits for its replacements."""

    def __init__(
        self,
        claims: Iterable[str],
        awaited: Iterable[str],
        began_ns: int,
        method: str = "",
        bounds_ns: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """Take the inputs.

        Args:
            claims: Names of the NodeClaims to delete.
            awaited: Names of the NodeClaims that are not initialized yet.
            method: Its method; empty if it began before the forecast.
            bounds_ns: Highest drain time by NodeClaim, of repaired nodes.
        """
        self.claims = tuple(claims)
        self.awaited = set(awaited)
        self.began_ns = began_ns
        self.method = method
        self.bounds_ns = bounds_ns


def ends_ns(command: Running, running: Iterable[Running]) -> int:
    """Return when Karpenter gives a command up, as many nodes as commands hold now."""
    held = sum(len(other.claims) for other in running)
    return command.began_ns + min(max(held * _BY_CANDIDATE_NS, _LEAST_NS), _MOST_NS)


class Waiting(msgspec.Struct, frozen=True):
    """A node that a command holds."""

    node_name: str
    claim_name: str
    began_ns: int
    reason: str
    """Of the command, as the mark has it."""
    replacements: tuple[NodeClaim, ...]
    """Replacements that still exist."""

    @property
    def awaited(self) -> tuple[str, ...]:
        """Names of the NodeClaims that are to be initialized before the node goes."""
        return tuple(claim.name for claim in self.replacements if not claim.is_true("Initialized"))


def waiting(nodes: Iterable[Node], claims: Iterable[NodeClaim]) -> list[Waiting]:
    """Return the commands that began before the forecast.

    A NodeClaim does not name the node that it replaces: it is assigned to the last command that began before it.
    """
    claims = tuple(claims)
    if not any(claim.is_true(DISRUPTION_REASON) for claim in claims):
        return []
    held: list[tuple[int, str, Node, NodeClaim]] = []
    for key, node, claim in tracked(nodes, claims):
        state = StateNode(key, node, claim)
        mark = command_condition(state) if state.is_held_by_command else None
        if mark is not None and node is not None and claim is not None:
            held.append((mark.last_transition_ns, mark.reason, node, claim))
    names = {claim.name for *_, claim in held}
    node_claims: dict[int, list[NodeClaim]] = {}
    for claim in claims:
        begun = [mark_ns for mark_ns, *_ in held if mark_ns <= claim.created_ns + _SKEW_NS]
        if begun and claim.name not in names and claim.created_ns - max(begun) <= _MADE_WITHIN_NS:
            node_claims.setdefault(max(begun), []).append(claim)
    return [
        Waiting(node.name, claim.name, mark_ns, reason, tuple(node_claims.get(mark_ns, ())))
        for mark_ns, reason, node, claim in held
    ]


class CommandQueue:
    """Executes commands, and keeps commands with replacements that are not initialized yet."""

    def __init__(
        self,
        world: World,
        agenda: Agenda,
        launches: Launches,
        *,
        durations: Durations,
        observation: Observation,
        pools: Mapping[str, NodePool],
        most: int | None = None,
    ) -> None:
        """Take over the commands that have begun, and undo those without their replacements.

        Args:
            most: Limit of commands; None for no limit.
        """
        self._world = world
        self._agenda = agenda
        self._launches = launches
        self._durations = durations
        self._observation = observation
        self._pools = pools
        self._most = most
        self._equivalence = NodeEquivalence(world.inventory)
        self._running: list[Running] = []
        self.count = 0
        """Commands that have been carried out."""
        begun = waiting(world.nodes.values(), world.claims.values())
        bounds_ns = _bounds_of(begun, observation)
        for held_node in begun:
            if held_node.replacements:
                world.hold(held_node.claim_name)
                self._await(Running([held_node.claim_name], held_node.awaited, held_node.began_ns, bounds_ns=bounds_ns))
            else:
                world.release(held_node.node_name)

    @property
    def has_ended(self) -> bool:
        """Whether the limit of commands is reached."""
        return self._most is not None and self.count >= self._most

    def advance(self) -> None:
        """Delete the nodes of commands whose replacements are ready; end commands whose replacements are gone."""
        claims = self._world.claims
        for running in tuple(self._running):
            running.awaited -= {name for name in running.awaited if _is_initialized(claims.get(name))}
            if not running.awaited:
                self._running.remove(running)
                self._world.delete_claims(running.claims, self._agenda.now_ns, running.bounds_ns)
            elif not running.awaited <= claims.keys():
                self._fail(running, Failure.REPLACEMENT_GONE)

    def _await(self, running: Running) -> None:
        """Wait for the replacements of a command, as long as Karpenter does."""
        self._running.append(running)
        if running.awaited and self._durations.poll_ns:
            self._agenda.at(ends_ns(running, self._running) + 1, partial(self._time_out, running), Turn.CALENDAR)

    def _time_out(self, running: Running) -> None:
        if running not in self._running:
            return
        end_ns = ends_ns(running, self._running)
        if self._agenda.now_ns > end_ns:
            self._fail(running, Failure.TIMEOUT)
        else:
            self._agenda.at(end_ns + 1, partial(self._time_out, running), Turn.CALENDAR)

    def _fail(self, running: Running, why: Failure) -> None:
        """Undo a command; replacements that still arrive stay until they are empty."""
        self._running.remove(running)
        nodes = []
        for name in running.claims:
            claim = self._world.claims.get(name)
            node = self._world.node_of(claim) if claim is not None else None
            if node is not None:
                nodes.append(node.name)
                self._world.release(node.name)
        self._agenda.note(StepKind.REJECT, method=running.method, nodes=tuple(sorted(nodes)), because=why)

    def execute(self, method: Method, command: Command) -> bool:
        """Carry out a command; one of whose replacements nothing is on offer fails, and its nodes stay."""
        if self.has_ended:
            return False
        candidates, now_ns = command.candidates, self._agenda.now_ns
        nodes = tuple(sorted(candidate.name for candidate in candidates))
        launches = [self._launches.prepare(order) for order in self._orders(command)]
        if None in launches:
            decision = str(command.decision)
            why = Failure.NOTHING_ON_OFFER
            self._agenda.note(StepKind.REJECT, method=str(method), decision=decision, nodes=nodes, because=why)
            return False
        self.count += 1
        written = command_json(command)
        self._agenda.note(
            StepKind.DISRUPT,
            method=str(method),
            decision=str(command.decision),
            nodes=nodes,
            equivalence_keys=tuple(sorted(self._equivalence.of(c.name, c.node.labels) for c in candidates)),
            claims=tuple(written["replacements"]),
            savings_per_hour=command.priced_savings,
            reckoned_savings=written["savings"] if command.is_reboot or command.is_priced else None,
            evicted=[pod for candidate in candidates for pod in candidate.reschedulable_pods],
        )
        if command.decision is Decision.REBOOT:
            self._reboot(command)
            return True
        for candidate in candidates:
            self._world.taint(candidate.name, str(method.reason), now_ns)
        awaited = {self._launches.add(launch) for launch in launches if launch is not None}
        for name, pods in command.simulation.placements.items() if command.simulation is not None else ():
            if pods:
                self._observation.nominate(name, self._durations.nomination_ns)
        claims = [candidate.claim.name for candidate in candidates]
        bounds_ns = _bounds((repair.candidate.claim, repair.ailment) for repair in command.repairs.values())
        if awaited:
            self._await(Running(claims, awaited, now_ns, str(method), bounds_ns))
        else:
            self._world.delete_claims(claims, now_ns, bounds_ns)
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
                node.annotations,
            )
        for candidate in command.candidates[: command.from_template]:
            yield template_order(candidate.pool, candidate.book)

    def _reboot(self, command: Command) -> None:
        for candidate in command.candidates:
            if (node := self._world.nodes.get(candidate.name)) is not None:
                kept = tuple(condition for condition in node.conditions if condition.type == "Ready")
                healthy = tuple(msgspec.structs.replace(condition, status="True") for condition in kept)
                self._world.add_node(msgspec.structs.replace(node, conditions=healthy))


def _bounds_of(begun: Iterable[Waiting], observation: Observation) -> dict[str, int]:
    """Return the drain limits of repaired nodes by NodeClaim, from their conditions."""
    names = {h.claim_name for h in begun if h.reason == Reason.UNHEALTHY and h.replacements}
    if not names:
        return {}
    fleet = observation.fleet()
    repair = Repair(fleet, Recorder())
    repaired = ((node.claim, repair.ailment_of(node)) for node in fleet.nodes)
    return _bounds((claim, ailment) for claim, ailment in repaired if claim and ailment and claim.name in names)


def _bounds(repaired: Iterable[tuple[NodeClaim, Ailment]]) -> dict[str, int]:
    """Return the drain limits of repaired nodes by NodeClaim, if Karpenter records them."""
    bounds = ((claim.name, ailment.written_bound(claim.termination_grace_period_ns)) for claim, ailment in repaired)
    return {name: bound_ns for name, bound_ns in bounds if bound_ns is not None}


def _is_initialized(claim: NodeClaim | None) -> bool:
    return claim is not None and claim.is_true("Initialized")
