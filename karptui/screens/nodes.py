"""The Nodes screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec
from textual import on
from textual.binding import Binding, BindingType

from karptui.screens.list_screen import ListScreen
from karptui.screens.object_text import ObjectKeys
from karptui.session.analyst import Focus
from karptui.session.cluster_view import ClusterView
from karptui.session.nodes import NodeEntry
from karptui.views.nodes.explain import explain_node, node_details, node_reason
from karptui.views.nodes.table import nodes_table
from karptui.views.nodes.totals import cluster_facts, marked_scope, shown_scope
from karptui.views.row import Pieces, Tone
from karptui.views.table import Rows, Sort
from karptui.views.top_bar import Fact, TopBarValues
from karptui.views.why.codes import MEANINGS
from karptui.views.why.freshness import why_unknown
from karptui.widgets.row_table import MarksChanged, RowSelected


class NodesScreen(ObjectKeys, ListScreen[NodeEntry]):
    """Nodes and NodeClaims, and what pods ask of them."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "open_pods", "Pods of the node", show=False, id="nodes.pods"),
        Binding("e", "explain_why", "Explain", id="nodes.explain", tooltip="Why the node is still here, at length"),
        Binding(
            "t", "open_ledger", "Ledger", show=False, id="nodes.ledger", tooltip="Where the memory of its type goes"
        ),
    ]

    entry_name = "nodes"
    title_text = "Nodes"
    kind = "Node"
    consequences: ClassVar[Mapping[str, str]] = {
        "Node": "Without nodes there is nothing to show.",
        "Pod": "Requests and pod counts need it; nodes are shown without.",
        "NodeClaim": "Nodes that are starting, and what keeps nodes, need it.",
        "NodePool": "What keeps nodes needs it.",
    }

    def __init__(self) -> None:
        super().__init__(nodes_table())
        self._summed: tuple[Sequence[NodeEntry], frozenset[str]] = ((), frozenset())
        """The rows and marks that the figures in the top bar are of, when they are not of all nodes."""
        self._sums: tuple[Fact, ...] = ()

    def prepare(self) -> None:
        """Take the order, labels and filter from the settings."""
        config = self.host.config
        if config.extra_labels or config.disable_pricing or config.resources:
            self.spec = nodes_table(
                config.extra_labels, has_prices=not config.disable_pricing, resources=config.resources
            )
            self.table.set_headings(self.spec.headings())
        column, is_descending = config.order()
        self.sort_by = Sort(column, is_descending)
        if config.node_selector:
            self.query_text = f"-l '{config.node_selector}'"
        super().prepare()

    def show_state(self) -> None:
        """Show the nodes, and have those in view analysed first."""
        super().show_state()
        self.host.look_at(Focus(self.table.visible_keys))

    def top_bar_values(self) -> TopBarValues:
        """Return the figures of the marked nodes, or of those that a filter leaves; else of all."""
        values, rows, marked = super().top_bar_values(), self._rows, self.table.marked
        if rows is None or (len(rows) == rows.total and not marked):
            return values
        if self._summed[0] is not rows.items or self._summed[1] != marked:
            self._summed, self._sums = (rows.items, marked), self._sum_up(rows)
        return msgspec.structs.replace(values, facts=self._sums)

    def _sum_up(self, rows: Rows[NodeEntry]) -> tuple[Fact, ...]:
        view = self.host.view
        if self.table.marked:
            entries: Sequence[NodeEntry] = self.chosen()
            scope = marked_scope(entries)
        else:
            entries = rows.items
            scope = shown_scope(entries, view.node_entries, view.hidden)
        totals = view.totals_of(entries, sum(entry.pods.requested for entry in entries))
        return cluster_facts(totals, scope)

    def _apply(self, rows: Rows[NodeEntry]) -> None:
        super()._apply(rows)
        self.top_bar.values = self.top_bar_values()

    @on(MarksChanged)
    def _sum_marked(self, event: MarksChanged) -> None:
        event.stop()
        self.top_bar.values = self.top_bar_values()

    def help_text(self) -> Sequence[tuple[str, Sequence[tuple[str, str]]]]:
        """Explain the codes of WHY beside columns and filters."""
        return (("Codes of WHY, worst first", tuple(MEANINGS.items())), *super().help_text())

    def shows_usage(self) -> bool:
        """Whether live usage is to be seen: in the wide layout."""
        return self.table.is_wide

    def items_of(self, view: ClusterView) -> Sequence[NodeEntry]:
        """Return nodes and claims."""
        return view.node_entries

    def explain_item(self, item: NodeEntry) -> Pieces:
        """Return the node in words; and why nothing is said of what keeps it, where that has a reason."""
        now_ns, has_prices = self.host.now_ns(), not self.host.config.disable_pricing
        told = explain_node(item, now_ns, has_prices=has_prices) if item.findings is None else node_reason(item, now_ns)
        if item.node is None or not item.is_managed or item.findings is not None:
            return told
        missing = why_unknown(self.host.view)
        return ((missing, Tone.WARNING), (" · ", Tone.MUTED), *told) if missing else told

    def row_facts(self) -> Sequence[Pieces]:
        """Return what columns say that have no room, and what else there is to say of a node with a reason."""
        item = self.current
        if item is None or item.findings is None:
            return super().row_facts()
        details = node_details(item, has_prices=not self.host.config.disable_pricing)
        return (*super().row_facts(), *((detail,) for detail in details))

    def name_of(self, item: NodeEntry) -> str:
        """Return the node's name."""
        return item.name

    def current_object(self) -> tuple[str, str] | None:
        """Return the node, or the claim where there is no node."""
        item = self.current
        if item is None:
            return None
        return ("Node", item.name) if item.node is not None else ("NodeClaim", item.name)

    @on(RowSelected)
    def _selected(self, event: RowSelected) -> None:
        event.stop()
        from karptui.screens.node_detail import NodeDetailScreen  # noqa: PLC0415 - only when asked for

        self.app.push_screen(NodeDetailScreen(event.key))

    def action_explain_why(self) -> None:
        """Show why the node under the cursor is still here."""
        self.table.action_select()

    def action_open_ledger(self) -> None:
        """Show the ledger of the node's instance type in its NodePool."""
        item = self.current
        if item is None or not item.pool or not item.instance_type:
            self.say("no NodePool, or no instance type yet: there is no ledger", Tone.MUTED)
            return
        from karptui.screens.type_ledger import TypeLedgerScreen  # noqa: PLC0415 - only when asked for

        self.app.push_screen(TypeLedgerScreen(item.pool, item.instance_type))

    def action_open_pods(self) -> None:
        """Show the pods of the node under the cursor."""
        item = self.current
        if item is not None and item.node is not None:
            self.host.open_screen("pods", filter_text=f"node={item.name}")
