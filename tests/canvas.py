"""What stands on the terminal after all updates that an app has sent to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary

import pytest
from rich.cells import cell_len
from rich.style import Style
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.app import App
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip

Cell = tuple[str, Style | None]
_REFRESH: Final = Screen._compositor_refresh
_UNDRAWN: Final[WeakKeyDictionary[Screen[Any], None]] = WeakKeyDictionary()
"""Screens that have changed since they were drawn."""


def cells_of(strip: Strip) -> list[Cell]:
    """Return a strip cell by cell; a wide letter fills the cells it takes."""
    return [(letter, style) for text, style, _ in strip for letter in text for _ in range(cell_len(letter))]


def strips_of(app: App[Any]) -> list[Strip]:
    return app.screen._compositor.render_strips(app.size)


def whole_of(app: App[Any]) -> list[Strip]:
    """Return the lines on the screen, with those of the screens that shine through."""
    update = app.screen._compositor.render_update(full=True, screen_stack=app._background_screens)
    assert isinstance(update, LayoutUpdate)
    return [Strip.join(row) for row in update.strips]


class Canvas:
    def __init__(self, rows: Sequence[Strip] = ()) -> None:
        self.rows = [cells_of(strip) for strip in rows]

    @classmethod
    def behind(
        cls, app: App[Any], monkeypatch: pytest.MonkeyPatch, drawn: Callable[[], object] = lambda: None
    ) -> Canvas:
        """Follow what an app draws from now on, and call a function after each drawing."""
        draw_at_once(monkeypatch)
        canvas, display = cls(app.screen._compositor.render_strips()), app._display

        def follow(screen: Any, update: Any) -> None:
            display(screen, update)
            if update is not None and not app._batch_count:  # as Textual itself: nothing is drawn in a batch
                canvas.take(update)
                drawn()

        monkeypatch.setattr(app, "_display", follow)
        return canvas

    def take(self, update: object) -> None:
        """Do what a terminal does with an update."""
        if isinstance(update, LayoutUpdate):
            self.rows = [[cell for strip in row for cell in cells_of(strip)] for row in update.strips]
        elif isinstance(update, ChopsUpdate):
            for y, start, end in update.spans:
                for chop_end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
                    if strip is None or x > end or chop_end <= start:
                        continue
                    cells = cells_of(strip)[: min(chop_end, end) - x]
                    self.rows[y][x : x + len(cells)] = cells
        else:
            assert update is None, update

    def at(self, region: Region) -> list[list[Cell]]:
        return [row[region.x : region.right] for row in self.rows[region.y : region.bottom]]

    def texts(self, region: Region) -> list[str]:
        """Return what is to be read in a region, without blanks at the ends of lines."""
        return ["".join(letter for letter, _ in row).rstrip() for row in self.at(region)]


def _draw_later(screen: Screen[Any]) -> None:
    """Leave drawing to `draw`: nobody sees what the screen shows while more is on its way."""
    if screen.is_current:
        _UNDRAWN[screen] = None
        screen._dirty_widgets.clear()
        screen.app._update_mouse_over(screen)
    else:
        _REFRESH(screen)


def draw() -> None:
    """Draw what has changed since the last time."""
    for screen in (*_UNDRAWN,):
        del _UNDRAWN[screen]
        if screen.is_current:
            _REFRESH(screen)


def draw_at_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw a screen once for each time that a test waits for it."""
    monkeypatch.setattr(Screen, "_compositor_refresh", _draw_later)


def draw_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw every change as Textual does, for tests of drawing itself."""
    monkeypatch.setattr(Screen, "_compositor_refresh", _REFRESH)
