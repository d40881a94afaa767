"""Decodes pages of lists and lines of watches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeVar

import msgspec

from karptui.decode.errors import DecodeError
from karptui.decode.kinds import Kind
from karptui.decode.pod_text import BuiltPod
from karptui.decode.reader import UNREADABLE, KindReader, loose
from karptui.decode.wire import Int, Wire, WireMeta, WireObject
from karptui.karpenter.nodeclass import nodeclass_key

INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"
_CHANGES: Final = frozenset({"ADDED", "MODIFIED"})
_NAMED: Final = _CHANGES | {"DELETED"}
_OBJECT: Final = msgspec.json.Decoder(WireObject)
_T = TypeVar("_T")


class Page(msgspec.Struct, frozen=True, gc=False):
    """A page of a list."""

    items: tuple[Any, ...]
    """Domain objects."""
    resource_version: str = ""
    continue_token: str = ""
    """Empty on the last page."""
    remaining: int | None = None
    """Number of items on later pages, if the server reports it."""
    problems: tuple[str, ...] = ()
    """Error messages for the items that could not be decoded and are omitted."""
    versions: tuple[str, ...] = ()
    """``resourceVersion`` of each item."""


class WatchEvent(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A line of a watch."""

    type: str
    """``ADDED``, ``MODIFIED``, ``DELETED``, ``BOOKMARK`` or ``ERROR``."""
    item: Any = None
    """Domain object of an ADDED or MODIFIED event."""
    key: str = ""
    resource_version: str = ""
    is_initial_events_end: bool = False
    """Whether it is the bookmark that ends the initial list of a WatchList."""
    status_code: int = 0
    """HTTP status of an ERROR event."""
    message: str = ""
    retry_after_seconds: int = 0
    problem: str = ""
    """Error message if the object could not be decoded; ``key`` is set nevertheless."""


class _ListMeta(Wire):
    resource_version: str | None = None
    continue_: str | None = msgspec.field(default=None, name="continue")
    remaining_item_count: Int | None = None


class _RawPage(Wire):
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)
    items: list[msgspec.Raw] | None = None


class _PodPage(Wire):
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)
    items: list[BuiltPod] | None = None


class _PodLine(Wire):
    type: str
    object: BuiltPod


class _Details(Wire):
    retry_after_seconds: Int | None = None


class _Status(Wire):
    code: Int | None = None
    message: str | None = None
    reason: str | None = None
    details: _Details | None = None


class _Line(Wire):
    type: str
    object: msgspec.Raw


_PAGE: Final = msgspec.json.Decoder(_RawPage)
_LINE: Final = msgspec.json.Decoder(_Line)


def line_object(data: bytes) -> bytes:
    """Return the object of a line of a watch as JSON.

    Raises:
        ValueError: If the line is not a watch event.
    """
    return bytes(_decode(_LINE, data).object)


def page_objects(data: bytes, kind: Kind, api_kind: str) -> Iterator[tuple[str, bytes]]:
    """Yield the key and the JSON of each object on a page of a list.

    Raises:
        ValueError: If the page is not a list.
    """
    for text in _decode(_PAGE, data).items or ():
        yield _key_of(kind, api_kind, _metadata(text)), bytes(text)


class StreamDecoder:
    """Decodes pages and lines of a kind; not thread-safe."""

    def __init__(self, kind: Kind, *, api_version: str = "", api_kind: str = "") -> None:
        self._reader = KindReader(kind, api_version=api_version, api_kind=api_kind)
        self._pods = msgspec.json.Decoder(_PodPage) if kind is Kind.POD else None
        self._pod_line = msgspec.json.Decoder(_PodLine)
        self._status = msgspec.json.Decoder(_Status)

    def page(self, data: bytes) -> Page:
        """Decode a page of a list; undecodable items are omitted and reported in ``problems``.

        Raises:
            ValueError: If the page is not a list.
        """
        if self._pods is not None:
            try:
                pods = self._pods.decode(data)
            except UNREADABLE:
                pass
            else:
                versions = [item.metadata.resource_version or "" for item in pods.items or ()]
                return _page(pods.metadata, [item.pod for item in pods.items or ()], versions, [])
        page = _decode(_PAGE, data)
        items, versions, problems = [], [], []
        for text in page.items or ():
            try:
                items.append(self._reader.decode(text))
            except DecodeError as error:
                problems.append(str(error))
            else:
                versions.append(_metadata(text).resource_version or "")
        return _page(page.metadata, items, versions, problems)

    def line(self, data: bytes | memoryview) -> WatchEvent:
        """Decode a line of a watch.

        Raises:
            ValueError: If the line is not a watch event.
        """
        if self._pods is not None:
            try:
                changed = self._pod_line.decode(data)
            except UNREADABLE:
                pass
            else:
                if changed.type in _CHANGES:
                    pod, version = changed.object.pod, changed.object.metadata.resource_version
                    return WatchEvent(type=changed.type, item=pod, key=pod.key, resource_version=version or "")
        line = _decode(_LINE, data)
        if line.type == "ERROR":
            return _error_event(_decode(self._status, line.object))
        meta = _metadata(line.object)
        key, version = _key_of(self._reader.kind, self._reader.api_kind, meta), meta.resource_version or ""
        if line.type == "BOOKMARK":
            ended = (meta.annotations or {}).get(INITIAL_EVENTS_END) == "true"
            return WatchEvent(type=line.type, resource_version=version, is_initial_events_end=ended)
        if line.type not in _NAMED:
            raise ValueError(f"unknown watch event type {line.type[:40]!r}")
        if line.type == "DELETED":
            return WatchEvent(type=line.type, key=key, resource_version=version)
        try:
            item = self._reader.decode(line.object)
        except DecodeError as error:
            return WatchEvent(type=line.type, key=key, resource_version=version, problem=str(error))
        return WatchEvent(type=line.type, item=item, key=item.key, resource_version=version)


def _key_of(kind: Kind, api_kind: str, meta: WireMeta) -> str:
    if kind is not Kind.NODECLASS or not meta.key:
        return meta.key
    return nodeclass_key(api_kind, meta.key)


def _metadata(text: msgspec.Raw) -> WireMeta:
    """Return the readable part of a possibly malformed object's metadata."""
    try:
        return _OBJECT.decode(text).metadata
    except UNREADABLE:
        pass
    raw = loose(text)
    metadata = raw.get("metadata") if isinstance(raw, dict) else None
    get = metadata.get if isinstance(metadata, dict) else dict[str, Any]().get
    name, namespace, version = (
        value if isinstance(value, str) else None for value in map(get, ("name", "namespace", "resourceVersion"))
    )
    return WireMeta(name=name, namespace=namespace, resource_version=version)


def _error_event(status: _Status) -> WatchEvent:
    return WatchEvent(
        type="ERROR",
        status_code=status.code or 0,
        message=status.message or status.reason or "",
        retry_after_seconds=(status.details.retry_after_seconds if status.details else None) or 0,
    )


def _page(meta: _ListMeta, items: list[Any], versions: list[str], problems: list[str]) -> Page:
    return Page(
        items=tuple(items),
        versions=tuple(versions),
        resource_version=meta.resource_version or "",
        continue_token=meta.continue_ or "",
        remaining=meta.remaining_item_count,
        problems=tuple(problems),
    )


def _decode(decoder: msgspec.json.Decoder[_T], data: bytes | memoryview | msgspec.Raw) -> _T:
    try:
        return decoder.decode(data)
    except RecursionError as error:
        raise ValueError(f"nested too deeply: {error}") from None
