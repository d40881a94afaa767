"""Brings what several loops tell about one kind together in the mailbox."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from karptui.decode.kinds import Kind
from karptui.sources.base import Phase, SourceStatus
from karptui.sources.cluster.resources import Resource
from karptui.sources.mailbox import Mailbox


class Board:
    """The mailbox as loops see it: a kind may be fed by several resources, such as two providers' NodeClasses."""

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox
        self._lock = threading.Lock()
        self._statuses: dict[Kind, dict[str, SourceStatus]] = {}

    def put(self, resource: Resource, changes: Mapping[str, Any]) -> None:
        """Add changes."""
        if changes:
            self._mailbox.put(resource.kind, changes)

    def report(self, resource: Resource, status: SourceStatus) -> None:
        """Add the status of one resource."""
        with self._lock:
            of_kind = self._statuses.setdefault(resource.kind, {})
            of_kind[resource.identity] = status
            self._mailbox.report(combined(of_kind.values()))

    def announce(self, status: SourceStatus) -> None:
        """Add the status of a kind that no resource reports on."""
        with self._lock:
            if status.kind not in self._statuses:
                self._mailbox.report(status)

    def doubt(self, sentence: str, last_contact_ns: int) -> None:
        """Say that nothing confirms any more what is live; the next report of a kind ends the doubt."""
        with self._lock:
            for of_kind in self._statuses.values():
                status = combined(of_kind.values())
                if status.phase is Phase.LIVE:
                    self._mailbox.report(
                        replace(status, phase=Phase.STALE, since_ns=last_contact_ns, last_error=sentence)
                    )

    def trust(self) -> None:
        """Say again how every kind stands: the doubt was unfounded."""
        with self._lock:
            for of_kind in self._statuses.values():
                self._mailbox.report(combined(of_kind.values()))


def combined(statuses: Collection[SourceStatus]) -> SourceStatus:
    """Return one status for several of the same kind: the worst phase, all the objects."""
    order = list(Phase)
    worst = max(statuses, key=lambda status: order.index(status.phase))
    if len(statuses) == 1:
        return worst
    return replace(
        worst,
        count=sum(status.count for status in statuses),
        total_estimate=None,
        last_contact_ns=max(status.last_contact_ns for status in statuses),
    )
