"""Summary of an answer: effect on pods, cost and drift."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from karptui.aws.money import LEAST_CHANGE, node_price_text, per_hour_change_text
from karptui.kube.units import count_text, counted, first_of, verb
from karptui.views.pods import lost_text
from karptui.views.row import Pieces, Tone
from karptui.views.sanitize import short_name
from karptui.whatif.difference import Difference
from karptui.whatif.difference_lines import ClaimLine, CommandLine, MoveLine, NextLines, PlaceKind, Unplaced
from karptui.whatif.run import Answer
from karptui.whatif.scenario import Replay

MOST_NODES: Final = 2
"""Maximum number of nodes named in a text."""
MOST_WEIGHTS: Final = 2
"""Maximum number of NodePools in a sentence about weights."""


def headline(answer: Answer, *, is_at_once: bool = False) -> Pieces:
    """Return the answer in complete sentences; empty if there is none."""
    difference = answer.difference
    if difference is None:
        return ()
    sentences = list(_sentences(answer, difference))
    if not sentences:  # the text about an edited weight explains it
        sentences = [*_weighed(difference), _nothing_changes(answer, difference, is_at_once=is_at_once)]
    else:
        sentences += _weighed(difference)
    if difference.mode is Replay.SCRATCH:
        sentences.insert(0, ("Simulated on an empty cluster:", Tone.MUTED))
    return tuple((f"{' ' if at else ''}{text}", tone) for at, (text, tone) in enumerate(sentences))


def headline_text(answer: Answer, *, is_at_once: bool = False) -> str:
    """Return the same without tones."""
    return "".join(text for text, _ in headline(answer, is_at_once=is_at_once))


def placements_text(answer: Answer) -> str:
    """Return pods that land elsewhere, and the cost; empty if none does."""
    difference = answer.difference
    if difference is None or difference.places_alike:
        return ""
    return " ".join(text for text, tone in _placed(answer, difference) if tone is not Tone.WARNING)


def _sentences(answer: Answer, difference: Difference) -> Iterator[tuple[str, Tone]]:
    if not answer.scenario.edits:
        yield from _unedited(difference)
        yield from _lost_pods(difference)
        return
    yield from _emptied(difference)
    if difference.mode is Replay.NEXT:
        yield from _next(difference)
    else:
        yield from _placed(answer, difference)
    yield from _lost_pods(difference)
    yield from _drifted(difference)
    yield from _blockers_text(answer, difference)


def _lost_pods(difference: Difference) -> Iterator[tuple[str, Tone]]:
    if difference.lost_pods:
        yield f"{lost_text(difference.lost_pods)}.", Tone.FAULT


def _nothing_changes(answer: Answer, difference: Difference, *, is_at_once: bool) -> tuple[str, Tone]:
    waiting = f": {_wait(difference.after.pending)}" if difference.after.pending else ""
    if answer.blockers_gained is None:
        # About as long as the final text, so that lines do not move once blockers are computed.
        return f"No change so far{waiting}.", Tone.STRONG
    return f"Nothing changes{' at once' if is_at_once else ''}{waiting}.", Tone.STRONG


# Without edits


def _unedited(difference: Difference) -> Iterator[tuple[str, Tone]]:
    match difference.mode:
        case Replay.NEXT:
            assert difference.next_after is not None
            yield f"Nothing is edited. {_next_text(difference.next_after)}.", Tone.STRONG
        case Replay.REMOVE:
            yield "No node is removed yet: a adds one, ctrl+t adds the marked nodes.", Tone.STRONG
        case Replay.SCRATCH:
            nodes = f"{counted(difference.after.nodes, 'node')} at {node_price_text(difference.after.price_per_hour)}/h"
            yield f"Nothing is edited: every workload pod would land on {nodes}.", Tone.STRONG
        case _:
            yield _as_it_is(difference), Tone.STRONG


def _as_it_is(diff: Difference) -> str:
    pods = {pod for claim in diff.claims for pod in claim.pods} | {pod for node in diff.nodes for pod in node.pods}
    waiting, placed = len(pods) + diff.after.pending, len(pods)
    if not waiting:
        return "Nothing is edited, and no pod is pending."
    if not placed:
        fits = "it fits nowhere" if waiting == 1 else "none is schedulable"
        return f"Nothing is edited: {counted(waiting, 'pod')} {verb(waiting, 'is', 'are')} pending, and {fits}."
    rest = f"; {_wait(diff.after.pending)}" if diff.after.pending else ""
    which = f"{counted(waiting, 'pending or displaced pod')}"
    return (
        f"Nothing is edited: {count_text(placed)} of {which} {verb(placed, 'fits', 'fit')}{_where(pods, diff)}{rest}."
    )


# Pods and dollars


def _placed(answer: Answer, difference: Difference) -> Iterator[tuple[str, Tone]]:
    price = _price(answer, difference)
    parts = list(_placements(difference))
    if not parts and (price or difference.before.nodes != difference.after.nodes):
        instead = f"{counted(difference.after.nodes, 'node')} instead of {count_text(difference.before.nodes)}"
        parts = [(instead if difference.before.nodes != difference.after.nodes else "The same nodes", Tone.STRONG)]
    for at, (text, tone) in enumerate(parts):
        is_last = at == len(parts) - 1
        yield f"{text}{(f': {price}' if price else '') if is_last else ''}.", tone
    if parts and difference.still_pending:
        yield f"{_wait(len(difference.still_pending))}.".capitalize(), Tone.WARNING


def _placements(difference: Difference) -> Iterator[tuple[str, Tone]]:
    for is_new in (False, True):
        lost = [unplaced for unplaced in difference.no_longer_fit if (unplaced.was is None) == is_new]
        if lost:
            yield _lost(lost, is_new=is_new), Tone.FAULT
    sorts = [
        ([line for line in difference.now_fit if (line.before.kind is PlaceKind.ABSENT) == is_new], is_new)
        for is_new in (False, True)
    ]
    for gained, is_new in sorted(sorts, key=lambda sort: -len(_pods(sort[0]))):
        if gained:
            pods = _pods(gained)
            form = verb(len(pods), "fits", "fit")
            yield f"{_those_of(gained, len(pods), is_new=is_new)} {form}{_where(pods, difference)}", Tone.STRONG
    if difference.moves:
        yield _moved(difference), Tone.STRONG


def _lost(lost: Sequence[Unplaced], *, is_new: bool) -> str:
    owners = {unplaced.owner for unplaced in lost}
    of = f" of {_short_owner(lost[0].owner)}" if len(owners) == 1 and lost[0].owner else ""
    reasons = Counter(unplaced.reason for unplaced in lost)
    reason, count = reasons.most_common(1)[0]
    most = f" ({count_text(count)} of them)" if len(reasons) > 1 else ""
    pods = counted(len(lost), "new pod" if is_new else "pod")
    form = verb(len(lost), "is unschedulable", "are unschedulable") if is_new else verb(
        len(lost), "becomes unschedulable", "become unschedulable"
    )  # fmt: skip
    return f"{pods}{of} {form}: {reason}{most}"


def _moved(difference: Difference) -> str:
    pods = _pods(difference.moves)
    those = _those_of(difference.moves, len(pods))
    before = {move.before.pool_name for move in difference.moves}
    after = {move.after.pool_name for move in difference.moves}
    if difference.mode is Replay.REMOVE:
        return f"{those} {verb(len(pods), 'moves', 'move')}{_where(pods, difference, 'to')}"
    land = verb(len(pods), "lands", "land")
    if len(before) == len(after) == 1 and before != after:
        return f"{those} {land} on {_pool(after.pop())} instead of {_pool(before.pop())}"
    return f"{those} {land} elsewhere{_where(pods, difference, ': on')}"


def replacements_text(replacements: Sequence[tuple[str, str]]) -> str:
    """Return the nodes launched by a command: ``m5.large in general``; empty if there are none.

    Args:
        replacements: NodePool and instance type of each; the type is empty if not yet chosen.
    """
    return ", ".join(f"{kind or 'a new node'} in {pool}" for pool, kind in replacements)


def _pool(name: str) -> str:
    return name or "nodes not managed by Karpenter"


def _pods(moves: Sequence[MoveLine]) -> set[str]:
    return {pod for move in moves for pod in move.pods}


def _those_of(moves: Sequence[MoveLine], count: int, *, is_new: bool = False) -> str:
    owners = {move.owner for move in moves}
    of = f" of {_short_owner(moves[0].owner)}" if len(owners) == 1 and moves[0].owner else ""
    return f"{counted(count, 'new pod' if is_new else 'pod')}{of}"


def _short_owner(owner: str) -> str:
    """Return ``namespace/name`` of ``Kind/namespace/name``."""
    return owner.partition("/")[2]


def _where(pods: Collection[str], difference: Difference, word: str = "on") -> str:
    """Return `` on 3 new r5a.8xlarge and 2 existing nodes``; empty if unknown."""
    pod_keys = frozenset(pods)
    claims = [claim for claim in difference.claims if not pod_keys.isdisjoint(claim.pods)]
    nodes = [node.node_name for node in difference.nodes if not pod_keys.isdisjoint(node.pods)]
    places = [*([_new_nodes(claims)] if claims else ()), *([_existing(nodes)] if nodes else ())]
    blank = "" if word.startswith(":") else " "
    return f"{blank}{word} {' and '.join(places)}" if places else ""


def _existing(nodes: Sequence[str]) -> str:
    if len(nodes) <= MOST_NODES:
        return " and ".join(map(short_name, nodes))
    return f"{count_text(len(nodes))} existing nodes"


def _new_nodes(claims: Sequence[ClaimLine]) -> str:
    nodes, of = counted(len(claims), "new node"), _of_pools(claim.pool_name for claim in claims)
    cheapest = {claim.cheapest.name for claim in claims if claim.cheapest is not None}
    if len(cheapest) != 1:
        return f"{nodes}{of}"
    name = cheapest.pop()
    if all(len({option.name for option in claim.types}) == 1 for claim in claims):
        return f"{count_text(len(claims))} new {name}{of}"
    return f"{nodes}{of}, {name} or more expensive"


def _of_pools(names: Iterable[str]) -> str:
    """Return `` of general``, `` (general 4, gpu 2)``: the NodePools of nodes."""
    pools = Counter(names).most_common(4)
    return f" of {pools[0][0]}" if len(pools) == 1 else f" ({', '.join(f'{name} {count}' for name, count in pools)})"


def _price(answer: Answer, difference: Difference) -> str:
    """Return ``+$5.42/h (+22%)``, with the maximum for unpriced nodes; empty if prices are off."""
    if not answer.has_prices:
        return ""
    change, most = difference.price_delta_per_hour, difference.at_most_delta_per_hour
    unknown = difference.after.unpriced - difference.before.unpriced
    share = difference.price_delta_share
    if abs(change) < LEAST_CHANGE and abs(most - change) < LEAST_CHANGE and not unknown:
        return "" if difference.before.nodes == difference.after.nodes else "the same $/h"
    if abs(most - change) >= LEAST_CHANGE:
        first = f"{per_hour_change_text(change)}, " if abs(change) >= LEAST_CHANGE else ""
        spot = f"{first}with spot of unknown price at most {per_hour_change_text(most)}"
        return f"{spot}{_of_unknown_price(difference.after.unbounded - difference.before.unbounded)}"
    percent = f" ({_percent(share)})" if share is not None and abs(change) >= LEAST_CHANGE else ""
    more = _of_unknown_price(unknown)
    if more and abs(change) < LEAST_CHANGE:
        return more.removeprefix(", ")
    return f"{per_hour_change_text(change)}{percent}{more}"


def _of_unknown_price(nodes: int) -> str:
    """Return the change in unpriced nodes, as a final clause."""
    if not nodes:
        return ""
    return f", {counted(abs(nodes), 'node')} of unknown price {'more' if nodes > 0 else 'fewer'}"


def _percent(share: float) -> str:
    return f"{share * 100:+,.0f}%" if abs(share) >= 0.0095 else f"{share * 100:+.1f}%"


# What else follows


def _drifted(difference: Difference) -> Iterator[tuple[str, Tone]]:
    if difference.drift_gained:
        of = _of_pools(line.pool_name for line in difference.drift_gained)
        yield f"{counted(len(difference.drift_gained), 'node')}{of} would drift.", Tone.WARNING
    if difference.drift_lost:
        count = len(difference.drift_lost)
        yield f"{counted(count, 'node')} would no longer be drifted.", Tone.GOOD


def _emptied(difference: Difference) -> Iterator[tuple[str, Tone]]:
    """Yield the NodePools that can no longer launch nodes, which come first."""
    if difference.without_types:
        yield (
            f"No instance type is left in {_names(difference.without_types)}: no node can be launched there.",
            Tone.FAULT,
        )


def _blockers_text(answer: Answer, difference: Difference) -> Iterator[tuple[str, Tone]]:
    gained, lost = len(answer.blockers_gained or ()), len(answer.blockers_lost or ())
    parts = [
        *([f"{counted(lost, 'blocker')} removed"] if lost else ()),
        *([f"{counted(gained, 'blocker')} added"] if gained else ()),
    ]
    if parts:
        yield f"{', '.join(parts)}.", Tone.WARNING if gained else Tone.GOOD
    if difference.budgets:
        pools = dict.fromkeys(budget.pool_name for budget in difference.budgets)
        yield f"Disruption budgets of {', '.join(list(pools)[:3])} change.", Tone.NORMAL


def _weighed(difference: Difference) -> Iterator[tuple[str, Tone]]:
    """Yield the order of NodePools whose weight is edited.

    Users often take weights for shares; if a NodePool is added, its placements are the answer instead.
    """
    if any(pool.is_new for pool in difference.pools):
        return
    for at, weight in enumerate(difference.weights[:MOST_WEIGHTS]):
        moves = [
            *([f"before {_names(weight.ahead_of)}"] if weight.ahead_of else ()),
            *([f"after {_names(weight.behind)}"] if weight.behind else ()),
        ]
        stands = f"is now tried {' and '.join(moves)}" if moves else "keeps its rank"
        is_plain = weight.is_usable or weight.pool_name in difference.without_types
        no_types = "" if is_plain else ", but none of its types is left"
        why = "" if at else ": weight is an order, not a share"
        yield f"{weight.pool_name} {stands}{no_types}{why}.", Tone.STRONG


def _names(names: Sequence[str]) -> str:
    if len(names) > MOST_NODES:
        return first_of(names, MOST_NODES)
    return " and ".join(names)


# The next disruption


def _next(difference: Difference) -> Iterator[tuple[str, Tone]]:
    before, after = difference.next_before, difference.next_after
    assert before is not None
    assert after is not None
    if before == after:
        if after.commands:
            yield f"Karpenter would do the same next: {_commands_text(after)}.", Tone.STRONG
        else:
            yield f"As before: {after.because}.", Tone.STRONG
        return
    yield f"{_next_text(after)}.", Tone.STRONG
    yield (
        f"Without the edits: {_commands_text(before) if before.commands else f'nothing, {before.because}'}.",
        Tone.MUTED,
    )


def _next_text(side: NextLines) -> str:
    if not side.commands:
        return f"Karpenter would do nothing next: {side.because}"
    return f"Next Karpenter would {_commands_text(side)}"


def _commands_text(side: NextLines) -> str:
    more = len(side.commands) - 1
    rest = f", and {counted(more, 'command')} more" if more else ""
    return f"{_command_text(side.commands[0])}{rest}"


def _command_text(line: CommandLine) -> str:
    nodes = " and ".join(map(short_name, line.nodes)) if len(line.nodes) <= MOST_NODES else f"{len(line.nodes)} nodes"
    counter = Counter(name for _, name in line.replacements)
    kinds = " and ".join(f"{count_text(count)} new {name or 'node'}" for name, count in counter.items())
    by = f" with {kinds}" if counter else ""
    saved = line.savings_per_hour
    saves = f", saving {node_price_text(saved)}/h" if saved is not None and saved >= LEAST_CHANGE else ""
    return f"{line.decision} {nodes}{by} ({line.method}){saves}"


# Parts


def _wait(count: int) -> str:
    return f"{counted(count, 'pod')} {verb(count, 'stays', 'stay')} pending"
