"""Where a tour has led to, and how one comes back there."""

from __future__ import annotations

from typing import Any, NamedTuple

from textual.app import App
from textual.screen import Screen

from karptui.screens.registry import ENTRIES
from karptui.views.tour import Tour


class _Place(NamedTuple):
    screen: Screen[Any]
    mode: str
    is_first: bool
    """Whether the screen has its own key and is never closed."""


class TourGuide:
    """Counts the pressed keys of a tour."""

    def __init__(self, app: App[None]) -> None:
        self._app = app
        self._place: _Place | None = None
        """Where the keys of the tour have led to."""
        self._is_led = False
        """Whether the last key belonged to the tour; its screen is known at the next key."""

    def follow(self, tour: Tour, key: str) -> None:
        """Take a key for the next one of a tour, if it is pressed where the tour has led to."""
        app = self._app
        if self._is_led:
            self._place = _Place(app.screen, app.current_mode, len(app.screen_stack) == 1)
        self._is_led = not self.way_back() and tour.press(key)

    def way_back(self) -> str:
        """Return the keys back to the tour's screen; empty on that screen."""
        place = self._place
        if self._is_led or place is None or place.screen is self._app.screen:
            return ""
        if place.screen in self._app.screen_stack:
            return "continues on the screen behind this one: esc goes back."
        entry = next((screen_entry for screen_entry in ENTRIES if screen_entry.name == place.mode), None)
        if place.is_first and entry is not None:
            return f"continues on {entry.title}: {entry.key} goes back there."
        return "cannot continue, because its screen is closed: q leaves, and the same command starts it again."
