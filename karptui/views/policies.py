"""Comparison of consolidation policies: recommendation, one row per policy, and details of a row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from karptui.aws.money import sum_text
from karptui.forward.run import HORIZON_NS
from karptui.karpenter.inventory import NotCounted
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import NA, count_text, counted, duration_text, span_text
from karptui.plan.policies import NEVER, Comparison, PolicyError, PolicyOutcome, PolicySpread, Worth, afters_of
from karptui.views.column import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    NUMBER_OR_NULL,
    TEXT,
    TEXT_OR_NULL,
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
from karptui.views.row import NOT_APPLICABLE, NOT_AVAILABLE, Cell, Tone
from karptui.views.sanitize import clean
from karptui.views.study import Study, Values, answer_lines, next_horizon, notes_of
from karptui.views.table import Sort, TableSpec
from karptui.whatif.scenario import Scenario

_FEW: Final = 3


def name_of(outcome: PolicyOutcome) -> str:
    """Return the name of a policy's row."""
    return UNEDITED if outcome.is_as_it_is else f"{outcome.policy} {outcome.after}"


def headline(found: Comparison) -> str:
    """Return the policies that beat the current one, the current result, and the other policies worth it."""
    today, *others = found.outcomes
    span = span_text(found.horizon_ns)
    chance = f" ({today.spread.seeds} seeds)" if today.spread is not None else ""
    said = [f"the current policy {saves_text(today)} within {span}, with {_evictions(today)}{chance}"]
    if not today.is_saving_known:
        said[0] = f"the current policy causes {_evictions(today)} within {span}{chance}; its savings are unknown"
    worthy: dict[tuple[float, int], PolicyOutcome] = {}
    for one in sorted(others, key=_most_first):
        if one.worth is Worth.YES and round(one.saved or 0.0, 2) > min(0.0, round(today.saved or 0.0, 2)):
            worthy.setdefault(_figures(one), one)
    said += [f"{name_of(one)} {saves_text(one)}, with {_evictions(one)}" for one in list(worthy.values())[:_FEW]]
    if today.is_beaten:
        better = [one for one in worthy.values() if one.dollars <= today.dollars and one.evictions <= today.evictions]
        if better:
            always = " with every seed" if chance else ""
            said.insert(0, f"{name_of(better[0])} is better than the current policy, in cost and evictions{always}")
    if len(said) == 1 and today.is_saving_known:
        said.append("no other policy tried is better")
    return "; ".join(said)


def _figures(one: PolicyOutcome) -> tuple[float, int]:
    return round(one.dollars, 2), one.evictions


def _most_first(one: PolicyOutcome) -> float:
    return -(one.saved or 0.0)


def saves_text(one: PolicyOutcome) -> str:
    """Return the savings: ``saves $4.59``; for several seeds the range."""
    saved = (one.saved,) if one.spread is None else one.spread.saved or (None,)
    known = [round(amount, 2) for amount in saved if amount is not None]
    if not known:
        return f"saves {NA}"
    if not any(known):
        return "saves nothing"
    if max(known) <= 0:
        more = " to ".join(dict.fromkeys(sum_text(-amount) for amount in reversed(known)))
        return f"costs {more} more than no disruption"
    return f"saves {' to '.join(dict.fromkeys(map(sum_text, known)))}"


def _evictions(one: PolicyOutcome) -> str:
    least, greatest = (one.evictions, one.evictions) if one.spread is None else one.spread.evictions
    most = counted(greatest, "eviction")
    return most if least == greatest else f"{count_text(least)} to {most}"


def more_lines(found: Comparison) -> Iterator[str]:
    """Yield the NodePools' current policies."""
    alike: dict[tuple[str, str], list[str]] = {}
    for name, policy, after in found.pools:
        alike.setdefault((policy, after), []).append(name)
    named = "; ".join(f"{', '.join(names)} {policy} {after}" for (policy, after), names in alike.items())
    yield f"today: {named}"


