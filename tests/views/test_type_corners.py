"""Words of the Types screen that only few clusters ever bring about."""

from __future__ import annotations

from typing import Any

import msgspec

from karptui.aws.evidence import Evidence
from karptui.aws.region import FactKind, FactPhase, FactStatus
from karptui.karpenter.instance_type import InstanceType
from karptui.karpenter.inventory import Inventory
from karptui.session.cluster_view import ClusterView
from karptui.session.types import Availability
from karptui.session.types_of_pools import TypesOfPool
from karptui.views.types.columns import why_text
from karptui.views.types.ledger import fit_lines, observed_lines, title_pieces
from karptui.views.types.pools import reason_lines, source_lines
from tests import builders
from tests.builders import text_of
from tests.builders.clusters import state_of
from tests.stories import plain_text, pool_of, type_of

UNPRICED = InstanceType(
    name="x1.large",
    requirements=(builders.a_requirement("node.kubernetes.io/instance-type", "In", "x1.large"),),
    capacity=builders.amounts({"cpu": "2", "memory": "8Gi", "pods": "10"}),
    offerings=tuple(
        msgspec.structs.replace(offering, is_available=False)
        for offering in builders.an_instance_type(prices={"on-demand": 0.0}).offerings
    ),
)


def a_view(*types: InstanceType, **inventory: Any) -> ClusterView:
    """Return a cluster whose instance types came with a snapshot."""
    held = {"nodepools": (builders.a_nodepool(requirements=()),), **inventory}
    return ClusterView(state_of(Inventory(**held)), {}, evidence=Evidence(instance_types=types))


def test_what_rules_a_type_out() -> None:
    pool = pool_of(a_view(UNPRICED), "general")
    entry = type_of(pool, "x1.large")
    assert why_text(entry) == "not available: unavailable"
    assert {offer.availability for offer in entry.offers} == {Availability.UNAVAILABLE}
    assert text_of(title_pieces(pool.entry, entry)) == " x1.large ─ pool general "
    bare = msgspec.structs.replace(UNPRICED, offerings=())
    assert why_text(type_of(pool_of(a_view(bare), "general"), "x1.large")) == "not available: no zone"
    limited = builders.a_nodepool(requirements=(), limits=builders.amounts({"cpu": "1"}))
    pool = pool_of(a_view(builders.an_instance_type(name="m5.large"), nodepools=(limited,)), "general")
    assert "✘ ruled out: limits: cpu short by" in plain_text(fit_lines(type_of(pool, "m5.large"), None))
    heavy = builders.a_daemonset(memory="100Gi")
    pool = pool_of(a_view(builders.an_instance_type(), daemonsets=(heavy,)), "general")
    assert "DaemonSets do not fit: memory −1" in plain_text(reason_lines(pool.entry))


def test_no_percent_is_named_where_there_is_no_ledger() -> None:
    offered = builders.an_instance_type(name="made.up")
    view = a_view(offered, pods=(builders.a_pod(memory="100Gi"),))
    pool = pool_of(view, "general")
    told = plain_text(fit_lines(type_of(pool, "made.up"), pool.fit(type_of(pool, "made.up"))))
    assert "memory short by" in told
    assert "VM_MEMORY_OVERHEAD_PERCENT" not in told


def test_nodes_that_report_no_allocatable_memory() -> None:
    node = msgspec.structs.replace(
        builders.a_node(instance_type="m5.large"), allocatable=builders.amounts({"cpu": "1"})
    )
    pool: TypesOfPool = pool_of(a_view(builders.an_instance_type(), nodes=(node,)), "general")
    told = plain_text(observed_lines(pool.entry, type_of(pool, "m5.large")))
    assert "1 node reports" in told
    assert "compared with the plan" not in told


def test_trouble_with_sources_stands_beside_them() -> None:
    gone = FactStatus(phase=FactPhase.UNAVAILABLE, sentence="no AWS credentials were found")
    evidence = Evidence(fact_statuses=dict.fromkeys(FactKind, gone))
    assert plain_text(source_lines(None, evidence, a_view(UNPRICED).prices)).endswith(
        " · no AWS credentials were found"
    )
