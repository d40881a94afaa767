"""The values of ``karptui forward -o json``."""

from __future__ import annotations

from typing import Final

from karptui.disruption.command import Decision
from karptui.forward.result import Circle, Failure, KeptNode, Moment, Played, PodWait, Spread, Step, StepKind
from karptui.kube.timestamps import NS_PER_SECOND, format_timestamp
from karptui.views.column import (
    INTEGER,
    NUMBER,
    NUMBER_OR_NULL,
    TEXT,
    TEXT_OR_NULL,
    Schema,
    Value,
    least_and_greatest,
    lifted,
    one_of,
    record,
    records,
    texts,
)

INSTANT: Final[Schema] = {**TEXT, "format": "date-time"}
INSTANT_OR_NULL: Final[Schema] = {**TEXT_OR_NULL, "format": "date-time"}
_REACHED: Final = ("horizon", "quiescent")
"""Values of ``reached``, indexed by ``is_quiescent``."""
_PRICE: Final = "Null if no price is known, as with --disable-pricing."
_LOST: Final = "namespace/name of evicted pods without an owner: nothing recreates them."


def _date(at_ns: int | None) -> str | None:
    return None if at_ns is None else format_timestamp(at_ns)


_STEP: Final[tuple[Value[Step], ...]] = (
    Value("at", lambda step, _: format_timestamp(step.at_ns), INSTANT),
    Value("kind", lambda step, _: step.kind, one_of(*(kind for kind in StepKind if kind is not StepKind.REJECT))),
    Value(
        "method",
        lambda step, _: step.method if step.kind is StepKind.DISRUPT else None,
        TEXT,
        "Disruption method of a command.",
        is_optional=True,
    ),
    Value(
        "decision",
        lambda step, _: step.decision if step.kind is StepKind.DISRUPT else None,
        one_of(*Decision),
        is_optional=True,
    ),
    texts("candidates", lambda step: step.nodes, "Nodes that are removed, or that the step is about."),
    Value("replacements", lambda step, _: list(step.claims), {"type": "array", "items": {}}, "As in simulate."),
    Value(
        "savings",
        lambda step, _: step.reckoned_savings,
        NUMBER_OR_NULL,
        "Savings per hour by list prices, as Karpenter counts them; null if a price is missing.",
    ),
    Value("evictions", lambda step, _: step.evictions, INTEGER),
    texts("pods", lambda step: step.pods, "namespace/name"),
    texts("lostPods", lambda step: step.lost, _LOST),
)
_REJECTED: Final[tuple[Value[Step], ...]] = (
    Value("at", lambda step, _: format_timestamp(step.at_ns), INSTANT),
    Value("method", lambda step, _: step.method, TEXT),
    texts("candidates", lambda step: step.nodes),
    Value("because", lambda step, _: step.because, one_of(*Failure)),
)
_FIGURES: Final[tuple[Value[Moment], ...]] = (
    Value("nodes", lambda moment, _: moment.nodes, INTEGER),
    Value("pricePerHour", lambda moment, _: moment.known_price_per_hour, NUMBER_OR_NULL, _PRICE),
    Value("pending", lambda moment, _: moment.pending, INTEGER),
    Value("unpriced", lambda moment, _: moment.unpriced, INTEGER, "Nodes without a known price, excluded from costs."),
)
_MOMENT: Final = (Value[Moment]("at", lambda moment, _: format_timestamp(moment.at_ns), INSTANT), *_FIGURES)
_KEPT: Final[tuple[Value[KeptNode], ...]] = (
    Value("node", lambda kept, _: kept.node, TEXT),
    Value("code", lambda kept, _: kept.code, TEXT),
    Value("object", lambda kept, _: kept.object, TEXT),
)
_WAIT: Final[tuple[Value[PodWait], ...]] = (
    Value("pod", lambda wait, _: wait.pod, TEXT),
    Value("from", lambda wait, _: format_timestamp(wait.from_ns), INSTANT, "When the pod was created."),
    Value("until", lambda wait, _: _date(wait.until_ns), INSTANT_OR_NULL, "When it gets a node; null if it gets none."),
)
_CIRCLE: Final[tuple[Value[Circle], ...]] = (
    Value("from", lambda circle, _: format_timestamp(circle.from_ns), INSTANT, "When the first round begins."),
    Value("everySeconds", lambda circle, _: circle.period_ns // NS_PER_SECOND, INTEGER, "Duration of a round."),
    Value("commands", lambda circle, _: len(circle.commands), INTEGER, "Of one round."),
    Value("evictions", lambda circle, _: circle.evictions, INTEGER, "Of one round."),
)
_SPREAD: Final[tuple[Value[Spread], ...]] = (
    Value("seeds", lambda spread, _: spread.seeds, INTEGER, "Number of forecasts."),
    Value(
        "seed",
        lambda spread, _: spread.seed,
        INTEGER,
        "Seed of the likeliest forecast; the other values are its results.",
    ),
    least_and_greatest("nodes", lambda spread: spread.nodes, INTEGER, "At the end."),
    least_and_greatest("pricePerHour", lambda spread: spread.price_per_hour, NUMBER, "At the end.", may_be_null=True),
    least_and_greatest("evictions", lambda spread: spread.evictions, INTEGER, "By all commands and expiries."),
    least_and_greatest("pending", lambda spread: spread.pending, INTEGER, "Pods without a node at the end."),
    least_and_greatest("commands", lambda spread: spread.commands, INTEGER, "Disruption commands."),
    Value("sameCommands", lambda spread, _: spread.same_commands, INTEGER, "Forecasts with the same commands."),
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
        lambda played, _: _date(played.next_date_ns),
        INSTANT_OR_NULL,
        "First date after the forecast on which something may happen: an expiry, a budget's window, the end of a"
        " protection. Null if there is none, or at the horizon.",
    ),
    Value(
        "unmanagedNodes",
        lambda played, _: played.unmanaged,
        INTEGER,
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
            records("kept", lambda played: played.kept, _KEPT),
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
    Value("problem", lambda played, _: played.problem or None, TEXT, "Why it ended early.", is_optional=True),
)
