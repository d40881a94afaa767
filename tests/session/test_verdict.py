"""What a verdict follows from in a cluster: permissions, prices, limits, pods that wait, budgets that never open."""

from __future__ import annotations

from typing import Any

import pytest

from karptui.aws.evidence import Evidence
from karptui.config import DEFAULTS
from karptui.decode.kinds import Kind
from karptui.disruption.study import Study, study_all
from karptui.disruption.verdict import Finding, FindingCode, Manner
from karptui.karpenter.inventory import Inventory
from karptui.serving.lists import lists_of
from karptui.serving.questions import answers_of
from karptui.session.border import VerdictWanted
from karptui.session.cluster_view import ClusterView
from karptui.session.prepare import prepare_view
from karptui.session.row_server import RowServer
from karptui.session.shared_base import SharedBase
from karptui.session.verdict import verdict_of_view
from karptui.sources.base import Phase
from karptui.state.inventory import state_of
from tests.builders import MINUTE_NS, NOW_NS, a_node, a_nodepool, a_pdb, a_pod, amounts
from tests.disruption.making import TYPES, a_claim, consolidatable
from tests.ui.fleet import a_fleet, status, view_of

OTHER = "x9.none"
"""A type without a price."""


def found_in(**objects: Any) -> dict[FindingCode, Finding]:
    """Return by code what is found in a cluster of one node of ``general``, priced by the types of the tests."""
    made: dict[str, Any] = {
        "nodes": (a_node(name="node-1", instance_type="m5.2xlarge", cpu="7900m", memory="30Gi"),),
        "nodeclaims": (a_claim(instance_type="m5.2xlarge", conditions=(consolidatable(),)),),
        "nodepools": (a_nodepool(budgets=()),),
        "pods": (),
    }
    view = ClusterView(state_of(Inventory(**{**made, **objects})), {}, evidence=Evidence(instance_types=TYPES))
    prepared, _ = prepare_view(view, NOW_NS)
    analysis = study_all(Study(prepared, view.state.generation))
    known = ClusterView(view.state, view.statuses, view, evidence=view.evidence, analysis=analysis)
    return {one.code: one for one in verdict_of_view(known, NOW_NS)}


def test_a_missing_permission_is_told_though_nothing_can_be_worked_out() -> None:
    view = view_of(a_fleet())
    statuses = {**view.statuses, "NodePool": status(Kind.NODEPOOL, Phase.FORBIDDEN)}
    hidden = ClusterView(view.state, statuses, evidence=view.evidence)
    found = (
        RowServer(lambda: hidden, lists_of(DEFAULTS), answers_of(SharedBase()))
        .verdict(VerdictWanted(now_ns=NOW_NS))
        .findings
    )
    told = next(one for one in found if one.code is FindingCode.NO_PERMISSION)
    assert told.names == ("NodePools",)


def test_a_limit_that_is_used_up() -> None:
    full = a_nodepool(budgets=(), limits=amounts({"cpu": "2"}))
    told = found_in(nodes=(a_node(name="node-1", capacity={"cpu": "2"}),), nodepools=(full,))
    assert (told[FindingCode.POOL_AT_LIMIT].names, told[FindingCode.POOL_AT_LIMIT].detail) == (
        ("general",),
        "cpu 2000m of 2000m",
    )
    assert FindingCode.POOL_AT_LIMIT not in found_in(nodepools=(a_nodepool(limits=amounts({"cpu": "200"})),))


def test_pods_that_wait_for_more_than_a_minute() -> None:
    late, fresh = (a_pod(name=f"wait-{n}", node="", created_ns=NOW_NS - n * MINUTE_NS) for n in (5, 0))
    told = found_in(pods=(late, fresh))[FindingCode.PENDING]
    assert (told.objects, told.since_ns) == (("Pod/default/wait-5",), NOW_NS - 5 * MINUTE_NS)


def test_nodes_without_a_price() -> None:
    told = found_in(nodes=(a_node(name="node-1", instance_type=OTHER),), nodeclaims=(a_claim(instance_type=OTHER),))
    assert told[FindingCode.NO_PRICES].objects == ("Node/node-1",)
    assert FindingCode.NO_PRICES not in found_in()


def test_a_budget_of_pods_that_never_opens_is_told_from_one_that_is_used_up() -> None:
    pods = (a_pod(name="db", node="node-1", labels={"app": "web"}),)
    for budget, manner in ((a_pdb(max_unavailable=0), Manner.NEVER), (a_pdb(max_unavailable=1), Manner.PLAIN)):
        told = found_in(pods=pods, pdbs=(budget,))[FindingCode.PDB]
        assert (told.names, told.manner, told.price_per_hour) == (("default/web",), manner, pytest.approx(0.3))


def test_a_node_that_would_stay_anyway_is_held_by_nothing() -> None:
    pods = (a_pod(name="db", node="node-1", cpu="6", labels={"app": "web"}),)
    assert FindingCode.PDB not in found_in(pods=pods, pdbs=(a_pdb(max_unavailable=0),))
