"""The event loop of the screen: it releases the interpreter only if it is idle.

Measured by benchmarks/textual_pieces.py: 350 ms for 20,000 turns next to a computing thread, 510 without. Possible
upstream change, in asyncio: "A loop with work at hand polls its selector on every turn".
"""

from __future__ import annotations

import asyncio
import selectors
import time
from typing import Final

POLL_SECONDS: Final = 0.005
"""Interval at which a busy loop polls for input, in seconds."""


class ScreenSelector(selectors.DefaultSelector):
    """Polls the system less often while there is work at hand.

    A standard loop polls after every callback, and each time a computing thread takes over the interpreter.
    """

    def __init__(self) -> None:
        super().__init__()
        self._polled_at = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is not None and timeout <= 0:
            now = time.monotonic()
            if now < self._polled_at + POLL_SECONDS:
                return []
            self._polled_at = now
        return super().select(timeout)


def screen_loop() -> asyncio.AbstractEventLoop:
    """Return a new loop."""
    return asyncio.SelectorEventLoop(ScreenSelector())
