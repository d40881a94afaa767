"""Table of the events of forecasts, and the values of ``karptui forward -o json``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from karptui.aws.money import node_price_text
from karptui.disruption.command import Decision
from karptui.forward.result import Circle, Failure, KeptNode, Moment, Played, PodWait, Spread, Step, StepKind
from karptui.kube.timestamps import NS_PER_SECOND, format_timestamp
from karptui.kube.units import clock_text, count_text, first_of, span_text
from karptui.session.answers import Forecast
from karptui.views.column import (
    Column,
    Field,
    FieldKind,
    Heading,
    NumberHeading,
    Value,
    count_column,
    least_and_greatest,
    lifted,
    one_of,
    record,
    records,
    struct_values,
    text_column,
    texts,
)
from karptui.views.forward.sentences import MAX_NAMES, SHOWN, claims_text
from karptui.views.instants import instant_value
from karptui.views.prices import known_text
from karptui.views.row import NOT_APPLICABLE, NOT_AVAILABLE, Cell, Tone
from karptui.views.sanitize import short_name
from karptui.views.table import Sort, TableSpec
from karptui.views.why.lanes import short_method


class PlayedStep(msgspec.Struct, frozen=True):
    """A step as a row: its instance in each forecast that has it."""

    key: str
    """Unique key: numbers of the first forecast that has the step, and of the step in it."""
    steps: tuple[Step | None, ...]
    """The step in each forecast, the unchanged cluster first; None in those without it."""
    plays: tuple[Forecast, ...]

    @property
    def at(self) -> int:
        """Position of the forecast that the row shows: the first with edits that has the step."""
        having = [at for at, step in enumerate(self.steps) if step is not None]
        return next((at for at in having if at), having[0])

    @property
    def step(self) -> Step:
        """The step in that forecast."""
        step = self.steps[self.at]
        assert step is not None
        return step

    @property
    def play(self) -> Forecast:
        """The forecast that the row shows."""
        return self.plays[self.at]

    @property
    def moment(self) -> Moment:
        """The cluster at its instant: removed nodes are still there, and launched nodes are not yet."""
        assert self.play.played is not None
        return self.play.played.moment_at(self.step.at_ns)

    @property
    def change(self) -> str:
        """How the edits change the step; empty if they do not."""
        before, *after = self.steps
        times = {step.at_ns for step in after if step is not None}
        if not after or (self.steps.count(None) == 0 and times == {before.at_ns if before is not None else 0}):
            return ""
        if before is None:
            return "only after"
        if not times:
            return "only before"
        if None in after or len(times) > 1:
            return "differs"
        moved_ns = times.pop() - before.at_ns
        return f"{span_text(abs(moved_ns))} {'later' if moved_ns > 0 else 'earlier'}"


def played_steps(plays: Sequence[Forecast]) -> tuple[PlayedStep, ...]:
    """Return the steps of forecasts; a step that several have is one row."""
    shown = tuple(play for play in plays if play.played is not None)
    rows: dict[object, list[Step | None]] = {}
    keys: dict[object, str] = {}
    for number, play in enumerate(shown):
        counts: Counter[object] = Counter()
        assert play.played is not None
        for place, step in enumerate(play.played.steps):
            if step.kind not in SHOWN:
                continue
            same = _identity(step)
            which = same, counts[same]
            counts[same] += 1
            rows.setdefault(which, [None] * len(shown))[number] = step
            keys.setdefault(which, f"{number}/{place}")
    return tuple(PlayedStep(keys[which], tuple(steps), shown) for which, steps in rows.items())


def _identity(step: Step) -> object:
    """Return the identity of a step across forecasts, apart from its time."""
    pods = step.pods if step.kind is StepKind.PROVISION else ()
    pools = tuple(claim["nodePool"] for claim in step.claims)
    return step.kind, step.method, step.decision, step.because, step.nodes, pools, pods


_WORDS: Final = {StepKind.PROVISION: "launch", StepKind.EXPIRE: "expire", StepKind.REJECT: "skip"}


def _does_text(step: Step) -> str:
    return _WORDS.get(step.kind) or step.decision


def _why(row: PlayedStep) -> str:
    if row.step.kind is StepKind.PROVISION:
        return "pods pending" if row.step.pods else "replicas"
    return short_method(row.step.method) or "age"


def _saves(row: PlayedStep) -> Cell:
    saved = row.step.savings_per_hour
    if saved is None and row.step.kind is StepKind.DISRUPT:
        return NOT_AVAILABLE
    return Cell(node_price_text(saved), Tone.STRONG) if saved else NOT_APPLICABLE


def _text(row: PlayedStep) -> str:
    step = row.step
    return " ".join((step.method, _does_text(step), *step.nodes, *step.pods)).lower()


def _time_column(number: int, heading: Heading) -> Column[PlayedStep]:
    def cell(row: PlayedStep, _: int) -> Cell:
        step = row.steps[number]
        return Cell(clock_text(step.at_ns), _tone(row)) if step is not None else NOT_APPLICABLE

    def at_ns(row: PlayedStep) -> tuple[int, str]:
        step = row.steps[number]
        return (step if step is not None else row.step).at_ns, row.key

    return Column(heading, cell, at_ns)


def _tone(row: PlayedStep) -> Tone:
    return Tone.ACTIVE if row.change else Tone.NORMAL


_CHANGE: Final[Column[PlayedStep]] = text_column(
    Heading("change", "CHANGE", "How the edits change the step; empty if they do not.", 11, 16),
    lambda row: row.change,
    tone=_tone,
    filters=Field(FieldKind.TEXT, lambda row, _: row.change, "only before, only after, … later"),
)


def table_of(forecasts: int) -> TableSpec[PlayedStep]:
    """Return the table of some forecasts: with edits, a time before and after, and the change."""
    if forecasts < 2:
        return TABLE
    before = _time_column(0, Heading("time", "BEFORE", "Time without the edits, in UTC.", 9, 9))
    after = [
        _time_column(
            number,
            Heading(f"after{number}", f"AFTER{f' {number}' if forecasts > 2 else ''}", "Time with the edits.", 9, 9),
        )
        for number in range(1, forecasts)
    ]
    return replace(TABLE, columns=(before, *after, _CHANGE, *TABLE.columns[1:]))


TABLE: Final[TableSpec[PlayedStep]] = TableSpec(
    "steps",
    (
        _time_column(0, Heading("time", "TIME", "When, in UTC.", 9, 9)),
        text_column(
            Heading("does", "ACTION", "Karpenter's action; skip: a command that fails.", 7, 15),
            lambda row: _does_text(row.step),
            tone=lambda row: {StepKind.PROVISION: Tone.ACTIVE, StepKind.REJECT: Tone.MUTED}.get(
                row.step.kind, Tone.LEAVING
            ),
        ),
        text_column(
            Heading("why", "WHY", "Disruption method, pending pods, or the node's age.", 8, 12, drop_order=3), _why
        ),
        text_column(
            Heading("nodes", "NODES", "Removed nodes.", 14, 52, is_name=True),
            lambda row: first_of([short_name(name) for name in row.step.nodes], MAX_NAMES),
            sort=lambda row: row.step.nodes,
            filters={},
        ),
        text_column(
            Heading(
                "by", "LAUNCHES", "New nodes: NodePool, number of allowed types, lowest price.", 14, 44, drop_order=2
            ),
            lambda row: claims_text(row.step),
            short=lambda row: claims_text(row.step, is_short=True),
            sort=lambda row: len(row.step.claims),
            filters={},
        ),
        Column(
            NumberHeading("saves", "SAVES", "Savings per hour by Karpenter's prices.", 8, 12),
            lambda row, _: _saves(row),
            lambda row: row.step.savings_per_hour,
        ),
        count_column(NumberHeading("evicts", "EVICTS", "Evicted pods.", 6, 8), lambda row: row.step.evictions),
        Column(
            Heading(
                "then",
                "CLUSTER THEN",
                "Nodes and $/h just before the step.",
                14,
                22,
                drop_order=4,
                is_right_aligned=True,
            ),
            lambda row, _: Cell(f"{count_text(row.moment.nodes)}, {known_text(row.moment)}"),
            lambda row: row.moment.price_per_hour,
        ),
    ),
    key=lambda row: row.key,
    default_sort=Sort("time"),
    text=_text,
    is_notable=lambda row, _: bool(row.change),
)


INSTANT: Final = {"type": "string", "format": "date-time"}
INSTANT_OR_NULL: Final = {"type": ["string", "null"], "format": "date-time"}
_REACHED: Final = ("horizon", "quiescent")
"""Values of ``reached``, indexed by ``is_quiescent``."""
_PRICE: Final = "Null if no price is known, as with --disable-pricing."
_LOST: Final = "namespace/name of evicted pods without an owner: nothing recreates them."


_STEP: Final[tuple[Value[Step], ...]] = (
    Value("at", lambda step, _: format_timestamp(step.at_ns), INSTANT),
    Value("kind", lambda step, _: step.kind, one_of(*(kind for kind in StepKind if kind is not StepKind.REJECT))),
    Value(
        "method",
        lambda step, _: step.method if step.kind is StepKind.DISRUPT else None,
        str,
        "Disruption method of a command.",
        is_optional=True,
    ),
    Value(
        "decision",
        lambda step, _: step.decision if step.kind is StepKind.DISRUPT else None,
        one_of(*Decision),
        is_optional=True,
    ),
    texts("candidates", lambda step: step.nodes, "Nodes that the step removes or concerns."),
    Value("replacements", lambda step, _: list(step.claims), {"type": "array", "items": {}}, "As in simulate."),
    Value(
        "savings",
        lambda step, _: step.reckoned_savings,
        float | None,
        "Savings per hour by list prices, as Karpenter counts them; null if a price is missing.",
    ),
    Value("evictions", lambda step, _: step.evictions, int),
    texts("pods", lambda step: step.pods, "namespace/name"),
    texts("lostPods", lambda step: step.lost, _LOST),
)
_REJECTED: Final[tuple[Value[Step], ...]] = (
    Value("at", lambda step, _: format_timestamp(step.at_ns), INSTANT),
    Value("method", lambda step, _: step.method, str),
    texts("candidates", lambda step: step.nodes),
    Value("because", lambda step, _: step.because, one_of(*Failure)),
)
_FIGURES: Final[tuple[Value[Moment], ...]] = (
    Value("nodes", lambda moment, _: moment.nodes, int),
    Value("pricePerHour", lambda moment, _: moment.known_price_per_hour, float | None, _PRICE),
    Value("pending", lambda moment, _: moment.pending, int),
    Value("unpriced", lambda moment, _: moment.unpriced, int, "Nodes without a known price, excluded from costs."),
)
_MOMENT: Final = (Value[Moment]("at", lambda moment, _: format_timestamp(moment.at_ns), INSTANT), *_FIGURES)
_WAIT: Final[tuple[Value[PodWait], ...]] = (
    Value("pod", lambda wait, _: wait.pod, str),
    Value("from", lambda wait, _: format_timestamp(wait.from_ns), INSTANT, "When the pod was created."),
    Value(
        "until",
        lambda wait, _: instant_value(wait.until_ns),
        INSTANT_OR_NULL,
        "When it gets a node; null if it gets none.",
    ),
)
_CIRCLE: Final[tuple[Value[Circle], ...]] = (
    Value("from", lambda circle, _: format_timestamp(circle.from_ns), INSTANT, "When the first round begins."),
    Value("everySeconds", lambda circle, _: circle.period_ns // NS_PER_SECOND, int, "Duration of a round."),
    Value("commands", lambda circle, _: len(circle.commands), int, "Of one round."),
    Value("evictions", lambda circle, _: circle.evictions, int, "Of one round."),
)
_SPREAD: Final[tuple[Value[Spread], ...]] = (
    Value("seeds", lambda spread, _: spread.seeds, int, "Number of forecasts."),
    Value(
        "seed", lambda spread, _: spread.seed, int, "Seed of the likeliest forecast; the other values are its results."
    ),
    least_and_greatest("nodes", lambda spread: spread.nodes, int, "At the end."),
    least_and_greatest("pricePerHour", lambda spread: spread.price_per_hour, float, "At the end.", may_be_null=True),
    least_and_greatest("evictions", lambda spread: spread.evictions, int, "By all commands and expiries."),
    least_and_greatest("pending", lambda spread: spread.pending, int, "Pods without a node at the end."),
    least_and_greatest("commands", lambda spread: spread.commands, int, "Disruption commands."),
    Value("sameCommands", lambda spread, _: spread.same_commands, int, "Forecasts with the same commands."),
)
PLAYED: Final[tuple[Value[Played], ...]] = (
    Value("from", lambda played, _: format_timestamp(played.from_ns), INSTANT),
    Value(
        "until",
        lambda played, _: format_timestamp(played.until_ns),
        INSTANT,
        "When nothing more happens, or the horizon.",
    ),
    Value("reached", lambda played, _: _REACHED[played.is_quiescent], one_of(*_REACHED)),
    Value(
        "nextDate",
        lambda played, _: instant_value(played.next_date_ns),
        INSTANT_OR_NULL,
        "First date after the forecast on which something may happen: an expiry, a budget's window, the end of a"
        " protection. Null if there is none, or at the horizon.",
    ),
    Value(
        "unmanagedNodes",
        lambda played, _: played.unmanaged,
        int,
        "Nodes not managed by Karpenter: counted as nodes, excluded from costs.",
    ),
    records("steps", lambda played: [step for step in played.steps if step.kind is not StepKind.REJECT], _STEP),
    records(
        "rejected",
        lambda played: [step for step in played.steps if step.kind is StepKind.REJECT],
        _REJECTED,
        "Commands that failed: invalid at validation, or without replacements.",
    ),
    records("series", lambda played: played.series, _MOMENT),
    record(
        "end",
        lambda played: played,
        (
            *lifted(_FIGURES, lambda played: played.end),
            texts("lostPods", lambda played: played.lost, _LOST),
            records("kept", lambda played: played.kept, struct_values(KeptNode)),
        ),
    ),
    records(
        "waits",
        lambda played: played.waits,
        _WAIT,
        "Pods that were without a node, in the order they get one; pods that get none are last.",
    ),
    texts("assumptions", lambda played: played.assumptions),
    texts("notModelled", lambda played: played.not_modelled),
    record(
        "circle",
        lambda played: played.circle,
        _CIRCLE,
        "Commands that repeat to the end, because nodes replace each other again and again.",
        is_optional=True,
    ),
    record("spread", lambda played: played.spread, _SPREAD, "Ranges over the seeds of --seeds.", is_optional=True),
    Value("problem", lambda played, _: played.problem or None, str, "Why it ended early.", is_optional=True),
)
