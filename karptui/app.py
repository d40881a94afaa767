"""The app: owns the feed of the cluster, the screens, the commands and the colours."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual import events, work
from textual.app import SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen

from karptui import crash
from karptui.clock import Clock, SystemClock
from karptui.config import DEFAULTS, Config
from karptui.errors import RequestError
from karptui.remembered import remember, remembered
from karptui.screens import command_line
from karptui.screens.command_line import CommandError, TypedCommand
from karptui.screens.commands import app_commands
from karptui.screens.frame import FrameScreen, takes_text
from karptui.screens.keys_in_turn import KeysInTurn
from karptui.screens.moments import MomentScreens
from karptui.screens.preload import Preloader
from karptui.screens.registry import ENTRIES, screen_bindings
from karptui.screens.touring import TourGuide
from karptui.serving.history import HistoryKeeping
from karptui.serving.lists import lists_of
from karptui.serving.session import ClusterSession
from karptui.serving.top_bar import TopBarFacts
from karptui.session.analyst import Analyst
from karptui.session.costs import Held
from karptui.session.feed import Feed
from karptui.session.follower import ClusterFollower
from karptui.session.moments import MomentSessions, PlayCache
from karptui.session.replays import SharedBase
from karptui.session.throttle import KEYBOARD
from karptui.sources.evidence import EvidenceSource
from karptui.sources.history.tap import HistoryTap
from karptui.sources.source import Source
from karptui.state.cluster import EMPTY, ClusterState
from karptui.views.row import Tone
from karptui.views.top_bar import TopBarValues
from karptui.views.tour import Tour
from karptui.widgets.textual_compat.boundary import LivingApp
from karptui.widgets.textual_compat.dimmed import DimmedPalette, draw_once_composed
from karptui.widgets.textual_compat.key_order import screen_ready
from karptui.widgets.textual_compat.loop import screen_loop
from karptui.widgets.textual_compat.signals import Signals, driver_of
from karptui.widgets.textual_compat.style_rules import StyleRules
from karptui.widgets.themes import DEFAULT_THEME, OWN_THEMES, Colourless, style_sheets, variable_defaults

if TYPE_CHECKING:
    from textual.driver import Driver
    from textual.filter import LineFilter
    from textual.theme import Theme

    from karptui.screens.destinations import ToScreen
    from karptui.screens.whatif.controller import WhatIf
    from karptui.session.actions import Actions, Preview
    from karptui.session.fleet import Fleet
    from karptui.whatif.scenario import Opening

POLL_SECONDS: Final = 0.25
"""Interval of emptying the mailbox while the terminal has the focus, in seconds."""
LIVE_SECONDS: Final = 5.0
"""Interval of the same for the present cluster while a moment is shown, in seconds."""
PRELOAD_SECONDS: Final = 5.0
"""Seconds after which other screens are imported even if there are no rows yet."""


_TOLD_OF_HISTORY: Final = "told_of_history"


class KarptuiApp(LivingApp):
    """The terminal dashboard."""

    TITLE = "karptui"
    CSS_PATH = style_sheets()
    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING = "ctrl+p"
    BINDINGS: ClassVar[list[BindingType]] = [
        *screen_bindings(),
        Binding("ctrl+c", "quit", "Quit", show=False, priority=True, system=True, id="app.quit"),
    ]
    BINDING_GROUP_TITLE = "Everywhere"
    MODES: ClassVar[dict[str, Any]] = {entry.name: entry.load for entry in ENTRIES}
    PAUSE_GC_ON_SCROLL = True
    _preloader: Preloader | None = None
    _colourless = Colourless()
    _coloured: tuple[Theme, dict[str, str]] | None = None
    """The theme requested last, and its colours."""

    def __init__(
        self,
        source: Source | None = None,
        *,
        config: Config = DEFAULTS,
        clock: Clock | None = None,
        state: ClusterState = EMPTY,
        connect: Callable[[str], Source] | None = None,
        contexts: Callable[[], Sequence[str]] | None = None,
        fleet_of: Callable[[], Fleet] | None = None,
        begins_with_fleet: bool = False,
        evidence_of: Callable[[Source | None], EvidenceSource] | None = None,
        tap_of: Callable[[Source | None], HistoryTap | None] = lambda _: None,
        analyst_of: Callable[[], Analyst] = Analyst,
        tour: Tour | None = None,
        actions_of: Callable[[Source, bool], Actions] | None = None,
    ) -> None:
        """Create the app.

        Args:
            source: Source of the objects; started once the first frame is on the screen.
            config: The settings.
            clock: The clock; None for the machine's.
            state: The state shown before the first data.
            connect: Returns the source of a context, for ``:ctx``; raises RequestError with a message.
            contexts: Returns the names of the contexts.
            fleet_of: Returns the clusters of ``:fleet``; raises RequestError with a message.
            begins_with_fleet: Whether all clusters are shown first, and no cluster is followed meanwhile.
            evidence_of: Returns additional data about instance types and prices for a source.
            tap_of: Returns the recorder of a source's history; None if it is not recorded.
            analyst_of: Creates the analyst, which works out why nodes are still here.
            tour: The tour through a story of the demo.
            actions_of: Returns the writer for a source's cluster, at a past moment or not; raises RequestError.
        """
        self._evidence_of: Callable[[Source | None], EvidenceSource] = evidence_of or (lambda _: EvidenceSource())
        self._analyst_of = analyst_of
        self._tap_of = tap_of
        self._told_trouble = ""
        """The last reported reason that the history is not recorded."""
        follower = self._follower_of(source, state)
        super().__init__()
        plays = PlayCache()
        feed = self.feed = Feed(follower, clock or SystemClock(), self)
        self.session = ClusterSession(
            lambda: feed.follower.view,
            lists_of(config),
            shared_base=SharedBase(),
            kept_plays=plays,
            source=lambda: feed.follower.source,
        )
        """What screens ask about the cluster."""
        sessions = self._moment_sessions = MomentSessions(self.feed, plays, analyst_of)
        self._history = HistoryKeeping(self.session.verdict, sessions.live_now_ns, lambda: feed.follower)
        self.session.edits = lambda: self._history.edits
        self.moments = MomentScreens(self, sessions)
        """Moments of plays and of the history in place of the cluster that is followed."""
        self._top_bar = TopBarFacts(self.feed, self.session, config)
        self.config = config
        self.tour = tour
        self._guide = TourGuide(self)
        self._connect = connect
        self._actions_of = actions_of
        self._contexts = contexts
        self._fleet_of = fleet_of
        self._begins_with_fleet = begins_with_fleet
        self._fleet: Fleet | None = None
        """The clusters of the fleet, from the first time it is shown."""
        self._keys = KeysInTurn(self, self._take)
        self.commands: tuple[TypedCommand, ...] = ()
        """The commands that can be typed after ``:``."""
        self._signals = Signals(self)
        self._is_over = False
        """Whether a fault before anything was shown has ended the app."""
        for theme in OWN_THEMES:
            self.register_theme(theme)
        name = config.theme or DEFAULT_THEME
        self._bad_theme = "" if name in self.available_themes else name
        if not self._bad_theme:
            self.theme = name
        self.stylesheet = StyleRules(variables=self.get_css_variables())
        if config.keymap:
            self.set_keymap(dict(config.keymap))

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return the colours of the tones for the present theme; Textual asks often."""
        theme = self.current_theme
        if self._coloured is None or self._coloured[0] is not theme:
            self._coloured = theme, variable_defaults(theme)
        return self._coloured[1]

    def _follower_of(self, source: Source | None, state: ClusterState = EMPTY) -> ClusterFollower:
        evidence, analyst = self._evidence_of(source), self._analyst_of()
        return ClusterFollower(source, state, evidence=evidence, analyst=analyst, tap=self._tap_of(source))

    # Life

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return the filters of output lines; with ``NO_COLOR`` one removes all colours."""
        return (*super().get_line_filters(), self._colourless) if self.no_color else super().get_line_filters()

    def get_driver_class(self) -> type[Driver]:
        """Return the class that writes to the terminal."""
        return driver_of(super().get_driver_class())

    def run(self, **options: Any) -> Any:
        """Run the app, as Textual does, in an event loop that threads block less; return its result."""
        preloader = self._preloader = Preloader()
        try:
            with asyncio.Runner(loop_factory=screen_loop) as runner:
                return runner.run(self._run(**options))
        finally:
            preloader.stop()
            self._signals.die()

    async def _run(self, **options: Any) -> Any:
        loop = asyncio.get_running_loop()
        self._signals.hear_ends(loop)
        self.catch_faults(loop)
        return await self.run_async(**options)

    def fault_caught(self, error: Exception, during: str) -> None:
        message = crash.message(error, during, crash.record(error, during))
        if self.front is not None:
            self.tell(message, Tone.FAULT)
        elif not self._is_over:
            self._is_over = True
            self.exit(return_code=1, message=f"karptui: {message}")

    async def on_event(self, event: events.Event) -> None:
        """Have keys taken in their turn, and all other events at once."""
        if isinstance(event, events.Key | events.MouseDown | events.Paste) and not event.is_forwarded:
            await self._keys.hear(event)
            return
        if isinstance(event, events.Key):
            await screen_ready(self)
        await super().on_event(event)

    async def _take(self, event: events.Event) -> None:
        """Pass a key or a click to the front screen."""
        if self.front is not None:
            self.front.forget_message()
            if self.tour is not None and isinstance(event, events.Key):
                self._guide.follow(self.tour, event.key)
                self.front.show_tour()
        await super().on_event(event)

    def tour_way_back(self) -> str:
        return self._guide.way_back()

    async def on_mount(self) -> None:
        """Show the first screen, then start the source."""
        if not self.is_headless:
            self._signals.hear_stops(asyncio.get_running_loop())
        self.commands = app_commands(self, can_switch=self._connect is not None)
        names = [entry.name for entry in ENTRIES]
        await self.switch_mode(self.config.screen if self.config.screen in names else names[0])
        self.call_after_refresh(self._begin)

    async def _begin(self) -> None:
        await self._keys.begin()
        if self._begins_with_fleet:
            self.run_command("fleet")
        self._start_source()
        self.set_interval(POLL_SECONDS, self.feed.tick)
        self.set_interval(LIVE_SECONDS, self._follow_live)
        self.set_timer(PRELOAD_SECONDS, self._preload)
        if self._bad_theme:
            self.tell(f"there is no theme {self._bad_theme}; :theme lists them", Tone.WARNING)

    def on_unmount(self) -> None:
        """Stop the source."""
        KEYBOARD.rested(is_over=True)
        self.moments.end()
        if self._fleet is not None:
            self._fleet.stop()
        self.follower.stop()
        self.session.whatif.stop()
        if "whatif" in self.__dict__:
            self.whatif.keep()

    def _follow_live(self) -> None:
        if self.moments.shown is not None:
            self.run_worker(self._moment_sessions.poll_live(), exclusive=True, group="live")

    def first_rows_shown(self) -> None:
        """Import other screens, once the first rows are shown."""
        self._preload()
        tap = self.follower.tap
        if tap is not None and self._connect is not None and not remembered(_TOLD_OF_HISTORY):
            remember(_TOLD_OF_HISTORY, "yes")
            self.tell(f"the history of clusters is recorded in {tap.path.parent}: history = false turns it off")

    def _preload(self) -> None:
        if self._preloader is not None:
            self._preloader.start()

    @work(thread=True, group="source")
    def _start_source(self) -> None:
        self.follower.start()

    def on_app_blur(self, _event: events.AppBlur) -> None:
        """Poll less often while the terminal has no focus."""
        self.feed.is_in_front = False

    def on_app_focus(self, _event: events.AppFocus) -> None:
        """Look often again, and at once."""
        self.feed.is_in_front = True
        self.poll_now()

    def show_changes(self, *, is_changed: bool) -> None:
        """Show merged changes on the front screen."""
        if (screen := self.front) is not None:
            screen.refresh_view(is_forced=is_changed)
        live = self._moment_sessions.live
        self._history.look(live, self.fault_caught)
        if live.tap is not None and live.tap.trouble != self._told_trouble:
            self._told_trouble = live.tap.trouble
            if live.tap.trouble:
                self.tell(f"the history is not recorded: {live.tap.trouble}", Tone.WARNING)

    @property
    def front(self) -> FrameScreen | None:
        for screen in reversed(self.screen_stack if self.is_running else ()):
            if isinstance(screen, FrameScreen):
                return screen
        return None

    # What screens ask of the cluster

    @property
    def follower(self) -> ClusterFollower:
        """The follower of the shown cluster."""
        return self.feed.follower

    @property
    def cluster(self) -> Feed:
        return self.feed

    def now_ns(self) -> int:
        return self.feed.now_ns()

    def poll_now(self) -> None:
        self.feed.poll_now()

    # What screens ask of the app

    def top_bar(self) -> TopBarValues:
        return self._top_bar.values(self.moments.shown, self._moment_sessions.live_now_ns())

    def held(self) -> tuple[Held | None, bool]:
        return self._top_bar.held()

    @cached_property
    def whatif(self) -> WhatIf:
        """The current state of the what-if."""
        from karptui.screens.whatif.controller import WhatIf  # noqa: PLC0415 - only when asked for
        from karptui.screens.whatif.kept_scenarios import KeptScenarios  # noqa: PLC0415 - as above

        return WhatIf(self.feed, self.session, KeptScenarios(self.follower.title))

    def open_whatif(self, opening: Opening) -> None:
        from karptui.screens.opener import show_whatif  # noqa: PLC0415 - only when asked for

        show_whatif(self, self.whatif, opening)

    def quit(self) -> None:
        """Quit, or return to the fleet; where scenarios of the what-if are not saved, ask once."""
        if self._begins_with_fleet and self.follower.source is not None:
            self.show_fleet()
            return
        if "whatif" not in self.__dict__:
            self.exit()
            return
        from karptui.screens.whatif.dialogs import ask_about_unsaved  # noqa: PLC0415 - the what-if was opened before

        ask_about_unsaved(self, self.whatif, self.exit)

    def open_actions(self) -> Actions:
        source = self._moment_sessions.live.source
        if self._actions_of is None or source is None:
            raise CommandError("actions are off: start with --allow-actions")
        return self._actions_of(source, self.moments.shown is not None)

    def shows(self, preview: Preview) -> bool:
        from karptui.session.actions import is_shown  # noqa: PLC0415 - only once an action was carried out

        self.poll_now()
        return is_shown(preview, self.follower.view.state)

    def tell(self, text: str, tone: Tone = Tone.NORMAL) -> None:
        if self.front is not None:
            self.front.say(text, tone)

    # Actions

    def delay_update(self, delay: float = 0.05) -> None:
        """Delay drawing until the opened screen has its widgets, up to ``delay`` seconds."""
        draw_once_composed(self, delay)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether an action is allowed: no screen opens during text input or a dialog."""
        if action == "open_screen" and (self.screen.is_modal or takes_text(self.screen)):
            return False
        return super().check_action(action, parameters)

    def open_screen(self, name: str, *, filter_text: str | None = None) -> None:
        if self.current_mode != name:
            self.switch_mode(name)
        while len(self.screen_stack) > 1:
            self.pop_screen()
        screen = self.screen
        if filter_text is not None and isinstance(screen, FrameScreen):
            screen.call_after_refresh(screen.filter_entered, filter_text)

    def go(self, to: ToScreen) -> None:
        from karptui.screens.opener import screen_for  # noqa: PLC0415 - only when asked for

        screen = screen_for(to, self)
        if isinstance(screen, str):
            self.tell(screen)
        else:
            self.push_screen(screen)

    def action_command_palette(self) -> None:
        if not isinstance(self.screen, DimmedPalette):
            self.push_screen(DimmedPalette(id="--command-palette"))

    def action_open_screen(self, name: str) -> None:
        self.open_screen(name)

    def run_command(self, line: str) -> None:
        try:
            command_line.run(self.commands, line)
        except RequestError as error:
            self.tell(str(error), Tone.WARNING)

    def context_names(self) -> Sequence[str]:
        return self._contexts() if self._contexts is not None else ()

    def switch_context(self, name: str) -> None:
        if self._connect is None:
            raise CommandError("there is only one context here")
        self._follow(self._connect(name))

    def _follow(self, source: Source | None) -> None:
        self.moments.end()
        self.run_worker(self.follower.stop, thread=True, group="source")
        self.feed.follower = self._follower_of(source)
        self._start_source()
        self.poll_now()

    # The fleet

    def show_fleet(self) -> None:
        from karptui.screens.fleet import FleetScreen  # noqa: PLC0415 - only when asked for

        if self._fleet_of is None:
            raise CommandError("there is only one cluster here")
        if self._fleet is None:
            self._fleet = self._fleet_of()
            self._fleet.start()
        if self._begins_with_fleet and self.follower.source is not None:
            self._follow(None)  # a slow cluster must not delay the keys of this screen
        while len(self.screen_stack) > 1:
            self.pop_screen()
        self.push_screen(FleetScreen(self._fleet))

    def enter_cluster(self, context: str) -> None:
        try:
            self.switch_context(context)
        except RequestError as error:
            self.tell(str(error), Tone.WARNING)
            return
        self.open_screen(ENTRIES[0].name)
        self.tell(":fleet returns to all clusters", Tone.MUTED)

    def leave_fleet(self) -> None:
        if self.follower.source is None:
            self.quit()
        else:
            self.pop_screen()

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:  # noqa: ARG002
        """Yield the commands of the palette; one that needs an argument opens the command line."""
        for command in self.commands:
            run = self._begin_command if command.needs_argument else self.run_command
            yield SystemCommand(f":{command.name}", command.help, partial(run, command.name))

    def _begin_command(self, name: str) -> None:
        if self.front is not None:
            self.front.action_command(f"{name} ")

    def search_themes(self) -> None:
        from karptui.screens.dialogs import pick_theme  # noqa: PLC0415 - only when asked for

        pick_theme(self)
