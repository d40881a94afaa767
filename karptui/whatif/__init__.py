"""Edits, scenarios and their differences."""

from __future__ import annotations
