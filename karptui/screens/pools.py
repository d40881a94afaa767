"""The Pools screen: NodePools in the order in which Karpenter tries them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from karptui.screens.churn_key import ChurnKey
from karptui.screens.object_text import ObjectKeys
from karptui.screens.story_screen import StoryScreen
from karptui.session.analyst import Focus
from karptui.session.cluster_view import ClusterView
from karptui.session.pools import PoolRow, pool_rows
from karptui.views.pools.cluster import cluster_lines, cost_text
from karptui.views.pools.story import pool_story
from karptui.views.pools.table import pools_table
from karptui.views.row import Pieces, Tone
from karptui.views.why.freshness import freshness
from karptui.widgets.hanging import hanging
from karptui.widgets.plain import phrase
from karptui.widgets.row_table import RowSelected

WORKING: Final = ("working out the order of NodePools and their types…", Tone.ACTIVE)
CONSEQUENCES: Final[Mapping[str, str]] = {
    "NodePool": "Without NodePools there is nothing to show.",
    "NodeClass": "Instance types are worked out from it.",
    "DaemonSet": "What a new node carries needs it.",
    "Node": "What limits count and what nodes cost need it.",
    "NodeClaim": "What limits count and drift need it.",
    "Pod": "Which pools pods match needs it.",
}


class PoolsScreen(ChurnKey, ObjectKeys, StoryScreen[PoolRow]):
    """One row for each NodePool."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "open_nodes", "Nodes", id="pools.nodes", tooltip="The nodes of the pool"),
        Binding("t", "open_types", "Types", id="pools.types", tooltip="The instance types of the pool"),
        Binding("b", "open_budgets", "Budgets", show=False, id="pools.budgets"),
        Binding(
            "p", "share_out", "Proportion", id="pools.share", tooltip="What keeps a proportion of pools: a what-if"
        ),
    ]

    entry_name = "pools"
    kind = "NodePool"
    works_out_types = True
    consequences = CONSEQUENCES

    cluster = getters.query_one("#pools-cluster", Static)

    def __init__(self) -> None:
        super().__init__(pools_table())

    @property
    def table_title(self) -> str:
        """What the table is called, and what all pools cost."""
        view = self.host.view
        cost = "" if self._rows is None or self.host.config.disable_pricing else cost_text(view)
        return f"Pools ─ in the order Karpenter tries them{f' ─ {cost}' if cost else ''}"

    def prepare(self) -> None:
        """Leave prices out where they are off, and say that it takes a moment."""
        if self.host.config.disable_pricing:
            self.spec = pools_table(has_prices=False)
            self.table.set_headings(self.spec.headings())
        self.table.set_placeholder(WORKING)
        super().prepare()

    def compose_body(self) -> ComposeResult:
        """Yield the table above the sentences about a row and about all of them."""
        yield from super().compose_body()
        yield Static(id="pools-cluster", markup=False)

    def show_state(self) -> None:
        """Ask for the overlap, and show the rows."""
        self.host.look_at(Focus(wants_overlap=True))
        super().show_state()

    def items_of(self, view: ClusterView) -> Sequence[PoolRow]:
        """Return the pools."""
        return pool_rows(view)

    def refresh_info(self) -> None:
        """Say again what is under the cursor, and what holds for all pools."""
        super().refresh_info()
        lines: tuple[Pieces, ...] = ()
        if self._rows is not None and self._rows.total:
            is_short = self.has_class("-narrow")
            lines = cluster_lines(self.host.view, self._items, self.host.now_ns(), is_short=is_short)
        width = self.cluster.content_size.width
        content = Content("\n").join([phrase(line) for line in hanging(lines, width)])
        if content != self.cluster.content:
            self.cluster.update(content)

    def on_resize(self) -> None:
        """Break the sentences anew."""
        self.refresh_info()

    def explain(self) -> Pieces:
        """Say how fresh the answers are."""
        return freshness(self.host.view, self.host.now_ns())

    def story_of(self, item: PoolRow) -> tuple[Pieces, ...]:
        """Return the pool in sentences."""
        return hanging(pool_story(item), self.story.content_size.width)

    def name_of(self, item: PoolRow) -> str:
        """Return the NodePool's name."""
        return item.name

    def current_object(self) -> tuple[str, str] | None:
        """Return the NodePool."""
        return ("NodePool", self.current.name) if self.current is not None else None

    def action_describe(self) -> None:
        """Show the pool at length."""
        if self.current is not None:
            self._open(self.current.name)

    def action_open_nodes(self) -> None:
        """Show the nodes of the pool."""
        if self.current is not None:
            self.host.open_screen("nodes", filter_text=f"pool={self.current.name}")

    def action_open_budgets(self) -> None:
        """Show the budgets of the pool."""
        if self.current is not None:
            self.host.open_screen("budgets", filter_text=f"pool={self.current.name}")

    def action_share_out(self) -> None:
        """Ask for a proportion between the pool and the one it shares most pods with."""
        if self.current is None:
            return
        from karptui.screens.proportion import ask_for_proportion  # noqa: PLC0415 - only when asked for
        from karptui.views.pools.proportion import partners_of  # noqa: PLC0415 - brings the engines with it

        analysis = self.host.view.analysis
        ask_for_proportion(self, partners_of(self.current.name, analysis.overlap if analysis is not None else None))

    def action_open_types(self) -> None:
        """Show the instance types of the pool."""
        if self.current is not None:
            from karptui.screens.types import TypesOfPoolScreen  # noqa: PLC0415 - only when asked for

            self.app.push_screen(TypesOfPoolScreen(self.current.name))

    @on(RowSelected)
    def _selected(self, event: RowSelected) -> None:
        event.stop()
        self._open(event.key)

    def _open(self, name: str) -> None:
        from karptui.screens.pool_detail import PoolDetailScreen  # noqa: PLC0415 - only when asked for

        self.app.push_screen(PoolDetailScreen(name))
