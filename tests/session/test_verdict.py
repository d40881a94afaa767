from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from karptui.aws.evidence import Evidence
from karptui.config import DEFAULTS
from karptui.decode.kinds import Kind
from karptui.disruption.analysis_steps import AnalysisSteps, analyse_all
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import DISRUPTED_TAINT, DO_NOT_DISRUPT, NODEPOOL, OS, TERMINATION_FINALIZER
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.nodeclass import EC2_KIND, NodeClassRef
from karptui.karpenter.nodepool import NodePool
from karptui.kube.pod import ContainerRequests, Pod, PodTrouble, PodVolume
from karptui.kube.quantity import NANO
from karptui.kube.taints import Toleration
from karptui.kube.workload import Workload
from karptui.pending.report_steps import report_of_pending
from karptui.serving.lists import lists_of
from karptui.session.cluster_view import ClusterView
from karptui.session.pending_report import answer_of
from karptui.session.pools import PoolLimit
from karptui.session.prepare import prepare_view
from karptui.session.readiness import left_out
from karptui.session.row_server import RowServer
from karptui.session.sources import source_rows
from karptui.session.verdict import verdict_of_view
from karptui.session.verdict_pending import pending_lines
from karptui.sources.snapshot.source import put_all
from karptui.sources.source import Mailbox, Phase
from karptui.verdict import upcoming
from karptui.verdict.case import PendingLine
from karptui.verdict.finding import ClusterFinding, FindingCode, FindingSeverity, Leaving, Manner
from karptui.views.verdict.sentence import pending_reasons, sentence
from tests.builders import (
    HOUR_NS,
    MINUTE_NS,
    NOW_NS,
    a_condition,
    a_node,
    a_nodeclaim,
    a_nodepool,
    a_pdb,
    a_pod,
    a_requirement,
    amounts,
    an_event,
    an_owner,
)
from tests.builders.clusters import state_of
from tests.disruption.making import TYPES, a_claim, consolidatable
from tests.ui.fleet import a_fleet, status, view_of

PROTECTED = {DO_NOT_DISRUPT: "true"}
KWOK = NodeClassRef("karpenter.kwok.sh", "KWOKNodeClass", "k")
OTHER = "x9.none"
"""A type without a price."""


def found_in(**objects: Any) -> dict[FindingCode, ClusterFinding]:
    """Return the findings by code of a cluster with one node of ``general``, with the tests' prices."""
    document: dict[str, Any] = {
        "nodes": (a_node(name="node-1", instance_type="m5.2xlarge", cpu="7900m", memory="30Gi"),),
        "nodeclaims": (a_claim(instance_type="m5.2xlarge", conditions=(consolidatable(),)),),
        "nodepools": (a_nodepool(budgets=()),),
        "pods": (),
    }
    view = ClusterView(state_of(Inventory(**{**document, **objects})), {}, evidence=Evidence(instance_types=TYPES))
    prepared, _ = prepare_view(view, NOW_NS)
    analysis = analyse_all(AnalysisSteps(prepared, view.state.generation))
    clusterview = ClusterView(view.state, view.statuses, view, evidence=view.evidence, analysis=analysis)
    return {finding.code: finding for finding in verdict_of_view(clusterview, NOW_NS)}


def test_a_missing_permission_is_reported_without_an_analysis() -> None:
    view = view_of(a_fleet())
    statuses = {**view.statuses, "NodePool": status(Kind.NODEPOOL, Phase.FORBIDDEN)}
    hidden = ClusterView(view.state, statuses, evidence=view.evidence)
    findings = RowServer(lambda: hidden, lists_of(DEFAULTS)).verdict(NOW_NS)
    told = next(finding for finding in findings if finding.code is FindingCode.NO_PERMISSION)
    assert told.names == ("NodePools",)


def test_the_finding_names_pods_if_pods_may_no_longer_be_listed() -> None:
    findings = verdict_of_view(view_of(a_fleet(), Pod=Phase.FORBIDDEN), NOW_NS)
    told = next(finding for finding in findings if finding.code is FindingCode.NO_PERMISSION)
    assert "pods" in told.names


def test_a_limit_on_cpu_nodes_or_devices_is_reached() -> None:
    nodes = [a_node(name=f"node-{number}", capacity={"cpu": "2", "nvidia.com/gpu": "1"}) for number in (1, 2)]

    def limit_finding(limits: dict[str, str], **spec: Any) -> str:
        pool = a_nodepool(budgets=(), limits=amounts(limits), **spec)
        finding = found_in(nodes=nodes, nodepools=(pool,)).get(FindingCode.POOL_AT_LIMIT)
        return f"{finding.names} {finding.detail}" if finding is not None else ""

    assert limit_finding({"cpu": "4"}) == "('general',) cpu 4 of 4"
    assert limit_finding({"nodes": "2"}) == "('general',) nodes 2 of 2"
    assert limit_finding({"nvidia.com/gpu": "2", "cpu": "100"}) == "('general',) nvidia.com/gpu 2 of 2"
    assert limit_finding({"nodes": "3", "nvidia.com/gpu": "3"}) == ""
    assert limit_finding({"nodes": "2"}, replicas=2) == ""


