"""The Packing picture: pods in a bin, and bins next to each other."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from karptui.session.packing import Bin, Block, Packed, PackedNode, bins_of
from karptui.views.packing import blocks, packed_lines, packed_sentence, packing_lines
from karptui.whatif.scenario import Scenario
from tests.builders import text_of, texts_of
from tests.ui.fleet import a_fleet, view_of


def drawn(daemons: int, pods: tuple[int, ...], cells: int = 10) -> str:
    return text_of(blocks(daemons, pods, 100, cells))


@pytest.mark.parametrize(("daemons", "pods", "picture"), [
    (0, (), "░" * 10),
    (1, (), "▓░░░░░░░░░"),
    (10, (30, 20), "▓██▊█▊░░░░"),
    (10, (20, 30), "▓██▊█▊░░░░"),
    (10, (4, 3, 3), "▓▒░░░░░░░░"),
    (0, (2,), "▒░░░░░░░░░"),
    (10, (90,), "▓████████▊"),
    (10, (80, 80), "▓███████▊▊"),
    (100, (), "▓" * 10),
])  # fmt: skip
def test_a_bin_shows_daemonsets_pods_and_free_space(daemons: int, pods: tuple[int, ...], picture: str) -> None:
    assert drawn(daemons, pods) == picture


def a_bin(name: str, pool: str = "general", cpu: int = 4_000, memory: int = 8 << 30) -> Bin:
    return Bin(name=name, pool=pool, cpu=cpu, memory=memory, daemons=Block(100, 1 << 30), pods=(Block(2_000, 0),))


def test_larger_nodes_are_longer_for_each_resource_separately() -> None:
    bins = [a_bin("big", cpu=64_000), a_bin("small", "", cpu=1_000)]
    text = texts_of(packing_lines(bins, "cpu", 60))
    assert [sum(line.count(cell) for cell in "▓█▊▒░") for line in text[2::2]] == [18, 4]
    assert text[3].startswith("─ not Karpenter’s 1 node")
    assert text[4].endswith("210%")
    [_, heading, _] = packing_lines(bins[:1], "memory", 80)
    assert "memory 1,024/8,192Mi 12%" in heading[1][0]
    assert packing_lines((), "cpu", 80)[0][0][0] == "the pods or the capacity of the nodes are unknown"


def test_bins_contain_the_requests_of_their_nodes() -> None:
    view = view_of(a_fleet())
    entries = {entry.name: entry for entry in view.node_entries}
    for item in bins_of(view):
        share = entries[item.name].cpu
        assert item.daemons.cpu == share.daemons
        assert abs(sum(pod.cpu for pod in item.pods) - share.workload) <= len(item.pods)


SCENARIO = Scenario("less")
KEPT = a_bin("ip-10-0-0-1")
FULLER = replace(KEPT, pods=(*KEPT.pods, Block(1_000, 0)))
GONE = a_bin("ip-10-0-0-2")
NEW = a_bin("m6i.2xlarge", cpu=8_000)
OTHER = a_bin("ip-10-0-0-9", "batch")
FOUND = Packed(nodes=(PackedNode(before=OTHER, after=OTHER), PackedNode(before=KEPT, after=FULLER),
                      PackedNode(before=GONE), PackedNode(after=NEW, is_launched=True)),
               left_out=1, waiting_before=2)  # fmt: skip


def lines_of(packed: Packed = FOUND, resource: str = "cpu", width: int = 116) -> list[str]:
    return texts_of(packed_lines(packed, SCENARIO, resource, width))


def test_the_answer_is_first_and_changed_pools_precede_others() -> None:
    lines = lines_of()
    assert lines[0] == "1 new node launched, 1 node removed, 1 node runs other pods; unschedulable pods: 2 → 0"
    assert lines[1].startswith("less, pending now: both sides simulated")
    assert "1 node being removed or of unknown size not drawn" in " ".join(lines[1:3])
    headings = [line for line in lines if line.startswith("─")]
    assert headings[0].startswith("─ general 2 nodes, 2 → 3 pods, cpu 4200/8000m 52% → 5.2/12 43% ─")
    assert headings[1].startswith("─ batch 1 node, 1 pod, cpu 2100/4000m 52% ─")


@pytest.mark.parametrize("width", [56, 76, 116, 196])
@pytest.mark.parametrize("resource", ["cpu", "memory"])
def test_no_line_is_wider_than_the_terminal(width: int, resource: str) -> None:
    many = FOUND._replace(nodes=(*FOUND.nodes, *(PackedNode(before=KEPT) for _ in range(1_200))))
    assert all(cell_len(line) <= width for line in lines_of(many, resource, width) if not line.startswith("▓ Daemon"))


def test_packing_without_a_change_or_with_a_problem() -> None:
    same = Packed(nodes=(PackedNode(before=NEW, after=NEW, is_launched=True),), waiting_before=3, waiting_after=3)
    assert packed_sentence(same) == "No node is packed differently; unschedulable pods: 3"
    assert lines_of(same)[-1].startswith("+ m6i.2xlarge ")
    assert lines_of(Packed(problem="no [b]such\x1b node")) == ["✘ no [b]such␛ node"]
    hostile: Bin = replace(NEW, name="a\x1b[31mb", pool="p\x1b]0;x")
    assert "\x1b" not in "".join(lines_of(Packed(nodes=(PackedNode(before=hostile),))))
