from __future__ import annotations

import threading

from karptui.sources.cluster.backoff import LONGEST_QUEUE, Backoff, Bell, Ceiling, SpacedTurns, Waits


def test_waits_double_up_to_30_seconds_until_shortened_or_reset() -> None:
    backoff = Backoff(Waits(chance=lambda: 1.0))
    assert [backoff.next_seconds() for _ in range(12)] == [1.0, 2.0, 4.0, 8.0, 16.0, *[30.0] * 7]
    assert backoff.failures == 12
    backoff.shorten()
    assert [backoff.next_seconds() for _ in range(2)] == [1.0, 2.0]
    assert backoff.failures == 14, "shorten() reset the number of failures"
    backoff.reset()
    assert (backoff.next_seconds(), backoff.failures) == (1.0, 1)


def test_waits_are_random() -> None:
    assert Backoff(Waits(chance=lambda: 0.5)).next_seconds() == 0.75
    waits = {Backoff(Waits()).next_seconds() for _ in range(20)}
    assert all(0.5 <= wait <= 1.0 for wait in waits)
    assert len(waits) > 1


def test_ringing_the_bell_ends_a_wait() -> None:
    bell = Bell()
    thread = threading.Thread(target=Waits(pause=bell.wait).pause, args=(60.0,))
    thread.start()
    bell.ring()
    thread.join(10)
    assert not thread.is_alive()


def test_a_ceiling_allows_a_burst_and_then_a_steady_rate() -> None:
    now = [0.0]
    ceiling = Ceiling(Waits(monotonic=lambda: now[0]), 3.0, 2.0)
    assert [ceiling.wait_seconds() for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]
    now[0] = 1.0
    assert ceiling.wait_seconds() == 0.0
    now[0] = 100.0
    assert [ceiling.wait_seconds() for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]


def test_the_wait_at_a_ceiling_is_limited() -> None:
    ceiling = Ceiling(Waits(monotonic=lambda: 0.0), 1.0, 1.0)
    assert max(ceiling.wait_seconds() for _ in range(50)) == LONGEST_QUEUE


def test_turns_are_evenly_spaced() -> None:
    now = [0.0]
    turns = SpacedTurns(Waits(monotonic=lambda: now[0]), 5.0)
    assert [turns.next_seconds() for _ in range(3)] == [5.0, 10.0, 15.0]
    now[0] = 100.0
    assert turns.next_seconds() == 5.0
