"""The table of a history in steps, and the lines above it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from karptui.aws.money import per_hour_text, sum_text
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import count_text, counted, first_of, instant_text
from karptui.session.answers import ControllerInfo
from karptui.session.history_report import HistoryStep, RecordedHistory
from karptui.session.predictions import PredictionKind, Share
from karptui.views.column import (
    INSTANT,
    Column,
    Field,
    FieldKind,
    Heading,
    NumberHeading,
    Value,
    filter_help,
    natural_key,
    number_heading,
    records,
    text_column,
)
from karptui.views.instants import second_value
from karptui.views.last_hour import sparkline
from karptui.views.row import NOT_AVAILABLE, Cell, Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.table import Sort, TableSpec
from karptui.views.time_chart import Line, TimeChart, ticks_of

UNMANAGED: Final = "(not Karpenter's)"
_NAMED: Final = 5
_COUNTS: Final = (
    Value[tuple[str, int]]("name", lambda pair, _: pair[0], str),
    Value[tuple[str, int]]("count", lambda pair, _: pair[1], int),
)
Read = Callable[[HistoryStep], float | None]


def pool_text(step: HistoryStep) -> str:
    """Return the name of a row's NodePool; empty for the whole cluster."""
    return "" if step.pool is None else step.pool or UNMANAGED


def _number(heading: Heading, read: Read, text: Callable[[float], str], name: str) -> Column[HistoryStep]:
    def cell(step: HistoryStep, _: int) -> Cell:
        value = read(step)
        return NOT_AVAILABLE if value is None else Cell(text(value), Tone.NORMAL if value else Tone.MUTED)

    def rounded(step: HistoryStep, _: int) -> float | None:
        value = read(step)
        return None if value is None else round(value, 4)

    return Column(
        heading,
        cell,
        read,
        values=Value(name, rounded, float | None, f"{heading.help} Null if unknown."),
        filters=Field(FieldKind.COUNT, lambda step, _: read(step), filter_help(heading)),
    )


def _share(heading: Heading, read: Read, name: str) -> Column[HistoryStep]:
    def percent(step: HistoryStep) -> float | None:
        value = read(step)
        return None if value is None else value * 100

    return _number(heading, percent, lambda value: f"{value:.0f}%", name)


def _mean_text(value: float) -> str:
    return count_text(round(value)) if value >= 100 or value == round(value) else f"{value:.1f}"


def _count_text(value: float) -> str:
    return count_text(round(value))


def counts_text(counts: Sequence[tuple[str, int]]) -> str:
    """Return numbers by name: ``4 Underutilized, 1 Expired``."""
    return ", ".join(f"{count_text(count)} {name}" for name, count in counts)


def _total(counts: Sequence[tuple[str, int]] | None) -> float | None:
    return None if counts is None else sum(count for _, count in counts)


def _removals(step: HistoryStep, _: int) -> Cell:
    if step.removals is None:
        return NOT_AVAILABLE
    total = sum(count for _, count in step.removals)
    text = f"{total} ({counts_text(step.removals)})" if len(step.removals) > 1 else counts_text(step.removals) or "0"
    return Cell(text, Tone.NORMAL if total else Tone.MUTED)


def _counts(
    name: str, read: Callable[[HistoryStep], Sequence[tuple[str, int]] | None], about: str
) -> Value[HistoryStep]:
    """Return numbers by name for scripts; CSV has them as text."""
    return records(
        name,
        lambda step: read(step) or (),
        _COUNTS,
        about,
        lambda pairs: " ".join(f"{pair['name']}={pair['count']}" for pair in pairs),
    )


