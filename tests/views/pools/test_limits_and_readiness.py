"""One NodePool: limits, readiness, policies, budgets, and the DaemonSet pods of new nodes (story C)."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from karptui.aws.evidence import SubnetRoom
from karptui.decode.kinds import Kind
from karptui.disruption.analysis_steps import AnalysisSteps, analyse_all
from karptui.karpenter.nodeclass import NodeClassRef
from karptui.karpenter.nodepool import DisruptionBudget
from karptui.session.pools import daemon_rows, pool_rows
from karptui.session.prepare import prepare_view
from karptui.views.pools.columns import COLUMNS, is_notable, pools_table
from karptui.views.pools.detail import DAEMONSETS, daemon_note, daemon_sentence, detail_lines, title_parts
from karptui.views.pools.sentences import (
    budget_text,
    carries_line,
    limit_sentence,
    named_amount,
    pool_sentences,
    ready_lines,
    short_reason,
    types_line,
)
from karptui.views.row import Tone
from tests import builders, story_a
from tests.builders import NOW_NS, text_of
from tests.stories import plain_text, stories_view
from tests.views.pools.rows import ROWS, VIEW, cells, rows_of, view_of


@pytest.mark.parametrize(("limits", "words"), [
    ({"cpu": "1500m"}, "no new node: smallest allowed type needs 2000m, 1500m cpu left (m5.large)"),
    ({"cpu": "20"}, "20 cpu left, the smallest allowed type needs 2000m (m5.large)"),
    ({"nodes": "0"}, "0 nodes left of 0 nodes: no new node"),
    ({"nvidia.com/gpu": "4"}, "4 nvidia.com/gpu left of 4 nvidia.com/gpu; some allowed types need none"),
    ({"ephemeral-storage": "1Gi"}, "1,024Mi left of 1,024Mi; some allowed types need none"),
])  # fmt: skip
def test_limits_as_text(limits: dict[str, str], words: str) -> None:
    (row,) = rows_of(builders.a_nodepool(limits=builders.amounts(limits))).values()
    assert limit_sentence(row.limits[0])[0] == words


def test_limits_that_are_exceeded_and_without_types() -> None:
    pool = builders.a_nodepool(limits=builders.amounts({"cpu": "1"}))
    node, claim = builders.a_node(cpu="4"), builders.a_nodeclaim()
    (row,) = rows_of(pool, nodes=(node,), nodeclaims=(claim,)).values()
    assert "over the limit of 1000m cpu: no new node" in limit_sentence(row.limits[0])[0]
    (row,) = rows_of(pool, types=()).values()
    assert limit_sentence(row.limits[0]) == ("1000m cpu left of 1000m cpu", Tone.MUTED)
    assert not row.usable
    assert cells(row)["types"] == "✘ none"
    assert carries_line(row) == ()
    assert cells(row)["carries"] == "-"
    assert named_amount("nodes", 10**9) == "1 node"
    assert named_amount("hugepages-2Mi", 10**9 << 34) == "16Gi hugepages-2Mi"


def test_a_limit_of_zero() -> None:
    (row,) = rows_of(builders.a_nodepool(limits=builders.amounts({"cpu": "0", "nodes": "0"}))).values()
    assert cells(row)["cpu"] == "0/0m"
    assert not row.usable
    assert pools_table().column("cpu").sort(row) is None
    assert pools_table().values(row, NOW_NS)["limits"]["cpu"]["left"] == 0
    assert COLUMNS[3].cell(row, NOW_NS).tone is Tone.MUTED


# Readiness


def test_the_reason_for_not_being_ready_is_named() -> None:
    assert (
        plain_text(ready_lines(ROWS["gpu"])) == "✘ NodePool: NodeClassReady is False: NodeClassNotReady: AMIs not found"
    )
    assert cells(ROWS["gpu"])["ready"] == "✘ NodeClassReady"
    assert ready_lines(ROWS["primary"]) == ()
    assert cells(ROWS["primary"])["ready"] == "✔"


@pytest.mark.parametrize(("conditions", "short", "words"), [
    ((), "class", ""),
    ((("SubnetsReady", "False"), ("Ready", "False")), "class SubnetsReady",
     "✘ EC2NodeClass default: SubnetsReady is False"),
    ((("Ready", "Unknown"),), "class Ready", "✘ EC2NodeClass default: Ready is Unknown"),
])  # fmt: skip
def test_a_nodeclass_that_is_not_ready(conditions: tuple[tuple[str, str], ...], short: str, words: str) -> None:
    held = story_a.inventory()
    result = tuple(builders.a_condition(name, status=status) for name, status in conditions)
    nodeclass = msgspec.structs.replace(held.nodeclasses[0], conditions=result)
    (row,) = rows_of(builders.a_nodepool(), nodeclasses=(nodeclass,)).values()
    assert short_reason(row) == short
    assert words in plain_text(ready_lines(row))
    assert is_notable(row)
    assert "✘" in plain_text(detail_lines(row)) or not conditions


def test_free_addresses_of_subnets() -> None:
    (row,) = rows_of(builders.a_nodepool(), nodeclasses=(story_a.inventory().nodeclasses[0],)).values()
    rooms = (
        SubnetRoom("subnet-a", "us-east-1a", 12),
        SubnetRoom("subnet-b", "us-east-1b", 0),
        SubnetRoom("subnet-c", "us-east-1c", 9, is_refused=True),
        SubnetRoom("subnet-d", "us-east-1d"),
    )
    text = plain_text(detail_lines(msgspec.structs.replace(row, subnets=rooms)))
    assert "subnet subnet-a us-east-1a: 12 free IPv4 addresses" in text
    assert "subnet subnet-b us-east-1b: 0 free IPv4 addresses" in text
    assert "subnet subnet-c us-east-1c: EC2 just refused a launch, no IPv4 address is free" in text
    assert "1 subnet (subnet-d): free addresses are unknown" in text


def test_a_nodeclass_that_was_not_read() -> None:
    unread = frozenset({"NodeClass"})
    (row,) = rows_of(builders.a_nodepool(), unread=unread).values()
    assert plain_text(ready_lines(row)) == "▲ EC2NodeClass default was not read"
    assert "EC2NodeClass default was not read" in plain_text(detail_lines(row))
    for status, reason, told in (
        ("False", "NodeClassNotFound", "does not exist"),
        ("False", "SubnetsReady", "was not read"),
        ("True", "NodeClassReady", "was not read"),
        ("Unknown", "AwaitingReconciliation", "is not among those that were read"),
    ):
        condition = builders.a_condition("NodeClassReady", status=status, reason=reason)
        conditions = (condition, builders.a_condition("Ready", status="False"))
        (row,) = rows_of(builders.a_nodepool(conditions=conditions), unread=unread).values()
        assert plain_text(detail_lines(row)).count(f"EC2NodeClass default {told}") == 2


def test_excluded_nodepools_are_marked() -> None:
    rows = rows_of(
        builders.a_nodepool(name="leaving", deletion_ns=NOW_NS),
        builders.a_nodepool(name="static", replicas=2),
        builders.a_nodepool(name="foreign", node_class_ref=NodeClassRef("karpenter.azure.com", "AKSNodeClass", "x")),
        builders.a_nodepool(name="one"),
    )
    assert {name: cells(row)["ready"] for name, row in rows.items()} == {
        "one": "✔", "foreign": "passed over", "leaving": "✘ deleting", "static": "✔ static 2",
    }  # fmt: skip
    assert cells(rows["foreign"])["budget"] == "-"
    assert "excluded" in text_of(title_parts(rows["static"], has_prices=True))
    assert pools_table().tone(rows["static"]) is Tone.MUTED


# Policy, budgets


def test_the_budget_of_a_pool_is_the_range_over_its_reasons() -> None:
    assert budget_text(pool_rows(story_a.story_view(is_compared=False))[0]) == ""
    assert [budget_text(row) for row in pool_rows(VIEW)] == ["0–3 left", "0 left", "any", "any", "any", "any"]
    assert COLUMNS[11].cell(ROWS["spare"], NOW_NS).tone is Tone.WARNING
    pool = builders.a_nodepool(budgets=(DisruptionBudget("1", reasons=("Drifted",)),))
    (row,) = rows_of(pool, nodes=(builders.a_node(),), nodeclaims=(builders.a_nodeclaim(),)).values()
    assert budget_text(row) == "1–any left"
    told = plain_text(detail_lines(ROWS["primary"]))
    assert "left now: Empty 3, Drifted 0, Underutilized 3" in told
    assert "1 of 6 nodes drifted" in told
    assert "no budgets: there is no limit" in plain_text(
        detail_lines(rows_of(builders.a_nodepool(budgets=None))["general"])
    )
    assert pools_table().values(row, NOW_NS)["budget_left"] == {"Empty": None, "Drifted": 1, "Underutilized": None}


def test_story_c() -> None:
    view = stories_view()
    prepared, _ = prepare_view(view, NOW_NS)
    steps = AnalysisSteps(prepared, 0)
    analyse_all(steps, ())
    row = next(row for row in pool_rows(view) if row.name == "small")
    assert text_of(carries_line(row)) == (
        "a new node carries 11 DaemonSet pods = 460m / 896Mi / 11 slots · they rule out 7 types: "
        "t3.micro (pod slots short by 7: 4 of 11), t3.nano (pod slots short by 7: 4 of 11), "
        "t3a.micro (pod slots short by 7: 4 of 11) and 4 more · "
        "2 types have no pod slot left after them"
    )
    assert cells(row)["carries"] == "11 ds 460m 896Mi ✘7"
    daemons = {row.daemonset.key: row for row in daemon_rows(view, "small")}
    assert len(daemons) == 11
    assert DAEMONSETS.values(daemons["kube-system/cni"], 0)["excludes"] == ["t3a.small"]
    assert daemon_note(daemons["kube-system/agent-04"])[0].endswith("too large for t3.micro, t3a.micro, t4g.micro")
    told = plain_text(detail_lines(row))
    assert "userData sets maxPods 110" in told
    assert "Set spec.kubelet.maxPods: 110 in the EC2NodeClass" in told
    assert is_notable(row)


def test_story_d_has_no_type_that_fits_the_pending_pods() -> None:
    pool = builders.a_nodepool()
    (row,) = rows_of(pool, pods=(builders.a_pod(memory="900Gi"),)).values()
    assert cells(row)["types"] == "▲ 4/4"
    assert "▲ none of its types fits the pending pods: " in plain_text(pool_sentences(row))
    assert types_line(ROWS["primary"]) == ()


def test_instance_types_missing_from_the_list_of_types() -> None:
    asked = builders.a_requirement("node.kubernetes.io/instance-type", "In", "m99.large")
    node = builders.a_node(instance_type="m99.large")
    (never,) = rows_of(builders.a_nodepool(requirements=(asked,))).values()
    (had,) = rows_of(builders.a_nodepool(requirements=(asked,)), nodes=(node,)).values()
    assert text_of(types_line(never)).startswith("✘ its requirements allow no type: ")
    assert text_of(types_line(had)).startswith("? the list of types in the snapshot lacks m99.large, ")
    assert (cells(never)["types"], cells(had)["types"]) == ("✘ 0/0", "? 0/0")


def test_daemonsets_that_run_only_on_some_types() -> None:
    picky = builders.a_daemonset(name="picky", node_selector={"node.kubernetes.io/instance-type": "m5.large"})
    gpu = builders.a_daemonset(name="gpu", node_selector={"kind": "gpu"})
    view = view_of(builders.a_nodepool(), daemonsets=(builders.a_daemonset(), picky, gpu))
    (row,) = pool_rows(view)
    assert text_of(carries_line(row)).startswith("a new node carries up to 2 DaemonSet pods = ")
    absent, carried = daemon_rows(view, row.name)[1:]
    assert [DAEMONSETS.column("types").cell(row, NOW_NS).text for row in (carried, absent)] == ["1/4", "no"]
    assert text_of(daemon_sentence(carried)).endswith("on 1 of 4 types · without it no other type would fit")
    assert "not running: " in text_of(daemon_sentence(absent))
    assert DAEMONSETS.values(absent, 0)["not_carried_because"]


# Details of one NodePool


def test_starting_nodeclaims_are_counted_separately() -> None:
    row = replace(ROWS["primary"], nodes=47, starting=3)
    assert cells(row)["nodes"].startswith("44+3")
    assert " 44 nodes +3 starting" in text_of(title_parts(row, has_prices=False))
    assert cells(replace(row, starting=0))["nodes"].startswith("47")


def test_neither_nodes_nor_pods_are_counted_if_they_were_not_read() -> None:
    row = replace(ROWS["primary"], nodes=3, starting=3, counted=None, hidden=frozenset({Kind.NODE, Kind.POD}))
    assert "number of nodes unknown" in text_of(title_parts(row, has_prices=False))
    assert "% of the nodes" not in plain_text(detail_lines(row))
    assert "Counted" not in plain_text(detail_lines(row))
    assert carries_line(ROWS["primary"])
    assert not carries_line(replace(row, hidden=frozenset({Kind.DAEMONSET})))
