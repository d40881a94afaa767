from __future__ import annotations

import threading

from karptui.sources.cluster.waits import Backoff, Bell, Waits


def test_waits_double_up_to_thirty_seconds_and_begin_anew() -> None:
    backoff = Backoff(Waits(chance=lambda: 1.0))
    assert [backoff.next_seconds() for _ in range(12)] == [1.0, 2.0, 4.0, 8.0, 16.0, *[30.0] * 7]
    assert backoff.failures == 12
    backoff.reset()
    assert backoff.next_seconds() == 1.0


def test_shortened_waits_still_count_failures() -> None:
    backoff = Backoff(Waits(chance=lambda: 1.0))
    assert [backoff.next_seconds() for _ in range(4)] == [1.0, 2.0, 4.0, 8.0]
    backoff.shorten()
    assert [backoff.next_seconds() for _ in range(2)] == [1.0, 2.0]
    assert backoff.failures == 6


def test_waits_vary() -> None:
    assert Backoff(Waits(chance=lambda: 0.5)).next_seconds() == 0.75
    waits = {Backoff(Waits()).next_seconds() for _ in range(20)}
    assert all(0.5 <= wait <= 1.0 for wait in waits)
    assert len(waits) > 1


def test_a_bell_ends_a_wait() -> None:
    bell = Bell()
    thread = threading.Thread(target=Waits(pause=bell.wait).pause, args=(60.0,))
    thread.start()
    bell.ring()
    thread.join(10)
    assert not thread.is_alive()


def test_a_bell_rung_before_counts_once() -> None:
    bell = Bell()
    bell.ring()
    bell.wait(60.0)
    bell.wait(0.001)


def test_default_pause_waits() -> None:
    Waits().pause(0.001)
