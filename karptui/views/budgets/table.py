"""The table of the Budgets screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import tzinfo
from typing import Any, Final

from karptui.disruption.budgets import UNLIMITED
from karptui.kube.timestamps import NS_PER_SECOND, format_timestamp
from karptui.views.budgets.entry import BudgetEntry, amount_text, line_text
from karptui.views.budgets.strip import LEGEND, strip_text
from karptui.views.budgets.words import window_text
from karptui.views.column import Column, Heading
from karptui.views.fields import Field, FieldKind
from karptui.views.instants import in_text, weekday_text
from karptui.views.row import FORBIDDEN, NOT_APPLICABLE, Cell, Tone, text_cell
from karptui.views.sanitize import clean
from karptui.views.table import Sort, TableSpec, natural_key

_WAITING: Final = Cell("…", Tone.MUTED)


def _missing(entry: BudgetEntry) -> Cell:
    if entry.missing:
        return FORBIDDEN
    return NOT_APPLICABLE if entry.is_passed_over else _WAITING


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
        return Cell(str(count), tone) if count else Cell("0", Tone.MUTED)

    return cell


def _deleting(entry: BudgetEntry) -> tuple[str, ...]:
    return entry.state.deleting if entry.state is not None else ()


def _not_ready(entry: BudgetEntry) -> tuple[str, ...]:
    return entry.state.not_ready if entry.state is not None else ()


def _left(entry: BudgetEntry, _: int) -> Cell:
    state = entry.state
    if state is None:
        return _missing(entry)
    if state.allowed >= UNLIMITED:
        return Cell(amount_text(state.allowed), Tone.GOOD, "any")
    return Cell(str(state.left), Tone.GOOD if state.left else Tone.WARNING)


def _left_sort(entry: BudgetEntry) -> float | None:
    return float(entry.state.left) if entry.state is not None else None


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
    return Cell(f"{number}: {clean(line_text(binding.line.budget))}", Tone.NORMAL)


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
        short = f"{change.word} {in_text(change.at_ns, now_ns)}"
        tone = {"opens": Tone.GOOD, "closes": Tone.WARNING}.get(change.word, Tone.NORMAL)
        return Cell(f"{short}, {weekday_text(change.at_ns, local)}", tone, short)

    return cell


def _strip(entry: BudgetEntry, _: int) -> Cell:
    if entry.state is None:
        return _missing(entry)
    return Cell(strip_text(entry.week, 4), Tone.NORMAL, strip_text(entry.week, 6))


def budgets_table(local: tzinfo | None = None) -> TableSpec[BudgetEntry]:
    """Return the table, with local times in brackets where a zone other than UTC is given."""
    return TableSpec(
        noun="budgets",
        columns=_columns(local),
        text=_text,
        more_filters=FIELDS,
        labels=lambda entry: entry.pool.labels,
        key=lambda entry: entry.key,
        default_sort=Sort("name"),
        is_notable=lambda entry, _: entry.state is not None and entry.state.left == 0,
    )


def _number(id_: str, title: str, help_: str, drop_order: int) -> Heading:
    return Heading(
        id_, title, help_, len(title), 9, is_right_aligned=True, is_descending_first=True, drop_order=drop_order
    )


_COLUMNS: Final[tuple[Column[BudgetEntry], ...]] = (
    Column(
        Heading("name", "POOL", "The NodePool.", 7, 30),
        lambda entry, _: text_cell(entry.pool.name, Tone.STRONG),
        lambda entry: (*natural_key(entry.pool.name), str(entry.reason)),
    ),
    Column(
        Heading("reason", "REASON", "Why Karpenter would disrupt a node.", 13, 13),
        lambda entry, _: Cell(str(entry.reason)),
        lambda entry: str(entry.reason),
    ),
    Column(
        Heading(
            "nodes",
            "NODES",
            "Nodes that percentages are of: managed, initialised, their instance not terminating.",
            5,
            9,
            is_right_aligned=True,
            is_wide_only=True,
            is_descending_first=True,
        ),
        lambda entry, _: Cell(f"{entry.state.nodes:,}") if entry.state is not None else _missing(entry),
        lambda entry: float(entry.state.nodes) if entry.state is not None else None,
    ),
    Column(
        _number("allowed", "ALLOWED", "Nodes that the binding line allows.", 5),
        _allowed,
        lambda entry: float(entry.state.allowed) if entry.state is not None else None,
    ),
    Column(
        _number("deleting", "−DEL", "Nodes on their way out, for whatever cause: each uses the budget up.", 6),
        _used(_deleting, Tone.LEAVING),
        lambda entry: float(len(_deleting(entry))),
    ),
    Column(
        _number("notready", "−NOTRDY", "Nodes that are not Ready: each uses the budget up.", 6),
        _used(_not_ready, Tone.FAULT),
        lambda entry: float(len(_not_ready(entry))),
    ),
    Column(
        _number("left", "=LEFT", "Nodes that may still be disrupted now: allowed − deleting − NotReady.", 0),
        _left,
        _left_sort,
    ),
    Column(
        Heading(
            "line",
            "BINDING LINE",
            "The line that allows least, by its number, as it is written.",
            12,
            64,
            drop_order=1,
        ),
        _line,
        lambda entry: _line(entry, 0).text,
    ),
    Column(
        Heading(
            "week",
            "7 DAYS FROM 00:00Z",
            f"What is allowed in each four hours (six where room is short) from midnight UTC: {LEGEND}.",
            34,
            48,
            drop_order=2,
        ),
        _strip,
        lambda entry: _strip(entry, 0).text,
    ),
)
"""Those in which no time is written."""


def _columns(local: tzinfo | None) -> tuple[Column[BudgetEntry], ...]:
    return (
        *_COLUMNS,
        Column(
            Heading("next", "NEXT CHANGE", "When a window next opens or closes, within a week.", 13, 44, drop_order=3),
            _next(local),
            _next_sort,
        ),
        Column(
            Heading("window", "WINDOW", "When that line applies: UTC, local time in brackets.", 13, 44, drop_order=7),
            _window(local),
            lambda entry: float(entry.binding.end_ns) if entry.binding and entry.binding.end_ns else None,
        ),
    )


def _next_sort(entry: BudgetEntry) -> float | None:
    change = entry.change(entry.found.minute_ns) if entry.found is not None else None
    return float(change.at_ns) if change is not None else None


def _left_field(entry: BudgetEntry, _: int) -> float | None:
    return _left_sort(entry)


FIELDS: Final[Mapping[str, Field[BudgetEntry]]] = {
    "pool": Field(FieldKind.TEXT, lambda entry, _: entry.pool.name, help="NodePool"),
    "reason": Field(FieldKind.TEXT, lambda entry, _: str(entry.reason), help="Empty, Drifted, Underutilized"),
    "left": Field(FieldKind.COUNT, _left_field, help="nodes left now"),
    "allowed": Field(
        FieldKind.COUNT, lambda entry, _: entry.state.allowed if entry.state else None, help="nodes allowed"
    ),
    "deleting": Field(FieldKind.COUNT, lambda entry, _: len(_deleting(entry)), help="nodes on their way out"),
    "notready": Field(FieldKind.COUNT, lambda entry, _: len(_not_ready(entry)), help="nodes that are not Ready"),
    "node": Field(FieldKind.TEXT, lambda entry, _: (*_deleting(entry), *_not_ready(entry)), help="a node that uses it"),
    "next": Field(
        FieldKind.DURATION,
        lambda entry, now_ns: (
            (change.at_ns - now_ns) / NS_PER_SECOND if (change := entry.change(now_ns)) is not None else None
        ),
        help="until a window opens or closes",
    ),
}


def _text(entry: BudgetEntry) -> str:
    return f"{entry.pool.name} {entry.reason} {_line(entry, 0).text}".lower()


def budget_values(entry: BudgetEntry, now_ns: int) -> dict[str, Any]:
    """Return a row as plain values; None is what is not known, or no limit."""
    state, binding, change = entry.state, entry.binding, entry.change(now_ns)
    is_limited = state is not None and state.allowed < UNLIMITED
    return {
        "pool": entry.pool.name,
        "reason": str(entry.reason),
        "nodes": state.nodes if state is not None else None,
        "is_limited": is_limited if state is not None else None,
        "allowed": state.allowed if state is not None and is_limited else None,
        "deleting": len(_deleting(entry)) if state is not None else None,
        "not_ready": len(_not_ready(entry)) if state is not None else None,
        "left": state.left if state is not None and is_limited else None,
        "deleting_nodes": " ".join(_deleting(entry)),
        "not_ready_nodes": " ".join(_not_ready(entry)),
        "binding_index": binding.line.index if binding is not None else None,
        "binding_line": line_text(binding.line.budget) if binding is not None else None,
        "window_start": _instant(binding.start_ns if binding is not None else None),
        "window_end": _instant(binding.end_ns if binding is not None else None),
        "next_change": _instant(change.at_ns if change is not None else None),
        "next_allowed": change.allowed if change is not None and change.allowed < UNLIMITED else None,
        "week": strip_text(entry.week, 4).replace("│", "") or None,
        "problem": state.problem or None if state is not None else None,
    }


def _instant(at_ns: int | None) -> str | None:
    return format_timestamp(at_ns) if at_ns is not None else None
