"""Compares decisions with those of Karpenter's own code, which breaks ties at random."""

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

from karptui.karpenter.requirements import Requirements
from karptui.kube.quantity import NANO, parse_quantity
from karptui.provisioning import topology_group
from karptui.provisioning.solution import Solution
from karptui.provisioning.stage_memory import StageMemory
from karptui.provisioning.topology import Topology
from karptui.provisioning.topology_group import DomainChoice, Left, Ruled
from karptui.provisioning.topology_spec import TopologyKind

Json = dict[str, Any]
ASK_AGAIN = (2, 6, 16, 24)
"""Sizes of the batches of further Karpenter runs, before an answer that none has given counts as wrong.

Karpenter breaks ties at random, so its answers vary."""


def ask(oracle: str, files: Sequence[Path]) -> list[Json]:
    """Return Karpenter's answers in the order of the snapshots."""
    run = subprocess.run([oracle, *map(str, files)], check=True, capture_output=True, text=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


def tidy(text: str) -> str:
    """Drop the numbers of future nodes, which Karpenter counts per process."""
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
            [item["key"], item["operator"], sorted(item.get("values") or []), item.get("minValues") or 0]
            for item in claim["requirements"]
        ),
        "requests": {name: amount for name, amount in amounts.items() if Decimal(amount)},
        "cheapestPrice": f"{claim['cheapestPrice']:.9g}",
    }


def decision(provisioning: Json) -> str:
    """Return a decision in comparable form, without error messages."""
    claims = sorted(json.dumps(_claim(claim), sort_keys=True) for claim in provisioning["newNodeClaims"])
    nodes = sorted([node["name"], sorted(node["pods"])] for node in provisioning["existingNodes"])
    return json.dumps([claims, nodes, sorted(provisioning["podErrors"])])


def shape(provisioning: Json) -> str:
    """Return the parts of a decision that do not depend on chance: no domains, no names of equal pods."""
    claims = sorted([claim["nodePool"], len(claim["pods"])] for claim in provisioning["newNodeClaims"])
    nodes = sorted([node["name"], len(node["pods"])] for node in provisioning["existingNodes"])
    return json.dumps([claims, nodes, len(provisioning["podErrors"])])


def words(provisioning: Json) -> dict[str, str]:
    return {key: tidy(text) for key, text in provisioning["podErrors"].items()}


class Karpenter:
    """Karpenter's answers to one snapshot; it runs again only if needed."""

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
        """Return how our answer differs from all of Karpenter's ("decision" or "words"), or an empty string."""
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
        return "" if all(_is_mix(text, [item[key] for item in same]) for key, text in words(ours).items()) else "words"

    def has_shape(self, ours: Json) -> bool:
        """Return whether our answer has the shape of one of Karpenter's."""
        return shape(ours) in map(shape, self._asked)


def _is_mix(text: str, texts: Sequence[str]) -> bool:
    """Return whether a pod's error combines reasons of Karpenter's errors, in the same number of parts.

    If several rules fail in a NodePool, Karpenter names any one, so the runs show few of the possible combinations.
    """
    parts = [text.split("; ") for text in texts]
    mine = text.split("; ")
    return len(mine) in map(len, parts) and set(mine) <= {part for texts in parts for part in texts}


def thrown(decide: Callable[[], Solution], times: int) -> Iterator[Json]:
    """Yield our answers with ties broken at random in every attempt, as in Karpenter."""
    refresh = StageMemory.refresh

    def forget(stage_memory: StageMemory, topology: Topology) -> None:
        stage_memory.stamp = -1
        stage_memory.new_claims.clear()
        refresh(stage_memory, topology)

    for seed in range(times):
        dice = random.Random(seed)

        def throw(
            rules: Sequence[Ruled], choices: Sequence[DomainChoice], labels: Requirements, dice: random.Random = dice
        ) -> Iterator[Left]:
            picks = [
                _pick(dice, choice, group.kind) if choice.equals else choice.domains
                for (group, _), choice in zip(rules, choices, strict=True)
            ]
            yield topology_group._meet(rules, picks, labels)

        with patch.object(topology_group, "_ways", throw), patch.object(StageMemory, "refresh", forget):
            yield decide().as_json()


def _pick(dice: random.Random, choice: DomainChoice, kind: TopologyKind) -> frozenset[str]:
    """Return a random domain, or sometimes two for the first pod of a self-affine group."""
    count = 2 if kind is TopologyKind.AFFINITY and dice.random() < 0.5 else 1
    return frozenset(dice.sample(choice.equals, count))
