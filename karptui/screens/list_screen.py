"""A screen with one list: a table, widgets above and below it, and the keys of every list.

Each screen defines its items, their text, and the targets of its keys in its own file. A story under the table, groups,
and widgets above or below are passed as values.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

from textual import getters, on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widget import Widget

from karptui.screens import routes
from karptui.screens.destinations import ToExplanation, ToStudy
from karptui.screens.frame import FrameScreen, HelpSections
from karptui.screens.listing import LIST_KEYS, Groups, Listing
from karptui.screens.row_sources import Making, OwnRows, RowSource, SessionList, SessionRows
from karptui.session.grouping import GroupHeading
from karptui.sources.source import Phase
from karptui.views.column import ItemT
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.table import Rows, Sort, TableSpec
from karptui.widgets.prompt import PromptMode
from karptui.widgets.row_table.table import (
    ColumnsChanged,
    MarksChanged,
    RowHighlighted,
    RowSelected,
    RowTable,
    SortRequested,
)
from karptui.widgets.titled_pane import Panel, Story, StoryLines

if TYPE_CHECKING:
    from karptui.whatif.scenario import Opening

BUILT_AT_ONCE: Final = 3_000
"""Maximum number of items whose rows are built at once; more are built in a thread."""
LEAST_ROWS: Final = 3
"""Minimum lines for rows; the placeholder needs them."""
TABLE_EDGE: Final = 2
"""Lines of a table that are no rows: its title and its headings."""
_OBJECT_ACTIONS: Final = frozenset({"yaml", "describe", "explain_why"})
_WITHOUT_ROWS: Final = frozenset({"back", "leave", "help", "refresh_data", "step_moment"})
"""Actions of a list that are the same whatever its rows are."""

FactT = TypeVar("FactT")


class ListScreen(FrameScreen, Generic[ItemT]):
    """A table of items with everything that can be done to any table."""

    BINDINGS: ClassVar[list[BindingType]] = LIST_KEYS

    title_text: str = ""
    notable_text: ClassVar[str] = "blocked or faulty only"
    """Text in the title while only notable rows are shown."""
    kind: ClassVar[str] = ""
    """Kind whose source status explains an empty table."""
    working: ClassVar[str] = ""
    """Placeholder shown until the first rows arrive."""
    has_objects: ClassVar[bool] = True
    """Whether rows are of objects, which can be shown as YAML, described and explained."""
    is_explanation: ClassVar[bool] = False
    """Whether the screen is where ``e`` leads to."""

    table = getters.query_one(RowTable)

    def __init__(
        self,
        spec: TableSpec[ItemT],
        rows: SessionList | OwnRows[ItemT],
        *,
        sort: Sort | None = None,
        story: Story[ItemT] | None = None,
        is_story_hanging: bool = False,
        groups: Groups[ItemT, Any] | None = None,
        above: Sequence[Widget] = (),
        below: Sequence[Widget] = (),
    ) -> None:
        super().__init__()
        source: RowSource[ItemT] = (
            SessionRows(lambda: self.host.session, rows) if isinstance(rows, SessionList) else rows
        )
        self.asked = source if isinstance(source, SessionRows) else None
        """The session's list; None if the screen makes the rows."""
        self.listing = Listing(spec, source, sort=sort, groups=groups)
        self.story = StoryLines(story, is_hanging=is_story_hanging) if story is not None else None
        self._above, self._below = tuple(above), tuple(below)
        panels = (widget for widget in self._above if isinstance(widget, Panel))
        self._beside: StoryLines[ItemT] | Panel | None = self.story or next(panels, None)
        """Widget with text about the row."""
        self._lines_beside: int | None = None
        """Maximum height in lines; None to use the stylesheet's."""
        self._title = ""
        self._making: Making[ItemT] = Making()

    def compose_body(self) -> ComposeResult:
        yield from self._above
        table = RowTable(self.listing.spec.headings())
        table.awaits_rows = True
        yield table
        if self.story is not None:
            yield self.story
        yield from self._below

    def prepare(self) -> None:
        """Apply the initial filter and layout."""
        if self.working:
            self.table.set_placeholder((self.working, Tone.ACTIVE))
        self.table.set_wide(is_wide=self.host.config.wide)
        if self.listing.query_text:
            self.listing.set_filter(self.listing.query_text)
        super().prepare()
        self.screen_layout_refresh_signal.subscribe(self, self._share_height, immediate=True)
        self.table.focus()

    def use_table(self, spec: TableSpec[ItemT]) -> None:
        """Show other columns than those the screen was made with."""
        self.listing.spec = spec
        self.table.set_headings(spec.headings())

    def focus_body(self) -> None:
        self.table.focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether an action is available: object keys need an object."""
        if action in _OBJECT_ACTIONS and not self.has_objects:
            return False
        return super().check_action(action, parameters)

    # Texts of items

    @abstractmethod
    def name_of(self, item: ItemT) -> str:
        """Return the text that ``c`` copies."""

    def explain_item(self, item: ItemT) -> Pieces:  # noqa: ARG002 - for subclasses
        """Return the info-line text for an item."""
        return ()

    def open_row(self, item: ItemT) -> None:
        """Do what ``enter`` does on a row that is no heading."""

    def placeholder(self, rows: Rows[ItemT]) -> Pieces:
        """Return the text shown if there are no rows, one piece per line."""
        # Lists without a kind come from the analysis of nodes.
        status = self.host.session.overview().statuses.get(self.kind or "Node")
        return self.listing.no_rows(rows.total, status, self.host.now_ns(), self.key_of("list.notable", "ctrl+z"))

    def summary(self) -> str:
        """Return the summary of all rows for the title."""
        return ""

    def around(self, kind: type[FactT], of: str | None = None) -> FactT | None:
        """Return a fact that the session reports with the rows; None if it has none.

        Args:
            of: Owner of the rows; the shown ones if None.
        """
        fact = self.asked.around(self.host.now_ns(), of) if self.asked is not None else None
        return fact if isinstance(fact, kind) else None

    @property
    def current(self) -> ItemT | None:
        """The item under the cursor."""
        return self.listing.at(self.table.cursor_index)

    def chosen(self) -> list[ItemT]:
        """Return the marked items, or the one under the cursor."""
        if self.table.marked:
            return self.listing.with_keys(self.table.marked)
        return [] if self.current is None else [self.current]

    def object_of(self, item: ItemT) -> tuple[str, str] | None:  # noqa: ARG002 - of lists that have objects
        """Return kind and key of the object of a row; None if it has none."""
        return None

    def current_object(self) -> tuple[str, str] | None:
        """Return the object of the row under the cursor."""
        return self.object_of(self.current) if self.current is not None else None

    def whatif_opening(self) -> Opening:
        """Return a what-if of every marked object; without marks of the one under the cursor."""
        objects = self.marked_objects()
        return self.opening_of(objects) if objects else super().whatif_opening()

    def marked_objects(self) -> list[tuple[str, str]]:
        marked = self.listing.with_keys(self.table.marked) if self.table.marked else []
        return list(dict.fromkeys(ref for item in marked if (ref := self.object_of(item)) is not None))

    # Showing

    def show_state(self) -> None:
        """Build the rows when items, filter or order changed; otherwise only move the time on."""
        if self.listing.source.size() <= BUILT_AT_ONCE:
            self.show_rows(self._make())
        else:
            self._make_in_background()

    @work(group="rows")
    async def _make_in_background(self) -> None:
        await self._making.run(self._make, self._show_made, lambda: self.is_attached)

    def _make(self) -> Rows[ItemT]:
        return self.listing.make(self.host.now_ns())

    def _show_made(self, rows: Rows[ItemT]) -> None:
        self.show_rows(rows)
        self.refresh_info()

    def awaits_rows(self) -> bool:
        """Return whether rows may still arrive: the cluster is loading or being analysed."""
        overview = self.host.session.overview()
        phases = {status.phase for status in overview.statuses.values()}
        is_looked_into = overview.analysed is None and bool(overview.sizes["nodes"]) and not overview.is_out_of_reach
        return is_looked_into or bool(phases & {Phase.CONNECTING, Phase.SYNCING})

    def awaits(self, key: str) -> bool:
        """Return whether a key is one of the screen's own and its rows are still loading."""
        if not self.table.awaits_rows or len(self.table.rows):
            return False
        binding = self.active_bindings.get(key)
        if binding is None or binding.node is not self or binding.binding.priority:
            return False
        return binding.binding.action.partition("(")[0] not in _WITHOUT_ROWS

    def show_rows(self, rows: Rows[ItemT]) -> None:
        """Show rows in the table, or why there are none."""
        self.listing.rows = rows
        with self.app.batch_update():
            self.show_title()
            self.table.set_placeholder(*self.placeholder(rows))
            self.table.awaits_rows = not rows.total and self.awaits_rows()
            self.table.set_rows(rows, self.listing.sort)
        self.call_after_refresh(self._share_height)

    def _share_height(self, _screen: object = None) -> None:
        """Give the text next to the table the lines that its rows leave."""
        beside, table = self._beside, self.table
        if beside is None or (cap := beside.styles.base.max_height) is None:
            return
        others = (child for child in self.children if child.display and child not in (beside, table))
        least = table.styles.min_height.resolve(self.size, self.size) if table.styles.min_height is not None else 0
        rows = (len(table.rows) or LEAST_ROWS) + TABLE_EDGE
        left = self.size.height - sum(widget.outer_size.height for widget in others) - max(rows, int(least))
        height = left if left > cap.resolve(self.size, self.size) else None
        if height != self._lines_beside:
            beside.styles.max_height = self._lines_beside = height

    @property
    def table_title(self) -> str:
        """First part of the table's title."""
        return self.title_text

    def counts(self) -> str:
        """Return the number of rows, shown and total."""
        return self.listing.counts()

    def title_parts(self) -> Iterator[str]:
        """Yield the parts of the title; empty ones are skipped."""
        yield f"{self.table_title} [{self.counts()}]"
        yield self.summary()
        yield from self.listing.words()
        yield self.notable_text if self.listing.is_notable_only else ""
        yield f"{len(self.table.marked)} marked" if self.table.marked else ""

    def show_title(self) -> None:
        if self.listing.rows is None:
            return
        title = " " + "─ ".join(f"{part} " for part in self.title_parts() if part)
        if title != self._title:
            self._title = title
            self.table.border_title = Content(title)

    def explain(self) -> Pieces:
        item = self.current
        return self.explain_item(item) if item is not None else ()

    def row_facts(self) -> Sequence[Pieces]:
        """Return the values of columns that do not fit, for the row under the cursor."""
        item = self.current
        if item is None or self.story is not None:
            return ()
        return self.listing.spec.facts_without_room(self.table.unseen, item, self.host.now_ns())

    def refresh_info(self) -> None:
        super().refresh_info()
        if self.story is not None:
            self.story.show(self.current)

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
        """Show the text of the row under the cursor."""
        self.refresh_info()

    @on(MarksChanged)
    def _marks_changed(self, event: MarksChanged) -> None:
        event.stop()
        self.show_title()
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
        elif line is not None and self.is_current:  # another key may have left the screen meanwhile
            self.open_row(line)

    def action_scroll_panel(self, step: int) -> None:
        """Scroll the panel above the table by half a page."""
        for panel in self.query(Panel):
            panel.scroll_half(step)

    # Filtering

    def action_filter(self) -> None:
        self.listing.begin_filter()
        self.prompt.open(PromptMode.FILTER, self.listing.query_text)
        self.info.pieces = self.listing.filter_hint()

    def filter_edited(self, text: str) -> None:
        """Filter while typing; incomplete text and field names leave the rows unchanged."""
        error = "" if self.listing.is_field_begun(text) else self.listing.set_filter(text)
        if error:
            self.info.say(error, Tone.WARNING)
            return
        if not self.listing.is_field_begun(text):
            self.show_state()
        self.info.pieces = self.listing.filter_hint()

    def filter_entered(self, text: str) -> None:
        """Apply a filter; an invalid one is reported and the previous one restored."""
        error = self.listing.end_filter(text)
        if error:
            self.say(error, Tone.WARNING)
        self.show_state()
        if not error:
            self.refresh_info()

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
        self.table.set_wide(is_wide=not self.table.is_wide)
        if self.table.is_wide:
            self.say(f"every column; ← → scroll, {self.key_of('list.wide', 'ctrl+w')} goes back", Tone.MUTED)

    def action_notable(self) -> None:
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
        if names := [clean(self.name_of(item)) for item in self.chosen()]:
            self.app.copy_to_clipboard("\n".join(names))
            self.say(f"copied {names[0] if len(names) == 1 else f'{len(names)} names'}", Tone.GOOD)

    def action_save(self) -> None:
        instant = datetime.fromtimestamp(self.host.now_ns() // 1_000_000_000, UTC)
        self.action_command(f"save karptui-{self.listing.spec.noun}-{instant:%Y%m%d-%H%M%S}.csv")

    # Keys on groups

    def action_group(self) -> None:
        if (groups := self.listing.groups) is not None:
            text = groups.advance()
            self.regroup()
            self.say(text)

    def action_fold_all(self) -> None:
        if (groups := self.listing.groups) is not None:
            groups.fold_all(self.listing.rows.items if self.listing.rows is not None else ())
            self.regroup()

    def regroup(self) -> None:
        """Show the rows with the current groups and folds."""
        self.show_state()
        self.refresh_info()

    # Keys on the object under the cursor

    def action_yaml(self) -> None:
        if (meant := self.current_object()) is not None:
            routes.show_yaml(self, *meant)

    def action_describe(self) -> None:
        if (meant := self.current_object()) is not None:
            routes.show_description(self, *meant)

    def action_explain_why(self) -> None:
        """Explain the object: why a pod is pending or a node is still here."""
        if self.is_explanation:
            self.say("this is already the explanation; esc goes back")
        elif (meant := self.current_object()) is not None:
            self.host.go(ToExplanation(*meant))

    def action_headroom(self) -> None:
        from karptui.views.headroom import headroom_study  # noqa: PLC0415 - only when asked for

        if (meant := self.current_object()) is not None:
            self.host.go(ToStudy(headroom_study(*meant)))

    def action_open_of_pool(self, name: str) -> None:
        """Open another list, of the NodePool only."""
        if (meant := self.current_object()) is not None:
            self.host.open_screen(name, filter_text=f"pool={meant[1]}")

    def action_open_object(self) -> None:
        if (meant := self.current_object()) is not None:
            routes.show_object(self, *meant)

    def help_text(self) -> HelpSections:
        """Explain the columns and what filters can ask."""
        return self.listing.help_text()
