"""`karptui pools`: the Pools screen as a table, JSON or CSV, and one NodePool at length."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from msgspec.structs import replace

from karptui.cli.listing import (
    has_lines_above,
    item_named,
    print_json,
    print_lines,
    print_rows,
    refuse_unseen,
    report,
    rows_of,
)
from karptui.cli.options import add_cluster_flags, add_price_flags, add_row_flags
from karptui.cli.streams import put
from karptui.decode.kinds import Kind
from karptui.views.sanitize import page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from karptui.cli.loading import Loaded
    from karptui.disruption.churn.report import Churn
    from karptui.session.cluster_view import ClusterView
    from karptui.session.pools import PoolRow


_MOST_DESCRIBED = 10
"""NodePools that are described below the table."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pool", metavar="NAME", help="everything about this NodePool, and the DaemonSets it carries")
    add_cluster_flags(parser)
    add_price_flags(parser)
    add_row_flags(parser, labels_of="NodePools")


def run(args: argparse.Namespace) -> int:
    """Print NodePools, or one. Status 1 if something is missing."""
    from karptui.cli.loading import load, with_notes
    from karptui.session.pools import pool_rows, with_last_hour

    needed = (Kind.NODEPOOL, Kind.NODECLASS, Kind.NODE, Kind.NODECLAIM, Kind.DAEMONSET, Kind.POD)
    loaded = load(args, needed)
    refuse_unseen(loaded, Kind.NODEPOOL)
    view, notes = compared(loaded.view, loaded.now_ns)
    loaded = with_notes(replace(loaded, view=view), notes)
    rows = with_last_hour(pool_rows(view), churn_of(loaded))
    if args.pool is None:
        _print_rows(rows, args, loaded)
    else:
        _print_pool(item_named("NodePool", args.pool, {pool.name: pool for pool in rows}), args, loaded)
    return report(loaded)


def churn_of(loaded: Loaded) -> Churn | None:
    from karptui.session.churn import ChurnBook

    return ChurnBook().churn(loaded.view, loaded.now_ns)


def compared(view: ClusterView, now_ns: int) -> tuple[ClusterView, tuple[str, ...]]:
    """Return the view with budgets and the NodePools that pods match, and the assumptions."""
    from karptui.disruption.analysis_steps import AnalysisSteps, analyse_all
    from karptui.session.prepare import prepare_view
    from karptui.session.readiness import unready_because

    if reason := unready_because(view):
        return view, (f"overlap and budgets are left out: {reason}",)
    prepared, notes = prepare_view(view, now_ns)
    steps = AnalysisSteps(prepared, view.state.generation)
    analyse_all(steps, ())
    for _ in steps.compare_pools():
        pass
    return view.with_answers(analysis=steps.analysis), notes


def _print_rows(rows: Sequence[PoolRow], args: argparse.Namespace, loaded: Loaded) -> None:
    from karptui.session.pools import pools_around
    from karptui.session.row_server import overview_of
    from karptui.views.pools.columns import pools_table
    from karptui.views.pools.overlap import cluster_lines, cost_text
    from karptui.views.pools.sentences import pool_sentences

    shown = rows_of(pools_table(has_prices=not args.disable_pricing), rows, args, loaded.now_ns)
    print_rows(shown, args)
    if args.output in ("table", "wide"):
        stories = [line for row in shown.items[:_MOST_DESCRIBED] for line in pool_sentences(row)]
        around = pools_around(loaded.view, loaded.now_ns)
        cost = "" if args.disable_pricing else cost_text(around)
        print_lines(stories, is_error=True)
        if (more := len(shown.items) - _MOST_DESCRIBED) > 0:
            put(page(f"{more:,} more NodePools: --pool NAME describes one"), is_error=True)
        print_lines(cluster_lines(around, overview_of(loaded.view), loaded.now_ns), is_error=True)
        if cost:
            put(page(f"cost of all pools: {cost}"), is_error=True)


def _print_pool(row: PoolRow, args: argparse.Namespace, loaded: Loaded) -> None:
    from karptui.session.pools import daemon_rows
    from karptui.views.pools.columns import pools_table
    from karptui.views.pools.detail import DAEMONSETS, detail_lines, title_parts

    rows = rows_of(DAEMONSETS, daemon_rows(loaded.view, row.name), args, loaded.now_ns)
    if args.output == "json":
        document = {**pools_table().values(row, loaded.now_ns), "daemonsets": rows.values()}
        print_json(document)
        return
    if has_lines_above(args):
        print_lines((title_parts(row, has_prices=not args.disable_pricing), *detail_lines(row), ()))
    print_rows(rows, args)
