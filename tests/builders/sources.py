"""What sources in tests have in common."""

from __future__ import annotations

from typing import Any

from karptui.sources.source import LocalSource, SourceError


class QuietSource(LocalSource):
    """A source that is waiting for nothing and gives no single objects."""

    def fetch_object(self, kind: str, key: str) -> dict[str, Any]:
        """Refuse."""
        raise SourceError(f"{self.title} has no {kind} {key}")
