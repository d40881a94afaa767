"""From items to the rows of a table: filtered, sorted, and built only when looked at."""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any, Final, Generic, overload

import msgspec

from karptui.views.column import Column, Heading, SortKey
from karptui.views.fields import ItemT
from karptui.views.query import EVERYTHING, Query, Subject, compile_query
from karptui.views.row import Row, Tone
from karptui.views.unseen import Told

_FIRST: Final = itemgetter(0)
_SORTED_AT_ONCE: Final = 4_000
_DIGITS: Final = re.compile(r"(\d+)")


class Sort(msgspec.Struct, frozen=True):
    """The column rows are ordered by."""

    column_id: str
    is_descending: bool = False


class TableSpec(msgspec.Struct, Generic[ItemT], frozen=True):
    """Everything a screen says about its table."""

    noun: str
    """What rows are, in the plural: "nodes"."""
    columns: tuple[Column[ItemT], ...]
    subject: Subject[ItemT]
    key: Callable[[ItemT], str]
    default_sort: Sort
    tone: Callable[[ItemT], Tone] = lambda _: Tone.NORMAL
    is_notable: Callable[[ItemT, int], bool] = lambda _item, _now_ns: False
    """Whether the row is blocked or faulty (ctrl-z)."""
    told: tuple[Told[ItemT], ...] = ()
    """Columns in words, for the line below a table that has no room for them; the most important first."""

    def headings(self) -> tuple[Heading, ...]:
        """Return the headings of the columns, in order."""
        return tuple(column.heading for column in self.columns)

    def column(self, column_id: str) -> Column[ItemT]:
        """Return a column by its id.

        Raises:
            KeyError: when there is none.
        """
        for column in self.columns:
            if column.heading.id == column_id:
                return column
        raise KeyError(column_id)


class Rows(Sequence[Row], Generic[ItemT]):
    """The rows of a table in order.

    Each is built when it is asked for, so a hundred thousand cost what is seen of them.
    """

    __slots__ = ("items", "keys", "now_ns", "spec", "total")

    def __init__(
        self,
        spec: TableSpec[ItemT],
        items: Sequence[ItemT],
        *,
        total: int,
        now_ns: int,
        keys: tuple[str, ...] | None = None,
    ) -> None:
        self.spec = spec
        self.items = items
        """The items behind the rows, in row order."""
        self.total = total
        """How many items there are without the filter."""
        self.now_ns = now_ns
        self.keys: tuple[str, ...] = tuple(map(spec.key, items)) if keys is None else keys
        """The row keys in order."""

    def at(self, now_ns: int) -> Rows[ItemT]:
        """Return the same rows at another time."""
        return Rows(self.spec, self.items, total=self.total, now_ns=now_ns, keys=self.keys)

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, index: int) -> Row: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Row]: ...

    def __getitem__(self, index: int | slice) -> Row | Sequence[Row]:
        """Build one row, or the rows of a slice."""
        if isinstance(index, slice):
            return [self._build(position) for position in range(*index.indices(len(self.items)))]
        return self._build(index)

    def __iter__(self) -> Iterator[Row]:
        return (self._build(position) for position in range(len(self.items)))

    def _build(self, position: int) -> Row:
        item = self.items[position]
        cells = tuple(column.cell(item, self.now_ns) for column in self.spec.columns)
        return Row(self.spec.key(item), cells, self.spec.tone(item))


def build_rows(
    spec: TableSpec[ItemT],
    items: Sequence[ItemT],
    *,
    query: Query = EVERYTHING,
    sort: Sort | None = None,
    is_notable_only: bool = False,
    now_ns: int,
) -> Rows[ItemT]:
    """Filter and sort items into rows.

    Args:
        spec: the table.
        items: every item, in any order.
        query: the filter.
        sort: the order; the table's default when None or when it names no column.
        is_notable_only: whether to leave out rows that are neither blocked nor faulty.
        now_ns: nanoseconds since the epoch, for ages.
    """
    shown: Sequence[ItemT] = items
    if query:
        test = compile_query(query, spec.subject, now_ns)
        shown = [item for item in shown if test(item)]
    if is_notable_only:
        shown = [item for item in shown if spec.is_notable(item, now_ns)]
    return Rows(spec, sort_items(spec, shown, sort or spec.default_sort, now_ns), total=len(items), now_ns=now_ns)


def sort_items(spec: TableSpec[ItemT], items: Sequence[ItemT], sort: Sort, now_ns: int) -> list[ItemT]:
    """Return the items in order: by the column, then by key; items without a value come last either way."""
    try:
        column = spec.column(sort.column_id)
    except KeyError:
        sort = spec.default_sort
        column = spec.column(sort.column_id)
    value, value_at = column.sort, column.sort_at
    with_value: list[tuple[Any, ItemT]] = []
    without: list[ItemT] = []
    by_key = sort_gently([(spec.key(item), item) for item in items])
    for _, item in by_key:
        place: SortKey = value(item) if value_at is None else value_at(item, now_ns)
        if place is None:
            without.append(item)
        else:
            with_value.append((place, item))
    return [item for _, item in sort_gently(with_value, is_descending=sort.is_descending)] + without


def sort_gently(pairs: list[tuple[Any, ItemT]], *, is_descending: bool = False) -> list[tuple[Any, ItemT]]:
    """Sort pairs by their first part, keeping the order of equals, without shutting other threads out for long.

    One sort of a hundred thousand rows would hold the interpreter for as long as it takes, and with it every key; sorts
    of some thousands that are merged afterwards do not.
    """
    if len(pairs) <= _SORTED_AT_ONCE:
        return sorted(pairs, key=_FIRST, reverse=is_descending)
    chunks = (pairs[start : start + _SORTED_AT_ONCE] for start in range(0, len(pairs), _SORTED_AT_ONCE))
    runs = [sorted(chunk, key=_FIRST, reverse=is_descending) for chunk in chunks]
    return list(heapq.merge(*runs, key=_FIRST, reverse=is_descending))


def natural_key(text: str) -> tuple[float | str, ...]:
    """Return a sort key by which ``node-9`` comes before ``node-10``.

    Text and numbers alternate, so keys always compare.
    """
    parts = _DIGITS.split(text)
    return tuple(float(part) if index % 2 else part for index, part in enumerate(parts))
