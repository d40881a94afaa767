from __future__ import annotations

from typing import Any

import pytest

from karptui.disruption.command import Method
from karptui.disruption.events import Recorder
from karptui.disruption.methods import MethodRun
from karptui.disruption.removal import EngineSimulator, assumed_seconds
from karptui.karpenter.metrics import ControllerMetrics
from karptui.sources.metrics.reading import read_metrics
from karptui.studies.timeouts import consolidation_pass, measured_seconds
from karptui.views.timeouts import TABLE, headline, more_lines
from karptui.whatif.situation import WhatIfBase
from tests.builders import NOW_NS, a_pod, an_instance_type, present
from tests.forward.making import a_pair
from tests.whatif.edits.test_apply import POOL
from tests.whatif.snapshots import base

TYPES = (an_instance_type(name="m5.large", cpu="2", memory="8Gi", prices={"on-demand": 0.1}),)
_EVALUATION = "karpenter_voluntary_disruption_decision_evaluation_duration_seconds"
METRICS = f"""\
{_EVALUATION}_bucket{{consolidation_type="single",le="1"}} 3
{_EVALUATION}_sum{{reason="underutilized",consolidation_type="single"}} 60
{_EVALUATION}_count{{reason="underutilized",consolidation_type="single"}} 3
karpenter_voluntary_disruption_consolidation_timeouts_total{{consolidation_type="multi"}} 0
""".encode()


def cluster(*sizes: str, budget: str = "100%", **spec: Any) -> WhatIfBase:
    """Return a node for each size of pod; full nodes fit no other pod."""
    disruption = {"consolidateAfter": "30s", "budgets": [{"nodes": budget}]}
    pool = {**POOL, "spec": {**POOL["spec"], "disruption": {**disruption, **spec}}}
    nodes, claims = zip(*(a_pair(f"n{i}") for i in range(len(sizes))), strict=True)
    pods = tuple(a_pod(name=f"p{i}", node=f"n{i}", cpu=size) for i, size in enumerate(sizes))
    return base(pool, types=TYPES, nodes=tuple(nodes), nodeclaims=tuple(claims), pods=pods)


FULL = ("1900m",) * 5


def test_nodes_are_in_the_order_of_single_node_consolidation() -> None:
    on = cluster("500m", *FULL)
    run = MethodRun(on.fleet, EngineSimulator(on.prepared, on.fleet), Recorder())
    result = consolidation_pass(on, per_simulation=50)
    asked = {candidate.name for candidate in run.ask(Method.SINGLE_NODE).candidates}
    assert {turn.node for turn in result.turns} == asked
    assert [turn.place for turn in result.turns] == list(range(1, 7))
    assert [turn.begins_after for turn in result.turns] == [0, 50, 100, 150, 200, 250]
    assert [turn.is_evaluated for turn in result.turns] == [True] * 4 + [False] * 2


def test_only_nodes_within_three_minutes_are_evaluated() -> None:
    result = consolidation_pass(cluster(*FULL), per_simulation=36)
    assert result.missed == ()
    assert headline(result) == "single-node consolidation evaluates all 5 nodes in 3m; its timeout is 3m"
    late = consolidation_pass(cluster(*FULL), per_simulation=46)
    assert [turn.place for turn in late.missed] == [5]
    assert not late.is_starved
    assert headline(late) == (
        "single-node consolidation never evaluates 1 of 5 nodes: it times out after 3m, and none of the 4 nodes before"
        " them is removable"
    )


def test_a_removable_node_ends_the_pass() -> None:
    result = consolidation_pass(cluster("100m", "200m", "300m", "400m", "500m"), per_simulation=100)
    assert present(result.acts_before).place == 1
    assert not result.is_starved
    assert "but move up as nodes before them are removed; 3 of them could be removed" in headline(result)
    last = result.missed[-1]
    assert [column.cell(last, 0).text for column in TABLE.columns][4:6] == ["never", "delete"]


def test_the_duration_is_read_from_karpenters_metrics() -> None:
    metrics = read_metrics(METRICS, endpoint="pod a/b", read_at_ns=NOW_NS)
    assert metrics.evaluation_seconds == {"single": (60.0, 3)}
    assert measured_seconds(metrics, 5) == pytest.approx(4)
    told = METRICS.replace(b'le="1"', b'le="15.0"').replace(b"} 3", b"} 1", 1)
    told += b'karpenter_scheduler_scheduling_duration_seconds_count{controller="disruption"} 60\n'
    counted = read_metrics(told, endpoint="pod a/b", read_at_ns=NOW_NS)
    assert measured_seconds(counted, 5) == pytest.approx(0.5), "of the 60 s, two passes waited 15 s each"
    timed_out = ControllerMetrics(read_at_ns=NOW_NS, endpoint="a", consolidation_timeouts={"single": 2})
    assert measured_seconds(timed_out, 90) == pytest.approx(2)
    assert measured_seconds(None, 5) is None
    result = consolidation_pass(cluster(*FULL), metrics=metrics)
    assert (result.per_simulation, result.origin) == (4, "measured")
    assert next(more_lines(result)) == "a simulation takes 4 s (by Karpenter's metrics, approximated)"
    plain = consolidation_pass(cluster(*FULL))
    assert (plain.per_simulation, plain.origin) == (assumed_seconds(5), "assumed")
    assert "timed out 2 times" in "\n".join(more_lines(consolidation_pass(cluster(*FULL), metrics=timed_out)))
