"""When NodeClaims end by age, and how many of them at once."""

from __future__ import annotations

import pytest

from karptui.disruption.termination import WAVE_NS, Expiry, expiry_calendar, expiry_of, expiry_wave
from tests.builders import DAY_NS, HOUR_NS, MINUTE_NS, NOW_NS, a_node, a_nodeclaim
from tests.disruption.making import a_claim, a_fleet


def test_expiries_in_order() -> None:
    fleet = a_fleet(
        nodes=[a_node(name="a"), a_node(name="b"), a_node(name="u", pool="")],
        nodeclaims=[
            a_claim("a", created_ns=NOW_NS, expire_after_ns=DAY_NS),
            a_claim("b", created_ns=NOW_NS, expire_after_ns=HOUR_NS, termination_grace_period_ns=MINUTE_NS),
            a_nodeclaim(name="lone", stage="Launched", node="x", created_ns=NOW_NS, expire_after_ns=2 * DAY_NS),
            a_claim("never"),
            a_claim("gone", deletion_ns=NOW_NS, expire_after_ns=HOUR_NS),
        ],
    )
    assert expiry_calendar(fleet.nodes) == (
        Expiry("claim-b", "b", NOW_NS + HOUR_NS, NOW_NS + HOUR_NS + MINUTE_NS),
        Expiry("claim-a", "a", NOW_NS + DAY_NS, None),
        Expiry("lone", "", NOW_NS + 2 * DAY_NS, None),
    )


def test_an_expiry_without_a_grace_period_has_no_forced_end() -> None:
    fleet = a_fleet(nodes=[a_node()], nodeclaims=[a_claim(expire_after_ns=DAY_NS)])
    expiry = expiry_of(fleet.nodes[0])
    assert expiry is not None
    assert expiry.forced_end_ns is None


@pytest.mark.parametrize(
    ("minutes", "wave"),
    [
        ((), ()),
        ((5,), (5,)),
        ((0, 30), (0, 30)),
        ((0, 31), (0,)),
        ((0, 40, 50, 60, 75, 200, 210), (40, 50, 60)),
        ((0, 10, 100, 110), (0, 10)),
    ],
)
def test_largest_expiry_wave(minutes: tuple[int, ...], wave: tuple[int, ...]) -> None:
    assert WAVE_NS == 30 * MINUTE_NS
    coming = [Expiry(str(minute), "", minute * MINUTE_NS, None) for minute in minutes]
    assert [int(one.claim_name) for one in expiry_wave(coming)] == list(wave)
