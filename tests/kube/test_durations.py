from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karptui.kube.durations import DurationError, format_duration, parse_duration

from .vector_files import vectors

VECTORS = vectors("durations")


@pytest.mark.parametrize(("text", "ns", "canonical"), VECTORS["parse"])
def test_parses_like_go(text: str, ns: int | None, canonical: str) -> None:
    if ns is None:
        with pytest.raises(DurationError) as caught:
            parse_duration(text)
        assert str(caught.value) == canonical
        return
    assert parse_duration(text) == ns
    assert format_duration(ns) == canonical


@pytest.mark.parametrize(("ns", "text"), VECTORS["format"])
def test_formats_like_go(ns: int, text: str) -> None:
    assert format_duration(ns) == text


@given(st.integers(min_value=-(1 << 62), max_value=1 << 62))
def test_printed_text_reads_back(ns: int) -> None:
    # Go reads fractions in floating point, and so may lose the last digits of its own text.
    assert abs(parse_duration(format_duration(ns)) - ns) <= 1


@pytest.mark.parametrize("text", ["9" * 100_000 + "s", "\ud800s", "1\ud800"], ids=["long", "surrogate", "unit"])
def test_malicious_text_is_refused_in_plain_ascii(text: str) -> None:
    with pytest.raises(DurationError) as caught:
        parse_duration(text)
    assert str(caught.value).isascii()


def test_a_fraction_of_any_length_is_read() -> None:
    assert parse_duration("0." + "9" * 100_000 + "s") == 1_000_000_000
