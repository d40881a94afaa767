"""Whose dollars: the table by namespace, owner or label, and its summary."""

from __future__ import annotations

from operator import attrgetter
from typing import Final

from karptui.aws.money import per_hour_text
from karptui.kube.timestamps import format_timestamp
from karptui.kube.units import count_text, counted, first_of
from karptui.session.dollars import BY_LABEL, CORE, GIB, Dollars, Part, Payer
from karptui.views.column import (
    INSTANT,
    Column,
    Field,
    FieldKind,
    Heading,
    NumberHeading,
    Value,
    amount_column,
    count_column,
    one_of,
    records,
)
from karptui.views.column import number_heading as number
from karptui.views.prices import known_sum_text
from karptui.views.row import NOT_APPLICABLE, NOT_AVAILABLE, Bar, Cell, Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.table import Sort, TableSpec

_LABELS: Final = {Part.DAEMONSETS: "DaemonSets and static pods", Part.IDLE: "idle (not requested)"}
_MICRO: Final = 1_000_000
RULE: Final = (
    f"requests × node price: a core weighs {CORE / GIB:.1f} GiB (OpenCost's default prices); pending pods cost nothing"
)


def payer_text(payer: Payer) -> str:
    """Return the name of a part as shown."""
    return _LABELS.get(payer.part) or clean(payer.name) or "(without the label)"


def _cost_cell(payer: Payer, _: int) -> Cell:
    if not payer.per_hour:
        return NOT_AVAILABLE if payer.unpriced else NOT_APPLICABLE
    whole = round(payer.all_per_hour * _MICRO)
    text = known_sum_text(payer.per_hour, payer.unpriced, is_bare=True)
    return Cell(text, bar=Bar(0, round(payer.per_hour * _MICRO), whole) if whole else None)


def _percent(payer: Payer) -> float | None:
    return 100 * payer.per_hour / payer.all_per_hour if payer.all_per_hour else None


def _percent_cell(payer: Payer, _: int) -> Cell:
    percent = _percent(payer)
    return Cell(f"{percent:.1f}%") if percent is not None else NOT_APPLICABLE


def dollars_table(grouping: str = "namespace") -> TableSpec[Payer]:
    """Return the table of a grouping: ``namespace``, ``owner`` or ``label=KEY``."""
    title = "LABEL" if grouping.startswith(BY_LABEL) else grouping.upper()
    name: Column[Payer] = Column(
        Heading("name", title, "Owner of the pods; idle and DaemonSets are extra rows.", min_width=12, max_width=60,
                is_name=True),
        lambda payer, _: Cell(payer_text(payer), Tone.NORMAL if payer.part is Part.PODS else Tone.MUTED),
        attrgetter("name"),
        values=(
            Value("part", lambda payer, _: str(payer.part), one_of(*Part), "pods, DaemonSets or idle."),
            Value("name", lambda payer, _: payer.name or None, str | None, "Namespace, owner or value of the label."),
        ),
        filters=Field(FieldKind.TEXT, lambda payer, _: payer.name, "namespace, owner or label"),
    )  # fmt: skip
    return TableSpec(
        noun="payers",
        columns=(name, *_COLUMNS),
        key=lambda payer: payer.key,
        default_sort=Sort("price", is_descending=True),
        text=lambda payer: payer_text(payer).lower(),
    )


_COLUMNS: Final[tuple[Column[Payer], ...]] = (
    count_column(number("pods", "PODS", "Pods on nodes.", drop_order=2), lambda payer: payer.pods, json="pods"),
    count_column(number("nodes", "NODES", "Nodes that they run on.", drop_order=3), lambda p: p.nodes, json="nodes"),
    amount_column(
        number("cpu", "CPU", "Their requests, or the idle amount.", 10),
        FieldKind.CPU,
        lambda payer: payer.cpu_millis,
        "cpu_millis",
        "Requested, or idle.",
    ),
    amount_column(
        number("mem", "MEM", "Their requests, or the idle amount.", 10),
        FieldKind.BYTES,
        lambda payer: payer.memory_bytes,
        "memory_bytes",
        "Requested, or idle.",
    ),
    Column(
        NumberHeading(
            "price", "$/H", "Their share of the nodes' prices; + if a price is unknown.", 6, fill_width=24, bar_min=3
        ),
        _cost_cell,
        lambda payer: (-list(Part).index(payer.part), payer.per_hour),  # DaemonSets and idle are last
        values=(
            Value("price_per_hour", lambda payer, _: payer.per_hour, float, "An average with --from."),
            Value("unpriced", lambda payer, _: payer.unpriced, int, "Pods or nodes without a known price."),
        ),
        filters={"$": Field(FieldKind.MONEY, lambda payer, _: payer.per_hour, "share of the price per hour")},
    ),
    Column(
        number("share", "SHARE", "Percentage of all known costs."),
        _percent_cell,
        _percent,
        values=(
            Value("percent", lambda payer, _: _percent(payer), float | None),
            records(
                "moments",
                lambda payer: payer.series,
                (
                    Value("at", lambda spent, _: format_timestamp(spent.at_ns), INSTANT),
                    Value("price_per_hour", lambda spent, _: spent.per_hour, float),
                ),
                "With --from: the share at each moment of the history.",
            ),
        ),
    ),
)


def dollars_lines(dollars: Dollars) -> tuple[Pieces, ...]:
    """Return the sum and its parts, nodes without a price, and the rule."""
    parts = {part: sum(payer.per_hour for payer in dollars.payers if payer.part is part) for part in Part}
    whole = known_sum_text(dollars.per_hour, len(dollars.unpriced))
    average = " on average" if dollars.asked else ""
    text = (
        f"{per_hour_text(parts[Part.PODS])} pods + {per_hour_text(parts[Part.DAEMONSETS])} DaemonSets"
        f" + {per_hour_text(parts[Part.IDLE])} idle"
    )
    lines: list[Pieces] = [((f"{whole}{average}: ", Tone.STRONG), (text, Tone.NORMAL))]
    if dollars.asked:
        text = f"{count_text(dollars.recorded)} of {counted(dollars.asked, 'moment')} recorded"
        lines.append(((text, Tone.NORMAL if dollars.recorded == dollars.asked else Tone.WARNING),))
    if dollars.unpriced:
        names = first_of([clean(name) for name in dollars.unpriced], 5)
        lines.append(((f"no price is known of {counted(len(dollars.unpriced), 'node')}: {names}", Tone.WARNING),))
    return (*lines, ((RULE, Tone.MUTED),))
