"""Time in a forecast: scheduled events in order, and those that follow from dates.

NodeClaims expire and become consolidatable, unhealthy nodes are deleted, budgets open and close.

Rules: ``consolidation.go`` of ``pkg/controllers/nodeclaim/disruption``, ``pkg/controllers/nodeclaim/expiration``, and
``pkg/controllers/node/health`` of v1.14.1, which is ``pkg/controllers/node/legacyrepair`` since.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from functools import partial
from itertools import chain
from typing import Any, Final

import msgspec

from karptui.disruption.budget_calendar import WEEK_NS, open_spans, windows_of
from karptui.disruption.command import Decision
from karptui.disruption.emptiness import CONSOLIDATABLE, quiet_period
from karptui.disruption.repair import LEGACY_REPAIR, HealthDeletion, health_deletions
from karptui.forward.result import Step, StepKind
from karptui.forward.world import World
from karptui.karpenter.labels import NODEPOOL
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.pod_predicates import is_reschedulable
from karptui.karpenter.settings import Settings
from karptui.kube.group import group_by
from karptui.kube.objects import Condition, with_condition, without_condition
from karptui.kube.pod import Pod, lost_pods
from karptui.kube.timestamps import ABSENT_NS, NS_PER_SECOND


class Turn(IntEnum):
    """Who comes first at one instant: each sees what those before it have left."""

    CALENDAR = 0
    """Turn of calendar events, which do not depend on decisions: expiry, budget windows, the end of a protection."""
    EVENT = 1
    PROVISIONING = 2
    DISRUPTION = 3


class Agenda:
    """Scheduled events; of two at one instant, the one scheduled first comes first."""

    def __init__(self, now_ns: int) -> None:
        self.now_ns = now_ns
        self.steps: list[Step] = []
        self.is_woken = False
        """Whether disruption is to look again although no object has changed."""
        self._entries: list[tuple[int, Turn, int, Callable[[], None]]] = []
        self._number = 0

    def at(self, at_ns: int, action: Callable[[], None], turn: Turn = Turn.EVENT) -> None:
        """Schedule an event; at the present instant if its time has passed."""
        self._number += 1
        heapq.heappush(self._entries, (max(at_ns, self.now_ns), turn, self._number, action))

    def come_to(self, at_ns: int) -> None:
        """Make the forecast stop at an instant, so that all controllers run there."""
        self.at(at_ns, _nothing)

    @property
    def next_ns(self) -> int | None:
        """Time of the next event, None without any."""
        return self._entries[0][0] if self._entries else None

    @property
    def has_only_dates(self) -> bool:
        """Whether only calendar events are left."""
        return all(turn is Turn.CALENDAR for _, turn, _, _ in self._entries)

    def advance(self) -> None:
        """Go to the next instant and run the events of its first turn."""
        self.now_ns, turn = self._entries[0][:2]
        while self._entries and self._entries[0][:2] == (self.now_ns, turn):
            heapq.heappop(self._entries)[3]()

    def wake(self) -> None:
        """Have disruption look again although no object has changed."""
        self.is_woken = True

    def note(self, kind: StepKind, *, evicted: Iterable[Pod] | None = None, **facts: Any) -> None:
        """Write down what happens now.

        Args:
            evicted: Pods that have to leave their nodes because of it; None if that is not its subject.
        """
        if evicted is not None:
            pods = tuple(evicted)
            facts |= {"evictions": len(pods), "pods": tuple(sorted(pod.key for pod in pods)), "lost": lost_pods(pods)}
        self.steps.append(Step(at_ns=self.now_ns, kind=kind, **facts))


def _nothing() -> None:
    """Do nothing."""


_LOOK_AGAIN_NS: Final = 300 * NS_PER_SECOND
"""Node repair waits this long after it found too many unhealthy nodes."""


class Calendar:
    """Dates of a cluster's NodeClaims and NodePools, each entered once; NodeClaims whose date has come it deletes."""

    def __init__(self, world: World, agenda: Agenda, pools: Mapping[str, NodePool]) -> None:
        self._world = world
        self._agenda = agenda
        self._pools = pools
        self._due: set[tuple[str, int]] = set()
        self._left: list[str] = []
        """Names of unhealthy nodes that are left, as too many others are unhealthy."""
        self._unhealthy: tuple[tuple[int, int], Mapping[str, HealthDeletion]] | None = None
        """Unhealthy nodes, with the versions of Nodes and NodeClaims they were computed from."""

    def expect_budgets(self, until_ns: int) -> None:
        """Have disruption look again whenever a window of a budget opens or closes."""
        now_ns = self._agenda.now_ns
        for pool in self._pools.values():
            for window in windows_of(pool):
                for span in open_spans(window, now_ns, until_ns):
                    for edge in (span.start_ns, span.end_ns):
                        if now_ns < edge < until_ns:
                            self._agenda.at(edge, self._agenda.wake, Turn.CALENDAR)

    def next_edge_ns(self, after_ns: int) -> int | None:
        """Return when, within a week, a window of a budget next opens or closes."""
        end_ns = after_ns + WEEK_NS
        windows = chain.from_iterable(map(windows_of, self._pools.values()))
        spans = (next(open_spans(window, after_ns, end_ns), None) for window in windows)
        edges = (edge for span in spans if span is not None for edge in (span.start_ns, span.end_ns))
        return min((edge for edge in edges if after_ns < edge < end_ns), default=None)

    def expect_expiry(self, claim: NodeClaim) -> None:
        """Enter when a NodeClaim is too old."""
        expires_ns = claim.expires_ns
        if expires_ns is not None and claim.created_ns != ABSENT_NS and (claim.name, expires_ns) not in self._due:
            self._due.add((claim.name, expires_ns))
            self._agenda.at(expires_ns, partial(self._expire, claim.name), Turn.CALENDAR)

    def expect_repairs(self, settings: Settings) -> None:
        """Schedule the next check of unhealthy nodes by the node repair controller, if it runs."""
        deletions = self._health_deletions(settings)
        due = group_by(deletions, lambda name: max(deletions[name].at_ns, self._agenda.now_ns))
        for at_ns, names in due.items():
            self._agenda.at(at_ns, partial(self._repair, names, settings), Turn.CALENDAR)

    def _repair(self, names: Iterable[str], settings: Settings) -> None:
        """Delete unhealthy nodes by force, their pods with them, but not where too many others are."""
        world, now_ns = self._world, self._agenda.now_ns
        deletions = self._health_deletions(settings)
        for name in names:
            deletion = deletions.get(name)
            claim = world.claim_of(world.nodes[name]) if deletion is not None else None
            if deletion is None or claim is None:
                continue
            if deletion.is_tripped:
                self._look_again(name, settings)
            elif claim.is_deleting:
                world.end_drain(claim, now_ns)
            else:
                shown, evicted = self.leaving(claim)
                world.delete_claim(claim, now_ns, ends_ns=now_ns)
                facts = {"method": LEGACY_REPAIR, "decision": str(Decision.DELETE)}
                self._agenda.note(StepKind.DISRUPT, nodes=(shown,), evicted=evicted, **facts)

    def _look_again(self, name: str, settings: Settings) -> None:
        """Leave a node until the next look, which all such nodes have in common."""
        if not self._left:
            self._agenda.at(self._agenda.now_ns + _LOOK_AGAIN_NS, partial(self._repair_left, settings), Turn.CALENDAR)
        self._left.append(name)

    def _repair_left(self, settings: Settings) -> None:
        names, self._left = self._left, []
        self._repair(names, settings)

    def _health_deletions(self, settings: Settings) -> Mapping[str, HealthDeletion]:
        """Return the unhealthy nodes to delete; cached until Nodes or NodeClaims change."""
        world = self._world
        version = (world.nodes_version, world.claims_version)
        if self._unhealthy is None or self._unhealthy[0] != version:
            self._unhealthy = (version, health_deletions(world.inventory, settings))
        return self._unhealthy[1]

    def _expire(self, name: str) -> None:
        world = self._world
        claim = world.claims.get(name)
        if claim is None or claim.is_deleting:
            return
        shown, evicted = self.leaving(claim)
        world.delete_claim(claim, self._agenda.now_ns)
        self._agenda.note(StepKind.EXPIRE, nodes=(shown,), evicted=evicted)

    def leaving(self, claim: NodeClaim) -> tuple[str, tuple[Pod, ...]]:
        """Return a NodeClaim's name, and the pods that are evicted from its node."""
        node = self._world.node_of(claim)
        if node is None:
            return claim.name, ()
        return node.name, tuple(pod for pod in self._world.pods_on(node.name) if is_reschedulable(pod))

    def expect_quiet(self, node_name: str) -> None:
        """Restart consolidateAfter for a node whose pods changed."""
        world = self._world
        node = world.nodes.get(node_name)
        claim = world.claim_of(node) if node is not None else None
        if claim is None:
            return
        period = self._quiet(claim)
        if period is not None and period > self._agenda.now_ns and claim.is_true(CONSOLIDATABLE):
            left = without_condition(claim.conditions, CONSOLIDATABLE)
            world.add_claim(msgspec.structs.replace(claim, conditions=left))
        self.expect_consolidatable(claim)

    def expect_consolidatable(self, claim: NodeClaim) -> None:
        """Enter when a NodeClaim becomes consolidatable if no pod comes or goes until then."""
        until_ns = self._quiet(claim)
        if until_ns is None or (claim.is_true(CONSOLIDATABLE) and until_ns <= self._agenda.now_ns):
            return
        if (claim.name, until_ns) not in self._due:
            self._due.add((claim.name, until_ns))
            self._agenda.at(until_ns, partial(self._become_consolidatable, claim.name))

    def _become_consolidatable(self, name: str) -> None:
        now_ns = self._agenda.now_ns
        claim = self._world.claims.get(name)
        if claim is None or claim.is_deleting or claim.is_true(CONSOLIDATABLE):
            return
        until_ns = self._quiet(claim)
        if until_ns is not None and until_ns <= now_ns:
            condition = Condition(CONSOLIDATABLE, "True", CONSOLIDATABLE, "", now_ns)
            conditions = with_condition(claim.conditions, condition)
            self._world.add_claim(msgspec.structs.replace(claim, conditions=conditions))

    def _quiet(self, claim: NodeClaim) -> int | None:
        pool = self._pools.get(claim.labels.get(NODEPOOL, ""))
        period = quiet_period(claim, pool) if pool is not None else None
        return None if period is None else period.until_ns
