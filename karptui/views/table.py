"""From items to the rows of a table: filtered, sorted, and built only when looked at."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Generic, overload

import msgspec

from karptui.views.column import Column, Field, Heading, ItemT, Value, in_published_order, natural_keys, plain
from karptui.views.filters import EVERYTHING, Query, Subject, compile_query
from karptui.views.row import Pieces, Row, Tone
from karptui.views.sanitize import clean

_URGENT: Final = frozenset({Tone.WARNING, Tone.FAULT})


class Sort(msgspec.Struct, frozen=True):
    """The column rows are ordered by."""

    column_id: str
    is_descending: bool = False


class TableSpec(msgspec.Struct, Generic[ItemT], frozen=True):
    """Everything a screen says about its table, and a command about its rows."""

    noun: str
    """What rows are, in the plural: "nodes"."""
    columns: tuple[Column[ItemT], ...]
    key: Callable[[ItemT], str]
    default_sort: Sort
    text: Callable[[ItemT], str]
    """Lower-case text that plain words of a filter are looked for in."""
    labels: Callable[[ItemT], Mapping[str, str]] | None = None
    """Labels that filters can select by; None if items have none."""
    more_filters: Mapping[str, Field[ItemT]] = {}
    """Filters in addition to the columns' filters."""
    more_values: tuple[Value[ItemT], ...] = ()
    """Values for scripts in addition to the columns' values."""
    declared: tuple[Column[ItemT], ...] = ()
    """All columns, hidden ones included, for filters and scripts; empty if none is hidden."""
    csv: tuple[str, ...] = ()
    """Names of the values that CSV holds, in their order; empty if it holds all."""
    tone: Callable[[ItemT], Tone] = lambda _: Tone.NORMAL
    is_notable: Callable[[ItemT, int], bool] = lambda _item, _now_ns: False
    """Whether the row is blocked or faulty (ctrl-z)."""

    @property
    def every(self) -> tuple[Column[ItemT], ...]:
        """All columns, hidden ones included."""
        return self.declared or self.columns

    def without(self, *column_ids: str) -> TableSpec[ItemT]:
        """Return the table without some columns."""
        shown = tuple(column for column in self.columns if column.heading.id not in column_ids)
        return msgspec.structs.replace(self, columns=shown, declared=self.every)

    @property
    def subject(self) -> Subject[ItemT]:
        """Filterable fields."""
        filters: dict[str, Field[ItemT]] = {}
        for column in self.every:
            filters |= column.every_filter()
        filters |= self.more_filters
        return Subject(self.text, filters, self.labels)

    @property
    def has_words(self) -> bool:
        """Whether hidden columns appear in the line below."""
        return any(column.words is not None for column in self.columns)

    def headings(self) -> tuple[Heading, ...]:
        """Return the headings of the columns, in order."""
        return tuple(column.heading for column in self.columns)

    def column(self, column_id: str) -> Column[ItemT]:
        """Return a column by its id. Raises KeyError when there is none."""
        for column in self.columns:
            if column.heading.id == column_id:
                return column
        raise KeyError(column_id)

    def published(self) -> tuple[Value[ItemT], ...]:
        """Return the values of JSON and CSV, in their order."""
        values = (value for column in self.every for value in column.every_value())
        return in_published_order((*values, *self.more_values))

    def csv_values(self) -> tuple[Value[ItemT], ...]:
        """Return the values of CSV, in their order."""
        by_name = {value.name: value for value in self.published()}
        return tuple(by_name[name] for name in self.csv or by_name)

    def values(self, item: ItemT, now_ns: int) -> dict[str, Any]:
        """Return an item as plain values, by their names in JSON."""
        return plain(self.published(), item, now_ns)

    def facts_without_room(self, unseen: Container[str], item: ItemT, now_ns: int) -> tuple[Pieces, ...]:
        """Return the texts of hidden columns, warnings first, then by importance.

        Args:
            unseen: Ids of columns that are hidden, or cut in this row.
        """
        named_words = [(column.words, column.heading.id) for column in self.columns if column.words is not None]
        facts: list[Pieces] = []
        is_open = False
        for words, column_id in sorted(named_words, key=lambda entry: entry[0].place):
            is_open = is_open and words.joins
            if column_id not in unseen:
                continue
            piece = words.say(item, now_ns)
            if not piece[0]:
                continue
            if is_open:
                facts[-1] = (*facts[-1], (" ", Tone.NORMAL), piece)
            else:
                facts.append((piece,))
            is_open = True
        return tuple(sorted(facts, key=lambda fact: all(tone not in _URGENT for _, tone in fact)))


