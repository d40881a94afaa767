"""What every screen has around its body: top bar, tabs, notice, information, prompt and footer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from textual import getters, on, work
from textual.app import ComposeResult
from textual.await_remove import AwaitRemove
from textual.binding import Binding, BindingType
from textual.keys import format_key
from textual.screen import Screen

from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import count_text
from karptui.screens import command_line
from karptui.screens.destinations import ToForward
from karptui.screens.host import Host, host_of
from karptui.screens.registry import TABS
from karptui.session.answers import Overview
from karptui.session.throttle import KEYBOARD, REST_SECONDS
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.sources import notice
from karptui.views.top_bar import TopBarValues
from karptui.views.verdict.lines import MARKS
from karptui.views.verdict.sentence import sentence
from karptui.widgets.info_line import InfoLine
from karptui.widgets.key_line import KeyLine
from karptui.widgets.prompt import Prompt, PromptMode
from karptui.widgets.sentences import Sentences
from karptui.widgets.textual_compat.dimmed import LayeredScreen
from karptui.widgets.top_bar import TabLine, TopBar

if TYPE_CHECKING:
    from karptui.verdict.finding import ClusterFinding
    from karptui.whatif.scenario import Opening, Scenario


_FOOTER_FIRST: Final = (
    "whatif.edit",
    "whatif.add",
    "whatif.mode",
    "whatif.scenarios",
    "whatif.compare",
    "whatif.sweep",
    "whatif.export",
    "whatif.undo",
    "table.select",
    "nodes.explain",
    "pods.explain",
    "pending.explain",
    "pending.nodes",
    "pending.ledger",
    "moment.earlier",
    "moment.later",
    "moment.now",
    "forward.horizon",
    "forward.seeds",
    "forward.now",
    "blockers.remedies",
    "blockers.group",
    "blockers.next",
    "claims.churn",
    "events.churn",
    "churn.replacements",
    "replacements.successor",
    "replacements.events",
    "pools.nodes",
    "pools.types",
    "pool.nodes",
    "pool.types",
    "text.copy",
)
"""Ids of bindings in order of importance; other bindings of the screen follow."""
_FOOTER_LAST: Final = (
    "whatif.solve",
    "screen.whatif",
    "screen.ask",
    "list.filter",
    "screen.command",
    "list.wide",
    "list.notable",
    "screen.help",
    "screen.leave",
)
"""What every screen has, after what only this one has."""
_FOOTER_SHORT: Final = MappingProxyType(
    {"whatif.edit": "YAML", "whatif.add": "Add", "whatif.scenarios": "Scenario", "screen.command": "Cmd"}
)
"""Shorter descriptions of bindings, by id."""


HelpSections: TypeAlias = Sequence[tuple[str, Sequence[tuple[str, str]]]]
"""Titled lists of terms and explanations."""

_NOT_WHILE_TYPING: Final = frozenset({"command", "filter", "step_moment", "step_mark", "return_now"})
"""Actions whose keys are text while text is typed."""
_SHOWN_IN_MOMENTS: Final = frozenset({"moment.earlier", "moment.later"})
"""Ids of bindings that the last line shows only in a moment, where they matter most."""


def takes_text(screen: Screen[Any]) -> bool:
    """Whether keys are text now."""
    return screen.focused is not None and screen.focused.check_consume_key("x", "x")


WORST_STANDS_NS: Final = 5 * NS_PER_SECOND
"""Minimum interval between worst findings on a large cluster."""
WORST_STANDS_TYPED_NS: Final = 20 * NS_PER_SECOND
"""The same while the user types."""
MANY_NODES: Final = 100
"""From this many nodes on, the verdict takes longer than a key should wait."""


class FrameScreen(LayeredScreen):
    """A screen of the app. Subclasses fill the body and show the state in it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Back", show=False, id="screen.back"),
        # Handled before widgets get keys, so that text typed right after goes into the open line.
        Binding("colon", "command", "Command", key_display=":", id="screen.command", priority=True),
        Binding("question_mark", "help", "Help", key_display="?", id="screen.help"),
        Binding(
            "Q",
            "ask",
            "Ask…",
            id="screen.ask",
            tooltip="Every question that karptui answers, for the object under the cursor",
        ),
        Binding("q", "leave", "Quit", id="screen.leave", tooltip="Back, and quit from a first screen"),
        Binding(
            "ctrl+t",
            "whatif",
            "What-if",
            id="screen.whatif",
            tooltip="Edit the object under the cursor and see the effect",
        ),
        Binding(
            "F", "forward", "Forward", show=False, id="screen.forward", tooltip="The next hours: commands, nodes, cost"
        ),
        Binding(
            "left_square_bracket",
            "step_moment(-1)",
            "Earlier",
            key_display="[",
            id="moment.earlier",
            tooltip="The previous change in the history; in a forecast its previous moment",
        ),
        Binding(
            "right_square_bracket",
            "step_moment(1)",
            "Later",
            key_display="]",
            id="moment.later",
            tooltip="The next change in the history; in a forecast its next moment",
        ),
        Binding(
            "left_curly_bracket",
            "step_mark(-1)",
            "Earlier mark",
            show=False,
            key_display="{",
            id="moment.earlier_mark",
            tooltip="The previous finding, disruption, refused launch or edit in the history",
        ),
        Binding(
            "right_curly_bracket",
            "step_mark(1)",
            "Later mark",
            show=False,
            key_display="}",
            id="moment.later_mark",
            tooltip="The next finding, disruption, refused launch or edit",
        ),
        Binding(
            "full_stop",
            "return_now",
            "Now",
            key_display=".",
            id="moment.now",
            tooltip="Return from a past or later moment to the present",
        ),
        Binding("ctrl+r", "refresh_data", "Refresh", show=False, id="screen.refresh"),
    ]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-normal"), (160, "-wide")]  # noqa: RUF012 - as Textual declares it
    AUTO_FOCUS = ""

    entry_name: ClassVar[str] = ""
    """Name of the tab that is lit."""
    consequences: ClassVar[Mapping[str, str]] = {}
    """By kind, what this screen cannot show without it."""
    shows_worst: ClassVar[bool] = True
    """Whether the worst finding about the cluster is shown above the body."""

    top_bar = getters.query_one(TopBar)
    prompt = getters.query_one(Prompt)
    info = getters.query_one("#info", InfoLine)

    def __init__(self) -> None:
        super().__init__()
        self._shown: tuple[int, int] = (-1, -1)
        self._message: Pieces = ()
        self._worst_ns = 0

    @property
    def host(self) -> Host:
        """The app, as screens see it."""
        return host_of(self.app)

    def key_of(self, binding_id: str, key: str) -> str:
        """Return the key of a binding as text, after the keymap; ``key`` is the default."""
        return format_key(self.host.config.keymap.get(binding_id, key).partition(",")[0].strip())

    def compose(self) -> ComposeResult:
        if self.host.tour is not None:
            yield Sentences(id="tour")
        yield TopBar()
        yield TabLine(TABS, self.entry_name)
        yield InfoLine(id="notice")
        yield from self.compose_body()
        yield InfoLine(id="info")
        yield Prompt(lambda text: command_line.complete(self.host.commands, text))
        yield KeyLine(_FOOTER_FIRST, _FOOTER_LAST, _FOOTER_SHORT, self._key_words)

    def _key_words(self, binding_id: str, description: str) -> str:
        if binding_id in _SHOWN_IN_MOMENTS and self.host.moments.shown is None:
            return ""
        # A dialog does not make this the second screen.
        is_first = self.app.screen_stack[:1] == [self]
        return (
            "Back"
            if binding_id == "screen.leave" and not (is_first and self.host.moments.shown is None)
            else description
        )

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in _NOT_WHILE_TYPING and takes_text(self):
            return False
        if action == "return_now" and self.host.moments.shown is None:
            return False
        return super().check_action(action, parameters)

    def remove(self) -> AwaitRemove:
        """Leave for good: what works for the screen ends before its widgets are gone, not after them."""
        self.workers.cancel_node(self)
        return super().remove()

    # What subclasses fill in

    def compose_body(self) -> ComposeResult:
        """Yield the widgets between the tabs and the information line."""
        yield from ()

    def prepare(self) -> None:
        """Get ready before the state is shown for the first time."""

    def show_state(self) -> None:
        """Show the state and the time of the host."""

    def shows_usage(self) -> bool:
        """Whether live usage is visible: metrics-server is queried only then."""
        return False

    def explain(self) -> Pieces:
        """Return the text of the information line."""
        return ()

    def top_bar_values(self) -> TopBarValues:
        """Return the values of the top bar: totals of the cluster, unless a screen has its own."""
        return self.host.top_bar()

    def row_facts(self) -> Sequence[Pieces]:
        """Return further facts for the information line, in order of importance."""
        return ()

    def current_object(self) -> tuple[str, str] | None:
        """Return kind and key of the object that keys act on; None if there is none."""
        return None

    def marked_objects(self) -> list[tuple[str, str]]:
        """Return kind and key of every marked object."""
        return []

    def scenario_in_front(self) -> Scenario | None:
        """Return the scenario being edited; None if nothing is edited."""
        return None

    def scenarios_to_play(self) -> Sequence[Scenario]:
        """Return scenarios to forecast next to the unchanged cluster."""
        return ()

    def help_text(self) -> HelpSections:
        """Return titled lists of terms and explanations for the help screen."""
        return ()

    def awaits(self, key: str) -> bool:  # noqa: ARG002 - of screens that wait for something
        """Return whether the target of a key is still loading."""
        return False

    def release_one(self) -> bool:
        """Undo the last thing that narrows the view (a filter, marks) and return whether there was one."""
        return False

    # Refreshing

    def refresh_view(self, *, is_forced: bool = False) -> None:
        """Show the state again if it, or the second, has changed."""
        if not self.is_mounted:
            return
        if self.shows_usage():
            self.host.cluster.want_usage()
        now_ns = self.host.now_ns()
        overview = self.host.session.overview()
        shown = (id(overview), now_ns // 1_000_000_000)
        is_due = shown != self._shown or is_forced
        self._shown = shown
        parts: list[tuple[str, Callable[[], None]]] = [("the top bar", lambda: self._show_top(overview))]
        if is_due:
            parts += [
                ("the notice", lambda: self._show_notice(now_ns)),
                (self._subject(), self.show_state),
                ("the line below", self.refresh_info),
            ]
        self.show_tour()
        for what, show in parts:
            try:
                show()
            except Exception as error:  # noqa: BLE001  whatever it is, everything else goes on
                self.host.fault_caught(error, f"showing {what}")

    def _show_top(self, overview: Overview) -> None:
        self.top_bar.values = self.top_bar_values()
        self.query_one(TabLine).notes = tab_notes(overview)

    def _subject(self) -> str:
        return next((tab.title for tab in TABS if tab.name == self.entry_name), "this screen")

    def show_tour(self) -> None:
        """Say the next step of a story, or how one comes back to it."""
        if self.host.tour is not None:
            self.query_one("#tour", Sentences).set_wrapped((self.host.tour.line(self.host.tour_way_back()),))

    def refresh_info(self) -> None:
        """Refresh the line about the row under the cursor, unless another message is shown."""
        if not self.prompt.is_open:
            if self._message:
                self.info.tell(self._message)
            else:
                self.info.tell(self.explain(), self.row_facts())

    def say(self, text: str, tone: Tone = Tone.NORMAL) -> None:
        """Say something in the information line until the next key or click."""
        self._message = ((text, tone),)
        self.info.pieces = self._message

    def forget_message(self) -> None:
        """Go back to explaining the cursor."""
        if self._message:
            self._message = ()
            self.refresh_info()

    def _show_notice(self, now_ns: int) -> None:
        line = self.query_one("#notice", InfoLine)
        piece = notice(self.host.session.overview().statuses, self.consequences, now_ns)
        if piece is not None:
            line.display = True
            line.pieces = ((f"{'✖' if piece[1] is Tone.FAULT else '▲'} ", piece[1]), piece)
        elif not self.shows_worst or self.host.moments.shown is not None:
            line.display = False
        elif self.host.session.overview().sizes["nodes"] >= MANY_NODES:
            is_typing = not KEYBOARD.is_at_rest(time.monotonic(), REST_SECONDS)
            if now_ns - self._worst_ns >= (WORST_STANDS_TYPED_NS if is_typing else WORST_STANDS_NS):
                self._worst_ns = now_ns
                self._ask_worst()
        else:
            self._show_worst(self.host.session.verdict(now_ns))

    @work(group="worst", exclusive=True)
    async def _ask_worst(self) -> None:
        self._show_worst(await asyncio.to_thread(self.host.session.verdict, self.host.now_ns()))

    def _show_worst(self, findings: Sequence[ClusterFinding]) -> None:
        """Show the worst finding in one line, if it is an error or a warning."""
        line = self.query_one("#notice", InfoLine)
        worst = next(iter(findings), None)
        line.display = worst is not None and str(worst.severity) != "info"
        if worst is not None and line.display:
            mark, tone = MARKS[str(worst.severity)]
            text = sentence(worst, self.host.now_ns(), self.host.session.pending_reasons())
            line.pieces = ((f"{mark} ", tone), (text, Tone.NORMAL))

    def on_mount(self) -> None:
        self.prepare()
        self.refresh_view(is_forced=True)

    def on_screen_resume(self) -> None:
        self.refresh_view(is_forced=True)

    # Keys

    def action_back(self) -> None:
        if self.release_one():
            return
        if len(self.app.screen_stack) > 1:
            self.app.pop_screen()
        else:
            self.host.moments.leave()

    def action_leave(self) -> None:
        if len(self.app.screen_stack) > 1:
            self.app.pop_screen()
        elif not self.host.moments.leave():
            self.host.quit()

    def action_step_moment(self, by: int) -> None:
        self.host.moments.step(by)

    def action_step_mark(self, by: int) -> None:
        self.host.moments.step_mark(by)

    def action_return_now(self) -> None:
        self.host.moments.return_now()

    def whatif_opening(self) -> Opening:
        """Return the opening of a what-if: the object under the cursor, if any."""
        meant = self.current_object()
        return self.opening_of([meant] if meant is not None else [])

    def opening_of(self, objects: Sequence[tuple[str, str]]) -> Opening:
        """Return the opening of a what-if for objects given by kind and key; empty for none."""
        if objects:
            return self.host.session.opening(objects)
        from karptui.whatif.scenario import NOTHING  # noqa: PLC0415 - brings the engines with it

        return NOTHING

    def action_forward(self) -> None:
        self.host.go(ToForward(tuple(self.scenarios_to_play())))

    def action_whatif(self) -> None:
        self.host.open_whatif(self.whatif_opening())

    def action_refresh_data(self) -> None:
        self.host.cluster.refresh_source()
        self.host.poll_now()
        self.refresh_view(is_forced=True)

    def action_command(self, text: str = "") -> None:
        self._message = ()
        self.prompt.open(PromptMode.COMMAND, text)
        self._hint(text)

    def action_run_command(self, line: str) -> None:
        """Run a command as if it had been typed after ``:``."""
        self.host.run_command(line)

    @work
    async def action_ask(self) -> None:
        from karptui.screens.ask import ask  # noqa: PLC0415 - only when asked for

        await ask(self)

    def action_help(self) -> None:
        from karptui.screens.help import HelpScreen  # noqa: PLC0415 - only when asked for

        self.app.push_screen(HelpScreen(self, self.help_text()))

    # The prompt

    def _hint(self, text: str) -> None:
        self.info.pieces = ((clean(command_line.hint(self.host.commands, text)), Tone.MUTED),)

    @on(Prompt.Edited)
    def _prompt_edited(self, event: Prompt.Edited) -> None:
        event.stop()
        if event.mode is PromptMode.COMMAND:
            self._hint(event.text)
        else:
            self.filter_edited(event.text)

    @on(Prompt.Entered)
    def _prompt_entered(self, event: Prompt.Entered) -> None:
        event.stop()
        self.focus_body()
        self.refresh_info()
        if event.mode is PromptMode.COMMAND:
            self.host.run_command(event.text)
        else:
            self.filter_entered(event.text)

    @on(Prompt.Closed)
    def _prompt_closed(self, event: Prompt.Closed) -> None:
        event.stop()
        self.focus_body()
        self.refresh_info()
        if event.mode is PromptMode.FILTER:
            self.filter_entered("")

    def filter_edited(self, text: str) -> None:
        """Apply a filter while it is typed."""

    def filter_entered(self, text: str) -> None:
        """Apply a filter that is finished."""

    def focus_body(self) -> None:
        """Give the keys back to the body."""

    @on(TabLine.TabPicked)
    def _tab_picked(self, event: TabLine.TabPicked) -> None:
        event.stop()
        self.host.open_screen(event.name)


def tab_notes(overview: Overview) -> Mapping[str, str]:
    """Return by the name of a screen the count behind its tab; screens that need no attention have none."""
    return {name: count_text(count) for name, count in overview.counts.items() if count}
