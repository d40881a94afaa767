"""`karptui simulate`: Karpenter's decisions for snapshots, with or without the edits of scenarios."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from karptui.aws.money import saved_text
from karptui.cli.evidence import configuration
from karptui.cli.fail_on import REFUSED, parse_condition
from karptui.cli.listing import json_text
from karptui.cli.option_values import number
from karptui.cli.options import (
    CLUSTER_FLAGS,
    PRICE_FLAGS,
    add_cluster_flags,
    add_output_flag,
    add_price_flags,
    add_replay_flag,
    add_scenarios_flag,
    add_snapshots,
    refuse_unused,
)
from karptui.cli.streams import UsageError, put, say
from karptui.cli.whatif_scenarios import run_scenarios, run_self_check
from karptui.karpenter.rules import version_note
from karptui.kube.units import counted, first_of, verb
from karptui.sources.source import SourceError
from karptui.views.sanitize import clean, page

if TYPE_CHECKING:
    from karptui.cli.fail_on import FailCondition
    from karptui.config import Config
    from karptui.provisioning.prepared import Prepared
    from karptui.provisioning.solution import Solution
    from karptui.sources.snapshot.reader import SnapshotReader

_Savings: TypeAlias = Mapping[str, Sequence[float | None]]
"""Savings per hour of each command by method; None if unknown."""


def configure(parser: argparse.ArgumentParser) -> None:
    add_snapshots(parser, "file or directory, each a snapshot; - is stdin")
    parser.add_argument(
        "--disruption",
        action="store_true",
        help='simulate drift, emptiness and consolidation too; a snapshot may request it itself ("disruption": true)',
    )
    parser.add_argument(
        "--time",
        type=number(),
        metavar="N",
        help="run N times and print the shortest time in milliseconds (solveMillis)",
    )
    add_output_flag(parser, ("table", "json"))
    group = parser.add_argument_group("what if")
    add_scenarios_flag(group, "show the effect of scenarios on snapshots, a live cluster or --demo")
    add_replay_flag(group, "replay mode, instead of the scenarios'")
    group.add_argument(
        "--fail-on",
        metavar="CONDITION",
        action="append",
        type=_condition,
        help="exit with status 3 if a scenario makes more pods unschedulable (pending), drifts NodeClaims (drift),"
        " costs more (cost, cost+10%%, cost+2.50 in $/h), or is refused by the API server (refused);"
        " repeatable",
    )
    group.add_argument(
        "--self-check",
        action="store_true",
        help="replay recent NodeClaims and count how many the model launches too",
    )
    add_cluster_flags(parser, takes_several=False, files="")
    add_price_flags(
        parser,
        applies_to="Of --scenario and --self-check, as in the configuration; without these, Karpenter's own prices"
        " are used.",
    )


def _condition(text: str) -> FailCondition | str:
    return parse_condition(text, REFUSED)


def run(args: argparse.Namespace) -> int:
    """Answer each snapshot in turn. Status 1 if one cannot be read; the others are answered."""
    if args.scenario or args.self_check:
        refuse_unused(args, ("time", "disruption"), "cannot be combined with --scenario and --self-check")
        if args.self_check:
            refuse_unused(args, ("replay", "fail_on"), "needs --scenario")
        return run_self_check(args) if args.self_check else run_scenarios(args)
    if not args.snapshots:
        raise UsageError("name a snapshot; a live cluster and --demo need a --scenario or --self-check")
    if args.replay or args.fail_on:
        raise UsageError("--replay and --fail-on need --scenario")
    of_clusters = [name for name in (*CLUSTER_FLAGS, *PRICE_FLAGS) if name not in ("now", "at")]
    refuse_unused(args, of_clusters, "needs --scenario or --self-check")
    from karptui.sources.snapshot.reader import SnapshotReader

    config = configuration(args)
    reader = SnapshotReader(karpenter_version=args.karpenter_version or "")
    status = 0
    for path in args.snapshots:
        snapshot_answer = answer(
            reader,
            path,
            times=args.time or 0,
            disruption=args.disruption,
            now_ns=args.now,
            at=args.at,
            config=config,
        )
        if "error" in snapshot_answer.document:
            status = 1
        if args.output == "json":
            put(json_text(snapshot_answer.fixed_form))
        else:
            put(page("\n".join(lines_of(snapshot_answer.document, snapshot_answer.savings))))
    return status


class Answer(msgspec.Struct, frozen=True, eq=False):
    """The answer to one snapshot."""

    document: dict[str, Any]
    """As ``-o json`` prints it; with ``error`` where the snapshot cannot be read."""
    savings: _Savings = {}
    names_static_drift: bool = True
    """Whether the fixed form names StaticDrift, which Karpenter asks in any case: with the gate StaticCapacity only."""

    @property
    def fixed_form(self) -> dict[str, Any]:
        """The document in the form that does not change from version to version."""
        from karptui.disruption.command import Method

        methods = self.document.get("disruption", [])
        if self.names_static_drift or not methods:
            return self.document
        left_out = [method for method in methods if method["name"] == Method.STATIC_DRIFT]
        more = [STATIC_DRIFT_LEFT_OUT] if any(method["candidates"] for method in left_out) else []
        return {
            **self.document,
            "notModelled": [*self.document["notModelled"], *more],
            "disruption": [method for method in methods if method not in left_out],
        }


STATIC_DRIFT_LEFT_OUT: Final = (
    "StaticDrift, which is named here with the feature gate StaticCapacity only: `karptui next` always has it"
)


def answer(
    reader: SnapshotReader,
    path: str,
    *,
    times: int = 0,
    disruption: bool = False,
    now_ns: int | None = None,
    at: Callable[[int], int] | None = None,
    config: Config | None = None,
) -> Answer:
    from karptui.cli.loading import collector_at_rest, open_snapshot
    from karptui.config import Config
    from karptui.provisioning.not_modelled import not_modelled
    from karptui.provisioning.prepared import prepare

    try:
        with collector_at_rest():
            snapshot = reader.read([path], now_ns=now_ns, at=at, strict=True)
            base, evidence = open_snapshot(snapshot, config or Config())
            # The fixed form of the answer looks at Karpenter right after a start: it has no commands in flight.
            prepared = prepare(base.inventory, base.types.types, base.settings, base.now_ns)
    except SourceError as error:
        return Answer({"name": _name_in(path), "error": str(error)})
    version = version_note(evidence.karpenter_version)
    for note in (*((version,) if version else ()), *base.types.notes):
        say(f"{snapshot.name}: {note}")
    millis, solution = _decide(prepared, times)
    document: dict[str, Any] = {"name": snapshot.name, "provisioning": solution.as_json()}
    if times:
        document["provisioning"]["solveMillis"] = millis
    document["karpenterFound"] = evidence.karpenter_version
    document["karpenterModelled"] = base.settings.rules.version
    document["notModelled"] = not_modelled(base.inventory, base.settings)
    if not prepared.pools and (untried := sorted(pod.key for pod in (*prepared.pending, *prepared.leaving))):
        document["untried"] = untried
    is_wanted = disruption or snapshot.with_disruption
    disrupted = _disruption(prepared, solution, is_included=is_wanted)
    names_static_drift = base.settings.gate("StaticCapacity")
    return Answer(document | disrupted.document, disrupted.savings, names_static_drift)


def _name_in(path: str) -> str:
    """Return the name that a snapshot which cannot be understood gives itself, or else its file's."""
    from karptui.sources.snapshot.documents import read_bytes, unpack
    from karptui.sources.snapshot.text import SnapshotError

    file = Path(path)
    try:
        value = msgspec.json.decode(unpack(read_bytes(file), path))
    except (SnapshotError, ValueError, RecursionError):
        value = None
    name = value.get("name") if isinstance(value, dict) else None
    if isinstance(name, str) and name:
        return name.encode(errors="replace").decode()
    return file.name.removesuffix(".gz").removesuffix(".json")


