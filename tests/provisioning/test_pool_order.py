"""In which order NodePools and pods are tried."""

from __future__ import annotations

from karptui.provisioning.pool_order import usable_pools
from tests.builders import a_nodepool


def test_at_equal_weight_the_last_name_is_first() -> None:
    pools = [a_nodepool(name="a"), a_nodepool(name="heavy", weight=10), a_nodepool(name="c"), a_nodepool(name="b")]
    assert [pool.name for pool in usable_pools(pools)] == ["heavy", "c", "b", "a"]
