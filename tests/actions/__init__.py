"""Actions as values."""

from __future__ import annotations
