"""NodeClaims: their table and their texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import tzinfo
from functools import partial
from operator import attrgetter
from typing import Final

from karptui.decode.kinds import Kind
from karptui.disruption.codes import Code
from karptui.disruption.command import Method
from karptui.disruption.termination import WAVE_NS, Expiry, expiry_wave
from karptui.karpenter.nodeclaim import REBOOTING, UNREGISTERED, DrainStage
from karptui.kube.timestamps import HOUR_NS
from karptui.kube.units import age_text, count_text, counted, duration_text, instant_text, span_text
from karptui.session.claims import ClaimEntry, ClaimStep
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
    text_column,
)
from karptui.views.instants import age_column, in_text, instant_value, seconds_of, seconds_until
from karptui.views.nodes.cells import CAPACITY_SHORT, capacity_tone, expires_cell
from karptui.views.nodes.status import NOT_LAUNCHED, NOT_REGISTERED, node_status
from karptui.views.row import NOT_APPLICABLE, Cell, Pieces, Tone, text_cell
from karptui.views.sanitize import clean, short_name
from karptui.views.table import Sort, TableSpec
from karptui.views.why.sentences import drain_text

_DRIFT: Final = frozenset({Method.DRIFT, Method.STATIC_DRIFT})
_BETWEEN: Final = (" · ", Tone.MUTED)


_SHORT_WAITS: Final = {NOT_LAUNCHED: "the cloud provider's instance", NOT_REGISTERED: "the node to join the cluster"}


def waiting_on(entry: ClaimEntry, now_ns: int) -> tuple[str, Tone]:
    """Return the step that the NodeClaim is waiting for; empty if there is none."""
    drain = entry.findings.drain if entry.findings is not None else None
    if entry.claim.is_deleting:
        if entry.findings is not None and drain is not None and entry.node is not None:
            return drain_text(entry.findings, now_ns), Tone.LEAVING
        return node_status(entry.row).sentence, Tone.LEAVING
    if entry.is_rebooting:
        status = node_status(entry.row)
        return f"{status.text(now_ns).lower()}: {status.sentence}", status.tone
    if entry.is_starting or (entry.node is None and node_status(entry.row).tone is Tone.FAULT):
        return node_status(entry.row).sentence, node_status(entry.row).tone
    if drain is not None and drain.stage is DrainStage.COMMANDED:
        bound = f" and drained for up to {span_text(drain.bound_ns)}" if drain.bound_ns else ""
        return f"replacements to be ready, then it is deleted ({drain.reason}){bound}", Tone.LEAVING
    if entry.drifted is None:
        return "", Tone.NORMAL
    return _before_drift(entry, now_ns), Tone.WARNING


def short_wait(entry: ClaimEntry, now_ns: int) -> str:
    """Return the same in few characters; the lines below the table have the full text."""
    text = waiting_on(entry, now_ns)[0]
    drain = entry.findings.drain if entry.findings is not None else None
    if drain is not None and entry.claim.is_deleting and entry.node is not None:
        held = sum(str(holder.hold) != "evicted now" for holder in drain.holders) or len(drain.waiting)
        pods = f", waiting for {counted(held, 'pod')}" if held else ""
        return f"{str(drain.stage).lower()}{pods}"
    if drain is not None and text.startswith("replacements to be ready"):
        return "replacements to be ready"
    if (unregistered := UNREGISTERED.fullmatch(text)) is not None:
        return f"{clean(unregistered[1])} to be registered"
    return _SHORT_WAITS.get(text, text)


def _before_drift(entry: ClaimEntry, now_ns: int) -> str:
    findings = entry.findings
    if findings is None and Kind.NODE in entry.hidden:
        return ""
    lane = next((la for la in findings.lanes if la.method == Method.DRIFT), None) if findings is not None else None
    if findings is None or lane is None or not lane.is_held:
        is_stopped = findings is not None and str(findings.why.code) == "WAITS"
        return f"its turn among drifted nodes{', once disruption resumes' if is_stopped else ''}"
    if lane.blocker is None:
        return "room for its pods"
    first = findings.blockers[lane.blocker]
    left = f", {in_text(first.until_ns, now_ns)}" if first.until_ns is not None else ""
    others = sum(1 for blocker in findings.blockers if blocker.blocks & _DRIFT) - 1
    more = f" and {others} more" if others else ""
    return f"{first.word} {first.object_key or first.claim_name}".rstrip() + left + more


def _budget_text(entry: ClaimEntry) -> str:
    findings = entry.findings
    lane = next((la for la in findings.lanes if la.method == Method.DRIFT), None) if findings is not None else None
    if findings is None or lane is None or lane.blocker is None or entry.claim.is_deleting or entry.drifted is None:
        return ""
    first = findings.blockers[lane.blocker]
    return f": {clean(first.message)}" if lane.is_held and first.code is Code.BUDGET_ZERO else ""


def claim_sentences(
    entry: ClaimEntry, now_ns: int, local: tzinfo | None = None, facts: Iterable[Pieces] = ()
) -> tuple[Pieces, ...]:
    """Return the lines about a NodeClaim."""
    claim = entry.claim
    away = "its node is away while it reboots" if entry.is_rebooting else "no node yet"
    node = f"node {short_name(entry.node_name)}" if entry.node_name else away
    created = f"created {instant_text(claim.created_ns, local)}" if claim.created_ns else "created at an unknown time"
    head: Pieces = ((claim.name, Tone.STRONG), _BETWEEN, (node, Tone.NORMAL), _BETWEEN, (created, Tone.NORMAL))
    head += tuple(piece for fact in facts for piece in (_BETWEEN, *fact))
    text, tone = waiting_on(entry, now_ns)
    text += _budget_text(entry)
    waits: Pieces = (("not waiting for anything", Tone.MUTED),)
    if text:
        # The text about a drain already names the pods it waits for.
        waits = ((text, tone),) if entry.claim.is_deleting else (("waiting: ", Tone.MUTED), (text, tone))
    return head, _life_pieces(entry, now_ns), waits, _end(entry, now_ns, local)


def _life_pieces(entry: ClaimEntry, now_ns: int) -> Pieces:
    parts = []
    for step in entry.steps(now_ns):
        if step.is_done:
            parts.append(f"{step.name} after {_seconds_text(step.seconds)}")
        elif step.seconds is not None:
            parts.append(f"not {step.name} after {_seconds_text(step.seconds)}")
    rebooted = entry.claim.condition(REBOOTING)
    if rebooted is not None and rebooted.status == "False" and rebooted.last_transition_ns:
        how = "rebooted" if rebooted.reason == "RebootSucceeded" else "reboot failed"
        parts.append(f"{how} {age_text(rebooted.last_transition_ns, now_ns)} ago")
    return ((", ".join(parts) or "no lifecycle step is known", Tone.NORMAL),)


def _seconds_text(seconds: int | None) -> str:
    """Return seconds as a number up to 1,000, then in larger units, ``?`` if unknown."""
    if seconds is None:
        return "?"
    return f"{seconds} s" if seconds < 1000 else duration_text(seconds)


def _end(entry: ClaimEntry, now_ns: int, local: tzinfo | None) -> Pieces:
    claim, parts = entry.claim, []
    if entry.drifted is not None:
        since = entry.drifted.last_transition_ns
        ago = f" {age_text(since, now_ns)} ago" if since else ""
        parts.append(f"drifted{ago}: {entry.drifted.reason or 'no reason given'}")
    if claim.is_deleting:
        parts.append(f"deleted {instant_text(claim.deletion_ns, local)}")
    elif entry.expires_ns is None:
        parts.append("never expires")
    else:
        parts.append(f"expires {in_text(entry.expires_ns, now_ns)}, {instant_text(entry.expires_ns, local)}")
    parts.append(_grace(entry, now_ns, local))
    return ((" · ".join(parts), Tone.NORMAL),)


def _grace(entry: ClaimEntry, now_ns: int, local: tzinfo | None) -> str:
    deadline, grace_ns = entry.deadline, entry.grace_ns
    if deadline is not None:
        written = "" if not deadline.is_provisional else ", computed from its terminationGracePeriod"
        when = f"{in_text(deadline.at_ns, now_ns)}, {instant_text(deadline.at_ns, local)}"
        return f"drain is forced to end {when}{written}"
    if grace_ns is None:
        return "no terminationGracePeriod, so no time limit for its drain"
    return f"a drain would be forced to end after {span_text(grace_ns)}"


SPANS_NS: Final = (WAVE_NS, 24 * HOUR_NS, 7 * 24 * HOUR_NS)
LEAST_WAVE: Final = 3
"""Minimum size of an expiry wave that is mentioned."""


def expiry_line(coming: Sequence[Expiry], pool: str, now_ns: int, local: tzinfo | None = None) -> Pieces:
    """Return the expiry times of a NodePool's NodeClaims, or None if none expires."""
    if not coming:
        return ()
    counts = [sum(expiry.at_ns - now_ns <= span_ns for expiry in coming) for span_ns in SPANS_NS]
    spans = [span_text(span_ns) for span_ns in SPANS_NS]
    many = counted(len(coming), "NodeClaim")
    if counts[-1]:
        soon = " · ".join(f"{count_text(count)} in {span}" for count, span in zip(counts, spans, strict=True))
        pieces = [(f"{clean(pool)}: of {many} expire {soon}", Tone.WARNING if counts[0] else Tone.MUTED)]
    else:
        pieces = [(f"{clean(pool)}: none of {many} expires within {spans[-1]}", Tone.MUTED)]
    wave = expiry_wave(coming)
    if len(wave) >= LEAST_WAVE:
        at_ns = wave[0].at_ns
        when = f"from {instant_text(at_ns, local)} ({in_text(at_ns, now_ns)})"
        pieces.append((f" · {count_text(len(wave))} of them within 30m, {when}", Tone.NORMAL))
    return tuple(pieces)


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
    if name and entry.node is None and Kind.NODE not in entry.hidden:
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
        attrgetter("node_name"),
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
            "When its drain is forced to end; before deletion its terminationGracePeriod; none: no time limit.",
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
            "until its drain is forced to end",
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
