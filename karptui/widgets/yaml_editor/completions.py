"""The list of completions next to the cursor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from karptui.views.sanitize import clean
from karptui.widgets.beside import Beside

MOST: Final = 8
"""Lines that are seen at once; the list scrolls."""


class CompletionItem(NamedTuple):
    """One thing that the word could become."""

    label: str
    insert: str
    """Text that replaces the word."""
    detail: str = ""
    """Short description."""


class Completions(NamedTuple):
    """Completions at the cursor."""

    start_column: int = 0
    """Where the word begins that is replaced."""
    items: tuple[CompletionItem, ...] = ()


class CompletionList(OptionList):
    """Shows completions; the editor keeps the keys and moves the cursor in it."""

    can_focus = False
    DEFAULT_CSS = """
    CompletionList {
        display: none; overlay: screen; constrain: inside inflect; position: absolute;
        width: auto; max-width: 64; height: auto; max-height: 8; padding: 0 1; border: none;
        scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0;
        &.-open { display: block; }
    }
    """

    def __init__(self) -> None:
        super().__init__(id="completions", markup=False)
        self._items: tuple[CompletionItem, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether there is something to choose from."""
        return self.has_class("-open")

    @property
    def chosen(self) -> CompletionItem | None:
        """The item under the cursor."""
        index = self.highlighted
        return self._items[index] if index is not None and index < len(self._items) else None

    def open(self, items: Sequence[CompletionItem], x: int, y: int) -> None:
        """Show items below a place of the screen."""
        if tuple(items) != self._items:
            self._items = tuple(items)
            width = max(len(clean(item.label)) for item in items)
            self.set_options(Option(_line(item, width)) for item in items)
        self.highlighted = 0
        self.absolute_offset = None
        self.styles.offset = (x, y)
        self.add_class("-open")

    def close(self) -> None:
        """Hide the list."""
        self.remove_class("-open")

    def move(self, step: int) -> None:
        """Move the cursor, from one end on to the other."""
        if self._items:
            self.highlighted = ((self.highlighted or 0) + step) % len(self._items)


def _line(item: CompletionItem, width: int) -> Beside:
    label = Content.styled(f"{clean(item.label):<{width}}", "$foreground")
    return Beside(label, Content.styled(clean(item.detail), "$karp-muted"))
