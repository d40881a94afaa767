"""Go durations, as Karpenter's fields and annotations hold them: ``30m``, ``1h30m``, ``1.5h``, ``.5h``, ``+2h``.

Rule: ``time.ParseDuration``.
"""

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
_MAX_NS: Final = (1 << 63) - 1
_PART: Final = re.compile(r"([0-9]*)(?:(\.)([0-9]*))?([^0-9.]*)")


class DurationError(ValueError):
    """Text that is not a Go duration; the message is Go's."""


def parse_duration(text: str) -> int:
    """Return a duration in nanoseconds; may be negative.

    Raises:
        DurationError: with Go's wording.
    """
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    if not rest:
        raise DurationError(f'time: invalid duration "{text}"')
    total = 0
    while rest:
        match = _PART.match(rest)
        assert match is not None
        whole, point, fraction, unit = match.groups()
        if not whole and not (point and fraction):
            raise DurationError(f'time: invalid duration "{text}"')
        if not unit:
            raise DurationError(f'time: missing unit in duration "{text}"')
        scale = _UNIT_NS.get(unit)
        if scale is None:
            raise DurationError(f'time: unknown unit "{unit}" in duration "{text}"')
        total += int(whole or "0") * scale
        if fraction:
            total += int(fraction) * scale // 10 ** len(fraction)
        if total > _MAX_NS + (text[:1] == "-"):
            raise DurationError(f'time: invalid duration "{text}"')
        rest = rest[match.end() :]
    return -total if text[:1] == "-" else total


def format_duration(duration_ns: int) -> str:
    """Return the text of a duration as Go prints those of a second or more: ``720h0m0s``, ``1m30s``, ``0s``."""
    sign, rest = ("-", -duration_ns) if duration_ns < 0 else ("", duration_ns)
    seconds, fraction = divmod(rest, 1_000_000_000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    tail = f"{seconds}.{fraction:09d}".rstrip("0") if fraction else str(seconds)
    if hours:
        return f"{sign}{hours}h{minutes}m{tail}s"
    return f"{sign}{minutes}m{tail}s" if minutes else f"{sign}{tail}s"
