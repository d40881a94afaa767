"""The clusters that what-if commands start from: snapshots by name, a live cluster, or the demo."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from karptui.cli.evidence import configuration
from karptui.cli.fail_on import FAILED, FailCondition
from karptui.cli.listing import json_text, report, versions_json
from karptui.cli.options import ASKING_FLAGS, LIVE_FLAGS, refuse_unused
from karptui.cli.streams import UsageError, given_text, put, say
from karptui.decode.kinds import Kind
from karptui.sources.source import SourceError
from karptui.views.sanitize import clean, page

if TYPE_CHECKING:
    from karptui.karpenter.metrics import ControllerMetrics
    from karptui.whatif.difference import Difference
    from karptui.whatif.scenario import Replay, Scenario
    from karptui.whatif.situation import WhatIfBase


class NamedBase(NamedTuple):
    """A cluster, or why there is none."""

    name: str
    base: WhatIfBase | None
    problem: str = ""
    notes: tuple[str, ...] = ()
    """Messages about assumptions, each with the name of the cluster or file."""
    complaints: tuple[str, ...] = ()
    """Messages about missing objects; with any, the exit status is 1."""
    metrics: ControllerMetrics | None = None
    """Karpenter's metrics, if they were read."""

    @property
    def versions(self) -> dict[str, str | None]:
        """Karpenter's version in the cluster, and the version whose rules decide."""
        return {} if self.base is None else versions_json(self.base.karpenter_version, self.base.settings.rules.version)


def bases(args: argparse.Namespace) -> Iterator[NamedBase]:
    """Yield the clusters that the arguments name, one for each snapshot.

    Raises:
        UsageError: The flags name no readable cluster.
    """
    if args.snapshots:
        check_snapshots(args)
        yield from (base_of_snapshot(path, args) for path in args.snapshots)
    else:
        yield _of_flags(args)


def check_snapshots(args: argparse.Namespace) -> None:
    """Refuse flags that cannot be combined with positional snapshots."""
    if args.snapshot or args.demo or args.context:
        raise UsageError("name snapshots either as arguments or with --snapshot, and no other cluster")
    refuse_unused(args, (*LIVE_FLAGS, *ASKING_FLAGS), "is about a live cluster: it cannot be combined with a snapshot")


def base_of_snapshot(path: str, args: argparse.Namespace) -> NamedBase:
    """Return the cluster of a positional snapshot, or why there is none."""
    from karptui.cli.loading import collector_at_rest, open_snapshot
    from karptui.session.readiness import ignored
    from karptui.sources.snapshot.reader import SnapshotReader

    try:
        with collector_at_rest():
            reader = SnapshotReader(karpenter_version=args.karpenter_version or "")
            snapshot = reader.read([path], now_ns=args.now, at=args.at, strict=True)
    except SourceError as error:
        return NamedBase(path, None, str(error))
    base, evidence = open_snapshot(snapshot, configuration(args))
    left_out = ignored(base.inventory.unread - {Kind.NODECLASS})  # NodePools tell whether one is missing
    notes = (f"{snapshot.name}: {note}" for note in filter(None, (evidence.version_note, *left_out)))
    return _checked(NamedBase(snapshot.name, base, notes=(*notes, *snapshot.notes), metrics=evidence.metrics))


def cluster_name(args: argparse.Namespace) -> str:
    return "demo" if args.demo else " ".join(args.snapshot or ()) or args.context or "cluster"


def _of_flags(args: argparse.Namespace) -> NamedBase:
    from karptui.cli.loading import collector_at_rest, load
    from karptui.session.controller import idle_because
    from karptui.session.prepare import base_of
    from karptui.session.readiness import left_out

    needed = (Kind.NODE, Kind.NODECLAIM, Kind.POD, Kind.NODEPOOL, Kind.NODECLASS, Kind.DAEMONSET)
    with collector_at_rest():
        loaded = load(args, needed)
    idle = idle_because(loaded.view, loaded.now_ns)
    notes = (*filter(None, (loaded.view.evidence.version_note, idle)), *left_out(loaded.view), *loaded.notes)
    return _checked(
        NamedBase(
            cluster_name(args),
            base_of(loaded.view, loaded.now_ns),
            notes=notes,
            complaints=loaded.complaints,
            metrics=loaded.view.evidence.metrics,
        )
    )


def _checked(named: NamedBase) -> NamedBase:
    """Return a cluster, or why it cannot be simulated."""
    from karptui.session.readiness import unsimulated_because

    problem = unsimulated_because(named.base.inventory.unread) if named.base is not None else ""
    return named._replace(base=None, problem=problem) if problem else named


class ScenarioAnswer(NamedTuple):
    """Effect of a scenario on a cluster."""

    document: dict[str, Any]
    lines: Sequence[str]
    """The answer as text."""
    failures: Sequence[str] = ()
    """Conditions that are met, as text."""
    difference: Difference | None = None