class Rows(Sequence[Row], Generic[ItemT]):
    """Rows of a table in order, each built on first access."""

    __slots__ = ("items", "keys", "now_ns", "spec", "total")

    def __init__(
        self,
        spec: TableSpec[ItemT],
        items: Sequence[ItemT],
        *,
        total: int,
        now_ns: int,
        keys: Sequence[str] | None = None,
    ) -> None:
        self.spec = spec
        self.items = items
        """The items behind the rows, in row order."""
        self.total = total
        """How many items there are without the filter."""
        self.now_ns = now_ns
        self.keys: Sequence[str] = tuple(map(spec.key, items)) if keys is None else keys
        """The row keys in order."""

    def with_keys(self, keys: frozenset[str]) -> list[ItemT]:
        """Return the items of some rows, in their order."""
        return [item for item, key in zip(self.items, self.keys, strict=True) if key in keys]

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
        if isinstance(index, slice):
            return [self._build(position) for position in range(*index.indices(len(self.items)))]
        return self._build(index)

    def __iter__(self) -> Iterator[Row]:
        return (self._build(position) for position in range(len(self.items)))

    def values(self) -> list[dict[str, Any]]:
        """Return every item as plain values, for JSON."""
        published = self.spec.published()
        return [plain(published, item, self.now_ns) for item in self.items]

    def flat_values(self) -> Iterator[dict[str, Any]]:
        """Yield every item as plain values, for CSV."""
        columns = self.spec.csv_values()
        for item in self.items:
            read = ((value, value.read(item, self.now_ns)) for value in columns)
            yield {value.name: held if value.flat is None else value.flat(held) for value, held in read}

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
        sort: the order; the table's default when None or when it names no column.
    """
    shown: Sequence[ItemT] = items
    if query:
        test = compile_query(query, spec.subject, now_ns)
        shown = [item for item in shown if test(item)]
    if is_notable_only:
        shown = [item for item in shown if spec.is_notable(item, now_ns)]
    ordered, keys = sort_items(spec, shown, sort or spec.default_sort, now_ns)
    return Rows(spec, ordered, total=len(items), now_ns=now_ns, keys=keys)


def sort_items(
    spec: TableSpec[ItemT], items: Sequence[ItemT], sort: Sort, now_ns: int
) -> tuple[list[ItemT], tuple[str, ...]]:
    """Return the items and their keys, ordered by column and then key; items without a value come last either way."""
    try:
        column = spec.column(sort.column_id)
    except KeyError:
        sort = spec.default_sort
        column = spec.column(sort.column_id)
    value, value_at = column.sort, column.sort_at
    values: list[Any] = [*map(value, items)] if value_at is None else [value_at(item, now_ns) for item in items]
    if isinstance(next((value for value in values if value is not None), None), str):
        values = natural_keys(values)
    keys = [*map(spec.key, items)]
    by_key = sorted(range(len(items)), key=keys.__getitem__)
    without_value = [index for index in by_key if values[index] is None] if None in values else []
    with_value = [index for index in by_key if values[index] is not None] if without_value else by_key
    value_of: Callable[[int], Any] = values.__getitem__  # None is not among them
    order = sorted(with_value, key=value_of, reverse=sort.is_descending) + without_value
    return [*map(items.__getitem__, order)], tuple(map(keys.__getitem__, order))


_FORMULA: Final = re.compile(r"[=@\t\r]|[+-](?!$|[\d.,]+ ?[A-Za-z%$/µ]{0,10}$)")
"""Signed amounts are none, and neither is a dash alone."""


def as_csv(headings: Sequence[Heading], rows: Iterable[Row], shown: Sequence[int]) -> str:
    """Return rows as CSV with the columns' ids as header."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([headings[index].id for index in shown])
    writer.writerows([without_formula(row.cells[index].text) for index in shown] for row in rows)
    return buffer.getvalue()


def without_formula(text: str) -> str:
    """Return a cell's text, with an apostrophe before anything a spreadsheet would run as a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def as_text(headings: Sequence[Heading], rows: Iterable[Row], shown: Sequence[int]) -> str:
    """Return rows as aligned columns of text; takes the arguments of ``as_csv``."""
    lines = [[headings[index].title for index in shown]]
    lines += [[clean(row.cells[index].text) for index in shown] for row in rows]
    right = [place for place, index in enumerate(shown) if headings[index].is_right_aligned]
    return "\n".join(aligned(lines, right)) + "\n"


def aligned(lines: Sequence[Sequence[str]], right: Container[int] = ()) -> Iterator[str]:
    """Yield lines of cells as text in columns; some columns, by place, are aligned to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = zip(line, widths, strict=True)
        yield "  ".join(
            text.rjust(width) if place in right else text.ljust(width) for place, (text, width) in enumerate(cells)
        ).rstrip()
