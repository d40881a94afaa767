from __future__ import annotations

import pytest

from karptui.serving.blockers import PACED_FROM, Remedies, blockers
from karptui.session.answers import RowQuery
from karptui.session.blockers import BlockerGroup, blocker_entries
from karptui.session.replays import SharedBase
from tests.builders import NOW_NS
from tests.views.why.test_words import analysed

WANTED = RowQuery(list="blockers", sort="held", group_by="owner", now_ns=NOW_NS)


def keys_in(namespace: str) -> tuple[str, ...]:
    return tuple(entry.key for entry in blocker_entries(analysed()) if entry.namespace == namespace)


def test_rows_come_in_groups_that_are_open_while_there_are_few() -> None:
    served, view = blockers(), analysed()
    arranged = served.arrange(served.items(view, WANTED), WANTED)
    assert isinstance(arranged.items[0], BlockerGroup)
    assert len(arranged.items) > arranged.shown > 0


def test_many_rows_rest_for_as_long_as_they_took(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("karptui.serving.blockers.PACED_FROM", 1)
    now = [0.0]

    def clock() -> float:
        now[0] += 1.0
        return now[0]

    assert PACED_FROM > 1
    served = blockers(clock)
    result = served.items(analysed(), WANTED)
    served.arrange(result, WANTED)
    assert served.items(analysed(), WANTED) is result
    now[0] += 20.0
    assert served.items(analysed(), WANTED) is not result


def test_remedies_are_of_the_newest_analysis() -> None:
    keys = keys_in("gitlab")
    first, later = analysed(), analysed()
    asked = Remedies(SharedBase())
    remedy_list = asked.offered(first, keys, NOW_NS)
    assert remedy_list.remedies
    assert [entry.key for entry in remedy_list.members] == list(keys)
    again = asked.offered(later, keys, NOW_NS)
    assert again.members[0].findings is not remedy_list.members[0].findings
    assert not asked.offered(first, ("gone",), NOW_NS).members


def test_every_remedy_is_tried_and_one_is_best() -> None:
    asked, view, keys = Remedies(SharedBase()), analysed(), keys_in("gitlab")
    trials = asked.tried(view, keys, NOW_NS)
    assert len(trials.trials) == len(trials.kinds) > 0
    assert trials.best in trials.kinds
    assert asked.tried(view, (), NOW_NS).best is None
