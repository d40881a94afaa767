"""Completions at a position in text that may be incomplete."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from karptui.kube.objects import SERVERS_OWN
from karptui.whatif.field_path import Path
from karptui.whatif.schema.context import CursorContext, Mode, context_at
from karptui.whatif.schema.offers import KnownValues, Offer, offered_names, offered_values
from karptui.whatif.schema.schema import OFFERED, KindSchema, Schemas, object_meta
from karptui.whatif.yaml.write import write_scalar


class Item(NamedTuple):
    """One thing that can be typed."""

    label: str
    """Text in the list."""
    detail: str
    """Its type, whether it is required, or where the value comes from."""
    insert: str
    """What takes the place of the text between ``Completion.start_column`` and the cursor; may hold line breaks."""


class Completion(NamedTuple):
    """Completions at the cursor; empty if nothing is known."""

    start_column: int
    """Where on the cursor's line the half-typed word starts."""
    items: tuple[Item, ...]


MOST_ITEMS = 2_000
"""Items of a completion; every instance type of a region is fewer."""
_NOTHING = Completion(0, ())
_HIDDEN = SERVERS_OWN | {"status"}
_TYPE_WORDS = {"object": "fields", "array": "list", "string": "text", "integer": "number", "boolean": "true or false"}
_UNTYPED: Mapping[str, Any] = {
    "type": "object",
    "properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}},
    "required": ["apiVersion", "kind", "metadata"],
}


class _CompletionRequest(NamedTuple):
    context: CursorContext
    schema: Mapping[str, Any]
    """Schema of the value at the context's path; empty if unknown."""
    values: KnownValues
    kind: str


def complete(text: str, line: int, column: int, schemas: Schemas, values: KnownValues) -> Completion:
    """Return the completions at the cursor.

    Returns:
        Items for the half-typed word: prefix matches first, then other matches.
    """
    context = context_at(text, line, column)
    if context is None:
        return _NOTHING
    top = context.taken.get((), {})
    kind = _kind(top, schemas)
    request = _CompletionRequest(context, _schema_at(kind, context.path), values, kind.kind if kind is not None else "")
    items = _items(request, schemas)
    word = context.prefix.lstrip("\"'")
    matches = _matching(items, word, keeps_whole=context.mode is Mode.KEY)
    return Completion(context.start_column, tuple(matches[:MOST_ITEMS]))


def _kind(top: Mapping[str, str], schemas: Schemas) -> KindSchema | None:
    name, version = top.get("kind", ""), top.get("apiVersion", "")
    if (schema := schemas.get(version, name)) is not None:
        return schema
    versions = schemas.versions(name)
    return schemas.get(versions[-1], name) if versions else None


def _schema_at(kind: KindSchema | None, path: Path) -> Mapping[str, Any]:
    schema: Any = kind.schema if kind is not None else _UNTYPED
    for depth, step in enumerate(path):
        if depth == 0 and step == "metadata":
            schema = object_meta()
        elif isinstance(step, int):
            schema = schema.get("items")
        else:
            schema = schema.get("properties", {}).get(step, schema.get("additionalProperties"))
        if not isinstance(schema, Mapping):
            return {}
        schema = schema.get(OFFERED, schema)
    document: Mapping[str, Any] = schema
    return document


def _items(request: _CompletionRequest, schemas: Schemas) -> Iterator[Item]:
    context, schema = request.context, request.schema
    if context.mode is Mode.VALUE:
        if context.path in {("kind",), ("apiVersion",)}:
            yield from _kinds(context, schemas)
        else:
            yield from _values(request)
    elif schema.get("type") == "array" and not context.in_flow:
        yield from _item_starts(request)
    elif context.path and isinstance(context.path[-1], int) and not _is_object(schema):
        yield from _values(request)
    else:
        above = schema.get("properties", {}).get(context.open_key, {})
        if above.get("type") == "array":
            inner = replace(context, path=(*context.path, context.open_key))
            yield from _item_starts(request._replace(context=inner, schema=above))
        yield from _fields(request)


def _kinds(context: CursorContext, schemas: Schemas) -> Iterator[Item]:
    top = context.taken.get((), {})
    lead = " " if context.is_tight else ""
    if context.path == ("kind",):
        version = top.get("apiVersion", "")
        for schema in schemas.kinds.values():
            if not version or schema.api_version == version:
                yield Item(schema.kind, schema.api_version, lead + schema.kind)
        return
    for version in schemas.versions(top.get("kind", "")) or sorted({api_version for api_version, _ in schemas.kinds}):
        yield Item(version, ", ".join(kind for api, kind in schemas.kinds if api == version), lead + version)


