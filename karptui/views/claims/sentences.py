"""One row of the Claims screen, a NodeClaim and how far its end has come, and it in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import tzinfo
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from karptui.disruption.command import Method
from karptui.disruption.expiry import WAVE_NS, claim_expiry, expiry_wave
from karptui.disruption.termination import Deadline, deadline_of
from karptui.karpenter import labels as karpenter_labels
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.kube.node import Node
from karptui.kube.objects import Condition
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import age_text, count_text, duration_text, instant_text
from karptui.session.cluster_view import ClusterView
from karptui.session.nodes import NodeEntry
from karptui.views.instants import in_text
from karptui.views.names import short_name
from karptui.views.nodes.status import NodeStatus, node_status
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.why.sentences import drain_text

if TYPE_CHECKING:
    from karptui.disruption.analysis import NodeFindings


STEPS: Final = ("Launched", "Registered", "Initialized")
"""The life of a NodeClaim, in order."""


class Step(NamedTuple):
    """One step of a NodeClaim's life."""

    name: str
    seconds: int | None
    """From creation until it was done, or until now while it is under way; None where it has not begun."""
    is_done: bool


@dataclass(frozen=True, eq=False)
class ClaimEntry:
    """A NodeClaim and what belongs to it."""

    claim: NodeClaim
    node: Node | None = None
    findings: NodeFindings | None = None
    """Why it is still here; None until that is worked out."""

    @property
    def key(self) -> str:
        """Identity across refreshes, and of the node's row."""
        return f"claim/{self.claim.name}"

    @property
    def pool(self) -> str:
        """Name of its NodePool."""
        return self.claim.labels.get(karpenter_labels.NODEPOOL, "")

    @property
    def node_name(self) -> str:
        """Name of its node, also of one that is not there; empty before there is one."""
        return self.node.name if self.node is not None else self.claim.node_name

    @cached_property
    def row(self) -> NodeEntry:
        """The same as a row of the Nodes screen."""
        return NodeEntry(self.node, self.claim, findings=self.findings)

    @cached_property
    def status(self) -> NodeStatus:
        """The state that matters most."""
        return node_status(self.row)

    @property
    def is_starting(self) -> bool:
        """Whether a step of its life is still ahead."""
        return not self.claim.is_deleting and not self.claim.is_true(STEPS[-1])

    @property
    def drifted(self) -> Condition | None:
        """The Drifted condition where it is True."""
        found = self.claim.condition("Drifted")
        return found if found is not None and found.status == "True" else None

    @property
    def expires_ns(self) -> int | None:
        """When it expires; None where it never does, or is being deleted already."""
        return None if self.claim.is_deleting else self.claim.expires_ns

    @cached_property
    def deadline(self) -> Deadline | None:
        """When its drain ends by force; None without a deadline."""
        return deadline_of(self.claim)

    def steps(self, now_ns: int) -> tuple[Step, ...]:
        """Return the steps of its life; only the first that is not done is under way."""
        steps: list[Step] = []
        is_open = True
        for name in STEPS:
            condition = self.claim.condition(name)
            if condition is not None and condition.status == "True":
                steps.append(Step(name, _since(self.claim.created_ns, condition.last_transition_ns), is_done=True))
                continue
            running = _since(self.claim.created_ns, now_ns) if is_open and not self.claim.is_deleting else None
            steps.append(Step(name, running, is_done=False))
            is_open = False
        return tuple(steps)


def _since(start_ns: int, end_ns: int) -> int | None:
    return max(end_ns - start_ns, 0) // NS_PER_SECOND if start_ns and end_ns else None


def claim_entries(view: ClusterView) -> tuple[ClaimEntry, ...]:
    """Return a row for every NodeClaim."""
    state, known = view.state, view.analysis.findings if view.analysis is not None else {}
    return tuple(
        ClaimEntry(claim, state.node_of(name), known.get(f"claim/{name}")) for name, claim in state.nodeclaims.items()
    )


