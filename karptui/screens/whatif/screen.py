"""The what-if pane: what is edited on the left, what it changes on the right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from msgspec.structs import replace
from textual import getters, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import TextArea

from karptui.screens.frame import Pieces
from karptui.screens.whatif.adding import Adding
from karptui.screens.whatif.desk import Desk
from karptui.screens.whatif.documents import Documents
from karptui.screens.whatif.exporting import Exporting
from karptui.screens.whatif.result import ResultPane
from karptui.screens.whatif.sweeping import Sweeping
from karptui.sources.base import SourceError
from karptui.views.row import Tone
from karptui.views.sanitize import clean
from karptui.views.whatif.answer import Answer
from karptui.views.whatif.controls import controls_of, focused
from karptui.views.whatif.notes import line_notes, problem_at
from karptui.views.whatif.opening import NOTHING, Opening
from karptui.views.whatif.totals import mode_sentence, mode_text
from karptui.whatif.documents import Document, schemas_from_crds
from karptui.widgets.control_list import ControlList
from karptui.widgets.yaml_editor import CompletionItem, CompletionList, Completions, LineNote, YamlEditor

REPLAY_AFTER_SECONDS: Final = 0.08
"""How long after the last key a scenario is replayed."""
WIDE: Final = 60
"""Columns from which on there is room to say what documents are held against."""
FOLLOW_AFTER_NS: Final = 2_000_000_000
"""How long the base may be behind a cluster that keeps changing."""


class WhatIfScreen(Adding, Exporting, Sweeping):
    """Edits and their consequences."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "edit_text", "Edit YAML", id="whatif.edit"),
        Binding("a", "add", "Add edit", id="whatif.add"),
        Binding("m", "mode", "Mode", id="whatif.mode"),
        Binding("s", "scenarios", "Scenarios", id="whatif.scenarios"),
        Binding("c", "compare", "Compare", id="whatif.compare"),
        Binding("w", "sweep", "Sweep", id="whatif.sweep"),
        Binding("x", "export", "Export", id="whatif.export"),
        Binding("u", "undo", "Undo", id="whatif.undo"),
        Binding("U,ctrl+y", "redo", "Redo", show=False, id="whatif.redo"),
        Binding("r", "focus_result", "Result", show=False, id="whatif.result"),
        Binding(
            "v",
            "verify",
            "Verify the model",
            show=False,
            id="whatif.verify",
            tooltip="Replay the NodeClaims created lately, and say how many the model makes too",
        ),
        Binding("n", "rename", "Name the scenario", show=False, id="whatif.rename"),
    ]
    BINDING_GROUP_TITLE = "What-if"

    controls = getters.query_one("#controls", ControlList)
    editor = getters.query_one("#editor", YamlEditor)
    result = getters.query_one(ResultPane)
    edit_pane = getters.query_one("#whatif-edit", Vertical)

    @dataclass
    class Answered(Message):
        """A replay has come to its end."""

        answer: Answer

    def __init__(self, desk: Desk, opening: Opening = NOTHING) -> None:
        """Make the screen.

        Args:
            desk: what is being worked on.
            opening: what to begin with.
        """
        super().__init__()
        self.desk = desk
        self.documents = Documents(desk.originals)
        self._opening = opening
        self._timer: Timer | None = None
        self._asked: tuple[object, object] = (None, None)
        """State and evidence of the last question."""
        self._asked_ns = 0
        self._problem = ""
        """Why the last question has no answer."""

    def compose_body(self) -> ComposeResult:
        """Yield editor and result side by side."""
        with Horizontal(id="whatif-panes"):
            with Vertical(id="whatif-edit"):
                yield ControlList(id="controls")
                editor = YamlEditor(self._complete, self.focus_body)
                editor.id = "editor"
                yield editor
            yield ResultPane()
        yield CompletionList()

    def prepare(self) -> None:
        """Take over the text, then open what is asked for."""
        self.desk.listen(self._heard)
        self.follow_names()
        self._load_sheet()
        self.controls.focus()
        self._read_schemas()
        self._begin()

    def _heard(self, answer: Answer) -> None:
        """Take an answer over from the replayer's thread."""
        self.post_message(self.Answered(answer))

    @work(exclusive=True, group="schemas")
    async def _read_schemas(self) -> None:
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

    @work(exclusive=True, group="opening")
    async def _begin(self) -> None:
        if self._opening is not NOTHING:
            self.result.say("reading the documents…")
            failed = await self.open_documents(self._opening)
            self.controls.highlighted = 0
            if failed:
                self.say(failed, Tone.WARNING)
        self.ask()

    # The text

    def _load_sheet(self) -> None:
        with self.prevent(TextArea.Changed):
            self.editor.put_text(self.desk.sheet.text)
        self.show_sheet()

    def show_sheet(self) -> None:
        """Show what the sheet in front says: notes, quick edits, titles."""
        self.documents.read(self.editor.text)
        notes = line_notes(self.documents.parsed, self.documents.problems, self.desk.originals)
        self.editor.notes = {line: LineNote(*note) for line, note in notes.items()}
        self._show_controls()
        self._show_titles()
        self.refresh_info()

    def _show_controls(self) -> None:
        document, settings = self.focused_document(), self.host.view.evidence.settings
        self.controls.show_controls(controls_of(document, self.desk.sheet.edits, self.desk.originals, settings))

    def focused_document(self) -> Document | None:
        """Return the document that the cursor is in."""
        return focused(self.documents.parsed, self.editor.cursor_location[0])

    def _show_titles(self) -> None:
        sheet, count = self.desk.sheet, len(self.desk.histories)
        which = f" {self.desk.index + 1}/{count}" if count > 1 else ""
        origin = f" ─ {self.documents.origin}" if self.edit_pane.size.width > WIDE else ""
        self.edit_pane.border_title = Content(f" Edit ─ {clean(sheet.name)}{which}{origin} ")
        self.result.show_title(sheet.replay, self.desk.answers.get(self.desk.index))

    @on(TextArea.Changed)
    def _edited(self, event: TextArea.Changed) -> None:
        event.stop()
        self.desk.write(self.editor.text)
        self.show_sheet()
        self.ask_soon()

    @on(TextArea.SelectionChanged)
    def _moved(self, event: TextArea.SelectionChanged) -> None:
        event.stop()
        self._show_controls()
        self.refresh_info()

    def _complete(self, text: str, line: int, column: int) -> Completions:
        found = self.documents.complete(text, line, column)
        return Completions(
            found.start_column, tuple(CompletionItem(item.label, item.insert, item.detail) for item in found.items)
        )

    def put_text(self, text: str, why: str) -> None:
        """Take over a text that a quick edit made."""
        self.desk.write(text, why=why)
        self._load_sheet()
        self.ask_soon()

    def changed(self) -> None:
        """Show the sheet in front after something other than typing has changed it."""
        self._load_sheet()
        self.ask_soon()

    # Asking and answers

    def ask_soon(self) -> None:
        """Replay once no key has come for a moment."""
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(REPLAY_AFTER_SECONDS, self.ask)

    def ask(self) -> None:
        """Replay now, unless a document cannot be read: then the last good result stays."""
        if not self.is_attached:
            return
        if self.documents.is_broken:
            self.refresh_info()
            return
        view = self.host.view
        self._asked, self._asked_ns = (view.state, view.evidence), self.host.now_ns()
        self.desk.replayer.ask(view, self._asked_ns, self.desk.scenario(self.documents.parsed))
        self.result.show_busy(self.desk.replayer)

    @on(Answered)
    def _answered(self, event: Answered) -> None:
        event.stop()
        answer = event.answer
        self._problem = answer.problem
        if answer.difference is not None:
            self.desk.answers[self.desk.index] = answer
        self.result.show_busy(self.desk.replayer)
        self.result.show_answer(self.desk.answers.get(self.desk.index), answer.problem)
        self._show_titles()
        self.refresh_info()

    def show_state(self) -> None:
        """Follow the cluster: replay again when it has changed, and say how far a replay has come."""
        self.result.show_busy(self.desk.replayer)
        view = self.host.view
        if self._asked[0] is None or self._asked == (view.state, view.evidence):
            return
        self.follow_names()
        behind = self.host.now_ns() - self._asked_ns
        if behind >= FOLLOW_AFTER_NS and not self.desk.replayer.is_busy:
            self.result.note_change()
            self.ask()

    def explain(self) -> Pieces:
        """Say what is wrong at the cursor, else what is replayed."""
        if self._opening is NOTHING and not self.editor.text and not self.desk.sheet.edits:
            return ((f"{mode_text(self.desk.sheet.replay)}: {mode_sentence(self.desk.sheet.replay)}", Tone.MUTED),)
        problem = problem_at(self.documents.problems, self.editor.cursor_location[0])
        last_good = " · last good result" if self.documents.is_broken else ""
        if problem:
            return ((f"✘ {problem}", Tone.FAULT), (last_good, Tone.WARNING))
        if self._problem:
            return ((f"✘ {clean(self._problem)}", Tone.FAULT), (" · last good result", Tone.WARNING))
        if self.documents.is_broken:
            line = self.documents.first_broken_line + 1
            return ((f"last good result: line {line} cannot be read yet", Tone.WARNING),)
        mode = self.desk.sheet.replay
        return ((f"{mode_text(mode)}: {mode_sentence(mode)}", Tone.MUTED), (" · nothing is applied", Tone.MUTED))

    def focus_body(self) -> None:
        """Give the keys back to the quick edits."""
        self.controls.focus()

    # Keys

    def action_edit_text(self) -> None:
        """Give the keys to the text."""
        self.editor.focus()

    def action_focus_result(self) -> None:
        """Give the keys to the result."""
        self.result.focus_lines()

    def action_undo(self) -> None:
        """Go one step back."""
        self._went(self.desk.undo(), "undone", "nothing to undo")

    def action_redo(self) -> None:
        """Go one step forward again."""
        self._went(self.desk.redo(), "done again", "nothing to do again")

    def _went(self, what: str, done: str, nothing: str) -> None:
        if what:
            self.changed()
            self.say(f"{done}: {what}", Tone.MUTED)
        else:
            self.say(nothing, Tone.MUTED)

    def use_opening(self, opening: Opening) -> None:
        """Add to the sheet in front what somebody looked at elsewhere."""
        self._opening = opening
        self._begin()

    def help_text(self) -> Sequence[tuple[str, Sequence[tuple[str, str]]]]:
        """Explain what is replayed."""
        from karptui.whatif.scenario import Replay  # noqa: PLC0415 - only when asked for

        return (("What is replayed", tuple((mode_text(mode), mode_sentence(mode)) for mode in Replay)),)

    def take_sheet(self, **changes: object) -> None:
        """Change fields of the sheet in front at once."""
        self.desk.put(replace(self.desk.sheet, **changes), "quick edit")
        self.changed()
