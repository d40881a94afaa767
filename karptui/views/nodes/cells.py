"""The cells of nodes, and their words for the line below the table."""

from __future__ import annotations

from typing import Final

from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import duration_text
from karptui.session.nodes import NodeEntry
from karptui.views.column import NOTHING, cell_words
from karptui.views.nodes.status import node_status
from karptui.views.prices import price_cell
from karptui.views.row import NOT_APPLICABLE, NOT_AVAILABLE, Cell, Tone, text_cell
from karptui.views.sanitize import clean, short_name, short_zone

CAPACITY_TONES: Final = {"spot": Tone.SPOT, "reserved": Tone.RESERVED}
CAPACITY_WORDS: Final = {"on-demand": "od", "reserved": "rsv"}


def name_cell(entry: NodeEntry, _: int) -> Cell:
    """Return the name, in brackets where there is no node yet."""
    name = clean(entry.name)
    if entry.node is None:
        return Cell(f"({name})", Tone.MUTED)
    return Cell(name, Tone.STRONG, short_name(name))


def capacity_type_cell(entry: NodeEntry, _: int) -> Cell:
    """Return the capacity type in short."""
    kind = entry.capacity_type
    return text_cell(CAPACITY_WORDS.get(kind, kind), CAPACITY_TONES.get(kind, Tone.NORMAL))


def zone_cell(entry: NodeEntry, _: int) -> Cell:
    """Return the zone."""
    return text_cell(entry.zone, short=short_zone(entry.zone))


def status_cell(entry: NodeEntry, now_ns: int) -> Cell:
    """Return the state that matters most."""
    status = node_status(entry)
    return Cell(status.text(now_ns), status.tone, status.short_text(now_ns))


def expires_cell(entry: NodeEntry, now_ns: int) -> Cell:
    """Return how long Karpenter will let the node live."""
    if entry.claim is None:
        return NOT_APPLICABLE
    if entry.claim.expires_ns is None:
        return Cell("never", Tone.MUTED)
    left = (entry.claim.expires_ns - now_ns) // NS_PER_SECOND
    return Cell(duration_text(left)) if left > 0 else Cell("due", Tone.WARNING)


def image_cell(entry: NodeEntry, _: int) -> Cell:
    """Return the machine image, or the system that the node reports."""
    return text_cell(entry.image)


def price_words(entry: NodeEntry, _: int) -> tuple[str, Tone]:
    """Return the price in words."""
    cell = price_cell(entry)
    return ("price n/a", cell.tone) if cell == NOT_AVAILABLE else cell_words(cell, after="/h")


def capacity_type_words(entry: NodeEntry, _: int) -> tuple[str, Tone]:
    """Return the capacity type in full."""
    return clean(entry.capacity_type), CAPACITY_TONES.get(entry.capacity_type, Tone.NORMAL)


def expires_words(entry: NodeEntry, now_ns: int) -> tuple[str, Tone]:
    """Return when Karpenter replaces the node for its age."""
    if entry.claim is None:
        return NOTHING
    if entry.claim.expires_ns is None:
        return "never expires", Tone.MUTED
    left = (entry.claim.expires_ns - now_ns) // NS_PER_SECOND
    return (f"expires in {duration_text(left)}", Tone.NORMAL) if left > 0 else ("expiry is due", Tone.WARNING)


def label_words(entry: NodeEntry, key: str) -> tuple[str, Tone]:
    """Return a node label with the last part of its name."""
    name = key.rpartition("/")[2]
    return (clean(f"{name}={entry.label(key)}"), Tone.NORMAL) if entry.label(key) else NOTHING
