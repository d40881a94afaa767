"""The Nodes screen; its columns are in ``views/nodes/columns.py``."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

import msgspec
from textual import work
from textual.binding import Binding, BindingType

from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import counted
from karptui.remembered import remember
from karptui.screens.destinations import ToLedger, ToNode
from karptui.screens.frame import MANY_NODES, HelpSections
from karptui.screens.list_screen import ListScreen
from karptui.screens.listing import Kept
from karptui.screens.row_sources import SessionList
from karptui.session.answers import Focus
from karptui.session.nodes import NodeEntry
from karptui.views.instants import why_unknown
from karptui.views.last_hour import last_hour_words
from karptui.views.nodes.columns import nodes_spec, nodes_table
from karptui.views.nodes.sentences import (
    cluster_facts,
    explain_node,
    marked_scope,
    node_details,
    node_reason,
    shown_scope,
)
from karptui.views.row import Pieces, Tone
from karptui.views.table import Rows, Sort
from karptui.views.top_bar import Fact, TopBarValues
from karptui.views.verdict.lines import Room, VerdictPage, verdict_pages
from karptui.views.verdict.sentence import sentence
from karptui.views.why.labels import legend
from karptui.widgets.sentences import Sentences

if TYPE_CHECKING:
    from karptui.verdict.finding import ClusterFinding

FEW: Final = Room(findings=3, lines=5)
"""Size of the verdict on small terminals."""
MORE: Final = Room(findings=5, lines=8)
ROOMY: Final = 32
"""Terminal height from which the verdict is larger, in lines."""
BESIDE: Final = 12
"""Lines that are left to the table and the frame while the verdict is read page by page."""
HOUR_STANDS_NS: Final = 15 * NS_PER_SECOND
"""Interval between updates of the last hour in the title."""


class NodesScreen(ListScreen[NodeEntry]):
    """Nodes and NodeClaims with the reason each is still here."""

    shows_worst: ClassVar[bool] = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "open_pods", "Pods of the node", show=False, id="nodes.pods"),
        Binding("e", "explain_why", "Explain", id="nodes.explain", tooltip="Why the node is still here, in full"),
        Binding(
            "z", "open_capacity", "Capacity", show=False, id="nodes.capacity", tooltip="Capacity by zone, pool and type"
        ),
        Binding("p", "open_packing", "Packing", show=False, id="nodes.packing", tooltip="A picture of nodes and pods"),
        Binding("v", "verdict", "Verdict", show=False, id="nodes.verdict", tooltip="The other findings of the verdict"),
        Binding(
            "t", "open_ledger", "Ledger", show=False, id="nodes.ledger", tooltip="The memory of its type, item by item"
        ),
    ]

    entry_name = "nodes"
    title_text = "Nodes"
    kind = "Node"
    consequences: ClassVar[Mapping[str, str]] = {
        "Node": "Without nodes only NodeClaims are shown.",
        "Pod": "Requests and pod counts need it; nodes are shown without.",
        "NodeClaim": "Starting nodes and blockers need it.",
        "NodePool": "Blockers need it.",
    }

    def __init__(self) -> None:
        self.verdict = Sentences(id="verdict")
        super().__init__(nodes_table(), SessionList("nodes"), above=(self.verdict,))
        self._page = 0
        """Of the verdict: the worst findings, then all of them page by page."""
        self._verdict_page = VerdictPage((), 0)
        """The page that is shown."""
        self._hour = ""
        """How many nodes there were over the last hour, in a few words."""
        self._hour_ns = 0
        """Time of the last update."""
        self._sums: Kept[tuple[Fact, ...]] = Kept()
        """The figures in the top bar, when they are not of all nodes."""

    def prepare(self) -> None:
        config = self.host.config
        if config.extra_labels or config.disable_pricing or config.resources:
            self.use_table(nodes_spec(config))
        column, is_descending = config.order()
        has_column = any(heading.id == column for heading in self.listing.spec.headings())
        self.listing.sort = Sort(column, is_descending) if has_column else Sort("status")
        if config.node_selector:
            self.listing.query_text = f"-l '{config.node_selector}'"
        super().prepare()

    # Rows

    def show_state(self) -> None:
        """Show the nodes, and have those in view analysed first."""
        super().show_state()
        self._show_verdict()
        claims = self.host.session.overview().statuses.get("NodeClaim")
        is_known = claims is not None and claims.phase not in ("connecting", "syncing")
        if is_known and not 0 <= self.host.now_ns() - self._hour_ns < HOUR_STANDS_NS:
            self._hour_ns = self.host.now_ns()
            self.call_after_refresh(self._ask_hour)  # the first rows wait for no engine
        is_waiting = self.host.session.overview().counts["pending"] > 0
        self.host.cluster.look_at(Focus(keys=self.table.visible_keys, asks_pending=is_waiting))

    def on_resize(self) -> None:
        if self.listing.rows is not None:
            self._show_verdict()

    def _show_verdict(self) -> None:
        """Show as many findings as fit, or all of them."""
        if self.host.session.overview().sizes["nodes"] >= MANY_NODES:
            # Going through thousands of nodes takes longer than a key should wait.
            self._ask_verdict()
        else:
            self._show_findings(self.host.session.verdict(self.host.now_ns()))

    @work(group="verdict", exclusive=True)
    async def _ask_verdict(self) -> None:
        self._show_findings(await asyncio.to_thread(self.host.session.verdict, self.host.now_ns()))

    @work(group="hour", exclusive=True)
    async def _ask_hour(self) -> None:
        counts = await asyncio.to_thread(self.host.session.last_hour, self._hour_ns)
        self._hour = last_hour_words(counts)
        self.show_title()

    def _show_findings(self, findings: Sequence[ClusterFinding]) -> None:
        now_ns = self.host.now_ns()
        self.verdict.display = bool(findings)
        if not findings:
            return
        few = FEW if self.size.height < ROOMY else MORE
        many = Room(len(findings), max(self.size.height - BESIDE, few.lines))
        reasons = self.host.session.pending_reasons()
        sentences = [(finding, sentence(finding, now_ns, reasons)) for finding in findings]
        pages = verdict_pages(sentences, self.size.width - 1, few, many)
        self._page %= len(pages)
        self._verdict_page = pages[self._page]
        self.verdict.set_lines(self._verdict_page.lines)
        self.show_title()

    def title_parts(self) -> Iterator[str]:
        """Yield the parts of the title: further findings, and the last hour."""
        yield from super().title_parts()
        if self._verdict_page.more or self._verdict_page.is_cut:
            more = counted(self._verdict_page.more, "more finding") if self._verdict_page.more else "findings in full"
            yield f"{self.key_of('nodes.verdict', 'v')}: {more}"
        if self._hour and not self.listing.query_text:
            yield self._hour

    def show_rows(self, rows: Rows[NodeEntry]) -> None:
        super().show_rows(rows)
        self.top_bar.values = self.top_bar_values()

    def marks_changed(self) -> None:
        self.top_bar.values = self.top_bar_values()

    def shows_usage(self) -> bool:
        """Whether live usage is to be seen: in the wide layout."""
        return self.table.is_wide

    # Words

    def top_bar_values(self) -> TopBarValues:
        """Return totals of the marked nodes, of the filtered nodes, or of all."""
        values, rows, marked = super().top_bar_values(), self.listing.rows, self.table.marked
        if rows is None or (len(rows) == rows.total and not marked):
            return values
        facts = self._sums.get((rows.items, marked), self._sum_up)
        return msgspec.structs.replace(values, facts=facts)

    def _sum_up(self) -> tuple[Fact, ...]:
        session, marked = self.host.session, self.table.marked
        row_set = self.asked.row_set if self.asked is not None else None
        if row_set is None:
            return ()
        totals = session.totals(row_set.number, marked or None)
        return cluster_facts(totals, marked_scope(totals) if marked else shown_scope(totals, session.overview().totals))

    def explain_item(self, item: NodeEntry) -> Pieces:
        """Return the node as text, and why it has no analysis if there is a reason."""
        now_ns, has_prices = self.host.now_ns(), not self.host.config.disable_pricing
        story = (
            explain_node(item, now_ns, has_prices=has_prices) if item.findings is None else node_reason(item, now_ns)
        )
        if item.node is None or not item.is_managed or item.findings is not None:
            return story
        missing = why_unknown(self.host.session.overview())
        return ((missing, Tone.WARNING), (" · ", Tone.MUTED), *story) if missing else story

    def row_facts(self) -> Sequence[Pieces]:
        """Return the values of columns that do not fit, and further facts about the node."""
        item, facts = self.current, super().row_facts()
        if item is None or item.findings is None:
            return facts
        details = node_details(item, has_prices=not self.host.config.disable_pricing)
        return (*facts, *((detail,) for detail in details))

    def name_of(self, item: NodeEntry) -> str:
        return item.name

    def object_of(self, item: NodeEntry) -> tuple[str, str]:
        return ("Node", item.name) if item.node is not None else ("NodeClaim", item.name)

    def help_text(self) -> HelpSections:
        columns, *others = super().help_text()
        return (("Labels of WHY, worst first", legend()), columns, *others)

    # Keys

    def action_open_capacity(self) -> None:
        self.host.run_command("capacity")

    def action_open_packing(self) -> None:
        self.host.run_command("packing")

    def action_verdict(self) -> None:
        """Show the next findings above the table, and after the last the worst again."""
        self._page += 1
        self._show_verdict()

    def action_sort(self, column_id: str) -> None:
        """Sort by a column, and remember that for the next start."""
        super().action_sort(column_id)
        sort = self.listing.sort
        remember("node_sort", f"{sort.column_id}={'dsc' if sort.is_descending else 'asc'}")

    def open_row(self, item: NodeEntry) -> None:
        self.host.go(ToNode(item.key))

    def action_explain_why(self) -> None:
        self.table.action_select()

    def action_open_ledger(self) -> None:
        item = self.current
        if item is None or not item.pool or not item.instance_type:
            self.say("no NodePool, or no instance type yet: there is no ledger", Tone.MUTED)
        else:
            self.host.go(ToLedger(item.pool, item.instance_type))

    def action_open_pods(self) -> None:
        item = self.current
        if item is not None and item.node is not None:
            self.host.open_screen("pods", filter_text=f"node={item.name}")
