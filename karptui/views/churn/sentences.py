"""Texts about churn, its charts, and its values for scripts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from karptui.advice.churn import loop_fact, remedies
from karptui.disruption.churn.life import Life, Removal
from karptui.disruption.churn.loops import Loop, LoopKind
from karptui.disruption.churn.moves import Moved
from karptui.disruption.churn.report import Churn, ChurnWindow
from karptui.kube.timestamps import DAY_NS, HOUR_NS, MINUTE_NS, NS_PER_SECOND, format_timestamp
from karptui.kube.units import age_text, clock_text, count_text, counted, first_of, span_text
from karptui.session.churn import ChurnEntry, Counters, ReplacedClaim
from karptui.views.instants import instant_value, second_value, seconds_of
from karptui.views.row import BLOCKS, Pieces, Tone
from karptui.views.sanitize import clean

STEPS_NS: Final = tuple(minutes * MINUTE_NS for minutes in (1, 2, 5, 10, 15, 30, 60, 120))
"""Possible time spans of a chart bin."""
NOTHING: Final = "·"


class Chart(msgspec.Struct, frozen=True):
    """Counts over the window; the last bin ends now."""

    step_ns: int
    """Time span of a bin."""
    begin_ns: int
    """Where the first bin begins: nanoseconds since the epoch."""
    created: tuple[int, ...]
    """NodeClaims, by bin."""
    removed: tuple[int, ...]
    moved: tuple[int, ...]
    """Pods."""

    @property
    def most(self) -> int:
        """The most NodeClaims that were created, or removed, in one bin."""
        return max((*self.created, *self.removed), default=0)

    @property
    def most_moved(self) -> int:
        """The most pods that were moved in one bin."""
        return max(self.moved, default=0)

    @property
    def step(self) -> str:
        """Time span of a bin as text: ``5m``, ``1h``."""
        minutes = self.step_ns // MINUTE_NS
        return f"{minutes // 60}h" if minutes % 60 == 0 else f"{minutes}m"


def chart_of(churn: Churn, width: int) -> Chart:
    """Return counts in as many bins as fit.

    Bins start at multiples of their span, so counts do not move between them.
    """
    window = churn.window
    step_ns = _step(window, width)
    begin_ns = window.since_ns // step_ns * step_ns
    count = (window.now_ns - begin_ns) // step_ns + 1

    def binned(instants: Iterable[int]) -> tuple[int, ...]:
        bins = [0] * count
        for at_ns in instants:
            if begin_ns <= at_ns <= window.now_ns:
                bins[(at_ns - begin_ns) // step_ns] += 1
        return tuple(bins)

    return Chart(
        step_ns,
        begin_ns,
        binned(life.created_ns for life in churn.created),
        binned(life.removed_ns for life in churn.removed),
        binned(move.at_ns for move in churn.moves),
    )


def _step(window: ChurnWindow, width: int) -> int:
    """Return the shortest bin span that fits the window."""
    for step_ns in STEPS_NS:
        if window.now_ns // step_ns - window.since_ns // step_ns + 1 <= width:
            return step_ns
    return STEPS_NS[-1] * (-(-window.length_ns // (STEPS_NS[-1] * width)) + 1)


def blocks(counts: Sequence[int], most: int) -> str:
    """Return a character for each count: a dot for nothing, else a block up to the full one for the most."""
    return "".join(NOTHING if not count else BLOCKS[(count * len(BLOCKS) - 1) // max(most, 1)] for count in counts)


LOOP_WORDS: Final = {
    LoopKind.SHORT_LIVED: "short-lived",
    LoopKind.SAME_TYPE: "same type",
    LoopKind.NEVER_JOINED: "never joins",
    LoopKind.MOVED: "moved",
}
FEWEST_NS: Final = 10 * MINUTE_NS
"""Over less time no rate per hour is given."""
CHART_MARGIN: Final = 30
"""Characters of a chart line that are not bins."""
SHORT_WIDTH: Final = 100
"""Below this width, loops have a short text."""
_MOST_LOOPS: Final = 3
_MOST_SHORT: Final = 2
_MOST_MOVED: Final = 3


def per_hour(count: int, window: ChurnWindow) -> float | None:
    """Return the hourly rate in the window; None if the window is too short."""
    return count * HOUR_NS / window.length_ns if window.length_ns >= FEWEST_NS else None


def since_text(instant_ns: int, now_ns: int) -> str:
    """Return ``14:02Z``, with the date if it is a day or more ago."""
    instant = datetime.fromtimestamp(instant_ns // NS_PER_SECOND, UTC)
    return f"{instant:%H:%M}Z" if now_ns - instant_ns < DAY_NS else f"{instant:%Y-%m-%d %H:%M}Z"


def rate_text(count: int, window: ChurnWindow) -> str:
    """Return ``14.1/h``; ``n/a`` over too short a window."""
    rate = per_hour(count, window)
    if rate is None:
        return "n/a"
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.1f}".removesuffix(".0")


def window_text(window: ChurnWindow, *, are_events_hidden: bool = False) -> str:
    """Return the observed time window, and its gaps."""
    facts = []
    if are_events_hidden:
        facts.append("events unread")
    elif window.events_since_ns:
        facts.append(f"events since {since_text(window.events_since_ns, window.now_ns)}")
    else:
        facts.append("no events")
    if window.observed_since_ns:
        facts.append(f"observed {age_text(window.observed_since_ns, window.now_ns)}")
    return " · ".join(facts)


def window_limits(window: ChurnWindow) -> str:
    """Return the gaps in the window while nothing was recorded."""
    if not window.events_since_ns and not window.observed_since_ns:
        return "no record of NodeClaims deleted before; later deletions are remembered for a day"
    if window.observed_since_ns and window.since_ns == window.observed_since_ns:
        return "earlier history is unknown"
    return "earlier history is unknown, and so are removals without an event (expiry) before karptui watched"


def summary_lines(churn: Churn, width: int, *, are_events_hidden: bool = False) -> tuple[Pieces, ...]:
    """Return the window, the charts and the churn loops."""
    window = churn.window
    head: Pieces = (
        ("Known: ", Tone.MUTED),
        (window_text(window, are_events_hidden=are_events_hidden), Tone.WARNING if are_events_hidden else Tone.STRONG),
        (f" · {window_limits(window)}", Tone.MUTED),
    )
    if not window.length_ns:
        return (head,)
    chart = chart_of(churn, max(width - CHART_MARGIN, 8))
    return (head, *_chart_lines(churn, chart), *_loop_lines(churn, width))


def _chart_lines(churn: Churn, chart: Chart) -> tuple[Pieces, ...]:
    window = churn.window
    lines: list[Pieces] = []
    for word, counts, most, tone in (
        ("created", chart.created, chart.most, Tone.GOOD),
        ("removed", chart.removed, chart.most, Tone.LEAVING),
        ("pods moved", chart.moved, chart.most_moved, Tone.WARNING),
    ):
        total = sum(counts)
        rate = f"{rate_text(total, window)}/h" if per_hour(total, window) is not None else ""
        figures = f"{word:<11}{count_text(total):>6} {rate:>9}  "
        lines.append(((figures, Tone.NORMAL), (blocks(counts, most), tone)))
    begin, end = since_text(chart.begin_ns, window.now_ns), since_text(window.now_ns, window.now_ns)
    room = len(chart.created) - len(begin) - len(end)
    axis = f"{begin}{' ' * room}{end}" if room > 0 else begin
    scale = f"{chart.step} each, at most {count_text(chart.most)}"
    lines.append(((f"{scale:<29}{axis}", Tone.MUTED),))
    return tuple(lines)


def _loop_lines(churn: Churn, width: int) -> tuple[Pieces, ...]:
    loops = churn.loops
    if not loops:
        return ((("no loop found among the removals that Karpenter chose", Tone.MUTED),),)
    if width < SHORT_WIDTH:
        shown = [
            f"{clean(loop.pool or loop.workload)} {LOOP_WORDS[loop.kind]} {count_text(loop.times)}×" for loop in loops
        ]
        return ((("⟳ ", Tone.WARNING), (f"loops: {first_of(shown, _MOST_SHORT)}", Tone.WARNING)),)
    lines: list[Pieces] = [(("⟳ ", Tone.WARNING), (clean(loop_fact(loop)), Tone.WARNING)) for loop in loops]
    if len(lines) > _MOST_LOOPS:
        more = f"  and {counted(len(lines) - _MOST_LOOPS, 'more loop')}: see the rows, and Advice"
        lines = [*lines[:_MOST_LOOPS], ((more, Tone.MUTED),)]
    return tuple(lines)


def reasons_text(reasons: Iterable[tuple[Removal, int]]) -> str:
    """Return ``Underutilized 7, Drifted 2``."""
    return ", ".join(f"{reason} {count_text(count)}" for reason, count in reasons)


def pool_sentences(entry: ChurnEntry, churn: Churn, now_ns: int) -> tuple[Pieces, ...]:
    """Return the churn of a NodePool: loops and their fixes, policy, and Karpenter's counters."""
    figures, pool = entry.figures, entry.pool
    between = (" · ", Tone.MUTED)
    head: list[tuple[str, Tone]] = [(clean(entry.name), Tone.STRONG)]
    if pool is not None:
        after = pool.consolidate_after_ns
        waits = "Never" if after is None else span_text(after)
        head += [between, (f"{clean(pool.consolidation_policy)}, consolidateAfter {waits}", Tone.NORMAL)]
    if figures.removed:
        head += [between, (f"{count_text(figures.removed)} removed: {reasons_text(figures.reasons)}", Tone.NORMAL)]
    if figures.lives_known:
        half = f"half of {count_text(figures.lives_known)} lived at most {span_text(figures.median_life_ns or 0)}"
        head += [between, (half, Tone.NORMAL)]
    lines: list[Pieces] = [tuple(head)]
    lines += [(("⟳ ", Tone.WARNING), (remedy, Tone.NORMAL)) for remedy in remedies(figures.loops, pool)]
    if entry.counters is not None:
        lines.append(((_counters_text(entry.counters, now_ns), Tone.MUTED),))
    if moved := churn.moved[:_MOST_MOVED]:
        most = ", ".join(f"{clean(w.workload)} {count_text(w.moves)}× ({counted(w.pods, 'pod')})" for w in moved)
        lines.append(((f"moved most, from all NodePools: {most}", Tone.MUTED),))
    return tuple(lines)


