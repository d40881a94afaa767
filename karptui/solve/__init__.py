"""Search for an edit that reaches a goal."""

from __future__ import annotations
