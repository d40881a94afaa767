"""Charts of what came and went."""

from __future__ import annotations

from msgspec.structs import replace

from karptui.disruption.churn.life import Life
from karptui.disruption.churn.moves import Move
from karptui.disruption.churn.report import Churn, ChurnWindow
from karptui.views.churn.sentences import chart_of
from tests.builders import MINUTE_NS, NOW_NS
from tests.disruption.churn.lives import a_life, ago


def a_churn(*lives: Life, since: float = 60, moves: tuple[Move, ...] = ()) -> Churn:
    return Churn(window=ChurnWindow(NOW_NS, ago(since)), lives=lives, moves=moves)


def test_counts_by_bin() -> None:
    move = Move(pod="web/a", workload="Deployment/web/a", at_ns=ago(12))
    chart = chart_of(a_churn(a_life(born=200, left=5), a_life(born=30), a_life(born=29), moves=(move,)), 13)
    assert (chart.step, chart.begin_ns, len(chart.created)) == ("5m", ago(60), 13)
    assert chart.created == (0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0)
    assert chart.removed == (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0)
    assert chart.moved[9] == 1
    assert (chart.most, chart.most_moved) == (2, 1)
    ahead = replace(a_life(), created_ns=NOW_NS + MINUTE_NS)
    assert sum(chart_of(a_churn(ahead), 60).created) == 0
