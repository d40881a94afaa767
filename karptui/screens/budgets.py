"""The Budgets screen: how many nodes of each NodePool may be disrupted, now and in the coming days."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType

from karptui.clock import LocalZone
from karptui.screens.object_text import ObjectKeys
from karptui.screens.story_screen import StoryScreen
from karptui.session.cluster_view import ClusterView
from karptui.views.budgets.entry import BudgetEntry, budget_entries
from karptui.views.budgets.table import budgets_table
from karptui.views.budgets.words import budget_story, detail_text
from karptui.views.row import Pieces
from karptui.views.why.freshness import freshness
from karptui.widgets.row_table import RowSelected


class BudgetsScreen(ObjectKeys, StoryScreen[BudgetEntry]):
    """One row for each NodePool and reason."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "open_nodes", "Nodes of the pool", show=False, id="budgets.nodes"),
    ]

    entry_name = "budgets"
    title_text = "Budgets"
    kind = "NodePool"
    consequences: ClassVar[Mapping[str, str]] = {
        "NodePool": "Without NodePools there is nothing to show.",
        "Node": "What uses budgets up needs it.",
        "NodeClaim": "What uses budgets up needs it.",
        "Pod": "What is left of budgets is worked out with why nodes are still here, which needs it.",
    }

    def __init__(self) -> None:
        self._local = LocalZone()
        super().__init__(budgets_table(self._local))
        self._made: tuple[object, object, tuple[BudgetEntry, ...]] = (None, None, ())

    def items_of(self, view: ClusterView) -> Sequence[BudgetEntry]:
        """Return a row for every NodePool and reason; the same object as long as nothing about them changed."""
        known = tuple(view.analysis.budgets.values()) if view.analysis is not None else None
        pools = tuple(view.state.nodepools.values())
        if not _are_same(self._made[0], known) or not _are_same(self._made[1], pools):
            self._made = (known, pools, budget_entries(view))
        return self._made[2]

    def explain(self) -> Pieces:
        """Say how fresh the answers are."""
        return freshness(self.host.view, self.host.now_ns())

    def story_of(self, item: BudgetEntry) -> tuple[Pieces, ...]:
        """Return the row in sentences."""
        return budget_story(item, self.host.now_ns(), self._local)

    def name_of(self, item: BudgetEntry) -> str:
        """Return the NodePool's name."""
        return item.pool.name

    def current_object(self) -> tuple[str, str] | None:
        """Return the NodePool."""
        return ("NodePool", self.current.pool.name) if self.current is not None else None

    def action_describe(self) -> None:
        """Show the budgets of the pool at length."""
        item = self.current
        if item is None:
            return
        from karptui.screens.text import TextScreen  # noqa: PLC0415 - only when asked for

        async def fetch() -> str:
            entries = [one for one in self.items_of(self.host.view) if one.pool.name == item.pool.name]
            return detail_text(entries or [item], self.host.now_ns(), self._local)

        self.app.push_screen(TextScreen(f"Budgets of {item.pool.name}", fetch))

    def action_open_nodes(self) -> None:
        """Show the nodes of the pool."""
        if self.current is not None:
            self.host.open_screen("nodes", filter_text=f"pool={self.current.pool.name}")

    @on(RowSelected)
    def _selected(self, event: RowSelected) -> None:
        event.stop()
        self.action_describe()


def _are_same(known: object, found: tuple[object, ...] | None) -> bool:
    if not isinstance(known, tuple) or found is None:
        return known is found
    return len(known) == len(found) and all(a is b for a, b in zip(known, found, strict=True))
