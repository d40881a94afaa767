"""`karptui next`: what Karpenter would do next, and the nodes that would go without what keeps them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from karptui.cli.listing import has_lines_above, print_json, print_lines, print_rows, report, rows_of, versions_json
from karptui.cli.options import add_cluster_flags, add_price_flags, add_row_flags
from karptui.cli.streams import UsageError
from karptui.decode.kinds import Kind

if TYPE_CHECKING:
    from karptui.cli.loading import Loaded


def configure(parser: argparse.ArgumentParser) -> None:
    add_cluster_flags(parser)
    add_price_flags(parser)
    add_row_flags(parser, labels_of="nodes")


def run(args: argparse.Namespace) -> int:
    """Print the next command and the nodes. Status 1 if something is missing."""
    from karptui.session.nodes import going_nodes
    from karptui.session.row_server import overview_of
    from karptui.views.next import TABLE, next_lines, report_values

    loaded = _load(args)
    rows = rows_of(TABLE, going_nodes(loaded.view.node_entries), args, loaded.now_ns)
    if args.output == "json":
        evidence = loaded.view.evidence
        versions = versions_json(evidence.karpenter_version, evidence.settings.rules.version)
        print_json({"next": report_values(loaded.view), "nodes": rows.values(), **versions})
        return report(loaded)
    if has_lines_above(args):
        analysis = loaded.view.analysis
        print_lines((*next_lines(analysis.next if analysis is not None else None, overview_of(loaded.view)), ()))
    print_rows(rows, args)
    return report(loaded)


def _load(args: argparse.Namespace) -> Loaded:
    """Return the cluster with all removals and Karpenter's next command simulated.

    Raises:
        UsageError: The next command is unknown.
    """
    from karptui.cli.loading import analysed, load
    from karptui.session.readiness import unready_because

    loaded = load(args, (Kind.NODE, Kind.NODECLAIM, Kind.POD, Kind.NODEPOOL, Kind.NODECLASS, Kind.PDB))
    if reason := unready_because(loaded.view):
        raise UsageError(f"the next command is unknown: {reason}")
    return analysed(loaded, simulates=True)
