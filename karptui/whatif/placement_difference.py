"""Places of pods before and after, and why pods are unschedulable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from msgspec.structs import replace

from karptui.aws.prices import LIST_PRICES, NodePrices, settings_of
from karptui.disruption.no_place import NO_POOLS, NoPlace, PoolMiss, reason_of
from karptui.disruption.owner import OwnerIndex
from karptui.disruption.simulation import no_place
from karptui.karpenter.labels import NODEPOOL
from karptui.kube.group import group_by
from karptui.kube.pod import Pod
from karptui.provisioning.kube_scheduler import is_kube_scheduled
from karptui.provisioning.rejection import PodError
from karptui.provisioning.solution import NewClaim
from karptui.provisioning.waiting_pods import IgnoredPod, problem_in_short
from karptui.whatif.difference_lines import (
    ABSENT,
    NOWHERE,
    ClaimLine,
    ClaimTypes,
    MoveLine,
    NodeLine,
    PlaceKind,
    PodPlace,
    TypeOption,
    Unplaced,
)
from karptui.whatif.outcome import ReplayOutcome, cost_of_option

_PASSED_OVER: Final = "Karpenter ignores it"
_NO_NODE: Final = f"no existing node accepts it, and {NO_POOLS}"
_OTHER_SCHEDULER: Final = "its scheduler {} is not modelled, and " + NO_POOLS
_KEEPS_AWAY: Final = "its own rules exclude all NodePools, so Karpenter silently ignores it"
MOST_EXPLAINED: Final = 16
"""Kinds of pods that are explained with numbers; each takes some milliseconds."""


def passed_over_text(ignored: IgnoredPod) -> str:
    """Return a short reason why Karpenter skips a pod."""
    return _KEEPS_AWAY if ignored.is_silent else f"{_PASSED_OVER}: {'; '.join(map(problem_in_short, ignored.problems))}"


class Reasons:
    """Finds reasons for the pods of one replay; pods of one template that fail alike share one."""

    def __init__(self, outcome: ReplayOutcome) -> None:
        self._outcome = outcome
        self._reasons: dict[tuple[object, ...], tuple[str, str]] = {}
        self._ignored = {pod.pod.uid: pod for pod in outcome.prepared.ignored}

    def of(self, pod: Pod) -> tuple[str, str]:
        """Return the reason that a pod is unschedulable, and the gate that excluded it, if any."""
        if (ignored := self._ignored.get(pod.uid)) is not None:
            return passed_over_text(ignored), ""
        if (node := self._outcome.refused.get(pod.key)) is not None:
            return reason_of(NoPlace(pod.key, uninitialized_node=node))
        error = self.error(pod)
        if error is None:
            if not is_kube_scheduled(pod):
                return _OTHER_SCHEDULER.format(pod.template.scheduler_name), ""
            return _NO_NODE, ""
        signature = (pod.template, tuple((pool, type(rejection)) for pool, rejection in error.rejections))
        result = self._reasons.get(signature)
        if result is None:
            result = self._reasons[signature] = self._find(pod, error)
        return result

    def remark(self, pod: Pod) -> str:
        """Return Karpenter's message about a skipped pod."""
        ignored = self._ignored.get(pod.uid)
        return "; ".join(ignored.problems) if ignored is not None else ""

    def error(self, pod: Pod) -> PodError | None:
        """Return the reason why each NodePool excludes a pod."""
        solution = self._outcome.solution
        return None if solution is None else solution.errors.get(pod.key)

    def _find(self, pod: Pod, error: PodError) -> tuple[str, str]:
        solution = self._outcome.solution
        if solution is not None and len(self._reasons) < MOST_EXPLAINED:
            return reason_of(no_place(solution, pod))
        misses = tuple(PoolMiss(pool, str(rejection.gate)) for pool, rejection in error.rejections)
        return reason_of(NoPlace(pod.key, pools=misses))


_Options = tuple[TypeOption, ...]


class Shift(NamedTuple):
    """A pod and its places on both sides."""

    pod: Pod
    before: PodPlace
    after: PodPlace


# Claims and nodes


