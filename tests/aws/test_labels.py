"""Labels of types, as requirements."""

from __future__ import annotations

from msgspec.structs import replace

from karptui.aws import labels
from karptui.aws.catalogue import instance_type_facts
from karptui.aws.facts import InstanceTypeFacts
from karptui.aws.nodeclass import AL2023, AmiFamily, SubnetZone
from karptui.karpenter.labels import ARCH


def values_of(facts: InstanceTypeFacts, family: AmiFamily = AL2023) -> dict[str, tuple[str, ...]]:
    found = labels.requirements(facts, family, "us-east-1", [SubnetZone("us-east-1a", "use1-az4")], ())
    return {one.key: one.values for one in found}


def test_an_architecture_without_a_name_is_shown_as_it_is() -> None:
    facts = replace(instance_type_facts()["m5.large"], architectures=("i386", "riscv"))
    assert values_of(facts)[ARCH] == ("[i386 riscv]",)
