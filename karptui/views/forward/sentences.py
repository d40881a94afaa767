"""Texts about forecasts: the result, forecasts side by side, commands in order, and blocked nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Final, TypeVar

from karptui.aws.money import node_price_text, per_hour_change_text, per_hour_text
from karptui.forward.result import Circle, Failure, Moment, Played, PodWait, Spread, Step, StepKind
from karptui.karpenter.inventory import NotCounted
from karptui.kube.units import clock_text, count_text, counted, first_of, span_text, verb
from karptui.session.answers import Forecast
from karptui.views.instants import dated_text
from karptui.views.prices import known_change_text, known_sum_text, known_text, without_text
from karptui.views.row import BLOCKS, Pieces, Tone
from karptui.views.sanitize import clean, short_name
from karptui.views.study import cut
from karptui.views.why.lanes import short_method
from karptui.views.wrapping import hanging

_NumberT = TypeVar("_NumberT", int, float)
UNEDITED: Final = "current"
"""Name of the forecast without edits."""
BEFORE: Final = "before"
CHART_WIDTH: Final = 40
MAX_COMMANDS: Final = 40
SHOWN: Final = frozenset({StepKind.DISRUPT, StepKind.PROVISION, StepKind.EXPIRE, StepKind.REJECT})
"""Steps that are decisions; the others follow from them."""
MAX_NAMES: Final = 3


def headline(played: Played) -> str:
    """Return the result of a forecast."""
    first, last = played.series[0], played.end
    took = span_text(played.until_ns - played.from_ns)
    commands = _count(played, StepKind.DISRUPT)
    if not commands and not _count(played, StepKind.PROVISION):
        without = dollars_text(played)
        sizes = f"{_sizes(played)}{f' ({without})' if without else ''}"
        rest = f"{_pending_text(last.pending)}{_lost_text(played)}"
        return f"{_without_commands(played)}{_until_text(played)}: {sizes}{rest}"
    if played.circle is not None:
        begun_ns = played.circle.from_ns
        never = sum(1 for wait in played.waits if wait.until_ns is None and wait.from_ns < begun_ns)
        sizes = f"{_sizes(played)}{_comma(played)}"
        return f"{_circle_text(played.circle)}; {sizes} after {took}{_pending_text(never)}{_lost_text(played)}"
    end = f"after {took}, still changing"
    if played.is_quiescent:
        end = f"within {took}, then nothing more{_until_text(played)}"
    expired = _count(played, StepKind.EXPIRE)
    by = ", ".join(
        counted(count, noun)
        for count, noun in ((commands, "command"), (expired, "expiration"), (played.evictions, "eviction"))
        if count or noun != "expiration"
    )
    change = "" if _is_unpriced(first, last) else known_change_text(first, last)
    beside = ", ".join(filter(None, (change, dollars_text(played))))
    by_dollars = f" ({beside})" if beside else _comma(played)
    return f"{_sizes(played)}{by_dollars} {end}: {by}{_pending_text(last.pending)}{_lost_text(played)}"


def _until_text(played: Played) -> str:
    """Return the date up to which nothing happens, if something may happen then."""
    return "" if played.next_date_ns is None else f" before {dated_text(played.next_date_ns, played.from_ns)}"


def dollars_text(played: Played) -> str:
    """Return the nodes that costs exclude, and the spot nodes priced as on-demand."""
    if not played.has_prices or not played.end.price_per_hour:
        return ""
    spot = played.spot_at_on_demand
    at_most = f"{counted(spot, 'spot node')} at the on-demand price" if spot else ""
    return ", ".join(filter(None, (without_text(NotCounted(played.unmanaged)), at_most)))


def _count(played: Played, kind: StepKind) -> int:
    return sum(1 for step in played.steps if step.kind is kind)


def _without_commands(played: Played) -> str:
    """Return the events of a forecast without disruption commands and launches."""
    expired, started = _count(played, StepKind.EXPIRE), _count(played, StepKind.READY)
    disrupted = "nothing is disrupted"
    if expired:
        disrupted = f"{counted(expired, 'node')} {verb(expired, 'expires', 'expire')}, nothing else is disrupted"
    launched = "nothing launched"
    if started:
        were, get = verb(started, "was", "were"), verb(started, "gets", "get")
        launched = f"{counted(started, 'node')} that {were} starting {get} ready"
    return f"{disrupted} and {launched}"


def _pending_text(pending: int) -> str:
    return f"; {counted(pending, 'pod')} still pending" if pending else ""


def _lost_text(played: Played) -> str:
    count = len(played.lost)
    named = first_of([clean(key) for key in played.lost], MAX_NAMES)
    return f"; {counted(count, 'pod')} {verb(count, 'is', 'are')} lost (no owner): {named}" if count else ""


def _circle_text(circle: Circle) -> str:
    """Return the repeating commands: ``repeats from 14:10:22Z on, every 2m 50s (…), 3 evictions each time``."""
    round_text = ", ".join(
        f"{short_method(step.method)}: {step.decision} {counted(len(step.nodes), 'node')}" for step in circle.commands
    )
    every = span_text(circle.period_ns)
    evicted = counted(circle.evictions, "eviction")
    return f"repeats from {clock_text(circle.from_ns)} on, every {every} ({round_text}), {evicted} each time"


def _sizes(played: Played) -> str:
    first, last = played.series[0], played.end
    same = counted(first.nodes, "node")
    nodes = same if first.nodes == last.nodes else f"{first.nodes} → {counted(last.nodes, 'node')}"
    return ", ".join(filter(None, (nodes, _dollars(first, last) if played.has_prices else "")))


def _dollars(first: Moment, last: Moment) -> str:
    """Return the nodes' cost, or that prices are unknown; empty if Karpenter manages no node."""
    is_any = first.price_per_hour or last.price_per_hour
    if _is_unpriced(first, last):
        return "some prices unknown" if is_any else "prices unknown"
    if first.nodes and not is_any:
        return ""
    was, now = per_hour_text(first.price_per_hour), per_hour_text(last.price_per_hour)
    return was if was == now else f"{was} → {now}"


