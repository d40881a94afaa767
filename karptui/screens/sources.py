"""The state of the source of each kind."""

from __future__ import annotations

from karptui.decode.kinds import KindStatus
from karptui.screens.list_screen import ListScreen
from karptui.screens.row_sources import SessionList
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.sources import TABLE


class SourcesScreen(ListScreen[KindStatus]):
    """One row per kind: phase, number of objects, and why it is not live."""

    title_text = "Sources"
    has_objects = False

    def __init__(self) -> None:
        super().__init__(TABLE, SessionList("sources"))

    def explain_item(self, item: KindStatus) -> Pieces:
        return ((clean(item.last_error) or f"{item.kind}: {item.phase}", Tone.NORMAL),)

    def name_of(self, item: KindStatus) -> str:
        return str(item.kind)
