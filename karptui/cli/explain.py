"""`karptui explain pod|node|pool NAME`: why a pod is pending, why a node is still here, how a NodePool treats pods."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from karptui.cli.listing import print_json, print_lines, report
from karptui.cli.options import add_cluster_flags, add_output_flag, add_price_flags, refuse_unused
from karptui.errors import RequestError

if TYPE_CHECKING:
    from karptui.cli.loading import Loaded
    from karptui.views.row import Pieces


KINDS = {"pod": "pod", "pods": "pod", "po": "pod", "node": "node", "nodes": "node", "no": "node"} | {
    "pool": "pool",
    "pools": "pool",
    "nodepool": "pool",
    "nodepools": "pool",
    "np": "pool",
}
"""What may be explained, by every word for it."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", metavar="pod|node|pool", type=_kind, help="kind of the object")
    parser.add_argument("name", metavar="NAME", help="its name; for a pod NAMESPACE/NAME, or NAME with -n")
    parser.add_argument("-n", "--namespace", metavar="NAME", default="", help="namespace of the pod")
    parser.add_argument(
        "--no-remedies",
        action="store_true",
        help="do not search for single changes that would make the pod schedulable",
    )
    add_output_flag(parser, ("table", "json"))
    add_cluster_flags(parser, takes_several=False)
    add_price_flags(parser)


def _kind(text: str) -> str:
    word, slash, _ = text.lower().partition("/")
    if slash or word not in KINDS:
        raise argparse.ArgumentTypeError(f"{text!r} cannot be explained; pod, node and pool can")
    return KINDS[word]


def run(args: argparse.Namespace) -> int:
    """Print the explanation. Status 1 if something is missing, 2 if there is no such object."""
    from karptui.cli.loading import load
    from karptui.decode.kinds import Kind

    needed = (Kind.POD, Kind.NODE, Kind.NODECLAIM, Kind.NODEPOOL, Kind.NODECLASS, Kind.DAEMONSET, Kind.PDB, Kind.EVENT)
    _check(args)
    loaded = load(args, needed)
    try:
        documents, lines, loaded = _explained(args, loaded)
    except RequestError:
        # A missing object may be unreadable.
        report(loaded)
        raise
    if args.output == "json":
        print_json(documents)
    else:
        print_lines(lines)
    return report(loaded)


def _check(args: argparse.Namespace) -> None:
    if args.kind == "pod":
        if "/" in args.name:
            refuse_unused(args, ("namespace",), f"cannot be combined with {args.name}, which names its own")
        return
    refuse_unused(args, ("namespace", "no_remedies"), f"is about a pod: it cannot be combined with explain {args.kind}")


def _explained(args: argparse.Namespace, loaded: Loaded) -> tuple[list[dict[str, Any]], Iterable[Pieces], Loaded]:
    if args.kind == "node":
        from karptui.cli.explain_node import explain_node

        return explain_node(args, loaded)
    if args.kind == "pool":
        from karptui.cli.explain_pod import explain_pool

        return explain_pool(args, loaded)
    from karptui.cli.explain_pod import explain_pod

    return explain_pod(args, loaded)
