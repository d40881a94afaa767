"""`karptui solve`: the change that reaches a goal, with the runner-up and why it lost."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any, Final

from karptui.cli.errors import UsageError, fail
from karptui.cli.options import add_cluster_flags, add_price_flags
from karptui.cli.streams import say_progress

if TYPE_CHECKING:
    from karptui.cli.whatif_scenarios import NamedBase
    from karptui.solve.answer import Solved

FORMS: Final = ("text", "json", "markdown", "scenario", "yaml", "patch")
NOT_REACHED: Final = 3
"""Exit status where nothing that was tried reaches the goal."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments: a flag for each parameter of any goal."""
    from karptui.solve.catalogue import GOALS

    listed = "; ".join(f"{goal.name} ({goal.title})" for goal in GOALS.values())
    parser.add_argument("goal", metavar="GOAL", choices=tuple(GOALS), help=f"what is looked for: {listed}")
    for name, (metavar, said) in _flags().items():
        parser.add_argument(f"--{name}", metavar=metavar, dest=_dest(name), help=said.replace("%", "%%"))
    parser.add_argument(
        "-o",
        "--output",
        choices=FORMS,
        default="text",
        help="form of the answer; scenario is for simulate --scenario, yaml the edited manifests, patch kubectl"
        " commands (default: text)",
    )
    add_cluster_flags(parser, takes_several=False)
    add_price_flags(parser)
    parser.set_defaults(snapshots=[])


def _dest(name: str) -> str:
    return f"given_{name.replace('-', '_')}"


def _flags() -> dict[str, tuple[str, str]]:
    """Return metavar and help of each flag: what it means, and for which goals."""
    from karptui.solve.catalogue import GOALS

    said: dict[str, dict[str, list[str]]] = {}
    metavars: dict[str, str] = {}
    for goal in GOALS.values():
        for one in goal.parameters:
            metavars[one.name] = one.metavar
            text = f"{one.help} (default: {one.default})" if one.default else one.help
            said.setdefault(one.name, {}).setdefault(text, []).append(goal.name)
    return {
        name: (metavars[name], "; ".join(f"{', '.join(goals)}: {text}" for text, goals in said[name].items()))
        for name in said
    }


def run(args: argparse.Namespace) -> int:
    """Print the answer; 1 where something is missing, 3 where nothing that was tried reaches the goal."""
    from karptui.cli.whatif_scenarios import bases
    from karptui.solve.catalogue import SolveError
    from karptui.solve.run import solve_goal

    given = {name: value for name in _flags() if (value := getattr(args, _dest(name))) is not None}
    try:
        (named,) = bases(args)
        assert named.base is not None  # only of snapshots that are given by themselves
        solved = solve_goal(named.base, args.goal, given, _progress)
    except (UsageError, SolveError) as error:
        say_progress("")
        fail(str(error), "solve")
    say_progress("")
    _print(named, solved, args.output)
    status = named.tell("solve")
    if solved.is_reached:
        return status
    if args.output != "text":
        _say(f"not reached: {solved.because}")
    return NOT_REACHED


def _print(named: NamedBase, solved: Solved, form: str) -> None:
    from karptui.solve.export import commands_text, manifests_text
    from karptui.views.sanitize import clean
    from karptui.views.solve import headline, markdown_lines, text_lines
    from karptui.whatif.scenario import write_scenarios

    assert named.base is not None
    scenario = write_scenarios([solved.scenario]) if solved.best is not None else ""
    match form:
        case "json":
            from karptui.cli.listing import json_text

            document: dict[str, Any] = {**solved.as_json(named.name, headline(solved)), **named.versions}
            sys.stdout.write(json_text(document) + "\n")
        case "scenario":
            sys.stdout.write(scenario or "# nothing is edited\n")
        case "yaml":
            sys.stdout.write(manifests_text(named.base, solved))
        case "patch":
            sys.stdout.write(commands_text(named.base, solved))
        case _:
            lines = text_lines(named.name, solved)
            if form == "markdown":
                lines = markdown_lines(named.name, solved, scenario)
            sys.stdout.write("".join(f"{clean(line)}\n" for line in lines))


def _progress(done: int, total: int) -> None:
    say_progress(f"karptui solve: {done} of {total} tried")


def _say(sentence: str) -> None:
    from karptui.views.sanitize import clean

    print(clean(f"karptui solve: {sentence}"), file=sys.stderr)
