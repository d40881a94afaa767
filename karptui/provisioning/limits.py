"""Remaining NodePool limits for new claims.

Rules: ``filterByRemainingResources`` and ``subtractMax`` in ``pkg/controllers/provisioning/scheduling/scheduler.go``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.nodepool import NodePool
from karptui.kube.resources import CPU, EPHEMERAL_STORAGE, HUGEPAGES_PREFIX, MEMORY, NODES, PODS, nano
from karptui.provisioning.reporter import Pause, no_pause, with_pauses
from karptui.provisioning.state_node import StateNode
from karptui.provisioning.template import Template


def remaining_limits(pool: NodePool, states: Iterable[StateNode]) -> dict[str, int]:
    """Return a NodePool's limits minus the capacity of its nodes, in nano-units, for the limited resources."""
    remaining = {name: amount.nano for name, amount in (pool.limits or {}).items()}
    if remaining:
        for state in states:
            capacity = state.capacity_nano
            for name in remaining:
                remaining[name] -= capacity.get(name, 0)
    return remaining


def allows_node(remaining: Mapping[str, int], instance_type: InstanceType) -> bool:
    """Return whether remaining limits, in nano-units, allow a new node of a type."""
    capacity = instance_type.capacity
    return remaining.get(NODES) != 0 and all(nano(capacity, name) <= left for name, left in remaining.items())


_NEARLY_FULL: Final = 0.95
_SIZED: Final = frozenset({CPU, MEMORY, EPHEMERAL_STORAGE, PODS})
"""Resources of which nodes have different amounts, in addition to huge pages."""


def as_good_as_full(resource: str, limit_nano: int) -> float:
    """Return the minimum usage, in nano-units, that counts as reaching a limit.

    A node needs a considerable part of the remaining cpu, memory and pod slots; of nodes and devices it may need one.
    """
    is_sized = resource in _SIZED or resource.startswith(HUGEPAGES_PREFIX)
    return _NEARLY_FULL * limit_nano if is_sized else limit_nano


class LimitsLeft:
    """Remaining limits of NodePools at the start of a run, cached by NodePool."""

    def __init__(self, states: Sequence[StateNode], pause: Pause = no_pause) -> None:
        """Create from tracked nodes.

        Args:
            states: Nodes of every NodePool that are not being deleted.
        """
        self._states = states
        self._pause = pause
        self._by_provider: dict[str, StateNode] = {}
        self._by_pool: defaultdict[str, list[StateNode]] = defaultdict(list)
        self._remaining: dict[str, dict[str, int]] = {}

    def _index(self) -> None:
        self._by_provider = {state.provider_id: state for state in self._states}
        for state in self._states:
            self._by_pool[state.nodepool_name].append(state)
        self._states = ()

    def of(self, pool: NodePool, excluded: Iterable[str]) -> dict[str, int]:
        """Return a NodePool's remaining limits in nano-units, if the nodes with some provider ids are removed."""
        if not pool.limits:
            return {}
        if self._states:
            self._index()
        remaining = self._remaining.get(pool.name)
        if remaining is None:
            remaining = self._remaining[pool.name] = remaining_limits(
                pool, with_pauses(self._by_pool.get(pool.name, ()), self._pause, 500)
            )
        states = map(self._by_provider.get, excluded)
        removed = [state for state in states if state is not None and state.nodepool_name == pool.name]
        return {
            name: left + sum(state.capacity_nano.get(name, 0) for state in removed) for name, left in remaining.items()
        }


class LimitState:
    """Types that a NodePool's remaining limits allow."""

    __slots__ = ("is_out_of_nodes", "remaining", "template", "types")

    def __init__(self, template: Template, remaining: Mapping[str, int]) -> None:
        self.template = template
        self.remaining = dict(remaining)
        self._measure()

    def _measure(self) -> None:
        self.is_out_of_nodes = self.remaining.get(NODES) == 0
        self.types = self.template.types
        if self.remaining:
            self.types &= self.template.catalogue.within_limits(self.remaining.items())

    def spend(self, types: int) -> None:
        """Subtract the largest capacity of a new claim's types; a claim does not count as a node."""
        if not self.remaining:
            return
        capacity = self.template.catalogue.capacity
        for name in self.remaining:
            amount_index = capacity.get(name)
            if amount_index is not None:
                self.remaining[name] -= amount_index.greatest(types)
        self._measure()
