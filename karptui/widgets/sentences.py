"""Lines of toned pieces as a widget."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content
from textual.widgets import Static

from karptui.views.row import Pieces, Tone
from karptui.widgets.hanging import hanging
from karptui.widgets.plain import phrase


class Sentences(Static):
    """Shows lines as they are, without markup, and draws them anew only when they change."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - as every widget has it
        super().__init__(id=id, markup=False)
        self._hanging: tuple[Pieces, ...] = ()

    def set_lines(self, lines: Iterable[Iterable[tuple[str, Tone]]]) -> None:
        """Show lines of pieces."""
        self._hanging = ()
        self._show(lines)

    def set_hanging(self, lines: Iterable[Pieces]) -> None:
        """Show lines of pieces, broken between words to the width there is, with what follows the first set in."""
        self._hanging = tuple(lines)
        self._show(hanging(self._hanging, self.content_size.width))

    def on_resize(self) -> None:
        """Break hanging lines anew."""
        if self._hanging:
            self._show(hanging(self._hanging, self.content_size.width))

    def _show(self, lines: Iterable[Iterable[tuple[str, Tone]]]) -> None:
        content = Content("\n").join([phrase(line) for line in lines])
        if content != self.content:
            self.update(content)
