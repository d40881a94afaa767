"""The cluster state that disruption needs, computed once: nodes, pods, NodePools, prices and pod predicates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cached_property
from operator import attrgetter
from typing import Final

from karptui.disruption.budgets import PoolUse, count_use
from karptui.disruption.events import unlisted_type
from karptui.disruption.launch_price import ReckonedPrices, pool_costs
from karptui.disruption.termination import INSTANCE_EVENTS, InstanceWarning, warnings_by_object
from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.pod_predicates import PodPredicates, positive_cost
from karptui.karpenter.rules import Rules
from karptui.karpenter.settings import Settings
from karptui.kube.objects import Event
from karptui.kube.pod import Pod
from karptui.kube.timestamps import HOUR_NS
from karptui.provisioning.state_node import StateNode

_by_name: Final = attrgetter("name")
_MAX_REMEMBERED: Final = 3
"""Number of remembered nodes per existing node: earlier states of nodes are remembered too."""


class NodePods:
    """Values computed from a node's pods; None if not computed yet. They do not depend on time."""

    __slots__ = ("cost", "guarded", "is_empty", "is_sound", "listed", "reschedulable")

    def __init__(self, node: StateNode) -> None:
        self.listed = tuple(sorted((*node.pods, *node.ending), key=lambda pod: (pod.namespace, pod.name)))
        self.guarded: tuple[Pod, ...] | None = None
        self.reschedulable: tuple[Pod, ...] | None = None
        self.cost: float | None = None
        self.is_empty: bool | None = None
        self.is_sound: bool | None = None


