from __future__ import annotations

import pytest

from karptui.aws.prices import NodePrices, PriceSettings
from karptui.forward.result import Moment, Played, Step, StepKind
from karptui.karpenter.settings import Settings
from karptui.kube.timestamps import DAY_NS
from karptui.solve.answer import Solved
from karptui.solve.goals.consolidate_after import LADDER, figures_of_plays
from karptui.solve.run import solve_goal
from karptui.studies.forecasts import forecast_of
from karptui.views.column import plain
from karptui.views.solve import REPORT, headline, row_lines, rows_of, text_lines
from karptui.whatif.edits import ObjectRef, SetField
from karptui.whatif.edits.apply import apply
from karptui.whatif.situation import TypesResult, WhatIfBase
from tests.builders import NOW_NS, a_pod, present
from tests.forward.making import TYPES, a_pair, a_world
from tests.whatif.remedies.asking import a_pool


@pytest.fixture(scope="module")
def base() -> WhatIfBase:
    """Return three nodes: one is empty, and the pod of another fits on the third."""
    pods = [a_pod(name="a", node="node-1", cpu="500m"), a_pod(name="b", node="node-2", cpu="900m")]
    pairs = (a_pair("node-1"), a_pair("node-2"), a_pair("node-3"))
    world = a_world(*pairs, pods=pods, nodepools=[a_pool(name="general", budgets=())])
    return WhatIfBase(world, lambda *_: TypesResult(TYPES), Settings(), NOW_NS)


def solved(base: WhatIfBase, evictions: int) -> Solved:
    return solve_goal(base, "consolidate-after", {"evictions": str(evictions), "nodepool": "general"})


@pytest.fixture(scope="module")
def played(base: WhatIfBase) -> dict[str, tuple[int, float]]:
    """Return evictions within a day and the mean of $/h of every value."""
    result = {}
    path = ("spec", "disruption", "consolidateAfter")
    for value in LADDER:
        edited = apply(base, (SetField(ObjectRef("NodePool", "general"), path, value),))
        play = forecast_of(base, edited).play(horizon_ns=DAY_NS)
        ends = [moment.at_ns for moment in play.series[1:]] + [play.from_ns + DAY_NS]
        dollars = sum(
            moment.price_per_hour * (end - moment.at_ns) for moment, end in zip(play.series, ends, strict=True)
        )
        result[value] = play.evictions, round(dollars / DAY_NS, 4)
    return result


@pytest.mark.parametrize("most", [0, 1, 5])
def test_the_answer_is_that_of_every_value(base: WhatIfBase, played: dict[str, tuple[int, float]], most: int) -> None:
    answer = solved(base, most)
    allowed = {value: price for value, (evictions, price) in played.items() if evictions <= most}
    cheapest = [value for value, price in allowed.items() if price == min(allowed.values())]
    assert answer.best is not None
    (edit,) = answer.best.edits
    assert isinstance(edit, SetField)
    assert edit.value == cheapest[0]  # of equal ones the calmest
    assert answer.best.figures.evictions == played[edit.value][0]
    assert answer.best.figures.price_per_hour == pytest.approx(played[edit.value][1], abs=1e-4)


def test_the_runner_up_is_the_next_value_and_says_why_it_lost(base: WhatIfBase) -> None:
    answer = solved(base, 0)
    assert answer.is_reached
    assert present(answer.runner_up).why_not == "evicts 1 pod within a day"
    assert headline(answer).startswith("NodePool general: consolidateAfter ")
    assert "0 evictions within a day" in headline(answer)
    assert answer.effort.all == len(LADDER)
    assert "one day from now with a constant load: other days may evict more or less" in answer.approximated


def test_without_prices_the_answer_is_the_same_and_says_no_dollars(base: WhatIfBase) -> None:
    off = NodePrices(settings=PriceSettings(is_disabled=True))
    without = solved(WhatIfBase(base.inventory, base.types_for, Settings(), NOW_NS, prices=off), 0)
    with_dollars = solved(base, 0)
    assert present(without.best).edits == present(with_dollars.best).edits
    assert plain(REPORT, without)["answer"]["figures"]["pricePerHour"] is None
    assert "the cheapest change tried, by Karpenter's prices" in headline(without)
    texts = [*text_lines("a", without), *(line for row in rows_of(without) for line in row_lines(row))]
    assert not any("$" in line for line in texts)
    assert {row.change_per_hour for row in rows_of(without)} == {None}


def test_the_worst_of_several_days_and_seeds_counts() -> None:
    def play(*steps: tuple[float, int], price: float) -> Played:
        return Played(
            from_ns=0,
            until_ns=DAY_NS,
            is_quiescent=True,
            steps=tuple(
                Step(at_ns=int(days * DAY_NS), kind=StepKind.DISRUPT, evictions=count) for days, count in steps
            ),
            series=(Moment(0, 2, price, 0), Moment(DAY_NS, 1, price / 2, 1)),
            kept=(),
            assumptions=(),
            not_modelled=(),
        )

    figures = figures_of_plays([play((0.1, 2), (0.9, 2), (1.5, 3), price=2.0), play((2.0, 5), price=4.0)], 2)
    assert (figures.evictions, figures.pending, figures.nodes) == (5, 1, 1)
    assert figures.price_per_hour == pytest.approx((1.5 + 3.0) / 2)
    assert figures_of_plays([play((0.1, 2), (0.9, 2), (1.5, 3), price=2.0)], 2).evictions == 4


def test_days_and_seeds_are_said(base: WhatIfBase) -> None:
    given = {"evictions": "9", "nodepool": "general", "days": "2", "seeds": "2"}
    answer = solve_goal(base, "consolidate-after", given)
    assert present(answer.best).outcome.endswith(" on the worst of 2 days, the most of 2 seeds")
    assert answer.effort.how.endswith("each simulated for 2 days with each of 2 seeds")
