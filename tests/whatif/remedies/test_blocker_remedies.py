from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from karptui.disruption.analysis import Analysis, NodeFindings
from karptui.disruption.analysis_steps import AnalysisSteps, analyse_all
from karptui.disruption.codes import Blocker, Code
from karptui.disruption.command import Method
from karptui.disruption.outlook import Outcome
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import DO_NOT_DISRUPT, NODEPOOL
from karptui.karpenter.nodepool import DisruptionBudget, NodePool
from karptui.karpenter.settings import Settings
from karptui.kube.pod import Pod
from karptui.kube.quantity import parse_quantity
from karptui.kube.workload import PodDisruptionBudget
from karptui.kube.yaml_reader import load_documents
from karptui.whatif.edits import CordonNode, DeleteObject, ObjectRef, PutObject, ScaleWorkload, SetField
from karptui.whatif.edits.apply import apply
from karptui.whatif.remedies.blockers.offered import blocker_remedies
from karptui.whatif.remedies.blockers.protected_pods import longest_job_ns
from karptui.whatif.remedies.blockers.remedy import BlockerRemedy, BlockerRemedyKind, ChangedObjects, Effect, effect_of
from karptui.whatif.remedies.blockers.remedy import BlockerRemedyKind as Kind
from karptui.whatif.situation import TypesResult, WhatIfBase
from tests import story_e
from tests.builders import DAY_NS, HOUR_NS, NOW_NS, a_node, a_nodepool, a_pdb, a_pod, an_owner, present
from tests.disruption.making import a_claim
from tests.whatif.remedies.asking import analysed, blockers_of, changed_objects

RAW = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodePool",
    "metadata": {"name": "runners", "uid": "u"},
    "spec": {"weight": 3, "template": {"spec": {"taints": [{"key": "ci", "effect": "NoSchedule"}]}}},
    "status": {"resources": {}},
}
PROTECTED = {DO_NOT_DISRUPT: "true"}


@pytest.fixture(scope="module")
def story() -> tuple[Analysis, ChangedObjects]:
    """Return the analysis of story E with all removals simulated, and its objects."""
    inventory = story_e.inventory()
    objects = changed_objects(inventory)
    pools = {name: replace(pool, raw={**RAW}) for name, pool in objects.nodepools.items()}
    return analysed(inventory, story_e.TYPES), replace(objects, nodepools=pools)


approx: Any = pytest.approx


def objects(
    *pods: Pod, pools: Sequence[NodePool] = (), pdbs: Sequence[PodDisruptionBudget] = (), workloads: Sequence[str] = ()
) -> ChangedObjects:
    given = changed_objects(Inventory(pods=pods, nodepools=tuple(pools), pdbs=tuple(pdbs)))
    return replace(given, workloads=frozenset(workloads))


def by_kind(
    blockers: Sequence[Blocker],
    objects: ChangedObjects,
    findings: Mapping[str, NodeFindings] | None = None,
    **options: Any,
) -> dict[Kind, BlockerRemedy]:
    remedies = blocker_remedies(blockers, objects, findings or {}, NOW_NS, **options)
    assert all(remedy.sentence.endswith(".") and remedy.title for remedy in remedies)
    return {remedy.kind: remedy for remedy in remedies}


def protected(pod: Pod, *, owner: str = "", pool: str = "general", **fields: Any) -> Blocker:
    given = {"value": pod.annotations.get(DO_NOT_DISRUPT, ""), "node_name": pod.node_name, "claim_name": "c"}
    return Blocker(
        code=Code.POD_DND, object_kind="Pod", object_key=pod.key, owner=owner, pool_name=pool, **(given | fields)
    )


# Story E, end to end


def _runners(analysis: Analysis) -> list[Blocker]:
    return blockers_of(analysis.findings, "Job/gitlab")


