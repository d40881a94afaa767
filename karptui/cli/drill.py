"""`karptui drill`: where pods land if a zone, a capacity type or a NodePool is lost at once."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from karptui.cli.many import StudyAnswer, blocks, chosen, run_study, table_lines, written
from karptui.cli.options import add_many_flags

if TYPE_CHECKING:
    from karptui.cli.whatif_scenarios import NamedBase
    from karptui.provisioning.reporter import Each, Reporter
    from karptui.studies.drill import Drill, Loss
    from karptui.views.table import Rows


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--without",
        metavar="WHAT=NAME",
        action="append",
        type=_loss,
        default=[],
        help="the loss: zone=us-east-1a, capacity-type=spot or nodepool=general; repeatable, each simulated alone"
        " (default: each that has nodes)",
    )
    parser.add_argument(
        "--fail-on",
        choices=("pending",),
        help="exit with status 3 if a pod becomes unschedulable",
    )
    add_many_flags(parser, rows="losses", filter_example="pending>0", sort_example="gone=dsc")


def _loss(text: str) -> Loss:
    from karptui.studies.drill import Loss, LossKind

    kind, _, name = text.partition("=")
    if kind not in tuple(LossKind) or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not zone=NAME, capacity-type=NAME or nodepool=NAME")
    return Loss(LossKind(kind), name)


def run(args: argparse.Namespace) -> int:
    """Print the outcome of each loss. Status 1 if something is missing, 3 if pods become unschedulable."""
    from karptui.views.drill import TABLE

    return run_study(args, _drilled, args, TABLE)


def _drilled(named: NamedBase, args: Any, each: Each, reporter: Reporter) -> StudyAnswer:
    from karptui.studies.drill import drills
    from karptui.views.drill import TABLE

    assert named.base is not None
    results = drills(named.base, args.without, reporter, each)
    rows = chosen(TABLE, results, args)
    return StudyAnswer(
        written(rows, args),
        tuple(_lines(named.name, results, rows, args)),
        tuple(_failures(results) if args.fail_on else ()),
    )


def _failures(drills: Iterable[Drill]) -> Iterator[str]:
    for drill in drills:
        if drill.waiting:
            noun = "pod is" if drill.waiting == 1 else "pods are"
            yield f"--fail-on pending: {drill.loss}: {drill.waiting} {noun} unschedulable"


def _lines(name: str, drills: tuple[Drill, ...], rows: Rows[Drill], args: Any) -> Iterator[str]:
    from karptui.views.drill import detail_lines, headline, overview

    if args.without:
        return (line for item in rows.items for line in (f"{name}: {headline(item)}", *detail_lines(item)))
    worst = sorted(drills, key=lambda drill: -drill.waiting)[:1]
    hints = [f"karptui drill --without {drill.loss} shows which pods stay pending, and why" for drill in worst]
    return blocks([f"{name}: {overview(drills)}"], table_lines(rows, args), hints)