def test_a_limit_counts_nodes_and_claims_as_karpenter_does() -> None:
    """A node that is being deleted does not count; a NodeClaim without a node does once it has an instance."""
    pool = a_nodepool(budgets=(), limits=amounts({"cpu": "4"}))
    nodes = [a_node(name=f"node-{number}", capacity={"cpu": "2"}) for number in (1, 2)]
    leaves = a_claim("node-2", deletion_ns=NOW_NS)
    assert FindingCode.POOL_AT_LIMIT in found_in(nodes=nodes, nodepools=(pool,))
    assert FindingCode.POOL_AT_LIMIT not in found_in(nodes=nodes, nodeclaims=(leaves,), nodepools=(pool,))
    starts = a_nodeclaim(name="starts", node="", stage="Launched", capacity=amounts({"cpu": "2"}))
    told = found_in(nodes=nodes, nodeclaims=(leaves, starts), nodepools=(pool,))[FindingCode.POOL_AT_LIMIT]
    assert told.detail == "cpu 4 of 4"
    pool = a_nodepool(budgets=(), limits=amounts({"nodes": "2"}))
    asked = a_nodeclaim(name="asked", node="", stage="")
    assert FindingCode.POOL_AT_LIMIT not in found_in(nodes=nodes[:1], nodeclaims=(asked,), nodepools=(pool,))


LARGE: dict[str, Any] = {"instance_type": "m5.2xlarge", "cpu": "7900m", "memory": "30Gi"}
UNPRICED = {**LARGE, "instance_type": OTHER}
AGO_NS = NOW_NS - HOUR_NS
CORDONED = replace(a_node(name="node-1"), is_unschedulable=True)
TAINTED = replace(a_node(name="node-2"), taints=(replace(DISRUPTED_TAINT, value="any"),))
ON_BOTH = [a_pod(name=f"pod-{number}", node=f"node-{number % 2 + 1}") for number in range(3)]
DEVICES = a_node(name="node-1", capacity={"cpu": "2", "nvidia.com/gpu": "1", "hugepages-2Mi": "10Gi"})
WEB = a_pod(name="db", node="node-1", labels={"app": "web"})
ENDING = a_pod(name="ending", node="node-1", deletion_ns=NOW_NS)


def limited(**limits: str) -> dict[str, Any]:
    """Return one NodePool with limits."""
    return {"nodepools": (a_nodepool(budgets=(), limits=amounts(limits)),)}


def deleted(*types: str, drained: str = "") -> dict[str, Any]:
    """Return nodes of these types whose NodeClaims have been deleting for an hour."""
    conditions = (a_condition("Drained", status=drained),) if drained else (consolidatable(),)
    named = [(f"node-{number}", kind) for number, kind in enumerate(types, 1)]
    return {
        "nodes": [a_node(name=name, **{**LARGE, "instance_type": kind}) for name, kind in named],
        "nodeclaims": [
            a_claim(name, instance_type=kind, deletion_ns=AGO_NS, conditions=conditions) for name, kind in named
        ],
    }


