"""What can be typed at a place."""

from __future__ import annotations

from typing import NamedTuple


class Item(NamedTuple):
    """One thing that can be typed."""

    label: str
    """What the list shows."""
    detail: str
    """Its type, whether it is required, or where the value comes from."""
    insert: str
    """What takes the place of the text between ``Completion.start_column`` and the cursor; may hold line breaks."""


class Completion(NamedTuple):
    """What can be typed at the cursor; no items where nothing is known."""

    start_column: int
    """Where on the cursor's line the half-typed word starts."""
    items: tuple[Item, ...]
