from __future__ import annotations

import errno
import os
import re
from itertools import product
from pathlib import Path
from typing import IO

import pytest

from karptui.app import KarptuiApp
from karptui.clock import FrozenClock
from karptui.decode.kinds import Kind
from karptui.kube.units import memory_pair_text
from karptui.screens.node_detail import NodeDetailScreen
from karptui.screens.nodes import NodesScreen
from karptui.screens.pods import PodsScreen
from karptui.screens.text import TextScreen
from karptui.screens.types import TypeLedgerScreen
from karptui.views.verdict.sentence import pending_reasons, sentence
from karptui.widgets.info_line import InfoLine
from karptui.widgets.row_table.canvas import HEADER_LINES
from karptui.widgets.row_table.table import RowTable
from karptui.widgets.sentences import Sentences
from tests.builders import NOW_NS
from tests.ui.conftest import MakeApp
from tests.ui.fleet import FleetSource, a_fleet, lines_of, screen_text
from tests.ui.stage import demo_app, press, running, settled

SIZE = (120, 40)


def names(app: KarptuiApp) -> list[str]:
    rows = app.screen.query_one(RowTable).rows
    return [rows[index].cells[0].short or rows[index].cells[0].text for index in range(len(rows))]


def bar(app: KarptuiApp) -> str:
    return lines_of(app)[0]


async def test_the_top_bar_sums_marked_or_filtered_nodes(make_app: MakeApp) -> None:
    async with running(make_app(), (200, 40)) as (app, pilot):
        whole = bar(app)
        assert "11 nodes  +2 starting  " in whole
        await pilot.press("slash", *"pool=general")
        entries = app.follower.view.node_entries
        left = [entry for entry in entries if entry.pool == "general" and entry.node is not None]
        assert f"{len(left)} of 11 nodes +1 starting:" in bar(app)
        assert f"  {sum(entry.pods.requested for entry in left)} pods  " in bar(app)
        await pilot.press("enter", "end", "space", "up", "space")
        assert "  2 marked:  " in bar(app)
        marked = [entry for entry in entries if entry.key in app.screen.query_one(RowTable).marked]
        memory = sum(entry.memory.requested for entry in marked), sum(entry.memory.capacity for entry in marked)
        assert f"% {memory_pair_text(*memory)}  " in bar(app)
        assert f"  {sum(entry.pods.requested for entry in marked)} pods  " in bar(app)
        await pilot.press("space")
        assert "2 marked" not in bar(app)
        await pilot.press("escape", "escape")
        assert bar(app) == whole


async def test_keys_sort_and_filter_and_an_invalid_filter_keeps_the_rows(make_app: MakeApp) -> None:
    async with running(make_app(), SIZE) as (app, pilot):
        await pilot.press("S")
        assert names(app)[0] == "ip-10-0-44-2"
        await pilot.press("A", "A")
        assert names(app)[0] == "ip-10-0-1-10"
        await pilot.press("slash", *"pool=trino")
        assert names(app) == ["ip-10-0-5-160"]
        await pilot.press("enter")
        assert "[1/13] ─ pool=trino" in screen_text(app)
        await pilot.press("slash", "end", *" nothing")
        await pilot.press("enter")
        assert "no nodes match  pool=trino nothing" in screen_text(app)
        await pilot.press("escape")
        assert "[13]" in screen_text(app)
        await pilot.press("ctrl+z")
        assert "blocked or faulty only" in screen_text(app)
        assert len(names(app)) == 6
        await pilot.press("space", "escape")
        assert len(names(app)) == 13
        assert "1 marked" in screen_text(app)
        await pilot.press("escape", "escape")
        assert "1 marked" not in screen_text(app)
        await pilot.press("slash", *"cpu")
        await pilot.press("greater_than_sign")
        assert "cpu> takes a value such as 500m, 2 or 80%; nothing follows" in screen_text(app)
        await pilot.press("enter")
        assert "cpu> takes a value" in screen_text(app)
        await pilot.press("down")
        assert "cpu> takes a value" not in screen_text(app)
        await pilot.press("slash", *"x")
        await pilot.press("escape")
        assert len(names(app)) == 13


