"""The Pending screen: pods that wait for a node, and what Karpenter, the scheduler and the engine say of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType

from karptui.pending.groups import PendingGroup
from karptui.screens.object_text import ObjectKeys
from karptui.screens.pending_ledger import PendingLedger
from karptui.screens.story_screen import StoryScreen
from karptui.session.analyst import Focus
from karptui.session.cluster_view import ClusterView
from karptui.views.pending.entry import PendingEntry
from karptui.views.pending.freshness import pending_entries, pending_freshness
from karptui.views.pending.story import story_lines
from karptui.views.pending.table import TABLE
from karptui.views.pending.words import CAUSE_HELP
from karptui.views.row import Pieces
from karptui.views.table import Rows
from karptui.widgets.hanging import hanging
from karptui.widgets.row_table import RowSelected


class PendingScreen(PendingLedger, ObjectKeys, StoryScreen[PendingEntry]):
    """Pending pods, folded by cause."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "e", "explain_why", "Explain", id="pending.explain", tooltip="Why nothing takes them, and what would help"
        ),
    ]

    entry_name = "pending"
    title_text = "Pending"
    kind = "Pod"
    consequences: ClassVar[Mapping[str, str]] = {
        "Pod": "Without pods there is nothing to show.",
        "NodePool": "Why pods wait needs them.",
        "Node": "Why pods wait needs them.",
        "Event": "What Karpenter and the scheduler said is not known.",
    }

    def __init__(self) -> None:
        super().__init__(TABLE)
        self._made: tuple[object, object, tuple[PendingEntry, ...]] = (None, None, ())

    def show_state(self) -> None:
        """Ask for an answer, and show the newest there is."""
        self.host.look_at(Focus(wants_pending=True))
        super().show_state()

    def items_of(self, view: ClusterView) -> Sequence[PendingEntry]:
        """Return the groups."""
        if self._made[0] is not view.pending or self._made[1] is not view.state:
            self._made = (view.pending, view.state, pending_entries(view))
        return self._made[2]

    def size_of(self, view: ClusterView) -> int:
        """Return how many groups there are."""
        return len(self.items_of(view))

    def _apply(self, rows: Rows[PendingEntry]) -> None:
        super()._apply(rows)
        view = self.host.view
        if not rows.total and view.pending is None and view.state.pending_pods:
            self.table.set_placeholder(pending_freshness(view, self.host.now_ns())[0])

    def story_of(self, item: PendingEntry) -> tuple[Pieces, ...]:
        """Return why the pods wait and who said what."""
        return hanging(story_lines(item, self.host.now_ns()), self.story.size.width)

    def help_text(self) -> Sequence[tuple[str, Sequence[tuple[str, str]]]]:
        """Explain what pods wait for beside columns and filters."""
        return (("Computed now", CAUSE_HELP), *super().help_text())

    def explain(self) -> Pieces:
        """Say how fresh it is."""
        return pending_freshness(self.host.view, self.host.now_ns())

    def name_of(self, item: PendingEntry) -> str:
        """Return the name of the first pod."""
        return item.group.first.name

    def current_object(self) -> tuple[str, str] | None:
        """Return the first pod of the group."""
        return ("Pod", self.current.group.first.key) if self.current is not None else None

    def meant_group(self) -> PendingGroup | None:
        """Return the pods under the cursor."""
        return self.current.group if self.current is not None else None

    def action_explain_why(self) -> None:
        """Show why nothing takes the pods."""
        self.table.action_select()

    @on(RowSelected)
    def _selected(self, event: RowSelected) -> None:
        event.stop()
        if self.current is not None:
            from karptui.screens.pending_detail import PendingDetailScreen  # noqa: PLC0415 - only when asked for

            self.app.push_screen(PendingDetailScreen(self.current.group.first.key))
