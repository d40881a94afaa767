"""The nodes that were tried for a pod, each with the reason why it does not take it."""

from __future__ import annotations

from collections.abc import Sequence

from textual import on

from karptui.provisioning import NodeRefusal, PodExplanation
from karptui.screens.list_screen import ListScreen
from karptui.screens.object_text import ObjectKeys
from karptui.session.cluster_view import ClusterView
from karptui.views.pending.nodes_table import TABLE
from karptui.views.pending.refusals import refusals_text
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.widgets.row_table import RowSelected


class PendingNodesScreen(ObjectKeys, ListScreen[NodeRefusal]):
    """Nodes tried; as things stood when the pod was explained."""

    entry_name = "pending"
    title_text = "Nodes tried"

    def __init__(self, name: str, explanation: PodExplanation) -> None:
        """Make the screen.

        Args:
            name: Of the pods.
            explanation: Why nothing takes them.
        """
        super().__init__(TABLE)
        self._title_name = name
        self._explanation = explanation

    def items_of(self, view: ClusterView) -> Sequence[NodeRefusal]:  # noqa: ARG002 - they stay as they were
        """Return the nodes."""
        return self._explanation.nodes

    def size_of(self, view: ClusterView) -> int:
        """Return how many there are."""
        return len(self.items_of(view))

    def explain_item(self, item: NodeRefusal) -> Pieces:
        """Return all nodes by reason, and the one under the cursor."""
        return (
            (f"{clean(self._title_name)}: {refusals_text(self._explanation)}", Tone.STRONG),
            (f" · {clean(item.reason)}", Tone.NORMAL),
        )

    def name_of(self, item: NodeRefusal) -> str:
        """Return the node's name."""
        return item.node

    def current_object(self) -> tuple[str, str] | None:
        """Return the node."""
        return ("Node", self.current.node) if self.current is not None else None

    @on(RowSelected)
    def _selected(self, event: RowSelected) -> None:
        event.stop()
        name = event.key or ""
        entry = self.host.view.node_of(name)
        if entry is None:
            self.say(f"node {clean(name)} is not there any more")
            return
        from karptui.screens.node_detail import NodeDetailScreen  # noqa: PLC0415 - only when asked for

        self.app.push_screen(NodeDetailScreen(entry.key))
