"""Text of amounts, with one unit per kind of amount on every screen.

cpu in millicores, in cores from 10; memory in Mi, in Gi from 10Gi, in Ti from 10Ti; ages as kubectl prints them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from typing import Final

from karptui.kube.quantity import NANO, NANO_PER_MILLI
from karptui.kube.resources import CPU, EPHEMERAL_STORAGE, HUGEPAGES_PREFIX, MEMORY
from karptui.kube.timestamps import NS_PER_SECOND

NA: Final = "n/a"
_KI: Final = 1 << 10
_MI: Final = 1 << 20
_GI: Final = 1 << 30
_TI: Final = 1 << 40
_CORES_FROM_MILLIS: Final = 10_000


def cpu_text(cpu_millis: int) -> str:
    """Return cpu as ``0``, ``250m``, ``9500m``, ``57.3``."""
    if cpu_millis == 0:
        return "0"
    if abs(cpu_millis) < _CORES_FROM_MILLIS:
        return f"{cpu_millis}m"
    return _one_decimal(cpu_millis, 1000)


def memory_text(memory_bytes: int) -> str:
    """Return memory as ``0``, ``512Ki``, ``938Mi``, ``31.2Gi``, ``12.5Ti``."""
    size = abs(memory_bytes)
    if size >= 10 * _TI:
        return f"{_one_decimal(memory_bytes, _TI)}Ti"
    if size >= 10 * _GI:
        return f"{_one_decimal(memory_bytes, _GI)}Gi"
    if size >= _MI:
        return f"{_rounded(memory_bytes, _MI)}Mi"
    if size >= _KI:
        return f"{_rounded(memory_bytes, _KI)}Ki"
    return f"{memory_bytes}B" if memory_bytes else "0"


def mebibytes_text(memory_bytes: int, *, rounds_up: bool = False) -> str:
    """Return memory in whole Mi, for amounts that are compared or summed: ``239,554Mi``.

    Args:
        rounds_up: Round up, for missing amounts; available amounts are rounded down.
    """
    return f"{-(-memory_bytes >> 20) if rounds_up else memory_bytes >> 20:,}Mi"


def is_in_bytes(resource: str) -> bool:
    """Whether a resource is counted in bytes."""
    return resource in (MEMORY, EPHEMERAL_STORAGE) or resource.startswith(HUGEPAGES_PREFIX)


def amount_text(resource: str, nano: int, *, is_exact: bool = False) -> str:
    """Return an amount of a resource: ``9500m``, ``57.3``, ``31.2Gi``, ``4``.

    Args:
        is_exact: Write memory in whole Mi, for amounts that are compared.
    """
    if resource == CPU:
        return cpu_text(nano // NANO_PER_MILLI)
    if is_in_bytes(resource):
        return (mebibytes_text if is_exact else memory_text)(nano // NANO)
    return count_text(nano // NANO)


def lacking_text(resource: str, nano: int) -> str:
    """Return a missing amount of a resource, rounded up: ``6,846Mi``, ``490m``, ``14.7``, ``3``."""
    if resource == CPU:
        millis = -(-nano // NANO_PER_MILLI)
        return cpu_text(millis if millis < _CORES_FROM_MILLIS else -(-millis // 100) * 100)
    if is_in_bytes(resource):
        return mebibytes_text(-(-nano // NANO), rounds_up=True)
    return count_text(-(-nano // NANO))


def cpu_pair_text(used_millis: int, total_millis: int) -> str:
    """Return both amounts in the unit of the larger: ``1930/3920m``, ``12.4/15.9``."""
    if max(used_millis, total_millis) < _CORES_FROM_MILLIS:
        return f"{used_millis}/{total_millis}m"
    return f"{_one_decimal(used_millis, 1000)}/{_one_decimal(total_millis, 1000)}"


def memory_pair_text(used_bytes: int, total_bytes: int) -> str:
    """Return both amounts in the unit of the larger: ``938/7,120Mi``, ``12.4/122Gi``."""
    larger = max(used_bytes, total_bytes)
    if larger >= 10 * _TI:
        return f"{_one_decimal(used_bytes, _TI)}/{_one_decimal(total_bytes, _TI)}Ti"
    if larger >= 10 * _GI:
        return f"{_one_decimal(used_bytes, _GI)}/{_one_decimal(total_bytes, _GI)}Gi"
    return f"{_rounded(used_bytes, _MI)}/{_rounded(total_bytes, _MI)}Mi"


def percent(part: int, whole: int) -> int | None:
    """Return ``part`` as a percentage of ``whole``, truncated as kubectl does; None if the whole is unknown."""
    return part * 100 // whole if whole > 0 else None


def percent_text(part: int, whole: int) -> str:
    """Return ``61%``, or ``n/a`` if the whole is unknown."""
    share = percent(part, whole)
    return NA if share is None else f"{share}%"


def count_text(count: int) -> str:
    """Return a count with thousands separators."""
    return f"{count:,}"


def first_of(names: Sequence[str], most: int, between: str = ", ") -> str:
    """Return the first names and the number of the others: ``a, b, c and 4 more``."""
    more = len(names) - most
    return between.join(names[:most]) + (f" and {count_text(more)} more" if more > 0 else "")


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return a count with its noun: ``1 node``, ``1,234 nodes``; the plural adds an s unless given."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def verb(count: int, singular: str, plural: str) -> str:
    """Return the verb form for a count: ``waits`` for 1, ``wait`` otherwise."""
    return singular if count == 1 else plural


def duration_text(seconds: float) -> str:
    """Return an age as kubectl prints it: ``45s``, ``2m5s``, ``12m``, ``3h20m``, ``4d6h``, ``380d``, ``2y45d``.

    Follows k8s.io/apimachinery/pkg/util/duration HumanDuration.
    """
    whole = max(int(seconds), 0)
    minutes, hours = whole // 60, whole // 3600
    if whole < 120:
        return f"{whole}s"
    if minutes < 10:
        return _two_units(minutes, "m", whole % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two_units(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    days = hours // 24
    if days < 8:
        return _two_units(days, "d", hours % 24, "h")
    if days < 730:
        return f"{days}d"
    if days < 365 * 8:
        return _two_units(days // 365, "y", days % 365, "d")
    return f"{days // 365}y"


def age_text(since_ns: int, now_ns: int) -> str:
    """Return the time between an instant (nanoseconds since the epoch) and now; 0s for an instant in the future."""
    return duration_text((now_ns - since_ns) // NS_PER_SECOND)


def short_age_text(since_ns: int, now_ns: int) -> str:
    """Return an age in its largest unit only: ``6m`` for ``6m11s``."""
    text = age_text(since_ns, now_ns)
    first = re.match(r"\d+[a-z]+", text)
    return first[0] if first is not None else text


def clock_text(instant_ns: int) -> str:
    """Return the UTC time of day: ``12:00:07Z``."""
    return f"{datetime.fromtimestamp(instant_ns // NS_PER_SECOND, UTC):%H:%M:%S}Z"


def instant_text(instant_ns: int, local: tzinfo | None = None) -> str:
    """Return ``2026-11-20 12:00:07Z``, with the local time in brackets if a zone other than UTC is given."""
    instant = datetime.fromtimestamp(instant_ns // NS_PER_SECOND, UTC)
    text = f"{instant:%Y-%m-%d %H:%M:%S}Z"
    if local is None or not instant.astimezone(local).utcoffset():
        return text
    there = instant.astimezone(local)
    return f"{text} ({there:%H:%M} {there.tzname()})"


def span_text(span_ns: int) -> str:
    """Return a span in nanoseconds as an age text."""
    return duration_text(span_ns // NS_PER_SECOND)


def _two_units(major: int, major_unit: str, minor: int, minor_unit: str) -> str:
    return f"{major}{major_unit}{minor}{minor_unit}" if minor else f"{major}{major_unit}"


def _rounded(amount: int, unit: int) -> str:
    return f"{(amount + unit // 2) // unit:,}"


def _one_decimal(amount: int, unit: int) -> str:
    return f"{amount / unit:,.1f}".removesuffix(".0")
