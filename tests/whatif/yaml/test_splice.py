from __future__ import annotations

from collections import Counter
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karptui.whatif.edits import ObjectRef
from karptui.whatif.field_path import Path
from karptui.whatif.yaml.splice import REMOVE, EditRefusedError, append_item, get_value, remove_item, set_value
from karptui.whatif.yaml.tree import parse
from tests.builders import present

from .yaml_texts import NAMES, VALUES, texts


def body_of(text: str) -> Any:
    parsed = parse(text)
    assert not parsed.problems, parsed.problems
    return parsed.documents[0].body


def paths(value: Any, path: Path = ()) -> list[Path]:
    result = [path] if path else []
    if isinstance(value, dict):
        for name, child in value.items():
            result += paths(child, (*path, name))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            result += paths(child, (*path, index))
    return result


def at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


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


@given(texts(), st.data())
def test_removes_exactly_the_field(drawn: tuple[str, dict[str, Any]], data: st.DataObject) -> None:
    text, before = drawn
    path = data.draw(st.sampled_from(paths(before)))
    wanted = deepcopy(before)
    del at(wanted, path[:-1])[path[-1]]
    after = set_value(text, 0, path, REMOVE)
    assert body_of(after) == wanted
    # In a list that begins on its parent's line (``- - a``), the next item moves up to that line.
    begins_on_its_line = path[-1] == 0 and len(path) > 1 and isinstance(path[-2], int)
    if not begins_on_its_line:
        assert_lines_kept(text, after, path)


@given(texts(), st.data())
def test_adds_exactly_the_field(drawn: tuple[str, dict[str, Any]], data: st.DataObject) -> None:
    text, before = drawn
    around = data.draw(
        st.sampled_from([path for path in [(), *paths(before)] if isinstance(at(before, path), dict | list)])
    )
    whole = at(before, around)
    names = NAMES.filter(lambda name: name not in whole)
    step: str | int = len(whole) if isinstance(whole, list) else data.draw(names)
    more: Path = data.draw(st.sampled_from([(), ("x",), (0,), ("x", 0, "y")]))
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
    changed = Counter(text.splitlines()) - Counter(after.splitlines())
    assert changed.total() <= 1, changed


def assert_lines_kept(before: str, after: str, path: Path) -> None:
    """Check that lines outside the field are unchanged, including comments."""
    root = present(parse(before).documents[0].root)
    first, last = span(before, root, path)
    old, new = before.splitlines(), after.splitlines()
    assert new[:first] == old[:first]
    left = old[last + 1 :]
    assert new[len(new) - len(left) :] == left


def span(text: str, root: Any, path: Path) -> tuple[int, int]:
    """Return the first and last line that may change: the field's, or its container's if it is in braces."""
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
    if len(path) > 1 and first:
        around = parse(text).documents[0].root
        for step in path[:-1]:
            # The loop above found an entry for each step except the last.
            around = around and (around.entry(step).node if isinstance(step, str) else around.items[step])  # type: ignore[union-attr]
        # Removing the last entry of a mapping or list leaves {} or [] after its name.
        if around is not None and len(around.entries) + len(around.items) == 1:
            return span(text, root, path[:-1])
    # If a field on its dash's line is removed, the next field moves up to that line.
    if path and isinstance(path[-1], str) and text[:start].rpartition("\n")[2].strip():
        last = text.count("\n")
    return first, last


POOL = """\
# our pool
kind: NodePool  # not a class
metadata: {name: general}
spec:
  weight: 50   # middle
  limits:
    # agreed with finance
    cpu: "400"
    memory: 1600Gi
  template:
    spec:
      requirements:
        - key: a
          operator: In
          values: [x, q]   # two
        # the other
        - {key: b, operator: Exists}
      taints: []
      expireAfter:
  disruption:   # careful
    consolidateAfter: 30s
---
kind: Other
metadata: {name: other}
"""
LIMITS = '# agreed with finance\n    cpu: "400"\n    memory: 1600Gi'
FIRST = "- key: a\n          operator: In\n          values: [x, q]   # two"
AFTER = "    consolidateAfter: 30s\n"
SPEC: Path = ("spec", "template", "spec")


