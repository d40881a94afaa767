"""What chance changes, told by several seeds."""

from __future__ import annotations

from karptui.forward.result import Moment, Played, Spread, Step, StepKind
from karptui.forward.spread import spread_of
from tests.builders import NOW_NS


def a_play(nodes: int, *names: str) -> Played:
    steps = tuple(
        Step(at_ns=NOW_NS, kind=StepKind.DISRUPT, method="Drift", decision="delete", nodes=(name,), evictions=2)
        for name in names
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


def test_the_least_and_the_greatest_of_all_seeds_are_told() -> None:
    spread = spread_of([a_play(5, "a", "b"), a_play(3, "a", "b", "c"), a_play(4, "a", "b")])
    assert spread == Spread(
        seeds=3,
        nodes=(3, 5),
        price_per_hour=(1.5, 2.5),
        evictions=(4, 6),
        pending=(0, 0),
        commands=(2, 3),
        same_commands=2,
    )
    assert spread.as_json()["nodes"] == {"least": 3, "greatest": 5}
