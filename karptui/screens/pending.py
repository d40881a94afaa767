"""The Pending screen: groups of pending pods with their reasons, and one group in detail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from textual.binding import Binding, BindingType
from textual.content import Content

from karptui.pending.groups import PendingGroup
from karptui.provisioning.explain import PodExplanation
from karptui.provisioning.nearest import furthest
from karptui.provisioning.node_refusal import NodeRefusal
from karptui.screens import routes
from karptui.screens.destinations import ToLedger, ToNode, ToPending
from karptui.screens.frame import FrameScreen, HelpSections
from karptui.screens.list_screen import ListScreen
from karptui.screens.listing import HEADROOM, Kept
from karptui.screens.row_sources import OwnRows, SessionList
from karptui.session.answers import Focus, PendingPod
from karptui.session.pending_report import PendingEntry, PodDetail, PodSurroundings
from karptui.views.pending.columns import TABLE
from karptui.views.pending.explained import explained_lines, title_text
from karptui.views.pending.rejections import NODES_TABLE as NODES
from karptui.views.pending.rejections import refusals_text
from karptui.views.pending.remedies import (
    REMEDIES,
    RemedyEntry,
    remedies_sentence,
    remedy_entries,
    remedy_text,
    remedy_words,
)
from karptui.views.pending.sentences import CAUSE_HELP, pending_freshness, pending_sentences
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.table import Rows
from karptui.whatif.scenario import Opening
from karptui.widgets.titled_pane import Panel

OPEN_LEDGER: Final = Binding(
    "t", "open_ledger", "Ledger", id="pending.ledger", tooltip="The memory of the closest type, item by item"
)
NO_TYPE: Final = "no instance type is close: enter shows the rule that excluded them"


def _show_nearest_ledger(screen: FrameScreen, group: PendingGroup | None) -> None:
    """Show the memory of the closest type in the closest NodePool, compared with some pods."""
    explanation = group.explanation if group is not None else None
    pool = furthest(explanation) if explanation is not None else None
    if group is None or pool is None or pool.nearest is None:
        screen.say(NO_TYPE, Tone.MUTED)
    else:
        keys = tuple(pod.key for pod in group.pods)
        screen.host.go(ToLedger(pool.nodepool, pool.nearest.instance_type, keys))


class PendingScreen(ListScreen[PendingEntry]):
    """Pending pods, folded by cause."""

    BINDINGS: ClassVar[list[BindingType]] = [
        OPEN_LEDGER,
        HEADROOM,
        Binding(
            "e",
            "explain_why",
            "Explain",
            id="pending.explain",
            tooltip="Why they are unschedulable, and what would help",
        ),
    ]

    entry_name = "pending"
    title_text = "Pending"
    kind = "Pod"
    consequences: ClassVar[Mapping[str, str]] = {
        "Pod": "Without pods there is nothing to show.",
        "NodePool": "The causes of pending pods need it.",
        "Node": "The causes of pending pods need it.",
        "Event": "Messages of Karpenter and kube-scheduler are unknown.",
    }

    def __init__(self) -> None:
        super().__init__(TABLE, SessionList("pending"), story=self.story_of, is_story_hanging=True)

    def show_state(self) -> None:
        """Ask for an answer, and show the newest there is."""
        self.host.cluster.look_at(Focus(asks_pending=True))
        super().show_state()

    def placeholder(self, rows: Rows[PendingEntry]) -> Pieces:
        """Return the progress if there are pending pods and none is analysed."""
        overview = self.host.session.overview()
        if not rows.total and overview.pending is None and overview.counts["pending"]:
            return pending_freshness(overview, self.host.now_ns())[:1]
        return super().placeholder(rows)

    def awaits_rows(self) -> bool:
        overview = self.host.session.overview()
        is_looked_into = bool(overview.counts["pending"]) and not overview.is_out_of_reach
        return is_looked_into or super().awaits_rows()

    def story_of(self, item: PendingEntry) -> tuple[Pieces, ...]:
        return pending_sentences(item)

    def help_text(self) -> HelpSections:
        return (("Computed now", CAUSE_HELP), *super().help_text())

    def on_resize(self) -> None:
        self.refresh_info()

    def explain(self) -> Pieces:
        return pending_freshness(self.host.session.overview(), self.host.now_ns())

    def name_of(self, item: PendingEntry) -> str:
        return item.group.first.name

    def object_of(self, item: PendingEntry) -> tuple[str, str]:
        return "Pod", item.group.first.key

    def action_open_ledger(self) -> None:
        _show_nearest_ledger(self, self.current.group if self.current is not None else None)

    def action_explain_why(self) -> None:
        self.table.action_select()

    def open_row(self, item: PendingEntry) -> None:
        self.host.go(ToPending(item.group.first.key))


class PendingDetailScreen(ListScreen[RemedyEntry]):
    """Why nothing takes a pod, above the changes that would help."""

    BINDINGS: ClassVar[list[BindingType]] = [
        OPEN_LEDGER,
        Binding("x", "nodes", "Nodes tried", id="pending.nodes", tooltip="Every node, and why the pod does not fit"),
        Binding("pagedown", "scroll_panel(1)", "Scroll", show=False, id="pending.down"),
        Binding("pageup", "scroll_panel(-1)", "Scroll back", show=False, id="pending.up"),
    ]

    entry_name = "pending"
    is_explanation = True
    title_text = "What would help"
    consequences: ClassVar[Mapping[str, str]] = {"Event": "Messages of Karpenter and kube-scheduler are unknown."}

    def __init__(self, pod_key: str) -> None:
        self.panel = Panel("pending")
        super().__init__(REMEDIES, OwnRows(self._changes), above=(self.panel,))
        self._pod_key = pod_key
        self._group: PendingGroup | None = None
        self._detail: PodDetail | None = None
        self._pending_pod: PendingPod | None = None
        self._around = PodSurroundings()
        self._remedies: Kept[tuple[RemedyEntry, ...]] = Kept()

    def show_state(self) -> None:
        self.host.cluster.look_at(Focus(asks_pending=True, pod=self._pod_key))
        now_ns = self.host.now_ns()
        pod = self._pending_pod = self.host.session.pending_pod(self._pod_key)
        self._group = pod.group or self._group
        self._detail = pod.detail or self._detail
        if pod.exists or pod.group is not None:
            self._around = pod.around
        gone = self._why_not_pending()
        pieces: tuple[Pieces, ...] = (gone, ()) if gone else ()
        if self._group is not None:
            self.panel.show_title(Content(f" {title_text(self._group, now_ns)} "))
            pieces = (
                *pieces,
                *explained_lines(
                    self._group,
                    self._detail,
                    self._around,
                    now_ns=now_ns,
                    width=max(self.panel.lines.content_size.width, 40),
                    may_list_events=pod.may_list_events,
                ),
            )
        elif not gone:
            pieces = (pending_freshness(self.host.session.overview(), now_ns),)
        self.panel.lines.set_hanging(pieces)
        super().show_state()

    def _why_not_pending(self) -> Pieces:
        """Return whether the pod was scheduled or deleted since; empty while it is pending."""
        pod = self._pending_pod
        if pod is None:
            return ()
        if not pod.exists:
            return ((f"the pod {clean(self._pod_key)} is gone; this is why it was pending", Tone.FAULT),)
        if pod.node_name:
            return ((f"the pod is scheduled to {clean(pod.node_name)}", Tone.GOOD),)
        return ()

    # The changes

    def _changes(self) -> Sequence[RemedyEntry]:
        report = self._detail.remedies if self._detail is not None else None
        return self._remedies.get((report,), lambda: remedy_entries(report))

    def placeholder(self, rows: Rows[RemedyEntry]) -> Pieces:
        """Return the reason that no change helps, or the progress of the trials."""
        if rows.total:
            return super().placeholder(rows)
        report = self._detail.remedies if self._detail is not None else None
        if report is not None:
            return (remedies_sentence(report), *((clean(note), Tone.MUTED) for note in report.left_out))
        waits = self._detail is None and not self._why_not_pending()
        return (("computing…", Tone.ACTIVE) if waits else ("there is nothing to try", Tone.MUTED),)

    def explain(self) -> Pieces:
        """Return the progress of the trials, and the subject of the change under the cursor."""
        report = self._detail.remedies if self._detail is not None else None
        if report is None:
            return pending_freshness(self.host.session.overview(), self.host.now_ns())
        pieces = (remedies_sentence(report), *((f" · {clean(note)}", Tone.MUTED) for note in report.left_out))
        item = self.current
        if item is None or self._group is None:
            return pieces
        return (*pieces, (f" · {remedy_words(item.remedy, self._group.name)}", Tone.NORMAL))

    def name_of(self, item: RemedyEntry) -> str:
        return remedy_words(item.remedy, self._group.name if self._group is not None else "")

    def current_object(self) -> tuple[str, str] | None:
        return ("Pod", self._pod_key)

    def whatif_opening(self) -> Opening:
        """Return the change under the cursor, or the pod if there is none."""
        item = self.current
        if item is None:
            return super().whatif_opening()
        return Opening(clean(item.remedy.words)[:60], edits=item.remedy.edits, is_new=True)

    def open_row(self, item: RemedyEntry) -> None:
        if (group := self._group) is not None:
            text = remedy_text(item.remedy, group.name, group.origin, try_key=self.key_of("screen.whatif", "ctrl+t"))
            routes.show_made_text(self, remedy_words(item.remedy, group.name), lambda: text)

    def action_open_ledger(self) -> None:
        _show_nearest_ledger(self, self._group)

    def action_nodes(self) -> None:
        explanation = self._detail.explanation if self._detail is not None else None
        if explanation is None:
            self.say("the nodes have not been tried for this pod")
            return
        self.app.push_screen(PendingNodesScreen(self._group.name if self._group is not None else "", explanation))

    def action_scroll_panel(self, step: int) -> None:
        self.panel.scroll_page(step)


class PendingNodesScreen(ListScreen[NodeRefusal]):
    """The nodes that were tried for the pod, at the time it was explained."""

    entry_name = "pending"
    title_text = "Nodes tried"

    def __init__(self, name: str, explanation: PodExplanation) -> None:
        super().__init__(NODES, OwnRows(lambda: explanation.nodes))
        self._title_name = name
        self._explanation = explanation

    def explain_item(self, item: NodeRefusal) -> Pieces:
        """Return all nodes by reason, and the one under the cursor."""
        return (
            (f"{clean(self._title_name)}: {refusals_text(self._explanation)}", Tone.STRONG),
            (f" · {clean(item.reason)}", Tone.NORMAL),
        )

    def name_of(self, item: NodeRefusal) -> str:
        return item.node

    def object_of(self, item: NodeRefusal) -> tuple[str, str]:
        return "Node", item.node

    def open_row(self, item: NodeRefusal) -> None:
        node_key = self.host.session.node_key("Node", item.node)
        if not node_key:
            self.say(f"node {clean(item.node)} no longer exists")
        else:
            self.host.go(ToNode(node_key))
