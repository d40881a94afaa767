"""A snapshot as a source: everything at once, and then nothing more."""

from __future__ import annotations

from collections.abc import Container, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec

from karptui.decode.kinds import Kind
from karptui.decode.reader import without_managed_fields
from karptui.karpenter.inventory import Inventory
from karptui.sources.source import LocalSource, Mailbox, Phase, SourceError, SourceStatus, kept_as
from karptui.state.cluster import objects_of

if TYPE_CHECKING:
    from karptui.sources.snapshot.reader import Snapshot


def put_all(
    mailbox: Mailbox, inventory: Inventory, at_ns: int, unread: Mapping[Kind, tuple[str, ...]] = MappingProxyType({})
) -> None:
    """Put a complete, static cluster into a mailbox."""
    put_objects(mailbox, objects_of(inventory), at_ns, left_out=inventory.unread, unread=unread)


def put_objects(
    mailbox: Mailbox,
    objects: Mapping[Kind, Mapping[str, Any]],
    at_ns: int,
    *,
    left_out: Container[str],
    unread: Mapping[Kind, tuple[str, ...]],
) -> None:
    """Put all objects of a static cluster into a mailbox, by kind and key.

    Args:
        left_out: Kinds that were not read.
        unread: Messages about unreadable objects, by kind.
    """
    for kind in Kind:
        items = objects.get(kind, {})
        if items:
            mailbox.replace(kind, items)
        mailbox.report(
            SourceStatus(
                kind=kind,
                phase=Phase.OFFLINE,
                since_ns=at_ns,
                last_error=_first_of(unread.get(kind, ())),
                count=len(items),
                last_contact_ns=at_ns,
                is_left_out=kind in left_out,
            )
        )


class SnapshotSource(LocalSource):
    """Source of a snapshot that has been read; ``fetch_object`` needs a snapshot that keeps its manifests."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.title = snapshot.name

    def start(self, mailbox: Mailbox) -> None:
        """Put every object into the mailbox."""
        put_all(mailbox, self.snapshot.inventory, self.snapshot.read_at_ns, self.snapshot.unread)

    def fetch_object(self, kind: str, key: str) -> dict[str, Any]:
        """Return one object as the snapshot has it, without managedFields."""
        kept_as(kind)
        manifest = self.snapshot.manifests.get((kind, key))
        if manifest is None:
            raise SourceError(f"the snapshot has no {kind} {key}")
        return without_managed_fields(msgspec.json.decode(msgspec.json.encode(manifest), type=dict[str, Any]))


def _first_of(sentences: tuple[str, ...]) -> str:
    """Return the first of several messages, and their number."""
    if len(sentences) <= 1:
        return "".join(sentences)
    return f"{sentences[0]} (and {len(sentences) - 1} more)"
