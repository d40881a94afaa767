"""Labels of types, as requirements."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from karptui.aws import labels
from karptui.aws.catalogue import instance_type_facts
from karptui.aws.facts import Gpu, InferenceAccelerator, InstanceTypeFacts, NeuronDevice
from karptui.aws.nodeclass import AL2023, WINDOWS_2022, AmiFamily, SubnetZone
from karptui.karpenter.labels import ARCH, OS, WINDOWS_BUILD, ZONE
from karptui.karpenter.requirements import Requirements


def values_of(facts: InstanceTypeFacts, family: AmiFamily = AL2023) -> dict[str, tuple[str, ...]]:
    found = labels.requirements(facts, family, "us-east-1", [SubnetZone("us-east-1a", "use1-az4")], ())
    return {one.key: one.values for one in found}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("m5.large", ("m", "5", "m5", "large", "false")),
        ("c7i-flex.xlarge", ("c", "7", "c7i-flex", "xlarge", "true")),
        ("im4gn.4xlarge", ("im", "4", "im4gn", "4xlarge", "false")),
        ("u7i-12tb.224xlarge", ("u", "7", "u7i-12tb", "224xlarge", "false")),
        ("u-6tb1.56xlarge", ("u", "1", "u-6tb1", "56xlarge", "false")),
        ("p6-b200.48xlarge", ("p", "6", "p6-b200", "48xlarge", "false")),
        ("m7i.metal-48xl", ("m", "7", "m7i", "metal-48xl", "false")),
    ],
)
def test_names_are_taken_apart(name: str, expected: tuple[str, ...]) -> None:
    found = values_of(replace(instance_type_facts()["m5.large"], name=name))
    keys = (labels.CATEGORY, labels.GENERATION, labels.FAMILY, labels.SIZE, labels.FLEX)
    assert tuple(found[key][0] for key in keys) == expected


def test_a_name_without_a_scheme_has_no_category() -> None:
    found = values_of(replace(instance_type_facts()["m5.large"], name="UNKNOWN.large"))
    assert (found[labels.CATEGORY], found[labels.GENERATION]) == ((), ())


def test_bare_metal_has_an_empty_hypervisor_not_none() -> None:
    assert values_of(instance_type_facts()["m5.metal"])[labels.HYPERVISOR] == ("",)


def test_memory_is_what_ec2_advertises() -> None:
    assert values_of(instance_type_facts()["r6g.large"])[labels.MEMORY_MIB] == ("16384",)


def test_a_fraction_of_a_gpu_counts_as_zero_gpus() -> None:
    assert values_of(instance_type_facts()["g6f.large"])[labels.GPU_COUNT] == ("0",)


def test_two_kinds_of_gpu_have_no_labels() -> None:
    gpu = Gpu("NVIDIA", "RTX PRO Server 6000", 1, 1024)
    facts = instance_type_facts()["m5.large"]
    assert values_of(replace(facts, gpus=(gpu,)))[labels.GPU_NAME] == ("rtx-pro-server-6000",)
    assert values_of(replace(facts, gpus=(gpu, gpu)))[labels.GPU_NAME] == ()


def test_accelerators_are_neuron_devices_or_else_inference_accelerators() -> None:
    facts = instance_type_facts()["m5.large"]
    neuron, other = NeuronDevice("Trainium", 16, 2), InferenceAccelerator("Qualcomm", "AI 100", 8)
    keys = (labels.ACCELERATOR_NAME, labels.ACCELERATOR_MANUFACTURER, labels.ACCELERATOR_COUNT)

    def accelerator(**changes: object) -> list[tuple[str, ...]]:
        found = values_of(replace(facts, **changes))
        return [found[key] for key in keys]

    assert accelerator(neuron_devices=(neuron,), inference_accelerators=(other,)) == [("trainium",), ("aws",), ("16",)]
    assert accelerator(inference_accelerators=(other,)) == [("ai-100",), ("qualcomm",), ("8",)]
    assert accelerator(neuron_devices=(neuron, neuron), inference_accelerators=(other,)) == [(), (), ()]


def test_windows_runs_on_amd64_alone() -> None:
    amd64, arm64 = instance_type_facts()["m5.large"], instance_type_facts()["m6g.large"]
    assert values_of(amd64, WINDOWS_2022)[OS] == ("windows",)
    assert values_of(arm64, WINDOWS_2022)[OS] == ()
    assert values_of(arm64, WINDOWS_2022)[WINDOWS_BUILD] == ("10.0.20348",)


def test_an_architecture_without_a_name_is_shown_as_it_is() -> None:
    facts = replace(instance_type_facts()["m5.large"], architectures=("i386", "riscv"))
    assert values_of(facts)[ARCH] == ("[i386 riscv]",)


def test_without_a_common_zone_the_zone_id_is_undefined() -> None:
    found = labels.requirements(instance_type_facts()["m5.large"], AL2023, "us-east-1", [], ())
    keys = {one.key: one.operator for one in found}
    assert keys[ZONE] == "DoesNotExist"
    assert labels.ZONE_ID not in keys


@given(st.sampled_from(sorted(instance_type_facts())))
def test_every_type_defines_every_key_once(name: str) -> None:
    zones = [SubnetZone("us-east-1a", "use1-az4")]
    found = labels.requirements(instance_type_facts()[name], AL2023, "us-east-1", zones, ())
    assert len(found) == len(Requirements.from_selectors(found)) == 33
    assert all(bool(one.values) == (one.operator == "In") for one in found)
