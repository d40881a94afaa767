"""Filters, sorts and sums lists, and sums a cluster up."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from karptui.decode.kinds import Kind
from karptui.karpenter.nodeclaim import claim_key
from karptui.kube.recent import LastAnswer
from karptui.session.answers import Overview, RowQuery, RowSet
from karptui.session.cluster_view import ClusterView
from karptui.session.costs import ClusterTotals, held_of, totals_of
from karptui.session.nodes import NodeEntry
from karptui.session.readiness import is_out_of_reach, unready_because
from karptui.session.throttle import KEYBOARD, Keyboard, ThreadThrottle

if TYPE_CHECKING:
    from karptui.changes.changes import Edit
    from karptui.disruption.joint_saving import JointFigures
    from karptui.karpenter.nodepool import NodePool
    from karptui.session.facts import Around
    from karptui.verdict.finding import ClusterFinding


DEAR: Final = 1_000_000
"""Size of a short list that takes a tenth of a second to build."""
MOMENTS_OF_A_NODE: Final = 12
"""Approximate number of own events of a node and its claim."""


def overview_of(view: ClusterView) -> Overview:
    """Return the figures of a view."""
    nodes, pods, events = len(view.state.nodes), len(view.state.of(Kind.POD)), len(view.state.events)
    return Overview(
        generation=view.state.generation,
        statuses=view.statuses,
        totals=view.totals,
        hidden=view.hidden,
        sizes={
            "nodes": nodes,
            "pods": pods,
            "events": events + MOMENTS_OF_A_NODE * nodes,
            **dict.fromkeys(("pools", "daemonsets", "types", "types of a pool"), DEAR if view.state.nodepools else 0),
            "claims": len(view.state.nodeclaims),
            "budgets": len(view.state.nodepools),
            "capacity": nodes,
            "dollars": pods,
            "churn": pods + events,
            "replacements": pods + events,
            "next": nodes,
            "sources": len(view.statuses),
            "advice": len(view.advice.findings) if view.advice is not None else 0,
            "blockers": view.analysis.all_blocker_count if view.analysis is not None else 0,
            "pending": len(view.pending.groups) if view.pending is not None else 0,
        },
        counts={
            "blockers": view.analysis.blocker_count if view.analysis is not None else 0,
            "pending": len(view.state.pending_pods),
            "advice": view.advice.notable if view.advice is not None else 0,
        },
        unready_because=unready_because(view),
        is_out_of_reach=is_out_of_reach(view),
        analysed=view.analysis,
        pending=view.pending,
        karpenter_version=view.evidence.karpenter_version,
        has_prices=not view.evidence.price_settings.is_disabled,
    )


KEPT: Final = 2
"""Row sets kept per list: the one on the screen, and its successor."""
MOST_KEPT: Final = 8
"""The same of a list that has the rows of several."""
VERDICT_STANDS_NS: Final = 2_000_000_000
"""Shortest time between two verdicts of a cluster that changes: each goes through all pods."""
VERDICT_STANDS_TYPING_NS: Final = 8_000_000_000
"""The same while the user presses keys."""
VERDICT_REST: Final = 40
"""A verdict stands for at least this multiple of the processor time that it took."""
LONGEST_VERDICT_REST_NS: Final = 20_000_000_000
"""But that is no longer than this."""
PAUSE_SECONDS: Final = 1.0
"""Keys further apart than this wait for no verdict."""
HELD: Final = frozenset({"nodes", "blockers"})
"""Lists whose order depends on simulated removals, and is held until these are complete for the first time."""
HELD_SECONDS: Final = 20.0
"""Longest time that the order is held: removals in a large or busy cluster take minutes."""
_KINDS: Final = frozenset(str(kind) for kind in Kind)


class Arranged(NamedTuple):
    """Items in the order of their rows."""

    items: Sequence[Any]
    keys: Sequence[str]
    is_timed: bool = False
    """Whether another instant might bring other rows."""
    shown: int = 0
    """Number of rows without group headings, including those in folded groups."""


class List(NamedTuple):
    """A list that can be queried."""

    items: Callable[[ClusterView, RowQuery], Sequence[Any]]
    """Every item of a view, unfiltered; the same object while none changes."""
    arrange: Callable[[Sequence[Any], RowQuery], Arranged]
    """Filters and sorts items."""
    around: Callable[[ClusterView, str, int], Around | None] | None = None
    """From a view, the owner of the rows and the present to the facts around them; None if there are none."""
    nodes: Callable[[Sequence[Any]], Sequence[NodeEntry]] | None = None
    """The nodes that rows block, which are always priced; None for rows of nodes."""


class _Rows(NamedTuple):
    source: Sequence[Any]
    query: RowQuery
    arranged: Arranged
    row_set: RowSet
    sum_up: Callable[[Sequence[NodeEntry]], ClusterTotals]
    joint: JointFigures | None
    is_held: bool = False
    """Whether they are in the order of earlier rows."""


class _VerdictAt(NamedTuple):
    """The last verdict, and when it was computed."""

    pools: Mapping[str, NodePool]
    now_ns: int
    findings: tuple[ClusterFinding, ...]
    is_final: bool
    """Whether it has a figure, perhaps an earlier one, of each joint removal that it names."""
    rest_ns: int = 0
    """How long it stands at least, because of what it took."""


class RowServer:
    """Keeps the last row sets; may be called from any thread."""

    def __init__(
        self,
        view: Callable[[], ClusterView],
        lists: Mapping[str, Callable[[], List]],
        clock: Callable[[], float] = time.monotonic,
        keyboard: Keyboard = KEYBOARD,
        worked_ns: Callable[[], int] = time.thread_time_ns,
    ) -> None:
        self._clock = clock
        self._keyboard = keyboard
        self._worked_ns = worked_ns
        self._held_until: float | None = None
        """When the order stops being held; None before the first rows."""
        self._view = view
        self._lists = lists
        self._built_lists: dict[str, List] = {}
        self._lock = threading.Lock()
        self._rows: dict[int, _Rows] = {}
        self._number = 0
        self._overview: LastAnswer[Overview] = LastAnswer()
        self._verdict: LastAnswer[tuple[ClusterFinding, ...]] = LastAnswer()
        self.edits: Callable[[], tuple[Edit, ...]] = tuple
        """Returns recent edits, which findings may name; the same object while there are no newer ones."""
        self._verdict_at = _VerdictAt({}, 0, (), is_final=False)

    def overview(self) -> Overview:
        """Return the state of the whole cluster; the same object for the same generation."""
        view = self._view()
        return self._overview.get((view,), lambda: overview_of(view))

    def verdict(self, now_ns: int) -> tuple[ClusterFinding, ...]:
        """Return the causes that endanger or block the cluster, worst first; computed once per analysis.

        Nothing before nodes are analysed; if a missing permission prevents the analysis, only independent causes.
        """
        view = self._view()
        if view.analysis is None and not is_out_of_reach(view):
            return ()
        from karptui.session.changes import with_edits  # noqa: PLC0415 - the first rows wait for no engine
        from karptui.session.verdict import verdict_of_view  # noqa: PLC0415 - as above

        pools, last = view.state.nodepools, self._verdict_at
        is_same_cluster = bool(pools) and pools is last.pools  # another cluster or moment has other NodePools
        is_typing = not self._keyboard.is_at_rest(self._clock(), PAUSE_SECONDS)
        stands_ns = max(VERDICT_STANDS_TYPING_NS if is_typing else VERDICT_STANDS_NS, last.rest_ns)
        if is_same_cluster and (last.is_final or is_typing) and 0 < now_ns - last.now_ns < stands_ns:
            return last.findings
        edits = self.edits()
        inputs = (view.analysis or view, view.pending, view.advice, view.hidden, view.state.nodepools, edits)
        pause = ThreadThrottle(self._keyboard).take
        began_ns = self._worked_ns()
        findings = self._verdict.get(inputs, lambda: with_edits(verdict_of_view(view, now_ns, pause), view, edits))
        if findings is not last.findings:
            joint = _joint_of(view)
            # Twice as long as before at most: while a cluster is read, its first verdicts lack the most.
            longest_ns = 2 * max(last.rest_ns, VERDICT_STANDS_NS) if is_same_cluster else 0
            rest_ns = min(VERDICT_REST * (self._worked_ns() - began_ns), longest_ns, LONGEST_VERDICT_REST_NS)
            is_final = joint is None or not joint.lacks_figures
            self._verdict_at = _VerdictAt(pools, now_ns, findings, is_final, rest_ns)
        return findings

    def rows(self, query: RowQuery) -> RowSet:
        """Filter and sort a list; the same rows as before while nothing that counts has changed."""
        view = self._view()
        row_list = self._list(query.list)
        source = row_list.items(view, query)
        holds = query.list in HELD and not query.group_by and self._holds_order()
        before = self._last(query, source)
        if before is not None and before.source is source and (holds or not before.is_held):
            return before.row_set
        arranged = row_list.arrange(source, query)
        if holds and before is not None:
            arranged = _in_order_of(before.arranged.keys, arranged)
        with self._lock:
            self._number += 1
            row_set = RowSet(self._number, arranged.keys, arranged.items, arranged.shown, len(source))
            self._rows[row_set.number] = _Rows(source, query, arranged, row_set, _sums_of(view), _joint_of(view), holds)
            numbers = [number for number, rows in self._rows.items() if rows.query.list == query.list]
            of_same = [number for number in numbers if self._rows[number].query.of == query.of]
            for number in {*of_same[:-KEPT], *numbers[:-MOST_KEPT]}:
                del self._rows[number]
        return row_set

    def _last(self, query: RowQuery, source: Sequence[Any]) -> _Rows | None:
        """Return the last rows of a query, preferably of the same items."""
        with self._lock:
            alike = [
                (rows.source is source, number)
                for number, rows in self._rows.items()
                if not rows.arranged.is_timed and _is_alike(rows.query, query)
            ]
            if not alike:
                return None
            is_same, number = max(alike)
            if is_same:
                self._rows[number] = self._rows.pop(number)
            return self._rows[number]

    def _holds_order(self) -> bool:
        """Return whether rows stay in their order: until all removals are simulated once, or for some seconds."""
        analysed = self.overview().analysed
        now = self._clock()
        if self._held_until is None:
            self._held_until = now + HELD_SECONDS
        if analysed is not None and analysed.is_complete:
            self._held_until = now
        return now < self._held_until

    def totals(self, number: int, keys: frozenset[str] | None = None) -> ClusterTotals:
        """Return the sums of the nodes of some rows; of all rows if ``keys`` is None."""
        rows = self._rows.get(number)
        if rows is None:
            return ClusterTotals()
        arranged, nodes = rows.arranged, self._list(rows.query.list).nodes
        items = [item for key, item in zip(arranged.keys, arranged.items, strict=True) if keys is None or key in keys]
        if nodes is not None:
            held = nodes(items)
            return msgspec.structs.replace(rows.sum_up(held), held=held_of(held, rows.joint))
        return rows.sum_up([item for item in items if isinstance(item, NodeEntry)])

    def has_object(self, kind: str, key: str) -> bool:
        """Return whether an object exists."""
        if kind in (Kind.NODE, Kind.NODECLAIM):
            return self._node_of(self._view(), kind, key) is not None
        return kind in _KINDS and key in self._view().state.of(Kind(kind))

    def node_key(self, kind: str, key: str) -> str:
        """Return the row key of the node that an object is or runs on; empty if there is none."""
        node = self._node_of(self._view(), kind, key)
        return node.key if node is not None else ""

    @staticmethod
    def _node_of(view: ClusterView, kind: str, key: str) -> NodeEntry | None:
        state = view.state
        if kind in (Kind.NODE, Kind.NODECLAIM):
            node = state.node_of(key) if kind == Kind.NODECLAIM else None
            return view.node_of(node.name if node is not None else key) or view.node_entry(claim_key(key))
        pod = state.pods.get(key) if kind == Kind.POD else None
        return view.node_of(pod.node_name) if pod is not None else None

    def around(self, name: str, of: str, now_ns: int) -> Around | None:
        """Return the facts around the rows of a list; None if unknown."""
        around = self._list(name).around
        return around(self._view(), of, now_ns) if around is not None else None

    def _list(self, name: str) -> List:
        result = self._built_lists.get(name)
        if result is None:
            result = self._built_lists[name] = self._lists[name]()
        return result


def _in_order_of(keys: Sequence[str], arranged: Arranged) -> Arranged:
    """Return rows in the order of earlier ones, the new rows last."""
    places = {key: place for place, key in enumerate(keys)}
    order = sorted(range(len(arranged.keys)), key=lambda index: places.get(arranged.keys[index], len(places)))
    return arranged._replace(
        items=[arranged.items[index] for index in order], keys=tuple(arranged.keys[index] for index in order)
    )


def _joint_of(view: ClusterView) -> JointFigures | None:
    return view.analysis.joint if view.analysis is not None else None


def _sums_of(view: ClusterView) -> Callable[[Sequence[NodeEntry]], ClusterTotals]:
    """Return a function that sums nodes with a view's settings, without holding the view."""
    hidden, has_prices = view.hidden, not view.evidence.price_settings.is_disabled
    analysis = view.analysis

    def sum_up(entries: Sequence[NodeEntry]) -> ClusterTotals:
        pods = sum(entry.pods.requested for entry in entries)
        return totals_of(entries, pods, hidden=hidden, has_prices=has_prices, analysis=analysis)

    return sum_up


def _is_alike(left: RowQuery, right: RowQuery) -> bool:
    """Whether two queries ask for the same rows, at any instant."""
    return msgspec.structs.replace(left, now_ns=0) == msgspec.structs.replace(right, now_ns=0)
