"""Why pending pods do not fit, NodePool by NodePool and gate by gate."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

import msgspec

from karptui.kube.units import count_text
from karptui.provisioning.explain import PodExplanation, PoolExplanation
from karptui.provisioning.nearest import is_for_daemons
from karptui.provisioning.rejection import (
    PlacementGate,
    TypesExhausted,
)
from karptui.views.pending.rejections import carried_text, miss_text
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.wrapping import wrapped_below, wrapped_from

COLUMNS: Final = ("LIMITS", "TAINTS", "LABELS", "TOPOLOGY", "DAEMONSETS", "RESOURCES", "OFFERING")
"""Gates in Karpenter's order; the last three and type labels are one check of each type."""
_BY_GATE: Final = {
    PlacementGate.LIMITS: 0,
    PlacementGate.TAINTS: 1,
    PlacementGate.REQUIREMENTS: 2,
    PlacementGate.VOLUMES: 3,
    PlacementGate.TOPOLOGY: 3,
    PlacementGate.RESERVATIONS: 6,
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
    """State of a gate."""

    PASSED = "passed"
    FAILED = "failed"
    OPEN = "not asked"


class GateRow(msgspec.Struct, frozen=True):
    """One NodePool."""

    nodepool: str
    marks: tuple[Mark, ...]
    """One per column; all ``OPEN`` if the NodePool is excluded."""
    failed: int
    """Column of the first failing gate; -1 if none fails."""
    reason: str
    """The first failing gate as text, or why the NodePool is excluded."""
    carried: str = ""
    """What DaemonSets put on a new node."""
    types_left: tuple[tuple[str, int], ...] = ()
    """How many types each filter leaves, where types are the reason."""
    is_certain: bool = True
    """Whether the verdict holds regardless of the provider's types."""

    @property
    def mark(self) -> tuple[str, Tone]:
        """The mark before the reason, and its tone."""
        return ("✘ ", Tone.FAULT) if self.is_certain else ("? ", Tone.WARNING)


def gate_rows(explanation: PodExplanation) -> tuple[GateRow, ...]:
    """Return the NodePools in the order they are tried, excluded ones last."""
    return tuple(_row(pool) for pool in explanation.pools)


def _row(pool: PoolExplanation) -> GateRow:
    failed = _column(pool)
    if pool.takes_no_part:
        marks = [Mark.OPEN] * len(COLUMNS)
    else:
        passed = len(COLUMNS) if failed < 0 else failed
        marks = [Mark.PASSED] * passed + [Mark.OPEN] * (len(COLUMNS) - passed)
        if failed >= 0:
            marks[failed] = Mark.FAILED
    left: tuple[tuple[str, int], ...] = ()
    if isinstance(pool.rejection, TypesExhausted):
        left = tuple((_LEFT.get(types.after, types.after), types.count) for types in pool.types_left)
    return GateRow(pool.nodepool, tuple(marks), failed, miss_text(pool), carried_text(pool), left, pool.is_certain)


def _column(pool: PoolExplanation) -> int:
    if pool.failed is None:
        return 2 if pool.unseen_labels and not pool.takes_no_part else -1
    rejection = pool.rejection
    if not isinstance(rejection, TypesExhausted):
        return _BY_GATE.get(pool.failed, 5)
    if rejection.unmet_min_values:
        return 6
    if pool.nearest is not None and pool.nearest.shortages:
        return 4 if is_for_daemons(pool) else 5
    if not rejection.with_labels and rejection.considered:
        return 2
    return 6 if rejection.considered and not rejection.with_labels_and_offering else 4


def gate_lines(explanation: PodExplanation, width: int) -> tuple[Pieces, ...]:
    """Return the table as lines no wider than a width in cells.

    Args:
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
        yield from _run_on(pieces, ("– ", f"is excluded: {row.reason}", Tone.MUTED), name_width + 2, width)
        return
    at = name_width + 2
    for index, title in enumerate(COLUMNS):
        if index == row.failed:
            yield from _run_on(pieces, (row.mark[0], row.reason, row.mark[1]), at, width)
            yield from _types_left_lines(row, name_width + 2, width)
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
        yield from _run_on(pieces, (row.mark[0], text, row.mark[1]), indent, width)
        yield from _types_left_lines(row, indent, width)
    elif row.reason:
        yield from _run_on(pieces, ("– ", f"is excluded: {row.reason}", Tone.MUTED), indent, width)
    else:
        yield (*pieces, ("✔ accepts it", Tone.GOOD))


def _run_on(pieces: list[tuple[str, Tone]], words: tuple[str, str, Tone], at: int, width: int) -> Iterator[Pieces]:
    """Yield a row with a mark and text from a given column, wrapped below it."""
    mark, text, tone = words
    room = width - at - len(mark)
    if room < _TEXT_LEAST:
        yield (*pieces, (mark.rstrip(), tone))
        pieces, at = [(" " * 4, Tone.NORMAL)], 4
        mark, room = "", width - 4
    line = (*pieces, (mark, tone), (text, Tone.NORMAL if tone is Tone.FAULT else tone))
    yield from wrapped_from(line, width, at + len(mark))


def _types_left_lines(row: GateRow, indent: int, width: int) -> Iterator[Pieces]:
    """Yield the number of types left by each filter, and the DaemonSet requests of a new node."""
    if not row.types_left:
        return
    parts = [f"{count_text(count)} {words}" for words, count in row.types_left]
    text = "types: " + " → ".join(parts)
    if row.carried:
        text += f"; DaemonSets request {row.carried} of a new node"
    yield from wrapped_below(((" " * indent, Tone.NORMAL), (text, Tone.MUTED)), width)
