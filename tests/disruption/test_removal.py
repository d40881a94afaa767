"""What a simulated removal is taken to cost Karpenter."""

from __future__ import annotations

import pytest

from karptui.disruption.removal import assumed_seconds


@pytest.mark.parametrize(
    ("nodes", "seconds"), [(0, 0.03), (60, 0.03), (61, 0.031), (300, 0.252), (1000, 0.9), (2000, 1.826)]
)
def test_it_grows_with_the_cluster(nodes: int, seconds: float) -> None:
    assert assumed_seconds(nodes) == pytest.approx(seconds)