def sentence(outcome: PolicyOutcome) -> str:
    """Return the result of one policy."""
    pending = f"; {counted(outcome.pending, 'pod')} without a node" if outcome.pending else ""
    by = f"with {counted(outcome.commands, 'command')} and {_evictions(outcome)}"
    without = without_text(NotCounted(outcome.unmanaged))
    return (
        f"{name_of(outcome)} {saves_text(outcome)} {by}{pending};"
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
        yield f"another policy costs no more, evicts no more, and is better in one of the two{always}"
    if outcome.kept:
        yield f"nodes still blocked at the end: {holders_text(outcome.kept)}"


def _tone(outcome: PolicyOutcome) -> Tone:
    return Tone.GOOD if outcome.worth is Worth.YES else Tone.MUTED


def _saved(outcome: PolicyOutcome, _: int) -> Cell:
    if outcome.saved is None:
        return NOT_AVAILABLE
    amount = round(outcome.saved, 2)
    return Cell(sum_text(amount), Tone.WARNING if amount < 0 else _tone(outcome)) if amount else NOT_APPLICABLE


_SPREAD: Final[tuple[Value[PolicySpread], ...]] = (
    Value("seeds", lambda spread, _: spread.seeds, INTEGER),
    least_and_greatest("dollarsSaved", lambda spread: spread.saved, NUMBER, may_be_null=True),
    least_and_greatest("evictions", lambda spread: spread.evictions, INTEGER),
)
TABLE: Final[TableSpec[PolicyOutcome]] = TableSpec(
    "policies",
    (
        text_column(
            Heading("policy", "POLICY", "consolidationPolicy, or the current setting.", 16, 26, is_name=True),
            lambda row: row.policy or UNEDITED,
            short=lambda row: row.policy.removeprefix("WhenEmptyOr"),
            values=(
                Value("consolidationPolicy", lambda row, _: row.policy or None, TEXT_OR_NULL, "null: not edited."),
                Value("isAsItIs", lambda row, _: row.is_as_it_is, BOOLEAN, "Whether nothing is edited."),
            ),
        ),
        text_column(
            Heading("after", "AFTER", "consolidateAfter.", 5, 8),
            lambda row: row.after,
            values=(Value("consolidateAfter", lambda row, _: row.after or None, TEXT_OR_NULL, "null: not edited."),),
        ),
        Column(
            number_heading("saved", "SAVED", "Savings over the horizon, compared with no disruption.", 10),
            _saved,
            lambda row: row.saved,
            values=(
                Value("dollars", lambda row, _: row.dollars, NUMBER, "Cost of the nodes over the horizon."),
                Value(
                    "dollarsSaved",
                    lambda row, _: row.saved,
                    NUMBER_OR_NULL,
                    "Savings compared with no disruption; null if unknown.",
                ),
            ),
            filters={
                "saved": Field(FieldKind.MONEY, lambda row, _: row.saved, help="savings over the horizon"),
            },
        ),
        count_column(
            number_heading("evictions", "EVICTIONS", "Evicted pods, by drift and expiry too."),
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
            values=(Value("lastCommandSeconds", lambda row, _: row.seconds, INTEGER),),
        ),
        text_column(
            Heading(
                "verdict",
                "WORTH IT",
                "yes: it saves, and no other policy is better in both; same: same result as current.",
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
                    BOOLEAN,
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
        Value("endUnpriced", lambda row, _: row.unpriced, INTEGER, "Nodes without a known price, excluded from costs."),
        records(
            "kept",
            lambda row: row.kept,
            (Value("by", lambda pair, _: pair[0], TEXT), Value("nodes", lambda pair, _: pair[1], INTEGER)),
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
REPORT: Final[tuple[Value[Comparison], ...]] = (
    records(
        "nodePools",
        lambda found: found.pools,
        (
            Value("name", lambda pool, _: pool[0], TEXT),
            Value("consolidationPolicy", lambda pool, _: pool[1], TEXT),
            Value("consolidateAfter", lambda pool, _: pool[2], TEXT, "A duration, or Never."),
        ),
        "Edited NodePools with their current settings.",
    ),
    Value("horizonSeconds", lambda found, _: found.horizon_ns // NS_PER_SECOND, INTEGER),
    texts("assumed", lambda found: found.assumed),
    texts("notModelled", lambda found: found.not_modelled),
)
"""The document's values besides its outcomes."""


_SEEDS: Final = 5


def policies_study(
    pool: str = "", *, afters: tuple[str, ...] = (), horizon_ns: int = HORIZON_NS, seeds: int = 1
) -> Study[Comparison, PolicyOutcome]:
    """Return what consolidation policies save and evict.

    Args:
        pool: The edited NodePool; empty for all dynamic ones.
        afters: Values of consolidateAfter to try; if empty, a few common ones and those in use.
        horizon_ns: Simulated time of each forecast.
        seeds: Number of seeds per policy.
    """
    whose = clean(pool) if pool else "all NodePools alike"
    return Study(
        title=f"Consolidation policies ─ {whose}, over {span_text(horizon_ns)}"
        + (f", {seeds} seeds" if seeds > 1 else ""),
        rows_title="Policies",
        table=TABLE,
        ask=lambda session, now_ns: session.studies.policies(
            (pool,) if pool else (), afters, horizon_ns, seeds, now_ns
        ),
        further=lambda: policies_study(pool, afters=afters, horizon_ns=next_horizon(horizon_ns), seeds=seeds),
        with_seeds=lambda: policies_study(pool, afters=afters, horizon_ns=horizon_ns, seeds=1 if seeds > 1 else _SEEDS),
        values=Values(
            title="Values of consolidateAfter",
            value=" ".join(afters),
            hint="such as 30s 10m 1h Never; if empty, 0s, 5m, 1h and those in use",
            fault=_fault_of_afters,
            study=lambda text: policies_study(
                pool, afters=tuple(text.replace(",", " ").split()), horizon_ns=horizon_ns, seeds=seeds
            ),
        ),
        rows=lambda found: found.outcomes,
        lines=lambda found: answer_lines(headline(found), more_lines(found)),
        name_of=name_of,
        story=lambda row: answer_lines(sentence(row), story_lines(row)),
        notes=lambda found: notes_of(found.assumed, found.not_modelled),
        scenario=lambda row: Scenario(name=name_of(row), edits=row.edits) if row.edits else None,
        tab="pools",
    )


def _fault_of_afters(text: str) -> str:
    try:
        afters_of(text or NEVER)
    except PolicyError as error:
        return str(error)
    return ""
