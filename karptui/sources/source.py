"""What a source of cluster data is: something that starts, fills a mailbox, and stops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from karptui.sources.mailbox import Mailbox


class Source(Protocol):
    """Where objects come from: a live API server, a snapshot, the demo recording."""

    @property
    def title(self) -> str:
        """What the top bar calls it: the context, the file, ``demo``."""
        ...

    @property
    def caution(self) -> str:
        """What is to be said against what it shows, in a few words for the banner; empty as a rule."""
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
        """Return an object as the API server has it, without managedFields; may take as long as a request.

        Args:
            kind: as the API writes it, such as ``EC2NodeClass``.
            key: ``namespace/name``, or the name of a cluster-scoped object.

        Raises:
            SourceError: when it cannot be had, with a sentence.
        """
        ...

    def crds(self) -> tuple[dict[str, Any], ...]:
        """Return the CustomResourceDefinitions of Karpenter's kinds, nothing where there are none.

        May take as long as a few requests.

        Raises:
            SourceError: when they cannot be had, with a sentence.
        """
        ...