FOUND: dict[str, tuple[dict[str, Any], FindingCode, dict[str, Any] | None]] = {
    "a limit is used up since the node came that did it": (
        {**limited(cpu="4"),
         "nodes": [a_node(name=f"n{hours}", capacity={"cpu": "2"}, created_ns=NOW_NS - hours * HOUR_NS)
                   for hours in (1, 3, 2)]},
        FindingCode.POOL_AT_LIMIT, {"detail": "cpu 6 of 4", "since_ns": NOW_NS - 2 * HOUR_NS}),
    "a limit of devices spares other types": (
        {**limited(**{"nvidia.com/gpu": "1"}), "nodes": [DEVICES]},
        FindingCode.POOL_AT_LIMIT, {"severity": FindingSeverity.INFO, "manner": Manner.SPARES_TYPES}),
    "a limit of large pages spares other types": (
        {**limited(**{"hugepages-2Mi": "10Gi"}), "nodes": [DEVICES]},
        FindingCode.POOL_AT_LIMIT, {"detail": "hugepages-2Mi 10Gi of 10Gi", "manner": Manner.SPARES_TYPES}),
    "a limit of cores spares no type": ({**limited(cpu="2"), "nodes": [DEVICES]}, FindingCode.POOL_AT_LIMIT,
                                        {"severity": FindingSeverity.INFO, "manner": Manner.PLAIN}),
    "an instance that does not join costs what it costs": (
        {"nodes": (),
         "nodeclaims": (a_nodeclaim(name="lost", node="gone", instance_type="m5.2xlarge", stage="Launched"),)},
        FindingCode.CLAIM_STUCK, {"names": ("lost",), "price_per_hour": pytest.approx(0.4)}),
    "a node without a price": (
        {"nodes": (a_node(name="node-1", instance_type=OTHER),), "nodeclaims": (a_claim(instance_type=OTHER),)},
        FindingCode.NO_PRICES, {"objects": ("Node/node-1",)}),
    "a node with a price": ({}, FindingCode.NO_PRICES, None),
    "a cordoned node and one that Karpenter is about to disrupt take no pods": (
        {"nodes": (CORDONED, TAINTED), "nodeclaims": (), "pods": ON_BOTH},
        FindingCode.ALL_LEAVING, {"nodes": 2, "pods": 1, "manner": Manner.SOME_CORDONED}),
    "a cordoned node takes no pods": ({"nodes": (CORDONED,), "nodeclaims": (), "pods": ON_BOTH},
                                      FindingCode.ALL_LEAVING, {"nodes": 1, "pods": 0, "manner": Manner.ALL_CORDONED}),
    **{
        f"a node of {pool or 'no NodePool'} without a NodeClaim that a finalizer keeps": (
            {"nodes": (a_node(name="node-1", pool=pool, deletion_ns=AGO_NS),), "nodeclaims": ()},
            FindingCode.LEAVING, {"names": ("node-1",), "detail": Leaving.NODE_ALONE, "screen": "nodes"})
        for pool in ("general", "")
    },
    "volumes keep a node that was deleted long ago and has drained": (
        deleted("m5.2xlarge", drained="True"),
        FindingCode.LEAVING, {"names": ("node-1",), "since_ns": AGO_NS, "detail": Leaving.VOLUMES, "pods": 0}),
    "pods that take long to end keep a node that was deleted long ago": (
        {**deleted("m5.2xlarge", drained="Unknown"),
         "pods": [*(a_pod(name=name, node="node-1") for name in "ab"), ENDING]},
        FindingCode.LEAVING,
        {"names": ("node-1", "default/ending"), "since_ns": AGO_NS, "detail": Leaving.ENDING, "pods": 1}),
    "dollars of two nodes, one of them without a price": (
        deleted("m5.2xlarge", OTHER),
        FindingCode.LEAVING, {"nodes": 2, "price_per_hour": pytest.approx(0.4), "is_partial": True}),
    "dollars of a node": (deleted("m5.2xlarge"), FindingCode.LEAVING, {"nodes": 1, "is_partial": False}),
    **{
        f"a budget of pods that allows {allowed}": (
            {"pods": (WEB,), "pdbs": (a_pdb(max_unavailable=allowed),)},
            FindingCode.PDB, {"names": ("default/web",), "manner": manner, "price_per_hour": pytest.approx(0.3)})
        for allowed, manner in ((0, Manner.NEVER), (1, Manner.PLAIN))
    },
    "a node that would stay anyway is held by nothing": (
        {"pods": (a_pod(name="db", node="node-1", cpu="6", labels={"app": "web"}),),
         "pdbs": (a_pdb(max_unavailable=0),)},
        FindingCode.PDB, None),
}  # fmt: skip
"""Objects of a cluster, a code, and the fields of its finding; None for no finding."""


@pytest.mark.parametrize("name", FOUND)
def test_findings_of_each_cause(name: str) -> None:
    objects, code, fields = FOUND[name]
    told = found_in(**objects).get(code)
    assert (told is None) == (fields is None)
    if told is not None and fields is not None:
        assert {field: getattr(told, field) for field in fields} == fields


def _pending_in(
    *pods: Pod, has_node: bool = True, claims: Sequence[NodeClaim] = ()
) -> tuple[tuple[ClusterFinding, ...], ClusterView]:
    """Return the findings of a cluster with pending pods, with or without a node that has room."""
    node = a_node(name="node-1", instance_type="m5.2xlarge", cpu="7900m", memory="30Gi")
    state = state_of(
        Inventory(
            nodes=(node,) if has_node else (),
            nodeclaims=(a_claim(instance_type="m5.2xlarge"),) if has_node else tuple(claims),
            nodepools=(a_nodepool(budgets=()),),
            pods=pods,
        )
    )
    view = ClusterView(state, {}, evidence=Evidence(instance_types=TYPES))
    prepared, _ = prepare_view(view, NOW_NS)
    report = report_of_pending(prepared, state)
    clusterview = ClusterView(state, {}, view, evidence=view.evidence, pending=answer_of(report))
    return verdict_of_view(clusterview, NOW_NS), clusterview


def test_the_finding_of_a_pending_pod_with_room_shows_both_schedulers_answers() -> None:
    late, fresh = (
        a_pod(name="web", created_ns=NOW_NS - age_ns, scheduled_reason="Unschedulable")
        for age_ns in (6 * HOUR_NS, 4 * MINUTE_NS)
    )
    findings, view = _pending_in(late)
    assert [sentence(finding, NOW_NS, pending_reasons(view)) for finding in findings] == [
        (
            "default/web pending 6h: kube-scheduler refuses it, but by Karpenter's rules it fits on node-1,"
            " so Karpenter launches no node for it"
        )
    ]
    findings, _ = _pending_in(fresh)
    assert [finding.code for finding in findings] == [FindingCode.FINE]


