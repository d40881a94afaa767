"""Texts of a Budgets row: a NodePool and one disruption reason."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
from typing import Final

from karptui.disruption.budget_calendar import AllowanceSpan, LineWindow
from karptui.disruption.budgets import UNLIMITED, BudgetState
from karptui.karpenter.nodepool import DisruptionBudget
from karptui.kube.group import group_by
from karptui.kube.timestamps import DAY_NS, HOUR_NS
from karptui.kube.units import first_of, instant_text
from karptui.session.budgets import BudgetEntry, WindowChange
from karptui.views.instants import in_text, range_text, weekday_text
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean, short_name

NO_LIMIT: Final = "no limit"
CLOSED, PARTLY, MANY, ANY = "·", "~", "+", "∞"
LEGEND: Final = f"1-9 nodes allowed, {MANY} ten or more, {ANY} no limit, {CLOSED} closed, {PARTLY} open for part of it"


def amount_text(allowed: int) -> str:
    """Return the number of allowed nodes."""
    return NO_LIMIT if allowed >= UNLIMITED else f"{allowed:,}"


def line_text(budget: DisruptionBudget) -> str:
    """Return a budget as written in the NodePool: ``10% · Drifted · 0 9 * * 1-5 for 8h``."""
    parts = [budget.nodes]
    if budget.reasons is not None:
        parts.append("+".join(budget.reasons) or "no reason")
    if _has_window(budget):
        parts.append(f"{budget.schedule or '(no schedule)'} for {budget.duration or '(no duration)'}")
    return " · ".join(parts)


def short_line_text(budget: DisruptionBudget) -> str:
    """Return a budget without its reasons, in few characters: ``10% at times``."""
    return f"{budget.nodes} at times" if _has_window(budget) else budget.nodes


def _has_window(budget: DisruptionBudget) -> bool:
    return budget.schedule is not None or budget.duration is not None


def change_word(change: WindowChange) -> str:
    """Return ``opens``, ``closes``, or the new number of nodes."""
    if change.allowed == 0:
        return "closes"
    return "opens" if change.before == 0 else f"to {amount_text(change.allowed)}"


def strip_text(week: Sequence[AllowanceSpan], hours: int, *, days: int = 7, first_day: int = 0) -> str:
    """Return one character per ``hours`` from midnight UTC, days separated by a line.

    Args:
        week: Allowed nodes over time, starting at midnight UTC.
        hours: Hours per character; divides a day.
    """
    if not week:
        return ""
    step_ns = hours * HOUR_NS
    day_marks = []
    for day in range(first_day, first_day + days):
        start_ns = week[0].start_ns + day * DAY_NS
        day_marks.append("".join(_mark(week, start_ns + i * step_ns, step_ns) for i in range(24 // hours)))
    return "│".join(day_marks)


def _mark(week: Sequence[AllowanceSpan], start_ns: int, step_ns: int) -> str:
    allowed = [span.allowed for span in week if span.start_ns < start_ns + step_ns and span.end_ns > start_ns]
    least = min(allowed, default=0)
    if least == 0:
        return PARTLY if any(allowed) else CLOSED
    if least >= UNLIMITED:
        return ANY
    return MANY if least > 9 else str(least)


NAMED = 4
"""Nodes that are named before the rest is counted."""


def budget_sentences(entry: BudgetEntry, now_ns: int, local: tzinfo | None = None) -> tuple[Pieces, ...]:
    """Return the lines about a row."""
    state = entry.state
    head = (f"{clean(entry.pool.name)} · {entry.reason}  ", Tone.STRONG)
    if entry.is_passed_over:
        return ((head, ("this Karpenter does not manage the NodePool: its nodes are not disrupted", Tone.MUTED)),)
    if state is None and entry.missing:
        return ((head, (f"the number left is unknown: {entry.missing}", Tone.WARNING)),)
    if state is None:
        return ((head, ("computing the number left", Tone.ACTIVE)),)
    return (
        (head, _sum(state)),
        *_consumers(state),
        *_line(entry, now_ns, local),
        ((_next(entry, now_ns, local), Tone.NORMAL),),
    )


def _sum(state: BudgetState) -> tuple[str, Tone]:
    if state.problem:
        return "closed: a budget that cannot be read closes the pool for every reason", Tone.FAULT
    if state.binding is None:
        return "no budget applies now: no limit", Tone.GOOD
    text = (
        f"{state.allowed} allowed − {len(state.deleting)} deleting − {len(state.not_ready)} NotReady"
        f" = {state.left} left now"
    )
    return text, Tone.GOOD if state.left else Tone.WARNING


def _consumers(state: BudgetState) -> list[Pieces]:
    parts = []
    for names, word in ((state.deleting, "deleting"), (state.not_ready, "NotReady")):
        if names:
            parts.append(f"{first_of([short_name(name) for name in names], NAMED)} ({word})")
    return [((f"used up by {'; '.join(parts)}", Tone.NORMAL),)] if parts else []


def _line(entry: BudgetEntry, now_ns: int, local: tzinfo | None) -> list[Pieces]:
    if entry.unreadable:
        return [
            (
                (f"budget {window.line.index + 1} ({line_text(window.line.budget)}) cannot be read: ", Tone.FAULT),
                (window.line.problem, Tone.NORMAL),
            )
            for window in entry.unreadable
        ]
    binding, state = entry.binding, entry.state
    if binding is None or state is None:
        return []
    share = f" of {state.nodes} nodes" if binding.line.budget.nodes.endswith("%") else ""
    text = f"by budget {binding.line.index + 1}: {line_text(binding.line.budget)}{share}"
    return [((text, Tone.NORMAL), (f" · {window_text(binding, now_ns, local)}", Tone.MUTED))]


def window_text(window: LineWindow, now_ns: int, local: tzinfo | None = None) -> str:
    """Return when a line applies."""
    if not window.is_windowed:
        return "always"
    text = range_text(window.start_ns, window.end_ns, local)
    if window.start_ns is not None and window.start_ns > now_ns:
        return f"next {text}"
    if window.line.is_active:
        return text or "open for more than a week"
    return "not within a week"


def _next(entry: BudgetEntry, now_ns: int, local: tzinfo | None) -> str:
    change = entry.change(now_ns)
    if change is None:
        return "no window opens or closes within a week"
    word = change_word(change)
    verb = f"goes {word}" if word.startswith("to") else word
    more = f", then {amount_text(change.allowed)} allowed" if word == "opens" else ""
    return f"{verb} {in_text(change.at_ns, now_ns)}, {weekday_text(change.at_ns, local)}{more}"


def detail_text(entries: Sequence[BudgetEntry], now_ns: int, local: tzinfo | None = None) -> str:
    """Return everything about the budgets of one NodePool as text."""
    pool, budgets = entries[0].pool, entries[0].budgets
    lines = [f"Disruption budgets of NodePool {clean(pool.name)}", ""]
    if not pool.budgets:
        lines += ["It has none: there is no limit.", ""]
    if budgets is None:
        lines += [f"{i:>3}  {clean(line_text(budget))}" for i, budget in enumerate(pool.budgets or (), start=1)]
    for window in budgets.windows if budgets is not None else ():
        lines.append(f"{window.line.index + 1:>3}  {clean(line_text(window.line.budget))}")
        text = (
            f"cannot be read: {clean(window.line.problem)}"
            if window.line.problem
            else window_text(window, now_ns, local)
        )
        lines.append(f"       {text}" + (f", allows {window.line.allowed}" if window.line.is_active else ""))
    lines.append("")
    for entry in entries:
        lines += [clean("".join(text for text, _ in line)) for line in budget_sentences(entry, now_ns, local)]
        lines.append("")
    if budgets is None:
        return "\n".join(lines)
    for name, names in (("Deleting", budgets.use.deleting), ("NotReady", budgets.use.not_ready)):
        lines += [f"{name}: {', '.join(map(clean, names)) or 'none'}"]
    lines += ["", f"{budgets.use.nodes} nodes count: managed, initialized, their instance not terminating.", ""]
    return "\n".join([*lines, *_days(entries)])


def _days(entries: Sequence[BudgetEntry]) -> list[str]:
    """Return the coming days of each different week, a character an hour."""
    lines = ["The coming days, a character an hour, UTC:", f"{LEGEND}."]
    for week, alike in group_by(entries, lambda entry: entry.week).items():
        lines += ["", ", ".join(entry.reason for entry in alike), "           0     6     12    18"]
        for day in range(7):
            start_ns = week[0].start_ns + day * DAY_NS
            hours = strip_text(week, 1, days=1, first_day=day)
            quarters = " ".join(hours[i : i + 6] for i in range(0, 24, 6))
            lines.append(f"  {weekday_text(start_ns)[:3]} {instant_text(start_ns)[5:10]} {quarters}")
    return lines
