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


def test_screens_are_imported_before_they_are_opened() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "True"]


def test_stopping_takes_effect_before_the_next_module() -> None:
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


def test_a_module_that_cannot_be_imported_is_ignored() -> None:
    preloader = Preloader(["karptui.no_such_module"])
    preloader.start(0)
    preloader.join()
