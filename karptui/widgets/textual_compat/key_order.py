"""A key is for the screen on which it was pressed, also where a later one has opened another meanwhile.

Textual hears the keys of its priority bindings at once, and all others once they have gone round the widgets, on
whatever screen is in front by then. Measured by tests/ui/test_typing.py: enter and 1 at once opened the first node.
Could become upstream: "Priority bindings overtake keys that are still on their way".

And when a screen can take keys: without, the second of "y" and "G" typed at once on a detail reaches a screen without
widgets, and ends the app. Could become upstream: "Keys wait until the screen that they are for is mounted".
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from textual import events
from textual.app import App
from textual.screen import Screen
from textual.widget import Widget


class KeyOrder:
    """Which of the keys that are on their way a later one has overtaken."""

    def __init__(self) -> None:
        self._pressed: WeakKeyDictionary[events.Key, tuple[int, Widget]] = WeakKeyDictionary()
        self._count = 0
        self._opener = 0
        """Number of the last key that gave the keys to another widget at once."""

    def press(self, key: events.Key, screen: Screen[object]) -> None:
        """Note where a key is pressed."""
        self._count += 1
        self._pressed[key] = (self._count, screen.focused or screen)

    def note_screen(self, key: events.Key, screen: Screen[object]) -> None:
        """Note what has the keys once one has been heard."""
        number, before = self._pressed[key]
        if (screen.focused or screen) is not before:
            self._opener = number

    def overtaken_on(self, key: events.Key) -> Widget | None:
        """Return the widget that a key was pressed on, if a later key has given the keys to another."""
        number, widget = self._pressed.get(key, (self._count, None))
        return widget if number < self._opener else None


async def move_within(app: App[None], widget: Widget, key: str) -> None:
    """Do what a key does to a widget that has the keys no more: it moves and marks, and opens nothing from there."""
    for node in widget.ancestors_with_self:
        if isinstance(node, Screen) or not isinstance(node, Widget):
            return
        bindings = node._bindings.copy()  # noqa: SLF001 - as Screen reads them for the widget that has the keys
        bindings.apply_keymap(app._keymap)  # noqa: SLF001
        for binding in bindings.key_to_bindings.get(key, ()):
            if not binding.priority and binding.action != "select" and await app.run_action(binding.action, node):
                return


async def mounted(screen: Screen[Any]) -> None:
    """Wait until the widgets of a screen are there."""
    await screen._mounted_event.wait()  # noqa: SLF001
