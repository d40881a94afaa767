"""What a document is called that holds Kubernetes objects, where something else was expected."""

from __future__ import annotations

from typing import Any, Final

_LONGEST: Final = 320
"""Characters of a kind or a key that are quoted; no valid one is longer."""


def object_words(document: Any) -> str:
    """Return a document of the API in words, empty for anything else.

    Args:
        document: Plain values as JSON or YAML give them.

    Returns:
        ``a Kubernetes object, Pod web/front-1``, or ``a NodeList of 3 Kubernetes objects, the first is Node n1``. Names
        are as they were given: not fit for a terminal.
    """
    if isinstance(document, list):
        items = document
        if not items or not _named(items[0], ""):
            return ""
        return _several("a list", items, "")
    if isinstance(document, dict) and "karptui" in document and isinstance(document.get("objects"), list):
        return _several("a recording", document["objects"], "")
    if not _named(document, ""):
        return ""
    kind, items = document["kind"], document.get("items")
    if kind.endswith("List") and isinstance(items, list):
        # Servers leave the kind out of the items of a typed list.
        return _several(f"a {kind}", items, kind.removesuffix("List"))
    return f"a Kubernetes object, {_named(document, '')}"


def _several(what: str, items: list[Any], kind: str) -> str:
    noun = "object" if len(items) == 1 else "objects"
    first = _named(items[0], kind) if items else ""
    return f"{what} of {len(items):,} Kubernetes {noun}" + (f", the first is {first}" if first else "")


def _named(value: Any, kind: str) -> str:
    """Return ``Kind namespace/name`` of an object; empty for what is none."""
    if not isinstance(value, dict):
        return ""
    own, metadata = value.get("kind", kind), value.get("metadata")
    if not isinstance(own, str) or not own or not (kind or "apiVersion" in value or isinstance(metadata, dict)):
        return ""
    fields = metadata if isinstance(metadata, dict) else {}
    key = "/".join(str(fields[name]) for name in ("namespace", "name") if fields.get(name))
    return f"{own[:_LONGEST]} {key[:_LONGEST]}".rstrip()