@pytest.mark.parametrize(("stages", "outcome"), [
    ((), "none was launched"),
    (("Launched", "Registered"), "2 launched since then are not initialized"),
    (("Launched", "Initialized"), "1 launched since then did not help"),
])  # fmt: skip
def test_pods_pending_although_a_node_would_be_launched_are_one_finding(stages: Sequence[str], outcome: str) -> None:
    """Only an initialized node could have run the pods."""
    since_ns = NOW_NS - HOUR_NS
    claims = [a_claim(name=f"general-{stage}", stage=stage, created_ns=since_ns) for stage in stages]
    pod = a_pod(name="web", created_ns=NOW_NS - 6 * HOUR_NS, cpu="1")
    findings, view = _pending_in(pod, has_node=False, claims=claims)
    reasons = pending_reasons(view)
    [text] = [sentence(finding, NOW_NS, reasons) for finding in findings if finding.code is FindingCode.PENDING]
    assert text == f"default/web pending 6h: a new node of general (m5.large) fits, but {outcome}"


def line_of(pod: Pod, *pools: NodePool) -> PendingLine:
    state = state_of(Inventory(nodepools=pools, pods=(pod,)))
    view = ClusterView(state, {}, evidence=Evidence(instance_types=TYPES))
    report = report_of_pending(prepare_view(view, NOW_NS)[0], state)
    [line] = pending_lines(ClusterView(state, {}, view, evidence=view.evidence, pending=answer_of(report)), NOW_NS)
    return line


def test_pods_wait_only_for_nodepools_compatible_with_their_rules() -> None:
    assert line_of(a_pod(cpu="640"), a_nodepool()).pools == ("general",)
    assert line_of(a_pod(node_selector={"disk": "fast"}), a_nodepool()).pools == ()


@pytest.mark.parametrize(("others", "is_folded"), [
    ({}, True),
    ({"node_selector": {"disk": "slow"}}, False),
    ({"node_selector": {NODEPOOL: "gpu"}}, False),
    ({"cpu": "640", "node_selector": {}}, False),
])  # fmt: skip
def test_pods_of_several_workloads_that_require_the_same_missing_label_are_one_finding(
    others: dict[str, Any], *, is_folded: bool
) -> None:
    owners = [an_owner(name=name, uid=name) for name in ("web", "api", "job")]
    common: dict[str, Any] = {
        "created_ns": NOW_NS - HOUR_NS,
        "scheduled_reason": "Unschedulable",
        "node_selector": {"disk": "fast"},
    }
    pods = [a_pod(name=f"{owner.name}-{n}", owner=owner, **common) for owner in owners[:2] for n in range(2)]
    pods.append(a_pod(name="job-0", owner=owners[2], **{**common, **others}))
    findings, view = _pending_in(*pods, has_node=False)
    texts = [sentence(f, NOW_NS, pending_reasons(view)) for f in findings if f.code is FindingCode.PENDING]
    assert len(texts) == 1 + (not is_folded)
    names = f"default/api-{{0,1}}, default/web-{{0,1}}{' and 1 more' * is_folded}"
    reason = "pending for up to 60m: general: its nodes have no label disk=fast"
    assert texts[0] == f"{4 + is_folded} pods {names} {reason}"


def test_pods_wait_for_a_deleting_nodepool_if_no_other_is_compatible() -> None:
    old = replace(a_nodepool(name="old"), deletion_ns=NOW_NS, template_labels={"team": "a"})
    pod = a_pod(node_selector={"team": "a"})
    assert line_of(pod, old).suited_pools == ("old",)
    assert line_of(pod, old, a_nodepool()).suited_pools == ("old",)
    assert line_of(
        pod, replace(a_nodepool(name="old", is_ready=False), template_labels={"team": "a"})
    ).suited_pools == ("old",)
    assert line_of(a_pod(node_selector={"team": "b"}), old).suited_pools == ()
    assert line_of(a_pod(cpu="640"), old, a_nodepool()).suited_pools == ()


def a_view(inventory: Inventory, *hidden: Kind) -> ClusterView:
    statuses = {str(kind): status(kind, Phase.FORBIDDEN) for kind in hidden}
    return ClusterView(state_of(inventory), statuses, evidence=Evidence())


def pod_findings(*pods: Pod) -> list[tuple[str, FindingSeverity]]:
    found = verdict_of_view(a_view(Inventory(nodes=(a_node(name="node-1"),), pods=pods)), NOW_NS)
    of_pods = (finding for finding in found if finding.code is FindingCode.PODS_NOT_STARTING)
    return [(sentence(finding, NOW_NS, {}).rpartition(" on ")[2], finding.severity) for finding in of_pods]


def a_revision(revision: str, count: int, *, deletion_ns: int = 0, **status: Any) -> list[Pod]:
    """Return pods of a ReplicaSet of Deployment ``web``, an hour old."""
    owner = an_owner(name=f"web-{revision}", uid=revision)
    labels = {"pod-template-hash": revision}
    names = [f"web-{revision}-{number}" for number in range(count)]
    pods = (a_pod(name=name, node="node-1", owner=owner, labels=labels, deletion_ns=deletion_ns) for name in names)
    return [replace(pod, **{"start_ns": NOW_NS - HOUR_NS, **status}) for pod in pods]


CRASHES = {"waiting_reason": "CrashLoopBackOff", "ready": False}
UNREADY = {"ready": False, "unready_ns": NOW_NS - 20 * MINUTE_NS}


