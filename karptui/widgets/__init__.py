"""Textual widgets that take values and post messages."""

from __future__ import annotations
