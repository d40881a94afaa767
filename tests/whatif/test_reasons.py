from __future__ import annotations

from karptui.disruption.miss_text import NO_TYPES
from karptui.disruption.no_place import NoPlace
from karptui.whatif.placement_difference import reason_of


def test_no_nodepool_comes_near() -> None:
    assert reason_of(NoPlace("default/web-1")) == (NO_TYPES, "NodePools")
