from __future__ import annotations

import pytest

from karptui.disruption.no_place import NoPlace, PoolMiss, cause_text, no_place_text
from karptui.karpenter.labels import ZONE
from karptui.kube.quantity import parse_quantity
from karptui.kube.resources import Shortage


def short(resource: str, need: str, room: str) -> Shortage:
    return Shortage(resource, parse_quantity(need), parse_quantity(room))


BIG = PoolMiss("general", "instance types", "m5.xlarge", (short("cpu", "5", "3800m"),))


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (
            NoPlace("a/b", uninitialized_node="n1"),
            "Karpenter schedules it to n1, which does not count before it is initialised",
        ),
        (NoPlace("a/b"), "no NodePool has a launchable instance type"),
        (NoPlace("a/b", pools=(BIG,)), "the nearest type of NodePool general is m5.xlarge, short of cpu 1200m"),
        (
            NoPlace(
                "a/b", pools=(PoolMiss("arm", "taints", asked=("team=x",)), BIG), nodes=(("room", 7), ("taints", 2))
            ),
            (
                "the nearest type of NodePool general is m5.xlarge, short of cpu 1200m; other NodePools: 1 taints; "
                "9 nodes tried: 7 room · 2 taints"
            ),
        ),
        (
            NoPlace("a/b", pools=tuple(PoolMiss(name, "taints", asked=("team=x",)) for name in "xyz")),
            "it does not tolerate team=x of any of 3 NodePools",
        ),
        (
            NoPlace("a/b", pools=(PoolMiss("general", "instance types", asked=(f"{ZONE} DoesNotExist",)),)),
            "no zone is left: its volumes and rules require different ones, so no node of NodePool general accepts it",
        ),
    ],
)
def test_the_cause(found: NoPlace, text: str) -> None:
    assert cause_text(found) == text


@pytest.mark.parametrize(("others", "words"), [(0, ""), (1, " (nor has 1 more)"), (2, " (nor have 2 more)")])
def test_which_pod(others: int, words: str) -> None:
    found = NoPlace("web/big-0", others)
    assert no_place_text(found) == f"web/big-0 has no other place{words}: no NodePool has a launchable instance type"
