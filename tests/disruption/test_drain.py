from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from karptui.disruption.drain import DrainState, Hold, WaitingPod, drain_state
from karptui.disruption.termination import (
    WAVE_NS,
    Deadline,
    Expiry,
    Initiator,
    deadline_of,
    expiry_calendar,
    expiry_wave,
    forced_at,
    is_forced,
)
from karptui.karpenter import labels
from karptui.karpenter.nodeclaim import DrainStage, NodeClaim
from karptui.karpenter.settings import parse_settings
from karptui.kube.objects import Node
from karptui.kube.pod import Pod
from karptui.kube.taints import NO_SCHEDULE, Taint, Toleration
from karptui.kube.workload import PodDisruptionBudget
from tests.builders import (
    DAY_NS,
    HOUR_NS,
    MINUTE_NS,
    NOW_NS,
    SECOND_NS,
    a_condition,
    a_node,
    a_nodeclaim,
    a_nodepool,
    a_pdb,
    a_pod,
    an_event,
    an_owner,
)
from tests.disruption.making import a_claim, a_fleet, consolidatable, drifted

TAINTED = a_node(taints=(Taint("karpenter.sh/disrupted", NO_SCHEDULE),))
IN_COMMAND = a_condition("DisruptionReason", reason="Drifted", since_ns=NOW_NS - MINUTE_NS)
PROTECTED = {labels.DO_NOT_DISRUPT: "true"}
DELETED: dict[str, Any] = {"deletion_ns": NOW_NS - HOUR_NS}
STARTED = a_condition("Drained", status="Unknown", reason="Draining", since_ns=NOW_NS - HOUR_NS + SECOND_NS)


def _state(*, node: Node | None = None, claim: NodeClaim | None = None, **objects: Any) -> DrainState:
    fleet = a_fleet(nodes=[node or a_node()], nodeclaims=[claim or a_claim()], **objects)
    return drain_state(fleet, fleet.nodes[0])


@pytest.mark.parametrize(("node", "claim", "stage"), [
    (a_node(), a_claim(), DrainStage.IDLE),
    (a_node(), a_claim(conditions=(drifted(),)), DrainStage.WANTED),
    (a_node(), a_claim(conditions=(consolidatable(),)), DrainStage.WANTED),
    (TAINTED, a_claim(conditions=(IN_COMMAND,)), DrainStage.COMMANDED),
    (a_node(), a_claim(conditions=(IN_COMMAND,)), DrainStage.IDLE),
    (a_node(), a_claim(**DELETED), DrainStage.DELETING),
    (TAINTED, a_claim(**DELETED), DrainStage.DRAINING),  # Karpenter before 1.6 sets no condition
    (a_node(), a_claim(**DELETED, conditions=(STARTED,)), DrainStage.DRAINING),
    (a_node(), a_claim(**DELETED, conditions=(a_condition("Drained"),)), DrainStage.VOLUMES),
    (a_node(),
     a_claim(**DELETED, conditions=(a_condition("Drained"), a_condition("VolumesDetached", status="Unknown"))),
     DrainStage.VOLUMES),
    (a_node(), a_claim(**DELETED, conditions=(a_condition("Drained"), a_condition("VolumesDetached"))),
     DrainStage.INSTANCE),
    (a_node(),
     a_claim(**DELETED,
             conditions=(a_condition("Drained"),
                         a_condition("VolumesDetached", status="False", reason="TerminationGracePeriodElapsed"))),
     DrainStage.INSTANCE),
    (a_node(), a_claim(**DELETED, conditions=(a_condition("InstanceTerminating"),)), DrainStage.INSTANCE),
])  # fmt: skip
def test_stages_of_a_drain(node: Node, claim: NodeClaim, stage: DrainStage) -> None:
    assert _state(node=node, claim=claim).stage is stage


def test_recorded_deadline_overrides_the_grace_period() -> None:
    def claim(written: str | None = None, **fields: Any) -> NodeClaim:
        annotations = {} if written is None else {labels.TERMINATION_TIMESTAMP: written}
        return a_claim(annotations=annotations, **fields)

    assert deadline_of(claim("2026-11-21T12:00:00+01:00", **DELETED)) == Deadline(NOW_NS + 23 * HOUR_NS)
    assert deadline_of(claim(termination_grace_period_ns=DAY_NS, **DELETED)) == Deadline(
        NOW_NS + 23 * HOUR_NS, is_provisional=True
    )
    assert deadline_of(claim("soon", termination_grace_period_ns=DAY_NS, **DELETED)) is None
    assert deadline_of(claim(**DELETED)) is None
    assert deadline_of(claim(termination_grace_period_ns=DAY_NS)) is None


