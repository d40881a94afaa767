"""Errors of a command line, and messages on standard error."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Final

from karptui.cli import heartbeat
from karptui.errors import RequestError
from karptui.views.sanitize import clean

_RUNNING: Final = SimpleNamespace(command="")


class UsageError(RequestError):
    """An invalid request; the message is for the user. ``main`` prints it and exits with status 2."""


def begin(command: str | None) -> None:
    """Name the command that is running; messages begin with its name."""
    _RUNNING.command = command or ""


def say(sentence: str) -> None:
    """Print a message to standard error."""
    heartbeat.clear()
    if sys.stderr is not None:
        name = f"karptui {_RUNNING.command}" if _RUNNING.command else "karptui"
        sys.stderr.write(clean(f"{name}: {sentence}") + "\n")


def show_progress(text: str) -> None:
    """Show progress on a terminal until something else is printed, in place of the progress before."""
    heartbeat.show(clean(f"karptui {_RUNNING.command}: {text}"))


def show_percent(done: int, total: int) -> None:
    """Show how far a forecast or a simulation is, as its reporter."""
    show_progress(f"{done * 100 // max(total, 1)} %")
