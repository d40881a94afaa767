from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karptui.disruption.budget_calendar import allowance
from karptui.disruption.budgets import PoolUse, Reason
from karptui.disruption.pauses import budget_documents, end_of, pause_budget, zero_budgets
from karptui.karpenter.nodepool import DisruptionBudget
from karptui.kube.timestamps import DAY_NS, NS_PER_SECOND, format_timestamp, parse_timestamp
from karptui.whatif.schema.schema import shipped_schemas
from karptui.whatif.schema.validation import object_violations
from tests.builders import NOW_NS, a_nodepool
from tests.whatif.edits.test_apply import POOL

MINUTE_NS = 60 * NS_PER_SECOND
HOUR_NS = 60 * MINUTE_NS
TEN = PoolUse(10)
VOLUNTARY = (Reason.EMPTY, Reason.DRIFTED, Reason.UNDERUTILIZED)
EXISTING = (
    (),
    (DisruptionBudget("20%"),),
    (DisruptionBudget("3"), DisruptionBudget("0", "0 9 * * mon-fri", "8h", ("Drifted",))),
    (DisruptionBudget("1", "@daily", "12h"),),
)


def decoded(document: dict[str, Any]) -> DisruptionBudget:
    reasons = document.get("reasons")
    return DisruptionBudget(
        document["nodes"], document.get("schedule"), document.get("duration"), None if reasons is None else (*reasons,)
    )


@given(
    start=st.integers(0, 3 * 365 * 24 * 3600),
    seconds=st.integers(1, 14 * 24 * 3600),
    reasons=st.sampled_from([(), (Reason.DRIFTED,), (Reason.EMPTY, Reason.UNDERUTILIZED)]),
    existing=st.sampled_from(EXISTING),
)
def test_a_pause_blocks_only_its_reasons_and_only_until_its_end(
    start: int, seconds: int, reasons: Sequence[Reason], existing: tuple[DisruptionBudget, ...]
) -> None:
    now_ns = NOW_NS + start * NS_PER_SECOND
    until_ns = now_ns + seconds * NS_PER_SECOND
    closed_ns = -(-until_ns // MINUTE_NS) * MINUTE_NS
    before = a_nodepool(budgets=existing)
    after = a_nodepool(budgets=(*existing, decoded(pause_budget(now_ns, until_ns, reasons))))
    end_ns = now_ns + 30 * DAY_NS
    for reason in VOLUNTARY:
        was = allowance(before, reason, TEN, now_ns, end_ns)
        is_paused = not reasons or reason in reasons
        for span in allowance(after, reason, TEN, now_ns, end_ns):
            middle_ns = (span.start_ns + span.end_ns) // 2
            old = next(span.allowed for span in was if span.start_ns <= middle_ns < span.end_ns)
            assert span.allowed == (0 if is_paused and middle_ns < closed_ns else old)
        assert any(
            budget.is_recurring is False and (budget.end_ns == closed_ns or closed_ns - now_ns >= 7 * DAY_NS)
            for budget in zero_budgets(after, now_ns)
        )


@pytest.mark.parametrize("until", [None, "59s", "61m", "2h", "80h"])
@pytest.mark.parametrize("reasons", [(), (Reason.DRIFTED,)])
def test_an_api_server_accepts_a_pause(until: str | None, reasons: tuple[Reason, ...]) -> None:
    budget = pause_budget(NOW_NS, end_of(until, NOW_NS) if until else None, reasons)
    pool = {**POOL, "spec": {**POOL["spec"], "disruption": {"budgets": [{"nodes": "10%"}, budget]}}}
    kind = shipped_schemas("1.14.1").get("karpenter.sh/v1", "NodePool")
    assert kind is not None
    violations, _ = object_violations(pool, kind)
    assert [violation for violation in violations if "budgets" in violation.path] == []


@pytest.mark.parametrize(("budget", "is_recurring"), [
    (DisruptionBudget("0"), False),
    (DisruptionBudget("0%"), False),
    (DisruptionBudget("0", "0 12 20 11 *", "1h"), False),
    (DisruptionBudget("0", "0 9 * * mon-fri", "8h"), True),
    (DisruptionBudget("0", "0 12 20 * *", "1h"), True),
    (DisruptionBudget("0", "@daily", "24h"), True),
    (DisruptionBudget("1%"), None),
    (DisruptionBudget("1"), None),
    (DisruptionBudget("0", "0 13 20 11 *", "1h"), None),
    (DisruptionBudget("0", "0 0 * * 7", "1h"), None),
    (DisruptionBudget("none"), None),
])  # fmt: skip
def test_active_pauses(budget: DisruptionBudget, is_recurring: bool | None) -> None:
    """NOW is Friday 2026-11-20, 12:00."""
    assert format_timestamp(NOW_NS).startswith("2026-11-20T12:00")
    budgets = zero_budgets(a_nodepool(budgets=(DisruptionBudget("5%"), budget)), NOW_NS)
    assert [(budget.index, budget.is_recurring) for budget in budgets] == (
        [] if is_recurring is None else [(1, is_recurring)]
    )


@pytest.mark.parametrize(("text", "end"), [
    ("2h", "2026-11-20T14:00:00Z"),
    ("18:00Z", "2026-11-20T18:00:00Z"),
    ("18:00", "2026-11-20T18:00:00Z"),
    ("11:30z", "2026-11-21T11:30:00Z"),
    ("12:00", "2026-11-21T12:00:00Z"),
    ("2026-12-01T06:00:00Z", "2026-12-01T06:00:00Z"),
])  # fmt: skip
def test_ends_may_be_durations_or_times(text: str, end: str) -> None:
    now_ns = NOW_NS - NOW_NS % DAY_NS + 12 * HOUR_NS
    assert end_of(text, now_ns) == parse_timestamp(end)


@pytest.mark.parametrize("text", ["", "soon", "-20m ago", "25:00", "Z", "tomorrow"])
def test_invalid_ends_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        end_of(text, NOW_NS)


def test_without_budgets_the_default_of_the_api_server_is_kept() -> None:
    assert budget_documents(a_nodepool(raw={"spec": {}})) == [{"nodes": "10%"}]
    assert budget_documents(a_nodepool(raw={"spec": {"disruption": {"budgets": []}}})) == []
