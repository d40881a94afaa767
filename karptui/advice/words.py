"""Writes numbers and names in findings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from karptui.aws.money import per_hour_text
from karptui.kube.durations import short_duration
from karptui.kube.units import counted, first_of

NAMES_SHOWN: Final = 3


def listed(names: Iterable[str], most: int = NAMES_SHOWN) -> str:
    """Return the first names and the number of the others."""
    return first_of(list(dict.fromkeys(names)), most)


def span(duration_ns: int) -> str:
    """Return a duration in whole seconds, without parts that are zero: ``24h``, ``1h30m``, ``45s``."""
    return short_duration(duration_ns - duration_ns % 1_000_000_000)


def at_cost(per_hour: float | None) -> str:
    """Return `` ($1.23/h)``, or an empty string if the price is unknown."""
    return f" ({per_hour_text(per_hour)})" if per_hour else ""


def share(part: int, whole: int, noun: str) -> str:
    """Return ``9 of 12 nodes``."""
    return f"{part:,} of {counted(whole, noun)}"


def joined(parts: Sequence[str]) -> str:
    """Return ``a, b and c``."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
