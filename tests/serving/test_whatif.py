"""What the what-if asks beside replays: sweeps point by point."""

from __future__ import annotations

import pytest

from karptui.serving.whatif import WhatIfs
from karptui.session.replays import SharedBase
from karptui.whatif.scenario import Replay
from karptui.whatif.sweep import Sweep
from tests.builders import NOW_NS
from tests.views.why.test_words import analysed

VALUES = ("0", "1", "2")
SWEEP = Sweep(VALUES, setting="RESERVED_ENIS")


@pytest.fixture
def whatifs(monkeypatch: pytest.MonkeyPatch) -> WhatIfs:
    monkeypatch.setattr("karptui.serving.whatif.MOST_JOBS", 1)  # in this process
    view = analysed()
    return WhatIfs(lambda: view, SharedBase())


def test_points_come_one_by_one_until_there_are_no_more(whatifs: WhatIfs) -> None:
    number = whatifs.start_sweep(SWEEP, Replay.PENDING, NOW_NS)
    points = [whatifs.next_point(number) for _ in range(4)]
    assert [(found[0], found[1].value) for found in points if found is not None] == list(enumerate(VALUES))
    assert points[-1] is None


def test_a_cancelled_or_replaced_sweep_gives_no_points(whatifs: WhatIfs) -> None:
    first = whatifs.start_sweep(SWEEP, Replay.PENDING, NOW_NS)
    whatifs.stop_sweep(first)
    assert whatifs.next_point(first) is None
    second, third = (whatifs.start_sweep(SWEEP, Replay.PENDING, NOW_NS) for _ in range(2))
    assert whatifs.next_point(second) is None, "another has begun since"
    assert whatifs.next_point(third) is not None
    whatifs.stop_sweep(third)
