from __future__ import annotations

from itertools import islice
from typing import Any

import pytest

from karptui.disruption.blockers import price_of
from karptui.disruption.methods import NextPass
from karptui.forward.result import Played, StepKind
from karptui.kube.timestamps import NS_PER_SECOND
from karptui.plan.drill import drill, losses
from karptui.plan.headroom import headroom
from karptui.plan.pod_trial import samples
from karptui.plan.policies import compare
from karptui.plan.rollout import rollout
from karptui.solve.run import solve_goal
from karptui.whatif.edits import ObjectRef, SetField
from karptui.whatif.edits.apply import apply
from karptui.whatif.replay import replay
from karptui.whatif.scenario import Replay, read_scenarios, write_scenarios
from karptui.whatif.situation import Situation, WhatIfBase
from tests.whatif.snapshots import base_of, documents
from tests.whatif.test_goldens import by_hand, pools

MOVING = ("consolidation", "disruption", "runners")
MINUTES_NS = 60 * NS_PER_SECOND


def document_of(family: str, place: int = 0) -> dict[str, Any]:
    return next(islice(documents(family), place, None))


def waiting(situation: Situation) -> tuple[int, set[str]]:
    """Return how many NodeClaims one pass makes, and the pods that it finds no place for."""
    outcome = replay(situation, Replay.PENDING)
    return len(outcome.claims), {pod.key for pod in outcome.unplaced}


def commands(played: Played) -> list[Any]:
    return [(step.at_ns, step.kind, step.method, step.decision, step.nodes, step.pods) for step in played.steps]


def chosen(found: NextPass) -> list[Any]:
    return [
        (one.decision, [candidate.node.node_name for candidate in one.candidates], one.known_savings)
        for one in found.commands
    ]


@pytest.mark.parametrize(
    ("family", "field", "value"),
    [
        ("consolidation", "consolidateAfter", "Never"),
        ("consolidation", "consolidationPolicy", "WhenEmpty"),
        ("disruption", "budgets", [{"nodes": "1"}]),
        ("runners", "consolidateAfter", "Never"),
    ],
)
def test_what_disruption_does_with_an_edit_is_what_it_does_with_the_edited_cluster(
    family: str, field: str, value: Any
) -> None:
    document = document_of(family)
    base = base_of(document)
    name, path = pools(document)[0]["metadata"]["name"], ("spec", "disruption", field)
    edited, by_itself = (
        apply(base, (SetField(ObjectRef("NodePool", name), path, value),)),
        base_of(by_hand(document, name, path, value)),
    )
    found, expected = (replay(one, Replay.NEXT).next_pass for one in (edited, by_itself))
    assert found is not None
    assert expected is not None
    assert chosen(found) == chosen(expected)
    plays = [one.play(horizon_ns=10 * MINUTES_NS) for one in (rollout(base, edited), rollout(by_itself))]
    assert commands(plays[0]) == commands(plays[1])
    assert commands(plays[1]) != commands(rollout(base).play(horizon_ns=10 * MINUTES_NS)), "the edit changes something"


@pytest.mark.parametrize(("family", "place"), [*((family, 0) for family in MOVING), ("existing", 1)])
def test_commands_of_a_play_save_what_their_nodes_cost_less_what_replaces_them(family: str, place: int) -> None:
    base = base_of(document_of(family, place))
    prices = {node.node_name: price_of(base.fleet, node) or 0.0 for node in base.fleet.nodes}
    for step in rollout(base).play(horizon_ns=30 * MINUTES_NS).steps:
        if step.kind is StepKind.DISRUPT and prices.keys() >= set(step.nodes):
            replaced = sum(prices[name] for name in step.nodes) - sum(one["cheapestPrice"] for one in step.claims)
            assert step.savings_per_hour == pytest.approx(replaced)


@pytest.mark.parametrize(("family", "place"), [("existing", 0), ("existing", 2), ("mixed", 1)])
def test_so_many_pods_fit_as_a_what_if_finds_a_place_for_and_no_more(family: str, place: int) -> None:
    base = base_of(document_of(family, place))
    known = {pod.key for pod in base.inventory.pods}
    launched, _ = waiting(base)
    for sample in samples(base.inventory)[:2]:
        found = headroom(base, sample, most=30, pools=())
        for count in {found.fits, min(found.fits + 1, 30)} - {0}:
            claims, left = waiting(apply(base, sample.edits(count)))
            needs_a_node = claims > launched or bool(left - known)
            assert needs_a_node == (count > found.fits), (sample.name, count)
        assert found.starts <= found.fits <= found.total
        assert sum(count for _, count in found.nodes) + found.on_launched == found.fits


@pytest.mark.parametrize(("family", "place", "pending"), [("existing", 0, 9), ("mixed", 1, 0)])
def test_a_drill_says_of_every_pod_where_the_what_if_puts_it(family: str, place: int, pending: int) -> None:
    base = base_of(document_of(family, place))
    before, most, others = waiting(apply(base, ()))[1], 0, 0
    for loss in losses(base.inventory):
        found = drill(base, loss)
        _, left = waiting(apply(base, found.edits))
        assert found.pods == found.on_nodes + found.on_new + len(found.pending)
        assert {one.pod_key for one in (*found.pending, *found.also_pending)} == left - before
        assert bool(found.on_new) == bool(found.launched)
        most, others = max(most, len(found.pending)), others + len(found.also_pending)
    assert most == pending
    assert others, "a loss takes the place that others wait for"


@pytest.mark.parametrize(("family", "place"), [("mixed", 1), ("storyD", 0)])
def test_the_answer_of_a_goal_reaches_it_as_a_scenario_at_the_cost_that_it_says(family: str, place: int) -> None:
    base = base_of(document_of(family, place))
    solved = solve_goal(base, "pending", {})
    assert solved.best is not None
    (scenario,) = read_scenarios(write_scenarios([solved.scenario]), "answer")
    figures = replay(apply(base, scenario.edits), scenario.replay).pools.values()
    expected = solved.best.figures
    assert sum(one.nodes for one in figures) == expected.nodes
    assert sum(one.price_per_hour for one in figures) == pytest.approx(expected.price_per_hour)
    assert len(waiting(apply(base, scenario.edits))[1]) == expected.pending


def test_policies_come_to_what_a_play_of_their_edits_comes_to() -> None:
    base: WhatIfBase = base_of(document_of("consolidation"))
    for one in compare(base, policies=("WhenEmpty",), afters=("0s",), horizon_ns=30 * MINUTES_NS).outcomes:
        played = rollout(base, apply(base, one.edits) if one.edits else None).play(horizon_ns=30 * MINUTES_NS)
        assert (one.nodes, one.price_per_hour, one.evictions, one.pending) == (
            played.end.nodes,
            played.end.price_per_hour,
            played.evictions,
            played.end.pending,
        )