def told(app: KarptuiApp) -> str:
    """Return the text below the table, as drawn."""
    info = app.screen.query_one("#info", InfoLine)
    return str(info.render())


@pytest.mark.parametrize(("size", "lines"), [((80, 24), 3), ((120, 40), 2), ((200, 60), 2)])
async def test_the_info_line_shows_columns_that_do_not_fit(
    make_app: MakeApp, size: tuple[int, int], lines: int
) -> None:
    async with running(make_app(), size) as (app, pilot):
        await pilot.press("end")
        drawn = {heading.title for heading in app.screen.query_one(RowTable).layout_columns}
        text = told(app)
        assert len(text.split("\n")) <= lines
        assert ("PODS" not in drawn) is ("/234 pods" in text)
        assert "amd64" in text
        await pilot.press("ctrl+w", "up")
        assert "amd64" not in told(app)


async def test_nodes_and_claims_open_and_escape_returns(make_app: MakeApp) -> None:
    async with running(make_app(), SIZE) as (app, pilot):
        await pilot.press(*["down"] * 3, "enter")
        assert isinstance(app.screen, NodeDetailScreen)
        text = screen_text(app)
        for word in ("allocatable", "239,554Mi", "trino-worker-0", "q Back"):
            assert word in text
        await press(pilot, "enter")
        assert isinstance(app.screen, TextScreen)
        assert "trino-worker" in screen_text(app)
        await pilot.press("escape", "q")
        assert isinstance(app.screen, NodesScreen)
        assert names(app)[app.screen.query_one(RowTable).cursor_index] == "ip-10-0-5-160"
        await pilot.press("home")
        await pilot.press("o")
        assert isinstance(app.screen, NodesScreen)
        await press(pilot, "y")
        assert "kind: NodeClaim" in screen_text(app)
        await pilot.press("q", "enter")
        assert "launched for pods requesting cpu 6500m mem 21Gi" in screen_text(app)
        await press(pilot, "y")
        assert "name: general-x7k2p" in screen_text(app)
        await pilot.press("escape", "escape", "home")
        assert isinstance(app.screen, NodesScreen)
        await pilot.press("down", "down", "enter")
        await pilot.press("o")
        assert "it has no NodeClaim" in screen_text(app)
        await press(pilot, "d")
        assert "none: Karpenter does not manage this node" in screen_text(app)
        await pilot.press("q", "q", "down", "enter")
        await press(pilot, "o")
        assert "kind: NodeClaim" in screen_text(app)
        await press(pilot, "3", "slash", *"general-x7k2p", "enter", "e")
        assert isinstance(app.screen, NodeDetailScreen)
        assert "general-x7k2p" in screen_text(app)


async def test_with_few_pods_the_facts_are_higher(make_app: MakeApp) -> None:
    async with running(make_app(), SIZE) as (app, pilot):
        for size, downs in product((SIZE, (200, 60)), (3, 2)):
            await pilot.resize_terminal(*size)
            await pilot.press("home", *["down"] * downs, "enter")
            assert isinstance(app.screen, NodeDetailScreen)
            table, panel = app.screen.query_one(RowTable), app.screen.panel
            assert table.size.height == len(table.rows) + HEADER_LINES
            assert panel.size.height > 20
            assert panel.region.bottom == table.region.y
            await pilot.press("escape")


async def test_tab_focuses_the_facts_which_scroll_with_the_table_keys(make_app: MakeApp) -> None:
    async with running(make_app(), (80, 24)) as (app, pilot):
        await pilot.press(*["down"] * 3, "enter")
        assert "tab Facts" in screen_text(app)
        facts = app.screen.query_one("#facts-scroll")
        await pilot.press("tab", "G")
        assert facts.scroll_offset.y == facts.max_scroll_y > 0
        await pilot.press("k", "g")
        assert facts.scroll_offset.y == 0
        await pilot.press("j", "tab", "j")
        assert facts.scroll_offset.y == 1
        assert app.screen.query_one(RowTable).has_focus


