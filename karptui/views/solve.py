"""The answer to a goal: a summary, and details with the runner-up, the search and the approximations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

import msgspec

from karptui.aws.money import LEAST_CHANGE, per_hour_text
from karptui.kube.units import counted, verb
from karptui.solve.answer import Effort, Figures, Solved, Tried, by_object, scenario_of, together
from karptui.solve.catalogue import GOALS
from karptui.solve.run import solve_goal
from karptui.views.column import (
    Column,
    Field,
    FieldKind,
    Heading,
    Schema,
    Value,
    count_column,
    number_heading,
    one_of,
    record,
    records,
    text_column,
    texts,
)
from karptui.views.prices import cost_change_tone, without_text
from karptui.views.row import NOT_AVAILABLE, Cell, Tone
from karptui.views.sanitize import clean, markdown_text
from karptui.views.study import Study, answer_lines, answered, plain_lines
from karptui.views.table import Sort, TableSpec
from karptui.views.wrapping import hanging
from karptui.whatif.scenario import Replay, Scenario, scenario_document

_FEW = 8
"""Maximum number of losing changes shown; JSON has more."""
_CHANGE_WIDTH: Final = 47
"""Width of the column of changes: the most that a screen of 80 columns has room for."""
_SIMULATED: Final = {
    Replay.PENDING: ", with the nodes that are launched now",
    Replay.SCRATCH: ", simulated on an empty cluster",
    Replay.REMOVE: "",
    Replay.NEXT: ", over the day",
}


def headline(solved: Solved) -> str:
    """Return the answer: the change, its result, and the runner-up with the reason it lost."""
    has_runner_up = solved.best is not None and solved.is_reached
    return f"{_answer_text(solved)}; {_runner_up_text(solved)}" if has_runner_up else _answer_text(solved)


def _answer_text(solved: Solved) -> str:
    """Return the answer without the runner-up."""
    best, before = solved.best, f"on top of {solved.on_top_of.name}: " if solved.on_top_of is not None else ""
    if best is None:
        return f"{before}{'nothing has to change' if solved.is_reached else 'not reached'}: {solved.because}"
    if not solved.is_reached:
        before = f"{before}not reached: {solved.because}; closest: "
    risk = f"; risk: {solved.risk}" if solved.risk else ""
    return f"{before}{together(best.parts)}: {', '.join(filter(None, (best.outcome, price_text(solved, best))))}{risk}"


def _as_before(solved: Solved) -> str:
    now = "now" if solved.on_top_of is None else f"with {solved.on_top_of.name}"
    return f"{now}{_SIMULATED[solved.replay]}"


def _runner_up_text(solved: Solved) -> str:
    attempt = solved.runner_up
    if attempt is None:
        return "no other change tried is close"
    return f"runner-up {beside(solved, attempt)}: {attempt.why_not}"


def beside(solved: Solved, other: Tried) -> str:
    """Return another change, as its difference to the answer if they have parts in common."""
    does, instead = _beside(solved, other)
    return " ".join(filter(None, ("; ".join(does), "; ".join(instead))))


def _beside(solved: Solved, other: Tried) -> tuple[list[str], list[str]]:
    """Return the parts of another change that the answer lacks, by object, and the parts of the answer it lacks."""
    best = solved.best.parts if solved.best is not None else ()
    parts = [part for part in other.parts if part not in best]
    missing = [part for part in best if part not in other.parts]
    if len(parts) == len(other.parts):
        return by_object(parts), []
    left_out = by_object(missing)
    if not parts:
        return [], [f"without {left_out[0]}", *left_out[1:]]
    return by_object(parts), [f"instead of {left_out[0]}", *left_out[1:]] if left_out else ["as well"]


def price_text(solved: Solved, tried: Tried) -> str:
    """Return the change of the costs; without prices, whether the change is the cheapest."""
    change = tried.figures.price_per_hour - solved.now.price_per_hour
    where = " on an empty cluster" if solved.replay is Replay.SCRATCH else ""
    mean = " on average over the day" if tried.figures.evictions is not None else ""
    count = tried.figures.drifts
    drifts = f", {counted(count, 'node')} {verb(count, 'drifts', 'drift')}" if count else ""
    if not solved.has_prices:
        is_cheapest = tried is solved.best and _is_cheapest(solved, tried)
        return f"the cheapest change tried, by Karpenter's prices{drifts}" if is_cheapest else drifts.removeprefix(", ")
    if abs(change) < LEAST_CHANGE:
        return f"the same $/h{where}{mean}{drifts}"
    return f"{per_hour_text(abs(change))} {'more' if change > 0 else 'less'}{where}{mean}{drifts}"


def _is_cheapest(solved: Solved, best: Tried) -> bool:
    """Return whether the goal is the cheapest change, and no other one tried reaches it for less."""
    losers = (*solved.others, *filter(None, (solved.runner_up,)))
    least = min((a.figures.price_per_hour for a in losers if a.is_enough), default=best.figures.price_per_hour)
    return solved.is_reached and GOALS[solved.goal].is_cheapest and best.figures.price_per_hour <= least


def _search_text(solved: Solved) -> str:
    effort = solved.effort
    if not effort.all:
        return effort.how
    line = {None: "", True: "; no higher value was better", False: "; not monotone, so all values were tried"}
    return f"{effort.tried:,} of {effort.all:,} tried: {effort.how}{line[effort.is_monotone]}"


def more_lines(solved: Solved) -> Iterator[str]:
    """Yield the details below the answer: the runner-up, the extent of the search, and its omissions."""
    if solved.runner_up is not None:
        yield _runner_up_text(solved)
    yield f"{_as_before(solved)}: {_figures_text(solved.now, has_prices=solved.has_prices)}"
    yield _search_text(solved)
    yield from (f"not tried: {untried}" for untried in solved.effort.not_tried)


def parts_of(solved: Solved) -> Iterator[tuple[str, list[str]]]:
    """Yield the parts after the first sentence: a heading and its lines; parts without lines are left out."""
    best, second = solved.best, solved.runner_up
    if best is not None:
        yield "Change", list(best.parts)
    rows = [(_as_before(solved), solved.now)]
    rows += [(name, a.figures) for name, a in (("with it", best), ("runner-up", second)) if a is not None]
    yield "Result", [f"{words}: {_figures_text(figures, has_prices=solved.has_prices)}" for words, figures in rows]
    losers = ((second, *solved.others) if second is not None else solved.others)[:_FEW]
    yield "Not chosen", [f"{beside(solved, attempt)}: {attempt.why_not}" for attempt in losers]
    yield "Search", [_search_text(solved), *(f"not tried: {untried}" for untried in solved.effort.not_tried)]
    yield "Approximated", list(solved.approximated)
    yield "Not modelled", list(solved.not_modelled)


def _figures_text(figures: Figures, *, has_prices: bool) -> str:
    parts = [
        *([per_hour_text(figures.price_per_hour)] if has_prices else []),
        counted(figures.nodes, "node"),
        f"{figures.pending:,} pending",
    ]
    if figures.drifts:
        parts.append(f"{figures.drifts:,} drift")
    if figures.evictions is not None:
        parts.append(f"{counted(figures.evictions, 'eviction')} a day")
    if figures.wanted is not None:
        parts.append(f"{counted(figures.wanted, 'pod')} in the NodePool")
    if figures.unpriced and has_prices:
        parts.append(f"{figures.unpriced:,} of unknown price, spot as on demand")
    if without := without_text(figures.not_counted):
        parts.append(without)
    return ", ".join(parts)


def text_lines(name: str, solved: Solved) -> Iterator[str]:
    """Yield the lines for a terminal."""
    yield f"{name}: {headline(solved)}"
    for heading, lines in parts_of(solved):
        if lines:
            yield f"  {heading}"
            yield from (f"    {line}" for line in lines)


def markdown_lines(name: str, solved: Solved, scenario: str) -> Iterator[str]:
    """Yield the lines of a pull request comment; text from the cluster is escaped."""
    yield f"## {markdown_text(solved.question)} on {markdown_text(name)}"
    yield ""
    yield f"**{markdown_text(headline(solved))}**"
    for heading, lines in parts_of(solved):
        if lines:
            yield ""
            yield f"### {heading}"
            yield ""
            yield from (f"- {markdown_text(line)}" for line in lines)
    if scenario:
        yield ""
        yield "### Scenario"
        yield ""
        yield from (f"    {line}" for line in scenario.splitlines())


# On the screen


class SolveRow(msgspec.Struct, frozen=True):
    """A line of a change that was tried; a long change takes several rows, and the first has its figures."""

    place: str
    """``answer``, ``runner-up``, or its rank among the losing changes."""
    line: int
    """0 for the first row of the change."""
    text: str
    """The part of the change in this row."""
    words: str
    """The complete change, as its difference to the answer."""
    tried: Tried
    change_per_hour: float | None
    """Change of the cost per hour; None without prices."""
    scenario: Scenario


def rows_of(solved: Solved) -> list[SolveRow]:
    """Return the rows of the changes, best first; a long change has several rows."""
    first = [("answer", solved.best), ("runner-up", solved.runner_up)]
    ranked = [(name, attempt) for name, attempt in first if attempt is not None]
    ranked += [(str(place), attempt) for place, attempt in enumerate(solved.others, len(ranked) + 1)]
    now = solved.now.price_per_hour
    return [
        SolveRow(
            place,
            number,
            text,
            attempt.words if attempt is solved.best else beside(solved, attempt),
            attempt,
            attempt.figures.price_per_hour - now if solved.has_prices else None,
            scenario_of(solved, attempt),
        )
        for place, attempt in ranked
        for number, text in enumerate(_lines_of(solved, attempt))
    ]


def _lines_of(solved: Solved, tried: Tried) -> list[str]:
    """Return a change wrapped to its column's width; each object begins a line."""
    does, instead = (by_object(tried.parts), []) if tried is solved.best else _beside(solved, tried)
    lines = hanging(plain_lines(*does, *instead), _CHANGE_WIDTH, indent=2)
    return ["".join(text for text, _ in line).rstrip() for line in lines]


