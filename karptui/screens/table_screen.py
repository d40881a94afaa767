"""A screen around one table: from the items of a view to the rows on the screen."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import ClassVar, Final, Generic, NamedTuple

from textual import getters, on, work
from textual.app import ComposeResult
from textual.content import Content

from karptui.decode.kinds import Kind
from karptui.kube.units import count_text
from karptui.screens.frame import FrameScreen
from karptui.session.cluster_view import ClusterView
from karptui.views.fields import FieldKind, ItemT
from karptui.views.health import no_rows
from karptui.views.query import EVERYTHING, FieldTerm, Query
from karptui.views.row import Pieces
from karptui.views.sanitize import clean
from karptui.views.table import Rows, Sort, TableSpec, build_rows
from karptui.views.unseen import unseen_facts
from karptui.widgets.row_table import ColumnsChanged, MarksChanged, RowHighlighted, RowTable

BUILT_AT_ONCE: Final = 3_000
"""Items of which rows are built at once; more are built in a thread."""


class Recipe(NamedTuple):
    """What rows are made by."""

    query: Query
    sort: Sort
    is_notable_only: bool


class TableScreen(FrameScreen, Generic[ItemT]):
    """Shows items as rows: filtered, sorted, and built in a thread when there are many."""

    title_text: str = ""
    """What the table is called."""
    kind: ClassVar[str] = ""
    """The kind whose status says why there are no rows."""
    works_out_types: ClassVar[bool] = False
    """Whether items hold the instance types of NodePools: a tenth of a second even for few of them."""

    table = getters.query_one(RowTable)

    @property
    def table_title(self) -> str:
        """What the title of the table begins with."""
        return self.title_text

    def __init__(self, spec: TableSpec[ItemT], *, sort: Sort | None = None, filter_text: str = "") -> None:
        """Make the screen.

        Args:
            spec: the table.
            sort: the order it starts with; the table's own when None.
            filter_text: the filter it starts with; one that cannot be read is shown with its error.
        """
        super().__init__()
        self.spec = spec
        self.sort_by = sort or spec.default_sort
        self.query_text = filter_text
        self.filter_query: Query = EVERYTHING
        self.is_notable_only = False
        self._rows: Rows[ItemT] | None = None
        self._items: Sequence[ItemT] = ()
        self._made_from: object = None
        self._is_building = False
        self._is_outdated = False

    def compose_body(self) -> ComposeResult:
        """Yield the table."""
        yield RowTable(self.spec.headings())

    def items_of(self, view: ClusterView) -> Sequence[ItemT]:
        """Return every item of a view; the same object for the same view. May be called in a thread."""
        raise NotImplementedError

    def size_of(self, view: ClusterView) -> int:
        """Return about how many items a view has, without making them; too many where each is dear."""
        if self.works_out_types:
            return BUILT_AT_ONCE + 1 if view.state.nodepools else 0
        return len(view.state.of(Kind(self.kind))) if self.kind else 0

    def explain_item(self, item: ItemT) -> Pieces:
        """Return what the information line says about an item."""
        raise NotImplementedError

    def name_of(self, item: ItemT) -> str:
        """Return what ``c`` copies."""
        raise NotImplementedError

    def focus_body(self) -> None:
        """Give the keys back to the table."""
        self.table.focus()

    # Showing

    def show_state(self) -> None:
        """Build the rows when items, filter or order changed; otherwise only move the time on."""
        view = self.host.view
        if self.size_of(view) <= BUILT_AT_ONCE:
            rows = self._build(view, self._recipe())
            self._apply(rows)
        else:
            self._is_outdated = True
            if not self._is_building:
                self._build_aside()

    def _recipe(self) -> Recipe:
        return Recipe(self.filter_query, self.sort_by, self.is_notable_only)

    def _build(self, view: ClusterView, recipe: Recipe) -> Rows[ItemT]:
        items, now_ns, known = self.items_of(view), self.host.now_ns(), self._rows
        made_from = (id(items), recipe)
        if known is not None and made_from == self._made_from and not self._is_time_filtered():
            return known.at(now_ns)
        self._items = items
        self._made_from = made_from
        return self._rows_of(items, recipe, now_ns)

    def _rows_of(self, items: Sequence[ItemT], recipe: Recipe, now_ns: int) -> Rows[ItemT]:
        return build_rows(
            self.spec,
            items,
            query=recipe.query,
            sort=recipe.sort,
            is_notable_only=recipe.is_notable_only,
            now_ns=now_ns,
        )

    @work(group="rows")
    async def _build_aside(self) -> None:
        """Build the rows of long lists without holding up keys, again as long as something newer is asked for."""
        self._is_building = True
        try:
            while self._is_outdated and self.is_attached:
                self._is_outdated = False
                rows = await asyncio.to_thread(self._build, self.host.view, self._recipe())
                if self.is_attached:
                    self._apply(rows)
                    self.refresh_info()
        finally:
            self._is_building = False

    def _apply(self, rows: Rows[ItemT]) -> None:
        self._rows = rows
        with self.app.batch_update():
            self._show_title()
            self.table.set_placeholder(
                *no_rows(
                    self.host.view.statuses.get(self.kind),
                    self.spec.noun,
                    self.host.now_ns(),
                    total=rows.total,
                    filter_text=self.filter_query.text,
                    is_notable=self.is_notable_only,
                    notable_key=self.key_of("list.notable", "ctrl+z"),
                )
            )
            self.table.set_rows(rows, self.sort_by)

    def _is_time_filtered(self) -> bool:
        fields = self.spec.subject.fields
        return any(
            isinstance(term, FieldTerm) and fields[term.name].kind is FieldKind.DURATION
            for term in self.filter_query.terms
        )

    def _show_title(self) -> None:
        rows, query = self._rows, self.filter_query.text
        if rows is None:
            return
        is_partial = len(rows) != rows.total
        count = f"{count_text(len(rows))}/{count_text(rows.total)}" if is_partial else count_text(rows.total)
        title = f" {self.table_title} [{count}] "
        if query:
            title += f"─ {clean(query)} "
        if self.is_notable_only:
            title += "─ blocked or faulty only "
        if self.table.marked:
            title += f"─ {len(self.table.marked)} marked "
        self._write_title(title)

    def _write_title(self, title: str) -> None:
        if title != getattr(self, "_title", None):
            self._title = title
            self.table.border_title = Content(title)

    def explain(self) -> Pieces:
        """Explain the row under the cursor."""
        item = self.current
        return self.explain_item(item) if item is not None else ()

    def row_facts(self) -> Sequence[Pieces]:
        """Return what the columns say of the row under the cursor that have no room."""
        item = self.current
        if item is None or not self.spec.told:
            return ()
        return unseen_facts(self.spec.told, self.table.unseen, item, self.host.now_ns())

    @on(ColumnsChanged)
    def _columns_changed(self, event: ColumnsChanged) -> None:
        event.stop()
        if self.spec.told:
            self.refresh_info()

    @property
    def current(self) -> ItemT | None:
        """The item under the cursor."""
        if self._rows is None or not len(self._rows):
            return None
        return self._rows.items[min(self.table.cursor_index, len(self._rows) - 1)]

    @on(RowHighlighted)
    def _highlighted(self, event: RowHighlighted) -> None:
        event.stop()
        self.refresh_info()

    @on(MarksChanged)
    def _marks_changed(self, event: MarksChanged) -> None:
        event.stop()
        self._show_title()
