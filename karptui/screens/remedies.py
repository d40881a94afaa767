"""What can be done about blockers, side by side: each remedy with what it comes to, leading into the what-if."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import TextArea

from karptui.screens.list_screen import ListScreen
from karptui.screens.listing import Kept
from karptui.session.cluster_view import ClusterView
from karptui.views.blockers.entry import BlockerEntry
from karptui.views.blockers.remedies import TABLE, objects_of, remedies, remedy_text, renewed
from karptui.views.blockers.sentences import effect_text
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.whatif.opening import Opening
from karptui.whatif.remedies.blockers.remedy import BlockerRemedy


class RemediesScreen(ListScreen[BlockerRemedy]):
    """The remedies of a group of blockers above the YAML and commands of the one under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "copy_text", "Copy YAML and commands", id="remedies.copy"),
        Binding("tab", "toggle_text", "Scroll the text", show=False, id="remedies.text"),
    ]

    entry_name = "blockers"
    title_text = "What to do"
    has_objects = False

    def __init__(self, title: str, members: Sequence[BlockerEntry]) -> None:
        """Make the screen.

        Args:
            title: What the blockers have in common.
            members: The blockers.
        """
        self._text = TextArea(
            "", read_only=True, show_line_numbers=False, soft_wrap=True, theme="css", id="remedy-text"
        )
        super().__init__(TABLE, below=(self._text,))
        self.title_text = clean(title)
        self._members = tuple(members)
        self._remedies: Kept[tuple[BlockerRemedy, ...]] = Kept()

    def items_of(self, view: ClusterView) -> Sequence[BlockerRemedy]:
        """Return what can be done as things are; of blockers that are gone meanwhile as they were."""

        def made() -> tuple[BlockerRemedy, ...]:
            self._members = renewed(self._members, view.analysis) or self._members
            return tuple(remedies(self._members, objects_of(view.state), self.host.now_ns()))

        return self._remedies.get((view.analysis,), made)

    def show_state(self) -> None:
        """Show the remedies and the text of the one under the cursor."""
        super().show_state()
        self._show_text()

    def _show_text(self) -> None:
        remedy = self.current
        text = remedy_text(remedy, self._members) if remedy is not None else "# it ends by itself: nothing to do"
        if text != self._text.text:
            if "yaml" in self._text.available_languages:
                self._text.language = "yaml"
            self._text.load_text(text)
            self._text.border_title = Content(" YAML and commands: karptui runs none of them ")

    def explain_item(self, item: BlockerRemedy) -> Pieces:
        """Return what it does, what becomes of the nodes, and how to try it."""
        effect = effect_text(item.effect)
        said: list[tuple[str, Tone]] = [(item.sentence, Tone.NORMAL)]
        if effect:
            said.append((f" {effect} (simulated).", Tone.GOOD))
        if item.edits:
            said.append((f" {self.key_of('screen.whatif', 'ctrl+t')} tries it in the what-if.", Tone.MUTED))
        else:
            said.append((" It cannot be tried: the objects are not known as they were written.", Tone.MUTED))
        return tuple(said)

    def name_of(self, item: BlockerRemedy) -> str:
        """Return its title."""
        return item.title

    def whatif_opening(self) -> Opening:
        """Return a what-if with the edits of the remedy under the cursor."""
        remedy = self.current
        if remedy is None:
            return Opening()
        return Opening(remedy.title, edits=remedy.edits, replay=remedy.replay)

    def action_copy_text(self) -> None:
        """Copy the YAML and commands."""
        self.app.copy_to_clipboard(self._text.text)
        self.say("copied", Tone.GOOD)

    def action_toggle_text(self) -> None:
        """Give the keys to the text, or back to the table."""
        (self.table if self._text.has_focus else self._text).focus()

    def cursor_moved(self) -> None:
        """Say what is under the cursor, and show its text."""
        super().cursor_moved()
        self._show_text()

    def open_row(self, item: BlockerRemedy) -> None:  # noqa: ARG002 - it is under the cursor
        """Try the remedy in the what-if."""
        self.action_whatif()
