"""The cheapest consolidateAfter with a limited number of evictions a day, by forecasts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

import msgspec

from karptui.errors import RequestError
from karptui.forward.result import Played
from karptui.karpenter.nodepool import NodePool
from karptui.kube.timestamps import DAY_NS
from karptui.kube.units import counted
from karptui.provisioning.pool_order import served_pools
from karptui.provisioning.reporter import Reporter
from karptui.solve.answer import MOST_NOTED, Effort, Figures, Solved, Tried, costs_more
from karptui.solve.question import GoalQuestion
from karptui.solve.search import highest_good
from karptui.studies.forecasts import forecast_of
from karptui.whatif.edits import AnyEdit, ObjectRef, SetField
from karptui.whatif.edits.apply import apply
from karptui.whatif.scenario import Replay

LADDER: Final = (
    "Never", "24h", "16h", "12h", "8h", "6h", "4h", "3h", "2h", "90m", "1h",
    "45m", "30m", "20m", "15m", "10m", "5m", "2m", "1m", "30s", "0s",
)  # fmt: skip
"""The values that are played, the calmest first."""
_SAME: Final = 1e-4
"""Dollars per hour."""


def find(question: GoalQuestion) -> Solved:
    """Return the answer to the goal."""
    most = question.count("evictions")
    pools = _pools(question)
    whose = f"NodePool {pools[0].name}" if len(pools) == 1 else f"all {len(pools)} NodePools"
    question.asked = f"the cheapest consolidateAfter tried of {whose} with at most {counted(most, 'eviction')} a day"
    question.to_try = len(LADDER)
    days, seeds = question.count("days"), question.count("seeds")
    span, length = ("a day", "one day") if days == 1 else (f"{days} days", f"{days} days")
    within = "within a day" if days == 1 else f"on the worst of {span}"
    if seeds > 1:
        within, span = f"{within}, the most of {seeds} seeds", f"{span} with each of {seeds} seeds"
    horizon_ns = days * DAY_NS
    as_it_is = forecast_of(question.base).play(
        horizon_ns=horizon_ns, reporter=question.report, pause=question.base.pause
    )
    now = figures_of_plays([as_it_is], days)
    attempts: dict[int, Tried] = {}
    assumed: list[str] = list(as_it_is.assumptions)

    def edits_at(position: int) -> tuple[AnyEdit, ...]:
        return tuple(_edit(pool, LADDER[position]) for pool in pools)

    def are_good(positions: Iterable[int]) -> Iterator[bool]:
        changes = ((position, edits_at(position)) for position in positions)
        for position, figures in question.asked_of_each(days_of, (days, seeds), changes):
            evictions = figures.evictions or 0
            is_enough = evictions <= most
            attempts[position] = Tried(
                parts=(f"{whose}: consolidateAfter {LADDER[position]}",),
                outcome=f"{counted(evictions, 'eviction')} {within}",
                edits=edits_at(position),
                figures=figures,
                is_enough=is_enough,
                why_not="" if is_enough else f"evicts {counted(evictions, 'pod')} {within}",
            )
            yield is_enough

    line = highest_good(len(LADDER), are_good, len(LADDER))
    good = {at: attempt for at, attempt in attempts.items() if attempt.is_enough}
    # Of equal cost the calmest.
    best_at = min(good, key=lambda at: (round(good[at].figures.price_per_hour, 4), at), default=None)
    best = attempts[best_at] if best_at is not None else None
    runner_up = _runner_up(attempts, best_at, line.highest, has_prices=question.has_prices)
    shown = {best_at, _place(attempts, runner_up)}
    attempts_said = [attempt for at, attempt in sorted(attempts.items(), reverse=True) if at not in shown]
    prices = [good[at].figures.price_per_hour for at in sorted(good)]
    is_cheaper_when_shorter = all(after <= before + _SAME for before, after in pairwise(prices))
    return Solved(
        replay=Replay.NEXT,
        now=now,
        best=best,
        runner_up=runner_up,
        is_reached=best is not None,
        others=tuple(_with_reason(attempt, best, has_prices=question.has_prices) for attempt in attempts_said)[
            :MOST_NOTED
        ],
        because=""
        if best is not None
        else f"even Never evicts more than {most:,} pods within a day, through drift, expiry or commands in progress",
        effort=Effort(
            tried=len(line.tried),
            all=len(LADDER),
            how=f"{counted(len(LADDER), 'value')} from 0s to 24h and Never by halving, each simulated for {span}",
            is_monotone=line.is_monotone and is_cheaper_when_shorter,
        ),
        approximated=(
            *assumed,
            f"{length} from now with a constant load: other days may evict more or less",
        ),
        not_modelled=as_it_is.not_modelled,
    )


def _pools(question: GoalQuestion) -> list[NodePool]:
    pool_name = question.text("nodepool")
    if pool_name:
        return [question.pool("nodepool")]
    pools = [pool for pool in served_pools(question.base.inventory.nodepools) if not pool.is_static]
    if not pools:
        raise RequestError("there is no NodePool that Karpenter consolidates")
    return pools


def _edit(pool: NodePool, value: str) -> AnyEdit:
    return SetField(ObjectRef("NodePool", pool.name), ("spec", "disruption", "consolidateAfter"), value)


def days_of(common: Any, edits: Any, reporter: Reporter) -> Figures:
    """Return the figures of plays of some days with edits, with several seeds."""
    base, (days, seeds) = common
    edited = forecast_of(base, apply(base, edits))
    plays = [
        edited.play(horizon_ns=days * DAY_NS, seed=seed, reporter=reporter, pause=base.pause) for seed in range(seeds)
    ]
    return figures_of_plays(plays, days)


def figures_of_plays(plays: Sequence[Played], days: int) -> Figures:
    """Return the mean dollars of plays, and the most evictions of any day of theirs."""
    end = plays[0].end
    return Figures(
        pending=max(played.end.pending for played in plays),
        nodes=end.nodes,
        price_per_hour=round(sum(_mean_price(played, days) for played in plays) / len(plays), 9),
        evictions=max(max(_evictions_by_day(played, days)) for played in plays),
    )


def _mean_price(played: Played, days: int) -> float:
    span_ns = days * DAY_NS
    until = played.from_ns + span_ns
    moments = [*played.series, msgspec.structs.replace(played.end, at_ns=until)]
    return sum(
        moment.price_per_hour * (min(after.at_ns, until) - min(moment.at_ns, until)) / span_ns
        for moment, after in pairwise(moments)
    )


def _evictions_by_day(played: Played, days: int) -> list[int]:
    counts = [0] * days
    for step in played.steps:
        counts[min((step.at_ns - played.from_ns) // DAY_NS, days - 1)] += step.evictions
    return counts


def _runner_up(attempts: dict[int, Tried], best: int | None, highest: int | None, *, has_prices: bool) -> Tried | None:
    """Return the next shorter value with too many evictions, else the next best of the others."""
    if best is None:
        return None
    beyond = [at for at, attempt in attempts.items() if not attempt.is_enough and at > best]
    if highest is not None and beyond:
        return attempts[min(beyond)]
    rest = [attempt for at, attempt in attempts.items() if at != best and attempt.is_enough]
    nearest = min(rest, key=lambda attempt: attempt.figures.price_per_hour, default=None)
    return _with_reason(nearest, attempts[best], has_prices=has_prices) if nearest is not None else None


def _with_reason(tried: Tried, best: Tried | None, *, has_prices: bool) -> Tried:
    """Return a value with why it was not taken."""
    if tried.why_not or best is None:
        return tried
    dearer = tried.figures.price_per_hour - best.figures.price_per_hour
    why = costs_more(dearer, has_prices=has_prices) if dearer > _SAME else "same result"
    return msgspec.structs.replace(tried, why_not=why)


def _place(attempts: dict[int, Tried], tried: Tried | None) -> int | None:
    return next((at for at, attempt in attempts.items() if tried is not None and attempt.edits == tried.edits), None)
