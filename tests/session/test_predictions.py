from __future__ import annotations

from typing import Any

import msgspec
import pytest

from karptui.disruption.analysis import NextCommand, NextReport
from karptui.karpenter.labels import DISRUPTED_TAINT
from karptui.karpenter.nodeclaim import DISRUPTION_REASON
from karptui.kube.objects import Node
from karptui.kube.pod import Pod
from karptui.pending.causes import Cause, Diagnosis, PodDestination
from karptui.pending.groups import PendingGroup, PendingReport
from karptui.pending.messages import NO_MESSAGES
from karptui.session.predictions import (
    Because,
    Ledger,
    LedgerEntry,
    Outcome,
    PredictionKind,
    Share,
    mark_of,
    shares_of_marks,
)
from karptui.sources.history.store import Mark
from karptui.state.cluster import ClusterState
from tests.builders import (
    NOW_NS,
    SECOND_NS,
    a_condition,
    a_node,
    a_nodeclaim,
    a_nodepool,
    a_pod,
    a_pod_template,
    an_inventory,
)
from tests.builders.clusters import state_of

LATER_NS = NOW_NS + 30 * SECOND_NS
OLD = a_node(name="old", created_ns=NOW_NS - 3600 * SECOND_NS)
NEW = a_node(name="new", created_ns=NOW_NS + 20 * SECOND_NS)
ON_OLD = PodDestination(node="old")
ON_NEW = PodDestination(nodepool="general", instance_type="m5.large")


def waiting(**fields: Any) -> Pod:
    return a_pod(name="web", node="", created_ns=NOW_NS - 60 * SECOND_NS, **fields)


def a_state(*nodes: Node, pods: tuple[Pod, ...] = (), **fields: Any) -> ClusterState:
    inventory = msgspec.structs.replace(
        an_inventory(nodes=0), nodes=nodes, pods=pods, nodepools=fields.pop("nodepools", (a_nodepool(),)), **fields
    )
    return state_of(inventory)


def report(pod: Pod, destination: PodDestination | None, at_ns: int = NOW_NS) -> PendingReport:
    cause = Cause.CLAIM if destination is not None and not destination.node else Cause.NODE
    group = PendingGroup("g", "", ((pod, Diagnosis(cause, destination), NO_MESSAGES),))
    return PendingReport(1, at_ns, (group,))


def predicted(pod: Pod, destination: PodDestination) -> tuple[Ledger, ClusterState]:
    """Return a ledger with the prediction of a pod, and the state at that time."""
    ledger, state = Ledger(), a_state(OLD, pods=(pod,))
    assert ledger.saw(state, report(state.pods[pod.key], destination), None, NOW_NS) == ()
    return ledger, state


def placed(destination: PodDestination, node: Node, **later: Any) -> LedgerEntry:
    """Return the ledger's entry of a pod with a predicted destination that was bound to a node."""
    pod = waiting()
    ledger, _ = predicted(pod, destination)
    bound = msgspec.structs.replace(pod, node_name=node.name)
    nodes = later.pop("nodes", (OLD, NEW))
    (entry,) = ledger.saw(a_state(*nodes, pods=(bound,), **later), None, None, LATER_NS)
    return entry


EDITED = {"nodepools": (msgspec.structs.replace(a_nodepool(), generation=7),)}


