"""`karptui plan`: what applying manifests does, for a terminal, a script, or a pull request."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from karptui.cli.fail_on import REFUSED, parse_condition
from karptui.cli.listing import json_text
from karptui.cli.many import StudyAnswer, run_texts, text_of
from karptui.cli.options import (
    add_cluster_flags,
    add_horizon_flag,
    add_manifests_flag,
    add_output_flag,
    add_price_flags,
    add_snapshots,
    add_workers_flag,
)
from karptui.cli.streams import UsageError, given_text, say
from karptui.kube.units import counted

if TYPE_CHECKING:
    from karptui.cli.fail_on import FailCondition
    from karptui.cli.whatif_scenarios import NamedBase
    from karptui.provisioning.reporter import Each, Reporter
    from karptui.studies.plan import Plan
    from karptui.whatif.manifests import Manifests

STALLED: Final = "stall"
_SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
_MOST_BYTES: Final = 16 << 20


def configure(parser: argparse.ArgumentParser) -> None:
    add_manifests_flag(
        parser,
        "manifests that would be applied: a file, a folder of .yaml, .yml and .json, or - for stdin",
        is_required=True,
    )
    add_snapshots(parser, "files or directories, one cluster each, instead of a live cluster")
    add_output_flag(parser, ("text", "json", "markdown"))
    add_horizon_flag(parser, "length of the forecast")
    parser.add_argument(
        "--fail-on",
        metavar="CONDITION",
        action="append",
        type=_condition,
        default=[],
        help="exit with status 3 if more pods are unschedulable (pending), NodeClaims drift (drift), it costs"
        " more (cost, cost+10%%, cost+2.50 in $/h), the rollout is not through in time (stall), or the API server"
        " would refuse a manifest (refused); repeatable",
    )
    add_cluster_flags(parser, takes_several=False, files="")
    add_price_flags(parser)
    add_workers_flag(parser)


def _condition(text: str) -> FailCondition | str:
    return parse_condition(text, STALLED, REFUSED)


def run(args: argparse.Namespace) -> int:
    """Print the effect of the manifests. Status 1 if something is missing, 3 if a condition is met."""
    from karptui.provisioning.reporter import silent
    from karptui.whatif.manifests import manifests_of

    manifests = manifests_of(read_manifests(args.filename))
    if not manifests.edits:
        raise UsageError(f"{', '.join(args.filename)}: no object that Karpenter's decisions depend on")
    status = run_texts(args, _planned, (manifests, args), silent)
    for note in manifests.notes:
        say(note)
    return status


def _planned(named: NamedBase, arguments: Any, each: Each, reporter: Reporter) -> StudyAnswer:
    from karptui.studies.plan import plan

    manifests, args = arguments
    assert named.base is not None
    planned = plan(named.base, manifests.edits, horizon_ns=args.horizon, reporter=reporter, each=each)
    text = _text(named, manifests, planned, args.output)
    return StudyAnswer(text=text, failures=tuple(_failures(planned, args.fail_on)))


def read_manifests(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield name and text of every file. Raises UsageError if a file is unreadable."""
    for name in names:
        path = Path(name)
        try:
            inside = sorted(path for path in path.iterdir() if path.suffix in _SUFFIXES) if path.is_dir() else [path]
        except OSError as error:
            raise UsageError(f"{name}: {error.strerror}") from error
        for file in map(str, inside):
            yield "standard input" if file == "-" else file, given_text(file, _MOST_BYTES)


def _failures(plan: Plan, conditions: Sequence[FailCondition | str]) -> Iterator[str]:
    for condition in conditions:
        if condition == REFUSED:
            yield from (f"--fail-on {condition}: {why}" for why in plan.refused)
        elif isinstance(condition, str):
            if plan.unfinished:
                yield f"--fail-on {condition}: {counted(len(plan.unfinished), 'drifted node')} left"
        elif why := condition.met(plan.difference):
            yield f"--fail-on {condition.text}: {why}"


def _text(named: NamedBase, manifests: Manifests, plan: Plan, form: str) -> str:
    from karptui.views.plan import document, markdown_lines, text_lines

    if form == "json":
        return json_text({**document(named.name, plan), "objects": list(manifests.names), **named.versions}) + "\n"
    if form == "markdown":
        return text_of(markdown_lines(named.name, manifests.names, plan))
    return text_of(text_lines(named.name, plan))
