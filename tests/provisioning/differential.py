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
            [item["key"], item["operator"], sorted(item.get("values") or []), item.get("minValues") or 0]
            for item in claim["requirements"]
        ),
        "requests": {name: amount for name, amount in amounts.items() if Decimal(amount)},
        "cheapestPrice": f"{claim['cheapestPrice']:.9g}",
    }


def decision(provisioning: Json) -> str:
    """Return a decision in a form that can be compared, without the words of errors."""
    claims = sorted(json.dumps(_claim(claim), sort_keys=True) for claim in provisioning["newNodeClaims"])
    nodes = sorted([node["name"], sorted(node["pods"])] for node in provisioning["existingNodes"])
    return json.dumps([claims, nodes, sorted(provisioning["podErrors"])])


def shape(provisioning: Json) -> str:
    """Return a decision without which domain and which of several pods alike: what chance leaves as it is."""
    claims = sorted([claim["nodePool"], len(claim["pods"])] for claim in provisioning["newNodeClaims"])
    nodes = sorted([node["name"], len(node["pods"])] for node in provisioning["existingNodes"])
    return json.dumps([claims, nodes, len(provisioning["podErrors"])])


def words(provisioning: Json) -> dict[str, str]:
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
        return "" if all(_is_mix(text, [item[key] for item in same]) for key, text in words(ours).items()) else "words"

    def has_shape(self, ours: Json) -> bool:
        """Return whether an answer has the shape of one that Karpenter gave."""
        return shape(ours) in map(shape, self._asked)


def _is_mix(text: str, texts: Sequence[str]) -> bool:
    """Return whether a pod's error is made of reasons that Karpenter gives for it, in as many parts.

    Of several rules that fail in a NodePool it names any one, so that few of the possible combinations come up.
    """
    parts = [text.split("; ") for text in texts]
    mine = text.split("; ")
    return len(mine) in map(len, parts) and set(mine) <= {part for texts in parts for part in texts}


def thrown(decide: Callable[[], Solution], times: int) -> Iterator[Json]:
    """Yield our answers with ties broken by dice in every attempt, as Karpenter breaks them."""
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
    """Return a domain; the first pod of a self-affine group leaves its claim one or two."""
    count = 2 if kind is TopologyKind.AFFINITY and dice.random() < 0.5 else 1
    return frozenset(dice.sample(choice.equals, count))
