"""Requests as three-part bars, usage, and shortages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from karptui.kube.resources import CPU, MEMORY, PODS, Shortage
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import (
    age_text,
    count_text,
    cpu_pair_text,
    cpu_text,
    duration_text,
    lacking_text,
    memory_pair_text,
    memory_text,
    percent_text,
    span_text,
)
from karptui.kube.usage import LiveUsage, Used
from karptui.session.nodes import PodAccess
from karptui.state.usage import Share
from karptui.views.column import Column, Field, FieldKind, ItemT, NumberHeading, Schema, Value, Words
from karptui.views.row import FORBIDDEN, NOT_APPLICABLE, NOT_AVAILABLE, WAITING, Bar, Cell, Pieces, Tone
from karptui.views.sanitize import clean


class Texts(NamedTuple):
    """How amounts of a resource are written."""

    single: Callable[[int], str]
    pair: Callable[[int, int], str]
    """From the requested and the allocatable amount."""


CPU_TEXTS: Final = Texts(cpu_text, cpu_pair_text)
MEMORY_TEXTS: Final = Texts(memory_text, memory_pair_text)


def share_cell(share: Share, texts: Texts, access: PodAccess) -> Cell:
    """Return bar, requested/allocatable and percent; not applicable if the node reports no capacity."""
    if access is not PodAccess.KNOWN:
        return _hidden_cell(texts.single(share.capacity), access)
    if share.capacity <= 0:
        return NOT_APPLICABLE
    percent = percent_text(share.requested, share.capacity)
    tone = Tone.WARNING if share.requested > share.capacity else Tone.NORMAL
    text = f"{texts.pair(share.requested, share.capacity)} {percent:>4}"
    return Cell(text, tone, percent, bar=Bar(share.daemons, share.workload, share.capacity))


def share_values(
    name: str,
    unit: str,
    requested: Callable[[ItemT], Share | None],
    allocatable: Callable[[ItemT], int | None],
    *,
    schema: Schema = int | None,
    about: tuple[str, str, str] = ("", "", ""),
    after: str = "",
) -> tuple[Value[ItemT], ...]:
    """Return the values for scripts: requests, DaemonSet requests, and allocatable."""

    def of_daemons(entry: ItemT, _: int) -> int | None:
        share = requested(entry)
        return share.daemons if share is not None else None

    def of_all(entry: ItemT, _: int) -> int | None:
        share = requested(entry)
        return share.requested if share is not None else None

    return (
        Value(f"{name}_requested{unit}", of_all, int | None, about[0], after),
        Value(f"{name}_daemonset{unit}", of_daemons, int | None, about[1]),
        Value(f"{name}_allocatable{unit}", lambda entry, _: allocatable(entry), schema, about[2]),
    )


def count_cell(share: Share, access: PodAccess) -> Cell:
    """Return bar and ``14/234`` for things that are counted."""
    if access is not PodAccess.KNOWN:
        return _hidden_cell(str(share.capacity), access)
    if share.capacity <= 0:
        return NOT_APPLICABLE
    text = f"{share.requested}/{share.capacity}"
    tone = Tone.WARNING if share.requested >= share.capacity else Tone.NORMAL
    return Cell(text, tone, bar=Bar(share.daemons, share.workload, share.capacity))


def _hidden_cell(capacity_text: str, access: PodAccess) -> Cell:
    """Return a placeholder for unknown requests: forbidden or loading, with the capacity."""
    unknown = FORBIDDEN if access is PodAccess.FORBIDDEN else WAITING
    return Cell(f"{unknown.text}/{capacity_text}", unknown.tone, unknown.text)


REQUESTS_DECIDE = "requests, not usage, decide what fits"


def latest_cpu(used: Used) -> int:
    """Return the cpu of the latest measurement, in millicores."""
    return used.latest.cpu_millis


def latest_memory(used: Used) -> int:
    """Return the memory of the latest measurement, in bytes."""
    return used.latest.memory_bytes


_USED_CPU: Final = (
    "cpu",
    "CPU USED",
    "used_cpu_millis",
    "Usage in metrics-server's latest measurement; null if not queried (--usage) or unknown.",
)
_USED_MEMORY: Final = ("mem", "MEM USED", "used_mem_bytes", "The same for memory.")


def used_column(
    resource: str,
    about: str,
    used_of: Callable[[ItemT], Used | None],
    whole_of: Callable[[ItemT], int | None],
    *,
    filter_help: str = "",
    after: str = "",
    words: Words[ItemT] | None = None,
) -> Column[ItemT]:
    """Return the usage column.

    Args:
        whole_of: Base of the percentage; 0 leaves it out, None if the column does not apply to an item.
    """
    is_cpu = resource == CPU
    short, title, value, meaning = _USED_CPU if is_cpu else _USED_MEMORY
    kind, amount = (FieldKind.CPU, latest_cpu) if is_cpu else (FieldKind.BYTES, latest_memory)
    text = cpu_text if is_cpu else memory_text

    def read(item: ItemT, _: int = 0) -> int | None:
        used = used_of(item)
        return amount(used) if used is not None else None

    def cell(item: ItemT, _: int) -> Cell:
        whole, used = whole_of(item), used_of(item)
        if whole is None:
            return NOT_APPLICABLE
        if used is None:
            return NOT_AVAILABLE
        share = f" {percent_text(amount(used), whole):>4}" if whole > 0 else ""
        return Cell(f"{text(amount(used))}{share}", short=text(amount(used)))

    return Column(
        NumberHeading(f"used_{short}", title, about, min_width=8, is_wide_only=True),
        cell,
        lambda item: float(used) if (used := read(item)) is not None else None,
        values=Value(value, read, int | None, meaning, after),
        filters={f"used_{short}": Field(kind, read, filter_help)} if filter_help else {},
        words=words,
    )


def samples_text(used: Used) -> str:
    """Return the number of measurements behind a maximum: ``one sample``, ``the most of 12 samples over 3m``."""
    if used.samples == 1:
        return "one sample"
    seconds = (used.latest.at_ns - used.first_ns) // NS_PER_SECOND
    return f"the highest of {count_text(used.samples)} samples over {duration_text(seconds)}"


def usage_note(live: LiveUsage, now_ns: int) -> Pieces:
    """Return the source, age and limits of usage figures, or why they are unknown."""
    if not live.is_asked:
        return (("live usage needs a live cluster with metrics-server", Tone.MUTED),)
    if live.sentence:
        age = f" (figures are {age_text(live.read_at_ns, now_ns)} old)" if live.read_at_ns else ""
        return ((f"{clean(live.sentence)}{age}", Tone.WARNING if live.read_at_ns else Tone.MUTED),)
    if not live.read_at_ns:
        return (("loading live usage from metrics-server…", Tone.ACTIVE),)
    window = f", over {span_text(live.window_ns)}" if live.window_ns else ""
    measured = f"measured by metrics-server {age_text(live.read_at_ns, now_ns)} ago{window}"
    return ((f"{measured}; {REQUESTS_DECIDE}", Tone.MUTED),)


def shortages_text(shortages: Iterable[Shortage], *, is_short: bool = False) -> str:
    """Return shortages, rounded up: ``pod slots short by 3: 8 of 11, memory short by 9Mi``, or ``mem −9Mi``."""
    return ", ".join(_shortage_text(shortage, is_short=is_short) for shortage in shortages)


def _shortage_text(shortage: Shortage, *, is_short: bool) -> str:
    name = clean(shortage.resource)
    if shortage.resource == PODS:
        room, need = lacking_text(name, shortage.room.nano), lacking_text(name, shortage.need.nano)
        return f"pod slots short by {lacking_text(name, shortage.lacking_nano)}: {room} of {need}"
    amount = lacking_text(shortage.resource, shortage.lacking_nano)
    return f"{'mem' if name == MEMORY else name} −{amount}" if is_short else f"{name} short by {amount}"
