"""The picture of packing before and after a what-if."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from karptui.session.packed import PackedNode
from karptui.session.packing import Bin, Block
from karptui.session.questions import PackedFound
from karptui.views.packed import packed_lines, packed_sentence
from karptui.views.row import Tone
from karptui.whatif.scenario import Scenario
from tests.views.test_packing import a_bin

SCENARIO = Scenario("less")
KEPT = a_bin("ip-10-0-0-1")
FULLER = replace(KEPT, pods=(*KEPT.pods, Block(1_000, 0)))
GONE = a_bin("ip-10-0-0-2")
NEW = a_bin("m6i.2xlarge", cpu=8_000)
OTHER = a_bin("ip-10-0-0-9", "batch")
FOUND = PackedFound(
    nodes=(
        PackedNode(before=OTHER, after=OTHER),
        PackedNode(before=KEPT, after=FULLER),
        PackedNode(before=GONE),
        PackedNode(after=NEW, is_launched=True),
    ),
    left_out=1,
    waiting_before=2,
)


def text_of(found: PackedFound = FOUND, resource: str = "cpu", width: int = 116) -> list[str]:
    return ["".join(text for text, _ in line) for line in packed_lines(found, SCENARIO, resource, width)]


def test_the_answer_stands_first_and_changed_pools_before_others() -> None:
    lines = text_of()
    assert lines[0] == "1 new node comes, 1 node goes, 1 node holds other pods; pods without a place: 2 → 0"
    assert lines[1].startswith("less, pending now: both sides replayed")
    assert "1 node on the way out or of unknown size not drawn" in " ".join(lines[1:3])
    headings = [line for line in lines if line.startswith("─")]
    assert headings[0].startswith("─ general 2 nodes, 2 → 3 pods, cpu 4200/8000m 52% → 5.2/12 43% ─")
    assert headings[1].startswith("─ batch 1 node, 1 pod, cpu 2100/4000m 52% ─")


def test_a_node_that_goes_is_dim_and_a_new_one_is_marked() -> None:
    lines = packed_lines(FOUND, SCENARIO, "cpu", 116)
    [goes] = [line for line in lines if line[-1][0] == "goes"]
    assert {tone for text, tone in goes if text.strip()} == {Tone.MUTED}
    [new] = [line for line in lines if line[0][0].startswith("+ m6i.2xlarge")]
    assert not new[1][0].strip()
    spared = text_of(PackedFound(nodes=(PackedNode(before=NEW, is_launched=True),)))
    assert spared[0].startswith("1 new node is not launched any more; ")
    assert spared[-1].endswith(" → not launched")


@pytest.mark.parametrize("width", [56, 76, 116, 196])
@pytest.mark.parametrize("resource", ["cpu", "memory"])
def test_no_line_is_wider_than_there_is_room(width: int, resource: str) -> None:
    many = replace(FOUND, nodes=(*FOUND.nodes, *(PackedNode(before=KEPT) for _ in range(1_200))))
    assert all(cell_len(line) <= width for line in text_of(many, resource, width) if not line.startswith("▓ Daemon"))


def test_nothing_that_changes_and_nothing_that_can_be_said() -> None:
    same = PackedFound(nodes=(PackedNode(before=NEW, after=NEW, is_launched=True),), waiting_before=3, waiting_after=3)
    assert packed_sentence(same) == "No node is filled in another way; pods without a place: 3"
    assert text_of(same)[-1].startswith("+ m6i.2xlarge ")
    assert text_of(PackedFound(problem="no [b]such\x1b node")) == ["✘ no [b]such␛ node"]
    hostile: Bin = replace(NEW, name="a\x1b[31mb", pool="p\x1b]0;x")
    assert "\x1b" not in "".join(text_of(PackedFound(nodes=(PackedNode(before=hostile),))))
