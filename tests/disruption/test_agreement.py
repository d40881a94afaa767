from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from karptui.disruption.analysis import Analysis, NodeFindings
from karptui.disruption.budgets import Reason, budget_state
from karptui.disruption.codes import CODES, Code, WhyCode
from karptui.disruption.command import Method
from karptui.disruption.gates import Gate
from karptui.disruption.study import DisruptionStudy, study_all
from tests.provisioning.loading import GOLDENS, load, scenarios

KARPENTER: Final = GOLDENS / "karpenter-1.14.1"
FILES: Final = (
    *(KARPENTER / f"{family}.jsonl.gz" for family in ("disruption", "consolidation", "runners", "storyE")),
    GOLDENS / "rules" / "rules-disruption.jsonl.gz",
    GOLDENS / "k115" / "k115-repair.jsonl.gz",
)
EVERY: Final = 1 if os.environ.get("KARPTUI_ALL_GOLDENS") else 7
"""Every so many scenarios are looked at; with KARPTUI_ALL_GOLDENS all of them."""
LEAVING: Final = (WhyCode.DRAIN, WhyCode.DELETING, WhyCode.COMMAND)
GATES: Final = frozenset(map(str, Gate))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.partition(".")[0])
def test_all_statements_about_a_node_agree(path: Path) -> None:
    wrong = {}
    for scenario in list(scenarios(path))[::EVERY]:
        snapshot = scenario["snapshot"]
        if not snapshot.get("disruption"):
            continue
        study = DisruptionStudy(load(snapshot, path.parent), 1)
        study_all(study)
        study.simulate_next_pass()
        found = [*_differences(study), *_unsaid(study.analysis, scenario["expected"])]
        if found:
            wrong[snapshot["name"]] = found
    assert wrong == {}


def _differences(study: DisruptionStudy) -> Iterator[str]:
    """Yield where two things that are told of a node differ."""
    analysis = study.analysis
    report = analysis.next
    assert report is not None
    going = {name for command in report.commands for name in command.node_names}
    for one in analysis.findings.values():
        code = one.why.code
        if one.node_name in going and code is not WhyCode.OK:
            yield f"{one.node_name}: goes next, and WHY is {code}"
        if code is WhyCode.OK and not any(lane.goes for lane in one.lanes):
            yield f"{one.node_name}: OK without a lane that goes"
        yield from _lanes(one)
        pool = study.fleet.pools.get(one.pool_name)
        if code is WhyCode.BUDGET and pool is not None:
            reason = Method(one.why.method).reason if one.why.method else Reason.EMPTY
            state = budget_state(pool, reason, study.fleet.use.get(pool.name), study.fleet.now_ns)
            if state.left or (one.why.count, one.why.of) != (0, state.allowed):
                yield f"{one.node_name}: BUDGET, and {state.left} left of {state.allowed}"
    first = next((method for method in Method if _takers(analysis, method)), None)
    if not report.paused_by and first is not None and not report.error:
        order = list(Method)
        if not report.method or order.index(Method(report.method)) > order.index(first):
            yield f"{first} would take nodes, and next is {report.method or 'nothing'}"


def _takers(analysis: Analysis, method: Method) -> list[str]:
    name = str(Method.DRIFT if method is Method.STATIC_DRIFT else method)
    return [
        one.node_name
        for one in analysis.findings.values()
        if one.why.code is WhyCode.OK and one.why.method == name and method is not Method.STATIC_DRIFT
    ]


def _lanes(one: NodeFindings) -> Iterator[str]:
    """Yield where lanes, blockers and WHY of a node differ."""
    held = [lane for lane in one.lanes if lane.is_held and lane.blocker is not None]
    for lane in held:
        assert lane.blocker is not None
        if not one.blockers[lane.blocker].is_wanted:
            yield f"{one.node_name}: {lane.method} is held by what nobody wants to pass"
    if one.why.code in LEAVING:
        return
    wanting = {Method(lane.method) for lane in one.lanes if lane.is_wanted}
    for blocker in one.blockers:
        concerned = {Method.DRIFT if one is Method.STATIC_DRIFT else one for one in blocker.blocks}
        if blocker.is_wanted != bool(concerned & wanting):
            yield f"{one.node_name}: {blocker.code} is wanted: {blocker.is_wanted}, by {sorted(wanting)}"
    first = next((lane for lane in one.lanes if lane.is_held), None)
    if first is not None and first.blocker is not None and one.why.code not in (WhyCode.OK, WhyCode.WAITS):
        expected = CODES[Code(first.code)].why
        if one.why.code is not expected:
            yield f"{one.node_name}: WHY {one.why.code}, and the first lane is held by {expected}"


def _unsaid(analysis: Analysis, expected: Mapping[str, Any]) -> Iterator[str]:
    """Yield gates that hold a node first and of which Karpenter says nothing."""
    events = expected.get("events", {})
    if not events:
        return
    for one in analysis.findings.values():
        for lane in one.lanes:
            if not lane.is_held or lane.blocker is None or lane.code not in GATES:
                continue
            blocker = one.blockers[lane.blocker]
            if lane.method == "Repair" or blocker.code in (Code.NOMINATED, Code.IN_COMMAND) or not blocker.is_reported:
                continue
            said = " ".join([*events.get(f"Node/{one.node_name}", ()), *events.get(f"NodeClaim/{one.node_name}", ())])
            if blocker.message.lower() not in said.lower():
                yield f"{one.node_name}: {blocker.message} is not what Karpenter says: {said[:200]}"