def row_lines(row: SolveRow) -> Iterator[str]:
    """Yield a change's result, and the reason it lost."""
    yield _figures_text(row.tried.figures, has_prices=row.change_per_hour is not None)
    if row.tried.why_not:
        yield f"lost: {row.tried.why_not}"


def _change_cell(row: SolveRow, _: int) -> Cell:
    change = row.change_per_hour
    if change is None:
        return NOT_AVAILABLE
    return Cell(f"{change:+,.2f}" if abs(change) >= LEAST_CHANGE else "same", cost_change_tone(change))


def _on_first_row(column: Column[SolveRow]) -> Column[SolveRow]:
    """Return a column that shows a value only in the first row of a change."""
    return msgspec.structs.replace(column, cell=lambda row, now_ns: Cell("") if row.line else column.cell(row, now_ns))


_COLUMNS: Final[tuple[Column[SolveRow], ...]] = (
    Column(
        Heading("place", "RANK", "The answer, the runner-up, and the rank of the others.", 9, 9),
        lambda row, _: Cell(row.place, Tone.GOOD if row.place == "answer" else Tone.MUTED),
        lambda row: (row.place.isdecimal(), int(row.place) if row.place.isdecimal() else len(row.place)),
    ),
    Column(
        Heading("change", "CHANGE", "The change, as its difference to the answer.", _CHANGE_WIDTH, _CHANGE_WIDTH),
        lambda row, _: Cell(clean(row.text)),
        lambda row: row.words,
        filters=Field[SolveRow](FieldKind.TEXT, lambda row, _: row.words, "text of the change"),
    ),
    Column(
        number_heading("cost", "± $/H", "Change of the cost per hour, compared with now."),
        _change_cell,
        lambda row: row.change_per_hour,
        filters=Field[SolveRow](FieldKind.MONEY, lambda row, _: row.change_per_hour, "change of the cost per hour"),
    ),
    count_column(
        number_heading("pending", "PENDING", "Unschedulable pods.", drop_order=1),
        lambda row: row.tried.figures.pending,
        tone=lambda row: Tone.FAULT if row.tried.figures.lost else Tone.WARNING,
    ),
    count_column(
        number_heading("nodes", "NODES", "Karpenter's nodes.", drop_order=3), lambda row: row.tried.figures.nodes
    ),
    count_column(
        number_heading("drift", "DRIFT", "NodeClaims that it drifts.", drop_order=2),
        lambda row: row.tried.figures.drifts,
        tone=lambda _: Tone.WARNING,
    ),
    text_column(
        Heading("lost", "LOST BECAUSE", "Why it is worse than the answer.", 24, 60, drop_order=4),
        lambda row: row.tried.why_not,
    ),
)
TABLE: Final[TableSpec[SolveRow]] = TableSpec(
    "changes",
    tuple(column if column.heading.id == "change" else _on_first_row(column) for column in _COLUMNS),
    key=lambda row: f"{row.place}/{row.line:03d}" if row.line else row.place,
    default_sort=Sort("place"),
    text=lambda row: f"{row.place} {row.words} {row.tried.why_not}".lower(),
)