def test_pods_are_forced_their_grace_period_before_the_deadline() -> None:
    pod = a_pod(node="n", termination_grace_seconds=3600)
    assert forced_at(pod, NOW_NS + DAY_NS) == NOW_NS + 23 * HOUR_NS
    assert not is_forced(pod, NOW_NS + HOUR_NS, NOW_NS)
    assert is_forced(pod, NOW_NS + HOUR_NS - 1, NOW_NS)
    leaving = a_pod(node="n", deletion_ns=NOW_NS + HOUR_NS)
    assert is_forced(leaving, NOW_NS + MINUTE_NS, NOW_NS)
    assert not is_forced(leaving, NOW_NS + 2 * HOUR_NS, NOW_NS)


def _draining(
    pods: Sequence[Pod], *, claim: NodeClaim | None = None, pdbs: Sequence[PodDisruptionBudget] = ()
) -> tuple[DrainState, dict[Any, Any]] | tuple[DrainState, dict[str, WaitingPod]]:
    result = claim or a_claim(**DELETED, conditions=(STARTED,))
    state = _state(claim=result, pods=pods, pdbs=pdbs)
    return state, {waiting.pod.name: waiting for waiting in state.waiting}


def test_tiers_drain_one_at_a_time() -> None:
    critical: dict[str, Any] = {"priority_class_name": "system-node-critical"}
    pods = [
        a_pod(name="d", node="node-1", daemonset="agent", **critical),
        a_pod(name="c", node="node-1", **critical),
        a_pod(name="b", node="node-1", daemonset="agent"),
        a_pod(name="a", node="node-1", annotations=PROTECTED),
    ]
    state, _ = _draining(pods)
    assert [(pod.pod.name, pod.tier) for pod in state.waiting] == [("a", 1), ("b", 2), ("c", 3), ("d", 4)]
    assert state.tier == 1
    assert [pod.pod.name for pod in state.holders] == ["a"]


def test_pods_that_a_drain_ignores() -> None:
    pods = [
        a_pod(name="done", node="node-1", phase="Succeeded"),
        a_pod(name="static", node="node-1", owner=an_owner(kind="Node", api_version="v1")),
        a_pod(name="bold", node="node-1", annotations=PROTECTED, tolerations=(Toleration(operator="Exists"),)),
        a_pod(name="stuck", node="node-1", deletion_ns=NOW_NS - 2 * MINUTE_NS),
    ]
    state, _ = _draining(pods)
    assert (state.waiting, state.tier, state.has_no_end) == ((), None, False)


def test_reasons_that_hold_pods_of_a_drain() -> None:
    pods = [
        a_pod(name="dnd", node="node-1", annotations=PROTECTED, labels={"app": "x"}),
        a_pod(name="timed", node="node-1", annotations={labels.DO_NOT_DISRUPT: "2h"}, labels={"app": "x"}),
        a_pod(name="held", node="node-1"),
        a_pod(name="leaving", node="node-1", deletion_ns=NOW_NS + MINUTE_NS),
        a_pod(name="free", node="node-1", labels={"app": "x"}),
    ]
    state, waiting = _draining(pods, pdbs=[a_pdb()])
    assert {name: result.hold for name, result in waiting.items()} == {
        "dnd": Hold.DND, "timed": Hold.DND, "held": Hold.PDB, "leaving": Hold.TERMINATING, "free": Hold.EVICTED_NOW,
    }  # fmt: skip
    assert waiting["timed"].until_ns == NOW_NS + HOUR_NS + SECOND_NS
    assert waiting["leaving"].until_ns == NOW_NS + 2 * MINUTE_NS
    assert waiting["held"].holder == "default/web"
    assert (state.deadline, state.latest_end_ns, state.has_no_end) == (None, None, True)


def test_a_deadline_limits_a_drain() -> None:
    pods = [
        a_pod(name="soon", node="node-1", annotations=PROTECTED, termination_grace_seconds=3600),
        a_pod(name="late", node="node-1", annotations=PROTECTED, termination_grace_seconds=3 * 86_400),
    ]
    claim = a_claim(**DELETED, termination_grace_period_ns=DAY_NS, conditions=(STARTED,))
    state, waiting = _draining(pods, claim=claim)
    assert state.latest_end_ns == NOW_NS + 23 * HOUR_NS + MINUTE_NS
    assert not state.has_no_end
    assert (waiting["soon"].hold, waiting["soon"].forced_ns) == (Hold.DND, NOW_NS + 22 * HOUR_NS)
    # A pod with a longer grace period than the node's is deleted when the drain starts, even if protected.
    assert (waiting["late"].hold, waiting["late"].forced_ns) == (Hold.FORCED, NOW_NS - HOUR_NS)


