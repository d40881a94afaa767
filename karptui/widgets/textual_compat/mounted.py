"""When a screen can take keys.

Measured by typing "y" and "G" at once on a detail: without, the second reaches a screen that has no widgets yet, and
ends the app. Could become upstream: "Keys wait until the screen that they are for is mounted".
"""

from __future__ import annotations

from typing import Any

from textual.screen import Screen


async def mounted(screen: Screen[Any]) -> None:
    """Wait until the widgets of a screen are there."""
    await screen._mounted_event.wait()  # noqa: SLF001
