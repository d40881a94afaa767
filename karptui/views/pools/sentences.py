"""Texts about a NodePool: limits, readiness, policy, budget, DaemonSets, order and shares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from karptui.decode.kinds import Kind
from karptui.disruption.budgets import UNLIMITED, Reason
from karptui.karpenter.nodepool import BALANCED, WHEN_EMPTY, WHEN_EMPTY_OR_UNDERUTILIZED
from karptui.kube.objects import Condition
from karptui.kube.quantity import NANO
from karptui.kube.resources import EPHEMERAL_STORAGE, MEMORY, NODES
from karptui.kube.units import amount_text, count_text, counted, first_of, span_text
from karptui.provisioning.overlap import PoolOverlap
from karptui.provisioning.pool_types import Filter
from karptui.session.nodeclasses import Absence
from karptui.session.pools import NODE_KINDS, PoolLimit, PoolRow
from karptui.session.status import plural
from karptui.session.types import PoolEntry
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import clean
from karptui.views.types.columns import requests_text, why_text
from karptui.views.types.pools import carries, finding_lines
from karptui.views.usage import shortages_text


def named_amount(resource: str, nano: int) -> str:
    """Return an amount with its resource: ``12 cpu``, ``318Gi``, ``2 nodes``, ``4 nvidia.com/gpu``."""
    text = amount_text(resource, nano)
    if resource in (MEMORY, EPHEMERAL_STORAGE):
        return text
    return counted(nano // NANO, "node") if resource == NODES else f"{text} {clean(resource)}"


def limit_sentence(use: PoolLimit) -> tuple[str, Tone]:
    """Return the remaining part of a limit: ``12 cpu left, the smallest allowed type needs 2000m``."""
    limit = named_amount(use.resource, use.limit)
    if use.left < 0:
        return f"{named_amount(use.resource, -use.left)} over the limit of {limit}: no new node", Tone.FAULT
    left = f"{named_amount(use.resource, use.left)} left"
    named = f" ({clean(use.smallest_type)})" if use.smallest_type else ""
    if use.smallest is None:
        return f"{left} of {limit}", Tone.MUTED
    if use.resource == NODES:
        return (f"{left} of {limit}: no new node", Tone.FAULT) if use.is_closed else (f"{left} of {limit}", _tone(use))
    if not use.smallest:
        return f"{left} of {limit}; some allowed types need none", _tone(use)
    needs = amount_text(use.resource, use.smallest)
    if use.is_closed:
        return f"no new node: smallest allowed type needs {needs}, {left}{named}", Tone.FAULT
    return f"{left}, the smallest allowed type needs {needs}{named}", _tone(use)


def _tone(use: PoolLimit) -> Tone:
    return Tone.WARNING if use.is_nearly_used else Tone.NORMAL


def limit_line(entry: PoolEntry, uses: Sequence[PoolLimit]) -> Pieces:
    """Return all limits of a NodePool in one line; nothing without limits."""
    pieces: list[tuple[str, Tone]] = []
    for use in sorted(uses, key=lambda limit: not limit.is_closed):
        pieces += [(" · ", Tone.MUTED), limit_sentence(use)]
    if not pieces:
        return ()
    out, allowed = entry.removed_by[Filter.LIMITS], entry.allowed
    if 0 < out < allowed and not any(use.is_closed for use in uses):
        verb = "is" if out == 1 else "are"
        too_large = f" · {count_text(out)} of {count_text(allowed)} types {verb} too large for the rest of the limit"
        pieces.append((too_large, Tone.WARNING))
    return (("limits: ", Tone.MUTED), *pieces[1:])


def failing(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """Return the conditions that are not True, the sum of them (``Ready``) last."""
    return tuple(sorted((c for c in conditions if c.status != "True"), key=lambda condition: condition.type == "Ready"))


def is_ready(row: PoolRow) -> bool:
    """Whether both are ready, as far as is known."""
    return row.pool.is_ready and row.is_class_ready


def short_reason(row: PoolRow) -> str:
    """Return the failing condition in few words; empty if ready."""
    if row.pool.is_deleting:
        return "deleting"
    if not row.pool.is_ready:
        bad = failing(_pool_conditions(row))
        return bad[0].type if bad else "no condition"
    if not row.is_class_ready:
        bad = failing(row.class_conditions or ())
        return f"class {bad[0].type}" if bad else "class"
    return ""


def _pool_conditions(row: PoolRow) -> tuple[Condition, ...]:
    return tuple(c for c in row.pool.conditions if c.type in ("Ready", "NodeClassReady", "ValidationSucceeded"))


def ready_lines(row: PoolRow) -> tuple[Pieces, ...]:
    """Return a line for each condition that fails, of the NodePool and of its NodeClass."""
    lines: list[Pieces] = []
    ref = row.pool.node_class_ref
    if not row.pool.is_ready:
        bad = failing(_pool_conditions(row))
        lines += [_line("NodePool", condition) for condition in bad if condition.type != "Ready" or len(bad) == 1]
        if not bad:
            lines.append(
                ((f"✘ NodePool {clean(row.name)} reports no Ready condition: it launches nothing", Tone.FAULT),)
            )
    if not row.is_class_ready:
        bad = failing(row.class_conditions or ())
        lines += [_line(f"{ref.kind} {ref.name}", c) for c in bad if c.type != "Ready" or len(bad) == 1]
    if row.class_absence is not None and row.class_absence is not Absence.ON_THE_WAY:
        is_gone = row.class_absence is Absence.GONE
        text = f"{'✘' if is_gone else '▲'} {clean(ref.kind)} {clean(ref.name)} {row.class_absence}"
        lines.append(((text, absence_tone(row.class_absence)),))
    return tuple(lines)


def absence_tone(absence: Absence) -> Tone:
    """Return the tone for an unknown NodeClass."""
    match absence:
        case Absence.GONE:
            return Tone.FAULT
        case Absence.ON_THE_WAY:
            return Tone.MUTED
        case Absence.UNREAD | Absence.UNKNOWN:
            return Tone.WARNING


def _line(what: str, condition: Condition) -> Pieces:
    reason = f": {condition.reason}" if condition.reason and condition.reason != condition.type else ""
    message = f": {condition.message}" if condition.message else ""
    text = clean(f"{what}: {condition.type} is {condition.status}{reason}")
    return (("✘ ", Tone.FAULT), (text, Tone.FAULT), (clean(message), Tone.NORMAL))


_POLICIES: Final = {
    WHEN_EMPTY: ("Empty", "Empty"),
    WHEN_EMPTY_OR_UNDERUTILIZED: ("Underutilized", "Underutil"),
    BALANCED: ("Balanced", "Balanced"),
}
_NAMED: Final = 3


def policy_text(row: PoolRow, *, is_short: bool = False) -> str:
    """Return the consolidation policy and delay: ``Underutilized 30s``; ``never`` if off."""
    wait_ns = row.pool.consolidate_after_ns
    if wait_ns is None:
        return "never"
    policy = row.pool.consolidation_policy
    name = _POLICIES.get(policy, (clean(policy), clean(policy)))[is_short]
    return f"{name} {span_text(wait_ns)}"


def budget_left(row: PoolRow) -> dict[Reason, int]:
    """Return the number of nodes that may be disrupted now by reason; empty if unknown."""
    if row.budgets is None:
        return {}
    return {state.reason: UNLIMITED if state.allowed >= UNLIMITED else state.left for state in row.budgets.states}


def budget_text(row: PoolRow, *, is_short: bool = False) -> str:
    """Return the same in a few characters: ``3 left``, ``0–2 left``, ``any``; without ``left`` if ``is_short``."""
    left = sorted(set(budget_left(row).values()))
    if not left:
        return ""
    texts = ["any" if count >= UNLIMITED else count_text(count) for count in (left[0], left[-1])]
    if texts == ["any", "any"]:
        return "any"
    return f"{'–'.join(dict.fromkeys(texts))}{'' if is_short else ' left'}"


def carries_line(row: PoolRow) -> Pieces:
    """Return the DaemonSet requests of a new node, and the types they exclude."""
    if not carries(row.types) or row.types.problem or row.hides(Kind.DAEMONSET):
        return ()
    heaviest = row.types.heaviest
    if heaviest is None or not heaviest.daemon_pods:
        return (("a new node runs no DaemonSets", Tone.MUTED),)
    count = heaviest.daemon_pods
    noun = f"DaemonSet pod{'s' * (count != 1)}"
    amounts = requests_text(heaviest.daemons, " / ")
    most = "up to " if len({carried.daemon_pods for carried in row.types.carries}) > 1 else ""
    text = f"a new node carries {most}{count} {noun} = {amounts} / {count} slot{'s' * (count != 1)}"
    return ((text, Tone.DAEMON), *_excluded(row))


def _excluded(row: PoolRow) -> Pieces:
    out, full = row.types.crowded, row.types.without_slot
    pieces: list[tuple[str, Tone]] = []
    if out:
        named = first_of([f"{clean(name)} ({shortages_text((short,))})" for name, short in out], _NAMED)
        pieces.append((f" · they rule out {counted(len(out), 'type')}: {named}", Tone.WARNING))
    if full:
        pieces.append((f" · {count_text(full)} types have no pod slot left after them", Tone.WARNING))
    return tuple(pieces)


def pool_sentences(row: PoolRow) -> tuple[Pieces, ...]:
    """Return the lines about a NodePool, problems first."""
    lines = (
        order_line(row),
        *ready_lines(row),
        _limits(row),
        types_line(row),
        *weight_lines(row),
        overlap_line(row),
        carries_line(row),
        *(line[:2] for line in finding_lines(row.types)),
    )
    return tuple(line for line in lines if line)


def _limits(row: PoolRow) -> Pieces:
    hidden = [kind for kind in NODE_KINDS if row.hides(kind)]
    if hidden and row.limits:
        named = " and ".join(map(plural, hidden))
        return (
            ("limits: ", Tone.MUTED),
            (f"the rest of its limits is unknown: {named} may not be listed", Tone.WARNING),
        )
    return limit_line(row.types, row.limits)


def order_line(row: PoolRow) -> Pieces:
    """Return its place in the order, and that a weight is an order."""
    head = (f"{clean(row.name)}  ", Tone.STRONG)
    why_not = row.types.why_not or row.types.problem
    if row.rank is None:
        return (head, (f"is excluded: {clean(why_not)}", Tone.WARNING))
    share = row.share_percent
    held = f" · {share:.0f}% of the nodes now" if share is not None else ""
    text = f"tried {ordinal(row.rank)}: {_order(row)}{held}; weights never move running nodes"
    problem: Pieces = ((f" · {clean(why_not)}", Tone.FAULT),) if why_not else ()
    return (head, (text, Tone.NORMAL), *problem)


def _order(row: PoolRow) -> str:
    weight = "weight is an order, not a share"
    if row.after and row.before:
        return f"{weight}, so it gets the pods that do not fit {clean(row.before)}; {clean(row.after)} gets the rest"
    if row.after:
        return f"{weight}, so every pod that fits lands here before {clean(row.after)} is tried"
    if row.before:
        return f"{weight}, so it gets only pods that fit neither {clean(row.before)} nor any pool before it"
    return "alone, so its weight changes nothing"


def ordinal(number: int) -> str:
    """Return ``1st``, ``2nd``, ``11th``."""
    tail = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{tail}"


def types_line(row: PoolRow) -> Pieces:
    """Return the reason why no type is left; empty if some are."""
    entry = row.types
    if entry.left or entry.problem or any(use.is_closed for use in row.limits):
        return ()
    last = entry.furthest
    if last is None and entry.unlisted:
        return ((f"? {clean(entry.unlisted)}: its launches are unknown", Tone.WARNING),)
    if last is None:
        first = next((c.reasons for c in entry.counts if c.filter is Filter.REQUIREMENTS and c.reasons), ())
        why = f": {first[0][0]}" if first else ""
        return ((f"✘ its requirements allow no type{clean(why)}", Tone.FAULT),)
    head = ("▲ none of its types fits the pending pods: ", Tone.WARNING)
    return (
        head if row.usable else ("✘ no type is left: ", Tone.FAULT),
        (f"{clean(last.name)} is the closest: {why_text(last)}", Tone.NORMAL),
    )


def weight_lines(row: PoolRow) -> tuple[Pieces, ...]:
    """Return notes about equal and near weights."""
    lines: list[Pieces] = []
    if row.ties:
        names = clean(first_of([tie.name for tie in row.ties], _NAMED))
        lines.append(
            (
                (
                    f"= same weight as {names}: the name that sorts last is tried first; pods are not shared out",
                    Tone.WARNING,
                ),
            )
        )
    if row.near:
        others = ", ".join(f"{clean(neighbour.name)} {neighbour.weight}" for neighbour in row.near[:_NAMED])
        text = f"≈ {row.pool.weight} is within 10 of {others}: still a strict order"
        lines.append(((text, Tone.NORMAL),))
    return tuple(lines)


def overlap_line(row: PoolRow) -> Pieces:
    """Return the number of matching pods, how many other NodePools match too, and where they land."""
    overlap = row.overlap
    if overlap is None or (not overlap.matching and row.rank is None):
        return ()
    if not overlap.matching:
        none = "no pod of the cluster matches it" if row.types.allowed else "no pod fits: it has no instance type"
        return ((none, Tone.MUTED),)
    text = f"matches {counted(overlap.matching, 'pod')}"
    if overlap.shared:
        amount = "all" if overlap.shared == overlap.matching else count_text(overlap.shared)
        text += f", {amount} of which also match others ({_by_name(overlap.shared_with)})"
    pieces: list[tuple[str, Tone]] = [(text, Tone.NORMAL)]
    if overlap.lost_to:
        pieces.append((f"; {_by_name(overlap.lost_to)} would get them first", Tone.WARNING))
    pieces.append((f"; {_from_here(overlap)}", Tone.GOOD if overlap.goes_here else Tone.MUTED))
    return tuple(pieces)


def _from_here(overlap: PoolOverlap) -> str:
    """Return the number of its pods that would launch a node from it."""
    if overlap.matching == 1:
        return f"its new node would {'' if overlap.goes_here else 'not '}come from this pool"
    amount = (
        count_text(overlap.goes_here)
        if 0 < overlap.goes_here < overlap.matching
        else "all"
        if overlap.goes_here
        else "none"
    )
    return f"new nodes for {amount} of them would come from this pool"


def _by_name(counts: Mapping[str, int]) -> str:
    return first_of([f"{clean(name)} {count_text(count)}" for name, count in counts.items()], _NAMED)
