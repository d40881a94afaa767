"""Columns of the Nodes screen in words, for where they have no room: what is asked first in trouble comes first."""

from __future__ import annotations

from typing import Final

from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import age_text, cpu_text, duration_text, memory_text
from karptui.session.nodes import NodeEntry, PodAccess
from karptui.views.live_usage import latest_cpu, latest_memory
from karptui.views.nodes.cells import accelerators_cell, age_cell, delta_cell, ephemeral_cell, image_cell, pods_cell
from karptui.views.prices import price_cell
from karptui.views.row import NOT_AVAILABLE, Tone
from karptui.views.sanitize import clean
from karptui.views.unseen import NOTHING, Told, cell_words


def _price(entry: NodeEntry, _: int) -> tuple[str, Tone]:
    cell = price_cell(entry)
    return ("price n/a", cell.tone) if cell == NOT_AVAILABLE else cell_words(cell, after="/h")


def _capacity_type(entry: NodeEntry, _: int) -> tuple[str, Tone]:
    tone = {"spot": Tone.SPOT, "reserved": Tone.RESERVED}.get(entry.capacity_type, Tone.NORMAL)
    return clean(entry.capacity_type), tone


def _expires(entry: NodeEntry, now_ns: int) -> tuple[str, Tone]:
    if entry.claim is None:
        return NOTHING
    if entry.claim.expires_ns is None:
        return "never expires", Tone.MUTED
    left = (entry.claim.expires_ns - now_ns) // NS_PER_SECOND
    return (f"expires in {duration_text(left)}", Tone.NORMAL) if left > 0 else ("expiry is due", Tone.WARNING)


def _ephemeral(entry: NodeEntry, now_ns: int) -> tuple[str, Tone]:
    is_idle = entry.access is PodAccess.KNOWN and not entry.ephemeral.requested
    return NOTHING if is_idle else cell_words(ephemeral_cell(entry, now_ns), "ephemeral ")


def _used(entry: NodeEntry, now_ns: int) -> tuple[str, Tone]:
    if entry.used is None:
        return NOTHING
    amounts = f"cpu {cpu_text(latest_cpu(entry.used))} mem {memory_text(latest_memory(entry.used))}"
    return f"used {amounts} {age_text(entry.used.latest.at_ns, now_ns)} ago", Tone.NORMAL


_FIRST: Final[tuple[Told[NodeEntry], ...]] = (
    Told("price", _price),
    Told("pods", lambda entry, now_ns: cell_words(pods_cell(entry, now_ns), after=" pods")),
    Told("type", lambda entry, _: (clean(entry.instance_type), Tone.NORMAL)),
    Told("cap", _capacity_type, joins=True),
    Told("zone", lambda entry, _: (clean(entry.zone), Tone.NORMAL), joins=True),
    Told("delta", lambda entry, now_ns: cell_words(delta_cell(entry, now_ns), "Δ claim ")),
)
_LATER: Final[tuple[Told[NodeEntry], ...]] = (
    Told("expires", _expires),
    Told("gpu", lambda entry, now_ns: cell_words(accelerators_cell(entry, now_ns), "gpu ")),
    Told("age", lambda entry, now_ns: cell_words(age_cell(entry, now_ns), "age ")),
    Told("ephemeral", _ephemeral),
    Told("used_cpu", _used),
    Told("arch", lambda entry, _: (clean(entry.architecture), Tone.NORMAL)),
    Told("image", lambda entry, now_ns: cell_words(image_cell(entry, now_ns), "image ")),
)


def told_columns(extra_labels: tuple[str, ...] = ()) -> tuple[Told[NodeEntry], ...]:
    """Return the columns in words, the most important first.

    Args:
        extra_labels: node labels that were asked for as columns.
    """
    return (*_FIRST, *(_label(key) for key in extra_labels), *_LATER)


def _label(key: str) -> Told[NodeEntry]:
    name = key.rpartition("/")[2]
    return Told(
        f"label:{key}",
        lambda entry, _: (clean(f"{name}={entry.label(key)}"), Tone.NORMAL) if entry.label(key) else NOTHING,
    )
