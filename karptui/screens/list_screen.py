"""Keys that work on every table: filtering, sorting, copying and saving."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType

from karptui.kube.units import counted
from karptui.paths import typed_path
from karptui.screens.commands import CommandError
from karptui.screens.table_screen import TableScreen
from karptui.views.export import as_csv, as_text
from karptui.views.fields import FieldKind, ItemT, example
from karptui.views.query import EVERYTHING, Query, QueryError, parse_query
from karptui.views.row import Tone
from karptui.views.sanitize import clean
from karptui.views.table import Sort
from karptui.widgets.prompt import PromptMode
from karptui.widgets.row_table import SortRequested


class ListScreen(TableScreen[ItemT]):
    """A table of items with everything that can be done to any table."""

    BINDINGS: ClassVar[list[BindingType]] = [
        # As for the command line.
        Binding("slash", "filter", "Filter", key_display="/", id="list.filter", priority=True),
        Binding("ctrl+w", "wide", "Wide", id="list.wide", tooltip="Every column, with scrolling"),
        Binding("ctrl+z", "notable", "Faults", id="list.notable", tooltip="Only what is blocked or faulty"),
        Binding("c", "copy", "Copy name", show=False, id="list.copy"),
        Binding("ctrl+s", "save", "Save rows to a file", show=False, id="list.save"),
        Binding("N", "sort('name')", "Sort by name", show=False, id="list.sort-name"),
        Binding("A", "sort('age')", "Sort by age", show=False, id="list.sort-age"),
        Binding("S", "sort('status')", "Sort by status", show=False, id="list.sort-status"),
    ]

    _filter_before: Query = EVERYTHING
    """The filter that was set when the filter line was opened."""

    def prepare(self) -> None:
        """Start with the filter and layout that were asked for."""
        self.table.set_wide(is_wide=self.host.config.wide)
        if self.query_text:
            self.set_filter(self.query_text)
        super().prepare()
        self.table.focus()

    # Filtering

    def action_filter(self) -> None:
        """Open the filter line."""
        self._filter_before = self.filter_query
        self.prompt.open(PromptMode.FILTER, self.query_text)
        self._filter_hint()

    def set_filter(self, text: str) -> str:
        """Filter by a text and return what is wrong with it, nothing when it is understood."""
        self.query_text = text
        try:
            self.filter_query = parse_query(text, self.spec.subject)
        except QueryError as error:
            return str(error)
        return ""

    def filter_edited(self, text: str) -> None:
        """Filter while typing; what cannot be read yet, or may become a field's name, leaves the rows as they are."""
        last = text.rpartition(" ")[2].lower()
        if len(last) > 1 and any(name.startswith(last) for name in self.spec.subject.fields):
            self._filter_hint()
            return
        error = self.set_filter(text)
        if error:
            self.info.say(error, Tone.WARNING)
        else:
            self.show_state()
            self._filter_hint()

    def filter_entered(self, text: str) -> None:
        """Keep a filter; one that cannot be read gives way to the one before, with its error shown."""
        error = self.set_filter(text)
        if error:
            self.filter_query = self._filter_before
            self.query_text = self.filter_query.text
            self.say(error, Tone.WARNING)
        self.show_state()
        if not error:
            self.refresh_info()

    def _filter_hint(self) -> None:
        names = " ".join(self.spec.subject.fields)
        self.info.pieces = (
            ("word  !word  -l key=value  cpu>80%  age<2h  pool=spot*", Tone.NORMAL),
            (f"  fields: {names}", Tone.MUTED),
        )

    def release_one(self) -> bool:
        """Clear the filter, then the faults-only view, then the marks."""
        if self.query_text:
            self.filter_entered("")
        elif self.is_notable_only:
            self.action_notable()
        elif self.table.marked:
            self.table.clear_marks()
        else:
            return False
        return True

    # Other keys

    def action_wide(self) -> None:
        """Show every column, or those there is room for."""
        self.table.set_wide(is_wide=not self.table.is_wide)
        if self.table.is_wide:
            self.say(f"every column; ← → scroll, {self.key_of('list.wide', 'ctrl+w')} goes back", Tone.MUTED)

    def action_notable(self) -> None:
        """Show only what is blocked or faulty, or everything."""
        self.is_notable_only = not self.is_notable_only
        self.show_state()
        self.refresh_info()

    def action_sort(self, column_id: str) -> None:
        """Sort by a column; by the present one in reverse."""
        headings = {heading.id: heading for heading in self.spec.headings()}
        if column_id not in headings:
            return
        if self.sort_by.column_id == column_id:
            self.sort_by = Sort(column_id, not self.sort_by.is_descending)
        else:
            self.sort_by = Sort(column_id, headings[column_id].is_descending_first)
        self.show_state()

    @on(SortRequested)
    def _sort_requested(self, event: SortRequested) -> None:
        event.stop()
        self.action_sort(event.column_id)

    def chosen(self) -> list[ItemT]:
        """Return the marked items, or the one under the cursor."""
        if self._rows is None:
            return []
        marked = self.table.marked
        if marked:
            return [item for item, key in zip(self._rows.items, self._rows.keys, strict=True) if key in marked]
        return [] if self.current is None else [self.current]

    def action_copy(self) -> None:
        """Copy the names of the marked rows, or of the one under the cursor."""
        names = [clean(self.name_of(item)) for item in self.chosen()]
        if names:
            self.app.copy_to_clipboard("\n".join(names))
            self.say(f"copied {names[0] if len(names) == 1 else f'{len(names)} names'}", Tone.GOOD)

    def action_save(self) -> None:
        """Open the command line with a file to save the rows to."""
        instant = datetime.fromtimestamp(self.host.now_ns() // 1_000_000_000, UTC)
        self.action_command(f"save karptui-{self.spec.noun}-{instant:%Y%m%d-%H%M%S}.csv")

    def save_rows(self, target: str) -> str:
        """Write the rows with the columns that are drawn, as text for ``.txt`` and else as CSV; return what was done.

        Raises:
            CommandError: when the file cannot be written.
        """
        rows = self._rows
        if rows is None or not target:
            raise CommandError("save needs a file: :save nodes.csv, or .txt for aligned text")
        drawn = self.table.layout_columns
        shown = [index for index, heading in enumerate(self.spec.headings()) if heading in drawn]
        path = typed_path(target)
        write = as_text if path.suffix == ".txt" else as_csv
        try:
            path.write_text(write(self.spec.headings(), rows, shown), encoding="utf-8")
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror}") from error
        return f"{counted(len(rows), 'row')} saved to {path}"

    def help_text(self) -> Sequence[tuple[str, Sequence[tuple[str, str]]]]:
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
