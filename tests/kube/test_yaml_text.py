from __future__ import annotations

import math
import time
from typing import Any

import pytest

from karptui.kube.yaml_reader import YamlError, load_documents, load_first
from karptui.kube.yaml_text import Scalar, key_text, resolve_plain, to_yaml
from karptui.whatif.yaml.tree import read
from tests.builders import present


@pytest.mark.parametrize(("text", "value"), [
    ("'yes'", "yes"),
    ('"on"', "on"),
    ("yes", True),
    ("", None),
    ("0777", 511),
    ("1.5Gi", "1.5Gi"),
    ("!!str 5", "5"),
    ("!!timestamp 2026-01-01", "2026-01-01"),
])  # fmt: skip
def test_reads_scalars_as_kubectl_does(text: str, value: Any) -> None:
    (document,) = load_documents(f"key: {text}\n".encode())
    assert document == {"key": value}
    assert type(document["key"]) is type(value)


def test_reads_merges_and_anchors() -> None:
    text = b"base: &base {cpu: 1, memory: 2Gi}\nmore: {<<: *base, cpu: 2}\n"
    assert load_documents(text) == [{"base": {"cpu": 1, "memory": "2Gi"}, "more": {"cpu": 2, "memory": "2Gi"}}]


@pytest.mark.parametrize(("text", "problem"), [
    (b"a: [1", r"line 1, column 4: the list that was opened with \[ is not closed"),
    (b"a: 1\nb\nc: 2", "line 2, column 1: a colon is missing after the field name"),
    (b"a: !!python/object:os.system x", "column 4: Kubernetes does not support the tag !!python/object:os.system"),
    (b"a: !x b", "line 1, column 4: Kubernetes does not support the tag !x"),
    (b"a: !!set {b, c}", "the tag !!set does not fit a mapping"),
    (b"a: !!binary aGk=", "Kubernetes does not support the tag !!binary"),
    (b"a: !!int zz", "line 1, column 4: zz cannot be a whole number"),
    (b"a: !!int [1]", "the tag !!int does not fit a list"),
    (b"~: 1", "line 1, column 1: a field name must be text"),
    (b"a: !!bool yEs", "yEs cannot be true or false"),
    (b"a: !!null x", "x cannot be null"),
    (b"a: !!float x", "x cannot be a number"),
    (b"a: !!bool maybe", "maybe cannot be true or false"),
    (b"a: !!timestamp [x]", "the tag !!timestamp does not fit a list"),
    (b"a: !!map x", "Kubernetes does not support the tag !!map"),
    (b"a: !!int {b: c}", "the tag !!int does not fit a mapping"),
    (b"? [1]\n: 2", "line 1, column 3: a field name must be text"),
    (b"a: &x [*x]", r"\*x refers to an anchor that is not above it"),
    (b"\x00", "a control character, which YAML does not allow"),
    (b"[" * 500 + b"]" * 500, "nested more than 100 levels deep"),
    (b"- " * 500 + b"1", "nested more than 100 levels deep"),
])  # fmt: skip
def test_errors_describe_the_problem(text: bytes, problem: str) -> None:
    with pytest.raises(YamlError, match=problem):
        load_documents(text)


def test_many_brackets_do_not_count_as_nesting() -> None:
    (document,) = load_documents(b"a: [" + b"[1]," * 500 + b"]")
    assert len(document["a"]) == 500


@pytest.mark.parametrize("text", [b"&a [*a]", b"&a {b: [1, *a]}", b"- 1\n- &a [[*a]]"])
def test_refuses_recursive_documents(text: bytes) -> None:
    for load in (load_documents, load_first):
        with pytest.raises(YamlError, match="refers to an anchor that is not above it"):
            load(text)


LISTS = "".join(f"- &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}], k{n}: 1}}\n" for n in range(1, 40))
"""1.4 kB: each mapping merges the previous one nine times."""
CHAINS = "".join(f"- &b{n} {{<<: {{<<: *b{n - 1}}}, {n}: {n}}}\n" for n in range(1, 2_000))
"""60 kB: each mapping merges the previous one's keys twice, a million copies in all."""
TAGS = "".join(f"%TAG !a{n}! tag:x,{n}:\n" for n in range(20_000)) + "---\na: 1\n"


ALIASES = "a0: &a0 [1]\n" + "".join(f"a{n}: &a{n} [{f'*a{n - 1},' * 10}]\n" for n in range(1, 8))


