"""Hold a document to the structure of its schema: types, formats, bounds, unknown fields."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from karptui.whatif.field_path import Path
from karptui.whatif.schema.formats import format_fault, pattern_words
from karptui.whatif.schema.rules import fits_pattern
from karptui.whatif.schema.schema import Violation

Schema = Mapping[str, Any]
_TYPE_WORDS = {
    "object": "fields",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}
_TYPE_NAMES: Mapping[type, str] = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
}
MAX_LISTED = 12
"""Limit of allowed values in a message."""


def structure_violations(value: Any, schema: Schema, path: Path = ()) -> Iterator[Violation]:
    """Find the parts of a value that its schema does not allow.

    Args:
        value: The value as in JSON, with defaults filled in.
        schema: OpenAPI v3 as Kubernetes restricts it.
    """
    if fault := _type_fault(value, schema):
        yield Violation(path, fault)
        return
    if value is None:
        return
    if "enum" in schema and value not in schema["enum"]:
        yield Violation(path, _enum_sentence(value, schema["enum"]))
    if isinstance(value, dict):
        yield from _mapping_violations(value, schema, path)
    elif isinstance(value, list):
        yield from _list_violations(value, schema, path)
    elif isinstance(value, str):
        yield from _text_violations(value, schema, path)
    elif not isinstance(value, bool):
        yield from _number_violations(value, schema, path)
    yield from _logic_violations(value, schema, path)


def did_you_mean(word: str, words: list[str]) -> str:
    """Propose the nearest of the words, or list them all if there are few."""
    folded = {other.lower(): other for other in words}
    if near := get_close_matches(word.lower(), list(folded), n=1, cutoff=0.6):
        return f"did you mean {folded[near[0]]}?"
    return "known here: " + ", ".join(sorted(words)) if 0 < len(words) <= MAX_LISTED else ""


def type_name(value: Any) -> str:
    """Name the type of a value in the schema's words."""
    return _TYPE_NAMES[type(value)]


def _type_fault(value: Any, schema: Schema) -> str | None:
    actual = type_name(value)
    if actual == "null":
        needed = schema.get("type", "")
        return f"must be {_TYPE_WORDS[needed]}, but nothing is given" if needed and not schema.get("nullable") else None
    if schema.get("x-kubernetes-int-or-string"):
        fits = actual in {"integer", "string"} or (actual == "number" and value == int(value))
        return None if fits else "must be a whole number or text" + _quote_hint(value, actual)
    if schema.get("format") == "quantity":
        return None if actual in {"integer", "number", "string"} else "must be a quantity"
    needed = schema.get("type", actual)
    if actual == needed or (needed == "number" and actual == "integer"):
        return None
    # JSON has one kind of number, so 5.0 is a whole one.
    if needed == "integer" and actual == "number" and value == int(value):
        return None
    given = {"object": "fields are", "array": "a list is", "boolean": f"{json.dumps(value)} is"}.get(actual)
    sentence = f"must be {_TYPE_WORDS[needed]}"
    return f"{sentence}, but {given or json.dumps(value, ensure_ascii=False) + ' is'} given" + (
        _quote_hint(value, actual) if needed == "string" else ""
    )


def _quote_hint(value: Any, actual: str) -> str:
    return f'; put it in quotes: "{json.dumps(value)}"' if actual in {"integer", "number", "boolean"} else ""


def _enum_sentence(value: Any, allowed: list[Any]) -> str:
    words = [str(choice) for choice in allowed]
    near = get_close_matches(str(value).lower(), [word.lower() for word in words], n=1, cutoff=0.6)
    hint = next((f"; did you mean {word}?" for word in words if near and word.lower() == near[0]), "")
    listed = ", ".join(word or '""' for word in words[:MAX_LISTED]) + (", …" if len(words) > MAX_LISTED else "")
    return f"must be one of {listed}{hint}" if len(words) > 1 else f"must be {listed}"


def _mapping_violations(value: dict[str, Any], schema: Schema, path: Path) -> Iterator[Violation]:
    properties = schema.get("properties", {})
    others = schema.get("additionalProperties")
    open_ended = bool(others) or schema.get("x-kubernetes-preserve-unknown-fields") or not _is_closed(schema)
    for name in schema.get("required", ()):
        if name not in value:
            yield Violation((*path, name), "required, but missing")
    for name, child in value.items():
        part = properties.get(name, others)
        if isinstance(part, Mapping):
            yield from structure_violations(child, part, (*path, name))
        elif name not in properties and not open_ended:
            hint = did_you_mean(name, list(properties))
            message = f"unknown field {name}" + (f"; {hint}" if hint else "")
            yield Violation((*path, name), message, on_key=True, blocks_rules=False)
    yield from _count_violations(len(value), schema, path, ("minProperties", "maxProperties", "fields"))


