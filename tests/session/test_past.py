"""Past moments and moments of forecasts: steps between them, and when they are closed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from karptui.aws.evidence import NO_EVIDENCE
from karptui.aws.prices import PriceSettings
from karptui.clock import Clock, FrozenClock
from karptui.forward.journal import Journal
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.nodeclaim import DrainStage, deletion_stage
from karptui.kube.timestamps import NS_PER_SECOND, parse_past
from karptui.kube.units import clock_text
from karptui.serving.studies import Forecasts
from karptui.session.analyst import Analyst
from karptui.session.answers import PastMoment, PastStep, PlayMoment, SwitchResult
from karptui.session.follower import ClusterFollower
from karptui.session.moments import CachedPlay, MomentSessions, MomentSource, PlayCache, with_drains
from karptui.session.replays import SharedBase
from karptui.sources.evidence import EvidenceSource
from karptui.sources.history.store import HistoryError
from karptui.sources.history.tap import HistoryTap, Limits
from karptui.whatif.edits import TakeOut
from karptui.whatif.scenario import Replay, Scenario
from tests.builders import NOW_NS, a_condition, a_nodeclaim
from tests.histories import BEGIN_NS, demo_history
from tests.story_e import StorySource

LONGEST_SECONDS = 5.0
INSTANTS = (NOW_NS, NOW_NS + 1)
SECONDS = 30
DISCOUNT = PriceSettings(multiplier=0.5)
EARLIER, LATER = PastStep(by=-1), PastStep(by=1)


class Screens:
    """Screens that show one cluster at a time."""

    def __init__(self) -> None:
        self.follower = ClusterFollower(None)
        self.clock: Clock = FrozenClock(NOW_NS)


class RecordingAnalyst(Analyst):
    """An analyst that records that it was stopped."""

    def __init__(self, any_stopped: threading.Event) -> None:
        super().__init__()
        self.is_stopped, self._any_stopped = False, any_stopped

    def stop(self) -> None:
        super().stop()
        self.is_stopped = True
        self._any_stopped.set()


class AnalystFactory:
    """Creates analysts, each only when the test allows it."""

    def __init__(self) -> None:
        self.is_begun, self.may_go_on, self.any_stopped = threading.Event(), threading.Event(), threading.Event()
        self.sessions_made: list[RecordingAnalyst] = []

    def __call__(self) -> Analyst:
        self.is_begun.set()
        assert self.may_go_on.wait(LONGEST_SECONDS)
        self.sessions_made.append(RecordingAnalyst(self.any_stopped))
        return self.sessions_made[-1]


@pytest.fixture
def kept() -> PlayCache:
    plays = PlayCache()
    plays.keep(CachedPlay(Inventory(), Journal(), NO_EVIDENCE))
    return plays


def moment(play: int = 1) -> PlayMoment:
    return PlayMoment(play=play, at_ns=NOW_NS, instants=INSTANTS)


async def started_visit(
    making: AnalystFactory, visit: Callable[[], Awaitable[SwitchResult]]
) -> asyncio.Task[SwitchResult]:
    """Start a visit; return it while its cluster is being created."""
    making.is_begun.clear()
    making.may_go_on.clear()
    task = asyncio.ensure_future(visit())
    assert await asyncio.to_thread(making.is_begun.wait, LONGEST_SECONDS)
    return task


async def test_a_cancelled_moment_is_stopped(kept: PlayCache) -> None:
    screens, making = Screens(), AnalystFactory()
    visits, shown = MomentSessions(screens, kept, making), screens.follower
    task = await started_visit(making, lambda: visits.enter(moment()))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    making.may_go_on.set()
    assert await asyncio.to_thread(making.any_stopped.wait, LONGEST_SECONDS)
    assert screens.follower is shown
    assert visits.moment is None


async def test_a_moment_overtaken_by_another_cluster_is_stopped(kept: PlayCache) -> None:
    screens, making = Screens(), AnalystFactory()
    visits = MomentSessions(screens, kept, making)
    entering = await started_visit(making, lambda: visits.enter(moment()))
    screens.follower = other = ClusterFollower(None)
    making.may_go_on.set()
    assert await entering is SwitchResult.OVERTAKEN
    assert making.sessions_made[0].is_stopped
    assert screens.follower is other

    assert await visits.enter(moment()) is SwitchResult.SHOWN
    stepping = await started_visit(making, lambda: visits.step(1))
    assert visits.leave()
    making.may_go_on.set()
    assert await stepping is SwitchResult.OVERTAKEN
    assert all(watched.is_stopped for watched in making.sessions_made)
    assert screens.follower is other


async def test_a_step_stops_the_previous_moment(kept: PlayCache) -> None:
    screens, making = Screens(), AnalystFactory()
    making.may_go_on.set()
    visits = MomentSessions(screens, kept, making)
    assert await visits.enter(moment()) is SwitchResult.SHOWN
    assert await visits.step(1) is SwitchResult.SHOWN
    assert [watched.is_stopped for watched in making.sessions_made] == [True, False]
    assert visits.moment is not None
    assert visits.moment.at_ns == INSTANTS[1]
    assert await visits.step(1) is SwitchResult.NOT_KEPT
    visits.end()
    assert making.sessions_made[1].is_stopped


async def test_a_forecast_no_longer_in_the_cache_is_an_error(kept: PlayCache) -> None:
    making = AnalystFactory()
    assert await MomentSessions(Screens(), kept, making).enter(moment(play=2)) is SwitchResult.NOT_KEPT


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return demo_history(tmp_path_factory, SECONDS)


class Followed(Screens):
    """Screens with a recorded cluster, one minute after the start of its history."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.clock = FrozenClock(BEGIN_NS + 60 * NS_PER_SECOND)
        tap = HistoryTap(path, "prod", self.clock, Limits())
        evidence = msgspec.structs.replace(NO_EVIDENCE, price_settings=DISCOUNT)
        self.follower = ClusterFollower(StorySource(), evidence=EvidenceSource(evidence), tap=tap)
        self.making, self.plays = AnalystFactory(), PlayCache()
        self.making.may_go_on.set()
        self.sessions = MomentSessions(self, self.plays, self.making)

    @property
    def moment(self) -> PastMoment:
        assert isinstance(self.sessions.moment, PastMoment)
        return self.sessions.moment


