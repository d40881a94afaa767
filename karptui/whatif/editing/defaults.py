"""What the API server fills in when a NodePool or EC2NodeClass is stored: the defaults of its shipped schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from karptui.whatif.editing.document_path import with_field
from karptui.whatif.path import Path, value_at
from karptui.whatif.schema.schema import shipped_schemas

_MISSING: Final = object()


def with_defaults(document: Mapping[str, Any], present: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return an object as it is stored.

    A snapshot written by hand has objects that never saw an API server. So that nothing changes but what an edit says,
    a default is filled in only where the object that is there has the field.

    Args:
        document: The object, with its kind.
        present: The object in whose place it is put, None for a new one.

    Raises:
        EditError: when something that must be an object is not.
    """
    made = dict(document)
    for path, value in _defaults(str(document["kind"])):
        if value_at(made, path, _MISSING) is not _MISSING:
            continue
        if present is None or value_at(present, path, _MISSING) is not _MISSING:
            made = with_field(made, path, value)
    return made


@cache
def _defaults(kind: str) -> tuple[tuple[Path, Any], ...]:
    """Return the fields of a kind's spec that have a default, outer ones first; those of list items are left out."""
    own = (one.schema for one in shipped_schemas().kinds.values() if one.kind == kind and not one.built_in)
    spec = next(own, {}).get("properties", {}).get("spec", {})
    return tuple(_defaults_below(spec, ("spec",)))


def _defaults_below(schema: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, Any]]:
    for name, part in schema.get("properties", {}).items():
        inner = (*path, name)
        if "default" in part:
            value, fields = part["default"], part.get("properties", {})
            if isinstance(value, dict):
                # What has a default of its own is filled in for itself.
                value = {key: one for key, one in value.items() if "default" not in fields.get(key, {})}
            yield inner, value
        yield from _defaults_below(part, inner)