def test_the_remedies_of_the_runners_side_by_side(story: tuple[Analysis, ChangedObjects]) -> None:
    analysis, objects = story
    remedies = by_kind(_runners(analysis), objects, analysis.findings)
    assert [remedy.title for remedy in remedies.values()] == [
        "own pool for these pods", "cordon", 'do-not-disrupt: "8h"', "terminationGracePeriod: 8h", "spread",
        "priority: -1000 (preemption)", "remove the annotation",
    ]  # fmt: skip
    all_gone = Effect(deleted=4, saves_per_hour=approx(1.008 * 2 + 0.768 + 0.238))
    assert remedies[Kind.REMOVE_ANNOTATION].effect == all_gone
    assert remedies[Kind.CORDON].effect == replace(all_gone, is_at_once=False)
    assert remedies[Kind.OWN_POOL].effect == replace(all_gone, is_at_once=False)
    assert remedies[Kind.GRACE].effect is None
    assert remedies[Kind.GRACE].edits == (
        SetField(ObjectRef("NodePool", "runners"), ("spec", "template", "spec", "terminationGracePeriod"), "8h"),
    )
    # The draining node need not be cordoned: no pods are scheduled to it.
    assert remedies[Kind.CORDON].edits == tuple(CordonNode(f"ip-10-0-{rest}") for rest in ("17-9", "71-204", "90-13"))


def test_a_duration_is_longer_than_the_longest_job_so_far(story: tuple[Analysis, ChangedObjects]) -> None:
    analysis, objects = story
    remedy = by_kind(_runners(analysis), objects, analysis.findings)[Kind.DURATION]
    assert (remedy.value, present(remedy.effect).goes, present(remedy.effect).is_at_once) == ("8h", 3, False)
    youngest = max(objects.pods[blocker.object_key].start_ns for blocker in _runners(analysis))
    assert present(remedy.effect).within_seconds == (youngest + 8 * HOUR_NS - NOW_NS) // 10**9
    assert remedy.sentence.startswith("The longest of these jobs has run for 5h57m. 8h protects each pod")
    expected = SetField(ObjectRef("Pod", "runner-7f2c4", "gitlab"), ("metadata", "annotations", DO_NOT_DISRUPT), "8h")
    assert expected in remedy.edits
    assert len(remedy.edits) == 6


def test_services_do_not_count_for_the_longest_job() -> None:
    job, service = (
        replace(a_pod(name=name, annotations=PROTECTED), start_ns=NOW_NS - age * HOUR_NS)
        for name, age in (("job", 2), ("service", 900))
    )
    result = objects(job, service, pools=[a_nodepool()])
    both = [protected(job, owner="Job/default/job"), protected(service, owner="StatefulSet/default/service")]
    assert longest_job_ns(both, result, NOW_NS) == 2 * HOUR_NS
    alone = by_kind(both[1:], result)
    assert alone[Kind.DURATION].sentence.startswith("None of these pods ends automatically. 4h protects")
    assert present(alone[Kind.DURATION].effect).is_at_once
    assert "4h ends the wait of nodes that drift, expire or are deleted, and these pods with it;" in (
        alone[Kind.GRACE].sentence
    )
    assert Kind.CORDON not in alone, "the pods never end, so the node is never removed"
    assert present(alone[Kind.OWN_POOL].effect).is_at_once
    together = by_kind([replace(blocker, node_name=name) for name, blocker in zip("ab", both, strict=True)], result)
    assert together[Kind.CORDON].edits == (CordonNode("a"),)
    assert longest_job_ns([protected(a_pod(annotations=PROTECTED))], result, NOW_NS) == 0


def test_a_grace_period_that_would_cut_a_job_is_lengthened() -> None:
    job = replace(a_pod(name="job", annotations=PROTECTED), start_ns=NOW_NS - 6 * HOUR_NS)
    blockers = [protected(job, owner="Job/default/job")]

    def offered(grace_ns: int) -> BlockerRemedy | None:
        return by_kind(blockers, objects(job, pools=[a_nodepool(termination_grace_period_ns=grace_ns)])).get(Kind.GRACE)

    assert present(offered(2 * HOUR_NS)).value == "8h"
    assert present(offered(DAY_NS)).value == "8h"
    assert offered(7 * HOUR_NS) is None


def test_preemption_is_offered_once_with_a_priority_below_that_of_the_pods() -> None:
    pod = a_pod(annotations=PROTECTED)
    remedies = blocker_remedies([protected(pod), held(pod, "default/a")], objects(pod), {}, NOW_NS)
    (result,) = (remedy for remedy in remedies if remedy.kind is Kind.PRIORITY)
    assert (result.value, result.edits, result.effect, result.preempts) == ("-1000", (), None, True)


