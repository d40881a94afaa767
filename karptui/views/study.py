"""A question that takes a while, with how its answer is shown: sentences above a row for each case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from karptui.session.questions import Question
from karptui.views.column import ItemT
from karptui.views.row import Pieces
from karptui.views.table import TableSpec
from karptui.whatif.scenario import Scenario

FoundT = TypeVar("FoundT", bound=msgspec.Struct)


@dataclass(frozen=True)
class Study(Generic[FoundT, ItemT]):
    """What is asked, and how the answer is shown."""

    title: str
    """In the edge above the answer."""
    rows_title: str
    """What the table is called."""
    table: TableSpec[ItemT]
    wanted: Callable[[int], Question[FoundT]]
    """From the instant to the question."""
    rows: Callable[[FoundT], Sequence[ItemT]]
    lines: Callable[[FoundT], Sequence[Pieces]]
    """The answer first, then what else is told of all; why there is none."""
    name_of: Callable[[ItemT], str]
    story: Callable[[ItemT], Sequence[Pieces]]
    """What is told of the row under the cursor."""
    told: Callable[[FoundT], Sequence[tuple[str, Sequence[str]]]]
    """Titled lists for the help: what is assumed and left out."""
    scenario: Callable[[ItemT], Scenario | None] = lambda _: None
    """What a row is as edits."""
    text: Callable[[FoundT], str] | None = None
    """The answer as a text to be taken elsewhere; None where there is none."""
    opens: Callable[[ItemT], Study[Any, Any] | None] = lambda _: None
    """What ``enter`` leads to; the what-if of the row where that is None."""
    tab: str = "nodes"
    """The tab that is lit."""
