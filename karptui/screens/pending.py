"""The Pending screen: pods that wait for a node, and what Karpenter, the scheduler and the engine say of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from textual.binding import Binding, BindingType

from karptui.pending.groups import PendingGroup
from karptui.pending.nearest import furthest
from karptui.screens import routes
from karptui.screens.frame import FrameScreen, HelpSections
from karptui.screens.list_screen import ListScreen
from karptui.screens.row_sources import Asked
from karptui.session.border import Focus
from karptui.session.pending_report import PendingEntry
from karptui.views.pending.columns import TABLE
from karptui.views.pending.sentences import CAUSE_HELP, pending_freshness, pending_sentences
from karptui.views.row import Pieces, Tone
from karptui.views.table import Rows

OPEN_LEDGER: Final = Binding(
    "t", "open_ledger", "Ledger", id="pending.ledger", tooltip="Where the memory of the nearest type goes"
)
NO_TYPE: Final = "no instance type came near these pods: enter says which gate stopped them"


def show_nearest_ledger(screen: FrameScreen, group: PendingGroup | None) -> None:
    """Hold pods against the type that comes nearest, in the NodePool that comes nearest.

    Args:
        screen: where it is asked for.
        group: the pods that are meant.
    """
    explanation = group.explanation if group is not None else None
    pool = furthest(explanation) if explanation is not None else None
    if group is None or pool is None or pool.nearest is None:
        screen.say(NO_TYPE, Tone.MUTED)
    else:
        keys = tuple(pod.key for pod in group.pods)
        routes.show_ledger(screen, pool.nodepool, pool.nearest.instance_type, keys)


class PendingScreen(ListScreen[PendingEntry]):
    """Pending pods, folded by cause."""

    BINDINGS: ClassVar[list[BindingType]] = [
        OPEN_LEDGER,
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
        super().__init__(TABLE, Asked("pending"), story=self.story_of, is_story_hanging=True)

    def show_state(self) -> None:
        """Ask for an answer, and show the newest there is."""
        self.host.look_at(Focus(asks_pending=True))
        super().show_state()

    def placeholder(self, rows: Rows[PendingEntry]) -> Pieces:
        """Say how far the answer is while pods wait and nothing is known of them."""
        overview = self.host.border.overview()
        if not rows.total and overview.pending is None and overview.counts["pending"]:
            return pending_freshness(overview, self.host.now_ns())[:1]
        return super().placeholder(rows)

    def story_of(self, item: PendingEntry) -> tuple[Pieces, ...]:
        """Return why the pods wait and who said what."""
        return pending_sentences(item, self.host.now_ns())

    def help_text(self) -> HelpSections:
        """Explain what pods wait for beside columns and filters."""
        return (("Computed now", CAUSE_HELP), *super().help_text())

    def explain(self) -> Pieces:
        """Say how fresh it is."""
        return pending_freshness(self.host.border.overview(), self.host.now_ns())

    def name_of(self, item: PendingEntry) -> str:
        """Return the name of the first pod."""
        return item.group.first.name

    def current_object(self) -> tuple[str, str] | None:
        """Return the first pod of the group."""
        return ("Pod", self.current.group.first.key) if self.current is not None else None

    def action_open_ledger(self) -> None:
        """Hold the pods under the cursor against the type that comes nearest."""
        show_nearest_ledger(self, self.current.group if self.current is not None else None)

    def action_explain_why(self) -> None:
        """Show why nothing takes the pods."""
        self.table.action_select()

    def open_row(self, item: PendingEntry) -> None:
        """Show the first of the pods at length."""
        routes.show_pending(self, item.group.first.key)
