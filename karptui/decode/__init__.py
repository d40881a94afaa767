"""Converts API objects, as JSON bytes or plain mappings, into domain values.

Every ``build_`` function raises `FieldError` if a field is invalid; `build_text_pod` also ``msgspec.ValidationError``
if a field has the wrong type.
"""

from __future__ import annotations
