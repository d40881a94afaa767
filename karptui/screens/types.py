"""The Types screen: the filters of each NodePool, the types of one, and the memory of one type."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar, Final

from textual import getters, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from karptui.screens.destinations import ToLedger
from karptui.screens.frame import FrameScreen
from karptui.screens.list_screen import ListScreen
from karptui.screens.row_sources import SessionList
from karptui.session.answers import TypeReport, TypeSources
from karptui.session.facts import TypesAround
from karptui.session.types import AskingPod, PoolEntry, TypeEntry
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.types.columns import types_table, why_text
from karptui.views.types.ledger import Grid, account_lines, fit_lines, observed_lines, offering_grid, title_pieces
from karptui.views.types.pools import TABLE, carries, filter_lines, finding_lines, note_of, reason_lines
from karptui.widgets.sentences import TONE_STYLES, Sentences, phrase
from karptui.widgets.titled_pane import Panel

WORKING: Final = "computing the types of a new node…"
CONSEQUENCES: Final[Mapping[str, str]] = {
    "NodePool": "The types of a new node need it.",
    "NodeClass": "Instance types need it.",
    "DaemonSet": "The resources of a new node need it.",
    "Pod": "Pending pods need it.",
}


class TypesScreen(ListScreen[PoolEntry]):
    """Every NodePool with how many types each filter leaves."""

    entry_name = "types"
    title_text = "Types by NodePool"
    kind = "NodePool"
    working = WORKING
    consequences = CONSEQUENCES

    def __init__(self) -> None:
        self._origins = Sentences(id="types-lines")
        """Where types and prices come from."""
        super().__init__(TABLE, SessionList("types"), below=(self._origins,))

    def refresh_info(self) -> None:
        """Refresh the text about the row, and the sources of types and prices."""
        super().refresh_info()
        sources = self.host.session.type_sources()
        lines: list[Pieces] = [((sources.text, Tone.MUTED),)]
        if self.listing.rows:
            lines += [((clean(note), Tone.MUTED),) for note in sources.notes]
        self._origins.set_lines(lines)

    def explain_item(self, item: PoolEntry) -> Pieces:
        note, tone = note_of(item)
        if note:
            if item.findings and not item.problem:
                finding = item.findings[0]
                return ((clean(finding.fact), tone), (f" → {clean(finding.remedy)}", Tone.GOOD))
            return ((clean(note), tone),)
        text = carries(item)
        return (
            (f"{len(item.left)} types are left for a new node", Tone.NORMAL),
            (f" · {text}" if text else "", Tone.DAEMON),
        )

    def name_of(self, item: PoolEntry) -> str:
        return item.name

    def object_of(self, item: PoolEntry) -> tuple[str, str]:
        return "NodePool", item.name

    def open_row(self, item: PoolEntry) -> None:
        self.app.push_screen(TypesOfPoolScreen(item.name))


class TypesOfPoolScreen(ListScreen[TypeEntry]):
    """The types of one NodePool, cheapest first, with the number that each filter excludes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "everything", "All types", id="types.all", tooltip="Also types that the requirements exclude"),
        Binding("greater_than_sign", "pool(1)", "Next pool", key_display=">", id="types.pool"),
        Binding("less_than_sign", "pool(-1)", "Previous pool", key_display="<", show=False, id="types.pool-before"),
        Binding("o", "nodes", "Nodes of the type", show=False, id="types.nodes"),
    ]

    entry_name = "types"
    kind = "NodePool"
    working = WORKING
    consequences = CONSEQUENCES

    def __init__(self, pool: str) -> None:
        self.panel = Panel("types", can_focus=True)
        super().__init__(types_table(), SessionList("types of a pool", self._set_of_types), above=(self.panel,))
        self._pool = pool
        self._shows_all = False

    @property
    def table_title(self) -> str:
        return f"Types of {clean(self._pool)}{' ─ all' if self._shows_all else ''}"

    def prepare(self) -> None:
        if self.host.config.disable_pricing:
            self.use_table(types_table(has_prices=False))
        super().prepare()

    def _set_of_types(self) -> str:
        """Return the set of types: allowed by the requirements, or all."""
        return f"{'all' if self._shows_all else 'wanted'}/{self._pool}"

    def refresh_info(self) -> None:
        super().refresh_info()
        lines = self.panel.lines
        around = self.around(TypesAround)
        entry = around.pool if around is not None else None
        if entry is None:
            gone = f"there is no NodePool {clean(self._pool)}", Tone.WARNING
            lines.set_lines([(gone if self.listing.rows is not None else ("computing…", Tone.ACTIVE),)])
            return
        type_lines = [*filter_lines(entry), *finding_lines(entry), *reason_lines(entry)]
        sources = self.host.session.type_sources(self._pool)
        lines.set_lines([*type_lines, ((sources.text, Tone.MUTED),)])

    def explain_item(self, item: TypeEntry) -> Pieces:
        if not item.is_left:
            return (("✘ ", Tone.FAULT), (f"{clean(item.name)}: {why_text(item)}", Tone.NORMAL))
        prices = [price for price in (item.on_demand, item.spot) if price is not None]
        origin = f" · {prices[0].origin.label}" if prices else " · no price is known"
        rank = f", price rank {item.rank}" if item.rank is not None else ""
        return (
            ("✔ ", Tone.GOOD),
            (f"{clean(item.name)} is left for a new node{rank}", Tone.NORMAL),
            (f"{origin} · enter: its memory", Tone.MUTED),
        )

    def name_of(self, item: TypeEntry) -> str:
        return item.name

    def current_object(self) -> tuple[str, str] | None:
        return ("NodePool", self._pool)

    def action_everything(self) -> None:
        """Show also the types that the requirements rule out, or only those they allow."""
        self._shows_all = not self._shows_all
        self.show_state()

    def action_pool(self, step: int) -> None:
        around = self.around(TypesAround)
        names = around.names if around is not None else ()
        if not names:
            return
        index = names.index(self._pool) if self._pool in names else -step
        self._pool = names[(index + step) % len(names)]
        self.table.scroll_home(animate=False)
        self.show_state()

    def action_nodes(self) -> None:
        if self.current is not None:
            self.host.open_screen("nodes", filter_text=f"type={self.current.name}")

    def open_row(self, item: TypeEntry) -> None:
        """Show where the memory of the type goes."""
        self.host.go(ToLedger(self._pool, item.name))


