"""What disruption looks at, worked out once: nodes and their pods, lately come ones, NodePools, prices, predicates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cached_property
from operator import attrgetter
from typing import Final

from karptui.disruption.budgets import PoolUse, count_use
from karptui.disruption.price import ReckonedPrices, pool_costs
from karptui.disruption.termination import INSTANCE_EVENTS, InstanceWarning, warnings_by_object
from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.pod_predicates import PodPredicates, positive_cost
from karptui.karpenter.rules import Rules
from karptui.karpenter.settings import Settings
from karptui.kube.objects import Event
from karptui.kube.pod import Pod
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.provisioning.state_node import StateNode

_by_name: Final = attrgetter("name")
_MOST_KNOWN: Final = 3
"""Nodes that are remembered for each that there is, those of moments before included."""


class NodePods:
    """What was worked out of the pods of one node; None what nobody has asked yet. It does not change with time."""

    __slots__ = ("cost", "guarded", "is_empty", "is_sound", "listed", "reschedulable")

    def __init__(self, node: StateNode) -> None:
        self.listed = tuple(sorted((*node.pods, *node.ending), key=lambda pod: (pod.namespace, pod.name)))
        self.guarded: tuple[Pod, ...] | None = None
        self.reschedulable: tuple[Pod, ...] | None = None
        self.cost: float | None = None
        self.is_empty: bool | None = None
        self.is_sound: bool | None = None


class Fleet:
    """A cluster's nodes at one instant.

    Args:
        inventory: Every object.
        nodes: The state nodes of the inventory.
        pools: The NodePools that this Karpenter manages, by name.
        types: Instance types by NodePool; a NodePool that is missing or has none resolves to nothing.
        settings: What the controller was started with.
        now_ns: The instant, in nanoseconds since the epoch.
        nominated: Names of nodes that a pending pod is expected on, and until when.
        commanded: Names of nodes that a disruption command already holds.
        buffered: Names of nodes that hold capacity for a CapacityBuffer.
    """

    def __init__(
        self,
        inventory: Inventory,
        *,
        nodes: Sequence[StateNode],
        pools: Mapping[str, NodePool],
        types: Mapping[str, Sequence[InstanceType]],
        settings: Settings,
        now_ns: int,
        nominated: Mapping[str, int] | None = None,
        commanded: frozenset[str] = frozenset(),
        buffered: frozenset[str] = frozenset(),
    ) -> None:
        self.inventory = inventory
        self.nodes = tuple(sorted(nodes, key=_by_name))
        self.pools = pools
        self.settings = settings
        self.now_ns = now_ns
        self.nominated = nominated or {}
        self.commanded = commanded
        self.buffered = buffered
        self.pods = PodPredicates(inventory.pdbs, now_ns, settings)
        self.books = _books(types, settings.rules)
        self._known: dict[StateNode, NodePods] = {}

    def later(
        self,
        inventory: Inventory,
        *,
        nodes: Sequence[StateNode],
        now_ns: int,
        nominated: Mapping[str, int],
        commanded: frozenset[str],
        buffered: frozenset[str],
    ) -> Fleet:
        """Return the fleet at a later moment, with what was worked out of nodes that have not changed.

        Pods, nodes, NodeClaims and PodDisruptionBudgets may differ, nothing else.
        """
        found = copy(self)
        for name in ("use", "pool_costs"):
            vars(found).pop(name, None)
        found.advance(inventory, nodes, now_ns)
        found.nominated, found.commanded, found.buffered = nominated, commanded, buffered
        return found

    def advance(self, inventory: Inventory, nodes: Sequence[StateNode], now_ns: int) -> None:
        """Go on to a later moment in place."""
        self.pods = self.pods.later(inventory.pdbs, now_ns)
        self.inventory = inventory
        self.nodes = tuple(sorted(nodes, key=_by_name))
        self.now_ns = now_ns
        if len(self._known) > _MOST_KNOWN * len(self.nodes):
            self._known = {node: self._known[node] for node in self.nodes if node in self._known}

    def _of(self, node: StateNode) -> NodePods:
        found = self._known.get(node)
        if found is None:
            found = self._known[node] = NodePods(node)
        return found

    def is_sound(self, node: StateNode, work_out: Callable[[Fleet, StateNode], bool]) -> bool:
        """Return what is worked out of a node and its NodePool alone, pods and moment aside; once for a node."""
        found = self._of(node)
        if found.is_sound is None:
            found.is_sound = work_out(self, node)
        return found.is_sound

    def pods_of(self, node: StateNode) -> tuple[Pod, ...]:
        """Return the pods bound to a node, by namespace and name; of those that ended only what is being deleted."""
        return self._of(node).listed

    def guarded_pods(self, node: StateNode) -> tuple[Pod, ...]:
        """Return those of them that annotation or PodDisruptionBudgets may keep there; most nodes have none."""
        found = self._of(node)
        if found.guarded is None:
            found.guarded = tuple(pod for pod in found.listed if self.pods.may_hold(pod))
        return found.guarded

    def reschedulable_pods(self, node: StateNode) -> tuple[Pod, ...]:
        """Return those of them that come back elsewhere when the node goes."""
        found = self._of(node)
        if found.reschedulable is None:
            found.reschedulable = tuple(pod for pod in found.listed if self.pods.is_reschedulable(pod))
        return found.reschedulable

    def count_moving(self, node: StateNode) -> int:
        """Return how many of those keep the node from being empty: the ones that cost something to evict."""
        traits = self.pods.traits
        # Written so that NaN counts, as it does for Emptiness.
        return sum(1 for pod in self.reschedulable_pods(node) if not traits(pod.template).eviction_cost <= 0)

    def moving_cost(self, node: StateNode) -> float:
        """Return 1 and the positive eviction costs of the pods that come back elsewhere."""
        found = self._of(node)
        if found.cost is None:
            found.cost = self.pods.disruption_cost(self.reschedulable_pods(node))
        return found.cost

    def resolved(self, pool_name: str) -> tuple[NodePool, ReckonedPrices] | None:
        """Return a NodePool with its prices, None where Karpenter cannot make use of its nodes.

        That is so where the NodePool is gone or not Karpenter's, and where no instance types are known for it.
        """
        pool, book = self.pools.get(pool_name), self.books.get(pool_name)
        return None if pool is None or book is None or not book else (pool, book)

    def is_static(self, node: StateNode) -> bool:
        """Return whether a node is of a static NodePool."""
        pool = self.pools.get(node.nodepool_name)
        return pool is not None and pool.is_static

    @cached_property
    def use(self) -> dict[str, PoolUse]:
        """Nodes that count for budgets, and those that use them up, by NodePool."""
        return count_use(self.nodes, self.commanded)

    @cached_property
    def interruptions(self) -> tuple[Event, ...]:
        """Events that tell of instances being taken away."""
        return tuple(event for event in self.inventory.events if event.reason in INSTANCE_EVENTS)

    @cached_property
    def _warnings(self) -> dict[tuple[str, str], InstanceWarning]:
        return warnings_by_object(self.interruptions)

    def warning(self, node: StateNode) -> InstanceWarning | None:
        """Return what the cloud last said of an instance that goes; None where it has said nothing."""
        if not self._warnings or node.claim is None:
            return None
        named = (("NodeClaim", node.claim.name), ("Node", node.node.name if node.node is not None else ""))
        return max((one for key in named if (one := self._warnings.get(key))), key=lambda one: one.at_ns, default=None)

    @cached_property
    def pool_costs(self) -> dict[str, float]:
        """What each NodePool costs per hour."""
        return pool_costs(self.inventory.nodeclaims, self.books)

    def is_empty(self, node: StateNode) -> bool:
        """Return whether no pod of positive cost would have to move: what Emptiness asks."""
        found = self._of(node)
        if found.is_empty is None:
            found.is_empty = self._is_empty(node)
        return found.is_empty

    def _is_empty(self, node: StateNode) -> bool:
        predicates = self.pods
        cost = 1.0
        for pod in (*node.pods, *node.ending):
            if predicates.is_reschedulable(pod):
                cost += positive_cost(predicates.traits(pod.template).eviction_cost)
                if not cost <= 1.0:
                    return False
        return True

    def disruption_cost(self, node: StateNode) -> float:
        """Return a node's disruption cost as Karpenter keeps it for any node: all its pods but those of DaemonSets."""
        traits = self.pods.traits
        cost = 1.0
        for pod in node.pods:
            of_pod = traits(pod.template)
            if not of_pod.is_daemonset_owned and of_pod.eviction_cost > 0:
                cost += of_pod.eviction_cost
        return cost


def _books(types: Mapping[str, Sequence[InstanceType]], rules: Rules) -> dict[str, ReckonedPrices]:
    """Return a price book per NodePool; NodePools that draw on one list share one."""
    made: dict[int, ReckonedPrices] = {}
    return {name: made.setdefault(id(own), ReckonedPrices(own, rules)) for name, own in types.items()}


HOUR_NS: Final = 3600 * NS_PER_SECOND


def arrivals(fleet: Fleet, node: StateNode, within_ns: int = HOUR_NS) -> tuple[Pod, ...]:
    """Return the pods still on a node that were bound to it lately, the latest first; DaemonSets' pods do not count.

    Pods that have come and gone meanwhile are not seen.
    """
    since_ns = fleet.now_ns - within_ns
    found = [
        pod
        for pod in node.pods
        if pod.scheduled_ns > since_ns and not fleet.pods.traits(pod.template).is_daemonset_owned
    ]
    return tuple(sorted(found, key=lambda pod: (-pod.scheduled_ns, pod.key)))
