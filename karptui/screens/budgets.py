"""The Budgets screen: how many nodes of each NodePool may be disrupted, now and in the coming days."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual.binding import Binding, BindingType

from karptui.clock import LocalZone
from karptui.screens import routes
from karptui.screens.list_screen import ListScreen
from karptui.screens.row_sources import SessionList
from karptui.session.budgets import BudgetEntry
from karptui.views.budgets.columns import budgets_table
from karptui.views.budgets.sentences import budget_sentences, detail_text
from karptui.views.instants import freshness
from karptui.views.row import Pieces


class BudgetsScreen(ListScreen[BudgetEntry]):
    """One row for each NodePool and reason."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "open_of_pool('nodes')", "Nodes of the pool", show=False, id="budgets.nodes")
    ]

    entry_name = "budgets"
    title_text = "Budgets"
    kind = "NodePool"
    consequences: ClassVar[Mapping[str, str]] = {
        "NodePool": "Without NodePools there is nothing to show.",
        "Node": "The use of budgets needs it.",
        "NodeClaim": "The use of budgets needs it.",
        "Pod": "The remaining disruptions come from the analysis of nodes, which needs it.",
    }

    def __init__(self) -> None:
        self._local = LocalZone()
        super().__init__(budgets_table(self._local), SessionList("budgets"), story=self.story_of)

    def explain(self) -> Pieces:
        return freshness(self.host.session.overview(), self.host.now_ns())

    def story_of(self, item: BudgetEntry) -> tuple[Pieces, ...]:
        return budget_sentences(item, self.host.now_ns(), self._local)

    def name_of(self, item: BudgetEntry) -> str:
        return item.pool.name

    def object_of(self, item: BudgetEntry) -> tuple[str, str]:
        return "NodePool", item.pool.name

    def action_describe(self) -> None:
        item = self.current
        if item is None:
            return

        def text() -> str:
            return detail_text(self.around(tuple, item.pool.name) or [item], self.host.now_ns(), self._local)

        routes.show_made_text(self, f"Budgets of {item.pool.name}", text)

    def open_row(self, item: BudgetEntry) -> None:  # noqa: ARG002 - it is under the cursor
        self.action_describe()
