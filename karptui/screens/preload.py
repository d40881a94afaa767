"""Imports the modules of unopened screens while the app is idle, so that the first key is as fast as later ones."""

from __future__ import annotations

import contextlib
import pkgutil
import threading
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Final

from karptui.session.throttle import KEY_PAUSE_SECONDS, ThreadThrottle

BEGIN_SECONDS: Final = 0.5
"""Delay after the first rows, in seconds."""
PACKAGES: Final = ("karptui.screens", "karptui.serving")


class Preloader:
    """Imports modules one after the other in a thread."""

    def __init__(self, names: Iterable[str] | None = None) -> None:
        self._names = names
        self._stopped = threading.Event()
        self._is_started = False
        self._after_seconds = BEGIN_SECONDS
        self._thread = threading.Thread(target=self._run, name="preloader", daemon=True)

    def start(self, after_seconds: float = BEGIN_SECONDS) -> None:
        """Begin after a delay; later calls do nothing."""
        if not self._is_started:
            self._is_started = True
            self._after_seconds = after_seconds
            self._thread.start()

    def join(self) -> None:
        """Wait until everything is imported."""
        self._thread.join()

    def stop(self) -> None:
        """End after the module at hand, and wait for that."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        if self._stopped.wait(self._after_seconds):
            return
        turns = ThreadThrottle()
        for name in screen_modules() if self._names is None else self._names:
            turns.take()
            if self._stopped.wait(KEY_PAUSE_SECONDS):
                return
            with contextlib.suppress(Exception):  # opening the screen shows the fault
                import_module(name)
        from karptui.whatif.schema.schema import shipped_schemas  # noqa: PLC0415 - one of those modules

        shipped_schemas()


def screen_modules() -> Iterator[str]:
    """Return the names of all modules of screens, and of what answers them."""
    for package in PACKAGES:
        path = import_module(package).__path__
        yield from (info.name for info in pkgutil.walk_packages(path, f"{package}."))
