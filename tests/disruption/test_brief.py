from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from karptui.disruption.command import Method
from karptui.disruption.events import Recorder
from karptui.disruption.fleet import Fleet
from karptui.disruption.json_form import command_json
from karptui.disruption.methods import MethodRun, fleet_of
from karptui.disruption.removal import EngineSimulator
from karptui.disruption.simulation import FutileError
from karptui.provisioning.prepared import Prepared
from karptui.provisioning.run import UNCONCERNED
from karptui.provisioning.solution import solve
from karptui.provisioning.state_node import StateNode
from tests.builders import a_node, a_nodepool, a_pod, a_requirement
from tests.disruption.fleet_generator import FleetGenerator
from tests.disruption.making import a_claim, consolidatable, prepared
from tests.goldens_loading import load

FLEETS = 24
BIG: dict[str, Any] = {"instance_type": "m5.2xlarge", "cpu": "7900m", "memory": "30Gi"}


def _commands(prepared: Prepared, fleet: Fleet, method: Method, *, is_brief: bool) -> list[dict[str, Any]]:
    simulator = EngineSimulator(prepared, fleet, is_brief=is_brief)
    return [command_json(command) for command in MethodRun(fleet, simulator, Recorder()).ask(method).commands]


@pytest.mark.parametrize("number", range(FLEETS))
def test_brief_and_full_simulations_give_the_same_commands(number: int) -> None:
    prepared = load(FleetGenerator(f"brief-{number}", "").snapshot("brief"))
    fleet = fleet_of(prepared)
    for method in (Method.MULTI_NODE, Method.SINGLE_NODE):
        # The second run uses the results of the first.
        commands = [_commands(prepared, fleet, method, is_brief=is_brief) for is_brief in (True, True, False)]
        assert commands[0] == commands[1] == commands[2]


def _one_node(
    cpus: tuple[str, ...], *, waiting: tuple[str, ...] = (), is_another_starting: bool = False, **pool: Any
) -> tuple[Prepared, Fleet]:
    names = ("node-1", "node-2") if is_another_starting else ("node-1",)
    result = prepared(
        nodes=[a_node(name=name, is_initialized=name == "node-1", **BIG) for name in names],
        nodeclaims=[a_claim(name, instance_type="m5.2xlarge", conditions=(consolidatable(),)) for name in names],
        nodepools=[a_nodepool(budgets=(), **pool)],
        pods=[
            *(a_pod(name=f"pod-{i}", node="node-1", cpu=cpu) for i, cpu in enumerate(cpus)),
            *(a_pod(name=f"waiting-{i}", cpu=cpu) for i, cpu in enumerate(waiting)),
        ],
    )
    return result, fleet_of(result)


def _remove(result: Prepared, fleet: Fleet, *, is_consolidation: bool = True) -> int:
    (candidate,) = MethodRun(fleet, EngineSimulator(result, fleet), Recorder()).candidates.graceful
    simulator = EngineSimulator(result, fleet, is_brief=True)
    return len(simulator.remove((candidate,), is_consolidation=is_consolidation).new_nodes)


MIN_VALUES = a_requirement("node.kubernetes.io/instance-type", "In", "m5.large", "m5.2xlarge", min_values=1)


@pytest.mark.parametrize(
    ("cpus", "cluster"),
    [(("3", "3"), {}), (("3", "3", "3"), {}), (("20",), {}), (("500m",), {"is_another_starting": True})],
    ids=["one replacement is no cheaper", "two replacements", "unschedulable", "target is not initialized"],
)
def test_a_brief_simulation_ends_early(cpus: tuple[str, ...], cluster: dict[str, Any]) -> None:
    with pytest.raises(FutileError):
        _remove(*_one_node(cpus, **cluster))


@pytest.mark.parametrize(
    ("cpus", "cluster", "is_consolidation", "new_nodes"),
    [
        (("500m", "500m"), {}, True, 1),
        (("3", "3"), {}, False, 1),
        (("3", "3"), {"requirements": (MIN_VALUES,)}, True, 1),
        (("500m",), {"waiting": ("20",)}, True, 1),
        ((), {"waiting": ("500m",), "is_another_starting": True}, True, 0),
    ],
    ids=["cheaper", "drift", "minValues may undo a claim", "unschedulable is pending", "target of a pending pod"],
)
def test_a_brief_simulation_runs_to_the_end(
    cpus: tuple[str, ...], cluster: dict[str, Any], is_consolidation: bool, new_nodes: int
) -> None:
    assert _remove(*_one_node(cpus, **cluster), is_consolidation=is_consolidation) == new_nodes


def test_known_expensive_pods_end_a_removal_early(monkeypatch: pytest.MonkeyPatch) -> None:
    result, fleet = _one_node(("3", "3"))
    with pytest.raises(FutileError):
        _remove(result, fleet)
    assert list(result.findings.least_prices.values()) == [0.4]
    result.findings.removals(None)  # drops the cached simulation, too
    monkeypatch.setattr("karptui.disruption.removal.solve", None)
    with pytest.raises(FutileError):
        _remove(result, fleet)


def _later(result: Prepared, *, pods: int) -> tuple[Prepared, Fleet]:
    """Return a one-node cluster with only some pods and without conditions of the NodeClaim."""
    (before,) = result.states
    assert before.claim is not None
    state = StateNode(before.provider_id, before.node, replace(before.claim, conditions=()))
    state.pods = before.pods[:pods]
    inventory = replace(result.inventory, pods=tuple(state.pods), nodeclaims=(state.claim,))
    by_uid = {pod.uid: pod for pod in state.pods}
    later = result.later(inventory, [state], result.now_ns + 1, pods=by_uid, unbound=())
    return later, fleet_of(later)


def test_a_removal_is_simulated_again_only_after_relevant_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    result, fleet = _one_node(("500m", "500m"))
    without_condition, without_pod = _later(result, pods=2), _later(result, pods=1)
    assert _remove(result, fleet) == 1
    monkeypatch.setattr("karptui.disruption.removal.solve", None)
    assert _remove(*without_condition) == 1
    with pytest.raises(TypeError):
        _remove(*without_pod)


def _giant(*, is_there: bool) -> Prepared:
    """Return a pod too large for any instance type, and the one node that it fits on, if it exists."""
    return prepared(
        nodes=[a_node(name="giant", cpu="500", memory="30Gi")] if is_there else [],
        nodepools=[a_nodepool()],
        pods=[a_pod(name="pod", cpu="400")],
    )


def test_a_pod_that_fits_no_claim_can_fit_an_existing_node() -> None:
    giant = _giant(is_there=True)
    (node,) = giant.states
    assert solve(giant, excluded=[node.provider_id], watch=UNCONCERNED).failed
    assert giant.findings.claimless
    assert [node.state.name for node in solve(giant, watch=UNCONCERNED).nodes] == ["giant"]


def test_reason_of_an_unschedulable_pod_is_stable() -> None:
    giant = _giant(is_there=False)
    errors = [solve(giant, watch=watch).errors["default/pod"] for watch in (UNCONCERNED, UNCONCERNED, None)]
    assert giant.findings.claimless
    assert str(errors[0]) == str(errors[1]) == str(errors[2])
