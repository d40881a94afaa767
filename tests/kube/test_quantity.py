from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karptui.kube.quantity import (
    NANO,
    Quantity,
    QuantityError,
    QuantityFormat,
    format_quantity,
    parse_float,
    parse_quantity,
)

from .vector_files import vectors

VECTORS = vectors("quantities")
SUFFIXES = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "e3": Fraction(10**3),
    "E-3": Fraction(1, 1000),
    "e+6": Fraction(10**6),
}
formats = st.sampled_from(list(QuantityFormat))
quantities = st.builds(Quantity, st.integers(min_value=-(10**24), max_value=10**24), formats)


def written(sign: str, whole: str, fraction: str | None, suffix: str) -> str:
    return f"{sign}{whole}{'' if fraction is None else '.' + fraction}{suffix}"


@pytest.mark.parametrize("vector", VECTORS["parse"], ids=lambda vector: repr(vector[0]))
def test_reads_and_prints_as_kubernetes_does(vector: list[Any]) -> None:
    if len(vector) == 1:
        with pytest.raises(QuantityError):
            parse_quantity(vector[0])
        return
    text, canonical, form, nano, units, millis = vector
    quantity = parse_quantity(text)
    assert (str(quantity), quantity.format, quantity.nano) == (canonical, form, int(nano))
    if units is not None:
        assert (quantity.units, quantity.millis) == (units, millis)


def test_compares_adds_and_subtracts_as_kubernetes_does() -> None:
    for first, second, *expected in VECTORS["arithmetic"]:
        left, right = parse_quantity(first), parse_quantity(second)
        order = (left.nano > right.nano) - (left.nano < right.nano)
        total, difference = left + right, left - right
        actual = [order, str(total), total.format, str(difference), difference.format]
        assert actual == expected, f"{first} and {second}"


@given(
    st.sampled_from(["", "+", "-"]),
    st.integers(min_value=0, max_value=10**9).map(str),
    st.none() | st.text("0123456789", max_size=12),
    st.sampled_from(sorted(SUFFIXES)),
)
def test_reads_every_amount_and_rounds_away_from_zero(sign: str, whole: str, fraction: str | None, suffix: str) -> None:
    amount = Fraction(int(whole + (fraction or "")), 10 ** len(fraction or "")) * SUFFIXES[suffix] * NANO
    expected = -(-amount.numerator // amount.denominator)
    assert parse_quantity(written(sign, whole, fraction, suffix)).nano == (-expected if sign == "-" else expected)


@given(quantities)
def test_canonical_text_reads_back_to_the_same_amount_and_text(quantity: Quantity) -> None:
    text = str(quantity)
    again = parse_quantity(text)
    if not text.endswith("i") or abs(quantity.nano) <= ((1 << 63) - 1) * NANO:
        assert again.nano == quantity.nano
        assert str(again) == text


@given(quantities, quantities, quantities)
def test_addition_is_exact_and_keeps_the_first_format(a: Quantity, b: Quantity, c: Quantity) -> None:
    assert ((a + b) + c).nano == (a + (b + c)).nano == a.nano + b.nano + c.nano
    assert (a + b - b).nano == a.nano
    assert (a + b).format == (a - b).format == (a.format if a else b.format)


@given(quantities)
def test_rounding_is_away_from_zero_by_less_than_one_step(quantity: Quantity) -> None:
    for rounded, step in ((quantity.units, NANO), (quantity.millis, NANO // 1000)):
        assert 0 <= abs(rounded) * step - abs(quantity.nano) < step
        assert rounded * quantity.nano >= 0


@pytest.mark.parametrize(
    "text",
    ["1e1000", "1e-1000", "1e99999999999999999999", "9" * 257, "1" * 100_000, "1." + "3" * 10_000, "x" * 100_000],
    ids=lambda text: text[:8],
)
def test_refuses_malicious_text(text: str) -> None:
    with pytest.raises(QuantityError) as caught:
        parse_quantity(text)
    assert len(str(caught.value)) < 400


def test_prints_amounts_past_the_largest_suffix_in_full() -> None:
    assert str(parse_quantity("1000E")) == "1000E"
    assert format_quantity(NANO << 70, QuantityFormat.BINARY_SI) == "1024Ei"
    assert str(parse_quantity("1e21")) == "1e21"


@pytest.mark.parametrize(("text", "number"), [
    *(("1", 1.0), ("1.5", 1.5), (".5", 0.5), ("5.", 5.0), ("-1e9", -1e9), ("+2", 2.0), ("1e308", 1e308)),
    *(("1_000", 1000.0), ("0.1_5", 0.15), ("1e1_0", 1e10), ("1e-999", 0.0)),
    *(("0x1p3", 8.0), ("0x_1p3", 8.0), ("0X1.8P-2", 0.375), ("0x.8p1", 1.0), ("0x1p-99999", 0.0)),
    *(("-Inf", -math.inf), ("infinity", math.inf), ("-Infinity", -math.inf)),
    *((text, None) for text in ("", " 5", "5 ", "1__0", "_1", "1_", "1_.5", "1._5", "0b1", "0x1", "1e", "٣")),
    *((text, None) for text in ("+-1", "+nan", "NaN1", "1e999", "-1e999", "0x1p99999", "-0x1p99999")),
])  # fmt: skip
def test_parses_numbers_like_go(text: str, number: float | None) -> None:
    assert parse_float(text) == number


def test_long_texts_take_linear_time() -> None:
    """Backtracking over every split of the digits would take half an hour."""
    for text in ("1" * 250_000 + "x", "0x" + "1_" * 125_000, "1_" * 125_000):
        assert parse_float(text) is None
