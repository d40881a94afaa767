"""One row of the Pools screen: a NodePool, its types, its nodes, its rank, and its remaining limits.

Rules: ``filterByRemainingResources`` in ``pkg/controllers/provisioning/scheduling/scheduler.go``: a type is out when
its whole capacity exceeds the remaining limit, whatever the pod requests.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from karptui.aws.evidence import SubnetRoom, subnet_rooms
from karptui.aws.nodeclass import subnets_of
from karptui.decode.kinds import Kind
from karptui.disruption.budget_calendar import PoolBudgets
from karptui.disruption.churn.report import Churn, alive_by_pool
from karptui.karpenter.nodepool import NodePool
from karptui.kube import resources
from karptui.kube.group import group_by
from karptui.kube.objects import Condition, true_condition
from karptui.kube.quantity import NANO
from karptui.kube.recent import LastAnswer
from karptui.kube.resources import NODES
from karptui.provisioning.limits import allows_node, as_good_as_full
from karptui.provisioning.overlap import Overlap, PoolOverlap
from karptui.provisioning.pool_types import Filter, PoolDaemonSet
from karptui.session.churn import ControllerCounts, CountSource, controller_counts, count_source, created_lately
from karptui.session.cluster_view import ClusterView
from karptui.session.costs import Total, total_of
from karptui.session.nodeclasses import Absence, unread_classes
from karptui.session.nodes import PodAccess
from karptui.session.types import PoolEntry
from karptui.session.types_of_pools import TypesOfPool, types_of_pool, types_of_pools
from karptui.state.usage import NO_SHARE, Share, total_share


class PoolLimit(msgspec.Struct, frozen=True, kw_only=True):
    """One limited resource of a NodePool."""

    resource: str
    used: int
    """Capacity of its nodes, in nano-units."""
    limit: int
    left: int
    """Below zero if the limit is exceeded."""
    smallest: int | None = None
    """The least that any allowed type needs of it; None without any allowed type."""
    smallest_type: str = ""

    @property
    def is_closed(self) -> bool:
        """Whether no allowed type fits under the limit."""
        return self.left < 0 or (self.smallest is not None and self.smallest > self.left)

    @property
    def is_nearly_used(self) -> bool:
        """Whether it is as good as used up: the verdict names it if no allowed type fits under it."""
        return self.used >= as_good_as_full(self.resource, self.limit)


def limit_uses(types: TypesOfPool) -> tuple[PoolLimit, ...]:
    """Return every limited resource: cpu, memory, nodes, then the others by name."""
    pool = types.pool_types.pool
    limits = pool.limits or {}
    return tuple(_use(types, name, limits[name].nano) for name in pool.limited)


def _use(types: TypesOfPool, name: str, limit: int) -> PoolLimit:
    pool_types, allowed = types.pool_types, types.allowed
    smallest, type_name = None, ""
    if allowed and name == NODES:
        smallest = NANO
    elif allowed:
        smallest, type_name = min(
            (resources.nano(verdict.instance_type.capacity, name), verdict.instance_type.name) for verdict in allowed
        )
    return PoolLimit(
        resource=name,
        used=pool_types.used.get(name, 0),
        limit=limit,
        left=pool_types.remaining.get(name, limit),
        smallest=smallest,
        smallest_type=type_name,
    )


def _usable_types(types: TypesOfPool) -> int:
    """Return the number of types for a new node, for any pod."""
    return sum(allows_node(types.pool_types.remaining, verdict.instance_type) for verdict in types.allowed)


NODE_KINDS: Final = (Kind.NODE, Kind.NODECLAIM)
NEAR: Final = 10
"""Weights that differ by less are pointed out: they look like shades, and are an order all the same."""


class PoolCount(msgspec.Struct, frozen=True, kw_only=True):
    """How many NodeClaims a NodePool has got."""

    name: str
    created: int
    """By Karpenter's counters, else existing ones of the last day."""
    since_look: int | None
    """Since karptui first read the counters; None before the second reading."""


class Neighbour(NamedTuple):
    """Another NodePool and its weight."""

    name: str
    weight: int


