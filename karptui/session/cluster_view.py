"""One generation of the cluster as screens see it: entries built once, and reused if nothing changed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from msgspec.structs import replace

from karptui.aws.evidence import NO_EVIDENCE, Evidence, prices_of
from karptui.aws.prices import NodePrices, Price
from karptui.aws.region import Place, place_of
from karptui.decode.kinds import Kind, KindStatus
from karptui.karpenter import labels as karpenter_labels
from karptui.karpenter.nodeclaim import NodeClaim, node_key
from karptui.karpenter.nodeclass import NodeClass
from karptui.karpenter.pod_predicates import PodPredicates
from karptui.kube.objects import Node
from karptui.kube.pod import Pod
from karptui.kube.timestamps import ABSENT_NS
from karptui.kube.usage import NO_LIVE_USAGE, LiveUsage
from karptui.kube.workload import PodDisruptionBudget
from karptui.session.costs import ClusterTotals, totals_of
from karptui.session.nodes import NodeEntry, PodAccess
from karptui.session.pods import Owners, PodEntry, owners_of
from karptui.state.cluster import ClusterState

if TYPE_CHECKING:
    from karptui.advice.report import AdviceReport
    from karptui.disruption.analysis import Analysis, NodeFindings
    from karptui.disruption.owner import OwnerIndex
    from karptui.session.pending_report import PendingAnswer

ValueT = TypeVar("ValueT")


class _Booked(NamedTuple):
    nodes: Mapping[str, Node]
    nodeclasses: Mapping[str, NodeClass]
    evidence: Evidence
    place: Place
    book: NodePrices


class _Nodes(NamedTuple):
    """Every node, and every NodeClaim that has no node, by kind and name."""

    by_name: Mapping[str, NodeEntry]
    entries: tuple[NodeEntry, ...]


class _PodTable(NamedTuple):
    """Every pod that has not ended, by key."""

    by_key: Mapping[str, PodEntry]
    entries: tuple[PodEntry, ...]
    pdbs: Mapping[str, PodDisruptionBudget]


_NO_NODES: Final = _Nodes(MappingProxyType({}), ())
_NO_PODS: Final = _PodTable(MappingProxyType({}), (), MappingProxyType({}))


class _Known(NamedTuple):
    """Computed values, and those carried over from the view before."""

    booked: _Booked | None = None
    nodes: _Nodes = _NO_NODES
    pods: _PodTable = _NO_PODS
    owners: Owners | None = None


class _Once(Generic[ValueT]):
    """A property that is computed when it is first asked, under the view's lock; then it is an attribute."""

    def __init__(self, work: Callable[[ClusterView], ValueT]) -> None:
        self._work, self._name = work, work.__name__

    def __get__(self, view: ClusterView, _: object) -> ValueT:
        with view.lock:
            if self._name not in vars(view):
                vars(view)[self._name] = self._work(view)
        value: ValueT = vars(view)[self._name]
        return value


