from __future__ import annotations

import pytest

from karptui.session.grouping import Folding, Grouping


class Shade(Grouping):
    NOTHING = "nothing"
    LIGHT = "light"
    DARK = "dark"


def test_groupings_go_round() -> None:
    assert [shade.next for shade in Shade] == [Shade.LIGHT, Shade.DARK, Shade.NOTHING]
    assert [shade.has_groups for shade in Shade] == [False, True, True]


@pytest.mark.parametrize(
    ("folding", "hidden"),
    [
        (Folding(), ""),
        (Folding(is_folded=True), "ab"),
        (Folding(is_folded=True, exceptions=frozenset("a")), "b"),
        (Folding().toggled("a"), "a"),
        (Folding().toggled("a").toggled("b").toggled("a"), "b"),
        (Folding().with_default(is_folded=True), "ab"),
        (Folding(is_folded=False).with_default(is_folded=True), ""),
        (Folding().toggled("a").with_default(is_folded=True), "b"),
    ],
)
def test_which_groups_hide_their_rows(folding: Folding, hidden: str) -> None:
    assert [name for name in "ab" if folding.hides(name)] == list(hidden)
