"""The cells of nodes, and their words for the line below the table."""

from __future__ import annotations

from typing import Final

from karptui.karpenter.labels import ON_DEMAND, RESERVED, SPOT
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.session.nodes import NodeEntry
from karptui.views.column import NOTHING, cell_words
from karptui.views.instants import expiry_text
from karptui.views.nodes.status import node_status
from karptui.views.prices import price_cell
from karptui.views.row import NOT_APPLICABLE, NOT_AVAILABLE, Cell, Tone, text_cell
from karptui.views.sanitize import clean, short_name, short_zone

CAPACITY_TONES: Final = {SPOT: Tone.SPOT, RESERVED: Tone.RESERVED}
CAPACITY_SHORT: Final = {ON_DEMAND: "od", SPOT: "sp", RESERVED: "rsv"}
_SOON_NS: Final = 24 * 3600 * NS_PER_SECOND


def name_cell(entry: NodeEntry, _: int) -> Cell:
    """Return the name, in brackets if there is no node yet."""
    name = clean(entry.name)
    if entry.node is None:
        return Cell(f"({name})", Tone.MUTED)
    return Cell(name, Tone.STRONG, short_name(name))


def capacity_type_cell(kind: str) -> Cell:
    """Return a capacity type, shortened in narrow columns."""
    return text_cell(kind, CAPACITY_TONES.get(kind, Tone.NORMAL), short=CAPACITY_SHORT.get(kind, ""))


def short_capacity_type_cell(entry: NodeEntry, _: int) -> Cell:
    """Return the capacity type of a node in short; spot is short enough."""
    kind = entry.capacity_type
    return text_cell(kind if kind == SPOT else CAPACITY_SHORT.get(kind, kind), CAPACITY_TONES.get(kind, Tone.NORMAL))


def zone_cell(entry: NodeEntry, _: int) -> Cell:
    """Return the zone."""
    return text_cell(entry.zone, short=short_zone(entry.zone))


def status_cell(entry: NodeEntry, now_ns: int) -> Cell:
    """Return the state that matters most."""
    status = node_status(entry)
    return Cell(status.text(now_ns), status.tone, status.short_text(now_ns))


def expires_cell(claim: NodeClaim | None, now_ns: int) -> Cell:
    """Return the time until a node expires; a dash if it is already being removed."""
    if claim is None or claim.is_deleting:
        return NOT_APPLICABLE
    at_ns = claim.expires_ns
    if at_ns is None:
        return Cell("never", Tone.MUTED)
    text = expiry_text(at_ns, now_ns).removeprefix("in ")
    return Cell(text, Tone.WARNING if at_ns - now_ns < _SOON_NS else Tone.NORMAL)


def image_cell(entry: NodeEntry, _: int) -> Cell:
    """Return the machine image, or the system that the node reports."""
    return text_cell(entry.image)


def price_words(entry: NodeEntry, _: int) -> tuple[str, Tone]:
    """Return the price as text."""
    cell = price_cell(entry)
    return ("price n/a", cell.tone) if cell == NOT_AVAILABLE else cell_words(cell, after="/h")


def capacity_type_words(entry: NodeEntry, _: int) -> tuple[str, Tone]:
    """Return the capacity type in full."""
    return clean(entry.capacity_type), CAPACITY_TONES.get(entry.capacity_type, Tone.NORMAL)


def expires_words(entry: NodeEntry, now_ns: int) -> tuple[str, Tone]:
    """Return the time of expiry as text."""
    cell = expires_cell(entry.claim, now_ns)
    if cell == NOT_APPLICABLE:
        return NOTHING
    words = {"never": "never expires", "due": "expiry is due"}
    return words.get(cell.text, f"expires in {cell.text}"), cell.tone


def label_words(entry: NodeEntry, key: str) -> tuple[str, Tone]:
    """Return a node label with the last part of its name."""
    name = key.rpartition("/")[2]
    return (clean(f"{name}={entry.label(key)}"), Tone.NORMAL) if entry.label(key) else NOTHING
