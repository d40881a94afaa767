"""The end of nodes in a play: pods are evicted tier by tier, and once none is waited for the instance goes.

Rules: ``pkg/controllers/node/termination``.

Users drain nodes as by ``kubectl drain --ignore-daemonsets --force --delete-emptydir-data``: all are cordoned, then
emptied in order, a few at a time. Evictions that a PodDisruptionBudget refuses are tried again every five seconds.
kubectl ignores do-not-disrupt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

import msgspec

from karptui.disruption.drain import DrainState, Hold, WaitingPod, drain_state, is_stalled, waiting_pods
from karptui.disruption.fleet import Fleet
from karptui.disruption.termination import deadline_of
from karptui.forward.calendar import Agenda, Calendar, Turn
from karptui.forward.durations import Durations
from karptui.forward.result import StepKind
from karptui.forward.world import World
from karptui.karpenter.nodeclaim import DrainStage, NodeClaim
from karptui.kube.pod import Pod
from karptui.kube.timestamps import NS_PER_SECOND


class Drains:
    """The NodeClaims of a play that are being deleted."""

    def __init__(
        self, world: World, agenda: Agenda, calendar: Calendar, durations: Durations, fleet: Callable[[], Fleet]
    ) -> None:
        """Take the inputs.

        Args:
            fleet: Returns the cluster as disruption sees it now.
        """
        self._world = world
        self._agenda = agenda
        self._calendar = calendar
        self._durations = durations
        self._fleet = fleet
        self._ending: set[str] = set()
        """NodeClaims whose pods have gone."""
        self._due: set[tuple[str, int]] = set()
        self._seen: dict[str, tuple[int, int, int | None]] = {}
        """Versions of the inputs of each drain when it was last checked, and until when the result holds; None for
        ever.
        """
        self._refused: dict[str, int] = {}
        """When the eviction of a pod was first refused."""
        self._tries: dict[str, int] = {}
        """When it is tried again, since the PodDisruptionBudget allows it."""
        self.stalled: dict[str, DrainState] = {}
        """Drains that make no progress now, by node; they stay so until a deadline ends them."""
        self._idle: set[str] = set()
        """Their NodeClaims."""

    def expect_stalled(self) -> None:
        """Enter which drains make no progress, and when their deadlines end that."""
        fleet = self._fleet()
        for state in fleet.nodes:
            if state.claim is None or not state.claim.is_deleting:
                continue
            drain = drain_state(fleet, state)
            if is_stalled(fleet, drain):
                self.stalled[state.name] = drain
                self._idle.add(state.claim.name)
                if (end_ns := forced_end(drain, fleet.now_ns)) is not None:
                    self._agenda.at(end_ns + 1, partial(self._idle.discard, state.claim.name))

    def advance(self) -> None:
        """Evict what may be evicted now from every node that goes."""
        world, now_ns = self._world, self._agenda.now_ns
        leaving = [claim for name in world.leaving if self._may_advance(claim := world.claims[name])]
        if not leaving:
            return
        fleet = self._fleet()
        states = {state.claim.name: state for state in fleet.nodes if state.is_marked_for_deletion and state.claim}
        for claim in leaving:
            state = states.get(claim.name)
            pods = (
                waiting_pods(fleet, state, deadline_of(claim)) if state is not None and state.node is not None else ()
            )
            if waiting := [pod for pod in pods if pod.pod.uid in world.pods]:
                versions = self._versions(claim)
                dates = [at_ns for at_ns in (self._expect(waiting), self._evict_free(waiting)) if at_ns is not None]
                self._seen[claim.name] = (*versions, min(dates, default=None))
            else:
                self._ending.add(claim.name)
                least_ns = claim.deletion_ns + self._durations.drain_ns
                asked_ns = max(now_ns + self._durations.termination_ns, least_ns)
                self._agenda.at(asked_ns, partial(self._end_instance, claim.name))
                gone_ns = max(now_ns, least_ns) + self._durations.instance_end_ns
                self._agenda.at(gone_ns, partial(self._claim_gone, claim.name))

    def _may_advance(self, claim: NodeClaim) -> bool:
        """Return whether a drain may be further than when it was last looked at."""
        if claim.name in self._ending or claim.name in self._idle:
            return False
        seen_before = self._seen.get(claim.name)
        if seen_before is None or seen_before[:2] != self._versions(claim):
            return True
        return seen_before[2] is not None and self._agenda.now_ns > seen_before[2]

    def _versions(self, claim: NodeClaim) -> tuple[int, int]:
        node = self._world.node_of(claim)
        return self._world.pods_versions.get(node.name, 0) if node is not None else -1, self._world.credits.version

    def _expect(self, waiting: Iterable[WaitingPod]) -> int | None:
        """Schedule the ends of temporary blockers, and return the first."""
        now_ns = self._agenda.now_ns
        dates = [
            (at_ns, pod.pod.uid)
            for pod in waiting
            for at_ns in (pod.until_ns, pod.forced_ns)
            if at_ns is not None and at_ns >= now_ns
        ]
        for at_ns, uid in dates:
            if (uid, at_ns) not in self._due:
                self._due.add((uid, at_ns))
                self._agenda.at(at_ns + 1, self._agenda.wake, Turn.CALENDAR)
        return min(dates)[0] if dates else None

    def _evict_free(self, waiting: Iterable[WaitingPod]) -> int | None:
        """Evict the unblocked pods of the first tier, and pods past their drain deadline.

        Returns:
            The time of the next eviction attempt, None without refused evictions.
        """
        tier = min(pod.tier for pod in waiting)
        tries = []
        for waiting_pod in waiting:
            is_free = (
                waiting_pod.hold is Hold.EVICTED_NOW and waiting_pod.tier == tier and self._is_granted(waiting_pod.pod)
            )
            if is_free or waiting_pod.hold is Hold.FORCED:
                self._evict(self._world.pods[waiting_pod.pod.uid])
            elif waiting_pod.pod.uid in self._tries:
                tries.append(self._tries[waiting_pod.pod.uid] - 1)
        return min(tries, default=None)

    def _is_granted(self, pod: Pod) -> bool:
        """Return whether a pod is evicted now: PodDisruptionBudgets allow it, and it is its turn to be tried."""
        now_ns, uid = self._agenda.now_ns, pod.uid
        try_ns = self._tries.get(uid)
        if not self._world.credits.allow(pod):
            self._refused.setdefault(uid, now_ns)
            self._tries.pop(uid, None)
            return False
        first_ns = self._refused.get(uid)
        if first_ns is None or try_ns == now_ns or not self._durations.eviction_retry_ns:
            return True
        if try_ns is None or try_ns < now_ns:
            try_ns = self._tries[uid] = self._durations.next_eviction(first_ns, now_ns)
            self._agenda.come_to(try_ns)
        return False

    def _evict(self, pod: Pod) -> None:
        self._refused.pop(pod.uid, None)
        self._tries.pop(pod.uid, None)
        if pod.is_terminating:
            self.pod_gone(pod.uid)
            return
        now_ns = self._agenda.now_ns
        grace_ns = int(pod.template.termination_grace_seconds * NS_PER_SECOND * self._durations.pod_end_share)
        self._world.evict(pod, now_ns, grace_ns)
        self._agenda.at(now_ns + grace_ns, partial(self.pod_gone, pod.uid))

    def pod_gone(self, uid: str) -> None:
        """Take a pod away that has ended."""
        pod = self._world.pods.get(uid)
        if pod is None:
            return
        self._world.remove_pod(uid, self._agenda.now_ns)
        if pod.node_name:
            self._calendar.expect_quiet(pod.node_name)

    def _end_instance(self, name: str) -> None:
        if (claim := self._world.claims.get(name)) is not None:
            self._world.end_instance(claim, self._agenda.now_ns)

    def _claim_gone(self, name: str) -> None:
        claim = self._world.claims.get(name)
        if claim is None:
            return
        node = self._world.node_of(claim)
        self._world.remove_claim(name, self._agenda.now_ns)
        self._agenda.note(StepKind.DRAIN, nodes=(node.name if node is not None else name,))


def forced_end(drain: DrainState, now_ns: int) -> int | None:
    """Return when a deadline makes a drain go on that makes no progress; None if it never does."""
    if drain.deadline is None or drain.stage is DrainStage.INSTANCE or drain.deadline.at_ns <= now_ns:
        return None
    return min((pod.forced_ns for pod in drain.holders if pod.forced_ns is not None), default=drain.deadline.at_ns)


_RETRY_NS: Final = 5 * NS_PER_SECOND
"""``EvictErrorRetryDelay`` of kubectl."""


class HeldPod(msgspec.Struct, frozen=True, gc=False):
    """A pod whose eviction was refused for a while."""

    pod: str
    """``namespace/name``."""
    node: str
    budgets: tuple[str, ...]
    """PodDisruptionBudgets that refused it: ``namespace/name``."""
    from_ns: int
    until_ns: int | None
    """Time of its eviction; None if it is never evicted."""


class DrainedNode(msgspec.Struct, frozen=True, gc=False):
    """A node that is drained by hand."""

    node: str
    from_ns: int | None = None
    """Time of its first eviction; None if its turn is not reached."""
    empty_ns: int | None = None
    """Time at which its last pod was gone; None if some are left."""
    gone_ns: int | None = None
    """When its instance was gone."""


class KubectlDrain:
    """A drain of several nodes."""

    def __init__(
        self,
        world: World,
        agenda: Agenda,
        durations: Durations,
        pod_gone: Callable[[str], None],
        *,
        names: Sequence[str],
        at_once: int,
    ) -> None:
        """Cordon the nodes.

        Args:
            names: The nodes, in drain order.
            at_once: Nodes drained at a time.
        """
        self._world = world
        self._agenda = agenda
        self._durations = durations
        self._pod_gone = pod_gone
        self._at_once = at_once
        self._nodes = {name: DrainedNode(name) for name in names if name in world.nodes}
        self._refused: dict[str, HeldPod] = {}
        """Currently refused pods by uid."""
        self._tries: set[tuple[str, int]] = set()
        self._held: list[HeldPod] = []
        for name in self._nodes:
            world.cordon(name)

    @property
    def nodes(self) -> tuple[DrainedNode, ...]:
        """The nodes as far as they have come, in their order."""
        return tuple(self._nodes.values())

    @property
    def held(self) -> tuple[HeldPod, ...]:
        """Pods whose eviction was refused, or still is."""
        return (*self._held, *self._refused.values())

    @property
    def is_over(self) -> bool:
        """Whether no node is left."""
        return all(node.gone_ns is not None for node in self._nodes.values())

    def advance(self) -> None:
        """Evict what may be evicted now, and go on to the next nodes where some are empty."""
        now_ns = self._agenda.now_ns
        for _ in range(len(self._nodes)):
            before = [node.empty_ns for node in self.nodes]
            at_work = [node for node in self.nodes if node.from_ns is not None and node.empty_ns is None]
            coming = [node for node in self.nodes if node.from_ns is None][: self._at_once - len(at_work)]
            for drained_node in (*at_work, *coming):
                self._nodes[drained_node.node] = begun = (
                    drained_node if drained_node in at_work else msgspec.structs.replace(drained_node, from_ns=now_ns)
                )
                self._go_on(begun)
            if before == [node.empty_ns for node in self.nodes]:
                return

    def _go_on(self, node: DrainedNode) -> None:
        now_ns = self._agenda.now_ns
        left = [pod for pod in self._world.pods_on(node.node) if _has_to_go(pod)]
        for pod in left:
            if not pod.is_terminating:
                self._try(pod)
        if not left:
            self._nodes[node.node] = msgspec.structs.replace(node, empty_ns=now_ns)
            self._agenda.at(now_ns + self._durations.instance_end_ns, partial(self._node_gone, node.node))

    def _try(self, pod: Pod) -> None:
        """Evict a pod; where PodDisruptionBudgets refuse it, at the next try at which they do not."""
        now_ns, held_pod = self._agenda.now_ns, self._refused.get(pod.uid)
        if budgets := self._world.credits.refusing(pod):
            if held_pod is None:
                self._refused[pod.uid] = HeldPod(pod.key, pod.node_name, budgets, now_ns, None)
            return
        if held_pod is not None:
            try_ns = held_pod.from_ns + -(-(now_ns - held_pod.from_ns) // _RETRY_NS) * _RETRY_NS
            if try_ns > now_ns:
                if (pod.uid, try_ns) not in self._tries:
                    self._tries.add((pod.uid, try_ns))
                    self._agenda.come_to(try_ns)
                return
            self._held.append(msgspec.structs.replace(self._refused.pop(pod.uid), until_ns=now_ns))
        grace_ns = int(pod.template.termination_grace_seconds * NS_PER_SECOND * self._durations.pod_end_share)
        self._world.evict(pod, now_ns, grace_ns)
        self._agenda.at(now_ns + grace_ns, partial(self._pod_gone, pod.uid))

    def _node_gone(self, name: str) -> None:
        self._nodes[name] = msgspec.structs.replace(self._nodes[name], gone_ns=self._agenda.now_ns)
        self._world.remove_node(name, self._agenda.now_ns)
        self._agenda.note(StepKind.DRAIN, nodes=(name,))


def _has_to_go(pod: Pod) -> bool:
    """Return whether a drain by hand waits for a pod: DaemonSets' and static pods stay, ended ones go with the node."""
    return not pod.is_terminal and not pod.template.is_daemonset_owned and not pod.template.is_node_owned