def _counters_text(counters: Counters, now_ns: int) -> str:
    since = f" since {since_text(counters.since_ns, now_ns)}" if counters.since_ns else ""
    why = ", ".join(f"{clean(reason)} {count_text(count)}" for reason, count in counters.disrupted)
    return (
        f"Karpenter's own counters{since}: {count_text(counters.created)} created, "
        f"{count_text(counters.terminated)} terminated{f'; disrupted: {why}' if why else ''}"
    )


def replacements_of(item: ReplacedClaim) -> tuple[Life, ...]:
    """Return the replacement of a node, or the cancellation of its removal."""
    return item.successors or ((item.back,) if item.back is not None else ())


def successors_text(item: ReplacedClaim) -> str:
    """Return the names and types of a node's replacements, marking those of the same type."""
    texts = []
    for successor in replacements_of(item):
        mark = " (same type)" if successor.instance_type and successor.instance_type == item.life.instance_type else ""
        texts.append(f"{clean(successor.claim)} {clean(successor.instance_type) or 'of unknown type'}{mark}")
    return ", ".join(texts)


def replacement_sentences(item: ReplacedClaim, now_ns: int) -> tuple[Pieces, ...]:
    """Return one removal: its cause, the node's lifetime, and its replacement."""
    life = item.life
    between = (" · ", Tone.MUTED)
    named = f"NodeClaim {clean(life.claim)}" + (f", node {clean(life.node)}" if life.node else "")
    head: list[tuple[str, Tone]] = [(named, Tone.STRONG), between]
    head.append((f"{life.why} {clock_text(life.removed_ns)}, {age_text(life.removed_ns, now_ns)} ago", Tone.NORMAL))
    if life.lived_ns is not None:
        head += [between, (f"lived {span_text(life.lived_ns)}", Tone.WARNING if item.is_short else Tone.NORMAL)]
    if life.is_by_events:
        head += [between, ("known only from events: times are the events' times, the type is unknown", Tone.MUTED)]
    lines: list[Pieces] = [tuple(head)]
    if item.successors:
        lines.append(((f"replaced by (inferred from time and reason): {successors_text(item)}", Tone.NORMAL),))
    elif item.back is not None:
        lines.append(((f"not replaced, but followed soon by {successors_text(item)}", Tone.WARNING),))
    if item.moves:
        lines.append(((f"{counted(item.moves, 'pod')} seen to move off it", Tone.NORMAL),))
    return tuple(lines)


