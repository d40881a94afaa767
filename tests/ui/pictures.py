"""Pictures of one running app in several sizes and themes: starting it is what takes the time."""

from __future__ import annotations

from typing import Any

import pytest_textual_snapshot
from syrupy.assertion import SnapshotAssertion
from textual.pilot import Pilot

from karptui.app import KarptuiApp
from tests.ui.stage import settled

SIZES = ((80, 24), (120, 40), (200, 60))
THEMES = ("textual-dark", "textual-light", "karptui-colour-blind")


async def pictured(pilot: Pilot[Any], app: KarptuiApp, snapshot: SnapshotAssertion) -> list[str]:
    """Return the names of the pictures that are not as they were: what is in front, in every size and theme."""
    drawn = snapshot.use_extension(pytest_textual_snapshot.SVGImageExtension)
    changed = []
    for width, height in SIZES:
        await pilot.resize_terminal(width, height)
        for theme in THEMES:
            app.theme = theme
            await settled(pilot)
            name = f"{width}x{height}-{theme}"
            if drawn(name=name) != app.export_screenshot():
                changed.append(name)
    return changed
