"""The cluster of story A: weights read as a ratio, a tie, weights that nearly agree, limits that are nearly used up."""

from __future__ import annotations

from typing import Any, Final

from karptui.aws.evidence import Evidence
from karptui.disruption.analysis_steps import AnalysisSteps, analyse_all
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.metrics import ControllerMetrics, PoolMetrics
from karptui.karpenter.nodeclass import NodeClass
from karptui.karpenter.nodepool import DisruptionBudget, NodePool
from karptui.kube.taints import Taint
from karptui.session.cluster_view import ClusterView
from karptui.session.prepare import prepare_view
from karptui.sources.evidence import EvidenceSource
from karptui.sources.source import Source
from tests.builders import (
    DAY_NS,
    HOUR_NS,
    NOW_NS,
    a_condition,
    a_daemonset,
    a_node,
    a_nodeclaim,
    a_nodepool,
    a_pod,
    amounts,
    an_instance_type,
    an_owner,
)
from tests.builders.clusters import state_of
from tests.builders.sources import InventorySource, live_statuses

TYPES: Final = (
    an_instance_type(name="m5.large", cpu="2", memory="8Gi", prices={"on-demand": 0.096}),
    an_instance_type(name="m5.xlarge", cpu="4", memory="16Gi", pods="58", prices={"on-demand": 0.192}),
    an_instance_type(name="m5.4xlarge", cpu="16", memory="64Gi", pods="234", prices={"on-demand": 0.768}),
    an_instance_type(name="t3.nano", cpu="2", memory="512Mi", pods="4", prices={"on-demand": 0.0052}),
)
METRICS: Final = ControllerMetrics(
    read_at_ns=NOW_NS,
    endpoint="pod kube-system/karpenter-6f9-abcde",
    version="1.14.1",
    started_at_ns=NOW_NS - 76 * HOUR_NS,
    pools={
        "primary": PoolMetrics(nodeclaims_created={"provisioned": 41, "drifted": 2}),
        "spare": PoolMetrics(nodeclaims_created={"provisioned": 1}),
    },
    pods_by_pool={"primary": 62, "spare": 4},
)


def _pools() -> tuple[NodePool, ...]:
    unready = (
        a_condition("ValidationSucceeded"),
        a_condition("NodeClassReady", status="False", reason="NodeClassNotReady", message="AMIs not found"),
        a_condition("Ready", status="False", reason="UnhealthyDependents"),
    )
    half = (DisruptionBudget("50%"), DisruptionBudget("0", reasons=("Drifted",)))
    return (
        a_nodepool(
            name="primary", weight=100, limits=amounts({"cpu": "108", "memory": "1Ti"}), budgets=half,
            consolidate_after_ns=30 * 10**9,
        ),
        a_nodepool(name="secondary", weight=50, budgets=(), limits=amounts({"cpu": "64", "nodes": "4"})),
        a_nodepool(name="spare", weight=50, budgets=(DisruptionBudget("0"),), limits=amounts({"cpu": "17"})),
        a_nodepool(name="extra", weight=45, budgets=(), consolidate_after_ns=None),
        a_nodepool(name="rest", budgets=(), consolidation_policy="WhenEmpty"),
        a_nodepool(name="gpu", weight=90, budgets=(), conditions=unready, taints=(Taint("gpu", "NoSchedule"),)),
    )  # fmt: skip


def _nodeclass() -> NodeClass:
    return NodeClass(
        name="default",
        group="karpenter.k8s.aws",
        kind="EC2NodeClass",
        conditions=(a_condition("AMIsReady"), a_condition("SubnetsReady"), a_condition("Ready")),
    )


def inventory() -> Inventory:
    placed = [(f"ip-10-0-{i}-{7 * i}", "primary") for i in range(1, 7)] + [("ip-10-0-40-4", "spare")]
    drifted = (a_condition("Drifted", reason="NodePoolDrifted"),)
    claims = [
        a_nodeclaim(name=f"{pool}-{name[-4:]}", node=name, pool=pool, instance_type="m5.4xlarge",
                    created_ns=NOW_NS - (2 + 10 * i) * HOUR_NS)
        for i, (name, pool) in enumerate(placed)
    ]  # fmt: skip
    worn = a_nodeclaim(
        name=claims[1].name, node=placed[1][0], pool="primary", instance_type="m5.4xlarge",
        conditions=(*claims[1].conditions, *drifted), created_ns=NOW_NS - 3 * DAY_NS,
    )  # fmt: skip
    web = [
        a_pod(name=f"web-{i}", namespace="shop", node=placed[i % 7][0] if i < 60 else "", owner=an_owner(name="web"),
              cpu="1", memory="2Gi")
        for i in range(64)
    ]  # fmt: skip
    picky = [
        a_pod(name="report", namespace="shop", cpu="500m", node_selector={"karpenter.sh/nodepool": "rest"}),
        a_pod(name="whale", namespace="shop", cpu="40"),
    ]
    return Inventory(
        nodepools=_pools(),
        nodeclasses=(_nodeclass(),),
        nodes=tuple(
            a_node(name=name, pool=pool, instance_type="m5.4xlarge", cpu="16", memory="64Gi") for name, pool in placed
        ),
        nodeclaims=(claims[0], worn, *claims[2:]),
        pods=(*web, *picky),
        daemonsets=tuple(
            a_daemonset(name=name, cpu="50m", memory="64Mi") for name in ("aws-node", "kube-proxy", "logs")
        ),
    )


def evidence(*, has_metrics: bool = False, **given: Any) -> Evidence:
    """Return the types and prices of the story, and Karpenter's counters if wanted."""
    metrics: dict[str, Any] = {"metrics": METRICS, "metrics_before": METRICS} if has_metrics else {}
    return Evidence(instance_types=TYPES, taken_at_ns=NOW_NS, **metrics, **given)


def story_view(
    held: Inventory | None = None, *, read_evidence: Evidence | None = None, is_compared: bool = True
) -> ClusterView:
    """Return the story as screens see it, with the overlap and budgets unless they are not wanted."""
    held = held or inventory()
    view = ClusterView(state_of(held), live_statuses(held), evidence=read_evidence or evidence())
    if not is_compared:
        return view
    prepared, notes = prepare_view(view, NOW_NS)
    steps = AnalysisSteps(prepared, view.state.generation, notes=notes)
    analyse_all(steps, ())
    for _ in steps.compare_pools():
        pass
    return ClusterView(view.state, view.statuses, view, evidence=view.evidence, analysis=steps.analysis)


class StoryASource(InventorySource):
    def __init__(self) -> None:
        super().__init__("shop-eu-1", inventory())


def story_evidence(_source: Source | None) -> EvidenceSource:
    """Return what is known of types and prices."""
    return EvidenceSource(evidence())
