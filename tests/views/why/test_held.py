"""Held costs with incomplete information."""

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
    """Return a node with another simulated outcome of lifting its blockers."""
    assert result.findings is not None
    assert result.findings.outlook is not None
    outlook = replace(result.findings.outlook, freed=replace(result.findings.outlook.freed, **lifted))
    findings = replace(result.findings, outlook=outlook)
    return NodeEntry(result.node, result.claim, findings=findings, price=result.price if has_price else None)


DEARER = (Replacement("general", ("m5.4xlarge",), 9.0, 1),)


@pytest.mark.parametrize(("lifted", "saved", "held"), [
    ({"outcome": "replace", "savings_per_hour": 0.252}, 0.252, 0.252),
    ({"outcome": "replace", "savings_per_hour": -7.9, "replacements": DEARER}, -7.9, 0.0),
    ({"outcome": "no"}, None, 0.0),
], ids=["replaced", "replaced by a dearer one: Next shows what it costs", "stays anyway"])  # fmt: skip
def test_the_held_cost_is_the_savings_of_removal_and_never_negative(
    lifted: dict[str, Any], saved: float | None, held: float
) -> None:
    result = _with(entry(analysed(), "dnd"), **lifted)
    assert saved is None or saved_per_hour(result) == pytest.approx(saved)
    assert held_per_hour(result) == pytest.approx(held)
    assert (held_of([result]) == Held()) is (held == 0.0)
    assert (held_cell(result, NOW_NS) == NOT_APPLICABLE) is (held == 0.0)


def test_removing_a_node_on_a_reservation_saves_nothing() -> None:
    result = entry(analysed(), "dnd")
    assert result.node is not None
    reserved = {**result.node.labels, labels.CAPACITY_TYPE: labels.RESERVED}
    result = replace(result, node=replace(result.node, labels=reserved))
    gone = _with(result, outcome="delete", savings_per_hour=1e-8)
    assert (saved_per_hour(gone), held_per_hour(gone)) == (0.0, 0.0)
    other = (Replacement("general", ("m5.large",), 0.1, 1),)
    assert saved_per_hour(_with(result, outcome="replace", savings_per_hour=-0.1, replacements=other)) == -0.1


def test_savings_are_unknown_until_the_replacement_is_chosen() -> None:
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


def test_cells_of_next_are_unknown_before_the_simulation() -> None:
    bare = NodeEntry(entry(analysed(), "dnd").node, None)
    cells = [cell.text for cell in build_rows(TABLE, [bare], now_ns=NOW_NS)[0].cells]
    assert (cells[4], cells[6], cells[7]) == ("n/a", "-", "-")
    assert held_per_hour(bare) is None
    assert bare not in going_nodes(analysed().node_entries)


@pytest.mark.parametrize(("held", "is_steady", "text", "tone"), [
    (Held(3.0, nodes=1), True, "$3.00/h", Tone.WARNING),
    (Held(3.0, nodes=1), False, "$3.00/h", Tone.MUTED),
    (Held(), True, "$0.00/h", Tone.MUTED),
    (Held(1.5, "CNY", 1), True, "¥1.50/h", Tone.WARNING),
    (Held(1.5, "EUR", 1), True, "EUR 1.50/h", Tone.WARNING),
])  # fmt: skip
def test_an_outdated_or_missing_sum_is_dimmed(held: Held, is_steady: bool, text: str, tone: Tone) -> None:
    assert (held_text(held), held_fact(held, is_steady=is_steady).tone) == (text, tone)


def test_nodes_that_are_not_simulated_hold_an_unknown_amount() -> None:
    result = entry(analysed(), "dnd")
    unknown = NodeEntry(result.node, result.claim, price=result.price)
    unmanaged = NodeEntry(result.node, None, price=result.price)
    assert held_text(held_of([unknown, unmanaged])) == "…"
    assert held_of([unmanaged]) == Held()
    assert held_text(held_of([result, unknown])) == held_text(held_of([result])) + "+"


WHOLE, FALLEN = Held(3.23, nodes=9, unpriced=1), Held(1.21, nodes=5)
LOW, HIGH = Held(0.9, nodes=2, is_upper_bound=True), Held(3.27, nodes=7, is_upper_bound=True)
FORECAST = Held(1.2, nodes=7, seconds=900)
PARTIAL = Held(2.0, nodes=4, waiting=1)
FIRST = Held(0.69, nodes=2)


@pytest.mark.parametrize(
    ("settles_ns", "sums"),
    [
        (
            SETTLES_NS,
            [
                (0, Held(0.4, nodes=1, waiting=7), None, False),
                (1, WHOLE, WHOLE, True),
                (2, PARTIAL, WHOLE, False),
                (10, FALLEN, WHOLE, False),
                (10 + SETTLES_NS // 2, WHOLE, WHOLE, True),
                (SETTLES_NS, FALLEN, WHOLE, False),
                (2 * SETTLES_NS - 1, replace(FALLEN, per_hour=1.3), WHOLE, False),
                (2 * SETTLES_NS, FALLEN, FALLEN, True),
            ],
        ),
        (
            SETTLES_NS,
            [(0, LOW, LOW, True), (1, HIGH, HIGH, True), (2, FORECAST, FORECAST, True), (3, HIGH, FORECAST, False)],
        ),
        (
            0,
            [
                (0, FIRST, FIRST, True),
                (0, Held(0.5, nodes=1, waiting=1), FIRST, False),
                (0, PARTIAL, PARTIAL, False),
                (0, WHOLE, WHOLE, True),
            ],
        ),
    ],
    ids=[
        "it stands still while it is worked out or falls for a moment",
        "a higher one is shown at once",
        "of what stands still",
    ],
)
def test_the_sum_of_the_top_bar_is_steady(settles_ns: int, sums: list[tuple[int, Held, Held | None, bool]]) -> None:
    total = SteadyHeld()
    for at_ns, held, shown, is_steady in sums:
        assert total.shown(held, at_ns, settles_ns=settles_ns) == (shown, is_steady)


@pytest.mark.parametrize(("rows", "total", "text"), [
    (Held(3.684, nodes=9), Held(3.684, nodes=9), "$3.68/h held ($2,689/mo)"),
    (Held(0.34, nodes=1), Held(3.684, nodes=9), "$0.34/h held now ($3.68/h before)"),
    (Held(0.34, nodes=1, waiting=2), Held(3.684, nodes=9), "$0.34/h+ held now ($3.68/h before)"),
    (Held(waiting=2), Held(3.684, nodes=9), "held … now ($3.68/h before)"),
    (Held(waiting=2), Held(waiting=1), "held …"),
    (Held(0.34, nodes=1), None, "$0.34/h held ($248/mo)"),
])  # fmt: skip
def test_the_title_shows_the_sum_of_its_rows(rows: Held, total: Held | None, text: str) -> None:
    assert held_title(rows, total) == text


def test_several_nodes_hold_at_most_the_savings_of_their_joint_removal() -> None:
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
