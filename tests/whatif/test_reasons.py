from __future__ import annotations

from karptui.disruption.no_place import NO_TYPES, NoPlace, reason_of


def test_no_nodepool_comes_near() -> None:
    assert reason_of(NoPlace("default/web-1")) == (NO_TYPES, "NodePools")
