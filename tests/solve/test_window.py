from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karptui.disruption.budget_calendar import WEEK_NS, allowance
from karptui.disruption.budgets import PoolUse, Reason, scaled
from karptui.errors import RequestError
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.solve.goals.window import offset_of, week_of, window_budgets
from karptui.solve.run import solve_goal
from karptui.whatif.edits import SetField
from karptui.whatif.schema.schema import shipped_schemas
from karptui.whatif.schema.validation import object_violations
from tests.builders import NOW_NS, a_nodepool, present
from tests.disruption.test_pauses import decoded
from tests.studies.test_pause import cluster
from tests.whatif.edits.test_apply import POOL

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
def test_inside_is_the_share(days: set[int], hours: tuple[int, int], zone: str, share: str, later: int) -> None:
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
        # Independently: a window that began on one of the days, today or before, is still open.
        begun = [local.replace(hour=0, minute=0, second=0) + timedelta(days=-ago, minutes=start) for ago in (0, 1)]
        is_open = any(item <= local < item + timedelta(minutes=length) and item.weekday() in days for item in begun)
        assert span.allowed == (scaled(share, 37) if is_open else 0)
    assert len(budgets) <= 8


def test_gaps_alike_share_a_budget() -> None:
    assert window_budgets(week_of("mon-fri", "22:00-06:00", 60), "20%") == [
        {"nodes": "20%"},
        {"nodes": "0", "schedule": "0 5 * * tue,wed,thu,fri", "duration": "16h"},
        {"nodes": "0", "schedule": "0 5 * * sat", "duration": "64h"},
    ]
    assert window_budgets(week_of("daily", "0:00-24:00", 0), "1") == [{"nodes": "1"}]
    assert week_of("sat-mon", "9-17", 0) == week_of("mon,sun,sat", "09:00-17:00", 0)


def test_the_answer_is_accepted_replaces_budgets_and_names_the_change_of_clocks() -> None:
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
    ({"hours": "22-6", "nodepool": "none"}, "is not there"),
])  # fmt: skip
def test_windows_that_cannot_be_written(given: dict[str, str], says: str) -> None:
    with pytest.raises(RequestError, match=says):
        solve_goal(cluster(), "window", given)