async def test_the_detail_of_a_removed_node_stays_open_with_a_note(make_app: MakeApp) -> None:
    fleet = a_fleet()
    source = FleetSource(fleet)
    async with running(make_app(source=source), SIZE) as (app, pilot):
        await pilot.press(*["down"] * 3, "enter")
        fleet.objects[Kind.NODE].pop("ip-10-0-5-160.eu-west-1.compute.internal")
        fleet.objects[Kind.NODECLAIM].pop("trino-x5x160")
        assert source.mailbox is not None
        fleet.pour(source.mailbox)
        app.poll_now()
        await pilot.pause()
        assert "the node is gone; this is its last state" in screen_text(app)
        await pilot.press("escape")
        assert "Nodes [12]" in screen_text(app)


async def test_keys_copy_and_show_one_object(make_app: MakeApp, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(make_app(), SIZE) as (app, pilot):
        copied: list[str] = []
        monkeypatch.setattr(app, "copy_to_clipboard", copied.append)
        await pilot.press("down", "down", "c")
        assert copied == ["ip-10-0-1-10.eu-west-1.compute.internal"]
        assert "copied ip-10-0-1-10" in screen_text(app)
        await pilot.press("space", "space", "c")
        assert copied[1].count("\n") == 1
        assert "copied 2 names" in screen_text(app)
        await press(pilot, "y")
        assert "kind: Node" in screen_text(app)
        await pilot.press("c", "G", "g", "j", "k")
        assert copied[2].startswith("apiVersion: v1")
        await press(pilot, "q", "d")
        assert "allocatable" in screen_text(app)
        await pilot.press("escape", "o")
        assert isinstance(app.screen, PodsScreen)
        assert "node=ip-10-0-8-41" in screen_text(app)


async def test_settings_apply_to_the_first_screen(make_app: MakeApp) -> None:
    given = {"node_sort": "mem=dsc", "extra_labels": ("team",), "node_selector": "team=web", "wide": True}
    async with running(make_app(**given), (230, 40)) as (app, _):
        assert "MEM↓" in screen_text(app)
        assert "TEAM" in screen_text(app)
        assert "[10/13] ─ -l 'team=web'" in screen_text(app)
        assert "EXPIRES" in screen_text(app)


async def test_no_finding_of_the_demo_is_shortened_in_a_small_terminal() -> None:
    app = demo_app(FrozenClock(NOW_NS))
    async with running(app, (80, 24)) as (_, pilot):
        findings = app.session.verdict(NOW_NS)
        reasons = pending_reasons(app.follower.view)
        told = ["".join(sentence(finding, NOW_NS, reasons).split()) for finding in findings]
        seen = ""
        assert f"v: {len(findings) - shown(app)} more findings ─ last hour ▁▁▁▂▃▇" in screen_text(app)
        for _ in range(len(findings)):
            await pilot.press("v")
            seen += "".join(without_tails(app))
        assert [text for text in told if text not in seen] == []
        assert "Nodes [" in screen_text(app)


def shown(app: KarptuiApp) -> int:
    return sum(line.startswith((" ✘ ", " ! ", " · ")) for line in verdict_of(app))


def verdict_of(app: KarptuiApp) -> list[str]:
    return str(app.screen.query_one("#verdict", Sentences).content).split("\n")


def without_tails(app: KarptuiApp) -> list[str]:
    """Return the texts of the verdict on the screen, without blanks, marks, costs and keys."""
    drawn = verdict_of(app)
    assert all(len(line) < app.size.width for line in drawn)
    heads = [
        re.sub(r"^( \S .*?)(  (?:can save )?(?:up to )?\$[\d.]+/h\+?(?: in \w+)?)?  +\S+( n)?$", r"\1", line.rstrip())
        for line in drawn
    ]
    return ["".join(line[3:].split()) for line in heads]


async def test_rows_are_saved_as_shown(make_app: MakeApp, tmp_path: Path) -> None:
    async with running(make_app(), SIZE) as (app, pilot):
        await pilot.press("slash", *"pool=trino", "enter", "ctrl+s")
        assert ": save karptui-nodes-20261124-120007.csv" in screen_text(app)
        await pilot.press("escape")
        app.run_command(f"save {tmp_path / 'nodes.csv'}")
        await pilot.pause()
        assert "1 row saved to" in screen_text(app)
        app.run_command(f"save {tmp_path / 'nodes.txt'}")
        app.run_command(f"save {tmp_path / 'no' / 'folder.csv'}")
        await pilot.pause()
        assert "cannot be written" in screen_text(app)
        app.run_command(f"save {tmp_path / 'nodes.json'}")
        await pilot.pause()
        assert "rows are saved as .csv or .txt, not .json" in screen_text(app)
        assert not (tmp_path / "nodes.json").exists()
        app.run_command(f"save {tmp_path / 'nodes-2026.11.23'}")
        await pilot.pause()
        assert "," in (tmp_path / "nodes-2026.11.23").read_text().splitlines()[0]
        app.run_command(f"save {tmp_path / 'nodes.CSV'}")
        app.run_command(f"save {tmp_path / 'aligned.TXT'}")
        await pilot.pause()
        assert "," not in (tmp_path / "aligned.TXT").read_text().splitlines()[0]
        app.run_command("save")
        await pilot.pause()
        assert "save needs a file" in screen_text(app)
    saved = (tmp_path / "nodes.csv").read_text().splitlines()
    assert saved[0].startswith("name,why,status,pool,type")
    assert (tmp_path / "nodes.CSV").read_text().splitlines() == saved
    assert "ip-10-0-5-160.eu-west-1.compute.internal,pods don't fit" in saved[1]
    assert (tmp_path / "nodes.txt").read_text().startswith("NAME")


async def test_a_screenshot_replaces_no_file(
    make_app: MakeApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with running(make_app(), SIZE) as (app, pilot):
        await press(pilot, "colon", *"screenshot", "enter")
        [picture] = tmp_path.iterdir()
        assert f"the screen is saved to {picture.name}" in screen_text(app)
        app.run_command("screenshot")
        await settled(pilot)
        second = tmp_path / f"{picture.stem}-2.svg"
        assert f"the screen is saved to {second.name}" in screen_text(app), (
            "the clock is frozen, so the second name needs a number"
        )
        second.unlink()
        there = picture.read_text()
        for typed, sentence in (
            (picture.name, f"{picture.name} cannot be written: it exists already"),
            ("none/such.svg", "none/such.svg cannot be written: No such file or directory"),
            ("nodes.png", "a screenshot is an SVG picture: :screenshot nodes.png.svg"),
        ):
            app.run_command(f"screenshot {typed}")
            await settled(pilot)
            assert sentence in screen_text(app)
        monkeypatch.setattr(os, "fdopen", no_room)
        app.run_command("screenshot full.svg")
        await settled(pilot)
        assert "full.svg cannot be written: No space left on device" in screen_text(app)
    assert picture.name == "karptui-nodes-120007Z.svg"
    assert there.startswith("<svg")
    assert "r6i.4xlarge" in there
    assert "screenshot" not in there
    assert [*tmp_path.iterdir()] == [picture]
    assert picture.read_text() == there


def no_room(descriptor: int, _mode: str) -> IO[bytes]:
    os.close(descriptor)
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


async def test_pods_screen(make_app: MakeApp) -> None:
    async with running(make_app(screen="pods"), SIZE) as (app, pilot):
        assert "Pods [89]" in screen_text(app)
        await pilot.press("slash", *"ns=gitlab", "enter", "o")
        assert isinstance(app.screen, NodeDetailScreen)
        assert "ip-10-0-71-204" in screen_text(app)
        await press(pilot, "q", "enter")
        assert "karpenter.sh/do-not-disrupt: true" in screen_text(app)
        await press(pilot, "q", "y")
        assert "name: gitlab/runner-7f2c4" in screen_text(app)
        await pilot.press("q", "slash", "ctrl+u", *"name=trino-worker-1", "enter", "o")
        assert "the pod is not bound to a node" in screen_text(app)


async def test_the_ledger_of_a_nodes_type(make_app: MakeApp) -> None:
    async with running(make_app(), (120, 40)) as (app, pilot):
        await press(pilot, "slash", *"5-160", "enter", "t")
        assert isinstance(app.screen, TypeLedgerScreen)
        await pilot.press("escape", "slash", *"x7k2p", "enter", "t")
        assert "there is no ledger" in screen_text(app)
