"""Keys that group the rows of a table, and fold the groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Generic, TypeVar

from textual import on

from karptui.kube.units import count_text
from karptui.screens.story_screen import StoryScreen
from karptui.views.fields import ItemT
from karptui.views.grouping import Folding, GroupHeading, Grouping
from karptui.views.sanitize import clean
from karptui.views.table import TableSpec
from karptui.widgets.row_table import RowSelected

GroupingT = TypeVar("GroupingT", bound=Grouping)


class GroupedScreen(StoryScreen[ItemT], Generic[ItemT, GroupingT]):
    """A list screen of which the rows stand in groups."""

    ungrouped_text: ClassVar[str] = ""
    """What the title says where there are no groups."""
    notable_text: ClassVar[str]
    """What the title says of the rows that are left when only the notable ones are shown."""

    def __init__(self, spec: TableSpec[ItemT], grouping: GroupingT) -> None:
        """Make the screen.

        Args:
            spec: the table.
            grouping: what groups have in common at first.
        """
        super().__init__(spec)
        self._grouping = grouping
        self._folding = Folding()
        self._shown_count = 0
        """Rows that the filter leaves, without headings."""

    def open_row(self) -> None:
        """Do what ``enter`` does on a row that is no heading."""
        raise NotImplementedError

    def summary(self) -> str:
        """Return what the title says of all rows."""
        raise NotImplementedError

    # Keys

    def action_group(self) -> None:
        """Group by the next thing."""
        self._grouping = self._grouping.next
        self._fold(Folding(self._folding.is_folded))
        self.say(f"grouped by {self._grouping}" if self._grouping.has_groups else "not grouped")

    def action_fold_all(self) -> None:
        """Fold every group, or unfold all."""
        lines = self._rows.items if self._rows is not None else ()
        is_any_open = any(isinstance(line, GroupHeading) and not line.is_folded for line in lines)
        self._fold(Folding(is_any_open))

    @on(RowSelected)
    def _selected(self, event: RowSelected) -> None:
        event.stop()
        line = self.current
        if isinstance(line, GroupHeading):
            self._fold(self._folding.toggled(line.name))
        else:
            self.open_row()

    def _fold(self, folding: Folding) -> None:
        self._folding = folding
        self.show_state()
        self.refresh_info()

    # The title

    def title_parts(self, total: int) -> Iterator[str]:
        """Yield what the title says, part by part.

        Args:
            total: How many rows there are without the filter.
        """
        shown = self._shown_count
        count = count_text(total) if shown == total else f"{count_text(shown)}/{count_text(total)}"
        yield f"{self.table_title} [{count}]"
        yield self.summary()
        yield f"by {self._grouping}" if self._grouping.has_groups else self.ungrouped_text
        yield clean(self.filter_query.text)
        if self.is_notable_only:
            yield self.notable_text

    def _show_title(self) -> None:
        if self._rows is not None:
            self._write_title(" " + "─ ".join(f"{part} " for part in self.title_parts(self._rows.total) if part))
