"""A framed pane whose title changes often: only the line of the title is drawn again."""

from __future__ import annotations

from typing import Final, Self

from rich.cells import cell_len
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Region
from textual.widget import Widget

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
