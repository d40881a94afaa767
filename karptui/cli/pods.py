"""`karptui pods`: the Pods screen as a table, JSON or CSV."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from karptui.cli.errors import UsageError, fail
from karptui.cli.listing import print_rows, refuse_unseen, report, rows_of
from karptui.cli.options import add_cluster_flags, add_namespace_flags, add_row_flags, add_usage_flag
from karptui.decode.kinds import Kind

if TYPE_CHECKING:
    from karptui.cli.loading import Loaded
    from karptui.session.pods import PodEntry


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_cluster_flags(parser)
    add_row_flags(parser, labels_of="pods")
    add_usage_flag(parser)
    add_namespace_flags(parser, "only pods of this namespace; all by default")
    parser.add_argument("--node-selector", metavar="K=V", default="", help="only pods on nodes with these labels")


def run(args: argparse.Namespace) -> int:
    """Print the pods. Status 1 if something is missing."""
    from karptui.cli.loading import load
    from karptui.views.pods import TABLE

    try:
        loaded = load(args, (Kind.POD, Kind.NODE, Kind.PDB), is_listed=True)
        refuse_unseen("pods", loaded, Kind.POD)
        rows = rows_of(TABLE, _chosen(loaded, args), args, loaded.now_ns)
    except UsageError as error:
        fail(str(error), "pods")
    print_rows(
        rows,
        args,
        total=len(loaded.view.pod_entries),
    )
    return report("pods", loaded)


def _chosen(loaded: Loaded, args: argparse.Namespace) -> list[PodEntry]:
    from karptui.views.query import parse_label_query

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
