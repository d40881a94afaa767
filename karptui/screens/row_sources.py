"""Sources of a list's rows: pages fetched from a session, or items of the screen."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, Protocol, TypeVar, overload

from karptui.session.answers import RowQuery, RowSet, RowWindow
from karptui.session.grouping import Folding, Grouping
from karptui.views.column import ItemT
from karptui.views.query import Query
from karptui.views.served import is_timed
from karptui.views.table import Rows, Sort, TableSpec, build_rows

if TYPE_CHECKING:
    from karptui.session.facts import Around
    from karptui.session.protocol import Session

PAGE: Final = 64
"""Rows that are fetched at a time."""
ValueT = TypeVar("ValueT")


class Recipe(NamedTuple):
    """What rows are made by."""

    query: Query
    sort: Sort
    is_notable_only: bool
    grouping: Grouping | None = None
    folding: Folding | None = None


class RowSource(Protocol[ItemT]):
    """Gives the rows of a list."""

    @property
    def shown(self) -> int:
        """How many rows the filter leaves, without the headings of groups."""

    def size(self) -> int:
        """Return about how many items there are now."""

    def rows(self, spec: TableSpec[ItemT], recipe: Recipe, now_ns: int) -> Rows[ItemT]:
        """Return the rows; the same ones at another time while nothing has changed.

        May be called in a thread, once at a time.
        """

    def with_keys(self, rows: Rows[ItemT], keys: frozenset[str]) -> list[ItemT]:
        """Return the items of some of the rows that were given, in their order."""


# Rows that a session holds


class Pages:
    """The fetched pages of some rows."""

    def __init__(self, session: Session, found: RowSet) -> None:
        self.session = session
        self.found = found
        self._pages: dict[int, RowWindow] = {}

    def page(self, index: int) -> RowWindow:
        """Return the page that holds a row."""
        number = index // PAGE
        page = self._pages.get(number)
        if page is None:
            page = self._pages[number] = self.session.window(self.found.number, number * PAGE, PAGE)
        return page


class _Paged(Sequence[ValueT]):
    """One part of every row."""

    def __init__(self, pages: Pages, part: Callable[[RowWindow], Sequence[Any]]) -> None:
        self._pages = pages
        self._part = part

    def __len__(self) -> int:
        return self._pages.found.lines

    @overload
    def __getitem__(self, index: int) -> ValueT: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[ValueT]: ...

    def __getitem__(self, index: int | slice) -> ValueT | Sequence[ValueT]:
        if isinstance(index, slice):
            return [self._one(position) for position in range(*index.indices(len(self)))]
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self._one(index)

    def _one(self, index: int) -> ValueT:
        part = self._part(self._pages.page(index))
        if index % PAGE >= len(part):
            raise IndexError(index)
        value: ValueT = part[index % PAGE]
        return value


class PagedFacts(_Paged[Any]):
    """The facts of rows in order."""

    def __init__(self, pages: Pages) -> None:
        super().__init__(pages, lambda page: page.facts)


class PagedKeys(_Paged[str]):
    """The keys of rows in order."""

    def __init__(self, pages: Pages) -> None:
        super().__init__(pages, lambda page: page.keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._pages.session.keys(self._pages.found.number))

    def index(self, value: object, start: int = 0, stop: int | None = None) -> int:
        """Return the index of a row.

        Raises:
            ValueError: if there is no such row.
        """
        index = self._pages.session.position(self._pages.found.number, str(value))
        if index is None or index < start or (stop is not None and index >= stop):
            raise ValueError(value)
        return index

    def __contains__(self, value: object) -> bool:
        try:
            self.index(value)
        except ValueError:
            return False
        return True


class SessionList(NamedTuple):
    """A list that a session holds."""

    list: str
    """Its name."""
    of: Callable[[], str] = str
    """Owner of the rows (a NodePool's name, say), for lists that exist per owner."""


class SessionRows(Generic[ItemT]):
    """Rows of a session; their pages are fetched when visible."""

    def __init__(self, session: Callable[[], Session], asked: SessionList) -> None:
        self._session, self._asked = session, asked
        self._pages: Pages | None = None
        self._rows: Rows[ItemT]

    @property
    def found(self) -> RowSet | None:
        """The last rows; None before the first."""
        return self._pages.found if self._pages is not None else None

    @property
    def shown(self) -> int:
        """How many rows the filter leaves, without the headings of groups."""
        return self._pages.found.shown if self._pages is not None else 0

    def size(self) -> int:
        """Return about how many items there are now."""
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
        found = session.rows(query)
        pages = self._pages
        if pages is None or pages.found != found or pages.session is not session:
            pages = self._pages = Pages(session, found)
            self._rows = Rows(spec, PagedFacts(pages), total=found.total, now_ns=now_ns, keys=PagedKeys(pages))
        return self._rows.at(now_ns)

    def around(self, now_ns: int, of: str | None = None) -> Around | None:
        """Return the facts around the rows, or around those of another owner if ``of`` is given."""
        return self._session().around(self._asked.list, self._asked.of() if of is None else of, now_ns)

    def with_keys(self, rows: Rows[ItemT], keys: frozenset[str]) -> list[ItemT]:  # noqa: ARG002 - the session has them
        """Return the items of some of the rows that were given, in their order."""
        if self._pages is None:
            return []
        picked: Sequence[Any] = self._pages.session.pick(self._pages.found.number, keys).facts
        return list(picked)


# Rows that are made here


class _Made(NamedTuple, Generic[ItemT]):
    """Rows, and their inputs."""

    items: Sequence[ItemT]
    recipe: Recipe
    rows: Rows[ItemT]
    shown: int
    seconds: float
    at: float


class OwnRows(Generic[ItemT]):
    """Rows of items that the screen holds."""

    def __init__(
        self,
        items: Callable[[], Sequence[ItemT]],
        arrange: Callable[[Sequence[ItemT], Any, Folding], Sequence[ItemT]] | None = None,
    ) -> None:
        """Begin before any are made.

        Args:
            items: Returns every item; the same object as long as none has changed. May be called in a thread.
            arrange: From rows in order to the same rows with the headings of their groups; None without groups.
        """
        self._items, self._arrange = items, arrange
        self._made: _Made[ItemT] | None = None

    @property
    def items(self) -> Sequence[ItemT]:
        """Every item, including filtered ones; empty before there are rows."""
        return self._made.items if self._made is not None else ()

    @property
    def shown(self) -> int:
        """How many rows the filter leaves, without the headings of groups."""
        return self._made.shown if self._made is not None else 0

    def size(self) -> int:
        """Return the current number of items."""
        return len(self._items())

    def rests(self, times: float) -> bool:
        """Return whether the rows are recent: younger than a multiple of the time that making them took."""
        known = self._made
        return known is not None and time.monotonic() < known.at + times * known.seconds

    def rows(self, spec: TableSpec[ItemT], recipe: Recipe, now_ns: int) -> Rows[ItemT]:
        """Return the rows; the same ones at another time while nothing has changed."""
        items, known = self._items(), self._made
        is_same = known is not None and known.items is items and known.recipe == recipe
        if known is not None and is_same and not is_timed(recipe.query, spec.subject):
            return known.rows.at(now_ns)
        began = time.monotonic()
        rows = build_rows(
            spec,
            items,
            query=recipe.query,
            sort=recipe.sort,
            is_notable_only=recipe.is_notable_only,
            now_ns=now_ns,
        )
        shown = len(rows)
        if self._arrange is not None and recipe.folding is not None:
            lines = self._arrange(rows.items, recipe.grouping, recipe.folding)
            rows = Rows(spec, lines, total=len(items), now_ns=now_ns)
        now = time.monotonic()
        self._made = _Made(items, recipe, rows, shown, now - began, now)
        return rows

    def with_keys(self, rows: Rows[ItemT], keys: frozenset[str]) -> list[ItemT]:
        """Return the items of some of the rows that were given, in their order."""
        return [item for item, key in zip(rows.items, rows.keys, strict=True) if key in keys]


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
