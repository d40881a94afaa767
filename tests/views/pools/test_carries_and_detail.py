"""What new nodes carry, and one NodePool at length: story C."""

from __future__ import annotations

from msgspec.structs import replace

from karptui.disruption.analysis_steps import AnalysisSteps, analyse_all
from karptui.session.pools import daemon_rows, pool_rows
from karptui.session.prepare import prepare_view
from karptui.views.pools.columns import is_notable
from karptui.views.pools.detail import DAEMONSETS, daemon_note, daemon_sentence, detail_lines, title_parts
from karptui.views.pools.sentences import carries_line, pool_sentences, types_line
from tests import builders
from tests.builders import NOW_NS, text_of
from tests.stories import plain_text, stories_view
from tests.views.pools.rows import ROWS, cells, rows_of, view_of


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


def test_story_d_has_no_type_for_the_pods_that_wait() -> None:
    pool = builders.a_nodepool()
    (row,) = rows_of(pool, pods=(builders.a_pod(memory="900Gi"),)).values()
    assert cells(row)["types"] == "▲ 4/4"
    assert "▲ none of its types fits the pending pods: " in plain_text(pool_sentences(row))
    assert types_line(ROWS["primary"]) == ()


def test_types_that_the_list_does_not_know() -> None:
    asked = builders.a_requirement("node.kubernetes.io/instance-type", "In", "m99.large")
    node = builders.a_node(instance_type="m99.large")
    (never,) = rows_of(builders.a_nodepool(requirements=(asked,))).values()
    (had,) = rows_of(builders.a_nodepool(requirements=(asked,)), nodes=(node,)).values()
    assert text_of(types_line(never)).startswith("✘ its requirements allow no type: ")
    assert text_of(types_line(had)).startswith("? the list of types in the snapshot lacks m99.large, ")
    assert (cells(never)["types"], cells(had)["types"]) == ("✘ 0/0", "? 0/0")


def test_daemonsets_that_only_some_types_carry() -> None:
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


# One at length


def test_nodeclaims_on_the_way_are_counted_apart() -> None:
    row = replace(ROWS["primary"], nodes=47, starting=3)
    assert cells(row)["nodes"].startswith("44+3")
    assert " 44 nodes +3 starting" in text_of(title_parts(row, has_prices=False))
    assert cells(replace(row, starting=0))["nodes"].startswith("47")
