"""Error messages about objects that cannot be decoded, for the person who wrote the object."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

_LONGEST: Final = 320
"""Maximum quoted length of a name, path or value; valid names are shorter."""


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


class FieldError(ValueError):
    """A field has an invalid value; the path is relative to the object."""

    def __init__(self, path: str, problem: str) -> None:
        self.path = _shortened(path)
        self.problem = _shortened(problem)
        super().__init__(f"{self.path}: {self.problem}" if path else self.problem)


class DecodeError(ValueError):
    """An object cannot be decoded; the message names kind, object and field."""

    def __init__(self, kind: str, key: str, error: FieldError) -> None:
        self.kind = kind
        self.key = _shortened(key)
        super().__init__(f"{kind} {self.key or '(without a name)'}: {error}")
        self.path = error.path
        self.problem = error.problem


_STEP: Final = re.compile(r"\.([^.\[]+)|\[(\d+)\]|\[(\.\.\.)\]")
_ANY: Final = "..."
"""msgspec's placeholder for any key of a mapping."""
_WRONG: Final = re.compile(r"Expected `([^`]+)`(?:, got `([^`]+)`)?")
_MISSING: Final = re.compile(r"Object missing required field `([^`]+)`")
_UNKNOWN: Final = re.compile(r"Object contains unknown field `([^`]+)`")
_RANGE: Final = re.compile(r"Expected `(?:int|float)` (<=|>=) (\S+)")
_PLAIN_KEY: Final = re.compile(r"[\w-]+")
_TYPE_NAMES: Final[Mapping[type[Any], str]] = {
    type(None): "null",
    bool: "bool",
    int: "int",
    float: "float",
    str: "str",
    list: "array",
    dict: "object",
}
_WORDS: Final[Mapping[str, str]] = {
    "str": "text",
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "array": "a list",
    "object": "an object",
}
_GOT_WORDS: Final[Mapping[str, str]] = {**_WORDS, "int": "a number"}
JSON_WORDS: Final[Mapping[type[Any], str]] = {type_: _GOT_WORDS.get(name, name) for type_, name in _TYPE_NAMES.items()}
"""Names of JSON types in messages."""


class _FieldAt(NamedTuple):
    path: str
    value: Any


def field_error(error: msgspec.ValidationError, raw: Any = None) -> FieldError:
    """Return a msgspec error with the path in API notation and the problem in plain words.

    Args:
        raw: The converted or decoded value, if available, to find the key of a mapping.
    """
    problem, _, place = str(error).partition(" - at `")
    of_key = place.startswith("key` in `")
    steps = [next(filter(None, step)) for step in _STEP.findall(place.rstrip("`").removeprefix("key` in `"))]
    missing, unknown = _MISSING.fullmatch(problem), _UNKNOWN.fullmatch(problem)
    if missing is not None:
        name = missing[1]
        field = _locate(raw, steps, lambda value: isinstance(value, Mapping) and name not in value)
        return FieldError(f"{field.path}.{name}".lstrip("."), "is missing")
    if unknown is not None:
        name = unknown[1]
        field = _locate(raw, steps, lambda value: isinstance(value, Mapping) and name in value)
        return FieldError(f"{field.path}.{name}".lstrip("."), "there is no such field")
    wrong = _WRONG.fullmatch(problem)
    if wrong is None:
        return FieldError(_locate(raw, steps, lambda _: True).path, _other(problem))
    expected, got = wrong[1], wrong[2]
    if of_key:
        return FieldError(_locate(raw, steps, lambda _: True).path, f"its keys {_must_be(expected, None, None)}")
    field = _locate(raw, steps, lambda value: got is None or _TYPE_NAMES.get(type(value)) == got)
    return FieldError(field.path, _must_be(expected, got, field.value))


def _must_be(expected: str, got: str | None, value: Any) -> str:
    kinds = [kind for kind in expected.split(" | ") if kind != "null"]
    if "float" in kinds and "int" in kinds:
        kinds.remove("int")
    kinds.sort(key=lambda kind: kind != "str")
    words = f"must be {' or '.join(_WORDS.get(kind, kind) for kind in kinds)}"
    if got is None:
        return words
    if kinds == ["int"] and got == "float":
        return f"{words}, has a fraction or is too large"
    return f"{words}, is {_GOT_WORDS.get(got, got)}{_quoting_hint(kinds, got, value)}"


def _other(problem: str) -> str:
    limit = _RANGE.fullmatch(problem)
    if limit is None:
        return problem[:1].lower() + problem[1:].replace("`", "")
    return f"must be a number up to {limit[2]}" if limit[1] == "<=" else f"must be a number from {limit[2]} up"


def _quoting_hint(kinds: Sequence[str], got: str, value: Any) -> str:
    """Return a hint if adding or removing quotes fixes the value."""
    if kinds == ["str"] and got in ("int", "float", "bool"):
        return ": write it in quotes"
    digits = value.removeprefix("-").replace(".", "", 1 if "float" in kinds else 0) if isinstance(value, str) else ""
    is_number = kinds[0] in ("int", "float") and digits.isdecimal()
    if is_number or (kinds == ["bool"] and value in ("true", "false")):
        return ": write it without quotes"
    return ""


def _locate(raw: Any, steps: Sequence[str], is_meant: Callable[[Any], bool]) -> _FieldAt:
    """Return the first matching field, or only the path, without mapping keys, if none matches."""
    if (field := _walk(raw, steps, is_meant)) is not None:
        return field
    return _FieldAt(
        "".join(f"[{step}]" if step.isdecimal() else f".{step}" for step in steps if step != _ANY)[1:], None
    )


def _walk(value: Any, steps: Sequence[str], is_meant: Callable[[Any], bool], path: str = "") -> _FieldAt | None:
    if not steps:
        return _FieldAt(path, value) if is_meant(value) else None
    step, rest = steps[0], steps[1:]
    if step == _ANY:
        items = value.items() if isinstance(value, Mapping) else ()
        tries = (_walk(inner, rest, is_meant, _joined(path, key)) for key, inner in items)
        return next((field for field in tries if field is not None), None)
    if isinstance(value, Mapping) and step in value:
        return _walk(value[step], rest, is_meant, _joined(path, step))
    if isinstance(value, Sequence) and step.isdecimal() and int(step) < len(value):
        return _walk(value[int(step)], rest, is_meant, f"{path}[{step}]")
    return None


def _joined(path: str, key: Any) -> str:
    if not _PLAIN_KEY.fullmatch(str(key)):
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else str(key)
