"""What is said of the row under the cursor below a table, where one line does not hold it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeAlias

from karptui.views.column import ItemT
from karptui.views.row import Pieces
from karptui.widgets.hanging import hanging
from karptui.widgets.sentences import Sentences

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
        self.set_wrapped(hanging(lines, self.content_size.width) if self._is_hanging else lines)
