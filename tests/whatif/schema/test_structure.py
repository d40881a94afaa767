from __future__ import annotations

from typing import Any

import pytest

from karptui.whatif.schema.formats import compiled, go_pattern, pattern_words
from karptui.whatif.schema.schema import with_defaults
from karptui.whatif.schema.structure import structure_violations
from tests.builders import present

TEXT = {"type": "string"}
QUANTITY = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
ITEM = {"type": "object", "properties": {"name": TEXT, "port": {"type": "integer", "default": 80}}}
KEYED = {
    "type": "array",
    "items": ITEM,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name", "port"],
}


def messages_of(value: Any, schema: dict[str, Any]) -> list[str]:
    return [violation.message for violation in structure_violations(value, schema)]


@pytest.mark.parametrize(("value", "schema", "words"), [
    ("x", TEXT, []),
    (5, TEXT, ['must be text, but 5 is given; put it in quotes: "5"']),
    (True, TEXT, ['must be text, but true is given; put it in quotes: "true"']),
    ({}, TEXT, ["must be text, but fields are given"]),
    ([], TEXT, ["must be text, but a list is given"]),
    (None, TEXT, ["must be text, but nothing is given"]),
    (None, {"type": "string", "nullable": True}, []),
    (None, {}, []),
    ("x", {"type": "integer"}, ['must be a whole number, but "x" is given']),
    (5.0, {"type": "integer"}, []),
    (5.5, {"type": "integer"}, ["must be a whole number, but 5.5 is given"]),
    (5, {"type": "number"}, []),
    ("x", {"type": "boolean"}, ['must be true or false, but "x" is given']),
    ("x", {"type": "array"}, ['must be a list, but "x" is given']),
    ("x", {"type": "object"}, ['must be fields, but "x" is given']),
    (5, QUANTITY, []),
    (5.0, QUANTITY, []),
    ("5", QUANTITY, []),
    (5.5, QUANTITY, ['must be a whole number or text; put it in quotes: "5.5"']),
    (0.5, {"format": "quantity"}, []),
    ([], {"format": "quantity"}, ["must be a quantity"]),
    ("c", {"enum": ["a", "b"]}, ["must be one of a, b"]),
    ("in", {"enum": ["In", "NotIn"]}, ["must be one of In, NotIn; did you mean In?"]),
    ("c", {"enum": ["a"]}, ["must be a"]),
    ("c", {"enum": [str(i) for i in range(20)]}, ["must be one of " + ", ".join(map(str, range(12))) + ", …"]),
    ("x", {"type": "string", "minLength": 2}, ["must have at least 2 characters, has 1"]),
    ("xxx", {"type": "string", "maxLength": 2}, ["must have at most 2 characters, has 3"]),
    ("30d", {"type": "string", "pattern": "^([0-9]+(s|m|h))+$"}, ["must be a duration such as 30s, 5m or 720h"]),
    ("x", {"type": "string", "pattern": "^y$"}, ["must be text that matches ^y$"]),
    ("x", {"type": "string", "pattern": "(?<!z)y("}, []),
    (1, {"type": "integer", "minimum": 2}, ["must be at least 2"]),
    (2, {"type": "integer", "minimum": 2, "exclusiveMinimum": True}, ["must be more than 2"]),
    (3, {"type": "integer", "maximum": 2}, ["must be at most 2"]),
    (2, {"type": "integer", "maximum": 2, "exclusiveMaximum": True}, ["must be less than 2"]),
    (3, {"type": "integer", "multipleOf": 2}, ["must be a multiple of 2"]),
    (2**31, {"type": "integer", "format": "int32"},
     ["must be a whole number between -2,147,483,648 and 2,147,483,647"]),
    (2**31, {"type": "integer", "format": "int64"}, []),
    ("2026-01-31T09:00:00Z", {"type": "string", "format": "date-time"}, []),
    ("2026-02-31T09:00:00Z", {"type": "string", "format": "date-time"},
     ["must be a time such as 2026-01-31T09:00:00Z"]),
    ("soon", {"type": "string", "format": "date-time"}, ["must be a time such as 2026-01-31T09:00:00Z"]),
    ("soon", {"type": "string", "format": "date"}, ["must be a date such as 2026-01-31"]),
    ("a", {"type": "string", "format": "byte"}, ["must be base64"]),
    ("a", {"type": "string", "format": "unheard-of"}, []),
    ([1], {"type": "array", "minItems": 2}, ["must have at least 2 items, has 1"]),
    ([1, 2], {"type": "array", "maxItems": 1}, ["must have at most 1 items, has 2"]),
    (["a", "a"], {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"}, ["a is in the list twice"]),
    ([{"name": "a"}, {"name": "a", "port": 80}], KEYED, ["name a port 80 is in the list twice"]),
    ([{"name": "a"}, {"name": "a", "port": 81}], KEYED, []),
    (["a", "a"], {**KEYED, "items": TEXT}, ["a is in the list twice"]),
    ({"a": 1}, {"type": "object", "maxProperties": 0}, ["must have at most 0 fields, has 1"]),
    ({}, {"type": "object", "required": ["a"]}, ["required, but missing"]),
    ({"nmae": "x"}, ITEM, ["unknown field nmae; did you mean name?"]),
    ({"zzz": "x"}, ITEM, ["unknown field zzz; known here: name, port"]),
    ({"a": 1}, {"type": "object", "additionalProperties": False}, ["unknown field a"]),
    ({"a": 1}, {"type": "object", "additionalProperties": True}, []),
    ({"a": 1}, {"type": "object", "additionalProperties": TEXT},
     ['must be text, but 1 is given; put it in quotes: "1"']),
    ({"a": 1}, {**ITEM, "x-kubernetes-preserve-unknown-fields": True}, []),
    ({"a": 1}, {"type": "object"}, []),
    ("x", {"allOf": [{"maxLength": 0}, {"minLength": 2}]},
     ["must have at most 0 characters, has 1", "must have at least 2 characters, has 1"]),
    ({}, {"anyOf": [{"required": ["a"]}, {"required": ["b", "c"]}]}, ["must have a or b with c"]),
    ({"a": 1, "b": 2}, {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, ["must have exactly one of a or b"]),
    ({"a": 1}, {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, []),
    ({"a": 1}, {"not": {"required": ["a"]}}, ["must not have a"]),
    ("x", {"not": {"enum": ["x"]}}, ['must not have {"enum": ["x"]}']),
])  # fmt: skip
def test_violations_of_a_schema_are_reported(value: Any, schema: dict[str, Any], words: list[str]) -> None:
    assert messages_of(value, schema) == words


def test_fills_in_defaults_and_leaves_out_nulls() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer", "default": 1},
                       "b": {"type": "object", "default": {}, "properties": {"c": {"type": "string", "default": "x"}}},
                       "d": {"type": "string"}, "e": {"type": "string", "nullable": True},
                       "f": {"type": "array", "items": ITEM}, "g": {"type": "array"}},
    }  # fmt: skip
    value = {"a": None, "d": None, "e": None, "f": [{"name": None}, 3], "g": [None], "h": None}
    assert with_defaults(value, schema) == {
        "a": 1, "b": {"c": "x"}, "e": None, "f": [{"port": 80}, 3], "g": [None], "h": None,
    }  # fmt: skip
    assert value["a"] is None


def test_patterns_behave_as_in_go_and_take_linear_time() -> None:
    hostile = "a " * 3_000 + "\n"
    assert messages_of(hostile, {"type": "string", "pattern": r"^(.+)\s(.+)\s(.+)\s(.+)\s(.+)$"})
    assert messages_of("a" * 5_000 + "!", {"type": "string", "pattern": "^(a+)+$"})
    assert messages_of("x\n", {"type": "string", "pattern": "^x$"})
    assert go_pattern(r"^a\$[$^]\z$") == r"^a\$[$^]\Z\Z"
    pattern = present(compiled("^a$"))
    assert not pattern.search("a\n")
    assert compiled("(") is None
    assert pattern_words("^x$") == "text that matches ^x$"
