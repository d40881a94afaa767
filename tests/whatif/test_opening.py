from __future__ import annotations

import itertools

import pytest

from karptui.aws.evidence import Evidence
from karptui.aws.prices import PriceSettings
from karptui.clock import FrozenClock
from karptui.provisioning.reporter import silent
from karptui.serving.known_values import known_values
from karptui.session.cluster_view import ClusterView
from karptui.session.costs import total_of
from karptui.session.follower import ClusterFollower
from karptui.session.prepare import base_of
from karptui.sources.demo.karpenter import metrics_at
from karptui.sources.demo.source import DemoSource
from karptui.state.cluster import EMPTY
from karptui.views.whatif.result import answer_lines, price_note, trust_line, version_text
from karptui.whatif.accuracy import Accuracy
from karptui.whatif.edits import DeleteObject, ObjectRef, RemoveNode, SetField
from karptui.whatif.run import Answer, answers
from karptui.whatif.scenario import Opening, Replay, Scenario, opening_for, opening_for_all, ref_of
from tests.builders import NOW_NS, present, text_of


@pytest.fixture(scope="module")
def view() -> ClusterView:
    session = ClusterFollower(DemoSource(clock=FrozenClock(NOW_NS), is_stepped=True))
    session.start()
    session.poll()
    session.stop()
    return session.view


def asked(view: ClusterView, scenario: Scenario) -> list[Answer]:
    ticks = itertools.count()
    return list(answers(base_of(view, NOW_NS), scenario, silent, lambda: next(ticks) * 0.5))


def test_a_pool_opens_with_its_nodeclass_and_a_pod_with_its_workload(view: ClusterView) -> None:
    refs = opening_for(view.state, "NodePool", "general").documents
    assert refs == (ObjectRef("NodePool", "general"), ObjectRef("EC2NodeClass", "default"))
    assert opening_for(view.state, "NodePool", "gone").documents == (ObjectRef("NodePool", "gone"),)
    key = next(key for key in view.state.pods if key.startswith("trino/trino-worker"))
    assert opening_for(view.state, "Pod", key).documents == (ObjectRef("StatefulSet", "trino-worker", "trino"),)
    assert opening_for(view.state, "Pod", "web/gone").documents == (ObjectRef("Pod", "gone", "web"),)


def test_a_node_is_removed_and_its_pool_opened(view: ClusterView) -> None:
    claim, node = next((claim, name) for claim, name in view.state.links.node_of_claim.items())
    opening = opening_for(view.state, "Node", node)
    assert opening.edits == (RemoveNode(node),)
    assert opening.replay is Replay.REMOVE
    assert opening.documents[0].kind == "NodePool"
    assert opening_for(view.state, "NodeClaim", claim).edits == (RemoveNode(node),)
    waiting = next(iter(view.state.claims_without_node())).name
    assert opening_for(view.state, "NodeClaim", waiting).documents[0].kind == "NodePool"
    assert opening_for(view.state, "Node", "unknown") == Opening(
        "without unknown", (), (RemoveNode("unknown"),), Replay.REMOVE
    )


def test_other_objects_open_alone() -> None:
    assert opening_for(ClusterView(EMPTY, {}).state, "PodDisruptionBudget", "web/front").documents == (
        ObjectRef("PodDisruptionBudget", "front", "web"),
    )
    assert ref_of("DaemonSet", "kube-system/agent") == ObjectRef("DaemonSet", "agent", "kube-system")


def test_names_and_values_of_the_cluster_are_offered(view: ClusterView) -> None:
    result = known_values(view)
    assert "general" in result.node_pools
    assert "default" in result.node_classes["EC2NodeClass"]
    assert "m7i" in result.labels["karpenter.k8s.aws/instance-family"]
    assert "spot" in result.labels["karpenter.sh/capacity-type"]
    assert "dedicated" in result.taints
    assert "front" in result.workloads


def test_marked_nodes_are_removed_together_and_marked_pools_opened_together(view: ClusterView) -> None:
    nodes = [("Node", name) for name in list(view.state.nodes)[:3]]
    opening = opening_for_all(view.state, nodes)
    assert (opening.name, opening.replay) == ("without 3 nodes", Replay.REMOVE)
    assert opening.edits == tuple(RemoveNode(name) for _, name in nodes)
    assert opening_for_all(view.state, nodes[:1]) == opening_for(view.state, *nodes[0])
    pools = opening_for_all(view.state, [("NodePool", "general"), ("NodePool", "trino")])
    assert (pools.name, pools.edits) == ("2 NodePools", ())
    assert [ref.name for ref in pools.documents if ref.kind == "NodePool"] == ["general", "trino"]