async def test_each_step_replaces_and_stops_the_previous_one(path: Path) -> None:
    screens = Followed(path)
    followed = screens.follower
    assert await screens.sessions.go_past(EARLIER) is SwitchResult.SHOWN
    first = screens.moment.at_ns
    assert await screens.sessions.step(-1) is SwitchResult.SHOWN
    assert screens.moment.at_ns < first < BEGIN_NS + 60 * NS_PER_SECOND
    assert screens.clock.now_ns() == screens.moment.at_ns
    assert [analyst.is_stopped for analyst in screens.making.sessions_made] == [True, False]
    assert await screens.sessions.go_past(LATER) is SwitchResult.SHOWN
    assert screens.moment.at_ns == first
    assert screens.sessions.live is followed
    assert screens.sessions.live_now_ns() == BEGIN_NS + 60 * NS_PER_SECOND
    assert screens.sessions.leave()
    assert (screens.follower, screens.sessions.moment) == (followed, None)
    assert not screens.sessions.leave()


async def test_a_moment_has_its_own_objects_and_the_prices_of_the_user(path: Path) -> None:
    screens = Followed(path)
    assert await screens.sessions.go_past(PastStep(at=parse_past("14:00:10"))) is SwitchResult.SHOWN
    assert screens.follower.view.state.nodes
    assert screens.follower.view.evidence.price_settings == DISCOUNT
    assert screens.follower.title == screens.sessions.live.title


async def test_a_step_beyond_either_end_changes_nothing(path: Path) -> None:
    screens = Followed(path)
    followed = screens.follower
    assert await screens.sessions.go_past(LATER) is SwitchResult.NEWEST
    assert await screens.sessions.go_past(PastStep(by=-1, to_mark=True)) is SwitchResult.NO_MARK
    assert await screens.sessions.go_past(PastStep(at=parse_past("13:59"))) is SwitchResult.BEGINNING
    assert (screens.follower, screens.sessions.moment) == (followed, None)
    assert await screens.sessions.go_past(PastStep(at=parse_past("14:00"))) is SwitchResult.SHOWN
    begin = screens.follower
    assert await screens.sessions.go_past(EARLIER) is SwitchResult.BEGINNING
    assert screens.follower is begin


async def test_a_past_moment_replaces_a_forecast(path: Path) -> None:
    screens = Followed(path)
    screens.plays.keep(CachedPlay(Inventory(), Journal(), NO_EVIDENCE))
    assert await screens.sessions.go_past(PastStep(at=parse_past("14:00:20"))) is SwitchResult.SHOWN
    play = PlayMoment(play=1, at_ns=BEGIN_NS + 3600 * NS_PER_SECOND, instants=())
    assert await screens.sessions.enter(play) is SwitchResult.SHOWN
    assert await screens.sessions.go_past(EARLIER) is SwitchResult.SHOWN
    assert screens.moment.at_ns < BEGIN_NS + 20 * NS_PER_SECOND, "steps do not start from the past moment"
    assert [analyst.is_stopped for analyst in screens.making.sessions_made] == [True, True, False]
    assert screens.sessions.leave()
    assert screens.sessions.moment is None


async def test_the_live_cluster_is_still_merged_while_the_past_is_shown(path: Path) -> None:
    screens = Followed(path)
    followed = screens.follower
    await screens.sessions.poll_live()
    assert await screens.sessions.go_past(EARLIER) is SwitchResult.SHOWN
    followed.start()
    assert not followed.view.state.nodes
    await screens.sessions.poll_live()
    assert followed.view.state.nodes
    assert screens.follower is not followed


async def test_the_reason_for_a_missing_history(path: Path, tmp_path: Path) -> None:
    screens = Followed(tmp_path / "none.karptui")
    assert await screens.sessions.go_past(EARLIER) is SwitchResult.NOT_RECORDED
    (tmp_path / "none.karptui").write_bytes(path.read_bytes()[:5000])
    with pytest.raises(HistoryError, match=r"none\.karptui"):
        await screens.sessions.go_past(EARLIER)
    assert screens.sessions.moment is None


@pytest.mark.parametrize(("has_outage", "end"), [(False, ""), (True, ", outage over")])
def test_the_caution_mentions_that_an_outage_is_over(has_outage: bool, end: str) -> None:
    source = MomentSource("prod", Inventory(), NOW_NS, has_outage=has_outage)
    assert source.caution == f"simulated to {clock_text(NOW_NS)}{end}"


def test_a_cached_forecast_records_whether_its_scenario_has_an_outage() -> None:
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


def test_deleting_nodeclaims_are_draining_in_a_forecast() -> None:
    told = a_condition("Drained", since_ns=NOW_NS)
    going = a_nodeclaim(name="going", deletion_ns=NOW_NS)
    gone = a_nodeclaim(name="gone", deletion_ns=NOW_NS, conditions=(told,))
    stays = a_nodeclaim(name="stays")
    claims = with_drains(Inventory(nodeclaims=(going, gone, stays))).nodeclaims
    assert deletion_stage(claims[0], None) == (DrainStage.DRAINING, NOW_NS)
    assert claims[1:] == (gone, stays)
