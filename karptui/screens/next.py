"""What Karpenter would do next, above the nodes that would go once nothing is in their way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from karptui.screens.list_screen import ListScreen
from karptui.screens.object_text import ObjectKeys
from karptui.session.analyst import Focus
from karptui.session.cluster_view import ClusterView
from karptui.session.nodes import NodeEntry
from karptui.views.next.command import next_lines
from karptui.views.next.table import TABLE, going_nodes
from karptui.views.row import Pieces, Tone
from karptui.views.why.codes import MEANINGS
from karptui.views.why.freshness import freshness
from karptui.views.why.sentence import why_sentence
from karptui.widgets.row_table import RowSelected
from karptui.widgets.sentences import Sentences


class NextScreen(ObjectKeys, ListScreen[NodeEntry]):
    """The next command, and the nodes that would go, the dearest first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "explain_why", "Explain", id="next.explain", tooltip="Why the node is still here"),
    ]

    entry_name = "blockers"
    title_text = "Would go without what keeps them"

    command = getters.query_one("#next", Sentences)

    def __init__(self) -> None:
        super().__init__(TABLE)
        self._made: tuple[object, tuple[NodeEntry, ...]] = (None, ())

    def compose_body(self) -> ComposeResult:
        """Yield the command above the nodes."""
        yield Sentences(id="next")
        yield from super().compose_body()

    def show_state(self) -> None:
        """Show the command and the nodes."""
        view = self.host.view
        self.host.look_at(Focus(wants_next=True))
        self.command.set_lines((*next_lines(view), freshness(view, self.host.now_ns())))
        super().show_state()

    def items_of(self, view: ClusterView) -> Sequence[NodeEntry]:
        """Return the nodes that would go."""
        if self._made[0] is not view.node_entries:
            self._made = (view.node_entries, going_nodes(view))
        return self._made[1]

    def explain_item(self, item: NodeEntry) -> Pieces:
        """Return why the node is still here."""
        return why_sentence(item, self.host.now_ns()) or (("", Tone.NORMAL),)

    def name_of(self, item: NodeEntry) -> str:
        """Return the node's name."""
        return item.name

    def current_object(self) -> tuple[str, str] | None:
        """Return the node."""
        return ("Node", self.current.name) if self.current is not None else None

    def help_text(self) -> Sequence[tuple[str, Sequence[tuple[str, str]]]]:
        """Explain the codes beside columns and filters."""
        return (("Codes, worst first", tuple(MEANINGS.items())), *super().help_text())

    def action_explain_why(self) -> None:
        """Show why the node under the cursor is still here."""
        self.table.action_select()

    @on(RowSelected)
    def _selected(self, event: RowSelected) -> None:
        event.stop()
        from karptui.screens.node_detail import NodeDetailScreen  # noqa: PLC0415 - only when asked for

        self.app.push_screen(NodeDetailScreen(event.key))
