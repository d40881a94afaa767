"""One pending pod: NodePools against Karpenter's gates, what was said, what would help, and the nodes tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from karptui.pending.groups import PendingGroup
from karptui.provisioning import NodeRefusal, PodExplanation
from karptui.screens import routes
from karptui.screens.list_screen import ListScreen
from karptui.screens.listing import Kept
from karptui.screens.panel import Panel
from karptui.screens.pending import OPEN_LEDGER, show_nearest_ledger
from karptui.screens.row_sources import MadeRows
from karptui.session.border import Focus, ObjectWanted
from karptui.session.cluster_view import ClusterView
from karptui.session.pending_entries import hears_events
from karptui.session.pending_report import PodDetail
from karptui.views.pending.explained import explained_lines, remedies_sentence, title_text
from karptui.views.pending.gates import NODES_TABLE as NODES
from karptui.views.pending.gates import refusals_text
from karptui.views.pending.remedies import TABLE, RemedyEntry, remedy_entries, remedy_text, remedy_words
from karptui.views.pending.sentences import pending_freshness
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.table import Rows

if TYPE_CHECKING:
    from karptui.whatif.opening import Opening


class PendingDetailScreen(ListScreen[RemedyEntry]):
    """Why nothing takes a pod, above the changes that would help."""

    BINDINGS: ClassVar[list[BindingType]] = [
        OPEN_LEDGER,
        Binding(
            "n", "nodes", "Nodes tried", id="pending.nodes", tooltip="Every node, and why it does not take the pod"
        ),
        Binding("pagedown", "scroll_panel(1)", "Scroll", show=False, id="pending.down"),
        Binding("pageup", "scroll_panel(-1)", "Scroll back", show=False, id="pending.up"),
    ]

    entry_name = "pending"
    is_explanation = True
    title_text = "What would help"
    consequences: ClassVar[Mapping[str, str]] = {"Event": "What Karpenter and the scheduler said is not known."}

    def __init__(self, pod_key: str) -> None:
        """Make the screen.

        Args:
            pod_key: ``namespace/name`` of a pod that waits.
        """
        self.panel = Panel("pending")
        super().__init__(TABLE, MadeRows(self._changes), above=(self.panel,))
        self._pod_key = pod_key
        self._group: PendingGroup | None = None
        self._detail: PodDetail | None = None
        self._remedies: Kept[tuple[RemedyEntry, ...]] = Kept()

    def show_state(self) -> None:
        """Show what is known of the pod, or what has become of it."""
        self.host.look_at(Focus(asks_pending=True, pod=self._pod_key))
        view, now_ns = self.host.view, self.host.now_ns()
        report = view.pending
        if report is not None:
            self._group = report.by_pod.get(self._pod_key) or self._group
            if report.detail is not None and report.detail.pod_key == self._pod_key:
                self._detail = report.detail
        gone = self._gone(view)
        said: tuple[Pieces, ...] = (gone, ()) if gone else ()
        if self._group is not None:
            self.panel.show_title(Content(f" {title_text(self._group, now_ns)} "))
            said = (
                *said,
                *explained_lines(
                    self._group,
                    self._detail,
                    view.state,
                    now_ns=now_ns,
                    width=max(self.panel.lines.content_size.width, 40),
                    hears_events=hears_events(view),
                ),
            )
        elif not gone:
            said = (pending_freshness(self.host.border.overview(), now_ns),)
        self.panel.lines.set_hanging(said)
        super().show_state()

    def _gone(self, view: ClusterView) -> Pieces:
        """Return what has become of the pod since it waited, nothing while it waits."""
        pod = view.state.pods.get(self._pod_key)
        if pod is None:
            return ((f"the pod {clean(self._pod_key)} is gone; this is what it waited for", Tone.FAULT),)
        if pod.node_name in view.state.nodes:
            return ((f"the pod has found its place on {clean(pod.node_name)}", Tone.GOOD),)
        return ()

    # The changes

    def _changes(self) -> Sequence[RemedyEntry]:
        """Return the changes that help, as they were found last."""
        report = self._detail.remedies if self._detail is not None else None
        return self._remedies.get((report,), lambda: remedy_entries(report))

    def placeholder(self, rows: Rows[RemedyEntry]) -> Pieces:
        """Say why nothing helps, or how far the changes have been tried."""
        if rows.total:
            return super().placeholder(rows)
        report = self._detail.remedies if self._detail is not None else None
        if report is not None:
            return (remedies_sentence(report), *((clean(note), Tone.MUTED) for note in report.left_out))
        waits = self._detail is None and not self._gone(self.host.view)
        return (("being worked out", Tone.ACTIVE) if waits else ("there is nothing to try", Tone.MUTED),)

    def explain(self) -> Pieces:
        """Say how far the changes have been tried, and what the one under the cursor is about."""
        report = self._detail.remedies if self._detail is not None else None
        if report is None:
            return pending_freshness(self.host.border.overview(), self.host.now_ns())
        pieces = (remedies_sentence(report), *((f" · {clean(note)}", Tone.MUTED) for note in report.left_out))
        item = self.current
        if item is None or self._group is None:
            return pieces
        return (*pieces, (f" · {remedy_words(item.remedy, self._group.name)}", Tone.NORMAL))

    def name_of(self, item: RemedyEntry) -> str:
        """Return the change in a line."""
        return remedy_words(item.remedy, self._group.name if self._group is not None else "")

    def current_object(self) -> tuple[str, str] | None:
        """Return the pod."""
        return ("Pod", self._pod_key)

    def whatif_opening(self) -> Opening:
        """Return the change under the cursor; the pod alone where there is none."""
        from karptui.whatif.opening import Opening  # noqa: PLC0415 - brings the engines with it

        item = self.current
        if item is None:
            return super().whatif_opening()
        return Opening(clean(item.remedy.words)[:60], edits=item.remedy.edits, is_new=True)

    def open_row(self, item: RemedyEntry) -> None:
        """Show the change as it could be made."""
        group = self._group
        if group is not None:
            text = remedy_text(item.remedy, group.name, group.origin, try_key=self.key_of("screen.whatif", "ctrl+t"))
            routes.show_made_text(self, remedy_words(item.remedy, group.name), lambda: text)

    def action_open_ledger(self) -> None:
        """Hold the pods against the type that comes nearest."""
        show_nearest_ledger(self, self._group)

    def action_nodes(self) -> None:
        """Show every node with the reason why it does not take the pod."""
        explanation = self._detail.explanation if self._detail is not None else None
        if explanation is None:
            self.say("the nodes have not been tried for this pod")
            return
        self.app.push_screen(PendingNodesScreen(self._group.name if self._group is not None else "", explanation))

    def action_scroll_panel(self, step: int) -> None:
        """Scroll the explanation by what is seen of it."""
        self.panel.scroll_page(step)


class PendingNodesScreen(ListScreen[NodeRefusal]):
    """Nodes tried; as things stood when the pod was explained."""

    entry_name = "pending"
    title_text = "Nodes tried"

    def __init__(self, name: str, explanation: PodExplanation) -> None:
        """Make the screen.

        Args:
            name: Of the pods.
            explanation: Why nothing takes them.
        """
        super().__init__(NODES, MadeRows(lambda: explanation.nodes))
        self._title_name = name
        self._explanation = explanation

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

    def open_row(self, item: NodeRefusal) -> None:
        """Show the node at length."""
        found = self.host.border.object(ObjectWanted(kind="Node", key=item.node))
        if not found.node_key:
            self.say(f"node {clean(item.node)} is not there any more")
        else:
            routes.show_node(self, found.node_key)
