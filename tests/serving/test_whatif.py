"""What the what-if asks beside replays: sweeps point by point."""

from __future__ import annotations

import pytest

from karptui.serving.whatif import WhatIfs
from karptui.session.replays import SharedBase
from karptui.session.whatif_questions import PointWanted, SweepUnwanted, SweepWanted
from karptui.whatif.scenario import Replay
from karptui.whatif.sweep import Sweep
from tests.builders import NOW_NS
from tests.views.why.test_words import analysed

VALUES = ("0", "1", "2")
WANTED = SweepWanted(sweep=Sweep(VALUES, setting="RESERVED_ENIS"), replay=Replay.PENDING, now_ns=NOW_NS)


@pytest.fixture
def whatifs(monkeypatch: pytest.MonkeyPatch) -> WhatIfs:
    monkeypatch.setattr("karptui.serving.whatif.MOST_JOBS", 1)  # in this process
    return WhatIfs(SharedBase())


def test_points_come_one_by_one_until_there_are_no_more(whatifs: WhatIfs) -> None:
    view = analysed()
    number = whatifs.sweep(view, WANTED).number
    found = [whatifs.point(view, PointWanted(number=number)) for _ in range(4)]
    assert [(one.position, one.point.value) for one in found if one.point is not None] == list(enumerate(VALUES))
    assert found[-1].point is None


def test_a_sweep_that_nobody_wants_gives_no_points(whatifs: WhatIfs) -> None:
    view = analysed()
    first = whatifs.sweep(view, WANTED).number
    whatifs.ended(view, SweepUnwanted(number=first))
    assert whatifs.point(view, PointWanted(number=first)).point is None
    second, third = (whatifs.sweep(view, WANTED).number for _ in range(2))
    assert whatifs.point(view, PointWanted(number=second)).point is None, "another has begun since"
    assert whatifs.point(view, PointWanted(number=third)).point is not None
    whatifs.ended(view, SweepUnwanted(number=third))
