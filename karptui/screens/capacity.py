"""Where capacity is: nodes, pods, free resources and cost by zone, NodePool or type; and a picture of all nodes."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from karptui.screens.frame import FrameScreen
from karptui.screens.list_screen import ListScreen
from karptui.screens.row_sources import SessionList
from karptui.session.answers import Focus
from karptui.session.capacity import GROUPINGS, CapacityEntry
from karptui.session.dollars import GROUPINGS as DOLLARS_BY
from karptui.session.dollars import Dollars, Payer
from karptui.session.packing import Packed
from karptui.views.capacity import NOUNS, capacity_sentence, capacity_table
from karptui.views.dollars import dollars_lines, dollars_table, payer_text
from karptui.views.packing import RESOURCES, packed_lines, packing_lines
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.whatif.scenario import Scenario
from karptui.widgets.sentences import Sentences
from karptui.widgets.titled_pane import Panel


class CapacityScreen(ListScreen[CapacityEntry]):
    """A row for each part of the cluster, with its share of nodes and dollars."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("b", "turn", "By…", id="capacity.by", tooltip="By zone, by NodePool, by instance type"),
        Binding(
            "D",
            "run_command('drill')",
            "Drill",
            id="capacity.drill",
            tooltip="The outcome of losing a zone, a capacity type or a NodePool",
        ),
    ]

    entry_name = "nodes"
    kind = "Node"

    def __init__(self) -> None:
        self._grouping = GROUPINGS[0]
        self._sum = Sentences(id="capacity")
        table = capacity_table(self._grouping)
        super().__init__(table, SessionList("capacity", lambda: self._grouping), above=(self._sum,))

    @property
    def table_title(self) -> str:
        return f"Capacity by {NOUNS[self._grouping]}"

    def prepare(self) -> None:
        self.use_table(capacity_table(self._grouping, has_prices=not self.host.config.disable_pricing))
        super().prepare()

    def show_state(self) -> None:
        self.host.cluster.look_at(Focus())
        parts = self.around(tuple)
        sentence = capacity_sentence(parts, self._grouping) if parts is not None else ()
        self._sum.set_lines((sentence,) if sentence else ())
        super().show_state()

    def explain_item(self, item: CapacityEntry) -> Pieces:
        return ((f"enter: the nodes of {self.name_of(item)} · b: group by something else", Tone.MUTED),)

    def name_of(self, item: CapacityEntry) -> str:
        return clean(f"{item.name} {item.capacity_type}".strip()) or "none"

    def action_turn(self) -> None:
        self._grouping = GROUPINGS[(GROUPINGS.index(self._grouping) + 1) % len(GROUPINGS)]
        self.use_table(capacity_table(self._grouping, has_prices=not self.host.config.disable_pricing))
        self.refresh_view(is_forced=True)

    def open_row(self, item: CapacityEntry) -> None:
        if not item.name:
            self.say("no filter can select these nodes")
            return
        cap = f" cap={item.capacity_type}" if item.capacity_type else ""
        self.host.open_screen("nodes", filter_text=f"{self._grouping}={item.name}{cap}")


class DollarsScreen(ListScreen[Payer]):
    """A row for each namespace, owner or value of a label, with its share of the nodes' prices."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("b", "turn", "By…", id="dollars.by", tooltip="By namespace, by owner")
    ]

    entry_name = "nodes"

    def __init__(self, grouping: str = DOLLARS_BY[0]) -> None:
        self._grouping = grouping
        self._sum = Sentences(id="capacity")
        super().__init__(dollars_table(grouping), SessionList("dollars", lambda: self._grouping), above=(self._sum,))

    @property
    def table_title(self) -> str:
        return f"Dollars by {clean(self._grouping)}"

    def show_state(self) -> None:
        self.host.cluster.look_at(Focus())
        around = self.around(Dollars)
        self._sum.set_lines(dollars_lines(around) if around is not None else ())
        super().show_state()

    def explain_item(self, item: Payer) -> Pieces:
        target = "enter: its pods · " if self._filter_of(item) else ""
        return ((f"{target}b: by namespace or owner · :capacity label=KEY", Tone.MUTED),)

    def name_of(self, item: Payer) -> str:
        return payer_text(item)

    def action_turn(self) -> None:
        at = DOLLARS_BY.index(self._grouping) + 1 if self._grouping in DOLLARS_BY else 0
        self._grouping = DOLLARS_BY[at % len(DOLLARS_BY)]
        self.use_table(dollars_table(self._grouping))
        self.refresh_view(is_forced=True)

    def _filter_of(self, item: Payer) -> str:
        return f"ns={item.name}" if self._grouping == "namespace" and item.name else ""

    def open_row(self, item: Payer) -> None:
        if not (text := self._filter_of(item)):
            self.say("no filter can select these pods")
            return
        self.host.open_screen("pods", filter_text=text)


_MARGIN = 4
"""Cells of the padding and the scroll bar."""


class PackingScreen(FrameScreen):
    """NodePools as boxes, nodes as bins, pods as blocks."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("b", "turn", "Cpu or memory", id="packing.by", tooltip="Measure nodes and pods by another resource"),
        Binding("j,down", "scroll(1)", "Down", show=False, id="packing.down"),
        Binding("k,up", "scroll(-1)", "Up", show=False, id="packing.up"),
        Binding("pagedown,ctrl+d", "page(1)", "Page down", show=False, id="packing.page-down"),
        Binding("pageup,ctrl+u", "page(-1)", "Page up", show=False, id="packing.page-up"),
    ]

    entry_name = "nodes"

    def __init__(self, scenario: Scenario | None = None) -> None:
        super().__init__()
        self._scenario = scenario
        self._packed: Packed | None = None
        """Both sides, None until they are worked out."""
        self._panel = Panel("packing")
        self._resource = RESOURCES[0]

    def compose_body(self) -> ComposeResult:
        yield self._panel

    def prepare(self) -> None:
        """Compute both sides if there is a scenario."""
        if self._scenario is not None:
            self._work_out(self._scenario)

    @work(exclusive=True, group="packing", exit_on_error=False)
    async def _work_out(self, scenario: Scenario) -> None:
        self._packed = await asyncio.to_thread(self.host.session.whatif.packed, scenario, self.host.now_ns())
        self.refresh_view(is_forced=True)

    def show_state(self) -> None:
        width = self.size.width - _MARGIN
        if self._scenario is None:
            bins = self.host.session.packing()
            self._panel.lines.set_lines(packing_lines(bins, self._resource, width))
        elif self._packed is None:
            self._panel.lines.set_lines(((("computing…", Tone.ACTIVE),),))
        else:
            self._panel.lines.set_lines(packed_lines(self._packed, self._scenario, self._resource, width))

    def on_resize(self) -> None:
        self.refresh_view(is_forced=True)

    def explain(self) -> Pieces:
        other = RESOURCES[1 - RESOURCES.index(self._resource)]
        more = ":capacity has the sums" if self._scenario is None else "esc: back to the what-if"
        return ((f"by requested {self._resource} · b: by {other} · {more}", Tone.MUTED),)

    def action_turn(self) -> None:
        self._resource = RESOURCES[1 - RESOURCES.index(self._resource)]
        self.refresh_view(is_forced=True)

    def action_scroll(self, step: int) -> None:
        self._panel.scroll_relative(y=step, animate=False)

    def action_page(self, step: int) -> None:
        self._panel.scroll_page(step)