def run_scenarios(args: argparse.Namespace) -> int:
    """Print the effect of each scenario on each cluster.

    Returns:
        0; 1 if a snapshot cannot be read or an edit is invalid; 3 if a condition of ``--fail-on`` is met.

    Raises:
        UsageError: The scenarios or the cluster cannot be read.
    """
    from karptui.kube.cel_library import why_rules_unchecked
    from karptui.whatif.scenario import Replay

    scenarios = read_files(args.scenario)
    replay = Replay(args.replay) if args.replay else None
    status = 0
    if unchecked := why_rules_unchecked():
        say(unchecked)
    for named in bases(args):
        status = max(status, report(named))
        answers = [scenario_answer(named, scenario, replay, args.fail_on or ()) for scenario in scenarios]
        comparison = _compare(answers)
        for answer in answers:
            if answer.difference is None:
                status = max(status, 1)
            elif answer.failures:
                status = FAILED
            _print(answer.document, answer.lines, args.output)
            for failure in answer.failures:
                say(f"{named.name}: {answer.document['scenario']}: {failure}")
        if comparison and args.output != "json":
            put(page(f"{clean(comparison)}\n"))
    return status


def _compare(answers: Sequence[ScenarioAnswer]) -> str:
    """Return a comparison of several scenarios, and add it to their documents; empty if unknown."""
    from karptui.views.whatif.compare import Compared, best_sentence, places

    simulated = [(answer.document, answer.difference) for answer in answers if answer.difference is not None]
    if len(simulated) < 2:
        return ""
    sentence = best_sentence([Compared(document["scenario"], difference) for document, difference in simulated])
    if sentence:
        for (document, _), place in zip(simulated, places([difference for _, difference in simulated]), strict=True):
            document |= {"place": place, "comparison": sentence}
    return sentence


def run_self_check(args: argparse.Namespace) -> int:
    """Print the number of recent NodeClaims that the model launches too.

    Returns:
        0; 1 if a snapshot cannot be read, or the model does not launch a comparable NodeClaim.

    Raises:
        UsageError: The cluster cannot be read.
    """
    if args.scenario:
        raise UsageError("--self-check cannot be combined with --scenario")
    from karptui.views.column import plain
    from karptui.views.whatif.compare import SELF_CHECK, self_check_text
    from karptui.whatif.self_check import self_check

    status = 0
    for named in bases(args):
        status = max(status, report(named))
        if named.base is None:
            status = 1
            _print({"name": named.name, "error": named.problem}, (named.name, f"  {named.problem}"), args.output)
            continue
        check = self_check(named.base)
        if check.reproduced < check.comparable:
            status = 1
        lines = f"{named.name}: {self_check_text(check)}".splitlines()
        _print({"name": named.name, **plain(SELF_CHECK, check)}, lines, args.output)
    return status


def read_files(paths: Sequence[str]) -> list[Scenario]:
    """Return the scenarios of files; ``-`` is standard input. Raises RequestError naming file, scenario and field."""
    from karptui.whatif.scenario import MOST_BYTES, read_scenarios

    scenarios: list[Scenario] = []
    for path in paths:
        scenarios.extend(read_scenarios(given_text(path, MOST_BYTES), "standard input" if path == "-" else path))
    return scenarios


def scenario_answer(
    named: NamedBase, scenario: Scenario, mode: Replay | None, conditions: Sequence[FailCondition | str]
) -> ScenarioAnswer:
    """Return the effect of a scenario on a cluster, and the conditions that are met."""
    from karptui.views.whatif.document import answer_values
    from karptui.views.whatif.result import text_lines
    from karptui.views.whatif.sentences import headline_text
    from karptui.views.whatif.totals import mode_text
    from karptui.whatif.edits import EditError
    from karptui.whatif.edits.apply import apply
    from karptui.whatif.manifests import refusals
    from karptui.whatif.run import answers

    document: dict[str, Any] = {"name": named.name, "scenario": scenario.name}
    title = ": ".join(filter(None, (named.name, scenario.name)))

    def refuse(problem: str) -> ScenarioAnswer:
        return ScenarioAnswer({**document, "error": problem}, (title, f"  {problem}"))

    if named.base is None:
        return refuse(named.problem)
    in_mode = replace(scenario, replay=mode) if mode else scenario
    try:
        edited = apply(named.base, in_mode.edits)
    except EditError as error:
        return refuse(str(error))
    *_, answer = answers(named.base, in_mode, edited=edited)
    refused = tuple(refusals(edited).values())
    assert answer.difference is not None
    failures = list(_failures(conditions, answer.difference, refused))
    document |= {
        "sentence": headline_text(answer),
        "refused": list(refused),
        **answer_values(answer),
        "failed": failures,
    }
    lines = (f"{title} ({mode_text(in_mode.replay)})", *(f"  {line}" for line in text_lines(answer, refused)))
    return ScenarioAnswer(document, lines, failures, answer.difference)


def _failures(
    conditions: Sequence[FailCondition | str], difference: Difference, refused: Sequence[str]
) -> Iterator[str]:
    for condition in conditions:
        if isinstance(condition, str):
            yield from (f"--fail-on {condition}: {why}" for why in refused)
        elif why := condition.met(difference):
            yield f"--fail-on {condition.text}: {why}"


def _print(document: dict[str, Any], lines: Sequence[str], form: str) -> None:
    if form == "json":
        put(json_text(document))
    else:
        put(page("".join(f"{clean(line).rstrip()}\n" for line in lines)))
