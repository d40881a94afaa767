"""Goals about time: windows of budgets, expirations, consolidateAfter."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karptui.aws.prices import NodePrices, PriceSettings
from karptui.disruption.budget_calendar import WEEK_NS, allowance
from karptui.disruption.budgets import PoolUse, Reason, scaled
from karptui.errors import RequestError
from karptui.forward.result import Moment, Played, Step, StepKind
from karptui.karpenter.settings import Settings
from karptui.kube.timestamps import DAY_NS, HOUR_NS, NS_PER_SECOND
from karptui.solve.answer import Solved
from karptui.solve.goals.consolidate_after import LADDER, figures_of_plays
from karptui.solve.goals.expirations import hours_of, spread
from karptui.solve.goals.window import offset_of, week_of, window_budgets
from karptui.solve.run import solve_goal
from karptui.studies.forecasts import forecast_of
from karptui.views.column import plain
from karptui.views.solve import REPORT, headline, row_lines, rows_of, text_lines
from karptui.whatif.edits import ObjectRef, RemoveNode, SetField
from karptui.whatif.edits.apply import apply
from karptui.whatif.schema.schema import shipped_schemas
from karptui.whatif.schema.validation import object_violations
from karptui.whatif.situation import TypesResult, WhatIfBase
from tests.builders import NOW_NS, a_nodeclaim, a_nodepool, a_pod, present
from tests.disruption.test_pauses import decoded
from tests.forward.making import TYPES, a_pair, a_world
from tests.studies.test_pause import cluster
from tests.whatif.edits.test_apply import POOL
from tests.whatif.remedies.asking import a_pool

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
ZONES = ("UTC", "Asia/Kolkata", "America/St_Johns", "Pacific/Auckland")
MINUTE_NS = 60 * NS_PER_SECOND


@given(
    days=st.sets(st.integers(0, 6), min_size=1),
    hours=st.tuples(st.integers(0, 1439), st.integers(0, 1440)),
    zone=st.sampled_from(ZONES),
    share=st.sampled_from(["1", "10%", "100%", "7"]),
    later=st.integers(0, 6 * 24 * 60),
)
def test_inside_the_window_the_budget_is_the_share(
    days: set[int], hours: tuple[int, int], zone: str, share: str, later: int
) -> None:
    start, end = hours
    now_ns = NOW_NS + later * MINUTE_NS
    offset, _ = offset_of(ZoneInfo(zone), NOW_NS)
    text = f"{start // 60:02}:{start % 60:02}-{end // 60:02}:{end % 60:02}"
    budgets = window_budgets(week_of(",".join(DAYS[day] for day in days), text, offset), share)
    pool, use = a_nodepool(budgets=tuple(map(decoded, budgets))), PoolUse(37)
    length = end - start if end > start else end - start + 1440
    for span in allowance(pool, Reason.DRIFTED, use, now_ns, now_ns + 2 * WEEK_NS):
        middle = datetime.fromtimestamp((span.start_ns + span.end_ns) // 2 // NS_PER_SECOND, UTC)
        local = (middle + timedelta(minutes=offset)).replace(tzinfo=None)
        # Computed independently: a window that began on one of these days, today or earlier, is still open.
        begun = [local.replace(hour=0, minute=0, second=0) + timedelta(days=-ago, minutes=start) for ago in (0, 1)]
        is_open = any(item <= local < item + timedelta(minutes=length) and item.weekday() in days for item in begun)
        assert span.allowed == (scaled(share, 37) if is_open else 0)
    assert len(budgets) <= 8


def test_equal_gaps_share_a_budget() -> None:
    assert window_budgets(week_of("mon-fri", "22:00-06:00", 60), "20%") == [
        {"nodes": "20%"},
        {"nodes": "0", "schedule": "0 5 * * tue,wed,thu,fri", "duration": "16h"},
        {"nodes": "0", "schedule": "0 5 * * sat", "duration": "64h"},
    ]
    assert window_budgets(week_of("daily", "0:00-24:00", 0), "1") == [{"nodes": "1"}]
    assert week_of("sat-mon", "9-17", 0) == week_of("mon,sun,sat", "09:00-17:00", 0)


def test_the_answer_is_valid_replaces_budgets_and_mentions_daylight_saving() -> None:
    given = {"hours": "22:00-06:30", "weekdays": "fri", "zone": "Europe/Berlin", "share": "2"}
    solved = solve_goal(cluster(), "window", given)
    (edit,) = present(solved.best).edits
    assert isinstance(edit, SetField)
    kind = shipped_schemas("1.14.1").get("karpenter.sh/v1", "NodePool")
    assert kind is not None
    pool = {**POOL, "spec": {**POOL["spec"], "disruption": {"budgets": edit.value}}}
    assert [violation for violation in object_violations(pool, kind)[0] if "budgets" in violation.path] == []
    assert "the current budgets of general are replaced" in solved.risk
    assert "the clocks of Europe/Berlin change on 2027-03-28" in solved.risk


@pytest.mark.parametrize(("given", "says"), [
    ({"hours": "25:00-06:00"}, "is not a time of day such as 22:00-06:00"),
    ({"hours": "22:00"}, "is not a time of day"),
    ({"hours": "22-6", "weekdays": "someday"}, "names no weekdays"),
    ({"hours": "22-6", "zone": "Mars/Base"}, "is no time zone such as Europe/Berlin"),
    ({"hours": "22-6", "zone": "../etc"}, "is no time zone"),
    ({"hours": "22-6", "share": "half"}, "is neither a number of nodes nor a percentage"),
    ({"hours": "22-6", "nodepool": "none"}, "does not exist"),
])  # fmt: skip
def test_invalid_windows_are_refused(given: dict[str, str], says: str) -> None:
    with pytest.raises(RequestError, match=says):
        solve_goal(cluster(), "window", given)


@given(hours=st.lists(st.integers(0, 12), max_size=30), most=st.integers(1, 4))
def test_no_hour_exceeds_the_maximum_and_nodes_only_move_earlier(hours: list[int], most: int) -> None:
    claims = [
        a_nodeclaim(name=f"n{i}", created_ns=NOW_NS - HOUR_NS, expire_after_ns=(1 + hour) * HOUR_NS + NS_PER_SECOND)
        for i, hour in enumerate(hours)
    ]
    early, left = spread(hours_of(claims, NOW_NS), most)
    numbers = {claim.name: hour for claim, hour in zip(claims, hours, strict=True)}
    moved = {claim.name: hour for hour, of_hour in early.items() for claim in of_hour}
    assert all(hour < numbers[name] for name, hour in moved.items())
    counts = Counter(moved.get(name, hour) for name, hour in numbers.items())
    # An hour may exceed the maximum only if no arrangement of the nodes fits.
    assert sum(max(count - most, 0) for count in counts.values()) == left
    excess = max((sum(hour <= until for hour in hours) - most * (until + 1) for until in range(13)), default=0)
    assert left == max(excess, 0)
    if not left:
        assert max(counts.values(), default=0) <= most


def test_the_answer_names_nodes_and_hours() -> None:
    solved = solve_goal(cluster(), "expirations", {"most": "1"})
    assert (solved.best, solved.is_reached) == (None, True)
    assert "1 of 1 node" in solved.because
    assert not any(isinstance(edit, RemoveNode) for edit in solved.scenario.edits)


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
    """Return each value's evictions within a day and its mean cost in $/h."""
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
def test_the_answer_equals_the_best_of_all_values(
    base: WhatIfBase, played: dict[str, tuple[int, float]], most: int
) -> None:
    answer = solved(base, most)
    allowed = {value: price for value, (evictions, price) in played.items() if evictions <= most}
    cheapest = [value for value, price in allowed.items() if price == min(allowed.values())]
    assert answer.best is not None
    (edit,) = answer.best.edits
    assert isinstance(edit, SetField)
    assert edit.value == cheapest[0]  # of equal values, the longest time
    assert answer.best.figures.evictions == played[edit.value][0]
    assert answer.best.figures.price_per_hour == pytest.approx(played[edit.value][1], abs=1e-4)


def test_the_runner_up_is_the_next_value_with_the_reason_why_it_lost(base: WhatIfBase) -> None:
    answer = solved(base, 0)
    assert answer.is_reached
    assert present(answer.runner_up).why_not == "evicts 1 pod within a day"
    assert headline(answer).startswith("NodePool general: consolidateAfter ")
    assert "0 evictions within a day" in headline(answer)
    assert answer.effort.all == len(LADDER)
    assert "one day from now with a constant load: other days may evict more or less" in answer.approximated


def test_without_prices_the_answer_is_the_same_without_costs(base: WhatIfBase) -> None:
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


def test_days_and_seeds_are_named(base: WhatIfBase) -> None:
    given = {"evictions": "9", "nodepool": "general", "days": "2", "seeds": "2"}
    answer = solve_goal(base, "consolidate-after", given)
    assert present(answer.best).outcome.endswith(" on the worst of 2 days, the most of 2 seeds")
    assert answer.effort.how.endswith("each simulated for 2 days with each of 2 seeds")
