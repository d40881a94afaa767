"""One name for pods that belong together: ``trino/worker-{0,1,2}``, ``web/front-* (12)``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from karptui.kube.units import count_text

MOST_NUMBERS: Final = 6
"""Ordinals that are listed one by one; more are told as a range or by their number."""
_ORDINAL: Final = re.compile(r"(.+-)(\d+)")


def folded_name(namespace: str, names: Sequence[str], owner_name: str = "") -> str:
    """Return one name for pods of a namespace.

    Args:
        namespace: Of all of them.
        names: Their names, at least one.
        owner_name: Name of the workload that they belong to; empty for none.
    """
    if len(names) == 1:
        return f"{namespace}/{names[0]}"
    numbered = _numbered(names)
    if numbered:
        return f"{namespace}/{numbered}"
    shared = _beginning(names)
    stem = shared[: shared.rfind("-") + 1]
    if owner_name and all(name.startswith(f"{owner_name}-") for name in names):
        stem = f"{owner_name}-"
    return f"{namespace}/{stem}* ({count_text(len(names))})"


def _beginning(names: Sequence[str]) -> str:
    """Return what all names begin with."""
    first, last = min(names), max(names)
    length = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[:length]


def _numbered(names: Sequence[str]) -> str:
    """Return the name of pods that differ by their ordinals only, nothing where they differ otherwise."""
    found = [_ORDINAL.fullmatch(name) for name in names]
    stems = {match[1] for match in found if match is not None}
    if len(stems) != 1 or not all(found):
        return ""
    numbers = sorted(int(match[2]) for match in found if match is not None)
    if len(numbers) <= MOST_NUMBERS:
        listed = ",".join(map(str, numbers))
    elif numbers[-1] - numbers[0] + 1 == len(numbers):
        listed = f"{numbers[0]}..{numbers[-1]}"
    else:
        return ""
    return f"{stems.pop()}{{{listed}}}"
