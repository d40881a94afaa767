"""The answer in one or two sentences."""

from __future__ import annotations

from typing import Any

import pytest

from karptui.views.whatif.sentences import headline_text
from karptui.whatif.difference import Difference
from karptui.whatif.difference_lines import ABSENT, PlaceKind, PodPlace, WeightChange
from karptui.whatif.edits import AnyEdit, SetSetting
from karptui.whatif.run import Answer
from karptui.whatif.scenario import Replay, Scenario
from tests.views.whatif.differences import (
    GENERAL,
    NOWHERE,
    OLD_NODE,
    CommandLine,
    DriftLine,
    MoveLine,
    NextLines,
    NodeLine,
    a_claim,
    a_difference,
    a_type,
    totals,
    unplaced,
)

EDIT = SetSetting("VM_MEMORY_OVERHEAD_PERCENT", "0.05")
TRINO = PodPlace(PlaceKind.CLAIM, "trino")
WORKERS = tuple(f"trino/worker-{number}" for number in range(3))


def answer_text(difference: Difference, *, edits: tuple[AnyEdit, ...] = (EDIT,), **given: Any) -> str:
    """Return the sentences about a difference, once blockers have been worked out."""
    blockers: dict[str, Any] = {"blockers_gained": (), "blockers_lost": ()}
    return headline_text(Answer(Scenario(replay=difference.mode, edits=edits), difference, **(blockers | given)))


def drifted(pool: str, count: int) -> tuple[DriftLine, ...]:
    return tuple(DriftLine(f"{pool}-{at}", f"n{at}", pool, "NodePoolDrifted", "taints") for at in range(count))


def placed(**given: Any) -> Difference:
    """Return what story D comes to."""
    types = (a_type("r5a.8xlarge", 1.808, capacity_type="on-demand"),)
    defaults: dict[str, Any] = {
        "before": totals(price_per_hour=25.0),
        "after": totals(nodes=65, launched=3, price_per_hour=30.424, pending=0),
        "claims": tuple(a_claim(pod, pool_name="trino", types=types) for pod in WORKERS),
        "now_fit": (MoveLine("StatefulSet/trino/worker", NOWHERE, TRINO, WORKERS),),
    }
    return a_difference(**(defaults | given))


def test_where_pods_are_placed_and_what_that_costs() -> None:
    expected = "3 pods of trino/worker fit on 3 new r5a.8xlarge of trino: +$5.42/h (+22%)."
    assert answer_text(placed()) == expected
    assert answer_text(placed(drift_gained=drifted("trino", 10))) == f"{expected} 10 nodes of trino would drift."
    some = drifted("trino", 2) + drifted("general", 1)
    assert answer_text(placed(drift_gained=some)).endswith(" 3 nodes (trino 2, general 1) would drift.")
    waits = (unplaced("a/b", owner="", was=NOWHERE),)
    assert answer_text(placed(still_pending=waits)) == f"{expected} 1 pod stays pending."
    assert answer_text(placed(), has_prices=False) == expected.replace(": +$5.42/h (+22%)", "")
    types = (a_type("c7i.4xlarge"), a_type("m7i.4xlarge", 0.4))
    difference = placed(claims=(a_claim("web/a", types=types),),
                        nodes=(NodeLine("n1.ec2.internal", "general", ("web/b",), True),),
                        now_fit=(MoveLine("Deployment/web/front", ABSENT, GENERAL, ("web/a",)),
                                 MoveLine("Deployment/web/front", ABSENT, OLD_NODE, ("web/b",))),
                        after=totals(nodes=63, launched=1, price_per_hour=25.1))  # fmt: skip
    assert answer_text(difference) == (
        "2 new pods of web/front fit on 1 new node of general, c7i.4xlarge or more expensive and n1: +$0.10/h (+0.4%)."
    )


def test_pods_that_lose_their_place_come_first_with_the_reason() -> None:
    lost = (unplaced(was=OLD_NODE), unplaced("trino/worker-1", was=OLD_NODE))
    fresh = (unplaced("web/x", owner="", was=None, reason="no room"),)
    difference = a_difference(no_longer_fit=(*lost, *fresh), after=totals(price_per_hour=24.0))
    assert answer_text(difference) == (
        "2 pods of trino/worker become unschedulable: short by memory 6,846Mi. "
        "1 new pod is unschedulable: no room: -$1.00/h (-4%)."
    )


@pytest.mark.parametrize(("after", "expected"), [
    (PodPlace(PlaceKind.CLAIM, "spare"), "1 pod of web/front lands on spare instead of general: the same $/h."),
    (PodPlace(PlaceKind.NODE, "general", "n2"), "1 pod of web/front lands elsewhere: on n2: the same $/h."),
])  # fmt: skip
def test_pods_that_land_elsewhere(after: PodPlace, expected: str) -> None:
    moves = (MoveLine("Deployment/web/front", OLD_NODE, after, ("web/a",)),)
    nodes = (NodeLine("n2", "general", ("web/a",), True),)
    difference = a_difference(moves=moves, nodes=nodes, after=totals(nodes=61))
    assert answer_text(difference) == expected


