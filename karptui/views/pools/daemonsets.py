"""The DaemonSets of the cluster as a new node of one NodePool meets them, one by one."""

from __future__ import annotations

from typing import Final

from karptui.kube.units import count_text, cpu_text, memory_text
from karptui.session.pools import DaemonRow
from karptui.views.column import INTEGER, TEXT, TEXT_OR_NULL, TEXTS, Column, Field, FieldKind, Heading, Value
from karptui.views.row import Cell, Tone, text_cell
from karptui.views.sanitize import clean
from karptui.views.table import Sort, TableSpec, natural_key

_NAMED: Final = 4


def _types(row: DaemonRow, _: int) -> Cell:
    if not row.is_carried:
        return Cell("no", Tone.MUTED)
    is_all = row.found.types == row.offered
    return Cell(f"{count_text(row.found.types)}/{count_text(row.offered)}", Tone.NORMAL if is_all else Tone.ACTIVE)


def note(row: DaemonRow) -> tuple[str, Tone]:
    """Return why a new node does not carry it, or which types would have room without it."""
    found = row.found
    if not row.is_carried:
        return f"not carried: {found.why_not}", Tone.MUTED
    if found.excluded:
        return f"without it room on {_listed(found.excluded)}", Tone.WARNING
    if found.one_too_many:
        return f"with those before it too much for {_listed(found.one_too_many)}", Tone.WARNING
    return "", Tone.NORMAL


def _listed(names: tuple[str, ...]) -> str:
    more = f" and {count_text(len(names) - _NAMED)} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"


def _amount(amount: int, text: str) -> Cell:
    return Cell(text, Tone.NORMAL if amount else Tone.MUTED)


def daemon_sentence(row: DaemonRow) -> tuple[tuple[str, Tone], ...]:
    """Return a DaemonSet in words."""
    asks = f"asks {cpu_text(row.cpu_millis)}, {memory_text(row.memory_bytes)} and a pod slot"
    text, tone = note(row)
    if not row.is_carried:
        return ((clean(row.found.key), Tone.STRONG), (f" {clean(text)}", Tone.NORMAL))
    on = f" on {count_text(row.found.types)} of {count_text(row.offered)} types"
    said = f" · {clean(text)}" if text else " · without it no further type would have room"
    return ((clean(row.found.key), Tone.STRONG), (f" {asks}{on}", Tone.NORMAL), (said, tone if text else Tone.MUTED))


COLUMNS: Final[tuple[Column[DaemonRow], ...]] = (
    Column(
        Heading("name", "DAEMONSET", "Namespace and name.", 12, 48),
        lambda row, _: text_cell(row.found.key, Tone.DAEMON if row.is_carried else Tone.MUTED),
        lambda row: (not row.is_carried, *natural_key(row.found.key)),
        values=(Value("name", lambda row, _: row.found.key, TEXT),),
        filters={
            "name": Field(FieldKind.TEXT, lambda row, _: row.found.key, help="namespace/name"),
            "carried": Field(FieldKind.TEXT, lambda row, _: "yes" if row.is_carried else "no", help="yes or no"),
        },
    ),
    Column(
        Heading("cpu", "CPU", "What its pod asks.", 5, 9, is_right_aligned=True, is_descending_first=True),
        lambda row, _: _amount(row.cpu_millis, cpu_text(row.cpu_millis)),
        lambda row: float(row.cpu_millis),
        values=(Value("cpu_millis", lambda row, _: row.cpu_millis, INTEGER),),
        filters={"cpu": Field(FieldKind.CPU, lambda row, _: row.cpu_millis, help="what its pod asks")},
    ),
    Column(
        Heading("memory", "MEM", "What its pod asks.", 6, 9, is_right_aligned=True, is_descending_first=True),
        lambda row, _: _amount(row.memory_bytes, memory_text(row.memory_bytes)),
        lambda row: float(row.memory_bytes),
        values=(Value("memory_bytes", lambda row, _: row.memory_bytes, INTEGER),),
        filters={"mem": Field(FieldKind.BYTES, lambda row, _: row.memory_bytes, help="what its pod asks")},
    ),
    Column(
        Heading(
            "types",
            "ON TYPES",
            "On how many of the types that requirements and offerings leave it runs.",
            8,
            11,
            is_right_aligned=True,
            is_descending_first=True,
        ),
        _types,
        lambda row: float(row.found.types),
        values=(
            Value("on_types", lambda row, _: row.found.types, INTEGER),
            Value("of_types", lambda row, _: row.offered, INTEGER),
        ),
    ),
    Column(
        Heading(
            "excludes",
            "EXCLUDES",
            "Types that have room for the DaemonSets before it by name, and none for it too.",
            8,
            9,
            is_right_aligned=True,
            is_descending_first=True,
            drop_order=1,
        ),
        lambda row, _: Cell(
            count_text(len(row.found.one_too_many)), Tone.WARNING if row.found.one_too_many else Tone.MUTED
        ),
        lambda row: float(len(row.found.one_too_many)),
        values=(
            Value("excludes", lambda row, _: list(row.found.one_too_many), TEXTS, "Types that it alone rules out."),
        ),
        filters={
            "excludes": Field(
                FieldKind.COUNT, lambda row, _: len(row.found.one_too_many), help="types that it is too much for"
            )
        },
    ),
    Column(
        Heading("note", "NOTE", "Why it is not carried, or the types that would have room without it.", 16, 90),
        lambda row, _: text_cell(*note(row)),
        lambda row: note(row)[0],
        values=(
            Value("room_without_it_on", lambda row, _: list(row.found.excluded), TEXTS),
            Value("not_carried_because", lambda row, _: row.found.why_not or None, TEXT_OR_NULL),
        ),
    ),
)
"""Every column in order."""

TABLE: Final[TableSpec[DaemonRow]] = TableSpec(
    noun="DaemonSets",
    columns=COLUMNS,
    text=lambda row: f"{row.found.key} {note(row)[0]}".lower(),
    key=lambda row: row.found.key,
    default_sort=Sort("name"),
    is_notable=lambda row, _: bool(row.found.excluded or row.found.one_too_many),
)
"""One row per DaemonSet."""
