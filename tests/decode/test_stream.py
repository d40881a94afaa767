from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from karptui.decode.kinds import Kind
from karptui.decode.stream import StreamDecoder, WatchEvent

from .samples import KINDS, line, page, sample, text


def pod(name: str = "web", **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "prod", "resourceVersion": "9"} | metadata}


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_has_its_items_in_order(kind: Kind) -> None:
    names = [f"object-{number}" for number in range(5)]
    items = [{**sample(kind), "metadata": {"name": name}} for name in names]
    read = StreamDecoder(kind).page(page(*items, remainingItemCount=3, **{"continue": "token"}))
    assert [item.name for item in read.items] == names
    assert (read.resource_version, read.continue_token, read.remaining, read.problems) == ("7", "token", 3, ())


NO_LISTS = (
    b"", b"<html>", b"[]", b'{"items":5}', b'{"items":[', b'{"metadata":5}',
    b'{"items":[{"metadata":{"name":"x"}}]} trailing',
    b'{"items":[{"metadata":{"name":"x"},"spec":' + b"[" * 100_000 + b"]" * 100_000 + b"}]}",
)  # fmt: skip
NO_EVENTS = (
    b"", b"{}", b"null", b'{"type":"ADDED"}', b'{"object":{}}', b'{"type":5,"object":{}}',
    b'{"type":"ERROR","object":5}',
)  # fmt: skip


@pytest.mark.parametrize("kind", [Kind.POD, Kind.NODE, Kind.NODEPOOL])
@pytest.mark.parametrize(
    ("read", "data"),
    [*((StreamDecoder.page, data) for data in NO_LISTS), *((StreamDecoder.line, data) for data in NO_EVENTS)],
    ids=lambda given: repr(given[:12]) if isinstance(given, bytes) else given.__name__,
)
def test_neither_list_nor_event_is_an_error(
    kind: Kind, read: Callable[[StreamDecoder, bytes], object], data: bytes
) -> None:
    with pytest.raises(ValueError, match=r"."):
        read(StreamDecoder(kind), data)


@pytest.mark.parametrize("kind", [Kind.POD, Kind.NODE, Kind.NODEPOOL])
@pytest.mark.parametrize(("annotations", "is_end"), [
    (None, False),
    ({}, False),
    ({"k8s.io/initial-events-end": "true"}, True),
    ({"k8s.io/initial-events-end": "x"}, False),
])  # fmt: skip
def test_bookmarks_have_the_version_and_may_end_a_list(
    kind: Kind, annotations: dict[str, str] | None, is_end: bool
) -> None:
    bookmark = {
        "kind": kind,
        "metadata": {"resourceVersion": "12", "creationTimestamp": None, "annotations": annotations},
        "spec": {"containers": None},
        "status": {},
    }
    event = StreamDecoder(kind).line(line("BOOKMARK", bookmark))
    assert event == WatchEvent(type="BOOKMARK", resource_version="12", is_initial_events_end=is_end)


@pytest.mark.parametrize("kind", [Kind.POD, Kind.NODE, Kind.NODEPOOL])
@pytest.mark.parametrize(("status", "expected"), [
    ({"code": 410, "reason": "Expired", "message": "too old resource version", "metadata": {}},
     (410, "too old resource version", 0)),
    ({"code": 429, "reason": "TooManyRequests", "details": {"retryAfterSeconds": 3}}, (429, "TooManyRequests", 3)),
    ({"status": "Failure", "details": {}}, (0, "", 0)),
    ({"metadata": None, "details": None}, (0, "", 0)),
])  # fmt: skip
def test_errors_have_code_text_and_delay(kind: Kind, status: dict[str, Any], expected: tuple[int, str, int]) -> None:
    event = StreamDecoder(kind).line(line("ERROR", status))
    assert event.type == "ERROR"
    assert (event.status_code, event.message, event.retry_after_seconds) == expected


@pytest.mark.parametrize(("metadata", "key", "version"), [
    ({"name": "web", "namespace": "prod", "resourceVersion": "9", "labels": 5}, "prod/web", "9"),
    ({"name": "web", "resourceVersion": 9, "labels": 5}, "web", ""),
    ({"name": 5, "namespace": "prod", "resourceVersion": "9"}, "", "9"),
])  # fmt: skip
def test_an_unreadable_object_keeps_its_key_and_version(metadata: dict[str, Any], key: str, version: str) -> None:
    event = StreamDecoder(Kind.POD).line(line("MODIFIED", {"metadata": metadata}))
    assert (event.item, event.key, event.resource_version) == (None, key, version)
    assert event.problem.startswith("Pod ")
    assert StreamDecoder(Kind.POD).line(line("DELETED", {"metadata": metadata})).key == key


def test_decoded_text_outlives_its_page() -> None:
    data = bytearray(page(sample(Kind.POD)))
    (item,) = StreamDecoder(Kind.POD).page(data).items  # type: ignore[arg-type]  # so that it can be overwritten
    for index in range(len(data)):
        data[index] = 0
    assert item.key == "prod/web-1-abcde"
    assert item.labels == {"app": "web"}
    assert text(dict(item.template.node_selector)) == b'{"kubernetes.io/arch":"arm64"}'
