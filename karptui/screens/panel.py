"""Text next to a table: a scrolling panel above it, or a story about the row below it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeAlias

from textual.containers import VerticalScroll

from karptui.views.column import ItemT
from karptui.views.row import Pieces
from karptui.widgets.sentences import Sentences
from karptui.widgets.titled_pane import FittedTitle


class Panel(VerticalScroll, FittedTitle):
    """A scrolling panel of text above a table."""

    def __init__(self, name: str, *, can_focus: bool = False) -> None:
        self.lines = Sentences(id=f"{name}-lines")
        super().__init__(self.lines, id=f"{name}-panel", can_focus=can_focus)

    def scroll_half(self, step: int) -> None:
        self.scroll_relative(y=step * max(self.size.height // 2, 1), animate=False)

    def scroll_page(self, step: int) -> None:
        self.scroll_relative(y=step * max(self.size.height - 1, 1), animate=False)


Story: TypeAlias = Callable[[ItemT], tuple[Pieces, ...]]
"""Returns the text lines of an item."""


class StoryLines(Sentences, Generic[ItemT]):
    """Text about one item."""

    def __init__(self, story: Story[ItemT], *, is_hanging: bool) -> None:
        super().__init__(id="story")
        self._story, self._is_hanging = story, is_hanging

    def show(self, item: ItemT | None) -> None:
        lines = self._story(item) if item is not None else ()
        if self._is_hanging:
            self.set_hanging(lines)
        else:
            self.set_wrapped(lines)
