"""What a list shows, without a screen: its filter, order and groups, and the rows they leave."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from operator import is_
from typing import Any, Final, Generic, TypeVar

from karptui.files import write_file
from karptui.kube.units import count_text, counted
from karptui.paths import typed_path
from karptui.screens.command_line import CommandError
from karptui.screens.row_sources import Recipe, RowSource
from karptui.session.grouping import Folding, GroupHeading, Grouping
from karptui.session.status import KindStatus
from karptui.views.column import FieldKind, Heading, ItemT, example
from karptui.views.query import EVERYTHING, Query, QueryError, parse_query
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.sources import no_rows
from karptui.views.table import Rows, Sort, TableSpec, as_csv, as_text

_OTHER_FORMATS: Final = frozenset(
    f".{ending}"
    for ending in (
        *("json", "jsonl", "ndjson", "yaml", "yml", "xml", "html", "htm", "md", "tsv"),
        *("xls", "xlsx", "ods", "parquet", "pdf", "svg", "png", "gz", "zip"),
    )
)
"""Endings of files in formats that rows are not saved in."""

GroupingT = TypeVar("GroupingT", bound=Grouping)
ValueT = TypeVar("ValueT")


def shown_of_all(shown: int, total: int) -> str:
    """Return how many rows are shown, and of how many if not all are."""
    return count_text(total) if shown == total else f"{count_text(shown)}/{count_text(total)}"


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

    def __init__(self, by: GroupingT, *, ungrouped_text: str = "") -> None:
        """Make the groups.

        Args:
            by: what groups have in common at first.
            ungrouped_text: what the title says where there are no groups.
        """
        self.by = by
        self.folding = Folding()
        self._ungrouped_text = ungrouped_text

    @property
    def text(self) -> str:
        """What the title says of the groups."""
        return f"by {self.by}" if self.by.has_groups else self._ungrouped_text

    def use(self, by: GroupingT) -> None:
        """Group by something else; what was folded stays so."""
        self.by, self.folding = by, self.folding._replace(exceptions=frozenset())

    def advance(self) -> str:
        """Group by the next thing, and return it in words."""
        self.use(self.by.next)
        return f"grouped by {self.by}" if self.by.has_groups else "not grouped"

    def fold_all(self, lines: Sequence[ItemT]) -> None:
        """Unfold groups where all are folded, then those that open last, then fold them all."""
        headings = [line for line in lines if isinstance(line, GroupHeading)]
        usual = [line for line in headings if not line.opens_last]
        if not any(not line.is_folded for line in headings):
            self.folding = Folding(is_folded=False, opens_all=not usual)
        elif len(usual) < len(headings) and not any(line.is_folded for line in usual) and not self.folding.opens_all:
            self.folding = Folding(is_folded=False, opens_all=True)
        else:
            self.folding = Folding(is_folded=True)

    def toggle(self, name: str) -> None:
        """Fold or unfold one group."""
        self.folding = self.folding.toggled(name)


class Listing(Generic[ItemT]):
    """The filter, order and groups of a list, and the rows that were made by them last."""

    def __init__(
        self,
        spec: TableSpec[ItemT],
        source: RowSource[ItemT],
        *,
        sort: Sort | None = None,
        groups: Groups[ItemT, Any] | None = None,
    ) -> None:
        """Make a list that has no rows yet.

        Args:
            spec: the table.
            source: gives the rows.
            sort: the order it starts with; the table's own when None.
            groups: how rows are grouped; not at all when None.
        """
        self.spec = spec
        self.source = source
        self.sort = sort or spec.default_sort
        self.groups = groups
        self.query_text = ""
        """The filter as it was typed, also where it cannot be read."""
        self.query: Query = EVERYTHING
        self.is_notable_only = False
        self.rows: Rows[ItemT] | None = None
        """The rows that are shown; None before there are any."""
        self._query_before: Query = EVERYTHING
        """The filter that was set when somebody began to type another."""

    # The recipe

    def set_filter(self, text: str) -> str:
        """Filter by a text and return what is wrong with it, nothing when it is understood."""
        self.query_text = text
        try:
            self.query = parse_query(text, self.spec.subject)
        except QueryError as error:
            return str(error)
        return ""

    def begin_filter(self) -> None:
        """Remember the filter there is, while another is typed."""
        self._query_before = self.query

    def end_filter(self, text: str) -> str:
        """Filter by what was typed in the end; where it cannot be read go back, and return what is wrong with it."""
        error = self.set_filter(text)
        if error:
            self.query, self.query_text = self._query_before, self._query_before.text
        return error

    def is_field_begun(self, text: str) -> bool:
        """Return whether the last word of a filter may become the name of a field."""
        last = text.rpartition(" ")[2].lower()
        return len(last) > 1 and any(name.startswith(last) for name in self.spec.subject.fields)

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

    def make(self, now_ns: int) -> Rows[ItemT]:
        """Return the rows there are now; may be called in a thread, once at a time."""
        return self.source.rows(self.spec, self.recipe(), now_ns)

    @property
    def shown(self) -> int:
        """How many rows the filter leaves, without the headings of groups."""
        return self.source.shown

    def at(self, index: int) -> ItemT | None:
        """Return the item of a row, of the last one where there are not so many; None without rows."""
        if self.rows is None or not len(self.rows):
            return None
        return self.rows.items[min(index, len(self.rows) - 1)]

    def with_keys(self, keys: frozenset[str]) -> list[ItemT]:
        """Return the items of some rows, in their order."""
        return self.source.with_keys(self.rows, keys) if self.rows is not None else []

    def save(self, target: str, drawn: Container[Heading]) -> str:
        """Write the rows with the columns that are drawn, as text for ``.txt`` and else as CSV; return what was done.

        A name may end in anything that means no other format: a date has dots too.

        Args:
            target: the file, as it was typed.
            drawn: headings of the columns that are drawn.

        Raises:
            CommandError: when the file's name means another format, or it cannot be written.
        """
        if self.rows is None or not target:
            raise CommandError("save needs a file: :save nodes.csv, or .txt for aligned text")
        headings, path = self.spec.headings(), typed_path(target)
        shown = [index for index, heading in enumerate(headings) if heading in drawn]
        suffix = path.suffix.lower()
        if suffix in _OTHER_FORMATS:
            raise CommandError(f"rows are saved as .csv or .txt, not {path.suffix}; commands print JSON with -o json")
        write = as_text if suffix == ".txt" else as_csv
        try:
            write_file(path, write(headings, self.rows, shown).encode("utf-8", "replace"), may_replace=True)
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror}") from error
        return f"{counted(len(self.rows), 'row')} saved to {path}"

    # Words

    def counts(self) -> str:
        """Return how many rows there are, and of how many."""
        return shown_of_all(self.shown, self.rows.total if self.rows is not None else 0)

    def words(self) -> Iterator[str]:
        """Yield how rows are grouped and filtered; nothing for what they are not."""
        yield self.groups.text if self.groups is not None else ""
        yield clean(self.query.text)

    def no_rows(self, total: int, status: KindStatus | None, now_ns: int, notable_key: str) -> Pieces:
        """Return what stands in the place of rows while there are none, a piece a line.

        Args:
            total: how many items there are without the filter.
            status: how the source stands with their kind.
            now_ns: the present instant: nanoseconds since the epoch.
            notable_key: the key that shows only notable rows.
        """
        return no_rows(
            status,
            self.spec.noun,
            now_ns,
            total=total,
            filter_text=self.query.text,
            is_notable=self.is_notable_only,
            notable_key=notable_key,
        )

    def filter_hint(self) -> Pieces:
        """Return what a filter can be."""
        return (
            ("word  !word  -l key=value  cpu>80%  age<2h  pool=spot*", Tone.NORMAL),
            (f"  fields: {' '.join(self.spec.subject.fields)}", Tone.MUTED),
        )

    def help_text(self) -> tuple[tuple[str, Sequence[tuple[str, str]]], ...]:
        """Explain the columns and what filters can ask."""
        columns = [(heading.title, heading.help) for heading in self.spec.headings()]
        filters = [
            ("word !word", "rows that have the word, or that do not; * and ? stand for anything"),
            ("-l key=value", "labels as kubectl selects them: k=v, k!=v, k, !k, 'k in (a,b)'"),
        ]
        for name, field in self.spec.subject.fields.items():
            sign = "=" if field.kind is FieldKind.TEXT else ">"
            filters.append((f"{name}{sign}{example(field.kind, has_share=field.share is not None)}", field.help))
        return ("Columns", columns), ("Filter", filters)