@pytest.mark.parametrize(("destination", "node", "later", "outcome", "because"), [
    (ON_OLD, OLD, {}, Outcome.RIGHT, Because.NONE),
    (ON_OLD, NEW, {}, Outcome.WRONG, Because.NEW_NODE),
    (ON_NEW, NEW, {}, Outcome.RIGHT, Because.NONE),
    (ON_NEW, OLD, {}, Outcome.WRONG, Because.OLD_NODE),
    (PodDestination(nodepool="spot"), NEW, {}, Outcome.WRONG, Because.OTHER_POOL),
    (PodDestination(node="general-abcde"), NEW, {"nodeclaims": (a_nodeclaim(name="general-abcde", node="new"),)},
     Outcome.RIGHT, Because.NONE),
    (ON_OLD, NEW, EDITED, Outcome.OVERTAKEN, Because.EDITED),
    (ON_OLD, OLD, EDITED, Outcome.RIGHT, Because.NONE),
    (ON_OLD, NEW, {"nodes": (NEW,)}, Outcome.OVERTAKEN, Because.NODE_GONE),
], ids=[*("as predicted", "on a new node", "on the new node", "on an old node", "of another pool"),
        *("predicted by the NodeClaim", "wrong after an edit", "right after an edit", "node gone")])  # fmt: skip
def test_outcomes_of_predicted_placements(
    destination: PodDestination, node: Node, later: dict[str, Any], outcome: Outcome, because: Because
) -> None:
    entry = placed(destination, node, **later)
    assert (entry.outcome, entry.because, entry.happened) == (outcome, because, node.name)
    assert (entry.prediction.subject, entry.prediction.at_ns, entry.at_ns) == ("default/web", NOW_NS, LATER_NS)


def test_a_prediction_is_overtaken_if_its_pod_is_deleted() -> None:
    ledger, _ = predicted(waiting(), ON_OLD)
    (entry,) = ledger.saw(a_state(OLD), None, None, LATER_NS)
    assert (entry.outcome, entry.because) == (Outcome.OVERTAKEN, Because.POD_GONE)
    assert ledger.saw(a_state(OLD), None, None, LATER_NS) == ()


def test_a_pod_is_judged_once_its_node_is_known() -> None:
    pod = waiting()
    ledger, _ = predicted(pod, ON_NEW)
    bound = msgspec.structs.replace(pod, node_name="new")
    assert ledger.saw(a_state(OLD, pods=(bound,)), None, None, LATER_NS) == ()
    (entry,) = ledger.saw(a_state(OLD, NEW, pods=(bound,)), None, None, LATER_NS)
    assert entry.outcome is Outcome.RIGHT


@pytest.mark.parametrize(("age_seconds", "outcome"), [(3, Outcome.RIGHT), (60, Outcome.WRONG)])
def test_a_prediction_may_change_only_during_karpenters_batch_window(age_seconds: int, outcome: Outcome) -> None:
    pod = a_pod(name="web", node="", created_ns=NOW_NS - age_seconds * SECOND_NS)
    ledger, state = predicted(pod, ON_OLD)
    ledger.saw(state, report(state.pods[pod.key], ON_NEW, NOW_NS + SECOND_NS), None, NOW_NS + SECOND_NS)
    bound = msgspec.structs.replace(pod, node_name="new")
    (entry,) = ledger.saw(a_state(OLD, NEW, pods=(bound,)), None, None, LATER_NS)
    assert entry.outcome is outcome


@pytest.mark.parametrize("is_equal", [True, False])
def test_equal_pods_may_swap_destinations(*, is_equal: bool) -> None:
    ledger, template = Ledger(), a_pod_template()
    pods = tuple(
        a_pod(name=name, uid=name, template=template if is_equal else a_pod_template(cpu=cpu))
        for name, cpu in (("a", "100m"), ("b", "200m"))
    )
    state = a_state(OLD, a_node(name="other"), pods=pods)
    members = tuple(
        (state.pods[f"default/{name}"], Diagnosis(Cause.NODE, PodDestination(node=node)), NO_MESSAGES)
        for name, node in (("a", "old"), ("b", "other"))
    )
    ledger.saw(state, PendingReport(1, NOW_NS, (PendingGroup("g", "", members),)), None, NOW_NS)
    bound = tuple(
        msgspec.structs.replace(pod, node_name=node) for pod, node in zip(pods, ("other", "old"), strict=True)
    )
    entries = ledger.saw(a_state(OLD, a_node(name="other"), pods=bound), None, None, LATER_NS)
    assert {entry.outcome for entry in entries} == {Outcome.RIGHT if is_equal else Outcome.WRONG}


