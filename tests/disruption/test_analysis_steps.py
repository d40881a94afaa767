from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from karptui.aws.prices import PriceSettings
from karptui.disruption.analysis import SETTLES_NS, Analysis, NextCommand, billed_command, billed_verdict
from karptui.disruption.analysis_steps import AnalysisSteps, analyse_all
from karptui.disruption.candidate import Candidate
from karptui.disruption.codes import Code
from karptui.disruption.node_verdict import Replacement, Verdict
from karptui.disruption.outlook import Outcome
from karptui.disruption.simulation import Simulation, Simulator
from karptui.karpenter import labels
from karptui.provisioning.prepared import Prepared
from tests.builders import HOUR_NS, MINUTE_NS, NOW_NS, a_node, a_nodeclaim, a_nodepool, a_pod, present
from tests.disruption.making import a_claim, consolidatable, drifted, prepared

PROTECTED = {labels.DO_NOT_DISRUPT: "true"}
BIG: dict[str, Any] = {"instance_type": "m5.2xlarge", "cpu": "7900m", "memory": "30Gi"}
NAMES = ("node-1", "node-2", "node-3")
KEYS = tuple(f"claim/claim-{name}" for name in NAMES)


def _cluster(*, is_second_protected: bool = True, **objects: Any) -> Prepared:
    given = {
        "nodes": [a_node(name=name, **BIG) for name in NAMES],
        "nodeclaims": [a_claim(name, instance_type="m5.2xlarge", conditions=(consolidatable(),)) for name in NAMES],
        "nodepools": [a_nodepool(budgets=())],
        "pods": [a_pod(name="a", node="node-1", annotations=PROTECTED, created_ns=NOW_NS - MINUTE_NS),
                 a_pod(name="b", node="node-1", annotations=PROTECTED, created_ns=NOW_NS - 2 * HOUR_NS),
                 a_pod(name="c", node="node-2", annotations=PROTECTED if is_second_protected else {})],
    }  # fmt: skip
    return prepared(**{**given, **objects})


def test_a_complete_analysis_of_a_node() -> None:
    analysis = analyse_all(AnalysisSteps(_cluster(), 3, notes=("assumed",)))
    first = analysis.findings[KEYS[0]]
    assert (analysis.generation, analysis.now_ns, analysis.notes) == (3, NOW_NS, ("assumed",))
    assert (analysis.simulated, analysis.managed, analysis.is_complete) == (3, 3, True)
    assert [blocker.object_key for blocker in first.blockers] == ["default/a", "default/b"]
    assert (first.node_name, first.pool_name, first.recent_pods, first.price_per_hour) == ("node-1", "general", 1, 0.4)
    assert present(first.outlook).without == (Outcome.NO, Outcome.NO)
    assert present(first.outlook).without_code == {Code.POD_DND: present(first.outlook).lifted.outcome}
    assert present(first.outlook).lifted.outcome is Outcome.DELETE
    assert present(first.outlook).lifted.goes
    assert not present(first.outlook).now.goes
    assert present(first.outlook).lifted.savings_per_hour == pytest.approx(0.4)


def test_nodes_are_simulated_one_at_a_time() -> None:
    steps = AnalysisSteps(_cluster(), 1)
    assert list(steps.survey())[:3] == list(KEYS)
    assert steps.unsimulated() == KEYS
    steps.simulate(KEYS[1])
    assert not steps.is_open(KEYS[1])
    assert not steps.is_open("claim/gone")
    assert steps.unsimulated() == (KEYS[0], KEYS[2])
    assert (steps.analysis.simulated, steps.analysis.is_complete) == (1, False)


def test_unchanged_findings_stay_the_same_object() -> None:
    before = analyse_all(AnalysisSteps(_cluster(), 1))
    after = AnalysisSteps(_cluster(is_second_protected=False), 2, before)
    list(after.survey())
    assert after.analysis.findings[KEYS[0]] is before.findings[KEYS[0]]
    assert after.analysis.findings[KEYS[1]].outlook is None
    assert after.analysis.simulated == 0
    assert after.unsimulated() == (KEYS[1], KEYS[0], KEYS[2])
    after.simulate(KEYS[0])
    assert after.analysis.findings[KEYS[0]] is before.findings[KEYS[0]]
    assert after.analysis.simulated_in[KEYS[0]] == 2
    assert after.analysis.simulated_in[KEYS[2]] == 1


def test_previous_results_are_kept_if_only_times_changed() -> None:
    before = analyse_all(AnalysisSteps(_cluster(), 1))
    claims = [a_claim(name, instance_type="m5.2xlarge", conditions=(drifted(),)) for name in NAMES]
    pool = a_nodepool(budgets=(), consolidate_after_ns=None)
    analysis = analyse_all(AnalysisSteps(_cluster(nodepools=[pool], nodeclaims=claims), 2, before), ())
    assert analysis.findings[KEYS[0]].outlook is None
    later = [
        a_pod(name=name, node="node-1", annotations=PROTECTED, created_ns=NOW_NS - MINUTE_NS) for name in ("a", "b")
    ]
    two = analyse_all(AnalysisSteps(_cluster(pods=later), 2, before), ())
    assert two.findings[KEYS[0]] is not before.findings[KEYS[0]]
    assert two.findings[KEYS[0]].outlook is before.findings[KEYS[0]].outlook


