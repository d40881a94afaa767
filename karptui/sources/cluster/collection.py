"""The requests of a list and a watch, and every object that a recording holds, listed once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Final

import msgspec

from karptui.sources.cluster.body import ListMetadata, TooLargeError, UnreadableError, answers_counted, decoded
from karptui.sources.cluster.discovery import discover
from karptui.sources.cluster.errors import ApiError, UnreachableError
from karptui.sources.cluster.resources import LATER, NODES, Resource
from karptui.sources.cluster.stream import LineStream
from karptui.sources.cluster.transport import JSON, Transport

METADATA: Final = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_LIST: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


PEEK_SECONDS: Final = 15.0
"""Timeout for the number of objects, in seconds."""
GRACE_SECONDS: Final = 60.0
"""Extra time that a server may leave a stream open, in seconds."""


class _Metadata(msgspec.Struct, rename="camel"):
    resource_version: str | None = None
    remaining_item_count: int | None = None


class _Object(msgspec.Struct):
    metadata: _Metadata


class _List(_Object):
    items: list[_Object] | None = None


class Collection:
    """One resource at one API server; every method raises as ``Transport.get`` does."""

    def __init__(self, resource: Resource, transport: Transport) -> None:
        self._resource = resource
        self._transport = transport

    @property
    def server(self) -> str:
        """The server's address."""
        return self._transport.server

    @property
    def title(self) -> str:
        """Name of its objects."""
        return self._resource.title

    def peek(self) -> int | None:
        """Return the approximate number of objects; None if the server does not tell.

        The field selector is omitted: with one, a server does not tell the remaining items.
        """
        try:
            peek = self._listed("", {"limit": "1"})
        except (ApiError, TooLargeError, UnreadableError):
            return None
        return (peek.metadata.remaining_item_count or 0) + len(peek.items or ())

    def version(self) -> str:
        """Return the resourceVersion of the server's storage; empty if it does not tell."""
        return self._listed("", {"limit": "1"}).metadata.resource_version or ""

    def version_then(self, key: str, version: str) -> str | None:
        """Return the version of an object in the server's storage at an earlier moment.

        Args:
            version: resourceVersion of the moment.

        Returns:
            Empty if there was none; None if the server does not know.
        """
        name = key.rpartition("/")[2]
        namespace = key.partition("/")[0] if self._resource.is_namespaced else ""
        selected = [f"metadata.name={name}", *filter(None, [self._resource.field_selector])]
        query = {"fieldSelector": ",".join(selected), "resourceVersion": version, "resourceVersionMatch": "Exact"}
        try:
            items = self._listed(namespace, query).items
        except ApiError:
            return None
        return (items[0].metadata.resource_version or None) if items else ""

    def _listed(self, namespace: str, query: Mapping[str, str]) -> _List:
        path = self._resource.path_in(namespace)
        data = self._transport.get(path, query, accept=METADATA_LIST, read_seconds=PEEK_SECONDS)
        return decoded(data, _List, f"{self._transport.server} did not answer with a list of {self._resource.title}")

    def page(self, limit: int, token: str) -> bytes:
        """Return a page of the list; an empty token asks for the first.

        There is no resourceVersion in the request: with "0" servers disregard the limit.
        """
        query = self._selected({"limit": str(limit)})
        if token:
            query["continue"] = token
        accept = METADATA_LIST if self._resource.metadata_only else JSON
        return self._transport.get(self._resource.path, query, accept=accept)

    def stream_list(self, *, seconds: int, silence_seconds: float) -> AbstractContextManager[LineStream]:
        """Open a watch that begins with everything there is, and ends that part with a marked bookmark."""
        return self._stream(
            {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}, seconds, silence_seconds
        )

    def watch(self, version: str, *, seconds: int, silence_seconds: float) -> AbstractContextManager[LineStream]:
        """Open a watch of what happened after a resourceVersion.

        Args:
            silence_seconds: after this long without a byte the stream counts as broken.
        """
        return self._stream({"resourceVersion": version}, seconds, silence_seconds)

    def _stream(self, query: dict[str, str], seconds: int, silence: float) -> AbstractContextManager[LineStream]:
        query = self._selected(
            {**query, "watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(seconds)}
        )
        accept = METADATA if self._resource.metadata_only else JSON
        return self._transport.stream(
            self._resource.path, query, accept=accept, silence_seconds=silence, lasts_seconds=seconds + GRACE_SECONDS
        )

    def _selected(self, query: dict[str, str]) -> dict[str, str]:
        if self._resource.field_selector:
            query["fieldSelector"] = self._resource.field_selector
        return query


PAGE_LIMIT: Final = 500


class _ExportPage(msgspec.Struct):
    metadata: ListMetadata = msgspec.field(default_factory=ListMetadata)
    items: list[Any] | None = None


class Export(msgspec.Struct):
    """The listed objects."""

    objects: list[dict[str, Any]] = msgspec.field(default_factory=list)
    missing: list[str] = msgspec.field(default_factory=list)
    """A message for each resource that could not be listed."""
    unread: set[str] = msgspec.field(default_factory=set)


def export_cluster(
    transport: Transport,
    *,
    keep: Callable[[dict[str, Any]], dict[str, Any] | None],
    progress: Callable[[str, int], None],
) -> Export:
    """List everything.

    Args:
        keep: Returns the part of an object to keep; None drops it.
        progress: Called with the resource and the number of its objects so far.

    Raises:
        SourceError: if the server is unreachable, or no credential is available.
    """
    export = Export()
    for resource in (NODES, *discover(transport), *LATER):
        count = 0
        try:
            for item in _items(resource, transport):
                count += 1
                if (kept := keep(item)) is not None:
                    export.objects.append(kept)
                if count % PAGE_LIMIT == 0:
                    progress(resource.title, count)
        except ApiError as error:
            export.missing.append(f"{resource.title}: {error}")
            export.unread.add(str(resource.kind))
        progress(resource.title, count)
    return export


def _items(resource: Resource, transport: Transport) -> Iterator[dict[str, Any]]:
    collection, token = Collection(resource, transport), ""
    while True:
        with answers_counted():
            data = collection.page(PAGE_LIMIT, token)
            page = decoded(data, _ExportPage, f"{transport.server} did not answer with a list")
            del data
        for item in page.items or ():
            if isinstance(item, dict):
                # Items of a list have no kind, and metadata-only items have another one.
                yield {**item, "apiVersion": resource.api_version, "kind": resource.api_kind}
        token = page.metadata.next or ""
        if not token:
            return
        if not page.items:
            raise UnreachableError(f"{transport.server}'s list of {resource.title} never ends")
