"""A screen that repaints of each widget no more than the rows that have changed, and may be seen behind another.

Measured by benchmarks/whatif_keys.py on the demo: 5.4 ms of processor time for a step through the result, 6.1 without.
Could become upstream: "A partial update renders every widget between the first and the last change".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack

from textual import events
from textual._compositor import ChopsUpdate, Compositor
from textual.app import App
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip


class SwiftScreen(Screen[None]):
    """Redraws only changed regions, and stays visible behind a DimmedScreen."""

    def __init__(self) -> None:
        super().__init__()
        self._compositor = SparingCompositor()

    @property
    def is_current(self) -> bool:
        """Whether the screen draws itself; a dimmed one is drawn by the screen in front."""
        return super().is_current and self.app.screen is self

    async def _on_idle(self, _event: events.Idle) -> None:
        if self._is_unsettled_behind():
            self._refresh_layout(scroll=self._scroll_required)
            self._layout_required = self._scroll_required = False

    def _is_unsettled_behind(self) -> bool:
        """Whether something is out of its place while another screen shows this one dimmed."""
        is_due = self._layout_required or self._scroll_required
        return is_due and not self.is_current and super().is_current and not self.app._batch_count  # noqa: SLF001


class SparingCompositor(Compositor):
    """Textual's own asks every widget between the first and the last change for everything it shows.

    A key that changes a line at the top of the screen and one at its bottom then has the whole screen drawn.
    """

    _repainted: Sequence[Region] = ()
    """Regions being redrawn; empty if all are."""

    def render_partial_update(self) -> ChopsUpdate | None:
        """Render the changed regions."""
        self._repainted = tuple(self._dirty_regions)
        try:
            return super().render_partial_update()
        finally:
            self._repainted = ()

    def _get_renders(self, crop: Region | None = None) -> Iterable[tuple[Region, Region, list[Strip]]]:
        if not self._repainted:
            yield from super()._get_renders(crop)
            return
        drawn: list[Region] = []
        for widget, (region, clip) in self.visible_widgets.items():
            shown = region.intersection(clip)
            touched = [one for one in map(shown.intersection, self._repainted) if one and not _is_covered(one, drawn)]
            if touched:
                top, bottom = min(one.y for one in touched), max(one.bottom for one in touched)
                rows = Region(shown.x, top, shown.width, bottom - top)
                drawn.append(rows)
                yield region, rows, widget.render_lines(rows.translate(-region.offset))


def _is_covered(region: Region, drawn: Sequence[Region]) -> bool:
    """Whether a region is completely hidden by others."""
    left, right = region.column_span
    over = sorted(one for one in drawn if one.x < right and one.right > left)
    for y in region.line_range:
        reached = left
        for one in over:
            if one.y <= y < one.bottom:
                if one.x > reached:
                    break
                reached = max(reached, one.right)
        if reached < right:
            return False
    return True


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
