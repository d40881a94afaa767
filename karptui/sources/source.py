"""Source of cluster data: starts, fills a mailbox, and stops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from karptui.sources.mailbox import Mailbox


class Source(Protocol):
    """Where objects come from: a live API server, a snapshot, the demo recording."""

    @property
    def title(self) -> str:
        """Title in the top bar: the context, the file, ``demo``."""
        ...

    @property
    def caution(self) -> str:
        """A short warning for the banner about its data; usually empty."""
        ...

    def start(self, mailbox: Mailbox) -> None:
        """Begin to fill the mailbox and return at once."""
        ...

    def stop(self) -> None:
        """End every thread and connection; returns within about a second, and does nothing the second time."""
        ...

    def refresh(self) -> None:
        """Try everything again now, whatever it waits for; return at once."""
        ...

    def fetch_object(self, kind: str, key: str) -> dict[str, Any]:
        """Return an object of the API server, without managedFields; may take as long as a request.

        Args:
            kind: Kind as in the API, such as ``EC2NodeClass``.
            key: ``namespace/name``, or the name of a cluster-scoped object.

        Raises:
            SourceError: if it is unavailable, with a message.
        """
        ...

    def crds(self) -> tuple[dict[str, Any], ...]:
        """Return the CustomResourceDefinitions of Karpenter's kinds, if there are any.

        May take as long as a few requests.

        Raises:
            SourceError: if they are unavailable, with a message.
        """
        ...