def test_the_own_pool_is_a_tainted_copy_that_the_pods_select(story: tuple[Analysis, ChangedObjects]) -> None:
    analysis, objects = story
    put, selector, tolerations, *_ = by_kind(_runners(analysis), objects, analysis.findings)[Kind.OWN_POOL].edits
    assert isinstance(put, PutObject)
    (document,) = load_documents(put.text.encode())
    assert document["metadata"] == {"name": "runners-protected"}
    assert "status" not in document
    assert document["spec"]["weight"] == 3
    assert [taint["key"] for taint in document["spec"]["template"]["spec"]["taints"]] == ["ci", "example.com/protected"]
    assert isinstance(selector, SetField)
    assert isinstance(tolerations, SetField)
    assert selector.path == ("spec", "nodeSelector")
    assert selector.value == {NODEPOOL: "runners-protected"}
    assert tolerations.value[-1]["key"] == "example.com/protected"


# Protected pods


@pytest.mark.parametrize(("result", "other"), [({"a": "1"}, {"a": "2"}), ({"job-name": "x"}, {"job-name": "x"})])
def test_no_spread_is_offered_without_a_common_label(result: Mapping[str, str], other: Mapping[str, str]) -> None:
    pods = [a_pod(name="a", annotations=PROTECTED, labels=result), a_pod(name="b", annotations=PROTECTED, labels=other)]
    assert Kind.SPREAD not in by_kind([protected(pod) for pod in pods], objects(*pods))


def test_remedies_that_do_not_apply_are_not_offered() -> None:
    timed = a_pod(annotations={DO_NOT_DISRUPT: "2h"})
    short = a_nodepool(termination_grace_period_ns=HOUR_NS)
    remedies = by_kind([protected(timed)], objects(timed, pools=[short]))
    assert set(remedies) == {Kind.OWN_POOL, Kind.SPREAD, Kind.PRIORITY, Kind.REMOVE_ANNOTATION}
    # A NodePool without its original manifest cannot be copied.
    assert remedies[Kind.OWN_POOL].edits == ()
    gone = by_kind([protected(timed, value="true")], objects())
    assert gone[Kind.REMOVE_ANNOTATION].edits == ()
    assert Kind.SPREAD not in gone
    assert gone[Kind.DURATION].effect == Effect(unknown=1)
    assert Kind.GRACE not in gone
    long = by_kind([protected(timed)], objects(timed, pools=[a_nodepool(termination_grace_period_ns=DAY_NS)]))
    assert Kind.GRACE in long


# PodDisruptionBudgets


def held(pod: Pod, value: str, owner: str = "", code: Code = Code.PDB_EXHAUSTED) -> Blocker:
    return Blocker(code=code, object_kind="Pod", object_key=pod.key, owner=owner, value=value, claim_name="c")


def test_remedies_of_pdbs_that_allow_no_eviction() -> None:
    front = [a_pod(name=f"front-{i}", node="n", owner=an_owner(kind="Deployment", name="front")) for i in range(3)]
    pdb = a_pdb(name="front", namespace="default", min_available=3)
    result = objects(*front, pdbs=[pdb], workloads=["Deployment/default/front"])
    remedies = by_kind([held(front[0], "default/front", "Deployment/default/front")], result)
    ref = ObjectRef("PodDisruptionBudget", "front", "default")
    assert remedies[Kind.ALLOW_EVICTION].edits == (
        SetField(ref, ("spec", "minAvailable"), None),
        SetField(ref, ("spec", "maxUnavailable"), 1),
    )
    assert remedies[Kind.MORE_REPLICAS].edits == (ScaleWorkload(ObjectRef("Deployment", "front", "default"), 4),)
    assert remedies[Kind.MORE_REPLICAS].effect is None
    quick = by_kind([held(front[0], "default/front", "Deployment/default/front")], result, makes_edits=False)
    assert quick[Kind.MORE_REPLICAS].edits == ()


