"""Compares decisions with Karpenter's own code, ties taken into account."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from karptui.kube.quantity import NANO, parse_quantity

Json = dict[str, Any]
ASK_AGAIN = 48
"""How often Karpenter is asked before an answer that it has not given counts as wrong: it breaks ties at random."""


def ask(oracle: str, files: Sequence[Path]) -> dict[str, Json]:
    """Return Karpenter's answers by the snapshots' names."""
    run = subprocess.run([oracle, *map(str, files)], check=True, capture_output=True, text=True)
    return {answer["name"]: answer for answer in map(json.loads, run.stdout.splitlines())}


def tidy(text: str) -> str:
    """Drop the numbers that stand for nodes to come: Karpenter counts them per process."""
    return re.sub(
        r"hostname-placeholder-\d+", "hostname-placeholder", re.sub(r"hostname-placeholder-\d+: \d+(, )?", "", text)
    )


def _claim(claim: Json) -> Json:
    amounts = {name: str(Decimal(parse_quantity(text).nano) / NANO) for name, text in claim["requests"].items()}
    return {
        "nodePool": claim["nodePool"],
        "instanceTypes": sorted(claim["instanceTypes"]),
        "pods": sorted(claim["pods"]),
        "annotations": claim.get("annotations") or {},
        "requirements": sorted(
            [one["key"], one["operator"], sorted(one.get("values") or []), one.get("minValues") or 0]
            for one in claim["requirements"]
        ),
        "requests": {name: amount for name, amount in amounts.items() if Decimal(amount)},
        "cheapestPrice": f"{claim['cheapestPrice']:.9g}",
    }


def decision(provisioning: Json) -> str:
    """Return a decision in a form that can be compared, without the words of errors."""
    claims = sorted(json.dumps(_claim(claim), sort_keys=True) for claim in provisioning["newNodeClaims"])
    nodes = sorted([node["name"], sorted(node["pods"])] for node in provisioning["existingNodes"])
    return json.dumps([claims, nodes, sorted(provisioning["podErrors"])])


def words(provisioning: Json) -> dict[str, str]:
    """Return the words of errors."""
    return {key: tidy(text) for key, text in provisioning["podErrors"].items()}


def difference(oracle: str, file: Path, ours: Json, first: Json) -> str:
    """Return how an answer differs from all that Karpenter gives, empty if it gives it too.

    Args:
        oracle: Path of the program that runs Karpenter's code.
        file: The snapshot.
        ours: Our answer.
        first: Karpenter's first.
    """
    if "error" in first:
        return ""
    asked: list[Json] = [first["provisioning"]]
    for left in range(ASK_AGAIN, -1, -1):
        same = [theirs for theirs in asked if decision(theirs) == decision(ours)]
        if any(words(theirs) == words(ours) for theirs in same):
            return ""
        if left:
            asked.append(next(iter(ask(oracle, [file]).values()))["provisioning"])
    if any(decision(theirs) == decision(ours) for theirs in asked):
        return "words"
    return "decision"