def claim_lines(before: ReplayOutcome, after: ReplayOutcome) -> tuple[tuple[ClaimLine, ...], tuple[ClaimLine, ...]]:
    """Return the new nodes of the edited side, changed ones first, and those only on the base side."""
    types = after.claim_types
    old = [(_signature(claim, types), claim) for claim in before.claims]
    new = [(_signature(claim, types), claim) for claim in after.claims]
    left = Counter(signature for signature, _ in old)
    prices, paid = after.prices, _PaidTypes(types, after.prices)
    added = []
    for signature, claim in new:
        is_same = left[signature] > 0
        left[signature] -= is_same
        added.append(_claim_line(claim, paid, prices, is_changed=not is_same))
    gone = []
    for signature, claim in old:
        if left[signature] > 0:
            left[signature] -= 1
            gone.append(_claim_line(claim, paid, prices, is_changed=True))
    added.sort(key=lambda line: (not line.is_changed, line.pool_name, line.pods))
    gone.sort(key=lambda line: (line.pool_name, line.pods))
    return tuple(added), tuple(gone)


class _PaidTypes:
    """Types of claims in dollars that are paid; claims with the same types share them."""

    def __init__(self, types: ClaimTypes, prices: NodePrices | None) -> None:
        self.listed = types
        self._settings = settings_of(prices)
        self._paid: dict[int, tuple[_Options, _Options]] = {}
        """As listed and as paid, by identity of the first: equal lists of types are one object."""

    def of(self, claim: NewClaim) -> _Options:
        options = self.listed.of(claim)
        if self._settings == LIST_PRICES:
            return options
        cached = self._paid.get(id(options))
        if cached is None:
            paid = tuple(replace(o, price_per_hour=self._settings.paid(o.price_per_hour)) for o in options)
            cached = self._paid[id(options)] = (options, paid)
        return cached[1]


def _claim_line(claim: NewClaim, types: _PaidTypes, prices: NodePrices | None, *, is_changed: bool) -> ClaimLine:
    cost = cost_of_option(prices, types.listed.first(claim))
    return ClaimLine(
        pool_name=claim.nodepool_name,
        types=types.of(claim),
        pods=tuple(sorted([pod.key for pod in claim.pods])),
        requests=tuple([(name, str(amount)) for name, amount in sorted(claim.requests.items())]),
        price_per_hour=cost.per_hour,
        is_changed=is_changed,
        at_most_per_hour=cost.at_most_per_hour,
    )


def _signature(claim: NewClaim, types: ClaimTypes) -> tuple[object, ...]:
    """Return the equivalence key of a claim: NodePool, types and pods, with pods of one template as equals."""
    return claim.nodepool_name, types.number(claim), frozenset(Counter(map(_kind_of, claim.pods)).items())


def node_lines(before: ReplayOutcome, after: ReplayOutcome) -> tuple[NodeLine, ...]:
    """Return the nodes that exist and receive pods on the edited side, those first that receive others than before."""
    if after.solution is None:
        return ()
    old = {node.state.name: node.pods for node in before.nodes}
    lines = [
        NodeLine(
            node_name=node.state.name,
            pool_name=node.state.labels.get(NODEPOOL, ""),
            pods=tuple(sorted(pod.key for pod in node.pods)),
            is_changed=Counter(map(_kind_of, node.pods)) != Counter(map(_kind_of, old.get(node.state.name, ()))),
        )
        for node in after.nodes
    ]
    return tuple(sorted(lines, key=lambda line: (not line.is_changed, line.node_name)))


# Pods


def move_lines(after: ReplayOutcome, shifts: Iterable[Shift]) -> tuple[tuple[MoveLine, ...], tuple[MoveLine, ...]]:
    """Return the pods that move, and the pods that become schedulable."""
    owners = OwnerIndex(after.prepared.inventory.workloads)
    moves: dict[tuple[str, PodPlace, PodPlace], list[str]] = {}
    gains: dict[tuple[str, PodPlace, PodPlace], list[str]] = {}
    for shift in shifts:
        if shift.after in (NOWHERE, ABSENT):
            continue
        is_gain = shift.before in (NOWHERE, ABSENT)
        owner = owners.of(shift.pod)
        key = ("" if owner is None else str(owner), shift.before, shift.after)
        (gains if is_gain else moves).setdefault(key, []).append(shift.pod.key)
    return _folded(moves), _folded(gains)