@pytest.mark.parametrize(("path", "value", "old", "new"), [
    (("spec", "weight"), 60, "weight: 50   # middle", "weight: 60   # middle"),
    (("spec", "weight"), "60", "weight: 50   # middle", 'weight: "60"   # middle'),
    (("spec", "limits", "cpu"), "480", 'cpu: "400"', 'cpu: "480"'),
    (("spec", "limits", "cpu"), 480, 'cpu: "400"', "cpu: 480"),
    (("spec", "limits", "memory"), "2Ti", "1600Gi", "2Ti"),
    (("spec", "limits", "cpu"), REMOVE, '    cpu: "400"\n', ""),
    (("metadata", "name"), "gpu", "{name: general}", "{name: gpu}"),
    (("metadata", "labels", "a"), "b", "{name: general}", "{name: general, labels: {a: b}}"),
    (("spec", "limits"), {"memory": "1600Gi", "cpu": "480"}, 'cpu: "400"', 'cpu: "480"'),
    (("spec", "limits"), {"memory": "1Ti", "cpu": "400", "pods": 5}, "memory: 1600Gi", "memory: 1Ti\n    pods: 5"),
    (("spec", "limits"), {"memory": "1600Gi"}, '    cpu: "400"\n', ""),
    (("spec", "limits"), {"nodes": 5}, f"    {LIMITS}\n", "    nodes: 5\n"),
    ((*SPEC, "requirements", 0, "values"), ["x"], "[x, q]", "[x]"),
    ((*SPEC, "requirements", 0, "values"), ["z", "x", "q"], "[x, q]", "[z, x, q]"),
    ((*SPEC, "requirements", 0, "values"), ["x", "z", "q"], "[x, q]", "[x, z, q]"),
    ((*SPEC, "requirements", 0, "key"), REMOVE, "- key: a\n          operator: In", "- operator: In"),
    ((*SPEC, "requirements", 0), REMOVE, f"        {FIRST}\n", ""),
    ((*SPEC, "requirements", 1, "operator"), "In", "{key: b, operator: Exists}", "{key: b, operator: In}"),
    ((*SPEC, "requirements", 1, "key"), REMOVE, "{key: b, operator: Exists}", "{operator: Exists}"),
    ((*SPEC, "taints", 0), {"key": "a", "effect": "b"}, "taints: []", "taints: [{key: a, effect: b}]"),
    ((*SPEC, "expireAfter"), "Never", "expireAfter:\n", "expireAfter: Never\n"),
    (("spec", "disruption", "budgets"), [{"nodes": "10%"}], AFTER, f"{AFTER}    budgets:\n      - nodes: 10%\n"),
    (("spec", "disruption"), {}, f"  disruption:   # careful\n{AFTER}", "  disruption: {}   # careful\n"),
    (("spec", "disruption"), "x", f"  disruption:   # careful\n{AFTER}", "  disruption: x   # careful\n"),
    (("spec", "weight"), {"a": 1}, "weight: 50   # middle\n", "weight:   # middle\n    a: 1\n"),
])  # fmt: skip
def test_changes_the_lines_of_the_field(path: Path, value: Any, old: str, new: str) -> None:
    assert POOL.count(old) == 1
    after = set_value(POOL, ObjectRef("NodePool", "general"), path, value)
    assert after == POOL.replace(old, new)


def test_other_documents_stay_unchanged() -> None:
    after = set_value(POOL, 1, ("metadata", "name"), "more")
    assert after == POOL.replace("{name: other}", "{name: more}")
    assert set_value(POOL, 0, ("spec", "weight"), 50) == POOL