@pytest.mark.parametrize(("status", "count", "text", "severity"), [
    (CRASHES, 2, "1 node crash again and again; 2 pods of another revision run", "warning"),
    (CRASHES, 1, "1 node crash again and again; 1 pod of another revision runs", "error"),
    (UNREADY, 2, "node node-1 have not been ready for 20m, though 2 pods of another revision are", "warning"),
    (UNREADY, 1, "node node-1 have not been ready for 20m, though 1 pod of another revision is", "error"),
])  # fmt: skip
def test_pods_of_another_revision_count_until_they_are_deleting(
    status: dict[str, Any], count: int, text: str, severity: FindingSeverity
) -> None:
    new, old = a_revision("new", 2, **status), a_revision("old", count)
    assert pod_findings(*new, *old) == [(text, severity)]
    deleted = a_revision("old", count, deletion_ns=NOW_NS - MINUTE_NS)
    assert pod_findings(*new, *deleted) == pod_findings(*new)


@pytest.mark.parametrize(("running", "waiting", "host_network", "is_told"), [
    (27, 2, False, True),
    (25, 4, False, True),
    (27, 2, True, False),
    (10, 40, False, False),
    (40, 2, False, False),
])  # fmt: skip
def test_nodes_with_max_pods_above_their_addresses_are_named(
    running: int, waiting: int, *, host_network: bool, is_told: bool
) -> None:
    """An m5.large has 27 addresses for pods; with prefix delegation more pods run there."""
    node = a_node(name="node-1", pods="110")
    pods = [
        a_pod(name=f"web-{n}", node="node-1", phase="Running", is_host_network=host_network) for n in range(running)
    ]
    late = {"start_ns": NOW_NS - HOUR_NS, "phase": "Pending", "waiting_reason": "ContainerCreating"}
    pods += [replace(a_pod(name=f"late-{n}", node="node-1"), **late) for n in range(waiting)]
    message = 'plugin type="aws-cni" failed (add): add cmd: failed to assign an IP address to container'
    event = an_event(about="Pod/default/late-0", reason="FailedCreatePodSandBox", message=message)
    found = verdict_of_view(a_view(Inventory(nodes=(node,), pods=tuple(pods), events=(event,))), NOW_NS)
    texts = [sentence(finding, NOW_NS, {}) for finding in found]
    told = "the node accepts more pods (maxPods) than it has addresses (27 without prefix delegation)"
    assert any(text.endswith(told) for text in texts) is is_told


@pytest.mark.parametrize(("created_ago", "is_told"), [(MINUTE_NS, False), (9 * MINUTE_NS, True)])
def test_pods_are_no_longer_refused_if_one_was_created_since(created_ago: int, *, is_told: bool) -> None:
    """A live cluster's ReplicaSets are read without their replicas."""
    owner = an_owner(kind="ReplicaSet", name="web-1", api_version="apps/v1")
    pod = a_pod(name="web-1-a", node="node-1", owner=owner, created_ns=NOW_NS - created_ago)
    event = an_event(
        about="ReplicaSet/default/web-1", reason="FailedCreate", message="no", last_ns=NOW_NS - 5 * MINUTE_NS
    )
    found = verdict_of_view(a_view(Inventory(nodes=(a_node(name="node-1"),), pods=(pod,), events=(event,))), NOW_NS)
    assert any(finding.code is FindingCode.PODS_NOT_CREATED for finding in found) is is_told


@pytest.mark.parametrize(("revisions", "is_told"), [
    (("pg-1", "pg-1"), True),
    (("pg-1", "pg-3"), True),
    (("pg-1", "pg-2"), False),
    (("pg-2", "pg-3"), False),
    ((), False),
])  # fmt: skip
def test_a_pod_whose_revision_its_stateful_set_no_longer_has_must_be_deleted(
    revisions: tuple[str, ...], *, is_told: bool
) -> None:
    owner = an_owner(kind="StatefulSet", name="pg", api_version="apps/v1")
    pod = a_pod(name="pg-0", node="node-1", owner=owner, labels={"controller-revision-hash": "pg-2"})
    pod = replace(pod, phase="Pending", waiting_reason="ImagePullBackOff", start_ns=NOW_NS - HOUR_NS)
    pg = Workload(name="pg", namespace="default", api_version="apps/v1", kind="StatefulSet", revisions=revisions)
    inventory = Inventory(nodes=(a_node(name="node-1"),), pods=(pod,), workloads=(pg,))
    texts = [sentence(finding, NOW_NS, {}) for finding in verdict_of_view(a_view(inventory), NOW_NS)]
    told = "; its StatefulSet has another revision now: delete the pod to get it"
    assert any(text.endswith(told) for text in texts) is is_told


INITIALIZES = {"phase": "Pending", "waiting_reason": "PodInitializing"}


