"""Change one field of a document, keeping every other byte of the text."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Any, Final

from karptui.whatif.edits import ObjectRef
from karptui.whatif.field_path import Path, path_text, value_at
from karptui.whatif.yaml.place import FieldPlace
from karptui.whatif.yaml.tree import Document, parse, read
from karptui.whatif.yaml.write import UnwritableError


class _Remove:
    def __repr__(self) -> str:
        return "REMOVE"


REMOVE: Final = _Remove()
"""Given as a value, takes the field or list item away."""


class EditRefusedError(ValueError):
    """An edit that is impossible in the text; the message is for the user."""


def set_value(text: str, at: int | ObjectRef, path: Path, value: Any, *, prune: bool = False) -> str:
    """Give one field another value.

    Fields on the way that are not there are made; a mapping or list that takes the place of another is changed item by
    item, so that what stays the same keeps its comments.

    Args:
        at: Which document: its position, or the object it describes.
        value: As JSON would give it, or ``REMOVE``.
        prune: With ``REMOVE``, also takes away the mappings and lists around it that are empty then.

    Raises:
        EditRefusedError: where the document is not there or cannot be read, or the field is inside a value that is no
            mapping or list, or the text shares it with another field through an anchor.
    """
    document = _document(text, at)
    body = document.body
    assert body is not None
    if isinstance(value, _Remove):
        path = _prunable(body, path) if prune else path
        if value_at(body, path, REMOVE) is REMOVE:
            return text
    new_body = _changed(body, path, value)
    changed = document.text
    for step_path, step_value in _steps(value_at(body, path, REMOVE), value, path):
        changed = _spliced(changed, step_path, step_value)
    root = read(changed).root
    if root is None or root.value != new_body:
        raise EditRefusedError(
            f"{path_text(path)} cannot be changed here: an anchor or a second field of this name prevents it"
        )
    return text[: document.offset] + changed + text[document.offset + len(document.text) :]


def append_item(text: str, at: int | ObjectRef, path: Path, value: Any) -> str:
    """Add an item to the end of a list, creating a missing list; see ``set_value``."""
    items = get_value(text, at, path)
    return set_value(text, at, (*path, len(items) if isinstance(items, list) else 0), value)


def remove_item(text: str, at: int | ObjectRef, path: Path, value: Any) -> str:
    """Take the first item that equals a value out of a list, if it is there; see ``set_value``."""
    items = get_value(text, at, path)
    if not isinstance(items, list) or value not in items:
        return text
    return set_value(text, at, (*path, items.index(value)), REMOVE)


def get_value(text: str, at: int | ObjectRef, path: Path) -> Any:
    """Return a field's value; None if it is missing.

    Raises:
        EditRefusedError: if the document is missing or cannot be read.
    """
    return value_at(_document(text, at).body, path)


def _document(text: str, at: int | ObjectRef) -> Document:
    parsed = parse(text)
    if isinstance(at, int):
        document = parsed.documents[at] if 0 <= at < len(parsed.documents) else None
        name = f"document {at + 1}"
    else:
        document = parsed.find(at)
        name = f"{at.kind} {at.key}"
    if document is None:
        raise EditRefusedError(f"{name} is not in the text")
    if document.body is None:
        raise EditRefusedError(f"{name} cannot be read yet: mend its first error by hand")
    return document


def _prunable(body: dict[str, Any], path: Path) -> Path:
    while len(path) > 1:
        around = value_at(body, path[:-1])
        if not isinstance(around, dict | list) or len(around) > 1:
            break
        path = path[:-1]
    return path


def _changed(body: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """Apply the change to a copy, to compare the text with."""
    if not path:
        raise EditRefusedError("a document as a whole is changed by typing")
    copy: Any = _unshared(body)
    at = copy
    for depth, step in enumerate(path[:-1]):
        following: Any = [] if isinstance(path[depth + 1], int) else {}
        at = _descend(at, step, following, path[: depth + 1])
    last = path[-1]
    if isinstance(value, _Remove):
        del at[last]
    elif isinstance(at, list) and isinstance(last, int) and 0 <= last <= len(at):
        at[last : last + 1] = [value]
    elif isinstance(at, dict) and isinstance(last, str):
        at[last] = value
    else:
        raise EditRefusedError(_no_room(path[:-1], last))
    assert isinstance(copy, dict)
    return copy


def _unshared(value: Any) -> Any:
    """Copy a value; what aliases made the same object becomes two."""
    if isinstance(value, dict):
        return {name: _unshared(child) for name, child in value.items()}
    return [_unshared(child) for child in value] if isinstance(value, list) else value


def _descend(at: Any, step: str | int, following: Any, path: Path) -> Any:
    if isinstance(at, dict) and isinstance(step, str):
        if at.get(step) is None:
            at[step] = following
        return at[step]
    if isinstance(at, list) and isinstance(step, int) and 0 <= step <= len(at):
        if step == len(at):
            at.append(following)
        elif at[step] is None:
            at[step] = following
        return at[step]
    raise EditRefusedError(_no_room(path[:-1], step))


def _no_room(path: Path, step: str | int) -> str:
    where = path_text(path) or "the document"
    return f"{where} cannot hold {'item ' + str(step + 1) if isinstance(step, int) else step}"


def _steps(old: Any, new: Any, path: Path) -> Iterable[tuple[Path, Any]]:
    """Split a change into minimal steps, in an order that keeps positions valid."""
    if isinstance(old, dict) and isinstance(new, dict) and old and new:
        kept = [name for name in old if name in new]
        if kept:
            for name in old:
                if name not in new:
                    yield (*path, name), REMOVE
            for name, value in new.items():
                if name not in old:
                    yield (*path, name), value
                elif not _same(old[name], value):
                    yield from _steps(old[name], value, (*path, name))
            return
    elif isinstance(old, list) and isinstance(new, list) and old and new:
        yield from _list_steps(old, new, path)
        return
    yield path, new


def _list_steps(old: list[Any], new: list[Any], path: Path) -> Iterable[tuple[Path, Any]]:
    marks = {True: [repr(item) for item in old], False: [repr(item) for item in new]}
    steps: list[tuple[Path, Any]] = []
    for tag, start, end, new_start, new_end in reversed(
        SequenceMatcher(None, marks[True], marks[False], autojunk=False).get_opcodes()
    ):
        if tag == "equal":
            continue
        paired = min(end - start, new_end - new_start)
        added = range(new_end - 1, new_start + paired - 1, -1)
        steps += [((*path, start + paired), _Insert(new[position])) for position in added]
        steps += [((*path, position), REMOVE) for position in range(end - 1, start + paired - 1, -1)]
        for offset in range(paired):
            steps += _steps(old[start + offset], new[new_start + offset], (*path, start + offset))
    yield from steps


class _Insert:
    """A value that goes before the list item at its path."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _same(left: Any, right: Any) -> bool:
    return left == right and repr(left) == repr(right)


def _spliced(text: str, path: Path, value: Any) -> str:
    root = read(text).root
    assert root is not None
    place = FieldPlace(text, root, path)
    try:
        if isinstance(value, _Remove):
            return place.remove()
        if isinstance(value, _Insert):
            return place.insert(value.value)
        return place.put(value)
    except UnwritableError as error:
        raise EditRefusedError(str(error)) from error
