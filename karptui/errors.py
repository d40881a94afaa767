"""The base of all errors whose message is for the user."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_MOST_LISTED: Final = 50


class RequestError(Exception):
    """A request that cannot be carried out; the message is for the user."""


def no_such(what: str, name: str, names: Iterable[str]) -> RequestError:
    """Return the error for a name that does not exist, with the nearest existing ones, or all unless they are many."""
    import difflib  # noqa: PLC0415  slower than what most commands print

    names = list(names)
    if near := difflib.get_close_matches(name, names, n=3):
        return RequestError(f"there is no {what} {name}; did you mean {' or '.join(near)}?")
    listed = ", ".join(names) if len(names) <= _MOST_LISTED else f"{len(names):,} others"
    return RequestError(f"there is no {what} {name}; there are {listed or 'none'}")
