"""Changing one field of a text."""

from __future__ import annotations

from copy import deepcopy
from difflib import SequenceMatcher
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from karptui.whatif.documents.parse import parse
from karptui.whatif.documents.problem import Path
from karptui.whatif.documents.splice import REMOVE, set_value

from .yaml_texts import NAMES, VALUES, texts


def body_of(text: str) -> Any:
    parsed = parse(text)
    assert not parsed.problems, parsed.problems
    return parsed.documents[0].body


def paths(value: Any, path: Path = ()) -> list[Path]:
    found = [path] if path else []
    if isinstance(value, dict):
        for name, child in value.items():
            found += paths(child, (*path, name))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            found += paths(child, (*path, index))
    return found


def at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


@given(texts())
def test_texts_say_what_they_were_drawn_from(drawn: tuple[str, dict[str, Any]]) -> None:
    assert body_of(drawn[0]) == drawn[1]


@settings(max_examples=300)
@given(texts(), st.data())
def test_sets_exactly_the_field(drawn: tuple[str, dict[str, Any]], data: st.DataObject) -> None:
    text, before = drawn
    path = data.draw(st.sampled_from(paths(before)))
    value = data.draw(VALUES)
    wanted = deepcopy(before)
    at(wanted, path[:-1])[path[-1]] = value
    after = set_value(text, 0, path, value)
    assert body_of(after) == wanted
    assert_lines_kept(text, after, path)


@settings(max_examples=300)
@given(texts(), st.data())
def test_removes_exactly_the_field(drawn: tuple[str, dict[str, Any]], data: st.DataObject) -> None:
    text, before = drawn
    path = data.draw(st.sampled_from(paths(before)))
    wanted = deepcopy(before)
    del at(wanted, path[:-1])[path[-1]]
    after = set_value(text, 0, path, REMOVE)
    assert body_of(after) == wanted
    assert_lines_kept(text, after, path)


@settings(max_examples=300)
@given(texts(), st.data())
def test_adds_exactly_the_field(drawn: tuple[str, dict[str, Any]], data: st.DataObject) -> None:
    text, before = drawn
    around = data.draw(
        st.sampled_from([path for path in [(), *paths(before)] if isinstance(at(before, path), dict | list)])
    )
    whole = at(before, around)
    names = NAMES.filter(lambda name: name not in whole)
    step: str | int = len(whole) if isinstance(whole, list) else data.draw(names)
    more = data.draw(st.sampled_from([(), ("x",), (0,), ("x", 0, "y")]))
    value = data.draw(VALUES)
    nested = value
    for inner in reversed(more):
        nested = [nested] if isinstance(inner, int) else {inner: nested}
    wanted = deepcopy(before)
    if isinstance(whole, list):
        at(wanted, around).append(nested)
    else:
        at(wanted, around)[step] = nested
    after = set_value(text, 0, (*around, step, *more), value)
    assert body_of(after) == wanted
    assert_lines_kept(text, after, (*around, step))


def assert_lines_kept(before: str, after: str, path: Path) -> None:
    """Lines outside the field's own are the same, comments included."""
    root = parse(before).documents[0].root
    assert root is not None
    first, last = span(before, root, path)
    old, new = before.splitlines(), after.splitlines()
    assert new[:first] == old[:first]
    for tag, start, end, _, _ in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag in {"replace", "delete"}:
            assert first <= start
            assert end - 1 <= last, (old[start:end], path)


def span(text: str, root: Any, path: Path) -> tuple[int, int]:
    """Gives the first and last line that may change: those of the field, or of its container where it is in braces."""
    node, start = root, root.start
    for step in path:
        if node.flow or node.kind == "scalar":
            break
        if isinstance(step, str):
            entry = node.entry(step)
            if entry is None:
                break
            start, node = entry.key.start, entry.node
        else:
            if step >= len(node.items):
                break
            start, node = text.rfind("-", 0, max(node.items[step].start, 1)), node.items[step]
    end = max(node.end, start)
    first, last = text.count("\n", 0, start), text.count("\n", 0, end)
    # A field that shares its dash's line lets the next one move up to it.
    if path and isinstance(path[-1], str) and text[:start].rpartition("\n")[2].strip():
        last = text.count("\n")
    return first, last
