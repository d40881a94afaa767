from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from msgspec.structs import replace

from karptui.errors import RequestError
from karptui.karpenter.inventory import CapacityBuffer
from karptui.karpenter.labels import HOSTNAME, NODEPOOL
from karptui.kube.objects import Condition
from karptui.kube.pod import HostPort, PodVolume, TopologySpreadConstraint
from karptui.kube.selectors import LabelSelector, NodeSelectorRequirement, NodeSelectorTerm
from karptui.kube.workload import Workload
from karptui.provisioning.solution import solve
from karptui.studies.forecasts import forecast_of
from karptui.studies.headroom import headroom, headrooms, pool_samples
from karptui.studies.pod_trial import PodTrial, SamplePod, sample_of, sample_of_manifest
from karptui.views.headroom import headline, more_lines, overview, pool_lines, pool_overview, requests_text, room_lines
from karptui.whatif.edits import ObjectRef, PutObject
from karptui.whatif.edits.apply import apply
from karptui.whatif.situation import WhatIfBase
from tests.builders import (
    MINUTE_NS,
    NOW_NS,
    a_launch_failure,
    a_node,
    a_nodeclaim,
    a_pod,
    an_event,
    an_instance_type,
    an_owner,
)
from tests.whatif.edits.test_apply import POOL
from tests.whatif.snapshots import base

