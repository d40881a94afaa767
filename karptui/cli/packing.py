"""`karptui packing`: how pods fill nodes, now or before and after scenarios, as a picture or JSON."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from karptui.cli.listing import json_text, print_lines, refuse_unseen, report, width_of_terminal
from karptui.cli.loading import load
from karptui.cli.many import one_base
from karptui.cli.options import add_cluster_flags, add_output_flag, add_price_flags, add_scenarios_flag
from karptui.cli.streams import put
from karptui.cli.whatif_scenarios import read_files
from karptui.decode.kinds import Kind

if TYPE_CHECKING:
    from karptui.session.packing import Bin, Block, Packed
    from karptui.whatif.scenario import Scenario


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--by",
        choices=("cpu", "memory"),
        default="cpu",
        help="resource that the picture shows (default: cpu); JSON has both",
    )
    add_scenarios_flag(parser, "both sides of a what-if: the cluster without and with the edits of a scenario")
    add_output_flag(parser, ("table", "json"))
    add_cluster_flags(parser, takes_several=False)
    add_price_flags(parser)
    parser.set_defaults(snapshots=[])


def run(args: argparse.Namespace) -> int:
    """Print the nodes. Status 1 if something is missing, or an edit is invalid."""
    return _print_sides(args) if args.scenario else _print_now(args)


def _print_now(args: argparse.Namespace) -> int:
    from karptui.session.packing import bins_of
    from karptui.views.packing import packing_lines

    loaded = load(args, (Kind.NODE, Kind.POD), is_listed=True)
    refuse_unseen(loaded, Kind.NODE, Kind.POD)
    bins = bins_of(loaded.view)
    if args.output == "json":
        nodes = [{"name": node.name, "pool": node.pool or None, **_bin_json(node)} for node in bins]
        put(json_text({"nodes": nodes}))
    else:
        print_lines(packing_lines(bins, args.by, width_of_terminal()))
    return report(loaded)


def _print_sides(args: argparse.Namespace) -> int:
    from karptui.session.packing import packed_sides
    from karptui.views.packing import packed_lines

    scenarios = read_files(args.scenario)
    named, base = one_base(args)
    status = report(named)
    for scenario in scenarios:
        packing = packed_sides(base, scenario)
        if packing.problem:
            status = 1
        if args.output == "json":
            put(json_text(_sides_json(named.name, scenario, packing)))
        else:
            print_lines((*packed_lines(packing, scenario, args.by, width_of_terminal()), ()))
    return status


def _sides_json(name: str, scenario: Scenario, packing: Packed) -> dict[str, Any]:
    from karptui.views.packing import packed_sentence

    head = {"name": name, "scenario": scenario.name, "replay": str(scenario.replay)}
    if packing.problem:
        return {**head, "error": packing.problem}
    nodes = []
    for node in packing.nodes:
        shown = node.after or node.before
        nodes.append(
            {
                "name": shown.name if shown is not None and not node.is_launched else None,
                "type": shown.name if shown is not None and node.is_launched else None,
                "pool": (shown.pool or None) if shown is not None else None,
                "before": _bin_json(node.before) if node.before is not None else None,
                "after": _bin_json(node.after) if node.after is not None else None,
            }
        )
    return {
        **head,
        "sentence": packed_sentence(packing),
        "nodes": nodes,
        "nodes_not_drawn": packing.left_out,
        "waiting_before": packing.waiting_before,
        "waiting_after": packing.waiting_after,
    }


def _bin_json(node: Bin) -> dict[str, Any]:
    return {
        "cpu_millis": node.cpu,
        "mem_bytes": node.memory,
        "daemonsets": _block_json(node.daemons),
        "pods": [_block_json(pod) for pod in node.pods],
    }


def _block_json(block: Block) -> dict[str, int]:
    return {"cpu_millis": block.cpu, "mem_bytes": block.memory}
