"""The table of disruption budgets: its columns, and everything that follows from them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import tzinfo
from typing import Any, Final

from karptui.disruption.budget_calendar import LineWindow
from karptui.disruption.budgets import UNLIMITED, BudgetState, Reason
from karptui.session.budgets import BudgetEntry
from karptui.views.budgets.sentences import (
    LEGEND,
    amount_text,
    change_word,
    line_text,
    short_line_text,
    strip_text,
    window_text,
)
from karptui.views.column import (
    INSTANT_OR_NULL,
    Column,
    Field,
    FieldKind,
    Heading,
    NumberHeading,
    Schema,
    Value,
    lifted,
    natural_key,
    text_column,
)
from karptui.views.instants import in_text, instant_value, seconds_until, weekday_text
from karptui.views.row import FORBIDDEN, NOT_APPLICABLE, WAITING, ZERO, Cell, Tone
from karptui.views.sanitize import clean
from karptui.views.table import Sort, TableSpec


def _missing(entry: BudgetEntry) -> Cell:
    if entry.missing:
        return FORBIDDEN
    return NOT_APPLICABLE if entry.is_passed_over else WAITING


def _allowed(entry: BudgetEntry, _: int) -> Cell:
    state = entry.state
    if state is None:
        return _missing(entry)
    if state.allowed >= UNLIMITED:
        return Cell(amount_text(state.allowed), Tone.MUTED, "any")
    return Cell(amount_text(state.allowed), Tone.WARNING if state.allowed == 0 else Tone.NORMAL)


def _used(names: Callable[[BudgetEntry], tuple[str, ...]], tone: Tone) -> Callable[[BudgetEntry, int], Cell]:
    def cell(entry: BudgetEntry, _: int) -> Cell:
        if entry.state is None:
            return _missing(entry)
        count = len(names(entry))
        return Cell(str(count), tone) if count else ZERO

    return cell


def _deleting(entry: BudgetEntry) -> tuple[str, ...]:
    return entry.state.deleting if entry.state is not None else ()


def _not_ready(entry: BudgetEntry) -> tuple[str, ...]:
    return entry.state.not_ready if entry.state is not None else ()


def _left_cell(entry: BudgetEntry, _: int) -> Cell:
    state = entry.state
    if state is None:
        return _missing(entry)
    if state.allowed >= UNLIMITED:
        return Cell(amount_text(state.allowed), Tone.GOOD, "any")
    return Cell(str(state.left), Tone.GOOD if state.left else Tone.WARNING)


def _left_sort(entry: BudgetEntry) -> float | None:
    return entry.state.left if entry.state is not None else None


def _line(entry: BudgetEntry, _: int) -> Cell:
    if entry.unreadable:
        first = entry.unreadable[0].line
        return Cell(f"✘ {first.index + 1}: {clean(line_text(first.budget))}", Tone.FAULT, f"✘ {first.index + 1}")
    binding = entry.binding
    if entry.state is None:
        return _missing(entry)
    if binding is None:
        return Cell("none", Tone.MUTED)
    number = binding.line.index + 1
    budget = binding.line.budget
    return Cell(f"{number}: {clean(line_text(budget))}", Tone.NORMAL, f"{number}: {clean(short_line_text(budget))}")


def _window(local: tzinfo | None) -> Callable[[BudgetEntry, int], Cell]:
    def cell(entry: BudgetEntry, now_ns: int) -> Cell:
        binding = entry.binding
        if entry.unreadable:
            return Cell("cannot be read", Tone.FAULT)
        if binding is None:
            return _missing(entry) if entry.state is None else NOT_APPLICABLE
        text = window_text(binding, now_ns, local)
        if not binding.is_windowed:
            return Cell(text, Tone.MUTED)
        end = binding.end_ns
        return Cell(text, Tone.NORMAL, f"to {weekday_text(end)}" if end is not None else "")

    return cell


def _next(local: tzinfo | None) -> Callable[[BudgetEntry, int], Cell]:
    def cell(entry: BudgetEntry, now_ns: int) -> Cell:
        if entry.state is None:
            return _missing(entry)
        change = entry.change(now_ns)
        if change is None:
            return NOT_APPLICABLE
        word = change_word(change)
        short = f"{word} {in_text(change.at_ns, now_ns)}"
        tone = {"opens": Tone.GOOD, "closes": Tone.WARNING}.get(word, Tone.NORMAL)
        return Cell(f"{short}, {weekday_text(change.at_ns, local)}", tone, short)

    return cell


def _strip(entry: BudgetEntry, _: int) -> Cell:
    if entry.state is None:
        return _missing(entry)
    return Cell(strip_text(entry.week, 4), Tone.NORMAL, strip_text(entry.week, 6))


def _of_state(
    name: str, read: Callable[[BudgetState], Any], schema: Schema = int | None, *, about: str = "", after: str = ""
) -> Value[BudgetEntry]:
    """Return a value of the allowance, null while it is unknown."""
    return Value(name, lambda entry, _: None if entry.state is None else read(entry.state), schema, about, after)


def _change_ns(entry: BudgetEntry, now_ns: int) -> int | None:
    change = entry.change(now_ns)
    return change.at_ns if change is not None else None


def _allowed_next(entry: BudgetEntry, now_ns: int) -> int | None:
    change = entry.change(now_ns)
    return change.allowed if change is not None and change.allowed < UNLIMITED else None


_BINDING: Final[tuple[Value[LineWindow], ...]] = (
    Value(
        "binding_index",
        lambda binding, _: binding.line.index,
        int | None,
        "Position of the line that binds.",
        after="not_ready_nodes",
    ),
    Value("binding_line", lambda binding, _: line_text(binding.line.budget), str | None),
)
_WINDOW: Final[tuple[Value[LineWindow], ...]] = (
    Value("window_start", lambda binding, _: instant_value(binding.start_ns), INSTANT_OR_NULL, after="binding_line"),
    Value("window_end", lambda binding, _: instant_value(binding.end_ns), INSTANT_OR_NULL),
)
_COLUMNS: Final[tuple[Column[BudgetEntry], ...]] = (
    text_column(
        Heading("name", "POOL", "The NodePool.", 7, 30),
        lambda entry: entry.pool.name,
        tone=lambda _: Tone.STRONG,
        sort=lambda entry: (natural_key(entry.pool.name), entry.reason),
        json="pool",
        filters={"pool": Field(FieldKind.TEXT, lambda entry, _: entry.pool.name, "NodePool")},
    ),
    text_column(
        Heading("reason", "REASON", "Why Karpenter would disrupt a node.", 13, 13),
        lambda entry: entry.reason,
        values=Value("reason", lambda entry, _: entry.reason, {"enum": sorted(Reason)}),
        filters=Field(FieldKind.TEXT, lambda entry, _: entry.reason, ", ".join(Reason)),
    ),
    Column(
        NumberHeading(
            "nodes",
            "NODES",
            "Nodes that percentages refer to: managed, initialized, and not terminating.",
            5,
            9,
            is_wide_only=True,
        ),
        lambda entry, _: Cell(f"{entry.state.nodes:,}") if entry.state is not None else _missing(entry),
        lambda entry: entry.state.nodes if entry.state is not None else None,
        values=_of_state("nodes", lambda state: state.nodes),
    ),
    Column(
        NumberHeading("allowed", "ALLOWED", "Nodes that the binding line allows.", 7, 9, drop_order=5),
        _allowed,
        lambda entry: entry.state.allowed if entry.state is not None else None,
        values=(
            _of_state("is_limited", lambda state: state.allowed < UNLIMITED, bool | None),
            _of_state("allowed", lambda state: state.allowed if state.allowed < UNLIMITED else None),
        ),
        filters=Field(FieldKind.COUNT, lambda entry, _: entry.state.allowed if entry.state else None, "nodes allowed"),
    ),
    Column(
        NumberHeading(
            "deleting", "−DEL", "Nodes being removed, for any cause: each uses up the budget.", 4, 9, drop_order=6
        ),
        _used(_deleting, Tone.LEAVING),
        lambda entry: len(_deleting(entry)),
        values=(
            _of_state("deleting", lambda state: len(state.deleting)),
            Value(
                "deleting_nodes",
                lambda entry, _: " ".join(_deleting(entry)),
                str,
                "Names with blanks between.",
                after="left",
            ),
        ),
        filters=Field(FieldKind.COUNT, lambda entry, _: len(_deleting(entry)), "nodes being removed"),
    ),
    Column(
        NumberHeading("notready", "−NOTRDY", "Nodes that are not Ready: each uses up the budget.", 7, 9, drop_order=6),
        _used(_not_ready, Tone.FAULT),
        lambda entry: len(_not_ready(entry)),
        values=(
            _of_state("not_ready", lambda state: len(state.not_ready), after="deleting"),
            Value("not_ready_nodes", lambda entry, _: " ".join(_not_ready(entry)), str, after="deleting_nodes"),
        ),
        filters={
            "notready": Field(FieldKind.COUNT, lambda entry, _: len(_not_ready(entry)), "nodes that are not Ready"),
            "node": Field(
                FieldKind.TEXT, lambda entry, _: (*_deleting(entry), *_not_ready(entry)), "a node that uses it"
            ),
        },
    ),
    Column(
        NumberHeading("left", "=LEFT", "Nodes that may still be disrupted now: allowed − deleting − NotReady.", 5, 9),
        _left_cell,
        _left_sort,
        values=_of_state(
            "left",
            lambda state: state.left if state.allowed < UNLIMITED else None,
            about="Allowed less deleting and not ready nodes.",
            after="not_ready",
        ),
        filters=Field(FieldKind.COUNT, lambda entry, _: _left_sort(entry), "nodes left now"),
    ),
    Column(
        Heading("line", "BINDING LINE", "The line that allows least: its number and text.", 12, 64, drop_order=1),
        _line,
        lambda entry: _line(entry, 0).text,
        values=(
            *lifted(_BINDING, lambda entry: entry.binding),
            _of_state(
                "problem",
                lambda state: state.problem or None,
                str | None,
                about="Why a schedule cannot be read.",
                after="week",
            ),
        ),
    ),
    Column(
        Heading(
            "week",
            "7 DAYS FROM 00:00Z",
            f"Allowed nodes per four hours (six in narrow tables) from midnight UTC: {LEGEND}.",
            34,
            48,
            drop_order=2,
        ),
        _strip,
        lambda entry: _strip(entry, 0).text,
        values=Value(
            "week",
            lambda entry, _: strip_text(entry.week, 4).replace("│", "") or None,
            str | None,
            "Seven days, six characters a day.",
            after="next_allowed",
        ),
    ),
)
"""Columns without times."""


def budgets_table(local: tzinfo | None = None) -> TableSpec[BudgetEntry]:
    """Return the table, with local times in brackets where a zone other than UTC is given."""
    return TableSpec(
        noun="budgets",
        columns=(
            *_COLUMNS,
            Column(
                Heading(
                    "next", "NEXT CHANGE", "When a window next opens or closes, within a week.", 13, 44, drop_order=3
                ),
                _next(local),
                lambda entry: _change_ns(entry, entry.budgets.minute_ns) if entry.budgets is not None else None,
                values=(
                    Value(
                        "next_change",
                        lambda entry, now_ns: instant_value(_change_ns(entry, now_ns)),
                        INSTANT_OR_NULL,
                        after="window_end",
                    ),
                    Value("next_allowed", _allowed_next, int | None),
                ),
                filters=Field(
                    FieldKind.DURATION,
                    lambda entry, now_ns: seconds_until(_change_ns(entry, now_ns), now_ns),
                    "until a window opens or closes",
                ),
            ),
            Column(
                Heading(
                    "window", "WINDOW", "When that line applies: UTC, local time in brackets.", 13, 44, drop_order=7
                ),
                _window(local),
                lambda entry: entry.binding.end_ns if entry.binding is not None else None,
                values=lifted(_WINDOW, lambda entry: entry.binding),
            ),
        ),
        text=lambda entry: f"{entry.pool.name} {entry.reason} {_line(entry, 0).text}".lower(),
        labels=lambda entry: entry.pool.labels,
        key=lambda entry: entry.key,
        default_sort=Sort("name"),
        is_notable=lambda entry, _: entry.state is not None and entry.state.left == 0,
    )
