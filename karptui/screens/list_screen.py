"""A screen around one list: a table, what stands above and below it, and the keys that work on every list.

A screen says in its own file what its items are, what is said of one, and what its keys open. A story under the table,
groups, and widgets above or below are given as values.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar, Final, Generic, TypeAlias

from textual import getters, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widget import Widget

from karptui.decode.kinds import Kind
from karptui.kube.units import count_text, counted
from karptui.paths import typed_path
from karptui.screens import routes
from karptui.screens.command_line import CommandError
from karptui.screens.frame import FrameScreen, HelpSections
from karptui.screens.listing import Groups, Listing
from karptui.session.cluster_view import ClusterView
from karptui.views.column import FieldKind, ItemT, example
from karptui.views.export import as_csv, as_text
from karptui.views.grouping import GroupHeading
from karptui.views.health import no_rows
from karptui.views.query import EVERYTHING, Query
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.table import Rows, Sort, TableSpec
from karptui.widgets.hanging import hanging
from karptui.widgets.prompt import PromptMode
from karptui.widgets.row_table import (
    ColumnsChanged,
    MarksChanged,
    RowHighlighted,
    RowSelected,
    RowTable,
    SortRequested,
)
from karptui.widgets.sentences import Sentences

BUILT_AT_ONCE: Final = 3_000
"""Items of which rows are built at once; more are built in a thread."""
_OBJECT_ACTIONS: Final = frozenset({"yaml", "describe", "explain_why"})

OPEN_OBJECT: Final = Binding(
    "o", "open_object", "Open object", id="object.open", tooltip="Go to the object under the cursor"
)
"""For screens whose rows are about objects of several kinds."""
CHURN: Final = Binding(
    "u",
    "run_command('churn')",
    "Churn",
    show=False,
    id="churn.open",
    tooltip="How often nodes are replaced, and why",
)
"""For screens where one may wonder why nodes come and go; on Nodes habit takes ``u`` for uncordon."""

Story: TypeAlias = Callable[[ItemT], tuple[Pieces, ...]]
"""From an item to sentences, a line each."""


class ListScreen(FrameScreen, Generic[ItemT]):
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
        Binding("y", "yaml", "YAML", show=False, id="object.yaml"),
        Binding("d", "describe", "Describe", show=False, id="object.describe"),
        Binding("e", "explain_why", "Explain", show=False, id="object.explain"),
    ]

    title_text: str = ""
    """What the table is called."""
    notable_text: ClassVar[str] = "blocked or faulty only"
    """What the title says while only notable rows are shown."""
    kind: ClassVar[str] = ""
    """The kind whose status says why there are no rows."""
    served: ClassVar[str] = ""
    """Name of the list at the session's border, which is asked for rows by window; empty where rows are made here."""
    works_out_types: ClassVar[bool] = False
    """Whether items hold the instance types of NodePools: a tenth of a second even for few of them."""
    has_objects: ClassVar[bool] = True
    """Whether rows are of objects, which can be shown as YAML, described and explained."""
    is_explanation: ClassVar[bool] = False
    """Whether the screen is where ``e`` leads to."""

    table = getters.query_one(RowTable)

    def __init__(
        self,
        spec: TableSpec[ItemT],
        *,
        sort: Sort | None = None,
        story: Story[ItemT] | None = None,
        is_story_hanging: bool = False,
        groups: Groups[ItemT, Any] | None = None,
        above: Sequence[Widget] = (),
        below: Sequence[Widget] = (),
    ) -> None:
        """Make the screen.

        Args:
            spec: the table.
            sort: the order it starts with; the table's own when None.
            story: what is said of the row under the cursor below the table, where one line does not hold it.
            is_story_hanging: whether what follows the first line of a sentence is set in.
            groups: how rows are grouped; not at all when None.
            above: what stands above the table.
            below: what stands below the table and the story.
        """
        super().__init__()
        self.listing = Listing(spec, sort=sort, groups=groups)
        self.story = Sentences(id="story") if story is not None else None
        self._story_of, self._is_story_hanging = story, is_story_hanging
        self._above, self._below = tuple(above), tuple(below)
        self._filter_before: Query = EVERYTHING
        """The filter that was set when the filter line was opened."""
        self._title = ""
        self._is_building = False
        self._is_outdated = False

    def compose_body(self) -> ComposeResult:
        """Yield the table between what stands above and below it."""
        yield from self._above
        yield RowTable(self.listing.spec.headings())
        if self.story is not None:
            yield self.story
        yield from self._below

    def prepare(self) -> None:
        """Start with the filter and layout that were asked for."""
        self.table.set_wide(is_wide=self.host.config.wide)
        if self.listing.query_text:
            self.listing.set_filter(self.listing.query_text)
        super().prepare()
        self.table.focus()

    def use_table(self, spec: TableSpec[ItemT]) -> None:
        """Show other columns than those the screen was made with."""
        self.listing.spec = spec
        self.table.set_headings(spec.headings())

    def focus_body(self) -> None:
        """Give the keys back to the table."""
        self.table.focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether an action may be taken: keys on objects only where there are objects."""
        if action in _OBJECT_ACTIONS and not self.has_objects:
            return False
        return super().check_action(action, parameters)

    # What a screen says of its items

    def items_of(self, view: ClusterView) -> Sequence[ItemT]:
        """Return every item of a view; the same object for the same view. May be called in a thread.

        Only where rows are made here.
        """
        raise NotImplementedError

    @abstractmethod
    def name_of(self, item: ItemT) -> str:
        """Return what ``c`` copies."""

    def item_count(self) -> int:
        """Return about how many items there are now."""
        if self.served:
            return self.host.border.overview().sizes[self.served]
        return self.size_of(self.host.view)

    def size_of(self, view: ClusterView) -> int:
        """Return about how many items a view has, without making them; too many where each is dear."""
        if self.works_out_types:
            return BUILT_AT_ONCE + 1 if view.state.nodepools else 0
        return len(view.state.of(Kind(self.kind))) if self.kind else 0

    def explain_item(self, item: ItemT) -> Pieces:  # noqa: ARG002 - a story explains it, where there is one
        """Return what the information line says about an item."""
        return ()

    def open_row(self, item: ItemT) -> None:
        """Do what ``enter`` does on a row that is no heading."""

    def placeholder(self, rows: Rows[ItemT]) -> Pieces:
        """Return what stands in the place of rows while there are none, a piece a line."""
        listing = self.listing
        return no_rows(
            self.host.border.overview().statuses.get(self.kind),
            listing.spec.noun,
            self.host.now_ns(),
            total=rows.total,
            filter_text=listing.query.text,
            is_notable=listing.is_notable_only,
            notable_key=self.key_of("list.notable", "ctrl+z"),
        )

    def summary(self) -> str:
        """Return what the title says of all rows."""
        return ""

    @property
    def current(self) -> ItemT | None:
        """The item under the cursor."""
        return self.listing.at(self.table.cursor_index)

    def chosen(self) -> list[ItemT]:
        """Return the marked items, or the one under the cursor."""
        if self.table.marked:
            return self.listing.with_keys(self.table.marked)
        return [] if self.current is None else [self.current]

    # Showing

    def show_state(self) -> None:
        """Build the rows when items, filter or order changed; otherwise only move the time on."""
        if self.item_count() <= BUILT_AT_ONCE:
            self.show_rows(self._build())
        else:
            self._is_outdated = True
            if not self._is_building:
                self._build_aside()

    def _build(self) -> Rows[ItemT]:
        if self.served:
            return self.listing.ask(self.host.border, self.served, self.listing.recipe(), self.host.now_ns())
        view = self.host.view
        return self.listing.build(self.items_of(view), self.listing.recipe(), self.host.now_ns())

    @work(group="rows")
    async def _build_aside(self) -> None:
        """Build the rows of long lists without holding up keys, again as long as something newer is asked for."""
        self._is_building = True
        try:
            while self._is_outdated and self.is_attached:
                self._is_outdated = False
                rows = await asyncio.to_thread(self._build)
                if self.is_attached:
                    self.show_rows(rows)
                    self.refresh_info()
        finally:
            self._is_building = False

    def show_rows(self, rows: Rows[ItemT]) -> None:
        """Show rows in the table, or why there are none."""
        self.listing.rows = rows
        with self.app.batch_update():
            self._show_title()
            self.table.set_placeholder(*self.placeholder(rows))
            self.table.set_rows(rows, self.listing.sort)

    @property
    def table_title(self) -> str:
        """What the title of the table begins with."""
        return self.title_text

    def title_parts(self) -> Iterator[str]:
        """Yield what the title says, part by part; empty ones are left out."""
        listing, rows = self.listing, self.listing.rows
        shown, total = listing.shown, rows.total if rows is not None else 0
        count = count_text(total) if shown == total else f"{count_text(shown)}/{count_text(total)}"
        yield f"{self.table_title} [{count}]"
        yield self.summary()
        yield listing.groups.text if listing.groups is not None else ""
        yield clean(listing.query.text)
        yield self.notable_text if listing.is_notable_only else ""
        yield f"{len(self.table.marked)} marked" if self.table.marked else ""

    def _show_title(self) -> None:
        if self.listing.rows is None:
            return
        title = " " + "─ ".join(f"{part} " for part in self.title_parts() if part)
        if title != self._title:
            self._title = title
            self.table.border_title = Content(title)

    def explain(self) -> Pieces:
        """Explain the row under the cursor."""
        item = self.current
        return self.explain_item(item) if item is not None else ()

    def row_facts(self) -> Sequence[Pieces]:
        """Return what the columns say of the row under the cursor that have no room; a story says it itself."""
        item = self.current
        if item is None or self.story is not None:
            return ()
        return self.listing.spec.facts_without_room(self.table.unseen, item, self.host.now_ns())

    def refresh_info(self) -> None:
        """Say again what is under the cursor."""
        super().refresh_info()
        item = self.current
        if self.story is not None and self._story_of is not None:
            lines = self._story_of(item) if item is not None else ()
            if self._is_story_hanging:
                lines = hanging(lines, self.story.content_size.width)
            self.story.set_wrapped(lines)

    @on(ColumnsChanged)
    def _columns_changed(self, event: ColumnsChanged) -> None:
        event.stop()
        if self.listing.spec.has_words:
            self.refresh_info()

    @on(RowHighlighted)
    def _highlighted(self, event: RowHighlighted) -> None:
        event.stop()
        self.cursor_moved()

    def cursor_moved(self) -> None:
        """Say what is under the cursor."""
        self.refresh_info()

    @on(MarksChanged)
    def _marks_changed(self, event: MarksChanged) -> None:
        event.stop()
        self._show_title()
        self.marks_changed()

    def marks_changed(self) -> None:
        """Show what depends on marks."""

    @on(RowSelected)
    def _row_selected(self, event: RowSelected) -> None:
        event.stop()
        line, groups = self.current, self.listing.groups
        if groups is not None and isinstance(line, GroupHeading):
            groups.toggle(line.name)
            self.regroup()
        elif line is not None:
            self.open_row(line)

    # Filtering

    def action_filter(self) -> None:
        """Open the filter line."""
        self._filter_before = self.listing.query
        self.prompt.open(PromptMode.FILTER, self.listing.query_text)
        self._filter_hint()

    def filter_edited(self, text: str) -> None:
        """Filter while typing; what cannot be read yet, or may become a field's name, leaves the rows as they are."""
        last = text.rpartition(" ")[2].lower()
        if len(last) > 1 and any(name.startswith(last) for name in self.listing.spec.subject.fields):
            self._filter_hint()
            return
        error = self.listing.set_filter(text)
        if error:
            self.info.say(error, Tone.WARNING)
        else:
            self.show_state()
            self._filter_hint()

    def filter_entered(self, text: str) -> None:
        """Keep a filter; one that cannot be read gives way to the one before, with its error shown."""
        error = self.listing.set_filter(text)
        if error:
            self.listing.query = self._filter_before
            self.listing.query_text = self._filter_before.text
            self.say(error, Tone.WARNING)
        self.show_state()
        if not error:
            self.refresh_info()

    def _filter_hint(self) -> None:
        names = " ".join(self.listing.spec.subject.fields)
        self.info.pieces = (
            ("word  !word  -l key=value  cpu>80%  age<2h  pool=spot*", Tone.NORMAL),
            (f"  fields: {names}", Tone.MUTED),
        )

    def release_one(self) -> bool:
        """Clear the filter, then the faults-only view, then the marks."""
        if self.listing.query_text:
            self.filter_entered("")
        elif self.listing.is_notable_only:
            self.action_notable()
        elif self.table.marked:
            self.table.clear_marks()
        else:
            return False
        return True

    # Keys on the table

    def action_wide(self) -> None:
        """Show every column, or those there is room for."""
        self.table.set_wide(is_wide=not self.table.is_wide)
        if self.table.is_wide:
            self.say(f"every column; ← → scroll, {self.key_of('list.wide', 'ctrl+w')} goes back", Tone.MUTED)

    def action_notable(self) -> None:
        """Show only what is blocked or faulty, or everything."""
        self.listing.is_notable_only = not self.listing.is_notable_only
        self.show_state()
        self.refresh_info()

    def action_sort(self, column_id: str) -> None:
        """Sort by a column; by the present one in reverse."""
        if self.listing.sort_by(column_id):
            self.show_state()

    @on(SortRequested)
    def _sort_requested(self, event: SortRequested) -> None:
        event.stop()
        self.action_sort(event.column_id)

    def action_copy(self) -> None:
        """Copy the names of the marked rows, or of the one under the cursor."""
        names = [clean(self.name_of(item)) for item in self.chosen()]
        if names:
            self.app.copy_to_clipboard("\n".join(names))
            self.say(f"copied {names[0] if len(names) == 1 else f'{len(names)} names'}", Tone.GOOD)

    def action_save(self) -> None:
        """Open the command line with a file to save the rows to."""
        instant = datetime.fromtimestamp(self.host.now_ns() // 1_000_000_000, UTC)
        self.action_command(f"save karptui-{self.listing.spec.noun}-{instant:%Y%m%d-%H%M%S}.csv")

    def save_rows(self, target: str) -> str:
        """Write the rows with the columns that are drawn, as text for ``.txt`` and else as CSV; return what was done.

        Raises:
            CommandError: when the file cannot be written.
        """
        rows, headings = self.listing.rows, self.listing.spec.headings()
        if rows is None or not target:
            raise CommandError("save needs a file: :save nodes.csv, or .txt for aligned text")
        drawn = self.table.layout_columns
        shown = [index for index, heading in enumerate(headings) if heading in drawn]
        path = typed_path(target)
        write = as_text if path.suffix == ".txt" else as_csv
        try:
            path.write_text(write(headings, rows, shown), encoding="utf-8")
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror}") from error
        return f"{counted(len(rows), 'row')} saved to {path}"

    # Keys on groups

    def action_group(self) -> None:
        """Group by the next thing."""
        groups = self.listing.groups
        if groups is not None:
            groups.use(groups.by.next)
            self.regroup()
            self.say(f"grouped by {groups.by}" if groups.by.has_groups else "not grouped")

    def action_fold_all(self) -> None:
        """Fold every group, or unfold all."""
        groups, rows = self.listing.groups, self.listing.rows
        if groups is not None:
            groups.fold_all(rows.items if rows is not None else ())
            self.regroup()

    def regroup(self) -> None:
        """Show the rows as they are grouped and folded now."""
        self.show_state()
        self.refresh_info()

    # Keys on the object under the cursor

    def action_yaml(self) -> None:
        """Show the object as the API server gives it."""
        if (meant := self.current_object()) is not None:
            routes.show_yaml(self, *meant)

    def action_describe(self) -> None:
        """Show what karptui knows of the object."""
        if (meant := self.current_object()) is not None:
            routes.show_description(self, *meant)

    def action_explain_why(self) -> None:
        """Show why the object is as it is: a pod that waits, a node, a NodePool."""
        if self.is_explanation:
            self.say("this is the explanation; esc goes back")
        elif (meant := self.current_object()) is not None:
            routes.show_explanation(self, *meant)

    def action_open_object(self) -> None:
        """Go to the object, where it can be seen best."""
        if (meant := self.current_object()) is not None:
            routes.show_object(self, *meant)

    def help_text(self) -> HelpSections:
        """Explain the columns and what filters can ask."""
        spec = self.listing.spec
        columns = [(heading.title, heading.help) for heading in spec.headings()]
        filters = [
            ("word !word", "rows that have the word, or that do not; * and ? stand for anything"),
            ("-l key=value", "labels as kubectl selects them: k=v, k!=v, k, !k, 'k in (a,b)'"),
        ]
        for name, field in spec.subject.fields.items():
            sign = "=" if field.kind is FieldKind.TEXT else ">"
            filters.append((f"{name}{sign}{example(field.kind, has_share=field.share is not None)}", field.help))
        return ("Columns", columns), ("Filter", filters)