class Fleet:
    """A cluster's nodes at a point in time.

    Args:
        pools: The NodePools that this Karpenter manages, by name.
        types: Instance types by NodePool; a NodePool without types does not resolve.
        nominated: When the nominations of nodes for pending pods end, by node name.
        commanded: Names of nodes in a disruption command.
        buffered: Names of nodes with capacity for a CapacityBuffer.
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
        self._node_pods: dict[StateNode, NodePods] = {}

    @cached_property
    def unlisted_types(self) -> frozenset[tuple[str, str]]:
        """NodePools and types that the provider did not list for them within the last hour, by Karpenter's events."""
        pools = {node.name: node.nodepool_name for node in self.nodes}
        recent = (event for event in self.inventory.events if self.now_ns - event.last_ns <= HOUR_NS)
        return frozenset((pools.get(event.involved_name, ""), unlisted_type(event)) for event in recent)

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
        """Return the fleet at a later time, with the values computed from unchanged nodes.

        Only pods, nodes, NodeClaims and PodDisruptionBudgets may differ.
        """
        fleet = copy(self)
        for name in ("use", "pool_costs"):
            vars(fleet).pop(name, None)
        fleet.advance(inventory, nodes, now_ns)
        fleet.nominated, fleet.commanded, fleet.buffered = nominated, commanded, buffered
        return fleet

    def advance(self, inventory: Inventory, nodes: Sequence[StateNode], now_ns: int) -> None:
        """Advance to a later time in place."""
        self.pods = self.pods.later(inventory.pdbs, now_ns)
        self.inventory = inventory
        self.nodes = tuple(sorted(nodes, key=_by_name))
        self.now_ns = now_ns
        if len(self._node_pods) > _MAX_REMEMBERED * len(self.nodes):
            self._node_pods = {node: self._node_pods[node] for node in self.nodes if node in self._node_pods}

    def _of(self, node: StateNode) -> NodePods:
        values = self._node_pods.get(node)
        if values is None:
            values = self._node_pods[node] = NodePods(node)
        return values

    def is_sound(self, node: StateNode, compute: Callable[[Fleet, StateNode], bool]) -> bool:
        """Return a value that depends only on a node and its NodePool, not on pods or time; computed once per node."""
        values = self._of(node)
        if values.is_sound is None:
            values.is_sound = compute(self, node)
        return values.is_sound

    def pods_of(self, node: StateNode) -> tuple[Pod, ...]:
        """Return the pods bound to a node, by namespace and name; ended pods only if they are being deleted."""
        return self._of(node).listed

    def guarded_pods(self, node: StateNode) -> tuple[Pod, ...]:
        """Return the node's pods that an annotation or PodDisruptionBudgets may hold; most nodes have none."""
        values = self._of(node)
        if values.guarded is None:
            values.guarded = tuple(pod for pod in values.listed if self.pods.may_hold(pod))
        return values.guarded

    def reschedulable_pods(self, node: StateNode) -> tuple[Pod, ...]:
        """Return the node's pods that are recreated elsewhere when it is removed."""
        values = self._of(node)
        if values.reschedulable is None:
            values.reschedulable = tuple(pod for pod in values.listed if self.pods.is_reschedulable(pod))
        return values.reschedulable

    def count_moving(self, node: StateNode) -> int:
        """Return the number of reschedulable pods with a positive eviction cost, which keep a node from being empty."""
        traits = self.pods.traits
        # Written so that NaN counts, as it does for Emptiness.
        return sum(1 for pod in self.reschedulable_pods(node) if not traits(pod.template).eviction_cost <= 0)

    def moving_cost(self, node: StateNode) -> float:
        """Return 1 plus the positive eviction costs of the reschedulable pods."""
        values = self._of(node)
        if values.cost is None:
            values.cost = self.pods.disruption_cost(self.reschedulable_pods(node))
        return values.cost

    def resolved(self, pool_name: str) -> tuple[NodePool, ReckonedPrices] | None:
        """Return a NodePool with its prices, or None if Karpenter cannot disrupt its nodes.

        Karpenter cannot if the NodePool is deleted, belongs to another controller, or has no known instance types.
        """
        pool, book = self.pools.get(pool_name), self.books.get(pool_name)
        return None if pool is None or book is None or not book else (pool, book)

    def is_static(self, node: StateNode) -> bool:
        """Return whether a node belongs to a static NodePool."""
        pool = self.pools.get(node.nodepool_name)
        return pool is not None and pool.is_static

    @cached_property
    def use(self) -> dict[str, PoolUse]:
        """Node counts for budgets, by NodePool."""
        return count_use(self.nodes, self.commanded)

    @cached_property
    def interruptions(self) -> tuple[Event, ...]:
        """Events about instances that are interrupted or end."""
        return tuple(event for event in self.inventory.events if event.reason in INSTANCE_EVENTS)

    @cached_property
    def _warnings(self) -> dict[tuple[str, str], InstanceWarning]:
        return warnings_by_object(self.interruptions)

    def warning(self, node: StateNode) -> InstanceWarning | None:
        """Return the cloud's latest warning about a node's instance, or None."""
        if not self._warnings or node.claim is None:
            return None
        named = (("NodeClaim", node.claim.name), ("Node", node.node.name if node.node is not None else ""))
        warnings = (warning for key in named if (warning := self._warnings.get(key)))
        return max(warnings, key=lambda warning: warning.at_ns, default=None)

    @cached_property
    def pool_costs(self) -> dict[str, float]:
        """Each NodePool's cost per hour."""
        return pool_costs(self.inventory.nodeclaims, self.books)

    def is_empty(self, node: StateNode) -> bool:
        """Return whether a node has no reschedulable pod of positive cost: Emptiness's condition."""
        values = self._of(node)
        if values.is_empty is None:
            values.is_empty = self._is_empty(node)
        return values.is_empty

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
        """Return a node's disruption cost as Karpenter stores it: 1 plus the costs of all but DaemonSet pods."""
        traits = self.pods.traits
        cost = 1.0
        for pod in node.pods:
            pod_traits = traits(pod.template)
            if not pod_traits.is_daemonset_owned and pod_traits.eviction_cost > 0:
                cost += pod_traits.eviction_cost
        return cost


def _books(types: Mapping[str, Sequence[InstanceType]], rules: Rules) -> dict[str, ReckonedPrices]:
    """Return each NodePool's prices; NodePools with the same type list share them."""
    by_list: dict[int, ReckonedPrices] = {}
    return {name: by_list.setdefault(id(types_), ReckonedPrices(types_, rules)) for name, types_ in types.items()}


def arrivals(fleet: Fleet, node: StateNode) -> tuple[Pod, ...]:
    """Return the pods on a node that were bound to it in the last hour, latest first, without DaemonSet pods.

    Pods that have left again are not included.
    """
    since_ns = fleet.now_ns - HOUR_NS
    pods = [
        pod
        for pod in node.pods
        if pod.scheduled_ns > since_ns and not fleet.pods.traits(pod.template).is_daemonset_owned
    ]
    return tuple(sorted(pods, key=lambda pod: (-pod.scheduled_ns, pod.key)))
