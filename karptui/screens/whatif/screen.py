"""The what-if pane: what is edited on the left, what it changes on the right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal

from karptui.kube.units import count_text
from karptui.screens.whatif.adding import Adding
from karptui.screens.whatif.answering import Answering
from karptui.screens.whatif.desk import Desk
from karptui.screens.whatif.documents import Documents
from karptui.screens.whatif.exporting import Exporting
from karptui.screens.whatif.result import ResultPane
from karptui.screens.whatif.sweeping import Sweeping
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.whatif.notes import problem_at
from karptui.views.whatif.opening import NOTHING, Opening
from karptui.views.whatif.totals import mode_sentence, mode_text
from karptui.whatif.yaml.tree import Severity
from karptui.widgets.control_list import ControlList
from karptui.widgets.titled_pane import TitledPane
from karptui.widgets.yaml_editor import CompletionList, YamlEditor


class WhatIfScreen(Answering, Adding, Exporting, Sweeping):
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
    VERTICAL_BREAKPOINTS = [(0, "-short"), (30, "-tall")]  # noqa: RUF012 - as Textual declares it

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

    def compose_body(self) -> ComposeResult:
        """Yield editor and result side by side."""
        with Horizontal(id="whatif-panes"):
            with TitledPane(id="whatif-edit"):
                yield ControlList(id="controls")
                editor = YamlEditor(self.complete, self.focus_body)
                editor.id = "editor"
                yield editor
            yield ResultPane()
        yield CompletionList()

    def prepare(self) -> None:
        """Take over the text, then open what is asked for."""
        self.desk.listen(self.heard)
        self.follow_names()
        self.load_sheet()
        self.controls.focus()
        self.read_schemas()
        self._begin()

    @work(exclusive=True, group="opening")
    async def _begin(self) -> None:
        if self._opening is not NOTHING:
            self.result.say("reading the documents…")
            failed = await self.open_documents(self._opening)
            self.controls.move_to_start()
            if failed:
                self.say(failed, Tone.WARNING)
        self.ask()

    def explain(self) -> Pieces:
        """Say what is wrong at the cursor, else what is replayed."""
        if self._opening is NOTHING and not self.editor.text and not self.desk.sheet.edits:
            return ((f"{mode_text(self.desk.sheet.replay)}: {mode_sentence(self.desk.sheet.replay)}", Tone.MUTED),)
        if not self.documents.is_taken_apart:
            return self.info.pieces  # while letters come, what was said of the text before
        problem = problem_at(self.documents.problems, self.editor.cursor_location[0]) or self._problem_elsewhere()
        last_good = " · last good result" if self.documents.is_broken else ""
        if problem:
            return ((f"✘ {problem}", Tone.FAULT), (last_good, Tone.WARNING))
        if self.problem:
            return ((f"✘ {clean(self.problem)}", Tone.FAULT), (" · last good result", Tone.WARNING))
        mode = self.desk.sheet.replay
        return ((f"{mode_text(mode)}: {mode_sentence(mode)}", Tone.MUTED), (" · nothing is applied", Tone.MUTED))

    def _problem_elsewhere(self) -> str:
        """Return the first thing that is wrong with another line than that of the cursor."""
        wrong = [one for one in self.documents.problems if one.severity is Severity.ERROR]
        if not wrong:
            return ""
        more = f" · {count_text(len(wrong) - 1)} more" if len(wrong) > 1 else ""
        return f"line {wrong[0].line + 1}: {problem_at(wrong[:1], wrong[0].line)}{more}"

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
