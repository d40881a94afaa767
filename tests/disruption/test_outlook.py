from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from karptui.aws.prices import PriceSettings
from karptui.disruption.analysis import billed_verdict
from karptui.disruption.blockers import BlockerSurvey, price_of
from karptui.disruption.codes import Blocker, Code
from karptui.disruption.command import Decision, Method
from karptui.disruption.consolidation import RefusalCode
from karptui.disruption.launch_price import ReckonedPrices
from karptui.disruption.methods import fleet_of, next_pass, observed_fleet, simulate
from karptui.disruption.node_verdict import verdict_of
from karptui.disruption.outlook import Outcome, RemovalResult, RemovalSimulator
from karptui.disruption.static_drift import template_types
from karptui.karpenter import labels
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodepool import BALANCED, WHEN_EMPTY, DisruptionBudget, NodePool
from karptui.karpenter.settings import parse_settings
from karptui.kube.objects import Node
from karptui.kube.pod import Pod
from karptui.kube.quantity import parse_quantity
from karptui.kube.workload import PodDisruptionBudget
from karptui.provisioning.prepared import Prepared
from tests.builders import (
    HOUR_NS,
    NOW_NS,
    a_node,
    a_nodepool,
    a_pdb,
    a_pod,
    a_requirement,
    present,
)
from tests.disruption.making import TYPES, a_claim, consolidatable, drifted, node_of, prepared
from tests.goldens_loading import GOLDENS, load, scenarios

PROTECTED = {labels.DO_NOT_DISRUPT: "true"}
BIG: dict[str, Any] = {"instance_type": "m5.2xlarge", "cpu": "7900m", "memory": "30Gi"}


def _cluster(
    *,
    pods: Sequence[Pod] = (),
    nodes: Sequence[Node] | None = None,
    claims: Sequence[NodeClaim] | None = None,
    pool: NodePool | None = None,
    **objects: Any,
) -> Prepared:
    return prepared(nodes=nodes or [a_node(**BIG)],
                    nodeclaims=claims or [a_claim(instance_type="m5.2xlarge", conditions=(consolidatable(),))],
                    nodepools=[pool or a_nodepool(budgets=())], pods=pods, **objects)  # fmt: skip


def _without(cluster: Prepared, name: str = "node-1", code: str | None = None) -> RemovalResult:
    """Return the removal result of a node without its only blocker, or without the first one of a code."""
    fleet = observed_fleet(cluster)
    survey = BlockerSurvey(fleet)
    blockers = survey.of(node_of(fleet, name))
    blocker = next(blocker for blocker in blockers if code is None or blocker.code == code)
    return RemovalSimulator(cluster, fleet).without(node_of(fleet, name), blocker, (*survey.cluster, *blockers))


def test_cheaper_node_for_the_protected_pod() -> None:
    prospect = _without(_cluster(pods=[a_pod(node="node-1", annotations=PROTECTED)]))
    assert (prospect.outcome, prospect.method) == (Outcome.REPLACE, Method.SINGLE_NODE)
    assert prospect.savings_per_hour == pytest.approx(0.3)
    assert present(prospect.command).replacements[0].pods == ("default/web-1",)


