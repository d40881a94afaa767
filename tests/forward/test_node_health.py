from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pytest
from msgspec.structs import replace

from karptui.disruption.repair import HealthDeletion, health_deletions
from karptui.forward.calendar import Agenda, Calendar
from karptui.forward.result import StepKind
from karptui.forward.world import World
from karptui.karpenter.inventory import Inventory
from karptui.karpenter.labels import DISRUPTED_TAINT, TERMINATION_TIMESTAMP
from karptui.karpenter.nodeclaim import NodeClaim
from karptui.karpenter.settings import Settings, parse_settings
from karptui.kube.objects import Condition, Node
from karptui.kube.pod import Pod
from karptui.kube.quantity import parse_quantity
from karptui.kube.timestamps import format_timestamp
from tests.builders import MINUTE_NS, NOW_NS, SECOND_NS, a_condition, a_nodepool, a_pdb, a_pod
from tests.forward.making import a_pair, a_world, played, seconds, steps

GATE: Final = {"FEATURE_GATES": "NodeRepair=true"}
BEFORE: Final = parse_settings(GATE, "1.14.1")
KEPT: Final = parse_settings({**GATE, "LEGACY_NODE_REPAIR": "true"}, "1.15.0")
METHOD: Final = parse_settings(GATE, "1.15.0")
STAYS: Final = {"karpenter.sh/do-not-disrupt": "true"}


def _sick(minutes: int, *, spare: int = 4) -> Inventory:
    """Return ready nodes and one not ready for ``minutes``; its pod has do-not-disrupt and a PDB that blocks it."""
    node, claim = a_pair("node-1", conditions=())
    ready = Condition("Ready", "False", "KubeletNotReady", "", NOW_NS - minutes * MINUTE_NS)
    others = [a_pair(f"node-{number + 2}", conditions=()) for number in range(spare)]
    labels = {"app": "web"}
    held = [
        a_pod(name="web", node="node-1", labels=labels, annotations=STAYS),
        *(a_pod(name=f"full-{number}", node=f"node-{number + 2}", cpu="1500m") for number in range(spare)),
    ]
    return a_world((replace(node, conditions=(ready,)), claim), *others, pods=held, pdbs=[a_pdb(disruptions_allowed=0)])


def test_the_old_node_repair_deletes_a_node_by_force_after_the_toleration() -> None:
    for settings in (BEFORE, KEPT):
        forecast = played(_sick(10), settings=settings)
        (deleted,) = steps(forecast, StepKind.DISRUPT)
        assert (deleted.method, deleted.decision, deleted.nodes) == ("LegacyRepair", "delete", ("node-1",))
        assert (seconds(deleted), deleted.pods) == (20 * 60, ("default/web",))
        (gone,) = steps(forecast, StepKind.DRAIN)
        assert seconds(gone) < 22 * 60, "its pods are deleted with it, despite PDB and do-not-disrupt"


def test_nothing_is_repaired_if_too_many_nodes_are_unhealthy() -> None:
    result = played(_sick(40, spare=0), settings=BEFORE)
    assert steps(result, StepKind.DISRUPT)
    world = _sick(40, spare=1)
    ready = world.nodes[0].conditions
    result = played(
        replace(world, nodes=tuple(replace(node, conditions=ready) for node in world.nodes)), settings=BEFORE
    )
    assert result.steps == ()


def test_repair_starts_after_the_toleration_and_limits_the_drain() -> None:
    forecast = played(_sick(10), settings=METHOD)
    (repaired,) = steps(forecast, StepKind.DISRUPT)
    assert (repaired.method, repaired.nodes) == ("Repair", ("node-1",))
    assert 20 * 60 <= seconds(repaired) <= 21 * 60
    (gone,) = steps(forecast, StepKind.DRAIN)
    assert 10 * 60 <= seconds(gone) - seconds(repaired) <= 13 * 60, "the AWS provider limits the drain to ten minutes"


def _changed(world: Inventory, *conditions: Condition, **fields: Any) -> Inventory:
    """Return the cluster with conditions added to its first NodeClaim, and fields of it replaced."""
    first, *others = world.nodeclaims
    claim = replace(first, conditions=(*first.conditions, *conditions), **fields)
    return replace(world, nodeclaims=(claim, *others))


