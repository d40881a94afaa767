"""A screen in front of another one, which stays visible and dimmed at almost no cost.

Textual tints the whole background screen, cell by cell, whenever anything in it changes. Here it is checked once a
second and after a layout, only changed lines are tinted, and each style is computed once.

Measured by benchmarks/textual_pieces.py: 2.7 ms of processor time for a change in front of a full screen, 11.4 without.
Possible upstream change: "A modal screen tints the whole background on every refresh".
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, Final, Self

from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.color import Color
from textual.command import CommandPalette
from textual.events import Idle, MouseEvent
from textual.geometry import Region, Size
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import ModalScreen, Screen, ScreenResultType
from textual.strip import Strip
from textual.timer import Timer

LOOK_SECONDS: Final = 1.0
"""Interval between checks of the background screen, in seconds."""
SETTLE_SECONDS: Final = 0.05
"""Time after the last layout until its widgets have their size, in seconds."""


class LayeredScreen(Screen[None]):
    """A screen that stays visible, and in its places, behind a `DimmedScreen`."""

    @property
    def is_current(self) -> bool:
        """Whether the screen draws itself; a dimmed one is drawn by the screen in front."""
        return super().is_current and self.app.screen is self

    async def _on_idle(self, _event: Idle) -> None:
        if self._is_unsettled_behind():
            self._refresh_layout(scroll=self._scroll_required)
            self._layout_required = self._scroll_required = False

    def _is_unsettled_behind(self) -> bool:
        """Whether something is out of its place while another screen shows this one dimmed."""
        is_due = self._layout_required or self._scroll_required
        return is_due and not self.is_current and super().is_current and not self.app._batch_count  # noqa: SLF001


class DimmedScreen(ModalScreen[ScreenResultType]):
    """Subclasses have a background with some transparency, and widgets before it."""

    def __init__(self, **given: Any) -> None:
        self._seen: list[Strip] = []
        """The lines of the screen behind, as it draws them."""
        self._tinted: dict[int, Strip] = {}
        """The same, finished."""
        self._tinted_for: tuple[Size, Color] | None = None
        self._tints: dict[Style | None, Style | None] = {}
        """By the style of the screen behind, the same dimmed."""
        self._settling: Timer | None = None
        super().__init__(**given)

    def on_mount(self) -> None:
        """Look again from time to time, and when things behind are in other places."""
        self.set_interval(LOOK_SECONDS, self._look_behind)
        if (behind := self._behind()) is not None:
            behind.screen_layout_refresh_signal.subscribe(self, self._look_soon)

    def _look_soon(self, _behind: Screen[object]) -> None:
        """Look again once the screen behind is laid out; its parts may ask for that more than once."""
        if self._settling is not None:
            self._settling.stop()
        self._settling = self.set_timer(SETTLE_SECONDS, self._look_behind)

    def _look_behind(self) -> None:
        behind = self._behind()
        if behind is not None and self._seen and self.app.screen is self:
            lines = _lines_of(behind, self.size)
            pairs = zip(self._seen, lines, strict=False)
            changed = [Region(0, y, self.size.width, 1) for y, (old, new) in enumerate(pairs) if old != new]
            self._seen = lines
            if changed:
                self.refresh(*changed)

    def is_beside(self, event: MouseEvent) -> bool:
        return not any(child.region.contains_point(event.screen_offset) for child in self.children)

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """Have lines drawn again: those in the regions, all without any."""
        if repaint:
            for y in {y for region in regions for y in region.line_range}:
                self._tinted.pop(y, None)
            if not regions:
                self._tinted, self._seen = {}, []
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def render_lines(self, crop: Region) -> list[Strip]:
        behind, colour = self._behind(), self.styles.background
        if behind is None or colour.a in (0, 1):
            return super().render_lines(crop)
        if self._tinted_for != (self.size, colour):
            self._tinted_for = (self.size, colour)
            self._tinted, self._tints, self._seen = {}, {}, []
        tinted = self._tinted
        if missing := [y for y in crop.line_range if y not in tinted]:
            self._seen = lines = self._seen or _lines_of(behind, self.size)
            filters = self.get_line_filters()
            for y in missing:
                strip = self._tint(lines[y], colour) if y < len(lines) else Strip.blank(self.size.width)
                for each in filters:
                    strip = strip.apply_filter(each, colour)
                tinted[y] = strip
        strips = [tinted[y] for y in crop.line_range]
        if crop.column_span != (0, self.size.width):  # which lags behind the requested size during a resize
            strips = [strip.adjust_cell_length(max(crop.right, strip.cell_length)) for strip in strips]
            strips = [strip.crop(crop.x, crop.right) for strip in strips]
        return strips

    def _behind(self) -> Screen[object] | None:
        stack = self.app.screen_stack
        position = stack.index(self) if self in stack else 0
        return stack[position - 1] if position else None

    def _tint(self, strip: Strip, colour: Color) -> Strip:
        tints, under = self._tints, Style(color=self.rich_style.color)
        segments: list[Segment] = []
        for text, style, _ in strip:
            if style not in tints:
                [tinted] = BackgroundScreen.process_segments([Segment(text, style)], colour)
                tints[style] = under + tinted.style
            segments.append(Segment(text, tints[style]))
        return Strip(segments, strip.cell_length)


class DimmedPalette(CommandPalette, DimmedScreen[None]):
    """Textual's command palette with the dimmed background; Textual's own lags behind a resize."""


def _lines_of(screen: Screen[object], size: Size) -> list[Strip]:
    """Return as many lines of a screen as are needed, and as wide: it may have another size for a moment."""
    lines = screen._compositor.render_strips(size)  # noqa: SLF001 - as Textual's own drawing of it does
    missing = [Strip.blank(size.width)] * (size.height - len(lines))
    return [*(line.adjust_cell_length(size.width) for line in lines[: size.height]), *missing]


def draw_once_composed(app: App[None], delay: float) -> None:
    """Draw nothing until the opened screen has its widgets, or the delay is over.

    Textual always waits for all widgets, even if they are there.
    """
    held = ExitStack()
    held.enter_context(app.batch_update())

    def release() -> None:
        held.close()
        timer.stop()
        app.screen.refresh()

    timer = app.set_timer(delay, release)
    # A screen heeds its messages once it is composed and mounted.
    app.call_later(lambda: app.screen.call_later(release))