TABLE: Final[TableSpec[HistoryStep]] = TableSpec(
    "steps",
    (
        Column(
            Heading("time", "FROM", "Start of the step, in UTC.", 16, 20),
            lambda step, _: Cell(instant_text(step.from_ns)[:-4] if step.from_ns else ""),
            lambda step: float(step.from_ns),
            values=(
                Value("from", lambda step, _: second_value(step.from_ns), INSTANT, "Start of the step."),
                Value("to", lambda step, _: second_value(step.to_ns), INSTANT, "End of the step."),
            ),
        ),
        text_column(
            Heading("pool", "POOL", "The NodePool; a dash is the whole cluster.", 6, 32),
            pool_text,
            sort=lambda step: (natural_key(pool_text(step)),),  # the whole cluster is first
            values=Value(
                "pool",
                lambda step, _: step.pool,
                str | None,
                "Null is the whole cluster; empty is nodes that Karpenter does not manage.",
            ),
        ),
        _number(
            number_heading("nodes", "NODES", "Average number of nodes.", 6),
            lambda step: step.nodes,
            _mean_text,
            "nodes",
        ),
        _number(
            NumberHeading("pods", "PODS", "Average number of pods on them.", is_wide_only=True),
            lambda step: step.pods,
            _mean_text,
            "pods",
        ),
        _number(
            number_heading("cost", "$/H", "Average price per hour.", 6),
            lambda step: step.price_per_hour,
            sum_text,
            "pricePerHour",
        ),
        _number(
            number_heading("held", "HELD", "Average price per hour of blocked nodes.", 6),
            lambda step: step.held_per_hour,
            sum_text,
            "heldPerHour",
        ),
        _share(
            number_heading("cpu", "CPU", "Requested share of the allocatable cpu in percent.", 6),
            lambda step: step.cpu_requested,
            "cpuRequestedPercent",
        ),
        _share(
            number_heading("memory", "MEM", "Requested share of the allocatable memory in percent.", 6),
            lambda step: step.memory_requested,
            "memoryRequestedPercent",
        ),
        _share(
            number_heading("cpu_used", "CPU USED", "Used share of the allocatable cpu in percent.", 6),
            lambda step: step.cpu_used,
            "cpuUsedPercent",
        ),
        _share(
            number_heading("memory_used", "MEM USED", "Used share of the allocatable memory in percent.", 6),
            lambda step: step.memory_used,
            "memoryUsedPercent",
        ),
        _number(
            number_heading("pending", "PENDING", "Highest number of pending pods.", 6),
            lambda step: step.pending_pods,
            _count_text,
            "pendingPods",
        ),
        _number(
            number_heading("launches", "LAUNCHES", "NodeClaims that were created and launched.", 6),
            lambda step: step.launches,
            _count_text,
            "launches",
        ),
        Column(
            number_heading("removals", "REMOVALS", "NodeClaims removed, by reason.", 8),
            _removals,
            lambda step: _total(step.removals),
            values=(
                Value("removedNodes", lambda step, _: _total(step.removals), float | None, "Null if unknown."),
                _counts("removals", lambda step: step.removals, "Removed NodeClaims by reason."),
            ),
        ),
        _number(
            number_heading("evictions", "EVICTED", "Pods that Karpenter evicted.", 6),
            lambda step: step.evictions,
            _count_text,
            "evictions",
        ),
        _number(
            number_heading(
                "saved",
                "SAVED",
                "Price per hour of the nodes that consolidation removed, minus that of their replacements.",
                6,
            ),
            lambda step: step.saved_per_hour,
            sum_text,
            "savedPerHour",
        ),
        _number(
            number_heading("refused", "REFUSED", "Launches that were refused.", 6),
            lambda step: _total(step.refused),
            _count_text,
            "refusedLaunches",
        ),
    ),
    key=lambda step: step.key,
    default_sort=Sort("time"),
    text=lambda step: pool_text(step).lower(),
    more_values=(
        _counts("refused", lambda step: step.refused, "Refused launches by TYPE/ZONE/CAPACITY_TYPE; * is any."),
        Value(
            "unpricedNodes", lambda step, _: step.unpriced, int, "Nodes whose unknown price makes savedPerHour null."
        ),
        Value("isRecorded", lambda step, _: step.launches is not None, bool, "False in a pause of the recording."),
    ),
)


def table_of(steps: Sequence[HistoryStep]) -> TableSpec[HistoryStep]:
    """Return the table without the columns that would be empty."""
    hidden = [] if any(step.pool is not None for step in steps) else ["pool"]
    if all(step.cpu_used is None and step.memory_used is None for step in steps):
        hidden += ["cpu_used", "memory_used"]
    return TABLE.without(*hidden)


def prediction_text(predictions: Mapping[PredictionKind, Share]) -> str:
    """Return the share of right predictions: ``predictions: 125 of 127 placements right (98 %)``; empty without any."""
    parts = []
    for kind, share in predictions.items():
        if share.percent is not None:
            parts.append(f"{share.right} of {counted(share.right + share.wrong, kind)} right ({share.percent:.0f} %)")
    if overtaken := sum(share.overtaken for share in predictions.values()):
        parts.append(f"{overtaken} overtaken by other changes")
    return (
        f"predictions: {', '.join(parts)}" if any(share.percent is not None for share in predictions.values()) else ""
    )


_CHARTS: Final[tuple[tuple[str, tuple[tuple[str, Read], ...]], ...]] = (
    ("cost, $/h", (("all nodes", lambda step: step.price_per_hour), ("blocked", lambda step: step.held_per_hour))),
    (
        "share of the allocatable cpu, %",
        (("requested", lambda step: step.cpu_requested), ("used", lambda step: step.cpu_used)),
    ),
    (
        "share of the allocatable memory, %",
        (("requested", lambda step: step.memory_requested), ("used", lambda step: step.memory_used)),
    ),
)


