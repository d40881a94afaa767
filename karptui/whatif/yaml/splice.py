"""Change one field of a document, keeping every other byte of the text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Any, Final

from karptui.whatif.edits import ObjectRef
from karptui.whatif.field_path import Path, path_text, value_at
from karptui.whatif.yaml.tree import Document, NodeKind, YamlNode, parse, read, trail
from karptui.whatif.yaml.write import UnwritableError, is_block, write_block, write_field, write_flow, write_scalar


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
    if not path:
        raise EditRefusedError("a document as a whole is changed by typing")
    new_body = with_value(body, path, value)
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


def with_value(whole: Any, path: Path, value: Any, *, around: Path = ()) -> Any:
    """Return a document with a value at a path, or without it for ``REMOVE``; what is not on the way is shared.

    Missing fields on the way are made, and an item may be put behind the last one.

    Args:
        around: The path of ``whole``.
    """
    if not path:
        return value
    step, rest = path[0], path[1:]
    is_gone = isinstance(value, _Remove) and not rest
    if isinstance(step, int) and isinstance(whole, list | None) and 0 <= step <= len(whole or ()):
        items = whole or []
        before = items[step] if step < len(items) else None
        new = [] if is_gone else [with_value(before, rest, value, around=(*around, step))]
        return [*items[:step], *new, *items[step + 1 :]]
    if isinstance(step, str) and isinstance(whole, dict | None):
        fields = whole or {}
        if is_gone:
            return {name: child for name, child in fields.items() if name != step}
        return {**fields, step: with_value(fields.get(step), rest, value, around=(*around, step))}
    where = path_text(around) or "the document"
    raise EditRefusedError(f"{where} cannot hold {f'item {step + 1}' if isinstance(step, int) else step}")


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
    place = _FieldPlace(text, root, path)
    try:
        if isinstance(value, _Remove):
            return place.remove()
        if isinstance(value, _Insert):
            return place.insert(value.value)
        return place.put(value)
    except UnwritableError as error:
        raise EditRefusedError(str(error)) from error


_DASH = re.compile(r"\n[ ]*-(?=\s|\Z)")
_DEFAULT_STEP = 2


class _FieldPlace:
    """A path in a text, with the nodes that lead to it."""

    def __init__(self, text: str, root: YamlNode, path: Path) -> None:
        self._text = text
        self._root = root
        self._path = path
        self._trail = [node for node, _ in trail(root, path)]
        self._newline = "\r\n" if "\r\n" in text else "\n"

    def put(self, value: Any) -> str:
        """Return the text with the value at the path, whatever was there."""
        depth = len(self._trail) - 1
        node = self._trail[-1]
        rest = self._path[depth:]
        shared = next((index for index, yaml_node in enumerate(self._trail) if yaml_node.alias), None)
        if shared is not None:
            # The fields of an alias are defined elsewhere: a copy of them is written here.
            whole = with_value(self._trail[shared].value, self._path[shared:], value)
            return self._replace(shared, whole)
        if not rest or node.kind is NodeKind.SCALAR:
            return self._replace(depth, _wrapped(rest, value))
        if isinstance(rest[0], int):
            return self._add_item(node, rest[0], _wrapped(rest[1:], value))
        return self._add_field(node, rest[0], _wrapped(rest[1:], value))

    def insert(self, value: Any) -> str:
        """Return the text with a value before the list item at the path."""
        position = self._path[-1]
        assert isinstance(position, int)
        return self._add_item(self._trail[len(self._path) - 1], position, value)

    def remove(self) -> str:
        """Return the text without the field or item at the path."""
        shared = next((index for index, node in enumerate(self._trail[:-1]) if node.alias), None)
        if shared is not None:
            return self._replace(shared, with_value(self._trail[shared].value, self._path[shared:], REMOVE))
        if len(self._trail) <= len(self._path):
            return self._text
        around, last = self._trail[-2], self._path[-1]
        if len(around.entries) + len(around.items) == 1:
            return self._replace(len(self._path) - 1, {} if around.kind is NodeKind.MAPPING else [])
        spans = self._spans(around)
        index = last if isinstance(last, int) else _index(around, last)
        if around.flow:
            return self._remove_flow(spans, index)
        return self._remove_block(spans, index)

    def _spans(self, around: YamlNode) -> list[tuple[int, int]]:
        """Give start and end of each field or item, dash and key included."""
        if around.kind is NodeKind.MAPPING:
            return [(entry.key.start, max(entry.node.end, entry.key.end)) for entry in around.entries]
        if around.flow:
            return [(item.start, item.end) for item in around.items]
        dashes = self._dashes(around)
        return [(dash, max(item.end, dash + 1)) for dash, item in zip(dashes, around.items, strict=True)]

    def _dashes(self, around: YamlNode) -> list[int]:
        dashes: list[int] = []
        position = around.start
        for item in around.items:
            if not dashes and self._text[position] == "-":
                dash = position
            else:
                match = _DASH.search(self._text, position, item.start + 1)
                assert match is not None
                dash = match.end() - 1
            dashes.append(dash)
            position = max(item.end, dash + 1)
        return dashes

    def _remove_flow(self, spans: list[tuple[int, int]], index: int) -> str:
        if index == 0:
            return self._text[: spans[0][0]] + self._text[spans[1][0] :]
        return self._text[: spans[index - 1][1]] + self._text[spans[index][1] :]

    def _remove_block(self, spans: list[tuple[int, int]], index: int) -> str:
        start, end = spans[index]
        line = self._line_start(start)
        stop = self._line_end(end)
        if not self._text[line:start].strip():
            return self._text[:line] + self._text[stop:]
        # It shares its line with the dash before it: the next field moves up to that dash.
        following = spans[index + 1][0]
        if "#" in self._text[stop : self._line_start(following)]:
            return self._text[:start].rstrip(" ") + self._newline + self._text[stop:]
        return self._text[:start] + self._text[following:]

    def _replace(self, depth: int, value: Any) -> str:
        node = self._trail[depth]
        if not depth:
            return self._text[: node.start] + write_flow(value) + self._text[node.end :]
        around = self._trail[depth - 1]
        in_flow = self._in_flow(depth - 1)
        start, end = node.start, node.end
        is_line = node.kind is NodeKind.SCALAR or node.flow
        if node.style in ("|", ">") or (not is_line):
            return self._replace_lines(depth, value)
        lead = "" if start < end else self._lead(start, around)
        if in_flow or not self._needs_block(node, value):
            quote = node.style if node.style in ("'", '"') else ""
            text = write_scalar(value, quote=quote) if not isinstance(value, dict | list | tuple) else write_flow(value)
            tail = " " if start == end and self._text[end : end + 1] not in ("", "\n", "\r", " ", ",", "}", "]") else ""
            return self._text[:start] + lead + text + tail + self._text[end:]
        return self._replace_lines(depth, value)

    def _lead(self, start: int, around: YamlNode) -> str:
        before = self._text[:start].rstrip()[-1:]
        if around.kind is NodeKind.MAPPING and before != ":":
            return ": "
        return " "

    def _needs_block(self, node: YamlNode, value: Any) -> bool:
        if not isinstance(value, dict | list | tuple) or not value:
            return False
        # Braces stay braces; other new values go on separate lines.
        if node.flow and not node.alias:
            return False
        return isinstance(value, dict) or is_block(value, self._column(node.start))

    def _replace_lines(self, depth: int, value: Any) -> str:
        node = self._trail[depth]
        step = self._path[depth - 1]
        around = self._trail[depth - 1]
        if isinstance(step, int):
            index, dash = step, self._dashes(around)[step]
            head, indent = dash + 1, self._column(dash) + 2
            lines = self._item_lines(around, value, indent - 2)
            return self._text[:dash] + self._joined(lines, indent - 2) + self._text[self._spans(around)[index][1] :]
        entry = around.entries[_index(around, step)]
        head = self._text.index(":", entry.key.end) + 1
        indent = self._column(entry.key.start)
        line_end = self._content_end(head)
        lines = self._field_lines(entry.name, value, indent)
        first = lines[0].partition(":")[2] if not entry.key.style else lines[0][len(write_scalar(entry.name)) + 1 :]
        if self._line_end(head) <= node.start:
            # The field's own line, with its comment, is kept.
            kept = self._text[:head] + first + self._text[head:line_end]
            body = "".join(self._newline + (" " * indent + line if line else "") for line in lines[1:])
            return kept + body + self._text[self._content_end(node.end) :]
        body = "".join(self._newline + (" " * indent + line if line else "") for line in lines[1:])
        if body and node.style not in ("|", ">"):
            tail = self._text[node.end : self._content_end(node.end)]
            return self._text[:head] + first + tail + body + self._text[node.end + len(tail) :]
        return self._text[:head] + first + body + self._text[node.end :]

    def _add_field(self, node: YamlNode, name: str, value: Any) -> str:
        if node.flow or self._in_flow(self._trail.index(node)):
            return self._add_flow(node, f"{write_scalar(name)}: {write_flow(value)}", len(node.entries))
        indent = self._column(node.entries[0].key.start)
        lines = self._field_lines(name, value, indent)
        return self._insert_lines(self._spans(node)[-1][1], lines, indent)

    def _add_item(self, node: YamlNode, position: int, value: Any) -> str:
        if node.flow:
            return self._add_flow(node, write_flow(value), position)
        spans = self._spans(node)
        indent = self._column(spans[0][0])
        lines = self._item_lines(node, value, indent)
        if position:
            return self._insert_lines(spans[position - 1][1], lines, indent)
        start = spans[0][0]
        return self._text[:start] + self._joined(lines, indent) + self._newline + " " * indent + self._text[start:]

    def _add_flow(self, node: YamlNode, text: str, position: int) -> str:
        spans = self._spans(node)
        if not spans:
            start = self._text.index("{" if node.kind is NodeKind.MAPPING else "[", node.start) + 1
            return self._text[:start] + text + self._text[node.end - 1 :]
        if position == 0:
            start = spans[0][0]
            return self._text[:start] + text + ", " + self._text[start:]
        end = spans[position - 1][1]
        return self._text[:end] + ", " + text + self._text[end:]

    def _field_lines(self, name: str, value: Any, indent: int) -> list[str]:
        return write_field(name, value, indent=indent, list_indent=self._list_indent())

    def _item_lines(self, node: YamlNode, value: Any, indent: int) -> list[str]:
        if isinstance(value, dict | list) and node.items and all(item.flow for item in node.items):
            return ["- " + write_flow(value)]
        return write_block([value], indent=indent, list_indent=self._list_indent())

    def _insert_lines(self, position: int, lines: list[str], indent: int) -> str:
        at = self._line_end(position)
        text = " " * indent + self._joined(lines, indent)
        if at > 0 and self._text[at - 1] != "\n":
            return self._text[:at] + self._newline + text + self._text[at:]
        return self._text[:at] + text + self._newline + self._text[at:]

    def _joined(self, lines: list[str], indent: int) -> str:
        return (self._newline + " " * indent).join(lines).replace(" " * indent + self._newline, self._newline)

    def _list_indent(self) -> int:
        """Return the indentation of lists relative to their field in this document: kubectl writes 0, most people 2."""
        waiting = [self._root]
        while waiting:
            node = waiting.pop()
            for entry in node.entries:
                child = entry.node
                if child.kind is NodeKind.SEQUENCE and not child.flow and self._text[child.start] == "-":
                    return self._column(child.start) - self._column(entry.key.start)
                waiting.append(child)
            waiting += node.items
        return _DEFAULT_STEP

    def _in_flow(self, depth: int) -> bool:
        return any(node.flow for node in self._trail[: depth + 1])

    def _column(self, position: int) -> int:
        return position - self._line_start(position)

    def _line_start(self, position: int) -> int:
        return self._text.rfind("\n", 0, position) + 1

    def _line_end(self, position: int) -> int:
        end = self._text.find("\n", position)
        return len(self._text) if end < 0 else end + 1

    def _content_end(self, position: int) -> int:
        end = self._line_end(position)
        return len(self._text[:end].rstrip("\r\n")) if end > position else end


def _index(node: YamlNode, name: str | int) -> int:
    return max(index for index, entry in enumerate(node.entries) if entry.name == name)


def _wrapped(path: Path, value: Any) -> Any:
    for step in reversed(path):
        value = [value] if isinstance(step, int) else {step: value}
    return value
