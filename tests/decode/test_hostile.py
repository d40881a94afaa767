from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from karptui.decode.errors import DecodeError
from karptui.decode.kinds import Kind
from karptui.decode.reader import KindReader
from karptui.decode.stream import StreamDecoder
from karptui.whatif.field_path import parse_path

from .samples import KINDS, line, page, sample, text

MISSING = object()
HUGE = 10**30
"""JSON text gives a float of it, and so other words in the sentence."""
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
"""Fields of pods that pages and watches pass over where nothing depends on them."""


def paths(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the path of every field and item."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from paths(inner, (*path, key))


def fields(value: Any) -> Iterable[Path]:
    """Return a path of each field, and of one item of each list: items of a list are read alike."""
    return {tuple("" if isinstance(key, int) else key for key in path): path for path in paths(value)}.values()


def changed(value: Any, path: Path, wrong: Any) -> Any:
    """Return the object with the value at one path replaced or, for MISSING, taken out."""
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
def test_errors_of_other_kinds_are_as_exact(kind: Kind, name: str, path: str, wrong: Any, problem: str) -> None:
    raw = changed(sample(kind), parse_path(path), wrong)
    assert outcome(KindReader(kind), raw) == (None, f"{kind} {name}: {path}: {problem}")


@pytest.mark.parametrize("kind", KINDS)
def test_items_that_are_no_objects_leave_the_rest_of_the_page(kind: Kind) -> None:
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


def test_mappings_that_no_json_could_hold_are_refused_too() -> None:
    for raw, sentence in (
        ({"metadata": {"name": "x", "labels": {1: "a"}}}, "Node x: metadata.labels: its keys must be text"),
        ({"metadata": {"name": "x"}, 5: 6}, "Node x: its keys must be text"),
    ):
        assert outcome(KindReader(Kind.NODE), raw) == (None, sentence)
