"""Messages on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import NoReturn

from karptui.cli import heartbeat


class UsageError(Exception):
    """An invalid request; the message is for the user."""


def say(sentence: str, command: str = "") -> None:
    """Print a message to standard error."""
    from karptui.views.sanitize import clean

    heartbeat.pause()
    if sys.stderr is None:
        return
    sys.stderr.write(clean(f"karptui {command}: {sentence}" if command else f"karptui: {sentence}") + "\n")


def fail(sentence: str, command: str = "") -> NoReturn:
    """Print a message and exit with status 2."""
    say(sentence, command)
    raise SystemExit(2)


def no_such(what: str, name: str, known: Iterable[str]) -> UsageError:
    """Return the error for a name that is not there, with the nearest that are."""
    import difflib

    names = list(known)
    near = difflib.get_close_matches(name, names, n=3)
    hint = f"; did you mean {' or '.join(near)}?" if near else f"; there are {len(names):,}" if names else ""
    return UsageError(f"there is no {what} {name}{hint}")
