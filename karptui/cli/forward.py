"""`karptui forward`: forecasts of clusters, with or without the edits of scenarios."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from karptui.cli.listing import json_text, report
from karptui.cli.many import ask_clusters
from karptui.cli.options import (
    add_cluster_flags,
    add_output_flag,
    add_play_flags,
    add_price_flags,
    add_scenarios_flag,
    add_snapshots,
    add_workers_flag,
)
from karptui.cli.streams import put, say
from karptui.cli.whatif_scenarios import read_files
from karptui.views.sanitize import clean, page
from karptui.whatif.edits import EditError

if TYPE_CHECKING:
    from karptui.cli.whatif_scenarios import NamedBase
    from karptui.forward.result import Played
    from karptui.provisioning.reporter import Each, Reporter
    from karptui.whatif.scenario import Scenario


def configure(parser: argparse.ArgumentParser) -> None:
    add_snapshots(parser, "files or directories, each a snapshot, instead of a cluster; - is stdin")
    add_play_flags(
        parser,
        "length of the forecast",
        "number of seeds from --seed on: the likeliest forecast, with the range of all",
    )
    parser.add_argument(
        "--instant",
        action="store_true",
        help="launches, drains and pod starts take no time, and validation passes",
    )
    add_scenarios_flag(parser, "forecast the cluster with the edits of a scenario (the table also shows it without)")
    add_output_flag(parser, ("table", "json"))
    add_cluster_flags(parser, takes_several=False, files="")
    add_price_flags(parser)
    add_workers_flag(parser)


def run(args: argparse.Namespace) -> int:
    """Print the forecast of each cluster. Status 1 if one cannot be read or an edit is invalid."""
    edited = read_files(args.scenario)
    # The text begins with the cluster without edits; JSON has one line per scenario.
    as_it_is = () if edited and args.output == "json" else (None,)
    scenarios: list[Scenario | None] = [*as_it_is, *edited]
    status = 0
    for cluster, answers in ask_clusters(args, _forecasts, (scenarios, args)):
        status = max(status, report(cluster))
        for answer in answers or [_problem(cluster.name, cluster.problem, args.output)]:
            put(page(answer.text), end="")
            if answer.complaint:
                say(answer.complaint)
            status = max(status, answer.status)
    return status


class _PrintedPlay(NamedTuple):
    text: str = ""
    complaint: str = ""
    status: int = 0


def _forecasts(named: NamedBase, arguments: Any, each: Each, reporter: Reporter) -> list[_PrintedPlay]:
    """Return the output of each scenario, whose forecasts differ in their seeds."""
    from karptui.forward.result import shown_of

    scenarios, args = arguments
    seeds = range(args.seed, args.seed + args.seeds)
    parts = [(scenario, seed) for scenario in scenarios for seed in seeds]
    results: Iterator[Played | str] = each(_played, (named, args), parts, reporter)
    answers = []
    for scenario in scenarios:
        of_scenario = [next(results) for _ in seeds]
        plays = [played for played in of_scenario if not isinstance(played, str)]
        if plays:
            name = scenario.name if scenario is not None else ""
            answers.append(_PrintedPlay(_text(named, name, shown_of(plays, args.seed), args.output)))
        else:
            answers.append(_problem(named.name, str(of_scenario[0]), args.output))
    return answers


def _played(common: Any, part: Any, reporter: Reporter) -> Played | str:
    """Return the forecast of a scenario with a seed, or why there is none; also in another process."""
    from karptui.studies.forecasts import forecast_of
    from karptui.whatif.edits.apply import apply

    named, args = common
    scenario, seed = part
    assert named.base is not None
    try:
        edited = apply(named.base, scenario.edits) if scenario is not None else None
    except EditError as error:
        return str(error)
    return forecast_of(named.base, edited).play(
        horizon_ns=args.horizon,
        is_instant=args.instant,
        seed=seed,
        simulation_seconds=named.metrics.seconds_per_removal if named.metrics is not None else None,
        reporter=reporter,
    )


def _problem(name: str, problem: str, form: str) -> _PrintedPlay:
    if form == "json":
        return _PrintedPlay(_json({"name": name, "error": problem}), status=1)
    return _PrintedPlay(complaint=f"{name}: {problem}", status=1)


def _text(named: NamedBase, scenario: str, played: Played, form: str) -> str:
    if form == "json":
        from karptui.views.column import plain
        from karptui.views.forward.columns import PLAYED

        of = {"scenario": scenario} if scenario else {}
        return _json({"name": named.name, **of, **plain(PLAYED, played), **named.versions})
    from karptui.views.forward.sentences import lines_of

    return "\n".join(clean(line) for line in lines_of(named.name, scenario, played)) + "\n\n"


def _json(document: dict[str, Any]) -> str:
    return json_text(document) + "\n"
