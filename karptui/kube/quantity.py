"""Kubernetes quantities as exact integers, and floating-point numbers as Go's ``strconv.ParseFloat`` reads them.

A quantity is stored in nano-units (10⁻⁹), the finest step of Kubernetes, with the format it was written in: a sum is
printed in the format of its first operand. Rules: k8s.io/apimachinery/pkg/api/resource.
"""

from __future__ import annotations

import math
import re
from enum import StrEnum
from functools import lru_cache
from typing import Final

import msgspec

NANO: Final = 1_000_000_000
"""Nano-units in a unit."""
NANO_PER_MILLI: Final = 1_000_000
"""Nano-units in a thousandth of a unit."""

_MAX_UNITS: Final = (1 << 63) - 1
_MAX_LENGTH: Final = 256
"""Maximum length of the text. Kubernetes has no limit, but arithmetic on huge numbers is a denial of service."""
_MAX_EXPONENT: Final = 999
_FORM: Final = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[+-]?[0-9]*)")
_EXPONENT: Final = re.compile(r"[eE]([+-]?[0-9]+)")
_DECIMAL_EXPONENT: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SHIFT: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX: Final = {exponent: suffix for suffix, exponent in _DECIMAL_EXPONENT.items()}
_MAX_SUFFIX_EXPONENT: Final = max(_DECIMAL_SUFFIX)
_BINARY_SUFFIX: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


class QuantityFormat(StrEnum):
    """Format a quantity was written in, and in which sums starting with it are printed."""

    DECIMAL_SI = "DecimalSI"
    BINARY_SI = "BinarySI"
    DECIMAL_EXPONENT = "DecimalExponent"


class QuantityError(ValueError):
    """Text is not a Kubernetes quantity."""


class Quantity(msgspec.Struct, frozen=True, gc=False, order=False):
    """An exact amount of a resource."""

    nano: int
    """The amount in nano-units: 10⁹ is one core, one byte, one pod."""
    format: QuantityFormat = QuantityFormat.DECIMAL_SI

    @property
    def millis(self) -> int:
        """The amount in thousandths, rounded away from zero as ``Quantity.MilliValue`` does."""
        return _away_from_zero(self.nano, NANO_PER_MILLI)

    @property
    def units(self) -> int:
        """The amount in whole units (cores, bytes, pods), rounded away from zero as ``Quantity.Value`` does."""
        return _away_from_zero(self.nano, NANO)

    def __bool__(self) -> bool:
        return self.nano != 0

    def __str__(self) -> str:
        return format_quantity(self.nano, self.format)

    def __add__(self, other: Quantity) -> Quantity:
        """Return the sum; if this quantity is zero, in the other's format, as ``Quantity.Add`` does."""
        return Quantity(self.nano + other.nano, self.format if self.nano else other.format)

    def __sub__(self, other: Quantity) -> Quantity:
        """Return the difference; if this quantity is zero, in the other's format, as ``Quantity.Sub`` does."""
        return Quantity(self.nano - other.nano, self.format if self.nano else other.format)


