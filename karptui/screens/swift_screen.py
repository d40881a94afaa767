"""A screen that shows what a key did at once, repaints no more than has changed, and may be seen behind another."""

from __future__ import annotations

import time
from typing import Final

from textual import events
from textual.screen import Screen

from karptui.screens.compositor import SparingCompositor
from karptui.session.pace import KEYBOARD

FRAME_SECONDS: Final = 1 / 60
"""No sooner after one drawing than this comes the next."""


class SwiftScreen(Screen[None]):
    """Textual's own waits for the next frame, which is up to a sixtieth of a second away."""

    def __init__(self) -> None:
        super().__init__()
        self._compositor = SparingCompositor()
        self._drawn_at = 0.0

    @property
    def is_current(self) -> bool:
        """Whether the screen draws itself: one that shows through dimmed is drawn by the one before it."""
        return super().is_current and self.app.screen is self

    async def _on_idle(self, event: events.Idle) -> None:
        now = time.monotonic()
        if self._is_unsettled_behind():
            self._refresh_layout(scroll=self._scroll_required)
            self._layout_required = self._scroll_required = False
        elif now >= self._drawn_at + FRAME_SECONDS and KEYBOARD.is_busy(now) and self._may_draw():
            event.prevent_default()
            self._on_timer_update()

    def _may_draw(self) -> bool:
        """Whether there is something to draw, and everything in its place for it."""
        is_due = bool(self._dirty_widgets) or self._scroll_required
        is_settled = not (self._layout_required or self._recompose_required)
        return is_due and is_settled and self.is_current and not self.app._batch_count  # noqa: SLF001

    def _is_unsettled_behind(self) -> bool:
        """Whether something is out of its place while another screen shows this one dimmed."""
        is_due = self._layout_required or self._scroll_required
        return is_due and not self.is_current and super().is_current and not self.app._batch_count  # noqa: SLF001

    def _compositor_refresh(self) -> None:
        self._drawn_at = time.monotonic()
        super()._compositor_refresh()
