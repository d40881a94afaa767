"""Setting a field of a document by its path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from karptui.whatif.errors import EditError
from karptui.whatif.path import Path, path_text


def with_field(document: Mapping[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """Return a document with a field set, or without it where the value is None; the rest is shared.

    Missing objects on the way are made. A list takes a new last item at its length.

    Raises:
        EditError: naming the path, where it leads through something that is neither object nor list.
    """
    if not path:
        raise EditError("the path of a field is empty")
    made = _with(document, path, 0, value)
    assert isinstance(made, dict)
    return made


def _with(node: Any, path: Path, depth: int, value: Any) -> Any:
    part = path[depth]
    is_last = depth == len(path) - 1
    if isinstance(part, int):
        return _with_item(node, path, depth, value, part, is_last=is_last)
    if node is None:
        node = {}
    if not isinstance(node, Mapping):
        raise EditError(
            f"{path_text(path[:depth]) or 'the document'} is not an object, {path_text(path)} cannot be set"
        )
    made = dict(node)
    if is_last and value is None:
        made.pop(part, None)
    elif value is None and part not in made:
        pass
    else:
        made[part] = value if is_last else _with(made.get(part), path, depth + 1, value)
    return made


def _with_item(node: Any, path: Path, depth: int, value: Any, index: int, *, is_last: bool) -> Any:
    if node is None:
        node = []
    if isinstance(node, str) or not isinstance(node, Sequence):
        raise EditError(f"{path_text(path[:depth])} is not a list, {path_text(path)} cannot be set")
    made = list(node)
    if not 0 <= index <= len(made) or (value is None and index == len(made)):
        raise EditError(f"{path_text(path[:depth])} has {len(made)} items, there is no [{index}]")
    if is_last and value is None:
        del made[index]
    elif index == len(made):
        made.append(value if is_last else _with(None, path, depth + 1, value))
    else:
        made[index] = value if is_last else _with(made[index], path, depth + 1, value)
    return made
