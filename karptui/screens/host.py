"""The app's interface for screens."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from karptui.views.row import Tone
from karptui.views.top_bar import TopBarValues

if TYPE_CHECKING:
    from textual.app import App

    from karptui.config import Config
    from karptui.screens.command_line import TypedCommand
    from karptui.screens.destinations import ToMoment, ToScreen
    from karptui.session.actions import Actions, Preview
    from karptui.session.answers import Focus, PastMoment, PlayMoment
    from karptui.session.costs import Held
    from karptui.session.protocol import Session
    from karptui.views.tour import Tour
    from karptui.whatif.scenario import Opening


class FollowedCluster(Protocol):
    """The followed cluster, or a moment of a forecast."""

    def look_at(self, focus: Focus) -> None:
        """Set the nodes on screen, so that they are analysed first."""

    def want_usage(self) -> None:
        """Ask for live usage: metrics-server is queried only if it is visible."""

    def refresh_source(self) -> None:
        """Have the source try again at once, whatever it waits for."""

    async def fetch_raw(self, kind: str, key: str) -> str:
        """Return an object as YAML from the source; a message starting with ``# `` if unavailable."""


class Moments(Protocol):
    """Moments of plays and of the history, shown on every screen in place of the cluster."""

    @property
    def shown(self) -> PlayMoment | PastMoment | None:
        """The moment that screens show; None for the present cluster."""

    def visit(self, to: ToMoment) -> None:
        """Show the cluster at a moment of a play on every screen, until that is left."""

    def step(self, by: int) -> None:
        """Show a later moment of the play, or an earlier one; without a play, of the history."""

    def step_mark(self, by: int) -> None:
        """Show the moment of the next mark of the history, or of the previous one."""

    def go_to(self, text: str) -> None:
        """Show a moment of the history that the user names; raises CommandError with a message for the user."""

    def history(self) -> Path | str:
        """Return the file with the followed cluster's history, or why there is none."""

    def return_now(self) -> None:
        """Return to the present cluster, and show it."""

    def leave(self) -> bool:
        """Go back to where the moment was opened; return whether one was shown."""


class Host(Protocol):
    """The app, as screens see it."""

    config: Config
    tour: Tour | None
    """What leads through a story of the demo."""

    @property
    def cluster(self) -> FollowedCluster:
        """The cluster whose rows the session has."""

    @property
    def session(self) -> Session:
        """What screens ask about the cluster that is shown."""

    @property
    def commands(self) -> Sequence[TypedCommand]:
        """All commands."""

    def tour_way_back(self) -> str:
        """Return the keys that lead back to the tour's screen; empty on that screen."""

    def now_ns(self) -> int:
        """Return nanoseconds since the epoch; of an offline snapshot, when it was taken."""

    def fault_caught(self, error: Exception, during: str) -> None:
        """Report that an activity such as ``showing Nodes`` failed, and go on."""

    def top_bar(self) -> TopBarValues:
        """Return the current values of the top bar."""

    def held(self) -> tuple[Held | None, bool]:
        """Return the steady sum of held cost, and whether it is current."""

    def enter_cluster(self, context: str) -> None:
        """Follow a cluster of the fleet; reports why that cannot be."""

    def leave_fleet(self) -> None:
        """Return to the cluster that is followed; quit if there is none."""

    def open_screen(self, name: str, *, filter_text: str | None = None) -> None:
        """Show a screen, with a filter if one is given."""

    def go(self, to: ToScreen) -> None:
        """Open a destination, or report why it cannot be opened."""

    @property
    def moments(self) -> Moments:
        """Moments of plays and of the history in place of the cluster."""

    def run_command(self, line: str) -> None:
        """Run a command line."""

    def open_whatif(self, opening: Opening) -> None:
        """Show the what-if, beginning with some documents and edits."""

    def quit(self) -> None:
        """Quit; where scenarios of the what-if are not saved, ask once."""

    def tell(self, text: str, tone: Tone = Tone.NORMAL) -> None:
        """Show a message in the information line of the front screen."""

    def open_actions(self) -> Actions:
        """Return the writer of cluster objects; raises CommandError if that is not allowed."""

    def shows(self, preview: Preview) -> bool:
        """Return whether the cluster shows that an action has taken effect."""

    def poll_now(self) -> None:
        """Take over news from the source."""


def host_of(app: App[None]) -> Host:
    """Return the app as what screens may ask of it."""
    return cast("Host", app)