@pytest.mark.parametrize(("own_cpu", "waiting", "code", "is_only"), [
    ("100m", ("7",), RefusalCode.NOT_CHEAPER, True),
    ("100m", ("7", "7"), RefusalCode.NEEDS_NODES, True),
    ("7", ("7",), RefusalCode.NEEDS_NODES, False),
    ("3", ("3",), RefusalCode.NOT_CHEAPER, False),
])  # fmt: skip
def test_nodes_for_pending_pods_count(own_cpu: str, waiting: tuple[str, ...], code: str, is_only: bool) -> None:
    pods = [a_pod(node="node-1", cpu=own_cpu)]
    pods += [a_pod(name=f"big-{i}", cpu=cpu) for i, cpu in enumerate(waiting)]
    nodes = [a_node(**BIG)]
    claims = [a_claim(instance_type="m5.2xlarge", conditions=(consolidatable(),))]
    if is_only:
        nodes.append(a_node(name="node-2", **BIG))
        claims.append(a_claim("node-2", instance_type="m5.2xlarge"))
        pods.append(a_pod(name="full", node="node-2", cpu="7"))
    cluster = _cluster(nodes=nodes, claims=claims, pods=pods)
    fleet = fleet_of(cluster)
    survey = BlockerSurvey(fleet)
    refusal = present(
        RemovalSimulator(cluster, fleet).now(node_of(fleet, "node-1"), survey.of(node_of(fleet, "node-1"))).refusal
    )
    need = present(refusal.others_need)
    assert (refusal.code, need.is_only, need.is_waiting) == (code, is_only, True)
    assert need.pod_key.startswith("default/big-")
    assert need.others == len(waiting) - 1
    assert need.nodes == (0 if own_cpu == "3" else len(waiting))
    assert verdict_of(RemovalSimulator(cluster, fleet).now(node_of(fleet, "node-1"), ())).others_need == need


def test_drift_ignores_prices() -> None:
    pods = [a_pod(node="node-1", annotations=PROTECTED, cpu="7")]
    claim = a_claim(instance_type="m5.2xlarge", conditions=(drifted(),))
    prospect = _without(_cluster(pods=pods, claims=[claim]), code="POD_DND")
    assert (prospect.outcome, prospect.method) == (Outcome.REPLACE, Method.DRIFT)
    nowhere = [a_pod(node="node-1", annotations=PROTECTED, node_selector={labels.ARCH: "arm64"})]
    assert _without(_cluster(pods=nowhere, claims=[claim]), code="POD_DND").outcome is Outcome.NO


@pytest.mark.parametrize(("is_stood_in", "savings"), [(False, 0.4), (True, None)])
def test_savings_of_a_spot_node_are_unknown_with_an_assumed_price(is_stood_in: bool, savings: float | None) -> None:
    types = []
    for instance_type in TYPES:
        spot = a_requirement(labels.CAPACITY_TYPE, "In", "spot")
        sold = (
            replace(each, requirements=(spot, *each.requirements[1:]), is_price_assumed=is_stood_in)
            for each in instance_type.offerings
        )
        types.append(replace(instance_type, offerings=(*instance_type.offerings, *sold)))
    cluster = prepared(
        types=types,
        nodes=[a_node(**BIG, capacity_type="spot")],
        nodeclaims=[a_claim(instance_type="m5.2xlarge", capacity_type="spot", conditions=(consolidatable(),))],
        pods=[a_pod(node="node-1", annotations=PROTECTED, daemonset="agent")],
    )
    fleet = observed_fleet(cluster)
    prospect = _without(cluster)
    command = present(prospect.command)
    assert (prospect.outcome, command.savings, command.priced_savings) == (Outcome.DELETE, 0.4, 0.4)
    assert command.known_savings == savings
    verdict = verdict_of(prospect)
    assert (verdict.is_saving_known, verdict.savings_per_hour) == (savings is not None, savings or 0.0)
    billed = billed_verdict(verdict, PriceSettings(surcharge_per_node_hour=1.0))
    assert billed.savings_per_hour == (1.4 if savings else 0.0)
    assert price_of(fleet, node_of(fleet, "node-1")) == savings


def test_static_nodepools() -> None:
    pool = a_nodepool(budgets=(DisruptionBudget("0"),), replicas=1)
    claim = a_claim(instance_type="m5.2xlarge", conditions=(drifted(),))
    prospect = _without(_cluster(pool=pool, claims=[claim]))
    assert (prospect.outcome, prospect.method) == (Outcome.REPLACE, Method.STATIC_DRIFT)
    # Karpenter does not price a static NodePool's replacement.
    assert prospect.savings_per_hour == 0.0
    assert present(prospect.command).known_savings is None
    (replacement,) = verdict_of(prospect).replacements
    assert (replacement.type_names, replacement.price_per_hour, replacement.is_from_template) == (
        ("m5.large", "m5.2xlarge"),
        0.1,
        True,
    )
    assert _without(_cluster(pool=pool)).outcome is Outcome.NO


