"""How the source stands with every kind."""

from __future__ import annotations

from collections.abc import Sequence

from karptui.screens.list_screen import ListScreen
from karptui.screens.listing import Kept
from karptui.screens.row_sources import MadeRows
from karptui.session.status import KindStatus
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.sources import TABLE, evidence_rows, usage_row


class SourcesScreen(ListScreen[KindStatus]):
    """One row per kind: its phase, how much of it there is, and why it is not live."""

    title_text = "Sources"
    has_objects = False

    def __init__(self) -> None:
        super().__init__(TABLE, MadeRows(self._statuses))
        self._rows: Kept[tuple[KindStatus, ...]] = Kept()

    def _statuses(self) -> Sequence[KindStatus]:
        """Return how every kind stands, then who is asked for instance types, prices and live usage."""
        view = self.host.view

        def made() -> tuple[KindStatus, ...]:
            now_ns = self.host.now_ns()
            usage = usage_row(view.live_usage, now_ns)
            rows = (*evidence_rows(view.evidence, now_ns), *((usage,) if usage is not None else ()))
            return (*view.statuses.values(), *rows)

        return self._rows.get((view,), made)

    def explain_item(self, item: KindStatus) -> Pieces:
        """Return why the kind is not live."""
        return ((clean(item.last_error) or f"{item.kind}: {item.phase}", Tone.NORMAL),)

    def name_of(self, item: KindStatus) -> str:
        """Return the kind."""
        return str(item.kind)
