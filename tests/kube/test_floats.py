from __future__ import annotations

import math

import pytest

from karptui.kube.quantity import parse_float


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *(("1", 1.0), ("1.5", 1.5), (".5", 0.5), ("5.", 5.0), ("-1e9", -1e9), ("+2", 2.0), ("1e308", 1e308)),
        *(("1_000", 1000.0), ("0.1_5", 0.15), ("1e1_0", 1e10), ("1e-999", 0.0)),
        *(("0x1p3", 8.0), ("0x_1p3", 8.0), ("0X1.8P-2", 0.375), ("0x.8p1", 1.0), ("0x1p-99999", 0.0)),
        *(("-Inf", -math.inf), ("infinity", math.inf), ("-Infinity", -math.inf)),
        *((text, None) for text in ("", " 5", "5 ", "1__0", "_1", "1_", "1_.5", "1._5", "0b1", "0x1", "1e", "٣")),
        *((text, None) for text in ("+-1", "+nan", "NaN1", "1e999", "-1e999", "0x1p99999", "-0x1p99999")),
    ],
)
def test_parses_numbers_like_go(text: str, number: float | None) -> None:
    assert parse_float(text) == number


def test_long_texts_take_linear_time() -> None:
    """Hold what ends at once, and would take half an hour if every part of a number were tried with every other."""
    for text in ("1" * 250_000 + "x", "0x" + "1_" * 125_000, "1_" * 125_000):
        assert parse_float(text) is None
