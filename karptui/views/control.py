"""A field that is changed without typing text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Control:
    """One field."""

    id: str
    title: str
    value: str
    """What it is now; ``-`` where there is nothing."""
    hint: str = ""
    """What the cluster has where that differs, or what the value means."""
    is_changed: bool = False
    can_step: bool = False
    """Whether left and right change it."""
