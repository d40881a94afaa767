"""Reads fields of documents whose shape is not trusted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def field(document: object, *path: str) -> Any:
    """Return a nested field; None if a part of the path is missing or no mapping."""
    for name in path:
        if not isinstance(document, Mapping):
            return None
        document = document.get(name)
    return document


def text(document: object, *path: str) -> str:
    """Return a nested text, empty if there is none."""
    value = field(document, *path)
    return value if isinstance(value, str) else ""


def texts(document: object, *path: str) -> frozenset[str]:
    """Return the texts in a nested list."""
    values = field(document, *path)
    return frozenset(value for value in values if isinstance(value, str)) if isinstance(values, list) else frozenset()


def mapping(document: object, *path: str) -> Mapping[str, Any]:
    """Return a nested mapping, empty if there is none."""
    value = field(document, *path)
    return value if isinstance(value, Mapping) else {}


def mappings(document: object, *path: str) -> list[Mapping[str, Any]]:
    """Return the mappings in a nested list."""
    values = field(document, *path)
    return [value for value in values if isinstance(value, Mapping)] if isinstance(values, list) else []
