"""What JSON may hold, in the words of JSON Schema: from it docs/schema is written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from karptui.views.column import Schema, Value
from karptui.views.fields import ItemT

TEXT: Final[Schema] = {"type": "string"}
TEXT_OR_NULL: Final[Schema] = {"type": ["string", "null"]}
TEXTS: Final[Schema] = {"type": "array", "items": TEXT}
TEXTS_OR_NULL: Final[Schema] = {"type": ["array", "null"], "items": TEXT}
INTEGER: Final[Schema] = {"type": "integer"}
INTEGER_OR_NULL: Final[Schema] = {"type": ["integer", "null"]}
INTEGERS_BY_NAME: Final[Schema] = {"type": "object", "additionalProperties": INTEGER}
NUMBER: Final[Schema] = {"type": "number"}
NUMBER_OR_NULL: Final[Schema] = {"type": ["number", "null"]}
BOOLEAN: Final[Schema] = {"type": "boolean"}
BOOLEAN_OR_NULL: Final[Schema] = {"type": ["boolean", "null"]}
_INSTANT: Final[Schema] = {"pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$"}
INSTANT: Final[Schema] = {**TEXT, **_INSTANT}
INSTANT_OR_NULL: Final[Schema] = {**TEXT_OR_NULL, **_INSTANT}


def row_schema(values: Iterable[Value[ItemT]]) -> dict[str, Any]:
    """Return the schema of an object with these values."""
    properties = {value.name: value.described for value in values}
    return {"type": "object", "required": list(properties), "properties": properties}