@pytest.mark.parametrize(("more", "text"), [
    ({"restarts": 12}, "crash again and again (exit code 1), not ready for 20m, no other runs"),
    ({"restarts": 3, "start_ns": NOW_NS - 90 * 24 * HOUR_NS}, "has been ready for 20m"),
    ({"restarts": 12, "exit_reason": "Completed"}, "has been ready for 20m"),
    ({"restarts": 12, "exited_ns": NOW_NS - 16 * MINUTE_NS}, "has been ready for 20m"),
    ({"restarts": 12, "trouble": PodTrouble(outliving=("dind",))}, "has been ready for 20m"),
    ({"restarts": 12, "trouble": PodTrouble(unready_container="app")}, "has been ready for 20m: container app is not"),
    ({"restarts": 12, **INITIALIZES}, "init container migrate crashes (exit code 1)"),
    ({"restarts": 2, **INITIALIZES}, "wait for the init container migrate"),
])  # fmt: skip
def test_unready_pods_count_as_crashing_only_if_they_fail_often_and_recently(more: dict[str, Any], text: str) -> None:
    trouble = PodTrouble(exit_code=1, init_container="migrate" if "waiting_reason" in more else "")
    failed = {"exit_reason": "Error", "exited_ns": NOW_NS - MINUTE_NS, "trouble": trouble}
    pods = [replace(pod, **{**UNREADY, **failed, **more}) for pod in a_revision("new", 2)]
    assert [told.endswith(text) for told, _ in pod_findings(*pods)] == [True]


LIMITED = (ContainerRequests("proxy"), ContainerRequests("app", limits=amounts({"memory": "512Mi"})))
LEAKS: dict[str, Any] = {
    "restarts": 30,
    "start_ns": NOW_NS - 10 * HOUR_NS,
    "exit_reason": "OOMKilled",
    "exited_ns": NOW_NS - 5 * MINUTE_NS,
    "trouble": PodTrouble(oom_container="app"),
}


@pytest.mark.parametrize(("count", "severity", "total"), [(2, "warning", 60), (1, "info", 30)])
def test_ready_pods_that_run_out_of_memory_hourly_are_reported_with_their_limit(
    count: int, severity: FindingSeverity, total: int
) -> None:
    pods = [
        replace(pod, template=replace(pod.template, containers=LIMITED)) for pod in a_revision("new", count, **LEAKS)
    ]
    have = "have" if count > 1 else "has"
    killed = "OOMKilled: container app has a memory limit of 512Mi"
    text = f"node node-1 {have} run out of memory again and again ({killed}): {total} restarts in 10h, last 5m ago"
    assert pod_findings(*pods) == [(text, severity)]
    assert killed not in pod_findings(*pods[1:], replace(pods[0], template=a_pod().template))[0][0]


@pytest.mark.parametrize("more", [
    {"exit_reason": "Error"},
    {"restarts": 2},
    {"start_ns": NOW_NS - 31 * HOUR_NS},
    {"exited_ns": NOW_NS - 41 * MINUTE_NS},
    {"deletion_ns": NOW_NS - MINUTE_NS},
])  # fmt: skip
def test_ready_pods_that_ran_out_of_memory_rarely_or_earlier_are_not_reported(more: dict[str, Any]) -> None:
    assert pod_findings(*(replace(pod, **{**LEAKS, **more}) for pod in a_revision("new", 2))) == []


def nodeclass_findings(view: ClusterView) -> list[str]:
    codes = {FindingCode.ASSUMED_CLASS, FindingCode.NO_PERMISSION}
    return [sentence(finding, NOW_NS, {}) for finding in verdict_of_view(view, NOW_NS) if finding.code in codes]


ASSUMED = "EC2NodeClass default was not read: karptui assumes al2023@latest in the zones of the nodes"


def test_an_unread_nodeclass_is_reported_as_assumed_with_its_image() -> None:
    inventory = Inventory(nodes=(a_node(),), nodeclaims=(a_claim(),), nodepools=(a_nodepool(),))
    assert nodeclass_findings(a_view(inventory)) == [ASSUMED]
    windows = a_nodepool(
        name="win", requirements=(a_requirement(OS, "In", "windows"),), node_class_ref=NodeClassRef("", EC2_KIND, "win")
    )
    two = replace(inventory, nodepools=(*inventory.nodepools, windows))
    named = "karptui assumes al2023@latest, windows2022@latest in the zones of the nodes"
    assert nodeclass_findings(a_view(two)) == [f"EC2NodeClasses default, win were not read: {named}"]


@pytest.mark.parametrize(
    ("phase", "told"), [(Phase.CONNECTING, []), (Phase.SYNCING, []), (Phase.LIVE, []), (Phase.OFFLINE, [ASSUMED])]
)
def test_a_loading_or_missing_nodeclass_is_not_reported_as_assumed(phase: Phase, told: list[str]) -> None:
    state = state_of(Inventory(nodes=(a_node(),), nodepools=(a_nodepool(),), pods=(a_pod(),)))
    view = ClusterView(state, {str(Kind.NODECLASS): status(Kind.NODECLASS, phase)}, evidence=Evidence())
    assert nodeclass_findings(view) == told


def test_no_nodeclass_is_assumed_if_no_node_has_a_zone() -> None:
    node = replace(a_node(), labels={})
    for nodes in ((), (node,)):
        assert nodeclass_findings(a_view(Inventory(nodes=nodes, nodepools=(a_nodepool(),)))) == []


