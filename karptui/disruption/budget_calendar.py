"""When a NodePool's budgets open and close: the next change and the coming days."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import msgspec

from karptui.disruption.budgets import PoolUse, Reason, Window, budget_state, read_window
from karptui.disruption.schedule import IntervalSchedule, ScheduleError
from karptui.karpenter.nodepool import DisruptionBudget, NodePool
from karptui.kube.durations import DurationError
from karptui.kube.timestamps import NS_PER_SECOND

DAY_NS: Final = 86_400 * NS_PER_SECOND
WEEK_NS: Final = 7 * DAY_NS
_MINUTE_NS: Final = 60 * NS_PER_SECOND
_MAX_HITS: Final = 20_000
"""More hits than a schedule of every minute has in a week; keeps a hostile schedule from taking for ever."""


class Span(msgspec.Struct, frozen=True, gc=False):
    """A stretch of time, the end excluded."""

    start_ns: int
    end_ns: int


class AllowanceSpan(msgspec.Struct, frozen=True, gc=False):
    """A stretch of time in which a NodePool allows the same number of nodes for a reason."""

    start_ns: int
    end_ns: int
    allowed: int


def open_spans(window: Window, start_ns: int, end_ns: int) -> Iterator[Span]:
    """Yield the spans within ``[start_ns, end_ns)`` in which a window is open, in order, overlapping ones merged."""
    if isinstance(window.schedule, IntervalSchedule):
        if window.is_open(start_ns):
            yield Span(start_ns, end_ns)
        return
    if window.schedule.next_after(start_ns - window.duration_ns) is None:
        yield Span(start_ns, end_ns)
        return
    begin = finish = start_ns
    cursor = start_ns - window.duration_ns
    for _ in range(_MAX_HITS):
        hit = window.schedule.next_after(cursor)
        if hit is None or hit >= end_ns or window.duration_ns <= 0:
            break
        cursor = hit
        if hit > finish:
            if finish > begin:
                yield Span(begin, min(finish, end_ns))
            begin = hit
        finish = hit + window.duration_ns
        if finish >= end_ns:
            break
        cursor = max(cursor, _last_minute_hit(window, finish))
    if finish > begin:
        yield Span(begin, min(finish, end_ns))


def _last_minute_hit(window: Window, finish_ns: int) -> int:
    """Return an instant right before a hit in the last minute of a span, 0 where there is none.

    Hits before it only repeat that the window is open, so that windows which overlap by far need not be walked through.
    """
    before_ns = finish_ns - _MINUTE_NS
    hit = window.schedule.next_after(before_ns) if window.duration_ns > _MINUTE_NS else None
    return before_ns if hit is not None and hit <= finish_ns else 0


def allowance(pool: NodePool, reason: Reason, use: PoolUse | None, start_ns: int, end_ns: int) -> list[AllowanceSpan]:
    """Return what a NodePool allows for a reason from ``start_ns`` to ``end_ns``, equal neighbours joined.

    Node counts are taken as they are now; a budget that cannot be read closes the pool throughout.
    """
    edges = {start_ns, end_ns}
    for budget in pool.budgets or ():
        try:
            window = read_window(budget)
        except (ScheduleError, DurationError):
            continue
        if window is not None:
            for span in open_spans(window, start_ns, end_ns):
                edges.update((span.start_ns, span.end_ns))
    moments = sorted(edges)
    spans: list[AllowanceSpan] = []
    for begin, finish in pairwise(moments):
        allowed = budget_state(pool, reason, use, begin).allowed
        if spans and spans[-1].allowed == allowed:
            spans[-1] = AllowanceSpan(spans[-1].start_ns, finish, allowed)
        else:
            spans.append(AllowanceSpan(begin, finish, allowed))
    return spans


def next_opening(pool: NodePool, reason: Reason, use: PoolUse | None, now_ns: int) -> int | None:
    """Return when more nodes are allowed than now, by windows alone and within a week; None where that is not so."""
    spans = allowance(pool, reason, use, now_ns, now_ns + WEEK_NS)
    return next((span.start_ns for span in spans if span.allowed > spans[0].allowed), None)


def opened_at(budget: DisruptionBudget, now_ns: int) -> int | None:
    """Return when the window that is open now was opened, None where the budget has none or always applies.

    Windows that follow each other without a gap count as one, looking back a week at most.
    """
    try:
        window = read_window(budget)
    except (ScheduleError, DurationError):
        return None
    if window is None:
        return None
    start_ns = now_ns - WEEK_NS
    for span in open_spans(window, start_ns, now_ns + 1):
        if span.end_ns > now_ns:
            return span.start_ns if span.start_ns > start_ns else None
    return None
