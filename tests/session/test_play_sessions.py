from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable

import pytest

from karptui.aws.evidence import NO_EVIDENCE
from karptui.clock import Clock, FrozenClock
from karptui.forward.journal import Journal
from karptui.karpenter.inventory import Inventory
from karptui.session.analyst import Analyst
from karptui.session.answers import PlayMoment, SwitchResult
from karptui.session.follower import ClusterFollower
from karptui.session.moments import CachedPlay, MomentSessions, PlayCache
from tests.builders import NOW_NS

LONGEST_SECONDS = 5.0
INSTANTS = (NOW_NS, NOW_NS + 1)


class Screens:
    """What shows one cluster, and another in its place."""

    def __init__(self) -> None:
        self.follower = ClusterFollower(None)
        self.clock: Clock = FrozenClock(NOW_NS)


class Watched(Analyst):
    """Says when it is stopped."""

    def __init__(self, any_stopped: threading.Event) -> None:
        super().__init__()
        self.is_stopped, self._any_stopped = False, any_stopped

    def stop(self) -> None:
        super().stop()
        self.is_stopped = True
        self._any_stopped.set()


class Making:
    """Makes analysts, and waits with each until it may."""

    def __init__(self) -> None:
        self.is_begun, self.may_go_on, self.any_stopped = threading.Event(), threading.Event(), threading.Event()
        self.sessions_made: list[Watched] = []

    def __call__(self) -> Analyst:
        self.is_begun.set()
        assert self.may_go_on.wait(LONGEST_SECONDS)
        self.sessions_made.append(Watched(self.any_stopped))
        return self.sessions_made[-1]


@pytest.fixture
def kept() -> PlayCache:
    plays = PlayCache()
    plays.keep(CachedPlay(Inventory(), Journal(), NO_EVIDENCE))
    return plays


def moment(play: int = 1) -> PlayMoment:
    return PlayMoment(play=play, at_ns=NOW_NS, instants=INSTANTS)


async def on_the_way(making: Making, visit: Callable[[], Awaitable[SwitchResult]]) -> asyncio.Task[SwitchResult]:
    """Begin a visit, and return it once its cluster is being made."""
    making.is_begun.clear()
    making.may_go_on.clear()
    task = asyncio.ensure_future(visit())
    assert await asyncio.to_thread(making.is_begun.wait, LONGEST_SECONDS)
    return task


async def test_a_moment_that_is_called_off_is_ended(kept: PlayCache) -> None:
    screens, making = Screens(), Making()
    visits, shown = MomentSessions(screens, kept, making), screens.follower
    task = await on_the_way(making, lambda: visits.enter(moment()))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    making.may_go_on.set()
    assert await asyncio.to_thread(making.any_stopped.wait, LONGEST_SECONDS)
    assert screens.follower is shown
    assert visits.moment is None


async def test_a_moment_that_something_else_has_overtaken_is_ended(kept: PlayCache) -> None:
    screens, making = Screens(), Making()
    visits = MomentSessions(screens, kept, making)
    entering = await on_the_way(making, lambda: visits.enter(moment()))
    screens.follower = other = ClusterFollower(None)
    making.may_go_on.set()
    assert await entering is SwitchResult.OVERTAKEN
    assert making.sessions_made[0].is_stopped
    assert screens.follower is other

    assert await visits.enter(moment()) is SwitchResult.SHOWN
    stepping = await on_the_way(making, lambda: visits.step(1))
    assert visits.leave()
    making.may_go_on.set()
    assert await stepping is SwitchResult.OVERTAKEN
    assert all(watched.is_stopped for watched in making.sessions_made)
    assert screens.follower is other


async def test_a_step_ends_the_moment_before_it(kept: PlayCache) -> None:
    screens, making = Screens(), Making()
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


async def test_a_play_that_is_not_kept_any_more_is_said(kept: PlayCache) -> None:
    making = Making()
    assert await MomentSessions(Screens(), kept, making).enter(moment(play=2)) is SwitchResult.NOT_KEPT
