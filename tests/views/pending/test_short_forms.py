"""Pending pods in tables: short verdicts, zones, nodes and values."""

from __future__ import annotations

from typing import Any

import pytest

from karptui.aws.evidence import Evidence
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import ZONE
from karptui.karpenter.nodeclass import NodeClassRef
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.settings import Settings
from karptui.kube.pod import Pod, PodVolume
from karptui.kube.quantity import parse_quantity
from karptui.kube.resources import Shortage
from karptui.kube.selectors import NodeSelectorTerm
from karptui.kube.taints import Taint
from karptui.kube.volumes import PersistentVolume, PersistentVolumeClaim
from karptui.pending.causes import zones_of_volumes
from karptui.pending.messages import PodMessage
from karptui.pending.report_steps import report_of_pending
from karptui.provisioning.node_refusal import NodeRefusal
from karptui.provisioning.prepared import prepare
from karptui.provisioning.rejection import PlacementGate
from karptui.provisioning.waiting_pods import problem_in_short
from karptui.session.cluster_view import ClusterView
from karptui.session.pending import PendingQuestions
from karptui.session.pending_report import PendingAnswer, PendingEntry
from karptui.session.pool_types import offered_types
from karptui.session.prepare import prepare_view
from karptui.state.cluster import ClusterState
from karptui.views.pending.explained import explained_values
from karptui.views.pending.rejections import NODES_TABLE
from karptui.views.pending.sentences import now_text, short_verdict, zone_lines
from karptui.views.table import build_rows
from tests.builders import (
    MINUTE_NS,
    NOW_NS,
    SECOND_NS,
    a_node,
    a_nodepool,
    a_pod,
    a_requirement,
    amounts,
    an_event,
    an_instance_type,
)
from tests.builders.clusters import state_of
from tests.stories import plain_text
from tests.views.pending.asking import answer_all

_CLAIM = "PersistentVolumeClaim"
_NO_CLASS = 'storageclasses.storage.k8s.io "none" not found'
NEVER = " · no zone is in all of them: the pod fits no node"
LABEL = "example.com/rack"
REFUSALS = (
    NodeRefusal("ip-10-0-1-2.ec2.internal", PlacementGate.ROOM,
                shortages=(Shortage("memory", parse_quantity("32Gi"), parse_quantity("7374324Ki")),
                           Shortage("cpu", parse_quantity("5"), parse_quantity("2")))),
    NodeRefusal("n2", PlacementGate.TAINTS, "does not tolerate [team=x]"),
)  # fmt: skip
TYPES = (an_instance_type(name="m5.large"), an_instance_type(name="m5.xlarge", cpu="4", memory="16Gi"))


@pytest.mark.parametrize(("problem", "short"), [
    (f'getting persistent volume claim, persistentvolumeclaims "data-db-2" not found ({_CLAIM}=data-db-2)',
     'persistentvolumeclaims "data-db-2" not found'),
    (f"failed to validate pvc, failed to get storage class, {_NO_CLASS} ({_CLAIM}=db/data-db-3, StorageClass=a)",
     f"data-db-3: {_NO_CLASS}"),
    ("failed to do, as it (perhaps) is", "failed to do, as it (perhaps) is"),
])  # fmt: skip
def test_a_fault_is_shortened_to_its_innermost_error(problem: str, short: str) -> None:
    assert problem_in_short(problem) == short


@pytest.mark.parametrize(("reason", "text"), [
    ("FailedScheduling", "failed 4m"),
    ("Unschedulable", "refused 4m"),
    ("Nominated", "nominated"),
    ("InsufficientCapacityError", "sold out"),
])  # fmt: skip
def test_a_verdict_as_short_text(reason: str, text: str) -> None:
    podmessage = PodMessage(reason=reason, message="", at_ns=NOW_NS - 4 * MINUTE_NS - 43 * SECOND_NS)
    assert short_verdict(podmessage, NOW_NS) == text


def test_the_taints_of_several_nodepools_are_named_if_each_has_one() -> None:
    pools = tuple(a_nodepool(name=name, taints=(Taint(name, "NoSchedule"),)) for name in ("a", "b"))
    types = (an_instance_type(),)

    def text(*others: NodePool, is_short: bool = False) -> str:
        inventory = Inventory(pods=(a_pod(cpu="64"),), nodepools=(*pools, *others))
        (group,) = report_of_pending(prepare(inventory, types, Settings(), NOW_NS), state_of(inventory)).groups
        return now_text(group, is_short=is_short)

    assert text() == "✘ every NodePool has a taint that is not tolerated: b:NoSchedule, a:NoSchedule"
    unready = a_nodepool(name="c", taints=(Taint("c", "NoSchedule"),), is_ready=False)
    assert text(unready) == "✘ every ready NodePool has a taint that is not tolerated: b:NoSchedule, a:NoSchedule"
    assert text(is_short=True) == "✘ every NodePool: taint b +1"
    assert text(unready, is_short=True) == "✘ every ready NodePool: taint b +1"
    assert text(a_nodepool(name="c", is_ready=False)).startswith("✘ c: it is not ready")
    assert text(a_nodepool(name="c")).startswith("✘ c: cpu short")
    assert "every" not in text(a_nodepool(name="c", limits=amounts({"cpu": "0"})))


