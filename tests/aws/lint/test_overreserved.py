"""Reservations as large as the node."""

from __future__ import annotations

from typing import Any

from karptui.aws.catalogue import instance_type_facts
from karptui.aws.instance_types import instance_types
from karptui.aws.lint.finding import Severity
from karptui.aws.lint.overreserved import exhausted_types, reserved_more_than_node
from karptui.karpenter.instance_type import InstanceType
from tests.aws.builders import a_market, a_nodeclass, some_settings


def types(*names: str, **kubelet: Any) -> tuple[InstanceType, ...]:
    facts = [instance_type_facts()[name] for name in names] if names else None
    return instance_types(a_nodeclass(kubelet=kubelet), some_settings(), a_market(), facts=facts)


def test_memory_kept_back_beyond_the_node() -> None:
    resolved = types("t3.micro", "m5.large", kubeReserved={"memory": "2Gi"})
    assert list(exhausted_types(resolved)) == ["t3.micro"]
    (found,) = reserved_more_than_node("default", resolved)
    assert found.severity is Severity.WARNING
    assert "on 1 of 2 types (t3.micro: memory -1201Mi); no pod fits there" in found.fact


def test_every_type_gone_is_an_error() -> None:
    (found,) = reserved_more_than_node("default", types(systemReserved={"ephemeral-storage": "20Gi"}))
    assert found.severity is Severity.ERROR
    assert "on 1392 of 1392 types" in found.fact
    assert "; and 1387 more)" in found.fact


def test_exactly_everything_is_too_much() -> None:
    resolved = types("m5.large", kubeReserved={"cpu": "2"})
    assert {name: str(amount) for name, amount in exhausted_types(resolved)["m5.large"].items()} == {"cpu": "0"}


def test_the_defaults_leave_room_on_every_type() -> None:
    assert reserved_more_than_node("default", types()) == ()
