"""One pending pod: NodePools against Karpenter's gates, the nodes tried, what was said, and what would help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.content import Content

from karptui.pending.groups import PendingGroup
from karptui.screens.object_text import ObjectKeys
from karptui.screens.panel_screen import PanelScreen
from karptui.screens.pending_ledger import PendingLedger
from karptui.screens.text import TextScreen
from karptui.session.analyst import Focus
from karptui.session.cluster_view import ClusterView
from karptui.session.pending_report import PodDetail
from karptui.views.pending.explained import explained_lines, remedies_sentence, title_text
from karptui.views.pending.freshness import hears_events, pending_freshness
from karptui.views.pending.remedy_table import TABLE, RemedyEntry, remedy_entries, remedy_words
from karptui.views.pending.remedy_text import remedy_text
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.table import Rows
from karptui.widgets.row_table import RowSelected

if TYPE_CHECKING:
    from karptui.views.whatif.opening import Opening


class PendingDetailScreen(PendingLedger, ObjectKeys, PanelScreen[RemedyEntry]):
    """Why nothing takes a pod, above the changes that would help."""

    BINDINGS: ClassVar[list[BindingType]] = [
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

    panel_name = "pending"

    def __init__(self, pod_key: str) -> None:
        """Make the screen.

        Args:
            pod_key: ``namespace/name`` of a pod that waits.
        """
        super().__init__(TABLE)
        self._pod_key = pod_key
        self._group: PendingGroup | None = None
        self._detail: PodDetail | None = None
        self._made: tuple[object, tuple[RemedyEntry, ...]] = (None, ())

    def show_state(self) -> None:
        """Show what is known of the pod, or what has become of it."""
        self.host.look_at(Focus(wants_pending=True, pod=self._pod_key))
        view, now_ns = self.host.view, self.host.now_ns()
        report = view.pending
        if report is not None:
            self._group = report.by_pod.get(self._pod_key) or self._group
            if report.detail is not None and report.detail.pod_key == self._pod_key:
                self._detail = report.detail
        gone = self._gone(view)
        said: tuple[Pieces, ...] = (gone, ()) if gone else ()
        if self._group is not None:
            self._title_panel(title_text(self._group, now_ns))
            said = (
                *said,
                *explained_lines(
                    self._group,
                    self._detail,
                    view.state,
                    now_ns=now_ns,
                    width=max(self.lines.content_size.width, 40),
                    hears_events=hears_events(view),
                ),
            )
        elif not gone:
            said = (pending_freshness(view, now_ns),)
        self.lines.set_hanging(said)
        super().show_state()

    def _gone(self, view: ClusterView) -> Pieces:
        """Return what has become of the pod since it waited, nothing while it waits."""
        pod = view.state.pods.get(self._pod_key)
        if pod is None:
            return ((f"the pod {clean(self._pod_key)} is gone; this is what it waited for", Tone.FAULT),)
        if pod.node_name in view.state.nodes:
            return ((f"the pod has found its place on {clean(pod.node_name)}", Tone.GOOD),)
        return ()

    def _title_panel(self, title: str) -> None:
        if title != getattr(self, "_panel_title", None):
            self._panel_title = title
            self.panel.border_title = Content(f" {title} ")

    # The changes

    def items_of(self, view: ClusterView) -> Sequence[RemedyEntry]:  # noqa: ARG002 - shown is what was found last
        """Return the changes that help."""
        report = self._detail.remedies if self._detail is not None else None
        if self._made[0] is not report:
            self._made = (report, remedy_entries(report))
        return self._made[1]

    def size_of(self, view: ClusterView) -> int:
        """Return how many there are."""
        return len(self.items_of(view))

    def _apply(self, rows: Rows[RemedyEntry]) -> None:
        super()._apply(rows)
        if not rows.total:
            report = self._detail.remedies if self._detail is not None else None
            text, tone = remedies_sentence(report)
            if report is None:
                waits = self._detail is None and not self._gone(self.host.view)
                text, tone = ("being worked out", Tone.ACTIVE) if waits else ("there is nothing to try", Tone.MUTED)
            notes = () if report is None else report.left_out
            self.table.set_placeholder((text, tone), *((clean(note), Tone.MUTED) for note in notes))

    def explain(self) -> Pieces:
        """Say how far the changes have been tried, and what the one under the cursor is about."""
        report = self._detail.remedies if self._detail is not None else None
        if report is None:
            return pending_freshness(self.host.view, self.host.now_ns())
        pieces = (remedies_sentence(report), *((f" · {clean(note)}", Tone.MUTED) for note in report.left_out))
        item = self.current
        if item is None or self._group is None:
            return pieces
        return (*pieces, (f" · {remedy_words(item.remedy, self._group.name)}", Tone.NORMAL))

    def explain_item(self, item: RemedyEntry) -> Pieces:  # noqa: ARG002 - the line says what holds for all
        """Return the same."""
        return self.explain()

    def name_of(self, item: RemedyEntry) -> str:
        """Return the change in a line."""
        return remedy_words(item.remedy, self._group.name if self._group is not None else "")

    def current_object(self) -> tuple[str, str] | None:
        """Return the pod."""
        return ("Pod", self._pod_key)

    def meant_group(self) -> PendingGroup | None:
        """Return the pods that are explained."""
        return self._group

    def whatif_opening(self) -> Opening:
        """Return the change under the cursor; the pod alone where there is none."""
        from karptui.views.whatif.opening import Opening  # noqa: PLC0415 - brings the engines with it

        item = self.current
        if item is None:
            return super().whatif_opening()
        return Opening(clean(item.remedy.words)[:60], edits=item.remedy.edits)

    @on(RowSelected)
    def _selected(self, event: RowSelected) -> None:
        event.stop()
        item, group = self.current, self._group
        if item is None or group is None:
            return
        text = remedy_text(item.remedy, group.name, group.origin, try_key=self.key_of("screen.whatif", "ctrl+t"))

        async def fetch() -> str:
            return text

        self.app.push_screen(TextScreen(remedy_words(item.remedy, group.name), fetch))

    def action_nodes(self) -> None:
        """Show every node with the reason why it does not take the pod."""
        explanation = self._detail.explanation if self._detail is not None else None
        if explanation is None:
            self.say("the nodes have not been tried for this pod")
            return
        from karptui.screens.pending_nodes import PendingNodesScreen  # noqa: PLC0415 - only when asked for

        self.app.push_screen(PendingNodesScreen(self._group.name if self._group is not None else "", explanation))

    def action_scroll_panel(self, pages: int) -> None:
        """Scroll the explanation."""
        self.panel.scroll_relative(y=pages * max(self.panel.size.height - 1, 1), animate=False)
