"""Nodes drained by a user in a forecast: all are cordoned, then emptied in order, a few at a time.

As by ``kubectl drain --ignore-daemonsets --force --delete-emptydir-data``: evictions that a PodDisruptionBudget
refuses are tried again every five seconds. kubectl ignores do-not-disrupt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import msgspec

from karptui.forward.calendar import Agenda
from karptui.forward.durations import Durations
from karptui.forward.result import StepKind
from karptui.forward.world import World
from karptui.kube.pod import Pod
from karptui.kube.timestamps import NS_PER_SECOND

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
        return all(one.gone_ns is not None for one in self._nodes.values())

    def advance(self) -> None:
        """Evict what may be evicted now, and go on to the next nodes where some are empty."""
        now_ns = self._agenda.now_ns
        for _ in range(len(self._nodes)):
            before = [one.empty_ns for one in self.nodes]
            at_work = [one for one in self.nodes if one.from_ns is not None and one.empty_ns is None]
            coming = [one for one in self.nodes if one.from_ns is None][: self._at_once - len(at_work)]
            for one in (*at_work, *coming):
                self._nodes[one.node] = begun = one if one in at_work else msgspec.structs.replace(one, from_ns=now_ns)
                self._go_on(begun)
            if before == [one.empty_ns for one in self.nodes]:
                return

    def _go_on(self, one: DrainedNode) -> None:
        now_ns = self._agenda.now_ns
        left = [pod for pod in self._world.pods_on(one.node) if _has_to_go(pod)]
        for pod in left:
            if not pod.is_terminating:
                self._try(pod)
        if not left:
            self._nodes[one.node] = msgspec.structs.replace(one, empty_ns=now_ns)
            self._agenda.at(now_ns + self._durations.instance_end_ns, partial(self._node_gone, one.node))

    def _try(self, pod: Pod) -> None:
        """Evict a pod; where PodDisruptionBudgets refuse it, at the next try at which they do not."""
        now_ns, known = self._agenda.now_ns, self._refused.get(pod.uid)
        budgets = self._world.credits.refusing(pod)
        if budgets:
            if known is None:
                self._refused[pod.uid] = HeldPod(pod.key, pod.node_name, budgets, now_ns, None)
            return
        if known is not None:
            try_ns = known.from_ns + -(-(now_ns - known.from_ns) // _RETRY_NS) * _RETRY_NS
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
