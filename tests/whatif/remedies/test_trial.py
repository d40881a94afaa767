from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from karptui.aws.prices import NodePrices, PriceSettings
from karptui.disruption.analysis_steps import AnalysisSteps, analyse_all
from karptui.disruption.codes import Code
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import DO_NOT_DISRUPT
from karptui.karpenter.settings import Settings
from karptui.kube.pod import NO_TROUBLE, PodTrouble
from karptui.kube.taints import Taint
from karptui.whatif.edits import ObjectRef, ScaleWorkload
from karptui.whatif.remedies.blockers.offered import blocker_remedies
from karptui.whatif.remedies.blockers.remedy import BlockerRemedy, ChangedObjects
from karptui.whatif.remedies.blockers.remedy import BlockerRemedyKind as Kind
from karptui.whatif.remedies.blockers.trial import Trial, ranked, try_remedies
from karptui.whatif.situation import TypesResult, WhatIfBase
from tests import story_e
from tests.builders import NOW_NS, a_node, a_nodepool, a_pod, an_owner
from tests.disruption import making
from tests.forward.making import TYPES, a_pair, a_world
from tests.whatif.remedies.asking import a_pool, analysed, blockers_of, changed_objects

Tried = tuple[tuple[BlockerRemedy, ...], tuple[Trial, ...]]


@pytest.fixture(scope="module")
def tried() -> Tried:
    """Return the remedies for story E's runners, and the result of each."""
    inventory = story_e.inventory()
    analysis = analysed(inventory, story_e.TYPES)
    runners = blockers_of(analysis.findings, "Job/gitlab")
    base = WhatIfBase(inventory, lambda *_: TypesResult(story_e.TYPES, is_fixed=True), Settings(), NOW_NS)
    objects = replace(changed_objects(inventory), workloads=frozenset())
    offered = blocker_remedies(runners, objects, analysis.findings, NOW_NS)
    broken = replace(offered[0], edits=(ScaleWorkload(ObjectRef("Deployment", "gone", "x"), 2),))
    asked = (*offered, broken)
    return asked, try_remedies(base, asked, runners)


def of(tried: Tried, kind: Kind) -> Trial:
    """Return the result of the first remedy of a kind."""
    return next(trial for remedy, trial in zip(*tried, strict=True) if remedy.kind is kind)


def test_remedies_that_cut_no_pods_precede_those_that_save_more(tried: Tried) -> None:
    remedies, trials = tried
    order = [str(remedies[at].kind) for at in ranked(remedies, trials)]
    assert order[:4] == [str(item) for item in (Kind.OWN_POOL, Kind.CORDON, Kind.DURATION, Kind.REMOVE_ANNOTATION)]
    assert of(tried, Kind.REMOVE_ANNOTATION).score > of(tried, Kind.DURATION).score
    assert order[-1:] == [str(Kind.OWN_POOL)], "a remedy that cannot be tried is last"


def test_cut_pods_are_counted_with_their_lost_work(tried: Tried) -> None:
    cut, spared = of(tried, Kind.REMOVE_ANNOTATION), of(tried, Kind.CORDON)
    assert (len(cut.freed), cut.cut, cut.wait_seconds) == (4, 6, 0)
    assert cut.lost_dollars > 0
    assert cut.why.startswith("Frees 4 nodes, saves up to $3.02/h, cuts 6 protected pods after ")
    assert (len(spared.freed), spared.cut, spared.spares, spared.lost_dollars) == (4, 0, 6, 0.0)
    assert "moves 4 pods, cuts no protected pod" in spared.why
    assert (spared.wait_seconds, spared.is_waiting, spared.is_time_known) == (0, True, False), "the age is no bound"
    assert spared.why.startswith("Frees 4 nodes once the protected pods have ended (the oldest has run for 5h57m), ")
    limited = of(tried, Kind.DURATION)
    assert limited.why.startswith("Frees 4 nodes once their pods' protection has ended (7h19m at most), saves up to ")
    assert "cuts no protected pod" not in limited.why, "a job that runs longer is evicted then"
    assert limited.score == pytest.approx(limited.saves_per_hour * (86_400 - limited.wait_seconds) / 3_600)


def test_remedies_that_free_no_node_mention_drift_and_risk(tried: Tried) -> None:
    assert of(tried, Kind.GRACE).why == (
        "Frees no node alone; a job that runs longer than 8h on a drifted node is ended, and 3 nodes would drift."
    )
    assert of(tried, Kind.PRIORITY).why == (
        "Frees no node, and no pending pod would preempt them now (approximated); any pod of higher priority may "
        "preempt them later."
    )


def test_an_impossible_edit_has_a_reason(tried: Tried) -> None:
    assert "gone" in tried[1][-1].why
    assert tried[1][-1].why.startswith("It could not be tried: ")


def tried_of_a_service(*taints: Taint, kind: str = "StatefulSet", trouble: PodTrouble = NO_TROUBLE) -> Tried:
    """Return the remedies for a protected pod, alone on a large node, and the result of each."""
    web = a_pod(name="web", node="node-1", annotations=story_e.PROTECTED, owner=an_owner(kind=kind, name="web"))
    pods = replace(web, trouble=trouble), a_pod(name="x", node="node-2")
    pool = replace(a_pool(taints=taints), budgets=(), consolidate_after_ns=0)
    world = a_world(a_pair("node-1", is_large=True), a_pair("node-2"), pods=pods, nodepools=[pool])
    analysis = analysed(world, TYPES)
    blockers = blockers_of(analysis.findings)
    base = WhatIfBase(world, lambda *_: TypesResult(TYPES, is_fixed=True), Settings(), NOW_NS)
    offered = blocker_remedies(blockers, changed_objects(world), analysis.findings, NOW_NS)
    return offered, try_remedies(base, offered, blockers)


