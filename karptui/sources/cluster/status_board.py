"""The status of each kind, reported to the mailbox."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, Final

from msgspec.structs import replace

from karptui.decode.kinds import Kind
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.sources.cluster.backoff import Waits
from karptui.sources.cluster.resources import Resource
from karptui.sources.source import Mailbox, Phase, SourceStatus, Tap


class Board:
    """The mailbox as loops see it: a kind may be fed by several resources, such as two providers' NodeClasses."""

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox
        self._lock = threading.Lock()
        self._statuses: dict[Kind, dict[str, SourceStatus]] = {}
        self._doubts: dict[str, tuple[str, int]] = {}
        """Unconfirmed resources: message and time."""

    @property
    def tap(self) -> Tap | None:
        """Records the history; None if it is not recorded."""
        return self._mailbox.tap

    def put(
        self,
        resource: Resource,
        changes: Mapping[str, Any],
        lines: Mapping[str, bytes] = MappingProxyType({}),
        page: bytes = b"",
    ) -> None:
        """Add changes; with a tap, the lines of a watch or the page of a list that they come from, too."""
        if not changes:
            return
        if self.tap is not None:
            head = {"apiVersion": resource.api_version, "kind": resource.api_kind}
            if page:
                self.tap.put_page(resource.kind, head, page, changes.keys())
            else:
                self.tap.put(resource.kind, head, {key: lines.get(key) for key in changes})
        self._mailbox.put(resource.kind, changes)

    def wait_until_nodes_shown(self, seconds: float) -> None:
        """Wait, up to a time limit, until the reader has drawn the first nodes."""
        self._mailbox.wait_until_nodes_shown(seconds)

    def report(self, resource: Resource, status: SourceStatus, *, is_proven: bool = True) -> None:
        """Set the status of one resource.

        Args:
            is_proven: Whether the server sent something new, which ends a doubt.
        """
        with self._lock:
            if is_proven or status.phase is not Phase.LIVE:
                self._doubts.pop(resource.identity, None)
            of_kind = self._statuses.setdefault(resource.kind, {})
            of_kind[resource.identity] = status
            self._mailbox.report(self._shown(of_kind))

    def announce(self, status: SourceStatus) -> None:
        """Add the status of a kind that no resource reports on."""
        with self._lock:
            if status.kind not in self._statuses:
                self._mailbox.report(status)

    def is_doubted(self, resource: Resource) -> bool:
        """Return whether the known objects of a resource are unconfirmed."""
        return resource.identity in self._doubts

    def doubt(self, sentence: str, last_contact_ns: int) -> None:
        """Mark live resources as unconfirmed; the next news of a kind ends that."""
        with self._lock:
            for of_kind in self._statuses.values():
                live = [identity for identity, status in of_kind.items() if status.phase is Phase.LIVE]
                self._doubts.update(
                    (identity, (sentence, last_contact_ns)) for identity in live if identity not in self._doubts
                )
                if live:
                    self._mailbox.report(self._shown(of_kind))

    def trust(self) -> None:
        """Report all kinds again: the doubt was unfounded."""
        with self._lock:
            self._doubts.clear()
            for of_kind in self._statuses.values():
                self._mailbox.report(self._shown(of_kind))

    def _shown(self, of_kind: Mapping[str, SourceStatus]) -> SourceStatus:
        return combined([self._doubtful(identity, status) for identity, status in of_kind.items()])

    def _doubtful(self, identity: str, status: SourceStatus) -> SourceStatus:
        doubt = self._doubts.get(identity)
        if doubt is None or status.phase is not Phase.LIVE:
            return status
        return replace(status, phase=Phase.STALE, last_error=doubt[0], since_ns=doubt[1])


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


REPORT_SECONDS: Final = 0.5
"""How often contact, and a count that is still growing, are reported while nothing else changes."""


class ResourceStatus:
    """Phase, contact and unreadable objects of one resource."""

    def __init__(self, resource: Resource, board: Board, waits: Waits) -> None:
        self.total: int | None = None
        """Estimated number of objects; None if unknown."""
        self.phase = Phase.CONNECTING
        self._resource = resource
        self._board = board
        self._waits = waits
        self._since_ns = waits.now_ns()
        self._contact_ns = 0
        self._reported_at, self._count = float("-inf"), 0
        self._problems = 0
        self._last_problem = ""

    def note_contact(self) -> None:
        """Note that the server has said something."""
        self._contact_ns = self._waits.now_ns()

    def note(self, problem: str) -> None:
        """Note that an object could not be read."""
        self._problems += 1
        self._last_problem = problem

    def clear_problems(self) -> None:
        """Begin a new list: what cannot be read will show again."""
        self._problems, self._last_problem = 0, ""

    def is_due(self, phase: Phase, count: int) -> bool:
        """Whether traffic alone is worth a report: at once for a count that will stay, else twice a second."""
        if phase is Phase.LIVE and count != self._count:
            return True
        return self._waits.monotonic() - self._reported_at >= REPORT_SECONDS

    def report(
        self, phase: Phase, count: int, error: str = "", *, retry_in_seconds: float = 0.0, is_proven: bool = True
    ) -> None:
        """Report to the board; without an error, the message is about unreadable objects."""
        now_ns = self._waits.now_ns()
        if phase is not self.phase:
            self.phase, self._since_ns = phase, now_ns
        self._reported_at, self._count = self._waits.monotonic(), count
        status = SourceStatus(
            kind=self._resource.kind,
            phase=phase,
            since_ns=self._since_ns,
            last_error=error or self._unreadable(),
            count=count,
            total_estimate=self.total if phase is Phase.SYNCING else None,
            last_contact_ns=self._contact_ns,
            retry_at_ns=now_ns + int(retry_in_seconds * NS_PER_SECOND) if retry_in_seconds else 0,
        )
        self._board.report(self._resource, status, is_proven=is_proven)

    def _unreadable(self) -> str:
        if not self._problems:
            return ""
        more = f" (and {self._problems - 1} more)" if self._problems > 1 else ""
        return f"could not be read{more}: {self._last_problem}"
