"""The state of a list without a screen: filter, order and groups, and the resulting rows; and the keys of lists."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from operator import is_
from typing import Any, Final, Generic, TypeVar

from textual.binding import Binding, BindingType

from karptui.decode.kinds import KindStatus
from karptui.files import write_file
from karptui.kube.units import count_text, counted
from karptui.paths import typed_path
from karptui.screens.command_line import CommandError
from karptui.screens.row_sources import Recipe, RowSource
from karptui.session.grouping import Folding, GroupHeading, Grouping
from karptui.views.column import FieldKind, Heading, ItemT, example
from karptui.views.filters import EVERYTHING, Query, QueryError, parse_query
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
    """Return the number of shown rows, and the total if it differs."""
    return count_text(total) if shown == total else f"{count_text(shown)}/{count_text(total)}"


class Kept(Generic[ValueT]):
    """A value that is recomputed only if its inputs change."""

    def __init__(self) -> None:
        self._cached: tuple[tuple[object, ...], ValueT] | None = None

    @property
    def latest(self) -> ValueT | None:
        """The last value; None before the first."""
        return self._cached[1] if self._cached is not None else None

    def get(self, made_from: tuple[object, ...], make: Callable[[], ValueT]) -> ValueT:
        """Return the value; recompute it if one of its inputs is another object."""
        cached = self._cached
        if cached is not None and len(cached[0]) == len(made_from) and all(map(is_, cached[0], made_from)):
            return cached[1]
        value = make()
        self._cached = made_from, value
        return value


class Groups(Generic[ItemT, GroupingT]):
    """Grouping of rows, and the folded groups."""

    def __init__(self, by: GroupingT, *, ungrouped_text: str = "") -> None:
        self.by = by
        self.folding = Folding()
        self._ungrouped_text = ungrouped_text

    @property
    def text(self) -> str:
        return f"by {self.by}" if self.by.has_groups else self._ungrouped_text

    def use(self, by: GroupingT) -> None:
        """Change the grouping; folded groups stay folded."""
        self.by, self.folding = by, self.folding._replace(exceptions=frozenset())

    def advance(self) -> str:
        self.use(self.by.next)
        return f"grouped by {self.by}" if self.by.has_groups else "not grouped"

    def fold_all(self, lines: Sequence[ItemT]) -> None:
        """Unfold groups if all are folded, then the last ones, then fold all."""
        headings = [line for line in lines if isinstance(line, GroupHeading)]
        usual = [line for line in headings if not line.opens_last]
        if not any(not line.is_folded for line in headings):
            self.folding = Folding(is_folded=False, opens_all=not usual)
        elif len(usual) < len(headings) and not any(line.is_folded for line in usual) and not self.folding.opens_all:
            self.folding = Folding(is_folded=False, opens_all=True)
        else:
            self.folding = Folding(is_folded=True)

    def toggle(self, name: str) -> None:
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
        self.spec = spec
        self.source = source
        self.sort = sort or spec.default_sort
        self.groups = groups
        self.query_text = ""
        """The typed filter, even if invalid."""
        self.query: Query = EVERYTHING
        self.is_notable_only = False
        self.rows: Rows[ItemT] | None = None
        """The rows that are shown; None before there are any."""
        self._query_before: Query = EVERYTHING
        """The filter before the user began to type another one."""

    # The recipe

    def set_filter(self, text: str) -> str:
        """Set the filter; return an error message, empty if valid."""
        self.query_text = text
        try:
            self.query = parse_query(text, self.spec.subject)
        except QueryError as error:
            return str(error)
        return ""

    def begin_filter(self) -> None:
        self._query_before = self.query

    def end_filter(self, text: str) -> str:
        """Finish typing a filter; if it is invalid, restore the previous one and return an error message."""
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
        """Return the item of a row, the last one if the index is too large; None without rows."""
        if self.rows is None or not len(self.rows):
            return None
        return self.rows.items[min(index, len(self.rows) - 1)]

    def with_keys(self, keys: frozenset[str]) -> list[ItemT]:
        return self.rows.with_keys(keys) if self.rows is not None else []

    def save(self, target: str, drawn: Container[Heading]) -> str:
        """Save the rows with the drawn columns, as text for ``.txt`` and else as CSV; return a message.

        Any ending that means no other format is allowed: dates have dots too.

        Raises:
            CommandError: if the file's name means another format, or it cannot be written.
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
        return shown_of_all(self.shown, self.rows.total if self.rows is not None else 0)

    def words(self) -> Iterator[str]:
        """Yield the grouping and the filter as text, if any."""
        yield self.groups.text if self.groups is not None else ""
        yield clean(self.query.text)

    def no_rows(self, total: int, status: KindStatus | None, now_ns: int, notable_key: str) -> Pieces:
        """Return the text shown if there are no rows, one piece per line."""
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
        return (
            ("word  !word  -l key=value  cpu>80%  age<2h  pool=spot*", Tone.NORMAL),
            (f"  fields: {' '.join(self.spec.subject.fields)}", Tone.MUTED),
        )

    def help_text(self) -> tuple[tuple[str, Sequence[tuple[str, str]]], ...]:
        columns = [(heading.title, heading.help) for heading in self.spec.headings()]
        filters = [
            ("word !word", "rows with the word, or without; * and ? match anything"),
            ("-l key=value", "labels as kubectl selects them: k=v, k!=v, k, !k, 'k in (a,b)'"),
        ]
        for name, field in self.spec.subject.fields.items():
            sign = "=" if field.kind is FieldKind.TEXT else ">"
            filters.append((f"{name}{sign}{example(field.kind, has_share=field.share is not None)}", field.help))
        return ("Columns", columns), ("Filter", filters)


LIST_KEYS: Final[list[BindingType]] = [
    # As for the command line.
    Binding("slash", "filter", "Filter", key_display="/", id="list.filter", priority=True),
    Binding("ctrl+w", "wide", "Wide", id="list.wide", tooltip="Every column, with scrolling"),
    Binding("ctrl+z", "notable", "Faults", id="list.notable", tooltip="Blocked and faulty rows only"),
    Binding("c", "copy", "Copy name", show=False, id="list.copy"),
    Binding("ctrl+s", "save", "Save rows to a file", show=False, id="list.save"),
    Binding("N", "sort('name')", "Sort by name", show=False, id="list.sort-name"),
    Binding("A", "sort('age')", "Sort by age", show=False, id="list.sort-age"),
    Binding("S", "sort('status')", "Sort by status", show=False, id="list.sort-status"),
    Binding("y", "yaml", "YAML", show=False, id="object.yaml"),
    Binding("d", "describe", "Describe", show=False, id="object.describe"),
    Binding("e", "explain_why", "Explain", show=False, id="object.explain"),
]
OPEN_OBJECT: Final = Binding(
    "o", "open_object", "Open object", id="object.open", tooltip="Go to the object under the cursor"
)
"""For screens whose rows are about objects of several kinds."""
CHURN: Final = Binding(
    "u", "run_command('churn')", "Churn", show=False, id="churn.open", tooltip="How often nodes are replaced, and why"
)
"""For screens about churn; not on Nodes, where ``u`` may mean uncordon."""
HEADROOM: Final = Binding(
    "H",
    "headroom",
    "Headroom",
    show=False,
    id="headroom.open",
    tooltip="How many more pods fit: before a node is needed, before limits stop it",
)
"""For screens whose rows are about pods, or NodePools."""