def _rolled_out(now_ns: int, *, is_under_way: bool) -> Prepared:
    """Return the cluster during a rollout, whose pods fill the other nodes, or after it."""
    pods = [a_pod(name="a", node="node-1", cpu="4", annotations=PROTECTED)]
    if is_under_way:
        pods += [a_pod(name=f"surge-{name}", node=name, cpu="6") for name in NAMES[1:]]
    return prepared(
        nodes=[a_node(name=name, **BIG) for name in NAMES],
        nodeclaims=[a_claim(name, instance_type="m5.2xlarge", conditions=(consolidatable(),)) for name in NAMES],
        nodepools=[a_nodepool(budgets=())],
        pods=pods,
        now_ns=now_ns,
    )


def _counts(analysis: Analysis) -> tuple[bool | None, bool]:
    """Return whether the first node counts as removable, and whether a different result is waiting to count."""
    findings = analysis.findings[KEYS[0]]
    return findings.freed.goes if findings.freed is not None else None, bool(findings.differs_since_ns)


def test_different_result_of_a_held_node_counts_after_a_delay() -> None:
    before = analyse_all(AnalysisSteps(_rolled_out(NOW_NS, is_under_way=False), 1))
    assert _counts(before) == (True, False)
    taken = analyse_all(AnalysisSteps(_rolled_out(NOW_NS + 1, is_under_way=True), 2, before))
    assert _counts(taken) == (True, True)
    back = analyse_all(AnalysisSteps(_rolled_out(NOW_NS + 2, is_under_way=False), 3, taken))
    assert _counts(back) == (True, False)
    quiet = analyse_all(AnalysisSteps(_rolled_out(NOW_NS + SETTLES_NS, is_under_way=True), 2, taken))
    assert _counts(quiet) == (True, True)
    stood = analyse_all(AnalysisSteps(_rolled_out(NOW_NS + 1 + SETTLES_NS, is_under_way=True), 2, taken))
    assert _counts(stood) == (False, False)
    assert analyse_all(AnalysisSteps(_rolled_out(NOW_NS, is_under_way=True), 1)).findings[KEYS[0]].freed == (
        stood.findings[KEYS[0]].freed
    )


def test_new_prices_count_once_all_held_nodes_are_simulated() -> None:
    before = analyse_all(AnalysisSteps(_rolled_out(NOW_NS, is_under_way=False), 1))
    steps = AnalysisSteps(_rolled_out(NOW_NS, is_under_way=True), 2, before, is_repriced=True)
    list(steps.survey())
    assert _counts(steps.analysis) == (True, False)
    again = AnalysisSteps(_rolled_out(NOW_NS, is_under_way=True), 3, steps.analysis)
    list(again.survey())
    again.simulate(KEYS[0])
    assert (_counts(again.analysis), again.analysis.is_confirmed) == ((False, False), True)


def test_held_nodes_count_once_all_are_simulated() -> None:
    steps = AnalysisSteps(_cluster(), 1)
    list(steps.survey())
    assert steps.unsimulated()[:2] == KEYS[:2]
    steps.simulate(KEYS[0])
    assert not steps.analysis.is_confirmed
    assert steps.analysis.findings[KEYS[0]].freed is None
    assert present(steps.analysis.findings[KEYS[0]].outlook).freed.goes
    later = AnalysisSteps(_cluster(is_second_protected=False), 2, steps.analysis)
    list(later.survey())
    assert present(later.analysis.findings[KEYS[0]].freed).goes
    steps.simulate(KEYS[1])
    assert steps.analysis.is_confirmed
    assert all(present(steps.analysis.findings[key].freed).goes for key in KEYS[:2])


def test_node_detail() -> None:
    steps = AnalysisSteps(_cluster(), 1)
    list(steps.survey())
    steps.compute_detail(KEYS[0])
    detail = steps.analysis.detail
    assert present(detail).key == KEYS[0]
    assert [check.gate for check in present(detail).gates if check.is_open is False] == ["POD_DND"]
    assert {key: landing.node_name for key, landing in present(detail).landings.items()} == {
        "default/a": "node-2",
        "default/b": "node-2",
    }
    assert [state.reason for state in present(detail).budgets] == ["Empty", "Drifted", "Underutilized"]
    pods = [
        a_pod(name="arm", node="node-1", node_selector={labels.ARCH: "arm64"}),
        a_pod(name="small", node="node-1", node_selector={labels.INSTANCE_TYPE: "m5.large"}),
    ]
    steps = AnalysisSteps(_cluster(pods=pods), 1)
    list(steps.survey())
    steps.compute_detail(KEYS[0])
    landings = present(steps.analysis.detail).landings
    assert landings["default/arm"].error
    assert (landings["default/small"].pool_name, landings["default/small"].type_name) == ("general", "m5.large")


