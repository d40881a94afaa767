"""`karptui sweep`: results for several values of one parameter."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from karptui.cli.listing import json_text, print_csv, report
from karptui.cli.many import ask_clusters
from karptui.cli.option_values import number
from karptui.cli.options import (
    add_base_scenario_flag,
    add_cluster_flags,
    add_output_flag,
    add_price_flags,
    add_replay_flag,
    add_snapshots,
    add_workers_flag,
)
from karptui.cli.streams import UsageError, put, say
from karptui.cli.whatif_scenarios import read_files
from karptui.errors import RequestError
from karptui.views.column import plain
from karptui.views.prices import without_text
from karptui.views.sanitize import clean, page
from karptui.views.table import Rows, as_text

if TYPE_CHECKING:
    from karptui.cli.whatif_scenarios import NamedBase
    from karptui.provisioning.reporter import Each, Reporter
    from karptui.whatif.scenario import Replay
    from karptui.whatif.sweep import Sweep, SweepPoint


def configure(parser: argparse.ArgumentParser) -> None:
    add_snapshots(parser, "files or directories, each a snapshot, instead of a cluster; - is stdin")
    parser.add_argument(
        "--set",
        dest="sweep",
        metavar="PARAMETER=VALUES",
        required=True,
        help="a field (NodePool/general:spec.weight) or a setting (VM_MEMORY_OVERHEAD_PERCENT), and its values: a list"
        " 1,10,50 or a range 1..100/10, 30s..10m/30s, 100Gi..200Gi/20Gi",
    )
    add_base_scenario_flag(parser)
    add_replay_flag(parser, "replay mode (default: next for fields of disruption, else pending)")
    parser.add_argument("--jobs", metavar="N", type=number(256), help="the same as --workers N")
    add_workers_flag(parser, default="one per processor, if there is enough work")
    add_output_flag(parser)
    add_cluster_flags(parser, takes_several=False, files="")
    add_price_flags(parser)


def run(args: argparse.Namespace) -> int:
    """Print the sweep of each cluster; 1 where a snapshot cannot be read or a value cannot be set."""
    sweep, mode = _sweep_of(args)
    status = 0
    if args.output == "csv":
        print_csv(_columns(), ())
    pieces = len(args.snapshots) if len(args.snapshots) > 1 else len(sweep.values)
    workers = str(args.jobs or min(os.cpu_count() or 1, pieces))
    for cluster, points in ask_clusters(args, _swept, (sweep, mode), workers=workers):
        status = max(status, report(cluster), _answer(cluster, sweep, mode, points or (), args.output))
    return status


def _sweep_of(args: argparse.Namespace) -> tuple[Sweep, Replay]:
    from karptui.whatif.scenario import Replay
    from karptui.whatif.sweep import parse_sweep

    if args.jobs and args.workers:
        raise UsageError("--jobs and --workers say the same: give one of them")
    try:
        sweep = parse_sweep(args.sweep)
    except RequestError as error:
        raise UsageError(f"--set: {error}") from error
    mode = Replay(args.replay) if args.replay else Replay.NEXT if sweep.is_of_disruption else Replay.PENDING
    if args.scenario:
        scenario = read_files([args.scenario])[0]
        sweep = msgspec.structs.replace(sweep, edits=scenario.edits)
        mode = mode if args.replay or scenario.replay is Replay.PENDING else scenario.replay
    return sweep, mode


def _swept(named: NamedBase, arguments: Any, each: Each, reporter: Reporter) -> tuple[SweepPoint, ...]:
    sweep, mode = arguments
    return tuple(each(_point, (named.base, sweep, mode), sweep.values, reporter))


def _point(common: Any, value: Any, reporter: Reporter) -> SweepPoint:
    """Return the result of one value; also in another process."""
    from karptui.whatif.sweep import sweep_point

    base, sweep, mode = common
    return sweep_point(base, sweep, value, mode, reporter)


def _answer(cluster: NamedBase, sweep: Sweep, mode: Replay, points: Sequence[SweepPoint], form: str) -> int:
    from karptui.views.values import POINT, POINTS, sweep_answer
    from karptui.views.whatif.totals import mode_text
    from karptui.whatif.sweep import SweepResult

    of = {"name": cluster.name, "parameter": sweep.name}
    if form == "json":
        answer = {"parameter": sweep.name, "replay": str(mode), "points": [plain(POINT, point) for point in points]}
        put(json_text({"name": cluster.name, **({"error": cluster.problem} if cluster.problem else answer)}))
    elif cluster.problem and form == "csv":
        say(cluster.problem)
    elif cluster.problem:
        put(page(clean(cluster.problem)))
    elif form == "csv":
        print_csv(_columns(), [{**of, **plain(POINT, point)} for point in points], has_header=False)
    else:
        rows = Rows(POINTS, points, total=len(points), now_ns=0)
        put(page(clean(f"{cluster.name}: {sweep.name} ({mode_text(mode)})")))
        put(page("\n".join(map(clean, as_text(POINTS.headings(), rows, range(len(POINTS.columns))).splitlines()))))
        put(page(clean(sweep_answer(SweepResult(sweep, mode, tuple(points))))))
        left_out = next((point.not_counted for point in points if not point.problem), None)
        if left_out is not None and (without := without_text(left_out)):
            put(page(f"  {clean(without)}"))
    return int(bool(cluster.problem) or any(point.problem for point in points))


def _columns() -> tuple[str, ...]:
    from karptui.views.values import POINT

    return ("name", "parameter", *(value.name for value in POINT))
