"""What Karpenter would do next, above the nodes that would go once nothing is in their way."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from karptui.screens import routes
from karptui.screens.frame import HelpSections
from karptui.screens.list_screen import ListScreen
from karptui.screens.row_sources import SessionList
from karptui.session.answers import Focus
from karptui.session.facts import NextAround
from karptui.session.nodes import NodeEntry
from karptui.views.instants import freshness
from karptui.views.next import TABLE, next_lines
from karptui.views.row import Pieces, Tone
from karptui.views.why.labels import legend
from karptui.views.why.sentences import why_sentence
from karptui.widgets.sentences import Sentences


class NextScreen(ListScreen[NodeEntry]):
    """The next command, and the nodes that would go, the dearest first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "explain_why", "Explain", id="next.explain", tooltip="Why the node is still here"),
    ]

    entry_name = "blockers"
    title_text = "Removable once unblocked"

    def __init__(self) -> None:
        self._command = Sentences(id="next")
        super().__init__(TABLE, SessionList("next"), above=(self._command,))

    def show_state(self) -> None:
        """Show the command and the nodes."""
        overview, around = self.host.session.overview(), self.around(NextAround)
        self.host.cluster.look_at(Focus(asks_next=True))
        self._command.set_lines(
            (
                *next_lines(around.report if around is not None else None, overview),
                freshness(overview, self.host.now_ns()),
            )
        )
        super().show_state()

    def explain_item(self, item: NodeEntry) -> Pieces:
        """Return the reason the node is still here."""
        return why_sentence(item, self.host.now_ns()) or (("", Tone.NORMAL),)

    def name_of(self, item: NodeEntry) -> str:
        """Return the node's name."""
        return item.name

    def object_of(self, item: NodeEntry) -> tuple[str, str]:
        """Return the node."""
        return "Node", item.name

    def help_text(self) -> HelpSections:
        """Explain the labels, columns and filters."""
        return (("Labels, worst first", legend()), *super().help_text())

    def action_explain_why(self) -> None:
        """Show why the node under the cursor is still here."""
        self.table.action_select()

    def open_row(self, item: NodeEntry) -> None:
        """Show the node at length."""
        routes.show_node(self, item.key)
