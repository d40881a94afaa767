"""The cells of nodes, and their words for the line below the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import (
    age_text,
    counted,
    cpu_pair_text,
    cpu_text,
    duration_text,
    memory_pair_text,
    memory_text,
)
from karptui.session.nodes import Delta, NodeEntry, PodAccess
from karptui.state.usage import Share
from karptui.views.column import NOTHING, cell_words
from karptui.views.live_usage import latest_cpu, latest_memory, used_cell
from karptui.views.names import short_name, short_zone
from karptui.views.nodes.status import node_status
from karptui.views.prices import price_cell
from karptui.views.row import NOT_APPLICABLE, NOT_AVAILABLE, Cell, Tone, text_cell
from karptui.views.sanitize import clean
from karptui.views.shares import count_cell, hidden_cell, share_cell

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
    return Cell(status.text(now_ns), status.tone)


def cpu_cell(entry: NodeEntry, _: int) -> Cell:
    """Return what pods request of the processors."""
    return _hidden(entry, entry.cpu, cpu_text) or share_cell(entry.cpu, cpu_pair_text)


def memory_cell(entry: NodeEntry, _: int) -> Cell:
    """Return what pods request of the memory."""
    return _hidden(entry, entry.memory, memory_text) or share_cell(entry.memory, memory_pair_text)


def ephemeral_cell(entry: NodeEntry, _: int) -> Cell:
    """Return what pods request of the ephemeral storage."""
    return _hidden(entry, entry.ephemeral, memory_text) or share_cell(entry.ephemeral, memory_pair_text)


def pods_cell(entry: NodeEntry, _: int) -> Cell:
    """Return how many pods there are of those it takes."""
    return _hidden(entry, entry.pods, str) or count_cell(entry.pods)


def accelerators_cell(entry: NodeEntry, _: int) -> Cell:
    """Return how many GPUs and other accelerators are requested."""
    return _hidden(entry, entry.accelerators, str) or count_cell(entry.accelerators)


def used_cpu_cell(entry: NodeEntry, _: int) -> Cell:
    """Return the cpu that is really used."""
    if entry.node is None:
        return NOT_APPLICABLE
    return used_cell(entry.used, latest_cpu, cpu_text, entry.cpu.capacity)


def used_memory_cell(entry: NodeEntry, _: int) -> Cell:
    """Return the memory that is really used."""
    if entry.node is None:
        return NOT_APPLICABLE
    return used_cell(entry.used, latest_memory, memory_text, entry.memory.capacity)


def _hidden(entry: NodeEntry, share: Share, text: Callable[[int], str]) -> Cell | None:
    """Return what stands where the requests of pods are not known, None where they are."""
    if entry.access is PodAccess.KNOWN or not share.capacity:
        return None
    return hidden_cell(text(share.capacity), is_forbidden=entry.access is PodAccess.FORBIDDEN)


def age_cell(entry: NodeEntry, now_ns: int) -> Cell:
    """Return the age of the node, or of the NodeClaim where there is no node."""
    return Cell(age_text(entry.created_ns, now_ns)) if entry.created_ns else NOT_AVAILABLE


def delta_cell(entry: NodeEntry, _: int) -> Cell:
    """Return what the node has less than its NodeClaim, or more."""
    delta = entry.delta
    if delta is None:
        return NOT_APPLICABLE
    text = delta_text(delta)
    return Cell(text or "0", Tone.WARNING if delta.is_smaller else Tone.NORMAL if text else Tone.MUTED)


def delta_text(delta: Delta) -> str:
    """Return what differs between claim and node: ``−16Mi``, ``+120m −4 pods``; nothing where nothing does."""
    parts = (
        (delta.memory_bytes, memory_text(abs(delta.memory_bytes))),
        (delta.cpu_millis, cpu_text(abs(delta.cpu_millis))),
        (delta.pods, counted(abs(delta.pods), "pod")),
    )
    return " ".join(f"{'+' if amount > 0 else '−'}{text}" for amount, text in parts if amount)


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


def ephemeral_words(entry: NodeEntry, now_ns: int) -> tuple[str, Tone]:
    """Return what pods request of the ephemeral storage, nothing where they do not."""
    is_idle = entry.access is PodAccess.KNOWN and not entry.ephemeral.requested
    return NOTHING if is_idle else cell_words(ephemeral_cell(entry, now_ns), "ephemeral ")


def used_words(entry: NodeEntry, now_ns: int) -> tuple[str, Tone]:
    """Return what is really used, and when that was measured."""
    if entry.used is None:
        return NOTHING
    amounts = f"cpu {cpu_text(latest_cpu(entry.used))} mem {memory_text(latest_memory(entry.used))}"
    return f"used {amounts} {age_text(entry.used.latest.at_ns, now_ns)} ago", Tone.NORMAL


def label_words(entry: NodeEntry, key: str) -> tuple[str, Tone]:
    """Return a node label with the last part of its name."""
    name = key.rpartition("/")[2]
    return (clean(f"{name}={entry.label(key)}"), Tone.NORMAL) if entry.label(key) else NOTHING
