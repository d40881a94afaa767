"""`karptui verdict`: problems of a cluster, worst first, one sentence each."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from karptui.cli.contexts import run_verdicts, title_lines
from karptui.cli.fail_on import severity_status
from karptui.cli.listing import refuse_unseen, report
from karptui.cli.options import add_cluster_flags, add_contexts_flag, add_output_flag, add_price_flags, add_why_flags
from karptui.cli.source import local_history
from karptui.cli.streams import put, say
from karptui.cli.whatif_scenarios import check_snapshots
from karptui.decode.kinds import Kind
from karptui.errors import RequestError
from karptui.views.sanitize import page

if TYPE_CHECKING:
    from karptui.cli.loading import Loaded
    from karptui.verdict.finding import ClusterFinding


def configure(parser: argparse.ArgumentParser) -> None:
    add_output_flag(parser, ("text", "json", "markdown"))
    parser.add_argument(
        "--fail-on",
        choices=("error", "warning", "never"),
        default="never",
        metavar="SEVERITY",
        help="error: exit with 4 if there is an error; warning: also with 3 if there is a warning (default: never)",
    )
    add_contexts_flag(parser, "these contexts, or all of the kubeconfig; a separate process reads each")
    add_cluster_flags(parser, files="snapshots")
    add_price_flags(parser)
    add_why_flags(parser)
    parser.set_defaults(snapshots=[])


def run(args: argparse.Namespace) -> int:
    """Print the findings of one cluster, or of each snapshot or context.

    Returns:
        1 if something is missing, 3 or 4 if a finding has the severity of ``--fail-on``.
    """
    if args.contexts is not None:
        return run_verdicts(args)
    if len(args.snapshots) > 1:
        check_snapshots(args)
        return max(
            [_run_one(argparse.Namespace(**{**vars(args), "snapshot": [path]}), path) for path in args.snapshots]
        )
    args.snapshot = [*(args.snapshot or ()), *args.snapshots]
    return _run_one(args)


def _run_one(args: argparse.Namespace, name: str = "") -> int:
    """Print the findings of a cluster, under its name if it is one of several."""
    from karptui.session.verdict import verdict_of_view
    from karptui.views.verdict.lines import money_text, verdict_values
    from karptui.views.verdict.sentence import pending_reasons

    try:
        loaded = analysed_cluster(args)
        refuse_unseen(loaded, Kind.NODE, Kind.NODECLAIM)
    except RequestError as error:
        if not name:
            raise
        if args.output == "json":
            put(page(json.dumps({"name": name, "error": str(error)})))
        say(str(error))
        return 1
    findings = _with_edits(verdict_of_view(loaded.view, loaded.now_ns), args, loaded)
    rows = verdict_values(findings, loaded.now_ns, pending_reasons(loaded.view))
    if args.output == "json":
        # ASCII only: names from a cluster may hold control characters.
        text = json.dumps({"name": name, "findings": rows}) if name else json.dumps(rows, indent=2)
        put(page(text))
    else:
        make = _markdown if args.output == "markdown" else _text
        lines = [
            *title_lines(name, args.output),
            *make(rows, [money_text(finding) for finding in findings]),
            *([""] if name else []),
        ]
        put(page("".join(f"{line}\n" for line in lines)), end="")
    if name:
        loaded = replace(loaded, notes=tuple(f"{name}: {note}" for note in loaded.notes))
    status = report(loaded)
    return severity_status((row["severity"] for row in rows), args.fail_on) or status


def _with_edits(
    findings: Sequence[ClusterFinding], args: argparse.Namespace, loaded: Loaded
) -> Sequence[ClusterFinding]:
    """Return the findings with the edits that preceded them: those of the history, or of the local one of a cluster."""
    from karptui.session.changes import recent_edits, with_edits
    from karptui.sources.history.store import HistoryError, is_history

    is_live = not args.snapshot and args.at is None
    try:
        path = Path(args.snapshot[0]) if args.snapshot else local_history(args)
    except RequestError:
        return findings  # nothing has been recorded on this machine
    if (is_live and args.demo) or not is_history(path):
        return findings
    try:
        return with_edits(findings, loaded.view, recent_edits(path, loaded.now_ns))
    except HistoryError as error:
        if not is_live:
            raise
        say(f"edits are not named: {error}")
        return findings


def analysed_cluster(args: argparse.Namespace) -> Loaded:
    """Return the cluster that the flags name, with everything worked out that the verdict follows from.

    Raises:
        RequestError: when it cannot be read.
    """
    from karptui.cli.loading import load

    needed = (Kind.NODE, Kind.NODECLAIM, Kind.POD, Kind.NODEPOOL, Kind.NODECLASS, Kind.PDB, Kind.DAEMONSET, Kind.EVENT)
    return answered(load(args, needed), simulates=args.simulate)


def answered(loaded: Loaded, *, simulates: bool | None, forecasts: bool = True) -> Loaded:
    """Return the cluster with everything worked out that the verdict follows from.

    Args:
        simulates: Whether to simulate removals; None decides by the size of the cluster.
        forecasts: Whether to forecast the savings of several nodes together.
    """
    from karptui.cli.loading import analysed
    from karptui.pending.report_steps import report_of_pending, waiting_pods
    from karptui.session.advising import advice_of
    from karptui.session.pending_report import answer_of
    from karptui.session.prepare import prepare_view
    from karptui.session.readiness import is_out_of_reach, unready_because

    loaded = analysed(loaded, simulates=simulates, asks_next=True, forecasts=forecasts)
    view, notes = loaded.view, loaded.notes
    if next(waiting_pods(view.state), None) is not None and not is_out_of_reach(view):
        prepared, more = prepare_view(view, loaded.now_ns)
        pending_report = report_of_pending(
            prepared, view.state, prices=view.evidence.price_settings, version=view.evidence.karpenter_version
        )
        view = view.with_answers(pending=answer_of(pending_report))
        notes = (*notes, *more)
    if not unready_because(view):
        report, more = advice_of(view, loaded.now_ns)
        notes = (*notes, *more, *report.failures)
        view = view.with_answers(advice=report)
    return replace(loaded, view=view, notes=tuple(dict.fromkeys(notes)))


def _text(rows: list[dict[str, Any]], money: list[str]) -> list[str]:
    from karptui.views.verdict.lines import MARKS

    width = max((len(row["text"]) for row in rows), default=0)
    return [
        f"{MARKS[row['severity']][0]} {row['text']:<{width}}  {cost}".rstrip()
        for row, cost in zip(rows, money, strict=True)
    ]


def _markdown(rows: list[dict[str, Any]], money: list[str]) -> list[str]:
    lines = ["| | finding | $/h | proof |", "|---|---|---|---|"]
    for row, cost in zip(rows, money, strict=True):
        text = row["text"].replace("|", "\\|")
        proof = f"{row['proof']['screen']} (`{row['proof']['key']}`)" if row["proof"]["screen"] else ""
        lines.append(f"| {row['severity']} | {text} | {cost} | {proof} |")
    return lines