def test_more_replicas_do_not_help_a_percentage() -> None:
    pod = a_pod(node="n")
    pdb = a_pdb(name="p", namespace="default", min_available="100%")
    result = objects(pod, pdbs=[pdb], workloads=["Deployment/default/front"])
    remedies = by_kind([held(pod, "default/p", "Deployment/default/front")], result)
    assert set(remedies) == {Kind.ALLOW_EVICTION, Kind.PRIORITY}
    unknown = by_kind([held(pod, "default/gone")], result)
    assert unknown[Kind.ALLOW_EVICTION].edits == ()
    only = a_pdb(name="q", namespace="default", min_available=None, max_unavailable=0)
    assert len(by_kind([held(pod, "default/q")], objects(pod, pdbs=[only]))[Kind.ALLOW_EVICTION].edits) == 1


def test_one_of_two_pdbs_is_deleted() -> None:
    pod = a_pod(node="n")
    result = objects(pod, pdbs=[a_pdb(name="a", namespace="default"), a_pdb(name="b", namespace="default")])
    remedies = by_kind([held(pod, "default/a default/b", code=Code.PDB_MULTIPLE)], result)
    assert remedies[Kind.ONE_PDB].edits == (DeleteObject(ObjectRef("PodDisruptionBudget", "b", "default")),)


# Rules of NodePools and nodes


def test_the_limit_of_a_static_pool_is_raised_by_one_node() -> None:
    pool = a_nodepool(limits={"nodes": parse_quantity("3")})
    blockers = [Blocker(code=Code.STATIC_NO_HEADROOM, pool_name=name) for name in ("general", "general", "gone")]
    remedy = by_kind(blockers, objects(pools=[pool]))[Kind.NODE_LIMIT]
    assert remedy.edits == (SetField(ObjectRef("NodePool", "general"), ("spec", "limits", "nodes"), "4"),)
    assert remedy.effect == Effect(unknown=1)
    assert by_kind(blockers[:1], objects(pools=[a_nodepool()]))[Kind.NODE_LIMIT].edits == ()


WINDOW = DisruptionBudget("0", schedule="@daily", duration="22h")
"""Opens at midnight; the time in the tests is noon."""


@pytest.mark.parametrize(("budgets", "blocked", "edits"), [
    ((DisruptionBudget("20%"), WINDOW), Method.DRIFT, {1: "10%"}),
    ((DisruptionBudget("0"), DisruptionBudget("0", reasons=("Empty",)), WINDOW), Method.DRIFT, {0: "10%", 2: "10%"}),
    ((DisruptionBudget("2"), DisruptionBudget("1", reasons=("Drifted",))), Method.DRIFT, {1: "20%"}),
    ((DisruptionBudget("1"),), Method.SINGLE_NODE, {0: "20%"}),
    ((DisruptionBudget("0", schedule="@yearly", duration="1h"),), Method.DRIFT, {}),
    ((DisruptionBudget("x"),), Method.DRIFT, {}),
])  # fmt: skip
def test_a_budget_remedy_changes_only_the_entries_that_allow_nothing(
    budgets: Sequence[DisruptionBudget], blocked: Method, edits: dict[int, str]
) -> None:
    is_used = any(budget.nodes == "1" for budget in budgets)  # one of ten nodes is being deleted
    names = [f"node-{number}" for number in range(10)]
    claims = [a_claim(name) for name in names]
    result = replace(
        objects(pools=[a_nodepool(budgets=budgets)]),
        nodes=[a_node(name=name) for name in names],
        nodeclaims=[replace(claims[0], deletion_ns=NOW_NS) if is_used else claims[0], *claims[1:]],
    )
    blocker = Blocker(code=Code.BUDGET_ZERO, pool_name="general", claim_name="c", blocks=frozenset({blocked}))
    remedy = by_kind([blocker], result)[Kind.WIDER_BUDGET]
    assert remedy.edits == tuple(
        SetField(ObjectRef("NodePool", "general"), ("spec", "disruption", "budgets", index, "nodes"), value)
        for index, value in edits.items()
    )
    assert remedy.before == tuple(budgets[index].nodes for index in edits)


