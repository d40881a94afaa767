"""`karptui forward`: forecasts of clusters, with or without the edits of scenarios."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from karptui.cli.errors import say
from karptui.cli.listing import json_text
from karptui.cli.many import ask_parts, ends_when, opened
from karptui.cli.options import (
    add_cluster_flags,
    add_output_flag,
    add_play_flags,
    add_price_flags,
    add_scenarios_flag,
    add_snapshots,
    add_workers_flag,
)
from karptui.cli.streams import put
from karptui.cli.whatif_scenarios import read_files
from karptui.views.sanitize import clean, page
from karptui.whatif.edits import EditError

if TYPE_CHECKING:
    from karptui.cli.whatif_scenarios import NamedBase
    from karptui.forward.result import Played
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
    parts = [_SeededPlay(scenario, args.seed + number) for scenario in scenarios for number in range(args.seeds)]
    status = 0
    with opened(args.workers or "1") as workers:
        for cluster, answers in ask_parts(args, workers, _ask, args, parts, merge=_merged):
            status = max(status, cluster.report())
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


class _SeededPlay(NamedTuple):
    """A forecast to run: the scenario, None without edits, and the seed."""

    scenario: Scenario | None
    seed: int


def _ask(named: NamedBase, args: Any, part: Any, is_stopped: Callable[[], bool]) -> tuple[str, Played | str]:
    """Return the name of the scenario, and the play or why there is none; in another process as well."""
    from karptui.plan.rollout import rollout
    from karptui.whatif.edits.apply import apply

    base, scenario = named.base, part.scenario
    assert base is not None
    name = scenario.name if scenario is not None else ""
    try:
        edited = apply(base, scenario.edits) if scenario is not None else None
    except EditError as error:
        return name, str(error)
    return name, rollout(base, edited).play(
        horizon_ns=args.horizon,
        is_instant=args.instant,
        seed=part.seed,
        simulation_seconds=named.metrics.seconds_per_removal if named.metrics is not None else None,
        reporter=ends_when(is_stopped),
    )


def _merged(named: NamedBase, args: Any, results: Sequence[tuple[str, Played | str]]) -> list[_PrintedPlay]:
    """Return the output of each scenario, whose forecasts differ in their seeds."""
    from karptui.forward.result import shown_of

    answers = []
    for first in range(0, len(results), args.seeds):
        scenario, first_result = results[first]
        if isinstance(first_result, str):
            answers.append(_problem(named.name, first_result, args.output))
            continue
        plays = [played for _, played in results[first : first + args.seeds] if not isinstance(played, str)]
        answers.append(_PrintedPlay(_text(named, scenario, shown_of(plays, args.seed), args.output)))
    return answers


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
