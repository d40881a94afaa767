"""The text half of a what-if: reading, checking, completing and changing YAML documents without touching the rest."""

from __future__ import annotations

from karptui.whatif.documents.completion import Completion, Item
from karptui.whatif.documents.known_values import KnownValues
from karptui.whatif.documents.parse import Document, Parsed, parse
from karptui.whatif.documents.problem import Path, Problem, Severity, path_text
from karptui.whatif.documents.schema import KindSchema, Origin, Schemas, schemas_from_crds, shipped_schemas

__all__ = [
    "Completion",
    "Document",
    "Item",
    "KindSchema",
    "KnownValues",
    "Origin",
    "Parsed",
    "Path",
    "Problem",
    "Schemas",
    "Severity",
    "parse",
    "path_text",
    "schemas_from_crds",
    "shipped_schemas",
]
