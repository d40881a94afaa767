"""Answers what screens ask for at the border: filters and sorts lists, and gives their rows by window."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

import msgspec

from karptui.decode.kinds import Kind
from karptui.karpenter.nodeclaim import claim_key
from karptui.kube.recent import LastAnswer
from karptui.session.border import (
    AroundFound,
    AroundWanted,
    Keys,
    KeysWanted,
    ObjectFound,
    ObjectWanted,
    Overview,
    PickWanted,
    Position,
    PositionWanted,
    RowsFound,
    RowsWanted,
    RowWindow,
    TotalsWanted,
    VerdictFound,
    VerdictWanted,
    WindowWanted,
)
from karptui.session.cluster_view import ClusterView
from karptui.session.costs import ClusterTotals, held_of, totals_of
from karptui.session.nodes import NodeEntry
from karptui.session.overview import overview_of
from karptui.session.readiness import is_out_of_reach

if TYPE_CHECKING:
    from karptui.disruption.joint_saving import JointFigures
    from karptui.session.facts import Around, Fact
    from karptui.session.questions import FoundT, Question
    from karptui.verdict.finding import ClusterFinding

Answerer: TypeAlias = Callable[[ClusterView, Any], Any]
"""Tells of a view what a question wants."""
KEPT: Final = 2
"""Orders that rows of a list can still be fetched from: that on the screen, and the one that takes its place."""
MOST_KEPT: Final = 8
"""The same of a list that has the rows of several."""
_KINDS: Final = frozenset(str(kind) for kind in Kind)


class Arranged(NamedTuple):
    """Items in the order of their rows."""

    items: Sequence[Any]
    keys: Sequence[str]
    is_timed: bool = False
    """Whether another instant might bring other rows."""
    shown: int = 0
    """How many they are without the headings of groups, and with what those hide."""


class List(NamedTuple):
    """A list that rows can be asked of."""

    items: Callable[[ClusterView, RowsWanted], Sequence[Any]]
    """Every item of a view, also those that the filter leaves out; the same object while nothing about them changes."""
    arrange: Callable[[Sequence[Any], RowsWanted], Arranged]
    """Filters and sorts items."""
    around: Callable[[ClusterView, AroundWanted], Around | None] | None = None
    """What stands around the rows; None where nothing does."""
    nodes: Callable[[Sequence[Any]], Sequence[NodeEntry]] | None = None
    """The nodes that rows hold, where what they cost is said whatever else of prices is; None for rows of nodes."""


class _Rows(NamedTuple):
    """Rows in an order, and what they were made from."""

    source: Sequence[Any]
    recipe: RowsWanted
    arranged: Arranged
    found: RowsFound
    sum_up: Callable[[Sequence[NodeEntry]], ClusterTotals]
    joint: JointFigures | None


class RowServer:
    """Keeps the orders of rows that were asked for last; may be asked from any thread."""

    def __init__(
        self,
        view: Callable[[], ClusterView],
        lists: Mapping[str, Callable[[], List]],
        answers: Mapping[type[Question[Any]], Callable[[], Answerer]],
    ) -> None:
        """Make a server that has arranged nothing yet.

        Args:
            view: Returns the newest generation of the cluster.
            lists: The lists there are by name, each made when it is first asked for.
            answers: What answers questions, by their type; each made when it is first asked.
        """
        self._view = view
        self._lists = lists
        self._answers = answers
        self._answering: dict[type[Question[Any]], Answerer] = {}
        self._known: dict[str, List] = {}
        self._lock = threading.Lock()
        self._rows: dict[int, _Rows] = {}
        self._number = 0
        self._overview: LastAnswer[Overview] = LastAnswer()
        self._verdict: LastAnswer[tuple[ClusterFinding, ...]] = LastAnswer()

    def overview(self) -> Overview:
        """Return how much is known of the cluster; the same object for the same generation."""
        view = self._view()
        return self._overview.get((view,), lambda: overview_of(view))

    def verdict(self, wanted: VerdictWanted) -> VerdictFound:
        """Return what holds or endangers the cluster; worked out once for what is known of it.

        Nothing while what keeps nodes is being looked into; where a missing permission hides that, what is known.
        """
        view = self._view()
        if view.analysis is None and not is_out_of_reach(view):
            return VerdictFound()
        from karptui.session.verdict import verdict_of_view  # noqa: PLC0415 - the first rows wait for no engine

        known = (view.analysis or view, view.pending, view.advice, view.hidden, view.state.nodepools)
        return VerdictFound(findings=self._verdict.get(known, lambda: verdict_of_view(view, wanted.now_ns)))

    def rows(self, wanted: RowsWanted) -> RowsFound:
        """Filter and sort a list; the same rows as before while nothing that counts has changed."""
        view = self._view()
        known = self._list(wanted.list)
        source = known.items(view, wanted)
        before = self._last(wanted, source)
        if before is not None:
            return before
        arranged = known.arrange(source, wanted)
        with self._lock:
            self._number += 1
            found = RowsFound(
                list=wanted.list,
                number=self._number,
                shown=arranged.shown,
                lines=len(arranged.items),
                total=len(source),
            )
            self._rows[found.number] = _Rows(source, wanted, arranged, found, _sums_of(view), _joint_of(view))
            numbers = [number for number, rows in self._rows.items() if rows.recipe.list == wanted.list]
            of_same = [number for number in numbers if self._rows[number].recipe.of == wanted.of]
            for number in {*of_same[:-KEPT], *numbers[:-MOST_KEPT]}:
                del self._rows[number]
        return found

    def _last(self, wanted: RowsWanted, source: Sequence[Any]) -> RowsFound | None:
        with self._lock:
            for number, rows in reversed(self._rows.items()):
                if rows.source is source and not rows.arranged.is_timed and _is_alike(rows.recipe, wanted):
                    self._rows[number] = self._rows.pop(number)
                    return rows.found
        return None

    def window(self, wanted: WindowWanted) -> RowWindow:
        """Return some rows one after the other; fewer where they end, none where newer ones have taken their place."""
        arranged = self._arranged(wanted.number)
        seen = slice(wanted.offset, wanted.offset + wanted.count)
        return RowWindow(keys=tuple(arranged.keys[seen]), facts=cast("tuple[Fact, ...]", tuple(arranged.items[seen])))

    def keys(self, wanted: KeysWanted) -> Keys:
        """Return the keys of all rows."""
        return Keys(keys=tuple(self._arranged(wanted.number).keys))

    def position(self, wanted: PositionWanted) -> Position:
        """Return where a row stands."""
        try:
            return Position(index=self._arranged(wanted.number).keys.index(wanted.key))
        except ValueError:
            return Position(index=None)

    def pick(self, wanted: PickWanted) -> RowWindow:
        """Return single rows in their order."""
        arranged = self._arranged(wanted.number)
        both = [pair for pair in zip(arranged.keys, arranged.items, strict=True) if pair[0] in wanted.keys]
        return RowWindow(keys=tuple(key for key, _ in both), facts=tuple(item for _, item in both))

    def totals(self, wanted: TotalsWanted) -> ClusterTotals:
        """Return what the nodes of some rows hold and cost together."""
        rows = self._rows.get(wanted.number)
        if rows is None:
            return ClusterTotals()
        keys = wanted.keys
        arranged, nodes = rows.arranged, self._list(rows.found.list).nodes
        items = [item for key, item in zip(arranged.keys, arranged.items, strict=True) if keys is None or key in keys]
        if nodes is not None:
            held = nodes(items)
            return msgspec.structs.replace(rows.sum_up(held), held=held_of(held, rows.joint))
        return rows.sum_up([item for item in items if isinstance(item, NodeEntry)])

    def object(self, wanted: ObjectWanted) -> ObjectFound:
        """Return whether an object is there, and where its node is found."""
        view, key = self._view(), wanted.key
        state, kind = view.state, wanted.kind
        if kind in (Kind.NODE, Kind.NODECLAIM):
            node = state.node_of(key) if kind == Kind.NODECLAIM else None
            entry = view.node_of(node.name if node is not None else key) or view.node_entry(claim_key(key))
            return ObjectFound(is_there=entry is not None, node_key=entry.key if entry is not None else "")
        if kind == Kind.POD:
            pod = state.pods.get(key)
            entry = view.node_of(pod.node_name) if pod is not None else None
            return ObjectFound(is_there=pod is not None, node_key=entry.key if entry is not None else "")
        return ObjectFound(is_there=kind in _KINDS and key in state.of(Kind(kind)))

    def around(self, wanted: AroundWanted) -> AroundFound:
        """Return what stands around the rows of a list."""
        around = self._list(wanted.list).around
        return AroundFound(fact=around(self._view(), wanted) if around is not None else None)

    def ask(self, wanted: Question[FoundT]) -> FoundT:
        """Answer a question."""
        kind = type(wanted)
        answer = self._answering.get(kind)
        if answer is None:
            answer = self._answering[kind] = self._answers[kind]()
        found: FoundT = answer(self._view(), wanted)
        return found

    def _list(self, name: str) -> List:
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = self._lists[name]()
        return known

    def _arranged(self, number: int) -> Arranged:
        rows = self._rows.get(number)
        return rows.arranged if rows is not None else Arranged((), ())


def _joint_of(view: ClusterView) -> JointFigures | None:
    """Return the joint removals that a view knows."""
    return view.analysis.joint if view.analysis is not None else None


def _sums_of(view: ClusterView) -> Callable[[Sequence[NodeEntry]], ClusterTotals]:
    """Return what sums nodes up as a view does, without holding the view."""
    hidden, has_prices = view.hidden, not view.evidence.price_settings.is_disabled
    analysis = view.analysis

    def sum_up(entries: Sequence[NodeEntry]) -> ClusterTotals:
        pods = sum(entry.pods.requested for entry in entries)
        return totals_of(entries, pods, hidden=hidden, has_prices=has_prices, analysis=analysis)

    return sum_up


def _is_alike(left: RowsWanted, right: RowsWanted) -> bool:
    """Whether the same rows are wanted, at whatever instant."""
    return _recipe(left) == _recipe(right)


def _recipe(wanted: RowsWanted) -> tuple[object, ...]:
    groups = wanted.group_by, wanted.is_folded, wanted.other_way, wanted.opens_all
    order = wanted.sort, wanted.is_descending
    return wanted.list, wanted.of, wanted.filter_text, *order, wanted.is_notable_only, *groups