def _is_any_known(played: Played) -> bool:
    return any(moment.price_per_hour or not moment.unpriced for moment in played.series)


def _figure(moment: Moment) -> str:
    """Return the cost at an instant, without unit."""
    return known_sum_text(moment.price_per_hour, moment.unpriced, is_bare=True)


def _comma(played: Played) -> str:
    return "," if played.has_prices and _is_unpriced(played.series[0], played.end) else ""


def _is_unpriced(*moments: Moment) -> bool:
    return any(moment.unpriced for moment in moments)


def lines_of(name: str, scenario: str, played: Played) -> Iterator[str]:
    """Yield the lines of a forecast for a terminal.

    Args:
        scenario: Name of the scenario; empty without edits.
    """
    yield f"{': '.join(filter(None, (name, scenario)))}: {headline(played)}"
    if played.problem:
        yield f"  {played.problem}"
    moments = _sampled(played)
    prices = [moment.price_per_hour for moment in moments]
    nodes = [float(moment.nodes) for moment in moments]
    first, last = played.series[0], played.end
    if _is_any_known(played):
        yield f"  {'$/h':<{_LABEL}}{_figure(first):>8} {chart(prices)} {_figure(last)}"
    yield f"  {'nodes':<{_LABEL}}{first.nodes:>8} {chart(nodes)} {last.nodes}"
    if played.kept:
        yield f"  {'blocked':<{_LABEL}}{_kept_text(played)}"
    if played.waits:
        yield f"  {'pending':<{_LABEL}}{longest_waits(played, MAX_NAMES)}"
    if played.spread is not None:
        yield f"  {'chance':<{_LABEL}}{spread_text(played.spread, is_priced=not _is_unpriced(played.end))}"
    shown = [step for step in played.steps if step.kind in SHOWN]
    lines = [f"{clock_text(step.at_ns)}  {step_text(step)}" for step in shown]
    yield from (f"  {line}" for line in cut(lines, MAX_COMMANDS))
    for title, sentences in (("assumed", played.assumptions), ("not modelled", played.not_modelled)):
        yield from (f"  {title}: {sentence}" for sentence in sentences)


_FAILS: Final = {
    Failure.NOTHING_ON_OFFER: "because no replacement type is available",
    Failure.TIMEOUT: "because its replacement is not ready in time",
    Failure.REPLACEMENT_GONE: "because its replacement is deleted",
}


def step_text(step: Step, *, is_short: bool = False) -> str:
    """Return the text of a step, with a shortened method name if ``is_short``."""
    method = short_method(step.method) if is_short else step.method
    nodes = first_of([short_name(name) for name in step.nodes], MAX_NAMES)
    if step.kind is StepKind.PROVISION:
        return f"launch {claims_text(step)} for {counted(len(step.pods), 'pod') if step.pods else 'its replicas'}"
    if step.kind is StepKind.EXPIRE:
        # Expiration evicts them only as far as PodDisruptionBudgets and do-not-disrupt allow.
        return f"expire {nodes}, {counted(step.evictions, 'pod')} to evict{_of_them_lost(step)}"
    if step.kind is StepKind.REJECT and step.because in _FAILS:
        what = f"{step.decision} {nodes}".strip()
        return f"{method or 'a command'}: {what} fails {_FAILS[step.because]}"
    if step.kind is StepKind.REJECT:
        fails = verb(len(step.nodes), "fails", "fail")
        return f"{method}: {nodes} {fails} validation, not disrupted"
    by = f" with {claims_text(step)}" if step.claims else ""
    saved = f", {per_hour_change_text(-step.savings_per_hour)}" if step.savings_per_hour else ""
    moved = f", {counted(step.evictions, 'eviction')}{_of_them_lost(step)}" if step.evictions else ""
    return f"{method}: {step.decision} {nodes}{by}{saved}{moved}"


