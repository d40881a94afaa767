"""Rows that a session holds: their facts are fetched a page at a time, as they are looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeVar, overload

from karptui.session.border import Border, KeysWanted, PositionWanted, RowsFound, Window, WindowWanted

PAGE: Final = 64
"""Rows that are fetched at a time."""
ValueT = TypeVar("ValueT")


class Pages:
    """The pages of some rows that were fetched so far."""

    def __init__(self, border: Border, found: RowsFound) -> None:
        """Begin without any.

        Args:
            border: Where rows are asked for.
            found: The rows.
        """
        self.border = border
        self.found = found
        self._pages: dict[int, Window] = {}

    def page(self, index: int) -> Window:
        """Return the page that holds a row."""
        number = index // PAGE
        page = self._pages.get(number)
        if page is None:
            wanted = WindowWanted(number=self.found.number, offset=number * PAGE, count=PAGE)
            page = self._pages[number] = self.border.window(wanted)
        return page


class _Paged(Sequence[ValueT]):
    """One part of every row."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    def _part(self, page: Window) -> Sequence[Any]:
        raise NotImplementedError

    def __len__(self) -> int:
        return self._pages.found.shown

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
        value: ValueT = self._part(self._pages.page(index))[index % PAGE]
        return value


class PagedFacts(_Paged[Any]):
    """The facts of rows in order."""

    def _part(self, page: Window) -> Sequence[Any]:
        return page.facts


class PagedKeys(_Paged[str]):
    """The keys of rows in order."""

    def _part(self, page: Window) -> Sequence[Any]:
        return page.keys

    def __iter__(self) -> Iterator[str]:
        return iter(self._pages.border.keys(KeysWanted(number=self._pages.found.number)).keys)

    def index(self, value: object, start: int = 0, stop: int | None = None) -> int:
        """Return where a row stands.

        Raises:
            ValueError: When there is no such row.
        """
        wanted = PositionWanted(number=self._pages.found.number, key=str(value))
        index = self._pages.border.position(wanted).index
        if index is None or index < start or (stop is not None and index >= stop):
            raise ValueError(value)
        return index

    def __contains__(self, value: object) -> bool:
        try:
            self.index(value)
        except ValueError:
            return False
        return True
