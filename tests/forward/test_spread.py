from __future__ import annotations

import pytest

from karptui.forward.result import Moment, Played, Spread, Step, StepKind, likeliest, shown_of
from karptui.views.column import plain
from karptui.views.forward.columns import PLAYED
from tests.builders import NOW_NS


def a_play(nodes: int, *looks: str) -> Played:
    steps = tuple(
        Step(
            at_ns=NOW_NS,
            kind=StepKind.DISRUPT,
            method="Drift",
            decision="delete",
            equivalence_keys=(look,),
            evictions=2,
        )
        for look in looks
    )
    return Played(
        from_ns=NOW_NS,
        until_ns=NOW_NS,
        is_quiescent=True,
        steps=(*steps, Step(at_ns=NOW_NS, kind=StepKind.BIND, nodes=(f"node-{nodes}",))),
        series=(Moment(NOW_NS, nodes, nodes / 2, 0),),
        kept=(),
        assumptions=(),
        not_modelled=(),
    )


def test_the_least_and_the_greatest_of_all_seeds_are_told_with_the_likeliest_play() -> None:
    told = shown_of([a_play(3, "a", "b", "c"), a_play(5, "a", "b"), a_play(4, "a", "b")], 7)
    assert told.end.nodes == 5
    assert told.spread == Spread(
        seeds=3,
        seed=8,
        nodes=(3, 5),
        price_per_hour=(1.5, 2.5),
        evictions=(4, 6),
        pending=(0, 0),
        commands=(2, 3),
        same_commands=2,
    )
    assert plain(PLAYED, told)["spread"]["nodes"] == {"least": 3, "greatest": 5}


@pytest.mark.parametrize(
    ("plays", "expected"),
    [
        (("x", "ab", "ac", "ac"), 2),  # three begin with a, two of them go on with c
        (("x", "y", "ab", "ac"), 2),
        (("x", "y"), 0),  # as many for each: the first
        (("ab", "a", "a"), 1),  # most end there
        (("", "", "a"), 0),
    ],
)
def test_the_likeliest_play_does_at_each_command_what_most_do_that_have_come_that_far(
    plays: tuple[str, ...], expected: int
) -> None:
    assert likeliest([a_play(1, *looks) for looks in plays]) == expected
