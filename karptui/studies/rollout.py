"""Progress of rollouts of NodePools and NodeClasses: nodes by revision, the time left, and the blockers.

Rules: ``pkg/controllers/nodeclaim/disruption/drift.go``, and ``pkg/cloudprovider/drift.go`` of the AWS provider.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cache
from typing import Any, Final

import msgspec

from karptui.disruption.blockers import BlockerSurvey
from karptui.disruption.budget_calendar import next_opening
from karptui.disruption.budgets import Reason
from karptui.disruption.codes import Blocker, Code
from karptui.disruption.command import Method
from karptui.disruption.drift import DRIFTED
from karptui.disruption.termination import deadline_of
from karptui.errors import no_such
from karptui.forward.result import Played, StepKind
from karptui.forward.run import HORIZON_NS
from karptui.karpenter.labels import NODEPOOL, NODEPOOL_HASH
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodeclass import NodeClass, is_ec2
from karptui.karpenter.nodepool import NodePool
from karptui.kube.group import group_by
from karptui.provisioning.reporter import Reporter, silent
from karptui.studies.forecasts import RUNS, ForecastCluster, drained
from karptui.whatif.drift.drift import NODEPOOL_HASH_VERSION_KEY, DriftModel, DriftReason, as_drifted
from karptui.whatif.drift.hashes import NODEPOOL_HASH_VERSION, nodepool_hash
from karptui.whatif.situation import WhatIfBase

_NODECLASS_HASH: Final = "nodeclass-hash"
"""End of the annotation that every provider names after its kind."""
_IMAGE_DRIFT: Final = "AMIDrift"
_DRIFTS: Final = frozenset({Method.DRIFT, Method.STATIC_DRIFT})
_BEGINS: Final = (StepKind.DISRUPT, StepKind.EXPIRE)


class NodeState(StrEnum):
    """Revision of a node."""

    CURRENT = "current"
    OLD = "old"
    LEAVING = "leaving"
    """Old, and being deleted."""
    UNCOMPARED = "uncompared"
    """Its hash has another version than that of its owner, or is missing: Karpenter does not compare them."""


class RolloutState(StrEnum):
    """Progress of a rollout."""

    DONE = "done"
    PROGRESSING = "progressing"
    """The forecast replaces at least one old node, or a drain ends."""
    WAITING = "waiting"
    """The forecast replaces none, but a blocker ends at a known time."""
    STALLED = "stalled"
    """The forecast replaces none, and no such time is known."""
    UNKNOWN = "unknown"
    """Karpenter has not processed the newest change, or does not compare a node."""


class Hold(msgspec.Struct, frozen=True):
    """What keeps Drift from a node."""

    code: Code
    object: str
    until_ns: int | None


class RolloutNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node, by its revision."""

    seen_ns: int
    """Time of the report."""
    name: str
    """The NodeClaim's if there is no Node."""
    pool: str
    nodeclass: str
    state: NodeState
    revision: str
    """``POOL-HASH/NODECLASS-HASH``, as far as annotated."""
    reason: str = ""
    """Karpenter's reason of drift, given or expected; empty if it is current."""
    is_marked: bool = False
    """Whether Karpenter has set its Drifted condition."""
    since_ns: int | None = None
    """When Karpenter marked it, or when its deletion began."""
    holds: tuple[Hold, ...] = ()
    begins_ns: int | None = None
    """When its removal begins, by forecast; None if it stays, or is being removed already."""
    gone_ns: int | None = None
    """When it is gone, by forecast; None if it is not."""
    date_ns: int | None = None
    """When a blocker ends, its NodePool's budget opens, or its drain is forced to end, whichever is first."""
    expires_ns: int | None = None


