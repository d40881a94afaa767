"""The lists whose rows screens ask for, as the settings have them."""

# ruff: noqa: PLC0415 - each list is imported when it is first looked at

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from karptui.config import Config
from karptui.kube.recent import LastAnswer
from karptui.session.facts import AdviceAround, TypesAround, advice_around
from karptui.session.nodes import going_nodes
from karptui.session.row_server import List
from karptui.views.nodes.columns import nodes_spec
from karptui.views.served import served

if TYPE_CHECKING:
    from karptui.disruption.analysis import NextReport
    from karptui.disruption.churn.report import Churn
    from karptui.session.answers import RowQuery
    from karptui.session.churn import ChurnBook, ChurnEntry, ReplacedClaim
    from karptui.session.cluster_view import ClusterView
    from karptui.session.facts import Around
    from karptui.session.nodes import NodeEntry
    from karptui.session.types import TypeEntry


def lists_of(config: Config) -> Mapping[str, Callable[[], List]]:
    """Return the lists there are by name."""
    churn = _Churn()
    return {
        "nodes": lambda: served(nodes_spec(config), lambda view, _: view.node_entries),
        "pods": _pods,
        "events": _events,
        "claims": _claims,
        "budgets": _budgets,
        "capacity": lambda: _capacity(config, churn),
        "dollars": _dollars,
        "churn": churn.pools,
        "replacements": churn.replacements,
        "next": _next,
        "pending": _pending,
        "pools": lambda: _pools(config, churn),
        "daemonsets": _daemonsets,
        "types": _types,
        "sources": _sources,
        "advice": _advice,
        "blockers": _blockers,
        "types of a pool": lambda: _types_of_pool(config),
    }


def _pods() -> List:
    from karptui.views.pods import TABLE

    return served(TABLE, lambda view, _: view.pod_entries)


def _events() -> List:
    from karptui.session.events import Timeline
    from karptui.views.events import TABLE

    timeline = Timeline()
    return served(TABLE, lambda view, _: timeline.entries(view))


def _claims() -> List:
    from karptui.session.claims import ClaimEntry, claim_entries, expiries_of
    from karptui.views.claims import TABLE

    last: LastAnswer[tuple[ClaimEntry, ...]] = LastAnswer()

    def entries(view: ClusterView) -> tuple[ClaimEntry, ...]:
        made_from = view.state.nodeclaims, view.state.nodes, view.analysis
        return last.get(made_from, lambda: claim_entries(view))

    return served(TABLE, lambda view, _: entries(view), lambda view, of, _: expiries_of(entries(view), of))


def _budgets() -> List:
    from karptui.clock import LocalZone
    from karptui.session.budgets import BudgetEntry, budget_entries
    from karptui.views.budgets.columns import budgets_table

    last: LastAnswer[tuple[BudgetEntry, ...]] = LastAnswer()

    def entries(view: ClusterView) -> tuple[BudgetEntry, ...]:
        values = view.analysis.budgets.values() if view.analysis is not None else (None,)
        return last.get((*values, *view.state.nodepools.values()), lambda: budget_entries(view))

    return served(
        budgets_table(LocalZone()),
        lambda view, _: entries(view),
        lambda view, of, _: tuple(entry for entry in entries(view) if entry.pool.name == of),
    )


def _capacity(config: Config, churn: _Churn) -> List:
    """Return the capacity of the cluster, grouped by zone, NodePool or type."""
    from karptui.decode.kinds import Kind
    from karptui.session.capacity import GROUPINGS, CapacityEntry, capacity_entries
    from karptui.views.capacity import capacity_table

    last: LastAnswer[tuple[CapacityEntry, ...]] = LastAnswer()

    def entries(view: ClusterView, of: str, now_ns: int) -> tuple[CapacityEntry, ...]:
        current, grouping = churn.current(view, now_ns), of or GROUPINGS[0]
        made_of = (view.node_entries, current, view.analysis)
        joint = view.analysis.joint if view.analysis is not None else None
        sees_nodes = Kind.NODE not in view.hidden
        return last.get(
            made_of,
            lambda: capacity_entries(view.node_entries, grouping, current, joint, sees_nodes=sees_nodes),
            equals=(grouping, sees_nodes),
        )

    table = capacity_table(has_prices=not config.disable_pricing)
    return served(table, lambda view, query: entries(view, query.of, query.now_ns), entries)


