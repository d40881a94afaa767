"""The Fleet screen: several clusters, one row each."""

from __future__ import annotations

from karptui.screens.list_screen import ListScreen
from karptui.screens.row_sources import OwnRows
from karptui.session.fleet import Fleet, FleetRow
from karptui.views.fleet import TABLE, story, sums_text, top_bar
from karptui.views.row import Pieces, Tone
from karptui.views.top_bar import TopBarValues

REFRESH_SECONDS = 1.0


class FleetScreen(ListScreen[FleetRow]):
    """A row for each context; enter opens the cluster."""

    title_text = "Fleet"
    has_objects = False
    shows_worst = False

    def __init__(self, fleet: Fleet) -> None:
        super().__init__(TABLE, OwnRows(lambda: fleet.rows))
        self._fleet = fleet

    def prepare(self) -> None:
        """Show news every second, also if no cluster is followed here."""
        super().prepare()
        self.set_interval(REFRESH_SECONDS, self.refresh_view)

    def summary(self) -> str:
        return sums_text(self._fleet.rows, self.host.now_ns())

    def top_bar_values(self) -> TopBarValues:
        return top_bar(self._fleet.rows, self.host.now_ns())

    def explain_item(self, item: FleetRow) -> Pieces:
        return ((story(item), Tone.NORMAL),)

    def name_of(self, item: FleetRow) -> str:
        return item.name

    def open_row(self, item: FleetRow) -> None:
        self.host.enter_cluster(item.name)

    def action_leave(self) -> None:
        """Go back to the cluster; quit if none was opened."""
        self.host.leave_fleet()
