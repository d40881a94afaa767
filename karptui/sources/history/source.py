"""Past moments as a source: the objects of an instant, decoded at once, and then nothing more."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import msgspec

from karptui.aws.evidence import Evidence
from karptui.decode.errors import DecodeError
from karptui.decode.kinds import Kind
from karptui.decode.pod_text import BuiltPod
from karptui.decode.reader import UNREADABLE, KindReader, key_of, without_managed_fields
from karptui.kube.pod import Pod
from karptui.kube.usage import LiveUsage
from karptui.sources.history.moments import fields_at
from karptui.sources.history.store import Change, History, HistoryError
from karptui.sources.snapshot.documents import SnapshotDocument
from karptui.sources.snapshot.instance_types import Catalogs
from karptui.sources.snapshot.reader import Recorded
from karptui.sources.snapshot.source import put_objects
from karptui.sources.snapshot.text import MemoryLimit, SnapshotError, sentence
from karptui.sources.source import LocalSource, Mailbox, SourceError, kept_as

_Decoded: TypeAlias = Mapping[tuple[str, str], tuple[int, Any]]
"""Objects by kind and key, with the time of their change: a history has one change of an object at a time."""
_NONE: Final[_Decoded] = MappingProxyType({})


class _Head(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""


_HEAD: Final = msgspec.json.Decoder(_Head)
_POD: Final = msgspec.json.Decoder(BuiltPod)


class PastCluster(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A cluster at an instant of its history."""

    path: Path
    at_ns: int
    """The instant; in a pause of the recording, when that began."""
    evidence: Evidence
    live_usage: LiveUsage
    objects: Mapping[Kind, Mapping[str, Any]]
    problems: Mapping[Kind, tuple[str, ...]]
    """Messages about unreadable objects, by kind."""
    left_out: frozenset[str]
    """Kinds that were not read."""
    decoded: _Decoded = _NONE


def read_past(history: History, at_ns: int, before: PastCluster | None = None) -> PastCluster:
    """Return the cluster at an instant.

    Args:
        before: Another moment, whose objects are used again if they are the same.

    Raises:
        HistoryError: if the history begins later, or its facts cannot be read.
    """
    at_ns, fields = fields_at(history, at_ns)
    where = str(history.path)
    try:
        recorded = Recorded(
            SnapshotDocument(fields, where, history.path.parent, MemoryLimit(b"", where, size_bytes=0)), Catalogs()
        )
    except SnapshotError as error:
        raise HistoryError(str(error)) from None
    decoded_before = before.decoded if before is not None else _NONE
    objects: dict[Kind, dict[str, Any]] = {}
    problems: dict[Kind, tuple[str, ...]] = {}
    decoded: dict[tuple[str, str], tuple[int, Any]] = {}
    kinds = {str(kind): kind for kind in Kind}
    readers = {kind: KindReader(kind) for kind in Kind}
    for place, change in history.objects_at(at_ns).items():
        kind, item = kinds[change.kind], decoded_before.get(place)
        if item is None or item[0] != change.at_ns:
            reader = readers[kind] if kind is not Kind.NODECLASS else _reader_of(change)
            try:
                decoded_object = _pod(change.manifest) if kind is Kind.POD else None
                item = change.at_ns, decoded_object or reader.decode(change.manifest)
            except DecodeError as error:
                problems[kind] = (*problems.get(kind, ()), sentence(where, error))
                continue
        decoded[place] = item
        objects.setdefault(kind, {})[change.key] = item[1]
    left_out = frozenset(recorded.unread) - {*objects, *problems}
    return PastCluster(
        path=history.path,
        at_ns=at_ns,
        evidence=recorded.evidence,
        live_usage=recorded.live_usage,
        objects=objects,
        problems=problems,
        left_out=left_out,
        decoded=decoded,
    )


def _pod(manifest: msgspec.Raw) -> Pod | None:
    """Return a pod, decoded as in lists of a live cluster, which is quicker; None if that cannot be done."""
    try:
        pod: Pod = _POD.decode(manifest).pod
    except UNREADABLE:
        return None
    return pod


def _reader_of(change: Change) -> KindReader:
    """Return the reader of a NodeClass, whose kind depends on the provider."""
    try:
        head = _HEAD.decode(change.manifest)
    except msgspec.MsgspecError:
        head = _Head()
    return KindReader(Kind.NODECLASS, api_version=head.api_version, api_kind=head.kind)


class PastSource(LocalSource):
    """Source of a moment of a history; its title is the name of the followed cluster."""

    caution = "past"

    def __init__(self, title: str, past: PastCluster) -> None:
        self.past = past
        self.title = title

    def start(self, mailbox: Mailbox) -> None:
        """Put every object into the mailbox."""
        past = self.past
        put_objects(mailbox, past.objects, past.at_ns, left_out=past.left_out, unread=past.problems)

    def fetch_object(self, kind: str, key: str) -> dict[str, Any]:
        """Return one object as it was recorded.

        Raises:
            SourceError: when the history has no such object at the moment.
        """
        recorded_kind = kept_as(kind)
        try:
            with closing(History(self.past.path)) as history:
                for change in history.objects_at(self.past.at_ns).values():
                    is_nodeclass = recorded_kind is Kind.NODECLASS and change.kind == recorded_kind
                    if is_nodeclass or (change.kind, change.key) == (recorded_kind, key):
                        manifest: dict[str, Any] = msgspec.json.decode(change.manifest)
                        if manifest.get("kind") == kind and key_of(manifest) == key:
                            return without_managed_fields(manifest)
        except HistoryError as error:
            raise SourceError(str(error)) from None
        raise SourceError(f"the history has no {kind} {key} at this moment")
