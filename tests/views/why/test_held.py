"""Money held, where little is known."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from karptui.disruption.joint_saving import JointFigures, JointRemoval
from karptui.disruption.node_verdict import Replacement
from karptui.karpenter import labels
from karptui.session.costs import SETTLES_NS, Held, SteadyHeld, held_of, held_per_hour
from karptui.session.nodes import NodeEntry, going_nodes
from karptui.views.next import TABLE, saved_per_hour
from karptui.views.nodes.cells import held_cell
from karptui.views.row import NOT_APPLICABLE, NOT_AVAILABLE, Tone
from karptui.views.table import build_rows
from karptui.views.why.sentences import held_fact, held_text, held_title
from tests.builders import NOW_NS, present
from tests.views.why.test_words import analysed, entry


def _with(result: NodeEntry, *, has_price: bool = True, **lifted: Any) -> NodeEntry:
    """Return a node with another answer to what becomes of it without what holds it."""
    assert result.findings is not None
    assert result.findings.outlook is not None
    outlook = replace(result.findings.outlook, freed=replace(result.findings.outlook.freed, **lifted))
    findings = replace(result.findings, outlook=outlook)
    return NodeEntry(result.node, result.claim, findings=findings, price=result.price if has_price else None)


def test_a_node_without_a_price_is_not_counted_as_nothing() -> None:
    bare = _with(entry(analysed(), "dnd"), has_price=False)
    assert held_per_hour(bare) is None
    assert saved_per_hour(bare) is None
    total = held_of([bare])
    assert (total.unpriced, held_text(total)) == (1, "n/a")
    assert build_rows(TABLE, [bare], now_ns=NOW_NS)[0].cells[4].text == "n/a"


def test_a_replacement_saves_its_share_of_the_price_shown() -> None:
    result = _with(entry(analysed(), "dnd"), outcome="replace", savings_per_hour=0.252)
    assert held_per_hour(result) == pytest.approx(0.252)
    assert saved_per_hour(result) == pytest.approx(0.252)
    cells = [cell.text for cell in build_rows(TABLE, [result], now_ns=NOW_NS)[0].cells]
    assert cells[6] == "replace"


def test_a_reservation_is_billed_whether_it_is_used_or_not() -> None:
    result = entry(analysed(), "dnd")
    assert result.node is not None
    reserved = {**result.node.labels, labels.CAPACITY_TYPE: labels.RESERVED}
    result = replace(result, node=replace(result.node, labels=reserved))
    gone = _with(result, outcome="delete", savings_per_hour=1e-8)
    assert (saved_per_hour(gone), held_per_hour(gone)) == (0.0, 0.0)
    other = (Replacement("general", ("m5.large",), 0.1, 1),)
    assert saved_per_hour(_with(result, outcome="replace", savings_per_hour=-0.1, replacements=other)) == -0.1


def test_what_holds_a_node_whose_replacement_costs_more_holds_no_money() -> None:
    dearer = (Replacement("general", ("m5.4xlarge",), 9.0, 1),)
    result = _with(entry(analysed(), "dnd"), outcome="replace", savings_per_hour=-7.9, replacements=dearer)
    assert present(saved_per_hour(result)) < 0.0  # Next says what it costs.
    assert held_per_hour(result) == 0.0
    assert held_of([result]) == Held()
    assert held_cell(result, NOW_NS) == NOT_APPLICABLE


def test_what_comes_in_place_of_a_node_has_no_price_before_it_is_chosen() -> None:
    result = entry(analysed(), "dnd")
    bare = (Replacement("general", ("m5.large",), 0.1, 0, is_from_template=True),)
    unpriced = (Replacement("general", ("m5.large",), 0.0, 1),)
    for item in (
        _with(result, outcome="replace", savings_per_hour=1.0, is_first=True),
        _with(result, outcome="replace", replacements=bare),
        _with(result, outcome="replace", savings_per_hour=1.0, replacements=unpriced),
        _with(result, outcome="replace", is_saving_known=False),
    ):
        assert (saved_per_hour(item), held_per_hour(item)) == (None, None)
        assert held_cell(item, NOW_NS) == NOT_AVAILABLE


def test_what_stays_anyway_holds_nothing() -> None:
    stays = _with(entry(analysed(), "dnd"), outcome="no")
    assert held_per_hour(stays) == 0.0
    assert held_of([stays]) == Held()


def test_before_the_simulation_nothing_is_known_of_the_next_table() -> None:
    bare = NodeEntry(entry(analysed(), "dnd").node, None)
    cells = [cell.text for cell in build_rows(TABLE, [bare], now_ns=NOW_NS)[0].cells]
    assert (cells[4], cells[6], cells[7]) == ("n/a", "-", "-")
    assert held_per_hour(bare) is None
    assert bare not in going_nodes(analysed().node_entries)


def test_other_currencies_and_nothing_held() -> None:
    assert held_text(Held(1.5, "CNY", 1)) == "¥1.50/h"
    assert held_text(Held(1.5, "EUR", 1)) == "EUR 1.50/h"
    assert held_fact(Held()).tone is Tone.MUTED


def test_nodes_that_nobody_has_looked_into_hold_an_unknown_amount() -> None:
    result = entry(analysed(), "dnd")
    unknown = NodeEntry(result.node, result.claim, price=result.price)
    unmanaged = NodeEntry(result.node, None, price=result.price)
    assert held_text(held_of([unknown, unmanaged])) == "…"
    assert held_of([unmanaged]) == Held()
    assert held_text(held_of([result, unknown])) == held_text(held_of([result])) + "+"


def test_the_sum_of_the_top_bar_stands_still_while_it_is_worked_out_or_falls_for_a_moment() -> None:
    total = SteadyHeld()
    whole, fallen = Held(3.23, nodes=9, unpriced=1), Held(1.21, nodes=5)
    assert total.shown(Held(0.4, nodes=1, waiting=7), 0) == (None, False)
    assert total.shown(whole, 1) == (whole, True)
    assert total.shown(Held(2.0, nodes=4, waiting=1), 2) == (whole, False)
    assert total.shown(fallen, 10) == (whole, False)
    assert total.shown(whole, 10 + SETTLES_NS // 2) == (whole, True)
    assert total.shown(fallen, SETTLES_NS) == (whole, False)
    assert total.shown(replace(fallen, per_hour=1.3), 2 * SETTLES_NS - 1) == (whole, False)
    assert total.shown(fallen, 2 * SETTLES_NS) == (fallen, True)


def test_a_sum_above_the_last_one_is_shown_at_once() -> None:
    total = SteadyHeld()
    fallen, whole = Held(0.9, nodes=2, is_upper_bound=True), Held(3.27, nodes=7, is_upper_bound=True)
    assert total.shown(fallen, 0) == (fallen, True)
    assert total.shown(whole, 1) == (whole, True)
    forecast = Held(1.2, nodes=7, seconds=900)
    assert total.shown(forecast, 2) == (forecast, True)
    assert total.shown(whole, 3) == (forecast, False)


def test_the_sum_of_what_stands_still_is_that_of_this_moment() -> None:
    total = SteadyHeld()
    first, last = Held(0.69, nodes=2), Held(3.68, nodes=9)
    assert total.shown(first, 0, settles_ns=0) == (first, True)
    assert total.shown(Held(0.5, nodes=1, waiting=1), 0, settles_ns=0) == (first, False)
    partial = Held(2.0, nodes=4, waiting=1)
    assert total.shown(partial, 0, settles_ns=0) == (partial, False)
    assert total.shown(last, 0, settles_ns=0) == (last, True)


def test_a_sum_that_is_not_of_this_moment_is_dim() -> None:
    assert held_fact(Held(3.0, nodes=1)).tone is Tone.WARNING
    assert held_fact(Held(3.0, nodes=1), is_steady=False).tone is Tone.MUTED


@pytest.mark.parametrize(
    ("rows", "total", "text"),
    [
        (Held(3.684, nodes=9), Held(3.684, nodes=9), "$3.68/h held ($2,689/mo)"),
        (Held(0.34, nodes=1), Held(3.684, nodes=9), "$0.34/h held now ($3.68/h before)"),
        (Held(0.34, nodes=1, waiting=2), Held(3.684, nodes=9), "$0.34/h+ held now ($3.68/h before)"),
        (Held(waiting=2), Held(3.684, nodes=9), "held … now ($3.68/h before)"),
        (Held(waiting=2), Held(waiting=1), "held …"),
        (Held(0.34, nodes=1), None, "$0.34/h held ($248/mo)"),
    ],
)
def test_the_title_says_what_its_rows_hold_also_while_the_top_bar_stands(
    rows: Held, total: Held | None, text: str
) -> None:
    assert held_title(rows, total) == text


def test_several_nodes_hold_no_more_than_their_joint_removal_saves() -> None:
    result = entry(analysed(), "dnd")
    other = replace(result, node=replace(present(result.node), name="other"))
    other = NodeEntry(
        other.node, replace(present(result.claim), name="other"), findings=result.findings, price=result.price
    )
    alone, price = held_of([result]), present(result.price).per_hour
    assert (alone.is_upper_bound, held_text(alone).startswith("up to")) == (False, False)
    both = held_of([result, other])
    assert (both.per_hour, held_text(both)) == (2 * alone.per_hour, f"up to {held_text(alone.__class__(2 * price))}")
    assert held_title(both, None).count("up to") == 2
    keys = frozenset({result.key, other.key})
    joint = JointFigures()
    joint._simulated[keys] = JointRemoval(keys, 4.0, 3.0)
    together = held_of([result, other], joint)
    assert (together.per_hour, together.nodes, together.is_joint) == (pytest.approx(1.5 * price), 2, True)
    assert (both.is_joint, both.is_upper_bound, together.is_upper_bound) == (False, True, True)