class TypeLedgerScreen(FrameScreen):
    """The ledger of a type."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "greater_than_sign",
            "pod(1)",
            "Next pending pod",
            key_display=">",
            id="ledger.pod",
            tooltip="Compare another pod",
        ),
        Binding("less_than_sign", "pod(-1)", "Previous pod", key_display="<", show=False, id="ledger.pod-before"),
        Binding("plus", "neighbour(1)", "Next size", key_display="+", id="ledger.next", tooltip="The next larger type"),
        Binding("minus", "neighbour(-1)", "Previous size", key_display="-", show=False, id="ledger.before"),
        Binding("o", "nodes", "Nodes of the type", show=False, id="ledger.nodes"),
        Binding("j,down", "scroll(1)", "Down", show=False, id="ledger.down"),
        Binding("k,up", "scroll(-1)", "Up", show=False, id="ledger.up"),
    ]

    entry_name = "types"

    panel = getters.query_one("#ledger-panel", VerticalScroll)
    grid_lines = getters.query_one("#ledger-grid", Static)

    def __init__(self, pool: str, name: str, pods: Collection[str] = ()) -> None:
        super().__init__()
        self._pool_name = pool
        self._type_name = name
        self._set_of_types = frozenset(pods)
        self._report = TypeReport()
        self._sources: TypeSources | None = None
        self._is_building = False

    def compose_body(self) -> ComposeResult:
        with VerticalScroll(id="ledger-panel"):
            yield Sentences(id="ledger-account")
            yield Sentences(id="ledger-fit")
            yield Sentences(id="ledger-observed")
            yield Static(id="ledger-grid", markup=False)
            yield Sentences(id="ledger-sources")

    def on_mount(self) -> None:
        super().on_mount()
        self.panel.focus()

    def focus_body(self) -> None:
        self.panel.focus()

    def show_state(self) -> None:
        """Work the types out in a thread, then show them."""
        if not self._is_building:
            self._build()

    @work(group="ledger", exit_on_error=False)
    async def _build(self) -> None:
        self._is_building, question = True, None
        try:
            while question != self._question():
                question = self._question()
                session = self.host.session
                self._report = await asyncio.to_thread(session.instance_type, *question)
                self._sources = await asyncio.to_thread(session.type_sources, self._pool_name)
        finally:
            self._is_building = False
        if self.is_attached:
            self._show()
            self.refresh_info()

    def _question(self) -> tuple[str, str, frozenset[str]]:
        return self._pool_name, self._type_name, self._set_of_types

    @property
    def entry(self) -> TypeEntry | None:
        """The type; None if the pool does not offer it."""
        return self._report.entry

    @property
    def pod(self) -> AskingPod | None:
        """The pending pod that is held against the type: the largest at first."""
        return self._report.fit.pod if self._report.fit is not None else None

    def _show(self) -> None:
        pool, entry, sources = self._report.pool, self.entry, self._sources
        if pool is None or entry is None or sources is None:
            self.panel.border_title = Content(f" {clean(self._type_name)} ")
            self._section("account", [((f"NodePool {clean(self._pool_name)} has no such type", Tone.WARNING),)])
            return
        self.panel.border_title = phrase(title_pieces(pool, entry))
        self._section("account", account_lines(entry, self._report.fit, sources.overhead))
        self._section("fit", fit_lines(entry, self._report.fit))
        self._section("observed", observed_lines(pool, entry))
        grid = _grid_content(offering_grid(entry))
        if grid != self.grid_lines.content:
            self.grid_lines.update(grid)
        self._section("sources", (((sources.text, Tone.MUTED),),))

    def _section(self, name: str, lines: Sequence[Pieces]) -> None:
        self.query_one(f"#ledger-{name}", Sentences).set_lines(lines)

    def explain(self) -> Pieces:
        """Return the pod that is compared, and the number of pods."""
        pool, pod = self._report.pool, self.pod
        if pool is None or pod is None:
            return (("pods cannot request all of the advertised memory", Tone.MUTED),)
        others = f" · p: {len(pool.pods)} kinds of pending pods" if len(pool.pods) > 1 else ""
        held = f"compared with pending pod {clean(pod.namespace)}/{clean(pod.name)}"
        return ((held, Tone.NORMAL), (others, Tone.MUTED))

    def action_pod(self, step: int) -> None:
        pool, pod = self._report.pool, self.pod
        if pool is not None and pod is not None:
            index = pool.pods.index(pod) + step
            self._set_of_types = frozenset({pool.pods[index % len(pool.pods)].key})
            self.show_state()

    def action_neighbour(self, step: int) -> None:
        sizes = self._report.family
        if self._type_name not in sizes:
            return
        index = sizes.index(self._type_name) + step
        if 0 <= index < len(sizes):
            self._type_name = sizes[index]
            self.show_state()
        else:
            family = self._type_name.partition(".")[0]
            self.say(f"{family} has no {'larger' if step > 0 else 'smaller'} type here", Tone.MUTED)

    def action_nodes(self) -> None:
        self.host.open_screen("nodes", filter_text=f"type={self._type_name}")

    def action_scroll(self, step: int) -> None:
        self.panel.scroll_relative(y=step, animate=False)

    def help_text(self) -> Sequence[tuple[str, Sequence[tuple[str, str]]]]:
        return (
            (
                "The account",
                (
                    ("advertised", "memory of the type according to EC2"),
                    ("VM overhead", "VM_MEMORY_OVERHEAD_PERCENT, an estimate for the hypervisor"),
                    ("capacity", "used by Karpenter until a node of the type reports its own"),
                    ("kubeReserved", "reserved for kubelet and runtime: cpu by cores, memory 255Mi and 11Mi per pod"),
                    ("eviction", "memory below which the kubelet evicts pods"),
                    ("largest pod", "allocatable less the DaemonSets: requests decide, not usage"),
                ),
            ),
        )


def _grid_content(grid: Grid) -> Content:
    """Return the grid; unavailable offerings are struck out and marked."""
    if not grid.rows:
        return Content.styled("no offerings", TONE_STYLES[Tone.MUTED])
    widths = grid.widths
    head = "  ".join(f"{text:<{width}}" for text, width in zip(("zone", *grid.capacity_types), widths, strict=True))
    lines = [Content.styled(head.rstrip(), TONE_STYLES[Tone.MUTED])]
    for zone, squares in grid.rows:
        parts: list[Content] = [Content(f"{zone:<{widths[0]}}")]
        for square, width in zip(squares, widths[1:], strict=True):
            style = TONE_STYLES[square.tone]
            price = Content.styled(square.price, f"{style} strike".strip() if square.is_struck else style)
            words = Content.styled(f" {square.words}" if square.words else "", style)
            blank = " " * max(0, width - len(square.text))
            parts += [Content("  "), price, words, Content(blank)]
        lines.append(Content("").join(parts))
    return Content("\n").join(lines)