def test_a_balanced_score_that_is_too_low() -> None:
    pool = a_nodepool(budgets=(), consolidation_policy=BALANCED)
    nodes = [a_node(**BIG), a_node(name="node-2", **BIG)]
    claims = [
        a_claim(name, instance_type="m5.2xlarge", conditions=(consolidatable(),)) for name in ("node-1", "node-2")
    ]
    pods = [
        *(a_pod(name=f"a{i}", node="node-1", annotations=PROTECTED if not i else {}, cpu="700m") for i in range(10)),
        a_pod(name="b", node="node-2", cpu="7"),
    ]
    prospect = _without(_cluster(pool=pool, nodes=nodes, claims=claims, pods=pods))
    assert (prospect.outcome, present(prospect.refusal).code) == (Outcome.NO, RefusalCode.NOT_CHEAPER)
    light = [a_pod(name=f"a{i}", node="node-1", annotations=PROTECTED if not i else {}, cpu="150m") for i in range(10)]
    prospect = _without(
        _cluster(pool=pool, nodes=nodes, claims=claims, pods=[*light, a_pod(name="b", node="node-2", cpu="7")])
    )
    assert (prospect.outcome, present(prospect.refusal).code) == (Outcome.NO, RefusalCode.SCORE)


RIPENING = a_claim(instance_type="m5.2xlarge")
"""A NodeClaim that is not yet consolidatable."""


@pytest.mark.parametrize(("cluster", "code", "outcome"), [
    (_cluster(pool=a_nodepool(budgets=(DisruptionBudget("0", "0 9 * * *", "8h"),))), "BUDGET_ZERO", Outcome.DELETE),
    (_cluster(pool=a_nodepool(budgets=(), consolidate_after_ns=2 * HOUR_NS), claims=[RIPENING]), "CONSOLIDATE_AFTER",
     Outcome.DELETE),
    (_cluster(pool=a_nodepool(budgets=(), consolidation_policy=WHEN_EMPTY), pods=[a_pod(node="node-1")]),
     "WHEN_EMPTY_POLICY", Outcome.REPLACE),
    (_cluster(claims=[RIPENING], pods=[a_pod(node="node-1", annotations=PROTECTED)]), "POD_DND", Outcome.NO),
    (_cluster(pods=[a_pod(name=name, node="node-1", annotations=PROTECTED) for name in "ab"]), "POD_DND", Outcome.NO),
    (_cluster(nodes=[a_node(is_initialized=False)]), "NOT_INITIALIZED", Outcome.UNKNOWN),
    (_cluster(nodes=[a_node(pool="x")], claims=[a_claim(pool="x")]), "NODEPOOL_UNRESOLVED", Outcome.UNKNOWN),
    (_cluster(claims=[a_claim(deletion_ns=NOW_NS)], pods=[a_pod(node="node-1", annotations=PROTECTED)]), "POD_DND",
     Outcome.DELETE),
    (_cluster(claims=[a_claim(deletion_ns=NOW_NS)],
              pods=[a_pod(name=name, node="node-1", annotations=PROTECTED) for name in "ab"]),
     "POD_DND", Outcome.NO),
    (_cluster(pool=a_nodepool(budgets=(), is_ready=False), pods=[a_pod(node="node-1", annotations=PROTECTED)]),
     "POD_DND", Outcome.NO),
])  # fmt: skip
def test_outcomes_without_a_blocker(cluster: Prepared, code: str, outcome: Outcome) -> None:
    assert _without(cluster, code=code).outcome is outcome


def test_outcome_is_unknown_for_unresolved_and_commanded_nodes() -> None:
    cluster = _cluster(nodes=[a_node(pool="x", annotations=PROTECTED)], claims=[a_claim(pool="x")])
    assert _without(cluster, code="NODE_DND").outcome is Outcome.UNKNOWN
    cluster = _cluster(pods=[a_pod(node="node-1", annotations=PROTECTED)])
    fleet = observed_fleet(cluster)
    node = node_of(fleet)
    held = Blocker(code=Code.IN_COMMAND)
    assert (
        RemovalSimulator(cluster, fleet).without(node, BlockerSurvey(fleet).of(node)[0], [held]).outcome
        is Outcome.UNKNOWN
    )


