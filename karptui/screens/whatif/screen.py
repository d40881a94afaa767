"""The what-if screen: the editor on the left, the result on the right, and the dialogs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.timer import Timer
from textual.widgets import TextArea

from karptui.kube.units import counted
from karptui.screens import routes
from karptui.screens.destinations import ToLedger
from karptui.screens.frame import FrameScreen, HelpSections
from karptui.screens.study import ask_for_goal
from karptui.screens.whatif.controller import WhatIf
from karptui.screens.whatif.dialogs import Dialogs, ask_about_unsaved, ask_aside
from karptui.screens.whatif.edit_dialogs import EditDialogs
from karptui.screens.whatif.panes import EditorPane, ResultPane
from karptui.screens.whatif.quick_edits import QuickEdits
from karptui.session.throttle import KEY_SECONDS
from karptui.sources.source import SourceError
from karptui.views.row import Pieces, Tone
from karptui.views.whatif.placements import INSTANCE_TYPE, Target
from karptui.views.whatif.totals import mode_sentence, mode_text
from karptui.whatif.run import Answer
from karptui.whatif.scenario import NOTHING, Opening, Replay, Scenario
from karptui.widgets.control_list import ControlList
from karptui.widgets.yaml_editor import CompletionList

REPLAY_AFTER_SECONDS: Final = KEY_SECONDS
"""How long after the last key a scenario is replayed: the user does not type any more."""


class WhatIfScreen(FrameScreen):
    """Edits and their consequences."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "edit_text", "Edit YAML", id="whatif.edit"),
        Binding("a", "add", "Add edit", id="whatif.add"),
        Binding("m", "mode", "Mode", id="whatif.mode"),
        Binding("s", "scenarios", "Scenarios", id="whatif.scenarios"),
        Binding("c", "compare", "Compare", id="whatif.compare"),
        Binding("w", "sweep", "Values", id="whatif.sweep", tooltip="Compare values of a field, and recommend one"),
        Binding("x", "export", "Export", id="whatif.export"),
        Binding("u", "undo", "Undo", id="whatif.undo"),
        Binding("U,ctrl+y", "redo", "Redo", show=False, id="whatif.redo"),
        Binding("R", "focus_result", "Result", show=False, id="whatif.result"),
        Binding(
            "o",
            "open_target",
            "Open",
            show=False,
            id="whatif.open",
            tooltip="Show the node, pod, NodePool, type or claim of a line of the result",
        ),
        Binding(
            "v",
            "verify",
            "Verify the model",
            show=False,
            id="whatif.verify",
            tooltip="Replay recent NodeClaims, and count those that the model reproduces",
        ),
        Binding(
            "S",
            "solve",
            "Solve",
            id="whatif.solve",
            tooltip="Find the change that schedules the pending pods, or the memory overhead that nodes need",
        ),
        Binding(
            "p",
            "run_command('packing')",
            "Packing",
            show=False,
            id="whatif.packing",
            tooltip="A picture of nodes and pods before and after",
        ),
        Binding("N", "rename", "Name the scenario", show=False, id="whatif.rename"),
    ]
    BINDING_GROUP_TITLE = "What-if"
    VERTICAL_BREAKPOINTS = [(0, "-short"), (30, "-tall")]  # noqa: RUF012 - as Textual declares it

    @dataclass
    class Answered(Message):
        """A replay has finished."""

        number: int
        answer: Answer

    def __init__(self, whatif: WhatIf, opening: Opening = NOTHING) -> None:
        super().__init__()
        self.whatif = whatif
        quick = QuickEdits(whatif)
        self.edit_pane = EditorPane(whatif, quick)
        self.result = ResultPane()
        self._dialogs = Dialogs(self, whatif, quick)
        self._edit_dialogs = EditDialogs(self, whatif, quick, self.edit_pane)
        self._opening = opening
        self._timer: Timer | None = None

    def compose_body(self) -> ComposeResult:
        yield Horizontal(self.edit_pane, self.result, id="whatif-panes")
        yield CompletionList()

    def prepare(self) -> None:
        self.whatif.show_to(self)
        self.whatif.follow_names()
        self._show_sheet(has_new_text=True)
        self.focus_body()
        self._read_schemas()
        self._begin()

    def on_unmount(self) -> None:
        self.whatif.leave(self)
        self.whatif.keep()

    def action_back(self) -> None:
        """Go back; where scenarios are not saved, ask once."""
        if not self.release_one():
            self._leave(super().action_back)

    def action_leave(self) -> None:
        self._leave(super().action_leave)

    def _leave(self, leave: Callable[[], object]) -> None:
        ask_about_unsaved(self.app, self.whatif, leave)

    @work(exclusive=True, group="opening")
    async def _begin(self) -> None:
        restored = await self.whatif.restore(is_opening=self._opening is not NOTHING)
        if restored:
            self.say(
                f"{counted(restored, 'scenario')} not saved last time {'is' if restored == 1 else 'are'} "
                "here again: s lists them",
                Tone.ACTIVE,
            )
        if self._opening is not NOTHING:
            self.result.say("reading the documents…")
            failed = await self.whatif.open(self._opening)
            self.edit_pane.controls.action_edge(-1)
            if failed:
                self.say(failed, Tone.WARNING)
        self.ask()

    @work(exclusive=True, group="schemas")
    async def _read_schemas(self) -> None:
        try:
            is_read = await self.whatif.read_schemas()
        except SourceError as error:
            self.say(f"the schemas shipped with karptui are used: {error}", Tone.WARNING)
        else:
            if is_read:
                self._show_sheet()

    def use_opening(self, opening: Opening) -> None:
        self._opening = opening
        self._begin()

    # Changes

    def typed(self) -> None:
        """Ask once no key has come for a moment."""
        self._ask_soon()

    def text_changed(self) -> None:
        """Show the text; its errors appear after a pause in typing."""
        self.edit_pane.put_text()
        self.edit_pane.show_controls()
        self._ask_soon()

    def sheet_changed(self) -> None:
        self._show_sheet(has_new_text=True)
        self._ask_soon()

    def answered(self, number: int, answer: Answer) -> None:
        self.post_message(self.Answered(number, answer))

    def _show_sheet(self, *, has_new_text: bool = False) -> None:
        """Show notes, quick edits and titles of the current sheet."""
        if has_new_text:
            self.edit_pane.put_text()
        self.edit_pane.show_notes()
        self._show_heading()
        self.refresh_info()

    def _show_heading(self) -> None:
        self.result.show_heading(self.whatif.book.sheet.replay, self.whatif.answer)

    # Asking

    def _ask_soon(self) -> None:
        """Replay after a pause in typing, and show the notes before."""
        self._stop_timer()
        self.result.note_change(is_of_cluster=False)
        self._timer = self.set_timer(REPLAY_AFTER_SECONDS, self.ask)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def ask(self) -> None:
        self._stop_timer()
        if self.is_attached:
            self._show_sheet()
            self.whatif.ask()
            self.result.show_busy(self.whatif.replaying())

    @on(Answered)
    def _answered(self, event: Answered) -> None:
        event.stop()
        if self.whatif.take(event.number, event.answer):
            self.result.show_busy(self.whatif.replaying())
            self.result.show_answer(self.whatif.answer, event.answer.problem, self.whatif.book.sheet.later)
            self.edit_pane.show_heading()
            self._show_heading()
            self.refresh_info()

    def show_state(self) -> None:
        """Follow the cluster: replay after changes, unless an edit is about to be replayed, and show the progress."""
        self.result.show_busy(self.whatif.replaying())
        if self._timer is None and self.whatif.follow():
            self.result.note_change(is_of_cluster=True)
            self.ask()

    # Words

    def explain(self) -> Pieces:
        """Return the error at the cursor, or the replay mode."""
        sheet = self.whatif.book.sheet
        if self._opening is NOTHING and not self.edit_pane.editor.text and not sheet.edits:
            return ((f"{mode_text(sheet.replay)}: {mode_sentence(sheet.replay)}", Tone.MUTED),)
        pieces = self.whatif.explain(self.edit_pane.line)
        return self.info.pieces if pieces is None else pieces

    def help_text(self) -> HelpSections:
        return (("What is simulated", tuple((mode_text(mode), mode_sentence(mode)) for mode in Replay)),)

    @on(TextArea.SelectionChanged)
    def _moved(self, event: TextArea.SelectionChanged) -> None:
        event.stop()
        if self.edit_pane.is_settled:
            self.refresh_info()

    @on(events.DescendantFocus)
    def _keys_went(self) -> None:
        """Give the space to the focused text if there is none for quick edits as well."""
        self.edit_pane.set_class(self.focused is self.edit_pane.editor, "-typing")

    # Keys

    def focus_body(self) -> None:
        self.edit_pane.focus_controls()

    def action_edit_text(self) -> None:
        self.edit_pane.editor.focus()

    def action_focus_result(self) -> None:
        self.result.lines.focus()

    @on(ResultPane.Wanted)
    def _wanted(self, event: ResultPane.Wanted) -> None:
        event.stop()
        self._show_target(event.target)

    def action_open_target(self) -> None:
        target = self.result.target
        if target is None:
            self.say("R focuses the result: o shows the node, pod, NodePool, type or claim of a line", Tone.MUTED)
        else:
            self._show_target(target)

    def _show_target(self, target: Target) -> None:
        """Show the object of a line; an object that only the scenario has is reported."""
        if target.kind == INSTANCE_TYPE and self._is_there("NodePool", target.pool_name):
            self.host.go(ToLedger(target.pool_name, target.key))
        elif target.kind != INSTANCE_TYPE and self._is_there(target.kind, target.key):
            routes.show_line_target(self, target.kind, target.key)
        else:
            self.say(f"{target.kind} {target.key} is only in this scenario, not in the cluster", Tone.MUTED)

    def _is_there(self, kind: str, key: str) -> bool:
        """Return whether the cluster has an object; a scenario may have others."""
        return self.host.session.has_object(kind, key)

    def current_object(self) -> tuple[str, str] | None:
        """Return the object of the line under the cursor if the result is focused."""
        target = self.result.target if self.focused is self.result.lines else None
        return (target.kind, target.key) if target is not None and target.kind != INSTANCE_TYPE else None

    def action_undo(self) -> None:
        self.whatif.undo()

    def action_redo(self) -> None:
        self.whatif.redo()

    @on(ControlList.Chosen)
    def _chosen(self, event: ControlList.Chosen) -> None:
        event.stop()
        ask_aside(self, lambda: self._edit_dialogs.choose(event.control_id))

    def action_add(self) -> None:
        ask_aside(self, self._edit_dialogs.add)

    def action_mode(self) -> None:
        ask_aside(self, self._dialogs.mode)

    def action_scenarios(self) -> None:
        ask_aside(self, self._dialogs.scenarios)

    def action_rename(self) -> None:
        ask_aside(self, self._dialogs.rename)

    def scenario_in_front(self) -> Scenario | None:
        """Return the current scenario; None if it edits nothing."""
        scenario = self.whatif.book.scenario_at(self.whatif.book.index)
        return scenario if scenario.edits else None

    def scenarios_to_play(self) -> Sequence[Scenario]:
        at = self.whatif.book.index
        scenarios = self.whatif.book.scenarios()
        return [scenario for scenario in (*scenarios[at:], *scenarios[:at]) if scenario.edits]

    def action_compare(self) -> None:
        self._dialogs.compare()

    def action_sweep(self) -> None:
        ask_aside(self, lambda: self._dialogs.sweep(self.edit_pane.document, self.edit_pane.controls.current_key))

    def action_solve(self) -> None:
        ask_aside(self, lambda: ask_for_goal(self))

    def action_export(self) -> None:
        ask_aside(self, self._dialogs.export)

    def action_verify(self) -> None:
        ask_aside(self, self._dialogs.verify)
