"""What edits change: the difference of two replays."""

from __future__ import annotations

import msgspec

from karptui.provisioning.prepared import Prepared
from karptui.provisioning.reporter import Reporter, silent
from karptui.whatif.disruption_difference import budget_changes, next_lines
from karptui.whatif.drift.drift import drift_changes
from karptui.whatif.lines import (
    BudgetChange,
    ClaimLine,
    DriftLine,
    MoveLine,
    NextLines,
    NodeLine,
    PoolChange,
    Totals,
    Unplaced,
    WeightChange,
)
from karptui.whatif.outcome import PoolFigures, ReplayOutcome
from karptui.whatif.placement_difference import claim_lines, move_lines, node_lines, shifts_of, unplaced_lines
from karptui.whatif.replay import replay
from karptui.whatif.scenario import Replay
from karptui.whatif.situation import Situation


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """Two replays, compared."""

    mode: Replay
    before: Totals
    after: Totals
    pools: tuple[PoolChange, ...]
    """Every NodePool of either side, in the order in which the edited side tries them."""
    claims: tuple[ClaimLine, ...]
    """New nodes of the edited side: changed ones first, then by NodePool."""
    claims_before: tuple[ClaimLine, ...]
    """New nodes of the base that the edited side has none like."""
    nodes: tuple[NodeLine, ...]
    """Nodes that exist and receive pods on the edited side; changed ones first."""
    moves: tuple[MoveLine, ...]
    """Pods whose NodePool or node changes."""
    no_longer_fit: tuple[Unplaced, ...]
    """Pods without a place that have one in the base, or are new."""
    still_pending: tuple[Unplaced, ...]
    """Pods without a place on both sides."""
    now_fit: tuple[MoveLine, ...]
    """Pods with a place that have none in the base."""
    drift_gained: tuple[DriftLine, ...] = ()
    drift_lost: tuple[DriftLine, ...] = ()
    budgets: tuple[BudgetChange, ...] = ()
    """Those that change."""
    weights: tuple[WeightChange, ...] = ()
    """NodePools whose weight is edited, in the order in which the edited side tries them."""
    next_before: NextLines | None = None
    """Only of `Replay.NEXT`."""
    next_after: NextLines | None = None

    @property
    def price_delta_per_hour(self) -> float:
        """Dollars per hour that the edits add, as far as prices are known; negative where they save."""
        return self.after.price_per_hour - self.before.price_per_hour

    @property
    def at_most_delta_per_hour(self) -> float:
        """The same with nodes on spot whose price nobody knows at what they would cost on demand."""
        return self.price_delta_per_hour + (
            self.after.unpriced_at_most_per_hour - self.before.unpriced_at_most_per_hour
        )

    @property
    def price_delta_share(self) -> float | None:
        """The same as a share of what it costs before; None where that is nothing."""
        before = self.before.price_per_hour
        return self.price_delta_per_hour / before if before else None


def difference(base: Situation, edited: Situation, mode: Replay, reporter: Reporter = silent) -> Difference:
    """Replay both sides and compare what they come to.

    Args:
        base: The cluster as it is.
        edited: The cluster as edits make it.
        mode: What is replayed.
        reporter: Told of progress; may raise `Cancelled`.

    Raises:
        Cancelled: when the reporter does.
    """
    before, after = replay(base, mode, reporter), replay(edited, mode, reporter)
    after.claim_types.tidy()
    gained, lost = drift_changes(base, edited)
    claims, claims_before = claim_lines(before, after)
    shifts = shifts_of(before, after)
    moves, now_fit = move_lines(after, shifts)
    no_longer_fit, still_pending = unplaced_lines(after, shifts)
    is_next = mode is Replay.NEXT
    return Difference(
        mode=mode,
        before=_totals(before, base.drifted),
        after=_totals(after, edited.drifted + len(gained) - len(lost)),
        pools=_pools(before, after),
        claims=claims,
        claims_before=claims_before,
        nodes=node_lines(before, after),
        moves=moves,
        no_longer_fit=no_longer_fit,
        still_pending=still_pending,
        now_fit=now_fit,
        drift_gained=gained,
        drift_lost=lost,
        budgets=budget_changes(base, edited),
        weights=_weights(base.prepared, edited.prepared),
        next_before=next_lines(before) if is_next else None,
        next_after=next_lines(after) if is_next else None,
    )


def _weights(before: Prepared, after: Prepared) -> tuple[WeightChange, ...]:
    old = {pool.name: pool for pool in before.pools}
    places = {name: place for place, name in enumerate(old)}
    both = [pool for pool in after.pools if pool.name in old]
    found = []
    for at, pool in enumerate(both):
        if pool.weight == old[pool.name].weight:
            continue
        place = places[pool.name]
        found.append(
            WeightChange(
                pool.name,
                ahead_of=tuple(one.name for one in both[at + 1 :] if places[one.name] < place),
                behind=tuple(one.name for one in both[:at] if places[one.name] > place),
                is_usable=pool.name not in after.left_out,
            )
        )
    return tuple(found)


def _totals(outcome: ReplayOutcome, drifted: int) -> Totals:
    pools = outcome.pools.values()
    return Totals(
        nodes=sum(one.nodes for one in pools),
        launched=sum(one.launched for one in pools),
        price_per_hour=sum(one.price_per_hour for one in pools),
        unpriced=sum(one.unpriced for one in pools),
        pending=len(outcome.unplaced),
        drifted=drifted,
        unpriced_at_most_per_hour=sum(one.unpriced_at_most_per_hour for one in pools),
    )


def _pools(before: ReplayOutcome, after: ReplayOutcome) -> tuple[PoolChange, ...]:
    nothing = PoolFigures()
    known_before = {pool.name for pool in before.prepared.inventory.nodepools}
    known_after = {pool.name for pool in after.prepared.inventory.nodepools}
    changes = []
    for name in dict.fromkeys((*after.pools, *before.pools)):
        old, new = before.pools.get(name, nothing), after.pools.get(name, nothing)
        changes.append(
            PoolChange(
                name=name,
                nodes_before=old.nodes,
                nodes_after=new.nodes,
                launched_before=old.launched,
                launched_after=new.launched,
                price_before=old.price_per_hour,
                price_after=new.price_per_hour,
                is_new=name in known_after and name not in known_before,
                is_gone=name in known_before and name not in known_after,
                pods_before=before.pods_by_pool.get(name, 0),
                pods_after=after.pods_by_pool.get(name, 0),
            )
        )
    return tuple(changes)