def test_without_nodepools_no_simulation_begins() -> None:
    pool = a_nodepool(budgets=(), is_ready=False)
    cluster = _cluster(pool=pool, pods=[a_pod(node="node-1", annotations=PROTECTED)])
    fleet = observed_fleet(cluster)
    node = node_of(fleet)
    prospect = RemovalSimulator(cluster, fleet).lifted(node, BlockerSurvey(fleet).of(node))
    assert (prospect.outcome, prospect.refusal) == (Outcome.NO, None)


def test_the_result_without_all_blockers_is_cached() -> None:
    pods = [a_pod(name=name, node="node-1", annotations=PROTECTED) for name in "ab"]
    cluster = _cluster(pods=pods, pdbs=[a_pdb()])
    fleet = observed_fleet(cluster)
    node, outlook = node_of(fleet), RemovalSimulator(cluster, observed_fleet(cluster))
    blockers = BlockerSurvey(fleet).of(node)
    first, second = outlook.lifted(node, blockers), outlook.lifted(node, blockers)
    assert first.outcome is Outcome.REPLACE
    assert first.command is second.command


@pytest.mark.parametrize(("pdbs", "labels_of_b", "outcome"), [
    ([a_pdb()], {"app": "web"}, Outcome.REPLACE),
    ([a_pdb(), a_pdb(name="api", labels={"app": "api"})], {"app": "api"}, Outcome.NO),
])  # fmt: skip
def test_a_budget_is_lifted_for_all_pods_of_the_node(
    pdbs: list[PodDisruptionBudget], labels_of_b: dict[str, str], outcome: Outcome
) -> None:
    pods = [a_pod(name="a", node="node-1", labels={"app": "web"}), a_pod(name="b", node="node-1", labels=labels_of_b)]
    assert _without(_cluster(pods=pods, pdbs=pdbs), code=Code.PDB_EXHAUSTED).outcome is outcome


# -- the next pass -------------------------------------------------------------------------------------------------


def test_the_first_method_with_a_command_ends_the_pass() -> None:
    cluster = _cluster()
    result = next_pass(cluster, observed_fleet(cluster))
    assert (present(result.acting).method, [command.decision for command in result.commands]) == (
        Method.EMPTINESS,
        [Decision.DELETE],
    )
    assert len(result.results) == 1


def test_nodes_on_which_provisioning_places_pods_are_left_alone() -> None:
    nodes = [a_node(**BIG), a_node(name="node-2", **BIG)]
    empty = a_claim(instance_type="m5.2xlarge", conditions=(consolidatable(),))
    going = a_claim("node-2", instance_type="m5.2xlarge", deletion_ns=NOW_NS)
    for pod in (a_pod(name="waits", cpu="7"), a_pod(name="moves", node="node-2", cpu="7")):
        claims = [empty, going if pod.node_name else a_claim("node-2", instance_type="m5.2xlarge")]
        cluster = _cluster(nodes=nodes, claims=claims, pods=[pod])
        fleet = observed_fleet(cluster)
        (blocker,) = BlockerSurvey(fleet).of(node_of(fleet, "node-1"))
        assert (blocker.code, blocker.until_ns) == ("NOMINATED", None)
        assert next_pass(cluster, fleet).acting is None
        assert present(next_pass(cluster, fleet_of(cluster)).acting).method is Method.EMPTINESS


