"""Modules imported before they are needed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from karptui.screens.preload import Preloader

PROGRAM = """
import sys
import karptui.app
from karptui.screens.preload import Preloader
before = "karptui.screens.whatif.screen" in sys.modules
preloader = Preloader()
preloader.start(0)
preloader.join()
print(before, "karptui.screens.whatif.screen" in sys.modules, "karptui.screens.types" in sys.modules)
"""


def test_every_screen_is_there_before_it_is_opened() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "True"]


def test_is_stopped_between_two_modules() -> None:
    imported: list[str] = []

    def names() -> Iterator[str]:
        for name in ("json", "csv"):
            imported.append(name)
            preloader._stopped.set()
            yield name

    preloader = Preloader(names())
    preloader.start(0)
    preloader.join()
    assert imported == ["json"]


def test_a_module_that_cannot_be_imported_is_left_to_whoever_opens_it() -> None:
    preloader = Preloader(["karptui.no_such_module"])
    preloader.start(0)
    preloader.join()
