"""Top bar, tabs and key line of every screen, at every width."""

from __future__ import annotations

import re
from typing import ClassVar

import pytest
from textual.binding import Binding, BindingType
from textual.widgets import Static

from karptui.screens.registry import TABS
from karptui.views.row import Tone
from karptui.views.sources import Health
from karptui.views.top_bar import Fact, TopBarValues, version_fact
from karptui.widgets.key_line import Key, KeyLine, fit
from karptui.widgets.top_bar import TabLine, TopBar
from tests.builders import present
from tests.widgets.harness import WidgetApp

FACTS = (
    Fact("62 nodes"), Fact("$25.08/h · $18,310/mo", "$25.08/h+"), Fact("held $4.12/h", "held $4.12/h"),
    Fact("914 pods", "914 pods"), Fact("cpu 61%", "cpu 61%"), Fact("mem 74%", "mem 74%"),
)  # fmt: skip
VALUES = TopBarValues("prod-eu-1", facts=FACTS, health=Health("● live 12:00:07Z", "● 12:00:07Z", Tone.GOOD))
NOTES = {"pending": "3", "blockers": "9", "advice": "14"}
LARGE = {"pending": "12,345", "blockers": "67,890", "advice": "123"}


@pytest.mark.parametrize(("width", "expected"), [
    (90, ["12 of 61 nodes:", "$1.00/h · $730/mo", "cpu 61% 1/2", "mem 50% 2/4"]),
    (80, ["12 of 61 nodes:", "$1.00/h", "cpu 61% 1/2", "mem 50% 2/4"]),
    (72, ["12 of 61 nodes:", "$1.00/h", "cpu 61% 1/2", "mem 50%"]),
    (64, ["12/61 nodes:", "$1.00/h", "cpu 61%", "mem 50%"]),
])  # fmt: skip
async def test_exact_figures_are_shortened_after_the_others(width: int, expected: list[str]) -> None:
    facts = (
        Fact("12 of 61 nodes:", "12/61 nodes:", is_exact=True),
        Fact("$1.00/h · $730/mo", "$1.00/h"),
        Fact("cpu 61% 1/2", "cpu 61%", is_exact=True),
        Fact("mem 50% 2/4", "mem 50%", is_exact=True),
    )
    bar = TopBar()
    async with WidgetApp(bar).run_test(size=(width, 3)):
        bar.values = TopBarValues("eu", facts=facts, health=VALUES.health)
        assert [text.strip() for text in bar.render().plain.split("  ") if text.strip()][1:-1] == expected


async def test_figures_of_the_top_bar_are_separated() -> None:
    bar = TopBar()
    async with WidgetApp(bar).run_test(size=(40, 3)) as pilot:
        bar.values = VALUES
        for width in range(40, 161, 8):
            await pilot.resize_terminal(width, 3)
            line = bar.render().plain
            assert len(line) <= width
            for fact in FACTS:
                for text in {fact.text, fact.short} - {""}:
                    for match in re.finditer(re.escape(text), line):
                        assert line[: match.start()].endswith("  ") or line[match.start() - 1] in "+·", line
            assert "  ●" in line


async def test_the_version_is_shortened_or_left_out_in_a_narrow_terminal() -> None:
    bar = TopBar()
    async with WidgetApp(bar).run_test(size=(36, 3)) as pilot:
        bar.values = TopBarValues("prod", facts=(Fact("40 nodes", "40"),), version=version_fact("1.15.1"))
        for width, shown in ((36, ""), (44, "v1.15.1 "), (120, "Karpenter 1.15.1 ")):
            await pilot.resize_terminal(width, 3)
            assert " ".join(bar.render().plain.split()) == f"prod 40 nodes {shown}○ connecting"


def test_an_unmodelled_version_names_the_version_used_instead() -> None:
    assert version_fact("") is None
    told = present(version_fact("1.13.2"))
    assert (told.text, told.short) == ("Karpenter 1.13.2, modelled by 1.14.1", "v1.13.2 ≠ 1.14.1")
    assert told.tone is Tone.WARNING


@pytest.mark.parametrize(("width", "notes", "part"), [
    pytest.param(120, NOTES, " 4 Pods  5 Pending·3  6 Blockers·9 ", id="whole titles"),
    pytest.param(80, NOTES, "4Pods 5Pend·3 6Block·9 7Budg 8Types ", id="short titles"),
    pytest.param(72, NOTES, "1Node 2Pool 3Clai 4Pods 5Pend·3", id="four letters"),
    pytest.param(80, LARGE, "5Pend·12,345 6Bloc·67,890 ", id="counts of a large cluster"),
])  # fmt: skip
async def test_tab_titles_are_shortened_before_counts_are_dropped(width: int, notes: dict[str, str], part: str) -> None:
    tabs = TabLine(TABS, "nodes")
    async with WidgetApp(tabs).run_test(size=(width, 3)) as pilot:
        tabs.notes = notes
        await pilot.pause()
        line = tabs.render().plain
    assert len(line) <= width
    assert part in line
    assert all(tab.key in line for tab in TABS)


KEYS = (
    Key("a", "a", "a", "Alpha"),
    Key("b", "b", "b", "Beta blocker", "Beta"),
    Key("c", "enter", "enter", "Gamma"),
    Key("screen.help", "question_mark", "?", "Help"),
    Key("screen.leave", "q", "q", "Quit"),
)


@pytest.mark.parametrize(("width", "text"), [
    (60, " a Alpha  b Beta blocker  enter Gamma  ? Help  q Quit "),
    (54, " a Alpha  b Beta blocker  enter Gamma  ? Help  q Quit "),
    (53, "a Alpha b Beta blocker enter Gamma ? Help q Quit"),
    (48, "a Alpha b Beta blocker enter Gamma ? Help q Quit"),
    (47, "a Alpha b Beta enter Gamma ? Help q Quit"),
    (40, "a Alpha b Beta enter Gamma ? Help q Quit"),
    (39, "a Alpha b Beta … ? Help q Quit"),
    (29, "a Alpha … ? Help q Quit"),
    (16, "… ? Help q Quit"),
])  # fmt: skip
def test_keys_are_packed_closer_and_an_ellipsis_marks_missing_ones(width: int, text: str) -> None:
    pieces = fit(KEYS, width)
    assert "".join(piece.label + piece.text for piece in pieces) == text
    assert sum(piece.width for piece in pieces) == len(text)


class Keyed(Static, can_focus=True):
    """A widget with its own key binding."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark", "app.bell", "Help", key_display="?", id="screen.help"),
        Binding("f", "app.bell", "Filter", id="list.filter"),
        Binding("o", "app.bell", "Own", id="own"),
        Binding("e", "app.bell", "Explain", id="nodes.explain"),
    ]


async def test_keys_of_the_screen_precede_global_keys() -> None:
    keyed = Keyed()
    line = KeyLine(("nodes.explain",), ("list.filter", "screen.help"), {"own": "O"}, lambda _, words: words.upper())
    async with WidgetApp(keyed, line).run_test(size=(60, 4)) as pilot:
        keyed.focus()
        await pilot.pause()
        assert str(line.render()).split() == ["e", "EXPLAIN", "o", "OWN", "f", "FILTER", "?", "HELP"]
        await pilot.resize_terminal(26, 4)
        await pilot.pause()
        assert str(line.render()) == "e EXPLAIN o O … ? HELP"
