"""Changes of a scenario as lines."""

from __future__ import annotations
