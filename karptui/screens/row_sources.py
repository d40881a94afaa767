"""Sources of a list's rows: a list of the session, or items of the screen."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeAlias

from karptui.session.answers import RowQuery, RowSet
from karptui.session.grouping import Folding, Grouping
from karptui.views.column import ItemT
from karptui.views.filters import Query
from karptui.views.served import is_timed
from karptui.views.table import Rows, Sort, TableSpec, build_rows

if TYPE_CHECKING:
    from karptui.session.facts import Around
    from karptui.session.protocol import Session


class Recipe(NamedTuple):
    """What rows are made by."""

    query: Query
    sort: Sort
    is_notable_only: bool
    grouping: Grouping | None = None
    folding: Folding | None = None


# Rows that a session holds


class SessionList(NamedTuple):
    """A list that a session holds."""

    list: str
    of: Callable[[], str] = str
    """Owner of the rows (a NodePool's name, say), for lists that exist per owner."""


class SessionRows(Generic[ItemT]):
    """Rows of a session."""

    def __init__(self, session: Callable[[], Session], session_list: SessionList) -> None:
        self._session, self._asked = session, session_list
        self._asked_of: Session | None = None
        self._rows: Rows[ItemT]
        self.row_set: RowSet | None = None
        """The last rows; None before the first."""

    @property
    def shown(self) -> int:
        """How many rows the filter leaves, without the headings of groups."""
        return self.row_set.shown if self.row_set is not None else 0

    def size(self) -> int:
        return self._session().overview().sizes[self._asked.list]

    def rows(self, spec: TableSpec[ItemT], recipe: Recipe, now_ns: int) -> Rows[ItemT]:
        """Return the rows; the same ones at another time while nothing has changed."""
        session, folding = self._session(), recipe.folding or Folding()
        query = RowQuery(
            list=self._asked.list,
            of=self._asked.of(),
            filter_text=recipe.query.text,
            sort=recipe.sort.column_id,
            is_descending=recipe.sort.is_descending,
            is_notable_only=recipe.is_notable_only,
            group_by=str(recipe.grouping or ""),
            is_folded=folding.is_folded,
            other_way=folding.exceptions,
            opens_all=folding.opens_all,
            now_ns=now_ns,
        )
        row_set = session.rows(query)
        if row_set is not self.row_set or self._asked_of is not session:
            self.row_set, self._asked_of = row_set, session
            self._rows = Rows(spec, row_set.items, total=row_set.total, now_ns=now_ns, keys=row_set.keys)
        return self._rows.at(now_ns)

    def around(self, now_ns: int, of: str | None = None) -> Around | None:
        """Return the facts around the rows, or around those of another owner if ``of`` is given."""
        return self._session().around(self._asked.list, self._asked.of() if of is None else of, now_ns)


# Rows that are made here


class _BuiltRows(NamedTuple, Generic[ItemT]):
    items: Sequence[ItemT]
    recipe: Recipe
    rows: Rows[ItemT]


class OwnRows(Generic[ItemT]):
    """Rows of items that the screen holds."""

    def __init__(self, items: Callable[[], Sequence[ItemT]]) -> None:
        self._items = items
        self._current: _BuiltRows[ItemT] | None = None

    @property
    def items(self) -> Sequence[ItemT]:
        """Every item, including filtered ones; empty before there are rows."""
        return self._current.items if self._current is not None else ()

    @property
    def shown(self) -> int:
        return len(self._current.rows) if self._current is not None else 0

    def size(self) -> int:
        return len(self._items())

    def rows(self, spec: TableSpec[ItemT], recipe: Recipe, now_ns: int) -> Rows[ItemT]:
        items, previous = self._items(), self._current
        is_same = previous is not None and previous.items is items and previous.recipe == recipe
        if previous is not None and is_same and not is_timed(recipe.query, spec.subject):
            return previous.rows.at(now_ns)
        rows = build_rows(
            spec, items, query=recipe.query, sort=recipe.sort, is_notable_only=recipe.is_notable_only, now_ns=now_ns
        )
        self._current = _BuiltRows(items, recipe, rows)
        return rows


RowSource: TypeAlias = SessionRows[ItemT] | OwnRows[ItemT]
"""Gives the rows of a list."""


class Making(Generic[ItemT]):
    """Makes rows in a thread, repeatedly while there are newer inputs."""

    def __init__(self) -> None:
        self._is_at_work = False
        self._is_outdated = False

    async def run(
        self, make: Callable[[], Rows[ItemT]], show: Callable[[Rows[ItemT]], None], is_wanted: Callable[[], bool]
    ) -> None:
        """Make rows and show them; if that is under way, repeat it afterwards."""
        self._is_outdated = True
        if self._is_at_work:
            return
        self._is_at_work = True
        try:
            while self._is_outdated and is_wanted():
                self._is_outdated = False
                rows = await asyncio.to_thread(make)
                if is_wanted():
                    show(rows)
        finally:
            self._is_at_work = False
