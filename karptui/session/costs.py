"""What nodes cost together, what is spent on those that something keeps, and how full all of them are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from karptui.disruption.joint_saving import NodeSaving, joint_saving
from karptui.karpenter.labels import RESERVED
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.session.nodes import NodeEntry, PodAccess
from karptui.state.usage import NO_SHARE, Share, total_share

if TYPE_CHECKING:
    from karptui.disruption.analysis import Analysis
    from karptui.disruption.joint_saving import JointFigures
    from karptui.disruption.node_verdict import Verdict


class Total(msgspec.Struct, frozen=True):
    """What several nodes cost together."""

    per_hour: float = 0.0
    currency: str = "USD"
    priced: int = 0
    """Nodes with a known price."""
    unpriced: int = 0
    """Nodes that run and whose price nobody knows."""


class Held(msgspec.Struct, frozen=True):
    """What several nodes hold together."""

    per_hour: float = 0.0
    currency: str = "USD"
    nodes: int = 0
    """Nodes that would go."""
    unpriced: int = 0
    """Those of them whose price nobody knows."""
    waiting: int = 0
    """Nodes that are not looked into yet, or are held and have never been simulated."""
    is_joint: bool = True
    """Whether the joint removal is simulated; else it adds up removals of single nodes."""
    is_upper_bound: bool = False
    """Whether it is of several nodes: budgets, and the time that their removal takes, are not simulated."""


SETTLES_NS: Final = 15 * NS_PER_SECOND
"""For so long a new sum has to hold before it takes the place of the last: pods of a rollout take room for seconds."""


class SteadyHeld:
    """What is held, as a figure that stands still: the last complete sum until another has held for a while."""

    def __init__(self) -> None:
        self._last: Held | None = None
        self._next: Held | None = None
        self._since_ns = 0

    def shown(self, held: Held, now_ns: int, *, settles_ns: int = SETTLES_NS) -> tuple[Held | None, bool]:
        """Return the sum to show, None before any was complete, and whether it is that of this moment.

        Args:
            held: The sum of this moment.
            now_ns: The instant.
            settles_ns: For so long a new sum has to hold; nothing where time and cluster stand still.
        """
        if held.waiting:
            self._next = None
            return self._last, False
        is_better = self._last is not None and held.is_joint and not self._last.is_joint
        if self._last is None or is_better or _is_alike(held, self._last):
            self._last, self._next = held, None
            return held, True
        if self._next is None or not _is_alike(held, self._next):
            self._next, self._since_ns = held, now_ns
        if now_ns - self._since_ns < settles_ns:
            return self._last, False
        self._last, self._next = held, None
        return held, True


def _is_alike(one: Held, other: Held) -> bool:
    """Whether two sums are written alike."""
    return (one.currency, bool(one.nodes), bool(one.unpriced), one.is_joint, f"{one.per_hour:.2f}") == (
        other.currency,
        bool(other.nodes),
        bool(other.unpriced),
        other.is_joint,
        f"{other.per_hour:.2f}",
    )


def held_per_hour(entry: NodeEntry) -> float | None:
    """Return what would be saved per hour if nothing held a node that a method wants; None where that is not known.

    Zero where no method wants it, where it would stay anyway, where nothing holds it, and where what comes in its
    place costs as much or more. While something has changed and it is not simulated again, what was known last holds.
    """
    found = entry.findings
    if found is None:
        return None
    if not found.is_held:
        return 0.0
    freed = found.freed
    if freed is None or (freed.outcome == "unknown" and not any(one.is_passing for one in found.blockers)):
        return None
    keeps_drain = any(blocker.blocks_drain for blocker in found.blockers)
    goes_anyway = found.outlook is not None and found.outlook.now.goes and not keeps_drain
    if not freed.goes or goes_anyway or (entry.price is not None and entry.capacity_type == RESERVED):
        # What goes of a reservation saves nothing, whatever comes in its place.
        return 0.0
    saved = share_saved(entry, freed)
    return None if saved is None else max(0.0, saved)


def share_saved(entry: NodeEntry, verdict: Verdict) -> float | None:
    """Return what would be saved per hour by what becomes of a node; None where a price of it is unknown.

    The saving is the share that Karpenter reckons with, of the price that is shown for the node. A reservation is
    billed whether it is used or not: what goes of it saves nothing, and only what comes in its place costs.
    """
    found = entry.findings
    if entry.price is None or found is None or verdict.is_open:
        return None
    if entry.capacity_type == RESERVED:
        return -sum(one.price_per_hour for one in verdict.replacements)
    if verdict.outcome == "delete" or not found.price_per_hour:
        return entry.price.per_hour
    return entry.price.per_hour * min(verdict.savings_per_hour / found.price_per_hour, 1.0)


def held_of(entries: Iterable[NodeEntry], joint: JointFigures | None = None) -> Held:
    """Return what nodes hold together.

    Args:
        entries: The nodes.
        joint: Joint removals; without it several nodes get an upper bound.
    """
    currency, unpriced, waiting = "USD", 0, 0
    alone: list[NodeSaving] = []
    for entry in entries:
        found = entry.findings
        if found is None:
            waiting += entry.node is not None and entry.is_managed
            continue
        if not found.is_held:
            continue
        waiting += found.freed is None
        amount = held_per_hour(entry)
        if amount is None:
            unpriced += found.freed is not None
        elif amount > 0:
            alone.append(NodeSaving(entry.key, amount, entry.price.per_hour if entry.price is not None else 0.0))
            currency = entry.price.currency if entry.price is not None else currency
    saving = joint_saving(alone, joint)
    nodes = saving.nodes + unpriced
    return Held(saving.per_hour or 0.0, currency, nodes, unpriced, waiting, saving.is_joint, saving.is_upper_bound)


def total_of(entries: Iterable[NodeEntry]) -> Total:
    """Return the sum of what nodes cost; claims that have no instance type yet cost nothing and are not missing."""
    per_hour, priced, unpriced, currency = 0.0, 0, 0, "USD"
    for entry in entries:
        if entry.price is not None:
            per_hour += entry.price.per_hour
            priced += 1
            currency = entry.price.currency
        elif entry.node is not None or entry.instance_type:
            unpriced += 1
    return Total(per_hour, currency, priced, unpriced)


class ClusterTotals(msgspec.Struct, frozen=True, kw_only=True):
    """What nodes and NodeClaims hold and cost together."""

    nodes: int = 0
    claims: int = 0
    """NodeClaims that have no node yet."""
    pods: int = 0
    """Bound or not."""
    access: PodAccess = PodAccess.PENDING
    """Whether what pods ask of the nodes is known."""
    hidden: frozenset[str] = frozenset()
    """Kinds that may not be listed."""
    cost: Total | None = None
    """None where prices are off."""
    held: Held | None = None
    """What is spent on nodes that something keeps; None where that is not known, and where prices are off."""
    cpu: Share = NO_SHARE
    memory: Share = NO_SHARE
    slots: Share = NO_SHARE
    """For pods."""


def totals_of(
    entries: Sequence[NodeEntry],
    pod_count: int,
    *,
    hidden: frozenset[str],
    has_prices: bool,
    analysis: Analysis | None,
) -> ClusterTotals:
    """Return what nodes and claims hold and cost together.

    Args:
        entries: All of them, or some.
        pod_count: Pods there are, bound or not.
        hidden: Kinds that may not be listed.
        has_prices: Whether prices are shown.
        analysis: Why nodes are still here; None before that is known.
    """
    nodes = [entry for entry in entries if entry.node is not None]
    return ClusterTotals(
        nodes=len(nodes),
        claims=len(entries) - len(nodes),
        pods=pod_count,
        access=nodes[0].access if nodes else PodAccess.PENDING,
        hidden=hidden,
        cost=total_of(entries) if has_prices else None,
        held=held_of(entries, analysis.joint) if has_prices and analysis is not None else None,
        cpu=total_share(entry.cpu for entry in nodes),
        memory=total_share(entry.memory for entry in nodes),
        slots=total_share(entry.pods for entry in nodes),
    )
