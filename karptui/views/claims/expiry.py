"""How the NodeClaims of a NodePool come to their end by age: how many soon, and how many at once."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import tzinfo
from typing import Final

from karptui.disruption.expiry import WAVE_NS, claim_expiry, expiry_wave
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import count_text, duration_text, instant_text
from karptui.views.claims.entry import ClaimEntry
from karptui.views.instants import in_text
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean

HOUR_NS: Final = 3600 * NS_PER_SECOND
SPANS_NS: Final = (WAVE_NS, 24 * HOUR_NS, 7 * 24 * HOUR_NS)
LEAST_WAVE: Final = 3
"""So many at once are worth a word."""


def expiry_line(entries: Iterable[ClaimEntry], pool: str, now_ns: int, local: tzinfo | None = None) -> Pieces:
    """Return when the NodeClaims of a NodePool expire; nothing where none of them does.

    Args:
        entries: NodeClaims, those of other NodePools too.
        pool: the NodePool.
        now_ns: the present instant: nanoseconds since the epoch.
        local: the zone to say instants in besides UTC.
    """
    found = (claim_expiry(one.claim, one.node_name) for one in entries if one.pool == pool)
    coming = sorted((one for one in found if one is not None), key=lambda one: (one.at_ns, one.claim_name))
    if not coming:
        return ()
    counts = [sum(one.at_ns - now_ns <= span_ns for one in coming) for span_ns in SPANS_NS]
    soon = " · ".join(
        f"{count_text(count)} in {duration_text(span_ns // NS_PER_SECOND)}"
        for count, span_ns in zip(counts, SPANS_NS, strict=True)
    )
    pieces = [
        (f"of {count_text(len(coming))} of {clean(pool)} expire {soon}", Tone.WARNING if counts[0] else Tone.MUTED)
    ]
    wave = expiry_wave(coming)
    if len(wave) >= LEAST_WAVE:
        at_ns = wave[0].at_ns
        when = f"{in_text(at_ns, now_ns)}, from {instant_text(at_ns, local)}"
        pieces.append((f" · most at once: {count_text(len(wave))} within 30m, {when}", Tone.NORMAL))
    return tuple(pieces)