def _dollars() -> List:
    """Return whose dollars they are, by namespace, owner or label."""
    from karptui.session.dollars import Dollars, Payer, dollars_of
    from karptui.views.dollars import dollars_table

    last: LastAnswer[Dollars] = LastAnswer()

    def dollars(view: ClusterView, of: str) -> Dollars:
        made_of = (view.node_entries, view.pod_entries)
        return last.get(made_of, lambda: dollars_of(view.node_entries, view.pod_entries, of), equals=(of,))

    def items(view: ClusterView, query: RowQuery) -> tuple[Payer, ...]:
        return dollars(view, query.of).payers

    return served(dollars_table("namespace"), items, lambda view, of, _: dollars(view, of))


class _Churn:
    """The lists about churn, all built from one answer."""

    def __init__(self) -> None:
        self._book: ChurnBook | None = None

    def _churn_book(self) -> ChurnBook:
        from karptui.session.churn import ChurnBook

        if self._book is None:
            self._book = ChurnBook()
        return self._book

    def current(self, view: ClusterView, now_ns: int) -> Churn | None:
        """Return the cluster's churn; None if unknown."""
        return self._churn_book().churn(view, now_ns)

    def pools(self) -> List:
        from karptui.session.churn import churn_entries
        from karptui.views.churn.columns import TABLE

        last: LastAnswer[tuple[ChurnEntry, ...]] = LastAnswer()

        def items(view: ClusterView, query: RowQuery) -> tuple[ChurnEntry, ...]:
            churn = self._churn_book().churn(view, query.now_ns)
            return last.get((churn, view.evidence), lambda: churn_entries(view, churn)) if churn is not None else ()

        return served(TABLE, items, self._around)

    def replacements(self) -> List:
        """Return the list of NodeClaims that were removed; of a NodePool, or of all."""
        from karptui.session.churn import replacements
        from karptui.views.churn.replacements import TABLE

        last: LastAnswer[tuple[ReplacedClaim, ...]] = LastAnswer()

        def items(view: ClusterView, query: RowQuery) -> tuple[ReplacedClaim, ...]:
            churn, is_of_one, pool = self._churn_book().churn(view, query.now_ns), *_pool_meant(query.of)
            if churn is None:
                return ()
            return last.get((churn,), lambda: replacements(churn, pool if is_of_one else None), equals=(query.of,))

        return served(TABLE, items, self._around)

    def _around(self, _view: ClusterView, _of: str, _now_ns: int) -> Churn | None:
        return self._churn_book().latest


def _pool_meant(of: str) -> tuple[bool, str]:
    """Return whether the rows are of one NodePool, and its name; empty for nodes without NodePool."""
    kind, _, name = of.partition("/")
    return kind == "pool", name


def _next() -> List:
    from karptui.views.next import TABLE

    last: LastAnswer[tuple[NodeEntry, ...]] = LastAnswer()

    def around(view: ClusterView, _of: str, _now_ns: int) -> NextReport | None:
        return view.analysis.next if view.analysis is not None else None

    return served(
        TABLE,
        lambda view, _: last.get((view.node_entries,), lambda: going_nodes(view.node_entries)),
        around,
    )


def _pending() -> List:
    from karptui.session.pending import pending_entries
    from karptui.session.pending_report import PendingEntry
    from karptui.views.pending.columns import TABLE

    last: LastAnswer[tuple[PendingEntry, ...]] = LastAnswer()
    return served(TABLE, lambda view, _: last.get((view.pending, view.state), lambda: pending_entries(view)))


