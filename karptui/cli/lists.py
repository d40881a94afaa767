"""Commands that print one table: nodes, pods, pending, claims, capacity, budgets and events.

`LISTS` declares them. A command that prints more has its own module, `karptui/cli/<command>.py`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from karptui.cli.listing import (
    has_lines_above,
    print_lines,
    print_rows,
    refuse_unseen,
    report,
    rows_of,
    width_of_terminal,
)
from karptui.cli.loading import Loaded, analysed, load, with_notes
from karptui.cli.options import (
    add_cluster_flags,
    add_column_flags,
    add_namespace_flags,
    add_price_flags,
    add_row_flags,
    add_usage_flag,
    add_why_flags,
)
from karptui.cli.streams import UsageError
from karptui.clock import LocalZone
from karptui.decode.kinds import Kind
from karptui.karpenter.nodeclaim import claim_key

if TYPE_CHECKING:
    from karptui.session.pods import PodEntry


class ListCommand(NamedTuple):
    """A command that reads a cluster and prints one table."""

    configure: Callable[[argparse.ArgumentParser], None]
    """Adds its flags."""
    needed: tuple[Kind, ...]
    """Kinds that must have arrived."""
    listed: tuple[Kind, ...]
    """Kinds of the rows: without permission to read any of them the command prints nothing."""
    show: Callable[[argparse.Namespace, Loaded], Loaded]
    """Prints the rows; returns the cluster with notes added."""
    is_listed_only: bool = False
    """Whether the rows only list objects, without prices or settings."""
    is_analysed: bool = False
    """Whether rows show blockers; with ``--simulate`` also the simulated removals."""
    prepare: Callable[[argparse.Namespace], None] = lambda _: None
    """Completes the flags before anything is read."""

    def run(self, args: argparse.Namespace) -> int:
        """Print the rows. Status 1 if something is missing."""
        self.prepare(args)
        loaded = load(args, self.needed, is_listed=self.is_listed_only)
        refuse_unseen(loaded, *self.listed)
        if self.is_analysed:
            loaded = analysed(loaded, simulates=getattr(args, "simulate", False))
        return report(self.show(args, loaded))


def _row_flags(parser: argparse.ArgumentParser, **given: Any) -> None:
    add_cluster_flags(parser)
    add_price_flags(parser)
    add_row_flags(parser, **given)


def _nodes_flags(parser: argparse.ArgumentParser) -> None:
    _row_flags(parser, labels_of="nodes", sort_flags=("--node-sort",))
    add_usage_flag(parser)
    add_why_flags(parser)
    parser.add_argument("--node-selector", dest="selector", metavar="K=V", help="the same as -l")
    add_column_flags(parser, default=())


def _nodes(args: argparse.Namespace, loaded: Loaded) -> Loaded:
    from karptui.views.nodes.columns import nodes_table

    table = nodes_table(tuple(args.extra_labels), has_prices=not args.disable_pricing, resources=tuple(args.resources))
    print_rows(rows_of(table, loaded.view.node_entries, args, loaded.now_ns), args)
    return loaded


def _pods_flags(parser: argparse.ArgumentParser) -> None:
    add_cluster_flags(parser)
    add_row_flags(parser, labels_of="pods")
    add_usage_flag(parser)
    add_namespace_flags(parser, "only pods of this namespace; all by default")
    parser.add_argument("--node-selector", metavar="K=V", default="", help="only pods on nodes with these labels")


def _pods(args: argparse.Namespace, loaded: Loaded) -> Loaded:
    from karptui.views.pods import TABLE

    rows = rows_of(TABLE, _chosen_pods(args, loaded), args, loaded.now_ns)
    print_rows(rows, args, total=len(loaded.view.pod_entries))
    return loaded


def _chosen_pods(args: argparse.Namespace, loaded: Loaded) -> list[PodEntry]:
    from karptui.views.filters import parse_label_query

    entries = list(loaded.view.pod_entries)
    if args.namespace and not args.all_namespaces:
        entries = [entry for entry in entries if entry.pod.namespace == args.namespace]
    if args.node_selector:
        try:
            tests = parse_label_query(args.node_selector)
        except ValueError as error:
            raise UsageError(f"--node-selector: {error}") from error
        nodes = loaded.view.state.nodes
        fitting = {name for name, node in nodes.items() if all(test.matches(node.labels) for test in tests)}
        entries = [entry for entry in entries if entry.pod.node_name in fitting]
    return entries


def _pending_flags(parser: argparse.ArgumentParser) -> None:
    add_namespace_flags(parser, "only pods of this namespace; all by default")
    _row_flags(parser, labels_of="pods")


def _pending(args: argparse.Namespace, loaded: Loaded) -> Loaded:
    """Print pending pods grouped by cause; below the table, contradictions between the messages about them."""
    from karptui.pending.report_steps import report_of_pending
    from karptui.session.pending_report import PendingEntry
    from karptui.session.prepare import prepare_view
    from karptui.session.readiness import may_list_events
    from karptui.views.pending.columns import TABLE
    from karptui.views.pending.disagreements import disagreement_lines
    from karptui.views.row import Tone

    prepared, notes = prepare_view(loaded.view, loaded.now_ns)
    pending_report = report_of_pending(
        prepared,
        loaded.view.state,
        prices=loaded.view.evidence.price_settings,
        version=loaded.view.evidence.karpenter_version,
    )
    entries = [PendingEntry(group, may_list_events(loaded.view)) for group in pending_report.groups]
    if args.namespace and not args.all_namespaces:
        entries = [entry for entry in entries if entry.group.first.namespace == args.namespace]
    rows = rows_of(TABLE, entries, args, loaded.now_ns)
    print_rows(rows, args)
    if args.output in ("table", "wide"):
        groups = [entry.group for entry in rows.items]
        lines = [((f"{group.name}: ", Tone.NORMAL), *line) for group in groups for line in disagreement_lines(group)]
        print_lines(lines, is_error=True)
    return with_notes(loaded, notes)


def _claims(args: argparse.Namespace, loaded: Loaded) -> Loaded:
    from karptui.session.claims import claim_entries
    from karptui.views.claims import TABLE

    drifted = [claim_key(claim.name) for claim in loaded.view.state.nodeclaims.values() if claim.is_true("Drifted")]
    loaded = analysed(loaded, simulates=False, nodes=drifted)
    print_rows(rows_of(TABLE, claim_entries(loaded.view), args, loaded.now_ns), args)
    return loaded


def _capacity_flags(parser: argparse.ArgumentParser) -> None:
    from karptui.cli.dollars import add_dollars_flags, capacity_grouping

    _row_flags(parser, labels_of=None)
    add_why_flags(parser)
    parser.add_argument(
        "--by",
        type=capacity_grouping,
        metavar="{zone,pool,type,namespace,owner,label=KEY}",
        default="zone",
        help="group nodes by zone and capacity type (the default), NodePool, or instance type; or divide their prices"
        " between pods by namespace, owner or a label",
    )
    add_dollars_flags(parser)
    parser.add_argument(
        "--packing",
        choices=("cpu", "memory"),
        help="instead of the table a picture: NodePools as boxes, nodes as bins, pods as blocks",
    )


def _prepare_capacity(args: argparse.Namespace) -> None:
    from karptui.cli.dollars import prepare_dollars

    prepare_dollars(args)


def _capacity(args: argparse.Namespace, loaded: Loaded) -> Loaded:
    """Print the parts of the cluster, below a line about its concentration, or the picture of ``--packing``."""
    from karptui.cli.dollars import is_of_pods, print_dollars
    from karptui.session.capacity import capacity_entries
    from karptui.session.churn import ChurnBook
    from karptui.session.packing import bins_of
    from karptui.views.capacity import capacity_sentence, capacity_table
    from karptui.views.packing import packing_lines

    if args.packing is not None and args.output in ("json", "csv"):
        raise UsageError("--packing is a picture; karptui packing -o json has its figures")
    if is_of_pods(args):
        return print_dollars(args, loaded)
    churn = ChurnBook().churn(loaded.view, loaded.now_ns)
    joint = loaded.view.analysis.joint if loaded.view.analysis is not None else None
    sees_nodes = Kind.NODE not in loaded.view.hidden
    entries = capacity_entries(loaded.view.node_entries, args.by, churn, joint, sees_nodes=sees_nodes)
    table = capacity_table(args.by, has_prices=not args.disable_pricing)
    rows = rows_of(table, entries, args, loaded.now_ns)
    if args.packing is not None:
        print_lines(packing_lines(bins_of(loaded.view), args.packing, width_of_terminal()))
        return loaded
    if has_lines_above(args) and (line := capacity_sentence(entries, args.by)):
        print_lines((line, ()))
    print_rows(rows, args)
    return loaded


def _budgets(args: argparse.Namespace, loaded: Loaded) -> Loaded:
    from karptui.session.budgets import budget_entries
    from karptui.views.budgets.columns import budgets_table

    print_rows(rows_of(budgets_table(LocalZone()), budget_entries(loaded.view), args, loaded.now_ns), args)
    return loaded


def _events_flags(parser: argparse.ArgumentParser) -> None:
    add_cluster_flags(parser)
    add_row_flags(parser, labels_of=None)


def _events(args: argparse.Namespace, loaded: Loaded) -> Loaded:
    from karptui.session.events import Timeline
    from karptui.views.events import TABLE

    print_rows(rows_of(TABLE, Timeline().entries(loaded.view), args, loaded.now_ns), args)
    return loaded


_NODES: Final = (Kind.NODE, Kind.NODECLAIM)
_PENDING: Final = (Kind.POD, *_NODES, Kind.NODEPOOL, Kind.NODECLASS, Kind.DAEMONSET, Kind.EVENT)

LISTS: Final[Mapping[str, ListCommand]] = MappingProxyType(
    {
        "nodes": ListCommand(_nodes_flags, (*_NODES, Kind.POD), _NODES, _nodes, is_analysed=True),
        "pods": ListCommand(_pods_flags, (Kind.POD, Kind.NODE, Kind.PDB), (Kind.POD,), _pods, is_listed_only=True),
        "pending": ListCommand(_pending_flags, _PENDING, (Kind.POD,), _pending),
        "claims": ListCommand(
            partial(_row_flags, labels_of="NodeClaims"), (*_NODES, Kind.NODEPOOL, Kind.POD), (Kind.NODECLAIM,), _claims
        ),
        "capacity": ListCommand(
            _capacity_flags, (*_NODES, Kind.POD), _NODES, _capacity, is_analysed=True, prepare=_prepare_capacity
        ),
        "budgets": ListCommand(
            partial(_row_flags, labels_of="NodePools"),
            (*_NODES, Kind.NODEPOOL, Kind.POD),
            (Kind.NODEPOOL,),
            _budgets,
            is_analysed=True,
        ),
        "events": ListCommand(
            _events_flags, (Kind.EVENT, *_NODES), (Kind.EVENT, *_NODES), _events, is_listed_only=True
        ),
    }
)
"""The commands by name."""
