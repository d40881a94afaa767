"""Rows whose facts are fetched a page at a time."""

from __future__ import annotations

from collections import Counter

import pytest

from karptui.config import DEFAULTS
from karptui.screens.row_sources import PAGE, PagedFacts, PagedKeys, Pages
from karptui.serving.lists import lists_of
from karptui.serving.session import ClusterSession
from karptui.session.answers import RowQuery, RowWindow
from tests.builders import NOW_NS
from tests.ui.fleet import a_fleet, view_of

VIEW = view_of(a_fleet())


class Counting(ClusterSession):
    """Counts the windows that are asked for."""

    def __init__(self) -> None:
        super().__init__(lambda: VIEW, lists_of(DEFAULTS))
        self.asked: Counter[int] = Counter()

    def window(self, number: int, offset: int, count: int) -> RowWindow:
        self.asked[offset] += 1
        return super().window(number, offset, count)


def test_only_pages_that_are_looked_at_are_fetched_each_once() -> None:
    session = Counting()
    found = session.rows(RowQuery(list="pods", sort="name", now_ns=NOW_NS))
    assert found.shown > PAGE
    pages = Pages(session, found)
    facts, keys = PagedFacts(pages), PagedKeys(pages)
    assert len(facts) == len(keys) == found.shown
    assert [one.pod.key for one in facts[2:5]] == list(keys[2:5])
    assert session.asked == {0: 1}
    assert keys[-1] == facts[found.shown - 1].pod.key
    assert set(session.asked.values()) == {1}
    assert len(session.asked) == 2


def test_a_key_is_looked_up_without_fetching_rows() -> None:
    session = Counting()
    pages = Pages(session, session.rows(RowQuery(list="pods", sort="name", now_ns=NOW_NS)))
    keys = PagedKeys(pages)
    every = list(keys)
    assert not session.asked
    assert keys.index(every[70]) == 70
    assert every[70] in keys
    assert "no/such" not in keys
    with pytest.raises(ValueError, match="no/such"):
        keys.index("no/such")
    with pytest.raises(IndexError):
        keys[len(every)]
    assert not session.asked
