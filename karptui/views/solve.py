"""The answer to a goal: in one sentence, and at length with the runner-up, the search and what is approximated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from karptui.aws.money import per_hour_text
from karptui.kube.units import counted
from karptui.solve.answer import LEAST_CHANGE, Figures, Solved, Tried
from karptui.views.markdown import plain
from karptui.whatif.scenario import Replay

_FEW = 8
"""Changes that are told of those that lost; JSON has more."""


def headline(solved: Solved) -> str:
    """Return the answer in a sentence: the change, what it comes to, and the runner-up with why it lost."""
    best = solved.best
    if best is None:
        return f"nothing has to change: {solved.because}" if solved.is_reached else f"not reached: {solved.because}"
    said = f"{_together(best.parts)}: {best.outcome}, {price_text(solved, best)}"
    if not solved.is_reached:
        return f"not reached: {solved.because}; nearest is {said}"
    return f"{said}; {runner_up_text(solved)}"


def runner_up_text(solved: Solved) -> str:
    """Return the runner-up and why it lost."""
    one = solved.runner_up
    return f"runner-up {beside(solved, one)}: {one.why_not}" if one is not None else "nothing else comes near"


def beside(solved: Solved, other: Tried) -> str:
    """Return what another change does, by what it does instead of the answer where they have something in common."""
    best = solved.best.parts if solved.best is not None else ()
    own = [one for one in other.parts if one not in best]
    missing = [one for one in best if one not in other.parts]
    if len(own) == len(other.parts):
        return other.words
    if not own:
        return f"without {_together(missing)}"
    return f"{_together(own)} instead of {_together(missing)}" if missing else f"{_together(own)} as well"


def _together(parts: Sequence[str]) -> str:
    """Return changes in a line, what they have in common said once: ``NodePool spot: allow m5a, r5a``."""
    split = [one.rpartition(" ") for one in parts]
    if len({head for head, _, _ in split}) == 1 and ": " in parts[0]:
        return f"{split[0][0]} {', '.join(last for _, _, last in split)}"
    return "; ".join(parts)


def price_text(solved: Solved, tried: Tried) -> str:
    """Return by how much a change alters the costs, and of what."""
    change = tried.figures.price_per_hour - solved.now.price_per_hour
    where = " from scratch" if solved.replay is Replay.SCRATCH else ""
    mean = " on the mean of the day" if tried.figures.evictions is not None else ""
    if abs(change) < LEAST_CHANGE:
        return f"the same $/h{where}{mean}"
    return f"{per_hour_text(abs(change))} {'more' if change > 0 else 'less'}{where}{mean}"


def search_text(solved: Solved) -> str:
    """Return how far the search went, in a sentence."""
    effort = solved.effort
    if not effort.all:
        return effort.how
    line = {None: "", True: "; higher was never better again", False: "; not monotone, so values were gone through"}
    return f"{effort.tried:,} of {effort.all:,} tried: {effort.how}{line[effort.is_monotone]}"


def parts_of(solved: Solved) -> Iterator[tuple[str, list[str]]]:
    """Yield the parts after the first sentence: a heading and its lines; parts without lines are left out."""
    best, second = solved.best, solved.runner_up
    if best is not None:
        yield "Change", list(best.parts)
    rows = [("as it is", solved.now)]
    rows += [(name, one.figures) for name, one in (("with it", best), ("runner-up", second)) if one is not None]
    yield "Comes to", [f"{words}: {figures_text(figures)}" for words, figures in rows]
    losers = ((second, *solved.others) if second is not None else solved.others)[:_FEW]
    yield "Lost", [f"{beside(solved, one)}: {one.why_not}" for one in losers]
    yield "Search", [search_text(solved), *(f"not tried: {one}" for one in solved.effort.not_tried)]
    yield "Approximated", list(solved.approximated)
    yield "Not modelled", list(solved.not_modelled)


def figures_text(figures: Figures) -> str:
    """Return figures in a line."""
    parts = [
        f"{per_hour_text(figures.price_per_hour)}",
        counted(figures.nodes, "node"),
        f"{figures.pending:,} pending",
    ]
    if figures.evictions is not None:
        parts.append(f"{counted(figures.evictions, 'eviction')} a day")
    if figures.wanted is not None:
        parts.append(f"{counted(figures.wanted, 'pod')} there")
    if figures.unpriced:
        parts.append(f"{figures.unpriced:,} of unknown price, spot as on demand")
    return ", ".join(parts)


def text_lines(name: str, solved: Solved) -> Iterator[str]:
    """Yield the lines for a terminal."""
    yield f"{name}: {headline(solved)}"
    for heading, lines in parts_of(solved):
        if lines:
            yield f"  {heading}"
            yield from (f"    {line}" for line in lines)


def markdown_lines(name: str, solved: Solved, scenario: str) -> Iterator[str]:
    """Yield the lines of a comment on a pull request; what comes from a cluster is no markup.

    Args:
        name: Of the cluster.
        solved: The answer.
        scenario: Its scenario as a file, empty where nothing is to be changed.
    """
    yield f"## {plain(solved.question)} on {plain(name)}"
    yield ""
    yield f"**{plain(headline(solved))}**"
    for heading, lines in parts_of(solved):
        if lines:
            yield ""
            yield f"### {heading}"
            yield ""
            yield from (f"- {plain(line)}" for line in lines)
    if scenario:
        yield ""
        yield "### Scenario"
        yield ""
        yield from (f"    {line}" for line in scenario.splitlines())
