"""Cost of nodes, cost of blocked nodes, and their utilization."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from karptui.disruption.codes import Code
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
    """Running nodes without a known price."""


class Held(msgspec.Struct, frozen=True):
    """What several nodes hold together."""

    per_hour: float = 0.0
    currency: str = "USD"
    nodes: int = 0
    """Nodes that would go."""
    unpriced: int = 0
    """Those without a known price."""
    waiting: int = 0
    """Nodes that are not looked into yet, or are held and have never been simulated."""
    is_joint: bool = True
    """Whether the joint removal is simulated; else it adds up removals of single nodes."""
    is_upper_bound: bool = False
    """Whether it is of several nodes, and budgets and the time that their removal takes are not simulated."""
    seconds: int | None = None
    """Time until the last of several nodes is gone without blockers, by forecast; None without a forecast."""

    @property
    def certainty(self) -> tuple[bool, bool]:
        """Whether it is of joint removals, and whether these are forecast; a higher value replaces a lower one."""
        return self.is_joint, not self.is_upper_bound


SETTLES_NS: Final = 15 * NS_PER_SECOND
"""A lower sum replaces the last one only after this time: pods of a rollout take room for seconds."""


class SteadyHeld:
    """The held cost without flicker: the last complete sum until complete sums differ from it for a while.

    A higher sum of the same certainty is shown at once: `up to` must not be below the rows.
    """

    def __init__(self) -> None:
        self._last: Held | None = None
        self._differs_since_ns: int | None = None

    def shown(self, held: Held, now_ns: int, *, settles_ns: int = SETTLES_NS) -> tuple[Held | None, bool]:
        """Return the sum to show, None before any was complete, and whether it is that of this moment.

        Args:
            settles_ns: Time that sums must differ from the last one; zero if time does not pass.
        """
        last = self._last
        is_higher = last is not None and held.certainty == last.certainty and held.per_hour > last.per_hour
        if held.waiting and not is_higher:
            return last, False
        is_current = last is None or held.certainty > last.certainty or _looks(held) == _looks(last)
        if not (is_current or is_higher):
            if self._differs_since_ns is None:
                self._differs_since_ns = now_ns
            if now_ns - self._differs_since_ns < settles_ns:
                return last, False
        self._last, self._differs_since_ns = held, None
        return held, not held.waiting


def _looks(held: Held) -> tuple[object, ...]:
    """Return a key that is equal for sums that are displayed alike."""
    return held.currency, bool(held.nodes), bool(held.unpriced), held.certainty, f"{held.per_hour:.2f}"


def held_per_hour(entry: NodeEntry) -> float | None:
    """Return the hourly savings if a wanted node had no blockers; None if unknown.

    Zero if no method wants it, if it would stay anyway, if nothing but a pod that is expected there blocks it, and if
    its replacement costs as much or more. After a change the last known value holds until the node is simulated again.
    """
    findings = entry.findings
    if findings is None:
        return None
    if all(blocker.code is Code.NOMINATED for blocker in findings.blockers if blocker.is_wanted):
        return 0.0
    freed = findings.freed
    if freed is None or (freed.outcome == "unknown" and not any(blocker.is_passing for blocker in findings.blockers)):
        return None
    keeps_drain = any(blocker.blocks_drain for blocker in findings.blockers)
    goes_anyway = findings.outlook is not None and findings.outlook.now.goes and not keeps_drain
    if not freed.goes or goes_anyway or (entry.price is not None and entry.capacity_type == RESERVED):
        # What goes of a reservation saves nothing, whatever comes in its place.
        return 0.0
    saved = share_saved(entry, freed)
    return None if saved is None else max(0.0, saved)


def share_saved(entry: NodeEntry, verdict: Verdict) -> float | None:
    """Return the hourly savings of an outcome; None if a price is unknown.

    The saving is the share that Karpenter reckons with, of the price that is shown for the node. A reservation is
    billed even if unused: removing such a node saves nothing, and only its replacement costs.
    """
    findings = entry.findings
    if entry.price is None or findings is None or verdict.is_open:
        return None
    if entry.capacity_type == RESERVED:
        return -sum(replacement.price_per_hour for replacement in verdict.replacements)
    if verdict.outcome == "delete" or not findings.price_per_hour:
        return entry.price.per_hour
    return entry.price.per_hour * min(verdict.savings_per_hour / findings.price_per_hour, 1.0)


def held_of(entries: Iterable[NodeEntry], joint: JointFigures | None = None) -> Held:
    """Return the savings that nodes hold together.

    Args:
        joint: Joint removals; without it several nodes get an upper bound.
    """
    currency, unpriced, waiting = "USD", 0, 0
    alone: list[NodeSaving] = []
    for entry in entries:
        findings = entry.findings
        if findings is None:
            waiting += entry.node is not None and entry.is_managed
            continue
        if not findings.is_held:
            continue
        waiting += findings.freed is None
        amount = held_per_hour(entry)
        if amount is None:
            unpriced += findings.freed is not None
        elif amount > 0:
            alone.append(NodeSaving(entry.key, amount, entry.price.per_hour if entry.price is not None else 0.0))
            currency = entry.price.currency if entry.price is not None else currency
    saving = joint_saving(alone, joint)
    nodes = saving.nodes + unpriced
    return Held(
        saving.per_hour or 0.0,
        currency,
        nodes,
        unpriced,
        waiting,
        is_joint=saving.is_joint,
        is_upper_bound=saving.is_upper_bound,
        seconds=saving.seconds,
    )


def total_of(entries: Iterable[NodeEntry]) -> Total:
    """Return the cost of nodes; claims without an instance type cost nothing and do not count as missing."""
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
    """Requests and cost of nodes and NodeClaims."""

    nodes: int = 0
    claims: int = 0
    """NodeClaims that have no node yet."""
    pods: int = 0
    """Bound or not."""
    access: PodAccess = PodAccess.PENDING
    """Whether pod requests are known."""
    hidden: frozenset[str] = frozenset()
    """Kinds that may not be listed."""
    cost: Total | None = None
    """None if prices are off."""
    held: Held | None = None
    """Cost of blocked nodes; None if unknown, and if prices are off."""
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
    """Return the requests and cost of nodes and claims."""
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
