"""Converts API objects, as JSON bytes or plain mappings, into domain values."""

from __future__ import annotations
