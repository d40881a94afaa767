"""Items with the same property, together."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

ItemT = TypeVar("ItemT")
KeyT = TypeVar("KeyT", bound=Hashable)


def group_by(items: Iterable[ItemT], key: Callable[[ItemT], KeyT]) -> dict[KeyT, list[ItemT]]:
    """Return items by their key; keys and the items of each are in the order of the items."""
    groups: dict[KeyT, list[ItemT]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups
