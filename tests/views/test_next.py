from __future__ import annotations

import pytest
from msgspec.structs import replace

from karptui.disruption.analysis_steps import AnalysisSteps, analyse_all
from karptui.disruption.node_verdict import Replacement
from karptui.karpenter.settings import Settings
from karptui.provisioning.prepared import prepare
from karptui.session.cluster_view import ClusterView
from karptui.session.nodes import going_nodes
from karptui.session.prepare import prepare_view
from karptui.session.row_server import overview_of
from karptui.state.cluster import EMPTY
from karptui.views.column import plain
from karptui.views.next import REPLACEMENT, TABLE, next_lines, report_values
from karptui.views.why.sentences import verdict_text
from tests.builders import DAY_NS, NOW_NS, a_pod, a_pod_template, present, texts_of
from tests.forward.making import TYPES, a_pair, a_world
from tests.story_e import story_view
from tests.views.why.test_words import analysed


def test_the_next_command() -> None:
    view = story_view()
    steps = AnalysisSteps(prepare_view(view, NOW_NS)[0], 1)
    for _ in steps.survey():
        pass
    steps.simulate_next_pass()
    values = present(report_values(ClusterView(view.state, view.statuses, view, analysis=steps.analysis)))
    assert values["asked"][3:] == [
        {"method": "MultiNodeConsolidation", "candidates": 3},
        {"method": "SingleNodeConsolidation", "candidates": 3},
    ]
    assert {**values, "asked": []} == {
        "method": "SingleNodeConsolidation",
        "reason": "Underutilized",
        "savings_per_hour": 0.768,
        "commands": [{"decision": "delete", "nodes": ["ip-10-0-8-41"], "savings_per_hour": 0.768, "replacements": [],
                      "lost_pods": []}],
        "asked": [],
        "waits_for": [],
        "then": None,
        "unhealthy": [],
        "expiring": [],
        "error": None,
    }  # fmt: skip


def test_removed_and_launched_nodes_are_listed() -> None:
    runner, *_, draining = [TABLE.values(entry, NOW_NS) for entry in going_nodes(analysed().node_entries)[:3]]
    assert runner == {
        "name": "ip-10-0-71-204", "pool": "runners", "type": "r6i.4xlarge", "price_per_hour": 1.008,
        "saves_per_hour": 1.008, "held_by": ["DND"], "would_be": "delete", "replaced_by": [], "lost_pods": [],
        "method": "SingleNodeConsolidation",
    }  # fmt: skip
    assert (draining["held_by"], draining["method"]) == (["DRAIN", "DND"], None)
    assert plain(REPLACEMENT, Replacement(pool_name="web", type_names=("m5.large",), price_per_hour=0, pods=3)) == {
        "pool": "web", "types": ["m5.large"], "price_per_hour": None, "pods": 3,
    }  # fmt: skip


@pytest.mark.parametrize(("pods", "deletion_ns", "is_told"), [(1, NOW_NS, True), (1, 0, False), (0, NOW_NS, False)])
def test_the_reason_for_no_command_is_that_no_nodepool_accepts_pods(
    pods: int, deletion_ns: int, *, is_told: bool
) -> None:
    world = a_world(a_pair("node-1"), pods=[a_pod(name=f"web-{n}", node="node-1") for n in range(pods)])
    pools = tuple(replace(pool, deletion_ns=deletion_ns) for pool in world.nodepools)
    steps = AnalysisSteps(prepare(replace(world, nodepools=pools), TYPES, Settings(), NOW_NS), 1)
    analyse_all(steps)
    steps.simulate_next_pass()
    text = "\n".join(texts_of(next_lines(steps.analysis.next, overview_of(ClusterView(EMPTY, {})))))
    assert ("Karpenter would do nothing now: no NodePool accepts pods: this Karpenter has none" in text) is is_told


def test_nodes_that_expire_now_are_named() -> None:
    world = a_world(a_pair("node-1", created_ns=NOW_NS - DAY_NS, expire_after_ns=DAY_NS, conditions=()))
    steps = AnalysisSteps(prepare(world, TYPES, Settings(), NOW_NS), 1)
    analyse_all(steps)
    steps.simulate_next_pass()
    text = "\n".join(texts_of(next_lines(steps.analysis.next, overview_of(ClusterView(EMPTY, {})))))
    assert text.startswith("1 node expires now: node-1\nDisruption would do nothing else\n")


def test_pods_without_an_owner_are_called_lost() -> None:
    alone = a_pod(name="psql", node="node-1", template=a_pod_template(namespace="tools"))
    pods = [alone, *(a_pod(name=name, node="node-2", cpu="300m") for name in "bcd")]
    prepared = prepare(a_world(a_pair("node-1"), a_pair("node-2"), pods=pods), TYPES, Settings(), NOW_NS)
    steps = AnalysisSteps(prepared, 1)
    analyse_all(steps)
    steps.simulate_next_pass()
    report, findings = present(steps.analysis.next), steps.analysis.findings["claim/claim-node-1"]
    assert [command.lost_pods for command in report.commands] == [findings.lost_pods] == [("tools/psql",)]
    text = "\n".join(texts_of(next_lines(report, overview_of(ClusterView(EMPTY, {})))))
    assert "  delete node-1\n  ✘ 1 pod would be lost (no owner): tools/psql\n" in text
    assert verdict_text(present(findings.outlook).now).startswith("would be deleted: 1 pod is lost (no owner), saves")
