"""One NodePool: everything about it above the DaemonSets that a new node of it carries."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from karptui.screens import routes
from karptui.screens.list_screen import ListScreen
from karptui.screens.panel import Panel
from karptui.screens.pools import CONSEQUENCES, WORKING
from karptui.screens.row_sources import Asked
from karptui.session.border import Focus
from karptui.session.facts import PoolAround
from karptui.session.pools import DaemonRow
from karptui.views.pools.detail import DAEMONSETS, daemon_sentence, detail_lines, title_parts
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.widgets.plain import phrase


class PoolDetailScreen(ListScreen[DaemonRow]):
    """A NodePool at length."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "open_nodes", "Nodes", id="pool.nodes", tooltip="The nodes of the pool"),
        Binding("t", "open_types", "Types", id="pool.types", tooltip="The instance types of the pool"),
        Binding("b", "open_budgets", "Budgets", show=False, id="pool.budgets"),
        Binding("ctrl+d", "scroll_panel(1)", "Scroll down", show=False, id="pool.down"),
        Binding("ctrl+u", "scroll_panel(-1)", "Scroll up", show=False, id="pool.up"),
    ]

    entry_name = "pools"
    is_explanation = True
    title_text = "DaemonSets ─ what a new node carries"
    kind = "NodePool"
    consequences = CONSEQUENCES

    def __init__(self, name: str) -> None:
        """Make the screen.

        Args:
            name: the NodePool.
        """
        self.panel = Panel("pool")
        super().__init__(DAEMONSETS, Asked("daemonsets", lambda: name), above=(self.panel,))
        self._pool_name = name

    def prepare(self) -> None:
        """Say that it takes a moment."""
        self.table.set_placeholder(WORKING)
        super().prepare()

    def show_state(self) -> None:
        """Ask for the overlap, and show the pool."""
        self.host.look_at(Focus(asks_overlap=True))
        super().show_state()

    def refresh_info(self) -> None:
        """Say again what is under the cursor, and show the pool."""
        super().refresh_info()
        has_rows = self.listing.rows is not None
        around = self.around(PoolAround) if has_rows else None
        if around is None:
            gone = f"there is no NodePool {clean(self._pool_name)}", Tone.WARNING
            self.panel.lines.set_lines([(gone if has_rows else ("working it out…", Tone.ACTIVE),)])
        else:
            has_prices = not self.host.config.disable_pricing
            self.panel.show_title(phrase(title_parts(around.row, has_prices=has_prices)))
            self.panel.lines.set_hanging(detail_lines(around.row))

    def explain_item(self, item: DaemonRow) -> Pieces:
        """Return what a DaemonSet takes and rules out."""
        return daemon_sentence(item)

    def name_of(self, item: DaemonRow) -> str:
        """Return the DaemonSet."""
        return item.found.key

    def current_object(self) -> tuple[str, str] | None:
        """Return the NodePool."""
        return ("NodePool", self._pool_name)

    def action_open_nodes(self) -> None:
        """Show the nodes of the pool."""
        self.host.open_screen("nodes", filter_text=f"pool={self._pool_name}")

    def action_open_budgets(self) -> None:
        """Show the budgets of the pool."""
        self.host.open_screen("budgets", filter_text=f"pool={self._pool_name}")

    def action_open_types(self) -> None:
        """Show the instance types of the pool."""
        routes.show_types(self, self._pool_name)

    def action_scroll_panel(self, step: int) -> None:
        """Scroll what is said of the pool by half of what is seen."""
        self.panel.scroll_half(step)

    def open_row(self, item: DaemonRow) -> None:
        """Show the DaemonSet as YAML."""
        routes.show_yaml(self, "DaemonSet", item.found.key)
