"""Cells of the Nodes table, with its WHY and HELD columns."""

from __future__ import annotations

from typing import Final

import msgspec

from karptui.karpenter.labels import ON_DEMAND, RESERVED, SPOT
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.kube.timestamps import DAY_NS
from karptui.session.costs import held_per_hour
from karptui.session.nodes import NodeEntry
from karptui.views.column import NOTHING, Column, Field, FieldKind, Heading, NumberHeading, Value, cell_words
from karptui.views.instants import expiry_text
from karptui.views.nodes.status import node_status
from karptui.views.prices import money_cell, price_cell
from karptui.views.row import NOT_APPLICABLE, NOT_AVAILABLE, Cell, Tone, text_cell
from karptui.views.sanitize import clean, short_name
from karptui.views.why.labels import why_cell, why_code, why_sort, why_words
from karptui.views.why.lanes import LANES, lanes_text, lanes_values

CAPACITY_SHORT: Final = {ON_DEMAND: "od", SPOT: "sp", RESERVED: "rsv"}
_SOON_NS: Final = DAY_NS


def name_cell(entry: NodeEntry, _: int) -> Cell:
    """Return the name, in brackets if there is no node yet."""
    name = clean(entry.name)
    if entry.node is None:
        return Cell(f"({name})", Tone.MUTED)
    return Cell(name, Tone.STRONG, short_name(name))


def capacity_tone(kind: str) -> Tone:
    """Return the tone of a capacity type."""
    return {SPOT: Tone.SPOT, RESERVED: Tone.RESERVED}.get(kind, Tone.NORMAL)


def short_capacity_type_cell(entry: NodeEntry, _: int) -> Cell:
    """Return the capacity type of a node in short; spot is short enough."""
    kind = entry.capacity_type
    return text_cell(kind if kind == SPOT else CAPACITY_SHORT.get(kind, kind), capacity_tone(kind))


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


def price_words(entry: NodeEntry, _: int) -> tuple[str, Tone]:
    """Return the price as text."""
    cell = price_cell(entry)
    return ("price n/a", cell.tone) if cell == NOT_AVAILABLE else cell_words(cell, after="/h")


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


_HELD_CELLS: Final = 6
"""Width of a short sum; a longer one loses its decimals to leave room for the verdict."""


def held_cell(entry: NodeEntry, _: int) -> Cell:
    """Return the savings if the node's blockers were lifted."""
    held = held_per_hour(entry)
    if held is None:
        is_known = entry.findings is not None and entry.findings.is_held and entry.findings.freed is not None
        return NOT_AVAILABLE if is_known else Cell("…" if entry.findings is not None else "", Tone.MUTED)
    if not held:
        return NOT_APPLICABLE
    cell = money_cell(held, entry.price.currency if entry.price is not None else "USD", Tone.WARNING)
    return cell if len(cell.short) <= _HELD_CELLS else msgspec.structs.replace(cell, short=f"{held:,.2f}")


def _without_blockers(entry: NodeEntry, _: int) -> str | None:
    findings = entry.findings
    return str(findings.outlook.lifted.outcome) if findings is not None and findings.outlook is not None else None


HELD: Final[Column[NodeEntry]] = Column(
    NumberHeading(
        "held", "HELD", "Savings per hour without its blockers (simulated); when sorted by it, faults come next.", 6, 10
    ),
    held_cell,
    lambda entry: (round(held_per_hour(entry) or 0.0, 4), -float(node_status(entry).rank)),
    values=Value(
        "heldPricePerHour",
        lambda entry, _: held_per_hour(entry),
        float | None,
        "The same as held_per_hour.",
        after="held_per_hour",
    ),
)


WHY: Final[Column[NodeEntry]] = Column(
    Heading("why", "WHY", "Why the node is still here. The labels are explained above.", 9, 26),
    why_cell,
    why_sort,
    values=(
        Value(
            "why",
            lambda entry, now_ns: why_code(entry.findings.why, now_ns) if entry.findings is not None else None,
            str | None,
            "What blocks the method that wants the node, as a code with its numbers; null if unknown.",
            after="price_source",
        ),
        Value(
            "why_codes",
            lambda entry, _: [str(code) for code in entry.findings.why.codes] if entry.findings is not None else None,
            list[str] | None,
            "The same code, then the other blockers of methods that want the node.",
        ),
        Value(
            "goes_without_blockers",
            _without_blockers,
            str | None,
            "delete, replace, no or unknown: outcome of a simulated removal without blockers.",
        ),
        Value(
            "held_per_hour",
            lambda entry, _: held_per_hour(entry),
            float | None,
            "Savings per hour in that case; 0 if its replacement would cost as much or more.",
        ),
        Value("lanes", lanes_values, LANES, flat=lanes_text),
        Value(
            "pods_in_last_hour",
            lambda entry, _: entry.findings.recent_pods if entry.findings is not None else None,
            int | None,
            "Pods scheduled to it in the last hour, without DaemonSet pods.",
        ),
    ),
    filters={
        "why": Field(FieldKind.TEXT, why_words, "code of the WHY column: DND, PDB, BUDGET, OK*…"),
        "held": Field(FieldKind.MONEY, lambda entry, _: held_per_hour(entry), "savings per hour without blockers"),
    },
)
