from __future__ import annotations

from collections.abc import Mapping

from karptui.whatif.edits import TakeOut
from karptui.whatif.edits.apply import without_offerings
from tests.builders import an_instance_type

M5, C5 = an_instance_type(name="m5.large"), an_instance_type(name="c5.large")


def test_pools_that_share_types_share_them_afterwards_and_count_once() -> None:
    shared, own = (M5,), (C5,)
    made, counts = without_offerings({"a": shared, "b": shared, "c": own}, (TakeOut(zone="us-east-1a"),))
    assert isinstance(made, Mapping)
    assert made["a"] is made["b"]
    assert [offering.is_available for offering in made["a"][0].offerings] == [False, True]
    assert counts == [2]
