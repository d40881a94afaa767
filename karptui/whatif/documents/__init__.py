"""The text half of a what-if: reading, checking, completing and changing YAML documents without touching the rest."""

from __future__ import annotations

from karptui.whatif.documents.complete import complete
from karptui.whatif.documents.completion import Completion, Item
from karptui.whatif.documents.known_values import KnownValues
from karptui.whatif.documents.parse import Document, Parsed, parse
from karptui.whatif.documents.problem import Problem, Severity
from karptui.whatif.documents.schema import KindSchema, Origin, Schemas, schemas_from_crds, shipped_schemas
from karptui.whatif.documents.splice import (
    REMOVE,
    EditRefusedError,
    append_item,
    get_value,
    remove_item,
    set_value,
)
from karptui.whatif.documents.validate import Checked, check, validate

__all__ = [
    "REMOVE",
    "Checked",
    "Completion",
    "Document",
    "EditRefusedError",
    "Item",
    "KindSchema",
    "KnownValues",
    "Origin",
    "Parsed",
    "Problem",
    "Schemas",
    "Severity",
    "append_item",
    "check",
    "complete",
    "get_value",
    "parse",
    "remove_item",
    "schemas_from_crds",
    "set_value",
    "shipped_schemas",
    "validate",
]
