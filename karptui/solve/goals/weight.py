"""The weights that bring pods to a NodePool."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from karptui.disruption.owner import OwnerIndex
from karptui.errors import RequestError
from karptui.karpenter.nodepool import NodePool
from karptui.kube.pod import Pod
from karptui.kube.units import counted, verb
from karptui.provisioning.pool_order import usable_pools
from karptui.provisioning.reporter import Reporter
from karptui.solve.answer import FEWER_CHANGES, FEWER_LOSE, Criterion, Effort, Figures, Solved, Tried, cheaper, key_of
from karptui.solve.question import GoalQuestion, measure
from karptui.solve.search import Chosen, search_sets
from karptui.whatif.difference import difference
from karptui.whatif.difference_lines import PodPlace
from karptui.whatif.edits import AnyEdit, DeleteObject, EditError, ObjectRef, SetField
from karptui.whatif.edits.apply import apply
from karptui.whatif.outcome import ReplayOutcome
from karptui.whatif.replay import replay
from karptui.whatif.scenario import Replay

LEAST: Final = 1
HIGHEST: Final = 100
"""Bounds of spec.weight."""
MOST_POOLS: Final = 3
"""NodePools that are given another weight at once."""
MOST_LISTED: Final = 20_000
"""Sets of weights whose orders are listed."""


class _Move(msgspec.Struct, frozen=True):
    pool: NodePool
    weight: int

    @property
    def edit(self) -> AnyEdit:
        return SetField(ObjectRef("NodePool", self.pool.name), ("spec", "weight"), self.weight)

    @property
    def words(self) -> str:
        return f"NodePool {self.pool.name}: weight {self.weight}"


def find(question: GoalQuestion) -> Solved:
    """Return the answer to the goal."""
    most = question.count("tries")
    pool = question.pool("nodepool")
    pods, mode = _pods_to_move(question, question.text("pods"))
    asked = f"{counted(len(pods), 'pod')} of {question.text('pods')}"
    question.asked = f"the weights that move {asked} to NodePool {pool.name}"
    pod_keys = frozenset(pod.key for pod in pods)
    as_it_is = question.as_it_is(mode)
    now = _with_pods(question.now(mode), as_it_is, as_it_is, pod_keys, pool.name)
    if now.wanted == len(pod_keys):
        return question.settled(mode, now, f"{_all(len(pod_keys))} on {pool.name} without a change")
    pools = usable_pools(question.base.inventory.nodepools)
    because, placeless = _alone(question, pools, pool, pod_keys, mode)
    if placeless == len(pod_keys):
        effort = Effort(tried=0, all=0, how="only the NodePool without any other was tried")
        return question.answer(mode, now, (), (), effort, because=because)
    moves = list(_moves(pools, pool))
    question.to_try = most
    tried: list[Tried] = []
    orders = {_order(pools, ())}
    enough: list[int] = []

    def taken(sets: Iterable[Chosen]) -> Iterator[tuple[list[_Move], tuple[AnyEdit, ...]]]:
        for chosen in sets:
            picked = [moves[index] for index in chosen]
            orders.add(_order(pools, picked))
            yield picked, tuple(move.edit for move in picked)

    def values(sets: Iterable[Chosen]) -> Iterator[tuple[float, ...]]:
        arguments = mode, pod_keys, pool.name
        for picked, figures in question.asked_of_each(_figures_of_weights, arguments, taken(sets)):
            if figures is None:
                yield (float("inf"),)
                continue
            attempt = Tried(
                parts=tuple(move.words for move in picked),
                outcome=_outcome(figures, len(pod_keys), pool.name),
                edits=tuple(move.edit for move in picked),
                figures=figures,
                is_enough=figures.wanted == len(pod_keys) and not figures.lost,
            )
            tried.append(attempt)
            if attempt.is_enough:
                enough.append(len(picked))
            yield key_of(criteria)(attempt)

    def excludes(chosen: Chosen) -> bool:
        picked = [moves[index] for index in chosen]
        # Only the order of NodePools counts, and fewer changes win: neither need be tried twice.
        return _is_twice(picked) or (bool(enough) and len(chosen) > enough[0]) or _order(pools, picked) in orders

    weights = {node_pool.name: node_pool.weight for node_pool in pools}
    criteria = _criteria(len(pod_keys), weights, has_prices=question.has_prices)
    sets = search_sets(len(moves), MOST_POOLS, most, values, excludes, listed=MOST_LISTED)
    effort = Effort(
        tried=sets.tried,
        all=sets.all,
        how=f"orders of {counted(len(pools), 'NodePool')} from changed weights of up to {MOST_POOLS} of them, the "
        "fewest changes first",
    )
    solved = question.answer(mode, now, tried, criteria, effort)
    if solved.is_reached:
        return solved
    best = solved.best
    if best is not None and (best.figures.wanted or 0) <= (now.wanted or 0):
        return replace(solved, because=because, best=None, runner_up=None, others=())
    return replace(solved, because=because)


def _outcome(figures: Figures, pods: int, pool: str) -> str:
    landing = figures.wanted or 0
    text = f"{_all(pods)} on {pool}" if landing == pods else f"{landing:,} of {counted(pods, 'pod')} land on {pool}"
    moved = f", {_moves_more(0, figures.moved)}" if figures.moved else ""
    lost = f", {counted(len(figures.lost), 'pod')} {verb(len(figures.lost), 'becomes', 'become')} unschedulable"
    return f"{text}{moved}{lost if figures.lost else ''}"


def _pods_to_move(question: GoalQuestion, text: str) -> tuple[list[Pod], Replay]:
    """Return the wanted pods, and the replay that places them."""
    parts = text.split("/")
    scratch = question.as_it_is(Replay.SCRATCH).waiting
    owners = OwnerIndex(question.base.inventory.workloads)
    pods = [pod for pod in scratch if _is_asked(pod, parts, owners)]
    if not pods:
        raise RequestError(
            f"pods: no pod that Karpenter would place is {text!r:.100}; write namespace/name (* matches anything),"
            " or Kind/namespace/name of their owner"
        )
    waiting = {pod.key for pod in question.as_it_is(Replay.PENDING).waiting}
    return pods, Replay.PENDING if all(pod.key in waiting for pod in pods) else Replay.SCRATCH


def _is_asked(pod: Pod, parts: Sequence[str], owners: OwnerIndex) -> bool:
    if len(parts) == 3:
        owner = owners.of(pod)
        return owner is not None and [owner.kind, owner.namespace, owner.name] == list(parts)
    return len(parts) == 2 and fnmatchcase(pod.namespace, parts[0]) and fnmatchcase(pod.name, parts[1])


def _figures_of_weights(common: Any, edits: Any, reporter: Reporter) -> Figures | None:
    base, (mode, pod_keys, pool) = common
    try:
        figures, outcome = measure(base, edits, mode, reporter)
    except EditError:
        return None
    return _with_pods(figures, outcome, replay(base, mode, reporter), pod_keys, pool)


def _with_pods(
    figures: Figures, outcome: ReplayOutcome, as_it_is: ReplayOutcome, pod_keys: frozenset[str], pool: str
) -> Figures:
    places, before = outcome.places, as_it_is.places
    return replace(
        figures,
        wanted=sum(key in places and places[key].pool_name == pool for key in pod_keys),
        moved=sum(_pool(place) != _pool(before.get(key)) for key, place in places.items() if key not in pod_keys),
    )


def _pool(place: PodPlace | None) -> str:
    return place.pool_name if place is not None else ""


def _moves(pools: Sequence[NodePool], pool: NodePool) -> Iterator[_Move]:
    """Yield a weight for each place in the order that one NodePool can take: first of the wanted one, forwards."""
    rest = [node_pool for node_pool in pools if node_pool is not pool]
    for other in (pool, *rest):
        slots = {each.weight + step for each in pools if each is not other for step in (1, -1)} | {HIGHEST}
        usable = [slot for slot in slots if LEAST <= slot <= HIGHEST and slot != other.weight]
        yield from (
            _Move(other, slot)
            for slot in sorted(usable, key=lambda slot, at=other.weight: (abs(slot - at), slot))  # type: ignore[misc]
        )


def _is_twice(moves: Sequence[_Move]) -> bool:
    return len({move.pool.name for move in moves}) < len(moves)


def _order(pools: Sequence[NodePool], moves: Sequence[_Move]) -> tuple[str, ...]:
    weights = {move.pool.name: move.weight for move in moves}
    weighed = usable_pools(replace(pool, weight=weights.get(pool.name, pool.weight)) for pool in pools)
    return tuple(pool.name for pool in weighed)


def _criteria(pods: int, weights: dict[str, int], *, has_prices: bool) -> tuple[Criterion, ...]:
    return (
        Criterion(lambda attempt: pods - (attempt.figures.wanted or 0), _fewer),
        FEWER_LOSE,
        FEWER_CHANGES,
        Criterion(lambda attempt: attempt.figures.moved or 0, _moves_more),
        cheaper(has_prices=has_prices),
        Criterion(
            lambda attempt: sum(
                abs(edit.value - weights[edit.object.name]) for edit in attempt.edits if isinstance(edit, SetField)
            ),
            lambda ours, theirs: f"the same, with weights {int(theirs - ours)} further from the current weights",
        ),
    )


def _fewer(ours: float, theirs: float) -> str:
    count = int(theirs - ours)
    return f"{counted(count, 'pod')} fewer {verb(count, 'lands', 'land')} on it"


def _moves_more(ours: float, theirs: float) -> str:
    count = int(theirs - ours)
    more = " more" if ours else ""
    return f"{count:,}{more} other {verb(count, 'pod moves', 'pods move')} to another NodePool"


def _all(count: int) -> str:
    return "the pod lands" if count == 1 else f"all {count:,} pods land"


def _alone(
    question: GoalQuestion, pools: Sequence[NodePool], pool: NodePool, pod_keys: frozenset[str], mode: Replay
) -> tuple[str, int]:
    """Return why pods do not use a NodePool that is the only one left, and the number of unschedulable pods."""
    alone = tuple(DeleteObject(ObjectRef("NodePool", node_pool.name)) for node_pool in pools if node_pool is not pool)
    edited = apply(question.base, alone)
    changes = difference(question.base, edited, mode, question.report)
    left = [unplaced for unplaced in (*changes.no_longer_fit, *changes.still_pending) if unplaced.pod_key in pod_keys]
    if not left:
        where = "some fit on existing nodes, or its limits are used up"
        return f"as the only NodePool, {pool.name} takes them: {where}", 0
    count = f"{counted(len(left), 'pod')} {verb(len(left), 'is', 'are')} unschedulable"
    return f"with {pool.name} as the only NodePool {count}, such as {left[0].pod_key}: {left[0].reason}", len(left)