def test_forbidden_nodeclasses_count_as_none_only_if_they_are_not_assumed() -> None:
    inventory = Inventory(nodes=(a_node(),), nodepools=(a_nodepool(),))
    view = a_view(inventory, Kind.NODECLASS)
    assert (nodeclass_findings(view), left_out(view)) == ([ASSUMED], ())
    more = replace(inventory, nodepools=(a_nodepool(), a_nodepool(name="other", node_class_ref=KWOK)))
    view = a_view(more, Kind.NODECLASS)
    missing = (
        "no permission to list NodeClasses: they count as none, so findings that depend on them are missing or wrong"
    )
    assert nodeclass_findings(view) == [missing, ASSUMED]
    assert left_out(view) == ("NodeClasses may not be listed and count as none",)


LEAVES = "the only node has been terminating, and no node is launching"


@pytest.mark.parametrize(("hidden", "severity", "text"), [
    ((), FindingSeverity.ERROR, f"{LEAVES}: no NodePool launches nodes for the pod there"),
    ((Kind.NODEPOOL,), FindingSeverity.WARNING, f"{LEAVES}: the pod there needs nodes"),
    ((Kind.POD,), FindingSeverity.WARNING, LEAVES),
    ((Kind.NODECLAIM,), None, ""),
])  # fmt: skip
def test_forbidden_kinds_do_not_count_as_missing_if_all_nodes_are_leaving(
    hidden: tuple[Kind, ...], severity: FindingSeverity | None, text: str
) -> None:
    node = replace(a_node(name="node-1"), taints=(DISRUPTED_TAINT,))
    pods = () if Kind.POD in hidden else (a_pod(node="node-1"),)
    view = a_view(Inventory(nodes=(node,), pods=pods), *hidden)
    findings = [finding for finding in verdict_of_view(view, NOW_NS) if finding.code is FindingCode.ALL_LEAVING]
    assert [(finding.severity, sentence(finding, NOW_NS, {})) for finding in findings] == (
        [(severity, text)] if severity else []
    )


CLOSED = a_pdb(allowed=0)
DELETED = {"deletion_ns": NOW_NS - HOUR_NS, "finalizers": (TERMINATION_FINALIZER,)}


@pytest.mark.parametrize(("node", "pod", "pdb", "text"), [
    ({}, {}, {}, "PodDisruptionBudget default/web allows no eviction of its pods"),
    ({"finalizers": ("example.com/backup",)}, {}, {}, "its progress is not known"),
    ({}, {}, {"disruptions_allowed": 1}, "its progress is not known"),
    ({}, {"tolerations": (Toleration("", "Exists"),)}, {}, "its progress is not known"),
    ({}, {"labels": {"app": "api"}}, {}, "its progress is not known"),
])  # fmt: skip
def test_a_pdb_that_blocks_a_drain_is_named_although_nodeclaims_may_not_be_listed(
    node: dict[str, Any], pod: dict[str, Any], pdb: dict[str, Any], text: str
) -> None:
    nodes = (replace(a_node(name="node-1"), **{**DELETED, **node}), a_node(name="node-2"))
    template = {"labels": {"app": "web"}, **pod}
    view = a_view(
        Inventory(nodes=nodes, pods=(a_pod(node="node-1", **template),), pdbs=(replace(CLOSED, **pdb),)), Kind.NODECLAIM
    )
    leaving = (finding for finding in verdict_of_view(view, NOW_NS) if finding.code is FindingCode.LEAVING)
    assert [sentence(finding, NOW_NS, {}) for finding in leaving] == [f"node-1 has been terminating for 60m: {text}"]


def test_unread_volumes_are_reported_and_restrict_no_pod() -> None:
    pods = (a_pod(name="db", node="", volumes=[PodVolume(name="data", claim_name="data")]),)
    unread = frozenset({"PersistentVolumeClaim"})
    told = found_in(pods=pods, unread=unread)[FindingCode.ASSUMED_VOLUMES]
    text = "PersistentVolumeClaims were not read: volumes do not restrict where pods run"
    assert sentence(told, NOW_NS, {}) == text
    view = ClusterView(state_of(Inventory(pods=pods, unread=unread)), {}, evidence=Evidence(instance_types=TYPES))
    prepared, notes = prepare_view(view, NOW_NS)
    assert text in notes
    assert (len(prepared.pending), prepared.ignored) == (1, [])
    assert FindingCode.ASSUMED_VOLUMES not in found_in(pods=pods)


def test_unread_kinds_count_as_none_and_are_named() -> None:
    state = state_of(Inventory(nodes=(a_node(),), nodepools=(a_nodepool(),), unread=frozenset({Kind.PDB})))
    statuses = {str(Kind.PDB): status(Kind.PDB, Phase.DISCONNECTED)}
    view = ClusterView(state, statuses, evidence=Evidence(instance_types=TYPES))
    assert left_out(view) == ("PodDisruptionBudgets were not read and count as none",)