class RolloutGroup(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes of a NodePool or NodeClass."""

    kind: str
    name: str
    nodes: tuple[RolloutNode, ...]
    is_seen: bool = True
    """Whether Karpenter has processed its newest change."""
    is_hashed: bool = True
    """Whether it has Karpenter's hash; without it a change of its template cannot be seen."""

    def count(self, state: NodeState) -> int:
        """Return the number of nodes in a state."""
        return sum(1 for node in self.nodes if node.state is state)

    @property
    def left(self) -> tuple[RolloutNode, ...]:
        """Nodes that are still old."""
        return tuple(node for node in self.nodes if node.state in (NodeState.OLD, NodeState.LEAVING))

    @property
    def gone_ns(self) -> int | None:
        """When the last old node is gone, by forecast; None if one stays, or without any."""
        ends = [node.gone_ns for node in self.left]
        return None if None in ends else max((end for end in ends if end is not None), default=None)

    @property
    def date_ns(self) -> int | None:
        """The first known time at which an old node may become replaceable."""
        return min((node.date_ns for node in self.left if node.date_ns is not None), default=None)

    @property
    def revisions(self) -> tuple[tuple[str, int, bool], ...]:
        """Each revision with its number of nodes, and whether any of them is current; most first."""
        counts = Counter(node.revision for node in self.nodes)
        current = {node.revision for node in self.nodes if node.state is NodeState.CURRENT}
        return tuple((revision, count, revision in current) for revision, count in counts.most_common())

    @property
    def state(self) -> RolloutState:
        """Its progress."""
        left = self.left
        if not left:
            is_known = self.is_seen and self.is_hashed and not self.count(NodeState.UNCOMPARED)
            return RolloutState.DONE if is_known else RolloutState.UNKNOWN
        if any(node.gone_ns is not None or node.begins_ns is not None for node in left):
            return RolloutState.PROGRESSING
        return RolloutState.STALLED if self.date_ns is None else RolloutState.WAITING


class RolloutReport(msgspec.Struct, frozen=True, kw_only=True):
    """The rollout of some NodePools and NodeClasses."""

    groups: tuple[RolloutGroup, ...]
    cluster_holds: tuple[Hold, ...]
    """What keeps Drift from all nodes of the cluster."""
    from_ns: int
    horizon_ns: int
    played: Played | None
    """Forecast; None if no node is old, or it was not asked for."""

    @property
    def assumed(self) -> tuple[str, ...]:
        """Assumptions of the forecast; empty without one."""
        return (RUNS, *self.played.assumptions) if self.played is not None else ()

    @property
    def nodes(self) -> tuple[RolloutNode, ...]:
        """Nodes that are not current, each once."""
        nodes = {node.name: node for group in self.groups for node in group.nodes}
        return tuple(node for node in nodes.values() if node.state is not NodeState.CURRENT)

    @property
    def state(self) -> RolloutState:
        """The worst state of its groups; stalled only if none of the unfinished groups progresses or waits."""
        states = {group.state for group in self.groups} - {RolloutState.DONE}
        order = (RolloutState.PROGRESSING, RolloutState.WAITING, RolloutState.STALLED, RolloutState.UNKNOWN)
        return next((state for state in order if state in states), RolloutState.DONE)


def rollout_report(
    base: WhatIfBase,
    *,
    pools: Collection[str] = (),
    nodeclasses: Collection[str] = (),
    horizon_ns: int = HORIZON_NS,
    plays: bool = True,
    reporter: Reporter = silent,
) -> RolloutReport:
    """Return the progress of NodePools and NodeClasses; of all if none is named.

    Args:
        nodeclasses: Names, or ``Kind/name``.
        plays: Whether to forecast the time left; without it every unfinished rollout counts as progressing or stalled
            by its known dates alone.

    Raises:
        RequestError: If a NodePool or NodeClass does not exist.
    """
    chosen_pools, chosen_classes = _chosen_objects(base, pools, nodeclasses)
    revisions = _Revisions(base)
    nodes = tuple(filter(None, map(revisions.of, base.inventory.nodeclaims)))
    pool_names, class_keys = {pool.name for pool in chosen_pools}, {nodeclass.key for nodeclass in chosen_classes}
    nodes = tuple(node for node in nodes if node.pool in pool_names or node.nodeclass in class_keys)
    old = {node.name: node for node in nodes if node.state in (NodeState.OLD, NodeState.LEAVING)}
    played = None
    if old and plays:
        played = ForecastCluster(base, _with_drift(base, old)).play(horizon_ns=horizon_ns, reporter=reporter)
    survey = BlockerSurvey(base.fleet) if old else None
    if survey is not None:
        nodes = tuple(_with_facts(base, nodes, played, survey))
    by_pool, by_class = group_by(nodes, lambda node: node.pool), group_by(nodes, lambda node: node.nodeclass)
    groups = [
        RolloutGroup(
            kind="NodePool",
            name=pool.name,
            nodes=tuple(by_pool.get(pool.name, ())),
            is_seen=_is_seen(pool),
            is_hashed=NODEPOOL_HASH in pool.annotations,
        )
        for pool in chosen_pools
    ]
    groups += [
        RolloutGroup(
            kind=nodeclass.kind,
            name=nodeclass.name,
            nodes=tuple(by_class.get(nodeclass.key, ())),
            is_seen=not _is_unobserved(nodeclass),
            is_hashed=bool(_hash_key(nodeclass)) or not is_ec2(nodeclass),
        )
        for nodeclass in chosen_classes
    ]
    return RolloutReport(
        groups=tuple(groups),
        cluster_holds=tuple(_holds(survey.cluster)) if survey is not None else (),
        from_ns=base.now_ns,
        horizon_ns=horizon_ns,
        played=played,
    )


def _chosen_objects(
    base: WhatIfBase, pools: Collection[str], nodeclasses: Collection[str]
) -> tuple[list[NodePool], list[NodeClass]]:
    all_pools, all_classes = base.inventory.nodepools, base.inventory.nodeclasses
    for kind, names, revisions in (
        ("NodePool", pools, [pool.name for pool in all_pools]),
        ("NodeClass", nodeclasses, [name for nodeclass in all_classes for name in (nodeclass.name, nodeclass.key)]),
    ):
        for name in names:
            if name not in revisions:
                raise no_such(kind, name, sorted(revisions))
    if not pools and not nodeclasses:
        return list(all_pools), list(all_classes)
    return (
        [pool for pool in all_pools if pool.name in pools],
        [nodeclass for nodeclass in all_classes if {nodeclass.name, nodeclass.key} & set(nodeclasses)],
    )


def _is_seen(pool: NodePool) -> bool:
    """Return whether Karpenter has hashed the newest template of a NodePool."""
    annotated = pool.annotations.get(NODEPOOL_HASH)
    if _is_unobserved(pool):
        return False
    if (
        annotated is None
        or _observed(pool)
        or pool.annotations.get(NODEPOOL_HASH_VERSION_KEY) != NODEPOOL_HASH_VERSION
        or not pool.raw
    ):
        return True
    return nodepool_hash(pool) in (None, annotated)


def _is_unobserved(owner: NodePool | NodeClass) -> bool:
    """Return whether the conditions are of an older generation; False if they do not tell."""
    observed = _observed(owner)
    return bool(observed) and max(observed) < owner.generation


def _observed(owner: NodePool | NodeClass) -> list[int]:
    status = owner.raw.get("status") or {}
    conditions = status.get("conditions") or ()
    seen = [condition.get("observedGeneration") for condition in conditions if isinstance(condition, Mapping)]
    return [generation for generation in seen if isinstance(generation, int)]


class _Revisions:
    """Finds the revision of NodeClaims."""

    def __init__(self, base: WhatIfBase) -> None:
        self._now_ns = base.now_ns
        self._pools = {pool.name: pool for pool in base.inventory.nodepools}
        self._classes = {nodeclass.key: nodeclass for nodeclass in base.inventory.nodeclasses}
        self._images = {key: _images(node_class) for key, node_class in self._classes.items()}
        self._model = DriftModel(base, base)

    def of(self, claim: NodeClaim) -> RolloutNode | None:
        """Return a NodeClaim by its revision; None if it has no NodePool, or is current and being deleted."""
        pool = self._pools.get(claim.labels.get(NODEPOOL, ""))
        if pool is None:
            return None
        ref = claim.node_class_ref if claim.node_class_ref.name else pool.node_class_ref
        nodeclass = self._classes.get(ref.key)
        owners = (
            [(pool.annotations, NODEPOOL_HASH, str(DriftReason.NODEPOOL))] if NODEPOOL_HASH in pool.annotations else []
        )
        if nodeclass is not None and (key := _hash_key(nodeclass)):
            owners.append((nodeclass.annotations, key, str(DriftReason.NODECLASS)))
        marked = claim.condition(DRIFTED)
        is_marked = marked is not None and marked.status == "True"
        reason = marked.reason if marked is not None and is_marked else self._unmarked(claim, owners, ref.key)
        is_compared = all(_is_comparable(claim, owner, key) for owner, key, _ in owners)
        if reason:
            state = NodeState.LEAVING if claim.is_deleting else NodeState.OLD
        elif claim.is_deleting:
            return None
        else:
            state = NodeState.CURRENT if is_compared else NodeState.UNCOMPARED
        since_ns = claim.deletion_ns if claim.is_deleting else marked.last_transition_ns if marked is not None else 0
        return RolloutNode(
            seen_ns=self._now_ns,
            name=claim.node_name or claim.name,
            pool=pool.name,
            nodeclass=ref.key,
            state=state,
            revision="/".join(claim.annotations.get(key, "-") for _, key, _ in owners),
            reason=reason,
            is_marked=is_marked,
            since_ns=since_ns or None,
        )

    def _unmarked(self, claim: NodeClaim, owners: Iterable[tuple[Mapping[str, str], str, str]], key: str) -> str:
        """Return the reason that Karpenter will mark a NodeClaim with; empty if it is current."""
        if not claim.is_true("Launched"):
            return ""
        for owner, hash_key, reason in owners:
            if _is_comparable(claim, owner, hash_key) and claim.annotations[hash_key] != owner[hash_key]:
                return reason
        drift = self._model.of(claim)
        if drift is not None and drift.reason is DriftReason.REQUIREMENTS:
            return str(drift.reason)
        images = self._images.get(key)
        return _IMAGE_DRIFT if images and claim.image_id and claim.image_id not in images else ""


def _hash_key(nodeclass: NodeClass) -> str:
    return next((key for key in nodeclass.annotations if key.endswith(_NODECLASS_HASH)), "")


def _images(nodeclass: NodeClass) -> frozenset[str]:
    amis = nodeclass.status.get("amis")
    return frozenset(
        ami["id"] for ami in (amis if isinstance(amis, list) else ()) if isinstance(ami, Mapping) and "id" in ami
    )


def _is_comparable(claim: NodeClaim, owner: Mapping[str, str], key: str) -> bool:
    """Return whether Karpenter compares a hash: both have one, of one version."""
    version = f"{key}-version"
    return key in owner and key in claim.annotations and owner.get(version) == claim.annotations.get(version)


def _with_drift(base: WhatIfBase, old: Mapping[str, RolloutNode]) -> Any:
    """Return the cluster with the Drifted conditions that Karpenter will set."""

    def marked(claim: NodeClaim) -> NodeClaim:
        node = old.get(claim.node_name or claim.name)
        if node is None or node.is_marked:
            return claim
        return as_drifted(claim, node.reason, base.now_ns)

    return msgspec.structs.replace(base.inventory, nodeclaims=tuple(map(marked, base.inventory.nodeclaims)))


def _holds(blockers: Iterable[Blocker]) -> Iterator[Hold]:
    return (
        Hold(blocker.code, blocker.object_ref, blocker.until_ns) for blocker in blockers if blocker.blocks & _DRIFTS
    )


def _with_facts(
    base: WhatIfBase, nodes: Iterable[RolloutNode], played: Played | None, survey: BlockerSurvey
) -> Iterator[RolloutNode]:
    """Yield nodes with their blockers, their end by forecast, and known dates."""
    steps = played.steps if played is not None else ()
    begun = {name: step.at_ns for step in reversed(steps) if step.kind in _BEGINS for name in step.nodes}
    gone = drained(played) if played is not None else {}
    states = {state.name: state for state in base.fleet.nodes}
    claims = {claim.node_name or claim.name: claim for claim in base.inventory.nodeclaims}
    pools = {pool.name: pool for pool in base.inventory.nodepools}

    @cache
    def opening(pool: str) -> int | None:
        return next_opening(pools[pool], Reason.DRIFTED, base.fleet.use.get(pool), base.now_ns)

    for node in nodes:
        state = states.get(node.name)
        if node.state not in (NodeState.OLD, NodeState.LEAVING) or state is None:
            yield node
            continue
        blockers = survey.of(state)
        holds = tuple(_holds(blockers))
        if node.state is NodeState.LEAVING:
            holds = tuple(
                Hold(blocker.code, blocker.object_ref, blocker.until_ns) for blocker in blockers if blocker.blocks_drain
            )
        is_budget = any(hold.code is Code.BUDGET_ZERO for hold in holds)
        claim = claims[node.name]
        deadline = deadline_of(claim)
        dates = [
            *(hold.until_ns for hold in holds),
            opening(node.pool) if is_budget else None,
            deadline.at_ns if deadline is not None else None,
        ]
        later_dates = [date for date in dates if date is not None and date > base.now_ns]
        yield msgspec.structs.replace(
            node,
            holds=holds,
            begins_ns=begun.get(node.name),
            gone_ns=gone.get(node.name),
            date_ns=min(later_dates, default=None),
            expires_ns=None if claim.is_deleting else claim.expires_ns,
        )
