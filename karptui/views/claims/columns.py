"""The table of NodeClaims: its columns, and everything that follows from them."""

from __future__ import annotations

from functools import partial
from typing import Final

from karptui.kube.units import age_text, duration_text, span_text
from karptui.session.claims import ClaimEntry, ClaimStep
from karptui.views.claims.sentences import short_wait, waiting_on
from karptui.views.column import (
    INSTANT_OR_NULL,
    NOTHING,
    Column,
    Field,
    FieldKind,
    Heading,
    NumberHeading,
    Value,
    Words,
    natural_key,
    text_column,
)
from karptui.views.instants import age_column, in_text, instant_value, seconds_of, seconds_until
from karptui.views.nodes.cells import CAPACITY_SHORT, capacity_tone, expires_cell
from karptui.views.nodes.status import node_status
from karptui.views.row import NOT_APPLICABLE, Cell, Tone, text_cell
from karptui.views.sanitize import clean, short_name
from karptui.views.table import Sort, TableSpec


def _step(step: ClaimStep) -> str:
    if step.seconds is None:
        return "?" if step.is_done else "-"
    text = str(step.seconds) if step.seconds < 1000 else duration_text(step.seconds)
    return text if step.is_done else f"{text}+"


def _life(entry: ClaimEntry, now_ns: int) -> Cell:
    text = "/".join(_step(step) for step in entry.steps(now_ns))
    if not entry.is_starting:
        return Cell(text)
    return Cell(text, Tone.FAULT if node_status(entry.row).tone is Tone.FAULT else Tone.ACTIVE)


def _life_sort(entry: ClaimEntry) -> float | None:
    """Return the seconds until it was initialized; starting claims sort first."""
    last = entry.steps(0)[-1]
    if last.is_done:
        return last.seconds
    return float("inf") if entry.is_starting else None


def _drift_reason(entry: ClaimEntry) -> str | None:
    return entry.drifted.reason if entry.drifted is not None else None


def _drift(entry: ClaimEntry, _: int) -> Cell:
    reason = _drift_reason(entry)
    return NOT_APPLICABLE if reason is None else text_cell(reason or "Drifted", Tone.WARNING)


def _deadline_ns(entry: ClaimEntry) -> int | None:
    return entry.deadline.at_ns if entry.deadline is not None else None


def _deadline(entry: ClaimEntry, now_ns: int) -> Cell:
    deadline, grace_ns = entry.deadline, entry.grace_ns
    if deadline is not None:
        left = deadline.at_ns - now_ns
        text = (
            in_text(deadline.at_ns, now_ns).removeprefix("in ")
            if left > 0
            else f"{age_text(deadline.at_ns, now_ns)} ago"
        )
        return Cell(text, Tone.LEAVING if left > 0 else Tone.WARNING)
    if entry.claim.is_deleting:
        return Cell("none", Tone.WARNING)
    if grace_ns is None:
        return NOT_APPLICABLE
    text = span_text(grace_ns)
    return Cell(f"{text} grace", Tone.MUTED, text)


def _deadline_sort(entry: ClaimEntry) -> float | None:
    """Return the deadline; drains without one sort first."""
    at_ns = _deadline_ns(entry)
    return float("-inf") if at_ns is None and entry.claim.is_deleting else at_ns


def _waiting(entry: ClaimEntry, now_ns: int) -> Cell:
    text, tone = waiting_on(entry, now_ns)
    return text_cell(text, tone, short=short_wait(entry, now_ns))


def _node(entry: ClaimEntry, _: int) -> Cell:
    name = entry.node_name
    if name and entry.node is None:
        return Cell(f"({clean(name)})", Tone.FAULT, f"({clean(short_name(name))})")
    return text_cell(name, short=short_name(name))


def _took(name: str, entry: ClaimEntry, now_ns: int) -> int | None:
    """Return the seconds from creation until a lifecycle step was done."""
    return next((step.seconds for step in entry.steps(now_ns) if step.name == name and step.is_done), None)