def test_a_pending_pod_starts_a_new_scenario(view: ClusterView) -> None:
    waiting = next(iter(view.state.pending_pods))
    running = next(key for key, pod in view.state.pods.items() if pod.node_name)
    assert opening_for(view.state, "Pod", waiting).is_new
    assert not opening_for(view.state, "Pod", running).is_new


def test_an_answer_shows_its_duration_and_accuracy(view: ClusterView) -> None:
    scenario = Scenario("x", edits=(SetField(ObjectRef("NodePool", "general"), ("spec", "weight"), 60),))
    first, whole = asked(view, scenario)
    assert first.seconds == 0.5
    assert first.blockers_gained is None
    (line,) = trust_line(first)
    assert text_of(line.pieces) == "  Exact, except 4 approximations and 2 rules not modelled"
    words = [row.pieces[0][0].strip() for row in line.details]
    assert list(dict.fromkeys(words)) == ["exact:", "approximated:", "not modelled:"]
    assert price_note(first) == ""
    off = Evidence(price_settings=PriceSettings(is_disabled=True))
    assert price_note(asked(ClusterView(view.state, view.statuses, evidence=off), scenario)[0]) == "prices are off"
    keys = [line.key for line in answer_lines(whole)]
    assert len(keys) == len(set(keys))
    assert "trust" in keys


def test_lost_blockers_are_shown(view: ClusterView) -> None:
    pdb = next(iter(view.state.pdbs))
    answer = asked(view, Scenario(edits=(DeleteObject(ref_of("PodDisruptionBudget", pdb)),)))[-1]
    assert answer.blockers_gained is not None
    assert answer.blockers_lost is not None
    unedited = asked(view, Scenario())[-1]
    assert (unedited.blockers_gained, unedited.blockers_lost) == ((), ())


def test_an_impossible_edit_gives_a_message(view: ClusterView) -> None:
    (answer,) = asked(view, Scenario(edits=(DeleteObject(ObjectRef("NodePool", "gone")),)))
    assert "gone" in answer.problem
    assert answer.difference is None
    assert (trust_line(answer), answer_lines(answer), price_note(answer)) == ((), (), "")


@pytest.mark.parametrize(("result", "text"), [
    ("", "model 1.15.0"),
    ("1.14.3", "model 1.15.0 = cluster 1.14.3"),
    ("1.9.0", "model 1.15.0 ≠ cluster 1.9.0: decisions may differ"),
])  # fmt: skip
def test_modelled_and_found_versions_are_compared(result: str, text: str) -> None:
    assert version_text(Accuracy(("a",), (), (), result)) == text


def test_exact_answers_and_other_versions_are_marked() -> None:
    def accuracy_text(accuracy: Accuracy) -> str:
        (line,) = trust_line(Answer(Scenario(), accuracy=accuracy))
        return text_of(line.pieces).strip()

    assert accuracy_text(Accuracy(("a",), (), ())) == "Exact"
    assert accuracy_text(Accuracy(("a",), ("b",), (), "1.9.0")).startswith(
        "Exact, except 1 approximation · model 1.15.0 ≠ cluster"
    )


@pytest.mark.parametrize("settings", [PriceSettings(), PriceSettings(multiplier=0.7, surcharge_per_node_hour=0.02)])
def test_a_what_if_has_the_cost_of_the_top_bar(view: ClusterView, settings: PriceSettings) -> None:
    evidence = Evidence(price_settings=settings, metrics=metrics_at(NOW_NS))
    shown = ClusterView(view.state, view.statuses, evidence=evidence)
    base = base_of(shown, NOW_NS)
    going = {state.name for state in base.prepared.states if state.claim is None or state.is_marked_for_deletion}
    told = total_of(entry for entry in shown.node_entries if entry.name not in going and entry.claim is not None)
    difference = present(asked(shown, Scenario())[0].difference)
    assert difference.before.launched == 0
    assert difference.before.price_per_hour == pytest.approx(told.per_hour)
    assert (told.unpriced, difference.before.unpriced) == (0, 0)


def test_unknown_prices_have_an_upper_bound(view: ClusterView) -> None:
    difference = present(asked(view, Scenario())[0].difference)
    assert difference.before.unpriced > 0
    assert difference.before.unpriced_at_most_per_hour > 0
