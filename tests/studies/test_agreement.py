from __future__ import annotations

from itertools import islice
from typing import Any

import pytest

from karptui.disruption.blockers import price_of
from karptui.disruption.methods import NextPass
from karptui.forward.result import Played, StepKind
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.solve.run import solve_goal
from karptui.studies.drill import drill, losses
from karptui.studies.forecasts import forecast_of
from karptui.studies.headroom import headroom
from karptui.studies.pod_trial import samples
from karptui.whatif.edits import ObjectRef, SetField
from karptui.whatif.edits.apply import apply
from karptui.whatif.replay import replay
from karptui.whatif.scenario import Replay, read_scenarios, write_scenarios
from karptui.whatif.situation import Situation
from tests.builders import present
from tests.whatif.snapshots import base_of, documents
from tests.whatif.test_goldens import by_hand, pools

MOVING = ("consolidation", "disruption", "runners")
MINUTES_NS = 60 * NS_PER_SECOND


def document_of(family: str, place: int = 0) -> dict[str, Any]:
    return next(islice(documents(family), place, None))


def waiting(situation: Situation) -> tuple[int, set[str]]:
    """Return the number of NodeClaims that one pass launches, and the pods that stay unschedulable."""
    outcome = replay(situation, Replay.PENDING)
    return len(outcome.claims), {pod.key for pod in outcome.unplaced}


def commands(played: Played) -> list[Any]:
    return [(step.at_ns, step.kind, step.method, step.decision, step.nodes, step.pods) for step in played.steps]


def chosen(next_pass: NextPass) -> list[Any]:
    return [
        (command.decision, [candidate.node.node_name for candidate in command.candidates], command.known_savings)
        for command in next_pass.commands
    ]


@pytest.mark.parametrize(("family", "field", "value"), [
    ("consolidation", "consolidateAfter", "Never"),
    ("consolidation", "consolidationPolicy", "WhenEmpty"),
    ("disruption", "budgets", [{"nodes": "1"}]),
    ("runners", "consolidateAfter", "Never"),
])  # fmt: skip
def test_disruption_treats_an_edit_as_the_edited_cluster(family: str, field: str, value: Any) -> None:
    document = document_of(family)
    base = base_of(document)
    name, path = pools(document)[0]["metadata"]["name"], ("spec", "disruption", field)
    edited, by_itself = (
        apply(base, (SetField(ObjectRef("NodePool", name), path, value),)),
        base_of(by_hand(document, name, path, value)),
    )
    next_pass, expected = (replay(cluster, Replay.NEXT).next_pass for cluster in (edited, by_itself))
    assert next_pass is not None
    assert expected is not None
    assert chosen(next_pass) == chosen(expected)
    plays = [item.play(horizon_ns=10 * MINUTES_NS) for item in (forecast_of(base, edited), forecast_of(by_itself))]
    assert commands(plays[0]) == commands(plays[1])
    assert commands(plays[1]) != commands(forecast_of(base).play(horizon_ns=10 * MINUTES_NS)), (
        "the edit changes something"
    )


@pytest.mark.parametrize(("family", "place"), [*((family, 0) for family in MOVING), ("existing", 1)])
def test_commands_save_the_cost_of_their_nodes_minus_their_replacements(family: str, place: int) -> None:
    base = base_of(document_of(family, place))
    prices = {node.node_name: price_of(base.fleet, node) or 0.0 for node in base.fleet.nodes}
    for step in forecast_of(base).play(horizon_ns=30 * MINUTES_NS).steps:
        if step.kind is StepKind.DISRUPT and prices.keys() >= set(step.nodes):
            replaced = sum(prices[name] for name in step.nodes) - sum(claim["cheapestPrice"] for claim in step.claims)
            assert step.savings_per_hour == pytest.approx(replaced)


@pytest.mark.parametrize(("family", "place"), [("existing", 0), ("existing", 2), ("mixed", 1)])
def test_headroom_equals_the_number_of_pods_that_fit_in_a_what_if(family: str, place: int) -> None:
    base = base_of(document_of(family, place))
    keys = {pod.key for pod in base.inventory.pods}
    launched, _ = waiting(base)
    for sample in samples(base.inventory)[:2]:
        result = headroom(base, sample, most=30, pools=())
        for count in {result.fits, min(result.fits + 1, 30)} - {0}:
            claims, left = waiting(apply(base, sample.edits(count)))
            needs_a_node = claims > launched or bool(left - keys)
            assert needs_a_node == (count > result.fits), (sample.name, count)
        assert result.starts <= result.fits <= result.total
        assert sum(count for _, count in result.nodes) + result.on_launched == result.fits


@pytest.mark.parametrize(("family", "place", "pending"), [("existing", 0, 9), ("mixed", 1, 0)])
def test_a_drill_has_the_unschedulable_pods_of_the_what_if(family: str, place: int, pending: int) -> None:
    base = base_of(document_of(family, place))
    before, most, others = waiting(apply(base, ()))[1], 0, 0
    for loss in losses(base.inventory):
        result = drill(base, loss)
        _, left = waiting(apply(base, result.edits))
        assert result.pods == result.on_nodes + result.on_new + len(result.pending)
        assert {unplaced.pod_key for unplaced in (*result.pending, *result.also_pending)} == left - before
        assert bool(result.on_new) == (result.launched > result.for_pending)
        most, others = max(most, len(result.pending)), others + len(result.also_pending)
    assert most == pending
    assert others, "some loss makes pods unschedulable that are pending today"


@pytest.mark.parametrize(("family", "place"), [("mixed", 1), ("storyD", 0)])
def test_the_answer_of_a_goal_has_its_nodes_and_cost_as_a_scenario(family: str, place: int) -> None:
    base = base_of(document_of(family, place))
    solved = solve_goal(base, "pending", {})
    (scenario,) = read_scenarios(write_scenarios([solved.scenario]), "answer")
    figures = replay(apply(base, scenario.edits), scenario.replay).pools.values()
    expected = present(solved.best).figures
    assert sum(figure.nodes for figure in figures) == expected.nodes
    assert sum(figure.price_per_hour for figure in figures) == pytest.approx(expected.price_per_hour)
    assert len(waiting(apply(base, scenario.edits))[1]) == expected.pending
