"""A clock and turns that tests of sources control."""

from __future__ import annotations

import pytest

from karptui.clock import FrozenClock
from tests.sources.turns import Turns

NOW_NS = 1_795_259_891_000_000_000


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock(NOW_NS)


@pytest.fixture
def turns() -> Turns:
    return Turns()