def test_reads_and_changes_lists() -> None:
    values = (*SPEC, "requirements", 0, "values")
    assert get_value(POOL, 0, values) == ["x", "q"]
    assert get_value(POOL, 0, ("spec", "nothing")) is None
    assert "[x, q, z]   # two" in append_item(POOL, 0, values, "z")
    assert "[q]   # two" in remove_item(POOL, 0, values, "x")
    assert remove_item(POOL, 0, values, "nothing") == POOL
    assert remove_item(POOL, 0, ("spec", "weight"), 50) == POOL
    assert "startupTaints:\n        - key: a\n" in append_item(POOL, 0, (*SPEC, "startupTaints"), {"key": "a"})
    assert set_value(POOL, 0, ("spec", "nothing"), REMOVE) == POOL


def test_removing_the_last_field_can_remove_empty_parents() -> None:
    text = "metadata: {name: a}\nspec:\n  weight: 1\n  limits:\n    cpu: 1\n"
    assert (
        set_value(text, 0, ("spec", "limits", "cpu"), REMOVE, prune=True) == "metadata: {name: a}\nspec:\n  weight: 1\n"
    )
    assert set_value(text, 0, ("spec", "limits", "cpu"), REMOVE).endswith("  limits: {}\n")
    assert set_value("a: 1\n", 0, ("a",), REMOVE) == "{}\n"
    assert set_value("a: {b: {c: 1}}\n", 0, ("a", "b", "c"), REMOVE, prune=True) == "{}\n"


@pytest.mark.parametrize(("text", "path", "value", "wanted"), [
    ("a:\r\n  b: 1\r\nc: 2\r\n", ("a", "d"), {"e": 1}, "a:\r\n  b: 1\r\n  d:\r\n    e: 1\r\nc: 2\r\n"),
    ("a: 1", ("b",), 2, "a: 1\nb: 2"),
    ("a:\n- x\n- y\n", ("a", 2), "z", "a:\n- x\n- y\n- z\n"),
    ("a:\n- - x\n  - y\n", ("a", 0, 0), REMOVE, "a:\n- - y\n"),
    ("a:\n- x: 1\n  # about y\n  y: 2\n", ("a", 0, "x"), REMOVE, "a:\n-\n  # about y\n  y: 2\n"),
    ("a: {b, c: 1}\n", ("a", "b"), 2, "a: {b: 2, c: 1}\n"),
    ("a: [ ]\n", ("a", 0), 1, "a: [1]\n"),
    ("a: {x: 1}\n", ("a", "x"), {"q": [1, {"z": 2}]}, "a: {x: {q: [1, {z: 2}]}}\n"),
    ("a: 'it''s'\n", ("a",), "it's not", "a: 'it''s not'\n"),
    ("a: 'x'\n", ("a",), "two\nlines", 'a: "two\\nlines"\n'),
    ("a: |\n  x\n  y\n\nb: 1\n", ("a",), "z", "a: z\n\nb: 1\n"),
    ("a: |\n  x\nb: 1\n", ("a",), "p\nq\n", "a: |\n  p\n  q\nb: 1\n"),
    ("a: |+\n  x\n\n", ("b",), 1, "a: |+\n  x\n\nb: 1\n"),
    ("a: x\n", ("b",), "p\nq", "a: x\nb: |-\n  p\n  q\n"),
    ("- a", ("b",), 1, None),
    ("a: {\n  x: 1,  # one\n}\n", ("a", "q"), 2, "a: {\n  x: 1, q: 2,  # one\n}\n"),
    ("a:\n  - x\n  -\n  - z\n", ("a", 1), "q", "a:\n  - x\n  - q\n  - z\n"),
    ("a:\n  - x\n  - {y: 1}\n", ("a", 1), {"z": [1], "w": {"v": 1}}, "a:\n  - x\n  - {z: [1], w: {v: 1}}\n"),
    ("a:\n  - x: 1\n", ("a", 0), "q", "a:\n  - q\n"),
    ("a:\n  - x\n", ("a", 0), {"b": 1, "c": 2}, "a:\n  - b: 1\n    c: 2\n"),
    ("'a b':\n  c: 1\n", ("a b",), ["x"], "'a b': [x]\n"),
    ("a: &x {b: 1}\nc: *x\n", ("c", "b"), 2, "a: &x {b: 1}\nc:\n  b: 2\n"),
    ("a: &x {b: 1, d: 2}\nc: *x\n", ("c", "b"), REMOVE, "a: &x {b: 1, d: 2}\nc:\n  d: 2\n"),
    ("a: &x [{b: 1}]\nc: *x\n", ("c", 0, "b"), 2, "a: &x [{b: 1}]\nc:\n  - b: 2\n"),
    ("a: &x [{b: 1, e: 1}]\nc: *x\n", ("c", 0, "b"), REMOVE, "a: &x [{b: 1, e: 1}]\nc:\n  - e: 1\n"),
    ("a: &x [1]\nc: *x\n", ("c", 1), 2, "a: &x [1]\nc: [1, 2]\n"),
    ("b: &x {c: 1}\na:\n  <<: *x\n", ("a", "c"), 2, "b: &x {c: 1}\na:\n  <<: *x\n  c: 2\n"),
    ("a:\n  b: !!str 5\n", ("a", "b"), "6", 'a:\n  b: "6"\n'),
    ("? a\n: b\n", ("a",), "c", "? a\n: c\n"),
    ("a:\n  - x\n", ("a",), ["w", "x"], "a:\n  - w\n  - x\n"),
    ("a:\n- - x\n", ("a", 0), ["w", "x"], "a:\n- - w\n  - x\n"),
    ("a:\n  b:\n    - 1\n    - 2\n", ("a", "b"), [2, 3, 4], "a:\n  b:\n    - 2\n    - 3\n    - 4\n"),
])  # fmt: skip
def test_unusual_layouts_are_edited_or_refused(text: str, path: Path, value: Any, wanted: str | None) -> None:
    if wanted is None:
        with pytest.raises(EditRefusedError):
            set_value(text, 0, path, value)
        return
    assert set_value(text, 0, path, value) == wanted


