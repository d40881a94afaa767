"""Which NodeClaims drift, and which of them edits drift."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final

import msgspec
from msgspec.structs import replace

from karptui.disruption.drift import DRIFTED
from karptui.karpenter.instance_type import InstanceType, Offering
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import (
    CAPACITY_TYPE,
    INSTANCE_TYPE,
    NODEPOOL,
    NODEPOOL_HASH,
    ON_DEMAND,
    RESERVATION_ID,
    RESERVED,
    WELL_KNOWN,
    ZONE,
)
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodeclass import NodeClass
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.requirements import IN, KeyConflict, Requirement, Requirements
from karptui.kube.objects import Condition, with_condition, without_condition
from karptui.kube.timestamps import HOUR_NS
from karptui.whatif.difference_lines import DriftLine
from karptui.whatif.drift.hashes import (
    EC2_NODECLASS_HASH_VERSION,
    NODEPOOL_HASH_VERSION,
    changed_nodeclass_fields,
    changed_nodepool_fields,
    nodepool_hash,
    shifted_nodeclass_hash,
)
from karptui.whatif.situation import Situation

NODEPOOL_HASH_VERSION_KEY: Final = "karpenter.sh/nodepool-hash-version"
NODECLASS_HASH: Final = "karpenter.k8s.aws/ec2nodeclass-hash"
NODECLASS_HASH_VERSION_KEY: Final = "karpenter.k8s.aws/ec2nodeclass-hash-version"
_TYPES_AFTER_NS: Final = HOUR_NS
_RESERVATION_LABELS: Final = (RESERVATION_ID, "karpenter.k8s.aws/capacity-reservation-type")


class DriftReason(StrEnum):
    """Karpenter's reasons of drift that are modelled."""

    NODEPOOL = "NodePoolDrifted"
    REQUIREMENTS = "RequirementsDrifted"
    TYPE_NOT_FOUND = "InstanceTypeNotFound"
    NODECLASS = "NodeClassDrift"


class Drift(msgspec.Struct, frozen=True):
    """Why a NodeClaim is drifted."""

    reason: DriftReason
    because: str
    """Name of the field."""


class DriftModel:
    """Finds drift in one situation.

    Hashes of edited objects are derived from the existing annotations: only Karpenter writes them.

    Args:
        base: The cluster before the edits; the same for the base.
    """

    def __init__(self, situation: Situation, base: Situation) -> None:
        self._situation = situation
        self._pools = {pool.name: pool for pool in situation.inventory.nodepools}
        self._nodeclasses = {nodeclass.key: nodeclass for nodeclass in situation.inventory.nodeclasses}
        self._base_pools = {pool.name: pool for pool in base.inventory.nodepools}
        self._base_nodeclasses = {nodeclass.key: nodeclass for nodeclass in base.inventory.nodeclasses}
        self._pool_hashes: dict[str, tuple[str | None, str]] = {}
        self._nodeclass_hashes: dict[str, tuple[str | None, str]] = {}
        self._types: dict[int, _Offered] = {}
        self._requirements: dict[str, Requirements] = {}
        self._drifts: dict[tuple[object, ...], Drift | None] = {}

    def of(self, claim: NodeClaim) -> Drift | None:
        """Return the reason why a NodeClaim is drifted; None if it is not, is not launched, or has no NodePool."""
        pool = self._pools.get(claim.labels.get(NODEPOOL, ""))
        if pool is None or not claim.is_true("Launched") or claim.is_deleting:
            return None
        return (
            self._of_nodepool(claim, pool)
            or self._of_requirements(claim, pool)
            or self._of_types(claim, pool)
            or self._of_nodeclass(claim, pool)
        )

    def _of_nodepool(self, claim: NodeClaim, pool: NodePool) -> Drift | None:
        current, because = self._pool_hash(pool)
        node_pool = self._base_pools.get(pool.name)
        if node_pool is None:
            return None
        claim_hash = _hash_of(claim.annotations, node_pool.annotations, NODEPOOL_HASH, NODEPOOL_HASH_VERSION_KEY)
        return Drift(DriftReason.NODEPOOL, because) if claim_hash not in (None, current) else None

    def _pool_hash(self, pool: NodePool) -> tuple[str | None, str]:
        pool_hash = self._pool_hashes.get(pool.name)
        if pool_hash is None:
            pool_hash = self._pool_hashes[pool.name] = self._new_pool_hash(pool)
        return pool_hash

    def _new_pool_hash(self, pool: NodePool) -> tuple[str | None, str]:
        """Return the hash annotation that a NodePool would have, and the fields that changed it."""
        node_pool = self._base_pools.get(pool.name)
        annotated = (node_pool or pool).annotations.get(NODEPOOL_HASH, _UNMARKED)
        if node_pool is None or node_pool is pool:
            return annotated, _MADE_EARLIER
        fields = changed_nodepool_fields(node_pool, pool)
        if not fields:
            return annotated, _MADE_EARLIER
        because = f"{', '.join(fields)} changed"
        version = node_pool.annotations.get(NODEPOOL_HASH_VERSION_KEY, NODEPOOL_HASH_VERSION)
        if version == NODEPOOL_HASH_VERSION and nodepool_hash(node_pool) == annotated:
            return nodepool_hash(pool), because
        return _CHANGED, because

    def _of_requirements(self, claim: NodeClaim, pool: NodePool) -> Drift | None:
        requirements = self._requirements.get(pool.name)
        if requirements is None:
            requirements = self._requirements[pool.name] = Requirements.from_selectors(pool.requirements)
        key = (pool.name, *(claim.labels.get(requirement.key) for requirement in requirements))
        if key not in self._drifts:
            self._drifts[key] = _unmet(claim, requirements)
        return self._drifts[key]

    def _of_types(self, claim: NodeClaim, pool: NodePool) -> Drift | None:
        types = self._situation.types.of_pool(pool.name)
        if not types or self._situation.now_ns - claim.created_ns <= _TYPES_AFTER_NS:
            return None
        offered = self._types.get(id(types))
        if offered is None:
            offered = self._types[id(types)] = _Offered(types)
        return offered.missing(claim)

    def _of_nodeclass(self, claim: NodeClaim, pool: NodePool) -> Drift | None:
        ref = claim.node_class_ref if claim.node_class_ref.name else pool.node_class_ref
        nodeclass, node_class = self._nodeclasses.get(ref.key), self._base_nodeclasses.get(ref.key)
        if nodeclass is None or node_class is None:
            return None
        current, because = self._nodeclass_hash(nodeclass, node_class)
        claim_hash = _hash_of(claim.annotations, node_class.annotations, NODECLASS_HASH, NODECLASS_HASH_VERSION_KEY)
        return Drift(DriftReason.NODECLASS, because) if claim_hash not in (None, current) else None

    def _nodeclass_hash(self, nodeclass: NodeClass, node_class: NodeClass) -> tuple[str | None, str]:
        nodeclass_hash = self._nodeclass_hashes.get(nodeclass.key)
        if nodeclass_hash is None:
            nodeclass_hash = self._nodeclass_hashes[nodeclass.key] = _new_nodeclass_hash(nodeclass, node_class)
        return nodeclass_hash


