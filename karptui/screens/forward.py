"""The Forward screen: the cluster simulated over time, before and after the edits of a what-if."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from textual import work
from textual.binding import Binding, BindingType
from textual.content import Content

from karptui.kube.durations import format_duration, parse_duration
from karptui.kube.timestamps import DAY_NS, NS_PER_SECOND
from karptui.kube.units import duration_text, first_of, span_text
from karptui.screens import routes
from karptui.screens.destinations import PlayedBefore, ToForward, ToMoment, ToNode
from karptui.screens.dialogs import LineScreen
from karptui.screens.frame import HelpSections
from karptui.screens.list_screen import ListScreen
from karptui.screens.row_sources import OwnRows
from karptui.session.answers import Focus, PlayMoment
from karptui.views.forward.chart import forecast_chart
from karptui.views.forward.columns import TABLE, PlayedStep, played_steps, table_of
from karptui.views.forward.sentences import BEFORE, UNEDITED, answer_lines, play_lines, step_text, waits_text
from karptui.views.plan import plan_lines
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.study import HORIZONS_NS, next_horizon
from karptui.views.table import Rows
from karptui.views.wrapping import hanging
from karptui.widgets.time_chart import TimeChartView
from karptui.widgets.titled_pane import Panel

if TYPE_CHECKING:
    from karptui.whatif.scenario import Scenario

MOST_SCENARIOS: Final = 3
CHART_FROM_HEIGHT: Final = 30
"""Minimum terminal height for the chart, in lines."""
SEEDS: Final = (1, 5, 20)
"""Numbers of seeds to choose from."""
_MOST_PODS: Final = 6


_HINT: Final = "such as 36h 10: a span up to 31 days, and up to 100 seeds"
_LONGEST_NS: Final = 31 * DAY_NS
_MOST_SEEDS: Final = 100


def _span_and_seeds(text: str) -> tuple[int, int]:
    """Return a span in nanoseconds and a number of seeds (default 1).

    Raises:
        ValueError: if the text is something else.
    """
    span, *seeds = text.split() or [""]
    count = int(seeds[0]) if seeds else 1
    span_ns = parse_duration(span)
    if len(seeds) > 1 or not 0 < span_ns <= _LONGEST_NS or not 0 < count <= _MOST_SEEDS:
        raise ValueError(text)
    return span_ns, count


def fault_of(text: str) -> str:
    """Return an error message for a span and a number of seeds, empty if valid."""
    try:
        _span_and_seeds(text)
    except ValueError:
        return _HINT
    return ""


class ForwardScreen(ListScreen[PlayedStep]):
    """A forecast of the cluster, next to forecasts with edits; the cursor selects the instant."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("z", "horizon", "Horizon", id="forward.horizon", tooltip="Simulate 6, 24, 72 or 1 hours"),
        Binding(
            "s", "seeds", "Seeds", id="forward.seeds", tooltip="Simulate with 5, 20 or 1 seeds: the effect of chance"
        ),
        Binding(
            "v",
            "values",
            "Values",
            show=False,
            id="forward.values",
            tooltip="Enter another time span and number of seeds",
        ),
        Binding("o", "node_now", "Node now", id="forward.now", tooltip="The current state of the removed node"),
        Binding(
            "w",
            "waits",
            "Pending pods",
            show=False,
            id="forward.waits",
            tooltip="Every pod that is pending at some time, and for how long",
        ),
        Binding("x", "text", "Text", id="forward.text", tooltip="Risks, rollout and cost, for a pull request"),
        Binding("pagedown", "scroll_panel(1)", "Scroll", show=False, id="forward.down"),
        Binding("pageup", "scroll_panel(-1)", "Scroll back", show=False, id="forward.up"),
    ]

    entry_name = "blockers"
    title_text = "What Karpenter does"
    has_objects = False

    def __init__(self, scenarios: Sequence[Scenario] = (), played: PlayedBefore | None = None) -> None:
        self.panel = Panel("forward")
        self.chart = TimeChartView()
        super().__init__(TABLE, OwnRows(lambda: self._rows), above=(self.panel, self.chart))
        self._scenarios = tuple(scenarios)[:MOST_SCENARIOS]
        self._horizon_ns = played.horizon_ns if played is not None else HORIZONS_NS[0]
        self._plays = played.plays if played is not None else ()
        self._rows = played_steps(self._plays)
        self._plan = played.plan if played is not None else None
        """Risks of the first scenario; None until they are computed, and without a scenario."""
        self._chart = forecast_chart(self._plays, self._horizon_ns, UNEDITED)
        self._since_ns = played.since_ns if played is not None else 0
        """Start of the forecast."""
        self._seeds = 1
        self._first_row = played.row if played is not None else ""
        """Key of the row that the cursor is put on once there are rows."""

    def prepare(self) -> None:
        self._use_table()
        super().prepare()
        if not self._plays:
            self._play()

    def _use_table(self) -> None:
        spec = table_of(sum(play.played is not None for play in self._plays))
        if spec.headings() != self.listing.spec.headings():
            self.use_table(spec)

    @work(exclusive=True, group="forward", exit_on_error=False)
    async def _play(self) -> None:
        self._plays, self._rows, self._plan = (), (), None
        self._since_ns = self.host.now_ns()
        self.refresh_view(is_forced=True)
        forecasts = self.host.session.forecasts
        plays = await asyncio.to_thread(forecasts.play, self._scenarios, self._horizon_ns, self._seeds, self._since_ns)
        if not plays:
            return
        self._plays, self._rows = plays, played_steps(plays)
        self._chart = forecast_chart(plays, self._horizon_ns, BEFORE if self._scenarios else UNEDITED)
        self._use_table()
        self.refresh_view(is_forced=True)
        now, edited = plays[0].played, plays[1].played if len(plays) > 1 else None
        if now is not None and edited is not None:
            self._plan = await asyncio.to_thread(forecasts.plan, self._scenarios[0], now, edited)
            self.refresh_view(is_forced=True)

    def on_unmount(self) -> None:
        self.host.session.forecasts.cancel()

    def show_state(self) -> None:
        """Show the answer, the chart and the rows, or the progress."""
        self.host.cluster.look_at(Focus())
        span = span_text(self._horizon_ns)
        names = f" ─ before and after {first_of([clean(scenario.name) for scenario in self._scenarios], 2)}" * bool(
            self._scenarios
        )
        self.panel.show_title(Content(f" Forward ─ {span}{names} "))
        self._show_panel()
        super().show_state()

    def show_rows(self, rows: Rows[PlayedStep]) -> None:
        """Show the rows, with the cursor on the row it had before."""
        super().show_rows(rows)
        if self._first_row and rows.total:
            self.table.move_cursor_to(self._first_row)
            self._first_row = ""

    def _show_panel(self) -> None:
        if not self._plays:
            self.panel.lines.set_lines((self._progress(),))
            self.chart.display = False
            return
        row = self.current
        at_ns = row.step.at_ns if row is not None else None
        width = max(self.panel.lines.content_size.width, 40)
        answer = answer_lines(self._plays)
        if self._plan is not None:
            answer = (*plan_lines(self._plan), *answer)
        elif len(self._plays) > 1 and self._plays[1].played is not None:
            answer = ((("computing the risks…", Tone.ACTIVE),), *answer)
        self.panel.lines.set_lines((*hanging(answer, width), *play_lines(self._plays, width, at_ns)))
        is_drawn = self._chart is not None and self.size.height >= CHART_FROM_HEIGHT
        self.chart.display = is_drawn
        if is_drawn:
            self.chart.show(self._chart, (at_ns - self._since_ns) / NS_PER_SECOND if at_ns is not None else None)

    def _progress(self) -> Pieces:
        progress = self.host.session.forecasts.progress()
        if not progress.total:
            return (("preparing the cluster…", Tone.ACTIVE), ("; esc cancels", Tone.MUTED))
        name = clean(progress.name) or UNEDITED
        done, total = duration_text(progress.done), duration_text(progress.total)
        return ((f"{name}: {done} of {total} simulated", Tone.ACTIVE), ("; esc cancels", Tone.MUTED))

    def placeholder(self, rows: Rows[PlayedStep]) -> Pieces:
        if rows.total or not self._plays:
            return super().placeholder(rows) if rows.total else (("simulating…", Tone.ACTIVE),)
        return (("Karpenter does nothing in this time", Tone.MUTED),)

    def summary(self) -> str:
        """Return the age of the forecast, and where rows lead."""
        if not self._rows:
            return ""
        age = (self.host.now_ns() - self._since_ns) // NS_PER_SECOND
        since = f"simulated {duration_text(age)} ago, " if age >= 60 else ""
        return f"{since}enter shows the cluster at that moment"

    def cursor_moved(self) -> None:
        super().cursor_moved()
        self._show_panel()

    def on_resize(self) -> None:
        self._show_panel()

    def explain_item(self, item: PlayedStep) -> Pieces:
        pods = clean(first_of(item.step.pods, _MOST_PODS))
        return (
            (clean(step_text(item.step, is_short=True)), Tone.NORMAL),
            (f" · {item.change}" if item.change else "", Tone.ACTIVE),
            (f" · {pods}" if pods else "", Tone.MUTED),
        )

    def name_of(self, item: PlayedStep) -> str:
        return clean(step_text(item.step))

    def help_text(self) -> HelpSections:
        played = next((play.played for play in self._plays if play.played is not None), None)
        if played is None:
            return super().help_text()
        notes = (("Assumed", played.assumptions), ("Not modelled", played.not_modelled))
        sections = ((title, tuple(("·", clean(sentence)) for sentence in sentences)) for title, sentences in notes)
        return (*sections, *super().help_text())

    def open_row(self, item: PlayedStep) -> None:
        """Show the cluster right after the step, on every screen."""
        play = item.play
        if play.played is None or not play.number:
            return
        steps = (row.steps[item.at] for row in self._rows)
        instants = sorted({play.played.from_ns, *(step.at_ns for step in steps if step is not None)})
        before = PlayedBefore(self._plays, self._since_ns, self._horizon_ns, item.key, self._plan)
        moment = PlayMoment(play=play.number, at_ns=item.step.at_ns, instants=tuple(instants))
        self.host.moments.visit(ToMoment(moment, ToForward(self._scenarios, before)))

    def action_node_now(self) -> None:
        item = self.current
        for name in item.step.nodes if item is not None else ():
            if node_key := self.host.session.node_key("Node", name):
                self.host.go(ToNode(node_key))
                return
        self.say("its nodes do not exist yet: they are launched in the forecast")

    def action_waits(self) -> None:
        row = self.current
        play = row.play if row is not None else next((f for f in self._plays if f.played is not None), None)
        if play is not None and (played := play.played) is not None:
            title = f"Pending pods, the longest first ─ {clean(play.name) or UNEDITED}"
            routes.show_made_text(self, title, lambda: waits_text(played))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer the text if there is an edit."""
        return bool(self._scenarios) if action == "text" else super().check_action(action, parameters)

    def action_text(self) -> None:
        """Show the effects of the first scenario, as text for a pull request."""
        if (plan := self._plan) is not None:
            routes.show_made_text(self, f"Plan ─ {clean(self._scenarios[0].name)}", lambda: plan.markdown)

    def action_horizon(self) -> None:
        self._horizon_ns = next_horizon(self._horizon_ns)
        self._play()

    def action_seeds(self) -> None:
        at = SEEDS.index(self._seeds) if self._seeds in SEEDS else -1
        self._seeds = SEEDS[(at + 1) % len(SEEDS)]
        self._play()

    def action_values(self) -> None:
        """Ask for a time span and a number of seeds, and simulate with them."""

        def answered(text: str | None) -> None:
            if text is not None:
                self._horizon_ns, self._seeds = _span_and_seeds(text)
                self._play()

        value = f"{format_duration(self._horizon_ns)} {self._seeds}"
        self.app.push_screen(
            LineScreen("Time span and number of seeds", value=value, hint=_HINT, check=fault_of), answered
        )

    def action_refresh_data(self) -> None:
        super().action_refresh_data()
        self._play()
