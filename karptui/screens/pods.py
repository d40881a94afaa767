"""The Pods screen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual.binding import Binding, BindingType

from karptui.decode.kinds import Kind
from karptui.screens.destinations import ToNode, ToPending
from karptui.screens.list_screen import ListScreen
from karptui.screens.listing import HEADROOM
from karptui.screens.row_sources import SessionList
from karptui.session.pods import PodEntry
from karptui.views.pods import TABLE, explain_pod
from karptui.views.row import Pieces


class PodsScreen(ListScreen[PodEntry]):
    """Pods by node, pool, owner or namespace."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "e", "explain_why", "Explain", id="pods.explain", tooltip="Why it is pending, or why its node is still here"
        ),
        HEADROOM,
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
        super().__init__(TABLE, SessionList("pods"))

    def prepare(self) -> None:
        namespace = self.host.config.namespace
        if namespace and not self.listing.query_text:
            self.listing.query_text = f"ns={namespace}"
        super().prepare()

    def shows_usage(self) -> bool:
        """Whether live usage is to be seen: always, in the line below and in the wide layout."""
        return True

    def explain_item(self, item: PodEntry) -> Pieces:
        return explain_pod(item, self.host.now_ns())

    def name_of(self, item: PodEntry) -> str:
        return item.pod.name

    def object_of(self, item: PodEntry) -> tuple[str, str]:
        return "Pod", item.pod.key

    def open_row(self, item: PodEntry) -> None:
        """Explain a pending pod; describe any other."""
        if not self._node_key(item):
            self.host.go(ToPending(item.pod.key))
        else:
            self.action_describe()

    def action_open_node(self) -> None:
        item = self.current
        if item is None or not item.pod.node_name:
            self.say("the pod is not bound to a node")
            return
        if key := self._node_key(item):
            self.host.go(ToNode(key))
        else:
            self.say(f"node {item.pod.node_name} does not exist")

    def _node_key(self, item: PodEntry) -> str:
        return self.host.session.node_key(Kind.NODE, item.pod.node_name)
