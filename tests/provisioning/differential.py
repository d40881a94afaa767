"""Compares decisions with Karpenter's own code, ties taken into account."""

from __future__ import annotations

import json
import random
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import patch

from karptui.kube.quantity import NANO, parse_quantity
from karptui.provisioning import Solution
from karptui.provisioning.topology_group import Choice, TopologyGroup
from karptui.provisioning.topology_spec import TopologyKind

Json = dict[str, Any]
ASK_AGAIN = (2, 6, 16, 24)
"""How often Karpenter is asked again, in one go each, before an answer that it has not given counts as wrong: it breaks
ties at random."""


def ask(oracle: str, files: Sequence[Path]) -> list[Json]:
    """Return Karpenter's answers in the order of the snapshots."""
    run = subprocess.run([oracle, *map(str, files)], check=True, capture_output=True, text=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


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


class Karpenter:
    """Karpenter's answers to one snapshot; asked again only as far as needed."""

    def __init__(self, oracle: str, file: Path, first: Json) -> None:
        self._oracle = oracle
        self._file = file
        self.refuses = "error" in first
        self._asked: list[Json] = [] if self.refuses else [first["provisioning"]]
        self._left = list(ASK_AGAIN)

    def _answers(self) -> Iterator[Json]:
        yield from self._asked
        while self._left:
            new = [answer["provisioning"] for answer in ask(self._oracle, [self._file] * self._left.pop(0))]
            self._asked += new
            yield from new

    def difference(self, ours: Json) -> str:
        """Return how an answer differs from all that Karpenter gives, empty if it gives it too."""
        if self.refuses:
            return ""
        same = []
        for theirs in self._answers():
            if decision(theirs) == decision(ours):
                if words(theirs) == words(ours):
                    return ""
                same.append(words(theirs))
        if not same:
            return "decision"
        return "" if all(_is_mix(text, [one[key] for one in same]) for key, text in words(ours).items()) else "words"


def _is_mix(text: str, texts: Sequence[str]) -> bool:
    """Return whether a pod's error is made of reasons that Karpenter gives for it, in as many parts.

    Of several rules that fail in a NodePool it names any one, so that few of the possible combinations come up.
    """
    parts = [one.split("; ") for one in texts]
    mine = text.split("; ")
    return len(mine) in map(len, parts) and set(mine) <= {part for one in parts for part in one}


def thrown(decide: Callable[[], Solution], times: int) -> Iterator[Json]:
    """Yield our answers with ties broken by dice, as Karpenter breaks them."""
    first = TopologyGroup._first
    for seed in range(times):
        dice = random.Random(seed)

        def throw(group: TopologyGroup, equals: tuple[str, ...], dice: random.Random = dice) -> Choice:
            choice = first(group, tuple(dice.sample(equals, len(equals))))
            # The first pod of a self-affine group leaves its claim one domain or two.
            if len(equals) > 1 and group.kind is TopologyKind.AFFINITY and dice.random() < 0.5:
                return Choice(frozenset(choice.equals[:2]), choice.equals)
            return choice

        with patch.object(TopologyGroup, "_first", throw):
            yield decide().as_json()