def _decide(prepared: Prepared, times: int) -> tuple[float, Solution]:
    """Return the shortest time of several decisions in milliseconds, and the decision."""
    from karptui.provisioning.prepared import prepare
    from karptui.provisioning.solution import solve

    if not times:
        return 0.0, solve(prepared)
    least = float("inf")
    for _ in range(times):
        begun = time.perf_counter()
        fresh = prepare(prepared.inventory, prepared.given_types, prepared.settings, prepared.now_ns)
        solution = solve(fresh)
        least = min(least, time.perf_counter() - begun)
    return round(least * 1000, 3), solution


def _disruption(prepared: Prepared, solution: Solution, *, is_included: bool) -> Answer:
    """Return the answers of the disruption methods if wanted, and all events."""
    from karptui.provisioning.solution import provisioning_events

    events: dict[str, list[str]] = provisioning_events(prepared, solution)
    document: dict[str, Any] = {}
    disruption_events: dict[str, list[str]] = {}
    savings: _Savings = {}
    if is_included:
        from karptui.disruption.deletion_costs import managed_costs
        from karptui.disruption.json_form import legacy_repair_json, method_json
        from karptui.disruption.methods import simulate

        report = simulate(prepared)
        document["disruption"] = [method_json(result) for result in report.methods]
        savings = {
            str(result.method): [command.known_savings for command in result.commands] for result in report.methods
        }
        if report.legacy_repairs is not None:
            document["disruption"].append(legacy_repair_json(report.legacy_repairs))
        if costs := managed_costs(report.fleet):
            document["deletionCosts"] = costs
        disruption_events = report.events
    elif any(state.is_marked_for_deletion for state in prepared.states):
        from karptui.disruption.do_not_disrupt import record_departing
        from karptui.disruption.events import Recorder
        from karptui.disruption.methods import fleet_of

        recorder = Recorder()
        record_departing(fleet_of(prepared), recorder)
        disruption_events = recorder.by_object()
    for key, lines in disruption_events.items():
        events.setdefault(key, []).extend(line for line in lines if line not in events.get(key, ()))
    document["events"] = {key: sorted(events[key]) for key in sorted(events)}
    return Answer(document, savings)


