"""Framed panes whose title changes often: only its line is drawn again; and text next to a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, Self, TypeAlias

from rich.cells import cell_len
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.geometry import Region
from textual.widget import Widget

from karptui.views.column import ItemT
from karptui.views.row import Pieces
from karptui.widgets.sentences import Sentences

TITLE_EDGES: Final = 2
"""Cells that a frame keeps of the line of its title: a piece of the line at either end."""
_PART: Final = " · "


def fitted_title(title: Content, width: int) -> Content:
    """Return a title with the parts that fit, `` · `` between them; the complete title if none fits."""
    text = title.plain
    if width <= 0 or title.cell_length <= width:
        return title
    ends = [at for at in range(len(text)) if text.startswith(_PART, at) and cell_len(text[:at]) < width]
    return title[: ends[-1] + 1] if ends else title


class FittedTitle(Widget):
    """A frame whose title shows the parts that have room."""

    _whole: Content | None = None
    _title: Content | None = None
    _is_titling = False

    def show_title(self, title: Content) -> None:
        """Show as many parts of a title as fit; an unchanged title is not redrawn."""
        self._whole = title
        self._fit_title()

    def on_resize(self) -> None:
        self._fit_title()

    def _fit_title(self) -> None:
        if self._whole is None:
            return
        title = fitted_title(self._whole, self.outer_size.width - TITLE_EDGES)
        if title == self._title:
            return
        self._title, self._is_titling = title, True
        self.border_title = title
        self._is_titling = False

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """Have something drawn again; for a title its line, as everything inside the frame would be drawn with it."""
        if self._is_titling:
            left, top = self.content_offset
            regions = (Region(-left, -top, self.outer_size.width, 1),)
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)


class TitledPane(Vertical, FittedTitle):
    """Widgets below each other in a frame with a title."""


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