def test_pods_of_services_are_not_treated_as_jobs() -> None:
    tried = tried_of_a_service()
    trial, taken = of(tried, Kind.OWN_POOL), of(tried, Kind.REMOVE_ANNOTATION)
    assert (trial.freed, trial.wait_seconds) == (("node-1",), 0)
    assert trial.saves_per_hour == pytest.approx(0.4 - 0.1), "the pod moves to a node for $0.10/h"
    assert trial.risk == "one more NodePool to maintain, and the pods are recreated there"
    assert (taken.evictions, taken.cut, taken.lost_seconds) == (1, 0, 0)
    assert "moves 1 pod; nothing" in taken.why
    unprotected = of(tried, Kind.DURATION)
    assert unprotected.risk == "each of them may be evicted 4h after its start"
    assert (unprotected.freed, unprotected.wait_seconds) == (("node-1",), 3 * 3_600 + 1)
    assert unprotected.evictions == 1, "the pod keeps running, on another node"
    assert "each of them is ended at the latest 4h after its node begins to drain" in of(tried, Kind.GRACE).why


def test_pods_whose_sidecar_runs_on_do_not_end() -> None:
    tried = tried_of_a_service(kind="Job", trouble=PodTrouble(outliving=("proxy",)))
    assert not {Kind.OWN_POOL, Kind.CORDON}.intersection(remedy.kind for remedy in tried[0])
    taken, limited = of(tried, Kind.REMOVE_ANNOTATION), of(tried, Kind.DURATION)
    assert (taken.evictions, taken.cut, taken.lost_seconds) == (1, 0, 0)
    assert (limited.freed, limited.evictions, limited.spares) == (("node-1",), 1, 0), "the pod is still there then"


def test_an_own_pool_that_its_pods_do_not_fit_frees_nothing() -> None:
    trial = of(tried_of_a_service(Taint("own", "NoSchedule")), Kind.OWN_POOL)
    assert (trial.freed, trial.problem) == ((), "its pods would not fit there")


def test_unknown_savings_are_not_shown_as_zero() -> None:
    unknown = Trial(nodes=2, freed=("a",), unpriced=1, risk="a risk")
    assert unknown.why == "Frees 1 node, savings unknown; a risk."
    partly = Trial(nodes=2, freed=("a", "b"), saves_per_hour=0.5, unpriced=1, risk="a risk")
    assert partly.why == "Frees 2 nodes, saves $0.50/h+; a risk."
    assert [trial.is_saving_known for trial in (unknown, partly, Trial())] == [False, True, True]
    off = NodePrices(settings=PriceSettings(is_disabled=True))
    inventory = story_e.inventory()
    analysis = analysed(inventory, story_e.TYPES)
    lifted = blockers_of(analysis.findings, "Job/")
    objects = ChangedObjects(pods={pod.key: pod for pod in inventory.pods}, nodepools={}, pdbs={})
    base = WhatIfBase(inventory, lambda *_: TypesResult(story_e.TYPES, is_fixed=True), Settings(), NOW_NS, prices=off)
    offered = blocker_remedies(lifted, objects, analysis.findings, NOW_NS)
    freeing = [trial for trial in try_remedies(base, offered, lifted) if trial.freed]
    assert freeing
    assert not any(trial.is_saving_known for trial in freeing)


def test_a_remedy_saves_as_much_as_the_joint_removal_of_its_nodes() -> None:
    names = ("node-1", "node-2", "node-3", "node-4")
    size: dict[str, Any] = {"instance_type": "m5.2xlarge", "cpu": "7900m", "memory": "30Gi"}
    pods = [a_pod(name=f"pod-{name}", node=name, cpu="4", annotations={DO_NOT_DISRUPT: "true"}) for name in names[:3]]
    inventory = Inventory(
        nodes=tuple(a_node(name=name, **size) for name in names),
        nodeclaims=tuple(
            making.a_claim(name, instance_type="m5.2xlarge", conditions=(making.consolidatable(),)) for name in names
        ),
        nodepools=(a_nodepool(budgets=()),),
        pods=(*pods, a_pod(name="last", node=names[3], cpu="100m")),
    )
    base = WhatIfBase(inventory, lambda *_: TypesResult(making.TYPES, is_fixed=True), Settings(), NOW_NS)
    findings = analyse_all(AnalysisSteps(base.prepared, 1)).findings
    blockers = [blocker for blocker in blockers_of(findings) if blocker.code is Code.POD_DND]
    objects = ChangedObjects({pod.key: pod for pod in pods}, {}, {})
    offered = [
        remedy
        for remedy in blocker_remedies(blockers, objects, findings, NOW_NS)
        if remedy.kind is Kind.REMOVE_ANNOTATION
    ]
    (trial,) = try_remedies(base, offered, blockers)
    # Each node alone saves $0.40/h; together their pods need one new node.
    assert (len(trial.freed), trial.saves_per_hour, trial.is_upper_bound) == (3, pytest.approx(0.8), True)
