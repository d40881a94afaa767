"""What the API server fills in before it validates (``apiextensions-apiserver/pkg/apiserver/schema/defaulting``)."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any


def with_defaults(value: Any, schema: Mapping[str, Any]) -> Any:
    """Copies a value with its schema's defaults filled in and nulls that the schema does not allow left out."""
    if isinstance(value, dict):
        return _mapping(value, schema)
    if isinstance(value, list):
        items = schema.get("items")
        return [with_defaults(item, items) for item in value] if isinstance(items, Mapping) else value
    return value


def _mapping(value: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties", {})
    others = schema.get("additionalProperties")
    result: dict[str, Any] = {}
    for name, child in value.items():
        part = properties.get(name, others)
        if not isinstance(part, Mapping):
            result[name] = child
        elif child is not None or part.get("nullable"):
            result[name] = with_defaults(child, part)
    for name, part in properties.items():
        if "default" in part and name not in result:
            result[name] = with_defaults(deepcopy(part["default"]), part)
    return result
