"""A snapshot as a source: everything at once, and then nothing more."""

from __future__ import annotations

from typing import Any

from karptui.decode.kinds import Kind
from karptui.sources.base import Phase, SourceError, SourceStatus
from karptui.sources.mailbox import Mailbox
from karptui.sources.snapshot.reader import Snapshot


class SnapshotSource:
    """Plays a snapshot that has been read."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot

    @property
    def title(self) -> str:
        """The snapshot's name."""
        return self.snapshot.name

    def start(self, mailbox: Mailbox) -> None:
        """Put every object into the mailbox."""
        taken_ns = self.snapshot.captured_at_ns
        for kind in Kind:
            items: Any = self.snapshot.objects.get(kind, {})
            if items:
                mailbox.replace(kind, items)
            mailbox.report(
                SourceStatus(
                    kind=kind, phase=Phase.OFFLINE, since_ns=taken_ns, count=len(items), last_contact_ns=taken_ns
                )
            )

    def stop(self) -> None:
        """Do nothing: nothing runs."""

    def fetch_raw(self, kind: str, key: str) -> str:
        """Return an object as YAML, as the snapshot has it.

        Raises:
            SourceError: when the snapshot has no such object.
        """
        import yaml  # noqa: PLC0415 - only this needs it, and it is slow to import

        raw = self.snapshot.raw.get(Kind(kind), {}).get(key)
        if raw is None:
            raise SourceError(f"the snapshot has no {kind} {key}")
        text: str = yaml.safe_dump(raw, sort_keys=False, allow_unicode=True, width=160)
        return text
