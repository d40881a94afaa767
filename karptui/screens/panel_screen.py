"""One thing at length, in a panel that scrolls, above a table."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import VerticalScroll

from karptui.screens.list_screen import ListScreen
from karptui.views.fields import ItemT
from karptui.widgets.sentences import Sentences


class PanelScreen(ListScreen[ItemT]):
    """A list screen under the sentences that its rows belong to."""

    panel_name: ClassVar[str]
    """What the ids of the panel and its lines begin with."""

    @property
    def panel(self) -> VerticalScroll:
        """What scrolls above the table."""
        return self.query_one(f"#{self.panel_name}-panel", VerticalScroll)

    @property
    def lines(self) -> Sentences:
        """The sentences in it."""
        return self.query_one(f"#{self.panel_name}-lines", Sentences)

    def compose_body(self) -> ComposeResult:
        """Yield the panel above the table."""
        with VerticalScroll(id=f"{self.panel_name}-panel", can_focus=False):
            yield Sentences(id=f"{self.panel_name}-lines")
        yield from super().compose_body()

    def action_scroll_panel(self, step: int) -> None:
        """Scroll the sentences by half of what is seen of them."""
        self.panel.scroll_relative(y=step * max(self.panel.size.height // 2, 1), animate=False)
