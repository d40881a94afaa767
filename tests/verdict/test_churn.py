"""Workloads that are scaled up and down again and again."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from karptui.advice.report import AdviceReport
from karptui.disruption.churn.life import Removal
from karptui.disruption.churn.loops import Loop, LoopKind
from karptui.kube.objects import Event
from karptui.kube.taints import Taint
from karptui.verdict.case import VerdictCase, VerdictNode
from karptui.verdict.churn import churn_findings
from karptui.verdict.controller import MANY_DESCHEDULED, controller_findings
from karptui.verdict.pending_pods import PendingPods
from karptui.views.verdict.sentence import sentence
from tests.builders import HOUR_NS, MINUTE_NS, NOW_NS, a_condition, a_node, a_nodeclaim, a_nodepool, an_event

FROM_TO = ("Scaled up replica set web-7d9 from 6 to 24", "Scaled down replica set web-7d9 from 24 to 6")
TO_FROM = ("Scaled up replica set web-7d9 to 24 from 6", "Scaled down replica set web-7d9 to 6 from 24")
ROLLOUT = ("Scaled up replica set web-5c4 from 6 to 24", "Scaled down replica set web-7d9 from 24 to 6")


def scaled(message: str, count: int) -> Event:
    about, reason = "Deployment/shop/web", "ScalingReplicaSet"
    began_ns = NOW_NS - 50 * MINUTE_NS
    return an_event(name=message, about=about, reason=reason, message=message, count=count, first_ns=began_ns)


def removed(number: int, reason: str) -> Event:
    message = f"Disrupting NodeClaim: {reason}"
    return an_event(name=f"e{number}", about=f"NodeClaim/c{number}", reason="DisruptionTerminating", message=message)


@pytest.mark.parametrize(("messages", "count", "nodes", "reason", "is_told"), [
    (FROM_TO, 4, 4, "Empty", True),
    (TO_FROM, 4, 4, "Underutilized", True),
    (ROLLOUT, 4, 4, "Empty", False),
    (FROM_TO, 2, 4, "Empty", False),
    (FROM_TO, 4, 2, "Empty", False),
    (FROM_TO, 4, 4, "Drifted", False),
])  # fmt: skip
def test_workloads_that_are_scaled_up_and_down_are_named(
    messages: tuple[str, str], count: int, nodes: int, reason: str, *, is_told: bool
) -> None:
    events = [*(scaled(text, count) for text in messages), *(removed(number, reason) for number in range(nodes))]
    texts = [sentence(f, NOW_NS, {}) for f in churn_findings(VerdictCase(now_ns=NOW_NS, events=events))]
    expected = (
        "Deployment shop/web was scaled up and down 4 times between 6 and 24 replicas in 50m; "
        "Karpenter removed 4 nodes as empty or underutilized meanwhile"
    )
    assert texts == ([expected] if is_told else [])


@pytest.mark.parametrize(("own", "nodes"), [({"web"}, 4), ({"web", "batch"}, 9), (set(), 9)])
def test_only_removed_nodes_of_the_nodepools_of_a_scaled_workload_count(own: set[str], nodes: int) -> None:
    """Without a running pod its NodePools are not known."""
    claims = [*(f"web-{letter}" for letter in "abcd"), *(f"batch-{letter}" for letter in "abcde")]
    events = [*(scaled(text, 4) for text in FROM_TO)]
    events += [replace(removed(number, "Empty"), involved_name=claim) for number, claim in enumerate(claims)]
    pools, pools_of = (a_nodepool(name="web"), a_nodepool(name="batch")), {"Deployment/shop/web": own}
    case = VerdictCase(now_ns=NOW_NS, events=events, pools=pools, pools_of=pools_of)
    assert [finding.nodes for finding in churn_findings(case)] == [nodes]


def rescaled(size: int, count: int) -> Event:
    message = f"New size: {size}; reason: All metrics below target"
    about, reason, began_ns = "HorizontalPodAutoscaler/queue/worker", "SuccessfulRescale", NOW_NS - 50 * MINUTE_NS
    return an_event(name=message, about=about, reason=reason, message=message, count=count, first_ns=began_ns)


@pytest.mark.parametrize(("counts", "is_told"), [((5, 5), True), ((5, 1), False), ((1, 1), False)])
def test_an_autoscaler_that_returns_to_the_same_sizes_oscillates(counts: tuple[int, int], *, is_told: bool) -> None:
    events = [rescaled(3, counts[0]), rescaled(18, counts[1]), *(removed(number, "Empty") for number in range(5))]
    texts = [sentence(f, NOW_NS, {}) for f in churn_findings(VerdictCase(now_ns=NOW_NS, events=events))]
    assert bool(texts) is is_told
    assert all(
        "HorizontalPodAutoscaler queue/worker was scaled up and down 5 times between 3" in text for text in texts
    )


@pytest.mark.parametrize(
    ("drained", "recommended", "emptied", "is_told"),
    [(3, 3, 3, True), (2, 2, 3, False), (3, 0, 3, False), (3, 3, 1, False)],
)
def test_drains_on_rebalance_recommendations_are_named(
    drained: int, recommended: int, emptied: int, *, is_told: bool
) -> None:
    source = "aws-node-termination-handler"
    told = [("CordonAndDrain", drained), ("RebalanceRecommendation", recommended)]
    events = [
        an_event(name=f"{reason}{n}", about=f"Node/n{n}", reason=reason, source=source, first_ns=NOW_NS - 9 * MINUTE_NS)
        for reason, count in told
        for n in range(count)
    ]
    events += [removed(number, "Empty") for number in range(emptied)]
    texts = [sentence(f, NOW_NS, {}) for f in churn_findings(VerdictCase(now_ns=NOW_NS, events=events))]
    expected = (
        "aws-node-termination-handler drained 3 nodes in the last 9m on rebalance recommendations "
        "(enableRebalanceDraining); Karpenter removed 3 nodes as empty meanwhile"
    )
    assert texts == ([expected] if is_told else [])


def test_a_loop_of_an_unknown_nodepool_is_only_on_the_churn_screen() -> None:
    loop = Loop(kind=LoopKind.SHORT_LIVED, pool="", times=9, first_ns=NOW_NS, last_ns=NOW_NS)
    assert list(churn_findings(VerdictCase(now_ns=NOW_NS, advice=AdviceReport(loops=(loop,))))) == []


@pytest.mark.parametrize(("place", "evicted", "elsewhere", "looping"), [
    ("apps", "; 3 evictions of ml/sweep", [], "apps"),
    ("ml", "", ["Pods of ml/sweep are moved again and again: 3 evictions in the last 60m (Empty)"], "ml"),
    ("", "", ["Pods of ml/sweep are moved again and again: 3 evictions in the last 60m (Empty)"], "apps, ml"),
])  # fmt: skip
def test_a_loop_mentions_only_evictions_of_its_own_nodepool(
    place: str, evicted: str, elsewhere: list[str], looping: str
) -> None:
    """Pods whose NodePool is unknown have a separate finding."""
    first_ns = NOW_NS - HOUR_NS
    moved = Loop(kind=LoopKind.MOVED, workload="Job/ml/sweep", times=3, first_ns=first_ns, last_ns=NOW_NS,
                 moved_for=("Empty",))  # fmt: skip
    loops = [
        Loop(kind=LoopKind.SHORT_LIVED, pool=pool, times=9, first_ns=first_ns, last_ns=NOW_NS,
             reasons=((Removal.EMPTY, 9),)) for pool in ("apps", "ml")
    ]  # fmt: skip
    pools_of = {"Job/ml/sweep": {place}, "ml/sweep": {place}} if place else {}
    case = VerdictCase(now_ns=NOW_NS, advice=AdviceReport(loops=(loops[0], moved)), pools_of=pools_of)
    loop, *others = [sentence(finding, NOW_NS, {}) for finding in churn_findings(case)]
    removed = "Node churn loop in apps: 9 nodes removed shortly after launch in the last 60m (Empty)"
    assert (loop, others) == (f"{removed}{evicted}", elsewhere)
    evictions = [
        an_event(about=f"Pod/ml/sweep-{number}", reason="Descheduled", source="sigs.k8s.io/descheduler")
        for number in range(MANY_DESCHEDULED)
    ]
    case = VerdictCase(now_ns=NOW_NS, advice=AdviceReport(loops=tuple(loops)), pools_of=pools_of, events=evictions)
    [text] = [sentence(finding, NOW_NS, {}) for finding in controller_findings(case, PendingPods(()))]
    assert text.endswith(f"while Karpenter consolidates nodes of {looping} again and again")


def test_a_drift_loop_names_the_drift_reason_of_new_nodes() -> None:
    loop = Loop(kind=LoopKind.SHORT_LIVED, pool="apps", times=9, first_ns=NOW_NS, last_ns=NOW_NS,
                reasons=((Removal.DRIFTED, 9),))  # fmt: skip
    claims = [
        a_nodeclaim(
            name=reason, created_ns=NOW_NS - hours * HOUR_NS, conditions=(a_condition("Drifted", reason=reason),)
        )
        for reason, hours in (("K8sVersionDrift", 0), ("AMIDrift", 50))
    ]
    nodes = [VerdictNode(claim.name, "apps", claim, has_node=True) for claim in claims]
    [finding] = churn_findings(VerdictCase(now_ns=NOW_NS, advice=AdviceReport(loops=(loop,)), nodes=nodes))
    assert finding.reasons == ("Drifted", "K8sVersionDrift")


@pytest.mark.parametrize(("key", "declared", "reason", "is_told"), [
    ("cni/agent-not-ready", "", Removal.EMPTY, True),
    ("cni/agent-not-ready", "cni/agent-not-ready", Removal.EMPTY, False),
    ("node.kubernetes.io/not-ready", "", Removal.EMPTY, False),
    ("cni/agent-not-ready", "", Removal.UNDERUTILIZED, False),
])  # fmt: skip
def test_a_taint_that_startup_taints_lack_explains_empty_new_nodes(
    key: str, declared: str, reason: Removal, *, is_told: bool
) -> None:
    loop = Loop(
        kind=LoopKind.SHORT_LIVED, pool="apps", times=9, first_ns=NOW_NS, last_ns=NOW_NS, reasons=((reason, 9),)
    )
    startup = (Taint(declared, "NoSchedule"),) if declared else ()
    claim, node = a_nodeclaim(stage="Registered", startup_taints=startup), a_node(taints=(Taint(key, "NoSchedule"),))
    nodes = [VerdictNode("n1", "apps", claim, has_node=True, node=node)]
    pools = (a_nodepool(name="apps", consolidate_after_ns=MINUTE_NS),)
    case = VerdictCase(now_ns=NOW_NS, advice=AdviceReport(loops=(loop,)), nodes=nodes, pools=pools)
    [text] = [sentence(finding, NOW_NS, {}) for finding in churn_findings(case)]
    assert (f"taint {key}, which its startupTaints lack" in text) is is_told
    assert ("consolidateAfter is 60s" in text) is not is_told


@pytest.mark.parametrize(
    ("expire_minutes", "gone", "reason", "is_told"),
    [(30, 3, "", True), (60, 3, "", False), (30, 2, "", False), (30, 3, "Disrupting NodeClaim: Drifted", False)],
)
def test_an_expire_after_of_minutes_is_reported(expire_minutes: int, gone: int, reason: str, *, is_told: bool) -> None:
    kind = "DisruptionTerminating" if reason else "Unconsolidatable"
    events = [an_event(name=f"e{n}", about=f"NodeClaim/web-{n}abcd", reason=kind, message=reason) for n in range(gone)]
    pool = a_nodepool(name="web", expire_after_ns=expire_minutes * MINUTE_NS)
    texts = [sentence(f, NOW_NS, {}) for f in churn_findings(VerdictCase(now_ns=NOW_NS, events=events, pools=[pool]))]
    assert texts == (["Node churn loop in web: 3 nodes removed in the last 60s; expireAfter is 30m"] if is_told else [])


@pytest.mark.parametrize(("minutes", "last", "is_told"), [(41, 1, True), (10, 1, False), (50, 20, False)])
def test_autoscalers_that_cannot_read_metrics_are_reported(minutes: int, last: int, *, is_told: bool) -> None:
    message = "failed to get cpu utilization: unable to fetch metrics from resource metrics API: unable to handle it"
    events = [
        an_event(
            about=f"HorizontalPodAutoscaler/shop/{name}",
            reason="FailedGetResourceMetric",
            message=message,
            first_ns=NOW_NS - minutes * MINUTE_NS,
            last_ns=NOW_NS - last * MINUTE_NS,
        )
        for name in ("web", "cart")
    ]
    result = [sentence(f, NOW_NS, {}) for f in churn_findings(VerdictCase(now_ns=NOW_NS, events=events))]
    autoscalers = "HorizontalPodAutoscalers shop/web, shop/cart"
    expected = f"{autoscalers} cannot read metrics for 41m, so they do not scale: unable to handle it"
    assert result == ([expected] if is_told else [])


def test_autoscalers_that_fail_for_different_reasons_are_separate_findings() -> None:
    reasons = {
        "web": ("FailedGetResourceMetric", "unable to get metrics for resource cpu: from resource metrics API: down"),
        "api": (
            "FailedGetResourceMetric",
            "unable to get metrics for resource memory: from resource metrics API: down",
        ),
        "old": ("FailedGetScale", 'deployments.apps "old" not found'),
    }
    events = [
        replace(
            an_event(about=f"HorizontalPodAutoscaler/shop/{name}", reason=reason, message=message),
            first_ns=NOW_NS - HOUR_NS,
            last_ns=NOW_NS,
        )
        for name, (reason, message) in reasons.items()
    ]
    assert [sentence(f, NOW_NS, {}) for f in churn_findings(VerdictCase(now_ns=NOW_NS, events=events))] == [
        "HorizontalPodAutoscalers shop/web, shop/api cannot read metrics for 60m, so they do not scale: down",
        'HorizontalPodAutoscaler shop/old cannot scale for 60m: deployments.apps "old" not found',
    ]
