"""Comparison of what-ifs: scenarios, sweep values, and the self-check against the cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from karptui.aws.money import per_hour_change_text
from karptui.kube.units import NA, count_text, counted, verb
from karptui.views.column import Value, one_of, records
from karptui.views.prices import without_text
from karptui.views.row import Pieces, Tone
from karptui.views.whatif.totals import mode_text
from karptui.whatif.difference import Difference
from karptui.whatif.difference_lines import Totals
from karptui.whatif.scenario import Replay
from karptui.whatif.self_check import CheckedClaim, Reproduction, SelfCheck

MOST_COMPARED: Final = 4
MOST_NAMED: Final = 2
"""Maximum number of scenarios named in a text."""
LABEL_WIDTH: Final = 18
COLUMN_WIDTH: Final = 12
"""Minimum width of a scenario column."""


FigureOf = Callable[[Totals], str]
CountOf = Callable[[Difference], int]

_FIGURES: Final[tuple[tuple[str, FigureOf], ...]] = (
    ("nodes", lambda totals: count_text(totals.nodes)),
    ("new nodes", lambda totals: count_text(totals.launched)),
    ("$/h", lambda totals: f"{totals.price_per_hour:,.2f}"),
    ("  price n/a", lambda totals: count_text(totals.unpriced)),
    ("  at most more", lambda totals: NA if totals.unbounded else f"{totals.unpriced_at_most_per_hour:,.2f}"),
    ("pending", lambda totals: count_text(totals.pending)),
    ("drifted", lambda totals: count_text(totals.drifted)),
)
_OF_UNKNOWN_PRICE: Final = ("  price n/a", "  at most more")
_COUNTS: Final[tuple[tuple[str, CountOf], ...]] = (
    ("no longer placed", lambda difference: len(difference.no_longer_fit)),
    ("placed now", lambda difference: sum(len(move.pods) for move in difference.now_fit)),
    ("placed elsewhere", lambda difference: sum(len(move.pods) for move in difference.moves)),
    ("would drift", lambda difference: len(difference.drift_gained)),
)


class Compared(NamedTuple):
    """One scenario of the comparison."""

    name: str
    difference: Difference | None
    """None while it is being replayed, or if it cannot be."""
    problem: str = ""


class _ScenarioRank(NamedTuple):
    """Criteria of one side of a what-if, in order; lower is better."""

    pending: int
    per_hour: float
    """Cost per hour, with spot nodes of unknown price at their on-demand price."""
    drift: int
    """Nodes that the edits drift."""


AS_IT_IS: Final = "the current cluster"
SCALE: Final = "fewest pending pods, then $/h, then drift"
"""The criteria as text, best first."""


def _rank_of(difference: Difference) -> _ScenarioRank:
    return _ScenarioRank(difference.after.pending, _dollars(difference.after), len(difference.drift_gained))


def places(differences: Sequence[Difference]) -> list[int]:
    """Return the place of each scenario, 1 for the best; equal scenarios share a place."""
    ranks = [_rank_of(difference) for difference in differences]
    return [1 + sum(other < rank for other in ranks) for rank in ranks]


def numbered(names: Sequence[str]) -> list[str]:
    """Return names with a number behind each that is equal to an earlier one."""
    repeats = [names[:at].count(name) for at, name in enumerate(names)]
    return [f"{name} ({count + 1})" if count else name for name, count in zip(names, repeats, strict=True)]


def _with_distinct_names(compared: Sequence[Compared]) -> list[Compared]:
    names = numbered([comparison.name for comparison in compared])
    return [comparison._replace(name=name) for comparison, name in zip(compared, names, strict=True)]


def best_sentence(compared: Sequence[Compared]) -> str:
    """Return the best scenario and why; empty until all are replayed in one mode."""
    compared = _with_distinct_names(compared)
    differences = [
        (comparison.name, comparison.difference) for comparison in compared if comparison.difference is not None
    ]
    if not differences or any(comparison.difference is None and not comparison.problem for comparison in compared):
        return ""
    if len({difference.mode for _, difference in differences}) > 1:
        return ""
    first = differences[0][1]
    replayed = "Simulated on an empty cluster: " if first.mode is Replay.SCRATCH else ""
    now = _ScenarioRank(first.before.pending, _dollars(first.before), 0)
    ranked = sorted(((_rank_of(difference), name) for name, difference in differences), key=lambda entry: entry[0])
    best = ranked[0][0]
    winners = [name for rank, name in ranked if rank == best]
    others = [(rank, name) for rank, name in ranked if rank != best]
    if best == now:
        same = f"{_names_text(winners)} {verb(len(winners), 'has', 'have')} the same result"
        equal = "equally many pending pods, at the same $/h"
        text = f"None is better than {AS_IT_IS}; {same}" if others else f"{same} as {AS_IT_IS}: {equal}"
    elif best > now:
        text = f"None is better than {AS_IT_IS}; {_names_text(winners)} next: {_against(best, now)}"
    elif len(winners) > 1:
        text = f"{_names_text(winners)} are equally good: {_against(best, now)}"
    else:
        text = f"{winners[0]} is best: {_against(best, now)}"
    if others and best < now:
        text += f"; {others[0][1]} next: {_against(others[0][0], now)}"
    return f"{replayed}{text}."


def _dollars(side: Totals) -> float:
    return round(side.at_most_per_hour, 2)


def _names_text(names: Sequence[str]) -> str:
    shown = list(names[:MOST_NAMED])
    more = len(names) - len(shown)
    last = f"{count_text(more)} more" if more else shown.pop() if len(shown) > 1 else ""
    return f"{', '.join(shown)} and {last}" if last else ", ".join(shown)


def _against(rank: _ScenarioRank, now: _ScenarioRank) -> str:
    """Return the difference to the cluster: ``3 pods fewer pending than now, +$5.42/h``."""
    pods = rank.pending - now.pending
    change = round(rank.per_hour - now.per_hour, 2)
    parts = []
    if pods:
        fewer = "fewer" if pods < 0 else "more"
        parts.append(f"{counted(abs(pods), 'pod')} {fewer} pending than now")
    parts.append(per_hour_change_text(change) if change else "the same $/h")
    if rank.drift:
        parts.append(f"{counted(rank.drift, 'node')} would drift")
    if not pods:
        parts.append("equally many pending pods")
    return ", ".join(parts)


def compare_lines(compared: Sequence[Compared], width: int) -> tuple[Pieces, ...]:
    """Return a table with a column for the cluster and one per scenario."""
    compared = _with_distinct_names(compared)
    differences = [comparison.difference for comparison in compared if comparison.difference is not None]
    column = max(COLUMN_WIDTH, min(26, (width - LABEL_WIDTH) // (len(compared) + 1)))
    modes = {difference.mode for difference in differences}
    lines: list[Pieces] = [_row("", ["now", *(comparison.name for comparison in compared)], column, Tone.STRONG)]
    if len(modes) > 1 or len(differences) < len(compared):
        lines.append(_row("replayed", ["", *(_mode(comparison) for comparison in compared)], column, Tone.MUTED))
    if not differences:
        return tuple(lines)
    before = differences[0].before if len(modes) == 1 else None
    sides = [side for difference in differences for side in (difference.before, difference.after)]
    is_priced = not any(side.unpriced for side in sides)
    for label, figure in _FIGURES:
        if is_priced and label in _OF_UNKNOWN_PRICE:
            continue
        now = figure(before) if before is not None else "differs"
        lines.append(_figure_row(label, now, compared, figure, column))
    if without := without_text(differences[0].not_counted):
        lines.append(((f"{'':<{LABEL_WIDTH}}{without}", Tone.MUTED),))
    lines.append(())
    lines.append((("nodes by NodePool", Tone.MUTED),))
    lines += [_pool_row(name, compared, column, has_now=before is not None) for name in _pool_names(differences)]
    lines.append(())
    for label, count in _COUNTS:
        cells = ["", *((count_text(count(r.difference)) if r.difference is not None else "-") for r in compared)]
        lines.append(_row(label, cells, column, Tone.NORMAL))
    return tuple(lines)


def _mode(comparison: Compared) -> str:
    if comparison.difference is not None:
        return mode_text(comparison.difference.mode)
    return "cannot be replayed" if comparison.problem else "replaying…"


def _row(label: str, cells: Sequence[str], column: int, tone: Tone) -> Pieces:
    text = "".join(f"{_cut(cell, column - 1):>{column}}" for cell in cells)
    return ((f"{label:<{LABEL_WIDTH}}", Tone.MUTED), (text, tone))


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _figure_row(label: str, now: str, compared: Sequence[Compared], figure: FigureOf, column: int) -> Pieces:
    pieces: list[tuple[str, Tone]] = [(f"{label:<{LABEL_WIDTH}}", Tone.MUTED), (f"{now:>{column}}", Tone.NORMAL)]
    for comparison in compared:
        if comparison.difference is None:
            pieces.append((f"{'-':>{column}}", Tone.MUTED))
            continue
        after, before = figure(comparison.difference.after), figure(comparison.difference.before)
        pieces.append((f"{after:>{column}}", Tone.MUTED if after == before else Tone.STRONG))
    return tuple(pieces)


def _pool_names(differences: Sequence[Difference]) -> list[str]:
    return list(
        dict.fromkeys(pool.name for diff in differences for pool in diff.pools if pool.nodes_before or pool.nodes_after)
    )


def _pool_row(name: str, compared: Sequence[Compared], column: int, *, has_now: bool) -> Pieces:
    label = _cut(name or "not Karpenter's", LABEL_WIDTH - 3)
    pieces: list[tuple[str, Tone]] = [(f"  {label:<{LABEL_WIDTH - 2}}", Tone.NORMAL)]
    now = ""
    cells: list[tuple[str, Tone]] = []
    for comparison in compared:
        pools = comparison.difference.pools if comparison.difference is not None else ()
        pool = next((pool for pool in pools if pool.name == name), None)
        if pool is None:
            cells.append((f"{'-':>{column}}", Tone.MUTED))
            continue
        now = count_text(pool.nodes_before) if has_now else ""
        changed = pool.nodes_before != pool.nodes_after
        cells.append((f"{count_text(pool.nodes_after):>{column}}", Tone.STRONG if changed else Tone.MUTED))
    return (*pieces, (f"{now:>{column}}", Tone.NORMAL), *cells)


GLYPHS = {Reproduction.REPRODUCED: "✔", Reproduction.DIFFERS: "✘", Reproduction.NOT_COMPARABLE: "·"}


SELF_CHECK: Final[tuple[Value[SelfCheck], ...]] = (
    Value("comparable", lambda check, _: check.comparable, int, "NodeClaims that can be compared."),
    Value("reproduced", lambda check, _: check.reproduced, int, "NodeClaims that the model launches too."),
    Value("sentence", lambda check, _: summary(check), str, "The result as text."),
    records(
        "nodeClaims",
        lambda check: check.claims,
        (
            Value("name", lambda claim, _: claim.claim_name, str),
            Value("node", lambda claim, _: claim.node_name, str),
            Value("nodePool", lambda claim, _: claim.pool_name, str),
            Value("instanceType", lambda claim, _: claim.type_name, str),
            Value("finding", lambda claim, _: claim.finding, one_of(*Reproduction)),
            Value("because", lambda claim, _: claim.because, str),
            Value("hasSameTypes", lambda claim, _: claim.has_same_types, bool),
        ),
        "The NodeClaims created lately, the newest first.",
    ),
)


def self_check_text(check: SelfCheck) -> str:
    """Return the check as a page of text."""
    return "\n".join((summary(check), "", *_lines(check.claims))) + "\n"


def summary(check: SelfCheck) -> str:
    """Return the check in one sentence."""
    total = len(check.claims)
    if not total:
        return "there are no launched NodeClaims to compare with"
    left_out = total - check.comparable
    rest = f"; the pods of {count_text(left_out)} are gone" if left_out else ""
    if not check.comparable:
        return f"none of the last {count_text(total)} NodeClaims can still be compared: their pods are gone"
    reproduced, comparable = count_text(check.reproduced), count_text(check.comparable)
    return (
        f"of the last {count_text(total)} NodeClaims {comparable} can be compared;"
        f" the model reproduces {reproduced}{rest}"
    )


def _lines(claims: tuple[CheckedClaim, ...]) -> Iterator[str]:
    rows = [(claim.claim_name, claim.pool_name, claim.type_name, str(claim.finding)) for claim in claims]
    widths = [max(len(row[at]) for row in rows) for at in range(4)] if rows else []
    for checked_claim, row in zip(claims, rows, strict=True):
        because = checked_claim.because or ("with the same list of types" if checked_claim.has_same_types else "")
        cells = "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        yield f"{GLYPHS[checked_claim.finding]} {cells}  {because}".rstrip()
