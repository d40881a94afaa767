"""A scrolling widget that caches finished lines and draws its scroll bar as their last cell.

Textual composes each line from its parts and draws the scroll bar as another widget. Here a cached line is returned
until it is refreshed, so that scrolling a page costs hardly more than drawing its rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import ClassVar, Final, NamedTuple, Self

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from karptui.widgets.textual_compat.boundary import drawn

EIGHTHS: Final = " ▇▆▅▄▃▂▁"
"""By how many eighths of a cell lie above an edge, the glyph of what lies below it."""
_PARTS: Final = len(EIGHTHS)


@dataclass(frozen=True, slots=True)
class Thumb:
    """The thumb of a scroll bar, in eighths of a cell from the top."""

    start: int
    end: int

    @classmethod
    def of(cls, height: int, total: int, position: float) -> Thumb | None:
        """Return the thumb; None if everything is visible."""
        if height <= 0 or total <= height:
            return None
        cells = max(1.0, height / (total / height))
        start = int((height - cells) * (position / (total - height)) * _PARTS)
        return cls(start, start + ceil(cells * _PARTS))

    def holds(self, y: int) -> bool:
        """Whether any of the thumb is in a cell of the bar."""
        return self.start < (y + 1) * _PARTS and y * _PARTS < self.end


@dataclass(frozen=True, slots=True)
class ScrollColumn:
    """Draws a scroll bar cell by cell."""

    thumb: Thumb | None
    empty: Segment
    """A cell without thumb."""
    upper: Segment
    """Cell where the thumb begins."""
    inner: Segment
    lower: Segment
    """Cell where the thumb ends."""

    @classmethod
    def draw(cls, thumb: Thumb | None, style: Style) -> ScrollColumn:
        turned = style + Style(reverse=True)
        empty, inner = Segment(" ", Style(bgcolor=style.bgcolor)), Segment(" ", turned)
        if thumb is None:
            return cls(None, empty, empty, empty, empty)
        above, below = thumb.start % _PARTS, thumb.end % _PARTS
        upper = Segment(EIGHTHS[above], style) if above else inner
        lower = Segment(EIGHTHS[below], turned) if below else inner
        return cls(thumb, empty, upper, inner, lower)

    def cell(self, y: int) -> Segment:
        """Return a cell of the bar by its place from the top."""
        thumb = self.thumb
        if thumb is None or not thumb.holds(y):
            return self.empty
        if y == (thumb.end - 1) // _PARTS:
            return self.lower
        return self.upper if y == thumb.start // _PARTS else self.inner


class _Grip(NamedTuple):
    """Where the thumb was taken hold of."""

    screen_y: int
    position: float


class LineView(ScrollView):
    """Subclasses draw lines of the body's width in ``draw_line``; there may be a border, but no padding."""

    ALLOW_SELECT: ClassVar[bool] = False
    """Clicks are for items; a selection of text would be seen only in lines that are drawn after it."""
    DEFAULT_CSS = """
    LineView {
        overflow-x: hidden;
        scrollbar-size-vertical: 1;
        scrollbar-size-horizontal: 0;
        scrollbar-gutter: stable;
        scrollbar-visibility: hidden;
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        self._lines: dict[int, Strip] = {}
        """Finished lines by their place in the widget, its border included."""
        self._lines_size = Size()
        self._column: ScrollColumn | None = None
        """The scroll bar as drawn; None if it must be redrawn."""
        self._grip: _Grip | None = None
        self._is_lit = False
        """Whether the pointer is over the scroll bar."""
        self._hovered = -1
        """The item under the pointer, -1 without one."""
        super().__init__(id=id)

    @property
    def _body(self) -> Size:
        return self.scrollable_content_region.size

    @property
    def allow_vertical_scroll(self) -> bool:
        """Whether the list can scroll; Textual asks its own scroll bar, which learns of new lines late."""
        return not self.disabled

    # Drawing

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """Have lines drawn again: those in the regions of the content, all without any."""
        if repaint:
            top = self.styles.gutter.top
            for region in regions:
                for y in region.line_range:
                    self._lines.pop(y + top, None)
            if not regions:
                self._forget_lines()
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def resize_content(self, size: Size) -> None:
        """Set the size of the content; the layout changes only if the widget's height depends on it."""
        if self.styles.auto_dimensions:
            self.virtual_size = size
        elif size != self.virtual_size:
            self.set_reactive(Widget.virtual_size, size)
            self.scroll_to(y=min(self.scroll_y, self.max_scroll_y), animate=False, immediate=True)
            self.refresh_scroll_bar()

    def refresh_scroll_bar(self) -> None:
        if self._column is not None and self._column.thumb != self._thumb():
            self.refresh()

    def _forget_lines(self) -> None:
        self._lines = {}
        self._column = None

    def _forget_drawn(self) -> None:
        """Redraw everything; subclasses clear their caches first."""
        self.refresh()

    def notify_style_update(self) -> None:
        """Forget everything drawn in the old colours."""
        super().notify_style_update()
        self._forget_drawn()

    def on_focus(self) -> None:
        self._forget_drawn()

    def on_blur(self) -> None:
        self._forget_drawn()

    @drawn
    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw the widget, its border as Textual does and its content line by line."""
        size = self.outer_size
        if size != self._lines_size:
            self._lines_size = size
            self._forget_lines()
        if self.opacity != 1.0:
            return super().render_lines(crop)
        lines = self._lines
        if missing := [y for y in crop.line_range if y not in lines]:
            top, bottom = self.styles.gutter.top, size.height - self.styles.gutter.bottom
            filters, background = self.get_line_filters(), self.background_colors[1]
            body, first, column = self._body, self.scroll_offset.y, self._scroll_column()
            for y in missing:
                if top <= y < bottom:
                    line = self.draw_line(y - top, first, body)
                    strip = Strip([*line, column.cell(y - top)], line.cell_length + 1)
                    for each in filters:
                        strip = strip.apply_filter(each, background)
                else:
                    [strip] = super().render_lines(Region(0, y, size.width, 1))
                lines[y] = strip
        strips = [lines[y] for y in crop.line_range]
        if crop.column_span != (0, size.width):
            strips = [strip.crop(crop.x, crop.right) for strip in strips]
        return strips

    def draw_line(self, y: int, first: int, body: Size) -> Strip:
        raise NotImplementedError

    def render_line(self, y: int) -> Strip:
        return self.draw_line(y, self.scroll_offset.y, self._body)

    def _scroll_column(self) -> ScrollColumn:
        if self._column is None:
            self._column = ScrollColumn.draw(self._thumb(), self._scroll_bar_style())
        return self._column

    def _thumb(self) -> Thumb | None:
        return Thumb.of(self._body.height, self.virtual_size.height, self.scroll_y)

    def _scroll_bar_style(self) -> Style:
        styles = self.styles
        if self._grip is not None:
            background, colour = styles.scrollbar_background_active, styles.scrollbar_color_active
        elif self._is_lit:
            background, colour = styles.scrollbar_background_hover, styles.scrollbar_color_hover
        else:
            background, colour = styles.scrollbar_background, styles.scrollbar_color
        background = self.background_colors[1] + background
        return Style.from_color((background + colour).rich_color, background.rich_color)

    # Scrolling

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Redraw the visible lines without Textual's hidden scroll bar."""
        if round(old_value) != round(new_value):
            self.refresh()

    def _light(self, *, is_lit: bool) -> None:
        if is_lit != self._is_lit:
            self._is_lit = is_lit
            self.refresh()

    def _is_on_scroll_bar(self, event: events.MouseEvent) -> bool:
        offset = event.get_content_offset_capture(self)
        return offset.x == self._body.width and 0 <= offset.y < self._body.height

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Take hold of the thumb, or page towards the pointer."""
        thumb = self._thumb()
        if thumb is None or not self._is_on_scroll_bar(event):
            return
        event.stop()
        y = event.get_content_offset_capture(self).y
        if thumb.holds(y):
            self._grip = _Grip(event.screen_y, self.scroll_y)
            self.capture_mouse()
            self.refresh()
        elif y < thumb.start // 8:
            self.scroll_page_up(animate=False)
        else:
            self.scroll_page_down(animate=False)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Light up the line under the pointer, and follow it with the thumb that is held."""
        self._hover(self.index_at(event))
        self._light(is_lit=self._grip is not None or self._is_on_scroll_bar(event))
        if self._grip is not None:
            lines = (event.screen_y - self._grip.screen_y) * self.virtual_size.height / max(self._body.height, 1)
            self.scroll_to(y=self._grip.position + lines, animate=False, immediate=True)

    def on_mouse_up(self, _event: events.MouseUp) -> None:
        if self._grip is not None:
            self._grip = None
            self.release_mouse()
            self.refresh()

    def on_leave(self, _event: events.Leave) -> None:
        self._hover(-1)
        self._light(is_lit=False)

    def _hover(self, index: int) -> None:
        before, self._hovered = self._hovered, index
        if before != index:
            self.hover_moved(before, index)

    def index_at(self, _event: events.MouseEvent) -> int:
        """Return the index of the item under the pointer, -1 for none."""
        return -1

    def hover_moved(self, before: int, after: int) -> None:
        """Redraw the items that the pointer left and entered."""
