"""What blockers cost and why they do not go away, in sentences: the lines under the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from karptui.aws.money import per_month_text
from karptui.disruption.codes import CODES, Code
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.kube.units import count_text, counted, duration_text
from karptui.session.costs import held_of
from karptui.views.blockers.effect import offer_text
from karptui.views.blockers.entry import BlockerEntry, nodes_of
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.why.held import held_text

if TYPE_CHECKING:
    from karptui.whatif.remedies.blockers.remedy import BlockerRemedy

BOUNDED: Final = frozenset({Code.POD_DND, Code.PDB_EXHAUSTED, Code.PDB_MULTIPLE})
"""What a terminationGracePeriod overrides: of these the sentences say what ends the wait, and what pods come."""


def story_lines(
    members: Sequence[BlockerEntry],
    now_ns: int,
    title: str = "",
    remedies: Sequence[BlockerRemedy] = (),
    facts: Sequence[Pieces] = (),
) -> tuple[Pieces, ...]:
    """Return what blockers hold, what ends the wait, and what can be done.

    Args:
        members: Blockers of one group, or a single one.
        now_ns: The present instant: nanoseconds since the epoch.
        title: Of the group, empty for a single one.
        remedies: What can be done about them.
        facts: What columns say that have no room; they stand behind what is held.
    """
    if not members:
        return ()
    behind = tuple(piece for fact in facts for piece in ((" · ", Tone.MUTED), *fact))
    lines = [(*_holds(members, title), *behind), _wait(members, now_ns)]
    if remedies:
        lines.append(_offers(remedies))
    elif all(one.is_passing for one in members):
        lines.append((("It ends by itself.", Tone.MUTED),))
    return tuple(lines)


def _offers(remedies: Sequence[BlockerRemedy]) -> Pieces:
    """Return the remedies in one line, those that make nodes go with how many."""
    pieces: list[tuple[str, Tone]] = [("What to do (r): ", Tone.MUTED)]
    for place, remedy in enumerate(remedies):
        effect = remedy.effect
        goes = f" ({offer_text(effect)})" if effect is not None and effect.goes and effect.is_at_once else ""
        pieces.append((f"{' · ' if place else ''}{clean(remedy.title)}", Tone.NORMAL))
        pieces.append((goes, Tone.GOOD))
    return tuple(pieces)


def _holds(members: Sequence[BlockerEntry], title: str) -> Pieces:
    nodes = nodes_of(members)
    held = held_of(nodes)
    on = f" on {counted(len(nodes), 'node')}" if nodes else ""
    if len(members) == 1:
        one = members[0]
        what = f"{one.object_name or 'the cluster'} ({CODES[one.blocker.code].meaning})"
    else:
        kinds = ", ".join(dict.fromkeys(one.kind for one in members))
        things = {one.blocker.object_ref: one.blocker.object_kind for one in members}
        noun = "pod" if set(things.values()) == {"Pod"} else "object"
        named = f"{title}: " if title else ""
        what = f"{named}{counted(len(things), noun)} ({kinds})"
    if held.per_hour:
        holds = "hold" if len(members) > 1 else "holds"
        money = f" {holds} {held_text(held)} · {per_month_text(held.per_hour, held.currency)} (simulated)"
        return ((f"{clean(what)}{on}", Tone.STRONG), (money, Tone.WARNING))
    if held.waiting:
        return ((f"{clean(what)}{on}", Tone.STRONG), (", what it holds is being simulated", Tone.ACTIVE))
    rest = ", the price is not known" if held.unpriced else ", nothing would be saved without (simulated)"
    return ((f"{clean(what)}{on}", Tone.STRONG), (rest, Tone.MUTED))


def _wait(members: Sequence[BlockerEntry], now_ns: int) -> Pieces:
    """Return what ends the wait, and whether the nodes still receive pods."""
    parts: list[tuple[str, Tone]] = []
    bounded = [one for one in members if one.blocker.code in BOUNDED and one.findings is not None]
    graces = {one.findings.grace_ns for one in bounded if one.findings is not None}
    known = sorted(grace for grace in graces if grace is not None)
    if known:
        spans = " to ".join(dict.fromkeys(duration_text(span // NS_PER_SECOND) for span in (known[0], known[-1])))
        some = "; others have none" if None in graces else ""
        parts.append(
            (f"terminationGracePeriod {spans} ends the wait for drift and expiry, never for consolidation{some}. ",
             Tone.NORMAL)
        )  # fmt: skip
    elif bounded:
        parts.append(("No terminationGracePeriod: nothing ends the wait, whatever wants the node. ", Tone.WARNING))
    arrived = {one.findings.key: one.recent_pods for one in members if one.findings is not None}
    total, on = sum(arrived.values()), sum(1 for count in arrived.values() if count)
    if bounded and total:
        noun = "this node" if len(arrived) == 1 else f"{count_text(on)} of these nodes"
        parts.append(
            (
                f"{count_text(total)} pods came to {noun} in the last hour: a node that receives pods does not drain.",
                Tone.WARNING,
            )
        )
    if not parts:
        ends = [one.blocker.until_ns for one in members if one.blocker.until_ns is not None]
        message = next((one.blocker.message for one in members if one.blocker.message), "")
        left = f" · over in {duration_text((min(ends) - now_ns) // NS_PER_SECOND)}" if ends else ""
        parts.append((f"{clean(message)}{left}", Tone.NORMAL))
    return tuple(parts)
