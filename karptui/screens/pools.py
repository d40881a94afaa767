"""The Pools screen: NodePools in the order of Karpenter's attempts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from textual.binding import Binding, BindingType

from karptui.screens import routes
from karptui.screens.destinations import ToPool, ToTypes
from karptui.screens.list_screen import ListScreen
from karptui.screens.listing import CHURN, HEADROOM
from karptui.screens.row_sources import SessionList
from karptui.session.answers import Focus
from karptui.session.pools import DaemonRow, PoolRow, PoolsAround
from karptui.views.instants import freshness
from karptui.views.last_hour import last_hour_words
from karptui.views.pools.columns import pools_table
from karptui.views.pools.detail import DAEMONSETS, daemon_sentence, detail_lines, title_parts
from karptui.views.pools.overlap import cluster_lines, cost_text
from karptui.views.pools.sentences import pool_sentences
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.widgets.sentences import Sentences, phrase
from karptui.widgets.titled_pane import Panel

WORKING: Final = "computing the order of NodePools and their types…"
CONSEQUENCES: Final[Mapping[str, str]] = {
    "NodePool": "Without NodePools there is nothing to show.",
    "NodeClass": "Instance types need it.",
    "DaemonSet": "The resources of a new node need it.",
    "Node": "Used limits and the cost of nodes need it.",
    "NodeClaim": "Limits and drift need it.",
    "Pod": "Which pools pods match needs it.",
}


class PoolsScreen(ListScreen[PoolRow]):
    """One row for each NodePool."""

    BINDINGS: ClassVar[list[BindingType]] = [
        CHURN,
        HEADROOM,
        Binding("o", "open_of_pool('nodes')", "Nodes", id="pools.nodes", tooltip="The nodes of the pool"),
        Binding("t", "open_types", "Types", id="pools.types", tooltip="The instance types of the pool"),
        Binding("b", "open_of_pool('budgets')", "Budgets", show=False, id="pools.budgets"),
    ]

    entry_name = "pools"
    kind = "NodePool"
    working = WORKING
    consequences = CONSEQUENCES

    def __init__(self) -> None:
        self._cluster = Sentences(id="pools-cluster")
        """Text about all pools."""
        super().__init__(
            pools_table(), SessionList("pools"), story=self.story_of, is_story_hanging=True, below=(self._cluster,)
        )

    @property
    def table_title(self) -> str:
        around = self.around(PoolsAround) if self.listing.rows is not None else None
        cost = "" if around is None or self.host.config.disable_pricing else cost_text(around)
        return f"Pools ─ in the order Karpenter tries them{f' ─ {cost}' if cost else ''}"

    def prepare(self) -> None:
        if self.host.config.disable_pricing:
            self.use_table(pools_table(has_prices=False))
        super().prepare()

    def show_state(self) -> None:
        self.host.cluster.look_at(Focus(asks_overlap=True))
        super().show_state()

    def refresh_info(self) -> None:
        super().refresh_info()
        lines: tuple[Pieces, ...] = ()
        around = self.around(PoolsAround) if self.listing.rows else None
        if around is not None:
            overview, is_short = self.host.session.overview(), self.has_class("-narrow")
            lines = cluster_lines(around, overview, self.host.now_ns(), is_short=is_short)
        self._cluster.set_hanging(lines)

    def on_resize(self) -> None:
        self.refresh_info()

    def explain(self) -> Pieces:
        return freshness(self.host.session.overview(), self.host.now_ns())

    def story_of(self, item: PoolRow) -> tuple[Pieces, ...]:
        """Return the pool as text, and the last hour if its column does not fit."""
        hour = last_hour_words(item.alive) if "hour" in self.table.unseen else ""
        return (*pool_sentences(item), ((hour, Tone.NORMAL),)) if hour else pool_sentences(item)

    def name_of(self, item: PoolRow) -> str:
        return item.name

    def object_of(self, item: PoolRow) -> tuple[str, str]:
        return "NodePool", item.name

    def action_describe(self) -> None:
        if self.current is not None:
            self.open_row(self.current)

    def action_share_out(self) -> None:
        around = self.around(PoolsAround)
        if self.current is not None and around is not None:
            routes.ask_for_proportion(self, around.partners_of(self.current.name))

    def action_open_types(self) -> None:
        if self.current is not None:
            self.host.go(ToTypes(self.current.name))

    def open_row(self, item: PoolRow) -> None:
        self.host.go(ToPool(item.name))


class PoolDetailScreen(ListScreen[DaemonRow]):
    """A NodePool at length."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "open_of_pool('nodes')", "Nodes", id="pool.nodes", tooltip="The nodes of the pool"),
        Binding("t", "open_types", "Types", id="pool.types", tooltip="The instance types of the pool"),
        Binding("b", "open_of_pool('budgets')", "Budgets", show=False, id="pool.budgets"),
        Binding("ctrl+d", "scroll_panel(1)", "Scroll down", show=False, id="pool.down"),
        Binding("ctrl+u", "scroll_panel(-1)", "Scroll up", show=False, id="pool.up"),
    ]

    entry_name = "pools"
    is_explanation = True
    title_text = "DaemonSets ─ on each new node"
    kind = "NodePool"
    working = WORKING
    consequences = CONSEQUENCES

    def __init__(self, name: str) -> None:
        self.panel = Panel("pool")
        super().__init__(DAEMONSETS, SessionList("daemonsets", lambda: name), above=(self.panel,))
        self._pool_name = name

    def show_state(self) -> None:
        self.host.cluster.look_at(Focus(asks_overlap=True))
        super().show_state()

    def refresh_info(self) -> None:
        super().refresh_info()
        has_rows = self.listing.rows is not None
        row = self.around(PoolRow) if has_rows else None
        if row is None:
            gone = f"there is no NodePool {clean(self._pool_name)}", Tone.WARNING
            self.panel.lines.set_lines([(gone if has_rows else ("computing…", Tone.ACTIVE),)])
        else:
            has_prices = not self.host.config.disable_pricing
            self.panel.show_title(phrase(title_parts(row, has_prices=has_prices)))
            self.panel.lines.set_hanging(detail_lines(row))

    def explain_item(self, item: DaemonRow) -> Pieces:
        return daemon_sentence(item)

    def name_of(self, item: DaemonRow) -> str:
        return item.daemonset.key

    def current_object(self) -> tuple[str, str] | None:
        return ("NodePool", self._pool_name)

    def action_open_types(self) -> None:
        self.host.go(ToTypes(self._pool_name))

    def open_row(self, item: DaemonRow) -> None:
        routes.show_yaml(self, "DaemonSet", item.daemonset.key)