class ClusterView:
    """A state, the status of its source, and values derived from them; compared by identity.

    Its inputs never change. Derived values (entries, prices, totals) are computed once, when they are first used.
    Entries of the view before are carried over if their objects are the same.
    """

    def __init__(
        self,
        state: ClusterState,
        statuses: Mapping[str, KindStatus],
        before: ClusterView | None = None,
        *,
        evidence: Evidence = NO_EVIDENCE,
        analysis: Analysis | None = None,
        pending: PendingAnswer | None = None,
        advice: AdviceReport | None = None,
        live_usage: LiveUsage | None = None,
    ) -> None:
        """Make a view.

        Args:
            analysis: why nodes are still here, of this generation or one before it.
            pending: why pods wait, of this generation or one before it.
            advice: findings of the rules, of this generation or an earlier one.
            live_usage: usage by metrics-server; that of the view before when None.
        """
        known_usage: LiveUsage = before.live_usage if before is not None else NO_LIVE_USAGE
        self.state: Final = state
        self.statuses: Final = statuses
        self.evidence: Final = evidence
        self.analysis: Final = analysis
        self.pending: Final = pending
        self.advice: Final = advice
        self.live_usage: Final[LiveUsage] = known_usage if live_usage is None else live_usage
        self.hidden: Final = frozenset(kind for kind, status in statuses.items() if status.is_unread)
        """The kinds that may not be listed, or that a file does not hold."""
        self.access: Final = pod_access(statuses.get(Kind.POD))
        """Whether pods are listed, loading, or hidden by a missing permission."""
        self.lock: Final = threading.RLock()
        """Held while a value is computed."""
        self._before = before.reusable() if before is not None else _Known()
        is_same = before is not None and before.state is state and before.evidence is evidence
        if before is not None and is_same and self.live_usage is known_usage and before.access is self.access:
            # Only the source has spoken: everything worked out still holds, as the same objects.
            kept = ("_pods", "_nodes", "totals") if before.analysis is analysis else ("_pods",)
            vars(self).update((name, vars(before)[name]) for name in kept if name in vars(before))

    def with_answers(
        self,
        *,
        analysis: Analysis | None = None,
        pending: PendingAnswer | None = None,
        advice: AdviceReport | None = None,
    ) -> ClusterView:
        """Return the same cluster with newer answers; None keeps an answer."""
        return ClusterView(
            self.state,
            self.statuses,
            self,
            evidence=self.evidence,
            analysis=analysis or self.analysis,
            pending=pending or self.pending,
            advice=advice or self.advice,
        )

    def reusable(self) -> _Known:
        """Return the values that the next view may carry over."""
        with self.lock:
            known = {name: vars(self)[f"_{name}"] for name in _Known._fields if f"_{name}" in vars(self)}
            return self._before._replace(**known)

    @property
    def node_entries(self) -> tuple[NodeEntry, ...]:
        """An entry for every node, and for every NodeClaim that has no node."""
        return self._nodes.entries

    @property
    def pod_entries(self) -> tuple[PodEntry, ...]:
        """An entry for every pod that has not ended."""
        return self._pods.entries

    @_Once
    def totals(self) -> ClusterTotals:
        """Return the requests and cost of all nodes."""
        return self.totals_of(self.node_entries, len(self.state.pods))

    def totals_of(self, entries: Sequence[NodeEntry], pod_count: int) -> ClusterTotals:
        """Return the requests and cost of some nodes and claims."""
        return totals_of(
            entries,
            pod_count,
            hidden=self.hidden,
            has_prices=not self.evidence.price_settings.is_disabled,
            analysis=self.analysis,
        )

    @property
    def place(self) -> Place:
        """The region and zones of the cluster."""
        return self._booked.place

    @property
    def prices(self) -> NodePrices:
        """Prices of nodes; the same object as long as their inputs do not change."""
        return self._booked.book

    @property
    def owners(self) -> OwnerIndex:
        """The owners of pods."""
        return self._owners.owner_index

    def pods_on(self, node_name: str) -> tuple[PodEntry, ...]:
        """Return an entry for every pod of a node."""
        node = self.state.nodes.get(node_name)
        pool = _pool(node) if node is not None else ""
        owners, used = self._owners, self.live_usage.pods
        predicates = _predicates(self.state.pdbs)
        return tuple(
            PodEntry(key, pod, pool, owners.of(pod), used.get(key), _kept_by(pod, predicates))
            for key, pod in self.state.pods_on(node_name).items()
        )

    def pod_entry(self, key: str) -> PodEntry | None:
        """Return the entry of a pod by ``namespace/name``, None if there is none or it has ended."""
        return self._pods.by_key.get(key)

    def node_entry(self, key: str) -> NodeEntry | None:
        """Return the entry of a key, None if there is none (any more)."""
        return next((entry for entry in self.node_entries if entry.key == key), None)

    def node_of(self, name: str) -> NodeEntry | None:
        """Return the entry of a node by its name, None if there is none."""
        return self._nodes.by_name.get(f"Node/{name}")

    def claim_of(self, name: str) -> NodeEntry | None:
        """Return the entry of a NodeClaim without a node, by its name; None if there is none."""
        return self._nodes.by_name.get(f"NodeClaim/{name}")

    # Working out

    @_Once
    def _owners(self) -> Owners:
        return owners_of(self.state, self._before.owners)

    @_Once
    def _booked(self) -> _Booked:
        nodes, nodeclasses = self.state.of(Kind.NODE), self.state.of(Kind.NODECLASS)
        before = self._before.booked
        if before is not None and before.nodes is nodes and before.nodeclasses is nodeclasses:
            place = before.place
        else:
            place = place_of(nodes.values(), nodeclasses.values())
        if before is not None and before.evidence is self.evidence and before.place == place:
            return _Booked(nodes, nodeclasses, self.evidence, before.place, before.book)
        return _Booked(nodes, nodeclasses, self.evidence, place, prices_of(self.evidence, place))

    @_Once
    def _nodes(self) -> _Nodes:
        state, before = self.state, self._before.nodes.by_name
        entries: dict[str, NodeEntry] = {}
        first: dict[str, str] = {}
        for name, node in state.nodes.items():
            key = f"Node/{name}"
            twin = first.setdefault(node.provider_id or name, name)
            entries[key] = self._entry(before.get(key), node, state.claim_of(name), twin if twin != name else "")
        for claim in state.claims_without_node():
            key = f"NodeClaim/{claim.name}"
            entries[key] = self._entry(before.get(key), None, claim)
        self._before = self._before._replace(nodes=_NO_NODES)
        return _Nodes(entries, tuple(entries.values()))

    def _entry(
        self, entry: NodeEntry | None, node: Node | None, claim: NodeClaim | None, counted_with: str = ""
    ) -> NodeEntry:
        usage = self.state.node_usage.get(node.name) if node is not None else None
        used = self.live_usage.nodes.get(node.name) if node is not None else None
        findings = self._findings_of(node, claim)
        is_same_object = entry is not None and entry.node is node and entry.claim is claim and self._is_same_book
        if entry is not None and entry.price is not None and entry.price.counted_with != counted_with:
            is_same_object = False
        if (
            entry is not None
            and is_same_object
            and entry.usage is usage
            and entry.access is self.access
            and entry.findings is findings
            and entry.hidden == self.hidden
            and entry.used is used
        ):
            return entry
        price = entry.price if entry is not None and is_same_object else self._price(NodeEntry(node, claim))
        if counted_with and price is not None:
            price = replace(price, per_hour=0.0, counted_with=counted_with)
        return NodeEntry(node, claim, usage, self.access, price, findings, self.hidden, used)

    def _findings_of(self, node: Node | None, claim: NodeClaim | None) -> NodeFindings | None:
        if self.analysis is None:
            return None
        name = node_key(claim, node.name if node is not None else "")
        return self.analysis.findings.get(name)

    @property
    def _is_same_book(self) -> bool:
        before = self._before.booked
        return before is not None and before.book is self.prices

    def _price(self, entry: NodeEntry) -> Price | None:
        if not entry.instance_type:
            return None
        place = entry.instance_type, entry.zone, entry.capacity_type
        return self.prices.price(*place, is_auto_mode=entry.is_auto_mode)

    @_Once
    def _pods(self) -> _PodTable:
        before, used = self._before.pods, self.live_usage.pods
        pools, owners = {name: _pool(node) for name, node in self.state.nodes.items()}, self._owners
        is_same_owners = owners is self._before.owners
        pdbs = self.state.pdbs
        is_same_pdbs, predicates = pdbs is before.pdbs, _predicates(pdbs)
        entries: dict[str, PodEntry] = {}
        for key, pod in self.state.pods.items():
            if pod.is_terminal:
                continue
            pool = pools.get(pod.node_name, "")
            entry = before.by_key.get(key)
            is_same_pod = entry is not None and entry.pod is pod
            kept_by = entry.kept_by if entry is not None and is_same_pod and is_same_pdbs else _kept_by(pod, predicates)
            if (
                entry is not None
                and is_same_pod
                and is_same_owners
                and entry.pool == pool
                and entry.used is used.get(key)
                and entry.kept_by == kept_by
            ):
                entries[key] = entry
            else:
                entries[key] = PodEntry(key, pod, pool, owners.of(pod), used.get(key), kept_by)
        self._before = self._before._replace(pods=_NO_PODS)
        return _PodTable(entries, tuple(entries.values()), pdbs)


def pod_access(status: KindStatus | None) -> PodAccess:
    """Return whether pods are listed, loading, or hidden by a missing permission."""
    if status is None or (status.phase in ("connecting", "disconnected") and not status.count):
        return PodAccess.PENDING
    return PodAccess.FORBIDDEN if status.is_unread else PodAccess.KNOWN


def _predicates(pdbs: Mapping[str, PodDisruptionBudget]) -> PodPredicates:
    return PodPredicates(pdbs.values(), ABSENT_NS)  # asked only for what no time changes


def _kept_by(pod: Pod, predicates: PodPredicates) -> tuple[str, ...]:
    block = predicates.later_pdb_block(pod) if pod.node_name else None
    return tuple(pdb.name for pdb in block.pdbs) if block is not None else ()


def _pool(node: Node) -> str:
    return node.labels.get(karpenter_labels.NODEPOOL, "")