HEADINGS: Final = ("NODEPOOL", "PODS", "CPU", "MEMORY", "TYPES", "FROM $/H", "FIRST TYPES")
MAX_NAMES: Final = 3


def lines_of(document: dict[str, Any], savings: _Savings) -> Iterator[str]:
    """Yield an answer as text."""
    yield from (clean(line) for line in _lines(document, savings))


def _lines(document: dict[str, Any], savings: _Savings) -> Iterator[str]:
    from karptui.views.table import aligned

    yield f"{document['name']}:"
    if "error" in document:
        yield f"  {document['error']}"
        return
    decision = document["provisioning"]
    claims, nodes, errors = decision["newNodeClaims"], decision["existingNodes"], decision["podErrors"]
    untried = document.get("untried", ())
    counts = f"new NodeClaims: {len(claims)}, existing nodes that take pods: {len(nodes)}"
    yield f"  {counts}, unschedulable pods: {len(errors) + len(untried)}"
    if untried:
        from karptui.views.pending.sentences import NO_POOLS_PASSED_OVER

        yield f"  {counted(len(untried), 'pod')} {verb(len(untried), 'needs', 'need')} a node; {NO_POOLS_PASSED_OVER}"
    if claims:
        table = [HEADINGS, *(_claim_row(claim) for claim in claims)]
        yield from (f"  {line}" for line in aligned(table, range(1, len(HEADINGS) - 1)))
    yield from (f"  {node['name']} receives {', '.join(node['pods'])}" for node in nodes)
    yield from (f"  {key}: {error}" for key, error in errors.items())
    for tie in decision.get("ties", ()):
        chosen, *others = tie["domains"]
        instead = ", ".join(others)
        yield f"  {tie['pod']}: {tie['topologyKey']} {chosen} is one of equals, Karpenter may choose {instead}"
    for method in document.get("disruption", ()):
        yield from _method_lines(method, savings.get(method["name"], ()))
    yield from (f"  not modelled: {sentence}" for sentence in document["notModelled"])
    if "solveMillis" in decision:
        yield f"  decided in {decision['solveMillis']:.1f} ms"


def _claim_row(claim: dict[str, Any]) -> tuple[str, ...]:
    names, requests, price = claim["instanceTypes"], claim["requests"], claim["cheapestPrice"]
    return (
        claim["nodePool"],
        str(len(claim["pods"])),
        requests.get("cpu", "0"),
        requests.get("memory", "0"),
        str(len(names)),
        "n/a" if price < 0 else f"{price:.4f}",
        first_of(names, MAX_NAMES),
    )


def _method_lines(method: dict[str, Any], savings: Sequence[float | None]) -> Iterator[str]:
    budgets = ", ".join(f"{pool} {count}" for pool, count in sorted(method["budgets"].items()))
    yield f"  {method['name']}: {len(method['candidates'])} candidates, budgets {budgets or 'none'}"
    for command, saved in zip_longest(method["commands"], savings):
        replaced_by = f" by {len(command['replacements'])} NodeClaim" if command["replacements"] else ""
        saves = "" if saved is None else f", {saved_text(saved)}"
        yield f"    {command['decision']} {', '.join(command['candidates'])}{replaced_by}{saves}"
