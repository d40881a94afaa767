from __future__ import annotations

import math

import pytest

from karptui.kube.yaml_reader import load_documents
from karptui.kube.yaml_text import Scalar, key_text, resolve_plain
from karptui.whatif.yaml.tree import read
from tests.builders import present


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
    """Both readers give what go.yaml.in/yaml/v2 gives: a snapshot and a what-if never differ about a number."""
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