@pytest.mark.parametrize(("unready", "count"), [("0", 1), ("12", 2), ("5", 0), ("029", 2)])
def test_a_budget_that_nodes_use_up_which_were_launched_lately(unready: str, count: int) -> None:
    ages = [(f"node-{hours}", hours) for hours in range(10)]
    result = replace(
        objects(pools=[a_nodepool(budgets=(DisruptionBudget("1"),))]),
        nodes=[a_node(name=n, is_ready=n[-1] not in unready, created_ns=NOW_NS - h * HOUR_NS) for n, h in ages],
        nodeclaims=[a_claim(name) for name, _ in ages],
    )
    blocker = Blocker(code=Code.BUDGET_ZERO, pool_name="general", claim_name="c", blocks=frozenset({Method.DRIFT}))
    assert by_kind([blocker], result)[Kind.WIDER_BUDGET].unready_newest == count


def test_the_annotation_of_a_node_is_removed() -> None:
    remedies = by_kind([Blocker(code=Code.NODE_DND, node_name="n")], objects())
    assert remedies[Kind.REMOVE_NODE_ANNOTATION].edits == (
        SetField(ObjectRef("Node", "n"), ("metadata", "annotations", DO_NOT_DISRUPT), None),
    )


# Effects


def test_effects_equal_the_simulated_outcomes(story: tuple[Analysis, ChangedObjects]) -> None:
    analysis, _ = story
    first = analysis.findings["claim/runners-1x204"]
    assert effect_of(first.blockers[:1], analysis.findings) == Effect(kept=1)
    assert effect_of(first.blockers, analysis.findings) == Effect(deleted=1, saves_per_hour=approx(1.008))
    held_by_pdb = analysis.findings["claim/general-12x88"]
    assert effect_of(held_by_pdb.blockers, analysis.findings) == Effect(deleted=1, saves_per_hour=approx(0.768))
    bare = {key: replace(findings, outlook=None) for key, findings in analysis.findings.items()}
    assert effect_of(first.blockers, bare) == Effect(unknown=1)


def test_the_effect_on_mixed_blockers_is_unknown_without_simulation(story: tuple[Analysis, ChangedObjects]) -> None:
    analysis, _ = story
    key = "claim/runners-1x204"
    first = analysis.findings[key]
    budget = Blocker(code=Code.BUDGET_ZERO, claim_name="runners-1x204")
    third = Blocker(code=Code.POD_DND, claim_name="runners-1x204")
    mixed = replace(first, blockers=(*first.blockers, third, budget))
    assert effect_of(mixed.blockers[:2], {key: mixed}) == Effect(untried=1)
    assert effect_of(mixed.blockers[:3], {key: mixed}) == Effect(deleted=1, saves_per_hour=approx(1.008))
    assert first.outlook is not None
    stays = replace(mixed, outlook=replace(first.outlook, lifted=replace(first.outlook.lifted, outcome=Outcome.NO)))
    assert effect_of(mixed.blockers[:2], {key: stays}).kept == 1
    assert Effect(deleted=1, replaced=2).goes == 3


@pytest.mark.parametrize(("kind", "blockers_left", "going"), [
    (Kind.OWN_POOL, 9, 2),
    (Kind.CORDON, 9, 2),
    (Kind.DURATION, 9, 2),
    (Kind.GRACE, 9, 2),
    (Kind.SPREAD, 9, 2),
    (Kind.REMOVE_ANNOTATION, 4, 5),
    (Kind.ALLOW_EVICTION, 8, 3),
    (Kind.WIDER_BUDGET, 8, 3),
])  # fmt: skip
def test_a_what_if_with_the_edits_has_the_predicted_result(
    story: tuple[Analysis, ChangedObjects], kind: BlockerRemedyKind, blockers_left: int, going: int
) -> None:
    analysis, _ = story
    inventory = story_e.inventory()
    remedy = by_kind(blockers_of(analysis.findings), changed_objects(inventory), analysis.findings)[kind]
    types = TypesResult(story_e.TYPES, is_fixed=True)
    edited = apply(WhatIfBase(inventory, lambda *_: types, Settings(), NOW_NS), remedy.edits)
    after = analyse_all(AnalysisSteps(edited.prepared, 2))
    assert sum(len(findings.blockers) for findings in after.findings.values()) == blockers_left
    # One node is removable without the edits, and one is being deleted.
    assert sum(present(findings.outlook).now.goes for findings in after.findings.values()) == going
    if kind is Kind.OWN_POOL:
        assert [pool.name for pool in edited.inventory.nodepools][-1] == "runners-protected"
