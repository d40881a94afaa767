"""`karptui simulate --scenario`: what scenarios change about clusters."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from karptui.cli.source import UsageError

if TYPE_CHECKING:
    from karptui.cli.whatif_bases import NamedBase
    from karptui.whatif.difference import Difference
    from karptui.whatif.scenario import Replay, Scenario

FAILED: Final = 3
"""Exit status where a condition of ``--fail-on`` is met."""
_COST: Final = re.compile(r"cost(?:\+(?P<amount>[0-9]+(?:\.[0-9]+)?)(?P<percent>%?))?")
_CENT: Final = 1e-6


class Condition(NamedTuple):
    """A condition of ``--fail-on``."""

    text: str
    kind: str
    """``pending``, ``drift`` or ``cost``."""
    amount: float = 0.0
    """Dollars per hour, or a share, that the costs may rise by."""
    is_share: bool = False

    def met(self, difference: Difference) -> str:
        """Return what meets the condition, in words; empty where nothing does."""
        if self.kind == "pending":
            count = len(difference.no_longer_fit)
            return f"{count} pods find no place that have one now, or are new" if count else ""
        if self.kind == "drift":
            count = len(difference.drift_gained)
            return f"{count} NodeClaims would drift" if count else ""
        # Nodes on spot whose price nobody knows count as on demand here, so that no rise goes unseen.
        sides = difference.before
        before, change = sides.price_per_hour + sides.unpriced_at_most_per_hour, difference.at_most_delta_per_hour
        limit = before * self.amount if self.is_share else self.amount
        most = "at most " if change != difference.price_delta_per_hour else ""
        return f"costs rise by {most}{change:.4f} $/h from {before:.4f} $/h" if change > limit + _CENT else ""


def parse_condition(text: str) -> Condition:
    """Return a condition of ``--fail-on``: ``pending``, ``drift``, ``cost``, ``cost+10%`` or ``cost+2.50``."""
    if text in ("pending", "drift"):
        return Condition(text, text)
    match = _COST.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not pending, drift, cost, cost+10% or cost+2.50 ($/h)")
    amount = float(match["amount"] or 0)
    return Condition(text, "cost", amount / 100 if match["percent"] else amount, bool(match["percent"]))


def run_scenarios(args: argparse.Namespace) -> int:
    """Print what each scenario changes about each cluster.

    Returns:
        0; 1 where a snapshot cannot be read or an edit cannot be made; 3 where a condition of ``--fail-on`` is met.

    Raises:
        UsageError: where scenarios cannot be read, or no cluster can be had.
    """
    from karptui.cli.whatif_bases import bases
    from karptui.whatif.scenario import Replay

    scenarios = read_files(args.scenario)
    replay = Replay(args.replay) if args.replay else None
    status = 0
    for named in bases(args):
        status = max(status, named.tell("simulate"))
        for scenario in scenarios:
            document, failures = scenario_answer(named, scenario, replay, args.fail_on or ())
            if "error" in document:
                status = max(status, 1)
            elif failures:
                status = FAILED
            _print(document, args.output)
            for failure in failures:
                _say(f"{named.name}: {scenario.name}: {failure}")
    return status


def run_self_check(args: argparse.Namespace) -> int:
    """Print how many of the NodeClaims created lately the model makes too.

    Returns:
        0; 1 where a snapshot cannot be read, or the model does not make one that can be compared.

    Raises:
        UsageError: where no cluster can be had.
    """
    from karptui.cli.whatif_bases import bases

    if args.scenario:
        raise UsageError("--self-check is about the cluster as it is: leave --scenario out")
    status = 0
    for named in bases(args):
        status = max(status, named.tell("simulate"))
        document = self_check_answer(named)
        if "error" in document or document["reproduced"] < document["comparable"]:
            status = 1
        _print(document, args.output)
    return status


def self_check_answer(named: NamedBase) -> dict[str, Any]:
    """Return the self-check of a cluster."""
    from karptui.whatif.self_check import self_check

    if named.base is None:
        return {"name": named.name, "error": named.problem}
    found = self_check(named.base)
    return {
        "name": named.name,
        "comparable": found.comparable,
        "reproduced": found.reproduced,
        "sentence": found.sentence(),
        "nodeClaims": [
            {
                "name": one.claim_name,
                "node": one.node_name,
                "nodePool": one.pool_name,
                "instanceType": one.type_name,
                "finding": str(one.finding),
                "because": one.because,
                "hasSameTypes": one.has_same_types,
            }
            for one in found.claims
        ],
    }


def read_files(paths: Sequence[str]) -> list[Scenario]:
    """Return the scenarios of files; ``-`` is standard input.

    Raises:
        UsageError: naming file, scenario and field.
    """
    from pathlib import Path

    from karptui.whatif.scenario_file import ScenarioError, read_scenarios

    found: list[Scenario] = []
    for path in paths:
        where = "standard input" if path == "-" else path
        try:
            text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
            found.extend(read_scenarios(text, where))
        except OSError as error:
            raise UsageError(f"{where}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise UsageError(f"{where}: is not text in UTF-8") from error
        except ScenarioError as error:
            raise UsageError(str(error)) from error
    return found


def scenario_answer(
    named: NamedBase, scenario: Scenario, mode: Replay | None, conditions: Sequence[Condition]
) -> tuple[dict[str, Any], list[str]]:
    """Return what a scenario changes about a cluster, and the conditions that are met, in words.

    Args:
        named: The cluster.
        scenario: The edits.
        mode: What is replayed, instead of what the scenario says.
        conditions: Of ``--fail-on``.
    """
    from msgspec.structs import replace

    from karptui.whatif.answer import answer, with_blockers
    from karptui.whatif.json_form import answer_json

    document: dict[str, Any] = {"name": named.name, "scenario": scenario.name}
    if named.base is None:
        return {**document, "error": named.problem}, []
    found = with_blockers(answer(named.base, replace(scenario, replay=mode) if mode else scenario))
    document |= answer_json(found)
    if found.difference is None:
        return document, []
    failures = [f"--fail-on {one.text}: {why}" for one in conditions if (why := one.met(found.difference))]
    document["failed"] = failures
    return document, failures


def _say(sentence: str) -> None:
    from karptui.views.sanitize import clean

    print(clean(f"karptui simulate: {sentence}"), file=sys.stderr)


def _print(document: dict[str, Any], form: str) -> None:
    if form == "json":
        from karptui.cli.json_text import json_text

        sys.stdout.write(json_text(document) + "\n")
        return
    from karptui.cli.whatif_table import lines_of
    from karptui.views.sanitize import clean

    print("\n".join(clean(line) for line in _spaced(lines_of(document))))


def _spaced(lines: Iterator[str]) -> Iterator[str]:
    yield from lines
    yield ""
