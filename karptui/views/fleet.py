"""Several clusters: their table, and the sums above it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from karptui.kube.units import count_text, counted
from karptui.session.fleet import FleetRow
from karptui.views.column import Column, Field, FieldKind, Heading, NumberHeading, text_column
from karptui.views.instants import age_column
from karptui.views.prices import known_sum_text
from karptui.views.row import NOT_APPLICABLE, Cell, Tone
from karptui.views.sanitize import clean
from karptui.views.sources import Health
from karptui.views.table import Sort, TableSpec
from karptui.views.top_bar import TopBarValues
from karptui.views.verdict.lines import MARKS

CONNECTING: Final = "connecting"


def verdict_text(row: FleetRow) -> str:
    """Return the reason that a cluster's data is not current, else its worst finding."""
    figures = row.line.figures
    if row.trouble:
        return f"✘ {row.trouble}"
    if figures is None:
        return CONNECTING
    if figures.worst is None:
        return "analysing"
    mark = "✔" if figures.is_fine else MARKS.get(figures.worst.severity, ("·", Tone.MUTED))[0]
    return f"{mark} {figures.worst.text}"


def _tone(row: FleetRow) -> Tone:
    figures = row.line.figures
    if row.trouble:
        return Tone.FAULT
    if figures is None or figures.worst is None:
        return Tone.ACTIVE
    return Tone.GOOD if figures.is_fine else MARKS.get(figures.worst.severity, ("", Tone.MUTED))[1]


def rank(row: FleetRow) -> float:
    """Return the order of clusters by what needs attention: unreachable, errors, warnings, others."""
    return [Tone.FAULT, Tone.WARNING].index(_tone(row)) + (not row.trouble) if _is_bad(row) else 9.0


def _is_bad(row: FleetRow) -> bool:
    return _tone(row) in (Tone.FAULT, Tone.WARNING)


def _number(name: str, title: str, about: str, *, drop_order: int = 0) -> Column[FleetRow]:
    """Return a column of a count, or of dollars per hour; a dash if it is unknown."""
    is_money = name in ("per_hour", "held")

    def amount(row: FleetRow) -> float | None:
        value: float | None = getattr(row.line.figures, name, None)
        return value

    def cell(row: FleetRow, now_ns: int) -> Cell:
        value, figures = amount(row), row.line.figures
        if value is None or figures is None:
            return NOT_APPLICABLE
        unpriced = figures.unpriced if name == "per_hour" else 0
        text = known_sum_text(value, unpriced, is_bare=True) if is_money else count_text(int(value))
        return Cell(text, Tone.NORMAL if row.is_current(now_ns) else Tone.MUTED)

    heading = NumberHeading(name, title, about, 5, 12, drop_order=drop_order)
    kind = FieldKind.MONEY if is_money else FieldKind.COUNT
    field = Field[FleetRow](kind, lambda row, _: amount(row), about.rstrip(".").lower())
    return Column(heading, cell, amount, filters={name: field})


_VERDICT: Final[Column[FleetRow]] = text_column(
    Heading("verdict", "VERDICT", "Its worst problem, or why it cannot be read.", 20, 400), verdict_text, tone=_tone
)
TABLE: Final[TableSpec[FleetRow]] = TableSpec(
    "fleet",
    (
        text_column(
            Heading("name", "CLUSTER", "Context of the kubeconfig.", 8, 40, is_name=True),
            lambda row: row.name,
            tone=lambda _: Tone.STRONG,
        ),
        _number("nodes", "NODES", "Nodes; dim numbers here are not current."),
        _number("per_hour", "$/H", "Cost of nodes per hour; a plus if prices are unknown."),
        _number("held", "HELD", "Savings per hour if all blocked nodes were removed.", drop_order=1),
        _number("pending", "PENDING", "Pending pods."),
        text_column(
            Heading("karpenter", "KARPENTER", "Version of Karpenter.", 6, 10, drop_order=2),
            lambda row: row.line.figures.version if row.line.figures is not None else "",
        ),
        age_column(
            Heading("age", "AGE", "Age of the oldest data.", 4, 8, is_right_aligned=True, drop_order=3),
            lambda row: row.line.read_ns,
            filter_help="age of the oldest data",
        ),
        Column(_VERDICT.heading, _VERDICT.cell, rank, values=(), filters=_VERDICT.filters),
    ),
    key=lambda row: row.name,
    default_sort=Sort("verdict"),
    text=lambda row: f"{row.name} {verdict_text(row)}".lower(),
    is_notable=lambda row, _: _is_bad(row),
)


def sums_text(rows: Sequence[FleetRow], now_ns: int) -> str:
    """Return the sums over clusters whose data is current, and the number of the others."""
    current = [row.line.figures for row in rows if row.is_current(now_ns) and row.line.figures is not None]
    nodes = sum(figures.nodes or 0 for figures in current)
    unpriced = sum(1 for figures in current if figures.unpriced or figures.per_hour is None)
    cost = known_sum_text(sum(figures.per_hour or 0.0 for figures in current), unpriced)
    held = known_sum_text(
        sum(figures.held or 0.0 for figures in current), sum(1 for figures in current if figures.held is None)
    )
    parts = [counted(nodes, "node"), cost if "$" in cost else f"$/h {cost}", f"held {held}"]
    left_out = len(rows) - len(current)
    return " · ".join([*(parts if current else ()), *([f"without {counted(left_out, 'cluster')}"] if left_out else [])])


def top_bar(rows: Sequence[FleetRow], now_ns: int) -> TopBarValues:
    """Return the top bar: the number of clusters, and of those with current data."""
    current = sum(row.is_current(now_ns) for row in rows)
    health = f"● {current} of {len(rows)} current"
    tone = Tone.GOOD if current == len(rows) else Tone.WARNING
    return TopBarValues(counted(len(rows), "context"), health=Health(health, health, tone))


def story(row: FleetRow) -> str:
    """Return the line below the table: the cluster, and its verdict in full."""
    return clean(f"{row.name}: {verdict_text(row)}")
