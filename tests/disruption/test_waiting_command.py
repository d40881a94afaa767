from __future__ import annotations

import pytest
from msgspec.structs import replace

from karptui.disruption.methods import next_pass, observed_fleet
from karptui.disruption.removal import EngineSimulator
from karptui.karpenter.labels import DISRUPTED_TAINT
from karptui.karpenter.settings import Settings
from karptui.provisioning import prepare
from tests.builders import NOW_NS, a_condition, a_pod
from tests.forward.making import TYPES, a_pair, a_world


@pytest.mark.parametrize("knows_commands", [False, True])
def test_pods_of_a_waiting_command_take_room_from_others(knows_commands: bool) -> None:
    held, claim = a_pair("held")
    mark = a_condition("DisruptionReason", since_ns=NOW_NS)
    pairs = (
        (replace(held, taints=(DISRUPTED_TAINT,)), replace(claim, conditions=(*claim.conditions, mark))),
        a_pair("room"),
        a_pair("small"),
    )
    pods = [
        a_pod(name="leaves", node="held", cpu="1400m"),
        a_pod(name="stays", node="room", cpu="300m"),
        a_pod(name="could-go", node="small", cpu="500m"),
    ]
    prepared = prepare(a_world(*pairs, pods=pods), TYPES, Settings(), NOW_NS, knows_commands=knows_commands)
    assert [pod.name for pod in prepared.leaving] == (["leaves"] if knows_commands else [])
    fleet = observed_fleet(prepared)
    commands = next_pass(prepared, fleet, EngineSimulator(prepared, fleet)).commands
    gone = [candidate.name for command in commands for candidate in command.candidates]
    assert gone == ([] if knows_commands else ["room"])
