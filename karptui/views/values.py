"""Values of a parameter compared, one of them recommended.

Policies and other settings of disruption are compared by forecasts, everything that decides where pods are scheduled
by a replay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, Final

from msgspec import structs

from karptui.aws.money import per_hour_text, sum_text
from karptui.forward.run import HORIZON_NS
from karptui.karpenter.inventory import NotCounted
from karptui.kube.group import group_by
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import NA, count_text, counted, duration_text, first_of, span_text
from karptui.session.answers import StudyAnswer
from karptui.session.protocol import Session
from karptui.studies.policies import (
    NEVER,
    Comparison,
    PolicyOutcome,
    PolicySpread,
    Worth,
    afters_of,
    compare,
    compare_values,
)
from karptui.views.column import (
    Column,
    Field,
    FieldKind,
    Heading,
    Value,
    count_column,
    least_and_greatest,
    number_heading,
    one_of,
    record,
    records,
    text_column,
    texts,
)
from karptui.views.forward.sentences import UNEDITED, holders_text
from karptui.views.prices import known_text, money_column, without_text
from karptui.views.row import NOT_APPLICABLE, NOT_AVAILABLE, Cell, Tone, text_cell
from karptui.views.sanitize import clean
from karptui.views.study import Study, Values, answer_lines, answered, fault_of, next_horizon, notes_of, plain_lines
from karptui.views.table import Sort, TableSpec
from karptui.views.whatif.totals import mode_sentence, mode_text
from karptui.whatif.edits import AnyEdit
from karptui.whatif.scenario import Replay, Scenario
from karptui.whatif.sweep import Sweep, SweepPoint, SweepResult, parse_values

_FEW: Final = 3


def name_of(outcome: PolicyOutcome) -> str:
    """Return the name of the policy or value, as text."""
    return UNEDITED if outcome.is_as_it_is else f"{outcome.policy} {outcome.after}".strip()


def headline(result: Comparison) -> str:
    """Return the recommended outcome with its reason, the result without a change, and the greatest savings."""
    today = result.outcomes[0]
    span = span_text(result.horizon_ns)
    chance = f" ({today.spread.seeds} seeds)" if today.spread is not None else ""
    best = result.recommended
    if best is None:
        return f"now: {_evictions(today)} within {span}{chance}; the savings are unknown"
    as_it_is = f"without a change consolidation {_saves_text(today)} within {span}, with {_evictions(today)}{chance}"
    if best.is_as_it_is:
        parts = ["Recommended: no change, because nothing else saves more without more evictions", as_it_is]
    else:
        parts = [f"Recommended: {name_of(best)} {_saves_text(best)}, with {_evictions(best)}", as_it_is]
    greatest = min((o for o in result.outcomes if o.is_saving_known), key=lambda outcome: outcome.worst)
    if greatest.worst[0] < best.worst[0]:
        parts.append(f"the highest savings: {name_of(greatest)} {_saves_text(greatest)}, with {_evictions(greatest)}")
    return "; ".join(parts)


def _saves_text(outcome: PolicyOutcome) -> str:
    """Return the savings: ``saves $4.59``; for several seeds the range."""
    saved = (outcome.saved,) if outcome.spread is None else outcome.spread.saved or (None,)
    amounts = [round(amount, 2) for amount in saved if amount is not None]
    if not amounts:
        return f"saves {NA}"
    if not any(amounts):
        return "saves nothing"
    if max(amounts) <= 0:
        more = " to ".join(dict.fromkeys(sum_text(-amount) for amount in reversed(amounts)))
        return f"costs {more} more than no disruption"
    return f"saves {' to '.join(dict.fromkeys(map(sum_text, amounts)))}"


def _evictions(outcome: PolicyOutcome) -> str:
    least, greatest = (outcome.evictions, outcome.evictions) if outcome.spread is None else outcome.spread.evictions
    most = counted(greatest, "eviction")
    return most if least == greatest else f"{count_text(least)} to {most}"


def more_lines(comparison: Comparison) -> Iterator[str]:
    """Yield the current settings of the NodePools."""
    if not comparison.pools:
        return
    alike = group_by(comparison.pools, lambda pool: pool[1:])
    named = (f"{', '.join(name for name, *_ in pools)} {' '.join(settings)}" for settings, pools in alike.items())
    yield f"today: {'; '.join(named)}"


def sentence(outcome: PolicyOutcome) -> str:
    """Return the result of one policy."""
    pending = f"; {counted(outcome.pending, 'pod')} without a node" if outcome.pending else ""
    by = f"with {counted(outcome.commands, 'command')} and {_evictions(outcome)}"
    without = without_text(NotCounted(outcome.unmanaged))
    return (
        f"{name_of(outcome)} {_saves_text(outcome)} {by}{pending};"
        f" {counted(outcome.nodes, 'node')} and {known_text(outcome)} at the end{f' ({without})' if without else ''}"
    )


def story_lines(outcome: PolicyOutcome) -> Iterator[str]:
    """Yield more details of one policy."""
    if outcome.commands:
        yield f"the last command comes after {duration_text(outcome.seconds)}"
    if (spread := outcome.spread) is not None:
        yield f"{spread.seeds} seeds: lowest to highest result; nodes, $/h and commands are the first seed's"
    if outcome.is_beaten:
        always = ", with every seed" if outcome.spread is not None else ""
        yield f"another policy costs no more, evicts no more, and is better in one of these{always}"
    if outcome.kept:
        yield f"blocked nodes at the end: {holders_text(outcome.kept)}"


def _tone(outcome: PolicyOutcome) -> Tone:
    return Tone.GOOD if outcome.worth is Worth.YES else Tone.MUTED


def _saved(outcome: PolicyOutcome, _: int) -> Cell:
    if outcome.saved is None:
        return NOT_AVAILABLE
    amount = round(outcome.saved, 2)
    return Cell(sum_text(amount), Tone.WARNING if amount < 0 else _tone(outcome)) if amount else NOT_APPLICABLE


_SPREAD: Final[tuple[Value[PolicySpread], ...]] = (
    Value("seeds", lambda spread, _: spread.seeds, int),
    least_and_greatest("dollarsSaved", lambda spread: spread.saved, float, may_be_null=True),
    least_and_greatest("evictions", lambda spread: spread.evictions, int),
)
TABLE: Final[TableSpec[PolicyOutcome]] = TableSpec(
    "policies",
    (
        text_column(
            Heading("policy", "POLICY", "consolidationPolicy, or the current setting.", 16, 26, is_name=True),
            lambda row: row.policy or UNEDITED,
            short=lambda row: row.policy.removeprefix("WhenEmptyOr"),
            values=(
                Value("consolidationPolicy", lambda row, _: row.policy or None, str | None, "null: not edited."),
                Value("isAsItIs", lambda row, _: row.is_as_it_is, bool, "Whether nothing is edited."),
            ),
        ),
        text_column(
            Heading("after", "AFTER", "consolidateAfter.", 5, 8),
            lambda row: row.after,
            values=Value("consolidateAfter", lambda row, _: row.after or None, str | None, "null: not edited."),
        ),
        Column(
            number_heading("saved", "SAVED", "Savings over the horizon, compared with no disruption.", 10),
            _saved,
            lambda row: row.saved,
            values=(
                Value("dollars", lambda row, _: row.dollars, float, "Cost of the nodes over the horizon."),
                Value(
                    "dollarsSaved",
                    lambda row, _: row.saved,
                    float | None,
                    "Savings compared with no disruption; null if unknown.",
                ),
            ),
            filters=Field(FieldKind.MONEY, lambda row, _: row.saved, "savings over the horizon"),
        ),
        count_column(
            number_heading("evictions", "EVICTIONS", "Evicted pods, including those evicted by drift and expiration."),
            lambda row: row.evictions,
            tone=_tone,
            json="evictions",
        ),
        money_column(
            number_heading("price", "END $/H", "Price of the nodes at the end.", 9),
            lambda row: row.price_per_hour,
            lambda row: row.unpriced,
            json="endPricePerHour",
        ),
        count_column(number_heading("nodes", "END NODES", "Nodes at the end."), lambda row: row.nodes, json="endNodes"),
        count_column(
            number_heading("commands", "COMMANDS", "Disruption commands.", drop_order=2),
            lambda row: row.commands,
            json="commands",
        ),
        count_column(
            number_heading("pending", "PENDING", "Pods without a node at the end.", drop_order=3),
            lambda row: row.pending,
            tone=lambda _: Tone.WARNING,
            json="pending",
        ),
        text_column(
            Heading("last", "LAST AFTER", "Time of the last command.", 10, 10, drop_order=4, is_right_aligned=True),
            lambda row: duration_text(row.seconds) if row.commands else "",
            values=Value("lastCommandSeconds", lambda row, _: row.seconds, int),
        ),
        text_column(
            Heading(
                "verdict",
                "WORTH IT",
                "yes: it saves, and no other policy both saves more and evicts less; same: same result as current.",
                8,
                10,
                drop_order=1,
            ),
            lambda row: row.worth,
            tone=_tone,
            values=(
                Value(
                    "isBeaten",
                    lambda row, _: row.is_beaten,
                    bool,
                    "Whether another policy costs no more, evicts no more, and is better in one of them.",
                ),
                Value(
                    "worthIt",
                    lambda row, _: row.worth,
                    one_of(*Worth),
                    "Compared with the current policy (same: same result) and the others; n/a if the savings are"
                    " unknown.",
                ),
            ),
        ),
    ),
    more_values=(
        Value("endUnpriced", lambda row, _: row.unpriced, int, "Nodes without a known price, excluded from costs."),
        records(
            "kept",
            lambda row: row.kept,
            (Value("by", lambda pair, _: pair[0], str), Value("nodes", lambda pair, _: pair[1], int)),
            "Blockers of nodes at the end.",
        ),
        record(
            "spread",
            lambda row: row.spread,
            _SPREAD,
            "Lowest and highest result of several seeds (--seeds); other values are those of the first seed.",
            may_be_null=True,
        ),
    ),
    csv=(
        *("consolidationPolicy", "consolidateAfter", "isAsItIs", "endNodes", "endPricePerHour", "endUnpriced"),
        *("dollars", "dollarsSaved", "commands", "evictions", "pending", "lastCommandSeconds", "isBeaten", "worthIt"),
    ),
    key=name_of,
    default_sort=Sort("saved", is_descending=True),
    text=lambda row: name_of(row).lower(),
)
VALUES: Final[TableSpec[PolicyOutcome]] = structs.replace(
    TABLE,
    columns=(
        text_column(
            Heading("policy", "VALUE", "Value of the parameter, or the current setting.", 10, 26, is_name=True), name_of
        ),
        *TABLE.columns[2:],
    ),
)
"""Forecasts of other parameters than policies."""
REPORT: Final[tuple[Value[Comparison], ...]] = (
    records(
        "nodePools",
        lambda comparison: comparison.pools,
        (
            Value("name", lambda pool, _: pool[0], str),
            Value("consolidationPolicy", lambda pool, _: pool[1], str),
            Value("consolidateAfter", lambda pool, _: pool[2], str, "A duration, or Never."),
        ),
        "Edited NodePools with their current settings.",
    ),
    Value("horizonSeconds", lambda comparison, _: comparison.horizon_ns // NS_PER_SECOND, int),
    texts("assumed", lambda comparison: comparison.assumed),
    texts("notModelled", lambda comparison: comparison.not_modelled),
)


POINTS: Final[TableSpec[SweepPoint]] = TableSpec(
    "values",
    (
        Column(
            Heading("value", "VALUE", "Value of the parameter.", 10, 26, is_name=True),
            lambda row, _: text_cell(row.value),
            lambda row: row.place,
            filters=Field(FieldKind.TEXT, lambda row, _: row.value, "value of the parameter"),
            values=Value("value", lambda row, _: row.value, str),
        ),
        count_column(
            number_heading("nodes", "NODES", "Karpenter's nodes after the replay, new ones included."),
            lambda row: row.nodes,
            json="nodes",
        ),
        count_column(
            number_heading("launched", "NEW", "New ones of them.", 6), lambda row: row.launched, json="launched"
        ),
        money_column(
            number_heading("price", "$/H", "Price of the nodes.", 10),
            lambda row: row.price_per_hour,
            lambda row: row.unpriced,
            json="pricePerHour",
        ),
        count_column(
            number_heading("pending", "PENDING", "Unschedulable pods."),
            lambda row: row.pending,
            tone=lambda _: Tone.WARNING,
            json="pending",
        ),
        count_column(
            number_heading("drifted", "DRIFTED", "NodeClaims that are drifted, or would be."),
            lambda row: row.drifted,
            tone=lambda _: Tone.WARNING,
            json="drifted",
        ),
        text_column(
            Heading("problem", "PROBLEM", "Why the value cannot be set.", 8, 60, drop_order=1),
            lambda row: row.problem,
            tone=lambda _: Tone.FAULT,
            values=(
                Value("unpriced", lambda row, _: row.unpriced, int, "Nodes without a known price, left out of prices."),
                Value(
                    "unpricedAtMostPerHour",
                    lambda row, _: row.unpriced_at_most_per_hour,
                    float,
                    "Cost of those on spot at on-demand prices.",
                ),
                Value("problem", lambda row, _: row.problem or None, str | None, "Why the value cannot be set."),
            ),
        ),
    ),
    key=lambda row: str(row.place),
    default_sort=Sort("value"),
    text=lambda row: row.value.lower(),
    is_notable=lambda row, _: bool(row.pending or row.problem),
)
POINT: Final = tuple(value for column in POINTS.columns for value in column.every_value())
"""The values of one point of a sweep."""
_MOST_CHANGES: Final = 2
"""Changes of pending pods that the answer names."""


def sweep_answer(sweep_result: SweepResult, current: str = "") -> str:
    """Return the recommended value with its reason, and at which values the number of pending pods changes.

    Args:
        current: The cluster's value, which is kept if it is as good as the best.
    """
    best = sweep_result.recommended
    valid = [point for point in sweep_result.points if not point.problem]
    if best is None:
        return "no value can be set"
    equal = [point for point in valid if point.rank == best.rank]
    chosen = next((point for point in equal if point.value == current), equal[0])
    cost = f"{per_hour_text(best.at_most_per_hour)}" if best.price_per_hour or not best.unpriced else f"cost {NA}"
    pods = f"{counted(best.pending, 'pod')} pending" if best.pending else "no pod pending"
    drifted = f", {counted(best.drifted, 'NodeClaim')} drifted" if best.drifted else ""
    result = f"{pods}, {cost}{drifted}"
    if len(valid) < len(sweep_result.points) and len(valid) == 1:
        return f"Only {best.value} can be set: {result}"
    if len(equal) == len(valid):
        return f"Recommended: no change, because all values have the same result: {result}"
    same_pods = [point for point in valid if point.pending == best.pending]
    reason = "the fewest pending pods" if len(same_pods) < len(valid) else ""
    if any(point.rank[1] > best.rank[1] for point in same_pods):
        reason = f"{reason} at the lowest cost" if reason else "the lowest cost"
    elif not reason:
        reason = "the least drift"
    keep = "keep " if chosen.value == current else ""
    also = f" (like {first_of([point.value for point in equal if point is not chosen], _FEW)})" if equal[1:] else ""
    changes = [
        f"{counted(before.pending, 'pod')} pending up to {before.value}, {count_text(after.pending)} from {after.value}"
        for before, after in pairwise(valid)
        if before.pending != after.pending
    ]
    more = [f"{len(changes) - _MOST_CHANGES} more changes"] if len(changes) > _MOST_CHANGES else []
    return "; ".join((f"Recommended: {keep}{chosen.value}{also}: {reason}: {result}", *changes[:_MOST_CHANGES], *more))


_SEEDS: Final = 5
_HINT: Final = "from..to/step, or a list such as 1,10,50"


def values_study(
    sweep: Sweep, mode: Replay, *, current: str = "", horizon_ns: int = HORIZON_NS, seeds: int = 1
) -> Study[Any, Any]:
    """Return the comparison of a parameter's values: over time if it is of disruption, else by a replay."""
    name = clean(sweep.name)
    again = partial(values_study, sweep=sweep, mode=mode, current=current, horizon_ns=horizon_ns, seeds=seeds)
    values = Values(
        title=f"Values of {name}",
        value=",".join(sweep.values),
        hint=_HINT,
        fault=fault_of(parse_values),
        study=lambda text: again(sweep=structs.replace(sweep, values=parse_values(text))),
    )
    if sweep.is_of_disruption:
        return replace(
            _forecasts(
                name,
                answered(partial(compare_values, sweep=sweep, horizon_ns=horizon_ns, seeds=seeds)),
                again,
                horizon_ns,
                seeds,
            ),
            table=VALUES,
            values=values,
            scenario=lambda row: None if row.is_as_it_is else _scenario(sweep, row.policy, Replay.PENDING),
        )
    return Study(
        title=f"Values ─ {name}",
        rows_title="Values",
        table=POINTS,
        ask=lambda session, now_ns: session.studies.sweep(sweep, mode, now_ns),
        rows=lambda result: result.points,
        lines=lambda result: answer_lines(sweep_answer(result, current), _replay_lines(result, current)),
        name_of=lambda row: row.value,
        story=lambda row: plain_lines(row.problem) if row.problem else (),
        notes=lambda _: (),
        scenario=lambda row: None if row.problem else _scenario(sweep, row.value, mode),
        values=values,
    )


