"""Which types a NodeClass rules out: they stay in the list, but none of their offerings is available.

Source: pkg/providers/instancetype/compatibility/compatibility.go of Karpenter's AWS provider.
"""

from __future__ import annotations

from karptui.aws.ami_family import AL2023
from karptui.aws.facts import InstanceTypeFacts
from karptui.aws.nodeclass import Ec2NodeClass, NetworkInterface
from karptui.aws.placement import PlacementGroup


def incompatibility(
    facts: InstanceTypeFacts, nodeclass: Ec2NodeClass, placement_group: PlacementGroup | None = None
) -> str | None:
    """Return why a NodeClass rules a type out, None where it does not."""
    spec = nodeclass.spec
    if spec.network_interfaces is not None:
        reason = _interface_conflict(facts, spec.network_interfaces)
        if reason is not None:
            return reason
    if facts.name.startswith("a1.") and nodeclass.family == AL2023:
        return "a1 types do not boot AL2023"
    if nodeclass.wants_nested_virtualization and not facts.nested_virtualization:
        return "has no nested virtualization"
    if placement_group is not None and placement_group.strategy not in facts.placement_strategies:
        return f"does not support {placement_group.strategy} placement groups"
    if spec.connection_tracking is not None and facts.hypervisor != "nitro":
        return "connection tracking needs the Nitro hypervisor"
    return None


def _interface_conflict(facts: InstanceTypeFacts, interfaces: tuple[NetworkInterface, ...]) -> str | None:
    if not facts.ena:
        return "networkInterfaces need an Elastic Network Adapter"
    for interface in interfaces:
        if interface.network_card_index >= len(facts.card_enis):
            return f"has no network card {interface.network_card_index}"
        if interface.device_index >= facts.card_enis[interface.network_card_index]:
            return f"network card {interface.network_card_index} has no device index {interface.device_index}"
    efas = sum(interface.interface_type == "efa-only" for interface in interfaces)
    if efas > facts.efas:
        return f"has {facts.efas} EFA interfaces, {efas} are asked for"
    return None
