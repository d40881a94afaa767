"""The Capacity screen: nodes, pods, free resources and cost by zone, NodePool or instance type."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from karptui.screens.list_screen import ListScreen
from karptui.screens.row_sources import SessionList
from karptui.session.answers import Focus
from karptui.session.capacity import GROUPINGS, CapacityEntry
from karptui.session.facts import CapacityAround
from karptui.views.capacity import NOUNS, capacity_sentence, capacity_table
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.widgets.sentences import Sentences


class CapacityScreen(ListScreen[CapacityEntry]):
    """A row for each part of the cluster, with its share of nodes and dollars."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("b", "turn", "By…", id="capacity.by", tooltip="By zone, by NodePool, by instance type"),
        Binding(
            "D",
            "run_command('drill')",
            "Drill",
            id="capacity.drill",
            tooltip="The outcome of losing a zone, a capacity type or a NodePool",
        ),
    ]

    entry_name = "nodes"
    kind = "Node"

    def __init__(self, grouping: str = GROUPINGS[0]) -> None:
        """Make the screen.

        Args:
            grouping: First grouping.
        """
        self._grouping = grouping
        self._sum = Sentences(id="capacity")
        super().__init__(capacity_table(grouping), SessionList("capacity", lambda: self._grouping), above=(self._sum,))

    @property
    def table_title(self) -> str:
        """Title of the table."""
        return f"Capacity by {NOUNS[self._grouping]}"

    def prepare(self) -> None:
        """Take the columns from the settings."""
        self.use_table(capacity_table(self._grouping, has_prices=not self.host.config.disable_pricing))
        super().prepare()

    def show_state(self) -> None:
        """Show the rows and their totals."""
        self.host.cluster.look_at(Focus())
        around = self.around(CapacityAround)
        sentence = capacity_sentence(around.entries, self._grouping) if around is not None else ()
        self._sum.set_lines((sentence,) if sentence else ())
        super().show_state()

    def explain_item(self, item: CapacityEntry) -> Pieces:
        """Return the destination of the row."""
        return ((f"enter: the nodes of {self.name_of(item)} · b: group by something else", Tone.MUTED),)

    def name_of(self, item: CapacityEntry) -> str:
        """Return the subject of the row."""
        return clean(f"{item.name} {item.capacity_type}".strip()) or "none"

    def action_turn(self) -> None:
        """Put nodes together by the next thing."""
        self._grouping = GROUPINGS[(GROUPINGS.index(self._grouping) + 1) % len(GROUPINGS)]
        self.use_table(capacity_table(self._grouping, has_prices=not self.host.config.disable_pricing))
        self.refresh_view(is_forced=True)

    def open_row(self, item: CapacityEntry) -> None:
        """Show the nodes of the row."""
        if not item.name:
            self.say("no filter can select these nodes")
            return
        cap = f" cap={item.capacity_type}" if item.capacity_type else ""
        self.host.open_screen("nodes", filter_text=f"{self._grouping}={item.name}{cap}")