SMALL = an_instance_type(name="m5.large", cpu="2", memory="8Gi", prices={"on-demand": 0.1})
LARGE = an_instance_type(name="m5.2xlarge", cpu="8", memory="32Gi", prices={"on-demand": 0.4})
WEB = ObjectRef("ReplicaSet", "web", "default")
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: one}
spec: {containers: [{name: a, resources: {requests: {cpu: 1}}}]}
"""


def limited(cpu: str, name: str = "general", **spec: Any) -> dict[str, Any]:
    return {**POOL, "metadata": {"name": name, "uid": name}, "spec": {**POOL["spec"], "limits": {"cpu": cpu}, **spec}}


def cluster(*pods: Any, pools: tuple[dict[str, Any], ...] = (limited("20"),), **others: Any) -> WhatIfBase:
    """Return two nodes with room for some pods, and types of two sizes."""
    nodes = (a_node(name="a", cpu="1930m"), a_node(name="b", cpu="1930m"))
    claims = tuple(
        a_nodeclaim(name=f"claim-{node.name}", node=node.name, provider_id=node.provider_id, capacity={"cpu": "2"})
        for node in nodes
    )
    given = {"nodes": nodes, "nodeclaims": claims, "pods": (a_pod(node="a", cpu="600m"), *pods), **others}
    return base(*pools, types=(SMALL, LARGE), **given)


def needs_no_node(on: WhatIfBase, sample: SamplePod, count: int) -> bool:
    solution, today = (solve(apply(on, sample.edits(n)).prepared) for n in (count, 0))
    return not solution.failed and len(solution.claims) <= len(today.claims)


def all_run_in_the_end(on: WhatIfBase, sample: SamplePod, count: int) -> bool:
    """Return whether a forecast of the cluster leaves no pod pending."""
    return not forecast_of(on, apply(on, sample.edits(count))).play(horizon_ns=240 * 10**9, is_instant=True).end.pending


@pytest.mark.parametrize("limit", ["6", "11", "20", "29"])
def test_every_number_up_to_the_result_fits_and_the_next_does_not(limit: str) -> None:
    on = cluster(pools=(limited(limit),))
    sample = sample_of(on, WEB)
    result = headroom(on, sample, most=60)
    assert [needs_no_node(on, sample, n) for n in range(result.fits + 2)] == [True] * (result.fits + 1) + [False]
    assert all_run_in_the_end(on, sample, result.total)
    assert not all_run_in_the_end(on, sample, result.total + 1)
    assert result.reason.startswith("the limits of NodePool general leave no room for another node")
    assert result.starts == result.fits == sum(count for _, count in result.nodes)


def test_pods_with_anti_affinity_get_a_node_each() -> None:
    on = cluster(a_pod(name="apart", node="b", cpu="100m", host_ports=(HostPort(8080),)))
    result = headroom(on, sample_of(on, ObjectRef("Pod", "apart", "default")), most=30)
    assert result.fits == 1
    assert result.total == 1 + result.new_nodes
    assert (result.next_pool, result.next_type) == ("general", "m5.large on-demand us-east-1a")


def test_room_on_nodes_launched_for_pending_pods_is_counted_separately() -> None:
    full = a_pod(name="full", node="b", cpu="1900m")
    waiting = a_pod(name="waits", cpu="2500m", owner=an_owner(name="large"))
    on = cluster(a_pod(name="more", node="a", cpu="600m"), full, waiting)
    result = headroom(on, sample_of(on, WEB), most=60)
    assert result.on_launched == result.fits - sum(count for _, count in result.nodes) > 0
    assert " fit on existing nodes and on nodes launched anyway for pending pods; " in headline(result)
    few = headroom(on, sample_of(on, WEB), most=result.fits, pools=())
    assert " or more pods of each workload fit on existing nodes and on nodes" in overview([few])
    launched = replace(few, on_launched=few.fits, nodes=())
    assert " fit on nodes launched anyway" in headline(launched)
    there = replace(few, on_launched=0)
    for pair in ([launched, there], [there, launched]):
        assert " fit on existing nodes and on nodes launched anyway" in overview(pair)
    assert " fit on existing or starting nodes" in headline(replace(there, on_starting=1))
    assert list(more_lines(result))[-1].endswith(f"; {result.on_launched} on nodes that are launched anyway")
    crowded = cluster(full, waiting, a_pod(name="more", node="a", cpu="1200m"))
    assert " fit on nodes launched anyway for pending pods; " in headline(
        headroom(crowded, sample_of(crowded, WEB), most=60)
    )


def test_launches_that_fail_now_are_the_first_assumption() -> None:
    old = a_nodeclaim(name="general-x", node="", provider_id="", conditions=(), created_ns=NOW_NS - 14 * MINUTE_NS)
    refused = a_launch_failure("", "", code="VcpuLimitExceeded", last_ns=NOW_NS - 4 * MINUTE_NS)
    on = cluster(nodeclaims=(old,), events=(refused,))
    assert headroom(on, sample_of(on, WEB), most=5).assumed[:2] == (
        "new nodes are launched, although Karpenter launches none until general-x has a provider ID",
        "new nodes of general are launched, although a launch failed 4m ago: VcpuLimitExceeded",
    )
    assert forecast_of(on).play(horizon_ns=0, is_instant=True).assumptions[-1].startswith("new nodes of general are ")


def test_pending_pods_that_cannot_start_on_any_node_are_named() -> None:
    event = an_event(about="PersistentVolumeClaim/default/data", reason="ProvisioningFailed", last_ns=NOW_NS)
    pod = a_pod(name="waits", volumes=(PodVolume("data", "data"),), scheduled_reason="Unschedulable")
    on = cluster(pod, events=(event,))
    text = "default/waits starts once it has a node, although it cannot now (volume not created)"
    assert text in headroom(on, sample_of(on, WEB), most=5).assumed
    forecast = forecast_of(on).play(horizon_ns=0, is_instant=True)
    assert (text in forecast.assumptions, forecast.end.pending) == (False, 1), "it stays pending in the forecast"


def test_resource_claims_are_the_reason_even_if_nodepools_have_taints() -> None:
    template = deepcopy(POOL["spec"]["template"])
    template["spec"]["taints"] = [{"key": "team", "effect": "NoSchedule"}]
    tainted = limited("20", template=template)
    on = cluster(a_pod(name="infer", node="b", cpu="100m", has_resource_claims=True), pools=(tainted,))
    reason = headroom(on, sample_of(on, ObjectRef("Pod", "infer", "default")), most=5).reason
    assert reason == "Karpenter does not support ResourceClaims (Dynamic Resource Allocation)"


def test_pods_pending_today_are_scheduled_before_the_additional_ones() -> None:
    waiting = tuple(a_pod(name=f"waits-{n}", cpu="600m") for n in range(2))
    without_volume = tuple(replace(pod, volumes=(PodVolume("data", "lost"),)) for pod in waiting)
    result, with_waiting, with_lost = (
        headroom(on, sample_of(on, ObjectRef("Pod", "web-1", "default")), most=30, pools=())
        for on in (cluster(), cluster(*waiting), cluster(*without_volume))
    )
    assert (result.starts, result.fits) == (5, 5)
    assert (with_waiting.starts, with_waiting.fits) == (3, 3)
    assert (with_lost.starts, with_lost.fits) == (5, 5), "kube-scheduler never places them"


def test_each_nodepool_is_evaluated_alone() -> None:
    tainted = {
        "template": {"spec": {**POOL["spec"]["template"]["spec"], "taints": [{"key": "x", "effect": "NoSchedule"}]}}
    }
    empty = {"template": deepcopy(POOL["spec"]["template"])}
    empty["template"]["spec"]["requirements"] = [
        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["nowhere"]}
    ]
    pools = (limited("8"), limited("8", "other"), limited("8", "closed", **tainted), limited("8", "empty", **empty))
    on = cluster(pools=pools)
    result = headroom(on, sample_of(on, WEB), most=60)
    by_pool = {room.pool_name: room for room in result.pools}
    assert by_pool["empty"].reason == "NodePool empty has no launchable instance type"
    assert by_pool["closed"].pods == 0
    assert by_pool["closed"].reason == "it does not tolerate x:NoSchedule of NodePool closed"
    assert result.total - result.fits == by_pool["general"].pods + by_pool["other"].pods
    assert headroom(on, sample_of(on, WEB), most=60, pools=()).pools == ()


def test_without_a_usable_nodepool_pods_fit_where_kube_scheduler_puts_them() -> None:
    on = cluster(pools=())
    result = headroom(on, sample_of(on, WEB), most=40)
    assert (result.fits, result.total, result.is_total_at_least, result.new_nodes) == (5, 5, False, 0)
    assert result.starts == sum(count for _, count in result.nodes) == 5
    assert headline(result) == (
        "5 more pods like ReplicaSet/default/web fit on existing nodes; the next is unschedulable: "
        "no NodePool accepts pods: this Karpenter has none that is ready, dynamic and not being deleted"
    )
    assert overview([result]) == "least headroom: 5 more of ReplicaSet/default/web"
    few = headroom(on, sample_of(on, WEB), most=3)
    assert overview([few]) == "3 or more pods of each workload fit on existing nodes"
    huge = cluster(a_pod(name="huge", cpu="16"), pools=())
    none = headroom(huge, sample_of(huge, ObjectRef("Pod", "huge", "default")), most=3)
    assert overview([none]) == "no more pods of Pod/default/huge fit"


@pytest.mark.parametrize(("passed_over", "fits", "why"), [
    ({"required_node_terms": (NodeSelectorTerm((NodeSelectorRequirement(NODEPOOL, "DoesNotExist"),)),)}, 3,
     "its own rules exclude all NodePools, so Karpenter silently ignores it"),
    ({"node_selector": {HOSTNAME: "a"}}, 2, "Karpenter ignores it: using label kubernetes.io/hostname is not allowed"),
])  # fmt: skip
def test_ignored_pods_fit_only_where_kube_scheduler_puts_them(passed_over: dict[str, Any], fits: int, why: str) -> None:
    pod = a_pod(name="own", node="foreign", cpu="600m", **passed_over)
    on = cluster(pod, nodes=(*cluster().inventory.nodes, a_node(name="foreign", pool="", cpu="2430m")))
    result = headroom(on, sample_of(on, ObjectRef("Pod", "own", "default")), most=20)
    assert (result.starts, result.fits, result.total, result.on_launched) == (fits, fits, fits, 0)
    assert result.reason.startswith(why)
    assert [(room.pool_name, room.pods, room.reason) for room in result.pools] == [("general", 0, result.reason)]


def test_the_reason_why_no_more_pods_fit() -> None:
    on = cluster()
    sample = sample_of(on, WEB)
    edited = apply(on, sample.edits(20))
    new = [pod for pod in edited.inventory.pods if not pod.node_name]
    lost = tuple(replace(pod, volumes=(PodVolume("data", "lost"),)) for pod in new[2:4])
    inventory = replace(edited.inventory, pods=(*on.inventory.pods, *new[:2], *lost, *new[4:]))
    trial = PodTrial(edited.derive(inventory), inventory, (*new[:2], *lost, *new[4:]))
    assert [trial.needs_no_node(count) for count in range(4)] == [True, True, True, False]
    assert [trial.settled(count).waiting for count in (2, 3, 4, 5)] == [0, 1, 2, 2]
    assert trial.settled(3).reason == 'Karpenter ignores it: persistentvolumeclaims "lost" not found'
    sick = {**limited("8"), "status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    on = cluster(pools=(sick,))
    result = headrooms(on, (sample_of(on, WEB),), most=4, pool="general")
    assert pool_overview("general", result).endswith(
        "no NodePool accepts pods: this Karpenter has none that is ready, dynamic and not being deleted"
    )


@pytest.mark.parametrize(("general", "why"), [
    ({**limited("8"), "status": {"conditions": [{"type": "Ready", "status": "False"}]}}, "not ready"),
    (limited("8", replicas=2), "static"),
    ({**limited("8"), "metadata": {**limited("8")["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}},
     "being deleted"),
    (limited("8", template={"spec": {"nodeClassRef": {"group": "kwok.sh", "kind": "KwokNodeClass", "name": "x"}}}),
     "of another provider"),
    (limited("8", replicas=2,
             template={"spec": {"nodeClassRef": {"group": "kwok.sh", "kind": "KwokNodeClass", "name": "x"}}}),
     "of another provider"),
])  # fmt: skip
def test_a_nodepool_that_fits_none_has_a_reason_next_to_one_that_does(general: dict[str, Any], why: str) -> None:
    on = cluster(pools=(general, limited("20", "other")))
    result = headrooms(on, (sample_of(on, WEB),), most=40, pool="general")
    room = result[0].pools[0]
    assert (room.pods, room.is_at_least, room.nodes, [use.resource for use in room.limits]) == (0, False, 0, ["cpu"])
    assert pool_overview("general", result) == (
        f"no new node of general for ReplicaSet/default/web: "
        f"NodePool general is {why}, so that Karpenter launches nothing from it for pods"
    )
    assert result[0].new_nodes > 0


def test_a_capacity_buffer_is_refilled_by_a_new_node() -> None:
    buffer = CapacityBuffer(
        name="spare", namespace="default", uid="b", scalable_kind="Deployment", scalable_name="web", replicas=2,
        conditions=(Condition("ReadyForProvisioning", "True", "Ready"),), has_spec_ref=True,
    )  # fmt: skip
    web = Workload(
        name="web", namespace="default", uid="w", kind="Deployment", api_version="apps/v1", replicas=1,
        template=a_pod(cpu="600m").template,
    )  # fmt: skip
    plain = cluster()
    kept = cluster(workloads=(web,), capacity_buffers=(buffer,), settings={"FEATURE_GATES": "CapacityBuffer=true"})
    without, result = (
        headroom(on, sample_of(on, ObjectRef("Pod", "web-1", "default")), most=20) for on in (plain, kept)
    )
    assert (without.fits, without.starts, without.buffered) == (5, 5, 0)
    assert (result.fits, result.starts, result.buffered) == (3, 5, 2)
    assert "Karpenter then launches nodes to replace the buffer space that 2 of them use" in "\n".join(
        more_lines(result)
    )


def test_more_pods_start_than_fit_if_kube_scheduler_ignores_their_preferences() -> None:
    spread = TopologySpreadConstraint(1, HOSTNAME, "ScheduleAnyway", LabelSelector(match_labels=(("app", "web"),)))
    web = a_pod(node="a", cpu="300m", labels={"app": "web"}, topology_spread=(spread,))
    full = a_pod(name="full", node="b", cpu="1900m")
    for policy, is_told in (("Respect", True), ("Ignore", False)):
        on = cluster(full, settings={"PREFERENCE_POLICY": policy}, pods=(web, full))
        result = headroom(on, sample_of(on, WEB), most=20, pools=())
        assert (result.starts > result.fits) == is_told
        # The answer distinguishes pods that start from pods for which Karpenter launches nodes.
        assert ("from pod 1 on, Karpenter launches nodes" in headline(result)) == is_told
        assert ("fits 0 of them without a new node" in next(more_lines(result))) == is_told


def test_a_manifest_or_a_pod_given_by_requests_is_added() -> None:
    on = cluster()
    sample = sample_of_manifest(on, PutObject(POD), ObjectRef("Pod", "one"))
    result = headroom(on, sample, most=20)
    assert (result.sample.name, result.pods, result.fits) == ("Pod/default/one", 0, 2)
    assert requests_text(result) == "cpu 1000m"
    assert [needs_no_node(on, sample, n) for n in (1, 2, 3)] == [True, True, False]


def test_workloads_on_a_nodepool_are_evaluated_with_its_own_limit() -> None:
    on = cluster(
        a_pod(name="large", node="b", cpu="1500m", owner=an_owner(name="large")),
        pools=(limited("12"), limited("99", "other")),
    )
    of = pool_samples(on, "general")
    assert [pod.name for pod in of] == ["ReplicaSet/default/large", "ReplicaSet/default/web"]
    large, web = headrooms(on, of, pool="general", most=60)
    assert [(item.sample.name, item.pools[0].pods) for item in (large, web)] == [
        ("ReplicaSet/default/large", 5),
        ("ReplicaSet/default/web", 13),
    ]
    (use,) = web.pools[0].limits
    assert (use.resource, use.used, use.limit) == ("cpu", 3860 * 10**6, 12 * 10**9)
    assert pool_overview("general", (large, web)) == (
        "new nodes of general take 5 more pods of ReplicaSet/default/large, up to 13 of ReplicaSet/default/web"
    )
    assert list(pool_lines("general", (large, web))) == ["limits of general: 3860m of 12 cpu in use"]
    with pytest.raises(RequestError, match="there is no NodePool none; there are general, other"):
        pool_samples(on, "none")


def test_a_nodepool_without_room_has_a_reason() -> None:
    on = cluster(pools=(limited("4"),))
    (web,) = headrooms(on, pool_samples(on, "general"), pool="general", most=60)
    told = pool_overview("general", (web,))
    assert told.startswith("no new node of general for ReplicaSet/default/web: the limits of NodePool general leave")
    web_name = "ReplicaSet/default/web"
    told = pool_overview("general", (web,) * 5)
    assert told.startswith(f"no new node of general for {web_name}, {web_name}, {web_name} and 2 more: the limits")
    first, second = room_lines(web)
    assert first.startswith("on existing nodes, of any NodePool: ")
    assert second.startswith("on new nodes of general: 0 more, then the limits of NodePool general leave")