@pytest.mark.parametrize(("reason", "ready", "grace_ns", "bound_ns"), [
    ("Unhealthy", "False", None, 10 * MINUTE_NS),
    ("Unhealthy", "False", DAY_NS, 10 * MINUTE_NS),
    ("Unhealthy", "False", MINUTE_NS, MINUTE_NS),
    ("Unhealthy", "True", DAY_NS, None),
    ("Drifted", "False", DAY_NS, None),
])  # fmt: skip
def test_drain_bound_of_repair_is_known(reason: str, ready: str, grace_ns: int | None, bound_ns: int | None) -> None:
    sick = a_node(
        taints=(Taint("karpenter.sh/disrupted", NO_SCHEDULE),),
        conditions=(a_condition("Ready", status=ready, since_ns=NOW_NS - HOUR_NS),),
        created_ns=NOW_NS - DAY_NS,
    )
    marked = a_condition("DisruptionReason", reason=reason, since_ns=NOW_NS - MINUTE_NS)
    claim = a_claim(conditions=(marked,), termination_grace_period_ns=grace_ns)
    state = _state(node=sick, claim=claim, settings=parse_settings({}, "1.15.0"))
    assert (state.stage, state.bound_ns) == (DrainStage.COMMANDED, bound_ns)


def _expiring(at_ns: int) -> NodeClaim:
    return a_claim(**DELETED, created_ns=at_ns - DAY_NS, expire_after_ns=DAY_NS)


@pytest.mark.parametrize(("claim", "objects", "initiator"), [
    (a_claim(), {}, None),
    (a_claim(**DELETED, conditions=(IN_COMMAND,)), {}, Initiator.DRIFTED),
    (a_claim(**DELETED, conditions=(a_condition("DisruptionReason", reason="Other"),)), {}, Initiator.MANUAL),
    (a_claim(**DELETED, annotations={labels.TERMINATION_TIMESTAMP: "2026-11-20T11:00:02Z"}), {}, Initiator.REPAIR),
    (a_claim(**DELETED, conditions=(a_condition("DisruptionReason", reason="Unhealthy"),),
             annotations={labels.TERMINATION_TIMESTAMP: "2026-11-20T11:10:00Z"}),
     {}, Initiator.REPAIR),
    (a_claim(**DELETED, termination_grace_period_ns=0), {}, Initiator.MANUAL),
    (a_claim(**DELETED), {"events": [an_event(about="NodeClaim/claim-node-1", reason="SpotInterrupted")]},
     Initiator.INTERRUPTION),
    (a_claim(**DELETED),
     {"events": [an_event(about="Node/other", reason="SpotInterrupted"),
                 an_event(about="Pod/default/node-1", reason="SpotInterrupted")]},
     Initiator.MANUAL),
    (_expiring(NOW_NS - HOUR_NS - 30 * SECOND_NS), {}, Initiator.EXPIRY),
    (_expiring(NOW_NS + HOUR_NS), {}, Initiator.MANUAL),
    (a_claim(**DELETED), {"nodepools": ()}, Initiator.NODEPOOL_DELETED),
    (a_claim(**DELETED), {"nodepools": (a_nodepool(deletion_ns=NOW_NS),)}, Initiator.NODEPOOL_DELETED),
    (a_claim(**DELETED), {"nodepools": (a_nodepool(replicas=1),)}, Initiator.STATIC_SCALE_DOWN),
])  # fmt: skip
def test_the_initiator_of_a_deletion(claim: NodeClaim, objects: Mapping[str, Any], initiator: Initiator | None) -> None:
    assert _state(claim=claim, **objects).initiator is initiator


def test_expiries_are_sorted() -> None:
    fleet = a_fleet(
        nodes=[a_node(name="a"), a_node(name="b"), a_node(name="u", pool="")],
        nodeclaims=[
            a_claim("a", created_ns=NOW_NS, expire_after_ns=DAY_NS),
            a_claim("b", created_ns=NOW_NS, expire_after_ns=HOUR_NS, termination_grace_period_ns=MINUTE_NS),
            a_nodeclaim(name="lone", stage="Launched", node="x", created_ns=NOW_NS, expire_after_ns=2 * DAY_NS),
            a_claim("never"),
            a_claim("gone", deletion_ns=NOW_NS, expire_after_ns=HOUR_NS),
        ],
    )
    assert expiry_calendar(fleet.nodes) == (
        Expiry("claim-b", NOW_NS + HOUR_NS, NOW_NS + HOUR_NS + MINUTE_NS),
        Expiry("claim-a", NOW_NS + DAY_NS, None),
        Expiry("lone", NOW_NS + 2 * DAY_NS, None),
    )


@pytest.mark.parametrize(("minutes", "wave"), [
    ((), ()),
    ((5,), (5,)),
    ((0, 30), (0, 30)),
    ((0, 31), (0,)),
    ((0, 40, 50, 60, 75, 200, 210), (40, 50, 60)),
    ((0, 10, 100, 110), (0, 10)),
])  # fmt: skip
def test_largest_expiry_wave(minutes: tuple[int, ...], wave: tuple[int, ...]) -> None:
    assert WAVE_NS == 30 * MINUTE_NS
    coming = [Expiry(str(minute), minute * MINUTE_NS, None) for minute in minutes]
    assert [int(expiry.claim_name) for expiry in expiry_wave(coming)] == list(wave)
