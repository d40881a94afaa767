"""Every object that a recording holds, listed once from a live cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from karptui.sources.cluster.body import ListMetadata, answers_counted, decoded
from karptui.sources.cluster.collection import Collection
from karptui.sources.cluster.discovery import discover
from karptui.sources.cluster.errors import ApiError, UnreachableError
from karptui.sources.cluster.resources import LATER, NODES, Resource
from karptui.sources.cluster.transport import Transport

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
    found = Export()
    for resource in (NODES, *discover(transport), *LATER):
        count = 0
        try:
            for item in _items(resource, transport):
                count += 1
                kept = keep(item)
                if kept is not None:
                    found.objects.append(kept)
                if count % PAGE_LIMIT == 0:
                    progress(resource.title, count)
        except ApiError as error:
            found.missing.append(f"{resource.title}: {error}")
            found.unread.add(str(resource.kind))
        progress(resource.title, count)
    return found


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
