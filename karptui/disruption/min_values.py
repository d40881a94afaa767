"""``minValues``: whether the types left for a new node still offer as many values as its requirements ask.

Rules: ``SatisfiesMinValues`` in ``pkg/cloudprovider/types.go``.
"""

from __future__ import annotations

from karptui.disruption.simulation import NewNode
from karptui.karpenter.requirements import Requirements


def unmet_keys(node: NewNode) -> list[str]:
    """Return the keys of which the node's types offer too few values, sorted; no types at all is no failure."""
    return sorted(_walk(node)[1])


def types_needed(node: NewNode) -> int:
    """Return how many types, from the front, it takes to offer enough values; 0 where nothing is asked."""
    return _walk(node)[0]


def _walk(node: NewNode) -> tuple[int, set[str]]:
    asked = {one.key: one.min_values for one in node.requirements if one.min_values is not None}
    if not asked:
        return 0, set()
    seen: dict[str, set[str]] = {key: set() for key in asked}
    unmet: set[str] = set()
    for count, name in enumerate(node.type_names, start=1):
        own = Requirements.from_selectors(node.book.types[name].requirements)
        for key in asked:
            seen[key].update(own.get(key).values)
        unmet = {key for key, least in asked.items() if len(seen[key]) < least}
        if not unmet:
            return count, unmet
    return len(node.type_names), unmet
