"""The Pods screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType

from karptui.screens.list_screen import ListScreen
from karptui.screens.object_text import ObjectKeys
from karptui.session.cluster_view import ClusterView
from karptui.session.pods import PodEntry
from karptui.views.pods.table import TABLE, explain_pod
from karptui.views.row import Pieces
from karptui.widgets.row_table import RowSelected


class PodsScreen(ObjectKeys, ListScreen[PodEntry]):
    """Pods by node, pool, owner or namespace."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "e", "explain_why", "Explain", id="pods.explain", tooltip="Why it waits, or why its node is still here"
        ),
        Binding("o", "open_node", "Node of the pod", show=False, id="pods.node"),
    ]

    entry_name = "pods"
    title_text = "Pods"
    kind = "Pod"
    consequences: ClassVar[Mapping[str, str]] = {
        "Pod": "Without pods there is nothing to show.",
        "Node": "The pool of a pod needs it.",
    }

    def __init__(self) -> None:
        super().__init__(TABLE)

    def prepare(self) -> None:
        """Start with the namespace that was asked for."""
        namespace = self.host.config.namespace
        if namespace and not self.query_text:
            self.query_text = f"ns={namespace}"
        super().prepare()

    def shows_usage(self) -> bool:
        """Whether live usage is to be seen: always, in the line below and in the wide layout."""
        return True

    def items_of(self, view: ClusterView) -> Sequence[PodEntry]:
        """Return every pod that has not ended."""
        return view.pod_entries

    def explain_item(self, item: PodEntry) -> Pieces:
        """Return the pod in words."""
        return explain_pod(item, self.host.now_ns())

    def name_of(self, item: PodEntry) -> str:
        """Return the pod's name."""
        return item.pod.name

    def current_object(self) -> tuple[str, str] | None:
        """Return the pod."""
        return ("Pod", self.current.pod.key) if self.current is not None else None

    @on(RowSelected)
    def _selected(self, event: RowSelected) -> None:
        event.stop()
        if not self._open_waiting():
            self.action_describe()

    def _open_waiting(self) -> bool:
        """Show why the pod waits and return whether it does."""
        item = self.current
        if item is None or (item.pod.node_name and item.pod.node_name in self.host.view.state.nodes):
            return False
        from karptui.screens.pending_detail import PendingDetailScreen  # noqa: PLC0415 - only when asked for

        self.app.push_screen(PendingDetailScreen(item.pod.key))
        return True

    def action_open_node(self) -> None:
        """Show the node the pod runs on."""
        item = self.current
        if item is None or not item.pod.node_name:
            self.say("the pod is not bound to a node")
            return
        entry = self.host.view.node_of(item.pod.node_name)
        if entry is None:
            self.say(f"node {item.pod.node_name} is not there")
            return
        from karptui.screens.node_detail import NodeDetailScreen  # noqa: PLC0415 - only when asked for

        self.app.push_screen(NodeDetailScreen(entry.key))