class PoolRow(msgspec.Struct, frozen=True, eq=False, dict=True, kw_only=True):
    """A NodePool."""

    pool: NodePool
    types: PoolEntry
    """Counts and findings of its types."""
    usable: int
    """How many types a new node could have now, whichever pods wait."""
    used: Mapping[str, int]
    """Capacity of its nodes that are not being deleted, in nano-units, as its limits count it."""
    limits: tuple[PoolLimit, ...]
    nodes: int
    """Its nodes, and its NodeClaims that have no node yet."""
    all_nodes: int
    """Nodes and such NodeClaims of every NodePool."""
    drifted: int
    """Its nodes that no longer match it."""
    deleting: int
    """Its nodes that are being deleted: limits do not count them."""
    total: Total
    claims_created_ns: tuple[int, ...]
    class_conditions: tuple[Condition, ...] | None
    """Of its NodeClass; None if unknown."""
    class_absence: Absence | None = None
    """Why its NodeClass is unknown; None if it is known."""
    subnets: tuple[SubnetRoom, ...] = ()
    """Of its EC2NodeClass."""
    pods: int = 0
    """Active pods on its nodes, including those of DaemonSets."""
    cpu: Share = NO_SHARE
    """Pod requests on its nodes, and their allocatable cpu."""
    memory: Share = NO_SHARE
    access: PodAccess = PodAccess.KNOWN
    """Whether pod requests are known."""
    counted: ControllerCounts | None = None
    """Karpenter's own counters; None if they cannot be read."""
    starting: int = 0
    """Number of its nodes that are such NodeClaims."""
    order: tuple[Neighbour, ...] = ()
    """Every NodePool that Karpenter tries, in that order; all rows share it."""
    budgets: PoolBudgets | None = None
    """None until they are evaluated, and if this Karpenter does not manage the NodePool."""
    is_passed_over: bool = False
    """Whether this Karpenter does not manage the NodePool."""
    overlap: PoolOverlap | None = None
    """None until it is worked out."""
    alive: tuple[int | None, ...] = ()
    """NodeClaims every five minutes of the last hour; None before the first known one, empty if unknown."""
    hidden: frozenset[str] = frozenset()
    """Kinds that may not be listed: values that depend on them are unknown, not zero."""

    @property
    def name(self) -> str:
        """The NodePool's name."""
        return self.pool.name

    @property
    def rank(self) -> int | None:
        """Position in Karpenter's order of NodePools, from 1; None if it is excluded."""
        return self.types.rank

    @property
    def before(self) -> str:
        """The NodePool tried just before it; empty for the first."""
        return self.order[self.rank - 2].name if self.rank is not None and self.rank > 1 else ""

    @property
    def after(self) -> str:
        """The NodePool tried just after it; empty for the last."""
        return self.order[self.rank].name if self.rank is not None and self.rank < len(self.order) else ""

    @property
    def ties(self) -> tuple[Neighbour, ...]:
        """Other NodePools of the same weight, in Karpenter's order."""
        if self.rank is None:
            return ()
        begin, end = self._weights_within(0)
        return (*self.order[begin : self.rank - 1], *self.order[self.rank : end])

    @property
    def near(self) -> tuple[Neighbour, ...]:
        """NodePools of another weight that differs by less than ``NEAR``."""
        if self.rank is None:
            return ()
        (begin, end), (equal_begin, equal_end) = self._weights_within(NEAR - 1), self._weights_within(0)
        return (*self.order[begin:equal_begin], *self.order[equal_end:end])

    def _weights_within(self, distance: int) -> tuple[int, int]:
        """Return the range of ``order`` whose weights differ by no more than this."""
        weight = self.pool.weight
        return (
            bisect_left(self.order, -weight - distance, key=_descending),
            bisect_right(self.order, -weight + distance, key=_descending),
        )

    @property
    def share_percent(self) -> float | None:
        """Its percentage of all nodes; None without any, or if nodes or NodeClaims are hidden."""
        return 100 * self.nodes / self.all_nodes if self.all_nodes and not self.hides(*NODE_KINDS) else None

    @property
    def is_class_ready(self) -> bool:
        """Whether its NodeClass is ready, as far as is known."""
        return self.class_conditions is None or true_condition(self.class_conditions, "Ready") is not None

    def hides(self, *kinds: Kind) -> bool:
        """Whether one of these kinds may not be listed or was not read."""
        return not self.hidden.isdisjoint(kinds)

    def limit(self, resource: str) -> PoolLimit | None:
        """Return the limit of a resource, None if there is none."""
        return next((limit for limit in self.limits if limit.resource == resource), None)

    @property
    def excluded(self) -> int:
        """How many types DaemonSets rule out."""
        return self.types.removed_by.get(Filter.DAEMONSETS, 0)

    def created(self, now_ns: int) -> int:
        """Return the NodeClaims created by Karpenter's counters, else existing ones of the last day."""
        return self.counted.created if self.counted is not None else created_lately(self.claims_created_ns, now_ns)


def _descending(pool: Neighbour) -> int:
    return -pool.weight


_NO_OVERLAP: Final = PoolOverlap()
"""Of a NodePool that is excluded, or has no usable type."""
_ROWS: Final[LastAnswer[tuple[PoolRow, ...]]] = LastAnswer()


def pool_rows(view: ClusterView) -> tuple[PoolRow, ...]:
    """Return the NodePools in Karpenter's order; the same object as long as nothing has changed.

    Takes as long as the types of all NodePools the first time, so it belongs in a thread.
    """
    analysis, types = view.analysis, types_of_pools(view)
    inputs = (
        types,
        view.node_entries,
        view.state.nodeclasses,
        view.evidence,
        analysis.overlap if analysis is not None else None,
        *(tuple(analysis.budgets.values()) if analysis is not None else ()),
    )
    return _ROWS.get(inputs, lambda: _rows(view, types, view.hidden), equals=(view.hidden, unread_classes(view)))


def with_last_hour(rows: Sequence[PoolRow], churn: Churn | None) -> tuple[PoolRow, ...]:
    """Return the rows with how many nodes they had over the last hour, as far as that is known."""
    alive = alive_by_pool(churn) if churn is not None else {}
    return tuple(msgspec.structs.replace(row, alive=alive[row.name]) if row.name in alive else row for row in rows)


