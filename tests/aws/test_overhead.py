"""What the kubelet keeps back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karptui.aws.nodeclass import NodeClassError
from karptui.aws.overhead import eviction_threshold, kube_reserved, kube_reserved_cpu_millis, system_reserved
from karptui.kube.quantity import Quantity, of_units, parse_quantity
from tests.aws.builders import a_nodeclass

MEMORY, STORAGE = parse_quantity("8Gi"), parse_quantity("20Gi")


@pytest.mark.parametrize(("vcpus", "millis"), [(1, 60), (2, 70), (4, 80), (8, 90), (32, 150), (96, 310), (192, 550)])
def test_cpu_by_tiers(vcpus: int, millis: int) -> None:
    assert kube_reserved_cpu_millis(vcpus) == millis


@given(st.integers(1, 2000))
def test_more_cores_never_reserve_less(vcpus: int) -> None:
    assert kube_reserved_cpu_millis(vcpus) <= kube_reserved_cpu_millis(vcpus + 1)


def test_kube_reserved_is_replaced_key_by_key() -> None:
    defaults = kube_reserved(2, 29, a_nodeclass())
    assert {name: str(amount) for name, amount in defaults.items()} == {
        "cpu": "70m",
        "memory": "574Mi",
        "ephemeral-storage": "1Gi",
    }
    changed = kube_reserved(2, 29, a_nodeclass(kubelet={"kubeReserved": {"memory": "1Gi", "pid": "1000"}}))
    assert changed == {**defaults, "memory": parse_quantity("1Gi"), "pid": of_units(1000)}


def test_system_reserved_has_no_default() -> None:
    assert system_reserved(a_nodeclass()) == {}
    assert system_reserved(a_nodeclass(kubelet={"systemReserved": {"cpu": "0.0005"}})) == {
        "cpu": parse_quantity("500u")
    }


@pytest.mark.parametrize(
    ("signal", "expected"),
    [
        ("5%", 429_496_730),
        ("12.5%", 1_073_741_824),
        ("0%", 0),
        ("100%", 0),
        ("100.0%", 0),
        ("99.99%", 8_589_075_599),
        ("150%", 12_884_901_888),
        ("-5%", -429_496_729),
        ("1Gi", 1 << 30),
        ("-1Ki", -1024),
    ],
)
def test_eviction_of_memory(signal: str, expected: int) -> None:
    nodeclass = a_nodeclass(kubelet={"evictionHard": {"memory.available": signal}})
    assert eviction_threshold(MEMORY, STORAGE, nodeclass)["memory"].nano == of_units(expected).nano


def test_eviction_defaults() -> None:
    nodeclass = a_nodeclass(
        kubelet={"evictionHard": {"pid.available": "5%"}, "evictionSoft": {"memory.available": "9Gi"}}
    )
    found = eviction_threshold(MEMORY, STORAGE, nodeclass)
    assert (str(found["memory"]), found["ephemeral-storage"].units) == ("100Mi", 2 << 30)


def test_small_thresholds_are_written_without_an_exponent() -> None:
    nodeclass = a_nodeclass(kubelet={"evictionHard": {"nodefs.available": "1%"}})
    assert str(eviction_threshold(MEMORY, Quantity(10**9 * 1000), nodeclass)["ephemeral-storage"]) == "10"


@pytest.mark.parametrize(
    ("kubelet", "sentence"),
    [
        (
            {"evictionHard": {"memory.available": ""}},
            "spec.kubelet.evictionHard[memory.available]: '' is not a quantity",
        ),
        ({"evictionHard": {"memory.available": "5 %"}}, "'5 %' is not a percentage"),
        ({"evictionHard": {"nodefs.available": "inf%"}}, "'inf%' is not a percentage"),
        ({"evictionHard": {"nodefs.available": "1e999%"}}, "'1e999%' is not a percentage"),
        ({"systemReserved": {"memory": "1 GiB"}}, "spec.kubelet.systemReserved[memory]: '1 GiB' is not a quantity"),
        ({"kubeReserved": {"cpu": "half"}}, "spec.kubelet.kubeReserved[cpu]: 'half' is not a quantity"),
    ],
)
def test_values_that_crash_karpenter_are_reported(kubelet: dict[str, Any], sentence: str) -> None:
    nodeclass = a_nodeclass(kubelet=kubelet)
    with pytest.raises(NodeClassError) as caught:
        (kube_reserved(2, 29, nodeclass), system_reserved(nodeclass), eviction_threshold(MEMORY, STORAGE, nodeclass))
    assert sentence in str(caught.value)
