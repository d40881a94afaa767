"""Where pods go on one side and not on the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from karptui.disruption.owner import OwnerIndex
from karptui.karpenter.labels import CAPACITY_TYPE, NODEPOOL, WELL_KNOWN, ZONE
from karptui.karpenter.requirements import Requirements
from karptui.kube.pod import Pod
from karptui.provisioning.catalogue import Catalogue
from karptui.provisioning.solution import NewClaim
from karptui.provisioning.type_index import single_value
from karptui.whatif.lines import ClaimLine, MoveLine, NodeLine, TypeOption, Unplaced
from karptui.whatif.outcome import ABSENT, NOWHERE, Outcome, Place, PlaceKind
from karptui.whatif.reasons import Reasons


class _Shift(NamedTuple):
    """A pod and where it goes on both sides."""

    pod: Pod
    before: Place
    after: Place


# Claims and nodes


def claim_lines(before: Outcome, after: Outcome) -> tuple[tuple[ClaimLine, ...], tuple[ClaimLine, ...]]:
    """Return the new nodes of the edited side, changed ones first, and those of the base that come no more."""
    options = _Options()
    old = [(options.signature(claim), claim) for claim in before.claims]
    new = [(options.signature(claim), claim) for claim in after.claims]
    left = Counter(signature for signature, _ in old)
    made = []
    for signature, claim in new:
        is_same = left[signature] > 0
        left[signature] -= is_same
        made.append(_claim_line(claim, options, is_changed=not is_same))
    gone = []
    for signature, claim in old:
        if left[signature] > 0:
            left[signature] -= 1
            gone.append(_claim_line(claim, options, is_changed=True))
    order = _by_pool_and_pods
    return tuple(sorted(made, key=lambda one: (not one.is_changed, *order(one)))), tuple(sorted(gone, key=order))


def _by_pool_and_pods(line: ClaimLine) -> tuple[str, tuple[str, ...]]:
    return line.pool_name, line.pods


def _claim_line(claim: NewClaim, options: _Options, *, is_changed: bool) -> ClaimLine:
    return ClaimLine(
        pool_name=claim.nodepool_name,
        types=options.of(claim),
        pods=tuple(sorted(pod.key for pod in claim.pods)),
        requests=tuple((name, str(amount)) for name, amount in sorted(claim.requests.items())),
        price_per_hour=claim.cheapest_price_per_hour,
        is_changed=is_changed,
    )


class _Options:
    """The types of claims in price order; claims with the same requirements share one list."""

    def __init__(self) -> None:
        self._ranked: dict[tuple[int, Requirements], list[tuple[int, TypeOption]]] = {}
        self._chosen: dict[tuple[int, Requirements, int], tuple[TypeOption, ...]] = {}

    def of(self, claim: NewClaim) -> tuple[TypeOption, ...]:
        """Return the types of a claim, the cheapest first; those without a price last, by name."""
        key = (id(claim.catalogue), claim.requirements, claim.type_mask)
        chosen = self._chosen.get(key)
        if chosen is None:
            ranked = self._ranked.get(key[:2])
            if ranked is None:
                ranked = self._ranked[key[:2]] = _ranked(claim.catalogue, claim.requirements)
            chosen = self._chosen[key] = tuple(option for bit, option in ranked if claim.type_mask & bit)
        return chosen

    def signature(self, claim: NewClaim) -> tuple[object, ...]:
        """Return what makes two claims alike: NodePool, types and pods, of which those of one template are equals."""
        pods = frozenset(Counter(_kind_of(pod) for pod in claim.pods).items())
        return claim.nodepool_name, tuple(option.name for option in self.of(claim)), pods


def _ranked(catalogue: Catalogue, requirements: Requirements) -> list[tuple[int, TypeOption]]:
    best: dict[int, tuple[float, str, str]] = {}
    for kind in catalogue.offering_kinds:
        if not requirements.compatible(kind.requirements, WELL_KNOWN):
            continue
        zone, capacity_type = (single_value(kind.requirements, key) for key in (ZONE, CAPACITY_TYPE))
        for i, price in kind.prices:
            known = best.get(i)
            if known is None or (price, capacity_type, zone) < (known[0], known[2], known[1]):
                best[i] = (price, zone, capacity_type)
    options = [
        (1 << i, TypeOption(one.name, *best[i]) if i in best else TypeOption(one.name, None))
        for i, one in enumerate(catalogue.types)
    ]
    return sorted(
        options,
        key=lambda pair: (pair[1].price_per_hour is None, pair[1].price_per_hour or 0.0, pair[1].name),
    )


def node_lines(before: Outcome, after: Outcome) -> tuple[NodeLine, ...]:
    """Return the nodes that exist and receive pods on the edited side, those first that receive others than before."""
    if after.solution is None:
        return ()
    old = {} if before.solution is None else {one.state.name: one.pods for one in before.solution.nodes}
    made = [
        NodeLine(
            node_name=one.state.name,
            pool_name=one.state.labels.get(NODEPOOL, ""),
            pods=tuple(sorted(pod.key for pod in one.pods)),
            is_changed=Counter(map(_kind_of, one.pods)) != Counter(map(_kind_of, old.get(one.state.name, ()))),
        )
        for one in after.solution.nodes
    ]
    return tuple(sorted(made, key=lambda one: (not one.is_changed, one.node_name)))


# Pods


def move_lines(before: Outcome, after: Outcome) -> tuple[tuple[MoveLine, ...], tuple[MoveLine, ...]]:
    """Return the pods that go elsewhere, and those that have a place now and had none."""
    owners = OwnerIndex(after.situation.inventory.workloads)
    moves: dict[tuple[str, Place, Place], list[str]] = {}
    gains: dict[tuple[str, Place, Place], list[str]] = {}
    for shift in _shifts(before, after):
        if shift.after in (NOWHERE, ABSENT):
            continue
        is_gain = shift.before in (NOWHERE, ABSENT)
        owner = owners.of(shift.pod)
        key = ("" if owner is None else str(owner), shift.before, shift.after)
        (gains if is_gain else moves).setdefault(key, []).append(shift.pod.key)
    return _folded(moves), _folded(gains)


def unplaced_lines(before: Outcome, after: Outcome) -> tuple[tuple[Unplaced, ...], tuple[Unplaced, ...]]:
    """Return the pods that no longer have a place, new ones included, and those that still have none."""
    if after.solution is None:
        return (), ()
    owners = OwnerIndex(after.situation.inventory.workloads)
    reasons = Reasons(after)
    lost = {shift.pod.key: shift.before for shift in _shifts(before, after) if shift.after is NOWHERE}
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


def _folded(groups: Mapping[tuple[str, Place, Place], list[str]]) -> tuple[MoveLine, ...]:
    lines = [MoveLine(owner, old, new, tuple(sorted(pods))) for (owner, old, new), pods in groups.items()]
    return tuple(sorted(lines, key=lambda one: (one.owner, one.pods)))


def _shifts(before: Outcome, after: Outcome) -> Iterator[_Shift]:
    """Yield the pods whose place changes. Pods of one template stand for each other: a swap of two changes nothing."""
    by_kind: dict[object, list[_Shift]] = {}
    for shift in _paired(before, after):
        if shift.before != shift.after:
            by_kind.setdefault(_kind_of(shift.pod), []).append(shift)
    for shifts in by_kind.values():
        yield from _without_swaps(shifts)


def _without_swaps(shifts: list[_Shift]) -> Iterator[_Shift]:
    old = Counter(shift.before for shift in shifts)
    new = Counter(shift.after for shift in shifts)
    left = list((old - new).elements())
    arrived = new - old
    for shift in sorted(shifts, key=lambda one: one.before not in left):
        if arrived[shift.after] > 0:
            arrived[shift.after] -= 1
            origin = shift.before if shift.before in left else left[0]
            left.remove(origin)
            yield _Shift(shift.pod, origin, shift.after)


def _paired(before: Outcome, after: Outcome) -> Iterator[_Shift]:
    """Yield every pod that either side looks for a place for."""
    if before.solution is None or after.solution is None:
        return
    old, new = before.places, after.places
    bound_before, bound_after = _Bound(before), _Bound(after)
    for pod in after.waiting:
        key = pod.key
        yield _Shift(pod, old[key] if key in old else bound_before.place(key), new[key])
    for pod in before.waiting:
        if pod.key not in new:
            yield _Shift(pod, old[pod.key], bound_after.place(pod.key))


class _Bound:
    """Where pods run that a side does not look for a place for."""

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome
        self._places: dict[str, Place] | None = None

    def place(self, key: str) -> Place:
        """Return the node of a pod, `ABSENT` where it is not there or not bound."""
        if self._places is None:
            self._places = self._find()
        return self._places.get(key, ABSENT)

    def _find(self) -> dict[str, Place]:
        inventory = self._outcome.replayed.inventory
        pools = {node.name: node.labels.get(NODEPOOL, "") for node in inventory.nodes}
        places = {name: Place(PlaceKind.NODE, pool, name) for name, pool in pools.items()}
        return {pod.key: places[pod.node_name] for pod in inventory.pods if pod.node_name in places}


def _kind_of(pod: Pod) -> object:
    """Return what pods that stand for each other have in common; a pod with something of its own stands alone."""
    return pod.uid or pod.key if pod.volumes or pod.own_labels else pod.template