def test_static_drift_replaces_within_headroom() -> None:
    names = ("node-1", "node-2", "node-3")
    nodes = [a_node(name=name, **BIG) for name in names]
    claims = [a_claim(name, instance_type="m5.2xlarge", conditions=(drifted(),)) for name in names]

    def going(**fields: Any) -> list[str]:
        pool = a_nodepool(budgets=fields.pop("budgets", ()), replicas=3, **fields)
        cluster = _cluster(nodes=nodes, claims=claims, pool=pool)
        result = next_pass(cluster, observed_fleet(cluster))
        return [command.candidates[0].name for command in result.commands if command.decision is Decision.REPLACE]

    gate = {"FEATURE_GATES": "StaticCapacity=true"}
    for settings in ({}, gate):
        pool = a_nodepool(budgets=(), replicas=3)
        cluster = _cluster(nodes=nodes, claims=claims, pool=pool, settings=parse_settings(settings))
        (asked,) = (result for result in simulate(cluster).methods if result.method is Method.STATIC_DRIFT)
        assert [command.candidates[0].name for command in asked.commands] == list(names), "simulate and next differ"
    assert going() == list(names)
    assert going(budgets=(DisruptionBudget("1"),)) == ["node-1"]
    assert going(limits={"nodes": parse_quantity("5")}) == ["node-1", "node-2"]
    assert going(limits={"nodes": parse_quantity("3")}) == []
    assert going(budgets=(DisruptionBudget("0"),)) == []


@pytest.mark.parametrize(("requirements", "types", "expected"), [
    ((), None, (("m5.large", "m5.2xlarge"), 0.1)),
    ((("node.kubernetes.io/instance-type", "In", "m5.2xlarge"),), None, (("m5.2xlarge",), 0.4)),
    (((labels.CAPACITY_TYPE, "In", "spot"),), None, ((), 0.0)),
    ((), (), ((), 0.0)),
])  # fmt: skip
def test_types_that_a_nodepools_template_allows(
    requirements: Sequence[Sequence[str]], types: Sequence[Any] | None, expected: Sequence[Sequence[str] | float]
) -> None:
    pool = a_nodepool(requirements=tuple(a_requirement(*requirement) for requirement in requirements))
    assert template_types(pool, ReckonedPrices(TYPES if types is None else types)) == expected


def test_simulations_ignore_events() -> None:
    cluster = _cluster()
    assert fleet_of(cluster).nominated == {}
    report = simulate(cluster, (Method.STATIC_DRIFT,))
    assert [result.method for result in report.methods] == [Method.STATIC_DRIFT]
    assert report.events == {}


def test_pods_of_a_terminate_first_node_are_not_moved() -> None:
    snapshots = (scenario["snapshot"] for scenario in scenarios(GOLDENS / "k115" / "k115-terminate.jsonl.gz"))
    cluster = load(next(snapshot for snapshot in snapshots if snapshot["name"] == "k115-terminate-001"))
    fleet = observed_fleet(cluster)
    node = next(node for node in fleet.nodes if node.name == "n1")
    verdict = verdict_of(RemovalSimulator(cluster, fleet).now(node, BlockerSurvey(fleet).of(node)))
    assert (verdict.method, verdict.is_first, verdict.moved, verdict.kept) == (Method.DRIFT, True, 0, 0)
    assert (verdict.is_open, verdict.savings_per_hour) == (True, 0.0)


def test_outcome_with_the_current_blockers() -> None:
    def now(**fields: Any) -> RemovalResult:
        cluster = _cluster(**fields)
        fleet = observed_fleet(cluster)
        node = fleet.nodes[0]
        return RemovalSimulator(cluster, fleet).now(node, BlockerSurvey(fleet).of(node))

    assert now(pods=[a_pod(node="node-1")]).outcome is Outcome.REPLACE
    assert now(pods=[a_pod(node="node-1", annotations=PROTECTED)]).outcome is Outcome.NO
    assert now(claims=[a_claim(deletion_ns=NOW_NS)]).outcome is Outcome.DELETE
    bounded = a_claim(instance_type="m5.2xlarge", conditions=(drifted(),), termination_grace_period_ns=HOUR_NS)
    pods = [a_pod(name="a", node="node-1", annotations=PROTECTED), a_pod(name="b", node="node-1")]
    drifts = verdict_of(now(claims=[bounded], pods=pods))
    assert (drifts.method, drifts.moved, drifts.kept, drifts.is_first) == (Method.DRIFT, 1, 1, False)
    assert now(nodes=[a_node(pool="x")], claims=[a_claim(pool="x")]).outcome is Outcome.UNKNOWN
