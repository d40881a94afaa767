"""Short forms of verdicts about pending pods, for narrow tables."""

from __future__ import annotations

from typing import Any

import pytest

from karptui.aws.evidence import Evidence
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.nodeclass import NodeClassRef
from karptui.karpenter.nodepool import NodePool
from karptui.karpenter.settings import Settings
from karptui.kube.taints import Taint
from karptui.pending.messages import PodMessage
from karptui.pending.report_steps import report_of_pending
from karptui.provisioning import prepare
from karptui.provisioning.waiting_pods import problem_in_short
from karptui.session.pool_types import offered_types
from karptui.views.pending.sentences import now_text, short_verdict
from tests.builders import MINUTE_NS, NOW_NS, SECOND_NS, a_node, a_nodepool, a_pod, amounts, an_event, an_instance_type
from tests.builders.clusters import state_of

_CLAIM = "PersistentVolumeClaim"
_NO_CLASS = 'storageclasses.storage.k8s.io "none" not found'


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
def test_a_verdict_in_few_words(reason: str, text: str) -> None:
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
def test_a_reason_that_all_nodepools_share_is_told_of_every_one(pools: dict[str, Any], text: str) -> None:
    nodepools = tuple(a_nodepool(name=name, **given) for name, given in pools.items())
    inventory = Inventory(pods=(a_pod(node_selector={"disk": "fast"}),), nodepools=nodepools)
    (group,) = report_of_pending(
        prepare(inventory, (an_instance_type(),), Settings(), NOW_NS), state_of(inventory)
    ).groups
    assert now_text(group) == f"✘ {text}its nodes have no label disk"


def test_karpenter_s_word_about_types_is_quoted_where_its_types_are_unknown() -> None:
    reference = NodeClassRef("karpenter.kwok.sh", "KWOKNodeClass", "default")
    inventory = Inventory(pods=(a_pod(cpu="64"),), nodepools=(a_nodepool(node_class_ref=reference),),
                          nodes=(a_node(instance_type="c-4x"),),
                          events=(an_event(message=("Failed to schedule pod, no instance type has enough "
                                                    "resources, requirements=a In [b]")),))  # fmt: skip
    types = offered_types(inventory, Settings(), Evidence()).types
    [group] = report_of_pending(prepare(inventory, types, Settings(), NOW_NS), state_of(inventory)).groups
    assert now_text(group).startswith("? general: Karpenter says no instance type has enough resources (cpu short by")
