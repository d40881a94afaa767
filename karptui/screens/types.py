"""The Types screen: NodePools folded to what each filter leaves, and the types of one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from textual.binding import Binding, BindingType

from karptui.screens import routes
from karptui.screens.list_screen import ListScreen
from karptui.screens.panel import Panel
from karptui.screens.row_sources import Asked
from karptui.session.facts import TypesAround
from karptui.session.offered_types import offered_types_of
from karptui.session.types import PoolEntry, TypeEntry
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.types.cells import why_text
from karptui.views.types.columns import types_table
from karptui.views.types.pools import TABLE, carries, note_of
from karptui.views.types.sentences import filter_lines, finding_lines, reason_lines, source_lines
from karptui.widgets.sentences import Sentences

WORKING: Final = ("working out which types a new node may have…", Tone.ACTIVE)
CONSEQUENCES: Final[Mapping[str, str]] = {
    "NodePool": "Which types a new node may have needs it.",
    "NodeClass": "Instance types are worked out from it.",
    "DaemonSet": "What a new node carries needs it.",
    "Pod": "Pods that wait need it.",
}


class PoolsOfTypesScreen(ListScreen[PoolEntry]):
    """Every NodePool with how many types each filter leaves."""

    entry_name = "types"
    title_text = "Types by NodePool"
    kind = "NodePool"
    consequences = CONSEQUENCES

    def __init__(self) -> None:
        self._origins = Sentences(id="types-lines")
        """Where types and prices come from."""
        super().__init__(TABLE, Asked("types"), below=(self._origins,))

    def prepare(self) -> None:
        """Say that it takes a moment."""
        self.table.set_placeholder(WORKING)
        super().prepare()

    def refresh_info(self) -> None:
        """Say again what is under the cursor, and where types and prices come from."""
        super().refresh_info()
        view = self.host.view
        lines = list(source_lines(None, view.evidence, view.prices))
        if self.listing.rows:
            lines += [((clean(note), Tone.MUTED),) for note in offered_types_of(view).nodeclasses.notes]
        self._origins.set_lines(lines)

    def explain_item(self, item: PoolEntry) -> Pieces:
        """Return what a pool's types come to."""
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
        """Return the NodePool's name."""
        return item.name

    def current_object(self) -> tuple[str, str] | None:
        """Return the NodePool."""
        return ("NodePool", self.current.name) if self.current is not None else None

    def open_row(self, item: PoolEntry) -> None:
        """Show the types of the NodePool."""
        self.app.push_screen(TypesOfPoolScreen(item.name))


class TypesOfPoolScreen(ListScreen[TypeEntry]):
    """The types of one NodePool, cheapest first, under what each filter has removed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "everything", "All types", id="types.all", tooltip="Also those that the requirements rule out"),
        Binding("p", "pool(1)", "Next pool", id="types.pool"),
        Binding("P", "pool(-1)", "Pool before", show=False, id="types.pool-before"),
        Binding("o", "nodes", "Nodes of the type", show=False, id="types.nodes"),
    ]

    entry_name = "types"
    kind = "NodePool"
    consequences = CONSEQUENCES

    def __init__(self, pool: str) -> None:
        """Make the screen.

        Args:
            pool: the NodePool.
        """
        self.panel = Panel("types", can_focus=True)
        super().__init__(types_table(), Asked("types of a pool", self._meant), above=(self.panel,))
        self._pool = pool
        self._shows_all = False

    @property
    def table_title(self) -> str:
        """What the table is called: the NodePool."""
        return f"Types of {clean(self._pool)}{' ─ all' if self._shows_all else ''}"

    def prepare(self) -> None:
        """Leave out prices where they are off."""
        if self.host.config.disable_pricing:
            self.use_table(types_table(has_prices=False))
        self.table.set_placeholder(WORKING)
        super().prepare()

    def _meant(self) -> str:
        """Return whose types: those that the requirements allow, or all."""
        return f"{'all' if self._shows_all else 'wanted'}/{self._pool}"

    def refresh_info(self) -> None:
        """Say again what is under the cursor, and what the filters have removed."""
        super().refresh_info()
        view, lines = self.host.view, self.panel.lines
        around = self.around(TypesAround)
        entry = around.pool if around is not None else None
        if entry is None:
            gone = f"there is no NodePool {clean(self._pool)}", Tone.WARNING
            lines.set_lines([(gone if self.listing.rows is not None else ("working it out…", Tone.ACTIVE),)])
            return
        said = [*filter_lines(entry), *finding_lines(entry), *reason_lines(entry)]
        lines.set_lines([*said, *source_lines(entry, view.evidence, view.prices)])

    def explain_item(self, item: TypeEntry) -> Pieces:
        """Return why a type is left or not."""
        if not item.is_left:
            return (("✘ ", Tone.FAULT), (f"{clean(item.name)}: {why_text(item)}", Tone.NORMAL))
        prices = [price for price in (item.on_demand, item.spot) if price is not None]
        origin = f" · {prices[0].origin.label}" if prices else " · no price is known"
        rank = f", price rank {item.verdict.rank}" if item.verdict.rank is not None else ""
        return (
            ("✔ ", Tone.GOOD),
            (f"{clean(item.name)} is left for a new node{rank}", Tone.NORMAL),
            (f"{origin} · enter shows where its memory goes", Tone.MUTED),
        )

    def name_of(self, item: TypeEntry) -> str:
        """Return the instance type."""
        return item.name

    def current_object(self) -> tuple[str, str] | None:
        """Return the NodePool."""
        return ("NodePool", self._pool)

    def action_everything(self) -> None:
        """Show also the types that the requirements rule out, or only those they allow."""
        self._shows_all = not self._shows_all
        self.show_state()

    def action_pool(self, step: int) -> None:
        """Go to the next NodePool, in the order in which Karpenter tries them."""
        around = self.around(TypesAround)
        names = around.names if around is not None else ()
        if not names:
            return
        index = names.index(self._pool) if self._pool in names else -step
        self._pool = names[(index + step) % len(names)]
        self.table.scroll_home(animate=False)
        self.show_state()

    def action_nodes(self) -> None:
        """Show the nodes of the type under the cursor."""
        if self.current is not None:
            self.host.open_screen("nodes", filter_text=f"type={self.current.name}")

    def open_row(self, item: TypeEntry) -> None:
        """Show where the memory of the type goes."""
        routes.show_ledger(self, self._pool, item.name)