@pytest.mark.parametrize(("text", "problem"), [
    (ALIASES, "aliases and << add more than 1,000,000 values"),
    ("- &a0 {k: 1}\n" + LISTS, "aliases and << add more than 1,000,000 values"),
    ("- &b0 {k: 1}\n" + CHAINS, "aliases and << add more than 1,000,000 values"),
    (TAGS, "has more than 100 directives"),
], ids=["aliases", "lists", "chains", "tags"])  # fmt: skip
def test_small_texts_never_take_long(text: str, problem: str) -> None:
    start = time.process_time()
    with pytest.raises(YamlError, match=problem):
        load_documents(text)
    assert time.process_time() - start < 5


def test_round_trip() -> None:
    value = {"b": "on", "a": ["1", 1, None, True, "2026-01-01", "é"]}
    assert load_documents(to_yaml(value).encode()) == [value]
    assert list(load_documents(to_yaml(value).encode())[0]) == ["b", "a"]


class TestFirst:
    @pytest.mark.parametrize("text", [b"{a: 1, a: 2}", b"- &x {a: 1}\n- {<<: *x, a: 2}", b"b: {a: 1, 'a': 1}"])
    def test_refuses_a_duplicate_key(self, text: bytes) -> None:
        with pytest.raises(YamlError, match="'a' appears twice in a mapping"):
            load_first(text)


@pytest.mark.parametrize(("text", "value"), [
    ("0777", 511),
    ("0o17", 15),
    ("0x1F", 31),
    ("-0b11", -3),
    ("1_000", 1000),
    ("08", 8.0),
    ("1:30", "1:30"),
    ("2026-01-31", "2026-01-31"),
    ("18446744073709551616", 18446744073709551616.0),
    ("-9223372036854775808", -9223372036854775808),
    ("1e3", 1000.0),
    (".5", 0.5),
    ("+", "+"),
    ("~", None),
    ("._", "._"),
    (".0_", ".0_"),
    ("+.0_", 0.0),
    ("+._", "+._"),
    ("1e1_0", 1e10),
    ("0x_1", 1),
    ("0x_", "0x_"),
    ("0b_", "0b_"),
    ("-_1", -1),
    ("0_8", 8.0),
    ("0_1", 1),
    ("-.5", -0.5),
    ("0.", 0.0),
    *dict.fromkeys(("Yes", "On", "y", "TRUE"), True).items(),
    *dict.fromkeys(("NO", "off", "n"), False).items(),
    *dict.fromkeys(("Null", ""), None).items(),
    (".inf", math.inf),
    ("-.INF", -math.inf),
    ("12:30:45", "12:30:45"),
    ("2026-11-20T12:00:00Z", "2026-11-20T12:00:00Z"),
    ("100m", "100m"),
    ("0X1F", 31),
    ("0O17", 15),
    ("0B11", 3),
    ("0b+1", 1),
    ("0b-11", -3),
    ("0b1" + "0" * 64, "0b1" + "0" * 64),
    ("18446744073709551615", 18446744073709551615),
    ("+18446744073709551615", 18446744073709551615.0),
    ("-9223372036854775809", -9223372036854775809.0),
    ("1e400", "1e400"),
    ("9" * 401, "9" * 401),
    ("1e-400", 0.0),
    (".1_7", 0.17),
    (".1__7", ".1__7"),
    ("yEs", "yEs"),
    ("2026-13-45", "2026-13-45"),
])  # fmt: skip
def test_resolves_plain_scalars(text: str, value: object) -> None:
    result = resolve_plain(text)
    assert (type(result), result) == (type(value), value)


@pytest.mark.parametrize("text", ["0X1F", "0b+1", "1e400", ".1_7", "99999999999999999999", "+.0_", "._", "0b_", "-_1"])
def test_files_and_edited_documents_parse_equally(text: str) -> None:
    """Both readers resolve scalars as go.yaml.in/yaml/v2, so a snapshot and a what-if read the same numbers."""
    value = resolve_plain(text)
    (loaded,) = load_documents(f"key: {text}\n{text}: x\n".encode())
    root = present(read(f"key: {text}\n{text}: x\n").root)
    assert loaded == root.value == {"key": value, key_text(value): "x"}
    assert type(loaded["key"]) is type(root.value["key"]) is type(value)


@pytest.mark.parametrize(("key", "text"), [
    (1, "1"), (True, "true"), (1.5, "1.5"), (1e3, "1000"), (1e6, "1e+06"), (1e-5, "1e-05"), (0.1, "0.1"),
    (16777217.0, "1.6777216e+07"), (1e39, ".inf"), (-math.inf, "-.inf"), (math.nan, ".nan"), (None, None),
    (2**63, None), ("x", "x"),
])  # fmt: skip
def test_keys_in_json(key: Scalar, text: str | None) -> None:
    assert key_text(key) == text
