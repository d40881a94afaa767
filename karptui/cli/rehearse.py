"""`karptui rehearse`: node groups moved to Karpenter in imagination, with NodePools and DaemonSets as they would be."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from karptui.cli.many import StudyAnswer, assumption_lines, blocks, chosen, run_study, table_lines, written
from karptui.cli.option_values import number
from karptui.cli.options import add_horizon_flag, add_manifests_flag, add_many_flags

if TYPE_CHECKING:
    from karptui.cli.whatif_scenarios import NamedBase
    from karptui.provisioning.reporter import Each, Reporter
    from karptui.studies.rehearsal import Rehearsal
    from karptui.views.table import Rows

_MOST_AT_ONCE: Final = 1000


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "groups",
        metavar="GROUP",
        nargs="*",
        default=[],
        help="node groups by name, or nodes by LABEL=VALUE (default: each group alone, and all together)",
    )
    add_manifests_flag(parser, "manifests applied before: NodePools, NodeClasses and DaemonSets as they would be")
    parser.add_argument(
        "--at-once",
        metavar="N",
        type=number(_MOST_AT_ONCE),
        default=1,
        help="number of nodes drained at a time (default: 1)",
    )
    add_horizon_flag(parser, "limit of the simulated drain")
    parser.add_argument(
        "--fail-on",
        metavar="CONDITION",
        choices=("pending", "stall"),
        action="append",
        default=[],
        help="exit with status 3 if a pod is unschedulable (pending), or a drain does not finish (stall); repeatable",
    )
    add_many_flags(
        parser, names="groups", rows="node groups", filter_example="pending>0 held>0", sort_example="gone=dsc"
    )


def run(args: argparse.Namespace) -> int:
    """Print the result of each node group. Status 1 if something is missing, 3 if a condition is met."""
    from karptui.cli.plan import read_manifests
    from karptui.views.rehearsal import TABLE
    from karptui.whatif.manifests import manifests_of

    return run_study(args, _rehearsed, (manifests_of(read_manifests(args.filename)), args), TABLE)


def _rehearsed(named: NamedBase, arguments: Any, each: Each, reporter: Reporter) -> StudyAnswer:
    from karptui.studies.rehearsal import rehearsals
    from karptui.views.rehearsal import TABLE

    manifests, args = arguments
    assert named.base is not None
    results = rehearsals(
        named.base,
        args.groups,
        manifests.edits,
        at_once=args.at_once,
        horizon_ns=args.horizon,
        reporter=reporter,
        each=each,
    )
    rows = chosen(TABLE, results, args)
    return StudyAnswer(
        written(rows, args),
        tuple(_lines(named.name, results, rows, args)),
        tuple(_failures(results, args.fail_on)),
        tuple(manifests.notes),
    )


def _failures(rehearsals: Sequence[Rehearsal], conditions: Sequence[str]) -> Iterator[str]:
    from karptui.views.rehearsal import name_of

    for rehearsal in rehearsals:
        if rehearsal.pending and "pending" in conditions:
            yield f"--fail-on pending: {name_of(rehearsal)}: {len(rehearsal.pending)} unschedulable"
        if rehearsal.drain.took_ns is None and "stall" in conditions:
            left = len(rehearsal.drain.left)
            yield f"--fail-on stall: {name_of(rehearsal)}: {left} of {len(rehearsal.nodes)} nodes are left"


def _lines(name: str, rehearsals: Sequence[Rehearsal], rows: Rows[Rehearsal], args: Any) -> Iterator[str]:
    from karptui.views.rehearsal import detail_lines, headline, name_of, overview

    if args.groups:
        yield from (line for item in rows.items for line in (f"{name}: {headline(item)}", *detail_lines(item)))
    else:
        of_one = "shows the unschedulable pods and what blocks the drain"
        hints = [f"karptui rehearse {name_of(rehearsal)} {of_one}" for rehearsal in rehearsals[:1]]
        yield from blocks([f"{name}: {overview(rehearsals)}"], table_lines(rows, args), hints)
    for rehearsal in rehearsals[:1]:
        yield from assumption_lines(rehearsal.assumed, rehearsal.drain.not_modelled)
