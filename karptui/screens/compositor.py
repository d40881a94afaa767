"""Puts together what a screen repaints: of each widget no more than the rows that have changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual._compositor import ChopsUpdate, Compositor
from textual.geometry import Region
from textual.strip import Strip


class SparingCompositor(Compositor):
    """Textual's own asks every widget between the first and the last change for everything it shows.

    A key that changes a line at the top of the screen and one at its bottom then has the whole screen drawn.
    """

    _repainted: Sequence[Region] = ()
    """What is being repainted, empty while everything is."""

    def render_partial_update(self) -> ChopsUpdate | None:
        """Render what has changed."""
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
    """Whether nothing of a region is seen behind what stands in front of it."""
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