class _Offered:
    """The offerings of a list of types, available or not."""

    def __init__(self, types: Iterable[InstanceType]) -> None:
        self._types = {instance_type.name: instance_type for instance_type in types}
        self._keys = tuple(
            sorted(
                {
                    requirement.key
                    for instance_type in self._types.values()
                    for offering in instance_type.offerings
                    for requirement in offering.requirements
                }
            )
        )
        self._drifts: dict[tuple[str | None, ...], Drift | None] = {}

    def missing(self, claim: NodeClaim) -> Drift | None:
        """Return the reason why a NodeClaim's instance could no longer be launched."""
        name = claim.labels.get(INSTANCE_TYPE, "")
        key = (name, *(claim.labels.get(key) for key in self._keys))
        if key not in self._drifts:
            self._drifts[key] = self._find(claim, name)
        return self._drifts[key]

    def _find(self, claim: NodeClaim, name: str) -> Drift | None:
        instance_type = self._types.get(name)
        if instance_type is None:
            because = f"the NodePool has no instance type {name or '(no label)'} any more"
            return Drift(DriftReason.TYPE_NOT_FOUND, because)
        requirements = _launch_requirements(claim)
        for offering in instance_type.offerings:
            if requirements.compatible(Requirements.from_selectors(offering.requirements), WELL_KNOWN):
                return None
        where = f"{claim.labels.get(CAPACITY_TYPE, '')} {name} in {claim.labels.get(ZONE, '')}"
        return Drift(DriftReason.TYPE_NOT_FOUND, f"{where} is no longer an offering")


def _unmet(claim: NodeClaim, requirements: Requirements) -> Drift | None:
    labels = Requirements.from_labels(claim.labels)
    if labels.compatible(requirements):
        return None
    problem = labels.incompatibilities(requirements)[0]
    if isinstance(problem, KeyConflict):
        value = claim.labels.get(problem.key, "")
        return Drift(DriftReason.REQUIREMENTS, f"requirement {problem.incoming} does not allow {value}")
    return Drift(DriftReason.REQUIREMENTS, f"requirement {problem.key}: nodes do not carry the label")


_UNMARKED: Final = "as it was"
"""Hash of objects without Karpenter's annotation."""
_CHANGED: Final = "changed"
"""Hash that differs from the previous one but cannot be computed."""
_MADE_EARLIER: Final = "it was created from an earlier template"


def _new_nodeclass_hash(nodeclass: NodeClass, node_class: NodeClass) -> tuple[str | None, str]:
    annotated = node_class.annotations.get(NODECLASS_HASH, _UNMARKED)
    version = node_class.annotations.get(NODECLASS_HASH_VERSION_KEY, EC2_NODECLASS_HASH_VERSION)
    fields = () if nodeclass is node_class else changed_nodeclass_fields(node_class, nodeclass, version)
    if not fields:
        return annotated, "it was created from an earlier NodeClass"
    because = f"{nodeclass.kind} {nodeclass.name}: {', '.join(fields)} changed"
    return shifted_nodeclass_hash(annotated, node_class, nodeclass, version) or _CHANGED, because


