"""What an API server sends: pages of lists, and lines of watches."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from karptui.decode.errors import DecodeError
from karptui.decode.kinds import Kind, KindReader, field_error, key_of_mapping
from karptui.decode.wire import Wire, WireObject

INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"


class Page(msgspec.Struct, frozen=True, gc=False):
    """One page of a list."""

    items: tuple[Any, ...]
    """Domain objects."""
    resource_version: str = ""
    continue_token: str = ""
    """Empty on the last page."""
    remaining: int | None = None
    """How many items follow, where the server says so."""
    problems: tuple[str, ...] = ()
    """A sentence for each item that could not be read and is left out."""


class WatchEvent(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One line of a watch."""

    type: str
    """``ADDED``, ``MODIFIED``, ``DELETED``, ``BOOKMARK`` or ``ERROR``."""
    item: Any = None
    """The domain object of ADDED and MODIFIED."""
    key: str = ""
    resource_version: str = ""
    is_initial_events_end: bool = False
    """A bookmark that closes the list part of a WatchList."""
    status_code: int = 0
    """Of an ERROR."""
    message: str = ""
    retry_after_seconds: int = 0
    problem: str = ""
    """Why an object could not be read; its key is known all the same."""


class _ListMeta(Wire):
    resource_version: str | None = None
    continue_: str | None = msgspec.field(default=None, name="continue")
    remaining_item_count: int | None = None


class _RawList(Wire):
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)
    items: list[msgspec.Raw] | None = None


class _Details(Wire):
    retry_after_seconds: int | None = None


class _Status(Wire):
    code: int | None = None
    message: str | None = None
    reason: str | None = None
    details: _Details | None = None


class _Line(Wire):
    type: str
    object: msgspec.Raw


class StreamDecoder:
    """Decodes pages and lines of one kind; one instance per thread."""

    def __init__(self, kind: Kind, *, api_version: str = "", api_kind: str = "") -> None:
        self._reader = KindReader(kind, api_version=api_version, api_kind=api_kind)
        wire_type = self._reader.wire_type
        self._item = msgspec.json.Decoder(wire_type)
        self._list = msgspec.json.Decoder(
            msgspec.defstruct(
                f"{wire_type.__name__}List",
                [
                    ("metadata", _ListMeta, msgspec.field(default_factory=_ListMeta)),
                    ("items", list[wire_type] | None, None),  # type: ignore[valid-type]
                ],
            )
        )
        self._raw_list = msgspec.json.Decoder(_RawList)
        self._line = msgspec.json.Decoder(_Line)
        self._status = msgspec.json.Decoder(_Status)
        self._meta = msgspec.json.Decoder(WireObject)

    def page(self, data: bytes) -> Page:
        """Decode one page of a list; an item that cannot be read is left out with a sentence.

        Raises:
            ValueError: when the page as a whole is not a list.
        """
        if not self._reader.needs_raw:
            try:
                decoded: Any = self._list.decode(data)
                items = [self._reader.build(wire) for wire in decoded.items or ()]
            except (msgspec.ValidationError, DecodeError):
                pass
            else:
                return _page(decoded.metadata, items, [])
        raw = self._raw_list.decode(data)
        items, problems = [], []
        for item in raw.items or ():
            try:
                items.append(self._one(bytes(item)))
            except DecodeError as error:
                problems.append(str(error))
        return _page(raw.metadata, items, problems)

    def line(self, data: bytes) -> WatchEvent:
        """Decode one line of a watch.

        Raises:
            ValueError: when the line is not a watch event.
        """
        line = self._line.decode(data)
        if line.type == "ERROR":
            status = self._status.decode(line.object)
            return WatchEvent(
                type=line.type,
                status_code=status.code or 0,
                message=status.message or status.reason or "",
                retry_after_seconds=(status.details.retry_after_seconds if status.details else None) or 0,
            )
        meta = self._meta.decode(line.object).metadata
        version = meta.resource_version or ""
        if line.type == "BOOKMARK":
            ended = (meta.annotations or {}).get(INITIAL_EVENTS_END) == "true"
            return WatchEvent(type=line.type, resource_version=version, is_initial_events_end=ended)
        key = f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name or ""
        if line.type == "DELETED":
            return WatchEvent(type=line.type, key=key, resource_version=version)
        try:
            item = self._one(bytes(line.object))
        except DecodeError as error:
            return WatchEvent(type=line.type, key=key, resource_version=version, problem=str(error))
        return WatchEvent(type=line.type, item=item, key=key, resource_version=version)

    def _one(self, data: bytes) -> Any:
        if self._reader.needs_raw:
            raw = msgspec.json.decode(data)
            metadata = raw.get("metadata")
            if isinstance(metadata, dict):
                metadata.pop("managedFields", None)
            return self._reader.convert(raw)
        try:
            wire = self._item.decode(data)
        except msgspec.ValidationError as error:
            key = key_of_mapping(msgspec.json.decode(data))
            raise DecodeError(self._reader.api_kind, key, field_error(error)) from None
        return self._reader.build(wire)


def _page(meta: _ListMeta, items: list[Any], problems: list[str]) -> Page:
    return Page(
        items=tuple(items),
        resource_version=meta.resource_version or "",
        continue_token=meta.continue_ or "",
        remaining=meta.remaining_item_count,
        problems=tuple(problems),
    )
