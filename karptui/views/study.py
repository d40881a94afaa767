"""Framework of studies: questions that take time, with an answer text and one row per case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic

from karptui.errors import RequestError
from karptui.kube.timestamps import HOUR_NS
from karptui.session.answers import AnswerT, StudyAnswer
from karptui.session.protocol import Session
from karptui.views.column import ItemT
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.table import TableSpec
from karptui.whatif.scenario import Scenario


@dataclass(frozen=True)
class Values:
    """Values of a study that the user may choose."""

    title: str
    value: str
    hint: str
    fault: Callable[[str], str]
    """Returns an error message for a text, empty if valid."""
    study: Callable[[str], Study[Any, Any]]
    """From the text to the study with it."""


@dataclass(frozen=True)
class Study(Generic[AnswerT, ItemT]):
    """A question, and how its answer is shown."""

    title: str
    """In the edge above the answer."""
    rows_title: str
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
    """Text about the row under the cursor."""
    notes: Callable[[AnswerT], Sequence[tuple[str, Sequence[str]]]]
    """Titled lists in the help: assumptions and omissions."""
    scenario: Callable[[ItemT], Scenario | None] = lambda _: None
    """The edits of a row."""
    text: Callable[[AnswerT], str] | None = None
    """The answer as text to copy; None if there is none."""
    opens: Callable[[ItemT], Study[Any, Any] | None] = lambda _: None
    """Target of ``enter``; None for the row's what-if."""
    further: Callable[[], Study[Any, Any]] | None = None
    """The same study over another time span; None if it does not simulate time."""
    with_seeds: Callable[[], Study[Any, Any]] | None = None
    """The same with several seeds, or with one again."""
    values: Values | None = None
    """Accepted values; None if there are none."""


HORIZONS_NS: Final = tuple(hours * HOUR_NS for hours in (6, 24, 72, 1))
"""Spans that are played, one after the other."""


def answered(work: Callable[..., AnswerT]) -> Callable[[Session, int], StudyAnswer[AnswerT]]:
    """Return the question whose answer is ``work(base, reporter=…)``, called by the session."""
    return lambda session, now_ns: session.studies.answer(work, now_ns)


def answer_lines(answer: str, more: Iterable[str] = ()) -> tuple[Pieces, ...]:
    """Return the answer and its notes as lines."""
    return (((clean(answer), Tone.STRONG),), *(((clean(line), Tone.NORMAL),) for line in more))


def plain_lines(*lines: str) -> tuple[Pieces, ...]:
    """Return texts as lines."""
    return tuple(((clean(line), Tone.NORMAL),) for line in lines)


def notes_of(assumed: Sequence[str], not_modelled: Sequence[str] = ()) -> tuple[tuple[str, Sequence[str]], ...]:
    """Return the lists of the help."""
    return ("Assumed", assumed), ("Not modelled", not_modelled)


MAX_LINES: Final = 12
"""Maximum number of lines per section of a text; JSON has all."""


def cut(lines: Sequence[str], most: int = MAX_LINES) -> Sequence[str]:
    """Return the first lines, and the number of the others."""
    more = len(lines) - most
    return [*lines[:most], f"and {more} more: -o json has all"] if more > 0 else lines


def section_lines(title: str, lines: Sequence[str]) -> Iterator[str]:
    """Yield a title and its first lines, indented; nothing without lines."""
    if lines:
        yield f"  {title}"
        yield from (f"    {line}" for line in cut(lines))


def fault_of(parse: Callable[[str], object]) -> Callable[[str], str]:
    """Return a check of texts: the error message if one cannot be parsed, else an empty string."""

    def fault(text: str) -> str:
        try:
            parse(text)
        except (RequestError, ValueError) as error:
            return str(error)
        return ""

    return fault


def next_horizon(horizon_ns: int) -> int:
    """Return the span that comes after one."""
    at = HORIZONS_NS.index(horizon_ns) if horizon_ns in HORIZONS_NS else -1
    return HORIZONS_NS[(at + 1) % len(HORIZONS_NS)]
