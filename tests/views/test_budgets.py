from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast
from zoneinfo import ZoneInfo

import pytest
from jsonschema import Draft202012Validator

from karptui.disruption.budget_calendar import pool_budgets
from karptui.disruption.budgets import PoolUse, Reason, reasons_of
from karptui.disruption.fleet import Fleet
from karptui.karpenter.nodepool import DisruptionBudget, NodePool
from karptui.karpenter.settings import DEFAULTS
from karptui.session.budgets import BudgetEntry
from karptui.views.budgets.columns import budgets_table
from karptui.views.budgets.sentences import budget_sentences, detail_text, line_text, strip_text
from karptui.views.column import row_schema
from karptui.views.row import Tone
from karptui.views.table import build_rows
from tests.builders import texts_of
from tests.ui.fleet import HOUR, NOW_NS

BERLIN = ZoneInfo("Europe/Berlin")
CLOSED_BY_DAY = DisruptionBudget("0", "0 9 * * *", "8h", ("Drifted",))
USED = PoolUse(10, tuple(f"out-{n}.internal" for n in range(6)), ("sick",))


def entry(
    *budgets: DisruptionBudget, reason: Reason = Reason.DRIFTED, use: PoolUse = USED, now_ns: int = NOW_NS
) -> BudgetEntry:
    pool = NodePool(name="general", budgets=budgets, labels={"team": "web"})
    fleet = cast("Fleet", SimpleNamespace(use={"general": use}, now_ns=now_ns, settings=DEFAULTS))
    return BudgetEntry(pool, reason, pool_budgets(fleet, pool))


def sentences_of(entry: BudgetEntry, local: Any = None) -> list[str]:
    return texts_of(budget_sentences(entry, NOW_NS, local))


UNKNOWN = BudgetEntry(NodePool(name="general"), Reason.EMPTY)
FOREIGN = BudgetEntry(NodePool(name="general"), Reason.EMPTY, is_passed_over=True)


@pytest.mark.parametrize(("budget", "text"), [
    (DisruptionBudget("10%"), "10%"),
    (CLOSED_BY_DAY, "0 · Drifted · 0 9 * * * for 8h"),
    (DisruptionBudget("1", reasons=("Empty", "Drifted")), "1 · Empty+Drifted"),
    (DisruptionBudget("1", reasons=()), "1 · no reason"),
    (DisruptionBudget("1", schedule="@daily"), "1 · @daily for (no duration)"),
    (DisruptionBudget("1", duration="1h"), "1 · (no schedule) for 1h"),
])  # fmt: skip
def test_a_budget_as_text(budget: DisruptionBudget, text: str) -> None:
    assert line_text(budget) == text


@pytest.mark.parametrize(("budgets", "reason", "week"), [
    ((DisruptionBudget("2"),), Reason.EMPTY, "2222│2222"),
    ((DisruptionBudget("12"),), Reason.EMPTY, "++++│++++"),
    ((), Reason.EMPTY, "∞∞∞∞│∞∞∞∞"),
    ((DisruptionBudget("2"), CLOSED_BY_DAY), Reason.DRIFTED, "2~~2│2~~2"),
    ((DisruptionBudget("0"),), Reason.EMPTY, "····│····"),
])  # fmt: skip
def test_the_strip_shows_the_budget_of_the_coming_days(
    budgets: tuple[DisruptionBudget, ...], reason: Reason, week: str
) -> None:
    assert strip_text(entry(*budgets, reason=reason).week, 6, days=2) == week


@pytest.mark.parametrize(("result", "lines"), [
    (UNKNOWN, ["general · Empty  computing the number left"]),
    (FOREIGN, ["general · Empty  this Karpenter does not manage the NodePool: its nodes are not disrupted"]),
    (entry(DisruptionBudget("100%")),
     ["general · Drifted  10 allowed − 6 deleting − 1 NotReady = 3 left now",
      "used up by out-0, out-1, out-2, out-3 and 2 more (deleting); sick (NotReady)",
      "by budget 1: 100% of 10 nodes · always", "no window opens or closes within a week"]),
    (entry(DisruptionBudget("2"), CLOSED_BY_DAY, use=PoolUse(10)),
     ["general · Drifted  0 allowed − 0 deleting − 0 NotReady = 0 left now",
      "by budget 2: 0 · Drifted · 0 9 * * * for 8h · Tue 09:00–17:00Z (10:00–18:00 CET)",
      "opens in 4h59m, Tue 17:00Z (18:00 CET), then 2 allowed"]),
    (entry(DisruptionBudget("2"), DisruptionBudget("1", "0 20 * * *", "1h"), use=PoolUse(10)),
     ["general · Drifted  2 allowed − 0 deleting − 0 NotReady = 2 left now", "by budget 1: 2 · always",
      "goes to 1 in 7h59m, Tue 20:00Z (21:00 CET)"]),
    (entry(DisruptionBudget("0", "0 20 * * *", "1h"), use=PoolUse(10)),
     ["general · Drifted  no budget applies now: no limit", "closes in 7h59m, Tue 20:00Z (21:00 CET)"]),
    (entry(DisruptionBudget("5"), DisruptionBudget("1", "0 9 * * 7", "8h"), use=PoolUse(10)),
     ["general · Drifted  closed: a budget that cannot be read closes the pool for every reason",
      "budget 2 (1 · 0 9 * * 7 for 8h) cannot be read: end of range (7) above maximum (6): 7",
      "no window opens or closes within a week"]),
])  # fmt: skip
def test_the_text_about_a_budget(result: BudgetEntry, lines: list[str]) -> None:
    assert sentences_of(result, BERLIN) == lines