def solve_study(
    goal: str, parameters: Sequence[tuple[str, str]], on_top_of: Scenario | None = None
) -> Study[Solved, SolveRow]:
    """Return the study of a goal: the answer, then the changes that lost."""
    entry = GOALS.get(goal)
    before = f" ─ on top of {clean(on_top_of.name)}" if on_top_of is not None else ""
    return Study(
        title=f"Solve ─ {entry.title if entry is not None else clean(goal)}{before}",
        rows_title="Changes tried",
        table=TABLE,
        ask=answered(partial(solve_goal, goal=goal, parameters=dict(parameters), on_top_of=on_top_of)),
        rows=rows_of,
        count=lambda rows: len({row.place for row in rows}),
        lines=lambda solution: answer_lines(_answer_text(solution), more_lines(solution)),
        name_of=lambda row: row.tried.words,
        story=lambda row: answer_lines(row.tried.words, row_lines(row)),
        notes=lambda solution: (("Approximated", solution.approximated), ("Not modelled", solution.not_modelled)),
        scenario=lambda row: row.scenario,
    )


def _price(pair: tuple[Solved, Figures], _: int) -> float | None:
    """Price of the nodes; None if prices are off or no node has one."""
    solved, figures = pair
    is_known = figures.price_per_hour > 0 or figures.unpriced < max(figures.nodes, 1)
    return figures.price_per_hour if solved.has_prices and is_known else None


