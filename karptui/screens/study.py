"""A study that takes a while: its answer above a table of cases, computed in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, ClassVar, Final

from textual import work
from textual.binding import Binding, BindingType
from textual.content import Content

from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import count_text, duration_text
from karptui.screens import routes
from karptui.screens.destinations import ToStudy
from karptui.screens.dialogs import Choice, LineScreen, pick
from karptui.screens.frame import FrameScreen, HelpSections
from karptui.screens.list_screen import ListScreen
from karptui.screens.listing import shown_of_all
from karptui.screens.row_sources import OwnRows
from karptui.session.answers import Focus, StudyAnswer
from karptui.solve.catalogue import GOALS, Goal, Parameter
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.solve import solve_study
from karptui.views.study import Study, answer_lines
from karptui.views.table import Rows
from karptui.views.wrapping import hanging
from karptui.whatif.scenario import Opening, Scenario
from karptui.widgets.titled_pane import Panel


class StudyScreen(ListScreen[Any]):
    """The answer to a question about the whole cluster, above a row for each case that it looks at."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("z", "turn('further')", "Horizon", id="study.horizon", tooltip="Simulate 6, 24, 72 or 1 hours"),
        Binding("s", "turn('with_seeds')", "Seeds", id="study.seeds", tooltip="Simulate with five seeds, or with one"),
        Binding("v", "values", "Values", id="study.values", tooltip="Other values, such as of consolidateAfter"),
        Binding("x", "text", "Text", id="study.text", tooltip="The answer as text, for a pull request"),
        Binding("pagedown", "scroll_panel(1)", "Scroll", show=False, id="study.down"),
        Binding("pageup", "scroll_panel(-1)", "Scroll back", show=False, id="study.up"),
    ]

    has_objects = False

    def __init__(self, study: Study[Any, Any]) -> None:
        self.panel = Panel("study")
        super().__init__(
            study.table, OwnRows(lambda: self._rows), above=(self.panel,), story=lambda item: tuple(study.story(item))
        )
        self.study = study
        self.title_text = study.rows_title
        self._answer: StudyAnswer[Any] | None = None
        self._rows: tuple[Any, ...] = ()
        self._since_ns = 0
        """Time of the cluster it is computed from."""

    def prepare(self) -> None:
        super().prepare()
        self._work_out()

    @work(exclusive=True, group="study", exit_on_error=False)
    async def _work_out(self) -> None:
        self._answer, self._rows = None, ()
        self._since_ns = self.host.now_ns()
        self.refresh_view(is_forced=True)
        self._answer = await asyncio.to_thread(self.study.ask, self.host.session, self._since_ns)
        self._rows = tuple(self.study.rows(self._result)) if self._result is not None else ()
        self.refresh_view(is_forced=True)

    def on_unmount(self) -> None:
        self.host.session.studies.cancel()

    @property
    def _result(self) -> Any:
        """The answer; None until it is there, and if there is a problem."""
        return self._answer.value if self._answer is not None else None

    def show_state(self) -> None:
        self.host.cluster.look_at(Focus())
        self.panel.show_title(Content(f" {self.study.title} "))
        self._show_panel()
        super().show_state()

    def _show_panel(self) -> None:
        width = max(self.panel.lines.content_size.width, 40)
        if self._answer is None:
            lines: Sequence[Pieces] = (self._progress(),)
        elif self._result is None:
            lines = answer_lines(self._answer.problem or "cancelled")
        else:
            lines = self.study.lines(self._result)
        self.panel.lines.set_lines(hanging(tuple(lines), width))

    def _progress(self) -> Pieces:
        progress = self.host.session.studies.progress()
        if not progress.total:
            return (("preparing the cluster…", Tone.ACTIVE), ("; esc cancels", Tone.MUTED))
        done = f"{100 * progress.done // progress.total} % done"
        return ((done, Tone.ACTIVE), ("; esc cancels", Tone.MUTED))

    def counts(self) -> str:
        """Return the number of cases, shown and total; a case may have several rows."""
        rows = self.listing.rows
        return shown_of_all(self.study.count(rows.items if rows is not None else ()), self.study.count(self._rows))

    def placeholder(self, rows: Rows[Any]) -> Pieces:
        if rows.total:
            return super().placeholder(rows)
        return (("computing…", Tone.ACTIVE),) if self._answer is None else (("nothing to show", Tone.MUTED),)

    def summary(self) -> str:
        age = (self.host.now_ns() - self._since_ns) // NS_PER_SECOND
        return f"of {duration_text(age)} ago" if self._answer is not None and age >= 60 else ""

    def on_resize(self) -> None:
        self._show_panel()

    def name_of(self, item: Any) -> str:
        return clean(self.study.name_of(item))

    def help_text(self) -> HelpSections:
        notes = self.study.notes(self._result) if self._result is not None else ()
        sections = ((title, tuple(("·", clean(s)) for s in sentences)) for title, sentences in notes if sentences)
        return (*sections, *super().help_text())

    def scenarios_to_play(self) -> Sequence[Scenario]:
        scenario = self.study.scenario(self.current) if self.current is not None else None
        return (scenario,) if scenario is not None else ()

    def whatif_opening(self) -> Opening:
        scenarios = self.scenarios_to_play()
        if not scenarios:
            return super().whatif_opening()
        return Opening(scenarios[0].name, edits=scenarios[0].edits, replay=scenarios[0].replay, is_new=True)

    def open_row(self, item: Any) -> None:
        """Open the row's own study, or its what-if."""
        if (study := self.study.opens(item)) is not None:
            self.app.push_screen(StudyScreen(study))
        elif self.scenarios_to_play():
            self.action_whatif()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether an action may be taken: there is a text of some studies only."""
        if action == "text" and self.study.text is None:
            return False
        if action == "turn" and getattr(self.study, str(parameters[0])) is None:
            return False
        if action == "values" and self.study.values is None:
            return False
        return super().check_action(action, parameters)

    def action_text(self) -> None:
        answer, result, text = self._answer, self._result, self.study.text
        if answer is not None and text is not None:
            routes.show_made_text(
                self, self.study.title, lambda: text(result) if result is not None else answer.problem
            )

    def action_turn(self, name: str) -> None:
        """Work out the same over another span, or with other seeds."""
        turned = self.study.further if name == "further" else self.study.with_seeds
        if turned is not None:
            self._turn_to(turned())

    def action_values(self) -> None:
        """Ask for values, and work out the same with them."""
        values = self.study.values
        if values is None:
            return

        def answered(text: str | None) -> None:
            if text is not None:
                self._turn_to(values.study(text))

        self.app.push_screen(
            LineScreen(values.title, value=values.value, hint=values.hint, check=values.fault), answered
        )

    def _turn_to(self, study: Study[Any, Any]) -> None:
        self.study = study
        self._work_out()

    def action_refresh_data(self) -> None:
        super().action_refresh_data()
        self._work_out()


ON_SCREEN: Final = ("pending", "overhead")
"""Goals of the screens; `karptui solve` has them all."""


async def ask_for_goal(screen: FrameScreen) -> None:
    """Ask for the goal, then for each parameter, and search for the change."""
    choices = [Choice(name, name, GOALS[name].title) for name in ON_SCREEN]
    chosen = await pick(screen.app, "Solve ─ goal", choices)
    if chosen is None:
        return
    goal, parameters = GOALS[chosen], dict[str, str]()
    for parameter in goal.parameters:
        answer = await _answer(screen, goal, parameter)
        if answer is None:
            return
        if answer:
            parameters[parameter.name] = answer
    screen.host.go(ToStudy(solve_study(goal.name, tuple(parameters.items()), screen.scenario_in_front())))


async def _answer(screen: FrameScreen, goal: Goal, parameter: Parameter) -> str | None:
    """Return the answer to one question, empty for the default; None if the user gave up."""
    title = f"Solve {goal.name} ─ {parameter.question}"
    if parameter.choices:
        choices = [Choice(value, means) for value, means in parameter.choices.items()]
        return await pick(screen.app, title, choices, current=parameter.default)

    def fault(text: str) -> str:
        if not text and not parameter.is_required:
            return ""
        return parameter.fault(text) if len(text.split()) == 1 else "one word is needed"

    hint = parameter.help
    if parameter.numbers is not None:
        hint += "; from {} to {}".format(*map(count_text, parameter.numbers))
    ask = LineScreen(title, value=parameter.default, hint=hint, check=fault)
    return await screen.app.push_screen_wait(ask)
