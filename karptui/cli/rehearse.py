"""`karptui rehearse`: node groups moved to Karpenter in imagination, with NodePools and DaemonSets as they would be."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from karptui.cli.errors import UsageError, fail
from karptui.cli.options import file_name
from karptui.cli.study import add_study_flags, one_base, print_study, say, table_lines
from karptui.whatif.edits import EditError

if TYPE_CHECKING:
    from karptui.plan.rehearsal import Rehearsal

COLUMNS: Final = (
    "nodeGroup",
    "nodes",
    "pricePerHourBefore",
    "nodesWithoutPrice",
    "pricePerHourAfter",
    "pods",
    "onNodes",
    "onNewNodes",
    "newNodes",
    "pending",
    "lost",
    "heldByBudgets",
)
"""Of CSV; lists of pods and nodes are their numbers there."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "groups",
        metavar="GROUP",
        nargs="*",
        help="node groups by name, or nodes by LABEL=VALUE (default: every one, and all of them together)",
    )
    parser.add_argument(
        "-f",
        "--filename",
        metavar="FILE",
        type=file_name,
        action="append",
        default=[],
        help="manifests applied before: NodePools, NodeClasses and DaemonSets as they would be; repeatable",
    )
    parser.add_argument("--fail-on", choices=("pending",), help="end with status 3 if a pod finds no place")
    add_study_flags(parser)


def run(args: argparse.Namespace) -> int:
    """Print what comes of each node group; 1 where something is missing, 3 where pods find no place."""
    from karptui.cli.plan import read_manifests
    from karptui.cli.whatif_scenarios import FAILED
    from karptui.plan.manifests import ManifestError, manifests_of
    from karptui.plan.rehearsal import RehearsalError, rehearsals

    try:
        manifests = manifests_of(read_manifests(args.filename))
        named, base = one_base(args)
        found = rehearsals(base, args.groups, manifests.edits)
    except (UsageError, ManifestError, RehearsalError, EditError) as error:
        fail(str(error), "rehearse")
    lines = _lines(named.name, found, is_each=not args.groups)
    print_study([one.as_json() for one in found], COLUMNS, lines, args.output)
    status = named.tell("rehearse")
    for note in manifests.notes:
        say("rehearse", note)
    bad = [one for one in found if one.pending] if args.fail_on else []
    for one in bad:
        say("rehearse", f"--fail-on {args.fail_on}: {one.group}: {len(one.pending)} without a place")
    return FAILED if bad else status


def _lines(name: str, found: Sequence[Rehearsal], *, is_each: bool) -> Iterator[str]:
    from karptui.plan.rehearsal import ASSUMED
    from karptui.views.rehearsal import TABLE, detail_lines, headline, name_of, overview

    if is_each:
        yield f"{name}: {overview(found)}"
        if found:
            yield ""
            yield from table_lines(TABLE, found)
            yield ""
            yield f"karptui rehearse {name_of(found[0])} tells which pods find no place, and why"
    else:
        for one in found:
            yield f"{name}: {headline(one)}"
            yield from detail_lines(one)
    for sentence in ASSUMED:
        yield f"  assumed: {sentence}"
