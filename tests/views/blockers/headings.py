"""Tells headings from rows."""

from __future__ import annotations

from collections.abc import Sequence

from karptui.session.blockers import BlockerGroup, BlockerLine


def headings(lines: Sequence[BlockerLine]) -> list[BlockerGroup]:
    """Return lines that are all headings."""
    found = [line for line in lines if isinstance(line, BlockerGroup)]
    assert len(found) == len(lines)
    return found
