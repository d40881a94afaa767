"""Go durations (``time.ParseDuration``), as in Karpenter's fields and annotations: ``30m``, ``1h30m``, ``1.5h``."""

from __future__ import annotations

import re
from typing import Final

_UNIT_NS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_LIMIT_NS: Final = 1 << 63
_MAX_WHOLE_DIGITS: Final = 19
_EMPTY_PARTS: Final = re.compile(r"(?<=[hm])0[ms](?:0s)?$")
_PART: Final = re.compile(r"([0-9]*)(?:(\.)([0-9]*))?([^0-9.]*)")


class DurationError(ValueError):
    """Text is not a Go duration; the message is Go's."""


def parse_duration(text: str) -> int:
    """Return a duration in nanoseconds; may be negative.

    Raises:
        DurationError: If the text is invalid, with Go's message.
    """
    is_negative = text[:1] == "-"
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    if not rest:
        raise _invalid(text)
    total = 0
    while rest:
        match = _PART.match(rest)
        assert match is not None
        total += _part_ns(text, *match.groups())
        if total > _LIMIT_NS:
            raise _invalid(text)
        rest = rest[match.end() :]
    if total == _LIMIT_NS and not is_negative:
        raise _invalid(text)
    return -total if is_negative else total


def _part_ns(text: str, whole: str, point: str | None, fraction: str | None, unit: str) -> int:
    if not whole and not (point and fraction):
        raise _invalid(text)
    if len(whole.lstrip("0")) > _MAX_WHOLE_DIGITS or int(whole or "0") > _LIMIT_NS:
        raise _invalid(text)
    if not unit:
        raise DurationError(f"time: missing unit in duration {_quote(text)}")
    scale_ns = _UNIT_NS.get(unit)
    if scale_ns is None:
        raise DurationError(f"time: unknown unit {_quote(unit)} in duration {_quote(text)}")
    return int(whole or "0") * scale_ns + (_fraction_ns(fraction, scale_ns) if fraction else 0)


def _fraction_ns(digits: str, scale_ns: int) -> int:
    """Return a fraction of a unit, rounded as Go's floating point does; digits beyond 63 bits are ignored."""
    value, divisor = 0, 1.0
    for digit in digits:
        if value > (_LIMIT_NS - 1) // 10 or value * 10 + int(digit) > _LIMIT_NS:
            break
        value = value * 10 + int(digit)
        divisor *= 10
    return int(float(value) * (float(scale_ns) / divisor))


def _invalid(text: str) -> DurationError:
    return DurationError(f"time: invalid duration {_quote(text)}")


def _quote(text: str) -> str:
    """Return text quoted as Go's time package does: bytes outside printable ASCII in hexadecimal."""
    escaped = (
        f"\\{character}"
        if character in '"\\'
        else character
        if " " <= character < "\x80"
        else "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogatepass"))
        for character in text
    )
    return f'"{"".join(escaped)}"'


def format_duration(duration_ns: int) -> str:
    """Return a duration as Go's ``Duration.String`` prints it: ``720h0m0s``, ``1m30s``, ``1.5s``, ``250ms``, ``0s``."""
    sign, rest = ("-", -duration_ns) if duration_ns < 0 else ("", duration_ns)
    if 0 < rest < 1_000_000_000:
        unit = "ms" if rest >= 1_000_000 else "µs" if rest >= 1_000 else "ns"
        whole, fraction = divmod(rest, _UNIT_NS[unit])
        return f"{sign}{_decimal(whole, fraction, len(str(_UNIT_NS[unit])) - 1)}{unit}"
    seconds, fraction = divmod(rest, 1_000_000_000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    tail = _decimal(seconds, fraction, 9)
    if hours:
        return f"{sign}{hours}h{minutes}m{tail}s"
    return f"{sign}{minutes}m{tail}s" if minutes else f"{sign}{tail}s"


def short_duration(duration_ns: int) -> str:
    """Return a Go duration without its zero parts: ``24h``, ``1h30m``, ``45s``, ``0s``."""
    return _EMPTY_PARTS.sub("", format_duration(duration_ns))


def _decimal(whole: int, fraction: int, places: int) -> str:
    return f"{whole}.{fraction:0{places}d}".rstrip("0") if fraction else str(whole)
