"""What a screen may ask of the app it runs in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, cast

from karptui.views.row import Tone
from karptui.views.top_bar import TopBarValues

if TYPE_CHECKING:
    from textual.app import App

    from karptui.config import Config
    from karptui.screens.command_line import TypedCommand
    from karptui.screens.destinations import ToMoment, ToScreen
    from karptui.session.answers import Focus, PlayMoment
    from karptui.session.costs import Held
    from karptui.session.protocol import Session
    from karptui.views.tour import Tour
    from karptui.whatif.opening import Opening


class FollowedCluster(Protocol):
    """The cluster that is followed, or a moment of it: what is asked of its source beside its rows."""

    def look_at(self, focus: Focus) -> None:
        """Say which nodes are looked at, so that they are analysed first."""
        ...

    def want_usage(self) -> None:
        """Say that live usage is looked at: metrics-server is asked only then."""
        ...

    def refresh_source(self) -> None:
        """Have the source try again at once, whatever it waits for."""
        ...

    async def fetch_raw(self, kind: str, key: str) -> str:
        """Return an object as YAML, straight from the source; a sentence starting with ``# `` when it cannot be had."""
        ...


class Moments(Protocol):
    """Moments of plays, shown on every screen in place of the cluster."""

    @property
    def shown(self) -> PlayMoment | None:
        """The moment that screens show; None for the cluster as it is."""
        ...

    def visit(self, to: ToMoment) -> None:
        """Show the cluster at a moment of a play on every screen, until that is left."""
        ...

    def step(self, by: int) -> None:
        """Show a later moment of the play, or an earlier one."""
        ...

    def leave(self) -> bool:
        """Go back to where the moment was opened; return whether one was shown."""
        ...


class Host(Protocol):
    """The app, as screens see it."""

    config: Config
    """The settings."""
    tour: Tour | None
    """What leads through a story of the demo."""

    @property
    def cluster(self) -> FollowedCluster:
        """The cluster whose rows the session has."""
        ...

    @property
    def session(self) -> Session:
        """What screens ask about the cluster that is shown."""
        ...

    @property
    def commands(self) -> Sequence[TypedCommand]:
        """What can be typed after ``:``."""
        ...

    def tour_way_back(self) -> str:
        """Return how one comes back to the screen that a tour goes on from; empty while one is there."""
        ...

    def now_ns(self) -> int:
        """Return nanoseconds since the epoch; of an offline snapshot, when it was taken."""
        ...

    def fault_caught(self, error: Exception, during: str) -> None:
        """Say what could not be done, such as ``showing Nodes``, and go on."""
        ...

    def top_bar(self) -> TopBarValues:
        """Return what the top bar shows now."""
        ...

    def held(self) -> tuple[Held | None, bool]:
        """Return what all nodes hold, as a sum that stands still, and whether it is that of this moment."""
        ...

    def open_screen(self, name: str, *, filter_text: str | None = None) -> None:
        """Show a screen, with a filter if one is given."""
        ...

    def go(self, to: ToScreen) -> None:
        """Show the screen that stands at a destination, or say why there is none."""
        ...

    @property
    def moments(self) -> Moments:
        """Moments of plays in place of the cluster."""
        ...

    def run_command(self, line: str) -> None:
        """Run what was typed after ``:``."""
        ...

    def open_whatif(self, opening: Opening) -> None:
        """Show the what-if, beginning with some documents and edits."""
        ...

    def quit(self) -> None:
        """Quit; where scenarios of the what-if are not saved, ask once."""
        ...

    def tell(self, text: str, tone: Tone = Tone.NORMAL) -> None:
        """Say something in the information line of the screen in front."""
        ...

    def poll_now(self) -> None:
        """Take over what the source has said since the last time."""
        ...


def host_of(app: App[None]) -> Host:
    """Return the app as what screens may ask of it."""
    return cast("Host", app)