def _hash_of(claim: Mapping[str, str], owner: Mapping[str, str], key: str, version_key: str) -> str | None:
    """Return the hash that a NodeClaim was made with; None if its version is not comparable.

    Without an annotation on the NodePool, NodeClass or NodeClaim, NodeClaims count as made from their present state.
    """
    marked = owner.get(key)
    if marked is None:
        return _UNMARKED
    return claim.get(key, marked) if claim.get(version_key, owner.get(version_key)) == owner.get(version_key) else None


def _launch_requirements(claim: NodeClaim) -> Requirements:
    labels = dict(claim.labels)
    if labels.get(CAPACITY_TYPE) != RESERVED:
        return Requirements.from_labels(labels)
    others = {key: value for key, value in labels.items() if key not in _RESERVATION_LABELS}
    return Requirements.from_labels(others).replace(Requirement.of(CAPACITY_TYPE, IN, (RESERVED, ON_DEMAND)))


def drift_changes(before: Situation, after: Situation) -> tuple[tuple[DriftLine, ...], tuple[DriftLine, ...]]:
    """Return the NodeClaims that the edits drift, and the NodeClaims that are no longer drifted.

    A NodeClaim that Karpenter marked for a cause that is not modelled, such as its image, stays drifted.
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
        elif drift is not None and (was is None or was.reason is not drift.reason):
            # What Karpenter has not marked need not be drifted: its list of types may be a newer one.
            gained.append(_line(claim, drift))
    return _sorted(gained), _sorted(lost)


def with_drift(inventory: Inventory, before: Situation, after: Situation) -> Inventory:
    """Return a cluster whose NodeClaims have the drift conditions that Karpenter would set after the edits."""
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
    if claim.name in cleared:
        return replace(claim, conditions=without_condition(claim.conditions, DRIFTED))
    return as_drifted(claim, reasons[claim.name], now_ns)


def as_drifted(claim: NodeClaim, reason: str, now_ns: int) -> NodeClaim:
    """Return a NodeClaim with the drift condition."""
    condition = Condition(type=DRIFTED, status="True", reason=reason, last_transition_ns=now_ns)
    return replace(claim, conditions=with_condition(claim.conditions, condition))


def _changed_pools(before: Situation, after: Situation) -> frozenset[str]:
    """Return the NodePools with differences that drift depends on."""
    if before is after:
        return frozenset()
    pools = {pool.name: pool for pool in before.inventory.nodepools}
    old = {nodeclass.key: nodeclass for nodeclass in before.inventory.nodeclasses}
    new = {nodeclass.key: nodeclass for nodeclass in after.inventory.nodeclasses}
    same_types: dict[tuple[int, int], bool] = {}
    changed = set()
    for pool in after.inventory.nodepools:
        key = pool.node_class_ref.key
        types = before.types.of_pool(pool.name), after.types.of_pool(pool.name)
        pair = id(types[0]), id(types[1])
        if pair not in same_types:
            same_types[pair] = _offer_the_same(*types)
        if (
            not same_types[pair]
            or (pool.name in pools and is_template_changed(pools[pool.name], pool))
            or _is_changed_nodeclass(old.get(key), new.get(key))
        ):
            changed.add(pool.name)
    return frozenset(changed)


def is_template_changed(before: NodePool, after: NodePool) -> bool:
    """Tell whether new nodes of a NodePool differ from those before by something that makes nodes drift."""
    if before is after:
        return False
    return before.requirements != after.requirements or bool(changed_nodepool_fields(before, after))


def _is_changed_nodeclass(node_class: NodeClass | None, nodeclass: NodeClass | None) -> bool:
    if node_class is nodeclass or node_class is None or nodeclass is None:
        return False
    return bool(changed_nodeclass_fields(node_class, nodeclass))


def _offer_the_same(some: Sequence[InstanceType], others: Sequence[InstanceType]) -> bool:
    """Return whether two lists have types of the same names with offerings in the same places."""
    if len(some) == len(others) and all(
        instance_type.name == other.name and _are_identical(instance_type.offerings, other.offerings)
        for instance_type, other in zip(some, others, strict=True)
    ):
        return True
    return _offered(some) == _offered(others)


def _are_identical(some: Sequence[Offering], others: Sequence[Offering]) -> bool:
    """Return whether offerings share their requirements, which is quick to see and so with most edits."""
    return some is others or (
        len(some) == len(others)
        and all(offering.requirements is other.requirements for offering, other in zip(some, others, strict=True))
    )


def _offered(types: Sequence[InstanceType]) -> dict[str, frozenset[object]]:
    return {type_.name: frozenset(offering.requirements for offering in type_.offerings) for type_ in types}


def _line(claim: NodeClaim, drift: Drift) -> DriftLine:
    return DriftLine(claim.name, claim.node_name, claim.labels.get(NODEPOOL, ""), str(drift.reason), drift.because)


def _sorted(lines: list[DriftLine]) -> tuple[DriftLine, ...]:
    return tuple(sorted(lines, key=lambda line: (line.pool_name, line.reason, line.claim_name)))
