"""What a list shows, without a screen: its filter, order and groups, and the rows they leave."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from operator import is_
from typing import Any, Generic, NamedTuple, TypeVar

from karptui.screens.windowed import PagedFacts, PagedKeys, Pages
from karptui.session.border import Border, PickWanted, RowsFound, RowsWanted
from karptui.views.column import ItemT
from karptui.views.grouping import Folding, GroupHeading, Grouping
from karptui.views.query import EVERYTHING, Query, QueryError, parse_query
from karptui.views.served import is_timed
from karptui.views.table import Rows, Sort, TableSpec, build_rows

GroupingT = TypeVar("GroupingT", bound=Grouping)
ValueT = TypeVar("ValueT")


class Kept(Generic[ValueT]):
    """A value that stays the same object for as long as what it is made from does."""

    def __init__(self) -> None:
        self._known: tuple[tuple[object, ...], ValueT] | None = None

    @property
    def latest(self) -> ValueT | None:
        """The value as it was last; None before there is one."""
        return self._known[1] if self._known is not None else None

    def get(self, made_from: tuple[object, ...], make: Callable[[], ValueT]) -> ValueT:
        """Return the value; make it anew when one of the objects it is made from is another one."""
        known = self._known
        if known is not None and len(known[0]) == len(made_from) and all(map(is_, known[0], made_from)):
            return known[1]
        value = make()
        self._known = made_from, value
        return value


class Groups(Generic[ItemT, GroupingT]):
    """What the rows of a list are grouped by, and which groups are folded."""

    def __init__(
        self,
        by: GroupingT,
        arrange: Callable[[Sequence[ItemT], GroupingT, Folding], Sequence[ItemT]],
        *,
        ungrouped_text: str = "",
    ) -> None:
        """Make the groups.

        Args:
            by: what groups have in common at first.
            arrange: from rows in order to the same rows with the headings of their groups; may run in a thread.
            ungrouped_text: what the title says where there are no groups.
        """
        self.by = by
        self.folding = Folding()
        self._arrange = arrange
        self._ungrouped_text = ungrouped_text

    @property
    def text(self) -> str:
        """What the title says of the groups."""
        return f"by {self.by}" if self.by.has_groups else self._ungrouped_text

    def arranged(self, items: Sequence[ItemT], by: GroupingT, folding: Folding) -> Sequence[ItemT]:
        """Return rows with the headings of their groups."""
        return self._arrange(items, by, folding)

    def use(self, by: GroupingT) -> None:
        """Group by something else; what was folded stays so."""
        self.by, self.folding = by, Folding(self.folding.is_folded)

    def fold_all(self, lines: Sequence[ItemT]) -> None:
        """Fold every group where one is open, else unfold all."""
        self.folding = Folding(any(isinstance(line, GroupHeading) and not line.is_folded for line in lines))

    def toggle(self, name: str) -> None:
        """Fold or unfold one group."""
        self.folding = self.folding.toggled(name)


class Recipe(NamedTuple):
    """What rows are made by."""

    query: Query
    sort: Sort
    is_notable_only: bool
    grouping: Any = None
    folding: Folding | None = None


class _Built(NamedTuple, Generic[ItemT]):
    """Rows, and what they were made from."""

    items: Sequence[ItemT]
    recipe: Recipe
    rows: Rows[ItemT]
    shown: int
    seconds: float
    at: float


class Listing(Generic[ItemT]):
    """The filter, order and groups of a list, and the rows that were made by them last."""

    def __init__(
        self, spec: TableSpec[ItemT], *, sort: Sort | None = None, groups: Groups[ItemT, Any] | None = None
    ) -> None:
        """Make a list that has no rows yet.

        Args:
            spec: the table.
            sort: the order it starts with; the table's own when None.
            groups: how rows are grouped; not at all when None.
        """
        self.spec = spec
        self.sort = sort or spec.default_sort
        self.groups = groups
        self.query_text = ""
        """The filter as it was typed, also where it cannot be read."""
        self.query: Query = EVERYTHING
        self.is_notable_only = False
        self.rows: Rows[ItemT] | None = None
        """The rows that are shown; None before there are any."""
        self._built: _Built[ItemT] | None = None
        self._pages: Pages | None = None
        """The rows that were asked for last, where a session holds them."""
        self._paged: Rows[ItemT]

    # The recipe

    def set_filter(self, text: str) -> str:
        """Filter by a text and return what is wrong with it, nothing when it is understood."""
        self.query_text = text
        try:
            self.query = parse_query(text, self.spec.subject)
        except QueryError as error:
            return str(error)
        return ""

    def sort_by(self, column_id: str) -> bool:
        """Order by a column, by the present one in reverse; return whether there is such a column."""
        headings = {heading.id: heading for heading in self.spec.headings()}
        if column_id not in headings:
            return False
        is_same = self.sort.column_id == column_id
        self.sort = Sort(column_id, not self.sort.is_descending if is_same else headings[column_id].is_descending_first)
        return True

    def recipe(self) -> Recipe:
        """Return what rows are to be made by now."""
        by, folding = (self.groups.by, self.groups.folding) if self.groups is not None else (None, None)
        return Recipe(self.query, self.sort, self.is_notable_only, by, folding)

    # Rows

    def build(self, items: Sequence[ItemT], recipe: Recipe, now_ns: int) -> Rows[ItemT]:
        """Return the rows of some items; the same ones at another time while nothing has changed.

        May be called in a thread, once at a time.
        """
        known = self._built
        is_same = known is not None and known.items is items and known.recipe == recipe
        if known is not None and is_same and not self._is_time_filtered(recipe.query):
            return known.rows.at(now_ns)
        began = time.monotonic()
        rows = build_rows(
            self.spec,
            items,
            query=recipe.query,
            sort=recipe.sort,
            is_notable_only=recipe.is_notable_only,
            now_ns=now_ns,
        )
        shown = len(rows)
        if self.groups is not None and recipe.folding is not None:
            lines = self.groups.arranged(rows.items, recipe.grouping, recipe.folding)
            rows = Rows(self.spec, lines, total=len(items), now_ns=now_ns)
        now = time.monotonic()
        self._built = _Built(items, recipe, rows, shown, now - began, now)
        return rows

    def ask(self, border: Border, name: str, recipe: Recipe, now_ns: int) -> Rows[ItemT]:
        """Return the rows of a list that a session holds; its facts are fetched as they are looked at.

        May be called in a thread, once at a time.
        """
        wanted = RowsWanted(
            list=name,
            filter_text=recipe.query.text,
            sort=recipe.sort.column_id,
            is_descending=recipe.sort.is_descending,
            is_notable_only=recipe.is_notable_only,
            now_ns=now_ns,
        )
        found = border.rows(wanted)
        pages = self._pages
        if pages is None or pages.found != found or pages.border is not border:
            pages = self._pages = Pages(border, found)
            self._paged = Rows(self.spec, PagedFacts(pages), total=found.total, now_ns=now_ns, keys=PagedKeys(pages))
        return self._paged.at(now_ns)

    @property
    def found(self) -> RowsFound | None:
        """The rows that were asked of a session last; None where they are made here."""
        return self._pages.found if self._pages is not None else None

    def rests(self, times: float) -> bool:
        """Return whether rows were made so lately that they may stay: so many times as long ago as making them took."""
        known = self._built
        return known is not None and time.monotonic() < known.at + times * known.seconds

    @property
    def items(self) -> Sequence[ItemT]:
        """Every item, also those that the filter leaves out; none before there are rows."""
        return self._built.items if self._built is not None else ()

    @property
    def shown(self) -> int:
        """How many rows the filter leaves, without the headings of groups."""
        if self._pages is not None:
            return self._pages.found.shown
        return self._built.shown if self._built is not None else 0

    def at(self, index: int) -> ItemT | None:
        """Return the item of a row, of the last one where there are not so many; None without rows."""
        if self.rows is None or not len(self.rows):
            return None
        return self.rows.items[min(index, len(self.rows) - 1)]

    def with_keys(self, keys: frozenset[str]) -> list[ItemT]:
        """Return the items of some rows, in their order."""
        rows, pages = self.rows, self._pages
        if pages is not None:
            picked: Sequence[Any] = pages.border.pick(PickWanted(number=pages.found.number, keys=keys)).facts
            return list(picked)
        return [] if rows is None else [item for item, key in zip(rows.items, rows.keys, strict=True) if key in keys]

    def _is_time_filtered(self, query: Query) -> bool:
        return is_timed(query, self.spec.subject)
