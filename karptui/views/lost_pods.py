"""Text about pods that no controller recreates after eviction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from karptui.kube.units import counted, first_of
from karptui.views.sanitize import clean

_MOST_NAMES: Final = 3


def lost_text(keys: Sequence[str]) -> str:
    """Return ``2 pods would be lost (no owner): tools/a, tools/b``; empty without any.

    Args:
        keys: ``namespace/name`` of the pods.
    """
    names = first_of([clean(key) for key in keys], _MOST_NAMES)
    return f"{counted(len(keys), 'pod')} would be lost (no owner): {names}" if keys else ""
