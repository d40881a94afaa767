"""Eleven DaemonSets against types with eight pod slots."""

from __future__ import annotations

from karptui.aws.catalogue import instance_type_facts
from karptui.aws.instance_types import instance_types
from karptui.aws.lint.finding import Severity
from karptui.aws.lint.pod_slots import CrowdedType, crowded_types, too_few_pod_slots
from karptui.karpenter.instance_type import InstanceType
from tests.aws.builders import a_market, a_nodeclass, some_settings


def types(*names: str, **spec: object) -> tuple[InstanceType, ...]:
    facts = [instance_type_facts()[name] for name in names] if names else None
    return instance_types(a_nodeclass(**spec), some_settings(), a_market(), facts=facts)


def daemons(pods: int, found: tuple[InstanceType, ...]) -> dict[str, int]:
    return {one.name: pods for one in found}


def test_eight_slots_are_too_few_for_eleven_daemonsets() -> None:
    allowed = types("m6g.medium", "m6g.large", "t3.nano")
    assert crowded_types(allowed, daemons(11, allowed)) == (
        CrowdedType("t3.nano", 4, 11),
        CrowdedType("m6g.medium", 8, 11),
    )
    (found,) = too_few_pod_slots("general", allowed, daemons(11, allowed))
    assert found.severity is Severity.WARNING
    assert found.object == "NodePool general"
    assert found.fact == (
        "2 of 3 types have no pod slot beside the DaemonSets: t3.nano (4 slots, 11 DaemonSet pods), "
        "m6g.medium (8 slots, 11 DaemonSet pods); Karpenter leaves them out without a message."
    )


def test_of_the_whole_catalogue_58_types_are_too_small() -> None:
    allowed = types()
    (found,) = too_few_pod_slots("general", allowed, daemons(11, allowed))
    assert found.fact.startswith("58 of 1392 types ")
    assert " and 53 more; " in found.fact


def test_a_pool_of_small_types_can_never_launch() -> None:
    allowed = types("m6g.medium")
    (found,) = too_few_pod_slots("small", allowed, daemons(8, allowed))
    assert found.severity is Severity.ERROR
    assert "the pool can never launch a node" in found.fact


def test_one_free_slot_is_enough() -> None:
    allowed = types("m6g.medium")
    assert too_few_pod_slots("small", allowed, daemons(7, allowed)) == ()


def test_max_pods_makes_room() -> None:
    allowed = types("m6g.medium", kubelet={"maxPods": 110})
    assert too_few_pod_slots("small", allowed, daemons(11, allowed)) == ()


def test_types_without_daemonsets_are_fine() -> None:
    assert too_few_pod_slots("small", types("t3.nano"), {}) == ()


def test_a_type_without_any_slot_is_found_even_so() -> None:
    assert too_few_pod_slots("small", types("t3.nano", kubelet={"maxPods": 0}), {})
