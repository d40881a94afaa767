"""One parameter over a range: what each value comes to, worked out in processes of their own."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from textual import getters, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content

from karptui.kube.units import count_text
from karptui.screens.frame import FrameScreen
from karptui.session.questions import PointWanted, SweepUnwanted, SweepWanted
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.whatif.compare import sweep_lines, sweep_sentence
from karptui.views.whatif.totals import mode_text
from karptui.whatif.scenario import Replay
from karptui.whatif.sweep import Sweep, SweepPoint
from karptui.widgets.sentences import Sentences


class SweepScreen(FrameScreen):
    """Fills a table as points become ready; leaving it ends the processes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "scroll(1)", "Down", show=False, id="sweep.down"),
        Binding("k,up", "scroll(-1)", "Up", show=False, id="sweep.up"),
    ]
    BINDING_GROUP_TITLE = "Sweep"

    panel = getters.query_one("#sweep-panel", VerticalScroll)
    answer = getters.query_one("#sweep-answer", Sentences)
    table = getters.query_one("#sweep-table", Sentences)

    def __init__(self, sweep: Sweep, mode: Replay, current: str = "") -> None:
        """Make the screen.

        Args:
            sweep: the parameter, its values, and the edits that are made before.
            mode: what is replayed.
            current: the value that the cluster has.
        """
        super().__init__()
        self._sweep = sweep
        self._mode = mode
        self._current = current
        self._points: dict[int, SweepPoint] = {}
        self._number = 0
        """Of the sweep, 0 before it has begun."""
        self._failure = ""

    def compose_body(self) -> ComposeResult:
        """Yield the answer above the table."""
        with VerticalScroll(id="sweep-panel"):
            yield Sentences(id="sweep-answer")
            yield Sentences(id="sweep-table")

    def prepare(self) -> None:
        """Begin."""
        self.panel.border_title = Content(f" Sweep ─ {clean(self._sweep.name)} ─ {mode_text(self._mode)} ")
        self.panel.focus()
        self._show()
        self._run_points()

    @work(exclusive=True, group="sweep")
    async def _run_points(self) -> None:
        border = self.host.border
        wanted = SweepWanted(sweep=self._sweep, replay=self._mode, now_ns=self.host.now_ns())
        try:
            self._number = (await asyncio.to_thread(border.ask, wanted)).number
            while True:
                found = await asyncio.to_thread(border.ask, PointWanted(number=self._number))
                if found.point is None:
                    break
                self._points[found.position] = found.point
                if self.is_attached:
                    self._show()
        except Exception as error:  # noqa: BLE001 - a process that died must not end the screen
            self._failure = f"{type(error).__name__}: {' '.join(str(error).split()):.200}"
            self._show()

    def on_unmount(self) -> None:
        """End the processes."""
        if self._number:
            self.host.border.ask(SweepUnwanted(number=self._number))

    def on_resize(self) -> None:
        """Draw the chart as wide as there is room for."""
        self._show()

    def _show(self) -> None:
        values, points = self._sweep.values, self._points
        self.answer.set_wrapped((said,) if (said := sweep_sentence(values, points)) else ())
        lines = list(sweep_lines(values, points, self._current, self.size.width - 4))
        if self._failure:
            lines.append((("✘ ", Tone.FAULT), (f"a process failed: {self._failure}", Tone.FAULT)))
        self.table.set_lines(lines)
        self.refresh_info()

    def explain(self) -> Pieces:
        """Say how far it is."""
        done, total = len(self._points), len(self._sweep.values)
        if done < total and not self._failure:
            return ((f"{count_text(done)} of {count_text(total)} values are ready; esc ends it", Tone.ACTIVE),)
        edits = len(self._sweep.edits)
        before = f" on top of {count_text(edits)} edits" if edits else ""
        return ((f"each value on the cluster as it is{before}; karptui sweep does the same headless", Tone.MUTED),)

    def focus_body(self) -> None:
        """Give the keys back to the table."""
        self.panel.focus()

    def action_scroll(self, step: int) -> None:
        """Scroll by a line."""
        self.panel.scroll_relative(y=step, animate=False)
