"""The lines around every screen, at every width."""

from __future__ import annotations

import re

import pytest

from karptui.screens.registry import TABS
from karptui.views.health import Health
from karptui.views.row import Tone
from karptui.views.top_bar import Fact, TopBarValues
from karptui.widgets.tab_line import TabLine
from karptui.widgets.top_bar import TopBar
from tests.widgets.harness import WidgetApp

FACTS = (
    Fact("62 nodes"),
    Fact("$25.08/h · $18,310/mo", "$25.08/h+"),
    Fact("held $4.12/h", "held $4.12/h"),
    Fact("914 pods", "914 pods"),
    Fact("cpu 61%", "cpu 61%"),
    Fact("mem 74%", "mem 74%"),
)
VALUES = TopBarValues("prod-eu-1", facts=FACTS, health=Health("● live 12:00:07Z", "● 12:00:07Z", Tone.GOOD))
NOTES = {"pending": "3", "blockers": "9", "advice": "14"}


@pytest.mark.parametrize("width", range(40, 161, 4))
async def test_figures_of_the_top_bar_stand_apart(width: int) -> None:
    bar = TopBar()
    async with WidgetApp(bar).run_test(size=(width, 3)) as pilot:
        bar.values = VALUES
        await pilot.pause()
        line = bar.render().plain
    assert len(line) <= width
    for fact in FACTS:
        for text in {fact.text, fact.short} - {""}:
            for found in re.finditer(re.escape(text), line):
                assert line[: found.start()].endswith("  ") or line[found.start() - 1] in "+·", line
    assert "  ●" in line


@pytest.mark.parametrize("width", [80, 100, 120, 200])
async def test_every_tab_fits(width: int) -> None:
    tabs = TabLine(TABS, "nodes")
    async with WidgetApp(tabs).run_test(size=(width, 3)) as pilot:
        tabs.notes = NOTES
        await pilot.pause()
        line = tabs.render().plain
    assert len(line) <= width
    assert all(tab.key in line for tab in TABS)
    assert ("Pending·3" in line) == (width > 100)


async def test_tabs_at_80_columns_read_as_words() -> None:
    tabs = TabLine(TABS, "nodes")
    async with WidgetApp(tabs).run_test(size=(80, 3)) as pilot:
        tabs.notes = NOTES
        await pilot.pause()
        line = tabs.render().plain
    assert line == "1Nodes 2Pools 3Claims 4Pods 5Pend·3 6Block·9 7Budg 8Types 9Events 0Advice·14 "


async def test_counts_of_a_large_cluster_leave_room_for_every_tab() -> None:
    tabs = TabLine(TABS, "nodes")
    async with WidgetApp(tabs).run_test(size=(80, 3)) as pilot:
        tabs.notes = {"pending": "12,345", "blockers": "67,890", "advice": "123"}
        await pilot.pause()
        line = tabs.render().plain
    assert len(line) <= 80
    assert "5Pend·12,345 6Bloc·67,890 " in line
    assert "0Advi·123" in line


async def test_tabs_lose_letters_before_they_lose_tabs() -> None:
    tabs = TabLine(TABS, "nodes")
    async with WidgetApp(tabs).run_test(size=(72, 3)) as pilot:
        tabs.notes = NOTES
        await pilot.pause()
        line = tabs.render().plain
    assert line.startswith("1Node 2Pool 3Clai 4Pods 5Pend·3")
    assert len(line) <= 72
