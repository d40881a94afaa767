from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karptui.sources.metrics.exposition import Sample, samples

FAMILIES = frozenset({b"f", b"g_total"})


def read(text: str) -> list[Sample]:
    return list(samples(text.encode(), FAMILIES))


@pytest.mark.parametrize(
    ("line", "labels", "value"),
    [
        ("f 1", {}, 1.0),
        ("f{} 1", {}, 1.0),
        ("f  1.5e+09  1795259891000", {}, 1.5e9),
        ('f{a="x"} 0.0412', {"a": "x"}, 0.0412),
        ('f{a="x",b="y",} 2', {"a": "x", "b": "y"}, 2.0),
        ('f{ a = "x" , b="y" } 2', {"a": "x", "b": "y"}, 2.0),
        ('f{a=""} 2', {"a": ""}, 2.0),
        ('f{a="}{,="} 2', {"a": "}{,="}, 2.0),
        ('f{a=",b=",c="x"} 2', {"a": ",b=", "c": "x"}, 2.0),
        ('f{a="two words",b="c"} 2', {"a": "two words", "b": "c"}, 2.0),
        (r'f{a="q\"q",b="back\\slash",c="line\nfeed",d="\t"} 2',
         {"a": 'q"q', "b": "back\\slash", "c": "line\nfeed", "d": r"\t"}, 2.0),
        ("f -Inf", {}, float("-inf")),
        ('f{a="é"} 3\r', {"a": "é"}, 3.0),
    ],
)  # fmt: skip
def test_reads_a_line(line: str, labels: dict[str, str], value: float) -> None:
    assert read(f"# TYPE f gauge\n{line}\n") == [Sample("f", labels, value)]


@pytest.mark.parametrize(
    "line",
    ["f", "f{", 'f{a="x"', 'f{a="x} 1', "f{a=x} 1", 'f{a="x" b="y"} 1', "f one", "f 1 2 3", 'f{="x"} 1 2 3', "f{a} 1"],
)
def test_a_line_that_cannot_be_read_has_no_value(line: str) -> None:
    assert [sample.value for sample in read(f"{line}\ng_total 1\n")] == [None, 1.0]


def test_passes_over_what_is_not_wanted() -> None:
    assert read('\n# HELP f of it\nff 1\n  \nh{f="1"} 2\ng_total 3') == [Sample("g_total", {}, 3.0)]


def test_prefixes_only_save_time() -> None:
    text = b'f{a="1"} 1\nx 1\ng_total 2\n'
    assert list(samples(text, FAMILIES, (b"f", b"g"))) == list(samples(text, FAMILIES))


def test_not_a_number() -> None:
    (sample,) = read("f NaN")
    assert sample.value != sample.value


TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\r\n\x0b\x0c\x1c\x1d\x1e\x85"))


@given(
    st.dictionaries(st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True), TEXT, max_size=4),
    st.floats(allow_nan=False),
)
def test_reads_what_a_registry_writes(labels: dict[str, str], value: float) -> None:
    escaped = {k: v.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for k, v in labels.items()}
    inside = ",".join(f'{name}="{text}"' for name, text in escaped.items())
    assert read(f"f{{{inside}}} {value!r}\n") == [Sample("f", labels, value)]


@given(st.binary())
def test_never_fails(text: bytes) -> None:
    list(samples(b"f{" + text + b"\nf " + text, FAMILIES))
