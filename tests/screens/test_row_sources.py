"""Rows whose facts are fetched a page at a time."""

from __future__ import annotations

from collections import Counter

import pytest

from karptui.config import DEFAULTS
from karptui.screens.row_sources import PAGE, PagedFacts, PagedKeys, Pages
from karptui.serving.lists import lists_of
from karptui.serving.questions import answers_of
from karptui.session.border import RowsWanted, RowWindow, WindowWanted
from karptui.session.replays import SharedBase
from karptui.session.row_server import RowServer
from tests.builders import NOW_NS
from tests.ui.fleet import a_fleet, view_of

VIEW = view_of(a_fleet())


class Counting(RowServer):
    """Counts the windows that are asked for."""

    def __init__(self) -> None:
        super().__init__(lambda: VIEW, lists_of(DEFAULTS), answers_of(SharedBase()))
        self.asked: Counter[int] = Counter()

    def window(self, wanted: WindowWanted) -> RowWindow:
        self.asked[wanted.offset] += 1
        return super().window(wanted)


def test_only_pages_that_are_looked_at_are_fetched_each_once() -> None:
    border = Counting()
    found = border.rows(RowsWanted(list="pods", sort="name", now_ns=NOW_NS))
    assert found.shown > PAGE
    pages = Pages(border, found)
    facts, keys = PagedFacts(pages), PagedKeys(pages)
    assert len(facts) == len(keys) == found.shown
    assert [one.pod.key for one in facts[2:5]] == list(keys[2:5])
    assert border.asked == {0: 1}
    assert keys[-1] == facts[found.shown - 1].pod.key
    assert set(border.asked.values()) == {1}
    assert len(border.asked) == 2


def test_a_key_is_looked_up_without_fetching_rows() -> None:
    border = Counting()
    pages = Pages(border, border.rows(RowsWanted(list="pods", sort="name", now_ns=NOW_NS)))
    keys = PagedKeys(pages)
    every = list(keys)
    assert not border.asked
    assert keys.index(every[70]) == 70
    assert every[70] in keys
    assert "no/such" not in keys
    with pytest.raises(ValueError, match="no/such"):
        keys.index("no/such")
    with pytest.raises(IndexError):
        keys[len(every)]
    assert not border.asked