def _is_object(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "object" or "properties" in schema


def _fields(request: _CompletionRequest) -> Iterator[Item]:
    context, schema = request.context, request.schema
    taken = context.taken.get(context.path, {})
    required = schema.get("required", ())
    properties = schema.get("properties", {})
    for name in sorted(properties, key=lambda name: (name not in required, name)):
        if name not in taken and not (name in _HIDDEN and len(context.path) < 2):
            part = properties[name]
            yield Item(name, _detail(part, is_required=name in required), _field_insert(context, name, part))
    others = schema.get("additionalProperties")
    if isinstance(others, Mapping):
        for offer in offered_names(context.path, request.values, request.kind):
            if offer.value not in taken:
                yield Item(offer.value, offer.detail, _field_insert(context, offer.value, others))


def _field_insert(context: CursorContext, name: str, schema: Mapping[str, Any]) -> str:
    key = (" " if context.is_tight else "") + write_scalar(name)
    if re.match(r"\S*\s*:", context.rest):
        return key
    kind = schema.get("type")
    if context.in_flow or kind not in {"object", "array"}:
        return f"{key}: "
    indent = " " * (context.indent + 2)
    return f"{key}:\n{indent}" + ("- " if kind == "array" else "")


def _detail(schema: Mapping[str, Any], *, is_required: bool) -> str:
    enum = schema.get("enum")
    if enum and len(enum) <= 4:
        words = " | ".join(str(choice) for choice in enum)
    elif schema.get("x-kubernetes-int-or-string") or schema.get("format") == "quantity":
        words = "quantity" if "pattern" in schema else "number or text"
    else:
        words = _TYPE_WORDS.get(schema.get("type", ""), schema.get("type", ""))
    default = schema.get("default")
    if default is not None and not isinstance(default, dict | list):
        words += f" (default {default if isinstance(default, str) else json.dumps(default)})"
    return f"required, {words}" if is_required else words


def _item_starts(request: _CompletionRequest) -> Iterator[Item]:
    context, schema = request.context, request.schema.get("items", {})
    if _is_object(schema):
        required = schema.get("required", ()) or sorted(schema.get("properties", {}))[:1]
        yield from (Item(f"- {name}:", "new item", f"- {write_scalar(name)}: ") for name in required[:1])
        return
    if schema.get("type") == "array":
        yield Item("- ", "new item", "- ")
        return
    inner = (*context.path, len(context.items.get(context.path, ())))
    for value, detail in _scalar_offers(request, inner, schema):
        yield Item(f"- {value}", detail, f"- {_written(value, schema)}")


def _values(request: _CompletionRequest) -> Iterator[Item]:
    context, schema = request.context, request.schema
    if schema.get("type") == "array" or _is_object(schema):
        return
    lead = " " if context.is_tight else ""
    for value, detail in _scalar_offers(request, context.path, schema):
        yield Item(value, detail, lead + _written(value, schema))


def _scalar_offers(request: _CompletionRequest, path: Path, schema: Mapping[str, Any]) -> Iterator[Offer]:
    context = request.context
    present = set(context.items.get(path[:-1], ())) if path and isinstance(path[-1], int) else set()
    present.discard(context.prefix.strip("\"'"))
    default = schema.get("default")
    offers: Iterable[Offer] = (
        *(Offer(str(choice), "default" if choice == default else "") for choice in schema.get("enum", ())),
        *((Offer("true"), Offer("false")) if schema.get("type") == "boolean" else ()),
        *offered_values(path, request.values, context.taken),
    )
    seen: set[str] = set()
    for offer in offers:
        if offer.value not in present and offer.value not in seen:
            seen.add(offer.value)
            yield offer


def _written(value: str, schema: Mapping[str, Any]) -> str:
    if schema.get("type") in {"boolean", "integer", "number"} or schema.get("x-kubernetes-int-or-string"):
        return value
    return write_scalar(value)


def _matching(items: Iterable[Item], word: str, *, keeps_whole: bool) -> list[Item]:
    folded = word.lower().removeprefix("- ").strip()
    # Few letters are in almost everything: they count where a part of the name starts.
    inside = re.compile(re.escape(folded) if len(folded) > 2 else rf"(?<![a-z0-9]){re.escape(folded)}")
    starting: list[Item] = []
    containing: list[Item] = []
    for item in items:
        label = item.label.lower().removeprefix("- ")
        if label == folded and not keeps_whole:
            continue
        if label.startswith(folded):
            starting.append(item)
        elif inside.search(label):
            containing.append(item)
    return [*starting, *containing]