def _of_them_lost(step: Step) -> str:
    return f" ({count_text(len(step.lost))} lost)" if step.lost else ""


def _kept_text(played: Played) -> str:
    """Return the number of nodes still blocked at the end, by label."""
    return f"{counted(len(played.kept), 'node')}: {holders_text(played.kept_by)}"


def holders_text(kept_by: Sequence[tuple[str, int]]) -> str:
    """Return the number of nodes per blocker: ``8 by budget, 6 by two PDBs``."""
    return ", ".join(f"{count_text(count)} by {word}" for word, count in kept_by)


def chart(values: Sequence[float]) -> str:
    """Return values as block characters, scaled from 0 to the maximum."""
    greatest = max(values, default=0.0)
    if greatest <= 0:
        return BLOCKS[0] * len(values)
    return "".join(BLOCKS[min(int(value / greatest * len(BLOCKS)), len(BLOCKS) - 1)] for value in values)


def _sampled(played: Played) -> list[Moment]:
    span_ns = max(played.until_ns - played.from_ns, 1)
    moments, at = [], 0
    for i in range(CHART_WIDTH):
        instant_ns = played.from_ns + span_ns * (i + 1) // CHART_WIDTH
        while at + 1 < len(played.series) and played.series[at + 1].at_ns <= instant_ns:
            at += 1
        moments.append(played.series[at])
    return moments


def waits_text(played: Played) -> str:
    """Return one line per pod that was without a node: those that stay pending first, then by duration."""
    waits = sorted(played.waits, key=_waited)
    lines = [
        f"{_wait_text(wait):>10}  from {clock_text(wait.from_ns)}"
        f"{'' if wait.until_ns is None else f' to {clock_text(wait.until_ns)}':<13}  {wait.pod}"
        for wait in waits
    ]
    return "\n".join(lines) or "no pod is pending at any time"


def longest_waits(played: Played, most: int) -> str:
    """Return the pods that are without a node for longest: ``web/a to the end, web/b 3m and 12 more``."""
    waits = sorted(played.waits, key=_waited)
    return first_of([f"{wait.pod} {_wait_text(wait)}" for wait in waits], most)


def _wait_text(wait: PodWait) -> str:
    return "to the end" if wait.until_ns is None else span_text(wait.until_ns - wait.from_ns)


def _waited(wait: PodWait) -> tuple[bool, int, str]:
    return wait.until_ns is not None, wait.from_ns - (wait.until_ns or 0), wait.pod


def waiting_text(played: Played) -> str:
    """Return the number of pods without a node and the duration; empty if there are none."""
    most = max(moment.pending for moment in played.series)
    if not most:
        return ""
    if played.end.pending:
        staying = counted(played.end.pending, "pod")
        return f"{staying}, to the end" if played.end.pending == most else f"up to {most}; {staying} to the end"
    ends = [*(moment.at_ns for moment in played.series[1:]), played.until_ns]
    waited_ns = sum(
        max(end_ns - moment.at_ns, 0) for moment, end_ns in zip(played.series, ends, strict=True) if moment.pending
    )
    return f"up to {counted(most, 'pod')}, for {span_text(waited_ns)} in total"


def spread_text(spread: Spread, *, is_priced: bool = True) -> str:
    """Return the range of results over several seeds, with costs if all prices are known."""
    parts = [
        _range(spread.nodes, count_text, " nodes"),
        *([_range(spread.price_per_hour, per_hour_text)] if is_priced and spread.price_per_hour else []),
        _range(spread.evictions, count_text, " evictions"),
    ]
    if any(spread.pending):
        parts.append(_range(spread.pending, count_text, " pods without a node"))
    alike = {1: "their commands differ", spread.seeds: "the same commands"}
    same = alike.get(spread.same_commands, f"{spread.same_commands} give the same commands")
    shown = "" if spread.same_commands == spread.seeds else f"; shown: the likeliest, seed {spread.seed}"
    return f"{spread.seeds} seeds: {', '.join(parts)}; {same}{shown}"


def _range(ends: tuple[_NumberT, _NumberT], text: Callable[[_NumberT], str], noun: str = "") -> str:
    least, greatest = map(text, ends)
    return f"{least}{noun}" if least == greatest else f"{least} to {greatest}{noun}"