def test_a_recent_reboot_restarts_the_toleration() -> None:
    ended = a_condition("Rebooting", status="False", since_ns=NOW_NS - 10 * MINUTE_NS)
    (repaired,) = steps(played(_changed(_sick(40), ended), settings=METHOD), StepKind.DISRUPT)
    assert repaired.method == "Repair"
    assert 20 * 60 <= seconds(repaired) <= 21 * 60


@pytest.mark.parametrize(("ends_minutes", "gone_minutes"), [(None, 20), (60, 20), (5, 5)])
def test_a_deleting_unhealthy_node_is_terminated_by_force_after_the_toleration(
    ends_minutes: int | None, gone_minutes: int
) -> None:
    written = {}
    if ends_minutes is not None:
        written = {TERMINATION_TIMESTAMP: format_timestamp(NOW_NS + ends_minutes * MINUTE_NS)}
    going = _changed(_sick(10), deletion_ns=NOW_NS - MINUTE_NS, annotations=written)
    for settings in (BEFORE, KEPT):
        forecast = played(going, settings=settings)
        assert steps(forecast, StepKind.DISRUPT) == [], "Karpenter does not delete it again"
        (gone,) = steps(forecast, StepKind.DRAIN)
        assert gone_minutes <= seconds(gone) / 60 < gone_minutes + 2


@pytest.mark.parametrize(("world", "settings"), [
    (_sick(10), parse_settings({}, "1.14.1")),
    (_changed(_sick(10), deletion_ns=NOW_NS - MINUTE_NS), METHOD),
], ids=["without the gate", "a drain has begun"])  # fmt: skip
def test_an_unhealthy_node_is_left_alone(world: Inventory, settings: Settings) -> None:
    assert played(world, settings=settings).steps == ()


def _two_sick(minutes: int, others: Sequence[tuple[Node, NodeClaim]], pods: Sequence[Pod]) -> Inventory:
    ready = Condition("Ready", "False", "KubeletNotReady", "", NOW_NS - minutes * MINUTE_NS)
    sick = [a_pair(name, conditions=()) for name in ("sick-1", "sick-2")]
    held = [a_pod(name=f"on-{node.name}", node=node.name, cpu="1500m", annotations=STAYS) for node, _ in sick]
    return a_world(*((replace(node, conditions=(ready,)), claim) for node, claim in sick), *others, pods=[*held, *pods])


def test_the_share_of_unhealthy_nodes_is_checked_again_after_changes() -> None:
    empty = [a_pair(f"empty-{number}") for number in range(4)]
    forecast = played(_two_sick(10, empty, ()), settings=BEFORE)
    assert {step.method for step in steps(forecast, StepKind.DISRUPT)} == {"Emptiness"}
    assert forecast.end.nodes == 2, "two of two unhealthy nodes exceed 20% rounded up"
    assert forecast.is_quiescent
    full = [a_pair(f"full-{number}", conditions=()) for number in range(3)]
    pods = [a_pod(name=f"on-{node.name}", node=node.name, cpu="1500m", annotations=STAYS) for node, _ in full]
    assert steps(played(_two_sick(40, full, pods), settings=BEFORE), StepKind.DISRUPT) == []
    forecast = played(_two_sick(40, full, [*pods, a_pod(name="waits", cpu="1500m")]), settings=BEFORE)
    deleted = steps(forecast, StepKind.DISRUPT)
    assert [(step.method, step.nodes, seconds(step)) for step in deleted[:2]] == [
        ("LegacyRepair", ("sick-1",), 5 * 60),
        ("LegacyRepair", ("sick-2",), 5 * 60),
    ], "two of five exceed 20% rounded up, two of six do not"


