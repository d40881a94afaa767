"""`karptui solve`: the change that reaches a goal, with the runner-up and why it lost."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final

from karptui.cli.listing import json_text
from karptui.cli.many import StudyAnswer, run_texts, text_of
from karptui.cli.options import (
    add_base_scenario_flag,
    add_cluster_flags,
    add_output_flag,
    add_price_flags,
    add_snapshots,
    add_workers_flag,
)
from karptui.cli.streams import show_progress
from karptui.cli.whatif_scenarios import read_files
from karptui.solve.catalogue import GOALS

if TYPE_CHECKING:
    from karptui.cli.whatif_scenarios import NamedBase
    from karptui.provisioning.reporter import Each, Reporter
    from karptui.solve.answer import Solved

FORMS: Final = ("text", "json", "markdown", "scenario", "yaml", "patch")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments: a flag for each parameter of any goal."""
    listed = "; ".join(f"{goal.name} ({goal.title})" for goal in GOALS.values())
    parser.add_argument("goal", metavar="GOAL", choices=tuple(GOALS), help=f"the goal: {listed}")
    add_snapshots(parser, "files or directories, one cluster each, instead of a live cluster")
    for name, (metavar, text) in _flags().items():
        parser.add_argument(f"--{name}", metavar=metavar, dest=_dest(name), help=text.replace("%", "%%"))
    add_base_scenario_flag(parser)
    add_output_flag(
        parser, FORMS, about="scenario is for simulate --scenario, yaml the edited manifests, patch kubectl commands"
    )
    add_cluster_flags(parser, takes_several=False, files="")
    add_price_flags(parser)
    add_workers_flag(parser)


def _dest(name: str) -> str:
    return f"given_{name.replace('-', '_')}"


def _flags() -> dict[str, tuple[str, str]]:
    """Return metavar and help of each flag, with the goals it belongs to."""
    help_by_flag: dict[str, dict[str, list[str]]] = {}
    metavars: dict[str, str] = {}
    for goal in GOALS.values():
        for parameter in goal.parameters:
            metavars[parameter.name] = parameter.metavar
            text = f"{parameter.help} (default: {parameter.default})" if parameter.default else parameter.help
            help_by_flag.setdefault(parameter.name, {}).setdefault(text, []).append(goal.name)
    return {
        name: (metavars[name], "; ".join(f"{', '.join(goals)}: {text}" for text, goals in help_by_flag[name].items()))
        for name in help_by_flag
    }


def run(args: argparse.Namespace) -> int:
    """Print the answer. Status 1 if something is missing, 3 if no tried change reaches the goal."""
    parameters = {name: value for name in _flags() if (value := getattr(args, _dest(name))) is not None}
    before = read_files([args.scenario])[0] if args.scenario else None
    return run_texts(args, _solve, (args.goal, parameters, args.output, before), _progress)


def _solve(named: NamedBase, arguments: Any, each: Each, reporter: Reporter) -> StudyAnswer:
    from karptui.solve.run import solve_goal

    goal, parameters, form, before = arguments
    assert named.base is not None
    solved = solve_goal(named.base, goal, parameters, reporter, each=each, on_top_of=before)
    # The text says itself that the goal is not reached.
    failures = () if solved.is_reached or form == "text" else (f"not reached: {solved.because}",)
    return StudyAnswer(text=_text(named, solved, form), failures=failures, is_failed=not solved.is_reached)


def _text(named: NamedBase, solved: Solved, form: str) -> str:
    from karptui.solve.answer import commands_text, manifests_text
    from karptui.views.column import plain
    from karptui.views.solve import REPORT, markdown_lines, text_lines
    from karptui.whatif.scenario import write_scenarios

    assert named.base is not None
    scenario = write_scenarios([solved.scenario]) if solved.best is not None else ""
    match form:
        case "json":
            return json_text({"name": named.name, **plain(REPORT, solved), **named.versions}) + "\n"
        case "scenario":
            return scenario or "# nothing is edited\n"
        case "yaml":
            return manifests_text(named.base, solved)
        case "patch":
            return commands_text(named.base, solved)
        case _:
            is_markdown = form == "markdown"
            return text_of(
                markdown_lines(named.name, solved, scenario) if is_markdown else text_lines(named.name, solved)
            )


def _progress(done: int, total: int) -> None:
    show_progress(f"{done} of {total} tried")
