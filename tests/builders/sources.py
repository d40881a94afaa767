"""What sources in tests have in common."""

from __future__ import annotations

from typing import Any

from karptui.sources.source import SourceError


class QuietSource:
    """A source that is waiting for nothing and gives no single objects."""

    caution: str = ""

    title: str

    def refresh(self) -> None:
        """Do nothing: nothing waits."""

    def fetch_object(self, kind: str, key: str) -> dict[str, Any]:
        """Refuse."""
        raise SourceError(f"{self.title} has no {kind} {key}")

    def crds(self) -> tuple[dict[str, Any], ...]:
        """Return nothing."""
        return ()
