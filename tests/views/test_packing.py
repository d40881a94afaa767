"""The picture of packing: what a bin shows of its pods, and how bins stand side by side."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from karptui.session.packing import Bin, Block, bins_of
from karptui.views.packing import LEGEND, blocks, packing_lines
from tests.ui.fleet import a_fleet, view_of


def drawn(daemons: int, pods: tuple[int, ...], cells: int = 10) -> str:
    return "".join(text for text, _ in blocks(daemons, pods, 100, cells))


@pytest.mark.parametrize(
    ("daemons", "pods", "picture"),
    [
        (0, (), "░" * 10),
        (1, (), "▓░░░░░░░░░"),
        (10, (30, 20), "▓██▊█▊░░░░"),
        (10, (20, 30), "▓██▊█▊░░░░"),
        (10, (4, 3, 3), "▓▒░░░░░░░░"),
        (0, (2,), "▒░░░░░░░░░"),
        (10, (90,), "▓████████▊"),
        (10, (80, 80), "▓███████▊▊"),
        (100, (), "▓" * 10),
    ],
)
def test_a_bin_shows_daemonsets_pods_and_what_is_free(daemons: int, pods: tuple[int, ...], picture: str) -> None:
    assert drawn(daemons, pods) == picture


def a_bin(name: str, pool: str = "general", cpu: int = 4_000, memory: int = 8 << 30) -> Bin:
    return Bin(
        key=name, name=name, pool=pool, cpu=cpu, memory=memory, daemons=Block(100, 1 << 30), pods=(Block(2_000, 0),)
    )


@pytest.mark.parametrize(("width", "columns"), [(60, 1), (77, 2), (117, 3), (197, 5)])
def test_bins_stand_side_by_side_as_far_as_there_is_room(width: int, columns: int) -> None:
    bins = [a_bin(f"ip-10-0-0-{number}") for number in range(10)]
    legend, heading, *lines = packing_lines(bins, "cpu", width)
    assert legend == LEGEND
    assert "".join(text for text, _ in heading).startswith("─ general 10 nodes, 10 pods, cpu 21/40 52% ─")
    assert len(lines) == -(-10 // columns)
    assert all(cell_len("".join(text for text, _ in line)) <= width for line in (heading, *lines))


def test_larger_nodes_are_longer_and_memory_is_measured_by_itself() -> None:
    bins = [a_bin("big", cpu=64_000), a_bin("small", "", cpu=1_000)]
    text = ["".join(text for text, _ in line) for line in packing_lines(bins, "cpu", 60)]
    assert [sum(line.count(cell) for cell in "▓█▊▒░") for line in text[2::2]] == [18, 4]
    assert text[3].startswith("─ not Karpenter’s 1 node")
    assert text[4].endswith("210%")
    [_, heading, _] = packing_lines(bins[:1], "memory", 80)
    assert "memory 1,024/8,192Mi 12%" in heading[1][0]
    assert packing_lines((), "cpu", 80)[0][0][0] == "no node says yet what it has"


def test_the_bins_of_a_cluster_hold_what_its_nodes_do() -> None:
    view = view_of(a_fleet())
    entries = {entry.key: entry for entry in view.node_entries}
    for one in bins_of(view):
        share = entries[one.key].cpu
        assert one.daemons.cpu == share.daemons
        assert abs(sum(pod.cpu for pod in one.pods) - share.workload) <= len(one.pods)