def test_unhealthy_nodes_are_checked_once_until_something_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = []

    def counted(inventory: Inventory, settings: Settings) -> Mapping[str, HealthDeletion]:
        checked.append(inventory)
        return health_deletions(inventory, settings)

    monkeypatch.setattr("karptui.forward.calendar.health_deletions", counted)
    pairs = [a_pair(f"sick-{number}", conditions=()) for number in range(20)]
    sick = [
        (replace(node, conditions=(Condition("Ready", "False", "", "", NOW_NS - number * SECOND_NS),)), claim)
        for number, (node, claim) in enumerate(pairs)
    ]
    world = World(a_world(*sick, pods=[a_pod(name=node.name, node=node.name) for node, _ in sick]))
    agenda = Agenda(NOW_NS)
    Calendar(world, agenda, {}).expect_repairs(BEFORE)
    turns = 0
    while agenda.next_ns is not None and agenda.next_ns < NOW_NS + 24 * 60 * MINUTE_NS:
        agenda.advance()
        turns += 1
    assert len(checked) == 1, "nothing has changed, so there is no second check"
    assert turns < 20 + 24 * 12 + 1
    assert agenda.next_ns is not None, "later checks are still scheduled"


def test_the_drain_of_a_running_repair_is_limited_too() -> None:
    world = _sick(40)
    began_ns = NOW_NS - 30 * SECOND_NS
    mark = a_condition("DisruptionReason", reason="Unhealthy", since_ns=began_ns)
    node, claim = a_pair("new", conditions=())
    first, *others = world.nodes
    held = replace(_changed(world, mark), nodes=(replace(first, taints=(DISRUPTED_TAINT,)), *others, node))
    result = replace(claim, created_ns=began_ns + SECOND_NS)
    full = a_pod(name="full", node="new", cpu="1500m")
    held = replace(held, nodeclaims=(*held.nodeclaims, result), pods=(*held.pods, full))
    (gone,) = steps(played(held, settings=METHOD), StepKind.DRAIN)
    assert 10 <= seconds(gone) / 60 < 12


STATIC = Settings(gates={"StaticCapacity": True})


@pytest.mark.parametrize(("pool", "settings", "launched"), [
    ({"replicas": 3}, STATIC, [(2, 0)]),
    ({"replicas": 3}, Settings(), []),
    ({"replicas": 5, "limits": {"nodes": parse_quantity("2")}}, STATIC, [(1, 0)]),
], ids=["missing nodes at once", "without the gate", "no more than the limit of nodes"])  # fmt: skip
def test_static_nodepools_launch_nodes_up_to_their_replicas(
    pool: dict[str, Any], settings: Settings, launched: list[tuple[int, int]]
) -> None:
    forecast = played(a_world(a_pair("node-1"), nodepools=[a_nodepool(**pool)]), settings=settings)
    provisioned = steps(forecast, StepKind.PROVISION)
    assert [(len(step.claims), seconds(step)) for step in provisioned] == launched
    assert settings is not STATIC or forecast.end.nodes == 1 + launched[0][0]


def test_daemonset_pods_of_a_deleted_node_are_not_rescheduled() -> None:
    pods = [a_pod(name="ds", node="node-1", cpu="100m", daemonset="ds"), a_pod(name="web", node="node-1", cpu="100m")]
    forecast = played(a_world(a_pair("node-1"), nodepools=[a_nodepool(replicas=0)], pods=pods), settings=STATIC)
    (deleted,) = steps(forecast, StepKind.DISRUPT)
    assert (deleted.nodes, deleted.evictions, deleted.pods) == (("node-1",), 1, ("default/web",))


def test_static_nodepools_delete_empty_nodes_first_and_nodes_with_do_not_disrupt_pods_last() -> None:
    pods = [
        a_pod(name="guarded", node="node-1", cpu="100m", annotations={"karpenter.sh/do-not-disrupt": "true"}),
        a_pod(name="free", node="node-3", cpu="100m"),
    ]
    pairs = [a_pair(f"node-{i}") for i in (1, 2, 3)]
    forecast = played(a_world(*pairs, nodepools=[a_nodepool(replicas=1)], pods=pods), settings=STATIC)
    deleted = steps(forecast, StepKind.DISRUPT)
    assert [(step.method, step.nodes) for step in deleted] == [
        ("static.deprovisioning", ("node-2",)),
        ("static.deprovisioning", ("node-3",)),
    ]
    assert forecast.end.nodes == 1
