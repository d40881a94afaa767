"""NodeClaims that edits drift, and those that they bring back in line."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from karptui.karpenter.instance_type import InstanceType, Offering
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import NODEPOOL
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodeclass import NodeClass, nodeclass_key
from karptui.karpenter.nodepool import NodePool
from karptui.kube.objects import Condition
from karptui.whatif.drift.hashes import changed_nodeclass_fields, changed_nodepool_fields
from karptui.whatif.drift.model import Drift, DriftModel
from karptui.whatif.lines import DriftLine
from karptui.whatif.situation import DRIFTED, Situation


def drift_changes(before: Situation, after: Situation) -> tuple[tuple[DriftLine, ...], tuple[DriftLine, ...]]:
    """Return the NodeClaims that the edits drift, and those that they no longer do.

    A NodeClaim that Karpenter has marked for a cause that is not worked out, such as its image, stays drifted.
    """
    gained: list[DriftLine] = []
    lost: list[DriftLine] = []
    pools = _changed_pools(before, after)
    if not pools:
        return (), ()
    old, new = DriftModel(before, before), DriftModel(after, before)
    for claim in after.inventory.nodeclaims:
        if claim.labels.get(NODEPOOL, "") not in pools:
            continue
        was, drift = old.of(claim), new.of(claim)
        if claim.is_true(DRIFTED):
            if was is not None and drift is None:
                lost.append(_line(claim, was))
        elif was is None and drift is not None:
            gained.append(_line(claim, drift))
    return _sorted(gained), _sorted(lost)


def with_drift(inventory: Inventory, before: Situation, after: Situation) -> Inventory:
    """Return a cluster in which NodeClaims are marked as Karpenter would mark them after the edits."""
    gained, lost = drift_changes(before, after)
    if not gained and not lost:
        return inventory
    reasons = {line.claim_name: line.reason for line in gained}
    cleared = {line.claim_name for line in lost}
    return replace(
        inventory,
        nodeclaims=tuple(_marked(claim, reasons, cleared, after.now_ns) for claim in inventory.nodeclaims),
    )


def _marked(claim: NodeClaim, reasons: dict[str, str], cleared: set[str], now_ns: int) -> NodeClaim:
    if claim.name not in reasons and claim.name not in cleared:
        return claim
    others = tuple(one for one in claim.conditions if one.type != DRIFTED)
    if claim.name in cleared:
        return replace(claim, conditions=others)
    made = Condition(type=DRIFTED, status="True", reason=reasons[claim.name], last_transition_ns=now_ns)
    return replace(claim, conditions=(*others, made))


def _changed_pools(before: Situation, after: Situation) -> frozenset[str]:
    """Return the NodePools of which something differs that drift depends on."""
    if before is after:
        return frozenset()
    known = {pool.name: pool for pool in before.inventory.nodepools}
    old = {one.key: one for one in before.inventory.nodeclasses}
    new = {one.key: one for one in after.inventory.nodeclasses}
    same_types: dict[tuple[int, int], bool] = {}
    changed = set()
    for pool in after.inventory.nodepools:
        key = nodeclass_key(pool.node_class_ref.kind, pool.node_class_ref.name)
        types = before.types.of_pool(pool.name), after.types.of_pool(pool.name)
        pair = id(types[0]), id(types[1])
        if pair not in same_types:
            same_types[pair] = _offer_the_same(*types)
        if (
            not same_types[pair]
            or _is_changed_pool(known.get(pool.name), pool)
            or _is_changed_nodeclass(old.get(key), new.get(key))
        ):
            changed.add(pool.name)
    return frozenset(changed)


def _is_changed_pool(known: NodePool | None, pool: NodePool) -> bool:
    if known is pool or known is None:
        return False
    return known.requirements != pool.requirements or bool(changed_nodepool_fields(known, pool))


def _is_changed_nodeclass(known: NodeClass | None, nodeclass: NodeClass | None) -> bool:
    if known is nodeclass or known is None or nodeclass is None:
        return False
    return bool(changed_nodeclass_fields(known, nodeclass))


def _offer_the_same(some: Sequence[InstanceType], others: Sequence[InstanceType]) -> bool:
    """Return whether two lists have types of the same names with offerings in the same places."""
    if len(some) == len(others) and all(
        one.name == other.name and _are_identical(one.offerings, other.offerings)
        for one, other in zip(some, others, strict=True)
    ):
        return True
    return _offered(some) == _offered(others)


def _are_identical(some: Sequence[Offering], others: Sequence[Offering]) -> bool:
    """Return whether offerings share their requirements, which is quick to see and so with most edits."""
    return some is others or (
        len(some) == len(others)
        and all(one.requirements is other.requirements for one, other in zip(some, others, strict=True))
    )


def _offered(types: Sequence[InstanceType]) -> dict[str, frozenset[object]]:
    return {one.name: frozenset(offering.requirements for offering in one.offerings) for one in types}


def _line(claim: NodeClaim, drift: Drift) -> DriftLine:
    return DriftLine(claim.name, claim.node_name, claim.labels.get(NODEPOOL, ""), str(drift.reason), drift.because)


def _sorted(lines: list[DriftLine]) -> tuple[DriftLine, ...]:
    return tuple(sorted(lines, key=lambda line: (line.pool_name, line.reason, line.claim_name)))