def test_kinds_that_a_recording_lacks_are_missing_as_in_a_cluster() -> None:
    inventory = Inventory(nodes=(a_node(),), nodepools=(a_nodepool(),), unread=frozenset({"PodDisruptionBudget"}))
    mailbox = Mailbox()
    put_all(mailbox, inventory, NOW_NS)
    statuses = {str(kind): result for kind, result in mailbox.drain().statuses.items()}
    view = ClusterView(state_of(inventory), statuses, evidence=Evidence(instance_types=TYPES))
    assert FindingCode.NO_PERMISSION in {finding.code for finding in verdict_of_view(view, NOW_NS)}
    assert left_out(view) == ("PodDisruptionBudgets may not be listed and count as none",)
    rows = {row.kind: row for row in source_rows(view, NOW_NS)}
    assert "counts as not read" in rows["PodDisruptionBudget"].last_error
    assert not rows["Pod"].last_error


@pytest.mark.parametrize(("resource", "used", "is_near", "is_told"), [
    *((name, 949, False, False) for name in ("cpu", "pods", "hugepages-2Mi")),
    *((name, 950, True, False) for name in ("cpu", "pods")),
    *((name, 1000, True, True) for name in ("cpu", "pods", "nvidia.com/gpu")),
    ("hugepages-2Mi", 950, True, True),
    ("nvidia.com/gpu", 999, False, False),
])  # fmt: skip
def test_the_verdict_and_pools_agree_about_a_limit_under_which_no_type_fits(
    resource: str, used: int, *, is_near: bool, is_told: bool
) -> None:
    use = PoolLimit(resource=resource, used=used * NANO, limit=1000 * NANO, left=(1000 - used) * NANO)
    node = a_node(name="node-1", capacity={resource: str(used)})
    pool = a_nodepool(budgets=(), limits=amounts({resource: "1000"}))
    assert use.is_nearly_used is is_near
    assert (FindingCode.POOL_AT_LIMIT in found_in(nodes=(node,), nodepools=(pool,))) is is_told


@pytest.mark.parametrize(
    ("kind", "detail"), [(Kind.POD, Leaving.DRAINING), (Kind.NODE, Leaving.DRAINING), (Kind.NODECLAIM, Leaving.UNKNOWN)]
)
def test_the_stage_of_a_deletion_is_named_only_if_nodeclaims_were_read(kind: Kind, detail: Leaving) -> None:
    ago_ns = NOW_NS - HOUR_NS
    claim = a_claim(deletion_ns=ago_ns, conditions=(a_condition("Drained", status="Unknown"),))
    inventory = Inventory(
        nodes=() if kind is Kind.NODE else (a_node(name="node-1", deletion_ns=ago_ns),),
        nodeclaims=() if kind is Kind.NODECLAIM else (claim,),
        nodepools=(a_nodepool(budgets=()),),
    )
    view = ClusterView(state_of(inventory), {str(kind): status(kind, Phase.FORBIDDEN)}, evidence=Evidence())
    finding = next(finding for finding in verdict_of_view(view, NOW_NS) if finding.code is FindingCode.LEAVING)
    assert (finding.names, finding.detail) == (("claim-node-1" if kind is Kind.NODE else "node-1",), detail)


def test_a_finding_about_several_nodes_has_their_joint_savings() -> None:
    names = ("node-1", "node-2", "node-3", "node-4")
    size: dict[str, Any] = {"instance_type": "m5.2xlarge", "cpu": "7900m", "memory": "30Gi"}
    protected = [a_pod(name=f"pod-{name}", node=name, cpu="4", annotations=PROTECTED) for name in names[:3]]
    findings = found_in(
        nodes=tuple(a_node(name=name, **size) for name in names),
        nodeclaims=tuple(a_claim(name, instance_type="m5.2xlarge", conditions=(consolidatable(),)) for name in names),
        pods=(*protected, a_pod(name="last", node=names[3], cpu="100m")),
    )
    held = findings[FindingCode.POD_DND]
    # Each node alone saves $0.40/h; together their pods need one new node.
    assert (held.nodes, held.price_per_hour, held.is_upper_bound) == (3, pytest.approx(0.8), True)


def test_a_large_cluster_shows_the_key_that_computes_the_next_command(monkeypatch: pytest.MonkeyPatch) -> None:
    assert FindingCode.NEXT not in found_in()  # soon to be computed
    monkeypatch.setattr(upcoming, "MOST_NODES_FOR_NEXT", 0)
    asked = found_in()[FindingCode.NEXT]
    assert (asked.manner, asked.objects, asked.key) == (Manner.ON_REQUEST, (), "6 n")
    assert sentence(asked, NOW_NS, {}).startswith("next command: press 6 n")


@pytest.mark.parametrize(
    ("minutes", "is_initialized", "is_told"), [(1, False, False), (1, True, True), (20, False, True)]
)
def test_a_young_node_with_unread_nodeclaim_may_still_start(minutes: int, is_initialized: bool, is_told: bool) -> None:
    created_ns = NOW_NS - minutes * MINUTE_NS
    node = a_node(name="node-1", is_ready=False, is_initialized=is_initialized, created_ns=created_ns)
    view = a_view(Inventory(nodes=(node,), nodepools=(a_nodepool(),)), Kind.NODECLAIM)
    assert (FindingCode.UNHEALTHY in {finding.code for finding in verdict_of_view(view, NOW_NS)}) is is_told
