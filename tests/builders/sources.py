"""Sources for tests."""

from __future__ import annotations

from typing import Any

from karptui.decode.kinds import Kind
from karptui.karpenter.inventory import Inventory
from karptui.sources.source import LocalSource, Mailbox, Phase, SourceError, SourceStatus
from karptui.state.cluster import objects_of
from tests.builders.instants import MINUTE_NS, NOW_NS


class QuietSource(LocalSource):
    """A source that is never busy and refuses to fetch single objects."""

    def fetch_object(self, kind: str, key: str) -> dict[str, Any]:
        raise SourceError(f"{self.title} has no {kind} {key}")


def live_statuses(inventory: Inventory) -> dict[str, SourceStatus]:
    """Return the status of every kind once a source has reported the objects of an inventory."""
    objects = objects_of(inventory)
    return {
        str(kind): SourceStatus(
            kind=kind,
            phase=Phase.LIVE,
            since_ns=NOW_NS - MINUTE_NS,
            count=len(objects.get(kind, {})),
            last_contact_ns=NOW_NS,
        )
        for kind in Kind
    }


class InventorySource(QuietSource):
    """A source that reports an inventory when it starts."""

    def __init__(self, title: str, inventory: Inventory) -> None:
        self.title = title
        self._inventory = inventory

    def start(self, mailbox: Mailbox) -> None:
        """Put every object and status into the mailbox."""
        for kind, objects in objects_of(self._inventory).items():
            mailbox.replace(kind, objects)
        for status in live_statuses(self._inventory).values():
            mailbox.report(status)
