"""Strategies for realistic YAML: comments, blank lines, both list styles, braces, quotes."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

NAMES = st.sampled_from(["spec", "limits", "cpu", "key", "values", "a.b/c-d", "taints", "x", "name", "with space"])
TEXTS = st.sampled_from(["a", "In", "100m", "yes", "12", "", "a b", "a: b", "# no", "-x", "- x", "it's", 'say "hi"',
                         "*", "1e3", "12:30", "é😀", "~"])  # fmt: skip
SCALARS = st.one_of(TEXTS, st.integers(-5, 5000), st.booleans(), st.sampled_from([0.5, -1.25, 1e-7]))
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(NAMES, inner, max_size=4)),
    max_leaves=12,
)
MAPPINGS = st.dictionaries(NAMES, VALUES, min_size=1, max_size=5)


@st.composite
def texts(draw: st.DrawFn, mappings: st.SearchStrategy[dict[str, Any]] = MAPPINGS) -> tuple[str, dict[str, Any]]:
    value = draw(mappings)
    writer = Writer(draw)
    lines = writer.mapping(value, 0)
    return "\n".join(lines) + draw(st.sampled_from(["\n", "", "\n\n", "\n# end\n"])), value


class Writer:
    """Writes a value with a random layout."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw
        self._list_indent = draw(st.sampled_from([0, 2, 4]))
        self._indent = draw(st.sampled_from([2, 4]))

    def _chance(self, percent: int) -> bool:
        return self._draw(st.integers(0, 99)) < percent

    def mapping(self, value: dict[str, Any], column: int) -> list[str]:
        lines: list[str] = []
        for name, child in value.items():
            if self._chance(15):
                lines += [" " * column + "# about " + name] if self._chance(60) else [""]
            lines += self._field(json.dumps(name) if self._chance(10) or " " in name else name, child, column)
        return lines

    def _field(self, name: str, child: Any, column: int) -> list[str]:
        tail = "  # why" if self._chance(20) else ""
        head = " " * column + name + ":"
        if isinstance(child, dict) and child and self._chance(75):
            return [head + tail, *self.mapping(child, column + self._indent)]
        if isinstance(child, list) and child and self._chance(65):
            return [head + tail, *self._items(child, column + self._list_indent)]
        if child is None and self._chance(50):
            return [head + tail]
        return [head + " " + self._flow(child) + tail]

    def _items(self, value: list[Any], column: int) -> list[str]:
        lines: list[str] = []
        for child in value:
            if self._chance(15):
                lines.append(" " * column + "# item")
            if isinstance(child, dict) and child and self._chance(70):
                inner = self.mapping(child, column + 2)
                if inner[0].strip() and not inner[0].lstrip().startswith("#"):
                    lines += [" " * column + "- " + inner[0].lstrip(), *inner[1:]]
                else:
                    lines += [" " * column + "-", *inner]
            elif isinstance(child, list) and child and self._chance(50):
                inner = self._items(child, column + 2)
                if inner[0].lstrip().startswith("#"):
                    lines += [" " * column + "-", *inner]
                else:
                    lines += [" " * column + "- " + inner[0].lstrip(), *inner[1:]]
            else:
                lines.append(" " * column + "- " + self._flow(child) + ("  # one" if self._chance(15) else ""))
        return lines

    def _flow(self, value: Any) -> str:
        if isinstance(value, dict):
            return "{" + ", ".join(f"{json.dumps(key)}: {self._flow(item)}" for key, item in value.items()) + "}"
        if isinstance(value, list):
            return "[" + ", ".join(self._flow(item) for item in value) + "]"
        if isinstance(value, str):
            if (
                value
                and value.isalnum()
                and value.isascii()
                and value.isalpha()
                and value != "yes"
                and self._chance(70)
            ):
                return value
            if self._chance(40):
                return "'" + value.replace("'", "''") + "'"
            return json.dumps(value, ensure_ascii=False)
        return json.dumps(value)
