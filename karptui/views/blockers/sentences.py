"""Texts about blockers and remedies: held cost, deadlines, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from karptui.aws.money import per_month_text
from karptui.disruption.codes import CODES, Code
from karptui.kube.units import count_text, counted, duration_text, span_text, verb
from karptui.session.blockers import BlockerEntry, nodes_of
from karptui.session.costs import Held, held_of
from karptui.views.prices import known_sum_text, money_cell
from karptui.views.row import COMPUTING, NOT_APPLICABLE, NOT_AVAILABLE, ZERO, Cell, Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.why.sentences import held_text

if TYPE_CHECKING:
    from karptui.whatif.remedies.blockers.remedy import BlockerRemedy, Effect


UNKNOWN_END: Final = Cell("when the pods have ended", short="later")
"""When nodes are freed whose protected pods end at an unknown time."""


def total(effect: Effect) -> int:
    """Return the number of nodes affected by a remedy."""
    return effect.goes + effect.kept + effect.unknown + effect.untried


def nodes_cell(effect: Effect | None) -> Cell:
    """Return the number of removed nodes: ``4 of 6``."""
    if effect is None:
        return NOT_APPLICABLE
    if not total(effect):
        return ZERO
    if effect.unknown == total(effect):
        return COMPUTING
    if effect.untried and not effect.goes:
        return Cell("try it", Tone.MUTED)
    more = "+" if effect.unknown or effect.untried else ""
    text = f"{count_text(effect.goes)}{more} of {count_text(total(effect))}"
    return Cell(text, Tone.GOOD if effect.goes else Tone.MUTED)


def when_cell(effect: Effect | None, *, is_tried: bool = False) -> Cell:
    """Return when the nodes go, as far as that is known before a forecast."""
    if effect is None or not effect.goes:
        return NOT_APPLICABLE
    if effect.within_seconds:
        return Cell(f"after {duration_text(effect.within_seconds)}")
    if not effect.is_at_once:
        return UNKNOWN_END
    return NOT_AVAILABLE if is_tried else COMPUTING


def saves_cell(effect: Effect | None) -> Cell:
    """Return the savings per hour."""
    if effect is None or not effect.goes:
        return NOT_APPLICABLE
    if effect.unpriced == effect.goes:
        return NOT_AVAILABLE
    is_partial = bool(effect.unknown or effect.untried or effect.unpriced)
    # The removals are simulated one by one.
    is_upper_bound = effect.goes > 1
    return money_cell(effect.saves_per_hour, "USD", Tone.STRONG, is_upper_bound=is_upper_bound, is_partial=is_partial)


def effect_text(effect: Effect | None) -> str:
    """Return ``2 of 4 nodes can be removed, up to $1.01/h``, or an empty string if it frees no node."""
    if effect is None or not effect.goes:
        return ""
    nodes = total(effect)
    when = "" if effect.is_at_once else " when the pods have ended"
    if effect.within_seconds:
        when = f" after {duration_text(effect.within_seconds)}"
    return f"{_those_of(effect, nodes)} can be removed{when}{_saved(effect)}"


def _offer_text(effect: Effect, held: Held | None = None) -> str:
    """Return the effect for a line that lists several remedies: ``1 of 2 nodes, $0.77/h``.

    Args:
        held: The held cost of the nodes together if known; savings are capped at it.
    """
    if effect.goes > 1 and held is not None and held.is_joint and not (held.waiting or held.unpriced):
        effect = replace(effect, saves_per_hour=min(effect.saves_per_hour, held.per_hour))
    return f"{_those_of(effect, total(effect))}{_saved(effect)}"


def _saved(effect: Effect) -> str:
    """Return the savings as a final clause, or an empty string if unknown."""
    if effect.unpriced == effect.goes:
        return ""
    bound = "up to " if effect.goes > 1 else ""
    return f", {bound}{known_sum_text(effect.saves_per_hour, effect.unpriced)}"


def _those_of(effect: Effect, nodes: int) -> str:
    """Return ``2 nodes`` if all nodes are removed, else ``2 of 4 nodes``."""
    return f"{count_text(effect.goes)} of {counted(nodes, 'node')}" if effect.goes < nodes else counted(nodes, "node")


BOUNDED: Final = frozenset({Code.POD_DND, Code.PDB_EXHAUSTED, Code.PDB_MULTIPLE})
"""Kinds that a terminationGracePeriod overrides; their texts include the deadline and new pods."""


def blocker_sentences(
    members: Sequence[BlockerEntry],
    now_ns: int,
    title: str = "",
    remedies: Sequence[BlockerRemedy] = (),
    facts: Sequence[Pieces] = (),
    *,
    held: Held | None = None,
) -> tuple[Pieces, ...]:
    """Return the held cost, the deadline and the remedies of blockers."""
    if not members:
        return ()
    behind = tuple(piece for fact in facts for piece in ((" · ", Tone.MUTED), *fact))
    if all(member.is_idle for member in members):
        message = _message(members, now_ns)
        return (*_not_blocking(members, title, behind), *([((message, Tone.MUTED),)] if message else []))
    members = [member for member in members if not member.is_idle]
    lines = [(*_holds(members, title, held), *behind), _wait(members, now_ns)]
    if remedies:
        lines.append(_offers(remedies, held))
    elif all(member.is_passing for member in members):
        lines.append((("It ends automatically.", Tone.MUTED),))
    return tuple(lines)


def _offers(remedies: Sequence[BlockerRemedy], held: Held | None) -> Pieces:
    """Return the remedies in one line, with the number of removed nodes."""
    pieces: list[tuple[str, Tone]] = [("What to do (r): ", Tone.MUTED)]
    for place, remedy in enumerate(remedies):
        effect = remedy.effect
        goes = f" ({_offer_text(effect, held)})" if effect is not None and effect.goes and effect.is_at_once else ""
        pieces.append((f"{' · ' if place else ''}{clean(remedy.title)}", Tone.NORMAL))
        pieces.append((goes, Tone.GOOD))
    return tuple(pieces)


def _not_blocking(members: Sequence[BlockerEntry], title: str, behind: Pieces) -> tuple[Pieces, ...]:
    """Return the text for blockers on nodes that no method wants, or that are being deleted."""
    nodes = nodes_of(members)
    named = title or (members[0].object_name if len(members) == 1 else f"{count_text(len(members))} things")
    on = f"the node {members[0].blocker.node_name}" if len(nodes) == 1 else counted(len(nodes), "node")
    why = f"no method wants {clean(on)}"
    if all(member.blocker.code is Code.DELETING for member in members):
        why = f"{clean(on)} {verb(len(nodes), 'is', 'are')} being deleted"
    text = f"{clean(named)}: blocks nothing now, because {why}. Nothing to do."
    return (((text, Tone.MUTED), *behind),)


def _holds(members: Sequence[BlockerEntry], title: str, held: Held | None) -> Pieces:
    nodes = nodes_of(members)
    held = held or held_of(nodes)
    on = f" on {counted(len(nodes), 'node')}" if nodes else ""
    if len(members) == 1:
        entry = members[0]
        what = f"{entry.object_name or 'the cluster'} ({CODES[entry.blocker.code].meaning})"
    else:
        kinds = ", ".join(dict.fromkeys(member.kind for member in members))
        things = {member.blocker.object_ref: member.blocker.object_kind for member in members}
        noun = "pod" if set(things.values()) == {"Pod"} else "object"
        named = f"{title}: " if title else ""
        what = f"{named}{counted(len(things), noun)} ({kinds})"
    if held.per_hour:
        holds = "block" if len(members) > 1 else "blocks"
        money = f" {holds} {held_text(held)} · {per_month_text(held.per_hour, held.currency)} (simulated)"
        return ((f"{clean(what)}{on}", Tone.STRONG), (money, Tone.WARNING))
    if held.waiting:
        return ((f"{clean(what)}{on}", Tone.STRONG), (", its savings are being simulated", Tone.ACTIVE))
    rest = ", its savings are unknown" if held.unpriced else ", its removal would save nothing (simulated)"
    return ((f"{clean(what)}{on}", Tone.STRONG), (rest, Tone.MUTED))


def _wait(members: Sequence[BlockerEntry], now_ns: int) -> Pieces:
    """Return the deadline, and whether the nodes still receive pods."""
    parts: list[tuple[str, Tone]] = []
    bounded = [member for member in members if member.blocker.code in BOUNDED and member.findings is not None]
    graces = {entry.findings.grace_ns for entry in bounded if entry.findings is not None}
    if lengths := sorted(grace for grace in graces if grace is not None):
        spans = " to ".join(dict.fromkeys(span_text(span) for span in (lengths[0], lengths[-1])))
        some = "; others have none" if None in graces else ""
        parts.append(
            (f"terminationGracePeriod {spans} forces an end for drift and expiry, never for consolidation{some}. ",
             Tone.NORMAL)
        )  # fmt: skip
    elif bounded:
        parts.append(("No terminationGracePeriod: the block has no time limit for any method. ", Tone.WARNING))
    arrived = {member.findings.key: member.recent_pods for member in members if member.findings is not None}
    total, on = sum(arrived.values()), sum(1 for count in arrived.values() if count)
    if bounded and total:
        noun = "this node" if len(arrived) == 1 else f"{count_text(on)} of these nodes"
        empty = verb(on, "it never becomes empty", "they never become empty")
        parts.append((f"{counted(total, 'pod')} started on {noun} in the last hour: {empty}.", Tone.WARNING))
    if not parts:
        parts.append((_message(members, now_ns), Tone.NORMAL))
    return tuple(parts)


def _message(members: Sequence[BlockerEntry], now_ns: int) -> str:
    ends = [member.blocker.until_ns for member in members if member.blocker.until_ns is not None]
    message = next((member.blocker.message for member in members if member.blocker.message), "")
    left = f" · ends in {span_text(min(ends) - now_ns)}" if ends else ""
    return f"{clean(message)}{left}"
