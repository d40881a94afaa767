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
        max_sleep: seconds of work, or of waiting for threads that wait themselves, after which it is enough. Work
            counts as the processor's time, so that a machine with other things to do cuts no wait short.
    """
    loop = asyncio.get_running_loop()
    started, worked = loop.time(), process_time()
    while process_time() - worked < max_sleep:
        before = process_time()
        await asyncio.sleep(NAP_SECONDS)
        is_at_work = process_time() - before >= BUSY_SHARE * NAP_SECONDS or _draws(active_app.get(None))
        waited = loop.time() - started
        if not is_at_work and waited >= (max_sleep if _has_threads(active_app.get(None)) else min_sleep):
            return


def _draws(app: Any) -> bool:
    """Draw the frame that is due; return whether there was one."""
    is_due = bool(app is not None and app.screen_stack and app.screen._update_timer._active.is_set())
    if is_due:
        app.screen._on_timer_update()
    return is_due


def _has_threads(app: Any) -> bool:
    return app is not None and any(one.is_running and one._thread_worker for one in app.workers)


def shorten_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pilots wait no longer than there is something to wait for."""
    monkeypatch.setattr("textual.app.wait_for_idle", wait_for_idle)
    monkeypatch.setattr("textual.pilot.wait_for_idle", wait_for_idle)
