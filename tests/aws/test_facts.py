"""Facts of AWS: regions, types, and their evidence in the cluster."""

from __future__ import annotations

from typing import Any

import pytest

from karptui.aws.evidence import (
    Evidence,
    decides_alike,
    markets_of,
    prices_of,
    table_from_types,
    with_controller,
    with_rules,
)
from karptui.aws.facts import Gpu, InferenceAccelerator, InstanceTypeFacts, NeuronDevice, facts_from_ec2, is_usable
from karptui.aws.launch_refusals import UnavailableOfferings
from karptui.aws.nodeclass import SubnetZone
from karptui.aws.prices import OfferingKey, PriceSource
from karptui.aws.region import FactPhase, FactStatus, Place, place_of
from karptui.karpenter.controller import DEFAULTS, ControllerInfo
from karptui.karpenter.instance_type import NO_SPOT_ROLE, UNFULFILLABLE, InstanceType, Offering
from karptui.karpenter.metrics import ControllerMetrics, OfferingMetrics, OfferingName
from karptui.karpenter.nodeclass import NodeClass
from karptui.karpenter.settings import parse_settings
from tests import builders
from tests.builders import present

PLACE = Place("us-east-1", (SubnetZone("us-east-1a", "use1-az4"),))


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


def test_facts_of_a_minimal_answer_and_of_accelerators() -> None:
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


def test_region_and_zones_come_from_nodes_and_subnets() -> None:
    nodeclass = an_ec2_nodeclass([{"zone": "eu-west-1b", "zoneID": "euw1-az2"}])
    place = place_of([builders.a_node(zone="eu-west-1a")], [nodeclass])
    assert place.region == "eu-west-1"
    assert place.zones == (SubnetZone("eu-west-1a", ""), SubnetZone("eu-west-1b", "euw1-az2"))


def an_offering(zone: str, capacity_type: str, price: float) -> Offering:
    return Offering(requirements=(builders.a_requirement("topology.kubernetes.io/zone", "In", zone),
                                  builders.a_requirement("karpenter.sh/capacity-type", "In", capacity_type)),
                    price_per_hour=price)  # fmt: skip


TYPES = (
    InstanceType(name="m5.large", requirements=(), capacity={},
                 offerings=(an_offering("z-1", "on-demand", 0.5), an_offering("z-2", "on-demand", 0.5),
                            an_offering("z-1", "spot", 0.2), an_offering("z-1", "reserved", 0.00000005))),
    InstanceType(name="m5.xlarge", requirements=(), capacity={},
                 offerings=(an_offering("z-1", "on-demand", 1.0), an_offering("z-2", "on-demand", 1.1))),
)  # fmt: skip


def test_prices_of_a_snapshot_come_first_and_by_zone() -> None:
    book = prices_of(Evidence(instance_types=TYPES, taken_at_ns=builders.NOW_NS), PLACE)
    assert [origin.source for origin in book.origins] == [PriceSource.SNAPSHOT, PriceSource.BUILT_IN]
    price = book.price("m5.large", "z-9", "on-demand")
    assert price is not None
    assert (price.per_hour, price.origin.label) == (0.5, "snapshot, 2026-11-20 12:00 UTC")
    table = table_from_types(TYPES, "us-east-1", builders.NOW_NS)
    assert table.on_demand == {"m5.large": 0.5}
    assert table.per_hour("m5.xlarge", "z-2", "on-demand") == 1.1
    assert table.per_hour("m5.large", "z-1", "spot") == 0.2
    assert table.per_hour("m5.large", "z-2", "spot") is None
    assert table.per_hour("m5.large", "z-1", "reserved") is None


def test_failed_launches_count_unless_metrics_report_availability() -> None:
    key = OfferingKey("spot", "m5.large", "us-east-1a")
    refused = UnavailableOfferings({key: UNFULFILLABLE}, capacity_types=frozenset({"spot"}))
    evidence = Evidence(refused=refused)
    market = markets_of(evidence)("us-east-1", PLACE.zones)
    assert (market.sold_out[key], OfferingKey("spot", "c5.large", "us-east-1a") in market.sold_out) == (
        NO_SPOT_ROLE,
        True,
    )
    assert OfferingKey("on-demand", "m5.large", "us-east-1a") not in market.sold_out
    assert not decides_alike(evidence, Evidence())
    offering = {OfferingName("m5.large", "us-east-1a", "spot"): OfferingMetrics(0.04, is_available=True)}
    metrics = ControllerMetrics(read_at_ns=builders.NOW_NS, endpoint="pod a/b", offerings=offering)
    evidence = Evidence(refused=refused, metrics=metrics)
    assert not markets_of(evidence)("us-east-1", PLACE.zones).sold_out


LIVE = FactStatus(phase=FactPhase.LIVE)
OVERHEAD = "VM_MEMORY_OVERHEAD_PERCENT"
SAID = ControllerInfo(title="Deployment a/b", version="1.13.0", settings={OVERHEAD: "0.05", "RESERVED_ENIS": "1"})
METRICS = ControllerMetrics(read_at_ns=1, endpoint="pod a/b", version="1.14.1")


def test_settings_of_users_and_of_the_controller() -> None:
    assert Evidence().origin_of(OVERHEAD) == DEFAULTS
    result = with_controller(Evidence(), SAID, LIVE)
    assert (result.settings.vm_memory_overhead_percent, result.settings.reserved_enis) == (0.05, 1)
    assert result.origin_of(OVERHEAD) == "Deployment a/b"
    assert result.origin_of("PREFERENCE_POLICY") == DEFAULTS
    explicit = Evidence(settings=parse_settings({OVERHEAD: "0.03"}), settings_origin="the configuration")
    result = with_controller(explicit, SAID, LIVE)
    assert (result.settings.vm_memory_overhead_percent, result.settings.reserved_enis) == (0.03, 1)
    assert (result.origin_of(OVERHEAD), result.origin_of("RESERVED_ENIS")) == ("the configuration", "Deployment a/b")
    info = ControllerInfo(title="Deployment a/b", settings={"PREFERENCE_POLICY": "Sometimes"})
    evidence = with_controller(Evidence(), info, LIVE)
    assert evidence.settings.preference_policy == "Respect"
    assert present(evidence.controller_status).phase is FactPhase.UNAVAILABLE
    assert present(evidence.controller_status).sentence.startswith("Deployment a/b: PREFERENCE_POLICY is 'Sometimes'")


@pytest.mark.parametrize(("evidence", "version", "rules"), [
    (Evidence(), "", "1.15.0"),
    (with_controller(Evidence(), SAID, LIVE), "1.13.0", "1.14.1"),
    (Evidence(controller=SAID, metrics=METRICS), "1.14.1", "1.14.1"),
    (with_controller(Evidence(metrics=METRICS), SAID, LIVE), "1.14.1", "1.14.1"),
    (Evidence(controller=SAID, metrics=METRICS, stated_version="1.15.1"), "1.15.1", "1.15.0"),
])  # fmt: skip
def test_the_rules_are_those_of_the_running_version(evidence: Evidence, version: str, rules: str) -> None:
    assert evidence.karpenter_version == version
    assert with_rules(evidence).settings.rules.version == rules
    assert ("the nearest, 1.14.1, is used" in evidence.version_note) is (version == "1.13.0")
