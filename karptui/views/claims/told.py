"""Columns of the Claims screen in words, for where they have no room: those that no sentence tells anyway."""

from __future__ import annotations

from typing import Final

from karptui.views.claims.entry import ClaimEntry
from karptui.views.row import Tone
from karptui.views.sanitize import clean
from karptui.views.unseen import NOTHING, Told

_CAPACITY_TONES: Final = {"spot": Tone.SPOT, "reserved": Tone.RESERVED}


def _pool(entry: ClaimEntry, _: int) -> tuple[str, Tone]:
    return (f"NodePool {clean(entry.pool)}", Tone.NORMAL) if entry.pool else NOTHING


TOLD: Final[tuple[Told[ClaimEntry], ...]] = (
    Told("type", lambda entry, _: (clean(entry.row.instance_type), Tone.NORMAL)),
    Told(
        "cap",
        lambda entry, _: (clean(entry.row.capacity_type), _CAPACITY_TONES.get(entry.row.capacity_type, Tone.NORMAL)),
        joins=True,
    ),
    Told("zone", lambda entry, _: (clean(entry.row.zone), Tone.NORMAL), joins=True),
    Told("pool", _pool),
)
"""The most important first."""
