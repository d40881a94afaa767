from __future__ import annotations

import pytest

from karptui.kube.timestamps import NS_PER_SECOND
from karptui.serving.studies import Studies
from karptui.session.answers import StudyAnswer
from karptui.whatif.scenario import Replay
from karptui.whatif.sweep import Sweep, SweepPoint, parse_sweep
from tests.builders import NOW_NS, present
from tests.views.why.test_words import analysed

VALUES = ("2", "0", "1")
SWEEP = Sweep(VALUES, setting="RESERVED_ENIS")


@pytest.fixture
def studies(monkeypatch: pytest.MonkeyPatch) -> Studies:
    monkeypatch.setattr("karptui.serving.studies.MOST_JOBS", 1)  # in this process
    view = analysed()
    return Studies(lambda: view)


def test_points_are_in_the_order_of_the_values_on_all_pods_if_none_is_pending(studies: Studies) -> None:
    result = present(studies.sweep(SWEEP, Replay.PENDING, NOW_NS).value)
    assert [point.value for point in result.points] == list(VALUES)
    assert result.mode is Replay.SCRATCH
    chosen = present(studies.sweep(SWEEP, Replay.REMOVE, NOW_NS).value)
    assert chosen.mode is Replay.REMOVE, "the user chose it"


def test_a_cancelled_sweep_has_no_answer(studies: Studies, monkeypatch: pytest.MonkeyPatch) -> None:
    def cancelling(common: object, value: str, is_stopped: object) -> SweepPoint:
        studies.cancel()
        return SweepPoint(value)

    monkeypatch.setattr("karptui.session.sweeper.point_of", cancelling)
    assert studies.sweep(SWEEP, Replay.PENDING, NOW_NS) == StudyAnswer(None)


def test_values_of_disruption_are_simulated_next_to_the_cluster_as_it_is(studies: Studies) -> None:
    sweep = parse_sweep("NodePool/general:spec.disruption.consolidateAfter=30s,1h")
    comparison = present(studies.forecast_values(sweep, 3600 * NS_PER_SECOND, 1, NOW_NS).value)
    assert [outcome.policy for outcome in comparison.outcomes] == ["", "30s", "1h"]
    assert comparison.recommended is not None
    bad = parse_sweep("NodePool/none:spec.disruption.consolidateAfter=30s")
    assert studies.forecast_values(bad, 3600 * NS_PER_SECOND, 1, NOW_NS).problem
