"""The left half: quick edits above the text, with notes at lines."""

from __future__ import annotations

from typing import Final

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import TextArea

from karptui.screens.whatif.controller import WhatIf
from karptui.screens.whatif.quick_edits import QuickEdits
from karptui.views.sanitize import clean
from karptui.views.whatif.controls import controls_of, line_notes
from karptui.whatif.yaml.parse import Document
from karptui.widgets.control_list import ControlList
from karptui.widgets.titled_pane import TitledPane
from karptui.widgets.yaml_editor import CompletionItem, Completions, LineNote, YamlEditor

WIDE: Final = 60
"""Minimum width in columns to show the schemas in the title."""


class EditorPane(TitledPane):
    """Shows the current sheet, and takes over typed text and stepped values."""

    def __init__(self, whatif: WhatIf, quick: QuickEdits) -> None:
        """Make the pane.

        Args:
            whatif: The what-if.
            quick: Handles the keys of controls.
        """
        super().__init__(id="whatif-edit")
        self._whatif = whatif
        self._quick = quick
        self.controls = ControlList(id="controls")
        self.editor = YamlEditor(self._complete, self.focus_controls)
        self.editor.id = "editor"
        self._controls_of: tuple[object, object, object] = (None, None, None)
        """Document, edits and settings whose quick edits are shown."""

    def compose(self) -> ComposeResult:
        """Yield quick edits above the text."""
        yield self.controls
        yield self.editor

    def focus_controls(self) -> None:
        """Give the keys to the quick edits."""
        self.controls.focus()

    @property
    def line(self) -> int:
        """The line that the cursor is in."""
        return self.editor.cursor_location[0]

    @property
    def document(self) -> Document | None:
        """The document that the cursor is in."""
        return self._whatif.document_at(self.line)

    def show_document(self, document: Document | None) -> None:
        """Put the cursor into a document, so that quick edits are of it."""
        if document is not None:
            self.editor.show_place(document.first_line)

    # Showing

    def put_text(self) -> None:
        """Put the text of the current sheet into the editor."""
        with self.prevent(TextArea.Changed):
            self.editor.put_text(self._whatif.book.sheet.text)

    def show_notes(self) -> None:
        """Show notes at lines, quick edits, and the title."""
        whatif, documents = self._whatif, self._whatif.documents
        documents.read(self.editor.text)
        notes = line_notes(documents.parsed, documents.problems, whatif.book.originals)
        self.editor.notes = {line: LineNote(*note) for line, note in notes.items()}
        self.show_controls()
        self.show_heading()

    def show_controls(self) -> None:
        """Show the quick edits of the document that the cursor is in."""
        whatif, document = self._whatif, self.document
        if document is None and whatif.documents.is_broken:
            return  # a half-typed document is valid again in a moment; until then nothing moves
        edits, settings = whatif.book.sheet.edits, whatif.controller.settings
        shown = self._controls_of
        if document is not shown[0] or edits is not shown[1] or settings != shown[2]:
            self._controls_of = document, edits, settings
            self.controls.show_controls(controls_of(document, edits, whatif.book.originals, settings))

    def show_heading(self) -> None:
        """Show the name of the scenario and the schemas of its documents."""
        book = self._whatif.book
        count = len(book.sheets)
        which = f" {book.index + 1}/{count}" if count > 1 else ""
        origin = f" ─ {self._whatif.documents.origin}" if self.size.width > WIDE else ""
        self.show_title(Content(f" Edit ─ {clean(self._whatif.name)}{which}{origin} "))

    def on_resize(self) -> None:
        """Say as much as there is room for at another width."""
        self.show_heading()

    # Keys

    def _complete(self, text: str, line: int, column: int) -> Completions:
        """Return the completions at a position."""
        found = self._whatif.documents.complete(text, line, column)
        return Completions(
            found.start_column, tuple(CompletionItem(item.label, item.insert, item.detail) for item in found.items)
        )

    @on(TextArea.Changed)
    def _edited(self, event: TextArea.Changed) -> None:
        event.stop()
        self._whatif.typed(self.editor.text, self.line)

    @on(TextArea.SelectionChanged)
    def _moved(self, _event: TextArea.SelectionChanged) -> None:
        if self.is_settled:
            self.show_controls()

    @property
    def is_settled(self) -> bool:
        """Whether the text that is shown has been taken apart: while letters come it is the one before."""
        documents = self._whatif.documents
        return documents.is_taken_apart and self.editor.text == documents.text

    @on(ControlList.Stepped)
    def _stepped(self, event: ControlList.Stepped) -> None:
        event.stop()
        self._quick.step(event.control_id, event.step, self.document)

    @on(ControlList.Reset)
    def _reset(self, event: ControlList.Reset) -> None:
        event.stop()
        self._quick.reset(event.control_id, self.document)