@pytest.mark.parametrize(
    ("pools", "text"),
    [
        ({"a": {}}, "a: "),
        ({"a": {}, "b": {}}, "every NodePool: "),
        ({"a": {}, "b": {"is_ready": False}}, "a: "),
        ({"a": {}, "b": {}, "c": {"is_ready": False}}, "every ready NodePool: "),
        ({"a": {}, "b": {"taints": (Taint("b", "NoSchedule"),)}}, "a: "),
    ],
)
def test_a_reason_is_about_every_nodepool_only_if_all_share_it(pools: dict[str, Any], text: str) -> None:
    nodepools = tuple(a_nodepool(name=name, **given) for name, given in pools.items())
    inventory = Inventory(pods=(a_pod(node_selector={"disk": "fast"}),), nodepools=nodepools)
    (group,) = report_of_pending(
        prepare(inventory, (an_instance_type(),), Settings(), NOW_NS), state_of(inventory)
    ).groups
    assert now_text(group) == f"✘ {text}its nodes have no label disk=fast"


def test_karpenters_message_is_quoted_if_its_instance_types_are_unknown() -> None:
    reference = NodeClassRef("karpenter.kwok.sh", "KWOKNodeClass", "default")
    inventory = Inventory(pods=(a_pod(cpu="64"),), nodepools=(a_nodepool(node_class_ref=reference),),
                          nodes=(a_node(instance_type="c-4x"),),
                          events=(an_event(message=("Failed to schedule pod, no instance type has enough "
                                                    "resources, requirements=a In [b]")),))  # fmt: skip
    types = offered_types(inventory, Settings(), Evidence()).types
    [group] = report_of_pending(prepare(inventory, types, Settings(), NOW_NS), state_of(inventory)).groups
    assert now_text(group).startswith("? general: Karpenter says no instance type has enough resources (cpu short by")


def a_term(key: str, *values: str) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_expressions=(a_requirement(key, "In", *values),))


def a_state(**volumes: tuple[NodeSelectorTerm, ...]) -> ClusterState:
    return state_of(
        Inventory(
            claims=tuple(
                PersistentVolumeClaim(name=name, namespace="db", volume_name=f"pv-{name}") for name in volumes
            ),
            volumes=tuple(
                PersistentVolume(name=f"pv-{name}", required_node_terms=terms) for name, terms in volumes.items()
            ),
        )
    )


def waiting(*names: str, zone: str = "") -> Pod:
    selector = {ZONE: zone} if zone else {}
    volumes = tuple(PodVolume(name=name, claim_name=name) for name in names)
    return a_pod(name="report-0", namespace="db", volumes=volumes, node_selector=selector)


STATE = a_state(a=(a_term(ZONE, "us-east-1a"),), b=(a_term(ZONE, "us-east-1b"),),
                either=(a_term(ZONE, "us-east-1a"), a_term(ZONE, "us-east-1c")), rack=(a_term(LABEL, "7"),),
                everywhere=())  # fmt: skip


@pytest.mark.parametrize(("pod", "expected"), [
    (waiting(), ""),
    (waiting(zone="us-east-1a"), ""),
    (waiting("everywhere", "rack"), ""),
    (waiting("missing"), ""),
    (waiting("a"), "zones  PVC db/a → us-east-1a"),
    (waiting("a", "everywhere"), "zones  PVC db/a → us-east-1a"),
    (waiting("a", "either"),
     "zones  PVC db/a → us-east-1a · PVC db/either → us-east-1a, us-east-1c · leaves us-east-1a"),
    (waiting("b", zone="us-east-1a"), f"zones  nodeSelector → us-east-1a · PVC db/b → us-east-1b{NEVER}"),
])  # fmt: skip
def test_the_text_names_what_binds_a_pod_to_a_zone(pod: Pod, expected: str) -> None:
    assert plain_text(zone_lines(pod, zones_of_volumes(pod, STATE))) == expected


def test_each_node_has_a_row_with_the_reason_that_excludes_it() -> None:
    rows = build_rows(NODES_TABLE, REFUSALS, now_ns=NOW_NS)
    assert [[cell.text for cell in row.cells] for row in rows] == [
        [
            "ip-10-0-1-2.ec2.internal",
            "memory and cpu",
            "memory 32Gi requested, 7,201Mi left; cpu 5000m requested, 2000m left",
        ],
        ["n2", "taint", REFUSALS[1].reason],
    ]
    assert rows[0].cells[0].short == "ip-10-0-1-2"


def report_of(pod: Pod) -> PendingAnswer:
    """Return the report about a pod that fits neither the two NodePools nor the node."""
    pools = (a_nodepool(weight=10), a_nodepool(name="waits", is_ready=False))
    inventory = Inventory(pods=(pod,), nodepools=pools, nodes=(a_node(),))
    view = ClusterView(state_of(inventory), {}, evidence=Evidence(instance_types=TYPES))
    desk = PendingQuestions()
    prepared, notes = prepare_view(view, NOW_NS)
    desk.begin(prepared, view, notes)
    return answer_all(desk, pod.key)


def test_the_values_of_a_pod_in_detail() -> None:
    report = report_of(a_pod(cpu="64"))
    [group] = report.groups
    values = explained_values(PendingEntry(group, may_list_events=True), report.detail, NOW_NS)
    general = next(pool for pool in values["pools"] if pool["name"] == "general")
    assert (general["weight"], general["rank"], general["failed"]) == (10, 1, "resources")
    assert general["nearest_type"] == "m5.xlarge"
    assert general["short"] == [{"resource": "cpu", "need": "64", "room": "4"}]
    assert general["karpenter_says"].startswith("no instance type")
    [node] = values["existing_nodes"]
    assert (node["name"], node["by"]) == ("node-1", "cpu")
    assert values["changes_tried"] > 0
    assert [remedy["kind"] for remedy in values["remedies"]]