COLUMNS: Final[tuple[Column[ClaimEntry], ...]] = (
    text_column(
        Heading("name", "NAME", "The NodeClaim.", 14, 40, is_name=True),
        lambda entry: entry.claim.name,
        tone=lambda _: Tone.STRONG,
        json="name",
    ),
    text_column(
        Heading("pool", "POOL", "Its NodePool.", 7, 24, drop_order=7),
        lambda entry: entry.pool,
        or_null="pool",
        words=Words(4, lambda entry, _: (f"NodePool {clean(entry.pool)}", Tone.NORMAL) if entry.pool else NOTHING),
    ),
    text_column(
        Heading("type", "TYPE", "Its instance type, once it is launched.", 11, 20, drop_order=8),
        lambda entry: entry.row.instance_type,
        or_null="type",
        words=Words(1, lambda entry, _: (clean(entry.row.instance_type), Tone.NORMAL)),
    ),
    text_column(
        Heading("cap", "CAP", "Spot (sp), on-demand (od) or reserved (rsv).", 3, 9, drop_order=9),
        lambda entry: entry.row.capacity_type,
        tone=lambda entry: capacity_tone(entry.row.capacity_type),
        short=lambda entry: CAPACITY_SHORT.get(entry.row.capacity_type, ""),
        or_null="capacity_type",
        words=Words(
            2, lambda entry, _: (clean(entry.row.capacity_type), capacity_tone(entry.row.capacity_type)), joins=True
        ),
    ),
    text_column(
        Heading("zone", "ZONE", "Its zone.", 10, 16, drop_order=10),
        lambda entry: entry.row.zone,
        or_null="zone",
        words=Words(3, lambda entry, _: (clean(entry.row.zone), Tone.NORMAL), joins=True),
    ),
    Column(
        NumberHeading(
            "life",
            "L/R/I s",
            "Seconds from creation until Launched, Registered and Initialized; 95+ is still counting.",
            8,
            16,
        ),
        _life,
        _life_sort,
        values=tuple(
            Value(f"{name.lower()}_seconds", partial(_took, name), int | None, "From its creation.")
            for name in ("Launched", "Registered", "Initialized")
        ),
        filters={
            "init": Field(
                FieldKind.DURATION, lambda entry, now_ns: entry.steps(now_ns)[-1].seconds, "until initialized"
            )
        },
    ),
    Column(
        Heading(
            "node", "NODE", "Its node; in brackets if the node does not exist.", 15, 48, drop_order=6, is_name=True
        ),
        _node,
        lambda entry: natural_key(entry.node_name) if entry.node_name else None,
        values=Value("node", lambda entry, _: entry.node_name or None, str | None),
        filters=Field(FieldKind.TEXT, lambda entry, _: (entry.node_name, short_name(entry.node_name)), "node"),
    ),
    Column(
        Heading("drift", "DRIFT", "Why it is drifted.", 9, 24, drop_order=5),
        _drift,
        _drift_reason,
        values=Value("drift", lambda entry, _: _drift_reason(entry), str | None, "The reason.", after="status"),
        filters=Field(FieldKind.TEXT, lambda entry, _: _drift_reason(entry) or "", "why"),
    ),
    Column(
        Heading(
            "expires", "EXPIRES", "When Karpenter deletes it for its age.", 7, 10, is_right_aligned=True, drop_order=3
        ),
        lambda entry, now_ns: expires_cell(entry.claim, now_ns),
        lambda entry: entry.expires_ns,
        values=Value("expires", lambda entry, _: instant_value(entry.expires_ns), INSTANT_OR_NULL),
        filters=Field(
            FieldKind.DURATION,
            lambda entry, now_ns: seconds_until(entry.expires_ns, now_ns),
            "until it expires",
        ),
    ),
    Column(
        Heading(
            "deadline",
            "DEADLINE",
            "When its drain ends by force; before deletion its terminationGracePeriod; none: the drain may never end.",
            8,
            14,
            is_right_aligned=True,
            drop_order=4,
        ),
        _deadline,
        _deadline_sort,
        values=(
            Value(
                "termination_grace_seconds",
                lambda entry, _: seconds_of(entry.claim.termination_grace_period_ns),
                int | None,
            ),
            Value(
                "deadline",
                lambda entry, _: instant_value(_deadline_ns(entry)),
                INSTANT_OR_NULL,
                "When terminationGracePeriod ends the drain.",
            ),
        ),
        filters=Field(
            FieldKind.DURATION,
            lambda entry, now_ns: seconds_until(_deadline_ns(entry), now_ns),
            "until its drain ends by force",
        ),
    ),
    Column(
        Heading("waiting", "WAITING ON", "The step that its startup or removal is waiting for.", 32, 90),
        _waiting,
        lambda entry: node_status(entry.row).rank if node_status(entry.row).rank < 9 else None,
        values=Value("waiting_on", lambda entry, now_ns: waiting_on(entry, now_ns)[0] or None, str | None),
        filters=Field(FieldKind.TEXT, lambda entry, now_ns: waiting_on(entry, now_ns)[0], "waiting on"),
    ),
    age_column(
        Heading("age", "AGE", "Since it was created.", 4, 6, is_right_aligned=True, drop_order=2),
        lambda entry: entry.claim.created_ns,
    ),
)


def _text(entry: ClaimEntry) -> str:
    drift = _drift_reason(entry) or ""
    parts = (entry.claim.name, entry.pool, entry.node_name, entry.row.instance_type, entry.row.zone, drift)
    return f"{' '.join(parts)} {node_status(entry.row).word}".lower()


TABLE: Final[TableSpec[ClaimEntry]] = TableSpec(
    noun="NodeClaims",
    columns=COLUMNS,
    text=_text,
    more_filters={
        "status": Field(FieldKind.TEXT, lambda entry, _: node_status(entry.row).word, "Launching, Deleting, Draining…")
    },
    more_values=(Value("status", lambda entry, _: node_status(entry.row).word, str, after="node"),),
    labels=lambda entry: entry.claim.labels,
    key=lambda entry: entry.key,
    default_sort=Sort("age"),
    is_notable=lambda entry, _: (
        entry.drifted is not None or node_status(entry.row).rank < 5 or node_status(entry.row).tone is Tone.FAULT
    ),
)
