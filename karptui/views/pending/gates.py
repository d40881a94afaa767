"""NodePools against Karpenter's gates: a row for each NodePool, its first failing cell told in words."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from enum import StrEnum
from typing import Final

import msgspec

from karptui.kube.units import count_text
from karptui.pending.nearest import is_for_daemons
from karptui.provisioning import Gate, PodExplanation, PoolExplanation
from karptui.provisioning.rejection import TypesExhausted
from karptui.views.pending.misses import carried_text, miss_text
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean

COLUMNS: Final = ("LIMITS", "TAINTS", "LABELS", "TOPOLOGY", "DAEMONSETS", "RESOURCES", "OFFERING")
"""In the order in which Karpenter asks; the last three and the labels of types are one look at every type."""
_BY_GATE: Final = {
    Gate.LIMITS: 0,
    Gate.TAINTS: 1,
    Gate.REQUIREMENTS: 2,
    Gate.VOLUMES: 3,
    Gate.TOPOLOGY: 3,
    Gate.RESERVATIONS: 6,
}
_NAME_MOST: Final = 24
_TEXT_LEAST: Final = 28
_LEFT: Final = {
    "all": "known",
    "on offer": "usable",
    "limits": "within limits",
    "labels": "with the labels",
    "offering": "with an offering",
    "room": "with room",
}


class Mark(StrEnum):
    """What a cell says."""

    PASSED = "passed"
    FAILED = "failed"
    OPEN = "not asked"


class GateRow(msgspec.Struct, frozen=True):
    """One NodePool."""

    nodepool: str
    marks: tuple[Mark, ...]
    """One for each column; all ``OPEN`` where the NodePool takes no part."""
    failed: int
    """Column of the first failing cell; -1 where there is none."""
    reason: str
    """The first failing cell in words, or why the NodePool takes no part."""
    carried: str = ""
    """What DaemonSets put on a new node."""
    types_left: tuple[tuple[str, int], ...] = ()
    """How many types each filter leaves, where types are the reason."""


def gate_rows(explanation: PodExplanation) -> tuple[GateRow, ...]:
    """Return the NodePools in the order in which they are tried; those that take no part come last."""
    return tuple(_row(pool) for pool in explanation.pools)


def _row(pool: PoolExplanation) -> GateRow:
    failed = _column(pool)
    if pool.takes_no_part:
        marks = [Mark.OPEN] * len(COLUMNS)
    else:
        known = len(COLUMNS) if failed < 0 else failed
        marks = [Mark.PASSED] * known + [Mark.OPEN] * (len(COLUMNS) - known)
        if failed >= 0:
            marks[failed] = Mark.FAILED
    left: tuple[tuple[str, int], ...] = ()
    if isinstance(pool.rejection, TypesExhausted):
        left = tuple((_LEFT.get(one.after, one.after), one.count) for one in pool.types_left)
    return GateRow(pool.nodepool, tuple(marks), failed, miss_text(pool), carried_text(pool), left)


def _column(pool: PoolExplanation) -> int:
    if pool.failed is None:
        return -1
    rejection = pool.rejection
    if not isinstance(rejection, TypesExhausted):
        return _BY_GATE.get(pool.failed, 5)
    if rejection.unmet_min_values:
        return 6
    if pool.nearest is not None and pool.nearest.shortfalls:
        return 4 if is_for_daemons(pool) else 5
    if not rejection.with_labels and rejection.considered:
        return 2
    return 6 if rejection.considered and not rejection.with_labels_and_offering else 4


def gate_lines(explanation: PodExplanation, width: int) -> tuple[Pieces, ...]:
    """Return the table as lines no wider than a width in cells.

    Args:
        explanation: The pod's.
        width: Cells there are; below about a hundred every NodePool has its first failing gate only.
    """
    rows = gate_rows(explanation)
    name_width = min(max([4, *(len(clean(row.nodepool)) for row in rows)]), _NAME_MOST)
    is_wide = name_width + 2 + sum(len(title) + 2 for title in COLUMNS[:-1]) + _TEXT_LEAST <= width
    lines: list[Pieces] = []
    if is_wide:
        head = f"{'POOL':<{name_width}}  " + "  ".join(COLUMNS)
        lines.append(((head, Tone.MUTED),))
    for row in rows:
        lines += _wide(row, name_width, width) if is_wide else _narrow(row, name_width, width)
    return tuple(lines)


def _name(row: GateRow, width: int) -> str:
    name = clean(row.nodepool)
    return name if len(name) <= width else f"{name[: width - 1]}…"


def _wide(row: GateRow, name_width: int, width: int) -> Iterator[Pieces]:
    pieces: list[tuple[str, Tone]] = [(f"{_name(row, name_width):<{name_width}}  ", Tone.STRONG)]
    if row.failed < 0 and row.reason:
        yield from _run_on(pieces, ("– ", f"takes no part: {row.reason}", Tone.MUTED), name_width + 2, width)
        return
    at = name_width + 2
    for index, title in enumerate(COLUMNS):
        if index == row.failed:
            yield from _run_on(pieces, ("✘ ", row.reason, Tone.FAULT), at, width)
            yield from _left(row, name_width + 2, width)
            return
        figure = row.carried if index == 4 and len(row.carried) <= len(title) else ""
        text = f"✔ {figure}" if figure and len(figure) + 2 <= len(title) else figure or "✔"
        pieces.append((f"{text:<{len(title)}}  ", Tone.GOOD))
        at += len(title) + 2
    yield tuple(pieces)


def _narrow(row: GateRow, name_width: int, width: int) -> Iterator[Pieces]:
    pieces: list[tuple[str, Tone]] = [(f"{_name(row, name_width):<{name_width}}  ", Tone.STRONG)]
    indent = name_width + 2
    if row.failed >= 0:
        text = f"{COLUMNS[row.failed]}: {row.reason}"
        yield from _run_on(pieces, ("✘ ", text, Tone.FAULT), indent, width)
        yield from _left(row, indent, width)
    elif row.reason:
        yield from _run_on(pieces, ("– ", f"takes no part: {row.reason}", Tone.MUTED), indent, width)
    else:
        yield (*pieces, ("✔ would take it", Tone.GOOD))


def _run_on(pieces: list[tuple[str, Tone]], words: tuple[str, str, Tone], at: int, width: int) -> Iterator[Pieces]:
    """Yield a row that ends with a mark and a text from a column on, and what is left of the text under it."""
    mark, text, tone = words
    room = width - at - len(mark)
    if room < _TEXT_LEAST:
        yield (*pieces, (mark.rstrip(), tone))
        pieces, at = [(" " * 4, Tone.NORMAL)], 4
        mark, room = "", width - 4
    wrapped = textwrap.wrap(text, max(room, 10)) or [""]
    tone_of_text = Tone.NORMAL if tone is Tone.FAULT else tone
    yield (*pieces, (mark, tone), (wrapped[0], tone_of_text))
    for rest in wrapped[1:]:
        yield ((" " * (at + len(mark)), Tone.NORMAL), (rest, tone_of_text))


def _left(row: GateRow, indent: int, width: int) -> Iterator[Pieces]:
    """Yield how many types each filter leaves, and what a node carries."""
    if not row.types_left:
        return
    parts = [f"{count_text(count)} {words}" for words, count in row.types_left]
    text = "types: " + " → ".join(parts)
    if row.carried:
        text += f"; DaemonSets ask {row.carried} of a new node"
    for line in textwrap.wrap(text, max(width - indent, 10)):
        yield ((" " * indent, Tone.NORMAL), (line, Tone.MUTED))