BINS: Final = 24
"""The most bins of a chart."""


def window_values(window: ChurnWindow) -> dict[str, Any]:
    """Return the observed window; None for unknown ends."""
    return {
        "now": second_value(window.now_ns),
        "events_since": instant_value(window.events_since_ns),
        "observed_since": second_value(window.observed_since_ns),
        "seconds": window.length_ns // NS_PER_SECOND,
        "not_seen": window_limits(window),
    }


def chart_values(churn: Churn) -> dict[str, Any]:
    """Return counts over the window, in bins of the same length."""
    chart = chart_of(churn, BINS)
    return {
        "begin": format_timestamp(chart.begin_ns),
        "step_seconds": chart.step_ns // NS_PER_SECOND,
        "created": list(chart.created),
        "removed": list(chart.removed),
        "pods_moved": list(chart.moved),
    }


def workload_values(workload: Moved) -> dict[str, Any]:
    """Return a workload and its moved pods."""
    return {
        "workload": workload.workload,
        "moves": workload.moves,
        "pods": workload.pods,
        "first": second_value(workload.first_ns),
        "last": second_value(workload.last_ns),
        "reasons": list(workload.reasons),
    }


def loop_values(loop: Loop) -> dict[str, Any]:
    """Return a loop; None is what does not apply, or is not known."""
    return {
        "kind": str(loop.kind),
        "pool": loop.pool or None,
        "workload": loop.workload or None,
        "times": loop.times,
        "first": second_value(loop.first_ns),
        "last": second_value(loop.last_ns),
        "reasons": {str(reason): count for reason, count in loop.reasons},
        "median_life_seconds": seconds_of(loop.median_life_ns),
        "nodeclaims": list(loop.claims),
        "fact": loop_fact(loop),
    }