def claims_text(step: Step, *, is_short: bool = False) -> str:
    """Return the launched nodes, without their number of types if ``is_short``."""
    parts = []
    for claim in step.claims:
        types, price = claim["instanceTypes"], claim["cheapestPrice"]
        text = node_price_text(price) if types and price >= 0 else ""
        if is_short:
            parts.append(f"1 {claim['nodePool']} {text}".rstrip())
        else:
            of = f" ({counted(len(types), 'type')}, from {text}/h)" if text else ""
            parts.append(f"1 node in {claim['nodePool']}{of}")
    return first_of(parts, MAX_NAMES)


LEAST_WIDTH: Final = 38
"""Minimum width of a forecast next to others; below it they are stacked."""
_LABEL: Final = 8
_GAP: Final = 3
_WAITING: Final = "pending pod"


def answer_lines(plays: Sequence[Forecast]) -> tuple[Pieces, ...]:
    """Return one text per forecast: first the current cluster, then the differences of the scenarios."""
    lines: list[Pieces] = []
    first = next((play.played for play in plays if play.played is not None and not play.name), None)
    for play in plays:
        name = clean(play.name)
        if play.played is None:
            lines.append(((f"{name}: {clean(play.problem)}", Tone.FAULT),))
        elif not play.name or first is None:
            lead = f"{BEFORE}: " if len(plays) > 1 else ""
            lines.append(((f"{lead}{headline(play.played)}", Tone.STRONG),))
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
    is_priced = not _is_unpriced(first.end, other.end)
    is_same_price = not is_priced or per_hour_text(abs(change)) == per_hour_text(0)
    price = [per_hour_text(other.end.price_per_hour)] if is_priced else []
    if is_same_price and was == now:
        same = [*price, *(counted(count, noun) for noun, count in now.items())]
        return lead, (f"the same at the end: {', '.join(same)}", Tone.NORMAL)
    changes = [
        f"{counted(count, noun)} {'either way' if count == was[noun] else f'instead of {count_text(was[noun])}'}"
        for noun, count in now.items()
    ]
    if is_same_price:
        same_price = [f"the same {price_text} at the end" for price_text in price]
        return lead, (", ".join([*same_price, *changes]), Tone.NORMAL)
    tone = Tone.GOOD if change < 0 else Tone.WARNING
    than = f" at the end, {', '.join(changes)}"
    return lead, (per_hour_change_text(change), tone), (than, Tone.NORMAL)


def _figures(played: Played) -> dict[str, int]:
    return {"node": played.end.nodes, "eviction": played.evictions, _WAITING: played.end.pending}


def play_lines(plays: Sequence[Forecast], width: int, at_ns: int | None) -> tuple[Pieces, ...]:
    """Return the figures of forecasts, side by side if there is room."""
    shown = [play for play in plays if play.played is not None]
    if not shown:
        return ()
    each = (width - _GAP * (len(shown) - 1)) // len(shown)
    is_beside = each >= LEAST_WIDTH or len(shown) == 1
    room = each if is_beside else width
    blocks = [hanging(_block(play, room, at_ns, is_named=len(shown) > 1), room, _LABEL) for play in shown]
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


def _block(play: Forecast, width: int, at_ns: int | None, *, is_named: bool) -> Iterator[Pieces]:
    played = play.played
    assert played is not None
    first, last = played.series[0], played.end
    if is_named:
        yield ((clean(play.name)[:width] or BEFORE, Tone.STRONG),)
    numbers = [("$/h", _figure(first), _figure(last)), ("nodes", count_text(first.nodes), count_text(last.nodes))]
    for label, before, after in numbers:
        if label == "$/h" and not _is_any_known(played):
            continue
        yield ((f"{label:<{_LABEL}}", Tone.MUTED), (f"{before} → ", Tone.NORMAL), (after, Tone.STRONG))
    if at_ns is not None:
        moment = played.moment_at(at_ns)
        label = f"{clock_text(at_ns)} {count_text(moment.nodes)} nodes {known_text(moment)}"
        label += f", {count_text(moment.pending)} pending" if moment.pending else ""
        yield ((f"{'cursor':<{_LABEL}}", Tone.MUTED), (label[: width - _LABEL], Tone.ACTIVE))
    yield ((f"{'evicts':<{_LABEL}}", Tone.MUTED), (counted(played.evictions, "pod"), Tone.NORMAL))
    if played.kept:
        yield ((f"{'blocked':<{_LABEL}}", Tone.MUTED), (_kept_text(played), Tone.NORMAL))
    if played.spread is not None:
        yield (
            (f"{'chance':<{_LABEL}}", Tone.MUTED),
            (spread_text(played.spread, is_priced=not _is_unpriced(played.end)), Tone.NORMAL),
        )
    if waiting := waiting_text(played):
        tone = Tone.WARNING if last.pending else Tone.NORMAL
        yield ((f"{'pending':<{_LABEL}}", Tone.MUTED), (waiting, tone))
