"""Functions for workers, which import them by name."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Stopped = Callable[[], bool]


def times(common: Any, item: int, is_stopped: Stopped) -> int:
    assert not is_stopped()
    return int(common["by"] * item)


def late(_common: Any, item: int, _is_stopped: Stopped) -> int:
    """Return the item, the first one later than the others."""
    time.sleep(0.2 if item == 0 else 0)
    return item


def who(_common: Any, _item: int, _is_stopped: Stopped) -> int:
    return os.getpid()


def dies_once(common: Any, item: int, _is_stopped: Stopped) -> int:
    """Kill the process at one item, but only the first time."""
    folder, deadly = common
    mark = Path(folder, str(item))
    if item == deadly and not mark.exists():
        mark.write_text("")
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def dies(_common: Any, _item: int, _is_stopped: Stopped) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fails(_common: Any, item: int, _is_stopped: Stopped) -> None:
    """Raise an error."""
    raise KeyError(item)


def never_ends(_common: Any, item: int, _is_stopped: Stopped) -> int:
    """Return the first item immediately, and never any other."""
    while item:
        time.sleep(60)
    return item


def busy(common: Any, item: int, _is_stopped: Stopped) -> int:
    """Write this process's id into a folder, then compute forever."""
    Path(common, str(os.getpid())).write_text("")
    while True:
        item += 1
