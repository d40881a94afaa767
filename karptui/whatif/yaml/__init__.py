"""YAML as text that is edited in place: read, written and changed without touching the rest."""

from __future__ import annotations
