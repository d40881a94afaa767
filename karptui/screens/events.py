"""The Events screen: what Karpenter said, and what happened to nodes and NodeClaims, the newest first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from textual.binding import Binding, BindingType

from karptui.clock import LocalZone
from karptui.screens import routes
from karptui.screens.list_screen import ListScreen
from karptui.screens.listing import CHURN
from karptui.screens.row_sources import SessionList
from karptui.session.events import EventEntry
from karptui.views.events import TABLE, event_sentences, event_text
from karptui.views.row import Pieces, Tone


class EventsScreen(ListScreen[EventEntry]):
    """A time line, folded by object and reason."""

    BINDINGS: ClassVar[list[BindingType]] = [
        replace(CHURN, show=True, id="events.churn"),
        Binding("o", "open_object", "Only this object", id="events.object", tooltip="Only events of this object"),
    ]

    entry_name = "events"
    title_text = "Events"
    kind = "Event"
    consequences: ClassVar[Mapping[str, str]] = {
        "Event": "Without events, only the records of nodes and NodeClaims are shown."
    }

    def __init__(self) -> None:
        super().__init__(TABLE, SessionList("events"), story=self.story_of)

    def explain(self) -> Pieces:
        return (("events of Karpenter, and conditions of nodes and NodeClaims", Tone.MUTED),)

    def story_of(self, item: EventEntry) -> tuple[Pieces, ...]:
        return event_sentences(item, self.host.now_ns())

    def name_of(self, item: EventEntry) -> str:
        return item.object_key

    def object_of(self, item: EventEntry) -> tuple[str, str]:
        return item.kind, item.object_key

    def action_describe(self) -> None:
        if (item := self.current) is not None:
            title = f"{item.kind} {item.object_key}: {item.reason}"
            routes.show_made_text(self, title, lambda: event_text(item, self.host.now_ns(), LocalZone()))

    def action_open_object(self) -> None:
        """Show only events of the object under the cursor."""
        if (item := self.current) is not None:
            self.filter_entered(f"kind={item.kind} object={item.object_key}")

    def open_row(self, item: EventEntry) -> None:  # noqa: ARG002 - it is under the cursor
        self.action_describe()
