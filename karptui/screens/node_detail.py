"""One node: why it is still here, its resources, and its pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll

from karptui.screens import routes
from karptui.screens.list_screen import LEAST_ROWS, TABLE_EDGE, ListScreen
from karptui.screens.row_sources import OwnRows
from karptui.session.answers import Focus, NodeReport
from karptui.session.nodes import NodeEntry
from karptui.session.pods import PodEntry
from karptui.views.instants import freshness
from karptui.views.nodes.detail import claim_lines, node_lines, resource_lines, title_parts, usage_lines
from karptui.views.nodes.sentences import explain_node
from karptui.views.pods import explain_pod, pods_of_node_table
from karptui.views.row import WAITING, Cell, Pieces, Tone
from karptui.views.table import Sort
from karptui.views.why.detail import landing_cell, no_landing_text, why_lines, with_landings
from karptui.widgets.sentences import Sentences, phrase
from karptui.widgets.titled_pane import TitledPane

if TYPE_CHECKING:
    from karptui.disruption.analysis import NodeDetail
    from karptui.disruption.node_verdict import Landing


class FactsScroll(VerticalScroll):
    """Facts about the node, scrolled with the keys of tables."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("k", "scroll_up", "Scroll up", show=False),
        Binding("j", "scroll_down", "Scroll down", show=False),
        Binding("ctrl+b", "page_up", "Page up", show=False),
        Binding("ctrl+f", "page_down", "Page down", show=False),
        Binding("g", "scroll_home", "First line", show=False),
        Binding("G", "scroll_end", "Last line", show=False),
    ]


class NodePanel(TitledPane):
    """Why a node is still here, its facts, and its resources."""

    def __init__(self) -> None:
        super().__init__(id="node-panel")
        self.ledger = Sentences(id="ledger")
        self.why = Sentences(id="why")
        self.facts = Sentences(id="facts")
        self.claim_facts = Sentences(id="claim-facts")

    def compose(self) -> ComposeResult:
        yield FactsScroll(self.why, self.facts, self.claim_facts, id="facts-scroll")
        yield self.ledger


class NodeDetailScreen(ListScreen[PodEntry]):
    """The reasons and resources of a node above its pods."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "app.focus_next", "Facts", id="node.facts", tooltip="Scroll the facts, or move in the pods"),
        Binding("o", "claim_yaml", "NodeClaim YAML", show=False, id="node.claim"),
    ]

    entry_name = "nodes"
    is_explanation = True
    title_text = "Pods"
    kind = "Pod"
    consequences: ClassVar[Mapping[str, str]] = {"Pod": "Requests and the pods of the node need it."}

    def __init__(self, key: str) -> None:
        self.panel = NodePanel()
        spec = with_landings(pods_of_node_table(), self._landing)
        super().__init__(
            spec,
            OwnRows(lambda: self._report.pods if self._report is not None else ()),
            sort=Sort("cpu", is_descending=True),
            above=(self.panel,),
        )
        self._key = key
        self._entry: NodeEntry | None = None
        self._is_gone = False
        self._report: NodeReport | None = None

    def show_state(self) -> None:
        """Show the current node, or its last state if it is gone."""
        before = self._entry.node if self._entry is not None else None
        self._report = report = self.host.session.node(self._key, before.name if before is not None else "")
        node_entry = report.entry
        self._is_gone = node_entry is None
        now_ns = self.host.now_ns()
        if node_entry is not None:
            self._entry = node_entry
        if (entry := self._entry) is not None:
            parts = title_parts(entry, now_ns)
            gone = ((" gone ", Tone.FAULT),) if self._is_gone else ()
            panel = self.panel
            panel.show_title(phrase((*parts, *gone)))
            panel.ledger.set_lines(resource_lines(entry))
            ledger = (*resource_lines(entry), ()) if self.has_class("-narrow") else ()
            panel.why.set_hanging((*self._why(entry, now_ns), *ledger))
            usage = usage_lines(entry, report.usage, now_ns) if entry.node is not None else ()
            panel.facts.set_hanging((*node_lines(entry, now_ns), *usage))
            panel.claim_facts.set_hanging(claim_lines(entry, now_ns))
        self.host.cluster.look_at(Focus(detail=self._key))
        self.table.styles.max_height = max(self.listing.source.size(), LEAST_ROWS) + TABLE_EDGE
        super().show_state()

    def shows_usage(self) -> bool:
        return True

    def _why(self, entry: NodeEntry, now_ns: int) -> tuple[Pieces, ...]:
        lines = why_lines(entry, self._detail(), now_ns)
        fresh = ((" ", Tone.NORMAL), *freshness(self.host.session.overview(), now_ns))
        return (*lines[:-1], fresh, ()) if entry.findings is not None else lines

    def _detail(self) -> NodeDetail | None:
        return self._report.detail if self._report is not None else None

    def _landing_of(self, item: PodEntry) -> Landing | None:
        detail = self._detail()
        return detail.landings.get(item.pod.key) if detail is not None else None

    def _landing(self, item: PodEntry) -> Cell:
        if self._detail() is None:
            return WAITING
        return landing_cell(self._landing_of(item), item.pod)

    def explain(self) -> Pieces:
        """Explain the pod under the cursor, or the node if it has no pods."""
        if self._is_gone:
            return (("the node is gone; this is its last state", Tone.FAULT),)
        if self.current is None and self._entry is not None:
            return explain_node(self._entry, self.host.now_ns())
        return super().explain()

    def explain_item(self, item: PodEntry) -> Pieces:
        """Return the pod as text, with the reason if it fits nowhere."""
        landing = self._landing_of(item)
        words = explain_pod(item, self.host.now_ns())
        if landing is None or not landing.error:
            return words
        return ((f"would land nowhere: {no_landing_text(landing)}", Tone.FAULT), (" · ", Tone.MUTED), *words)

    def name_of(self, item: PodEntry) -> str:
        return item.pod.name

    def current_object(self) -> tuple[str, str] | None:
        """Return the node, or its claim while there is no node."""
        entry = self._entry
        if entry is None:
            return None
        return ("Node", entry.name) if entry.node is not None else ("NodeClaim", entry.name)

    def action_claim_yaml(self) -> None:
        entry = self._entry
        if entry is None or entry.claim is None:
            self.say("Karpenter does not manage this node: it has no NodeClaim")
            return
        routes.show_yaml(self, "NodeClaim", entry.claim.name)

    def open_row(self, item: PodEntry) -> None:
        routes.show_description(self, "Pod", item.pod.key)
