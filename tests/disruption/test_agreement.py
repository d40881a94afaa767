from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from karptui.disruption.analysis import Analysis, NodeFindings
from karptui.disruption.analysis_steps import AnalysisSteps, analyse_all
from karptui.disruption.budgets import Reason, budget_state
from karptui.disruption.codes import CODES, Code, WhyCode
from karptui.disruption.command import Method
from karptui.disruption.gates import Gate
from tests.goldens_loading import GOLDENS, load, scenarios

KARPENTER: Final = GOLDENS / "karpenter-1.14.1"
FILES: Final = (
    *(KARPENTER / f"{family}.jsonl.gz" for family in ("disruption", "consolidation", "runners", "storyE")),
    GOLDENS / "rules" / "rules-disruption.jsonl.gz",
    GOLDENS / "k115" / "k115-repair.jsonl.gz",
)
EVERY: Final = 1 if os.environ.get("KARPTUI_ALL_GOLDENS") else 7
"""Every how many scenarios one is tested."""
LEAVING: Final = (WhyCode.DRAIN, WhyCode.DELETING, WhyCode.COMMAND)
GATES: Final = frozenset(map(str, Gate))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.partition(".")[0])
def test_lanes_blockers_and_why_of_a_node_agree(path: Path) -> None:
    wrong = {}
    for scenario in list(scenarios(path))[::EVERY]:
        snapshot = scenario["snapshot"]
        if not snapshot.get("disruption"):
            continue
        steps = AnalysisSteps(load(snapshot, path.parent), 1)
        analyse_all(steps)
        steps.simulate_next_pass()
        texts = [*_differences(steps), *_gates_without_event(steps.analysis, scenario["expected"])]
        if texts:
            wrong[snapshot["name"]] = texts
    assert wrong == {}


def _differences(steps: AnalysisSteps) -> Iterator[str]:
    """Yield the contradictions between two statements about a node."""
    analysis = steps.analysis
    report = analysis.next
    assert report is not None
    going = {name for command in report.commands for name in command.node_names}
    for findings in analysis.findings.values():
        code = findings.why.code
        if findings.node_name in going and code is not WhyCode.OK:
            yield f"{findings.node_name}: goes next, and WHY is {code}"
        if code is WhyCode.OK and not any(lane.goes for lane in findings.lanes):
            yield f"{findings.node_name}: OK without a lane that goes"
        yield from _lanes(findings)
        pool = steps.fleet.pools.get(findings.pool_name)
        if code is WhyCode.BUDGET and pool is not None:
            reason = Method(findings.why.method).reason if findings.why.method else Reason.EMPTY
            state = budget_state(pool, reason, steps.fleet.use.get(pool.name), steps.fleet.now_ns)
            if state.left or (findings.why.count, findings.why.of) != (0, state.allowed):
                yield f"{findings.node_name}: BUDGET, and {state.left} left of {state.allowed}"
    first = next((method for method in Method if _takers(analysis, method)), None)
    if not report.paused_by and first is not None and not report.error:
        order = list(Method)
        if not report.method or order.index(Method(report.method)) > order.index(first):
            yield f"{first} would take nodes, and next is {report.method or 'nothing'}"


def _takers(analysis: Analysis, method: Method) -> list[str]:
    name = str(Method.DRIFT if method is Method.STATIC_DRIFT else method)
    return [
        findings.node_name
        for findings in analysis.findings.values()
        if findings.why.code is WhyCode.OK and findings.why.method == name and method is not Method.STATIC_DRIFT
    ]


def _lanes(findings: NodeFindings) -> Iterator[str]:
    """Yield the contradictions between lanes, blockers and WHY of a node."""
    held = [lane for lane in findings.lanes if lane.is_held and lane.blocker is not None]
    for lane in held:
        assert lane.blocker is not None
        if not findings.blockers[lane.blocker].is_wanted:
            yield f"{findings.node_name}: {lane.method} is held by what nobody wants to pass"
    if findings.why.code in LEAVING:
        return
    wanting = {Method(lane.method) for lane in findings.lanes if lane.is_wanted}
    for blocker in findings.blockers:
        concerned = {Method.DRIFT if method is Method.STATIC_DRIFT else method for method in blocker.blocks}
        if blocker.is_wanted != bool(concerned & wanting):
            yield f"{findings.node_name}: {blocker.code} is wanted: {blocker.is_wanted}, by {sorted(wanting)}"
    first = next((lane for lane in findings.lanes if lane.is_held), None)
    if first is not None and first.blocker is not None and findings.why.code not in (WhyCode.OK, WhyCode.WAITS):
        expected = CODES[Code(first.code)].why
        if findings.why.code is not expected:
            yield f"{findings.node_name}: WHY {findings.why.code}, and the first lane is held by {expected}"


def _gates_without_event(analysis: Analysis, expected: Mapping[str, Any]) -> Iterator[str]:
    """Yield the gates that block a node first but appear in none of Karpenter's events."""
    events = expected.get("events", {})
    if not events:
        return
    for item in analysis.findings.values():
        for lane in item.lanes:
            if not lane.is_held or lane.blocker is None or lane.code not in GATES:
                continue
            blocker = item.blockers[lane.blocker]
            if lane.method == "Repair" or blocker.code in (Code.NOMINATED, Code.IN_COMMAND) or not blocker.is_reported:
                continue
            text = " ".join([*events.get(f"Node/{item.node_name}", ()), *events.get(f"NodeClaim/{item.node_name}", ())])
            if blocker.message.lower() not in text.lower():
                yield f"{item.node_name}: {blocker.message} is not what Karpenter says: {text[:200]}"
