"""Sentences beside a table: in a panel that scrolls, or below it about the row under the cursor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeAlias

from textual.containers import VerticalScroll
from textual.content import Content

from karptui.views.column import ItemT
from karptui.views.row import Pieces
from karptui.widgets.sentences import Sentences
from karptui.widgets.titled_pane import TITLE_EDGES, fitted_title


class Panel(VerticalScroll):
    """Sentences that scroll, above the table whose rows belong to them."""

    def __init__(self, name: str, *, can_focus: bool = False) -> None:
        """Make the panel.

        Args:
            name: what its id and that of its lines begin with.
            can_focus: whether it is scrolled with the keys of its own, too.
        """
        self.lines = Sentences(id=f"{name}-lines")
        super().__init__(self.lines, id=f"{name}-panel", can_focus=can_focus)
        self._whole: Content | None = None
        self._title: Content | None = None

    def show_title(self, title: Content) -> None:
        """Put a title into the edge, with as many parts as have room; one that is there already draws nothing."""
        self._whole = title
        self._fit_title()

    def on_resize(self) -> None:
        """Show as much of the title as has room now."""
        self._fit_title()

    def _fit_title(self) -> None:
        title = fitted_title(self._whole, self.outer_size.width - TITLE_EDGES) if self._whole is not None else None
        if title is not None and title != self._title:
            self._title = title
            self.border_title = title

    def scroll_half(self, step: int) -> None:
        """Scroll by half of what is seen."""
        self.scroll_relative(y=step * max(self.size.height // 2, 1), animate=False)

    def scroll_page(self, step: int) -> None:
        """Scroll by what is seen, less a line."""
        self.scroll_relative(y=step * max(self.size.height - 1, 1), animate=False)


Story: TypeAlias = Callable[[ItemT], tuple[Pieces, ...]]
"""From an item to sentences, a line each."""


class StoryLines(Sentences, Generic[ItemT]):
    """Sentences about one item."""

    def __init__(self, story: Story[ItemT], *, is_hanging: bool) -> None:
        """Begin with nothing said.

        Args:
            story: what is said of an item.
            is_hanging: whether what follows the first line of a sentence is set in.
        """
        super().__init__(id="story")
        self._story, self._is_hanging = story, is_hanging

    def show(self, item: ItemT | None) -> None:
        """Tell of an item, or of nothing."""
        lines = self._story(item) if item is not None else ()
        if self._is_hanging:
            self.set_hanging(lines)
        else:
            self.set_wrapped(lines)
