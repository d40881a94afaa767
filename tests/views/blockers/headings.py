"""Helper for the headings of the Blockers table."""

from __future__ import annotations

from collections.abc import Sequence

from karptui.session.blockers import BlockerGroup, BlockerLine


def headings(lines: Sequence[BlockerLine]) -> list[BlockerGroup]:
    groups = [line for line in lines if isinstance(line, BlockerGroup)]
    assert len(groups) == len(lines)
    return groups
