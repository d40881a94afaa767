"""Plays side by side: nodes and dollars over time, what is kept, who waits, and the cluster at one instant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final

from karptui.aws.money import per_hour_change_text, per_hour_text
from karptui.forward.result import Played
from karptui.kube.units import clock_text, count_text, counted
from karptui.session.whatif_questions import PlayFound
from karptui.views.forward.columns import moment_at
from karptui.views.forward.sentences import AS_IT_IS, chart, headline, kept_text, sampled, spread_text, waiting_text
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean

LEAST_WIDTH: Final = 38
"""Of a play beside others; with less they stand below each other."""
MOST_CHART: Final = 60
_LABEL: Final = 7
_GAP: Final = 3
_WAITING: Final = "waiting pod"


def answer_lines(plays: Sequence[PlayFound]) -> tuple[Pieces, ...]:
    """Return what plays come to, a sentence each: first the cluster as it is, then what scenarios change about that."""
    lines: list[Pieces] = []
    first = next((play.played for play in plays if play.played is not None and not play.name), None)
    for play in plays:
        name = clean(play.name)
        if play.played is None:
            lines.append(((f"{name}: {clean(play.problem)}", Tone.FAULT),))
        elif not play.name or first is None:
            lines.append(((headline(play.played), Tone.STRONG),))
        else:
            lines.append((*_compared(name, first, play.played),))
        if play.played is not None and play.played.problem:
            lines.append(((play.played.problem, Tone.WARNING),))
    return tuple(lines)


def _compared(name: str, first: Played, other: Played) -> Pieces:
    was, now = _figures(first), _figures(other)
    if not (first.end.pending or other.end.pending):
        del was[_WAITING], now[_WAITING]
    lead = (f"{name}: ", Tone.STRONG)
    change = other.end.price_per_hour - first.end.price_per_hour
    is_same_price = per_hour_text(abs(change)) == per_hour_text(0)
    if is_same_price and was == now:
        same = [per_hour_text(other.end.price_per_hour), *(counted(count, noun) for noun, count in now.items())]
        return lead, (f"the same at the end as it is: {', '.join(same)}", Tone.NORMAL)
    changes = [
        f"{counted(count, noun)} {'either way' if count == was[noun] else f'instead of {count_text(was[noun])}'}"
        for noun, count in now.items()
    ]
    if is_same_price:
        same_price = f"the same {per_hour_text(other.end.price_per_hour)} at the end as it is"
        return lead, (", ".join([same_price, *changes]), Tone.NORMAL)
    tone = Tone.GOOD if change < 0 else Tone.WARNING
    than = f" at the end than as it is, {', '.join(changes)}"
    return lead, (per_hour_change_text(change), tone), (than, Tone.NORMAL)


def _figures(played: Played) -> dict[str, int]:
    """Return what a play counts, by what one of it is called."""
    return {"node": played.end.nodes, "eviction": played.evictions, _WAITING: played.end.pending}


def play_lines(plays: Sequence[PlayFound], width: int, at_ns: int | None) -> tuple[Pieces, ...]:
    """Return the charts of plays, side by side where there is room.

    Args:
        plays: What was played.
        width: Cells there are.
        at_ns: The instant at which each is looked at; None for none.
    """
    shown = [play for play in plays if play.played is not None]
    if not shown:
        return ()
    each = (width - _GAP * (len(shown) - 1)) // len(shown)
    is_beside = each >= LEAST_WIDTH or len(shown) == 1
    blocks = [list(_block(play, each if is_beside else width, at_ns, is_named=len(shown) > 1)) for play in shown]
    if not is_beside:
        return tuple(line for block in blocks for line in block)
    lines = []
    for row in zip_longest(*blocks, fillvalue=()):
        line: list[tuple[str, Tone]] = []
        for number, pieces in enumerate(row):
            line.extend(pieces)
            if number < len(row) - 1:
                room = each - sum(len(text) for text, _ in pieces)
                line.extend(((" " * max(room, 0), Tone.NORMAL), (" │ ", Tone.MUTED)))
        lines.append(tuple(line))
    return tuple(lines)


def _block(play: PlayFound, width: int, at_ns: int | None, *, is_named: bool) -> Iterator[Pieces]:
    played = play.played
    assert played is not None
    first, last = played.series[0], played.end
    if is_named:
        yield ((clean(play.name)[:width] or AS_IT_IS, Tone.STRONG),)
    numbers = [
        ("$/h", f"{first.price_per_hour:,.2f}", f"{last.price_per_hour:,.2f}"),
        ("nodes", count_text(first.nodes), count_text(last.nodes)),
    ]
    wide = [max(len(pair[side]) for pair in numbers) for side in (1, 2)]
    room = min(width - _LABEL - sum(wide) - 2, MOST_CHART)
    samples = sampled(played, max(room, 1))
    series = ([moment.price_per_hour for moment in samples], [float(moment.nodes) for moment in samples])
    for (label, before, after), values in zip(numbers, series, strict=True):
        drawn = f"{chart(values)} " if room >= 8 else "→ "
        yield (
            (f"{label:<{_LABEL}}", Tone.MUTED),
            (f"{before:>{wide[0]}} ", Tone.NORMAL),
            (drawn, Tone.WORKLOAD),
            (after, Tone.STRONG),
        )
    if at_ns is not None:
        moment = moment_at(played, at_ns)
        span_ns = max(played.until_ns - played.from_ns, 1)
        place = min(max((at_ns - played.from_ns) * max(room, 1) // span_ns, 0), max(room - 1, 0))
        label = f"{clock_text(at_ns)} {count_text(moment.nodes)} nodes {per_hour_text(moment.price_per_hour)}"
        label += f", {count_text(moment.pending)} wait" if moment.pending else ""
        start = _LABEL + wide[0] + 1
        if room >= 8:
            if place + 2 + len(label) > width - start:
                yield ((" " * start + f"{label} ▲".rjust(place + 1), Tone.ACTIVE),)
            else:
                yield ((" " * (start + place) + f"▲ {label}", Tone.ACTIVE),)
        else:
            yield ((label[:width], Tone.ACTIVE),)
    yield ((f"{'evicts':<{_LABEL}}", Tone.MUTED), (counted(played.evictions, "pod"), Tone.NORMAL))
    if played.kept:
        yield ((f"{'kept':<{_LABEL}}", Tone.MUTED), (kept_text(played)[: width - _LABEL], Tone.NORMAL))
    if played.spread is not None:
        yield ((f"{'chance':<{_LABEL}}", Tone.MUTED), (spread_text(played.spread)[: width - _LABEL], Tone.NORMAL))
    waiting = waiting_text(played)
    if waiting:
        tone = Tone.WARNING if last.pending else Tone.NORMAL
        yield ((f"{'wait':<{_LABEL}}", Tone.MUTED), (waiting[: width - _LABEL], tone))