def test_detail_without_simulation_has_a_problem() -> None:
    steps = AnalysisSteps(_cluster(nodepools=[a_nodepool(budgets=(), is_ready=False)]), 1)
    list(steps.survey())
    steps.compute_detail("claim/gone")
    assert steps.analysis.detail is None
    steps.compute_detail(KEYS[0])
    assert present(steps.analysis.detail).problem == "creating scheduler, no nodepools found"
    lost = AnalysisSteps(_cluster(nodes=[a_node(pool="x")], nodeclaims=[a_claim(pool="x")]), 1)
    list(lost.survey())
    lost.compute_detail(KEYS[0])
    assert "NodePool is unknown" in present(lost.analysis.detail).problem
    others = AnalysisSteps(_cluster(nodes=[a_node(pool="general")], nodeclaims=[]), 1)
    list(others.survey())
    others.compute_detail("node/node-1")
    assert present(others.analysis.detail).problem.endswith("Karpenter does not manage it")


def test_node_removed_despite_blockers_is_removed_without_them() -> None:
    claims = [a_claim(name, instance_type="m5.2xlarge", conditions=(drifted(),)) for name in NAMES]
    findings = analyse_all(AnalysisSteps(_cluster(nodeclaims=claims), 1)).findings[KEYS[1]]
    again = analyse_all(AnalysisSteps(_cluster(nodeclaims=claims, is_second_protected=False), 1)).findings[KEYS[1]]
    assert present(findings.outlook).lifted.outcome is Outcome.DELETE
    assert again.blockers
    assert present(again.outlook).now.goes
    assert present(again.outlook).lifted == present(again.outlook).now


def test_claims_without_a_node_and_nodes_without_a_claim() -> None:
    steps = AnalysisSteps(
        prepared(nodes=[a_node(name="own", pool="")], nodeclaims=[a_nodeclaim(name="new", node="", stage="Launched")]),
        1,
    )
    analysis = analyse_all(steps)
    assert {key: (findings.node_name, str(findings.why.code)) for key, findings in analysis.findings.items()} == {
        "node/own": ("own", "n/a"),
        "claim/new": ("new", "INIT"),
    }
    assert analysis.managed == 1


def test_the_simulation_of_the_next_pass_can_be_interrupted() -> None:
    class Impatient(Simulator):
        def remove(self, candidates: Sequence[Candidate], **_: Any) -> Simulation:
            raise InterruptedError

    claims = [a_claim(name, instance_type="m5.2xlarge", conditions=(drifted(),)) for name in NAMES]
    steps = AnalysisSteps(_cluster(nodeclaims=claims, pods=[a_pod(name=n, node=n) for n in NAMES]), 1)
    list(steps.survey())
    with pytest.raises(InterruptedError):
        steps.simulate_next_pass(Impatient())
    assert steps.analysis.next is None


def test_unsimulated_and_expensive_nodes_come_first() -> None:
    nodes = [a_node(name="node-1"), a_node(name="node-2", **BIG), a_node(name="node-3", **BIG)]
    types = dict(zip(NAMES, ("m5.large", "m5.2xlarge", "m5.2xlarge"), strict=True))
    claims = [a_claim(name, instance_type=types[name], conditions=(consolidatable(),)) for name in NAMES]
    steps = AnalysisSteps(_cluster(nodes=nodes, nodeclaims=claims, pods=()), 1)
    list(steps.survey())
    assert steps.unsimulated() == (KEYS[1], KEYS[2], KEYS[0])


SETTINGS = PriceSettings(multiplier=0.5, surcharge_per_node_hour=0.1)
MADE = Replacement("general", ("m5.large",), 1.0, 3)
UNPRICED = Replacement("general", ("m5.large",), 0.0, 3)


@pytest.mark.parametrize(
    ("replacements", "saved", "prices"), [((), 2.1, []), ((MADE,), 2.0, [0.6]), ((MADE, UNPRICED), 1.9, [0.6, 0.0])]
)
def test_removed_node(replacements: tuple[Replacement, ...], saved: float, prices: list[float]) -> None:
    verdict = billed_verdict(Verdict(Outcome.DELETE, "Emptiness", 4.0, replacements), SETTINGS)
    assert verdict.savings_per_hour == pytest.approx(saved)
    assert [replacement.price_per_hour for replacement in verdict.replacements] == pytest.approx(prices)
    assert verdict.method == "Emptiness"


def test_billed_savings() -> None:
    command = NextCommand("replace", ("a", "b", "c"), (MADE,), 4.0)
    result = billed_command(command, SETTINGS)
    assert result.savings_per_hour == pytest.approx(2.2)
    assert [replacement.price_per_hour for replacement in result.replacements] == pytest.approx([0.6])
    verdict = billed_verdict(Verdict(Outcome.REPLACE, "Drift", 4.0, (MADE,)), PriceSettings(is_disabled=True))
    assert verdict.savings_per_hour == 0
    assert verdict.replacements[0].price_per_hour == 0
