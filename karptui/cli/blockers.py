"""`karptui blockers`: everything that keeps Karpenter from disrupting each node, and what would follow without it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from karptui.provisioning.problem import Prepared

COLUMNS: Final = (
    "node",
    "pricePerHour",
    "code",
    "object",
    "owner",
    "value",
    "since",
    "until",
    "wouldGoWithout",
    "podsInLastHour",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    from karptui.cli.flags import add_output_flag

    parser.add_argument("snapshots", metavar="SNAPSHOT", nargs="+", help="files or directories; - is standard input")
    parser.add_argument("--node", metavar="NAME", help="only this node")
    parser.add_argument(
        "--no-simulation", action="store_true", help="do not simulate removals: wouldGoWithout is unknown throughout"
    )
    add_output_flag(parser)


def run(args: argparse.Namespace) -> int:
    """Print the blockers; 2 where a snapshot cannot be read."""
    from karptui.cli.prepared import prepare_snapshot
    from karptui.sources.snapshot.errors import SnapshotError
    from karptui.sources.snapshot.reader import SnapshotReader

    try:
        snapshot = SnapshotReader().read(args.snapshots)
    except SnapshotError as error:
        print(f"karptui blockers: {error}", file=sys.stderr)
        return 2
    for problem in snapshot.problems:
        print(f"karptui blockers: left out: {problem}", file=sys.stderr)
    prepared = prepare_snapshot(snapshot, command="blockers")
    rows = list(blocker_rows(prepared, node_name=args.node, simulates=not args.no_simulation))
    _print(rows, args.output)
    return 0


def blocker_rows(prepared: Prepared, *, node_name: str | None, simulates: bool) -> Iterable[dict[str, Any]]:
    """Yield the blockers in the command's form: of the cluster, then by node."""
    from karptui.disruption.arrivals import arrivals
    from karptui.disruption.blocker_form import blocker_json
    from karptui.disruption.blockers import BlockerSurvey
    from karptui.disruption.outlook import Outcome, Outlook
    from karptui.disruption.simulate import observed_fleet

    fleet = observed_fleet(prepared)
    survey, outlook = BlockerSurvey(fleet), Outlook(prepared, fleet)
    if node_name is None:
        yield from (blocker_json(blocker, Outcome.UNKNOWN, 0) for blocker in survey.cluster)
    for node in fleet.nodes:
        if node_name is not None and node_name not in (node.name, node.claim.name if node.claim is not None else ""):
            continue
        found = survey.of(node)
        recent = len(arrivals(fleet, node))
        for blocker in found:
            without = Outcome.UNKNOWN
            if simulates:
                without = outlook.without(node, blocker, (*survey.cluster, *found)).outcome
            yield blocker_json(blocker, without, recent)


def _print(rows: list[dict[str, Any]], form: str) -> None:
    if form == "json":
        import msgspec

        sys.stdout.write(msgspec.json.encode(rows).decode() + "\n")
        return
    cells = [[_cell(name, row[name]) for name in COLUMNS] for row in rows]
    if form == "csv":
        import csv

        writer = csv.writer(sys.stdout)
        writer.writerow(COLUMNS)
        writer.writerows(cells)
        return
    headings = ["NODE", "$/H", "CODE", "OBJECT", "OWNER", "VALUE", "SINCE", "UNTIL", "WITHOUT IT", "PODS 1H"]
    widths = [max(len(line[i]) for line in (headings, *cells)) for i in range(len(headings))]
    for line in (headings, *cells):
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _cell(name: str, value: object) -> str:
    from karptui.views.sanitize import clean

    if value is None or value == "":
        return "-" if name != "pricePerHour" else "n/a"
    return f"{value:.4f}" if isinstance(value, float) else clean(str(value))
