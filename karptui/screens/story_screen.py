"""A table above the row under the cursor in sentences."""

from __future__ import annotations

from textual import getters, on
from textual.app import ComposeResult

from karptui.screens.list_screen import ListScreen
from karptui.views.fields import ItemT
from karptui.views.row import Pieces
from karptui.widgets.row_table import RowHighlighted
from karptui.widgets.sentences import Sentences


class StoryScreen(ListScreen[ItemT]):
    """A list screen of which one line does not hold what there is to say about a row."""

    story = getters.query_one("#story", Sentences)

    def compose_body(self) -> ComposeResult:
        """Yield the table above the sentences."""
        yield from super().compose_body()
        yield Sentences(id="story")

    def story_of(self, item: ItemT) -> tuple[Pieces, ...]:
        """Return a row in sentences, a line each."""
        raise NotImplementedError

    def explain_item(self, item: ItemT) -> Pieces:  # noqa: ARG002 - the sentences under the table explain it
        """Say what holds for every row."""
        return self.explain()

    def row_facts(self) -> tuple[Pieces, ...]:
        """Return nothing: the sentences say what columns have no room for."""
        return ()

    def refresh_info(self) -> None:
        """Say again what is under the cursor."""
        super().refresh_info()
        self._show_story()

    def _show_story(self) -> None:
        item = self.current
        self.story.set_wrapped(self.story_of(item) if item is not None else ())

    @on(RowHighlighted)
    def _moved(self, _event: RowHighlighted) -> None:
        self._show_story()