def _away_from_zero(nano: int, step: int) -> int:
    return -(-nano // step) if nano > 0 else nano // step


ZERO: Final = Quantity(0)


def of_units(units: int, format: QuantityFormat = QuantityFormat.DECIMAL_SI) -> Quantity:  # noqa: A002 - the field's name
    """Return a quantity of whole units: cores, bytes, pods."""
    return Quantity(units * NANO, format)


def of_millis(millis: int) -> Quantity:
    """Return a quantity of thousandths: 250 is a quarter of a core."""
    return Quantity(millis * NANO_PER_MILLI)


@lru_cache(maxsize=16_384)
def parse_quantity(text: str) -> Quantity:
    """Parse any form that Kubernetes accepts: ``1``, ``0.5``, ``100m``, ``1e3``, ``128Mi``, ``+1.5Gi``, ``-2k``.

    Like ``ParseQuantity``: amounts finer than a nano-unit are rounded away from zero, binary amounts are capped at
    2⁶³-1, and a suffix without digits is zero.

    Raises:
        QuantityError: If the text is not a quantity, or longer than 256 characters.
    """
    match = _FORM.fullmatch(text) if 0 < len(text) <= _MAX_LENGTH else None
    if match is None:
        raise QuantityError(f"{text[:_MAX_LENGTH]!r} is not a quantity")
    sign, whole, fraction, suffix = match.group(1), match.group(2), match.group(3) or "", match.group(4)
    digits = int(whole + fraction or "0")
    if (shift := _BINARY_SHIFT.get(suffix)) is not None:
        form = QuantityFormat.BINARY_SI
        numerator, denominator = (digits * NANO) << shift, 10 ** len(fraction)
    else:
        exponent, form = _decimal_exponent(text, suffix)
        power = exponent + 9 - len(fraction)
        numerator, denominator = (digits * 10**power, 1) if power >= 0 else (digits, 10**-power)
    nano = -(-numerator // denominator)
    if form is QuantityFormat.BINARY_SI:
        nano = min(nano, _MAX_UNITS * NANO)
        if 0 < nano < NANO:
            form = QuantityFormat.DECIMAL_SI
    return Quantity(-nano if sign == "-" else nano, form)


def is_quantity(text: str) -> bool:
    """Return whether Kubernetes accepts a text as a quantity."""
    try:
        parse_quantity(text)
    except QuantityError:
        return False
    return True


def _decimal_exponent(text: str, suffix: str) -> tuple[int, QuantityFormat]:
    exponent = _DECIMAL_EXPONENT.get(suffix)
    if exponent is not None:
        return exponent, QuantityFormat.DECIMAL_SI
    match = _EXPONENT.fullmatch(suffix)
    if match is None:
        raise QuantityError(f"{text!r} is not a quantity: unknown suffix {suffix!r}")
    exponent = int(match.group(1))
    if abs(exponent) > _MAX_EXPONENT:
        raise QuantityError(f"{text!r} is out of the range of quantities")
    return exponent, QuantityFormat.DECIMAL_EXPONENT


def format_quantity(nano: int, form: QuantityFormat) -> str:
    """Return an amount in nano-units in canonical form, as ``Quantity.String`` prints it.

    Binary amounts between -1024 and 1024, or with a fraction, are printed in decimal SI.
    """
    if not nano:
        return "0"
    if form is QuantityFormat.BINARY_SI and nano % NANO == 0 and abs(nano) >= 1024 * NANO:
        return _format_binary(nano // NANO)
    return _format_decimal(nano, form)


def _format_binary(units: int) -> str:
    power = 0
    while units % 1024 == 0 and power < len(_BINARY_SUFFIX) - 1:
        units //= 1024
        power += 1
    return f"{units}{_BINARY_SUFFIX[power]}"


def _format_decimal(nano: int, form: QuantityFormat) -> str:
    has_suffixes = form is not QuantityFormat.DECIMAL_EXPONENT
    mantissa, exponent = nano, -9
    # There is no suffix after E. Kubernetes drops it and prints 1000E as 1; karptui prints the true amount.
    while mantissa % 1000 == 0 and not (has_suffixes and exponent == _MAX_SUFFIX_EXPONENT):
        mantissa //= 1000
        exponent += 3
    if has_suffixes:
        return f"{mantissa}{_DECIMAL_SUFFIX[exponent]}"
    return f"{mantissa}e{exponent}" if exponent else str(mantissa)


_DIGITS: Final = "[0-9](?:_?[0-9])*"
_HEX_DIGITS: Final = "[0-9a-fA-F](?:_?[0-9a-fA-F])*"
_DECIMAL: Final = re.compile(rf"[+-]?(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?")
_HEXADECIMAL: Final = re.compile(
    rf"[+-]?0[xX](?:_?{_HEX_DIGITS}(?:\.(?:{_HEX_DIGITS})?)?|\.{_HEX_DIGITS})[pP][+-]?{_DIGITS}"
)
_NAMED: Final = re.compile(r"[+-]?(inf|infinity)|nan", re.IGNORECASE | re.ASCII)


def parse_float(text: str) -> float | None:
    """Return the number that Go's ``strconv.ParseFloat`` reads (``1_000`` is valid), or None if it rejects the text."""
    if _NAMED.fullmatch(text):
        return float(text)
    digits = text.replace("_", "")
    if _DECIMAL.fullmatch(text):
        value = float(digits)
    elif _HEXADECIMAL.fullmatch(text):
        try:
            value = float.fromhex(digits)
        except OverflowError:
            return None
    else:
        return None
    return None if math.isinf(value) else value
