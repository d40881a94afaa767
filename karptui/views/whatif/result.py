"""The whole result of a scenario in lines: what matters most first."""

from __future__ import annotations

from karptui.views.row import Tone
from karptui.views.whatif.consequences import blocker_lines, budget_lines, drift_lines, next_lines
from karptui.views.whatif.line import ResultLine, wrapped
from karptui.views.whatif.placements import claim_lines, fit_lines, move_lines, node_lines, still_pending_lines
from karptui.views.whatif.totals import pool_lines
from karptui.views.whatif.trust import trust_section
from karptui.whatif.answer import Answer
from karptui.whatif.difference import Difference


def answer_lines(answer: Answer) -> tuple[ResultLine, ...]:
    """Return everything below the table of figures, and at the end how far it can be trusted."""
    if answer.difference is None:
        return ()
    blockers = blocker_lines(answer.blockers_gained or (), answer.blockers_lost or ())
    return (*result_lines(answer.difference, blockers), *trust_section(answer))


def result_lines(difference: Difference, blockers: tuple[ResultLine, ...] = ()) -> tuple[ResultLine, ...]:
    """Return what differs, what matters most first; then what is as it was."""
    lines = (
        *fit_lines(difference),
        *next_lines(difference),
        *pool_lines(difference),
        *drift_lines(difference),
        *blockers,
        *claim_lines(difference),
        *move_lines(difference),
        *budget_lines(difference),
        *still_pending_lines(difference),
        *node_lines(difference),
    )
    return lines or (ResultLine("same", (("  nothing changes", Tone.MUTED),)),)


def opened(lines: tuple[ResultLine, ...], keys: frozenset[str], width: int) -> tuple[ResultLine, ...]:
    """Return the lines with those of `keys` opened.

    Args:
        lines: The result.
        keys: What is open.
        width: Columns that there are for what an opened line says; longer sentences go on below.
    """
    shown: list[ResultLine] = []
    for line in lines:
        if line.wraps:
            rows = wrapped(line.pieces, width)
            shown += [ResultLine(f"{line.key}#{number}", row, object=line.object) for number, row in enumerate(rows)]
            continue
        shown.append(line)
        if line.key in keys:
            details = [row for pieces in line.details for row in wrapped(pieces, width)]
            shown += [ResultLine(f"{line.key}#{number}", row, object=line.object) for number, row in enumerate(details)]
    return tuple(shown)
