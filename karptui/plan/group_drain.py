"""Node groups drained over time: duration, blockers, and peak number and price of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from karptui.forward.durations import observed
from karptui.forward.kubectl_drain import DrainedNode, HeldPod
from karptui.forward.play import Play
from karptui.forward.result import Moment, Played, StepKind, without_dollars
from karptui.forward.run import HORIZON_NS, about_dollars, premises
from karptui.karpenter.pod_predicates import is_reschedulable
from karptui.provisioning.reporter import Reporter, silent
from karptui.whatif.situation import Situation

_PREMISES: Final = (
    "all nodes are cordoned, then drained by name: kubectl drain --ignore-daemonsets --force --delete-emptydir-data",
    "an eviction that a PodDisruptionBudget refuses is tried again every 5 s, as kubectl does",
    "a drained node is deleted, and not started again by its group: scale that to zero as you go",
)


class GroupDrain(msgspec.Struct, frozen=True, kw_only=True):
    """A simulated drain."""

    at_once: int
    """How many nodes are drained at a time."""
    from_ns: int
    until_ns: int
    """When the last node was gone and the last new one ready, or the horizon."""
    nodes: tuple[DrainedNode, ...]
    held: tuple[HeldPod, ...]
    """Pods with refused evictions, those that are never evicted first."""
    do_not_disrupt: tuple[str, ...]
    """Pods that ask not to be disrupted, which kubectl does not know: ``namespace/name``."""
    launched: int
    """Nodes that Karpenter launches meanwhile."""
    nodes_before: int
    most_nodes: int
    price_before: float
    """Price per hour of the managed nodes and the node group."""
    most_price: float
    unpriced: int
    """Highest number of nodes that prices leave out at a time, because their price is unknown."""
    has_prices: bool
    """Whether prices are on."""
    longest_wait_ns: int
    """Longest time that a pod was without a node during the drain."""
    waiting_before: int
    waiting: int
    """Pods without a node at the end."""
    assumed: tuple[str, ...]
    not_modelled: tuple[str, ...]

    @property
    def took_ns(self) -> int | None:
        """Time until the last node is removed; None if some are left."""
        ends = [one.gone_ns for one in self.nodes if one.gone_ns is not None]
        return max(ends, default=self.from_ns) - self.from_ns if len(ends) == len(self.nodes) else None

    @property
    def left(self) -> tuple[str, ...]:
        """Nodes that are not empty at the end."""
        return tuple(one.node for one in self.nodes if one.empty_ns is None)

    def waited_ns(self, held: HeldPod) -> int:
        """Return how long a pod's eviction was refused."""
        return (self.until_ns if held.until_ns is None else held.until_ns) - held.from_ns


def drain_groups(
    situation: Situation,
    prices: Mapping[str, float],
    *,
    names: Sequence[str],
    at_once: int = 1,
    horizon_ns: int = HORIZON_NS,
    reporter: Reporter = silent,
) -> GroupDrain:
    """Simulate the drain of nodes that Karpenter does not manage.

    Args:
        situation: The cluster, with its planned NodePools.
        prices: Known prices per hour by node.
        at_once: Nodes drained at a time.
        horizon_ns: Limit of the simulated time.

    Raises:
        Cancelled: The reporter cancelled.
    """
    inventory, settings, now_ns = situation.inventory, situation.settings, situation.now_ns
    durations = observed(inventory.nodeclaims)
    play = Play(
        inventory,
        situation.types.types,
        settings,
        now_ns,
        until_ns=now_ns + horizon_ns,
        durations=durations,
        refused_until_ns=situation.types.refused_until_ns,
        reporter=reporter,
    )
    ordered, going = sorted(names), frozenset(names)
    drain = play.drain_by_hand(ordered, at_once)
    predicates = situation.fleet.pods
    do_not_disrupt = (
        pod.key
        for pod in inventory.pods
        if pod.node_name in going and is_reschedulable(pod) and not predicates.is_disruptable(pod)
    )
    has_prices = situation.has_prices
    played = play.run() if has_prices else without_dollars(play.run())
    assumed, left_out = premises(
        inventory, settings, durations, now_ns, refused_until_ns=situation.types.refused_until_ns
    )
    costs = list(_costs(played.series, drain.nodes, prices))
    unpriced = max(moment.unpriced for moment in played.series) + sum(1 for name in names if name not in prices)
    return GroupDrain(
        at_once=at_once,
        from_ns=now_ns,
        until_ns=play.now_ns,
        nodes=drain.nodes,
        held=_longest_first(drain.held, play.now_ns),
        do_not_disrupt=tuple(sorted(do_not_disrupt)),
        launched=sum(len(step.claims) for step in played.steps if step.kind in (StepKind.PROVISION, StepKind.DISRUPT)),
        nodes_before=played.series[0].nodes,
        most_nodes=max(moment.nodes for moment in played.series),
        price_before=costs[0],
        most_price=max(costs),
        unpriced=unpriced,
        has_prices=has_prices,
        longest_wait_ns=_longest_wait(played, play.now_ns),
        waiting_before=played.series[0].pending,
        waiting=played.end.pending,
        assumed=(*_PREMISES, *assumed, *(about_dollars(played) if has_prices else ())),
        not_modelled=left_out,
    )


def _costs(series: Iterable[Moment], nodes: Sequence[DrainedNode], prices: Mapping[str, float]) -> Iterable[float]:
    """Yield the price per hour of the managed nodes and the node group at each moment."""
    for moment in series:
        left = (one.node for one in nodes if one.gone_ns is None or one.gone_ns > moment.at_ns)
        yield round(moment.price_per_hour + sum(prices.get(name, 0.0) for name in left), 6)


def _longest_first(held: Iterable[HeldPod], now_ns: int) -> tuple[HeldPod, ...]:
    def key(one: HeldPod) -> tuple[bool, int, str]:
        until_ns = now_ns if one.until_ns is None else one.until_ns
        return one.until_ns is not None, one.from_ns - until_ns, one.pod

    return tuple(sorted(held, key=key))


def _longest_wait(played: Played, now_ns: int) -> int:
    waits = (one for one in played.waits if one.from_ns >= played.from_ns)
    return max(((now_ns if one.until_ns is None else one.until_ns) - one.from_ns for one in waits), default=0)