def _is_closed(schema: Schema) -> bool:
    return "properties" in schema or schema.get("additionalProperties") is False


def _list_violations(value: list[Any], schema: Schema, path: Path) -> Iterator[Violation]:
    items = schema.get("items")
    if isinstance(items, Mapping):
        for index, item in enumerate(value):
            yield from structure_violations(item, items, (*path, index))
    yield from _count_violations(len(value), schema, path, ("minItems", "maxItems", "items"))
    kind = schema.get("x-kubernetes-list-type")
    if kind == "set":
        yield from _twice(value, path, lambda item: item)
    elif kind == "map" and isinstance(items, Mapping):
        keys = schema.get("x-kubernetes-list-map-keys", ())
        yield from _twice(value, path, lambda item: _map_key(item, keys, items))


def _map_key(item: Any, keys: list[str], schema: Schema) -> Any:
    if not isinstance(item, dict):
        return item
    properties = schema.get("properties", {})
    document = {key: item.get(key, properties.get(key, {}).get("default")) for key in keys}
    return {key: value for key, value in document.items() if value is not None}


def _twice(value: list[Any], path: Path, key_of: Any) -> Iterator[Violation]:
    seen: set[str] = set()
    for index, item in enumerate(value):
        key = key_of(item)
        text = json.dumps(key, sort_keys=True)
        if text in seen:
            named = (
                " ".join(f"{name} {field_value}" for name, field_value in key.items())
                if isinstance(key, dict)
                else str(key)
            )
            yield Violation((*path, index), f"{named} is in the list twice")
        seen.add(text)


def _count_violations(count: int, schema: Schema, path: Path, words: tuple[str, str, str]) -> Iterator[Violation]:
    least, most, noun = words
    if count < schema.get(least, 0):
        yield Violation(path, f"must have at least {schema[least]} {noun}, has {count}")
    if most in schema and count > schema[most]:
        yield Violation(path, f"must have at most {schema[most]} {noun}, has {count}")


def _text_violations(value: str, schema: Schema, path: Path) -> Iterator[Violation]:
    yield from _count_violations(len(value), schema, path, ("minLength", "maxLength", "characters"))
    if "pattern" in schema and not fits_pattern(value, schema["pattern"]):
        yield Violation(path, f"must be {pattern_words(schema['pattern'])}")
    if fault := format_fault(value, schema.get("format", "")):
        yield Violation(path, fault)


def _number_violations(value: float, schema: Schema, path: Path) -> Iterator[Violation]:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and (value < low or (value == low and schema.get("exclusiveMinimum"))):
        yield Violation(path, f"must be {'more than' if schema.get('exclusiveMinimum') else 'at least'} {low}")
    if high is not None and (value > high or (value == high and schema.get("exclusiveMaximum"))):
        yield Violation(path, f"must be {'less than' if schema.get('exclusiveMaximum') else 'at most'} {high}")
    step = schema.get("multipleOf")
    if step and value % step:
        yield Violation(path, f"must be a multiple of {step}")
    if fault := format_fault(value, schema.get("format", "")):
        yield Violation(path, fault)


def _logic_violations(value: Any, schema: Schema, path: Path) -> Iterator[Violation]:
    if schema.get("x-kubernetes-int-or-string"):
        return
    for part in schema.get("allOf", ()):
        yield from structure_violations(value, part, path)
    any_of, one_of = schema.get("anyOf"), schema.get("oneOf")
    if any_of and not any(_fits(value, part) for part in any_of):
        yield Violation(path, f"must have {_alternatives(any_of, 'or')}")
    if one_of and sum(_fits(value, part) for part in one_of) != 1:
        yield Violation(path, f"must have exactly one of {_alternatives(one_of, 'or')}")
    if "not" in schema and _fits(value, schema["not"]):
        yield Violation(path, f"must not have {_alternatives([schema['not']], 'and')}")


def _fits(value: Any, part: Schema) -> bool:
    # A part of anyOf and the like says nothing about fields it does not name.
    opened = {**part, "x-kubernetes-preserve-unknown-fields": True}
    return next(structure_violations(value, opened), None) is None


def _alternatives(parts: list[Schema], word: str) -> str:
    named = [" with ".join(part["required"]) if part.get("required") else json.dumps(part) for part in parts]
    return f" {word} ".join(named)