def cells(entry: BudgetEntry) -> dict[str, tuple[str, str, Tone]]:
    table = budgets_table()
    row = build_rows(table, [entry], now_ns=NOW_NS)[0]
    return {
        heading.id: (cell.text, cell.short, cell.tone)
        for heading, cell in zip(table.headings(), row.cells, strict=True)
    }


@pytest.mark.parametrize(("outcome", "texts"), [
    (UNKNOWN, {"allowed": "…", "left": "…", "line": "…", "window": "…", "next": "…", "week": "…", "nodes": "…"}),
    (FOREIGN, {"allowed": "-", "left": "-", "deleting": "-", "line": "-", "window": "-", "next": "-", "week": "-"}),
    (entry(DisruptionBudget("100%")),
     {"allowed": "10", "deleting": "6", "notready": "1", "left": "3", "line": "1: 100%", "window": "always"}),
    (entry(), {"allowed": "no limit", "left": "no limit", "line": "none", "window": "-", "next": "-"}),
    (entry(CLOSED_BY_DAY, use=PoolUse(3)),
     {"allowed": "0", "deleting": "0", "left": "0", "line": "1: 0 · Drifted · 0 9 * * * for 8h",
      "window": "Tue 09:00–17:00Z", "next": "opens in 4h59m, Tue 17:00Z"}),
    (entry(DisruptionBudget("1", "0 0 30 2 *", "1h"), use=PoolUse(3)),
     {"window": "open for more than a week", "allowed": "1", "nodes": "3"}),
    (entry(DisruptionBudget("many"), use=PoolUse(3)), {"left": "0", "line": "✘ 1: many", "window": "cannot be read"}),
])  # fmt: skip
def test_cells_show_the_open_budget_and_what_limits_it(outcome: BudgetEntry, texts: dict[str, str]) -> None:
    result = cells(outcome)
    assert {name: result[name][0] for name in texts} == texts


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_is_in_the_schema(reason: Reason) -> None:
    Draft202012Validator(row_schema(budgets_table().published())).validate(
        budgets_table().values(BudgetEntry(NodePool(name="general"), reason), NOW_NS)
    )


def test_the_detail_of_a_budget() -> None:
    budgets = (DisruptionBudget("2"), CLOSED_BY_DAY, DisruptionBudget("1", "0 20 * * *", "1h", ("Empty",)))
    entries = [entry(*budgets, reason=reason, use=USED) for reason in reasons_of(DEFAULTS)]
    text = detail_text(entries, NOW_NS)
    assert "  2  0 · Drifted · 0 9 * * * for 8h\n       Tue 09:00–17:00Z, allows 0" in text
    assert "next Tue 20:00–21:00Z" in text
    assert "  Tue 11-24 222222 222··· ·····2 222222" in text
    assert "NotReady: sick" in text
    assert "none: there" not in text
    assert "there is no limit" in detail_text([UNKNOWN], NOW_NS)
    shut = entry(DisruptionBudget("x"), DisruptionBudget("1", "0 0 1 6 *", "1h"), use=PoolUse(1))
    assert 'cannot be read: nodes is "x"' in detail_text([shut], NOW_NS)
    assert "not within a week" in detail_text([shut], NOW_NS)
    before = BudgetEntry(NodePool(name="general", budgets=budgets), Reason.EMPTY)
    assert "  2  0 · Drifted" in detail_text([before], NOW_NS)
    alike = detail_text([entry(DisruptionBudget("1"), reason=reason) for reason in reasons_of(DEFAULTS)], NOW_NS)
    assert "\nEmpty, Drifted, Underutilized\n" in alike
    assert alike.count("Tue 11-24") == 1
    assert "Deleting: none" in detail_text([entry(DisruptionBudget("1"), use=PoolUse(1))], NOW_NS)


def test_after_the_known_week_no_change_is_known() -> None:
    result = entry(DisruptionBudget("1"))
    assert result.change(NOW_NS + 400 * HOUR) is None
