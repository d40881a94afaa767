"""A NodePool in sentences: its place in the order, what stands in its way, what it shares, what its nodes carry."""

from __future__ import annotations

from collections.abc import Mapping

from karptui.decode.kinds import Kind
from karptui.kube.units import count_text, counted
from karptui.provisioning.overlap import PoolOverlap
from karptui.provisioning.type_verdict import Filter
from karptui.session.pools import Neighbour, PoolRow
from karptui.session.status import plural
from karptui.views.pools.limits import limit_line
from karptui.views.pools.readiness import ready_lines
from karptui.views.pools.words import carries_line
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.types.columns import why_text
from karptui.views.types.summary import finding_lines

NAMED = 3
_STEPS = tuple(Filter)


def pool_story(row: PoolRow) -> tuple[Pieces, ...]:
    """Return a row in sentences, what is wrong before what is good to know."""
    lines = (
        order_line(row),
        *ready_lines(row),
        _limits(row),
        types_line(row),
        *weight_lines(row),
        overlap_line(row),
        carries_line(row),
        *_facts(row),
    )
    return tuple(line for line in lines if line)


def _facts(row: PoolRow) -> tuple[Pieces, ...]:
    """Return the findings without what to do, which the detail has."""
    return tuple(line[:2] for line in finding_lines(row.types))


def _limits(row: PoolRow) -> Pieces:
    hidden = [kind for kind in (Kind.NODE, Kind.NODECLAIM) if row.hides(kind)]
    if hidden and row.limits:
        named = " and ".join(map(plural, hidden))
        return (("limits: ", Tone.MUTED), (f"what is left is not known: {named} may not be listed", Tone.WARNING))
    return limit_line(row.types, row.limits)


def order_line(row: PoolRow) -> Pieces:
    """Return its place in the order, and that a weight is an order."""
    head = (f"{clean(row.name)}  ", Tone.STRONG)
    why_not = row.types.found.why_not or row.types.problem
    if row.rank is None:
        return (head, (f"takes no part: {clean(why_not)}", Tone.WARNING))
    share = row.share_percent
    held = f" · {share:.0f}% of the nodes now" if share is not None else ""
    said = f"tried {ordinal(row.rank)}: {_order(row)}{held}; running nodes never move for a weight"
    problem: Pieces = ((f" · {clean(why_not)}", Tone.FAULT),) if why_not else ()
    return (head, (said, Tone.NORMAL), *problem)


def _order(row: PoolRow) -> str:
    weight = "weight is an order, not a share"
    if row.after and row.before:
        return f"{weight}, so it sees what {clean(row.before)} does not take, {clean(row.after)} what it leaves"
    if row.after:
        return f"{weight}, so it gets every pod it can hold before {clean(row.after)} sees one"
    if row.before:
        return f"{weight}, so it sees only what {clean(row.before)} and those before leave"
    return "alone, so its weight changes nothing"


def ordinal(number: int) -> str:
    """Return ``1st``, ``2nd``, ``11th``."""
    tail = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{tail}"


def types_line(row: PoolRow) -> Pieces:
    """Return why no type is left; nothing where one is."""
    entry = row.types
    if entry.left or entry.problem or any(use.is_closed for use in row.limits):
        return ()
    if not entry.wanted:
        first = next(
            (one.reasons for one in entry.found.counts if one.filter is Filter.REQUIREMENTS and one.reasons), ()
        )
        why = f": {first[0][0]}" if first else ""
        return ((f"✘ its requirements allow no type{clean(why)}", Tone.FAULT),)
    last = max(entry.wanted, key=lambda one: _STEPS.index(one.verdict.removed_by or Filter.LIMITS))
    head = ("▲ none of its types is left for the pods that wait: ", Tone.WARNING)
    return (
        head if row.usable else ("✘ no type is left: ", Tone.FAULT),
        (f"{clean(last.name)} comes furthest, then {why_text(last)}", Tone.NORMAL),
    )


def weight_lines(row: PoolRow) -> tuple[Pieces, ...]:
    """Return what there is to know of equal and of near weights."""
    lines: list[Pieces] = []
    if row.ties:
        names = _names(row.ties)
        lines.append(
            ((f"= same weight as {names}: the name that sorts last goes first; nothing is shared out", Tone.WARNING),)
        )
    if row.near:
        others = ", ".join(f"{clean(one.name)} {one.weight}" for one in row.near[:NAMED])
        said = f"≈ weight {row.pool.weight} is within 10 of {others}: a strict order all the same, as 1 and 100 are"
        lines.append(((said, Tone.NORMAL),))
    return tuple(lines)


def _names(neighbours: tuple[Neighbour, ...]) -> str:
    more = f" and {len(neighbours) - NAMED} more" if len(neighbours) > NAMED else ""
    return ", ".join(clean(one.name) for one in neighbours[:NAMED]) + more


def overlap_line(row: PoolRow) -> Pieces:
    """Return how many pods it could take, which of them others could take too, and where they go."""
    found = row.overlap
    if found is None or not found.matching:
        return (("no pod of the cluster matches it", Tone.MUTED),) if found is not None and row.rank is not None else ()
    said = f"matches {counted(found.matching, 'pod')}"
    if found.shared:
        amount = "all" if found.shared == found.matching else count_text(found.shared)
        said += f", {amount} of them others match too ({_by_name(found.shared_with)})"
    pieces: list[tuple[str, Tone]] = [(said, Tone.NORMAL)]
    if found.lost_to:
        pieces.append((f"; {_by_name(found.lost_to)} would take theirs first", Tone.WARNING))
    pieces.append((f"; {_from_here(found)}", Tone.GOOD if found.goes_here else Tone.MUTED))
    return tuple(pieces)


def _from_here(found: PoolOverlap) -> str:
    """Return for how many of its pods a new node would come from it."""
    if found.matching == 1:
        return f"a new node for it {'comes' if found.goes_here else 'does not come'} from here"
    amount = (
        count_text(found.goes_here) if 0 < found.goes_here < found.matching else "all" if found.goes_here else "none"
    )
    return f"new nodes for {amount} of them come from here"


def _by_name(counts: Mapping[str, int]) -> str:
    named = [f"{clean(name)} {count_text(count)}" for name, count in list(counts.items())[:NAMED]]
    more = f" and {len(counts) - NAMED} more" if len(counts) > NAMED else ""
    return ", ".join(named) + more
