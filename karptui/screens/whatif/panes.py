"""The two panes of the what-if: text and quick edits on the left, the answer with lines that open on the right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from textual import getters, on
from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message
from textual.widgets import TextArea

from karptui.kube.units import count_text
from karptui.screens.whatif.controller import WhatIf
from karptui.screens.whatif.quick_edits import QuickEdits
from karptui.session.answers import ReplayState
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.whatif.controls import controls_of, line_notes
from karptui.views.whatif.placements import ResultLine, Target
from karptui.views.whatif.result import answer_lines, opened, price_note, version_text
from karptui.views.whatif.sentences import headline
from karptui.views.whatif.totals import beside, mode_text, short_lines, totals_lines
from karptui.whatif.run import Answer
from karptui.whatif.scenario import Replay
from karptui.whatif.yaml.tree import Document
from karptui.widgets.control_list import ControlList
from karptui.widgets.pick_list import Line, LineList
from karptui.widgets.sentences import Sentences
from karptui.widgets.titled_pane import TitledPane
from karptui.widgets.yaml_editor import CompletionItem, Completions, LineNote, YamlEditor

WIDE: Final = 60
"""Minimum width in columns to show versions in the title."""
SCROLL_BAR: Final = 2
TALL: Final = 16
"""Minimum height in rows for the table of figures."""


class ResultPane(TitledPane):
    """Shows the last good answer."""

    answer = getters.query_one("#whatif-answer", Sentences)
    figures = getters.query_one("#whatif-figures", Sentences)
    lines = getters.query_one(LineList)

    @dataclass
    class Wanted(Message):
        """The user wants to see the object of a line."""

        target: Target

    def __init__(self) -> None:
        super().__init__(id="whatif-result")
        self._answer: Answer | None = None
        self._lines: tuple[ResultLine, ...] = ()
        self._beside: tuple[ResultLine, ...] | None = None
        """The lines with figures next to the NodePools, if there is room."""
        self._shown: dict[str, ResultLine] = {}
        """Lines that are shown, by key."""
        self._problem = ""
        self._later = ""
        self._open: frozenset[str] = frozenset()
        self._heading = self._rests_on = self._note = self._busy = ""

    def compose(self) -> ComposeResult:
        yield Sentences(id="whatif-answer")
        yield Sentences(id="whatif-figures")
        yield LineList(id="whatif-lines")

    def say(self, text: str) -> None:
        """Say something where the answer will be."""
        self.answer.set_wrapped((((text, Tone.ACTIVE),),))

    def show_heading(self, mode: Replay, answer: Answer | None) -> None:
        is_shown = answer is not None and answer.scenario.replay is mode
        took = f" · {_took(answer.seconds)}" if answer is not None and is_shown else ""
        accuracy = answer.accuracy if answer is not None else None
        version = f" · {version_text(accuracy)}" if accuracy is not None and self.size.width > WIDE else ""
        self._heading, self._rests_on = f"Result ─ {mode_text(mode)}", f"{took}{version}"
        self._draw_title()

    def show_busy(self, state: ReplayState) -> None:
        """Show the progress of a replay instead of the basis of the last answer."""
        busy = ""
        if state.is_busy:
            done, total = state.done, state.total
            busy = f" · ⟳ replaying{f' {count_text(done)} of {count_text(total)}' if total else ''}"
        if busy != self._busy:
            self._busy = busy
            self._draw_title()

    def note_change(self, *, is_of_cluster: bool) -> None:
        """Say whether the next answer follows a change of the cluster, or an edit."""
        self._note = " · cluster changed" if is_of_cluster else ""

    def _draw_title(self) -> None:
        rest = (self._busy, "$karp-active") if self._busy else (f"{self._note}{clean(self._rests_on)}", "$karp-muted")
        self.show_title(Content.assemble(f" {clean(self._heading)}", rest, " "))

    def show_answer(self, answer: Answer | None, problem: str, later: str = "") -> None:
        """Show an answer, or why there is none."""
        self._problem, self._later = problem, later
        if answer is None or answer.difference is None:
            self._answer, self._lines = None, ()
        elif answer is not self._answer:
            self._answer = answer
            self._lines = answer_lines(answer)
        self._show_figures()
        self._show_lines()

    def _show_figures(self) -> None:
        answer, lead = self._answer, list[Pieces]()
        if self._problem:
            lead.append((("✘ ", Tone.FAULT), (self._problem, Tone.FAULT)))
            if answer is not None:
                lead.append((("the last valid result is below", Tone.WARNING),))
        figures: tuple[Pieces, ...] = ()
        is_tall = self.size.height >= TALL
        self._beside = None
        if answer is not None and answer.difference is not None:
            lead.append(headline(answer))
            lead += [((clean(self._later), Tone.WARNING),)] if self._later else []
            figures = (totals_lines if is_tall else short_lines)(answer.difference, price_note(answer))
            self._beside = beside(self._lines, figures, self.lines.size.width - SCROLL_BAR) if is_tall else None
            figures = () if self._beside is not None else figures
        self.answer.set_wrapped(lead)
        (self.figures.set_lines if is_tall else self.figures.set_wrapped)(figures)
        for sentences, lines in ((self.answer, lead), (self.figures, figures)):
            sentences.set_class(not lines, "-empty")

    def _show_lines(self) -> None:
        shown = opened(self._beside or self._lines, self._open, max(self.lines.size.width - 4, 40))
        self._shown = {line.key: line for line in shown}
        self.lines.show_lines(
            [
                Line(
                    line.key,
                    _signed(line, self._open),
                    line.is_heading,
                    has_gap=(line.is_heading or line.has_gap) and at > 0,
                )
                for at, line in enumerate(shown)
            ]
        )

    def on_resize(self) -> None:
        """Wrap open lines for the new width, and show the figures that fit."""
        if self._answer is not None:
            self._show_figures()
        self._show_lines()

    @property
    def target(self) -> Target | None:
        line = self._shown.get(self.lines.current_key)
        return line.target if line is not None else None

    @on(LineList.Opened)
    def _opened(self, event: LineList.Opened) -> None:
        """Open or close a line; a line without details leads to its object."""
        event.stop()
        line = self._shown.get(event.key)
        if line is None or line.details:
            self._open ^= {event.key}
            self._show_lines()
        elif line.target is not None:
            self.post_message(self.Wanted(line.target))
        else:
            self._open -= {event.key.partition("#")[0]}
            self._show_lines()


def _signed(line: ResultLine, open_keys: frozenset[str]) -> Pieces:
    if not line.details:
        return line.pieces
    (first, tone), *rest = line.pieces
    sign = "▾" if line.key in open_keys else "▸"
    return ((sign, Tone.MUTED), (first.removeprefix(" "), tone), *rest)


def _took(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


class EditorPane(TitledPane):
    """Shows the current sheet, and takes over typed text and stepped values."""

    def __init__(self, whatif: WhatIf, quick: QuickEdits) -> None:
        super().__init__(id="whatif-edit")
        self._whatif = whatif
        self._quick = quick
        self.controls = ControlList(id="controls")
        self.editor = YamlEditor(self._complete, self.focus_controls)
        self.editor.id = "editor"
        self._controls_of: tuple[object, object, object] = (None, None, None)
        """Document, edits and settings whose quick edits are shown."""

    def compose(self) -> ComposeResult:
        yield self.controls
        yield self.editor

    def focus_controls(self) -> None:
        self.controls.focus()

    @property
    def line(self) -> int:
        return self.editor.cursor_location[0]

    @property
    def document(self) -> Document | None:
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
        self.show_heading()

    # Keys

    def _complete(self, text: str, line: int, column: int) -> Completions:
        completion = self._whatif.documents.complete(text, line, column)
        return Completions(
            completion.start_column,
            tuple(CompletionItem(item.label, item.insert, item.detail) for item in completion.items),
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