def test_removed_nodes_say_where_their_pods_go() -> None:
    moves = (MoveLine("", OLD_NODE, PodPlace(PlaceKind.NODE, "general", "n2"), ("web/a",)),)
    nodes = (NodeLine("n2", "general", ("web/a",), True),)
    difference = a_difference(mode=Replay.REMOVE, moves=moves, nodes=nodes, after=totals(nodes=61, price_per_hour=24.0))
    assert answer_text(difference) == "1 pod moves to n2: -$1.00/h (-4%)."
    empty = a_difference(mode=Replay.REMOVE, after=totals(nodes=60, price_per_hour=24.0))
    assert answer_text(empty) == "60 nodes instead of 62: -$1.00/h (-4%)."


def test_dollars_of_spot_whose_price_nobody_knows() -> None:
    after = totals(nodes=63, unpriced=1, unpriced_at_most_per_hour=0.4)
    assert answer_text(a_difference(after=after)) == (
        "63 nodes instead of 62: with spot of unknown price at most +$0.40/h."
    )
    unbounded = totals(nodes=63, unpriced=1, unbounded=1)
    assert answer_text(a_difference(after=unbounded)) == "63 nodes instead of 62: 1 node of unknown price more."
    both = totals(nodes=64, unpriced=2, unbounded=1, unpriced_at_most_per_hour=0.4)
    assert answer_text(a_difference(after=both)) == (
        "64 nodes instead of 62: with spot of unknown price at most +$0.40/h, 1 node of unknown price more."
    )


def test_without_edits_it_says_what_karpenter_does() -> None:
    document = {"claims": (a_claim("web/a", types=(a_type(),)),), "after": totals(pending=2)}
    assert answer_text(a_difference(**document), edits=()) == (
        "Nothing is edited: 1 of 3 pending or displaced pods fits on 1 new c7i.4xlarge of general; 2 pods stay pending."
    )
    assert answer_text(a_difference(), edits=()) == "Nothing is edited: 3 pods are pending, and none is schedulable."
    quiet = a_difference(before=totals(pending=0), after=totals(pending=0))
    assert answer_text(quiet, edits=()) == "Nothing is edited, and no pod is pending."
    assert answer_text(a_difference(mode=Replay.REMOVE), edits=()).startswith("No node is removed yet")
    assert "land on 62 nodes" in answer_text(a_difference(mode=Replay.SCRATCH), edits=())


def test_the_next_disruption() -> None:
    delete = CommandLine("Drift", "delete", ("n1.ec2.internal",), (), 0.77)
    replace = CommandLine("SingleNodeConsolidation", "replace", ("a", "b", "c"), (("general", "m7i.large"),), 0.0)
    nothing = NextLines((), "every budget is used up")

    def following(before: NextLines, after: NextLines, **given: Any) -> str:
        return answer_text(a_difference(mode=Replay.NEXT, next_before=before, next_after=after), **given)

    assert following(nothing, NextLines((delete,))) == (
        "Next Karpenter would delete n1 (Drift), saving $0.7700/h. Without the edits: nothing, every budget is used up."
    )
    assert following(nothing, nothing) == "As before: every budget is used up."
    assert following(nothing, nothing, edits=()) == (
        "Nothing is edited. Karpenter would do nothing next: every budget is used up."
    )
    both = NextLines((replace, delete))
    assert following(both, both) == (
        "Karpenter would do the same next: replace 3 nodes with 1 new m7i.large (SingleNodeConsolidation), "
        "and 1 command more."
    )


def test_a_nodepool_without_types_comes_first_and_is_told_once() -> None:
    change = WeightChange("spare", behind=("general",), is_usable=False)
    text = answer_text(a_difference(without_types=("spare",), weights=(change,)))
    assert text.startswith("No instance type is left in spare: no node can be launched there. ")
    assert "none of its types" not in text


@pytest.mark.parametrize(("weights", "expected"), [
    ((WeightChange("spare", behind=("general",)),),
     "spare is now tried after general: weight is an order, not a share. Nothing changes."),
    ((WeightChange("spare", ahead_of=("a", "b", "c"), is_usable=False), WeightChange("edge")),
     ("spare is now tried before a, b and 1 more, but none of its types is left: weight is an order, not a share. "
      "edge keeps its rank. Nothing changes.")),
])  # fmt: skip
def test_an_edited_weight_is_an_order(weights: tuple[WeightChange, ...], expected: str) -> None:
    same = {"before": totals(pending=0), "after": totals(pending=0)}
    assert answer_text(a_difference(weights=weights, **same)) == expected
    assert answer_text(placed(weights=weights[:1])).endswith("weight is an order, not a share.")
