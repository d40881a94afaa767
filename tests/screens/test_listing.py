"""The rows of a list, without a screen."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from karptui.screens.listing import Groups, Kept, Listing
from karptui.screens.row_sources import OwnRows
from karptui.session.grouping import Folding, GroupHeading, Grouping
from karptui.session.pods import PodEntry
from karptui.views.pods import TABLE
from karptui.views.table import Sort
from tests.builders import NOW_NS, a_pod

MINUTE_NS = 60_000_000_000


def pods(count: int = 4) -> tuple[PodEntry, ...]:
    names = [("shop" if at % 2 else "bank", f"web-{at}") for at in range(count)]
    return tuple(
        PodEntry(f"{namespace}/{name}", a_pod(name=name, namespace=namespace, created_ns=NOW_NS - at * MINUTE_NS))
        for at, (namespace, name) in enumerate(names)
    )


class ByNamespace(Grouping):
    """Group by namespace, or not at all."""

    NAMESPACE = "namespace"
    NOTHING = "nothing"


def with_heading(lines: Sequence[object], by: ByNamespace, folding: Folding) -> Sequence[object]:
    return [GroupHeading("all", tuple(lines), folding.hides("all")), *lines] if by.has_groups else lines


class ReplaceableList:
    """A listing whose items the test can replace."""

    def __init__(self, sort: Sort | None = None) -> None:
        self.items: Sequence[PodEntry] = pods()
        self.source: OwnRows[PodEntry] = OwnRows(lambda: self.items)
        self.listing: Listing[PodEntry] = Listing(TABLE, self.source, sort=sort)

    def names(self, now_ns: int = NOW_NS) -> list[str]:
        self.listing.rows = self.listing.make(now_ns)
        return [item.pod.name for item in self.listing.rows.items]


def test_a_kept_value_is_computed_again_if_an_input_is_a_different_object() -> None:
    kept: Kept[list[int]] = Kept()
    first, other = [1], [1]
    assert kept.latest is None
    numbers = kept.get((first, None), lambda: [1])
    assert kept.get((first, None), lambda: [2]) is numbers
    assert kept.get((other, None), lambda: [2]) == [2]
    assert kept.get((other,), lambda: [3]) == [3]
    assert kept.latest == [3]


def test_rows_follow_the_filter_and_the_sort_order() -> None:
    held = ReplaceableList(Sort("name"))
    listing = held.listing
    assert held.names() == ["web-0", "web-1", "web-2", "web-3"]
    assert listing.set_filter("ns=shop") == ""
    assert held.names() == ["web-1", "web-3"]
    assert (listing.shown, listing.counts(), len(held.source.items)) == (2, "2/4", 4)
    assert listing.sort_by("name")
    assert held.names() == ["web-3", "web-1"]
    assert not listing.sort_by("nothing")


def test_an_invalid_filter_keeps_the_previous_one() -> None:
    listing = ReplaceableList().listing
    listing.set_filter("ns=shop")
    listing.begin_filter()
    assert "nothing" in listing.set_filter("cpu>nothing")
    assert (listing.query_text, listing.query.text) == ("cpu>nothing", "ns=shop")
    assert "nothing" in listing.end_filter("cpu>nothing")
    assert (listing.query_text, listing.query.text) == ("ns=shop", "ns=shop")


@pytest.mark.parametrize(("text", "is_begun"), [("na", True), ("ns", True), ("n", False), ("shop", False), ("", False)])
def test_the_beginning_of_a_field_name_is_recognized(text: str, is_begun: bool) -> None:
    assert ReplaceableList().listing.is_field_begun(text) is is_begun


def test_as_time_passes_only_filters_by_age_are_applied_again() -> None:
    held = ReplaceableList()
    first = held.listing.make(NOW_NS)
    later = held.listing.make(NOW_NS + MINUTE_NS)
    assert later.items is first.items
    assert later.now_ns == NOW_NS + MINUTE_NS
    held.items = tuple(held.items[:2])
    assert held.listing.make(NOW_NS).total == held.source.size() == 2
    held = ReplaceableList(Sort("name"))
    held.listing.set_filter("age<2m")
    assert held.names() == ["web-0", "web-1"]
    assert held.names(NOW_NS + MINUTE_NS) == ["web-0"]


def test_each_grouping_remembers_its_folding() -> None:
    groups: Groups[object, ByNamespace] = Groups(ByNamespace.NAMESPACE, ungrouped_text="not grouped")
    assert groups.text == "by namespace"
    lines = with_heading([1, 2], groups.by, groups.folding)
    groups.fold_all(lines)
    assert groups.folding.hides("all")
    groups.toggle("all")
    assert not groups.folding.hides("all")
    groups.use(ByNamespace.NOTHING)
    assert groups.text == "not grouped"
    assert groups.folding == Folding(is_folded=True)
    groups.use(ByNamespace.NAMESPACE)
    groups.fold_all(with_heading([1, 2], groups.by, groups.folding))
    assert not groups.folding.hides("all"), "if no group is open, all are opened"


def test_groups_that_open_last_are_opened_by_a_second_key_press() -> None:
    class Last(GroupHeading[int], frozen=True, eq=False, dict=True):
        @property
        def opens_last(self) -> bool:
            return True

    def lines(*, usual: bool, last: bool) -> list[object]:
        return [GroupHeading("a", (1,), is_folded=usual), Last("b", (2,), is_folded=last)]

    groups: Groups[object, ByNamespace] = Groups(ByNamespace.NAMESPACE)
    groups.fold_all(lines(usual=True, last=True))
    assert groups.folding == Folding(is_folded=False)
    groups.fold_all(lines(usual=False, last=True))
    assert groups.folding == Folding(is_folded=False, opens_all=True)
    groups.fold_all(lines(usual=False, last=False))
    assert groups.folding == Folding(is_folded=True)
    groups.fold_all(lines(usual=True, last=True)[1:])
    assert groups.folding.opens_all, "if no group is open, all are opened"
