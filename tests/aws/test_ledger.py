from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karptui.aws.capacity import estimated_memory_mib
from karptui.aws.catalogue import instance_type_facts
from karptui.aws.ledger import (
    Ledger,
    build_ledger,
    fitting_overhead_percent,
    largest_pod,
    rounded_down,
)
from karptui.aws.nodeclass import NodeClassError
from karptui.aws.overhead import MIB, eviction_threshold, kube_reserved, kube_reserved_cpu_millis, system_reserved
from karptui.kube.quantity import of_units, parse_quantity
from karptui.kube.resources import ResourceList
from tests.aws.builders import a_nodeclass, resolve, some_settings

R5A = "r5a.8xlarge"
DAEMONS: ResourceList = {"memory": parse_quantity("640Mi"), "pods": of_units(2)}
MEMORY, STORAGE = parse_quantity("8Gi"), parse_quantity("20Gi")


def ledger_of(name: str = R5A, percent: str = "0.075", discovered: int | None = None, **spec: Any) -> Ledger:
    settings = some_settings(VM_MEMORY_OVERHEAD_PERCENT=percent)
    reported = {} if discovered is None else {name: discovered}
    resolved = resolve(name, a_nodeclass(**spec), settings, discovered_memory_bytes=reported)
    return build_ledger(instance_type_facts()[name], resolved, settings, is_memory_discovered=discovered is not None)


def mib(amounts: ResourceList) -> int:
    return amounts["memory"].units // MIB


def test_contiguous_memory_of_arm64_is_subtracted_before_the_overhead() -> None:
    account = ledger_of("r6g.large")
    assert account.contiguous_memory_bytes == 64 * MIB
    assert account.vm_overhead_bytes == 1_224 * MIB  # of 16,320 MiB, rounded up


def test_story_d_fits_with_an_overhead_of_at_most_0_0488() -> None:
    facts, account = instance_type_facts()[R5A], ledger_of()
    percent = fitting_overhead_percent(facts, a_nodeclass(), account, parse_quantity("246400Mi"))
    assert percent is not None
    assert rounded_down(percent) == 0.0488
    assert percent == pytest.approx(12_815 / 262_144)
    left = largest_pod(ledger_of().allocatable, DAEMONS)
    assert mib(left) == 238_914
    assert left["pods"].units == 232


def test_the_percent_is_exact_despite_rounding_of_doubles() -> None:
    """In doubles, 8,191 / 16,320 * 16,320 MiB is slightly above 8,191 MiB and rounds up."""
    facts = instance_type_facts()["r6g.large"]
    account = ledger_of("r6g.large")
    needed = of_units((16_320 - 8_191) * MIB - account.kube_reserved["memory"].units - 100 * MIB)
    percent = fitting_overhead_percent(facts, a_nodeclass(), account, needed)
    assert percent is not None
    assert percent < 8_191 / 16_320
    assert estimated_memory_mib(facts, percent) == 16_320 - 8_191


def test_no_percent_helps_if_a_node_has_reported_its_memory() -> None:
    account = ledger_of(discovered=250_000 * MIB)
    assert account.is_memory_discovered
    assert mib(account.capacity) == 250_000
    assert fitting_overhead_percent(instance_type_facts()[R5A], a_nodeclass(), account, parse_quantity("1Gi")) is None


@given(
    name=st.sampled_from(["r5a.8xlarge", "t4g.nano", "m5.large", "u7in-32tb.224xlarge", "c8g.medium"]),
    share=st.floats(0.01, 1),
    signal=st.sampled_from(["100Mi", "5%", "12.5%", "0%", "100%"]),
)
def test_the_fitting_percent_is_the_limit(name: str, share: float, signal: str) -> None:
    """The pod fits with the answer, but not with 1 MiB more of overhead."""
    facts, nodeclass = instance_type_facts()[name], a_nodeclass(kubelet={"evictionHard": {"memory.available": signal}})
    needed = of_units(int(facts.memory_mib * share) * MIB)

    def fits(percent: float) -> bool:
        settings = some_settings(VM_MEMORY_OVERHEAD_PERCENT=repr(percent))
        account = build_ledger(facts, resolve(name, nodeclass, settings), settings)
        return account.allocatable["memory"].nano >= needed.nano

    account = build_ledger(facts, resolve(name, nodeclass), some_settings())
    percent = fitting_overhead_percent(facts, nodeclass, account, needed)
    if percent is None:
        assert not fits(0.0)
    else:
        assert fits(percent)
        assert not fits(percent + 1.01 / facts.memory_mib)


@pytest.mark.parametrize(("vcpus", "millis"), [(1, 60), (2, 70), (4, 80), (8, 90), (32, 150), (96, 310), (192, 550)])
def test_cpu_by_tiers(vcpus: int, millis: int) -> None:
    assert kube_reserved_cpu_millis(vcpus) == millis


@pytest.mark.parametrize(("kubelet", "sentence"), [
    ({"evictionHard": {"memory.available": ""}}, "spec.kubelet.evictionHard[memory.available]: '' is not a quantity"),
    ({"evictionHard": {"memory.available": "5 %"}}, "'5 %' is not a percentage"),
    ({"evictionHard": {"nodefs.available": "inf%"}}, "'inf%' is not a percentage"),
    ({"evictionHard": {"nodefs.available": "1e999%"}}, "'1e999%' is not a percentage"),
    ({"systemReserved": {"memory": "1 GiB"}}, "spec.kubelet.systemReserved[memory]: '1 GiB' is not a quantity"),
    ({"kubeReserved": {"cpu": "half"}}, "spec.kubelet.kubeReserved[cpu]: 'half' is not a quantity"),
])  # fmt: skip
def test_values_that_crash_karpenter_are_reported(kubelet: dict[str, Any], sentence: str) -> None:
    nodeclass = a_nodeclass(kubelet=kubelet)
    with pytest.raises(NodeClassError) as caught:
        (kube_reserved(2, 29, nodeclass), system_reserved(nodeclass), eviction_threshold(MEMORY, STORAGE, nodeclass))
    assert sentence in str(caught.value)
