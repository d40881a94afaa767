"""The smallest patch that makes one object of another."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]

_MISSING: Any = object()


def merge_patch(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Makes a JSON merge patch (RFC 7386): null takes a field away, and a list is replaced as a whole."""
    patch: dict[str, Any] = {name: None for name in old if name not in new}
    for name, value in new.items():
        before = old.get(name, _MISSING)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            inner = merge_patch(before, value)
            if inner:
                patch[name] = inner
        elif not _same(before, value):
            patch[name] = value
    return patch


def strategic_patch(old: Mapping[str, Any], new: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """Makes a strategic merge patch, which Kubernetes' own kinds take: items of lists are matched by their keys.

    Source: ``apimachinery/pkg/util/strategicpatch/patch.go``.
    """
    patch: dict[str, Any] = {name: None for name in old if name not in new}
    for name, value in new.items():
        before = old.get(name, _MISSING)
        if _same(before, value):
            continue
        part = schema.get("properties", {}).get(name) or {}
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            patch[name] = _mapping(before, value, part)
        elif isinstance(before, list) and isinstance(value, list):
            patch.update(_list(name, before, value, part))
        else:
            patch[name] = value
    return patch


def _mapping(before: Mapping[str, Any], value: Mapping[str, Any], part: Schema) -> dict[str, Any]:
    strategies = str(part.get("x-kubernetes-patch-strategy", "")).split(",")
    if "replace" in strategies:
        return {"$patch": "replace", **value}
    inner = strategic_patch(before, value, _inner(part))
    if "retainKeys" in strategies:
        inner["$retainKeys"] = sorted(value)
    return inner


def _inner(part: Schema) -> Schema:
    others = part.get("additionalProperties")
    return part if "properties" in part or not isinstance(others, Mapping) else {}


def _list(name: str, before: list[Any], value: list[Any], part: Schema) -> dict[str, Any]:
    """Matches items by the merge key; a list without one, or whose order changes, is replaced as a whole."""
    key = part.get("x-kubernetes-patch-merge-key")
    is_merged = "merge" in str(part.get("x-kubernetes-patch-strategy", "")).split(",")
    if not is_merged:
        return {name: value}
    if key is None or not (_is_keyed(before, key) and _is_keyed(value, key)):
        return {name: [*value, {"$patch": "replace"}]} if key is not None else _set_list(name, before, value)
    old_items, new_items = {item[key]: item for item in before}, {item[key]: item for item in value}
    if [one for one in old_items if one in new_items] != [one for one in new_items if one in old_items]:
        return {name: [*value, {"$patch": "replace"}]}
    changed: list[Any] = []
    for one, item in new_items.items():
        if one not in old_items:
            changed.append(item)
        elif not _same(old_items[one], item):
            changed.append({key: one, **strategic_patch(old_items[one], item, part.get("items", {}))})
    changed += [{key: one, "$patch": "delete"} for one in old_items if one not in new_items]
    patch: dict[str, Any] = {name: changed}
    if any(one not in old_items for one in new_items):
        patch[f"$setElementOrder/{name}"] = [{key: one} for one in new_items]
    return patch


def _set_list(name: str, before: list[Any], value: list[Any]) -> dict[str, Any]:
    """Merges a list of plain values, such as finalizers."""
    patch: dict[str, Any] = {f"$setElementOrder/{name}": value}
    gone = [item for item in before if item not in value]
    added = [item for item in value if item not in before]
    if gone:
        patch[f"$deleteFromPrimitiveList/{name}"] = gone
    if added:
        patch[name] = added
    return patch


def _is_keyed(items: list[Any], key: str) -> bool:
    keys = [item.get(key) for item in items if isinstance(item, Mapping)]
    return len(keys) == len(items) and None not in keys and len(set(map(str, keys))) == len(items)


def _same(one: Any, two: Any) -> bool:
    if one is _MISSING:
        return False
    return json.dumps(one, sort_keys=True) == json.dumps(two, sort_keys=True)