_DRIFT: Final = frozenset({Method.DRIFT, Method.STATIC_DRIFT})
_BETWEEN: Final = (" · ", Tone.MUTED)


def waiting_on(entry: ClaimEntry, now_ns: int) -> tuple[str, Tone]:
    """Return what the NodeClaim's life or its end waits for, nothing where it waits for nothing."""
    drain = entry.findings.drain if entry.findings is not None else None
    if entry.claim.is_deleting:
        if entry.findings is not None and drain is not None and entry.node is not None:
            return drain_text(entry.findings, now_ns), Tone.LEAVING
        return entry.status.sentence, Tone.LEAVING
    if entry.is_starting or (entry.node is None and entry.status.tone is Tone.FAULT):
        return entry.status.sentence, entry.status.tone
    if drain is not None and str(drain.stage) == "Commanded":
        return f"replacements to be ready, then it is deleted ({drain.reason})", Tone.LEAVING
    if entry.drifted is None:
        return "", Tone.NORMAL
    return _before_drift(entry, now_ns), Tone.WARNING


def _before_drift(entry: ClaimEntry, now_ns: int) -> str:
    found = entry.findings
    lane = next((one for one in found.lanes if one.method == Method.DRIFT), None) if found is not None else None
    if found is None or lane is None or not lane.is_held:
        return "its turn among the drifted"
    if lane.blocker is None:
        return "a place for its pods"
    first = found.blockers[lane.blocker]
    left = f", {in_text(first.until_ns, now_ns)}" if first.until_ns is not None else ""
    others = sum(1 for one in found.blockers if one.blocks & _DRIFT) - 1
    more = f" and {others} more" if others else ""
    return f"{first.word} {first.object_key or first.claim_name}".rstrip() + left + more


def claim_sentences(
    entry: ClaimEntry, now_ns: int, local: tzinfo | None = None, facts: Iterable[Pieces] = ()
) -> tuple[Pieces, ...]:
    """Return a NodeClaim in sentences.

    Args:
        entry: the NodeClaim.
        now_ns: the present instant: nanoseconds since the epoch.
        local: the zone to say instants in besides UTC.
        facts: what columns say that have no room; the first sentence tells it too.
    """
    claim = entry.claim
    node = f"node {short_name(entry.node_name)}" if entry.node_name else "no node yet"
    created = f"created {instant_text(claim.created_ns, local)}" if claim.created_ns else "created at an unknown time"
    head: Pieces = ((claim.name, Tone.STRONG), _BETWEEN, (node, Tone.NORMAL), _BETWEEN, (created, Tone.NORMAL))
    head += tuple(piece for fact in facts for piece in (_BETWEEN, *fact))
    text, tone = waiting_on(entry, now_ns)
    waits: Pieces = (("waits for: ", Tone.MUTED), (text, tone)) if text else (("waits for nothing", Tone.MUTED),)
    return head, _life(entry, now_ns), waits, _end(entry, now_ns, local)


def _life(entry: ClaimEntry, now_ns: int) -> Pieces:
    parts = []
    for step in entry.steps(now_ns):
        if step.is_done:
            parts.append(f"{step.name} after {seconds_text(step.seconds)}")
        elif step.seconds is not None:
            parts.append(f"not {step.name} after {seconds_text(step.seconds)}")
    return ((", ".join(parts) or "no step of its life is known", Tone.NORMAL),)


def seconds_text(seconds: int | None) -> str:
    """Return seconds as a number up to a thousand, longer times in larger units, ``?`` for what is not known."""
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
    deadline, grace_ns = entry.deadline, entry.claim.termination_grace_period_ns
    if deadline is not None:
        written = "" if not deadline.is_provisional else ", reckoned from its terminationGracePeriod"
        return f"drain ends by force {in_text(deadline.at_ns, now_ns)}, {instant_text(deadline.at_ns, local)}{written}"
    if grace_ns is None:
        return "no terminationGracePeriod: nothing bounds its drain"
    return f"a drain would end by force after {duration_text(grace_ns // NS_PER_SECOND)}"


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