def _rows(view: ClusterView, pools: Sequence[TypesOfPool], hidden: frozenset[str]) -> tuple[PoolRow, ...]:
    analysis, unread = view.analysis, unread_classes(view)
    by_pool = group_by((node for node in view.node_entries if node.pool), lambda node: node.pool)
    names = {pool.name for pool in pools}
    all_nodes = sum(len(nodes) for name, nodes in by_pool.items() if name in names)
    order = tuple(
        Neighbour(pool.name, pool.pool_types.pool.weight) for pool in pools if pool.pool_types.rank is not None
    )
    overlap: Overlap | None = analysis.overlap if analysis is not None else None
    budgets: Mapping[str, PoolBudgets] | None = analysis.budgets if analysis is not None else None
    rows = []
    for pool in pools:
        nodes = by_pool.get(pool.name, [])
        nodeclass = view.state.nodeclasses.get(pool.pool_types.pool.node_class_ref.key)
        claims = [claim for node in nodes if (claim := node.claim) is not None]
        rows.append(
            PoolRow(
                pool=msgspec.structs.replace(pool.pool_types.pool, raw={}),
                types=pool.entry,
                usable=_usable_types(pool),
                used=pool.pool_types.used,
                limits=limit_uses(pool),
                nodes=len(nodes),
                starting=sum(node.node is None for node in nodes),
                all_nodes=all_nodes,
                drifted=sum(claim.is_true("Drifted") for claim in claims),
                deleting=sum(node.is_deleting for node in nodes),
                total=total_of(nodes),
                claims_created_ns=tuple(claim.created_ns for claim in claims),
                class_absence=unread.absence(pool.pool_types.pool) if nodeclass is None else None,
                class_conditions=nodeclass.conditions if nodeclass is not None else None,
                subnets=subnet_rooms(subnets_of(nodeclass), view.evidence) if nodeclass is not None else (),
                pods=sum(len(view.state.pods_on(node.node.name)) for node in nodes if node.node is not None),
                cpu=total_share(node.cpu for node in nodes),
                memory=total_share(node.memory for node in nodes),
                access=next((node.access for node in nodes if node.access is not PodAccess.KNOWN), PodAccess.KNOWN),
                counted=controller_counts(view, pool.name),
                order=order,
                budgets=budgets.get(pool.name) if budgets is not None else None,
                is_passed_over=budgets is not None and pool.name not in budgets,
                overlap=overlap.pools.get(pool.name, _NO_OVERLAP) if overlap is not None else None,
                hidden=hidden,
            )
        )
    return tuple(rows)


class PoolsAround(msgspec.Struct, frozen=True, eq=False):
    """Facts about all NodePools."""

    cost: Total
    """Of the nodes of all of them."""
    source: CountSource
    """Who counts NodeClaims."""
    counts: tuple[PoolCount, ...]
    overlap: Overlap | None
    """None until it is worked out."""
    strays: int = 0
    """Nodes and NodeClaims in ``cost`` that are in no row: their NodePool is not there."""

    def partners_of(self, pool: str) -> tuple[str, ...]:
        """Return a NodePool and the one it shares most pods with; it alone until that is worked out."""
        return self.overlap.partners_of(pool) if self.overlap is not None else (pool,)


def pools_around(view: ClusterView, now_ns: int) -> PoolsAround:
    """Return facts about all NodePools; takes as long as their rows."""
    counts = tuple(
        PoolCount(
            name=row.name,
            created=row.created(now_ns),
            since_look=row.counted.created_since_look if row.counted is not None else None,
        )
        for row in pool_rows(view)
    )
    entries = [node for node in view.node_entries if node.pool]
    names = {count.name for count in counts}
    strays = sum(1 for node in entries if node.pool not in names)
    overlap = view.analysis.overlap if view.analysis is not None else None
    return PoolsAround(total_of(entries), count_source(view), counts, overlap, strays)


class DaemonRow(msgspec.Struct, frozen=True, eq=False):
    """A DaemonSet in one NodePool."""

    daemonset: PoolDaemonSet
    offered: int
    """Types of the NodePool that requirements and offerings leave."""

    @property
    def is_carried(self) -> bool:
        """Whether a new node of some type runs its pod."""
        return self.daemonset.types > 0

    @property
    def cpu_millis(self) -> int:
        """Request of its pod."""
        return resources.cpu_millis(self.daemonset.requests)

    @property
    def memory_bytes(self) -> int:
        """Request of its pod."""
        return resources.memory_bytes(self.daemonset.requests)


def daemon_rows(view: ClusterView, pool: str) -> tuple[DaemonRow, ...]:
    """Return every DaemonSet with its effect on a NodePool; none if there is no such NodePool."""
    types = types_of_pool(view, pool)
    if types is None:
        return ()
    offered = types.entry.left_after.get(Filter.RESERVED, 0)
    return tuple(DaemonRow(daemonset, offered) for daemonset in types.pool_types.daemonsets)
