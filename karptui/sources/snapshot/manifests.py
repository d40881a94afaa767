"""Documents into single objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

MARK: Final = "karptui"
"""The field that tells a recording from API objects."""


class Manifest(msgspec.Struct, frozen=True):
    """One entry of a document, an object as a rule."""

    value: Any
    path: str
    """Where in the document it stands: ``items[3]``; empty for the document itself."""


def is_recording(value: Any) -> bool:
    """Whether a document is one that ``karptui record`` writes."""
    return isinstance(value, dict) and MARK in value


def manifests(value: Any, path: str = "") -> Iterator[Manifest]:
    """Return the objects of a document: one, a JSON list of them, or a List as kubectl prints it; Lists may nest."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from manifests(item, f"{path}[{index}]")
    elif _is_list(value):
        for index, item in enumerate(value.get("items") or ()):
            yield from manifests(_typed(item, value), f"{path}.items[{index}]".lstrip("."))
    else:
        yield Manifest(value, path)


def _is_list(value: Any) -> bool:
    kind = value.get("kind") if isinstance(value, dict) else None
    return isinstance(kind, str) and kind.endswith("List") and isinstance(value.get("items"), list | None)


def _typed(item: Any, of: dict[str, Any]) -> Any:
    """Return an item with apiVersion and kind, which servers leave out of the items of a typed list."""
    kind = of["kind"].removesuffix("List")
    if not isinstance(item, dict) or "kind" in item or not kind:
        return item
    return {"apiVersion": of.get("apiVersion"), "kind": kind, **item}
