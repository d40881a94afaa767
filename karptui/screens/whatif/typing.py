"""The text, and what is said of it: notes at lines, quick edits, titles."""

from __future__ import annotations

from textual import events, getters, on, work
from textual.content import Content
from textual.widgets import TextArea

from karptui.screens.frame import FrameScreen
from karptui.screens.whatif.desk import Desk
from karptui.screens.whatif.documents import Documents
from karptui.screens.whatif.result import ResultPane
from karptui.sources.base import SourceError
from karptui.views.row import Tone
from karptui.views.sanitize import clean
from karptui.views.whatif.controls import controls_of, focused
from karptui.views.whatif.notes import line_notes
from karptui.whatif.history import TYPING
from karptui.whatif.schema.schema import schemas_from_crds
from karptui.whatif.yaml.parse import Document
from karptui.widgets.control_list import ControlList
from karptui.widgets.titled_pane import TitledPane
from karptui.widgets.yaml_editor import CompletionItem, Completions, LineNote, YamlEditor

WIDE = 60
"""Columns from which on there is room to say what documents are held against."""


class Typing(FrameScreen):
    """Mixed into the what-if screen."""

    desk: Desk
    documents: Documents

    controls = getters.query_one("#controls", ControlList)
    editor = getters.query_one("#editor", YamlEditor)
    edit_pane = getters.query_one("#whatif-edit", TitledPane)
    result = getters.query_one(ResultPane)
    _controls_of: tuple[object, object, object] = (None, None, None)
    """Document, edits and settings whose quick edits are shown."""

    def ask_soon(self) -> None:
        """Replay once no key has come for a moment, and say before what the text says."""
        raise NotImplementedError

    @work(exclusive=True, group="schemas")
    async def read_schemas(self) -> None:
        """Hold documents against the cluster's own schemas, where they can be read."""
        if self.desk.schemas is None:
            try:
                crds = await self.host.crds()
            except SourceError as error:
                self.say(f"the schemas shipped with karptui are used: {error}", Tone.WARNING)
                return
            if not crds:
                return
            self.desk.schemas = schemas_from_crds(crds)
        self.documents.use_schemas(self.desk.schemas)
        self.show_sheet()

    def load_sheet(self) -> None:
        """Put the text of the sheet in front into the editor."""
        with self.prevent(TextArea.Changed):
            self.editor.put_text(self.desk.sheet.text)
        self.show_sheet()

    def show_sheet(self) -> None:
        """Show what the sheet in front says: notes, quick edits, titles."""
        self.documents.read(self.editor.text)
        notes = line_notes(self.documents.parsed, self.documents.problems, self.desk.originals)
        self.editor.notes = {line: LineNote(*note) for line, note in notes.items()}
        self._show_controls()
        self.show_titles()
        self.refresh_info()

    def _show_controls(self) -> None:
        document, settings = self.focused_document(), self.host.view.evidence.settings
        if document is None and self.documents.is_broken:
            return  # what is half typed is to be itself again in a moment; until then nothing jumps
        asked = (document, self.desk.sheet.edits, settings)
        if any(one is not other for one, other in zip(asked, self._controls_of, strict=True)):
            self._controls_of = asked
            self.controls.show_controls(controls_of(document, self.desk.sheet.edits, self.desk.originals, settings))

    def focused_document(self) -> Document | None:
        """Return the document that the cursor is in."""
        return focused(self.documents.parsed, self.editor.cursor_location[0])

    def show_titles(self) -> None:
        """Say which scenario is edited, what its documents are held against, and what is replayed."""
        sheet, count = self.desk.sheet, len(self.desk.histories)
        which = f" {self.desk.index + 1}/{count}" if count > 1 else ""
        origin = f" ─ {self.documents.origin}" if self.edit_pane.size.width > WIDE else ""
        self.edit_pane.show_title(Content(f" Edit ─ {clean(sheet.name)}{which}{origin} "))
        self.result.show_heading(sheet.replay, self.desk.answers.get(self.desk.index))

    @on(events.DescendantFocus)
    def _keys_went(self) -> None:
        """Give the room to the text while it has the keys, where there is not enough for quick edits as well."""
        self.edit_pane.set_class(self.focused is self.editor, "-typing")

    @on(TextArea.Changed)
    def _edited(self, event: TextArea.Changed) -> None:
        """Take the text over at once; what it says is worked out when no key has come for a moment."""
        event.stop()
        self.desk.write(self.editor.text, why=f"{TYPING} in line {self.editor.cursor_location[0] + 1}")
        self.documents.read(self.editor.text)
        self.ask_soon()

    @on(TextArea.SelectionChanged)
    def _moved(self, event: TextArea.SelectionChanged) -> None:
        event.stop()
        # While letters come, the text that is taken apart is the one before, and what it says is shown.
        if self.documents.is_taken_apart and self.editor.text == self.documents.text:
            self._show_controls()
            self.refresh_info()

    def complete(self, text: str, line: int, column: int) -> Completions:
        """Return what could stand at a place."""
        found = self.documents.complete(text, line, column)
        return Completions(
            found.start_column, tuple(CompletionItem(item.label, item.insert, item.detail) for item in found.items)
        )

    def put_text(self, text: str, why: str) -> None:
        """Take over a text that a quick edit made; what is wrong with it is said when no key has come for a moment."""
        self.desk.write(text, why=why)
        with self.prevent(TextArea.Changed):
            self.editor.put_text(text)
        self.documents.read(text)
        self._show_controls()
        self.ask_soon()

    def show_line(self, line: int) -> None:
        """Put the cursor on a line of the text."""
        self.editor.show_place(line)

    def changed(self) -> None:
        """Show the sheet in front after something other than typing has changed it."""
        self.load_sheet()
        self.ask_soon()
