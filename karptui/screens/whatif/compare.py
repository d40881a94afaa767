"""Scenarios side by side, up to four of them."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from msgspec.structs import replace
from textual import getters, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content

from karptui.kube.units import count_text
from karptui.screens.frame import FrameScreen
from karptui.screens.whatif.controller import WhatIf
from karptui.views.row import Pieces, Tone
from karptui.views.whatif.compare import (
    COLUMN_WIDTH,
    LABEL_WIDTH,
    MOST_COMPARED,
    SCALE,
    Compared,
    best_sentence,
    compare_lines,
)
from karptui.views.whatif.totals import mode_text
from karptui.views.wrapping import wrapped
from karptui.whatif.scenario import Replay
from karptui.widgets.sentences import Sentences


class CompareScreen(FrameScreen):
    """Replays every scenario on the current cluster, and shows them in columns."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "greater_than_sign", "page(1)", "More", key_display=">", id="compare.next", tooltip="Further scenarios"
        ),
        Binding("m", "mode", "Mode", id="compare.mode", tooltip="Replay all scenarios in the next mode"),
        Binding("j,down", "scroll(1)", "Down", show=False, id="compare.down"),
        Binding("k,up", "scroll(-1)", "Up", show=False, id="compare.up"),
    ]
    BINDING_GROUP_TITLE = "Compare"

    panel = getters.query_one("#compare-panel", VerticalScroll)
    table = getters.query_one("#compare-table", Sentences)

    def __init__(self, whatif: WhatIf) -> None:
        super().__init__()
        self._book = whatif.book
        self._first = 0
        self._compared: list[Compared] = []
        modes = {sheet.replay for sheet in self._book.sheets}
        self._mode = self._book.sheet.replay
        """Replay mode of every scenario, so that their figures are comparable."""
        self._has_others = len(modes) > 1

    def compose_body(self) -> ComposeResult:
        with VerticalScroll(id="compare-panel"):
            yield Sentences(id="compare-table")

    def prepare(self) -> None:
        self.panel.focus()
        self._replay()

    @work(exclusive=True, group="compare", exit_on_error=False)
    async def _replay(self) -> None:
        indices = range(self._first, min(self._first + self._room, len(self._book.sheets)))
        names = self._book.names()
        self._compared = [Compared(names[at], None) for at in indices]
        self._show()
        for place, at in enumerate(indices):
            scenario = replace(self._book.scenario_at(at), replay=self._mode)
            answer = await asyncio.to_thread(self.host.session.whatif.compare, scenario, self.host.now_ns())
            self._compared[place] = Compared(names[at], answer.difference, answer.problem)
            self._show()

    @property
    def _room(self) -> int:
        """Number of scenarios that fit next to the cluster without edits."""
        return max(1, min(MOST_COMPARED, (self._width - LABEL_WIDTH) // COLUMN_WIDTH - 1))

    @property
    def _width(self) -> int:
        return self.size.width - 5  # the frame's padding and a scroll bar

    def _show(self) -> None:
        of_these = "Of these: " if len(self._compared) < len(self._book.sheets) else ""
        best = best_sentence(self._compared)
        lines: list[Pieces] = [*wrapped((((f"{of_these}{best}", Tone.STRONG),),), self._width), ()] if best else []
        lines += compare_lines(self._compared, self._width)
        lines += [
            ((f"✘ {comparison.name}: {comparison.problem}", Tone.FAULT),)
            for comparison in self._compared
            if comparison.problem
        ]
        self.table.set_lines(lines)
        sheets = len(self._book.sheets)
        first, last = self._first + 1, self._first + len(self._compared)
        which = str(first) if first == last else f"{first}-{last}"
        shown = f" ─ {which} of {count_text(sheets)}" if len(self._compared) < sheets else ""
        self.panel.border_title = Content(f" Scenarios compared ─ {mode_text(self._mode)}{shown} ")

    def on_resize(self) -> None:
        if self._compared and len(self._compared) not in (self._room, len(self._book.sheets) - self._first):
            self._replay()
        elif self._compared:
            self._show()

    def explain(self) -> Pieces:
        if len(self._book.sheets) == 1:
            return (("there is only one scenario; s in the what-if duplicates it or begins another", Tone.MUTED),)
        others = f"all as {mode_text(self._mode)}, although some have another mode · " if self._has_others else ""
        return ((f"{others}best: {SCALE}, against the current cluster", Tone.MUTED),)

    def focus_body(self) -> None:
        self.panel.focus()

    def action_mode(self) -> None:
        modes = list(Replay)
        self._mode = modes[(modes.index(self._mode) + 1) % len(modes)]
        self._replay()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer further scenarios if not all fit."""
        if action == "page":
            return len(self._book.sheets) > self._room
        return super().check_action(action, parameters)

    def action_page(self, step: int) -> None:
        """Show the next scenarios; after the last the first again."""
        following = self._first + step * self._room
        self._first = following if following < len(self._book.sheets) else 0
        self._replay()

    def action_scroll(self, step: int) -> None:
        self.panel.scroll_relative(y=step, animate=False)
