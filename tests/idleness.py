"""Waiting until an app has nothing left to do, in milliseconds where Textual's own wait takes naps of twenty."""

from __future__ import annotations

import asyncio
from time import process_time
from typing import Any, Final

import pytest
from textual._context import active_app

NAP_SECONDS: Final = 0.004
BUSY_SHARE: Final = 0.1
"""Of a nap, as the processor's time of the whole process: an app that does less than this does nothing."""


async def wait_for_idle(min_sleep: float = 0.0, max_sleep: float = 1.0) -> None:
    """Wait until a nap has passed in which nothing was done, drawn or worked out by a thread.

    A frame that is due is drawn at once instead of at the next sixtieth of a second.

    Args:
        min_sleep: seconds to wait at least.
        max_sleep: seconds to wait at most.
    """
    loop = asyncio.get_running_loop()
    started = loop.time()
    is_idle = False
    while not (is_idle and loop.time() - started >= min_sleep) and loop.time() - started < max_sleep:
        before = process_time()
        await asyncio.sleep(NAP_SECONDS)
        is_idle = process_time() - before < BUSY_SHARE * NAP_SECONDS and not _draws(active_app.get(None))


def _draws(app: Any) -> bool:
    """Draw the frame that is due; return whether there was one, or a thread that is at work for the app."""
    if app is None or not app.screen_stack:
        return False
    is_due = bool(app.screen._update_timer._active.is_set())
    if is_due:
        app.screen._on_timer_update()
    return is_due or any(one.is_running and one._thread_worker for one in app.workers)


def shorten_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pilots wait no longer than there is something to wait for."""
    monkeypatch.setattr("textual.app.wait_for_idle", wait_for_idle)
    monkeypatch.setattr("textual.pilot.wait_for_idle", wait_for_idle)