@pytest.mark.parametrize(("text", "at_document", "path", "value", "words"), [
    (POOL, 7, ("a",), 1, "document 8 is not in the text"),
    (POOL, ObjectRef("NodePool", "none"), ("a",), 1, "NodePool none is not in the text"),
    ("a: [\n", 0, ("a",), 1, "document 1 cannot be read yet"),
    (POOL, 0, (), 1, "a document as a whole"),
    (POOL, 0, ("spec", "weight", "x"), 1, "spec.weight cannot hold x"),
    (POOL, 0, ("spec", 3), 1, "spec cannot hold item 4"),
    (POOL, 0, (*SPEC, "requirements", 9, "key"), 1, "requirements cannot hold item 10"),
    (POOL, 0, ("kind", "x", "y"), 1, "kind cannot hold x"),
    ("a: &x {b: 1}\nc: *x\n", 0, ("a", "b"), 2, "a.b cannot be changed here"),
    ("a: &x 1\nb: *x\n", 0, ("a",), 2, "a cannot be changed here"),
    ("a: 1\na: 2\n", 0, ("a",), REMOVE, "a second field of this name"),
    ("b: &x {c: 1}\na:\n  <<: *x\n", 0, ("a", "c"), REMOVE, "cannot be changed here"),
    (POOL, 0, ("spec", "weight"), float("inf"), "inf cannot be written"),
    (POOL, 0, ("spec", "weight"), "\ud800", "half of a character"),
])  # fmt: skip
def test_refusals_have_a_message(text: str, at_document: int | ObjectRef, path: Path, value: Any, words: str) -> None:
    with pytest.raises(EditRefusedError, match=words):
        set_value(text, at_document, path, value)


def test_null_parents_are_replaced() -> None:
    assert set_value("a:\n", 0, ("a", "b", 0, "c"), 1) == "a:\n  b:\n    - c: 1\n"
    assert set_value("a:\n  - null\n", 0, ("a", 0, "b"), 1) == "a:\n  - b: 1\n"
    assert repr(REMOVE) == "REMOVE"
