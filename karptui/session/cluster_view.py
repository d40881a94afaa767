"""One generation of the cluster as screens see it: entries tied together once, and kept where nothing changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from karptui.aws.evidence import NO_EVIDENCE, Evidence, prices_of
from karptui.aws.place import Place, place_of
from karptui.aws.prices import Price, PriceBook
from karptui.decode.kinds import Kind
from karptui.karpenter import labels as karpenter_labels
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodeclass import NodeClass
from karptui.kube.live_usage import NO_LIVE_USAGE, LiveUsage
from karptui.kube.node import Node
from karptui.session.nodes import NodeEntry, PodAccess
from karptui.session.pod_owners import Owners, owners_of
from karptui.session.pods import PodEntry
from karptui.state.cluster import EMPTY, ClusterState
from karptui.views.health import KindStatus
from karptui.views.nodes.totals import cluster_facts
from karptui.views.prices import cost_fact, total_of
from karptui.views.top_bar import Fact
from karptui.views.why.held import held_fact, held_of

if TYPE_CHECKING:
    from karptui.advice.report import AdviceReport
    from karptui.disruption.analysis import Analysis, NodeFindings
    from karptui.pending.report import PendingReport

_POD_PARTS: Final = frozenset({"pod_entries", "_pods_by_key"})
_WORKED_OUT: Final = frozenset({"node_entries", "pod_entries", "facts", "_nodes_by_name", "_pods_by_key"})


class _Booked(NamedTuple):
    """Prices, and what they were made of."""

    nodes: Mapping[str, Node]
    nodeclasses: Mapping[str, NodeClass]
    evidence: Evidence
    place: Place
    book: PriceBook


class ClusterView:
    """A state and how its source stands; immutable, compared by identity, safe to read from several threads.

    Entries of the view before are taken over where their objects are the same, so that what they have worked out is
    not worked out again.
    """

    def __init__(
        self,
        state: ClusterState,
        statuses: Mapping[str, KindStatus],
        before: ClusterView | None = None,
        *,
        evidence: Evidence = NO_EVIDENCE,
        analysis: Analysis | None = None,
        pending: PendingReport | None = None,
        advice: AdviceReport | None = None,
        live_usage: LiveUsage | None = None,
    ) -> None:
        """Make a view.

        Args:
            state: one generation of the cluster.
            statuses: by kind.
            before: the view that this one follows.
            evidence: what is known of instance types and prices.
            analysis: why nodes are still here, of this generation or one before it.
            pending: why pods wait, of this generation or one before it.
            advice: what the rules find, of this generation or one before it.
            live_usage: what nodes and pods really use, where metrics-server tells; that of the view before when None.
        """
        self.state = state
        self.statuses = statuses
        self.evidence = evidence
        self.analysis = analysis
        self.pending = pending
        self.advice = advice
        known_usage: LiveUsage = before.live_usage if before is not None else NO_LIVE_USAGE
        self.live_usage: LiveUsage = known_usage if live_usage is None else live_usage
        self._book_before = before.known_book() if before is not None else None
        self._node_entries_before = before.known_nodes() if before is not None else {}
        self._pod_entries_before = before.known_pods() if before is not None else {}
        self._owners_before = before.known_owners() if before is not None else None
        is_same = before is not None and before.state is state and before.evidence is evidence
        is_same = is_same and self.live_usage is known_usage
        if before is not None and is_same and before.access is self.access:
            # Only the source has spoken: everything worked out still holds, as the same objects.
            kept = _WORKED_OUT if before.analysis is analysis else _POD_PARTS
            self.__dict__.update((name, made) for name, made in before.__dict__.items() if name in kept)

    @cached_property
    def node_entries(self) -> tuple[NodeEntry, ...]:
        """An entry for every node, and for every NodeClaim that has no node."""
        return tuple(self._nodes_by_name.values())

    @cached_property
    def pod_entries(self) -> tuple[PodEntry, ...]:
        """An entry for every pod that has not ended."""
        return tuple(self._pods_by_key.values())

    @cached_property
    def facts(self) -> tuple[Fact, ...]:
        """The figures of the top bar."""
        return self.facts_of(self.node_entries, len(self.state.pods))

    def facts_of(self, entries: Sequence[NodeEntry], pod_count: int, scope: Fact | None = None) -> tuple[Fact, ...]:
        """Return the figures of the top bar for nodes and claims; with words for which, where they are not all."""
        has_prices = not self.evidence.price_settings.is_disabled
        cost = cost_fact(total_of(entries)) if has_prices else None
        held = held_fact(held_of(entries)) if has_prices and self.analysis is not None else None
        return cluster_facts(entries, pod_count, cost, held, self.hidden, scope=scope)

    @cached_property
    def place(self) -> Place:
        """The region and zones of the cluster."""
        return self._booked.place

    @cached_property
    def prices(self) -> PriceBook:
        """What nodes cost; the same object as long as nobody says anything else."""
        return self._booked.book

    @cached_property
    def _booked(self) -> _Booked:
        nodes, nodeclasses = self.state.of(Kind.NODE), self.state.of(Kind.NODECLASS)
        before = self._book_before
        if before is not None and before.nodes is nodes and before.nodeclasses is nodeclasses:
            place = before.place
        else:
            place = place_of(nodes.values(), nodeclasses.values())
        if before is not None and before.evidence is self.evidence and before.place == place:
            return _Booked(nodes, nodeclasses, self.evidence, before.place, before.book)
        return _Booked(nodes, nodeclasses, self.evidence, place, prices_of(self.evidence, place))

    def known_book(self) -> _Booked | None:
        """Return the prices made so far, or those taken over when none were asked for."""
        made: _Booked | None = self.__dict__.get("_booked")
        return self._book_before if made is None else made

    @cached_property
    def hidden(self) -> frozenset[str]:
        """The kinds that may not be listed."""
        return frozenset(kind for kind, status in self.statuses.items() if status.phase == "forbidden")

    @property
    def access(self) -> PodAccess:
        """Whether pods are known, on their way, or hidden by a missing permission."""
        return pod_access(self.statuses.get(Kind.POD))

    def pods_on(self, node_name: str) -> tuple[PodEntry, ...]:
        """Return an entry for every pod of a node."""
        node = self.state.nodes.get(node_name)
        pool = _pool(node) if node is not None else ""
        used = self.live_usage.pods
        return tuple(
            PodEntry(pod, pool, self._owners.of(pod), used.get(key))
            for key, pod in self.state.pods_on(node_name).items()
        )

    def node_entry(self, key: str) -> NodeEntry | None:
        """Return the entry of a key, None where it is not there (any more)."""
        return next((entry for entry in self.node_entries if entry.key == key), None)

    def node_of(self, name: str) -> NodeEntry | None:
        """Return the entry of a node by its name, None where it is not there."""
        return self._nodes_by_name.get(f"Node/{name}")

    def describe(self, kind: str, key: str, now_ns: int) -> str:
        """Return what is known of an object as text; a sentence when it is not there any more."""
        from karptui.views.describe import describe_node, describe_pod  # noqa: PLC0415 - only when asked for

        if kind == Kind.POD:
            pod = self._pods_by_key.get(key)
            if pod is not None:
                return describe_pod(pod, self.state, now_ns)
        else:
            node = self._nodes_by_name.get(f"{kind}/{key}") or self._nodes_by_name.get(f"Node/{key}")
            if node is not None:
                return describe_node(node, self.state, now_ns)
        return f"{kind} {key} is not there any more"

    @cached_property
    def _nodes_by_name(self) -> dict[str, NodeEntry]:
        state, access, before = self.state, self.access, self._node_entries_before
        entries: dict[str, NodeEntry] = {}
        for name, node in state.nodes.items():
            entries[f"Node/{name}"] = self._entry(before.get(f"Node/{name}"), node, state.claim_of(name), access)
        for claim in state.claims_without_node():
            entries[f"NodeClaim/{claim.name}"] = self._entry(before.get(f"NodeClaim/{claim.name}"), None, claim, access)
        self._node_entries_before = {}
        return entries

    def _entry(
        self, known: NodeEntry | None, node: Node | None, claim: NodeClaim | None, access: PodAccess
    ) -> NodeEntry:
        usage = self.state.node_usage.get(node.name) if node is not None else None
        used = self.live_usage.nodes.get(node.name) if node is not None else None
        findings = self._findings_of(node, claim)
        if (
            known is not None
            and known.node is node
            and known.claim is claim
            and known.usage is usage
            and known.access is access
            and known.findings is findings
            and known.hidden == self.hidden
            and known.used is used
            and self._is_same_book
        ):
            return known
        is_same_object = known is not None and known.node is node and known.claim is claim and self._is_same_book
        price = known.price if known is not None and is_same_object else self._price(NodeEntry(node, claim))
        entry = NodeEntry(node, claim, usage, access, price, findings, self.hidden, used)
        if known is not None and known.node is node and known.claim is claim and known.usage is usage:
            entry.take_over(known)
        return entry

    def _findings_of(self, node: Node | None, claim: NodeClaim | None) -> NodeFindings | None:
        if self.analysis is None:
            return None
        name = f"claim/{claim.name}" if claim is not None else f"node/{node.name}" if node is not None else ""
        return self.analysis.findings.get(name)

    @cached_property
    def _is_same_book(self) -> bool:
        return self._book_before is not None and self._book_before.book is self.prices

    def _price(self, entry: NodeEntry) -> Price | None:
        return self.prices.price(entry.instance_type, entry.zone, entry.capacity_type) if entry.instance_type else None

    @cached_property
    def _pods_by_key(self) -> dict[str, PodEntry]:
        before, used = self._pod_entries_before, self.live_usage.pods
        pools, owners = {name: _pool(node) for name, node in self.state.nodes.items()}, self._owners
        entries: dict[str, PodEntry] = {}
        for key, pod in self.state.pods.items():
            if pod.is_terminal:
                continue
            pool = pools.get(pod.node_name, "")
            known = before.get(key)
            same = known is not None and known.pod is pod and known.pool == pool and owners is self._owners_before
            same = same and known is not None and known.used is used.get(key)
            entries[key] = known if same and known is not None else PodEntry(pod, pool, owners.of(pod), used.get(key))
        self._pod_entries_before = {}
        return entries

    @cached_property
    def _owners(self) -> Owners:
        return owners_of(self.state, self._owners_before)

    def known_owners(self) -> Owners | None:
        """Return what finds owners of pods, or what was taken over when none were asked for."""
        made: Owners | None = self.__dict__.get("_owners")
        return self._owners_before if made is None else made

    def known_nodes(self) -> dict[str, NodeEntry]:
        """Return the entries made so far, or those taken over when none were asked for."""
        made: dict[str, NodeEntry] | None = self.__dict__.get("_nodes_by_name")
        return self._node_entries_before if made is None else made

    def known_pods(self) -> dict[str, PodEntry]:
        """Return the entries made so far, or those taken over when none were asked for."""
        made: dict[str, PodEntry] | None = self.__dict__.get("_pods_by_key")
        return self._pod_entries_before if made is None else made


def pod_access(status: KindStatus | None) -> PodAccess:
    """Return whether pods are known, on their way, or hidden by a missing permission."""
    if status is None or (status.phase in ("connecting", "disconnected") and not status.count):
        return PodAccess.PENDING
    return PodAccess.FORBIDDEN if status.phase == "forbidden" else PodAccess.KNOWN


def _pool(node: Node) -> str:
    return node.labels.get(karpenter_labels.NODEPOOL, "")


NO_VIEW: Final = ClusterView(EMPTY, {})
"""The view before anything is known."""
