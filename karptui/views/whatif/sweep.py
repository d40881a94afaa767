"""A sweep as a table with a chart: nodes, dollars and pending pods against the value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from karptui.kube.units import count_text
from karptui.views.row import Pieces, Tone
from karptui.whatif.sweep import SweepPoint

EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
LEAST_CHART: Final = 10
MOST_CHANGES: Final = 2
"""Changes of what waits that the sentence tells."""
FIGURES_WIDTH: Final = 56


def sweep_lines(
    values: Sequence[str], points: Mapping[int, SweepPoint], current: str, width: int
) -> tuple[Pieces, ...]:
    """Return a line for each value, in order; those that are not ready yet say so.

    Args:
        values: Of the parameter.
        points: What is ready, by position.
        current: The value that the cluster has, which is marked.
        width: Columns that there are.
    """
    wide = max(len("VALUE"), *(len(value) for value in values))
    chart = max(LEAST_CHART, width - FIGURES_WIDTH - wide)
    most = max((_most(point) for point in points.values() if not point.problem), default=0.0)
    head = f"  {'VALUE':>{wide}}{'NODES':>8}{'NEW':>6}{'PENDING':>9}{'DRIFTED':>9}{'$/H':>10}"
    lines: list[Pieces] = [((head, Tone.MUTED),)]
    for position, value in enumerate(values):
        mark = ("▸ " if value == current else "  ", Tone.ACTIVE)
        point = points.get(position)
        if point is None:
            lines.append((mark, (f"{value:>{wide}}", Tone.MUTED), ("   …", Tone.MUTED)))
        elif point.problem:
            lines.append((mark, (f"{value:>{wide}}", Tone.NORMAL), (f"  ✘ {point.problem}", Tone.FAULT)))
        else:
            lines.append((mark, *_figures(point, wide), _bar(_most(point), most, chart)))
    return tuple(lines)


def sweep_sentence(values: Sequence[str], points: Mapping[int, SweepPoint]) -> Pieces:
    """Return what the values come to in a sentence: where pods begin to wait, and what is cheapest.

    Nothing is said before all are ready.

    Args:
        values: Of the parameter.
        points: What is ready, by position.
    """
    found = [points[at] for at in range(len(values)) if at in points and not points[at].problem]
    if len(points) < len(values) or len(found) < 2:
        return ()
    said: list[str] = []
    for before, after in pairwise(found):
        if before.pending != after.pending:
            pods = f"{count_text(before.pending)} → {count_text(after.pending)} pods wait"
            said.append(f"{pods} from {before.value} to {after.value}")
    more = len(said) - MOST_CHANGES
    shown = "; ".join((*said[:MOST_CHANGES], *([f"{count_text(more)} changes more"] if more > 0 else ())))
    prices = [round(_most(point), 2) for point in found]
    if min(prices) == max(prices):
        money = "the same $/h for each value"
    else:
        cheap, dear = (found[prices.index(edge(prices))] for edge in (min, max))
        money = f"cheapest at {cheap.value} (${min(prices):,.2f}/h), dearest at {dear.value} (${max(prices):,.2f}/h)"
    text = f"{shown}; {money}." if shown else f"As many pods wait at each value; {money}."
    return ((text, Tone.STRONG),)


def _figures(point: SweepPoint, wide: int) -> Pieces:
    return (
        (f"{point.value:>{wide}}", Tone.STRONG),
        (f"{count_text(point.nodes):>8}{count_text(point.launched):>6}", Tone.NORMAL),
        (f"{count_text(point.pending):>9}", Tone.WARNING if point.pending else Tone.MUTED),
        (f"{count_text(point.drifted):>9}", Tone.WARNING if point.drifted else Tone.MUTED),
        (f"{point.price_per_hour:>10,.2f}", Tone.NORMAL),
        (f"{f' +{count_text(point.unpriced)} n/a' if point.unpriced else '':<9} ", Tone.MUTED),
    )


def _most(point: SweepPoint) -> float:
    """Return the dollars of a bar: nodes on spot whose price nobody knows at what they would cost on demand."""
    return point.price_per_hour + point.unpriced_at_most_per_hour


def _bar(price: float, most: float, width: int) -> tuple[str, Tone]:
    eighths = round(price / most * width * 8) if most else 0
    return (f"{'█' * (eighths // 8)}{EIGHTHS[eighths % 8].strip()}", Tone.WORKLOAD)
