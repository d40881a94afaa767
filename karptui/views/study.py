"""A question that takes a while, and how its answer is shown: sentences above a row for each case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic

from karptui.kube.timestamps import NS_PER_SECOND
from karptui.session.answers import AnswerT, StudyAnswer
from karptui.session.protocol import Session
from karptui.views.column import ItemT
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.table import TableSpec
from karptui.whatif.scenario import Scenario


@dataclass(frozen=True)
class Values:
    """Values of a study that somebody may choose."""

    title: str
    value: str
    """As it is now."""
    hint: str
    fault: Callable[[str], str]
    """Tells what is wrong with a text, in a sentence; empty where nothing is."""
    study: Callable[[str], Study[Any, Any]]
    """From the text to the study with it."""


@dataclass(frozen=True)
class Study(Generic[AnswerT, ItemT]):
    """What is asked, and how the answer is shown."""

    title: str
    """In the edge above the answer."""
    rows_title: str
    """What the table is called."""
    table: TableSpec[ItemT]
    ask: Callable[[Session, int], StudyAnswer[AnswerT]]
    """From a session and the present to the answer; takes a while."""
    rows: Callable[[AnswerT], Sequence[ItemT]]
    count: Callable[[Sequence[ItemT]], int] = field(default=len, kw_only=True)
    """How many cases some rows show; a case may take several rows."""
    lines: Callable[[AnswerT], Sequence[Pieces]]
    """The answer first, then details."""
    name_of: Callable[[ItemT], str]
    story: Callable[[ItemT], Sequence[Pieces]]
    """What is said of the row under the cursor."""
    notes: Callable[[AnswerT], Sequence[tuple[str, Sequence[str]]]]
    """Titled lists for the help: what is assumed and left out."""
    scenario: Callable[[ItemT], Scenario | None] = lambda _: None
    """What a row is as edits."""
    text: Callable[[AnswerT], str] | None = None
    """The answer as a text to be taken elsewhere; None where there is none."""
    opens: Callable[[ItemT], Study[Any, Any] | None] = lambda _: None
    """What ``enter`` leads to; the what-if of the row where that is None."""
    tab: str = "nodes"
    """The tab that is lit."""
    further: Callable[[], Study[Any, Any]] | None = None
    """The same over another span; None of what is not played."""
    with_seeds: Callable[[], Study[Any, Any]] | None = None
    """The same with several seeds, or with one again."""
    values: Values | None = None
    """What can be typed; None where there is nothing."""


HORIZONS_NS: Final = tuple(hours * 3600 * NS_PER_SECOND for hours in (6, 24, 72, 1))
"""Spans that are played, one after the other."""


def answer_lines(answer: str, more: Iterable[str] = ()) -> tuple[Pieces, ...]:
    """Return an answer, and what else is said, as lines."""
    return (((clean(answer), Tone.STRONG),), *(((clean(line), Tone.NORMAL),) for line in more))


def plain_lines(*lines: str) -> tuple[Pieces, ...]:
    """Return sentences as lines."""
    return tuple(((clean(line), Tone.NORMAL),) for line in lines)


def notes_of(assumed: Sequence[str], not_modelled: Sequence[str] = ()) -> tuple[tuple[str, Sequence[str]], ...]:
    """Return the lists of the help."""
    return ("Assumed", assumed), ("Not modelled", not_modelled)


def next_horizon(horizon_ns: int) -> int:
    """Return the span that comes after one."""
    at = HORIZONS_NS.index(horizon_ns) if horizon_ns in HORIZONS_NS else -1
    return HORIZONS_NS[(at + 1) % len(HORIZONS_NS)]
