from __future__ import annotations

import pytest

from karptui.karpenter.inventory import Inventory
from karptui.karpenter.nodeclaim import DrainStage, deletion_stage
from karptui.kube.units import clock_text
from karptui.serving.studies import Forecasts
from karptui.session.follower import ClusterFollower
from karptui.session.moments import MomentSource, PlayCache, with_drains
from karptui.session.replays import SharedBase
from karptui.whatif.edits import TakeOut
from karptui.whatif.scenario import Replay, Scenario
from tests.builders import NOW_NS, a_condition, a_nodeclaim
from tests.story_e import StorySource


@pytest.mark.parametrize(("has_outage", "end"), [(False, ""), (True, ", outage over")])
def test_offerings_that_were_taken_out_are_there_again(has_outage: bool, end: str) -> None:
    source = MomentSource("prod", Inventory(), NOW_NS, has_outage=has_outage)
    assert source.caution == f"played to {clock_text(NOW_NS)}{end}"


def test_a_play_is_kept_with_whether_its_scenario_takes_offerings_out() -> None:
    session = ClusterFollower(StorySource())
    session.start()
    session.poll()
    kept = PlayCache()
    scenario = Scenario(name="loss", edits=(TakeOut(zone="us-east-1a"),), replay=Replay.PENDING)
    forecasts = Forecasts(lambda: session.view, SharedBase(), kept)
    numbers = [forecast.number for forecast in forecasts.play((scenario,), 1, 1, NOW_NS)]
    session.stop()
    plays = [kept.get(number) for number in numbers]
    assert [play.has_outage for play in plays if play is not None] == [False, True]


def test_a_drain_has_begun_at_every_moment_of_a_play() -> None:
    told = a_condition("Drained", since_ns=NOW_NS)
    going = a_nodeclaim(name="going", deletion_ns=NOW_NS)
    gone = a_nodeclaim(name="gone", deletion_ns=NOW_NS, conditions=(told,))
    stays = a_nodeclaim(name="stays")
    claims = with_drains(Inventory(nodeclaims=(going, gone, stays))).nodeclaims
    assert deletion_stage(claims[0]) == (DrainStage.DRAINING, NOW_NS)
    assert claims[1:] == (gone, stays)
