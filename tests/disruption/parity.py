"""Compares answers with Karpenter's, except for its random choices."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from karptui.disruption.command import Method
from karptui.disruption.deletion_costs import managed_costs
from karptui.disruption.json_form import legacy_repair_json, method_json
from karptui.disruption.methods import methods_of, simulate
from tests.goldens_loading import GOLDENS, load

COMPARED = (
    "DisruptionBlocked", "Unconsolidatable", "ConsolidationCandidate", "InvalidDoNotDisruptAnnotation",
    "NodeRepairBlocked",
)  # fmt: skip
_OTHERS = re.compile(r" and (\d+) other\(s\)$")
_UNPLACED = "Not all pods would schedule, "
_NEXT_REASON = re.compile(r"; (?!key )")
_CLASHES = re.compile(r"(incompatible (?:volume )?requirements, |)(.*)", re.DOTALL)


def answer(snapshot: Mapping[str, Any], folder: Path = GOLDENS) -> dict[str, Any]:
    """Return our answer to a snapshot in the oracle's form."""
    prepared = load(snapshot, folder)
    # Karpenter reports StaticDrift only if its gate is on; `simulate` always does.
    methods_run = [
        method
        for method in methods_of(prepared.settings)
        if method is not Method.STATIC_DRIFT or prepared.settings.gate("StaticCapacity")
    ]
    report = simulate(prepared, methods_run)
    methods = [method_json(result) for result in report.methods]
    if report.legacy_repairs is not None:
        methods.append(legacy_repair_json(report.legacy_repairs))
    costs = managed_costs(report.fleet)
    return {"disruption": methods, "events": report.events} | ({"deletionCosts": costs} if costs else {})


def never_given(
    oracle: str,
    ours: Mapping[str, Mapping[str, Any]],
    folder: Path,
    is_right: Callable[[Mapping[str, Any], Sequence[Mapping[str, Any]]], bool],
    *,
    runs: int,
) -> list[str]:
    """Return the snapshots of a folder, by name, for which no Karpenter run gives our answer."""
    seen: dict[str, list[Mapping[str, Any]]] = {name: [] for name in ours}
    differing = list(ours)
    for _ in range(runs):
        for name, theirs in _asked(oracle, [folder / f"{name}.json" for name in differing]):
            seen[name].append(theirs)
        # A refused snapshot has no expected answer.
        differing = [name for name in differing if seen[name] and not is_right(ours[name], seen[name])]
        if not differing:
            break
    return differing


def _asked(oracle: str, paths: Sequence[Path]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield Karpenter's answers to the snapshots that it accepts."""
    for start in range(0, len(paths), 50):
        batch = [str(path) for path in paths[start : start + 50]]
        lines = subprocess.run([oracle, *batch], check=True, capture_output=True, text=True).stdout.splitlines()
        for line in lines:
            document = json.loads(line)
            if not document.get("error"):
                yield document["name"], document


def decisions(document: Mapping[str, Any]) -> dict[str, str]:
    """Return each method's decisions as comparable text."""
    texts = {"deletionCosts": json.dumps(document.get("deletionCosts"), sort_keys=True)}
    for method in document["disruption"]:
        commands = sorted(json.dumps(_command(command), sort_keys=True) for command in method["commands"])
        texts[method["name"]] = json.dumps([sorted(method["candidates"]), method["budgets"], commands], sort_keys=True)
    return texts


def _command(command: Mapping[str, Any]) -> list[Any]:
    replacements = [_claim(claim) for claim in command["replacements"]]
    told = [command.get("terminateFirstReason"), _repairs(command)]
    return [command["decision"], sorted(command["candidates"]), replacements, f"{command['savings']:.6f}", *told]


def _repairs(command: Mapping[str, Any]) -> list[Any]:
    fields = ("action", "condition", "status", "reason", "reasonRegex", "eligibleAt", "drainBound", "escalated")
    return [
        [name, *(result.get(field) for field in fields), f"{result['score']:.9f}"]
        for name, result in sorted((command.get("repair") or {}).items())
    ]


def _claim(claim: Mapping[str, Any]) -> list[Any]:
    requirements = sorted(
        [item["key"], item["operator"], sorted(item.get("values") or []), str(item.get("minValues"))]
        for item in claim["requirements"]
    )
    lists = [sorted(claim["instanceTypes"]), sorted(claim["pods"]), requirements, claim.get("annotations") or {}]
    return [claim["nodePool"], *lists, f"{claim['cheapestPrice']:.9g}"]


def events(document: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the compared events; unschedulable pods are unordered, and above five any selection is equal."""
    kept = {}
    for key, lines in (document.get("events") or {}).items():
        settleds = sorted(_settled(line) for line in lines if line.startswith(COMPARED))
        if settleds:
            kept[key] = settleds
    return kept


def _settled(line: str) -> str:
    head, separator, rest = line.partition(_UNPLACED)
    if not separator:
        return line
    rest = re.sub(r"hostname-placeholder-\d+: \d+(, )?", "", rest)
    rest = re.sub(r"hostname-placeholder-\d+", "hostname-placeholder", rest)
    others = _OTHERS.search(rest)
    if others:
        return f"{head}{int(others[1]) + 5} pods"
    return head + " | ".join(sorted(_reasons(part) for part in re.split(r"(?<= )(?=\S+/\S+ => )", rest)))


def _reasons(part: str) -> str:
    """Return a pod's reasons sorted, because Karpenter lists a NodePool's incompatible keys in map order."""
    pod, arrow, reasons = part.strip().partition(" => ")
    by_pool = [_CLASHES.match(reason) for reason in _NEXT_REASON.split(reasons)]
    return pod + arrow + "; ".join(f"{item[1]}{sorted(item[2].split('; '))}" for item in by_pool if item is not None)
