from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any

import msgspec
import pytest

from karptui.config import Banner
from karptui.decode.errors import DecodeError, field_error
from karptui.decode.kinds import Kind
from karptui.decode.reader import KindReader
from karptui.decode.stream import StreamDecoder, WatchEvent
from karptui.whatif.field_path import parse_path

from .samples import KINDS, line, page, sample, text

MISSING = object()
HUGE = 10**30
"""JSON text decodes to a float, so the error message differs."""
WRONG = [
    None,
    True,
    -1,
    1.5,
    HUGE,
    "",
    "x",
    "1e9999",
    "\x1b[31m",
    [],
    [None],
    ["x"],
    {},
    {"x": None},
    {"": {}},
    MISSING,
]
LONGEST_SENTENCE = 1200
Path = tuple[str | int, ...]
UNREAD = ("generation", "annotations", "volumes", "containerStatuses", "initContainerStatuses")
"""Fields of pods that pages and watches skip if nothing depends on them."""
HOSTILE = "\x1b[31m"


def paths(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the path of every field and item."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from paths(inner, (*path, key))


def fields(value: Any) -> Iterable[Path]:
    """Return the path of each field, with one item per list, because all items are read alike."""
    return {tuple("" if isinstance(key, int) else key for key in path): path for path in paths(value)}.values()


def changed(value: Any, path: Path, wrong: Any) -> Any:
    """Return the object with the value at a path replaced or, for MISSING, removed."""
    key, *rest = path
    result = value.copy()
    if rest:
        result[key] = changed(value[key], tuple(rest), wrong)
    elif wrong is MISSING:
        del result[key]
    else:
        result[key] = wrong
    return result


def outcome(reader: KindReader, raw: Any) -> tuple[Any, str]:
    try:
        return reader.convert(raw), ""
    except DecodeError as error:
        return None, str(error)


@pytest.mark.parametrize("kind", KINDS)
def test_any_wrong_value_gives_an_object_or_an_error(kind: Kind) -> None:
    reader, stream, original = KindReader(kind), StreamDecoder(kind), sample(kind)
    for path in fields(original):
        objects = [changed(original, path, wrong) for wrong in WRONG]
        for raw, wrong in zip(objects, WRONG, strict=True):
            event, read = stream.line(line("ADDED", raw)), stream.page(page(raw))
            item, sentence = outcome(reader, raw)
            assert read.problems == ((event.problem,) if event.problem else ()), path
            assert [item.key for item in read.items] == ([event.item.key] if event.item else []), path
            if event.problem:
                assert (item, event.item) == (None, None), path
                assert event.problem == sentence or wrong == HUGE
                assert sentence.startswith(f"{kind} ")
                assert len(sentence) < LONGEST_SENTENCE
            elif item is None:
                assert kind is Kind.POD, path
                assert path[1] in UNREAD, path
            else:
                assert event.item.key == item.key


@pytest.mark.parametrize(("path", "wrong", "problem"), [
    ("metadata.labels", 5, "must be an object, is a number"),
    ("metadata.creationTimestamp", "today", "'today' is not an RFC 3339 timestamp"),
    ("metadata.deletionTimestamp", "2026-02-30T00:00:00Z", "'2026-02-30T00:00:00Z' is not an RFC 3339 timestamp"),
    ("status.startTime", "?", "'?' is not an RFC 3339 timestamp"),
    ("status.conditions[0].lastTransitionTime", "?", "'?' is not an RFC 3339 timestamp"),
    ("spec.containers[0].resources.requests.cpu", "two", "'two' is not a quantity"),
    ("spec.containers[0].resources.limits.memory", "2GB", "'2GB' is not a quantity"),
    ("spec.initContainers[1].resources.requests.cpu", "1 core", "'1 core' is not a quantity"),
    ("status.containerStatuses[0].resources.requests.cpu", "?", "'?' is not a quantity"),
    ("status.containerStatuses[0].allocatedResources.cpu", "?", "'?' is not a quantity"),
    ("spec.overhead.memory", "?", "'?' is not a quantity"),
    ("spec.resources.requests.cpu", "?", "'?' is not a quantity"),
    ("spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields",
     5, "must be a list, is a number"),
    ("spec.tolerations[0].key", 1, "must be text, is a number: write it in quotes"),
    ("spec.topologySpreadConstraints[0].maxSkew", MISSING, "is missing"),
    ("spec.priority", 10**30, "must be a number up to 9223372036854775807"),
])  # fmt: skip
def test_error_names_kind_object_and_field(path: str, wrong: Any, problem: str) -> None:
    raw, sentence = changed(sample(Kind.POD), parse_path(path), wrong), f"Pod prod/web-1-abcde: {path}: {problem}"
    assert outcome(KindReader(Kind.POD), raw) == (None, sentence)
    assert StreamDecoder(Kind.POD).page(page(raw)).problems == (sentence,)


@pytest.mark.parametrize(("kind", "name", "path", "wrong", "problem"), [
    (Kind.NODEPOOL, "general", "spec.limits.cpu", "lots", "'lots' is not a quantity"),
    (Kind.NODEPOOL, "general", "spec.disruption.consolidateAfter", "30", 'time: missing unit in duration "30"'),
    (Kind.NODEPOOL, "general", "spec.template.spec.expireAfter", "1w", 'time: unknown unit "w" in duration "1w"'),
    (Kind.NODECLAIM, "general-abcde", "status.conditions[1].lastTransitionTime", "?",
     "'?' is not an RFC 3339 timestamp"),
    (Kind.NODECLASS, "default", "status.conditions", 5, "must be a list, is a number"),
    (Kind.EVENT, "prod/web.1", "eventTime", "?", "'?' is not an RFC 3339 timestamp"),
    (Kind.NODE, "node-1", "spec", [], "must be an object, is a list"),
    (Kind.POD, "(without a name)", "metadata.name", 5, "must be text, is a number: write it in quotes"),
])  # fmt: skip
def test_errors_of_other_kinds_name_the_field_too(kind: Kind, name: str, path: str, wrong: Any, problem: str) -> None:
    raw = changed(sample(kind), parse_path(path), wrong)
    assert outcome(KindReader(kind), raw) == (None, f"{kind} {name}: {path}: {problem}")


@pytest.mark.parametrize("kind", KINDS)
def test_items_that_are_no_objects_do_not_affect_the_rest_of_the_page(kind: Kind) -> None:
    for item in (b"5", b"null", b"[]", b'"x"', b'{"metadata":[]}', b'{"metadata":null}', b"true"):
        stream = StreamDecoder(kind)
        read = stream.page(b'{"items":[' + item + b',{"metadata":{"name":"good"}}]}')
        assert [item.name for item in read.items] == ["good"]
        assert len(read.problems) == 1
        assert read.problems[0].startswith(f"{kind} (without a name): ")
        event = stream.line(b'{"type":"ADDED","object":' + item + b"}")
        assert (event.item, event.key, event.problem) == (None, "", read.problems[0])


@pytest.mark.parametrize("kind", KINDS)
def test_invalid_utf8_affects_only_its_item(kind: Kind) -> None:
    read = StreamDecoder(kind).page(b'{"items":[{"metadata":{"name":"\xff"}},{"metadata":{"name":"good"}}]}')
    assert [item.name for item in read.items] == ["good"]
    assert "cannot be read" in read.problems[0]
    both = StreamDecoder(kind).page(b'{"items":[{"metadata":{"name":5,"uid":"\xff"}},{"metadata":{"name":"good"}}]}')
    assert [item.name for item in both.items] == ["good"]
    assert len(both.problems) == 1


@pytest.mark.parametrize(("path", "wrong"), [
    (("metadata", "name"), {"x" * 100_000: 1}),
    (("metadata", "creationTimestamp"), "9" * 1_000_000),
    (("spec", "containers", 0, "resources", "requests", "cpu"), "9" * 1_000_000),
    (("spec", "overhead"), {"x" * 1_000_000: "?"}),
])  # fmt: skip
def test_errors_are_short(path: Path, wrong: Any) -> None:
    (problem,) = StreamDecoder(Kind.POD).page(page(changed(sample(Kind.POD), path, wrong))).problems
    assert len(problem) < LONGEST_SENTENCE


def test_amounts_may_be_numbers_or_null() -> None:
    raw = sample(Kind.NODE)
    raw["status"]["capacity"] = {"cpu": 4, "memory": 1.5e9, "pods": None, "x/y": " 3 "}
    node = KindReader(Kind.NODE).decode(text(raw))
    assert {name: str(amount) for name, amount in node.capacity.items()} == {
        "cpu": "4",
        "memory": "1500M",
        "pods": "0",
        "x/y": "3",
    }


def test_mappings_impossible_in_json_are_refused_too() -> None:
    for raw, sentence in (
        ({"metadata": {"name": "x", "labels": {1: "a"}}}, "Node x: metadata.labels: its keys must be text"),
        ({"metadata": {"name": "x"}, 5: 6}, "Node x: its keys must be text"),
    ):
        assert outcome(KindReader(Kind.NODE), raw) == (None, sentence)


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
def test_data_that_is_no_list_or_event_is_an_error(
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


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    count: int | None = None
    share: float | int | None = None
    is_on: bool = False
    size: Annotated[int, msgspec.Meta(ge=0, le=9)] = 0
    values: list[str] | None = None


class Outer(msgspec.Struct):
    name: str
    labels: dict[str, str] | None = None
    amounts: dict[str, str | int | float | None] = {}
    parts: list[Inner] = []
    by_name: dict[str, Inner] = {}
    banner: Banner = Banner.CALM


@pytest.mark.parametrize(("raw", "sentence"), [
    ({"name": 5}, "name: must be text, is a number: write it in quotes"),
    ({"name": True}, "name: must be text, is true or false: write it in quotes"),
    ({"name": None}, "name: must be text, is null"),
    ({"name": []}, "name: must be text, is a list"),
    ({}, "name: is missing"),
    ({"name": "x", "labels": []}, "labels: must be an object, is a list"),
    ({"name": "x", "labels": {"app": "web", "version": 1.1}},
     "labels.version: must be text, is a number: write it in quotes"),
    ({"name": "x", "labels": {"app.kubernetes.io/version": 2}},
     "labels[app.kubernetes.io/version]: must be text, is a number: write it in quotes"),
    ({"name": "x", "labels": {HOSTILE: None}}, f"labels[{HOSTILE}]: must be text, is null"),
    ({"name": "x", "labels": {7: "a"}}, "labels: its keys must be text"),
    ({"name": "x", "amounts": {"cpu": []}}, "amounts.cpu: must be text or a number, is a list"),
    ({"name": "x", "parts": {}}, "parts: must be a list, is an object"),
    ({"name": "x", "parts": [{}, {"count": "3"}]},
     "parts[1].count: must be a whole number, is text: write it without quotes"),
    ({"name": "x", "parts": [{"count": "three"}]}, "parts[0].count: must be a whole number, is text"),
    ({"name": "x", "parts": [{"count": 1.5}]},
     "parts[0].count: must be a whole number, has a fraction or is too large"),
    ({"name": "x", "parts": [{"share": "-2"}]},
     "parts[0].share: must be a number, is text: write it without quotes"),
    ({"name": "x", "parts": [{"is_on": "true"}]},
     "parts[0].is_on: must be true or false, is text: write it without quotes"),
    ({"name": "x", "parts": [{"is_on": "yes"}]}, "parts[0].is_on: must be true or false, is text"),
    ({"name": "x", "parts": [{"values": ["a", 4]}]},
     "parts[0].values[1]: must be text, is a number: write it in quotes"),
    ({"name": "x", "by_name": {"a": {}, "b": {"cuont": 1}}}, "by_name.b.cuont: there is no such field"),
    ({"name": "x", "by_name": {"a": {}, "b": {"count": []}}}, "by_name.b.count: must be a whole number, is a list"),
    ({"name": "x", "by_name": {"a": {"size": 10}}}, "by_name.a.size: must be a number up to 9"),
    ({"name": "x", "by_name": {"a": {"size": -1}}}, "by_name.a.size: must be a number from 0 up"),
    ({"name": "x", "parts": [{"share": "0.7"}]},
     "parts[0].share: must be a number, is text: write it without quotes"),
    ({"name": "x", "parts": [{"count": "0.7"}]}, "parts[0].count: must be a whole number, is text"),
    ({"name": "x", "banner": "loud"}, "banner: invalid enum value 'loud'"),
    (5, "must be an object, is a number"),
])  # fmt: skip
def test_error_names_field_and_expected_type(raw: Any, sentence: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(raw, Outer)
    assert str(field_error(caught.value, raw)) == sentence


def test_error_has_only_the_path_without_the_value() -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert({"name": "x", "parts": [{}, {"values": [4]}], "by_name": {}}, Outer)
    assert str(field_error(caught.value)) == "parts[1].values[0]: must be text, is a number: write it in quotes"
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert({"name": "x", "labels": {"a": 4}}, Outer)
    assert str(field_error(caught.value, {"labels": 5})) == "labels: must be text, is a number: write it in quotes"
