"""One row of the Pending screen."""

from __future__ import annotations

from dataclasses import dataclass

from karptui.pending.groups import PendingGroup


@dataclass(frozen=True, slots=True, eq=False)
class PendingEntry:
    """A group, and whether events may be read."""

    group: PendingGroup
    hears_events: bool = True
    """False where events may not be listed: silence then means nothing."""

    @property
    def key(self) -> str:
        """Identity across refreshes."""
        return self.group.key