_SPARKLINES: Final[tuple[tuple[str, Read, Callable[[float], str]], ...]] = (
    ("nodes", lambda step: step.nodes, _mean_text),
    ("$/h", lambda step: step.price_per_hour, sum_text),
)


def charts_of(steps: Sequence[HistoryStep], pool: str | None) -> Iterator[TimeChart | None]:
    """Yield the charts of a NodePool, or of the whole cluster: cost, cpu, memory; None without two known values."""
    chosen = [step for step in steps if step.pool == pool]
    for title, reads in _CHARTS:
        scale = 100.0 if title.endswith("%") else 1.0
        lines = tuple(line for name, read in reads if (line := _line(name, chosen, read, scale)) is not None)
        span_ns = chosen[-1].to_ns - chosen[0].from_ns if chosen else 0
        yield TimeChart(title, lines, ticks_of(chosen[0].from_ns, span_ns)) if lines else None


def _line(name: str, steps: Sequence[HistoryStep], read: Read, scale: float) -> Line | None:
    """Return the averages of steps, each at its middle; None if fewer than two are known."""
    points = [
        ((step.from_ns + step.to_ns) / 2 - steps[0].from_ns, value)
        for step in steps
        if (value := read(step)) is not None
    ]
    if len(points) < 2:
        return None
    return Line(name, tuple(at / NS_PER_SECOND for at, _ in points), tuple(value * scale for _, value in points))


def about_lines(karptui: str, controller: ControllerInfo, history: RecordedHistory | str) -> Iterator[str]:
    """Yield the versions, the recorded time, and how many predictions came true."""
    yield f"karptui {karptui}"
    yield f"Karpenter {clean(controller.version) or 'of unknown version'}"
    yield ""
    if isinstance(history, str):
        yield f"History: {clean(history)}"
        return
    yield f"History: {clean(str(history.path))}"
    if history.sessions:
        first, last = history.sessions[0], history.sessions[-1]
        pauses = f", with {counted(len(history.sessions) - 1, 'pause')}" if len(history.sessions) > 1 else ""
        yield f"recorded from {instant_text(first.from_ns)} to {instant_text(last.to_ns)}{pauses}"
    yield prediction_text(history.predictions) or "no prediction can be checked yet"


def lines_above(steps: Sequence[HistoryStep], predictions: Mapping[PredictionKind, Share]) -> Iterator[Pieces]:
    """Yield the charts of a series of steps in a line each, and its sums with an empty line below."""
    chosen = [step for step in steps if step.pool == steps[0].pool] if steps else []
    yield from sparklines(chosen)
    if sums := tuple(sum_lines(chosen, predictions)):
        yield from (*sums, ())


def sparklines(steps: Sequence[HistoryStep]) -> Iterator[Pieces]:
    """Yield charts of nodes and cost in a line each."""
    for title, read, text in _SPARKLINES:
        values = [read(step) for step in steps]
        known_values = [value for value in values if value is not None]
        line = sparkline([None if value is None else round(value * 10_000) for value in values])
        if line and known_values:
            span = f"{text(min(known_values))} to {text(max(known_values))}, last {text(known_values[-1])}"
            yield ((f"{title:<6} {line}  {span}", Tone.NORMAL),)


def sum_lines(steps: Sequence[HistoryStep], predictions: Mapping[PredictionKind, Share]) -> Iterator[Pieces]:
    """Yield the sums over all steps, and the share of predictions that came true; nothing without records."""
    counted_steps = [step for step in steps if step.launches is not None]
    if not counted_steps:
        return
    reasons, refused = Counter[str](), Counter[str]()
    for step in counted_steps:
        reasons.update(dict(step.removals or ()))
        refused.update(dict(step.refused or ()))
    removed = f"{counted(reasons.total(), 'removal')}{f' ({counts_text(reasons.most_common())})' if reasons else ''}"
    launches = counted(sum(step.launches or 0 for step in counted_steps), "launch", "launches")
    evictions = counted(sum(step.evictions or 0 for step in counted_steps), "eviction")
    yield ((f"{launches}, {removed}, {evictions}", Tone.NORMAL),)
    amount = per_hour_text(sum(step.known_saved for step in counted_steps))
    unpriced = sum(step.unpriced for step in counted_steps)
    without = f", without {counted(unpriced, 'node')} of unknown price" if unpriced else ""
    yield ((f"consolidation saved {amount}, at the last known prices{without}", Tone.NORMAL),)
    if accuracy := prediction_text(predictions):
        yield ((accuracy, Tone.NORMAL),)
    if refused:
        names = [f"{name} ({count_text(count)})" for name, count in refused.most_common()]
        yield (
            (
                f"{counted(refused.total(), 'refused launch', 'refused launches')}: {first_of(names, _NAMED)}",
                Tone.WARNING,
            ),
        )
