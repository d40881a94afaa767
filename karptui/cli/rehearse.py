"""`karptui rehearse`: node groups moved to Karpenter in imagination, with NodePools and DaemonSets as they would be."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from karptui.cli.errors import fail
from karptui.cli.many import StudyAnswer, chosen, run_study, table_lines, written
from karptui.cli.option_values import number
from karptui.cli.options import add_horizon_flag, add_manifests_flag, add_many_flags
from karptui.whatif.edits import EditError

if TYPE_CHECKING:
    from karptui.cli.whatif_scenarios import NamedBase
    from karptui.plan.rehearsal import Rehearsal
    from karptui.provisioning.reporter import Each, Reporter
    from karptui.views.table import Rows

_MOST_AT_ONCE: Final = 1000


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "groups",
        metavar="GROUP",
        nargs="*",
        help="node groups by name, or nodes by LABEL=VALUE (default: every one, and all of them together)",
    )
    add_manifests_flag(parser, "manifests applied before: NodePools, NodeClasses and DaemonSets as they would be")
    parser.add_argument(
        "--at-once",
        metavar="N",
        type=number(_MOST_AT_ONCE),
        default=1,
        help="how many nodes are drained at a time (default: 1)",
    )
    add_horizon_flag(parser, "limit of the simulated drain")
    parser.add_argument(
        "--fail-on",
        metavar="CONDITION",
        choices=("pending", "stall"),
        action="append",
        default=[],
        help="end with status 3 if a pod is unschedulable (pending), or a drain does not finish (stall); repeatable",
    )
    add_many_flags(
        parser, names="groups", rows="node groups", filter_example="pending>0 held>0", sort_example="gone=dsc"
    )


def run(args: argparse.Namespace) -> int:
    """Print the result of each node group. Status 1 if something is missing, 3 if a condition is met."""
    from karptui.cli.plan import read_manifests
    from karptui.plan.manifests import ManifestError, manifests_of
    from karptui.views.rehearsal import TABLE

    try:
        manifests = manifests_of(read_manifests(args.filename))
    except ManifestError as error:
        fail(str(error))
    return run_study(args, _rehearsed, (manifests, args), TABLE)


def _rehearsed(named: NamedBase, given: Any, each: Each, reporter: Reporter) -> StudyAnswer:
    from karptui.plan.rehearsal import RehearsalError, rehearsals
    from karptui.views.rehearsal import TABLE

    manifests, args = given
    assert named.base is not None
    try:
        found = rehearsals(
            named.base,
            args.groups,
            manifests.edits,
            at_once=args.at_once,
            horizon_ns=args.horizon,
            reporter=reporter,
            each=each,
        )
    except (RehearsalError, EditError) as error:
        return StudyAnswer(problem=str(error))
    rows = chosen(TABLE, found, args)
    return StudyAnswer(
        written(rows, args),
        tuple(_lines(named.name, found, rows, args)),
        tuple(_failures(found, args.fail_on)),
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

    if not args.groups:
        yield f"{name}: {overview(rehearsals)}"
        if rehearsals:
            yield ""
            yield from table_lines(rows, args)
            yield ""
            yield f"karptui rehearse {name_of(rehearsals[0])} shows the unschedulable pods and what blocks the drain"
    else:
        for item in rows.items:
            yield f"{name}: {headline(item)}"
            yield from detail_lines(item)
    if rehearsals:
        yield from (f"  assumed: {sentence}" for sentence in rehearsals[0].assumed)
        yield from (f"  not modelled: {sentence}" for sentence in rehearsals[0].drain.not_modelled)
