"""Scenarios side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from karptui.kube.units import count_text
from karptui.views.row import Pieces, Tone
from karptui.views.whatif.totals import mode_text
from karptui.whatif.difference import Difference
from karptui.whatif.lines import Totals

MOST_COMPARED: Final = 4
LABEL_WIDTH: Final = 18
COLUMN_WIDTH: Final = 12
"""What a scenario needs at least."""


FigureOf = Callable[[Totals], str]
CountOf = Callable[[Difference], int]

_FIGURES: Final[tuple[tuple[str, FigureOf], ...]] = (
    ("nodes", lambda totals: count_text(totals.nodes)),
    ("new nodes", lambda totals: count_text(totals.launched)),
    ("$/h", lambda totals: f"{totals.price_per_hour:,.2f}"),
    ("  price n/a", lambda totals: count_text(totals.unpriced)),
    ("  at most more", lambda totals: f"{totals.unpriced_at_most_per_hour:,.2f}"),
    ("pending", lambda totals: count_text(totals.pending)),
    ("drifted", lambda totals: count_text(totals.drifted)),
)
_COUNTS: Final[tuple[tuple[str, CountOf], ...]] = (
    ("no longer placed", lambda one: len(one.no_longer_fit)),
    ("placed now", lambda one: sum(len(move.pods) for move in one.now_fit)),
    ("placed elsewhere", lambda one: sum(len(move.pods) for move in one.moves)),
    ("would drift", lambda one: len(one.drift_gained)),
)


class Compared(NamedTuple):
    """One scenario of the comparison."""

    name: str
    difference: Difference | None
    """None while it is being replayed, or where it cannot be."""
    problem: str = ""


def compare_lines(compared: Sequence[Compared], width: int) -> tuple[Pieces, ...]:
    """Return a table: a column for the cluster as it is and one for each scenario.

    Args:
        compared: The scenarios, four at most.
        width: Columns of the screen that there are.
    """
    known = [one.difference for one in compared if one.difference is not None]
    column = max(COLUMN_WIDTH, min(26, (width - LABEL_WIDTH) // (len(compared) + 1)))
    modes = {one.mode for one in known}
    lines: list[Pieces] = [_row("", ["now", *(one.name for one in compared)], column, Tone.STRONG)]
    lines.append(_row("replayed", ["", *(_mode(one) for one in compared)], column, Tone.MUTED))
    if not known:
        return tuple(lines)
    before = known[0].before if len(modes) == 1 else None
    for label, figure in _FIGURES:
        now = figure(before) if before is not None else "differs"
        lines.append(_figure_row(label, now, compared, figure, column))
    lines.append(())
    lines.append((("nodes by NodePool", Tone.MUTED),))
    lines += [_pool_row(name, compared, column, has_now=before is not None) for name in _pool_names(known)]
    lines.append(())
    for label, count in _COUNTS:
        cells = ["", *(_count(one, count) for one in compared)]
        lines.append(_row(label, cells, column, Tone.NORMAL))
    return tuple(lines)


def _mode(one: Compared) -> str:
    if one.difference is not None:
        return mode_text(one.difference.mode)
    return "cannot be replayed" if one.problem else "replaying…"


def _row(label: str, cells: Sequence[str], column: int, tone: Tone) -> Pieces:
    text = "".join(f"{_cut(cell, column - 1):>{column}}" for cell in cells)
    return ((f"{label:<{LABEL_WIDTH}}", Tone.MUTED), (text, tone))


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _figure_row(label: str, now: str, compared: Sequence[Compared], figure: FigureOf, column: int) -> Pieces:
    pieces: list[tuple[str, Tone]] = [(f"{label:<{LABEL_WIDTH}}", Tone.MUTED), (f"{now:>{column}}", Tone.NORMAL)]
    for one in compared:
        if one.difference is None:
            pieces.append((f"{'-':>{column}}", Tone.MUTED))
            continue
        after, before = figure(one.difference.after), figure(one.difference.before)
        pieces.append((f"{after:>{column}}", Tone.MUTED if after == before else Tone.STRONG))
    return tuple(pieces)


def _pool_names(known: Sequence[Difference]) -> list[str]:
    return list(
        dict.fromkeys(pool.name for one in known for pool in one.pools if pool.nodes_before or pool.nodes_after)
    )


def _pool_row(name: str, compared: Sequence[Compared], column: int, *, has_now: bool) -> Pieces:
    label = _cut(name or "not Karpenter's", LABEL_WIDTH - 3)
    pieces: list[tuple[str, Tone]] = [(f"  {label:<{LABEL_WIDTH - 2}}", Tone.NORMAL)]
    now = ""
    cells: list[tuple[str, Tone]] = []
    for one in compared:
        pools = one.difference.pools if one.difference is not None else ()
        pool = next((pool for pool in pools if pool.name == name), None)
        if pool is None:
            cells.append((f"{'-':>{column}}", Tone.MUTED))
            continue
        now = count_text(pool.nodes_before) if has_now else ""
        changed = pool.nodes_before != pool.nodes_after
        cells.append((f"{count_text(pool.nodes_after):>{column}}", Tone.STRONG if changed else Tone.MUTED))
    return (*pieces, (f"{now:>{column}}", Tone.NORMAL), *cells)


def _count(one: Compared, count: CountOf) -> str:
    return count_text(count(one.difference)) if one.difference is not None else "-"