def _scenario(sweep: Sweep, value: str, mode: Replay) -> Scenario:
    return Scenario(f"{sweep.name} = {value}", mode, sweep.edits_for(value))


def _replay_lines(result: SweepResult, current: str) -> Iterator[str]:
    before = f", after {counted(len(result.sweep.edits), 'edit')}" if result.sweep.edits else ""
    now = f"; now {current}" if current else ""
    yield f"{mode_text(result.mode)}: {mode_sentence(result.mode)}{before}{now}"
    left_out = next((point.not_counted for point in result.points if not point.problem), None)
    if left_out is not None and (without := without_text(left_out)):
        yield without


def policies_study(
    pool: str = "",
    *,
    edits: tuple[AnyEdit, ...] = (),
    afters: tuple[str, ...] = (),
    horizon_ns: int = HORIZON_NS,
    seeds: int = 1,
) -> Study[Comparison, PolicyOutcome]:
    """Return the comparison of consolidation policies.

    Args:
        pool: The edited NodePool; empty for all that are not static.
        afters: Values of consolidateAfter; a few values and those in use if empty.
    """
    again = partial(policies_study, pool, edits=edits, afters=afters, horizon_ns=horizon_ns, seeds=seeds)
    whose = clean(pool) if pool else "all NodePools alike"
    return replace(
        _forecasts(
            f"consolidation policy of {whose}",
            answered(
                partial(
                    compare,
                    edits=edits,
                    pools=(pool,) if pool else (),
                    afters=afters,
                    horizon_ns=horizon_ns,
                    seeds=seeds,
                )
            ),
            again,
            horizon_ns,
            seeds,
        ),
        values=Values(
            title="Values of consolidateAfter",
            value=" ".join(afters),
            hint="such as 30s 10m 1h Never; empty for 0s, 5m, 1h and those in use",
            fault=fault_of(lambda text: afters_of(text or NEVER)),
            study=lambda text: again(afters=tuple(text.replace(",", " ").split())),
        ),
    )


def _forecasts(
    subject: str,
    ask: Callable[[Session, int], StudyAnswer[Comparison]],
    again: Callable[..., Study[Any, Any]],
    horizon_ns: int,
    seeds: int,
) -> Study[Comparison, PolicyOutcome]:
    """Return a comparison by forecasts; ``again`` returns it with another time span or number of seeds."""
    return Study(
        title=f"Values ─ {subject} ─ over {span_text(horizon_ns)}{f', {seeds} seeds' if seeds > 1 else ''}",
        rows_title="Values",
        table=TABLE,
        ask=ask,
        further=lambda: again(horizon_ns=next_horizon(horizon_ns)),
        with_seeds=lambda: again(seeds=1 if seeds > 1 else _SEEDS),
        rows=lambda comparison: comparison.outcomes,
        lines=lambda comparison: answer_lines(headline(comparison), more_lines(comparison)),
        name_of=name_of,
        story=lambda row: answer_lines(sentence(row), story_lines(row)),
        notes=lambda comparison: notes_of(comparison.assumed, comparison.not_modelled),
        scenario=lambda row: None if row.is_as_it_is else Scenario(name=name_of(row), edits=row.edits),
    )
