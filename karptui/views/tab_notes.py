"""The counts that stand behind the titles of tabs."""

from __future__ import annotations

from collections.abc import Mapping

from karptui.kube.units import count_text
from karptui.session.border import Overview


def tab_notes(overview: Overview) -> Mapping[str, str]:
    """Return by the name of a screen the count behind its tab; screens that need no attention have none."""
    return {name: count_text(count) for name, count in overview.counts.items() if count}