def commands(*names: str) -> NextReport:
    command = NextCommand("delete", names, (), 0.1)
    return NextReport(method="Emptiness", reason="Empty", commands=(command,))


def disrupted(name: str, *, is_command: bool = True) -> ClusterState:
    """Return a state in which Karpenter is disrupting a node."""
    conditions = (a_condition(DISRUPTION_REASON, status="True"),) if is_command else ()
    claim = a_nodeclaim(name=f"claim-{name}", node=name, conditions=conditions)
    return a_state(a_node(name=name, taints=(DISRUPTED_TAINT,)), nodeclaims=(claim,))


@pytest.mark.parametrize(
    ("predicted", "seconds", "outcome"),
    [("a", 30, Outcome.RIGHT), ("b", 30, Outcome.WRONG), ("b", 90, Outcome.OVERTAKEN)],
)
def test_outcomes_of_predicted_commands(predicted: str, seconds: int, outcome: Outcome) -> None:
    ledger = Ledger()
    ledger.saw(a_state(a_node(name="a"), a_node(name="b")), None, commands(predicted), NOW_NS)
    state = disrupted("a")
    (entry,) = ledger.saw(state, None, None, NOW_NS + seconds * SECOND_NS)
    assert (entry.outcome, entry.happened, entry.prediction.method) == (outcome, "a", "Emptiness")
    assert ledger.saw(state, None, None, NOW_NS + seconds * SECOND_NS) == ()


def test_an_earlier_predicted_command_is_right_while_karpenter_validates_it() -> None:
    ledger = Ledger()
    state = a_state(a_node(name="a"), a_node(name="b"))
    ledger.saw(state, None, commands("a"), NOW_NS)
    ledger.saw(state, None, commands("b"), NOW_NS + 10 * SECOND_NS)
    (entry,) = ledger.saw(disrupted("a"), None, None, NOW_NS + 15 * SECOND_NS)
    assert (entry.outcome, entry.prediction.subject) == (Outcome.RIGHT, "a")


def test_an_equally_likely_node_counts_as_right() -> None:
    ledger = Ledger()
    instead = msgspec.structs.replace(commands("b"), as_likely=commands("a").commands)
    ledger.saw(a_state(a_node(name="a"), a_node(name="b")), None, instead, NOW_NS)
    (entry,) = ledger.saw(disrupted("a"), None, None, LATER_NS)
    assert (entry.outcome, entry.prediction.subject, entry.happened) == (Outcome.RIGHT, "b", "a")


def test_expiration_judges_no_predicted_command() -> None:
    ledger = Ledger()
    ledger.saw(a_state(a_node(name="a")), None, commands("b"), NOW_NS)
    assert ledger.saw(disrupted("a", is_command=False), None, None, LATER_NS) == ()


def test_shares_exclude_overtaken_predictions() -> None:
    right, wrong = placed(ON_OLD, OLD), placed(ON_OLD, NEW)
    gone = placed(ON_OLD, NEW, nodes=(NEW,))
    share = shares_of_marks(map(mark_of, [right, right, right, wrong, gone]))[PredictionKind.PLACEMENT]
    assert (share, share.percent) == (Share(3, 1, 1), 75.0)
    assert shares_of_marks([mark_of(gone), Mark(cause="edit")])[PredictionKind.COMMAND].percent is None


def test_the_mark_of_a_prediction_has_the_expected_and_the_actual_node() -> None:
    mark = mark_of(placed(ON_OLD, NEW))
    assert (mark.cause, mark.code, mark.text) == ("prediction", "wrong", "new-node")
    assert (mark.object_kind, mark.name, mark.objects) == ("Pod", "default/web", ("Node/old", "Node/new"))
