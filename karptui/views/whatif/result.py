"""The whole result of a scenario in lines: what matters most first."""

from __future__ import annotations

from karptui.views.row import Tone
from karptui.views.whatif.consequences import budget_lines, drift_lines, next_lines
from karptui.views.whatif.line import ResultLine
from karptui.views.whatif.placements import claim_lines, fit_lines, move_lines, node_lines
from karptui.views.whatif.totals import pool_lines
from karptui.whatif.difference import Difference


def result_lines(difference: Difference) -> tuple[ResultLine, ...]:
    """Return everything below the table of figures."""
    lines = (
        *fit_lines(difference),
        *next_lines(difference),
        *pool_lines(difference),
        *drift_lines(difference),
        *claim_lines(difference),
        *move_lines(difference),
        *node_lines(difference),
        *budget_lines(difference),
    )
    return lines or (ResultLine("same", (("  nothing changes", Tone.MUTED),)),)


def opened(lines: tuple[ResultLine, ...], keys: frozenset[str]) -> tuple[ResultLine, ...]:
    """Return the lines with those of `keys` opened."""
    shown: list[ResultLine] = []
    for line in lines:
        shown.append(line)
        if line.key in keys:
            shown += [
                ResultLine(f"{line.key}#{number}", pieces, object=line.object)
                for number, pieces in enumerate(line.details)
            ]
    return tuple(shown)