def _pools(config: Config, churn: _Churn) -> List:
    from karptui.session.pools import PoolRow, pool_rows, pools_around, with_last_hour
    from karptui.views.pools.columns import pools_table

    last: LastAnswer[tuple[PoolRow, ...]] = LastAnswer()

    def items(view: ClusterView, query: RowQuery) -> tuple[PoolRow, ...]:
        rows, current = pool_rows(view), churn.current(view, query.now_ns)
        return last.get((rows, current), lambda: with_last_hour(rows, current))

    def around(view: ClusterView, _of: str, now_ns: int) -> Around:
        return pools_around(view, now_ns)

    return served(pools_table(has_prices=not config.disable_pricing), items, around)


def _daemonsets() -> List:
    """Return the DaemonSets as a new node of a NodePool meets them."""
    from karptui.session.pools import DaemonRow, PoolRow, daemon_rows, pool_rows
    from karptui.session.types_of_pools import types_of_pool
    from karptui.views.pools.detail import DAEMONSETS

    last: LastAnswer[tuple[DaemonRow, ...]] = LastAnswer()

    def items(view: ClusterView, query: RowQuery) -> tuple[DaemonRow, ...]:
        types = types_of_pool(view, query.of)
        return last.get((types,), lambda: daemon_rows(view, query.of)) if types is not None else ()

    def around(view: ClusterView, of: str, _now_ns: int) -> PoolRow | None:
        return next((row for row in pool_rows(view) if row.name == of), None)

    return served(DAEMONSETS, items, around)


def _types() -> List:
    from karptui.session.types_of_pools import pool_entries
    from karptui.views.types.pools import TABLE

    return served(TABLE, lambda view, _: pool_entries(view))


def _advice() -> List:
    from karptui.session.advice import AdviceEntry, AdviceGrouping, AdviceLine, advice_entries, grouped
    from karptui.session.grouping import Folding
    from karptui.views.advice import TABLE

    last: LastAnswer[Sequence[AdviceLine]] = LastAnswer()

    def around(view: ClusterView, of: str, _now_ns: int) -> AdviceAround | None:
        return advice_around(view.advice, of)

    def in_groups(lines: Sequence[AdviceLine], query: RowQuery, _: int) -> Sequence[AdviceLine]:
        entries = [line for line in lines if isinstance(line, AdviceEntry)]
        return grouped(
            entries,
            AdviceGrouping(query.group_by or AdviceGrouping.NOTHING),
            Folding(query.is_folded, query.other_way),
        )

    def items(view: ClusterView, _: RowQuery) -> Sequence[AdviceLine]:
        return last.get((view.advice,), lambda: advice_entries(view.advice))

    return served(TABLE, items, around, grouped=in_groups)


def _blockers() -> List:
    from karptui.serving.blockers import blockers

    return blockers()


def _sources() -> List:
    from karptui.decode.kinds import KindStatus
    from karptui.session.sources import source_rows
    from karptui.views.sources import TABLE

    last: LastAnswer[tuple[KindStatus, ...]] = LastAnswer()
    return served(TABLE, lambda view, query: last.get((view,), lambda: source_rows(view, query.now_ns)))


def _types_of_pool(config: Config) -> List:
    """Return the types of a NodePool: ``wanted/NAME`` has the allowed types, ``all/NAME`` all."""
    from karptui.session.types_of_pools import pool_entries, types_of_pool
    from karptui.views.types.columns import types_table

    def items(view: ClusterView, query: RowQuery) -> tuple[TypeEntry, ...]:
        scope, _, name = query.of.partition("/")
        types = types_of_pool(view, name)
        if types is None:
            return ()
        return types.types if scope == "all" else types.wanted

    def around(view: ClusterView, of: str, _now_ns: int) -> TypesAround:
        pools = {entry.name: entry for entry in pool_entries(view)}
        return TypesAround(tuple(pools), pools.get(of.partition("/")[2]))

    return served(types_table(has_prices=not config.disable_pricing), items, around)
