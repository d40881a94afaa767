"""Text shown without markup: cleaned, styled by tone, and wrapped to the widget's width."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from textual.content import Content
from textual.geometry import Size
from textual.widgets import Static

from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.wrapping import hanging, wrapped

TONE_STYLES = {
    Tone.NORMAL: "",
    Tone.MUTED: "$karp-muted",
    Tone.STRONG: "bold $karp-strong",
    Tone.GOOD: "$karp-good",
    Tone.ACTIVE: "$karp-active",
    Tone.LEAVING: "$karp-leaving",
    Tone.WARNING: "$karp-warning",
    Tone.FAULT: "bold $karp-fault",
    Tone.SPOT: "$karp-spot",
    Tone.RESERVED: "$karp-reserved",
    Tone.DAEMON: "$karp-daemon",
    Tone.WORKLOAD: "$karp-workload",
}
"""Content styles by tone; the names are the theme variables of ``widgets.themes``."""


def plain(text: str, tone: Tone = Tone.NORMAL) -> Content:
    """Return text as content without markup and control characters."""
    return Content.styled(clean(text), TONE_STYLES[tone])


def phrase(parts: Iterable[tuple[str, Tone]]) -> Content:
    """Return a line of differently toned pieces."""
    return Content.assemble(*((clean(text), TONE_STYLES[tone]) for text, tone in parts))


Breaking: TypeAlias = Callable[[Iterable[Pieces], int], tuple[Pieces, ...]]
"""Breaks lines to a width in cells."""


class Sentences(Static):
    """Shows lines without markup, and redraws only on changes."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - as every widget has it
        super().__init__(id=id, markup=False)
        self._broken: tuple[Pieces, ...] = ()
        """Lines that are broken to the width there is, before that."""
        self._breaking: Breaking = hanging
        self._width = 0
        """Width the lines are wrapped to; 0 for other lines."""

    def set_lines(self, lines: Iterable[Iterable[tuple[str, Tone]]]) -> None:
        """Show lines of pieces."""
        self._broken, self._width = (), 0
        self._show(lines)

    def set_hanging(self, lines: Iterable[Pieces]) -> None:
        """Show lines of pieces, wrapped between words with a hanging indent."""
        self._break(tuple(lines), hanging)

    def set_wrapped(self, lines: Iterable[Pieces]) -> None:
        """Show lines of pieces, broken between words to the width there is."""
        self._break(tuple(lines), wrapped)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the height in lines at a width; lines are wrapped once it is the widget's own."""
        if self._broken and width:
            return len(self._breaking(self._broken, width))
        return super().get_content_height(container, viewport, width)

    def on_resize(self) -> None:
        """Wrap the lines again."""
        if self._broken:
            self._break(self._broken, self._breaking)

    def _break(self, lines: tuple[Pieces, ...], breaking: Breaking) -> None:
        width = self.content_size.width
        if width and (lines, breaking, width) == (self._broken, self._breaking, self._width):
            return
        self._broken, self._breaking, self._width = lines, breaking, width
        self._show(breaking(lines, width))

    def _show(self, lines: Iterable[Iterable[tuple[str, Tone]]]) -> None:
        content = Content("\n").join([phrase(line) for line in lines])
        before = self.content
        if content == before:
            return
        width, own = self.content_size.width, self.styles.width
        is_as_wide = own is None or not own.is_auto
        is_as_high = isinstance(before, Content) and 0 < _height(content, width) == _height(before, width)
        self.update(content, layout=not (is_as_wide and is_as_high))  # otherwise the whole screen is laid out again


def _height(content: Content, width: int) -> int:
    """Return the number of lines; 0 if there are none or some are wrapped."""
    lines = content.split("\n", allow_blank=True)
    return len(lines) if content and all(line.cell_length <= width for line in lines) else 0
