"""`karptui remedies`: remedies for blocked nodes, each simulated, best first."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from karptui.cli.listing import print_rows, refuse_unseen, refuse_unsimulated, report, rows_of
from karptui.cli.options import add_cluster_flags, add_price_flags, add_row_flags
from karptui.cli.streams import UsageError, say
from karptui.decode.kinds import Kind
from karptui.kube.units import counted, first_of, verb
from karptui.session.grouping import Folding
from karptui.views.sanitize import clean

if TYPE_CHECKING:
    from karptui.cli.loading import Loaded
    from karptui.session.blockers import BlockerGroup
    from karptui.views.blockers.trials import TriedRemedy

_MOST_NAMES: Final = 3
_OWNERS: Final = (Kind.REPLICASET, Kind.DEPLOYMENT, Kind.STATEFULSET, Kind.JOB)
"""Kinds that name the owners of pods."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--of", metavar="NAME", default="", help="only for this group of blockers, as in the column `group`"
    )
    parser.add_argument(
        "--by",
        choices=("owner", "namespace", "pool", "kind"),
        default="owner",
        help="property that the blockers of a group share (default: owner)",
    )
    add_cluster_flags(parser)
    add_price_flags(parser)
    add_row_flags(
        parser,
        labels_of=None,
        rows="remedies",
        filter_example="group=gitlab* saves>0.5",
        sort_example="saves=dsc",
        hold="every column as plain values, with YAML and commands",
    )


def run(args: argparse.Namespace) -> int:
    """Print the remedies. Status 1 if something is missing."""
    from karptui.cli.loading import analysed, load
    from karptui.session.blockers import BlockerGroup, BlockerGrouping, blocker_entries, grouped
    from karptui.views.blockers.trials import REPORT

    needed = (Kind.NODE, Kind.NODECLAIM, Kind.POD, Kind.NODEPOOL, Kind.NODECLASS, Kind.PDB, *_OWNERS)
    loaded = load(args, needed)
    refuse_unseen(loaded, Kind.NODE)
    refuse_unsimulated(loaded)
    loaded = analysed(loaded, simulates=True, asks_next=False)
    joint = loaded.view.analysis.joint if loaded.view.analysis is not None else None
    lines = grouped(blocker_entries(loaded.view), BlockerGrouping(args.by), Folding(is_folded=True), joint)
    groups = [line for line in lines if isinstance(line, BlockerGroup) and not line.is_only_idle]
    groups = _named_groups(groups, args.of) if args.of else groups
    tried = _tried_remedies(groups, loaded)
    is_whole = bool(args.of) or args.output not in ("table", "wide")
    shown = tried if is_whole else [row for row in tried if row.helps]
    rows = rows_of(REPORT, shown, args, loaded.now_ns)
    if shown or not tried:
        print_rows(rows, args)
    if len(shown) < len(tried):
        say(_left_out_text(tried))
    return report(loaded)


def _left_out_text(tried: Sequence[TriedRemedy]) -> str:
    """Return the number of remedies without effect, and the blockers that have only such remedies."""
    vain = sum(1 for row in tried if not row.helps)
    helped = {row.group for row in tried if row.helps}
    unhelped = list(dict.fromkeys(clean(row.group) for row in tried if row.group not in helped))
    among = f", including all for {first_of(unhelped, _MOST_NAMES)}" if unhelped else ""
    frees, are = verb(vain, "frees", "free"), verb(vain, "is", "are")
    counted_text, where = counted(vain, "remedy", "remedies"), "--of NAME shows them, -o json has all"
    if vain == len(tried):
        return f"no remedy frees a node: {counted_text} of {first_of(unhelped, _MOST_NAMES)} {are} left out; {where}"
    return f"{counted_text} that {frees} no node {are} left out{among}: {where}"


def _named_groups(groups: Sequence[BlockerGroup], name: str) -> list[BlockerGroup]:
    """Return the group of a name. Raises UsageError when there is none."""
    blocker_groups = [group for group in groups if name in (group.title, group.name)]
    if not blocker_groups:
        titles = ", ".join(group.title for group in groups) or "nothing"
        raise UsageError(f"--of: nothing called {name} blocks nodes; there is {titles}")
    return blocker_groups


def _tried_remedies(groups: Sequence[BlockerGroup], loaded: Loaded) -> list[TriedRemedy]:
    from karptui.session.prepare import base_of
    from karptui.studies.forecasts import RemedyForecasts
    from karptui.views.blockers.remedies import objects_of, remedies
    from karptui.views.blockers.trials import tried_group
    from karptui.whatif.remedies.blockers.trial import try_remedies

    objects, base = objects_of(loaded.view.state), base_of(loaded.view, loaded.now_ns)
    forecasts = RemedyForecasts(base, loaded.view.evidence.seconds_per_removal)
    rows: list[TriedRemedy] = []
    for place, group in enumerate(groups):
        offered = remedies(group.members, objects, loaded.now_ns)
        trials = try_remedies(base, offered, [member.blocker for member in group.members])
        rows += tried_group(group, place, offered, forecasts.of(offered, trials))
    return rows
