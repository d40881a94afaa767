"""One base for whoever replays on the same view, one thread at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from karptui.clock import FrozenClock
from karptui.session.cluster_view import ClusterView
from karptui.session.follower import ClusterFollower
from karptui.session.replays import SharedBase
from karptui.sources.demo.source import DemoSource
from tests.builders import NOW_NS


@pytest.fixture(scope="module")
def views() -> tuple[ClusterView, ClusterView]:
    found = []
    for seconds in (0, 60):
        session = ClusterFollower(DemoSource(clock=FrozenClock(NOW_NS + seconds * 10**9), is_stepped=True))
        session.start()
        session.poll()
        session.stop()
        found.append(session.view)
    return found[0], found[1]


def test_the_same_view_has_the_same_base(views: tuple[ClusterView, ClusterView]) -> None:
    shared, (first, second) = SharedBase(), views
    base = shared.take(first, NOW_NS)
    assert shared.take(first, NOW_NS + 1) is base
    with shared.borrowed(first, NOW_NS) as again:
        assert again is base
    other = shared.take(second, NOW_NS + 2)
    assert other is not base
    assert other.now_ns == NOW_NS + 2


def test_other_threads_wait_until_the_base_is_given_back(views: tuple[ClusterView, ClusterView]) -> None:
    shared, got = SharedBase(), []

    def try_it() -> None:
        got.append(shared.lock.acquire(blocking=False))
        if got[-1]:
            shared.lock.release()

    with shared.borrowed(views[0], NOW_NS):
        _elsewhere(try_it)
    _elsewhere(try_it)
    assert got == [False, True]


def _elsewhere(work: Callable[[], None]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