def unplaced_lines(after: ReplayOutcome, shifts: Iterable[Shift]) -> tuple[tuple[Unplaced, ...], tuple[Unplaced, ...]]:
    """Return the pods that become unschedulable, including new pods, and the pods that stay so."""
    if after.solution is None:
        return (), ()
    owners = OwnerIndex(after.prepared.inventory.workloads)
    reasons = Reasons(after)
    lost = {shift.pod.key: shift.before for shift in shifts if shift.after is NOWHERE}
    gone: list[Unplaced] = []
    still: list[Unplaced] = []
    for pod in sorted(after.unplaced, key=lambda pod: pod.key):
        was = lost.get(pod.key, NOWHERE)
        owner = owners.of(pod)
        reason, gate = reasons.of(pod)
        (still if was is NOWHERE else gone).append(
            Unplaced(
                pod_key=pod.key,
                owner="" if owner is None else str(owner),
                reason=reason,
                gate=gate,
                was=None if was is ABSENT else was,
                error=reasons.error(pod),
                remark=reasons.remark(pod),
            )
        )
    return tuple(gone), tuple(still)


def _folded(groups: Mapping[tuple[str, PodPlace, PodPlace], list[str]]) -> tuple[MoveLine, ...]:
    lines = [MoveLine(owner, old, new, tuple(sorted(pods))) for (owner, old, new), pods in groups.items()]
    return tuple(sorted(lines, key=lambda line: (line.owner, line.pods)))


def shifts_of(before: ReplayOutcome, after: ReplayOutcome) -> tuple[Shift, ...]:
    """Return the pods whose place changes. Pods of one template are equal: swapping two changes nothing."""
    moved = (shift for shift in _paired(before, after) if shift.before != shift.after)
    by_kind = group_by(moved, lambda shift: _kind_of(shift.pod))
    return tuple(shift for shifts in by_kind.values() for shift in _without_swaps(shifts))


def _without_swaps(shifts: list[Shift]) -> Iterator[Shift]:
    old = Counter(shift.before for shift in shifts)
    new = Counter(shift.after for shift in shifts)
    left = list((old - new).elements())
    arrived = new - old
    for shift in sorted(shifts, key=lambda shift: shift.before not in left):
        if arrived[shift.after] > 0:
            arrived[shift.after] -= 1
            origin = shift.before if shift.before in left else left[0]
            left.remove(origin)
            yield Shift(shift.pod, origin, shift.after)


def _paired(before: ReplayOutcome, after: ReplayOutcome) -> Iterator[Shift]:
    """Yield every pod that either side looks for a place for."""
    if before.solution is None or after.solution is None:
        return
    old, new = before.places, after.places
    bound = _bound_places(before, [pod for pod in after.waiting if pod.key not in old])
    for pod in after.waiting:
        key = pod.key
        yield Shift(pod, old[key] if key in old else bound.get(key, ABSENT), new[key])
    left = [pod for pod in before.waiting if pod.key not in new]
    bound = _bound_places(after, left)
    for pod in left:
        yield Shift(pod, old[pod.key], bound.get(pod.key, ABSENT))


def _bound_places(outcome: ReplayOutcome, others: Iterable[Pod]) -> dict[str, PodPlace]:
    """Return by key the nodes of bound pods that a side does not look for a place for."""
    keys_by_uid = {pod.uid: pod.key for pod in others}
    if not keys_by_uid:
        return {}
    inventory = outcome.prepared.inventory
    pools = {node.name: node.labels.get(NODEPOOL, "") for node in inventory.nodes}
    return {
        keys_by_uid[pod.uid]: PodPlace(PlaceKind.NODE, pools[pod.node_name], pod.node_name)
        for pod in inventory.pods
        if pod.uid in keys_by_uid and pod.node_name in pools
    }


def _kind_of(pod: Pod) -> object:
    """Return the key of interchangeable pods; a pod with its own properties is alone."""
    return pod.uid or pod.key if pod.volumes or pod.own_labels else pod.template
