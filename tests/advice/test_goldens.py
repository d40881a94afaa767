"""No false alarms: findings about golden scenarios agree with Karpenter's own decisions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from karptui.advice.catalogue import BY_ID
from karptui.advice.context import AdviceContext
from karptui.advice.finding import Finding
from karptui.advice.report import advise
from karptui.disruption.methods import fleet_of
from tests.goldens_loading import GOLDENS, load, scenarios

Answer = dict[str, Any]


def launches_nothing(finding: Finding, answer: Answer) -> bool:
    """Return whether the finding's first object, a NodePool, gets no new NodeClaim."""
    pools = {claim["nodePool"] for claim in answer["provisioning"]["newNodeClaims"]}
    return finding.objects[0].name not in pools


def places_none(finding: Finding, answer: Answer) -> bool:
    """Return whether the finding's pods, if it names pods, get no new node."""
    named = {ref.key for ref in finding.objects if ref.kind == "Pod"}
    return not named & {pod for claim in answer["provisioning"]["newNodeClaims"] for pod in claim["pods"]}


def launches_no_claim_at_all(_: Finding, answer: Answer) -> bool:
    return not answer["provisioning"]["newNodeClaims"]


def allows_nothing(finding: Finding, answer: Answer) -> bool:
    """Return whether the NodePool's budget is 0 for at least one reason."""
    allowed = [method["budgets"].get(finding.objects[0].name) for method in answer.get("disruption", ())]
    return not allowed or 0 in allowed


def disrupts_only_empty_nodes(_: Finding, answer: Answer) -> bool:
    methods = answer.get("disruption", ())
    return not any(method["commands"] for method in methods if method["name"] != "Emptiness")


PROMISES: dict[str, Callable[[Finding, Answer], bool]] = {
    "pool-no-types": launches_nothing,
    "pool-limit-below-type": launches_nothing,
    "pool-not-ready": launches_nothing,
    "pod-no-usable-pool": launches_no_claim_at_all,
    "pod-fails-silently": places_none,
    "volume-zone-without-offering": places_none,
    "pod-host-port-daemonset": places_none,
    "budget-unreadable": allows_nothing,
    "budget-never-opens": allows_nothing,
    "budget-eaten": allows_nothing,
    "node-deleting-blocks-all": disrupts_only_empty_nodes,
    "claim-unsynced": disrupts_only_empty_nodes,
}
"""By rule, the condition that Karpenter's answer must meet if the rule finds something."""
ASKED = [BY_ID[rule] for rule in PROMISES]
FILES = sorted(
    [*(GOLDENS / "rules").glob("*.jsonl.gz"), *(GOLDENS / "karpenter-1.14.1").glob("*.jsonl.gz")],
    key=lambda path: path.name,
)
FOUND = {
    "consolidation": {"budget-eaten"},
    "rules-disruption": {*("pool-not-ready", "node-deleting-blocks-all", "pool-limit-below-type"),
                         *("budget-never-opens", "budget-unreadable", "claim-unsynced")},
    "rules-provisioning": {*("pod-fails-silently", "pool-no-types", "pod-no-usable-pool", "pod-host-port-daemonset"),
                           "volume-zone-without-offering"},
}  # fmt: skip
"""Rules that find something in each file; each rule of PROMISES does so in at least one file."""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.removesuffix(".jsonl.gz"))
def test_findings_agree_with_karpenter(path: Path) -> None:
    wrong = []
    seen = set()
    for scenario in scenarios(path):
        snapshot = scenario["snapshot"]
        prepared = load(snapshot, path.parent)
        report = advise(AdviceContext(prepared, fleet_of(prepared)), ASKED)
        assert report.failures == ()
        answers = [scenario["expected"], *scenario.get("alternatives", ())]
        for finding in report.findings:
            seen.add(finding.rule)
            if not any(PROMISES[finding.rule](finding, answer) for answer in answers):
                wrong.append(f"{snapshot['name']}: {finding.rule}: {finding.fact}")
    assert wrong == []
    assert FOUND.get(path.name.partition(".")[0], set()) <= seen


def test_every_promise_is_tested_by_a_file() -> None:
    assert set().union(*FOUND.values()) == set(PROMISES)
