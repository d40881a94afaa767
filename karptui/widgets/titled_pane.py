"""A framed pane whose title changes often: only the line of the title is drawn again."""

from __future__ import annotations

from typing import Self

from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Region


class TitledPane(Vertical):
    """Widgets below each other in a frame with a title."""

    _title: Content | None = None
    _is_titling = False

    def show_title(self, title: Content) -> None:
        """Put a title into the frame."""
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
