"""What a source of cluster data is: something that starts, fills a mailbox, and stops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from karptui.sources.mailbox import Mailbox


class Source(Protocol):
    """Where objects come from: a live API server, a snapshot, the demo recording."""

    @property
    def title(self) -> str:
        """What the top bar calls it: the context, the file, ``demo``."""
        ...

    def start(self, mailbox: Mailbox) -> None:
        """Begin to fill the mailbox and return at once."""
        ...

    def stop(self) -> None:
        """End every thread and connection; returns within about a second, and does nothing the second time."""
        ...