_FIGURES: Final[tuple[Value[tuple[Solved, Figures]], ...]] = (
    Value("pending", lambda pair, _: pair[1].pending, int, "Unschedulable pods."),
    texts(
        "lost",
        lambda pair: pair[1].lost,
        "namespace/name of unschedulable pods that are schedulable without the change.",
    ),
    Value("nodes", lambda pair, _: pair[1].nodes, int, "Karpenter's nodes, new ones included."),
    Value(
        "pricePerHour",
        _price,
        float | None,
        "Price of these nodes, spot of unknown price as on-demand; of consolidate-after the mean of the simulated day."
        " Null with --disable-pricing, and if no node has a price.",
    ),
    Value(
        "unpriced",
        lambda pair, _: pair[1].unpriced if pair[0].has_prices else pair[1].nodes,
        int,
        "Nodes without a known price; those on spot count as on-demand.",
    ),
    Value("drifts", lambda pair, _: pair[1].drifts, int, "NodeClaims that the change drifts."),
    Value("wanted", lambda pair, _: pair[1].wanted, int | None, "Goal weight: pods that land on the NodePool."),
    Value("moved", lambda pair, _: pair[1].moved, int | None, "Goal weight: other pods that change their NodePool."),
    Value(
        "evictions", lambda pair, _: pair[1].evictions, int | None, "Goal consolidate-after: evictions within a day."
    ),
)
_TRIED: Final[tuple[Value[tuple[Solved, Tried]], ...]] = (
    texts("changes", lambda pair: pair[1].parts),
    Value("outcome", lambda pair, _: pair[1].outcome, str, "Its result except the price, as text."),
    Value("reachesGoal", lambda pair, _: pair[1].is_enough, bool),
    Value("lostBecause", lambda pair, _: pair[1].why_not or None, str | None, "Why it is worse than the answer."),
    record("figures", lambda pair: (pair[0], pair[1].figures), _FIGURES),
)
_SCENARIO: Final[Schema] = {
    "type": "object",
    "required": ["name", "replay", "edits"],
    "properties": {
        "name": str,
        "replay": one_of(*Replay),
        "edits": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["edit"],
                "properties": {"edit": str},
                "additionalProperties": True,
            },
        },
    },
}
_OPENED: Final = (
    *_TRIED,
    Value[tuple[Solved, Tried]](
        "scenario",
        lambda pair, _: scenario_document(scenario_of(*pair)),
        _SCENARIO,
        "As simulate --scenario reads it and the what-if opens it.",
    ),
)


_SEARCH: Final[tuple[Value[Effort], ...]] = (
    Value("tried", lambda effort, _: effort.tried, int),
    Value("of", lambda effort, _: effort.all, int),
    Value("how", lambda effort, _: effort.how, str),
    texts("notTried", lambda effort: effort.not_tried),
    Value(
        "isMonotone",
        lambda effort, _: effort.is_monotone,
        bool | None,
        "For a numeric parameter: whether the result is monotone in it; null for sets.",
    ),
)
REPORT: Final[tuple[Value[Solved], ...]] = (
    Value("goal", lambda solved, _: solved.goal, one_of(*GOALS)),
    Value("question", lambda solved, _: solved.question, str),
    Value("isReached", lambda solved, _: solved.is_reached, bool, "By the answer, or without a change."),
    Value("sentence", lambda solved, _: headline(solved), str),
    Value(
        "because",
        lambda solved, _: solved.because or None,
        str | None,
        "Why nothing has to change, or why the goal is not reached.",
    ),
    Value("risk", lambda solved, _: solved.risk or None, str | None, "Unmodelled effects that can undo the answer."),
    Value(
        "onTopOf",
        lambda solved, _: None if solved.on_top_of is None else solved.on_top_of.name,
        str | None,
        "Scenario whose edits are applied first (--scenario); now is the cluster with them.",
    ),
    record("now", lambda solved: (solved, solved.now), _FIGURES),
    record("answer", lambda solved: None if solved.best is None else (solved, solved.best), _OPENED, may_be_null=True),
    record(
        "runnerUp",
        lambda solved: None if solved.runner_up is None else (solved, solved.runner_up),
        _OPENED,
        may_be_null=True,
    ),
    records("others", lambda solved: [(solved, attempt) for attempt in solved.others], _TRIED, "Best first, up to 20."),
    record("search", lambda solved: solved.effort, _SEARCH),
    texts("approximated", lambda solved: solved.approximated),
    texts("notModelled", lambda solved: solved.not_modelled),
)
