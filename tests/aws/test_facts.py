from __future__ import annotations

from typing import Any

import pytest

from karptui.aws.facts import Gpu, InferenceAccelerator, InstanceTypeFacts, NeuronDevice, facts_from_ec2, is_usable
from karptui.aws.nodeclass import SubnetZone
from karptui.aws.region import place_of
from karptui.karpenter.nodeclass import NodeClass
from tests import builders


def an_info(**changes: Any) -> dict[str, Any]:
    return {
        "InstanceType": "x1.large",
        "VCpuInfo": {"DefaultVCpus": 2},
        "MemoryInfo": {"SizeInMiB": 8192},
        "ProcessorInfo": {"SupportedArchitectures": ["x86_64"], "Manufacturer": "Intel",
                          "SustainedClockSpeedInGhz": 2.5},
        "NetworkInfo": {"NetworkCards": [{"NetworkCardIndex": 0, "MaximumNetworkInterfaces": 3}],
                        "Ipv4AddressesPerInterface": 10, "EnaSupport": "required"},
        "SupportedUsageClasses": ["on-demand", "spot"],
        "SupportedVirtualizationTypes": ["hvm"],
        **changes,
    }  # fmt: skip


def facts_of(**changes: Any) -> InstanceTypeFacts:
    return facts_from_ec2(an_info(**changes), network_mbps=None, branch_enis=0, windows_ipv4=0)


def test_the_least_answer_and_accelerators() -> None:
    facts = facts_of()
    assert (facts.hypervisor, facts.ebs_mbps, facts.efas, facts.store_gb, facts.store_nvme) == (
        "", None, 0, None, False,
    )  # fmt: skip
    assert (facts.gpus, facts.neuron_devices, facts.inference_accelerators) == ((), (), ())
    assert (facts.clock_mhz, facts.card_enis, facts.default_card, facts.ena) == (2500, (3,), 0, True)
    facts = facts_of(
        GpuInfo={"Gpus": [{"Manufacturer": "NVIDIA", "Name": "L4", "Count": 1, "MemoryInfo": {"SizeInMiB": 22_888}}]},
        NeuronInfo={"NeuronDevices": [{"Name": "Trainium", "Count": 16, "CoreInfo": {"Count": 2}}]},
        InferenceAcceleratorInfo={"Accelerators": [{"Manufacturer": "Qualcomm", "Name": "AI100", "Count": 8}]},
    )
    assert facts.gpus == (Gpu("NVIDIA", "L4", 1, 22_888),)
    assert facts.neuron_devices == (NeuronDevice("Trainium", 16, 2),)
    assert facts.inference_accelerators == (InferenceAccelerator("Qualcomm", "AI100", 8),)


@pytest.mark.parametrize(("architectures", "virtualization", "expected"), [
    (["x86_64"], ["hvm"], True),
    (["i386", "x86_64"], ["hvm", "paravirtual"], True),
    (["arm64"], ["hvm"], True),
    (["x86_64_mac"], ["hvm"], False),
    (["i386"], ["hvm"], False),
    (["x86_64"], ["paravirtual"], False),
])  # fmt: skip
def test_which_types_karpenter_asks_for(architectures: list[str], virtualization: list[str], expected: bool) -> None:
    info = an_info(ProcessorInfo={"SupportedArchitectures": architectures}, SupportedVirtualizationTypes=virtualization)
    assert is_usable(info) is expected


def an_ec2_nodeclass(status: object, spec: dict[str, Any] | None = None) -> NodeClass:
    return NodeClass(
        name="default",
        group="karpenter.k8s.aws",
        kind="EC2NodeClass",
        spec=spec or {"amiSelectorTerms": [{"alias": "al2023@latest"}]},
        status={"subnets": status},
    )


def test_nodes_and_subnets_tell() -> None:
    nodeclass = an_ec2_nodeclass([{"zone": "eu-west-1b", "zoneID": "euw1-az2"}])
    place = place_of([builders.a_node(zone="eu-west-1a")], [nodeclass])
    assert place.region == "eu-west-1"
    assert place.zones == (SubnetZone("eu-west-1a", ""), SubnetZone("eu-west-1b", "euw1-az2"))
